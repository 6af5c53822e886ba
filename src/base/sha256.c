#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t read_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write_be32(uint8_t *at, uint32_t x)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(x >> (24 - 8 * i));
    }
}

static void expand(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++) {
        w[i] = read_be32(block + (size_t)4 * i);
    }
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* The names a to h, s0, s1, ch and maj are the standard's. */
static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    expand(w, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t ch = (e & f) ^ (~e & g);
        uint32_t t1 = h + s1 + ch + k[i] + w[i];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t maj = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + s0 + maj;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void pawl__sha256_init(struct pawl__sha256 *sha)
{
    *sha = (struct pawl__sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                         0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void pawl__sha256_add(struct pawl__sha256 *sha, const void *at, size_t len)
{
    const uint8_t *from = at;
    while (len > 0) {
        size_t have = sha->len % sizeof sha->block;
        if (have == 0 && len >= sizeof sha->block) { // whole blocks need no copy
            compress(sha->h, from);
            from += sizeof sha->block;
            len -= sizeof sha->block;
            sha->len += sizeof sha->block;
            continue;
        }
        size_t take = sizeof sha->block - have;
        if (take > len) take = len;
        memcpy(sha->block + have, from, take);
        from += take;
        len -= take;
        sha->len += take;
        if (have + take == sizeof sha->block) compress(sha->h, sha->block);
    }
}

void pawl__sha256_end(struct pawl__sha256 *sha, uint8_t out[32])
{
    static const uint8_t padding[64] = { 0x80 };
    uint8_t bits[8];
    write_be32(bits, (uint32_t)(sha->len >> 29));
    write_be32(bits + 4, (uint32_t)(sha->len << 3));
    size_t have = sha->len % sizeof sha->block;
    pawl__sha256_add(sha, padding, (have < 56 ? 56 : 120) - have);
    pawl__sha256_add(sha, bits, sizeof bits);
    for (int i = 0; i < 8; i++) {
        write_be32(out + (size_t)4 * i, sha->h[i]);
    }
}
