/* Telling other processes that have the file open, and hearing them.
 *
 * Others are told by a few bytes written into the turnstile's file, on which each of them keeps a
 * watch (inotify). Each process writes a place of its own, so that nobody wakes himself and hardly
 * ever hides another. A notice that is lost costs time, nothing else.
 *
 * Runs on: the committer's thread, for which one write is little; hearing on a thread of its own.
 */
#include "store/sqlite/sqlite.h"

#include "store/wake.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POSTS = 256 };

/* The turnstile's file is an array of these, one for each process that tells. */
struct post {
    uint64_t tag;
    uint64_t sent;
};

struct sq_wake {
    struct pawl__wake wake;
    int turnstile; /* the backend's */
    uint64_t tag;  /* of this process, in what it tells the others */
    _Atomic uint64_t sent;
    _Atomic int64_t received;
    atomic_bool deaf; /* the file cannot be watched */

    pthread_t listener;
    bool listener_runs;
    int listener_stop; /* descriptor that ends it */
    pawl__notice_fn *fn;
    void *ctx;
};

static struct sq_wake *of(struct pawl__wake *wake)
{
    return (struct sq_wake *)wake; // it begins with it
}

static void send_notice(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    struct sq_wake *w = of(wake);
    (void)notice; // others look for themselves
    struct post post = { .tag = w->tag, .sent = atomic_fetch_add(&w->sent, 1) + 1 };
    (void)!pwrite(w->turnstile, &post, sizeof post, (off_t)(w->tag % POSTS * sizeof post));
}

/* How many others have posted since? `seen` is what was there before. */
static int64_t count_news(struct sq_wake *w, struct post seen[POSTS])
{
    struct post posts[POSTS] = { { 0 } };
    ssize_t got = pread(w->turnstile, posts, sizeof posts, 0);
    int64_t news = got < 0; // when in doubt, look
    for (size_t i = 0; i < POSTS; i++) {
        bool own = posts[i].tag == w->tag;
        news += !own && memcmp(&posts[i], &seen[i], sizeof seen[i]) != 0;
        seen[i] = posts[i];
    }
    return news;
}

/* A descriptor that is readable when somebody has written; -1: the safety poll will do. */
static int watch_file(const struct sq_wake *w)
{
    char name[64];
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    snprintf(name, sizeof name, "/proc/self/fd/%d", w->turnstile);
    if (watch >= 0 && inotify_add_watch(watch, name, IN_MODIFY) < 0) {
        close(watch);
        watch = -1;
    }
    return watch;
}

static void *run_listener(void *arg)
{
    struct sq_wake *w = arg;
    char events[4096] __attribute__((aligned(8)));
    struct post seen[POSTS] = { { 0 } };
    int watch = watch_file(w);
    atomic_store(&w->deaf, watch < 0);
    (void)count_news(w, seen);
    struct pollfd fds[] = { { .fd = w->listener_stop, .events = POLLIN },
                            { .fd = watch, .events = POLLIN } };
    while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
        if (fds[0].revents) break;
        if (fds[1].revents & POLLIN) {
            while (read(watch, events, sizeof events) > 0) { // however many, they mean one thing
            }
            int64_t news = count_news(w, seen);
            if (!news) continue;
            atomic_fetch_add(&w->received, news);
            struct pawl__notice notice = { .foreign = true, .ready = true, .control = true };
            w->fn(w->ctx, &notice);
        }
    }
    if (watch >= 0) close(watch);
    return NULL;
}

static void end_listening(struct sq_wake *w)
{
    if (!w->listener_runs) return;
    uint64_t one = 1;
    (void)!write(w->listener_stop, &one, sizeof one);
    pthread_join(w->listener, NULL);
    close(w->listener_stop);
    w->listener_runs = false;
}

static enum pawl_err set_listener(struct pawl__wake *wake, pawl__notice_fn *fn, void *ctx,
                                  struct pawl_diag *diag)
{
    struct sq_wake *w = of(wake);
    end_listening(w);
    if (!fn) return PAWL_OK;
    w->fn = fn;
    w->ctx = ctx;
    w->listener_stop = eventfd(0, EFD_CLOEXEC);
    if (w->listener_stop < 0) {
        return pawl__fail(diag, PAWL_ERR_IO, "could not listen for other processes: %s",
                          strerror(errno));
    }
    if (!pawl__thread_start(&w->listener, run_listener, w)) {
        close(w->listener_stop);
        return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start a thread");
    }
    w->listener_runs = true;
    return PAWL_OK;
}

static void get_state(struct pawl__wake *wake, struct pawl__wake_state *out)
{
    struct sq_wake *w = of(wake);
    *out = (struct pawl__wake_state){ .sent = (int64_t)atomic_load(&w->sent),
                                      .received = atomic_load(&w->received) };
    if (atomic_load(&w->deaf)) {
        (void)pawl__fail(&out->trouble, PAWL_ERR_IO,
                         "could not watch the store's file for what other processes tell");
    }
}

static void close_wake(struct pawl__wake *wake)
{
    end_listening(of(wake));
    free(of(wake));
}

static const struct pawl__wake_table table = {
    .send = send_notice, .listen = set_listener, .state = get_state, .close = close_wake
};

enum pawl_err pawl__sq_wake(struct pawl__backend *sq, const char *url, struct pawl__wake **out,
                            struct pawl_diag *diag)
{
    (void)url; // there is no other way to a file
    *out = NULL;
    if (sq->turnstile < 0) return PAWL_OK;
    struct sq_wake *w = calloc(1, sizeof *w);
    if (!w) return pawl__fail_nomem(diag);
    w->wake.table = &table;
    w->turnstile = sq->turnstile;
    w->tag = pawl__rng_system_seed();
    *out = &w->wake;
    return PAWL_OK;
}

/* Wherever the file is mounted, and whatever it is called there. */
enum pawl_err pawl__sq_identify(struct pawl__backend *sq, struct pawl__buf *out,
                                struct pawl_diag *diag)
{
    struct stat file;
    if (sq->memory) {
        return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "wake",
                                "a store in memory has no other processes to wake");
    }
    if (stat(sq->path, &file) != 0) {
        return pawl__fail(diag, PAWL_ERR_IO, "could not look at \"%s\": %s", sq->path,
                          strerror(errno));
    }
    pawl__buf_printf(out, "sqlite %lld %lld", (long long)file.st_dev, (long long)file.st_ino);
    return out->failed ? pawl__fail_nomem(diag) : PAWL_OK;
}
