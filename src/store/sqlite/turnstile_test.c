/* Taking turns, being alone, and what a path must not be. */
#include "store/sqlite/test_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/wait.h>

#define SECOND_US INT64_C(1000000)

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

/* ---- turns ---- */

static bool is_free(int turnstile)
{
    if (flock(turnstile, LOCK_EX | LOCK_NB) != 0) {
        assert_int_equal(errno, EWOULDBLOCK);
        return false;
    }
    assert_int_equal(flock(turnstile, LOCK_UN), 0);
    return true;
}

static void one_is_inside_at_a_time(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int first = pawl__sq_turnstile_open(kit.path), second = pawl__sq_turnstile_open(kit.path);
    assert_true(first >= 0 && second >= 0);
    assert_true(is_free(second));
    pawl__sq_turnstile_enter(first);
    assert_false(is_free(second));
    pawl__sq_turnstile_leave(first);
    pawl__sq_turnstile_enter(second);
    assert_false(is_free(first));
    pawl__sq_turnstile_close(second); // whoever goes away lets go
    assert_true(is_free(first));
    pawl__sq_turnstile_close(first);
    kit_close(&kit);
}

struct crowd {
    const char *path;
    atomic_int inside;
    atomic_int most;
    atomic_int passed;
};

static void *pass_often(void *arg)
{
    struct crowd *crowd = arg;
    int turnstile = pawl__sq_turnstile_open(crowd->path);
    for (int i = 0; i < 100; i++) {
        pawl__sq_turnstile_enter(turnstile);
        int inside = atomic_fetch_add(&crowd->inside, 1) + 1;
        if (inside > atomic_load(&crowd->most)) atomic_store(&crowd->most, inside);
        atomic_fetch_sub(&crowd->inside, 1);
        pawl__sq_turnstile_leave(turnstile);
        atomic_fetch_add(&crowd->passed, 1);
    }
    pawl__sq_turnstile_close(turnstile);
    return NULL;
}

static void crowd_passes_one_by_one(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    struct crowd crowd = { .path = kit.path };
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, pass_often, &crowd), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&crowd.passed), 100 * COUNT(threads));
    assert_int_equal(atomic_load(&crowd.most), 1);
    kit_close(&kit);
}

/* A process that goes inside and stays there. */
static pid_t start_holder(const char *path)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int turnstile = pawl__sq_turnstile_open(path);
        pawl__sq_turnstile_enter(turnstile);
        (void)!write(ready[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void stop_holder(pid_t child)
{
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void stopped_holder_costs_a_bounded_time(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int turnstile = pawl__sq_turnstile_open(kit.path);
    pid_t holder = start_holder(kit.path);
    int status;
    assert_int_equal(kill(holder, SIGSTOP), 0);
    assert_int_equal(waitpid(holder, &status, WUNTRACED), holder);
    int64_t began_us = now_us();
    pawl__sq_turnstile_enter(turnstile); // without, in the end
    int64_t took_us = now_us() - began_us;
    assert_true(took_us >= 2 * SECOND_US);  // patience there is
    assert_true(took_us <= 15 * SECOND_US); // but not for ever, on a busy machine either
    assert_false(is_free(turnstile));
    pawl__sq_turnstile_leave(turnstile);
    assert_false(is_free(turnstile)); // what one does not have one cannot give back
    stop_holder(holder);
    pawl__sq_turnstile_close(turnstile);
    kit_close(&kit);
}

static void dead_holder_costs_nothing(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int turnstile = pawl__sq_turnstile_open(kit.path);
    pid_t holder = start_holder(kit.path);
    assert_false(is_free(turnstile));
    stop_holder(holder);
    int64_t began_us = now_us();
    pawl__sq_turnstile_enter(turnstile);
    assert_true(now_us() - began_us < SECOND_US);
    pawl__sq_turnstile_close(turnstile);
    kit_close(&kit);
}

/* ---- being alone ---- */

static void presence_is_seen_by_others(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int first = pawl__sq_turnstile_open(kit.path), second = pawl__sq_turnstile_open(kit.path);
    int third = pawl__sq_turnstile_open(kit.path);
    assert_true(pawl__sq_turnstile_alone(first));
    assert_false(pawl__sq_turnstile_alone(second)); // kept out meanwhile
    pawl__sq_turnstile_share(first);
    assert_false(pawl__sq_turnstile_alone(second));
    pawl__sq_turnstile_share(second);
    assert_false(pawl__sq_turnstile_alone(first)); // there are two now
    assert_false(pawl__sq_turnstile_alone(third));
    pawl__sq_turnstile_close(first);
    assert_false(pawl__sq_turnstile_alone(third));
    assert_true(pawl__sq_turnstile_alone(second)); // again, and still inside
    pawl__sq_turnstile_share(second);
    pawl__sq_turnstile_close(second);
    assert_true(pawl__sq_turnstile_alone(third));
    pawl__sq_turnstile_close(third);
    kit_close(&kit);
}

static void presence_and_turns_do_not_mix(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int first = pawl__sq_turnstile_open(kit.path), second = pawl__sq_turnstile_open(kit.path);
    assert_true(pawl__sq_turnstile_alone(first));
    assert_true(is_free(second));
    pawl__sq_turnstile_share(first);
    assert_true(is_free(second));
    pawl__sq_turnstile_enter(second);
    assert_false(pawl__sq_turnstile_alone(second)); // being inside does not make one alone
    assert_true(pawl__sq_turnstile_alone(first));   // nor not alone
    pawl__sq_turnstile_close(first);
    pawl__sq_turnstile_close(second);
    kit_close(&kit);
}

/* As whole stores see it: the last one out leaves the file to nobody. */
static void stores_are_present_while_they_are_open(void **state)
{
    struct kit first, second;
    kit_open_file(&first);
    int witness = pawl__sq_turnstile_open(first.path);
    assert_false(pawl__sq_turnstile_alone(witness));
    kit_open_peer(&second, &first);
    kit_shut(&first);
    assert_false(pawl__sq_turnstile_alone(witness));
    kit_close(&second);
    assert_true(pawl__sq_turnstile_alone(witness));
    pawl__sq_turnstile_close(witness);
    kit_close(&first);
}

/* ---- paths ---- */

static void turnstile_is_not_inherited(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    int turnstile = pawl__sq_turnstile_open(kit.path);
    assert_true(fcntl(turnstile, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(kit_file_bytes(kit.path, "-turn"), 0); // beside the database, empty
    pawl__sq_turnstile_close(turnstile);
    kit_close(&kit);
}

static void without_a_turnstile_all_goes_on(void **state)
{
    static char path[5000];
    memset(path, 'x', sizeof path - 1);
    assert_int_equal(pawl__sq_turnstile_open(path), -1); // too long
    assert_int_equal(pawl__sq_turnstile_open("/nonexistent/pawl.db"), -1);
    pawl__sq_turnstile_enter(-1);
    pawl__sq_turnstile_leave(-1);
    assert_false(pawl__sq_turnstile_alone(-1));
    pawl__sq_turnstile_share(-1);
    pawl__sq_turnstile_close(-1);
}

static void path_may_have_no_directory(void **state)
{
    struct kit kit, bare;
    char was[4096];
    kit_init_folder(&kit);
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(kit.folder), 0);
    kit_init(&bare, "bare.db");
    kit_open(&bare);
    kit_submit(&bare, (struct pawl_job_spec){ .queue = "q" });
    kit_close(&bare);
    assert_int_equal(chdir(was), 0);
    char path[KIT_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/bare.db", kit.folder);
    assert_true(kit_file_bytes(path, "") > 0);
    assert_true(kit_file_bytes(path, "-turn") >= 0);
    kit_close(&kit);
}

static void long_paths_are_refused(void **state)
{
    static const size_t lens[] = { 4000, 4090, 4095, 4096, 4097, 10000 };
    for (size_t i = 0; i < COUNT(lens); i++) {
        struct kit kit;
        kit_init(&kit, NULL);
        char *url = calloc(1, lens[i] + 16);
        assert_non_null(url);
        memset(url, 'x', lens[i] + 8);
        memcpy(url, "sqlite:/", 8);
        kit.config.store = url;
        enum pawl_err err = kit_try_open(&kit);
        assert_true(err == PAWL_ERR_ARG || err == PAWL_ERR_IO);
        assert_true(kit.diag.text[0] != '\0');
        free(url);
    }
}

static void network_file_systems_are_known(void **state)
{
    static const struct {
        const char *name;
        int64_t type;
        bool network;
    } rows[] = {
        { "nfs", 0x6969, true },          { "smb", 0x517B, true },
        { "smb2", 0xFE534D42, true },     { "cifs", 0xFF534D42, true },
        { "afs", 0x5346414F, true },      { "coda", 0x73757245, true },
        { "ceph", 0x00C36400, true },     { "9p", 0x01021997, true },
        { "lustre", 0x0BD00BD0, true },   { "gpfs", 0x47504653, true },
        { "ocfs2", 0x7461636F, true },    { "cifs, sign kept", (int32_t)0xFF534D42, true },
        { "ext4", 0xEF53, false },        { "xfs", 0x58465342, false },
        { "btrfs", 0x9123683E, false },   { "tmpfs", 0x01021994, false },
        { "overlay", 0x794C7630, false }, { "zfs", 0x2FC12FC1, false },
        { "f2fs", 0xF2F52010, false },    { "btrfs, sign kept", (int32_t)0x9123683E, false },
        { "nothing", 0, false },          { "all bits", -1, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (pawl__sq_is_network_fs(rows[i].type) != rows[i].network) {
            fail_msg("%s is taken for %s", rows[i].name, rows[i].network ? "local" : "network");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_inside_at_a_time),
        cmocka_unit_test(crowd_passes_one_by_one),
        cmocka_unit_test(stopped_holder_costs_a_bounded_time),
        cmocka_unit_test(dead_holder_costs_nothing),
        cmocka_unit_test(presence_is_seen_by_others),
        cmocka_unit_test(presence_and_turns_do_not_mix),
        cmocka_unit_test(stores_are_present_while_they_are_open),
        cmocka_unit_test(turnstile_is_not_inherited),
        cmocka_unit_test(without_a_turnstile_all_goes_on),
        cmocka_unit_test(path_may_have_no_directory),
        cmocka_unit_test(long_paths_are_refused),
        cmocka_unit_test(network_file_systems_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
