/* What flows cost beside plain jobs: CPU of this process, and of the server if there is one, which
 * other programs on the machine change less than the time that it takes. */
#include "bench.h"

#include "api/api.h"

#include <assert.h>

enum {
    MANY = 10000, /* independent jobs of a flow; or ... */
    MANY_QUICK = 200,
    STEPS = 1000, /* of a chain; or ... */
    STEPS_QUICK = 20,
    SMALL = 10, /* nodes of a small flow */
    BATCH = 500,
    LEASE_MS = 600000,
    NAME_BYTES = 8
};

struct flows {
    struct pawl *pawl;
    pawl__server_us_fn *server_us;
    size_t many, steps;
    int64_t batch; /* claimed at a time, and completed by one commit if possible */
    struct pawl_job_spec *specs;
    struct pawl_submitted *out;
    struct pawl_flow_node *nodes;
    struct pawl_flow_edge *edges;
    char (*names)[NAME_BYTES], (*args)[PAWL__BENCH_PAYLOAD_BYTES];
    struct pawl__op claim, completes[BATCH];
    uint64_t payload;
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    size_t left; /* guarded by mutex */
};

static double cpu_us(const struct flows *flows)
{
    double server_us = flows->server_us ? flows->server_us() : 0;
    return (double)pawl__bench_clock_us(CLOCK_PROCESS_CPUTIME_ID) + server_us;
}

/* ---- jobs and flows ---- */

static struct pawl_job_spec *make_job(struct flows *flows, size_t i)
{
    struct pawl_job_spec *spec = &flows->specs[i];
    pawl__payload(++flows->payload, flows->args[i]);
    *spec = (struct pawl_job_spec){ .type = "mail.send",
                                    .args = { flows->args[i], PAWL__BENCH_PAYLOAD_BYTES } };
    return spec;
}

static void submit_plain(struct flows *flows, size_t count)
{
    struct pawl_diag diag;
    for (size_t i = 0; i < count; i++) {
        make_job(flows, i);
    }
    pawl__bench_pawl_check(pawl_submit_many(flows->pawl, flows->specs, count, flows->out, &diag),
                           &diag);
}

static void submit_nodes(struct flows *flows, size_t count)
{
    const struct pawl_flow_spec spec = { .nodes = flows->nodes, .node_count = count };
    struct pawl_job_id id;
    struct pawl_diag diag;
    pawl__bench_pawl_check(pawl_flow_submit(flows->pawl, &spec, &id, &diag), &diag);
}

/* A group of jobs that wait for nothing, and a callback. */
static void submit_batch(struct flows *flows, size_t count)
{
    flows->nodes[0] = (struct pawl_flow_node){ .name = "all", .kind = PAWL_FLOW_KIND_GROUP };
    for (size_t i = 0; i < count; i++) {
        flows->nodes[i + 1] = (struct pawl_flow_node){ .name = flows->names[i],
                                                       .group = "all",
                                                       .job = *make_job(flows, i) };
    }
    flows->edges[0] = (struct pawl_flow_edge){ .parent = "all", .on = PAWL_FLOW_ON_ALWAYS };
    flows->nodes[count + 1] = (struct pawl_flow_node){ .name = "done",
                                                       .after = flows->edges,
                                                       .after_count = 1,
                                                       .callback = true,
                                                       .job = *make_job(flows, count) };
    submit_nodes(flows, count + 2);
}

static void submit_chain(struct flows *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        flows->nodes[i] =
            (struct pawl_flow_node){ .name = flows->names[i], .job = *make_job(flows, i) };
        if (!i) continue;
        flows->edges[i].parent = flows->names[i - 1];
        flows->edges[i].on = PAWL_FLOW_ON_SUCCESS;
        flows->nodes[i].after = &flows->edges[i];
        flows->nodes[i].after_count = 1;
    }
    submit_nodes(flows, count);
}

/* ---- workers ---- */

static void count_down(struct pawl__op *op)
{
    struct flows *flows = op->user;
    pawl__lock(&flows->mutex);
    if (--flows->left == 0) pawl__cond_signal(&flows->cond);
    pawl__unlock(&flows->mutex);
}

static size_t claim(struct flows *flows)
{
    static const char *const queue = "default";
    struct pawl__op *op = &flows->claim;
    *op = (struct pawl__op){ .kind = PAWL__OP_CLAIM, .arena = op->arena };
    pawl__arena_reset(&op->arena);
    op->claim.queues = &queue;
    op->claim.queue_count = 1;
    op->claim.limit = flows->batch;
    op->claim.worker = "w1";
    op->claim.lease_ms = LEASE_MS;
    if (pawl__store_do(flows->pawl->store, op)) pawl__bench_check(op);
    return op->claim.job_count;
}

/* Posted one by one, as a node does it. */
static void complete(struct flows *flows, size_t count)
{
    static const char result[] = "{\"sent\":true}";
    flows->left = count;
    for (size_t i = 0; i < count; i++) {
        struct pawl__op *op = &flows->completes[i];
        const struct pawl_job *job = &flows->claim.claim.jobs[i];
        *op = (struct pawl__op){
            .kind = PAWL__OP_COMPLETE, .done = count_down, .user = flows, .arena = op->arena
        };
        op->complete.ref = (struct pawl_run){ job->id, job->run };
        op->complete.result = (struct pawl_span){ result, sizeof result - 1 };
        pawl__store_post(flows->pawl->store, op);
    }
    pawl__lock(&flows->mutex);
    while (flows->left) {
        pawl__cond_wait(&flows->cond, &flows->mutex);
    }
    pawl__unlock(&flows->mutex);
    for (size_t i = 0; i < count; i++) {
        pawl__bench_check(&flows->completes[i]);
        pawl__arena_reset(&flows->completes[i].arena);
    }
}

static size_t work_off(struct flows *flows)
{
    size_t done = 0, count;
    while ((count = claim(flows)) > 0) {
        complete(flows, count);
        done += count;
    }
    return done;
}

/* ---- slices ---- */

static double run(struct flows *flows, void (*submit)(struct flows *, size_t), size_t count,
                  int64_t batch)
{
    const double start_us = cpu_us(flows);
    flows->batch = batch;
    submit(flows, count);
    const size_t done = work_off(flows);
    assert(done >= count);
    return (cpu_us(flows) - start_us) / (double)done;
}

static double plain_many(void *ctx)
{
    struct flows *flows = ctx;
    return run(flows, submit_plain, flows->many, BATCH);
}

static double flow_many(void *ctx)
{
    struct flows *flows = ctx;
    return run(flows, submit_batch, flows->many, BATCH);
}

static double plain_steps(void *ctx)
{
    struct flows *flows = ctx;
    return run(flows, submit_plain, flows->steps, 1);
}

static double chain_steps(void *ctx)
{
    struct flows *flows = ctx;
    return run(flows, submit_chain, flows->steps, 1);
}

/* CPU of a finish, without the submission; of flows with so many nodes. */
static double finish_of(struct flows *flows, size_t nodes)
{
    const size_t total = flows->steps;
    flows->batch = 1;
    for (size_t i = 0; i < total; i += nodes) {
        submit_batch(flows, nodes);
        if (nodes > total) break;
    }
    double us = 0;
    for (size_t i = 0; i < total; i++) {
        const size_t count = claim(flows);
        const double start_us = cpu_us(flows);
        complete(flows, count);
        us += cpu_us(flows) - start_us;
    }
    flows->batch = BATCH;
    (void)work_off(flows);
    return us / (double)total;
}

static double finish_small(void *ctx)
{
    return finish_of(ctx, SMALL);
}

static double finish_large(void *ctx)
{
    struct flows *flows = ctx;
    return finish_of(flows, flows->many);
}

static void report(struct pawl__bench *bench, struct flows *flows, const char *name,
                   pawl__slice_fn *floor, pawl__slice_fn *value, double goal, const char *note)
{
    const struct pawl__pairs pairs = { .name = name,
                                       .unit = "us CPU/job",
                                       .floor = floor,
                                       .floor_ctx = flows,
                                       .value = value,
                                       .value_ctx = flows,
                                       .kind = PAWL__GOAL_AT_MOST,
                                       .goal = goal,
                                       .count = 5 };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "%s", note);
    pawl__report_add(&row);
}

void pawl__flows_run(struct pawl__bench *bench, pawl__server_us_fn *server_us)
{
    struct flows *flows = pawl__bench_calloc(1, sizeof *flows);
    flows->server_us = server_us;
    flows->many = bench->quick ? MANY_QUICK : MANY - 2;
    flows->steps = bench->quick ? STEPS_QUICK : STEPS;
    flows->pawl = pawl__bench_pawl_open(bench, "flows.db");
    flows->specs = pawl__bench_calloc(MANY, sizeof *flows->specs);
    flows->out = pawl__bench_calloc(MANY, sizeof *flows->out);
    flows->nodes = pawl__bench_calloc(MANY, sizeof *flows->nodes);
    flows->edges = pawl__bench_calloc(MANY, sizeof *flows->edges);
    flows->names = pawl__bench_calloc(MANY, sizeof *flows->names);
    flows->args = pawl__bench_calloc(MANY, sizeof *flows->args);
    for (int i = 0; i < MANY; i++) {
        snprintf(flows->names[i], sizeof flows->names[i], "n%d", i);
    }
    pawl__mutex_init(&flows->mutex);
    pawl__cond_init(&flows->cond);
    report(bench, flows, "flow of 10,000 jobs", plain_many, flow_many, 1.3,
           "and a callback, against 10,000 plain jobs");
    report(bench, flows, "chain of 1000 jobs", plain_steps, chain_steps, 1.5,
           "against plain jobs, one by one");
    report(bench, flows, "finish in a flow of 10,000", finish_small, finish_large, 1.2,
           "against flows of 10");
    pawl_close(flows->pawl);
    for (int i = 0; i < BATCH; i++) {
        pawl__arena_release(&flows->completes[i].arena);
    }
    pawl__arena_release(&flows->claim.arena);
    pawl__cond_release(&flows->cond);
    pawl__mutex_release(&flows->mutex);
    free(flows->specs);
    free(flows->out);
    free(flows->nodes);
    free(flows->edges);
    free(flows->names);
    free(flows->args);
    free(flows);
}
