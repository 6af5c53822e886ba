/* Whole lifecycles at full rate for a long time: do claims become slower as dead rows accumulate?
 *
 * In addition to the clients and their node, a second client with its own connection claims 100
 * jobs from time to time and completes them; the duration of its claims is evaluated minute by
 * minute. So that there are always jobs to claim, the clients start far ahead of the node, and if
 * they cannot keep that distance the node waits for them. */
#include "bench/postgres/postgres.h"

#include <pawl/post.h>
#include <pawl/remote.h>

#include <stdatomic.h>

enum {
    CLAIM_JOBS = 100,
    AHEAD_JOBS = 20000,       /* or ... */
    AHEAD_JOBS_QUICK = 10000, /* half of it is more than a node holds */
    FILL_CALL_JOBS = 1000,
    LOOK_RUNS = 64,
    LOOK_US = 1000,
    PROBE_REST_US = 200000,
    PATIENCE_US = 30000000, /* for a claim that finds as many as it requests */
    PERIOD_US = 60000000,
    PERIODS_MIN = 3, /* a shorter soak has shorter periods */
    SAMPLES_MAX = 10000
};

struct soak {
    struct pawl__api api; /* the load */
    struct pawl *prober;
    const char *period; /* name of a period */
    int64_t ahead;      /* at most this many jobs are the clients ahead of the node; at least
                           half */
    _Atomic bool over;  /* measurement is over */
    _Atomic int64_t unanswered;
    double samples[SAMPLES_MAX]; /* of this period: ms for a claim */
    int count;
};

struct period {
    double p50, p99, per_s;
};

/* ---- the load ---- */

static int64_t waiting(const struct soak *soak)
{
    struct pawl_counters counters;
    pawl_counters_get(soak->api.pawl, &counters);
    return counters.submitted - atomic_load(&soak->api.handled) - soak->ahead;
}

static enum pawl_outcome keep_behind(struct pawl_task *task, void *ctx)
{
    struct soak *soak = ctx;
    const int64_t handled = atomic_fetch_add(&soak->api.handled, 1) + 1;
    while (handled % LOOK_RUNS == 0 && waiting(soak) < soak->ahead / 2 &&
           !atomic_load(&soak->over)) {
        pawl__bench_sleep_us(LOOK_US);
    }
    return PAWL_OUTCOME_DONE;
}

static void start(struct soak *soak)
{
    struct pawl_diag diag = { 0 };
    pawl__hands_run(&(struct pawl__hands_options){ .pawl = soak->api.pawl,
                                                   .threads = 2,
                                                   .per_call = FILL_CALL_JOBS,
                                                   .jobs_max = soak->ahead });
    atomic_store(&soak->api.handled, -soak->ahead); // the clients are already ahead
    pawl__bench_pawl_check(pawl_handle(soak->api.pawl, "mail.send", keep_behind, soak, &diag),
                           &diag);
    pawl__api_start(&soak->api);
}

static void *load(void *arg)
{
    struct soak *soak = arg;
    pawl__hands_run(&(struct pawl__hands_options){ .pawl = soak->api.pawl,
                                                   .threads = soak->api.bench->threads,
                                                   .per_call = 1,
                                                   .post = true,
                                                   .for_us = soak->api.bench->soak_us,
                                                   .handled = &soak->api.handled,
                                                   .ahead_max = soak->ahead });
    return NULL;
}

/* ---- the prober ---- */

static void answered(struct pawl_answer *taken_answer)
{
    struct soak *soak = taken_answer->ctx;
    pawl__bench_pawl_check(taken_answer->err, &taken_answer->diag);
    pawl_answer_free(taken_answer);
    atomic_fetch_sub(&soak->unanswered, 1);
}

static void complete(struct soak *soak, const struct pawl_jobs *jobs)
{
    struct pawl_diag diag = { 0 };
    atomic_store(&soak->unanswered, (int64_t)jobs->count);
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pawl_run run = { .id = jobs->at[i].id, .run = jobs->at[i].run };
        pawl__bench_pawl_check(
            pawl_post_complete(soak->prober, &run, (struct pawl_span){ 0 }, answered, soak, &diag),
            &diag);
    }
    while (atomic_load(&soak->unanswered) > 0) {
        pawl__bench_sleep_us(1000);
    }
    atomic_fetch_add(&soak->api.handled, (int64_t)jobs->count);
}

static void probe(struct soak *soak)
{
    static const char *const queue = "default";
    const struct pawl_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = CLAIM_JOBS, .worker = "prober"
    };
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag = { 0 };
    const int64_t start_us = pawl__bench_now_us();
    pawl__bench_pawl_check(pawl_claim(soak->prober, &claim, &jobs, &diag), &diag);
    const double ms = (double)(pawl__bench_now_us() - start_us) / 1e3;
    if (jobs.count == CLAIM_JOBS && soak->count < SAMPLES_MAX) soak->samples[soak->count++] = ms;
    complete(soak, &jobs);
    pawl_jobs_release(&jobs);
}

/* ---- the report ---- */

/* Sizes of all tables and of the one with the most dead rows. */
static void describe(char *out, size_t bytes)
{
    PGconn *conn = pawl__pg_dial("soak");
    PGresult *result =
        PQexec(conn, "SELECT relname, n_dead_tup, pg_relation_size(relid) / 1e6,"
                     " pg_indexes_size(relid) / 1e6, sum(pg_relation_size(relid)) OVER () / 1e6,"
                     " sum(pg_indexes_size(relid)) OVER () / 1e6, sum(n_dead_tup) OVER ()"
                     " FROM pg_stat_user_tables ORDER BY n_dead_tup DESC, relid LIMIT 1");
    if (PQntuples(result) != 1) pawl__bench_die("no sizes: %s", PQerrorMessage(conn));
    snprintf(out, bytes, "tables %.0f MB, indexes %.0f MB, dead %s (%s %s, %.0f + %.0f MB)",
             strtod(PQgetvalue(result, 0, 4), NULL), strtod(PQgetvalue(result, 0, 5), NULL),
             PQgetvalue(result, 0, 6), PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1),
             strtod(PQgetvalue(result, 0, 2), NULL), strtod(PQgetvalue(result, 0, 3), NULL));
    PQclear(result);
    PQfinish(conn);
}

static struct period run_period(struct soak *soak, int number, int64_t until_us)
{
    struct pawl__row row = { .unit = "ms" };
    struct period period;
    char sizes[96];
    const int64_t start_us = pawl__bench_now_us(), before = atomic_load(&soak->api.handled);
    soak->count = 0;
    do {
        probe(soak);
        pawl__bench_sleep_us(PROBE_REST_US);
    } while (pawl__bench_now_us() < until_us + (soak->count ? 0 : PATIENCE_US));
    if (soak->count == 0) pawl__bench_die("no claim found %d jobs", CLAIM_JOBS);
    period.p50 = pawl__median(soak->samples, soak->count); // sorted from here on
    period.p99 = soak->samples[soak->count - 1 - soak->count / 100];
    period.per_s = (double)(atomic_load(&soak->api.handled) - before) * 1e6 /
                   (double)(pawl__bench_now_us() - start_us);
    describe(sizes, sizeof sizes);
    row.value = period.p50;
    snprintf(row.name, sizeof row.name, "soak, %s %d, claim of 100, p50", soak->period, number);
    snprintf(row.note, sizeof row.note, "p99 %.1f ms; %.0f jobs/s; %s", period.p99, period.per_s,
             sizes);
    pawl__report_add(&row);
    return period;
}

static void compare(const struct soak *soak, const char *what, const char *unit, double last,
                    double second, double goal)
{
    struct pawl__row row = { .unit = unit, .value = last, .floor = second, .goal = goal };
    row.ratio = last / second;
    if (goal > 0) row.kind = PAWL__GOAL_AT_MOST;
    snprintf(row.name, sizeof row.name, "soak, %s, last / second %s", what, soak->period);
    snprintf(row.note, sizeof row.note, "floor: the second %s", soak->period);
    pawl__report_add(&row);
}

void pawl__bench_pg_soak(struct pawl__bench *bench)
{
    if (bench->soak_us == 0) return;
    const bool brief = bench->soak_us < PERIODS_MIN * (int64_t)PERIOD_US;
    const int64_t period_us = brief ? bench->soak_us / PERIODS_MIN : PERIOD_US;
    const int periods = (int)(bench->soak_us / period_us);
    struct soak *soak = pawl__bench_calloc(1, sizeof *soak);
    struct period second = { 0 }, last = { 0 };
    pthread_t clients;
    soak->period = brief ? "third" : "minute";
    soak->api.bench = bench;
    soak->api.pawl = pawl__bench_pawl_open(bench, "soak");
    soak->prober = pawl__bench_pawl_open(bench, "soak");
    soak->ahead = bench->quick ? AHEAD_JOBS_QUICK : AHEAD_JOBS;
    start(soak);
    const int64_t start_us = pawl__bench_now_us();
    if (pthread_create(&clients, NULL, load, soak)) pawl__bench_die("could not start a thread");
    for (int i = 1; i <= periods; i++) {
        last = run_period(soak, i, start_us + i * period_us);
        if (i == 2) second = last;
    }
    atomic_store(&soak->over, true);
    pthread_join(clients, NULL);
    compare(soak, "claim p50", "ms", last.p50, second.p50, 1.3);
    compare(soak, "claim p99", "ms", last.p99, second.p99, 0);
    compare(soak, "rate", "jobs/s", last.per_s, second.per_s, 0);
    pawl_stop(soak->api.pawl, NULL, NULL);
    pawl_close(soak->prober);
    pawl_close(soak->api.pawl);
    free(soak);
}
