/* Mutex and condition with clang's thread-safety annotations; misuse asserts. */
#ifndef PAWL_BASE_SYNC_H
#define PAWL_BASE_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__)
#define PAWL__CAPABILITY(x) __attribute__((capability(x)))
#define PAWL__GUARDED_BY(x) __attribute__((guarded_by(x)))
#define PAWL__ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define PAWL__RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))
#define PAWL__REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
#else
#define PAWL__CAPABILITY(x)
#define PAWL__GUARDED_BY(x)
#define PAWL__ACQUIRE(...)
#define PAWL__RELEASE(...)
#define PAWL__REQUIRES(...)
#endif

struct PAWL__CAPABILITY("mutex") pawl__mutex {
    pthread_mutex_t m;
};

struct pawl__cond {
    pthread_cond_t c; /* waits on the monotonic clock */
};

void pawl__mutex_init(struct pawl__mutex *mutex);
void pawl__mutex_release(struct pawl__mutex *mutex);
void pawl__lock(struct pawl__mutex *mutex) PAWL__ACQUIRE(*mutex);
void pawl__unlock(struct pawl__mutex *mutex) PAWL__RELEASE(*mutex);

/* Starts a thread that receives no signals: they are for the host's own threads. False: it could
 * not be created. */
bool pawl__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

void pawl__cond_init(struct pawl__cond *cond);
void pawl__cond_release(struct pawl__cond *cond);
void pawl__cond_wait(struct pawl__cond *cond, struct pawl__mutex *mutex) PAWL__REQUIRES(*mutex);
/* Waits at most `timeout_us`; false if that time has passed. */
bool pawl__cond_wait_us(struct pawl__cond *cond, struct pawl__mutex *mutex, int64_t timeout_us)
    PAWL__REQUIRES(*mutex);
void pawl__cond_signal(struct pawl__cond *cond);
void pawl__cond_broadcast(struct pawl__cond *cond);

#endif
