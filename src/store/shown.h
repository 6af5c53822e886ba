/* What reads show of what is stored, alike in every store.
 *
 * Threads: any; nothing is shared. */
#ifndef PAWL_STORE_SHOWN_H
#define PAWL_STORE_SHOWN_H

#include "base/arena.h"

#include <pawl/pawl.h>

/* Is the progress that `run` reported last the job's? A run that is under way shows its own, not an
 * earlier one's. */
bool pawl__progress_shows(const struct pawl_job *job, int64_t run);
/* See struct pawl_job; the text is static. */
const char *pawl__job_hold(const struct pawl_job *job);
/* Is a queue listed? One that was deleted is so while it has a job that is not archived. */
bool pawl__queue_is_listed(const struct pawl_queue_stats *queue, bool forgotten);
/* Has an object, NULL or of no bytes if there is none, a member of that name and value? A string is
 * compared by what it says, anything else by how it is written. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__meta_has(struct pawl_span meta, const char *name,
                                             struct pawl_span value, struct pawl__arena *scratch,
                                             bool *out);

#endif
