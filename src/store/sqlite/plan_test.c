/* How SQLite goes about our statements: by the index that was made for it, without sorting, and at
 * a cost that does not grow with the store. */
#include "store/sqlite/test_kit.h"

#define X(upper, lower) SQL_TEXT_##lower,
static const char *const texts[SQL_END] = { SQL_STATEMENTS(X) };
#undef X
#define X(upper, lower) #lower,
static const char *const names[SQL_END] = { SQL_STATEMENTS(X) };
#undef X

/* Many statements, and one that can be run only once. */
static bool is_migration(int sql)
{
    return strncmp(names[sql], "migration_1", strlen("migration_1")) == 0;
}

static struct pawl__buf plan_of(sqlite3 *db, const char *sql)
{
    struct pawl__buf explain = { 0 };
    pawl__buf_printf(&explain, "EXPLAIN QUERY PLAN %s", sql);
    assert_false(explain.failed);
    struct pawl__buf plan = sql_lines(db, explain.at, 3);
    pawl__buf_release(&explain);
    return plan;
}

/* ---- preparing and binding ---- */

static void every_statement_can_be_prepared(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    for (int sql = 0; sql < SQL_END; sql++) {
        if (is_migration(sql)) continue;
        if (!pawl__sq_use(&kit.sq->writer, (enum pawl__sql)sql)) {
            fail_msg("%s: %s", names[sql], sqlite3_errmsg(kit.sq->writer.db));
        }
    }
    kit_close(&kit);
}

/* The parameters of a statement as the made header numbers them. Quoted text has none. */
static size_t list_parameters(const char *text, const char *found[], size_t lens[], size_t max)
{
    size_t count = 0;
    bool quoted = false;
    for (const char *at = text; *at; at++) {
        quoted ^= *at == '\'';
        if (quoted || *at != ':') continue;
        size_t len = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known |= lens[i] == len && memcmp(found[i], at, len) == 0;
        }
        if (known) continue;
        assert_true(count < max);
        found[count] = at;
        lens[count++] = len;
    }
    return count;
}

static void parameters_have_the_numbers_of_the_header(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    for (int sql = 0; sql < SQL_END; sql++) {
        if (is_migration(sql)) continue;
        const char *found[64];
        size_t lens[64];
        size_t count = list_parameters(texts[sql], found, lens, COUNT(found));
        sqlite3_stmt *stmt = pawl__sq_use(&kit.sq->writer, (enum pawl__sql)sql);
        assert_int_equal(sqlite3_bind_parameter_count(stmt), count);
        for (size_t i = 0; i < count; i++) {
            const char *name = sqlite3_bind_parameter_name(stmt, (int)i + 1);
            assert_int_equal(strlen(name), lens[i]);
            assert_memory_equal(name, found[i], lens[i]);
        }
    }
    // one that is numbered in C, to see that the header means what this test does
    assert_string_equal(sqlite3_bind_parameter_name(pawl__sq_use(&kit.sq->writer, SQL_READY_NEXT),
                                                    SQL_READY_NEXT_limit),
                        ":limit");
    kit_close(&kit);
}

/* Several statements share the code that binds them, by number. */
static void statements_that_are_bound_alike_take_the_same(void **state)
{
    static const struct {
        enum pawl__sql sql;
        const char *first, *second, *third;
    } rows[] = {
        { SQL_READY_DELETE, ":lane", ":rank", ":key" },
        { SQL_READY_DELETE_THROUGH, ":lane", ":rank", ":key" },
        { SQL_JOB_FACTS, ":key", NULL, NULL },
        { SQL_JOB_FACTS_BRIEF, ":key", NULL, NULL },
    };
    struct kit kit;
    kit_open_memory(&kit);
    for (size_t i = 0; i < COUNT(rows); i++) {
        sqlite3_stmt *stmt = pawl__sq_use(&kit.sq->writer, rows[i].sql);
        const char *expected[] = { rows[i].first, rows[i].second, rows[i].third };
        for (int at = 0; at < (int)COUNT(expected) && expected[at]; at++) {
            assert_string_equal(sqlite3_bind_parameter_name(stmt, at + 1), expected[at]);
        }
    }
    kit_close(&kit);
}

/* ---- plans of the statements ---- */

/* A step that reads a whole table of ours; virtual ones are read whole by their nature. */
static bool has_scan(const char *plan)
{
    for (const char *line = plan; *line; line = strchr(line, '\n') + 1) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, "SCAN ", 5) != 0) continue;
        const char *virtual = strstr(line, " VIRTUAL TABLE ");
        if (!virtual || virtual > line + len) return true;
    }
    return false;
}

static bool has_sort(const char *plan)
{
    return strstr(plan, "TEMP B-TREE") != NULL;
}

/* Each has its reason. */
static const enum pawl__sql may_scan_or_sort[] = {
    SQL_ACTIVE_LAPSED, // holds what runs just now; an index would cost every claim and finish
    SQL_HEAD_GET,      // one row at most
    SQL_HEAD_ABSORB,
    SQL_UNSETTLED_NEXT, // in its order; holds what is left to be settled
    SQL_FLOW_NEXT_DUE,  // the first entry of its index
    SQL_SET_MOOT,       // the same table, when such a job ends otherwise
    SQL_QUEUE_ALL,      // small, and wanted whole
    SQL_NODES_ALL,      SQL_NODE_CENSUS,  SQL_NODE_SILENT,   SQL_NODE_OLD,
    SQL_LOCK_OWNED,     SQL_TOKEN_ALL,
    SQL_SET_RUNS_END, // as ACTIVE_LAPSED, when a node is gone
    SQL_LOCKS_ALL,      SQL_STATS_COUNTS, SQL_MIGRATION_ALL, SQL_MIGRATION_TABLE_EXISTS,
    SQL_QUERY_LIVE, // until query.c puts its filters behind them
    SQL_QUERY_ARCHIVE,  SQL_MATCH_LIVE,   SQL_MATCH_ARCHIVE, SQL_COUNT_LIVE,
    SQL_COUNT_ARCHIVE,
    SQL_CHECK_PLACES, // looks at everything: that is its task
    SQL_CHECK_ORPHANS,  SQL_CHECK_FACTS,  SQL_CHECK_COUNTS,  SQL_CHECK_FLOWS,
    SQL_FLOW_DOUBTS, // compares a few flows with all of their jobs
};

/* Every statement of the .sql files is planned here, so a new one is judged or excepted. */
static void nothing_else_scans_or_sorts(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    for (int sql = 0; sql < SQL_END; sql++) {
        if (is_migration(sql)) continue;
        bool allowed = false;
        for (size_t i = 0; i < COUNT(may_scan_or_sort); i++) {
            allowed |= may_scan_or_sort[i] == (enum pawl__sql)sql;
        }
        struct pawl__buf plan = plan_of(kit.sq->writer.db, texts[sql]);
        if ((has_scan(plan.at) || has_sort(plan.at)) != allowed) {
            fail_msg("%s is %sexpected to scan or sort:\n%s", names[sql], allowed ? "" : "not ",
                     plan.at);
        }
        pawl__buf_release(&plan);
    }
    kit_close(&kit);
}

#define LEAVES(table)                                                                              \
    "SEARCH " table " USING INTEGER PRIMARY KEY (rowid=?)\n"                                       \
    "LIST SUBQUERY 1\nSCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n"

#define JOINS(table)                                                                               \
    "SCAN s VIRTUAL TABLE INDEX 0:\nSEARCH " table " USING INTEGER PRIMARY KEY (rowid=?)\n"

#define WANTED(table, column)                                                                      \
    "SCAN s VIRTUAL TABLE INDEX 0:\nSEARCH " table " USING PRIMARY KEY (" column "=?)\n"

/* Newer versions of SQLite find more indexes to be covering; where that is not asked for it does no
 * harm. */
static bool is_as_wanted(const char *plan, const char *wanted)
{
    static const char covering[] = "COVERING ";
    const size_t len = sizeof covering - 1;
    while (*plan && *plan == *wanted) {
        plan++;
        wanted++;
        bool more = strncmp(plan, covering, len) == 0 && strncmp(wanted, covering, len) != 0;
        if (more) plan += len;
    }
    return *plan == *wanted;
}

static void hot_statements_use_the_index_made_for_them(void **state)
{
    static const struct {
        enum pawl__sql sql;
        const char *plan;
    } rows[] = {
        { SQL_READY_NEXT, "SEARCH r USING PRIMARY KEY (lane=? AND (rank,key)>(?,?))\n"
                          "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_READY_DELETE_THROUGH,
          "SEARCH pawl_ready USING PRIMARY KEY (lane=? AND (rank,key)<(?,?))\n" },
        { SQL_WAIT_DUE, "SEARCH w USING INDEX pawl_wait_due (due_at_ms<?)\n"
                        "SEARCH j USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n" },
        { SQL_PROMOTE_ENTER, "SEARCH w USING INDEX pawl_wait_due (due_at_ms<?)\n"
                             "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_PROMOTE_LEAVE, "SEARCH pawl_wait USING INTEGER PRIMARY KEY (rowid=?)\n"
                             "LIST SUBQUERY 1\n"
                             "SEARCH w USING INDEX pawl_wait_due (due_at_ms<?)\n"
                             "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_WAIT_LAPSED, "SEARCH w USING COVERING INDEX pawl_wait_lease"
                           " (lease_until_ms>? AND lease_until_ms<?)\n"
                           "SEARCH j USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n" },
        { SQL_DONE_ENDED,
          "SEARCH d USING INDEX pawl_done_ended (state=? AND finished_at_ms<?)\n"
          "CORRELATED SCALAR SUBQUERY 1\nSEARCH w USING INTEGER PRIMARY KEY (rowid=?)\n"
          "SEARCH j USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n" },
        { SQL_ARCHIVE_OLD, "SEARCH pawl_archive USING INDEX pawl_archive_ended"
                           " (state=? AND finished_at_ms<?)\n" },
        { SQL_DONE_COMPLETED, "SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n"
                              "SEARCH j USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n" },
        { SQL_ARCHIVE_COMPLETED,
          "SEARCH pawl_archive USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n" },
        { SQL_EXPIRY_DUE, "SEARCH e USING PRIMARY KEY (at_ms<?)\n"
                          "SEARCH j USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n" },
        { SQL_JOB_KEY, "SEARCH pawl_job USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_JOB_KEY_DISPLACED,
          "SEARCH pawl_job USING COVERING INDEX pawl_job_displaced (head=? AND tail=?)\n" },
        { SQL_ARCHIVE_KEY_DISPLACED, "SEARCH pawl_archive USING COVERING INDEX"
                                     " pawl_archive_displaced (head=? AND tail=?)\n" },
        { SQL_NEW_JOBS, "SCAN pawl_set_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NEW_JOBS_PLAIN, "SCAN pawl_set_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NEW_KNOWN,
          "SCAN n VIRTUAL TABLE INDEX 0:\n"
          "CORRELATED SCALAR SUBQUERY 1\n"
          "SEARCH j USING COVERING INDEX pawl_job_displaced (head=? AND tail=?)\n"
          "CORRELATED SCALAR SUBQUERY 2\n"
          "SEARCH j USING COVERING INDEX pawl_archive_displaced (head=? AND tail=?)\n" },
        { SQL_NEW_READY, "SCAN pawl_set_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NEW_WAIT, "SCAN pawl_set_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NEW_EXPIRY, "SCAN pawl_set_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NEW_TAGS, "SCAN n VIRTUAL TABLE INDEX 0:\nSCAN t VIRTUAL TABLE INDEX 1:\n" },
        { SQL_SET_HOLDERS, "SCAN s VIRTUAL TABLE INDEX 0:\n"
                           "SEARCH k USING PRIMARY KEY (digest=?)\n" },
        { SQL_GATHERED_ACTIVE, "SCAN gathered_run VIRTUAL TABLE INDEX 0:\n" },
        { SQL_GATHERED_DONE, "SCAN g VIRTUAL TABLE INDEX 0:\n"
                             "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_GATHERED_LEFT, "SEARCH pawl_active USING INTEGER PRIMARY KEY (rowid=?)\n"
                             "LIST SUBQUERY 1\nSCAN gathered_end VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_ACTIVE, "SCAN s VIRTUAL TABLE INDEX 0:\n"
                          "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)\n"
                          "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_SET_LIVE, "SCAN s VIRTUAL TABLE INDEX 0:\n"
                        "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n"
                        "SEARCH w USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
                        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
                        "SEARCH d USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
                        "SEARCH r USING PRIMARY KEY (lane=? AND rank=? AND key=?) LEFT-JOIN\n" },
        { SQL_SET_LIVE_DISPLACED,
          "SCAN s VIRTUAL TABLE INDEX 0:\n"
          "SEARCH j USING INDEX pawl_job_displaced (head=? AND tail=?)\n"
          "SEARCH w USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
          "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
          "SEARCH d USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN\n"
          "SEARCH r USING PRIMARY KEY (lane=? AND rank=? AND key=?) LEFT-JOIN\n" },
        { SQL_SET_ARCHIVED, JOINS("j") },
        { SQL_SET_ARCHIVED_DISPLACED,
          "SCAN s VIRTUAL TABLE INDEX 0:\n"
          "SEARCH j USING INDEX pawl_archive_displaced (head=? AND tail=?)\n" },
        { SQL_SET_CRASHES, "SCAN s VIRTUAL TABLE INDEX 0:\nCORRELATED SCALAR SUBQUERY 1\n"
                           "SEARCH f USING PRIMARY KEY (key=? AND run>?)\n" },
        { SQL_SET_RESTORE_JOB, JOINS("j") },
        { SQL_SET_RESTORE_DONE, JOINS("j") },
        { SQL_SET_LEAVE_ARCHIVE, LEAVES("pawl_archive") },
        { SQL_SET_ARCHIVE, JOINS("j") "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_SET_PLAN, JOINS("pawl_job") },
        { SQL_SET_LEAVE_READY, "SEARCH pawl_ready USING PRIMARY KEY (lane=? AND rank=? AND key=?)\n"
                               "LIST SUBQUERY 1\nSCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_LEAVE_ACTIVE, LEAVES("pawl_active") },
        { SQL_SET_LEAVE_WAIT, LEAVES("pawl_wait") },
        { SQL_SET_LEAVE_DONE, LEAVES("pawl_done") },
        { SQL_SET_ENTER_READY, "SCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_ENTER_WAIT, "SCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_ENTER_DONE, "SCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_EXPIRY, "SCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_FAILURE, "SCAN pawl_set_failure VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_TRIM, "SEARCH pawl_failure USING PRIMARY KEY (key=? AND run=?)\n"
                        "LIST SUBQUERY 1\nSCAN s VIRTUAL TABLE INDEX 0:\n"
                        "SEARCH f USING PRIMARY KEY (key=? AND run<?)\n" },
        { SQL_SET_AUDIT, "SCAN pawl_set_audit VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_KEY_DROP, "SEARCH pawl_key USING PRIMARY KEY (digest=? AND id=?)\n"
                            "LIST SUBQUERY 1\nSCAN pawl_set_key_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_KEY_NEW, "SCAN pawl_set_key_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_KEY_PUT, "SCAN pawl_set_key_put VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_RUN, JOINS("pawl_active") },
        { SQL_SET_PROGRESS_READ, JOINS("p") },
        { SQL_SET_DROP_JOB, LEAVES("pawl_job") },
        { SQL_SET_DROP_LINE, "SEARCH pawl_log USING PRIMARY KEY (key=?)\n"
                             "LIST SUBQUERY 1\nSCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_DROP_AUDIT, "SEARCH pawl_audit USING INDEX pawl_audit_job (job_id=?)\n"
                              "LIST SUBQUERY 1\nSCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_DROP_PROGRESS, LEAVES("pawl_progress") },
        { SQL_SET_DROP_CHECKPOINT, LEAVES("pawl_checkpoint") },
        { SQL_SET_CHECKED, "SCAN s VIRTUAL TABLE INDEX 0:\n"
                           "SEARCH pawl_job USING INTEGER PRIMARY KEY (rowid=?)\n" },
        { SQL_SET_FOLLOWED, "SEARCH pawl_unsettled USING INTEGER PRIMARY KEY (rowid=?)\n"
                            "LIST SUBQUERY 1\nSCAN pawl_set_followed VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_MOOT, "SCAN pawl_unsettled\n"
                        "LIST SUBQUERY 1\nSCAN pawl_set_moot VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_UNSETTLED, "SCAN pawl_set_unsettled VIRTUAL TABLE INDEX 0:\n" },
        { SQL_NODE_LOAD, WANTED("n", "name") },
        { SQL_LOCK_LOAD, WANTED("l", "name") },
        { SQL_TURN_LOAD, WANTED("l", "name") },
        { SQL_SETTING_LOAD, WANTED("t", "name") },
        { SQL_TOKEN_LOAD, WANTED("t", "id") },
        { SQL_SCHEMA_LOAD, "SCAN s VIRTUAL TABLE INDEX 0:\n"
                           "SEARCH t USING PRIMARY KEY (uri=? AND type=? AND version=?)\n" },
        { SQL_CONFIG_LOAD, WANTED("t", "queue") },
        { SQL_REQUEST_LOAD, WANTED("t", "key") },
        { SQL_SCHEMA_BY_URI, "SEARCH pawl_args_schema USING PRIMARY KEY (uri>?)\n" },
        { SQL_SCHEMA_BY_TYPE, "SEARCH pawl_args_schema USING PRIMARY KEY (uri=?)\n" },
        { SQL_CONFIG_LIST, "SEARCH pawl_queue_config USING PRIMARY KEY (queue>?)\n" },
        { SQL_REQUEST_FORGET,
          "SEARCH pawl_request_key USING PRIMARY KEY (key=?)\nLIST SUBQUERY 1\n"
          "SEARCH pawl_request_key USING COVERING INDEX pawl_request_key_until (until_ms<?)\n" },
        { SQL_SET_SCHEMA_NEW, "SCAN pawl_set_schema_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_SCHEMA_DROP,
          "SEARCH pawl_args_schema USING PRIMARY KEY (uri=? AND type=? AND version=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_schema_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_CONFIG_DROP,
          "SEARCH pawl_queue_config USING PRIMARY KEY (queue=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_config_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_SETTING_NEW, "SCAN pawl_set_setting_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_LOCK_PUT, "SCAN pawl_set_lock_put VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_NODE_PUT, "SCAN pawl_set_node_put VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_SETTING_DROP,
          "SEARCH pawl_setting USING PRIMARY KEY (name=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_setting_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_DEADLINE_DUE, "SEARCH pawl_deadline USING INDEX pawl_deadline_at (at_ms<?)\n" },
        { SQL_DEADLINE_NEXT, "SEARCH pawl_deadline USING COVERING INDEX pawl_deadline_at\n" },
        { SQL_DEADLINE_LOAD, WANTED("d", "job_id") },
        { SQL_SET_DEADLINE_NEW, "SCAN pawl_set_deadline_new VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_DEADLINE_PUT, "SCAN pawl_set_deadline_put VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_DEADLINE_DROP,
          "SEARCH pawl_deadline USING PRIMARY KEY (job_id=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_deadline_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_DROP_DEADLINE, "SEARCH pawl_deadline USING PRIMARY KEY (job_id=?)\n"
                                 "LIST SUBQUERY 1\nSCAN pawl_set_row VIRTUAL TABLE INDEX 0:\n" },
        { SQL_UNSETTLED_LIST, "SEARCH pawl_unsettled USING INTEGER PRIMARY KEY (rowid>?)\n" },
        { SQL_UNSETTLED_NEXT, "SCAN pawl_unsettled\n" },
        { SQL_FLOW_ENDED, "SEARCH f USING INDEX pawl_flow_ended"
                          " (finished_at_ms>? AND finished_at_ms<?)\n" },
        { SQL_FLOW_OLD, "SEARCH f USING INDEX pawl_flow_old"
                        " (finished_at_ms>? AND finished_at_ms<?)\n" },
        { SQL_FLOW_STALE, "SEARCH f USING INDEX pawl_flow_recount (recount_at_ms<?)\n" },
        { SQL_FLOW_STALE_NEXT,
          "SEARCH pawl_flow USING INDEX pawl_flow_recount (recount_at_ms>?)\n" },
        { SQL_SCHEDULE_LOAD, WANTED("t", "name") },
        { SQL_SCHEDULE_PLAN_LOAD, WANTED("t", "name") },
        { SQL_SCHEDULE_MEMBER_LOAD, WANTED("t", "id") },
        { SQL_SCHEDULE_DUE,
          "SEARCH pawl_schedule USING INDEX pawl_schedule_look (look_at_ms<?)\n" },
        { SQL_SCHEDULE_NEXT,
          "SEARCH pawl_schedule USING COVERING INDEX pawl_schedule_look (look_at_ms>?)\n" },
        { SQL_SCHEDULE_LIST, "SEARCH s USING PRIMARY KEY (name>?)\n" },
        { SQL_FIRING_LIST, "SEARCH pawl_firing USING PRIMARY KEY (schedule=? AND number<?)\n" },
        { SQL_SET_SCHEDULE_PUT, "SCAN pawl_set_schedule_put VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_SCHEDULE_DROP,
          "SEARCH pawl_schedule USING PRIMARY KEY (name=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_schedule_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_SCHEDULE_MEMBER_DROP,
          "SEARCH pawl_schedule_member USING PRIMARY KEY (id=?)\n"
          "LIST SUBQUERY 1\nSCAN pawl_set_schedule_member_drop VIRTUAL TABLE INDEX 0:\n" },
        { SQL_SET_FIRING_CUT, "SEARCH pawl_firing USING PRIMARY KEY (schedule=? AND number=?)\n"
                              "LIST SUBQUERY 1\nSCAN s VIRTUAL TABLE INDEX 0:\n"
                              "SEARCH f USING PRIMARY KEY (schedule=? AND number<?)\n" },
    };
    struct kit kit;
    kit_open_memory(&kit);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl__buf plan = plan_of(kit.sq->writer.db, texts[rows[i].sql]);
        if (!is_as_wanted(plan.at, rows[i].plan)) {
            fail_msg("%s:\n%sinstead of:\n%s", names[rows[i].sql], plan.at, rows[i].plan);
        }
        pawl__buf_release(&plan);
    }
    kit_close(&kit);
}

/* ---- plans of queries ---- */

enum { QUERIES_MAX = 8 };

/* What query.c asks SQLite for, caught on its way. */
struct caught {
    char *sql[QUERIES_MAX];
    size_t count;
    bool overflow;
};

static int catch_query(unsigned kind, void *ctx, void *stmt, void *text)
{
    (void)kind;
    (void)text;
    struct caught *caught = ctx;
    const char *sql = sqlite3_sql(stmt);
    if (strncmp(sql, "SELECT", 6) != 0) return 0;
    caught->overflow |= caught->count == QUERIES_MAX;
    if (!caught->overflow) caught->sql[caught->count++] = strdup(sql);
    return 0;
}

/* The plans of a filter's page and count, live (and archived, when the filter says so), one after
 * the other. */
static struct pawl__buf plans_of_query(struct kit *kit, const struct pawl_filter *filter)
{
    struct caught caught = { 0 };
    struct pawl_jobs jobs = { 0 };
    sqlite3 *db = kit->sq->writer.db; // in memory it is the readers' too
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, catch_query, &caught);
    kit_ok(kit, pawl__read_query(kit->sq, filter, &(struct pawl_page){ .limit = 10, .count = true },
                                 &kit->arena, &jobs, &kit->diag));
    sqlite3_trace_v2(db, 0, NULL, NULL);
    assert_false(caught.overflow);
    assert_int_equal(caught.count, (filter->archived ? 4 : 2) * (filter->id_prefix ? 2 : 1));
    struct pawl__buf plans = { 0 };
    for (size_t i = 0; i < caught.count; i++) {
        assert_non_null(caught.sql[i]);
        struct pawl__buf plan = plan_of(db, caught.sql[i]);
        pawl__buf_add_text(&plans, plan.at);
        pawl__buf_release(&plan);
        free(caught.sql[i]);
    }
    assert_false(plans.failed);
    return plans;
}

static void queries_for_one_state_look_only_where_it_is(void **state)
{
    static const struct {
        enum pawl_state state;
        const char *live; /* how its place is read */
    } rows[] = {
        { PAWL_STATE_SCHEDULED, "SCAN pawl_wait" },
        { PAWL_STATE_AVAILABLE, "SCAN pawl_ready" },
        { PAWL_STATE_PENDING, "SCAN pawl_wait" },
        { PAWL_STATE_ACTIVE, "USING ROWID SEARCH ON TABLE pawl_active FOR IN-OPERATOR" },
        { PAWL_STATE_RETRYABLE, "SCAN pawl_wait" },
        { PAWL_STATE_PAUSED, "SCAN pawl_wait" },
        { PAWL_STATE_COMPLETED, "SCAN pawl_done" },
        { PAWL_STATE_SKIPPED, "SEARCH pawl_done USING COVERING INDEX pawl_done_ended (state=?)" },
        { PAWL_STATE_CANCELLED, "SEARCH pawl_done USING COVERING INDEX pawl_done_ended (state=?)" },
        { PAWL_STATE_DISCARDED, "SEARCH pawl_done USING COVERING INDEX pawl_done_ended (state=?)" },
        { PAWL_STATE_EXPIRED, "SEARCH pawl_done USING COVERING INDEX pawl_done_ended (state=?)" },
    };
    struct kit kit;
    kit_open_memory(&kit);
    assert_int_equal(COUNT(rows), PAWL_STATE_END - 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_filter filter = { .states = PAWL_STATE_BIT(rows[i].state) };
        struct pawl__buf plans = plans_of_query(&kit, &filter);
        if (strstr(plans.at, "SCAN j") || has_sort(plans.at) || !strstr(plans.at, rows[i].live)) {
            fail_msg("state %d:\n%s", rows[i].state, plans.at);
        }
        pawl__buf_release(&plans);
    }
    kit_close(&kit);
}

static void queries_use_the_index_made_for_them(void **state)
{
    static const char *const tags[] = { "a" };
    static const struct {
        struct pawl_filter filter;
        const char *live, *archived;
    } rows[] = {
        { { .business_key = "b" }, "pawl_job_business (", "pawl_archive_business (" },
        { { .idempotency_key = "i" }, "pawl_job_idempotency (", "pawl_archive_idempotency (" },
        { { .tags = tags, .tag_count = 1 }, "pawl_tag USING PRIMARY KEY (tag=?)", NULL },
    };
    struct kit kit;
    kit_open_memory(&kit);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_filter filter = rows[i].filter;
        filter.archived = true;
        struct pawl__buf plans = plans_of_query(&kit, &filter);
        bool ok = !strstr(plans.at, "SCAN j") && !has_sort(plans.at) &&
                  strstr(plans.at, rows[i].live) &&
                  (!rows[i].archived || strstr(plans.at, rows[i].archived));
        if (!ok) fail_msg("query %zu:\n%s", i, plans.at);
        pawl__buf_release(&plans);
    }
    kit_close(&kit);
}

/* Of the jobs that were given an id, the few that match are sorted; nothing else is. */
static void the_beginning_of_an_id_is_a_range(void **state)
{
    static const char *const wanted[] = {
        "SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        "SEARCH j USING INDEX pawl_job_displaced (head>? AND head<?)",
        "SEARCH j USING INDEX pawl_archive_displaced (head>? AND head<?)",
    };
    struct kit kit;
    kit_open_memory(&kit);
    struct pawl_filter filter = { .id_prefix = "0197f3c2-7a5e-7c31-9d", .archived = true };
    struct pawl__buf plans = plans_of_query(&kit, &filter);
    for (size_t i = 0; i < COUNT(wanted); i++) {
        if (!strstr(plans.at, wanted[i])) fail_msg("no \"%s\" in\n%s", wanted[i], plans.at);
    }
    if (strstr(plans.at, "SCAN j")) fail_msg("%s", plans.at);
    pawl__buf_release(&plans);
    kit_close(&kit);
}

/* ---- indexes ---- */

/* Every plan there is. */
static struct pawl__buf all_plans(struct kit *kit)
{
    struct pawl__buf all = { 0 };
    for (int sql = 0; sql < SQL_END; sql++) {
        if (is_migration(sql)) continue;
        struct pawl__buf plan = plan_of(kit->sq->writer.db, texts[sql]);
        pawl__buf_add_text(&all, plan.at);
        pawl__buf_release(&plan);
    }
    const struct pawl_filter filters[] = {
        { .business_key = "b", .archived = true },
        { .idempotency_key = "i", .archived = true },
    };
    for (size_t i = 0; i < COUNT(filters); i++) {
        struct pawl__buf plans = plans_of_query(kit, &filters[i]);
        pawl__buf_add_text(&all, plans.at);
        pawl__buf_release(&plans);
    }
    assert_false(all.failed);
    return all;
}

/* What nobody reads by costs every write for nothing. An index behind UNIQUE keeps a promise and
 * needs no reader; it has no SQL of its own. */
static void every_index_serves_a_statement(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    struct pawl__buf plans = all_plans(&kit);
    struct pawl__buf indexes = sql_lines(kit.sq->writer.db,
                                         "SELECT name FROM sqlite_schema"
                                         " WHERE type = 'index' AND sql IS NOT NULL",
                                         0);
    size_t count = 0;
    for (char *name = strtok(indexes.at, "\n"); name; name = strtok(NULL, "\n"), count++) {
        char used[128];
        snprintf(used, sizeof used, " INDEX %s", name);
        const char *found = strstr(plans.at, used);
        while (found && !strchr(" \n", found[strlen(used)])) {
            found = strstr(found + 1, used); // a longer name that begins alike
        }
        if (!found) fail_msg("index %s serves no statement", name);
    }
    assert_true(count >= 10);
    pawl__buf_release(&indexes);
    pawl__buf_release(&plans);
    kit_close(&kit);
}

/* ---- costs ---- */

enum { DISCARDED_FROM = 300000 };

/* `n` rows in each place, at most 100000; that they contradict each other does not matter here.
 * Completed jobs have the keys 1 to n, discarded ones those behind DISCARDED_FROM. */
static void fill(sqlite3 *db, int64_t n)
{
    static const char *const inserts[] = {
        "INSERT INTO pawl_job (key, tail, lane, priority, attempts_max, created_at_ms, due_at_ms,"
        " rank, args, extras) SELECT i, i, 1, 0, 1, i, i, i, '[]', 0 FROM n",
        "INSERT INTO pawl_job (key, tail, lane, priority, attempts_max, created_at_ms, due_at_ms,"
        " rank, args, extras) SELECT 200000 + i, i, 1, 0, 1, i, i, i, '[]', 0 FROM n",
        "INSERT INTO pawl_ready SELECT 1, i, i, 0, 0, 0 FROM n",
        "INSERT INTO pawl_wait (key, lane, state, rank, run, base_run, free_runs, due_at_ms,"
        " lease_until_ms) SELECT 100000 + i, 1, 3, i, 0, 0, 0, i, i FROM n",
        "INSERT INTO pawl_wait (key, lane, state, rank, run, base_run, free_runs, due_at_ms)"
        " SELECT 200000 + i, 1, 1, i, 0, 0, 0, i FROM n",
        "INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs, finished_at_ms,"
        " dead_letter) SELECT i, 1, 7, 1, 0, 0, i, 0 FROM n",
        "INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs, finished_at_ms,"
        " dead_letter) SELECT 300000 + i, 1, 10, 1, 0, 0, i, 0 FROM n",
        "INSERT INTO pawl_archive (key, tail, lane, priority, attempts_max, created_at_ms,"
        " due_at_ms, rank, args, extras, state, run, base_run, free_runs, finished_at_ms,"
        " dead_letter) SELECT i, i, 1, 0, 1, i, i, i, '[]', 0, 7, 1, 0, 0, i, 0 FROM n",
        "INSERT INTO pawl_archive (key, tail, head, lane, priority, attempts_max, created_at_ms,"
        " due_at_ms, rank, args, extras, state, run, base_run, free_runs, finished_at_ms,"
        " dead_letter) SELECT 300000 + i, i, i, 1, 0, 1, i, i, i, '[]', 0, 10, 1, 0, 0, i, 0 FROM "
        "n",
        "INSERT INTO pawl_expiry SELECT i, i FROM n",
        "INSERT INTO pawl_key SELECT CAST(printf('%016d', i) AS BLOB), zeroblob(16), i FROM n",
        "INSERT INTO pawl_tag SELECT 'tag ' || i, i FROM n",
        "INSERT INTO pawl_failure SELECT i, 1, 1, 0, i, i, NULL, 'w', NULL, NULL, NULL, NULL FROM "
        "n",
        "INSERT INTO pawl_log SELECT i, 1, 1, i, 1, 'x' FROM n",
        "INSERT INTO pawl_audit (at_ms, job_id, action) SELECT i, CAST(printf('%016d', i) AS BLOB),"
        " 'x' FROM n",
    };
    sql_run(db, "BEGIN");
    for (size_t i = 0; i < COUNT(inserts); i++) {
        struct pawl__buf sql = { 0 };
        pawl__buf_printf(&sql,
                         "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < %lld) %s",
                         (long long)n, inserts[i]);
        sql_run(db, sql.at);
        pawl__buf_release(&sql);
    }
    sql_run(db, "COMMIT");
}

static void bind_anything(sqlite3_stmt *stmt, int64_t limit, int64_t after)
{
    static const struct {
        const char *name;
        int64_t value;
    } values[] = {
        { ":lane", 1 },   { ":rank", 7 }, { ":key", 7 },          { ":job", 7 },
        { ":head", 7 },   { ":tail", 7 }, { ":now_ms", 1000000 }, { ":until", 1000000 },
        { ":state", 10 }, { ":run", 1 },  { ":base_run", 0 },     { ":before_ms", 1000000 },
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        int at = sqlite3_bind_parameter_index(stmt, values[i].name);
        if (at) sqlite3_bind_int64(stmt, at, values[i].value);
    }
    int at = sqlite3_bind_parameter_index(stmt, ":limit");
    if (at) sqlite3_bind_int64(stmt, at, limit);
    at = sqlite3_bind_parameter_index(stmt, ":after");
    if (at) sqlite3_bind_int64(stmt, at, after);
    at = sqlite3_bind_parameter_index(stmt, ":digest");
    if (at) sqlite3_bind_blob(stmt, at, "0000000000000007", 16, SQLITE_STATIC);
    at = sqlite3_bind_parameter_index(stmt, ":job_id");
    if (at) sqlite3_bind_blob(stmt, at, "0000000000000007", 16, SQLITE_STATIC);
}

/* Steps of SQLite's machine to run it to the end; it must find something. */
static int cost_of(sqlite3 *db, enum pawl__sql sql, int64_t limit, int64_t after)
{
    sqlite3_stmt *stmt = sql_prepare(db, texts[sql]);
    bind_anything(stmt, limit, after);
    int rows = 0, code;
    sql_run(db, "SAVEPOINT cost");
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        rows++;
    }
    assert_int_equal(code, SQLITE_DONE);
    if (sqlite3_column_count(stmt) > 0 && !rows) fail_msg("%s found nothing", names[sql]);
    int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(stmt);
    sql_run(db, "ROLLBACK TO cost");
    sql_run(db, "RELEASE cost");
    return steps;
}

static void costs_do_not_grow_with_the_store(void **state)
{
    static const enum pawl__sql list[] = {
        SQL_READY_NEXT,
        SQL_READY_DELETE,
        SQL_WAIT_DUE,
        SQL_PROMOTE_ENTER,
        SQL_PROMOTE_LEAVE,
        SQL_WAIT_LAPSED,
        SQL_JOB_NEXT_DUE,
        SQL_WAIT_NEXT_LEASE,
        SQL_DONE_ENDED,
        SQL_DONE_COMPLETED,
        SQL_ARCHIVE_OLD,
        SQL_ARCHIVE_COMPLETED,
        SQL_ARCHIVE_HIGH,
        SQL_EXPIRY_DUE,
        SQL_JOB_NEXT_EXPIRY,
        SQL_KEY_FORGET,
        SQL_JOB_KEY,
        SQL_ARCHIVE_KEY_DISPLACED,
        SQL_JOB_FACTS,
        SQL_STORY_AUDIT,
        SQL_STORY_FAILURES,
        SQL_STORY_LOG,
        SQL_READY_DELETE_THROUGH,
    };
    struct kit small, large;
    kit_open_memory(&small);
    kit_open_memory(&large);
    fill(small.sq->writer.db, 200);
    fill(large.sq->writer.db, 4000);
    for (size_t i = 0; i < COUNT(list); i++) {
        int few = cost_of(small.sq->writer.db, list[i], 10, 0);
        int many = cost_of(large.sq->writer.db, list[i], 10, 0);
        if (many > few) fail_msg("%s: %d steps grew to %d", names[list[i]], few, many);
    }
    kit_close(&small);
    kit_close(&large);
}

/* Though none of those it meets is one it looks for. */
static void walks_are_bounded_by_what_they_look_at(void **state)
{
    static const enum pawl__sql walks[] = { SQL_DONE_COMPLETED, SQL_ARCHIVE_COMPLETED };
    struct kit small, large;
    kit_open_memory(&small);
    kit_open_memory(&large);
    fill(small.sq->writer.db, 200);
    fill(large.sq->writer.db, 4000);
    for (size_t i = 0; i < COUNT(walks); i++) {
        int few = cost_of(small.sq->writer.db, walks[i], 100, DISCARDED_FROM);
        int many = cost_of(large.sq->writer.db, walks[i], 100, DISCARDED_FROM);
        if (many > few) fail_msg("%s: %d steps grew to %d", names[walks[i]], few, many);
    }
    kit_close(&small);
    kit_close(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_can_be_prepared),
        cmocka_unit_test(parameters_have_the_numbers_of_the_header),
        cmocka_unit_test(statements_that_are_bound_alike_take_the_same),
        cmocka_unit_test(nothing_else_scans_or_sorts),
        cmocka_unit_test(hot_statements_use_the_index_made_for_them),
        cmocka_unit_test(queries_for_one_state_look_only_where_it_is),
        cmocka_unit_test(queries_use_the_index_made_for_them),
        cmocka_unit_test(the_beginning_of_an_id_is_a_range),
        cmocka_unit_test(every_index_serves_a_statement),
        cmocka_unit_test(costs_do_not_grow_with_the_store),
        cmocka_unit_test(walks_are_bounded_by_what_they_look_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
