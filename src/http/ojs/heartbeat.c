/* Heartbeats: POST /ojs/v1/workers/heartbeat and /beat, GET /ojs/v1/workers/{id}/health.
 *
 * Four shapes are in use: active_jobs is a list of ids, or a count with the ids in active_job_ids,
 * or job_id is the only one, or there is none of these. A client without a worker_id is believed:
 * the jobs that it lists are extended for their holder. Runs that are known here and get the same
 * lease are extended by one posted call; everything else is looked up on the pool. So is a run that
 * does not fit what is known here, or that the store says is over: another server may have given
 * the job to somebody since, and a worker that is told that a job is not its own stops it. */
#include "http/local/local.h"
#include "http/ojs/ojs.h"
#include "http/ojs/envelope_out.h"
#include "http/events/events.h"

#include <stdlib.h>
#include <string.h>

enum { INFO_BYTES_MAX = 8192 };
#define LEASE_MS INT64_C(1800000) /* of runs that nobody remembers more of */

/* A job that the worker says it runs. */
struct listed {
    struct pawl_job_id id;
    int64_t attempt;       /* 0: it did not say */
    int64_t run;           /* 0: not known here */
    int64_t lease_ms;      /* what it gets */
    struct pawl_jobs read; /* what the store said of it */
    bool done;             /* the store was asked to extend `run` */
    bool extended;
};

struct beat {
    const char *worker; /* NULL: it did not say */
    int64_t lease_ms;   /* asked for; 0: each job's own */
    enum pawl__worker_state reply;
    struct listed *listed;
    size_t count;
    int64_t now_ms;
    struct pawl_run *runs; /* of one extension */
    size_t *index;         /* which of `listed` they are */
    size_t run_count;
    enum pawl_err err; /* of what was done on the pool */
    struct pawl_diag diag;
};

/* ---- what is told ---- */

/* An id, or an object with an id and an attempt. */
static bool read_listed(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                        struct listed *out)
{
    if (json->tokens[token].type == PAWL__JSON_OBJECT) {
        uint32_t attempt = pawl__json_member(json, token, "attempt");
        uint32_t id = pawl__json_member(json, token, "job_id");
        if (attempt && !pawl__json_int(json, attempt, &out->attempt)) return false;
        token = id ? id : pawl__json_member(json, token, "id");
    }
    if (!token || json->tokens[token].type != PAWL__JSON_STRING) return false;
    const char *text = pawl__json_string(json, token, arena, NULL);
    return text && pawl_job_id_parse(text, &out->id) == PAWL_OK;
}

/* `count` of them, the first at `token`. */
static bool add_listed(struct pawl__request *request, const struct pawl__json *json, uint32_t token,
                       uint32_t count, struct beat *beat)
{
    if (count > PAWL_CLAIM_MAX) {
        return pawl__reply_invalid(request, "active_jobs", "a heartbeat may list %d jobs",
                                   PAWL_CLAIM_MAX);
    }
    beat->listed = pawl__arena_calloc(&request->arena, count + 1, sizeof *beat->listed);
    beat->runs = pawl__arena_calloc(&request->arena, count + 1, sizeof *beat->runs);
    beat->index = pawl__arena_calloc(&request->arena, count + 1, sizeof *beat->index);
    if (!beat->listed || !beat->runs || !beat->index) return pawl__reply_nomem(request);
    for (; count > 0; count--, token = json->tokens[token].next) {
        // what is not an id is no job of ours
        if (read_listed(json, token, &request->arena, &beat->listed[beat->count])) beat->count++;
    }
    return true;
}

static bool read_jobs(struct pawl__request *request, const struct pawl__json *json,
                      struct beat *beat, int64_t *active)
{
    uint32_t jobs = pawl__json_member(json, 0, "active_jobs");
    uint32_t ids = pawl__json_member(json, 0, "active_job_ids");
    uint32_t only = pawl__json_member(json, 0, "job_id");
    *active = 0;
    if (jobs && json->tokens[jobs].type == PAWL__JSON_ARRAY) {
        ids = jobs;
    } else if (jobs && !pawl__body_int(request, json, 0, "active_jobs", 0, INT32_MAX, active)) {
        return false;
    }
    if (ids && json->tokens[ids].type == PAWL__JSON_NULL) ids = 0;
    if (ids && json->tokens[ids].type != PAWL__JSON_ARRAY) {
        return pawl__reply_invalid(request, "active_job_ids",
                                   "active_job_ids must be an array of ids");
    }
    if (ids) {
        uint32_t count = json->tokens[ids].count;
        if (!add_listed(request, json, pawl__json_first(ids), count, beat)) return false;
    } else if (only) {
        if (!add_listed(request, json, only, 1, beat)) return false;
        if (!pawl__body_int(request, json, 0, "attempt", 1, INT32_MAX, &beat->listed[0].attempt)) {
            return false;
        }
    }
    if ((int64_t)beat->count > *active) *active = (int64_t)beat->count;
    return true;
}

static bool read_state(struct pawl__request *request, const struct pawl__json *json,
                       enum pawl__worker_state *out)
{
    const char *state = NULL;
    if (!pawl__body_text(request, json, 0, "state", &state)) return false;
    *out = state ? pawl__worker_state_of(state) : PAWL__WORKER_RUNNING;
    // a worker's own idea of its state ("active", "idle") is as good as running
    if (*out == PAWL__WORKER_STATE_END) *out = PAWL__WORKER_RUNNING;
    return true;
}

/* What it tells of itself, kept as it stands; "started_at" first, see pawl__worker_print. Too much
 * is not kept. */
static char *info_of(const struct pawl__json *json)
{
    static const struct {
        const char *name;
        enum pawl__json_type type; /* NONE: any */
        const char *otherwise;     /* when it is not given, or of another type */
    } members[] = {
        { "started_at", PAWL__JSON_STRING, NULL }, { "queues", PAWL__JSON_ARRAY, "[]" },
        { "hostname", PAWL__JSON_NONE, NULL },     { "pid", PAWL__JSON_NONE, NULL },
        { "concurrency", PAWL__JSON_NONE, NULL },  { "labels", PAWL__JSON_NONE, NULL },
        { "version", PAWL__JSON_NONE, NULL },      { "handlers", PAWL__JSON_NONE, NULL },
    };
    struct pawl__buf info = { 0 };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        uint32_t token = pawl__json_member(json, 0, members[i].name);
        enum pawl__json_type type = members[i].type;
        bool fits = token && (type == PAWL__JSON_NONE || json->tokens[token].type == type);
        if (!fits && !members[i].otherwise) continue;
        struct pawl_span value = pawl__json_span(json, token);
        pawl__buf_printf(&info, ",\"%s\":", members[i].name);
        if (fits) pawl__buf_add(&info, value.at, value.len);
        if (!fits) pawl__buf_add_text(&info, members[i].otherwise);
    }
    if (info.failed || info.len > INFO_BYTES_MAX) pawl__buf_release(&info);
    return info.at;
}

static void note_worker(struct pawl__server *server, const struct pawl__worker *worker,
                        enum pawl__event_kind kind)
{
    struct pawl__note note = { .kind = kind, .subject = worker->id };
    pawl__events_note(server, &note);
}

/* Remember the worker, and decide what it should be told. False: no memory, answered. */
static bool hear(struct pawl__request *request, struct beat *beat, enum pawl__worker_state state,
                 int64_t active, char *taken_info)
{
    struct pawl__server *server = request->server;
    struct pawl__worker *worker = pawl__workers_heard(server, beat->worker, request->now_ms);
    if (!worker) {
        free(taken_info);
        return pawl__reply_nomem(request);
    }
    pawl__worker_set_info(worker, taken_info);
    if (!worker->beats) note_worker(server, worker, PAWL__EVENT_WORKER_STARTED);
    if (worker->state != state && state != PAWL__WORKER_RUNNING) {
        note_worker(server, worker,
                    state == PAWL__WORKER_TERMINATE ? PAWL__EVENT_WORKER_STOPPED
                                                    : PAWL__EVENT_WORKER_QUIET);
    }
    note_worker(server, worker, PAWL__EVENT_WORKER_HEARTBEAT);
    worker->beats = true;
    worker->state = state;
    worker->active = active;
    beat->reply = worker->directive;
    return true;
}

/* Without a worker_id: the workers that hold the listed jobs are alive. */
static void hear_of_holders(struct pawl__request *request, struct beat *beat)
{
    for (size_t i = 0; i < beat->count; i++) {
        const struct pawl__lease *lease =
            pawl__leases_find(request->server->leases, beat->listed[i].id);
        if (!lease || !lease->named) continue;
        const struct pawl__worker *worker =
            pawl__workers_heard(request->server, lease->worker, request->now_ms);
        if (worker) beat->reply = worker->directive;
    }
}

/* ---- answering ---- */

static void add_ids(struct pawl__buf *out, const struct beat *beat, bool extended)
{
    const char *before = "";
    for (size_t i = 0; i < beat->count; i++) {
        char id[PAWL_JOB_ID_TEXT_BYTES];
        if (beat->listed[i].extended != extended) continue;
        pawl_job_id_text(beat->listed[i].id, id);
        pawl__buf_printf(out, "%s\"%s\"", before, id);
        before = ",";
    }
}

static void note_extended(struct pawl__request *request, const struct beat *beat)
{
    struct pawl__buf data = { 0 };
    for (size_t i = 0; i < beat->count; i++) {
        const struct listed *listed = &beat->listed[i];
        if (!listed->extended) continue;
        pawl__buf_clear(&data);
        pawl__out(&data, "\"visible_until\":");
        pawl__out_instant(&data, beat->now_ms + listed->lease_ms);
        if (beat->worker) {
            pawl__out(&data, ",\"worker_id\":");
            pawl__buf_add_json(&data, beat->worker, strlen(beat->worker));
        }
        struct pawl__note note = { .kind = PAWL__EVENT_HEARTBEAT,
                                   .job = &listed->id,
                                   .data = { data.at, data.len } };
        if (!data.failed) pawl__events_note(request->server, &note);
    }
    pawl__buf_release(&data);
}

/* Jobs that are listed but were not extended are no longer the worker's: cancelled, taken away or
 * ended. It should stop them. */
static void reply_beat(struct pawl__request *request)
{
    const struct beat *beat = request->state;
    struct pawl__buf *out = &request->reply;
    note_extended(request, beat);
    const char *state = pawl__worker_state_name(beat->reply);
    pawl__buf_printf(out, "{\"state\":\"%s\",\"directive\":\"%s\",\"jobs_extended\":[", state,
                     state);
    add_ids(out, beat, true);
    pawl__out(out, "],\"jobs_lost\":[");
    add_ids(out, beat, false);
    pawl__out(out, "],\"server_time\":");
    pawl__out_instant(out, beat->now_ms);
    pawl__out(out, ",\"acknowledged\":true}");
    pawl__reply(request, 200);
}

static void remember(struct pawl__server *server, const struct beat *beat, size_t i)
{
    struct pawl__lease *lease = pawl__leases_find(server->leases, beat->listed[i].id);
    if (lease && lease->run == beat->listed[i].run) {
        lease->lease_until_ms = beat->now_ms + beat->listed[i].lease_ms;
    }
}

static struct pawl_extension extension_of(const struct beat *beat)
{
    return (struct pawl_extension){ .runs = beat->runs,
                                    .count = beat->run_count,
                                    .lease_ms = beat->listed[beat->index[0]].lease_ms,
                                    .timed = true };
}

/* ---- on the pool: jobs that this server does not know ---- */

static bool is_theirs(const struct beat *beat, const struct listed *listed,
                      const struct pawl_job *job)
{
    if (job->state != PAWL_STATE_ACTIVE) return false;
    if (listed->attempt && listed->attempt != job->attempt) return false;
    return !beat->worker || !pawl__worker_is_named(job->worker) ||
           strcmp(job->worker, beat->worker) == 0;
}

/* Sets its run, unless it is not theirs. What could not be read counts as nothing at all: nobody
 * should stop a job because of it. */
static void look_up(struct pawl__request *request, struct beat *beat, struct listed *listed)
{
    enum pawl_err err = pawl_get(request->server->pawl, listed->id, &listed->read, &beat->diag);
    const struct pawl_job *job = !err && listed->read.count ? &listed->read.at[0] : NULL;
    listed->run = 0;
    if (err && err != PAWL_ERR_NOT_FOUND) beat->err = err;
    if (!job || !is_theirs(beat, listed, job)) return;
    listed->run = job->run;
    listed->lease_ms = beat->lease_ms ? beat->lease_ms : job->lease_ms ? job->lease_ms : LEASE_MS;
}

/* Extend those that get the same lease as the first that is left. */
static size_t take_alike(struct beat *beat)
{
    int64_t lease_ms = 0;
    beat->run_count = 0;
    for (size_t i = 0; i < beat->count; i++) {
        const struct listed *listed = &beat->listed[i];
        if (listed->done || !listed->run) continue;
        if (!lease_ms) lease_ms = listed->lease_ms;
        if (listed->lease_ms != lease_ms) continue;
        beat->runs[beat->run_count] = (struct pawl_run){ listed->id, listed->run };
        beat->index[beat->run_count++] = i;
    }
    return beat->run_count;
}

/* From now on they are known here. */
static void extended_on_pool(struct pawl__request *request)
{
    struct beat *beat = request->state;
    for (size_t i = 0; i < beat->count; i++) {
        struct listed *listed = &beat->listed[i];
        if (listed->extended && listed->read.count) {
            pawl__leases_put(request->server->leases, &listed->read.at[0], listed->lease_ms);
        }
        pawl_jobs_release(&listed->read);
        if (listed->extended) remember(request->server, beat, i);
    }
    if (beat->err) {
        pawl__reply_err(request, beat->err, &beat->diag);
    } else {
        reply_beat(request);
    }
}

static void extend_on_pool(struct pawl__request *request)
{
    struct beat *beat = request->state;
    enum pawl_err *results = pawl__arena_calloc(&request->arena, beat->count, sizeof *results);
    beat->err = results ? PAWL_OK : PAWL_ERR_NOMEM;
    for (size_t i = 0; !beat->err && i < beat->count; i++) {
        if (!beat->listed[i].run) look_up(request, beat, &beat->listed[i]);
    }
    while (!beat->err && take_alike(beat)) {
        struct pawl_extension extension = extension_of(beat);
        beat->err = pawl_extend(request->server->pawl, &extension, results, &beat->diag);
        for (size_t i = 0; !beat->err && i < beat->run_count; i++) {
            struct listed *listed = &beat->listed[beat->index[i]];
            listed->done = true;
            listed->extended = results[i] == PAWL_OK;
            if (listed->extended || listed->read.count) continue;
            look_up(request, beat, listed); // what is known here may be old
            listed->done = false;
        }
    }
    pawl__request_to_loop(request, extended_on_pool);
}

/* ---- on the loop: the usual way ---- */

static void on_extended(struct pawl__request *request, struct pawl_answer *answer)
{
    struct beat *beat = request->state;
    if (answer->err) {
        pawl__reply_err(request, answer->err, &answer->diag);
        pawl_answer_free(answer);
        return;
    }
    bool all = true;
    beat->now_ms = answer->now_ms;
    for (size_t i = 0; i < answer->result_count; i++) {
        struct listed *listed = &beat->listed[beat->index[i]];
        listed->extended = listed->done = answer->results[i] == PAWL_OK;
        if (listed->extended) {
            remember(request->server, beat, beat->index[i]);
        } else {
            pawl__leases_drop(request->server->leases, listed->id, listed->run);
            listed->run = 0;
            all = false;
        }
    }
    pawl_answer_free(answer);
    if (all) {
        reply_beat(request);
    } else {
        pawl__request_to_pool(request, extend_on_pool);
    }
}

static void post_extension(struct pawl__request *request, struct beat *beat)
{
    struct pawl_diag diag;
    struct pawl_extension extension = extension_of(beat);
    pawl__request_posting(request, on_extended);
    enum pawl_err err =
        pawl_post_extend(request->server->pawl, &extension, pawl__request_answered, request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    pawl__reply_err(request, err, &diag);
}

static bool fits(const struct pawl__lease *lease, const struct beat *beat,
                 const struct listed *listed)
{
    return (!beat->worker || !lease->named || strcmp(lease->worker, beat->worker) == 0) &&
           (!listed->attempt || listed->attempt == lease->attempt);
}

/* What is known here of the listed jobs. False: something is not, or the leases differ. */
static bool find_leases(struct pawl__request *request, struct beat *beat)
{
    bool known = true;
    for (size_t i = 0; i < beat->count; i++) {
        struct listed *listed = &beat->listed[i];
        const struct pawl__lease *lease = pawl__leases_find(request->server->leases, listed->id);
        enum pawl__worker_state told =
            pawl__workers_directive_of(request->server->workers, listed->id);
        if (told != PAWL__WORKER_STATE_END) beat->reply = told;
        known = known && lease && fits(lease, beat, listed);
        if (!lease || !fits(lease, beat, listed)) continue;
        listed->run = lease->run;
        listed->lease_ms = beat->lease_ms ? beat->lease_ms : lease->lease_ms;
        beat->runs[beat->run_count] = (struct pawl_run){ listed->id, listed->run };
        beat->index[beat->run_count++] = i;
        known = known && listed->lease_ms == beat->listed[beat->index[0]].lease_ms;
    }
    return known;
}

void pawl__on_heartbeat(struct pawl__request *request)
{
    struct pawl__json json;
    enum pawl__worker_state state;
    int64_t active;
    struct beat *beat = pawl__request_state(request, sizeof *beat);
    if (!beat) return;
    beat->now_ms = request->now_ms;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "worker_id", &beat->worker) ||
        (beat->worker && !pawl__worker_id_ok(request, beat->worker)) ||
        !read_state(request, &json, &state) ||
        !pawl__body_int(request, &json, 0, "visibility_timeout_ms", PAWL__VISIBILITY_MS_MIN,
                        PAWL__VISIBILITY_MS_MAX, &beat->lease_ms) ||
        !read_jobs(request, &json, beat, &active)) {
        return;
    }
    if (!beat->worker) {
        hear_of_holders(request, beat);
    } else if (!hear(request, beat, state, active, info_of(&json))) {
        return;
    }
    if (!find_leases(request, beat)) {
        pawl__request_to_pool(request, extend_on_pool);
    } else if (beat->run_count) {
        post_extension(request, beat);
    } else {
        reply_beat(request);
    }
}

/* ---- how is it? ---- */

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
}

static void add_instant(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    if (!at_ms) return;
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__out_instant(out, at_ms);
}

void pawl__worker_print(struct pawl__buf *out, const struct pawl__worker *worker)
{
    pawl__out(out, "{\"id\":");
    pawl__buf_add_json(out, worker->id, strlen(worker->id));
    add_text(out, "worker_id", worker->id);
    add_text(out, "state", worker->dead ? "stale" : pawl__worker_state_name(worker->state));
    add_text(out, "directive", pawl__worker_state_name(worker->directive));
    pawl__buf_printf(out, ",\"active_jobs\":%lld", (long long)worker->active);
    add_instant(out, "first_seen_at", worker->first_at_ms);
    add_instant(out, "last_heartbeat_at", worker->heard_at_ms);
    add_instant(out, "last_heartbeat", worker->heard_at_ms); // for the ojs CLI
    static const char start[] =
        ",\"started_at\":"; // dashboards fail without it, and without queues
    if (!worker->info || strncmp(worker->info, start, sizeof start - 1) != 0) {
        add_instant(out, "started_at", worker->first_at_ms);
    }
    pawl__buf_add_text(out, worker->info ? worker->info : ",\"queues\":[]");
    pawl__out(out, "}");
}

void pawl__on_worker_health(struct pawl__request *request)
{
    const char *id = request->parts[0];
    const struct pawl__worker *worker = pawl__workers_find(request->server->workers, id);
    if (!worker) {
        pawl__reply_not_found(request, "worker", id);
        return;
    }
    pawl__worker_print(&request->reply, worker);
    pawl__reply(request, 200);
}
