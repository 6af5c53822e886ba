/* Reads other than queries: jobs by id, a job's story, statistics, nodes, locks, settings.
 *
 * Runs on: the caller's thread, with a connection from the pool. Rows are copied into the arena. A
 * connection may turn out to have been cut: then it is done once more, with another. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

/* Room for all rows of an answer. */
static void *room_for(const PGresult *rows, struct pawl__arena *arena, size_t bytes)
{
    return pawl__arena_calloc(arena, (size_t)PQntuples(rows) + 1, bytes);
}

static void send_ids(struct pawl__pg_conn *conn, const struct pawl_job_id *ids, size_t count,
                     int slot)
{
    struct pawl__pg_list list = { 0 };
    pawl__pg_list_begin(&list, PAWL__PG_IDS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add_id(&list, ids[i]);
    }
    pawl__pg_call(conn, PG_GET_MANY);
    pawl__pg_bind_list(conn, PG_GET_MANY_ids, &list);
    pawl__pg_send_keep(conn, slot);
    pawl__pg_list_release(&list);
}

static enum pawl_err read_jobs(const PGresult *rows, struct pawl__arena *arena,
                               struct pawl_job **out, size_t *out_count, struct pawl_diag *diag)
{
    *out = room_for(rows, arena, sizeof **out);
    if (!*out) return pawl__fail_nomem(diag);
    for (int i = 0; i < PQntuples(rows); i++) {
        if (pawl__pg_read_job(rows, i, arena, &(*out)[i])) return pawl__fail_nomem(diag);
        ++*out_count;
    }
    return PAWL_OK;
}

static enum pawl_err get_once(struct pawl__backend *pg, const struct pawl_job_id *ids, size_t count,
                              struct pawl__arena *arena, struct pawl_job **out, size_t *out_count,
                              struct pawl_diag *diag)
{
    *out_count = 0;
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    send_ids(conn, ids, count, 0);
    err = pawl__pg_read_last(conn, diag);
    if (!err) err = read_jobs(conn->kept[0], arena, out, out_count, diag);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_get(struct pawl__backend *pg, const struct pawl_job_id *ids, size_t count,
                           struct pawl__arena *arena, struct pawl_job **out, size_t *out_count,
                           struct pawl_diag *diag)
{
    enum pawl_err err = get_once(pg, ids, count, arena, out, out_count, diag);
    return err == PAWL_ERR_IO ? get_once(pg, ids, count, arena, out, out_count, diag) : err;
}

/* ---- a job's story ---- */

static bool add_failures(struct pawl_story *story, const PGresult *rows, struct pawl__arena *arena)
{
    struct pawl_failure *list = room_for(rows, arena, sizeof *list);
    if (!list) return false;
    story->failures = list;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl_failure *failure = &list[story->failure_count++];
        *failure = (struct pawl_failure){
            .run = pawl__pg_int(rows, i, 0),
            .attempt = pawl__pg_int(rows, i, 1),
            .lapsed = pawl__pg_bool(rows, i, 2),
            .started_at_ms = pawl__pg_int(rows, i, 3),
            .failed_at_ms = pawl__pg_int(rows, i, 4),
            .retry_delay_ms = pawl__pg_is_null(rows, i, 5) ? -1 : pawl__pg_int(rows, i, 5),
        };
        bool ok = (failure->worker = pawl__pg_text(rows, i, 6, arena)) &&
                  (failure->type = pawl__pg_text(rows, i, 7, arena)) &&
                  (failure->code = pawl__pg_text(rows, i, 8, arena)) &&
                  (failure->message = pawl__pg_text(rows, i, 9, arena)) &&
                  pawl__pg_span(rows, i, 10, arena, &failure->details);
        if (!ok) return false;
    }
    return true;
}

static bool add_log(struct pawl_story *story, const PGresult *rows, struct pawl__arena *arena)
{
    struct pawl_log_line *list = room_for(rows, arena, sizeof *list);
    if (!list) return false;
    story->log = list;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl_log_line *line = &list[story->log_count++];
        *line = (struct pawl_log_line){ .number = pawl__pg_int(rows, i, 0),
                                        .at_ms = pawl__pg_int(rows, i, 1),
                                        .run = pawl__pg_int(rows, i, 2),
                                        .level = (int32_t)pawl__pg_int(rows, i, 3),
                                        .text = pawl__pg_text(rows, i, 4, arena) };
        if (!line->text) return false;
    }
    return true;
}

static bool add_deeds(struct pawl_story *story, const PGresult *rows, struct pawl__arena *arena)
{
    struct pawl_deed *list = room_for(rows, arena, sizeof *list);
    if (!list) return false;
    story->deeds = list;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl_deed *deed = &list[story->deed_count++];
        *deed = (struct pawl_deed){ .at_ms = pawl__pg_int(rows, i, 0),
                                    .action = pawl__pg_text(rows, i, 1, arena),
                                    .actor = pawl__pg_text(rows, i, 2, arena),
                                    .reason = pawl__pg_text(rows, i, 3, arena),
                                    .from = (enum pawl_state)pawl__pg_int(rows, i, 4),
                                    .to = (enum pawl_state)pawl__pg_int(rows, i, 5) };
        if (!deed->action || !deed->actor || !deed->reason) return false;
    }
    return true;
}

/* A run that is under way shows its own progress, not an earlier one's. */
static bool set_progress(struct pawl_story *story, const PGresult *rows, struct pawl__arena *arena)
{
    if (!PQntuples(rows)) return true;
    bool current = pawl__pg_int(rows, 0, 0) == story->job.run;
    if (story->job.state == PAWL_STATE_ACTIVE && !current) return true;
    if (!pawl__pg_is_null(rows, 0, 2)) story->progress = pawl__pg_double(rows, 0, 2);
    story->progress_at_ms = pawl__pg_int(rows, 0, 1);
    story->progress_message = pawl__pg_text(rows, 0, 3, arena);
    return story->progress_message && pawl__pg_span(rows, 0, 4, arena, &story->progress_data);
}

static bool set_checkpoint(struct pawl_story *story, const PGresult *rows,
                           struct pawl__arena *arena)
{
    if (!PQntuples(rows)) return true;
    story->checkpoint_sequence = pawl__pg_int(rows, 0, 0);
    story->checkpoint_at_ms = pawl__pg_int(rows, 0, 1);
    return pawl__pg_span(rows, 0, 2, arena, &story->checkpoint);
}

static const struct {
    enum pawl__pg sql;
    bool (*read)(struct pawl_story *story, const PGresult *rows, struct pawl__arena *arena);
} parts[] = { { PG_STORY_FAILURES, add_failures },
              { PG_STORY_LOG, add_log },
              { PG_STORY_DEEDS, add_deeds },
              { PG_STORY_PROGRESS, set_progress },
              { PG_STORY_CHECKPOINT, set_checkpoint } };
enum { PARTS = sizeof parts / sizeof *parts, SLOT_JOB = PARTS };
_Static_assert((int)SLOT_JOB < (int)PAWL__PG_SLOTS, "one round trip");

static enum pawl_err ask_story(struct pawl__pg_conn *conn, struct pawl_job_id id,
                               const struct pawl_job *known, struct pawl_diag *diag)
{
    if (!known) send_ids(conn, &id, 1, SLOT_JOB);
    for (int i = 0; i < PARTS; i++) {
        pawl__pg_call(conn, parts[i].sql);
        pawl__pg_bind_id(conn, 1, &id);
        pawl__pg_send_keep(conn, i);
    }
    return pawl__pg_read_last(conn, diag);
}

static enum pawl_err read_story(struct pawl__pg_conn *conn, struct pawl_job_id id,
                                const struct pawl_job *known, struct pawl__arena *arena,
                                struct pawl_story *out, struct pawl_diag *diag)
{
    const PGresult *job = conn->kept[SLOT_JOB];
    if (known) {
        out->job = *known;
    } else if (!PQntuples(job)) {
        return pawl__fail_unknown(diag, id);
    } else if (pawl__pg_read_job(job, 0, arena, &out->job)) {
        return pawl__fail_nomem(diag);
    }
    for (int i = 0; i < PARTS; i++) {
        if (!parts[i].read(out, conn->kept[i], arena)) return pawl__fail_nomem(diag);
    }
    return PAWL_OK;
}

static enum pawl_err story_once(struct pawl__backend *pg, struct pawl_job_id id,
                                const struct pawl_job *known, struct pawl__arena *arena,
                                struct pawl_story *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_story){ .progress = -1,
                                .progress_message = "",
                                .progress_data = { "", 0 },
                                .checkpoint = { "", 0 },
                                .owned = owned };
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    err = ask_story(conn, id, known, diag);
    if (!err) err = read_story(conn, id, known, arena, out, diag);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_story(struct pawl__backend *pg, struct pawl_job_id id,
                             const struct pawl_job *known, struct pawl__arena *arena,
                             struct pawl_story *out, struct pawl_diag *diag)
{
    enum pawl_err err = story_once(pg, id, known, arena, out, diag);
    return err == PAWL_ERR_IO ? story_once(pg, id, known, arena, out, diag) : err;
}

/* ---- statistics ---- */

static bool add_count(struct pawl_stats *stats, const PGresult *rows, int row,
                      struct pawl__arena *arena)
{
    const char *name = pawl__pg_raw(rows, row, 0).at;
    if (pawl__pg_bool(rows, row, 5)) { // deleted; at most its archived jobs are left
        if (!pawl__pg_is_null(rows, row, 3)) stats->archived += pawl__pg_int(rows, row, 3);
        return true;
    }
    struct pawl_queue_stats *last = stats->queue_count ? &stats->queues[stats->queue_count - 1]
                                                       : NULL;
    if (!last || strcmp(last->queue, name) != 0) {
        last = &stats->queues[stats->queue_count++];
        *last = (struct pawl_queue_stats){ .queue = pawl__pg_text(rows, row, 0, arena),
                                           .paused = pawl__pg_bool(rows, row, 1),
                                           .created_at_ms = pawl__pg_int(rows, row, 4) };
        if (!last->queue) return false;
    }
    if (pawl__pg_is_null(rows, row, 2)) return true; // a lane or queue without jobs so far
    int64_t state = pawl__pg_int(rows, row, 2), n = pawl__pg_int(rows, row, 3);
    if (state == PAWL_STATE_NONE) {
        last->archived += n;
        stats->archived += n;
    } else if (state > 0 && state < PAWL_STATE_END) {
        last->count[state] += n;
        stats->count[state] += n;
    }
    return true;
}

static bool add_counts(struct pawl_stats *stats, const PGresult *rows, struct pawl__arena *arena)
{
    stats->queues = room_for(rows, arena, sizeof *stats->queues);
    bool ok = stats->queues != NULL;
    for (int i = 0; ok && i < PQntuples(rows); i++) {
        ok = add_count(stats, rows, i, arena);
    }
    return ok;
}

static enum pawl_err stats_once(struct pawl__backend *pg, struct pawl__arena *arena,
                                struct pawl_stats *out, struct pawl_diag *diag)
{
    static const enum pawl__pg asked[] = { PG_STATS_COUNTS, PG_JOB_NEXT_DUE, PG_STATS_BYTES,
                                           PG_MIGRATION_ALL };
    void *owned = out->owned;
    *out = (struct pawl_stats){ .owned = owned };
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    for (int i = 0; i < (int)(sizeof asked / sizeof *asked); i++) {
        pawl__pg_call(conn, asked[i]);
        pawl__pg_send_keep(conn, i);
    }
    err = pawl__pg_read_last(conn, diag);
    if (!err && !add_counts(out, conn->kept[0], arena)) err = pawl__fail_nomem(diag);
    if (!err) {
        out->next_due_at_ms = pawl__pg_int(conn->kept[1], 0, 0);
        out->store_bytes = pawl__pg_int(conn->kept[2], 0, 0);
        out->schema_version = PQntuples(conn->kept[3]);
    }
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_stats(struct pawl__backend *pg, struct pawl__arena *arena,
                             struct pawl_stats *out, struct pawl_diag *diag)
{
    enum pawl_err err = stats_once(pg, arena, out, diag);
    return err == PAWL_ERR_IO ? stats_once(pg, arena, out, diag) : err;
}

/* ---- nodes, locks, settings ---- */

/* The answer to a statement without parameters, and the store's time: the server's, but for those
 * who move time by hand. */
static enum pawl_err ask_with_time(struct pawl__backend *pg, struct pawl__pg_conn *conn,
                                   enum pawl__pg sql, int64_t *now_ms, struct pawl_diag *diag)
{
    pawl__pg_call(conn, sql);
    pawl__pg_send_keep(conn, 0);
    pawl__pg_call(conn, PG_NOW);
    pawl__pg_send_keep(conn, 1);
    enum pawl_err err = pawl__pg_read_last(conn, diag);
    if (err) return err;
    *now_ms = pg->clock ? pawl__clock_wall_ms(pg->clock) : pawl__pg_int(conn->kept[1], 0, 0);
    return PAWL_OK;
}

static bool add_nodes(struct pawl_nodes *nodes, const PGresult *rows, struct pawl__arena *arena)
{
    nodes->at = room_for(rows, arena, sizeof *nodes->at);
    for (int i = 0; nodes->at && i < PQntuples(rows); i++) {
        struct pawl_node *node = &nodes->at[nodes->count++];
        *node = (struct pawl_node){ .name = pawl__pg_text(rows, i, 0, arena),
                                    .info = pawl__pg_text(rows, i, 1, arena),
                                    .started_at_ms = pawl__pg_int(rows, i, 2),
                                    .heartbeat_at_ms = pawl__pg_int(rows, i, 3),
                                    .active = pawl__pg_int(rows, i, 4) };
        if (!node->name || !node->info) return false;
    }
    return nodes->at != NULL;
}

static enum pawl_err nodes_once(struct pawl__backend *pg, struct pawl__arena *arena,
                                struct pawl_nodes *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_nodes){ .owned = owned };
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    err = ask_with_time(pg, conn, PG_NODES_ALL, &out->now_ms, diag);
    if (!err && !add_nodes(out, conn->kept[0], arena)) err = pawl__fail_nomem(diag);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_nodes(struct pawl__backend *pg, struct pawl__arena *arena,
                             struct pawl_nodes *out, struct pawl_diag *diag)
{
    enum pawl_err err = nodes_once(pg, arena, out, diag);
    return err == PAWL_ERR_IO ? nodes_once(pg, arena, out, diag) : err;
}

static bool add_locks(struct pawl_locks *locks, const PGresult *rows, struct pawl__arena *arena)
{
    locks->at = room_for(rows, arena, sizeof *locks->at);
    for (int i = 0; locks->at && i < PQntuples(rows); i++) {
        struct pawl_lock *lock = &locks->at[locks->count++];
        *lock = (struct pawl_lock){ .name = pawl__pg_text(rows, i, 0, arena),
                                    .owner = pawl__pg_text(rows, i, 1, arena),
                                    .fence = pawl__pg_int(rows, i, 2),
                                    .locked_at_ms = pawl__pg_int(rows, i, 3),
                                    .expires_at_ms = pawl__pg_int(rows, i, 4) };
        if (!lock->name || !lock->owner) return false;
    }
    return locks->at != NULL;
}

static enum pawl_err locks_once(struct pawl__backend *pg, struct pawl__arena *arena,
                                struct pawl_locks *out, struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_locks){ .owned = owned };
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    err = ask_with_time(pg, conn, PG_LOCKS_ALL, &out->now_ms, diag);
    if (!err && !add_locks(out, conn->kept[0], arena)) err = pawl__fail_nomem(diag);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_locks(struct pawl__backend *pg, struct pawl__arena *arena,
                             struct pawl_locks *out, struct pawl_diag *diag)
{
    enum pawl_err err = locks_once(pg, arena, out, diag);
    return err == PAWL_ERR_IO ? locks_once(pg, arena, out, diag) : err;
}

static enum pawl_err setting_once(struct pawl__backend *pg, const char *name,
                                  struct pawl__arena *arena, const char **out,
                                  struct pawl_diag *diag)
{
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    pawl__pg_call(conn, PG_SETTING_GET);
    pawl__pg_bind_string(conn, PG_SETTING_GET_name, name);
    PGresult *row;
    err = pawl__pg_read_ask(conn, &row, diag);
    if (!err && !PQntuples(row)) {
        err = pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no setting \"%s\"", name);
    } else if (!err) {
        *out = pawl__pg_text(row, 0, 0, arena);
        if (!*out) err = pawl__fail_nomem(diag);
    }
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_setting(struct pawl__backend *pg, const char *name,
                               struct pawl__arena *arena, const char **out, struct pawl_diag *diag)
{
    enum pawl_err err = setting_once(pg, name, arena, out, diag);
    return err == PAWL_ERR_IO ? setting_once(pg, name, arena, out, diag) : err;
}

static bool add_settings(struct pawl_settings *settings, const PGresult *rows,
                         struct pawl__arena *arena)
{
    settings->at = room_for(rows, arena, sizeof *settings->at);
    for (int i = 0; settings->at && i < PQntuples(rows); i++) {
        struct pawl_setting *setting = &settings->at[settings->count++];
        *setting = (struct pawl_setting){ .name = pawl__pg_text(rows, i, 0, arena),
                                          .value = pawl__pg_text(rows, i, 1, arena) };
        if (!setting->name || !setting->value) return false;
    }
    return settings->at != NULL;
}

static enum pawl_err settings_once(struct pawl__backend *pg, const char *prefix,
                                   struct pawl__arena *arena, struct pawl_settings *out,
                                   struct pawl_diag *diag)
{
    void *owned = out->owned;
    *out = (struct pawl_settings){ .owned = owned };
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    pawl__pg_call(conn, PG_SETTING_ALL);
    pawl__pg_bind_string(conn, PG_SETTING_ALL_prefix, prefix);
    PGresult *rows;
    err = pawl__pg_read_ask(conn, &rows, diag);
    if (!err && !add_settings(out, rows, arena)) err = pawl__fail_nomem(diag);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_settings(struct pawl__backend *pg, const char *prefix,
                                struct pawl__arena *arena, struct pawl_settings *out,
                                struct pawl_diag *diag)
{
    enum pawl_err err = settings_once(pg, prefix, arena, out, diag);
    return err == PAWL_ERR_IO ? settings_once(pg, prefix, arena, out, diag) : err;
}
