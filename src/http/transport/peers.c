/* A table of chains; whoever has no connection left is not in it. */
#include "http/transport/peers.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static uint64_t key_of(const struct sockaddr *address)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    const uint8_t *at = NULL;
    if (address->sa_family == AF_INET) {
        at = (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *six =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (memcmp(six, mapped, sizeof mapped) != 0) {
            uint64_t prefix;
            memcpy(&prefix, six, sizeof prefix);
            return prefix ^ UINT64_C(1) << 63; // no IPv4 address is that
        }
        at = (const uint8_t *)six + sizeof mapped;
    }
    uint32_t four = 0;
    if (at) memcpy(&four, at, sizeof four);
    return four;
}

static struct pawl__peer **bucket_of(struct pawl__peers *peers, uint64_t key)
{
    uint64_t hash = (key ^ peers->salt) * UINT64_C(0x9e3779b97f4a7c15);
    return &peers->buckets[hash >> 32 & (PAWL__PEER_BUCKETS - 1)];
}

struct pawl__peer *pawl__peers_enter(struct pawl__peers *peers, const struct sockaddr *address)
{
    uint64_t key = key_of(address);
    struct pawl__peer **bucket = bucket_of(peers, key);
    struct pawl__peer *peer = *bucket;
    while (peer && peer->key != key) {
        peer = peer->next;
    }
    if (!peer) {
        peer = calloc(1, sizeof *peer);
        if (!peer) return NULL;
        peer->key = key;
        peer->next = *bucket;
        *bucket = peer;
    }
    peer->count++;
    return peer;
}

void pawl__peers_leave(struct pawl__peers *peers, struct pawl__peer *peer)
{
    if (!peer) return;
    assert(peer->count > 0);
    if (--peer->count) return;
    struct pawl__peer **at = bucket_of(peers, peer->key);
    while (*at != peer) {
        at = &(*at)->next;
    }
    *at = peer->next;
    free(peer);
}
