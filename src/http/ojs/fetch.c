/* Fetching: POST /ojs/v1/workers/fetch. And the first step of a lease in two: POST
 * /ojs/v1/workers/route, which is a fetch whose jobs are reserved for the worker and do not run yet
 * (route.c has what follows).
 *
 * 1. One claim serves the whole list of queues, left to right. Only when some queue is limited in
 *    its rate the list is asked in pieces: limited queues alone, the others together.
 * 2. What was claimed is either answered, or given back when the client has gone away meanwhile.
 * 3. A fetch that brought nothing although more may be there (others hold it for a moment) waits
 *    HELD_MS at least, also if it was not to wait.
 * 4. A reply holds no more than reply_bytes_max of arguments, and at least one job: the claim ends
 *    there. Many bytes are printed on the pool.
 * 5. Jobs that ran before, or have a checkpoint, are shown with what is known of that, and steps of
 *    workflows with the results of earlier steps: the pool reads it. Others are printed as they
 * were claimed. */
#include "http/ojs/checkpoint.h"
#include "http/local/local.h"
#include "http/ojs/ojs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES_MAX = 100, HELD_MS = 50, ROUTE_MS = 5000 };
#define LEASE_MS INT64_C(1800000)

struct fetch {
    struct pawl__waiter waiter; /* first: see waiters.h */
    const char **queues;
    size_t queue_count;
    const char *line;   /* the queues as one text; NULL: it does not wait */
    bool routes;        /* the jobs are routed, not claimed */
    const char *worker; /* whose the jobs will be */
    bool named;
    int64_t count;
    int64_t lease_ms;
    uint64_t asked_at;
    /* one round of asking: */
    size_t at;           /* the next queue */
    const char *limited; /* the one being asked, when it is limited */
    int64_t reserved;    /* tokens taken for it */
    size_t found;
    int64_t bytes;                /* of their arguments */
    bool more;                    /* the claim left some behind */
    bool past;                    /* some ran before */
    struct pawl_answer **answers; /* one for each piece at most */
    size_t answer_count;
};

/* ---- what is asked for ---- */

static bool read_queues(struct pawl__request *request, const struct pawl__json *json,
                        struct fetch *fetch)
{
    uint32_t array = pawl__json_member(json, 0, "queues");
    bool ok = array && json->tokens[array].type == PAWL__JSON_ARRAY;
    uint32_t count = ok ? json->tokens[array].count : 0;
    if (!count || count > QUEUES_MAX) {
        return pawl__reply_invalid(request, "queues", "queues must be an array of 1 to %d names",
                                   QUEUES_MAX);
    }
    fetch->queues = pawl__arena_calloc(&request->arena, count, sizeof *fetch->queues);
    uint32_t token = pawl__json_first(array);
    for (; ok && fetch->queues && fetch->queue_count < count; token = json->tokens[token].next) {
        ok = json->tokens[token].type == PAWL__JSON_STRING;
        size_t len = 0;
        char *name = ok ? pawl__json_string(json, token, &request->arena, &len) : NULL;
        ok = name && len && strlen(name) == len;
        fetch->queues[fetch->queue_count++] = name;
    }
    if (ok && fetch->queues) return true;
    return pawl__reply_invalid(request, "queues", "queues must hold names of queues");
}

/* No queue's name holds a blank. */
static const char *line_of(struct pawl__request *request, const struct fetch *fetch)
{
    struct pawl__buf line = { 0 };
    for (size_t i = 0; i < fetch->queue_count; i++) {
        pawl__buf_add_text(&line, fetch->queues[i]);
        pawl__buf_add(&line, " ", 1);
    }
    char *text = line.failed ? NULL : pawl__arena_dup(&request->arena, line.at, line.len);
    pawl__buf_release(&line);
    return text;
}

static bool name_worker(struct pawl__request *request, struct fetch *fetch)
{
    fetch->named = fetch->worker != NULL;
    if (fetch->named) return pawl__worker_id_ok(request, fetch->worker);
    char name[sizeof PAWL__ANONYMOUS - 1 + PAWL_JOB_ID_TEXT_BYTES] = PAWL__ANONYMOUS;
    pawl_job_id_text(pawl__idgen_next(&request->server->ids), name + sizeof PAWL__ANONYMOUS - 1);
    fetch->worker = pawl__arena_dup(&request->arena, name, sizeof name - 1);
    if (fetch->worker) return true;
    return pawl__reply_nomem(request);
}

static bool read_fetch(struct pawl__request *request, struct fetch *fetch)
{
    const struct pawl__http_limits *limits = &request->server->config.limits;
    struct pawl__json json;
    int64_t wait_ms = 0;
    const char *lease = fetch->routes ? "reserve_ms" : "visibility_timeout_ms";
    fetch->count = 1;
    fetch->lease_ms = fetch->routes ? ROUTE_MS : LEASE_MS;
    if (!pawl__request_json(request, false, &json) || !read_queues(request, &json, fetch) ||
        !pawl__body_int(request, &json, 0, "count", 1, limits->fetch_count_max, &fetch->count) ||
        !pawl__body_int(request, &json, 0, lease, PAWL__VISIBILITY_MS_MIN, PAWL__VISIBILITY_MS_MAX,
                        &fetch->lease_ms) ||
        !pawl__body_int(request, &json, 0, "wait_ms", 0, INT32_MAX, &wait_ms) ||
        !pawl__body_text(request, &json, 0, "worker_id", &fetch->worker)) {
        return false;
    }
    if (fetch->routes && !fetch->worker) {
        return pawl__reply_invalid(request, "worker_id",
                                   "worker_id must name the worker that jobs are routed to");
    }
    if (!name_worker(request, fetch)) return false;
    if (fetch->count > PAWL_CLAIM_MAX) fetch->count = PAWL_CLAIM_MAX;
    if (wait_ms > limits->fetch_wait_ms_max) wait_ms = limits->fetch_wait_ms_max;
    if (wait_ms) fetch->waiter.until_ms = pawl__server_now(request->server) + wait_ms;
    fetch->answers =
        pawl__arena_calloc(&request->arena, fetch->queue_count, sizeof *fetch->answers);
    if (wait_ms) fetch->line = line_of(request, fetch);
    if (fetch->answers && (fetch->line || !wait_ms)) return true;
    return pawl__reply_nomem(request);
}

/* ---- answering ---- */

static void free_answers(struct fetch *fetch)
{
    for (size_t i = 0; i < fetch->answer_count; i++) {
        pawl_answer_free(fetch->answers[i]);
    }
    fetch->answer_count = fetch->found = 0;
    fetch->bytes = 0;
}

static void reply_nothing(struct pawl__request *request)
{
    const struct fetch *fetch = request->state;
    pawl__buf_printf(&request->reply, "{\"%s\":[]}", fetch->routes ? "routes" : "jobs");
    pawl__reply(request, 200);
}

static void reply_full(struct pawl__request *request)
{
    pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "",
                       "too many large replies are under way");
}

/* Jobs whose client has gone away, given back free of charge. */
struct give_back {
    struct pawl *pawl;
    char worker[PAWL_WORKER_BYTES_MAX + 1]; /* of routed jobs; "": they run */
    size_t count;
    struct {
        struct pawl_run run;
        int64_t token; /* of a routed job */
    } jobs[];
};

/* What cannot be given back comes back by itself when its lease ends. */
static void do_give_back(void *ctx)
{
    struct give_back *back = ctx;
    for (size_t i = 0; i < back->count; i++) {
        if (!back->worker[0]) {
            (void)!pawl_give_back(back->pawl, &back->jobs[i].run, 0, NULL);
            continue;
        }
        const struct pawl_routed routed = { .id = back->jobs[i].run.id,
                                            .worker = back->worker,
                                            .token = back->jobs[i].token };
        (void)!pawl_unroute(back->pawl, &routed, NULL);
    }
}

static void give_back(struct pawl__request *request, struct fetch *fetch)
{
    struct give_back *back = calloc(1, sizeof *back + fetch->found * sizeof *back->jobs);
    for (size_t i = 0; i < fetch->answer_count; i++) {
        const struct pawl_answer *answer = fetch->answers[i];
        for (size_t k = 0; k < answer->job_count; k++) {
            const struct pawl_job *job = &answer->jobs[k];
            pawl__leases_drop(request->server->leases, job->id, job->run);
            if (!back) continue;
            assert(back->count < fetch->found);
            back->jobs[back->count].run = (struct pawl_run){ job->id, job->run };
            back->jobs[back->count++].token = job->lease_until_ms;
        }
    }
    if (!back) return;
    back->pawl = request->server->pawl;
    if (fetch->routes) snprintf(back->worker, sizeof back->worker, "%s", fetch->worker);
    if (!pawl__background_run(request->server, do_give_back, free, back)) free(back);
}

/* What the earlier steps of its workflow left, unless that makes the reply too long. */
static void read_parents(struct pawl__request *request, const struct pawl_job *job,
                         struct pawl_flow_inputs *parents, struct pawl__envelope_more *more)
{
    int64_t bytes = 0, room = request->server->config.limits.reply_bytes_max;
    more->has_parents = true;
    if (pawl_flow_earlier_get(request->server->pawl, job->id, parents, NULL)) return;
    for (size_t i = 0; i < parents->count; i++) {
        bytes += (int64_t)parents->at[i].result.len;
    }
    bool first = request->reply.len <= PAWL__LARGE_BYTES;
    if (!first && bytes + (int64_t)request->reply.len > room) parents->omitted_bytes = bytes;
    more->workflow = parents->flow;
    more->parents = parents;
}

bool pawl__job_has_past(struct pawl__request *request, const struct pawl_job *job)
{
    return pawl_flow_has_inputs(job) || pawl__leases_has_past(request->server->leases, job);
}

/* A story that cannot be read is no reason to withhold the job. */
void pawl__job_print_with_past(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl_story story = { 0 };
    struct pawl__envelope_more more = { 0 };
    struct pawl_flow_inputs parents = { .at = NULL };
    struct pawl__arena arena = { 0 };
    if (pawl_flow_has_inputs(job)) read_parents(request, job, &parents, &more);
    if (pawl_story_get(request->server->pawl, job->id, &story, NULL) == PAWL_OK) {
        more.failures = story.failures;
        more.failure_count = story.failure_count;
        more.checkpoint_sequence = story.checkpoint_sequence;
        more.checkpoint = pawl__checkpoint_unwrap(story.checkpoint, &arena).state;
    }
    pawl__envelope_print(&request->reply, job, &more);
    pawl__arena_release(&arena);
    pawl_story_release(&story);
    pawl_flow_inputs_release(&parents);
}

static void print_jobs(struct pawl__request *request,
                       void (*print)(struct pawl__request *request, const struct pawl_job *job))
{
    const struct fetch *fetch = request->state;
    const char *before = fetch->routes ? "{\"routes\":[" : "{\"jobs\":[";
    for (size_t i = 0; i < fetch->answer_count; i++) {
        const struct pawl_answer *answer = fetch->answers[i];
        for (size_t k = 0; k < answer->job_count; k++) {
            pawl__buf_add_text(&request->reply, before);
            print(request, &answer->jobs[k]);
            before = ",";
        }
    }
    pawl__buf_add_text(&request->reply, "]}");
}

static void print_plain(struct pawl__request *request, const struct pawl_job *job)
{
    const struct fetch *fetch = request->state;
    if (fetch->routes) {
        pawl__routed_print(&request->reply, job);
    } else {
        pawl__envelope_print(&request->reply, job, NULL);
    }
}

/* The last moment at which we know that nobody is there to take them. Who sends no more but still
 * listens must not read of jobs that he does not get. */
static void hand_over(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    bool gone = pawl__request_gone(request);
    bool full = fetch->bytes > PAWL__LARGE_BYTES &&
                !pawl__replies_have_room(request->server, request->reply.len);
    if (gone || full || request->reply.failed) give_back(request, fetch);
    free_answers(fetch);
    if (gone) {
        pawl__buf_clear(&request->reply);
        reply_nothing(request);
    } else if (full) {
        pawl__buf_release(&request->reply);
        reply_full(request);
    } else {
        pawl__reply(request, 200);
    }
}

static void print_on_pool(void *ctx)
{
    struct pawl__request *request = ctx;
    const struct fetch *fetch = request->state;
    print_jobs(request, fetch->past ? pawl__job_print_with_past : print_plain);
}

static void printed(void *ctx)
{
    hand_over(ctx);
}

static bool note_leases(struct pawl__request *request, const struct fetch *fetch)
{
    struct pawl__leases *leases = request->server->leases;
    bool past = false;
    for (size_t i = 0; i < fetch->answer_count; i++) {
        const struct pawl_answer *answer = fetch->answers[i];
        for (size_t k = 0; k < answer->job_count; k++) {
            past = past || pawl__job_has_past(request, &answer->jobs[k]);
            pawl__leases_put(leases, &answer->jobs[k], fetch->lease_ms);
        }
    }
    return past;
}

static void reply_jobs(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    if (pawl__request_gone(request)) {
        hand_over(request);
        return;
    }
    fetch->past = !fetch->routes && note_leases(request, fetch);
    bool slow = fetch->past || fetch->bytes > PAWL__LARGE_BYTES;
    if (slow && pawl__background_run(request->server, print_on_pool, printed, request)) return;
    print_jobs(request, print_plain);
    hand_over(request);
}

/* ---- asking ---- */

static void ask_next(struct pawl__request *request);

/* Is there nothing (more) to ask in this round? Chooses the next piece. */
static bool next_piece(struct pawl__request *request, struct fetch *fetch, struct pawl_claim *out)
{
    struct pawl__rates *rates = request->server->rates;
    int64_t now_ms = pawl__server_now(request->server), room = 0;
    bool any = pawl__rates_any(rates);
    int64_t bytes_left = request->server->config.limits.reply_bytes_max - fetch->bytes;
    if (fetch->found && (fetch->waiter.more || bytes_left <= 0)) return false; // as much as may be
    *out = (struct pawl_claim){ .limit = fetch->count - (int64_t)fetch->found,
                                .bytes_max = bytes_left,
                                .worker = fetch->worker,
                                .lease_ms = fetch->lease_ms,
                                .timed = !fetch->routes };
    fetch->limited = NULL;
    while (fetch->at < fetch->queue_count && out->limit > 0) {
        const char *queue = fetch->queues[fetch->at];
        room = any ? pawl__rates_room(rates, queue, now_ms) : INT64_MAX;
        if (room < INT64_MAX && out->queue_count) break;
        fetch->at++;
        if (!room) continue;
        if (!out->queue_count) out->queues = &fetch->queues[fetch->at - 1];
        out->queue_count++;
        if (room == INT64_MAX) continue;
        if (room < out->limit) out->limit = room;
        fetch->limited = queue;
        fetch->reserved = out->limit;
        pawl__rates_take(rates, queue, out->limit);
        break;
    }
    return out->queue_count > 0;
}

static void wait_a_moment(struct pawl__request *request, struct fetch *fetch)
{
    int64_t until_ms = pawl__server_now(request->server) + HELD_MS;
    if (!fetch->line) fetch->line = line_of(request, fetch);
    if (fetch->line && fetch->waiter.until_ms < until_ms) fetch->waiter.until_ms = until_ms;
}

static void came_to_nothing(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    struct pawl__server *server = request->server;
    free_answers(fetch);
    if (fetch->waiter.line) {
        pawl__waiters_answered(server, &fetch->waiter, false); // waits on, or is given up
        return;
    }
    if (fetch->waiter.more) wait_a_moment(request, fetch);
    bool waits = fetch->waiter.until_ms > pawl__server_now(server) && !server->stopping &&
                 !pawl__request_gone(request);
    if (waits && pawl__waiters_join(server, &fetch->waiter, fetch->line, fetch->asked_at)) return;
    reply_nothing(request);
}

static void end_round(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    if (!fetch->found) {
        came_to_nothing(request);
        return;
    }
    pawl__waiters_answered(request->server, &fetch->waiter, true);
    reply_jobs(request);
}

/* What earlier pieces brought is not lost with a later one. */
static void fail_round(struct pawl__request *request, enum pawl_err err,
                       const struct pawl_diag *diag)
{
    struct fetch *fetch = request->state;
    if (fetch->found) {
        end_round(request);
        return;
    }
    free_answers(fetch);
    pawl__waiters_leave(request->server, &fetch->waiter);
    pawl__reply_err(request, err, diag);
}

static void on_claimed(struct pawl__request *request, struct pawl_answer *answer)
{
    struct fetch *fetch = request->state;
    size_t found = answer->err ? 0 : answer->job_count;
    if (fetch->limited) {
        pawl__rates_take(request->server->rates, fetch->limited, (int64_t)found - fetch->reserved);
    }
    if (answer->err) {
        fail_round(request, answer->err, &answer->diag);
        pawl_answer_free(answer);
        return;
    }
    fetch->found += found;
    fetch->waiter.more |= answer->more;
    for (size_t i = 0; i < found; i++) {
        fetch->bytes += (int64_t)answer->jobs[i].args.len;
    }
    fetch->answers[fetch->answer_count++] = answer;
    ask_next(request);
}

static void ask_next(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    struct pawl_claim claim;
    struct pawl_diag diag = { 0 };
    if (pawl__request_gone(request) || !next_piece(request, fetch, &claim)) {
        end_round(request);
        return;
    }
    pawl__request_posting(request, on_claimed);
    enum pawl_err err = (fetch->routes ? pawl_post_route : pawl_post_claim)(
        request->server->pawl, &claim, pawl__request_answered, request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    if (fetch->limited) {
        pawl__rates_take(request->server->rates, fetch->limited, -fetch->reserved);
    }
    fail_round(request, err, &diag);
}

/* May the worker be given anything? One that was told to stop gets nothing, also if it was told
 * while it waited. */
static bool takes_jobs(struct pawl__request *request, const struct fetch *fetch)
{
    if (!fetch->named) return true;
    const struct pawl__worker *worker = pawl__workers_find(request->server->workers, fetch->worker);
    return !worker || pawl__worker_takes(worker);
}

static void ask(struct pawl__request *request)
{
    struct fetch *fetch = request->state;
    if (!takes_jobs(request, fetch)) {
        pawl__waiters_leave(request->server, &fetch->waiter);
        reply_nothing(request);
        return;
    }
    if (!pawl__replies_have_room(request->server, PAWL__LARGE_BYTES)) { // it might be large
        pawl__waiters_leave(request->server, &fetch->waiter);
        reply_full(request);
        return;
    }
    fetch->at = 0;
    fetch->waiter.more = false;
    fetch->asked_at = pawl__waiters_count(request->server->waiters);
    ask_next(request);
}

static void begin(struct pawl__request *request, bool routes)
{
    struct pawl__server *server = request->server;
    struct fetch *fetch = pawl__request_state(request, sizeof *fetch);
    if (!fetch) return;
    fetch->routes = routes;
    if (!read_fetch(request, fetch)) return;
    fetch->waiter.request = request;
    fetch->waiter.ask = ask;
    fetch->waiter.give_up = reply_nothing;
    if (fetch->named && !routes) { // a router speaks of another
        (void)pawl__workers_heard(server, fetch->worker, request->now_ms);
    }
    // others wait for the same already: their turn comes first
    if (fetch->waiter.until_ms && !server->stopping && !pawl__request_gone(request) &&
        takes_jobs(request, fetch) && pawl__waiters_has_line(server->waiters, fetch->line) &&
        pawl__waiters_join(server, &fetch->waiter, fetch->line, PAWL__WAITERS_NEVER)) {
        return;
    }
    ask(request);
}

void pawl__on_fetch(struct pawl__request *request)
{
    begin(request, false);
}

void pawl__on_route(struct pawl__request *request)
{
    begin(request, true);
}
