/* See child.h.
 *
 * 1. A group is signalled only before its leader is reaped, since afterwards its number may be
 *    reused.
 * 2. Our ends of the pipes are close-on-exec, so no child keeps another's open.
 * 3. We hold the writing ends of its output open until it has exited. A command that prints nothing
 *    then wakes us once, by its exit, and not when it closes each stream. */
#include "cli/child.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    POLL_MS = 50,          /* between calls of stop() */
    POLL_NO_PIDFD_MS = 10, /* without a pidfd: between checks whether it has exited */
    READ_BYTES = 16 * 1024,
    LAST_READS_MAX = 64
};

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

static void close_end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- all children ---- */

/* Pipes must not get the numbers of the standard streams. */
static int open_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (open("/dev/null", O_RDWR) < 0) return errno; // takes the lowest number: this one
    }
    return 0;
}

int pawl__cli_children_init(struct pawl__cli_children *children)
{
    int error = open_streams();
    if (error) return error;
    // A command that does not read its input must not kill us.
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) return errno;
    // If our parent has ignored it, the status of commands would be lost.
    if (signal(SIGCHLD, SIG_DFL) == SIG_ERR) return errno;
    atomic_init(&children->hurry, false);
    sigemptyset(&children->none);
    sigfillset(&children->all);
    return pawl__cli_guardian_start(&children->guardian);
}

void pawl__cli_children_release(struct pawl__cli_children *children)
{
    pawl__cli_guardian_stop(&children->guardian);
}

/* ---- starting ---- */

struct pipes {
    int in[2], out[2], err[2]; /* [0] is read from */
};

static void close_pipes(struct pipes *pipes)
{
    int *ends[] = { &pipes->in[0],  &pipes->in[1],  &pipes->out[0],
                    &pipes->out[1], &pipes->err[0], &pipes->err[1] };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        close_end(ends[i]);
    }
}

static int open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
        pipe2(pipes->err, O_CLOEXEC) == 0) {
        return 0;
    }
    int error = errno;
    close_pipes(pipes);
    return error;
}

/* A short input fits into the pipe and is written before the child starts. A long one is written as
 * the child reads it, without blocking. */
static int feed_early(struct pawl__cli_child *child, struct pipes *pipes)
{
    if (child->input.len > PIPE_BUF) {
        int flags = fcntl(pipes->in[1], F_GETFL);
        return flags < 0 || fcntl(pipes->in[1], F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
    }
    if (child->input.len) {
        ssize_t wrote = write(pipes->in[1], child->input.at, child->input.len);
        if (wrote != (ssize_t)child->input.len) return wrote < 0 ? errno : EIO;
    }
    close_end(&pipes->in[1]);
    return 0;
}

static int launch(struct pawl__cli_children *children, struct pawl__cli_child *child,
                  struct pawl__cli_place *place, const struct pipes *pipes)
{
    const int streams[] = { pipes->in[0], pipes->out[1], pipes->err[1] };
    const struct pawl__cli_launch how = { .argv = child->argv,
                                          .envp = child->envp,
                                          .streams = streams,
                                          .mask = &children->none,
                                          .usual = &children->all };
    return pawl__cli_launch(place, &how, &child->pid);
}

static int start(struct pawl__cli_children *children, struct pawl__cli_child *child,
                 struct pawl__cli_place *place)
{
    struct pipes pipes;
    int error = open_pipes(&pipes);
    if (!error) error = feed_early(child, &pipes);
    if (error) pawl__cli_place_free(place);
    if (!error) error = launch(children, child, place, &pipes);
    if (error) {
        close_pipes(&pipes);
        return error;
    }
    close_end(&pipes.in[0]);
    child->in = pipes.in[1];
    child->out = pipes.out[0];
    child->out_held = pipes.out[1];
    child->err = pipes.err[0];
    child->err_held = pipes.err[1];
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return 0;
}

/* ---- reading and writing ---- */

static void put_line(struct pawl__cli_child *child, const char *at, size_t len)
{
    if (len && at[len - 1] == '\r') len--;
    if (len > PAWL__CLI_LINE_BYTES_MAX) len = PAWL__CLI_LINE_BYTES_MAX;
    child->line(child->ctx, at, len);
}

/* Bytes of standard error: complete lines are passed on, the rest is kept. */
static void take_error(struct pawl__cli_child *child, const char *at, size_t len)
{
    while (len) {
        const char *end = memchr(at, '\n', len);
        size_t part = end ? (size_t)(end - at) : len;
        if (!child->skip && child->rest.len < PAWL__CLI_LINE_BYTES_MAX) {
            pawl__buf_add(&child->rest, at, part);
        }
        if (!child->skip && (end || child->rest.len >= PAWL__CLI_LINE_BYTES_MAX)) {
            if (!child->rest.failed) put_line(child, child->rest.at, child->rest.len);
            pawl__buf_clear(&child->rest);
            child->skip = true;
        }
        if (end) child->skip = false;
        at += part + (end != NULL);
        len -= part + (end != NULL);
    }
}

static void end_error(struct pawl__cli_child *child)
{
    if (child->rest.len && !child->rest.failed) {
        put_line(child, child->rest.at, child->rest.len);
    }
    pawl__buf_release(&child->rest);
}

static void take_output(struct pawl__cli_child *child, const char *at, size_t len)
{
    size_t room = child->output_max - child->output.len;
    size_t kept = len < room ? len : room;
    pawl__buf_add(&child->output, at, kept);
    child->output_lost += len - kept;
}

/* Called after poll, so read does not block. */
static void read_from(struct pawl__cli_child *child, int *fd)
{
    char bytes[READ_BYTES];
    ssize_t got = read(*fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
        close_end(fd);
    } else if (fd == &child->out) {
        take_output(child, bytes, (size_t)got);
    } else {
        take_error(child, bytes, (size_t)got);
    }
}

static void feed(struct pawl__cli_child *child)
{
    ssize_t wrote = write(child->in, child->input.at + child->fed, child->input.len - child->fed);
    if (wrote > 0) child->fed += (size_t)wrote;
    bool later = wrote < 0 && (errno == EAGAIN || errno == EINTR);
    // If it has closed its end, it does not need the rest.
    if (child->fed == child->input.len || (wrote < 0 && !later)) close_end(&child->in);
}

/* ---- ending ---- */

static void set_patience(struct pawl__cli_child *child)
{
    if (!child->patience_us) child->patience_us = now_us() + child->grace_ms * 1000;
}

static void stop(struct pawl__cli_child *child)
{
    if (child->patience_us) return; // SIGTERM was sent already, or it has exited
    kill(-child->pid, SIGTERM);
    kill(-child->pid, SIGCONT); // a stopped process would not handle it
    set_patience(child);
}

static void note_exit(struct pawl__cli_child *child)
{
    child->exited = true;
    close_end(&child->in);
    close_end(&child->out_held);
    close_end(&child->err_held);
    set_patience(child); // for processes that hold its output open
}

static bool is_over(const struct pawl__cli_children *children, struct pawl__cli_child *child)
{
    bool closed = child->out < 0 && child->err < 0;
    if (child->exited && (closed || child->killed)) return true;
    if (!child->patience_us || child->killed) return false;
    if (now_us() < child->patience_us && !atomic_load(&children->hurry)) return false;
    kill(-child->pid, SIGKILL);
    child->killed = true;
    return child->exited;
}

static int wait_ms(const struct pawl__cli_child *child)
{
    int64_t ms = child->pidfd < 0 && !child->exited ? POLL_NO_PIDFD_MS : POLL_MS;
    if (child->patience_us && !child->killed) {
        int64_t left_ms = (child->patience_us - now_us()) / 1000 + 1;
        if (left_ms < ms) ms = left_ms < 0 ? 0 : left_ms;
    }
    return (int)ms;
}

/* Waits for an event and handles it. False: timed out. */
static bool handle_events(struct pawl__cli_child *child, int timeout_ms)
{
    struct pollfd fds[] = { { .fd = child->out, .events = POLLIN },
                            { .fd = child->err, .events = POLLIN },
                            { .fd = child->exited ? -1 : child->pidfd, .events = POLLIN },
                            { .fd = child->in, .events = POLLOUT } };
    int ready = poll(fds, sizeof fds / sizeof *fds, timeout_ms);
    if (ready > 0 && fds[0].revents) read_from(child, &child->out);
    if (ready > 0 && fds[1].revents) read_from(child, &child->err);
    if (ready > 0 && fds[3].revents) feed(child);
    if (ready > 0 && fds[2].revents) note_exit(child);
    if (child->pidfd < 0 && !child->exited && pawl__cli_has_exited(child->pid)) note_exit(child);
    return ready > 0;
}

static void reap(struct pawl__cli_child *child, struct pawl__cli_place *place)
{
    // Kill the rest of the group first, while its number cannot be reused.
    kill(-child->pid, SIGKILL);
    pawl__cli_place_free(place);
    child->status = pawl__cli_reap(child->pid);
}

int pawl__cli_child_run(struct pawl__cli_children *children, struct pawl__cli_child *child)
{
    struct pawl__cli_place *place = pawl__cli_place_take(&children->guardian);
    if (!place) return EAGAIN;
    int error = start(children, child, place);
    if (error) return error;
    while (!is_over(children, child)) {
        (void)handle_events(child, wait_ms(child));
        if (!child->stopped && !child->exited && child->stop(child->ctx)) child->stopped = true;
        if (child->stopped) stop(child);
    }
    reap(child, place);
    // Read what is left; a process outside of the group may still be writing.
    for (int i = 0; i < LAST_READS_MAX && (child->out >= 0 || child->err >= 0); i++) {
        if (!handle_events(child, 0)) break;
    }
    close_end(&child->in);
    close_end(&child->out);
    close_end(&child->err);
    close_end(&child->pidfd);
    end_error(child);
    return 0;
}
