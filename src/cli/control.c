/* What operators do to jobs: the rows of PAWL_CONTROLS, and delete. Jobs are named by id, and each
 * has a result of its own; or by a filter: then they are counted, the user confirms, and the change
 * is made in steps of bounded size. */
#include "cli/cli.h"
#include "base/diag.h"

#include <assert.h>
#include <inttypes.h>

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)
#define WAITING (BIT(SCHEDULED) | BIT(AVAILABLE) | BIT(PENDING) | BIT(RETRYABLE))

struct action {
    const char *verb;
    const char *past;
    /* The states in which it is possible. The store decides; these only make the count right that
     * the user confirms. */
    uint32_t states;
};

static const struct action actions[PAWL_CONTROL_END] = {
    [PAWL_CONTROL_NONE] = { "delete", "deleted",
                            BIT(COMPLETED) | BIT(SKIPPED) | BIT(CANCELLED) | BIT(DISCARDED) |
                                BIT(EXPIRED) },
    [PAWL_CONTROL_CANCEL] = { "cancel", "cancelled", WAITING | BIT(ACTIVE) | BIT(PAUSED) },
    [PAWL_CONTROL_PAUSE] = { "pause", "paused", WAITING | BIT(DISCARDED) },
    [PAWL_CONTROL_RESUME] = { "resume", "resumed", BIT(PAUSED) },
    [PAWL_CONTROL_RETRY] = { "retry", "retried", BIT(DISCARDED) | BIT(CANCELLED) | BIT(EXPIRED) },
    [PAWL_CONTROL_DISCARD] = { "discard", "discarded", BIT(ACTIVE) | BIT(RETRYABLE) },
    [PAWL_CONTROL_ACTIVATE] = { "activate", "activated", BIT(PENDING) },
    [PAWL_CONTROL_SKIP] = { "skip", "skipped", BIT(AVAILABLE) | BIT(PENDING) | BIT(ACTIVE) },
    [PAWL_CONTROL_PROMOTE] = { "promote", "promoted", BIT(SCHEDULED) | BIT(RETRYABLE) },
};
static_assert(PAWL_CONTROL_END == 9, "a control without an action");

struct task {
    struct pawl__cli *cli;
    enum pawl_control control; /* NONE: delete */
    const struct action *action;
    uint32_t only; /* jobs in these states and no others */
    struct pawl_by by;
};

/* ---- by ids ---- */

static void put_job(const struct task *task, const struct pawl_job *job)
{
    PAWL__CLI_PUT(task->cli, PAWL__PART(&pawl__cli_brief_shape, job),
                  PAWL__HERE_TEXT("action", task->action->verb), PAWL__HERE_BOOL("ok", true));
}

/* `jobs`, if it has one, is the job: before the change if it was deleted, else after it. */
static void put_done(const struct task *task, const char *id, enum pawl_state to,
                     const struct pawl_jobs *jobs)
{
    struct pawl__cli *cli = task->cli;
    if (cli->json) {
        if (jobs->count) put_job(task, &jobs->at[0]);
        return;
    }
    if (cli->quiet) return;
    const char *state = pawl__cli_state_text(cli, to);
    pawl__buf_printf(&cli->out, "%s %s", id, task->action->past);
    if (task->control != PAWL_CONTROL_NONE && strcasecmp(state, task->action->past) != 0) {
        pawl__buf_printf(&cli->out, ", now %s", state);
    }
    pawl__buf_add_text(&cli->out, "\n");
}

#define CONTROL_BIT(name) (1U << PAWL_CONTROL_##name)

/* Which command does what was probably meant. */
static const struct instead {
    uint32_t controls;
    uint32_t states;
    const char *hint; /* followed by the id */
} insteads[] = {
    { CONTROL_BIT(RETRY) | CONTROL_BIT(PROMOTE), BIT(COMPLETED) | BIT(SKIPPED),
      "to submit it again as a new job: pawl rerun" },
    { CONTROL_BIT(PROMOTE) | CONTROL_BIT(ACTIVATE), BIT(DISCARDED) | BIT(CANCELLED) | BIT(EXPIRED),
      "to run it again: pawl retry" },
    { CONTROL_BIT(RETRY) | CONTROL_BIT(PROMOTE), BIT(PENDING), "to let it run: pawl activate" },
    { CONTROL_BIT(RETRY) | CONTROL_BIT(PROMOTE) | CONTROL_BIT(ACTIVATE), BIT(PAUSED),
      "to put it back where it was: pawl resume" },
    { CONTROL_BIT(NONE), BIT(NONE), // pawl_delete does not return the state
      "only a job that has ended can be deleted; to end it: pawl cancel" },
};

static void hint_promote(const struct task *task, const char *id)
{
    struct pawl_job_id job_id;
    struct pawl_jobs jobs = { 0 };
    struct pawl__buf due = { 0 };
    if (pawl_job_id_parse(id, &job_id) || pawl_get(task->cli->pawl, job_id, &jobs, NULL)) return;
    pawl__cli_put_instant(&due, jobs.at[0].due_at_ms);
    if (due.failed) pawl__cli_nomem();
    pawl__cli_hint("it runs by itself at %.*s; to run it now: pawl promote %s", (int)due.len,
                   due.at, id);
    pawl__buf_release(&due);
    pawl_jobs_release(&jobs);
}

static void hint_instead(const struct task *task, const char *id, enum pawl_state state)
{
    uint32_t control = 1U << task->control;
    for (size_t i = 0; i < sizeof insteads / sizeof *insteads; i++) {
        const struct instead *instead = &insteads[i];
        if (!(instead->controls & control) || !(instead->states & PAWL_STATE_BIT(state))) continue;
        pawl__cli_hint("%s %s", instead->hint, id);
    }
    if ((control & (CONTROL_BIT(RETRY) | CONTROL_BIT(ACTIVATE))) &&
        (PAWL_STATE_BIT(state) & (BIT(SCHEDULED) | BIT(RETRYABLE)))) {
        hint_promote(task, id);
    }
}

static int put_refused(const struct task *task, const char *id, enum pawl_state to,
                       enum pawl_err err, const struct pawl_diag *diag)
{
    struct pawl__cli *cli = task->cli;
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("id", id), PAWL__HERE_TEXT("action", task->action->verb),
                      PAWL__HERE_BOOL("ok", false), PAWL__HERE_TEXT("error", pawl_err_name(err)),
                      PAWL__HERE_TEXT("message", diag->text), PAWL__CLI_STATE_HERE("state", to));
    }
    int code = pawl__cli_flush(cli);
    if (code) return code;
    code = pawl__cli_fail(err, diag);
    if (err == PAWL_ERR_STATE) hint_instead(task, id, to);
    return code;
}

/* "pawl dead" acts on discarded jobs only. */
static enum pawl_err check_only(const struct task *task, const struct pawl_job *job, const char *id,
                                enum pawl_state *to, struct pawl_diag *diag)
{
    if (task->only & PAWL_STATE_BIT(job->state)) return PAWL_OK;
    *to = job->state;
    return pawl__fail(diag, PAWL_ERR_STATE, "cannot %s job \"%s\" here: it is %s",
                      task->action->verb, id, pawl__cli_state_text(task->cli, job->state));
}

static enum pawl_err change(const struct task *task, struct pawl_job_id id, const char *text,
                            enum pawl_state *to, struct pawl_jobs *jobs, struct pawl_diag *diag)
{
    struct pawl *pawl = task->cli->pawl;
    bool forget = task->control == PAWL_CONTROL_NONE;
    enum pawl_err err = PAWL_OK;
    if (task->only != UINT32_MAX || (forget && task->cli->json)) {
        err = pawl_get(pawl, id, jobs, diag);
        if (!err) err = check_only(task, &jobs->at[0], text, to, diag);
        if (err) return err;
    }
    if (forget) return pawl_delete(pawl, id, &task->by, diag);
    err = pawl_control(pawl, id, task->control, &task->by, to, diag);
    if (err || !task->cli->json) return err;
    pawl_jobs_release(jobs);
    (void)!pawl_get(pawl, id, jobs, NULL); // only to show it: the change has been made
    return PAWL_OK;
}

static int do_one(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    const struct task *task = ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    enum pawl_state to = PAWL_STATE_NONE;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    enum pawl_err err = change(task, id, text, &to, &jobs, &diag);
    int code = PAWL__CLI_EXIT_OK;
    if (err) {
        code = put_refused(task, text, to, err, &diag);
    } else {
        put_done(task, text, to, &jobs);
    }
    pawl_jobs_release(&jobs);
    return code;
}

/* ---- by filter ---- */

static void put_bulk(const struct task *task, int64_t matched, int64_t changed)
{
    struct pawl__cli *cli = task->cli;
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("action", task->action->verb),
                      PAWL__HERE_INT("matched", matched), PAWL__HERE_INT("changed", changed));
    } else if (!cli->quiet) {
        pawl__buf_printf(&cli->out, "%s ", task->action->past);
        pawl__cli_put_count(&cli->out, changed, "job");
        pawl__buf_add_text(&cli->out, "\n");
    }
}

static enum pawl_err do_some(const struct task *task, const struct pawl_filter *filter,
                             int64_t limit, int64_t *moved, struct pawl_diag *diag)
{
    struct pawl *pawl = task->cli->pawl;
    if (task->control == PAWL_CONTROL_NONE) {
        return pawl_delete_many(pawl, filter, limit, &task->by, moved, diag);
    }
    return pawl_control_many(pawl, filter, task->control, limit, &task->by, moved, diag);
}

/* At most as many as were counted: jobs that match again after the change would make it endless. */
static int do_counted(const struct task *task, const struct pawl_filter *filter, int64_t count)
{
    struct pawl_diag diag = { 0 };
    struct pawl__cli_bar bar;
    enum pawl_err err = PAWL_OK;
    int64_t done = 0, moved = 1;
    pawl__cli_bar_begin(task->cli, &bar, "jobs", count);
    pawl__cli_calm(true);
    while (!err && moved && done < count && !pawl__cli_interrupted()) {
        int64_t left = count - done;
        pawl__cli_bar_draw(&bar, done, NULL);
        moved = 0;
        err = do_some(task, filter, left < PAWL_BULK_MAX ? left : PAWL_BULK_MAX, &moved, &diag);
        done += moved;
    }
    pawl__cli_bar_end(&bar);
    put_bulk(task, count, done);
    int code = pawl__cli_flush(task->cli);
    if (err) {
        pawl__cli_error("stopped after %" PRId64 " of %" PRId64 " jobs", done, count);
        return pawl__cli_fail(err, &diag);
    }
    if (done < count && pawl__cli_interrupted()) {
        pawl__cli_error("interrupted after %" PRId64 " of %" PRId64 " jobs", done, count);
        return PAWL__CLI_EXIT_INTERRUPTED;
    }
    return code;
}

static int ask(const struct task *task, int64_t count, bool *yes)
{
    struct pawl__buf question = { 0 };
    pawl__buf_printf(&question, "%s ", task->action->verb);
    pawl__cli_put_count(&question, count, "job");
    pawl__buf_add_text(&question, "?");
    if (question.failed) pawl__cli_nomem();
    bool asked = !pawl__cli_flag(task->cli, PAWL__CLI_OPT_YES);
    if (!asked && !task->cli->quiet && !task->cli->json) {
        fprintf(stderr, "%" PRId64 " %s\n", count, count == 1 ? "job matches" : "jobs match");
    }
    int code = pawl__cli_confirm(task->cli, question.at, yes);
    pawl__buf_release(&question);
    if (!code && !*yes) pawl__cli_error("nothing was done");
    return code;
}

static int do_filter(const struct task *task)
{
    struct pawl__cli *cli = task->cli;
    struct pawl_diag diag = { 0 };
    struct pawl_filter filter;
    int64_t count;
    int code = pawl__cli_filter(cli, &filter);
    if (code) return code;
    filter.states = (filter.states ? filter.states : UINT32_MAX) & task->action->states &
                    task->only;
    if (!filter.states) {
        return pawl__cli_usage("jobs in these states cannot be %s", task->action->past);
    }
    code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_count(cli->pawl, &filter, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    bool yes = count == 0;
    if (count) code = ask(task, count, &yes);
    if (code) return code;
    return yes ? do_counted(task, &filter, count) : PAWL__CLI_EXIT_REFUSED;
}

/* ---- either ---- */

int pawl__cli_apply(struct pawl__cli *cli, enum pawl_control control, uint32_t states)
{
    const struct action *action = &actions[control];
    struct task task = { cli, control, action, states ? states : UINT32_MAX, pawl__cli_by(cli) };
    bool filtered = pawl__cli_flag(cli, PAWL__CLI_OPT_ALL_MATCHING);
    if (cli->operands.count && (filtered || pawl__cli_filter_given(cli))) {
        return pawl__cli_usage("give ids or a filter of the jobs to %s, not both", action->verb);
    }
    if (cli->operands.count) return pawl__cli_each_id(cli, cli->operands.count, do_one, &task);
    if (!filtered) {
        pawl__cli_error("no jobs given");
        pawl__cli_hint("give ids, or use --all-matching with a filter");
        return PAWL__CLI_EXIT_USAGE;
    }
    return do_filter(&task);
}

int pawl__cli_control(struct pawl__cli *cli)
{
    return pawl__cli_apply(cli, cli->command->control, 0);
}

int pawl__cli_delete(struct pawl__cli *cli)
{
    return pawl__cli_apply(cli, PAWL_CONTROL_NONE, 0);
}

int pawl__cli_dead_retry(struct pawl__cli *cli)
{
    return pawl__cli_apply(cli, PAWL_CONTROL_RETRY, BIT(DISCARDED));
}

int pawl__cli_dead_delete(struct pawl__cli *cli)
{
    return pawl__cli_apply(cli, PAWL_CONTROL_NONE, BIT(DISCARDED));
}
