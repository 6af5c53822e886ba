/* Starting processes that do not outlive this one.
 *
 * A guardian, a small process of its own, waits for this one to end, however it ends, and then
 * kills the process groups that are left. It shares a table with us in which every child enters its
 * process group before it becomes its program, so that a child costs no message and none is missed.
 * A process that leaves its group (setsid) or changes its user is out of reach. */
#ifndef PAWL_CLI_LAUNCH_H
#define PAWL_CLI_LAUNCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PAWL__CLI_CHILDREN_MAX = 1024 }; /* at a time; as many as a node may have workers */

/* One child's entry in the table. */
struct pawl__cli_place {
    atomic_int group; /* 0: free, -1: taken, nothing runs yet */
    atomic_int error; /* what kept it from becoming its program */
};

struct pawl__cli_guardian {
    struct pawl__cli_place *places; /* NULL: none was started */
    int line;                       /* the guardian reads its end of it: that we are gone */
    pid_t pid;
};

/* Before there are threads. 0, or an errno. */
int pawl__cli_guardian_start(struct pawl__cli_guardian *guardian);
/* When no child runs any more. Nothing to do when there is none. */
void pawl__cli_guardian_stop(struct pawl__cli_guardian *guardian);
/* Kills every process group that runs. Async-signal-safe; for a program that is about to end, on a
 * thread that starts no child. */
void pawl__cli_guardian_kill(struct pawl__cli_guardian *guardian);

/* NULL: all are taken. Any thread. */
struct pawl__cli_place *pawl__cli_place_take(struct pawl__cli_guardian *guardian);
/* When nothing of the group is alive, and before its leader is reaped: its number may be used again
 * then. */
void pawl__cli_place_free(struct pawl__cli_place *place);

struct pawl__cli_launch {
    char *const *argv;
    char *const *envp;
    bool search;           /* for argv[0] along PATH */
    const int *streams;    /* three, to be its standard streams, and nothing else is open; NULL: it
                              inherits what is */
    const sigset_t *mask;  /* signals that it blocks */
    const sigset_t *usual; /* signals whose default action it gets back, ignored ones as well */
};

/* Starts a process in a group of its own, entered at `place`. 0, or an errno: nothing runs, and the
 * place is free. Any thread; if that ends before the child does, the child is killed. */
int pawl__cli_launch(struct pawl__cli_place *place, const struct pawl__cli_launch *launch,
                     pid_t *out);
/* Has the child ended? It stays a zombie, so its number is still its own. */
bool pawl__cli_has_exited(pid_t pid);
/* Waits for the child's end and forgets it; its status. From here on its number may be another's.
 */
int pawl__cli_reap(pid_t pid);

#endif
