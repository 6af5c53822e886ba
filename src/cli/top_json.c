/* pawl top --json: one view as one object. */
#include "cli/top.h"

#define ALWAYS .flags = PAWL__ALWAYS

#define S struct pawl_queue_stats
static const struct pawl__member count_members[] = {
    PAWL__CLI_COUNTS(S, count),
    PAWL__MEMBER("archived", INT64, S, archived, ALWAYS),
};
static const struct pawl__shape count_shape = PAWL__SHAPE(S, count_members);
#undef S

#define S struct pawl__cli_top_queue
static const struct pawl__member queue_members[] = {
    PAWL__MEMBER("", PART, S, stats, .shape = &pawl__cli_queue_shape),
};
static const struct pawl__shape queue_shape = PAWL__SHAPE(S, queue_members);
#undef S

/* ---- jobs ---- */

#define S struct pawl__cli_top_job
#define JOB                                                                                        \
    PAWL__MEMBER("", PART, S, job, .shape = &pawl__cli_brief_shape),                               \
        PAWL__MEMBER("max_attempts", INT32, S, job.attempts_max, ALWAYS),                          \
        PAWL__MEMBER("free_runs", INT64, S, job.free_runs)
static const struct pawl__member running_members[] = {
    JOB,
    PAWL__MEMBER("worker", NAME, S, job.worker),
    PAWL__MEMBER("started_at", INSTANT, S, at_ms),
};
static const struct pawl__shape running_shape = PAWL__SHAPE(S, running_members);
static const struct pawl__member failed_members[] = {
    JOB,
    PAWL__MEMBER("failed_at", INSTANT, S, at_ms),
    PAWL__MEMBER("error", NAME, S, error),
};
static const struct pawl__shape failed_shape = PAWL__SHAPE(S, failed_members);
#undef S

/* ---- nodes ---- */

/* By the store's clock. */
static int64_t age_ms(const struct pawl__shape_writer *writer, const struct pawl_node *node)
{
    const struct pawl__cli_top *top = writer->ctx;
    return top->view.nodes.now_ms - node->heartbeat_at_ms;
}

static void print_alive(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                        const void *base)
{
    bool alive = age_ms(writer, base) <= PAWL__CLI_TOP_ALIVE_MS;
    pawl__buf_add_text(writer->out, alive ? "true" : "false");
}

static void print_age(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                      const void *base)
{
    pawl__buf_add_int(writer->out, age_ms(writer, base));
}

#define S struct pawl_node
static const struct pawl__member node_members[] = {
    PAWL__MEMBER("name", NAME, S, name, ALWAYS),
    PAWL__WHOLE("alive", OWN, .print = print_alive),
    PAWL__WHOLE("heartbeat_age_ms", OWN, .print = print_age),
    PAWL__MEMBER("active", INT64, S, active, ALWAYS),
};
static const struct pawl__shape node_shape = PAWL__SHAPE(S, node_members);
#undef S

/* ---- the object ---- */

static void print_nodes(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                        const void *base)
{
    const struct pawl__cli_top *top = base;
    struct pawl__shape_writer with_top = { .out = writer->out, .ctx = top };
    pawl__shape_print_list(&with_top, &node_shape, top->view.nodes.at, top->view.nodes.count);
}

#define S struct pawl__cli_top
#define LIST(text, list, of)                                                                       \
    PAWL__MEMBER(text, MANY, S, view.list.at, PAWL__COUNTED(S, view.list.count), .shape = &of,     \
                 ALWAYS)
static const struct pawl__member top_members[] = {
    PAWL__MEMBER("next_due_at", INSTANT, S, view.stats.next_due_at_ms),
    PAWL__MEMBER("", PART, S, view.all.stats, .shape = &count_shape),
    PAWL__MEMBER("queues", MANY, S, view.queues, PAWL__COUNTED(S, view.queue_count),
                 .shape = &queue_shape, ALWAYS),
    LIST("running", running, running_shape),
    LIST("failed", failed, failed_shape),
    PAWL__WHOLE("nodes", OWN, .print = print_nodes),
};
static const struct pawl__shape top_shape = PAWL__SHAPE(S, top_members);
#undef S

void pawl__cli_top_json(struct pawl__cli_top *top)
{
    PAWL__CLI_PUT(top->cli, PAWL__HERE_TEXT("store", top->cli->place),
                  PAWL__HERE_INT("store_bytes", top->view.stats.store_bytes),
                  PAWL__SOME_INSTANT("at", top->cli->now_ms), PAWL__PART(&top_shape, top));
}
