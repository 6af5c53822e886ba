/* Tests of leases, and of the table that they are kept in. */
#include "http/local/leases.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pawl_job_id id_of(uint32_t number)
{
    struct pawl_job_id id = { { 0 } };
    memcpy(id.b + 12, &number, sizeof number);
    return id;
}

static struct pawl_job job_of(uint32_t number, int64_t run)
{
    return (struct pawl_job){ .id = id_of(number),
                              .type = "mail.send",
                              .queue = "mail",
                              .state = PAWL_STATE_ACTIVE,
                              .run = run,
                              .attempt = run,
                              .lease_until_ms = 1000,
                              .worker = "w1",
                              .hold = "",
                              .reason = "",
                              .idempotency_key = "key",
                              .business_key = "",
                              .principal = "",
                              .trace_id = "",
                              .args = { "[1,2]", 5 },
                              .meta = { "{}", 2 } };
}

static void moved(struct pawl__leases *leases, uint32_t number, int64_t run, enum pawl_state from,
                  enum pawl_state to)
{
    struct pawl__server server = { .leases = leases };
    struct pawl_moved move = { .id = id_of(number), .run = run, .from = from, .to = to };
    pawl__leases_moved(&server, &move);
}

static void remembers_whose_a_run_is(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job job = job_of(7, 2);
    assert_null(pawl__leases_find(leases, id_of(7)));
    pawl__leases_put(leases, &job, 30000);
    const struct pawl__lease *lease = pawl__leases_find(leases, id_of(7));
    assert_non_null(lease);
    assert_int_equal(lease->run, 2);
    assert_int_equal(lease->attempt, 2);
    assert_int_equal(lease->lease_ms, 30000);
    assert_int_equal(lease->lease_until_ms, 1000);
    assert_string_equal(lease->worker, "w1");
    assert_string_equal(lease->queue, "mail");
    assert_true(lease->named);
    assert_null(pawl__leases_find(leases, id_of(8)));
    pawl__leases_free(leases);
    pawl__leases_free(NULL);
}

static void prefers_the_jobs_own_lease(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job job = job_of(7, 1);
    job.lease_ms = 5000;
    job.worker = PAWL__ANONYMOUS "x";
    pawl__leases_put(leases, &job, 30000);
    assert_int_equal(pawl__leases_find(leases, id_of(7))->lease_ms, 5000);
    assert_false(pawl__leases_find(leases, id_of(7))->named);
    pawl__leases_free(leases);
}

static void lets_a_newer_run_take_the_place_of_an_older(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job first = job_of(7, 1), second = job_of(7, 2);
    second.worker = "w2";
    pawl__leases_put(leases, &first, 1);
    pawl__leases_put(leases, &second, 1);
    assert_string_equal(pawl__leases_find(leases, id_of(7))->worker, "w2");
    pawl__leases_drop(leases, id_of(7), 1); // what becomes of the older does not matter
    assert_non_null(pawl__leases_find(leases, id_of(7)));
    pawl__leases_drop(leases, id_of(7), 2);
    assert_null(pawl__leases_find(leases, id_of(7)));
    pawl__leases_drop(leases, id_of(7), 2);
    pawl__leases_free(leases);
}

static void forgets_what_leaves_active(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job job = job_of(7, 3);
    pawl__leases_put(leases, &job, 1);
    moved(leases, 7, 2, PAWL_STATE_ACTIVE, PAWL_STATE_AVAILABLE); // an earlier run
    moved(leases, 7, 3, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE);
    assert_non_null(pawl__leases_find(leases, id_of(7)));
    moved(leases, 7, 3, PAWL_STATE_ACTIVE, PAWL_STATE_CANCELLED);
    assert_null(pawl__leases_find(leases, id_of(7)));
    pawl__leases_free(leases);
}

static void hands_out_the_job_as_it_was_claimed_once(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    char args[] = "[1,2]";
    struct pawl_job job = job_of(7, 1);
    job.args.at = args;
    pawl__leases_put(leases, &job, 1);
    memset(args, 'x', sizeof args); // it was copied
    struct pawl__lease *lease = pawl__leases_find(leases, id_of(7));
    struct pawl_job *copy = pawl__lease_take_job(leases, lease);
    assert_non_null(copy);
    assert_null(pawl__lease_take_job(leases, lease));
    pawl__leases_drop(leases, id_of(7), 1);
    assert_memory_equal(copy->args.at, "[1,2]", 5);
    assert_int_equal(copy->args.len, 5);
    assert_string_equal(copy->type, "mail.send");
    assert_string_equal(copy->idempotency_key, "key");
    assert_int_equal(copy->extra.len, 0);
    free(copy);
    pawl__leases_free(leases);
}

static void keeps_no_copy_of_a_large_job(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    char *args = calloc(1, 100000);
    struct pawl_job job = job_of(7, 1);
    job.args = (struct pawl_span){ args, 100000 };
    pawl__leases_put(leases, &job, 1);
    free(args);
    struct pawl__lease *lease = pawl__leases_find(leases, id_of(7));
    assert_non_null(lease);
    assert_null(pawl__lease_take_job(leases, lease));
    pawl__leases_free(leases);
}

static void goes_through_them_from_the_oldest(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    for (uint32_t i = 1; i <= 3; i++) {
        struct pawl_job job = job_of(i, 1);
        pawl__leases_put(leases, &job, 1);
    }
    pawl__leases_drop(leases, id_of(2), 1);
    const struct pawl__lease *lease = pawl__leases_next(leases, NULL);
    assert_memory_equal(&lease->id, &(struct pawl_job_id){ .b[12] = 1 }, sizeof lease->id);
    lease = pawl__leases_next(leases, lease);
    assert_memory_equal(&lease->id, &(struct pawl_job_id){ .b[12] = 3 }, sizeof lease->id);
    assert_null(pawl__leases_next(leases, lease));
    pawl__leases_clear(leases);
    assert_null(pawl__leases_next(leases, NULL));
    pawl__leases_free(leases);
}

static void forgets_the_oldest_beyond_its_bound(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    for (uint32_t i = 0; i <= 200000; i++) {
        struct pawl_job job = job_of(i, 1);
        pawl__leases_put(leases, &job, 1);
    }
    assert_null(pawl__leases_find(leases, id_of(0)));
    assert_non_null(pawl__leases_find(leases, id_of(1)));
    assert_non_null(pawl__leases_find(leases, id_of(200000)));
    pawl__leases_free(leases);
}

static void knows_which_jobs_have_a_past(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job fresh = job_of(1, 1), again = job_of(2, 2), saved = job_of(3, 1);
    assert_false(pawl__leases_has_past(leases, &fresh));
    assert_true(pawl__leases_has_past(leases, &again));
    assert_false(pawl__leases_has_past(leases, &saved));
    pawl__leases_mark(leases, saved.id);
    pawl__leases_mark(leases, saved.id);
    assert_true(pawl__leases_has_past(leases, &saved));
    assert_false(pawl__leases_has_past(leases, &fresh));
    moved(leases, 3, 1, PAWL_STATE_ACTIVE, PAWL_STATE_RETRYABLE);
    assert_true(pawl__leases_has_past(leases, &saved));
    moved(leases, 3, 1, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED);
    assert_false(pawl__leases_has_past(leases, &saved));
    pawl__leases_free(leases);
}

static void takes_every_job_to_have_a_past_when_it_cannot_remember(void **state)
{
    (void)state;
    struct pawl__leases *leases = pawl__leases_new();
    struct pawl_job fresh = job_of(1000000, 1);
    for (uint32_t i = 0; i < 100000; i++) {
        pawl__leases_mark(leases, id_of(i));
    }
    assert_false(pawl__leases_has_past(leases, &fresh));
    pawl__leases_mark(leases, id_of(100000));
    assert_true(pawl__leases_has_past(leases, &fresh));
    pawl__leases_clear(leases);
    assert_false(pawl__leases_has_past(leases, &fresh));
    pawl__leases_free(leases);
}

/* ---- the table ---- */

struct thing {
    struct pawl__hash_link link;
    int value;
    bool in;
};

/* Few hashes, so that chains are long and shared. */
static void finds_exactly_what_is_in_a_table(void **state)
{
    (void)state;
    enum { THINGS = 300, HASHES = 40, STEPS = 20000 };
    static struct thing things[THINGS];
    struct pawl__hashtable table = { 0 };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 20261116);
    assert_null(pawl__hashtable_first(&table, 1));
    for (int step = 0; step < STEPS; step++) {
        struct thing *thing = &things[pawl__rng_below(&rng, THINGS)];
        uint64_t hash = (uint64_t)(thing - things) % HASHES;
        if (thing->in) {
            pawl__hashtable_remove(&table, &thing->link);
        } else {
            assert_true(pawl__hashtable_add(&table, &thing->link, hash));
        }
        thing->in = !thing->in;
        size_t want = 0, have = 0;
        for (size_t i = hash; i < THINGS; i += HASHES) {
            want += things[i].in;
        }
        struct pawl__hash_link *link = pawl__hashtable_first(&table, hash);
        for (; link; link = pawl__hashtable_next(link)) {
            assert_true(((struct thing *)link)->in);
            have++;
        }
        assert_int_equal(have, want);
    }
    pawl__hashtable_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_whose_a_run_is),
        cmocka_unit_test(prefers_the_jobs_own_lease),
        cmocka_unit_test(lets_a_newer_run_take_the_place_of_an_older),
        cmocka_unit_test(forgets_what_leaves_active),
        cmocka_unit_test(hands_out_the_job_as_it_was_claimed_once),
        cmocka_unit_test(keeps_no_copy_of_a_large_job),
        cmocka_unit_test(goes_through_them_from_the_oldest),
        cmocka_unit_test(forgets_the_oldest_beyond_its_bound),
        cmocka_unit_test(knows_which_jobs_have_a_past),
        cmocka_unit_test(takes_every_job_to_have_a_past_when_it_cannot_remember),
        cmocka_unit_test(finds_exactly_what_is_in_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
