/* Checks filters and pages, fills in defaults and normalizes tags. */
#ifndef PAWL_API_FILTER_H
#define PAWL_API_FILTER_H

#include "base/arena.h"

#include <pawl/job.h>

/* `given` may be NULL: all jobs. `out` borrows from `given` and `arena`. ARG, LIMIT ("filter.x" is
 * the field), NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__filter_complete(const struct pawl_filter *given,
                                                    struct pawl__arena *arena,
                                                    struct pawl_filter *out,
                                                    struct pawl_diag *diag);
/* `given` may be NULL. An empty cursor means the first page, so that a loop may pass `next` of a
 * zeroed result. ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__page_complete(const struct pawl_page *given,
                                                  struct pawl_page *out, struct pawl_diag *diag);

#endif
