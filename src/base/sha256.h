/* SHA-256 (FIPS 180-4), for fingerprints and migration checksums. */
#ifndef PAWL_BASE_SHA256_H
#define PAWL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct pawl__sha256 {
    uint32_t h[8];
    uint64_t len;
    uint8_t block[64];
};

void pawl__sha256_init(struct pawl__sha256 *sha);
void pawl__sha256_add(struct pawl__sha256 *sha, const void *at, size_t len);
void pawl__sha256_end(struct pawl__sha256 *sha, uint8_t out[32]);

#endif
