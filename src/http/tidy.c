/* The allocator keeps what was freed in the middle of its arenas. It gives the pages back when it
 * is asked, which takes a while: so on the pool, and not after every request. */
#include "http/tidy.h"
#include "http/chore.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { TIDY_MS = 2000 };

static void tidy(void *ctx)
{
    (void)ctx;
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

static void tidied(void *ctx)
{
    struct pawl__server *server = ctx;
    server->tidying = false;
    server->tidied_ms = pawl__server_now(server);
}

void pawl__tidy_note(struct pawl__server *server, size_t bytes)
{
    if (bytes > PAWL__LARGE_BYTES) server->untidy = true;
}

void pawl__tidy_tick(struct pawl__server *server)
{
    bool due = pawl__server_now(server) - server->tidied_ms >= TIDY_MS;
    if (!server->untidy || server->tidying || server->stopping || !due) return;
    if (!pawl__chore_send(server, tidy, tidied, server)) return;
    server->tidying = true;
    server->untidy = false;
}
