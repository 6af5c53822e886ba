/* Checks of values from outside, beside those in store/intake.h and base/check.h. Errors are
 * reported as there. Pure: allocates no memory, any thread. */
#ifndef PAWL_API_CHECK_H
#define PAWL_API_CHECK_H

#include "base/check.h"
#include "store/store.h"

#include <pawl/pawl.h>

enum {
    PAWL__LIST_MAX = 100, /* members of a list in a filter */
    PAWL__REASON_BYTES_MAX = 1024,
    PAWL__LOCK_BYTES_MAX = 128,
    PAWL__META_VALUE_BYTES_MAX = 1024
};

/* Refuses a "*" in other places than "*" and "mail.*", which would find nothing. */
PAWL_MUST_CHECK enum pawl_err pawl__check_star(const char *field, const char *types,
                                               struct pawl_diag *diag);
/* A type, or a pattern for those with a prefix ("mail.*"), or for all ("*"). */
PAWL_MUST_CHECK enum pawl_err pawl__check_types(const char *types, struct pawl_diag *diag);
/* `by` may be NULL. */
PAWL_MUST_CHECK enum pawl_err pawl__check_by(const struct pawl_by *by, struct pawl_diag *diag);

#endif
