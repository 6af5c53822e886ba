/* What a control may do. */
#include "store/core/control.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static void a_control_says_why_unless_told(void **ctx)
{
    (void)ctx;
    struct pawl_by nobody = { 0 }, somebody = { .reason = "tired" };
    assert_string_equal("tired", pawl__control_reason(PAWL_CONTROL_CANCEL, &somebody));
    assert_string_equal("cancelled on request", pawl__control_reason(PAWL_CONTROL_CANCEL, &nobody));
    assert_string_equal("discarded on request",
                        pawl__control_reason(PAWL_CONTROL_DISCARD, &nobody));
    assert_string_equal("skipped on request", pawl__control_reason(PAWL_CONTROL_SKIP, &nobody));
    assert_null(pawl__control_reason(PAWL_CONTROL_PAUSE, &nobody));
}

static void controls_reach_the_states_that_they_can_move(void **ctx)
{
    (void)ctx;
    static const struct {
        enum pawl_control control;
        uint32_t states;
    } cases[] = {
        { PAWL_CONTROL_RESUME, PAWL_STATE_BIT(PAWL_STATE_PAUSED) },
        { PAWL_CONTROL_ACTIVATE, PAWL_STATE_BIT(PAWL_STATE_PENDING) },
        { PAWL_CONTROL_PROMOTE,
          PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) },
        { PAWL_CONTROL_DISCARD,
          PAWL_STATE_BIT(PAWL_STATE_ACTIVE) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) },
        { PAWL_CONTROL_RETRY, PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
                                  PAWL_STATE_BIT(PAWL_STATE_CANCELLED) |
                                  PAWL_STATE_BIT(PAWL_STATE_EXPIRED) },
        { PAWL_CONTROL_NONE,
          PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |
              PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
              PAWL_STATE_BIT(PAWL_STATE_EXPIRED) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cases[i].states, pawl__control_states(cases[i].control));
    }
    assert_string_equal("retry", pawl__control_verb(PAWL_CONTROL_RETRY));
    assert_int_equal(PAWL_EVENT_REVIVE, pawl__control_event(PAWL_CONTROL_RETRY));
    assert_true(
        pawl__control_allowed(PAWL_CONTROL_RESUME, PAWL_STATE_PAUSED, PAWL_STATE_RETRYABLE));
    assert_false(pawl__control_allowed(PAWL_CONTROL_RESUME, PAWL_STATE_PAUSED, PAWL_STATE_ACTIVE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_control_says_why_unless_told),
        cmocka_unit_test(controls_reach_the_states_that_they_can_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
