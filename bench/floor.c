/* The floor: SQLite alone with the same payload and the same durability. One plain table, prepared
 * inserts, WAL, synchronous FULL, everything else at its default. */
#include "bench.h"

#include <sqlite3.h>

struct pawl__floor {
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *insert;
    sqlite3_stmt *commit;
    uint64_t next;
};

static void check(const struct pawl__floor *floor, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE) {
        pawl__bench_die("the floor failed: %s", sqlite3_errmsg(floor->db));
    }
}

static void step(const struct pawl__floor *floor, sqlite3_stmt *stmt)
{
    check(floor, sqlite3_step(stmt));
    check(floor, sqlite3_reset(stmt));
}

static void prepare(const struct pawl__floor *floor, const char *sql, sqlite3_stmt **out)
{
    check(floor, sqlite3_prepare_v3(floor->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL));
}

struct pawl__floor *pawl__floor_open(const struct pawl__bench *bench, const char *name)
{
    char path[PAWL__BENCH_PATH_BYTES];
    pawl__bench_path(bench, name, path);
    struct pawl__floor *floor = pawl__bench_calloc(1, sizeof *floor);
    check(floor,
          sqlite3_open_v2(path, &floor->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
    check(floor, sqlite3_exec(floor->db,
                              "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                              "CREATE TABLE floor (id INTEGER PRIMARY KEY, payload BLOB)",
                              NULL, NULL, NULL));
    prepare(floor, "BEGIN IMMEDIATE", &floor->begin);
    prepare(floor, "INSERT INTO floor (id, payload) VALUES (?1, ?2)", &floor->insert);
    prepare(floor, "COMMIT", &floor->commit);
    return floor;
}

void pawl__floor_close(struct pawl__floor *floor)
{
    sqlite3_finalize(floor->begin);
    sqlite3_finalize(floor->insert);
    sqlite3_finalize(floor->commit);
    check(floor, sqlite3_close(floor->db));
    free(floor);
}

static void insert_some(struct pawl__floor *floor, int64_t rows)
{
    char payload[PAWL__BENCH_PAYLOAD_BYTES];
    step(floor, floor->begin);
    for (int64_t i = 0; i < rows; i++) {
        pawl__payload(++floor->next, payload);
        check(floor, sqlite3_bind_int64(floor->insert, 1, (sqlite3_int64)floor->next));
        check(floor, sqlite3_bind_blob(floor->insert, 2, payload, sizeof payload, SQLITE_STATIC));
        step(floor, floor->insert);
    }
    step(floor, floor->commit);
}

double pawl__floor_small(struct pawl__floor *floor, int64_t us, int64_t rows)
{
    const int64_t start_us = pawl__bench_now_us();
    int64_t count = 0, now_us;
    do {
        insert_some(floor, rows);
        count += rows;
        now_us = pawl__bench_now_us();
    } while (now_us - start_us < us);
    return (double)count * 1e6 / (double)(now_us - start_us);
}

double pawl__floor_run(struct pawl__floor *floor, int64_t us)
{
    return pawl__floor_small(floor, us, PAWL__BENCH_FLOOR_ROWS);
}

double pawl__floor_rows(struct pawl__floor *floor, int64_t rows)
{
    const int64_t start_us = pawl__bench_now_us();
    for (int64_t left = rows; left > 0; left -= PAWL__BENCH_FLOOR_ROWS) {
        insert_some(floor, left < PAWL__BENCH_FLOOR_ROWS ? left : PAWL__BENCH_FLOOR_ROWS);
    }
    return (double)rows * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

double pawl__floor_single(struct pawl__floor *floor, int64_t count)
{
    const int64_t start_us = pawl__bench_now_us();
    for (int64_t i = 0; i < count; i++) {
        insert_some(floor, 1);
    }
    return (double)(pawl__bench_now_us() - start_us) / (double)count;
}
