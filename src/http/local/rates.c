/* Token buckets: one per limited queue. A bucket holds as many tokens as its period gives, and is
 * full at first. All times are the loop's. */
#include "http/local/rates.h"
#include "base/hashtable.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATES_MAX = 10000 };

struct bucket {
    struct pawl__hash_link link; /* first */
    struct pawl__rate rate;      /* limit 0: only paused */
    double tokens;
    int64_t filled_at_ms;
    int64_t paused_until_ms;
    char queue[];
};

struct pawl__rates {
    struct pawl__hashtable buckets;
};

/* ---- buckets ---- */

struct pawl__rates *pawl__rates_new(void)
{
    return calloc(1, sizeof(struct pawl__rates));
}

void pawl__rates_clear(struct pawl__rates *rates)
{
    for (size_t i = 0; i < rates->buckets.cap; i++) {
        struct pawl__hash_link *next;
        for (struct pawl__hash_link *link = rates->buckets.slots[i]; link; link = next) {
            next = link->next;
            free((struct bucket *)link);
        }
    }
    pawl__hashtable_release(&rates->buckets);
}

void pawl__rates_free(struct pawl__rates *rates)
{
    if (!rates) return;
    pawl__rates_clear(rates);
    free(rates);
}

bool pawl__rates_any(const struct pawl__rates *rates)
{
    return rates->buckets.count > 0;
}

static struct bucket *find(const struct pawl__rates *rates, const char *queue)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&rates->buckets, pawl__hash_text(queue));
    for (; link; link = pawl__hashtable_next(link)) {
        struct bucket *bucket = (struct bucket *)link;
        if (strcmp(bucket->queue, queue) == 0) return bucket;
    }
    return NULL;
}

static struct bucket *find_or_add(struct pawl__rates *rates, const char *queue, int64_t now_ms)
{
    struct bucket *bucket = find(rates, queue);
    if (bucket) return bucket;
    size_t len = strlen(queue) + 1;
    bucket = rates->buckets.count < RATES_MAX ? calloc(1, sizeof *bucket + len) : NULL;
    if (!bucket) return NULL;
    memcpy(bucket->queue, queue, len);
    bucket->filled_at_ms = now_ms;
    if (!pawl__hashtable_add(&rates->buckets, &bucket->link, pawl__hash_text(queue))) {
        free(bucket);
        return NULL;
    }
    return bucket;
}

static void fill(struct bucket *bucket, int64_t now_ms)
{
    const struct pawl__rate *rate = &bucket->rate;
    if (!rate->limit || now_ms <= bucket->filled_at_ms) return;
    double more = (double)(now_ms - bucket->filled_at_ms) * (double)rate->limit /
                  (double)rate->period_ms;
    bucket->tokens += more;
    if (bucket->tokens > (double)rate->limit) bucket->tokens = (double)rate->limit;
    bucket->filled_at_ms = now_ms;
}

static void remove_if_idle(struct pawl__rates *rates, struct bucket *bucket, int64_t now_ms)
{
    if (bucket->rate.limit || bucket->paused_until_ms > now_ms) return;
    pawl__hashtable_remove(&rates->buckets, &bucket->link);
    free(bucket);
}

void pawl__rates_set(struct pawl__rates *rates, const char *queue, const struct pawl__rate *rate,
                     int64_t now_ms)
{
    struct bucket *bucket = rate->limit ? find_or_add(rates, queue, now_ms) : find(rates, queue);
    if (!bucket) return;
    assert(!rate->limit || rate->period_ms > 0);
    fill(bucket, now_ms);
    if (!bucket->rate.limit) {
        bucket->tokens = (double)rate->limit;
        bucket->filled_at_ms = now_ms;
    }
    bucket->rate = *rate;
    if (bucket->tokens > (double)rate->limit) bucket->tokens = (double)rate->limit;
    remove_if_idle(rates, bucket, now_ms);
}

int64_t pawl__rates_room(struct pawl__rates *rates, const char *queue, int64_t now_ms)
{
    struct bucket *bucket = rates->buckets.count ? find(rates, queue) : NULL;
    if (!bucket) return INT64_MAX;
    if (bucket->paused_until_ms > now_ms) return 0;
    if (!bucket->rate.limit) {
        remove_if_idle(rates, bucket, now_ms);
        return INT64_MAX;
    }
    fill(bucket, now_ms);
    return bucket->tokens >= 1 ? (int64_t)bucket->tokens : 0;
}

void pawl__rates_take(struct pawl__rates *rates, const char *queue, int64_t count)
{
    struct bucket *bucket = find(rates, queue);
    if (!bucket) return;
    bucket->tokens -= (double)count;
    if (bucket->tokens > (double)bucket->rate.limit) bucket->tokens = (double)bucket->rate.limit;
}

void pawl__rates_pause(struct pawl__rates *rates, const char *queue, int64_t until_ms,
                       int64_t now_ms)
{
    struct bucket *bucket = until_ms > now_ms ? find_or_add(rates, queue, now_ms) : NULL;
    if (bucket && until_ms > bucket->paused_until_ms) bucket->paused_until_ms = until_ms;
}

/* ---- for requests ---- */

static void add_number(struct pawl__request *request, const char *name, int64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%lld", (long long)value);
    char *copy = pawl__arena_dup(&request->arena, text, (size_t)len);
    if (copy) pawl__reply_header(request, name, copy);
}

void pawl__rates_headers(struct pawl__request *request, const char *queue)
{
    struct pawl__rates *rates = request->server->rates;
    struct bucket *bucket = rates->buckets.count ? find(rates, queue) : NULL;
    if (!bucket || !bucket->rate.limit) return;
    int64_t now_ms = pawl__server_now(request->server);
    fill(bucket, now_ms);
    double missing = (double)bucket->rate.limit - bucket->tokens;
    double full_ms = missing * (double)bucket->rate.period_ms / (double)bucket->rate.limit;
    int64_t remaining = bucket->tokens >= 1 ? (int64_t)bucket->tokens : 0;
    add_number(request, "X-RateLimit-Limit", bucket->rate.limit);
    add_number(request, "X-RateLimit-Remaining", remaining);
    add_number(request, "X-RateLimit-Reset", (int64_t)((full_ms + 999) / 1000));
}
