/* Lanes: (queue, type) pairs by number, kept in memory, and the counters of jobs per lane and
 * state.
 *
 * Runs on: the committer's thread, inside a transaction. Lanes are never deleted, so what is here
 * stays true; other processes may add more, which PRAGMA data_version tells us. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static void clear_queue_slots(struct pawl__sq_lanes *lanes)
{
    if (!lanes->queue_slots) return;
    memset(lanes->queue_slots, 0, lanes->queue_cap * 4 * sizeof *lanes->queue_slots);
}

static void forget_all(struct pawl__sq_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->queue_count; i++) {
        free(lanes->queues[i].name);
    }
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        free(lanes->lanes[i].type);
    }
    lanes->queue_count = lanes->lane_count = lanes->touched_count = 0;
    clear_queue_slots(lanes);
    if (lanes->slots) memset(lanes->slots, 0, lanes->slot_count * sizeof *lanes->slots);
}

void pawl__sq_lanes_release(struct pawl__sq_lanes *lanes)
{
    forget_all(lanes);
    free(lanes->queues);
    free(lanes->queue_slots);
    free(lanes->lanes);
    free(lanes->slots);
    free(lanes->touched);
    memset(lanes, 0, sizeof *lanes);
}

/* A queue's name is hashed as a lane without a type. */
static uint32_t queue_slot(const struct pawl__sq_lanes *lanes, const char *name)
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
static void fill_queue_slots(struct pawl__sq_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->queue_count; i++) {
        lanes->queue_slots[queue_slot(lanes, lanes->queues[i].name)] = i + 1;
    }
}

static bool room_for_queue(struct pawl__sq_lanes *lanes)
{
    if (lanes->queue_count < lanes->queue_cap) return true;
    uint32_t cap = lanes->queue_cap ? lanes->queue_cap * 2 : 16;
    struct pawl__sq_queue *grown = realloc(lanes->queues, cap * sizeof *grown);
    if (grown) lanes->queues = grown;
    uint32_t *slots = calloc((size_t)cap * 4, sizeof *slots);
    if (!grown || !slots) {
        free(slots);
        return false;
    }
    free(lanes->queue_slots);
    lanes->queue_slots = slots;
    lanes->queue_cap = cap;
    fill_queue_slots(lanes);
    return true;
}

static void put_slot(struct pawl__sq_lanes *lanes, uint32_t at)
{
    const struct pawl__sq_lane *lane = &lanes->lanes[at];
    uint64_t h = hash_names(lanes->seed, lanes->queues[lane->queue].name, lane->type);
    uint32_t i = (uint32_t)h & (lanes->slot_count - 1);
    while (lanes->slots[i]) {
        i = (i + 1) & (lanes->slot_count - 1);
    }
    lanes->slots[i] = at + 1;
}

static struct pawl__sq_lane *find_lane(struct pawl__sq_lanes *lanes, const char *queue,
                                       const char *type)
{
    if (!lanes->slot_count) return NULL;
    uint32_t i = (uint32_t)hash_names(lanes->seed, queue, type) & (lanes->slot_count - 1);
    for (; lanes->slots[i]; i = (i + 1) & (lanes->slot_count - 1)) {
        struct pawl__sq_lane *lane = &lanes->lanes[lanes->slots[i] - 1];
        if (strcmp(lane->type, type) == 0 && strcmp(lanes->queues[lane->queue].name, queue) == 0) {
            return lane;
        }
    }
    return NULL;
}

static bool room_for_lane(struct pawl__sq_lanes *lanes)
{
    if (lanes->lane_count < lanes->lane_cap) return true;
    uint32_t cap = lanes->lane_cap ? lanes->lane_cap * 2 : 32;
    struct pawl__sq_lane *grown = realloc(lanes->lanes, cap * sizeof *grown);
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

static enum pawl_err add_queue(struct pawl__backend *sq, int64_t id, const char *name, bool paused)
{
    struct pawl__sq_lanes *lanes = &sq->lanes;
    char *copy = strdup(name);
    if (!copy || !room_for_queue(lanes)) {
        free(copy);
        return pawl__fail_nomem(sq->diag);
    }
    uint32_t at = lanes->queue_count++;
    assert(lanes->queues); // there is room
    lanes->queue_slots[queue_slot(lanes, name)] = at + 1;
    lanes->queues[at] = (struct pawl__sq_queue){ .id = id, .name = copy, .paused = paused };
    return PAWL_OK;
}

static struct pawl__sq_queue *queue_by_id(struct pawl__sq_lanes *lanes, int64_t id)
{
    for (uint32_t i = lanes->queue_count; i-- > 0;) {
        if (lanes->queues[i].id == id) return &lanes->queues[i];
    }
    return NULL;
}

static enum pawl_err add_lane(struct pawl__backend *sq, int64_t id, int64_t queue_id,
                              const char *type)
{
    struct pawl__sq_lanes *lanes = &sq->lanes;
    struct pawl__sq_queue *queue = queue_by_id(lanes, queue_id);
    if (!queue) {
        return pawl__fail(sq->diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: lane %lld has no queue", (long long)id);
    }
    char *copy = strdup(type);
    if (!copy || !room_for_lane(lanes)) {
        free(copy);
        return pawl__fail_nomem(sq->diag);
    }
    uint32_t at = lanes->lane_count++;
    lanes->lanes[at] = (struct pawl__sq_lane){ .id = id,
                                               .queue = (uint32_t)(queue - lanes->queues),
                                               .next_lane = queue->first_lane,
                                               .type = copy };
    queue->first_lane = at + 1;
    put_slot(lanes, at);
    return PAWL_OK;
}

static enum pawl_err read_queues(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_QUEUE_ALL);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        bool paused = sqlite3_column_int(stmt, 2) != 0;
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        struct pawl__sq_queue *queue = name ? pawl__sq_queue_find(sq, name) : NULL;
        if (queue) {
            queue->paused = paused;
            continue;
        }
        err = name ? add_queue(sq, sqlite3_column_int64(stmt, 0), name, paused)
                   : pawl__fail_nomem(sq->diag);
        if (err) {
            sqlite3_reset(stmt);
            return err;
        }
    }
    return err;
}

static enum pawl_err read_new_lanes(struct pawl__backend *sq)
{
    struct pawl__sq_lanes *lanes = &sq->lanes;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LANE_SINCE);
    pawl__sq_bind(stmt, SQL_LANE_SINCE_id,
                  lanes->lane_count ? lanes->lanes[lanes->lane_count - 1].id : 0);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        const char *type = (const char *)sqlite3_column_text(stmt, 2);
        err = type
                  ? add_lane(sq, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), type)
                  : pawl__fail_nomem(sq->diag);
        if (err) {
            sqlite3_reset(stmt);
            return err;
        }
    }
    return err;
}

static enum pawl_err read_archive_high(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ARCHIVE_HIGH);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    bool none = sqlite3_column_type(stmt, 0) == SQLITE_NULL;
    sq->archive_high = none ? INT64_MIN : sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return PAWL_OK;
}

enum pawl_err pawl__sq_lanes_refresh(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_DATA_VERSION);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    int64_t version = found ? sqlite3_column_int64(stmt, 0) : 0;
    if (found) sqlite3_reset(stmt);
    if (!sq->lanes.stale && version == sq->data_version) return PAWL_OK;
    sq->fresh.valid = false;
    if (sq->lanes.stale) forget_all(&sq->lanes);
    sq->lanes.stale = true; // unless both succeed
    err = read_queues(sq);
    if (!err) err = read_new_lanes(sq);
    if (!err) err = read_archive_high(sq);
    if (err) return err;
    sq->lanes.stale = false;
    sq->data_version = version;
    return PAWL_OK;
}

struct pawl__sq_queue *pawl__sq_queue_find(struct pawl__backend *sq, const char *name)
{
    const struct pawl__sq_lanes *lanes = &sq->lanes;
    if (!lanes->queue_cap) return NULL;
    uint32_t at = lanes->queue_slots[queue_slot(lanes, name)];
    return at ? &lanes->queues[at - 1] : NULL;
}

enum pawl_err pawl__sq_queue_of(struct pawl__backend *sq, const char *name,
                                struct pawl__sq_queue **out)
{
    *out = pawl__sq_queue_find(sq, name);
    if (*out) return PAWL_OK;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_QUEUE_INSERT);
    pawl__sq_bind_text(stmt, SQL_QUEUE_INSERT_name, name);
    pawl__sq_bind(stmt, SQL_QUEUE_INSERT_created_at_ms, sq->now_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    err = add_queue(sq, sqlite3_last_insert_rowid(sq->writer.db), name, false);
    if (err) return err;
    *out = &sq->lanes.queues[sq->lanes.queue_count - 1];
    return PAWL_OK;
}

enum pawl_err pawl__sq_lane_of(struct pawl__backend *sq, const char *queue, const char *type,
                               struct pawl__sq_lane **out)
{
    *out = find_lane(&sq->lanes, queue, type);
    if (*out) return PAWL_OK;
    struct pawl__sq_queue *owner;
    enum pawl_err err = pawl__sq_queue_of(sq, queue, &owner);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LANE_INSERT);
    pawl__sq_bind(stmt, SQL_LANE_INSERT_queue_id, owner->id);
    pawl__sq_bind_text(stmt, SQL_LANE_INSERT_type, type);
    err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    err = add_lane(sq, sqlite3_last_insert_rowid(sq->writer.db), owner->id, type);
    if (err) return err;
    *out = &sq->lanes.lanes[sq->lanes.lane_count - 1];
    return PAWL_OK;
}

enum pawl_err pawl__sq_lane_by_id(struct pawl__backend *sq, int64_t id, struct pawl__sq_lane **out)
{
    uint32_t low = 0, high = sq->lanes.lane_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (sq->lanes.lanes[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    bool hit = low < sq->lanes.lane_count && sq->lanes.lanes[low].id == id;
    *out = hit ? &sq->lanes.lanes[low] : NULL;
    if (hit) return PAWL_OK;
    return pawl__fail(sq->diag, PAWL_ERR_CORRUPT, "the store is damaged: there is no lane %lld",
                      (long long)id);
}

static void add_delta(struct pawl__backend *sq, struct pawl__sq_lane *lane, enum pawl_state from,
                      enum pawl_state to)
{
    if (!lane->touched) {
        lane->touched = true;
        sq->lanes.touched[sq->lanes.touched_count++] = (uint32_t)(lane - sq->lanes.lanes);
    }
    if (from != PAWL__SQ_OUTSIDE) lane->delta[from]--;
    if (to != PAWL__SQ_OUTSIDE) lane->delta[to]++;
}

/* Without room the savepoint cannot be undone by itself any more; see pawl__sq_savepoint_undo. */
static bool room_for_undo(struct pawl__backend *sq)
{
    if (sq->undo_count < sq->undo_cap) return true;
    size_t cap = sq->undo_cap ? sq->undo_cap * 2 : 256;
    struct pawl__sq_undo *grown = realloc(sq->undo, cap * sizeof *grown);
    if (!grown) sq->undo_lost = true;
    if (!grown) return false;
    sq->undo = grown;
    sq->undo_cap = cap;
    return true;
}

void pawl__sq_count(struct pawl__backend *sq, struct pawl__sq_lane *lane, enum pawl_state from,
                    enum pawl_state to)
{
    add_delta(sq, lane, from, to);
    if (!sq->in_savepoint || !room_for_undo(sq)) return;
    sq->undo[sq->undo_count++] = (struct pawl__sq_undo){ .lane = (uint32_t)(lane - sq->lanes.lanes),
                                                         .from = (uint8_t)from,
                                                         .to = (uint8_t)to };
}

void pawl__sq_moved(struct pawl__backend *sq, struct pawl__sq_lane *lane, struct pawl_job_id id,
                    int64_t run, enum pawl_state from, enum pawl_state to)
{
    pawl__sq_count(sq, lane, from, to);
    if (to == PAWL_STATE_AVAILABLE) sq->tale.ready = true;
    if (sq->tale.all_moves) pawl__sq_tale_move(sq, lane, id, run, from, to);
}

static enum pawl_err flush_lane(struct pawl__backend *sq, struct pawl__sq_lane *lane)
{
    for (int state = 0; state < PAWL_STATE_END; state++) {
        if (!lane->delta[state]) continue;
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_COUNT_ADD);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_lane, lane->id);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_state, state);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_delta, lane->delta[state]);
        enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
        if (!err && sqlite3_changes(sq->writer.db) == 0) {
            stmt = pawl__sq_use(&sq->writer, SQL_COUNT_INSERT);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_lane, lane->id);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_state, state);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_delta, lane->delta[state]);
            err = pawl__sq_run(&sq->writer, stmt, sq->diag);
        }
        if (err) return err;
    }
    return PAWL_OK;
}

enum pawl_err pawl__sq_counts_flush(struct pawl__backend *sq)
{
    for (uint32_t i = 0; i < sq->lanes.touched_count; i++) {
        enum pawl_err err = flush_lane(sq, &sq->lanes.lanes[sq->lanes.touched[i]]);
        if (err) return err;
    }
    return PAWL_OK;
}

void pawl__sq_counts_forget(struct pawl__backend *sq)
{
    for (uint32_t i = 0; i < sq->lanes.touched_count; i++) {
        struct pawl__sq_lane *lane = &sq->lanes.lanes[sq->lanes.touched[i]];
        memset(lane->delta, 0, sizeof lane->delta);
        lane->touched = false;
    }
    sq->lanes.touched_count = 0;
}

/* Back to the first `lane_count` lanes and `queue_count` queues. */
static void forget_newer(struct pawl__sq_lanes *lanes, uint32_t lane_count, uint32_t queue_count)
{
    if (lanes->lane_count == lane_count && lanes->queue_count == queue_count) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lanes->touched_count; i++) {
        if (lanes->touched[i] < lane_count) lanes->touched[kept++] = lanes->touched[i];
    }
    lanes->touched_count = kept;
    while (lanes->lane_count > lane_count) {
        const struct pawl__sq_lane *lane = &lanes->lanes[--lanes->lane_count];
        lanes->queues[lane->queue].first_lane = lane->next_lane;
        free(lane->type);
    }
    while (lanes->queue_count > queue_count) {
        free(lanes->queues[--lanes->queue_count].name);
    }
    clear_queue_slots(lanes);
    fill_queue_slots(lanes);
    memset(lanes->slots, 0, lanes->slot_count * sizeof *lanes->slots);
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        put_slot(lanes, i);
    }
}

enum pawl_err pawl__sq_savepoint(struct pawl__backend *sq)
{
    assert(!sq->in_savepoint);
    enum pawl_err err = pawl__sq_exec(&sq->writer, SQL_SAVEPOINT, sq->diag);
    if (err) return err;
    sq->in_savepoint = true;
    sq->undo_count = 0;
    sq->undo_lost = false;
    sq->undo_lanes = sq->lanes.lane_count;
    sq->undo_queues = sq->lanes.queue_count;
    sq->undo_moves = sq->tale.move_count;
    return PAWL_OK;
}

enum pawl_err pawl__sq_savepoint_keep(struct pawl__backend *sq)
{
    sq->in_savepoint = false;
    return pawl__sq_exec(&sq->writer, SQL_SAVEPOINT_KEEP, sq->diag);
}

enum pawl_err pawl__sq_savepoint_undo(struct pawl__backend *sq)
{
    sq->in_savepoint = false;
    if (sq->undo_lost) return pawl__fail_nomem(sq->diag); // takes the whole transaction down
    while (sq->undo_count > 0) {
        const struct pawl__sq_undo *undo = &sq->undo[--sq->undo_count];
        add_delta(sq, &sq->lanes.lanes[undo->lane], undo->to, undo->from);
    }
    forget_newer(&sq->lanes, sq->undo_lanes, sq->undo_queues);
    sq->tale.move_count = sq->undo_moves;
    enum pawl_err err = pawl__sq_exec(&sq->writer, SQL_SAVEPOINT_UNDO, sq->diag);
    return err ? err : pawl__sq_exec(&sq->writer, SQL_SAVEPOINT_KEEP, sq->diag);
}
