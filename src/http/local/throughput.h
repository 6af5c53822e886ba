/* How many jobs of each queue ended well and badly in the last minute and hour, how long they
 * waited and ran, as far as this server saw it. On the loop. */
#ifndef PAWL_HTTP_LOCAL_THROUGHPUT_H
#define PAWL_HTTP_LOCAL_THROUGHPUT_H

#include "http/transport/transport.h"

struct pawl__throughput;

enum { PAWL__THROUGHPUT_QUEUES_MAX = 1000 };

/* The last minute is the one that has begun and of the one before it the share that is missing. */
struct pawl__recent {
    int64_t completed_last_minute, failed_last_minute;
    int64_t completed_last_hour, failed_last_hour;
    int64_t wait_ms, run_ms; /* on average over the last hour; 0: nothing was measured */
};

struct pawl__throughput *pawl__throughput_new(void);             /* NULL: no memory */
void pawl__throughput_free(struct pawl__throughput *throughput); /* NULL is fine */
void pawl__throughput_clear(struct pawl__throughput *throughput);
/* It was in `moved->from` since `since_ms`, 0: not known. Of more than
 * PAWL__THROUGHPUT_QUEUES_MAX queues the one that has been quiet the longest is forgotten. */
void pawl__throughput_moved(struct pawl__throughput *throughput, const struct pawl_moved *moved,
                            int64_t since_ms);
/* Of `queue`; NULL: of all. `now_ms` is wall time. */
struct pawl__recent pawl__throughput_of(const struct pawl__throughput *throughput,
                                        const char *queue, int64_t now_ms);

/* Of every queue that it knows, for a reply made elsewhere. */
struct pawl__recent_list {
    const struct pawl__queue_recent {
        const char *queue;
        struct pawl__recent recent;
    } * at; /* in the arena */
    size_t count;
};
/* False: no memory. */
bool pawl__throughput_list(const struct pawl__throughput *throughput, int64_t now_ms,
                           struct pawl__arena *arena, struct pawl__recent_list *out);
/* Zeros when it is not there. */
struct pawl__recent pawl__recent_find(const struct pawl__recent_list *list, const char *queue);

#endif
