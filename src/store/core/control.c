/* What operators do to jobs and queues: each action leaves an audit entry. */
#include "store/core/control.h"
#include "store/core/flow.h"
#include "store/core/keys.h"
#include "store/core/refuse.h"
#include "store/core/schedule.h"

#include "base/diag.h"

#include <assert.h>

/* ---- what a control may do ---- */

#define X(number, name, verb, event, ...) [PAWL_CONTROL_##name] = { PAWL_EVENT_##event, verb },
static const struct {
    enum pawl_event event;
    const char *verb;
} controls[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X

bool pawl__control_revives(enum pawl_control control)
{
    return control == PAWL_CONTROL_RETRY || control == PAWL_CONTROL_PAUSE;
}

enum pawl_event pawl__control_event(enum pawl_control control)
{
    assert(control > PAWL_CONTROL_NONE && control < PAWL_CONTROL_END);
    return controls[control].event;
}

const char *pawl__control_verb(enum pawl_control control)
{
    assert(control > PAWL_CONTROL_NONE && control < PAWL_CONTROL_END);
    return controls[control].verb;
}

const char *pawl__control_reason(enum pawl_control control, const struct pawl_by *by)
{
    if (by->reason && *by->reason) return by->reason;
    switch (control) {
    case PAWL_CONTROL_CANCEL:
        return "cancelled on request";
    case PAWL_CONTROL_DISCARD:
        return "discarded on request";
    case PAWL_CONTROL_SKIP:
        return "skipped on request";
    default:
        return NULL;
    }
}

bool pawl__control_allowed(enum pawl_control control, enum pawl_state from,
                           enum pawl_state paused_from)
{
    return pawl__lifecycle_next(from, pawl__control_event(control), paused_from) != PAWL_STATE_NONE;
}

uint32_t pawl__control_states(enum pawl_control control)
{
    uint32_t mask = 0;
    for (int i = PAWL_STATE_NONE + 1; i < PAWL_STATE_END; i++) {
        enum pawl_state state = (enum pawl_state)i;
        bool can = control == PAWL_CONTROL_NONE
                       ? pawl_state_is_terminal(state)
                       : pawl__control_allowed(control, state, PAWL_STATE_SCHEDULED);
        if (can) mask |= PAWL_STATE_BIT(state);
    }
    return mask;
}

/* ---- what is needed ---- */

/* A job that has ended has let its keys go; one that is paused holds them. It need not ask, though:
 * it can only go back or be cancelled. */
static bool takes_keys(const struct pawl__row *row, enum pawl_control control)
{
    return pawl__control_revives(control) && row->has_end;
}

static uint8_t need_of(enum pawl_control control)
{
    return PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND |
           (control == PAWL_CONTROL_NONE ? PAWL__NEED_KEYS : 0) |
           (pawl__control_revives(control) ? PAWL__NEED_KEYS | PAWL__NEED_HOLDERS : 0);
}

/* ---- one job ---- */

static void audit(struct pawl__set *set, const struct pawl__row *row, const char *action,
                  const struct pawl_by *by, enum pawl_state from)
{
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = row->id,
                                         .action = action,
                                         .actor = by->actor,
                                         .reason = by->reason,
                                         .from = from,
                                         .to = row->state });
}

static bool allows(const struct pawl__row *row, enum pawl_control control)
{
    return pawl__control_allowed(control, row->state, row->paused_from);
}

static enum pawl_err carry_out(struct pawl__set *set, struct pawl__row *row,
                               enum pawl_control control, const struct pawl_by *by)
{
    enum pawl_event event = pawl__control_event(control);
    struct pawl__target target = { .reason = pawl__control_reason(control, by) };
    bool retry = control == PAWL_CONTROL_RETRY;
    if (row->found == PAWL__FOUND_ARCHIVED) pawl__row_restore(set, row);
    if (takes_keys(row, control)) pawl__keys_take_back(set, row);
    if (retry) pawl__row_begin_anew(row);
    if (retry || (control == PAWL_CONTROL_PROMOTE && row->due_at_ms > set->now_ms)) {
        target.due_at_ms = set->now_ms;
    }
    return pawl__row_move(set, row, &event, 1, &target);
}

/* What the control needs beyond the row itself. */
static void prepare(struct pawl__set *set, const struct pawl__row *row, enum pawl_control control)
{
    if (!takes_keys(row, control) || !allows(row, control)) return;
    pawl__keys_want(set, row->keys);
}

/* DUPLICATE, and then no holder of the key was forgotten either. */
static enum pawl_err ask_back(struct pawl__set *set, const struct pawl__row *row,
                              struct pawl_diag *diag)
{
    pawl__set_mark(set);
    enum pawl_err err = pawl__keys_ask_back(set, row, diag);
    if (err) pawl__set_undo(set);
    if (!err) pawl__set_keep(set);
    return err;
}

/* STATE, DUPLICATE. A job that is paused already may be paused. */
static enum pawl_err control_row(struct pawl__set *set, struct pawl__row *row,
                                 enum pawl_control control, const struct pawl_by *by,
                                 struct pawl_diag *diag)
{
    enum pawl_state from = row->state;
    if (control == PAWL_CONTROL_PAUSE && from == PAWL_STATE_PAUSED) return PAWL_OK;
    const char *verb = pawl__control_verb(control);
    if (!allows(row, control)) return pawl__fail_state(diag, row->id, from, verb);
    enum pawl_err err = pawl__flow_allows(set, row, control, diag);
    if (!err) err = pawl__schedule_allows(row, control, diag);
    if (err) return err;
    prepare(set, row, control);
    if (pawl__set_lacks(set)) return PAWL_OK; // until it is read
    err = control == PAWL_CONTROL_RETRY ? ask_back(set, row, diag) : PAWL_OK;
    if (err) return err;
    err = carry_out(set, row, control, by);
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__set_control(set);
    audit(set, row, verb, by, from);
    return PAWL_OK;
}

void pawl__names_control(const struct pawl__op *op, struct pawl__names *out)
{
    if (pawl__control_revives(op->control.control)) out->revived = &op->control.id;
}

void pawl__want_control(struct pawl__set *set, const struct pawl__op *op)
{
    assert(op->control.control > PAWL_CONTROL_NONE && op->control.control < PAWL_CONTROL_END);
    pawl__set_want(set, op->control.id, need_of(op->control.control));
    set->open_ended |=
        pawl__control_revives(op->control.control); // it asks about holders of its keys
}

enum pawl_err pawl__rule_control(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl_run ref = { op->control.id, op->control.run };
    struct pawl__row *row;
    op->control.from = op->control.to = PAWL_STATE_NONE;
    enum pawl_err err = ref.run > 0 ? pawl__row_owned(set, &ref, &row, op->diag)
                                    : pawl__row_known(set, ref.id, &row, op->diag);
    if (err) return err;
    op->control.from = row->state;
    err = control_row(set, row, op->control.control, &op->control.by, op->diag);
    op->control.to = row->state;
    return err;
}

/* ---- priority ---- */

void pawl__want_priority(struct pawl__set *set, const struct pawl__op *op)
{
    pawl__set_want(set, op->priority.id, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
}

enum pawl_err pawl__rule_priority(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->priority.id, &row, op->diag);
    if (err) return err;
    if (pawl_state_is_terminal(row->state) || row->state == PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, row->id, row->state, "change the priority of");
    }
    op->priority.before = row->priority;
    row->priority = op->priority.priority;
    row->rank = pawl__row_rank(set, row);
    row->wrote |= PAWL__WROTE_FACTS | PAWL__WROTE_STAND; // its place has the rank too
    audit(set, row, "priority", &op->priority.by, row->state);
    return PAWL_OK;
}

/* ---- deleting ---- */

/* The entry outlives the job and its other entries, so it names the job in words. */
static void audit_deletion(struct pawl__set *set, struct pawl_job_id id, const struct pawl_by *by)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .subject = pawl__set_text(set, text, strlen(text)),
                                         .action = "delete",
                                         .actor = by->actor,
                                         .reason = by->reason });
}

static enum pawl_err refuse_kept(struct pawl_diag *diag, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_STATE,
                      "job \"%s\" is a node of a flow that has not ended: it cannot be deleted",
                      text);
}

void pawl__want_delete(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__row *row = pawl__set_want(set, op->remove.id, need_of(PAWL_CONTROL_NONE));
    if (row) row->may_go = true;
}

enum pawl_err pawl__rule_delete(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->remove.id, &row, op->diag);
    if (err) return err;
    if (!pawl_state_is_terminal(row->state)) {
        return pawl__fail_state(op->diag, row->id, row->state, "delete");
    }
    bool kept = pawl__flow_keeps(set, row);
    if (pawl__set_lacks(set)) return PAWL_OK; // until it is read
    if (kept) return refuse_kept(op->diag, row->id);
    pawl__row_delete(set, row);
    audit_deletion(set, row->id, &op->remove.by);
    return PAWL_OK;
}

/* ---- many jobs ---- */

static bool bulk_allows(struct pawl__set *set, const struct pawl__row *row,
                        const struct pawl__op *op)
{
    uint32_t states = op->bulk.filter->states;
    if (row->found == PAWL__FOUND_ABSENT) return false;
    if (states && !(states & PAWL_STATE_BIT(row->state))) return false;
    bool deletes = op->bulk.control == PAWL_CONTROL_NONE;
    if (deletes) return pawl_state_is_terminal(row->state) && !pawl__flow_keeps(set, row);
    return allows(row, op->bulk.control) && !pawl__flow_allows(set, row, op->bulk.control, NULL) &&
           !pawl__schedule_allows(row, op->bulk.control, NULL);
}

/* A job that moved meanwhile, or was paused already, does not count. DUPLICATE fails all of it. */
static enum pawl_err bulk_one(struct pawl__set *set, struct pawl__op *op, struct pawl__row *row)
{
    enum pawl_err err = PAWL_OK;
    if (!bulk_allows(set, row, op)) return PAWL_OK;
    if (op->bulk.control == PAWL_CONTROL_NONE) {
        pawl__row_delete(set, row);
        audit_deletion(set, row->id, &op->bulk.by);
    } else {
        err = control_row(set, row, op->bulk.control, &op->bulk.by, op->diag);
    }
    op->bulk.moved += !err;
    return err;
}

enum pawl_err pawl__rule_bulk(struct pawl__set *set, struct pawl__op *op)
{
    op->bulk.moved = 0;
    for (size_t i = 0; i < set->scanned_count; i++) {
        const struct pawl__row *row = set->scanned[i];
        if (bulk_allows(set, row, op)) prepare(set, row, op->bulk.control);
    }
    if (pawl__set_lacks(set)) return PAWL_OK;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->scanned_count; i++) {
        err = bulk_one(set, op, set->scanned[i]);
    }
    if (err) op->bulk.moved = 0;
    return err;
}

void pawl__names_bulk(const struct pawl__op *op, struct pawl__names *out)
{
    out->revives_any = pawl__control_revives(op->bulk.control);
}

enum pawl_err pawl__scan_bulk(struct pawl__set *set, struct pawl__op *op)
{
    assert(op->bulk.limit >= 1 && op->bulk.limit <= PAWL_BULK_MAX);
    struct pawl_filter filter = *op->bulk.filter;
    // the limit counts only jobs that can move
    filter.states = (filter.states ? filter.states : ~UINT32_C(0)) &
                    pawl__control_states(op->bulk.control);
    if (!filter.states) return PAWL_OK;
    struct pawl_job_id *ids;
    size_t count;
    enum pawl_err err =
        set->table->match(set->backend, &filter, op->bulk.limit, &op->arena, &ids, &count);
    for (size_t i = 0; !err && i < count; i++) {
        pawl__set_scanned(set, ids[i], need_of(op->bulk.control));
    }
    return err;
}

/* ---- queues ---- */

static const char *queue_action(const struct pawl__op *op)
{
    if (op->queue.forgotten) return "delete queue";
    return op->queue.paused ? "pause queue" : "resume queue";
}

void pawl__names_queue_pause(const struct pawl__op *op, struct pawl__names *out)
{
    out->queue = op->queue.queue;
}

enum pawl_err pawl__rule_queue_pause(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = set->table->queue(set->backend, op->queue.queue, op->diag);
    if (err) return err;
    pawl__set_put(set, PAWL__TABLE_QUEUE_PUT,
                  &(struct pawl__queue_row){ .name = op->queue.queue,
                                             .paused = op->queue.paused,
                                             .forgotten = op->queue.forgotten });
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .subject = op->queue.queue,
                                         .action = queue_action(op),
                                         .actor = op->queue.by.actor,
                                         .reason = op->queue.by.reason });
    return PAWL_OK;
}

/* Claims of the same transaction see it. A rollback makes the backend read its queues again. */
enum pawl_err pawl__after_queue_pause(struct pawl__set *set, struct pawl__op *op)
{
    pawl__catalog_queue(&set->catalog, op->queue.queue)->paused = op->queue.paused;
    set->notices.ready |= !op->queue.paused;
    return PAWL_OK;
}
