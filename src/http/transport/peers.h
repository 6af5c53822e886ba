/* How many connections each address has. The loop's thread. */
#ifndef PAWL_HTTP_TRANSPORT_PEERS_H
#define PAWL_HTTP_TRANSPORT_PEERS_H

#include <stdint.h>
#include <sys/socket.h>

enum { PAWL__PEER_BUCKETS = 1024 };

/* One host: an IPv4 address, or the upper half of an IPv6 one, of which a host may have all. */
struct pawl__peer {
    struct pawl__peer *next;
    uint64_t key;
    int64_t count;
};

struct pawl__peers {
    struct pawl__peer *buckets[PAWL__PEER_BUCKETS];
    uint64_t salt; /* so that nobody can aim at one bucket */
};

/* Counts one more connection from there; NULL: no memory. */
struct pawl__peer *pawl__peers_enter(struct pawl__peers *peers, const struct sockaddr *address);
/* One fewer; NULL is fine. */
void pawl__peers_leave(struct pawl__peers *peers, struct pawl__peer *peer);

#endif
