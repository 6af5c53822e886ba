/* Heartbeats: POST /ojs/v1/workers/heartbeat and /beat, GET /ojs/v1/workers/{id}/health.
 *
 * Clients name their jobs in four ways: active_jobs is a list of ids, or a number with the ids in
 * active_job_ids, or job_id names the only one, or all three are absent. A client without a
 * worker_id is trusted: the jobs that it names are extended for their holder.
 *
 * If this server knows the leases of all of them, and they last equally long, one posted call
 * extends them. Otherwise the pool reads the jobs. It also does so for a run that does not match
 * what is known here, or that the store says is over: another server may have handed out the job
 * since, and a worker stops a job that it is told it has lost. */
#include "http/events/events.h"
#include "http/local/local.h"
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

enum { INFO_BYTES_MAX = 8192 };
#define LEASE_MS INT64_C(1800000) /* of runs whose claim is not known here */

/* A job that the worker says it runs. */
struct listed {
    struct pawl_job_id id;
    int64_t attempt;       /* 0: not given */
    int64_t run;           /* 0: not known here */
    int64_t lease_ms;      /* what it gets */
    struct pawl_jobs read; /* the job as the store has it */
    bool done;             /* the store was asked to extend `run` */
    bool extended;
};

/* What a worker says about itself, returned as it is. */
struct info {
    struct pawl_span started_at, queues;
    struct pawl_span hostname, pid, concurrency, labels, version, handlers;
    int64_t first_at_ms; /* stands in for started_at */
};

struct beat {
    const char *worker;         /* NULL: not given */
    const char *state;          /* likewise */
    uint32_t jobs, ids, job_id; /* the values that name jobs; 0: not given */
    int64_t active;
    struct info info;
    int64_t lease_ms; /* asked for; 0: each job's own */
    enum pawl__worker_state reply;
    struct listed *listed;
    size_t count;
    int64_t now_ms;
    struct pawl_run *runs; /* of one extension */
    size_t *index;         /* which of `listed` they are */
    size_t run_count;
    enum pawl_err err; /* of the work on the pool */
    struct pawl_diag diag;
};

/* ---- the request ---- */

#define FN(name)                                                                                   \
    static enum pawl_err name(struct pawl__shape_reader *reader,                                   \
                              const struct pawl__member *member, uint32_t token, void *base)

FN(note)
{
    *(uint32_t *)((char *)base + member->offset) = token;
    return PAWL_OK;
}

/* A list, or a number. */
FN(read_active)
{
    static const struct pawl__member number =
        PAWL__MEMBER("active_jobs", INT64, struct beat, active, .max = INT32_MAX);
    if (reader->json.tokens[token].type == PAWL__JSON_ARRAY) {
        return note(reader, member, token, base);
    }
    return pawl__shape_value(reader, &number, token, base);
}

FN(note_ids)
{
    if (reader->json.tokens[token].type == PAWL__JSON_ARRAY) {
        return note(reader, member, token, base);
    }
    return pawl__shape_refuse(reader, member, "must be an array of ids");
}

/* A value that readers of the reply rely on: ignored unless it is of the type of `wire`. */
FN(read_typed)
{
    enum pawl__json_type type = member->wire == PAWL__AS_ARRAY ? PAWL__JSON_ARRAY
                                                               : PAWL__JSON_STRING;
    if (reader->json.tokens[token].type == type) {
        *(struct pawl_span *)((char *)base + member->offset) =
            pawl__json_span(&reader->json, token);
    }
    return PAWL_OK;
}

#define S struct beat
static const struct pawl__member request_members[] = {
    PAWL__MEMBER("worker_id", TEXT, S, worker),
    PAWL__MEMBER("state", TEXT, S, state),
    PAWL__MEMBER("visibility_timeout_ms", INT64, S, lease_ms, .min = PAWL__VISIBILITY_MS_MIN,
                 .max = PAWL__VISIBILITY_MS_MAX),
    PAWL__MEMBER("active_jobs", OWN, S, jobs, .read = read_active),
    PAWL__MEMBER("active_job_ids", OWN, S, ids, .read = note_ids, .wire = PAWL__AS_ARRAY),
    PAWL__MEMBER("job_id", OWN, S, job_id, .read = note, .wire = PAWL__AS_TEXT),
    PAWL__WHOLE("attempt", OWN, .wire = PAWL__AS_INT64), // with job_id
    PAWL__MEMBER("started_at", OWN, S, info.started_at, .read = read_typed, .wire = PAWL__AS_TEXT),
    PAWL__MEMBER("queues", OWN, S, info.queues, .read = read_typed, .wire = PAWL__AS_ARRAY),
    PAWL__MEMBER("hostname", JSON, S, info.hostname),
    PAWL__MEMBER("pid", JSON, S, info.pid),
    PAWL__MEMBER("concurrency", JSON, S, info.concurrency),
    PAWL__MEMBER("labels", JSON, S, info.labels),
    PAWL__MEMBER("version", JSON, S, info.version),
    PAWL__MEMBER("handlers", JSON, S, info.handlers),
};
const struct pawl__shape pawl__ojs_heartbeat_request_shape = PAWL__SHAPE(S, request_members);
#undef S

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

/* Adds `count` of them, the first at `token`. */
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
        // A value that is not an id names no job of this store.
        if (read_listed(json, token, &request->arena, &beat->listed[beat->count])) beat->count++;
    }
    return true;
}

static bool list_jobs(struct pawl__request *request, const struct pawl__json *json,
                      struct beat *beat)
{
    uint32_t array = beat->jobs ? beat->jobs : beat->ids;
    if (array) {
        uint32_t count = json->tokens[array].count;
        if (!add_listed(request, json, pawl__json_first(array), count, beat)) return false;
    } else if (beat->job_id) {
        if (!add_listed(request, json, beat->job_id, 1, beat) ||
            !pawl__body_int(request, json, 0, "attempt", 1, INT32_MAX, &beat->listed[0].attempt)) {
            return false;
        }
    }
    if ((int64_t)beat->count > beat->active) beat->active = (int64_t)beat->count;
    return true;
}

/* Words of a worker's own ("active", "idle") mean that it is running. */
static enum pawl__worker_state state_of(const struct beat *beat)
{
    enum pawl__worker_state state = beat->state ? pawl__worker_state_of(beat->state)
                                                : PAWL__WORKER_RUNNING;
    return state == PAWL__WORKER_STATE_END ? PAWL__WORKER_RUNNING : state;
}

/* ---- the worker ---- */

#define S struct info
static const struct pawl__member info_members[] = {
    PAWL__MEMBER("started_at", JSON, S, started_at),
    PAWL__MEMBER("started_at", INSTANT, S, first_at_ms),
    PAWL__MEMBER("queues", ARRAY, S, queues, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("hostname", JSON, S, hostname),
    PAWL__MEMBER("pid", JSON, S, pid),
    PAWL__MEMBER("concurrency", JSON, S, concurrency),
    PAWL__MEMBER("labels", JSON, S, labels),
    PAWL__MEMBER("version", JSON, S, version),
    PAWL__MEMBER("handlers", JSON, S, handlers),
};
/* Dashboards fail without started_at and queues. */
static const struct pawl__shape info_shape = {
    .members = info_members, .count = sizeof info_members / sizeof *info_members
};
#undef S

static void print_info(struct pawl__buf *out, const struct info *info,
                       const struct pawl__worker *worker)
{
    struct info shown = *info;
    bool any = true;
    shown.first_at_ms = shown.started_at.len ? 0 : worker->first_at_ms;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &info_shape, &shown,
                              &any);
}

/* As members of the worker; NULL: too much to keep, or no memory. */
static char *info_text(const struct info *info, const struct pawl__worker *worker)
{
    struct pawl__buf text = { 0 };
    print_info(&text, info, worker);
    if (text.failed || text.len > INFO_BYTES_MAX) pawl__buf_release(&text);
    return text.at;
}

static void note_worker(struct pawl__server *server, const struct pawl__worker *worker,
                        enum pawl__event_kind kind)
{
    struct pawl__note note = { .kind = kind, .subject = worker->id };
    pawl__events_note(server, &note);
}

/* Remembers the worker, and decides what it is told. False: no memory, answered. */
static bool hear(struct pawl__request *request, struct beat *beat)
{
    struct pawl__server *server = request->server;
    struct pawl__worker *worker = pawl__workers_heard(server, beat->worker, request->now_ms);
    enum pawl__worker_state state = state_of(beat);
    if (!worker) return pawl__reply_nomem(request);
    pawl__worker_set_info(worker, info_text(&beat->info, worker));
    if (!worker->beats) note_worker(server, worker, PAWL__EVENT_WORKER_STARTED);
    if (worker->state != state && state != PAWL__WORKER_RUNNING) {
        note_worker(server, worker,
                    state == PAWL__WORKER_TERMINATE ? PAWL__EVENT_WORKER_STOPPED
                                                    : PAWL__EVENT_WORKER_QUIET);
    }
    note_worker(server, worker, PAWL__EVENT_WORKER_HEARTBEAT);
    worker->beats = true;
    worker->state = state;
    worker->active = beat->active;
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

/* ---- the reply ---- */

static void note_extended(struct pawl__request *request, const struct beat *beat)
{
    struct pawl__buf data = { 0 };
    for (size_t i = 0; i < beat->count; i++) {
        const struct listed *listed = &beat->listed[i];
        if (!listed->extended) continue;
        const struct pawl__member members[] = {
            PAWL__SOME_INSTANT("visible_until", beat->now_ms + listed->lease_ms),
            PAWL__SOME_TEXT("worker_id", beat->worker),
        };
        const struct pawl__shape shape = { .members = members, .count = 2 };
        bool any = false;
        pawl__buf_clear(&data);
        pawl__shape_print_members(&(struct pawl__shape_writer){ .out = &data }, &shape, "", &any);
        struct pawl__note note = { .kind = PAWL__EVENT_HEARTBEAT,
                                   .job = &listed->id,
                                   .data = { data.at, data.len } };
        if (!data.failed) pawl__events_note(request->server, &note);
    }
    pawl__buf_release(&data);
}

struct reply {
    const char *state;
    const struct pawl_job_id *extended, *lost;
    size_t extended_count, lost_count;
    int64_t server_time_ms;
    bool acknowledged;
};

#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__MEMBER("state", NAME, S, state, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("directive", NAME, S, state, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("jobs_extended", IDS, S, extended, PAWL__COUNTED(S, extended_count),
                 .flags = PAWL__ALWAYS),
    PAWL__MEMBER("jobs_lost", IDS, S, lost, PAWL__COUNTED(S, lost_count), .flags = PAWL__ALWAYS),
    PAWL__MEMBER("server_time", INSTANT, S, server_time_ms, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("acknowledged", BOOL, S, acknowledged, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_heartbeat_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* Jobs that were named but not extended are lost to the worker: cancelled, ended or handed to
 * another. It should stop them. */
static void reply_beat(struct pawl__request *request)
{
    const struct beat *beat = request->state;
    struct pawl_job_id *ids = pawl__arena_alloc(&request->arena, (beat->count + 1) * sizeof *ids);
    struct reply reply = { .state = pawl__worker_state_name(beat->reply),
                           .extended = ids,
                           .server_time_ms = beat->now_ms,
                           .acknowledged = true };
    if (!ids) {
        pawl__reply_nomem(request);
        return;
    }
    note_extended(request, beat);
    for (size_t i = 0; i < beat->count; i++) { // those extended from the front, the lost behind
        if (beat->listed[i].extended) ids[reply.extended_count++] = beat->listed[i].id;
    }
    reply.lost = ids + reply.extended_count;
    for (size_t i = 0; i < beat->count; i++) {
        if (!beat->listed[i].extended) {
            ids[reply.extended_count + reply.lost_count++] = beat->listed[i].id;
        }
    }
    pawl__reply_shape(request, 200, &pawl__ojs_heartbeat_reply_shape, &reply);
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

/* ---- on the pool: leases that are not known here ---- */

static bool is_theirs(const struct beat *beat, const struct listed *listed,
                      const struct pawl_job *job)
{
    if (job->state != PAWL_STATE_ACTIVE) return false;
    if (listed->attempt && listed->attempt != job->attempt) return false;
    return !beat->worker || !pawl__worker_is_named(job->worker) ||
           strcmp(job->worker, beat->worker) == 0;
}

/* Sets the run if it is the client's. If the job cannot be read the request fails: a worker must
 * not stop a job for that. */
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

/* Collects the runs that get the same lease as the first that is left. */
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

/* Back on the loop: from now on the leases are known here. */
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
            look_up(request, beat, listed); // what is known here may be out of date
            listed->done = false;
        }
    }
    pawl__request_to_loop(request, extended_on_pool);
}

/* ---- on the loop: known leases ---- */

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

/* Finds the leases of the jobs. False: some are not known here, or they differ in length. */
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
    struct beat *beat = pawl__request_state(request, sizeof *beat);
    if (!beat) return;
    beat->now_ms = request->now_ms;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__object_read(request, &json, 0, &pawl__ojs_heartbeat_request_shape, NULL, beat) ||
        (beat->worker && !pawl__worker_id_ok(request, beat->worker)) ||
        !list_jobs(request, &json, beat)) {
        return;
    }
    if (!beat->worker) {
        hear_of_holders(request, beat);
    } else if (!hear(request, beat)) {
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

/* ---- a worker's health ---- */

struct health {
    const char *id, *state, *directive;
    int64_t active, first_at_ms, heard_at_ms;
};

#define S struct health
static const struct pawl__member health_members[] = {
    PAWL__MEMBER("id", NAME, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("worker_id", NAME, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", NAME, S, state, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("directive", NAME, S, directive, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("active_jobs", INT64, S, active, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("first_seen_at", INSTANT, S, first_at_ms),
    PAWL__MEMBER("last_heartbeat_at", INSTANT, S, heard_at_ms),
    PAWL__MEMBER("last_heartbeat", INSTANT, S, heard_at_ms), // for the CLI of OJS
    PAWL__WHOLE("", PART, .shape = &info_shape),
};
const struct pawl__shape pawl__ojs_worker_health_reply_shape = PAWL__SHAPE(S, health_members);
#undef S

void pawl__worker_print(struct pawl__buf *out, const struct pawl__worker *worker)
{
    static const struct info none;
    static const struct pawl__shape head = {
        .members = health_members, .count = sizeof health_members / sizeof *health_members - 1
    };
    const struct health health = {
        .id = worker->id,
        .state = worker->dead ? "stale" : pawl__worker_state_name(worker->state),
        .directive = pawl__worker_state_name(worker->directive),
        .active = worker->active,
        .first_at_ms = worker->first_at_ms,
        .heard_at_ms = worker->heard_at_ms,
    };
    bool any = false;
    pawl__buf_add(out, "{", 1);
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &head, &health, &any);
    if (worker->info) {
        pawl__buf_add_text(out, worker->info);
    } else {
        print_info(out, &none, worker);
    }
    pawl__buf_add(out, "}", 1);
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
