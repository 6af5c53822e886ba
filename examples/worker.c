/* Runs jobs: two handlers, a node with two threads, three jobs; prints their final states. Usage:
 * worker [STORE] */
#include <pawl/pawl.h>

#include <stdio.h>

/* Says hello to its first argument, and leaves the greeting as its result. */
static enum pawl_outcome greet(struct pawl_task *task, void *ctx)
{
    const struct pawl_job *job = pawl_task_job(task);
    char json[300];
    (void)ctx;
    pawl_task_log(task, 1, "greeting %.*s", (int)job->args.len, job->args.at);
    int len = snprintf(json, sizeof json, "{\"hello\": %.*s}", (int)job->args.len, job->args.at);
    if (len >= (int)sizeof json ||
        pawl_task_result(task, (struct pawl_span){ json, (size_t)len })) {
        pawl_task_error(task, "too.long", (struct pawl_span){ NULL, 0 }, "nobody is called that");
        return PAWL_OUTCOME_DISCARD; // it will not get any shorter
    }
    return PAWL_OUTCOME_DONE;
}

/* Fails twice. A real handler would call pawl_task_cancelled(task) between its steps, and return
 * when told to. */
static enum pawl_outcome fetch(struct pawl_task *task, void *ctx)
{
    const struct pawl_job *job = pawl_task_job(task);
    int *calls = ctx; // one job of this type at a time, or it would need a lock
    ++*calls;
    if (job->attempt < 3) {
        pawl_task_error(task, "net.timeout", (struct pawl_span){ NULL, 0 }, "no answer");
        return PAWL_OUTCOME_RETRY; // after a while, as the job's policy says
    }
    return pawl_task_progress(task, 1, "fetched") ? PAWL_OUTCOME_RETRY : PAWL_OUTCOME_DONE;
}

static enum pawl_err run(struct pawl *pawl, struct pawl_submitted jobs[3], int *calls,
                         struct pawl_diag *diag)
{
    struct pawl_node_config node = { .workers = 2 }; // of the queue "default"
    const struct pawl_job_spec specs[3] = {
        { .type = "greet", .args = { "[\"ann\"]", 7 } },
        { .type = "fetch", .timeout_ms = 5000, .retry = { .attempts_max = 5, .initial_ms = 20 } },
        { .type = "greet", .args = { "[\"bob\"]", 7 }, .delay_ms = 100 },
    };
    enum pawl_err err = pawl_handle(pawl, "greet", greet, NULL, diag);
    if (!err) err = pawl_handle(pawl, "fetch", fetch, calls, diag);
    if (!err) err = pawl_start(pawl, &node, diag);
    if (!err) err = pawl_submit_many(pawl, specs, 3, jobs, diag);
    if (!err && !pawl_idle(pawl, 60000, 60000)) fprintf(stderr, "there is still something to do\n");
    pawl_stop(pawl, NULL, NULL); // handlers may finish; what waits is left for the next start
    return err;
}

/* How many of the jobs have been completed. */
static int show(struct pawl *pawl, const struct pawl_submitted jobs[3])
{
    int completed = 0;
    for (int i = 0; i < 3; i++) {
        struct pawl_jobs found = { 0 };
        if (!pawl_get(pawl, jobs[i].id, &found, NULL)) {
            const struct pawl_job *job = &found.at[0];
            printf("%s: %s at attempt %d%s%.*s\n", job->type,
                   pawl_state_name(job->state, PAWL_VOCABULARY_PAWL), (int)job->attempt,
                   job->result.len ? ", " : "", (int)job->result.len, job->result.at);
            completed += job->state == PAWL_STATE_COMPLETED;
        }
        pawl_jobs_release(&found);
    }
    return completed;
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct pawl_submitted jobs[3];
    struct pawl *pawl = NULL;
    struct pawl_diag diag;
    int calls = 0, completed = 0;

    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = run(pawl, jobs, &calls, &diag);
    if (!err) completed = show(pawl, jobs);
    pawl_close(pawl);
    if (err) fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
    return err || completed != 3 || calls != 3;
}
