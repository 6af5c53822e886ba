/* Upkeep, backup, check and schema, through real stores. */
#include "api/test_kit.h"

#include <dirent.h>
#include <unistd.h>

#define DAY_MS INT64_C(86400000)

static struct pawl_job_id submit(struct kit *kit, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out;
    KIT_OK(pawl_submit(kit->pawl, spec, &out, &diag));
    return out.id;
}

static struct pawl_upkeep turn(struct kit *kit, const struct pawl_retention *retention)
{
    struct pawl_upkeep out = { .promoted = -1 };
    KIT_OK(pawl_upkeep_turn(kit->pawl, retention, &out, &diag));
    return out;
}

static void assert_turn(struct kit *kit, const struct pawl_retention *retention,
                        struct pawl_upkeep expected)
{
    struct pawl_upkeep got = turn(kit, retention);
    assert_int_equal(got.promoted, expected.promoted);
    assert_int_equal(got.lapsed, expected.lapsed);
    assert_int_equal(got.expired, expected.expired);
    assert_int_equal(got.archived, expected.archived);
    assert_int_equal(got.purged, expected.purged);
}

static void claim_one(struct kit *kit, int64_t lease_ms)
{
    static const char *const queues[] = { "default" };
    struct pawl__op op = {
        .kind = PAWL__OP_CLAIM,
        .claim = { .queues = queues,
                   .queue_count = 1,
                   .limit = 1,
                   .worker = "w",
                   .lease_ms = lease_ms },
    };
    KIT_OK(pawl__desk_do(kit->pawl, &op, &diag));
    assert_int_equal(op.claim.job_count, 1);
}

static void idle_store_has_nothing_to_do(void **state)
{
    assert_turn(*state, NULL, (struct pawl_upkeep){ .promoted = 0 });
    KIT_OK(pawl_upkeep_turn(((struct kit *)*state)->pawl, NULL, NULL, &diag));
}

struct heard {
    size_t moves, missed;
    struct pawl_moved last;
};

static void hear(void *ctx, const struct pawl_moved *moved)
{
    struct heard *heard = ctx;
    heard->moves += !moved->missed;
    heard->missed += moved->missed != PAWL_DEADLINE_NONE;
    heard->last = *moved;
}

static void missed_deadlines_are_reported(void **state)
{
    struct kit *kit = *state;
    struct heard heard = { 0 };
    KIT_OK(pawl_listen(kit->pawl, hear, &heard, &diag));
    struct pawl_job_id id =
        submit(kit, &(struct pawl_job_spec){ .type = "t",
                                             .sla_soft_at_ms = kit->now_ms + 5,
                                             .sla_hard_at_ms = kit->now_ms + 1000 });
    assert_int_equal(turn(kit, NULL).missed, 0);
    kit->now_ms += 6;
    assert_int_equal(turn(kit, NULL).missed, 1);
    assert_int_equal(turn(kit, NULL).missed, 0);
    kit->now_ms += 1000;
    assert_int_equal(turn(kit, NULL).missed, 1);
    turn(kit, NULL); // commits follow each other, with what they tell
    KIT_OK(pawl_listen(kit->pawl, NULL, NULL, &diag)); // has heard all
    assert_int_equal(heard.moves, 1);
    assert_int_equal(heard.missed, 2);
    assert_memory_equal(&heard.last.id, &id, sizeof id);
    assert_int_equal(heard.last.missed, PAWL_DEADLINE_HARD);
    assert_int_equal(heard.last.from, PAWL_STATE_AVAILABLE);
    assert_int_equal(heard.last.to, PAWL_STATE_AVAILABLE);
    assert_string_equal(pawl_deadline_text(PAWL_DEADLINE_HARD), "hard");
    assert_string_equal(pawl_deadline_text(PAWL_DEADLINE_NONE), "");
    assert_string_equal(pawl_deadline_text(PAWL_DEADLINE_END), "");
}

static void due_jobs_are_promoted(void **state)
{
    struct kit *kit = *state;
    submit(kit, &(struct pawl_job_spec){ .type = "t", .delay_ms = 1000 });
    kit->now_ms += 999;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .promoted = 0 });
    kit->now_ms += 1;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .promoted = 1 });
    assert_turn(kit, NULL, (struct pawl_upkeep){ .promoted = 0 });
}

static void lapsed_leases_are_taken_back(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_id id = submit(kit, &(struct pawl_job_spec){ .type = "t" });
    claim_one(kit, 1000);
    assert_turn(kit, NULL, (struct pawl_upkeep){ .lapsed = 0 });
    kit->now_ms += 1001;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .lapsed = 1 });
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(kit->pawl, id, &jobs, &diag));
    assert_int_equal(jobs.at[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(jobs.at[0].attempt, 1);
    pawl_jobs_release(&jobs);
}

static void jobs_past_their_time_expire(void **state)
{
    struct kit *kit = *state;
    submit(kit, &(struct pawl_job_spec){ .type = "t", .expires_in_ms = 500 });
    submit(kit, &(struct pawl_job_spec){ .type = "t", .delay_ms = 600, .expires_in_ms = 500 });
    kit->now_ms += 501;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .expired = 1 });
    kit->now_ms += 600; // due and too late in one turn: promoted, then expired
    struct pawl_upkeep got = turn(kit, NULL);
    assert_int_equal(got.expired, 1);
}

static void ended_jobs_are_archived_then_purged_by_default(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_id id = submit(kit, &(struct pawl_job_spec){ .type = "t" });
    KIT_OK(pawl_control(kit->pawl, id, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    kit->now_ms = KIT_NOW_MS + 7 * DAY_MS - 1;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .archived = 0 });
    kit->now_ms = KIT_NOW_MS + 7 * DAY_MS + 1;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .archived = 1 });
    kit->now_ms = KIT_NOW_MS + 90 * DAY_MS - 1;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .purged = 0 });
    kit->now_ms = KIT_NOW_MS + 90 * DAY_MS + 1;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .purged = 1 });
    struct pawl_jobs jobs = { .at = NULL };
    assert_int_equal(pawl_get(kit->pawl, id, &jobs, NULL), PAWL_ERR_NOT_FOUND);
}

static void negative_retention_keeps_for_ever(void **state)
{
    struct kit *kit = *state;
    struct pawl_retention never = { .archive_after_ms = -1, .purge_after_ms = -1 };
    struct pawl_retention soon = { .archive_after_ms = 1, .purge_after_ms = -1 };
    struct pawl_job_id id = submit(kit, &(struct pawl_job_spec){ .type = "t" });
    KIT_OK(pawl_control(kit->pawl, id, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    kit->now_ms += 1000 * DAY_MS;
    assert_turn(kit, &never, (struct pawl_upkeep){ .archived = 0 });
    assert_turn(kit, &soon, (struct pawl_upkeep){ .archived = 1 });
    kit->now_ms += 1000 * DAY_MS;
    assert_turn(kit, &soon, (struct pawl_upkeep){ .purged = 0 });
}

static void retention_ends_at_a_hundred_years(void **state)
{
    struct kit *kit = *state;
    const int64_t most = INT64_C(3155760000000);
    struct pawl_upkeep out = { .promoted = -7 };
    struct pawl_retention keep = { .archive_after_ms = most, .purge_after_ms = most };
    assert_turn(kit, &keep, (struct pawl_upkeep){ .promoted = 0 });
    keep.archive_after_ms = most + 1;
    KIT_FAILS(pawl_upkeep_turn(kit->pawl, &keep, &out, &diag), PAWL_ERR_ARG,
              "retention.archive_after_ms");
    keep = (struct pawl_retention){ .purge_after_ms = INT64_MAX };
    KIT_FAILS(pawl_upkeep_turn(kit->pawl, &keep, &out, &diag), PAWL_ERR_ARG,
              "retention.purge_after_ms");
    assert_int_equal(out.promoted, -7);
}

static void each_turn_is_bounded(void **state)
{
    struct kit *kit = *state;
    enum { JOBS = 1200 };
    struct pawl_job_spec *specs = calloc(JOBS, sizeof *specs);
    struct pawl_submitted *out = calloc(JOBS, sizeof *out);
    assert_true(specs && out);
    for (size_t i = 0; i < JOBS; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "t", .delay_ms = 10 };
    }
    KIT_OK(pawl_submit_many(kit->pawl, specs, JOBS, out, &diag));
    kit->now_ms += 10;
    assert_turn(kit, NULL, (struct pawl_upkeep){ .promoted = PAWL__MAINTENANCE_MAX });
    assert_turn(kit, NULL, (struct pawl_upkeep){ .promoted = JOBS - PAWL__MAINTENANCE_MAX });
    free(specs);
    free(out);
}

/* ---- the store as a whole ---- */

static void count_finding(void *ctx, const char *finding)
{
    print_error("%s\n", finding);
    ++*(int *)ctx;
}

static void sound_store_has_no_findings(void **state)
{
    struct kit *kit = *state;
    int findings = 0;
    submit(kit, &(struct pawl_job_spec){ .type = "t", .business_key = "k" });
    KIT_OK(pawl_check(kit->pawl, count_finding, &findings, &diag));
    KIT_OK(pawl_check(kit->pawl, NULL, NULL, &diag));
    assert_int_equal(findings, 0);
}

static int count_calls(void *ctx, int64_t done, int64_t total)
{
    assert_true(done <= total);
    ++*(int *)ctx;
    return 0;
}

/* With whatever the store left beside its file. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] != '.') unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

static void backup_is_a_store_of_its_own(void **state)
{
    struct kit *kit = *state;
    char folder[] = "/tmp/pawl-upkeep-XXXXXX";
    char path[64], url[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/copy.db", folder);
    snprintf(url, sizeof url, "sqlite:%s", path);
    struct pawl_config config = { .store = url, .clock = &kit->clock, .must_exist = true };
    struct pawl_schema schema = { .version = -1 };
    struct pawl *copy = NULL;
    int calls = 0;
    int64_t count = 0;
    submit(kit, &(struct pawl_job_spec){ .type = "t" });
    KIT_FAILS(pawl_backup(kit->pawl, "", NULL, NULL, &diag), PAWL_ERR_ARG, "path");
    KIT_FAILS(pawl_backup(kit->pawl, NULL, NULL, NULL, &diag), PAWL_ERR_ARG, "path");
    assert_int_equal(pawl_schema_get(&config, &schema, NULL), PAWL_ERR_NOT_FOUND);
    assert_int_equal(schema.version, -1);
    KIT_OK(pawl_backup(kit->pawl, path, count_calls, &calls, &diag));
    assert_true(calls > 0);
    assert_int_equal(pawl_backup(kit->pawl, path, NULL, NULL, NULL), PAWL_ERR_EXISTS);
    KIT_OK(pawl_schema_get(&config, &schema, &diag));
    assert_true(schema.version > 0);
    assert_int_equal(schema.version, schema.newest);
    KIT_OK(pawl_open(&config, &copy, &diag));
    KIT_OK(pawl_count(copy, NULL, &count, &diag));
    assert_int_equal(count, 1);
    pawl_close(copy);
    remove_folder(folder);
}

static void schema_checks_the_configuration(void **state)
{
    (void)state;
    struct pawl_schema schema;
    struct pawl_config config = { .store = "" };
    KIT_FAILS(pawl_schema_get(&config, &schema, &diag), PAWL_ERR_ARG, "store");
}

static void urls_tell_what_their_stores_are(void **state)
{
    (void)state;
    static const struct {
        const char *url, *name, *path;
        bool served;
    } rows[] = {
        { "sqlite:pawl.db", "sqlite", "pawl.db", false },
        { "sqlite:/var/lib/pawl.db", "sqlite", "/var/lib/pawl.db", false },
        { "sqlite:", "sqlite", "", false },
        { "sqlite::memory:", "sqlite", NULL, false },
        { "postgres://db/jobs", "postgres", NULL, true },
        { "postgresql:///jobs", "postgres", NULL, true },
        { "https://jobs.example", "http", NULL, false },
    };
    struct pawl_store_kind kind;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(pawl_store_kind_of(rows[i].url, &kind));
        assert_string_equal(kind.name, rows[i].name);
        assert_int_equal(kind.served, rows[i].served);
        assert_int_equal(kind.path == NULL, rows[i].path == NULL);
        if (kind.path) assert_string_equal(kind.path, rows[i].path);
    }
    assert_false(pawl_store_kind_of("", &kind));
    assert_false(pawl_store_kind_of("pawl.db", &kind));
    assert_false(pawl_store_kind_of("postgres:db", &kind));
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(idle_store_has_nothing_to_do),
        WITH_STORE(missed_deadlines_are_reported),
        WITH_STORE(due_jobs_are_promoted),
        WITH_STORE(lapsed_leases_are_taken_back),
        WITH_STORE(jobs_past_their_time_expire),
        WITH_STORE(ended_jobs_are_archived_then_purged_by_default),
        WITH_STORE(negative_retention_keeps_for_ever),
        WITH_STORE(retention_ends_at_a_hundred_years),
        WITH_STORE(each_turn_is_bounded),
        WITH_STORE(sound_store_has_no_findings),
        WITH_STORE(backup_is_a_store_of_its_own),
        cmocka_unit_test(schema_checks_the_configuration),
        cmocka_unit_test(urls_tell_what_their_stores_are),
    };
    return cmocka_run_group_tests_name("api/upkeep", tests, NULL, NULL);
}
