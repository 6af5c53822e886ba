/* The herald: calls the listener for committed moves, on a thread of its own, so that a slow
 * listener delays nothing else. Moves that exceed the ring are counted and dropped. */
#include "engine/inside.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct pawl_moved moved;
    char *names; /* queue and type, one block */
};

struct pawl__herald {
    pawl_listener_fn *fn;
    void *ctx;
    pthread_t thread;
    struct pawl__mutex mutex;
    struct pawl__cond news;
    /* guarded by mutex: a ring */
    struct entry *ring;
    size_t head, count;
    int64_t lost;
    bool closing;
};

static bool take(struct pawl__herald *herald, struct entry *out)
{
    pawl__lock(&herald->mutex);
    while (!herald->count && !herald->closing) {
        pawl__cond_wait(&herald->news, &herald->mutex);
    }
    bool some = herald->count > 0;
    if (some) {
        *out = herald->ring[herald->head];
        herald->head = (herald->head + 1) % PAWL__HERALD_MAX;
        herald->count--;
    }
    pawl__unlock(&herald->mutex);
    return some;
}

static void *run(void *arg)
{
    struct pawl__herald *herald = arg;
    struct entry entry;
    while (take(herald, &entry)) {
        herald->fn(herald->ctx, &entry.moved);
        free(entry.names);
    }
    return NULL;
}

enum pawl_err pawl__herald_new(pawl_listener_fn *fn, void *ctx, struct pawl__herald **out,
                               struct pawl_diag *diag)
{
    struct pawl__herald *herald = calloc(1, sizeof *herald);
    if (!herald) return pawl__fail_nomem(diag);
    herald->fn = fn;
    herald->ctx = ctx;
    herald->ring = calloc(PAWL__HERALD_MAX, sizeof *herald->ring);
    pawl__mutex_init(&herald->mutex);
    pawl__cond_init(&herald->news);
    if (herald->ring && pawl__thread_start(&herald->thread, run, herald)) {
        *out = herald;
        return PAWL_OK;
    }
    pawl__cond_release(&herald->news);
    pawl__mutex_release(&herald->mutex);
    free(herald->ring);
    free(herald);
    return pawl__fail_nomem(diag);
}

void pawl__herald_free(struct pawl__herald *herald)
{
    if (!herald) return;
    pawl__lock(&herald->mutex);
    herald->closing = true;
    pawl__cond_signal(&herald->news);
    pawl__unlock(&herald->mutex);
    pthread_join(herald->thread, NULL);
    pawl__cond_release(&herald->news);
    pawl__mutex_release(&herald->mutex);
    free(herald->ring);
    free(herald);
}

static void add(struct pawl__herald *herald, const struct pawl__move *move, int64_t at_ms)
{
    size_t queue_len = strlen(move->queue) + 1;
    size_t type_len = strlen(move->type) + 1;
    char *names = herald->count < PAWL__HERALD_MAX ? malloc(queue_len + type_len) : NULL;
    if (!names) {
        herald->lost++;
        return;
    }
    memcpy(names, move->queue, queue_len);
    memcpy(names + queue_len, move->type, type_len);
    size_t at = (herald->head + herald->count++) % PAWL__HERALD_MAX;
    herald->ring[at] = (struct entry){ .moved = { .id = move->id,
                                                  .from = move->from,
                                                  .to = move->to,
                                                  .at_ms = at_ms,
                                                  .run = move->run,
                                                  .queue = names,
                                                  .type = names + queue_len,
                                                  .lost = herald->lost },
                                       .names = names };
    herald->lost = 0;
}

void pawl__herald_tell(struct pawl__herald *herald, const struct pawl__notice *notice)
{
    pawl__lock(&herald->mutex);
    herald->lost += notice->lost;
    for (size_t i = 0; i < notice->move_count; i++) {
        add(herald, &notice->moves[i], notice->at_ms);
    }
    pawl__cond_signal(&herald->news);
    pawl__unlock(&herald->mutex);
}
