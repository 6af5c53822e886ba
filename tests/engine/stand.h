/* A stand: an open store with a node whose turns the test runs, and a clock whose wall and
 * monotonic time move together, when the test moves them. Only the test's thread may use a stand.
 * Handlers run on that thread too, so they may run turns, move the clock and even run further jobs.
 *
 * A failed expectation ends the test through cmocka, so nothing here is for other threads, except
 * plugs. */
#ifndef PAWL_TESTS_STAND_H
#define PAWL_TESTS_STAND_H

#include "api/api.h"
#include "engine/inside.h"
#include "support/rig.h"

#include <stdatomic.h>

#define STAND_START_MS INT64_C(1774951205123) /* 2026-03-31T10:00:05.123Z */
#define STAND_LEASE_MS INT64_C(30000)

enum { STAND_TRACE_BYTES = 8192, STAND_KEPT_MAX = 256, STAND_TURNS_MAX = 200 };

struct stand_clock {
    struct pawl_clock clock;
    _Atomic int64_t now_us;
    _Atomic int64_t step_ms; /* by which the wall's time was set */
};

struct stand {
    const struct store_kind *kind;
    char url[RIG_URL_BYTES];
    struct stand_clock own_clock;
    struct stand_clock *clock; /* the own one, or that of the stand it is a peer of */
    struct pawl *pawl;
    struct pawl__engine *engine;
    struct pawl_diag diag;
    char trace[STAND_TRACE_BYTES];
    int64_t runs; /* of handlers that count here */
    struct pawl_jobs jobs[STAND_KEPT_MAX];
    size_t jobs_count;
    struct pawl_story stories[STAND_KEPT_MAX];
    size_t story_count;
    void *user; /* the test's own */
};

void stand_open(struct stand *stand, const struct store_kind *kind);
/* Another process, as it were: its own store on the same file, the same clock. */
void stand_open_peer(struct stand *peer, struct stand *of);
void stand_close(struct stand *stand);

/* ---- time ---- */

int64_t now_ms(struct stand *stand);
void move_clock(struct stand *stand, int64_t by_ms);
void move_clock_us(struct stand *stand, int64_t by_us);
/* Set the wall's clock; monotonic time knows nothing of it. */
void stand_step_wall(struct stand *stand, int64_t by_ms);

/* ---- the node ---- */

/* `ctx` is the stand. */
void handle(struct stand *stand, const char *type, pawl_handler_fn *fn);
/* A handler that notes in the trace the first argument of the job, and is done. */
enum pawl_outcome note_args(struct pawl_task *task, void *ctx);
/* Counts in stand->runs, and is done. */
enum pawl_outcome count_run(struct pawl_task *task, void *ctx);

/* By hand, then turned until it has nothing to do. NULL: a name "node", one worker. */
void start(struct stand *stand, const struct pawl_node_config *config);
void start_workers(struct stand *stand, int32_t workers);
int64_t stop(struct stand *stand); /* at once; how many it gave back */

/* Turns at this instant until there is nothing more to do; when there will be (us). */
int64_t turn(struct stand *stand);
/* The same, but only what was asked before is waited for: no turn. */
void settle(struct stand *stand);
/* Runs one claimed job; false: there is none. */
bool work(struct stand *stand);
/* Turns and works at this instant until there is nothing to do; how many ran. */
int64_t work_all(struct stand *stand);
/* Moves the clock from one thing to do to the next, and works, for `ms`. */
void live(struct stand *stand, int64_t ms);
/* The same without working: what is claimed waits. */
void live_turning(struct stand *stand, int64_t ms);

/* ---- jobs ---- */

/* Type "work" unless given; accepted. */
struct pawl_job_id submit(struct stand *stand, const struct pawl_job_spec *spec);
/* With these arguments. */
struct pawl_job_id submit_args(struct stand *stand, const char *queue, const char *args);
struct pawl_job job_of(struct stand *stand, struct pawl_job_id id); /* kept until close */
enum pawl_state state_of_job(struct stand *stand, struct pawl_job_id id);
const struct pawl_story *story_of_job(struct stand *stand, struct pawl_job_id id);
enum pawl_err control_job(struct stand *stand, struct pawl_job_id id, enum pawl_control control);
int64_t count_in(struct stand *stand, enum pawl_state state);
struct pawl_counters counters_of(struct stand *stand);

/* ---- what happened ---- */

void trace(struct stand *stand, const char *format, ...) PAWL_PRINTF(2, 3);

void stand_expect_err_at(struct stand *stand, enum pawl_err expected, enum pawl_err actual,
                         const char *what, const char *file, int line);
/* For calls with &stand->diag as their last argument. */
#define expect_err(stand, expected, call)                                                          \
    stand_expect_err_at(stand, expected, call, #call, __FILE__, __LINE__)
#define expect_ok(stand, call) expect_err(stand, PAWL_OK, call)

/* ---- holding up the store ---- */

/* An operation that does nothing, at whose answer the committer stays until the plug is pulled:
 * what is posted meanwhile waits. Several may be in at once. Any thread. */
struct plug {
    struct pawl__op op;
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    bool in, pulled, out;
};

void plug_post(struct stand *stand, struct plug *plug);
void plug_wait(struct plug *plug); /* until the committer is held by it */
void plug_pull(struct plug *plug); /* and waits until the committer is past it */

/* ---- suites ---- */

struct stand_test {
    const char *name;
    void (*body)(struct stand *stand);
    bool shared; /* needs a store that can be opened twice */
};
#define STAND(function)                                                                            \
    {                                                                                              \
        .name = #function, .body = (function)                                                      \
    }
#define STAND_SHARED(function)                                                                     \
    {                                                                                              \
        .name = #function, .body = (function), .shared = true                                      \
    }

/* Every test in memory and on a file, each with a fresh store that must be sound afterwards.
 * PAWL_TEST_STORES: the store to run [all]. */
int stand_run(const char *suite, const struct stand_test *tests, size_t count);

#endif
