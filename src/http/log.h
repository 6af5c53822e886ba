/* The server's log: one JSON object a line on standard error. Any thread.
 *
 * Nobody waits for standard error: lines go into a buffer and a thread writes them. When it is
 * full, lines are dropped, and the next one that fits says how many. Arguments and bodies are never
 * logged. */
#ifndef PAWL_HTTP_LOG_H
#define PAWL_HTTP_LOG_H

#include "http/request.h"

/* Numbers as in struct pawl_log_line. */
#define PAWL__LOG_LEVELS(X)                                                                        \
    X(0, DEBUG, "debug")                                                                           \
    X(1, INFO, "info")                                                                             \
    X(2, WARNING, "warning")                                                                       \
    X(3, ERROR, "error")

#define X(number, name, text) PAWL__LOG_##name = number,
enum pawl__log_level { PAWL__LOG_LEVELS(X) PAWL__LOG_END };
#undef X

struct pawl__log;

/* Lines below `level` are not written. `fd` is borrowed. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__log_new(int fd, int level, struct pawl__log **out,
                                            struct pawl_diag *diag);
/* Writes what is left, for a second at most. NULL is fine. */
void pawl__log_free(struct pawl__log *log);
/* `request` may be NULL; `log` too: then nothing is written. */
void pawl__log(struct pawl__log *log, enum pawl__log_level level,
               const struct pawl__request *request, const char *format, ...) PAWL_PRINTF(4, 5);
/* One answered request. */
void pawl__log_access(struct pawl__log *log, const struct pawl__request *request);

#endif
