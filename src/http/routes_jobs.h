/* Routes of jobs: submitting, looking, moving, results, bulk; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_JOBS_H
#define PAWL_HTTP_ROUTES_JOBS_H

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

#endif
