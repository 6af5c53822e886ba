/* Several nodes on one server, each a process: how soon one starts a job that another submitted,
 * whether two have a higher throughput than one, and how many statements an idle one sends. */
#include "bench/postgres/postgres.h"

#include "base/rng.h"

#include <poll.h>

enum {
    SAMPLES_MAX = 500,
    REST_US = 10000, /* between two samples: long enough to be idle again */
    REST_MORE_US = 30000,
    FILL_CALL_JOBS = 1000,
    HELD_JOBS = 10000,
    SETTLE_US = 5000000, /* until a node that has just started is idle */
    WINDOW_US = 60000000,
    JOBS_PER_S = 100000 /* initial estimate of the nodes' throughput */
};

/* ---- the nodes ---- */

struct pawl__pgnode pawl__pgnode_open(const struct pawl__bench *bench, const char *store,
                                      const char *name)
{
    struct pawl__pgnode node;
    char program[PAWL__BENCH_PATH_BYTES + 32];
    const struct pawl__url url = pawl__bench_url(bench, store);
    snprintf(program, sizeof program, "%s/bench/pawl_bench_node", bench->build);
    const char *const argv[] = { program, url.text, name, NULL };
    node.pid = pawl__node_talk((char *const *)argv, &node.talk);
    return node;
}

void pawl__pgnode_close(struct pawl__pgnode *node)
{
    fclose(node->talk);
    pawl__node_wait(node->pid, "pawl_bench_node");
}

int64_t pawl__pgnode_hear(struct pawl__pgnode *node)
{
    char line[64];
    if (!fgets(line, sizeof line, node->talk)) pawl__bench_die("a node ended early");
    return strtoll(line, NULL, 10);
}

int64_t pawl__pgnode_ask(struct pawl__pgnode *node, const char *command)
{
    if (fprintf(node->talk, "%s\n", command) < 0) pawl__bench_die("a node does not listen: %m");
    return pawl__pgnode_hear(node);
}

/* ---- pick-up ---- */

struct pickup {
    struct pawl__pgnode runner;
    struct pawl *submitter;
    PGconn *teller, *listener; /* of the floor */
    struct pawl__rng rng;
};

static void rest(struct pickup *pickup)
{
    pawl__bench_sleep_us(REST_US + (int64_t)pawl__rng_below(&pickup->rng, REST_MORE_US));
}

static enum pawl_outcome nothing(struct pawl_task *task, void *ctx)
{
    return PAWL_OUTCOME_DONE;
}

/* Also a node, but for other types. */
static struct pawl *open_submitter(struct pawl__bench *bench)
{
    struct pawl *pawl = pawl__bench_pawl_open(bench, "node");
    const struct pawl_node_config config = { .name = "submitter", .workers = 1 };
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_handle(pawl, "other", nothing, NULL, &diag), &diag);
    pawl__bench_pawl_check(pawl_start(pawl, &config, &diag), &diag);
    return pawl;
}

static double sample_nodes(struct pickup *pickup)
{
    const struct pawl_job_spec spec = { .type = "bench.ring" };
    struct pawl_submitted out;
    struct pawl_diag diag = { 0 };
    const int64_t start_us = pawl__bench_now_us();
    pawl__bench_pawl_check(pawl_submit(pickup->submitter, &spec, &out, &diag), &diag);
    return (double)(pawl__pgnode_hear(&pickup->runner) - start_us) / 1e3;
}

static void open_floor(struct pawl__bench *bench, struct pickup *pickup)
{
    pawl__bench_url(bench, "floor");
    pickup->teller = pawl__pg_dial("floor");
    pickup->listener = pawl__pg_dial("floor");
    pawl__pg_run(pickup->teller,
                 "CREATE TABLE floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                 " taken boolean NOT NULL);"
                 "CREATE INDEX floor_ready ON floor (id) WHERE NOT taken");
    pawl__pg_run(pickup->listener, "LISTEN floor");
}

static void wait_notice(PGconn *conn)
{
    struct pollfd readable = { .fd = PQsocket(conn), .events = POLLIN };
    PGnotify *notice;
    while (!(notice = PQnotifies(conn))) {
        if (poll(&readable, 1, -1) < 0 || !PQconsumeInput(conn)) {
            pawl__bench_die("could not wait for a notice: %s", PQerrorMessage(conn));
        }
    }
    PQfreemem(notice);
}

/* The same with bare libpq: a durable row, a notice, and a durable claim. */
static double sample_floor(struct pickup *pickup)
{
    const int64_t start_us = pawl__bench_now_us();
    pawl__pg_run(pickup->teller, "INSERT INTO floor (taken) VALUES (false)");
    pawl__pg_run(pickup->teller, "NOTIFY floor");
    wait_notice(pickup->listener);
    pawl__pg_run(pickup->listener, "UPDATE floor SET taken = true WHERE id IN (SELECT id FROM floor"
                                   " WHERE NOT taken ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)");
    return (double)(pawl__bench_now_us() - start_us) / 1e3;
}

static void report_pickup(const char *what, double value, double floor, double goal)
{
    struct pawl__row row = { .unit = "ms",
                             .value = value,
                             .floor = floor,
                             .ratio = value / floor,
                             .kind = PAWL__GOAL_VALUE_BELOW,
                             .goal = goal };
    snprintf(row.name, sizeof row.name, "pick-up by another node, %s", what);
    snprintf(row.note, sizeof row.note,
             "from before the submit; floor: insert, NOTIFY, claim by bare libpq");
    pawl__report_add(&row);
}

void pawl__bench_pg_pickup(struct pawl__bench *bench)
{
    const int count = bench->quick ? 20 : SAMPLES_MAX, late = count - 1 - count / 100;
    double *waits = pawl__bench_calloc(SAMPLES_MAX, sizeof *waits);
    double *floors = pawl__bench_calloc(SAMPLES_MAX, sizeof *floors);
    struct pickup pickup = { .submitter = open_submitter(bench),
                             .runner = pawl__pgnode_open(bench, "node", "runner") };
    pawl__rng_seed(&pickup.rng, 1);
    open_floor(bench, &pickup);
    pawl__pgnode_ask(&pickup.runner, "start");
    for (int i = -1; i < count; i++) { // the first is for what is done once
        rest(&pickup);
        const double wait = sample_nodes(&pickup);
        rest(&pickup);
        const double floor = sample_floor(&pickup);
        if (i < 0) continue;
        waits[i] = wait;
        floors[i] = floor;
    }
    pawl__pgnode_close(&pickup.runner);
    pawl_stop(pickup.submitter, NULL, NULL);
    pawl_close(pickup.submitter);
    PQfinish(pickup.teller);
    PQfinish(pickup.listener);
    const double wait = pawl__median(waits, count), floor = pawl__median(floors, count);
    report_pickup("p50", wait, floor, 5); // sorted from here on
    report_pickup("p99", waits[late], floors[late], 25);
    free(waits);
    free(floors);
}

/* ---- two nodes ---- */

struct pair {
    struct pawl__bench *bench;
    struct pawl *clients;
    struct pawl__pgnode nodes[2];
    int64_t jobs_per_s; /* for which there are jobs */
};

/* Earlier measurements may have left jobs too. */
static int64_t count_waiting(struct pair *pair)
{
    const struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    struct pawl_diag diag = { 0 };
    int64_t count = 0;
    pawl__bench_pawl_check(pawl_count(pair->clients, &filter, &count, &diag), &diag);
    return count;
}

/* More than a slice can take, with what the nodes hold and finish when they are stopped. */
static void fill(struct pair *pair)
{
    const int64_t wanted = pair->jobs_per_s * pair->bench->slice_us / 1000000 + HELD_JOBS;
    const int64_t waiting = count_waiting(pair);
    if (waiting >= wanted) return;
    pawl__hands_run(&(struct pawl__hands_options){ .pawl = pair->clients,
                                                   .threads = 2,
                                                   .per_call = FILL_CALL_JOBS,
                                                   .jobs_max = wanted - waiting });
}

static int64_t ask_all(struct pair *pair, int nodes, const char *command)
{
    int64_t sum = 0;
    for (int i = 0; i < nodes; i++) {
        sum += pawl__pgnode_ask(&pair->nodes[i], command);
    }
    return sum;
}

static double drain_for_a_slice(struct pair *pair, int nodes)
{
    fill(pair);
    const int64_t start_us = pawl__bench_now_us();
    const int64_t before = ask_all(pair, nodes, "start");
    int64_t jobs = 0;
    while (jobs == 0) {
        pawl__bench_sleep_us(pair->bench->slice_us);
        jobs = ask_all(pair, nodes, "count") - before;
    }
    const double per_s = (double)jobs * 1e6 / (double)(pawl__bench_now_us() - start_us);
    ask_all(pair, nodes, "stop");
    return per_s;
}

/* A slice that ran out of jobs is invalid: it is repeated with twice as many, until they last. */
static double drain(struct pair *pair, int nodes)
{
    for (;; pair->jobs_per_s *= 2) {
        const double per_s = drain_for_a_slice(pair, nodes);
        if (count_waiting(pair)) return per_s;
    }
}

static double drain_one(void *ctx)
{
    return drain(ctx, 1);
}

static double drain_two(void *ctx)
{
    return drain(ctx, 2);
}

void pawl__bench_pg_nodes(struct pawl__bench *bench)
{
    struct pair pair = { .bench = bench,
                         .clients = pawl__bench_pawl_open(bench, "node"),
                         .jobs_per_s = JOBS_PER_S };
    const struct pawl__pairs pairs = {
        .name = "two nodes drain a backlog",
        .unit = "jobs/s",
        .floor = drain_one,
        .floor_ctx = &pair,
        .value = drain_two,
        .value_ctx = &pair,
        .kind = PAWL__GOAL_AT_LEAST,
        .goal = 1,
        .count = 8,
    };
    pair.nodes[0] = pawl__pgnode_open(bench, "node", "one");
    pair.nodes[1] = pawl__pgnode_open(bench, "node", "two");
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "floor: one; each a process with two workers");
    pawl__report_add(&row);
    pawl__pgnode_close(&pair.nodes[0]);
    pawl__pgnode_close(&pair.nodes[1]);
    pawl_close(pair.clients);
}

/* ---- nothing to do ---- */

struct asked {
    double statements, transactions;
};

static struct asked asked(PGconn *conn)
{
    struct asked asked;
    asked.statements = pawl__pg_number(
        conn, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements AS s"
              " JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = 'pawl_bench_node'");
    asked.transactions = pawl__pg_number(conn,
                                         "SELECT xact_commit + xact_rollback FROM pg_stat_database"
                                         " WHERE datname = 'pawl_bench_node'");
    return asked;
}

void pawl__bench_pg_idle(struct pawl__bench *bench)
{
    const int64_t window_us = bench->quick ? 1000000 : WINDOW_US;
    struct pawl__row row = { .unit = "/s", .kind = PAWL__GOAL_VALUE_BELOW, .goal = 1 };
    struct pawl__pgnode node = pawl__pgnode_open(bench, "node", "idle");
    PGconn *conn = pawl__pg_dial(NULL);
    pawl__pg_run(conn, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    pawl__pgnode_ask(&node, "start");
    pawl__bench_sleep_us(bench->quick ? 100000 : SETTLE_US);
    const struct asked before = asked(conn);
    if (before.statements <= 0) pawl__bench_die("the server does not count statements");
    pawl__bench_sleep_us(window_us);
    const struct asked after = asked(conn);
    pawl__pgnode_close(&node);
    PQfinish(conn);
    row.value = (after.statements - before.statements) * 1e6 / (double)window_us;
    snprintf(row.name, sizeof row.name, "idle node, statements");
    snprintf(row.note, sizeof row.note, "over %lld s; BEGIN and COMMIT count; transactions: %.2f/s",
             (long long)(window_us / 1000000),
             (after.transactions - before.transactions) * 1e6 / (double)window_us);
    pawl__report_add(&row);
}
