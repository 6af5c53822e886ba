/* Commands as handlers: a run of a job executes the command of its type.
 *
 * The command gets the job as JSON on standard input and in PAWL_* variables. Its standard output
 * becomes the result, its standard error the job's log, its exit status the outcome. */
#ifndef PAWL_CLI_EXEC_H
#define PAWL_CLI_EXEC_H

#include "cli/child.h"
#include "cli/cli.h"

/* How a run ended: NAME, text */
#define PAWL__CLI_ENDS(X)                                                                          \
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")                                                                            \
    X(DISCARDED, "discarded")                                                                      \
    X(TIMEOUT, "timeout")                                                                          \
    X(CANCELLED, "cancelled")   /* or its lease was lost */                                        \
    X(GIVEN_BACK, "given_back") /* the node stops, or could not start the command */

#define X(name, text) PAWL__CLI_END_##name,
enum pawl__cli_end { PAWL__CLI_ENDS(X) PAWL__CLI_END_COUNT };
#undef X

/* A run that has ended. */
struct pawl__cli_ended {
    const struct pawl_job *job;
    const char *id;
    enum pawl__cli_end end;
    bool started;        /* else `status` is not set */
    int status;          /* as of waitpid */
    const char *message; /* the error, or "" */
    int64_t took_us;
};

/* Shared by the commands of a node. */
struct pawl__cli_exec {
    const struct pawl__cli *cli;
    int64_t grace_ms;
    atomic_bool stopping; /* the node stops: jobs of stopped runs are given back */
    atomic_bool dying; /* set before all commands are killed, which then do not count as failed */
    /* Called on the workers' threads; `line` may be NULL. */
    void (*line)(void *ctx, const char *id, const char *at, size_t len);
    void (*ended)(void *ctx, const struct pawl__cli_ended *ended);
    void *ctx;
    /* Its own: */
    struct pawl__cli_children children;
    char **env; /* our environment, without what is set for each run */
    size_t env_count;
};

/* The command of a type; the context of pawl_handle. */
struct pawl__cli_exec_command {
    struct pawl__cli_exec *exec;
    const char *text; /* for /bin/sh -c */
};

/* The caller has set the fields above. 0, or an errno. */
int pawl__cli_exec_init(struct pawl__cli_exec *exec);
void pawl__cli_exec_release(struct pawl__cli_exec *exec);
pawl_handler_fn pawl__cli_exec_run;
const char *pawl__cli_end_text(enum pawl__cli_end end);

#endif
