#include "wire/schedule.h"

#define X(number, name, text, ...) [number] = text,
#define WORDS(list, LIST)                                                                          \
    static const char *const list##_texts[] = { LIST(X) };                                         \
    const struct pawl__words pawl__##list##_words = {                                              \
        .at = list##_texts, .count = sizeof list##_texts / sizeof *list##_texts                    \
    };
WORDS(dialect, PAWL_DIALECTS)
WORDS(gap, PAWL_GAPS)
WORDS(overlap, PAWL_OVERLAPS)
WORDS(misfire, PAWL_MISFIRES)
WORDS(schedule_state, PAWL_SCHEDULE_STATES)
WORDS(firing_kind, PAWL_FIRINGS)
WORDS(skip, PAWL_SKIPS)
WORDS(put, PAWL_PUTS)
#undef WORDS
#undef X
