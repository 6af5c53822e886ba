/* Ids of flows on the command line, and what all commands of `pawl flow` print alike. */
#include "cli/flow.h"

#include "base/id.h"
#include "wire/wire.h"

#include <strings.h>

/* ---- ids ---- */

static int check_text(const char *text)
{
    struct pawl_job_id low, high;
    if (pawl__id_range(text, &low, &high)) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("\"%s\" is not a flow's id", text);
    pawl__cli_hint("write it as \"pawl flow list\" prints it, or at least its first 8 digits");
    return PAWL__CLI_EXIT_USAGE;
}

/* Looks among the newest flows for those whose ids begin with `text`. */
static int resolve(struct pawl__cli *cli, const char *text, struct pawl_job_id *out)
{
    struct pawl_diag diag = { 0 };
    struct pawl_flows flows = { 0 };
    const struct pawl_page page = { .limit = PAWL_PAGE_MAX };
    enum pawl_err err =
        pawl_flow_list(cli->pawl, &(struct pawl_flow_filter){ 0 }, &page, &flows, &diag);
    size_t found = 0;
    for (size_t i = 0; !err && i < flows.count; i++) {
        char id[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(flows.at[i].id, id);
        if (strncasecmp(id, text, strlen(text)) != 0) continue;
        *out = flows.at[i].id;
        found++;
    }
    pawl_flows_release(&flows);
    if (err) return pawl__cli_fail(err, &diag);
    if (found == 1) return PAWL__CLI_EXIT_OK;
    pawl__cli_error(found ? "several flows have ids that begin with \"%s\""
                          : "there is no flow whose id begins with \"%s\"",
                    text);
    return PAWL__CLI_EXIT_REFUSED;
}

int pawl__cli_flow_ids(struct pawl__cli *cli, size_t count, struct pawl_job_id **out)
{
    struct pawl_job_id *ids =
        pawl__cli_need(pawl__arena_calloc(&cli->arena, count + 1, sizeof *ids));
    int code = PAWL__CLI_EXIT_OK;
    for (size_t i = 0; !code && i < count; i++) {
        code = check_text(cli->operands.at[i]);
    }
    if (!code) code = pawl__cli_open(cli);
    for (size_t i = 0; !code && i < count; i++) {
        const char *text = cli->operands.at[i];
        if (pawl_job_id_parse(text, &ids[i])) code = resolve(cli, text, &ids[i]);
    }
    *out = ids;
    return code;
}

int pawl__cli_each_flow(struct pawl__cli *cli, pawl__cli_id_fn *one, void *ctx)
{
    struct pawl_job_id *ids;
    int worst = pawl__cli_flow_ids(cli, cli->operands.count, &ids);
    if (worst) return worst;
    for (size_t i = 0; i < cli->operands.count && worst < PAWL__CLI_EXIT_STORE; i++) {
        int code = one(cli, ids[i], ctx);
        if (code > worst) worst = code;
        code = pawl__cli_flush(cli);
        if (code > worst) worst = code;
    }
    return worst;
}

/* ---- flows as JSON ---- */

#define S struct pawl_flow_counts
#define COUNT(member) PAWL__MEMBER(#member, INT64, S, member, .flags = PAWL__ALWAYS)
static const struct pawl__member count_members[] = {
    COUNT(total), COUNT(open), COUNT(completed), COUNT(skipped), COUNT(failed), COUNT(cancelled),
};
static const struct pawl__shape count_shape = PAWL__SHAPE(S, count_members);
#undef COUNT
#undef S

static void print_percent(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct pawl_flow *flow = base;
    pawl__buf_add_int(writer->out, pawl_flow_percent(&flow->jobs));
}

#define S struct pawl_flow
static const struct pawl__member flow_members[] = {
    PAWL__MEMBER("id", ID, S, id),
    PAWL__MEMBER("name", NAME, S, name, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("layout", NAME, S, layout),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__flow_state_words),
    PAWL__WHOLE("percent", OWN, .print = print_percent),
    PAWL__MEMBER("jobs", ONE, S, jobs, .shape = &count_shape),
    PAWL__MEMBER("members", ONE, S, members, .shape = &count_shape),
    PAWL__MEMBER("created_at", INSTANT, S, created_at_ms),
    PAWL__MEMBER("finished_at", INSTANT, S, finished_at_ms),
    PAWL__MEMBER("deadline", INSTANT, S, deadline_at_ms),
    PAWL__MEMBER("sealed", BOOL, S, sealed, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("paused", BOOL, S, paused),
    PAWL__MEMBER("reopened", INT32, S, reopened),
    PAWL__MEMBER("reason", NAME, S, reason),
    PAWL__MEMBER("meta", OBJECT, S, meta),
};
const struct pawl__shape pawl__cli_flow_shape = PAWL__SHAPE(S, flow_members);
#undef S

/* ---- states ---- */

bool pawl__cli_flow_ended(const struct pawl_flow *flow)
{
    return flow->state != PAWL_FLOW_RUNNING;
}

const char *pawl__cli_flow_colour(const struct pawl__cli *cli, const struct pawl_flow *flow)
{
    static const enum pawl_state like[PAWL_FLOW_STATE_END] = {
        [PAWL_FLOW_RUNNING] = PAWL_STATE_ACTIVE,
        [PAWL_FLOW_COMPLETED] = PAWL_STATE_COMPLETED,
        [PAWL_FLOW_FAILED] = PAWL_STATE_DISCARDED,
        [PAWL_FLOW_CANCELLED] = PAWL_STATE_CANCELLED,
    };
    return pawl__cli_state_colour(cli, like[flow->state]);
}

void pawl__cli_put_flow_state(struct pawl__cli *cli, const struct pawl_flow *flow)
{
    pawl__buf_printf(&cli->out, "%s%s%s", pawl__cli_flow_colour(cli, flow),
                     pawl__flow_state_words.at[flow->state], pawl__cli_plain(cli));
}
