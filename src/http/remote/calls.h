/* Inside the protocol between programs of pawl (wire/wire.h): what its files share. */
#ifndef PAWL_HTTP_REMOTE_CALLS_H
#define PAWL_HTTP_REMOTE_CALLS_H

#include "http/transport/transport.h"
#include "wire/wire.h"

/* What the library said, without what is only for the log. `field` and `text` live in the request's
 * arena, or are NULL for want of memory. Any thread. */
struct pawl__wire_refusal pawl__remote_refusal(struct pawl__request *request, enum pawl_err err,
                                               const struct pawl_diag *diag);
/* Answers with it. */
void pawl__remote_refuse(struct pawl__request *request, enum pawl_err err,
                         const struct pawl_diag *diag);

/* ---- calls.c: operations as calls of the library; any thread ---- */

struct pawl__remote_call {
    struct pawl *pawl;
    const struct pawl__wire_op *op;
    struct pawl_run run;           /* of the operation's job */
    struct pawl_by by;             /* who asks */
    struct pawl__wire_answer *out; /* its results; of a posted one they come later: */
    pawl_answer_fn *posted;
    void *ctx;
    int64_t reply_bytes_max;
    struct pawl_diag *diag;
};

/* Is it only posted? Then OK says that `posted` will be called. */
bool pawl__remote_is_posted(enum pawl__wire_op_kind kind);
PAWL_MUST_CHECK enum pawl_err pawl__remote_call(const struct pawl__remote_call *call);

#endif
