/* Operations of the store as the wire has them, and back. */
#include "store/remote/remote.h"

#include "base/diag.h"

#include <stdio.h>
#include <string.h>

bool pawl__rm_op_is_idle(const struct pawl__op *op)
{
    return op->kind == PAWL__OP_PROMOTE || op->kind == PAWL__OP_LAPSE ||
           op->kind == PAWL__OP_EXPIRE || op->kind == PAWL__OP_ARCHIVE ||
           op->kind == PAWL__OP_PURGE || op->kind == PAWL__OP_SETTLE;
}

/* ---- say ---- */

/* Keys are made by the server, so they must follow from the spec. */
static bool keys_follow(const struct pawl__new_job *job)
{
    const struct pawl_job_spec *spec = job->spec;
    size_t count = (spec->idempotency_key != NULL) + (spec->business_key != NULL) +
                   (spec->unique.keys != 0);
    return count == job->key_count && (!job->tags.len || spec->tag_count);
}

static enum pawl_err say_submit(const struct pawl__op *op, struct pawl__arena *scratch,
                                struct pawl__wire_op *out, struct pawl_diag *diag)
{
    struct pawl_job_spec *specs = pawl__arena_calloc(scratch, op->submit.count, sizeof *specs);
    if (!specs) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        if (!keys_follow(job)) {
            return pawl__fail(diag, PAWL_ERR_UNSUPPORTED,
                              "a server makes keys and tags itself, from the spec");
        }
        specs[i] = *job->spec;
        specs[i].id = &job->id; // chosen here: so it can be looked for when the answer is lost
    }
    out->op = PAWL__WIRE_OP_SUBMIT;
    out->jobs = specs;
    out->job_count = op->submit.count;
    return PAWL_OK;
}

/* A server leaves no arguments out: it is asked for no more than would come if it did. */
static int64_t bytes_of_all(const struct pawl__op *op)
{
    int64_t each = op->claim.args_max, count = op->claim.limit;
    return each > INT64_MAX / count ? INT64_MAX : each * count;
}

static void say_claim(const struct pawl__op *op, struct pawl__wire_op *out)
{
    out->op = PAWL__WIRE_OP_CLAIM;
    out->claim = (struct pawl_claim){ .queues = op->claim.queues,
                                      .queue_count = op->claim.queue_count,
                                      .types = op->claim.types,
                                      .type_count = op->claim.type_count,
                                      .limit = op->claim.limit,
                                      .bytes_max = op->claim.bytes_max ? op->claim.bytes_max
                                                                       : bytes_of_all(op),
                                      .worker = op->claim.worker,
                                      .lease_ms = op->claim.lease_ms,
                                      .timed = op->claim.timed };
}

static void say_ref(struct pawl__wire_op *out, enum pawl__wire_op_kind kind, struct pawl_run ref)
{
    out->op = kind;
    out->id = ref.id;
    out->run = ref.run;
}

static void say_control(const struct pawl__op *op, struct pawl__wire_op *out)
{
    out->op = op->control.run ? PAWL__WIRE_OP_END : PAWL__WIRE_OP_CONTROL;
    out->id = op->control.id;
    out->run = op->control.run;
    out->control = op->control.control;
    out->by = op->control.by;
}

static void say_lock(const struct pawl__op *op, struct pawl__wire_op *out)
{
    out->op = op->kind == PAWL__OP_LOCK_TRY     ? PAWL__WIRE_OP_LOCK_TRY
              : op->kind == PAWL__OP_LOCK_RENEW ? PAWL__WIRE_OP_LOCK_RENEW
                                                : PAWL__WIRE_OP_LOCK_RELEASE;
    out->name = op->lock.name;
    out->owner = op->lock.owner;
    out->ttl_ms = op->lock.ttl_ms;
}

/* A span that need not end in NUL. */
static enum pawl_err say_text(struct pawl_span text, struct pawl__arena *scratch,
                              struct pawl__wire_op *out, struct pawl_diag *diag)
{
    if (!text.len) return PAWL_OK;
    out->text = pawl__arena_dup(scratch, text.at, text.len);
    return out->text ? PAWL_OK : pawl__fail_nomem(diag);
}

static void say_bulk(const struct pawl__op *op, struct pawl__wire_op *out)
{
    out->op = PAWL__WIRE_OP_BULK;
    out->filter = *op->bulk.filter;
    out->control = op->bulk.control;
    out->limit = op->bulk.limit;
    out->by = op->bulk.by;
}

static void say_extend(const struct pawl__op *op, struct pawl__wire_op *out)
{
    out->op = PAWL__WIRE_OP_EXTEND;
    out->runs = op->extend.refs;
    out->run_count = op->extend.count;
    out->lease_ms = op->extend.lease_ms;
    out->timed = op->extend.timed;
}

static void say_node(const struct pawl__op *op, struct pawl__wire_op *out)
{
    bool joins = op->kind == PAWL__OP_NODE_JOIN, drops = op->kind == PAWL__OP_NODE_DROP;
    out->op = joins   ? PAWL__WIRE_OP_NODE_JOIN
              : drops ? PAWL__WIRE_OP_NODE_DROP
                      : PAWL__WIRE_OP_NODE_PUT;
    out->name = op->node.name;
    out->text = drops ? NULL : op->node.info;
    out->started_at_ms = joins ? 0 : op->node.started_at_ms;
}

enum pawl_err pawl__rm_op_say(const struct pawl__op *op, struct pawl__arena *scratch,
                              struct pawl__wire_op *out, struct pawl_diag *diag)
{
    *out = (struct pawl__wire_op){ .op = PAWL__WIRE_OP_NONE };
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        return say_submit(op, scratch, out, diag);
    case PAWL__OP_CLAIM:
        say_claim(op, out);
        return PAWL_OK;
    case PAWL__OP_COMPLETE:
        say_ref(out, PAWL__WIRE_OP_COMPLETE, op->complete.ref);
        out->data = op->complete.result;
        return PAWL_OK;
    case PAWL__OP_FAIL:
        say_ref(out, PAWL__WIRE_OP_FAIL, op->fail.ref);
        out->report = op->fail.report;
        return PAWL_OK;
    case PAWL__OP_SNOOZE:
        say_ref(out, PAWL__WIRE_OP_SNOOZE, op->snooze.ref);
        out->delay_ms = op->snooze.delay_ms;
        return PAWL_OK;
    case PAWL__OP_EXTEND:
        say_extend(op, out);
        return PAWL_OK;
    case PAWL__OP_CONTROL:
        say_control(op, out);
        return PAWL_OK;
    case PAWL__OP_BULK:
        say_bulk(op, out);
        return PAWL_OK;
    case PAWL__OP_PRIORITY:
        out->op = PAWL__WIRE_OP_PRIORITY;
        out->id = op->priority.id;
        out->priority = op->priority.priority;
        out->by = op->priority.by;
        return PAWL_OK;
    case PAWL__OP_DELETE:
        out->op = PAWL__WIRE_OP_DELETE;
        out->id = op->remove.id;
        out->by = op->remove.by;
        return PAWL_OK;
    case PAWL__OP_PROGRESS:
        say_ref(out, PAWL__WIRE_OP_PROGRESS, op->progress.ref);
        out->value = op->progress.value;
        out->data = op->progress.data;
        return say_text(op->progress.message, scratch, out, diag);
    case PAWL__OP_CHECKPOINT:
        say_ref(out, PAWL__WIRE_OP_CHECKPOINT, op->checkpoint.ref);
        out->data = op->checkpoint.state;
        return PAWL_OK;
    case PAWL__OP_LOG:
        say_ref(out, PAWL__WIRE_OP_LOG, op->log.ref);
        out->level = op->log.level;
        return say_text(op->log.text, scratch, out, diag);
    case PAWL__OP_NODE_JOIN:
    case PAWL__OP_NODE_PUT:
    case PAWL__OP_NODE_DROP:
        say_node(op, out);
        return PAWL_OK;
    case PAWL__OP_LOCK_TRY:
    case PAWL__OP_LOCK_RENEW:
    case PAWL__OP_LOCK_RELEASE:
        say_lock(op, out);
        return PAWL_OK;
    case PAWL__OP_SETTING_PUT:
        out->op = PAWL__WIRE_OP_SETTING_PUT;
        out->name = op->setting.name;
        out->text = op->setting.value;
        return PAWL_OK;
    case PAWL__OP_QUEUE_PAUSE:
        out->op = PAWL__WIRE_OP_QUEUE_PAUSE;
        out->name = op->queue.queue;
        out->paused = op->queue.paused;
        out->forgotten = op->queue.forgotten;
        out->by = op->queue.by;
        return PAWL_OK;
    default:
        return pawl__fail(diag, PAWL_ERR_UNSUPPORTED,
                          "a server does not take this operation from elsewhere");
    }
}

/* ---- hear ---- */

void pawl__rm_op_fail(struct pawl__op *op, enum pawl_err err, const struct pawl_diag *diag)
{
    op->err = err;
    if (op->diag) *op->diag = *diag;
}

/* The server's calls say which job of a batch is to blame, and so will the caller's. */
static void hear_blame(struct pawl__op *op, const struct pawl__wire_answer *answer,
                       const char **field, const char **text)
{
    char mark[32];
    size_t count = op->submit.count;
    size_t index = answer->failed_index > 0 ? (size_t)answer->failed_index - 1 : count;
    op->submit.failed_index = index < count ? index : count;
    op->submit.holder = answer->holder;
    if (count < 2 || index >= count) return;
    size_t len = (size_t)snprintf(mark, sizeof mark, "[%zu]", index);
    if (strncmp(*field, mark, len) == 0) *field += len + ((*field)[len] == '.');
    if (strncmp(*text, mark, len) == 0 && strncmp(*text + len, ": ", 2) == 0) *text += len + 2;
}

static void hear_refusal(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    const char *field = answer->field ? answer->field : "";
    const char *text = answer->text ? answer->text : pawl_err_text(answer->err);
    if (op->kind == PAWL__OP_SUBMIT) hear_blame(op, answer, &field, &text);
    if (op->kind == PAWL__OP_CONTROL) {
        op->control.from = answer->from;
        op->control.to = answer->to;
    }
    op->err = pawl__fail_field(op->diag, answer->err, field, "%s", text);
}

/* An answer that lacks what the question was about. */
static void hear_nonsense(struct pawl__op *op)
{
    op->err = pawl__fail(op->diag, PAWL_ERR_UNSUPPORTED,
                         "the server's answer does not fit; use the same version of pawl on both "
                         "sides");
}

static void hear_submit(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    if (answer->submitted_count != op->submit.count) {
        hear_nonsense(op);
        return;
    }
    memcpy(op->submit.out, answer->submitted, op->submit.count * sizeof *op->submit.out);
}

static void hear_extend(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    if (answer->result_count != op->extend.count) {
        hear_nonsense(op);
        return;
    }
    for (size_t i = 0; i < op->extend.count; i++) {
        op->extend.results[i] = (enum pawl_err)answer->results[i];
    }
}

static void hear_results(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        hear_submit(op, answer);
        break;
    case PAWL__OP_CLAIM:
        op->claim.jobs = (struct pawl_job *)answer->jobs; // both live in the op's arena
        op->claim.job_count = answer->job_count;
        op->claim.more = answer->more;
        break;
    case PAWL__OP_FAIL:
        op->fail.to = answer->failed.to;
        op->fail.due_at_ms = answer->failed.due_at_ms;
        op->fail.attempt = answer->failed.attempt;
        op->fail.delay_ms = answer->failed.delay_ms;
        break;
    case PAWL__OP_EXTEND:
        hear_extend(op, answer);
        break;
    case PAWL__OP_CONTROL:
        op->control.from = answer->from;
        op->control.to = answer->to;
        break;
    case PAWL__OP_BULK:
        op->bulk.moved = answer->moved;
        break;
    case PAWL__OP_PRIORITY:
        op->priority.before = answer->before;
        break;
    case PAWL__OP_CHECKPOINT:
        op->checkpoint.sequence = answer->sequence;
        break;
    case PAWL__OP_NODE_JOIN:
        op->node.started_at_ms = answer->started_at_ms;
        break;
    case PAWL__OP_NODE_PUT:
        op->node.census = answer->census;
        break;
    case PAWL__OP_LOCK_TRY:
        op->lock.fence = answer->fence;
        break;
    default:
        break;
    }
}

void pawl__rm_op_hear(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    op->now_ms = answer->now_ms;
    op->err = PAWL_OK;
    if (answer->err) {
        hear_refusal(op, answer);
    } else {
        hear_results(op, answer);
    }
}
