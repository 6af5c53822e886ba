/* Lanes: (queue, type) pairs by number, kept in memory, and the counters of jobs per lane and
 * state.
 *
 * Lanes are never deleted, so what is here stays true; others may add more, and pause queues. Each
 * such change makes the catalog's version grow, and a transaction that finds another version than
 * the one we know reads everything again.
 *
 * Runs on: the session's thread. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_LANES = PAWL__PG_SLOTS - 2, SLOT_QUEUES = PAWL__PG_SLOTS - 1 };

#define LANE_ID_MAX INT64_C(100000000)

static uint64_t hash_names(uint64_t seed, const char *queue, const char *type)
{
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);
    for (const char *p = queue; *p; p++) {
        h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
    }
    h = (h ^ 0x1f) * UINT64_C(0x100000001b3);
    for (const char *p = type; *p; p++) {
        h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
    }
    return h ^ (h >> 29);
}

void pawl__pg_lanes_release(struct pawl__pg_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->queue_count; i++) {
        free(lanes->queues[i].name);
    }
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        free(lanes->lanes[i]->type);
        free(lanes->lanes[i]);
    }
    free(lanes->queues);
    free(lanes->queue_slots);
    free(lanes->lanes);
    free(lanes->slots);
    free(lanes->by_id);
    free(lanes->touched);
    memset(lanes, 0, sizeof *lanes);
}

/* A queue's name is hashed as a lane without a type. */
static uint32_t queue_slot(const struct pawl__pg_lanes *lanes, const char *name)
{
    uint32_t mask = lanes->queue_cap * 4 - 1;
    uint32_t i = (uint32_t)hash_names(lanes->seed, name, "") & mask;
    while (lanes->queue_slots[i] &&
           strcmp(lanes->queues[lanes->queue_slots[i] - 1].name, name) != 0) {
        i = (i + 1) & mask;
    }
    return i;
}

/* The slots are empty. */
static void fill_queue_slots(struct pawl__pg_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->queue_count; i++) {
        lanes->queue_slots[queue_slot(lanes, lanes->queues[i].name)] = i + 1;
    }
}

static bool room_for_queue(struct pawl__pg_lanes *lanes)
{
    if (lanes->queue_count < lanes->queue_cap) return true;
    uint32_t cap = lanes->queue_cap ? lanes->queue_cap * 2 : 16;
    struct pawl__pg_queue *grown = realloc(lanes->queues, cap * sizeof *grown);
    if (grown) lanes->queues = grown;
    uint32_t *slots = calloc((size_t)cap * 4, sizeof *slots);
    if (!grown || !slots) {
        free(slots);
        return false;
    }
    free(lanes->queue_slots);
    lanes->queue_slots = slots;
    lanes->queue_cap = cap;
    if (lanes->queue_count) fill_queue_slots(lanes);
    return true;
}

static void put_slot(struct pawl__pg_lanes *lanes, uint32_t at)
{
    const struct pawl__pg_lane *lane = lanes->lanes[at];
    uint64_t h = hash_names(lanes->seed, lanes->queues[lane->queue].name, lane->type);
    uint32_t i = (uint32_t)h & (lanes->slot_count - 1);
    while (lanes->slots[i]) {
        i = (i + 1) & (lanes->slot_count - 1);
    }
    lanes->slots[i] = at + 1;
}

struct pawl__pg_lane *pawl__pg_lane_find(struct pawl__backend *pg, const char *queue,
                                         const char *type)
{
    struct pawl__pg_lanes *lanes = &pg->lanes;
    if (!lanes->slot_count) return NULL;
    uint32_t i = (uint32_t)hash_names(lanes->seed, queue, type) & (lanes->slot_count - 1);
    for (; lanes->slots[i]; i = (i + 1) & (lanes->slot_count - 1)) {
        struct pawl__pg_lane *lane = lanes->lanes[lanes->slots[i] - 1];
        if (strcmp(lane->type, type) == 0 && strcmp(lanes->queues[lane->queue].name, queue) == 0) {
            return lane;
        }
    }
    return NULL;
}

struct pawl__pg_queue *pawl__pg_queue_find(struct pawl__backend *pg, const char *name)
{
    const struct pawl__pg_lanes *lanes = &pg->lanes;
    if (!lanes->queue_cap) return NULL;
    uint32_t at = lanes->queue_slots[queue_slot(lanes, name)];
    return at ? &lanes->queues[at - 1] : NULL;
}

static bool room_for_lane(struct pawl__pg_lanes *lanes)
{
    if (lanes->lane_count < lanes->lane_cap) return true;
    uint32_t cap = lanes->lane_cap ? lanes->lane_cap * 2 : 32;
    struct pawl__pg_lane **grown = realloc(lanes->lanes, cap * sizeof *grown);
    if (grown) lanes->lanes = grown;
    uint32_t *touched = realloc(lanes->touched, cap * sizeof *touched);
    if (touched) lanes->touched = touched;
    uint32_t *slots = calloc((size_t)cap * 4, sizeof *slots);
    if (!grown || !touched || !slots) {
        free(slots);
        return false;
    }
    free(lanes->slots);
    lanes->slots = slots;
    lanes->slot_count = cap * 4;
    lanes->lane_cap = cap;
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        put_slot(lanes, i);
    }
    return true;
}

static bool room_for_id(struct pawl__pg_lanes *lanes, int64_t id)
{
    if ((size_t)id < lanes->id_cap) return true;
    size_t cap = lanes->id_cap ? lanes->id_cap : 64;
    while (cap <= (size_t)id) {
        cap *= 2;
    }
    uint32_t *grown = realloc(lanes->by_id, cap * sizeof *grown);
    if (!grown) return false;
    memset(grown + lanes->id_cap, 0, (cap - lanes->id_cap) * sizeof *grown);
    lanes->by_id = grown;
    lanes->id_cap = cap;
    return true;
}

static struct pawl__pg_queue *queue_by_id(struct pawl__pg_lanes *lanes, int64_t id)
{
    for (uint32_t i = lanes->queue_count; i-- > 0;) {
        if (lanes->queues[i].id == id) return &lanes->queues[i];
    }
    return NULL;
}

static struct pawl__pg_lane *lane_by_id(struct pawl__pg_lanes *lanes, int64_t id)
{
    if (id < 0 || (size_t)id >= lanes->id_cap || !lanes->by_id[id]) return NULL;
    return lanes->lanes[lanes->by_id[id] - 1];
}

static enum pawl_err learn_queue(struct pawl__backend *pg, const PGresult *rows, int row)
{
    struct pawl__pg_lanes *lanes = &pg->lanes;
    struct pawl__pg_queue *known = pawl__pg_queue_find(pg, pawl__pg_raw(rows, row, 1).at);
    if (known) {
        known->paused = pawl__pg_bool(rows, row, 2);
        return PAWL_OK;
    }
    char *name = strdup(pawl__pg_raw(rows, row, 1).at);
    if (!name || !room_for_queue(lanes)) {
        free(name);
        return pawl__fail_nomem(pg->diag);
    }
    uint32_t at = lanes->queue_count++;
    assert(lanes->queues); // there is room
    lanes->queue_slots[queue_slot(lanes, name)] = at + 1;
    lanes->queues[at] = (struct pawl__pg_queue){ .id = pawl__pg_int(rows, row, 0),
                                                 .name = name,
                                                 .paused = pawl__pg_bool(rows, row, 2) };
    return PAWL_OK;
}

static enum pawl_err learn_lane(struct pawl__backend *pg, const PGresult *rows, int row)
{
    struct pawl__pg_lanes *lanes = &pg->lanes;
    int64_t id = pawl__pg_int(rows, row, 0);
    if (lane_by_id(lanes, id)) return PAWL_OK;
    struct pawl__pg_queue *queue = queue_by_id(lanes, pawl__pg_int(rows, row, 1));
    if (!queue || id < 0 || id > LANE_ID_MAX) {
        return pawl__fail(pg->diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: lane %lld has no queue", (long long)id);
    }
    char *type = strdup(pawl__pg_raw(rows, row, 2).at);
    struct pawl__pg_lane *lane = malloc(sizeof *lane);
    if (!type || !lane || !room_for_lane(lanes) || !room_for_id(lanes, id)) {
        free(lane);
        free(type);
        return pawl__fail_nomem(pg->diag);
    }
    uint32_t at = lanes->lane_count++;
    *lane = (struct pawl__pg_lane){ .id = id,
                                    .at = at,
                                    .queue = (uint32_t)(queue - lanes->queues),
                                    .next_lane = queue->first_lane,
                                    .type = type };
    lanes->lanes[at] = lane;
    queue->first_lane = at + 1;
    lanes->by_id[id] = at + 1;
    put_slot(lanes, at);
    return PAWL_OK;
}

/* What is new is added; nothing that is here moves, for others point to it by number. Lanes are
 * read before queues, so that every lane's queue is among them. */
static enum pawl_err load(struct pawl__backend *pg)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_LANE_ALL);
    pawl__pg_send_keep(conn, SLOT_LANES);
    pawl__pg_call(conn, PG_QUEUE_ALL);
    pawl__pg_send_keep(conn, SLOT_QUEUES);
    enum pawl_err err = pawl__pg_sync(conn, pg->diag);
    if (err) return err;
    const PGresult *queues = conn->kept[SLOT_QUEUES], *lanes = conn->kept[SLOT_LANES];
    for (int i = 0; !err && i < PQntuples(queues); i++) {
        err = learn_queue(pg, queues, i);
    }
    for (int i = 0; !err && i < PQntuples(lanes); i++) {
        err = learn_lane(pg, lanes, i);
    }
    return err;
}

enum pawl_err pawl__pg_lanes_refresh(struct pawl__backend *pg, int64_t version)
{
    if (version == pg->lanes.version) return PAWL_OK;
    enum pawl_err err = load(pg);
    if (!err) pg->lanes.version = version;
    return err;
}

struct missing {
    struct pawl__pg_list queues, types;
};

static void miss(struct missing *missing, const char *queue, const char *type)
{
    if (!missing->queues.type) {
        pawl__pg_list_begin(&missing->queues, PAWL__PG_TEXTS);
        pawl__pg_list_begin(&missing->types, PAWL__PG_TEXTS);
    }
    pawl__pg_list_add_text(&missing->queues, queue);
    pawl__pg_list_add_text(&missing->types, type);
}

static void look_for_missing(struct pawl__backend *pg, const struct pawl__op *op,
                             struct missing *missing)
{
    if (op->kind == PAWL__OP_QUEUE_PAUSE) {
        if (!pawl__pg_queue_find(pg, op->queue.queue)) miss(missing, op->queue.queue, NULL);
        return;
    }
    for (size_t i = 0; op->kind == PAWL__OP_SUBMIT && i < op->submit.count; i++) {
        const struct pawl_job_spec *spec = op->submit.jobs[i].spec;
        if (!pawl__pg_lane_find(pg, spec->queue, spec->type)) {
            miss(missing, spec->queue, spec->type);
        }
    }
}

/* The catalog's row comes first and makes those who do this wait for each other, so that they never
 * meet in the tables behind it. */
static enum pawl_err make_missing(struct pawl__backend *pg, struct missing *missing)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    pawl__pg_say(conn, PG_BEGIN);
    conn->in_transaction = true;
    if (conn->pooled) pawl__pg_conduct(conn, &how);
    pawl__pg_call(conn, PG_CATALOG_GROW);
    pawl__pg_send_keep(conn, 0);
    pawl__pg_call(conn, PG_QUEUE_INSERT);
    pawl__pg_bind_some(conn, PG_QUEUE_INSERT_now_ms,
                       pg->clock ? pawl__clock_wall_ms(pg->clock) : 0); // else the server's
    pawl__pg_bind_list(conn, PG_QUEUE_INSERT_names, &missing->queues);
    pawl__pg_send(conn);
    pawl__pg_call(conn, PG_LANE_INSERT);
    pawl__pg_bind_list(conn, PG_LANE_INSERT_names, &missing->queues);
    pawl__pg_bind_list(conn, PG_LANE_INSERT_types, &missing->types);
    pawl__pg_send(conn);
    pawl__pg_say(conn, PG_COMMIT);
    enum pawl_err err = pawl__pg_sync(conn, pg->diag);
    if (err) return err;
    conn->in_transaction = false;
    return pawl__pg_lanes_refresh(pg, pawl__pg_int(conn->kept[0], 0, 0));
}

enum pawl_err pawl__pg_lanes_prepare(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    struct missing missing = { 0 };
    for (size_t i = 0; i < count; i++) {
        look_for_missing(pg, ops[i], &missing);
    }
    enum pawl_err err = missing.queues.type ? make_missing(pg, &missing) : PAWL_OK;
    pawl__pg_list_release(&missing.queues);
    pawl__pg_list_release(&missing.types);
    return err;
}

enum pawl_err pawl__pg_lane_by_id(struct pawl__backend *pg, int64_t id, struct pawl__pg_lane **out)
{
    *out = lane_by_id(&pg->lanes, id);
    if (*out) return PAWL_OK;
    enum pawl_err err = load(pg); // made while this transaction was under way
    if (err) return err;
    *out = lane_by_id(&pg->lanes, id);
    if (*out) return PAWL_OK;
    return pawl__fail(pg->diag, PAWL_ERR_CORRUPT, "the store is damaged: there is no lane %lld",
                      (long long)id);
}

/* ---- counters ---- */

static void add_delta(struct pawl__backend *pg, struct pawl__pg_lane *lane, enum pawl_state from,
                      enum pawl_state to)
{
    if (!lane->touched) {
        lane->touched = true;
        pg->lanes.touched[pg->lanes.touched_count++] = lane->at;
    }
    if (from != PAWL__PG_OUTSIDE) lane->delta[from]--;
    if (to != PAWL__PG_OUTSIDE) lane->delta[to]++;
}

/* Without room the savepoint cannot be undone by itself any more; see pawl__pg_savepoint_undo. */
static bool room_for_undo(struct pawl__backend *pg)
{
    if (pg->undo_count < pg->undo_cap) return true;
    size_t cap = pg->undo_cap ? pg->undo_cap * 2 : 256;
    struct pawl__pg_undo *grown = realloc(pg->undo, cap * sizeof *grown);
    if (!grown) pg->undo_lost = true;
    if (!grown) return false;
    pg->undo = grown;
    pg->undo_cap = cap;
    return true;
}

void pawl__pg_count(struct pawl__backend *pg, struct pawl__pg_lane *lane, enum pawl_state from,
                    enum pawl_state to)
{
    add_delta(pg, lane, from, to);
    pg->worn++;
    if (!pg->in_savepoint || !room_for_undo(pg)) return;
    pg->undo[pg->undo_count++] =
        (struct pawl__pg_undo){ .lane = lane->at, .from = (uint8_t)from, .to = (uint8_t)to };
}

void pawl__pg_moved(struct pawl__backend *pg, struct pawl__pg_lane *lane, struct pawl_job_id id,
                    int64_t run, enum pawl_state from, enum pawl_state to)
{
    pawl__pg_count(pg, lane, from, to);
    if (to == PAWL_STATE_AVAILABLE) pg->tale.ready = true;
    if (pg->tale.all_moves) pawl__pg_tale_move(pg, lane, id, run, from, to);
}

static void fold(struct pawl__backend *pg)
{
    pg->unfolded = 0;
    pawl__pg_call(&pg->writer, PG_COUNT_FOLD);
    pawl__pg_bind(&pg->writer, PG_COUNT_FOLD_number, PAWL__PG_LOCK_FOLD);
    pawl__pg_bind(&pg->writer, PG_COUNT_FOLD_limit, PAWL__PG_FOLD_ROWS_MAX);
    pawl__pg_send(&pg->writer);
}

enum pawl_err pawl__pg_counts_flush(struct pawl__backend *pg)
{
    struct pawl__pg_list *lanes = &pg->gather.lists[0], *states = &pg->gather.lists[1],
                         *deltas = &pg->gather.lists[2];
    pawl__pg_list_begin(lanes, PAWL__PG_INTS);
    pawl__pg_list_begin(states, PAWL__PG_INTS);
    pawl__pg_list_begin(deltas, PAWL__PG_INTS);
    for (uint32_t i = 0; i < pg->lanes.touched_count; i++) {
        const struct pawl__pg_lane *lane = pg->lanes.lanes[pg->lanes.touched[i]];
        for (int state = 0; state < PAWL_STATE_END; state++) {
            if (!lane->delta[state]) continue;
            pawl__pg_list_add(lanes, lane->id);
            pawl__pg_list_add(states, state);
            pawl__pg_list_add(deltas, lane->delta[state]);
        }
    }
    if (!lanes->count) return PAWL_OK;
    pawl__pg_call(&pg->writer, PG_COUNT_ADD);
    pawl__pg_bind_list(&pg->writer, PG_COUNT_ADD_lanes, lanes);
    pawl__pg_bind_list(&pg->writer, PG_COUNT_ADD_states, states);
    pawl__pg_bind_list(&pg->writer, PG_COUNT_ADD_deltas, deltas);
    pawl__pg_send(&pg->writer);
    if (++pg->unfolded >= PAWL__PG_FOLD_COMMITS) fold(pg);
    return PAWL_OK;
}

void pawl__pg_counts_forget(struct pawl__backend *pg)
{
    for (uint32_t i = 0; i < pg->lanes.touched_count; i++) {
        struct pawl__pg_lane *lane = pg->lanes.lanes[pg->lanes.touched[i]];
        memset(lane->delta, 0, sizeof lane->delta);
        lane->touched = false;
    }
    pg->lanes.touched_count = 0;
}

/* ---- savepoints ---- */

void pawl__pg_savepoint(struct pawl__backend *pg)
{
    assert(!pg->in_savepoint);
    pawl__pg_say(&pg->writer, PG_SAVEPOINT);
    pg->in_savepoint = true;
    pg->undo_count = 0;
    pg->undo_lost = false;
    pg->undo_moves = pg->tale.move_count;
    pawl__pg_rolls_mark(pg);
}

void pawl__pg_savepoint_keep(struct pawl__backend *pg)
{
    pg->in_savepoint = false;
    pawl__pg_say(&pg->writer, PG_SAVEPOINT_KEEP);
}

enum pawl_err pawl__pg_savepoint_undo(struct pawl__backend *pg)
{
    pg->in_savepoint = false;
    if (pg->undo_lost) return pawl__fail_nomem(pg->diag); // takes the whole transaction down
    while (pg->undo_count > 0) {
        const struct pawl__pg_undo *undo = &pg->undo[--pg->undo_count];
        add_delta(pg, pg->lanes.lanes[undo->lane], undo->to, undo->from);
    }
    pg->tale.move_count = pg->undo_moves;
    pawl__pg_rolls_undo(pg);
    pawl__pg_say(&pg->writer, PG_SAVEPOINT_UNDO);
    pawl__pg_say(&pg->writer, PG_SAVEPOINT_KEEP);
    return PAWL_OK;
}
