/* Running the statements of sql/read.c.
 *
 * Runs on: the caller's thread, with a connection from the pool. */
#include "store/postgres/postgres.h"

#include <assert.h>

static const enum pawl__pg statements[PAWL__READ_END] = {
    [PAWL__READ_STORY_FAILURES] = PG_STORY_FAILURES,
    [PAWL__READ_STORY_LOG] = PG_STORY_LOG,
    [PAWL__READ_STORY_DEEDS] = PG_STORY_DEEDS,
    [PAWL__READ_STORY_PROGRESS] = PG_STORY_PROGRESS,
    [PAWL__READ_STORY_CHECKPOINT] = PG_STORY_CHECKPOINT,
    [PAWL__READ_STATS_COUNTS] = PG_STATS_COUNTS,
    [PAWL__READ_STATS_BYTES] = PG_STATS_BYTES,
    [PAWL__READ_NEXT_DUE] = PG_JOB_NEXT_DUE,
    [PAWL__READ_MIGRATION_ALL] = PG_MIGRATION_ALL,
    [PAWL__READ_NODES_ALL] = PG_NODES_ALL,
    [PAWL__READ_LOCKS_ALL] = PG_LOCKS_ALL,
    [PAWL__READ_SETTING_GET] = PG_SETTING_GET,
    [PAWL__READ_SETTING_LIST] = PG_SETTING_ALL,
    [PAWL__READ_TOKEN_ALL] = PG_TOKEN_ALL,
};
_Static_assert((int)PAWL__READ_SLOTS <= (int)PAWL__PG_SLOTS, "one round trip");

enum { SLOT_NOW = PAWL__READ_JOBS }; /* what is timed reads no jobs */

static struct pawl__pg_conn *conn_of(const struct pawl__reader *reader)
{
    return reader->conn;
}

static enum pawl_err begin(struct pawl__reader *reader)
{
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(reader->backend, &conn, reader->diag);
    if (!err) reader->conn = conn;
    return err;
}

static void end(struct pawl__reader *reader)
{
    pawl__pg_read_end(reader->backend, reader->conn);
}

static enum pawl_err ask(struct pawl__reader *reader, int slot, enum pawl__read what,
                         struct pawl__read_arg arg)
{
    // what cannot be sent is reported by `run`
    struct pawl__pg_conn *conn = conn_of(reader);
    pawl__pg_call(conn, statements[what]);
    if (arg.text) pawl__pg_bind_string(conn, 1, arg.text);
    if (arg.id) pawl__pg_bind_id(conn, 1, arg.id);
    pawl__pg_send_keep(conn, slot);
    return PAWL_OK;
}

static void ask_jobs(struct pawl__reader *reader)
{
    struct pawl__pg_list list = { 0 };
    pawl__pg_list_begin(&list, PAWL__PG_IDS);
    for (size_t i = 0; i < reader->id_count; i++) {
        pawl__pg_list_add_id(&list, reader->ids[i]);
    }
    pawl__pg_call(conn_of(reader), PG_GET_MANY);
    pawl__pg_bind_list(conn_of(reader), PG_GET_MANY_ids, &list);
    pawl__pg_send_keep(conn_of(reader), PAWL__READ_JOBS);
    pawl__pg_list_release(&list);
}

/* The store's time is the server's, unless a test moves it by hand. */
static enum pawl_err run(struct pawl__reader *reader)
{
    const struct pawl_clock *clock = reader->backend->clock;
    if (reader->timed) {
        pawl__pg_call(conn_of(reader), PG_NOW);
        pawl__pg_send_keep(conn_of(reader), SLOT_NOW);
    }
    enum pawl_err err = pawl__pg_read_last(conn_of(reader), reader->diag);
    if (err || !reader->timed) return err;
    reader->now_ms = clock ? pawl__clock_wall_ms(clock)
                           : pawl__pg_int(conn_of(reader)->kept[SLOT_NOW], 0, 0);
    return PAWL_OK;
}

static enum pawl_err next(struct pawl__reader *reader, int slot, bool *found)
{
    *found = reader->at[slot]++ < PQntuples(conn_of(reader)->kept[slot]);
    return PAWL_OK;
}

static enum pawl_err row(struct pawl__reader *reader, int slot, const struct pawl__field *fields,
                         size_t count, void *out)
{
    return pawl__pg_read(conn_of(reader)->kept[slot], reader->at[slot] - 1, 0, fields, count,
                         reader->arena, out);
}

static enum pawl_err next_job(struct pawl__reader *reader, struct pawl_job *job, bool *found)
{
    enum pawl_err err = next(reader, PAWL__READ_JOBS, found);
    if (err || !*found) return err;
    err = pawl__pg_read_job(conn_of(reader)->kept[PAWL__READ_JOBS], reader->at[PAWL__READ_JOBS] - 1,
                            reader->arena, job);
    return err ? pawl__fail_nomem(reader->diag) : PAWL_OK;
}

const struct pawl__reads pawl__pg_reads = {
    .again = true,
    .begin = begin,
    .end = end,
    .ask = ask,
    .ask_jobs = ask_jobs,
    .run = run,
    .next = next,
    .row = row,
    .next_job = next_job,
};
