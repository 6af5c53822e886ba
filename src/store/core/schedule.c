/* Turns of schedules: see schedule.h. */
#include "store/core/schedule.h"

#include "store/core/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PARSED_MAX = 128, PARSED_BYTES = 64 }; /* expressions, and bytes of one */

static struct pawl__schedule *row_of(const struct pawl__turn *turn)
{
    return &turn->schedule->row.schedule;
}

static const struct pawl__schedule_plan *plan_of(const struct pawl__turn *turn)
{
    return &turn->plan->row.schedule_plan;
}

/* ---- the timetable ---- */

static bool read_instants(struct pawl__turn *turn, struct pawl_span bytes)
{
    size_t count = bytes.len / 8;
    int64_t *instants = pawl__arena_alloc(&turn->set->arena, (count + 1) * sizeof *instants);
    if (!instants) {
        turn->set->failed = true;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (size_t k = 0; k < 8; k++) {
            value = value << 8 | (uint8_t)bytes.at[i * 8 + k];
        }
        instants[i] = (int64_t)value;
    }
    turn->table.instants = instants;
    turn->table.instant_count = count;
    return true;
}

/* The reference is dropped at once: the zones keep the zone until they are refreshed, which no turn
 * outlives. */
static bool find_zone(struct pawl__turn *turn, const char *name)
{
    struct pawl__set *set = turn->set;
    if (!name || !*name || strcmp(name, "UTC") == 0) {
        turn->table.zone = pawl__zone_utc();
        return true;
    }
    if (!set->zones) set->zones = pawl__zones_new(NULL);
    if (!set->zones) set->failed = true;
    const struct pawl__zone *zone;
    if (!set->zones || pawl__zones_get(set->zones, name, &zone, NULL)) return false;
    pawl__zone_unref(zone);
    turn->table.zone = zone;
    return true;
}

/* Expressions that were parsed, each in the place that its text says: schedules have few different
 * ones. What an expression means depends on nothing else, so it is never out of date. */
struct pawl__parsed {
    struct {
        char text[PARSED_BYTES]; /* "": nothing is here */
        int32_t dialect;
        struct pawl__cron cron;
    } at[PARSED_MAX];
};

static size_t place_of(const struct pawl__schedule_plan *plan, size_t len)
{
    uint32_t hash = 2166136261U ^ (uint32_t)plan->dialect; // FNV-1a
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (uint8_t)plan->expression[i]) * 16777619U;
    }
    return (hash ^ hash >> 16) % PARSED_MAX;
}

/* Without memory for those, or if it is long, it is parsed anew. */
static bool parse(struct pawl__set *set, const struct pawl__schedule_plan *plan,
                  struct pawl__cron *out)
{
    size_t len = strlen(plan->expression);
    if (!set->parsed) set->parsed = calloc(1, sizeof *set->parsed);
    bool keeps = set->parsed && len < PARSED_BYTES;
    size_t at = keeps ? place_of(plan, len) : 0;
    bool known = keeps && set->parsed->at[at].dialect == plan->dialect &&
                 memcmp(set->parsed->at[at].text, plan->expression, len + 1) == 0;
    if (known) {
        *out = set->parsed->at[at].cron;
        return true;
    }
    if (pawl__cron_parse(plan->expression, (enum pawl_dialect)plan->dialect, out, NULL, NULL)) {
        return false;
    }
    if (!keeps) return true;
    memcpy(set->parsed->at[at].text, plan->expression, len + 1);
    set->parsed->at[at].dialect = plan->dialect;
    set->parsed->at[at].cron = *out;
    return true;
}

bool pawl__turn_read_table(struct pawl__turn *turn)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    turn->table = (struct pawl__timetable){ .gap = (enum pawl_gap)plan->gap,
                                            .anchor_at_ms = plan->anchor_at_ms,
                                            .start_at_ms = plan->start_at_ms,
                                            .end_at_ms = plan->end_at_ms };
    turn->no_zone = false;
    if (!plan->expression || !*plan->expression) return read_instants(turn, plan->instants);
    bool parsed = parse(turn->set, plan, &turn->table.cron);
    turn->no_zone = !parsed || !find_zone(turn, plan->zone);
    return !turn->no_zone;
}

struct pawl__turn *pawl__turn_new(struct pawl__set *set, struct pawl__record *schedule,
                                  struct pawl__record *plan)
{
    struct pawl__turn *turn = pawl__arena_calloc(&set->arena, 1, sizeof *turn);
    if (!turn) {
        set->failed = true;
        return NULL;
    }
    turn->set = set;
    turn->schedule = schedule;
    turn->plan = plan;
    turn->children = pawl__id_list_read(set, schedule->row.schedule.children);
    turn->queued = pawl__id_list_read(set, schedule->row.schedule.queued);
    (void)pawl__turn_read_table(turn);
    return turn;
}

/* ---- history ---- */

void pawl__turn_enter(struct pawl__turn *turn, struct pawl__firing entry)
{
    struct pawl__schedule *row = row_of(turn);
    entry.schedule = row->name;
    entry.number = ++row->entries;
    entry.at_ms = turn->set->now_ms;
    pawl__set_put(turn->set, PAWL__TABLE_FIRING, &entry);
    bool cut = row->entries > PAWL_FIRINGS_KEPT && row->entries % PAWL__FIRINGS_CUT == 0;
    if (!cut) return;
    pawl__set_put(turn->set, PAWL__TABLE_FIRING_CUT,
                  &(struct pawl__firing_cut){ .schedule = row->name,
                                              .number = row->entries - PAWL_FIRINGS_KEPT });
}

void pawl__turn_enter_change(struct pawl__turn *turn, const char *reason, const char *detail,
                             const char *actor)
{
    pawl__turn_enter(turn, (struct pawl__firing){ .kind = PAWL_FIRING_CHANGED,
                                                  .reason = reason,
                                                  .detail = detail,
                                                  .actor = actor });
}

static void enter_passed(struct pawl__turn *turn, enum pawl_skip skip, struct pawl__passed passed)
{
    if (!passed.count) return;
    row_of(turn)->skips += passed.count;
    pawl__turn_enter(turn, (struct pawl__firing){ .kind = PAWL_FIRING_SKIPPED,
                                                  .skip = (int32_t)skip,
                                                  .first_at_ms = passed.first_at_ms,
                                                  .last_at_ms = passed.last_at_ms,
                                                  .count = passed.count });
}

/* What clocks have jumped over since the last settled instant. */
static void enter_losses(struct pawl__turn *turn, int64_t until_ms)
{
    struct pawl__lost lost;
    int64_t after_ms = row_of(turn)->settled_at_ms;
    if (turn->no_zone || turn->table.instants || turn->table.cron.every_ms) return;
    for (int i = 0; i < PAWL__LOSSES_MAX; i++) {
        if (!pawl__timetable_lost(&turn->table, after_ms, until_ms, &lost)) return;
        enter_passed(turn, PAWL_SKIP_DST,
                     (struct pawl__passed){ lost.gap_at_ms, lost.gap_at_ms, lost.count });
        after_ms = lost.gap_at_ms;
    }
}

/* ---- where it stands ---- */

static void stop(struct pawl__turn *turn, enum pawl_schedule_state state, const char *reason)
{
    struct pawl__schedule *row = row_of(turn);
    row->state = (int32_t)state;
    row->reason = reason;
    row->next_at_ms = row->look_at_ms = 0;
}

static bool is_spent(const struct pawl__turn *turn)
{
    return plan_of(turn)->max_runs && row_of(turn)->runs >= plan_of(turn)->max_runs;
}

static void set_next(struct pawl__turn *turn, int64_t next_ms)
{
    struct pawl__schedule *row = row_of(turn);
    bool none = next_ms == PAWL__NEVER;
    if (none || is_spent(turn)) {
        stop(turn, PAWL_SCHEDULE_EXHAUSTED, none ? "past" : "max_runs");
        pawl__turn_enter_change(turn, "exhausted", row->reason, NULL);
        return;
    }
    row->state = PAWL_SCHEDULE_ACTIVE;
    row->reason = NULL;
    row->next_at_ms = row->look_at_ms = next_ms;
}

static void settle_until(struct pawl__turn *turn, int64_t at_ms)
{
    struct pawl__schedule *row = row_of(turn);
    if (at_ms > row->settled_at_ms) row->settled_at_ms = at_ms;
}

void pawl__turn_renew(struct pawl__turn *turn)
{
    if (turn->no_zone) {
        pawl__turn_hold(turn);
        row_of(turn)->next_at_ms = 0;
        return;
    }
    set_next(turn, pawl__timetable_next(&turn->table, turn->set->now_ms));
}

void pawl__turn_hold(struct pawl__turn *turn)
{
    struct pawl__schedule *row = row_of(turn);
    if (row->state != PAWL_SCHEDULE_HELD) {
        pawl__turn_enter_change(turn, "held", "zone_missing", NULL);
    }
    row->state = PAWL_SCHEDULE_HELD;
    row->reason = "zone_missing";
    row->look_at_ms = turn->set->now_ms + PAWL__HELD_LOOK_MS;
}

void pawl__turn_skip_paused(struct pawl__turn *turn)
{
    int64_t now_ms = turn->set->now_ms, from_ms = row_of(turn)->settled_at_ms + 1;
    if (turn->no_zone || from_ms > now_ms) return;
    enter_passed(turn, PAWL_SKIP_DISABLED, pawl__timetable_passed(&turn->table, from_ms, now_ms));
    settle_until(turn, now_ms);
}

void pawl__turn_end(struct pawl__turn *turn)
{
    struct pawl__schedule *row = row_of(turn);
    row->children = pawl__id_list_span(&turn->children);
    row->queued = pawl__id_list_span(&turn->queued);
    turn->schedule->changed = true;
    turn->set->changes++;
    if (row->look_at_ms) pawl__notices_fire(&turn->set->notices, row->look_at_ms);
}

/* ---- instants ---- */

static int32_t fires_max(const struct pawl__schedule_plan *plan)
{
    switch (plan->misfire) {
    case PAWL_MISFIRE_SKIP:
        return 0;
    case PAWL_MISFIRE_CATCH_UP:
        return plan->catch_up;
    default:
        return 1;
    }
}

/* When the job of an instant is due. */
static int64_t due_of(const struct pawl__turn *turn, int64_t at_ms)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    if (!plan->jitter_ms) return at_ms;
    int64_t next_ms = pawl__timetable_next(&turn->table, at_ms);
    return at_ms + pawl__jitter_ms(plan->name, at_ms, plan->jitter_ms, next_ms);
}

/* Of those that fire, no more than runs are left. */
static size_t runs_left(const struct pawl__turn *turn, size_t count)
{
    int64_t max = plan_of(turn)->max_runs, runs = row_of(turn)->runs;
    if (!max || (int64_t)count <= max - runs) return count;
    return max > runs ? (size_t)(max - runs) : 0;
}

void pawl__turn_want_due(struct pawl__turn *turn, int64_t due_ms)
{
    const struct pawl__schedule_plan *plan = plan_of(turn);
    struct pawl__set *set = turn->set;
    struct pawl__late_rule rule = { .due_at_ms = due_ms,
                                    .now_ms = set->now_ms,
                                    .late_max_ms = plan->late_max_ms,
                                    .fires_max = fires_max(plan) };
    size_t cap = (size_t)(rule.fires_max > 0 ? rule.fires_max : 1);
    int64_t *fires = pawl__arena_alloc(&set->arena, cap * sizeof *fires);
    if (!fires) {
        set->failed = true;
        return;
    }
    pawl__timetable_late(&turn->table, &rule, fires, &turn->late);
    turn->fires = true;
    turn->job_count = (size_t)turn->late.fire_count;
    // with an overlap policy that passes instants over, more may be looked at than runs are left
    if (plan->overlap == PAWL_OVERLAP_ALLOW) turn->job_count = runs_left(turn, turn->job_count);
    turn->jobs = pawl__arena_calloc(&set->arena, turn->job_count + 1, sizeof *turn->jobs);
    if (!turn->jobs) {
        set->failed = true;
        return;
    }
    for (size_t i = 0; i < turn->job_count; i++) {
        pawl__child_make(turn, &turn->jobs[i], fires[i], due_of(turn, fires[i]));
        pawl__child_want(turn, &turn->jobs[i]);
    }
    if (turn->job_count) pawl__children_want(turn);
}

static void enter_fired(struct pawl__turn *turn, const struct pawl__child *child,
                        const struct pawl__made *made)
{
    struct pawl__schedule *row = row_of(turn);
    row->runs++;
    row->last_at_ms = child->at_ms;
    row->last_local_s = pawl__timetable_local_s(&turn->table, child->at_ms);
    row->last_job = child->job.id;
    pawl__turn_enter(turn, (struct pawl__firing){ .kind = PAWL_FIRING_FIRED,
                                                  .first_at_ms = child->at_ms,
                                                  .due_at_ms = child->due_ms,
                                                  .job = child->job.id,
                                                  .queued = made->queued,
                                                  .cancelled = made->cancelled });
}

static void enter_skipped(struct pawl__turn *turn, int64_t at_ms, const struct pawl__made *made)
{
    row_of(turn)->skips++;
    pawl__turn_enter(turn, (struct pawl__firing){ .kind = PAWL_FIRING_SKIPPED,
                                                  .skip = (int32_t)made->skip,
                                                  .first_at_ms = at_ms,
                                                  .last_at_ms = at_ms,
                                                  .count = 1,
                                                  .detail = made->detail });
}

/* Instants that make jobs only grow: after a clock was set back none makes a second one. */
static enum pawl_err fire_one(struct pawl__turn *turn, struct pawl__child *child)
{
    struct pawl__made made;
    if (child->at_ms <= row_of(turn)->last_at_ms) return PAWL_OK;
    enum pawl_err err = pawl__child_submit(turn, child, false, &made);
    if (err) return err;
    if (made.skip) {
        enter_skipped(turn, child->at_ms, &made);
    } else {
        enter_fired(turn, child, &made);
    }
    return PAWL_OK;
}

/* The others; all of them may be so late that they would not have fired at all. */
static void enter_misfires(struct pawl__turn *turn)
{
    int64_t most_ms = plan_of(turn)->late_max_ms;
    struct pawl__passed passed = turn->late.passed;
    bool late = most_ms && passed.last_at_ms + most_ms < turn->set->now_ms;
    enter_passed(turn, late ? PAWL_SKIP_LATE : PAWL_SKIP_MISFIRE, passed);
}

enum pawl_err pawl__turn_fire(struct pawl__turn *turn)
{
    enum pawl_err err = PAWL_OK;
    assert(turn->fires);
    enter_losses(turn, turn->set->now_ms);
    for (size_t i = 0; !err && i < turn->job_count && !is_spent(turn); i++) {
        err = fire_one(turn, &turn->jobs[i]);
    }
    if (err) return err;
    if (!is_spent(turn)) enter_misfires(turn);
    settle_until(turn, turn->set->now_ms);
    set_next(turn, turn->late.next_at_ms);
    return PAWL_OK;
}

/* ---- the sweep ---- */

static enum pawl_err load_plans(struct pawl__set *set)
{
    size_t count = set->records.count;
    for (size_t i = 0; i < count; i++) {
        const struct pawl__record *record = set->records.at[i]->first;
        (void)pawl__set_want_record(
            set, PAWL__RECORD_SCHEDULE_PLAN,
            &(struct pawl__schedule_plan){ .name = record->row.schedule.name });
    }
    return pawl__set_load(set, false);
}

/* A schedule that is held is looked at even if no instant is over. */
static struct pawl__turn *begin(struct pawl__set *set, struct pawl__record *schedule)
{
    struct pawl__record *plan =
        pawl__set_want_record(set, PAWL__RECORD_SCHEDULE_PLAN,
                              &(struct pawl__schedule_plan){ .name = schedule->row.schedule.name });
    if (!plan || !plan->there) return NULL;
    struct pawl__turn *turn = pawl__turn_new(set, schedule, plan);
    if (!turn) return NULL;
    turn->quick = true;
    if (turn->no_zone) return turn;
    struct pawl__schedule *row = row_of(turn);
    if (row->state == PAWL_SCHEDULE_HELD) {
        pawl__turn_enter_change(turn, "released", NULL, NULL);
        int64_t next_ms = row->next_at_ms;
        if (!next_ms) next_ms = pawl__timetable_next(&turn->table, row->settled_at_ms);
        set_next(turn, next_ms);
        turn->released = true;
    }
    bool due = row->state == PAWL_SCHEDULE_ACTIVE && row->next_at_ms <= set->now_ms;
    if (due) pawl__turn_want_due(turn, row->next_at_ms);
    return turn;
}

/* Does another transaction have a key of a job that is to be made? It is not waited for. */
static bool is_key_held(const struct pawl__turn *turn)
{
    for (size_t i = 0; i < turn->job_count; i++) {
        const struct pawl__new_job *job = &turn->jobs[i].job;
        for (size_t k = 0; k < job->key_count; k++) {
            const struct pawl__set_key *key = pawl__set_want_key(turn->set, job->keys[k].digest);
            if (key && pawl__key_is_held(turn->set, key)) return true;
        }
    }
    return false;
}

static bool has_held(const struct pawl__turn *turn, const struct pawl__id_list *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        const struct pawl__row *row = pawl__set_find(turn->set, ids->at[i]);
        if (row && row->found == PAWL__FOUND_HELD) return true;
    }
    return false;
}

/* Must it wait, because another transaction has such a key, or a job that is to be cancelled, or to
 * tell of its end to those that are queued behind it? */
static bool is_put_off(const struct pawl__turn *turn)
{
    if (is_key_held(turn)) return true;
    enum pawl_overlap overlap = (enum pawl_overlap)plan_of(turn)->overlap;
    bool touches = overlap == PAWL_OVERLAP_CANCEL_PREVIOUS || overlap == PAWL_OVERLAP_QUEUE;
    return turn->fires && touches &&
           (has_held(turn, &turn->children) || has_held(turn, &turn->queued));
}

/* `*ended`: it is not looked at again at once. */
static enum pawl_err carry_out(struct pawl__turn *turn, bool *ended)
{
    enum pawl_err err = PAWL_OK;
    if (is_put_off(turn)) {
        if (turn->released) pawl__turn_end(turn);
        return PAWL_OK;
    }
    if (turn->no_zone) pawl__turn_hold(turn);
    if (turn->fires) err = pawl__turn_fire(turn);
    pawl__turn_end(turn);
    *ended = true;
    return err;
}

/* Bounded by the jobs that are made as well: schedules behind those are left as they are. */
enum pawl_err pawl__scan_fire(struct pawl__set *set, struct pawl__op *op)
{
    int64_t limit = op->sweep.limit < PAWL__MAINTENANCE_MAX ? op->sweep.limit
                                                            : PAWL__MAINTENANCE_MAX;
    op->sweep.moved = op->sweep.next_at_ms = 0;
    op->sweep.more = false;
    if (set->zones) (void)pawl__zones_refresh(set->zones, set->now_ms * 1000);
    enum pawl_err err = set->table->scan_schedules(set->backend, limit);
    size_t count = set->records.count, turns = 0, looked = 0;
    if (!err) err = load_plans(set);
    if (err || !count) return err;
    struct pawl__turn **all = pawl__arena_calloc(&set->arena, count, sizeof(*all));
    int64_t jobs = 0;
    if (!all) set->failed = true;
    for (size_t i = 0; all && !set->failed && i < count && jobs < limit; i++) {
        struct pawl__turn *turn = begin(set, set->records.at[i]->first);
        if (turn) all[turns++] = turn;
        if (turn) jobs += (int64_t)turn->job_count;
        looked++;
    }
    bool more = looked < count || (int64_t)count == limit;
    err = pawl__set_load(set, false);
    for (size_t i = 0; !err && i < turns; i++) {
        bool ended = false;
        err = carry_out(all[i], &ended);
        op->sweep.moved += all[i]->made;
        op->sweep.more |= more && ended; // or it would find the same ones at once
    }
    return err ? err : pawl__core_plain_write(set);
}

/* All was done by the scan. */
enum pawl_err pawl__rule_fire(struct pawl__set *set, struct pawl__op *op)
{
    (void)set, (void)op;
    return PAWL_OK;
}

enum pawl_err pawl__after_fire(struct pawl__set *set, struct pawl__op *op)
{
    return set->table->next_schedule(set->backend, &op->sweep.next_at_ms);
}
