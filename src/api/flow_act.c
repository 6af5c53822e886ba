/* What callers do to flows that run: signals, and sealing what grew. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "base/diag.h"

#include <assert.h>
#include <string.h>

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

/* ---- sealing ---- */

/* The number of a group; 0 is the flow. */
static enum pawl_err find_group(struct pawl *pawl, struct pawl_job_id flow, const char *name,
                                int32_t *out, struct pawl_diag *diag)
{
    struct pawl_flow_nodes nodes = { 0 };
    *out = PAWL__FLOW_ALL;
    if (!name) return PAWL_OK;
    enum pawl_err err = pawl_flow_nodes_get(pawl, flow, &nodes, diag);
    for (size_t i = 0; !err && i < nodes.count; i++) {
        bool group = nodes.at[i].kind == PAWL_FLOW_KIND_GROUP;
        if (group && strcmp(nodes.at[i].name, name) == 0) *out = nodes.at[i].number;
    }
    pawl_flow_nodes_release(&nodes);
    if (err || *out) return err;
    return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "group", "the flow has no group \"%s\"",
                            name);
}

enum pawl_err pawl_flow_seal(struct pawl *pawl, struct pawl_job_id flow, const char *group,
                             struct pawl_diag *diag)
{
    assert(pawl);
    int32_t no;
    enum pawl_err err = find_group(pawl, flow, group, &no, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_FLOW_SEAL, .flow_seal = { flow, no, group } };
    return pawl__desk_do(pawl, &op, diag);
}
