#include "support/ops.h"

#include "base/buf.h"
#include "base/sha256.h"

static enum pawl_err do_op(struct rig *rig, struct pawl__op *op)
{
    rig->diag = (struct pawl_diag){ 0 };
    op->diag = &rig->diag;
    enum pawl_err err = pawl__store_do(rig->store, op);
    rig_keep(rig, &op->arena);
    if (err != PAWL_OK) assert_true(rig->diag.text[0] != '\0'); // a failure says why
    return err;
}

/* ---- submit ---- */

struct pawl__key key_new(enum pawl__key_kind kind, const char *text)
{
    struct pawl__sha256 sha;
    uint8_t out[32], byte = (uint8_t)kind;
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, &byte, 1);
    pawl__sha256_add(&sha, text, strlen(text));
    pawl__sha256_end(&sha, out);
    struct pawl__key key = { .kind = kind,
                             .states = LIVE_STATES,
                             .on_conflict = PAWL_CONFLICT_REJECT };
    memcpy(key.digest, out, sizeof key.digest);
    return key;
}

static struct pawl_span keep_buf(struct rig *rig, struct pawl__buf *buf)
{
    assert_false(buf->failed);
    struct pawl_span span = { 0 };
    if (buf->len > 0)
        span = (struct pawl_span){ pawl__arena_dup(&rig->arena, buf->at, buf->len), buf->len };
    pawl__buf_release(buf);
    return span;
}

static struct pawl_span tags_json(struct rig *rig, const struct pawl_job_spec *spec)
{
    if (spec->tag_count == 0) return (struct pawl_span){ 0 };
    struct pawl__buf buf = { 0 };
    for (size_t i = 0; i < spec->tag_count; i++) {
        pawl__buf_add_text(&buf, i == 0 ? "[" : ",");
        pawl__buf_add_json(&buf, spec->tags[i], strlen(spec->tags[i]));
    }
    pawl__buf_add_text(&buf, "]");
    return keep_buf(rig, &buf);
}

static struct pawl__key unique_key(struct rig *rig, const struct pawl_job_spec *spec)
{
    const struct pawl_unique *unique = &spec->unique;
    const char *text =
        rig_text(rig, "%s|%s|%.*s", spec->type, unique->keys & PAWL_UNIQUE_QUEUE ? spec->queue : "",
                 unique->keys & PAWL_UNIQUE_ARGS ? (int)spec->args.len : 0, spec->args.at);
    struct pawl__key key = key_new(PAWL__KEY_UNIQUE, text);
    key.period_ms = unique->period_ms;
    if (unique->states != 0) key.states = unique->states;
    if (unique->on_conflict != PAWL_CONFLICT_DEFAULT) key.on_conflict = unique->on_conflict;
    return key;
}

static void add_keys(struct rig *rig, struct pawl__new_job *job)
{
    const struct pawl_job_spec *spec = job->spec;
    if (spec->idempotency_key != NULL) {
        struct pawl__key key = key_new(PAWL__KEY_IDEMPOTENCY, spec->idempotency_key);
        key.period_ms = spec->idempotency_ms;
        key.on_conflict = PAWL_CONFLICT_IGNORE;
        job->keys[job->key_count++] = key;
    }
    if (spec->business_key != NULL)
        job->keys[job->key_count++] = key_new(PAWL__KEY_BUSINESS, spec->business_key);
    if (spec->unique.keys != 0) {
        job->keys[job->key_count++] = unique_key(rig, spec);
        job->unique = span_of("{\"keys\":[\"type\"]}");
    }
}

struct pawl__new_job job_new(struct rig *rig, const struct pawl_job_spec *given)
{
    struct pawl_job_spec *spec = pawl__arena_alloc(&rig->arena, sizeof *spec);
    assert_non_null(spec);
    *spec = given != NULL ? *given : (struct pawl_job_spec){ 0 };
    if (spec->type == NULL) spec->type = "work";
    if (spec->queue == NULL) spec->queue = "default";
    if (spec->args.len == 0) spec->args = span_of("[]");
    if (spec->retry.jitter == PAWL_JITTER_DEFAULT) spec->retry.jitter = PAWL_JITTER_OFF;
    pawl__retry_resolve(&spec->retry);
    struct pawl__new_job job = { .id = spec->id != NULL ? *spec->id : rig_id(rig),
                                 .fresh_id = spec->id == NULL,
                                 .spec = spec };
    struct pawl__buf buf = { 0 };
    pawl__retry_print(&spec->retry, &buf);
    job.retry = keep_buf(rig, &buf);
    job.tags = tags_json(rig, spec);
    add_keys(rig, &job);
    return job;
}

enum pawl_err submit_jobs(struct rig *rig, const struct pawl__new_job *jobs, size_t count,
                          struct pawl_submitted *out, size_t *failed_index)
{
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = jobs, .count = count, .out = out } };
    enum pawl_err err = do_op(rig, &op);
    if (failed_index != NULL) *failed_index = op.submit.failed_index;
    return err;
}

enum pawl_err submit_spec(struct rig *rig, const struct pawl_job_spec *spec,
                          struct pawl_submitted *out)
{
    struct pawl__new_job job = job_new(rig, spec);
    struct pawl_submitted ignored;
    return submit_jobs(rig, &job, 1, out != NULL ? out : &ignored, NULL);
}

struct pawl_job_id submit_one(struct rig *rig, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, spec, &out));
    assert_false(out.deduplicated);
    return out.id;
}

struct pawl_job_id *submit_n(struct rig *rig, size_t count, const struct pawl_job_spec *spec)
{
    struct pawl__new_job *jobs = pawl__arena_calloc(&rig->arena, count + 1, sizeof *jobs);
    struct pawl_submitted *out = pawl__arena_calloc(&rig->arena, count + 1, sizeof *out);
    struct pawl_job_id *ids = pawl__arena_calloc(&rig->arena, count + 1, sizeof *ids);
    assert_true(jobs != NULL && out != NULL && ids != NULL);
    for (size_t i = 0; i < count; i++)
        jobs[i] = job_new(rig, spec);
    assert_ok(rig, submit_jobs(rig, jobs, count, out, NULL));
    for (size_t i = 0; i < count; i++) {
        assert_id(jobs[i].id, out[i].id);
        ids[i] = out[i].id;
    }
    return ids;
}

/* ---- workers ---- */

struct claimed claim_op(struct rig *rig, struct pawl__op *op)
{
    assert_ok(rig, do_op(rig, op));
    return (struct claimed){ .at = op->claim.jobs,
                             .count = op->claim.job_count,
                             .more = op->claim.more };
}

static struct claimed take(struct rig *rig, enum pawl__op_kind kind, const char *queue,
                           int64_t limit)
{
    struct pawl__op op = { .kind = kind,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = limit,
                                      .worker = WORKER,
                                      .lease_ms = LEASE_MS } };
    return claim_op(rig, &op);
}

struct claimed claim_n(struct rig *rig, const char *queue, int64_t limit)
{
    return take(rig, PAWL__OP_CLAIM, queue, limit);
}

struct claimed route_n(struct rig *rig, const char *queue, int64_t limit)
{
    return take(rig, PAWL__OP_ROUTE, queue, limit);
}

struct pawl_job claim_one(struct rig *rig, const char *queue)
{
    struct claimed jobs = claim_n(rig, queue, 2);
    assert_int_equal(jobs.count, 1);
    return jobs.at[0];
}

struct pawl_run ref_of(const struct pawl_job *job)
{
    return (struct pawl_run){ .id = job->id, .run = job->run };
}

enum pawl_err assign(struct rig *rig, struct pawl_job_id id, const char *worker, int64_t token,
                     struct pawl_job *out)
{
    struct pawl__op op = { .kind = PAWL__OP_ASSIGN,
                           .assign = {
                               .id = id, .worker = worker, .token = token, .lease_ms = LEASE_MS } };
    enum pawl_err err = do_op(rig, &op);
    if (err == PAWL_OK && out != NULL) *out = *op.assign.job;
    return err;
}

enum pawl_err unroute(struct rig *rig, struct pawl_job_id id, const char *worker, int64_t token)
{
    struct pawl__op op = { .kind = PAWL__OP_UNROUTE,
                           .assign = { .id = id, .worker = worker, .token = token } };
    return do_op(rig, &op);
}

enum pawl_err complete(struct rig *rig, struct pawl_run ref, const char *result)
{
    struct pawl__op op = { .kind = PAWL__OP_COMPLETE,
                           .complete = { .ref = ref, .result = span_of(result) } };
    return do_op(rig, &op);
}

enum pawl_err fail_run(struct rig *rig, struct pawl_run ref, struct pawl_report report,
                       struct failed *out)
{
    struct pawl__op op = { .kind = PAWL__OP_FAIL, .fail = { .ref = ref, .report = report } };
    enum pawl_err err = do_op(rig, &op);
    if (err == PAWL_OK && out != NULL)
        *out = (struct failed){ .to = op.fail.to,
                                .due_at_ms = op.fail.due_at_ms,
                                .attempt = op.fail.attempt,
                                .delay_ms = op.fail.delay_ms };
    return err;
}

struct failed fail_plain(struct rig *rig, struct pawl_run ref)
{
    struct failed out = { 0 };
    struct pawl_report report = { .type = "io.error", .code = "EIO", .message = "went wrong" };
    assert_ok(rig, fail_run(rig, ref, report, &out));
    return out;
}

enum pawl_err snooze(struct rig *rig, struct pawl_run ref, int64_t delay_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_SNOOZE,
                           .snooze = { .ref = ref, .delay_ms = delay_ms } };
    return do_op(rig, &op);
}

enum pawl_err extend(struct rig *rig, struct pawl_run ref, int64_t lease_ms)
{
    enum pawl_err result = PAWL_ERR_END;
    struct pawl__op op = {
        .kind = PAWL__OP_EXTEND,
        .extend = { .refs = &ref, .count = 1, .lease_ms = lease_ms, .results = &result }
    };
    assert_ok(rig, do_op(rig, &op));
    return result;
}

enum pawl_err progress(struct rig *rig, struct pawl_run ref, double value, const char *message,
                       const char *data)
{
    struct pawl__op op = { .kind = PAWL__OP_PROGRESS,
                           .progress = { .ref = ref,
                                         .value = value,
                                         .message = span_of(message),
                                         .data = span_of(data) } };
    return do_op(rig, &op);
}

enum pawl_err checkpoint(struct rig *rig, struct pawl_run ref, struct pawl_span state,
                         int64_t *sequence)
{
    struct pawl__op op = { .kind = PAWL__OP_CHECKPOINT,
                           .checkpoint = { .ref = ref, .state = state } };
    enum pawl_err err = do_op(rig, &op);
    if (err == PAWL_OK && sequence != NULL) *sequence = op.checkpoint.sequence;
    return err;
}

enum pawl_err log_line(struct rig *rig, struct pawl_run ref, int32_t level, struct pawl_span text)
{
    struct pawl__op op = { .kind = PAWL__OP_LOG,
                           .log = { .ref = ref, .level = level, .text = text } };
    return do_op(rig, &op);
}

/* ---- operators ---- */

enum pawl_err control_by(struct rig *rig, struct pawl_job_id id, enum pawl_control what,
                         int64_t run, struct pawl_by by, struct controlled *out)
{
    struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                           .control = { .id = id, .control = what, .run = run, .by = by } };
    enum pawl_err err = do_op(rig, &op);
    if (out != NULL) *out = (struct controlled){ op.control.from, op.control.to };
    return err;
}

enum pawl_err control(struct rig *rig, struct pawl_job_id id, enum pawl_control what)
{
    return control_by(rig, id, what, 0, (struct pawl_by){ 0 }, NULL);
}

enum pawl_err bulk(struct rig *rig, const struct pawl_filter *filter, enum pawl_control what,
                   int64_t limit, int64_t *moved)
{
    struct pawl__op op = { .kind = PAWL__OP_BULK,
                           .bulk = { .filter = filter,
                                     .control = what,
                                     .limit = limit,
                                     .by = { .actor = "operator", .reason = "many" } } };
    enum pawl_err err = do_op(rig, &op);
    if (moved != NULL) *moved = op.bulk.moved;
    return err;
}

enum pawl_err set_priority(struct rig *rig, struct pawl_job_id id, int32_t priority,
                           int32_t *before)
{
    struct pawl__op op = { .kind = PAWL__OP_PRIORITY,
                           .priority = { .id = id,
                                         .priority = priority,
                                         .by = { .actor = "operator", .reason = "urgent" } } };
    enum pawl_err err = do_op(rig, &op);
    if (err == PAWL_OK && before != NULL) *before = op.priority.before;
    return err;
}

enum pawl_err delete_job(struct rig *rig, struct pawl_job_id id)
{
    struct pawl__op op = { .kind = PAWL__OP_DELETE, .remove = { .id = id } };
    return do_op(rig, &op);
}

void queue_pause(struct rig *rig, const char *queue, bool paused)
{
    struct pawl__op op = { .kind = PAWL__OP_QUEUE_PAUSE,
                           .queue = { .queue = queue, .paused = paused } };
    assert_ok(rig, do_op(rig, &op));
}

/* ---- time ---- */

struct swept sweep(struct rig *rig, enum pawl__op_kind kind, int64_t limit)
{
    struct pawl__op op = { .kind = kind, .sweep = { .limit = limit } };
    assert_ok(rig, do_op(rig, &op));
    return (struct swept){ .moved = op.sweep.moved,
                           .next_at_ms = op.sweep.next_at_ms,
                           .more = op.sweep.more };
}

struct swept promote(struct rig *rig)
{
    return sweep(rig, PAWL__OP_PROMOTE, PAWL__MAINTENANCE_MAX);
}

struct swept lapse(struct rig *rig)
{
    return sweep(rig, PAWL__OP_LAPSE, PAWL__MAINTENANCE_MAX);
}

struct swept expire(struct rig *rig)
{
    return sweep(rig, PAWL__OP_EXPIRE, PAWL__MAINTENANCE_MAX);
}

struct swept deadlines(struct rig *rig)
{
    return sweep(rig, PAWL__OP_DEADLINE, PAWL__MAINTENANCE_MAX);
}

int64_t retire_step(struct rig *rig, enum pawl__op_kind kind, uint32_t states,
                    int64_t ended_before_ms, int64_t limit, bool *more)
{
    struct pawl__op op = {
        .kind = kind,
        .retire = { .states = states, .age_ms = rig_now(rig) - ended_before_ms, .limit = limit }
    };
    assert_ok(rig, do_op(rig, &op));
    *more = op.retire.more;
    return op.retire.moved;
}

int64_t retire(struct rig *rig, enum pawl__op_kind kind, uint32_t states, int64_t ended_before_ms,
               int64_t limit)
{
    bool more;
    return retire_step(rig, kind, states, ended_before_ms, limit, &more);
}

int64_t archive_all(struct rig *rig)
{
    return retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, rig_now(rig), PAWL__MAINTENANCE_MAX);
}

int64_t purge_all(struct rig *rig)
{
    return retire(rig, PAWL__OP_PURGE, TERMINAL_STATES, rig_now(rig), PAWL__MAINTENANCE_MAX);
}

/* ---- cluster ---- */

enum pawl_err lock_try(struct rig *rig, const char *name, const char *owner, int64_t ttl_ms,
                       int64_t *fence)
{
    struct pawl__op op = { .kind = PAWL__OP_LOCK_TRY,
                           .lock = { .name = name, .owner = owner, .ttl_ms = ttl_ms } };
    enum pawl_err err = do_op(rig, &op);
    if (err == PAWL_OK && fence != NULL) *fence = op.lock.fence;
    return err;
}

enum pawl_err lock_renew(struct rig *rig, const char *name, const char *owner, int64_t ttl_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_LOCK_RENEW,
                           .lock = { .name = name, .owner = owner, .ttl_ms = ttl_ms } };
    return do_op(rig, &op);
}

enum pawl_err lock_release(struct rig *rig, const char *name, const char *owner)
{
    struct pawl__op op = { .kind = PAWL__OP_LOCK_RELEASE,
                           .lock = { .name = name, .owner = owner } };
    return do_op(rig, &op);
}

enum pawl_err node_put(struct rig *rig, const char *name, const char *info, int64_t started_at_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_NODE_PUT,
                           .node = { .name = name, .info = info, .started_at_ms = started_at_ms } };
    return do_op(rig, &op);
}

enum pawl_err node_beat(struct rig *rig, const char *name, const char *info, int64_t started_at_ms,
                        struct pawl_census *out)
{
    struct pawl__op op = { .kind = PAWL__OP_NODE_PUT,
                           .node = { .name = name, .info = info, .started_at_ms = started_at_ms } };
    enum pawl_err err = do_op(rig, &op);
    *out = op.node.census;
    return err;
}

enum pawl_err node_join(struct rig *rig, const char *name, const char *info, int64_t *started_at_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_NODE_JOIN, .node = { .name = name, .info = info } };
    enum pawl_err err = do_op(rig, &op);
    if (!err) *started_at_ms = op.node.started_at_ms;
    return err;
}

enum pawl_err node_drop(struct rig *rig, const char *name, int64_t started_at_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_NODE_DROP,
                           .node = { .name = name, .started_at_ms = started_at_ms } };
    return do_op(rig, &op);
}

enum pawl_err setting_put(struct rig *rig, const char *name, const char *value)
{
    struct pawl__op op = { .kind = PAWL__OP_SETTING_PUT,
                           .setting = { .name = name, .value = value } };
    return do_op(rig, &op);
}
