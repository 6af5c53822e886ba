/* Envelopes: their members, and the rules for them. */
#include "http/ojs/envelope_fields.h"

#include "http/ojs/envelope_test_kit.h"

#define ID "01890a5d-ac96-774b-bcce-b302099a8057"

/* ---- members ---- */

static void every_name_of_the_list_is_found(void **state)
{
    for (int field = PAWL__FIELD_NONE + 1; field < PAWL__FIELD_END; field++) {
        const char *name = pawl__field_name((enum pawl__envelope_field)field);
        assert_int_equal(pawl__field_find(name, strlen(name)), field);
        assert_int_not_equal(pawl__field_find(name, strlen(name) - 1), field);
    }
    assert_int_equal(pawl__field_find("", 0), PAWL__FIELD_NONE);
    assert_int_equal(pawl__field_find("tyqe", 4), PAWL__FIELD_NONE);
    assert_int_equal(pawl__field_find("visibility_timeout_ms_and_more", 30), PAWL__FIELD_NONE);
}

static void a_plain_job_leaves_nothing_to_keep(void **state)
{
    static const char *const texts[] = {
        "{\"type\":\"mail.send\",\"args\":[1, 2.50]}",
        "{\"type\":\"mail.send\",\"args\":[1, 2.50],\"queue\":\"default\"}",
        "{\"type\":\"mail.send\",\"args\":[1, 2.50],\"options\":{\"queue\":\"default\"}}",
        "{\"specversion\":\"1.0\",\"type\":\"mail.send\",\"args\":[1, 2.50],\"options\":{}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct intake intake;
        const struct pawl_job_spec *spec = intake_spec(&intake, texts[i]);
        assert_string_equal(spec->type, "mail.send");
        assert_string_equal(spec->queue, "default");
        assert_span(spec->args, "[1, 2.50]");
        assert_span(spec->meta, "");
        assert_span(spec->extra, "");
        assert_null(spec->id);
        assert_int_equal(spec->timeout_ms, PAWL__OJS_TIMEOUT_MS);
        assert_int_equal(spec->due_at_ms + spec->expires_at_ms + spec->lease_ms + spec->priority,
                         0);
        assert_int_equal(spec->retry.attempts_max, 0);
        assert_int_equal(spec->unique.keys, 0);
        assert_false(spec->pending);
        intake_release(&intake);
    }
}

#define OPTIONS                                                                                    \
    "\"queue\":\"q.1\",\"priority\":-7,\"timeout_ms\":5000,\"visibility_timeout_ms\":9000,"        \
    "\"expires_at\":\"2099-12-31T23:59:59Z\",\"scheduled_at\":\"2098-01-01T00:00:00+01:00\","      \
    "\"tags\":[\"a\",\"b\"],\"pending\":true,\"retry\":{\"max_attempts\":9},"                      \
    "\"unique\":{\"keys\":[\"type\"]},\"rate_limit\":{\"max_per_second\":1}"

static void both_layouts_mean_the_same(void **state)
{
    static const char *const texts[] = {
        "{\"type\":\"a\",\"args\":[],\"options\":{" OPTIONS "}}",
        "{\"type\":\"a\",\"args\":[]," OPTIONS "}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct intake intake;
        const struct pawl_job_spec *spec = intake_spec(&intake, texts[i]);
        assert_string_equal(spec->queue, "q.1");
        assert_int_equal(spec->priority, -7);
        assert_int_equal(spec->timeout_ms, 5000);
        assert_int_equal(spec->lease_ms, 9000);
        assert_int_equal(spec->expires_at_ms, INT64_C(4102444799000));
        assert_int_equal(spec->due_at_ms, INT64_C(4039369200000));
        assert_int_equal(spec->tag_count, 2);
        assert_string_equal(spec->tags[1], "b");
        assert_true(spec->pending);
        assert_int_equal(spec->retry.attempts_max, 9);
        assert_int_equal(spec->unique.keys, PAWL_UNIQUE_TYPE);
        assert_span(intake.envelope.rate_limit, "{\"max_per_second\":1}");
        assert_span(spec->extra,
                    "{\"scheduled_at\":\"2098-01-01T00:00:00+01:00\","
                    "\"expires_at\":\"2099-12-31T23:59:59Z\","
                    "\"rate_limit\":{\"max_per_second\":1},"
                    "\"retry\":{\"max_attempts\":9},\"unique\":{\"keys\":[\"type\"]}}");
        intake_release(&intake);
    }
}

static void options_win_over_the_top(void **state)
{
    static const char *const texts[] = {
        "{\"type\":\"a\",\"args\":[],\"queue\":\"top\",\"priority\":1,\"timeout_ms\":1,"
        "\"options\":{\"queue\":\"inner\",\"priority\":2,\"timeout\":2}}",
        "{\"options\":{\"queue\":\"inner\",\"priority\":2,\"timeout\":2},\"queue\":\"top\","
        "\"priority\":1,\"timeout_ms\":1,\"type\":\"a\",\"args\":[]}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct intake intake;
        const struct pawl_job_spec *spec = intake_spec(&intake, texts[i]);
        assert_string_equal(spec->queue, "inner");
        assert_int_equal(spec->priority, 2);
        assert_int_equal(spec->timeout_ms, 2000);
        intake_release(&intake);
    }
}

static void names_that_belong_at_the_top_mean_nothing_in_options(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec =
        intake_spec(&intake, "{\"type\":\"a\",\"args\":[],\"options\":{\"type\":\"b\","
                             "\"args\":[1],\"meta\":{\"x\":1},\"id\":1,\"state\":\"active\"}}");
    assert_string_equal(spec->type, "a");
    assert_span(spec->args, "[]");
    assert_span(spec->meta, "");
    assert_span(spec->extra, "");
    intake_release(&intake);
}

static void null_is_as_good_as_nothing(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec = intake_spec(
        &intake, "{\"type\":\"a\",\"args\":[],\"id\":null,\"meta\":null,\"queue\":\"q\","
                 "\"schema\":null,\"version\":null,\"specversion\":null,\"retry\":null,"
                 "\"options\":{\"queue\":null,\"retry\":null,\"unique\":null,\"tags\":null,"
                 "\"priority\":null,\"timeout_ms\":null,\"scheduled_at\":null,\"pending\":null}}");
    assert_string_equal(spec->queue, "q");
    assert_span(spec->extra, "");
    assert_null(spec->id);
    intake_release(&intake);
    spec = intake_spec(&intake, "{\"type\":\"a\",\"args\":[],\"options\":null}");
    assert_string_equal(spec->queue, "default");
    intake_release(&intake);
}

static void members_of_the_server_are_ignored(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec = intake_spec(
        &intake, "{\"type\":\"a\",\"args\":[],\"state\":\"completed\",\"attempt\":-5,"
                 "\"created_at\":\"x\",\"enqueued_at\":1,\"started_at\":{},\"completed_at\":[],"
                 "\"error\":\"e\",\"errors\":1,\"result\":2,\"max_attempts\":\"many\"}");
    assert_span(spec->extra, "");
    assert_int_equal(spec->retry.attempts_max, 0);
    intake_release(&intake);
}

static void unknown_members_are_kept_as_they_stand(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec =
        intake_spec(&intake, "{\"x_a\": {\"n\" : 1.50 } ,\"type\":\"a\",\"ext_b\":null,\"args\":[],"
                             "\"\\u0078_c\":\"\\u00e9\",\"options\":{\"y\":3}}");
    assert_span(spec->extra, "{\"x_a\":{\"n\" : 1.50 },\"ext_b\":null,\"\\u0078_c\":\"\\u00e9\","
                             "\"y\":3}");
    intake_release(&intake);
}

static void of_unknown_members_in_both_places_the_options_win(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec =
        intake_spec(&intake, "{\"options\":{\"x\":2,\"z\":3},\"type\":\"a\",\"args\":[],"
                             "\"\\u0078\":1,\"y\":0}");
    assert_span(spec->extra, "{\"y\":0,\"x\":2,\"z\":3}");
    intake_release(&intake);
}

static void names_are_known_however_they_are_escaped(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec = intake_spec(
        &intake, "{\"t\\u0079pe\":\"a\",\"\\u0061rgs\":[],\"optio\\u006es\":{\"q\\u0075eue\":"
                 "\"\\u0071\",\"retr\\u0079\":{\"max_\\u0061ttempts\":4}}}");
    assert_string_equal(spec->type, "a");
    assert_string_equal(spec->queue, "q");
    assert_int_equal(spec->retry.attempts_max, 4);
    assert_span(spec->extra, "{\"retry\":{\"max_\\u0061ttempts\":4}}");
    intake_release(&intake);
}

static void the_last_of_repeated_members_wins(void **state)
{
    struct intake intake;
    const struct pawl_job_spec *spec =
        intake_spec(&intake, "{\"type\":\"a\",\"args\":[{\"x\":1,\"x\":2}],\"type\":\"b\","
                             "\"z\":1,\"z\":2,\"meta\":{\"m\":1,\"m\":2}}");
    assert_string_equal(spec->type, "b");
    assert_span(spec->args, "[{\"x\":2}]");
    assert_span(spec->meta, "{\"m\":2}");
    assert_span(spec->extra, "{\"z\":2}");
    intake_release(&intake);
}

/* ---- rules ---- */

static void what_breaks_a_rule_is_refused_by_name(void **state)
{
#define BAD(text, field)                                                                           \
    {                                                                                              \
        text, PAWL__FAULT_INVALID_REQUEST, field                                                   \
    }
#define JOB(more) "{\"type\":\"a\",\"args\":[]," more "}"
    static const struct refusal refusals[] = {
        BAD("[]", ""),
        BAD("{}", "type"),
        BAD("{\"args\":[]}", "type"),
        BAD("{\"type\":null,\"args\":[]}", "type"),
        BAD("{\"type\":1,\"args\":[]}", "type"),
        BAD("{\"type\":\"\",\"args\":[]}", "type"),
        BAD("{\"type\":\"a\\u0000\",\"args\":[]}", "type"),
        BAD("{\"type\":\"a\"}", "args"),
        BAD("{\"type\":\"a\",\"args\":null}", "args"),
        BAD("{\"type\":\"a\",\"args\":{}}", "args"),
        BAD("{\"type\":\"a\",\"args\":\"[]\"}", "args"),
        BAD("{\"type\":\"a\",\"args\":1}", "args"),
        BAD("{\"type\":\"a\",\"args\":true}", "args"),
        BAD(JOB("\"options\":[]"), "options"),
        BAD(JOB("\"options\":\"x\""), "options"),
        BAD(JOB("\"specversion\":\"2.0\""), "specversion"),
        BAD(JOB("\"specversion\":1.0"), "specversion"),
        BAD(JOB("\"meta\":[]"), "meta"),
        BAD(JOB("\"queue\":7"), "queue"),
        BAD(JOB("\"options\":{\"queue\":\"Bad\"}"), "options.queue"),
        BAD(JOB("\"priority\":101"), "priority"),
        BAD(JOB("\"options\":{\"priority\":-101}"), "options.priority"),
        BAD(JOB("\"priority\":1.5"), "priority"),
        BAD(JOB("\"priority\":\"urgent\""), "priority"),
        BAD(JOB("\"timeout_ms\":-1"), "timeout_ms"),
        BAD(JOB("\"timeout_ms\":\"5\""), "timeout_ms"),
        BAD(JOB("\"timeout_ms\":1e300"), "timeout_ms"),
        BAD(JOB("\"timeout\":-1"), "timeout"),
        BAD(JOB("\"timeout\":9223372036854775807"), "timeout"),
        BAD(JOB("\"grace_period\":-1"), "grace_period"),
        BAD(JOB("\"total_timeout\":0"), "total_timeout"),
        BAD(JOB("\"total_timeout\":4,\"timeout\":5"), "total_timeout"),
        BAD(JOB("\"enqueue_ttl\":0"), "enqueue_ttl"),
        BAD(JOB("\"heartbeat_timeout\":0"), "heartbeat_timeout"),
        BAD(JOB("\"result_ttl\":-2"), "result_ttl"),
        BAD(JOB("\"visibility_timeout_ms\":0"), "visibility_timeout_ms"),
        BAD(JOB("\"visibility_timeout_ms\":604800001"), "visibility_timeout_ms"),
        BAD(JOB("\"visibility_timeout\":0.5"), "visibility_timeout"),
        BAD(JOB("\"visibility_timeout\":604801"), "visibility_timeout"),
        BAD(JOB("\"scheduled_at\":\"2026-01-01T00:00:00\""), "scheduled_at"),
        BAD(JOB("\"scheduled_at\":\"tomorrow\""), "scheduled_at"),
        BAD(JOB("\"scheduled_at\":1790000000"), "scheduled_at"),
        BAD(JOB("\"options\":{\"delay_until\":\"+2s\"}"), "options.delay_until"),
        BAD(JOB("\"options\":{\"delay_until\":\"+\"}"), "options.delay_until"),
        BAD(JOB("\"delay_until\":\"PT2X\""), "delay_until"),
        BAD(JOB("\"expires_at\":\"2026-02-30T00:00:00Z\""), "expires_at"),
        BAD(JOB("\"tags\":\"a\""), "tags"),
        BAD(JOB("\"options\":{\"tags\":[\"a\",1]}"), "options.tags"),
        BAD(JOB("\"tags\":[\"\"]"), "tags"),
        BAD(JOB("\"tags\":[\"a\\u0000b\"]"), "tags"),
        BAD(JOB("\"pending\":1"), "pending"),
        BAD(JOB("\"rate_limit\":5"), "rate_limit"),
        BAD(JOB("\"options\":{\"metadata\":1}"), "options.metadata"),
        BAD(JOB("\"schema\":1"), "schema"),
        BAD(JOB("\"version\":true"), "version"),
        BAD(JOB("\"version\":[1]"), "version"),
    };
    assert_refused(refusals, COUNT(refusals));
}

/* A job with `value` for its member `name`. */
static bool is_accepted(const char *name, const char *value)
{
    struct pawl__buf buf = { 0 };
    struct intake intake;
    pawl__buf_printf(&buf, "{%s%s\"%s\":", strcmp(name, "type") ? "\"type\":\"a\"," : "",
                     "\"args\":[],", name);
    pawl__buf_add_json(&buf, value, strlen(value));
    pawl__buf_add_text(&buf, "}");
    intake_read(&intake, buf.at);
    if (!intake.ok) assert_string_equal(intake.fault.field, name);
    bool ok = intake.ok;
    intake_release(&intake);
    pawl__buf_release(&buf);
    return ok;
}

static void assert_accepts(const char *name, const char *value, bool expected)
{
    if (is_accepted(name, value) != expected) fail_msg("%s \"%s\"", name, value);
}

static void types_queues_and_ids_follow_their_patterns(void **state)
{
    char long_type[258], long_queue[131];
    static const char *const good_types[] = { "a",     "a.b",       "a-b.c_d", "a1.b2.c3",
                                              "a@1.0", "a.b@12.34", "a-",      "email.send" };
    static const char *const bad_types[] = {
        "A",    "Email.Send", "1a",   "a.",  ".a",      "a..b",   "a.1", "a b", "a@1",
        "a@1.", "a@",         "a@.1", "a/b", "a@1.0.0", "a@v1.0", "-a",  "_a",  "\xc3\xa9"
    };
    static const char *const good_queues[] = { "q", "0", "a.b-c", "default", "q-" };
    static const char *const bad_queues[] = { "", "-q", ".q", "Q", "a_b", "a b", "a!", "\xc3\xa9" };
    static const char *const bad_ids[] = { "",
                                           "01890A5D-AC96-774B-BCCE-B302099A8057",
                                           "01890a5d-ac96-474b-bcce-b302099a8057",
                                           "01890a5d-ac96-774b-ccce-b302099a8057",
                                           "01890a5dac96774bbcceb302099a8057",
                                           ID "0",
                                           "not-a-uuid" };
    for (size_t i = 0; i < COUNT(good_types); i++) {
        assert_accepts("type", good_types[i], true);
    }
    for (size_t i = 0; i < COUNT(bad_types); i++) {
        assert_accepts("type", bad_types[i], false);
    }
    for (size_t i = 0; i < COUNT(good_queues); i++) {
        assert_accepts("queue", good_queues[i], true);
    }
    for (size_t i = 0; i < COUNT(bad_queues); i++) {
        assert_accepts("queue", bad_queues[i], false);
    }
    for (size_t i = 0; i < COUNT(bad_ids); i++) {
        assert_accepts("id", bad_ids[i], false);
    }
    memset(long_type, 'a', sizeof long_type);
    memset(long_queue, 'q', sizeof long_queue);
    long_type[255] = long_queue[128] = '\0';
    assert_accepts("type", long_type, true);
    assert_accepts("queue", long_queue, true);
    long_type[255] = long_queue[128] = 'x';
    long_type[256] = long_queue[129] = '\0';
    assert_accepts("type", long_type, false);
    assert_accepts("queue", long_queue, false);
}

static void an_id_is_taken_over(void **state)
{
    struct intake intake;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    const struct pawl_job_spec *spec =
        intake_spec(&intake, "{\"id\":\"" ID "\",\"type\":\"a\",\"args\":[]}");
    assert_non_null(spec->id);
    pawl_job_id_text(*spec->id, text);
    assert_string_equal(text, ID);
    assert_span(spec->extra, "");
    intake_release(&intake);
}

/* ---- the rest ---- */

static void priorities_have_names_too(void **state)
{
    static const struct {
        const char *text;
        int32_t priority;
    } cases[] = { { "\"HIGH\"", 10 }, { "\"NORMAL\"", 0 }, { "\"LOW\"", -10 },
                  { "100", 100 },     { "-100", -100 },    { "1e1", 10 } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"priority\":%s}", cases[i].text);
        assert_int_equal(intake_spec(&intake, text)->priority, cases[i].priority);
        intake_release(&intake);
    }
}

static void tags_are_kept_where_cleaning_would_change_them(void **state)
{
    static const struct {
        const char *tags;
        bool kept;
    } cases[] = {
        { "[\"a\",\"b c\"]", false }, { "[\"A\"]", true },        { "[\" a\"]", true },
        { "[\"a \"]", true },         { "[\"a\",\"a\"]", true },  { "[]", true },
        { "[\"\xc3\xa9\"]", false },  { "[\"\\u0061\"]", false },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[128], extra[64] = "";
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"tags\":%s}", cases[i].tags);
        if (cases[i].kept) snprintf(extra, sizeof extra, "{\"tags\":%s}", cases[i].tags);
        assert_span(intake_spec(&intake, text)->extra, extra);
        intake_release(&intake);
    }
}

static void versions_keep_their_type(void **state)
{
    static const char *const versions[] = { "2", "2.0", "\"2.0\"" };
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct intake intake;
        char text[128], extra[64];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"version\":%s}", versions[i]);
        snprintf(extra, sizeof extra, "{\"version\":%s}", versions[i]);
        assert_span(intake_spec(&intake, text)->extra, extra);
        intake_release(&intake);
    }
}

static void hooks_of_tests_work_in_test_mode_alone(void **state)
{
    static const char job[] = "{\"type\":\"a\",\"args\":[],\"meta\":{\"ojs_validate\":true}}";
    static const char worker[] = "{\"type\":\"a\",\"args\":[],\"options\":{\"metadata\":"
                                 "{\"test_directive\":\"quiet\"}}}";
    for (int test_mode = 0; test_mode < 2; test_mode++) {
        struct pawl__envelope_rules rules = { .test_mode = test_mode };
        struct intake intake;
        intake_read_by(&intake, job, &rules);
        assert_int_equal(intake.ok, !test_mode);
        if (test_mode) assert_int_equal(pawl__fault_status(intake.fault.kind), 422);
        intake_release(&intake);
        intake_read_by(&intake, worker, &rules);
        assert_true(intake.ok);
        assert_span(intake.envelope.spec.extra, "{\"metadata\":{\"test_directive\":\"quiet\"}}");
        if (test_mode) {
            assert_string_equal(intake.envelope.test_directive, "quiet");
        } else {
            assert_null(intake.envelope.test_directive);
        }
        intake_release(&intake);
    }
}

static void a_job_within_a_batch_is_read_where_it_stands(void **state)
{
    static const char text[] = "{\"jobs\":[{\"type\":\"a\",\"args\":[1]},"
                               "{\"type\":\"b\",\"args\":[2],\"x\":3}]}";
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__envelope envelope;
    struct pawl__fault fault;
    struct pawl__envelope_rules rules = { 0 };
    struct pawl_span span = { text, strlen(text) };
    assert_int_equal(pawl__json_parse(span, 32, &arena, &json, NULL), PAWL_OK);
    uint32_t first = pawl__json_first(pawl__json_member(&json, 0, "jobs"));
    uint32_t second = json.tokens[first].next;
    assert_true(pawl__envelope_read(&json, second, &rules, &arena, &envelope, &fault));
    assert_string_equal(envelope.spec.type, "b");
    assert_span(envelope.spec.args, "[2]");
    assert_span(envelope.spec.extra, "{\"x\":3}");
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_the_list_is_found),
        cmocka_unit_test(a_plain_job_leaves_nothing_to_keep),
        cmocka_unit_test(both_layouts_mean_the_same),
        cmocka_unit_test(options_win_over_the_top),
        cmocka_unit_test(names_that_belong_at_the_top_mean_nothing_in_options),
        cmocka_unit_test(null_is_as_good_as_nothing),
        cmocka_unit_test(members_of_the_server_are_ignored),
        cmocka_unit_test(unknown_members_are_kept_as_they_stand),
        cmocka_unit_test(of_unknown_members_in_both_places_the_options_win),
        cmocka_unit_test(names_are_known_however_they_are_escaped),
        cmocka_unit_test(the_last_of_repeated_members_wins),
        cmocka_unit_test(what_breaks_a_rule_is_refused_by_name),
        cmocka_unit_test(types_queues_and_ids_follow_their_patterns),
        cmocka_unit_test(an_id_is_taken_over),
        cmocka_unit_test(priorities_have_names_too),
        cmocka_unit_test(tags_are_kept_where_cleaning_would_change_them),
        cmocka_unit_test(versions_keep_their_type),
        cmocka_unit_test(hooks_of_tests_work_in_test_mode_alone),
        cmocka_unit_test(a_job_within_a_batch_is_read_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
