#include "base/diag.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>

#include "base/test_kit.h"

struct row {
    int number;
    const char *name;
    int status;
    const char *text;
};

#define X(number, name, status, text) { number, #name, status, text },
static const struct row rows[] = { PAWL_ERRORS(X) };
#undef X

static void numbers_and_names_are_unique(void **state)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(rows[i].number, rows[j].number);
            assert_string_not_equal(rows[i].name, rows[j].name);
        }
    }
}

/* The numbers are part of the ABI. A new error adds a line; a line never changes. */
static void numbers_stay_what_they_were(void **state)
{
    static const char *const names[] = { "OK",        "ARG",    "NOMEM",   "NOT_FOUND",  "EXISTS",
                                         "DUPLICATE", "STATE",  "STALE",   "HELD",       "BUSY",
                                         "FULL",      "IO",     "CORRUPT", "READONLY",   "SCHEMA",
                                         "UNSAFE",    "CLOSED", "LIMIT",   "UNSUPPORTED" };
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(pawl_err_name((enum pawl_err)i), names[i]);
    }
    assert_int_equal(PAWL_OK, 0);
}

static void every_error_has_all_its_facts(void **state)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum pawl_err err = (enum pawl_err)rows[i].number;
        assert_string_equal(pawl_err_name(err), rows[i].name);
        assert_string_equal(pawl_err_text(err), rows[i].text);
        assert_int_equal(pawl_err_status(err), rows[i].status);
        assert_true(rows[i].status >= 200 && rows[i].status < 600);
        size_t len = strlen(rows[i].text);
        assert_true(len > 0 && !isupper((unsigned char)rows[i].text[0]));
        assert_int_not_equal(rows[i].text[len - 1], '.');
    }
}

static void unknown_numbers_have_a_name_too(void **state)
{
    static const int numbers[] = { PAWL_ERR_END, 9999, -1, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        assert_string_equal(pawl_err_name((enum pawl_err)numbers[i]), "UNKNOWN");
        assert_string_equal(pawl_err_text((enum pawl_err)numbers[i]), "unknown error");
        assert_int_equal(pawl_err_status((enum pawl_err)numbers[i]), 500);
    }
}

static void failure_fills_the_diagnosis_and_is_returned(void **state)
{
    struct pawl_diag diag;
    memset(&diag, 0x55, sizeof diag);
    assert_int_equal(pawl__fail(&diag, PAWL_ERR_IO, "disk %d", 7), PAWL_ERR_IO);
    assert_int_equal(diag.err, PAWL_ERR_IO);
    assert_string_equal(diag.text, "disk 7");
    assert_string_equal(diag.field, "");
    assert_int_equal(pawl__fail_field(&diag, PAWL_ERR_ARG, "queue", "bad \"%s\"", "x"),
                     PAWL_ERR_ARG);
    assert_string_equal(diag.field, "queue");
    assert_string_equal(diag.text, "bad \"x\"");
    assert_int_equal(pawl__fail_nomem(&diag), PAWL_ERR_NOMEM);
    assert_string_equal(diag.text, "out of memory");
    assert_string_equal(diag.field, ""); // nothing remains of the previous error
}

static void no_diagnosis_is_fine(void **state)
{
    assert_int_equal(pawl__fail(NULL, PAWL_ERR_IO, "x"), PAWL_ERR_IO);
    assert_int_equal(pawl__fail_field(NULL, PAWL_ERR_ARG, "f", "x"), PAWL_ERR_ARG);
    assert_int_equal(pawl__fail_nomem(NULL), PAWL_ERR_NOMEM);
}

static void long_text_is_cut_and_says_so(void **state)
{
    struct pawl_diag diag;
    char text[1000] = { 0 };
    memset(text, 'x', sizeof diag.text - 1);
    (void)!pawl__fail(&diag, PAWL_ERR_IO, "%s", text);
    assert_string_equal(diag.text, text); // just fits: not cut
    text[sizeof diag.text - 1] = 'y';
    (void)!pawl__fail(&diag, PAWL_ERR_IO, "%s", text);
    assert_int_equal(strlen(diag.text), sizeof diag.text - 1);
    assert_string_equal(diag.text + sizeof diag.text - 5, "x...");
}

static void cutting_never_leaves_half_a_character(void **state)
{
    for (int lead = 0; lead < 5; lead++) {
        struct pawl_diag diag;
        char text[1000] = "aaaa";
        for (int at = lead; at + 4 < 990; at += 4) {
            snprintf(text + at, sizeof text - (size_t)at, "\xf0\x9f\x98\x80");
        }
        (void)!pawl__fail(&diag, PAWL_ERR_IO, "%s", text);
        const char *end = diag.text + strlen(diag.text);
        for (const char *at = diag.text; at < end;) {
            int step = pawl__utf8_step(at, end);
            assert_true(step > 0);
            at += step;
        }
        assert_string_equal(end - 3, "...");
    }
}

static void diagnosis_may_quote_itself(void **state)
{
    struct pawl_diag diag;
    (void)!pawl__fail(&diag, PAWL_ERR_IO, "no such file");
    (void)!pawl__fail_field(&diag, PAWL_ERR_IO, "store", "could not open: %s", diag.text);
    assert_string_equal(diag.text, "could not open: no such file");
    (void)!pawl__fail_field(&diag, PAWL_ERR_IO, diag.field, "%s", diag.text);
    assert_string_equal(diag.field, "store");
}

static void long_field_is_cut(void **state)
{
    struct pawl_diag diag;
    char field[100] = { 0 };
    memset(field, 'f', sizeof field - 1);
    (void)!pawl__fail_field(&diag, PAWL_ERR_ARG, field, "x");
    assert_int_equal(strlen(diag.field), sizeof diag.field - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names_are_unique),
        cmocka_unit_test(numbers_stay_what_they_were),
        cmocka_unit_test(every_error_has_all_its_facts),
        cmocka_unit_test(unknown_numbers_have_a_name_too),
        cmocka_unit_test(failure_fills_the_diagnosis_and_is_returned),
        cmocka_unit_test(no_diagnosis_is_fine),
        cmocka_unit_test(long_text_is_cut_and_says_so),
        cmocka_unit_test(cutting_never_leaves_half_a_character),
        cmocka_unit_test(diagnosis_may_quote_itself),
        cmocka_unit_test(long_field_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
