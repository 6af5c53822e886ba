/* Counting: moves of jobs by queue and type, requests by route and status. */
#include "http/metrics.h"
#include "base/clock.h"
#include "base/diag.h"
#include "http/local/local.h"
#include "http/events/events.h"
#include "http/metrics_inside.h"
#include "base/names.h"
#include "http/routes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_PLACES = 2048 };

_Static_assert(INDEX_PLACES > 2 * PAWL__METRIC_SERIES_MAX, "lookups must meet an empty place");

/* ---- jobs ---- */

static struct pawl__series *add_series(struct pawl__metrics *metrics, uint32_t hash,
                                       const struct pawl_moved *moved)
{
    struct pawl__series *others = &metrics->series[PAWL__METRIC_SERIES_MAX];
    if (metrics->series_count == PAWL__METRIC_SERIES_MAX) return others;
    struct pawl__series *series = &metrics->series[metrics->series_count];
    char *queue = strdup(moved->queue);
    char *type = strdup(moved->type);
    if (!queue || !type) {
        free(queue);
        free(type);
        return others;
    }
    *series = (struct pawl__series){ .queue = queue, .type = type, .hash = hash };
    metrics->series_count++;
    return series;
}

static struct pawl__series *series_of(struct pawl__metrics *metrics, const struct pawl_moved *moved)
{
    uint32_t hash = pawl__hash(moved->queue, strlen(moved->queue)) * 31 +
                    pawl__hash(moved->type, strlen(moved->type));
    size_t i = hash % INDEX_PLACES;
    for (; metrics->index[i]; i = (i + 1) % INDEX_PLACES) {
        struct pawl__series *series = &metrics->series[metrics->index[i] - 1];
        if (series->hash == hash && strcmp(series->queue, moved->queue) == 0 &&
            strcmp(series->type, moved->type) == 0) {
            return series;
        }
    }
    size_t count = metrics->series_count;
    struct pawl__series *series = add_series(metrics, hash, moved);
    if (metrics->series_count > count) metrics->index[i] = (uint16_t)(count + 1);
    return series;
}

static void count_end(struct pawl__series *series, const struct pawl_moved *moved, int64_t since_ms)
{
    int end = -1;
    switch (moved->to) {
    case PAWL_STATE_COMPLETED:
        end = PAWL__RUN_END_COMPLETED;
        break;
    case PAWL_STATE_RETRYABLE:
        end = PAWL__RUN_END_RETRYABLE;
        break;
    case PAWL_STATE_DISCARDED:
        end = PAWL__RUN_END_DISCARDED;
        break;
    case PAWL_STATE_CANCELLED:
        end = PAWL__RUN_END_CANCELLED;
        break;
    default:
        break;
    }
    series->failed += moved->to == PAWL_STATE_RETRYABLE || moved->to == PAWL_STATE_DISCARDED;
    series->retried += moved->to == PAWL_STATE_RETRYABLE;
    if (end >= 0 && since_ms) {
        pawl__measure_add(&series->run[end], &pawl__buckets_run,
                          (double)(moved->at_ms - since_ms) / 1000);
    }
}

void pawl__metrics_moved(struct pawl__metrics *metrics, const struct pawl_moved *moved,
                         int64_t since_ms)
{
    struct pawl__series *series = series_of(metrics, moved);
    series->enqueued += !moved->from;
    series->started += moved->to == PAWL_STATE_ACTIVE;
    series->completed += pawl_state_is_successful(moved->to);
    series->cancelled += moved->to == PAWL_STATE_CANCELLED;
    series->discarded += moved->to == PAWL_STATE_DISCARDED || moved->to == PAWL_STATE_EXPIRED;
    series->expired += moved->to == PAWL_STATE_EXPIRED;
    if (moved->from == PAWL_STATE_ACTIVE) count_end(series, moved, since_ms);
    if (moved->from == PAWL_STATE_AVAILABLE && moved->to == PAWL_STATE_ACTIVE && since_ms) {
        pawl__measure_add(&series->wait, &pawl__buckets_wait,
                          (double)(moved->at_ms - since_ms) / 1000);
    }
}

/* ---- requests ---- */

void pawl__metrics_answered(struct pawl__metrics *metrics, const struct pawl__request *request)
{
    size_t route = request->route ? (size_t)(request->route - pawl__routes) : pawl__route_count;
    int status_class = request->status / 100;
    assert(route <= pawl__route_count && status_class < PAWL__STATUS_CLASSES);
    struct pawl__route_count *count = &metrics->routes[route];
    count->answers[status_class]++;
    if (request->streaming) return; // how long somebody listened says nothing about us
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - request->began_us;
    pawl__measure_add(&count->took, &pawl__buckets_http, (double)took_us / 1e6);
}

/* ---- asking ---- */

struct asked {
    struct pawl__metrics metrics;
    struct pawl__gauges gauges;
};

static void count_workers(const struct pawl__workers *workers, struct pawl__gauges *gauges)
{
    const struct pawl__worker *worker = NULL;
    while ((worker = pawl__workers_next(workers, worker))) {
        bool alive = worker->beats && !worker->dead;
        gauges->workers_active += alive;
        gauges->workers_busy += alive && worker->active > 0;
    }
}

static struct asked *copy_all(struct pawl__metrics *metrics, struct pawl__request *request)
{
    struct pawl__server *server = metrics->server;
    struct pawl__arena *arena = &request->arena;
    size_t series_bytes = (PAWL__METRIC_SERIES_MAX + 1) * sizeof *metrics->series;
    size_t route_bytes = (pawl__route_count + 1) * sizeof *metrics->routes;
    struct asked *asked = pawl__arena_calloc(arena, 1, sizeof *asked);
    if (!asked) return NULL;
    asked->metrics = *metrics;
    asked->metrics.series = pawl__arena_alloc(arena, series_bytes);
    asked->metrics.routes = pawl__arena_alloc(arena, route_bytes);
    if (!asked->metrics.series || !asked->metrics.routes) return NULL;
    // names stay where they are: they go only when the server does, which waits for us
    memcpy(asked->metrics.series, metrics->series, series_bytes);
    memcpy(asked->metrics.routes, metrics->routes, route_bytes);
    asked->gauges = (struct pawl__gauges){
        .connections = server->conn_count,
        .streams = (int64_t)pawl__streams_count(server->streams),
        .streams_cut = pawl__streams_cut(server->streams),
        .events_kept = (int64_t)pawl__events_count(server->events),
        .events_lost = pawl__events_lost(server->events),
        .requests_working = server->working,
        .fetches_waiting = (int64_t)pawl__waiters_waiting(server->waiters),
    };
    count_workers(server->workers, &asked->gauges);
    return asked;
}

/* Prometheus names its format's version; who asks for plain text and nothing else gets just that.
 */
static const char *text_type(const struct pawl__request *request)
{
    const char *accept = pawl__request_header(request, "accept");
    return accept && strcmp(accept, "text/plain") == 0 ? "text/plain"
                                                       : "text/plain; version=0.0.4; charset=utf-8";
}

static void answer(struct pawl__request *request)
{
    struct asked *asked = request->state;
    struct pawl_stats stats = { 0 };
    struct pawl_counters counters;
    bool queues = !request->server->config.metrics_only; // else the server of the store shows them
    pawl_counters_get(request->server->pawl, &counters);
    // a store in trouble is when metrics are wanted most
    enum pawl_err err = queues ? pawl_stats_get(request->server->pawl, &stats, NULL) : PAWL_OK;
    if (err) counters.store_reachable = 0;
    pawl__metrics_print(&request->reply, &asked->metrics, &asked->gauges,
                        err || !queues ? NULL : &stats, &counters);
    pawl_stats_release(&stats);
    request->content_type = text_type(request);
    pawl__reply(request, 200);
}

void pawl__on_metrics(struct pawl__request *request)
{
    request->state = copy_all(request->server->metrics, request);
    if (request->state) {
        pawl__request_to_pool(request, answer);
    } else {
        pawl__reply_nomem(request);
    }
}

/* ---- coming and going ---- */

enum pawl_err pawl__metrics_new(struct pawl__server *server, struct pawl_diag *diag)
{
    struct pawl__metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) return pawl__fail_nomem(diag);
    server->metrics = metrics;
    metrics->server = server;
    metrics->series = calloc(PAWL__METRIC_SERIES_MAX + 1, sizeof *metrics->series);
    metrics->index = calloc(INDEX_PLACES, sizeof *metrics->index);
    metrics->routes = calloc(pawl__route_count + 1, sizeof *metrics->routes);
    if (!metrics->series || !metrics->index || !metrics->routes) return pawl__fail_nomem(diag);
    return PAWL_OK; // on failure the components are closed, and this one with them
}

void pawl__metrics_free(struct pawl__metrics *metrics)
{
    if (!metrics) return;
    for (size_t i = 0; i < metrics->series_count; i++) {
        free(metrics->series[i].queue);
        free(metrics->series[i].type);
    }
    free(metrics->series);
    free(metrics->index);
    free(metrics->routes);
    free(metrics);
}
