/* pawl priority: reorder jobs that wait. */
#include "cli/cli.h"

#include <inttypes.h>

static void put_changed(struct pawl__cli *cli, struct pawl_job_id id, int32_t before,
                        int32_t priority)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    struct pawl_jobs jobs = { 0 };
    pawl_job_id_text(id, text);
    if (!cli->json) {
        if (cli->quiet) return;
        pawl__buf_printf(&cli->out, "%s priority %" PRId32 ", was %" PRId32 "\n", text, priority,
                         before);
    } else if (!pawl_get(cli->pawl, id, &jobs, NULL)) {
        PAWL__CLI_PUT(cli, PAWL__PART(&pawl__cli_brief_shape, &jobs.at[0]),
                      PAWL__HERE_INT("priority", priority), PAWL__HERE_INT("before", before));
    }
    pawl_jobs_release(&jobs);
}

int pawl__cli_priority(struct pawl__cli *cli)
{
    size_t count = cli->operands.count - 1;
    struct pawl_by by = pawl__cli_by(cli);
    struct pawl_job_id *ids;
    int64_t priority;
    if (!pawl__cli_read_int(cli->operands.at[count], PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX,
                            &priority)) {
        pawl__cli_error("the priority cannot be \"%s\"", cli->operands.at[count]);
        pawl__cli_hint("it comes last and is %s", pawl__cli_kind_form(PAWL__CLI_KIND_PRIORITY));
        return PAWL__CLI_EXIT_USAGE;
    }
    int worst = pawl__cli_ids(cli, count, &ids);
    if (worst) return worst;
    for (size_t i = 0; i < count; i++) {
        struct pawl_diag diag = { 0 };
        int32_t before = 0;
        enum pawl_err err =
            pawl_priority(cli->pawl, ids[i], (int32_t)priority, &by, &before, &diag);
        int code = err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
        if (code > worst) worst = code;
        if (!err) put_changed(cli, ids[i], before, (int32_t)priority);
        if (pawl__cli_flush(cli)) return PAWL__CLI_EXIT_REFUSED;
    }
    return worst;
}
