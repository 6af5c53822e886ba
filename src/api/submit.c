/* Submitting: every spec is checked before the first one is sent, so that a batch is refused as a
 * whole and without a round trip. */
#include "api/api.h"
#include "api/check.h"
#include "api/submit.h"
#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Schedules a sweep for the first deadline of these jobs. */
static void expect_deadline(struct pawl *pawl, const struct pawl__op *op)
{
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl_job_spec *spec = op->submit.jobs[i].spec;
        int64_t at_ms = spec->sla_soft_at_ms ? spec->sla_soft_at_ms : spec->sla_hard_at_ms;
        if (at_ms && at_ms < first_ms) first_ms = at_ms;
    }
    if (first_ms < INT64_MAX) pawl__engine_expect_deadline(pawl->engine, first_ms, op->now_ms);
}

/* Schedules a sweep for the first of these jobs that expires. */
static void expect_expiry(struct pawl *pawl, const struct pawl__op *op)
{
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl_job_spec *spec = op->submit.jobs[i].spec;
        int64_t due_ms = spec->due_at_ms > op->now_ms ? spec->due_at_ms : op->now_ms;
        int64_t at_ms = spec->expires_at_ms ? spec->expires_at_ms
                                            : due_ms + spec->delay_ms + spec->expires_in_ms;
        bool expires = spec->expires_at_ms || spec->expires_in_ms;
        if (expires && at_ms < first_ms) first_ms = at_ms;
    }
    if (first_ms < INT64_MAX) pawl__engine_expect_expiry(pawl->engine, first_ms, op->now_ms);
}

/* An id given in a spec, and the index of that spec. */
struct given_id {
    struct pawl_job_id id;
    size_t at;
};

static int compare_given(const void *a, const void *b)
{
    const struct given_id *x = a, *y = b;
    int way = memcmp(&x->id, &y->id, sizeof x->id);
    return way ? way : (x->at > y->at) - (x->at < y->at);
}

/* Finds ids that are given twice. The store would report that the job exists, although that job is
 * rolled back together with this one. */
static enum pawl_err check_repeats(const struct pawl_job_spec *specs, size_t count,
                                   struct pawl__arena *arena, size_t *bad, struct pawl_diag *diag)
{
    size_t given = 0, first = count, other = count;
    struct given_id *ids = pawl__arena_alloc(arena, count * sizeof *ids);
    if (!ids) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        if (specs[i].id) ids[given++] = (struct given_id){ *specs[i].id, i };
    }
    qsort(ids, given, sizeof *ids, compare_given);
    for (size_t i = 1; i < given; i++) {
        if (memcmp(&ids[i].id, &ids[i - 1].id, sizeof ids->id) != 0 || ids[i].at >= first) continue;
        first = ids[i].at;
        other = ids[i - 1].at;
    }
    if (first == count) return PAWL_OK;
    *bad = first;
    return pawl__fail_field(diag, PAWL_ERR_EXISTS, "id",
                            "job [%zu] of the same batch has the same id", other);
}

enum pawl_err pawl__batch_take(struct pawl *pawl, const struct pawl_job_spec *given, size_t count,
                               struct pawl__intake *intake, struct pawl__batch *out,
                               struct pawl_diag *diag)
{
    out->bad = count;
    struct pawl_job_spec *specs = pawl__arena_calloc(&intake->kept, count, sizeof *specs);
    struct pawl__new_job *jobs = pawl__arena_calloc(&intake->kept, count, sizeof *jobs);
    struct pawl_job_id *ids = pawl__arena_calloc(&intake->kept, count, sizeof *ids);
    if (!specs || !jobs || !ids) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_spec spec = given[i]; // hooks may change it
        enum pawl_err refused = pawl__engine_before_submit(pawl->engine, &spec, diag);
        if (!refused) refused = pawl__intake_take(intake, &spec, &specs[i], &jobs[i], diag);
        if (refused) {
            if (refused != PAWL_ERR_NOMEM) out->bad = i;
            return refused;
        }
    }
    enum pawl_err err = check_repeats(specs, count, &intake->kept, &out->bad, diag);
    if (err) return err;
    for (size_t i = 0; i < count; i++) {
        if (specs[i].id) ids[i] = *specs[i].id;
    }
    pawl__idgen_follow(&pawl->ids, ids, count); // in order, so that the batch keeps its order
    for (size_t i = 0; i < count; i++) {
        jobs[i].id = specs[i].id ? *specs[i].id : ids[i];
        jobs[i].fresh_id = !specs[i].id;
        jobs[i].arrival = ids[i];
        jobs[i].ties |= out->ties;
    }
    out->jobs = jobs;
    return PAWL_OK;
}

void pawl__batch_answered(struct pawl *pawl, const struct pawl__op *op, struct pawl__batch *batch)
{
    if (!op->err) {
        pawl__engine_after_submit(pawl->engine, op->submit.out, op->submit.count);
        expect_expiry(pawl, op);
        expect_deadline(pawl, op);
    }
    bool clash = op->err == PAWL_ERR_DUPLICATE || op->err == PAWL_ERR_EXISTS;
    batch->bad = clash ? op->submit.failed_index : op->submit.count;
}

/* `*bad` is the index of the spec that failed, or `count` if the error concerns none in particular.
 */
static enum pawl_err submit(struct pawl *pawl, const struct pawl_job_spec *specs, size_t count,
                            struct pawl_submitted *out, size_t *bad, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl__batch batch = { .jobs = NULL };
    enum pawl_err err = pawl__batch_take(pawl, specs, count, &intake, &batch, diag);
    if (!err) {
        struct pawl__op op = {
            .kind = PAWL__OP_SUBMIT,
            .submit = { .jobs = batch.jobs, .count = count, .out = out, .failed_index = count },
        };
        err = pawl__desk_do(pawl, &op, diag);
        pawl__batch_answered(pawl, &op, &batch);
    }
    *bad = batch.bad;
    pawl__intake_release(&intake);
    return err;
}

enum pawl_err pawl__check_batch(size_t count, struct pawl_diag *diag)
{
    if (!count) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "count", "there is no job to submit");
    }
    if (count > PAWL_BATCH_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "count",
                                "%zu jobs exceed the limit of %d jobs in a batch", count,
                                PAWL_BATCH_MAX);
    }
    return PAWL_OK;
}

enum pawl_err pawl_submit(struct pawl *pawl, const struct pawl_job_spec *spec,
                          struct pawl_submitted *out, struct pawl_diag *diag)
{
    assert(pawl && spec && out);
    size_t bad;
    return submit(pawl, spec, 1, out, &bad, diag);
}

enum pawl_err pawl_submit_many(struct pawl *pawl, const struct pawl_job_spec *specs, size_t count,
                               struct pawl_submitted *out, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_batch(count, diag);
    if (err) return err;
    assert(specs && out);
    size_t bad;
    err = submit(pawl, specs, count, out, &bad, diag);
    if (err && bad < count) pawl__diag_within(diag, bad);
    return err;
}
