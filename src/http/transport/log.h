/* The server's log on standard error, in the lines of base/log_entry.h. Any thread.
 *
 * Nobody waits for standard error: lines go into a buffer and a thread writes them. When it is
 * full, lines are dropped, and the next one that fits says how many. Arguments and bodies are never
 * logged. */
#ifndef PAWL_HTTP_TRANSPORT_LOG_H
#define PAWL_HTTP_TRANSPORT_LOG_H

#include "base/log_entry.h"
#include "http/transport/request.h"

struct pawl__log;

struct pawl__log_config {
    int fd;    /* borrowed */
    int level; /* lines below it are not written */
    enum pawl__log_format format;
};

/* NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__log_new(const struct pawl__log_config *config,
                                            struct pawl__log **out, struct pawl_diag *diag);
/* Writes what is left, for a second at most. NULL is fine. */
void pawl__log_free(struct pawl__log *log);
/* `request` may be NULL; `log` too: then nothing is written. */
void pawl__log(struct pawl__log *log, enum pawl__log_level level,
               const struct pawl__request *request, const char *format, ...) PAWL_PRINTF(4, 5);
/* One answered request. */
void pawl__log_access(struct pawl__log *log, const struct pawl__request *request);

#endif
