/* Tests fingerprints: which specs are equal, and their keys. */
#include "api/test_kit.h"

#define JSON(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

/* The keys of a spec that must be valid. */
static struct pawl__new_job job_of(const struct pawl_job_spec *given)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec spec;
    struct pawl__new_job job = { .key_count = 0 };
    KIT_OK(pawl__intake_take(&intake, given, &spec, &job, &diag));
    pawl__intake_release(&intake);
    return job;
}

static bool same(const struct pawl_job_spec *a, const struct pawl_job_spec *b)
{
    struct pawl__new_job one = job_of(a), other = job_of(b);
    assert_int_equal(one.key_count, 1);
    assert_int_equal(other.key_count, 1);
    return memcmp(one.keys[0].digest, other.keys[0].digest, 16) == 0;
}

#define ARGS_KEYS(...)                                                                             \
    .args_keys = (const char *const[]){ __VA_ARGS__ },                                             \
    .args_key_count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)
#define META_KEYS(...)                                                                             \
    .meta_keys = (const char *const[]){ __VA_ARGS__ },                                             \
    .meta_key_count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

struct pair {
    struct pawl_job_spec a, b;
};

static void try_pairs(const struct pair *pairs, size_t count, bool expected)
{
    for (size_t i = 0; i < count; i++) {
        bool got = same(&pairs[i].a, &pairs[i].b);
        if (got != expected) print_error("pair %zu\n", i);
        assert_true(got == expected);
    }
}

#define T PAWL_UNIQUE_TYPE
#define Q PAWL_UNIQUE_QUEUE
#define A PAWL_UNIQUE_ARGS
#define M PAWL_UNIQUE_META

static void equal_dimensions_are_one_job(void **state)
{
    (void)state;
    const struct pair pairs[] = {
        { { .type = "t", .unique = { .keys = T } },
          { .type = "t",
            .queue = "q",
            .args = JSON("[1]"),
            .priority = 5,
            .unique = { .keys = T } } },
        // the type counts even if it is not named
        { { .type = "t", .unique = { .keys = T | Q } }, { .type = "t", .unique = { .keys = Q } } },
        { { .type = "t", .unique = { .keys = Q } },
          { .type = "t", .queue = "default", .unique = { .keys = Q } } },
        { { .type = "t", .unique = { .keys = A } },
          { .type = "t", .args = JSON("[]"), .unique = { .keys = A } } },
        // canonical: order of members, white space, escapes and spelling of numbers do not count
        { { .type = "t",
            .args = JSON("[{\"a\":1,\"b\":\"\\u0041\"},10]"),
            .unique = { .keys = A } },
          { .type = "t",
            .args = JSON(" [ {\"b\":\"A\", \"a\":1.0}, 1e1 ] "),
            .unique = { .keys = A } } },
        // only the named members of the objects count, wherever they stand
        { { .type = "t",
            .args = JSON("[\"x\",{\"to\":\"a\",\"at\":1}]"),
            .unique = { .keys = A, ARGS_KEYS("to") } },
          { .type = "t",
            .args = JSON("[{\"to\":\"a\",\"at\":2}]"),
            .unique = { .keys = A, ARGS_KEYS("to") } } },
        { { .type = "t",
            .args = JSON("[{\"a\":1,\"b\":2}]"),
            .unique = { .keys = A, ARGS_KEYS("a", "b") } },
          { .type = "t",
            .args = JSON("[{\"a\":1},{\"b\":2}]"),
            .unique = { .keys = A, ARGS_KEYS("b", "a", "b") } } },
        { { .type = "t",
            .meta = JSON("{\"tenant\":\"x\",\"n\":1}"),
            .unique = { .keys = M, META_KEYS("tenant") } },
          { .type = "t",
            .meta = JSON("{\"n\":2,\"tenant\":\"x\"}"),
            .unique = { .keys = M, META_KEYS("tenant", "tenant") } } },
        // no meta is the empty one
        { { .type = "t", .unique = { .keys = M, META_KEYS("tenant") } },
          { .type = "t",
            .meta = JSON("{\"other\":1}"),
            .unique = { .keys = M, META_KEYS("tenant", "gone") } } },
        // the conflict rule does not distinguish jobs
        { { .type = "t", .unique = { .keys = T, .period_ms = 5 } },
          { .type = "t", .unique = { .keys = T, .states = 4, .on_conflict = 2 } } },
    };
    try_pairs(pairs, COUNT(pairs), true);
}

static void different_dimensions_are_two_jobs(void **state)
{
    (void)state;
    const struct pair pairs[] = {
        { { .type = "t", .unique = { .keys = T } }, { .type = "u", .unique = { .keys = T } } },
        { { .type = "t@1.0", .unique = { .keys = T } },
          { .type = "t@2.0", .unique = { .keys = T } } },
        { { .type = "t", .unique = { .keys = Q } },
          { .type = "t", .queue = "q", .unique = { .keys = Q } } },
        { { .type = "t", .unique = { .keys = Q } }, { .type = "u", .unique = { .keys = Q } } },
        { { .type = "t", .unique = { .keys = T } }, { .type = "t", .unique = { .keys = A } } },
        { { .type = "t", .args = JSON("[1]"), .unique = { .keys = A } },
          { .type = "t", .args = JSON("[\"1\"]"), .unique = { .keys = A } } },
        { { .type = "t", .args = JSON("[1,2]"), .unique = { .keys = A } },
          { .type = "t", .args = JSON("[2,1]"), .unique = { .keys = A } } },
        // beyond what a double can tell apart
        { { .type = "t", .args = JSON("[9007199254740993]"), .unique = { .keys = A } },
          { .type = "t", .args = JSON("[9007199254740992]"), .unique = { .keys = A } } },
        { { .type = "t",
            .args = JSON("[{\"to\":\"a\"}]"),
            .unique = { .keys = A, ARGS_KEYS("to") } },
          { .type = "t",
            .args = JSON("[{\"to\":\"b\"}]"),
            .unique = { .keys = A, ARGS_KEYS("to") } } },
        // the same value under another name, or in two objects instead of one
        { { .type = "t",
            .args = JSON("[{\"a\":1,\"b\":1}]"),
            .unique = { .keys = A, ARGS_KEYS("a") } },
          { .type = "t",
            .args = JSON("[{\"a\":1,\"b\":1}]"),
            .unique = { .keys = A, ARGS_KEYS("b") } } },
        { { .type = "t", .args = JSON("[{\"a\":1}]"), .unique = { .keys = A, ARGS_KEYS("a") } },
          { .type = "t",
            .args = JSON("[{\"a\":1},{\"a\":1}]"),
            .unique = { .keys = A, ARGS_KEYS("a") } } },
        // lacking a member is not null
        { { .type = "t", .unique = { .keys = M, META_KEYS("tenant") } },
          { .type = "t",
            .meta = JSON("{\"tenant\":null}"),
            .unique = { .keys = M, META_KEYS("tenant") } } },
        { { .type = "t",
            .meta = JSON("{\"tenant\":\"x\"}"),
            .unique = { .keys = M, META_KEYS("tenant") } },
          { .type = "t",
            .meta = JSON("{\"tenant\":\"y\"}"),
            .unique = { .keys = M, META_KEYS("tenant") } } },
    };
    try_pairs(pairs, COUNT(pairs), false);
}

/* Only the top level of an object argument is looked at. */
static void unknown_args_key_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const args[] = { "[]", "[1,\"to\"]", "[{\"x\":{\"to\":1}}]",
                                        "[[{\"to\":1}]]", "[{\"TO\":1}]" };
    for (size_t i = 0; i < COUNT(args); i++) {
        struct pawl__intake intake = { .kept.chunks = NULL };
        struct pawl_job_spec spec;
        struct pawl__new_job job;
        struct pawl_diag found;
        struct pawl_job_spec given = { .type = "t",
                                       .args = kit_span(args[i]),
                                       .unique = { .keys = A, ARGS_KEYS("to") } };
        assert_int_equal(pawl__intake_take(&intake, &given, &spec, &job, &found), PAWL_ERR_ARG);
        assert_string_equal(found.field, "unique.args_keys");
        assert_non_null(strstr(found.text, "\"to\""));
        pawl__intake_release(&intake);
    }
}

static const uint32_t live =
    PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) |
    PAWL_STATE_BIT(PAWL_STATE_PENDING) | PAWL_STATE_BIT(PAWL_STATE_ACTIVE) |
    PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) | PAWL_STATE_BIT(PAWL_STATE_PAUSED);

static void keys_ascend_and_carry_their_rules(void **state)
{
    (void)state;
    struct pawl_job_spec spec = {
        .type = "t",
        .idempotency_key = "same",
        .idempotency_ms = 60000,
        .business_key = "same",
        .unique = { .keys = T, .period_ms = 5, .states = 4, .on_conflict = PAWL_CONFLICT_REPLACE }
    };
    struct pawl__new_job job = job_of(&spec);
    const struct pawl__key *key = job.keys;
    assert_int_equal(job.key_count, 3);
    assert_int_equal(key[0].kind, PAWL__KEY_IDEMPOTENCY);
    assert_int_equal(key[0].period_ms, 60000);
    assert_int_equal(key[0].on_conflict, PAWL_CONFLICT_IGNORE);
    assert_int_equal(key[1].kind, PAWL__KEY_BUSINESS);
    assert_int_equal(key[1].period_ms, 0);
    assert_int_equal(key[1].states, live);
    assert_int_equal(key[1].on_conflict, PAWL_CONFLICT_REJECT);
    assert_int_equal(key[2].kind, PAWL__KEY_UNIQUE);
    assert_int_equal(key[2].period_ms, 5);
    assert_int_equal(key[2].states, 4);
    assert_int_equal(key[2].on_conflict, PAWL_CONFLICT_REPLACE);
    assert_memory_not_equal(key[0].digest, key[1].digest, 16); // kinds never clash
}

static void unique_defaults_are_live_states_and_reject(void **state)
{
    (void)state;
    struct pawl__new_job job = job_of(&(struct pawl_job_spec){ .type = "t", .unique.keys = T });
    assert_int_equal(job.key_count, 1);
    assert_int_equal(job.keys[0].states, live);
    assert_int_equal(job.keys[0].period_ms, 0);
    assert_int_equal(job.keys[0].on_conflict, PAWL_CONFLICT_REJECT);
}

/* Digests are stored: these bytes may never change. printf '\3{"type":"t"}' | sha256sum */
static void stored_digests_stay_what_they_are(void **state)
{
    (void)state;
    static const uint8_t unique[16] = { 0x89, 0x17, 0x30, 0xc6, 0x5f, 0x5b, 0x6a, 0xc8,
                                        0x94, 0x57, 0x3e, 0x1c, 0xa2, 0x13, 0x3b, 0xb4 };
    static const uint8_t business[16] = { 0xa9, 0xd0, 0xae, 0xf8, 0xfd, 0xc4, 0x0f, 0x45,
                                          0x45, 0xd9, 0x41, 0xbb, 0x3a, 0x1c, 0x50, 0x94 };
    static const uint8_t full[16] = { 0x44, 0x9f, 0xc3, 0xbe, 0xe5, 0x22, 0x30, 0x17,
                                      0xe1, 0x19, 0xa2, 0xb5, 0xb1, 0x1e, 0x30, 0x3c };
    struct pawl__new_job job =
        job_of(&(struct pawl_job_spec){ .type = "t", .business_key = "k", .unique.keys = T });
    assert_memory_equal(job.keys[0].digest, business, 16);
    assert_memory_equal(job.keys[1].digest, unique, 16);
    struct pawl_job_spec all = {
        .type = "mail.send",
        .queue = "q",
        .args = JSON("[{\"b\":2.50,\"a\":\"x\"}]"),
        .meta = JSON("{\"tenant\":\"t\"}"),
        .unique = { .keys = T | Q | A | M, ARGS_KEYS("b", "a"), META_KEYS("tenant") }
    };
    assert_memory_equal(job_of(&all).keys[0].digest, full, 16);
}

static void assert_printed(const struct pawl_unique *unique, const char *expected)
{
    struct pawl__buf buf = { .at = NULL };
    pawl__unique_print(unique, &buf);
    assert_false(buf.failed);
    assert_int_equal(buf.len, strlen(expected));
    if (buf.len) assert_string_equal(buf.at, expected);
    pawl__buf_release(&buf);
}

static void policy_is_printed_as_given(void **state)
{
    (void)state;
    assert_printed(&(struct pawl_unique){ .keys = 0 }, "");
    assert_printed(&(struct pawl_unique){ .keys = Q },
                   "{\"keys\":[\"type\",\"queue\"],\"on_conflict\":\"reject\"}");
    assert_printed(&(struct pawl_unique){ .keys = A | M,
                                          ARGS_KEYS("to", "a\"b"),
                                          META_KEYS("tenant"),
                                          .period_ms = 3600000,
                                          .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) |
                                                    PAWL_STATE_BIT(PAWL_STATE_EXPIRED),
                                          .on_conflict = PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE },
                   "{\"keys\":[\"type\",\"args\",\"meta\"],\"args_keys\":[\"to\",\"a\\\"b\"],"
                   "\"meta_keys\":[\"tenant\"],\"period_ms\":3600000,"
                   "\"states\":[\"active\",\"expired\"],"
                   "\"on_conflict\":\"replace_except_schedule\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_dimensions_are_one_job),
        cmocka_unit_test(different_dimensions_are_two_jobs),
        cmocka_unit_test(unknown_args_key_is_refused_by_name),
        cmocka_unit_test(keys_ascend_and_carry_their_rules),
        cmocka_unit_test(unique_defaults_are_live_states_and_reject),
        cmocka_unit_test(stored_digests_stay_what_they_are),
        cmocka_unit_test(policy_is_printed_as_given),
    };
    return cmocka_run_group_tests_name("api/unique", tests, NULL, NULL);
}
