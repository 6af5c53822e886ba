/* Submitting: every spec is checked before the first one is sent, so that a batch is refused whole
 * and without a round trip. */
#include "api/api.h"
#include "api/check.h"
#include "api/spec.h"
#include "base/diag.h"

#include <assert.h>

/* Room for a batch on its way to the store, in intake->kept. */
struct batch {
    struct pawl_job_spec *specs;
    struct pawl__new_job *jobs;
    struct pawl_job_id *ids;
};

static bool batch_init(struct batch *batch, struct pawl__intake *intake, size_t count)
{
    batch->specs = pawl__arena_calloc(&intake->kept, count, sizeof *batch->specs);
    batch->jobs = pawl__arena_calloc(&intake->kept, count, sizeof *batch->jobs);
    batch->ids = pawl__arena_calloc(&intake->kept, count, sizeof *batch->ids);
    return batch->specs && batch->jobs && batch->ids;
}

/* `*bad` is the index of the spec that failed, or `count` when none is to blame. */
static enum pawl_err submit(struct pawl *pawl, const struct pawl_job_spec *specs, size_t count,
                            struct pawl_submitted *out, size_t *bad, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct batch batch;
    *bad = count;
    enum pawl_err err = batch_init(&batch, &intake, count) ? PAWL_OK : pawl__fail_nomem(diag);
    if (err) goto out;
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_spec spec = specs[i]; // hooks may change it
        err = pawl__engine_before_submit(pawl->engine, &spec, diag);
        if (!err) {
            err = pawl__intake_take(&intake, &spec, &batch.specs[i], &batch.jobs[i], diag);
        }
        if (err) {
            if (err != PAWL_ERR_NOMEM) *bad = i;
            goto out;
        }
    }
    pawl__idgen_take(&pawl->ids, batch.ids, count); // in order, so that the batch sorts as given
    for (size_t i = 0; i < count; i++) {
        batch.jobs[i].id = batch.specs[i].id ? *batch.specs[i].id : batch.ids[i];
    }
    struct pawl__op op = {
        .kind = PAWL__OP_SUBMIT,
        .submit = { .jobs = batch.jobs, .count = count, .out = out, .failed_index = count },
    };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err) pawl__engine_after_submit(pawl->engine, out, count);
    bool clash = err == PAWL_ERR_DUPLICATE || err == PAWL_ERR_EXISTS;
    *bad = clash ? op.submit.failed_index : count;
out:
    pawl__intake_release(&intake);
    return err;
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
    if (!count) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "count", "there is no job to submit");
    }
    if (count > PAWL_BATCH_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "count",
                                "%zu jobs are more than the %d that one batch may hold", count,
                                PAWL_BATCH_MAX);
    }
    assert(specs && out);
    size_t bad;
    enum pawl_err err = submit(pawl, specs, count, out, &bad, diag);
    if (err && bad < count) pawl__diag_within(diag, bad);
    return err;
}
