/* pawl lock run: runs a command while holding a lock.
 *
 * A second thread renews the lock, since the store may block. The main thread waits for the command
 * to exit, for signals to pass on, and for the end of trust in the lock: nine tenths of its
 * duration after the last renewal was sent. Then the command, which is in a process group of its
 * own, gets SIGTERM, before another owner can take the lock. It is killed if this process is
 * (launch.h). */
#include "cli/cli.h"
#include "cli/launch.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_US = 5000000, LOOK_US = 50000, TRIES_PER_TTL = 15, SIGNAL_BASE = 128 };

struct lock_run {
    struct pawl__cli *cli;
    const char *name;
    char owner[PAWL_WORKER_BYTES_MAX + 1];
    int64_t ttl_ms, fence;
    sigset_t taken, before; /* signals that the main thread waits for; the former mask */
    struct pawl__cli_guardian guardian;
    struct pawl__cli_place *place;
    pid_t child;
    bool lent; /* the command's group is the terminal's foreground group */

    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    int64_t trust_until_us;
    bool lost; /* another owner has it */
    bool over;
    struct pawl_diag diag; /* of the last renewal that failed */
};

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

/* ---- keeping the lock ---- */

/* Runs until the command has ended or the lock is lost. A failed renewal is retried soon. */
static void *renew(void *ctx)
{
    struct lock_run *run = ctx;
    int64_t pause_us = run->ttl_ms * 1000 / 3;
    for (;;) {
        pawl__lock(&run->mutex);
        int64_t until_us = now_us() + pause_us;
        while (!run->over && now_us() < until_us) {
            (void)pawl__cond_wait_us(&run->change, &run->mutex, until_us - now_us());
        }
        bool over = run->over;
        pawl__unlock(&run->mutex);
        if (over) return NULL;
        struct pawl_diag diag = { 0 };
        int64_t asked_us = now_us();
        enum pawl_err err =
            pawl_lock_renew(run->cli->pawl, run->name, run->owner, run->ttl_ms, &diag);
        pawl__lock(&run->mutex);
        if (!err) run->trust_until_us = asked_us + run->ttl_ms * 900;
        if (err) run->diag = diag;
        run->lost = err == PAWL_ERR_STALE;
        pawl__unlock(&run->mutex);
        if (err == PAWL_ERR_STALE) return NULL;
        pause_us = run->ttl_ms * 1000 / (err ? TRIES_PER_TTL : 3);
    }
}

static bool is_trusted(struct lock_run *run)
{
    pawl__lock(&run->mutex);
    bool trusted = !run->lost && now_us() < run->trust_until_us;
    pawl__unlock(&run->mutex);
    return trusted;
}

/* ---- the command ---- */

/* Makes the command's group the foreground group, or reading from the terminal would stop it. It
 * may have been stopped already, hence SIGCONT. Nothing to do if this process is in the background.
 */
static void lend_terminal(struct lock_run *run)
{
    if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
    run->lent = tcsetpgrp(STDIN_FILENO, run->child) == 0;
    (void)kill(-run->child, SIGCONT);
}

static int spawn(struct lock_run *run)
{
    const char **command = run->cli->operands.at + 1;
    char fence[32];
    snprintf(fence, sizeof fence, "%" PRId64, run->fence);
    if (setenv("PAWL_LOCK_FENCE", fence, 1) != 0) return errno;
    size_t count = run->cli->operands.count - 1;
    char **argv = pawl__cli_need(pawl__arena_calloc(&run->cli->arena, count + 1, sizeof(*argv)));
    for (size_t i = 0; i < count; i++) {
        argv[i] = pawl__cli_need(pawl__arena_dup(&run->cli->arena, command[i], strlen(command[i])));
    }
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGTTOU);
    const struct pawl__cli_launch how = {
        .argv = argv, .envp = environ, .search = true, .mask = &run->before, .usual = &usual
    };
    run->place = pawl__cli_place_take(&run->guardian); // the only child
    int error = pawl__cli_launch(run->place, &how, &run->child);
    if (!error) lend_terminal(run);
    return error;
}

/* Reaches a stopped command too. */
static void pass_on(const struct lock_run *run, int number)
{
    (void)kill(-run->child, number);
    (void)kill(-run->child, SIGCONT);
}

/* Passes signals on; if the lock is lost, ends the command by TERM, then KILL after a grace period,
 * and sets `*stopped`. Returns the command's status. */
static int wait_for_command(struct lock_run *run, bool *stopped)
{
    int64_t kill_us = 0;
    *stopped = false;
    while (!pawl__cli_has_exited(run->child)) {
        struct timespec pause = { .tv_nsec = LOOK_US * 1000 };
        int number = sigtimedwait(&run->taken, NULL, &pause);
        if (number > 0 && number != SIGCHLD) pass_on(run, number);
        if (!*stopped && !is_trusted(run)) {
            *stopped = true;
            kill_us = now_us() + GRACE_US;
            pass_on(run, SIGTERM);
        }
        if (kill_us && now_us() >= kill_us) (void)kill(-run->child, SIGKILL);
    }
    if (*stopped) (void)kill(-run->child, SIGKILL); // its remaining processes have no lock either
    pawl__cli_place_free(run->place);               // otherwise they may continue
    if (run->lent) (void)tcsetpgrp(STDIN_FILENO, getpgrp());
    return pawl__cli_reap(run->child); // last, since then the group's number may be reused
}

/* ---- from the lock to its release ---- */

static void choose_owner(struct lock_run *run)
{
    char host[128] = "host";
    (void)gethostname(host, sizeof host - 1);
    snprintf(run->owner, sizeof run->owner, "%s-%ld-%04x", host, (long)getpid(),
             (unsigned)(pawl__rng_system_seed() & 0xffff));
}

static int take(struct lock_run *run)
{
    struct pawl_diag diag = { 0 };
    int64_t asked_us = now_us();
    enum pawl_err err =
        pawl_lock_try(run->cli->pawl, run->name, run->owner, run->ttl_ms, &run->fence, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    run->trust_until_us = asked_us + run->ttl_ms * 900;
    return PAWL__CLI_EXIT_OK;
}

static int exit_code(struct lock_run *run, int status, bool stopped)
{
    if (stopped) {
        pawl__cli_error("lock \"%s\" was lost, so the command was stopped: %s", run->name,
                        run->diag.text[0] ? run->diag.text : "it could not be renewed in time");
        return PAWL__CLI_EXIT_REFUSED;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
}

static int run_held(struct lock_run *run)
{
    pthread_t keeper;
    bool stopped = false;
    int status = 0;
    if (!pawl__thread_start(&keeper, renew, run)) {
        pawl__cli_error("could not start a thread");
        return PAWL__CLI_EXIT_REFUSED;
    }
    int error = spawn(run);
    if (!error) status = wait_for_command(run, &stopped);
    pawl__lock(&run->mutex);
    run->over = true;
    pawl__cond_broadcast(&run->change);
    pawl__unlock(&run->mutex);
    pthread_join(keeper, NULL);
    if (!error) return exit_code(run, status, stopped);
    pawl__cli_error("could not run \"%s\": %s", run->cli->operands.at[1], strerror(error));
    return error == ENOENT ? 127 : 126; // as shells do
}

int pawl__cli_lock_run(struct pawl__cli *cli)
{
    struct lock_run run = { .cli = cli,
                            .name = cli->operands.at[0],
                            .ttl_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_TTL) };
    static const int numbers[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    sigemptyset(&run.taken);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaddset(&run.taken, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &run.taken, &run.before); // before there are threads
    (void)signal(SIGCHLD, SIG_DFL);                      // if it is ignored, it is not sent
    (void)signal(SIGTTOU, SIG_IGN);                      // taking the terminal back would stop us
    int error = pawl__cli_guardian_start(&run.guardian);
    if (error) {
        pawl__cli_error("could not prepare to run a command: %s", strerror(error));
        return PAWL__CLI_EXIT_REFUSED;
    }
    int code = pawl__cli_open(cli);
    if (code) {
        pawl__cli_guardian_stop(&run.guardian);
        return code;
    }
    choose_owner(&run);
    pawl__mutex_init(&run.mutex);
    pawl__cond_init(&run.change);
    code = take(&run);
    if (!code) {
        code = run_held(&run);
        if (pawl_lock_release(cli->pawl, run.name, run.owner, NULL) != PAWL_OK) {
            // it was lost, or will expire
        }
    }
    pawl__cond_release(&run.change);
    pawl__mutex_release(&run.mutex);
    pawl__cli_guardian_stop(&run.guardian);
    return code;
}
