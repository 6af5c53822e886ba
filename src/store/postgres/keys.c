/* Keys: their locks, by which a transaction that asks about a key waits for those that write it,
 * and their holders, read by one statement for a whole batch.
 *
 * The keys that the operations of a batch name are locked when the transaction begins, in one order
 * for all, so that no two transactions wait for each other. A key that becomes known only later is
 * locked before its holders are read. That may end in a deadlock, after which the batch is done
 * again.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include "store/core/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    pg->locked.all = true;
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
    pawl__pg_call(conn, PG_KEY_LOCK);
    pawl__pg_bind(conn, PG_KEY_LOCK_number, PAWL__PG_LOCK_KEYS);
    struct pawl__pg_list *list = pawl__pg_list(conn, PG_KEY_LOCK_numbers, PAWL__PG_INTS);
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || numbers[i] != numbers[i - 1]) pawl__pg_list_add(list, numbers[i]);
    }
    pawl__pg_send(conn);
}

/* Asks for the keys of jobs; their ids are to be listed. */
static struct pawl__pg_list *call_records(struct pawl__backend *pg)
{
    pawl__pg_call(&pg->writer, PG_KEY_RECORDS);
    return pawl__pg_list(&pg->writer, PG_KEY_RECORDS_ids, PAWL__PG_IDS);
}

/* Those that a batch needs. */
struct needed {
    bool all;
    struct pawl__pg_list *ids; /* of jobs that may take their keys back */
    size_t submitted;          /* keys that come with new jobs */
    int64_t *numbers;
    size_t count;
};

static void add_op(struct needed *needed, const struct pawl__op *op)
{
    struct pawl__names names;
    pawl__core_names(op, &names);
    for (size_t i = 0; i < names.job_count; i++) {
        needed->submitted += names.jobs[i].key_count;
    }
    if (names.revived) pawl__pg_list_add_id(needed->ids, *names.revived);
    needed->all |= names.revives_any; // which jobs it will find is not known yet
}

static void number_submitted(struct needed *needed, const struct pawl__op *op)
{
    struct pawl__names names;
    pawl__core_names(op, &names);
    for (size_t i = 0; i < names.job_count; i++) {
        const struct pawl__new_job *job = &names.jobs[i];
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
    struct needed needed = { .ids = call_records(pg) };
    pg->locked.all = false;
    pg->locked.count = 0;
    for (size_t i = 0; i < count; i++) {
        add_op(&needed, ops[i]);
    }
    bool returns = needed.ids->count > 0; // some may
    PGresult *records = NULL;
    if (needed.all) lock_all(pg);
    if (needed.all || (!needed.submitted && !returns)) return PAWL_OK;
    enum pawl_err err = returns ? pawl__pg_ask(&pg->writer, &records, pg->set.diag) : PAWL_OK;
    if (err) return err;
    size_t cap = needed.submitted + (size_t)(records ? PQntuples(records) : 0) * PAWL__KEYS_MAX;
    needed.numbers = pawl__arena_alloc(&pg->arena, (cap + 1) * sizeof *needed.numbers);
    if (!needed.numbers) return pawl__fail_nomem(pg->set.diag);
    for (size_t i = 0; i < count; i++) {
        number_submitted(&needed, ops[i]);
    }
    number_records(&needed, records);
    assert(needed.count <= cap);
    if (!needed.count) return PAWL_OK;
    lock_numbers(pg, needed.numbers, needed.count);
    pg->locked.numbers = needed.numbers;
    pg->locked.count = needed.count;
    return PAWL_OK;
}

static bool is_locked(const struct pawl__backend *pg, int64_t number)
{
    return pg->locked.all ||
           (pg->locked.count &&
            bsearch(&number, pg->locked.numbers, pg->locked.count, sizeof number, compare_numbers));
}

/* Those of the keys that no operation named: a job got its key since then. */
static enum pawl_err lock_unnamed(struct pawl__backend *pg, const struct pawl__set_key *keys,
                                  size_t count)
{
    size_t unnamed = 0;
    for (size_t i = 0; i < count; i++) {
        unnamed += !is_locked(pg, lock_number(keys[i].digest));
    }
    if (!unnamed) return PAWL_OK;
    int64_t *numbers = pawl__arena_alloc(&pg->arena, unnamed * sizeof *numbers);
    if (!numbers) return pawl__fail_nomem(pg->set.diag);
    unnamed = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number = lock_number(keys[i].digest);
        if (!is_locked(pg, number)) numbers[unnamed++] = number;
    }
    lock_numbers(pg, numbers, unnamed);
    return PAWL_OK;
}

/* ---- loading ---- */

/* The keys of a job do not change once it was checked (core/unchecked.c), so those of jobs that may
 * take them back are known before the jobs are locked; then all that is asked about is locked at
 * once, in one order. */
static enum pawl_err want_records(struct pawl__backend *pg, struct pawl__set *set)
{
    struct pawl__pg_list *ids = call_records(pg);
    for (size_t i = 0; i < set->unread_count; i++) {
        const struct pawl__row *row = set->unread[i];
        if (row->need & PAWL__NEED_HOLDERS) pawl__pg_list_add_id(ids, row->id);
    }
    if (!ids->count) return PAWL_OK;
    PGresult *records;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &records, pg->set.diag);
    for (int i = 0; !err && i < PQntuples(records); i++) {
        pawl__keys_want(set, pawl__pg_raw(records, i, 0));
    }
    return err;
}

enum { SLOT_LOCKED, SLOT_HOLDERS };

/* The locks of as many as we may have, if they are free. */
static void send_try(struct pawl__backend *pg, const struct pawl__set_key *keys, size_t count)
{
    pawl__pg_call(&pg->writer, PG_KEY_TRY);
    pawl__pg_bind(&pg->writer, PG_KEY_TRY_number, PAWL__PG_LOCK_KEYS);
    struct pawl__pg_list *numbers = pawl__pg_list(&pg->writer, PG_KEY_TRY_numbers, PAWL__PG_INTS);
    for (size_t i = 0; i < count && i < PAWL__PG_KEY_LOCKS_MAX; i++) {
        pawl__pg_list_add(numbers, lock_number(keys[i].digest));
    }
    pawl__pg_send_keep(&pg->writer, SLOT_LOCKED);
}

static void read_try(struct pawl__backend *pg, struct pawl__set_key *keys, size_t count)
{
    const PGresult *locked = pg->writer.kept[SLOT_LOCKED];
    for (size_t i = 0; i < count; i++) {
        keys[i].held = (int)i >= PQntuples(locked) || !pawl__pg_bool(locked, (int)i, 0);
    }
}

/* Behind the locks: what was written by who had them is seen. */
enum pawl_err pawl__pg_keys_load(struct pawl__backend *pg, struct pawl__set *set, bool wait)
{
    enum pawl_err err = want_records(pg, set);
    if (err || !set->unread_keys) return err;
    struct pawl__set_key *keys = &set->keys[set->key_count - set->unread_keys];
    wait |= pg->locked.all; // there is nothing to wait for
    if (!wait) send_try(pg, keys, set->unread_keys);
    if (wait) err = lock_unnamed(pg, keys, set->unread_keys);
    if (err) return err;
    pawl__pg_call(&pg->writer, PG_SET_HOLDERS);
    struct pawl__pg_list *digests =
        pawl__pg_list(&pg->writer, PG_SET_HOLDERS_digests, PAWL__PG_BYTES);
    for (size_t i = 0; i < set->unread_keys; i++) {
        pawl__pg_list_add_bytes(digests, keys[i].digest, sizeof keys[i].digest);
    }
    pawl__pg_send_keep(&pg->writer, SLOT_HOLDERS);
    err = pawl__pg_sync(&pg->writer, pg->set.diag);
    if (!err && !wait) read_try(pg, keys, set->unread_keys);
    const PGresult *rows = pg->writer.kept[SLOT_HOLDERS];
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        const uint8_t *digest = (const uint8_t *)pawl__pg_raw(rows, i, 0).at;
        struct pawl__key_holder holder = { .id = pawl__pg_id(rows, i, 1),
                                           .until_ms = pawl__pg_int(rows, i, 2),
                                           .stored = true };
        struct pawl__set_key *key = pawl__set_find_key(set, digest);
        assert(key);
        pawl__key_hold(set, key, &holder);
    }
    return err;
}
