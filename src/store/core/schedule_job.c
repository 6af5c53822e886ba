/* The jobs of schedules: what they are made of, and what the overlap policy says of those that were
 * made before. */
#include "store/core/schedule.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/time_text.h"
#include "store/core/keys.h"
#include "store/core/settle.h"

#include <assert.h>
#include <string.h>

static const struct pawl__schedule_plan *plan_of(const struct pawl__turn *turn)
{
    return &turn->plan->row.schedule_plan;
}

/* ---- lists of ids ---- */

static struct pawl_job_id *room_for(struct pawl__set *set, struct pawl__id_list *ids, size_t count)
{
    if (count <= ids->cap) return ids->at;
    size_t cap = count * 2 + 4;
    struct pawl_job_id *grown = pawl__arena_alloc(&set->arena, cap * sizeof *grown);
    if (!grown) set->failed = true;
    if (!grown) return NULL;
    if (ids->count) memcpy(grown, ids->at, ids->count * sizeof *grown);
    ids->at = grown;
    ids->cap = cap;
    return grown;
}

struct pawl__id_list pawl__id_list_read(struct pawl__set *set, struct pawl_span bytes)
{
    struct pawl__id_list ids = { .at = NULL };
    size_t count = bytes.len / sizeof *ids.at;
    if (!count || !room_for(set, &ids, count)) return ids;
    memcpy(ids.at, bytes.at, count * sizeof *ids.at);
    ids.count = count;
    return ids;
}

struct pawl_span pawl__id_list_span(const struct pawl__id_list *ids)
{
    return (struct pawl_span){ (const char *)ids->at, ids->count * sizeof *ids->at };
}

void pawl__id_list_add(struct pawl__set *set, struct pawl__id_list *ids, struct pawl_job_id id)
{
    if (room_for(set, ids, ids->count + 1)) ids->at[ids->count++] = id;
}

void pawl__id_list_drop(struct pawl__id_list *ids, size_t at)
{
    ids->count--;
    memmove(&ids->at[at], &ids->at[at + 1], (ids->count - at) * sizeof *ids->at);
}

size_t pawl__id_list_find(const struct pawl__id_list *ids, struct pawl_job_id id)
{
    size_t at = 0;
    while (at < ids->count && memcmp(&ids->at[at], &id, sizeof id) != 0) {
        at++;
    }
    return at;
}

/* ---- a job from the template ---- */

/* The template's meta, which is an object or empty, and two members more. */
static struct pawl_span make_meta(struct pawl__turn *turn, int64_t at_ms)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    struct pawl__buf text = { .at = NULL };
    char instant[PAWL__INSTANT_TEXT_BYTES];
    size_t len = plan->job_meta.len;
    while (len && plan->job_meta.at[len - 1] != '}') {
        len--;
    }
    size_t first = len ? len - 1 : 0; // without the brace
    pawl__buf_add_text(&text, len ? "" : "{");
    pawl__buf_add(&text, plan->job_meta.at, first);
    size_t end = text.len;
    while (end && strchr(" \t\r\n", text.at[end - 1])) {
        end--;
    }
    bool more = end && text.at[end - 1] != '{';
    text.len = end;
    if (more) pawl__buf_add_text(&text, ",");
    pawl__buf_add_text(&text, "\"cron_name\":");
    pawl__buf_add_json(&text, plan->name, strlen(plan->name));
    pawl__instant_text(at_ms, instant);
    pawl__buf_printf(&text, ",\"cron_triggered_at\":\"%s\"}", instant);
    struct pawl_span kept = { pawl__set_text(turn->set, text.at, text.len), text.len };
    turn->set->failed |= text.failed;
    pawl__buf_release(&text);
    return kept;
}

/* "" is none. */
static const char *some(const char *text)
{
    return text && *text ? text : NULL;
}

static void fill_spec(struct pawl__turn *turn, struct pawl__child *child)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    child->spec = (struct pawl_job_spec){
        .type = plan->type,
        .queue = plan->queue,
        .args = plan->args.len ? plan->args : (struct pawl_span){ "[]", 2 },
        .meta = make_meta(turn, child->at_ms),
        .extra = plan->extra,
        .priority = plan->priority,
        .due_at_ms = child->due_ms,
        .expires_in_ms = plan->expires_in_ms,
        .timeout_ms = plan->timeout_ms,
        .lease_ms = plan->lease_ms,
        .keep_ms = plan->keep_ms,
        .retry.attempts_max = plan->attempts_max,
        .business_key = some(plan->business_key),
        .principal = some(plan->principal),
        .trace_id = some(plan->trace_id),
    };
}

/* The template was checked, so whatever is refused here is memory, or the arguments lack a member
 * that the unique policy names. */
static void make_keys(struct pawl__turn *turn, struct pawl__child *child)
{
    struct pawl__set *set = turn->set;
    const struct pawl__schedule_plan *plan = plan_of(turn);
    struct pawl__payloads payloads = { .meta.count = 0 };
    struct pawl__buf buf = { .at = NULL };
    enum pawl_err err = PAWL_OK;
    if (plan->unique.len) {
        err = pawl__unique_parse(plan->unique, &set->arena, &child->spec.unique, NULL);
    }
    if (!err && child->spec.unique.keys) {
        err = pawl__json_parse(child->spec.args, PAWL_JSON_DEPTH_MAX, &set->arena, &payloads.args,
                               NULL);
    }
    if (!err && child->spec.unique.keys) {
        err = pawl__json_parse(child->spec.meta, PAWL_JSON_DEPTH_MAX, &set->arena, &payloads.meta,
                               NULL);
    }
    if (!err) {
        err = pawl__keys_make(&child->spec, &payloads, &set->arena, &buf, &child->job, NULL);
    }
    set->failed |= err == PAWL_ERR_NOMEM;
    pawl__buf_release(&buf);
}

void pawl__child_make(struct pawl__turn *turn, struct pawl__child *child, int64_t at_ms,
                      int64_t due_ms)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    *child = (struct pawl__child){ .at_ms = at_ms, .due_ms = due_ms };
    fill_spec(turn, child);
    struct pawl_job_id id = pawl__idgen_next(&turn->set->ids);
    child->job = (struct pawl__new_job){ .id = id,
                                         .fresh_id = true,
                                         .arrival = id,
                                         .spec = &child->spec,
                                         .tags = plan->tags,
                                         .retry = plan->retry,
                                         .unique = plan->unique,
                                         .on_success = plan->on_success,
                                         .on_failure = plan->on_failure };
    child->job.ties = pawl__follow_ties(&child->job);
    make_keys(turn, child);
}

void pawl__child_want(struct pawl__turn *turn, const struct pawl__child *child)
{
    for (size_t i = 0; i < child->job.key_count; i++) {
        pawl__set_want_key(turn->set, child->job.keys[i].digest);
    }
    if (turn->set->careful) pawl__set_want(turn->set, child->job.id, PAWL__NEED_NONE);
}

/* ---- those that were made before ---- */

enum { NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

void pawl__children_want(struct pawl__turn *turn)
{
    bool asks = plan_of(turn)->overlap != PAWL_OVERLAP_ALLOW || turn->queued.count;
    for (size_t i = 0; asks && i < turn->children.count; i++) {
        pawl__set_want(turn->set, turn->children.at[i], NEED);
    }
    for (size_t i = 0; i < turn->queued.count; i++) {
        pawl__set_want(turn->set, turn->queued.at[i], NEED);
    }
}

bool pawl__child_lives(const struct pawl__set *set, struct pawl_job_id id)
{
    const struct pawl__row *row = pawl__set_find(set, id);
    if (!row || row->found == PAWL__FOUND_HELD) return true;
    return row->found == PAWL__FOUND_LIVE && !pawl_state_is_terminal(row->state);
}

static void forget_ended(struct pawl__set *set, struct pawl__id_list *ids)
{
    size_t kept = 0;
    for (size_t i = 0; i < ids->count; i++) {
        if (pawl__child_lives(set, ids->at[i])) ids->at[kept++] = ids->at[i];
    }
    ids->count = kept;
}

/* Where overlaps are allowed nobody asks about them, until the policy is edited. */
static void make_room(struct pawl__turn *turn)
{
    bool asks = plan_of(turn)->overlap != PAWL_OVERLAP_ALLOW;
    size_t max = asks ? PAWL__CHILDREN_MAX : PAWL__CHILDREN_ALLOWED_MAX;
    while (turn->children.count >= max) {
        pawl__id_list_drop(&turn->children, 0);
    }
}

/* The end of this job, which lives, is followed up from now on. */
static void tie(struct pawl__turn *turn, struct pawl_job_id id)
{
    struct pawl__set *set = turn->set;
    struct pawl__row *row = pawl__set_find(set, id);
    if (!row || row->found != PAWL__FOUND_LIVE || row->ties & PAWL__TIE_SCHEDULE) return;
    pawl__row_tie(set, row, row->ties | PAWL__TIE_SCHEDULE);
    const struct pawl__schedule_member member = { .id = id, .schedule = plan_of(turn)->name };
    (void)pawl__set_record_new(set, PAWL__RECORD_SCHEDULE_MEMBER, &member);
}

static void cancel(struct pawl__set *set, struct pawl__row *row)
{
    static const enum pawl_event event[] = { PAWL_EVENT_CANCEL };
    static const char why[] = "the next job of its schedule has come";
    enum pawl_state from = row->state;
    enum pawl_err err = pawl__row_move(set, row, event, 1, &(struct pawl__target){ .reason = why });
    assert(!err); // it has not ended, and all that has not can be cancelled
    (void)err;
    if (from == PAWL_STATE_ACTIVE) pawl__set_control(set);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = row->id,
                                         .action = "cancel",
                                         .reason = why,
                                         .from = from,
                                         .to = row->state });
}

static int64_t cancel_all(struct pawl__turn *turn, struct pawl__id_list *ids)
{
    int64_t count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        struct pawl__row *row = pawl__set_find(turn->set, ids->at[i]);
        bool lives = row && row->found == PAWL__FOUND_LIVE && !pawl_state_is_terminal(row->state);
        if (!lives) continue;
        cancel(turn->set, row);
        count++;
    }
    forget_ended(turn->set, ids);
    return count;
}

/* What the policy says: `made` has the skip, or whether the job is to be held. */
static void overlap(struct pawl__turn *turn, struct pawl__made *made)
{
    enum pawl_overlap policy = (enum pawl_overlap)plan_of(turn)->overlap;
    if (policy == PAWL_OVERLAP_ALLOW) return;
    forget_ended(turn->set, &turn->children);
    forget_ended(turn->set, &turn->queued);
    size_t live = turn->children.count + turn->queued.count;
    if (!live) return;
    if (policy == PAWL_OVERLAP_CANCEL_PREVIOUS) {
        made->cancelled = cancel_all(turn, &turn->queued) + cancel_all(turn, &turn->children);
        return;
    }
    bool queues = policy == PAWL_OVERLAP_QUEUE && turn->queued.count < PAWL_SCHEDULE_QUEUED_MAX;
    made->queued = queues;
    if (!queues) made->skip = PAWL_SKIP_OVERLAP;
}

/* ---- making it ---- */

static const char *detail_of(struct pawl__turn *turn)
{
    return pawl__set_text(turn->set, turn->diag.text, strlen(turn->diag.text) + 1);
}

/* Refused for reasons of its own, or another job stands in for it. */
static enum pawl_err refuse(struct pawl__turn *turn, enum pawl_err err,
                            const struct pawl_submitted *submitted, struct pawl__made *out)
{
    if (err && !pawl__err_is_own(err)) return err;
    if (!err) {
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(submitted->id, text);
        (void)pawl__fail(&turn->diag, PAWL_ERR_DUPLICATE, "job \"%s\" stands in for it", text);
    }
    bool duplicate = !err || err == PAWL_ERR_DUPLICATE;
    out->skip = duplicate ? PAWL_SKIP_DUPLICATE : PAWL_SKIP_REFUSED;
    out->detail = detail_of(turn);
    out->queued = false;
    return PAWL_OK;
}

/* Of a queue all are tied, so that the end of each is followed up. */
static void remember(struct pawl__turn *turn, const struct pawl__child *child, bool queued)
{
    struct pawl__set *set = turn->set;
    if (queued) {
        pawl__id_list_add(set, &turn->queued, child->job.id);
        for (size_t i = 0; i < turn->children.count; i++) {
            tie(turn, turn->children.at[i]);
        }
        tie(turn, child->job.id);
        return;
    }
    make_room(turn);
    pawl__id_list_add(set, &turn->children, child->job.id);
    if (turn->queued.count) tie(turn, child->job.id);
}

/* Does nothing in this transaction ask for the row of the job? */
static bool is_on_its_own(const struct pawl__turn *turn)
{
    return turn->quick && plan_of(turn)->overlap == PAWL_OVERLAP_ALLOW && !turn->queued.count;
}

enum pawl_err pawl__child_submit(struct pawl__turn *turn, struct pawl__child *child, bool force,
                                 struct pawl__made *out)
{
    struct pawl__set *set = turn->set;
    struct pawl_submitted submitted;
    struct pawl__op ask = { .kind = PAWL__OP_SUBMIT,
                            .diag = &turn->diag,
                            .submit = { .jobs = &child->job, .count = 1 } };
    *out = (struct pawl__made){ .skip = PAWL_SKIP_NONE };
    if (!force) overlap(turn, out);
    if (out->skip) return PAWL_OK;
    child->spec.pending = out->queued;
    bool taken = false;
    enum pawl_err err = is_on_its_own(turn) ? pawl__core_plain(set, &child->job, &taken) : PAWL_OK;
    if (err) return err;
    if (!taken) {
        err = pawl__submit_one(set, &ask, &child->job, &submitted);
        if (err || submitted.deduplicated) return refuse(turn, err, &submitted, out);
    }
    turn->made++;
    remember(turn, child, out->queued);
    return set->failed ? pawl__fail_nomem(set->diag) : PAWL_OK;
}

/* ---- letting it go ---- */

/* Where it would be if it had not been held; a paused one when it is resumed. */
void pawl__child_release(struct pawl__set *set, struct pawl__row *row)
{
    bool waits = row->due_at_ms > set->now_ms;
    bool paused = row->state == PAWL_STATE_PAUSED && row->paused_from == PAWL_STATE_PENDING;
    const enum pawl_event event[] = { waits ? PAWL_EVENT_SNOOZE : PAWL_EVENT_ACTIVATE };
    if (paused) {
        pawl__row_save(set, row);
        row->paused_from = waits ? PAWL_STATE_SCHEDULED : PAWL_STATE_AVAILABLE;
        row->wrote |= PAWL__WROTE_STAND;
        return;
    }
    if (row->state != PAWL_STATE_PENDING || row->lease_until_ms) return; // it is not held
    enum pawl_err err = pawl__row_move(set, row, event, 1, &(struct pawl__target){ 0 });
    assert(!err);
    (void)err;
}

enum pawl_err pawl__schedule_allows(const struct pawl__row *row, enum pawl_control control,
                                    struct pawl_diag *diag)
{
    bool waits = row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
    if (!(row->ties & PAWL__TIE_SCHEDULE) || !waits || control != PAWL_CONTROL_ACTIVATE) {
        return PAWL_OK;
    }
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(row->id, text);
    return pawl__fail(diag, PAWL_ERR_STATE,
                      "job \"%s\" waits for earlier jobs of its schedule: it cannot be activated",
                      text);
}
