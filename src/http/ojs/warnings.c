#include "http/ojs/warnings.h"

#include <string.h>

bool pawl__is_extension(const char *name, size_t len)
{
    static const char *const prefixes[] = { "x_", "x-", "ext_", "ext-" };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t prefix_len = strlen(prefixes[i]);
        if (len > prefix_len && memcmp(name, prefixes[i], prefix_len) == 0) return true;
    }
    return false;
}

void pawl__warning_text(struct pawl__buf *out, const struct pawl__warning *warning)
{
    if (warning->misplaced) {
        pawl__buf_add_text(out, "is ignored here: it belongs at the top level of a job");
        return;
    }
    pawl__buf_add_text(out, "is not a known member");
    if (warning->meant) pawl__buf_printf(out, "; did you mean \"%s\"?", warning->meant);
}

static void print_one(struct pawl__buf *out, const struct pawl__warning *warning)
{
    struct pawl__buf text = { 0 };
    pawl__buf_printf(&text, "\"%s\" ", warning->field);
    pawl__warning_text(&text, warning);
    pawl__buf_add_text(out, "{\"field\":");
    pawl__buf_add_json(out, warning->field, strlen(warning->field));
    pawl__buf_add_text(out, ",\"message\":");
    pawl__buf_add_json(out, text.failed ? "" : text.at, text.failed ? 0 : text.len);
    pawl__buf_add(out, "}", 1);
    if (text.failed) out->failed = true;
    pawl__buf_release(&text);
}

void pawl__warnings_print(struct pawl__buf *out, const struct pawl__warnings *warnings)
{
    if (!warnings->count) return;
    pawl__buf_add_text(out, ",\"warnings\":[");
    for (size_t i = 0; i < warnings->count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        print_one(out, &warnings->at[i]);
    }
    if (warnings->more) {
        pawl__buf_printf(out, ",{\"field\":\"\",\"message\":\"%zu more unknown members\"}",
                         warnings->more);
    }
    pawl__buf_add(out, "]", 1);
}
