/* What operators do to flows: cancel, retry, pause, resume. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"

#include <assert.h>

static enum pawl_err carry_out(struct pawl *pawl, struct pawl__op *op, const struct pawl_by *by,
                               struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_by(by, diag);
    if (err) return err;
    op->kind = PAWL__OP_FLOW_CONTROL;
    if (by) op->flow_control.by = *by;
    return pawl__desk_do(pawl, op, diag);
}

enum pawl_err pawl_flow_cancel(struct pawl *pawl, struct pawl_job_id flow,
                               const struct pawl_flow_cancel *how, const struct pawl_by *by,
                               struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .flow_control = { .id = flow, .verb = PAWL_FLOW_CONTROL_CANCEL } };
    if (how && how->node) {
        op.flow_control.nodes = how->node;
        op.flow_control.node_count = 1;
    }
    op.flow_control.drain = how && how->drain;
    return carry_out(pawl, &op, by, diag);
}

enum pawl_err pawl_flow_retry(struct pawl *pawl, struct pawl_job_id flow,
                              const struct pawl_flow_retry *how, const struct pawl_by *by,
                              int64_t *count, struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .flow_control = { .id = flow, .verb = PAWL_FLOW_CONTROL_RETRY } };
    if (how) {
        assert(how->nodes || !how->node_count);
        op.flow_control.nodes = how->nodes;
        op.flow_control.node_count = how->node_count;
        op.flow_control.all_below = how->all_below;
    }
    if (op.flow_control.node_count > PAWL_FLOW_NAMED_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "nodes", "more than %d nodes",
                                PAWL_FLOW_NAMED_MAX);
    }
    enum pawl_err err = carry_out(pawl, &op, by, diag);
    if (!err && count) *count = op.flow_control.moved;
    return err;
}

enum pawl_err pawl_flow_pause(struct pawl *pawl, struct pawl_job_id flow, const struct pawl_by *by,
                              struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .flow_control = { .id = flow, .verb = PAWL_FLOW_CONTROL_PAUSE } };
    return carry_out(pawl, &op, by, diag);
}

enum pawl_err pawl_flow_resume(struct pawl *pawl, struct pawl_job_id flow, const struct pawl_by *by,
                               struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .flow_control = { .id = flow, .verb = PAWL_FLOW_CONTROL_RESUME } };
    return carry_out(pawl, &op, by, diag);
}
