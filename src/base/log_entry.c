#include "base/log_entry.h"
#include "base/plain.h"
#include "base/time_text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define X(number, name, text) [number] = text,
static const char *const level_texts[] = { PAWL__LOG_LEVELS(X) };
#undef X

static bool is_json(const struct pawl__log_entry *entry)
{
    return entry->format == PAWL__LOG_FORMAT_JSON;
}

void pawl__log_entry_begin(struct pawl__log_entry *entry, enum pawl__log_level level, int64_t at_ms,
                           const char *message, size_t len)
{
    char at[PAWL__INSTANT_TEXT_BYTES];
    assert(level < PAWL__LOG_END);
    pawl__instant_text(at_ms, at);
    if (is_json(entry)) {
        pawl__buf_printf(entry->out, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", at,
                         level_texts[level]);
        pawl__buf_add_json(entry->out, message, len);
    } else {
        pawl__buf_printf(entry->out, "%s %s ", at, level_texts[level]);
        pawl__plain_add(entry->out, message, len);
    }
}

static void add_name(struct pawl__log_entry *entry, const char *name)
{
    pawl__buf_printf(entry->out, is_json(entry) ? ",\"%s\":" : " %s=", name);
}

/* True if nothing in it could be mistaken for the end of the value. */
static bool is_word(const char *text)
{
    for (; *text > ' ' && *text < 0x7f && !strchr("\"\\=", *text); text++) {
    }
    return !*text;
}

static void add_quoted(struct pawl__buf *out, const char *text)
{
    pawl__buf_add_text(out, "\"");
    while (*text) {
        size_t len = strcspn(text, "\"\\");
        pawl__plain_add(out, text, len);
        text += len;
        if (*text) pawl__buf_printf(out, "\\%c", *text++);
    }
    pawl__buf_add_text(out, "\"");
}

void pawl__log_entry_text(struct pawl__log_entry *entry, const char *name, const char *text)
{
    if (!text || !text[0]) return;
    add_name(entry, name);
    if (is_json(entry)) {
        pawl__buf_add_json(entry->out, text, strlen(text));
    } else if (is_word(text)) {
        pawl__buf_add_text(entry->out, text);
    } else {
        add_quoted(entry->out, text);
    }
}

void pawl__log_entry_int(struct pawl__log_entry *entry, const char *name, int64_t value)
{
    add_name(entry, name);
    pawl__buf_add_int(entry->out, value);
}

void pawl__log_entry_ms(struct pawl__log_entry *entry, const char *name, int64_t us)
{
    assert(us >= 0);
    add_name(entry, name);
    pawl__buf_printf(entry->out, "%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
}

void pawl__log_entry_end(struct pawl__log_entry *entry)
{
    pawl__buf_add_text(entry->out, is_json(entry) ? "}\n" : "\n");
}
