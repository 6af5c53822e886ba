/* Opening and closing a SQLite store: the file, its settings, the connections. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define SCHEME "sqlite:"

/* f_type of statfs(2), of file systems whose locks and shared memory do not reach other machines.
 * name, number */
#define NETWORK_FILE_SYSTEMS(X)                                                                    \
    X(NFS, 0x6969)                                                                                 \
    X(SMB, 0x517B)                                                                                 \
    X(SMB2, 0xFE534D42)                                                                            \
    X(CIFS, 0xFF534D42)                                                                            \
    X(AFS, 0x5346414F)                                                                             \
    X(AFS_KERNEL, 0x6B414653)                                                                      \
    X(CODA, 0x73757245)                                                                            \
    X(CEPH, 0x00C36400)                                                                            \
    X(NINE_P, 0x01021997)                                                                          \
    X(LUSTRE, 0x0BD00BD0)                                                                          \
    X(GPFS, 0x47504653)                                                                            \
    X(OCFS2, 0x7461636F)

bool pawl__sq_is_network_fs(int64_t type)
{
    switch (type & 0xFFFFFFFF) {
#define X(name, number) case number:
        NETWORK_FILE_SYSTEMS(X)
#undef X
        return true;
    default:
        return false;
    }
}

/* Waits for SQLite's lock in short naps: the turnstile has seen to it that we are next. */
static int nap_while_busy(void *arg, int tries)
{
    int64_t timeout_ms = *(const int64_t *)arg;
    if ((int64_t)tries / 2 >= timeout_ms) return 0;
    nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    return 1;
}

/* SQLite takes "file:..." for a URI, which may name a store in memory, and ":memory:" for one. */
bool pawl__sq_file_name(const char *path, char out[PAWL__SQ_PATH_BYTES])
{
    bool special = path[0] == ':' || strncmp(path, "file:", 5) == 0;
    int len = snprintf(out, PAWL__SQ_PATH_BYTES, "%s%s", special ? "./" : "", path);
    return len > 0 && len < PAWL__SQ_PATH_BYTES;
}

/* The operating system's reason, where there is one, says more than SQLite's. */
static enum pawl_err fail_open(const struct pawl__sq_open *how, struct pawl__sq_conn *conn,
                               struct pawl_diag *diag)
{
    int code = conn->db ? sqlite3_extended_errcode(conn->db) : SQLITE_NOMEM;
    int reason = conn->db ? sqlite3_system_errno(conn->db) : 0;
    enum pawl_err err = pawl__sq_error_code(code);
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    if (err == PAWL_ERR_BUSY) return pawl__sq_error(conn, diag, "open the store");
    if (reason == EACCES || reason == EROFS || reason == EPERM) err = PAWL_ERR_READONLY;
    return pawl__fail_field(diag, err ? err : PAWL_ERR_IO, "store", "could not open \"%s\": %s",
                            how->path, reason ? strerror(reason) : sqlite3_errmsg(conn->db));
}

static enum pawl_err pragma(const struct pawl__sq_open *how, struct pawl__sq_conn *conn,
                            const char *text, struct pawl_diag *diag)
{
    if (sqlite3_exec(conn->db, text, NULL, NULL, NULL) == SQLITE_OK) return PAWL_OK;
    return fail_open(how, conn, diag);
}

/* Switching a new file to WAL does not ask the busy handler when two do it at once. */
static enum pawl_err switch_to_wal(const struct pawl__sq_open *how, struct pawl__sq_conn *conn,
                                   struct pawl_diag *diag)
{
    char text[64];
    snprintf(text, sizeof text, "PRAGMA page_size = %d; PRAGMA journal_mode = WAL;",
             PAWL__SQ_PAGE_BYTES);
    int64_t timeout_ms = how->busy_timeout_ms;
    enum pawl_err err;
    for (int tries = 0; (err = pragma(how, conn, text, diag)) == PAWL_ERR_BUSY; tries++) {
        if (!nap_while_busy(&timeout_ms, tries)) break;
    }
    return err;
}

static enum pawl_err set_up(const struct pawl__sq_open *how, struct pawl__sq_conn *conn,
                            struct pawl_diag *diag)
{
    char text[256];
    snprintf(text, sizeof text,
             "PRAGMA cache_size = -%d; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;"
             "PRAGMA trusted_schema = OFF;",
             how->read_only ? PAWL__SQ_READER_CACHE_KIB : PAWL__SQ_CACHE_KIB);
    enum pawl_err err = pragma(how, conn, text, diag);
    if (err || how->read_only) return err;
    if (!how->memory) err = switch_to_wal(how, conn, diag);
    if (err) return err;
    snprintf(text, sizeof text, "PRAGMA synchronous = %s; PRAGMA secure_delete = FAST;",
             how->durability == PAWL_DURABILITY_RELAXED ? "NORMAL" : "FULL");
    return pragma(how, conn, text, diag);
}

/* What ends a transaction must be there when memory is not. */
static enum pawl_err prepare_endings(const struct pawl__sq_open *how, struct pawl__sq_conn *conn,
                                     struct pawl_diag *diag)
{
    static const enum pawl__sql needed[] = { SQL_COMMIT, SQL_ROLLBACK };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!pawl__sq_use(conn, needed[i])) return fail_open(how, conn, diag);
    }
    return PAWL_OK;
}

/* A reader of a file in WAL mode must share the log's index, a file that it may have to make. */
bool pawl__sq_is_settled(const char *path)
{
    char name[PAWL__SQ_PATH_BYTES];
    struct stat log;
    int len = snprintf(name, sizeof name, "%s-wal", path);
    if (len < 0 || (size_t)len >= sizeof name) return false;
    if (stat(name, &log) == 0 && log.st_size > 0) return false;
    snprintf(name, sizeof name, "%s", path);
    return eaccess(dirname(name), W_OK) != 0;
}

/* The path as a URI that says that nobody changes the file. False: too long. */
static bool settled_name(const char *path, char out[PAWL__SQ_PATH_BYTES])
{
    struct pawl__buf uri = { 0 };
    pawl__buf_add_text(&uri, "file:");
    for (; *path; path++) {
        bool plain = *path != '%' && *path != '?' && *path != '#';
        if (plain) {
            pawl__buf_add(&uri, path, 1);
        } else {
            pawl__buf_printf(&uri, "%%%02X", (unsigned char)*path);
        }
    }
    pawl__buf_add(&uri, "?immutable=1", sizeof "?immutable=1");
    bool fits = !uri.failed && uri.len <= PAWL__SQ_PATH_BYTES;
    if (fits) memcpy(out, uri.at, uri.len);
    pawl__buf_release(&uri);
    return fits;
}

enum pawl_err pawl__sq_conn_open(const struct pawl__sq_open *how, struct pawl__sq_conn *out,
                                 struct pawl_diag *diag)
{
    memset(out, 0, sizeof *out);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE; // one thread at a time has it
    if (how->memory) {
        flags |= SQLITE_OPEN_MEMORY | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    } else if (how->read_only) {
        flags |= SQLITE_OPEN_READONLY | (how->settled ? SQLITE_OPEN_URI : 0);
    } else {
        flags |= SQLITE_OPEN_READWRITE | (how->create ? SQLITE_OPEN_CREATE : 0);
    }
    char name[PAWL__SQ_PATH_BYTES];
    bool fits = how->memory || (how->settled ? settled_name(how->path, name)
                                             : pawl__sq_file_name(how->path, name));
    if (!fits) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store", "the path is too long");
    }
    int code = sqlite3_open_v2(how->memory ? ":memory:" : name, &out->db, flags, NULL);
    enum pawl_err err = PAWL_OK;
    if (code != SQLITE_OK) {
        err = fail_open(how, out, diag);
        goto fail;
    }
    sqlite3_busy_timeout(out->db, (int)how->busy_timeout_ms);
    if (pawl__sq_query_attach(out->db) != SQLITE_OK) err = fail_open(how, out, diag);
    if (!err) err = set_up(how, out, diag);
    if (!err) err = prepare_endings(how, out, diag);
    if (err) goto fail;
    return PAWL_OK;
fail:
    pawl__sq_conn_release(out);
    return err;
}

static const char *path_of(const struct pawl_config *config, bool *memory)
{
    const char *path = config->store + strlen(SCHEME);
    *memory = strcmp(path, ":memory:") == 0;
    return path;
}

static enum pawl_err check_file_system(const char *path, struct pawl_diag *diag)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof folder) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store", "the path is too long");
    }
    memcpy(folder, path, len);
    memcpy(folder + len, slash ? (len ? "" : "/") : ".", slash && len ? 1 : 2);
    struct statfs fs;
    if (statfs(folder, &fs) != 0 || !pawl__sq_is_network_fs(fs.f_type)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "\"%s\" is on a network file system, where SQLite's locks do not hold "
                            "and jobs can be lost; use a local disk, or insist by force",
                            path);
}

/* What the operating system says is more use than SQLite's "unable to open database file". */
static enum pawl_err check_path(const struct pawl_config *config, const char *path,
                                struct pawl_diag *diag)
{
    if (!*path) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store", "\"%s\" names no file", config->store);
    }
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store", "\"%s\" is a directory", path);
    }
    if (exists && eaccess(path, config->read_only ? R_OK : W_OK) != 0) {
        return pawl__fail_field(diag, PAWL_ERR_READONLY, "store",
                                config->read_only ? "cannot read \"%s\": %s"
                                                  : "cannot write to \"%s\": %s",
                                path, strerror(errno));
    }
    if (!exists && (errno != ENOENT || config->must_exist)) {
        enum pawl_err err = errno == ENOENT ? PAWL_ERR_NOT_FOUND : PAWL_ERR_IO;
        return pawl__fail_field(diag, err, "store", "there is no store at \"%s\": %s", path,
                                strerror(errno));
    }
    return config->allow_network_fs ? PAWL_OK : check_file_system(path, diag);
}

/* After a failed sync the kernel may show us a log that is not on the disk and never will be: pages
 * that could not be written are forgotten as if they had been. Nothing may be built on it. So the
 * whole log is written back into the database, which is synced, and begun anew. */
static enum pawl_err start_new_log(struct pawl__backend *sq, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_exec(&sq->writer, SQL_MIGRATION_TABLE_EXISTS, diag);
    if (err) return err; // a connection that has read says more clearly what ails it
    static const int64_t patience_ms = 1000; // the committer, and all leases, wait meanwhile
    sqlite3_busy_handler(sq->writer.db, nap_while_busy, (void *)&patience_ms);
    int code =
        sqlite3_wal_checkpoint_v2(sq->writer.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_handler(sq->writer.db, nap_while_busy, &sq->busy_timeout_ms);
    if (code == SQLITE_OK) return PAWL_OK;
    return pawl__sq_error(&sq->writer, diag, "write the log back");
}

/* Whoever finds a log that nobody is using cannot know how its last writer fared. */
static enum pawl_err inherit_log(struct pawl__backend *sq, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    if (pawl__sq_turnstile_alone(sq->turnstile)) err = start_new_log(sq, diag);
    pawl__sq_turnstile_share(sq->turnstile);
    return err == PAWL_ERR_BUSY ? PAWL_OK : err; // somebody who is not pawl is reading
}

static enum pawl_err set_up_writer(struct pawl__backend *sq, bool no_migrate,
                                   struct pawl_diag *diag)
{
    struct pawl__sq_open how = { .path = sq->path,
                                 .create = true,
                                 .memory = sq->memory,
                                 .durability = sq->durability,
                                 .busy_timeout_ms = sq->busy_timeout_ms };
    enum pawl_err err = pawl__sq_conn_open(&how, &sq->writer, diag);
    if (err) return err;
    if (sqlite3_db_readonly(sq->writer.db, "main") == 1) {
        return pawl__fail_field(diag, PAWL_ERR_READONLY, "store", "cannot write to \"%s\"",
                                sq->path);
    }
    sqlite3_busy_handler(sq->writer.db, nap_while_busy, &sq->busy_timeout_ms);
    if (!sq->memory) err = inherit_log(sq, diag);
    if (!err) err = pawl__sq_plain_attach(sq, diag);
    if (!err) err = pawl__sq_set_attach(sq, diag);
    return err ? err : pawl__sq_migrate(&sq->writer, sq->clock, no_migrate, diag);
}

static enum pawl_err connect_writer(struct pawl__backend *sq, bool no_migrate,
                                    struct pawl_diag *diag)
{
    pawl__sq_turnstile_enter(sq->turnstile);
    enum pawl_err err = set_up_writer(sq, no_migrate, diag);
    pawl__sq_turnstile_leave(sq->turnstile);
    if (err) return err;
    sq->catalog_stale = true;
    err = pawl__sql_boost_read(sq, diag);
    return err ? err : pawl__sq_checkpointer_open(sq, diag);
}

/* Only to look: the schema must be the one we know, and there is no writer. */
static enum pawl_err connect_reader(struct pawl__backend *sq, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn;
    if (sq->memory) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "read_only",
                                "a store in memory cannot be opened to read only: it is empty");
    }
    enum pawl_err err = pawl__sq_reader_take(sq, &conn, diag);
    if (err) return err;
    err = pawl__sq_migrate(conn, sq->clock, true, diag);
    pawl__sq_reader_give(sq, conn);
    return err;
}

void pawl__sq_init(struct pawl__backend *sq, uint64_t seed)
{
    pawl__set_init(&sq->set, &pawl__sq_core, sq, seed);
    sq->sql.reads = &pawl__sq_reads;
    sq->sql.set = &sq->set;
}

void pawl__sq_release(struct pawl__backend *sq)
{
    pawl__set_release(&sq->set);
    free(sq->news.rows);
    free(sq->plain.claimed);
    free(sq->plain.ended);
    free(sq->plain.turns);
    free(sq->head.jobs);
}

static void disconnect(struct pawl__backend *sq)
{
    pawl__sq_checkpointer_close(sq);
    for (int i = 0; i < PAWL__READERS_MAX; i++) {
        pawl__sq_conn_release(&sq->readers[i]);
    }
    pawl__sq_conn_release(&sq->writer); // last: it writes the log back
}

static void close_store(struct pawl__backend *sq)
{
    disconnect(sq);
    pawl__sq_turnstile_close(sq->turnstile);
    pawl__cond_release(&sq->checkpoint_wanted);
    pawl__mutex_release(&sq->checkpoint_mutex);
    pawl__pool_release(&sq->sql.pool);
    pawl__sq_release(sq);
    free(sq->path);
    free(sq);
}

static enum pawl_err open_store(const struct pawl_config *config, struct pawl__backend **out,
                                struct pawl_diag *diag)
{
    bool memory;
    const char *path = path_of(config, &memory);
    enum pawl_err err = memory ? PAWL_OK : check_path(config, path, diag);
    if (err) return err;
    struct pawl__backend *sq = calloc(1, sizeof *sq);
    if (!sq) return pawl__fail_nomem(diag);
    pawl__pool_init(&sq->sql.pool, memory ? 1 : PAWL__READERS_MAX);
    pawl__mutex_init(&sq->checkpoint_mutex);
    pawl__cond_init(&sq->checkpoint_wanted);
    sq->memory = memory;
    sq->read_only = config->read_only;
    sq->durability = config->durability;
    sq->busy_timeout_ms = config->busy_timeout_ms;
    sq->clock = config->clock;
    sq->turnstile = -1;
    pawl__sq_init(sq, config->seed);
    sq->path = strdup(path);
    if (!sq->path) {
        err = pawl__fail_nomem(diag);
        goto fail;
    }
    if (!memory && !sq->read_only) sq->turnstile = pawl__sq_turnstile_open(path);
    err = sq->read_only ? connect_reader(sq, diag) : connect_writer(sq, config->no_migrate, diag);
    if (err) goto fail;
    *out = sq;
    return PAWL_OK;
fail:
    close_store(sq);
    return err;
}

static enum pawl_err look_for_damage(struct pawl__backend *sq, struct pawl_diag *diag)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_CHECK_QUICK);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, diag);
    if (err || !found) return err;
    const char *said = (const char *)sqlite3_column_text(stmt, 0);
    if (said && strcmp(said, "ok") != 0) {
        err = pawl__fail(diag, PAWL_ERR_CORRUPT, "the store is damaged: %s", said);
    }
    sqlite3_reset(stmt);
    return err;
}

static void close_reader(void *ctx, size_t at)
{
    struct pawl__backend *sq = ctx;
    pawl__sq_conn_release(&sq->readers[at]);
}

static enum pawl_err reopen_store(struct pawl__backend *sq, struct pawl_diag *diag)
{
    if (sq->memory) {
        return pawl__fail(diag, PAWL_ERR_UNSAFE, "a store in memory cannot be reopened");
    }
    pawl__sq_checkpointer_close(sq);
    pawl__pool_drop(&sq->sql.pool, close_reader, sq);
    pawl__sq_conn_release(&sq->writer);
    enum pawl_err err = connect_writer(sq, true, diag);
    if (!err) err = start_new_log(sq, diag);
    return err ? err : look_for_damage(sq, diag);
}

static enum pawl_err read_schema(const struct pawl_config *config, struct pawl_schema *out,
                                 struct pawl_diag *diag)
{
    bool memory;
    const char *path = path_of(config, &memory);
    if (!memory) {
        struct pawl_config existing = *config;
        existing.must_exist = true;
        existing.read_only = true;
        enum pawl_err err = check_path(&existing, path, diag);
        if (err) return err;
    }
    struct pawl__sq_conn conn;
    struct pawl__sq_open how = { .path = path,
                                 .read_only = !memory,
                                 .settled = !memory && pawl__sq_is_settled(path),
                                 .memory = memory,
                                 .busy_timeout_ms = config->busy_timeout_ms };
    enum pawl_err err = pawl__sq_conn_open(&how, &conn, diag);
    if (err) return err;
    err = pawl__sq_schema_read(&conn, out, diag);
    pawl__sq_conn_release(&conn);
    return err;
}

const struct pawl__backend_table pawl__backend_sqlite = {
    .scheme = SCHEME,
    .name = "sqlite",
    .open = open_store,
    .close = close_store,
    .apply = pawl__sq_apply,
    .reopen = reopen_store,
    .note = pawl__sql_note,
    .get_notice = pawl__sql_get_notice,
    .wake = pawl__sq_wake,
    .identify = pawl__sq_identify,
    .get = pawl__read_get,
    .query = pawl__read_query,
    .count = pawl__read_count,
    .story = pawl__read_story,
    .stats = pawl__read_stats,
    .nodes = pawl__read_nodes,
    .locks = pawl__read_locks,
    .setting = pawl__read_setting,
    .settings = pawl__read_settings,
    .tokens = pawl__read_tokens,
    .schemas = pawl__read_schemas,
    .configs = pawl__read_configs,
    .flows = pawl__read_flows,
    .schedules = pawl__read_schedules,
    .backup = pawl__sq_backup,
    .check = pawl__read_check,
    .schema = read_schema,
};
