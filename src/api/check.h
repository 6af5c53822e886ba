/* Checks of a job's values from outside; those for text and time in general are in base/check.h.
 * Errors are reported as there. Pure: allocates no memory, any thread. */
#ifndef PAWL_API_CHECK_H
#define PAWL_API_CHECK_H

#include "base/check.h"

#include <pawl/pawl.h>

enum {
    PAWL__LIST_MAX = 100, /* members of a list in a filter */
    PAWL__REASON_BYTES_MAX = 1024,
    PAWL__LOCK_BYTES_MAX = 128,
    PAWL__META_VALUE_BYTES_MAX = 1024
};

/* ^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*(@\d+\.\d+)?$ */
PAWL_MUST_CHECK enum pawl_err pawl__check_type(const char *type, struct pawl_diag *diag);
/* Refuses a "*" in other places than "*" and "mail.*", which would find nothing. */
PAWL_MUST_CHECK enum pawl_err pawl__check_star(const char *field, const char *types,
                                               struct pawl_diag *diag);
/* A type, or a pattern for those with a prefix ("mail.*"), or for all ("*"). */
PAWL_MUST_CHECK enum pawl_err pawl__check_types(const char *types, struct pawl_diag *diag);
/* ^[a-z0-9][a-z0-9._-]*$ */
PAWL_MUST_CHECK enum pawl_err pawl__check_queue(const char *queue, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__check_priority(int32_t priority, struct pawl_diag *diag);
/* `by` may be NULL. */
PAWL_MUST_CHECK enum pawl_err pawl__check_by(const struct pawl_by *by, struct pawl_diag *diag);

/* A tag as it is stored: trimmed, ASCII letters in lower case. A blank one is empty (len 0), which
 * is not an error. `field` is used as it is. */
struct pawl__tag {
    size_t len;
    char text[PAWL_TAG_BYTES_MAX + 1];
};
PAWL_MUST_CHECK enum pawl_err pawl__tag_clean(const char *tag, const char *field,
                                              struct pawl__tag *out, struct pawl_diag *diag);

#endif
