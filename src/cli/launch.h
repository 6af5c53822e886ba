/* Starts processes that do not outlive this one.
 *
 * A guardian, a small separate process, waits until this one has ended, in whatever way, and then
 * kills the remaining process groups. Both share a table in which each child enters its process
 * group before it executes its program, so no messages are needed and no child is missed. Processes
 * that leave their group (setsid) or change their user are not killed. */
#ifndef PAWL_CLI_LAUNCH_H
#define PAWL_CLI_LAUNCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PAWL__CLI_CHILDREN_MAX = 1024 }; /* at a time; the maximum of workers of a node */

/* One child's entry in the table. */
struct pawl__cli_place {
    atomic_int group; /* 0: free, -1: taken, nothing runs yet */
    atomic_int error; /* the errno if its program could not be executed */
};

struct pawl__cli_guardian {
    struct pawl__cli_place *places; /* NULL: none was started */
    int line;                       /* a pipe to the guardian, which reads its end */
    pid_t pid;
};

/* Before there are threads. 0, or an errno. */
int pawl__cli_guardian_start(struct pawl__cli_guardian *guardian);
/* To be called when no child runs. Does nothing if none was started. */
void pawl__cli_guardian_stop(struct pawl__cli_guardian *guardian);
/* Kills all running process groups. Async-signal-safe; for a program that is about to exit, on a
 * thread that starts no children. */
void pawl__cli_guardian_kill(struct pawl__cli_guardian *guardian);

/* NULL: all are taken. Any thread. */
struct pawl__cli_place *pawl__cli_place_take(struct pawl__cli_guardian *guardian);
/* To be called when the group has no processes left, and before its leader is reaped, since then
 * the group's number may be reused. */
void pawl__cli_place_free(struct pawl__cli_place *place);

struct pawl__cli_launch {
    char *const *argv;
    char *const *envp;
    bool search;           /* for argv[0] in PATH */
    const int *streams;    /* its three standard streams, and no other file is open; NULL: it
                              inherits all open files */
    const sigset_t *mask;  /* signals that it blocks */
    const sigset_t *usual; /* signals that get their default action, even if they are ignored */
};

/* Starts a process in a group of its own, entered at `place`. 0, or an errno: then nothing runs,
 * and the place is free. Any thread; if the thread ends before the child, the child is killed. */
int pawl__cli_launch(struct pawl__cli_place *place, const struct pawl__cli_launch *launch,
                     pid_t *out);
/* Whether the child has ended. It remains a zombie, so its number is not reused. */
bool pawl__cli_has_exited(pid_t pid);
/* Waits for the child and returns its status. Afterwards its number may be reused. */
int pawl__cli_reap(pid_t pid);

#endif
