/* Who reports on a run: the worker's id and the attempt that clients may send along, and what they
 * are compared with. A client that sends neither is believed. */
#ifndef PAWL_HTTP_OJS_OWNER_H
#define PAWL_HTTP_OJS_OWNER_H

#include "http/local/local.h"
#include "http/transport/transport.h"

struct pawl__owner {
    struct pawl_job_id id;
    const char *worker; /* NULL: not said */
    int64_t attempt;    /* 0: not said */
};

/* job_id of the body, or the path's {id}; worker_id and attempt of the body. False: answered. */
bool pawl__owner_read(struct pawl__request *request, const struct pawl__json *json,
                      struct pawl__owner *out);
/* Did the client say who it is? */
bool pawl__owner_is_known(const struct pawl__owner *owner);
/* Is the run his, as far as he says? False: answered with 409 and why. */
bool pawl__owner_check(struct pawl__request *request, const struct pawl__owner *owner,
                       const char *worker, int64_t attempt);
/* The same without an answer. */
bool pawl__owner_matches(const struct pawl__owner *owner, const char *worker, int64_t attempt);
/* 409: the job is not active. */
bool pawl__owner_refuse_state(struct pawl__request *request, const struct pawl__owner *owner,
                              enum pawl_state state);

#endif
