/* Since when jobs wait or run, as far as this server saw them begin: for how long they waited and
 * ran. A table of bounded size; what it has no room for is not measured. Not for several threads.
 */
#ifndef PAWL_HTTP_EVENTS_LATENCY_H
#define PAWL_HTTP_EVENTS_LATENCY_H

#include <pawl/pawl.h>

struct pawl__lives;

/* At most `max` jobs, of which waiting ones may take three quarters. NULL: no memory. */
struct pawl__lives *pawl__lives_new(size_t max);
void pawl__lives_free(struct pawl__lives *lives); /* NULL is fine */
/* The job left `moved->from`, where it was since the instant that is returned; 0: not known. What
 * it is in now is remembered if it waits for a worker or runs. */
int64_t pawl__lives_move(struct pawl__lives *lives, const struct pawl_moved *moved);
size_t pawl__lives_count(const struct pawl__lives *lives);

#endif
