#include "http/ojs/nack_details.h"

#include "base/shape.h"
#include "base/utf8.h"
#include "http/ojs/redact.h"

#include <string.h>

static const struct pawl_span truncated = { "{\"truncated\":true}", 18 };

/* What is stored, except for details that are an object. */
struct kept {
    const char *backtrace[PAWL__BACKTRACE_FRAMES_MAX];
    const char *const *frames;
    size_t count, bytes;
    struct pawl_span value;
};

#define S struct kept
static const struct pawl__member kept_members[] = {
    PAWL__MEMBER("backtrace", TEXTS, S, frames, PAWL__COUNTED(S, count)),
    PAWL__MEMBER("value", JSON, S, value),
};
static const struct pawl__shape kept_shape = PAWL__SHAPE(S, kept_members);
#undef S

size_t pawl__nack_cut(const char *text, size_t len, size_t bytes_max)
{
    size_t end = 0;
    while (end < len) {
        int step = pawl__utf8_step(text + end, text + len);
        if (step <= 0 || end + (size_t)step > bytes_max) break;
        end += (size_t)step;
    }
    return end;
}

/* ---- backtrace ---- */

/* False: no more frames fit. */
static bool add_frame(struct kept *kept, struct pawl__arena *arena, const char *text, size_t len)
{
    size_t fits = pawl__nack_cut(text, len, PAWL__BACKTRACE_BYTES_MAX - kept->bytes);
    if (kept->count == PAWL__BACKTRACE_FRAMES_MAX || (len && !fits)) return false;
    kept->backtrace[kept->count] = pawl__arena_dup(arena, text, fits);
    if (!kept->backtrace[kept->count]) return false;
    kept->count++;
    kept->bytes += fits;
    return fits == len;
}

static void add_array(struct kept *kept, const struct pawl__json *json, uint32_t array,
                      struct pawl__arena *arena)
{
    uint32_t token = pawl__json_first(array);
    for (uint32_t left = json->tokens[array].count; left > 0; left--) {
        size_t len;
        bool is_text = json->tokens[token].type == PAWL__JSON_STRING;
        const char *text = is_text ? pawl__json_string(json, token, arena, &len) : NULL;
        if (text && !add_frame(kept, arena, text, len)) return;
        token = json->tokens[token].next;
    }
}

static void add_lines(struct kept *kept, struct pawl__arena *arena, const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        if (!line) line = end;
        if (!add_frame(kept, arena, text, (size_t)(line - text))) return;
        text = line + 1;
    }
}

static void add_backtrace(struct kept *kept, const struct pawl__json *json, uint32_t token,
                          struct pawl__arena *arena)
{
    size_t len;
    if (json->tokens[token].type == PAWL__JSON_ARRAY) {
        add_array(kept, json, token, arena);
    } else if (json->tokens[token].type == PAWL__JSON_STRING) {
        const char *text = pawl__json_string(json, token, arena, &len);
        if (text) add_lines(kept, arena, text, len);
    }
    kept->frames = kept->backtrace;
}

/* ---- both ---- */

/* The members of the details, if they are an object, follow the backtrace. */
static void print_both(struct pawl__buf *out, struct kept *kept, struct pawl_span details,
                       bool object, bool empty)
{
    if (!kept->count) {
        pawl__buf_add(out, details.at, details.len);
        return;
    }
    if (!object) kept->value = details;
    pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, &kept_shape, kept);
    if (!object || empty || out->failed) return;
    out->at[out->len - 1] = ',';
    pawl__buf_add(out, details.at + 1, details.len - 1);
}

struct pawl_span pawl__nack_details(const struct pawl__json *json, uint32_t error,
                                    struct pawl__arena *arena)
{
    struct pawl__buf text = { 0 }, clean = { 0 };
    struct pawl_span details = { "", 0 }, out = { NULL, 0 };
    struct kept kept = { .count = 0 };
    uint32_t at = pawl__json_member(json, error, "details");
    uint32_t backtrace = pawl__json_member(json, error, "backtrace");
    bool object = at && json->tokens[at].type == PAWL__JSON_OBJECT;
    bool empty = at && !json->tokens[at].count;
    if (at && json->tokens[at].type != PAWL__JSON_NULL) details = pawl__json_span(json, at);
    if (details.len > PAWL__DETAILS_BYTES_MAX) {
        details = truncated;
        object = true;
    }
    if (backtrace) add_backtrace(&kept, json, backtrace, arena);
    print_both(&text, &kept, details, object, empty);
    if (text.len) pawl__redact(&clean, (struct pawl_span){ text.at, text.len });
    if (clean.len)
        out = (struct pawl_span){ pawl__arena_dup(arena, clean.at, clean.len), clean.len };
    if (text.failed || clean.failed || (out.len && !out.at)) out = truncated;
    pawl__buf_release(&text);
    pawl__buf_release(&clean);
    return out;
}
