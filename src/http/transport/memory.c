/* The allocator keeps what was freed in the middle of its arenas. It gives the pages back when it
 * is asked, which takes a while: so on the pool, and not after every request. */
#include "http/transport/memory.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { TRIM_MS = 2000 };

static void trim(void *ctx)
{
    (void)ctx;
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

static void trimmed(void *ctx)
{
    struct pawl__server *server = ctx;
    server->trimming = false;
    server->trimmed_ms = pawl__server_now(server);
}

void pawl__memory_note(struct pawl__server *server, size_t bytes)
{
    if (bytes > PAWL__LARGE_BYTES) server->trim_due = true;
}

void pawl__memory_tick(struct pawl__server *server)
{
    bool due = pawl__server_now(server) - server->trimmed_ms >= TRIM_MS;
    if (!server->trim_due || server->trimming || server->stopping || !due) return;
    if (!pawl__background_run(server, trim, trimmed, server)) return;
    server->trimming = true;
    server->trim_due = false;
}
