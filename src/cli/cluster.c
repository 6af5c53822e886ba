/* pawl node and pawl lock (but pawl lock run: lock_run.c). */
#include "cli/cli.h"
#include "base/time_text.h"
#include "fields/fields.h"

#include <inttypes.h>

/* ---- nodes ---- */

/* get_nodes has set cli->now_ms to the store's time. */
static void print_age(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                      const void *base)
{
    const struct pawl__cli *cli = writer->ctx;
    const struct pawl_node *node = base;
    pawl__buf_add_int(writer->out, cli->now_ms - node->heartbeat_at_ms);
}

static void version_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_node *node = row;
    pawl__cli_table_text(table, node->version[0] ? node->version : node->info);
}

static void node_state_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_node *node = row;
    pawl__cli_table_text(table, pawl_node_state_text(node->state));
}

#define ALWAYS .flags = PAWL__ALWAYS

#define S struct pawl_node
static const struct pawl__member node_members[] = {
    PAWL__MEMBER("name", NAME, S, name, ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__node_state_words),
    PAWL__MEMBER("info", NAME, S, info),
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),
    PAWL__MEMBER("heartbeat_at", INSTANT, S, heartbeat_at_ms),
    PAWL__WHOLE("heartbeat_age_ms", OWN, .print = print_age),
    PAWL__MEMBER("active", INT64, S, active, ALWAYS),
    PAWL__MEMBER("workers", INT32, S, workers),
    PAWL__MEMBER("lease_ms", INT64, S, lease_ms),
    PAWL__MEMBER("host", NAME, S, host),
    PAWL__MEMBER("pid", INT64, S, pid),
    PAWL__MEMBER("version", NAME, S, version),
};
static const struct pawl__shape node_shape = PAWL__SHAPE(S, node_members);
static const struct pawl__cli_column node_columns[] = {
    PAWL__CLI_FIELD("NODE", NAME, S, name, .least = 12),
    PAWL__CLI_CELL("STATE", node_state_cell),
    PAWL__CLI_FIELD("HEARTBEAT", INSTANT, S, heartbeat_at_ms),
    PAWL__CLI_FIELD("STARTED", INSTANT, S, started_at_ms),
    PAWL__CLI_FIELD("WORKERS", INT32, S, workers, .right = true),
    PAWL__CLI_FIELD("ACTIVE", INT64, S, active, .right = true),
    PAWL__CLI_CELL("VERSION", version_cell, .least = 10, .droppable = 1),
};
#undef S

static enum pawl_err get_nodes(struct pawl__cli *cli, struct pawl_nodes *nodes,
                               struct pawl_diag *diag)
{
    enum pawl_err err = pawl_nodes_get(cli->pawl, nodes, diag);
    if (!err) cli->now_ms = nodes->now_ms;
    return err;
}

int pawl__cli_node_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view = PAWL__CLI_VIEW(node_shape, node_columns, "no nodes");
    struct pawl_diag diag = { 0 };
    struct pawl_nodes nodes = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = get_nodes(cli, &nodes, &diag);
    if (!err) pawl__cli_put_list(cli, &view, nodes.at, nodes.count);
    pawl_nodes_release(&nodes);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

static void put_fact_when(struct pawl__cli *cli, const char *title, int64_t at_ms)
{
    pawl__cli_put_label(cli, title);
    pawl__cli_put_moment(cli, at_ms);
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_node_facts(struct pawl__cli *cli, const struct pawl_node *node)
{
    const char *state = pawl_node_state_text(node->state);
    pawl__cli_put_text(&cli->out, "Node ", node->name);
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_fact(cli, "state", PAWL__AS_NAME, &state);
    put_fact_when(cli, "heartbeat", node->heartbeat_at_ms);
    put_fact_when(cli, "started", node->started_at_ms);
    pawl__cli_put_fact(cli, "lease", PAWL__AS_DURATION, &node->lease_ms);
    pawl__cli_put_fact(cli, "host", PAWL__AS_NAME, &node->host);
    pawl__cli_put_fact(cli, "process id", PAWL__AS_INT64, &node->pid);
    pawl__cli_put_fact(cli, "version", PAWL__AS_NAME, &node->version);
    pawl__cli_put_fact(cli, "workers", PAWL__AS_INT32, &node->workers);
    if (!node->version[0]) pawl__cli_put_fact(cli, "info", PAWL__AS_NAME, &node->info);
    pawl__cli_put_label(cli, "active");
    pawl__buf_printf(&cli->out, "%" PRId64 "\n", node->active);
}

#define S struct pawl_job
static const struct pawl__member run_members[] = {
    PAWL__MEMBER("id", ID, S, id),
    PAWL__MEMBER("type", NAME, S, type, ALWAYS),
    PAWL__MEMBER("queue", NAME, S, queue, ALWAYS),
    PAWL__MEMBER("attempt", INT64, S, attempt, ALWAYS),
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),
    PAWL__MEMBER("lease_until", INSTANT, S, lease_until_ms),
};
static const struct pawl__shape run_shape = PAWL__SHAPE(S, run_members);
static const struct pawl__cli_column run_columns[] = {
    PAWL__CLI_FIELD("JOB", ID, S, id),
    PAWL__CLI_FIELD("TYPE", NAME, S, type, .least = 10),
    PAWL__CLI_FIELD("QUEUE", NAME, S, queue, .least = 8, .droppable = 1),
    PAWL__CLI_FIELD("ATTEMPT", INT64, S, attempt, .right = true),
    PAWL__CLI_FIELD("SINCE", INSTANT, S, started_at_ms),
};
#undef S

static void put_node(struct pawl__cli *cli, const struct pawl_node *node,
                     const struct pawl_jobs *jobs)
{
    static const struct pawl__cli_view view = PAWL__CLI_VIEW(run_shape, run_columns, NULL);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__PART(&node_shape, node),
                      PAWL__HERE_MANY("jobs", &run_shape, jobs->at, jobs->count));
        return;
    }
    put_node_facts(cli, node);
    if (!jobs->count) return;
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_list(cli, &view, jobs->at, jobs->count);
}

static int show_node(struct pawl__cli *cli, const struct pawl_node *node)
{
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    const struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
                                        .worker = node->name };
    const struct pawl_page page = { .limit = PAWL_PAGE_MAX, .oldest_first = true, .brief = true };
    enum pawl_err err = pawl_query(cli->pawl, &filter, &page, &jobs, &diag);
    if (!err) put_node(cli, node, &jobs);
    pawl_jobs_release(&jobs);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

static const struct pawl_node *find_node(const struct pawl_nodes *nodes, const char *name)
{
    for (size_t i = 0; i < nodes->count; i++) {
        if (strcmp(nodes->at[i].name, name) == 0) return &nodes->at[i];
    }
    return NULL;
}

int pawl__cli_node_show(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_nodes nodes = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = get_nodes(cli, &nodes, &diag);
    if (err) code = pawl__cli_fail(err, &diag);
    for (size_t i = 0; !err && i < cli->operands.count; i++) {
        const char *name = cli->operands.at[i];
        const struct pawl_node *node = find_node(&nodes, name);
        if (i && !cli->json) pawl__buf_add_text(&cli->out, "\n");
        int shown = node ? show_node(cli, node) : PAWL__CLI_EXIT_REFUSED;
        if (!node) pawl__cli_error("there is no node \"%s\"", pawl__cli_shown(cli, name));
        if (shown) code = shown;
    }
    pawl_nodes_release(&nodes);
    return code;
}

/* ---- locks ---- */

static void print_expired(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct pawl__cli *cli = writer->ctx;
    const struct pawl_lock *lock = base;
    pawl__buf_add_text(writer->out, lock->expires_at_ms <= cli->now_ms ? "true" : "false");
}

#define S struct pawl_lock
static const struct pawl__member lock_members[] = {
    PAWL__MEMBER("name", NAME, S, name, ALWAYS),
    PAWL__MEMBER("owner", NAME, S, owner, ALWAYS),
    PAWL__MEMBER("fence", INT64, S, fence, ALWAYS),
    PAWL__MEMBER("locked_at", INSTANT, S, locked_at_ms),
    PAWL__MEMBER("expires_at", INSTANT, S, expires_at_ms),
    PAWL__WHOLE("expired", OWN, .print = print_expired),
};
static const struct pawl__shape lock_shape = PAWL__SHAPE(S, lock_members);
static const struct pawl__cli_column lock_columns[] = {
    PAWL__CLI_FIELD("LOCK", NAME, S, name, .least = 10),
    PAWL__CLI_FIELD("OWNER", NAME, S, owner, .least = 10),
    PAWL__CLI_FIELD("FENCE", INT64, S, fence, .right = true),
    PAWL__CLI_FIELD("TAKEN", INSTANT, S, locked_at_ms),
    PAWL__CLI_FIELD("EXPIRES", INSTANT, S, expires_at_ms),
};
#undef S

int pawl__cli_lock_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view = PAWL__CLI_VIEW(lock_shape, lock_columns, "no locks");
    struct pawl_diag diag = { 0 };
    struct pawl_locks locks = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_locks_get(cli->pawl, &locks, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    cli->now_ms = locks.now_ms;
    pawl__cli_put_list(cli, &view, locks.at, locks.count);
    pawl_locks_release(&locks);
    return PAWL__CLI_EXIT_OK;
}

typedef enum pawl_err lock_fn(struct pawl__cli *cli, const char *owner, int64_t *fence,
                              struct pawl_diag *diag);

static enum pawl_err try_lock(struct pawl__cli *cli, const char *owner, int64_t *fence,
                              struct pawl_diag *diag)
{
    return pawl_lock_try(cli->pawl, cli->operands.at[0], owner,
                         pawl__cli_duration(cli, PAWL__CLI_OPT_TTL), fence, diag);
}

static enum pawl_err renew_lock(struct pawl__cli *cli, const char *owner, int64_t *fence,
                                struct pawl_diag *diag)
{
    return pawl_lock_renew(cli->pawl, cli->operands.at[0], owner,
                           pawl__cli_duration(cli, PAWL__CLI_OPT_TTL), diag);
}

static enum pawl_err release_lock(struct pawl__cli *cli, const char *owner, int64_t *fence,
                                  struct pawl_diag *diag)
{
    return pawl_lock_release(cli->pawl, cli->operands.at[0], owner, diag);
}

/* There is no default owner: two contenders with the same one would both get the lock. */
static int act(struct pawl__cli *cli, lock_fn *carry_out, const char *action, const char *remark)
{
    struct pawl_diag diag = { 0 };
    const char *name = cli->operands.at[0], *owner = pawl__cli_text(cli, PAWL__CLI_OPT_OWNER);
    int64_t fence = 0;
    if (!owner) {
        pawl__cli_error("--owner is required");
        pawl__cli_hint("give each contender its own name: --owner \"$HOSTNAME-$$\"");
        return PAWL__CLI_EXIT_USAGE;
    }
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = carry_out(cli, owner, &fence, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("name", name), PAWL__HERE_TEXT("owner", owner),
                      PAWL__HERE_TEXT("action", action), PAWL__SOME_INT("fence", fence));
        return PAWL__CLI_EXIT_OK;
    }
    if (fence) pawl__buf_printf(&cli->out, "%" PRId64 "\n", fence);
    code = pawl__cli_flush(cli);
    if (!cli->quiet) fprintf(stderr, "lock \"%s\" %s\n", name, remark);
    return code;
}

int pawl__cli_lock_try(struct pawl__cli *cli)
{
    return act(cli, try_lock, "try", "taken; the number is its fence");
}

int pawl__cli_lock_renew(struct pawl__cli *cli)
{
    return act(cli, renew_lock, "renew", "renewed");
}

int pawl__cli_lock_release(struct pawl__cli *cli)
{
    return act(cli, release_lock, "release", "released");
}
