/* From JSON to a spec.
 *
 * 1. One pass over the members notes where each known one is. Unknown ones are kept at once. Then
 *    the known ones are read in the order of PAWL__FIELDS, by the same table.
 * 2. "options" wins over the same name at the top. null means that a member is absent.
 * 3. What clients must get back as they wrote it, and the columns of a job cannot give back, goes
 *    into spec.extra. A plain {type, args, queue} leaves it empty. */
#include "http/ojs/envelope_in.h"

#include "http/ojs/policies.h"
#include "http/ojs/shapes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_digits(const char **at)
{
    const char *from = *at;
    while (is_digit(**at)) {
        ++*at;
    }
    return *at > from;
}

static bool is_type(const char *at)
{
    for (;; at++) {
        if (!is_lower(*at)) return false;
        while (is_lower(*at) || is_digit(*at) || *at == '_' || *at == '-') {
            at++;
        }
        if (*at != '.') break;
    }
    if (*at == '@') {
        at++;
        if (!skip_digits(&at) || *at++ != '.' || !skip_digits(&at)) return false;
    }
    return *at == '\0';
}

static const struct pawl__pattern type_pattern = {
    "^[a-z][a-z0-9_-]*(\\.[a-z][a-z0-9_-]*)*(@[0-9]+\\.[0-9]+)?$", is_type,
    "must be lower-case words of letters, digits, \"_\" and \"-\", with dots between them and "
    "perhaps \"@major.minor\"; the Open Job Spec allows no capital letters"
};

bool pawl__ojs_queue_ok(const char *queue)
{
    const char *at = queue;
    if (!is_lower(*at) && !is_digit(*at)) return false;
    while (is_lower(*at) || is_digit(*at) || *at == '.' || *at == '-') {
        at++;
    }
    return *at == '\0' && at - queue <= PAWL_QUEUE_BYTES_MAX;
}

const struct pawl__pattern pawl__ojs_queue_pattern = {
    "^[a-z0-9][a-z0-9.-]{0,127}$", pawl__ojs_queue_ok,
    "must be 1 to 128 lower-case letters, digits, \".\" and \"-\", a letter or digit first"
};
_Static_assert(PAWL_QUEUE_BYTES_MAX == 128, "the pattern says so");

static bool is_id(const char *text)
{
    struct pawl_job_id id;
    if (pawl_job_id_parse(text, &id) != PAWL_OK) return false;
    for (const char *at = text; *at; at++) {
        if (*at >= 'A' && *at <= 'F') return false;
    }
    return text[14] == '7' && strchr("89ab", text[19]);
}

static const struct pawl__pattern id_pattern = {
    "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", is_id,
    "must be a UUIDv7 in lower case"
};

static bool is_version(const char *text)
{
    return strcmp(text, "1.0") == 0;
}

static const struct pawl__pattern version_pattern = { "^1\\.0$", is_version, "must be \"1.0\"" };

/* ---- functions of members ---- */

#define FN(name)                                                                                   \
    static enum pawl_err name(struct pawl__shape_reader *shape, const struct pawl__member *member, \
                              uint32_t token, void *base)

/* A number, or one of three names. */
FN(read_priority)
{
    static const struct {
        const char *text;
        int32_t priority;
    } names[] = { { "\"HIGH\"", 10 }, { "\"NORMAL\"", 0 }, { "\"LOW\"", -10 } };
    struct pawl__draft *draft = base;
    struct pawl__member number = *member;
    struct pawl_span text = pawl__json_span(&shape->json, token);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (text.len != strlen(names[i].text) || memcmp(text.at, names[i].text, text.len) != 0) {
            continue;
        }
        draft->job.spec.priority = names[i].priority;
        return PAWL_OK;
    }
    number.kind = PAWL__AS_INT32;
    return pawl__shape_value(shape, &number, token, base);
}

/* The library trims tags and makes them lower-case: does that leave them as they are? */
static bool are_plain(const char *const *tags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *tag = tags[i];
        if (strchr(" \t\r\n\v\f", tag[0]) || strchr(" \t\r\n\v\f", tag[strlen(tag) - 1])) {
            return false;
        }
        for (const char *at = tag; *at; at++) {
            if (*at >= 'A' && *at <= 'Z') return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(tags[j], tag) == 0) return false;
        }
    }
    return count > 0;
}

FN(read_tags)
{
    struct pawl__reader *reader = (struct pawl__reader *)shape;
    const struct pawl_job_spec *spec = &reader->draft.job.spec;
    struct pawl__member list = *member;
    list.kind = PAWL__AS_TEXTS;
    enum pawl_err err = pawl__shape_value(shape, &list, token, base);
    // Too many are refused by the library, so they are not compared.
    if (!err && (spec->tag_count > PAWL_TAGS_MAX || !are_plain(spec->tags, spec->tag_count))) {
        pawl__reader_keep(reader, PAWL__FIELD_TAGS);
    }
    return err;
}

/* Tests of workers put a directive there. */
FN(read_directive)
{
    struct pawl__reader *reader = (struct pawl__reader *)shape;
    static const struct pawl__member directive =
        PAWL__MEMBER("metadata.test_directive", TEXT, struct pawl__draft, job.test_directive);
    if (!reader->rules->test_mode || shape->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return PAWL_OK;
    }
    uint32_t given = pawl__json_member(&shape->json, token, "test_directive");
    return given ? pawl__shape_value(shape, &directive, given, base) : PAWL_OK;
}

FN(check_version)
{
    enum pawl__json_type type = shape->json.tokens[token].type;
    if (type == PAWL__JSON_NUMBER || type == PAWL__JSON_STRING) return PAWL_OK;
    return pawl__shape_refuse(shape, member, "must be a number or a string");
}

/* A job of its own. What is refused in it is told with the path from here. */
FN(read_follow)
{
    struct pawl__reader *reader = (struct pawl__reader *)shape;
    const char *around = reader->rules->place;
    struct pawl__envelope_rules rules = *reader->rules;
    struct pawl__envelope *follow = pawl__arena_calloc(shape->arena, 1, sizeof *follow);
    char place[64], path[sizeof reader->fault->field];
    if (!follow) return PAWL_ERR_NOMEM;
    snprintf(place, sizeof place, "%.40s%s%s", around ? around : "", around ? "." : "",
             member->name);
    rules.place = place;
    bool ok = pawl__envelope_read(&shape->json, token, &rules, shape->arena, follow, reader->fault);
    if (ok && follow->rate_limit.len) {
        ok = pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, "rate_limit",
                          "\"rate_limit\" has no effect in a follow-up");
    }
    if (!ok) {
        snprintf(path, sizeof path, "%s%s%.*s", member->name, *reader->fault->field ? "." : "",
                 (int)(sizeof path - sizeof "on_success."), reader->fault->field);
        snprintf(reader->fault->field, sizeof path, "%s", path);
        return PAWL_ERR_ARG;
    }
    *(const struct pawl_job_spec **)(void *)((char *)base + member->offset) = &follow->spec;
    return PAWL_OK;
}

/* ---- the table ---- */

#define DATE .read = pawl__read_instant, .wire = PAWL__AS_INSTANT
#define SECONDS(least)                                                                             \
    .read = pawl__read_seconds, .min = (least), .max = PAWL__OJS_MS_MAX / 1000,                    \
    .wire = PAWL__AS_INT64
#define ATTEMPTS .read = pawl__note_attempts, .max = INT32_MAX
#define X(name, text, where, kind, field, ...)                                                     \
    PAWL__MEMBER(text, kind, struct pawl__draft, field, __VA_ARGS__),
static const struct pawl__member members[] = { PAWL__FIELDS(X) };
#undef X
const struct pawl__shape pawl__ojs_job_request_shape = PAWL__SHAPE(struct pawl__draft, members);

#define X(name, text, where, ...) [PAWL__FIELD_##name] = PAWL__FIELD_##where,
static const uint8_t flags_of[PAWL__FIELD_END] = { PAWL__FIELDS(X) };
#undef X

enum pawl__envelope_field pawl__field_find(const char *name, size_t len)
{
    const struct pawl__member *member = pawl__shape_find(&pawl__ojs_job_request_shape, name, len);
    return member ? (enum pawl__envelope_field)(member - members + 1) : PAWL__FIELD_NONE;
}

const char *pawl__field_name(enum pawl__envelope_field field)
{
    assert(field > PAWL__FIELD_NONE && field < PAWL__FIELD_END);
    return members[field - 1].name;
}

unsigned pawl__field_flags(enum pawl__envelope_field field)
{
    assert(field > PAWL__FIELD_NONE && field < PAWL__FIELD_END);
    return flags_of[field];
}

/* ---- refusing ---- */

bool pawl__reader_refuse(struct pawl__reader *reader, enum pawl__fault_kind kind,
                         enum pawl__envelope_field field, const char *sub, const char *format, ...)
{
    char path[sizeof reader->fault->field], rule[240];
    va_list args;
    snprintf(path, sizeof path, "%s%s%s%s",
             reader->in_options & PAWL__FIELD_BIT(field) ? "options." : "", pawl__field_name(field),
             sub ? "." : "", sub ? sub : "");
    va_start(args, format);
    vsnprintf(rule, sizeof rule, format, args);
    va_end(args);
    return pawl__refuse(reader->fault, kind, path, "\"%s\" %s", path, rule);
}

bool pawl__reader_nomem(struct pawl__reader *reader)
{
    return pawl__refuse_err(reader->fault, PAWL_ERR_NOMEM, NULL);
}

bool pawl__reader_fail(struct pawl__reader *reader, enum pawl_err err)
{
    if (reader->fault->kind) return false;
    if (err != PAWL_ERR_ARG) return pawl__refuse_err(reader->fault, err, NULL);
    return pawl__refuse(reader->fault, reader->kind, reader->diag.field, "%s", reader->diag.text);
}

enum pawl__envelope_field pawl__reader_choose(const struct pawl__reader *reader,
                                              enum pawl__envelope_field first,
                                              enum pawl__envelope_field second)
{
    uint64_t options = reader->in_options;
    if (!reader->at[second]) return reader->at[first] ? first : PAWL__FIELD_NONE;
    if (!reader->at[first]) return second;
    bool only_second = (options & PAWL__FIELD_BIT(second)) && !(options & PAWL__FIELD_BIT(first));
    return only_second ? second : first;
}

/* ---- members to keep ---- */

static void keep_span(struct pawl__reader *reader, struct pawl_span name, struct pawl_span value)
{
    pawl__buf_add(&reader->extra, reader->extra.len ? "," : "{", 1);
    pawl__buf_add(&reader->extra, name.at, name.len);
    pawl__buf_add(&reader->extra, ":", 1);
    pawl__buf_add(&reader->extra, value.at, value.len);
}

void pawl__reader_keep_as(struct pawl__reader *reader, enum pawl__envelope_field field,
                          struct pawl_span value)
{
    char name[32];
    int len = snprintf(name, sizeof name, "\"%s\"", pawl__field_name(field));
    assert(pawl__field_flags(field) & PAWL__FIELD_EXTRA);
    keep_span(reader, (struct pawl_span){ name, (size_t)len }, value);
}

void pawl__reader_keep(struct pawl__reader *reader, enum pawl__envelope_field field)
{
    pawl__reader_keep_as(reader, field, pawl__json_span(&reader->shape.json, reader->at[field]));
}

void pawl__reader_keep_unless_plain(struct pawl__reader *reader, enum pawl__envelope_field field,
                                    int64_t value)
{
    char plain[24];
    int len = snprintf(plain, sizeof plain, "%lld", (long long)value);
    struct pawl_span span = pawl__json_span(&reader->shape.json, reader->at[field]);
    if (span.len != (size_t)len || memcmp(span.at, plain, span.len) != 0)
        pawl__reader_keep(reader, field);
}

/* ---- members without effect ---- */

enum { NAME_SHOWN_MAX = 64 };

/* A warning has its job's place in the batch; a refusal gets it where the batch is refused. */
static const char *path_of(struct pawl__reader *reader, const char *parent, struct pawl_span name)
{
    char batch[64] = "", path[192];
    if (!reader->rules->strict && reader->rules->place)
        snprintf(batch, sizeof batch, "%.62s.", reader->rules->place);
    else if (!reader->rules->strict && reader->rules->index >= 0)
        snprintf(batch, sizeof batch, "jobs[%lld].", (long long)reader->rules->index);
    int shown = name.len < NAME_SHOWN_MAX ? (int)name.len : NAME_SHOWN_MAX;
    int len = snprintf(path, sizeof path, "%s%s%.*s", batch, parent, shown, name.at);
    return pawl__arena_dup(reader->shape.arena, path, (size_t)len);
}

static bool refuse_strictly(struct pawl__reader *reader, const struct pawl__warning *warning)
{
    struct pawl__buf text = { 0 };
    pawl__warning_text(&text, warning);
    if (text.failed) {
        pawl__reader_nomem(reader);
    } else {
        pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, warning->field, "\"%s\" %s",
                     warning->field, text.at);
    }
    pawl__buf_release(&text);
    return false;
}

/* Warns of a member, or refuses it if the rules are strict, unless it is an extension. `parent` is
 * the path of its object ("", "options.", "retry."), `shape` its table; NULL: the member is known,
 * but not in this place. */
static bool note_unknown(struct pawl__reader *reader, const char *parent, struct pawl_span name,
                         const struct pawl__shape *shape)
{
    struct pawl__warnings *warnings = reader->rules->warnings;
    bool strict = reader->rules->strict;
    if (pawl__is_extension(name.at, name.len) || (!strict && !warnings)) return true;
    if (!strict && warnings->count == PAWL__WARNINGS_MAX) {
        warnings->more++;
        return true;
    }
    const char *word = pawl__arena_dup(reader->shape.arena, name.at, name.len);
    struct pawl__warning warning = { .field = path_of(reader, parent, name), .misplaced = !shape };
    if (!word || !warning.field) return pawl__reader_nomem(reader);
    if (shape) warning.meant = pawl__shape_nearest(shape, word);
    if (strict) return refuse_strictly(reader, &warning);
    warnings->at[warnings->count++] = warning;
    return true;
}

/* The same in a policy. */
static enum pawl_err note_in_policy(struct pawl__shape_reader *shape, const struct pawl__shape *of,
                                    const char *name)
{
    struct pawl__reader *reader = (struct pawl__reader *)shape;
    char parent[32];
    snprintf(parent, sizeof parent, "%s%s%s.", shape->prefix ? shape->prefix : "",
             shape->prefix ? "." : "", shape->inside->member->name);
    bool ok = note_unknown(reader, parent, (struct pawl_span){ name, strlen(name) }, of);
    return ok ? PAWL_OK : PAWL_ERR_ARG;
}

/* ---- sorting the members ---- */

/* A name without its escapes; at is NULL: no memory. */
static struct pawl_span name_of(struct pawl__reader *reader, uint32_t name)
{
    const struct pawl__json *json = &reader->shape.json;
    const struct pawl__json_token *token = &json->tokens[name];
    const char *at = json->text.at + token->at + 1;
    if (token->count != token->len - 2)
        at = pawl__json_string(json, name, reader->shape.arena, NULL);
    return (struct pawl_span){ at, token->count };
}

/* `unknown` counts the members that were kept because they are not known. */
static bool sort_members(struct pawl__reader *reader, uint32_t object, bool options,
                         size_t *unknown)
{
    const struct pawl__json *json = &reader->shape.json;
    const unsigned here = options ? PAWL__FIELD_BOTH | PAWL__FIELD_OPTION
                                  : PAWL__FIELD_BOTH | PAWL__FIELD_TOP;
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = json->tokens[object].count; left > 0;
         left--, name = json->tokens[name + 1].next) {
        struct pawl_span text = name_of(reader, name);
        if (!text.at) return pawl__reader_nomem(reader);
        enum pawl__envelope_field field = pawl__field_find(text.at, text.len);
        if (!field) {
            if (!note_unknown(reader, options ? "options." : "", text,
                              &pawl__ojs_job_request_shape))
                return false;
            keep_span(reader, pawl__json_span(json, name), pawl__json_span(json, name + 1));
            ++*unknown;
        } else if (json->tokens[name + 1].type == PAWL__JSON_NULL) {
            continue;
        } else if (flags_of[field] & here) {
            reader->at[field] = name + 1;
            if (options) reader->in_options |= PAWL__FIELD_BIT(field);
        } else if (flags_of[field] & PAWL__FIELD_TOP) {
            if (!note_unknown(reader, "options.", text, NULL)) return false;
        } // else it is the server's, and whole jobs are sent back as they came
    }
    return true;
}

static bool sort_all(struct pawl__reader *reader, uint32_t object, bool *may_repeat)
{
    size_t at_top = 0, in_options = 0;
    const struct pawl__json_token *tokens = reader->shape.json.tokens;
    if (tokens[object].type != PAWL__JSON_OBJECT) {
        return pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, "",
                            "a job must be a JSON object");
    }
    if (!sort_members(reader, object, false, &at_top)) return false;
    uint32_t options = reader->at[PAWL__FIELD_OPTIONS];
    if (!options) return true;
    if (tokens[options].type != PAWL__JSON_OBJECT) {
        return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, PAWL__FIELD_OPTIONS, NULL,
                                   "must be an object");
    }
    if (!sort_members(reader, options, true, &in_options)) return false;
    *may_repeat = at_top > 0 && in_options > 0;
    return true;
}

/* ---- reading ---- */

/* Names the unknown member that was probably meant, if there is one. */
static bool refuse_missing(struct pawl__reader *reader, uint32_t object,
                           enum pawl__envelope_field field)
{
    const struct pawl__json_token *tokens = reader->shape.json.tokens;
    const char *missing = pawl__field_name(field);
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, name = tokens[name + 1].next) {
        struct pawl_span text = name_of(reader, name);
        char *word = text.at ? pawl__arena_dup(reader->shape.arena, text.at, text.len) : NULL;
        if (!word) return pawl__reader_nomem(reader);
        if (pawl__field_find(text.at, text.len)) continue;
        const char *meant = pawl__shape_nearest(&pawl__ojs_job_request_shape, word);
        if (!meant || strcmp(meant, missing) != 0) continue;
        return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, field, NULL,
                                   "is missing; \"%s\" is not a known member: did you mean \"%s\"?",
                                   word, meant);
    }
    return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, field, NULL, "is missing%s",
                               field == PAWL__FIELD_ARGS ? "; an empty array will do" : "");
}

/* Reads the fields up to `last`; the next call goes on from there. */
static bool read_to(struct pawl__reader *reader, uint32_t object, enum pawl__envelope_field *next,
                    enum pawl__envelope_field last)
{
    for (; *next <= last; ++*next) {
        const struct pawl__member *member = &members[*next - 1];
        uint32_t token = reader->at[*next];
        if (!token && member->flags & PAWL__REQUIRED) return refuse_missing(reader, object, *next);
        if (!token) continue;
        reader->shape.prefix = reader->in_options & PAWL__FIELD_BIT(*next) ? "options" : NULL;
        reader->kind = PAWL__FAULT_INVALID_REQUEST;
        enum pawl_err err = PAWL_OK;
        if (member->read) err = member->read(&reader->shape, member, token, &reader->draft);
        if (!err) err = pawl__shape_value(&reader->shape, member, token, &reader->draft);
        if (err) return pawl__reader_fail(reader, err);
        if ((flags_of[*next] & PAWL__FIELD_KEPT) == PAWL__FIELD_KEPT) {
            pawl__reader_keep(reader, *next);
        }
    }
    return true;
}

static bool read_all(struct pawl__reader *reader, uint32_t object)
{
    enum pawl__envelope_field next = PAWL__FIELD_NONE + 1;
    struct pawl_job_spec *spec = &reader->draft.job.spec;
    spec->queue = "default";
    if (!read_to(reader, object, &next, PAWL__FIELD_META) || !pawl__envelope_finish_meta(reader) ||
        !read_to(reader, object, &next, PAWL__FIELD_DELAY) || !pawl__envelope_finish_due(reader) ||
        !read_to(reader, object, &next, PAWL__FIELD_ENQUEUE_TTL) ||
        !pawl__envelope_finish_expiry(reader) ||
        !read_to(reader, object, &next, PAWL__FIELD_TIMEOUT_MS) ||
        !pawl__envelope_finish_timeout(reader) ||
        !read_to(reader, object, &next, PAWL__FIELD_VISIBILITY_TIMEOUT_MS) ||
        !pawl__envelope_finish_lease(reader) ||
        !read_to(reader, object, &next, PAWL__FIELD_END - 1)) {
        return false;
    }
    if (spec->idempotency_key) spec->idempotency_ms = PAWL__OJS_KEY_MS;
    // -1: it is kept for ever.
    spec->keep_ms = reader->draft.keep_ms < 0 ? PAWL__OJS_MS_MAX : reader->draft.keep_ms;
    return pawl__envelope_finish_policies(reader);
}

/* Sets spec.extra. An unknown name may occur at the top and in "options": the latter comes later,
 * and wins. */
static bool finish_extra(struct pawl__reader *reader, bool may_repeat)
{
    struct pawl__buf *buf = &reader->extra;
    struct pawl_span *extra = &reader->draft.job.spec.extra;
    if (!buf->len && !buf->failed) return true;
    pawl__buf_add(buf, "}", 1);
    char *copy = buf->failed ? NULL : pawl__arena_dup(reader->shape.arena, buf->at, buf->len);
    if (!copy) return pawl__reader_nomem(reader);
    *extra = (struct pawl_span){ copy, buf->len };
    if (!may_repeat) return true;
    struct pawl__json json;
    struct pawl__json_rules rules = { .depth_max = PAWL_JSON_DEPTH_MAX, .last_wins = true };
    struct pawl_diag diag;
    enum pawl_err err = pawl__json_parse_by(*extra, &rules, reader->shape.arena, &json, &diag);
    if (err) return pawl__refuse_err(reader->fault, err, &diag);
    *extra = json.text;
    return true;
}

bool pawl__envelope_read(const struct pawl__json *json, uint32_t token,
                         const struct pawl__envelope_rules *rules, struct pawl__arena *arena,
                         struct pawl__envelope *out, struct pawl__fault *fault)
{
    struct pawl__reader reader = { .shape = { .json = *json,
                                              .arena = arena,
                                              .unknown = PAWL__UNKNOWN_REFUSE,
                                              .on_unknown = note_in_policy,
                                              .null_is_absent = true,
                                              .null_is_unknown = true,
                                              .paths = true },
                                   .rules = rules,
                                   .fault = fault };
    bool may_repeat = false;
    reader.shape.diag = &reader.diag;
    fault->kind = PAWL__FAULT_NONE;
    bool ok = sort_all(&reader, token, &may_repeat) && read_all(&reader, token) &&
              finish_extra(&reader, may_repeat);
    *out = reader.draft.job;
    if (ok && reader.draft.id && pawl_job_id_parse(reader.draft.id, &out->id) == PAWL_OK) {
        out->spec.id = &out->id;
    }
    pawl__buf_release(&reader.extra);
    return ok;
}
