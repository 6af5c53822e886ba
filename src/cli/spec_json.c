/* Reads a spec from a line of JSON.
 *
 * Members are the fields in src/fields, also under the names of OJS and other synonyms. Null means
 * not given. Members that the store sets (state, attempt, ...) are ignored, as OJS requires.
 * Unknown members are stored with the job and reported; in "retry" and "unique" they are refused,
 * since a misspelt name there changes the behaviour. */
#include "cli/cli.h"
#include "base/diag.h"
#include "fields/fields.h"

/* The ctx of the reader. */
struct line {
    struct pawl__cli *cli;
    const struct pawl__cli_line *line;
    struct pawl_job_spec *spec;
    bool due_given; /* in the line, so it replaces the default */
    bool expires_given;
    bool unique_given;
};

#define FN(name)                                                                                   \
    static enum pawl_err name(struct pawl__shape_reader *reader,                                   \
                              const struct pawl__member *member, uint32_t token, void *base)

/* ---- retry ---- */

static const struct pawl__words backoffs = { .at = pawl__backoff_texts,
                                             .count = PAWL_BACKOFF_END,
                                             .any_case = true,
                                             .other = "none", // OJS's word for it
                                             .other_is = PAWL_BACKOFF_CONSTANT };

/* 0 and 1 both mean a single run (OJS); our 0 would be the default. */
FN(read_attempts)
{
    struct pawl__member number = { .name = member->name,
                                   .kind = PAWL__AS_INT32,
                                   .offset = member->offset };
    int32_t *attempts_max = (int32_t *)((char *)base + member->offset);
    enum pawl_err err = pawl__shape_value(reader, &number, token, base);
    if (!err && *attempts_max == 0) *attempts_max = 1;
    return err;
}

/* The names of src/fields, as "pawl list" prints them, after the names of OJS and the members that
 * are read differently. A 0 would mean the default to the library, so it is refused. */
#define S struct pawl_retry
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define SOME(text, kind, member) AS(text, kind, member, .flags = PAWL__NOT_ZERO)
#define RETRY_I32(text, member) SOME(text, INT32, member)
#define RETRY_I64(text, member) SOME(text, INT64, member)
#define RETRY_REAL(text, member) SOME(text, REAL, member)
#define RETRY_BACKOFF(text, member) AS(text, WORD, member, .words = &backoffs)
#define RETRY_JITTER(text, member) AS(text, SWITCH, member)
#define RETRY_TEXTS(text, member) AS(text, TEXTS, member, PAWL__COUNTED(S, member##_count))
#define RETRY_EXHAUSTION(text, member) AS(text, WORD, member, .words = &pawl__exhaustion_words)
#define X(member, kind, ...) RETRY_##kind(#member, member),
static const struct pawl__member retry_members[] = {
    AS("max_attempts", OWN, attempts_max, .read = read_attempts),
    AS("attempts_max", OWN, attempts_max, .read = read_attempts),
    AS("jitter_low", REAL, jitter_low),
    SOME("initial_interval", DURATION, initial_ms),
    SOME("initial_interval_ms", INT64, initial_ms),
    SOME("backoff_coefficient", REAL, coefficient),
    SOME("max_interval", DURATION, cap_ms),
    SOME("max_interval_ms", INT64, cap_ms),
    RETRY_BACKOFF("backoff_strategy", backoff),
    RETRY_TEXTS("non_retryable_errors", non_retryable),
    PAWL__RETRY_FIELDS(X)
};
#undef X
static const struct pawl__shape retry_shape = PAWL__SHAPE(S, retry_members);
#undef S

/* ---- unique ---- */

static const struct pawl__words conflicts = { .at = pawl__conflict_texts,
                                              .count = PAWL_CONFLICT_END,
                                              .any_case = true };
static const struct pawl__words dimensions = { .at = pawl__unique_texts,
                                               .count = PAWL__UNIQUE_TEXTS,
                                               .any_case = true };

FN(read_states)
{
    const struct line *line = reader->ctx;
    struct pawl_unique *unique = base;
    struct pawl__texts names;
    const struct pawl__member list = { .name = member->name,
                                       .kind = PAWL__AS_TEXTS,
                                       PAWL__COUNTED(struct pawl__texts, count) };
    enum pawl_err err = pawl__shape_value(reader, &list, token, &names);
    if (err) return err;
    unique->states = 0;
    for (size_t i = 0; i < names.count; i++) {
        uint32_t mask = pawl_state_mask(names.at[i], line->cli->vocabulary);
        if (!mask) mask = pawl_state_mask(names.at[i], PAWL_VOCABULARY_PAWL); // as they are kept
        if (!mask) return pawl__shape_refuse(reader, member, "must be names of states");
        unique->states |= mask;
    }
    return PAWL_OK;
}

#define S struct pawl_unique
static const struct pawl__member unique_members[] = {
    AS("keys", SET, keys, .words = &dimensions),
    AS("args_keys", TEXTS, args_keys, PAWL__COUNTED(S, args_key_count)),
    AS("meta_keys", TEXTS, meta_keys, PAWL__COUNTED(S, meta_key_count)),
    SOME("period", DURATION, period_ms),
    SOME("period_ms", INT64, period_ms),
    AS("states", OWN, states, .read = read_states),
    AS("on_conflict", WORD, on_conflict, .words = &conflicts),
};
static const struct pawl__shape unique_shape = PAWL__SHAPE(S, unique_members);
#undef S

FN(note_unique)
{
    struct line *line = reader->ctx;
    line->unique_given = true;
    return PAWL_OK;
}

static void finish_unique(struct pawl_unique *unique)
{
    if (!unique->keys) unique->keys = PAWL_UNIQUE_TYPE; // as OJS has it
    if (unique->args_key_count) unique->keys |= PAWL_UNIQUE_ARGS;
    if (unique->meta_key_count) unique->keys |= PAWL_UNIQUE_META;
}

/* ---- the job ---- */

/* A time in the line replaces the default, even if that is another member. */
FN(clear_due)
{
    struct line *line = reader->ctx;
    if (!line->due_given) line->spec->delay_ms = line->spec->due_at_ms = 0;
    line->due_given = true;
    return PAWL_OK;
}

FN(clear_expires)
{
    struct line *line = reader->ctx;
    if (!line->expires_given) line->spec->expires_in_ms = line->spec->expires_at_ms = 0;
    line->expires_given = true;
    return PAWL_OK;
}

FN(read_options);
FN(read_extra);
FN(read_follow);

/* The names of src/fields come last, as for "retry". */
#define S struct pawl_job_spec
#define DUE(text, kind, member) AS(text, kind, member, .read = clear_due)
#define EXPIRES(text, kind, member) AS(text, kind, member, .read = clear_expires)
#define SPEC_ID_AT(text, member) AS(text, ID_AT, member)
#define SPEC_TYPE(text, member) AS(text, TEXT, member)
#define SPEC_QUEUE(text, member) AS(text, TEXT, member)
#define SPEC_KEY(text, member) AS(text, TEXT, member)
#define SPEC_NOTE(text, member) AS(text, TEXT, member)
#define SPEC_ARGS(text, member) AS(text, ARRAY, member)
#define SPEC_META(text, member) AS(text, OBJECT, member)
#define SPEC_TAGS(text, member) AS(text, TEXTS, member, PAWL__COUNTED(S, tag_count))
#define SPEC_I32(text, member) AS(text, INT32, member)
#define SPEC_MS(text, member) AS(text, INT64, member)
#define SPEC_LEASE(text, member) AS(text, INT64, member)
#define SPEC_AT(text, member) AS(text, INSTANT, member)
#define SPEC_BOOL(text, member) AS(text, BOOL, member)
#define SPEC_RETRY(text, member) AS(text, ONE, member, .shape = &retry_shape)
#define SPEC_FOLLOW(text, member) AS(text, OWN, member, .read = read_follow)
#define SPEC_UNIQUE(text, member) AS(text, ONE, member, .shape = &unique_shape, .read = note_unique)
#define OURS(member, kind, name, ...) SPEC_##kind(name, member),
#define DECIDED(member, column, kind, origin, name, ...) PAWL__WHOLE(name, NOTHING),
static const struct pawl__member job_members[] = {
    DUE("delay", DURATION, delay_ms), DUE("delay_ms", INT64, delay_ms),
    DUE("at", INSTANT, due_at_ms), DUE("scheduled_at", INSTANT, due_at_ms),
    DUE("delay_until", INSTANT, due_at_ms), DUE("due_at", INSTANT, due_at_ms),
    EXPIRES("expires_at", INSTANT, expires_at_ms), EXPIRES("expires_in", DURATION, expires_in_ms),
    EXPIRES("expires_in_ms", INT64, expires_in_ms), AS("extra", OWN, extra, .read = read_extra),
    DUE("due_at_ms", INT64, due_at_ms), EXPIRES("expires_at_ms", INT64, expires_at_ms),
    AS("sla_soft_at_ms", INT64, sla_soft_at_ms), AS("sla_hard_at_ms", INT64, sla_hard_at_ms),
    AS("timeout", SECONDS, timeout_ms), AS("lease", DURATION, lease_ms),
    AS("visibility_timeout", SECONDS, lease_ms), AS("visibility_timeout_ms", INT64, lease_ms),
    AS("keep", DURATION, keep_ms),
    AS("max_attempts", OWN, retry.attempts_max, .read = read_attempts),
    AS("idempotency_ttl", DURATION, idempotency_ms),
    PAWL__WHOLE("options", OWN, .read = read_options),
    // Set by the store.
    PAWL__WHOLE("created_at", NOTHING), PAWL__WHOLE("archived", NOTHING),
    PAWL__WHOLE("specversion", NOTHING), PAWL__WHOLE("enqueued_at", NOTHING),
    PAWL__WHOLE("completed_at", NOTHING), PAWL__WHOLE("cancelled_at", NOTHING),
    PAWL__WHOLE("discarded_at", NOTHING), PAWL__WHOLE("error", NOTHING),
    PAWL__WHOLE("errors", NOTHING), PAWL__JOB_STAND(DECIDED) PAWL__SPEC_FIELDS(OURS)
};
static const struct pawl__shape job_shape = PAWL__SHAPE(S, job_members);
static const struct pawl__shape no_shape = { .bytes = sizeof(S) };
#undef S

static enum pawl_err read_again(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, const struct pawl__shape *shape,
                                uint32_t token, void *base)
{
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object");
    }
    return pawl__shape_read(reader, shape, token, base);
}

/* OJS's requests have some members in there. The JSON reader limits the depth. */
FN(read_options)
{
    return read_again(reader, member, &job_shape, token, base);
}

/* Unknown members of an earlier job, as `pawl list` prints them. */
FN(read_extra)
{
    return read_again(reader, member, &no_shape, token, base);
}

/* A job of its own; a string is its type. */
FN(read_follow)
{
    struct line *around = reader->ctx;
    struct pawl_job_spec *spec = pawl__arena_calloc(reader->arena, 1, sizeof *spec);
    struct line line = { .cli = around->cli, .line = around->line, .spec = spec };
    if (!spec) return pawl__fail_nomem(reader->diag);
    *(const struct pawl_job_spec **)(void *)((char *)base + member->offset) = spec;
    if (reader->json.tokens[token].type == PAWL__JSON_STRING) {
        const struct pawl__member type = { .name = member->name,
                                           .kind = PAWL__AS_TEXT,
                                           .offset = offsetof(struct pawl_job_spec, type) };
        return pawl__shape_value(reader, &type, token, spec);
    }
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object, or the type of a job");
    }
    reader->ctx = &line;
    enum pawl_err err = pawl__shape_read(reader, &job_shape, token, spec);
    reader->ctx = around;
    if (line.unique_given) finish_unique(&spec->unique);
    if (!err && !spec->type) return pawl__shape_refuse(reader, member, "must have a \"type\"");
    return err;
}

/* Names of extensions are unknown by design. */
static bool is_extension(const char *name)
{
    return strncmp(name, "x_", 2) == 0 || strncmp(name, "x-", 2) == 0 ||
           strncmp(name, "ext_", 4) == 0 || strncmp(name, "ext-", 4) == 0;
}

static enum pawl_err report_unknown(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const char *name)
{
    const struct line *line = reader->ctx;
    if (shape == &no_shape || is_extension(name)) return PAWL_OK;
    return line->line->unknown(line->line->ctx, name, pawl__shape_nearest(shape, name),
                               reader->diag);
}

enum pawl_err pawl__cli_spec_json(struct pawl__cli *cli, const struct pawl__cli_line *line,
                                  struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    struct line read = { .cli = cli, .line = line, .spec = spec };
    struct pawl__shape_reader reader = {
        .arena = line->arena,
        .diag = diag,
        .root = "a job must be an object, such as {\"type\": \"t\"}",
        .unknown = PAWL__UNKNOWN_KEEP,
        .on_unknown = report_unknown,
        .ctx = &read,
        .null_is_absent = true,
        .now_ms = cli->now_ms,
    };
    // One level more than a payload may have: the job around it.
    enum pawl_err err =
        pawl__shape_read_text(&reader, line->text, PAWL_JSON_DEPTH_MAX + 1, &job_shape, spec);
    enum pawl_err kept = pawl__shape_kept(&reader, err ? NULL : &spec->extra);
    if (read.unique_given) finish_unique(&spec->unique);
    if (!err && !kept && !spec->type) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "type", "the job has no \"type\"");
    }
    return err ? err : kept;
}
