/* pawl submit: one job from the command line, or many from standard input. */
#include "cli/cli.h"

#include <unistd.h>

/* ---- results ---- */

static void put_result(struct pawl__cli *cli, const struct pawl_job *job,
                       const struct pawl_submitted *submitted)
{
    PAWL__CLI_PUT(cli, PAWL__PART(&pawl__cli_brief_shape, job),
                  PAWL__HERE_BOOL("deduplicated", submitted->deduplicated),
                  PAWL__HERE_BOOL("replaced", submitted->replaced));
}

void pawl__cli_submit_json(struct pawl__cli *cli, const struct pawl_job_spec *spec,
                           const struct pawl_submitted *submitted)
{
    // The existing job may differ from the spec in everything but the key.
    struct pawl_jobs jobs = { 0 };
    if (submitted->deduplicated && !pawl_get(cli->pawl, submitted->id, &jobs, NULL)) {
        put_result(cli, &jobs.at[0], submitted);
    } else {
        struct pawl_job job = {
            .id = submitted->id, .type = spec->type, .queue = spec->queue, .state = submitted->state
        };
        put_result(cli, &job, submitted);
    }
    pawl_jobs_release(&jobs);
}

/* A note if the existing job has another type or other arguments. White space and the order of
 * members count, since the texts are compared. */
static const char *differs(struct pawl__cli *cli, const struct pawl_job_spec *spec,
                           const struct pawl_submitted *submitted)
{
    struct pawl_jobs jobs = { 0 };
    const char *remark = "";
    struct pawl_span args = spec->args.len ? spec->args : (struct pawl_span){ "[]", 2 };
    if (!pawl_get(cli->pawl, submitted->id, &jobs, NULL)) {
        const struct pawl_job *job = &jobs.at[0];
        struct pawl_span kept = job->args.len ? job->args : (struct pawl_span){ "[]", 2 };
        if (strcmp(job->type, spec->type) != 0) {
            remark = " with another type";
        } else if (kept.len != args.len || memcmp(kept.at, args.at, args.len) != 0) {
            remark = " with other arguments";
        }
    }
    pawl_jobs_release(&jobs);
    return remark;
}

/* Only the id on standard output, for `id=$(pawl submit ...)`; the rest on standard error. */
static void put_human(struct pawl__cli *cli, const struct pawl_job_spec *spec,
                      const struct pawl_submitted *submitted)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(submitted->id, id);
    pawl__buf_printf(&cli->out, "%s\n", id);
    if (cli->quiet || pawl__cli_flush(cli)) return;
    const char *state = pawl__cli_state_text(cli, submitted->state);
    if (submitted->deduplicated && submitted->state == PAWL_STATE_NONE) {
        fprintf(stderr, "not added: this job already existed; its record has been removed\n");
    } else if (submitted->deduplicated) {
        fprintf(stderr, "not added: this job already exists%s (%s)\n",
                differs(cli, spec, submitted), state);
    } else {
        fprintf(stderr, "%s is %s in queue \"%s\"%s\n", spec->type, state, spec->queue,
                submitted->replaced ? " and replaces an earlier one" : "");
    }
}

/* ---- one job ---- */

/* If the error begins with the name of a field, prints the name of the option instead. */
static int refused(enum pawl_err err, const struct pawl_diag *diag)
{
    char field[sizeof diag->field];
    size_t len = strlen(diag->field);
    enum pawl__cli_option_id option = pawl__cli_spec_option(diag->field);
    if (option == PAWL__CLI_OPT_END) { // a member of a follow-up: its path
        len = strcspn(diag->field, ".");
        snprintf(field, sizeof field, "%.*s", (int)len, diag->field);
        option = pawl__cli_spec_option(field);
    }
    if ((err != PAWL_ERR_ARG && err != PAWL_ERR_LIMIT) || option == PAWL__CLI_OPT_END) {
        return pawl__cli_fail(err, diag);
    }
    const char *name = pawl__cli_options[option].name;
    if (option == PAWL__CLI_OPT_KEY_TTL && strstr(diag->text, "needs")) {
        return pawl__cli_usage("\"--%s\" needs \"--key\"", name);
    }
    if (strncmp(diag->text, diag->field, len) != 0) return pawl__cli_fail(err, diag);
    return pawl__cli_usage("\"--%s\"%s", name, diag->text + len);
}

static int submit_one(struct pawl__cli *cli, struct pawl_job_spec *spec)
{
    struct pawl_diag diag = { 0 };
    struct pawl_submitted submitted;
    spec->type = cli->operands.at[0];
    if (cli->operands.count > 1) {
        int code = pawl__cli_args(cli, cli->operands.at[1], &spec->args);
        if (code) return code;
    }
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_submit(cli->pawl, spec, &submitted, &diag);
    if (err) return refused(err, &diag);
    if (cli->json) {
        pawl__cli_submit_json(cli, spec, &submitted);
    } else {
        put_human(cli, spec, &submitted);
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- many ---- */

static int submit_many(struct pawl__cli *cli, const struct pawl_job_spec *defaults)
{
    if (cli->operands.count > 1) {
        return pawl__cli_usage("ARGS cannot be given when jobs are read from standard input");
    }
    if (defaults->id || defaults->idempotency_key || defaults->business_key) {
        const char *name = defaults->id ? "id" : defaults->idempotency_key ? "key" : "business-key";
        return pawl__cli_usage("\"--%s\" cannot be the same for many jobs", name);
    }
    int code = pawl__cli_open(cli);
    return code ? code : pawl__cli_submit_lines(cli, defaults);
}

int pawl__cli_submit(struct pawl__cli *cli)
{
    struct pawl_job_spec spec;
    int code = pawl__cli_spec(cli, &spec);
    if (code) return code;
    bool none = cli->operands.count == 0;
    if (none && isatty(STDIN_FILENO)) {
        pawl__cli_error("\"pawl submit\" needs TYPE");
        pawl__cli_hint("\"pawl submit mail.send '[\"ann@example.com\"]'\", or - to type JSON "
                       "Lines");
        return PAWL__CLI_EXIT_USAGE;
    }
    if (none || strcmp(cli->operands.at[0], "-") == 0) return submit_many(cli, &spec);
    return submit_one(cli, &spec);
}
