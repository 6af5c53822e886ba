/* From JSON to a spec.
 *
 * 1. One pass over the members sorts them: known ones by their place in the list, the rest straight
 *    into what is kept. Then each known one is read where it is needed, once.
 * 2. "options" wins over the same name at the top. null is as good as nothing.
 * 3. What clients must get back as they wrote it, and the columns of a job cannot give back, goes
 *    into spec.extra. A plain {type, args, queue} leaves it empty. */
#include "http/ojs/envelope_in.h"

#include <string.h>

/* ---- sorting the members ---- */

/* What a client may have meant by a name that is not known. */
static void offer_fields(struct pawl__nearest *nearest)
{
    for (unsigned field = 1; field < PAWL__FIELD_END; field++) {
        if (pawl__field_flags(field) & (PAWL__FIELD_TOP | PAWL__FIELD_BOTH))
            pawl__nearest_offer(nearest, pawl__field_name(field));
    }
}

/* `unknown`: how many were kept because nobody knows them. */
static bool sort_members(struct pawl__reader *reader, uint32_t object, bool options,
                         size_t *unknown)
{
    const struct pawl__json_token *tokens = reader->json->tokens;
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, name = tokens[name + 1].next) {
        struct pawl_span text = pawl__reader_name(reader, name);
        if (!text.at) return pawl__reader_nomem(reader);
        enum pawl__field field = pawl__field_find(text.at, text.len);
        if (!field) {
            if (!pawl__reader_unknown(reader, options ? "options." : "", text, offer_fields))
                return false;
            pawl__reader_keep_span(reader, pawl__json_span(reader->json, name),
                                   pawl__json_span(reader->json, name + 1));
            ++*unknown;
            continue;
        }
        if (tokens[name + 1].type == PAWL__JSON_NULL) continue;
        unsigned flags = pawl__field_flags(field);
        if (options && !(flags & (PAWL__FIELD_BOTH | PAWL__FIELD_OPTION))) {
            bool ours = !(flags & PAWL__FIELD_TOP); // whole jobs are sent back as they came
            if (!ours && !pawl__reader_unknown(reader, "options.", text, NULL)) return false;
            continue;
        }
        reader->at[field] = name + 1;
        if (options) reader->in_options |= PAWL__FIELD_BIT(field);
    }
    return true;
}

/* Names the member that was probably meant for it, if there is one. */
static bool refuse_missing(struct pawl__reader *reader, uint32_t object, enum pawl__field field,
                           const char *advice)
{
    const struct pawl__json_token *tokens = reader->json->tokens;
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, name = tokens[name + 1].next) {
        struct pawl_span text = pawl__reader_name(reader, name);
        if (!text.at) return pawl__reader_nomem(reader);
        if (pawl__field_find(text.at, text.len)) continue;
        struct pawl__nearest nearest = { .word =
                                             pawl__arena_dup(reader->arena, text.at, text.len) };
        if (!nearest.word) return pawl__reader_nomem(reader);
        offer_fields(&nearest);
        if (!nearest.best || strcmp(nearest.best, pawl__field_name(field)) != 0) continue;
        return pawl__reader_refuse_field(
            reader, field, "is missing; \"%s\" is not a known member: did you mean \"%s\"?",
            nearest.word, nearest.best);
    }
    return pawl__reader_refuse_field(reader, field, "is missing%s", advice);
}

static bool sort_all(struct pawl__reader *reader, uint32_t object, bool *may_repeat)
{
    size_t at_top = 0, in_options = 0;
    if (reader->json->tokens[object].type != PAWL__JSON_OBJECT) {
        return pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, "",
                            "a job must be a JSON object");
    }
    if (!sort_members(reader, object, false, &at_top)) return false;
    uint32_t options = reader->at[PAWL__FIELD_OPTIONS];
    if (!options) return true;
    if (!pawl__reader_of_type(reader, PAWL__FIELD_OPTIONS, PAWL__JSON_OBJECT, "an object"))
        return false;
    if (!sort_members(reader, options, true, &in_options)) return false;
    *may_repeat = at_top > 0 && in_options > 0;
    return true;
}

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

/* ^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*(@\d+\.\d+)?$ */
static bool type_ok(const char *at)
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

bool pawl__ojs_queue_ok(const char *queue)
{
    const char *at = queue;
    if (!is_lower(*at) && !is_digit(*at)) return false;
    while (is_lower(*at) || is_digit(*at) || *at == '.' || *at == '-') {
        at++;
    }
    return *at == '\0' && at - queue <= PAWL_QUEUE_BYTES_MAX;
}

static bool id_ok(const char *text, struct pawl_job_id *out)
{
    if (pawl_job_id_parse(text, out) != PAWL_OK) return false;
    for (const char *at = text; *at; at++) {
        if (*at >= 'A' && *at <= 'F') return false;
    }
    return text[14] == '7' && strchr("89ab", text[19]);
}

static bool read_id(struct pawl__reader *reader)
{
    const char *text;
    if (!reader->at[PAWL__FIELD_ID]) return true;
    if (!pawl__reader_string(reader, PAWL__FIELD_ID, &text)) return false;
    if (!id_ok(text, &reader->out->id)) {
        return pawl__reader_refuse_field(reader, PAWL__FIELD_ID, "must be a UUIDv7 in lower case");
    }
    reader->out->spec.id = &reader->out->id;
    return true;
}

static bool read_names(struct pawl__reader *reader, uint32_t object)
{
    struct pawl_job_spec *spec = &reader->out->spec;
    const char *version = "1.0";
    if (!reader->at[PAWL__FIELD_TYPE]) return refuse_missing(reader, object, PAWL__FIELD_TYPE, "");
    if (!pawl__reader_string(reader, PAWL__FIELD_TYPE, &spec->type)) return false;
    if (strlen(spec->type) > PAWL_TYPE_BYTES_MAX || !type_ok(spec->type)) {
        return pawl__reader_refuse_field(
            reader, PAWL__FIELD_TYPE,
            "must be lower-case words of letters, digits, \"_\" and \"-\" with dots "
            "between, perhaps \"@major.minor\", of %d bytes at most; the Open Job Spec allows no "
            "capital letters",
            PAWL_TYPE_BYTES_MAX);
    }
    spec->queue = "default";
    if (reader->at[PAWL__FIELD_QUEUE]) {
        if (!pawl__reader_string(reader, PAWL__FIELD_QUEUE, &spec->queue)) return false;
        if (!pawl__ojs_queue_ok(spec->queue)) {
            return pawl__reader_refuse_field(
                reader, PAWL__FIELD_QUEUE,
                "must be lower-case letters, digits, \".\" and \"-\", a letter or digit "
                "first, of %d bytes at most",
                PAWL_QUEUE_BYTES_MAX);
        }
    }
    if (reader->at[PAWL__FIELD_SPECVERSION]) {
        if (!pawl__reader_string(reader, PAWL__FIELD_SPECVERSION, &version)) return false;
        if (strcmp(version, "1.0") != 0) {
            return pawl__reader_refuse_field(reader, PAWL__FIELD_SPECVERSION, "must be \"1.0\"");
        }
    }
    return read_id(reader);
}

/* ---- payloads ---- */

static bool read_args(struct pawl__reader *reader, uint32_t object)
{
    uint32_t token = reader->at[PAWL__FIELD_ARGS];
    if (!token) return refuse_missing(reader, object, PAWL__FIELD_ARGS, "; an empty array will do");
    if (!pawl__reader_of_type(reader, PAWL__FIELD_ARGS, PAWL__JSON_ARRAY, "an array")) return false;
    reader->out->spec.args = pawl__json_span(reader->json, token);
    return true;
}

/* ---- the rest ---- */

static bool read_priority(struct pawl__reader *reader)
{
    static const struct {
        const char *name;
        int32_t priority;
    } names[] = { { "HIGH", 10 }, { "NORMAL", 0 }, { "LOW", -10 } };
    uint32_t token = reader->at[PAWL__FIELD_PRIORITY];
    int64_t priority;
    const char *text;
    if (!token) return true;
    if (reader->json->tokens[token].type == PAWL__JSON_STRING) {
        if (!pawl__reader_string(reader, PAWL__FIELD_PRIORITY, &text)) return false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(text, names[i].name) != 0) continue;
            reader->out->spec.priority = names[i].priority;
            return true;
        }
    }
    if (!pawl__reader_whole(reader, PAWL__FIELD_PRIORITY, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX,
                            &priority)) {
        return false;
    }
    reader->out->spec.priority = (int32_t)priority;
    return true;
}

/* The API trims tags and makes them lower-case: is that what the client wrote? */
static bool tags_plain(const char *const *tags, size_t count)
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

static bool read_tags(struct pawl__reader *reader)
{
    struct pawl_job_spec *spec = &reader->out->spec;
    struct pawl__where where = { .field = PAWL__FIELD_TAGS };
    uint32_t token = reader->at[PAWL__FIELD_TAGS];
    if (!token) return true;
    if (!pawl__reader_texts(reader, &where, token, &spec->tags, &spec->tag_count)) return false;
    // Too many are refused by the API; they need no comparing.
    if (spec->tag_count > PAWL_TAGS_MAX || !tags_plain(spec->tags, spec->tag_count)) {
        pawl__reader_keep(reader, PAWL__FIELD_TAGS);
    }
    return true;
}

/* options.metadata, in which tests of workers hide a directive. */
static bool read_metadata(struct pawl__reader *reader)
{
    uint32_t token = reader->at[PAWL__FIELD_METADATA];
    struct pawl__where where = { .field = PAWL__FIELD_METADATA, .sub = "test_directive" };
    if (!token) return true;
    if (!pawl__reader_of_type(reader, PAWL__FIELD_METADATA, PAWL__JSON_OBJECT, "an object"))
        return false;
    pawl__reader_keep(reader, PAWL__FIELD_METADATA);
    uint32_t directive = pawl__json_member(reader->json, token, "test_directive");
    if (!directive || !reader->rules->test_mode) return true;
    return pawl__reader_text(reader, &where, directive, &reader->out->test_directive);
}

static bool read_version(struct pawl__reader *reader)
{
    uint32_t token = reader->at[PAWL__FIELD_VERSION];
    if (!token) return true;
    enum pawl__json_type type = reader->json->tokens[token].type;
    if (type != PAWL__JSON_NUMBER && type != PAWL__JSON_STRING) {
        return pawl__reader_refuse_field(reader, PAWL__FIELD_VERSION,
                                         "must be a number or a string");
    }
    pawl__reader_keep(reader, PAWL__FIELD_VERSION);
    return true;
}

/* Kept for a day. */
static bool read_key(struct pawl__reader *reader)
{
    struct pawl_job_spec *spec = &reader->out->spec;
    if (!reader->at[PAWL__FIELD_IDEMPOTENCY_KEY]) return true;
    if (!pawl__reader_string(reader, PAWL__FIELD_IDEMPOTENCY_KEY, &spec->idempotency_key))
        return false;
    spec->idempotency_ms = PAWL__OJS_KEY_MS;
    pawl__reader_keep(reader, PAWL__FIELD_IDEMPOTENCY_KEY);
    return true;
}

static bool read_rest(struct pawl__reader *reader)
{
    uint32_t pending = reader->at[PAWL__FIELD_PENDING];
    if (pending) {
        enum pawl__json_type type = reader->json->tokens[pending].type;
        if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
            return pawl__reader_refuse_field(reader, PAWL__FIELD_PENDING, "must be true or false");
        }
        reader->out->spec.pending = type == PAWL__JSON_TRUE;
    }
    if (reader->at[PAWL__FIELD_RATE_LIMIT]) {
        if (!pawl__reader_of_type(reader, PAWL__FIELD_RATE_LIMIT, PAWL__JSON_OBJECT, "an object")) {
            return false;
        }
        reader->out->rate_limit = pawl__json_span(reader->json, reader->at[PAWL__FIELD_RATE_LIMIT]);
        pawl__reader_keep(reader, PAWL__FIELD_RATE_LIMIT);
    }
    if (reader->at[PAWL__FIELD_SCHEMA]) {
        if (!pawl__reader_of_type(reader, PAWL__FIELD_SCHEMA, PAWL__JSON_STRING, "a string"))
            return false;
        pawl__reader_keep(reader, PAWL__FIELD_SCHEMA);
    }
    return read_priority(reader) && read_tags(reader) && read_metadata(reader) &&
           read_version(reader) && read_key(reader);
}

static bool read_policies(struct pawl__reader *reader)
{
    if (!pawl__policy_retry(reader) || !pawl__policy_unique(reader)) return false;
    if (reader->at[PAWL__FIELD_RETRY]) pawl__reader_keep(reader, PAWL__FIELD_RETRY);
    if (reader->at[PAWL__FIELD_UNIQUE]) pawl__reader_keep(reader, PAWL__FIELD_UNIQUE);
    return true;
}

/* The buffer as spec.extra. Names of both layouts that nobody knows may meet: the later one, which
 * comes from the options, wins. */
static bool finish_extra(struct pawl__reader *reader, bool may_repeat)
{
    struct pawl__buf *buf = &reader->extra;
    struct pawl_span *extra = &reader->out->spec.extra;
    if (!buf->len && !buf->failed) return true;
    pawl__buf_add(buf, "}", 1);
    char *copy = buf->failed ? NULL : pawl__arena_dup(reader->arena, buf->at, buf->len);
    if (!copy) return pawl__reader_nomem(reader);
    *extra = (struct pawl_span){ copy, buf->len };
    if (!may_repeat) return true;
    struct pawl__json json;
    struct pawl__json_rules rules = { .depth_max = PAWL_JSON_DEPTH_MAX, .last_wins = true };
    struct pawl_diag diag;
    enum pawl_err err = pawl__json_parse_by(*extra, &rules, reader->arena, &json, &diag);
    if (err) return pawl__refuse_err(reader->fault, err, &diag);
    *extra = json.text;
    return true;
}

bool pawl__envelope_read(const struct pawl__json *json, uint32_t token,
                         const struct pawl__envelope_rules *rules, struct pawl__arena *arena,
                         struct pawl__envelope *out, struct pawl__fault *fault)
{
    struct pawl__reader reader = {
        .json = json, .rules = rules, .arena = arena, .out = out, .fault = fault
    };
    bool may_repeat = false;
    *out = (struct pawl__envelope){ 0 };
    bool ok = sort_all(&reader, token, &may_repeat) && read_names(&reader, token) &&
              read_args(&reader, token) && pawl__envelope_read_meta(&reader) &&
              pawl__envelope_read_times(&reader) && read_rest(&reader) && read_policies(&reader) &&
              finish_extra(&reader, may_repeat);
    pawl__buf_release(&reader.extra);
    return ok;
}
