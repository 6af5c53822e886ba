/* Something that blocks and that no request waits for: done on a thread of the pool, and then told
 * on the loop. */
#ifndef PAWL_HTTP_CHORE_H
#define PAWL_HTTP_CHORE_H

#include "http/server.h"

/* `work` runs on the pool, then `done` on the loop; the server does not stop before. `ctx` is
 * theirs. False: neither will be called. */
PAWL_MUST_CHECK bool pawl__chore_send(struct pawl__server *server, void (*work)(void *ctx),
                                      void (*done)(void *ctx), void *ctx);

/* Give back runs whose owner has gone away, free of charge; `runs` is copied. */
void pawl__give_back(struct pawl__server *server, const struct pawl_run *runs, size_t count);

#endif
