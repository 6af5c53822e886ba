/* A claim: available jobs are given to a worker, or routed to one (PAWL__OP_ROUTE).
 *
 * 1. Queues are emptied from left to right, and a paused one gives nothing. Within a queue the best
 *    rank comes first, whatever the type; of one rank the job that arrived first.
 * 2. A job whose time to live is over is ended and not given, about PAWL__MAINTENANCE_MAX in one
 *    claim. Where a scan finds no others the next one looks at more jobs than it may give, but
 *    keeps no more of those that are not over from other claims.
 * 3. The claim ends before the job whose arguments would exceed bytes_max, unless it is the first.
 *    Arguments longer than args_max are left out.
 * 4. Jobs that other transactions hold are passed over.
 * 5. `more`: fewer than `limit` were given, and one of the three above was met.
 *
 * Rules are applied in one of two ways. A backend's scan_ready puts ready jobs into the working
 * set, and the rule here moves them. Its claim_plain, which is optional, gives jobs without ties at
 * once, by the functions below, and puts the others into the set.
 *
 * Threads: the set's. */
#ifndef PAWL_STORE_CORE_CLAIM_H
#define PAWL_STORE_CORE_CLAIM_H

#include "store/core/set.h"

/* A lane that a claim takes from. */
struct pawl__claim_lane {
    uint32_t at;              /* index in the catalogue */
    uint32_t turn;            /* of its queue among the claim's */
    const char *queue, *type; /* as long-lived as the jobs; NULL until one is given */
};

/* By which jobs are in order: the turn of their queue, their rank, their arrival. */
struct pawl__claim_order {
    uint32_t turn; /* claim.c's; 0 elsewhere */
    int64_t rank;
    struct pawl_job_id seat; /* the arrival of the job, or its id where that is one */
};
/* Less than 0: `a` comes before `b`. */
int pawl__claim_compare(const struct pawl__claim_order *a, const struct pawl__claim_order *b);

struct pawl__claim {
    struct pawl__set *set;
    struct pawl__op *op;
    const char *worker;             /* as long-lived as the jobs */
    struct pawl__claim_lane *lanes; /* those of one queue side by side, in order of the queues */
    size_t lane_count;
    size_t wanted;  /* how many jobs this scan may find, those that it gives included */
    size_t givable; /* how many of them have not expired, if it locks what it finds: as many as may
                       be given. As `wanted`, for claim_plain */
    uint8_t need;   /* what the rule needs of the others */
    bool passed_over; /* the scan's answer: others hold some, or may do */

    struct pawl__claim_order *orders; /* of the jobs that were given */
    size_t first;                     /* of those: what this scan found begins here */
    int64_t bytes;                    /* of their arguments */
    int64_t expired;                  /* how many were ended */
    bool full;                        /* bytes_max is reached */
    bool again;                       /* there may be more behind what this scan found */
};

/* ---- for scans ---- */

/* Finds jobs in lanes of one queue. */
typedef enum pawl_err pawl__scan_lanes_fn(void *scan, struct pawl__claim_lane *lanes, size_t count);
/* Calls `scan_lanes` for one queue after the other, while the scan may find more jobs. */
PAWL_MUST_CHECK enum pawl_err pawl__claim_scan(struct pawl__claim *claim,
                                               pawl__scan_lanes_fn *scan_lanes, void *scan);
/* How many jobs the scan has found so far, those included that it gave; and how many more it may
 * find. */
size_t pawl__claim_count(const struct pawl__claim *claim);
size_t pawl__claim_room(const struct pawl__claim *claim);
/* The next job that is ready, whose arguments are so long. */
void pawl__claim_found(struct pawl__claim *claim, struct pawl_job_id id, int64_t args_bytes);

/* ---- for claim_plain: jobs that are given at once ---- */

/* Is the job's time to live over? */
static inline bool pawl__claim_expired(const struct pawl__claim *claim, int64_t expires_at_ms)
{
    return expires_at_ms && expires_at_ms <= claim->set->now_ms;
}
/* Are arguments of this length left out? */
static inline bool pawl__claim_omits(const struct pawl__claim *claim, int64_t bytes)
{
    int64_t max = claim->op->kind == PAWL__OP_CLAIM ? claim->op->claim.args_max : 0;
    return max && bytes > max;
}
/* May a job with so many bytes of arguments be the next? If not, the claim is `full`. */
bool pawl__claim_fits(struct pawl__claim *claim, int64_t args_bytes);

/* Where a job stands that is given. */
struct pawl__claim_stand {
    struct pawl__claim_order order;
    int64_t run; /* the one that begins */
    int64_t base_run, free_runs, lease_until_ms;
    int64_t args_bytes;
};
/* When the lease of a run ends that begins now. */
int64_t pawl__claim_lease(const struct pawl__claim *claim, const struct pawl_job *job);
/* The next job of the answer, whose facts are known, becomes active; NULL: no memory. It is counted
 * and told; the backend writes it. */
PAWL_MUST_CHECK struct pawl_job *pawl__claim_give(struct pawl__claim *claim,
                                                  struct pawl__claim_lane *lane,
                                                  const struct pawl_job *facts,
                                                  const struct pawl__claim_stand *stand);

#endif
