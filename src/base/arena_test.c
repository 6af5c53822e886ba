#include "base/arena.h"

#include "base/test_kit.h"

static void every_size_is_aligned_for_anything(void **state)
{
    struct pawl__arena arena = { 0 };
    for (size_t bytes = 0; bytes < 300; bytes++) {
        void *at = pawl__arena_alloc(&arena, bytes);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % _Alignof(max_align_t), 0);
        memset(at, 0xaa, bytes);
    }
    pawl__arena_release(&arena);
}

static void allocations_never_overlap(void **state)
{
    enum { PIECES = 2000 };
    for_seeds(seed, 20)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct pawl__arena arena;
        pawl__arena_init(&arena);
        struct {
            unsigned char *at;
            size_t len;
        } piece[PIECES];
        for (int i = 0; i < PIECES; i++) {
            size_t max = pawl__rng_below(&rng, 50) == 0 ? 100000 : 200;
            piece[i].len = pawl__rng_below(&rng, max);
            piece[i].at = pawl__arena_alloc(&arena, piece[i].len);
            prove(piece[i].at);
            memset(piece[i].at, i & 0xff, piece[i].len);
        }
        for (int i = 0; i < PIECES; i++) {
            for (size_t j = 0; j < piece[i].len; j++) {
                prove(piece[i].at[j] == (i & 0xff));
            }
        }
        pawl__arena_release(&arena);
    }
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    struct pawl__arena arena = { 0 };
    assert_null(pawl__arena_alloc(&arena, SIZE_MAX));
    assert_null(pawl__arena_alloc(&arena, SIZE_MAX - 15)); // would round up to 0
    assert_null(pawl__arena_alloc(&arena, SIZE_MAX / 2 + 1));
    assert_null(pawl__arena_calloc(&arena, SIZE_MAX / 2, 4)); // the product wraps to a small one
    assert_null(pawl__arena_calloc(&arena, 4, SIZE_MAX / 2));
    assert_null(pawl__arena_dup(&arena, "", SIZE_MAX));
    assert_non_null(pawl__arena_alloc(&arena, 1)); // and it still works
    pawl__arena_release(&arena);
}

static void calloc_clears_used_memory(void **state)
{
    struct pawl__arena arena = { 0 };
    memset(pawl__arena_alloc(&arena, 1000), 0xff, 1000);
    pawl__arena_reset(&arena);
    unsigned char *at = pawl__arena_calloc(&arena, 100, 10);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(at[i], 0);
    }
    pawl__arena_release(&arena);
}

static void calloc_of_nothing_is_not_a_failure(void **state)
{
    struct pawl__arena arena = { 0 };
    assert_non_null(pawl__arena_calloc(&arena, 0, 8));
    assert_non_null(pawl__arena_calloc(&arena, 8, 0));
    pawl__arena_release(&arena);
}

static void dup_keeps_nuls_and_adds_one(void **state)
{
    struct pawl__arena arena = { 0 };
    memset(pawl__arena_alloc(&arena, 1000), 0xff, 1000);
    pawl__arena_reset(&arena);
    assert_memory_equal(pawl__arena_dup(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(pawl__arena_dup(&arena, NULL, 0), "");
    pawl__arena_release(&arena);
}

static void reset_hands_out_the_newest_chunk_again(void **state)
{
    struct pawl__arena arena = { 0 };
    void *first = pawl__arena_alloc(&arena, 10);
    pawl__arena_reset(&arena);
    assert_ptr_equal(pawl__arena_alloc(&arena, 10), first);
    for (int i = 0; i < 1000; i++) { // many chunks
        assert_non_null(pawl__arena_alloc(&arena, 1000));
    }
    pawl__arena_reset(&arena);
    assert_non_null(arena.chunks);
    assert_non_null(pawl__arena_alloc(&arena, 10));
    pawl__arena_release(&arena);
}

static void reset_keeps_no_giant(void **state)
{
    struct pawl__arena arena = { 0 };
    assert_non_null(pawl__arena_alloc(&arena, 2 * 1024 * 1024));
    pawl__arena_reset(&arena);
    assert_null(arena.chunks);
    pawl__arena_reset(&arena);
    pawl__arena_release(&arena);
}

static void big_request_leaves_the_small_chunk_in_use(void **state)
{
    struct pawl__arena arena = { 0 };
    char *before = pawl__arena_alloc(&arena, 16);
    assert_non_null(pawl__arena_alloc(&arena, 500000));
    char *after = pawl__arena_alloc(&arena, 16);
    assert_ptr_equal(after, before + 16);
    pawl__arena_release(&arena);
}

static void release_may_be_repeated(void **state)
{
    struct pawl__arena arena = { 0 };
    pawl__arena_release(&arena);
    assert_non_null(pawl__arena_alloc(&arena, 10));
    pawl__arena_release(&arena);
    pawl__arena_release(&arena);
    assert_non_null(pawl__arena_alloc(&arena, 10)); // reusable
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_aligned_for_anything),
        cmocka_unit_test(allocations_never_overlap),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(calloc_clears_used_memory),
        cmocka_unit_test(calloc_of_nothing_is_not_a_failure),
        cmocka_unit_test(dup_keeps_nuls_and_adds_one),
        cmocka_unit_test(reset_hands_out_the_newest_chunk_again),
        cmocka_unit_test(reset_keeps_no_giant),
        cmocka_unit_test(big_request_leaves_the_small_chunk_in_use),
        cmocka_unit_test(release_may_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
