/* Looking before leaping: a process with nothing to do claims and sweeps all the same, for notices
 * can be lost. One statement tells whether there is anything to be claimed or swept; if not, all is
 * answered by that, and no transaction is begun.
 *
 * Runs on: the session's thread, outside a transaction. */
#include "store/core/settle.h"
#include "store/postgres/postgres.h"

#include <assert.h>

/* Columns of look. */
enum {
    LOOK_NOW,
    LOOK_VERSION,
    LOOK_READY,
    LOOK_DUE,
    LOOK_LEASE,
    LOOK_EXPIRY,
    LOOK_KEY,
    LOOK_ENDED,
    LOOK_OLD,
    LOOK_UNSETTLED
};

/* What the operations ask for. */
struct wish {
    bool claims;
    uint32_t ended_states, old_states;
    int64_t ended_age_ms, old_age_ms; /* of the youngest that would be taken */
};

static void wish_retired(const struct pawl__op *op, uint32_t *states, int64_t *age_ms)
{
    if (!*states || op->retire.age_ms < *age_ms) *age_ms = op->retire.age_ms;
    *states |= op->retire.states;
}

/* True: the look can answer it. */
static bool add_wish(struct wish *wish, const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        wish->claims = true;
        return true;
    case PAWL__OP_ARCHIVE:
        wish_retired(op, &wish->ended_states, &wish->ended_age_ms);
        return true;
    case PAWL__OP_PURGE:
        wish_retired(op, &wish->old_states, &wish->old_age_ms);
        return true;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
    case PAWL__OP_SETTLE:
        return true;
    default:
        return false;
    }
}

/* All lanes that the claims may take from, and a few more: types are not asked about. How many;
 * they are listed, unless `list` is NULL. */
static size_t list_lanes(const struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                         struct pawl__pg_list *list)
{
    const struct pawl__catalog *catalog = &pg->catalog;
    size_t lanes = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->kind != PAWL__OP_CLAIM) continue;
        for (size_t k = 0; k < ops[i]->claim.queue_count; k++) {
            const struct pawl__queue *queue =
                pawl__catalog_queue(&pg->catalog, ops[i]->claim.queues[k]);
            if (!queue || queue->paused) continue;
            for (uint32_t at = queue->first_lane; at; at = catalog->lanes[at - 1]->next_lane) {
                if (list) pawl__pg_list_add(list, catalog->lanes[at - 1]->id);
                lanes++;
            }
        }
    }
    return lanes;
}

/* Heartbeats neither move a job nor wait for one. Whatever else is in the batch, it has a
 * transaction anyway; and a claim after one that found jobs will find more, if it has any lanes. */
static bool is_worth_it(const struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                        struct wish *wish)
{
    size_t can = 0;
    for (size_t i = 0; i < count; i++) {
        bool answers = add_wish(wish, ops[i]);
        if (!answers && ops[i]->kind != PAWL__OP_NODE_PUT) return false;
        can += answers;
    }
    bool barren = pg->claims_empty || !list_lanes(pg, ops, count, NULL);
    return can && (!wish->claims || barren);
}

static void list_states(struct pawl__pg_list *list, uint32_t states)
{
    for (int state = PAWL_STATE_COMPLETED; state < PAWL_STATE_END; state++) {
        if (states & PAWL_STATE_BIT(state)) pawl__pg_list_add(list, state);
    }
}

static enum pawl_err ask(struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                         const struct wish *wish, const PGresult **out)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    if (conn->pooled) pawl__pg_conduct(conn, &how); // up to the sync it is one transaction
    pawl__pg_call(conn, PG_LOOK);
    list_lanes(pg, ops, count, pawl__pg_list(conn, PG_LOOK_lanes, PAWL__PG_INTS));
    list_states(pawl__pg_list(conn, PG_LOOK_ended_states, PAWL__PG_INTS), wish->ended_states);
    list_states(pawl__pg_list(conn, PG_LOOK_old_states, PAWL__PG_INTS), wish->old_states);
    pawl__pg_bind(conn, PG_LOOK_ended_age_ms, wish->ended_age_ms);
    pawl__pg_bind(conn, PG_LOOK_old_age_ms, wish->old_age_ms);
    pawl__pg_bind(conn, PG_LOOK_ties, pawl__settle_known());
    pawl__pg_bind_some(conn, PG_LOOK_now_ms, pg->clock ? pawl__clock_wall_ms(pg->clock) : 0);
    pawl__pg_send_keep(conn, 0);
    enum pawl_err err = pawl__pg_sync(conn, NULL);
    *out = conn->kept[0];
    return err;
}

/* When the next one of a sweep is due; 0: nothing waits for it. */
static int64_t next_of(const struct pawl__op *op, const PGresult *seen)
{
    switch (op->kind) {
    case PAWL__OP_PROMOTE:
        return pawl__pg_int(seen, 0, LOOK_DUE);
    case PAWL__OP_LAPSE:
        return pawl__pg_int(seen, 0, LOOK_LEASE);
    case PAWL__OP_SETTLE:
        return pawl__pg_int(seen, 0, LOOK_UNSETTLED);
    default:
        assert(op->kind == PAWL__OP_EXPIRE);
        return pawl__pg_int(seen, 0, LOOK_EXPIRY);
    }
}

static bool is_nothing(const struct pawl__op *op, const PGresult *seen)
{
    int64_t now_ms = pawl__pg_int(seen, 0, LOOK_NOW), next_ms, key_ms;
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        return !pawl__pg_bool(seen, 0, LOOK_READY);
    case PAWL__OP_ARCHIVE:
        return !pawl__pg_bool(seen, 0, LOOK_ENDED);
    case PAWL__OP_PURGE:
        return !pawl__pg_bool(seen, 0, LOOK_OLD);
    case PAWL__OP_NODE_PUT:
        return true;
    case PAWL__OP_SETTLE: // whenever it was left
        return !next_of(op, seen);
    default:
        next_ms = next_of(op, seen);
        key_ms = op->kind == PAWL__OP_EXPIRE ? pawl__pg_int(seen, 0, LOOK_KEY) : 0;
        return (!next_ms || next_ms > now_ms) && (!key_ms || key_ms > now_ms);
    }
}

static void answer_nothing(struct pawl__op *op, const PGresult *seen)
{
    op->err = PAWL_OK;
    op->now_ms = pawl__pg_int(seen, 0, LOOK_NOW);
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        op->claim.jobs = NULL;
        op->claim.job_count = 0;
        op->claim.more = false;
        break;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        op->retire.moved = 0;
        op->retire.more = false;
        break;
    default:
        op->sweep.moved = 0;
        op->sweep.more = false;
        op->sweep.next_at_ms = next_of(op, seen);
        break;
    }
}

/* A batch goes together: what one operation does, the next may find. */
size_t pawl__pg_look(struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                     struct pawl__op **left)
{
    struct wish wish = { .claims = false };
    const PGresult *seen;
    if (!pg->writer.pg || !pg->catalog_version) return count;
    if (!is_worth_it(pg, ops, count, &wish)) return count;
    if (ask(pg, ops, count, &wish, &seen)) return count; // whatever is wrong, the long way says so
    if (pawl__pg_int(seen, 0, LOOK_VERSION) != pg->catalog_version) return count;
    for (size_t i = 0; i < count; i++) {
        if (!is_nothing(ops[i], seen)) return count;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->kind == PAWL__OP_NODE_PUT) {
            left[kept++] = ops[i];
        } else {
            answer_nothing(ops[i], seen);
        }
    }
    return kept;
}
