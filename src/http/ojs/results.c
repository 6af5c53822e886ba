/* Results of jobs, at once or when they are there.
 *
 * Who waits is parked on the loop; a move of his job to an end, or a notice that another process
 * changed something, makes the store be asked again, on the pool. What happens between that look
 * and the parking must not be missed: jobs that ended lately are remembered in a ring, and who
 * cannot rule out that his was one of them looks again at the next tick. Notices from elsewhere
 * tell of work to do, not of work that is done, so that everybody also looks by himself now and
 * then, less and less often. */
#include "http/ojs/ojs.h"
#include "base/list.h"
#include "base/hashtable.h"

#include <stdlib.h>
#include <string.h>

enum {
    WAIT_S_USUAL = 30,
    WAIT_S_MAX = 60,
    FOREIGN_PAUSE_MS = 100,
    LOOK_MS_MIN = 1000,
    LOOK_MS_MAX = 5000,
    IDS_MAX = 1000,
    REPLY_BYTES_MAX = 64 * 1024 * 1024,
    ENDED_KEPT = 1024
};

struct wait {
    struct pawl__hash_link link; /* first; by the job's id */
    struct pawl__request *request;
    struct wait *prev, *next;
    struct pawl_job_id id;
    int64_t until_ms; /* loop time */
    int64_t look_at_ms, pause_ms;
    uint64_t ended;   /* as the room's when the look began */
    uint64_t notices; /* likewise */
    bool last;        /* the answer comes now, whatever it is */
    bool listed;
};

struct pawl__results {
    struct pawl__server *server;
    struct wait *waits; /* newest first */
    struct pawl__hashtable by_id;
    struct pawl_job_id ring[ENDED_KEPT];
    uint64_t ended;    /* jobs, ever; the newest is before ring[ended % ENDED_KEPT] */
    uint64_t notices;  /* from elsewhere */
    int64_t looked_ms; /* after a notice from elsewhere */
    bool look;
};

struct pawl__results *pawl__results_new(struct pawl__server *server)
{
    struct pawl__results *results = calloc(1, sizeof *results);
    if (results) results->server = server;
    return results;
}

void pawl__results_free(struct pawl__results *results)
{
    if (!results) return;
    pawl__hashtable_release(&results->by_id);
    free(results);
}

/* ---- printing ---- */

/* Is the result older than its submitter wanted it to be kept (result_ttl, in seconds; negative:
 * for ever)? Who waited for it when it came gets it in any case. */
static bool is_pruned(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl__json json;
    int64_t ttl_s = -1;
    if (!job->result.len || !job->extra.len) return false;
    if (pawl__json_parse(job->extra, PAWL_JSON_DEPTH_MAX, &request->arena, &json, NULL)) {
        return false;
    }
    uint32_t ttl = pawl__json_member(&json, 0, "result_ttl");
    if (!ttl || !pawl__json_int(&json, ttl, &ttl_s) || ttl_s < 0) return false;
    return request->now_ms >= job->finished_at_ms &&
           (request->now_ms - job->finished_at_ms) / 1000 >= ttl_s;
}

static void print_result(struct pawl__buf *out, const struct pawl_job *job, bool pruned)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    pawl__buf_printf(out, "{\"job_id\":\"%s\",\"state\":\"%s\",\"result\":", id,
                     pawl_state_name(job->state, PAWL_VOCABULARY_OJS));
    if (job->result.len && !pruned) {
        pawl__buf_add(out, job->result.at, job->result.len);
    } else {
        pawl__buf_add_text(out, "null");
    }
    pawl__buf_add_text(out, "}");
}

/* ---- waiting ---- */

static uint64_t hash_of(const struct pawl_job_id *id)
{
    uint64_t hash;
    memcpy(&hash, id->b + sizeof id->b - sizeof hash, sizeof hash); // the random half
    return hash ^ hash >> 29;
}

static bool same(const struct pawl_job_id *a, const struct pawl_job_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* False: no memory. */
static bool list_wait(struct pawl__results *results, struct wait *wait)
{
    if (!pawl__hashtable_add(&results->by_id, &wait->link, hash_of(&wait->id))) return false;
    PAWL__LIST_PUSH(results->waits, wait, prev, next);
    wait->listed = true;
    return true;
}

static void unlist(struct pawl__results *results, struct wait *wait)
{
    if (!wait->listed) return;
    pawl__hashtable_remove(&results->by_id, &wait->link);
    PAWL__LIST_REMOVE(results->waits, wait, prev, next);
    wait->listed = false;
}

static void abandon(struct pawl__request *request)
{
    unlist(request->server->results, request->state);
}

/* On the pool: what is there, or 408 when this was the last look, or nothing yet. */
static void look(struct pawl__request *request)
{
    struct wait *wait = request->state;
    struct pawl_jobs jobs = { 0 };
    if (!pawl__job_read(request, wait->id, &jobs)) return;
    if (is_pruned(request, &jobs.at[0])) {
        pawl__reply_refuse(request, PAWL__FAULT_PRUNED, "",
                           "the job asked that its result be kept no longer (result_ttl)");
    } else if (pawl_state_is_terminal(jobs.at[0].state)) {
        print_result(&request->reply, &jobs.at[0], false);
        pawl__reply(request, 200);
    } else if (wait->last) {
        pawl__reply_refuse(request, PAWL__FAULT_STILL_RUNNING, "",
                           "the job is %s and has no result yet",
                           pawl_state_name(jobs.at[0].state, PAWL_VOCABULARY_OJS));
    } else {
        pawl__request_park(request);
    }
    pawl_jobs_release(&jobs);
}

/* May the job have ended since the look began? */
static bool may_have_ended(const struct pawl__results *results, const struct wait *wait)
{
    uint64_t missed = results->ended - wait->ended;
    if (missed > ENDED_KEPT || results->notices != wait->notices) return true;
    for (uint64_t i = wait->ended; i < results->ended; i++) {
        if (same(&results->ring[i % ENDED_KEPT], &wait->id)) return true;
    }
    return false;
}

/* Back on the loop, with nothing to tell yet. */
static void parked(struct pawl__request *request)
{
    struct pawl__results *results = request->server->results;
    struct wait *wait = request->state;
    wait->pause_ms = wait->pause_ms ? 2 * wait->pause_ms : LOOK_MS_MIN;
    if (wait->pause_ms > LOOK_MS_MAX) wait->pause_ms = LOOK_MS_MAX;
    wait->look_at_ms = pawl__server_now(results->server) + wait->pause_ms;
    if (may_have_ended(results, wait)) wait->look_at_ms = 0;
    if (list_wait(results, wait)) {
        request->abandon = abandon;
    } else {
        pawl__reply_nomem(request);
    }
}

static void look_again(struct pawl__results *results, struct wait *wait, bool last)
{
    unlist(results, wait);
    wait->last = last;
    wait->ended = results->ended;
    wait->notices = results->notices;
    wait->request->abandon = NULL;
    wait->request->parked = parked;
    pawl__request_to_pool(wait->request, look);
}

void pawl__on_result(struct pawl__request *request)
{
    int64_t timeout_s = WAIT_S_USUAL;
    bool waits = false;
    struct wait *wait = pawl__request_state(request, sizeof *wait);
    if (!wait) return;
    if (!pawl__request_job_id(request, 0, &wait->id)) return;
    if (!pawl__request_int(request, "timeout", 0, WAIT_S_MAX, &timeout_s)) return;
    if (!pawl__request_bool(request, "wait", &waits)) return;
    wait->request = request;
    wait->until_ms = pawl__server_now(request->server) + timeout_s * 1000;
    look_again(request->server->results, wait, !waits || !timeout_s || request->server->stopping);
}

void pawl__results_moved(struct pawl__results *results, const struct pawl_moved *moved)
{
    if (moved->lost) pawl__results_foreign(results); // one of those may be waited for
    if (!pawl_state_is_terminal(moved->to)) return;
    results->ring[results->ended++ % ENDED_KEPT] = moved->id;
    struct pawl__hash_link *next;
    struct pawl__hash_link *link = pawl__hashtable_first(&results->by_id, hash_of(&moved->id));
    for (; link; link = next) {
        struct wait *wait = (struct wait *)link;
        next = pawl__hashtable_next(link);
        if (same(&wait->id, &moved->id)) look_again(results, wait, false);
    }
}

void pawl__results_foreign(struct pawl__results *results)
{
    results->notices++;
    results->look = true;
}

void pawl__results_tick(struct pawl__results *results)
{
    int64_t now_ms = pawl__server_now(results->server);
    struct wait *next;
    bool look_at_all = results->look && now_ms >= results->looked_ms + FOREIGN_PAUSE_MS;
    if (look_at_all) {
        results->look = false;
        results->looked_ms = now_ms;
    }
    for (struct wait *wait = results->waits; wait; wait = next) {
        next = wait->next;
        bool over = now_ms >= wait->until_ms || results->server->stopping;
        if (over || look_at_all || now_ms >= wait->look_at_ms) look_again(results, wait, over);
    }
}

/* ---- several at once ---- */

/* False: answered. */
static bool add_result(struct pawl__request *request, struct pawl_job_id id, bool first)
{
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag;
    struct pawl__buf *out = &request->reply;
    enum pawl_err err = pawl_get(pawl__request_pawl(request), id, &jobs, &diag);
    bool there = !err;
    if (there) {
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(id, text);
        pawl__buf_printf(out, "%s\"%s\":", first ? "" : ",", text);
        print_result(out, &jobs.at[0], is_pruned(request, &jobs.at[0]));
    }
    pawl_jobs_release(&jobs);
    if (err && err != PAWL_ERR_NOT_FOUND) {
        pawl__buf_clear(out);
        pawl__reply_err(request, err, &diag);
    } else if (out->len > REPLY_BYTES_MAX) {
        pawl__buf_clear(out);
        pawl__reply_refuse(request, PAWL__FAULT_RESULT_TOO_LARGE, "ids",
                           "the results together have more than %d bytes: ask for fewer",
                           REPLY_BYTES_MAX);
    }
    return !request->status;
}

void pawl__on_results(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl__ids ids;
    if (!pawl__request_json(request, false, &json)) return;
    if (!pawl__ids_read(request, &json, "ids", IDS_MAX, &ids)) return;
    pawl__buf_add_text(&request->reply, "{\"results\":{");
    size_t head = request->reply.len;
    for (size_t i = 0; i < ids.count; i++) {
        if (!add_result(request, ids.at[i], request->reply.len == head)) return;
    }
    pawl__buf_add_text(&request->reply, "}}");
    pawl__reply(request, 200);
}
