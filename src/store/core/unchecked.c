/* Jobs that an application has submitted in a transaction of its own database session
 * (postgres/script), as far as only C can check them: their retry policy and their unique policy.
 * Such a job is pending until its entry is followed up here. What a submit from C would refuse ends
 * the job, with the reason; otherwise it takes its unique key and goes where it would have gone.
 *
 * The locks of keys come before those of rows, in one order for all, but the key is known only when
 * the job was read. So the key's lock is taken if it is free, and otherwise the entry waits for the
 * next sweep: nobody waits here, so nobody can wait for us in a circle. */
#include "store/core/keys.h"
#include "store/core/settle.h"

#include "base/diag.h"

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
    const struct pawl__lane *lane = set->catalog->lanes[row->lane];
    struct pawl_job_spec spec = { .type = lane->type,
                                  .queue = pawl__catalog_queue_name(set->catalog, lane) };
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
    if (err == PAWL_ERR_NOMEM) set->failed = true;
    return err;
}

static struct pawl__row *find(struct pawl__set *set, const struct pawl__unsettled *told)
{
    struct pawl__row *row = pawl__set_find(set, told->id);
    bool lives = row && row->found == PAWL__FOUND_LIVE && !pawl_state_is_terminal(row->state);
    return lives ? row : NULL;
}

/* All keys of a round are asked for together. */
static void want_unchecked(struct pawl__set *set, const struct pawl__unsettled *told)
{
    const struct pawl__row *row = find(set, told);
    struct pawl__key key;
    if (row && !check(set, row, &key, NULL) && key.kind) pawl__set_want_key(set, key.digest);
}

/* ---- its key ---- */

/* Does another transaction have the key, or a job that holds it? */
static bool is_held(const struct pawl__set *set, const struct pawl__set_key *key)
{
    bool held = key->held;
    for (size_t i = 0; !held && i < key->count; i++) {
        const struct pawl__row *row = pawl__set_find(set, key->holders[i].id);
        held = row && row->found == PAWL__FOUND_HELD;
    }
    return held;
}

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
    if (answer.due_at_ms) set_due(set, row, answer.due_at_ms, lives_ms);
    return PAWL_OK;
}

/* ---- what becomes of it ---- */

static void refuse(struct pawl__set *set, struct pawl__row *row, const char *why)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    struct pawl__target target = { .reason = pawl__set_text(set, why, strlen(why) + 1) };
    bool ran = row->state == PAWL_STATE_ACTIVE;
    if (!pawl__row_move(set, row, cancel, 1, &target) && ran) pawl__set_control(set);
}

static void let_go(struct pawl__set *set, struct pawl__row *row)
{
    bool waits = row->due_at_ms > set->now_ms;
    const enum pawl_event event[] = { waits ? PAWL_EVENT_SNOOZE : PAWL_EVENT_ACTIVATE };
    if (pawl__row_move(set, row, event, 1, &(struct pawl__target){ 0 })) set->failed = true;
}

/* It is pending, unless an operator was faster; `to` is PENDING where it is to stay that. One that
 * was paused is let go when it is resumed. */
static bool follow_unchecked(struct pawl__set *set, const struct pawl__unsettled *told)
{
    struct pawl__row *row = find(set, told);
    struct pawl_diag diag = { 0 };
    struct pawl__key key;
    bool stays = told->to == PAWL_STATE_PENDING;
    if (!row) return true;
    if (!stays && row->state == PAWL_STATE_PAUSED && row->paused_from == PAWL_STATE_PENDING) {
        return false;
    }
    enum pawl_err err = check(set, row, &key, &diag);
    if (!err && key.kind) {
        const struct pawl__set_key *asked = pawl__set_want_key(set, key.digest);
        if (!asked || !asked->read) return true; // it is called again
        if (is_held(set, asked)) return false;
        err = take_key(set, row, &key, told->delay_ms, &diag);
    }
    if (err) refuse(set, row, diag.text);
    if (!err && !stays && row->state == PAWL_STATE_PENDING) let_go(set, row);
    return true;
}

const struct pawl__tie pawl__tie_UNCHECKED = { .want = want_unchecked, .follow = follow_unchecked };
