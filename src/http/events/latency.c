/* Since when jobs wait or run: open addressing with linear probing, and deletion that closes the
 * gap, so that lookups never pass over the dead. */
#include "http/events/latency.h"
#include "base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct life {
    struct pawl_job_id id;
    int64_t since_ms;
    uint8_t state; /* NONE: an empty place */
};

struct pawl__lives {
    struct life *at;
    size_t mask; /* places - 1 */
    size_t max, count;
};

struct pawl__lives *pawl__lives_new(size_t max)
{
    assert(max >= 4);
    struct pawl__lives *lives = calloc(1, sizeof *lives);
    size_t places = 8;
    while (places < max + max / 2) {
        places *= 2;
    }
    if (lives) lives->at = calloc(places, sizeof *lives->at);
    if (!lives || !lives->at) {
        free(lives);
        return NULL;
    }
    lives->mask = places - 1;
    lives->max = max;
    return lives;
}

void pawl__lives_free(struct pawl__lives *lives)
{
    if (!lives) return;
    free(lives->at);
    free(lives);
}

static size_t home(const struct pawl__lives *lives, const struct pawl_job_id *id)
{
    return pawl__hash(id->b, sizeof id->b) & lives->mask;
}

/* Where it is, or the empty place where it would be. */
static size_t place(const struct pawl__lives *lives, const struct pawl_job_id *id)
{
    size_t i = home(lives, id);
    while (lives->at[i].state && memcmp(lives->at[i].id.b, id->b, sizeof id->b) != 0) {
        i = (i + 1) & lives->mask;
    }
    return i;
}

static void take_out(struct pawl__lives *lives, size_t gap)
{
    lives->count--;
    for (size_t i = (gap + 1) & lives->mask; lives->at[i].state; i = (i + 1) & lives->mask) {
        size_t from_home = (i - home(lives, &lives->at[i].id)) & lives->mask;
        if (from_home >= ((i - gap) & lives->mask)) {
            lives->at[gap] = lives->at[i];
            gap = i;
        }
    }
    lives->at[gap].state = PAWL_STATE_NONE;
}

static bool is_kept(const struct pawl__lives *lives, enum pawl_state state)
{
    if (state == PAWL_STATE_ACTIVE) return lives->count < lives->max;
    return state == PAWL_STATE_AVAILABLE && lives->count < lives->max - lives->max / 4;
}

int64_t pawl__lives_move(struct pawl__lives *lives, const struct pawl_moved *moved)
{
    size_t i = place(lives, &moved->id);
    struct life *life = &lives->at[i];
    int64_t since_ms = 0;
    if (life->state) {
        if (life->state == moved->from) since_ms = life->since_ms;
        take_out(lives, i);
    }
    if (is_kept(lives, moved->to)) {
        i = place(lives, &moved->id);
        lives->at[i] = (struct life){ moved->id, moved->at_ms, (uint8_t)moved->to };
        lives->count++;
    }
    return since_ms;
}

size_t pawl__lives_count(const struct pawl__lives *lives)
{
    return lives->count;
}
