/* Structs to JSON, by their shapes. */
#include "base/decimal.h"
#include "base/shape.h"
#include "base/time_text.h"

#include <pawl/pawl.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 60 };

static const char *place_of(const struct pawl__member *member, const void *base)
{
    return (const char *)(member->at ? member->at : base) + member->offset;
}

static size_t count_of(const struct pawl__member *member, const void *base)
{
    size_t count;
    memcpy(&count, (const char *)(member->at ? member->at : base) + member->count_offset,
           sizeof count);
    return count;
}

static double real_at(const char *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- what is absent ---- */

static bool is_nil(const struct pawl_job_id *id)
{
    static const struct pawl_job_id nil;
    return memcmp(id, &nil, sizeof nil) == 0;
}

static bool is_clear(const char *at, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && !at[i]) {
        i++;
    }
    return i == bytes;
}

static bool is_zero(const struct pawl__member *member, const void *base)
{
    const char *at = place_of(member, base);
    switch ((enum pawl__as)member->kind) {
    case PAWL__AS_TEXT:
        return !*(const char *const *)at;
    case PAWL__AS_NAME:
        return !*(const char *const *)at || !**(const char *const *)at;
    case PAWL__AS_CHARS:
        return !*at;
    case PAWL__AS_INT64:
    case PAWL__AS_INSTANT:
    case PAWL__AS_DURATION:
    case PAWL__AS_SECONDS:
    case PAWL__AS_PERIOD:
        return !*(const int64_t *)at;
    case PAWL__AS_INT32:
        return !*(const int32_t *)at;
    case PAWL__AS_MASK:
    case PAWL__AS_SET:
    case PAWL__AS_SWITCH:
    case PAWL__AS_WORD:
        return !*(const uint32_t *)at;
    case PAWL__AS_BOOL:
        return !*(const bool *)at;
    case PAWL__AS_REAL:
        return real_at(at) == 0;
    case PAWL__AS_JSON:
    case PAWL__AS_ARRAY:
    case PAWL__AS_OBJECT:
        return !((const struct pawl_span *)at)->len;
    case PAWL__AS_ID:
        return is_nil((const struct pawl_job_id *)at);
    case PAWL__AS_ID_AT:
        return !*(const struct pawl_job_id *const *)at;
    case PAWL__AS_TEXTS:
    case PAWL__AS_IDS:
    case PAWL__AS_INT32S:
    case PAWL__AS_MANY:
        return !count_of(member, base);
    case PAWL__AS_NOTHING:
        return true;
    case PAWL__AS_ONE:
    case PAWL__AS_OWN:
        return member->extent &&
               is_clear((const char *)base + member->count_offset, member->extent);
    case PAWL__AS_PART:
    case PAWL__AS_ROW:
        break;
    }
    return false;
}

static bool is_empty(const struct pawl__member *member, const void *base)
{
    const char *at = place_of(member, base);
    if (!(member->flags & PAWL__NEGATIVE)) return is_zero(member, base);
    return member->kind == PAWL__AS_REAL ? real_at(at) < 0 : *(const int64_t *)at < 0;
}

/* Kinds that have no form for an empty value are omitted even if they are marked ALWAYS. */
static bool is_absent(const struct pawl__member *member, const void *base)
{
    if (member->flags & PAWL__ALIAS) return true;
    if (member->flags & PAWL__NULLABLE || !is_empty(member, base)) return false;
    return !(member->flags & PAWL__ALWAYS) || member->flags & PAWL__NEGATIVE ||
           member->kind == PAWL__AS_TEXT || member->kind == PAWL__AS_ID_AT ||
           member->kind == PAWL__AS_JSON || member->kind == PAWL__AS_NOTHING ||
           member->kind == PAWL__AS_ONE || member->kind == PAWL__AS_OWN;
}

/* ---- values ---- */

static void print_text(struct pawl__buf *out, const char *text)
{
    pawl__buf_add_json(out, text ? text : "", text ? strlen(text) : 0);
}

static void print_id(struct pawl__buf *out, const struct pawl_job_id *id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES + 1] = "\""; // the NUL makes room for the other quote
    pawl_job_id_text(*id, text + 1);
    text[sizeof text - 1] = '"';
    pawl__buf_add(out, text, sizeof text);
}

static void print_real(struct pawl__buf *out, double value, uint32_t digits)
{
    if (!isfinite(value)) value = 0;
    if (digits) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", (int)digits, value);
        char *comma = strchr(text, ','); // as some locales have it
        if (comma) *comma = '.';
        pawl__buf_add_text(out, text);
    } else {
        pawl__decimal_print(value, out);
    }
}

void pawl__buf_add_iso_duration(struct pawl__buf *out, int64_t ms)
{
    pawl__buf_add_text(out, "PT");
    pawl__buf_add_int(out, ms / 1000);
    if (ms % 1000) {
        char fraction[8];
        int len = snprintf(fraction, sizeof fraction, ".%03d", (int)(ms % 1000));
        while (fraction[len - 1] == '0') {
            len--;
        }
        pawl__buf_add(out, fraction, (size_t)len);
    }
    pawl__buf_add_text(out, "S");
}

static void print_duration(struct pawl__buf *out, int64_t ms)
{
    pawl__buf_add_text(out, "\"");
    pawl__buf_add_iso_duration(out, ms);
    pawl__buf_add_text(out, "\"");
}

static void print_instant(struct pawl__buf *out, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES + 1] = "\"";
    pawl__instant_text(at_ms, text + 1);
    size_t len = strlen(text);
    text[len++] = '"';
    pawl__buf_add(out, text, len);
}

/* The value is valid JSON, so only quotes need to be tracked. */
static void print_compact(struct pawl__buf *out, struct pawl_span value)
{
    bool quoted = false;
    size_t from = 0;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.at[i];
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            pawl__buf_add(out, value.at + from, i - from);
            from = i + 1;
        }
    }
    if (value.len > from) pawl__buf_add(out, value.at + from, value.len - from);
}

static void print_span(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                       struct pawl_span value)
{
    if (!value.len) {
        pawl__buf_add_text(writer->out, member->kind == PAWL__AS_ARRAY ? "[]" : "{}");
    } else if (writer->compact) {
        print_compact(writer->out, value);
    } else {
        pawl__buf_add(writer->out, value.at, value.len);
    }
}

static void print_word(struct pawl__buf *out, const struct pawl__words *words, uint32_t number)
{
    assert(number < words->count && words->at[number]);
    print_text(out, words->at[number]);
}

static void print_set(struct pawl__buf *out, const struct pawl__words *words, uint32_t set)
{
    const char *before = "";
    pawl__buf_add_text(out, "[");
    for (uint32_t i = 0; i < words->count; i++) {
        if (!(set >> i & 1) || !words->at[i]) continue;
        pawl__buf_add_text(out, before);
        print_text(out, words->at[i]);
        before = ",";
    }
    pawl__buf_add_text(out, "]");
}

/* ---- lists ---- */

/* Prints element i of a list. */
static void print_element(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *list, size_t i)
{
    switch ((enum pawl__as)member->kind) {
    case PAWL__AS_TEXTS:
        print_text(writer->out, ((const char *const *)list)[i]);
        break;
    case PAWL__AS_IDS:
        print_id(writer->out, (const struct pawl_job_id *)list + i);
        break;
    case PAWL__AS_INT32S:
        pawl__buf_add_int(writer->out, ((const int32_t *)list)[i]);
        break;
    case PAWL__AS_ROW:
        pawl__buf_add_int(writer->out, ((const int64_t *)list)[i]);
        break;
    default:
        pawl__shape_print(writer, member->shape, (const char *)list + i * member->shape->bytes);
        break;
    }
}

static void print_list(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                       const void *list, size_t count)
{
    pawl__buf_add(writer->out, "[", 1);
    for (size_t i = 0; i < count && !writer->out->failed; i++) {
        if (i) pawl__buf_add(writer->out, ",", 1);
        print_element(writer, member, list, i);
    }
    pawl__buf_add(writer->out, "]", 1);
}

void pawl__shape_print_list(const struct pawl__shape_writer *writer,
                            const struct pawl__shape *shape, const void *list, size_t count)
{
    struct pawl__member member = { .kind = PAWL__AS_MANY, .shape = shape };
    print_list(writer, &member, list, count);
}

/* ---- members ---- */

static void print_value(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                        const void *base)
{
    struct pawl__buf *out = writer->out;
    const char *at = place_of(member, base);
    if (member->flags & PAWL__NULLABLE && is_empty(member, base)) {
        pawl__buf_add_text(out, "null");
        return;
    }
    switch ((enum pawl__as)member->kind) {
    case PAWL__AS_TEXT:
    case PAWL__AS_NAME:
        print_text(out, *(const char *const *)at);
        break;
    case PAWL__AS_CHARS:
        print_text(out, at);
        break;
    case PAWL__AS_INT64:
        pawl__buf_add_int(out, *(const int64_t *)at);
        break;
    case PAWL__AS_INT32:
        pawl__buf_add_int(out, *(const int32_t *)at);
        break;
    case PAWL__AS_MASK:
        pawl__buf_add_int(out, *(const uint32_t *)at);
        break;
    case PAWL__AS_SET:
        print_set(out, member->words, *(const uint32_t *)at);
        break;
    case PAWL__AS_BOOL:
        pawl__buf_add_text(out, *(const bool *)at ? "true" : "false");
        break;
    case PAWL__AS_SWITCH:
        pawl__buf_add_text(out, *(const uint32_t *)at == 1 ? "true" : "false");
        break;
    case PAWL__AS_REAL:
        print_real(out, real_at(at), member->extent);
        break;
    case PAWL__AS_WORD:
        print_word(out, member->words, *(const uint32_t *)at);
        break;
    case PAWL__AS_INSTANT:
        print_instant(out, *(const int64_t *)at);
        break;
    case PAWL__AS_DURATION:
    case PAWL__AS_SECONDS:
    case PAWL__AS_PERIOD:
        print_duration(out, *(const int64_t *)at);
        break;
    case PAWL__AS_JSON:
    case PAWL__AS_ARRAY:
    case PAWL__AS_OBJECT:
        print_span(writer, member, *(const struct pawl_span *)at);
        break;
    case PAWL__AS_ID:
        print_id(out, (const struct pawl_job_id *)at);
        break;
    case PAWL__AS_ID_AT:
        print_id(out, *(const struct pawl_job_id *const *)at);
        break;
    case PAWL__AS_ONE:
        pawl__shape_print(writer, member->shape, at);
        break;
    case PAWL__AS_ROW:
        print_list(writer, member, at, member->extent);
        break;
    case PAWL__AS_TEXTS:
    case PAWL__AS_IDS:
    case PAWL__AS_INT32S:
    case PAWL__AS_MANY:
        print_list(writer, member, *(const void *const *)at, count_of(member, base));
        break;
    case PAWL__AS_OWN:
        member->print(writer, member, member->at ? member->at : base);
        break;
    case PAWL__AS_PART:
    case PAWL__AS_NOTHING:
        break;
    }
}

/* At once if it is short, as names in tables are: this is the most frequent call. */
static void print_name(struct pawl__buf *out, const struct pawl__member *member, bool comma)
{
    char text[NAME_BYTES_MAX + 4], *at = text;
    size_t len = member->len ? member->len : strlen(member->name);
    bool fits = len <= NAME_BYTES_MAX;
    if (comma) *at++ = ',';
    *at++ = '"';
    if (fits) {
        memcpy(at, member->name, len);
        at += len;
    } else {
        pawl__buf_add(out, text, (size_t)(at - text));
        pawl__buf_add(out, member->name, len);
        at = text;
    }
    *at++ = '"';
    *at++ = ':';
    pawl__buf_add(out, text, (size_t)(at - text));
}

/* Prints a member, or nothing if its value turns out to be empty. */
static void print_member(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base, bool *any)
{
    struct pawl__buf *out = writer->out;
    size_t before = out->len;
    if (member->kind == PAWL__AS_PART) {
        pawl__shape_print_members(writer, member->shape, place_of(member, base), any);
        return;
    }
    print_name(out, member, *any);
    size_t value = out->len;
    print_value(writer, member, base);
    bool empty = member->kind == PAWL__AS_ONE ? out->len == value + 2 : out->len == value;
    if (empty && !(member->flags & PAWL__ALWAYS)) {
        out->len = before;
    } else {
        *any = true;
    }
}

void pawl__shape_print_members(const struct pawl__shape_writer *writer,
                               const struct pawl__shape *shape, const void *base, bool *any)
{
    for (size_t i = 0; i < shape->count && !writer->out->failed; i++) {
        const struct pawl__member *member = &shape->members[i];
        bool named = member->len || member->at || member->kind == PAWL__AS_PART;
        if (!named || is_absent(member, base)) continue;
        if (shape->index && member->len &&
            pawl__shape_find(shape, member->name, member->len) != member) {
            continue; // an earlier one has its name
        }
        print_member(writer, member, base, any);
    }
}

void pawl__shape_print(const struct pawl__shape_writer *writer, const struct pawl__shape *shape,
                       const void *at)
{
    bool any = false;
    pawl__buf_add(writer->out, "{", 1);
    pawl__shape_print_members(writer, shape, at, &any);
    pawl__buf_add(writer->out, "}", 1);
}

void pawl__members_print(const struct pawl__shape_writer *writer,
                         const struct pawl__member *members, size_t count)
{
    struct pawl__shape shape = { .members = members, .count = count };
    pawl__shape_print(writer, &shape, "");
}
