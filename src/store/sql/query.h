/* What differs between databases when jobs are found by a filter; the rest is query.c. The WHERE
 * clauses are filter.c's.
 *
 * Jobs are in several sources, live and archived ones for a start, of which each has its own
 * statement; what they give is merged by position.
 *
 * Threads: any; a reader belongs to its caller. */
#ifndef PAWL_STORE_SQL_QUERY_H
#define PAWL_STORE_SQL_QUERY_H

#include "store/sql/read.h"

enum { PAWL__SOURCES_MAX = 4 };

/* What a draft is told about where it looks. */
struct pawl__source {
    bool archive, flag;
};

/* One page of each source. */
struct pawl__ask {
    const struct pawl_filter *filter;
    bool ids; /* only those are wanted */
    bool oldest_first;
    bool brief; /* without arguments and results */
    struct pawl__position after;
    int64_t limit;
    bool bounded;      /* the first `least` jobs are whole, others while they fit: */
    int64_t bytes_max; /* -1: none does */
    int64_t least;
};

struct pawl__pages {
    const struct pawl__dialect *dialect;
    struct pawl__cursor cursor;
    bool lazy; /* a row is read when it is stepped to: a page need not be `bounded` in advance */
    const char *count[2]; /* statements to put a filter behind; of live jobs, of the archive */
    const char *after[2]; /* the term for what is behind a position: newest, oldest first */
    enum pawl_err (*sources)(struct pawl__reader *reader, const struct pawl_filter *filter,
                             struct pawl__source out[PAWL__SOURCES_MAX], size_t *count);
    /* The statement of a page: pawl__draft_page, and what goes around it. */
    void (*draft)(struct pawl__draft *draft, const struct pawl__ask *ask);
};

/* `text`, the filter, the position, " ORDER BY " `order`, the limit. */
void pawl__draft_page(struct pawl__draft *draft, const struct pawl__pages *pages,
                      const struct pawl__ask *ask, const char *text, const char *order);

#endif
