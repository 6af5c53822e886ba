/* A process on a store, for wake_test.py: submits when it is told to, and runs "tick" if it is a
 * node. Usage: wake_node URL WAKE POLL_MS
 *
 * WAKE: pawl_config.wake, "-" for none given. POLL_MS: the safety poll's pause; 0: not a node.
 * Reads a word a line (submit, counters, check), writes a line for each, and "ran ID" for each run.
 */
#include <pawl/pawl.h>
#include <pawl/work.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum pawl_outcome tick(struct pawl_task *task, void *ctx)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    (void)ctx;
    pawl_job_id_text(pawl_task_job(task)->id, id);
    printf("ran %s\n", id);
    return PAWL_OUTCOME_DONE;
}

static enum pawl_err submit(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_submitted submitted;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    enum pawl_err err =
        pawl_submit(pawl, &(struct pawl_job_spec){ .type = "tick" }, &submitted, diag);
    if (err) return err;
    pawl_job_id_text(submitted.id, id);
    printf("submitted %s\n", id);
    return PAWL_OK;
}

static void print_counters(struct pawl *pawl)
{
    struct pawl_counters counters;
    pawl_counters_get(pawl, &counters);
#define X(name, text) #name " %" PRId64 " "
    static const char format[] = "counters " PAWL_COUNTERS(X) "wake_trouble %" PRId64 "\n";
#undef X
#define X(name, text) counters.name,
    printf(format, PAWL_COUNTERS(X) counters.wake_trouble);
#undef X
}

static void print_check(struct pawl *pawl)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_wake_check(pawl, &diag);
    printf("check %s %s\n", pawl_err_name(err), diag.text);
}

static enum pawl_err obey(struct pawl *pawl, struct pawl_diag *diag)
{
    char line[64];
    enum pawl_err err = PAWL_OK;
    while (!err && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "submit") == 0) {
            err = submit(pawl, diag);
        } else if (strcmp(line, "counters") == 0) {
            print_counters(pawl);
        } else if (strcmp(line, "check") == 0) {
            print_check(pawl);
        }
    }
    return err;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int64_t poll_ms = strtoll(argv[3], NULL, 10);
    struct pawl_config config = { .store = argv[1],
                                  .durability = PAWL_DURABILITY_RELAXED,
                                  .wake = strcmp(argv[2], "-") == 0 ? NULL : argv[2] };
    struct pawl_node_config node = { .workers = 1, .poll_min_ms = poll_ms, .poll_max_ms = poll_ms };
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err && poll_ms) err = pawl_handle(pawl, "tick", tick, NULL, &diag);
    if (!err && poll_ms) err = pawl_start(pawl, &node, &diag);
    if (!err) {
        puts("ready");
        err = obey(pawl, &diag);
        if (poll_ms) pawl_stop(pawl, NULL, NULL);
    }
    pawl_close(pawl);
    if (err) printf("error %s %s\n", pawl_err_name(err), diag.text);
    return err ? 1 : 0;
}
