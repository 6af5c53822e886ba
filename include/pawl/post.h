/* Asynchronous calls: posted now, answered after the commit. For programs with an event loop that
 * must not block.
 *
 * Posting checks the arguments: if it returns an error, nothing was posted and no answer follows.
 * Otherwise `fn` is called exactly once, on a thread of the library, and must return quickly: pass
 * the answer on to the loop. All arguments are borrowed until then. The answer belongs to the
 * callee: pawl_answer_free it, from any thread, also after pawl_close, which waits for outstanding
 * answers. Hooks after a submit are called on the same thread. */
#ifndef PAWL_POST_H
#define PAWL_POST_H

#include <pawl/remote.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl_answer {
    void *ctx; /* the caller's */
    enum pawl_err err;
    struct pawl_diag diag; /* set if err */
    int64_t now_ms;        /* the store's time of the change */
    /* The results of the posted call, on success; pointers are valid until the answer is freed: */
    struct pawl_submitted *submitted;
    size_t submitted_count;
    struct pawl_submitted holder; /* holder of the key, if err is DUPLICATE; zeros if it is a job of
                                     the same batch: none of the batch was submitted */
    size_t failed_index;          /* index of the spec of a batch that failed; else the count */
    struct pawl_job *jobs;        /* claimed or routed jobs, or the one that was assigned */
    size_t job_count;
    bool more; /* of a claim: see pawl_claim */
    struct pawl_failed failed;
    enum pawl_err *results; /* of an extension */
    size_t result_count;
};

typedef void pawl_answer_fn(struct pawl_answer *taken_answer);

void pawl_answer_free(struct pawl_answer *answer); /* NULL is allowed */

/* See pawl_submit_many, pawl_claim, pawl_route, pawl_assign, pawl_complete, pawl_fail,
 * pawl_extend. */
PAWL_MUST_CHECK enum pawl_err pawl_post_submit(struct pawl *pawl, const struct pawl_job_spec *specs,
                                               size_t count, pawl_answer_fn *fn, void *ctx,
                                               struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_claim(struct pawl *pawl, const struct pawl_claim *claim,
                                              pawl_answer_fn *fn, void *ctx,
                                              struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_route(struct pawl *pawl, const struct pawl_claim *claim,
                                              pawl_answer_fn *fn, void *ctx,
                                              struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_assign(struct pawl *pawl,
                                               const struct pawl_assignment *assignment,
                                               pawl_answer_fn *fn, void *ctx,
                                               struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_complete(struct pawl *pawl, const struct pawl_run *run,
                                                 struct pawl_span result, pawl_answer_fn *fn,
                                                 void *ctx, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_fail(struct pawl *pawl, const struct pawl_run *run,
                                             const struct pawl_report *report, pawl_answer_fn *fn,
                                             void *ctx, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_extend(struct pawl *pawl,
                                               const struct pawl_extension *extension,
                                               pawl_answer_fn *fn, void *ctx,
                                               struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
