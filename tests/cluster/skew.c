/* Preloaded: a process whose wall clock is wrong by SKEW_S seconds. What measures time without
 * telling it (CLOCK_MONOTONIC) is left alone, as on a machine whose clock was set wrong. Nothing of
 * ours asks time(2). */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static time_t skew_s(void)
{
    static _Thread_local time_t known;
    const char *text = known ? NULL : getenv("SKEW_S");
    if (text) known = strtol(text, NULL, 10);
    return known;
}

SEEN int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (syscall(SYS_clock_gettime, clock, out) != 0) return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) out->tv_sec += skew_s();
    return 0;
}

SEEN int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
