/* pawl wait: waits until jobs have ended.
 *
 * It polls, because stores notify other processes only of jobs that can be claimed, not of ends.
 * The interval grows while nothing happens: the end of a short job is seen soon, and a long one
 * costs one read a second. Nothing is changed, so Ctrl-C may end it at any time. */
#include "cli/cli.h"
#include "base/clock.h"

#include <time.h>

enum { PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 1000 };

struct wait {
    struct pawl__cli *cli;
    struct pawl_job_id *ids; /* of jobs that have not ended */
    size_t count;
    int worst;
};

static int64_t mono_ms(void)
{
    return pawl__clock_mono_us(&pawl__clock_system) / 1000;
}

static void pause_for(int64_t ms)
{
    struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&left, NULL);
}

/* ---- a job that has ended ---- */

/* The failure of the newest run, unless the job succeeded. */
static const struct pawl_failure *last_failure(const struct pawl_story *story)
{
    if (!story->failure_count || pawl_state_is_successful(story->job.state)) return NULL;
    const struct pawl_failure *last = &story->failures[story->failure_count - 1];
    return last->run == story->job.run ? last : NULL;
}

static void put_json(struct pawl__cli *cli, const struct pawl_story *story)
{
    const struct pawl_failure *failure = last_failure(story);
    struct pawl__member error = { .name = "error",
                                  .kind = failure ? PAWL__AS_ONE : PAWL__AS_NOTHING,
                                  .at = failure,
                                  .shape = &pawl__cli_error_shape,
                                  .flags = PAWL__ALWAYS };
    PAWL__CLI_PUT(cli, PAWL__PART(&pawl__cli_job_shape, &story->job), error);
}

static void put_line(struct pawl__cli *cli, const struct pawl_story *story)
{
    const struct pawl_job *job = &story->job;
    const struct pawl_failure *failure = last_failure(story);
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    pawl__buf_printf(&cli->out, "%s %s%s%s", id, pawl__cli_state_colour(cli, job->state),
                     pawl__cli_state_text(cli, job->state), pawl__cli_plain(cli));
    if (job->result.len) {
        pawl__buf_add_text(&cli->out, " ");
        pawl__cli_put_long(cli, job->result);
    }
    if (failure) {
        pawl__cli_put_text(&cli->out, ": ", failure->type);
        pawl__cli_put_text(&cli->out, ": ", failure->message);
    } else {
        pawl__cli_put_text(&cli->out, ": ", job->reason);
    }
    pawl__buf_add_text(&cli->out, "\n");
}

static enum pawl_err put_ended(struct wait *wait, struct pawl_job_id id, struct pawl_diag *diag)
{
    struct pawl_story story = { 0 };
    enum pawl_err err = pawl_story_get(wait->cli->pawl, id, &story, diag);
    if (!err) {
        (wait->cli->json ? put_json : put_line)(wait->cli, &story);
        if (!pawl_state_is_successful(story.job.state)) wait->worst = PAWL__CLI_EXIT_REFUSED;
    }
    pawl_story_release(&story);
    return err;
}

/* ---- all of them ---- */

static enum pawl_err check(struct wait *wait, struct pawl_job_id id, bool *ended,
                           struct pawl_diag *diag)
{
    struct pawl_jobs jobs = { 0 };
    enum pawl_err err = pawl_get(wait->cli->pawl, id, &jobs, diag);
    *ended = !err && pawl_state_is_terminal(jobs.at[0].state);
    pawl_jobs_release(&jobs);
    return *ended ? put_ended(wait, id, diag) : err;
}

/* Keeps the ids of jobs that have not ended. A job that does not exist is not waited for. */
static int poll_once(struct wait *wait)
{
    size_t kept = 0;
    for (size_t i = 0; i < wait->count; i++) {
        struct pawl_diag diag = { 0 };
        bool ended = false;
        enum pawl_err err = check(wait, wait->ids[i], &ended, &diag);
        int code = pawl__cli_flush(wait->cli);
        if (!code && err) code = pawl__cli_fail(err, &diag);
        if (code > PAWL__CLI_EXIT_REFUSED) return code; // the store failed
        if (code) wait->worst = code;
        if (!err && !ended) wait->ids[kept++] = wait->ids[i];
    }
    wait->count = kept;
    return PAWL__CLI_EXIT_OK;
}

static int timed_out(const struct wait *wait)
{
    if (!wait->cli->quiet) {
        pawl__cli_error("%zu of %zu jobs had not ended in time", wait->count,
                        wait->cli->operands.count);
    }
    return PAWL__CLI_EXIT_TIMEOUT;
}

int pawl__cli_wait(struct pawl__cli *cli)
{
    struct wait wait = { .cli = cli, .count = cli->operands.count };
    int code = pawl__cli_ids(cli, wait.count, &wait.ids);
    if (code) return code;
    bool timed = pawl__cli_has(cli, PAWL__CLI_OPT_WAIT_TIMEOUT);
    int64_t until_ms = mono_ms() + pawl__cli_duration(cli, PAWL__CLI_OPT_WAIT_TIMEOUT);
    for (int64_t pause_ms = PAUSE_MIN_MS;;) {
        size_t before = wait.count;
        code = poll_once(&wait);
        if (code || !wait.count) return code ? code : wait.worst;
        if (wait.count < before) pause_ms = PAUSE_MIN_MS;
        int64_t left_ms = until_ms - mono_ms();
        if (timed && left_ms <= 0) return timed_out(&wait);
        pause_for(timed && left_ms < pause_ms ? left_ms : pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}
