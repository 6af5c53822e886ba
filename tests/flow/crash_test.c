/* Processes that work on flows are killed, at any moment: what was stored of each flow is whole,
 * and every flow ends, with the states that it would have had without that.
 *
 * Usage: flow_crash_test            test; prints TAP
 *        flow_crash_test child URL  work until killed; a byte on standard output for each call */
#include "support/ops.h"

#include "base/rng.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 8, CALLS_MAX = 400, CLAIM_MAX = 4, LEASE = 1000, PATIENCE_MS = 60000 };

extern char **environ;

/* ---- flows: one way fails, which is expected ---- */

#define JOB(kind)                                                                                  \
    {                                                                                              \
        .type = (kind), .retry.attempts_max = 10                                                   \
    }

static enum pawl_err submit_flow(struct pawl *pawl, struct pawl_diag *diag)
{
    static const struct pawl_flow_edge a = { .parent = "A", .on = PAWL_FLOW_ON_SUCCESS };
    static const struct pawl_flow_edge c = { .parent = "C", .on = PAWL_FLOW_ON_SUCCESS };
    static const struct pawl_flow_edge not_c = { .parent = "C", .on = PAWL_FLOW_ON_FAILURE };
    static const struct pawl_flow_edge x = { .parent = "X", .on = PAWL_FLOW_ON_SUCCESS };
    static const struct pawl_flow_edge bg[] = { { .parent = "B", .on = PAWL_FLOW_ON_ALWAYS },
                                                { .parent = "G", .on = PAWL_FLOW_ON_SUCCESS } };
    static const struct pawl_flow_edge j = { .parent = "J", .on = PAWL_FLOW_ON_SUCCESS };
    const struct pawl_flow_node nodes[] = {
        { .name = "A", .job = JOB("works") },
        { .name = "B", .job = JOB("works"), .after = &a, .after_count = 1 },
        { .name = "C", .job = JOB("fails"), .after = &a, .after_count = 1, .may_fail = true },
        { .name = "H", .job = JOB("works"), .after = &not_c, .after_count = 1 },
        { .name = "S",
          .job = JOB("works"),
          .after = &c,
          .after_count = 1,
          .on_parent_failure = PAWL_FLOW_PARENT_SKIP },
        { .name = "G", .kind = PAWL_FLOW_KIND_GROUP, .after = &a, .after_count = 1 },
        { .name = "X", .job = JOB("works"), .group = "G" },
        { .name = "Y", .job = JOB("works"), .group = "G", .after = &x, .after_count = 1 },
        { .name = "J", .kind = PAWL_FLOW_KIND_JOIN, .after = bg, .after_count = 2 },
        { .name = "D", .job = JOB("works"), .after = &j, .after_count = 1 },
    };
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = COUNT(nodes) };
    struct pawl_job_id id;
    return pawl_flow_submit(pawl, &spec, &id, diag);
}

static const enum pawl_state expected[] = {
    PAWL_STATE_COMPLETED, PAWL_STATE_COMPLETED, PAWL_STATE_DISCARDED, PAWL_STATE_COMPLETED,
    PAWL_STATE_SKIPPED,   PAWL_STATE_COMPLETED, PAWL_STATE_COMPLETED, PAWL_STATE_COMPLETED,
    PAWL_STATE_COMPLETED, PAWL_STATE_COMPLETED,
};

/* ---- work ---- */

static enum pawl_err end_run(struct pawl *pawl, const struct pawl_job *job, struct pawl_diag *diag)
{
    const struct pawl_run run = { job->id, job->run };
    const struct pawl_report report = { .type = "e", .message = "no", .not_retryable = true };
    return strcmp(job->type, "fails") == 0 ? pawl_fail(pawl, &run, &report, NULL, diag)
                                           : pawl_complete(pawl, &run, span_of("1"), diag);
}

/* How many jobs ran; a run may be over by then. -1: a call failed otherwise. */
static int64_t work(struct pawl *pawl, int tell, struct pawl_diag *diag)
{
    static const char *const queue = "default";
    const struct pawl_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = CLAIM_MAX, .worker = "w", .lease_ms = LEASE
    };
    struct pawl_jobs jobs = { 0 };
    enum pawl_err err = pawl_claim(pawl, &claim, &jobs, diag);
    for (size_t i = 0; !err && i < jobs.count; i++) {
        if (tell >= 0 && write(tell, ".", 1) != 1) _exit(3);
        err = end_run(pawl, &jobs.at[i], diag);
        if (err == PAWL_ERR_STALE) err = PAWL_OK;
    }
    int64_t count = (int64_t)jobs.count;
    pawl_jobs_release(&jobs);
    return err ? -1 : count;
}

static int be_child(const char *url)
{
    const struct pawl_config config = { .store = url, .busy_timeout_ms = 30000 };
    struct pawl *pawl;
    struct pawl_diag diag;
    if (pawl_open(&config, &pawl, &diag)) return 2;
    for (int i = 0;; i++) {
        bool failed = i % 3 == 0 && submit_flow(pawl, &diag);
        if (failed || write(1, ".", 1) != 1) return 3;
        if (work(pawl, 1, &diag) < 0) return 4;
    }
}

/* ---- rounds ---- */

static pid_t start_child(const char *url, int *out)
{
    char *const argv[] = { (char *)"flow_crash_test", (char *)"child", (char *)url, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    assert_int_equal(0, pipe(ends));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    assert_int_equal(0, posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    return pid;
}

static void kill_after(const char *url, uint64_t calls)
{
    int out, status;
    char byte;
    pid_t pid = start_child(url, &out);
    for (uint64_t i = 0; i < calls; i++) {
        assert_int_equal(1, read(out, &byte, 1)); // else it has failed
    }
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFSIGNALED(status));
    close(out);
}

static size_t count_running(struct rig *rig, struct pawl *pawl, size_t *all)
{
    struct pawl_flows flows = { 0 };
    size_t running = 0;
    assert_ok(rig, pawl_flow_list(pawl, NULL, NULL, &flows, &rig->diag));
    *all = flows.count;
    for (size_t i = 0; i < flows.count; i++) {
        running += flows.at[i].state == PAWL_FLOW_RUNNING;
    }
    pawl_flows_release(&flows);
    return running;
}

/* Runs that the killed process had come back when their leases end. */
static void work_off(struct rig *rig, struct pawl *pawl)
{
    struct timespec began, now;
    size_t all;
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (count_running(rig, pawl, &all)) {
        struct pawl_upkeep upkeep;
        assert_ok(rig, pawl_upkeep_turn(pawl, NULL, &upkeep, &rig->diag));
        int64_t count = work(pawl, -1, &rig->diag);
        if (count < 0) fail_msg("%s", rig->diag.text);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec > PATIENCE_MS / 1000) fail_msg("a flow does not end");
        const struct timespec pause = { .tv_nsec = count ? 0 : 20000000 };
        nanosleep(&pause, NULL);
    }
}

static void check_flows(struct rig *rig, struct pawl *pawl)
{
    struct pawl_flows flows = { 0 };
    assert_ok(rig, pawl_flow_list(pawl, NULL, NULL, &flows, &rig->diag));
    for (size_t i = 0; i < flows.count; i++) {
        struct pawl_flow_nodes nodes = { 0 };
        assert_int_equal(PAWL_FLOW_COMPLETED, flows.at[i].state);
        assert_ok(rig, pawl_flow_nodes_get(pawl, flows.at[i].id, &nodes, &rig->diag));
        assert_int_equal(COUNT(expected), nodes.count);
        for (size_t k = 0; k < nodes.count; k++) {
            assert_int_equal(expected[k], nodes.at[k].state);
        }
        pawl_flow_nodes_release(&nodes);
    }
    pawl_flows_release(&flows);
    assert_ok(rig, pawl_check(pawl, NULL, NULL, &rig->diag));
}

static void every_flow_ends_after_a_kill(struct rig *rig)
{
    const struct pawl_config config = { .store = rig->url };
    struct pawl__rng rng;
    const uint64_t seed = 20261119;
    if (!rig->kind->shared) return;
    pawl__rng_seed(&rng, seed);
    size_t all = 0, before = 0;
    for (int64_t i = 0; i < scaled(ROUNDS); i++) {
        struct pawl *pawl;
        kill_after(rig->url, 1 + pawl__rng_below(&rng, CALLS_MAX));
        assert_ok(rig, pawl_open(&config, &pawl, &rig->diag));
        assert_ok(rig, pawl_check(pawl, NULL, NULL, &rig->diag)); // nothing is half done
        work_off(rig, pawl);
        check_flows(rig, pawl);
        (void)count_running(rig, pawl, &all);
        assert_true(all >= before);
        before = all;
        pawl_close(pawl);
    }
    assert_true(all > 0);
}

int main(int argc, char **argv)
{
    static const struct contract_test tests[] = { CONTRACT(every_flow_ends_after_a_kill) };
    if (argc == 3 && strcmp(argv[1], "child") == 0) return be_child(argv[2]);
    return contract_run("flow_crash", tests, COUNT(tests));
}
