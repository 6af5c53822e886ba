/* The interval of a node's heartbeats. */
#include "cluster/cluster.h"

#include <assert.h>

enum { BASE_PART = 3, LEAST_MS = 5000, RETRY_LEAST_PART = 30, RETRY_MOST_PART = 6 };

/* Up to `most`, the interval is scaled by this many tenths. */
struct step {
    int64_t most;
    int32_t tenths;
};

static const struct step by_nodes[] = {
    { 1, 15 },
    { 3, 10 },
    { 6, 8 },
    { INT64_MAX, 6 },
};
static const struct step by_jobs[] = {
    { 0, 12 }, { 10, 10 }, { 50, 9 }, { 200, 7 }, { INT64_MAX, 5 },
};

static int32_t tenths_of(const struct step *step, int64_t count)
{
    while (count > step->most) {
        step++;
    }
    return step->tenths;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t pawl__heartbeat_ms(int64_t lease_ms, const struct pawl_census *census)
{
    assert(lease_ms > 0);
    int64_t base_ms = lease_ms / BASE_PART;
    int64_t ms = base_ms * tenths_of(by_nodes, census->alive) * tenths_of(by_jobs, census->ready);
    ms /= 100;
    // at least five seconds, but a short lease cannot wait for them
    int64_t low_ms = least(base_ms, LEAST_MS);
    if (low_ms < base_ms / 4) low_ms = base_ms / 4;
    int64_t high_ms = 2 * base_ms;
    ms = ms < low_ms ? low_ms : least(ms, high_ms);
    return ms > 0 ? ms : 1;
}

int64_t pawl__heartbeat_retry_ms(int64_t lease_ms, int32_t failures)
{
    assert(lease_ms > 0 && failures > 0);
    int64_t most_ms = lease_ms / RETRY_MOST_PART;
    int64_t ms = lease_ms / RETRY_LEAST_PART;
    for (int32_t i = 1; i < failures && ms < most_ms; i++) {
        ms *= 2;
    }
    ms = least(ms, most_ms);
    return ms > 0 ? ms : 1;
}
