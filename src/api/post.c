/* Asynchronous calls. A call is one block of memory, which contains the answer that the caller
 * frees. */
#include "api/check.h"
#include "api/claim.h"
#include "api/submit.h"
#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>

struct call {
    struct pawl_answer answer; /* first: freeing the one frees the other */
    struct pawl *pawl;
    struct pawl__op op;
    struct pawl__intake intake;
    struct pawl__batch batch;
    pawl_answer_fn *fn;
};

static struct call *call_new(struct pawl *pawl, pawl_answer_fn *fn, void *ctx)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call) return NULL;
    call->answer.ctx = ctx;
    call->pawl = pawl;
    call->fn = fn;
    call->op.diag = &call->answer.diag;
    call->op.user = call;
    return call;
}

void pawl_answer_free(struct pawl_answer *answer)
{
    if (!answer) return;
    struct call *call = (struct call *)answer;
    pawl__arena_release(&call->op.arena);
    pawl__intake_release(&call->intake);
    free(call);
}

/* Answers use the engine, so pawl_close must know of outstanding ones. */
static void count_post(struct pawl *pawl, int64_t more)
{
    pawl__lock(&pawl->mutex);
    pawl->posted += more;
    assert(pawl->posted >= 0);
    if (!pawl->posted) pawl__cond_broadcast(&pawl->answered);
    pawl__unlock(&pawl->mutex);
}

void pawl__posts_wait(struct pawl *pawl)
{
    pawl__lock(&pawl->mutex);
    while (pawl->posted) {
        pawl__cond_wait(&pawl->answered, &pawl->mutex);
    }
    pawl__unlock(&pawl->mutex);
}

static void fill_in_submit(struct call *call)
{
    struct pawl_answer *answer = &call->answer;
    pawl__batch_answered(call->pawl, &call->op, &call->batch);
    answer->failed_index = call->batch.bad;
    if (answer->err) {
        answer->holder = call->op.submit.holder;
        bool many = call->op.submit.count > 1;
        if (many && call->batch.bad < call->op.submit.count) {
            pawl__diag_within(&answer->diag, call->batch.bad);
        }
        return;
    }
    answer->submitted = call->op.submit.out;
    answer->submitted_count = call->op.submit.count;
}

static void fill_in_taken(struct call *call)
{
    const struct pawl__op *op = &call->op;
    bool claimed = op->kind == PAWL__OP_CLAIM || op->kind == PAWL__OP_ROUTE;
    if (!claimed && op->kind != PAWL__OP_ASSIGN) return;
    struct pawl__taken taken = pawl__taken_of(op);
    pawl__claimed(call->pawl, op);
    call->answer.jobs = taken.jobs;
    call->answer.job_count = taken.count;
    call->answer.more = claimed && op->claim.more;
}

/* On the committer's thread. */
static void answered(struct pawl__op *op)
{
    struct call *call = op->user;
    struct pawl *pawl = call->pawl;
    struct pawl_answer *answer = &call->answer;
    answer->err = op->err;
    answer->now_ms = op->now_ms;
    if (op->kind == PAWL__OP_SUBMIT) fill_in_submit(call);
    if (!op->err) fill_in_taken(call);
    if (op->kind == PAWL__OP_FAIL && !op->err) answer->failed = pawl__failed_of(op);
    if (op->kind == PAWL__OP_EXTEND && !op->err) {
        answer->results = op->extend.results;
        answer->result_count = op->extend.count;
    }
    call->fn(answer);
    count_post(pawl, -1);
}

/* Posts the call, or frees it if the checks failed. */
static enum pawl_err post(struct call *call, enum pawl_err err)
{
    if (err) {
        pawl_answer_free(&call->answer);
        return err;
    }
    call->op.done = answered;
    count_post(call->pawl, 1);
    pawl__store_post(call->pawl->store, &call->op);
    return PAWL_OK;
}

enum pawl_err pawl_post_submit(struct pawl *pawl, const struct pawl_job_spec *specs, size_t count,
                               pawl_answer_fn *fn, void *ctx, struct pawl_diag *diag)
{
    assert(pawl && fn);
    enum pawl_err err = pawl__check_batch(count, diag);
    if (err) return err;
    assert(specs);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    err = pawl__batch_take(pawl, specs, count, &call->intake, &call->batch, diag);
    if (err && count > 1 && call->batch.bad < count) pawl__diag_within(diag, call->batch.bad);
    struct pawl_submitted *out = NULL;
    if (!err) {
        out = pawl__arena_calloc(&call->intake.kept, count, sizeof *out);
        if (!out) err = pawl__fail_nomem(diag);
    }
    call->op.kind = PAWL__OP_SUBMIT;
    call->op.submit.jobs = call->batch.jobs;
    call->op.submit.count = count;
    call->op.submit.out = out;
    call->op.submit.failed_index = count;
    return post(call, err);
}

enum pawl_err pawl_post_claim(struct pawl *pawl, const struct pawl_claim *claim, pawl_answer_fn *fn,
                              void *ctx, struct pawl_diag *diag)
{
    assert(pawl && claim && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    return post(call, pawl__claim_op(claim, &call->op, diag));
}

enum pawl_err pawl_post_route(struct pawl *pawl, const struct pawl_claim *claim, pawl_answer_fn *fn,
                              void *ctx, struct pawl_diag *diag)
{
    assert(pawl && claim && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    return post(call, pawl__route_op(claim, &call->op, diag));
}

enum pawl_err pawl_post_assign(struct pawl *pawl, const struct pawl_assignment *assignment,
                               pawl_answer_fn *fn, void *ctx, struct pawl_diag *diag)
{
    assert(pawl && assignment && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    return post(call, pawl__assign_op(assignment, &call->op, diag));
}

enum pawl_err pawl_post_complete(struct pawl *pawl, const struct pawl_run *run,
                                 struct pawl_span result, pawl_answer_fn *fn, void *ctx,
                                 struct pawl_diag *diag)
{
    assert(pawl && run && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    return post(call, pawl__complete_op(run, result, &call->op, diag));
}

enum pawl_err pawl_post_fail(struct pawl *pawl, const struct pawl_run *run,
                             const struct pawl_report *report, pawl_answer_fn *fn, void *ctx,
                             struct pawl_diag *diag)
{
    assert(pawl && run && report && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    return post(call, pawl__fail_op(run, report, &call->op, diag));
}

enum pawl_err pawl_post_extend(struct pawl *pawl, const struct pawl_extension *extension,
                               pawl_answer_fn *fn, void *ctx, struct pawl_diag *diag)
{
    assert(pawl && extension && fn);
    struct call *call = call_new(pawl, fn, ctx);
    if (!call) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__extend_op(extension, NULL, &call->op, diag);
    if (!err) {
        enum pawl_err *results =
            pawl__arena_calloc(&call->intake.kept, extension->count, sizeof *results);
        if (!results) err = pawl__fail_nomem(diag);
        call->op.extend.results = results;
    }
    return post(call, err);
}
