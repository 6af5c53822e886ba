/* pawl node and pawl lock: who works on the store, and who holds what. */
#include "cli/cli.h"
#include "base/time_text.h"

#include <inttypes.h>

static void when_cell(struct pawl__cli_table *table, int64_t at_ms, int64_t now_ms)
{
    struct pawl__buf buf = { 0 };
    pawl__cli_put_when(&buf, at_ms, now_ms);
    if (buf.failed) pawl__cli_nomem();
    pawl__cli_table_cell(table, buf.at, buf.len, NULL);
    pawl__buf_release(&buf);
}

/* ---- nodes ---- */

static void put_node_fields(struct pawl__cli_json *json, const struct pawl_node *node,
                            int64_t now_ms)
{
    pawl__cli_json_text(json, "name", node->name);
    pawl__cli_json_text(json, "state", pawl_node_state_text(node->state));
    pawl__cli_json_some_text(json, "info", node->info);
    pawl__cli_json_instant(json, "started_at", node->started_at_ms);
    pawl__cli_json_instant(json, "heartbeat_at", node->heartbeat_at_ms);
    pawl__cli_json_int(json, "heartbeat_age_ms", now_ms - node->heartbeat_at_ms);
    pawl__cli_json_int(json, "active", node->active);
    pawl__cli_json_some_int(json, "workers", node->workers);
    pawl__cli_json_some_int(json, "lease_ms", node->lease_ms);
    pawl__cli_json_some_text(json, "host", node->host);
    pawl__cli_json_some_int(json, "pid", node->pid);
    pawl__cli_json_some_text(json, "version", node->version);
}

static void put_node_json(struct pawl__cli *cli, const struct pawl_nodes *nodes)
{
    struct pawl__cli_json array, json;
    pawl__cli_json_open(&array, &cli->out, '[');
    for (size_t i = 0; i < nodes->count; i++) {
        pawl__cli_json_name(&array, NULL);
        pawl__cli_json_open(&json, &cli->out, '{');
        put_node_fields(&json, &nodes->at[i], nodes->now_ms);
        pawl__cli_json_close(&json, '}');
    }
    pawl__cli_json_close(&array, ']');
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_node_table(struct pawl__cli *cli, const struct pawl_nodes *nodes)
{
    struct pawl__cli_table table;
    pawl__cli_table_init(&table, cli);
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "NODE", .least = 12 });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "STATE" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "HEARTBEAT" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "STARTED" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "WORKERS", .right = true });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "ACTIVE", .right = true });
    pawl__cli_table_column(
        &table, (struct pawl__cli_column){ .title = "VERSION", .least = 10, .droppable = 1 });
    for (size_t i = 0; i < nodes->count; i++) {
        const struct pawl_node *node = &nodes->at[i];
        pawl__cli_table_text(&table, node->name);
        pawl__cli_table_text(&table, pawl_node_state_text(node->state));
        when_cell(&table, node->heartbeat_at_ms, nodes->now_ms);
        when_cell(&table, node->started_at_ms, nodes->now_ms);
        pawl__cli_table_int(&table, node->workers);
        pawl__cli_table_int(&table, node->active);
        pawl__cli_table_text(&table, node->version[0] ? node->version : node->info);
    }
    if (nodes->count) pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    if (!nodes->count && !cli->quiet) fputs("no nodes\n", stderr);
}

int pawl__cli_node_list(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_nodes nodes = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_nodes_get(cli->pawl, &nodes, &diag);
    if (!err && cli->json) {
        put_node_json(cli, &nodes);
    } else if (!err) {
        put_node_table(cli, &nodes);
    }
    pawl_nodes_release(&nodes);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

static void put_fact(struct pawl__cli *cli, const char *title, const char *text)
{
    if (!text[0]) return;
    pawl__buf_printf(&cli->out, "  %-13s ", title);
    pawl__plain_add(&cli->out, text, strlen(text));
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_fact_int(struct pawl__cli *cli, const char *title, int64_t value)
{
    if (value) pawl__buf_printf(&cli->out, "  %-13s %" PRId64 "\n", title, value);
}

static void put_fact_when(struct pawl__cli *cli, const char *title, int64_t at_ms, int64_t now_ms)
{
    pawl__buf_printf(&cli->out, "  %-13s ", title);
    pawl__cli_put_instant(&cli->out, at_ms);
    pawl__buf_add_text(&cli->out, " (");
    pawl__cli_put_when(&cli->out, at_ms, now_ms);
    pawl__buf_add_text(&cli->out, ")\n");
}

static void put_node_facts(struct pawl__cli *cli, const struct pawl_node *node, int64_t now_ms)
{
    char lease[PAWL__DURATION_TEXT_BYTES] = "";
    if (node->lease_ms) pawl__duration_text(node->lease_ms, lease);
    pawl__buf_add_text(&cli->out, "Node ");
    pawl__plain_add(&cli->out, node->name, strlen(node->name));
    pawl__buf_add_text(&cli->out, "\n");
    put_fact(cli, "state", pawl_node_state_text(node->state));
    put_fact_when(cli, "heartbeat", node->heartbeat_at_ms, now_ms);
    put_fact_when(cli, "started", node->started_at_ms, now_ms);
    put_fact(cli, "lease", lease);
    put_fact(cli, "host", node->host);
    put_fact_int(cli, "process id", node->pid);
    put_fact(cli, "version", node->version);
    put_fact_int(cli, "workers", node->workers);
    if (!node->version[0]) put_fact(cli, "info", node->info);
    pawl__buf_printf(&cli->out, "  %-13s %" PRId64 "\n", "active", node->active);
}

static void put_runs_json(struct pawl__cli *cli, const struct pawl_node *node, int64_t now_ms,
                          const struct pawl_jobs *jobs)
{
    struct pawl__cli_json json, array, run;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl__cli_json_open(&json, &cli->out, '{');
    put_node_fields(&json, node, now_ms);
    pawl__cli_json_name(&json, "jobs");
    pawl__cli_json_open(&array, &cli->out, '[');
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pawl_job *job = &jobs->at[i];
        pawl_job_id_text(job->id, id);
        pawl__cli_json_name(&array, NULL);
        pawl__cli_json_open(&run, &cli->out, '{');
        pawl__cli_json_text(&run, "id", id);
        pawl__cli_json_text(&run, "type", job->type);
        pawl__cli_json_text(&run, "queue", job->queue);
        pawl__cli_json_int(&run, "attempt", job->attempt);
        pawl__cli_json_instant(&run, "started_at", job->started_at_ms);
        pawl__cli_json_instant(&run, "lease_until", job->lease_until_ms);
        pawl__cli_json_close(&run, '}');
    }
    pawl__cli_json_close(&array, ']');
    pawl__cli_json_close(&json, '}');
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_runs_table(struct pawl__cli *cli, const struct pawl_jobs *jobs, int64_t now_ms)
{
    struct pawl__cli_table table;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (!jobs->count) return;
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_table_init(&table, cli);
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "JOB" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "TYPE", .least = 10 });
    pawl__cli_table_column(
        &table, (struct pawl__cli_column){ .title = "QUEUE", .least = 8, .droppable = 1 });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "ATTEMPT", .right = true });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "SINCE" });
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pawl_job *job = &jobs->at[i];
        pawl_job_id_text(job->id, id);
        pawl__cli_table_text(&table, id);
        pawl__cli_table_text(&table, job->type);
        pawl__cli_table_text(&table, job->queue);
        pawl__cli_table_int(&table, job->attempt);
        when_cell(&table, job->started_at_ms, now_ms);
    }
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
}

static int show_node(struct pawl__cli *cli, const struct pawl_node *node, int64_t now_ms)
{
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    const struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
                                        .worker = node->name };
    const struct pawl_page page = { .limit = PAWL_PAGE_MAX, .oldest_first = true, .brief = true };
    enum pawl_err err = pawl_query(cli->pawl, &filter, &page, &jobs, &diag);
    if (!err && cli->json) {
        put_runs_json(cli, node, now_ms, &jobs);
    } else if (!err) {
        put_node_facts(cli, node, now_ms);
        put_runs_table(cli, &jobs, now_ms);
    }
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
    enum pawl_err err = pawl_nodes_get(cli->pawl, &nodes, &diag);
    if (err) code = pawl__cli_fail(err, &diag);
    for (size_t i = 0; !err && i < cli->operands.count; i++) {
        const char *name = cli->operands.at[i];
        const struct pawl_node *node = find_node(&nodes, name);
        if (i && !cli->json) pawl__buf_add_text(&cli->out, "\n");
        int shown = node ? show_node(cli, node, nodes.now_ms) : PAWL__CLI_EXIT_REFUSED;
        if (!node) pawl__cli_error("there is no node \"%s\"", pawl__cli_shown(cli, name));
        if (shown) code = shown;
    }
    pawl_nodes_release(&nodes);
    return code;
}

/* ---- locks ---- */

static void put_lock_json(struct pawl__cli *cli, const struct pawl_locks *locks)
{
    struct pawl__cli_json array, json;
    pawl__cli_json_open(&array, &cli->out, '[');
    for (size_t i = 0; i < locks->count; i++) {
        const struct pawl_lock *lock = &locks->at[i];
        pawl__cli_json_name(&array, NULL);
        pawl__cli_json_open(&json, &cli->out, '{');
        pawl__cli_json_text(&json, "name", lock->name);
        pawl__cli_json_text(&json, "owner", lock->owner);
        pawl__cli_json_int(&json, "fence", lock->fence);
        pawl__cli_json_instant(&json, "locked_at", lock->locked_at_ms);
        pawl__cli_json_instant(&json, "expires_at", lock->expires_at_ms);
        pawl__cli_json_bool(&json, "expired", lock->expires_at_ms <= locks->now_ms);
        pawl__cli_json_close(&json, '}');
    }
    pawl__cli_json_close(&array, ']');
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_lock_table(struct pawl__cli *cli, const struct pawl_locks *locks)
{
    struct pawl__cli_table table;
    pawl__cli_table_init(&table, cli);
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "LOCK", .least = 10 });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "OWNER", .least = 10 });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "FENCE", .right = true });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "TAKEN" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "EXPIRES" });
    for (size_t i = 0; i < locks->count; i++) {
        const struct pawl_lock *lock = &locks->at[i];
        pawl__cli_table_text(&table, lock->name);
        pawl__cli_table_text(&table, lock->owner);
        pawl__cli_table_int(&table, lock->fence);
        when_cell(&table, lock->locked_at_ms, locks->now_ms);
        when_cell(&table, lock->expires_at_ms, locks->now_ms);
    }
    if (locks->count) pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    if (!locks->count && !cli->quiet) fputs("no locks\n", stderr);
}

int pawl__cli_lock_list(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_locks locks = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_locks_get(cli->pawl, &locks, &diag);
    if (!err && cli->json) {
        put_lock_json(cli, &locks);
    } else if (!err) {
        put_lock_table(cli, &locks);
    }
    pawl_locks_release(&locks);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* There is no default owner: two contenders that share one would both get the lock. */
static int begin_lock(struct pawl__cli *cli, const char **owner)
{
    *owner = pawl__cli_text(cli, PAWL__CLI_OPT_OWNER);
    if (*owner) return pawl__cli_open(cli);
    pawl__cli_error("--owner is required");
    pawl__cli_hint("give each contender its own name: --owner \"$HOSTNAME-$$\"");
    return PAWL__CLI_EXIT_USAGE;
}

static int end_lock(struct pawl__cli *cli, const char *owner, const char *action, int64_t fence,
                    const char *remark)
{
    const char *name = cli->operands.at[0];
    if (cli->json) {
        struct pawl__cli_json json;
        pawl__cli_json_open(&json, &cli->out, '{');
        pawl__cli_json_text(&json, "name", name);
        pawl__cli_json_text(&json, "owner", owner);
        pawl__cli_json_text(&json, "action", action);
        pawl__cli_json_some_int(&json, "fence", fence);
        pawl__cli_json_close(&json, '}');
        pawl__buf_add_text(&cli->out, "\n");
        return PAWL__CLI_EXIT_OK;
    }
    if (fence) pawl__buf_printf(&cli->out, "%" PRId64 "\n", fence);
    int code = pawl__cli_flush(cli);
    if (!cli->quiet) fprintf(stderr, "lock \"%s\" %s\n", name, remark);
    return code;
}

int pawl__cli_lock_try(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    const char *owner;
    int64_t fence;
    int code = begin_lock(cli, &owner);
    if (code) return code;
    enum pawl_err err = pawl_lock_try(cli->pawl, cli->operands.at[0], owner,
                                      pawl__cli_duration(cli, PAWL__CLI_OPT_TTL), &fence, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    return end_lock(cli, owner, "try", fence, "taken; the number is its fence");
}

int pawl__cli_lock_renew(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    const char *owner;
    int code = begin_lock(cli, &owner);
    if (code) return code;
    enum pawl_err err = pawl_lock_renew(cli->pawl, cli->operands.at[0], owner,
                                        pawl__cli_duration(cli, PAWL__CLI_OPT_TTL), &diag);
    if (err) return pawl__cli_fail(err, &diag);
    return end_lock(cli, owner, "renew", 0, "renewed");
}

int pawl__cli_lock_release(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    const char *owner;
    int code = begin_lock(cli, &owner);
    if (code) return code;
    enum pawl_err err = pawl_lock_release(cli->pawl, cli->operands.at[0], owner, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    return end_lock(cli, owner, "release", 0, "released");
}
