/* Owns runs, and is a node, for tests of what SQL does beside it. One command a line, one answer:
 *
 *     claim QUEUE WORKER   "ID RUN", or "none"
 *     complete ID RUN      "OK", or the error's name
 *     fail ID RUN TYPE CODE MESSAGE   the name of the state that follows; "-" is nothing
 *     give_back ID RUN MS  as complete
 *     work TYPE QUEUE      "OK"; from then on "ran ID" for each job. It polls once an hour, so it
 *                          knows what it was told
 *
 * Usage: guest URL */
#include <pawl/pawl.h>

#include <stdio.h>
#include <string.h>

static void answer(enum pawl_err err)
{
    printf("%s\n", pawl_err_name(err));
}

static void claim(struct pawl *pawl, const char *queue, const char *worker)
{
    struct pawl_jobs jobs = { .at = NULL };
    enum pawl_err err = pawl_claim(
        pawl, &(struct pawl_claim){ .queues = &queue, .queue_count = 1, .worker = worker }, &jobs,
        NULL);
    if (err) {
        answer(err);
    } else if (!jobs.count) {
        printf("none\n");
    } else {
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(jobs.at[0].id, text);
        printf("%s %lld\n", text, (long long)jobs.at[0].run);
    }
    pawl_jobs_release(&jobs);
}

static void complete(struct pawl *pawl, const char *id, long long number)
{
    struct pawl_run run = { .run = number };
    enum pawl_err err = pawl_job_id_parse(id, &run.id);
    if (!err) err = pawl_complete(pawl, &run, (struct pawl_span){ 0 }, NULL);
    answer(err);
}

static const char *some(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : text;
}

static void fail(struct pawl *pawl, const char *line)
{
    struct pawl_run run;
    struct pawl_failed failed;
    char id[128], type[128], code[128], message[128];
    long long number;
    if (sscanf(line, "fail %127s %lld %127s %127s %127s", id, &number, type, code, message) != 5 ||
        pawl_job_id_parse(id, &run.id)) {
        printf("what?\n");
        return;
    }
    run.run = number;
    struct pawl_report report = { .type = some(type),
                                  .code = some(code),
                                  .message = some(message) };
    enum pawl_err err = pawl_fail(pawl, &run, &report, &failed, NULL);
    if (err) {
        answer(err);
    } else {
        printf("%s\n", pawl_state_name(failed.to, PAWL_VOCABULARY_PAWL));
    }
}

static void give_back(struct pawl *pawl, const char *id, long long number, long long delay_ms)
{
    struct pawl_run run = { .run = number };
    enum pawl_err err = pawl_job_id_parse(id, &run.id);
    if (!err) err = pawl_give_back(pawl, &run, delay_ms, NULL);
    answer(err);
}

static enum pawl_outcome ran(struct pawl_task *task, void *ctx)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(pawl_task_job(task)->id, text);
    printf("ran %s\n", text);
    fflush(stdout);
    return PAWL_OUTCOME_DONE;
}

static void work(struct pawl *pawl, const char *type, const char *queue)
{
    const int64_t hour_ms = 3600000;
    struct pawl_node_queue queues[] = { { .name = queue } };
    struct pawl_node_config config = { .queues = queues,
                                       .queue_count = 1,
                                       .workers = 1,
                                       .poll_min_ms = hour_ms,
                                       .poll_max_ms = hour_ms };
    enum pawl_err err = pawl_handle(pawl, type, ran, NULL, NULL);
    answer(err ? err : pawl_start(pawl, &config, NULL));
}

int main(int argc, char **argv)
{
    struct pawl *pawl;
    struct pawl_diag diag;
    char line[512], first[128], second[128];
    if (argc != 2) return 2;
    if (pawl_open(&(struct pawl_config){ .store = argv[1] }, &pawl, &diag)) {
        fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        long long number, delay_ms;
        if (sscanf(line, "claim %127s %127s", first, second) == 2) {
            claim(pawl, first, second);
        } else if (sscanf(line, "complete %127s %lld", first, &number) == 2) {
            complete(pawl, first, number);
        } else if (sscanf(line, "give_back %127s %lld %lld", first, &number, &delay_ms) == 3) {
            give_back(pawl, first, number, delay_ms);
        } else if (strncmp(line, "fail ", 5) == 0) {
            fail(pawl, line);
        } else if (sscanf(line, "work %127s %127s", first, second) == 2) {
            work(pawl, first, second);
        } else {
            printf("what?\n");
        }
        fflush(stdout);
    }
    pawl_stop(pawl, NULL, NULL);
    pawl_close(pawl);
    return 0;
}
