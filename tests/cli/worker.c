/* A worker for the tests of the command line: plays the part that needs a claim, so that there are
 * jobs which run, fail and leave traces.
 *
 * Usage: cli_worker STORE STEP...
 *
 *   claim:QUEUE        take the best job of a queue and print its id; later steps are about it
 *   log:TEXT           progress:PERCENT:MESSAGE    checkpoint:JSON
 *   complete:JSON      fail:TYPE:MESSAGE           end:TYPE:MESSAGE (not to be retried)
 *   return:            give it back, which costs it no attempt
 *   node:NAME          say that a node is there
 */
#include "base/clock.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_run held;

static struct pawl_span span(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

static void must(enum pawl_err err, const char *step, const struct pawl_diag *diag)
{
    if (!err) return;
    fprintf(stderr, "cli_worker: %s: %s: %s\n", step, pawl_err_name(err), diag->text);
    exit(1);
}

static void do_op(struct pawl__store *store, struct pawl__op *op)
{
    struct pawl_diag diag = { .text = "" };
    op->diag = &diag;
    must(pawl__store_do(store, op), "operation", &diag);
    pawl__arena_release(&op->arena);
}

static void claim(struct pawl__store *store, const char *queue)
{
    struct pawl_diag diag = { .text = "" };
    struct pawl__op op = {
        .kind = PAWL__OP_CLAIM,
        .diag = &diag,
        .claim = { .queues = &queue,
                   .queue_count = 1,
                   .limit = 1,
                   .worker = "worker-1",
                   .lease_ms = 60000 },
    };
    must(pawl__store_do(store, &op), "claim", &diag);
    if (op.claim.job_count != 1) {
        fprintf(stderr, "cli_worker: nothing to claim in \"%s\"\n", queue);
        exit(1);
    }
    char id[PAWL_JOB_ID_TEXT_BYTES];
    held = (struct pawl_run){ op.claim.jobs[0].id, op.claim.jobs[0].run };
    pawl_job_id_text(held.id, id);
    puts(id);
    pawl__arena_release(&op.arena);
}

/* "TYPE:MESSAGE" */
static void fail(struct pawl__store *store, char *text, bool final)
{
    char *colon = strchr(text, ':');
    assert(colon);
    *colon = '\0';
    do_op(store, &(struct pawl__op){ .kind = PAWL__OP_FAIL,
                                     .fail = { .ref = held,
                                               .report = { .type = text,
                                                           .message = colon + 1,
                                                           .not_retryable = final } } });
}

static void progress(struct pawl__store *store, char *text)
{
    char *colon;
    double percent = strtod(text, &colon);
    assert(*colon == ':');
    do_op(store,
          &(struct pawl__op){
              .kind = PAWL__OP_PROGRESS,
              .progress = { .ref = held, .value = percent / 100, .message = span(colon + 1) } });
}

static void step(struct pawl__store *store, char *name)
{
    char *text = strchr(name, ':');
    assert(text);
    *text++ = '\0';
    if (strcmp(name, "claim") == 0) {
        claim(store, text);
    } else if (strcmp(name, "log") == 0) {
        do_op(store, &(struct pawl__op){ .kind = PAWL__OP_LOG, .log = { held, 1, span(text) } });
    } else if (strcmp(name, "progress") == 0) {
        progress(store, text);
    } else if (strcmp(name, "checkpoint") == 0) {
        do_op(store, &(struct pawl__op){ .kind = PAWL__OP_CHECKPOINT,
                                         .checkpoint = { .ref = held, .state = span(text) } });
    } else if (strcmp(name, "complete") == 0) {
        do_op(store,
              &(struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete = { held, span(text) } });
    } else if (strcmp(name, "fail") == 0 || strcmp(name, "end") == 0) {
        fail(store, text, name[0] == 'e');
    } else if (strcmp(name, "return") == 0) {
        do_op(store, &(struct pawl__op){ .kind = PAWL__OP_SNOOZE, .snooze = { .ref = held } });
    } else if (strcmp(name, "node") == 0) {
        do_op(store, &(struct pawl__op){
                         .kind = PAWL__OP_NODE_PUT,
                         .node = { .name = text, .info = "a test", .started_at_ms = 1000 } });
    } else {
        fprintf(stderr, "cli_worker: no step \"%s\"\n", name);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct pawl_diag diag = { .text = "" };
    struct pawl__store *store;
    assert(argc >= 3);
    struct pawl_config config = {
        .store = argv[1], .busy_timeout_ms = 30000, .clock = &pawl__clock_system, .seed = 1
    };
    must(pawl__store_open(&config, &store, &diag), "open", &diag);
    for (int i = 2; i < argc; i++) {
        step(store, argv[i]);
    }
    pawl__store_close(store);
    return 0;
}
