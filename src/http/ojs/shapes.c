#include "http/ojs/shapes.h"

#include <assert.h>

#define X(number, name, text, ojs, ...) [number] = ojs,
static const char *const state_texts[PAWL_STATE_END] = { PAWL_STATES(X) };
#undef X
const struct pawl__words pawl__ojs_state_words = { .at = state_texts, .count = PAWL_STATE_END };

void pawl__shown_print(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                       const void *base)
{
    const struct pawl__shown *shown =
        (const struct pawl__shown *)((const char *)base + member->offset);
    pawl__envelope_print(writer->out, shown->job, shown->more);
}

void pawl__printed_print(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct pawl__printed *list =
        (const struct pawl__printed *)((const char *)base + member->offset);
    assert(writer->out == &list->request->reply);
    pawl__buf_add(writer->out, "[", 1);
    list->print(list->request, list->ctx);
    pawl__buf_add(writer->out, "]", 1);
}
