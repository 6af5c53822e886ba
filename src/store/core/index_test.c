/* Places by hash. */
#include "base/test_kit.h"
#include "store/core/index.h"

enum { MANY = 5000 };

/* How many entries of a hash there are, and the sum of their places. */
static size_t count(const struct pawl__index *index, uint32_t hash, size_t *sum)
{
    size_t found = 0, place;
    *sum = 0;
    for (size_t at = hash; pawl__index_next(index, hash, &at, &place); found++) {
        *sum += place;
    }
    return found;
}

static void expect(const struct pawl__index *index, uint32_t hash, size_t found, size_t sum)
{
    size_t got;
    assert_int_equal(count(index, hash, &got), found);
    assert_int_equal(got, sum);
}

static void entries_are_found_however_many_there_are(void **state)
{
    struct pawl__index index = { .slots = NULL };
    expect(&index, 7, 0, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(pawl__index_add(&index, i * 64, i)); // hashes that share their low bits
    }
    for (uint32_t i = 0; i < MANY; i++) {
        expect(&index, i * 64, 1, i);
    }
    expect(&index, 63, 0, 0);
    pawl__index_release(&index);
    pawl__index_release(&index);
}

static void all_entries_of_one_hash_are_found(void **state)
{
    struct pawl__index index = { .slots = NULL };
    for (uint32_t i = 0; i < 300; i++) {
        assert_true(pawl__index_add(&index, i % 3 ? UINT32_MAX : 255, i)); // round the end
    }
    expect(&index, 255, 100, 3 * 99 * 100 / 2);
    expect(&index, UINT32_MAX, 200, 299 * 300 / 2 - 3 * 99 * 100 / 2);
    pawl__index_release(&index);
}

static void nothing_is_left_when_it_is_emptied(void **state)
{
    struct pawl__index index = { .slots = NULL };
    pawl__index_clear(&index);
    for (uint32_t turn = 0; turn < 10; turn++) {
        if (turn == 5) index.turn = UINT32_MAX; // as after very many batches
        for (uint32_t i = 0; i < 100; i++) {
            expect(&index, i, 0, 0);
            assert_true(pawl__index_add(&index, i, i + turn));
            expect(&index, i, 1, i + turn);
        }
        pawl__index_clear(&index);
        expect(&index, 1, 0, 0);
    }
    pawl__index_release(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_however_many_there_are),
        cmocka_unit_test(all_entries_of_one_hash_are_found),
        cmocka_unit_test(nothing_is_left_when_it_is_emptied),
    };
    return cmocka_run_group_tests_name("store_index", tests, NULL, NULL);
}
