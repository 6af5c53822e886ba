#include "http/ojs/envelope_test_kit.h"

/* A job with a policy in its options. */
static const struct pawl_job_spec *read_policy(struct intake *intake, const char *name,
                                               const char *policy)
{
    char text[512];
    snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"options\":{\"%s\":%s}}", name,
             policy);
    return intake_spec(intake, text);
}

/* ---- retry ---- */

static void a_whole_retry_policy_is_read(void **state)
{
    struct intake intake;
    const struct pawl_retry *retry =
        &read_policy(&intake, "retry",
                     "{\"max_attempts\":5,\"initial_interval\":\"PT2S\","
                     "\"backoff_coefficient\":1.5,\"max_interval\":\"PT1H\",\"jitter\":false,"
                     "\"non_retryable_errors\":[\"Auth.*\",\"B\"],"
                     "\"on_exhaustion\":\"dead_letter\",\"backoff_strategy\":\"linear\"}")
             ->retry;
    assert_int_equal(retry->attempts_max, 5);
    assert_int_equal(retry->initial_ms, 2000);
    assert_true(retry->coefficient == 1.5);
    assert_int_equal(retry->cap_ms, 3600000);
    assert_int_equal(retry->jitter, PAWL_JITTER_OFF);
    assert_int_equal(retry->non_retryable_count, 2);
    assert_string_equal(retry->non_retryable[0], "Auth.*");
    assert_int_equal(retry->on_exhaustion, PAWL_EXHAUSTION_DEAD_LETTER);
    assert_int_equal(retry->backoff, PAWL_BACKOFF_LINEAR);
    intake_release(&intake);
}

static void what_a_retry_policy_leaves_out_takes_its_default(void **state)
{
    struct intake intake;
    const struct pawl_retry *retry =
        &read_policy(&intake, "retry", "{\"jitter\":null,\"x_unknown\":{}}")->retry;
    assert_int_equal(retry->attempts_max, 0);
    assert_int_equal(retry->initial_ms, 0);
    assert_int_equal(retry->cap_ms, 0);
    assert_int_equal(retry->jitter, PAWL_JITTER_DEFAULT);
    assert_int_equal(retry->backoff, PAWL_BACKOFF_DEFAULT);
    assert_int_equal(retry->on_exhaustion, PAWL_EXHAUSTION_DEFAULT);
    intake_release(&intake);
}

static void retry_policies_have_many_spellings(void **state)
{
    static const struct {
        const char *text;
        struct pawl_retry retry;
    } cases[] = {
        { "{\"max_attempts\":0}", { .attempts_max = 1 } },
        { "{\"max_attempts\":1}", { .attempts_max = 1 } },
        { "{\"max_attempts\":3.0}", { .attempts_max = 3 } },
        { "{\"maxAttempts\":4}", { .attempts_max = 4 } },
        { "{\"initialInterval\":\"PT3S\"}", { .initial_ms = 3000 } },
        { "{\"initial_interval_ms\":70}", { .initial_ms = 70 } },
        { "{\"initial_delay_ms\":100,\"strategy\":\"constant\"}",
          { .initial_ms = 100, .backoff = PAWL_BACKOFF_CONSTANT } },
        { "{\"initial_interval\":\"PT10M\"}", { .initial_ms = 600000 } },
        { "{\"maxInterval\":\"PT3S\"}", { .cap_ms = 3000 } },
        { "{\"max_interval_ms\":3000}", { .cap_ms = 3000 } },
        { "{\"max_interval\":\"PT1S\"}", { .cap_ms = 1000 } },
        { "{\"backoffCoefficient\":1}", { .coefficient = 1 } },
        { "{\"jitter\":true}", { .jitter = PAWL_JITTER_ON } },
        { "{\"backoff\":\"none\"}", { .backoff = PAWL_BACKOFF_CONSTANT } },
        { "{\"backoff\":\"exponential\"}", { .backoff = PAWL_BACKOFF_EXPONENTIAL } },
        { "{\"backoff_strategy\":\"polynomial\"}", { .backoff = PAWL_BACKOFF_POLYNOMIAL } },
        { "{\"onExhaustion\":\"discard\"}", { .on_exhaustion = PAWL_EXHAUSTION_DISCARD } },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        const struct pawl_retry *retry = &read_policy(&intake, "retry", cases[i].text)->retry;
        const struct pawl_retry *expected = &cases[i].retry;
        assert_int_equal(retry->attempts_max, expected->attempts_max);
        assert_int_equal(retry->initial_ms, expected->initial_ms);
        assert_int_equal(retry->cap_ms, expected->cap_ms);
        assert_true(retry->coefficient == expected->coefficient);
        assert_int_equal(retry->jitter, expected->jitter);
        assert_int_equal(retry->backoff, expected->backoff);
        assert_int_equal(retry->on_exhaustion, expected->on_exhaustion);
        intake_release(&intake);
    }
}

static void bad_retry_policies_are_refused_with_422(void **state)
{
#define RETRY(policy, field)                                                                       \
    {                                                                                              \
        "{\"type\":\"a\",\"args\":[],\"options\":{\"retry\":" policy "}}",                         \
            PAWL__FAULT_INVALID_POLICY, "options.retry" field                                      \
    }
    static const struct refusal refusals[] = {
        RETRY("[]", ""),
        RETRY("3", ""),
        RETRY("{\"max_attempts\":-1}", ".max_attempts"),
        RETRY("{\"max_attempts\":1.5}", ".max_attempts"),
        RETRY("{\"max_attempts\":\"3\"}", ".max_attempts"),
        RETRY("{\"max_attempts\":2147483648}", ".max_attempts"),
        RETRY("{\"maxAttempts\":-1}", ".maxAttempts"),
        RETRY("{\"backoff_coefficient\":0.5}", ".backoff_coefficient"),
        RETRY("{\"backoff_coefficient\":-2}", ".backoff_coefficient"),
        RETRY("{\"backoff_coefficient\":\"2\"}", ".backoff_coefficient"),
        RETRY("{\"backoff_coefficient\":1e999}", ".backoff_coefficient"),
        RETRY("{\"initial_interval\":\"PT0S\"}", ".initial_interval"),
        RETRY("{\"initial_interval\":\"1s\"}", ".initial_interval"),
        RETRY("{\"initial_interval\":1000}", ".initial_interval"),
        RETRY("{\"initial_interval_ms\":0}", ".initial_interval_ms"),
        RETRY("{\"max_interval\":\"PT1S\",\"initial_interval\":\"PT2S\"}", ".max_interval"),
        RETRY("{\"max_interval\":\"PT0.5S\"}", ".max_interval"),
        RETRY("{\"max_interval_ms\":-5}", ".max_interval_ms"),
        RETRY("{\"jitter\":1}", ".jitter"),
        RETRY("{\"jitter\":\"full\"}", ".jitter"),
        RETRY("{\"non_retryable_errors\":\"x\"}", ".non_retryable_errors"),
        RETRY("{\"non_retryable_errors\":[1]}", ".non_retryable_errors"),
        RETRY("{\"non_retryable_errors\":[\"\"]}", ".non_retryable_errors"),
        RETRY("{\"on_exhaustion\":\"explode\"}", ".on_exhaustion"),
        RETRY("{\"on_exhaustion\":true}", ".on_exhaustion"),
        RETRY("{\"backoff_strategy\":\"random\"}", ".backoff_strategy"),
        RETRY("{\"backoff\":{}}", ".backoff"),
        { "{\"type\":\"a\",\"args\":[],\"retry\":{\"max_attempts\":-1}}",
          PAWL__FAULT_INVALID_POLICY, "retry.max_attempts" },
    };
    assert_refused(refusals, COUNT(refusals));
    assert_int_equal(pawl__fault_status(PAWL__FAULT_INVALID_POLICY), 422);
}

/* ---- unique ---- */

static void a_whole_unique_policy_is_read(void **state)
{
    struct intake intake;
    const struct pawl_unique *unique =
        &read_policy(&intake, "unique",
                     "{\"keys\":[\"queue\",\"args\",\"meta\"],\"args_keys\":[\"id\"],"
                     "\"meta_keys\":[\"tenant\",\"user\"],\"period\":\"PT1H\","
                     "\"states\":[\"available\",\"discarded\"],"
                     "\"on_conflict\":\"replace_except_schedule\"}")
             ->unique;
    assert_int_equal(unique->keys,
                     PAWL_UNIQUE_TYPE | PAWL_UNIQUE_QUEUE | PAWL_UNIQUE_ARGS | PAWL_UNIQUE_META);
    assert_int_equal(unique->args_key_count, 1);
    assert_string_equal(unique->args_keys[0], "id");
    assert_int_equal(unique->meta_key_count, 2);
    assert_string_equal(unique->meta_keys[1], "user");
    assert_int_equal(unique->period_ms, 3600000);
    assert_int_equal(unique->states, PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) |
                                         PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
                                         PAWL_STATE_BIT(PAWL_STATE_EXPIRED));
    assert_int_equal(unique->on_conflict, PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE);
    intake_release(&intake);
}

static void unique_policies_have_many_spellings(void **state)
{
    enum { TYPE = PAWL_UNIQUE_TYPE, ARGS = PAWL_UNIQUE_ARGS, META = PAWL_UNIQUE_META };
    static const struct {
        const char *text;
        struct pawl_unique unique;
    } cases[] = {
        { "{}", { .keys = TYPE } },
        { "{\"keys\":[]}", { .keys = TYPE } },
        { "{\"keys\":null,\"x\":1}", { .keys = TYPE } },
        { "{\"keys\":[\"args\",\"args\"]}", { .keys = TYPE | ARGS } },
        { "{\"key\":[\"type\",\"queue\",\"args\"]}", { .keys = TYPE | PAWL_UNIQUE_QUEUE | ARGS } },
        { "{\"key\":[\"user_id\",\"plan\"]}", { .keys = TYPE | ARGS, .args_key_count = 2 } },
        { "{\"key\":[\"type\",\"user_id\"]}", { .keys = TYPE | ARGS, .args_key_count = 2 } },
        { "{\"args_keys\":[\"a\"]}", { .keys = TYPE | ARGS, .args_key_count = 1 } },
        { "{\"argsKeys\":[\"a\"]}", { .keys = TYPE | ARGS, .args_key_count = 1 } },
        { "{\"keys\":[\"type\"],\"args_keys\":[\"a\"]}", { .keys = TYPE } },
        { "{\"meta_keys\":[\"a\"]}", { .keys = TYPE | META, .meta_key_count = 1 } },
        { "{\"keys\":[\"type\"],\"metaKeys\":[\"a\"]}", { .keys = TYPE } },
        { "{\"period_ms\":7}", { .keys = TYPE, .period_ms = 7 } },
        { "{\"onConflict\":\"ignore\"}", { .keys = TYPE, .on_conflict = PAWL_CONFLICT_IGNORE } },
        { "{\"states\":[\"pending\"]}",
          { .keys = TYPE,
            .states = PAWL_STATE_BIT(PAWL_STATE_PENDING) | PAWL_STATE_BIT(PAWL_STATE_PAUSED) } },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        const struct pawl_unique *unique = &read_policy(&intake, "unique", cases[i].text)->unique;
        const struct pawl_unique *expected = &cases[i].unique;
        if (unique->keys != expected->keys) fail_msg("%s", cases[i].text);
        assert_int_equal(unique->args_key_count, expected->args_key_count);
        assert_int_equal(unique->meta_key_count, expected->meta_key_count);
        assert_int_equal(unique->period_ms, expected->period_ms);
        assert_int_equal(unique->states, expected->states);
        assert_int_equal(unique->on_conflict, expected->on_conflict);
        intake_release(&intake);
    }
}

static void bad_unique_policies_are_refused_with_400(void **state)
{
#define UNIQUE(policy, field)                                                                      \
    {                                                                                              \
        "{\"type\":\"a\",\"args\":[],\"options\":{\"unique\":" policy "}}",                        \
            PAWL__FAULT_INVALID_REQUEST, "options.unique" field                                    \
    }
    static const struct refusal refusals[] = {
        UNIQUE("true", ""),
        UNIQUE("[]", ""),
        UNIQUE("{\"keys\":\"type\"}", ".keys"),
        UNIQUE("{\"keys\":[\"type\",\"colour\"]}", ".keys"),
        UNIQUE("{\"keys\":[\"version\"]}", ".keys"),
        UNIQUE("{\"keys\":[1]}", ".keys"),
        UNIQUE("{\"key\":[\"\"]}", ".key"),
        UNIQUE("{\"keys\":[\"meta\"]}", ".meta_keys"),
        UNIQUE("{\"keys\":[\"meta\"],\"meta_keys\":[]}", ".meta_keys"),
        UNIQUE("{\"key\":[\"meta\"]}", ".meta_keys"),
        UNIQUE("{\"meta_keys\":\"x\"}", ".meta_keys"),
        UNIQUE("{\"args_keys\":{}}", ".args_keys"),
        UNIQUE("{\"period\":\"1h\"}", ".period"),
        UNIQUE("{\"period\":\"PT0S\"}", ".period"),
        UNIQUE("{\"period\":3600}", ".period"),
        UNIQUE("{\"period_ms\":0}", ".period_ms"),
        UNIQUE("{\"states\":[\"running\"]}", ".states"),
        UNIQUE("{\"states\":[\"AVAILABLE\"]}", ".states"),
        UNIQUE("{\"states\":[\"expired\"]}", ".states"),
        UNIQUE("{\"states\":[]}", ".states"),
        UNIQUE("{\"on_conflict\":\"merge\"}", ".on_conflict"),
        UNIQUE("{\"on_conflict\":1}", ".on_conflict"),
    };
    assert_refused(refusals, COUNT(refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_retry_policy_is_read),
        cmocka_unit_test(what_a_retry_policy_leaves_out_takes_its_default),
        cmocka_unit_test(retry_policies_have_many_spellings),
        cmocka_unit_test(bad_retry_policies_are_refused_with_422),
        cmocka_unit_test(a_whole_unique_policy_is_read),
        cmocka_unit_test(unique_policies_have_many_spellings),
        cmocka_unit_test(bad_unique_policies_are_refused_with_400),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
