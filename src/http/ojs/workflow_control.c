/* What clients and operators do to workflows: cancelling, retrying from what failed, pausing, and
 * signals to steps that wait for one. All but the cancel are pawl's own. On the pool. */
#include "base/diag.h"
#include "http/ojs/ojs.h"
#include "http/ojs/workflows.h"
#include "wire/wire.h"

#include <string.h>

/* What a body may say; each route reads the members that it has. */
struct wish {
    const char *step; /* its name */
    const char *group;
    const char *const *steps;
    size_t step_count;
    bool stop, all_below;
    const char *key;
    enum pawl_flow_signal_kind signal;
    struct pawl_span payload;
};

#define S struct wish
static const struct pawl__member cancel_members[] = {
    PAWL__MEMBER("step", TEXT, S, step, .min = 1, .max = PAWL_FLOW_NAME_BYTES_MAX),
    PAWL__MEMBER("stop", BOOL, S, stop),
};
const struct pawl__shape pawl__ojs_workflow_cancel_request_shape = PAWL__SHAPE(S, cancel_members);
static const struct pawl__member retry_members[] = {
    PAWL__MEMBER("steps", TEXTS, S, steps, PAWL__COUNTED(S, step_count), .min = 1,
                 .max = PAWL_FLOW_NAMED_MAX),
    PAWL__MEMBER("all_below", BOOL, S, all_below),
};
const struct pawl__shape pawl__ojs_workflow_retry_request_shape = PAWL__SHAPE(S, retry_members);
static const struct pawl__member seal_members[] = {
    PAWL__MEMBER("group", TEXT, S, group, .min = 1, .max = PAWL_FLOW_NAME_BYTES_MAX),
};
const struct pawl__shape pawl__ojs_workflow_seal_request_shape = PAWL__SHAPE(S, seal_members);
#define SIGNAL                                                                                     \
    PAWL__MEMBER("signal", WORD, S, signal, .words = &pawl__flow_signal_words,                     \
                 .flags = PAWL__REQUIRED),                                                         \
        PAWL__MEMBER("payload", JSON, S, payload)
static const struct pawl__member signal_members[] = {
    PAWL__MEMBER("step", TEXT, S, step, .min = 1, .max = PAWL_FLOW_NAME_BYTES_MAX,
                 .flags = PAWL__REQUIRED),
    SIGNAL,
};
const struct pawl__shape pawl__ojs_workflow_signal_request_shape = PAWL__SHAPE(S, signal_members);
static const struct pawl__member key_members[] = {
    PAWL__MEMBER("key", TEXT, S, key, .min = 1, .max = PAWL_FLOW_KEY_BYTES_MAX,
                 .flags = PAWL__REQUIRED),
    SIGNAL,
};
const struct pawl__shape pawl__ojs_signal_request_shape = PAWL__SHAPE(S, key_members);
#undef SIGNAL
#undef S

/* The workflow in the path, and the body: unknown members of these are wishes, and refused. False:
 * answered. */
static bool read_wish(struct pawl__request *request, const struct pawl__shape *shape,
                      struct wish *wish)
{
    static const struct pawl__body how = { .optional = true,
                                           .unknown = PAWL__FAULT_INVALID_REQUEST };
    pawl__shape_clear(shape, wish);
    return pawl__request_read(request, shape, &how, wish);
}

/* ---- steps by their names ---- */

static bool refuse_step(struct pawl__request *request, const char *field, const char *name)
{
    return pawl__reply_refuse(request, PAWL__FAULT_NOT_FOUND, field,
                              "the workflow has no step \"%.64s\"", name);
}

/* The ids of nodes with these names. False: answered. */
static bool find_steps(struct pawl__request *request, struct pawl_job_id flow, const char *field,
                       const char *const *names, size_t count, struct pawl_job_id *out)
{
    struct pawl__workflow shown = { .flows.at = NULL };
    if (!count) return true;
    if (!pawl__workflow_read(request, flow, true, &shown)) return false;
    const struct pawl_flow_nodes *nodes = &shown.nodes;
    bool found = true;
    for (size_t i = 0; found && i < count; i++) {
        size_t at = 0;
        while (at < nodes->count && strcmp(nodes->at[at].name, names[i]) != 0) {
            at++;
        }
        found = at < nodes->count;
        if (found)
            out[i] = nodes->at[at].id;
        else
            refuse_step(request, field, names[i]);
    }
    pawl__workflow_release(&shown);
    return found;
}

/* ---- replies ---- */

/* 409 with the state that does not allow it. */
static void refuse(struct pawl__request *request, struct pawl_job_id id, enum pawl_err err,
                   const struct pawl_diag *diag)
{
    struct pawl_flows flows = { .at = NULL };
    struct pawl__fault fault;
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__workflow_refuse_unknown(request, id);
    } else if (err != PAWL_ERR_STATE ||
               pawl_flow_get(pawl__request_pawl(request), id, &flows, NULL)) {
        pawl__reply_err(request, err, diag);
    } else {
        pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "", "%s", diag->text);
        pawl__reply_fault_with(request, &fault,
                               (const struct pawl__member[]){ PAWL__HERE_TEXT(
                                   "current_state", pawl__flow_state_words.at[flows.at[0].state]) },
                               1);
    }
    pawl_flows_release(&flows);
}

/* The workflow as it is by now; `more` are members beside it. */
static void reply(struct pawl__request *request, struct pawl_job_id id,
                  const struct pawl__member *more, size_t more_count)
{
    struct pawl__workflow shown = { .flows.at = NULL };
    if (!pawl__workflow_read(request, id, true, &shown)) return;
    pawl__workflow_print_twice(request, &shown);
    for (size_t i = 0; i < more_count; i++) {
        const struct pawl__shape shape = { .members = &more[i], .count = 1 };
        bool any = true;
        pawl__shape_print_members(&(struct pawl__shape_writer){ .out = &request->reply }, &shape,
                                  NULL, &any);
    }
    pawl__buf_add(&request->reply, "}", 1);
    pawl__workflow_release(&shown);
    pawl__reply(request, 200);
}

/* ---- cancelling ---- */

static void cancel(struct pawl__request *request, struct pawl_job_id id, const struct wish *wish)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_by by = pawl__request_by(request);
    struct pawl_job_id step;
    struct pawl_diag diag;
    struct pawl_flow_cancel how = { .drain = !wish->stop };
    if (!find_steps(request, id, "step", &wish->step, wish->step != NULL, &step)) return;
    if (wish->step) how.node = &step;
    enum pawl_err err = pawl_flow_cancel(pawl, id, &how, &by, &diag);
    if (err) {
        refuse(request, id, err, &diag);
    } else {
        reply(request, id, NULL, 0);
    }
}

/* Jobs that run may finish, as OJS has it. */
void pawl__on_workflow_cancel(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct wish wish;
    if (!pawl__workflow_id(request, &id)) return;
    if (read_wish(request, &pawl__ojs_workflow_cancel_request_shape, &wish)) {
        cancel(request, id, &wish);
    }
}

/* ---- retrying, pausing, resuming ---- */

void pawl__on_workflow_retry(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct wish wish;
    struct pawl_diag diag;
    int64_t count = 0;
    if (!pawl__workflow_id(request, &id)) return;
    if (!read_wish(request, &pawl__ojs_workflow_retry_request_shape, &wish)) return;
    struct pawl_job_id *nodes =
        pawl__arena_calloc(&request->arena, wish.step_count + 1, sizeof *nodes);
    if (!nodes) {
        pawl__reply_nomem(request);
        return;
    }
    if (!find_steps(request, id, "steps", wish.steps, wish.step_count, nodes)) return;
    const struct pawl_flow_retry how = { .nodes = nodes,
                                         .node_count = wish.step_count,
                                         .all_below = wish.all_below };
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = pawl_flow_retry(pawl__request_pawl(request), id, &how, &by, &count, &diag);
    if (err) {
        refuse(request, id, err, &diag);
    } else {
        reply(request, id, (const struct pawl__member[]){ PAWL__HERE_INT("retried", count) }, 1);
    }
}

typedef enum pawl_err control_fn(struct pawl *pawl, struct pawl_job_id flow,
                                 const struct pawl_by *by, struct pawl_diag *diag);

static void control(struct pawl__request *request, control_fn *act)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    if (!pawl__workflow_id(request, &id)) return;
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = act(pawl__request_pawl(request), id, &by, &diag);
    if (err) {
        refuse(request, id, err, &diag);
    } else {
        reply(request, id, NULL, 0);
    }
}

void pawl__on_workflow_pause(struct pawl__request *request)
{
    control(request, pawl_flow_pause);
}

void pawl__on_workflow_resume(struct pawl__request *request)
{
    control(request, pawl_flow_resume);
}

/* No more steps come to the group, or to the workflow. */
void pawl__on_workflow_seal(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct wish wish;
    struct pawl_diag diag;
    if (!pawl__workflow_id(request, &id)) return;
    if (!read_wish(request, &pawl__ojs_workflow_seal_request_shape, &wish)) return;
    enum pawl_err err = pawl_flow_seal(pawl__request_pawl(request), id, wish.group, &diag);
    if (err == PAWL_ERR_NOT_FOUND && wish.group) {
        pawl__reply_refuse(request, PAWL__FAULT_NOT_FOUND, "group", "%s", diag.text);
    } else if (err) {
        refuse(request, id, err, &diag);
    } else {
        reply(request, id, NULL, 0);
    }
}

/* ---- signals ---- */

void pawl__on_workflow_signal(struct pawl__request *request)
{
    struct pawl_job_id id, node;
    struct wish wish;
    struct pawl_diag diag;
    if (!pawl__workflow_id(request, &id)) return;
    if (!read_wish(request, &pawl__ojs_workflow_signal_request_shape, &wish) ||
        !find_steps(request, id, "step", &wish.step, 1, &node)) {
        return;
    }
    const struct pawl_flow_signal signal = { .kind = wish.signal, .payload = wish.payload };
    enum pawl_err err = pawl_flow_signal(pawl__request_pawl(request), node, &signal, &diag);
    if (err) {
        refuse(request, id, err, &diag);
    } else {
        reply(request, id, NULL, 0);
    }
}

/* To all that wait for the key, which may be none. */
void pawl__on_signal(struct pawl__request *request)
{
    struct wish wish;
    struct pawl_diag diag;
    int64_t delivered = 0;
    if (!read_wish(request, &pawl__ojs_signal_request_shape, &wish)) return;
    const struct pawl_flow_signal signal = { .kind = wish.signal, .payload = wish.payload };
    enum pawl_err err =
        pawl_flow_signal_key(pawl__request_pawl(request), wish.key, &signal, &delivered, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    PAWL__PRINT(&(struct pawl__shape_writer){ .out = &request->reply },
                PAWL__HERE_INT("delivered", delivered));
    pawl__reply(request, 200);
}
