/* Ids of jobs on the command line: in full, or a beginning that only one job has. */
#include "cli/cli.h"
#include "base/id.h"

#include <assert.h>

enum { CANDIDATES_MAX = 5 };

static int check_text(const char *text)
{
    struct pawl_job_id low, high;
    if (pawl__id_range(text, &low, &high)) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("\"%s\" is not a job's id", text);
    pawl__cli_hint("write it as \"pawl list\" prints it, or at least its first 8 digits");
    return PAWL__CLI_EXIT_USAGE;
}

static int several(const char *text, const struct pawl_jobs *jobs)
{
    struct pawl__buf list = { 0 };
    char id[PAWL_JOB_ID_TEXT_BYTES];
    for (size_t i = 0; i < jobs->count && i < CANDIDATES_MAX; i++) {
        pawl_job_id_text(jobs->at[i].id, id);
        pawl__buf_printf(&list, "%s%s", i ? ", " : "", id);
    }
    if (jobs->count > CANDIDATES_MAX) pawl__buf_add_text(&list, " and more");
    if (list.failed) pawl__cli_nomem();
    pawl__cli_error("several jobs have ids that begin with \"%s\"", text);
    pawl__cli_hint("the newest are %s", list.at);
    pawl__buf_release(&list);
    return PAWL__CLI_EXIT_REFUSED;
}

static int resolve(struct pawl__cli *cli, const char *text, struct pawl_job_id *out)
{
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    struct pawl_filter filter = { .id_prefix = text, .archived = true };
    struct pawl_page page = { .limit = CANDIDATES_MAX + 1, .brief = true };
    enum pawl_err err = pawl_query(cli->pawl, &filter, &page, &jobs, &diag);
    int code = PAWL__CLI_EXIT_OK;
    if (err) {
        code = pawl__cli_fail(err, &diag);
    } else if (jobs.count == 0) {
        pawl__cli_error("there is no job whose id begins with \"%s\"", text);
        code = PAWL__CLI_EXIT_REFUSED;
    } else if (jobs.count > 1) {
        code = several(text, &jobs);
    } else {
        *out = jobs.at[0].id;
    }
    pawl_jobs_release(&jobs);
    return code;
}

int pawl__cli_ids(struct pawl__cli *cli, size_t count, struct pawl_job_id **out)
{
    assert(count <= cli->operands.count);
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

int pawl__cli_each_id(struct pawl__cli *cli, size_t count, pawl__cli_id_fn *one, void *ctx)
{
    struct pawl_job_id *ids;
    size_t done = 0;
    int worst = pawl__cli_ids(cli, count, &ids);
    if (worst) return worst;
    pawl__cli_calm(cli->command->store != PAWL__CLI_STORE_READ); // finish the change under way
    while (done < count && worst < PAWL__CLI_EXIT_STORE && !pawl__cli_interrupted()) {
        int code = one(cli, ids[done++], ctx);
        if (code > worst) worst = code;
        code = pawl__cli_flush(cli);
        if (code) return code > worst ? code : worst;
    }
    if (done < count && pawl__cli_interrupted()) {
        pawl__cli_error("interrupted after %zu of %zu jobs", done, count);
        return PAWL__CLI_EXIT_INTERRUPTED;
    }
    return worst;
}
