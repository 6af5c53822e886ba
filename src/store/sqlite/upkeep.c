/* Looking for damage, and copying a store that is in use.
 *
 * Runs on: the caller's thread, with a connection from the pool. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BACKUP_STEP_PAGES = 1024 };

/* SQLite puts several findings into one row. */
static void report_lines(struct pawl__findings *findings, const char *text)
{
    char line[512];
    while (*text) {
        size_t len = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), text);
        if (len) pawl__findings_add(findings, line);
        text += len + (text[len] == '\n');
    }
}

/* First the file, then our own invariants: on a damaged file their answers would mean little. */
enum pawl_err pawl__sq_check_file(struct pawl__reader *reader, struct pawl__findings *findings)
{
    sqlite3_stmt *stmt = pawl__sq_use(reader->conn, SQL_CHECK_SQLITE);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(reader->conn, stmt, &found, reader->diag)) && found) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        if (text && strcmp(text, "ok") != 0) report_lines(findings, text);
    }
    return err;
}

/* The read transaction pins what is copied: without it every commit would begin the copy anew. */
static enum pawl_err copy_pages(struct pawl__sq_conn *from, sqlite3 *to, pawl_progress_fn *progress,
                                void *ctx, struct pawl_diag *diag)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from->db, "main");
    if (!backup) {
        enum pawl_err err = pawl__sq_error_code(sqlite3_extended_errcode(to));
        return pawl__fail(diag, err ? err : PAWL_ERR_IO, "could not begin the backup: %s",
                          sqlite3_errmsg(to));
    }
    int code;
    bool stopped = false;
    do {
        code = sqlite3_backup_step(backup, BACKUP_STEP_PAGES);
        int total = sqlite3_backup_pagecount(backup);
        int left = sqlite3_backup_remaining(backup);
        stopped = progress && progress(ctx, total - left, total) != 0;
    } while (code == SQLITE_OK && !stopped);
    int ended = sqlite3_backup_finish(backup);
    if (stopped) return pawl__fail(diag, PAWL_ERR_CLOSED, "the backup was stopped");
    if (code == SQLITE_DONE && ended == SQLITE_OK) return PAWL_OK;
    enum pawl_err err = pawl__sq_error_code(code == SQLITE_DONE ? ended : code);
    return pawl__fail(diag, err ? err : PAWL_ERR_IO, "could not write the backup: %s",
                      sqlite3_errstr(code == SQLITE_DONE ? ended : code));
}

/* Claims the name, so that no file is ever overwritten. */
static enum pawl_err create_file(const char *path, struct pawl_diag *diag)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        close(fd);
        return PAWL_OK;
    }
    enum pawl_err err = errno == EEXIST ? PAWL_ERR_EXISTS : PAWL_ERR_IO;
    return pawl__fail_field(diag, err, "path", "could not create \"%s\": %s", path,
                            strerror(errno));
}

enum pawl_err pawl__sq_backup(struct pawl__backend *sq, const char *path,
                              pawl_progress_fn *progress, void *ctx, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn;
    enum pawl_err err = create_file(path, diag);
    if (err) return err;
    sqlite3 *to = NULL;
    char name[PAWL__SQ_PATH_BYTES];
    if (!pawl__sq_file_name(path, name)) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "path", "the path is too long");
        goto out;
    }
    err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) goto out;
    if (sqlite3_open_v2(name, &to, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        err = pawl__sq_error_code(to ? sqlite3_extended_errcode(to) : SQLITE_NOMEM);
        pawl__fail(diag, err, "could not open \"%s\": %s", path,
                   to ? sqlite3_errmsg(to) : "out of memory");
    }
    if (!err) err = pawl__sq_exec(conn, SQL_MIGRATION_TABLE_EXISTS, diag); // now it has begun
    if (!err) err = copy_pages(conn, to, progress, ctx, diag);
    pawl__sq_read_end(sq, conn);
    sqlite3_close(to);
out:
    if (err) unlink(path);
    return err;
}
