/* Two processes on one store: a job submitted by one starts at once in the other. This program is
 * both: with --worker it is the node, which reports on a pipe when its handler starts. Both read
 * clocks that all processes share.
 *
 * A single job may be late on a busy machine, so only most of them must be in time. Whether a job
 * was found by a notice is taken from the counters of the node. */
#include "base/clock.h"
#include "support/rig.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pawl/pawl.h>

enum {
    TICKS_FULL = 100,
    MEDIAN_US_MAX = 100000, /* a safety poll would take longer */
    DUE_COUNT = 9,
    DUE_IN_MS = 300,
    DUE_LATE_MS_MAX = 10000, /* for any one: without a notice it is looked for after 30 s */
    GIVE_UP_MS = 60000
};

struct report {
    int64_t number;
    int64_t mono_us, wall_ms; /* when the handler began */
    int64_t wakes;            /* of the node by other processes, so far */
};

struct node {
    struct pawl *pawl;
    int out_fd;
};

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

/* ---- the node ---- */

static enum pawl_outcome tick(struct pawl_task *task, void *ctx)
{
    const struct node *node = ctx;
    struct pawl_counters counters;
    struct report report = { .mono_us = now_us(),
                             .wall_ms = pawl__clock_wall_ms(&pawl__clock_system) };
    const struct pawl_job *job = pawl_task_job(task);
    report.number = strtoll(job->args.at + 1, NULL, 10);
    pawl_counters_get(node->pawl, &counters);
    report.wakes = counters.wakes_foreign;
    ssize_t wrote = write(node->out_fd, &report, sizeof report);
    return wrote == (ssize_t)sizeof report ? PAWL_OUTCOME_DONE : PAWL_OUTCOME_DISCARD;
}

static atomic_bool chattering;

/* Has something to tell to others all the time, and nothing that itself would wake for. */
static void *chatter(void *arg)
{
    struct pawl *pawl = arg;
    while (chattering) {
        struct pawl_job_spec spec = { .type = "later", .delay_ms = 3600000 };
        struct pawl_submitted out;
        if (pawl_submit(pawl, &spec, &out, NULL)) break;
    }
    return NULL;
}

/* Until its standard input ends. */
static int be_worker(const char *url, int out_fd, bool chatty)
{
    struct pawl_config config = { .store = url, .durability = PAWL_DURABILITY_RELAXED };
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    struct pawl_node_config how = { .name = "worker", .workers = 2 };
    pthread_t thread;
    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    struct node node = { .pawl = pawl, .out_fd = out_fd };
    if (!err) err = pawl_handle(pawl, "tick", tick, &node, &diag);
    if (!err) err = pawl_start(pawl, &how, &diag);
    if (err) {
        fprintf(stderr, "worker: %s\n", diag.text);
        return 1;
    }
    chattering = chatty;
    if (chatty && pthread_create(&thread, NULL, chatter, pawl) != 0) return 1;
    struct report ready = { .number = -1 };
    if (write(out_fd, &ready, sizeof ready) != (ssize_t)sizeof ready) return 1;
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    chattering = false;
    if (chatty) pthread_join(thread, NULL);
    pawl_stop(pawl, NULL, NULL);
    pawl_close(pawl);
    return 0;
}

/* ---- the other one ---- */

struct pair {
    const struct store_kind *kind;
    char url[RIG_URL_BYTES];
    struct pawl *pawl;
    pid_t child;
    int to_child, from_child;
};

static struct report next_report(struct pair *pair)
{
    struct report report = { 0 };
    struct pollfd fd = { .fd = pair->from_child, .events = POLLIN };
    assert_int_equal(poll(&fd, 1, GIVE_UP_MS), 1);
    assert_int_equal(read(pair->from_child, &report, sizeof report), (int)sizeof report);
    return report;
}

static void exec_worker(const struct pair *pair, int in_fd, int out_fd, bool chatty)
{
    char number[16];
    dup2(in_fd, STDIN_FILENO);
    snprintf(number, sizeof number, "%d", out_fd);
    execl("/proc/self/exe", "wake", "--worker", pair->url, number, chatty ? "chatty" : "quiet",
          (char *)NULL);
    _exit(127);
}

static void pair_open(struct pair *pair, bool chatty)
{
    struct pawl_diag diag = { 0 };
    int in[2], out[2];
    *pair = (struct pair){ .child = -1, .kind = store_kind_shared() };
    pair->kind->make(pair->url, sizeof pair->url);
    struct pawl_config config = { .store = pair->url, .durability = PAWL_DURABILITY_RELAXED };
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    pair->child = fork();
    assert_true(pair->child >= 0);
    if (pair->child == 0) {
        close(in[1]);
        close(out[0]);
        exec_worker(pair, in[0], out[1], chatty);
    }
    close(in[0]);
    close(out[1]);
    pair->to_child = in[1];
    pair->from_child = out[0];
    assert_int_equal(next_report(pair).number, -1); // it has started
    if (pawl_open(&config, &pair->pawl, &diag)) fail_msg("%s", diag.text);
}

static void pair_close(struct pair *pair)
{
    int status;
    close(pair->to_child);
    assert_int_equal(waitpid(pair->child, &status, 0), pair->child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(pair->from_child);
    pawl_close(pair->pawl);
    pair->kind->dispose(pair->url);
}

static void submit_tick(struct pair *pair, int64_t number, int64_t due_at_ms)
{
    char args[32];
    int len = snprintf(args, sizeof args, "[%" PRId64 "]", number);
    struct pawl_job_spec spec = { .type = "tick",
                                  .args = { args, (size_t)len },
                                  .due_at_ms = due_at_ms };
    struct pawl_submitted out;
    struct pawl_diag diag = { 0 };
    if (pawl_submit(pair->pawl, &spec, &out, &diag)) fail_msg("%s", diag.text);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void judge(const char *what, int64_t *late_us, size_t count)
{
    qsort(late_us, count, sizeof *late_us, by_value);
    print_message("# %s: median %" PRId64 " us, 90 %% %" PRId64 " us, worst %" PRId64 " us\n", what,
                  late_us[count / 2], late_us[count * 9 / 10], late_us[count - 1]);
    assert_true(late_us[count / 2] < MEDIAN_US_MAX);
}

/* Each waits for the one before, so the node is idle each time. From before the submit, so its
 * commit counts too. A poll may be faster than a notice, on a busy machine often: one in ten of
 * the jobs must have been found by one. */
static void submit_and_measure(struct pair *pair, const char *what)
{
    int64_t late_us[TICKS_FULL];
    int64_t count = scaled(TICKS_FULL), wakes = 0, woken = 0;
    if (count < 10) count = 10;
    if (count > TICKS_FULL) count = TICKS_FULL;
    for (int64_t i = 0; i < count; i++) {
        int64_t from_us = now_us();
        submit_tick(pair, i, 0);
        struct report report = next_report(pair);
        assert_int_equal(report.number, i);
        late_us[i] = report.mono_us - from_us;
        assert_true(late_us[i] > 0);
        woken += report.wakes > wakes;
        wakes = report.wakes;
    }
    assert_true(woken >= count / 10);
    judge(what, late_us, (size_t)count);
}

static void submit_in_one_process_starts_work_in_another(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, false);
    submit_and_measure(&pair, "submit until begun");
    pair_close(&pair);
}

/* It must not take another's word for its own. */
static void node_that_tells_much_itself_still_hears(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, true);
    submit_and_measure(&pair, "beside its own chatter");
    pair_close(&pair);
}

static void job_scheduled_by_another_process_starts_when_it_is_due(void **state)
{
    struct pair pair;
    int64_t late_us[DUE_COUNT];
    (void)state;
    pair_open(&pair, false);
    for (int64_t i = 0; i < DUE_COUNT; i++) {
        int64_t due_at_ms = pawl__clock_wall_ms(&pawl__clock_system) + DUE_IN_MS;
        submit_tick(&pair, i, due_at_ms);
        struct report report = next_report(&pair);
        assert_int_equal(report.number, i);
        int64_t late_ms = report.wall_ms - due_at_ms;
        if (late_ms < 0) fail_msg("%" PRId64 " ms too soon", -late_ms);
        late_us[i] = late_ms * 1000;
    }
    judge("due until begun", late_us, DUE_COUNT);
    assert_true(late_us[DUE_COUNT - 1] < DUE_LATE_MS_MAX * INT64_C(1000));
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return be_worker(argv[2], (int)strtol(argv[3], NULL, 10), argv[4][0] == 'c');
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submit_in_one_process_starts_work_in_another),
        cmocka_unit_test(node_that_tells_much_itself_still_hears),
        cmocka_unit_test(job_scheduled_by_another_process_starts_when_it_is_due),
    };
    return cmocka_run_group_tests_name("engine_wake", tests, NULL, NULL);
}
