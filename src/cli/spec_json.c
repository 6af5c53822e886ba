/* A line of JSON as a job to be.
 *
 * The members are lists: name, what the value is, where it goes. Our own are those of src/fields.
 * Null means not given. What the store itself decides (state, attempt, ...) is passed over, as OJS
 * asks; members of a job that are in no list are kept with it and reported, but inside of "retry"
 * and "unique", where a misspelt name would change what happens, they are refused. */
#include "cli/cli.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/time_text.h"
#include "fields/fields.h"

#include <assert.h>
#include <stddef.h>

enum what {
    TEXT,     /* const char * */
    NAMES,    /* const char *const *, and a size_t that counts */
    INT,      /* int32_t */
    NUMBER,   /* double */
    BOOL,     /* bool */
    MS,       /* int64_t */
    DURATION, /* int64_t, from a string */
    SECONDS,  /* int64_t, from a string, or from a number of seconds */
    INSTANT,  /* int64_t, from a string; "+PT5S" is from now */
    ARRAY,    /* struct pawl_span */
    OBJECT,   /* struct pawl_span */
    SPECIAL,  /* a function */
    IGNORED
};

struct reader {
    struct pawl__cli *cli;
    const struct pawl__cli_line *line;
    struct pawl__arena *arena;
    struct pawl__json json;
    struct pawl_diag *diag;
    struct pawl_job_spec *spec;
    struct pawl__buf extra; /* members that are in no list */
    bool due_said;          /* the line says when, whatever the default was */
    bool expires_said;
};

typedef enum pawl_err special_fn(struct reader *reader, const char *name, uint32_t token);

struct member {
    const char *name;
    enum what what;
    size_t at;        /* offset of the field */
    size_t count_at;  /* NAMES: offset of its count */
    special_fn *read; /* SPECIAL; else called before the field is set, may be NULL */
};

/* ---- values ---- */

static enum pawl_err must_be(struct reader *reader, const char *name, const char *form)
{
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, name, "\"%s\" must be %s", name, form);
}

static enum pawl_err read_text(struct reader *reader, const char *name, uint32_t token,
                               const char **out)
{
    size_t len;
    if (reader->json.tokens[token].type != PAWL__JSON_STRING) {
        return must_be(reader, name, "a string");
    }
    char *text = pawl__json_string(&reader->json, token, reader->arena, &len);
    if (!text) return pawl__fail_nomem(reader->diag);
    if (strlen(text) != len) return must_be(reader, name, "a string without NUL characters");
    *out = text;
    return PAWL_OK;
}

static enum pawl_err read_names(struct reader *reader, const char *name, uint32_t token,
                                const char *const **out, size_t *count)
{
    const struct pawl__json_token *array = &reader->json.tokens[token];
    if (array->type != PAWL__JSON_ARRAY) return must_be(reader, name, "an array of strings");
    const char **names = pawl__arena_calloc(reader->arena, array->count + 1, sizeof *names);
    if (!names) return pawl__fail_nomem(reader->diag);
    uint32_t child = pawl__json_first(token);
    for (uint32_t i = 0; i < array->count; i++, child = reader->json.tokens[child].next) {
        enum pawl_err err = read_text(reader, name, child, &names[i]);
        if (err) return err;
    }
    *out = names;
    *count = array->count;
    return PAWL_OK;
}

static enum pawl_err read_duration(struct reader *reader, const char *name, uint32_t token,
                                   int64_t *out)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err || !pawl__duration_parse(text, out)) return err;
    return must_be(reader, name, "a duration such as \"5s\" or \"PT5S\"");
}

static enum pawl_err read_seconds(struct reader *reader, const char *name, uint32_t token,
                                  int64_t *out)
{
    if (reader->json.tokens[token].type == PAWL__JSON_STRING) {
        return read_duration(reader, name, token, out);
    }
    int64_t seconds;
    if (!pawl__json_int(&reader->json, token, &seconds) || seconds < 0 ||
        seconds > INT64_MAX / 1000) {
        return must_be(reader, name, "a number of seconds or a duration such as \"5s\"");
    }
    *out = seconds * 1000;
    return PAWL_OK;
}

static enum pawl_err read_instant(struct reader *reader, const char *name, uint32_t token,
                                  int64_t *out)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err) return err;
    if (text[0] == '+' && !pawl__duration_parse(text + 1, out)) {
        *out += reader->cli->now_ms;
        return PAWL_OK;
    }
    if (!pawl__instant_parse(text, out)) return PAWL_OK;
    return must_be(reader, name, "an instant such as \"2030-01-31T08:00:00Z\"");
}

static enum pawl_err read_number(struct reader *reader, const char *name, uint32_t token,
                                 const struct member *member, void *field)
{
    int64_t whole = 0;
    if (member->what == NUMBER) {
        if (pawl__json_double(&reader->json, token, field)) return PAWL_OK;
        return must_be(reader, name, "a number");
    }
    if (!pawl__json_int(&reader->json, token, &whole)) {
        return must_be(reader, name, "a whole number");
    }
    if (member->what == MS) {
        *(int64_t *)field = whole;
        return PAWL_OK;
    }
    if (whole < INT32_MIN || whole > INT32_MAX) {
        return must_be(reader, name, "a smaller whole number");
    }
    *(int32_t *)field = (int32_t)whole;
    return PAWL_OK;
}

static enum pawl_err read_bool(struct reader *reader, const char *name, uint32_t token, bool *out)
{
    enum pawl__json_type type = reader->json.tokens[token].type;
    if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return must_be(reader, name, "true or false");
    }
    *out = type == PAWL__JSON_TRUE;
    return PAWL_OK;
}

static enum pawl_err read_span(struct reader *reader, const char *name, uint32_t token,
                               const struct member *member, struct pawl_span *out)
{
    bool array = member->what == ARRAY;
    if (reader->json.tokens[token].type != (array ? PAWL__JSON_ARRAY : PAWL__JSON_OBJECT)) {
        return must_be(reader, name, array ? "an array" : "an object");
    }
    *out = pawl__json_span(&reader->json, token);
    return PAWL_OK;
}

static enum pawl_err read_value(struct reader *reader, const struct member *member, void *base,
                                uint32_t token)
{
    const char *name = member->name;
    char *field = (char *)base + member->at;
    switch (member->what) {
    case TEXT:
        return read_text(reader, name, token, (const char **)field);
    case NAMES:
        return read_names(reader, name, token, (const char *const **)field,
                          (size_t *)((char *)base + member->count_at));
    case INT:
    case NUMBER:
    case MS:
        return read_number(reader, name, token, member, field);
    case BOOL:
        return read_bool(reader, name, token, (bool *)field);
    case DURATION:
        return read_duration(reader, name, token, (int64_t *)field);
    case SECONDS:
        return read_seconds(reader, name, token, (int64_t *)field);
    case INSTANT:
        return read_instant(reader, name, token, (int64_t *)field);
    case ARRAY:
    case OBJECT:
        return read_span(reader, name, token, member, (struct pawl_span *)field);
    case SPECIAL:
    case IGNORED:
        break;
    }
    return PAWL_OK;
}

/* ---- objects ---- */

struct shape {
    const struct member *members;
    size_t count;
    const char *inside; /* the member of a job that this is; NULL: the job itself */
};

static enum pawl_err keep_extra(struct reader *reader, uint32_t name_token, uint32_t value_token)
{
    struct pawl_span name = pawl__json_span(&reader->json, name_token);
    struct pawl_span value = pawl__json_span(&reader->json, value_token);
    pawl__buf_add_text(&reader->extra, reader->extra.len ? "," : "{");
    pawl__buf_add(&reader->extra, name.at, name.len);
    pawl__buf_add_text(&reader->extra, ":");
    pawl__buf_add(&reader->extra, value.at, value.len);
    return reader->extra.failed ? pawl__fail_nomem(reader->diag) : PAWL_OK;
}

/* Extensions by their names are expected to be unknown. */
static bool is_extension(const char *name)
{
    return strncmp(name, "x_", 2) == 0 || strncmp(name, "x-", 2) == 0 ||
           strncmp(name, "ext_", 4) == 0 || strncmp(name, "ext-", 4) == 0;
}

/* Refuses it inside of another member, reports it in the job itself. */
static enum pawl_err unknown_member(struct reader *reader, const struct shape *shape,
                                    const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    for (size_t i = 0; i < shape->count; i++) {
        if (shape->members[i].what != IGNORED)
            pawl__nearest_offer(&nearest, shape->members[i].name);
    }
    if (!shape->inside) {
        const struct pawl__cli_line *line = reader->line;
        return is_extension(name) ? PAWL_OK
                                  : line->unknown(line->ctx, name, nearest.best, reader->diag);
    }
    if (nearest.best) {
        return pawl__fail_field(reader->diag, PAWL_ERR_ARG, shape->inside,
                                "\"%s\" has no member \"%s\"; did you mean \"%s\"?", shape->inside,
                                name, nearest.best);
    }
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, shape->inside,
                            "\"%s\" has no member \"%s\"", shape->inside, name);
}

static enum pawl_err read_member(struct reader *reader, const struct shape *shape, void *base,
                                 uint32_t name_token, uint32_t value_token)
{
    const char *name = "";
    enum pawl_err err = read_text(reader, "name of a member", name_token, &name);
    if (err || reader->json.tokens[value_token].type == PAWL__JSON_NULL) return err;
    for (size_t i = 0; i < shape->count; i++) {
        const struct member *member = &shape->members[i];
        if (strcmp(member->name, name) != 0) continue;
        if (member->read) err = member->read(reader, name, value_token);
        return err ? err : read_value(reader, member, base, value_token);
    }
    if (shape->count) err = unknown_member(reader, shape, name); // "extra" has no list
    return err ? err : keep_extra(reader, name_token, value_token);
}

static enum pawl_err read_object(struct reader *reader, const struct shape *shape, void *base,
                                 const char *name, uint32_t token)
{
    const struct pawl__json_token *object = &reader->json.tokens[token];
    if (object->type != PAWL__JSON_OBJECT) return must_be(reader, name, "an object");
    uint32_t child = pawl__json_first(token);
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t value = reader->json.tokens[child].next;
        enum pawl_err err = read_member(reader, shape, base, child, value);
        if (err) return err;
        child = reader->json.tokens[value].next;
    }
    return PAWL_OK;
}

/* ---- retry ---- */

static enum pawl_err read_strategy(struct reader *reader, const char *name, uint32_t token)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err) return err;
    if (strcmp(text, "none") == 0) text = "constant"; // OJS's word for it
    reader->spec->retry.backoff = pawl__cli_backoff_of(text);
    if (reader->spec->retry.backoff) return PAWL_OK;
    return must_be(reader, name, "exponential, linear, polynomial, constant or immediate");
}

static enum pawl_err read_jitter(struct reader *reader, const char *name, uint32_t token)
{
    bool on = false;
    enum pawl_err err = read_bool(reader, name, token, &on);
    if (!err) reader->spec->retry.jitter = on ? PAWL_JITTER_ON : PAWL_JITTER_OFF;
    return err;
}

static enum pawl_err read_exhaustion(struct reader *reader, const char *name, uint32_t token)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err) return err;
    if (strcmp(text, "discard") != 0 && strcmp(text, "dead_letter") != 0) {
        return must_be(reader, name, "\"discard\" or \"dead_letter\"");
    }
    reader->spec->retry.on_exhaustion = text[1] == 'i' ? PAWL_EXHAUSTION_DISCARD
                                                       : PAWL_EXHAUSTION_DEAD_LETTER;
    return PAWL_OK;
}

/* 0 and 1 both mean a single run (OJS); our 0 would be the default. */
static enum pawl_err read_attempts(struct reader *reader, const char *name, uint32_t token)
{
    static const struct member number = { .name = "max_attempts", .what = INT };
    int32_t *attempts_max = &reader->spec->retry.attempts_max;
    enum pawl_err err = read_number(reader, name, token, &number, attempts_max);
    if (!err && *attempts_max == 0) *attempts_max = 1;
    return err;
}

/* Where our 0 would be the default, a 0 that is written down is a mistake. */
static enum pawl_err refuse_zero(struct reader *reader, const char *name, uint32_t token)
{
    double number = 1;
    if (reader->json.tokens[token].type == PAWL__JSON_STRING) {
        int64_t ms = 1;
        enum pawl_err err = read_duration(reader, name, token, &ms);
        if (err) return err;
        number = (double)ms;
    } else if (!pawl__json_double(&reader->json, token, &number)) {
        return PAWL_OK; // not a number at all, which is said elsewhere
    }
    return number == 0 ? must_be(reader, name, "above zero") : PAWL_OK;
}

/* Our own names by the list, as "pawl list" prints them. Above them what is read otherwise, for
 * the first that fits is taken, and the names of OJS. */
#define RETRY(field) offsetof(struct pawl_retry, field)
#define RETRY_I32(field) INT, RETRY(field), 0, refuse_zero
#define RETRY_I64(field) MS, RETRY(field), 0, refuse_zero
#define RETRY_REAL(field) NUMBER, RETRY(field), 0, refuse_zero
#define RETRY_BACKOFF(field) SPECIAL, 0, 0, read_strategy
#define RETRY_JITTER(field) SPECIAL, 0, 0, read_jitter
#define RETRY_TEXTS(field) NAMES, RETRY(field), RETRY(field##_count), NULL
#define RETRY_EXHAUSTION(field) SPECIAL, 0, 0, read_exhaustion
#define X(field, kind, ...) { #field, RETRY_##kind(field) },
static const struct member retry_members[] = {
    { "max_attempts", SPECIAL, 0, 0, read_attempts },
    { "attempts_max", SPECIAL, 0, 0, read_attempts },
    { "jitter_low", NUMBER, RETRY(jitter_low), 0, NULL },
    { "initial_interval", DURATION, RETRY(initial_ms), 0, refuse_zero },
    { "initial_interval_ms", RETRY_I64(initial_ms) },
    { "backoff_coefficient", RETRY_REAL(coefficient) },
    { "max_interval", DURATION, RETRY(cap_ms), 0, refuse_zero },
    { "max_interval_ms", RETRY_I64(cap_ms) },
    { "backoff_strategy", RETRY_BACKOFF(backoff) },
    { "non_retryable_errors", RETRY_TEXTS(non_retryable) },
    PAWL__RETRY_FIELDS(X)
};
#undef X

static enum pawl_err read_retry(struct reader *reader, const char *name, uint32_t token)
{
    static const struct shape shape = { retry_members,
                                        sizeof retry_members / sizeof retry_members[0], "retry" };
    return read_object(reader, &shape, &reader->spec->retry, name, token);
}

/* ---- unique ---- */

static enum pawl_err read_keys(struct reader *reader, const char *name, uint32_t token)
{
    static const uint32_t bits[] = { PAWL_UNIQUE_TYPE, PAWL_UNIQUE_QUEUE, PAWL_UNIQUE_ARGS,
                                     PAWL_UNIQUE_META };
    const char *const *choices = pawl__cli_kind_choices(PAWL__CLI_KIND_UNIQUE);
    const char *const *names;
    size_t count;
    enum pawl_err err = read_names(reader, name, token, &names, &count);
    if (err) return err;
    reader->spec->unique.keys = 0;
    for (size_t i = 0; i < count; i++) {
        int which = pawl__cli_read_choice(choices, names[i], strlen(names[i]));
        if (which < 0) return must_be(reader, name, "some of type, queue, args and meta");
        reader->spec->unique.keys |= bits[which];
    }
    return PAWL_OK;
}

static enum pawl_err read_states(struct reader *reader, const char *name, uint32_t token)
{
    const char *const *names;
    size_t count;
    enum pawl_err err = read_names(reader, name, token, &names, &count);
    if (err) return err;
    reader->spec->unique.states = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = pawl_state_mask(names[i], reader->cli->vocabulary);
        if (!mask) mask = pawl_state_mask(names[i], PAWL_VOCABULARY_PAWL); // as they are kept
        if (!mask) return must_be(reader, name, "names of states");
        reader->spec->unique.states |= mask;
    }
    return PAWL_OK;
}

static enum pawl_err read_conflict(struct reader *reader, const char *name, uint32_t token)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err) return err;
    reader->spec->unique.on_conflict = pawl__cli_conflict_of(text);
    if (reader->spec->unique.on_conflict) return PAWL_OK;
    return must_be(reader, name, "reject, replace, replace_except_schedule or ignore");
}

#define UNIQUE(field) offsetof(struct pawl_unique, field)
static const struct member unique_members[] = {
    { "keys", SPECIAL, 0, 0, read_keys },
    { "args_keys", NAMES, UNIQUE(args_keys), UNIQUE(args_key_count), NULL },
    { "meta_keys", NAMES, UNIQUE(meta_keys), UNIQUE(meta_key_count), NULL },
    { "period", DURATION, UNIQUE(period_ms), 0, refuse_zero },
    { "period_ms", MS, UNIQUE(period_ms), 0, refuse_zero },
    { "states", SPECIAL, 0, 0, read_states },
    { "on_conflict", SPECIAL, 0, 0, read_conflict },
};
#undef UNIQUE

static enum pawl_err read_unique(struct reader *reader, const char *name, uint32_t token)
{
    static const struct shape shape = { unique_members,
                                        sizeof unique_members / sizeof unique_members[0],
                                        "unique" };
    struct pawl_unique *unique = &reader->spec->unique;
    enum pawl_err err = read_object(reader, &shape, unique, name, token);
    if (!err && !unique->keys) unique->keys = PAWL_UNIQUE_TYPE; // as OJS has it
    if (!err && unique->args_key_count) unique->keys |= PAWL_UNIQUE_ARGS;
    if (!err && unique->meta_key_count) unique->keys |= PAWL_UNIQUE_META;
    return err;
}

/* ---- the job ---- */

/* A line that says when takes the place of a default, however either is spelt. */
static enum pawl_err clear_due(struct reader *reader, const char *name, uint32_t token)
{
    (void)name, (void)token;
    if (!reader->due_said) reader->spec->delay_ms = reader->spec->due_at_ms = 0;
    reader->due_said = true;
    return PAWL_OK;
}

static enum pawl_err clear_expires(struct reader *reader, const char *name, uint32_t token)
{
    (void)name, (void)token;
    if (!reader->expires_said) reader->spec->expires_in_ms = reader->spec->expires_at_ms = 0;
    reader->expires_said = true;
    return PAWL_OK;
}

static enum pawl_err read_id(struct reader *reader, const char *name, uint32_t token)
{
    const char *text = "";
    enum pawl_err err = read_text(reader, name, token, &text);
    if (err) return err;
    struct pawl_job_id *id = pawl__arena_alloc(reader->arena, sizeof *id);
    if (!id) return pawl__fail_nomem(reader->diag);
    if (pawl_job_id_parse(text, id)) return must_be(reader, name, "a UUID");
    reader->spec->id = id;
    return PAWL_OK;
}

static enum pawl_err read_options(struct reader *reader, const char *name, uint32_t token);
static enum pawl_err read_extra(struct reader *reader, const char *name, uint32_t token);

/* As for "retry": our own names by the list, under what takes their place. */
#define SPEC(field) offsetof(struct pawl_job_spec, field)
#define SPEC_ID_AT(field) SPECIAL, 0, 0, read_id
#define SPEC_TYPE(field) TEXT, SPEC(field), 0, NULL
#define SPEC_QUEUE(field) TEXT, SPEC(field), 0, NULL
#define SPEC_KEY(field) TEXT, SPEC(field), 0, NULL
#define SPEC_NOTE(field) TEXT, SPEC(field), 0, NULL
#define SPEC_ARGS(field) ARRAY, SPEC(field), 0, NULL
#define SPEC_META(field) OBJECT, SPEC(field), 0, NULL
#define SPEC_TAGS(field) NAMES, SPEC(field), SPEC(tag_count), NULL
#define SPEC_I32(field) INT, SPEC(field), 0, NULL
#define SPEC_MS(field) MS, SPEC(field), 0, NULL
#define SPEC_LEASE(field) MS, SPEC(field), 0, NULL
#define SPEC_AT(field) INSTANT, SPEC(field), 0, NULL
#define SPEC_BOOL(field) BOOL, SPEC(field), 0, NULL
#define SPEC_RETRY(field) SPECIAL, 0, 0, read_retry
#define SPEC_UNIQUE(field) SPECIAL, 0, 0, read_unique
#define OURS(field, kind, name, ...) { name, SPEC_##kind(field) },
#define DECIDED(field, column, kind, origin, name, ...) { name, IGNORED, 0, 0, NULL },
static const struct member job_members[] = {
    { "delay", DURATION, SPEC(delay_ms), 0, clear_due },
    { "delay_ms", MS, SPEC(delay_ms), 0, clear_due },
    { "at", INSTANT, SPEC(due_at_ms), 0, clear_due },
    { "scheduled_at", INSTANT, SPEC(due_at_ms), 0, clear_due },
    { "delay_until", INSTANT, SPEC(due_at_ms), 0, clear_due },
    { "due_at", INSTANT, SPEC(due_at_ms), 0, clear_due },
    { "expires_at", INSTANT, SPEC(expires_at_ms), 0, clear_expires },
    { "expires_in", DURATION, SPEC(expires_in_ms), 0, clear_expires },
    { "expires_in_ms", MS, SPEC(expires_in_ms), 0, clear_expires },
    { "extra", SPECIAL, 0, 0, read_extra },
    { "timeout", SECONDS, SPEC(timeout_ms), 0, NULL },
    { "lease", DURATION, SPEC(lease_ms), 0, NULL },
    { "visibility_timeout", SECONDS, SPEC(lease_ms), 0, NULL },
    { "visibility_timeout_ms", MS, SPEC(lease_ms), 0, NULL },
    { "keep", DURATION, SPEC(keep_ms), 0, NULL },
    { "max_attempts", SPECIAL, 0, 0, read_attempts },
    { "idempotency_ttl", DURATION, SPEC(idempotency_ms), 0, NULL },
    { "options", SPECIAL, 0, 0, read_options },
    // What the store decides, in the words of OJS and in ours.
    { "created_at", IGNORED, 0, 0, NULL },
    { "archived", IGNORED, 0, 0, NULL },
    { "specversion", IGNORED, 0, 0, NULL },
    { "enqueued_at", IGNORED, 0, 0, NULL },
    { "completed_at", IGNORED, 0, 0, NULL },
    { "cancelled_at", IGNORED, 0, 0, NULL },
    { "discarded_at", IGNORED, 0, 0, NULL },
    { "error", IGNORED, 0, 0, NULL },
    { "errors", IGNORED, 0, 0, NULL },
    PAWL__JOB_STAND(DECIDED) PAWL__SPEC_FIELDS(OURS)
};

static const struct shape job_shape = { job_members, sizeof job_members / sizeof job_members[0],
                                        NULL };

/* OJS's request form keeps some members in there. Depth is bounded by the JSON reader. */
static enum pawl_err read_options(struct reader *reader, const char *name, uint32_t token)
{
    return read_object(reader, &job_shape, reader->spec, name, token);
}

/* As `pawl list` prints them: they go back to where they were. */
static enum pawl_err read_extra(struct reader *reader, const char *name, uint32_t token)
{
    static const struct shape nothing = { NULL, 0, NULL };
    return read_object(reader, &nothing, reader->spec, name, token);
}

static enum pawl_err finish_extra(struct reader *reader)
{
    if (!reader->extra.len) return PAWL_OK;
    pawl__buf_add_text(&reader->extra, "}");
    char *kept = reader->extra.failed
                     ? NULL
                     : pawl__arena_dup(reader->arena, reader->extra.at, reader->extra.len);
    if (!kept) return pawl__fail_nomem(reader->diag);
    reader->spec->extra = (struct pawl_span){ kept, reader->extra.len };
    return PAWL_OK;
}

enum pawl_err pawl__cli_spec_json(struct pawl__cli *cli, const struct pawl__cli_line *line,
                                  struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    struct reader reader = {
        .cli = cli, .line = line, .arena = line->arena, .diag = diag, .spec = spec
    };
    // One level more than a payload may have: the job around it.
    enum pawl_err err =
        pawl__json_parse(line->text, PAWL_JSON_DEPTH_MAX + 1, line->arena, &reader.json, diag);
    if (err) return err;
    if (reader.json.tokens[0].type != PAWL__JSON_OBJECT) {
        return pawl__fail(diag, PAWL_ERR_ARG, "a job must be an object, such as {\"type\":\"t\"}");
    }
    err = read_object(&reader, &job_shape, spec, "job", 0);
    if (!err) err = finish_extra(&reader);
    if (!err && !spec->type) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "type", "the job has no \"type\"");
    }
    pawl__buf_release(&reader.extra);
    return err;
}
