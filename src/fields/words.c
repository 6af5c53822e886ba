/* The words of the public enums. */
#include "fields/fields.h"

#include <pawl/pawl.h>
#include <pawl/work.h>

#define X(number, name, ...) [number] = #name,
static const char *const err_texts[PAWL_ERR_END] = { PAWL_ERRORS(X) };
#undef X
#define X(number, name, text, ...) [number] = text,
static const char *const state_texts[PAWL_STATE_END] = { PAWL_STATES(X) };
static const char *const node_state_texts[PAWL_NODE_END] = { PAWL_NODE_STATES(X) };
static const char *const control_texts[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
const char *const pawl__backoff_texts[PAWL_BACKOFF_END] = { PAWL_BACKOFFS(X) };
const char *const pawl__conflict_texts[PAWL_CONFLICT_END] = { PAWL_CONFLICTS(X) };
#undef X
static const char *const exhaustion_texts[] = {
    [PAWL_EXHAUSTION_DISCARD] = "discard", [PAWL_EXHAUSTION_DEAD_LETTER] = "dead_letter"
};
/* By the numbers of the bits PAWL_UNIQUE_TYPE and so on. */
const char *const pawl__unique_texts[PAWL__UNIQUE_TEXTS] = { "type", "queue", "args", "meta" };
_Static_assert(PAWL_UNIQUE_TYPE == 1 && PAWL_UNIQUE_QUEUE == 2 && PAWL_UNIQUE_ARGS == 4 &&
                   PAWL_UNIQUE_META == 8,
               "a bit has another word");

#define WORDS(array)                                                                               \
    {                                                                                              \
        .at = (array), .count = sizeof(array) / sizeof *(array)                                    \
    }
const struct pawl__words pawl__err_words = WORDS(err_texts);
const struct pawl__words pawl__state_words = { // as pawl_state_mask reads them
    .at = state_texts,
    .count = PAWL_STATE_END,
    .any_case = true
};
const struct pawl__words pawl__node_state_words = WORDS(node_state_texts);
const struct pawl__words pawl__control_words = WORDS(control_texts);
const struct pawl__words pawl__backoff_words = WORDS(pawl__backoff_texts);
const struct pawl__words pawl__conflict_words = WORDS(pawl__conflict_texts);
const struct pawl__words pawl__exhaustion_words = WORDS(exhaustion_texts);
const struct pawl__words pawl__unique_words = WORDS(pawl__unique_texts);
