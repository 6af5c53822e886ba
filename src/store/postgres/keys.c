/* Keys: who holds one, what a newcomer does about it, and the locks that make those who ask wait
 * for those who write.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A job that holds or held a key. */
struct holder {
    struct pawl__holder of;
    bool live; /* not archived: `place` may be moved */
    struct pawl__pg_place place;
};

/* ---- locks ---- */

static int64_t lock_number(const uint8_t digest[16])
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) {
        number = number << 8 | digest[i];
    }
    return (int64_t)number;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void lock_all(struct pawl__backend *pg)
{
    pawl__pg_call(&pg->writer, PG_KEY_LOCK_ALL);
    pawl__pg_bind(&pg->writer, PG_KEY_LOCK_ALL_number, PAWL__PG_LOCK_KEYS);
    pawl__pg_send(&pg->writer);
}

static void lock_numbers(struct pawl__backend *pg, int64_t *numbers, size_t count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    if (count > PAWL__PG_KEY_LOCKS_MAX) {
        lock_all(pg);
        return;
    }
    struct pawl__pg_list *list = &pg->gather.lists[0];
    pawl__pg_list_begin(list, PAWL__PG_INTS);
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || numbers[i] != numbers[i - 1]) pawl__pg_list_add(list, numbers[i]);
    }
    pawl__pg_call(conn, PG_KEY_LOCK);
    pawl__pg_bind(conn, PG_KEY_LOCK_number, PAWL__PG_LOCK_KEYS);
    pawl__pg_bind_list(conn, PG_KEY_LOCK_numbers, list);
    pawl__pg_send(conn);
}

/* Those that a batch needs. */
struct needed {
    bool all;
    struct pawl__pg_list *ids; /* of jobs that may take their keys back */
    size_t submitted;          /* keys that come with new jobs */
    int64_t *numbers;
    size_t count;
};

/* May it bring a job that ended back to life, and its keys with it? */
static bool retakes(enum pawl_control control)
{
    return control == PAWL_CONTROL_RETRY || control == PAWL_CONTROL_PAUSE;
}

static void look_at(struct needed *needed, const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        for (size_t i = 0; i < op->submit.count; i++) {
            needed->submitted += op->submit.jobs[i].key_count;
        }
        break;
    case PAWL__OP_CONTROL:
        if (retakes(op->control.control)) pawl__pg_list_add_id(needed->ids, op->control.id);
        break;
    case PAWL__OP_BULK: // nobody knows yet which jobs it will be
        needed->all |= retakes(op->bulk.control);
        break;
    default:
        break;
    }
}

static enum pawl_err read_records(struct pawl__backend *pg, struct needed *needed, PGresult **out)
{
    *out = NULL;
    if (!needed->ids->count) return PAWL_OK;
    pawl__pg_call(&pg->writer, PG_KEY_RECORDS);
    pawl__pg_bind_list(&pg->writer, PG_KEY_RECORDS_ids, needed->ids);
    return pawl__pg_ask(&pg->writer, out, pg->diag);
}

static void number_submitted(struct needed *needed, const struct pawl__op *op)
{
    for (size_t i = 0; op->kind == PAWL__OP_SUBMIT && i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        for (size_t k = 0; k < job->key_count; k++) {
            needed->numbers[needed->count++] = lock_number(job->keys[k].digest);
        }
    }
}

static void number_records(struct needed *needed, const PGresult *records)
{
    for (int i = 0; i < (records ? PQntuples(records) : 0); i++) {
        struct pawl_span keys = pawl__pg_raw(records, i, 0);
        for (size_t at = 0; at + PAWL__KEY_RECORD_BYTES <= keys.len; at += PAWL__KEY_RECORD_BYTES) {
            needed->numbers[needed->count++] = lock_number((const uint8_t *)keys.at + at + 1);
        }
    }
}

enum pawl_err pawl__pg_keys_lock(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    struct needed needed = { .ids = &pg->gather.lists[0] };
    pawl__pg_list_begin(needed.ids, PAWL__PG_IDS);
    for (size_t i = 0; i < count; i++) {
        look_at(&needed, ops[i]);
    }
    if (needed.all) lock_all(pg);
    if (needed.all || (!needed.submitted && !needed.ids->count)) return PAWL_OK;
    PGresult *records;
    enum pawl_err err = read_records(pg, &needed, &records);
    if (err) return err;
    size_t cap = needed.submitted + (size_t)(records ? PQntuples(records) : 0) * PAWL__KEYS_MAX;
    needed.numbers = pawl__arena_alloc(&pg->arena, (cap + 1) * sizeof *needed.numbers);
    if (!needed.numbers) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < count; i++) {
        number_submitted(&needed, ops[i]);
    }
    number_records(&needed, records);
    assert(needed.count <= cap);
    if (needed.count) lock_numbers(pg, needed.numbers, needed.count);
    return PAWL_OK;
}

/* ---- rows ---- */

void pawl__pg_key_delete(struct pawl__backend *pg, const uint8_t digest[16],
                         const struct pawl_job_id *id)
{
    pawl__pg_call(&pg->writer, PG_KEY_DELETE);
    pawl__pg_bind_bytes(&pg->writer, PG_KEY_DELETE_digest, digest, 16);
    pawl__pg_bind_id(&pg->writer, PG_KEY_DELETE_id, id);
    pawl__pg_send(&pg->writer);
}

void pawl__pg_key_insert(struct pawl__backend *pg, const uint8_t digest[16],
                         const struct pawl_job_id *id, int64_t until_ms)
{
    pawl__pg_call(&pg->writer, PG_KEY_INSERT);
    pawl__pg_bind_bytes(&pg->writer, PG_KEY_INSERT_digest, digest, 16);
    pawl__pg_bind_id(&pg->writer, PG_KEY_INSERT_id, id);
    pawl__pg_bind_some(&pg->writer, PG_KEY_INSERT_until_ms, until_ms);
    pawl__pg_send(&pg->writer);
}

int64_t pawl__pg_key_until(const struct pawl__backend *pg, const struct pawl__key *key)
{
    return pawl__key_until(key, pg->now_ms);
}

void pawl__pg_keys_write(struct pawl__backend *pg, const struct pawl__new_job *job)
{
    for (size_t i = 0; i < job->key_count; i++) {
        pawl__pg_key_insert(pg, job->keys[i].digest, &job->id,
                            pawl__pg_key_until(pg, &job->keys[i]));
    }
}

/* Holders of a key, newest first, copied out so that asking about them may use other statements. */
static enum pawl_err list_holders(struct pawl__backend *pg, const uint8_t digest[16],
                                  struct holder **out, size_t *count)
{
    pawl__pg_call(&pg->writer, PG_KEY_HOLDERS);
    pawl__pg_bind_bytes(&pg->writer, PG_KEY_HOLDERS_digest, digest, 16);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    if (err) return err;
    *count = (size_t)PQntuples(rows);
    *out = pawl__arena_calloc(&pg->arena, *count + 1, sizeof **out);
    if (!*out) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < *count; i++) {
        (*out)[i].of.id = pawl__pg_id(rows, (int)i, 0);
        (*out)[i].of.until_ms = pawl__pg_int(rows, (int)i, 1);
    }
    return PAWL_OK;
}

static enum pawl_err look_up_holder(struct pawl__backend *pg, struct holder *holder)
{
    enum pawl_err err = pawl__pg_place_any(pg, holder->of.id, &holder->place, NULL);
    if (err) return err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
    holder->of.known = true;
    holder->of.state = holder->place.state;
    holder->of.created_at_ms = holder->place.created_at_ms;
    holder->live = !holder->place.archived;
    return PAWL_OK;
}

/* ---- asking ---- */

/* The newcomer takes the holder's place. One that has ended cannot be cancelled, and need not be.
 */
static enum pawl_err replace_holder(struct pawl__backend *pg, const struct pawl__key *key,
                                    struct holder *holder, struct pawl__pg_answer *answer)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    enum pawl_state from = holder->of.state;
    if (!holder->live || pawl_state_is_terminal(from)) return PAWL_OK;
    answer->replaced = true;
    if (key->on_conflict == PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE) {
        answer->due_at_ms = holder->place.due_at_ms;
    }
    enum pawl_err err = pawl__pg_move(pg, &holder->place, cancel, 1,
                                      &(struct pawl__pg_target){ .reason = "replaced" });
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__pg_tale_control(pg, &holder->place, from);
    struct pawl_by by = { .reason = "replaced by a job with the same key" };
    pawl__pg_deed(pg, &holder->of.id, NULL, "replace", &by, from, PAWL_STATE_CANCELLED);
    return PAWL_OK;
}

static enum pawl_err meet_holder(struct pawl__backend *pg, struct pawl__op *op,
                                 const struct pawl__key *key, struct holder *holder,
                                 struct pawl__pg_answer *answer)
{
    switch (key->on_conflict) {
    case PAWL_CONFLICT_IGNORE:
        answer->stands_in = true;
        answer->id = holder->of.id;
        answer->state = holder->of.state;
        return PAWL_OK;
    case PAWL_CONFLICT_REPLACE:
    case PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE:
        return replace_holder(pg, key, holder, answer);
    default:
        return pawl__key_refuse(op, key, &holder->of);
    }
}

static enum pawl_err ask_key(struct pawl__backend *pg, struct pawl__op *op,
                             const struct pawl__key *key, struct pawl__pg_answer *answer)
{
    struct holder *holders;
    size_t count, ended = 0;
    enum pawl_err err = list_holders(pg, key->digest, &holders, &count);
    for (size_t i = 0; !err && i < count && !answer->stands_in; i++) {
        struct holder *holder = &holders[i];
        err = look_up_holder(pg, holder);
        if (err) break;
        if (pawl__key_conflicts(key, &holder->of, pg->now_ms)) {
            err = meet_holder(pg, op, key, holder, answer);
            continue;
        }
        if (pawl__key_forgets(key, &holder->of, &ended)) {
            pawl__pg_key_delete(pg, key->digest, &holder->of.id);
        }
    }
    return err;
}

enum pawl_err pawl__pg_keys_ask(struct pawl__backend *pg, struct pawl__op *op,
                                const struct pawl__new_job *job, struct pawl__pg_answer *answer)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < job->key_count && !answer->stands_in; i++) {
        err = ask_key(pg, op, &job->keys[i], answer);
    }
    return err;
}

static const uint8_t *record_at(struct pawl_span keys, size_t at)
{
    return (const uint8_t *)keys.at + at;
}

void pawl__pg_forget(struct pawl__backend *pg, const struct pawl__pg_place *place)
{
    struct pawl__pg_conn *conn = &pg->writer;
    if (place->tags.len) {
        pawl__pg_call(conn, PG_TAG_DELETE);
        pawl__pg_bind_id(conn, PG_TAG_DELETE_id, &place->id);
        pawl__pg_bind_span(conn, PG_TAG_DELETE_tags, place->tags);
        pawl__pg_send(conn);
    }
    for (size_t at = 0; at + PAWL__KEY_RECORD_BYTES <= place->keys.len;
         at += PAWL__KEY_RECORD_BYTES) {
        const uint8_t *record = record_at(place->keys, at);
        if (record[0] == PAWL__KEY_IDEMPOTENCY) continue; // outlives its job
        pawl__pg_key_delete(pg, record + 1, &place->id);
    }
}
