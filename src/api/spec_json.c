/* A spec from JSON, with the names of struct pawl_job_spec's fields, for callers without C structs.
 * An unknown member is refused, since it would be ignored silently. Null means that the member is
 * absent. */
#include "api/api.h"
#include "base/diag.h"
#include "base/shape.h"
#include "fields/fields.h"

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

/* The members of a spec. `type` and `args` are passed separately. */
#define AS(kind, member, ...)                                                                      \
    PAWL__MEMBER(#member, kind, struct pawl_job_spec, member, __VA_ARGS__),
#define OF_ID_AT(member) AS(ID_AT, member)
#define OF_TYPE(member)
#define OF_QUEUE(member) AS(TEXT, member)
#define OF_ARGS(member)
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

#define X(member, kind, ...) OF_##kind(member)
static const struct pawl__member spec_members[] = { PAWL__SPEC_FIELDS(X) };
#undef X
static const struct pawl__shape spec_shape = PAWL__SHAPE(struct pawl_job_spec, spec_members);

static enum pawl_err refuse_unknown(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const char *name)
{
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, name, "there is no option \"%.64s\"", name);
}

enum pawl_err pawl__spec_parse(struct pawl_span text, struct pawl__arena *arena,
                               struct pawl_job_spec *out, struct pawl_diag *diag)
{
    struct pawl__shape_reader reader = {
        .arena = arena,
        .diag = diag,
        .root = "the options must be a JSON object",
        .unknown = PAWL__UNKNOWN_REFUSE,
        .on_unknown = refuse_unknown,
        .null_is_absent = true,
        .bits_are_bools = true, // SQLite has no booleans: its JSON functions write 0 and 1
        .plain_names = true,
    };
    return pawl__shape_read_text(&reader, text, PAWL_JSON_DEPTH_MAX + 1, &spec_shape, out);
}
