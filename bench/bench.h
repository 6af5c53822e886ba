/* The kit of the benchmark: settings, the raw SQLite floor, clients that load a store,
 * and the report.
 *
 * Every figure is compared with a floor taken in the same run, in slices that alternate with those
 * of the measurement, because the machine is never quiet: what counts is the median of the pairwise
 * ratios. Any error ends the program with a message; temporary files are always removed. */
#ifndef PAWL_BENCH_H
#define PAWL_BENCH_H

#include "base/id.h"
#include "store/store.h"

#include <pawl/pawl.h>

enum {
    PAWL__BENCH_PAYLOAD_BYTES = 100,
    PAWL__BENCH_FLOOR_ROWS = 1024, /* rows in a transaction of the floor */
    PAWL__BENCH_PAIRS_MAX = 64,
    PAWL__BENCH_ROWS_MAX = 512,
    PAWL__BENCH_PATH_BYTES = 1024
};

/* name, what it measures on SQLite. Add here and write pawl__bench_NAME. */
#define PAWL__BENCHES(X)                                                                           \
    X(submit, "one-job submits from 32 threads, against the floor")                                \
    X(lifecycle, "submit, claim and complete of every job, 32 threads, against the floor")         \
    X(bulk, "1,000,000 jobs in operations of 1000, against the floor")                             \
    X(single, "one client, one job per call, against one raw transaction with one insert")         \
    X(backlog, "cost of a claim with 10,000 waiting, 1,000,000, and 10,000,000 (--full)")          \
    X(moves, "fail, snooze, cancel, submit with a key, and a mix, posted one by one")              \
    X(flows, "a flow of 10,000 jobs and a chain of 1000, against plain jobs")                      \
    X(schedules, "10,000 schedules that are due in the same second, against plain submits")        \
    X(retention, "the lifecycle with archive and purge beside it, against without")                \
    X(latency, "time of a blocking submit under the load of the other threads")                    \
    X(size, "bytes of database per finished job, and per archived one")                            \
    X(api_submit, "submits through the public API from 32 threads, against the floor")             \
    X(api_lifecycle, "submits and a node with two workers, through the API, against the floor")    \
    X(drain, "a node with two workers and 1,000,000 waiting jobs, against the floor")              \
    X(pickup, "from a submit to its handler on an idle node, beside a wake-up through a pipe")     \
    X(exec, "commands as handlers, against a bare loop that starts the same command")              \
    X(idle, "CPU and memory of a node with 1,000,000 scheduled jobs and nothing to do")            \
    X(http_submit, "one-job submits over HTTP, 64 connections, against a bare echo")               \
    X(http_work, "fetch and ack over HTTP, 64 connections, against a bare echo")                   \
    X(http_batch, "submits of 100 jobs over HTTP, against those of one")                           \
    X(http_pickup, "from a submit to a fetch that waits, over HTTP, on an idle server")            \
    X(http_idle, "memory of a connection that is kept open and idle")

struct pawl__bench {
    const char *dir;   /* temporary, on the disk that is measured */
    const char *build; /* the build directory */
    const char *pawl;  /* the command */
    bool quick;        /* only checks that it works; the figures mean nothing */
    bool full;
    int64_t slice_us;
    int64_t soak_us; /* 0: not requested */
    int pairs;
    int threads;
    struct pawl__idgen ids;
};

#define X(name, text) void pawl__bench_##name(struct pawl__bench *bench);
PAWL__BENCHES(X)
#undef X

/* ---- sqlite.c, postgres/program.c: each program has one of them, which says what is measured and
 *      where stores are kept ---- */

struct pawl__measurement {
    const char *name;
    const char *text;
    void (*run)(struct pawl__bench *bench);
};

struct pawl__program {
    const char *about; /* for --help */
    bool server;       /* the stores are on a server: no files, other options */
    const char *json;  /* file of results, in the build directory */
    const struct pawl__measurement *list;
    int count;
};
extern const struct pawl__program pawl__program;

struct pawl__url {
    char text[PAWL__BENCH_PATH_BYTES + 8];
};
/* The URL of the store `name`, which need not exist yet. */
struct pawl__url pawl__bench_url(const struct pawl__bench *bench, const char *name);
/* Deletes a closed store. */
void pawl__bench_forget(const struct pawl__bench *bench, const char *name);
/* Deletes all of them, so that the disk does not fill up. */
void pawl__bench_forget_all(const struct pawl__bench *bench);

/* ---- bench.c ---- */

/* Ends the program. Any thread. */
void pawl__bench_die(const char *format, ...) PAWL_PRINTF(1, 2) __attribute__((noreturn));
/* One line on standard error. */
void pawl__bench_say(const char *format, ...) PAWL_PRINTF(1, 2);
int64_t pawl__bench_now_us(void);
int64_t pawl__bench_clock_us(clockid_t clock);
void pawl__bench_path(const struct pawl__bench *bench, const char *name,
                      char out[PAWL__BENCH_PATH_BYTES]);
/* Bytes that this process has written so far; 0 if the system does not report them. */
int64_t pawl__bench_written(void);
/* Empties the temporary directory. */
void pawl__bench_remove_files(void);
void *pawl__bench_calloc(size_t count, size_t bytes);

/* ---- job.c: jobs and stores ---- */

/* The n-th payload: a JSON array of exactly PAWL__BENCH_PAYLOAD_BYTES, the same for floor and
 * store. */
void pawl__payload(uint64_t n, char out[PAWL__BENCH_PAYLOAD_BYTES]);

/* A new job with room for everything it points to; must not move once created. */
struct pawl__bench_job {
    struct pawl__new_job job;
    struct pawl_job_spec spec;
    char args[PAWL__BENCH_PAYLOAD_BYTES];
};
void pawl__bench_job_init(struct pawl__bench_job *job);

struct pawl__store *pawl__bench_open(const struct pawl__bench *bench, const char *name);
/* Ends the program if `op` failed. */
void pawl__bench_check(const struct pawl__op *op);
/* Bytes of the database and its WAL. */
int64_t pawl__bench_bytes(const struct pawl__bench *bench, const char *name);

/* How the jobs of a bulk submit are distributed. All zeros: all in "default", all alike. */
struct pawl__bulk {
    int64_t jobs;
    int queues;     /* above 1: round robin to "q00", "q01", ... */
    int priorities; /* above 1: drawn from 0 .. priorities - 1 */
};
/* Operations of 1000 jobs, a few posted ahead. */
void pawl__bulk_submit(struct pawl__bench *bench, struct pawl__store *store,
                       const struct pawl__bulk *bulk);
const char *pawl__bulk_queue(int n); /* "q00" .. "q31" */

/* ---- floor.c: SQLite alone ---- */

struct pawl__floor;
struct pawl__floor *pawl__floor_open(const struct pawl__bench *bench, const char *name);
void pawl__floor_close(struct pawl__floor *floor);
/* Insert for at least `us`, whole transactions of 1024 rows; rows per second. */
double pawl__floor_run(struct pawl__floor *floor, int64_t us);
/* The same with the given number of rows per transaction. */
double pawl__floor_small(struct pawl__floor *floor, int64_t us, int64_t rows);
/* Insert `rows`; rows per second. */
double pawl__floor_rows(struct pawl__floor *floor, int64_t rows);
/* `count` transactions with one insert each; microseconds per transaction. */
double pawl__floor_single(struct pawl__floor *floor, int64_t count);

/* ---- clients.c: many threads that keep a store busy ---- */

struct pawl__clients;

struct pawl__clients_options {
    struct pawl__store *store;
    bool lifecycle;   /* also claim and complete the submitted jobs */
    int threads;      /* 0: as many as the benchmark's setting */
    bool confined;    /* excludes them from one CPU, if there are several */
    int64_t for_us;   /* submit this long, or ... */
    int64_t jobs_max; /* ... this many; then completes what was started */
};

struct pawl__clients_result {
    int64_t jobs; /* that were completed */
    int64_t us;
    int64_t committer_us; /* CPU time of the committer's thread */
    double per_s;
};

/* One for many runs. Free it after its store was closed: the committer may still be
 * returning from a callback when the run is over. */
struct pawl__clients *pawl__clients_new(struct pawl__bench *bench);
void pawl__clients_free(struct pawl__clients *clients);
struct pawl__clients_result pawl__clients_run(struct pawl__clients *clients,
                                              const struct pawl__clients_options *options);

/* ---- hands.c: many threads that use the public API ---- */

struct pawl *pawl__bench_pawl_open(const struct pawl__bench *bench, const char *name);
/* Ends the program if a call failed. */
void pawl__bench_pawl_check(enum pawl_err err, const struct pawl_diag *diag);
void pawl__bench_sleep_us(int64_t us);

struct pawl__hands_options {
    struct pawl *pawl;
    int threads;
    int per_call;                   /* jobs in a call */
    bool post;                      /* and do not wait for the answer: up to 64 calls under way */
    int64_t for_us;                 /* submit this long, or ... */
    int64_t jobs_max;               /* ... this many */
    int64_t delay_ms;               /* until the jobs are due */
    const _Atomic int64_t *handled; /* by the workers; NULL: does not wait for them */
    int64_t ahead_max;              /* of them */
};

/* Returns the number of submitted jobs. */
int64_t pawl__hands_run(const struct pawl__hands_options *options);

/* ---- child.c: processes that are measured ---- */

/* Its output goes to `output`; -1: discarded. */
pid_t pawl__child_start(char *const *argv, int output);
/* Ends the program if the child failed. */
void pawl__child_wait(pid_t pid, const char *what);
/* The same for children that must not outlive the program: two at a time. */
pid_t pawl__node_start(char *const *argv, int output);
/* One that takes commands on its standard input and answers on its standard output. The caller
 * closes `*out`. */
pid_t pawl__node_talk(char *const *argv, FILE **out);
void pawl__node_wait(pid_t pid, const char *what);
void pawl__node_stop(pid_t pid, const char *what);
/* Before the program ends early. Async-signal-safe. */
void pawl__bench_kill_nodes(void);
int64_t pawl__child_kib(pid_t pid);     /* resident memory */
clockid_t pawl__child_clock(pid_t pid); /* CPU time of all its threads */

/* ---- report.c ---- */

/* "At least" and "at most" apply to the ratio, "below" to the value itself. */
enum pawl__goal {
    PAWL__GOAL_NONE,
    PAWL__GOAL_AT_LEAST,
    PAWL__GOAL_AT_MOST,
    PAWL__GOAL_VALUE_BELOW
};

struct pawl__row {
    char name[48];
    const char *unit;
    double value;
    double floor; /* 0: there is none */
    double ratio; /* of value to floor */
    double ratio_low, ratio_high;
    enum pawl__goal kind;
    double goal;
    bool met;
    char note[128];
};

/* Takes a copy; decides `met`. */
void pawl__report_add(const struct pawl__row *row);
/* Sizes and times of the commits of a store since it was opened. */
void pawl__report_commits(struct pawl__store *store, const char *load);
void pawl__report_print(FILE *out);
void pawl__report_json(const char *path);

/* The result of one slice: a rate, or a cost. */
typedef double pawl__slice_fn(void *ctx);

struct pawl__pairs {
    const char *name;
    const char *unit;
    pawl__slice_fn *floor;
    void *floor_ctx;
    pawl__slice_fn *value;
    void *value_ctx;
    enum pawl__goal kind;
    double goal;
    int count; /* 0: the setting's */
};

/* Runs floor and value alternately, each pair in the opposite order to the one before, and makes a
 * row of the medians. */
struct pawl__row pawl__pairs_run(const struct pawl__bench *bench, const struct pawl__pairs *pairs);
double pawl__median(double *values, int count); /* sorts them */

/* ---- api.c: a node in this process, and its clients ---- */

struct pawl__api {
    struct pawl__bench *bench;
    struct pawl *pawl;
    int per_call;  /* jobs in a call */
    bool post;     /* and do not wait for the answer */
    int64_t ahead; /* jobs submitted and not handled yet, at most; 0: a few thousand */
    _Atomic int64_t handled;
};

/* A handler that only counts. */
void pawl__api_handle(struct pawl__api *api);
/* A node with two workers. */
void pawl__api_start(struct pawl__api *api);
/* Runs of this process that ended well. */
int64_t pawl__api_completed(struct pawl__api *api);
void pawl__api_wait(struct pawl__api *api, int64_t completed);
/* A slice of submits, or of submits that the node runs; jobs per second. */
double pawl__api_submit(struct pawl__api *api);
double pawl__api_lifecycle(struct pawl__api *api);
/* Pairs of jobs per second; the row's note describes the commits. */
struct pawl__row pawl__api_pairs(struct pawl__api *api, const struct pawl__pairs *pairs,
                                 const char *note);

/* ---- moves.c: fail, snooze, cancel, keyed submits and a mix ---- */

/* CPU that the store's server has used so far, in microseconds. */
typedef double pawl__server_us_fn(void);

/* `server_us` is NULL if there is no server. */
void pawl__moves_run(struct pawl__bench *bench, pawl__server_us_fn *server_us);

/* ---- flows.c: flows beside plain jobs ---- */

/* `server_us` is NULL if there is no server. */
void pawl__flows_run(struct pawl__bench *bench, pawl__server_us_fn *server_us);

/* ---- schedules.c: firings beside plain submits ---- */

/* `server_us` is NULL if there is no server. */
void pawl__schedules_run(struct pawl__bench *bench, pawl__server_us_fn *server_us);

/* ---- backlog.c: the cost of a claim by how many jobs wait ---- */

struct pawl__backlog_options {
    struct pawl__bulk shape; /* of the large store; the small one has 10,000 jobs */
    const char *text;        /* description for the row */
    double goal;
    int pairs;
    bool grouped; /* also with many claims in a commit */
    /* Called while both stores ("small.db", "large.db") exist; `row` is that of single claims. */
    void (*beside)(struct pawl__bench *bench, const struct pawl__row *row);
};

void pawl__backlog_run(struct pawl__bench *bench, const struct pawl__backlog_options *options);

#endif
