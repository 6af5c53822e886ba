/* Which job watches another. */
#ifndef TESTS_SETTLE_WATCH_H
#define TESTS_SETTLE_WATCH_H

#include <pawl/job.h>

/* The next one: its first half is one more, since that is what tells jobs apart on SQLite. */
static inline struct pawl_job_id watch_next(struct pawl_job_id id)
{
    for (int i = 7; i >= 0 && !++id.b[i]; i--) {
    }
    return id;
}

#endif
