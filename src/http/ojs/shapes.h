/* The bodies of requests and replies, as tables of members: handlers read and print by them, and
 * the OpenAPI document is made from them. Each table is in the file of its handler. */
#ifndef PAWL_HTTP_OJS_SHAPES_H
#define PAWL_HTTP_OJS_SHAPES_H

#include "base/shape.h"
#include "http/ojs/envelope.h"

#include <pawl/pawl.h>

/* clang-format off */

/* handler, NAME of the shape of its body: pawl__ojs_NAME_request_shape */
#define PAWL__OJS_REQUESTS(X)                                                                      \
    X(ack, ack)                                                                                    \
    X(nack, nack)                                                                                  \
    X(heartbeat, heartbeat)                                                                        \
    X(progress_put, progress)                                                                      \
    X(checkpoint_save, checkpoint)                                                                 \
    X(bulk_submit, bulk_submit)                                                                    \
    X(job_patch, job_patch)                                                                        \
    X(results, results)                                                                            \
    X(bulk_cancel, bulk)                                                                           \
    X(bulk_retry, bulk)                                                                            \
    X(bulk_promote, bulk)                                                                          \
    X(bulk_delete, bulk)                                                                           \
    X(workflow_cancel, workflow_cancel)                                                            \
    X(workflow_retry, workflow_retry)                                                              \
    X(workflow_seal, workflow_seal)                                                                \
    X(workflow_signal, workflow_signal)                                                            \
    X(signal, signal)                                                                              \
    X(queue_purge, queue_purge)                                                                    \
    X(admin_queue_purge, queue_purge)                                                              \
    X(dead_letters_purge, dead_letters_purge)                                                      \
    X(cron_create, cron)                                                                           \
    X(cron_put, cron)                                                                              \
    X(cron_patch, cron)                                                                            \
    X(cron_trigger, cron_trigger)

/* handler, status, NAME of the shape of its reply: pawl__ojs_NAME_reply_shape */
#define PAWL__OJS_REPLIES(X)                                                                       \
    X(ack, 200, ack)                                                                               \
    X(nack, 200, nack)                                                                             \
    X(heartbeat, 200, heartbeat)                                                                   \
    X(worker_health, 200, worker_health)                                                           \
    X(progress_put, 200, progress)                                                                 \
    X(progress_get, 200, progress)                                                                 \
    X(checkpoint_save, 200, checkpoint)                                                            \
    X(checkpoint_get, 200, checkpoint)                                                             \
    X(checkpoint_resume, 200, checkpoint_resume)                                                   \
    X(checkpoint_delete, 200, deleted)                                                             \
    X(dead_letter_delete, 200, deleted)                                                            \
    X(bulk_submit, 201, bulk_submit)                                                               \
    X(bulk_submit, 207, bulk_submit)                                                               \
    X(job_patch, 200, job_patch)                                                                   \
    X(result, 200, result)                                                                         \
    X(results, 200, results)                                                                       \
    X(bulk_cancel, 200, bulk_cancel)                                                               \
    X(bulk_retry, 200, bulk_retry)                                                                 \
    X(bulk_promote, 200, bulk_promote)                                                             \
    X(bulk_delete, 200, bulk_delete)                                                               \
    X(queue_purge, 200, purge)                                                                     \
    X(admin_queue_purge, 200, purge)                                                               \
    X(dead_letters_purge, 200, purge)                                                              \
    X(cron_create, 201, cron)                                                                      \
    X(cron_create, 200, cron)                                                                      \
    X(cron_put, 201, cron)                                                                         \
    X(cron_put, 200, cron)                                                                         \
    X(cron_get, 200, cron)                                                                         \
    X(cron_patch, 200, cron)                                                                       \
    X(cron_delete, 200, cron)                                                                      \
    X(cron_pause, 200, cron)                                                                       \
    X(cron_resume, 200, cron)                                                                      \
    X(cron_trigger, 201, cron_trigger)                                                             \
    X(cron_history, 200, cron_history)

/* clang-format on */

#define X(handler, name) extern const struct pawl__shape pawl__ojs_##name##_request_shape;
PAWL__OJS_REQUESTS(X)
#undef X
#define X(handler, status, name) extern const struct pawl__shape pawl__ojs_##name##_reply_shape;
PAWL__OJS_REPLIES(X)
#undef X

/* ---- jobs ---- */

/* A job in a reply, its failures, and a job that is submitted. */
extern const struct pawl__shape pawl__ojs_job_shape, pawl__ojs_failure_shape,
    pawl__ojs_job_request_shape;

/* Names of queues. */
extern const struct pawl__pattern pawl__ojs_queue_pattern;

/* States by their names in OJS, for printing: several states have the same name. */
extern const struct pawl__words pawl__ojs_state_words;

/* A job as a member of a reply. `job` may be NULL: absent; `more` too: nothing more is known. */
struct pawl__shown {
    const struct pawl_job *job;
    const struct pawl__envelope_more *more;
};
#define PAWL__SHOWN(text, S, member)                                                               \
    PAWL__MEMBER(text, OWN, S, member, PAWL__IF(S, member.job), .print = pawl__shown_print,        \
                 .wire = PAWL__AS_ONE, .shape = &pawl__ojs_job_shape)
pawl__member_print_fn pawl__shown_print;

/* A list as a member of a reply, whose elements are printed by a function, with commas between
 * them. */
struct pawl__printed {
    void (*print)(struct pawl__request *request, const void *ctx);
    struct pawl__request *request;
    const void *ctx;
};
#define PAWL__PRINTED(text, S, member, shape_pointer)                                              \
    PAWL__MEMBER(text, OWN, S, member, .print = pawl__printed_print, .wire = PAWL__AS_MANY,        \
                 .shape = (shape_pointer))
pawl__member_print_fn pawl__printed_print;

/* The jobs of a batch, which are read by pawl__jobs_array and pawl__envelope_read. */
#define PAWL__JOBS_MEMBER                                                                          \
    PAWL__WHOLE("jobs", OWN, .flags = PAWL__REQUIRED, .wire = PAWL__AS_MANY, .min = 1,             \
                .max = PAWL_BATCH_MAX, .shape = &pawl__ojs_job_request_shape)

#endif
