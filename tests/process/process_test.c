/* Several processes on one file: one writes batches of a thousand without pause, the others submit,
 * claim and complete one job at a time. No process gets an error or starves, and the totals are
 * exact. For a single run: process_test --seed N --ms N. */
#include "crash/kit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum {
    CLIENTS = 4,
    BATCH = 1000,
    RUN_MS = 3000, /* at full scale */
    RUN_MS_LEAST = 400,
    LATENCY_US_MAX = 5 * 1000000,
    TURN_MS_MAX = 1500 /* on average, however busy the machine is */
};

enum role { ROLE_HAMMER, ROLE_CLIENT };

/* What a process says when it is done. */
struct account {
    int64_t submitted, claimed, completed, turns, latency_us_max;
    int32_t err; /* of the first operation that failed */
    char text[200];
};

struct member {
    enum role role;
    uint32_t number;
    pid_t pid;
    int fd;
    struct account account;
};

static uint64_t seed;
static int64_t run_ms;
static const char *program;

/* ---- a member of the fleet ---- */

struct life {
    struct pawl__store *store;
    struct kit_retry retry;
    struct account account;
    uint32_t number;
    uint64_t jobs;
    struct pawl_job_spec specs[BATCH];
    struct pawl__new_job new_jobs[BATCH];
    struct pawl_submitted submitted[BATCH];
};

static bool act(struct life *life, struct pawl__op *op)
{
    struct pawl_diag diag = { 0 };
    op->diag = &diag;
    int64_t began_us = kit_mono_us();
    enum pawl_err err = pawl__store_do(life->store, op);
    int64_t took_us = kit_mono_us() - began_us;
    if (took_us > life->account.latency_us_max) life->account.latency_us_max = took_us;
    if (err && !life->account.err) {
        life->account.err = (int32_t)err;
        snprintf(life->account.text, sizeof life->account.text, "%.199s", diag.text);
    }
    return err == PAWL_OK;
}

static void submit(struct life *life, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = (uint64_t)life->number << 32 | ++life->jobs;
        life->specs[i] = (struct pawl_job_spec){ .type = "work", .queue = "shared" };
        kit_new_job(&life->new_jobs[i], &life->specs[i], kit_job_id(number, 0, false),
                    &life->retry);
    }
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = {
                               .jobs = life->new_jobs, .count = count, .out = life->submitted } };
    if (act(life, &op)) life->account.submitted += (int64_t)count;
    pawl__arena_release(&op.arena);
}

static void work(struct life *life)
{
    static const char *const queues[] = { "shared" };
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 1,
                                      .limit = 1,
                                      .worker = "client",
                                      .lease_ms = 600000 } };
    struct pawl_run ref = { 0 };
    if (act(life, &op) && op.claim.job_count) {
        ref = (struct pawl_run){ op.claim.jobs[0].id, op.claim.jobs[0].run };
        life->account.claimed++;
    }
    pawl__arena_release(&op.arena);
    if (!ref.run) return;
    op = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete = { .ref = ref } };
    if (act(life, &op)) life->account.completed++;
    pawl__arena_release(&op.arena);
}

static void live(struct life *life, enum role role, int64_t until_us)
{
    while (kit_mono_us() < until_us && !life->account.err) {
        if (role == ROLE_HAMMER) {
            submit(life, BATCH);
        } else {
            submit(life, 1);
            work(life);
        }
        life->account.turns++;
    }
}

/* A member starts when its standard input ends, so that all start together. */
static int main_of_member(char **argv)
{
    struct life *life = calloc(1, sizeof *life);
    if (!life) return 4;
    kit_retry_init(&life->retry, 3, 1000);
    life->number = (uint32_t)kit_number(argv[4]);
    struct pawl_config config = kit_config(argv[2], NULL);
    config.seed = kit_number(argv[5]);
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__store_open(&config, &life->store, &diag);
    if (err) {
        life->account.err = (int32_t)err;
        snprintf(life->account.text, sizeof life->account.text, "%.199s", diag.text);
    }
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
        continue;
    }
    if (!err) {
        live(life, (enum role)kit_number(argv[3]),
             kit_mono_us() + (int64_t)kit_number(argv[6]) * 1000);
        pawl__store_close(life->store);
    }
    bool told = write(STDOUT_FILENO, &life->account, sizeof life->account) ==
                (ssize_t)sizeof life->account;
    kit_retry_release(&life->retry);
    free(life);
    return told ? 0 : 5;
}

/* ---- the fleet ---- */

static void spawn(struct member *member, const char *url, int gate)
{
    int ends[2];
    char text[4][32];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(text[0], sizeof text[0], "%d", (int)member->role);
    snprintf(text[1], sizeof text[1], "%" PRIu32, member->number);
    snprintf(text[2], sizeof text[2], "%" PRIu64, seed + member->number);
    snprintf(text[3], sizeof text[3], "%" PRId64, run_ms);
    fflush(NULL);
    member->pid = fork();
    assert_true(member->pid >= 0);
    if (member->pid == 0) {
        dup2(gate, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", program, "--member", url, text[0], text[1], text[2], text[3],
              (char *)NULL);
        _exit(6);
    }
    close(ends[1]);
    member->fd = ends[0];
}

static void await(struct member *member)
{
    int status = 0;
    size_t got = 0;
    ssize_t more;
    while (got < sizeof member->account && (more = read(member->fd, (char *)&member->account + got,
                                                        sizeof member->account - got)) > 0) {
        got += (size_t)more;
    }
    close(member->fd);
    assert_int_equal(waitpid(member->pid, &status, 0), member->pid);
    assert_int_equal(status, 0);
    assert_int_equal(got, sizeof member->account);
}

static void run_fleet(struct member *members, size_t count, const char *url)
{
    int gate[2];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (size_t i = 0; i < count; i++) {
        members[i].number = 1 + (uint32_t)i;
        spawn(&members[i], url, gate[0]);
    }
    close(gate[0]);
    close(gate[1]); // go
    for (size_t i = 0; i < count; i++) {
        await(&members[i]);
        const struct account *account = &members[i].account;
        fprintf(stderr,
                "# process: %s %zu: %" PRId64 " turns, %" PRId64 " submitted, %" PRId64
                " completed, slowest %" PRId64 " us\n",
                members[i].role == ROLE_HAMMER ? "hammer" : "client", i, account->turns,
                account->submitted, account->completed, account->latency_us_max);
        if (account->err) {
            print_error("member %zu: %s: %s\n", i, pawl_err_name((enum pawl_err)account->err),
                        account->text);
        }
    }
}

static int64_t count_in(struct pawl__store *store, uint32_t states)
{
    int64_t count = -1;
    struct pawl_diag diag = { 0 };
    struct pawl_filter filter = { .states = states };
    assert_int_equal(pawl__store_count(store, &filter, &count, &diag), PAWL_OK);
    return count;
}

static void expect_totals(const struct member *members, size_t count, const char *url)
{
    struct account sum = { 0 };
    for (size_t i = 0; i < count; i++) {
        sum.submitted += members[i].account.submitted;
        sum.claimed += members[i].account.claimed;
        sum.completed += members[i].account.completed;
    }
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    struct pawl_config config = kit_config(url, NULL);
    assert_int_equal(pawl__store_open(&config, &store, &diag), PAWL_OK);
    assert_int_equal(count_in(store, 0), sum.submitted);
    assert_int_equal(count_in(store, PAWL_STATE_BIT(PAWL_STATE_COMPLETED)), sum.completed);
    assert_int_equal(count_in(store, PAWL_STATE_BIT(PAWL_STATE_AVAILABLE)),
                     sum.submitted - sum.claimed);
    assert_int_equal(sum.claimed, sum.completed);
    struct kit_complaints complaints = { .suite = "process" };
    kit_check(&complaints, store, "afterwards");
    assert_int_equal(complaints.count, 0);
    pawl__store_close(store);
}

/* ---- the tests ---- */

static void nobody_starves_beside_a_busy_process(void **state)
{
    char dir[KIT_PATH_BYTES], url[KIT_PATH_BYTES];
    kit_dir_make(dir);
    kit_url(url, dir, "shared.db");
    struct member members[1 + CLIENTS] = { { .role = ROLE_HAMMER } };
    for (size_t i = 1; i <= CLIENTS; i++) {
        members[i].role = ROLE_CLIENT;
    }
    run_fleet(members, KIT_COUNT(members), url);
    for (size_t i = 0; i < KIT_COUNT(members); i++) {
        assert_int_equal(members[i].account.err, PAWL_OK);
        assert_true(members[i].account.latency_us_max < LATENCY_US_MAX);
        assert_true(members[i].account.turns >= 1 + run_ms / TURN_MS_MAX);
    }
    expect_totals(members, KIT_COUNT(members), url);
    kit_dir_remove(dir);
}

/* They find no file, and one of them makes it. */
static void clients_share_a_file_that_none_has_made(void **state)
{
    char dir[KIT_PATH_BYTES], url[KIT_PATH_BYTES];
    kit_dir_make(dir);
    kit_url(url, dir, "shared.db");
    struct member members[CLIENTS];
    memset(members, 0, sizeof members);
    int64_t full_ms = run_ms;
    run_ms = RUN_MS_LEAST;
    for (size_t i = 0; i < CLIENTS; i++) {
        members[i].role = ROLE_CLIENT;
    }
    run_fleet(members, KIT_COUNT(members), url);
    run_ms = full_ms;
    for (size_t i = 0; i < CLIENTS; i++) {
        assert_int_equal(members[i].account.err, PAWL_OK);
        assert_true(members[i].account.turns >= 1);
    }
    expect_totals(members, KIT_COUNT(members), url);
    kit_dir_remove(dir);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 7 && strcmp(argv[1], "--member") == 0) return main_of_member(argv);
    seed = kit_seed();
    run_ms = kit_scaled(RUN_MS, RUN_MS_LEAST);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--ms") == 0) run_ms = (int64_t)kit_number(argv[i + 1]);
    }
    fprintf(stderr, "# process: seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_share_a_file_that_none_has_made),
        cmocka_unit_test(nobody_starves_beside_a_busy_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
