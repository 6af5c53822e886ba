/* The list of commands. A word may have several rows, one for each second word; without a second
 * word, the first row is meant. */
#ifndef PAWL_CLI_COMMANDS_H
#define PAWL_CLI_COMMANDS_H

#include "cli/options.h"

#include <pawl/pawl.h>

struct pawl__cli;

/* How a command uses the store. */
enum pawl__cli_store {
    PAWL__CLI_STORE_NONE,  /* not at all; settings from elsewhere are not read either */
    PAWL__CLI_STORE_READ,  /* it must exist, is only read, and need not be writable */
    PAWL__CLI_STORE_OPEN,  /* it must exist */
    PAWL__CLI_STORE_CREATE /* it is created if it does not exist */
};

/* function, word, second word, operands, their least and greatest number, store, groups, hidden,
 * summary */
#define PAWL__CLI_COMMANDS_BEFORE(X)                                                               \
    X(submit, "submit", NULL, "[TYPE [ARGS]]", 0, 2, CREATE, PAWL__CLI_SUBMIT | PAWL__CLI_ONCE,    \
      false, "submit a job, or many from standard input")                                          \
    X(show, "show", NULL, "ID...", 1, MANY, READ, 0, false, "show a job's full history")           \
    X(list, "list", NULL, "", 0, 0, READ, PAWL__CLI_FILTER | PAWL__CLI_LIST, false,                \
      "list jobs, newest first")                                                                   \
    X(wait, "wait", NULL, "ID...", 1, MANY, READ, PAWL__CLI_WAIT, false,                           \
      "wait until jobs have ended")                                                                \
    X(work, "work", NULL, "", 0, 0, CREATE, PAWL__CLI_WORK | PAWL__CLI_RETENTION | PAWL__CLI_LOG,  \
      false, "run jobs as shell commands")                                                         \
    X(serve, "serve", NULL, "", 0, 0, CREATE,                                                      \
      PAWL__CLI_SERVE | PAWL__CLI_LIMITS | PAWL__CLI_RETENTION | PAWL__CLI_LOG, false,             \
      "serve the Open Job Spec over HTTP")

#define PAWL__CLI_COMMANDS_AFTER(X)                                                                \
    X(delete, "delete", NULL, "[ID...]", 0, MANY, OPEN,                                            \
      PAWL__CLI_FILTER | PAWL__CLI_BULK | PAWL__CLI_REASON, false, "delete jobs that have ended")  \
    X(rerun, "rerun", NULL, "ID...", 1, MANY, OPEN, 0, false,                                      \
      "submit finished jobs again as new ones")                                                    \
    X(priority, "priority", NULL, "ID... N", 2, MANY, OPEN, PAWL__CLI_REASON, false,               \
      "change the priority of waiting jobs")                                                       \
    X(route, "route", NULL, "", 0, 0, OPEN, PAWL__CLI_ROUTE | PAWL__CLI_ROUTED, false,             \
      "reserve jobs for a worker")                                                                 \
    X(assign, "assign", NULL, "ID TOKEN", 2, 2, OPEN, PAWL__CLI_ROUTED | PAWL__CLI_ASSIGN, false,  \
      "start the run of a reserved job")                                                           \
    X(unroute, "unroute", NULL, "ID TOKEN", 2, 2, OPEN, PAWL__CLI_ROUTED, false,                   \
      "give a reserved job back")                                                                  \
    X(complete_run, "complete", NULL, "ID RUN [RESULT]", 2, 3, OPEN, 0, false,                     \
      "report that a run is done")                                                                 \
    X(fail_run, "fail", NULL, "ID RUN MESSAGE", 3, 3, OPEN, PAWL__CLI_FAILURE, false,              \
      "report that a run failed")                                                                  \
    X(stats, "stats", NULL, "", 0, 0, READ, PAWL__CLI_STATS, false,                                \
      "count the jobs of each queue and state")                                                    \
    X(top, "top", NULL, "", 0, 0, OPEN, PAWL__CLI_TOP, false,                                      \
      "watch queues and jobs live, and control them")                                              \
    X(dead_list, "dead", "list", "", 0, 0, READ, PAWL__CLI_FILTER | PAWL__CLI_LIST, false,         \
      "list discarded jobs")                                                                       \
    X(dead_retry, "dead", "retry", "[ID...]", 0, MANY, OPEN,                                       \
      PAWL__CLI_FILTER | PAWL__CLI_BULK | PAWL__CLI_REASON, false, "run discarded jobs again")     \
    X(dead_delete, "dead", "delete", "[ID...]", 0, MANY, OPEN,                                     \
      PAWL__CLI_FILTER | PAWL__CLI_BULK | PAWL__CLI_REASON, false, "delete discarded jobs")        \
    X(cron_list, "cron", "list", "", 0, 0, READ, PAWL__CLI_CRON_LIST, false, "list schedules")     \
    X(cron_add, "cron", "add", "SCHEDULE EXPRESSION TYPE [ARGS]", 3, 4, CREATE,                    \
      PAWL__CLI_WHEN | PAWL__CLI_SCHEDULE | PAWL__CLI_SUBMIT, false,                               \
      "add a schedule: jobs that recur")                                                           \
    X(cron_show, "cron", "show", "SCHEDULE...", 1, MANY, READ, 0, false,                           \
      "show a schedule, its next fires and its recent ones")                                       \
    X(cron_edit, "cron", "edit", "SCHEDULE [EXPRESSION [TYPE [ARGS]]]", 1, 4, OPEN,                \
      PAWL__CLI_WHEN | PAWL__CLI_SCHEDULE | PAWL__CLI_SUBMIT | PAWL__CLI_UNSET, false,             \
      "change a schedule")                                                                         \
    X(cron_pause, "cron", "pause", "SCHEDULE...", 1, MANY, OPEN, PAWL__CLI_REASON, false,          \
      "stop firing")                                                                               \
    X(cron_resume, "cron", "resume", "SCHEDULE...", 1, MANY, OPEN, PAWL__CLI_REASON, false,        \
      "fire again")                                                                                \
    X(cron_run, "cron", "run", "SCHEDULE...", 1, MANY, OPEN, PAWL__CLI_REASON | PAWL__CLI_FORCE,   \
      false, "make a job of a schedule now")                                                       \
    X(cron_remove, "cron", "remove", "SCHEDULE...", 1, MANY, OPEN, 0, false,                       \
      "remove schedules; their jobs stay")                                                         \
    X(cron_history, "cron", "history", "SCHEDULE", 1, 1, READ, PAWL__CLI_FIRINGS, false,           \
      "list the firings, skips and changes of a schedule, newest first")                           \
    X(cron_next, "cron", "next", "EXPRESSION|SCHEDULE", 1, 1, READ,                                \
      PAWL__CLI_WHEN | PAWL__CLI_COMING, false, "show when a cron expression or a schedule fires") \
    X(cron_apply, "cron", "apply", "FILE", 1, 1, CREATE, PAWL__CLI_APPLY, false,                   \
      "make the schedules as a file says")                                                         \
    X(queue_list, "queue", "list", "", 0, 0, READ, 0, false, "list the queues")                    \
    X(queue_pause, "queue", "pause", "QUEUE...", 1, MANY, OPEN,                                    \
      PAWL__CLI_REASON | PAWL__CLI_QUEUE, false, "stop handing out jobs from a queue")             \
    X(queue_resume, "queue", "resume", "QUEUE...", 1, MANY, OPEN, PAWL__CLI_REASON, false,         \
      "hand out jobs from a queue again")                                                          \
    X(queue_delete, "queue", "delete", "QUEUE...", 1, MANY, OPEN, PAWL__CLI_REASON, false,         \
      "delete empty queues")                                                                       \
    X(flow_list, "flow", "list", "", 0, 0, READ, PAWL__CLI_FLOW_LIST, false,                       \
      "list flows, the newest first")                                                              \
    X(flow_submit, "flow", "submit", "FILE", 1, 1, CREATE, 0, false,                               \
      "add the jobs of a flow, described by a file")                                               \
    X(flow_show, "flow", "show", "ID...", 1, MANY, READ, PAWL__CLI_FLOW_SHOW, false,               \
      "draw a flow with the states of its jobs")                                                   \
    X(flow_cancel, "flow", "cancel", "ID [NODE...]", 1, MANY, OPEN,                                \
      PAWL__CLI_FLOW_CANCEL | PAWL__CLI_REASON, false, "cancel a flow, or some of its nodes")      \
    X(flow_retry, "flow", "retry", "ID [NODE...]", 1, MANY, OPEN,                                  \
      PAWL__CLI_FLOW_RETRY | PAWL__CLI_REASON, false, "run again what failed in a flow")           \
    X(flow_pause, "flow", "pause", "ID...", 1, MANY, OPEN, PAWL__CLI_REASON, false,                \
      "give no more jobs of a flow to workers")                                                    \
    X(flow_resume, "flow", "resume", "ID...", 1, MANY, OPEN, PAWL__CLI_REASON, false,              \
      "undo the pause, or the cancel, of a flow")                                                  \
    X(flow_add, "flow", "add", "ID FILE", 2, 2, OPEN, PAWL__CLI_FLOW_ADD, false,                   \
      "add nodes to a flow that runs")                                                             \
    X(flow_seal, "flow", "seal", "ID [GROUP]", 1, 2, OPEN, 0, false,                               \
      "add no more to a flow or group that grows")                                                 \
    X(flow_approve, "flow", "approve", "ID NODE", 2, 2, OPEN, PAWL__CLI_FLOW_SIGNAL, false,        \
      "approve a node that waits for a signal")                                                    \
    X(flow_reject, "flow", "reject", "ID NODE", 2, 2, OPEN, PAWL__CLI_FLOW_SIGNAL, false,          \
      "reject a node that waits for a signal")                                                     \
    X(flow_signal, "flow", "signal", "KEY", 1, 1, OPEN,                                            \
      PAWL__CLI_FLOW_SIGNAL | PAWL__CLI_FLOW_KEY, false, "approve all nodes that wait for a key")  \
    X(flow_wait, "flow", "wait", "ID...", 1, MANY, READ, PAWL__CLI_WAIT, false,                    \
      "wait until flows have ended")                                                               \
    X(node_list, "node", "list", "", 0, 0, READ, 0, false, "list the nodes of the store")          \
    X(node_show, "node", "show", "NAME...", 1, MANY, READ, 0, false,                               \
      "show a node and the jobs it is running")                                                    \
    X(lock_list, "lock", "list", "", 0, 0, READ, 0, false, "list the locks")                       \
    X(lock_try, "lock", "try", "NAME", 1, 1, CREATE, PAWL__CLI_LOCK_TTL | PAWL__CLI_LOCK_OWNER,    \
      false, "take a lock, or exit with 1 if it is held")                                          \
    X(lock_renew, "lock", "renew", "NAME", 1, 1, OPEN, PAWL__CLI_LOCK_TTL | PAWL__CLI_LOCK_OWNER,  \
      false, "extend a lock")                                                                      \
    X(lock_release, "lock", "release", "NAME", 1, 1, OPEN, PAWL__CLI_LOCK_OWNER, false,            \
      "release a lock")                                                                            \
    X(lock_run, "lock", "run", "NAME COMMAND...", 2, MANY, CREATE, PAWL__CLI_LOCK_TTL, false,      \
      "run a command while holding a lock")                                                        \
    X(token_list, "token", "list", "", 0, 0, OPEN, 0, false,                                       \
      "list tokens (secrets are never shown)")                                                     \
    X(token_add, "token", "add", "", 0, 0, CREATE, PAWL__CLI_TOKEN, false,                         \
      "create a token and print it once")                                                          \
    X(token_revoke, "token", "revoke", "TOKEN-ID...", 1, MANY, OPEN, 0, false, "revoke a token")   \
    X(migrate, "migrate", NULL, "", 0, 0, CREATE, PAWL__CLI_MIGRATE, false,                        \
      "create the store, or bring its schema up to date")                                          \
    X(backup, "backup", NULL, "FILE", 1, 1, READ, 0, false,                                        \
      "copy the store to a new file while it is in use")                                           \
    X(check, "check", NULL, "", 0, 0, READ, 0, false, "check the store for damage")                \
    X(upkeep, "upkeep", NULL, "", 0, 0, OPEN, PAWL__CLI_RETENTION, false, "run due maintenance")   \
    X(version, "version", NULL, "", 0, 0, NONE, 0, false, "print the version")                     \
    X(help, "help", NULL, "[COMMAND]", 0, 2, NONE, 0, false,                                       \
      "show help for pawl, or for one command")                                                    \
    X(man, "__man", NULL, "", 0, 0, NONE, 0, true, "print the man page")                           \
    X(doc, "__doc", NULL, "", 0, 0, NONE, 0, true, "print the reference page")                     \
    X(complete, "__complete", NULL, "SHELL", 1, 1, NONE, 0, true, "print a completion script")     \
    X(known, "__known", NULL, "ids|queues|types|schedules", 1, 1, READ, 0, true,                   \
      "print names for completion")

#define PAWL__CLI_CONTROL_OPERANDS "[ID...]"
#define PAWL__CLI_CONTROL_GROUPS (PAWL__CLI_FILTER | PAWL__CLI_BULK | PAWL__CLI_REASON)
#define PAWL__CLI_MANY SIZE_MAX

typedef int pawl__cli_command_fn(struct pawl__cli *cli);

struct pawl__cli_command {
    pawl__cli_command_fn *run;
    const char *word;
    const char *second; /* NULL: none */
    const char *operands;
    size_t operands_min;
    size_t operands_max;
    enum pawl__cli_store store;
    uint64_t groups; /* SETTING and ALWAYS included */
    bool hidden;
    const char *summary;
    enum pawl_control control; /* NONE unless the row comes from PAWL_CONTROLS */
};

extern const struct pawl__cli_command pawl__cli_commands[];
extern const size_t pawl__cli_command_count;

/* The row of `word` and `second` (NULL: the word alone); NULL: there is none. */
const struct pawl__cli_command *pawl__cli_command_find(const char *word, const char *second);
/* Help beyond the summary; "": none. */
const char *pawl__cli_command_details(const struct pawl__cli_command *command);
/* Examples, each a line; "": none. */
const char *pawl__cli_command_examples(const struct pawl__cli_command *command);

#define X(fn, ...) int pawl__cli_##fn(struct pawl__cli *cli);
PAWL__CLI_COMMANDS_BEFORE(X)
PAWL__CLI_COMMANDS_AFTER(X)
#undef X
int pawl__cli_control(struct pawl__cli *cli);

#endif
