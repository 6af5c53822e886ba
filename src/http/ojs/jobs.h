/* Jobs over HTTP: what the files that submit, show and move them share. */
#ifndef PAWL_HTTP_OJS_JOBS_H
#define PAWL_HTTP_OJS_JOBS_H

#include "http/local/local.h"
#include "http/ojs/envelope.h"

/* What the request's headers and the server's settings say about envelopes. Members that nobody
 * knows are noted in `warnings`, which must outlive the reading. */
struct pawl__envelope_rules pawl__job_rules(struct pawl__request *request,
                                            struct pawl__warnings *warnings);
/* A job and its failures as it stands now. On the pool. */
void pawl__job_print_story(struct pawl__buf *out, const struct pawl_story *story,
                           enum pawl_state previous);
/* The job `id`, by pawl__envelope_print_twice. On the pool; answers, also when there is none. */
void pawl__job_reply(struct pawl__request *request, struct pawl_job_id id, int status);
/* "existing_job_id":"...", and its state if it is known; nothing for a job of the same batch. */
void pawl__job_print_holder(struct pawl__buf *out, const struct pawl_submitted *holder);

/* 409 with the state that does not allow it, as `words` call it. */
bool pawl__job_refuse_state(struct pawl__request *request, const struct pawl_diag *diag,
                            enum pawl_state state, enum pawl_vocabulary words);
/* What the store says now; NONE: gone. On the pool. */
enum pawl_state pawl__job_state(struct pawl__request *request, struct pawl_job_id id);

/* A job, and a job with all that is known of it. On the pool. False: answered, with 404 if there is
 * none, and there is nothing to release. */
bool pawl__job_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_jobs *out);
bool pawl__story_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_story *out);
/* 404 */
bool pawl__job_refuse_unknown(struct pawl__request *request, struct pawl_job_id id);
/* An operation on a job failed: 404, 409 or what the library said. On the pool. */
bool pawl__job_reply_err(struct pawl__request *request, struct pawl_job_id id, enum pawl_err err,
                         const struct pawl_diag *diag);

/* 200: what the path names was deleted. */
void pawl__reply_deleted(struct pawl__request *request);

/* A move by an operator, or of the job's client. On the pool; answers with the job, or with 404 or
 * 409 and the state that does not allow it. */
void pawl__job_move(struct pawl__request *request, enum pawl_control control);

/* ---- submit.c ---- */

/* The array `jobs` of the body; 0: answered. */
uint32_t pawl__jobs_array(struct pawl__request *request, const struct pawl__json *json);
/* One of several envelopes is to blame: "jobs[INDEX]." before the field, and the index among the
 * details. */
bool pawl__job_refuse_in_batch(struct pawl__request *request, struct pawl__fault *fault,
                               size_t index);
/* What the store said of one of them, or of the only one: DUPLICATE and EXISTS tell of the job that
 * is in the way. `index` is that of the answer. */
struct pawl__refused {
    enum pawl_err err;
    const struct pawl_diag *diag;
    size_t index, count;
    struct pawl_submitted holder;
    bool batch;
};
void pawl__job_reply_refused(struct pawl__request *request, const struct pawl__refused *refused);
/* Rate limits and test directives of an envelope, for those who keep them. On the loop. */
void pawl__job_put_in_force(struct pawl__request *request, const struct pawl__envelope *envelope,
                            struct pawl_job_id id);

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
