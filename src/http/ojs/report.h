/* What a worker reports of a run: the walk that ack and nack share.
 *
 * The fast path asks the store nothing: the lease is known here, the report is posted, and the
 * reply is made from its answer. When the lease is not known, or the store says that the run is
 * over, the pool reads the job and decides. A report begins on the loop. */
#ifndef PAWL_HTTP_OJS_REPORT_H
#define PAWL_HTTP_OJS_REPORT_H

#include "http/ojs/owner.h"

/* What ack and nack differ in. Each gets its request, whose state begins with a struct
 * pawl__report.
 */
struct pawl__report_kind {
    /* Post it for the lease's run; on the loop. */
    enum pawl_err (*post)(struct pawl__request *request, struct pawl__lease *lease,
                          struct pawl_diag *diag);
    /* The store took what was posted: answer, or go on on the pool. */
    void (*posted)(struct pawl__request *request, const struct pawl_answer *answer);
    /* Report it for `run`; on the pool. */
    enum pawl_err (*call)(struct pawl__request *request, const struct pawl_run *run,
                          struct pawl_diag *diag);
    /* It is reported: answer; on the pool. */
    pawl__handler_fn *reply;
    /* Is it a repeated report, to be answered as the first was? NULL: never. */
    bool (*is_repeated)(const struct pawl__request *request, const struct pawl_job *job);
};

struct pawl__report {
    const struct pawl__report_kind *kind;
    struct pawl__owner owner;
    int64_t run;          /* that it was posted for */
    struct pawl_job *job; /* as it was claimed; of the heap, freed by the walk; NULL: not kept */
    int64_t now_ms;       /* when it was reported */
};

/* The request has been read. */
void pawl__report_begin(struct pawl__request *request);

#endif
