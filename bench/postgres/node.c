/* pawl_bench_node: a node that is controlled through its standard input, for the measurements that
 * need several processes.
 *
 * Usage: pawl_bench_node URL NAME
 *
 * Each of the commands "start", "stop" and "count" is answered with the number of runs that it has
 * completed. Jobs of the type "mail.send" do nothing; those of the type "bench.ring" print the
 * monotonic time. It ends at the end of its input. */
#include "base/clock.h"

#include <pawl/pawl.h>
#include <pawl/work.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, LINE_BYTES = 64 };

static void check(enum pawl_err err, const struct pawl_diag *diag)
{
    if (!err) return;
    fprintf(stderr, "pawl_bench_node: %s\n", diag->text);
    exit(1);
}

static enum pawl_outcome no_op(struct pawl_task *task, void *ctx)
{
    return PAWL_OUTCOME_DONE;
}

static enum pawl_outcome ring(struct pawl_task *task, void *ctx)
{
    printf("%lld\n", (long long)pawl__clock_mono_us(&pawl__clock_system));
    return PAWL_OUTCOME_DONE;
}

static void obey(struct pawl *pawl, const char *command, const char *name)
{
    const struct pawl_node_config config = { .name = name, .workers = WORKERS };
    struct pawl_counters counters;
    struct pawl_diag diag = { 0 };
    if (!strcmp(command, "start")) check(pawl_start(pawl, &config, &diag), &diag);
    if (!strcmp(command, "stop")) pawl_stop(pawl, NULL, NULL);
    pawl_counters_get(pawl, &counters);
    printf("%lld\n", (long long)counters.completed);
}

int main(int argc, char **argv)
{
    char line[LINE_BYTES];
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    if (argc != 3) {
        fputs("usage: pawl_bench_node URL NAME\n", stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(pawl_open(&(struct pawl_config){ .store = argv[1] }, &pawl, &diag), &diag);
    check(pawl_handle(pawl, "mail.send", no_op, NULL, &diag), &diag);
    check(pawl_handle(pawl, "bench.ring", ring, NULL, &diag), &diag);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        obey(pawl, line, argv[2]);
    }
    pawl_stop(pawl, NULL, NULL);
    pawl_close(pawl);
    return 0;
}
