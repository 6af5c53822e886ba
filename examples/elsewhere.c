/* External workers: an event loop that claims jobs for them, receives their outcomes, and never
 * waits for the disk. Usage: elsewhere [STORE] */
#include <pawl/pawl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 10 };

/* Takes the place of a socket or a pipe in a program with a real event loop. */
struct loop {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    /* guarded by mutex: */
    struct pawl_answer *answers[JOBS];
    int count;
    bool ready;
};

/* On a thread of the library: only passes the answer on. */
static void answered(struct pawl_answer *taken_answer)
{
    struct loop *loop = taken_answer->ctx;
    pthread_mutex_lock(&loop->mutex);
    loop->answers[loop->count++] = taken_answer;
    pthread_cond_signal(&loop->change);
    pthread_mutex_unlock(&loop->mutex);
}

static void look_again(void *ctx, bool foreign)
{
    struct loop *loop = ctx;
    (void)foreign;
    pthread_mutex_lock(&loop->mutex);
    loop->ready = true;
    pthread_cond_signal(&loop->change);
    pthread_mutex_unlock(&loop->mutex);
}

static void fail_with(const struct pawl_diag *diag)
{
    fprintf(stderr, "%s: %s\n", pawl_err_name(diag->err), diag->text);
    exit(1);
}

static void claim(struct pawl *pawl, struct loop *loop)
{
    static const char *const queues[] = { "default" }; // borrowed until the answer
    struct pawl_diag diag;
    struct pawl_claim claim = { .queues = queues,
                                .queue_count = 1,
                                .worker = "worker-7",
                                .limit = JOBS,
                                .lease_ms = 30000,
                                .timed = true };
    if (pawl_post_claim(pawl, &claim, answered, loop, &diag)) fail_with(&diag);
}

/* A worker has finished the job, as the loop learns from its connection. */
static void complete(struct pawl *pawl, struct loop *loop, const struct pawl_job *job)
{
    struct pawl_diag diag;
    struct pawl_run run = { .id = job->id, .run = job->run };
    struct pawl_span result = { "{\"sent\":true}", 13 };
    if (pawl_post_complete(pawl, &run, result, answered, loop, &diag)) fail_with(&diag);
}

/* Handles an answer, and posts what follows from it; `*claimed` counts the jobs. */
static int handle(struct pawl *pawl, struct loop *loop, struct pawl_answer *answer, int *claimed)
{
    if (answer->err == PAWL_ERR_STALE) return 0; // it took too long, another worker has the job now
    if (answer->err) fail_with(&answer->diag);
    for (size_t i = 0; i < answer->job_count; i++) {
        complete(pawl, loop, &answer->jobs[i]);
    }
    *claimed += (int)answer->job_count;
    return (int)answer->job_count;
}

/* Runs until all jobs have been claimed and completed. */
static void run(struct pawl *pawl, struct loop *loop)
{
    int claimed = 0, under_way = 0;
    bool ready = false;
    while (claimed < JOBS || under_way) {
        pthread_mutex_lock(&loop->mutex);
        while (!loop->ready && !loop->count) {
            pthread_cond_wait(&loop->change, &loop->mutex);
        }
        struct pawl_answer *answer = loop->count ? loop->answers[--loop->count] : NULL;
        ready |= loop->ready;
        loop->ready = false;
        pthread_mutex_unlock(&loop->mutex);
        if (answer) under_way += handle(pawl, loop, answer, &claimed) - 1;
        pawl_answer_free(answer);
        if (ready && !under_way && claimed < JOBS) {
            claim(pawl, loop);
            under_way++;
            ready = false;
        }
    }
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct pawl_node_config node = { .workers = -1 }; // timers and maintenance only
    struct loop loop = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { NULL }, 0, true };
    struct pawl_job_spec specs[JOBS];
    struct pawl_submitted jobs[JOBS];
    struct pawl *pawl = NULL;
    struct pawl_diag diag;

    for (int i = 0; i < JOBS; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "mail.send", .timeout_ms = 60000 };
    }
    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = pawl_watch(pawl, look_again, &loop, &diag);
    if (!err) err = pawl_start(pawl, &node, &diag);
    if (!err) err = pawl_submit_many(pawl, specs, JOBS, jobs, &diag);
    if (err) fail_with(&diag);
    run(pawl, &loop);
    pawl_close(pawl);
    printf("%d jobs were done elsewhere\n", JOBS);
    return 0;
}
