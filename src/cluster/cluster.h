/* Membership: a node's name, its own description, the interval of its heartbeats, and when it
 * counts as dead.
 *
 * All of it is pure: called by the engine, stored by the store. A node is alive while its last
 * heartbeat is younger than its lease; one without a heartbeat for longer is given up by the node
 * whose heartbeat comes next (see NODE_PUT in store.h). So nothing here depends on one particular
 * node. */
#ifndef PAWL_CLUSTER_H
#define PAWL_CLUSTER_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/pawl.h>

/* ---- heartbeat interval (heartbeat.c) ---- */

/* The time until the next heartbeat: a third of the lease, more for a lone or idle node, less in a
 * large cluster or under load, and never more than two thirds of the lease, so that a failed
 * heartbeat can be retried before the node counts as dead. */
int64_t pawl__heartbeat_ms(int64_t lease_ms, const struct pawl_census *census);
/* The time until the next heartbeat after `failures` > 0 in a row have failed: doubles from a
 * thirtieth of the lease to a sixth, so that a node recovers within seconds of its store. */
int64_t pawl__heartbeat_retry_ms(int64_t lease_ms, int32_t failures);

/* ---- names and descriptions (member.c) ---- */

enum { PAWL__MEMBER_NAMES_MAX = 8 }; /* names tried by a node that was given none */

/* The name to try, counted from 0: the host's name, then with the process id, then also with a
 * random number (`dice`). `out` has room for `bytes`; a long host name is truncated. */
void pawl__member_name(char *out, size_t bytes, const char *host, long pid, int attempt,
                       unsigned dice);

/* A node's description of itself. */
struct pawl__member {
    const char *host, *version;
    int64_t pid, lease_ms;
    int32_t workers;
    bool draining;
    bool given_up; /* set by another node that found it dead, not by the node itself */
};

/* Appends it as the JSON stored in the node's row. out->failed: out of memory. */
void pawl__member_print(struct pawl__buf *out, const struct pawl__member *member);
/* Parses such JSON. Members that `info` lacks are zero, texts "": a node that this library does not
 * run may store anything. Texts are allocated in `arena`. */
void pawl__member_read(const char *info, struct pawl__arena *arena, struct pawl__member *out);

#endif
