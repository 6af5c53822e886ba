/* pawl flow approve, reject and signal. */
#include "cli/flow.h"

#include "base/diag.h"

#include <inttypes.h>

static struct pawl_flow_signal signal_of(struct pawl__cli *cli, enum pawl_flow_signal_kind kind)
{
    const char *payload = pawl__cli_text(cli, PAWL__CLI_OPT_PAYLOAD);
    struct pawl_flow_signal signal = { .kind = kind };
    if (payload) signal.payload = (struct pawl_span){ payload, strlen(payload) };
    return signal;
}

static const char *done_text(enum pawl_flow_signal_kind kind)
{
    return kind == PAWL_FLOW_SIGNAL_APPROVE ? "approved" : "rejected";
}

int pawl__cli_flow_node(struct pawl__cli *cli, struct pawl_job_id flow, const char *name,
                        struct pawl_job_id *out)
{
    struct pawl_flow_nodes nodes = { 0 };
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_flow_nodes_get(cli->pawl, flow, &nodes, &diag);
    size_t at = 0;
    while (at < nodes.count && strcmp(nodes.at[at].name, name) != 0) {
        at++;
    }
    bool found = at < nodes.count;
    if (found) *out = nodes.at[at].id;
    pawl_flow_nodes_release(&nodes);
    if (err) return pawl__cli_fail(err, &diag);
    if (found) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("the flow has no node \"%s\"", name);
    return PAWL__CLI_EXIT_REFUSED;
}

static int signal_node(struct pawl__cli *cli, enum pawl_flow_signal_kind kind)
{
    const struct pawl_flow_signal signal = signal_of(cli, kind);
    const char *name = cli->operands.at[1];
    struct pawl_job_id *flow, node;
    struct pawl_diag diag = { 0 };
    int code = pawl__cli_flow_ids(cli, 1, &flow);
    if (!code) code = pawl__cli_flow_node(cli, *flow, name, &node);
    if (code) return code;
    enum pawl_err err = pawl_flow_signal(cli->pawl, node, &signal, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", node), PAWL__HERE_TEXT("node", name),
                      PAWL__HERE_TEXT("signal", done_text(kind)));
    } else if (!cli->quiet) {
        pawl__cli_put_text(&cli->out, "", name);
        pawl__buf_printf(&cli->out, " is %s\n", done_text(kind));
    }
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_flow_approve(struct pawl__cli *cli)
{
    return signal_node(cli, PAWL_FLOW_SIGNAL_APPROVE);
}

int pawl__cli_flow_reject(struct pawl__cli *cli)
{
    return signal_node(cli, PAWL_FLOW_SIGNAL_REJECT);
}

int pawl__cli_flow_signal(struct pawl__cli *cli)
{
    bool reject = pawl__cli_has(cli, PAWL__CLI_OPT_REJECT);
    enum pawl_flow_signal_kind kind = reject ? PAWL_FLOW_SIGNAL_REJECT : PAWL_FLOW_SIGNAL_APPROVE;
    const struct pawl_flow_signal signal = signal_of(cli, kind);
    const char *key = cli->operands.at[0];
    struct pawl_diag diag = { 0 };
    int64_t count = 0;
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_flow_signal_key(cli->pawl, key, &signal, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("key", key), PAWL__HERE_TEXT("signal", done_text(kind)),
                      PAWL__HERE_INT("nodes", count));
    } else if (count && !cli->quiet) {
        pawl__buf_printf(&cli->out, "%" PRId64 " node%s %s %s\n", count, count == 1 ? "" : "s",
                         count == 1 ? "is" : "are", done_text(kind));
    }
    if (count) return PAWL__CLI_EXIT_OK;
    if (!cli->json) pawl__cli_error("no node waits for \"%s\"", key);
    return PAWL__CLI_EXIT_REFUSED;
}
