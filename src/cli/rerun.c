/* Finished jobs once more, each as a new one. */
#include "cli/cli.h"

static void put_new(struct pawl__cli *cli, struct pawl_job_id of,
                    const struct pawl_submitted *submitted)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], old[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(submitted->id, id);
    pawl_job_id_text(of, old);
    if (!cli->json) {
        pawl__buf_printf(&cli->out, "%s\n", id);
        return;
    }
    struct pawl__cli_json json;
    pawl__cli_json_open(&json, &cli->out, '{');
    pawl__cli_json_text(&json, "id", id);
    pawl__cli_json_text(&json, "rerun_of", old);
    pawl__cli_json_state(cli, &json, "state", submitted->state);
    pawl__cli_json_bool(&json, "deduplicated", submitted->deduplicated);
    pawl__cli_json_close(&json, '}');
    pawl__buf_add_text(&cli->out, "\n");
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
        if (code > worst) worst = code;
    }
    return worst;
}
