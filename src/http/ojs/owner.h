/* The owner of a run: what a client says about itself when it reports on a job, and what that is
 * compared with. A client that sends neither worker nor attempt is trusted. */
#ifndef PAWL_HTTP_OJS_OWNER_H
#define PAWL_HTTP_OJS_OWNER_H

#include "http/local/local.h"
#include "http/transport/transport.h"

struct pawl__owner {
    struct pawl_job_id id; /* of the job */
    const char *job_id;    /* as the body names it */
    const char *worker;    /* NULL: not given */
    int64_t attempt;       /* 0: not given */
};

/* Its members of a body: of struct S, whose member `owner` it is. */
#define PAWL__OWNER(S, owner)                                                                      \
    PAWL__MEMBER("job_id", OWN, S, owner.job_id, .read = pawl__owner_read_id,                      \
                 .wire = PAWL__AS_TEXT, .pattern = &pawl__ojs_id_pattern),                         \
        PAWL__MEMBER("worker_id", TEXT, S, owner.worker),                                          \
        PAWL__MEMBER("attempt", INT64, S, owner.attempt, .min = 1, .max = INT32_MAX)
pawl__member_read_fn pawl__owner_read_id;
extern const struct pawl__pattern pawl__ojs_id_pattern;

/* After the body has been read: sets the job's id, from the path or from job_id. False: answered.
 */
bool pawl__owner_find(struct pawl__request *request, struct pawl__owner *owner);
/* Does the client say who it is? */
bool pawl__owner_is_known(const struct pawl__owner *owner);
/* Does it own a run of this worker and attempt? False: answered with 409 and the reason. */
bool pawl__owner_check(struct pawl__request *request, const struct pawl__owner *owner,
                       const char *worker, int64_t attempt);
/* The same without an answer. */
bool pawl__owner_matches(const struct pawl__owner *owner, const char *worker, int64_t attempt);
/* Replies 409: the job is not active. */
bool pawl__owner_refuse_state(struct pawl__request *request, const struct pawl__owner *owner,
                              enum pawl_state state);

#endif
