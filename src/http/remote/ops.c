/* The protocol between programs of pawl: operations.
 *
 * They are done in the order they came. Neighbours of one kind that can be posted are, and so share
 * a commit; the rest are done one by one. Each gets its own answer, whatever became of the others.
 * Runs on the pool. */
#include "base/diag.h"
#include "http/remote/calls.h"
#include "http/remote/remote.h"

#include <stdio.h>
#include <string.h>

/* Operations under way. */
struct batch {
    struct pawl__request *request;
    struct pawl__wire_op *ops;
    struct pawl__wire_answer *answers;
    struct pawl__call *posted; /* their answers are there until the reply has been printed */
    size_t count;
    struct pawl__calls calls;
};

static void put_refusal(struct batch *batch, struct pawl__wire_answer *out, enum pawl_err err,
                        const struct pawl_diag *diag)
{
    struct pawl__wire_refusal refusal = pawl__remote_refusal(batch->request, err, diag);
    out->err = err;
    out->field = refusal.field;
    out->text = refusal.text;
}

/* Who asks is known by the token, and may say on whose behalf. */
static struct pawl_by by_of(struct pawl__request *request, const struct pawl__wire_op *op)
{
    struct pawl_by by = op->by;
    if (!request->token_name) return by;
    if (!by.actor) {
        by.actor = request->token_name;
        return by;
    }
    size_t bytes = strlen(by.actor) + strlen(request->token_name) + 6;
    char *both = pawl__arena_alloc(&request->arena, bytes);
    if (both) snprintf(both, bytes, "%s via %s", by.actor, request->token_name);
    by.actor = both && bytes <= PAWL_WORKER_BYTES_MAX ? both : request->token_name;
    return by;
}

/* What one answer may take of the reply. */
static int64_t reply_share(const struct batch *batch)
{
    int64_t max = batch->request->server->config.limits.reply_bytes_max / (int64_t)batch->count;
    return max ? max : 1;
}

/* The i-th, as a call of the library. */
static struct pawl__remote_call call_of(struct batch *batch, size_t i, struct pawl_diag *diag)
{
    const struct pawl__wire_op *op = &batch->ops[i];
    return (struct pawl__remote_call){ .pawl = pawl__request_pawl(batch->request),
                                       .op = op,
                                       .run = { .id = op->id, .run = op->run },
                                       .by = by_of(batch->request, op),
                                       .out = &batch->answers[i],
                                       .posted = pawl__call_answered,
                                       .ctx = &batch->posted[i],
                                       .reply_bytes_max = reply_share(batch),
                                       .diag = diag };
}

/* ---- posted ---- */

/* What a posted call brought. */
static void put_answer(struct batch *batch, const struct pawl_answer *answer,
                       struct pawl__wire_answer *out)
{
    out->now_ms = answer->now_ms;
    if (answer->err) {
        put_refusal(batch, out, answer->err, &answer->diag);
        out->holder = answer->holder;
    }
    out->submitted = answer->submitted;
    out->submitted_count = answer->submitted_count;
    out->jobs = answer->jobs;
    out->job_count = answer->job_count;
    out->more = answer->more;
    out->failed = answer->failed;
    if (!answer->result_count) return;
    int32_t *results =
        pawl__arena_calloc(&batch->request->arena, answer->result_count, sizeof *results);
    for (size_t i = 0; results && i < answer->result_count; i++) {
        results[i] = (int32_t)answer->results[i];
    }
    out->results = results;
    out->result_count = results ? answer->result_count : 0;
}

/* The first `count` from `first` on, all of one kind. */
static void do_posted(struct batch *batch, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        struct pawl_diag diag = { 0 };
        const struct pawl__remote_call call = call_of(batch, i, &diag);
        pawl__call_begin(&batch->calls, &batch->posted[i]);
        enum pawl_err err = pawl__remote_call(&call);
        if (!err) continue;
        pawl__call_withdraw(&batch->posted[i]);
        put_refusal(batch, &batch->answers[i], err, &diag);
        batch->answers[i].failed_index = (int64_t)(pawl__blamed_index(&diag) + 1); // from 1 on
    }
    pawl__calls_wait(&batch->calls);
    for (size_t i = first; i < first + count; i++) {
        const struct pawl_answer *answer = batch->posted[i].answer;
        if (!answer) continue;
        put_answer(batch, answer, &batch->answers[i]);
        if (answer->err && answer->failed_index < batch->ops[i].job_count) {
            batch->answers[i].failed_index = (int64_t)answer->failed_index + 1;
        }
    }
}

/* ---- one by one ---- */

static void do_one(struct batch *batch, size_t i)
{
    struct pawl_diag diag = { 0 };
    const struct pawl__remote_call call = call_of(batch, i, &diag);
    enum pawl_err err = pawl__remote_call(&call);
    batch->answers[i].now_ms = batch->request->now_ms;
    if (err) put_refusal(batch, &batch->answers[i], err, &diag);
}

/* ---- a request ---- */

static void do_all(struct batch *batch)
{
    size_t count;
    for (size_t i = 0; i < batch->count; i += count) {
        enum pawl__wire_op_kind kind = batch->ops[i].op;
        bool posted = pawl__remote_is_posted(kind);
        for (count = 1; posted && i + count < batch->count; count++) {
            if (batch->ops[i + count].op != kind) break;
        }
        if (posted) {
            do_posted(batch, i, count);
        } else {
            do_one(batch, i);
        }
    }
}

/* All of them belong to the path, whose scope was checked. False: answered. */
static bool check_ops(struct pawl__request *request, const struct pawl__wire_ops *ops,
                      enum pawl__wire_path path)
{
    struct pawl_diag diag;
    enum pawl_err err = PAWL_OK;
    if (!ops->count || ops->count > PAWL__WIRE_OPS_MAX) {
        err = pawl__fail_field(&diag, PAWL_ERR_LIMIT, "ops", "send 1 to %d operations",
                               PAWL__WIRE_OPS_MAX);
    }
    for (size_t i = 0; !err && i < ops->count; i++) {
        if (ops->ops[i].op && pawl__wire_op_path(ops->ops[i].op) == path) continue;
        err = pawl__fail_field(&diag, PAWL_ERR_ARG, "op", "operation %zu is none of \"%s\"", i,
                               pawl__wire_path_text(path));
    }
    if (err) pawl__remote_refuse(request, err, &diag);
    return !err;
}

static void reply(struct pawl__request *request, const struct batch *batch)
{
    struct pawl__wire_answers answers = { .answers = batch->answers, .count = batch->count };
    pawl__wire_print(&request->reply, &pawl__wire_answers_shape, &answers);
    pawl__reply(request, 200);
}

static void serve(struct pawl__request *request, enum pawl__wire_path path)
{
    struct pawl_diag diag;
    struct pawl__wire_ops ops;
    enum pawl_err err =
        pawl__wire_read(request->body, &pawl__wire_ops_shape, true, &request->arena, &ops, &diag);
    if (err) {
        pawl__remote_refuse(request, err, &diag);
        return;
    }
    if (!check_ops(request, &ops, path)) return;
    struct batch batch = { .request = request, .ops = ops.ops, .count = ops.count };
    batch.answers = pawl__arena_calloc(&request->arena, ops.count, sizeof *batch.answers);
    batch.posted = pawl__arena_calloc(&request->arena, ops.count, sizeof *batch.posted);
    if (!batch.answers || !batch.posted) {
        pawl__remote_refuse(request, PAWL_ERR_NOMEM, NULL);
        return;
    }
    pawl__calls_init(&batch.calls);
    do_all(&batch);
    pawl__calls_release(&batch.calls);
    reply(request, &batch);
    for (size_t i = 0; i < ops.count; i++) {
        pawl_answer_free(batch.posted[i].answer);
    }
}

/* Routes whose bodies are operations: name, path. */
#define X(name, path)                                                                              \
    void pawl__on_remote_##name(struct pawl__request *request)                                     \
    {                                                                                              \
        serve(request, PAWL__WIRE_PATH_##path);                                                    \
    }
X(submit, SUBMIT)
X(work, WORK)
X(admin, ADMIN)
#undef X
