/* Reports on runs: the steps that ack and nack share.
 *
 * On the fast path the store is asked nothing beforehand: this server knows the lease, posts the
 * report, and replies from the store's answer. If the lease is not known here, or the store says
 * that the run is over, a thread of the pool reads the job and decides. Reports begin on the loop.
 */
#ifndef PAWL_HTTP_OJS_REPORT_H
#define PAWL_HTTP_OJS_REPORT_H

#include "http/ojs/owner.h"

/* How ack and nack differ. The state of their requests begins with a struct pawl__report. */
struct pawl__report_kind {
    /* Posts the report for the run under this lease. On the loop. */
    enum pawl_err (*post)(struct pawl__request *request, struct pawl__lease *lease,
                          struct pawl_diag *diag);
    /* The store took what was posted: replies, or goes on on the pool. */
    void (*posted)(struct pawl__request *request, const struct pawl_answer *answer);
    /* Reports for `run`. On the pool. */
    enum pawl_err (*call)(struct pawl__request *request, const struct pawl_run *run,
                          struct pawl_diag *diag);
    /* Replies after the report. On the pool. */
    pawl__handler_fn *reply;
    /* Is it a repeat, to be answered as the first report was? NULL: never. */
    bool (*is_repeated)(const struct pawl__request *request, const struct pawl_job *job);
};

struct pawl__report {
    const struct pawl__report_kind *kind;
    struct pawl__owner owner;
    int64_t run;          /* the run that it was posted for */
    struct pawl_job *job; /* as it was claimed, freed by the walk; NULL: not kept */
    int64_t now_ms;       /* when it was reported */
};

/* After the body has been read into request->state. */
void pawl__report_begin(struct pawl__request *request);

#endif
