/* The workers that this server has heard of.
 *
 * 1. The list is in order of when a worker was heard of last, so the silent are at one end.
 * 2. Beyond WORKERS_MAX, and after FORGET_MS, the most silent one is forgotten.
 * 3. Who is dead stays dead until he is heard of again.
 * 4. Silence counts only while we listen: after a stall of this process everybody gets his time
 *    anew, because what they sent meanwhile has not been read yet. */
#include "http/local/workers.h"
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
    LEASE_SLACK_MS = 1000 /* a lease that ends this much later was extended by somebody else */
};

struct pawl__crew {
    struct pawl__table table;
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
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "worker_id",
                       "worker_id must be a text of 1 to %d bytes", PAWL_WORKER_BYTES_MAX);
    return false;
}

/* ---- coming and going ---- */

struct pawl__crew *pawl__crew_new(void)
{
    return calloc(1, sizeof(struct pawl__crew));
}

static void unlink_worker(struct pawl__crew *crew, struct pawl__worker *worker)
{
    *(worker->older ? &worker->older->newer : &crew->oldest) = worker->newer;
    *(worker->newer ? &worker->newer->older : &crew->newest) = worker->older;
    worker->older = worker->newer = NULL;
}

static void link_newest(struct pawl__crew *crew, struct pawl__worker *worker)
{
    worker->older = crew->newest;
    *(worker->older ? &worker->older->newer : &crew->oldest) = worker;
    crew->newest = worker;
}

static void forget(struct pawl__crew *crew, struct pawl__worker *worker)
{
    unlink_worker(crew, worker);
    pawl__table_remove(&crew->table, &worker->link);
    free(worker->info);
    free(worker);
}

void pawl__crew_clear(struct pawl__crew *crew)
{
    while (crew->oldest) {
        forget(crew, crew->oldest);
    }
    crew->directive_count = 0;
}

void pawl__crew_free(struct pawl__crew *crew)
{
    if (!crew) return;
    pawl__crew_clear(crew);
    pawl__table_release(&crew->table);
    free(crew);
}

struct pawl__worker *pawl__crew_find(const struct pawl__crew *crew, const char *id)
{
    struct pawl__link *link = pawl__table_first(&crew->table, pawl__hash_text(id));
    for (; link; link = pawl__table_next(link)) {
        struct pawl__worker *worker = (struct pawl__worker *)link;
        if (strcmp(worker->id, id) == 0) return worker;
    }
    return NULL;
}

static struct pawl__worker *add(struct pawl__crew *crew, const char *id)
{
    size_t len = strlen(id) + 1;
    struct pawl__worker *worker = calloc(1, sizeof *worker + len);
    if (!worker) return NULL;
    memcpy(worker->id, id, len);
    if (!pawl__table_add(&crew->table, &worker->link, pawl__hash_text(id))) {
        free(worker);
        return NULL;
    }
    if (crew->table.count > WORKERS_MAX) forget(crew, crew->oldest);
    link_newest(crew, worker);
    return worker;
}

struct pawl__worker *pawl__crew_heard(struct pawl__server *server, const char *id, int64_t now_ms)
{
    struct pawl__crew *crew = server->crew;
    struct pawl__worker *worker = pawl__crew_find(crew, id);
    if (!worker) worker = add(crew, id);
    if (!worker) return NULL;
    unlink_worker(crew, worker);
    link_newest(crew, worker);
    if (!worker->first_at_ms) worker->first_at_ms = now_ms;
    worker->heard_at_ms = now_ms;
    worker->heard_ms = pawl__server_now(server);
    worker->dead = false;
    return worker;
}

void pawl__worker_tell(struct pawl__worker *worker, char *taken_info)
{
    free(worker->info);
    worker->info = taken_info;
}

/* ---- the dead ---- */

/* What a dead worker held, and until when at most if nobody but us extended it. */
struct grave {
    struct pawl *pawl;
    size_t count;
    struct {
        struct pawl_run run;
        int64_t until_ms;
    } held[];
};

/* A worker that is silent here may talk to another server: then its leases have moved on. */
static bool is_still_dead(struct pawl *pawl, const struct pawl_run *run, int64_t until_ms)
{
    struct pawl_jobs jobs = { 0 };
    bool dead = pawl_get(pawl, run->id, &jobs, NULL) == PAWL_OK && jobs.count == 1 &&
                jobs.at[0].state == PAWL_STATE_ACTIVE && jobs.at[0].run == run->run &&
                jobs.at[0].lease_until_ms <= until_ms + LEASE_SLACK_MS;
    pawl_jobs_release(&jobs);
    return dead;
}

static void bury(void *ctx)
{
    static const struct pawl_report report = {
        .type = "worker_death",
        .code = "worker_death",
        .message = "the worker sent no heartbeat for 30 s",
        .lapse = true,
    };
    struct grave *grave = ctx;
    for (size_t i = 0; i < grave->count; i++) {
        const struct pawl_run *run = &grave->held[i].run;
        if (!is_still_dead(grave->pawl, run, grave->held[i].until_ms)) continue;
        (void)!pawl_fail(grave->pawl, run, &report, NULL, NULL); // else its lease ends some day
    }
}

static bool holds(const struct pawl__worker *worker, const struct pawl__claim *claim)
{
    return claim->named && strcmp(claim->worker, worker->id) == 0;
}

static void die(struct pawl__server *server, struct pawl__worker *worker)
{
    size_t count = 0;
    struct pawl__claim *claim = NULL;
    worker->dead = true;
    worker->active = 0;
    struct pawl__note note = { .kind = PAWL__EVENT_WORKER_STOPPED, .subject = worker->id };
    if (server->events) pawl__events_note(server, &note);
    while ((claim = pawl__claims_next(server->claims, claim))) {
        count += holds(worker, claim);
    }
    struct grave *grave = NULL;
    if (count) grave = malloc(sizeof *grave + count * sizeof grave->held[0]);
    if (!grave) return;
    *grave = (struct grave){ .pawl = server->pawl };
    while ((claim = pawl__claims_next(server->claims, claim))) {
        if (!holds(worker, claim)) continue;
        grave->held[grave->count].run = (struct pawl_run){ claim->id, claim->run };
        grave->held[grave->count++].until_ms = claim->lease_until_ms;
    }
    if (!pawl__background_run(server, bury, free, grave)) free(grave);
}

void pawl__crew_tick(struct pawl__server *server)
{
    struct pawl__crew *crew = server->crew;
    int64_t now_ms = pawl__server_now(server);
    while (crew->oldest && now_ms - crew->oldest->heard_ms >= FORGET_MS) {
        forget(crew, crew->oldest);
    }
    if (crew->ticked_ms && now_ms - crew->ticked_ms >= STALL_MS) crew->awake_at_ms = now_ms;
    crew->ticked_ms = now_ms;
    if (crew->awake_at_ms && now_ms - crew->awake_at_ms < DEAD_MS) return;
    struct pawl__worker *worker = crew->oldest;
    for (; worker && now_ms - worker->heard_ms >= DEAD_MS; worker = worker->newer) {
        if (worker->beats && !worker->dead) die(server, worker);
    }
}

/* ---- operators ---- */

bool pawl__crew_direct(struct pawl__server *server, const char *id,
                       enum pawl__worker_state directive)
{
    struct pawl__worker *worker = pawl__crew_find(server->crew, id);
    if (!worker) {
        worker = add(server->crew, id);
        if (!worker) return false;
        worker->heard_ms = pawl__server_now(server);
    }
    worker->directive = directive;
    return true;
}

void pawl__crew_direct_all(struct pawl__crew *crew, enum pawl__worker_state directive)
{
    for (struct pawl__worker *worker = crew->newest; worker; worker = worker->older) {
        worker->directive = directive;
    }
}

bool pawl__crew_forget(struct pawl__crew *crew, const char *id)
{
    struct pawl__worker *worker = pawl__crew_find(crew, id);
    if (worker) forget(crew, worker);
    return worker != NULL;
}

const struct pawl__worker *pawl__crew_next(const struct pawl__crew *crew,
                                           const struct pawl__worker *after)
{
    return after ? after->older : crew->newest;
}

size_t pawl__crew_count(const struct pawl__crew *crew)
{
    return crew->table.count;
}

/* ---- test mode ---- */

void pawl__crew_directive(struct pawl__server *server, struct pawl_job_id id, const char *directive)
{
    struct pawl__crew *crew = server->crew;
    enum pawl__worker_state state = pawl__worker_state_of(directive);
    if (!server->config.test_mode || state == PAWL__WORKER_STATE_END) return;
    size_t at = crew->directive_count++ % DIRECTIVES_MAX;
    crew->directives[at].id = id;
    crew->directives[at].state = state;
}

enum pawl__worker_state pawl__crew_directive_of(const struct pawl__crew *crew,
                                                struct pawl_job_id id)
{
    size_t count = crew->directive_count;
    if (count > DIRECTIVES_MAX) count = DIRECTIVES_MAX;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&crew->directives[i].id, &id, sizeof id) == 0) return crew->directives[i].state;
    }
    return PAWL__WORKER_STATE_END;
}
