/* pawl flow add and pawl flow seal. */
#include "cli/flow.h"

#include "base/diag.h"
#include "wire/wire.h"

/* Of a file only the nodes are added. */
static int check_spec(const char *path, const struct pawl_flow_spec *spec)
{
    bool other = spec->id || spec->name || spec->meta.len || spec->deadline_at_ms ||
                 spec->idempotency_key || spec->unsealed;
    if (!other) return PAWL__CLI_EXIT_OK;
    return pawl__cli_usage("%s: only nodes can be added to a flow", path);
}

int pawl__cli_flow_add(struct pawl__cli *cli)
{
    const char *path = cli->operands.at[1];
    struct pawl_flow_spec spec;
    struct pawl_job_id *flow;
    struct pawl_diag diag = { 0 };
    int code = pawl__cli_flow_file(cli, path, &spec);
    if (!code) code = check_spec(path, &spec);
    if (!code) code = pawl__cli_flow_ids(cli, 1, &flow);
    if (code) return code;
    const struct pawl_flow_addition addition = { .flow = *flow,
                                                 .nodes = spec.nodes,
                                                 .node_count = spec.node_count,
                                                 .reopen =
                                                     pawl__cli_has(cli, PAWL__CLI_OPT_REOPEN) };
    enum pawl_err err = pawl_flow_add(cli->pawl, &addition, NULL, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", *flow),
                      PAWL__HERE_INT("nodes", (int64_t)spec.node_count));
    } else if (!cli->quiet) {
        pawl__buf_printf(&cli->out, "%zu node%s added\n", spec.node_count,
                         spec.node_count == 1 ? "" : "s");
    }
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_flow_seal(struct pawl__cli *cli)
{
    const char *group = cli->operands.count > 1 ? cli->operands.at[1] : NULL;
    struct pawl_job_id *flow;
    struct pawl_diag diag = { 0 };
    int code = pawl__cli_flow_ids(cli, 1, &flow);
    if (code) return code;
    enum pawl_err err = pawl_flow_seal(cli->pawl, *flow, group, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", *flow), PAWL__HERE_TEXT("group", group ? group : ""),
                      PAWL__HERE_BOOL("sealed", true));
    } else if (!cli->quiet) {
        pawl__cli_put_text(&cli->out, "", group ? group : "the flow");
        pawl__buf_add_text(&cli->out, " is sealed\n");
    }
    return PAWL__CLI_EXIT_OK;
}
