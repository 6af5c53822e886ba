#include "support/rig.h"

struct pawl_span span_of(const char *text)
{
    return (struct pawl_span){ .at = text, .len = text == NULL ? 0 : strlen(text) };
}

bool same_id(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

void expect_err_at(struct rig *rig, enum pawl_err expected, enum pawl_err actual, const char *what,
                   const char *file, int line)
{
    if (actual == expected) return;
    print_error("%s: expected %s, got %s: %s\n", what, pawl_err_name(expected),
                pawl_err_name(actual), actual == PAWL_OK ? "" : rig->diag.text);
    _fail(file, line);
}

void expect_state_at(enum pawl_state expected, enum pawl_state actual, const char *what,
                     const char *file, int line)
{
    if (actual == expected) return;
    print_error("%s: expected %s, got %s\n", what, pawl_state_name(expected, PAWL_VOCABULARY_PAWL),
                pawl_state_name(actual, PAWL_VOCABULARY_PAWL));
    _fail(file, line);
}

void expect_i64_at(int64_t expected, int64_t actual, const char *what, const char *file, int line)
{
    if (actual == expected) return;
    print_error("%s: expected %lld, got %lld\n", what, (long long)expected, (long long)actual);
    _fail(file, line);
}

void expect_id_at(struct pawl_job_id expected, struct pawl_job_id actual, const char *what,
                  const char *file, int line)
{
    if (same_id(expected, actual)) return;
    char wanted[PAWL_JOB_ID_TEXT_BYTES], got[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(expected, wanted);
    pawl_job_id_text(actual, got);
    print_error("%s: expected %s, got %s\n", what, wanted, got);
    _fail(file, line);
}

/* Where two texts part, with a little of what follows. */
static void show_difference(const char *what, struct pawl_span expected, struct pawl_span actual)
{
    size_t at = 0;
    while (at < expected.len && at < actual.len && expected.at[at] == actual.at[at])
        at++;
    size_t from = at < 60 ? 0 : at - 60;
    print_error("%s: differ at byte %zu of %zu and %zu\n  expected ...%.*s\n  got      ...%.*s\n",
                what, at, expected.len, actual.len,
                (int)(expected.len - from < 160 ? expected.len - from : 160), expected.at + from,
                (int)(actual.len - from < 160 ? actual.len - from : 160), actual.at + from);
}

void expect_span_at(struct pawl_span expected, struct pawl_span actual, const char *what,
                    const char *file, int line)
{
    if (expected.len == actual.len &&
        (expected.len == 0 || memcmp(expected.at, actual.at, expected.len) == 0))
        return;
    show_difference(what, expected, actual);
    _fail(file, line);
}

void expect_text_at(const char *expected, const char *actual, const char *what, const char *file,
                    int line)
{
    if (actual == NULL) {
        print_error("%s: expected \"%s\", got NULL\n", what, expected);
        _fail(file, line);
    }
    if (strcmp(expected, actual) == 0) return;
    show_difference(what, span_of(expected), span_of(actual));
    _fail(file, line);
}

void expect_within_at(const char *needle, const char *text, const char *file, int line)
{
    if (strstr(text, needle) != NULL) return;
    print_error("\"%s\" does not contain \"%s\"\n", text, needle);
    _fail(file, line);
}
