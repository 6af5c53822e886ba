/* Inside the front desk: what its files share. Other rooms include <pawl/pawl.h>, not this, but for
 * src/sql, which is a part of the desk that stands elsewhere. */
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
    uint64_t number;        /* drawn at opening: as whom it holds start-up leases */
    struct pawl__idgen ids; /* has its own lock */
    struct pawl__mutex mutex;
    struct pawl__cond answered;
    /* guarded by mutex: */
    int64_t posted; /* calls whose answer has not been given */
};

/* `given` (may be NULL) with its defaults filled in, checked. Borrows what it points to. ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__config_complete(const struct pawl_config *given,
                                                    struct pawl_config *out,
                                                    struct pawl_diag *diag);

/* Have `op` done, forget what is in its arena, return its err. Blocks until it is on disk. */
PAWL_MUST_CHECK enum pawl_err pawl__desk_do(struct pawl *pawl, struct pawl__op *op,
                                            struct pawl_diag *diag);

/* Until every posted call was answered. */
void pawl__posts_wait(struct pawl *pawl);

/* What the owner of a run reports, checked and made into an operation. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__complete_op(const struct pawl_run *run, struct pawl_span result,
                                                struct pawl__op *op, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__fail_op(const struct pawl_run *run,
                                            const struct pawl_report *report, struct pawl__op *op,
                                            struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__give_back_op(const struct pawl_run *run, int64_t delay_ms,
                                                 struct pawl__op *op, struct pawl_diag *diag);

/* What `owned` of a result points to: an arena on the heap. NULL: no memory; NULL is freed. */
struct pawl__arena *pawl__owned_new(void);
void pawl__owned_free(struct pawl__arena *owned);

/* The members of a JSON object as fields of the spec; those that are not there are left alone. What
 * it points to lives in `arena`, or is part of `text`. ARG, LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__spec_parse(struct pawl_span text, struct pawl__arena *arena,
                                               struct pawl_job_spec *out, struct pawl_diag *diag);

/* A spec that was checked, and what of it is kept as JSON; empty where there is none. */
struct pawl__spec_texts {
    struct pawl_job_spec spec; /* with its defaults filled in */
    struct pawl_span tags, retry, unique;
};

/* Check it as pawl_submit does. `out` points into `arena` and to what `given` points to. ARG,
 * LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__spec_check(const struct pawl_job_spec *given,
                                               struct pawl__arena *arena,
                                               struct pawl__spec_texts *out,
                                               struct pawl_diag *diag);

#endif
