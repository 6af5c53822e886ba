/* How many jobs of each queue ended well and badly in the last minute and hour, how long they
 * waited and ran, as far as this process saw it. On the loop. */
#ifndef PAWL_HTTP_LOCAL_THROUGHPUT_H
#define PAWL_HTTP_LOCAL_THROUGHPUT_H

#include "http/transport/transport.h"

struct pawl__paces;

enum { PAWL__PACES_MAX = 1000 };

/* The last minute is the one that has begun and of the one before it the share that is missing. */
struct pawl__pace {
    int64_t completed_last_minute, failed_last_minute;
    int64_t completed_last_hour, failed_last_hour;
    int64_t wait_ms, run_ms; /* on average over the last hour; 0: nothing was measured */
};

struct pawl__paces *pawl__paces_new(void);        /* NULL: no memory */
void pawl__paces_free(struct pawl__paces *paces); /* NULL is fine */
void pawl__paces_clear(struct pawl__paces *paces);
/* It was in `moved->from` since `since_ms`, 0: nobody knows. Of more than PAWL__PACES_MAX queues
 * the one that has been quiet the longest is forgotten. */
void pawl__paces_moved(struct pawl__paces *paces, const struct pawl_moved *moved, int64_t since_ms);
/* Of `queue`; NULL: of all. `now_ms` is wall time. */
struct pawl__pace pawl__paces_of(const struct pawl__paces *paces, const char *queue,
                                 int64_t now_ms);

/* Of every queue that it knows, for a reply made elsewhere. */
struct pawl__pace_list {
    const struct pawl__queue_pace {
        const char *queue;
        struct pawl__pace pace;
    } * at; /* in the arena */
    size_t count;
};
/* False: no memory. */
bool pawl__paces_list(const struct pawl__paces *paces, int64_t now_ms, struct pawl__arena *arena,
                      struct pawl__pace_list *out);
/* Zeros when it is not there. */
struct pawl__pace pawl__pace_find(const struct pawl__pace_list *list, const char *queue);

#endif
