/* Envelopes: what is found in meta, or added to it. */
#include "http/ojs/envelope_test_kit.h"

static void assert_meta(const char *given, const struct pawl__envelope_rules *rules,
                        const char *expected)
{
    struct intake intake;
    char text[512];
    snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[]%s%s}", given ? ",\"meta\":" : "",
             given ? given : "");
    intake_read_by(&intake, text, rules);
    if (!intake.ok) fail_msg("%s: %s", text, intake.fault.message);
    assert_span(intake.envelope.spec.meta, expected);
    intake_release(&intake);
}

static void the_header_adds_the_tenant_to_meta(void **state)
{
    static const struct pawl__envelope_rules none, tenant = { .tenant = "acme" };
    assert_meta(NULL, &none, "");
    assert_meta("{ \"a.b\" : 1.50 }", &none, "{ \"a.b\" : 1.50 }");
    assert_meta(NULL, &tenant, "{\"tenant_id\":\"acme\"}");
    assert_meta("{ }", &tenant, "{\"tenant_id\":\"acme\"}");
    assert_meta("{ \"x\":1 }", &tenant, "{\"tenant_id\":\"acme\", \"x\":1 }");
    assert_meta("{\"tenant_id\":\"\\u0061cme\"}", &tenant, "{\"tenant_id\":\"\\u0061cme\"}");
}

static void a_tenant_that_contradicts_the_header_is_refused(void **state)
{
    static const struct {
        const char *tenant, *meta, *field;
    } cases[] = {
        { "acme", "{\"tenant_id\":\"other\"}", "meta.tenant_id" },
        { "acme", "{\"tenant_id\":1}", "meta.tenant_id" },
        { "acme", "{\"tenant_id\":null}", "meta.tenant_id" },
        { "", "{}", "X-OJS-Tenant" },
        { "-a", "{}", "X-OJS-Tenant" },
        { "a b", "{}", "X-OJS-Tenant" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__envelope_rules rules = { .tenant = cases[i].tenant };
        struct intake intake;
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"meta\":%s}", cases[i].meta);
        intake_read_by(&intake, text, &rules);
        assert_false(intake.ok);
        assert_int_equal(intake.fault.kind, PAWL__FAULT_INVALID_REQUEST);
        assert_string_equal(intake.fault.field, cases[i].field);
        intake_release(&intake);
    }
}

static void meta_beyond_its_limit_is_too_large(void **state)
{
    struct pawl__buf buf = { 0 };
    for (int more = 0; more < 2; more++) {
        struct intake intake;
        pawl__buf_clear(&buf);
        pawl__buf_add_text(&buf, "{\"type\":\"a\",\"args\":[],\"meta\":{\"x\":\"");
        for (int i = 0; i < PAWL_META_BYTES_MAX - 8 + more; i++) {
            pawl__buf_add(&buf, "x", 1);
        }
        pawl__buf_add_text(&buf, "\"}}");
        intake_read(&intake, buf.at);
        assert_int_equal(intake.ok, !more);
        if (more) assert_int_equal(intake.fault.kind, PAWL__FAULT_TOO_LARGE);
        intake_release(&intake);
    }
    pawl__buf_release(&buf);
}

static void traces_are_found_in_meta(void **state)
{
    static const struct {
        const char *meta, *trace_id;
    } cases[] = {
        { "{\"trace_id\":\"4bf92f\"}", "4bf92f" },
        { "{\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}",
          "4bf92f3577b34da6a3ce929d0e0e4736" },
        { "{\"traceparent\":\"00-4bf92f\"}", NULL },
        { "{\"trace_id\":\"a b\"}", NULL },
        { "{\"trace_id\":\"\"}", NULL },
        { "{\"trace_id\":7}", NULL },
        { "{}", NULL },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],\"meta\":%s}", cases[i].meta);
        const struct pawl_job_spec *spec = intake_spec(&intake, text);
        if (cases[i].trace_id) {
            assert_non_null(spec->trace_id);
            assert_string_equal(spec->trace_id, cases[i].trace_id);
        } else {
            assert_null(spec->trace_id);
        }
        intake_release(&intake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_adds_the_tenant_to_meta),
        cmocka_unit_test(a_tenant_that_contradicts_the_header_is_refused),
        cmocka_unit_test(meta_beyond_its_limit_is_too_large),
        cmocka_unit_test(traces_are_found_in_meta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
