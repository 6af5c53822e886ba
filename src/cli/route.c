/* pawl route, assign and unroute, and pawl complete and fail: leases in two steps, and reports of
 * runs, for workers that are scripts. */
#include "cli/cli.h"
#include "fields/fields.h"

#include <inttypes.h>

#define ALWAYS .flags = PAWL__ALWAYS

#define S struct pawl_job
static const struct pawl__member routed_members[] = {
    PAWL__MEMBER("id", ID, S, id, ALWAYS),
    PAWL__MEMBER("type", NAME, S, type, ALWAYS),
    PAWL__MEMBER("queue", NAME, S, queue, ALWAYS),
    PAWL__MEMBER("args", JSON, S, args),
    PAWL__MEMBER("worker", NAME, S, worker, ALWAYS),
    PAWL__MEMBER("token", INT64, S, lease_until_ms, ALWAYS),
    PAWL__MEMBER("reserved_until", INSTANT, S, lease_until_ms),
};
static const struct pawl__shape routed_shape = PAWL__SHAPE(S, routed_members);
static const struct pawl__cli_column routed_columns[] = {
    PAWL__CLI_FIELD("ID", ID, S, id),
    PAWL__CLI_FIELD("TYPE", NAME, S, type, .least = 8),
    PAWL__CLI_FIELD("QUEUE", NAME, S, queue, .least = 8, .droppable = 1),
    PAWL__CLI_FIELD("TOKEN", INT64, S, lease_until_ms),
};
static const struct pawl__member started_members[] = {
    PAWL__MEMBER("id", ID, S, id, ALWAYS),
    PAWL__MEMBER("run", INT64, S, run, ALWAYS),
    PAWL__MEMBER("type", NAME, S, type, ALWAYS),
    PAWL__MEMBER("queue", NAME, S, queue, ALWAYS),
    PAWL__MEMBER("args", JSON, S, args),
    PAWL__MEMBER("worker", NAME, S, worker, ALWAYS),
    PAWL__MEMBER("lease_until", INSTANT, S, lease_until_ms),
};
static const struct pawl__shape started_shape = PAWL__SHAPE(S, started_members);
#undef S

/* NULL: the error has been printed. */
static const char *worker_of(struct pawl__cli *cli)
{
    const char *worker = pawl__cli_text(cli, PAWL__CLI_OPT_R_WORKER);
    if (worker) return worker;
    pawl__cli_error("--worker is required");
    pawl__cli_hint("name the worker that jobs are reserved for: --worker gpu-1");
    return NULL;
}

/* A lease of at least what the library allows. Exit code. */
static int check_lease(struct pawl__cli *cli, enum pawl__cli_option_id option, const char *name)
{
    if (pawl__cli_duration(cli, option) >= PAWL_LEASE_MIN_MS) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("%s must be at least %dms", name, PAWL_LEASE_MIN_MS);
    return PAWL__CLI_EXIT_USAGE;
}

/* ---- route ---- */

int pawl__cli_route(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(routed_shape, routed_columns, "no jobs");
    static const char *const usual[] = { "default" };
    const struct pawl__cli_values *queues = &cli->values[PAWL__CLI_OPT_R_QUEUE];
    const struct pawl__cli_values *types = &cli->values[PAWL__CLI_OPT_R_TYPE];
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    const char *worker = worker_of(cli);
    if (!worker) return PAWL__CLI_EXIT_USAGE;
    int code = check_lease(cli, PAWL__CLI_OPT_R_FOR, "--for");
    if (code) return code;
    const struct pawl_claim claim = { .queues = queues->count ? queues->at : usual,
                                      .queue_count = queues->count ? queues->count : 1,
                                      .types = types->at,
                                      .type_count = types->count,
                                      .limit = pawl__cli_int(cli, PAWL__CLI_OPT_R_LIMIT),
                                      .worker = worker,
                                      .lease_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_R_FOR) };
    code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_route(cli->pawl, &claim, &jobs, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    pawl__cli_put_list(cli, &view, jobs.at, jobs.count);
    pawl_jobs_release(&jobs);
    return PAWL__CLI_EXIT_OK;
}

/* ---- what follows ---- */

/* The second operand as a number; `what` says which. */
static int read_number(struct pawl__cli *cli, const char *what, int64_t *out)
{
    if (pawl__cli_read_int(cli->operands.at[1], 1, INT64_MAX, out)) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("%s cannot be \"%s\"", what, cli->operands.at[1]);
    pawl__cli_hint("it is the whole number that %s printed",
                   strcmp(what, "a run") == 0 ? "\"pawl assign\"" : "\"pawl route\"");
    return PAWL__CLI_EXIT_USAGE;
}

/* What one of these commands was told, and what it does to a job. */
struct act {
    struct pawl_routed routed;
    struct pawl_run run;
    enum pawl_err (*carry_out)(struct pawl__cli *cli, const struct act *act, struct pawl_jobs *out,
                               struct pawl_diag *diag);
    const char *remark; /* NULL: it prints the run that has begun */
};

static void put_done(struct pawl__cli *cli, const struct pawl_jobs *jobs, const char *id,
                     const char *remark)
{
    if (jobs->count && cli->json) {
        pawl__cli_put_json(cli, &started_shape, &jobs->at[0]);
    } else if (jobs->count) {
        pawl__buf_printf(&cli->out, "%" PRId64 "\n", jobs->at[0].run);
    } else if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("id", id), PAWL__HERE_TEXT("result", remark));
    } else if (!cli->quiet) {
        pawl__buf_printf(&cli->out, "%s %s\n", id, remark);
    }
}

static int act_on(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    struct act *act = ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    char text[PAWL_JOB_ID_TEXT_BYTES];
    act->routed.id = act->run.id = id;
    enum pawl_err err = act->carry_out(cli, act, &jobs, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    pawl_job_id_text(id, text);
    put_done(cli, &jobs, text, act->remark);
    pawl_jobs_release(&jobs);
    return PAWL__CLI_EXIT_OK;
}

static enum pawl_err assign(struct pawl__cli *cli, const struct act *act, struct pawl_jobs *out,
                            struct pawl_diag *diag)
{
    const struct pawl_assignment assignment = {
        .routed = act->routed,
        .worker = pawl__cli_text(cli, PAWL__CLI_OPT_R_TO),
        .lease_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_R_LEASE),
        .timed = pawl__cli_flag(cli, PAWL__CLI_OPT_R_TIMED),
    };
    return pawl_assign(cli->pawl, &assignment, out, diag);
}

static enum pawl_err unroute(struct pawl__cli *cli, const struct act *act, struct pawl_jobs *out,
                             struct pawl_diag *diag)
{
    (void)out;
    return pawl_unroute(cli->pawl, &act->routed, diag);
}

static int follow_route(struct pawl__cli *cli, struct act act)
{
    act.routed.worker = worker_of(cli);
    if (!act.routed.worker) return PAWL__CLI_EXIT_USAGE;
    int code = read_number(cli, "a token", &act.routed.token);
    return code ? code : pawl__cli_each_id(cli, 1, act_on, &act);
}

int pawl__cli_assign(struct pawl__cli *cli)
{
    int code = check_lease(cli, PAWL__CLI_OPT_R_LEASE, "--lease");
    return code ? code : follow_route(cli, (struct act){ .carry_out = assign });
}

int pawl__cli_unroute(struct pawl__cli *cli)
{
    return follow_route(cli, (struct act){ .carry_out = unroute, .remark = "given back" });
}

/* ---- reports ---- */

static struct pawl_span third(const struct pawl__cli *cli)
{
    const char *text = cli->operands.count > 2 ? cli->operands.at[2] : "";
    return (struct pawl_span){ text, strlen(text) };
}

static enum pawl_err complete(struct pawl__cli *cli, const struct act *act, struct pawl_jobs *out,
                              struct pawl_diag *diag)
{
    (void)out;
    return pawl_complete(cli->pawl, &act->run, third(cli), diag);
}

static enum pawl_err fail(struct pawl__cli *cli, const struct act *act, struct pawl_jobs *out,
                          struct pawl_diag *diag)
{
    const struct pawl_report report = {
        .type = pawl__cli_text(cli, PAWL__CLI_OPT_ERROR_TYPE),
        .message = third(cli).at,
        .not_retryable = pawl__cli_flag(cli, PAWL__CLI_OPT_FOR_GOOD),
        .retry_after_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_RETRY_AFTER),
    };
    (void)out;
    return pawl_fail(cli->pawl, &act->run, &report, NULL, diag);
}

static int report(struct pawl__cli *cli, struct act act)
{
    int code = read_number(cli, "a run", &act.run.run);
    return code ? code : pawl__cli_each_id(cli, 1, act_on, &act);
}

int pawl__cli_complete_run(struct pawl__cli *cli)
{
    return report(cli, (struct act){ .carry_out = complete, .remark = "completed" });
}

int pawl__cli_fail_run(struct pawl__cli *cli)
{
    return report(cli, (struct act){ .carry_out = fail, .remark = "reported as failed" });
}
