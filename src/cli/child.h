/* Child processes: each is started in a process group of its own; its input is written, its output
 * read, and it is always reaped. Independent of jobs. Several threads may run children. */
#ifndef PAWL_CLI_CHILD_H
#define PAWL_CLI_CHILD_H

#include "base/buf.h"
#include "cli/launch.h"

#include <pawl/job.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Limit of a line of standard error; the rest is dropped. */
enum { PAWL__CLI_LINE_BYTES_MAX = 4000 };

/* What all children share. */
struct pawl__cli_children {
    struct pawl__cli_guardian guardian;
    sigset_t none, all;
    atomic_bool hurry; /* children that are stopped now or later get no grace period */
};

/* Opens closed standard streams, ignores SIGPIPE, restores SIGCHLD, and starts the guardian. To be
 * called before there are threads. 0, or an errno. */
int pawl__cli_children_init(struct pawl__cli_children *children);
void pawl__cli_children_release(struct pawl__cli_children *children);

struct pawl__cli_child {
    char *const *argv; /* a path, then its arguments */
    char *const *envp;
    struct pawl_span input;  /* its standard input; it need not read it */
    size_t output_max;       /* of its standard output; the rest is dropped */
    int64_t grace_ms;        /* between TERM and KILL; also for processes that it leaves running */
    bool (*stop)(void *ctx); /* called repeatedly: whether to stop it */
    void (*line)(void *ctx, const char *at, size_t len); /* each line of its standard error */
    void *ctx;

    /* The result: */
    struct pawl__buf output; /* the caller releases it */
    int status;              /* as of waitpid */
    bool stopped;            /* because stop() returned true */
    size_t output_lost;      /* bytes that were dropped */

    /* While it runs: */
    struct pawl__buf rest; /* the unfinished line of standard error */
    bool skip;             /* the rest of a line that was too long */
    size_t fed;
    pid_t pid;
    int pidfd; /* -1: the kernel has no pidfds */
    int in, out, err;
    int out_held, err_held; /* the other ends, held open until it has exited (child.c) */
    bool exited;
    bool killed;
    int64_t patience_us; /* when KILL is sent to what is left of the group; 0: never */
};

/* Runs it until it has exited and its output is closed, or the grace period after its exit is over.
 * Then its process group has no processes left. 0, or an errno: it could not be started. */
int pawl__cli_child_run(struct pawl__cli_children *children, struct pawl__cli_child *child);

#endif
