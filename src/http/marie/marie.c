/* Marie's routes of jobs: Marie's names of states and shapes of replies.
 *
 * A path's last part is a job's id if it looks like one and a state otherwise; no state looks like
 * an id. Stopping is possible by GET, as in Marie's documents, and by POST. */
#include "http/marie/marie.h"
#include "base/time_text.h"
#include "http/ojs/ojs.h"

#include <string.h>

/* Replies of these routes are plain JSON. */
static void plain(struct pawl__request *request)
{
    request->content_type = "application/json";
}

/* ---- printing ---- */

static void print_time(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__print_instant(out, at_ms);
}

static void print_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
}

/* Until when the record is certainly kept; 0: as long as the retention of all jobs says. A job is
 * kept from its end, so this may still move while it has not ended. */
static int64_t kept_until(const struct pawl_job *job)
{
    int64_t from_ms = job->finished_at_ms ? job->finished_at_ms : job->created_at_ms;
    return job->keep_ms ? from_ms + job->keep_ms : 0;
}

/* The graph that a job belongs to: its flow. One that was submitted alone is its own graph. */
static struct pawl_job_id dag_of(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl_flow_inputs own = { .at = NULL };
    struct pawl_job_id dag = job->id;
    if (!pawl_flow_has_inputs(job)) return dag;
    if (pawl_flow_of(pawl__request_pawl(request), job->id, &own, NULL) == PAWL_OK) dag = own.flow;
    pawl_flow_inputs_release(&own);
    return dag;
}

static void print_job(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl__buf *out = &request->reply;
    char id[PAWL_JOB_ID_TEXT_BYTES], dag[PAWL_JOB_ID_TEXT_BYTES];
    int64_t tries = job->attempt - job->free_runs;
    pawl_job_id_text(job->id, id);
    pawl_job_id_text(dag_of(request, job), dag);
    pawl__buf_printf(out, "{\"id\":\"%s\",\"dag_id\":\"%s\"", id, dag);
    print_text(out, "name", job->queue);
    print_text(out, "type", job->type);
    print_text(out, "state", pawl_state_name(job->state, PAWL_VOCABULARY_MARIE));
    pawl__buf_printf(out, ",\"priority\":%d,\"retry_limit\":%d,\"retry_count\":%lld,\"data\":",
                     job->priority, job->attempts_max - 1, (long long)(tries > 1 ? tries - 1 : 0));
    pawl__buf_add_text(out, job->brief ? "null,\"data_omitted\":true" : "");
    pawl__buf_add(out, job->args.at, job->args.len);
    pawl__buf_add_text(out, ",\"metadata\":");
    pawl__buf_add_text(out, job->meta.len ? "" : "{}");
    pawl__buf_add(out, job->meta.at, job->meta.len);
    print_time(out, "created_on", job->created_at_ms);
    print_time(out, "start_after", job->due_at_ms);
    print_time(out, "started_on", job->started_at_ms);
    print_time(out, "completed_on", job->finished_at_ms);
    print_time(out, "expires_on", job->expires_at_ms);
    print_time(out, "keep_until", kept_until(job));
    print_time(out, "soft_sla", job->sla_soft_at_ms);
    print_time(out, "hard_sla", job->sla_hard_at_ms);
    print_text(out, "run_owner", job->worker);
    print_time(out, "run_lease_expires_at", job->lease_until_ms);
    pawl__buf_add_text(out, ",\"output\":");
    pawl__buf_add_text(out, job->result.len ? "" : "null");
    pawl__buf_add(out, job->result.at, job->result.len);
    pawl__buf_add_text(out, "}");
}

/* ---- looking ---- */

static void reply_jobs(struct pawl__request *request, const struct pawl_filter *filter)
{
    struct pawl__paging paging;
    struct pawl_jobs jobs = { 0 };
    if (!pawl__paging_read(request, request->server->config.limits.page_size_max, &paging)) return;
    if (!pawl__paging_query(request, filter, &paging, &jobs)) return;
    pawl__buf_add_text(&request->reply, "{\"status\":\"OK\",\"result\":[");
    for (size_t i = 0; i < jobs.count; i++) {
        if (i) pawl__buf_add(&request->reply, ",", 1);
        print_job(request, &jobs.at[i]);
    }
    pawl__buf_add_text(&request->reply, "],");
    pawl__paging_print(&request->reply, &paging, jobs.total, jobs.next);
    pawl__buf_add_text(&request->reply, "}");
    pawl_jobs_release(&jobs);
    pawl__reply(request, 200);
}

static void reply_job(struct pawl__request *request, struct pawl_job_id id, bool listed)
{
    struct pawl_jobs jobs = { 0 };
    if (pawl__job_read(request, id, &jobs)) {
        pawl__buf_add_text(&request->reply, listed ? "{\"status\":\"OK\",\"result\":["
                                                   : "{\"status\":\"OK\",\"result\":");
        print_job(request, &jobs.at[0]);
        pawl__buf_add_text(&request->reply, listed ? "]}" : "}");
        pawl__reply(request, 200);
    }
    pawl_jobs_release(&jobs);
}

/* The jobs of a flow, in order of its nodes, on a page by limit and offset. Control nodes are none.
 * What one reply may hold is counted as in other lists: jobs beyond are brief. */
static void print_nodes(struct pawl__request *request, const struct pawl_flow_nodes *nodes,
                        const struct pawl__paging *paging)
{
    int64_t total = 0, shown = 0, left = request->server->config.limits.reply_bytes_max;
    pawl__buf_add_text(&request->reply, "{\"status\":\"OK\",\"result\":[");
    for (size_t i = 0; i < nodes->count; i++) {
        struct pawl_jobs jobs = { 0 };
        if (nodes->at[i].kind != PAWL_FLOW_KIND_JOB || total++ < paging->offset) continue;
        if (shown == paging->limit) continue;
        if (pawl_get(pawl__request_pawl(request), nodes->at[i].id, &jobs, NULL)) continue;
        struct pawl_job *job = &jobs.at[0];
        left -= (int64_t)(job->args.len + job->meta.len + job->result.len);
        if (left < 0 && shown) {
            job->brief = true;
            job->args = job->result = (struct pawl_span){ "", 0 };
        }
        if (shown++) pawl__buf_add(&request->reply, ",", 1);
        print_job(request, job);
        pawl_jobs_release(&jobs);
    }
    const struct pawl__page_told told = { .total = total,
                                          .limit = paging->limit,
                                          .offset = paging->offset,
                                          .has_more = paging->offset + shown < total,
                                          .next = "" };
    pawl__buf_add_text(&request->reply, "],\"pagination\":");
    pawl__shape_print(&(struct pawl__shape_writer){ .out = &request->reply }, &pawl__ojs_page_shape,
                      &told);
    pawl__buf_add_text(&request->reply, "}");
}

static void reply_dag(struct pawl__request *request, struct pawl_job_id id)
{
    struct pawl__paging paging;
    struct pawl_flow_nodes nodes = { .at = NULL };
    struct pawl_diag diag;
    if (!pawl__paging_read(request, request->server->config.limits.page_size_max, &paging)) return;
    if (paging.cursor) {
        pawl__reply_invalid(request, "cursor",
                            "the jobs of a graph are listed by limit and offset");
        return;
    }
    enum pawl_err err = pawl_flow_nodes_get(pawl__request_pawl(request), id, &nodes, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        reply_job(request, id, true); // of a job that was submitted alone
    } else if (!pawl__reply_if_err(request, err, &diag)) {
        print_nodes(request, &nodes, &paging);
        pawl__reply(request, 200);
    }
    pawl_flow_nodes_release(&nodes);
}

void pawl__on_marie_jobs(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_filter filter = { 0 };
    plain(request);
    const char *dag = pawl__request_query(request, "dag_id");
    if (!dag) {
        reply_jobs(request, &filter);
    } else if (pawl_job_id_parse(dag, &id) == PAWL_OK) {
        reply_dag(request, id);
    } else {
        pawl__reply_invalid(request, "dag_id", "dag_id must be an id");
    }
}

void pawl__on_marie_job(struct pawl__request *request)
{
    struct pawl_job_id id;
    plain(request);
    if (pawl_job_id_parse(request->parts[0], &id) == PAWL_OK) {
        reply_job(request, id, false);
        return;
    }
    struct pawl_filter filter = {
        .states = pawl_state_mask(request->parts[0], PAWL_VOCABULARY_MARIE),
    };
    if (filter.states) {
        reply_jobs(request, &filter);
    } else {
        pawl__reply_invalid(request, "state",
                            "\"%.40s\" is neither a job's id nor a state: CREATED, RETRY, ACTIVE, "
                            "COMPLETED, SKIPPED, EXPIRED, CANCELLED or FAILED",
                            request->parts[0]);
    }
}

/* ---- moving ---- */

/* `states`: those in which it is possible, beside what the lifecycle says. */
static void move(struct pawl__request *request, enum pawl_control control, uint32_t states,
                 const char *said)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    plain(request);
    if (!pawl__request_job_id(request, 0, &id)) return;
    enum pawl_err err = pawl__move_one(request, id, control, states, &diag);
    if (err == PAWL_ERR_STATE) {
        enum pawl_state state = pawl__job_state(request, id);
        if (states != UINT32_MAX) {
            snprintf(diag.text, sizeof diag.text,
                     "only a cancelled job is resumed, and this one is %s",
                     pawl_state_name(state, PAWL_VOCABULARY_MARIE));
        }
        pawl__job_refuse_state(request, &diag, state, PAWL_VOCABULARY_MARIE);
    } else if (err) {
        pawl__job_reply_err(request, id, err, &diag);
    } else {
        pawl__buf_printf(&request->reply, "{\"status\":\"OK\",\"result\":\"%s\",\"job_id\":\"%s\"}",
                         said, request->parts[0]);
        pawl__reply(request, 200);
    }
}

#define X(name, control, states, said)                                                             \
    void pawl__on_marie_##name(struct pawl__request *request)                                      \
    {                                                                                              \
        move(request, PAWL_CONTROL_##control, states, said);                                       \
    }
X(stop, CANCEL, UINT32_MAX, "Job stopped")
X(delete, NONE, UINT32_MAX, "Job deleted")
X(resume, RETRY, PAWL_STATE_BIT(PAWL_STATE_CANCELLED), "Job resumed")
#undef X
