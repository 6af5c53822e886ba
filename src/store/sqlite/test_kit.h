/* What this folder's tests share: a backend whose committer is the test itself, with a clock that
 * is moved by hand, operations in one line, and the database asked directly. Not part of the
 * library. */
#ifndef PAWL_STORE_SQLITE_TEST_KIT_H
#define PAWL_STORE_SQLITE_TEST_KIT_H

#include "base/buf.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_kit.h"

#define KIT_NOW_MS INT64_C(1774951205123) /* 2026-03-31T10:00:05.123Z */
#define KIT_LEASE_MS INT64_C(30000)
#define KIT_SEED 7

enum { KIT_PATH_BYTES = 256, KIT_URL_BYTES = KIT_PATH_BYTES + 16 };

struct kit {
    _Atomic int64_t now_ms; /* moved by the test, read by any thread */
    struct pawl_clock clock;
    struct pawl_config config;
    char folder[KIT_PATH_BYTES]; /* "": in memory, or somebody else's */
    char path[KIT_PATH_BYTES];
    char url[KIT_URL_BYTES];
    struct pawl__backend *sq;
    struct pawl_diag diag;
    struct pawl__arena arena; /* what operations are made of and give, until the kit is closed */
    uint32_t id_count;
};

/* For what must succeed; shows the diagnosis otherwise. */
#define kit_ok(kit, call)                                                                          \
    do {                                                                                           \
        enum pawl_err kit_err = (call);                                                            \
        if (kit_err) print_error("%s: %s\n", #call, (kit)->diag.text);                             \
        assert_int_equal(kit_err, PAWL_OK);                                                        \
    } while (0)

static inline int64_t kit_wall_ms(void *ctx)
{
    return ((struct kit *)ctx)->now_ms;
}

static inline int64_t kit_mono_us(void *ctx)
{
    return ((struct kit *)ctx)->now_ms * 1000;
}

/* ---- folders ---- */

static inline void kit_make_folder(char path[KIT_PATH_BYTES])
{
    const char *top = getenv("TMPDIR");
    snprintf(path, KIT_PATH_BYTES, "%s/pawl-sqlite-XXXXXX", top && *top ? top : "/tmp");
    assert_non_null(mkdtemp(path));
}

/* With the files in it. */
static inline void kit_remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}

/* The size of a file; -1: there is none. */
static inline int64_t kit_file_bytes(const char *path, const char *suffix)
{
    char full[KIT_PATH_BYTES + 64];
    struct stat st;
    snprintf(full, sizeof full, "%s%s", path, suffix);
    return stat(full, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* ---- opening ---- */

/* A kit without a store so far; change kit->config, then kit_open. NULL: in memory. */
static inline void kit_init(struct kit *kit, const char *path)
{
    *kit = (struct kit){ .now_ms = KIT_NOW_MS };
    kit->clock = (struct pawl_clock){ kit_wall_ms, kit_mono_us, kit };
    snprintf(kit->path, sizeof kit->path, "%s", path ? path : ":memory:");
    snprintf(kit->url, sizeof kit->url, "sqlite:%s", kit->path);
    kit->config = (struct pawl_config){
        .store = kit->url, .clock = &kit->clock, .busy_timeout_ms = 10000, .seed = KIT_SEED
    };
}

static inline void kit_init_folder(struct kit *kit)
{
    char folder[KIT_PATH_BYTES], path[KIT_PATH_BYTES];
    kit_make_folder(folder);
    assert_true(snprintf(path, sizeof path, "%s/pawl.db", folder) < KIT_PATH_BYTES);
    kit_init(kit, path);
    memcpy(kit->folder, folder, sizeof folder);
}

static inline enum pawl_err kit_try_open(struct kit *kit)
{
    return pawl__backend_sqlite.open(&kit->config, &kit->sq, &kit->diag);
}

static inline void kit_open(struct kit *kit)
{
    kit_ok(kit, kit_try_open(kit));
}

static inline void kit_open_memory(struct kit *kit)
{
    kit_init(kit, NULL);
    kit_open(kit);
}

static inline void kit_open_file(struct kit *kit)
{
    kit_init_folder(kit);
    kit_open(kit);
}

/* A second backend on the first one's file. */
static inline void kit_open_peer(struct kit *kit, const struct kit *of)
{
    kit_init(kit, of->path);
    kit->now_ms = of->now_ms;
    kit->id_count = UINT32_C(1) << 20; // other ids
    kit_open(kit);
}

static inline void kit_shut(struct kit *kit)
{
    if (kit->sq) pawl__backend_sqlite.close(kit->sq);
    kit->sq = NULL;
}

static inline void kit_reopen(struct kit *kit)
{
    kit_shut(kit);
    kit_open(kit);
}

static inline void kit_close(struct kit *kit)
{
    kit_shut(kit);
    pawl__arena_release(&kit->arena);
    if (kit->folder[0]) kit_remove_folder(kit->folder);
}

/* ---- operations ---- */

/* All in one transaction. Results live until the kit is closed. */
static inline enum pawl_err kit_apply(struct kit *kit, struct pawl__op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ops[i]->chained = count > 1; // as if they had been posted as one list
    }
    return pawl__backend_sqlite.apply(kit->sq, ops, count, &kit->diag);
}

/* By itself; its own error is returned too. The op's results are the caller's to release. */
static inline enum pawl_err kit_do(struct kit *kit, struct pawl__op *op)
{
    if (!op->diag) op->diag = &kit->diag;
    enum pawl_err err = kit_apply(kit, &op, 1);
    return err ? err : op->err;
}

/* Ascending, version 7, of now. */
static inline struct pawl_job_id kit_id(struct kit *kit)
{
    uint32_t n = ++kit->id_count;
    int64_t head = pawl__sq_key_at(kit->now_ms + n / 4096) | 0x7000 | n % 4096;
    return pawl__sq_join(head, INT64_MIN | n);
}

/* As src/api hands it to the store. Both are copied. */
static inline struct pawl__new_job kit_job(struct kit *kit, struct pawl_job_spec spec)
{
    struct pawl_job_spec *copy = pawl__arena_alloc(&kit->arena, sizeof *copy);
    assert_non_null(copy);
    *copy = spec;
    if (!copy->type) copy->type = "work";
    if (!copy->queue) copy->queue = "default";
    pawl__retry_resolve(&copy->retry);
    return (struct pawl__new_job){ .id = spec.id ? *spec.id : kit_id(kit),
                                   .fresh_id = !spec.id,
                                   .spec = copy };
}

static inline struct pawl_job_id kit_submit(struct kit *kit, struct pawl_job_spec spec)
{
    struct pawl__new_job job = kit_job(kit, spec);
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    kit_ok(kit, kit_do(kit, &op));
    pawl__arena_release(&op.arena);
    return out.id;
}

/* How many there were. */
static inline size_t kit_claim(struct kit *kit, const char *queue, int64_t limit)
{
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = limit,
                                      .worker = "worker",
                                      .lease_ms = KIT_LEASE_MS } };
    kit_ok(kit, kit_do(kit, &op));
    pawl__arena_release(&op.arena);
    return op.claim.job_count;
}

static inline void kit_show_finding(void *ctx, const char *text)
{
    (void)ctx;
    print_error("check: %s\n", text);
}

/* The store's own check finds nothing. */
static inline void kit_check(struct kit *kit)
{
    kit_ok(kit, pawl__read_check(kit->sq, kit_show_finding, NULL, &kit->diag));
}

/* ---- the database, asked directly ---- */

static inline void sql_run(sqlite3 *db, const char *sql)
{
    char *said = NULL;
    int code = sqlite3_exec(db, sql, NULL, NULL, &said);
    if (code != SQLITE_OK) print_error("%s: %s\n", sql, said ? said : "?");
    sqlite3_free(said);
    assert_int_equal(code, SQLITE_OK);
}

static inline sqlite3_stmt *sql_prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code != SQLITE_OK) print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    assert_int_equal(code, SQLITE_OK);
    return stmt;
}

/* The first column of the first row; 0 without one. */
static inline int64_t sql_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = sql_prepare(db, sql);
    int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    return value;
}

/* The first column of every row, each followed by a newline. The caller releases it. */
static inline struct pawl__buf sql_lines(sqlite3 *db, const char *sql, int column)
{
    struct pawl__buf out = { 0 };
    sqlite3_stmt *stmt = sql_prepare(db, sql);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        pawl__buf_printf(&out, "%s\n", text ? text : "");
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    pawl__buf_add_text(&out, "");
    assert_false(out.failed);
    return out;
}

/* A connection beside the store's. */
static inline sqlite3 *sql_open(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

#endif
