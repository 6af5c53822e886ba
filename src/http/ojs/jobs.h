/* What the handlers of jobs share. */
#ifndef PAWL_HTTP_OJS_JOBS_H
#define PAWL_HTTP_OJS_JOBS_H

#include "http/local/local.h"
#include "http/ojs/shapes.h"

/* How envelopes are read, by the request's headers and the server's settings. Unknown members are
 * noted in `warnings`, which must outlive the reading. */
struct pawl__envelope_rules pawl__job_rules(struct pawl__request *request,
                                            struct pawl__warnings *warnings);
/* The failures of a job, and the workflow that it is a step of. On the pool. */
struct pawl__envelope_more pawl__more_of(struct pawl__request *request,
                                         const struct pawl_story *story);
/* Replies with the job `id`, by pawl__envelope_print_twice; 404 if there is none. On the pool. */
void pawl__job_reply(struct pawl__request *request, struct pawl_job_id id, int status);

/* Replies 409 with the state that does not allow the move, by its name in `words`. */
bool pawl__job_refuse_state(struct pawl__request *request, const struct pawl_diag *diag,
                            enum pawl_state state, enum pawl_vocabulary words);
/* The job's state by now; NONE: there is no such job. On the pool. */
enum pawl_state pawl__job_state(struct pawl__request *request, struct pawl_job_id id);

/* Read a job, and a job with its history. On the pool. False: answered, with 404 if there is none,
 * and there is nothing to release. */
bool pawl__job_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_jobs *out);
bool pawl__story_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_story *out);
/* Replies 404. */
bool pawl__job_refuse_unknown(struct pawl__request *request, struct pawl_job_id id);
/* Replies to a failed operation on a job: 404, 409 or the library's error. On the pool. */
bool pawl__job_reply_err(struct pawl__request *request, struct pawl_job_id id, enum pawl_err err,
                         const struct pawl_diag *diag);

/* Replies 200: the job in the path, or what belongs to it, was deleted. */
void pawl__reply_deleted(struct pawl__request *request);

/* Moves the job in the path. On the pool. Replies with the job, or 404, or 409 and the state that
 * does not allow the move. */
void pawl__job_move(struct pawl__request *request, enum pawl_control control);

/* ---- submit.c ---- */

/* The array "jobs" of the body; 0: answered. */
uint32_t pawl__jobs_array(struct pawl__request *request, const struct pawl__json *json);
/* What details say about the job that is in the way: of struct pawl_submitted. */
extern const struct pawl__shape pawl__holder_shape;
/* Refuses a batch for its job `index`. `holder` may be NULL. */
bool pawl__job_refuse_in_batch(struct pawl__request *request, struct pawl__fault *fault,
                               size_t index, const struct pawl_submitted *holder);
/* Why the store refused one of `count` jobs; with DUPLICATE and EXISTS, `holder` is the job that is
 * in the way. */
struct pawl__refused {
    enum pawl_err err;
    const struct pawl_diag *diag;
    size_t index, count;
    struct pawl_submitted holder;
    bool batch;
};
void pawl__job_reply_refused(struct pawl__request *request, const struct pawl__refused *refused);
/* Applies what a submitted envelope sets on this server: rate limits and test directives. On the
 * loop. */
void pawl__job_put_in_force(struct pawl__request *request, const struct pawl__envelope *envelope,
                            struct pawl_job_id id);

/* ---- fetch.c, route.c ---- */

/* Is there more to say about a job that was just given to a worker than it brought? */
bool pawl__job_has_past(struct pawl__request *request, const struct pawl_job *job);
/* The envelope of such a job, with its failures and checkpoint, and the results of earlier steps of
 * its workflow. On the pool. */
void pawl__job_print_with_past(struct pawl__request *request, const struct pawl_job *job);
/* {"job":{...},"worker_id":...,"token":...,"reserved_until":...} */
void pawl__routed_print(struct pawl__buf *out, const struct pawl_job *job);

/* ---- heartbeat.c ---- */

/* {"id":...,"worker_id":...,"state":...,...} */
void pawl__worker_print(struct pawl__buf *out, const struct pawl__worker *worker);

/* ---- queues.c ---- */

/* Rate limits that were set before the server started. */
PAWL_MUST_CHECK enum pawl_err pawl__queues_load(struct pawl__server *server,
                                                struct pawl_diag *diag);

/* Jobs that have not ended. */
int64_t pawl__queue_depth(const struct pawl_queue_stats *stats);
/* "available":1,...,"paused":false */
void pawl__queue_print_counts(struct pawl__buf *out, const struct pawl_queue_stats *stats);

#endif
