/* What refusals say. */
#include "store/core/refuse.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static void refusals_name_the_job_and_how_it_is(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_run ref = { .id = { { 1 } }, .run = 4 };
    assert_int_equal(PAWL_ERR_NOT_FOUND, pawl__fail_unknown(&diag, ref.id));
    assert_string_equal("there is no job \"01000000-0000-0000-0000-000000000000\"", diag.text);
    assert_int_equal(PAWL_ERR_STATE,
                     pawl__fail_state(&diag, ref.id, PAWL_STATE_COMPLETED, "cancel"));
    assert_string_equal(
        "cannot cancel job \"01000000-0000-0000-0000-000000000000\": it is completed", diag.text);
    assert_int_equal(PAWL_ERR_STALE, pawl__fail_stale(&diag, &ref, PAWL_STATE_ACTIVE, 5));
    assert_string_equal("run 4 of job \"01000000-0000-0000-0000-000000000000\" is over: the job is "
                        "active and has had 5 runs",
                        diag.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_job_and_how_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
