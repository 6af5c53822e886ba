/* Routes of workers: fetching, reporting, heartbeats, progress, checkpoints; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_WORKERS_H
#define PAWL_HTTP_ROUTES_WORKERS_H

#define PAWL__ROUTES_WORKERS(X)                                                                    \
    X("POST", "/ojs/v1/workers/fetch", fetch, WORK, LOOP, "Fetch jobs, waiting for them if asked") \
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

#endif
