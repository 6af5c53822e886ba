/* A router: decides which worker gets a job, asks that worker, and starts the run if it agrees.
 * Usage: router [STORE] */
#include <pawl/pawl.h>

#include <stdio.h>
#include <stdlib.h>

static void fail_with(const struct pawl_diag *diag)
{
    fprintf(stderr, "%s: %s\n", pawl_err_name(diag->err), diag->text);
    exit(1);
}

/* Takes the place of a message to the worker and of its reply. */
static bool agrees(const char *worker)
{
    return worker[4] == '2';
}

/* Offers the next job to a worker. True: it has run. */
static bool offer(struct pawl *pawl, const char *worker)
{
    static const char *const queues[] = { "default" };
    struct pawl_claim wanted = {
        .queues = queues, .queue_count = 1, .worker = worker, .lease_ms = 2000
    };
    struct pawl_jobs reserved = { 0 }, started = { 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_route(pawl, &wanted, &reserved, &diag);
    if (!err && reserved.count) {
        struct pawl_routed routed = { .id = reserved.at[0].id,
                                      .worker = worker,
                                      .token = reserved.at[0].lease_until_ms };
        struct pawl_assignment assignment = { .routed = routed, .lease_ms = 30000 };
        err = agrees(worker) ? pawl_assign(pawl, &assignment, &started, &diag)
                             : pawl_unroute(pawl, &routed, &diag);
        if (err == PAWL_ERR_STALE) err = PAWL_OK; // too late: it was cancelled, or has lapsed
    }
    bool ran = started.count > 0;
    if (!err && ran) {
        struct pawl_run run = { .id = started.at[0].id, .run = started.at[0].run };
        err = pawl_complete(pawl, &run, (struct pawl_span){ 0 }, &diag);
    }
    pawl_jobs_release(&reserved);
    pawl_jobs_release(&started);
    if (err) fail_with(&diag);
    return ran;
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct pawl_job_spec spec = { .type = "page.ocr" };
    struct pawl_submitted job;
    struct pawl *pawl = NULL;
    struct pawl_diag diag;
    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = pawl_submit(pawl, &spec, &job, &diag);
    if (err) fail_with(&diag);
    const char *const workers[] = { "gpu-1", "gpu-2" };
    for (size_t i = 0; i < 2; i++) {
        printf("%s: %s\n", workers[i], offer(pawl, workers[i]) ? "done" : "declined");
    }
    pawl_close(pawl);
    return 0;
}
