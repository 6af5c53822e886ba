/* Processes that share a file take turns.
 *
 * SQLite's write lock knows no queue: a process that commits back to back can keep another waiting
 * for as long as it likes. So a writer first passes a turnstile, an advisory lock on a file of its
 * own, and lets go of it when it has SQLite's lock. While a busy process writes, a waiting one
 * holds the turnstile, so the busy one cannot go again before it. The turnstile is about fairness
 * alone: whoever cannot have it in time goes on to SQLite's lock, which is what keeps the data
 * safe. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 4000, PAUSE_US = 500 }; /* two seconds, then without */

int pawl__sq_turnstile_open(const char *path)
{
    char name[4096];
    int len = snprintf(name, sizeof name, "%s-turn", path);
    if (len < 0 || (size_t)len >= sizeof name) return -1;
    int turnstile = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat st;
    if (turnstile >= 0 && stat(path, &st) == 0) {
        (void)!fchmod(turnstile, st.st_mode & 0666); // who may write the store may take turns
    }
    return turnstile;
}

void pawl__sq_turnstile_close(int turnstile)
{
    if (turnstile >= 0) close(turnstile);
}

/* The lock is nearly always free: its holder only waits for SQLite's lock, and that is let go after
 * each commit. So trying again beats sleeping in the kernel, where a stopped process could keep us
 * for ever. */
void pawl__sq_turnstile_enter(int turnstile)
{
    if (turnstile < 0) return;
    for (int i = 0; i < TRIES; i++) {
        if (flock(turnstile, LOCK_EX | LOCK_NB) == 0) return;
        if (errno != EWOULDBLOCK && errno != EINTR) return;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000 }, NULL);
    }
}

void pawl__sq_turnstile_leave(int turnstile)
{
    if (turnstile >= 0) (void)flock(turnstile, LOCK_UN);
}

/* Who has the store open holds a shared lock on the first byte; byte locks and the turnstile's own
 * lock do not know each other. */
static bool lock_presence(int turnstile, short type)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
    return turnstile >= 0 && fcntl(turnstile, F_OFD_SETLK, &lock) == 0;
}

bool pawl__sq_turnstile_alone(int turnstile)
{
    return lock_presence(turnstile, F_WRLCK);
}

void pawl__sq_turnstile_share(int turnstile)
{
    (void)lock_presence(turnstile, F_RDLCK);
}
