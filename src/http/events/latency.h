/* Since when jobs wait or run, as far as this server saw them begin: for how long they waited and
 * ran. A table of bounded size; what it has no room for is not measured. Not for several threads.
 */
#ifndef PAWL_HTTP_EVENTS_LATENCY_H
#define PAWL_HTTP_EVENTS_LATENCY_H

#include <pawl/pawl.h>

struct pawl__latency;

/* At most `max` jobs, of which waiting ones may take three quarters. NULL: no memory. */
struct pawl__latency *pawl__latency_new(size_t max);
void pawl__latency_free(struct pawl__latency *latency); /* NULL is fine */
/* The job left `moved->from`, where it was since the instant that is returned; 0: not known. What
 * it is in now is remembered if it waits for a worker or runs. */
int64_t pawl__latency_move(struct pawl__latency *latency, const struct pawl_moved *moved);
size_t pawl__latency_count(const struct pawl__latency *latency);

#endif
