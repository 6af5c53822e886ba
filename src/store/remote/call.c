/* One request to the server, over a connection that is kept for the next. */
#include "store/remote/remote.h"

#include "base/diag.h"
#include "base/json.h"

#include <string.h>
#include <sys/socket.h>

/* ---- connections ---- */

static CURL *take_handle(struct pawl__backend *backend)
{
    CURL *handle = NULL;
    pawl__lock(&backend->mutex);
    if (backend->idle_count) handle = backend->idle[--backend->idle_count];
    pawl__unlock(&backend->mutex);
    if (handle) {
        curl_easy_reset(handle); // its connection stays
        return handle;
    }
    return curl_easy_init();
}

static void give_handle(struct pawl__backend *backend, CURL *taken_handle)
{
    pawl__lock(&backend->mutex);
    if (backend->idle_count < PAWL__RM_IDLE_MAX) {
        backend->idle[backend->idle_count++] = taken_handle;
        taken_handle = NULL;
    }
    pawl__unlock(&backend->mutex);
    if (taken_handle) curl_easy_cleanup(taken_handle);
}

void pawl__rm_calls_release(struct pawl__backend *backend)
{
    while (backend->idle_count) {
        curl_easy_cleanup(backend->idle[--backend->idle_count]);
    }
}

/* ---- bodies ---- */

static size_t take_reply(char *at, size_t size, size_t count, void *ctx)
{
    struct pawl__buf *reply = ctx;
    if (reply->len + size * count > PAWL__RM_REPLY_BYTES_MAX) return 0;
    pawl__buf_add(reply, at, size * count);
    return reply->failed ? 0 : size * count;
}

struct upload {
    struct pawl_span left;
};

/* Given out piece by piece, with no way back: so libcurl cannot send it a second time when a
 * connection that it had kept turns out to be dead. */
static size_t give_body(char *at, size_t size, size_t count, void *ctx)
{
    struct upload *upload = ctx;
    size_t len = size * count < upload->left.len ? size * count : upload->left.len;
    if (len) memcpy(at, upload->left.at, len);
    upload->left.at += len;
    upload->left.len -= len;
    return len;
}

static void set_body(CURL *handle, const struct pawl__rm_call *call, struct upload *upload)
{
    if (call->path == PAWL__WIRE_PATH_HELLO) return; // a GET
    *upload = (struct upload){ .left = call->body };
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
    if (call->once) {
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(handle, CURLOPT_READDATA, upload);
    } else {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call->body.at);
    }
}

/* Commands that a host starts must not inherit our connections. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)ctx;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void pawl__rm_call_set(struct pawl__backend *backend, CURL *handle, struct pawl__buf *reply)
{
    int64_t patience_ms = backend->busy_timeout_ms;
    int64_t connect_ms = patience_ms < PAWL__RM_CONNECT_TIMEOUT_MS ? patience_ms
                                                                   : PAWL__RM_CONNECT_TIMEOUT_MS;
    if (connect_ms < PAWL__RM_CONNECT_LEAST_MS) connect_ms = PAWL__RM_CONNECT_LEAST_MS;
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L); // signals are the host's
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)(patience_ms + PAWL__RM_SERVER_TIMEOUT_MS));
    curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, (long)PAWL__RM_IDLE_S);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, backend->headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_reply);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, reply);
    if (backend->ca_file) curl_easy_setopt(handle, CURLOPT_CAINFO, backend->ca_file);
}

/* ---- what went wrong ---- */

enum pawl_err pawl__rm_not_understood(const struct pawl__backend *backend,
                                      const struct pawl_diag *why, struct pawl_diag *diag)
{
    if (why->err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    return pawl__fail_field(
        diag, PAWL_ERR_UNSUPPORTED, "store",
        "the reply of the server at \"%s\" is not what pawl %s expects (%s); use "
        "the same version on both sides",
        backend->base, PAWL_VERSION, why->text);
}

static enum pawl_err no_server(const struct pawl__backend *backend, long status,
                               struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "\"%s\" is not a pawl server, or one that is too old for this program "
                            "(status %ld)",
                            backend->base, status);
}

/* The message of an error as the server prints it; NULL: there is none, or no memory. */
static const char *server_words(const struct pawl__rm_call *call, struct pawl__arena *arena)
{
    struct pawl__json json;
    struct pawl_span text = { call->reply.at, call->reply.len };
    if (!text.len || pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, arena, &json, NULL)) return NULL;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return NULL;
    uint32_t error = pawl__json_member(&json, 0, "error");
    if (!error || json.tokens[error].type != PAWL__JSON_OBJECT) return NULL;
    uint32_t message = pawl__json_member(&json, error, "message");
    if (!message || json.tokens[message].type != PAWL__JSON_STRING) return NULL;
    return pawl__json_string(&json, message, arena, NULL);
}

/* The server knows best what is wrong: no scope, a token that it does not know, a name in Host. */
static enum pawl_err not_allowed(const struct pawl__backend *backend,
                                 const struct pawl__rm_call *call, long status,
                                 struct pawl_diag *diag)
{
    if (status == 401 && !backend->token) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "token",
                                "the server at \"%s\" asks for a token; \"pawl token add\" makes "
                                "one where its store is",
                                backend->base);
    }
    struct pawl__arena arena = { .chunks = NULL };
    const char *words = server_words(call, &arena);
    enum pawl_err err =
        pawl__fail_field(diag, PAWL_ERR_ARG, backend->token ? "token" : "",
                         "the server at \"%s\" does not allow this: %s (status %ld)", backend->base,
                         words ? words : "it does not say why", status);
    pawl__arena_release(&arena);
    return err;
}

/* A refusal in our own words comes back as what it was; false: these are not our words. */
static bool read_refusal(const struct pawl__rm_call *call, enum pawl_err *err,
                         struct pawl_diag *diag)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__wire_refusal refusal = { .err = PAWL_OK };
    struct pawl_span text = { call->reply.at, call->reply.len };
    enum pawl_err bad =
        text.len ? pawl__wire_read(text, &pawl__wire_refusal_shape, false, &arena, &refusal, NULL)
                 : PAWL_ERR_ARG;
    bool ours = !bad && refusal.err;
    if (ours) {
        *err = pawl__fail_field(diag, refusal.err, refusal.field ? refusal.field : "", "%s",
                                refusal.text ? refusal.text : pawl_err_text(refusal.err));
    }
    pawl__arena_release(&arena);
    return ours;
}

static enum pawl_err refused(const struct pawl__backend *backend, const struct pawl__rm_call *call,
                             long status, struct pawl_diag *diag)
{
    enum pawl_err err;
    if (status == 401 || status == 403) return not_allowed(backend, call, status, diag);
    if (read_refusal(call, &err, diag)) return err;
    switch (status) {
    case 413:
        return pawl__fail(diag, PAWL_ERR_LIMIT,
                          "this is more than the server at \"%s\" takes at a time; send less, or "
                          "let it take more with --body-bytes-max",
                          backend->base);
    case 408:
    case 429:
    case 503:
    case 504:
        return pawl__fail(diag, PAWL_ERR_BUSY,
                          "the server at \"%s\" is busy or stopping (status %ld); try again soon",
                          backend->base, status);
    case 500:
    case 507:
        return pawl__fail(diag, status == 507 ? PAWL_ERR_FULL : PAWL_ERR_IO,
                          "the server at \"%s\" has trouble of its own (status %ld); see its log",
                          backend->base, status);
    default:
        return no_server(backend, status, diag);
    }
}

static const char *advice_for(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "; check the server's name";
    case CURLE_COULDNT_CONNECT:
        return "; is \"pawl serve\" running there?";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return "; name who vouches for it with --ca-file";
    case CURLE_SSL_CONNECT_ERROR:
        return "; does it speak TLS? else write \"http://\"";
    default:
        return "";
    }
}

static enum pawl_err broken(struct pawl__backend *backend, struct pawl__rm_call *call, CURL *handle,
                            CURLcode code, const char *error, struct pawl_diag *diag)
{
    long sent = 0;
    if (call->reply.failed || code == CURLE_OUT_OF_MEMORY) return pawl__fail_nomem(diag);
    if (call->reply.len > PAWL__RM_REPLY_BYTES_MAX / 2 && code == CURLE_WRITE_ERROR) {
        return pawl__fail(diag, PAWL_ERR_LIMIT,
                          "the server at \"%s\" answered more than %d bytes; ask for less at a "
                          "time",
                          backend->base, PAWL__RM_REPLY_BYTES_MAX);
    }
    curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent);
    call->in_doubt = call->once && sent > 0;
    const char *why = error[0] ? error : curl_easy_strerror(code);
    return pawl__fail(diag, PAWL_ERR_IO, "could not %s the server at \"%s\": %s%s%s",
                      sent > 0 ? "hear from" : "reach", backend->base, why, advice_for(code),
                      call->in_doubt ? "; whether it did what was asked is not known" : "");
}

/* ---- a call ---- */

/* `*usable` is false when the handle must not be kept: after a failed upload libcurl 8
 * still holds in it that the body is to be rewound, and fails the next call for that. */
static enum pawl_err perform(struct pawl__backend *backend, CURL *handle,
                             struct pawl__rm_call *call, bool *usable, struct pawl_diag *diag)
{
    char error[CURL_ERROR_SIZE] = "";
    struct upload upload;
    long status = 0;
    struct pawl__buf url = { 0 };
    pawl__buf_add_text(&url, backend->base);
    pawl__buf_add_text(&url, pawl__wire_path_text(call->path));
    if (url.failed) {
        pawl__buf_release(&url);
        return pawl__fail_nomem(diag);
    }
    pawl__rm_call_set(backend, handle, &call->reply);
    curl_easy_setopt(handle, CURLOPT_URL, url.at);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error);
    set_body(handle, call, &upload);
    CURLcode code = curl_easy_perform(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, NULL); // it ends with this call
    pawl__buf_release(&url);
    *usable = code == CURLE_OK;
    if (!*usable) return broken(backend, call, handle, code, error, diag);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? PAWL_OK : refused(backend, call, status, diag);
}

enum pawl_err pawl__rm_call(struct pawl__backend *backend, struct pawl__rm_call *call,
                            struct pawl_diag *diag)
{
    call->in_doubt = false;
    CURL *handle = take_handle(backend);
    if (!handle) return pawl__fail_nomem(diag);
    bool usable = true;
    enum pawl_err err = perform(backend, handle, call, &usable, diag);
    if (usable) {
        give_handle(backend, handle);
    } else {
        curl_easy_cleanup(handle);
    }
    return err;
}
