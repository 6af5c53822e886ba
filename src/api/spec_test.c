/* Tests specs: what is refused, with which field, and what the store gets. */
#include "api/check.h"
#include "api/test_kit.h"

#include <math.h>

#define INSTANT_MAX INT64_C(253402300799999)
#define HUNDRED_YEARS INT64_C(3155760000000)

/* A spec with only what the row is about; type is filled in when a row has none. */
struct row {
    struct pawl_job_spec spec;
    enum pawl_err err;
    const char *field; /* "" if it is valid */
};

static enum pawl_err take(const struct pawl_job_spec *given, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec spec;
    struct pawl__new_job job = { .key_count = 0 };
    enum pawl_err err = pawl__intake_take(&intake, given, &spec, &job, diag);
    pawl__intake_release(&intake);
    return err;
}

static void try_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_spec spec = rows[i].spec;
        struct pawl_diag diag = { .err = PAWL_OK };
        if (!spec.type) spec.type = "mail.send";
        enum pawl_err err = take(&spec, &diag);
        bool right = err == rows[i].err && diag.err == err &&
                     strcmp(diag.field, rows[i].field) == 0;
        if (!right) {
            print_error("row %zu: got %s at \"%s\" (%s), not %s at \"%s\"\n", i, pawl_err_name(err),
                        diag.field, diag.text, pawl_err_name(rows[i].err), rows[i].field);
        }
        assert_true(right);
        assert_int_equal(take(&spec, NULL), err); // and without a diagnosis
    }
}

#define FINE PAWL_OK, ""
#define ARG(field) PAWL_ERR_ARG, field
#define LIMIT(field) PAWL_ERR_LIMIT, field
#define JSON(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

static void names_and_priority_keep_their_rules(void **state)
{
    (void)state;
    static const struct pawl_job_id nil, one = { { 1 } };
    const struct row rows[] = {
        { { .type = "mail.send@1.0" }, FINE },
        { { .type = "Mail.send" }, ARG("type") },
        { { .type = "" }, ARG("type") },
        { { .queue = NULL }, FINE },
        { { .queue = "slow_lane.eu-1" }, FINE },
        { { .queue = "" }, ARG("queue") },
        { { .queue = "Slow" }, ARG("queue") },
        { { .priority = -100 }, FINE },
        { { .priority = 100 }, FINE },
        { { .priority = -101 }, ARG("priority") },
        { { .priority = 101 }, ARG("priority") },
        { { .id = &one }, FINE },
        { { .id = &nil }, ARG("id") },
    };
    try_rows(rows, COUNT(rows));
}

static void type_is_required(void **state)
{
    (void)state;
    KIT_FAILS(take(&(struct pawl_job_spec){ .queue = "q" }, &diag), PAWL_ERR_ARG, "type");
}

static void payloads_must_be_the_right_kind_of_json(void **state)
{
    (void)state;
    const struct row rows[] = {
        { { .args = JSON("[]") }, FINE },
        { { .args = JSON(" [1, \"a\", {\"b\": null}] ") }, FINE },
        { { .args = JSON("{}") }, ARG("args") },
        { { .args = JSON("1") }, ARG("args") },
        { { .args = JSON("null") }, ARG("args") },
        { { .args = JSON("\"x\"") }, ARG("args") },
        { { .args = JSON(" ") }, ARG("args") },
        { { .args = JSON("[1") }, ARG("args") },
        { { .args = JSON("[1]]") }, ARG("args") },
        { { .args = JSON("[\"\xff\"]") }, ARG("args") },
        { { .args = JSON("[1]\0") }, ARG("args") },
        { { .args = { NULL, 3 } }, ARG("args") },
        { { .meta = JSON("{}") }, FINE },
        { { .meta = JSON("{\"a.b\":1}") }, FINE },
        { { .meta = JSON("[]") }, ARG("meta") },
        { { .meta = JSON("{\"a\":1,\"a\":2}") }, ARG("meta") },
        { { .meta = { NULL, 1 } }, ARG("meta") },
        { { .extra = JSON("{\"x_trace\":[]}") }, FINE },
        { { .extra = JSON("7") }, ARG("extra") },
        { { .extra = JSON("{") }, ARG("extra") },
    };
    try_rows(rows, COUNT(rows));
}

static void payloads_may_be_32_deep(void **state)
{
    (void)state;
    char inside[65] = "", outside[67] = "";
    memset(inside, '[', 32);
    memset(inside + 32, ']', 32);
    memset(outside, '[', 33);
    memset(outside + 33, ']', 33);
    const struct row rows[] = {
        { { .args = { inside, 64 } }, FINE },
        { { .args = { outside, 66 } }, LIMIT("args") },
    };
    try_rows(rows, COUNT(rows));
}

/* A JSON text of exactly `bytes`: `head`, white space, `tail`. */
static struct pawl_span padded(const char *head, const char *tail, size_t bytes)
{
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, ' ', bytes);
    memcpy(text, head, strlen(head));
    memcpy(text + bytes - strlen(tail), tail, strlen(tail));
    return (struct pawl_span){ text, bytes };
}

static void payloads_end_at_their_sizes(void **state)
{
    (void)state;
    struct pawl_span args = padded("[", "]", PAWL_PAYLOAD_BYTES_MAX + 1);
    struct pawl_span meta = padded("{", "}", PAWL_META_BYTES_MAX + 1);
    struct pawl_span extra = padded("{", "}", PAWL_PAYLOAD_BYTES_MAX + 1);
    const struct row outside[] = {
        { { .args = args }, LIMIT("args") },
        { { .meta = meta }, LIMIT("meta") },
        { { .extra = extra }, LIMIT("extra") },
    };
    try_rows(outside, COUNT(outside));
    const struct row inside[] = {
        { { .args = { args.at, args.len } }, FINE },
        { { .meta = { meta.at, meta.len } }, FINE },
        { { .extra = { extra.at, extra.len } }, FINE },
    };
    struct row shorter[COUNT(inside)];
    memcpy(shorter, inside, sizeof inside);
    ((char *)args.at)[--shorter[0].spec.args.len - 1] = ']';
    ((char *)meta.at)[--shorter[1].spec.meta.len - 1] = '}';
    ((char *)extra.at)[--shorter[2].spec.extra.len - 1] = '}';
    try_rows(shorter, COUNT(shorter));
    free((char *)args.at);
    free((char *)meta.at);
    free((char *)extra.at);
}

static void times_keep_their_bounds(void **state)
{
    (void)state;
    const struct row rows[] = {
#define DURATION(member)                                                                           \
    { { .member = HUNDRED_YEARS, .idempotency_key = "k" }, FINE },                                 \
        { { .member = HUNDRED_YEARS + 1, .idempotency_key = "k" }, ARG(#member) },                 \
        { { .member = -1, .idempotency_key = "k" }, ARG(#member) },                                \
        { { .member = INT64_MIN, .idempotency_key = "k" }, ARG(#member) },
#define INSTANT(member)                                                                            \
    { { .member = INSTANT_MAX }, FINE }, { { .member = INSTANT_MAX + 1 }, ARG(#member) },          \
        { { .member = -1 }, ARG(#member) }, { { .member = INT64_MAX }, ARG(#member) },
#define LEASE(member)                                                                              \
    DURATION(member){ { .member = PAWL_LEASE_MIN_MS }, FINE },                                     \
        { { .member = PAWL_LEASE_MIN_MS - 1 }, ARG(#member) }, { { .member = 1 }, ARG(#member) },
        DURATION(delay_ms) // clang-format off
        DURATION(expires_in_ms)
        DURATION(timeout_ms)
        LEASE(lease_ms)
        DURATION(keep_ms)
        DURATION(idempotency_ms)
        INSTANT(due_at_ms)
        INSTANT(expires_at_ms)
        INSTANT(sla_soft_at_ms)
        INSTANT(sla_hard_at_ms) // clang-format on
    };
    try_rows(rows, COUNT(rows));
}

static void times_agree_with_each_other(void **state)
{
    (void)state;
    const struct row rows[] = {
        { { .delay_ms = 1, .due_at_ms = 1 }, ARG("due_at_ms") },
        { { .delay_ms = 1, .expires_at_ms = 1 }, FINE },
        { { .expires_in_ms = 1, .expires_at_ms = 1 }, ARG("expires_at_ms") },
        { { .expires_in_ms = 1, .due_at_ms = 1 }, FINE },
        { { .sla_soft_at_ms = 5, .sla_hard_at_ms = 5 }, FINE },
        { { .sla_soft_at_ms = 6, .sla_hard_at_ms = 5 }, ARG("sla_soft_at_ms") },
        { { .sla_soft_at_ms = 6 }, FINE },
        { { .sla_hard_at_ms = 6 }, FINE },
        { { .idempotency_ms = 1 }, ARG("idempotency_ms") },
    };
    try_rows(rows, COUNT(rows));
}

static void keys_are_printable_and_bounded(void **state)
{
    (void)state;
    char *inside = kit_repeat("k", 255);
    char *outside = kit_repeat("k", 256);
    const struct row rows[] = {
#define KEY(member)                                                                                \
    { { .member = "k" }, FINE }, { { .member = "\xc3\xa9t\xc3\xa9" }, FINE },                      \
        { { .member = inside }, FINE }, { { .member = outside }, LIMIT(#member) },                 \
        { { .member = "a\tb" }, ARG(#member) }, { { .member = "\xc3" }, ARG(#member) },
        KEY(idempotency_key) // clang-format off
        KEY(business_key)
        KEY(principal)
        KEY(trace_id) // clang-format on
        { { .idempotency_key = "" }, ARG("idempotency_key") },
        { { .business_key = "" }, ARG("business_key") },
        { { .principal = "" }, FINE },
        { { .trace_id = "" }, FINE },
    };
    try_rows(rows, COUNT(rows));
    free(inside);
    free(outside);
}

static void retry_policy_names_its_member(void **state)
{
    (void)state;
    static const char *const empty_name[] = { "" };
    static const char *const names[] = { "auth.*", "bad_input" };
    const struct row rows[] = {
        { { .retry = { .attempts_max = 1 } }, FINE },
        { { .retry = { .attempts_max = -1 } }, ARG("retry.attempts_max") },
        { { .retry = { .initial_ms = -1 } }, ARG("retry.initial_ms") },
        { { .retry = { .coefficient = 1 } }, FINE },
        { { .retry = { .coefficient = 0.5 } }, ARG("retry.coefficient") },
        { { .retry = { .coefficient = NAN } }, ARG("retry.coefficient") },
        { { .retry = { .initial_ms = 10, .cap_ms = 10 } }, FINE },
        { { .retry = { .initial_ms = 10, .cap_ms = 9 } }, ARG("retry.cap_ms") },
        { { .retry = { .backoff = PAWL_BACKOFF_END } }, ARG("retry.backoff") },
        { { .retry = { .non_retryable = names, .non_retryable_count = 2 } }, FINE },
        { { .retry = { .non_retryable = empty_name, .non_retryable_count = 1 } },
          ARG("retry.non_retryable") },
    };
    try_rows(rows, COUNT(rows));
}

static void unique_policy_names_its_member(void **state)
{
    (void)state;
    static const char *const to[] = { "to" };
    static const char *const gone[] = { "to", "gone" };
    static const char *const blank[] = { "to", "" };
    const uint32_t type = PAWL_UNIQUE_TYPE, args = PAWL_UNIQUE_ARGS, meta = PAWL_UNIQUE_META;
    const struct pawl_span mail = JSON("[1,{\"to\":\"a\"}]");
    const struct row rows[] = {
        { { .unique = { .keys = type } }, FINE },
        { { .unique = { .keys = args } }, FINE },
        { { .unique = { .keys = 16 } }, ARG("unique.keys") },
        { { .unique = { .period_ms = 1 } }, ARG("unique.keys") },
        { { .unique = { .states = 4 } }, ARG("unique.keys") },
        { { .unique = { .on_conflict = PAWL_CONFLICT_IGNORE } }, ARG("unique.keys") },
        { { .unique = { .args_keys = to, .args_key_count = 1 } }, ARG("unique.keys") },
        { { .args = mail, .unique = { .keys = args, .args_keys = to, .args_key_count = 1 } },
          FINE },
        { { .args = mail, .unique = { .keys = type, .args_keys = to, .args_key_count = 1 } },
          ARG("unique.args_keys") },
        { { .args = mail, .unique = { .keys = args, .args_keys = gone, .args_key_count = 2 } },
          ARG("unique.args_keys") },
        { { .args = mail, .unique = { .keys = args, .args_keys = blank, .args_key_count = 2 } },
          ARG("unique.args_keys[1]") },
        { { .args = mail, .unique = { .keys = args, .args_keys = NULL, .args_key_count = 1 } },
          ARG("unique.args_keys") },
        { { .unique = { .keys = args, .args_keys = to, .args_key_count = 1 } },
          ARG("unique.args_keys") },
        { { .unique = { .keys = meta } }, ARG("unique.meta_keys") },
        { { .unique = { .keys = meta, .meta_keys = to, .meta_key_count = 1 } }, FINE },
        { { .unique = { .keys = type, .meta_keys = to, .meta_key_count = 1 } },
          ARG("unique.meta_keys") },
        { { .unique = { .keys = meta, .meta_keys = blank, .meta_key_count = 2 } },
          ARG("unique.meta_keys[1]") },
        { { .unique = { .keys = meta, .meta_keys = to, .meta_key_count = 33 } },
          LIMIT("unique.meta_keys") },
        { { .unique = { .keys = type, .period_ms = HUNDRED_YEARS } }, FINE },
        { { .unique = { .keys = type, .period_ms = HUNDRED_YEARS + 1 } }, ARG("unique.period_ms") },
        { { .unique = { .keys = type, .period_ms = -1 } }, ARG("unique.period_ms") },
        { { .unique = { .keys = type, .states = PAWL_STATE_BIT(PAWL_STATE_EXPIRED) } }, FINE },
        { { .unique = { .keys = type, .states = PAWL_STATE_BIT(PAWL_STATE_END) } },
          ARG("unique.states") },
        { { .unique = { .keys = type, .states = PAWL_STATE_BIT(PAWL_STATE_NONE) } },
          ARG("unique.states") },
        { { .unique = { .keys = type, .on_conflict = PAWL_CONFLICT_IGNORE } }, FINE },
        { { .unique = { .keys = type, .on_conflict = PAWL_CONFLICT_END } },
          ARG("unique.on_conflict") },
        { { .unique = { .keys = type, .on_conflict = (enum pawl_conflict) - 1 } },
          ARG("unique.on_conflict") },
    };
    try_rows(rows, COUNT(rows));
}

static void tags_name_the_bad_one(void **state)
{
    (void)state;
    char *outside = kit_repeat("t", 65);
    const char *const hole[] = { "a", NULL };
    const char *const wide[] = { "a", "b", outside };
    const struct row rows[] = {
        { { .tags = NULL, .tag_count = 1 }, ARG("tags") },
        { { .tags = hole, .tag_count = 2 }, ARG("tags[1]") },
        { { .tags = wide, .tag_count = 3 }, LIMIT("tags[2]") },
        { { .tags = wide, .tag_count = 2 }, FINE },
    };
    try_rows(rows, COUNT(rows));
    free(outside);
}

static void at_most_32_different_tags(void **state)
{
    (void)state;
    char text[33][8];
    const char *tags[66];
    for (int i = 0; i < 33; i++) {
        snprintf(text[i], sizeof text[i], "t%d", i);
        tags[i] = tags[i + 33] = text[i];
    }
    struct pawl_job_spec spec = { .type = "t", .tags = tags };
    spec.tag_count = 32;
    KIT_OK(take(&spec, &diag));
    spec.tag_count = 33;
    KIT_FAILS(take(&spec, &diag), PAWL_ERR_LIMIT, "tags");
    tags[32] = " "; // dropped; the rest are repeats of the first 32
    spec.tag_count = 65;
    KIT_OK(take(&spec, &diag));
}

/* ---- what the store gets ---- */

static void assert_span(struct pawl_span span, const char *expected)
{
    assert_int_equal(span.len, strlen(expected));
    if (span.len) assert_memory_equal(span.at, expected, span.len);
}

static void defaults_are_filled_in(void **state)
{
    (void)state;
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec spec;
    struct pawl__new_job job = { .key_count = 9 };
    KIT_OK(pawl__intake_take(&intake, &(struct pawl_job_spec){ .type = "mail.send" }, &spec, &job,
                             &diag));
    assert_ptr_equal(job.spec, &spec);
    assert_string_equal(spec.queue, "default");
    assert_span(spec.args, "[]");
    assert_int_equal(spec.meta.len, 0);
    assert_int_equal(spec.retry.attempts_max, 3);
    assert_int_equal(spec.retry.cap_ms, 300000);
    assert_span(job.tags, "");
    assert_span(job.retry, "");
    assert_span(job.unique, "");
    assert_int_equal(job.key_count, 0);
    pawl__intake_release(&intake);
}

static void payloads_are_kept_byte_for_byte(void **state)
{
    (void)state;
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec spec;
    struct pawl__new_job job;
    struct pawl_job_spec given = { .type = "t",
                                   .args = JSON(" [ 1.0 , \"\\u0041\" ] "),
                                   .meta = JSON("{ }"),
                                   .extra = JSON("{\"b\":1,\"a\":2}") };
    KIT_OK(pawl__intake_take(&intake, &given, &spec, &job, &diag));
    assert_span(spec.args, " [ 1.0 , \"\\u0041\" ] ");
    assert_span(spec.meta, "{ }");
    assert_span(spec.extra, "{\"b\":1,\"a\":2}");
    pawl__intake_release(&intake);
}

static void tags_are_cleaned_and_printed_once_each(void **state)
{
    (void)state;
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec spec;
    struct pawl__new_job job;
    const char *const tags[] = { " Billing", "", "eu\"1", "  ", "BILLING ", "eu\"1" };
    struct pawl_job_spec given = { .type = "t", .tags = tags, .tag_count = COUNT(tags) };
    KIT_OK(pawl__intake_take(&intake, &given, &spec, &job, &diag));
    assert_span(job.tags, "[\"billing\",\"eu\\\"1\"]");
    given.tag_count = 2;
    given.tags = (const char *const[]){ " ", "" };
    KIT_OK(pawl__intake_take(&intake, &given, &spec, &job, &diag));
    assert_span(job.tags, "");
    pawl__intake_release(&intake);
}

static void what_was_kept_outlives_the_next_spec(void **state)
{
    (void)state;
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec specs[2];
    struct pawl__new_job jobs[2];
    const char *const first[] = { "first" };
    const char *const second[] = { "other" };
    struct pawl_job_spec given = { .type = "t",
                                   .tags = first,
                                   .tag_count = 1,
                                   .retry.attempts_max = 7,
                                   .unique = { .keys = PAWL_UNIQUE_TYPE } };
    KIT_OK(pawl__intake_take(&intake, &given, &specs[0], &jobs[0], &diag));
    given.tags = second;
    given.retry.attempts_max = 8;
    given.unique.keys = PAWL_UNIQUE_QUEUE;
    KIT_OK(pawl__intake_take(&intake, &given, &specs[1], &jobs[1], &diag));
    assert_span(jobs[0].tags, "[\"first\"]");
    assert_span(jobs[1].tags, "[\"other\"]");
    assert_span(jobs[0].unique, "{\"keys\":[\"type\"],\"on_conflict\":\"reject\"}");
    assert_non_null(memchr(jobs[0].retry.at, '7', jobs[0].retry.len));
    assert_non_null(memchr(jobs[1].retry.at, '8', jobs[1].retry.len));
    pawl__intake_release(&intake);
}

static void message_names_the_rule_and_shows_no_raw_bytes(void **state)
{
    (void)state;
    struct pawl_diag diag;
    assert_int_equal(take(&(struct pawl_job_spec){ .type = "Bad\x1b[2J" }, &diag), PAWL_ERR_ARG);
    assert_non_null(strstr(diag.text, "lower-case words"));
    assert_non_null(strstr(diag.text, "\"Bad?[2J\""));
    assert_int_equal(take(&(struct pawl_job_spec){ .type = "t", .args = JSON("[1,]") }, &diag),
                     PAWL_ERR_ARG);
    assert_memory_equal(diag.text, "args: ", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_priority_keep_their_rules),
        cmocka_unit_test(type_is_required),
        cmocka_unit_test(payloads_must_be_the_right_kind_of_json),
        cmocka_unit_test(payloads_may_be_32_deep),
        cmocka_unit_test(payloads_end_at_their_sizes),
        cmocka_unit_test(times_keep_their_bounds),
        cmocka_unit_test(times_agree_with_each_other),
        cmocka_unit_test(keys_are_printable_and_bounded),
        cmocka_unit_test(retry_policy_names_its_member),
        cmocka_unit_test(unique_policy_names_its_member),
        cmocka_unit_test(tags_name_the_bad_one),
        cmocka_unit_test(at_most_32_different_tags),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(payloads_are_kept_byte_for_byte),
        cmocka_unit_test(tags_are_cleaned_and_printed_once_each),
        cmocka_unit_test(what_was_kept_outlives_the_next_spec),
        cmocka_unit_test(message_names_the_rule_and_shows_no_raw_bytes),
    };
    return cmocka_run_group_tests_name("api/spec", tests, NULL, NULL);
}
