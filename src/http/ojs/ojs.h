/* The Open Job Spec: job envelopes, and the routes of jobs, workers, queues, dead letters, schemas
 * and recurring jobs. Its door: the lists of those routes, the components behind them, and what
 * administration and Marie's routes share with them. Handlers parse, call the public functions and
 * print. */
#ifndef PAWL_HTTP_OJS_OJS_H
#define PAWL_HTTP_OJS_OJS_H

#include "http/ojs/jobs.h"
#include "http/ojs/lists.h"
#include "http/ojs/results.h"
#include "http/transport/transport.h"

/* See routes.h. Workers: fetching, reporting, heartbeats, progress, checkpoints. */
#define PAWL__ROUTES_WORKERS(X)                                                                    \
    X("POST", "/ojs/v1/workers/fetch", fetch, WORK, LOOP, "Fetch jobs, waiting for them if asked") \
    X("POST", "/ojs/v1/workers/route", route, WORK, LOOP,                                          \
      "Reserve jobs for a worker, waiting for them if asked")                                      \
    X("POST", "/ojs/v1/workers/assign", assign, WORK, LOOP, "Start the run of a reserved job")     \
    X("POST", "/ojs/v1/workers/unroute", unroute, WORK, WORK, "Give a reserved job back")          \
    X("POST", "/ojs/v1/workers/ack", ack, WORK, LOOP, "Report that a job is done")                 \
    X("POST", "/ojs/v1/workers/nack", nack, WORK, LOOP, "Report that a job failed")                \
    X("POST", "/ojs/v1/workers/heartbeat", heartbeat, WORK, LOOP,                                  \
      "Say that a worker is alive and what it runs")                                               \
    X("POST", "/ojs/v1/workers/beat", heartbeat, WORK, LOOP,                                       \
      "Say that a worker is alive and what it runs")                                               \
    X("POST", "/ojs/v1/workers/progress", progress_put, WORK, LOOP, "Report a job's progress")     \
    X("GET", "/ojs/v1/workers/{id}/health", worker_health, READ, LOOP, "How a worker is")          \
    X("POST", "/ojs/v1/jobs/fetch", fetch, WORK, LOOP, "Fetch jobs, waiting for them if asked")    \
    X("POST", "/ojs/v1/jobs/{id}/ack", ack, WORK, LOOP, "Report that a job is done")               \
    X("POST", "/ojs/v1/jobs/{id}/nack", nack, WORK, LOOP, "Report that a job failed")              \
    X("PUT", "/ojs/v1/jobs/{id}/progress", progress_put, WORK, LOOP, "Report a job's progress")    \
    X("GET", "/ojs/v1/jobs/{id}/progress", progress_get, READ, WORK, "A job's progress")           \
    X("PUT", "/ojs/v1/jobs/{id}/checkpoint", checkpoint_save, WORK, LOOP, "Keep a job's state")    \
    X("POST", "/ojs/v1/jobs/{id}/checkpoint", checkpoint_save, WORK, LOOP, "Keep a job's state")   \
    X("GET", "/ojs/v1/jobs/{id}/checkpoint", checkpoint_get, READ, WORK,                           \
      "The state that a job left")                                                                 \
    X("DELETE", "/ojs/v1/jobs/{id}/checkpoint", checkpoint_delete, WORK, WORK,                     \
      "Forget a job's state")                                                                      \
    X("POST", "/ojs/v1/checkpoints/{id}", checkpoint_save, WORK, LOOP, "Keep a job's state")       \
    X("DELETE", "/ojs/v1/checkpoints/{id}", checkpoint_delete, WORK, WORK, "Forget a job's state") \
    X("GET", "/ojs/v1/checkpoints/{id}/resume", checkpoint_resume, READ, WORK,                     \
      "The state that a job left, if it did")

/* Jobs: submitting, reading, moving, results, bulk. */
#define PAWL__ROUTES_JOBS(X)                                                                       \
    X("POST", "/ojs/v1/jobs", submit, SUBMIT, LOOP, "Submit a job")                                \
    X("GET", "/ojs/v1/jobs", jobs, READ, WORK, "List jobs")                                        \
    X("POST", "/ojs/v1/jobs/batch", submit_batch, SUBMIT, LOOP, "Submit jobs, all or none")        \
    X("POST", "/ojs/v1/jobs/results", results, READ, WORK, "Results of several jobs")              \
    X("POST", "/ojs/v1/jobs/bulk", bulk_submit, SUBMIT, WORK, "Submit jobs, each by itself")       \
    X("POST", "/ojs/v1/jobs/bulk/cancel", bulk_cancel, ADMIN, WORK, "Cancel several jobs")         \
    X("POST", "/ojs/v1/jobs/bulk/retry", bulk_retry, ADMIN, WORK, "Retry several jobs")            \
    X("POST", "/ojs/v1/jobs/bulk/promote", bulk_promote, ADMIN, WORK, "Run several jobs now")      \
    X("POST", "/ojs/v1/jobs/bulk/delete", bulk_delete, ADMIN, WORK, "Delete several jobs")         \
    X("GET", "/ojs/v1/jobs/{id}", job_get, READ, WORK, "Look at a job")                            \
    X("DELETE", "/ojs/v1/jobs/{id}", job_cancel, SUBMIT, WORK, "Cancel a job")                     \
    X("PATCH", "/ojs/v1/jobs/{id}", job_patch, SUBMIT, WORK, "Change a waiting job's priority")    \
    X("POST", "/ojs/v1/jobs/{id}/cancel", job_cancel, SUBMIT, WORK, "Cancel a job")                \
    X("POST", "/ojs/v1/jobs/{id}/activate", job_activate, SUBMIT, WORK, "Release a held job")      \
    X("POST", "/ojs/v1/jobs/{id}/promote", job_promote, ADMIN, WORK,                               \
      "Run a scheduled or retryable job now")                                                      \
    X("POST", "/ojs/v1/jobs/{id}/rerun", job_rerun, SUBMIT, WORK,                                  \
      "Submit a finished job again as a new one")                                                  \
    X("GET", "/ojs/v1/jobs/{id}/result", result, READ, LOOP, "A job's result, waiting for it")

/* Queues and dead letters. */
#define PAWL__ROUTES_QUEUES(X)                                                                     \
    X("GET", "/ojs/v1/queues", queues, READ, WORK, "List the queues")                              \
    X("POST", "/ojs/v1/queues", queue_create, ADMIN, WORK, "Create a queue")                       \
    X("GET", "/ojs/v1/queues/{name}", queue_get, READ, LOOP, "A queue, its counts and settings")   \
    X("GET", "/ojs/v1/queues/{name}/stats", queue_stats, READ, LOOP, "A queue's counts")           \
    X("GET", "/ojs/v1/queues/{name}/config", queue_config, READ, WORK, "A queue's settings")       \
    X("PUT", "/ojs/v1/queues/{name}/config", queue_config_put, ADMIN, LOOP,                        \
      "Set a queue's settings")                                                                    \
    X("POST", "/ojs/v1/queues/{name}/pause", queue_pause, ADMIN, WORK,                             \
      "Hand out no more of a queue's jobs")                                                        \
    X("POST", "/ojs/v1/queues/{name}/resume", queue_resume, ADMIN, WORK,                           \
      "Hand out a queue's jobs again")                                                             \
    X("POST", "/ojs/v1/queues/{name}/purge", queue_purge, ADMIN, WORK,                             \
      "Delete a queue's jobs that have ended")                                                     \
    X("GET", "/ojs/v1/dead-letter", dead_letters, READ, WORK, "List the dead letters")             \
    X("GET", "/ojs/v1/dead-letter/stats", dead_letter_stats, READ, WORK, "Count the dead letters") \
    X("POST", "/ojs/v1/dead-letter/purge", dead_letters_purge, ADMIN, WORK,                        \
      "Forget the dead letters")                                                                   \
    X("POST", "/ojs/v1/dead-letter/{id}/retry", dead_letter_retry, ADMIN, WORK,                    \
      "Run a dead letter again")                                                                   \
    X("DELETE", "/ojs/v1/dead-letter/{id}", dead_letter_delete, ADMIN, WORK, "Forget a dead letter")

/* Schemas. */
#define PAWL__ROUTES_SCHEMAS(X)                                                                    \
    X("GET", "/ojs/v1/schemas", schemas, READ, WORK, "List the schemas")                           \
    X("POST", "/ojs/v1/schemas", schema_add, ADMIN, WORK, "Keep a schema under its URI")           \
    X("GET", "/ojs/v1/schemas/{uri}", schema_get, READ, WORK, "A schema by its URI")               \
    X("DELETE", "/ojs/v1/schemas/{uri}", schema_delete, ADMIN, WORK, "Forget a schema")            \
    X("GET", "/ojs/v1/admin/schemas", type_schemas, ADMIN, WORK, "List the schemas of types")      \
    X("GET", "/ojs/v1/admin/schemas/{type}", type_schema_newest, ADMIN, WORK,                      \
      "The newest schema of a type")                                                               \
    X("GET", "/ojs/v1/admin/schemas/{type}/versions", type_schema_versions, ADMIN, WORK,           \
      "The versions of a type's schema")                                                           \
    X("PUT", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_put, ADMIN, WORK,               \
      "Keep a schema of a type")                                                                   \
    X("GET", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_get, ADMIN, WORK,               \
      "A schema of a type")                                                                        \
    X("DELETE", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_delete, ADMIN, WORK,         \
      "Forget a schema of a type")

/* Workflows: flows in the words of OJS. */
#define PAWL__ROUTES_WORKFLOWS(X)                                                                  \
    X("POST", "/ojs/v1/workflows", workflow_submit, SUBMIT, WORK, "Submit a workflow")             \
    X("GET", "/ojs/v1/workflows", workflows, READ, WORK, "List the workflows")                     \
    X("GET", "/ojs/v1/workflows/{id}", workflow_get, READ, WORK, "Look at a workflow")             \
    X("DELETE", "/ojs/v1/workflows/{id}", workflow_cancel, SUBMIT, WORK, "Cancel a workflow")      \
    X("POST", "/ojs/v1/workflows/{id}/cancel", workflow_cancel, SUBMIT, WORK,                      \
      "Cancel a workflow, or one step")                                                            \
    X("POST", "/ojs/v1/workflows/{id}/retry", workflow_retry, ADMIN, WORK,                         \
      "Run again what failed in a workflow")                                                       \
    X("POST", "/ojs/v1/workflows/{id}/pause", workflow_pause, ADMIN, WORK, "Pause a workflow")     \
    X("POST", "/ojs/v1/workflows/{id}/resume", workflow_resume, ADMIN, WORK,                       \
      "Go on with a paused or cancelled workflow")                                                 \
    X("POST", "/ojs/v1/workflows/{id}/steps", workflow_add, SUBMIT, WORK,                          \
      "Add steps to a workflow that runs")                                                         \
    X("POST", "/ojs/v1/workflows/{id}/seal", workflow_seal, SUBMIT, WORK,                          \
      "Add no more steps to a workflow, or to a group")                                            \
    X("POST", "/ojs/v1/workflows/{id}/signal", workflow_signal, ADMIN, WORK,                       \
      "Approve or reject a step that waits for a signal")                                          \
    X("POST", "/ojs/v1/signals", signal, ADMIN, WORK,                                              \
      "Approve or reject all steps that wait for a key")                                           \
    X("GET", "/ojs/v1/jobs/{id}/parents", job_parents, READ, WORK,                                 \
      "The earlier steps of a job's workflow, and their results")

/* Recurring jobs. The dashboard of the Open Job Spec has them under /crons. */
#define PAWL__ROUTES_CRON(X)                                                                       \
    X("GET", "/ojs/v1/cron", crons, READ, WORK, "List recurring jobs")                             \
    X("POST", "/ojs/v1/cron", cron_create, ADMIN, WORK, "Create or replace a recurring job")       \
    X("GET", "/ojs/v1/cron/{name}", cron_get, READ, WORK, "A recurring job")                       \
    X("PUT", "/ojs/v1/cron/{name}", cron_put, ADMIN, WORK, "Create or replace a recurring job")    \
    X("PATCH", "/ojs/v1/cron/{name}", cron_patch, ADMIN, WORK, "Change a recurring job")           \
    X("DELETE", "/ojs/v1/cron/{name}", cron_delete, ADMIN, WORK, "Remove a recurring job")         \
    X("POST", "/ojs/v1/cron/{name}/pause", cron_pause, ADMIN, WORK, "Stop firing")                 \
    X("POST", "/ojs/v1/cron/{name}/disable", cron_pause, ADMIN, WORK, "Stop firing")               \
    X("POST", "/ojs/v1/cron/{name}/resume", cron_resume, ADMIN, WORK, "Fire again")                \
    X("POST", "/ojs/v1/cron/{name}/enable", cron_resume, ADMIN, WORK, "Fire again")                \
    X("POST", "/ojs/v1/cron/{name}/trigger", cron_trigger, ADMIN, WORK,                            \
      "Make a recurring job's job now")                                                            \
    X("POST", "/ojs/v1/cron/{name}/run", cron_trigger, ADMIN, WORK,                                \
      "Make a recurring job's job now")                                                            \
    X("GET", "/ojs/v1/cron/{name}/history", cron_history, READ, WORK,                              \
      "What a recurring job made and skipped, newest first")                                       \
    X("GET", "/ojs/v1/crons", cron_items, READ, WORK, "List recurring jobs")                       \
    X("GET", "/ojs/v1/crons/{name}", cron_get, READ, WORK, "A recurring job")                      \
    X("PATCH", "/ojs/v1/crons/{name}", cron_patch, ADMIN, WORK, "Change a recurring job")          \
    X("DELETE", "/ojs/v1/crons/{name}", cron_delete, ADMIN, WORK, "Remove a recurring job")

PAWL__ROUTES_WORKERS(PAWL__DECLARE_HANDLER)
PAWL__ROUTES_JOBS(PAWL__DECLARE_HANDLER)
PAWL__ROUTES_QUEUES(PAWL__DECLARE_HANDLER)
PAWL__ROUTES_SCHEMAS(PAWL__DECLARE_HANDLER)
PAWL__ROUTES_WORKFLOWS(PAWL__DECLARE_HANDLER)
PAWL__ROUTES_CRON(PAWL__DECLARE_HANDLER)

/* Handlers of administration that share what is behind the routes above. */
pawl__handler_fn pawl__on_admin_jobs, pawl__on_admin_job_retry, pawl__on_admin_job_pause,
    pawl__on_admin_job_resume, pawl__on_admin_dead_letters, pawl__on_admin_dead_letter_delete,
    pawl__on_admin_queue_purge, pawl__on_queue_rate_put;

/* Dead letters: jobs that were discarded and asked to be kept in sight. */
extern const struct pawl_filter pawl__dead_letters;

#endif
