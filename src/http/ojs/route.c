/* A lease in two steps, for clients that decide where jobs run. The first, POST
 * /ojs/v1/workers/route, is a kind of fetch (fetch.c): it reserves jobs for a worker. Here is what
 * follows: POST /ojs/v1/workers/assign starts the run of a reserved job, and /unroute gives it
 * back. Both carry the worker and the token of the reservation. An extension of the Open Job Spec.
 *
 * 1. After an assignment the job is as if the worker had fetched it.
 * 2. If the client has gone away meanwhile, its run is given back. */
#include "http/local/local.h"
#include "http/ojs/ojs.h"
#include "http/ojs/owner.h"

#include <stdlib.h>
#include <string.h>

#define LEASE_MS INT64_C(1800000) /* of a run, as for a fetch */

struct route {
    struct pawl__owner owner; /* of the reservation */
    const char *to;           /* the worker of the run; NULL: the same */
    int64_t token, lease_ms;
    struct pawl_answer *answer;
};

#define S struct route
static const struct pawl__member assign_members[] = {
    PAWL__OWNER(S, owner),
    PAWL__MEMBER("assign_to", TEXT, S, to),
    PAWL__MEMBER("token", INT64, S, token, .min = 1, .max = INT64_MAX),
    PAWL__MEMBER("visibility_timeout_ms", INT64, S, lease_ms, .min = PAWL__VISIBILITY_MS_MIN,
                 .max = PAWL__VISIBILITY_MS_MAX),
};
static const struct pawl__shape assign_shape = PAWL__SHAPE(S, assign_members);
#undef S

void pawl__routed_print(struct pawl__buf *out, const struct pawl_job *job)
{
    pawl__buf_add_text(out, "{\"job\":");
    pawl__envelope_print(out, job, NULL);
    pawl__buf_add_text(out, ",\"worker_id\":");
    pawl__buf_add_json(out, job->worker, strlen(job->worker));
    pawl__buf_printf(out, ",\"token\":%lld,\"reserved_until\":", (long long)job->lease_until_ms);
    pawl__print_instant(out, job->lease_until_ms);
    pawl__buf_add_text(out, "}");
}

/* NULL: answered. */
static struct route *read_route(struct pawl__request *request)
{
    struct route *route = pawl__request_state(request, sizeof *route);
    if (!route) return NULL;
    route->lease_ms = LEASE_MS;
    if (!pawl__request_read(request, &assign_shape, NULL, route) ||
        !pawl__owner_find(request, &route->owner)) {
        return NULL;
    }
    if (route->owner.worker && route->owner.worker[0] && route->token) return route;
    bool named = route->owner.worker && route->owner.worker[0];
    pawl__reply_invalid(request, named ? "token" : "worker_id",
                        "worker_id and token must be those that the route gave");
    return NULL;
}

static struct pawl_routed routed_of(const struct route *route)
{
    return (struct pawl_routed){ .id = route->owner.id,
                                 .worker = route->owner.worker,
                                 .token = route->token };
}

/* ---- assign ---- */

struct orphan {
    struct pawl *pawl;
    struct pawl_run run;
};

/* What cannot be given back comes back by itself when its lease ends. */
static void do_give_back(void *ctx)
{
    struct orphan *orphan = ctx;
    (void)!pawl_give_back(orphan->pawl, &orphan->run, 0, NULL);
}

static void give_back(struct pawl__request *request, const struct pawl_job *job)
{
    struct orphan *orphan = malloc(sizeof *orphan);
    pawl__leases_drop(request->server->leases, job->id, job->run);
    if (!orphan) return;
    *orphan = (struct orphan){ request->server->pawl, { job->id, job->run } };
    if (!pawl__background_run(request->server, do_give_back, free, orphan)) free(orphan);
}

static void print_plain(struct pawl__request *request)
{
    const struct route *route = request->state;
    pawl__buf_add_text(&request->reply, "{\"job\":");
    pawl__envelope_print(&request->reply, &route->answer->jobs[0], NULL);
    pawl__buf_add_text(&request->reply, "}");
}

static void print_on_pool(void *ctx)
{
    struct pawl__request *request = ctx;
    const struct route *route = request->state;
    pawl__buf_add_text(&request->reply, "{\"job\":");
    pawl__job_print_with_past(request, &route->answer->jobs[0]);
    pawl__buf_add_text(&request->reply, "}");
}

static void printed(void *ctx)
{
    struct pawl__request *request = ctx;
    struct route *route = request->state;
    bool lost = pawl__request_gone(request) || request->reply.failed;
    if (lost) give_back(request, &route->answer->jobs[0]);
    pawl_answer_free(route->answer);
    pawl__reply(request, 200);
}

static void on_assigned(struct pawl__request *request, struct pawl_answer *answer)
{
    struct route *route = request->state;
    if (answer->err) {
        pawl__job_reply_err(request, route->owner.id, answer->err, &answer->diag);
        pawl_answer_free(answer);
        return;
    }
    route->answer = answer;
    struct pawl__leases *leases = request->server->leases;
    bool past = pawl__job_has_past(request, &answer->jobs[0]);
    pawl__leases_put(leases, &answer->jobs[0], route->lease_ms);
    if (past && pawl__background_run(request->server, print_on_pool, printed, request)) return;
    print_plain(request);
    printed(request);
}

void pawl__on_assign(struct pawl__request *request)
{
    struct pawl_diag diag;
    struct route *route = read_route(request);
    if (!route) return;
    if (route->to && !pawl__worker_id_ok(request, route->to)) return;
    const struct pawl_assignment assignment = {
        .routed = routed_of(route), .worker = route->to, .lease_ms = route->lease_ms, .timed = true
    };
    pawl__request_posting(request, on_assigned);
    enum pawl_err err = pawl_post_assign(request->server->pawl, &assignment, pawl__request_answered,
                                         request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    pawl__reply_err(request, err, &diag);
}

/* ---- give back ---- */

void pawl__on_unroute(struct pawl__request *request)
{
    struct pawl_diag diag;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    struct route *route = read_route(request);
    if (!route) return;
    const struct pawl_routed routed = routed_of(route);
    enum pawl_err err = pawl_unroute(pawl__request_pawl(request), &routed, &diag);
    if (err) {
        pawl__job_reply_err(request, route->owner.id, err, &diag);
        return;
    }
    pawl_job_id_text(route->owner.id, id);
    pawl__buf_printf(&request->reply, "{\"job_id\":\"%s\",\"state\":\"available\"}", id);
    pawl__reply(request, 200);
}
