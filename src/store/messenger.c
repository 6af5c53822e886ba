/* What is said is who says it, sixteen digits, and a letter for each thing that happened: "r" there
 * may be more to claim, "c" somebody interfered with a job that runs. Whatever is shorter was said
 * by a stranger and may mean anything.
 *
 * Runs on: the messenger's thread and the listener thread, except for functions that are called
 * from outside. */
#include "store/messenger.h"

#include "base/clock.h"
#include "base/diag.h"
#include "base/rng.h"
#include "base/sync.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    TAG_LEN = 16,
    REST_MIN_MS = 100, /* after a failure; twice as long after the next */
    REST_MAX_MS = 5000
};

#define PATIENCE_US INT64_C(2000000) /* what callers wait for the messenger, at most */

struct messenger {
    struct pawl__wake wake;
    struct pawl__line *line;
    char tag[TAG_LEN + 1]; /* of this process */
    int call;              /* descriptor that wakes the thread */
    pthread_t thread, listener_thread;

    /* of the messenger's thread: */
    struct pawl__rng rng;
    bool connected, listens;
    bool deaf;        /* connected, but nobody can listen here */
    int failures;     /* in a row, the newest now */
    int64_t again_us; /* when the line is tried again after a failure */
    struct pawl_diag trouble;

    struct pawl__mutex mutex;
    struct pawl__cond said; /* what was to be done has been, or cannot be */
    struct pawl__cond news;
    /* guarded by mutex: */
    bool runs, listener_runs;
    bool closing;
    bool reach;                  /* connect, also if there is nothing to say */
    bool unsent, ready, control; /* what is to be sent */
    bool busy;                   /* something is to be done, and was not tried yet */
    pawl__notice_fn *fn;
    void *ctx;
    bool awaited; /* somebody waits until it listens, or cannot */
    bool calling; /* a call of `fn` is under way */
    bool received, received_ready, received_control; /* what the listener thread is to pass on */
    struct pawl__wake_state state;
};

/* ---- the listener thread ---- */

static void *run_listener(void *arg)
{
    struct messenger *m = arg;
    pawl__lock(&m->mutex);
    for (;;) {
        while (!m->closing && !(m->received && m->fn)) {
            pawl__cond_wait(&m->news, &m->mutex);
        }
        if (m->closing) break;
        struct pawl__notice notice = { .foreign = true,
                                       .ready = m->received_ready,
                                       .control = m->received_control };
        pawl__notice_fn *fn = m->fn;
        void *ctx = m->ctx;
        m->received = m->received_ready = m->received_control = false;
        m->calling = true;
        pawl__unlock(&m->mutex);
        fn(ctx, &notice);
        pawl__lock(&m->mutex);
        m->calling = false;
        pawl__cond_broadcast(&m->said);
    }
    pawl__unlock(&m->mutex);
    return NULL;
}

/* However many come while the listener is busy, they are one to it. */
static void pass_on(struct messenger *m, bool ready, bool control, int64_t count)
{
    pawl__lock(&m->mutex);
    m->state.received += count;
    if (m->fn) {
        m->received = true;
        m->received_ready |= ready;
        m->received_control |= control;
        pawl__cond_signal(&m->news);
    }
    pawl__unlock(&m->mutex);
}

/* ---- the line ---- */

/* What the messenger is to do next. */
struct errand {
    bool reach, send, ready, control, listen, closing;
};

static struct errand take_errand(struct messenger *m)
{
    pawl__lock(&m->mutex);
    struct errand errand = { .reach = m->reach,
                             .send = m->unsent,
                             .ready = m->ready,
                             .control = m->control,
                             .listen = m->fn != NULL,
                             .closing = m->closing };
    m->unsent = m->ready = m->control = m->reach = false;
    pawl__unlock(&m->mutex);
    return errand;
}

/* What could not be said is said later, with what has come since. */
static void report(struct messenger *m, const struct errand *errand, bool sent)
{
    pawl__lock(&m->mutex);
    m->busy = m->unsent || m->reach; // came while we were at it
    if (errand->send && sent) m->state.sent++;
    if (errand->send && !sent) {
        m->unsent = true;
        m->ready |= errand->ready;
        m->control |= errand->control;
    }
    if (errand->listen) m->awaited = false;
    m->state.trouble = m->trouble;
    pawl__cond_broadcast(&m->said);
    pawl__unlock(&m->mutex);
}

struct caught {
    const char *own;
    bool ready, control;
    int64_t count;
};

static void catch_one(void *ctx, const char *text)
{
    struct caught *caught = ctx;
    if (strncmp(text, caught->own, TAG_LEN) == 0) return;
    bool stranger = strlen(text) < TAG_LEN;
    caught->count++;
    caught->ready |= stranger || strchr(text + TAG_LEN, 'r') != NULL;
    caught->control |= stranger || strchr(text + TAG_LEN, 'c') != NULL;
}

/* Connected, and listening if that is wanted and can be. */
static enum pawl_err be_ready(struct messenger *m, bool listen)
{
    bool wanted = listen && !m->deaf;
    if (m->connected && (m->listens || !wanted)) return PAWL_OK;
    enum pawl_err err = m->line->table->ready(m->line, wanted, &m->trouble);
    if (err && err != PAWL_ERR_UNSUPPORTED) return err;
    m->deaf = err == PAWL_ERR_UNSUPPORTED;
    m->connected = true;
    m->listens = wanted && !m->deaf;
    return PAWL_OK;
}

static enum pawl_err run_errand(struct messenger *m, const struct errand *errand, bool *sent)
{
    const struct pawl__line_table *line = m->line->table;
    enum pawl_err err = be_ready(m, errand->listen);
    if (err) return err;
    if (errand->send) {
        char text[PAWL__LINE_TEXT_BYTES];
        snprintf(text, sizeof text, "%s%s%s", m->tag, errand->ready ? "r" : "",
                 errand->control ? "c" : "");
        err = line->say(m->line, text, &m->trouble);
        if (err) return err;
        *sent = true;
    }
    if (!m->listens) return PAWL_OK;
    struct caught caught = { .own = m->tag };
    err = line->read(m->line, catch_one, &caught, &m->trouble);
    if (caught.count) pass_on(m, caught.ready, caught.control, caught.count);
    return err;
}

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

/* A line that did its work is tried again at once: the other end may have been restarted. One that
 * does not come up is tried ever more seldom, and not by all processes at the same moment. */
static void fail(struct messenger *m)
{
    bool worked = m->connected && !m->failures;
    int64_t rest_ms = (int64_t)REST_MIN_MS << (m->failures < 6 ? m->failures : 6);
    if (rest_ms > REST_MAX_MS) rest_ms = REST_MAX_MS;
    rest_ms = rest_ms / 2 + (int64_t)pawl__rng_below(&m->rng, (uint64_t)rest_ms / 2);
    m->again_us = now_us() + (worked ? 0 : rest_ms * 1000);
    m->line->table->hang_up(m->line);
    m->connected = m->listens = m->deaf = false;
    m->failures++;
}

static void succeed(struct messenger *m)
{
    if (!m->deaf) m->trouble = (struct pawl_diag){ .err = PAWL_OK };
    if (!m->failures) return;
    m->failures = 0;
    pawl__lock(&m->mutex);
    m->state.reconnects++;
    pawl__unlock(&m->mutex);
    if (m->listens) pass_on(m, true, true, 0); // somebody may have spoken meanwhile
}

/* How long to sleep after it, in ms; -1: until called. */
static int turn(struct messenger *m, const struct errand *errand)
{
    bool sent = false, wanted = errand->reach || errand->send || errand->listen;
    bool rests = m->failures && now_us() < m->again_us;
    if (wanted && !rests) {
        if (run_errand(m, errand, &sent)) {
            fail(m);
        } else {
            succeed(m);
        }
    }
    report(m, errand, sent);
    if (!m->failures || !wanted) return -1;
    int64_t left_us = m->again_us - now_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

static void *run(void *arg)
{
    struct messenger *m = arg;
    for (;;) {
        struct errand errand = take_errand(m);
        if (errand.closing) break;
        int sleep_ms = turn(m, &errand);
        struct pollfd fds[] = { { .fd = m->call, .events = POLLIN },
                                { .fd = m->listens ? m->line->table->fd(m->line) : -1,
                                  .events = POLLIN } };
        (void)poll(fds, 2, sleep_ms);
        uint64_t calls;
        if (fds[0].revents & POLLIN) (void)!read(m->call, &calls, sizeof calls);
    }
    m->line->table->hang_up(m->line);
    return NULL;
}

/* ---- from outside ---- */

static struct messenger *of(struct pawl__wake *wake)
{
    return (struct messenger *)wake; // it begins with it
}

static void call(struct messenger *m)
{
    uint64_t one = 1;
    (void)!write(m->call, &one, sizeof one);
}

static bool start(struct messenger *m) PAWL__REQUIRES(m->mutex)
{
    if (!m->runs) m->runs = pawl__thread_start(&m->thread, run, m);
    return m->runs;
}

static bool start_listener(struct messenger *m) PAWL__REQUIRES(m->mutex)
{
    if (m->listener_runs) return true;
    m->listener_runs = pawl__thread_start(&m->listener_thread, run_listener, m);
    return m->listener_runs;
}

static void send_notice(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    struct messenger *m = of(wake);
    pawl__lock(&m->mutex);
    bool runs = start(m), calls = runs && !(m->unsent && m->busy);
    if (runs) {
        m->unsent = m->busy = true;
        m->ready |= notice->ready;
        m->control |= notice->control;
    }
    pawl__unlock(&m->mutex);
    if (calls) call(m);
}

static void await(struct messenger *m, const bool *flag) PAWL__REQUIRES(m->mutex)
{
    while (*flag) {
        if (!pawl__cond_wait_us(&m->said, &m->mutex, PATIENCE_US)) break;
    }
}

static enum pawl_err set_listener(struct pawl__wake *wake, pawl__notice_fn *fn, void *ctx,
                                  struct pawl_diag *diag)
{
    struct messenger *m = of(wake);
    pawl__lock(&m->mutex);
    bool runs = !fn || (start(m) && start_listener(m));
    m->fn = runs ? fn : NULL;
    m->ctx = ctx;
    m->awaited = m->fn != NULL;
    if (m->runs) call(m);
    while (m->calling) {
        pawl__cond_wait(&m->said, &m->mutex);
    }
    await(m, &m->awaited); // what others say from now on is received
    pawl__unlock(&m->mutex);
    return runs ? PAWL_OK : pawl__fail(diag, PAWL_ERR_NOMEM, "could not start a thread");
}

static void get_state(struct pawl__wake *wake, struct pawl__wake_state *out)
{
    struct messenger *m = of(wake);
    pawl__lock(&m->mutex);
    *out = m->state;
    pawl__unlock(&m->mutex);
}

static void close_messenger(struct pawl__wake *wake)
{
    struct messenger *m = of(wake);
    pawl__lock(&m->mutex);
    m->fn = NULL;
    await(m, &m->busy);
    m->closing = true;
    bool runs = m->runs, listener_runs = m->listener_runs;
    pawl__cond_broadcast(&m->news);
    pawl__unlock(&m->mutex);
    call(m);
    if (runs) pthread_join(m->thread, NULL);
    if (listener_runs) pthread_join(m->listener_thread, NULL);
    close(m->call);
    pawl__cond_release(&m->news);
    pawl__cond_release(&m->said);
    pawl__mutex_release(&m->mutex);
    m->line->table->free(m->line);
    free(m);
}

static const struct pawl__wake_table table = {
    .send = send_notice, .listen = set_listener, .state = get_state, .close = close_messenger
};

enum pawl_err pawl__messenger_open(struct pawl__line *taken_line, struct pawl__wake **out,
                                   struct pawl_diag *diag)
{
    struct messenger *m = calloc(1, sizeof *m);
    int descriptor = m ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (descriptor < 0) {
        free(m);
        taken_line->table->free(taken_line);
        return pawl__fail_nomem(diag);
    }
    uint64_t tag = pawl__rng_system_seed();
    *m = (struct messenger){ .wake.table = &table, .line = taken_line, .call = descriptor };
    snprintf(m->tag, sizeof m->tag, "%016" PRIx64, tag);
    pawl__rng_seed(&m->rng, tag);
    pawl__mutex_init(&m->mutex);
    pawl__cond_init(&m->said);
    pawl__cond_init(&m->news);
    *out = &m->wake;
    return PAWL_OK;
}

enum pawl_err pawl__messenger_reach(struct pawl__wake *wake, struct pawl_diag *diag)
{
    struct messenger *m = of(wake);
    pawl__lock(&m->mutex);
    bool runs = start(m);
    m->reach = m->busy = runs;
    if (runs) call(m);
    await(m, &m->busy);
    struct pawl_diag trouble = m->state.trouble;
    pawl__unlock(&m->mutex);
    if (!runs) return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start a thread");
    if (trouble.err != PAWL_ERR_ARG && trouble.err != PAWL_ERR_UNSUPPORTED) return PAWL_OK;
    if (diag) *diag = trouble;
    return trouble.err;
}
