/* A child process: started in a process group of its own, fed, listened to, and always reaped.
 *
 * Knows nothing of jobs. Any thread may run a child; several threads run several. */
#ifndef PAWL_CLI_CHILD_H
#define PAWL_CLI_CHILD_H

#include "base/buf.h"
#include "cli/launch.h"

#include <pawl/job.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of standard error; the rest of a longer line is dropped. */
enum { PAWL__CLI_LINE_BYTES_MAX = 4000 };

/* What all children share. */
struct pawl__cli_children {
    struct pawl__cli_guardian guardian;
    sigset_t none, all;
    atomic_bool hurry; /* no grace any more, for children that are being stopped or will be */
};

/* Opens standard streams that are closed, ignores SIGPIPE, and SIGCHLD no longer, and starts the
 * guardian: before there are threads. 0, or an errno. */
int pawl__cli_children_init(struct pawl__cli_children *children);
void pawl__cli_children_release(struct pawl__cli_children *children);

struct pawl__cli_child {
    char *const *argv; /* a path, then its arguments */
    char *const *envp;
    struct pawl_span input;  /* its standard input; it need not read it */
    size_t output_max;       /* of its standard output; what it prints beyond is dropped */
    int64_t grace_ms;        /* between TERM and KILL; and for what it leaves running */
    bool (*stop)(void *ctx); /* asked again and again: is it to be stopped? */
    void (*line)(void *ctx, const char *at, size_t len); /* each line of its standard error */
    void *ctx;

    /* What came of it: */
    struct pawl__buf output; /* the caller releases it */
    int status;              /* as waitpid has it */
    bool stopped;            /* because stop() said so */
    size_t output_lost;      /* bytes that it printed beyond output_max */

    /* While it runs: */
    struct pawl__buf rest; /* of standard error: a line that has not ended */
    bool skip;             /* what follows belongs to a line that was too long */
    size_t fed;
    pid_t pid;
    int pidfd; /* -1: this kernel has none */
    int in, out, err;
    int out_held, err_held; /* the other ends, until it has exited: its exit wakes us once */
    bool exited;
    bool killed;
    int64_t patience_us; /* when it ends: TERM becomes KILL, leftovers are killed; 0: no end */
};

/* Runs it to its end: until it has exited and its output is closed, or the grace after its exit is
 * over. Nothing of its process group is alive then. 0, or the errno of what kept it from starting.
 */
int pawl__cli_child_run(struct pawl__cli_children *children, struct pawl__cli_child *child);

#endif
