/* The workers that this server has heard of.
 *
 * 1. The list is in order of when a worker was heard of last, so the silent are at one end.
 * 2. Beyond WORKERS_MAX, and after FORGET_MS, the most silent one is forgotten.
 * 3. A dead worker stays dead until it is heard of again.
 * 4. Silence counts only while this process listens: after a stall every worker gets the full time
 *    again, because what it sent meanwhile has not been read yet. */
#include "http/local/workers.h"
#include "base/list.h"
#include "http/local/leases.h"
#include "http/events/events.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS_MAX = 10000,
    DIRECTIVES_MAX = 1024,
    DEAD_MS = 30000,
    STALL_MS = 10000, /* between two ticks, of which there should be two in a second */
    FORGET_MS = 3600000,
    LEASE_SLACK_MS = 1000 /* a lease that ends this much later was extended by another server */
};

struct pawl__workers {
    struct pawl__hashtable table;
    struct pawl__worker *oldest, *newest;
    int64_t ticked_ms;   /* loop time; 0: not yet */
    int64_t awake_at_ms; /* loop time: since when there was no stall */
    struct {
        struct pawl_job_id id;
        enum pawl__worker_state state;
    } directives[DIRECTIVES_MAX]; /* a ring */
    size_t directive_count;       /* ever */
};

/* ---- states ---- */

static const struct {
    const char *name;
    bool takes;
} states[PAWL__WORKER_STATE_END] = {
#define X(name, text, takes) [PAWL__WORKER_##name] = { text, takes },
    PAWL__WORKER_STATES(X)
#undef X
};

const char *pawl__worker_state_name(enum pawl__worker_state state)
{
    assert(state < PAWL__WORKER_STATE_END);
    return states[state].name;
}

enum pawl__worker_state pawl__worker_state_of(const char *name)
{
    enum pawl__worker_state state = 0;
    while (state < PAWL__WORKER_STATE_END && strcmp(states[state].name, name) != 0) {
        state++;
    }
    return state;
}

bool pawl__worker_takes(const struct pawl__worker *worker)
{
    return states[worker->state].takes && states[worker->directive].takes;
}

bool pawl__worker_id_ok(struct pawl__request *request, const char *id)
{
    if (id && id[0] && strlen(id) <= PAWL_WORKER_BYTES_MAX) return true;
    return pawl__reply_invalid(request, "worker_id", "worker_id must be a text of 1 to %d bytes",
                               PAWL_WORKER_BYTES_MAX);
}

/* ---- coming and going ---- */

struct pawl__workers *pawl__workers_new(void)
{
    return calloc(1, sizeof(struct pawl__workers));
}

static void forget(struct pawl__workers *workers, struct pawl__worker *worker)
{
    PAWL__QUEUE_REMOVE(workers->oldest, workers->newest, worker, older, newer);
    pawl__hashtable_remove(&workers->table, &worker->link);
    free(worker->info);
    free(worker);
}

void pawl__workers_clear(struct pawl__workers *workers)
{
    while (workers->oldest) {
        forget(workers, workers->oldest);
    }
    workers->directive_count = 0;
}

void pawl__workers_free(struct pawl__workers *workers)
{
    if (!workers) return;
    pawl__workers_clear(workers);
    pawl__hashtable_release(&workers->table);
    free(workers);
}

struct pawl__worker *pawl__workers_find(const struct pawl__workers *workers, const char *id)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&workers->table, pawl__hash_text(id));
    for (; link; link = pawl__hashtable_next(link)) {
        struct pawl__worker *worker = (struct pawl__worker *)link;
        if (strcmp(worker->id, id) == 0) return worker;
    }
    return NULL;
}

static struct pawl__worker *add(struct pawl__workers *workers, const char *id)
{
    size_t len = strlen(id) + 1;
    struct pawl__worker *worker = calloc(1, sizeof *worker + len);
    if (!worker) return NULL;
    memcpy(worker->id, id, len);
    if (!pawl__hashtable_add(&workers->table, &worker->link, pawl__hash_text(id))) {
        free(worker);
        return NULL;
    }
    if (workers->table.count > WORKERS_MAX) forget(workers, workers->oldest);
    PAWL__QUEUE_ADD(workers->oldest, workers->newest, worker, older, newer);
    return worker;
}

struct pawl__worker *pawl__workers_heard(struct pawl__server *server, const char *id,
                                         int64_t now_ms)
{
    struct pawl__workers *workers = server->workers;
    struct pawl__worker *worker = pawl__workers_find(workers, id);
    if (!worker) worker = add(workers, id);
    if (!worker) return NULL;
    PAWL__QUEUE_REMOVE(workers->oldest, workers->newest, worker, older, newer);
    PAWL__QUEUE_ADD(workers->oldest, workers->newest, worker, older, newer);
    if (!worker->first_at_ms) worker->first_at_ms = now_ms;
    worker->heard_at_ms = now_ms;
    worker->heard_ms = pawl__server_now(server);
    worker->dead = false;
    return worker;
}

void pawl__worker_set_info(struct pawl__worker *worker, char *taken_info)
{
    free(worker->info);
    worker->info = taken_info;
}

/* ---- dead workers ---- */

/* The runs of a dead worker, and until when their leases last at most if no other server extended
 * them. */
struct lost_runs {
    struct pawl *pawl;
    size_t count;
    struct {
        struct pawl_run run;
        int64_t until_ms;
    } held[];
};

/* False for a worker that is silent here but talks to another server, which extends its leases. */
static bool is_still_held(struct pawl *pawl, const struct pawl_run *run, int64_t until_ms)
{
    struct pawl_jobs jobs = { 0 };
    bool held = pawl_get(pawl, run->id, &jobs, NULL) == PAWL_OK && jobs.count == 1 &&
                jobs.at[0].state == PAWL_STATE_ACTIVE && jobs.at[0].run == run->run &&
                jobs.at[0].lease_until_ms <= until_ms + LEASE_SLACK_MS;
    pawl_jobs_release(&jobs);
    return held;
}

static void fail_runs(void *ctx)
{
    static const struct pawl_report report = {
        .type = "worker_death",
        .code = "worker_death",
        .message = "the worker sent no heartbeat for 30 s",
        .lapse = true,
    };
    struct lost_runs *lost = ctx;
    for (size_t i = 0; i < lost->count; i++) {
        const struct pawl_run *run = &lost->held[i].run;
        if (!is_still_held(lost->pawl, run, lost->held[i].until_ms)) continue;
        (void)!pawl_fail(lost->pawl, run, &report, NULL,
                         NULL); // on failure the lease ends by itself
    }
}

static bool holds(const struct pawl__worker *worker, const struct pawl__lease *lease)
{
    return lease->named && strcmp(lease->worker, worker->id) == 0;
}

static void declare_dead(struct pawl__server *server, struct pawl__worker *worker)
{
    size_t count = 0;
    struct pawl__lease *lease = NULL;
    worker->dead = true;
    worker->active = 0;
    struct pawl__note note = { .kind = PAWL__EVENT_WORKER_STOPPED, .subject = worker->id };
    if (server->events) pawl__events_note(server, &note);
    while ((lease = pawl__leases_next(server->leases, lease))) {
        count += holds(worker, lease);
    }
    struct lost_runs *lost = NULL;
    if (count) lost = malloc(sizeof *lost + count * sizeof lost->held[0]);
    if (!lost) return;
    *lost = (struct lost_runs){ .pawl = server->pawl };
    while ((lease = pawl__leases_next(server->leases, lease))) {
        if (!holds(worker, lease)) continue;
        lost->held[lost->count].run = (struct pawl_run){ lease->id, lease->run };
        lost->held[lost->count++].until_ms = lease->lease_until_ms;
    }
    if (!pawl__background_run(server, fail_runs, free, lost)) free(lost);
}

void pawl__workers_tick(struct pawl__server *server)
{
    struct pawl__workers *workers = server->workers;
    int64_t now_ms = pawl__server_now(server);
    while (workers->oldest && now_ms - workers->oldest->heard_ms >= FORGET_MS) {
        forget(workers, workers->oldest);
    }
    if (workers->ticked_ms && now_ms - workers->ticked_ms >= STALL_MS)
        workers->awake_at_ms = now_ms;
    workers->ticked_ms = now_ms;
    if (workers->awake_at_ms && now_ms - workers->awake_at_ms < DEAD_MS) return;
    struct pawl__worker *worker = workers->oldest;
    for (; worker && now_ms - worker->heard_ms >= DEAD_MS; worker = worker->newer) {
        if (worker->beats && !worker->dead) declare_dead(server, worker);
    }
}

/* ---- operators ---- */

bool pawl__workers_direct(struct pawl__server *server, const char *id,
                          enum pawl__worker_state directive)
{
    struct pawl__worker *worker = pawl__workers_find(server->workers, id);
    if (!worker) {
        worker = add(server->workers, id);
        if (!worker) return false;
        worker->heard_ms = pawl__server_now(server);
    }
    worker->directive = directive;
    return true;
}

void pawl__workers_direct_all(struct pawl__workers *workers, enum pawl__worker_state directive)
{
    for (struct pawl__worker *worker = workers->newest; worker; worker = worker->older) {
        worker->directive = directive;
    }
}

bool pawl__workers_forget(struct pawl__workers *workers, const char *id)
{
    struct pawl__worker *worker = pawl__workers_find(workers, id);
    if (worker) forget(workers, worker);
    return worker != NULL;
}

const struct pawl__worker *pawl__workers_next(const struct pawl__workers *workers,
                                              const struct pawl__worker *after)
{
    return after ? after->older : workers->newest;
}

size_t pawl__workers_count(const struct pawl__workers *workers)
{
    return workers->table.count;
}

/* ---- test mode ---- */

void pawl__workers_directive(struct pawl__server *server, struct pawl_job_id id,
                             const char *directive)
{
    struct pawl__workers *workers = server->workers;
    enum pawl__worker_state state = pawl__worker_state_of(directive);
    if (!server->config.test_mode || state == PAWL__WORKER_STATE_END) return;
    size_t at = workers->directive_count++ % DIRECTIVES_MAX;
    workers->directives[at].id = id;
    workers->directives[at].state = state;
}

enum pawl__worker_state pawl__workers_directive_of(const struct pawl__workers *workers,
                                                   struct pawl_job_id id)
{
    size_t count = workers->directive_count;
    if (count > DIRECTIVES_MAX) count = DIRECTIVES_MAX;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&workers->directives[i].id, &id, sizeof id) == 0)
            return workers->directives[i].state;
    }
    return PAWL__WORKER_STATE_END;
}
