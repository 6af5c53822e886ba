/* Deadlines of jobs (sla_soft_at_ms, sla_hard_at_ms), and which were missed.
 *
 * A job with deadlines has a row in pawl_deadline with the first of them. The sweep
 * PAWL__OP_DEADLINE finds rows whose time is over. If the job had not ended by then it leaves an
 * audit entry and notifies listeners; in the same transaction the row moves on to the job's next
 * deadline, or goes. So each miss is reported once, whichever node sweeps, and however often nodes
 * are restarted. Finishing a job costs nothing, and neither does a job without deadlines.
 *
 * A job meets its deadline if it ends, in whatever way, no later than at that instant. */
#ifndef PAWL_STORE_CORE_DEADLINE_H
#define PAWL_STORE_CORE_DEADLINE_H

#include "store/core/set.h"

/* 0: it has none. */
static inline int64_t pawl__first_deadline(const struct pawl_job_spec *spec)
{
    return spec->sla_soft_at_ms ? spec->sla_soft_at_ms : spec->sla_hard_at_ms;
}

#endif
