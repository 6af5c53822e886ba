/* What holds for any bytes that the JSON reader accepts:
 *
 * 1. tokens lie inside the text and nest: children inside their parent, siblings one behind the
 *    other, each container with as many children as it counts;
 * 2. strings unescape to the length that their token promises, and to UTF-8;
 * 3. members are found by their names, each at its own place;
 * 4. the canonical form is JSON, has the same tokens but for order, and is its own canonical form;
 * 5. where the last of members with one name wins, what is left is strict JSON, and it is all of
 * the text when the text was strict.
 *
 * Whatever is refused says why. */
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"

#include <string.h>

enum { DEPTH = 32 };

static void check_string(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena)
{
    size_t len;
    char *text = pawl__json_string(json, token, arena, &len);
    must(text && len == json->tokens[token].count && text[len] == '\0');
    for (const char *at = text, *end = text + len; at < end;) {
        int step = pawl__utf8_step(at, end);
        must(step > 0);
        at += step;
    }
}

static void check_scalar(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena)
{
    int64_t integer;
    double real;
    bool whole = pawl__json_int(json, token, &integer);
    bool finite = pawl__json_double(json, token, &real);
    if (json->tokens[token].type == PAWL__JSON_STRING) check_string(json, token, arena);
    if (json->tokens[token].type != PAWL__JSON_NUMBER) must(!whole && !finite);
    if (whole) must(finite && (double)integer == real);
}

static void check_name(const struct pawl__json *json, uint32_t object, uint32_t name,
                       struct pawl__arena *arena)
{
    size_t len;
    must(json->tokens[name].type == PAWL__JSON_STRING);
    char *text = pawl__json_string(json, name, arena, &len);
    must(text);
    if (strlen(text) == len) must(pawl__json_member(json, object, text) == name + 1);
}

static void check_container(const struct pawl__json *json, uint32_t token,
                            struct pawl__arena *arena)
{
    const struct pawl__json_token *container = &json->tokens[token];
    bool object = container->type == PAWL__JSON_OBJECT;
    uint32_t child = pawl__json_first(token), last_end = container->at + 1;
    for (uint32_t left = container->count; left > 0; left--) {
        if (object) check_name(json, token, child++, arena);
        must(child < container->next && json->tokens[child].at >= last_end);
        last_end = json->tokens[child].at + json->tokens[child].len;
        must(last_end < container->at + container->len);
        child = json->tokens[child].next;
    }
    must(child == container->next);
}

static void check_tokens(const struct pawl__json *json, struct pawl__arena *arena)
{
    must(json->count > 0 && json->tokens[0].next == json->count);
    for (uint32_t i = 0; i < json->count; i++) {
        const struct pawl__json_token *token = &json->tokens[i];
        must(token->type > PAWL__JSON_NONE && token->type <= PAWL__JSON_OBJECT);
        must(token->len > 0 && token->at < json->text.len);
        must(token->len <= json->text.len - token->at);
        if (token->type == PAWL__JSON_ARRAY || token->type == PAWL__JSON_OBJECT) {
            check_container(json, i, arena);
        } else {
            must(token->next == i + 1);
            check_scalar(json, i, arena);
        }
    }
}

static void check_canonical(const struct pawl__json *json, struct pawl__arena *arena)
{
    struct pawl__buf once = { 0 }, twice = { 0 };
    struct pawl__json again;
    pawl__json_canonical(json, 0, arena, &once);
    must(!once.failed);
    enum pawl_err err =
        pawl__json_parse((struct pawl_span){ once.at, once.len }, DEPTH, arena, &again, NULL);
    must(!err && again.count == json->count);
    pawl__json_canonical(&again, 0, arena, &twice);
    must(once.len == twice.len && memcmp(once.at, twice.at, once.len) == 0);
    pawl__buf_release(&once);
    pawl__buf_release(&twice);
}

/* `strict`: what the strict reader made of the same text. */
static void check_last_wins(struct pawl_span text, enum pawl_err strict, struct pawl__arena *arena)
{
    struct pawl__json_rules rules = { .depth_max = DEPTH, .last_wins = true };
    struct pawl__json json, again;
    enum pawl_err err = pawl__json_parse_by(text, &rules, arena, &json, NULL);
    if (!strict) must(!err && json.text.at == text.at);
    if (err) return;
    must(strict ? json.text.len < text.len : json.text.len == text.len);
    must(!pawl__json_parse(json.text, DEPTH, arena, &again, NULL) && again.count == json.count);
    check_tokens(&json, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl_diag diag = { 0 };
    struct pawl_span text = { .at = (const char *)data, .len = size };
    enum pawl_err err = pawl__json_parse(text, DEPTH, &arena, &json, &diag);
    if (err) {
        must(err == PAWL_ERR_ARG || err == PAWL_ERR_LIMIT);
        must(diag.err == err && diag.text[0] != '\0');
    } else {
        check_tokens(&json, &arena);
        check_canonical(&json, &arena);
    }
    check_last_wins(text, err, &arena);
    pawl__arena_release(&arena);
    return 0;
}
