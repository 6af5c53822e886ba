/* pawl priority: changes the priority of waiting jobs. */
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

static int change(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    const int64_t *priority = ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    int32_t before = 0;
    enum pawl_err err = pawl_priority(cli->pawl, id, (int32_t)*priority, &by, &before, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_changed(cli, id, before, (int32_t)*priority);
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_priority(struct pawl__cli *cli)
{
    size_t count = cli->operands.count - 1;
    int64_t priority;
    if (!pawl__cli_read_int(cli->operands.at[count], PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX,
                            &priority)) {
        pawl__cli_error("the priority cannot be \"%s\"", cli->operands.at[count]);
        pawl__cli_hint("it comes last and is %s", pawl__cli_kind_form(PAWL__CLI_KIND_PRIORITY));
        return PAWL__CLI_EXIT_USAGE;
    }
    return pawl__cli_each_id(cli, count, change, &priority);
}
