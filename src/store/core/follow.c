/* Follow-ups of single jobs. A job says with its submission which job follows when it is completed
 * (on_success), and which when it has failed (on_failure): discarded, cancelled or expired. The
 * transaction that ends the job submits the follow-up by the same rule as any other job, so it is
 * there if, and only if, the end is.
 *
 * 1. Each end has one follow-up at most. Its id is made of the parent's id and its end, so that the
 *    end is followed up once even if it is looked at twice.
 * 2. What cannot be submitted (its key is taken, the spec that came by a SQL function is not valid)
 *    is not tried again: the parent's audit trail says so.
 *
 * The follow-up has CHILD among its ties, which has no rule: it says that there is a parent whose
 * result can be read. */
#include "store/core/keys.h"
#include "store/core/settle.h"

#include "base/diag.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)PAWL__SUCCESS_TIE == (int)PAWL__TIE_ON_SUCCESS &&
                   (int)PAWL__FAILURE_TIE == (int)PAWL__TIE_ON_FAILURE &&
                   (int)PAWL__CHILD_TIE == (int)PAWL__TIE_CHILD,
               "the intake gives jobs these ties");

typedef const struct pawl__unsettled entry;

/* ---- the new job ---- */

/* When the job ended. If it has come back since, the entry knows. */
static int64_t ended_at(const struct pawl__set *set, entry *end)
{
    const struct pawl__row *row = pawl__set_find(set, end->id);
    return row->has_end && row->run == end->run ? row->finished_at_ms : end->at_ms;
}

/* Bytes of the digest behind a time make a UUIDv7. */
static struct pawl_job_id id_of(const struct pawl__set *set, entry *end)
{
    struct pawl__sha256 sha;
    struct pawl_job_id id;
    uint8_t digest[32];
    int64_t at_ms = ended_at(set, end);
    const int64_t numbers[] = { at_ms, end->run, (int64_t)end->to };
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, &end->id, sizeof end->id);
    pawl__sha256_add(&sha, numbers, sizeof numbers);
    pawl__sha256_end(&sha, digest);
    memcpy(id.b, digest, sizeof id.b);
    for (int i = 0; i < 6; i++) {
        id.b[i] = (uint8_t)(at_ms >> (40 - 8 * i));
    }
    id.b[6] = (uint8_t)(0x70 | (id.b[6] & 0x0f));
    id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3f));
    return id;
}

/* Its own members come behind ours. */
static struct pawl_span meta_of(struct pawl__set *set, entry *end, struct pawl_span own)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], ours[128];
    pawl_job_id_text(end->id, id);
    int len = snprintf(ours, sizeof ours, "{\"%s\":\"%s\",\"%s\":\"%s\"", PAWL__PARENT_ID, id,
                       PAWL__PARENT_STATE, pawl_state_name(end->to, PAWL_VOCABULARY_PAWL));
    const char *rest = own.at, *behind = own.at + own.len;
    while (rest < behind && *rest++ != '{') {
    }
    while (rest < behind && strchr(" \t\r\n", *rest)) {
        rest++;
    }
    bool any = rest < behind && *rest != '}';
    size_t more = any ? (size_t)(behind - rest) : 1;
    char *text = pawl__arena_alloc(&set->arena, (size_t)len + 1 + more);
    if (!text) {
        set->failed = true;
        return (struct pawl_span){ "", 0 };
    }
    memcpy(text, ours, (size_t)len);
    text[len] = any ? ',' : '}';
    if (any) memcpy(text + len + 1, rest, more);
    return (struct pawl_span){ text, (size_t)len + (any ? 1 + more : 1) };
}

static struct pawl_span keep(struct pawl__set *set, struct pawl_span from)
{
    return (struct pawl_span){ from.len ? pawl__set_text(set, from.at, from.len) : "", from.len };
}

/* ARG, LIMIT: what is stored is not valid. */
static enum pawl_err take(struct pawl__set *set, entry *end, struct pawl_span text,
                          struct pawl__new_job *job, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec given, *spec = pawl__arena_calloc(&set->arena, 1, sizeof *spec);
    if (!spec) {
        set->failed = true;
        return PAWL_ERR_NOMEM;
    }
    enum pawl_err err = pawl__follow_parse(text, &set->arena, &given, diag);
    if (!err) err = pawl__intake_take(&intake, &given, spec, job, diag);
    if (!err) {
        job->id = id_of(set, end);
        job->tags = keep(set, job->tags);
        job->retry = keep(set, job->retry);
        job->unique = keep(set, job->unique);
        job->on_success = keep(set, job->on_success);
        job->on_failure = keep(set, job->on_failure);
        job->ties |= PAWL__CHILD_TIE;
        spec->meta = meta_of(set, end, spec->meta);
    }
    pawl__intake_release(&intake);
    set->failed |= err == PAWL_ERR_NOMEM;
    return err;
}

/* ---- the rule ---- */

/* What follows such an end; empty: nothing. The job may be gone. */
static struct pawl_span text_of(const struct pawl__set *set, entry *end)
{
    const struct pawl__row *row = pawl__set_find(set, end->id);
    bool known = row && (row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED);
    bool ended = pawl_state_is_terminal(end->to);
    if (!known || !ended || end->to == PAWL_STATE_SKIPPED) return (struct pawl_span){ "", 0 };
    return end->to == PAWL_STATE_COMPLETED ? row->on_success : row->on_failure;
}

static void want_follow_up(struct pawl__set *set, entry *end)
{
    struct pawl__new_job job = { .spec = NULL };
    struct pawl_span text = text_of(set, end);
    if (!text.len || take(set, end, text, &job, NULL)) return;
    pawl__set_want(set, job.id, PAWL__NEED_NONE);
    for (size_t i = 0; i < job.key_count; i++) {
        pawl__set_want_key(set, job.keys[i].digest);
    }
}

static bool is_held(const struct pawl__set *set, const struct pawl__new_job *job)
{
    const struct pawl__row *row = pawl__set_find(set, job->id);
    bool held = row && row->found == PAWL__FOUND_HELD;
    for (size_t i = 0; !held && i < job->key_count; i++) {
        held = pawl__key_is_held(set, pawl__set_find_key(set, job->keys[i].digest));
    }
    return held;
}

static void note_refusal(struct pawl__set *set, entry *end, const char *why)
{
    char text[sizeof((struct pawl_diag *)0)->text + 64];
    bool well = end->to == PAWL_STATE_COMPLETED;
    int len = snprintf(text, sizeof text, "%s was not submitted: %s",
                       well ? "on_success" : "on_failure", why);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = end->id,
                                         .action = "follow_up",
                                         .reason = pawl__set_text(set, text, (size_t)len + 1),
                                         .from = end->to,
                                         .to = end->to });
}

/* The lane comes first: it is the only thing that can fail after a key was taken from another. If
 * it fails for another reason than the names, the whole batch does: the follow-up must not be lost.
 */
static enum pawl_err submit(struct pawl__set *set, const struct pawl__new_job *job,
                            struct pawl_diag *diag)
{
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT, .diag = diag };
    struct pawl_submitted out;
    uint32_t lane;
    enum pawl_err err =
        set->table->lane(set->backend, job->spec->queue, job->spec->type, &lane, diag);
    set->failed |= err && err != PAWL_ERR_ARG && err != PAWL_ERR_LIMIT;
    return err ? err : pawl__submit_one(set, &op, job, &out);
}

static bool follow_up(struct pawl__set *set, entry *end)
{
    struct pawl_diag diag = { 0 };
    struct pawl_span text = text_of(set, end);
    if (!text.len) return true;
    want_follow_up(set, end);
    if (set->failed || pawl__set_lacks(set)) return true; // it is called again
    struct pawl__new_job *job = pawl__arena_calloc(&set->arena, 1, sizeof *job);
    if (!job) {
        set->failed = true;
        return true;
    }
    enum pawl_err err = take(set, end, text, job, &diag);
    if (!err && is_held(set, job)) return false;
    if (!err && pawl__set_find(set, job->id)->found != PAWL__FOUND_ABSENT) return true; // was made
    if (!err) err = submit(set, job, &diag);
    if (err && !set->failed) note_refusal(set, end, diag.text);
    return true;
}

static bool completes(enum pawl_state from, enum pawl_state to)
{
    (void)from;
    return to == PAWL_STATE_COMPLETED;
}

static bool fails(enum pawl_state from, enum pawl_state to)
{
    (void)from;
    return pawl_state_is_terminal(to) && !pawl_state_is_successful(to);
}

static bool never(enum pawl_state from, enum pawl_state to)
{
    (void)from;
    (void)to;
    return false;
}

static bool done(struct pawl__set *set, entry *end)
{
    (void)set;
    (void)end;
    return true;
}

const struct pawl__tie pawl__tie_ON_SUCCESS = {
    .concerns = completes, .ends = true, .want = want_follow_up, .follow = follow_up
};
const struct pawl__tie pawl__tie_ON_FAILURE = {
    .concerns = fails, .ends = true, .want = want_follow_up, .follow = follow_up
};
const struct pawl__tie pawl__tie_CHILD = { .concerns = never, .follow = done };
