/* The messenger: wake-ups over a line, which is a connection that can break. It has a thread that
 * speaks, listens and connects again, so that no commit waits for it, and one that calls the
 * listener, so that a slow one holds up neither what is told nor what is heard. Both are begun when
 * first needed.
 *
 * Modules bring it along: a line's own code is all that differs between PostgreSQL and Redis. */
#ifndef PAWL_STORE_MESSENGER_H
#define PAWL_STORE_MESSENGER_H

#include "store/wake.h"

struct pawl__line;

enum { PAWL__LINE_TEXT_BYTES = 24 }; /* of what we say; others may say more */

typedef void pawl__received_fn(void *ctx, const char *text);

/* On the messenger's thread alone, but for `free`. */
struct pawl__line_table {
    /* Be connected, and listen if that is wanted; called before everything else, also when it is
     * both already. Blocks, for seconds at most. UNSUPPORTED: connected, but nobody can listen
     * here. ARG: refused, and will be until somebody changes a setting. IO: try again. */
    enum pawl_err (*ready)(struct pawl__line *line, bool listen, struct pawl_diag *diag);
    /* Say it to all who listen. On failure the line is dead. */
    enum pawl_err (*say)(struct pawl__line *line, const char *text, struct pawl_diag *diag);
    /* Pass on all that has come, without waiting for more. On failure the line is dead. */
    enum pawl_err (*read)(struct pawl__line *line, pawl__received_fn *fn, void *ctx,
                          struct pawl_diag *diag);
    /* Readable when something has come; -1: not listening. */
    int (*fd)(const struct pawl__line *line);
    void (*hang_up)(struct pawl__line *line);
    void (*free)(struct pawl__line *line); /* after hang_up */
};

/* What every line begins with. */
struct pawl__line {
    const struct pawl__line_table *table;
};

/* Does not connect yet. The line is freed in any case. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__messenger_open(struct pawl__line *taken_line,
                                                   struct pawl__wake **out, struct pawl_diag *diag);
/* Connect now, and wait for it a moment. ARG and UNSUPPORTED as the line says it; that nobody
 * answered, or not yet, is no error. NOMEM: no thread to be had. */
PAWL_MUST_CHECK enum pawl_err pawl__messenger_reach(struct pawl__wake *wake,
                                                    struct pawl_diag *diag);

#endif
