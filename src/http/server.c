/* Opening, running and stopping the server.
 *
 * Stopping is a state: no more connections, idle ones closed, parked requests answered, what is
 * under way finished until the deadline, the rest cut off. */
#include "base/clock.h"
#include "base/diag.h"
#include "base/notify.h"
#include "http/auth.h"
#include "http/components.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKLOG = 1024, TICK_MS = 500 };

/* ---- stopping ---- */

static void close_if_open(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* Is there nothing left to wait for? What the store still has to answer is waited for in any case:
 * the answers point into requests. */
static void on_ending(uv_check_t *check)
{
    struct pawl__server *server = check->data;
    if (!server->conns && !server->working) uv_stop(&server->loop);
}

/* A third signal does what signals do to those who do not take them. */
static void hurry(struct pawl__server *server)
{
    server->stop_at_ms = pawl__server_now(server);
    uv_signal_stop(&server->terminate);
    uv_signal_stop(&server->interrupt);
    pawl__log(server->log, PAWL__LOG_WARNING, NULL,
              "asked twice to stop: cutting off what is left");
}

static void begin_stop(struct pawl__server *server)
{
    if (server->stopping) {
        hurry(server);
    } else {
        server->stopping = true;
        server->stop_at_ms = pawl__server_now(server) + server->config.drain_ms;
        atomic_store(&server->ready, false);
        close_if_open((uv_handle_t *)&server->listener);
        if (!server->config.metrics_only) {
            pawl__notify("STOPPING=1");
            pawl__log(server->log, PAWL__LOG_INFO, NULL, "stopping");
        }
        pawl__components_drain(server);
        uv_check_start(&server->ending, on_ending);
    }
    pawl__conns_drain(server, pawl__server_now(server) >= server->stop_at_ms);
}

/* Whoever sends requests here is told first, and has time to look elsewhere; those who still come
 * are served. A second signal does not wait for that. */
static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    struct pawl__server *server = signal->data;
    bool was_ready = atomic_exchange(&server->ready, false);
    if (was_ready && server->config.unready_ms > 0) {
        server->leave_at_ms = pawl__server_now(server) + server->config.unready_ms;
        pawl__log(server->log, PAWL__LOG_INFO, NULL, "not ready any more, stopping soon");
    } else {
        begin_stop(server);
    }
}

static void on_asked_to_stop(uv_async_t *async)
{
    begin_stop(async->data);
}

static void on_hangup(uv_signal_t *signal, int number)
{
    (void)number;
    pawl__components_reload(signal->data);
}

static void close_all(uv_handle_t *handle, void *arg)
{
    (void)arg;
    close_if_open(handle);
}

static void on_tick(uv_timer_t *timer)
{
    struct pawl__server *server = timer->data;
    pawl__conn_accept_again(server);
    pawl__conns_tick(server);
    pawl__components_tick(server);
    int64_t now_ms = pawl__server_now(server);
    if (server->stopping) {
        pawl__conns_drain(server, now_ms >= server->stop_at_ms);
    } else if (server->leave_at_ms && now_ms >= server->leave_at_ms) {
        begin_stop(server);
    }
}

void pawl__http_stop(struct pawl__server *server)
{
    uv_async_send(&server->asked_to_stop);
}

/* ---- opening ---- */

/* "ADDRESS:PORT" with an IPv6 address in brackets. */
static bool parse_address(const char *text, struct sockaddr_storage *out)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof host) return false;
    char *end;
    long port = strtol(colon + 1, &end, 10);
    if (!isdigit((unsigned char)colon[1]) || *end || port > 65535) return false;
    size_t len = (size_t)(colon - text);
    bool six = text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(six ? len - 2 : len), six ? text + 1 : text);
    if (strcmp(host, "localhost") == 0) snprintf(host, sizeof host, "127.0.0.1");
    return (six ? uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)out)
                : uv_ip4_addr(host, (int)port, (struct sockaddr_in *)out)) == 0;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    }
    return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
}

static enum pawl_err check_exposure(struct pawl__server *server, struct pawl_diag *diag)
{
    if (!server->exposed) return PAWL_OK;
    if (server->config.test_mode) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "listen",
                                "\"%s\" can be reached from outside, and test mode lets anybody "
                                "erase everything: listen on 127.0.0.1",
                                server->config.listen);
    }
    if (pawl__auth_has_tokens(server->auth)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "listen",
                            "\"%s\" can be reached from outside, and there is no token: make one "
                            "with `pawl token add --scope admin`, or listen on 127.0.0.1",
                            server->config.listen);
}

static void note_url(struct pawl__server *server)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    char host[INET6_ADDRSTRLEN] = "";
    uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &len);
    bool six = address.ss_family == AF_INET6;
    uv_ip_name((struct sockaddr *)&address, host, sizeof host);
    int port = ntohs(six ? ((struct sockaddr_in6 *)&address)->sin6_port
                         : ((struct sockaddr_in *)&address)->sin_port);
    snprintf(server->url, sizeof server->url, six ? "%s://[%s]:%d" : "%s://%s:%d",
             server->config.tls_cert ? "https" : "http", host, port);
}

static enum pawl_err listen_at(struct pawl__server *server, const struct sockaddr_storage *address,
                               struct pawl_diag *diag)
{
    static const struct {
        int status;
        const char *advice;
    } advices[] = {
        { UV_EADDRINUSE, ": stop the program that listens there, or choose another port" },
        { UV_EACCES, ": choose a port from 1024 on, or let a proxy listen there" },
        { UV_EADDRNOTAVAIL, ": this machine has no such address" },
    };
    int status = uv_tcp_bind(&server->listener, (const struct sockaddr *)address, 0);
    if (!status) {
        status = uv_listen((uv_stream_t *)&server->listener, BACKLOG, pawl__conn_accept);
    }
    if (status) {
        const char *advice = "";
        for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
            if (advices[i].status == status) advice = advices[i].advice;
        }
        return pawl__fail_field(diag, PAWL_ERR_IO, "listen", "could not listen on \"%s\": %s%s",
                                server->config.listen, uv_strerror(status), advice);
    }
    note_url(server);
    return PAWL_OK;
}

static void complete_config(struct pawl__server *server, const struct pawl__http_config *config)
{
    struct pawl__http_config *own = &server->config;
    *own = *config;
    if (!own->listen) own->listen = "127.0.0.1:8080";
    if (!own->drain_ms) own->drain_ms = 30000;
    if (!own->store_type) own->store_type = "unknown";
#define X(name, usual, ...)                                                                        \
    if (!own->limits.name) own->limits.name = usual;
    PAWL__HTTP_LIMITS(X)
#undef X
}

static bool init_handles(struct pawl__server *server)
{
    if (uv_loop_init(&server->loop)) return false;
    bool ok = !uv_tcp_init(&server->loop, &server->listener) &&
              !uv_async_init(&server->loop, &server->answered, pawl__answers_read) &&
              !uv_async_init(&server->loop, &server->asked_to_stop, on_asked_to_stop) &&
              !uv_timer_init(&server->loop, &server->tick) &&
              !uv_check_init(&server->loop, &server->ending) &&
              !uv_idle_init(&server->loop, &server->turns) &&
              !uv_signal_init(&server->loop, &server->terminate) &&
              !uv_signal_init(&server->loop, &server->interrupt) &&
              !uv_signal_init(&server->loop, &server->hangup);
    server->listener.data = server->answered.data = server->asked_to_stop.data = server;
    server->tick.data = server->terminate.data = server->interrupt.data = server;
    server->hangup.data = server->ending.data = server->turns.data = server;
    return ok;
}

/* From before anybody is told that we listen: who hears of it may stop us at once. */
static bool take_signals(struct pawl__server *server)
{
    return signal(SIGPIPE, SIG_IGN) != SIG_ERR && // clients go away while they are written to
           !uv_signal_start(&server->terminate, on_signal, SIGTERM) &&
           !uv_signal_start(&server->interrupt, on_signal, SIGINT) &&
           !uv_signal_start(&server->hangup, on_hangup, SIGHUP);
}

/* What config and options can get wrong together. */
static enum pawl_err check_config(struct pawl__server *server, struct sockaddr_storage *address,
                                  struct pawl_diag *diag)
{
    const struct pawl__http_config *config = &server->config;
    if (!parse_address(config->listen, address)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "listen",
                                "\"%s\" is not an address and a port, like 127.0.0.1:8080",
                                config->listen);
    }
    if (!config->tls_cert != !config->tls_key) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, config->tls_cert ? "tls-key" : "tls-cert",
                                "a certificate and its key go together");
    }
    for (size_t i = 0; i < config->host_count; i++) {
        if (pawl__host_is_one(config->hosts[i])) continue;
        return pawl__fail_field(diag, PAWL_ERR_ARG, "allow-host",
                                "\"%s\" is not a name or an address, like jobs.example.com",
                                config->hosts[i]);
    }
    if (config->cors_origin && !pawl__origin_is_one(config->cors_origin)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "cors-origin",
                                "\"%s\" is not an origin, like https://jobs.example.com, nor *",
                                config->cors_origin);
    }
    if (config->limits.json_depth_max > PAWL_JSON_DEPTH_MAX) { // the library's own bound
        return pawl__fail_field(diag, PAWL_ERR_ARG, "json-depth-max",
                                "json-depth-max must lie between 1 and %d", PAWL_JSON_DEPTH_MAX);
    }
    server->exposed = !is_loopback(address);
    return PAWL_OK;
}

enum pawl_err pawl__http_open(const struct pawl__http_config *config, struct pawl__server **out,
                              struct pawl_diag *diag)
{
    assert(config && config->pawl && out);
    struct sockaddr_storage address = { 0 };
    struct pawl__server *server = calloc(1, sizeof *server);
    if (!server) return pawl__fail_nomem(diag);
    complete_config(server, config);
    server->hooks = &pawl__server_hooks;
    server->pawl = config->pawl;
    server->started_at_ms = pawl__clock_wall_ms(&pawl__clock_system);
    pawl__mutex_init(&server->mutex);
    server->peers.salt = pawl__rng_system_seed();
    pawl__idgen_init(&server->ids, &pawl__clock_system, pawl__rng_system_seed());
    enum pawl_err err = PAWL_OK;
    if (!init_handles(server)) err = pawl__fail(diag, PAWL_ERR_NOMEM, "could not make a loop");
    if (!err) err = check_config(server, &address, diag);
    if (!err) err = pawl__components_open(server, diag);
    if (!err) err = check_exposure(server, diag);
    if (!err) err = listen_at(server, &address, diag);
    if (!err && !config->metrics_only && !take_signals(server))
        err = pawl__fail(diag, PAWL_ERR_IO, "could not take signals");
    if (err) {
        pawl__http_close(server);
        return err;
    }
    *out = server;
    return PAWL_OK;
}

const char *pawl__http_url(const struct pawl__server *server)
{
    return server->url;
}

void pawl__http_run(struct pawl__server *server)
{
    uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
    atomic_store(&server->ready, true);
    uv_run(&server->loop, UV_RUN_DEFAULT);
}

void pawl__http_close(struct pawl__server *server)
{
    if (!server) return;
    pawl__components_close(server);
    uv_walk(&server->loop, close_all, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    uv_loop_close(&server->loop);
    pawl__requests_release(server);
    pawl__buf_release(&server->out);
    pawl__idgen_release(&server->ids);
    pawl__mutex_release(&server->mutex);
    free(server);
}
