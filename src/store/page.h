/* Pages of a query, alike in every store: what may be asked, and cursors.
 *
 * Threads: any; nothing is shared. */
#ifndef PAWL_STORE_PAGE_H
#define PAWL_STORE_PAGE_H

#include "store/store.h"

enum { PAWL__FILTER_NAMES_MAX = 480 }; /* queues, types and tags of a filter */

/* LIMIT: it names more. */
PAWL_MUST_CHECK enum pawl_err pawl__filter_check(const struct pawl_filter *filter,
                                                 struct pawl_diag *diag);

/* Where a page ended; what the number is, is up to the backend. */
struct pawl__position {
    bool given;
    int64_t number;
    struct pawl_job_id id;
};

/* How a store writes its positions. */
struct pawl__cursor {
    int digits;  /* hexadecimal, of the number */
    bool has_id; /* the id is in it too */
};

/* Check what is asked for, read the page's cursor, and empty `out`. LIMIT, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__page_begin(const struct pawl__cursor *cursor,
                                               const struct pawl_filter *filter,
                                               const struct pawl_page *page,
                                               struct pawl__position *after, struct pawl_jobs *out,
                                               struct pawl_diag *diag);
/* There are more jobs behind `last`. */
void pawl__page_continues(const struct pawl__cursor *cursor, const struct pawl_page *page,
                          const struct pawl__position *last, struct pawl_jobs *out);

#endif
