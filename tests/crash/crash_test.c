/* Kills processes that use a store, repeatedly on the same file, and compares its content with the
 * results that they had received. For a single seed: crash_test --seed N --rounds M. */
#include "crash/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
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
    ROUNDS_ALONE = 60, /* at full scale */
    ROUNDS_PAIR = 6,   /* three kills each */
    ROUNDS_FRESH = 8,  /* two kills each */
    JOBS_PER_CHILD = 1200,
    DELAY_US_MAX = 60000,
    LONG_DELAY_US_MAX = 500000, /* now and then, so that logs grow and are written back */
    OPEN_DELAY_US_MAX = 25000,
    SCAN_EVERY = 10, /* rounds */
    KEYS_TRIED = 8,
    REVIVED_MAX = 5,
    CHILD_WAIT_US = 120 * 1000000, /* a child that has not answered anything by then is stuck */
    PARENT_CHILD = 15              /* as whom the parent itself submits */
};

#define ROUND_MS (10 * CHILD_LEASE_MS) /* time moves by so much between rounds */

static uint64_t seed;
static int64_t rounds_asked; /* 0: as the scale says */
static const char *program;

/* ---- one child ---- */

struct victim {
    pid_t pid;
    int fd;
    int64_t first_us; /* when its first answer came; 0: not yet */
    char partial[sizeof(struct record)];
    size_t partial_len;
};

struct trial {
    char dir[KIT_PATH_BYTES];
    char path[KIT_PATH_BYTES];
    char url[KIT_PATH_BYTES];
    struct ledger ledger;
    struct pawl__rng rng;
    uint32_t round;
    uint32_t batches; /* of the parent's own */
    int64_t kills;
};

static struct trial main_trial;

static int64_t wall_of(const struct trial *trial)
{
    return KIT_START_MS + (int64_t)trial->round * ROUND_MS;
}

static void become_child(const struct trial *trial, uint64_t child_seed, uint32_t child, int fd)
{
    char text[5][32];
    snprintf(text[0], sizeof text[0], "%d", fd);
    snprintf(text[1], sizeof text[1], "%" PRId64, wall_of(trial));
    snprintf(text[2], sizeof text[2], "%" PRIu64, child_seed);
    snprintf(text[3], sizeof text[3], "%" PRIu32, trial->round);
    snprintf(text[4], sizeof text[4], "%" PRIu32, child);
    fcntl(fd, F_SETFD, 0);
    execl("/proc/self/exe", program, "--child", trial->url, text[0], text[1], text[2], text[3],
          text[4], (char *)NULL);
    _exit(5);
}

static void spawn(struct trial *trial, struct victim *victim, uint32_t child)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    uint64_t child_seed = pawl__rng_next(&trial->rng) >> 16;
    *victim = (struct victim){ .fd = ends[0] };
    fflush(NULL);
    victim->pid = fork();
    assert_true(victim->pid >= 0);
    if (victim->pid == 0) become_child(trial, child_seed, child, ends[1]);
    close(ends[1]);
}

/* False at the end of the pipe. */
static bool take_records(struct trial *trial, struct victim *victim)
{
    char bytes[64 * 1024];
    memcpy(bytes, victim->partial, victim->partial_len);
    ssize_t got = read(victim->fd, bytes + victim->partial_len, sizeof bytes - victim->partial_len);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    if (!victim->first_us) victim->first_us = kit_mono_us();
    size_t len = victim->partial_len + (size_t)got, at = 0;
    for (; len - at >= sizeof(struct record); at += sizeof(struct record)) {
        struct record record;
        memcpy(&record, bytes + at, sizeof record);
        ledger_note(&trial->ledger, &record);
    }
    victim->partial_len = len - at;
    memcpy(victim->partial, bytes + at, victim->partial_len);
    return true;
}

/* Listen to all of them until a moment; with `first` only until that one has begun to answer. */
static void listen_until(struct trial *trial, struct victim *victims, size_t count,
                         int64_t until_us, const struct victim *first)
{
    for (;;) {
        int64_t left_us = until_us - kit_mono_us();
        if (left_us <= 0 || (first && first->first_us)) return;
        struct pollfd fds[4];
        for (size_t i = 0; i < count; i++) {
            fds[i] = (struct pollfd){ .fd = victims[i].fd, .events = POLLIN };
        }
        struct timespec timeout = { left_us / 1000000, left_us % 1000000 * 1000 };
        if (ppoll(fds, count, &timeout, NULL) <= 0) continue;
        for (size_t i = 0; i < count; i++) {
            if (fds[i].revents && !take_records(trial, &victims[i])) return; // it died by itself
        }
    }
}

/* Kill it and read what it still had to say. */
static void finish_off(struct trial *trial, struct victim *victim)
{
    int status = 0;
    kill(victim->pid, SIGKILL);
    while (take_records(trial, victim)) {
        continue;
    }
    assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        kit_complain(&trial->ledger.complaints, "a child ended by itself, status %d", status);
    }
    if (victim->partial_len) kit_complain(&trial->ledger.complaints, "a record was cut");
    close(victim->fd);
    victim->fd = -1;
    trial->kills++;
}

static void await_first(struct trial *trial, struct victim *victims, size_t count,
                        struct victim *victim)
{
    listen_until(trial, victims, count, kit_mono_us() + CHILD_WAIT_US, victim);
    if (!victim->first_us) kit_complain(&trial->ledger.complaints, "a child does nothing");
}

static int64_t moment(struct trial *trial, uint64_t bound_us)
{
    return kit_mono_us() + (int64_t)pawl__rng_below(&trial->rng, bound_us);
}

/* ---- between rounds ---- */

static struct pawl__store *reopen(struct trial *trial, struct kit_clock *clock)
{
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    kit_clock_init(clock, wall_of(trial), true);
    struct pawl_config config = kit_config(trial->url, &clock->clock);
    enum pawl_err err = pawl__store_open(&config, &store, &diag);
    if (err) {
        kit_complain(&trial->ledger.complaints, "could not open after round %" PRIu32 ": %s: %s",
                     trial->round, pawl_err_name(err), diag.text);
    }
    return store;
}

/* Submit again under the key of `old`: it must be told of that one if it is there. */
static void try_key(struct trial *trial, struct pawl__store *store, const struct entry *old,
                    const struct kit_retry *retry)
{
    uint64_t batch = batch_number((struct batch_of){
        .round = trial->round, .child = PARENT_CHILD, .number = trial->batches });
    trial->batches += 4; // never one that has a key of its own
    char args[BATCH_ARGS_BYTES];
    struct pawl_job_spec spec = { .type = "mail.send",
                                  .queue = "alpha",
                                  .args = { args, batch_args(batch, 0, 1, args) },
                                  .idempotency_key = "kept as a digest" };
    struct pawl__new_job job;
    struct pawl_submitted submitted = { 0 };
    struct pawl_diag diag = { 0 };
    kit_new_job(&job, &spec, batch_job(batch, 0), retry);
    job.keys[job.key_count++] = kit_key(PAWL__KEY_IDEMPOTENCY, old->batch);
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &diag,
                           .submit = { .jobs = &job, .count = 1, .out = &submitted } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    bool expected = old->base_state != PAWL_STATE_NONE;
    if (err || submitted.deduplicated != expected ||
        (expected && !kit_same_id(submitted.id, old->id))) {
        kit_complain(&trial->ledger.complaints, "a repeated submit got %s%s: %s",
                     pawl_err_name(err), submitted.deduplicated ? ", deduplicated" : "", diag.text);
    }
    if (submitted.deduplicated || err) return;
    struct record record = {
        .deed = DEED_SUBMIT, .phase = PHASE_INTENT, .count = 1, .batch = batch
    };
    ledger_note(&trial->ledger, &record);
    record.phase = PHASE_ANSWER;
    ledger_note(&trial->ledger, &record);
}

/* Repeat some submits of this round, as clients do that lost their answer. A batch whose key was
 * taken over by such a repeat is not tried again: it cannot have been of this round. */
static void try_keys(struct trial *trial, struct pawl__store *store, struct entry **entries,
                     size_t count)
{
    struct kit_retry retry;
    kit_retry_init(&retry, 50, 1);
    int tried = 0;
    for (size_t i = count; i-- > 0 && tried < KEYS_TRIED;) {
        struct entry *entry = entries[i];
        if (entry->index || !batch_has_key(entry->batch)) continue;
        if (entry->batch >> 32 != trial->round) continue;
        tried++;
        try_key(trial, store, entry, &retry);
    }
    kit_retry_release(&retry);
}

static void revive_some(struct trial *trial, struct pawl__store *store, struct entry **entries,
                        size_t count)
{
    int revived = 0;
    for (size_t i = 0; i < count && revived < REVIVED_MAX; i++) {
        struct entry *entry = entries[i];
        if (entry->base_state != PAWL_STATE_DISCARDED || entry->archived) continue;
        struct pawl_diag diag = { 0 };
        struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                               .diag = &diag,
                               .control = { .id = entry->id, .control = PAWL_CONTROL_RETRY } };
        enum pawl_err err = pawl__store_do(store, &op);
        pawl__arena_release(&op.arena);
        if (err)
            kit_complain(&trial->ledger.complaints, "revive: %s", diag.text);
        else
            entry->base_state = PAWL_STATE_AVAILABLE;
        revived++;
    }
}

/* Judge what the round left, then go on with it. */
static void judge(struct trial *trial, bool everything)
{
    char where[64];
    snprintf(where, sizeof where, "round %" PRIu32, trial->round);
    struct kit_clock clock;
    struct pawl__store *store = reopen(trial, &clock);
    if (!store) return;
    kit_check(&trial->ledger.complaints, store, where);
    // the list is the ledger's until it is judged, its content stays
    size_t count = trial->ledger.touched_count;
    struct entry **entries = calloc(count + 1, sizeof(struct entry *));
    assert_non_null(entries);
    if (count) memcpy(entries, trial->ledger.touched, count * sizeof(struct entry *));
    ledger_judge(&trial->ledger, store);
    if (everything) ledger_judge_all(&trial->ledger, store);
    try_keys(trial, store, entries, count);
    revive_some(trial, store, entries, count);
    ledger_judge(&trial->ledger, store); // the repeats that were new
    free(entries);
    pawl__store_close(store);
}

static void begin(struct trial *trial, const char *name, uint64_t trial_seed)
{
    *trial = (struct trial){ 0 };
    kit_dir_make(trial->dir);
    snprintf(trial->path, sizeof trial->path, "%.480s/%s", trial->dir, name);
    kit_url(trial->url, trial->dir, name);
    ledger_init(&trial->ledger);
    pawl__rng_seed(&trial->rng, trial_seed);
}

/* Leaves the files for whoever wants to know, when something was wrong. */
static void end(struct trial *trial)
{
    if (trial->ledger.complaints.count) {
        fprintf(stderr, "crash: seed %" PRIu64 ", files in %s\n", seed, trial->dir);
    } else {
        kit_dir_remove(trial->dir);
    }
    ledger_release(&trial->ledger);
}

static int64_t rounds_of(int64_t full, int64_t least)
{
    return rounds_asked ? rounds_asked : kit_scaled(full, least);
}

static void expect_no_complaints(const struct trial *trial)
{
    if (trial->ledger.complaints.count) print_error("seed %" PRIu64 "\n", seed);
    assert_int_equal(trial->ledger.complaints.count, 0);
}

/* ---- the tests ---- */

static void loses_nothing_when_killed_under_load(void **state)
{
    struct trial *trial = &main_trial;
    int64_t rounds = rounds_of(ROUNDS_ALONE, 5);
    for (int64_t i = 0; i < rounds && !trial->ledger.complaints.count; i++) {
        struct victim victim;
        trial->round++;
        spawn(trial, &victim, 0);
        if (i % 8 == 5) { // while it opens, with what the round before left behind
            listen_until(trial, &victim, 1, moment(trial, OPEN_DELAY_US_MAX), NULL);
        } else {
            await_first(trial, &victim, 1, &victim);
            uint64_t delay_us_max = i % 8 == 3 ? LONG_DELAY_US_MAX : DELAY_US_MAX;
            listen_until(trial, &victim, 1, moment(trial, delay_us_max), NULL);
        }
        finish_off(trial, &victim);
        judge(trial, trial->round % SCAN_EVERY == 0 || i + 1 == rounds);
    }
    expect_no_complaints(trial);
}

/* One dies, another takes its place while the second goes on, then those two die. */
static void loses_nothing_when_two_processes_are_killed(void **state)
{
    struct trial *trial = &main_trial;
    int64_t rounds = rounds_of(ROUNDS_PAIR, 1);
    for (int64_t i = 0; i < rounds && !trial->ledger.complaints.count; i++) {
        struct victim victims[2];
        trial->round++;
        spawn(trial, &victims[0], 0);
        spawn(trial, &victims[1], 1);
        await_first(trial, victims, 2, &victims[0]);
        await_first(trial, victims, 2, &victims[1]);
        listen_until(trial, victims, 2, moment(trial, DELAY_US_MAX), NULL);
        finish_off(trial, &victims[0]);
        spawn(trial, &victims[0], 2);
        if (i % 2) await_first(trial, victims, 2, &victims[0]);
        listen_until(trial, victims, 2, moment(trial, DELAY_US_MAX), NULL);
        size_t next = pawl__rng_below(&trial->rng, 2);
        finish_off(trial, &victims[next]);
        listen_until(trial, &victims[1 - next], 1, moment(trial, DELAY_US_MAX), NULL);
        finish_off(trial, &victims[1 - next]);
        judge(trial, i + 1 == rounds);
    }
    expect_no_complaints(trial);
}

static void survives_being_killed_while_it_creates_the_file(void **state)
{
    int64_t rounds = rounds_of(ROUNDS_FRESH, 2);
    struct trial trial;
    begin(&trial, "fresh.db", seed + 1);
    for (int64_t i = 0; i < rounds && !trial.ledger.complaints.count; i++) {
        struct victim victim;
        kit_store_remove(trial.path);
        ledger_release(&trial.ledger);
        ledger_init(&trial.ledger);
        trial.round++;
        for (uint32_t nth = 0; nth < 2; nth++) { // the second finds what the first left half done
            spawn(&trial, &victim, nth);
            listen_until(&trial, &victim, 1, moment(&trial, OPEN_DELAY_US_MAX), NULL);
            finish_off(&trial, &victim);
        }
        judge(&trial, true);
    }
    main_trial.kills += trial.kills;
    int64_t complaints = trial.ledger.complaints.count;
    end(&trial);
    assert_int_equal(complaints, 0);
}

/* ---- main ---- */

static int set_up(void **state)
{
    begin(&main_trial, "crash.db", seed);
    return 0;
}

static int tear_down(void **state)
{
    const struct ledger *ledger = &main_trial.ledger;
    fprintf(stderr, "# crash: seed %" PRIu64 ", %" PRId64 " kills, %zu jobs, acknowledged:", seed,
            main_trial.kills, ledger->entry_count);
    for (int deed = 0; deed < DEED_END; deed++) {
        fprintf(stderr, " %s %" PRId64 ",", deed_name((enum deed)deed), ledger->answers[deed]);
    }
    fprintf(stderr, " %" PRId64 " records\n", ledger->records);
    end(&main_trial);
    return 0;
}

static int main_of_child(char **argv)
{
    struct child_config config = { .url = argv[2],
                                   .fd = (int)kit_number(argv[3]),
                                   .wall_ms = (int64_t)kit_number(argv[4]),
                                   .seed = kit_number(argv[5]),
                                   .round = (uint32_t)kit_number(argv[6]),
                                   .child = (uint32_t)kit_number(argv[7]),
                                   .jobs_max = JOBS_PER_CHILD };
    return child_run(&config);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 8 && strcmp(argv[1], "--child") == 0) return main_of_child(argv);
    seed = kit_seed();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0) rounds_asked = (int64_t)kit_number(argv[i + 1]);
    }
    fprintf(stderr, "# crash: seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing_when_killed_under_load),
        cmocka_unit_test(loses_nothing_when_two_processes_are_killed),
        cmocka_unit_test(survives_being_killed_while_it_creates_the_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
