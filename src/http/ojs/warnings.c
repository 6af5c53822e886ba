#include "http/ojs/warnings.h"

#include <string.h>

struct told {
    const char *field, *message;
};

#define S struct told
static const struct pawl__member warning_members[] = {
    PAWL__MEMBER("field", NAME, S, field, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("message", NAME, S, message, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_warning_shape = PAWL__SHAPE(S, warning_members);
#undef S

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

static void print_one(const struct pawl__shape_writer *writer, const struct pawl__warning *warning)
{
    struct pawl__buf text = { 0 };
    pawl__buf_printf(&text, "\"%s\" ", warning->field);
    pawl__warning_text(&text, warning);
    const struct told told = { warning->field, text.at };
    pawl__shape_print(writer, &pawl__ojs_warning_shape, &told);
    writer->out->failed |= text.failed;
    pawl__buf_release(&text);
}

void pawl__warnings_print_list(const struct pawl__shape_writer *writer,
                               const struct pawl__member *member, const void *base)
{
    const struct pawl__warnings *warnings =
        *(const struct pawl__warnings *const *)((const char *)base + member->offset);
    char text[64];
    if (!warnings->count) return;
    for (size_t i = 0; i < warnings->count; i++) {
        pawl__buf_add(writer->out, i ? "," : "[", 1);
        print_one(writer, &warnings->at[i]);
    }
    if (warnings->more) {
        snprintf(text, sizeof text, "%zu more unknown members", warnings->more);
        pawl__buf_add(writer->out, ",", 1);
        pawl__shape_print(writer, &pawl__ojs_warning_shape, &(struct told){ "", text });
    }
    pawl__buf_add(writer->out, "]", 1);
}

void pawl__warnings_print(struct pawl__buf *out, const struct pawl__warnings *warnings)
{
    struct holder {
        const struct pawl__warnings *warnings;
    } holder = { warnings };
    const struct pawl__member member = PAWL__WARNINGS(struct holder, warnings);
    const struct pawl__shape shape = { .members = &member, .count = 1 };
    bool any = true;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &shape, &holder, &any);
}
