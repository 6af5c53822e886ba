/* Waiting for news: a question that the server answers when something has happened. Others are not
 * told from here: the server does that.
 *
 * The thread sits in libcurl meanwhile. To end it, its socket is shut down under its feet; so that
 * this never hits a socket of somebody else's, the number is kept under a lock while it is open.
 * News only save time, so trouble is met with a pause and another try. */
#include "store/remote/remote.h"

#include "base/diag.h"
#include "store/wake.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct rm_wake {
    struct pawl__wake wake;
    struct pawl__backend *backend;
    struct ear *ear; /* NULL: nobody listens */
    _Atomic int64_t heard;
};

struct ear {
    struct rm_wake *wake;
    struct pawl__backend *backend;
    pawl__notice_fn *fn;
    void *ctx;
    pthread_t thread;
    CURL *handle;
    struct pawl__buf url, body, reply;

    struct pawl__mutex mutex;
    struct pawl__cond ended;
    /* guarded by mutex: */
    bool ending;
    curl_socket_t socket; /* CURL_SOCKET_BAD: none is open */
};

/* ---- the socket ---- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct ear *ear = ctx;
    (void)purpose;
    pawl__lock(&ear->mutex);
    int fd = ear->ending
                 ? -1
                 : socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    ear->socket = fd < 0 ? CURL_SOCKET_BAD : fd;
    pawl__unlock(&ear->mutex);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    struct ear *ear = ctx;
    pawl__lock(&ear->mutex);
    if (ear->socket == fd) ear->socket = CURL_SOCKET_BAD;
    int error = close(fd);
    pawl__unlock(&ear->mutex);
    return error;
}

/* ---- asking ---- */

/* False: no answer, or none that we understand. */
static bool ask(struct ear *ear, struct pawl__wire_wait *seen)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__wire_wait now = { 0 };
    long status = 0;
    seen->wait_ms = PAWL__RM_WAIT_MS;
    pawl__buf_clear(&ear->body);
    pawl__buf_clear(&ear->reply);
    pawl__wire_print(&ear->body, &pawl__wire_wait_shape, seen);
    if (ear->body.failed) return false;
    curl_easy_setopt(ear->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ear->body.len);
    curl_easy_setopt(ear->handle, CURLOPT_POSTFIELDS, ear->body.at);
    if (curl_easy_perform(ear->handle) != CURLE_OK) return false;
    curl_easy_getinfo(ear->handle, CURLINFO_RESPONSE_CODE, &status);
    struct pawl_span text = { ear->reply.at ? ear->reply.at : "", ear->reply.len };
    bool ok = status == 200 &&
              !pawl__wire_read(text, &pawl__wire_wait_shape, false, &arena, &now, NULL);
    if (ok) *seen = now;
    pawl__arena_release(&arena);
    return ok;
}

/* True: it is over. */
static bool pause_ended(struct ear *ear, int64_t pause_ms)
{
    pawl__lock(&ear->mutex);
    if (!ear->ending && pause_ms) {
        (void)pawl__cond_wait_us(&ear->ended, &ear->mutex, pause_ms * 1000);
    }
    bool over = ear->ending;
    pawl__unlock(&ear->mutex);
    return over;
}

static void *listen_for_news(void *arg)
{
    struct ear *ear = arg;
    struct pawl__wire_wait seen = { 0 }, before;
    bool heard = false; // the first answer says where we stand
    for (;;) {
        before = seen;
        bool ok = ask(ear, &seen);
        if (pause_ended(ear, ok ? 0 : PAWL__RM_PAUSE_MS)) return NULL;
        if (!ok) continue;
        bool ready = seen.ready != before.ready, control = seen.control != before.control;
        struct pawl__notice notice = { .foreign = true, .ready = ready, .control = control };
        if (heard && (ready || control)) {
            atomic_fetch_add(&ear->wake->heard, 1);
            ear->fn(ear->ctx, &notice);
        }
        heard = true;
    }
}

/* ---- beginning and end ---- */

static void free_ear(struct ear *ear)
{
    if (ear->handle) curl_easy_cleanup(ear->handle);
    pawl__buf_release(&ear->url);
    pawl__buf_release(&ear->body);
    pawl__buf_release(&ear->reply);
    pawl__cond_release(&ear->ended);
    pawl__mutex_release(&ear->mutex);
    free(ear);
}

static void end_hearing(struct rm_wake *wake)
{
    struct ear *ear = wake->ear;
    if (!ear) return;
    wake->ear = NULL;
    pawl__lock(&ear->mutex);
    ear->ending = true;
    if (ear->socket != CURL_SOCKET_BAD) shutdown(ear->socket, SHUT_RDWR);
    pawl__cond_signal(&ear->ended);
    pawl__unlock(&ear->mutex);
    pthread_join(ear->thread, NULL);
    free_ear(ear);
}

static bool set_up(struct ear *ear)
{
    struct pawl__backend *backend = ear->backend;
    pawl__buf_add_text(&ear->url, backend->base);
    pawl__buf_add_text(&ear->url, pawl__wire_path_text(PAWL__WIRE_PATH_WAIT));
    ear->handle = curl_easy_init();
    if (ear->url.failed || !ear->handle) return false;
    pawl__rm_call_set(backend, ear->handle, &ear->reply);
    curl_easy_setopt(ear->handle, CURLOPT_URL, ear->url.at);
    curl_easy_setopt(ear->handle, CURLOPT_POST, 1L);
    curl_easy_setopt(ear->handle, CURLOPT_TIMEOUT_MS, 2L * PAWL__RM_WAIT_MS);
    curl_easy_setopt(ear->handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(ear->handle, CURLOPT_OPENSOCKETDATA, ear);
    curl_easy_setopt(ear->handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(ear->handle, CURLOPT_CLOSESOCKETDATA, ear);
    return true;
}

static struct rm_wake *of(struct pawl__wake *wake)
{
    return (struct rm_wake *)wake; // it begins with it
}

static void tell(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    (void)wake;
    (void)notice;
}

static enum pawl_err hear(struct pawl__wake *wake, pawl__notice_fn *fn, void *ctx,
                          struct pawl_diag *diag)
{
    struct rm_wake *its = of(wake);
    end_hearing(its);
    if (!fn) return PAWL_OK;
    struct ear *ear = calloc(1, sizeof *ear);
    if (!ear) return pawl__fail_nomem(diag);
    *ear = (struct ear){
        .wake = its, .backend = its->backend, .fn = fn, .ctx = ctx, .socket = CURL_SOCKET_BAD
    };
    pawl__mutex_init(&ear->mutex);
    pawl__cond_init(&ear->ended);
    if (!set_up(ear) || !pawl__thread_start(&ear->thread, listen_for_news, ear)) {
        free_ear(ear);
        return pawl__fail_nomem(diag);
    }
    its->ear = ear;
    return PAWL_OK;
}

static void look(struct pawl__wake *wake, struct pawl__wake_state *out)
{
    *out = (struct pawl__wake_state){ .heard = atomic_load(&of(wake)->heard) };
}

static void close_wake(struct pawl__wake *wake)
{
    end_hearing(of(wake));
    free(of(wake));
}

static const struct pawl__wake_table table = {
    .tell = tell, .hear = hear, .state = look, .close = close_wake
};

enum pawl_err pawl__rm_wake(struct pawl__backend *backend, const char *url, struct pawl__wake **out,
                            struct pawl_diag *diag)
{
    (void)url; // there is no other way than the server's
    struct rm_wake *wake = calloc(1, sizeof *wake);
    if (!wake) return pawl__fail_nomem(diag);
    wake->wake.table = &table;
    wake->backend = backend;
    *out = &wake->wake;
    return PAWL_OK;
}
