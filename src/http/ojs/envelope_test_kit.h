/* An envelope for tests: parsed as request bodies are, from a text of exactly its length, so that a
 * step beyond its end is a sanitizer's report. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_TEST_KIT_H
#define PAWL_HTTP_OJS_ENVELOPE_TEST_KIT_H

#include "http/ojs/envelope.h"

#include "base/test_kit.h"

#define NOW_MS INT64_C(1790000000000) /* 2026-09-21T14:13:20Z */

struct intake {
    struct pawl__arena arena;
    struct pawl__json json;
    struct pawl__envelope envelope;
    struct pawl__fault fault;
    char *text;
    bool ok;
};

static inline void intake_read_by(struct intake *intake, const char *text,
                                  const struct pawl__envelope_rules *rules)
{
    size_t len = strlen(text);
    *intake = (struct intake){ 0 };
    intake->text = malloc(len > 0 ? len : 1);
    assert_non_null(intake->text);
    memcpy(intake->text, text, len);
    struct pawl_diag diag;
    enum pawl_err err = pawl__json_parse_by((struct pawl_span){ intake->text, len },
                                            &PAWL__BODY_JSON_RULES, &intake->arena, &intake->json,
                                            &diag);
    if (err) fail_msg("%s: %s", text, diag.text);
    intake->ok = pawl__envelope_read(&intake->json, 0, rules, &intake->arena, &intake->envelope,
                                     &intake->fault);
}

static inline void intake_read(struct intake *intake, const char *text)
{
    struct pawl__envelope_rules rules = { .now_ms = NOW_MS, .timeout_ms = PAWL__OJS_TIMEOUT_MS };
    intake_read_by(intake, text, &rules);
}

/* Must be accepted. */
static inline const struct pawl_job_spec *intake_spec(struct intake *intake, const char *text)
{
    intake_read(intake, text);
    if (!intake->ok) fail_msg("%s: %s", text, intake->fault.message);
    return &intake->envelope.spec;
}

static inline void intake_release(struct intake *intake)
{
    pawl__arena_release(&intake->arena);
    free(intake->text);
}

static inline void assert_span(struct pawl_span span, const char *text)
{
    if (span.len != strlen(text) || (span.len && memcmp(span.at, text, span.len) != 0)) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)span.len, span.at ? span.at : "", text);
    }
}

struct refusal {
    const char *text;
    enum pawl__fault_kind kind;
    const char *field;
};

static inline void assert_refused(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct intake intake;
        intake_read(&intake, refusals[i].text);
        if (intake.ok) fail_msg("%s was accepted", refusals[i].text);
        if (intake.fault.kind != refusals[i].kind) {
            fail_msg("%s: kind %d", refusals[i].text, (int)intake.fault.kind);
        }
        assert_string_equal(intake.fault.field, refusals[i].field);
        if (!strstr(intake.fault.message, refusals[i].field)) {
            fail_msg("\"%s\" does not name \"%s\"", intake.fault.message, refusals[i].field);
        }
        intake_release(&intake);
    }
}

#endif
