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
    struct listener *listener; /* NULL: nobody listens */
    _Atomic int64_t received;
};

struct listener {
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
    struct listener *listener = ctx;
    (void)purpose;
    pawl__lock(&listener->mutex);
    int fd = listener->ending
                 ? -1
                 : socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    listener->socket = fd < 0 ? CURL_SOCKET_BAD : fd;
    pawl__unlock(&listener->mutex);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    struct listener *listener = ctx;
    pawl__lock(&listener->mutex);
    if (listener->socket == fd) listener->socket = CURL_SOCKET_BAD;
    int error = close(fd);
    pawl__unlock(&listener->mutex);
    return error;
}

/* ---- asking ---- */

/* False: no answer, or none that we understand. */
static bool ask(struct listener *listener, struct pawl__wire_wait *seen)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__wire_wait now = { 0 };
    long status = 0;
    seen->wait_ms = PAWL__RM_WAIT_MS;
    pawl__buf_clear(&listener->body);
    pawl__buf_clear(&listener->reply);
    pawl__wire_print(&listener->body, &pawl__wire_wait_shape, seen);
    if (listener->body.failed) return false;
    curl_easy_setopt(listener->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)listener->body.len);
    curl_easy_setopt(listener->handle, CURLOPT_POSTFIELDS, listener->body.at);
    if (curl_easy_perform(listener->handle) != CURLE_OK) return false;
    curl_easy_getinfo(listener->handle, CURLINFO_RESPONSE_CODE, &status);
    struct pawl_span text = { listener->reply.at ? listener->reply.at : "", listener->reply.len };
    bool ok = status == 200 &&
              !pawl__wire_read(text, &pawl__wire_wait_shape, false, &arena, &now, NULL);
    if (ok) *seen = now;
    pawl__arena_release(&arena);
    return ok;
}

/* True: it is over. */
static bool pause_ended(struct listener *listener, int64_t pause_ms)
{
    pawl__lock(&listener->mutex);
    if (!listener->ending && pause_ms) {
        (void)pawl__cond_wait_us(&listener->ended, &listener->mutex, pause_ms * 1000);
    }
    bool over = listener->ending;
    pawl__unlock(&listener->mutex);
    return over;
}

static void *listen_for_news(void *arg)
{
    struct listener *listener = arg;
    struct pawl__wire_wait seen = { 0 }, before;
    bool received = false; // the first answer says where we stand
    for (;;) {
        before = seen;
        bool ok = ask(listener, &seen);
        if (pause_ended(listener, ok ? 0 : PAWL__RM_PAUSE_MS)) return NULL;
        if (!ok) continue;
        bool ready = seen.ready != before.ready, control = seen.control != before.control;
        struct pawl__notice notice = { .foreign = true, .ready = ready, .control = control };
        if (received && (ready || control)) {
            atomic_fetch_add(&listener->wake->received, 1);
            listener->fn(listener->ctx, &notice);
        }
        received = true;
    }
}

/* ---- beginning and end ---- */

static void free_listener(struct listener *listener)
{
    if (listener->handle) curl_easy_cleanup(listener->handle);
    pawl__buf_release(&listener->url);
    pawl__buf_release(&listener->body);
    pawl__buf_release(&listener->reply);
    pawl__cond_release(&listener->ended);
    pawl__mutex_release(&listener->mutex);
    free(listener);
}

static void end_listening(struct rm_wake *wake)
{
    struct listener *listener = wake->listener;
    if (!listener) return;
    wake->listener = NULL;
    pawl__lock(&listener->mutex);
    listener->ending = true;
    if (listener->socket != CURL_SOCKET_BAD) shutdown(listener->socket, SHUT_RDWR);
    pawl__cond_signal(&listener->ended);
    pawl__unlock(&listener->mutex);
    pthread_join(listener->thread, NULL);
    free_listener(listener);
}

static bool set_up(struct listener *listener)
{
    struct pawl__backend *backend = listener->backend;
    pawl__buf_add_text(&listener->url, backend->base);
    pawl__buf_add_text(&listener->url, pawl__wire_path_text(PAWL__WIRE_PATH_WAIT));
    listener->handle = curl_easy_init();
    if (listener->url.failed || !listener->handle) return false;
    pawl__rm_call_set(backend, listener->handle, &listener->reply);
    curl_easy_setopt(listener->handle, CURLOPT_URL, listener->url.at);
    curl_easy_setopt(listener->handle, CURLOPT_POST, 1L);
    curl_easy_setopt(listener->handle, CURLOPT_TIMEOUT_MS, 2L * PAWL__RM_WAIT_MS);
    curl_easy_setopt(listener->handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(listener->handle, CURLOPT_OPENSOCKETDATA, listener);
    curl_easy_setopt(listener->handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(listener->handle, CURLOPT_CLOSESOCKETDATA, listener);
    return true;
}

static struct rm_wake *of(struct pawl__wake *wake)
{
    return (struct rm_wake *)wake; // it begins with it
}

static void send_notice(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    (void)wake;
    (void)notice;
}

static enum pawl_err set_listener(struct pawl__wake *wake, pawl__notice_fn *fn, void *ctx,
                                  struct pawl_diag *diag)
{
    struct rm_wake *its = of(wake);
    end_listening(its);
    if (!fn) return PAWL_OK;
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) return pawl__fail_nomem(diag);
    *listener = (struct listener){
        .wake = its, .backend = its->backend, .fn = fn, .ctx = ctx, .socket = CURL_SOCKET_BAD
    };
    pawl__mutex_init(&listener->mutex);
    pawl__cond_init(&listener->ended);
    if (!set_up(listener) || !pawl__thread_start(&listener->thread, listen_for_news, listener)) {
        free_listener(listener);
        return pawl__fail_nomem(diag);
    }
    its->listener = listener;
    return PAWL_OK;
}

static void get_state(struct pawl__wake *wake, struct pawl__wake_state *out)
{
    *out = (struct pawl__wake_state){ .received = atomic_load(&of(wake)->received) };
}

static void close_wake(struct pawl__wake *wake)
{
    end_listening(of(wake));
    free(of(wake));
}

static const struct pawl__wake_table table = {
    .send = send_notice, .listen = set_listener, .state = get_state, .close = close_wake
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
