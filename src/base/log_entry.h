/* One line of a process's log, for all commands that write one: a JSON object, or text for people,
 * with the same members in the same order. Pure.
 *
 *     {"time":"2026-11-16T04:49:10.123Z","level":"info","message":"request","status":200}
 *     2026-11-16T04:49:10.123Z info request status=200 */
#ifndef PAWL_BASE_LOG_ENTRY_H
#define PAWL_BASE_LOG_ENTRY_H

#include "base/buf.h"

/* Numbers as in struct pawl_log_line. */
#define PAWL__LOG_LEVELS(X)                                                                        \
    X(0, DEBUG, "debug")                                                                           \
    X(1, INFO, "info")                                                                             \
    X(2, WARNING, "warning")                                                                       \
    X(3, ERROR, "error")

#define X(number, name, text) PAWL__LOG_##name = number,
enum pawl__log_level { PAWL__LOG_LEVELS(X) PAWL__LOG_END };
#undef X

enum pawl__log_format { PAWL__LOG_FORMAT_JSON, PAWL__LOG_FORMAT_TEXT };

struct pawl__log_entry {
    struct pawl__buf *out; /* borrowed; the line is appended */
    enum pawl__log_format format;
};

/* Time, level and message; `out` and `format` are set. */
void pawl__log_entry_begin(struct pawl__log_entry *entry, enum pawl__log_level level, int64_t at_ms,
                           const char *message, size_t len);
/* Adds nothing if `text` is NULL or empty. */
void pawl__log_entry_text(struct pawl__log_entry *entry, const char *name, const char *text);
void pawl__log_entry_int(struct pawl__log_entry *entry, const char *name, int64_t value);
/* Microseconds, written as milliseconds: "1.250". */
void pawl__log_entry_ms(struct pawl__log_entry *entry, const char *name, int64_t us);
/* Ends the line. */
void pawl__log_entry_end(struct pawl__log_entry *entry);

#endif
