/* JSON to structs, by their shapes. Depth is bounded by the shapes, which do not contain
 * themselves. */
#include "base/diag.h"
#include "wire/inside.h"

#include <stdio.h>
#include <string.h>

/* Three bytes, "{},", may ask for a struct of five hundred: so what a request's lists take is
 * bounded, far above what honest ones need. */
#define ASKED_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct reader {
    struct pawl__json json;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
    bool strict;
    size_t list_bytes; /* that its lists took so far */
};

static enum pawl_err read_shape(struct reader *reader, uint32_t token,
                                const struct pawl__wire_shape *shape, void *at);

static enum pawl_err refuse(struct reader *reader, const char *name, const char *rule)
{
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, name, "\"%s\" %s", name, rule);
}

static enum pawl_err read_string(struct reader *reader, const char *name, uint32_t token,
                                 const char **out)
{
    size_t len;
    if (reader->json.tokens[token].type != PAWL__JSON_STRING) {
        return refuse(reader, name, "must be a string");
    }
    const char *text = pawl__json_string(&reader->json, token, reader->arena, &len);
    if (!text) return pawl__fail_nomem(reader->diag);
    if (strlen(text) != len) return refuse(reader, name, "must not hold NUL");
    *out = text;
    return PAWL_OK;
}

static enum pawl_err read_chars(struct reader *reader, const struct pawl__wire_field *field,
                                uint32_t token, char *at)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, field->name, token, &text);
    if (err) return err;
    if (strlen(text) >= field->extent) return refuse(reader, field->name, "is too long");
    memcpy(at, text, strlen(text) + 1);
    return PAWL_OK;
}

static enum pawl_err read_int(struct reader *reader, const char *name, uint32_t token, int64_t min,
                              int64_t max, int64_t *out)
{
    int64_t value;
    if (!pawl__json_int(&reader->json, token, &value) || value < min || value > max) {
        return refuse(reader, name, "must be a whole number that fits");
    }
    *out = value;
    return PAWL_OK;
}

static enum pawl_err read_int32(struct reader *reader, const char *name, uint32_t token,
                                int32_t *out)
{
    int64_t value = 0;
    enum pawl_err err = read_int(reader, name, token, INT32_MIN, INT32_MAX, &value);
    if (!err) *out = (int32_t)value;
    return err;
}

static enum pawl_err read_mask(struct reader *reader, const char *name, uint32_t token,
                               uint32_t *out)
{
    int64_t value = 0;
    enum pawl_err err = read_int(reader, name, token, 0, UINT32_MAX, &value);
    if (!err) *out = (uint32_t)value;
    return err;
}

static enum pawl_err read_bool(struct reader *reader, const char *name, uint32_t token, bool *out)
{
    enum pawl__json_type type = reader->json.tokens[token].type;
    if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return refuse(reader, name, "must be true or false");
    }
    *out = type == PAWL__JSON_TRUE;
    return PAWL_OK;
}

static enum pawl_err read_word(struct reader *reader, const struct pawl__wire_field *field,
                               uint32_t token, uint32_t *out)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, field->name, token, &text);
    if (err) return err;
    for (uint32_t i = 0; i < field->words->count; i++) {
        if (field->words->at[i] && strcmp(field->words->at[i], text) == 0) {
            *out = i;
            return PAWL_OK;
        }
    }
    return refuse(reader, field->name, "is not a word that is known");
}

static enum pawl_err read_id(struct reader *reader, const char *name, uint32_t token,
                             struct pawl_job_id *out)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, name, token, &text);
    if (err) return err;
    return pawl_job_id_parse(text, out) ? refuse(reader, name, "must be a UUID") : PAWL_OK;
}

static enum pawl_err read_id_at(struct reader *reader, const char *name, uint32_t token,
                                const struct pawl_job_id **out)
{
    struct pawl_job_id *id = pawl__arena_alloc(reader->arena, sizeof *id);
    if (!id) return pawl__fail_nomem(reader->diag);
    *out = id;
    return read_id(reader, name, token, id);
}

/* ---- lists ---- */

static size_t element_bytes(const struct pawl__wire_field *field)
{
    switch (field->kind) {
    case PAWL__WIRE_TEXTS:
        return sizeof(const char *);
    case PAWL__WIRE_IDS:
        return sizeof(struct pawl_job_id);
    case PAWL__WIRE_INT32S:
        return sizeof(int32_t);
    case PAWL__WIRE_ROW:
        return sizeof(int64_t);
    default:
        return field->shape->bytes;
    }
}

static enum pawl_err read_element(struct reader *reader, const struct pawl__wire_field *field,
                                  uint32_t token, void *at)
{
    switch (field->kind) {
    case PAWL__WIRE_TEXTS:
        return read_string(reader, field->name, token, at);
    case PAWL__WIRE_IDS:
        return read_id(reader, field->name, token, at);
    case PAWL__WIRE_INT32S:
        return read_int32(reader, field->name, token, at);
    case PAWL__WIRE_ROW:
        return read_int(reader, field->name, token, INT64_MIN, INT64_MAX, at);
    default:
        return read_shape(reader, token, field->shape, at);
    }
}

static enum pawl_err read_elements(struct reader *reader, const struct pawl__wire_field *field,
                                   uint32_t list, char *at)
{
    uint32_t token = pawl__json_first(list);
    for (uint32_t i = 0; i < reader->json.tokens[list].count; i++) {
        enum pawl_err err = read_element(reader, field, token, at);
        if (err) return err;
        at += element_bytes(field);
        token = reader->json.tokens[token].next;
    }
    return PAWL_OK;
}

static enum pawl_err read_list(struct reader *reader, const struct pawl__wire_field *field,
                               uint32_t token, char *base)
{
    const struct pawl__json_token *list = &reader->json.tokens[token];
    size_t count = list->count;
    if (list->type != PAWL__JSON_ARRAY) return refuse(reader, field->name, "must be an array");
    if (field->kind == PAWL__WIRE_ROW) {
        if (count > field->extent) return refuse(reader, field->name, "has too many members");
        return read_elements(reader, field, token, base + field->offset);
    }
    if (!count) return PAWL_OK;
    reader->list_bytes += count * element_bytes(field);
    if (reader->strict && reader->list_bytes > ASKED_BYTES_MAX) {
        return pawl__fail_field(reader->diag, PAWL_ERR_LIMIT, field->name,
                                "\"%s\" holds more than one request may", field->name);
    }
    char *at = pawl__arena_calloc(reader->arena, count, element_bytes(field));
    if (!at) return pawl__fail_nomem(reader->diag);
    memcpy(base + field->offset, &at, sizeof at);
    memcpy(base + field->count_offset, &count, sizeof count);
    return read_elements(reader, field, token, at);
}

/* ---- structs ---- */

static enum pawl_err read_value(struct reader *reader, const struct pawl__wire_field *field,
                                uint32_t token, char *base)
{
    void *at = base + field->offset;
    const char *name = field->name;
    switch (field->kind) {
    case PAWL__WIRE_TEXT:
    case PAWL__WIRE_NAME:
        return read_string(reader, name, token, at);
    case PAWL__WIRE_CHARS:
        return read_chars(reader, field, token, at);
    case PAWL__WIRE_INT64:
        return read_int(reader, name, token, INT64_MIN, INT64_MAX, at);
    case PAWL__WIRE_INT32:
        return read_int32(reader, name, token, at);
    case PAWL__WIRE_MASK:
        return read_mask(reader, name, token, at);
    case PAWL__WIRE_BOOL:
        return read_bool(reader, name, token, at);
    case PAWL__WIRE_DOUBLE:
        if (pawl__json_double(&reader->json, token, at)) return PAWL_OK;
        return refuse(reader, name, "must be a number");
    case PAWL__WIRE_WORD:
        return read_word(reader, field, token, at);
    case PAWL__WIRE_JSON:
        *(struct pawl_span *)at = pawl__json_span(&reader->json, token);
        return PAWL_OK;
    case PAWL__WIRE_ID:
        return read_id(reader, name, token, at);
    case PAWL__WIRE_ID_AT:
        return read_id_at(reader, name, token, at);
    case PAWL__WIRE_ONE:
        return read_shape(reader, token, field->shape, at);
    case PAWL__WIRE_ROW:
    case PAWL__WIRE_TEXTS:
    case PAWL__WIRE_IDS:
    case PAWL__WIRE_INT32S:
    case PAWL__WIRE_MANY:
        return read_list(reader, field, token, base);
    }
    return PAWL_OK;
}

/* What an absent member is: zero, and never NULL where the public structs promise that. */
static void clear(const struct pawl__wire_shape *shape, char *base)
{
    memset(base, 0, shape->bytes);
    for (size_t i = 0; i < shape->count; i++) {
        const struct pawl__wire_field *field = &shape->fields[i];
        char *at = base + field->offset;
        if (field->kind == PAWL__WIRE_NAME) *(const char **)at = "";
        if (field->kind == PAWL__WIRE_JSON) ((struct pawl_span *)at)->at = "";
        if (field->kind == PAWL__WIRE_ONE) clear(field->shape, at);
    }
}

static const struct pawl__wire_field *
find_field(const struct reader *reader, const struct pawl__wire_shape *shape, uint32_t token)
{
    struct pawl_span name = pawl__json_span(&reader->json, token); // with its quotes
    for (size_t i = 0; i < shape->count; i++) {
        const char *candidate = shape->fields[i].name;
        if (strlen(candidate) + 2 == name.len &&
            memcmp(candidate, name.at + 1, name.len - 2) == 0) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

static enum pawl_err refuse_unknown(struct reader *reader, uint32_t token)
{
    char name[40];
    struct pawl_span text = pawl__json_span(&reader->json, token);
    snprintf(name, sizeof name, "%.*s", (int)text.len - 2, text.at + 1);
    return refuse(reader, name, "is not known here");
}

/* Whether a struct whose first field says `word` has this field. */
static bool belongs(const struct pawl__wire_shape *shape, const struct pawl__wire_field *field,
                    uint32_t word)
{
    if (!shape->members || field == shape->fields) return true;
    const uint16_t *member = shape->members[word];
    while (member && *member && *member != field->offset) {
        member++;
    }
    return member && *member;
}

/* The word that such a struct begins with, wherever it stands in the object; 0: nowhere. */
static enum pawl_err read_first(struct reader *reader, uint32_t token,
                                const struct pawl__wire_shape *shape, uint32_t *out)
{
    uint32_t value = shape->members ? pawl__json_member(&reader->json, token, shape->fields[0].name)
                                    : 0;
    return value ? read_word(reader, &shape->fields[0], value, out) : PAWL_OK;
}

static enum pawl_err read_shape(struct reader *reader, uint32_t token,
                                const struct pawl__wire_shape *shape, void *at)
{
    const struct pawl__json_token *tokens = reader->json.tokens;
    uint32_t word = 0;
    if (tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__fail(reader->diag, PAWL_ERR_ARG, "this must be an object");
    }
    clear(shape, at);
    enum pawl_err err = read_first(reader, token, shape, &word);
    uint32_t name = pawl__json_first(token);
    for (uint32_t i = 0; !err && i < tokens[token].count; i++) {
        const struct pawl__wire_field *field = find_field(reader, shape, name);
        if (field && belongs(shape, field, word)) {
            err = read_value(reader, field, name + 1, at);
        } else if (reader->strict) {
            err = refuse_unknown(reader, name);
        }
        name = tokens[name + 1].next;
    }
    return err;
}

enum pawl_err pawl__wire_read(struct pawl_span text, const struct pawl__wire_shape *shape,
                              bool strict, struct pawl__arena *arena, void *out,
                              struct pawl_diag *diag)
{
    struct reader reader = { .arena = arena, .diag = diag, .strict = strict };
    enum pawl_err err = pawl__json_parse(text, PAWL__WIRE_DEPTH_MAX, arena, &reader.json, diag);
    return err ? err : read_shape(&reader, 0, shape, out);
}
