/* Programs of pawl that wait for more to do. Each is told when something has happened that it has
 * not heard of; what it has heard of it says itself, so nothing is missed between two questions. */
#include "http/remote/calls.h"
#include "base/list.h"

#include "http/remote/remote.h"

#include <stdlib.h>

struct wait {
    struct pawl__request *request;
    struct wait *prev, *next;
    struct pawl__wire_wait seen;
    int64_t until_ms; /* loop time */
};

struct pawl__remote {
    int64_t ready, control; /* they change; what they are means nothing */
    struct wait *waits;     /* newest first */
};

struct pawl__remote *pawl__remote_new(void)
{
    struct pawl__remote *remote = calloc(1, sizeof *remote);
    if (remote) remote->ready = remote->control = 1;
    return remote;
}

void pawl__remote_free(struct pawl__remote *remote)
{
    free(remote);
}

static void abandon(struct pawl__request *request)
{
    struct wait *wait = request->state;
    PAWL__LIST_REMOVE(request->server->remote->waits, wait, prev, next);
}

static void answer_wait(struct pawl__request *request)
{
    const struct pawl__remote *remote = request->server->remote;
    struct pawl__wire_wait now = { .ready = remote->ready, .control = remote->control };
    pawl__wire_print(&request->reply, &pawl__wire_wait_shape, &now);
    pawl__reply(request, 200);
}

static bool has_news(const struct pawl__remote *remote, const struct wait *wait)
{
    return wait->seen.ready != remote->ready || wait->seen.control != remote->control;
}

/* One who waits for what is there, or whose time is over, or anyone. */
static struct wait *find_due(struct pawl__server *server, bool all)
{
    int64_t now_ms = pawl__server_now(server);
    struct wait *wait = server->remote->waits;
    while (wait && !all && !has_news(server->remote, wait) && now_ms < wait->until_ms) {
        wait = wait->next;
    }
    return wait;
}

static void answer_some(struct pawl__server *server, bool all)
{
    struct wait *wait;
    while ((wait = find_due(server, all))) { // from the top: an answer may change the list
        struct pawl__request *request = wait->request;
        PAWL__LIST_REMOVE(server->remote->waits, wait, prev, next);
        request->abandon = NULL;
        answer_wait(request);
    }
}

void pawl__remote_tick(struct pawl__server *server)
{
    answer_some(server, false);
}

void pawl__remote_drain(struct pawl__server *server)
{
    answer_some(server, true);
}

/* Who runs a job finds out that it was taken from him when he asks: so let him. */
void pawl__remote_moved(struct pawl__server *server, const struct pawl_moved *moved)
{
    bool ended = moved->to == PAWL_STATE_CANCELLED || moved->to == PAWL_STATE_SKIPPED ||
                 moved->to == PAWL_STATE_DISCARDED;
    if (moved->from != PAWL_STATE_ACTIVE || !ended) return;
    server->remote->control++;
    answer_some(server, false);
}

void pawl__remote_ready(struct pawl__server *server, bool foreign)
{
    server->remote->ready++;
    if (foreign) server->remote->control++;
    answer_some(server, false);
}

void pawl__on_remote_wait(struct pawl__request *request)
{
    struct pawl_diag diag;
    struct pawl__server *server = request->server;
    struct pawl__remote *remote = server->remote;
    int64_t most_ms = server->config.limits.fetch_wait_ms_max;
    struct wait *wait = pawl__arena_calloc(&request->arena, 1, sizeof *wait);
    if (!wait) {
        pawl__remote_refuse(request, PAWL_ERR_NOMEM, NULL);
        return;
    }
    enum pawl_err err = pawl__wire_read(request->body, &pawl__wire_wait_shape, true,
                                        &request->arena, &wait->seen, &diag);
    if (err) {
        pawl__remote_refuse(request, err, &diag);
        return;
    }
    int64_t wait_ms = wait->seen.wait_ms < most_ms ? wait->seen.wait_ms : most_ms;
    if (has_news(remote, wait) || wait_ms <= 0 || server->stopping) {
        answer_wait(request);
        return;
    }
    wait->request = request;
    wait->until_ms = pawl__server_now(server) + wait_ms;
    PAWL__LIST_PUSH(remote->waits, wait, prev, next);
    request->state = wait;
    request->abandon = abandon;
}
