/* Reads other than queries: jobs by id, a job's story, statistics, nodes, locks, settings.
 *
 * Runs on: the caller's thread, with a connection from the pool. Rows are copied into the arena. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

/* Room for one more in an array that lives in an arena and doubles. */
static void *grow(struct pawl__arena *arena, void *array, size_t count, size_t bytes)
{
    if (count & (count - 1)) return array; // full only at powers of two
    void *grown = pawl__arena_calloc(arena, count ? count * 2 : 1, bytes);
    if (grown && array) memcpy(grown, array, count * bytes);
    return grown;
}

/* Runs a statement whose one parameter is bound and hands each row to `visit`. */
typedef bool row_fn(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena);

static enum pawl_err each_row(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, row_fn *visit,
                              void *ctx, struct pawl__arena *arena, struct pawl_diag *diag)
{
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(conn, stmt, &found, diag)) && found) {
        if (!visit(ctx, stmt, arena)) {
            sqlite3_reset(stmt);
            return pawl__fail_nomem(diag);
        }
    }
    return err;
}

static enum pawl_err read_one(struct pawl__sq_conn *conn, bool archived, int64_t key,
                              struct pawl__arena *arena, struct pawl_job *job,
                              struct pawl_diag *diag)
{
    sqlite3_stmt *stmt = pawl__sq_use(conn, archived ? SQL_GET_ARCHIVED : SQL_GET_LIVE);
    pawl__sq_bind(stmt, 1, key);
    bool found;
    enum pawl_err err = pawl__sq_row(conn, stmt, &found, diag);
    if (err) return err;
    if (!found) return PAWL_ERR_NOT_FOUND;
    err = pawl__sq_read_job(stmt, arena, job);
    sqlite3_reset(stmt);
    return err ? pawl__fail_nomem(diag) : PAWL_OK;
}

static enum pawl_err get_one(struct pawl__sq_conn *conn, struct pawl_job_id id,
                             struct pawl__arena *arena, struct pawl_job *job, int64_t *key,
                             struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_find(conn, id, key, diag);
    if (!err) return read_one(conn, false, *key, arena, job, diag);
    if (err != PAWL_ERR_NOT_FOUND) return err;
    err = pawl__sq_find_archived(conn, id, key, diag);
    return err ? err : read_one(conn, true, *key, arena, job, diag);
}

enum pawl_err pawl__sq_get(struct pawl__backend *sq, const struct pawl_job_id *ids, size_t count,
                           struct pawl__arena *arena, struct pawl_job **out, size_t *out_count,
                           struct pawl_diag *diag)
{
    *out_count = 0;
    *out = pawl__arena_calloc(arena, count ? count : 1, sizeof **out);
    if (!*out) return pawl__fail_nomem(diag);
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    for (size_t i = 0; !err && i < count; i++) {
        int64_t key;
        err = get_one(conn, ids[i], arena, &(*out)[*out_count], &key, diag);
        *out_count += !err;
        if (err == PAWL_ERR_NOT_FOUND) err = PAWL_OK;
    }
    pawl__sq_read_end(sq, conn);
    return err;
}

static bool add_failure(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_story *story = ctx;
    struct pawl_failure *list =
        grow(arena, (void *)story->failures, story->failure_count, sizeof *list);
    if (!list) return false;
    story->failures = list;
    struct pawl_failure *failure = &list[story->failure_count++];
    *failure = (struct pawl_failure){
        .run = sqlite3_column_int64(row, 0),
        .attempt = sqlite3_column_int64(row, 1),
        .lapsed = sqlite3_column_int(row, 2) != 0,
        .started_at_ms = sqlite3_column_int64(row, 3),
        .failed_at_ms = sqlite3_column_int64(row, 4),
        .retry_delay_ms = sqlite3_column_type(row, 5) == SQLITE_NULL ? -1
                                                                     : sqlite3_column_int64(row, 5),
    };
    return (failure->worker = pawl__sq_column_text(row, 6, arena)) &&
           (failure->type = pawl__sq_column_text(row, 7, arena)) &&
           (failure->code = pawl__sq_column_text(row, 8, arena)) &&
           (failure->message = pawl__sq_column_text(row, 9, arena)) &&
           pawl__sq_column_span(row, 10, arena, &failure->details);
}

static bool add_log_line(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_story *story = ctx;
    struct pawl_log_line *list = grow(arena, (void *)story->log, story->log_count, sizeof *list);
    if (!list) return false;
    story->log = list;
    struct pawl_log_line *line = &list[story->log_count++];
    *line = (struct pawl_log_line){ .number = sqlite3_column_int64(row, 0),
                                    .at_ms = sqlite3_column_int64(row, 1),
                                    .run = sqlite3_column_int64(row, 2),
                                    .level = sqlite3_column_int(row, 3),
                                    .text = pawl__sq_column_text(row, 4, arena) };
    return line->text != NULL;
}

static bool add_deed(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_story *story = ctx;
    struct pawl_deed *list = grow(arena, (void *)story->deeds, story->deed_count, sizeof *list);
    if (!list) return false;
    story->deeds = list;
    struct pawl_deed *deed = &list[story->deed_count++];
    *deed = (struct pawl_deed){ .at_ms = sqlite3_column_int64(row, 0),
                                .action = pawl__sq_column_text(row, 1, arena),
                                .actor = pawl__sq_column_text(row, 2, arena),
                                .reason = pawl__sq_column_text(row, 3, arena),
                                .from = (enum pawl_state)sqlite3_column_int(row, 4),
                                .to = (enum pawl_state)sqlite3_column_int(row, 5) };
    return deed->action && deed->actor && deed->reason;
}

/* A run that is under way shows its own progress, not an earlier one's. */
static bool set_progress(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_story *story = ctx;
    bool current = sqlite3_column_int64(row, 0) == story->job.run;
    if (story->job.state == PAWL_STATE_ACTIVE && !current) return true;
    if (sqlite3_column_type(row, 2) != SQLITE_NULL) story->progress = sqlite3_column_double(row, 2);
    story->progress_at_ms = sqlite3_column_int64(row, 1);
    story->progress_message = pawl__sq_column_text(row, 3, arena);
    return story->progress_message && pawl__sq_column_span(row, 4, arena, &story->progress_data);
}

static bool set_checkpoint(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_story *story = ctx;
    story->checkpoint_sequence = sqlite3_column_int64(row, 0);
    story->checkpoint_at_ms = sqlite3_column_int64(row, 1);
    return pawl__sq_column_span(row, 2, arena, &story->checkpoint);
}

static enum pawl_err read_story(struct pawl__sq_conn *conn, struct pawl_job_id id, int64_t key,
                                struct pawl__arena *arena, struct pawl_story *out,
                                struct pawl_diag *diag)
{
    static const struct {
        enum pawl__sql sql;
        row_fn *visit;
    } parts[] = { { SQL_STORY_FAILURES, add_failure },
                  { SQL_STORY_LOG, add_log_line },
                  { SQL_STORY_PROGRESS, set_progress },
                  { SQL_STORY_CHECKPOINT, set_checkpoint } };
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < sizeof parts / sizeof *parts; i++) {
        sqlite3_stmt *stmt = pawl__sq_use(conn, parts[i].sql);
        pawl__sq_bind(stmt, 1, key);
        err = each_row(conn, stmt, parts[i].visit, out, arena, diag);
    }
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_STORY_DEEDS);
    pawl__sq_bind_bytes(stmt, SQL_STORY_DEEDS_job_id, id.b, sizeof id.b);
    return each_row(conn, stmt, add_deed, out, arena, diag);
}

static enum pawl_err find_key(struct pawl__sq_conn *conn, struct pawl_job_id id, int64_t *key,
                              struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_find(conn, id, key, diag);
    return err == PAWL_ERR_NOT_FOUND ? pawl__sq_find_archived(conn, id, key, diag) : err;
}

enum pawl_err pawl__sq_story(struct pawl__backend *sq, struct pawl_job_id id,
                             const struct pawl_job *known, struct pawl__arena *arena,
                             struct pawl_story *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_story){ .progress = -1,
                                .progress_message = "",
                                .progress_data = { "", 0 },
                                .checkpoint = { "", 0 },
                                .owned = owned };
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    int64_t key;
    if (known) out->job = *known;
    err = known ? find_key(conn, id, &key, diag) : get_one(conn, id, arena, &out->job, &key, diag);
    if (!err) err = read_story(conn, id, key, arena, out, diag);
    if (known && err == PAWL_ERR_NOT_FOUND) err = PAWL_OK;
    pawl__sq_read_end(sq, conn);
    return err == PAWL_ERR_NOT_FOUND ? pawl__fail_unknown(diag, id) : err;
}

static bool add_count(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_stats *stats = ctx;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    if (!name) return false;
    if (sqlite3_column_int(row, 5)) { // deleted; at most its archived jobs are left
        stats->archived += sqlite3_column_int64(row, 3);
        return true;
    }
    struct pawl_queue_stats *last = stats->queue_count ? &stats->queues[stats->queue_count - 1]
                                                       : NULL;
    if (!last || strcmp(last->queue, name) != 0) {
        struct pawl_queue_stats *list =
            grow(arena, stats->queues, stats->queue_count, sizeof *list);
        if (!list) return false;
        stats->queues = list;
        last = &list[stats->queue_count++];
        *last = (struct pawl_queue_stats){ .queue = pawl__sq_column_text(row, 0, arena),
                                           .paused = sqlite3_column_int(row, 1) != 0,
                                           .created_at_ms = sqlite3_column_int64(row, 4) };
        if (!last->queue) return false;
    }
    if (sqlite3_column_type(row, 2) == SQLITE_NULL) return true; // a queue without jobs so far
    int state = sqlite3_column_int(row, 2);
    int64_t n = sqlite3_column_int64(row, 3);
    if (state == PAWL_STATE_NONE) {
        last->archived += n;
        stats->archived += n;
    } else if (state < PAWL_STATE_END) {
        last->count[state] += n;
        stats->count[state] += n;
    }
    return true;
}

static enum pawl_err read_number(struct pawl__sq_conn *conn, enum pawl__sql sql, int64_t *out,
                                 struct pawl_diag *diag)
{
    sqlite3_stmt *stmt = pawl__sq_use(conn, sql);
    bool found;
    enum pawl_err err = pawl__sq_row(conn, stmt, &found, diag);
    if (err || !found) return err;
    *out = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return PAWL_OK;
}

enum pawl_err pawl__sq_stats(struct pawl__backend *sq, struct pawl__arena *arena,
                             struct pawl_stats *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_stats){ .owned = owned };
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    struct pawl_schema schema = { 0 };
    err = each_row(conn, pawl__sq_use(conn, SQL_STATS_COUNTS), add_count, out, arena, diag);
    if (!err) err = read_number(conn, SQL_WAIT_NEXT_DUE, &out->next_due_at_ms, diag);
    if (!err) err = read_number(conn, SQL_STATS_BYTES, &out->store_bytes, diag);
    if (!err) err = pawl__sq_schema_read(conn, &schema, diag);
    out->schema_version = schema.version;
    pawl__sq_read_end(sq, conn);
    return err;
}

static bool add_node(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_nodes *nodes = ctx;
    struct pawl_node *list = grow(arena, nodes->at, nodes->count, sizeof *list);
    if (!list) return false;
    nodes->at = list;
    struct pawl_node *node = &list[nodes->count++];
    *node = (struct pawl_node){ .name = pawl__sq_column_text(row, 0, arena),
                                .info = pawl__sq_column_text(row, 1, arena),
                                .started_at_ms = sqlite3_column_int64(row, 2),
                                .heartbeat_at_ms = sqlite3_column_int64(row, 3),
                                .active = sqlite3_column_int64(row, 4) };
    return node->name && node->info;
}

enum pawl_err pawl__sq_nodes(struct pawl__backend *sq, struct pawl__arena *arena,
                             struct pawl_nodes *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_nodes){ .now_ms = pawl__clock_wall_ms(sq->clock), .owned = owned };
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_reader_take(sq, &conn, diag);
    if (err) return err;
    err = each_row(conn, pawl__sq_use(conn, SQL_NODES_ALL), add_node, out, arena, diag);
    pawl__sq_reader_give(sq, conn);
    return err;
}

static bool add_lock(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_locks *locks = ctx;
    struct pawl_lock *list = grow(arena, locks->at, locks->count, sizeof *list);
    if (!list) return false;
    locks->at = list;
    struct pawl_lock *lock = &list[locks->count++];
    *lock = (struct pawl_lock){ .name = pawl__sq_column_text(row, 0, arena),
                                .owner = pawl__sq_column_text(row, 1, arena),
                                .fence = sqlite3_column_int64(row, 2),
                                .locked_at_ms = sqlite3_column_int64(row, 3),
                                .expires_at_ms = sqlite3_column_int64(row, 4) };
    return lock->name && lock->owner;
}

enum pawl_err pawl__sq_locks(struct pawl__backend *sq, struct pawl__arena *arena,
                             struct pawl_locks *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_locks){ .now_ms = pawl__clock_wall_ms(sq->clock), .owned = owned };
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_reader_take(sq, &conn, diag);
    if (err) return err;
    err = each_row(conn, pawl__sq_use(conn, SQL_LOCKS_ALL), add_lock, out, arena, diag);
    pawl__sq_reader_give(sq, conn);
    return err;
}

static bool add_setting(void *ctx, sqlite3_stmt *row, struct pawl__arena *arena)
{
    struct pawl_settings *settings = ctx;
    struct pawl_setting *list = grow(arena, settings->at, settings->count, sizeof *list);
    if (!list) return false;
    settings->at = list;
    struct pawl_setting *setting = &list[settings->count++];
    *setting = (struct pawl_setting){ .name = pawl__sq_column_text(row, 0, arena),
                                      .value = pawl__sq_column_text(row, 1, arena) };
    return setting->name && setting->value;
}

enum pawl_err pawl__sq_settings(struct pawl__backend *sq, const char *prefix,
                                struct pawl__arena *arena, struct pawl_settings *out,
                                struct pawl_diag *diag)
{
    *out = (struct pawl_settings){ .owned = out->owned };
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_reader_take(sq, &conn, diag);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_SETTING_LIST);
    pawl__sq_bind_text(stmt, SQL_SETTING_LIST_prefix, prefix);
    err = each_row(conn, stmt, add_setting, out, arena, diag);
    pawl__sq_reader_give(sq, conn);
    return err;
}

enum pawl_err pawl__sq_setting(struct pawl__backend *sq, const char *name,
                               struct pawl__arena *arena, const char **out, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn;
    enum pawl_err err = pawl__sq_reader_take(sq, &conn, diag);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_SETTING_GET);
    pawl__sq_bind_text(stmt, SQL_SETTING_GET_name, name);
    bool found;
    err = pawl__sq_row(conn, stmt, &found, diag);
    if (!err && found) {
        *out = pawl__sq_column_text(stmt, 0, arena);
        sqlite3_reset(stmt);
        if (!*out) err = pawl__fail_nomem(diag);
    } else if (!err) {
        err = pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no setting \"%s\"", name);
    }
    pawl__sq_reader_give(sq, conn);
    return err;
}
