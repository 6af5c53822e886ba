/* The floor: the database server with the same payload and the same durability, through bare libpq.
 * One plain table, and for each batch one prepared statement with arrays as binary parameters; a
 * transaction's statements are sent together and end with a Sync, which commits them, so that a
 * transaction is one round trip.
 *
 * 1. Each step of a lifecycle is durable before the next begins, as it must be for a worker: a
 *    transaction inserts a batch, claims one, and completes the jobs that the previous transaction
 *    claimed.
 * 2. A claim is fenced (run) and can lapse (lease_until_ms). A completion changes no indexed
 *    column, so that it can stay on the row's page and touches no index. Pages are filled to a
 *    third for that: of 30, 50, 70 and 100 per cent that is the cheapest, by a third or more.
 * 3. Plans are forced to be those for a large table from the first row on. */
#include "bench/postgres/postgres.h"

#include "base/buf.h"
#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>

enum { CONNECTIONS_MAX = 8, LEASE_MS = 30000, INT8_OID = 20, TEXT_OID = 25 };

static const char table_sql[] =
    "CREATE TABLE floor (id bigint PRIMARY KEY, rank bigint NOT NULL, run bigint NOT NULL,"
    " lease_until_ms bigint, ended_at_ms bigint, payload text NOT NULL) WITH (fillfactor = 30);"
    "CREATE INDEX floor_ready ON floor (rank, id) WHERE lease_until_ms IS NULL";

static const char plan_sql[] =
    "SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
    "SET enable_bitmapscan = off; SET enable_sort = off; SET enable_hashjoin = off;"
    "SET enable_mergejoin = off";

static const char insert_sql[] = "INSERT INTO floor (id, rank, run, payload)"
                                 " SELECT new.id, new.id, 0, new.payload"
                                 " FROM unnest($1::bigint[], $2::text[]) AS new (id, payload)";

static const char claim_sql[] =
    "UPDATE floor SET run = run + 1, lease_until_ms = $2::bigint"
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM floor WHERE lease_until_ms IS NULL"
    " ORDER BY rank, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))"
    " RETURNING id, run, payload";

static const char complete_sql[] =
    "UPDATE floor SET ended_at_ms = $3::bigint"
    " FROM unnest($1::bigint[], $2::bigint[]) AS done (id, run)"
    " WHERE floor.id = done.id AND floor.run = done.run AND floor.ended_at_ms IS NULL";

/* One connection and what it sends. */
struct lane {
    struct pawl__pgfloor *floor;
    const struct pawl__pgfloor_run *run;
    int64_t until_us;
    pthread_t thread;
    PGconn *conn;
    struct pawl__buf ids, payloads; /* to insert */
    struct pawl__buf claimed, runs; /* to complete */
    int claimed_count;
    int64_t finished;
};

struct pawl__pgfloor {
    int connections;
    _Atomic int64_t next; /* id */
    struct lane lanes[CONNECTIONS_MAX];
};

/* ---- parameters and answers ---- */

static void add_int(struct pawl__buf *buf, uint64_t value, int bytes)
{
    char out[8];
    for (int i = 0; i < bytes; i++) {
        out[i] = (char)(value >> (8 * (bytes - 1 - i)));
    }
    pawl__buf_add(buf, out, (size_t)bytes);
}

/* A one-dimensional array with lower bound 1 and without NULLs. */
static void begin_array(struct pawl__buf *buf, uint64_t type, int count)
{
    pawl__buf_clear(buf);
    add_int(buf, count > 0, 4);
    add_int(buf, 0, 4);
    add_int(buf, type, 4);
    if (count == 0) return;
    add_int(buf, (uint64_t)count, 4);
    add_int(buf, 1, 4);
}

static void add_element(struct pawl__buf *buf, uint64_t value)
{
    add_int(buf, 8, 4);
    add_int(buf, value, 8);
}

static int64_t get_int(const PGresult *result, int row, int column)
{
    const uint8_t *at = (const uint8_t *)PQgetvalue(result, row, column);
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | at[i];
    }
    return (int64_t)value;
}

static void send(struct lane *lane, const char *statement, const struct pawl__buf *params,
                 int count)
{
    const char *values[3];
    int lengths[3], formats[3] = { 1, 1, 1 };
    for (int i = 0; i < count; i++) {
        if (params[i].failed) pawl__bench_die("out of memory");
        values[i] = params[i].at;
        lengths[i] = (int)params[i].len;
    }
    if (!PQsendQueryPrepared(lane->conn, statement, count, values, lengths, formats, 1)) {
        pawl__bench_die("the floor failed: %s", PQerrorMessage(lane->conn));
    }
}

static PGresult *receive(struct lane *lane, ExecStatusType wanted)
{
    PGresult *result = PQgetResult(lane->conn);
    if (PQresultStatus(result) != wanted) {
        pawl__bench_die("the floor failed: %s", PQerrorMessage(lane->conn));
    }
    if (wanted != PGRES_PIPELINE_SYNC && PQgetResult(lane->conn)) {
        pawl__bench_die("the floor had one answer too many");
    }
    return result;
}

/* ---- the statements ---- */

static void send_insert(struct lane *lane)
{
    char payload[PAWL__BENCH_PAYLOAD_BYTES];
    const int count = lane->run->batch;
    int64_t id = atomic_fetch_add(&lane->floor->next, count);
    begin_array(&lane->ids, INT8_OID, count);
    begin_array(&lane->payloads, TEXT_OID, count);
    for (int i = 0; i < count; i++, id++) {
        add_element(&lane->ids, (uint64_t)id);
        pawl__payload((uint64_t)id, payload);
        add_int(&lane->payloads, sizeof payload, 4);
        pawl__buf_add(&lane->payloads, payload, sizeof payload);
    }
    send(lane, "insert", (struct pawl__buf[]){ lane->ids, lane->payloads }, 2);
}

static void send_claim(struct lane *lane)
{
    struct pawl__buf limit = { 0 }, lease = { 0 };
    add_int(&limit, (uint64_t)lane->run->batch, 8);
    add_int(&lease, (uint64_t)(pawl__clock_wall_ms(&pawl__clock_system) + LEASE_MS), 8);
    send(lane, "claim", (struct pawl__buf[]){ limit, lease }, 2);
    pawl__buf_release(&limit);
    pawl__buf_release(&lease);
}

static void send_complete(struct lane *lane)
{
    struct pawl__buf now = { 0 };
    add_int(&now, (uint64_t)pawl__clock_wall_ms(&pawl__clock_system), 8);
    send(lane, "complete", (struct pawl__buf[]){ lane->claimed, lane->runs, now }, 3);
    pawl__buf_release(&now);
}

static void sync_up(struct lane *lane)
{
    if (!PQpipelineSync(lane->conn)) {
        pawl__bench_die("the floor failed: %s", PQerrorMessage(lane->conn));
    }
}

static void take_completed(struct lane *lane)
{
    PGresult *result = receive(lane, PGRES_COMMAND_OK);
    if (strtol(PQcmdTuples(result), NULL, 10) != lane->claimed_count) {
        pawl__bench_die("the floor lost a row: %s of %d were completed", PQcmdTuples(result),
                        lane->claimed_count);
    }
    PQclear(result);
    lane->finished += lane->claimed_count;
}

static void take_claimed(struct lane *lane)
{
    PGresult *result = receive(lane, PGRES_TUPLES_OK);
    lane->claimed_count = PQntuples(result);
    begin_array(&lane->claimed, INT8_OID, lane->claimed_count);
    begin_array(&lane->runs, INT8_OID, lane->claimed_count);
    for (int i = 0; i < lane->claimed_count; i++) {
        assert(PQgetlength(result, i, 2) == PAWL__BENCH_PAYLOAD_BYTES);
        add_element(&lane->claimed, (uint64_t)get_int(result, i, 0));
        add_element(&lane->runs, (uint64_t)get_int(result, i, 1));
    }
    PQclear(result);
}

/* ---- transactions ---- */

static void insert_turn(struct lane *lane)
{
    send_insert(lane);
    sync_up(lane);
    PQclear(receive(lane, PGRES_COMMAND_OK));
    PQclear(receive(lane, PGRES_PIPELINE_SYNC));
    lane->finished += lane->run->batch;
}

/* Statements with large parameters are sent before those with large results: otherwise both sides
 * could wait for the other to read. */
static void lifecycle_turn(struct lane *lane)
{
    send_complete(lane);
    send_insert(lane);
    send_claim(lane);
    sync_up(lane);
    take_completed(lane);
    PQclear(receive(lane, PGRES_COMMAND_OK));
    take_claimed(lane);
    PQclear(receive(lane, PGRES_PIPELINE_SYNC));
}

static void last_turn(struct lane *lane)
{
    send_complete(lane);
    sync_up(lane);
    take_completed(lane);
    PQclear(receive(lane, PGRES_PIPELINE_SYNC));
    lane->claimed_count = 0;
    begin_array(&lane->claimed, INT8_OID, 0);
    begin_array(&lane->runs, INT8_OID, 0);
}

static void *work(void *arg)
{
    struct lane *lane = arg;
    do {
        if (lane->run->lifecycle) {
            lifecycle_turn(lane);
        } else {
            insert_turn(lane);
        }
    } while (pawl__bench_now_us() < lane->until_us);
    if (lane->run->lifecycle) last_turn(lane);
    return NULL;
}

struct pawl__pgfloor_result pawl__pgfloor_run(struct pawl__pgfloor *floor,
                                              const struct pawl__pgfloor_run *run)
{
    struct pawl__pgfloor_result result = { 0 };
    const int64_t start_us = pawl__bench_now_us();
    for (int i = 0; i < floor->connections; i++) {
        struct lane *lane = &floor->lanes[i];
        lane->run = run;
        lane->until_us = start_us + run->for_us;
        lane->finished = 0;
        if (pthread_create(&lane->thread, NULL, work, lane)) {
            pawl__bench_die("could not start a thread");
        }
    }
    for (int i = 0; i < floor->connections; i++) {
        pthread_join(floor->lanes[i].thread, NULL);
        result.rows += floor->lanes[i].finished;
    }
    result.per_s = (double)result.rows * 1e6 / (double)(pawl__bench_now_us() - start_us);
    return result;
}

/* ---- opening ---- */

static void prepare(PGconn *conn, const char *name, const char *sql)
{
    PGresult *result = PQprepare(conn, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        pawl__bench_die("\"%s\" failed: %s", sql, PQerrorMessage(conn));
    }
    PQclear(result);
}

static void lane_open(struct pawl__pgfloor *floor, struct lane *lane, const char *name)
{
    lane->floor = floor;
    lane->conn = pawl__pg_dial(name);
    pawl__pg_run(lane->conn, plan_sql);
    prepare(lane->conn, "insert", insert_sql);
    prepare(lane->conn, "claim", claim_sql);
    prepare(lane->conn, "complete", complete_sql);
    if (!PQenterPipelineMode(lane->conn)) pawl__bench_die("could not enter pipeline mode");
    begin_array(&lane->claimed, INT8_OID, 0);
    begin_array(&lane->runs, INT8_OID, 0);
}

struct pawl__pgfloor *pawl__pgfloor_open(const struct pawl__bench *bench, const char *name,
                                         int connections)
{
    assert(connections > 0 && connections <= CONNECTIONS_MAX);
    struct pawl__pgfloor *floor = pawl__bench_calloc(1, sizeof *floor);
    floor->connections = connections;
    pawl__bench_url(bench, name);
    PGconn *conn = pawl__pg_dial(name);
    pawl__pg_run(conn, table_sql);
    PQfinish(conn);
    for (int i = 0; i < connections; i++) {
        lane_open(floor, &floor->lanes[i], name);
    }
    return floor;
}

void pawl__pgfloor_close(struct pawl__pgfloor *floor)
{
    for (int i = 0; i < floor->connections; i++) {
        struct lane *lane = &floor->lanes[i];
        PQfinish(lane->conn);
        pawl__buf_release(&lane->ids);
        pawl__buf_release(&lane->payloads);
        pawl__buf_release(&lane->claimed);
        pawl__buf_release(&lane->runs);
    }
    free(floor);
}
