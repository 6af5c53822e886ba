/* The protocol between programs of pawl: operations as calls of the library, one function each. An
 * operation of wire/ops.h that has none here does not compile. */
#include "http/remote/calls.h"

#include "base/diag.h"

#include <pawl/flow.h>

#include <string.h>

/* ---- posted ---- */

static enum pawl_err post_submit(const struct pawl__remote_call *call)
{
    return pawl_post_submit(call->pawl, call->op->jobs, call->op->job_count, call->posted,
                            call->ctx, call->diag);
}

/* Within what a reply may hold. */
static struct pawl_claim bounded_claim(const struct pawl__remote_call *call)
{
    struct pawl_claim claim = call->op->claim;
    int64_t max = call->reply_bytes_max;
    if (claim.bytes_max <= 0 || claim.bytes_max > max) claim.bytes_max = max;
    return claim;
}

static enum pawl_err post_claim(const struct pawl__remote_call *call)
{
    struct pawl_claim claim = bounded_claim(call);
    return pawl_post_claim(call->pawl, &claim, call->posted, call->ctx, call->diag);
}

static enum pawl_err post_route(const struct pawl__remote_call *call)
{
    struct pawl_claim claim = bounded_claim(call);
    return pawl_post_route(call->pawl, &claim, call->posted, call->ctx, call->diag);
}

static struct pawl_routed routed_of(const struct pawl__wire_op *op)
{
    return (struct pawl_routed){ .id = op->id, .worker = op->name, .token = op->token };
}

static enum pawl_err post_assign(const struct pawl__remote_call *call)
{
    const struct pawl_assignment assignment = { .routed = routed_of(call->op),
                                                .worker = call->op->owner,
                                                .lease_ms = call->op->lease_ms,
                                                .timed = call->op->timed };
    return pawl_post_assign(call->pawl, &assignment, call->posted, call->ctx, call->diag);
}

static enum pawl_err post_complete(const struct pawl__remote_call *call)
{
    return pawl_post_complete(call->pawl, &call->run, call->op->data, call->posted, call->ctx,
                              call->diag);
}

static enum pawl_err post_fail(const struct pawl__remote_call *call)
{
    return pawl_post_fail(call->pawl, &call->run, &call->op->report, call->posted, call->ctx,
                          call->diag);
}

static enum pawl_err post_extend(const struct pawl__remote_call *call)
{
    const struct pawl_extension extension = { .runs = call->op->runs,
                                              .count = call->op->run_count,
                                              .lease_ms = call->op->lease_ms,
                                              .timed = call->op->timed };
    return pawl_post_extend(call->pawl, &extension, call->posted, call->ctx, call->diag);
}

/* ---- what is submitted one by one ---- */

static enum pawl_err call_flow_submit(const struct pawl__remote_call *call)
{
    struct pawl_job_id id;
    return pawl_flow_submit(call->pawl, &call->op->flow, &id, call->diag);
}

/* ---- what workers report ---- */

static enum pawl_err call_unroute(const struct pawl__remote_call *call)
{
    const struct pawl_routed routed = routed_of(call->op);
    return pawl_unroute(call->pawl, &routed, call->diag);
}

static enum pawl_err call_snooze(const struct pawl__remote_call *call)
{
    return pawl_give_back(call->pawl, &call->run, call->op->delay_ms, call->diag);
}

/* The states are told on refusals too. */
static enum pawl_err call_control(const struct pawl__remote_call *call)
{
    struct pawl_controlled moved = { .from = PAWL_STATE_NONE };
    enum pawl_err err =
        pawl_control_run(call->pawl, &call->run, call->op->control, &call->by, &moved, call->diag);
    call->out->from = moved.from;
    call->out->to = moved.to;
    return err;
}

/* Without a run it would be an operator's, which this path's scope does not cover. */
static enum pawl_err call_end(const struct pawl__remote_call *call)
{
    if (call->run.run >= 1) return call_control(call);
    return pawl__fail_field(call->diag, PAWL_ERR_ARG, "run", "run is missing");
}

static enum pawl_err call_progress(const struct pawl__remote_call *call)
{
    const struct pawl_progress progress = { .value = call->op->value,
                                            .message = call->op->text,
                                            .data = call->op->data };
    return pawl_progress(call->pawl, &call->run, &progress, call->diag);
}

static enum pawl_err call_checkpoint(const struct pawl__remote_call *call)
{
    return pawl_checkpoint(call->pawl, &call->run, call->op->data, &call->out->sequence,
                           call->diag);
}

static enum pawl_err call_log(const struct pawl__remote_call *call)
{
    const char *text = call->op->text ? call->op->text : "";
    return pawl_log(call->pawl, &call->run, call->op->level, text, call->diag);
}

static struct pawl_node node_of(const struct pawl__wire_op *op)
{
    return (
        struct pawl_node){ .name = op->name, .info = op->text, .started_at_ms = op->started_at_ms };
}

static enum pawl_err call_node_join(const struct pawl__remote_call *call)
{
    const struct pawl_node node = node_of(call->op);
    return pawl_node_join(call->pawl, &node, &call->out->started_at_ms, call->diag);
}

static enum pawl_err call_node_put(const struct pawl__remote_call *call)
{
    const struct pawl_node node = node_of(call->op);
    return pawl_node_put(call->pawl, &node, &call->out->census, call->diag);
}

static enum pawl_err call_node_drop(const struct pawl__remote_call *call)
{
    return pawl_node_drop(call->pawl, call->op->name, call->op->started_at_ms, call->diag);
}

/* ---- what operators do ---- */

static enum pawl_err call_bulk(const struct pawl__remote_call *call)
{
    const struct pawl__wire_op *op = call->op;
    int64_t *moved = &call->out->moved;
    return op->control
               ? pawl_control_many(call->pawl, &op->filter, op->control, op->limit, &call->by,
                                   moved, call->diag)
               : pawl_delete_many(call->pawl, &op->filter, op->limit, &call->by, moved, call->diag);
}

static enum pawl_err call_priority(const struct pawl__remote_call *call)
{
    return pawl_priority(call->pawl, call->op->id, call->op->priority, &call->by,
                         &call->out->before, call->diag);
}

static enum pawl_err call_delete(const struct pawl__remote_call *call)
{
    return pawl_delete(call->pawl, call->op->id, &call->by, call->diag);
}

static enum pawl_err call_lock_try(const struct pawl__remote_call *call)
{
    return pawl_lock_try(call->pawl, call->op->name, call->op->owner, call->op->ttl_ms,
                         &call->out->fence, call->diag);
}

static enum pawl_err call_lock_renew(const struct pawl__remote_call *call)
{
    return pawl_lock_renew(call->pawl, call->op->name, call->op->owner, call->op->ttl_ms,
                           call->diag);
}

static enum pawl_err call_lock_release(const struct pawl__remote_call *call)
{
    return pawl_lock_release(call->pawl, call->op->name, call->op->owner, call->diag);
}

static enum pawl_err call_setting_put(const struct pawl__remote_call *call)
{
    return pawl_setting_put(call->pawl, call->op->name, call->op->text, call->diag);
}

static enum pawl_err call_schema_add(const struct pawl__remote_call *call)
{
    return pawl_args_schema_add(call->pawl, &call->op->schema, call->diag);
}

static enum pawl_err call_schema_drop(const struct pawl__remote_call *call)
{
    return pawl_args_schema_drop(call->pawl, &call->op->schema, call->diag);
}

static enum pawl_err call_config_put(const struct pawl__remote_call *call)
{
    return pawl_queue_config_put(call->pawl, &call->op->config, call->diag);
}

static enum pawl_err call_config_drop(const struct pawl__remote_call *call)
{
    return pawl_queue_config_drop(call->pawl, call->op->config.queue, call->diag);
}

static enum pawl_err call_request_note(const struct pawl__remote_call *call)
{
    return pawl_request_note(call->pawl, call->op->name, call->op->text, call->op->ttl_ms,
                             call->diag);
}

static enum pawl_err call_flow_control(const struct pawl__remote_call *call)
{
    const struct pawl__wire_op *op = call->op;
    const struct pawl_flow_cancel cancel = { .node = op->node_count ? op->nodes : NULL,
                                             .drain = op->drain };
    const struct pawl_flow_retry again = { .nodes = op->nodes,
                                           .node_count = op->node_count,
                                           .all_below = op->all_below };
    switch (op->verb) {
    case PAWL_FLOW_CONTROL_CANCEL:
        return pawl_flow_cancel(call->pawl, op->id, &cancel, &call->by, call->diag);
    case PAWL_FLOW_CONTROL_RETRY:
        return pawl_flow_retry(call->pawl, op->id, &again, &call->by, &call->out->moved,
                               call->diag);
    case PAWL_FLOW_CONTROL_RESUME:
        return pawl_flow_resume(call->pawl, op->id, &call->by, call->diag);
    case PAWL_FLOW_CONTROL_PAUSE:
        return pawl_flow_pause(call->pawl, op->id, &call->by, call->diag);
    default:
        return pawl__fail_field(call->diag, PAWL_ERR_ARG, "verb", "verb is missing");
    }
}

static enum pawl_err call_queue_pause(const struct pawl__remote_call *call)
{
    const struct pawl__wire_op *op = call->op;
    return op->forgotten
               ? pawl_queue_delete(call->pawl, op->name, &call->by, call->diag)
               : pawl_queue_pause(call->pawl, op->name, op->paused, &call->by, call->diag);
}

static enum pawl_err call_flow_signal(const struct pawl__remote_call *call)
{
    const struct pawl__wire_op *op = call->op;
    const struct pawl_flow_signal signal = { .kind = op->signal, .payload = op->data };
    if (op->name) {
        return pawl_flow_signal_key(call->pawl, op->name, &signal, &call->out->moved, call->diag);
    }
    call->out->moved = 1;
    return pawl_flow_signal(call->pawl, op->id, &signal, call->diag);
}

static enum pawl_err call_flow_seal(const struct pawl__remote_call *call)
{
    return pawl_flow_seal(call->pawl, call->op->id, call->op->name, call->diag);
}

/* ---- schedules ---- */

static enum pawl_err call_schedule_put(const struct pawl__remote_call *call)
{
    struct pawl_schedule_put_options options = call->op->options;
    options.actor = call->by.actor;
    if (call->op->schedule_count != 1) {
        return pawl__fail_field(call->diag, PAWL_ERR_ARG, "schedules", "put one schedule");
    }
    return pawl_schedule_put(call->pawl, &call->op->schedules[0], &options, &call->out->put,
                             call->diag);
}

static enum pawl_err call_schedule_pause(const struct pawl__remote_call *call)
{
    return pawl_schedule_pause(call->pawl, call->op->name, &call->by, &call->out->changed,
                               call->diag);
}

static enum pawl_err call_schedule_resume(const struct pawl__remote_call *call)
{
    return pawl_schedule_resume(call->pawl, call->op->name, &call->by, &call->out->changed,
                                call->diag);
}

static enum pawl_err call_schedule_run(const struct pawl__remote_call *call)
{
    return pawl_schedule_run(call->pawl, call->op->name, call->op->force, &call->by,
                             &call->out->ran, call->diag);
}

/* Is it of the group still, and was it not declared since? */
static enum pawl_err check_declared(const struct pawl__remote_call *call, int64_t *version)
{
    const struct pawl__wire_op *op = call->op;
    struct pawl_schedules found = { 0 };
    enum pawl_err err = pawl_schedule_get(call->pawl, op->name, &found, call->diag);
    if (!err) {
        const struct pawl_schedule *schedule = &found.at[0];
        *version = schedule->version;
        if (strcmp(schedule->group, op->group) != 0 ||
            schedule->declared_at_ms >= op->declared_before_ms ||
            (op->version && op->version != schedule->version)) {
            err = pawl__fail(call->diag, PAWL_ERR_STALE, "schedule \"%s\" has been declared since",
                             op->name);
        }
    }
    pawl_schedules_release(&found);
    return err;
}

static enum pawl_err call_schedule_drop(const struct pawl__remote_call *call)
{
    int64_t version = call->op->version;
    enum pawl_err err = call->op->group ? check_declared(call, &version) : PAWL_OK;
    return err ? err : pawl_schedule_remove(call->pawl, call->op->name, version, call->diag);
}

/* ---- all ---- */

typedef enum pawl_err call_fn(const struct pawl__remote_call *call);

bool pawl__remote_is_posted(enum pawl__wire_op_kind kind)
{
    enum { call, post };
#define X(name, text, path, how) [PAWL__WIRE_OP_##name] = how,
    static const uint8_t hows[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
    return hows[kind] == post;
}

enum pawl_err pawl__remote_call(const struct pawl__remote_call *call)
{
#define X(name, text, path, how) [PAWL__WIRE_OP_##name] = how##_##text,
    static call_fn *const calls[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
    return calls[call->op->op](call);
}
