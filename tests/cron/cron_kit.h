/* Schedules on a store of its rig, through the public functions; the test moves the clock, which
 * begins at 2026-01-05T00:00:00Z, a Monday. */
#ifndef TESTS_CRON_KIT_H
#define TESTS_CRON_KIT_H

#include "support/ops.h"

#include <string.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define MONDAY_MS INT64_C(1767571200000)

struct desk {
    struct rig *rig;
    struct pawl *pawl;
};

static inline int64_t desk_now(const struct desk *desk)
{
    return rig_now(desk->rig);
}

static inline void desk_go(struct desk *desk, int64_t at_ms)
{
    rig_advance(desk->rig, at_ms - desk_now(desk));
}

static inline struct desk desk_open(struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock, .seed = 7 };
    struct desk desk = { .rig = rig };
    assert_ok(rig, pawl_open(&config, &desk.pawl, &rig->diag));
    desk_go(&desk, MONDAY_MS);
    return desk;
}

static inline void desk_close(struct desk *desk)
{
    pawl_close(desk->pawl);
}

static inline struct pawl_schedule_spec hourly(const char *name)
{
    return (struct pawl_schedule_spec){ .name = name,
                                        .recurrence.expression = "@hourly",
                                        .job = { .type = "work" } };
}

static inline struct pawl_schedule_put put(struct desk *desk, const struct pawl_schedule_spec *spec)
{
    struct pawl_schedule_put out = { .put = PAWL_PUT_NONE };
    assert_ok(desk->rig, pawl_schedule_put(desk->pawl, spec, NULL, &out, &desk->rig->diag));
    return out;
}

static inline int64_t fire(struct desk *desk)
{
    int64_t fired = 0;
    for (bool more = true; more;) {
        struct pawl_upkeep upkeep = { .more = false };
        assert_ok(desk->rig, pawl_upkeep_turn(desk->pawl, NULL, &upkeep, &desk->rig->diag));
        fired += upkeep.fired;
        more = upkeep.more;
    }
    return fired;
}

static inline int64_t fire_at(struct desk *desk, int64_t at_ms)
{
    desk_go(desk, at_ms);
    return fire(desk);
}

/* Its texts are gone by then. */
static inline struct pawl_schedule look(struct desk *desk, const char *name)
{
    struct pawl_schedules found = { 0 };
    assert_ok(desk->rig, pawl_schedule_get(desk->pawl, name, &found, &desk->rig->diag));
    assert_int_equal(1, found.count);
    struct pawl_schedule schedule = *found.at;
    schedule.reason = rig_text(desk->rig, "%s", schedule.reason);
    schedule.group = rig_text(desk->rig, "%s", schedule.group);
    memset(&schedule.spec, 0, sizeof schedule.spec);
    pawl_schedules_release(&found);
    return schedule;
}

/* The history, oldest first, as text: "created fired@60000 overlap_skip@120000x1"; instants count
 * from Monday. */
static inline const char *history(struct desk *desk, const char *name)
{
    struct pawl_firings found = { 0 };
    const char *text = "";
    assert_ok(desk->rig,
              pawl_schedule_history(desk->pawl, name, 0, 1000, &found, &desk->rig->diag));
    for (size_t i = found.count; i-- > 0;) {
        const struct pawl_firing *at = &found.at[i];
        long long first = (long long)(at->first_at_ms - MONDAY_MS) / 1000;
        const char *gap = i + 1 < found.count ? " " : "";
        if (at->kind == PAWL_FIRING_CHANGED) {
            text = rig_text(desk->rig, "%s%s%s", text, gap, at->reason);
        } else if (at->kind == PAWL_FIRING_SKIPPED) {
            text = rig_text(desk->rig, "%s%s%s@%lldx%lld", text, gap, at->reason, first,
                            (long long)at->count);
        } else {
            text = rig_text(desk->rig, "%s%s%s@%lld%s", text, gap, pawl_firing_kind_text(at->kind),
                            first, at->queued ? "(queued)" : "");
        }
    }
    pawl_firings_release(&found);
    return text;
}
#define assert_history(expected, desk, name) assert_text(expected, history(desk, name))

static inline int64_t count_in(struct desk *desk, enum pawl_state state)
{
    int64_t count = -1;
    const struct pawl_filter filter = { .states = PAWL_STATE_BIT(state) };
    assert_ok(desk->rig, pawl_count(desk->pawl, &filter, &count, &desk->rig->diag));
    return count;
}

/* All jobs, oldest first: "cron_triggered_at" as seconds from Monday, and the state. */
static inline const char *jobs(struct desk *desk)
{
    struct pawl_jobs found = { 0 };
    const struct pawl_page page = { .limit = 1000, .oldest_first = true };
    const char *text = "";
    assert_ok(desk->rig,
              pawl_query(desk->pawl, &(struct pawl_filter){ 0 }, &page, &found, &desk->rig->diag));
    for (size_t i = 0; i < found.count; i++) {
        const struct pawl_job *job = &found.at[i];
        text = rig_text(desk->rig, "%s%s%lld:%s", text, i ? " " : "",
                        (long long)(job->due_at_ms - MONDAY_MS) / 1000,
                        pawl_state_name(job->state, PAWL_VOCABULARY_PAWL));
    }
    pawl_jobs_release(&found);
    return text;
}
#define assert_jobs(expected, desk) assert_text(expected, jobs(desk))

static inline struct pawl_run claim_next(struct desk *desk)
{
    static const char *const queues[] = { "default" };
    const struct pawl_claim claim = {
        .queues = queues, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = DAY_MS
    };
    struct pawl_jobs found = { 0 };
    assert_ok(desk->rig, pawl_claim(desk->pawl, &claim, &found, &desk->rig->diag));
    if (found.count != 1) fail_msg("no job is available: %s", jobs(desk));
    struct pawl_run run = { found.at[0].id, found.at[0].run };
    pawl_jobs_release(&found);
    return run;
}

static inline void complete_run(struct desk *desk, struct pawl_run run)
{
    assert_ok(desk->rig,
              pawl_complete(desk->pawl, &run, (struct pawl_span){ 0 }, &desk->rig->diag));
}

static inline void complete_next(struct desk *desk)
{
    complete_run(desk, claim_next(desk));
}

#endif
