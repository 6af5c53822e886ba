/* Marie's routes: her names of states and shapes of replies, for programs that know them. Its door
 * is the list of its routes. */
#ifndef PAWL_HTTP_MARIE_MARIE_H
#define PAWL_HTTP_MARIE_MARIE_H

#include "http/transport/transport.h"

/* See routes.h. */
#define PAWL__ROUTES_MARIE(X)                                                                      \
    X("GET", "/api/jobs", marie_jobs, READ, WORK, "List jobs (Marie)")                             \
    X("GET", "/api/jobs/{id}", marie_job, READ, WORK, "A job, or the jobs of a state (Marie)")     \
    X("DELETE", "/api/jobs/{id}", marie_delete, ADMIN, WORK, "Forget an ended job (Marie)")        \
    X("GET", "/api/jobs/{id}/stop", marie_stop, SUBMIT, WORK, "Cancel a job (Marie)")              \
    X("POST", "/api/jobs/{id}/stop", marie_stop, SUBMIT, WORK, "Cancel a job (Marie)")             \
    X("POST", "/api/jobs/{id}/resume", marie_resume, SUBMIT, WORK,                                 \
      "Run a cancelled job again (Marie)")                                                         \
    X("POST", "/api/v1/invoke", marie_invoke, SUBMIT, WORK, "Submit a job (Marie)")                \
    X("GET", "/api/capacity", marie_capacity, READ, LOOP, "Who can run how many jobs (Marie)")

PAWL__ROUTES_MARIE(PAWL__DECLARE_HANDLER)

#endif
