/* What the files of the protocol between programs of pawl share (wire/wire.h). */
#ifndef PAWL_HTTP_REMOTE_H
#define PAWL_HTTP_REMOTE_H

#include "http/request.h"
#include "wire/wire.h"

/* What the library said, without what is only for the log. `field` and `text` live in the request's
 * arena, or are NULL for want of memory. Any thread. */
struct pawl__wire_refusal pawl__remote_refusal(struct pawl__request *request, enum pawl_err err,
                                               const struct pawl_diag *diag);
/* Answers with it. */
void pawl__remote_refuse(struct pawl__request *request, enum pawl_err err,
                         const struct pawl_diag *diag);

/* ---- remote_calls.c: operations as calls of the library; any thread ---- */

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

/* ---- remote_wait.c: programs that wait for more to do; on the loop ---- */

struct pawl__remote;

struct pawl__remote *pawl__remote_new(void); /* NULL: no memory */
void pawl__remote_free(struct pawl__remote *remote);
/* Answer those whose time is over. */
void pawl__remote_tick(struct pawl__server *server);
/* Answer all. */
void pawl__remote_drain(struct pawl__server *server);
void pawl__remote_moved(struct pawl__server *server, const struct pawl_moved *moved);
void pawl__remote_ready(struct pawl__server *server, bool foreign);

#endif
