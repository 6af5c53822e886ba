/* Fetches that wait for jobs.
 *
 * 1. A line is dry when a claim posted after the last wake-up found nothing. A dry line asks no
 *    more until the next wake-up.
 * 2. At most `window` of a line ask at the same time: one after a wake-up, then twice as many with
 *    each that finds something.
 * 3. A line whose claim brought nothing although more may be there asks again without a wake-up,
 *    after AGAIN_MS, and after twice as long each time that this happens again.
 * 4. Asking may answer requests, and that may bring new ones: lines are freed on the tick alone,
 *    and every walk begins anew after it called out. */
#include "http/local/waiters.h"
#include "base/list.h"
#include "base/diag.h"
#include "http/local/rates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_MAX = 64,
    ROUND_MS = 10,    /* those whose time ends this close together are answered together */
    SAFETY_MS = 2000, /* wake-ups might get lost */
    AGAIN_MS = 10,
    AGAIN_MS_MAX = 500,
};

struct pawl__waiters_line {
    struct pawl__hash_link link; /* first */
    struct pawl__waiters_line *next;
    struct pawl__waiter *first, *last;
    size_t asking, window;
    bool dry;
    int64_t again_ms;    /* how long it waits before it asks again; 0: for a wake-up */
    int64_t again_at_ms; /* loop time; 0: not set */
    char queues[];
};

struct pawl__waiters {
    struct pawl__server *server;
    uv_timer_t timer;
    int64_t timer_at_ms; /* 0: not set */
    struct pawl__hashtable table;
    struct pawl__waiters_line *lines;
    uint64_t wakes;
    int64_t woken_at_ms;
    bool draining;
};

uint64_t pawl__waiters_count(const struct pawl__waiters *waiters)
{
    return waiters->wakes;
}

size_t pawl__waiters_waiting(const struct pawl__waiters *waiters)
{
    size_t count = 0;
    for (const struct pawl__waiters_line *line = waiters->lines; line; line = line->next) {
        for (const struct pawl__waiter *waiter = line->first; waiter; waiter = waiter->next) {
            count++;
        }
    }
    return count;
}

/* ---- asking ---- */

static struct pawl__waiter *next_to_ask(const struct pawl__waiters_line *line)
{
    struct pawl__waiter *waiter = line->first;
    while (waiter && waiter->asking) {
        waiter = waiter->next;
    }
    return waiter;
}

/* While a claim is under way its answer must find the request: then it cannot be abandoned. */
static void ask(struct pawl__waiters *waiters, struct pawl__waiter *waiter)
{
    waiter->asking = true;
    waiter->asked_at = waiters->wakes;
    waiter->line->asking++;
    waiter->request->abandon = NULL;
    waiter->ask(waiter->request);
}

static void pump(struct pawl__waiters *waiters, struct pawl__waiters_line *line)
{
    struct pawl__waiter *waiter;
    while (!line->dry && line->asking < line->window && (waiter = next_to_ask(line))) {
        ask(waiters, waiter);
    }
}

static void wake_line(struct pawl__waiters *waiters, struct pawl__waiters_line *line)
{
    line->dry = false;
    line->again_at_ms = 0;
    if (!line->asking) line->window = 1;
    pump(waiters, line);
}

void pawl__waiters_wake(struct pawl__server *server)
{
    struct pawl__waiters *waiters = server->waiters;
    waiters->wakes++;
    waiters->woken_at_ms = pawl__server_now(server);
    for (struct pawl__waiters_line *line = waiters->lines; line; line = line->next) {
        wake_line(waiters, line);
    }
}

/* ---- those whose time is over ---- */

static void set_timer(struct pawl__waiters *waiters, int64_t at_ms);

static void abandon(struct pawl__request *request);
static void finish(struct pawl__request *request);

static struct pawl__waiter *find_late(const struct pawl__waiters *waiters, int64_t now_ms,
                                      int64_t *next_ms)
{
    *next_ms = 0;
    for (struct pawl__waiters_line *line = waiters->lines; line; line = line->next) {
        for (struct pawl__waiter *at = line->first; at; at = at->next) {
            if (at->asking) continue; // the answer looks at the time
            if (at->until_ms <= now_ms) return at;
            if (!*next_ms || at->until_ms < *next_ms) *next_ms = at->until_ms;
        }
    }
    return NULL;
}

static void give_up(struct pawl__server *server, struct pawl__waiter *waiter)
{
    pawl__waiters_leave(server, waiter);
    waiter->give_up(waiter->request);
}

/* Lines that were to ask again by now. */
static void ask_again(struct pawl__waiters *waiters, int64_t now_ms)
{
    for (struct pawl__waiters_line *line = waiters->lines; line; line = line->next) {
        if (!line->again_at_ms) continue;
        if (line->again_at_ms <= now_ms) {
            wake_line(waiters, line);
        } else {
            set_timer(waiters, line->again_at_ms);
        }
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct pawl__waiters *waiters = timer->data;
    int64_t now_ms = pawl__server_now(waiters->server), next_ms;
    struct pawl__waiter *late;
    waiters->timer_at_ms = 0;
    ask_again(waiters, now_ms);
    while ((late = find_late(waiters, now_ms, &next_ms))) {
        give_up(waiters->server, late);
    }
    if (next_ms) set_timer(waiters, next_ms);
}

static void set_timer(struct pawl__waiters *waiters, int64_t at_ms)
{
    if (waiters->timer_at_ms && waiters->timer_at_ms <= at_ms) return;
    int64_t wait_ms = at_ms - pawl__server_now(waiters->server);
    if (wait_ms < ROUND_MS) wait_ms = ROUND_MS;
    waiters->timer_at_ms = at_ms;
    uv_timer_start(&waiters->timer, on_timer, (uint64_t)wait_ms, 0);
}

/* A claim for the line brought nothing. */
static void came_to_nothing(struct pawl__waiters *waiters, struct pawl__waiters_line *line,
                            bool more)
{
    if (!more) {
        line->again_ms = 0;
        return;
    }
    line->again_ms = line->again_ms ? line->again_ms * 2 : AGAIN_MS;
    if (line->again_ms > AGAIN_MS_MAX) line->again_ms = AGAIN_MS_MAX;
    line->again_at_ms = pawl__server_now(waiters->server) + line->again_ms;
    set_timer(waiters, line->again_at_ms);
}

/* ---- lines ---- */

static struct pawl__waiters_line *find_line(const struct pawl__waiters *waiters, const char *queues)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&waiters->table, pawl__hash_text(queues));
    for (; link; link = pawl__hashtable_next(link)) {
        struct pawl__waiters_line *line = (struct pawl__waiters_line *)link;
        if (strcmp(line->queues, queues) == 0) return line;
    }
    return NULL;
}

static struct pawl__waiters_line *line_for(struct pawl__waiters *waiters, const char *queues)
{
    struct pawl__waiters_line *line = find_line(waiters, queues);
    if (line) return line;
    size_t len = strlen(queues) + 1;
    line = calloc(1, sizeof *line + len);
    if (!line) return NULL;
    memcpy(line->queues, queues, len);
    line->window = 1;
    if (!pawl__hashtable_add(&waiters->table, &line->link, pawl__hash_text(queues))) {
        free(line);
        return NULL;
    }
    line->next = waiters->lines;
    waiters->lines = line;
    return line;
}

bool pawl__waiters_has_line(const struct pawl__waiters *waiters, const char *queues)
{
    const struct pawl__waiters_line *line = find_line(waiters, queues);
    return line && line->first;
}

bool pawl__waiters_join(struct pawl__server *server, struct pawl__waiter *waiter,
                        const char *queues, uint64_t asked_at)
{
    struct pawl__waiters *waiters = server->waiters;
    assert(!waiter->line && waiter->request->conn);
    struct pawl__waiters_line *line = line_for(waiters, queues);
    if (!line) return false;
    waiter->line = line;
    PAWL__QUEUE_ADD(line->first, line->last, waiter, prev, next);
    waiter->request->abandon = abandon;
    waiter->request->finish = finish;
    set_timer(waiters, waiter->until_ms);
    if (waiter->more) came_to_nothing(waiters, line, true);
    if (asked_at == waiters->wakes) {
        line->dry = true;
    } else {
        pump(waiters, line);
    }
    return true;
}

void pawl__waiters_leave(struct pawl__server *server, struct pawl__waiter *waiter)
{
    (void)server;
    struct pawl__waiters_line *line = waiter->line;
    if (!line) return;
    PAWL__QUEUE_REMOVE(line->first, line->last, waiter, prev, next);
    if (waiter->asking) line->asking--;
    waiter->line = NULL;
    waiter->asking = false;
}

/* The client of a fetch that waits sends no more. It may have gone, and would take a job with it.
 */
static void finish(struct pawl__request *request)
{
    give_up(request->server, request->state);
}

/* The client went away while its fetch waited. */
static void abandon(struct pawl__request *request)
{
    pawl__waiters_leave(request->server, request->state);
}

static bool is_over(struct pawl__waiters *waiters, const struct pawl__waiter *waiter)
{
    return waiters->draining || pawl__request_gone(waiter->request) ||
           waiter->until_ms <= pawl__server_now(waiters->server);
}

void pawl__waiters_answered(struct pawl__server *server, struct pawl__waiter *waiter, bool found)
{
    struct pawl__waiters *waiters = server->waiters;
    struct pawl__waiters_line *line = waiter->line;
    if (!line) return;
    if (found) {
        pawl__waiters_leave(server, waiter);
        if (line->window < WINDOW_MAX) line->window *= 2;
        line->again_ms = 0;
        pump(waiters, line);
        return;
    }
    if (waiter->asked_at == waiters->wakes) line->dry = true;
    came_to_nothing(waiters, line, waiter->more);
    if (is_over(waiters, waiter)) {
        give_up(server, waiter);
    } else {
        waiter->asking = false;
        line->asking--;
        waiter->request->abandon = abandon;
        set_timer(waiters, waiter->until_ms);
    }
    pump(waiters, line);
}

/* ---- room ---- */

enum pawl_err pawl__waiters_new(struct pawl__server *server, struct pawl_diag *diag)
{
    struct pawl__waiters *waiters = calloc(1, sizeof *waiters);
    if (!waiters) return pawl__fail_nomem(diag);
    waiters->server = server;
    waiters->timer.data = waiters;
    uv_timer_init(&server->loop, &waiters->timer);
    server->waiters = waiters;
    return PAWL_OK;
}

static void drop_empty(struct pawl__waiters *waiters)
{
    struct pawl__waiters_line **at = &waiters->lines;
    while (*at) {
        struct pawl__waiters_line *line = *at;
        if (line->first) {
            at = &line->next;
            continue;
        }
        *at = line->next;
        pawl__hashtable_remove(&waiters->table, &line->link);
        free(line);
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void pawl__waiters_free(struct pawl__server *server)
{
    struct pawl__waiters *waiters = server->waiters;
    if (!waiters) return;
    server->waiters = NULL;
    drop_empty(waiters);
    assert(!waiters->lines); // connections go before components do
    pawl__hashtable_release(&waiters->table);
    uv_close((uv_handle_t *)&waiters->timer, on_closed);
}

void pawl__waiters_tick(struct pawl__server *server)
{
    struct pawl__waiters *waiters = server->waiters;
    drop_empty(waiters);
    bool late = pawl__server_now(server) - waiters->woken_at_ms >= SAFETY_MS;
    // a queue that was limited may have room again
    if (waiters->lines && (late || pawl__rates_any(server->rates))) pawl__waiters_wake(server);
}

void pawl__waiters_drain(struct pawl__server *server)
{
    struct pawl__waiters *waiters = server->waiters;
    struct pawl__waiter *waiter;
    int64_t next_ms;
    waiters->draining = true;
    while ((waiter = find_late(waiters, INT64_MAX, &next_ms))) {
        give_up(server, waiter);
    }
}
