/* What nodes share besides jobs: who is there, who holds which lock.
 *
 * Operations on nodes are run alone, because what a node leaves behind is found by its name and not
 * in the set: its locks by a scan; its runs' leases end by one statement, whatever their number. */
#include "store/core/set.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/time_text.h"

#include <assert.h>
#include <string.h>

/* A node's row is kept this long after its last heartbeat, for those who look what happened. */
#define NODE_KEPT_MS INT64_C(86400000)
#define LEASE_ASSUMED_MS INT64_C(30000) /* of nodes that say nothing */
#define LEASE_MAX_MS INT64_C(1000000000000000)

enum { INFO_DEPTH_MAX = 16 };

/* ---- nodes ---- */

/* A node that this library does not run may say anything of itself. */
static int64_t lease_of(struct pawl__set *set, const char *info)
{
    struct pawl__json json;
    int64_t lease_ms = 0;
    struct pawl_span text = { info, strlen(info) };
    enum pawl_err err = pawl__json_parse(text, INFO_DEPTH_MAX, &set->arena, &json, NULL);
    if (err == PAWL_ERR_NOMEM) set->failed = true;
    if (err) return 0;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return 0;
    uint32_t at = pawl__json_member(&json, 0, "lease_ms");
    bool said = at && pawl__json_int(&json, at, &lease_ms);
    return said && lease_ms > 0 && lease_ms <= LEASE_MAX_MS ? lease_ms : 0;
}

static void beat(struct pawl__set *set, struct pawl__record *record, const struct pawl__op *op)
{
    struct pawl__node *node = &record->row.node;
    node->info = op->node.info ? op->node.info : "";
    node->started_at_ms = op->node.started_at_ms;
    node->heartbeat_at_ms = set->now_ms;
    node->lease_ms = lease_of(set, node->info);
    node->alive_until_ms = set->now_ms + (node->lease_ms ? node->lease_ms : LEASE_ASSUMED_MS);
    record->there = record->changed = true;
}

static void release(struct pawl__record *lock)
{
    lock->row.lock.owner = "";
    lock->row.lock.expires_at_ms = 0;
    lock->changed = true;
}

/* Those that a node holds. One that the scan does not find, because another transaction has it or
 * there are very many, ends with its time. */
static enum pawl_err release_locks(struct pawl__set *set, const char *owner)
{
    size_t before = set->records.count;
    enum pawl_err err = set->table->scan_locks(set->backend, owner, PAWL__MAINTENANCE_MAX);
    for (size_t i = before; !err && i < set->records.count; i++) {
        release(set->records.at[i]->first);
    }
    return err;
}

/* What a node that is gone leaves behind is free for others. The next sweep charges its runs and
 * makes them available. */
static enum pawl_err end_work(struct pawl__set *set, const char *name)
{
    pawl__set_put(set, PAWL__TABLE_RUNS_END,
                  &(struct pawl__gone){ .name = name, .at_ms = set->now_ms });
    return release_locks(set, name);
}

static struct pawl__record *want_node(struct pawl__set *set, const struct pawl__op *op)
{
    return pawl__set_want_record(set, PAWL__RECORD_NODE,
                                 &(struct pawl__node){ .name = op->node.name });
}

enum pawl_err pawl__scan_node(struct pawl__set *set, struct pawl__op *op)
{
    op->node.census = (struct pawl_census){ 0 };
    (void)want_node(set, op);
    return PAWL_OK;
}

static struct pawl__record *find_node(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__record *record = want_node(set, op);
    assert(record && record->of->read); // or the load had failed
    return record;
}

static enum pawl_err fail_held(const struct pawl__set *set, const struct pawl__op *op,
                               const struct pawl__node *node)
{
    char since[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(node->started_at_ms, since);
    return pawl__fail_field(op->diag, PAWL_ERR_HELD, "name",
                            "node \"%s\" is alive: started at %s, last heartbeat %lld ms ago; "
                            "it says %s",
                            node->name, since, (long long)(set->now_ms - node->heartbeat_at_ms),
                            *node->info ? node->info : "nothing");
}

enum pawl_err pawl__rule_node_join(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_node(set, op);
    const struct pawl__node *node = &record->row.node;
    bool alive = record->there && node->alive_until_ms > set->now_ms;
    if (alive) return fail_held(set, op, node);
    int64_t before_ms = record->there ? node->started_at_ms : 0;
    op->node.started_at_ms = before_ms < set->now_ms ? set->now_ms : before_ms + 1;
    enum pawl_err err = record->there ? end_work(set, node->name) : PAWL_OK;
    beat(set, record, op);
    return err;
}

/* Nodes that were not heard of for long are forgotten. */
enum pawl_err pawl__after_node_join(struct pawl__set *set, struct pawl__op *op)
{
    (void)op;
    enum pawl_err err = set->table->scan_nodes(set->backend, PAWL__NODES_OLD,
                                               set->now_ms - NODE_KEPT_MS, PAWL__MAINTENANCE_MAX);
    for (size_t i = 0; !err && i < set->records.count; i++) {
        set->records.at[i]->first->there = false;
        set->records.at[i]->first->changed = true;
    }
    if (!err) err = pawl__set_store(set);
    pawl__set_clear(set);
    return err;
}

/* The name's newest start wins; an older one's late heartbeat changes nothing. */
enum pawl_err pawl__rule_node_put(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_node(set, op);
    if (record->there && op->node.started_at_ms < record->row.node.started_at_ms) {
        return pawl__fail(op->diag, PAWL_ERR_STALE, "a node \"%s\" has been started since",
                          op->node.name);
    }
    beat(set, record, op);
    return PAWL_OK;
}

enum pawl_err pawl__rule_node_drop(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_node(set, op);
    int64_t started_at_ms = op->node.started_at_ms; // 0: whichever there is
    if (!record->there || (started_at_ms && started_at_ms != record->row.node.started_at_ms)) {
        return pawl__fail(op->diag, PAWL_ERR_NOT_FOUND, "there is no node \"%s\"", op->node.name);
    }
    record->there = false;
    record->changed = true;
    return release_locks(set, op->node.name);
}

/* ---- nodes that fall silent ---- */

#define SAID "\"lease_ms\""
#define LAPSED "\"lapsed_lease_ms\""

enum { SAID_LEN = sizeof SAID - 1, LAPSED_LEN = sizeof LAPSED - 1 };

/* Readers see by it that the node was given up. */
static const char *mark_lapsed(struct pawl__set *set, const char *info)
{
    size_t count = 0;
    for (const char *at = info; (at = strstr(at, SAID)); at += SAID_LEN) {
        count++;
    }
    size_t bytes = strlen(info) + count * (LAPSED_LEN - SAID_LEN) + 1;
    char *marked = pawl__arena_alloc(&set->arena, bytes), *to = marked;
    if (!marked) set->failed = true;
    if (!marked) return info;
    for (const char *at; (at = strstr(info, SAID)); info = at + SAID_LEN) {
        memcpy(to, info, (size_t)(at - info));
        memcpy(to + (at - info), LAPSED, LAPSED_LEN);
        to += (at - info) + LAPSED_LEN;
    }
    memcpy(to, info, strlen(info) + 1);
    return marked;
}

/* The next number is nobody's: a heartbeat that comes after all is refused, so that its sender
 * learns that it was given up. */
static enum pawl_err give_up(struct pawl__set *set, struct pawl__record *record)
{
    struct pawl__node *node = &record->row.node;
    node->started_at_ms++;
    node->info = mark_lapsed(set, node->info);
    node->alive_until_ms = node->lease_ms = 0;
    record->changed = true;
    return end_work(set, node->name);
}

static enum pawl_err give_up_silent(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = set->table->scan_nodes(set->backend, PAWL__NODES_SILENT, set->now_ms,
                                               PAWL__MAINTENANCE_MAX);
    size_t count = set->records.count; // their locks come behind them
    for (size_t i = 0; !err && i < count; i++) {
        err = give_up(set, set->records.at[i]->first);
        op->node.census.given_up++;
    }
    if (!err) err = pawl__set_store(set);
    pawl__set_clear(set);
    return err;
}

/* Who else is there, as of now. */
enum pawl_err pawl__after_node_put(struct pawl__set *set, struct pawl__op *op)
{
    int64_t silent = 0;
    enum pawl_err err = set->table->census(set->backend, op->node.name, &op->node.census, &silent);
    op->node.census.alive++; // the node itself
    return err || !silent ? err : give_up_silent(set, op);
}

/* ---- locks ---- */

static struct pawl__record *want_lock(struct pawl__set *set, const struct pawl__op *op)
{
    return pawl__set_want_record(set, PAWL__RECORD_LOCK,
                                 &(struct pawl__lock){ .name = op->lock.name });
}

void pawl__want_lock(struct pawl__set *set, const struct pawl__op *op)
{
    (void)want_lock(set, op);
}

static struct pawl__record *find_lock(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__record *record = want_lock(set, op);
    assert(record && record->of->read); // or the load had failed
    return record;
}

static bool holds(const struct pawl__record *record, const char *owner)
{
    return record->there && strcmp(record->row.lock.owner, owner) == 0;
}

bool pawl__lock_take(const struct pawl__set *set, struct pawl__record *record, const char *owner,
                     int64_t ttl_ms)
{
    assert(ttl_ms > 0 && record->of->read && !record->of->held);
    struct pawl__lock *lock = &record->row.lock; // or that of a turn, which is the same struct
    bool held = record->there && lock->expires_at_ms > set->now_ms;
    if (held && !holds(record, owner)) return false;
    lock->owner = owner;
    lock->fence++;
    lock->locked_at_ms = set->now_ms;
    lock->expires_at_ms = set->now_ms + ttl_ms;
    record->there = record->changed = true;
    return true;
}

enum pawl_err pawl__rule_lock_try(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_lock(set, op);
    bool taken = pawl__lock_take(set, record, op->lock.owner, op->lock.ttl_ms);
    const struct pawl__lock *lock = &record->row.lock;
    op->lock.fence = lock->fence;
    if (taken) return PAWL_OK;
    return pawl__fail(op->diag, PAWL_ERR_HELD, "\"%s\" holds lock \"%s\" for another %lld ms",
                      lock->owner, lock->name, (long long)(lock->expires_at_ms - set->now_ms));
}

enum pawl_err pawl__rule_lock_renew(struct pawl__set *set, struct pawl__op *op)
{
    assert(op->lock.ttl_ms > 0);
    struct pawl__record *record = find_lock(set, op);
    if (!holds(record, op->lock.owner) || record->row.lock.expires_at_ms <= set->now_ms) {
        return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\" any more",
                          op->lock.owner, op->lock.name);
    }
    record->row.lock.expires_at_ms = set->now_ms + op->lock.ttl_ms;
    record->changed = true;
    return PAWL_OK;
}

enum pawl_err pawl__rule_lock_release(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_lock(set, op);
    if (!holds(record, op->lock.owner)) {
        return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\"",
                          op->lock.owner, op->lock.name);
    }
    release(record);
    return PAWL_OK;
}
