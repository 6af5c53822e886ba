/* External workers: the blocking calls. */
#include "api/check.h"
#include "api/claim.h"
#include "base/diag.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PROGRESS_TEXT_BYTES_MAX = 4096, PROGRESS_DATA_BYTES_MAX = 64 * 1024 };

/* Jobs that an operation takes; op->diag is the caller's. */
static enum pawl_err take(struct pawl *pawl, struct pawl__op *op, struct pawl_jobs *out)
{
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(op->diag);
    enum pawl_err err = pawl__store_do(pawl->store, op);
    *owned = op->arena;
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    pawl__claimed(pawl, op);
    struct pawl__taken taken = pawl__taken_of(op);
    *out = (struct pawl_jobs){ .at = taken.jobs,
                               .count = taken.count,
                               .more = op->kind != PAWL__OP_ASSIGN && op->claim.more,
                               .total = -1,
                               .owned = owned };
    return PAWL_OK;
}

enum pawl_err pawl_claim(struct pawl *pawl, const struct pawl_claim *claim, struct pawl_jobs *out,
                         struct pawl_diag *diag)
{
    assert(pawl && claim && out);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__claim_op(claim, &op, diag);
    return err ? err : take(pawl, &op, out);
}

enum pawl_err pawl_route(struct pawl *pawl, const struct pawl_claim *claim, struct pawl_jobs *out,
                         struct pawl_diag *diag)
{
    assert(pawl && claim && out);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__route_op(claim, &op, diag);
    return err ? err : take(pawl, &op, out);
}

enum pawl_err pawl_assign(struct pawl *pawl, const struct pawl_assignment *assignment,
                          struct pawl_jobs *out, struct pawl_diag *diag)
{
    assert(pawl && assignment && out);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__assign_op(assignment, &op, diag);
    return err ? err : take(pawl, &op, out);
}

enum pawl_err pawl_unroute(struct pawl *pawl, const struct pawl_routed *routed,
                           struct pawl_diag *diag)
{
    assert(pawl && routed);
    struct pawl__op op = { 0 };
    enum pawl_err err = pawl__unroute_op(routed, &op, diag);
    return err ? err : pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_complete(struct pawl *pawl, const struct pawl_run *run, struct pawl_span result,
                            struct pawl_diag *diag)
{
    assert(pawl && run);
    struct pawl__op op = { 0 };
    enum pawl_err err = pawl__complete_op(run, result, &op, diag);
    return err ? err : pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_fail(struct pawl *pawl, const struct pawl_run *run,
                        const struct pawl_report *report, struct pawl_failed *out,
                        struct pawl_diag *diag)
{
    assert(pawl && run && report);
    struct pawl__op op = { 0 };
    enum pawl_err err = pawl__fail_op(run, report, &op, diag);
    if (!err) err = pawl__desk_do(pawl, &op, diag);
    if (!err && out) *out = pawl__failed_of(&op);
    return err;
}

enum pawl_err pawl_give_back(struct pawl *pawl, const struct pawl_run *run, int64_t delay_ms,
                             struct pawl_diag *diag)
{
    assert(pawl && run);
    struct pawl__op op = { 0 };
    enum pawl_err err = pawl__give_back_op(run, delay_ms, &op, diag);
    return err ? err : pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_extend(struct pawl *pawl, const struct pawl_extension *extension,
                          enum pawl_err *results, struct pawl_diag *diag)
{
    assert(pawl && extension && results);
    struct pawl__op op = { 0 };
    enum pawl_err err = pawl__extend_op(extension, results, &op, diag);
    return err ? err : pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_progress(struct pawl *pawl, const struct pawl_run *run,
                            const struct pawl_progress *progress, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule = { "message", PROGRESS_TEXT_BYTES_MAX };
    assert(pawl && run && progress);
    enum pawl_err err = pawl__check_run(run, 0, diag);
    if (err) return err;
    if (isnan(progress->value) || progress->value > 1) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "value", "progress must lie between 0 and 1");
    }
    err = pawl__check_optional(&rule, progress->message, diag);
    if (!err) err = pawl__check_json("data", progress->data, PROGRESS_DATA_BYTES_MAX, diag);
    if (err) return err;
    const char *message = progress->message ? progress->message : "";
    struct pawl__op op = { .kind = PAWL__OP_PROGRESS,
                           .progress = { .ref = *run,
                                         .value = progress->value,
                                         .message = { message, strlen(message) },
                                         .data = progress->data } };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_checkpoint(struct pawl *pawl, const struct pawl_run *run, struct pawl_span state,
                              int64_t *sequence, struct pawl_diag *diag)
{
    assert(pawl && run);
    enum pawl_err err = pawl__check_run(run, 0, diag);
    if (!err) err = pawl__check_json("state", state, PAWL__CHECKPOINT_BYTES_MAX, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_CHECKPOINT,
                           .checkpoint = { .ref = *run, .state = state } };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err && sequence) *sequence = op.checkpoint.sequence;
    return err;
}

enum pawl_err pawl_log(struct pawl *pawl, const struct pawl_run *run, int32_t level,
                       const char *text, struct pawl_diag *diag)
{
    assert(pawl && run && text);
    enum pawl_err err = pawl__check_run(run, 0, diag);
    if (err) return err;
    if (level < 0 || level > 3) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "level", "level must lie between 0 and 3");
    }
    struct pawl__op op = { .kind = PAWL__OP_LOG,
                           .log = { .ref = *run, .level = level, .text = { text, strlen(text) } } };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_watch(struct pawl *pawl, pawl_ready_fn *fn, void *ctx, struct pawl_diag *diag)
{
    assert(pawl);
    return pawl__engine_watch(pawl->engine, fn, ctx, diag);
}
