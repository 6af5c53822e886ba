/* Finished jobs once more, each as a new one. */
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

/* A job that has not ended cannot run again: what may have been meant. */
static void hint_instead(struct pawl__cli *cli, struct pawl_job_id id)
{
    static const struct {
        uint32_t states;
        const char *hint; /* the id comes behind it */
    } insteads[] = {
        { BIT(AVAILABLE) | BIT(ACTIVE), "it has yet to end; to wait for that: pawl wait" },
        { BIT(SCHEDULED) | BIT(RETRYABLE), "it has yet to run; to run it now: pawl promote" },
        { BIT(PENDING), "it has yet to run; to let it: pawl activate" },
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

int pawl__cli_rerun(struct pawl__cli *cli)
{
    struct pawl_job_id *ids;
    size_t count = cli->operands.count;
    int worst = pawl__cli_ids(cli, count, &ids);
    if (worst) return worst;
    for (size_t i = 0; i < count && worst < PAWL__CLI_EXIT_USAGE; i++) {
        struct pawl_diag diag = { 0 };
        struct pawl_submitted submitted;
        enum pawl_err err = pawl_rerun(cli->pawl, ids[i], &submitted, &diag);
        if (!err) put_new(cli, ids[i], &submitted);
        int code = pawl__cli_flush(cli);
        if (err && !code) code = pawl__cli_fail(err, &diag);
        if (err == PAWL_ERR_STATE) hint_instead(cli, ids[i]);
        if (code > worst) worst = code;
    }
    return worst;
}
