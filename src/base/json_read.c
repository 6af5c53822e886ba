/* Reads tokens: strings, members and their order. */
#include "base/json.h"

#include "base/json_inside.h"
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

/* ---- strings ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* "\uXXXX" at `at`; -1 if it is not that. */
static int32_t read_u(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int value = hex_value(at[i]);
        if (value < 0) return -1;
        unit = unit << 4 | value;
    }
    return unit;
}

/* A Unicode escape; a character beyond U+FFFF takes two, a high and a low surrogate. */
static const char *read_unicode(const char **at, const char *end, uint32_t *code)
{
    int32_t unit = read_u(*at, end);
    if (unit < 0) return "an escape without four hexadecimal digits";
    int len = 6;
    if (unit >= 0xd800 && unit <= 0xdfff) {
        int32_t low = unit < 0xdc00 ? read_u(*at + 6, end) : -1;
        if (low < 0xdc00 || low > 0xdfff) return "a surrogate without its partner";
        unit = 0x10000 + ((unit - 0xd800) << 10 | (low - 0xdc00));
        len = 12;
    }
    *at += len;
    *code = (uint32_t)unit;
    return NULL;
}

const char *pawl__json_read_escape(const char **at, const char *end, uint32_t *code)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    assert(**at == '\\');
    char letter = end - *at >= 2 ? (*at)[1] : '\0';
    if (letter == 'u') return read_unicode(at, end, code);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found) return "an unknown escape";
    *at += 2;
    *code = (uint32_t)meanings[found - letters];
    return NULL;
}

static const char *content(const struct pawl__json *json, const struct pawl__json_token *token)
{
    assert(token->type == PAWL__JSON_STRING);
    return json->text.at + token->at + 1;
}

static bool has_escapes(const struct pawl__json_token *token)
{
    return token->count != token->len - 2;
}

void pawl__json_unescape(const struct pawl__json *json, uint32_t token, char *out)
{
    const struct pawl__json_token *string = &json->tokens[token];
    const char *at = content(json, string), *end = at + string->len - 2;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape ? escape : end) - at);
        memcpy(out, at, plain);
        out += plain;
        at += plain;
        if (!escape) break;
        uint32_t code = 0;
        const char *wrong = pawl__json_read_escape(&at, end, &code);
        assert(!wrong);
        (void)wrong;
        out += pawl__utf8_encode(code, out);
    }
}

char *pawl__json_string(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                        size_t *len)
{
    const struct pawl__json_token *string = &json->tokens[token];
    const char *at = content(json, string);
    if (len) *len = string->count;
    if (!has_escapes(string)) return pawl__arena_dup(arena, at, string->count);
    char *copy = pawl__arena_alloc(arena, (size_t)string->count + 1);
    if (!copy) return NULL;
    pawl__json_unescape(json, token, copy);
    copy[string->count] = '\0';
    return copy;
}

/* Unescapes while comparing, since a lookup has no memory for a copy. */
static bool escaped_equals(const char *at, const char *end, const char *text)
{
    while (at < end) {
        char utf8[4] = { *at };
        int len = 1;
        if (*at == '\\') {
            uint32_t code = 0;
            const char *wrong = pawl__json_read_escape(&at, end, &code);
            assert(!wrong);
            (void)wrong;
            len = pawl__utf8_encode(code, utf8);
        } else {
            at++;
        }
        if (memcmp(utf8, text, (size_t)len) != 0) return false;
        text += len; // the total lengths are known to be equal, so this stays in bounds
    }
    return true;
}

uint32_t pawl__json_member_span(const struct pawl__json *json, uint32_t object,
                                struct pawl_span name)
{
    const struct pawl__json_token *tokens = json->tokens;
    assert(tokens[object].type == PAWL__JSON_OBJECT);
    uint32_t i = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, i = tokens[i + 1].next) {
        if (tokens[i].count != name.len) continue;
        const char *at = content(json, &tokens[i]);
        bool equal = has_escapes(&tokens[i]) ? escaped_equals(at, at + tokens[i].len - 2, name.at)
                                             : memcmp(at, name.at, name.len) == 0;
        if (equal) return i + 1;
    }
    return 0;
}

uint32_t pawl__json_member(const struct pawl__json *json, uint32_t object, const char *name)
{
    return pawl__json_member_span(json, object, (struct pawl_span){ name, strlen(name) });
}

struct pawl_span pawl__json_span(const struct pawl__json *json, uint32_t token)
{
    assert(token < json->count);
    return (struct pawl_span){ .at = json->text.at + json->tokens[token].at,
                               .len = json->tokens[token].len };
}

/* ---- members ---- */

/* The first eight bytes as a big-endian number, padded with zeros. `readable` bytes may be read: if
 * they are at least eight, one load is enough. */
static inline uint64_t name_prefix(const char *at, size_t len, size_t readable)
{
    uint64_t prefix = 0;
    memcpy(&prefix, at, readable >= sizeof prefix ? sizeof prefix : len);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    prefix = __builtin_bswap64(prefix);
#endif
    if (len == 0) return 0;
    return len < sizeof prefix ? prefix & UINT64_MAX << (64 - 8 * len) : prefix;
}

bool pawl__json_names(const struct pawl__json *json, uint32_t object, struct pawl__arena *arena,
                      struct pawl__json_name *out)
{
    const struct pawl__json_token *tokens = json->tokens;
    uint32_t i = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, i = tokens[i + 1].next, out++) {
        const char *at = content(json, &tokens[i]);
        size_t readable = (size_t)(json->text.at + json->text.len - at);
        if (has_escapes(&tokens[i])) {
            at = pawl__json_string(json, i, arena, NULL);
            readable = tokens[i].count;
        }
        if (!at) return false;
        out->prefix = name_prefix(at, tokens[i].count, readable);
        out->at = at;
        out->len = tokens[i].count;
        out->token = i;
    }
    return true;
}

bool pawl__json_names_equal(const struct pawl__json_name *a, const struct pawl__json_name *b)
{
    return a->prefix == b->prefix && a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static bool name_before(const struct pawl__json_name *a, const struct pawl__json_name *b)
{
    if (a->prefix != b->prefix) return a->prefix < b->prefix;
    int order = memcmp(a->at, b->at, a->len < b->len ? a->len : b->len);
    return order != 0 ? order < 0 : a->len < b->len;
}

static void merge(const struct pawl__json_name *a, const struct pawl__json_name *a_end,
                  const struct pawl__json_name *b_end, struct pawl__json_name *out)
{
    const struct pawl__json_name *b = a_end;
    while (a < a_end && b < b_end) {
        *out++ = name_before(b, a) ? *b++ : *a++;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *out);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *out);
}

/* Merges runs of 1, 2, 4, ..., alternating between the two arrays. */
void pawl__json_names_sort(struct pawl__json_name *names, struct pawl__json_name *spare,
                           size_t count)
{
    struct pawl__json_name *from = names, *to = spare;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t i = 0; i < count; i += 2 * run) {
            size_t middle = i + run < count ? i + run : count;
            size_t end = i + 2 * run < count ? i + 2 * run : count;
            merge(from + i, from + middle, from + end, to + i);
        }
        struct pawl__json_name *swap = from;
        from = to;
        to = swap;
    }
    if (from != names) memcpy(names, from, count * sizeof *names);
}
