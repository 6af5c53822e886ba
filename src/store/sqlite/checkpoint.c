/* Writing the log back into the database, beside the committer rather than in its way.
 *
 * Runs on: its own thread with its own connection. A passive checkpoint never makes a writer wait,
 * but a busy writer can outrun it; so past PAWL__SQ_LOG_PAGES_MAX the committer writes back itself,
 * which bounds the log as long as no reader holds an old part of it. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

static bool wait_until_due(struct pawl__backend *sq)
{
    pawl__lock(&sq->checkpoint_mutex);
    while (!sq->checkpoint_due && !sq->checkpoint_closing) {
        pawl__cond_wait(&sq->checkpoint_wanted, &sq->checkpoint_mutex);
    }
    bool go = !sq->checkpoint_closing;
    sq->checkpoint_due = false;
    pawl__unlock(&sq->checkpoint_mutex);
    return go;
}

/* A checkpoint that fails has cost nothing: the log still holds everything, the next one tries
 * again, and the committer meets the same disk soon enough to report it. */
static void *run(void *arg)
{
    struct pawl__backend *sq = arg;
    struct pawl__sq_conn conn = { 0 };
    while (wait_until_due(sq)) {
        if (!conn.db) {
            struct pawl__sq_open how = { .path = sq->path,
                                         .durability = sq->durability,
                                         .busy_timeout_ms = 0 };
            if (pawl__sq_conn_open(&how, &conn, NULL)) continue;
        }
        (void)sqlite3_wal_checkpoint_v2(conn.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    pawl__sq_conn_release(&conn);
    return NULL;
}

static void wake(struct pawl__backend *sq)
{
    pawl__lock(&sq->checkpoint_mutex);
    sq->checkpoint_due = true;
    pawl__unlock(&sq->checkpoint_mutex);
    pawl__cond_signal(&sq->checkpoint_wanted);
}

/* After each commit. The checkpointer is woken once for so many pages and not for each commit: it
 * syncs twice, and the disk that it keeps busy is the one that the next commit waits for. */
static int note_log_pages(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    struct pawl__backend *sq = arg;
    const int before = sq->log_pages;
    sq->log_pages = pages;
    if (pages / PAWL__SQ_CHECKPOINT_PAGES > before / PAWL__SQ_CHECKPOINT_PAGES) wake(sq);
    return SQLITE_OK;
}

enum pawl_err pawl__sq_checkpointer_open(struct pawl__backend *sq, struct pawl_diag *diag)
{
    if (sq->memory) return PAWL_OK;
    sq->checkpoint_closing = false;
    sq->checkpoint_due = false;
    sq->log_pages = 0;
    sqlite3_wal_hook(sq->writer.db, note_log_pages, sq); // takes the place of SQLite's own
    if (!pawl__thread_start(&sq->checkpointer, run, sq)) {
        return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start the checkpointer's thread");
    }
    sq->checkpointer_runs = true;
    return PAWL_OK;
}

void pawl__sq_checkpointer_close(struct pawl__backend *sq)
{
    if (!sq->checkpointer_runs) return;
    pawl__lock(&sq->checkpoint_mutex);
    sq->checkpoint_closing = true;
    pawl__cond_signal(&sq->checkpoint_wanted);
    pawl__unlock(&sq->checkpoint_mutex);
    pthread_join(sq->checkpointer, NULL);
    sq->checkpointer_runs = false;
}

void pawl__sq_checkpoint_consider(struct pawl__backend *sq)
{
    if (sq->log_pages < PAWL__SQ_LOG_PAGES_MAX) return;
    (void)sqlite3_wal_checkpoint_v2(sq->writer.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}
