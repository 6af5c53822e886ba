/* Members of a request that have no effect: reported in the answer, or refused if the client asks
 * for strict handling (Prefer: handling=strict). */
#ifndef PAWL_HTTP_OJS_WARNINGS_H
#define PAWL_HTTP_OJS_WARNINGS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAWL__WARNINGS_MAX = 16 }; /* listed in one answer; the others are counted */

struct pawl__warning {
    const char *field; /* its path: "jobs[3].options.dealy" */
    const char *meant; /* the known member that it resembles; NULL: none */
    bool misplaced;    /* known, but not at this place: ignored */
};

struct pawl__warnings {
    struct pawl__warning at[PAWL__WARNINGS_MAX];
    size_t count;
    size_t more; /* that had no room */
};

/* Whether a member is an extension by its name ("x_", "x-", "ext_", "ext-" first): kept, and never
 * worth a warning. */
bool pawl__is_extension(const char *name, size_t len);

/* What is wrong with it, as half a sentence: "is not a known member; did you mean \"delay\"?" */
void pawl__warning_text(struct pawl__buf *out, const struct pawl__warning *warning);
/* ,"warnings":[{"field":...,"message":...},...] or nothing if there are none. */
void pawl__warnings_print(struct pawl__buf *out, const struct pawl__warnings *warnings);

#endif
