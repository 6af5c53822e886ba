/* Fetches that wait for jobs. On the loop.
 *
 * Fetches that want the same queues are in one line, in order of arrival. When there may be more to
 * claim, the first of each line claims; each claim that finds something lets two more follow, and
 * the first that finds nothing ends it. So thousands of waiting fetches cost one empty claim a
 * line. */
#ifndef PAWL_HTTP_LOCAL_WAITERS_H
#define PAWL_HTTP_LOCAL_WAITERS_H

#include "http/transport/transport.h"
#include "base/hashtable.h"

struct pawl__waiters;
struct pawl__waiters_line;

/* A fetch that waits: request->state, or the beginning of it. Zeroes: it is in no line. */
struct pawl__waiter {
    struct pawl__request *request;
    int64_t until_ms; /* loop time */
    /* Post a claim, or answer. After an answer comes, call pawl__waiters_answered. */
    void (*ask)(struct pawl__request *request);
    /* Answer that there was nothing. */
    void (*give_up)(struct pawl__request *request);
    bool more; /* the last claim brought nothing although more may be there, see pawl_claim: then
                  the line asks again in a moment */
    /* the waiters' own: */
    struct pawl__waiter *prev, *next;
    struct pawl__waiters_line *line;
    uint64_t asked_at; /* what the count of wake-ups was */
    bool asking;
};

PAWL_MUST_CHECK enum pawl_err pawl__waiters_new(struct pawl__server *server,
                                                struct pawl_diag *diag);
void pawl__waiters_free(struct pawl__server *server);
void pawl__waiters_tick(struct pawl__server *server);
/* The server stops: answer all. */
void pawl__waiters_drain(struct pawl__server *server);
/* There may be more to claim. */
void pawl__waiters_wake(struct pawl__server *server);

/* How often they were woken so far: a fetch that claims before it waits notes it first. */
uint64_t pawl__waiters_count(const struct pawl__waiters *waiters);
/* How many wait now. */
size_t pawl__waiters_waiting(const struct pawl__waiters *waiters);
/* Do other fetches wait for these queues already? Then claiming would be out of turn. */
bool pawl__waiters_has_line(const struct pawl__waiters *waiters, const char *queues);
/* Join the line that `queues` names. `asked_at`: the count when the waiter claimed and found
 * nothing, NEVER when it did not. False: no memory. */
#define PAWL__WAITERS_NEVER UINT64_MAX
PAWL_MUST_CHECK bool pawl__waiters_join(struct pawl__server *server, struct pawl__waiter *waiter,
                                        const char *queues, uint64_t asked_at);
/* The claim that `ask` posted was answered. If it found something the waiter leaves the line, else
 * it keeps its place. Does nothing for a waiter that is in no line. */
void pawl__waiters_answered(struct pawl__server *server, struct pawl__waiter *waiter, bool found);
/* Out of the line, if it is in one. */
void pawl__waiters_leave(struct pawl__server *server, struct pawl__waiter *waiter);

#endif
