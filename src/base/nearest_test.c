#include "base/nearest.h"

#include "base/test_kit.h"

static const char *nearest(const char *word)
{
    static const char *const known[] = { "delay", "delay_until", "queue", "retry", "id" };
    struct pawl__nearest nearest = { .word = word };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pawl__nearest_offer(&nearest, known[i]);
    }
    return nearest.best;
}

static void finds_a_misspelt_word(void **state)
{
    (void)state;
    assert_string_equal(nearest("dealy"), "delay"); // adjacent letters swapped
    assert_string_equal(nearest("qeue"), "queue");  // one missing
    assert_string_equal(nearest("retyr"), "retry");
    assert_string_equal(nearest("dealy_until"), "delay_until");
    assert_string_equal(nearest("ids"), "id");
}

static void finds_an_unfinished_word(void **state)
{
    (void)state;
    assert_string_equal(nearest("que"), "queue");
    assert_string_equal(nearest("delay_"), "delay");
    assert_string_equal(nearest("delay_un"), "delay_until");
}

static void offers_nothing_far_away(void **state)
{
    (void)state;
    assert_null(nearest("xyzzy"));
    assert_null(nearest(""));
    assert_null(nearest("a_name_that_is_longer_than_any_word_in_the_list"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_misspelt_word),
        cmocka_unit_test(finds_an_unfinished_word),
        cmocka_unit_test(offers_nothing_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
