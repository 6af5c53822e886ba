/* What callers do to flows that run: signals. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "base/diag.h"

#include <assert.h>

static enum pawl_err check_signal(const struct pawl_flow_signal *signal, struct pawl_diag *diag)
{
    bool known = signal->kind > PAWL_FLOW_SIGNAL_NONE && signal->kind < PAWL_FLOW_SIGNAL_END;
    if (!known) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "kind", "there is no such signal");
    }
    if (!signal->payload.len) return PAWL_OK;
    return pawl__check_json("payload", signal->payload, PAWL__RESULT_BYTES_MAX, diag);
}

enum pawl_err pawl_flow_signal(struct pawl *pawl, struct pawl_job_id node,
                               const struct pawl_flow_signal *signal, struct pawl_diag *diag)
{
    assert(pawl && signal);
    enum pawl_err err = check_signal(signal, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_FLOW_SIGNAL,
                           .flow_signal = {
                               .id = node, .kind = signal->kind, .payload = signal->payload } };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_flow_signal_key(struct pawl *pawl, const char *key,
                                   const struct pawl_flow_signal *signal, int64_t *delivered,
                                   struct pawl_diag *diag)
{
    assert(pawl && signal);
    static const struct pawl__text_rule rule_key = { "key", PAWL_FLOW_KEY_BYTES_MAX };
    int64_t count = 0;
    bool more = true;
    enum pawl_err err = pawl__check_text(&rule_key, key, diag);
    if (!err) err = check_signal(signal, diag);
    while (!err && more) {
        struct pawl__op op = { .kind = PAWL__OP_FLOW_SIGNAL,
                               .flow_signal = {
                                   .key = key, .kind = signal->kind, .payload = signal->payload } };
        err = pawl__desk_do(pawl, &op, diag);
        more = op.flow_signal.more && op.flow_signal.delivered;
        if (!err) count += op.flow_signal.delivered;
        pawl__arena_release(&op.arena);
    }
    if (delivered) *delivered = count;
    return err;
}
