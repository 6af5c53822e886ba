/* Child processes to be measured: nodes, servers, commands. Those still running when the program
 * ends early are killed. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES_MAX = 2 };

static _Atomic pid_t nodes[NODES_MAX]; /* running ones; 0: none */

void pawl__bench_kill_nodes(void)
{
    for (int i = 0; i < NODES_MAX; i++) {
        const pid_t pid = atomic_load(&nodes[i]);
        if (pid > 0) kill(pid, SIGKILL);
    }
}

/* Signals are blocked in our threads; a child must not inherit that. */
static pid_t spawn(char *const *argv, int input, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawn_file_actions_init(&actions);
    if (output < 0) posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (input > 1) posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (output > 1) posix_spawn_file_actions_adddup2(&actions, output, 1);
    const int error = posix_spawn(&pid, argv[0], &actions, &attr, argv, environ);
    if (error) pawl__bench_die("could not start \"%s\": %s", argv[0], strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return pid;
}

pid_t pawl__child_start(char *const *argv, int output)
{
    return spawn(argv, 0, output);
}

void pawl__child_wait(pid_t pid, const char *what)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) pawl__bench_die("could not wait for a process: %m");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) pawl__bench_die("\"%s\" failed", what);
}

static void remember(pid_t pid)
{
    for (int i = 0; i < NODES_MAX; i++) {
        pid_t none = 0;
        if (atomic_compare_exchange_strong(&nodes[i], &none, pid)) break;
    }
}

pid_t pawl__node_start(char *const *argv, int output)
{
    const pid_t pid = pawl__child_start(argv, output);
    remember(pid);
    return pid;
}

pid_t pawl__node_talk(char *const *argv, FILE **out)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        pawl__bench_die("could not make a socket: %m");
    }
    const pid_t pid = spawn(argv, ends[1], ends[1]);
    remember(pid);
    close(ends[1]);
    *out = fdopen(ends[0], "r+");
    if (!*out) pawl__bench_die("out of memory");
    setvbuf(*out, NULL, _IOLBF, 0);
    return pid;
}

/* Until it has been waited for, its process id is not reused. */
void pawl__node_wait(pid_t pid, const char *what)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR) {
    }
    for (int i = 0; i < NODES_MAX; i++) {
        pid_t known = pid;
        atomic_compare_exchange_strong(&nodes[i], &known, 0);
    }
    pawl__child_wait(pid, what);
}

void pawl__node_stop(pid_t pid, const char *what)
{
    kill(pid, SIGTERM);
    pawl__node_wait(pid, what);
}

int64_t pawl__child_kib(pid_t pid)
{
    char path[64], line[128];
    long long kib = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmRSS: %lld", &kib) == 1) break;
    }
    if (file) fclose(file);
    return kib;
}

clockid_t pawl__child_clock(pid_t pid)
{
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock)) pawl__bench_die("could not find a process's clock");
    return clock;
}
