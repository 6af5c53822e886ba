/* Claims by the number of waiting jobs, compared with the query of a scheduler that computes the
 * age of jobs at claim time: no index can provide that order, so the query reads and sorts all
 * waiting jobs. It runs on a separate table with the same rows and with the indexes that such a
 * scheduler documents. */
#include "bench/postgres/postgres.h"

enum { CLAIM_JOBS = 100, PRIORITIES = 5, PAIRS = 9, SAMPLES = 5 };

static const char table_sql[] =
    "CREATE SCHEMA sorted;"
    "CREATE TABLE sorted.job (job_id uuid PRIMARY KEY, status text NOT NULL, job_type text NOT "
    "NULL,"
    " priority integer NOT NULL, scheduled_time timestamptz NOT NULL, payload text NOT NULL,"
    " attempts integer NOT NULL, picked_by text, picked_at timestamptz);"
    "INSERT INTO sorted.job (job_id, status, job_type, priority, scheduled_time, payload, attempts)"
    " SELECT job_id, status, job_type, priority, scheduled_time, payload, 0"
    " FROM scheduler_job WHERE status = 'PENDING' AND scheduled_time <= now();"
    "CREATE INDEX ON sorted.job (job_type, scheduled_time, priority, job_id)"
    " WHERE status = 'PENDING';"
    "CREATE INDEX ON sorted.job (job_type, priority DESC, scheduled_time, job_id)"
    " WHERE status = 'PENDING';"
    "CREATE INDEX ON sorted.job (status, picked_at, picked_by);"
    "CREATE VIEW sorted.scheduler_job AS SELECT job.*,"
    " floor(extract(epoch FROM now() - scheduled_time) / 60 / 15) AS age_boost FROM sorted.job;"
    "SET search_path = sorted";

/* As published, with a number for :batchSize. */
static const char claim_sql[] = "SELECT * FROM scheduler_job\n"
                                "WHERE status = 'PENDING'\n"
                                "AND scheduled_time <= NOW()\n"
                                "ORDER BY (priority + age_boost) DESC, scheduled_time ASC\n"
                                "FOR UPDATE SKIP LOCKED\n"
                                "LIMIT 100";

static const char picked_sql[] = "UPDATE job SET status = 'RUNNING', picked_by = 'n1', picked_at = "
                                 "now(), attempts = attempts + 1"
                                 " WHERE job_id = ANY ($1::uuid[]) AND status = 'PENDING'";

static void pick(PGconn *conn, const PGresult *jobs)
{
    char ids[CLAIM_JOBS * 40] = "{";
    size_t len = 1;
    for (int i = 0; i < PQntuples(jobs); i++) {
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%s", i > 0 ? "," : "",
                                PQgetvalue(jobs, i, 0));
    }
    snprintf(ids + len, sizeof ids - len, "}");
    const char *const values[] = { ids };
    PGresult *result = PQexecParams(conn, picked_sql, 1, NULL, values, NULL, NULL, 0);
    if (strtol(PQcmdTuples(result), NULL, 10) != CLAIM_JOBS) {
        pawl__bench_die("the sorting claim failed: %s", PQerrorMessage(conn));
    }
    PQclear(result);
}

/* Microseconds per claimed job. */
static double claim(PGconn *conn)
{
    const int64_t start_us = pawl__bench_now_us();
    pawl__pg_run(conn, "BEGIN");
    PGresult *jobs = PQexec(conn, claim_sql);
    if (PQntuples(jobs) != CLAIM_JOBS) {
        pawl__bench_die("the sorting claim failed: %s", PQerrorMessage(conn));
    }
    pick(conn, jobs);
    pawl__pg_run(conn, "COMMIT");
    PQclear(jobs);
    return (double)(pawl__bench_now_us() - start_us) / CLAIM_JOBS;
}

static double cost(const char *store)
{
    double samples[SAMPLES];
    PGconn *conn = pawl__pg_dial(store);
    pawl__pg_run(conn, table_sql);
    pawl__pg_run(conn, "VACUUM ANALYZE job");
    claim(conn);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = claim(conn);
    }
    PQfinish(conn);
    return pawl__median(samples, SAMPLES);
}

static void report(const char *name, double value, double floor, const char *note)
{
    struct pawl__row row = {
        .unit = "us/job", .value = value, .floor = floor, .ratio = value / floor
    };
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.note, sizeof row.note, "%s", note);
    pawl__report_add(&row);
}

static void beside(struct pawl__bench *bench, const struct pawl__row *row)
{
    const double small = cost("small.db"), large = cost("large.db");
    report("sorting query, 1M waiting", large, small, "floor: 10k waiting; claims of 100");
    report("claim / sorting query, 1M waiting", row->value, large, "floor: the sorting query");
}

void pawl__bench_pg_backlog(struct pawl__bench *bench)
{
    const struct pawl__backlog_options options = {
        .shape = { .jobs = 1000000, .priorities = PRIORITIES },
        .text = "",
        .goal = 1.5,
        .pairs = PAIRS,
        .beside = beside,
    };
    pawl__backlog_run(bench, &options);
}
