/* The public calls about recurring expressions. */
#include <pawl/calendar.h>

#include "base/test_kit.h"
#include "base/time_text.h"

static int64_t Z(const char *text)
{
    int64_t at_ms;
    if (pawl__instant_parse(text, &at_ms)) fail_msg("\"%s\" is not an instant", text);
    return at_ms;
}

static const char now_text[] = "2026-03-28T12:00:00Z";

static void refuse(struct pawl_recurrence recurrence, enum pawl_cron_reason want, const char *field,
                   const char *text)
{
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl_recurrence_check(&recurrence, Z(now_text), &reason, &diag), PAWL_ERR_ARG);
    assert_int_equal(reason, want);
    assert_string_equal(diag.field, field);
    assert_string_equal(diag.text, text);
    assert_int_equal(pawl_recurrence_check(&recurrence, Z(now_text), NULL, NULL), PAWL_ERR_ARG);
}

static void refusals_have_a_reason(void **state)
{
    refuse((struct pawl_recurrence){ .expression = NULL }, PAWL_CRON_REASON_EMPTY, "expression",
           "expression \"\": an expression must not be empty");
    refuse((struct pawl_recurrence){ .expression = "0 9 * * *", .zone = "CET" },
           PAWL_CRON_REASON_BAD_ZONE, "zone", "there is no time zone \"CET\"");
    refuse((struct pawl_recurrence){ .expression = "0 9 * * *", .end_at_ms = 1000 },
           PAWL_CRON_REASON_PAST, "expression",
           "expression \"0 9 * * *\": all its firings are in the past");
    int64_t at = 1000;
    refuse((struct pawl_recurrence){ .instants = &at, .instant_count = 1 }, PAWL_CRON_REASON_PAST,
           "instants", "all instants are in the past");
    refuse((struct pawl_recurrence){ .instants = &at, .instant_count = 1, .expression = "@daily" },
           PAWL_CRON_REASON_NONE, "instants",
           "instants are given instead of an expression, not besides one");
}

static void too_many_instants_are_refused(void **state)
{
    int64_t at[PAWL_INSTANTS_MAX + 1] = { 0 };
    struct pawl_recurrence recurrence = { .instants = at, .instant_count = COUNT(at) };
    struct pawl_diag diag;
    assert_int_equal(pawl_recurrence_check(&recurrence, 0, NULL, &diag), PAWL_ERR_LIMIT);
    assert_string_equal(diag.field, "instants");
}

static void coming_fires_and_gaps_are_in_order(void **state)
{
    struct pawl_recurrence recurrence = { .expression = "30 2 * * *", .zone = "Europe/Berlin" };
    struct pawl_coming coming[3];
    size_t count = 0;
    assert_int_equal(pawl_coming(&recurrence, Z(now_text), coming, 3, &count, NULL), PAWL_OK);
    assert_int_equal(count, 3);
    assert_int_equal(coming[0].note, PAWL_FIRE_LOST);
    assert_true(coming[0].at_ms == Z("2026-03-29T01:00:00Z"));
    assert_int_equal(coming[0].lost_count, 1);
    assert_int_equal(coming[0].lost_offset_s, 3600);
    assert_int_equal(coming[0].offset_s, 7200);
    assert_int_equal(coming[1].note, PAWL_FIRE_PLAIN);
    assert_true(coming[1].at_ms == Z("2026-03-30T00:30:00Z"));
    assert_true(coming[2].at_ms == Z("2026-03-31T00:30:00Z"));
    // A gap at the very instant of a fire comes before it.
    recurrence.expression = "30 2,3 * * *";
    recurrence.gap = PAWL_GAP_SHIFT;
    assert_int_equal(pawl_coming(&recurrence, Z(now_text), coming, 3, &count, NULL), PAWL_OK);
    assert_int_equal(coming[0].note, PAWL_FIRE_SHIFTED);
    assert_int_equal(coming[1].note, PAWL_FIRE_PLAIN);
}

static void what_ends_gives_fewer(void **state)
{
    int64_t at[] = { 3000, 1000, 3000, 2000 };
    struct pawl_recurrence recurrence = { .instants = at, .instant_count = COUNT(at) };
    struct pawl_coming coming[8];
    size_t count = 99;
    assert_int_equal(pawl_coming(&recurrence, 1000, coming, 8, &count, NULL), PAWL_OK);
    assert_int_equal(count, 2);
    assert_int_equal(coming[0].at_ms, 2000);
    assert_int_equal(coming[1].at_ms, 3000);
    assert_int_equal(pawl_coming(&recurrence, 3000, coming, 8, &count, NULL), PAWL_OK);
    assert_int_equal(count, 0);
    recurrence = (struct pawl_recurrence){ .expression = "x" };
    assert_int_equal(pawl_coming(&recurrence, 0, coming, 8, &count, NULL), PAWL_ERR_ARG);
}

static void intervals_count_from_anchor_start_or_now(void **state)
{
    struct pawl_recurrence recurrence = { .expression = "@every 10s" };
    struct pawl_coming coming[1];
    size_t count;
    assert_int_equal(pawl_coming(&recurrence, 1234, coming, 1, &count, NULL), PAWL_OK);
    assert_int_equal(coming[0].at_ms, 11234);
    recurrence.start_at_ms = 5000;
    assert_int_equal(pawl_coming(&recurrence, 1234, coming, 1, &count, NULL), PAWL_OK);
    assert_int_equal(coming[0].at_ms, 5000);
    recurrence.anchor_at_ms = 500;
    assert_int_equal(pawl_coming(&recurrence, 1234, coming, 1, &count, NULL), PAWL_OK);
    assert_int_equal(coming[0].at_ms, 10500);
}

static void words_fit(void **state)
{
    struct pawl_recurrence recurrence = { .expression = "0 2 * * 1-5", .zone = "Europe/Berlin" };
    char words[PAWL_RECURRENCE_WORDS_BYTES];
    struct pawl_diag diag;
    assert_int_equal(pawl_recurrence_words(&recurrence, Z(now_text), words, NULL), PAWL_OK);
    assert_string_equal(words, "every weekday at 02:00 Europe/Berlin"); // clocks change on Sundays
    recurrence.expression = "0 2 * * *";
    assert_int_equal(pawl_recurrence_words(&recurrence, Z(now_text), words, NULL), PAWL_OK);
    assert_string_equal(words, "every day at 02:00 Europe/Berlin"
                               "; 2026-03-29: 02:00 does not exist, skipped"
                               "; 2026-10-25: 02:00 comes twice, fires once"
                               "; 2027-03-28: 02:00 does not exist, skipped");
    // As many words as an expression of 255 characters can give.
    recurrence.expression = "0 0 1W,2W,3W,4W,5W,6W,7W,8W,9W,10W,11W,12W,13W,14W,15W,16W,17W,18W,"
                            "19W,20W,21W,22W,23W,24W,25W,26W,27W,28W,29W,30W,31W,L-1,L-2,L-3,L-4,"
                            "L-5,L-6,L-7,L-8,L-9 * 1L";
    assert_int_equal(pawl_recurrence_words(&recurrence, Z(now_text), words, NULL), PAWL_OK);
    assert_int_equal(strlen(words), PAWL_RECURRENCE_WORDS_BYTES - 1);
    assert_string_equal(words + PAWL_RECURRENCE_WORDS_BYTES - 4, "...");
    recurrence.zone = "Nowhere/There";
    assert_int_equal(pawl_recurrence_words(&recurrence, 0, words, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.field, "zone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_have_a_reason),
        cmocka_unit_test(too_many_instants_are_refused),
        cmocka_unit_test(coming_fires_and_gaps_are_in_order),
        cmocka_unit_test(what_ends_gives_fewer),
        cmocka_unit_test(intervals_count_from_anchor_start_or_now),
        cmocka_unit_test(words_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
