/* What is asked of a schedule by its name: put, pause, resume, run, drop. Each of these runs alone,
 * so one that is refused leaves nothing behind. */
#include "store/core/schedule.h"

#include "base/diag.h"

#include <assert.h>
#include <string.h>

enum { NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

static struct pawl__schedule *row_of(const struct pawl__turn *turn)
{
    return &turn->schedule->row.schedule;
}

static struct pawl__schedule_plan *plan_of(const struct pawl__turn *turn)
{
    return &turn->plan->row.schedule_plan;
}

static const char *name_of(const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_SCHEDULE_PUT:
        return op->schedule_put.given->plan.name;
    case PAWL__OP_SCHEDULE_CONTROL:
        return op->schedule_control.name;
    default:
        return op->schedule_drop.name;
    }
}

static struct pawl__record *want_row(struct pawl__set *set, const char *name)
{
    return pawl__set_want_record(set, PAWL__RECORD_SCHEDULE,
                                 &(struct pawl__schedule){ .name = name });
}

static struct pawl__record *want_plan(struct pawl__set *set, const char *name)
{
    return pawl__set_want_record(set, PAWL__RECORD_SCHEDULE_PLAN,
                                 &(struct pawl__schedule_plan){ .name = name });
}

/* ---- what is to be read ---- */

/* Instants that are over are decided by the definition that they had. */
static void want_due(struct pawl__turn *turn)
{
    const struct pawl__schedule *row = row_of(turn);
    bool due = row->state == PAWL_SCHEDULE_ACTIVE && row->next_at_ms <= turn->set->now_ms;
    if (due && !turn->no_zone) pawl__turn_want_due(turn, row->next_at_ms);
}

static void want_resumed(struct pawl__turn *turn)
{
    const struct pawl__schedule *row = row_of(turn);
    bool asks = plan_of(turn)->traits & PAWL__PLAN_CATCH_UP_PAUSED;
    if (!asks || row->state != PAWL_SCHEDULE_PAUSED || turn->no_zone) return;
    int64_t first_ms = pawl__timetable_next(&turn->table, row->settled_at_ms);
    if (first_ms <= turn->set->now_ms) pawl__turn_want_due(turn, first_ms);
}

static void want_run(struct pawl__turn *turn)
{
    struct pawl__set *set = turn->set;
    turn->jobs = pawl__arena_calloc(&set->arena, 1, sizeof *turn->jobs);
    if (!turn->jobs) {
        set->failed = true;
        return;
    }
    pawl__child_make(turn, turn->jobs, set->now_ms, set->now_ms);
    pawl__child_want(turn, turn->jobs);
    pawl__children_want(turn);
}

static void want_queued(struct pawl__turn *turn)
{
    for (size_t i = 0; i < turn->queued.count; i++) {
        pawl__set_want(turn->set, turn->queued.at[i], NEED);
    }
}

static void want_more(struct pawl__turn *turn, const struct pawl__op *op)
{
    if (op->kind == PAWL__OP_SCHEDULE_PUT) want_due(turn);
    if (op->kind == PAWL__OP_SCHEDULE_DROP) want_queued(turn);
    if (op->kind != PAWL__OP_SCHEDULE_CONTROL) return;
    switch (op->schedule_control.control) {
    case PAWL__SCHEDULE_PAUSE:
        want_due(turn);
        break;
    case PAWL__SCHEDULE_RESUME:
        want_resumed(turn);
        break;
    default:
        want_run(turn);
        break;
    }
}

/* The row is locked before anything else of the schedule is read. */
enum pawl_err pawl__scan_schedule(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *row = want_row(set, name_of(op)), *plan = want_plan(set, name_of(op));
    enum pawl_err err = pawl__set_load(set, true);
    set->turn = NULL;
    if (err || !row->there || !plan->there) return err;
    set->turn = pawl__turn_new(set, row, plan);
    if (!set->turn) return pawl__fail_nomem(set->diag);
    want_more(set->turn, op);
    return pawl__set_load(set, true);
}

static enum pawl_err refuse_unknown(struct pawl__op *op)
{
    return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "name", "schedule \"%s\" not found",
                            name_of(op));
}

static enum pawl_err refuse_version(struct pawl__op *op, const struct pawl__schedule *row)
{
    return pawl__fail_field(op->diag, PAWL_ERR_STALE, "version",
                            "schedule \"%s\" has version %lld by now", row->name,
                            (long long)row->version);
}

/* ---- stopping and going on ---- */

static void touch(struct pawl__turn *turn)
{
    row_of(turn)->version++;
    row_of(turn)->updated_at_ms = turn->set->now_ms;
}

static void pause(struct pawl__turn *turn, int32_t stopped, const char *reason)
{
    struct pawl__schedule *row = row_of(turn);
    row->state = PAWL_SCHEDULE_PAUSED;
    row->stopped = stopped;
    row->reason = reason;
    row->next_at_ms = row->look_at_ms = 0;
    if (turn->set->now_ms > row->settled_at_ms) row->settled_at_ms = turn->set->now_ms;
}

/* By the definition that it has. */
static enum pawl_err go_on(struct pawl__turn *turn)
{
    row_of(turn)->state = PAWL_SCHEDULE_ACTIVE;
    row_of(turn)->stopped = PAWL__STOP_NONE;
    row_of(turn)->reason = NULL;
    if (turn->fires) return pawl__turn_fire(turn);
    pawl__turn_skip_paused(turn);
    pawl__turn_renew(turn);
    return PAWL_OK;
}

/* ---- put ---- */

enum { PLAN_RECURRENCE_FIRST = 1, PLAN_RECURRENCE_COUNT = 8 }; /* expression to end_at_ms */

static int compare_plans(const struct pawl__schedule_plan *a, const struct pawl__schedule_plan *b,
                         bool recurrence)
{
    const struct pawl__set_table *of = &pawl__set_tables[PAWL__TABLE_SCHEDULE_PLAN_PUT];
    if (!recurrence) return pawl__fields_compare(of->fields, of->count, a, b);
    return pawl__fields_compare(of->fields + PLAN_RECURRENCE_FIRST, PLAN_RECURRENCE_COUNT, a, b);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The anchor of an interval is renewed with the expression. */
static struct pawl__schedule_plan anchored(const struct pawl__set *set,
                                           const struct pawl__schedule_plan *given,
                                           const struct pawl__schedule_plan *was)
{
    struct pawl__schedule_plan plan = *given;
    if (plan.traits & PAWL__PLAN_ANCHOR_GIVEN) return plan;
    bool keeps = was && !(was->traits & PAWL__PLAN_ANCHOR_GIVEN) && !plan.start_at_ms &&
                 !was->start_at_ms && same_text(was->expression, plan.expression);
    plan.anchor_at_ms = plan.start_at_ms ? plan.start_at_ms
                        : keeps          ? was->anchor_at_ms
                                         : set->now_ms;
    return plan;
}

static void answer(struct pawl__op *op, enum pawl_put put, const struct pawl__schedule *row)
{
    op->schedule_put.out = (struct pawl_schedule_put){
        .put = put,
        .version = row->version,
        .next_at_ms = row->next_at_ms,
        .state = (enum pawl_schedule_state)row->state,
    };
}

static void declare(struct pawl__turn *turn, const struct pawl_schedule_put_options *options)
{
    if (!options->group) return;
    row_of(turn)->group = options->group;
    row_of(turn)->declared_at_ms = turn->set->now_ms;
}

/* Nothing but when it would fire first. */
static enum pawl_err rehearse(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__new_schedule *given = op->schedule_put.given;
    struct pawl__record row = { .of = NULL }, plan = { .of = NULL };
    plan.row.schedule_plan = anchored(set, &given->plan, NULL);
    struct pawl__turn *turn = pawl__turn_new(set, &row, &plan);
    if (!turn) return PAWL_ERR_NOMEM;
    bool off = given->plan.traits & PAWL__PLAN_DISABLED || turn->no_zone;
    int64_t next_ms = off ? PAWL__NEVER : pawl__timetable_next(&turn->table, set->now_ms);
    op->schedule_put.out = (struct pawl_schedule_put){
        .put = PAWL_PUT_CREATED,
        .next_at_ms = next_ms == PAWL__NEVER ? 0 : next_ms,
        .state = off ? PAWL_SCHEDULE_PAUSED : PAWL_SCHEDULE_ACTIVE,
    };
    return PAWL_OK;
}

static enum pawl_err create(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__new_schedule *given = op->schedule_put.given;
    const char *name = given->plan.name;
    struct pawl__record *row = want_row(set, name), *plan = want_plan(set, name);
    row->row.schedule = (struct pawl__schedule){ .name = name,
                                                 .state = PAWL_SCHEDULE_ACTIVE,
                                                 .settled_at_ms = set->now_ms,
                                                 .version = 1,
                                                 .created_at_ms = set->now_ms,
                                                 .updated_at_ms = set->now_ms };
    plan->row.schedule_plan = anchored(set, &given->plan, NULL);
    struct pawl__turn *turn = pawl__turn_new(set, row, plan);
    if (!turn) return PAWL_ERR_NOMEM;
    pawl__turn_enter_change(turn, "created", NULL, given->options.actor);
    declare(turn, &given->options);
    if (given->plan.traits & PAWL__PLAN_DISABLED) {
        pause(turn, PAWL__STOP_DISABLED, "disabled");
    } else {
        pawl__turn_renew(turn);
    }
    answer(op, PAWL_PUT_CREATED, &row->row.schedule);
    row->there = plan->there = plan->changed = true;
    pawl__turn_end(turn);
    return PAWL_OK;
}

/* What was left undecided is so by the old definition. */
static enum pawl_err settle(struct pawl__turn *turn, bool resumes, bool moves)
{
    if (turn->fires) return pawl__turn_fire(turn);
    bool paused = row_of(turn)->state == PAWL_SCHEDULE_PAUSED;
    if (paused && (resumes || moves)) pawl__turn_skip_paused(turn);
    return PAWL_OK;
}

static void replace(struct pawl__turn *turn, const struct pawl__schedule_plan *plan)
{
    *plan_of(turn) = *plan;
    turn->plan->changed = true;
    turn->fires = false;
    (void)pawl__turn_read_table(turn);
}

static enum pawl_err edit(struct pawl__turn *turn, const struct pawl__schedule_plan *plan)
{
    struct pawl__schedule *row = row_of(turn);
    bool off = plan->traits & PAWL__PLAN_DISABLED;
    bool moves = compare_plans(plan_of(turn), plan, true) != 0;
    bool respent = plan->max_runs != plan_of(turn)->max_runs;
    bool resumes = row->state == PAWL_SCHEDULE_PAUSED && row->stopped == PAWL__STOP_DISABLED &&
                   !off;
    enum pawl_err err = settle(turn, resumes, moves);
    if (err) return err;
    replace(turn, plan);
    touch(turn);
    if (off && row->state != PAWL_SCHEDULE_PAUSED) {
        pause(turn, PAWL__STOP_DISABLED, "disabled");
        return PAWL_OK;
    }
    if (resumes) return go_on(turn);
    if (row->state == PAWL_SCHEDULE_PAUSED) return PAWL_OK;
    if (moves || respent || row->state != PAWL_SCHEDULE_ACTIVE) pawl__turn_renew(turn);
    return PAWL_OK;
}

static enum pawl_err change(struct pawl__turn *turn, struct pawl__op *op)
{
    const struct pawl__new_schedule *given = op->schedule_put.given;
    struct pawl__set *set = turn->set;
    struct pawl__schedule_plan plan = anchored(set, &given->plan, plan_of(turn));
    bool same = compare_plans(plan_of(turn), &plan, false) == 0;
    if (given->options.dry_run || (same && !given->options.group)) {
        answer(op, same ? PAWL_PUT_UNCHANGED : PAWL_PUT_CHANGED, row_of(turn));
        return PAWL_OK;
    }
    declare(turn, &given->options);
    if (!same) pawl__turn_enter_change(turn, "edited", NULL, given->options.actor);
    enum pawl_err err = same ? PAWL_OK : edit(turn, &plan);
    if (err) return err;
    pawl__turn_end(turn);
    answer(op, same ? PAWL_PUT_UNCHANGED : PAWL_PUT_CHANGED, row_of(turn));
    return PAWL_OK;
}

static enum pawl_err refuse_past(struct pawl__op *op)
{
    const struct pawl__schedule_plan *plan = &op->schedule_put.given->plan;
    const char *field = plan->expression ? "expression" : "instants";
    return pawl__fail_field(op->diag, PAWL_ERR_ARG, field,
                            "schedule \"%s\": all its firings are in the past", plan->name);
}

/* Nothing of what is given is to come, and it is not what is there. */
static bool is_over(const struct pawl__turn *turn, const struct pawl__op *op)
{
    const struct pawl__new_schedule *given = op->schedule_put.given;
    if (!given->past || !turn) return given->past;
    struct pawl__schedule_plan plan = anchored(turn->set, &given->plan, plan_of(turn));
    return compare_plans(plan_of(turn), &plan, true) != 0;
}

enum pawl_err pawl__rule_schedule_put(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl_schedule_put_options *options = &op->schedule_put.given->options;
    struct pawl__turn *turn = set->turn;
    if (!turn && (options->change_only || options->version)) return refuse_unknown(op);
    if (is_over(turn, op)) return refuse_past(op);
    if (!turn) return options->dry_run ? rehearse(set, op) : create(set, op);
    if (options->create_only) {
        return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "name",
                                "there is a schedule \"%s\" already", name_of(op));
    }
    if (options->version && options->version != row_of(turn)->version) {
        return refuse_version(op, row_of(turn));
    }
    return change(turn, op);
}

/* Whichever keys the jobs will have that it makes: they are not known yet. */
void pawl__names_schedule_control(const struct pawl__op *op, struct pawl__names *out)
{
    (void)op;
    out->revives_any = true;
}

/* The lane of its jobs is made in time, here and for good. */
void pawl__names_schedule_put(const struct pawl__op *op, struct pawl__names *out)
{
    out->jobs = op->schedule_put.given->job;
    out->job_count = 1;
    out->revives_any = true; // instants that are over may be fired
}

/* ---- pause, resume, run ---- */

static enum pawl_err rule_pause(struct pawl__turn *turn, struct pawl__op *op)
{
    const struct pawl_by *by = &op->schedule_control.by;
    if (row_of(turn)->state == PAWL_SCHEDULE_PAUSED) return PAWL_OK;
    if (row_of(turn)->state == PAWL_SCHEDULE_EXHAUSTED) {
        return pawl__fail_field(op->diag, PAWL_ERR_STATE, "name",
                                "cannot pause schedule \"%s\": it is exhausted", name_of(op));
    }
    enum pawl_err err = turn->fires ? pawl__turn_fire(turn) : PAWL_OK;
    if (err) return err;
    if (row_of(turn)->state != PAWL_SCHEDULE_EXHAUSTED) { // by what was just fired
        pawl__turn_enter_change(turn, "paused", by->reason, by->actor);
        pause(turn, PAWL__STOP_OPERATOR, by->reason);
        touch(turn);
        op->schedule_control.changed = true;
    }
    pawl__turn_end(turn);
    return PAWL_OK;
}

static enum pawl_err rule_resume(struct pawl__turn *turn, struct pawl__op *op)
{
    const struct pawl_by *by = &op->schedule_control.by;
    if (row_of(turn)->state != PAWL_SCHEDULE_PAUSED) return PAWL_OK;
    pawl__turn_enter_change(turn, "resumed", by->reason, by->actor);
    if (plan_of(turn)->traits & PAWL__PLAN_DISABLED) {
        plan_of(turn)->traits &= ~PAWL__PLAN_DISABLED;
        turn->plan->changed = true;
    }
    touch(turn);
    op->schedule_control.changed = true;
    enum pawl_err err = go_on(turn);
    if (!err) pawl__turn_end(turn);
    return err;
}

static void enter_ran(struct pawl__turn *turn, const struct pawl__child *child,
                      const struct pawl__made *made, const char *actor)
{
    bool skipped = made->skip != PAWL_SKIP_NONE;
    struct pawl__firing entry = { .kind = skipped ? PAWL_FIRING_SKIPPED : PAWL_FIRING_RAN,
                                  .skip = (int32_t)made->skip,
                                  .first_at_ms = child->at_ms,
                                  .last_at_ms = skipped ? child->at_ms : 0,
                                  .count = skipped,
                                  .due_at_ms = skipped ? 0 : child->due_ms,
                                  .queued = made->queued,
                                  .cancelled = made->cancelled,
                                  .actor = actor };
    if (!skipped) entry.job = child->job.id;
    pawl__turn_enter(turn, entry);
}

static enum pawl_err refuse_job(struct pawl__turn *turn, struct pawl__op *op, enum pawl_skip skip)
{
    enum pawl_err err = skip == PAWL_SKIP_DUPLICATE ? PAWL_ERR_DUPLICATE : PAWL_ERR_ARG;
    return pawl__fail_field(op->diag, err, turn->diag.field, "%s", turn->diag.text);
}

static enum pawl_err rule_run(struct pawl__turn *turn, struct pawl__op *op)
{
    struct pawl_schedule_ran *out = &op->schedule_control.ran;
    struct pawl__made made;
    enum pawl_err err = pawl__child_submit(turn, turn->jobs, op->schedule_control.force, &made);
    if (err) return err;
    if (made.skip && made.skip != PAWL_SKIP_OVERLAP) return refuse_job(turn, op, made.skip);
    enter_ran(turn, turn->jobs, &made, op->schedule_control.by.actor);
    *out = (struct pawl_schedule_ran){ .skip = made.skip,
                                       .queued = made.queued,
                                       .at_ms = turn->jobs->at_ms };
    if (!made.skip) out->job = turn->jobs->job.id;
    pawl__turn_end(turn);
    return PAWL_OK;
}

enum pawl_err pawl__rule_schedule_control(struct pawl__set *set, struct pawl__op *op)
{
    op->schedule_control.changed = false;
    if (!set->turn) return refuse_unknown(op);
    switch (op->schedule_control.control) {
    case PAWL__SCHEDULE_PAUSE:
        return rule_pause(set->turn, op);
    case PAWL__SCHEDULE_RESUME:
        return rule_resume(set->turn, op);
    default:
        return rule_run(set->turn, op);
    }
}

/* ---- drop ---- */

static bool is_declared(const struct pawl__schedule *row, const struct pawl__op *op)
{
    if (!op->schedule_drop.group) return false;
    return !same_text(row->group, op->schedule_drop.group) ||
           row->declared_at_ms >= op->schedule_drop.declared_before_ms;
}

enum pawl_err pawl__rule_schedule_drop(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__turn *turn = set->turn;
    if (!turn) return refuse_unknown(op);
    int64_t version = op->schedule_drop.version;
    bool stale = (version && version != row_of(turn)->version) || is_declared(row_of(turn), op);
    if (stale) return refuse_version(op, row_of(turn));
    for (size_t i = 0; i < turn->queued.count; i++) {
        struct pawl__row *row = pawl__set_find(set, turn->queued.at[i]);
        if (row && row->found == PAWL__FOUND_LIVE) pawl__child_release(set, row);
    }
    pawl__set_put(set, PAWL__TABLE_FIRING_CUT,
                  &(struct pawl__firing_cut){ .schedule = name_of(op), .number = INT64_MAX });
    turn->schedule->there = turn->plan->there = false;
    turn->schedule->changed = turn->plan->changed = true;
    set->changes++;
    return PAWL_OK;
}
