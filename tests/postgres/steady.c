/* A process that goes on: submits, claims and completes jobs one after the other, and says what the
 * store has accepted. What fails is tried again with the next job. Ends with its standard input.
 *
 * Usage: steady URL          prints "accepted ID", "completed ID", "error NAME" */
#include "base/clock.h"
#include "base/id.h"
#include "store/store.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct pawl__store *store;

static bool report(enum pawl_err err, const char *deed, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    if (err) {
        printf("error %s\n", pawl_err_name(err));
    } else {
        printf("%s %s\n", deed, text);
    }
    fflush(stdout);
    return err == PAWL_OK;
}

static bool submit(struct pawl_job_id id)
{
    struct pawl_job_spec spec = { .type = "t", .queue = "q", .args = { "[]", 2 } };
    pawl__retry_resolve(&spec.retry);
    struct pawl__new_job job = { .id = id, .spec = &spec };
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return report(err, "accepted", id);
}

static bool finish_one(void)
{
    static const char *const queues[] = { "q" };
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 1,
                                      .limit = 1,
                                      .worker = "steady",
                                      .lease_ms = 30000 } };
    enum pawl_err err = pawl__store_do(store, &op);
    struct pawl_run run = { .run = 0 };
    if (!err && op.claim.job_count) {
        run = (struct pawl_run){ op.claim.jobs[0].id, op.claim.jobs[0].run };
    }
    pawl__arena_release(&op.arena);
    if (err) return report(err, "", run.id);
    if (!run.run) return true;
    op = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete = { .ref = run } };
    err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return report(err, "completed", run.id);
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "",
                                  .clock = &pawl__clock_system,
                                  .busy_timeout_ms = 10000,
                                  .seed = (uint64_t)getpid() };
    struct pawl_diag diag = { 0 };
    if (pawl__store_open(&config, &store, &diag)) {
        fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    struct pawl__idgen ids;
    pawl__idgen_init(&ids, config.clock, config.seed);
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    while (poll(&input, 1, 0) == 0) {
        bool good = submit(pawl__idgen_next(&ids));
        good &= finish_one();
        if (!good) poll(NULL, 0, 20);
    }
    pawl__store_close(store);
    pawl__idgen_release(&ids);
    return 0;
}
