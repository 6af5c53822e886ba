/* Error-checking mutexes: locking twice, or unlocking a mutex that another thread holds, fails an
 * assertion instead of hanging or corrupting data. The analysis is disabled inside, since pthread's
 * own functions carry no annotations. */
#include "base/sync.h"

#include <signal.h>
#include <assert.h>
#include <errno.h>
#include <time.h>

#if defined(__clang__)
#define UNCHECKED __attribute__((no_thread_safety_analysis))
#else
#define UNCHECKED
#endif

enum { US_PER_S = 1000000 };
/* 31 years: keeps the sum with now from wrapping. */
#define TIMEOUT_US_MAX (INT64_C(1000000000) * US_PER_S)

static void must(int error)
{
    assert(!error);
    (void)error;
}

void pawl__mutex_init(struct pawl__mutex *mutex)
{
    pthread_mutexattr_t attr;
    must(pthread_mutexattr_init(&attr));
    must(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
    must(pthread_mutex_init(&mutex->m, &attr));
    must(pthread_mutexattr_destroy(&attr));
}

void pawl__mutex_release(struct pawl__mutex *mutex)
{
    must(pthread_mutex_destroy(&mutex->m));
}

UNCHECKED void pawl__lock(struct pawl__mutex *mutex)
{
    must(pthread_mutex_lock(&mutex->m));
}

UNCHECKED void pawl__unlock(struct pawl__mutex *mutex)
{
    must(pthread_mutex_unlock(&mutex->m));
}

void pawl__cond_init(struct pawl__cond *cond)
{
    pthread_condattr_t attr;
    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&cond->c, &attr));
    must(pthread_condattr_destroy(&attr));
}

void pawl__cond_release(struct pawl__cond *cond)
{
    must(pthread_cond_destroy(&cond->c));
}

void pawl__cond_wait(struct pawl__cond *cond, struct pawl__mutex *mutex)
{
    must(pthread_cond_wait(&cond->c, &mutex->m));
}

static struct timespec deadline_in(int64_t timeout_us)
{
    if (timeout_us < 0) timeout_us = 0;
    if (timeout_us > TIMEOUT_US_MAX) timeout_us = TIMEOUT_US_MAX;
    struct timespec at;
    must(clock_gettime(CLOCK_MONOTONIC, &at));
    at.tv_sec += timeout_us / US_PER_S;
    at.tv_nsec += timeout_us % US_PER_S * 1000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

bool pawl__cond_wait_us(struct pawl__cond *cond, struct pawl__mutex *mutex, int64_t timeout_us)
{
    struct timespec deadline = deadline_in(timeout_us);
    int error = pthread_cond_timedwait(&cond->c, &mutex->m, &deadline);
    assert(!error || error == ETIMEDOUT);
    return !error;
}

void pawl__cond_signal(struct pawl__cond *cond)
{
    must(pthread_cond_signal(&cond->c));
}

void pawl__cond_broadcast(struct pawl__cond *cond)
{
    must(pthread_cond_broadcast(&cond->c));
}

bool pawl__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // the new thread inherits it
    int code = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}
