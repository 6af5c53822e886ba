/* Compares the rank with the order that it represents, also at the limits of the numbers. */
#include "lifecycle/dice_test.h"
#include "lifecycle/lifecycle.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { JOBS = 500, ROUNDS = 20, CASES = 200000 };

#define DAY INT64_C(86400000)
#define TWO_DAYS INT64_C(172800000)
#define MINUTE INT64_C(60000)
#define NOW INT64_C(1774951200000) /* some day in 2026 */

struct job {
    struct pawl__rank_of of;
    int64_t rank;
};

static int by_rank(const void *a, const void *b)
{
    const struct job *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static struct job job_of(int32_t priority, int64_t due_at_ms)
{
    struct job job = {
        .of = { .due_at_ms = due_at_ms, .priority = priority, .boost_ms = PAWL__RANK_BOOST_MS }
    };
    job.rank = pawl__rank(&job.of);
    return job;
}

static struct job random_job(struct pawl__rng *rng, int64_t boost_ms)
{
    struct job job = { .of = { .due_at_ms = NOW - (int64_t)pawl__rng_below(rng, 3 * DAY),
                               .priority = (int32_t)pawl__rng_below(rng, 201) - 100,
                               .boost_ms = boost_ms } };
    job.rank = pawl__rank(&job.of);
    return job;
}

/* Ratchet's order: the priority, plus one for each full interval waited. */
static int64_t effective(const struct pawl__rank_of *of, int64_t now_ms)
{
    return of->priority + (now_ms - of->due_at_ms) / of->boost_ms;
}

/* The same without rounding, as a multiple of 1/boost. */
static int64_t effective_exact(const struct pawl__rank_of *of, int64_t now_ms)
{
    return of->priority * of->boost_ms + (now_ms - of->due_at_ms);
}

static void order_is_that_of_priority_and_age(void **ctx)
{
    (void)ctx;
    static struct job jobs[JOBS];
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t boost_ms = 1 + (int64_t)pawl__rng_below(&rng, 60 * MINUTE);
        int64_t now_ms = NOW + (int64_t)pawl__rng_below(&rng, 30 * DAY); // at any time
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = random_job(&rng, boost_ms);
        }
        qsort(jobs, JOBS, sizeof *jobs, by_rank);
        for (int i = 1; i < JOBS; i++) {
            const struct pawl__rank_of *a = &jobs[i - 1].of, *b = &jobs[i].of;
            int64_t ahead = effective_exact(a, now_ms) - effective_exact(b, now_ms);
            if ((ahead == 0) != (jobs[i - 1].rank == jobs[i].rank) || ahead < 0 ||
                effective(a, now_ms) < effective(b, now_ms)) {
                fail_msg("seed %" PRIu64 ", round %d: job %d is behind job %d", seed, round, i,
                         i - 1);
            }
        }
    }
}

static void a_step_of_priority_is_worth_one_boost_of_waiting(void **ctx)
{
    (void)ctx;
    struct job low = job_of(0, NOW - 4 * PAWL__RANK_BOOST_MS), high = job_of(4, NOW);
    assert_int_equal(low.rank, high.rank);
    assert_true(job_of(0, low.of.due_at_ms - 1).rank < high.rank);
    assert_true(job_of(0, low.of.due_at_ms + 1).rank > high.rank);
}

static void equal_priorities_are_first_come_first_served(void **ctx)
{
    (void)ctx;
    for (int32_t priority = PAWL_PRIORITY_MIN; priority <= PAWL_PRIORITY_MAX; priority++) {
        assert_true(job_of(priority, NOW).rank < job_of(priority, NOW + 1).rank);
    }
}

static void a_boost_that_is_not_given_is_the_default(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of of = { .due_at_ms = NOW, .priority = 3 };
    assert_int_equal(pawl__rank(&of), NOW - 3 * PAWL__RANK_BOOST_MS);
}

static void a_boost_of_a_century_is_priority_alone(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of old = { .due_at_ms = 1, .boost_ms = PAWL__RETRY_MS_MAX }, fresh = {
        .due_at_ms = NOW, .priority = 1, .boost_ms = PAWL__RETRY_MS_MAX
    };
    assert_true(pawl__rank(&fresh) < pawl__rank(&old));
}

static void a_soft_deadline_counts_a_day_ahead_and_a_hard_one_two(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of of = { .due_at_ms = NOW, .sla_soft_at_ms = NOW + DAY / 2 };
    assert_int_equal(pawl__rank(&of), NOW - DAY / 2);
    of = (struct pawl__rank_of){ .due_at_ms = NOW, .sla_hard_at_ms = NOW + DAY / 2 };
    assert_int_equal(pawl__rank(&of), NOW - DAY - DAY / 2);
    of.sla_soft_at_ms = NOW + DAY / 4;
    assert_int_equal(pawl__rank(&of), NOW - DAY - DAY / 2);
    of.sla_soft_at_ms = NOW - DAY;
    assert_int_equal(pawl__rank(&of), NOW - 2 * DAY);
}

static void priority_breaks_ties_of_equal_deadlines(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of of = { .due_at_ms = NOW, .sla_soft_at_ms = NOW }, urgent = of;
    urgent.priority = 5;
    assert_int_equal(pawl__rank(&urgent), pawl__rank(&of) - 5);
    of.sla_soft_at_ms -= 6; // a deadline that is earlier by more comes first all the same
    assert_true(pawl__rank(&of) < pawl__rank(&urgent));
}

static void a_far_deadline_changes_nothing(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of of = { .due_at_ms = NOW,
                                .priority = 5,
                                .sla_soft_at_ms = NOW + 10 * DAY,
                                .sla_hard_at_ms = NOW + 20 * DAY };
    assert_int_equal(pawl__rank(&of), NOW - 5 * PAWL__RANK_BOOST_MS);
}

/* A job with only a hard deadline runs earlier the nearer it is. */
static void a_hard_deadline_alone_gives_urgency(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of near = { .due_at_ms = NOW, .sla_hard_at_ms = NOW + 60 * MINUTE },
                         later = { .due_at_ms = NOW, .sla_hard_at_ms = NOW + 61 * MINUTE },
                         none = { .due_at_ms = NOW };
    assert_true(pawl__rank(&near) < pawl__rank(&later));
    assert_true(pawl__rank(&later) < pawl__rank(&none));
}

/* Waiting jobs are overtaken less and less: a job whose deadline has passed precedes one that
 * arrives afterwards, without an update of its rank. */
static void a_job_that_is_late_is_before_what_comes_after(void **ctx)
{
    (void)ctx;
    struct pawl__rank_of late = { .due_at_ms = NOW, .priority = -50, .sla_soft_at_ms = NOW + DAY },
                         fresh = { .due_at_ms = NOW + DAY, .priority = 90 };
    assert_true(pawl__rank(&late) < pawl__rank(&fresh));
    late.sla_soft_at_ms = 0;
    assert_true(pawl__rank(&late) > pawl__rank(&fresh));
}

static __int128 smaller(__int128 a, __int128 b)
{
    return a < b ? a : b;
}

static void no_input_overflows_and_deadlines_only_help(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        struct pawl__rank_of of = { .due_at_ms = dice_int64(&rng),
                                    .priority = (int32_t)dice_int64(&rng),
                                    .boost_ms = dice_positive(&rng),
                                    .sla_soft_at_ms = dice_int64(&rng),
                                    .sla_hard_at_ms = dice_int64(&rng) };
        struct pawl__rank_of plain = of;
        plain.sla_soft_at_ms = plain.sla_hard_at_ms = 0;
        __int128 want = (__int128)of.due_at_ms - (__int128)of.priority * of.boost_ms;
        __int128 soft = (__int128)of.sla_soft_at_ms - DAY - of.priority;
        __int128 hard = (__int128)of.sla_hard_at_ms - TWO_DAYS - of.priority;
        if (of.sla_soft_at_ms) want = smaller(want, soft);
        if (of.sla_hard_at_ms) want = smaller(want, hard);
        int64_t rank = pawl__rank(&of);
        bool right = want < INT64_MIN   ? rank == INT64_MIN
                     : want > INT64_MAX ? rank == INT64_MAX
                                        : rank == want;
        if (!right || rank > pawl__rank(&plain)) {
            fail_msg("seed %" PRIu64 ", case %d: rank %" PRId64, seed, i, rank);
        }
    }
}

static void a_higher_priority_is_never_later(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        struct pawl__rank_of of = { .due_at_ms = dice_int64(&rng),
                                    .priority = (int32_t)dice_int64(&rng),
                                    .boost_ms = dice_positive(&rng),
                                    .sla_soft_at_ms = dice_int64(&rng) };
        if (of.priority == INT32_MAX) continue;
        struct pawl__rank_of higher = of;
        higher.priority++;
        if (pawl__rank(&higher) > pawl__rank(&of)) {
            fail_msg("seed %" PRIu64 ", case %d: priority %" PRId32 " is before the next", seed, i,
                     of.priority);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_priority_and_age),
        cmocka_unit_test(a_step_of_priority_is_worth_one_boost_of_waiting),
        cmocka_unit_test(equal_priorities_are_first_come_first_served),
        cmocka_unit_test(a_boost_that_is_not_given_is_the_default),
        cmocka_unit_test(a_boost_of_a_century_is_priority_alone),
        cmocka_unit_test(a_soft_deadline_counts_a_day_ahead_and_a_hard_one_two),
        cmocka_unit_test(priority_breaks_ties_of_equal_deadlines),
        cmocka_unit_test(a_far_deadline_changes_nothing),
        cmocka_unit_test(a_hard_deadline_alone_gives_urgency),
        cmocka_unit_test(a_job_that_is_late_is_before_what_comes_after),
        cmocka_unit_test(no_input_overflows_and_deadlines_only_help),
        cmocka_unit_test(a_higher_priority_is_never_later),
    };
    return cmocka_run_group_tests_name("lifecycle/rank", tests, NULL, NULL);
}
