/* The notifier: calls the listener for committed moves, on a thread of its own, so that a slow
 * listener delays nothing else. Moves that exceed the ring are counted and dropped. */
#include "engine/inside.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct pawl_moved moved;
    char *names; /* queue and type, one block */
};

struct pawl__notifier {
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

static bool take(struct pawl__notifier *notifier, struct entry *out)
{
    pawl__lock(&notifier->mutex);
    while (!notifier->count && !notifier->closing) {
        pawl__cond_wait(&notifier->news, &notifier->mutex);
    }
    bool some = notifier->count > 0;
    if (some) {
        *out = notifier->ring[notifier->head];
        notifier->head = (notifier->head + 1) % PAWL__NOTIFIER_MAX;
        notifier->count--;
    }
    pawl__unlock(&notifier->mutex);
    return some;
}

static void *run(void *arg)
{
    struct pawl__notifier *notifier = arg;
    struct entry entry;
    while (take(notifier, &entry)) {
        notifier->fn(notifier->ctx, &entry.moved);
        free(entry.names);
    }
    return NULL;
}

enum pawl_err pawl__notifier_new(pawl_listener_fn *fn, void *ctx, struct pawl__notifier **out,
                                 struct pawl_diag *diag)
{
    struct pawl__notifier *notifier = calloc(1, sizeof *notifier);
    if (!notifier) return pawl__fail_nomem(diag);
    notifier->fn = fn;
    notifier->ctx = ctx;
    notifier->ring = calloc(PAWL__NOTIFIER_MAX, sizeof *notifier->ring);
    pawl__mutex_init(&notifier->mutex);
    pawl__cond_init(&notifier->news);
    if (notifier->ring && pawl__thread_start(&notifier->thread, run, notifier)) {
        *out = notifier;
        return PAWL_OK;
    }
    pawl__cond_release(&notifier->news);
    pawl__mutex_release(&notifier->mutex);
    free(notifier->ring);
    free(notifier);
    return pawl__fail_nomem(diag);
}

void pawl__notifier_free(struct pawl__notifier *notifier)
{
    if (!notifier) return;
    pawl__lock(&notifier->mutex);
    notifier->closing = true;
    pawl__cond_signal(&notifier->news);
    pawl__unlock(&notifier->mutex);
    pthread_join(notifier->thread, NULL);
    pawl__cond_release(&notifier->news);
    pawl__mutex_release(&notifier->mutex);
    free(notifier->ring);
    free(notifier);
}

static void add(struct pawl__notifier *notifier, const struct pawl__move *move, int64_t at_ms)
{
    size_t queue_len = strlen(move->queue) + 1;
    size_t type_len = strlen(move->type) + 1;
    char *names = notifier->count < PAWL__NOTIFIER_MAX ? malloc(queue_len + type_len) : NULL;
    if (!names) {
        notifier->lost++;
        return;
    }
    memcpy(names, move->queue, queue_len);
    memcpy(names + queue_len, move->type, type_len);
    size_t at = (notifier->head + notifier->count++) % PAWL__NOTIFIER_MAX;
    notifier->ring[at] = (struct entry){ .moved = { .id = move->id,
                                                    .from = move->from,
                                                    .to = move->to,
                                                    .missed = move->missed,
                                                    .at_ms = at_ms,
                                                    .run = move->run,
                                                    .in_flow = move->in_flow,
                                                    .queue = names,
                                                    .type = names + queue_len,
                                                    .lost = notifier->lost },
                                         .names = names };
    notifier->lost = 0;
}

void pawl__notifier_post(struct pawl__notifier *notifier, const struct pawl__notice *notice)
{
    pawl__lock(&notifier->mutex);
    notifier->lost += notice->lost;
    for (size_t i = 0; i < notice->move_count; i++) {
        add(notifier, &notice->moves[i], notice->at_ms);
    }
    pawl__cond_signal(&notifier->news);
    pawl__unlock(&notifier->mutex);
}
