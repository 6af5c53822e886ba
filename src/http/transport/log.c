/* Lines are made on the caller's thread and written by one of the log's own. */
#include "http/transport/log.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/sync.h"
#include "http/transport/conn.h"
#include "http/transport/transport.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES_MAX = 1024 * 1024, GOODBYE_US = 1000000, PATH_BYTES_MAX = 200 };

struct pawl__log {
    struct pawl__log_config config;
    pthread_t thread;
    struct pawl__buf writing; /* the thread's */

    struct pawl__mutex mutex;
    struct pawl__cond wake;  /* of the thread */
    struct pawl__cond ended; /* of who waits for its end */
    /* guarded by mutex: */
    struct pawl__buf waiting;
    int64_t dropped; /* lines that did not fit, not told yet */
    bool stopping, over;
};

/* ---- the thread ---- */

static void write_all(int fd, const char *at, size_t len)
{
    while (len) {
        ssize_t wrote = write(fd, at, len);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN) return; // nobody reads it
        if (wrote < 0 && errno == EAGAIN) usleep(1000);
        if (wrote <= 0) continue;
        at += wrote;
        len -= (size_t)wrote;
    }
}

static struct pawl__log_entry begin_line(const struct pawl__log *log, struct pawl__buf *out,
                                         enum pawl__log_level level, const char *message)
{
    struct pawl__log_entry entry = { out, log->config.format };
    int64_t now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    pawl__log_entry_begin(&entry, level, now_ms, message, strlen(message));
    return entry;
}

/* Moves what waits to `writing`. False: all is written and the log is to end. */
static bool next_batch(struct pawl__log *log)
{
    pawl__lock(&log->mutex);
    while (!log->waiting.len && !log->dropped && !log->stopping) {
        pawl__cond_wait(&log->wake, &log->mutex);
    }
    struct pawl__buf full = log->waiting;
    log->waiting = log->writing;
    log->writing = full;
    int64_t dropped = log->dropped;
    log->dropped = 0;
    bool more = full.len || dropped;
    pawl__unlock(&log->mutex);
    if (dropped) {
        struct pawl__log_entry entry =
            begin_line(log, &log->writing, PAWL__LOG_WARNING,
                       "log lines were dropped: standard error was not taken");
        pawl__log_entry_int(&entry, "dropped", dropped);
        pawl__log_entry_end(&entry);
    }
    return more;
}

static void *run(void *arg)
{
    struct pawl__log *log = arg;
    while (next_batch(log)) {
        write_all(log->config.fd, log->writing.at, log->writing.len);
        pawl__buf_clear(&log->writing);
    }
    pawl__lock(&log->mutex);
    log->over = true;
    pawl__cond_signal(&log->ended);
    pawl__unlock(&log->mutex);
    return NULL;
}

/* ---- life ---- */

enum pawl_err pawl__log_new(const struct pawl__log_config *config, struct pawl__log **out,
                            struct pawl_diag *diag)
{
    struct pawl__log *log = calloc(1, sizeof *log);
    if (!log) return pawl__fail_nomem(diag);
    log->config = *config;
    pawl__mutex_init(&log->mutex);
    pawl__cond_init(&log->wake);
    pawl__cond_init(&log->ended);
    if (!pawl__thread_start(&log->thread, run, log)) {
        log->over = true;
        pawl__log_free(log);
        return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start the log's thread");
    }
    *out = log;
    return PAWL_OK;
}

static void release(struct pawl__log *log)
{
    pawl__buf_release(&log->writing);
    pawl__buf_release(&log->waiting);
    pawl__cond_release(&log->ended);
    pawl__cond_release(&log->wake);
    pawl__mutex_release(&log->mutex);
    free(log);
}

void pawl__log_free(struct pawl__log *log)
{
    if (!log) return;
    pawl__lock(&log->mutex);
    bool never_ran = log->over;
    log->stopping = true;
    pawl__cond_signal(&log->wake);
    while (!log->over && pawl__cond_wait_us(&log->ended, &log->mutex, GOODBYE_US)) {
        // it was woken for nothing
    }
    bool over = log->over;
    pawl__unlock(&log->mutex);
    if (never_ran) {
        release(log);
    } else if (over) {
        pthread_join(log->thread, NULL);
        release(log);
    } else {
        pthread_detach(log->thread); // nobody takes what it writes: it ends with the process
    }
}

/* ---- lines ---- */

static void put_line(struct pawl__log *log, const struct pawl__buf *line)
{
    pawl__lock(&log->mutex);
    bool first = !log->waiting.len;
    if (!line->failed && log->waiting.len + line->len <= BUFFER_BYTES_MAX) {
        pawl__buf_add(&log->waiting, line->at, line->len);
    } else {
        log->dropped++;
    }
    if (log->waiting.failed) { // half a line would spoil the next
        pawl__buf_clear(&log->waiting);
        log->dropped++;
    }
    if (first) pawl__cond_signal(&log->wake);
    pawl__unlock(&log->mutex);
}

/* Without the query, and not longer than a path has reason to be. */
static void add_path(struct pawl__log_entry *entry, const char *path)
{
    char text[PATH_BYTES_MAX + 1];
    snprintf(text, sizeof text, "%s", path);
    pawl__log_entry_text(entry, "path", text);
}

/* The route, not the path: what stands in a path may be anybody's business. Only a path that led to
 * nothing is shown, else it could not be told what was asked for. */
static void add_request(struct pawl__log_entry *entry, const struct pawl__request *request)
{
    pawl__log_entry_text(entry, "request_id", request->id);
    pawl__log_entry_text(entry, "method", request->method);
    pawl__log_entry_text(entry, "route", request->route ? request->route->path : "");
    if (request->status == 404) add_path(entry, request->path);
    pawl__log_entry_text(entry, "token", request->token_name);
}

void pawl__log(struct pawl__log *log, enum pawl__log_level level,
               const struct pawl__request *request, const char *format, ...)
{
    char text[1024];
    va_list args;
    assert(level < PAWL__LOG_END);
    if (!log || (int)level < log->config.level) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct pawl__buf line = { 0 };
    struct pawl__log_entry entry = begin_line(log, &line, level, text);
    if (request) add_request(&entry, request);
    pawl__log_entry_end(&entry);
    put_line(log, &line);
    pawl__buf_release(&line);
}

void pawl__log_access(struct pawl__log *log, const struct pawl__request *request)
{
    if (!log || log->config.level > PAWL__LOG_INFO) return;
    struct pawl__buf line = { 0 };
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - request->began_us;
    struct pawl__log_entry entry = begin_line(log, &line, PAWL__LOG_INFO, "request");
    add_request(&entry, request);
    if (request->conn) pawl__log_entry_text(&entry, "address", request->conn->address);
    pawl__log_entry_int(&entry, "status", request->status);
    pawl__log_entry_ms(&entry, "duration_ms", took_us);
    pawl__log_entry_int(&entry, "bytes", (int64_t)request->reply_bytes);
    pawl__log_entry_end(&entry);
    put_line(log, &line);
    pawl__buf_release(&line);
}
