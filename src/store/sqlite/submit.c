/* Submitting: keys are asked first, then the facts, the place and what belongs to them are written.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

enum { DISPLACED_AHEAD_MS = 10000 }; /* how far displaced keys may run ahead of the clock */

/* What asking the keys came to. */
struct answer {
    bool stands_in; /* an earlier job stands in for this one */
    bool replaced;
    struct pawl_job_id id;
    enum pawl_state state;
    int64_t due_at_ms; /* of the job that was replaced, when its schedule is to be kept */
};

/* A job that holds or held a key. */
struct holder {
    struct pawl__holder of;
    bool live; /* not archived: `place` is set */
    struct pawl__sq_place place;
};

static enum pawl_err look_up_holder(struct pawl__backend *sq, struct holder *holder)
{
    enum pawl_err err = pawl__sq_place_find(sq, holder->of.id, &holder->place);
    holder->live = !err;
    if (err == PAWL_ERR_NOT_FOUND) err = pawl__sq_place_archived(sq, holder->of.id, &holder->place);
    if (err == PAWL_ERR_NOT_FOUND) return PAWL_OK;
    if (err) return err;
    holder->of.known = true;
    holder->of.state = holder->place.state;
    holder->of.created_at_ms = holder->place.created_at_ms;
    return PAWL_OK;
}

enum pawl_err pawl__sq_key_delete(struct pawl__backend *sq, const uint8_t digest[16],
                                  struct pawl_job_id id)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_DELETE);
    pawl__sq_bind_bytes(stmt, SQL_KEY_DELETE_digest, digest, 16);
    pawl__sq_bind_bytes(stmt, SQL_KEY_DELETE_id, id.b, sizeof id.b);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_key_insert(struct pawl__backend *sq, const uint8_t digest[16],
                                  struct pawl_job_id id, int64_t until_ms)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_INSERT);
    pawl__sq_bind_bytes(stmt, SQL_KEY_INSERT_digest, digest, 16);
    pawl__sq_bind_bytes(stmt, SQL_KEY_INSERT_id, id.b, sizeof id.b);
    pawl__sq_bind_some(stmt, SQL_KEY_INSERT_until_ms, until_ms);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

/* Holders of a key, newest first, copied out so that asking about them may use other statements. */
static enum pawl_err list_holders(struct pawl__backend *sq, const uint8_t digest[16],
                                  struct pawl__arena *arena, struct holder **out, size_t *count)
{
    size_t cap = 0;
    *out = NULL;
    *count = 0;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_HOLDERS);
    pawl__sq_bind_bytes(stmt, SQL_KEY_HOLDERS_digest, digest, 16);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        if (*count == cap) {
            size_t more = cap ? cap * 2 : 4;
            struct holder *grown = pawl__arena_alloc(arena, more * sizeof *grown);
            if (!grown) {
                sqlite3_reset(stmt);
                return pawl__fail_nomem(sq->diag);
            }
            if (cap) memcpy(grown, *out, cap * sizeof *grown);
            *out = grown;
            cap = more;
        }
        struct holder *holder = &(*out)[(*count)++];
        memset(holder, 0, sizeof *holder);
        memcpy(holder->of.id.b, sqlite3_column_blob(stmt, 0), sizeof holder->of.id.b);
        holder->of.until_ms = sqlite3_column_int64(stmt, 1);
    }
    return err;
}

/* The newcomer takes the holder's place. One that has ended cannot be cancelled, and need not be.
 */
static enum pawl_err replace_holder(struct pawl__backend *sq, const struct pawl__key *key,
                                    struct holder *holder, struct answer *answer)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    if (!holder->live || pawl_state_is_terminal(holder->of.state)) return PAWL_OK;
    answer->replaced = true;
    if (key->on_conflict == PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE) {
        answer->due_at_ms = holder->place.due_at_ms;
    }
    enum pawl_state from = holder->of.state;
    enum pawl_err err = pawl__sq_move(sq, &holder->place, cancel, 1,
                                      &(struct pawl__sq_target){ .reason = "replaced" });
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__sq_tale_control(sq, &holder->place, from);
    struct pawl_by by = { .reason = "replaced by a job with the same key" };
    return pawl__sq_deed(sq, &holder->of.id, NULL, "replace", &by, from, PAWL_STATE_CANCELLED);
}

static enum pawl_err meet_holder(struct pawl__backend *sq, struct pawl__op *op,
                                 const struct pawl__key *key, struct holder *holder,
                                 struct answer *answer)
{
    switch (key->on_conflict) {
    case PAWL_CONFLICT_IGNORE:
        answer->stands_in = true;
        answer->id = holder->of.id;
        answer->state = holder->of.state;
        return PAWL_OK;
    case PAWL_CONFLICT_REPLACE:
    case PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE:
        return replace_holder(sq, key, holder, answer);
    default:
        return pawl__key_refuse(op, key, &holder->of);
    }
}

static enum pawl_err ask_key(struct pawl__backend *sq, struct pawl__op *op,
                             const struct pawl__key *key, struct answer *answer)
{
    struct holder *holders;
    size_t count, ended = 0;
    enum pawl_err err = list_holders(sq, key->digest, &op->arena, &holders, &count);
    for (size_t i = 0; !err && i < count && !answer->stands_in; i++) {
        struct holder *holder = &holders[i];
        err = look_up_holder(sq, holder);
        if (err) break;
        if (pawl__key_conflicts(key, &holder->of, sq->now_ms)) {
            err = meet_holder(sq, op, key, holder, answer);
            continue;
        }
        if (pawl__key_forgets(key, &holder->of, &ended)) {
            err = pawl__sq_key_delete(sq, key->digest, holder->of.id);
        }
    }
    return err;
}

/* Keys are asked in order of kind: a repeat by idempotency key is a repeat whatever else it holds.
 */
static enum pawl_err ask_keys(struct pawl__backend *sq, struct pawl__op *op,
                              const struct pawl__new_job *job, struct answer *answer)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < job->key_count && !answer->stands_in; i++) {
        err = ask_key(sq, op, &job->keys[i], answer);
    }
    return err;
}

static enum pawl_err write_keys(struct pawl__backend *sq, const struct pawl__new_job *job)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < job->key_count; i++) {
        const struct pawl__key *key = &job->keys[i];
        err = pawl__sq_key_insert(sq, key->digest, job->id, pawl__key_until(key, sq->now_ms));
    }
    return err;
}

static size_t pack_keys(const struct pawl__new_job *job, uint8_t *out)
{
    for (size_t i = 0; i < job->key_count; i++) {
        out[i * PAWL__KEY_RECORD_BYTES] = (uint8_t)job->keys[i].kind;
        memcpy(out + i * PAWL__KEY_RECORD_BYTES + 1, job->keys[i].digest, 16);
    }
    return job->key_count * PAWL__KEY_RECORD_BYTES;
}

#define X(member, column, ...)                                                                     \
    _Static_assert(SQL_JOB_INSERT_##column - SQL_JOB_INSERT_priority ==                            \
                       PAWL__JOB_##member - PAWL__JOB_priority,                                    \
                   "the parameters of job_insert are in the order of the list");
PAWL__JOB_FACTS(X)
#undef X

static void bind_facts(sqlite3_stmt *stmt, const struct pawl__new_job *job,
                       const struct pawl__sq_place *place, const struct pawl__settled *settled)
{
    pawl__sq_bind(stmt, SQL_JOB_INSERT_tail, place->tail);
    pawl__sq_bind(stmt, SQL_JOB_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_JOB_INSERT_rank, settled->rank);
    pawl__sq_bind(stmt, SQL_JOB_INSERT_extras, pawl__new_has_extras(job, settled));
    for (int i = 0; i < PAWL__JOB_FACTS_COUNT; i++) {
        const struct pawl__new_field *field = &pawl__new_facts[i];
        pawl__sq_offer(stmt, SQL_JOB_INSERT_priority + i, field->kind,
                       pawl__new_value(field, job, settled));
    }
}

enum pawl_err pawl__sq_is_known(struct pawl__backend *sq, struct pawl_job_id id, bool *out)
{
    int64_t key;
    enum pawl_err err = pawl__sq_find(&sq->writer, id, &key, sq->diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        err = pawl__sq_find_archived(&sq->writer, id, &key, sq->diag);
    }
    *out = !err;
    return err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
}

static enum pawl_err refuse_id(struct pawl__op *op, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "id", "there is a job \"%s\" already", text);
}

/* Keys are shared with the archive. New ids are newer than all that is in it, so mostly there is
 * nothing to ask. */
static enum pawl_err is_in_archive(struct pawl__backend *sq, int64_t key, bool *out)
{
    *out = false;
    if (key > sq->archive_high) return PAWL_OK;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ARCHIVE_HAS);
    pawl__sq_bind(stmt, SQL_ARCHIVE_HAS_key, key);
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, out, sq->diag);
    if (*out) sqlite3_reset(stmt);
    return err;
}

static enum pawl_err insert_under(struct pawl__backend *sq, sqlite3_stmt *stmt, int64_t key,
                                  bool *taken)
{
    enum pawl_err err = is_in_archive(sq, key, taken);
    if (err || *taken) return err;
    pawl__sq_bind(stmt, SQL_JOB_INSERT_key, key);
    return pawl__sq_insert(&sq->writer, stmt, taken, sq->diag);
}

/* The first key to try for a job that cannot have its id's first half: that of its arrival, so that
 * it stands among the others as it came; without one, behind the ids of this ms. */
static int64_t displaced_key(const struct pawl__backend *sq, const struct pawl__new_job *job)
{
    struct pawl_job_id arrival = pawl__sq_arrival(job);
    int64_t key = pawl__sq_key_is_natural(sq, arrival) ? pawl__sq_split(arrival).head
                                                       : pawl__sq_key_at(sq->now_ms) | 0x8000;
    return key > sq->displaced_last ? key : sq->displaced_last + 1;
}

/* Under the next free key. The search goes on where the last one ended, so a stretch of taken keys
 * is walked once. */
static enum pawl_err insert_displaced(struct pawl__backend *sq, sqlite3_stmt *stmt,
                                      const struct pawl__new_job *job, int64_t *key)
{
    pawl__sq_bind(stmt, SQL_JOB_INSERT_head, pawl__sq_split(job->id).head);
    pawl__sq_bind(stmt, SQL_JOB_INSERT_extras, 1);
    bool taken = true;
    enum pawl_err err = PAWL_OK;
    if (pawl__sq_key_time(sq->displaced_last) > sq->now_ms + DISPLACED_AHEAD_MS) {
        sq->displaced_last = 0; // the clock was set back
    }
    for (*key = displaced_key(sq, job); !err && taken; *key += taken) {
        err = insert_under(sq, stmt, *key, &taken);
    }
    sq->displaced_last = *key;
    return err;
}

/* Insert the facts under the id's first half, or, where that will not do, under another key.
 * EXISTS: the id is taken, also if that first half is free: its job may be displaced. */
static enum pawl_err insert_facts(struct pawl__backend *sq, struct pawl__op *op,
                                  const struct pawl__new_job *job,
                                  const struct pawl__settled *settled, struct pawl__sq_place *place)
{
    uint8_t keys[PAWL__KEYS_MAX * PAWL__KEY_RECORD_BYTES];
    size_t keys_len = pack_keys(job, keys);
    struct pawl__sq_halves halves = pawl__sq_split(job->id);
    place->key = halves.head;
    place->tail = halves.tail;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_JOB_INSERT);
    bind_facts(stmt, job, place, settled);
    pawl__sq_bind_bytes(stmt, SQL_JOB_INSERT_keys, keys, keys_len);
    enum pawl_err err = PAWL_OK;
    bool known = false;
    if (!job->fresh_id) err = pawl__sq_is_known(sq, job->id, &known);
    if (err) return err;
    if (known) return refuse_id(op, job->id);
    if (pawl__sq_key_fits(sq, job)) {
        bool taken;
        pawl__sq_bind_null(stmt, SQL_JOB_INSERT_head);
        err = insert_under(sq, stmt, place->key, &taken);
        if (err || !taken) return err;
    }
    return insert_displaced(sq, stmt, job, &place->key);
}

static enum pawl_err insert_wait(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                 const struct pawl__settled *settled)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_WAIT_INSERT);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_state, settled->state);
    pawl__sq_bind_some(stmt, SQL_WAIT_INSERT_paused_from, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_rank, settled->rank);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_run, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_base_run, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_free_runs, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_due_at_ms, settled->due_at_ms);
    pawl__sq_bind_some(stmt, SQL_WAIT_INSERT_started_at_ms, 0);
    pawl__sq_bind_some(stmt, SQL_WAIT_INSERT_lease_until_ms, 0);
    pawl__sq_bind_text(stmt, SQL_WAIT_INSERT_worker, NULL);
    pawl__sq_bind_text(stmt, SQL_WAIT_INSERT_reason, NULL);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err insert_ready(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                  const struct pawl__settled *settled)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_READY_INSERT);
    pawl__sq_bind(stmt, SQL_READY_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_READY_INSERT_rank, settled->rank);
    pawl__sq_bind(stmt, SQL_READY_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_READY_INSERT_run, 0);
    pawl__sq_bind(stmt, SQL_READY_INSERT_base_run, 0);
    pawl__sq_bind(stmt, SQL_READY_INSERT_free_runs, 0);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err insert_rest(struct pawl__backend *sq, const struct pawl__new_job *job,
                                 const struct pawl__sq_place *place,
                                 const struct pawl__settled *settled)
{
    enum pawl_err err = PAWL_OK;
    if (settled->expires_at_ms) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_EXPIRY_INSERT);
        pawl__sq_bind(stmt, SQL_EXPIRY_INSERT_at_ms, settled->expires_at_ms);
        pawl__sq_bind(stmt, SQL_EXPIRY_INSERT_key, place->key);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    if (!err && job->tags.len) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_TAG_INSERT);
        pawl__sq_bind(stmt, SQL_TAG_INSERT_key, place->key);
        pawl__sq_bind_span(stmt, SQL_TAG_INSERT_tags, job->tags);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    return err ? err : write_keys(sq, job);
}

static enum pawl_err submit_one(struct pawl__backend *sq, struct pawl__op *op,
                                const struct pawl__new_job *job, struct pawl_submitted *out)
{
    struct answer answer = { 0 };
    enum pawl_err err = ask_keys(sq, op, job, &answer);
    if (err) return err;
    if (answer.stands_in) {
        *out =
            (struct pawl_submitted){ .id = answer.id, .state = answer.state, .deduplicated = true };
        return PAWL_OK;
    }
    struct pawl__sq_place place = { 0 };
    const struct pawl__settled settled = pawl__settle(
        job->spec, &(struct pawl__settling){ sq->now_ms, sq->boost_ms, answer.due_at_ms });
    err = pawl__sq_lane_of(sq, job->spec->queue, job->spec->type, &place.lane);
    if (!err) err = insert_facts(sq, op, job, &settled, &place);
    if (err) return err;
    err = settled.state == PAWL_STATE_AVAILABLE ? insert_ready(sq, &place, &settled)
                                                : insert_wait(sq, &place, &settled);
    if (!err) err = insert_rest(sq, job, &place, &settled);
    if (err) return err;
    pawl__sq_moved(sq, place.lane, job->id, 0, PAWL__OUTSIDE, settled.state);
    if (settled.state == PAWL_STATE_SCHEDULED) pawl__tale_due(&sq->tale, settled.due_at_ms);
    *out = (struct pawl_submitted){ .id = job->id,
                                    .state = settled.state,
                                    .replaced = answer.replaced };
    return PAWL_OK;
}

/* A job whose keys may move others, and any job among several, can fail after something was
 * written: then the whole operation is undone. A lone job without keys writes nothing before it can
 * fail. */
enum pawl_err pawl__sq_op_submit(struct pawl__backend *sq, struct pawl__op *op)
{
    size_t count = op->submit.count;
    assert(count >= 1 && count <= PAWL_BATCH_MAX);
    bool guarded = count > 1 || op->submit.jobs[0].key_count;
    enum pawl_err err = guarded ? pawl__sq_savepoint(sq) : PAWL_OK;
    if (err) return err;
    struct pawl_submitted *out = pawl__arena_calloc(&op->arena, count, sizeof *out);
    if (!out) return pawl__fail_nomem(sq->diag);
    for (size_t i = 0; !err && i < count; i++) {
        op->submit.failed_index = i;
        err = submit_one(sq, op, &op->submit.jobs[i], &out[i]);
    }
    if (!err) memcpy(op->submit.out, out, count * sizeof *out);
    if (!guarded) return err;
    if (!err) return pawl__sq_savepoint_keep(sq);
    if (err != PAWL_ERR_EXISTS && err != PAWL_ERR_DUPLICATE) return err; // all is undone anyway
    enum pawl_err undone = pawl__sq_savepoint_undo(sq);
    return undone ? undone : err;
}

enum pawl_err pawl__sq_forget(struct pawl__backend *sq, int64_t key, struct pawl_job_id id,
                              struct pawl_span tags, struct pawl_span keys)
{
    static const enum pawl__sql by_key[] = { SQL_FAILURE_DELETE, SQL_PROGRESS_DELETE,
                                             SQL_CHECKPOINT_DELETE, SQL_LOG_DELETE };
    sqlite3_stmt *deeds = pawl__sq_use(&sq->writer, SQL_DEED_DELETE);
    pawl__sq_bind_bytes(deeds, SQL_DEED_DELETE_job_id, id.b, sizeof id.b);
    enum pawl_err err = pawl__sq_run(&sq->writer, deeds, sq->diag);
    for (size_t i = 0; !err && i < sizeof by_key / sizeof *by_key; i++) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, by_key[i]);
        pawl__sq_bind(stmt, 1, key);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    if (!err && tags.len) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_TAG_DELETE);
        pawl__sq_bind(stmt, SQL_TAG_DELETE_key, key);
        pawl__sq_bind_span(stmt, SQL_TAG_DELETE_tags, tags);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    for (size_t at = 0; !err && at + PAWL__KEY_RECORD_BYTES <= keys.len;
         at += PAWL__KEY_RECORD_BYTES) {
        if ((uint8_t)keys.at[at] == PAWL__KEY_IDEMPOTENCY) continue; // outlives its job
        err = pawl__sq_key_delete(sq, (const uint8_t *)keys.at + at + 1, id);
    }
    return err;
}
