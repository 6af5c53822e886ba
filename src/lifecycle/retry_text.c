/* Retry policies as JSON and back, both from one list of members. What equals the default is left
 * out, so that the default costs a job no bytes and may be read in one glance.
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include "base/shape.h"
#include "fields/fields.h"

enum { DEPTH_MAX = 4 }; // an object, a list in it, its entries

/* Of the kinds in src/fields. The list non_retryable comes last, by hand. */
#define S struct pawl_retry
#define AS(kind, member, ...)                                                                      \
    PAWL__MEMBER(#member, kind, S, member, .flags = PAWL__ALWAYS, __VA_ARGS__),
#define OF_I32(member) AS(INT32, member)
#define OF_I64(member) AS(INT64, member)
#define OF_REAL(member) AS(REAL, member)
#define OF_BACKOFF(member) AS(WORD, member, .words = &pawl__backoff_words)
#define OF_JITTER(member) AS(SWITCH, member)
#define OF_EXHAUSTION(member) AS(WORD, member, .words = &pawl__exhaustion_words)
#define OF_TEXTS(member)
#define X(member, kind, ...) OF_##kind(member)
static const struct pawl__member retry_members[] = {
    PAWL__RETRY_FIELDS(X) PAWL__MEMBER("non_retryable", TEXTS, S, non_retryable,
                                       PAWL__COUNTED(S, non_retryable_count)),
};
#undef X
static const struct pawl__shape retry_shape = PAWL__SHAPE(S, retry_members);
#undef S

enum { MEMBERS = sizeof retry_members / sizeof *retry_members };

static bool is_usual(const struct pawl__member *member, const struct pawl_retry *retry,
                     const struct pawl_retry *plain)
{
    bool wide = member->kind == PAWL__AS_INT64 || member->kind == PAWL__AS_REAL;
    if (member->kind == PAWL__AS_TEXTS) return !retry->non_retryable_count;
    return memcmp((const char *)retry + member->offset, (const char *)plain + member->offset,
                  wide ? sizeof(int64_t) : sizeof(int32_t)) == 0;
}

void pawl__retry_print(const struct pawl_retry *retry, struct pawl__buf *out)
{
    struct pawl_retry resolved = *retry, plain = { 0 };
    struct pawl__member shown[MEMBERS];
    size_t count = 0;
    pawl__retry_resolve(&resolved);
    pawl__retry_resolve(&plain);
    for (size_t i = 0; i < MEMBERS; i++) {
        if (is_usual(&retry_members[i], &resolved, &plain)) continue;
        shown[count] = retry_members[i];
        shown[count++].at = &resolved;
    }
    if (count) pawl__members_print(&(struct pawl__shape_writer){ .out = out }, shown, count);
}

enum pawl_err pawl__retry_parse(struct pawl_span json, struct pawl__arena *arena,
                                struct pawl_retry *out, struct pawl_diag *diag)
{
    struct pawl__shape_reader reader = { .arena = arena,
                                         .diag = diag,
                                         .unknown = PAWL__UNKNOWN_REFUSE,
                                         .paths = true,
                                         .prefix = "retry" };
    struct pawl_retry retry = { 0 };
    enum pawl_err err = PAWL_OK;
    if (json.len > 0) err = pawl__shape_read_text(&reader, json, DEPTH_MAX, &retry_shape, &retry);
    if (err) return err;
    pawl__retry_resolve(&retry);
    err = pawl__retry_check(&retry, diag);
    if (!err) *out = retry;
    return err;
}
