/* Details and backtrace of a failure, as one JSON text. */
#include "http/ojs/nack_details.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "http/ojs/redact.h"

#include <string.h>

static const struct pawl_span truncated = { "{\"truncated\":true}", 18 };

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

struct frames {
    struct pawl__buf *out;
    size_t count, bytes;
};

/* False: no more fit. */
static bool add_frame(struct frames *frames, const char *text, size_t len)
{
    size_t fits = pawl__nack_cut(text, len, PAWL__BACKTRACE_BYTES_MAX - frames->bytes);
    if (frames->count == PAWL__BACKTRACE_FRAMES_MAX || (len && !fits)) return false;
    if (frames->count++) pawl__buf_add(frames->out, ",", 1);
    pawl__buf_add_json(frames->out, text, fits);
    frames->bytes += fits;
    return fits == len;
}

static void add_array(struct frames *frames, const struct pawl__json *json, uint32_t array,
                      struct pawl__arena *arena)
{
    uint32_t token = pawl__json_first(array);
    for (uint32_t left = json->tokens[array].count; left > 0; left--) {
        size_t len;
        bool is_text = json->tokens[token].type == PAWL__JSON_STRING;
        const char *text = is_text ? pawl__json_string(json, token, arena, &len) : NULL;
        if (text && !add_frame(frames, text, len)) return;
        token = json->tokens[token].next;
    }
}

static void add_lines(struct frames *frames, const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        if (!line) line = end;
        if (!add_frame(frames, text, (size_t)(line - text))) return;
        text = line + 1;
    }
}

/* The member of its own, without the object's end; nothing when there are no frames. */
static void add_backtrace(struct pawl__buf *out, const struct pawl__json *json, uint32_t token,
                          struct pawl__arena *arena)
{
    struct frames frames = { .out = out };
    size_t len;
    pawl__buf_add_text(out, PAWL__BACKTRACE_MEMBER);
    if (json->tokens[token].type == PAWL__JSON_ARRAY) {
        add_array(&frames, json, token, arena);
    } else if (json->tokens[token].type == PAWL__JSON_STRING) {
        const char *text = pawl__json_string(json, token, arena, &len);
        if (text) add_lines(&frames, text, len);
    }
    if (frames.count) {
        pawl__buf_add(out, "]", 1);
    } else {
        pawl__buf_clear(out);
    }
}

/* ---- both ---- */

static void add_details(struct pawl__buf *out, const struct pawl__json *json, uint32_t details)
{
    struct pawl_span text = pawl__json_span(json, details);
    bool object = json->tokens[details].type == PAWL__JSON_OBJECT;
    if (text.len > PAWL__DETAILS_BYTES_MAX) {
        text = truncated;
        object = true;
    }
    if (!out->len) {
        pawl__buf_add(out, text.at, text.len);
    } else if (!object) {
        pawl__buf_add_text(out, ",\"value\":");
        pawl__buf_add(out, text.at, text.len);
        pawl__buf_add(out, "}", 1);
    } else if (json->tokens[details].count) {
        pawl__buf_add(out, ",", 1);
        pawl__buf_add(out, text.at + 1, text.len - 1);
    } else {
        pawl__buf_add(out, "}", 1);
    }
}

struct pawl_span pawl__nack_details(const struct pawl__json *json, uint32_t error,
                                    struct pawl__arena *arena)
{
    struct pawl__buf text = { 0 }, clean = { 0 };
    struct pawl_span kept = { NULL, 0 };
    uint32_t details = pawl__json_member(json, error, "details");
    uint32_t backtrace = pawl__json_member(json, error, "backtrace");
    if (details && json->tokens[details].type == PAWL__JSON_NULL) details = 0;
    if (backtrace) add_backtrace(&text, json, backtrace, arena);
    if (details) {
        add_details(&text, json, details);
    } else if (text.len) {
        pawl__buf_add(&text, "}", 1);
    }
    if (text.len) pawl__redact(&clean, (struct pawl_span){ text.at, text.len });
    if (clean.len)
        kept = (struct pawl_span){ pawl__arena_dup(arena, clean.at, clean.len), clean.len };
    if (text.failed || clean.failed || (kept.len && !kept.at)) kept = truncated;
    pawl__buf_release(&text);
    pawl__buf_release(&clean);
    return kept;
}
