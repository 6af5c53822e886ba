/* Cursors. */
#include "store/page.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

static const struct pawl__cursor form = { .digits = 12, .has_id = true };

static void cursor_leads_back_to_its_position(void **ctx)
{
    (void)ctx;
    struct pawl_filter filter = { 0 };
    struct pawl_page page = { .oldest_first = true };
    struct pawl__position last = { .number = 0x197f3c27a5e, .id = { { 1, 2, 0xfe } } }, after;
    struct pawl_jobs jobs;
    struct pawl_diag diag;
    assert_int_equal(PAWL_OK, pawl__page_begin(&form, &filter, &page, &after, &jobs, &diag));
    assert_false(after.given);
    assert_int_equal(-1, jobs.total);
    pawl__page_continues(&form, &page, &last, &jobs);
    assert_string_equal(jobs.next, "o0197f3c27a5e0102fe00000000000000000000000000");
    char cursor[PAWL_CURSOR_BYTES];
    memcpy(cursor, jobs.next, sizeof cursor);
    page.cursor = cursor;
    assert_int_equal(PAWL_OK, pawl__page_begin(&form, &filter, &page, &after, &jobs, &diag));
    assert_true(after.given);
    assert_int_equal(after.number, last.number);
    assert_memory_equal(&after.id, &last.id, sizeof after.id);
    assert_string_equal(jobs.next, "");
}

static void what_is_no_cursor_is_refused(void **ctx)
{
    (void)ctx;
    static const char *const cursors[] = {
        "o",
        "n0197f3c27a5e0102fe00000000000000000000000000",  // of the other direction
        "o0197f3c27a5e0102fe0000000000000000000000000",   // too short
        "o0197f3c27a5e0102fe000000000000000000000000000", // too long
        "o0197F3c27a5e0102fe00000000000000000000000000",  // not as we write it
        "o0197f3c27a5e0102fe0000000000000000000000000g",
    };
    for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
        struct pawl_page page = { .oldest_first = true, .cursor = cursors[i] };
        struct pawl__position after;
        struct pawl_jobs jobs;
        struct pawl_diag diag;
        assert_int_equal(PAWL_ERR_ARG, pawl__page_begin(&form, &(struct pawl_filter){ 0 }, &page,
                                                        &after, &jobs, &diag));
        assert_string_equal(diag.field, "cursor");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_leads_back_to_its_position),
        cmocka_unit_test(what_is_no_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
