/* Controls jobs: one, or those that a filter finds. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "api/filter.h"
#include "base/diag.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define X(number, name, verb, event, text) [number] = verb,
static const char *const control_names[PAWL_CONTROL_END] = { "none", PAWL_CONTROLS(X) };
#undef X

static bool is_control(enum pawl_control control)
{
    return control > PAWL_CONTROL_NONE && control < PAWL_CONTROL_END;
}

const char *pawl_control_name(enum pawl_control control)
{
    return is_control(control) ? control_names[control] : control_names[PAWL_CONTROL_NONE];
}

static enum pawl_err check_control(enum pawl_control control, struct pawl_diag *diag)
{
    if (is_control(control)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "control", "control %d is not known", (int)control);
}

static struct pawl_by by_or_none(const struct pawl_by *by)
{
    return by ? *by : (struct pawl_by){ .actor = NULL };
}

enum pawl_err pawl_control_run(struct pawl *pawl, const struct pawl_run *run,
                               enum pawl_control control, const struct pawl_by *by,
                               struct pawl_controlled *out, struct pawl_diag *diag)
{
    assert(pawl && run);
    enum pawl_err err = check_control(control, diag);
    if (!err) err = pawl__check_run(run, 0, diag);
    if (!err) err = pawl__check_by(by, diag);
    if (err) return err;
    struct pawl__op op = {
        .kind = PAWL__OP_CONTROL,
        .control = { .id = run->id, .control = control, .run = run->run, .by = by_or_none(by) },
    };
    err = pawl__desk_do(pawl, &op, diag);
    if (out && (!err || err == PAWL_ERR_STATE)) {
        *out = (struct pawl_controlled){ .from = op.control.from, .to = op.control.to };
    }
    return err;
}

enum pawl_err pawl_control(struct pawl *pawl, struct pawl_job_id id, enum pawl_control control,
                           const struct pawl_by *by, enum pawl_state *to, struct pawl_diag *diag)
{
    struct pawl_controlled moved = { .from = PAWL_STATE_NONE };
    enum pawl_err err =
        pawl_control_run(pawl, &(struct pawl_run){ .id = id }, control, by, &moved, diag);
    if (to && !err) *to = moved.to;
    if (to && err == PAWL_ERR_STATE) *to = moved.from; // its current state
    return err;
}

/* control NONE: delete. */
static enum pawl_err move_many(struct pawl *pawl, const struct pawl_filter *filter,
                               enum pawl_control control, int64_t limit, const struct pawl_by *by,
                               int64_t *moved, struct pawl_diag *diag)
{
    struct pawl__arena arena;
    struct pawl_filter full;
    // NULL would mean all jobs, which happens too easily by mistake
    if (!filter) return pawl__fail_field(diag, PAWL_ERR_ARG, "filter", "filter is missing");
    if (limit < 1 || limit > PAWL_BULK_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "limit", "limit must lie between 1 and %d",
                                PAWL_BULK_MAX);
    }
    enum pawl_err err = pawl__check_by(by, diag);
    if (err) return err;
    pawl__arena_init(&arena);
    err = pawl__filter_complete(filter, &arena, &full, diag);
    if (err) goto out;
    struct pawl__op op = {
        .kind = PAWL__OP_BULK,
        .bulk = { .filter = &full, .control = control, .limit = limit, .by = by_or_none(by) },
    };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err && moved) *moved = op.bulk.moved;
out:
    pawl__arena_release(&arena);
    return err;
}

enum pawl_err pawl_control_many(struct pawl *pawl, const struct pawl_filter *filter,
                                enum pawl_control control, int64_t limit, const struct pawl_by *by,
                                int64_t *moved, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = check_control(control, diag);
    return err ? err : move_many(pawl, filter, control, limit, by, moved, diag);
}

enum pawl_err pawl_delete_many(struct pawl *pawl, const struct pawl_filter *filter, int64_t limit,
                               const struct pawl_by *by, int64_t *deleted, struct pawl_diag *diag)
{
    assert(pawl);
    return move_many(pawl, filter, PAWL_CONTROL_NONE, limit, by, deleted, diag);
}

enum pawl_err pawl_delete(struct pawl *pawl, struct pawl_job_id id, const struct pawl_by *by,
                          struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_by(by, diag);
    if (err) return err;
    struct pawl__op op = {
        .kind = PAWL__OP_DELETE,
        .remove = { .id = id, .by = by_or_none(by) },
    };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_priority(struct pawl *pawl, struct pawl_job_id id, int32_t priority,
                            const struct pawl_by *by, int32_t *before, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_priority(priority, diag);
    if (err) return err;
    err = pawl__check_by(by, diag);
    if (err) return err;
    struct pawl__op op = {
        .kind = PAWL__OP_PRIORITY,
        .priority = { .id = id, .priority = priority, .by = by_or_none(by) },
    };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err && before) *before = op.priority.before;
    return err;
}

enum pawl_err pawl_queue_pause(struct pawl *pawl, const char *queue, bool paused,
                               const struct pawl_by *by, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_queue(queue, diag);
    if (err) return err;
    err = pawl__check_by(by, diag);
    if (err) return err;
    struct pawl__op op = {
        .kind = PAWL__OP_QUEUE_PAUSE,
        .queue = { .queue = queue, .paused = paused, .by = by_or_none(by) },
    };
    return pawl__desk_do(pawl, &op, diag);
}

/* Outside of the commit: the store keeps a queue that has jobs in the list anyway. */
static enum pawl_err check_empty(struct pawl *pawl, const char *queue, struct pawl_diag *diag)
{
    struct pawl_stats stats = { 0 };
    int64_t jobs = -1;
    enum pawl_err err = pawl_stats_get(pawl, &stats, diag);
    for (size_t i = 0; !err && i < stats.queue_count; i++) {
        if (strcmp(stats.queues[i].queue, queue) != 0) continue;
        jobs = 0;
        for (int state = 1; state < PAWL_STATE_END; state++) {
            jobs += stats.queues[i].count[state];
        }
    }
    pawl_stats_release(&stats);
    if (err || jobs == 0) return err;
    if (jobs < 0) {
        return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no queue \"%s\"",
                          pawl__quote(queue).text);
    }
    return pawl__fail(diag, PAWL_ERR_STATE, "cannot delete queue \"%s\": it has %" PRId64 " job%s",
                      pawl__quote(queue).text, jobs, jobs == 1 ? "" : "s");
}

enum pawl_err pawl_queue_delete(struct pawl *pawl, const char *queue, const struct pawl_by *by,
                                struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_queue(queue, diag);
    if (!err) err = pawl__check_by(by, diag);
    if (!err) err = check_empty(pawl, queue, diag);
    if (err) return err;
    struct pawl__op op = {
        .kind = PAWL__OP_QUEUE_PAUSE,
        .queue = { .queue = queue, .forgotten = true, .by = by_or_none(by) },
    };
    return pawl__desk_do(pawl, &op, diag);
}
