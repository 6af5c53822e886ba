/* Shared by the measurements on PostgreSQL: a server, found through libpq's environment (PGHOST,
 * PGUSER), on which every store and floor is a separate database, and the floor. Any error ends the
 * program with a message, as in bench.h. */
#ifndef PAWL_BENCH_POSTGRES_H
#define PAWL_BENCH_POSTGRES_H

#include "bench/bench.h"

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

/* As many as a store has for writing. */
enum { PAWL__PG_FLOOR_CONNECTIONS = 3 };

/* name, what it measures. Add here and write pawl__bench_pg_NAME. */
#define PAWL__PG_BENCHES(X)                                                                        \
    X(floor, "bare libpq by itself: inserts and lifecycles, by how many connections it has")       \
    X(submit, "submits through the public API, against bare libpq")                                \
    X(lifecycle, "submits and a node with two workers, through the API, against bare libpq")       \
    X(moves, "fail, snooze, cancel, submit with a key, and a mix, posted one by one")              \
    X(flows, "a flow of 10,000 jobs and a chain of 1000, against plain jobs")                      \
    X(schedules, "10,000 schedules that are due in the same second, against plain submits")        \
    X(backlog, "cost of a claim with 10,000 and 1,000,000 waiting, beside a query that sorts")     \
    X(pickup, "from a submit on one node to its handler on another, both idle")                    \
    X(nodes, "two nodes that drain a backlog together, against one")                               \
    X(idle, "statements that a node with nothing to do sends")                                     \
    X(soak, "whole lifecycles for as long as --soak says: do claims grow slower?")

#define X(name, text) void pawl__bench_pg_##name(struct pawl__bench *bench);
PAWL__PG_BENCHES(X)
#undef X

/* ---- program.c: the server ---- */

/* A connection to the database of the store or floor `name`; NULL: to the server's own. */
PGconn *pawl__pg_dial(const char *name);
/* Runs any number of statements, or ... */
void pawl__pg_run(PGconn *conn, const char *sql);
/* ... one that returns a number. */
double pawl__pg_number(PGconn *conn, const char *sql);
/* What the server has spent so far. */
struct pawl__pg_cost {
    double wal_bytes; /* of write-ahead log */
    double cpu_us;    /* of the current processes, including those of open connections */
};
struct pawl__pg_cost pawl__pg_cost(void);

/* ---- floor.c: libpq alone ---- */

struct pawl__pgfloor;

/* `connections` connections, each with a thread of its own while it is used. */
struct pawl__pgfloor *pawl__pgfloor_open(const struct pawl__bench *bench, const char *name,
                                         int connections);
void pawl__pgfloor_close(struct pawl__pgfloor *floor);

struct pawl__pgfloor_run {
    bool lifecycle; /* insert, claim and complete; else insert alone */
    int batch;      /* rows of each in a transaction */
    int64_t for_us;
};

struct pawl__pgfloor_result {
    int64_t rows; /* that went all the way */
    double per_s;
};

struct pawl__pgfloor_result pawl__pgfloor_run(struct pawl__pgfloor *floor,
                                              const struct pawl__pgfloor_run *run);

/* ---- crowd.c: nodes that are processes of their own (pawl_bench_node) ---- */

struct pawl__pgnode {
    pid_t pid;
    FILE *talk;
};

struct pawl__pgnode pawl__pgnode_open(const struct pawl__bench *bench, const char *store,
                                      const char *name);
void pawl__pgnode_close(struct pawl__pgnode *node);
/* Sends a command to the node ("start", "stop" or "count"); returns the number of runs that it has
 * completed. */
int64_t pawl__pgnode_ask(struct pawl__pgnode *node, const char *command);
/* The next number that it prints. */
int64_t pawl__pgnode_hear(struct pawl__pgnode *node);

#endif
