/* Tests states in four vocabularies: names, lookups, predicates. */
#include <pawl/state.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)

static void numbers_that_are_stored_do_not_change(void **ctx)
{
    (void)ctx;
    static const char *const stored[] = { "none",    "scheduled", "available", "pending",
                                          "active",  "retryable", "paused",    "completed",
                                          "skipped", "cancelled", "discarded", "expired" };
    assert_int_equal(PAWL_STATE_END, sizeof stored / sizeof *stored);
    for (int state = 0; state < PAWL_STATE_END; state++) {
        assert_string_equal(pawl_state_name(state, PAWL_VOCABULARY_PAWL), stored[state]);
    }
}

static void names_what_is_no_state_none(void **ctx)
{
    (void)ctx;
    for (int vocabulary = 0; vocabulary < PAWL_VOCABULARY_END; vocabulary++) {
        assert_string_equal(pawl_state_name(PAWL_STATE_NONE, vocabulary), "none");
        assert_string_equal(pawl_state_name(PAWL_STATE_END, vocabulary), "none");
        assert_string_equal(pawl_state_name((enum pawl_state)(-1), vocabulary), "none");
    }
    assert_string_equal(pawl_state_name(PAWL_STATE_ACTIVE, PAWL_VOCABULARY_END), "none");
    assert_string_equal(pawl_state_name(PAWL_STATE_ACTIVE, (enum pawl_vocabulary)(-1)), "none");
}

/* Every name of every vocabulary with all the states it stands for; the masks of one vocabulary
 * must cover each state exactly once, so that nothing can be left out here. */
static void every_name_leads_back_to_its_states(void **ctx)
{
    (void)ctx;
    static const struct {
        enum pawl_vocabulary vocabulary;
        const char *name;
        uint32_t mask;
    } names[] = {
        { PAWL_VOCABULARY_PAWL, "scheduled", BIT(SCHEDULED) },
        { PAWL_VOCABULARY_PAWL, "available", BIT(AVAILABLE) },
        { PAWL_VOCABULARY_PAWL, "pending", BIT(PENDING) },
        { PAWL_VOCABULARY_PAWL, "active", BIT(ACTIVE) },
        { PAWL_VOCABULARY_PAWL, "retryable", BIT(RETRYABLE) },
        { PAWL_VOCABULARY_PAWL, "paused", BIT(PAUSED) },
        { PAWL_VOCABULARY_PAWL, "completed", BIT(COMPLETED) },
        { PAWL_VOCABULARY_PAWL, "skipped", BIT(SKIPPED) },
        { PAWL_VOCABULARY_PAWL, "cancelled", BIT(CANCELLED) },
        { PAWL_VOCABULARY_PAWL, "discarded", BIT(DISCARDED) },
        { PAWL_VOCABULARY_PAWL, "expired", BIT(EXPIRED) },
        { PAWL_VOCABULARY_OJS, "scheduled", BIT(SCHEDULED) },
        { PAWL_VOCABULARY_OJS, "available", BIT(AVAILABLE) },
        { PAWL_VOCABULARY_OJS, "pending", BIT(PENDING) | BIT(PAUSED) },
        { PAWL_VOCABULARY_OJS, "active", BIT(ACTIVE) },
        { PAWL_VOCABULARY_OJS, "retryable", BIT(RETRYABLE) },
        { PAWL_VOCABULARY_OJS, "completed", BIT(COMPLETED) | BIT(SKIPPED) },
        { PAWL_VOCABULARY_OJS, "cancelled", BIT(CANCELLED) },
        { PAWL_VOCABULARY_OJS, "discarded", BIT(DISCARDED) | BIT(EXPIRED) },
        { PAWL_VOCABULARY_RATCHET, "PENDING",
          BIT(SCHEDULED) | BIT(AVAILABLE) | BIT(PENDING) | BIT(RETRYABLE) },
        { PAWL_VOCABULARY_RATCHET, "RUNNING", BIT(ACTIVE) },
        { PAWL_VOCABULARY_RATCHET, "PAUSED", BIT(PAUSED) },
        { PAWL_VOCABULARY_RATCHET, "SUCCEEDED", BIT(COMPLETED) | BIT(SKIPPED) },
        { PAWL_VOCABULARY_RATCHET, "CANCELED", BIT(CANCELLED) },
        { PAWL_VOCABULARY_RATCHET, "FAILED", BIT(DISCARDED) | BIT(EXPIRED) },
        { PAWL_VOCABULARY_MARIE, "CREATED",
          BIT(SCHEDULED) | BIT(AVAILABLE) | BIT(PENDING) | BIT(PAUSED) },
        { PAWL_VOCABULARY_MARIE, "ACTIVE", BIT(ACTIVE) },
        { PAWL_VOCABULARY_MARIE, "RETRY", BIT(RETRYABLE) },
        { PAWL_VOCABULARY_MARIE, "COMPLETED", BIT(COMPLETED) },
        { PAWL_VOCABULARY_MARIE, "SKIPPED", BIT(SKIPPED) },
        { PAWL_VOCABULARY_MARIE, "CANCELLED", BIT(CANCELLED) },
        { PAWL_VOCABULARY_MARIE, "FAILED", BIT(DISCARDED) },
        { PAWL_VOCABULARY_MARIE, "EXPIRED", BIT(EXPIRED) },
    };
    uint32_t seen[PAWL_VOCABULARY_END] = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(pawl_state_mask(names[i].name, names[i].vocabulary), names[i].mask);
        assert_int_equal(seen[names[i].vocabulary] & names[i].mask, 0);
        seen[names[i].vocabulary] |= names[i].mask;
        for (int state = 1; state < PAWL_STATE_END; state++) {
            if (!(names[i].mask & PAWL_STATE_BIT(state))) continue;
            assert_string_equal(pawl_state_name(state, names[i].vocabulary), names[i].name);
        }
    }
    for (int vocabulary = 0; vocabulary < PAWL_VOCABULARY_END; vocabulary++) {
        assert_int_equal(seen[vocabulary], PAWL_STATE_BIT(PAWL_STATE_END) - 2);
    }
}

static void letter_case_does_not_matter(void **ctx)
{
    (void)ctx;
    assert_int_equal(pawl_state_mask("SCHEDULED", PAWL_VOCABULARY_PAWL), BIT(SCHEDULED));
    assert_int_equal(pawl_state_mask("ReTrYaBlE", PAWL_VOCABULARY_OJS), BIT(RETRYABLE));
    assert_int_equal(pawl_state_mask("running", PAWL_VOCABULARY_RATCHET), BIT(ACTIVE));
    assert_int_equal(pawl_state_mask("expired", PAWL_VOCABULARY_MARIE), BIT(EXPIRED));
}

static void a_word_of_another_vocabulary_is_not_known(void **ctx)
{
    (void)ctx;
    assert_int_equal(pawl_state_mask("RUNNING", PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask("paused", PAWL_VOCABULARY_OJS), 0);
    assert_int_equal(pawl_state_mask("CANCELLED", PAWL_VOCABULARY_RATCHET), 0);
    assert_int_equal(pawl_state_mask("CANCELED", PAWL_VOCABULARY_MARIE), 0);
    assert_int_equal(pawl_state_mask("none", PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask("", PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask(NULL, PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask("activ", PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask("active ", PAWL_VOCABULARY_PAWL), 0);
    assert_int_equal(pawl_state_mask("active", PAWL_VOCABULARY_END), 0);
}

static void what_has_ended_is_terminal(void **ctx)
{
    (void)ctx;
    const uint32_t terminal = BIT(COMPLETED) | BIT(SKIPPED) | BIT(CANCELLED) | BIT(DISCARDED) |
                              BIT(EXPIRED);
    for (int state = 0; state <= PAWL_STATE_END; state++) {
        assert_int_equal(pawl_state_is_terminal(state), (terminal & PAWL_STATE_BIT(state)) != 0);
    }
}

static void only_completed_and_skipped_are_successful(void **ctx)
{
    (void)ctx;
    const uint32_t successful = BIT(COMPLETED) | BIT(SKIPPED);
    for (int state = 0; state <= PAWL_STATE_END; state++) {
        assert_int_equal(pawl_state_is_successful(state),
                         (successful & PAWL_STATE_BIT(state)) != 0);
    }
}

/* States that share a name in a vocabulary must agree on how a job ended, or a predicate could not
 * be answered in that vocabulary. */
static void every_vocabulary_can_answer_the_predicates(void **ctx)
{
    (void)ctx;
    for (int vocabulary = 0; vocabulary < PAWL_VOCABULARY_END; vocabulary++) {
        for (int state = 1; state < PAWL_STATE_END; state++) {
            uint32_t kin = pawl_state_mask(pawl_state_name(state, vocabulary), vocabulary);
            assert_true(kin & PAWL_STATE_BIT(state));
            for (int other = 1; other < PAWL_STATE_END; other++) {
                if (!(kin & PAWL_STATE_BIT(other))) continue;
                assert_int_equal(pawl_state_is_terminal(state), pawl_state_is_terminal(other));
                assert_int_equal(pawl_state_is_successful(state), pawl_state_is_successful(other));
            }
        }
    }
}

static void was_executed_is_counted_not_guessed(void **ctx)
{
    (void)ctx;
    assert_false(pawl_was_executed(0));
    assert_true(pawl_was_executed(1));
    assert_true(pawl_was_executed(INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_are_stored_do_not_change),
        cmocka_unit_test(names_what_is_no_state_none),
        cmocka_unit_test(every_name_leads_back_to_its_states),
        cmocka_unit_test(letter_case_does_not_matter),
        cmocka_unit_test(a_word_of_another_vocabulary_is_not_known),
        cmocka_unit_test(what_has_ended_is_terminal),
        cmocka_unit_test(only_completed_and_skipped_are_successful),
        cmocka_unit_test(every_vocabulary_can_answer_the_predicates),
        cmocka_unit_test(was_executed_is_counted_not_guessed),
    };
    return cmocka_run_group_tests_name("lifecycle/state", tests, NULL, NULL);
}
