/* Nodes and locks. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"

#include <assert.h>

enum pawl_err pawl_nodes_get(struct pawl *pawl, struct pawl_nodes *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_nodes found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_nodes(pawl->store, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_nodes_release(struct pawl_nodes *nodes)
{
    if (!nodes) return;
    pawl__owned_free(nodes->owned);
    *nodes = (struct pawl_nodes){ .at = NULL };
}

static const struct pawl__text_rule rule_node = { "name", PAWL_WORKER_BYTES_MAX };

enum pawl_err pawl_node_put(struct pawl *pawl, const struct pawl_node *node, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_info = { "info", PAWL__REASON_BYTES_MAX };
    assert(pawl && node);
    enum pawl_err err = pawl__check_text(&rule_node, node->name, diag);
    if (!err) err = pawl__check_optional(&rule_info, node->info, diag);
    if (!err) {
        err = pawl__check_time("started_at_ms", PAWL__TIME_INSTANT, node->started_at_ms, diag);
    }
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_NODE_PUT,
                           .node = { .name = node->name,
                                     .info = node->info ? node->info : "",
                                     .started_at_ms = node->started_at_ms } };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_node_drop(struct pawl *pawl, const char *name, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_text(&rule_node, name, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_NODE_DROP, .node = { .name = name } };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_locks_get(struct pawl *pawl, struct pawl_locks *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_locks found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_locks(pawl->store, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_locks_release(struct pawl_locks *locks)
{
    if (!locks) return;
    pawl__owned_free(locks->owned);
    *locks = (struct pawl_locks){ .at = NULL };
}

static enum pawl_err check_lock(const char *name, const char *owner, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_name = { "name", PAWL__LOCK_BYTES_MAX };
    static const struct pawl__text_rule rule_owner = { "owner", PAWL_WORKER_BYTES_MAX };
    enum pawl_err err = pawl__check_text(&rule_name, name, diag);
    return err ? err : pawl__check_text(&rule_owner, owner, diag);
}

static enum pawl_err check_ttl(int64_t ttl_ms, struct pawl_diag *diag)
{
    if (ttl_ms == 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "ttl_ms", "ttl_ms must be more than 0");
    }
    return pawl__check_time("ttl_ms", PAWL__TIME_DURATION, ttl_ms, diag);
}

static struct pawl__op lock_op(enum pawl__op_kind kind, const char *name, const char *owner)
{
    return (struct pawl__op){ .kind = kind, .lock = { .name = name, .owner = owner } };
}

enum pawl_err pawl_lock_try(struct pawl *pawl, const char *name, const char *owner, int64_t ttl_ms,
                            int64_t *fence, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = check_lock(name, owner, diag);
    if (!err) err = check_ttl(ttl_ms, diag);
    if (err) return err;
    struct pawl__op op = lock_op(PAWL__OP_LOCK_TRY, name, owner);
    op.lock.ttl_ms = ttl_ms;
    err = pawl__desk_do(pawl, &op, diag);
    if (!err && fence) *fence = op.lock.fence;
    return err;
}

enum pawl_err pawl_lock_renew(struct pawl *pawl, const char *name, const char *owner,
                              int64_t ttl_ms, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = check_lock(name, owner, diag);
    if (!err) err = check_ttl(ttl_ms, diag);
    if (err) return err;
    struct pawl__op op = lock_op(PAWL__OP_LOCK_RENEW, name, owner);
    op.lock.ttl_ms = ttl_ms;
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_lock_release(struct pawl *pawl, const char *name, const char *owner,
                                struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = check_lock(name, owner, diag);
    if (err) return err;
    struct pawl__op op = lock_op(PAWL__OP_LOCK_RELEASE, name, owner);
    return pawl__desk_do(pawl, &op, diag);
}
