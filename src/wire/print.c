/* Structs to JSON, by their shapes. */
#include "wire/inside.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_text(struct pawl__buf *out, const char *text)
{
    pawl__buf_add_json(out, text, strlen(text));
}

static void print_id(struct pawl__buf *out, const struct pawl_job_id *id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(*id, text);
    print_text(out, text);
}

/* As many digits as it takes to get the same number back; a dot, whatever the locale says. */
static void print_double(struct pawl__buf *out, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", isfinite(value) ? value : 0);
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    pawl__buf_add_text(out, text);
}

static bool is_nil(const struct pawl_job_id *id)
{
    static const struct pawl_job_id nil;
    return memcmp(id, &nil, sizeof nil) == 0;
}

static double double_at(const char *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static size_t count_at(const struct pawl__wire_field *field, const char *base)
{
    size_t count;
    memcpy(&count, base + field->count_offset, sizeof count);
    return count;
}

/* Is there nothing to say? */
static bool is_absent(const struct pawl__wire_field *field, const char *base)
{
    const char *at = base + field->offset;
    switch (field->kind) {
    case PAWL__WIRE_TEXT:
        return !*(const char *const *)at;
    case PAWL__WIRE_NAME:
        return !*(const char *const *)at || !**(const char *const *)at;
    case PAWL__WIRE_CHARS:
        return !*at;
    case PAWL__WIRE_INT64:
        return !*(const int64_t *)at;
    case PAWL__WIRE_INT32:
        return !*(const int32_t *)at;
    case PAWL__WIRE_MASK:
    case PAWL__WIRE_WORD:
        return !*(const uint32_t *)at;
    case PAWL__WIRE_BOOL:
        return !*(const bool *)at;
    case PAWL__WIRE_DOUBLE:
        return double_at(at) == 0;
    case PAWL__WIRE_JSON:
        return !((const struct pawl_span *)at)->len;
    case PAWL__WIRE_ID:
        return is_nil((const struct pawl_job_id *)at);
    case PAWL__WIRE_ID_AT:
        return !*(const struct pawl_job_id *const *)at;
    case PAWL__WIRE_ONE:
    case PAWL__WIRE_ROW:
        return false;
    case PAWL__WIRE_TEXTS:
    case PAWL__WIRE_IDS:
    case PAWL__WIRE_INT32S:
    case PAWL__WIRE_MANY:
        return !count_at(field, base);
    }
    return true;
}

/* The i-th of a list. */
static void print_element(struct pawl__buf *out, const struct pawl__wire_field *field,
                          const void *list, size_t i)
{
    if (field->kind == PAWL__WIRE_TEXTS) {
        print_text(out, ((const char *const *)list)[i]);
    } else if (field->kind == PAWL__WIRE_IDS) {
        print_id(out, (const struct pawl_job_id *)list + i);
    } else if (field->kind == PAWL__WIRE_INT32S) {
        pawl__buf_add_int(out, ((const int32_t *)list)[i]);
    } else if (field->kind == PAWL__WIRE_ROW) {
        pawl__buf_add_int(out, ((const int64_t *)list)[i]);
    } else {
        pawl__wire_print(out, field->shape, (const char *)list + i * field->shape->bytes);
    }
}

static void print_list(struct pawl__buf *out, const struct pawl__wire_field *field,
                       const void *list, size_t count)
{
    pawl__buf_add_text(out, "[");
    for (size_t i = 0; i < count && !out->failed; i++) {
        if (i) pawl__buf_add_text(out, ",");
        print_element(out, field, list, i);
    }
    pawl__buf_add_text(out, "]");
}

static void print_word(struct pawl__buf *out, const struct pawl__wire_words *words, uint32_t number)
{
    assert(number < words->count && words->at[number]);
    print_text(out, words->at[number]);
}

static void print_value(struct pawl__buf *out, const struct pawl__wire_field *field,
                        const char *base)
{
    const char *at = base + field->offset;
    const struct pawl_span *span = (const struct pawl_span *)at;
    switch (field->kind) {
    case PAWL__WIRE_TEXT:
    case PAWL__WIRE_NAME:
        print_text(out, *(const char *const *)at);
        break;
    case PAWL__WIRE_CHARS:
        print_text(out, at);
        break;
    case PAWL__WIRE_INT64:
        pawl__buf_add_int(out, *(const int64_t *)at);
        break;
    case PAWL__WIRE_INT32:
        pawl__buf_add_int(out, *(const int32_t *)at);
        break;
    case PAWL__WIRE_MASK:
        pawl__buf_add_int(out, *(const uint32_t *)at);
        break;
    case PAWL__WIRE_BOOL:
        pawl__buf_add_text(out, "true");
        break;
    case PAWL__WIRE_DOUBLE:
        print_double(out, double_at(at));
        break;
    case PAWL__WIRE_WORD:
        print_word(out, field->words, *(const uint32_t *)at);
        break;
    case PAWL__WIRE_JSON:
        pawl__buf_add(out, span->at, span->len);
        break;
    case PAWL__WIRE_ID:
        print_id(out, (const struct pawl_job_id *)at);
        break;
    case PAWL__WIRE_ID_AT:
        print_id(out, *(const struct pawl_job_id *const *)at);
        break;
    case PAWL__WIRE_ONE:
        pawl__wire_print(out, field->shape, at);
        break;
    case PAWL__WIRE_ROW:
        print_list(out, field, at, field->extent);
        break;
    case PAWL__WIRE_TEXTS:
    case PAWL__WIRE_IDS:
    case PAWL__WIRE_INT32S:
    case PAWL__WIRE_MANY:
        print_list(out, field, *(const void *const *)at, count_at(field, base));
        break;
    }
}

void pawl__wire_print(struct pawl__buf *out, const struct pawl__wire_shape *shape, const void *at)
{
    bool any = false;
    pawl__buf_add_text(out, "{");
    for (size_t i = 0; i < shape->count && !out->failed; i++) {
        const struct pawl__wire_field *field = &shape->fields[i];
        if (is_absent(field, at)) continue;
        size_t before = out->len;
        pawl__buf_printf(out, "%s\"%s\":", any ? "," : "", field->name);
        size_t value = out->len;
        print_value(out, field, at);
        if (field->kind == PAWL__WIRE_ONE && !out->failed && out->len == value + 2) {
            out->len = before; // "{}": all of it is zero
        } else {
            any = true;
        }
    }
    pawl__buf_add_text(out, "}");
}
