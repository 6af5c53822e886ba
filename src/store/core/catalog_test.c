/* Queues and lanes by name and number, the counters, and taking both back. No store is involved. */
#include "store/core/catalog.h"

#include "base/test_kit.h"

#include <stdio.h>
#include <string.h>

enum { QUEUES = 300, TYPES = 3, LANES = QUEUES * TYPES };

static const char *named(char name[32], const char *prefix, int number)
{
    snprintf(name, 32, "%s %d", prefix, number);
    return name;
}

static struct pawl__lane *find(const struct pawl__catalog *catalog, int n)
{
    char queue[32], type[32];
    return pawl__catalog_lane(catalog, named(queue, "queue", n / TYPES),
                              named(type, "type", n % TYPES));
}

/* Queue number q has id q + 1, lane number n id n + 1. */
static void learn(struct pawl__catalog *catalog, int n)
{
    char queue[32], type[32];
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl__catalog_learn_queue(catalog, n / TYPES + 1,
                                               named(queue, "queue", n / TYPES), false, &diag),
                     PAWL_OK);
    assert_int_equal(pawl__catalog_learn_lane(catalog, n + 1, n / TYPES + 1,
                                              named(type, "type", n % TYPES), &diag),
                     PAWL_OK);
}

static void learn_all(struct pawl__catalog *catalog, int count)
{
    for (int i = 0; i < count; i++) {
        learn(catalog, i);
    }
}

/* The first `count` lanes are there, each once and on its queue; no others are. */
static void expect_first(const struct pawl__catalog *catalog, int count)
{
    char name[32];
    assert_int_equal(catalog->lane_count, count);
    assert_int_equal(catalog->queue_count, (count + TYPES - 1) / TYPES);
    for (int i = 0; i < LANES; i++) {
        const struct pawl__lane *lane = find(catalog, i);
        assert_ptr_equal(pawl__catalog_lane_by_id(catalog, i + 1), lane);
        if (i >= count) {
            assert_null(lane);
            continue;
        }
        assert_non_null(lane);
        assert_int_equal(lane->id, i + 1);
        assert_string_equal(pawl__catalog_queue_name(catalog, lane),
                            named(name, "queue", i / TYPES));
    }
    uint32_t chained = 0;
    for (uint32_t q = 0; q < catalog->queue_count; q++) {
        uint32_t at = catalog->queues[q].first_lane;
        for (; at; at = catalog->lanes[at - 1]->next_lane) {
            assert_int_equal(catalog->lanes[at - 1]->queue, q);
            chained++;
        }
    }
    assert_int_equal(chained, count);
}

static void hundreds_are_found_by_name_and_by_number(void **state)
{
    struct pawl__catalog catalog = { .seed = 7 };
    assert_null(pawl__catalog_lane_by_id(&catalog, 1));
    assert_null(find(&catalog, 0));
    assert_null(pawl__catalog_queue(&catalog, "queue 0"));
    learn_all(&catalog, LANES);
    expect_first(&catalog, LANES);
    const struct pawl__lane *first = find(&catalog, 0);
    learn_all(&catalog, LANES); // again: nothing is new
    expect_first(&catalog, LANES);
    assert_ptr_equal(find(&catalog, 0), first);
    assert_null(pawl__catalog_lane_by_id(&catalog, -1));
    assert_null(pawl__catalog_lane_by_id(&catalog, 0));
    assert_null(pawl__catalog_lane_by_id(&catalog, INT64_MAX));
    pawl__catalog_release(&catalog);
    assert_int_equal(catalog.seed, 7);
}

static void names_are_told_apart_where_they_meet(void **state)
{
    static const char *const names[][2] = {
        { "a", "bc" }, { "ab", "c" }, { "abc", "" }, { "a", "b" }, { "b", "a" }
    };
    struct pawl__catalog catalog = { 0 };
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct pawl__queue *known = pawl__catalog_queue(&catalog, names[i][0]);
        int64_t queue_id = known ? known->id : (int64_t)i + 1;
        assert_int_equal(pawl__catalog_learn_queue(&catalog, queue_id, names[i][0], false, NULL),
                         PAWL_OK);
        assert_int_equal(
            pawl__catalog_learn_lane(&catalog, (int64_t)i + 1, queue_id, names[i][1], NULL),
            PAWL_OK);
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(pawl__catalog_lane(&catalog, names[i][0], names[i][1])->id, i + 1);
    }
    pawl__catalog_release(&catalog);
}

static void pause_of_a_known_queue_is_news(void **state)
{
    struct pawl__catalog catalog = { 0 };
    learn(&catalog, 0);
    assert_false(pawl__catalog_queue(&catalog, "queue 0")->paused);
    assert_int_equal(pawl__catalog_learn_queue(&catalog, 1, "queue 0", true, NULL), PAWL_OK);
    assert_true(pawl__catalog_queue(&catalog, "queue 0")->paused);
    assert_int_equal(catalog.queue_count, 1);
    pawl__catalog_release(&catalog);
}

static void what_a_transaction_made_is_taken_back(void **state)
{
    struct pawl__catalog catalog = { 0 };
    for (int kept = 0; kept < LANES; kept += 97) {
        learn_all(&catalog, kept);
        uint32_t lanes = catalog.lane_count, queues = catalog.queue_count;
        learn_all(&catalog, LANES);
        pawl__catalog_count(&catalog, find(&catalog, LANES - 1), PAWL__OUTSIDE, PAWL_STATE_PENDING);
        if (kept) {
            pawl__catalog_count(&catalog, find(&catalog, 0), PAWL__OUTSIDE, PAWL_STATE_PENDING);
        }
        pawl__catalog_truncate(&catalog, lanes, queues);
        expect_first(&catalog, kept);
        assert_int_equal(catalog.touched_count, kept ? 1 : 0);
        pawl__catalog_forget_counts(&catalog);
    }
    pawl__catalog_clear(&catalog);
    expect_first(&catalog, 0);
    pawl__catalog_release(&catalog);
}

static void counts_add_up_until_they_are_forgotten(void **state)
{
    struct pawl__catalog catalog = { 0 };
    learn_all(&catalog, 4);
    struct pawl__lane *lane = find(&catalog, 2);
    pawl__catalog_count(&catalog, lane, PAWL__OUTSIDE, PAWL_STATE_AVAILABLE);
    pawl__catalog_count(&catalog, lane, PAWL__OUTSIDE, PAWL_STATE_AVAILABLE);
    pawl__catalog_count(&catalog, lane, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE);
    pawl__catalog_count(&catalog, lane, PAWL_STATE_COMPLETED, PAWL__OUTSIDE);
    assert_int_equal(catalog.touched_count, 1);
    assert_int_equal(catalog.touched[0], lane->at);
    assert_int_equal(lane->delta[PAWL_STATE_AVAILABLE], 1);
    assert_int_equal(lane->delta[PAWL_STATE_ACTIVE], 1);
    assert_int_equal(lane->delta[PAWL_STATE_COMPLETED], -1);
    pawl__catalog_forget_counts(&catalog);
    assert_int_equal(catalog.touched_count, 0);
    for (int i = 0; i < PAWL_STATE_END; i++) {
        assert_int_equal(lane->delta[i], 0);
    }
    pawl__catalog_release(&catalog);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    struct pawl__catalog catalog = { 0 };
    struct pawl_diag diag = { 0 };
    learn(&catalog, 0);
    static const int64_t wrong[] = { -1, INT64_MIN, INT64_C(1) << 40, INT64_MAX };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(pawl__catalog_learn_queue(&catalog, wrong[i], "other", false, &diag),
                         PAWL_ERR_CORRUPT);
        assert_int_equal(pawl__catalog_learn_lane(&catalog, wrong[i], 1, "other", &diag),
                         PAWL_ERR_CORRUPT);
        assert_int_equal(pawl__catalog_learn_lane(&catalog, 2, wrong[i], "other", &diag),
                         PAWL_ERR_CORRUPT);
    }
    assert_string_equal(diag.text, "the store is damaged: lane 2 has no queue");
    expect_first(&catalog, 1);
    pawl__catalog_release(&catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundreds_are_found_by_name_and_by_number),
        cmocka_unit_test(names_are_told_apart_where_they_meet),
        cmocka_unit_test(pause_of_a_known_queue_is_news),
        cmocka_unit_test(what_a_transaction_made_is_taken_back),
        cmocka_unit_test(counts_add_up_until_they_are_forgotten),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
