/* Opening, ticking and closing the components, and what they are told. */
#include "http/components.h"
#include "base/diag.h"
#include "http/auth.h"
#include "http/routes.h"
#include "http/local/local.h"
#include "http/events/events.h"
#include "http/ojs/ojs.h"
#include "http/metrics.h"
#include "http/remote/remote.h"

#include <unistd.h>

enum pawl_err pawl__components_open(struct pawl__server *server, struct pawl_diag *diag)
{
    const struct pawl__http_config *config = &server->config;
    const struct pawl__log_config log = { .fd = STDERR_FILENO,
                                          .level = config->log_level,
                                          .format = config->log_format };
    enum pawl_err err = pawl__log_new(&log, &server->log, diag);
    if (!err) err = pawl__auth_new(server, &server->auth, diag);
    if (err) return err;
    server->results = pawl__results_new(server);
    server->leases = pawl__leases_new();
    server->workers = pawl__workers_new();
    server->rates = pawl__rates_new();
    server->throughput = pawl__throughput_new();
    server->remote = pawl__remote_new();
    if (!server->results || !server->leases || !server->workers || !server->rates ||
        !server->throughput || !server->remote) {
        return pawl__fail_nomem(diag);
    }
    err = pawl__queues_load(server, diag);
    if (!err) err = pawl__waiters_new(server, diag);
    if (err) return err;
    if (config->tls_cert) {
        err = pawl__tls_context_new(config->tls_cert, config->tls_key, &server->tls, diag);
    }
    if (!err) err = pawl__metrics_new(server, diag);
    if (!err) err = pawl__streams_new(server, diag);
    if (!err) err = pawl__events_new(server, diag); // last: it tells the others
    return err;
}

void pawl__components_tick(struct pawl__server *server)
{
    pawl__auth_tick(server->auth);
    pawl__results_tick(server->results);
    pawl__workers_tick(server);
    pawl__waiters_tick(server);
    pawl__streams_tick(server->streams);
    pawl__remote_tick(server);
    pawl__memory_tick(server);
}

void pawl__components_drain(struct pawl__server *server)
{
    pawl__waiters_drain(server);
    pawl__streams_drain(server->streams);
    pawl__remote_drain(server);
}

static void answered(struct pawl__request *request)
{
    pawl__metrics_answered(request->server->metrics, request);
    if (request->server->config.access_log) pawl__log_access(request->server->log, request);
}

static void moved(struct pawl__server *server, const struct pawl_moved *move, int64_t since_ms)
{
    pawl__leases_moved(server, move);
    pawl__results_moved(server->results, move);
    pawl__remote_moved(server, move);
    pawl__throughput_moved(server->throughput, move, since_ms);
    pawl__metrics_moved(server->metrics, move, since_ms);
}

static void ready(struct pawl__server *server, bool foreign)
{
    if (foreign) pawl__results_foreign(server->results);
    pawl__waiters_wake(server);
    pawl__remote_ready(server, foreign);
}

const struct pawl__server_hooks pawl__server_hooks = {
    .admit = pawl__admit,
    .dispatch = pawl__dispatch,
    .answered = answered,
    .moved = moved,
    .ready = ready,
};

void pawl__components_reload(struct pawl__server *server)
{
    struct pawl_diag diag;
    if (!server->tls) return;
    if (pawl__tls_context_reload(server->tls, &diag)) {
        pawl__log(server->log, PAWL__LOG_ERROR, NULL, "the old certificate stays in force: %s",
                  diag.text);
    } else {
        pawl__log(server->log, PAWL__LOG_INFO, NULL, "certificate and key were read again");
    }
}

void pawl__components_close(struct pawl__server *server)
{
    pawl__events_free(server->events); // first: it tells the others
    pawl__streams_free(server->streams);
    pawl__metrics_free(server->metrics);
    pawl__results_free(server->results);
    pawl__waiters_free(server);
    pawl__rates_free(server->rates);
    pawl__remote_free(server->remote);
    pawl__throughput_free(server->throughput);
    pawl__workers_free(server->workers);
    pawl__leases_free(server->leases);
    pawl__tls_context_free(server->tls);
    pawl__auth_free(server->auth);
    pawl__log_free(server->log);
}
