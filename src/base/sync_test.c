/* Locks, conditions and the system's clock. */
#include "base/clock.h"
#include "base/sync.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test_kit.h"

enum { THREADS = 4, TURNS = 20000 };

struct shared {
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    /* guarded by mutex: */
    int64_t value;
    int turn;
};

static void shared_init(struct shared *shared)
{
    *shared = (struct shared){ 0 };
    pawl__mutex_init(&shared->mutex);
    pawl__cond_init(&shared->cond);
}

static void shared_release(struct shared *shared)
{
    pawl__cond_release(&shared->cond);
    pawl__mutex_release(&shared->mutex);
}

static void *count_up(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < TURNS; i++) {
        pawl__lock(&shared->mutex);
        shared->value++;
        pawl__unlock(&shared->mutex);
    }
    return NULL;
}

static void one_thread_at_a_time(void **state)
{
    struct shared shared;
    shared_init(&shared);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &shared), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(shared.value, THREADS * TURNS);
    shared_release(&shared);
}

/* Odd turns are the other thread's. */
static void *play_odd(void *arg)
{
    struct shared *shared = arg;
    pawl__lock(&shared->mutex);
    while (shared->turn < 2000) {
        if (shared->turn % 2 == 1) {
            shared->turn++;
            pawl__cond_signal(&shared->cond);
        } else {
            pawl__cond_wait(&shared->cond, &shared->mutex);
        }
    }
    pawl__unlock(&shared->mutex);
    return NULL;
}

static void signals_wake_the_waiting(void **state)
{
    struct shared shared;
    pthread_t thread;
    shared_init(&shared);
    assert_int_equal(pthread_create(&thread, NULL, play_odd, &shared), 0);
    pawl__lock(&shared.mutex);
    while (shared.turn < 2000) {
        if (shared.turn % 2 == 0) {
            shared.turn++;
            pawl__cond_broadcast(&shared.cond);
        } else {
            assert_true(pawl__cond_wait_us(&shared.cond, &shared.mutex, INT64_MAX));
        }
    }
    pawl__cond_broadcast(&shared.cond);
    pawl__unlock(&shared.mutex);
    assert_int_equal(pthread_join(thread, NULL), 0);
    shared_release(&shared);
}

static void waiting_ends_when_its_time_has_passed(void **state)
{
    static const int64_t timeouts[] = { INT64_MIN, -1, 0, 1, 2000 };
    struct shared shared;
    shared_init(&shared);
    pawl__lock(&shared.mutex);
    for (size_t i = 0; i < COUNT(timeouts); i++) {
        int64_t from = pawl__clock_mono_us(&pawl__clock_system);
        while (pawl__cond_wait_us(&shared.cond, &shared.mutex, timeouts[i])) {
        } // true without a signal is allowed, for ever is not
        assert_true(pawl__clock_mono_us(&pawl__clock_system) - from >= timeouts[i]);
    }
    pawl__unlock(&shared.mutex); // the lock is held again, or this asserts
    shared_release(&shared);
}

/* Runs `misuse` in a child, which must die of its assertion. */
static void assert_aborts(void (*misuse)(struct pawl__mutex *))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO); // its last words are expected
        signal(SIGABRT, SIG_DFL);
        struct pawl__mutex mutex;
        pawl__mutex_init(&mutex);
        misuse(&mutex);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#if defined(__clang__)
#define MISUSE __attribute__((no_thread_safety_analysis))
#else
#define MISUSE
#endif

MISUSE static void relock(struct pawl__mutex *mutex)
{
    pawl__lock(mutex);
    pawl__lock(mutex);
}

MISUSE static void unlock_what_is_not_held(struct pawl__mutex *mutex)
{
    pawl__unlock(mutex);
}

MISUSE static void release_while_held(struct pawl__mutex *mutex)
{
    pawl__lock(mutex);
    pawl__mutex_release(mutex);
}

static void misuse_asserts(void **state)
{
    assert_aborts(relock);
    assert_aborts(unlock_what_is_not_held);
    assert_aborts(release_while_held);
}

static int64_t kernel_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void system_clock_tells_the_kernels_time(void **state)
{
    int64_t before = kernel_now_ms();
    int64_t now = pawl__clock_wall_ms(&pawl__clock_system);
    int64_t after = kernel_now_ms();
    assert_true(before <= now && now <= after);
    int64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t mono = pawl__clock_mono_us(&pawl__clock_system);
        assert_true(mono >= last);
        last = mono;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time),
        cmocka_unit_test(signals_wake_the_waiting),
        cmocka_unit_test(waiting_ends_when_its_time_has_passed),
        cmocka_unit_test(misuse_asserts),
        cmocka_unit_test(system_clock_tells_the_kernels_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
