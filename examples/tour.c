/* A tour of the C API, one topic per function; docs/embedding.md quotes from it. Usage: tour
 * [STORE]. Prints the results, and exits with 1 at the first surprise. */
#include <pawl/pawl.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Errors of the library are returned; an unexpected result ends the program here. */
static void expect(bool seen, const char *what)
{
    if (seen) return;
    fprintf(stderr, "tour: %s\n", what);
    exit(1);
}

/* ---- opening ---- */

static enum pawl_err open_store(const char *url, struct pawl **out, struct pawl_diag *diag)
{
    struct pawl_config config = {
        .store = url,            // NULL: "sqlite:pawl.db"
        .busy_timeout_ms = 5000, // zero: 30 seconds
    };
    return pawl_open(&config, out, diag);
}

/* ---- submitting ---- */

static struct pawl_span text(const char *json)
{
    return (struct pawl_span){ .at = json, .len = strlen(json) };
}

static enum pawl_err submit_one(struct pawl *pawl, struct pawl_submitted *job,
                                struct pawl_diag *diag)
{
    const char *const tags[] = { "vip" };
    struct pawl_job_spec spec = {
        .type = "mail.send",
        .queue = "mail",
        .args = text("[\"ann@example.com\", {\"template\": \"welcome\"}]"),
        .tags = tags,
        .tag_count = 1,
        .priority = 10,
        .timeout_ms = 30000,
        .retry = { .attempts_max = 5, .initial_ms = 2000 },
    };
    return pawl_submit(pawl, &spec, job, diag);
}

enum { IMAGES = 250 };

static enum pawl_err submit_many(struct pawl *pawl, struct pawl_diag *diag)
{
    static struct pawl_submitted jobs[IMAGES];
    struct pawl_job_spec specs[IMAGES];
    char args[IMAGES][16];
    for (int i = 0; i < IMAGES; i++) {
        snprintf(args[i], sizeof args[i], "[%d]", i);
        specs[i] =
            (struct pawl_job_spec){ .type = "resize", .queue = "images", .args = text(args[i]) };
    }
    return pawl_submit_many(pawl, specs, IMAGES, jobs, diag); // one commit: all or none
}

/* ---- keys ---- */

static enum pawl_err pay_once(struct pawl *pawl, struct pawl_submitted *job, struct pawl_diag *diag)
{
    struct pawl_job_spec spec = { .type = "invoice.pay", .idempotency_key = "invoice-1001" };
    return pawl_submit(pawl, &spec, job, diag);
}

static enum pawl_err see_idempotency(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_submitted first, again;
    enum pawl_err err = pay_once(pawl, &first, diag);
    if (!err) err = pay_once(pawl, &again, diag);
    if (err) return err;
    expect(again.deduplicated, "the second must be reported as a repeat");
    expect(memcmp(&first.id, &again.id, sizeof first.id) == 0, "and return the first one's id");
    return PAWL_OK;
}

static enum pawl_err see_business_key(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_job_spec spec = { .type = "order.ship", .business_key = "order-77" };
    struct pawl_submitted job;
    enum pawl_err err = pawl_submit(pawl, &spec, &job, diag);
    if (err) return err;
    err = pawl_submit(pawl, &spec, &job, diag);
    expect(err == PAWL_ERR_DUPLICATE, "a live job has this key");
    printf("refused: %s\n", diag->text);
    return PAWL_OK;
}

static enum pawl_err see_unique(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_job_spec spec = {
        .type = "report.build",
        .args = text("[\"2030-01\"]"),
        .delay_ms = 60000,
        .unique = { .keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS,
                    .on_conflict = PAWL_CONFLICT_REPLACE },
    };
    struct pawl_submitted job;
    enum pawl_err err = pawl_submit(pawl, &spec, &job, diag);
    if (!err) err = pawl_submit(pawl, &spec, &job, diag); // the first one is cancelled
    if (!err) expect(job.replaced, "the newer one must have replaced the older");
    return err;
}

/* ---- control ---- */

static enum pawl_err stop_and_go(struct pawl *pawl, struct pawl_job_id id, struct pawl_diag *diag)
{
    struct pawl_by by = { .actor = "tour", .reason = "address is being checked" };
    enum pawl_state state;
    enum pawl_err err = pawl_control(pawl, id, PAWL_CONTROL_PAUSE, &by, &state, diag);
    if (!err) err = pawl_control(pawl, id, PAWL_CONTROL_RESUME, &by, &state, diag);
    if (err) return err;
    err = pawl_control(pawl, id, PAWL_CONTROL_RESUME, &by, &state, diag);
    expect(err == PAWL_ERR_STATE, "a job that is not paused cannot be resumed");
    expect(state == PAWL_STATE_AVAILABLE, "the state is returned all the same");
    return PAWL_OK;
}

static enum pawl_err cancel_images(struct pawl *pawl, int64_t *cancelled, struct pawl_diag *diag)
{
    const char *const queues[] = { "images" };
    struct pawl_filter filter = { .queues = queues, .queue_count = 1 };
    int64_t moved;
    *cancelled = 0;
    do {
        enum pawl_err err =
            pawl_control_many(pawl, &filter, PAWL_CONTROL_CANCEL, 100, NULL, &moved, diag);
        if (err) return err;
        *cancelled += moved;
    } while (moved);
    return PAWL_OK;
}

/* ---- looking ---- */

static enum pawl_err count_by_pages(struct pawl *pawl, size_t *seen, struct pawl_diag *diag)
{
    const char *const queues[] = { "images" };
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE),
                                  .queues = queues,
                                  .queue_count = 1 };
    char cursor[PAWL_CURSOR_BYTES] = ""; // "": the first page
    *seen = 0;
    do {
        struct pawl_page page = { .limit = 100, .oldest_first = true, .cursor = cursor };
        struct pawl_jobs jobs = { 0 };
        enum pawl_err err = pawl_query(pawl, &filter, &page, &jobs, diag);
        if (err) return err;
        *seen += jobs.count; // jobs.at[0] to jobs.at[jobs.count - 1]
        memcpy(cursor, jobs.next, sizeof cursor);
        pawl_jobs_release(&jobs);
    } while (cursor[0]);
    return PAWL_OK;
}

static enum pawl_err tell_story(struct pawl *pawl, struct pawl_job_id id, struct pawl_diag *diag)
{
    struct pawl_story story = { 0 };
    enum pawl_err err = pawl_story_get(pawl, id, &story, diag);
    if (err) return err;
    printf("%s with %.*s is %s\n", story.job.type, (int)story.job.args.len, story.job.args.at,
           pawl_state_name(story.job.state, PAWL_VOCABULARY_PAWL));
    for (size_t i = 0; i < story.audit_count; i++) {
        printf("  %s by %s: %s\n", story.audit[i].action, story.audit[i].actor,
               story.audit[i].reason);
    }
    expect(story.audit_count == 2, "every action is recorded");
    pawl_story_release(&story);
    return PAWL_OK;
}

/* ---- errors ---- */

static void see_errors(struct pawl *pawl)
{
    struct pawl_job_spec spec = { .type = "mail.send", .args = text("{\"to\": 1}") };
    struct pawl_submitted job;
    struct pawl_diag diag;
    enum pawl_err err = pawl_submit(pawl, &spec, &job, &diag);
    if (err) printf("%s, field \"%s\": %s\n", pawl_err_name(err), diag.field, diag.text);
    expect(err == PAWL_ERR_ARG && strcmp(diag.field, "args") == 0, "args must be an array");
}

/* ---- threads ---- */

enum { THREADS = 4, JOBS_PER_THREAD = 25 };

static void *submit_some(void *arg)
{
    struct pawl *pawl = arg; // shared: no lock is needed
    for (int i = 0; i < JOBS_PER_THREAD; i++) {
        struct pawl_submitted job;
        if (pawl_submit(pawl, &(struct pawl_job_spec){ .type = "ping" }, &job, NULL)) return arg;
    }
    return NULL;
}

static enum pawl_err share(struct pawl *pawl, struct pawl_diag *diag)
{
    const char *const types[] = { "ping" };
    pthread_t threads[THREADS];
    int64_t count;
    for (int i = 0; i < THREADS; i++) {
        expect(pthread_create(&threads[i], NULL, submit_some, pawl) == 0, "no thread to be had");
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        expect(pthread_join(threads[i], &failed) == 0 && !failed, "a submit failed");
    }
    enum pawl_err err =
        pawl_count(pawl, &(struct pawl_filter){ .types = types, .type_count = 1 }, &count, diag);
    if (!err) expect(count == THREADS * JOBS_PER_THREAD, "every answered job is there");
    return err;
}

/* ---- upkeep ---- */

static enum pawl_err keep_up(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_retention retention = { .archive_after_ms = 86400000, .purge_after_ms = -1 };
    struct pawl_upkeep did;
    do { // each turn is bounded, so that others do not wait long
        enum pawl_err err = pawl_upkeep_turn(pawl, &retention, &did, diag);
        if (err) return err;
    } while (did.more);
    return PAWL_OK;
}

/* ---- the walk ---- */

static enum pawl_err walk(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_submitted job;
    size_t waiting = 0;
    int64_t cancelled = 0;
    enum pawl_err err = submit_one(pawl, &job, diag);
    if (!err) err = submit_many(pawl, diag);
    if (!err) err = see_idempotency(pawl, diag);
    if (!err) err = see_business_key(pawl, diag);
    if (!err) err = see_unique(pawl, diag);
    if (!err) err = stop_and_go(pawl, job.id, diag);
    if (!err) err = tell_story(pawl, job.id, diag);
    if (!err) err = count_by_pages(pawl, &waiting, diag);
    if (!err) err = cancel_images(pawl, &cancelled, diag);
    if (!err) err = share(pawl, diag);
    if (!err) err = keep_up(pawl, diag);
    if (err) return err;
    see_errors(pawl);
    printf("%zu images waited, %" PRId64 " were cancelled\n", waiting, cancelled);
    expect(waiting == IMAGES && cancelled == IMAGES, "all of them");
    return PAWL_OK;
}

int main(int argc, char **argv)
{
    struct pawl *pawl = NULL;
    struct pawl_diag diag;
    enum pawl_err err = open_store(argc > 1 ? argv[1] : "sqlite::memory:", &pawl, &diag);
    if (!err) err = walk(pawl, &diag);
    if (err) fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
    pawl_close(pawl);
    return err ? 1 : 0;
}
