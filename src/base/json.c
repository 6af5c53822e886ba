/* The tokenizer: one pass, no recursion, no stack of its own.
 *
 * 1. An open container's `next` holds the index of the container around it; closing it restores
 *    that one and sets `next` to its final meaning. So depth costs only a counter.
 * 2. A string's `count` is its length once unescaped: equal to the raw length means no escapes.
 * 3. Duplicate members are searched for when an object closes: pairwise in small objects, by
 *    sorting in large ones. Unlike a hash, sorting cannot be slowed down by chosen names.
 * 4. If the last duplicate wins, the names of the others lose their type. Each of them is followed
 *    by another member, so cutting from name to name leaves no extra comma. */
#include "base/json.h"

#include "base/diag.h"
#include "base/json_inside.h"
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    PAIRWISE_MAX = 32,        /* members compared pairwise */
    TOKENS_FIRST_MAX = 1024,  /* maximum of the first reservation */
    NAME_SHOWN_BYTES_MAX = 64 /* length of a name in a message */
};

struct parser {
    const char *at; /* next byte to read */
    const char *end;
    struct pawl__json json;
    uint32_t cap;
    uint32_t open; /* innermost container that is not closed, or NONE */
    uint32_t depth;
    const struct pawl__json_rules *rules;
    bool repeats; /* some members have been overridden */
    struct pawl__arena *arena;
    struct pawl_diag *diag;
};

static enum pawl_err fail_at(struct parser *p, const char *at, const char *what)
{
    return pawl__fail(p->diag, PAWL_ERR_ARG, "not valid JSON: %s at byte %zu", what,
                      (size_t)(at - p->json.text.at));
}

static enum pawl_err fail(struct parser *p, const char *what)
{
    return fail_at(p, p->at, p->at == p->end ? "the text ends too early" : what);
}

static inline void skip_space(struct parser *p)
{
    const char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    p->at = at;
}

static enum pawl_err grow(struct parser *p)
{
    uint64_t cap = (uint64_t)p->cap * 2;
    uint32_t most = p->rules->tokens_max;
    if (most && p->cap == most) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT, "JSON contains more than %u values and names",
                          most);
    }
    if (cap > UINT32_MAX) cap = UINT32_MAX; // a token takes at least one byte of text
    if (most && cap > most) cap = most;
    struct pawl__json_token *tokens = pawl__arena_alloc(p->arena, cap * sizeof *tokens);
    if (!tokens) return pawl__fail_nomem(p->diag);
    memcpy(tokens, p->json.tokens, p->json.count * sizeof *tokens);
    p->json.tokens = tokens;
    p->cap = (uint32_t)cap;
    return PAWL_OK;
}

/* Adds the token that begins at `from` and ends at p->at. */
static inline enum pawl_err push(struct parser *p, enum pawl__json_type type, const char *from,
                                 uint32_t count)
{
    enum pawl_err err = p->json.count == p->cap ? grow(p) : PAWL_OK;
    if (err) return err;
    uint32_t index = p->json.count++;
    p->json.tokens[index] = (struct pawl__json_token){
        .type = type,
        .at = (uint32_t)(from - p->json.text.at),
        .len = (uint32_t)(p->at - from),
        .next = index + 1,
        .count = count,
    };
    return PAWL_OK;
}

/* ---- scalars ---- */

/* The first byte at or after `at` that is not plain: a quote, a backslash, a control character or
 * part of a longer UTF-8 sequence. Eight bytes at a time; a byte's high bit in `found` may also be
 * set by a borrow from a byte below, so only the lowest set one counts. */
static inline const char *skip_plain(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones * 0x80;
    while (end - at >= 8) {
        uint64_t x;
        memcpy(&x, at, sizeof x);
        uint64_t quote = x ^ ones * '"', backslash = x ^ ones * '\\';
        uint64_t found = ((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) |
                         ((backslash - ones) & ~backslash) | x;
        found &= high;
        if (found) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + (__builtin_ctzll(found) >> 3);
#else
            break;
#endif
        }
        at += 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\') {
        at++;
    }
    return at;
}

static enum pawl_err parse_string(struct parser *p)
{
    const char *from = p->at;
    const char *at = from + 1;
    size_t saved = 0; // bytes that unescaping will save
    while ((at = skip_plain(at, p->end)) < p->end && *at != '"') {
        if (*at == '\\') {
            const char *escape = at;
            uint32_t code;
            char utf8[4];
            const char *wrong = pawl__json_read_escape(&at, p->end, &code);
            if (wrong) return fail_at(p, at, wrong);
            saved += (size_t)(at - escape) - (size_t)pawl__utf8_encode(code, utf8);
        } else if ((unsigned char)*at < 0x20) {
            return fail_at(p, at, "a control character in a string");
        } else {
            int step = pawl__utf8_step(at, p->end);
            if (step < 0) return fail_at(p, at, "a string that is not UTF-8");
            at += step;
        }
    }
    p->at = at;
    if (at == p->end) return fail(p, "");
    p->at++;
    return push(p, PAWL__JSON_STRING, from, (uint32_t)((size_t)(p->at - from) - 2 - saved));
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips one digit or more. */
static inline bool skip_digits(struct parser *p)
{
    const char *from = p->at;
    while (p->at < p->end && is_digit(*p->at)) {
        p->at++;
    }
    return p->at > from;
}

static enum pawl_err parse_number(struct parser *p)
{
    const char *from = p->at;
    if (*p->at == '-') p->at++;
    if (p->at < p->end && *p->at == '0') {
        p->at++; // only a point or an exponent may follow
    } else if (!skip_digits(p)) {
        return fail(p, "a number without digits");
    }
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (!skip_digits(p)) return fail(p, "a fraction without digits");
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        if (!skip_digits(p)) return fail(p, "an exponent without digits");
    }
    return push(p, PAWL__JSON_NUMBER, from, 0);
}

static enum pawl_err parse_word(struct parser *p, const char *word, enum pawl__json_type type)
{
    const char *from = p->at;
    size_t len = strlen(word);
    if ((size_t)(p->end - from) < len || memcmp(from, word, len) != 0) {
        return fail(p, "an unknown word");
    }
    p->at += len;
    return push(p, type, from, 0);
}

/* ---- containers ---- */

static enum pawl_err open_container(struct parser *p, enum pawl__json_type type)
{
    if (p->depth == p->rules->depth_max) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT,
                          "JSON is nested deeper than %u levels at byte %zu", p->rules->depth_max,
                          (size_t)(p->at - p->json.text.at));
    }
    const char *from = p->at++;
    enum pawl_err err = push(p, type, from, 0);
    if (err) return err;
    p->depth++;
    uint32_t index = p->json.count - 1;
    p->json.tokens[index].next = p->open;
    p->open = index;
    return PAWL_OK;
}

static enum pawl_err fail_duplicate(struct parser *p, uint32_t token)
{
    struct pawl_span name = pawl__json_span(&p->json, token);
    int shown = (int)pawl__utf8_cut(name.at, name.len, NAME_SHOWN_BYTES_MAX);
    return pawl__fail(p->diag, PAWL_ERR_ARG, "not valid JSON: member %.*s occurs twice, at byte %u",
                      shown, name.at, p->json.tokens[token].at);
}

/* `later` has the same name as `earlier`: refuses it, or lets it win. */
static enum pawl_err found_twice(struct parser *p, uint32_t earlier, uint32_t later)
{
    if (!p->rules->last_wins) return fail_duplicate(p, later);
    p->json.tokens[earlier].type = PAWL__JSON_NONE;
    p->repeats = true;
    return PAWL_OK;
}

static enum pawl_err compare_pairwise(struct parser *p, const struct pawl__json_name *names,
                                      uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (names[i].prefix != names[j].prefix) continue;
            if (!pawl__json_names_equal(&names[i], &names[j])) continue;
            enum pawl_err err = found_twice(p, names[j].token, names[i].token);
            if (err) return err;
        }
    }
    return PAWL_OK;
}

/* Sorting is stable: equal names keep their order. */
static enum pawl_err compare_adjacent(struct parser *p, const struct pawl__json_name *names,
                                      uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (!pawl__json_names_equal(&names[i - 1], &names[i])) continue;
        enum pawl_err err = found_twice(p, names[i - 1].token, names[i].token);
        if (err) return err;
    }
    return PAWL_OK;
}

static enum pawl_err check_members(struct parser *p, uint32_t object)
{
    struct pawl__json_name few[PAIRWISE_MAX], *names = few;
    struct pawl__arena scratch = { 0 };
    uint32_t count = p->json.tokens[object].count;
    enum pawl_err err = PAWL_OK;
    if (count > PAIRWISE_MAX) names = pawl__arena_calloc(&scratch, count, 2 * sizeof *names);
    if (!names || !pawl__json_names(&p->json, object, &scratch, names)) {
        err = pawl__fail_nomem(p->diag);
    } else if (count > PAIRWISE_MAX) {
        pawl__json_names_sort(names, names + count, count);
        err = compare_adjacent(p, names, count);
    } else {
        err = compare_pairwise(p, names, count);
    }
    pawl__arena_release(&scratch);
    return err;
}

static enum pawl_err close_container(struct parser *p)
{
    uint32_t index = p->open;
    struct pawl__json_token *container = &p->json.tokens[index];
    p->at++;
    container->len = (uint32_t)(p->at - p->json.text.at) - container->at;
    p->open = container->next;
    container->next = p->json.count;
    p->depth--;
    if (container->type == PAWL__JSON_ARRAY || container->count < 2) return PAWL_OK;
    return check_members(p, index);
}

static enum pawl_err parse_value(struct parser *p)
{
    switch (p->at < p->end ? *p->at : '\0') {
    case '{':
        return open_container(p, PAWL__JSON_OBJECT);
    case '[':
        return open_container(p, PAWL__JSON_ARRAY);
    case '"':
        return parse_string(p);
    case 't':
        return parse_word(p, "true", PAWL__JSON_TRUE);
    case 'f':
        return parse_word(p, "false", PAWL__JSON_FALSE);
    case 'n':
        return parse_word(p, "null", PAWL__JSON_NULL);
    case '-':
    case '0' ... '9':
        return parse_number(p);
    default:
        return fail(p, "no value");
    }
}

static enum pawl_err parse_name(struct parser *p)
{
    if (p->at == p->end || *p->at != '"') return fail(p, "no member name in quotes");
    enum pawl_err err = parse_string(p);
    if (err) return err;
    skip_space(p);
    if (p->at == p->end || *p->at != ':') return fail(p, "no \":\" after a member's name");
    p->at++;
    skip_space(p);
    return PAWL_OK;
}

/* Inside an open container: parses its end, or its next element. */
static enum pawl_err parse_inside(struct parser *p)
{
    struct pawl__json_token *container = &p->json.tokens[p->open];
    bool object = container->type == PAWL__JSON_OBJECT;
    skip_space(p);
    if (p->at < p->end && *p->at == (object ? '}' : ']')) return close_container(p);
    if (container->count > 0) {
        if (p->at == p->end || *p->at != ',') {
            return fail(p, object ? "neither \",\" nor \"}\"" : "neither \",\" nor \"]\"");
        }
        p->at++;
        skip_space(p);
    }
    container->count++;
    if (!object) return parse_value(p);
    if (p->rules->members_max && container->count > p->rules->members_max) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT,
                          "a JSON object has more than %u members at byte %zu",
                          p->rules->members_max, (size_t)(p->at - p->json.text.at));
    }
    enum pawl_err err = parse_name(p);
    return err ? err : parse_value(p);
}

static enum pawl_err parse_text(struct parser *p)
{
    p->cap = (uint32_t)(p->json.text.len / 8 + 4); // typically one token in eight bytes
    if (p->cap > TOKENS_FIRST_MAX) p->cap = TOKENS_FIRST_MAX;
    if (p->rules->tokens_max && p->cap > p->rules->tokens_max) p->cap = p->rules->tokens_max;
    p->json.tokens = pawl__arena_alloc(p->arena, p->cap * sizeof *p->json.tokens);
    if (!p->json.tokens) return pawl__fail_nomem(p->diag);
    skip_space(p);
    enum pawl_err err = parse_value(p);
    while (!err && p->open != NONE) {
        err = parse_inside(p);
    }
    if (err) return err;
    skip_space(p);
    return p->at < p->end ? fail(p, "more text behind the value") : PAWL_OK;
}

/* A copy of the text without the overridden members. */
static char *copy_without_repeats(struct parser *p, size_t *len)
{
    const struct pawl__json_token *tokens = p->json.tokens;
    const char *text = p->json.text.at;
    char *copy = pawl__arena_alloc(p->arena, p->json.text.len), *out = copy;
    if (!copy) return NULL;
    size_t from = 0; // everything before it has been copied or cut
    for (uint32_t i = 0; i < p->json.count;) {
        if (tokens[i].type != PAWL__JSON_NONE) {
            i++;
            continue;
        }
        memcpy(out, text + from, tokens[i].at - from);
        out += tokens[i].at - from;
        i = tokens[i + 1].next; // the next member's name
        from = tokens[i].at;
    }
    memcpy(out, text + from, p->json.text.len - from);
    *len = (size_t)(out - copy) + p->json.text.len - from;
    return copy;
}

enum pawl_err pawl__json_parse_by(struct pawl_span text, const struct pawl__json_rules *rules,
                                  struct pawl__arena *arena, struct pawl__json *out,
                                  struct pawl_diag *diag)
{
    if (text.len >= UINT32_MAX) {
        return pawl__fail(diag, PAWL_ERR_LIMIT, "JSON is longer than 4 GiB");
    }
    if (!text.at) text.at = "";
    struct parser p = { .at = text.at,
                        .end = text.at + text.len,
                        .json = { .text = text },
                        .open = NONE,
                        .rules = rules,
                        .arena = arena,
                        .diag = diag };
    enum pawl_err err = parse_text(&p);
    if (err) return err;
    if (!p.repeats) {
        *out = p.json;
        return PAWL_OK;
    }
    char *copy = copy_without_repeats(&p, &text.len);
    if (!copy) return pawl__fail_nomem(diag);
    text.at = copy;
    return pawl__json_parse(text, rules->depth_max, arena, out, diag);
}

enum pawl_err pawl__json_parse(struct pawl_span text, uint32_t depth_max, struct pawl__arena *arena,
                               struct pawl__json *out, struct pawl_diag *diag)
{
    struct pawl__json_rules rules = { .depth_max = depth_max };
    return pawl__json_parse_by(text, &rules, arena, out, diag);
}
