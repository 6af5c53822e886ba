/* What reading any member takes: its value checked and fetched, a refusal that names it, a place
 * for what must come back as it was written. */
#include "http/ojs/envelope_in.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- refusing ---- */

static void refuse(struct pawl__reader *reader, const struct pawl__where *where, const char *format,
                   va_list args)
{
    char path[sizeof reader->fault->field], rule[240];
    bool in_options = reader->in_options & PAWL__FIELD_BIT(where->field);
    snprintf(path, sizeof path, "%s%s%s%s", in_options ? "options." : "",
             pawl__field_name(where->field), where->sub ? "." : "", where->sub ? where->sub : "");
    vsnprintf(rule, sizeof rule, format, args);
    enum pawl__fault_kind kind = where->kind ? where->kind : PAWL__FAULT_INVALID_REQUEST;
    pawl__refuse(reader->fault, kind, path, "\"%s\" %s", path, rule);
}

bool pawl__reader_refuse(struct pawl__reader *reader, const struct pawl__where *where,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(reader, where, format, args);
    va_end(args);
    return false;
}

bool pawl__reader_refuse_field(struct pawl__reader *reader, enum pawl__field field,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(reader, &(struct pawl__where){ .field = field }, format, args);
    va_end(args);
    return false;
}

bool pawl__reader_nomem(struct pawl__reader *reader)
{
    return pawl__refuse_err(reader->fault, PAWL_ERR_NOMEM, NULL);
}

/* ---- values ---- */

bool pawl__reader_type(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                       enum pawl__json_type type, const char *type_text)
{
    if (reader->json->tokens[token].type == type) return true;
    return pawl__reader_refuse(reader, where, "must be %s", type_text);
}

bool pawl__reader_text(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                       const char **out)
{
    if (!pawl__reader_type(reader, where, token, PAWL__JSON_STRING, "a string")) return false;
    size_t len;
    const char *text = pawl__json_string(reader->json, token, reader->arena, &len);
    if (!text) return pawl__reader_nomem(reader);
    if (strlen(text) != len) return pawl__reader_refuse(reader, where, "must not hold a NUL");
    *out = text;
    return true;
}

bool pawl__reader_texts(struct pawl__reader *reader, const struct pawl__where *where,
                        uint32_t token, const char *const **out, size_t *count)
{
    const struct pawl__json_token *tokens = reader->json->tokens;
    if (!pawl__reader_type(reader, where, token, PAWL__JSON_ARRAY, "an array of strings")) {
        return false;
    }
    size_t all = tokens[token].count;
    const char **list = pawl__arena_calloc(reader->arena, all, sizeof *list);
    if (!list) return pawl__reader_nomem(reader);
    uint32_t child = pawl__json_first(token);
    for (size_t i = 0; i < all; i++, child = tokens[child].next) {
        if (tokens[child].type != PAWL__JSON_STRING || tokens[child].count == 0) {
            return pawl__reader_refuse(reader, where, "must hold strings alone, and no empty one");
        }
        if (!pawl__reader_text(reader, where, child, &list[i])) return false;
    }
    *out = list;
    *count = all;
    return true;
}

bool pawl__reader_int(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                      int64_t min, int64_t max, int64_t *out)
{
    int64_t value;
    if (!pawl__json_int(reader->json, token, &value) || value < min || value > max) {
        return pawl__reader_refuse(reader, where, "must be a whole number from %lld to %lld",
                                   (long long)min, (long long)max);
    }
    *out = value;
    return true;
}

bool pawl__reader_whole(struct pawl__reader *reader, enum pawl__field field, int64_t min,
                        int64_t max, int64_t *out)
{
    return pawl__reader_int(reader, &(struct pawl__where){ .field = field }, reader->at[field], min,
                            max, out);
}

bool pawl__reader_seconds(struct pawl__reader *reader, enum pawl__field field, int64_t min,
                          int64_t *out_ms)
{
    int64_t seconds = 0;
    if (!pawl__reader_whole(reader, field, min, PAWL__OJS_MS_MAX / 1000, &seconds)) return false;
    *out_ms = seconds * 1000;
    return true;
}

bool pawl__reader_string(struct pawl__reader *reader, enum pawl__field field, const char **out)
{
    return pawl__reader_text(reader, &(struct pawl__where){ .field = field }, reader->at[field],
                             out);
}

bool pawl__reader_of_type(struct pawl__reader *reader, enum pawl__field field,
                          enum pawl__json_type type, const char *type_text)
{
    return pawl__reader_type(reader, &(struct pawl__where){ .field = field }, reader->at[field],
                             type, type_text);
}

/* Of two spellings of one thing: `first`, unless only the other stands in the options. */
enum pawl__field pawl__reader_choose(const struct pawl__reader *reader, enum pawl__field first,
                                     enum pawl__field second)
{
    uint64_t options = reader->in_options;
    if (!reader->at[second]) return reader->at[first] ? first : PAWL__FIELD_NONE;
    if (!reader->at[first]) return second;
    bool only_second = (options & PAWL__FIELD_BIT(second)) && !(options & PAWL__FIELD_BIT(first));
    return only_second ? second : first;
}

struct pawl_span pawl__reader_name(struct pawl__reader *reader, uint32_t name)
{
    const struct pawl__json_token *token = &reader->json->tokens[name];
    const char *at = reader->json->text.at + token->at + 1;
    if (token->count != token->len - 2) { // it has escapes
        at = pawl__json_string(reader->json, name, reader->arena, NULL);
    }
    return (struct pawl_span){ at, token->count };
}

/* ---- what has no effect ---- */

enum { NAME_SHOWN_MAX = 64 };

/* A refusal gets its place in a batch where the batch is refused, a warning here. */
static const char *path_of(struct pawl__reader *reader, const char *parent, struct pawl_span name)
{
    char batch[32] = "", path[160];
    if (!reader->rules->strict && reader->rules->index >= 0)
        snprintf(batch, sizeof batch, "jobs[%lld].", (long long)reader->rules->index);
    int shown = name.len < NAME_SHOWN_MAX ? (int)name.len : NAME_SHOWN_MAX;
    int len = snprintf(path, sizeof path, "%s%s%.*s", batch, parent, shown, name.at);
    return pawl__arena_dup(reader->arena, path, (size_t)len);
}

static bool refuse_strictly(struct pawl__reader *reader, const struct pawl__warning *warning)
{
    struct pawl__buf text = { 0 };
    pawl__warning_text(&text, warning);
    pawl__buf_add(&text, "", 1);
    if (text.failed) {
        pawl__reader_nomem(reader);
    } else {
        pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, warning->field, "\"%s\" %s",
                     warning->field, text.at);
    }
    pawl__buf_release(&text);
    return false;
}

bool pawl__reader_unknown(struct pawl__reader *reader, const char *parent, struct pawl_span name,
                          pawl__offer_fn *offer)
{
    struct pawl__warnings *warnings = reader->rules->warnings;
    bool strict = reader->rules->strict;
    if (pawl__is_extension(name.at, name.len) || (!strict && !warnings)) return true;
    if (!strict && warnings->count == PAWL__WARNINGS_MAX) {
        warnings->more++;
        return true;
    }
    struct pawl__nearest nearest = { .word = pawl__arena_dup(reader->arena, name.at, name.len) };
    struct pawl__warning warning = { .field = path_of(reader, parent, name), .misplaced = !offer };
    if (!nearest.word || !warning.field) return pawl__reader_nomem(reader);
    if (offer) offer(&nearest);
    warning.meant = nearest.best;
    if (strict) return refuse_strictly(reader, &warning);
    warnings->at[warnings->count++] = warning;
    return true;
}

/* ---- keeping ---- */

void pawl__reader_keep_span(struct pawl__reader *reader, struct pawl_span name,
                            struct pawl_span value)
{
    pawl__buf_add(&reader->extra, reader->extra.len ? "," : "{", 1);
    pawl__buf_add(&reader->extra, name.at, name.len);
    pawl__buf_add(&reader->extra, ":", 1);
    pawl__buf_add(&reader->extra, value.at, value.len);
}

void pawl__reader_keep_as(struct pawl__reader *reader, enum pawl__field field,
                          struct pawl_span value)
{
    char name[32];
    int len = snprintf(name, sizeof name, "\"%s\"", pawl__field_name(field));
    assert(pawl__field_flags(field) & PAWL__FIELD_KEPT);
    pawl__reader_keep_span(reader, (struct pawl_span){ name, (size_t)len }, value);
}

void pawl__reader_keep(struct pawl__reader *reader, enum pawl__field field)
{
    pawl__reader_keep_as(reader, field, pawl__json_span(reader->json, reader->at[field]));
}

void pawl__reader_keep_unless_plain(struct pawl__reader *reader, enum pawl__field field,
                                    int64_t value)
{
    char plain[24];
    int len = snprintf(plain, sizeof plain, "%lld", (long long)value);
    struct pawl_span span = pawl__json_span(reader->json, reader->at[field]);
    if (span.len != (size_t)len || memcmp(span.at, plain, span.len) != 0)
        pawl__reader_keep(reader, field);
}
