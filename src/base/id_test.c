#include "base/id.h"

#include <pawl/pawl.h>

#include "base/test_kit.h"

struct hand_clock {
    struct pawl_clock clock;
    int64_t now_ms;
};

static int64_t hand_wall_ms(void *ctx)
{
    return ((struct hand_clock *)ctx)->now_ms;
}

static void hand_clock_set(struct hand_clock *hand, int64_t now_ms)
{
    *hand =
        (struct hand_clock){ .clock = { .wall_ms = hand_wall_ms, .ctx = hand }, .now_ms = now_ms };
}

static int64_t id_ms(struct pawl_job_id id)
{
    int64_t ms = 0;
    for (int i = 0; i < 6; i++) {
        ms = ms << 8 | id.b[i];
    }
    return ms;
}

static bool id_before(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) < 0;
}

static void ids_are_version_7_and_carry_the_time(void **state)
{
    struct hand_clock hand;
    struct pawl__idgen gen;
    hand_clock_set(&hand, INT64_C(1774951205123));
    pawl__idgen_init(&gen, &hand.clock, 1);
    for (int i = 0; i < 1000; i++) {
        struct pawl_job_id id = pawl__idgen_next(&gen);
        assert_int_equal(id.b[6] >> 4, 7);
        assert_int_equal(id.b[8] >> 6, 2);
        assert_true(id_ms(id) == hand.now_ms);
    }
    pawl__idgen_release(&gen);
}

static void ids_grow_whatever_the_clock_does(void **state)
{
    for_seeds(seed, 50)
    {
        struct pawl__rng rng;
        struct hand_clock hand;
        struct pawl__idgen gen;
        pawl__rng_seed(&rng, seed);
        hand_clock_set(&hand, INT64_C(1700000000000));
        pawl__idgen_init(&gen, &hand.clock, seed);
        struct pawl_job_id last = { { 0 } };
        for (int i = 0; i < 5000; i++) {
            struct pawl_job_id id = pawl__idgen_next(&gen);
            prove(id_before(last, id));
            last = id;
            hand.now_ms += (int64_t)pawl__rng_below(&rng, 2001) - 1000; // forth and back
        }
        pawl__idgen_release(&gen);
    }
}

static void full_millisecond_runs_ahead_of_the_clock(void **state)
{
    enum { MANY = 50000 };
    struct hand_clock hand;
    struct pawl__idgen gen;
    hand_clock_set(&hand, 1000000);
    pawl__idgen_init(&gen, &hand.clock, 2);
    struct pawl_job_id last = pawl__idgen_next(&gen);
    for (int i = 1; i < MANY; i++) {
        struct pawl_job_id id = pawl__idgen_next(&gen);
        assert_true(id_before(last, id));
        last = id;
    }
    // 4096 numbers in a ms, of which fewer than 256 are left out at its start
    assert_in_range(id_ms(last), 1000000 + MANY / 4096, 1000000 + MANY / 3840);
    hand.now_ms = 2000000; // ids follow the clock again once it has caught up
    assert_int_equal(id_ms(pawl__idgen_next(&gen)), 2000000);
    pawl__idgen_release(&gen);
}

static void batches_grow_within_and_between(void **state)
{
    struct hand_clock hand;
    struct pawl__idgen gen;
    hand_clock_set(&hand, 5000);
    pawl__idgen_init(&gen, &hand.clock, 3);
    struct pawl_job_id last = pawl__idgen_next(&gen), batch[1000];
    for (int round = 0; round < 20; round++) {
        pawl__idgen_take(&gen, batch, COUNT(batch));
        for (size_t i = 0; i < COUNT(batch); i++) {
            assert_true(id_before(last, batch[i]));
            last = batch[i];
        }
        hand.now_ms--;
    }
    pawl__idgen_take(&gen, NULL, 0);
    pawl__idgen_release(&gen);
}

static void absurd_clocks_still_give_growing_ids(void **state)
{
    static const int64_t clocks[] = { INT64_MIN, -1, 0, INT64_C(1) << 48, INT64_MAX, INT64_MAX };
    struct hand_clock hand;
    struct pawl__idgen gen;
    hand_clock_set(&hand, 0);
    pawl__idgen_init(&gen, &hand.clock, 4);
    struct pawl_job_id last = { { 0 } };
    for (size_t i = 0; i < COUNT(clocks); i++) {
        hand.now_ms = clocks[i];
        struct pawl_job_id id = pawl__idgen_next(&gen);
        assert_true(id_before(last, id));
        assert_int_equal(id.b[6] >> 4, 7);
        last = id;
    }
    pawl__idgen_release(&gen);
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pawl_job_id));
}

static void assert_distinct(struct pawl_job_id *ids, size_t count)
{
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++) {
        assert_int_not_equal(compare_ids(&ids[i - 1], &ids[i]), 0);
    }
}

static void two_generators_never_agree(void **state)
{
    enum { EACH = 20000 };
    static struct pawl_job_id ids[2 * EACH];
    struct hand_clock hand;
    struct pawl__idgen a, b;
    hand_clock_set(&hand, 777);
    pawl__idgen_init(&a, &hand.clock, 5);
    pawl__idgen_init(&b, &hand.clock, 6);
    for (int i = 0; i < EACH; i++) {
        ids[2 * i] = pawl__idgen_next(&a);
        ids[2 * i + 1] = pawl__idgen_next(&b);
    }
    assert_distinct(ids, COUNT(ids));
    pawl__idgen_release(&a);
    pawl__idgen_release(&b);
}

enum { THREADS = 4, PER_THREAD = 5000 };

struct taker {
    struct pawl__idgen *gen;
    struct pawl_job_id *out;
};

static void *take_ids(void *arg)
{
    struct taker *taker = arg;
    for (int i = 0; i < PER_THREAD; i++) {
        taker->out[i] = pawl__idgen_next(taker->gen);
    }
    return NULL;
}

static void threads_may_share_a_generator(void **state)
{
    static struct pawl_job_id ids[THREADS * PER_THREAD];
    struct hand_clock hand;
    struct pawl__idgen gen;
    struct taker takers[THREADS];
    pthread_t threads[THREADS];
    hand_clock_set(&hand, 777);
    pawl__idgen_init(&gen, &hand.clock, 7);
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){ .gen = &gen, .out = ids + (size_t)i * PER_THREAD };
        assert_int_equal(pthread_create(&threads[i], NULL, take_ids, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int j = 1; j < PER_THREAD; j++) {
            assert_true(id_before(takers[i].out[j - 1], takers[i].out[j]));
        }
    }
    assert_distinct(ids, COUNT(ids));
    pawl__idgen_release(&gen);
}

static struct pawl_job_id made_id(int64_t ms, uint32_t counter)
{
    struct pawl_job_id id = { { 0 } };
    for (int i = 0; i < 6; i++) {
        id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    id.b[6] = (uint8_t)(0x70 | counter >> 8);
    id.b[7] = (uint8_t)counter;
    id.b[8] = 0x80;
    return id;
}

static void ids_of_others_are_followed_where_they_grow(void **state)
{
    static const int64_t now_ms = INT64_C(1774951205123);
    struct hand_clock hand;
    struct pawl__idgen gen;
    hand_clock_set(&hand, now_ms);
    pawl__idgen_init(&gen, &hand.clock, 1);
    struct pawl_job_id given[] = {
        made_id(now_ms - 1000, 5),         // kept
        made_id(now_ms - 1001, 9),         // too old, and below the last
        { { 0 } },                         // none
        made_id(now_ms, 0xf00),            // kept
        made_id(now_ms, 0xf00),            // not above the last
        made_id(now_ms + 1, 0),            // ahead of the clock
        { { 0xff, 1, 2, 3, 4, 5, 0x4f } }, // of another version
    };
    static const bool kept[] = { true, false, false, true, false, false, false };
    struct pawl_job_id ids[COUNT(given)];
    memcpy(ids, given, sizeof ids);
    pawl__idgen_follow(&gen, ids, COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_int_equal(kept[i], memcmp(&ids[i], &given[i], sizeof ids[i]) == 0);
        assert_int_equal(7, ids[i].b[6] >> 4);
        if (i) assert_true(memcmp(&ids[i - 1], &ids[i], sizeof ids[i]) < 0);
    }
    struct pawl_job_id next = pawl__idgen_next(&gen);
    assert_true(memcmp(&ids[COUNT(ids) - 1], &next, sizeof next) < 0);
    pawl__idgen_release(&gen);
}

static void text_reads_back(void **state)
{
    for_seeds(seed, 2000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct pawl_job_id id, back;
        for (size_t i = 0; i < sizeof id.b; i++) {
            id.b[i] = (uint8_t)pawl__rng_next(&rng);
        }
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(id, text);
        prove(strlen(text) == 36);
        prove(!pawl_job_id_parse(text, &back) && memcmp(&id, &back, sizeof id) == 0);
        for (char *at = text; *at; at++) {
            if (*at >= 'a' && *at <= 'f' && pawl__rng_below(&rng, 2)) *at -= 'a' - 'A';
        }
        prove(!pawl_job_id_parse(text, &back) && memcmp(&id, &back, sizeof id) == 0);
    }
}

static void text_is_the_usual_one(void **state)
{
    struct pawl_job_id id;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    for (uint8_t i = 0; i < 16; i++) {
        id.b[i] = (uint8_t)(i * 0x11);
    }
    pawl_job_id_text(id, text);
    assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
}

static void what_is_no_uuid_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "0",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeeff0",
        "00112233-4455-6677-8899-aabbccddeeff ",
        " 00112233-4455-6677-8899-aabbccddeeff",
        "0011223-34455-6677-8899-aabbccddeeff",
        "00112233+4455-6677-8899-aabbccddeeff",
        "00112233445566778899aabbccddeeff",
        "{00112233-4455-6677-8899-aabbccddeeff}",
        "00112233-4455-6677-8899-aabbccddeefg",
        "0x112233-4455-6677-8899-aabbccddeeff",
        "-0112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddee\xc3\xa9",
    };
    struct pawl_job_id id, before;
    memset(&id, 0x5a, sizeof id);
    before = id;
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (pawl_job_id_parse(texts[i], &id) != PAWL_ERR_ARG) fail_msg("\"%s\"", texts[i]);
    }
    assert_int_equal(pawl_job_id_parse(NULL, &id), PAWL_ERR_ARG);
    assert_memory_equal(&id, &before, sizeof id); // set only on success
}

static void a_prefix_is_a_range_of_ids(void **state)
{
    static const struct {
        const char *prefix, *low, *high;
    } rows[] = {
        { "00112233", "00112233-0000-0000-0000-000000000000",
          "00112233-ffff-ffff-ffff-ffffffffffff" },
        { "00112233-4", "00112233-4000-0000-0000-000000000000",
          "00112233-4fff-ffff-ffff-ffffffffffff" },
        { "001122334", "00112233-4000-0000-0000-000000000000",
          "00112233-4fff-ffff-ffff-ffffffffffff" },
        { "F0112233-4455-6677-8", "f0112233-4455-6677-8000-000000000000",
          "f0112233-4455-6677-8fff-ffffffffffff" },
        { "00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff",
          "00112233-4455-6677-8899-aabbccddeeff" },
    };
    struct pawl_job_id low, high;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(pawl__id_range(rows[i].prefix, &low, &high));
        pawl_job_id_text(low, text);
        assert_string_equal(text, rows[i].low);
        pawl_job_id_text(high, text);
        assert_string_equal(text, rows[i].high);
    }
    static const char *const refused[] = { "",
                                           "0011223",
                                           "0011-223",
                                           "-00112233",
                                           "0011223g",
                                           "00112233 ",
                                           "00112233445566778899aabbccddeeff0" };
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (pawl__id_range(refused[i], &low, &high)) fail_msg("\"%s\"", refused[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_version_7_and_carry_the_time),
        cmocka_unit_test(ids_grow_whatever_the_clock_does),
        cmocka_unit_test(full_millisecond_runs_ahead_of_the_clock),
        cmocka_unit_test(batches_grow_within_and_between),
        cmocka_unit_test(absurd_clocks_still_give_growing_ids),
        cmocka_unit_test(two_generators_never_agree),
        cmocka_unit_test(threads_may_share_a_generator),
        cmocka_unit_test(ids_of_others_are_followed_where_they_grow),
        cmocka_unit_test(text_reads_back),
        cmocka_unit_test(text_is_the_usual_one),
        cmocka_unit_test(what_is_no_uuid_is_refused),
        cmocka_unit_test(a_prefix_is_a_range_of_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
