/* pawl flow cancel, retry, pause and resume. */
#include "cli/flow.h"

#include "base/diag.h"
#include "wire/wire.h"

#include <inttypes.h>

/* ---- what is printed ---- */

static const char *past_of(enum pawl_flow_control verb)
{
    static const char *const texts[PAWL_FLOW_CONTROL_END] = {
        [PAWL_FLOW_CONTROL_CANCEL] = "cancelled",
        [PAWL_FLOW_CONTROL_RETRY] = "retried",
        [PAWL_FLOW_CONTROL_RESUME] = "resumed",
        [PAWL_FLOW_CONTROL_PAUSE] = "paused",
    };
    return texts[verb];
}

static void put_json(struct pawl__cli *cli, struct pawl_job_id flow, const char *node,
                     const char *done, int64_t count)
{
    if (node) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", flow), PAWL__HERE_TEXT("node", node),
                      PAWL__HERE_TEXT("done", done));
    } else if (count < 0) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", flow), PAWL__HERE_TEXT("done", done));
    } else {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", flow), PAWL__HERE_TEXT("done", done),
                      PAWL__HERE_INT("nodes", count));
    }
}

/* `node` NULL: it is about the flow; `count` below 0: nothing was counted. */
static void put_done(struct pawl__cli *cli, struct pawl_job_id flow, const char *node,
                     enum pawl_flow_control verb, int64_t count)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(flow, id);
    if (cli->json) {
        put_json(cli, flow, node, past_of(verb), count);
        return;
    }
    if (cli->quiet) return;
    pawl__buf_printf(&cli->out, "flow %s", id);
    if (node) pawl__cli_put_text(&cli->out, ": ", node);
    if (count < 0) {
        pawl__buf_printf(&cli->out, " is %s\n", past_of(verb));
    } else if (count == 0) {
        pawl__buf_add_text(&cli->out, ": no node has failed\n");
    } else {
        pawl__buf_printf(&cli->out, ": %" PRId64 " node%s begin%s anew\n", count,
                         count == 1 ? "" : "s", count == 1 ? "s" : "");
    }
}

/* ---- cancel and retry: a flow, or some of its nodes ---- */

/* Exit code. */
static int find_nodes(struct pawl__cli *cli, struct pawl_job_id **flow, struct pawl_job_id **nodes)
{
    size_t count = cli->operands.count - 1;
    int code = pawl__cli_flow_ids(cli, 1, flow);
    *nodes = pawl__cli_need(pawl__arena_calloc(&cli->arena, count + 1, sizeof **nodes));
    for (size_t i = 0; !code && i < count; i++) {
        code = pawl__cli_flow_node(cli, **flow, cli->operands.at[i + 1], &(*nodes)[i]);
    }
    return code;
}

static int cancel(struct pawl__cli *cli, struct pawl_job_id flow, const struct pawl_job_id *node,
                  const char *name)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    const struct pawl_flow_cancel how = { .node = node,
                                          .drain = pawl__cli_flag(cli, PAWL__CLI_OPT_FLOW_DRAIN) };
    enum pawl_err err = pawl_flow_cancel(cli->pawl, flow, &how, &by, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_done(cli, flow, name, PAWL_FLOW_CONTROL_CANCEL, -1);
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_flow_cancel(struct pawl__cli *cli)
{
    struct pawl_job_id *flow, *nodes;
    int worst = find_nodes(cli, &flow, &nodes);
    if (worst) return worst;
    if (cli->operands.count == 1) return cancel(cli, *flow, NULL, NULL);
    for (size_t i = 1; i < cli->operands.count; i++) {
        int code = cancel(cli, *flow, &nodes[i - 1], cli->operands.at[i]);
        if (code > worst) worst = code;
    }
    return worst;
}

int pawl__cli_flow_retry(struct pawl__cli *cli)
{
    struct pawl_job_id *flow, *nodes;
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    int64_t count = 0;
    int code = find_nodes(cli, &flow, &nodes);
    if (code) return code;
    const struct pawl_flow_retry how = { .nodes = nodes,
                                         .node_count = cli->operands.count - 1,
                                         .all_below =
                                             pawl__cli_flag(cli, PAWL__CLI_OPT_ALL_BELOW) };
    enum pawl_err err = pawl_flow_retry(cli->pawl, *flow, &how, &by, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_done(cli, *flow, NULL, PAWL_FLOW_CONTROL_RETRY, count);
    return PAWL__CLI_EXIT_OK;
}

/* ---- pause and resume ---- */

static int pause_or_resume(struct pawl__cli *cli, struct pawl_job_id flow, void *ctx)
{
    const enum pawl_flow_control *verb = ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    enum pawl_err err = *verb == PAWL_FLOW_CONTROL_PAUSE
                            ? pawl_flow_pause(cli->pawl, flow, &by, &diag)
                            : pawl_flow_resume(cli->pawl, flow, &by, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_done(cli, flow, NULL, *verb, -1);
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_flow_pause(struct pawl__cli *cli)
{
    enum pawl_flow_control verb = PAWL_FLOW_CONTROL_PAUSE;
    return pawl__cli_each_flow(cli, pause_or_resume, &verb);
}

int pawl__cli_flow_resume(struct pawl__cli *cli)
{
    enum pawl_flow_control verb = PAWL_FLOW_CONTROL_RESUME;
    return pawl__cli_each_flow(cli, pause_or_resume, &verb);
}
