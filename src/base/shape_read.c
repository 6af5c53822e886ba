/* JSON to structs, by their shapes. Depth is bounded by the parser. */
#include "base/check.h"
#include "base/diag.h"
#include "base/json_inside.h"
#include "base/nearest.h"
#include "base/shape.h"
#include "base/time_text.h"

#include <pawl/pawl.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES_MAX = 64, PATH_DEPTH_MAX = 8, FEW_WORDS = 8 };

/* ---- errors ---- */

/* "options.retry.jitter", or "jitter" if paths are not wanted. */
static void path_of(const struct pawl__shape_reader *reader, const char *name, char *out,
                    size_t bytes)
{
    const struct pawl__member *around[PATH_DEPTH_MAX] = { NULL };
    size_t depth = 0, len = 0;
    if (reader->paths && reader->prefix) {
        len = (size_t)snprintf(out, bytes, "%s%s", reader->prefix,
                               *name || reader->inside ? "." : "");
    }
    for (const struct pawl__shape_frame *frame = reader->inside; frame && reader->paths;
         frame = frame->up) {
        if (depth < PATH_DEPTH_MAX) around[depth++] = frame->member;
    }
    while (depth && len < bytes) {
        len += (size_t)snprintf(out + len, bytes - len, "%s.", around[--depth]->name);
    }
    if (len < bytes) snprintf(out + len, bytes - len, "%s", name);
}

static enum pawl_err refuse(struct pawl__shape_reader *reader, const char *name, const char *rule)
{
    char path[sizeof reader->diag->field];
    const char *quote = reader->plain_names ? "" : "\"";
    path_of(reader, name, path, sizeof path);
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, path, "%s%s%s %s", quote, path, quote,
                            rule);
}

enum pawl_err pawl__shape_refuse(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, const char *format, ...)
{
    char rule[sizeof reader->diag->text];
    va_list args;
    va_start(args, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above
    vsnprintf(rule, sizeof rule, format, args);
    va_end(args);
    return refuse(reader, member->name, rule);
}

/* ---- names ---- */

static uint32_t slot_of(const char *name, size_t len)
{
    const unsigned char *at = (const unsigned char *)name;
    return (uint32_t)(len * 89 + at[0] * 7U + at[len / 2] * 31U + at[len - 1] * 13U) %
           PAWL__SHAPE_SLOTS;
}

static bool is_named(const struct pawl__member *member, const char *name, size_t len)
{
    return member->len == len && memcmp(member->name, name, len) == 0;
}

/* Threads may build the same index concurrently: all write the same values in the same order, so a
 * slot that is already taken holds this member or an earlier one. */
static void build(const struct pawl__shape *shape)
{
    assert(shape->count <= PAWL__SHAPE_MEMBERS_MAX);
    for (size_t i = 0; i < shape->count; i++) {
        const struct pawl__member *member = &shape->members[i];
        if (!member->len) continue;
        for (uint32_t slot = slot_of(member->name, member->len);; slot = (slot + 1) % 256) {
            uint8_t place = atomic_load_explicit(&shape->index->slots[slot], memory_order_relaxed);
            if (!place) {
                atomic_store_explicit(&shape->index->slots[slot], (uint8_t)(i + 1),
                                      memory_order_relaxed);
                break;
            }
            if (is_named(&shape->members[place - 1], member->name, member->len)) break;
        }
    }
    atomic_store_explicit(&shape->index->built, true, memory_order_release);
}

const struct pawl__member *pawl__shape_find(const struct pawl__shape *shape, const char *name,
                                            size_t len)
{
    if (!len) return NULL;
    if (!shape->index) {
        for (size_t i = 0; i < shape->count; i++) {
            if (is_named(&shape->members[i], name, len)) return &shape->members[i];
        }
        return NULL;
    }
    if (!atomic_load_explicit(&shape->index->built, memory_order_acquire)) build(shape);
    for (uint32_t slot = slot_of(name, len);; slot = (slot + 1) % PAWL__SHAPE_SLOTS) {
        uint8_t place = atomic_load_explicit(&shape->index->slots[slot], memory_order_relaxed);
        if (!place) return NULL;
        if (is_named(&shape->members[place - 1], name, len)) return &shape->members[place - 1];
    }
}

static const struct pawl__member *find_token(const struct pawl__shape_reader *reader,
                                             const struct pawl__shape *shape, uint32_t token)
{
    const struct pawl__json_token *name = &reader->json.tokens[token];
    char plain[NAME_BYTES_MAX];
    if (name->count == name->len - 2) {
        return pawl__shape_find(shape, reader->json.text.at + name->at + 1, name->count);
    }
    if (name->count > sizeof plain) return NULL;
    pawl__json_unescape(&reader->json, token, plain);
    return pawl__shape_find(shape, plain, name->count);
}

const char *pawl__shape_nearest(const struct pawl__shape *shape, const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    for (size_t i = 0; i < shape->count; i++) {
        const struct pawl__member *member = &shape->members[i];
        if (member->len && member->kind != PAWL__AS_NOTHING) {
            pawl__nearest_offer(&nearest, member->name);
        }
    }
    return nearest.best;
}

/* ---- scalars ---- */

static enum pawl_err read_string(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token,
                                 const char **out)
{
    size_t len;
    if (reader->json.tokens[token].type != PAWL__JSON_STRING) {
        return refuse(reader, member->name, "must be a string");
    }
    const char *text = pawl__json_string(&reader->json, token, reader->arena, &len);
    if (!text) return pawl__fail_nomem(reader->diag);
    if (strlen(text) != len) {
        return refuse(reader, member->name, "must be a string without NUL characters");
    }
    *out = text;
    return PAWL_OK;
}

static bool is_within(const struct pawl__member *member, int64_t value)
{
    return (!member->min && !member->max) || (value >= member->min && value <= member->max);
}

/* Checks a length, counted in `unit`. */
static enum pawl_err check_length(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, size_t len, const char *unit)
{
    if (is_within(member, (int64_t)len)) return PAWL_OK;
    return pawl__shape_refuse(reader, member, "must have %" PRId64 " to %" PRId64 " %s",
                              member->min, member->max, unit);
}

static enum pawl_err read_text(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, const char **out)
{
    enum pawl_err err = read_string(reader, member, token, out);
    if (!err) err = check_length(reader, member, strlen(*out), "bytes");
    if (err || !member->pattern || member->pattern->matches(*out)) return err;
    return refuse(reader, member->name, member->pattern->rule);
}

static enum pawl_err read_chars(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, char *at)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err) return err;
    if (strlen(text) >= member->extent) return refuse(reader, member->name, "is too long");
    memcpy(at, text, strlen(text) + 1);
    return PAWL_OK;
}

/* Refuses 0 if the member must not be 0. */
static enum pawl_err check_zero(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, bool is_zero)
{
    if (!is_zero || !(member->flags & PAWL__NOT_ZERO)) return PAWL_OK;
    return refuse(reader, member->name, "must be above zero");
}

static enum pawl_err read_int(struct pawl__shape_reader *reader, const struct pawl__member *member,
                              uint32_t token, int64_t *out)
{
    int64_t min = member->min, max = member->max, value;
    if (!min && !max) {
        min = member->kind == PAWL__AS_MASK ? 0 : INT32_MIN;
        max = member->kind == PAWL__AS_MASK ? UINT32_MAX : INT32_MAX;
        if (member->kind == PAWL__AS_INT64) min = INT64_MIN, max = INT64_MAX;
    }
    if (!pawl__json_int(&reader->json, token, &value) || value < min || value > max) {
        if (min == INT64_MIN) return refuse(reader, member->name, "must be a whole number");
        return pawl__shape_refuse(reader, member,
                                  "must be a whole number from %" PRId64 " to %" PRId64, min, max);
    }
    *out = value;
    return check_zero(reader, member, value == 0);
}

static enum pawl_err read_int32(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, void *out)
{
    int64_t value = 0;
    enum pawl_err err = read_int(reader, member, token, &value);
    uint32_t bits = (uint32_t)value; // of either sign
    if (!err) memcpy(out, &bits, sizeof bits);
    return err;
}

static enum pawl_err read_real(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, double *out)
{
    double value;
    if (!pawl__json_double(&reader->json, token, &value)) {
        return refuse(reader, member->name, "must be a number");
    }
    if (member->min && value < (double)member->min) {
        return pawl__shape_refuse(reader, member, "must be at least %" PRId64, member->min);
    }
    *out = value;
    return check_zero(reader, member, value == 0);
}

static enum pawl_err read_bool(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, bool *out)
{
    enum pawl__json_type type = reader->json.tokens[token].type;
    int64_t number;
    if (reader->bits_are_bools && pawl__json_int(&reader->json, token, &number) && number >= 0 &&
        number <= 1) {
        *out = number == 1;
        return PAWL_OK;
    }
    if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return refuse(reader, member->name, "must be true or false");
    }
    *out = type == PAWL__JSON_TRUE;
    return PAWL_OK;
}

static enum pawl_err read_switch(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, uint32_t *out)
{
    bool on = false;
    enum pawl_err err = read_bool(reader, member, token, &on);
    if (!err) *out = on ? 1 : 2;
    return err;
}

/* ---- words ---- */

static bool find_word(const struct pawl__words *words, const char *text, uint32_t *out)
{
    int (*compare)(const char *, const char *) = words->any_case ? strcasecmp : strcmp;
    if (words->other && compare(words->other, text) == 0) {
        *out = words->other_is;
        return true;
    }
    for (uint32_t i = 0; i < words->count; i++) {
        if (!words->at[i] || compare(words->at[i], text) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

/* "must be red, green or blue, not "pink"" */
static enum pawl_err refuse_word(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, const char *given,
                                 const char *must_be, const char *last)
{
    const struct pawl__words *words = member->words;
    char rule[sizeof reader->diag->text];
    uint32_t count = 0, done = 0;
    for (uint32_t i = 0; i < words->count; i++) {
        count += words->at[i] != NULL;
    }
    size_t len = (size_t)snprintf(rule, sizeof rule, "%s %s", must_be,
                                  count > FEW_WORDS ? "known words" : "");
    for (uint32_t i = 0; i < words->count && len < sizeof rule; i++) {
        if (!words->at[i] || count > FEW_WORDS) continue;
        const char *before = !done ? "" : done + 1 < count ? ", " : last;
        len += (size_t)snprintf(rule + len, sizeof rule - len, "%s%s", before, words->at[i]);
        done++;
    }
    if (len < sizeof rule) {
        snprintf(rule + len, sizeof rule - len, ", not \"%s\"", pawl__quote(given).text);
    }
    return refuse(reader, member->name, rule);
}

static enum pawl_err read_word(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, uint32_t *out)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err || find_word(member->words, text, out)) return err;
    return refuse_word(reader, member, text, "must be", " or ");
}

static enum pawl_err read_set(struct pawl__shape_reader *reader, const struct pawl__member *member,
                              uint32_t token, uint32_t *out)
{
    const struct pawl__json_token *list = &reader->json.tokens[token];
    uint32_t set = 0, child = pawl__json_first(token);
    if (list->type != PAWL__JSON_ARRAY) {
        return refuse(reader, member->name, "must be an array of strings");
    }
    for (uint32_t i = 0; i < list->count; i++, child = reader->json.tokens[child].next) {
        const char *text = "";
        uint32_t bit = 0;
        enum pawl_err err = read_string(reader, member, child, &text);
        if (err) return err;
        if (!find_word(member->words, text, &bit)) {
            return refuse_word(reader, member, text, "must be some of", " and ");
        }
        assert(bit < 32);
        set |= UINT32_C(1) << bit;
    }
    *out = set;
    return PAWL_OK;
}

/* ---- time ---- */

static enum pawl_err read_duration(struct pawl__shape_reader *reader,
                                   const struct pawl__member *member, uint32_t token, int64_t *out)
{
    bool of_seconds = member->kind == PAWL__AS_SECONDS;
    const char *text = "";
    int64_t ms;
    if (of_seconds && reader->json.tokens[token].type != PAWL__JSON_STRING) {
        if (!pawl__json_int(&reader->json, token, &ms) || ms < 0 || ms > INT64_MAX / 1000) {
            return refuse(reader, member->name,
                          "must be a number of seconds or a duration such as \"5s\"");
        }
        *out = ms * 1000;
        return check_zero(reader, member, ms == 0);
    }
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err) return err;
    if (pawl__duration_parse(text, &ms)) {
        return refuse(reader, member->name, "must be a duration such as \"5s\" or \"PT5S\"");
    }
    *out = ms;
    return check_zero(reader, member, ms == 0);
}

static enum pawl_err read_period(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, int64_t *out)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err) return err;
    if (pawl__iso_duration_parse(text, out)) {
        return refuse(reader, member->name, "must be an ISO 8601 duration such as \"PT1.5S\"");
    }
    return check_zero(reader, member, *out == 0);
}

static enum pawl_err read_instant(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, uint32_t token, int64_t *out)
{
    const char *text = "";
    int64_t ms;
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err) return err;
    if (reader->now_ms && text[0] == '+' && !pawl__duration_parse(text + 1, &ms)) {
        *out = reader->now_ms + ms;
        return PAWL_OK;
    }
    if (!pawl__instant_parse(text, out)) return PAWL_OK;
    return refuse(reader, member->name, "must be an instant such as \"2030-01-31T08:00:00Z\"");
}

/* ---- payloads and ids ---- */

static enum pawl_err read_span(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, struct pawl_span *out)
{
    enum pawl__json_type type = reader->json.tokens[token].type;
    if (member->kind == PAWL__AS_ARRAY && type != PAWL__JSON_ARRAY) {
        return refuse(reader, member->name, "must be an array");
    }
    if (member->kind == PAWL__AS_OBJECT && type != PAWL__JSON_OBJECT) {
        return refuse(reader, member->name, "must be an object");
    }
    *out = pawl__json_span(&reader->json, token);
    return PAWL_OK;
}

static enum pawl_err read_id(struct pawl__shape_reader *reader, const struct pawl__member *member,
                             uint32_t token, struct pawl_job_id *out)
{
    const char *text = "";
    enum pawl_err err = read_string(reader, member, token, &text);
    if (err || !pawl_job_id_parse(text, out)) return err;
    return refuse(reader, member->name, "must be a UUID");
}

static enum pawl_err read_id_at(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token,
                                const struct pawl_job_id **out)
{
    struct pawl_job_id *id = pawl__arena_alloc(reader->arena, sizeof *id);
    if (!id) return pawl__fail_nomem(reader->diag);
    enum pawl_err err = read_id(reader, member, token, id);
    if (!err) *out = id;
    return err;
}

/* ---- lists ---- */

static size_t element_bytes(const struct pawl__member *member)
{
    switch (member->kind) {
    case PAWL__AS_TEXTS:
        return sizeof(const char *);
    case PAWL__AS_IDS:
        return sizeof(struct pawl_job_id);
    case PAWL__AS_INT32S:
        return sizeof(int32_t);
    case PAWL__AS_ROW:
        return sizeof(int64_t);
    default:
        return member->shape->bytes;
    }
}

/* Reads the object in a member. */
static enum pawl_err read_inside(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *at)
{
    struct pawl__shape_frame frame = { .up = reader->inside, .member = member };
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return refuse(reader, member->name, "must be an object");
    }
    reader->inside = &frame;
    enum pawl_err err = pawl__shape_read(reader, member->shape, token, at);
    reader->inside = frame.up;
    return err;
}

static enum pawl_err read_element(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, uint32_t token, void *at)
{
    struct pawl__member number = { .name = member->name, .kind = PAWL__AS_INT64 };
    switch (member->kind) {
    case PAWL__AS_TEXTS:
        if (member->flags & PAWL__NOT_ZERO && !reader->json.tokens[token].count) {
            return refuse(reader, member->name, "must be an array of strings that are not empty");
        }
        return read_string(reader, member, token, at);
    case PAWL__AS_IDS:
        return read_id(reader, member, token, at);
    case PAWL__AS_INT32S:
        number.kind = PAWL__AS_INT32;
        return read_int32(reader, &number, token, at);
    case PAWL__AS_ROW:
        return read_int(reader, &number, token, at);
    default:
        pawl__shape_clear(member->shape, at);
        return read_inside(reader, member, token, at);
    }
}

static enum pawl_err read_elements(struct pawl__shape_reader *reader,
                                   const struct pawl__member *member, uint32_t list, char *at)
{
    uint32_t token = pawl__json_first(list);
    for (uint32_t i = 0; i < reader->json.tokens[list].count; i++) {
        enum pawl_err err = read_element(reader, member, token, at);
        if (err) return err;
        at += element_bytes(member);
        token = reader->json.tokens[token].next;
    }
    return PAWL_OK;
}

static enum pawl_err read_row(struct pawl__shape_reader *reader, const struct pawl__member *member,
                              uint32_t token, char *at)
{
    const struct pawl__json_token *list = &reader->json.tokens[token];
    if (list->type != PAWL__JSON_ARRAY) return refuse(reader, member->name, "must be an array");
    if (list->count > member->extent) {
        return refuse(reader, member->name, "has too many elements");
    }
    return read_elements(reader, member, token, at);
}

static enum pawl_err read_list(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, char *base)
{
    const struct pawl__json_token *list = &reader->json.tokens[token];
    size_t count = list->count;
    char *at = NULL;
    if (list->type != PAWL__JSON_ARRAY) {
        return refuse(reader, member->name,
                      member->kind == PAWL__AS_TEXTS ? "must be an array of strings"
                                                     : "must be an array");
    }
    enum pawl_err err = check_length(reader, member, count, "elements");
    if (err) return err;
    reader->list_bytes += count * element_bytes(member);
    if (reader->list_bytes_max && reader->list_bytes > reader->list_bytes_max) {
        return pawl__fail_field(reader->diag, PAWL_ERR_LIMIT, member->name,
                                "\"%s\" holds more than one request may", member->name);
    }
    if (count) {
        at = pawl__arena_calloc(reader->arena, count, element_bytes(member));
        if (!at) return pawl__fail_nomem(reader->diag);
        err = read_elements(reader, member, token, at);
        if (err) return err;
    }
    memcpy(base + member->offset, &at, sizeof at);
    memcpy(base + member->count_offset, &count, sizeof count);
    return PAWL_OK;
}

/* ---- members ---- */

enum pawl_err pawl__shape_value(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, void *base)
{
    void *at = (char *)base + member->offset;
    switch ((enum pawl__as)member->kind) {
    case PAWL__AS_TEXT:
    case PAWL__AS_NAME:
        return read_text(reader, member, token, at);
    case PAWL__AS_CHARS:
        return read_chars(reader, member, token, at);
    case PAWL__AS_INT64:
        return read_int(reader, member, token, at);
    case PAWL__AS_INT32:
    case PAWL__AS_MASK:
        return read_int32(reader, member, token, at);
    case PAWL__AS_SET:
        return read_set(reader, member, token, at);
    case PAWL__AS_BOOL:
        return read_bool(reader, member, token, at);
    case PAWL__AS_SWITCH:
        return read_switch(reader, member, token, at);
    case PAWL__AS_REAL:
        return read_real(reader, member, token, at);
    case PAWL__AS_WORD:
        return read_word(reader, member, token, at);
    case PAWL__AS_INSTANT:
        return read_instant(reader, member, token, at);
    case PAWL__AS_DURATION:
    case PAWL__AS_SECONDS:
        return read_duration(reader, member, token, at);
    case PAWL__AS_PERIOD:
        return read_period(reader, member, token, at);
    case PAWL__AS_JSON:
    case PAWL__AS_ARRAY:
    case PAWL__AS_OBJECT:
        return read_span(reader, member, token, at);
    case PAWL__AS_ID:
        return read_id(reader, member, token, at);
    case PAWL__AS_ID_AT:
        return read_id_at(reader, member, token, at);
    case PAWL__AS_ONE:
        return read_inside(reader, member, token, at);
    case PAWL__AS_ROW:
        return read_row(reader, member, token, at);
    case PAWL__AS_TEXTS:
    case PAWL__AS_IDS:
    case PAWL__AS_INT32S:
    case PAWL__AS_MANY:
        return read_list(reader, member, token, base);
    case PAWL__AS_PART:
    case PAWL__AS_OWN:
    case PAWL__AS_NOTHING:
        break;
    }
    return PAWL_OK;
}

/* ---- unknown members ---- */

static enum pawl_err refuse_unknown(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const char *name)
{
    char path[sizeof reader->diag->field], hint[NAME_BYTES_MAX + 24] = "";
    const char *meant = pawl__shape_nearest(shape, name);
    const char *parent = reader->inside ? reader->inside->member->name : reader->prefix;
    path_of(reader, reader->inside || !reader->prefix ? name : "", path, sizeof path);
    if (meant) snprintf(hint, sizeof hint, "; did you mean \"%s\"?", meant);
    if (parent) {
        return pawl__fail_field(reader->diag, PAWL_ERR_ARG, path, "\"%s\" has no member \"%s\"%s",
                                parent, pawl__quote(name).text, hint);
    }
    return pawl__fail_field(reader->diag, PAWL_ERR_ARG, path, "\"%s\" is not a known member%s",
                            pawl__quote(name).text, hint);
}

static enum pawl_err keep(struct pawl__shape_reader *reader, uint32_t name)
{
    struct pawl_span text = pawl__json_span(&reader->json, name);
    struct pawl_span value = pawl__json_span(&reader->json, name + 1);
    pawl__buf_add(&reader->kept, reader->kept.len ? "," : "{", 1);
    pawl__buf_add(&reader->kept, text.at, text.len);
    pawl__buf_add(&reader->kept, ":", 1);
    pawl__buf_add(&reader->kept, value.at, value.len);
    return reader->kept.failed ? pawl__fail_nomem(reader->diag) : PAWL_OK;
}

static enum pawl_err take_unknown(struct pawl__shape_reader *reader,
                                  const struct pawl__shape *shape, uint32_t name)
{
    size_t len;
    if (reader->unknown == PAWL__UNKNOWN_SKIP) return PAWL_OK;
    const char *text = pawl__json_string(&reader->json, name, reader->arena, &len);
    if (!text) return pawl__fail_nomem(reader->diag);
    if (strlen(text) != len) text = ""; // with NULs, it cannot be shown
    bool keeps = reader->unknown == PAWL__UNKNOWN_KEEP && !reader->inside;
    enum pawl_err err = PAWL_OK;
    if (reader->on_unknown && (keeps || reader->unknown == PAWL__UNKNOWN_REFUSE)) {
        err = reader->on_unknown(reader, shape, text);
    } else if (!keeps) {
        err = refuse_unknown(reader, shape, text);
    }
    return err || !keeps ? err : keep(reader, name);
}

enum pawl_err pawl__shape_kept(struct pawl__shape_reader *reader, struct pawl_span *out)
{
    struct pawl__buf *kept = &reader->kept;
    enum pawl_err err = PAWL_OK;
    if (kept->len && out) {
        pawl__buf_add(kept, "}", 1);
        char *copy = kept->failed ? NULL : pawl__arena_dup(reader->arena, kept->at, kept->len);
        if (copy) *out = (struct pawl_span){ copy, kept->len };
        if (!copy) err = pawl__fail_nomem(reader->diag);
    }
    pawl__buf_release(kept);
    return err;
}

/* ---- objects ---- */

void pawl__shape_clear(const struct pawl__shape *shape, void *out)
{
    memset(out, 0, shape->bytes);
    for (size_t i = 0; i < shape->count; i++) {
        const struct pawl__member *member = &shape->members[i];
        char *at = (char *)out + member->offset;
        if (member->kind == PAWL__AS_NAME) *(const char **)at = "";
        if (member->kind == PAWL__AS_ONE) pawl__shape_clear(member->shape, at);
        if (member->kind == PAWL__AS_JSON || member->kind == PAWL__AS_ARRAY ||
            member->kind == PAWL__AS_OBJECT) {
            ((struct pawl_span *)at)->at = "";
        }
    }
}

/* Whether a struct whose first member is `word` may have this member. */
static bool belongs(const struct pawl__shape *shape, const struct pawl__member *member,
                    uint32_t word)
{
    if (!shape->choices || member == shape->members) return true;
    const uint16_t *choice = shape->choices[word];
    while (choice && *choice && *choice != member->offset) {
        choice++;
    }
    return choice && *choice;
}

/* Reads the first member of such a struct, wherever it is in the object; 0 if it is absent. */
static enum pawl_err read_first(struct pawl__shape_reader *reader, const struct pawl__shape *shape,
                                uint32_t token, uint32_t *out)
{
    if (!shape->choices) return PAWL_OK;
    uint32_t value = pawl__json_member(&reader->json, token, shape->members[0].name);
    return value ? read_word(reader, &shape->members[0], value, out) : PAWL_OK;
}

static enum pawl_err check_required(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const uint64_t *seen)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct pawl__member *member = &shape->members[i];
        if (!(member->flags & PAWL__REQUIRED) || seen[i / 64] >> i % 64 & 1) continue;
        return refuse(reader, member->name, "is missing");
    }
    return PAWL_OK;
}

static enum pawl_err read_member(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *out)
{
    enum pawl_err err = member->read ? member->read(reader, member, token, out) : PAWL_OK;
    return err ? err : pawl__shape_value(reader, member, token, out);
}

enum pawl_err pawl__shape_read(struct pawl__shape_reader *reader, const struct pawl__shape *shape,
                               uint32_t token, void *out)
{
    const struct pawl__json_token *tokens = reader->json.tokens;
    uint64_t seen[PAWL__SHAPE_MEMBERS_MAX / 64] = { 0 };
    uint32_t word = 0;
    assert(shape->count <= PAWL__SHAPE_MEMBERS_MAX);
    if (tokens[token].type != PAWL__JSON_OBJECT) {
        if (reader->prefix) return refuse(reader, "", "must be an object");
        return pawl__fail(reader->diag, PAWL_ERR_ARG, "%s",
                          reader->root ? reader->root : "this must be an object");
    }
    enum pawl_err err = read_first(reader, shape, token, &word);
    uint32_t name = pawl__json_first(token);
    for (uint32_t i = 0; !err && i < tokens[token].count; i++) {
        const struct pawl__member *member = find_token(reader, shape, name);
        bool absent = reader->null_is_absent && tokens[name + 1].type == PAWL__JSON_NULL &&
                      !(member && member->flags & PAWL__NULLABLE);
        if (!member || !belongs(shape, member, word)) {
            if (!absent || reader->null_is_unknown) err = take_unknown(reader, shape, name);
        } else if (!absent) {
            size_t place = (size_t)(member - shape->members);
            seen[place / 64] |= UINT64_C(1) << place % 64;
            err = read_member(reader, member, name + 1, out);
        }
        name = tokens[name + 1].next;
    }
    return err ? err : check_required(reader, shape, seen);
}

enum pawl_err pawl__shape_read_text(struct pawl__shape_reader *reader, struct pawl_span text,
                                    uint32_t depth_max, const struct pawl__shape *shape, void *out)
{
    enum pawl_err err =
        pawl__json_parse(text, depth_max, reader->arena, &reader->json, reader->diag);
    return err ? err : pawl__shape_read(reader, shape, 0, out);
}
