/* Retry policies as JSON and back, both from one list of members. Members that equal the default
 * are omitted, so that the default takes no space and policies are short to read.
 *
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include "base/diag.h"
#include "base/json.h"
#include "fields/fields.h"
#include "lifecycle/decimal.h"

#include <assert.h>
#include <stddef.h>

enum { DEPTH_MAX = 4 }; // an object, a list in it, the list's entries

enum kind { KIND_INT32, KIND_INT64, KIND_DOUBLE, KIND_JITTER, KIND_BACKOFF, KIND_EXHAUSTION };

/* For the kinds in src/fields. The list non_retryable comes last, and is handled separately. */
#define OF_I32(member) MEMBER(member, KIND_INT32)
#define OF_I64(member) MEMBER(member, KIND_INT64)
#define OF_REAL(member) MEMBER(member, KIND_DOUBLE)
#define OF_BACKOFF(member) MEMBER(member, KIND_BACKOFF)
#define OF_JITTER(member) MEMBER(member, KIND_JITTER)
#define OF_EXHAUSTION(member) MEMBER(member, KIND_EXHAUSTION)
#define OF_TEXTS(member)

struct member {
    const char *name;
    enum kind kind;
    size_t offset, bytes;
};

#define MEMBER(member, member_kind)                                                                \
    { .name = #member,                                                                             \
      .kind = member_kind,                                                                         \
      .offset = offsetof(struct pawl_retry, member),                                               \
      .bytes = sizeof(((struct pawl_retry *)0)->member) },
#define X(member, kind, ...) OF_##kind(member)
static const struct member members[] = { PAWL__RETRY_FIELDS(X) };
#undef X

#define MEMBER_COUNT (sizeof members / sizeof *members)

static const char list_name[] = "non_retryable";

#define X(number, name, text, ...) [number] = text,
static const char *const backoffs[PAWL_BACKOFF_END] = { PAWL_BACKOFFS(X) };
#undef X
static const char *const exhaustions[] = {
    [PAWL_EXHAUSTION_DISCARD] = "discard", [PAWL_EXHAUSTION_DEAD_LETTER] = "dead_letter"
};

_Static_assert(sizeof(enum pawl_backoff) == sizeof(unsigned), "enums are read as unsigned");
_Static_assert(sizeof(enum pawl_exhaustion) == sizeof(unsigned), "enums are read as unsigned");

/* The words for the numbers of an enum. */
static const char *const *words_of(enum kind kind, int *count)
{
    *count = kind == KIND_BACKOFF ? PAWL_BACKOFF_END : PAWL_EXHAUSTION_DEAD_LETTER + 1;
    return kind == KIND_BACKOFF ? backoffs : exhaustions;
}

/* ---- print ---- */

static void print_value(const struct member *member, const void *at, struct pawl__buf *out)
{
    int count;
    switch (member->kind) {
    case KIND_INT32:
        pawl__buf_add_int(out, *(const int32_t *)at);
        break;
    case KIND_INT64:
        pawl__buf_add_int(out, *(const int64_t *)at);
        break;
    case KIND_DOUBLE:
        pawl__decimal_print(*(const double *)at, out);
        break;
    case KIND_JITTER:
        pawl__buf_add_text(out, *(const enum pawl_jitter *)at == PAWL_JITTER_ON ? "true" : "false");
        break;
    case KIND_BACKOFF:
    case KIND_EXHAUSTION: {
        const char *const *words = words_of(member->kind, &count);
        unsigned value = *(const unsigned *)at;
        assert(value > 0 && value < (unsigned)count);
        pawl__buf_add_json(out, words[value], strlen(words[value]));
        break;
    }
    }
}

/* The brace or comma before a member, and its name. */
static void print_name(const char *name, bool *any, struct pawl__buf *out)
{
    pawl__buf_add_text(out, *any ? ",\"" : "{\"");
    pawl__buf_add_text(out, name);
    pawl__buf_add_text(out, "\":");
    *any = true;
}

static void print_list(const struct pawl_retry *retry, struct pawl__buf *out)
{
    for (size_t i = 0; i < retry->non_retryable_count; i++) {
        const char *entry = retry->non_retryable[i];
        pawl__buf_add_text(out, i ? "," : "[");
        pawl__buf_add_json(out, entry, strlen(entry));
    }
    pawl__buf_add_text(out, "]");
}

void pawl__retry_print(const struct pawl_retry *retry, struct pawl__buf *out)
{
    struct pawl_retry resolved = *retry, plain = { 0 };
    bool any = false;
    pawl__retry_resolve(&resolved);
    pawl__retry_resolve(&plain);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        const char *at = (const char *)&resolved + members[i].offset;
        const char *usual = (const char *)&plain + members[i].offset;
        if (memcmp(at, usual, members[i].bytes) == 0) continue;
        print_name(members[i].name, &any, out);
        print_value(&members[i], at, out);
    }
    if (resolved.non_retryable_count > 0) {
        print_name(list_name, &any, out);
        print_list(&resolved, out);
    }
    if (any) pawl__buf_add_text(out, "}");
}

/* ---- parse ---- */

struct parser {
    struct pawl__json json;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
};

static enum pawl_err refuse(struct parser *p, const char *name, const char *rule)
{
    char field[sizeof p->diag->field];
    snprintf(field, sizeof field, "retry.%s", name);
    return pawl__fail_field(p->diag, PAWL_ERR_ARG, field, "\"%s\" %s", field, rule);
}

static enum pawl_err parse_int(struct parser *p, const struct member *member, uint32_t token,
                               void *at)
{
    int64_t value;
    bool fits = pawl__json_int(&p->json, token, &value);
    if (fits && member->kind == KIND_INT32) {
        fits = value >= INT32_MIN && value <= INT32_MAX;
        if (fits) *(int32_t *)at = (int32_t)value;
    } else if (fits) {
        *(int64_t *)at = value;
    }
    return fits ? PAWL_OK : refuse(p, member->name, "must be a whole number that fits");
}

static bool is_word(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(at, word, len) == 0; // `at` may contain NULs
}

static enum pawl_err parse_word(struct parser *p, const struct member *member, uint32_t token,
                                unsigned *at)
{
    int count;
    const char *const *words = words_of(member->kind, &count);
    if (p->json.tokens[token].type != PAWL__JSON_STRING) {
        return refuse(p, member->name, "must be a string");
    }
    size_t len;
    const char *word = pawl__json_string(&p->json, token, p->arena, &len);
    if (!word) return pawl__fail_nomem(p->diag);
    for (int i = 1; i < count; i++) {
        if (is_word(word, len, words[i])) {
            *at = (unsigned)i;
            return PAWL_OK;
        }
    }
    return refuse(p, member->name, "is not a word that is known");
}

static enum pawl_err parse_jitter(struct parser *p, const struct member *member, uint32_t token,
                                  enum pawl_jitter *at)
{
    enum pawl__json_type type = p->json.tokens[token].type;
    if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return refuse(p, member->name, "must be true or false");
    }
    *at = type == PAWL__JSON_TRUE ? PAWL_JITTER_ON : PAWL_JITTER_OFF;
    return PAWL_OK;
}

static enum pawl_err parse_value(struct parser *p, const struct member *member, uint32_t token,
                                 void *at)
{
    switch (member->kind) {
    case KIND_INT32:
    case KIND_INT64:
        return parse_int(p, member, token, at);
    case KIND_DOUBLE:
        if (pawl__json_double(&p->json, token, at)) return PAWL_OK;
        return refuse(p, member->name, "must be a number");
    case KIND_JITTER:
        return parse_jitter(p, member, token, at);
    case KIND_BACKOFF:
    case KIND_EXHAUSTION:
        return parse_word(p, member, token, at);
    }
    assert(!"a kind of member");
    return PAWL_ERR_ARG;
}

static enum pawl_err parse_list(struct parser *p, uint32_t token, struct pawl_retry *retry)
{
    const struct pawl__json_token *tokens = p->json.tokens;
    if (tokens[token].type != PAWL__JSON_ARRAY) return refuse(p, list_name, "must be an array");
    uint32_t count = tokens[token].count, child = pawl__json_first(token);
    if (count == 0) return PAWL_OK;
    const char **list = pawl__arena_calloc(p->arena, count, sizeof *list);
    if (!list) return pawl__fail_nomem(p->diag);
    for (uint32_t i = 0; i < count; i++, child = tokens[child].next) {
        size_t len;
        if (tokens[child].type != PAWL__JSON_STRING) {
            return refuse(p, list_name, "must contain only strings");
        }
        list[i] = pawl__json_string(&p->json, child, p->arena, &len);
        if (!list[i]) return pawl__fail_nomem(p->diag);
        if (strlen(list[i]) != len) return refuse(p, list_name, "contains a NUL");
    }
    retry->non_retryable = list;
    retry->non_retryable_count = count;
    return PAWL_OK;
}

static enum pawl_err parse_member(struct parser *p, uint32_t name, struct pawl_retry *retry)
{
    size_t len;
    uint32_t value = p->json.tokens[name].next;
    const char *word = pawl__json_string(&p->json, name, p->arena, &len);
    if (!word) return pawl__fail_nomem(p->diag);
    if (is_word(word, len, list_name)) return parse_list(p, value, retry);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (is_word(word, len, members[i].name)) {
            return parse_value(p, &members[i], value, (char *)retry + members[i].offset);
        }
    }
    return pawl__fail_field(p->diag, PAWL_ERR_ARG, "retry", "\"retry\" has no member \"%s\"", word);
}

static enum pawl_err parse_object(struct parser *p, struct pawl_retry *retry)
{
    const struct pawl__json_token *root = &p->json.tokens[0];
    if (root->type != PAWL__JSON_OBJECT) {
        return pawl__fail_field(p->diag, PAWL_ERR_ARG, "retry", "\"retry\" must be an object");
    }
    uint32_t name = pawl__json_first(0);
    for (uint32_t i = 0; i < root->count; i++) {
        enum pawl_err err = parse_member(p, name, retry);
        if (err) return err;
        name = p->json.tokens[p->json.tokens[name].next].next;
    }
    return PAWL_OK;
}

enum pawl_err pawl__retry_parse(struct pawl_span json, struct pawl__arena *arena,
                                struct pawl_retry *out, struct pawl_diag *diag)
{
    struct parser p = { .arena = arena, .diag = diag };
    struct pawl_retry retry = { 0 };
    enum pawl_err err = PAWL_OK;
    if (json.len > 0) {
        err = pawl__json_parse(json, DEPTH_MAX, arena, &p.json, diag);
        if (!err) err = parse_object(&p, &retry);
    }
    if (err) return err;
    pawl__retry_resolve(&retry);
    err = pawl__retry_check(&retry, diag);
    if (!err) *out = retry;
    return err;
}
