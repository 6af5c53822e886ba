/* What a job's parents left: see store.h. */
#include "store/inputs.h"

#include "base/diag.h"
#include "base/json.h"

#include <string.h>

enum pawl_err pawl__inputs_refuse(struct pawl_job_id job, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job, text);
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no job \"%s\" that has parents", text);
}

/* Jobs are read with all that they have, so a few at a time, and what is needed is copied. All
 * results are returned or none: a list of some would look like that of all. */
enum { SLICE_MAX = 64 };

struct inputs {
    struct pawl_flow_inputs *out;
    struct pawl__arena *arena;
    int64_t bytes; /* of the results */
    bool failed;   /* no memory */
};

static const struct pawl_span no_result = { "null", 4 };

static const char *keep(struct inputs *inputs, const char *at, size_t len)
{
    const char *copy = pawl__arena_dup(inputs->arena, at, len);
    if (!copy) inputs->failed = true;
    return copy ? copy : "";
}

static struct pawl_span keep_result(struct inputs *inputs, enum pawl_state state,
                                    struct pawl_span result)
{
    if (state != PAWL_STATE_COMPLETED || !result.len) return no_result;
    inputs->bytes += (int64_t)result.len;
    if (inputs->bytes > PAWL_FLOW_RESULTS_BYTES_MAX) return no_result;
    return (struct pawl_span){ keep(inputs, result.at, result.len), result.len };
}

static void add_node(struct inputs *inputs, const struct pawl__flow_node *node)
{
    enum pawl_state state = (enum pawl_state)node->state;
    inputs->out->at[inputs->out->count++] =
        (struct pawl_flow_input){ .name = node->name,
                                  .id = node->id,
                                  .state = state,
                                  .result = keep_result(inputs, state, node->result),
                                  .reason = node->reason };
}

/* The job knows better than the node, unless it was deleted. */
static void add_job(struct inputs *inputs, const char *name, const struct pawl_job *job)
{
    inputs->out->at[inputs->out->count++] =
        (struct pawl_flow_input){ .name = name,
                                  .id = job->id,
                                  .state = job->state,
                                  .result = keep_result(inputs, job->state, job->result),
                                  .reason = keep(inputs, job->reason, strlen(job->reason)) };
}

static bool same(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Jobs come in the order in which they are asked for, without those that are not there. */
static enum pawl_err add_slice(struct pawl__store *store, struct inputs *inputs,
                               const struct pawl__flow_node *nodes, size_t count,
                               struct pawl_diag *diag)
{
    struct pawl_job_id ids[SLICE_MAX];
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl_job *jobs = NULL;
    size_t wanted = 0, found = 0, next = 0;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].kind == PAWL_FLOW_KIND_JOB) ids[wanted++] = nodes[i].id;
    }
    if (wanted) err = pawl__store_get(store, ids, wanted, &scratch, &jobs, &found, diag);
    for (size_t i = 0; !err && i < count; i++) {
        bool is_next = next < found && same(jobs[next].id, nodes[i].id);
        if (is_next) {
            add_job(inputs, nodes[i].name, &jobs[next++]);
        } else {
            add_node(inputs, &nodes[i]);
        }
    }
    pawl__arena_release(&scratch);
    return err;
}

static enum pawl_err add_slices(struct pawl__store *store, struct inputs *inputs,
                                const struct pawl__flow_node *nodes, size_t count,
                                struct pawl_diag *diag)
{
    size_t next;
    enum pawl_err err = PAWL_OK;
    inputs->out->at = pawl__arena_calloc(inputs->arena, count + 1, sizeof *inputs->out->at);
    if (!inputs->out->at) return pawl__fail_nomem(diag);
    for (size_t i = 0; !err && i < count; i = next) {
        next = count - i > SLICE_MAX ? i + SLICE_MAX : count;
        err = add_slice(store, inputs, &nodes[i], next - i, diag);
    }
    if (!err && inputs->failed) err = pawl__fail_nomem(diag);
    if (err || inputs->bytes <= PAWL_FLOW_RESULTS_BYTES_MAX) return err;
    inputs->out->omitted_bytes = inputs->bytes;
    for (size_t i = 0; i < count; i++) {
        inputs->out->at[i].result = no_result;
    }
    return PAWL_OK;
}

enum pawl_err pawl__inputs_fill(struct pawl__store *store, const struct pawl__flow_node *nodes,
                                size_t count, struct pawl__arena *arena,
                                struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    return add_slices(store, &(struct inputs){ out, arena }, nodes, count, diag);
}

/* Without the group that it is a member of, which is found too if that had to wait. */
static size_t drop_group(const struct pawl__flow_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->nodes_count; i++) {
        if (rows->nodes[i].no != rows->own->group) rows->nodes[count++] = rows->nodes[i];
    }
    return count;
}

/* ---- a follow-up ---- */

/* Of the job that it follows, from its meta. False: it has none that can be read. */
static bool read_parent(const struct pawl_job *job, struct pawl__arena *scratch,
                        struct pawl_flow_input *out)
{
    struct pawl__json json;
    size_t len;
    bool follows = job->ties & PAWL__CHILD_TIE && job->meta.len;
    if (!follows || pawl__json_parse(job->meta, PAWL_JSON_DEPTH_MAX, scratch, &json, NULL)) {
        return false;
    }
    uint32_t id = pawl__json_member(&json, 0, PAWL__PARENT_ID);
    uint32_t state = pawl__json_member(&json, 0, PAWL__PARENT_STATE);
    const char *id_text = id ? pawl__json_string(&json, id, scratch, &len) : NULL;
    const char *state_text = state ? pawl__json_string(&json, state, scratch, &len) : NULL;
    *out = (struct pawl_flow_input){ .name = "parent", .result = no_result, .reason = "" };
    uint32_t mask = state_text ? pawl_state_mask(state_text, PAWL_VOCABULARY_PAWL) : 0;
    while (mask && !(mask & PAWL_STATE_BIT(out->state))) {
        out->state++;
    }
    return id_text && !pawl_job_id_parse(id_text, &out->id);
}

static enum pawl_err add_parent(struct pawl__store *store, struct inputs *inputs,
                                const struct pawl_job *job, struct pawl_diag *diag)
{
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl_flow_input parent;
    struct pawl_job *jobs = NULL;
    size_t found = 0;
    enum pawl_err err = PAWL_OK;
    inputs->out->at = pawl__arena_calloc(inputs->arena, 1, sizeof parent);
    if (!inputs->out->at) return pawl__fail_nomem(diag);
    if (!read_parent(job, &scratch, &parent)) {
        err = pawl__inputs_refuse(job->id, diag);
    } else {
        err = pawl__store_get(store, &parent.id, 1, &scratch, &jobs, &found, diag);
    }
    if (!err && found) add_job(inputs, parent.name, jobs);
    if (!err && !found) inputs->out->at[inputs->out->count++] = parent; // it was deleted
    pawl__arena_release(&scratch);
    return !err && inputs->failed ? pawl__fail_nomem(diag) : err;
}

enum pawl_err pawl__inputs_parent(struct pawl__store *store, struct pawl_job_id id,
                                  struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                  struct pawl_diag *diag)
{
    struct inputs inputs = { out, arena };
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl_job *jobs = NULL;
    size_t found = 0;
    enum pawl_err err = pawl__store_get(store, &id, 1, &scratch, &jobs, &found, diag);
    if (!err && !found) err = pawl__inputs_refuse(id, diag);
    if (!err) err = add_parent(store, &inputs, jobs, diag);
    pawl__arena_release(&scratch);
    return err;
}

/* ---- both ---- */

enum pawl_err pawl__store_inputs(struct pawl__store *store, struct pawl_job_id job,
                                 struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                 struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_PARENTS, .id = job };
    *out = (struct pawl_flow_inputs){ .node = "" };
    enum pawl_err err = pawl__store_flows(store, &ask, arena, &rows, diag);
    if (err) return err;
    if (rows.seen) {
        *out = rows.seen->inputs;
        return PAWL_OK;
    }
    if (!rows.own_count) return pawl__inputs_parent(store, job, arena, out, diag);
    out->flow = rows.own->flow;
    out->node = rows.own->name;
    out->callback = rows.own->traits & PAWL__FLOW_CALLBACK;
    return pawl__inputs_fill(store, rows.nodes, drop_group(&rows), arena, out, diag);
}

enum pawl_err pawl__store_inputs_of(struct pawl__store *store, const struct pawl_job *job,
                                    struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                    struct pawl_diag *diag)
{
    struct inputs inputs = { out, arena };
    if (job->ties & PAWL__FLOW_TIE) return pawl__store_inputs(store, job->id, arena, out, diag);
    *out = (struct pawl_flow_inputs){ .node = "" };
    return job->ties & PAWL__CHILD_TIE ? add_parent(store, &inputs, job, diag) : PAWL_OK;
}
