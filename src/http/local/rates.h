/* How fast a queue's jobs may be handed out: one token bucket per queue, in memory, enforced when
 * jobs are fetched. What is limited stays available. On the loop. */
#ifndef PAWL_HTTP_LOCAL_RATES_H
#define PAWL_HTTP_LOCAL_RATES_H

#include "http/transport/transport.h"

struct pawl__rates;

struct pawl__rate {
    int64_t limit;     /* jobs ... */
    int64_t period_ms; /* ... in this time */
};

struct pawl__rates *pawl__rates_new(void); /* NULL: no memory */
void pawl__rates_free(struct pawl__rates *rates);
void pawl__rates_clear(struct pawl__rates *rates);

/* Limit a queue; limit 0: no more. A limit that is there already keeps its bucket. Beyond 10000
 * queues further ones are not limited. */
void pawl__rates_set(struct pawl__rates *rates, const char *queue, const struct pawl__rate *rate,
                     int64_t now_ms);
/* Is any queue limited? */
bool pawl__rates_any(const struct pawl__rates *rates);
/* How many jobs may be handed out now; INT64_MAX: as many as there are. */
int64_t pawl__rates_room(struct pawl__rates *rates, const char *queue, int64_t now_ms);
/* They have been handed out; negative: they have not, after all. */
void pawl__rates_take(struct pawl__rates *rates, const char *queue, int64_t count);
/* Hand out nothing before `until_ms`. */
void pawl__rates_pause(struct pawl__rates *rates, const char *queue, int64_t until_ms,
                       int64_t now_ms);

/* ---- for requests ---- */

/* X-RateLimit-Limit, -Remaining and -Reset (seconds until all may be had again), if the queue is
 * limited. Before the answer. */
void pawl__rates_headers(struct pawl__request *request, const char *queue);

#endif
