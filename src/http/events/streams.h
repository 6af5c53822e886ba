/* Events as they happen, for those who stay connected (Server-Sent Events). All on the loop.
 *
 * A listener is on one channel: a job's, a queue's, or the one of all. What happens is printed once
 * for everybody who gets it, gathered per channel, and sent a little later the more there are who
 * listen. Who cannot keep up is told of the gap and let go. */
#ifndef PAWL_HTTP_EVENTS_STREAMS_H
#define PAWL_HTTP_EVENTS_STREAMS_H

#include "http/transport/transport.h"

struct pawl__record;

PAWL_MUST_CHECK enum pawl_err pawl__streams_new(struct pawl__server *server,
                                                struct pawl_diag *diag);
void pawl__streams_free(struct pawl__streams *streams); /* NULL is fine */
/* Signs of life, readers that were let go, watched jobs. */
void pawl__streams_tick(struct pawl__streams *streams);
/* The server stops: everybody is told and let go. */
void pawl__streams_drain(struct pawl__streams *streams);

/* Something happened. It is sent with the next flush. */
void pawl__streams_notify(struct pawl__streams *streams, const struct pawl__record *record);
/* Something happened that nobody knows. */
void pawl__streams_gap(struct pawl__streams *streams);
/* Send what was told, now or soon. */
void pawl__streams_flush(struct pawl__streams *streams);
/* Another process changed something: look after the jobs that are watched. */
void pawl__streams_foreign(struct pawl__streams *streams);

size_t pawl__streams_count(const struct pawl__streams *streams);
/* Listeners that were let go because they could not keep up. */
int64_t pawl__streams_cut(const struct pawl__streams *streams);

#endif
