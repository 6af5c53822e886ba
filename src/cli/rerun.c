/* pawl rerun: submits finished jobs again, each as a new one. */
#include "cli/cli.h"

static void put_new(struct pawl__cli *cli, struct pawl_job_id of,
                    const struct pawl_submitted *submitted)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", submitted->id), PAWL__HERE_ID("rerun_of", of),
                      PAWL__CLI_STATE_HERE("state", submitted->state),
                      PAWL__HERE_BOOL("deduplicated", submitted->deduplicated));
    } else {
        pawl_job_id_text(submitted->id, id);
        pawl__buf_printf(&cli->out, "%s\n", id);
    }
}

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)

/* A job that has not ended cannot be rerun: suggests what was probably meant. */
static void hint_instead(struct pawl__cli *cli, struct pawl_job_id id)
{
    static const struct {
        uint32_t states;
        const char *hint; /* followed by the id */
    } insteads[] = {
        { BIT(AVAILABLE) | BIT(ACTIVE), "it has not ended yet; to wait for that: pawl wait" },
        { BIT(SCHEDULED) | BIT(RETRYABLE), "it has not run yet; to run it now: pawl promote" },
        { BIT(PENDING), "it has not run yet; to let it run: pawl activate" },
        { BIT(PAUSED), "to put it back where it was: pawl resume" },
    };
    struct pawl_jobs jobs = { 0 };
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    if (pawl_get(cli->pawl, id, &jobs, NULL) == PAWL_OK) {
        for (size_t i = 0; i < sizeof insteads / sizeof *insteads; i++) {
            if (!(insteads[i].states & PAWL_STATE_BIT(jobs.at[0].state))) continue;
            pawl__cli_hint("%s %s", insteads[i].hint, text);
        }
    }
    pawl_jobs_release(&jobs);
}

static int rerun(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    struct pawl_diag diag = { 0 };
    struct pawl_submitted submitted;
    enum pawl_err err = pawl_rerun(cli->pawl, id, &submitted, &diag);
    if (!err) put_new(cli, id, &submitted);
    int code = err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
    if (err == PAWL_ERR_STATE) hint_instead(cli, id);
    return code;
}

int pawl__cli_rerun(struct pawl__cli *cli)
{
    return pawl__cli_each_id(cli, cli->operands.count, rerun, NULL);
}
