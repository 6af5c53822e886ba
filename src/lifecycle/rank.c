/* The order of waiting jobs, as a number that is computed once.
 *
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

static __int128 least(__int128 a, __int128 b)
{
    return a < b ? a : b;
}

/* Among jobs with the same deadline the priority decides: a step of it is worth a millisecond
 * there.
 *
 * All sums are exact in 128 bits; only the result is clamped to the range of a column, which keeps
 * the order (values at the limits may be equal, and equal ranks are ordered by id). */
int64_t pawl__rank(const struct pawl__rank_of *of)
{
    const int64_t soft_lead_ms = PAWL__RANK_SLA_LEAD_MS, hard_lead_ms = 2 * soft_lead_ms;
    int64_t boost_ms = of->boost_ms ? of->boost_ms : PAWL__RANK_BOOST_MS;
    __int128 rank = (__int128)of->due_at_ms - (__int128)of->priority * boost_ms;
    if (of->sla_soft_at_ms) {
        rank = least(rank, (__int128)of->sla_soft_at_ms - soft_lead_ms - of->priority);
    }
    if (of->sla_hard_at_ms) {
        rank = least(rank, (__int128)of->sla_hard_at_ms - hard_lead_ms - of->priority);
    }
    if (rank > INT64_MAX) return INT64_MAX;
    if (rank < INT64_MIN) return INT64_MIN;
    return (int64_t)rank;
}
