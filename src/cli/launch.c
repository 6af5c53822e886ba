/* See launch.h.
 *
 * 1. A child enters its group in the table before it executes its program, and until then holds our
 *    end of the guardian's pipe open. So when the guardian sees the pipe closed, every child is in
 *    the table.
 * 2. vfork is used because fork would copy the page tables of a large node for each job, and
 *    posix_spawn can neither make the entry nor request a signal for the parent's death. As in
 *    posix_spawn, all signals are blocked while the child shares our memory, so that none of our
 *    handlers runs in it. */
#include "cli/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_NOT_STARTED = 127,
    STARTING_MS = 200, /* how long guardian_kill waits for a child that is being started */
    TABLE_BYTES = PAWL__CLI_CHILDREN_MAX * sizeof(struct pawl__cli_place)
};

bool pawl__cli_has_exited(pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

int pawl__cli_reap(pid_t pid)
{
    int status;
    pid_t got;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    assert(got == pid);
    return status;
}

/* ---- the guardian ---- */

/* Ignores signals that are meant for this process, so that it outlives us. */
static _Noreturn void guard(struct pawl__cli_place *places, int line)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2 };
    char byte;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "pawl-guardian");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        (void)signal(ignored[i], SIG_IGN);
    }
    (void)dup2(line, STDIN_FILENO);
    closefrom(STDIN_FILENO + 1); // it must not keep our files and locks open
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    for (size_t i = 0; i < PAWL__CLI_CHILDREN_MAX; i++) {
        int group = atomic_load(&places[i].group);
        if (group > 0) (void)kill(-group, SIGKILL);
    }
    _exit(EXIT_SUCCESS);
}

static int start_guardian(struct pawl__cli_guardian *guardian)
{
    int line[2];
    if (pipe2(line, O_CLOEXEC) != 0) return errno;
    guardian->pid = fork();
    if (guardian->pid == 0) guard(guardian->places, line[0]);
    int error = guardian->pid < 0 ? errno : 0;
    close(line[0]);
    if (error) close(line[1]);
    guardian->line = line[1];
    return error;
}

int pawl__cli_guardian_start(struct pawl__cli_guardian *guardian)
{
    void *table =
        mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) return errno;
    guardian->places = table; // all zero: free
    int error = start_guardian(guardian);
    if (!error) return 0;
    munmap(table, TABLE_BYTES);
    guardian->places = NULL;
    return error;
}

void pawl__cli_guardian_stop(struct pawl__cli_guardian *guardian)
{
    if (!guardian->places) return;
    close(guardian->line);
    (void)pawl__cli_reap(guardian->pid);
    munmap(guardian->places, TABLE_BYTES);
    guardian->places = NULL;
}

void pawl__cli_guardian_kill(struct pawl__cli_guardian *guardian)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (size_t i = 0; guardian->places && i < PAWL__CLI_CHILDREN_MAX; i++) {
        int group = atomic_load(&guardian->places[i].group);
        for (int waited = 0; group < 0 && waited < STARTING_MS; waited++) {
            nanosleep(&pause, NULL);
            group = atomic_load(&guardian->places[i].group);
        }
        if (group > 0) (void)kill(-group, SIGKILL);
    }
}

struct pawl__cli_place *pawl__cli_place_take(struct pawl__cli_guardian *guardian)
{
    for (size_t i = 0; i < PAWL__CLI_CHILDREN_MAX; i++) {
        int free = 0;
        struct pawl__cli_place *place = &guardian->places[i];
        if (atomic_compare_exchange_strong(&place->group, &free, -1)) return place;
    }
    return NULL;
}

void pawl__cli_place_free(struct pawl__cli_place *place)
{
    atomic_store(&place->group, 0);
}

/* ---- the child, until it executes its program ---- */

static bool take_streams(const int *streams)
{
    for (int i = 0; i <= STDERR_FILENO; i++) {
        assert(streams[i] > STDERR_FILENO); // none is overwritten before it is copied
        if (dup2(streams[i], i) < 0) return false;
    }
    closefrom(STDERR_FILENO + 1); // libraries may have opened others without O_CLOEXEC
    return true;
}

static void take_signals(const sigset_t *usual)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(usual, i) == 1) (void)sigaction(i, &action, NULL);
    }
}

/* Shares our memory, of which it may change only its place. */
static _Noreturn void become(struct pawl__cli_place *place, const struct pawl__cli_launch *launch)
{
    (void)setpgid(0, 0);
    atomic_store(&place->group, getpid());
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // in case the guardian is gone too
    take_signals(launch->usual);
    if (!launch->streams || take_streams(launch->streams)) {
        (void)sigprocmask(SIG_SETMASK, launch->mask, NULL);
        if (launch->search) {
            execvpe(launch->argv[0], launch->argv, launch->envp);
        } else {
            execve(launch->argv[0], launch->argv, launch->envp);
        }
    }
    atomic_store(&place->error, errno);
    _exit(EXIT_NOT_STARTED);
}

static pid_t split(struct pawl__cli_place *place, const struct pawl__cli_launch *launch)
{
    pid_t pid = vfork();                 // NOLINT(clang-analyzer-security.insecureAPI.vfork): see 2
    if (pid == 0) become(place, launch); // NOLINT(clang-analyzer-unix.Vfork): calls and no more
    return pid;
}

int pawl__cli_launch(struct pawl__cli_place *place, const struct pawl__cli_launch *launch,
                     pid_t *out)
{
    sigset_t all, before;
    sigfillset(&all);
    atomic_store(&place->error, 0);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = split(place, launch);
    int error = pid < 0 ? errno : atomic_load(&place->error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        pawl__cli_place_free(place);
        if (pid > 0) (void)pawl__cli_reap(pid);
        return error;
    }
    *out = pid;
    return 0;
}
