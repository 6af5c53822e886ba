/* Submitting one by one: keys are asked first, then the facts, the place and what belongs to them
 * are written. Most jobs go with others, see gather.c.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

const struct pawl_job_id *pawl__pg_arrival_of(const struct pawl__new_job *job)
{
    static const struct pawl_job_id none;
    bool own = memcmp(&job->arrival, &none, sizeof none) == 0 ||
               memcmp(&job->arrival, &job->id, sizeof job->id) == 0;
    return own ? NULL : &job->arrival;
}

size_t pawl__pg_pack_keys(const struct pawl__new_job *job, uint8_t *out)
{
    for (size_t i = 0; i < job->key_count; i++) {
        out[i * PAWL__KEY_RECORD_BYTES] = (uint8_t)job->keys[i].kind;
        memcpy(out + i * PAWL__KEY_RECORD_BYTES + 1, job->keys[i].digest, 16);
    }
    return job->key_count * PAWL__KEY_RECORD_BYTES;
}

#define X(member, column, ...)                                                                     \
    _Static_assert(PG_JOB_INSERT_##column - PG_JOB_INSERT_priority ==                              \
                       PAWL__JOB_##member - PAWL__JOB_priority,                                    \
                   "the parameters of job_insert are in the order of the list");
PAWL__JOB_FACTS(X)
#undef X

static void bind_facts(struct pawl__pg_conn *conn, const struct pawl__new_job *job,
                       const struct pawl__settled *settled)
{
    for (int i = 0; i < PAWL__JOB_FACTS_COUNT; i++) {
        const struct pawl__new_field *field = &pawl__new_facts[i];
        pawl__pg_offer(conn, PG_JOB_INSERT_priority + i, field->kind,
                       pawl__new_value(field, job, settled));
    }
}

static enum pawl_err refuse_id(struct pawl__op *op, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "id", "there is a job \"%s\" already", text);
}

/* Inserts the facts, and looks for the id in the archive afterwards; whoever archives the job just
 * now has let us wait. EXISTS: the savepoint takes back what was written. */
static enum pawl_err insert_job(struct pawl__backend *pg, struct pawl__op *op,
                                const struct pawl__new_job *job, const struct pawl__lane *lane,
                                const struct pawl__settled *settled)
{
    struct pawl__pg_conn *conn = &pg->writer;
    uint8_t keys[PAWL__KEYS_MAX * PAWL__KEY_RECORD_BYTES];
    size_t keys_len = pawl__pg_pack_keys(job, keys);
    pawl__pg_call(conn, PG_JOB_INSERT);
    bind_facts(conn, job, settled);
    pawl__pg_bind_id(conn, PG_JOB_INSERT_id, &job->id);
    pawl__pg_bind(conn, PG_JOB_INSERT_lane, lane->id);
    pawl__pg_bind_bytes(conn, PG_JOB_INSERT_keys, keys, keys_len);
    pawl__pg_bind(conn, PG_JOB_INSERT_rank, settled->rank);
    pawl__pg_bind(conn, PG_JOB_INSERT_state, settled->state);
    pawl__pg_bind_bool(conn, PG_JOB_INSERT_waits, settled->state == PAWL_STATE_SCHEDULED);
    pawl__pg_bind_bool(conn, PG_JOB_INSERT_held, settled->state == PAWL_STATE_PENDING);
    pawl__pg_bind_bool(conn, PG_JOB_INSERT_perishes, settled->expires_at_ms != 0);
    pawl__pg_bind_id(conn, PG_JOB_INSERT_arrival, pawl__pg_arrival_of(job));
    pawl__pg_send_keep(conn, 0);
    pawl__pg_call(conn, PG_ARCHIVE_HAS);
    pawl__pg_bind_id_list(conn, PG_ARCHIVE_HAS_ids, job->id);
    pawl__pg_send_keep(conn, 1);
    enum pawl_err err = pawl__pg_sync(conn, pg->diag);
    if (err) return err;
    bool taken = PQntuples(conn->kept[0]) == 0 || PQntuples(conn->kept[1]) > 0;
    return taken ? refuse_id(op, job->id) : PAWL_OK;
}

static void insert_tags(struct pawl__backend *pg, const struct pawl__new_job *job)
{
    if (!job->tags.len) return;
    struct pawl__pg_list *tags = &pg->gather.lists[0];
    pawl__pg_list_begin(tags, PAWL__PG_TEXTS);
    pawl__pg_list_add_span(tags, job->tags);
    pawl__pg_call(&pg->writer, PG_TAG_INSERT);
    pawl__pg_bind_id_list(&pg->writer, PG_TAG_INSERT_ids, job->id);
    pawl__pg_bind_list(&pg->writer, PG_TAG_INSERT_tags, tags);
    pawl__pg_send(&pg->writer);
}

static enum pawl_err submit_one(struct pawl__backend *pg, struct pawl__op *op,
                                const struct pawl__new_job *job, struct pawl_submitted *out)
{
    struct pawl__pg_answer answer = { 0 };
    enum pawl_err err = pawl__pg_keys_ask(pg, op, job, &answer);
    if (err) return err;
    if (answer.stands_in) {
        *out =
            (struct pawl_submitted){ .id = answer.id, .state = answer.state, .deduplicated = true };
        return PAWL_OK;
    }
    const struct pawl__settled settled = pawl__settle(
        job->spec, &(struct pawl__settling){ pg->now_ms, pg->boost_ms, answer.due_at_ms });
    struct pawl__lane *lane = pawl__catalog_lane(&pg->catalog, job->spec->queue, job->spec->type);
    if (!lane) { // all that can have a lane got one before the transaction began
        return pawl__fail(op->diag, PAWL_ERR_ARG, "the job's queue or type is not UTF-8");
    }
    err = insert_job(pg, op, job, lane, &settled);
    if (err) return err;
    if (settled.state == PAWL_STATE_AVAILABLE) {
        pawl__pg_roll_ready(pg, &(struct pawl__pg_waiting){ .lane = lane->id,
                                                            .rank = settled.rank,
                                                            .id = job->id,
                                                            .arrival = job->arrival });
    }
    insert_tags(pg, job);
    pawl__pg_keys_write(pg, job);
    pawl__pg_moved(pg, lane, job->id, 0, PAWL__OUTSIDE, settled.state);
    if (settled.state == PAWL_STATE_SCHEDULED) pawl__pg_tale_due(pg, settled.due_at_ms);
    *out = (struct pawl_submitted){ .id = job->id,
                                    .state = settled.state,
                                    .replaced = answer.replaced };
    return PAWL_OK;
}

/* All or nothing: what fails after something was written is undone. */
enum pawl_err pawl__pg_op_submit(struct pawl__backend *pg, struct pawl__op *op)
{
    size_t count = op->submit.count;
    assert(count >= 1 && count <= PAWL_BATCH_MAX);
    struct pawl_submitted *out = pawl__arena_calloc(&op->arena, count, sizeof *out);
    if (!out) return pawl__fail_nomem(pg->diag);
    pawl__pg_savepoint(pg);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        op->submit.failed_index = i;
        err = submit_one(pg, op, &op->submit.jobs[i], &out[i]);
    }
    if (!err) {
        memcpy(op->submit.out, out, count * sizeof *out);
        pawl__pg_savepoint_keep(pg);
        return PAWL_OK;
    }
    if (!pawl__err_is_own(err)) return err; // all is undone anyway
    enum pawl_err undone = pawl__pg_savepoint_undo(pg);
    return undone ? undone : err;
}
