/* See catalog.h. */
#include "store/core/catalog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Numbers are small: stores count from 1. */
#define NUMBER_MAX INT64_C(100000000)

enum { SLOTS_PER_ENTRY = 4 };

/* ---- hashing ---- */

static uint64_t hash_on(uint64_t h, const char *text)
{
    for (const char *p = text; *p; p++) {
        h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
    }
    return (h ^ 0x1f) * UINT64_C(0x100000001b3); // where it ends
}

/* FNV-1a. A queue is hashed as a lane without a type. */
static uint32_t hash_names(const struct pawl__catalog *catalog, const char *queue, const char *type)
{
    uint64_t h = hash_on(catalog->seed ^ UINT64_C(0xcbf29ce484222325), queue);
    h = hash_on(h, type);
    return (uint32_t)(h ^ (h >> 29));
}

/* Where the queue is, or where it goes. */
static uint32_t *queue_slot(const struct pawl__catalog *catalog, const char *name)
{
    uint32_t mask = catalog->queue_cap * SLOTS_PER_ENTRY - 1;
    uint32_t i = hash_names(catalog, name, "") & mask;
    while (catalog->queue_slots[i] &&
           strcmp(catalog->queues[catalog->queue_slots[i] - 1].name, name) != 0) {
        i = (i + 1) & mask;
    }
    return &catalog->queue_slots[i];
}

static bool is_named(const struct pawl__catalog *catalog, const struct pawl__lane *lane,
                     const char *queue, const char *type)
{
    return strcmp(lane->type, type) == 0 &&
           strcmp(pawl__catalog_queue_name(catalog, lane), queue) == 0;
}

static uint32_t *lane_slot(const struct pawl__catalog *catalog, const char *queue, const char *type)
{
    uint32_t mask = catalog->lane_cap * SLOTS_PER_ENTRY - 1;
    uint32_t i = hash_names(catalog, queue, type) & mask;
    while (catalog->lane_slots[i] &&
           !is_named(catalog, catalog->lanes[catalog->lane_slots[i] - 1], queue, type)) {
        i = (i + 1) & mask;
    }
    return &catalog->lane_slots[i];
}

static void clear_slots(uint32_t *slots, uint32_t cap)
{
    if (slots) memset(slots, 0, (size_t)cap * SLOTS_PER_ENTRY * sizeof *slots);
}

/* The slots are empty. */
static void fill_queue_slots(struct pawl__catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->queue_count; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): realloc keeps the names
        *queue_slot(catalog, catalog->queues[i].name) = i + 1;
    }
}

static void fill_lane_slots(struct pawl__catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->lane_count; i++) {
        const struct pawl__lane *lane = catalog->lanes[i];
        *lane_slot(catalog, pawl__catalog_queue_name(catalog, lane), lane->type) = i + 1;
    }
}

/* ---- numbers ---- */

static uint32_t numbered(const struct pawl__numbering *numbers, int64_t id)
{
    return id < 0 || (size_t)id >= numbers->cap ? 0 : numbers->at[id];
}

/* `id` is no greater than NUMBER_MAX. */
static bool room_for_number(struct pawl__numbering *numbers, int64_t id)
{
    if ((size_t)id < numbers->cap) return true;
    size_t cap = numbers->cap ? numbers->cap : 64;
    while (cap <= (size_t)id) {
        cap *= 2;
    }
    uint32_t *grown = realloc(numbers->at, cap * sizeof *grown);
    if (!grown) return false;
    memset(grown + numbers->cap, 0, (cap - numbers->cap) * sizeof *grown);
    *numbers = (struct pawl__numbering){ grown, cap };
    return true;
}

/* ---- forgetting ---- */

static void forget_last_lane(struct pawl__catalog *catalog)
{
    struct pawl__lane *lane = catalog->lanes[--catalog->lane_count];
    catalog->queues[lane->queue].first_lane = lane->next_lane;
    catalog->lanes_by_id.at[lane->id] = 0;
    free(lane->type);
    free(lane);
}

static void forget_last_queue(struct pawl__catalog *catalog)
{
    struct pawl__queue *queue = &catalog->queues[--catalog->queue_count];
    catalog->queues_by_id.at[queue->id] = 0;
    free(queue->name);
}

void pawl__catalog_truncate(struct pawl__catalog *catalog, uint32_t lane_count,
                            uint32_t queue_count)
{
    if (catalog->lane_count == lane_count && catalog->queue_count == queue_count) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < catalog->touched_count; i++) {
        if (catalog->touched[i] < lane_count) catalog->touched[kept++] = catalog->touched[i];
    }
    catalog->touched_count = kept;
    while (catalog->lane_count > lane_count) {
        forget_last_lane(catalog);
    }
    while (catalog->queue_count > queue_count) {
        forget_last_queue(catalog);
    }
    clear_slots(catalog->queue_slots, catalog->queue_cap);
    clear_slots(catalog->lane_slots, catalog->lane_cap);
    fill_queue_slots(catalog);
    fill_lane_slots(catalog);
}

void pawl__catalog_clear(struct pawl__catalog *catalog)
{
    pawl__catalog_truncate(catalog, 0, 0);
}

void pawl__catalog_release(struct pawl__catalog *catalog)
{
    pawl__catalog_clear(catalog);
    free(catalog->queues);
    free(catalog->queue_slots);
    free(catalog->lanes);
    free(catalog->lane_slots);
    free(catalog->queues_by_id.at);
    free(catalog->lanes_by_id.at);
    free(catalog->touched);
    *catalog = (struct pawl__catalog){ .seed = catalog->seed };
}

/* ---- finding ---- */

struct pawl__queue *pawl__catalog_queue(const struct pawl__catalog *catalog, const char *name)
{
    if (!catalog->queue_cap) return NULL;
    uint32_t at = *queue_slot(catalog, name);
    return at ? &catalog->queues[at - 1] : NULL;
}

struct pawl__lane *pawl__catalog_lane(const struct pawl__catalog *catalog, const char *queue,
                                      const char *type)
{
    if (!catalog->lane_cap) return NULL;
    uint32_t at = *lane_slot(catalog, queue, type);
    return at ? catalog->lanes[at - 1] : NULL;
}

struct pawl__lane *pawl__catalog_lane_by_id(const struct pawl__catalog *catalog, int64_t id)
{
    uint32_t at = numbered(&catalog->lanes_by_id, id);
    return at ? catalog->lanes[at - 1] : NULL;
}

enum pawl_err pawl__catalog_refuse_lane(int64_t id, struct pawl_diag *diag)
{
    return pawl__fail(diag, PAWL_ERR_CORRUPT, "the store is damaged: there is no lane %lld",
                      (long long)id);
}

/* ---- learning ---- */

static bool room_for_queue(struct pawl__catalog *catalog)
{
    if (catalog->queue_count < catalog->queue_cap) return true;
    uint32_t cap = catalog->queue_cap ? catalog->queue_cap * 2 : 16;
    struct pawl__queue *grown = realloc(catalog->queues, cap * sizeof *grown);
    if (grown) catalog->queues = grown;
    uint32_t *slots = calloc((size_t)cap * SLOTS_PER_ENTRY, sizeof *slots);
    if (!grown || !slots) {
        free(slots);
        return false;
    }
    free(catalog->queue_slots);
    catalog->queue_slots = slots;
    catalog->queue_cap = cap;
    fill_queue_slots(catalog);
    return true;
}

static bool room_for_lane(struct pawl__catalog *catalog)
{
    if (catalog->lane_count < catalog->lane_cap) return true;
    uint32_t cap = catalog->lane_cap ? catalog->lane_cap * 2 : 32;
    struct pawl__lane **grown = realloc(catalog->lanes, cap * sizeof *grown);
    if (grown) catalog->lanes = grown;
    uint32_t *touched = realloc(catalog->touched, cap * sizeof *touched);
    if (touched) catalog->touched = touched;
    uint32_t *slots = calloc((size_t)cap * SLOTS_PER_ENTRY, sizeof *slots);
    if (!grown || !touched || !slots) {
        free(slots);
        return false;
    }
    free(catalog->lane_slots);
    catalog->lane_slots = slots;
    catalog->lane_cap = cap;
    fill_lane_slots(catalog);
    return true;
}

static enum pawl_err refuse_number(const char *what, int64_t id, struct pawl_diag *diag)
{
    return pawl__fail(diag, PAWL_ERR_CORRUPT, "the store is damaged: %s %lld cannot be", what,
                      (long long)id);
}

enum pawl_err pawl__catalog_learn_queue(struct pawl__catalog *catalog, int64_t id, const char *name,
                                        bool paused, struct pawl_diag *diag)
{
    struct pawl__queue *known = pawl__catalog_queue(catalog, name);
    if (known) {
        known->paused = paused;
        return PAWL_OK;
    }
    if (id < 0 || id > NUMBER_MAX) return refuse_number("queue", id, diag);
    char *copy = strdup(name);
    if (!copy || !room_for_queue(catalog) || !room_for_number(&catalog->queues_by_id, id)) {
        free(copy);
        return pawl__fail_nomem(diag);
    }
    uint32_t at = catalog->queue_count++;
    catalog->queues[at] = (struct pawl__queue){ .id = id, .name = copy, .paused = paused };
    catalog->queues_by_id.at[id] = at + 1;
    *queue_slot(catalog, name) = at + 1;
    return PAWL_OK;
}

enum pawl_err pawl__catalog_learn_lane(struct pawl__catalog *catalog, int64_t id, int64_t queue_id,
                                       const char *type, struct pawl_diag *diag)
{
    if (numbered(&catalog->lanes_by_id, id)) return PAWL_OK;
    if (id < 0 || id > NUMBER_MAX) return refuse_number("lane", id, diag);
    uint32_t queue = numbered(&catalog->queues_by_id, queue_id);
    if (!queue) {
        return pawl__fail(diag, PAWL_ERR_CORRUPT, "the store is damaged: lane %lld has no queue",
                          (long long)id);
    }
    char *copy = strdup(type);
    struct pawl__lane *lane = malloc(sizeof *lane);
    if (!copy || !lane || !room_for_lane(catalog) || !room_for_number(&catalog->lanes_by_id, id)) {
        free(lane);
        free(copy);
        return pawl__fail_nomem(diag);
    }
    uint32_t at = catalog->lane_count++;
    struct pawl__queue *owner = &catalog->queues[queue - 1];
    *lane = (struct pawl__lane){
        .id = id, .at = at, .queue = queue - 1, .next_lane = owner->first_lane, .type = copy
    };
    catalog->lanes[at] = lane;
    catalog->lanes_by_id.at[id] = at + 1;
    owner->first_lane = at + 1;
    *lane_slot(catalog, owner->name, type) = at + 1;
    return PAWL_OK;
}

/* ---- counting ---- */

void pawl__catalog_count(struct pawl__catalog *catalog, struct pawl__lane *lane,
                         enum pawl_state from, enum pawl_state to)
{
    catalog->moves++;
    if (!lane->touched) {
        lane->touched = true;
        catalog->touched[catalog->touched_count++] = lane->at;
    }
    if (from != PAWL__OUTSIDE) lane->delta[from]--;
    if (to != PAWL__OUTSIDE) lane->delta[to]++;
}

void pawl__catalog_forget_counts(struct pawl__catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->touched_count; i++) {
        struct pawl__lane *lane = catalog->lanes[catalog->touched[i]];
        memset(lane->delta, 0, sizeof lane->delta);
        lane->touched = false;
    }
    catalog->touched_count = 0;
    catalog->moves = 0;
}
