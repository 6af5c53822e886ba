/* Calls that do not wait: posted now, answered after the commit. For programs with a loop that must
 * not block.
 *
 * Posting checks the arguments: when it returns an error nothing was posted and no answer comes.
 * Otherwise `fn` is called exactly once, on a thread of the library's, and must be short: hand the
 * answer to the loop. All that was passed is borrowed until then. The answer belongs to the callee:
 * pawl_answer_free it, from any thread, also after pawl_close, which waits for answers that are to
 * come. Hooks after a submit are called on that thread too. */
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
    struct pawl_diag diag; /* when err */
    int64_t now_ms;        /* the store's time at which it happened */
    /* Of the call that was posted, on success; pointers are valid until it is freed: */
    struct pawl_submitted *submitted;
    size_t submitted_count;
    struct pawl_submitted holder; /* of a key, when err is DUPLICATE; zeros when it is a job of the
                                     same batch: none of it was submitted */
    size_t failed_index;          /* of a batch, when one spec is to blame; else the count */
    struct pawl_job *jobs;        /* claimed */
    size_t job_count;
    bool more; /* of a claim: see pawl_claim */
    struct pawl_failed failed;
    enum pawl_err *results; /* of an extension */
    size_t result_count;
};

typedef void pawl_answer_fn(struct pawl_answer *taken_answer);

void pawl_answer_free(struct pawl_answer *answer); /* NULL is fine */

/* See pawl_submit_many, pawl_claim, pawl_complete, pawl_fail, pawl_extend. */
PAWL_MUST_CHECK enum pawl_err pawl_post_submit(struct pawl *pawl, const struct pawl_job_spec *specs,
                                               size_t count, pawl_answer_fn *fn, void *ctx,
                                               struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_post_claim(struct pawl *pawl, const struct pawl_claim *claim,
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
