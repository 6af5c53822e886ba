/* Events of workflows: see workflows.h. */
#include "http/events/workflows.h"
#include "http/events/events.h"

#include <stdlib.h>
#include <string.h>

enum {
    PENDING_MAX = 65536,
    BATCH_MAX = 256,
    TOLD_MAX = 1024 /* workflows that ended, so that none is told twice */
};

/* A step that was released, or ended. NONE: a workflow that has ended, by its own id: that is told
 * behind its steps, as far as these are known by then. */
struct step {
    struct pawl_job_id job;
    enum pawl_state to;
};

struct pawl__workflows {
    struct pawl__server *server;
    struct step *pending; /* a ring */
    size_t head, count, cap;
    bool busy; /* what follows belongs to the pool */
    struct step batch[BATCH_MAX];
    size_t batch_count;
    struct pawl_job_id ended[BATCH_MAX]; /* workflows, found by the batch */
    size_t ended_count;
    struct {
        struct pawl_job_id id;
        int32_t reopened;
    } told[TOLD_MAX];
    size_t told_next;
};

struct pawl__workflows *pawl__workflows_new(struct pawl__server *server)
{
    struct pawl__workflows *workflows = calloc(1, sizeof *workflows);
    if (workflows) workflows->server = server;
    return workflows;
}

void pawl__workflows_free(struct pawl__workflows *workflows)
{
    if (!workflows) return;
    free(workflows->pending);
    free(workflows);
}

/* ---- what is said ---- */

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    if (!*text) return;
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
}

static bool counts_jobs(const struct pawl_flow *flow)
{
    return strcmp(flow->layout, "group") == 0 || strcmp(flow->layout, "batch") == 0;
}

static const char *type_of(const struct pawl_flow *flow)
{
    return *flow->layout ? flow->layout : "dag";
}

/* `step` may be NULL. */
static void note(struct pawl__server *server, enum pawl__event_kind kind,
                 const struct pawl_flow *flow, const struct pawl_flow_inputs *own,
                 const struct step *step)
{
    struct pawl__buf data = { 0 };
    char id[PAWL_JOB_ID_TEXT_BYTES], job[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(flow->id, id);
    pawl__buf_printf(&data, "\"workflow_id\":\"%s\",\"workflow_type\":\"%s\"", id, type_of(flow));
    add_text(&data, "name", flow->name);
    if (step) {
        pawl_job_id_text(step->job, job);
        add_text(&data, "step_id", own->node);
        pawl__buf_printf(&data, ",\"job_id\":\"%s\",\"state\":\"%s\"", job,
                         pawl_state_name(step->to, PAWL_VOCABULARY_OJS));
    }
    add_text(&data, "reason", step ? "" : flow->reason);
    pawl__buf_printf(&data, ",\"total\":%lld,\"completed\":%lld,\"failed\":%lld",
                     (long long)flow->jobs.total, (long long)flow->jobs.completed,
                     (long long)flow->jobs.failed);
    pawl__events_note(server, &(struct pawl__note){ .kind = kind,
                                                    .subject = id,
                                                    .data = { data.failed ? "" : data.at,
                                                              data.failed ? 0 : data.len } });
    pawl__buf_release(&data);
}

void pawl__workflow_created(struct pawl__server *server, const struct pawl_flow *flow)
{
    note(server, PAWL__EVENT_WORKFLOW_CREATED, flow, NULL, NULL);
    note(server, PAWL__EVENT_WORKFLOW_STARTED, flow, NULL, NULL);
}

static enum pawl__event_kind kind_of(const struct pawl_flow *flow, const struct step *step,
                                     bool callback)
{
    bool jobs = counts_jobs(flow);
    if (!pawl_state_is_terminal(step->to)) {
        return callback ? PAWL__EVENT_WORKFLOW_CALLBACK_FIRED : PAWL__EVENT_NONE;
    }
    if (step->to == PAWL_STATE_SKIPPED) return PAWL__EVENT_NONE; // it did nothing
    if (pawl_state_is_successful(step->to)) {
        return jobs ? PAWL__EVENT_WORKFLOW_JOB_COMPLETED : PAWL__EVENT_WORKFLOW_STEP_COMPLETED;
    }
    return jobs ? PAWL__EVENT_WORKFLOW_JOB_FAILED : PAWL__EVENT_WORKFLOW_STEP_FAILED;
}

static enum pawl__event_kind end_of(const struct pawl_flow *flow)
{
    switch (flow->state) {
    case PAWL_FLOW_COMPLETED:
        return PAWL__EVENT_WORKFLOW_COMPLETED;
    case PAWL_FLOW_FAILED:
        return PAWL__EVENT_WORKFLOW_FAILED;
    case PAWL_FLOW_CANCELLED:
        return PAWL__EVENT_WORKFLOW_CANCELLED;
    default:
        return PAWL__EVENT_NONE;
    }
}

/* ---- a batch: on the pool ---- */

static bool same(const struct pawl_job_id *a, const struct pawl_job_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The workflow, read once for the batch. NULL: it cannot be read. */
static const struct pawl_flow *find(struct pawl__workflows *workflows, struct pawl_flows *flows,
                                    size_t *count, struct pawl_job_id id)
{
    for (size_t i = 0; i < *count; i++) {
        if (same(&flows[i].at[0].id, &id)) return &flows[i].at[0];
    }
    struct pawl_flows *next = &flows[*count];
    *next = (struct pawl_flows){ .at = NULL };
    if (pawl_flow_get(workflows->server->pawl, id, next, NULL)) return NULL;
    ++*count;
    return &next->at[0];
}

static bool was_told(const struct pawl__workflows *workflows, const struct pawl_flow *flow)
{
    for (size_t i = 0; i < TOLD_MAX; i++) {
        if (same(&workflows->told[i].id, &flow->id) &&
            workflows->told[i].reopened == flow->reopened) {
            return true;
        }
    }
    return false;
}

/* From now on it was. */
static bool is_told(struct pawl__workflows *workflows, const struct pawl_flow *flow)
{
    if (was_told(workflows, flow)) return true;
    workflows->told[workflows->told_next].id = flow->id;
    workflows->told[workflows->told_next].reopened = flow->reopened;
    workflows->told_next = (workflows->told_next + 1) % TOLD_MAX;
    return false;
}

static void look_at_step(struct pawl__workflows *workflows, struct pawl_flows *flows, size_t *count,
                         const struct step *step)
{
    struct pawl_flow_inputs own = { .at = NULL };
    if (pawl_flow_of(workflows->server->pawl, step->job, &own, NULL)) return;
    const struct pawl_flow *flow = find(workflows, flows, count, own.flow);
    enum pawl__event_kind kind = flow ? kind_of(flow, step, own.callback) : PAWL__EVENT_NONE;
    if (kind) note(workflows->server, kind, flow, &own, step);
    pawl_flow_inputs_release(&own);
}

static void look_at_end(struct pawl__workflows *workflows, struct pawl_flows *flows, size_t *count,
                        struct pawl_job_id id)
{
    const struct pawl_flow *flow = find(workflows, flows, count, id);
    enum pawl__event_kind kind = flow ? end_of(flow) : PAWL__EVENT_NONE;
    if (kind && !is_told(workflows, flow)) note(workflows->server, kind, flow, NULL, NULL);
}

static void look(void *ctx)
{
    struct pawl__workflows *workflows = ctx;
    struct pawl_flows flows[BATCH_MAX];
    size_t count = 0;
    bool ends[BATCH_MAX] = { false }; // already told in this batch
    for (size_t i = 0; i < workflows->batch_count; i++) {
        const struct step *step = &workflows->batch[i];
        ends[i] = step->to == PAWL_STATE_NONE;
        if (!ends[i]) look_at_step(workflows, flows, &count, step);
    }
    for (size_t i = 0; i < workflows->batch_count; i++) {
        if (ends[i]) look_at_end(workflows, flows, &count, workflows->batch[i].job);
    }
    workflows->ended_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pawl_flow *flow = &flows[i].at[0];
        if (end_of(flow) && !was_told(workflows, flow)) {
            workflows->ended[workflows->ended_count++] = flow->id;
        }
        pawl_flows_release(&flows[i]);
    }
}

/* ---- on the loop ---- */

/* False: no memory, or there are too many. */
static bool make_room(struct pawl__workflows *workflows)
{
    if (workflows->count < workflows->cap) return true;
    size_t cap = workflows->cap ? 2 * workflows->cap : BATCH_MAX;
    if (cap > PENDING_MAX) return false;
    struct step *pending = malloc(cap * sizeof *pending);
    if (!pending) return false;
    for (size_t i = 0; workflows->cap && i < workflows->count; i++) {
        pending[i] = workflows->pending[(workflows->head + i) % workflows->cap];
    }
    free(workflows->pending);
    workflows->pending = pending;
    workflows->head = 0;
    workflows->cap = cap;
    return true;
}

static bool add(struct pawl__workflows *workflows, struct pawl_job_id id, enum pawl_state to)
{
    if (!make_room(workflows)) return false;
    size_t at = (workflows->head + workflows->count++) % workflows->cap;
    workflows->pending[at] = (struct step){ id, to };
    return true;
}

static void start(struct pawl__workflows *workflows);

static void looked(void *ctx)
{
    struct pawl__workflows *workflows = ctx;
    workflows->busy = false;
    for (size_t i = 0; i < workflows->ended_count; i++) {
        (void)add(workflows, workflows->ended[i], PAWL_STATE_NONE);
    }
    if (workflows->count) start(workflows);
}

static void start(struct pawl__workflows *workflows)
{
    if (workflows->server->stopping) return; // the loop ends when nothing is on the pool
    workflows->batch_count = 0;
    while (workflows->count && workflows->batch_count < BATCH_MAX) {
        workflows->batch[workflows->batch_count++] = workflows->pending[workflows->head];
        workflows->head = (workflows->head + 1) % workflows->cap;
        workflows->count--;
    }
    workflows->busy = pawl__background_run(workflows->server, look, looked, workflows);
}

bool pawl__workflow_moved(struct pawl__workflows *workflows, const struct pawl_moved *moved)
{
    bool released = moved->from == PAWL_STATE_PENDING && moved->to == PAWL_STATE_AVAILABLE;
    if (!moved->in_flow || !(released || pawl_state_is_terminal(moved->to))) return true;
    if (!add(workflows, moved->id, moved->to)) return false;
    if (!workflows->busy) start(workflows);
    return true;
}
