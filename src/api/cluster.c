/* Nodes, locks and start-up leases. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

enum { LEASE_ASSUMED_MS = 30000 }; /* for nodes that declare none, as in the stores */

const char *pawl_node_state_text(enum pawl_node_state state)
{
#define X(number, name, text, ...) [number] = text,
    static const char *const texts[PAWL_NODE_END] = { [0] = "", PAWL_NODE_STATES(X) };
#undef X
    return state > PAWL_NODE_NONE && state < PAWL_NODE_END ? texts[state] : "";
}

/* Fills in what can be derived from the node's row. */
static void read_node(struct pawl_node *node, int64_t now_ms, struct pawl__arena *arena)
{
    struct pawl__member member;
    pawl__member_read(node->info, arena, &member);
    int64_t lease_ms = member.lease_ms ? member.lease_ms : LEASE_ASSUMED_MS;
    bool stale = member.given_up || now_ms - node->heartbeat_at_ms >= lease_ms;
    node->state = stale ? PAWL_NODE_STALE : member.draining ? PAWL_NODE_DRAINING : PAWL_NODE_LIVE;
    node->lease_ms = member.lease_ms;
    node->workers = member.workers;
    node->pid = member.pid;
    node->host = member.host;
    node->version = member.version;
}

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
    for (size_t i = 0; i < found.count; i++) {
        read_node(&found.at[i], found.now_ms, owned);
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

static enum pawl_err check_node(const struct pawl_node *node, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_info = { "info", PAWL__REASON_BYTES_MAX };
    enum pawl_err err = pawl__check_text(&rule_node, node->name, diag);
    return err ? err : pawl__check_optional(&rule_info, node->info, diag);
}

enum pawl_err pawl_node_join(struct pawl *pawl, const struct pawl_node *node,
                             int64_t *started_at_ms, struct pawl_diag *diag)
{
    assert(pawl && node && started_at_ms);
    enum pawl_err err = check_node(node, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_NODE_JOIN,
                           .node = { .name = node->name, .info = node->info ? node->info : "" } };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err) *started_at_ms = op.node.started_at_ms;
    return err;
}

enum pawl_err pawl_node_put(struct pawl *pawl, const struct pawl_node *node,
                            struct pawl_census *out, struct pawl_diag *diag)
{
    assert(pawl && node);
    enum pawl_err err = check_node(node, diag);
    if (!err) {
        err = pawl__check_time("started_at_ms", PAWL__TIME_INSTANT, node->started_at_ms, diag);
    }
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_NODE_PUT,
                           .node = { .name = node->name,
                                     .info = node->info ? node->info : "",
                                     .started_at_ms = node->started_at_ms } };
    err = pawl__desk_do(pawl, &op, diag);
    if (!err && out) *out = op.node.census;
    return err;
}

enum pawl_err pawl_node_drop(struct pawl *pawl, const char *name, int64_t started_at_ms,
                             struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_text(&rule_node, name, diag);
    if (!err) err = pawl__check_time("started_at_ms", PAWL__TIME_INSTANT, started_at_ms, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_NODE_DROP,
                           .node = { .name = name, .started_at_ms = started_at_ms } };
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

/* ---- start-up leases ---- */

/* The lock of an action, and the owner under which this `pawl` holds it: host, process and a unique
 * number. */
struct startup {
    char name[PAWL__LOCK_BYTES_MAX + 1];
    char owner[192];
};

static enum pawl_err name_startup(struct pawl *pawl, const char *action, struct startup *out,
                                  struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule = { "action", PAWL__LOCK_BYTES_MAX - 8 };
    enum pawl_err err = pawl__check_text(&rule, action, diag);
    if (err) return err;
    char host[128] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(out->name, sizeof out->name, "startup.%s", action);
    snprintf(out->owner, sizeof out->owner, "%s-%ld-%016llx", host, (long)getpid(),
             (unsigned long long)pawl->number);
    return PAWL_OK;
}

enum pawl_err pawl_startup_try(struct pawl *pawl, const char *action, int64_t ttl_ms,
                               struct pawl_diag *diag)
{
    assert(pawl);
    struct startup startup;
    enum pawl_err err = name_startup(pawl, action, &startup, diag);
    return err ? err : pawl_lock_try(pawl, startup.name, startup.owner, ttl_ms, NULL, diag);
}

enum pawl_err pawl_startup_release(struct pawl *pawl, const char *action, struct pawl_diag *diag)
{
    assert(pawl);
    struct startup startup;
    enum pawl_err err = name_startup(pawl, action, &startup, diag);
    return err ? err : pawl_lock_release(pawl, startup.name, startup.owner, diag);
}
