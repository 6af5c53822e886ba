/* A node among others: a gate before its runs, a listener, counters, and a stop in phases.
 * Usage: node [STORE] */
#include <pawl/pawl.h>

#include <stdatomic.h>
#include <stdio.h>

enum { JOBS = 20 };

struct service {
    atomic_int left; /* permits; workers take and give them back at the same time */
    atomic_int turned_away;
    atomic_int completed;
};

/* The gate: a run needs a permit, or is retried a little later, at no cost in attempts. */
static bool take_permit(void *ctx, struct pawl_task *task, int64_t *delay_ms)
{
    struct service *service = ctx;
    (void)task;
    if (atomic_fetch_sub(&service->left, 1) > 0) return true;
    atomic_fetch_add(&service->left, 1);
    atomic_fetch_add(&service->turned_away, 1);
    *delay_ms = 10;
    return false;
}

static void return_permit(void *ctx, struct pawl_task *task, enum pawl_outcome outcome)
{
    struct service *service = ctx;
    (void)task;
    (void)outcome;
    atomic_fetch_add(&service->left, 1);
}

/* Takes its time, unless it is told to stop; a later run continues where this one stopped. */
static enum pawl_outcome work(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    if (!pawl_task_wait(task, 5)) return PAWL_OUTCOME_DONE;
    if (pawl_task_checkpoint(task, (struct pawl_span){ "{\"step\":1}", 10 }, NULL)) {
        // no longer ours: nothing is saved, and nothing needs to be
    }
    return PAWL_OUTCOME_SNOOZE;
}

/* On a thread of its own, after the commit, in order for each job. */
static void hear(void *ctx, const struct pawl_moved *moved)
{
    struct service *service = ctx;
    if (moved->to == PAWL_STATE_COMPLETED) atomic_fetch_add(&service->completed, 1);
}

static enum pawl_err set_up(struct pawl *pawl, struct service *service, struct pawl_diag *diag)
{
    struct pawl_hooks hooks = { .before_run = take_permit,
                                .after_run = return_permit,
                                .ctx = service };
    struct pawl_node_queue queues[] = { { "urgent", 0 }, { "default", 3 } }; // left to right
    struct pawl_node_config node = { .queues = queues, .queue_count = 2, .workers = 4 };
    enum pawl_err err = pawl_hook(pawl, &hooks, diag);
    if (!err) err = pawl_handle(pawl, "work", work, NULL, diag);
    if (!err) err = pawl_listen(pawl, hear, service, diag);
    if (!err) err = pawl_start(pawl, &node, diag);
    return err;
}

static enum pawl_err submit(struct pawl *pawl, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < JOBS; i++) {
        struct pawl_job_spec spec = { .type = "work", .queue = i % 5 ? "default" : "urgent" };
        struct pawl_submitted job;
        err = pawl_submit(pawl, &spec, &job, diag);
    }
    return err;
}

static void tell(struct pawl *pawl)
{
    struct pawl_counters counters;
    pawl_counters_get(pawl, &counters);
    printf("%d claimed, %d completed; half of the runs took less than %d us\n",
           (int)counters.claimed, (int)counters.completed,
           (int)pawl_histogram_quantile(&counters.run_us, 0.5));
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct service service = { .left = 2 };
    struct pawl *pawl = NULL;
    struct pawl_diag diag;

    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = set_up(pawl, &service, &diag);
    if (!err) err = submit(pawl, &diag);
    if (err) fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
    if (!err && pawl_idle(pawl, 60000, 60000)) {
        struct pawl_drain drain = { .finish_ms = 2000, .cancel_ms = 1000 };
        int64_t given_back = 0;
        pawl_stop(pawl, &drain, &given_back);
        tell(pawl);
    }
    pawl_close(pawl); // all moves have been reported when it returns
    printf("%d heard, %d times turned away\n", (int)service.completed, (int)service.turned_away);
    return err || service.completed != JOBS || service.left != 2;
}
