/* Chores for the pool. */
#include "http/chore.h"

#include <stdlib.h>
#include <string.h>

struct chore {
    uv_work_t work;
    struct pawl__server *server;
    void (*run)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
};

static void run_chore(uv_work_t *work)
{
    struct chore *chore = work->data;
    chore->run(chore->ctx);
}

static void chore_done(uv_work_t *work, int status)
{
    (void)status;
    struct chore *chore = work->data;
    chore->server->working--;
    chore->done(chore->ctx);
    free(chore);
}

bool pawl__chore_send(struct pawl__server *server, void (*work)(void *ctx), void (*done)(void *ctx),
                      void *ctx)
{
    struct chore *chore = malloc(sizeof *chore);
    if (!chore) return false;
    *chore = (struct chore){ .server = server, .run = work, .done = done, .ctx = ctx };
    chore->work.data = chore;
    if (uv_queue_work(&server->loop, &chore->work, run_chore, chore_done)) {
        free(chore);
        return false;
    }
    server->working++;
    return true;
}

/* ---- giving back ---- */

struct give_back {
    struct pawl *pawl;
    size_t count;
    struct pawl_run runs[];
};

/* What cannot be given back comes back by itself when its lease ends. */
static void do_give_back(void *ctx)
{
    struct give_back *back = ctx;
    for (size_t i = 0; i < back->count; i++) {
        (void)!pawl_give_back(back->pawl, &back->runs[i], 0, NULL);
    }
}

void pawl__give_back(struct pawl__server *server, const struct pawl_run *runs, size_t count)
{
    if (!count) return;
    struct give_back *back = malloc(sizeof *back + count * sizeof *runs);
    if (!back) return;
    back->pawl = server->pawl;
    back->count = count;
    memcpy(back->runs, runs, count * sizeof *runs);
    if (!pawl__chore_send(server, do_give_back, free, back)) free(back);
}
