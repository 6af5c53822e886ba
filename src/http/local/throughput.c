/* A ring of minutes for each queue, the one that moved last in front. */
#include "http/local/throughput.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTES = 60, MINUTE_MS = 60000 };

struct minute {
    int64_t number; /* since the epoch */
    int32_t completed, failed;
    int32_t waited, ran; /* how many were measured */
    int64_t wait_ms, run_ms;
};

struct queue {
    struct queue *next;
    struct minute minutes[MINUTES];
    char name[];
};

struct pawl__throughput {
    struct minute all[MINUTES];
    struct queue *queues;
    size_t count;
};

struct pawl__throughput *pawl__throughput_new(void)
{
    return calloc(1, sizeof(struct pawl__throughput));
}

void pawl__throughput_clear(struct pawl__throughput *throughput)
{
    struct queue *next;
    for (struct queue *queue = throughput->queues; queue; queue = next) {
        next = queue->next;
        free(queue);
    }
    *throughput = (struct pawl__throughput){ 0 };
}

void pawl__throughput_free(struct pawl__throughput *throughput)
{
    if (!throughput) return;
    pawl__throughput_clear(throughput);
    free(throughput);
}

static void drop_last(struct pawl__throughput *throughput)
{
    struct queue **at = &throughput->queues;
    assert(*at);
    while ((*at)->next) {
        at = &(*at)->next;
    }
    free(*at);
    *at = NULL;
    throughput->count--;
}

/* The queue's ring, moved to the front. NULL: no memory. */
static struct queue *find(struct pawl__throughput *throughput, const char *name)
{
    for (struct queue **at = &throughput->queues; *at; at = &(*at)->next) {
        struct queue *queue = *at;
        if (strcmp(queue->name, name) != 0) continue;
        *at = queue->next;
        queue->next = throughput->queues;
        return throughput->queues = queue;
    }
    size_t len = strlen(name) + 1;
    struct queue *queue = calloc(1, sizeof *queue + len);
    if (!queue) return NULL;
    if (throughput->count == PAWL__THROUGHPUT_QUEUES_MAX) drop_last(throughput);
    memcpy(queue->name, name, len);
    queue->next = throughput->queues;
    throughput->count++;
    return throughput->queues = queue;
}

static void add(struct minute *minutes, const struct minute *more)
{
    struct minute *minute = &minutes[more->number % MINUTES];
    if (minute->number != more->number) *minute = (struct minute){ .number = more->number };
    minute->completed += more->completed;
    minute->failed += more->failed;
    minute->waited += more->waited;
    minute->ran += more->ran;
    minute->wait_ms += more->wait_ms;
    minute->run_ms += more->run_ms;
}

void pawl__throughput_moved(struct pawl__throughput *throughput, const struct pawl_moved *moved,
                            int64_t since_ms)
{
    bool began = moved->from == PAWL_STATE_AVAILABLE && moved->to == PAWL_STATE_ACTIVE;
    bool ended = moved->from == PAWL_STATE_ACTIVE;
    struct minute more = { .number = moved->at_ms / MINUTE_MS };
    more.completed = ended && moved->to == PAWL_STATE_COMPLETED;
    more.failed = ended && (moved->to == PAWL_STATE_RETRYABLE || moved->to == PAWL_STATE_DISCARDED);
    more.waited = began && since_ms;
    more.ran = (more.completed || more.failed) && since_ms;
    if (!more.completed && !more.failed && !more.waited) return;
    int64_t took_ms = moved->at_ms > since_ms ? moved->at_ms - since_ms : 0;
    if (more.waited) more.wait_ms = took_ms;
    if (more.ran) more.run_ms = took_ms;
    struct queue *queue = find(throughput, moved->queue);
    add(throughput->all, &more);
    if (queue) add(queue->minutes, &more);
}

/* What a minute that is `age` minutes old counts for the last one, in ms of it. */
static int64_t share_ms(int64_t age, int64_t now_ms)
{
    return age == 0 ? MINUTE_MS : age == 1 ? MINUTE_MS - now_ms % MINUTE_MS : 0;
}

static struct pawl__recent sum(const struct minute *minutes, int64_t now_ms)
{
    struct pawl__recent recent = { 0 };
    int64_t completed = 0, failed = 0, waited = 0, ran = 0;
    for (size_t i = 0; i < MINUTES; i++) {
        const struct minute *minute = &minutes[i];
        int64_t age = now_ms / MINUTE_MS - minute->number;
        if (age < 0 || age >= MINUTES) continue;
        recent.completed_last_hour += minute->completed;
        recent.failed_last_hour += minute->failed;
        completed += minute->completed * share_ms(age, now_ms);
        failed += minute->failed * share_ms(age, now_ms);
        waited += minute->waited;
        ran += minute->ran;
        recent.wait_ms += minute->wait_ms;
        recent.run_ms += minute->run_ms;
    }
    recent.completed_last_minute = (completed + MINUTE_MS / 2) / MINUTE_MS;
    recent.failed_last_minute = (failed + MINUTE_MS / 2) / MINUTE_MS;
    recent.wait_ms = waited ? recent.wait_ms / waited : 0;
    recent.run_ms = ran ? recent.run_ms / ran : 0;
    return recent;
}

struct pawl__recent pawl__throughput_of(const struct pawl__throughput *throughput, const char *name,
                                        int64_t now_ms)
{
    if (!name) return sum(throughput->all, now_ms);
    for (const struct queue *queue = throughput->queues; queue; queue = queue->next) {
        if (strcmp(queue->name, name) == 0) return sum(queue->minutes, now_ms);
    }
    return (struct pawl__recent){ 0 };
}

bool pawl__throughput_list(const struct pawl__throughput *throughput, int64_t now_ms,
                           struct pawl__arena *arena, struct pawl__recent_list *out)
{
    struct pawl__queue_recent *list =
        pawl__arena_calloc(arena, throughput->count + 1, sizeof *list);
    size_t i = 0;
    if (!list) return false;
    for (const struct queue *queue = throughput->queues; queue; queue = queue->next, i++) {
        const char *name = pawl__arena_dup(arena, queue->name, strlen(queue->name));
        if (!name) return false;
        list[i] =
            (struct pawl__queue_recent){ .queue = name, .recent = sum(queue->minutes, now_ms) };
    }
    *out = (struct pawl__recent_list){ .at = list, .count = i };
    return true;
}

struct pawl__recent pawl__recent_find(const struct pawl__recent_list *list, const char *queue)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->at[i].queue, queue) == 0) return list->at[i].recent;
    }
    return (struct pawl__recent){ 0 };
}
