/* A spec from JSON, with the names of struct pawl_job_spec's fields, for callers without C structs.
 * An unknown member is refused, since it would be ignored silently. Null means that the member is
 * absent. */
#include "store/store.h"

#include "base/diag.h"
#include "base/shape.h"
#include "fields/fields.h"

#include <string.h>

/* Policies are read and checked as those that are stored. */
static enum pawl_err read_retry(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, void *base)
{
    struct pawl_job_spec *spec = base;
    struct pawl_span text = pawl__json_span(&reader->json, token);
    return pawl__retry_parse(text, reader->arena, &spec->retry, reader->diag);
}

static enum pawl_err read_unique(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base)
{
    struct pawl_job_spec *spec = base;
    struct pawl_span text = pawl__json_span(&reader->json, token);
    return pawl__unique_parse(text, reader->arena, &spec->unique, reader->diag);
}

static enum pawl_err read_follow(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base);

#define AS(kind, member, ...)                                                                      \
    PAWL__MEMBER(#member, kind, struct pawl_job_spec, member, __VA_ARGS__),
#define OF_ID_AT(member) AS(ID_AT, member)
#define OF_TYPE(member) NAMED(member)
#define OF_QUEUE(member) AS(TEXT, member)
#define OF_ARGS(member) VALUE(member)
#define OF_META(member) AS(JSON, member)
#define OF_TAGS(member) AS(TEXTS, member, PAWL__COUNTED(struct pawl_job_spec, tag_count))
#define OF_I32(member) AS(INT32, member)
#define OF_MS(member) AS(INT64, member)
#define OF_LEASE(member) AS(INT64, member)
#define OF_AT(member) AS(INT64, member)
#define OF_RETRY(member) AS(OWN, member, .read = read_retry)
#define OF_KEY(member) AS(TEXT, member)
#define OF_NOTE(member) AS(TEXT, member)
#define OF_UNIQUE(member) AS(OWN, member, .read = read_unique)
#define OF_BOOL(member) AS(BOOL, member)
#define OF_FOLLOW(member) AS(OWN, member, .read = read_follow)
#define X(member, kind, ...) OF_##kind(member)

/* The options of a job, whose `type` and `args` are passed separately. */
#define NAMED(member)
#define VALUE(member)
static const struct pawl__member option_members[] = { PAWL__SPEC_FIELDS(X) };
static const struct pawl__shape option_shape = PAWL__SHAPE(struct pawl_job_spec, option_members);
#undef NAMED
#undef VALUE

/* A whole one: a follow-up. */
#define NAMED(member) AS(TEXT, member)
#define VALUE(member) AS(JSON, member)
static const struct pawl__member spec_members[] = { PAWL__SPEC_FIELDS(X) };
static const struct pawl__shape spec_shape = PAWL__SHAPE(struct pawl_job_spec, spec_members);
#undef NAMED
#undef VALUE
#undef X

static enum pawl_err read_follow(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base)
{
    struct pawl_job_spec *spec = pawl__arena_calloc(reader->arena, 1, sizeof *spec);
    if (!spec) return pawl__fail_nomem(reader->diag);
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object");
    }
    enum pawl_err err = pawl__shape_read(reader, &spec_shape, token, spec);
    *(const struct pawl_job_spec **)(void *)((char *)base + member->offset) = spec;
    return err;
}

static enum pawl_err refuse_unknown(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const char *name)
{
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, name, "there is no option \"%.64s\"", name);
}

static enum pawl_err parse(struct pawl_span text, const struct pawl__shape *shape, const char *root,
                           struct pawl__arena *arena, struct pawl_job_spec *out,
                           struct pawl_diag *diag)
{
    struct pawl__shape_reader reader = {
        .arena = arena,
        .diag = diag,
        .root = root,
        .unknown = PAWL__UNKNOWN_REFUSE,
        .on_unknown = refuse_unknown,
        .null_is_absent = true,
        .bits_are_bools = true, // SQLite has no booleans: its JSON functions write 0 and 1
        .plain_names = true,
    };
    return pawl__shape_read_text(&reader, text, PAWL_JSON_DEPTH_MAX + 1 + PAWL_FOLLOW_DEPTH_MAX,
                                 shape, out);
}

enum pawl_err pawl__spec_parse(struct pawl_span text, struct pawl__arena *arena,
                               struct pawl_job_spec *out, struct pawl_diag *diag)
{
    return parse(text, &option_shape, "the options must be a JSON object", arena, out, diag);
}

enum pawl_err pawl__follow_parse(struct pawl_span text, struct pawl__arena *arena,
                                 struct pawl_job_spec *out, struct pawl_diag *diag)
{
    *out = (struct pawl_job_spec){ .type = NULL };
    return parse(text, &spec_shape, "a follow-up must be a JSON object", arena, out, diag);
}

enum pawl_err pawl__follow_read(struct pawl_span text, struct pawl__arena *arena,
                                const struct pawl_job_spec **out, struct pawl_diag *diag)
{
    if (!text.len) return PAWL_OK;
    struct pawl_job_spec *spec = pawl__arena_calloc(arena, 1, sizeof *spec);
    if (!spec) return pawl__fail_nomem(diag);
    *out = spec;
    return pawl__follow_parse(text, arena, spec, diag);
}

/* ---- printing ---- */

/* What is not given is not printed; parts that `job` has as JSON are printed as they are. */
static void put(struct pawl__buf *out, const char *name)
{
    pawl__buf_add_text(out, out->at[out->len - 1] == '{' ? "" : ",");
    pawl__buf_add_json(out, name, strlen(name));
    pawl__buf_add_text(out, ":");
}

static void put_text(struct pawl__buf *out, const char *name, const char *value)
{
    if (!value || !*value) return;
    put(out, name);
    pawl__buf_add_json(out, value, strlen(value));
}

static void put_json(struct pawl__buf *out, const char *name, struct pawl_span value)
{
    if (!value.len) return;
    put(out, name);
    pawl__buf_add(out, value.at, value.len);
}

static void put_int(struct pawl__buf *out, const char *name, int64_t value)
{
    if (!value) return;
    put(out, name);
    pawl__buf_add_int(out, value);
}

#define PUT_TEXT(member) put_text(out, #member, spec->member);
#define PUT_JSON(member) put_json(out, #member, spec->member);
#define PUT_INT(member) put_int(out, #member, spec->member);
#define PUT_TEXTS(member) put_json(out, #member, job->member);
#define PUT_ID_AT(member)
#define PUT_TYPE(member) PUT_TEXT(member)
#define PUT_QUEUE(member) PUT_TEXT(member)
#define PUT_KEY(member) PUT_TEXT(member)
#define PUT_NOTE(member) PUT_TEXT(member)
#define PUT_ARGS(member) PUT_JSON(member)
#define PUT_META(member) PUT_JSON(member)
#define PUT_I32(member) PUT_INT(member)
#define PUT_MS(member) PUT_INT(member)
#define PUT_LEASE(member) PUT_INT(member)
#define PUT_AT(member) PUT_INT(member)
#define PUT_TAGS(member) PUT_TEXTS(member)
#define PUT_RETRY(member) PUT_TEXTS(member)
#define PUT_UNIQUE(member) PUT_TEXTS(member)
#define PUT_FOLLOW(member) PUT_TEXTS(member)
#define PUT_BOOL(member)                                                                           \
    if (spec->member) {                                                                            \
        put(out, #member);                                                                         \
        pawl__buf_add_text(out, "true");                                                           \
    }
#define X(member, kind, ...) PUT_##kind(member)

void pawl__follow_print(const struct pawl_job_spec *spec, const struct pawl__new_job *job,
                        struct pawl__buf *out)
{
    pawl__buf_add_text(out, "{");
    if (out->failed) return;
    PAWL__SPEC_FIELDS(X)
    pawl__buf_add_text(out, "}");
}
#undef X
