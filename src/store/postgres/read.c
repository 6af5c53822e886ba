/* Running the statements of sql/read.c and sql/query.c.
 *
 * Runs on: the caller's thread, with a connection from the pool; or the session's, with its own. */
#include "store/postgres/postgres.h"

#define P(statement, param) PG_##statement##_##param,
#define X(name, params) [PAWL__READ_##name] = { PG_##name, { params 0 } },
static const struct pawl__read_statement statements[PAWL__READ_END] = { PAWL__READS(X, P) };
#undef X
#undef P
_Static_assert((int)PAWL__READ_SLOTS <= (int)PAWL__PG_SLOTS, "one round trip");

enum { SLOT_NOW = PAWL__READ_JOBS }; /* what is timed reads no jobs */

static struct pawl__pg_conn *conn_of(const struct pawl__reader *reader)
{
    return reader->conn;
}

static enum pawl_err begin(struct pawl__reader *reader)
{
    struct pawl__pg_conn *conn = &reader->backend->writer;
    enum pawl_err err = PAWL_OK;
    if (!reader->inside) err = pawl__pg_read_begin(reader->backend, &conn, reader->diag);
    if (!err) reader->conn = conn;
    return err;
}

static void end(struct pawl__reader *reader)
{
    if (!reader->inside) pawl__pg_read_end(reader->backend, reader->conn);
}

static void bind(struct pawl__pg_conn *conn, int at, const struct pawl__value *value)
{
    switch (value->kind) {
    case PAWL__VALUE_NUMBER:
        pawl__pg_bind(conn, at, value->number);
        break;
    case PAWL__VALUE_TEXT:
        pawl__pg_bind_whole(conn, at, value->text);
        break;
    case PAWL__VALUE_ID:
    case PAWL__VALUE_JOB:
        pawl__pg_bind_id(conn, at, &value->id);
        break;
    }
}

static void call(struct pawl__pg_conn *conn, enum pawl__read what, const struct pawl__value *values)
{
    const int *params = statements[what].params;
    pawl__pg_call(conn, (enum pawl__pg)statements[what].sql);
    for (size_t i = 0; params[i]; i++) {
        bind(conn, params[i], &values[i]);
    }
}

/* What cannot be sent is reported by `run`. */
static enum pawl_err ask(struct pawl__reader *reader, int slot, enum pawl__read what,
                         const struct pawl__value *values)
{
    call(conn_of(reader), what, values);
    pawl__pg_send_keep(conn_of(reader), slot);
    return PAWL_OK;
}

static enum pawl_err write_row(struct pawl__reader *reader, enum pawl__read what,
                               const struct pawl__value *values)
{
    call(conn_of(reader), what, values);
    pawl__pg_send(conn_of(reader));
    return PAWL_OK;
}

static enum pawl_err ask_draft(struct pawl__reader *reader, int slot,
                               const struct pawl__draft *draft)
{
    pawl__pg_call_text(conn_of(reader), draft->sql.at);
    for (size_t i = 0; i < draft->count; i++) {
        bind(conn_of(reader), (int)i + 1, &draft->values[i]);
    }
    pawl__pg_send_keep(conn_of(reader), slot);
    return PAWL_OK;
}

static void ask_jobs(struct pawl__reader *reader)
{
    pawl__pg_call(conn_of(reader), PG_GET_MANY);
    struct pawl__pg_list *ids = pawl__pg_list(conn_of(reader), PG_GET_MANY_ids, PAWL__PG_IDS);
    for (size_t i = 0; i < reader->id_count; i++) {
        pawl__pg_list_add_id(ids, reader->ids[i]);
    }
    pawl__pg_send_keep(conn_of(reader), PAWL__READ_JOBS);
}

/* The store's time is the server's, unless a test moves it by hand. */
static enum pawl_err run(struct pawl__reader *reader)
{
    const struct pawl_clock *clock = reader->backend->clock;
    if (reader->timed) {
        pawl__pg_call(conn_of(reader), PG_NOW);
        pawl__pg_send_keep(conn_of(reader), SLOT_NOW);
    }
    enum pawl_err err = reader->inside ? pawl__pg_sync(conn_of(reader), reader->diag)
                                       : pawl__pg_read_last(conn_of(reader), reader->diag);
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

static enum pawl_err row(struct pawl__reader *reader, int slot, int first,
                         const struct pawl__field *fields, size_t count, void *out)
{
    return pawl__pg_read(conn_of(reader)->kept[slot], reader->at[slot] - 1, first, fields, count,
                         reader->arena, out);
}

/* A page may say of each job whether it is whole. */
static enum pawl_err job(struct pawl__reader *reader, int slot, struct pawl_job *out)
{
    const PGresult *rows = conn_of(reader)->kept[slot];
    int at = reader->at[slot] - 1;
    enum pawl_err err = pawl__pg_read_job(rows, at, reader->arena, out);
    if (!err && PQnfields(rows) > COL_WHOLE) out->brief = !pawl__pg_bool(rows, at, COL_WHOLE);
    return err;
}

static enum pawl_err next_job(struct pawl__reader *reader, struct pawl_job *out, bool *found)
{
    enum pawl_err err = next(reader, PAWL__READ_JOBS, found);
    if (err || !*found) return err;
    err = pawl__pg_read_job(conn_of(reader)->kept[PAWL__READ_JOBS], reader->at[PAWL__READ_JOBS] - 1,
                            reader->arena, out);
    return err ? pawl__fail_nomem(reader->diag) : PAWL_OK;
}

static struct pawl__position position(struct pawl__reader *reader, int slot, bool ids)
{
    enum {
        MATCH_CREATED = 1,
        CREATED = COL_FACTS + PAWL__JOB_created_at_ms - PAWL__JOB_FACTS_FIRST
    };
    const PGresult *rows = conn_of(reader)->kept[slot];
    int at = reader->at[slot] - 1;
    return (struct pawl__position){ true, pawl__pg_int(rows, at, ids ? MATCH_CREATED : CREATED),
                                    pawl__pg_id(rows, at, COL_ID) };
}

/* The pages are the server's to check (pg_amcheck, data checksums). What follows may take long. */
static enum pawl_err check(struct pawl__reader *reader, struct pawl__findings *findings)
{
    (void)findings;
    pawl__pg_say(conn_of(reader), PG_CONDUCT_CHECK);
    return PAWL_OK;
}

const struct pawl__reads pawl__pg_reads = {
    .again = true,
    .begin = begin,
    .end = end,
    .ask = ask,
    .ask_draft = ask_draft,
    .ask_jobs = ask_jobs,
    .run = run,
    .next = next,
    .row = row,
    .write = write_row,
    .next_job = next_job,
    .job = job,
    .position = position,
    .pages = &pawl__pg_pages,
    .check = check,
};
