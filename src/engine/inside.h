/* Shared by the files of the engine. */
#ifndef PAWL_ENGINE_INSIDE_H
#define PAWL_ENGINE_INSIDE_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/histogram.h"
#include "base/rng.h"
#include "base/sync.h"
#include "cluster/cluster.h"
#include "engine/engine.h"
#include "engine/poll.h"

#include <stdatomic.h>

enum {
    PAWL__HOOKS_MAX = 16,
    PAWL__AHEAD_MAX = 1024,      /* jobs claimed ahead of free workers, */
    PAWL__AHEAD_MAX_SLOW = 4096, /* or so many if a claim takes a multiple of */
    PAWL__AHEAD_CLAIM_US = 2500, /* this time */
    PAWL__AHEAD_US = 4000,       /* as many as the workers run in this time, */
    PAWL__AHEAD_US_MAX = 50000,  /* or in the time of a few claims if these take longer */
    PAWL__AHEAD_RUN_US = 10000,  /* no claims ahead if runs take this long */
    PAWL__CLAIM_MAX = 4096,
    PAWL__ARGS_SMALL = 256,     /* arguments up to this size always come with the claim */
    PAWL__FINISHING_MAX = 8192, /* unanswered outcomes */
    PAWL__WORKERS_MAX = 1024,
    PAWL__LINES_MAX = 256, /* unanswered log lines */
    PAWL__EXTEND_MAX = 4096,
    PAWL__RETRY_PAUSE_US = 200000, /* before an outcome that the store refused is retried */
    PAWL__NOTIFIER_MAX = 65536,    /* pending moves for the listener */
    PAWL__ERROR_TEXT_MAX = 4096
};

struct pawl__handler {
    char *type;
    pawl_handler_fn *fn;
    void *ctx;
};

/* One claim and the jobs that it returned; freed with the last of its tasks. */
struct pawl__claim {
    struct pawl__op op; /* its arena holds jobs and tasks */
    struct pawl__engine *engine;
    struct pawl_task *tasks;
    int64_t bytes; /* of the arguments that it returned */
    size_t left;   /* guarded by the engine's mutex */
    uint32_t group;
    int64_t asked;
    int64_t posted_us; /* leases are trusted from this time on */
};

/* The outcome of a run is decided once: by the worker, or by the coordinator if the time is up, the
 * lease is lost or the node stops. */
struct pawl_task {
    struct pawl__engine *engine;
    struct pawl__claim *claim;
    struct pawl_job *job; /* owned by the claim; the worker loads the arguments */
    const struct pawl__handler *handler;
    struct pawl_task *next; /* in the run queue */
    atomic_bool cancelled;

    /* guarded by the engine's mutex: */
    struct pawl_task *held_prev, *held_next; /* undecided ones */
    int64_t lease_ms;
    int64_t trust_until_us;   /* monotonic: the lease ends after this */
    int64_t started_us;       /* 0: it is waiting */
    int64_t soft_us, hard_us; /* monotonic; 0: no limit */
    int64_t deadline_at_ms;
    uint32_t group;
    bool decided;
    bool timed_out;
    int32_t pins; /* references: the run queue or a run, a pending outcome or beat */

    /* used only by the handler's thread until the outcome is posted: */
    struct pawl__arena arena;
    struct pawl_span result;
    struct pawl_span details;
    struct pawl_span resume;
    struct pawl_flow_inputs *inputs; /* NULL: not read */
    const char *error_type;
    char *error_text;
    int64_t delay_ms;
    struct pawl__op outcome;
};

/* Queues that are claimed together: several without a limit of their own, or one with a limit. */
struct pawl__group {
    const char **queues;
    size_t queue_count;
    int32_t limit; /* 0: none */
    /* guarded by the engine's mutex: */
    int32_t held;     /* its undecided tasks */
    bool passed_over; /* it was full when more jobs may have been available */
};

/* A kind of sweep; one at a time of each kind. */
struct pawl__sweep {
    struct pawl__op op;
    bool under_way;
    int64_t next_us; /* monotonic: when to do it again */
    int64_t began_us;
};

enum pawl__sweep_kind {
    PAWL__SWEEP_FIRE,
    PAWL__SWEEP_PROMOTE,
    PAWL__SWEEP_LAPSE,
    PAWL__SWEEP_EXPIRE,
    PAWL__SWEEP_DEADLINE,
    PAWL__SWEEP_SETTLE,
    PAWL__SWEEP_ARCHIVE,
    PAWL__SWEEP_PURGE,
    PAWL__SWEEP_NODE,
    PAWL__SWEEP_END
};

struct pawl__engine {
    struct pawl__store *store;
    const struct pawl_clock *clock;

    /* fixed before the start: */
    struct pawl__handler *handlers; /* by type */
    size_t handler_count;
    const char **types;
    struct pawl_hooks hooks[PAWL__HOOKS_MAX];
    size_t hook_count;
    char host[128];
    bool named;              /* its name was given explicitly, so there is no alternative */
    struct pawl__arena kept; /* names of queues, and all names that the node has had */
    struct pawl__group *groups;
    size_t group_count;
    int32_t workers;
    int64_t lease_ms;
    int64_t claim_bytes_max;
    struct pawl_retention retention;
    bool no_upkeep;
    struct pawl__poll_rules poll_rules;
    bool by_hand;

    struct pawl__mutex mutex;
    struct pawl__cond turn;   /* the coordinator's */
    struct pawl__cond work;   /* the workers' */
    struct pawl__cond change; /* for waits on a number to drop */
    /* guarded by mutex: */
    bool running, draining, quitting;
    bool stopping; /* a stop is in progress */
    bool turn_wanted;
    bool ready;           /* there may be jobs to claim */
    bool again;           /* more jobs have arrived since the round of claims began */
    bool verify;          /* check whether our leases are still ours */
    int64_t turn_at_us;   /* when the coordinator will wake */
    uint32_t claim_group; /* current position in the round of claims */
    bool claiming;
    struct pawl_task *queue_head, **queue_tail;
    struct pawl_task *held; /* undecided tasks */
    int64_t waiting, active, finishing,
        asked;           /* asked: operations that the store has not answered */
    int64_t claim_bytes; /* of arguments in the memory of all remaining claims */
    int64_t run_us_mean;
    int64_t claim_us_mean; /* duration of a claim */
    struct pawl__sweep sweeps[PAWL__SWEEP_END];
    int32_t beats;   /* unanswered beats: the next wait for them, so that they do not accumulate */
    int64_t beat_us; /* when leases are checked next */
    int64_t poll_us; /* when the safety poll is due */
    int64_t verified_us;
    struct pawl__poll poll;
    struct pawl_counters counters;
    int64_t given_back;
    struct pawl_task *troubled; /* outcomes that the store refused, to be retried */
    int64_t retry_us;
    int32_t notifying;      /* calls of the notifier or the watcher in progress */
    pawl_ready_fn *watcher; /* NULL: none */
    void *watcher_ctx;
    int32_t lines; /* posted to the store */
    const char *name;
    int name_attempt;
    int64_t started_at_ms;      /* as stored; fences our heartbeats */
    struct pawl__buf info;      /* the node's description in the current heartbeat */
    struct pawl_diag node_diag; /* and the store's answer to it */
    int64_t member_until_us;    /* monotonic: until then the others consider us alive */
    int32_t beats_failed;       /* consecutive failed heartbeats */
    bool rejoins;               /* we were given up, and join again */
    int64_t unsure_until_us;    /* monotonic: until then an earlier attempt of ours may hold the
                                   name */
    bool fenced;                /* another node has our name; final */
    bool store_lost;
    enum pawl_err store_err;
    int64_t store_changed_at_ms; /* when it was lost or came back; 0: never */

    struct pawl__notifier *notifier; /* NULL: no listener; replaced only by the caller that sets
                                        the listener */
    atomic_int hurry;
    pthread_t coordinator;
    bool coordinator_runs;
    pthread_t *threads;
    int32_t thread_count;
};

static inline int64_t pawl__engine_now_us(const struct pawl__engine *engine)
{
    return pawl__clock_mono_us(engine->clock);
}

/* In `ms` from now; a value that would overflow means never. */
static inline int64_t pawl__engine_in_us(const struct pawl__engine *engine, int64_t ms)
{
    int64_t now_us = pawl__engine_now_us(engine);
    if (ms <= 0) return now_us;
    return ms > (INT64_MAX - now_us) / 1000 ? INT64_MAX : now_us + ms * 1000;
}

/* ---- coordinator.c ---- */

void *pawl__coordinator_run(void *engine);
/* Wakes the coordinator; mutex held. */
void pawl__coordinator_call(struct pawl__engine *engine) PAWL__REQUIRES(engine->mutex);
/* Wakes the coordinator at the latest at this time; mutex held. */
void pawl__coordinator_call_at(struct pawl__engine *engine, int64_t at_us)
    PAWL__REQUIRES(engine->mutex);
/* Runs one turn; returns when the next is due. */
int64_t pawl__coordinator_turn(struct pawl__engine *engine);
/* When the next is due. */
int64_t pawl__coordinator_next(struct pawl__engine *engine);
void pawl__coordinator_notice(void *engine, const struct pawl__notice *notice);

/* ---- node.c ---- */

/* Chooses the first name to try. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__node_name(struct pawl__engine *engine, const char *name,
                                              struct pawl_diag *diag);
/* Joins under the first free name; before the threads start. HELD: there is none. */
PAWL_MUST_CHECK enum pawl_err pawl__node_join(struct pawl__engine *engine, struct pawl_diag *diag);
void pawl__node_leave(struct pawl__engine *engine); /* after the threads have ended */
/* Makes `op` the next heartbeat, or the next attempt to join again; mutex held. */
void pawl__node_ask(struct pawl__engine *engine, struct pawl__op *op);
/* Processes the answer; returns how long to wait (ms); mutex held. */
int64_t pawl__node_answered(struct pawl__engine *engine, const struct pawl__op *op,
                            int64_t began_us, int64_t now_us) PAWL__REQUIRES(engine->mutex);
/* True if the others must still consider us alive. Mutex held. */
bool pawl__node_trusted(const struct pawl__engine *engine, int64_t now_us);
/* Records an answer of the store, to any request; mutex held. */
void pawl__node_store_result(struct pawl__engine *engine, enum pawl_err err);

/* ---- poller.c ---- */

/* A claim if there is room and there may be jobs, else NULL: post it after releasing the mutex. */
struct pawl__op *pawl__poller_claim(struct pawl__engine *engine) PAWL__REQUIRES(engine->mutex);

/* ---- task.c ---- */

void *pawl__worker_run(void *engine);
/* Takes a task from the run queue and runs it; false: the queue is empty. */
bool pawl__task_run_next(struct pawl__engine *engine);
/* Drops a pin: the outcome has been answered, or the handler has returned. */
void pawl__task_unpin(struct pawl_task *task); /* mutex held */

/* ---- finisher.c ---- */

/* Decides a task: removes it from the held list and pins it for the outcome. False: already
 * decided. Mutex held. */
bool pawl__task_decide(struct pawl_task *task);
/* Posts the outcome to the store; the caller, which must hold no lock, has decided the task and
 * counted the answer in `asked`. The task may be freed by this call. */
void pawl__finish_outcome(struct pawl_task *task, enum pawl_outcome outcome);
void pawl__finish_give_back(struct pawl_task *task, int64_t delay_ms);
void pawl__finish_timeout(struct pawl_task *task);
/* Retries outcomes that the store refused. */
void pawl__finish_retry(struct pawl__engine *engine, int64_t now_us);
/* Posts nothing, because the lease is lost. */
void pawl__finish_nothing(struct pawl_task *task);

/* ---- notifier.c ---- */

struct pawl__notifier;
PAWL_MUST_CHECK enum pawl_err pawl__notifier_new(pawl_listener_fn *fn, void *ctx,
                                                 struct pawl__notifier **out,
                                                 struct pawl_diag *diag);
void pawl__notifier_free(struct pawl__notifier *notifier); /* delivers pending moves, then ends */
void pawl__notifier_post(struct pawl__notifier *notifier, const struct pawl__notice *notice);

#endif
