/* Results of jobs, now or when they are available.
 *
 * A request that waits is parked on the loop. When its job ends, or another process reports a
 * change, the store is asked again, on the pool. A job may end between that look and the parking,
 * so the latest jobs that ended are kept in a ring: if the job may have been among them, the
 * request looks again at the next tick. Notices from other processes report work to do, not work
 * that is done, so every request also looks at intervals, which grow. */
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
    uint64_t ended;   /* the counter when the look began */
    uint64_t notices; /* likewise */
    bool last;        /* this look is answered in any case */
    bool listed;
};

struct pawl__results {
    struct pawl__server *server;
    struct wait *waits; /* newest first */
    struct pawl__hashtable by_id;
    struct pawl_job_id ring[ENDED_KEPT];
    uint64_t ended;    /* jobs so far; the newest is before ring[ended % ENDED_KEPT] */
    uint64_t notices;  /* from other processes */
    int64_t looked_ms; /* after such a notice */
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

/* Is the result older than result_ttl (in seconds; negative: unlimited)? A request that waits for
 * it when it comes gets it in any case. */
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

#define S struct pawl_job
static const struct pawl__member result_members[] = {
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__ojs_state_words, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("result", JSON, S, result, .flags = PAWL__NULLABLE),
};
const struct pawl__shape pawl__ojs_result_reply_shape = PAWL__SHAPE(S, result_members);
#undef S

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

/* On the pool: replies with the result; parks the request if there is none, or after the last look
 * replies 408. */
static void look(struct pawl__request *request)
{
    struct wait *wait = request->state;
    struct pawl_jobs jobs = { 0 };
    if (!pawl__job_read(request, wait->id, &jobs)) return;
    if (is_pruned(request, &jobs.at[0])) {
        pawl__reply_refuse(request, PAWL__FAULT_PRUNED, "",
                           "the result was kept no longer than the job's result_ttl");
    } else if (pawl_state_is_terminal(jobs.at[0].state)) {
        pawl__reply_shape(request, 200, &pawl__ojs_result_reply_shape, &jobs.at[0]);
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

/* Back on the loop, without a result. */
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
    if (moved->lost) pawl__results_foreign(results); // a request may wait for one of them
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

struct request {
    struct pawl__ids ids;
};
static const struct pawl__member request_members[] = {
    PAWL__IDS("ids", struct request, ids, IDS_MAX, .flags = PAWL__REQUIRED),
};
const struct pawl__shape pawl__ojs_results_request_shape =
    PAWL__SHAPE(struct request, request_members);

struct reply {
    struct pawl__request *request;
    const struct pawl__ids *ids;
    enum pawl_err err;
    struct pawl_diag diag;
};

/* Appends the result under the job's id, or nothing if there is no such job. */
static enum pawl_err print_result(const struct pawl__shape_writer *writer,
                                  struct pawl__request *request, struct pawl_job_id id, bool *any,
                                  struct pawl_diag *diag)
{
    struct pawl_jobs jobs = { 0 };
    char name[PAWL_JOB_ID_TEXT_BYTES];
    enum pawl_err err = pawl_get(pawl__request_pawl(request), id, &jobs, diag);
    pawl_job_id_text(id, name);
    if (!err) {
        struct pawl_job job = jobs.at[0];
        if (is_pruned(request, &job)) job.result.len = 0;
        const struct pawl__member member = {
            .name = name, .kind = PAWL__AS_ONE, .at = &job, .shape = &pawl__ojs_result_reply_shape
        };
        const struct pawl__shape one = { .members = &member, .count = 1 };
        pawl__shape_print_members(writer, &one, "", any);
    }
    pawl_jobs_release(&jobs);
    return err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
}

/* Results are read one by one: together they may be large. */
static void print_results(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    struct reply *reply = (struct reply *)base;
    bool any = false;
    pawl__buf_add(writer->out, "{", 1);
    for (size_t i = 0; i < reply->ids->count && !reply->err; i++) {
        reply->err = print_result(writer, reply->request, reply->ids->at[i], &any, &reply->diag);
        if (writer->out->len > REPLY_BYTES_MAX) break;
    }
    pawl__buf_add(writer->out, "}", 1);
}

static const struct pawl__member results_members[] = {
    PAWL__WHOLE("results", OWN, .print = print_results, .wire = PAWL__AS_OBJECT),
};
const struct pawl__shape pawl__ojs_results_reply_shape = PAWL__SHAPE(struct reply, results_members);

void pawl__on_results(struct pawl__request *request)
{
    struct request asked;
    struct pawl__buf *out = &request->reply;
    if (!pawl__request_read(request, &pawl__ojs_results_request_shape, NULL, &asked)) return;
    struct reply reply = { .request = request, .ids = &asked.ids };
    pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, &pawl__ojs_results_reply_shape,
                      &reply);
    if (reply.err) {
        pawl__reply_err(request, reply.err, &reply.diag);
    } else if (out->len > REPLY_BYTES_MAX) {
        pawl__reply_refuse(request, PAWL__FAULT_RESULT_TOO_LARGE, "ids",
                           "the results together have more than %d bytes: ask for fewer",
                           REPLY_BYTES_MAX);
    } else {
        pawl__reply(request, 200);
    }
}
