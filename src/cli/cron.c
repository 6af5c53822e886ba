/* pawl cron add, edit, pause, resume, run and remove. */
#include "cli/cron.h"

#include <string.h>

int pawl__cli_cron_get(struct pawl__cli *cli, const char *name, struct pawl_schedules *out)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_schedule_get(cli->pawl, name, out, &diag);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* ---- what was put ---- */

static void put_next(struct pawl__cli *cli, const struct pawl_schedule *schedule)
{
    if (schedule->state == PAWL_SCHEDULE_ACTIVE) {
        pawl__buf_add_text(&cli->out, "; next ");
        pawl__cli_put_moment(cli, schedule->next_at_ms);
    } else {
        pawl__buf_printf(&cli->out, "; it is %s", pawl_schedule_state_text(schedule->state));
    }
}

/* `verb`: "added". */
static int put_schedule(struct pawl__cli *cli, const char *name, const char *verb)
{
    struct pawl_schedules schedules = { 0 };
    int code = pawl__cli_cron_get(cli, name, &schedules);
    if (!code && cli->json) {
        pawl__cli_put_json(cli, &pawl__cli_schedule_shape, &schedules.at[0]);
    } else if (!code && !cli->quiet) {
        const struct pawl_schedule *schedule = &schedules.at[0];
        const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
        pawl__cli_put_text(&cli->out, "", verb);
        pawl__cli_put_text(&cli->out, " ", name);
        pawl__cli_put_text(&cli->out, ": ", pawl__cli_cron_brief(cli, &recurrence));
        put_next(cli, schedule);
        pawl__buf_add_text(&cli->out, "\n");
    }
    pawl_schedules_release(&schedules);
    return code;
}

static int put(struct pawl__cli *cli, const struct pawl_schedule_spec *spec,
               struct pawl_schedule_put_options *options)
{
    struct pawl_diag diag = { 0 };
    struct pawl_schedule_put put;
    options->actor = pawl__cli_actor(cli);
    enum pawl_err err = pawl_schedule_put(cli->pawl, spec, options, &put, &diag);
    if (err) {
        int code = pawl__cli_cron_refused(err, &diag);
        if (err == PAWL_ERR_EXISTS) pawl__cli_hint("\"pawl cron edit\" changes it");
        return code;
    }
    const char *verb = put.put == PAWL_PUT_CREATED   ? "added"
                       : put.put == PAWL_PUT_CHANGED ? "changed"
                                                     : "unchanged:";
    return put_schedule(cli, spec->name, verb);
}

/* ---- add, edit ---- */

int pawl__cli_cron_add(struct pawl__cli *cli)
{
    struct pawl_schedule_spec spec = { 0 };
    struct pawl_schedule_put_options options = { .create_only = true };
    int code = pawl__cli_cron_spec(cli, &spec);
    if (!code) code = pawl__cli_cron_check(cli, &spec);
    if (!code) code = pawl__cli_open(cli);
    return code ? code : put(cli, &spec, &options);
}

static bool changes_nothing(const struct pawl__cli *cli)
{
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        uint64_t group = pawl__cli_options[i].group;
        if (group & (PAWL__CLI_SETTING | PAWL__CLI_ALWAYS)) continue;
        if (cli->values[i].count) return false;
    }
    return cli->operands.count == 1;
}

int pawl__cli_cron_edit(struct pawl__cli *cli)
{
    struct pawl_schedules schedules = { 0 };
    if (changes_nothing(cli)) {
        pawl__cli_error("nothing to change");
        pawl__cli_hint("give an expression, or options such as --jitter 5m");
        return PAWL__CLI_EXIT_USAGE;
    }
    int code = pawl__cli_open(cli);
    if (!code) code = pawl__cli_cron_get(cli, cli->operands.at[0], &schedules);
    if (!code) {
        struct pawl_schedule_spec spec = schedules.at[0].spec;
        const char *group = schedules.at[0].group;
        struct pawl_schedule_put_options options = { .change_only = true,
                                                     .version = schedules.at[0].version,
                                                     .group = *group ? group : NULL };
        code = pawl__cli_cron_unset(cli, &spec);
        if (!code) code = pawl__cli_cron_spec(cli, &spec);
        if (!code) code = pawl__cli_cron_check(cli, &spec);
        if (!code) code = put(cli, &spec, &options);
    }
    pawl_schedules_release(&schedules);
    return code;
}

/* ---- pause, resume, remove, run ---- */

typedef int one_fn(struct pawl__cli *cli, const char *name);

/* Does all, also after one was refused; returns the worst exit code. */
static int each(struct pawl__cli *cli, one_fn *one)
{
    int worst = pawl__cli_open(cli);
    if (worst) return worst;
    for (size_t i = 0; i < cli->operands.count && worst < PAWL__CLI_EXIT_STORE; i++) {
        int code = one(cli, cli->operands.at[i]);
        if (code > worst) worst = code;
        code = pawl__cli_flush(cli);
        if (code > worst) worst = code;
    }
    return worst;
}

static int put_done(struct pawl__cli *cli, const char *name, const char *verb, bool changed)
{
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("name", name), PAWL__HERE_TEXT("action", verb),
                      PAWL__HERE_BOOL("changed", changed));
    } else if (!cli->quiet) {
        pawl__cli_put_text(&cli->out, changed ? "" : "already ", verb);
        pawl__cli_put_text(&cli->out, " ", name);
        pawl__buf_add_text(&cli->out, "\n");
    }
    return PAWL__CLI_EXIT_OK;
}

static int pause_one(struct pawl__cli *cli, const char *name)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    bool changed;
    enum pawl_err err = pawl_schedule_pause(cli->pawl, name, &by, &changed, &diag);
    return err ? pawl__cli_fail(err, &diag) : put_done(cli, name, "paused", changed);
}

static int resume_one(struct pawl__cli *cli, const char *name)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    bool changed;
    enum pawl_err err = pawl_schedule_resume(cli->pawl, name, &by, &changed, &diag);
    return err ? pawl__cli_fail(err, &diag) : put_done(cli, name, "resumed", changed);
}

static int remove_one(struct pawl__cli *cli, const char *name)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_schedule_remove(cli->pawl, name, 0, &diag);
    return err ? pawl__cli_fail(err, &diag) : put_done(cli, name, "removed", true);
}

static int put_skipped(struct pawl__cli *cli, const char *name, enum pawl_skip skip)
{
    int code = pawl__cli_flush(cli);
    pawl__cli_error("\"%s\" was not run: %s", name, pawl_skip_text(skip));
    if (skip == PAWL_SKIP_OVERLAP) {
        pawl__cli_hint("an earlier job has not ended; --force runs it all the same");
    }
    return code ? code : PAWL__CLI_EXIT_REFUSED;
}

static int run_one(struct pawl__cli *cli, const char *name)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(cli);
    struct pawl_schedule_ran ran = { .skip = PAWL_SKIP_NONE };
    bool force = pawl__cli_flag(cli, PAWL__CLI_OPT_FORCE);
    enum pawl_err err = pawl_schedule_run(cli->pawl, name, force, &by, &ran, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("name", name),
                      PAWL__SOME("job", ID, struct pawl_job_id, ran.job),
                      PAWL__SOME_TEXT("skipped", pawl_skip_text(ran.skip)),
                      PAWL__HERE_BOOL("queued", ran.queued), PAWL__SOME_INSTANT("at", ran.at_ms));
        return ran.skip ? PAWL__CLI_EXIT_REFUSED : PAWL__CLI_EXIT_OK;
    }
    if (ran.skip) return put_skipped(cli, name, ran.skip);
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ran.job, id);
    pawl__buf_printf(&cli->out, "%s\n", id);
    if (cli->quiet || pawl__cli_flush(cli)) return PAWL__CLI_EXIT_OK;
    fprintf(stderr, "%s: %s\n", name,
            ran.queued ? "a job was added, which waits until the earlier ones have ended"
                       : "a job was added");
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_cron_pause(struct pawl__cli *cli)
{
    return each(cli, pause_one);
}

int pawl__cli_cron_resume(struct pawl__cli *cli)
{
    return each(cli, resume_one);
}

int pawl__cli_cron_run(struct pawl__cli *cli)
{
    return each(cli, run_one);
}

int pawl__cli_cron_remove(struct pawl__cli *cli)
{
    return each(cli, remove_one);
}
