/* Administration: what operators and dashboards ask for, and the reset of test mode. Its door is
 * the list of its routes; some are served by the OJS room. */
#ifndef PAWL_HTTP_ADMIN_ADMIN_H
#define PAWL_HTTP_ADMIN_ADMIN_H

#include "http/transport/transport.h"

/* See routes.h. */
#define PAWL__ROUTES_ADMIN(X)                                                                      \
    X("GET", "/ojs/v1/admin/stats", admin_stats, ADMIN, LOOP, "Counts over all queues")            \
    X("GET", "/ojs/v1/admin/queues", admin_queues, ADMIN, LOOP, "List the queues")                 \
    X("GET", "/ojs/v1/admin/queues/{name}", queue_get, ADMIN, LOOP,                                \
      "A queue, its counts and settings")                                                          \
    X("POST", "/ojs/v1/admin/queues/{name}/pause", queue_pause, ADMIN, WORK,                       \
      "Hand out no more of a queue's jobs")                                                        \
    X("POST", "/ojs/v1/admin/queues/{name}/resume", queue_resume, ADMIN, WORK,                     \
      "Hand out a queue's jobs again")                                                             \
    X("GET", "/ojs/v1/admin/queues/{name}/config", queue_config, ADMIN, WORK,                      \
      "A queue's settings")                                                                        \
    X("PUT", "/ojs/v1/admin/queues/{name}/config", queue_config_put, ADMIN, LOOP,                  \
      "Set a queue's settings")                                                                    \
    X("PUT", "/ojs/v1/admin/queues/{name}/rate-limit", queue_rate_put, ADMIN, LOOP,                \
      "Limit how fast a queue's jobs are handed out")                                              \
    X("DELETE", "/ojs/v1/admin/queues/{name}/jobs", admin_queue_purge, ADMIN, WORK,                \
      "Delete a queue's jobs that have ended")                                                     \
    X("GET", "/ojs/v1/admin/jobs", admin_jobs, ADMIN, WORK, "List jobs")                           \
    X("POST", "/ojs/v1/admin/jobs/bulk/retry", admin_bulk_retry, ADMIN, WORK,                      \
      "Retry jobs that match")                                                                     \
    X("POST", "/ojs/v1/admin/jobs/bulk/promote", admin_bulk_promote, ADMIN, WORK,                  \
      "Run jobs that match now")                                                                   \
    X("POST", "/ojs/v1/admin/jobs/bulk/cancel", admin_bulk_cancel, ADMIN, WORK,                    \
      "Cancel jobs that match")                                                                    \
    X("POST", "/ojs/v1/admin/jobs/bulk/delete", admin_bulk_delete, ADMIN, WORK,                    \
      "Delete jobs that match")                                                                    \
    X("GET", "/ojs/v1/admin/jobs/{id}", admin_job, ADMIN, WORK, "Look at a job")                   \
    X("POST", "/ojs/v1/admin/jobs/{id}/cancel", job_cancel, ADMIN, WORK, "Cancel a job")           \
    X("POST", "/ojs/v1/admin/jobs/{id}/retry", admin_job_retry, ADMIN, WORK,                       \
      "Run a job that ended badly again")                                                          \
    X("POST", "/ojs/v1/admin/jobs/{id}/promote", job_promote, ADMIN, WORK,                         \
      "Run a scheduled or retryable job now")                                                      \
    X("POST", "/ojs/v1/admin/jobs/{id}/pause", admin_job_pause, ADMIN, WORK, "Set a job aside")    \
    X("POST", "/ojs/v1/admin/jobs/{id}/resume", admin_job_resume, ADMIN, WORK,                     \
      "Put a paused job back where it was")                                                        \
    X("PATCH", "/ojs/v1/admin/jobs/{id}", job_patch, ADMIN, WORK,                                  \
      "Change a waiting job's priority")                                                           \
    X("DELETE", "/ojs/v1/admin/jobs/{id}", admin_job_delete, ADMIN, WORK,                          \
      "Forget a job that has ended")                                                               \
    X("GET", "/ojs/v1/admin/workers", admin_workers, ADMIN, LOOP, "List the workers")              \
    X("POST", "/ojs/v1/admin/workers/directive", admin_workers_direct, ADMIN, LOOP,                \
      "Tell all workers to fetch no more, or to fetch again")                                      \
    X("GET", "/ojs/v1/admin/workers/{id}", admin_worker, ADMIN, LOOP, "Look at a worker")          \
    X("DELETE", "/ojs/v1/admin/workers/{id}", admin_worker_forget, ADMIN, LOOP, "Forget a worker") \
    X("POST", "/ojs/v1/admin/workers/{id}/quiet", admin_worker_quiet, ADMIN, LOOP,                 \
      "Tell a worker to fetch no more")                                                            \
    X("POST", "/ojs/v1/admin/workers/{id}/terminate", admin_worker_terminate, ADMIN, LOOP,         \
      "Tell a worker to stop")                                                                     \
    X("POST", "/ojs/v1/admin/workers/{id}/resume", admin_worker_resume, ADMIN, LOOP,               \
      "Let a worker fetch again")                                                                  \
    X("GET", "/ojs/v1/admin/dead-letter", admin_dead_letters, ADMIN, WORK,                         \
      "List the dead letters")                                                                     \
    X("GET", "/ojs/v1/admin/dead-letter/stats", dead_letter_stats, ADMIN, WORK,                    \
      "Count the dead letters")                                                                    \
    X("POST", "/ojs/v1/admin/dead-letter/retry", admin_dead_letters_retry, ADMIN, WORK,            \
      "Run dead letters that match again")                                                         \
    X("POST", "/ojs/v1/admin/dead-letter/{id}/retry", dead_letter_retry, ADMIN, WORK,              \
      "Run a dead letter again")                                                                   \
    X("DELETE", "/ojs/v1/admin/dead-letter/{id}", admin_dead_letter_delete, ADMIN, WORK,           \
      "Forget a dead letter")                                                                      \
    X("POST", "/ojs/v1/admin/reset", admin_reset, ADMIN, LOOP, "Forget everything (test mode)")

PAWL__ROUTES_ADMIN(PAWL__DECLARE_HANDLER)

#endif
