/* Shared by the files of src/api. Other rooms include <pawl/pawl.h> instead, except src/sql, which
 * implements further public functions. */
#ifndef PAWL_API_H
#define PAWL_API_H

#include "base/arena.h"
#include "base/id.h"
#include "base/sync.h"
#include "engine/engine.h"
#include "store/store.h"

#include <pawl/pawl.h>

struct pawl {
    struct pawl__store *store;
    struct pawl__engine *engine;
    const struct pawl_clock *clock;
    uint64_t number;        /* random; identifies the holder of start-up leases */
    struct pawl__idgen ids; /* has its own lock */
    struct pawl__mutex mutex;
    struct pawl__cond answered;
    /* guarded by mutex: */
    int64_t posted; /* calls that have not been answered */
};

/* Completes `given` (may be NULL) with defaults and checks it. The result borrows its pointers.
 * ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__config_complete(const struct pawl_config *given,
                                                    struct pawl_config *out,
                                                    struct pawl_diag *diag);

/* Executes `op`, resets its arena, returns its err. Blocks until it is on disk. */
PAWL_MUST_CHECK enum pawl_err pawl__desk_do(struct pawl *pawl, struct pawl__op *op,
                                            struct pawl_diag *diag);

/* Waits until every posted call has been answered. */
void pawl__posts_wait(struct pawl *pawl);

/* Checks the report of a run's owner and makes an operation of it. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__complete_op(const struct pawl_run *run, struct pawl_span result,
                                                struct pawl__op *op, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__fail_op(const struct pawl_run *run,
                                            const struct pawl_report *report, struct pawl__op *op,
                                            struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__give_back_op(const struct pawl_run *run, int64_t delay_ms,
                                                 struct pawl__op *op, struct pawl_diag *diag);

/* The arena that `owned` of a result points to, on the heap. NULL: out of memory; freeing NULL is
 * allowed. */
struct pawl__arena *pawl__owned_new(void);
void pawl__owned_free(struct pawl__arena *owned);

#endif
