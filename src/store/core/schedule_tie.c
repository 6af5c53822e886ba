/* What follows from the end of a job that others of its schedule wait for: the first of those is
 * released. See schedule.h. */
#include "store/core/schedule.h"
#include "store/core/settle.h"

#include <string.h>

enum { NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

static bool concerns(enum pawl_state from, enum pawl_state to)
{
    (void)from;
    return pawl_state_is_terminal(to);
}

static struct pawl__record *member_of(struct pawl__set *set, struct pawl_job_id id)
{
    return pawl__set_want_record(set, PAWL__RECORD_SCHEDULE_MEMBER,
                                 &(struct pawl__schedule_member){ .id = id });
}

/* NULL: it was not read yet, or there is none. */
static struct pawl__record *schedule_of(struct pawl__set *set, const struct pawl__record *member)
{
    if (!member || !member->of->read || !member->there) return NULL;
    struct pawl__record *record = pawl__set_want_record(
        set, PAWL__RECORD_SCHEDULE,
        &(struct pawl__schedule){ .name = member->row.schedule_member.schedule });
    return record && record->of->read && record->there ? record : NULL;
}

static struct pawl_job_id id_at(struct pawl_span ids, size_t at)
{
    struct pawl_job_id id;
    memcpy(&id, ids.at + at * sizeof id, sizeof id);
    return id;
}

/* Jobs that may have ended without being followed up, as one that was never tied, are asked about
 * too. */
static void want_all(struct pawl__set *set, struct pawl_span ids)
{
    for (size_t i = 0; i < ids.len / sizeof(struct pawl_job_id); i++) {
        pawl__set_want(set, id_at(ids, i), NEED);
    }
}

static void want_schedule(struct pawl__set *set, const struct pawl__unsettled *about)
{
    const struct pawl__record *schedule = schedule_of(set, member_of(set, about->id));
    if (!schedule || !schedule->row.schedule.queued.len) return;
    want_all(set, schedule->row.schedule.children);
    pawl__set_want(set, id_at(schedule->row.schedule.queued, 0), NEED);
}

static void drop_member(struct pawl__set *set, struct pawl__record *member)
{
    member->there = false;
    member->changed = true;
    set->changes++;
}

static void drop_id(struct pawl__id_list *ids, struct pawl_job_id id)
{
    size_t at = pawl__id_list_find(ids, id);
    if (at < ids->count) pawl__id_list_drop(ids, at);
}

static bool is_held(const struct pawl__set *set, struct pawl_job_id id)
{
    const struct pawl__row *row = pawl__set_find(set, id);
    return row && row->found == PAWL__FOUND_HELD;
}

/* The first that is held and lives, when all before it have ended. False: not now, since another
 * transaction has it, or has one of those. */
static bool release_next(struct pawl__set *set, struct pawl__id_list *children,
                         struct pawl__id_list *queued)
{
    for (size_t i = children->count; i-- > 0;) {
        if (is_held(set, children->at[i])) return false;
        if (!pawl__child_lives(set, children->at[i])) pawl__id_list_drop(children, i);
    }
    while (!children->count && queued->count) {
        struct pawl_job_id id = queued->at[0];
        struct pawl__row *row = pawl__set_want(set, id, NEED);
        if (!row || row->found == PAWL__FOUND_UNREAD) return true; // it is called again
        if (row->found == PAWL__FOUND_HELD) return false;
        pawl__id_list_drop(queued, 0);
        if (!pawl__child_lives(set, id)) continue;
        pawl__id_list_add(set, children, id);
        pawl__child_release(set, row);
    }
    return true;
}

static bool follow_schedule(struct pawl__set *set, const struct pawl__unsettled *about)
{
    struct pawl__record *member = member_of(set, about->id);
    struct pawl__record *record = schedule_of(set, member);
    want_schedule(set, about);
    if (set->failed || pawl__set_lacks(set)) return true;
    if (!member->there) return true; // it was followed up, or revived after that
    const struct pawl__row *ended = pawl__set_find(set, about->id);
    bool lives = ended && ended->found == PAWL__FOUND_LIVE && !pawl_state_is_terminal(ended->state);
    if (lives) return true; // by now; its next end is followed up
    if (!record) {          // the schedule was removed
        drop_member(set, member);
        return true;
    }
    struct pawl__schedule *row = &record->row.schedule;
    struct pawl__id_list children = pawl__id_list_read(set, row->children);
    struct pawl__id_list queued = pawl__id_list_read(set, row->queued);
    drop_id(&children, about->id);
    drop_id(&queued, about->id);
    bool done = release_next(set, &children, &queued);
    if (!done || pawl__set_lacks(set)) return done;
    row->children = pawl__id_list_span(&children);
    row->queued = pawl__id_list_span(&queued);
    record->changed = true;
    drop_member(set, member);
    return true;
}

const struct pawl__tie pawl__tie_SCHEDULE = { .concerns = concerns,
                                              .want = want_schedule,
                                              .follow = follow_schedule };
