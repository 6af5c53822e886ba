/* Opening and closing, and what a server elsewhere cannot do for us. */
#include "store/remote/remote.h"

#include "base/clock.h"
#include "base/diag.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- the URL ---- */

static enum pawl_err bad_url(CURLUcode code, struct pawl_diag *diag)
{
    if (code == CURLUE_OUT_OF_MEMORY) return pawl__fail_nomem(diag);
    return pawl__fail_field(diag, PAWL_ERR_ARG, "store",
                            "the server's URL is not one (%s); write \"http://HOST:PORT\"",
                            curl_url_strerror(code));
}

/* Takes the token out, for the base stands in messages. */
static enum pawl_err take_token(CURLU *url, struct pawl__backend *backend, struct pawl_diag *diag)
{
    char *user = NULL;
    CURLUcode code = curl_url_get(url, CURLUPART_USER, &user, CURLU_URLDECODE);
    if (code == CURLUE_NO_USER) return PAWL_OK;
    if (code) return bad_url(code, diag);
    if (!backend->token) backend->token = strdup(user);
    curl_free(user);
    if (!backend->token) return pawl__fail_nomem(diag);
    code = curl_url_set(url, CURLUPART_USER, NULL, 0);
    if (!code) code = curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    return code ? bad_url(code, diag) : PAWL_OK;
}

static enum pawl_err take_base(CURLU *url, struct pawl__backend *backend, struct pawl_diag *diag)
{
    char *text = NULL;
    char *query = NULL;
    if (!curl_url_get(url, CURLUPART_QUERY, &query, 0)) {
        curl_free(query);
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store",
                                "a server's URL has no query; write \"http://HOST:PORT\"");
    }
    CURLUcode code = curl_url_get(url, CURLUPART_URL, &text, 0);
    if (code) return bad_url(code, diag);
    size_t len = strlen(text);
    while (len && text[len - 1] == '/') {
        len--;
    }
    backend->base = strndup(text, len);
    curl_free(text);
    return backend->base ? PAWL_OK : pawl__fail_nomem(diag);
}

static enum pawl_err take_url(const struct pawl_config *config, struct pawl__backend *backend,
                              struct pawl_diag *diag)
{
    CURLU *url = curl_url();
    if (!url) return pawl__fail_nomem(diag);
    CURLUcode code = curl_url_set(url, CURLUPART_URL, config->store, 0);
    enum pawl_err err = code ? bad_url(code, diag) : take_token(url, backend, diag);
    if (!err) err = take_base(url, backend, diag);
    curl_url_cleanup(url);
    return err;
}

/* ---- headers ---- */

static bool add_header(struct pawl__backend *backend, const char *text)
{
    struct curl_slist *longer = curl_slist_append(backend->headers, text);
    if (longer) backend->headers = longer;
    return longer;
}

static enum pawl_err make_headers(struct pawl__backend *backend, struct pawl_diag *diag)
{
    struct pawl__buf token = { 0 };
    bool ok = add_header(backend, "Content-Type: application/json") &&
              add_header(backend, "Accept: application/json") && add_header(backend, "Expect:");
    if (ok && backend->token) {
        pawl__buf_add_text(&token, "Authorization: Bearer ");
        pawl__buf_add_text(&token, backend->token);
        ok = !token.failed && add_header(backend, token.at);
    }
    pawl__buf_release(&token);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}

static enum pawl_err check_token(const struct pawl__backend *backend, struct pawl_diag *diag)
{
    for (const char *at = backend->token; at && *at; at++) {
        if (*at <= ' ' || *at > '~') { // it would break out of its header
            return pawl__fail_field(diag, PAWL_ERR_ARG, "token",
                                    "a token has no blanks and no control characters");
        }
    }
    return PAWL_OK;
}

/* ---- open ---- */

static enum pawl_err say_hello(struct pawl__backend *backend, struct pawl_diag *diag)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__wire_hello hello = { 0 };
    struct pawl_diag why = { 0 };
    struct pawl__rm_call call = { .path = PAWL__WIRE_PATH_HELLO };
    enum pawl_err err = pawl__rm_call(backend, &call, diag);
    if (err) goto out;
    struct pawl_span text = { call.reply.at ? call.reply.at : "", call.reply.len };
    err = pawl__wire_read(text, &pawl__wire_hello_shape, false, &arena, &hello, &why);
    if (err || !hello.pawl || !hello.protocol) {
        if (!err) pawl__fail(&why, PAWL_ERR_ARG, "it does not say which pawl it is");
        err = pawl__rm_not_understood(backend, &why, diag);
    } else if (hello.protocol != PAWL__WIRE_PROTOCOL) {
        err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                               "the server at \"%s\" is pawl %.20s and speaks protocol %lld, this "
                               "is pawl %s and speaks %d; use the same version on both sides",
                               backend->base, hello.pawl, (long long)hello.protocol, PAWL_VERSION,
                               PAWL__WIRE_PROTOCOL);
    } else {
        backend->body_max = hello.body_max > PAWL__RM_BODY_BYTES_MIN ? hello.body_max
                                                                     : PAWL__RM_BODY_BYTES_MIN;
    }
out:
    pawl__buf_release(&call.reply);
    pawl__arena_release(&arena);
    return err;
}

static void close_store(struct pawl__backend *backend)
{
    pawl__rm_calls_release(backend);
    curl_slist_free_all(backend->headers);
    pawl__mutex_release(&backend->mutex);
    free(backend->base);
    free(backend->token);
    free(backend->ca_file);
    free(backend);
}

static enum pawl_err copy(const char *text, char **out, struct pawl_diag *diag)
{
    if (!text || !*text) return PAWL_OK;
    *out = strdup(text);
    return *out ? PAWL_OK : pawl__fail_nomem(diag);
}

/* libcurl's own, once for the process: it has no other way. */
static pthread_once_t curl_begun = PTHREAD_ONCE_INIT;

static void begin_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static enum pawl_err open_store(const struct pawl_config *config, struct pawl__backend **out,
                                struct pawl_diag *diag)
{
    pthread_once(&curl_begun, begin_curl);
    struct pawl__backend *backend = calloc(1, sizeof *backend);
    if (!backend) return pawl__fail_nomem(diag);
    pawl__mutex_init(&backend->mutex);
    backend->busy_timeout_ms = config->busy_timeout_ms;
    backend->clock = config->clock ? config->clock : &pawl__clock_system;
    enum pawl_err err = copy(config->token, &backend->token, diag);
    if (!err) err = copy(config->ca_file, &backend->ca_file, diag);
    if (!err) err = take_url(config, backend, diag);
    if (!err) err = check_token(backend, diag);
    if (!err) err = make_headers(backend, diag);
    if (!err) err = say_hello(backend, diag);
    if (err) {
        close_store(backend);
        return err;
    }
    *out = backend;
    return PAWL_OK;
}

static enum pawl_err reopen_store(struct pawl__backend *backend, struct pawl_diag *diag)
{
    return say_hello(backend, diag);
}

/* ---- what commits tell ---- */

static void note(struct pawl__backend *backend, bool all_moves)
{
    (void)backend;
    (void)all_moves; // the server knows its moves; its own listeners hear of them
}

static bool get_notice(struct pawl__backend *backend, struct pawl__notice *out)
{
    out->ready = backend->ready;
    return backend->ready;
}

/* ---- what must be done where the store is ---- */

static enum pawl_err elsewhere(const struct pawl__backend *backend, const char *what,
                               struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "%s needs the store itself; run it where the server at \"%s\" keeps "
                            "it",
                            what, backend->base);
}

static enum pawl_err backup(struct pawl__backend *backend, const char *path,
                            pawl_progress_fn *progress, void *ctx, struct pawl_diag *diag)
{
    (void)path;
    (void)progress;
    (void)ctx;
    return elsewhere(backend, "a backup", diag);
}

static enum pawl_err check(struct pawl__backend *backend, pawl_finding_fn *report, void *ctx,
                           struct pawl_diag *diag)
{
    (void)report;
    (void)ctx;
    return elsewhere(backend, "looking for damage", diag);
}

/* The server saw to it when it opened the store. */
static enum pawl_err read_schema(const struct pawl_config *config, struct pawl_schema *out,
                                 struct pawl_diag *diag)
{
    struct pawl__backend *backend = NULL;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_stats stats = { 0 };
    enum pawl_err err = open_store(config, &backend, diag);
    if (err) return err;
    err = pawl__rm_stats(backend, &arena, &stats, diag);
    if (!err) {
        *out =
            (struct pawl_schema){ .version = stats.schema_version, .newest = stats.schema_version };
    }
    pawl__arena_release(&arena);
    close_store(backend);
    return err;
}

static const struct pawl__backend_table table = {
    .scheme = "http",
    .name = "http",
    .open = open_store,
    .close = close_store,
    .apply = pawl__rm_apply,
    .reopen = reopen_store,
    .note = note,
    .get_notice = get_notice,
    .wake = pawl__rm_wake,
    .get = pawl__rm_get,
    .query = pawl__rm_query,
    .count = pawl__rm_count,
    .story = pawl__rm_story,
    .stats = pawl__rm_stats,
    .nodes = pawl__rm_nodes,
    .locks = pawl__rm_locks,
    .setting = pawl__rm_setting,
    .settings = pawl__rm_settings,
    .tokens = pawl__rm_tokens,
    .schemas = pawl__rm_schemas,
    .configs = pawl__rm_configs,
    .flows = pawl__rm_flows,
    .schedules = pawl__rm_schedules,
    .backup = backup,
    .check = check,
    .schema = read_schema,
};

const struct pawl__store_module pawl_store_module = PAWL__STORE_MODULE(&table);
