/* UUIDv7 (RFC 9562): 48 bits of ms, version, 12 bits of counter, variant, 62 random bits. */
#include "base/id.h"

#include "base/clock.h"

#include <pawl/pawl.h>

#include <assert.h>
#include <string.h>

enum {
    COUNTER_MAX = 0xfff,
    COUNTER_START = 0x100, /* a ms starts below this: hard to guess, yet most numbers are left */
    ADOPT_MS_MAX = 1000,   /* maximum age of an id from another generator */
    PREFIX_DIGITS_MIN = 8  /* fewer digits would cover days of jobs */
};
#define MS_MAX ((INT64_C(1) << 48) - 1)

void pawl__idgen_init(struct pawl__idgen *gen, const struct pawl_clock *clock, uint64_t seed)
{
    *gen = (struct pawl__idgen){ .clock = clock, .ms = -1 };
    pawl__mutex_init(&gen->mutex);
    pawl__rng_seed(&gen->rng, seed);
}

void pawl__idgen_release(struct pawl__idgen *gen)
{
    pawl__mutex_release(&gen->mutex);
}

static void start_ms(struct pawl__idgen *gen, int64_t ms)
{
    assert(ms <= MS_MAX);
    gen->ms = ms;
    gen->counter = (uint32_t)pawl__rng_below(&gen->rng, COUNTER_START);
}

/* Advances to the number after the last one; `now_ms` may lie before it. */
static void advance(struct pawl__idgen *gen, int64_t now_ms)
{
    if (now_ms > gen->ms) {
        start_ms(gen, now_ms);
    } else if (gen->counter < COUNTER_MAX) {
        gen->counter++;
    } else {
        start_ms(gen, gen->ms + 1); // run ahead of the clock instead of waiting for it
    }
}

static void write_be(uint8_t *at, uint64_t x, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        at[i] = (uint8_t)x;
        x >>= 8;
    }
}

static uint64_t read_be(const uint8_t *at, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) {
        x = x << 8 | at[i];
    }
    return x;
}

static struct pawl_job_id make_id(struct pawl__idgen *gen)
{
    struct pawl_job_id id = { 0 };
    write_be(id.b, (uint64_t)gen->ms, 6);
    write_be(id.b + 6, 0x7000 | gen->counter, 2);
    write_be(id.b + 8, UINT64_C(1) << 63 | pawl__rng_next(&gen->rng) >> 2, 8);
    return id;
}

static int64_t read_clock(const struct pawl__idgen *gen)
{
    int64_t now_ms = pawl__clock_wall_ms(gen->clock);
    if (now_ms < 0) return 0;
    return now_ms > MS_MAX / 2 ? MS_MAX / 2 : now_ms; // the year 6429; room to run ahead
}

/* Adopts an id from elsewhere if it was generated just now and is above the last one. */
static bool adopt(struct pawl__idgen *gen, int64_t now_ms, const struct pawl_job_id *id)
{
    int64_t ms = (int64_t)read_be(id->b, 6);
    uint32_t version = id->b[6] >> 4, counter = (uint32_t)read_be(id->b + 6, 2) & COUNTER_MAX;
    if (version != 7 || ms > now_ms || ms < now_ms - ADOPT_MS_MAX) return false;
    if (ms < gen->ms || (ms == gen->ms && counter <= gen->counter)) return false;
    gen->ms = ms;
    gen->counter = counter;
    return true;
}

void pawl__idgen_follow(struct pawl__idgen *gen, struct pawl_job_id *ids, size_t count)
{
    int64_t now_ms = read_clock(gen); // before the lock: this calls the caller's code
    pawl__lock(&gen->mutex);
    for (size_t i = 0; i < count; i++) {
        if (adopt(gen, now_ms, &ids[i])) continue;
        advance(gen, now_ms);
        ids[i] = make_id(gen);
    }
    pawl__unlock(&gen->mutex);
}

void pawl__idgen_take(struct pawl__idgen *gen, struct pawl_job_id *out, size_t count)
{
    if (count) memset(out, 0, count * sizeof *out);
    pawl__idgen_follow(gen, out, count);
}

struct pawl_job_id pawl__idgen_next(struct pawl__idgen *gen)
{
    struct pawl_job_id id;
    pawl__idgen_take(gen, &id, 1);
    return id;
}

/* True if the text has a dash after this byte. */
static bool dash_after(size_t byte)
{
    return byte == 3 || byte == 5 || byte == 7 || byte == 9;
}

void pawl_job_id_text(struct pawl_job_id id, char out[PAWL_JOB_ID_TEXT_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof id.b; i++) {
        *out++ = hex[id.b[i] >> 4];
        *out++ = hex[id.b[i] & 15];
        if (dash_after(i)) *out++ = '-';
    }
    *out = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1; // also for the NUL, so a short text ends the loop
}

enum pawl_err pawl_job_id_parse(const char *text, struct pawl_job_id *out)
{
    struct pawl_job_id id;
    if (!text) return PAWL_ERR_ARG;
    for (size_t i = 0; i < sizeof id.b; i++) {
        int high = hex_value(*text);
        int low = high < 0 ? -1 : hex_value(text[1]);
        if (low < 0) return PAWL_ERR_ARG;
        id.b[i] = (uint8_t)(high << 4 | low);
        text += 2;
        if (dash_after(i) && *text++ != '-') return PAWL_ERR_ARG;
    }
    if (*text != '\0') return PAWL_ERR_ARG;
    *out = id;
    return PAWL_OK;
}

bool pawl__id_range(const char *prefix, struct pawl_job_id *low, struct pawl_job_id *high)
{
    size_t digits = 0;
    memset(low, 0, sizeof *low);
    memset(high, 0xff, sizeof *high);
    if (*prefix == '-') return false;
    for (const char *at = prefix; *at; at++) {
        if (*at == '-') continue;
        int value = hex_value(*at), shift = digits % 2 ? 0 : 4;
        size_t byte = digits++ / 2;
        if (value < 0 || byte >= sizeof low->b) return false;
        low->b[byte] = (uint8_t)(low->b[byte] | value << shift);
        high->b[byte] = (uint8_t)(high->b[byte] & ~((15 - value) << shift));
    }
    return digits >= PREFIX_DIGITS_MIN;
}
