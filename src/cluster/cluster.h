/* Membership: what a node is called, what it says of itself, how often, and what its silence means.
 *
 * All of it is pure: the engine asks, the store keeps. A node is alive while its last heartbeat is
 * younger than its lease; who is silent for longer is given up by whichever node's heartbeat comes
 * next (see NODE_PUT in store.h). So nothing here depends on one node being there. */
#ifndef PAWL_CLUSTER_H
#define PAWL_CLUSTER_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/pawl.h>

/* ---- how often (heartbeat.c) ---- */

/* The pause until the next heartbeat: a third of the lease, more for a lone or idle node, less in a
 * large cluster or with much to do, and never more than two thirds of the lease: one that fails
 * can be tried again before anybody takes the node for dead. */
int64_t pawl__heartbeat_ms(int64_t lease_ms, const struct pawl_census *census);
/* The pause after `failures` > 0 heartbeats in a row that the store did not take: doubles from a
 * thirtieth of the lease to a sixth, so that a node is back within seconds of its store. */
int64_t pawl__heartbeat_retry_ms(int64_t lease_ms, int32_t failures);

/* ---- who (member.c) ---- */

enum { PAWL__MEMBER_NAMES_MAX = 8 }; /* names that a node without one of its own tries */

/* The name to try, from 0: the host's, then with the process's number, then with `dice` too. `out`
 * has room for `bytes`; a long host name is cut. */
void pawl__member_name(char *out, size_t bytes, const char *host, long pid, int attempt,
                       unsigned dice);

/* What a node says of itself. */
struct pawl__member {
    const char *host, *version;
    int64_t pid, lease_ms;
    int32_t workers;
    bool draining;
    bool given_up; /* not its own word: somebody found it silent */
};

/* Appends it as the JSON that a node's row keeps. out->failed: no memory. */
void pawl__member_print(struct pawl__buf *out, const struct pawl__member *member);
/* The way back. What `info` does not say is zero, its texts "": a node that this library does not
 * run may say anything. Texts live in `arena`. */
void pawl__member_read(const char *info, struct pawl__arena *arena, struct pawl__member *out);

#endif
