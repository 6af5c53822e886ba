/* One batch through the working set: plan, load, decide, settle, store. */
#include "store/core/settle.h"

#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOADS_MAX = 8 }; /* for one operation */

/* What is known of a kind of operation. */
struct kind {
    pawl__wants_fn *want; /* NULL: it is run alone, and looks for jobs itself, by `scan` */
    pawl__rule_fn *rule;
    pawl__rule_fn *scan, *after; /* NULL: there is nothing to be done */
    pawl__rule_fn *run;          /* it may scan several times */
    pawl__names_fn *names;       /* NULL: it asks about no key and makes no queue and no lane */
    bool passes_over;            /* it asks about keys without waiting for those that others have */
    bool apart; /* it leaves available jobs alone, or finds them by scan_ready; or load does */
};

#define WANTS(what, name)                                                                          \
    {                                                                                              \
        .want = pawl__want_##what, .rule = pawl__rule_##name                                       \
    }
#define NAMES(name) WANTS(name, name)
#define NAMES_MORE(name)                                                                           \
    {                                                                                              \
        .want = pawl__want_##name, .rule = pawl__rule_##name, .names = pawl__names_##name          \
    }
#define CLAIMS                                                                                     \
    {                                                                                              \
        .rule = pawl__rule_claim, .scan = pawl__scan_claim, .run = pawl__core_claim                \
    }
#define SWEEPS(name)                                                                               \
    {                                                                                              \
        .rule = pawl__rule_##name, .scan = pawl__scan_##name, .after = pawl__after_##name,         \
        .apart = true                                                                              \
    }
#define ALONE(name, ...)                                                                           \
    {                                                                                              \
        .rule = pawl__rule_##name, .apart = true, __VA_ARGS__                                      \
    }

/* clang-format off */
#define KINDS(X)                                                                                   \
    X(SUBMIT,       NAMES_MORE(submit))                                                            \
    X(CLAIM,        CLAIMS)                                                                        \
    X(ROUTE,        CLAIMS)                                                                        \
    X(ASSIGN,       NAMES(assign))                                                                 \
    X(UNROUTE,      NAMES(unroute))                                                                \
    X(COMPLETE,     NAMES(complete))                                                               \
    X(FAIL,         NAMES(fail))                                                                   \
    X(SNOOZE,       NAMES(snooze))                                                                 \
    X(EXTEND,       NAMES(extend))                                                                 \
    X(CONTROL,      NAMES_MORE(control))                                                           \
    X(BULK,         { .rule = pawl__rule_bulk, .scan = pawl__scan_bulk,                            \
                      .names = pawl__names_bulk })                                                 \
    X(PRIORITY,     NAMES(priority))                                                               \
    X(DELETE,       NAMES(delete))                                                                 \
    X(PROGRESS,     NAMES(progress))                                                               \
    X(CHECKPOINT,   NAMES(checkpoint))                                                             \
    X(LOG,          NAMES(log))                                                                    \
    X(PROMOTE,      SWEEPS(promote))                                                               \
    X(LAPSE,        SWEEPS(lapse))                                                                 \
    X(EXPIRE,       SWEEPS(expire))                                                                \
    X(ARCHIVE,      ALONE(archive, .scan = pawl__scan_retire))                                     \
    X(PURGE,        ALONE(purge, .scan = pawl__scan_retire))                                       \
    X(DEADLINE,     SWEEPS(deadline))                                                              \
    X(SETTLE,       SWEEPS(settle))                                                                \
    X(FLOW_SIGNAL,  ALONE(flow_signal, .scan = pawl__scan_flow_signal))                            \
    X(FLOW_CONTROL, { .rule = pawl__rule_flow_control })                                           \
    X(FLOW_SEAL,    ALONE(flow_seal, .scan = pawl__scan_flow_seal))                                \
    X(NODE_JOIN,    ALONE(node_join, .scan = pawl__scan_node, .after = pawl__after_node_join))     \
    X(NODE_PUT,     ALONE(node_put, .scan = pawl__scan_node, .after = pawl__after_node_put))       \
    X(NODE_DROP,    ALONE(node_drop, .scan = pawl__scan_node))                                     \
    X(LOCK_TRY,     WANTS(lock, lock_try))                                                         \
    X(LOCK_RENEW,   WANTS(lock, lock_renew))                                                       \
    X(LOCK_RELEASE, WANTS(lock, lock_release))                                                     \
    X(SETTING_PUT,  NAMES(setting))                                                                \
    X(TOKEN_PUT,    NAMES(token))                                                                  \
    X(SCHEMA_ADD,   WANTS(schema, schema_add))                                                     \
    X(SCHEMA_DROP,  WANTS(schema, schema_drop))                                                    \
    X(CONFIG_PUT,   WANTS(config, config_put))                                                     \
    X(CONFIG_DROP,  WANTS(config, config_drop))                                                    \
    X(REQUEST_NOTE, NAMES(request))                                                                \
    X(QUEUE_PAUSE,  ALONE(queue_pause, .after = pawl__after_queue_pause,                           \
                          .names = pawl__names_queue_pause))                                       \
    X(FIRE,         { .rule = pawl__rule_fire, .scan = pawl__scan_fire,                            \
                      .after = pawl__after_fire, .passes_over = true, .apart = true })             \
    X(SCHEDULE_PUT, { .rule = pawl__rule_schedule_put, .scan = pawl__scan_schedule,                \
                      .names = pawl__names_schedule_put, .apart = true })                          \
    X(SCHEDULE_CONTROL, { .rule = pawl__rule_schedule_control, .scan = pawl__scan_schedule,        \
                      .names = pawl__names_schedule_control, .apart = true })                      \
    X(SCHEDULE_DROP, ALONE(schedule_drop, .scan = pawl__scan_schedule))
/* clang-format on */

#define X(name, ...) [PAWL__OP_##name] = __VA_ARGS__,
static const struct kind kinds[] = { KINDS(X) };
#undef X
#define X(...) +1
_Static_assert(0 KINDS(X) == PAWL__OP_END, "a row for each kind of PAWL__OPS");
#undef X

void pawl__core_names(const struct pawl__op *op, struct pawl__names *out)
{
    *out = (struct pawl__names){ .jobs = NULL };
    if (kinds[op->kind].names) kinds[op->kind].names(op, out);
}

/* Whoever asks about keys names them, or no backend would lock them in time. */
static void assert_named(const struct pawl__set *set, const struct pawl__op *op)
{
    assert(!set->asks_keys || kinds[op->kind].names || kinds[op->kind].passes_over);
}

bool pawl__core_decides(const struct pawl__op *op)
{
    return kinds[op->kind].want != NULL;
}

/* May any of the operations look at jobs that it does not name, or what follows from one? */
static bool looks_around(const struct pawl__set *set)
{
    return set->open_ended || (set->op_count && pawl__settle_known());
}

/* Operations that were posted singly have no order, so a completion of a job that is not in the set
 * goes first, and so does a submit with an id that a caller chose. No operation of a list can know
 * an id that was just generated. */
bool pawl__core_takes(const struct pawl__set *set, const struct pawl__op *op)
{
    bool any_id = pawl__core_quick(set->table)->any_id && !(op->chained && set->op_count);
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        return !pawl__submit_is_plain(set, op, any_id);
    case PAWL__OP_COMPLETE:
        return (op->chained && looks_around(set)) || pawl__set_find(set, op->complete.ref.id);
    default:
        return pawl__core_decides(op);
    }
}

bool pawl__core_precedes(const struct pawl__set *set, const struct pawl__op *op)
{
    for (size_t i = 0; op->kind == PAWL__OP_SUBMIT && i < op->submit.count; i++) {
        const struct pawl__row *row = pawl__set_find(set, op->submit.jobs[i].id);
        if (row && row->may_go) return true;
    }
    return false;
}

enum pawl_err pawl__core_add(struct pawl__set *set, struct pawl__op *op)
{
    if (set->op_count == set->op_cap) {
        size_t cap = set->op_cap ? set->op_cap * 2 : 64;
        struct pawl__op **ops = realloc(set->ops, cap * sizeof *ops);
        if (!ops) return pawl__fail_nomem(set->diag);
        set->ops = ops;
        set->op_cap = cap;
    }
    set->asks_keys = false;
    kinds[op->kind].want(set, op);
    assert_named(set, op);
    set->ops[set->op_count++] = op;
    return set->failed ? pawl__fail_nomem(set->diag) : PAWL_OK;
}

static void reverse(struct pawl__op **ops, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct pawl__op *op = ops[i];
        ops[i] = ops[count - 1 - i];
        ops[count - 1 - i] = op;
    }
}

void pawl__core_came_first(struct pawl__set *set, size_t count)
{
    reverse(set->ops, set->op_count);
    reverse(set->ops, count);
    reverse(set->ops + count, set->op_count - count);
}

static int compare_ids(const void *a, const void *b)
{
    const struct pawl__row *const *left = a, *const *right = b;
    return memcmp(&(*left)->id, &(*right)->id, sizeof(struct pawl_job_id));
}

enum pawl_err pawl__set_load(struct pawl__set *set, bool wait)
{
    if (set->failed) return pawl__fail_nomem(set->diag);
    if (!pawl__set_lacks(set)) return PAWL_OK;
    enum pawl_err err = set->table->load_keys(set->backend, set, wait);
    if (err) return err;
    pawl__set_want_holders(set);
    if (set->failed) return pawl__fail_nomem(set->diag);
    if (set->unread_count)
        qsort(set->unread, set->unread_count, sizeof(struct pawl__row *), compare_ids);
    if (set->unread_count) err = set->table->load(set->backend, set, wait);
    for (size_t i = 0; !err && i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        assert(row->found != PAWL__FOUND_UNREAD);
        row->has |= row->need & (PAWL__NEED_CRASHES | PAWL__NEED_RUN_DATA);
    }
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        set->keys[i].read = true;
    }
    set->unread_count = set->unread_keys = 0;
    if (!err && set->records.unread) err = set->table->load_records(set->backend, set);
    if (!err) pawl__records_were_read(set);
    return !err && set->failed ? pawl__fail_nomem(set->diag) : err;
}

/* Sets op->err. A rule that refuses, or lacks something, has left the set as it was: what other
 * operations of the batch changed is committed without it. */
static enum pawl_err decide(struct pawl__set *set, struct pawl__op *op)
{
    bool alone = !set->op_count; // its set is dropped if it is refused
    for (int loads = 0;; loads++) {
        uint64_t changes = set->changes;
        op->err = kinds[op->kind].rule(set, op);
        bool over = op->err || !pawl__set_lacks(set);
        assert(alone || set->failed || (over && !op->err) || set->changes == changes);
        if (over) break;
        assert(loads < LOADS_MAX);
        enum pawl_err err = pawl__set_load(set, true);
        if (err) return err;
    }
    if (set->failed) return pawl__fail_nomem(set->diag);
    return pawl__err_is_own(op->err) ? PAWL_OK : op->err;
}

/* The rows of changed keys. */
static void list_keys(struct pawl__set *set)
{
    for (size_t i = 0; i < set->key_count; i++) {
        const struct pawl__set_key *key = &set->keys[i];
        for (size_t k = 0; k < key->count; k++) {
            const struct pawl__key_holder *holder = &key->holders[k];
            bool drop = holder->removed && holder->stored;
            if (!drop && (!holder->added || holder->removed)) continue;
            enum pawl__table table = drop             ? PAWL__TABLE_KEY_DROP
                                     : holder->stored ? PAWL__TABLE_KEY_PUT
                                                      : PAWL__TABLE_KEY_NEW;
            pawl__set_put(set, table,
                          &(struct pawl__key_row){
                              .digest = { (const char *)key->digest, sizeof key->digest },
                              .id = holder->id,
                              .until_ms = holder->until_ms });
        }
    }
}

static void notify_move(struct pawl__set *set, const struct pawl__plain_move *move)
{
    const struct pawl__lane *lane = set->catalog.lanes[move->lane];
    bool came = move->from == PAWL__OUTSIDE;
    pawl__notices_move(&set->notices,
                       &(struct pawl__move){ .id = move->id,
                                             .run = move->run,
                                             .from = came ? PAWL_STATE_NONE : move->from,
                                             .to = move->to,
                                             .queue = pawl__catalog_queue_name(&set->catalog, lane),
                                             .type = lane->type,
                                             .in_flow = move->in_flow });
}

static void count_move(struct pawl__set *set, uint32_t lane, enum pawl_state from,
                       enum pawl_state to)
{
    pawl__catalog_count(&set->catalog, set->catalog.lanes[lane], from, to);
}

void pawl__set_moved(struct pawl__set *set, const struct pawl__plain_move *move)
{
    count_move(set, move->lane, move->from, move->to);
    set->notices.ready |= move->to == PAWL_STATE_AVAILABLE;
    if (set->notices.all_moves) notify_move(set, move);
}

/* Counters, and what listeners are told. */
static void note_moves(struct pawl__set *set)
{
    struct pawl__notices *notices = &set->notices;
    for (size_t i = 0; i < set->move_count; i++) {
        const struct pawl__set_move *move = &set->moves[i];
        count_move(set, move->row->lane, move->from, move->to);
        if (move->silent) continue;
        notices->ready |= move->to == PAWL_STATE_AVAILABLE;
        notices->control |= move->control;
        if (move->due_at_ms) pawl__notices_due(notices, move->due_at_ms);
        if (!notices->all_moves && !move->control) continue;
        notify_move(set, &(struct pawl__plain_move){ .id = move->row->id,
                                                     .run = move->run,
                                                     .lane = move->row->lane,
                                                     .in_flow = move->row->ties & PAWL__FLOW_TIE,
                                                     .from = move->from,
                                                     .to = move->to });
    }
}

enum pawl_err pawl__set_store(struct pawl__set *set)
{
    list_keys(set);
    pawl__settle_list(set);
    pawl__run_data_list(set);
    pawl__records_list(set);
    if (set->failed) return pawl__fail_nomem(set->diag);
    enum pawl_err err = set->table->store(set->backend, set);
    if (!err) note_moves(set);
    return err;
}

static enum pawl_err settle_and_store(struct pawl__set *set)
{
    enum pawl_err err = pawl__settle_run(set);
    return err ? err : pawl__set_store(set);
}

/* In a list the next operation finds what follows from those before it. */
static enum pawl_err run(struct pawl__set *set)
{
    enum pawl_err err = pawl__set_load(set, true);
    for (size_t i = 0; !err && i < set->op_count; i++) {
        err = decide(set, set->ops[i]);
        if (!err && set->ops[i]->chained) err = pawl__settle_run(set);
    }
    return err ? err : settle_and_store(set);
}

enum pawl_err pawl__core_run(struct pawl__set *set)
{
    if (pawl__set_is_empty(set)) return PAWL_OK;
    enum pawl_err err = run(set);
    pawl__set_clear(set);
    return err;
}

/* All or nothing: what an operation that fails has changed is in the set alone. */
static enum pawl_err scan(struct pawl__set *set, struct pawl__op *op)
{
    pawl__rule_fn *find = kinds[op->kind].scan;
    set->asks_keys = false;
    enum pawl_err err = find ? find(set, op) : PAWL_OK;
    assert_named(set, op);
    if (!err) err = pawl__set_load(set, true);
    if (!err) err = decide(set, op);
    return err || op->err ? err : settle_and_store(set);
}

enum pawl_err pawl__core_scan_once(struct pawl__set *set, struct pawl__op *op)
{
    assert(pawl__set_is_empty(set));
    enum pawl_err err = scan(set, op);
    pawl__set_clear(set);
    return err;
}

enum pawl_err pawl__core_scan(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__core_table *table = set->table;
    bool claims = kinds[op->kind].run != NULL;
    pawl__rule_fn *whole = claims ? kinds[op->kind].run : pawl__core_scan_once;
    pawl__rule_fn *after = kinds[op->kind].after;
    enum pawl_err err = PAWL_OK;
    if (table->show && !claims) err = table->show(set->backend, !kinds[op->kind].apart);
    if (!err) err = whole(set, op);
    return err || op->err || !after ? err : after(set, op);
}
