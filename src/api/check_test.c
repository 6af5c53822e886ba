/* Tests the checks of single values. */
#include "api/check.h"
#include "api/test_kit.h"

static const char *const types_good[] = {
    "a",     "mail",     "mail.send",     "mail-out.send_now", "a1.b2.c3", "a-",
    "a_.b-", "mail@1.0", "mail.send@2.0", "mail.send@10.23",   "a@0.0",    "a@00.00",
};
static const char *const types_bad[] = {
    "",          "A",           "Mail.send",    "mail.Send",  "1mail",      "mail.1",    "_mail",
    "-mail",     ".mail",       "mail.",        "mail..send", "mail send",  "mail/x",    "mail@",
    "mail@1",    "mail@1.",     "mail@.1",      "@1.0",       "mail@1.0.0", "mail@1.0 ", "mail@a.b",
    "mail@-1.0", "m\xc3\xa4il", "mail@1.0@1.0", "mail\n",     " mail",
};

static void accepts_types_of_the_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(types_good); i++) {
        KIT_OK(pawl__check_type(types_good[i], &diag));
    }
}

static void refuses_types_outside_the_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(types_bad); i++) {
        KIT_FAILS(pawl__check_type(types_bad[i], &diag), PAWL_ERR_ARG, "type");
    }
    KIT_FAILS(pawl__check_type(NULL, &diag), PAWL_ERR_ARG, "type");
}

static void refusal_of_a_type_names_what_is_wrong(void **state)
{
    (void)state;
    struct pawl_diag why = { .text = "" };
    assert_int_equal(pawl__check_type("Mail.send", &why), PAWL_ERR_ARG);
    assert_non_null(strstr(why.text, "no capital letters"));
    assert_int_equal(pawl__check_type("mail send", &why), PAWL_ERR_ARG);
    assert_null(strstr(why.text, "capital"));
    assert_int_equal(pawl__check_types("mail*", &why), PAWL_ERR_ARG);
    assert_non_null(strstr(why.text, "\"*\" must stand alone or after the last dot"));
    assert_int_equal(pawl__check_types("*.send", &why), PAWL_ERR_ARG);
    assert_int_equal(pawl__check_types(NULL, &why), PAWL_ERR_ARG);
    assert_string_equal(why.text, "type is missing");
}

static void type_may_have_255_bytes(void **state)
{
    (void)state;
    char *inside = kit_repeat("a", 255);
    char *outside = kit_repeat("a", 256);
    KIT_OK(pawl__check_type(inside, &diag));
    KIT_FAILS(pawl__check_type(outside, &diag), PAWL_ERR_LIMIT, "type");
    free(inside);
    free(outside);
}

static const char *const queues_good[] = { "a", "0", "default", "a.b", "a_b", "a-b", "9..--__" };
static const char *const queues_bad[] = { "",    "A",   ".a", "_a",       "-a",  "a b",
                                          "a/b", "a@b", "aB", "\xc3\xa4", "a\t", "a\x7f" };

static void accepts_queues_of_the_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(queues_good); i++) {
        KIT_OK(pawl__check_queue(queues_good[i], &diag));
    }
}

static void refuses_queues_outside_the_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(queues_bad); i++) {
        KIT_FAILS(pawl__check_queue(queues_bad[i], &diag), PAWL_ERR_ARG, "queue");
    }
    KIT_FAILS(pawl__check_queue(NULL, &diag), PAWL_ERR_ARG, "queue");
}

static void queue_may_have_128_bytes(void **state)
{
    (void)state;
    char *inside = kit_repeat("q", 128);
    char *outside = kit_repeat("q", 129);
    KIT_OK(pawl__check_queue(inside, &diag));
    KIT_FAILS(pawl__check_queue(outside, &diag), PAWL_ERR_LIMIT, "queue");
    free(inside);
    free(outside);
}

static const struct pawl__text_rule rule = { "key", 8 };

static void text_is_printable_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a", " ", "12345678", "\xc3\xa4\xc3\xb6", "\xf0\x9f\x98\x80", "\xc2\xa0", "~"
    };
    static const char *const bad[] = { "\x01",
                                       "a\n",
                                       "\t",
                                       "\x1f",
                                       "\x7f",
                                       "\x80",
                                       "\xc3",
                                       "\xc2\x85",
                                       "\xc0\xaf",
                                       "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80",
                                       "\xff" };
    for (size_t i = 0; i < COUNT(good); i++) {
        KIT_OK(pawl__check_text(&rule, good[i], &diag));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        KIT_FAILS(pawl__check_text(&rule, bad[i], &diag), PAWL_ERR_ARG, "key");
    }
}

static void text_is_neither_empty_nor_too_long(void **state)
{
    (void)state;
    KIT_FAILS(pawl__check_text(&rule, NULL, &diag), PAWL_ERR_ARG, "key");
    KIT_FAILS(pawl__check_text(&rule, "", &diag), PAWL_ERR_ARG, "key");
    KIT_FAILS(pawl__check_text(&rule, "123456789", &diag), PAWL_ERR_LIMIT, "key");
    KIT_OK(pawl__check_optional(&rule, NULL, &diag));
    KIT_OK(pawl__check_optional(&rule, "", &diag));
    KIT_FAILS(pawl__check_optional(&rule, "123456789", &diag), PAWL_ERR_LIMIT, "key");
}

static void list_names_the_bad_member(void **state)
{
    (void)state;
    static const struct pawl__list_rule list_rule = { { "names", 8 }, 3 };
    const char *const good[] = { "a", "b", "c", "d" };
    const char *const hole[] = { "a", NULL };
    const char *const blank[] = { "a", "b", "" };
    KIT_OK(pawl__check_list(&list_rule, NULL, 0, &diag));
    KIT_OK(pawl__check_list(&list_rule, good, 3, &diag));
    KIT_FAILS(pawl__check_list(&list_rule, good, 4, &diag), PAWL_ERR_LIMIT, "names");
    KIT_FAILS(pawl__check_list(&list_rule, NULL, 1, &diag), PAWL_ERR_ARG, "names");
    KIT_FAILS(pawl__check_list(&list_rule, hole, 2, &diag), PAWL_ERR_ARG, "names[1]");
    KIT_FAILS(pawl__check_list(&list_rule, blank, 3, &diag), PAWL_ERR_ARG, "names[2]");
}

static void times_end_where_sums_stay_safe(void **state)
{
    (void)state;
    const enum pawl__time_kind at = PAWL__TIME_INSTANT, for_ms = PAWL__TIME_DURATION;
    KIT_OK(pawl__check_time("t", at, 0, &diag));
    KIT_OK(pawl__check_time("t", at, INT64_C(253402300799999), &diag));
    KIT_FAILS(pawl__check_time("t", at, INT64_C(253402300800000), &diag), PAWL_ERR_ARG, "t");
    KIT_FAILS(pawl__check_time("t", at, -1, &diag), PAWL_ERR_ARG, "t");
    KIT_FAILS(pawl__check_time("t", at, INT64_MAX, &diag), PAWL_ERR_ARG, "t");
    const enum pawl__time_kind lease = PAWL__TIME_LEASE;
    KIT_OK(pawl__check_time("t", lease, 0, &diag));
    KIT_FAILS(pawl__check_time("t", lease, 1, &diag), PAWL_ERR_ARG, "t");
    KIT_FAILS(pawl__check_time("t", lease, PAWL_LEASE_MIN_MS - 1, &diag), PAWL_ERR_ARG, "t");
    KIT_OK(pawl__check_time("t", lease, PAWL_LEASE_MIN_MS, &diag));
    KIT_OK(pawl__check_time("t", lease, PAWL__DURATION_MAX_MS, &diag));
    KIT_FAILS(pawl__check_time("t", lease, PAWL__DURATION_MAX_MS + 1, &diag), PAWL_ERR_ARG, "t");
    KIT_OK(pawl__check_time("t", for_ms, PAWL__DURATION_MAX_MS, &diag));
    KIT_FAILS(pawl__check_time("t", for_ms, PAWL__DURATION_MAX_MS + 1, &diag), PAWL_ERR_ARG, "t");
    KIT_FAILS(pawl__check_time("t", for_ms, INT64_MIN, &diag), PAWL_ERR_ARG, "t");
}

static void priority_lies_between_its_bounds(void **state)
{
    (void)state;
    KIT_OK(pawl__check_priority(-100, &diag));
    KIT_OK(pawl__check_priority(100, &diag));
    KIT_FAILS(pawl__check_priority(-101, &diag), PAWL_ERR_ARG, "priority");
    KIT_FAILS(pawl__check_priority(101, &diag), PAWL_ERR_ARG, "priority");
}

static void by_may_be_silent_but_not_unprintable(void **state)
{
    (void)state;
    char *inside = kit_repeat("r", 1024);
    char *outside = kit_repeat("r", 1025);
    KIT_OK(pawl__check_by(NULL, &diag));
    KIT_OK(pawl__check_by(&(struct pawl_by){ .actor = NULL }, &diag));
    KIT_OK(pawl__check_by(&(struct pawl_by){ "ann", inside }, &diag));
    KIT_FAILS(pawl__check_by(&(struct pawl_by){ "a\nb", "" }, &diag), PAWL_ERR_ARG, "by.actor");
    KIT_FAILS(pawl__check_by(&(struct pawl_by){ "ann", outside }, &diag), PAWL_ERR_LIMIT,
              "by.reason");
    free(inside);
    free(outside);
}

static void tag_is_trimmed_and_lower_case(void **state)
{
    (void)state;
    static const struct {
        const char *given, *kept;
    } rows[] = {
        { "a", "a" },
        { "  Billing \t\n", "billing" },
        { "ZAZ09", "zaz09" },
        { "", "" },
        { " \t\r\n\v\f", "" },
        { "two words", "two words" },
        { "\xc3\x84", "\xc3\x84" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl__tag tag;
        KIT_OK(pawl__tag_clean(rows[i].given, "tags", &tag, &diag));
        assert_string_equal(tag.text, rows[i].kept);
        assert_int_equal(tag.len, strlen(rows[i].kept));
    }
}

static void tag_may_have_64_bytes_once_trimmed(void **state)
{
    (void)state;
    struct pawl__tag tag;
    char *outside = kit_repeat("T", 65);
    char inside[70];
    snprintf(inside, sizeof inside, "  %.64s  ", outside);
    KIT_OK(pawl__tag_clean(inside, "tags", &tag, &diag));
    assert_int_equal(tag.len, 64);
    KIT_FAILS(pawl__tag_clean(outside, "tags", &tag, &diag), PAWL_ERR_LIMIT, "tags");
    KIT_FAILS(pawl__tag_clean("a\tb", "tags", &tag, &diag), PAWL_ERR_ARG, "tags");
    KIT_FAILS(pawl__tag_clean("\xff", "tags", &tag, &diag), PAWL_ERR_ARG, "tags");
    KIT_FAILS(pawl__tag_clean(NULL, "tags", &tag, &diag), PAWL_ERR_ARG, "tags");
    free(outside);
}

static void quote_makes_any_text_fit_for_a_message(void **state)
{
    (void)state;
    assert_string_equal(pawl__quote("plain").text, "plain");
    assert_string_equal(pawl__quote("").text, "");
    assert_string_equal(pawl__quote("a\n\x1b[31m\xff!").text, "a??[31m?!");
    char *fits = kit_repeat("x", 60);
    char *cut = kit_repeat("x", 61);
    assert_string_equal(pawl__quote(fits).text, fits);
    assert_int_equal(strlen(pawl__quote(cut).text), 63);
    assert_string_equal(pawl__quote(cut).text + 60, "...");
    char *wide = kit_repeat("\xf0\x9f\x98\x80", 100);
    assert_int_equal(strlen(pawl__quote(wide).text), 63); // 15 whole characters and the dots
    free(fits);
    free(cut);
    free(wide);
}

static void diag_says_where_in_a_batch(void **state)
{
    (void)state;
    struct pawl_diag diag = { PAWL_ERR_LIMIT, "queue", "queue is longer than 128 bytes" };
    pawl__diag_within(&diag, 9999);
    assert_int_equal(diag.err, PAWL_ERR_LIMIT);
    assert_string_equal(diag.field, "[9999].queue");
    assert_string_equal(diag.text, "[9999]: queue is longer than 128 bytes");
    struct pawl_diag bare = { PAWL_ERR_DUPLICATE, "", "taken" };
    pawl__diag_within(&bare, 0);
    assert_string_equal(bare.field, "[0]");
    pawl__diag_within(NULL, 3);
    pawl__diag_index(NULL, 3);
}

static void diag_field_never_overflows(void **state)
{
    (void)state;
    struct pawl_diag diag = { .err = PAWL_ERR_ARG, .text = "t" };
    memset(diag.field, 'f', sizeof diag.field - 1);
    pawl__diag_index(&diag, 12345);
    assert_int_equal(strlen(diag.field), sizeof diag.field - 1);
    pawl__diag_within(&diag, 12345);
    assert_int_equal(strlen(diag.field), sizeof diag.field - 1);
    assert_memory_equal(diag.field, "[12345].f", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_types_of_the_pattern),
        cmocka_unit_test(refuses_types_outside_the_pattern),
        cmocka_unit_test(refusal_of_a_type_names_what_is_wrong),
        cmocka_unit_test(type_may_have_255_bytes),
        cmocka_unit_test(accepts_queues_of_the_pattern),
        cmocka_unit_test(refuses_queues_outside_the_pattern),
        cmocka_unit_test(queue_may_have_128_bytes),
        cmocka_unit_test(text_is_printable_utf8),
        cmocka_unit_test(text_is_neither_empty_nor_too_long),
        cmocka_unit_test(list_names_the_bad_member),
        cmocka_unit_test(times_end_where_sums_stay_safe),
        cmocka_unit_test(priority_lies_between_its_bounds),
        cmocka_unit_test(by_may_be_silent_but_not_unprintable),
        cmocka_unit_test(tag_is_trimmed_and_lower_case),
        cmocka_unit_test(tag_may_have_64_bytes_once_trimmed),
        cmocka_unit_test(quote_makes_any_text_fit_for_a_message),
        cmocka_unit_test(diag_says_where_in_a_batch),
        cmocka_unit_test(diag_field_never_overflows),
    };
    return cmocka_run_group_tests_name("api/check", tests, NULL, NULL);
}
