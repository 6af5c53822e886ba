/* Since when jobs wait or run: open addressing with linear probing, and deletion that closes the
 * gap, so that lookups never pass over removed entries. */
#include "http/events/latency.h"
#include "base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct pawl_job_id id;
    int64_t since_ms;
    uint8_t state; /* NONE: an empty place */
};

struct pawl__latency {
    struct entry *at;
    size_t mask; /* places - 1 */
    size_t max, count;
};

struct pawl__latency *pawl__latency_new(size_t max)
{
    assert(max >= 4);
    struct pawl__latency *latency = calloc(1, sizeof *latency);
    size_t places = 8;
    while (places < max + max / 2) {
        places *= 2;
    }
    if (latency) latency->at = calloc(places, sizeof *latency->at);
    if (!latency || !latency->at) {
        free(latency);
        return NULL;
    }
    latency->mask = places - 1;
    latency->max = max;
    return latency;
}

void pawl__latency_free(struct pawl__latency *latency)
{
    if (!latency) return;
    free(latency->at);
    free(latency);
}

static size_t home(const struct pawl__latency *latency, const struct pawl_job_id *id)
{
    return pawl__hash(id->b, sizeof id->b) & latency->mask;
}

/* Where it is, or the empty place where it would be. */
static size_t place(const struct pawl__latency *latency, const struct pawl_job_id *id)
{
    size_t i = home(latency, id);
    while (latency->at[i].state && memcmp(latency->at[i].id.b, id->b, sizeof id->b) != 0) {
        i = (i + 1) & latency->mask;
    }
    return i;
}

static void take_out(struct pawl__latency *latency, size_t gap)
{
    latency->count--;
    for (size_t i = (gap + 1) & latency->mask; latency->at[i].state; i = (i + 1) & latency->mask) {
        size_t from_home = (i - home(latency, &latency->at[i].id)) & latency->mask;
        if (from_home >= ((i - gap) & latency->mask)) {
            latency->at[gap] = latency->at[i];
            gap = i;
        }
    }
    latency->at[gap].state = PAWL_STATE_NONE;
}

static bool is_kept(const struct pawl__latency *latency, enum pawl_state state)
{
    if (state == PAWL_STATE_ACTIVE) return latency->count < latency->max;
    return state == PAWL_STATE_AVAILABLE && latency->count < latency->max - latency->max / 4;
}

int64_t pawl__latency_move(struct pawl__latency *latency, const struct pawl_moved *moved)
{
    size_t i = place(latency, &moved->id);
    struct entry *entry = &latency->at[i];
    int64_t since_ms = 0;
    if (entry->state) {
        if (entry->state == moved->from) since_ms = entry->since_ms;
        take_out(latency, i);
    }
    if (is_kept(latency, moved->to)) {
        i = place(latency, &moved->id);
        latency->at[i] = (struct entry){ moved->id, moved->at_ms, (uint8_t)moved->to };
        latency->count++;
    }
    return since_ms;
}

size_t pawl__latency_count(const struct pawl__latency *latency)
{
    return latency->count;
}
