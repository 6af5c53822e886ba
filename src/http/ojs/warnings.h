/* Members of a request that have no effect: reported in the reply, or refused if the client asks
 * for strict handling (Prefer: handling=strict). */
#ifndef PAWL_HTTP_OJS_WARNINGS_H
#define PAWL_HTTP_OJS_WARNINGS_H

#include "base/shape.h"

enum { PAWL__WARNINGS_MAX = 16 }; /* listed in one reply; the others are counted */

struct pawl__warning {
    const char *field; /* its path: "jobs[3].options.dealy" */
    const char *meant; /* the known member that is most similar; NULL: none is */
    bool misplaced;    /* known, but ignored in this place */
};

struct pawl__warnings {
    struct pawl__warning at[PAWL__WARNINGS_MAX];
    size_t count;
    size_t more; /* that are only counted */
};

/* Whether a name marks an extension (it begins with "x_", "x-", "ext_" or "ext-"): such members are
 * kept without a warning. */
bool pawl__is_extension(const char *name, size_t len);

/* The rule that the member breaks: "is not a known member; did you mean \"delay\"?" */
void pawl__warning_text(struct pawl__buf *out, const struct pawl__warning *warning);
/* ,"warnings":[{"field":...,"message":...},...] or nothing if there are none. */
void pawl__warnings_print(struct pawl__buf *out, const struct pawl__warnings *warnings);

/* The same as a member of a reply: a const struct pawl__warnings *, never NULL. */
#define PAWL__WARNINGS(S, member)                                                                  \
    PAWL__MEMBER("warnings", OWN, S, member, .print = pawl__warnings_print_list,                   \
                 .wire = PAWL__AS_MANY, .shape = &pawl__ojs_warning_shape)
pawl__member_print_fn pawl__warnings_print_list;
extern const struct pawl__shape pawl__ojs_warning_shape;

#endif
