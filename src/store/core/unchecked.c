/* Jobs that an application has submitted in a transaction of its own database session
 * (postgres/script), as far as only C can check them: their retry policy, their unique policy and
 * their follow-ups.
 * Such a job is pending until its entry is followed up here. What a submit from C would refuse ends
 * the job, with the reason; otherwise it takes its unique key and goes where it would have gone. A
 * job that has ended in between, or by this, is checked when it comes back.
 *
 * The locks of keys come before those of rows, in one order for all, but the key is known only when
 * the job was read. So the key's lock is taken if it is free, and otherwise the entry waits for the
 * next sweep: nobody waits here, so nobody can wait for us in a circle. */
#include "store/core/keys.h"
#include "store/core/settle.h"

#include "base/diag.h"

#include <assert.h>
#include <string.h>

/* ---- what C would have checked ---- */

static enum pawl_err parse(struct pawl__set *set, const struct pawl_job *job,
                           struct pawl__payloads *out, struct pawl_diag *diag)
{
    *out = (struct pawl__payloads){ .meta.count = 0 };
    enum pawl_err err =
        pawl__json_parse(job->args, PAWL_JSON_DEPTH_MAX, &set->arena, &out->args, diag);
    if (err || !job->meta.len) return err;
    return pawl__json_parse(job->meta, PAWL_JSON_DEPTH_MAX, &set->arena, &out->meta, diag);
}

/* The key of its unique policy. */
static enum pawl_err read_unique(struct pawl__set *set, const struct pawl__row *row,
                                 struct pawl__key *key, struct pawl_diag *diag)
{
    const struct pawl_job *job = row->job;
    const struct pawl__lane *lane = set->catalog.lanes[row->lane];
    struct pawl_job_spec spec = { .type = lane->type,
                                  .queue = pawl__catalog_queue_name(&set->catalog, lane) };
    struct pawl__payloads payloads;
    struct pawl__buf buf = { .at = NULL };
    enum pawl_err err = pawl__unique_parse(job->unique, &set->arena, &spec.unique, diag);
    if (!err) err = pawl__unique_check(&spec.unique, diag);
    if (!err && spec.unique.keys) err = parse(set, job, &payloads, diag);
    if (!err && spec.unique.keys) {
        err = pawl__key_unique(&spec, &payloads, &set->arena, &buf, key, diag);
    }
    pawl__buf_release(&buf);
    return err;
}

/* `key` has no kind where there is no unique policy. */
static enum pawl_err check(struct pawl__set *set, const struct pawl__row *row,
                           struct pawl__key *key, struct pawl_diag *diag)
{
    struct pawl_retry retry;
    *key = (struct pawl__key){ .kind = 0 };
    enum pawl_err err = pawl__retry_parse(row->retry, &set->arena, &retry, diag);
    bool unique = row->has & PAWL__NEED_JOB && row->job->unique.len;
    if (!err && unique) err = read_unique(set, row, key, diag);
    if (!err) err = pawl__follow_check("on_success", row->on_success, &set->arena, diag);
    if (!err) err = pawl__follow_check("on_failure", row->on_failure, &set->arena, diag);
    if (err == PAWL_ERR_NOMEM) set->failed = true;
    return err;
}

/* NULL: there is nothing to be checked, now or ever. */
static struct pawl__row *find(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    struct pawl__row *row = pawl__set_find(set, entry->id);
    return row && pawl__settle_entries(row) & PAWL__TIE_UNCHECKED ? row : NULL;
}

/* Does the job come straight from its submission, and not back from an end? */
static bool is_first(const struct pawl__unsettled *entry)
{
    return entry->from == PAWL_STATE_NONE;
}

/* Was it submitted to stay pending? */
static bool stays(const struct pawl__unsettled *entry)
{
    return is_first(entry) && entry->to == PAWL_STATE_PENDING;
}

/* It is pending and was paused: it is let go when it is resumed. */
static bool is_paused(const struct pawl__row *row, const struct pawl__unsettled *entry)
{
    return !stays(entry) && row->state == PAWL_STATE_PAUSED &&
           row->paused_from == PAWL_STATE_PENDING;
}

/* All keys of a round are asked for together. There is a bound on their number, so those that will
 * not be taken now are not among them. */
static void want_unchecked(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    const struct pawl__row *row = find(set, entry);
    struct pawl__key key;
    if (!row || is_paused(row, entry)) return;
    if (!check(set, row, &key, NULL) && key.kind) pawl__set_want_key(set, key.digest);
}

/* ---- its key ---- */

/* Of the keys that it brought it holds the others already. */
static void add_record(struct pawl__set *set, struct pawl__row *row, struct pawl_span record)
{
    size_t len = row->keys.len + record.len;
    char *all = pawl__arena_alloc(&set->arena, len);
    if (!all) {
        set->failed = true;
        return;
    }
    if (row->keys.len) memcpy(all, row->keys.at, row->keys.len);
    memcpy(all + row->keys.len, record.at, record.len);
    row->keys = (struct pawl_span){ all, len };
    pawl__set_put(set, PAWL__TABLE_CHECKED, &(struct pawl__checked){ row, row->keys });
}

/* A newer job has the key, since the two were not checked in the order in which they came: another
 * transaction held this one, or an operator. In that order this one would have been replaced. */
static bool is_replaced(struct pawl__set *set, const struct pawl__row *row,
                        const struct pawl__key *key)
{
    const struct pawl__set_key *asked = pawl__set_find_key(set, key->digest);
    bool replaces = key->on_conflict == PAWL_CONFLICT_REPLACE ||
                    key->on_conflict == PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE;
    bool newer = false;
    for (size_t i = 0; replaces && !newer && i < asked->count; i++) {
        const struct pawl__row *holder = pawl__set_find(set, asked->holders[i].id);
        if (asked->holders[i].removed || !holder || holder->found == PAWL__FOUND_ABSENT) continue;
        newer = holder->created_at_ms > row->created_at_ms ||
                (holder->created_at_ms == row->created_at_ms &&
                 memcmp(pawl__row_seat(holder), pawl__row_seat(row), sizeof row->id) > 0);
    }
    return newer;
}

static void set_due(struct pawl__set *set, struct pawl__row *row, int64_t due_at_ms,
                    int64_t lives_ms)
{
    row->due_at_ms = due_at_ms > set->now_ms ? due_at_ms : set->now_ms;
    row->rank = pawl__row_rank(set, row);
    if (lives_ms) row->expires_at_ms = row->due_at_ms + lives_ms;
    row->wrote |= PAWL__WROTE_FACTS;
}

/* DUPLICATE: another job has it. */
static enum pawl_err take_key(struct pawl__set *set, struct pawl__row *row,
                              const struct pawl__key *key, int64_t lives_ms, struct pawl_diag *diag)
{
    struct pawl__new_job job = { .id = row->id, .keys = { *key }, .key_count = 1 };
    struct pawl__op ask = { .kind = PAWL__OP_SUBMIT, .diag = diag };
    struct pawl__answer answer = { .stands_in = false };
    enum pawl_err err = pawl__keys_ask(set, &ask, &job, &answer);
    if (!err && answer.stands_in) {
        err =
            pawl__key_refuse(&ask, key, &(struct pawl__holder){ answer.id, .state = answer.state });
    }
    if (err) return err;
    pawl__keys_take(set, &job);
    add_record(set, row, pawl__keys_pack(set, &job));
    bool waits = row->state == PAWL_STATE_PENDING || row->state == PAWL_STATE_PAUSED;
    if (answer.due_at_ms && waits) set_due(set, row, answer.due_at_ms, lives_ms);
    return PAWL_OK;
}

/* ---- what becomes of it ---- */

static void refuse(struct pawl__set *set, struct pawl__row *row, const char *why)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    struct pawl__target target = { .reason = pawl__set_text(set, why, strlen(why) + 1) };
    bool ran = row->state == PAWL_STATE_ACTIVE;
    enum pawl_err err = pawl__row_move(set, row, cancel, 1, &target);
    assert(!err); // it has not ended, and all that has not can be cancelled
    if (ran) pawl__set_control(set);
}

static void let_go(struct pawl__set *set, struct pawl__row *row)
{
    bool waits = row->due_at_ms > set->now_ms;
    const enum pawl_event event[] = { waits ? PAWL_EVENT_SNOOZE : PAWL_EVENT_ACTIVATE };
    if (pawl__row_move(set, row, event, 1, &(struct pawl__target){ 0 })) set->failed = true;
}

/* Not yet let go: pending, and not because it is routed. */
static bool is_waiting(const struct pawl__row *row)
{
    return row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
}

/* The tie of a job that ends here stays: it is checked again when it comes back. */
static void decide(struct pawl__set *set, struct pawl__row *row,
                   const struct pawl__unsettled *entry, const struct pawl__key *key,
                   enum pawl_err err, struct pawl_diag *diag)
{
    row->was.entries &= ~PAWL__TIE_UNCHECKED; // it is being followed up
    if (!err && key->kind && is_first(entry) && is_replaced(set, row, key)) {
        if (pawl__key_replace(set, row)) set->failed = true;
        return;
    }
    if (!err && key->kind) err = take_key(set, row, key, entry->delay_ms, diag);
    if (err) {
        refuse(set, row, diag->text);
        return;
    }
    pawl__settle_own(set, row, PAWL__TIE_UNCHECKED);
    if (is_waiting(row) && !stays(entry)) let_go(set, row);
}

/* It is pending, unless an operator was faster. */
static bool follow_unchecked(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    struct pawl__row *row = find(set, entry);
    struct pawl_diag diag = { 0 };
    struct pawl__key key;
    if (!row) return true;
    if (is_paused(row, entry)) return false;
    enum pawl_err err = check(set, row, &key, &diag);
    if (!err && key.kind) {
        const struct pawl__set_key *asked = pawl__set_want_key(set, key.digest);
        if (!asked || !asked->read) return true; // it is called again
        if (pawl__key_is_held(set, asked)) return false;
    }
    decide(set, row, entry, &key, err, &diag);
    return true;
}

const struct pawl__tie pawl__tie_UNCHECKED = { .want = want_unchecked, .follow = follow_unchecked };
