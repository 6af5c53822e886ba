/* Metrics in Prometheus's text format, version 0.0.4. Pure. */
#include "http/metrics_inside.h"
#include "http/routes.h"

#include <string.h>

enum { QUEUES_MAX = 1000 };

const struct pawl__buckets pawl__buckets_run = {
    15, { .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300 }
};
const struct pawl__buckets pawl__buckets_wait = {
    13, { .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600 }
};
const struct pawl__buckets pawl__buckets_http = {
    14, { .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 }
};

void pawl__measure_add(struct pawl__measure *measure, const struct pawl__buckets *buckets,
                       double value)
{
    size_t i = 0;
    while (i < buckets->count && value > buckets->bounds[i]) {
        i++;
    }
    measure->below[i]++;
    measure->count++;
    measure->sum += value;
}

static void add_head(struct pawl__buf *out, const char *name, const char *type, const char *help)
{
    pawl__buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* name="value", with what the format wants escaped. */
static void add_label(struct pawl__buf *out, const char *name, const char *value)
{
    pawl__buf_printf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n') {
            pawl__buf_add(out, "\\n", 2);
        } else {
            if (*value == '"' || *value == '\\') pawl__buf_add(out, "\\", 1);
            pawl__buf_add(out, value, 1);
        }
    }
    pawl__buf_add(out, "\"", 1);
}

static void add_plain(struct pawl__buf *out, const char *name, const char *type, const char *help,
                      int64_t value)
{
    add_head(out, name, type, help);
    pawl__buf_printf(out, "%s %lld\n", name, (long long)value);
}

/* ---- histograms ---- */

static void add_bucket(struct pawl__buf *out, const char *name, const char *labels,
                       const char *bound, int64_t count)
{
    pawl__buf_printf(out, "%s_bucket{%s%sle=\"%s\"} %lld\n", name, labels, *labels ? "," : "",
                     bound, (long long)count);
}

static void add_measure(struct pawl__buf *out, const char *name, const char *labels,
                        const struct pawl__measure *measure, const struct pawl__buckets *buckets)
{
    int64_t count = 0;
    if (!measure->count) return;
    for (size_t i = 0; i < buckets->count; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%g", buckets->bounds[i]);
        count += measure->below[i];
        add_bucket(out, name, labels, bound, count);
    }
    add_bucket(out, name, labels, "+Inf", measure->count);
    pawl__buf_printf(out, "%s_sum{%s} %.9g\n%s_count{%s} %lld\n", name, labels, measure->sum, name,
                     labels, (long long)measure->count);
}

/* The library's histograms have powers of two of microseconds for bounds, or of numbers. */
static void add_histogram(struct pawl__buf *out, const char *name, const char *help,
                          const struct pawl_histogram *histogram, double unit)
{
    int64_t count = 0;
    add_head(out, name, "histogram", help);
    for (int i = 0; i < PAWL_HISTOGRAM_BUCKETS && count < histogram->count; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%.9g", (double)(INT64_C(1) << i) / unit);
        count += histogram->below[i];
        add_bucket(out, name, "", bound, count);
    }
    add_bucket(out, name, "", "+Inf", histogram->count);
    pawl__buf_printf(out, "%s_sum %.9g\n%s_count %lld\n", name, (double)histogram->sum_us / unit,
                     name, (long long)histogram->count);
}

/* ---- jobs ---- */

static void label_series(struct pawl__buf *out, const struct pawl__series *series)
{
    pawl__buf_clear(out);
    add_label(out, "queue", series->queue ? series->queue : "_other");
    pawl__buf_add(out, ",", 1);
    add_label(out, "type", series->type ? series->type : "_other");
}

/* Number `i` of those that are in use, the one for all others last; NULL: no more. */
static const struct pawl__series *series_at(const struct pawl__metrics *metrics, size_t i)
{
    const struct pawl__series *others = &metrics->series[PAWL__METRIC_SERIES_MAX];
    if (i < metrics->series_count) return &metrics->series[i];
    bool full = metrics->series_count == PAWL__METRIC_SERIES_MAX;
    return i == metrics->series_count && full ? others : NULL;
}

static void add_count(struct pawl__buf *out, struct pawl__buf *labels,
                      const struct pawl__series *series, const char *name, int64_t value)
{
    if (!value) return;
    label_series(labels, series);
    out->failed = out->failed || labels->failed;
    if (!out->failed) pawl__buf_printf(out, "%s{%s} %lld\n", name, labels->at, (long long)value);
}

static void add_jobs(struct pawl__buf *out, struct pawl__buf *labels,
                     const struct pawl__metrics *metrics)
{
    const struct pawl__series *series;
#define X(member, name, help)                                                                      \
    add_head(out, name, "counter", help);                                                          \
    for (size_t i = 0; (series = series_at(metrics, i)); i++) {                                    \
        add_count(out, labels, series, name, series->member);                                      \
    }
    PAWL__JOB_COUNTS(X)
#undef X
}

static void add_times(struct pawl__buf *out, struct pawl__buf *labels,
                      const struct pawl__metrics *metrics)
{
    static const char *const ends[] = {
#define X(name, text) text,
        PAWL__RUN_ENDS(X)
#undef X
    };
    const struct pawl__series *series;
    add_head(out, "ojs_job_duration_seconds", "histogram", "How long runs took");
    for (size_t i = 0; (series = series_at(metrics, i)); i++) {
        for (int end = 0; end < PAWL__RUN_END_END; end++) {
            label_series(labels, series);
            pawl__buf_printf(labels, ",state=\"%s\"", ends[end]);
            out->failed = out->failed || labels->failed;
            if (!out->failed)
                add_measure(out, "ojs_job_duration_seconds", labels->at, &series->run[end],
                            &pawl__buckets_run);
        }
    }
    add_head(out, "ojs_job_queue_time_seconds", "histogram",
             "How long jobs waited from being available to being started");
    for (size_t i = 0; (series = series_at(metrics, i)); i++) {
        label_series(labels, series);
        out->failed = out->failed || labels->failed;
        if (!out->failed)
            add_measure(out, "ojs_job_queue_time_seconds", labels->at, &series->wait,
                        &pawl__buckets_wait);
    }
}

/* ---- queues ---- */

/* What Open Job Spec calls by one name is one number. */
static void add_queue(struct pawl__buf *out, const char *queue, const int64_t *count)
{
    for (int state = 1; state < PAWL_STATE_END; state++) {
        const char *name = pawl_state_name((enum pawl_state)state, PAWL_VOCABULARY_OJS);
        int64_t sum = 0;
        bool first = true;
        for (int other = 1; other < PAWL_STATE_END; other++) {
            const char *its = pawl_state_name((enum pawl_state)other, PAWL_VOCABULARY_OJS);
            if (strcmp(name, its) != 0) continue;
            first = first && other >= state;
            sum += count[other];
        }
        if (!first) continue;
        pawl__buf_add_text(out, "ojs_queue_depth{");
        add_label(out, "queue", queue);
        pawl__buf_printf(out, ",state=\"%s\"} %lld\n", name, (long long)sum);
    }
}

static void add_queues(struct pawl__buf *out, const struct pawl_stats *stats)
{
    int64_t others[PAWL_STATE_END] = { 0 };
    int64_t paused = 0;
    add_head(out, "ojs_queue_depth", "gauge", "Jobs in each state");
    for (size_t i = 0; i < stats->queue_count; i++) {
        const struct pawl_queue_stats *queue = &stats->queues[i];
        paused += queue->paused;
        if (i < QUEUES_MAX) {
            add_queue(out, queue->queue, queue->count);
            continue;
        }
        for (int state = 0; state < PAWL_STATE_END; state++) {
            others[state] += queue->count[state];
        }
    }
    if (stats->queue_count > QUEUES_MAX) add_queue(out, "_other", others);
    add_plain(out, "pawl_queues", "gauge", "Queues", (int64_t)stats->queue_count);
    add_plain(out, "pawl_queues_paused", "gauge", "Queues that are paused", paused);
    add_plain(out, "pawl_jobs_archived", "gauge", "Jobs in the archive", stats->archived);
    add_plain(out, "pawl_store_bytes", "gauge", "Size of the store", stats->store_bytes);
}

/* ---- the server ---- */

static void add_routes(struct pawl__buf *out, struct pawl__buf *labels,
                       const struct pawl__metrics *metrics)
{
    add_head(out, "pawl_http_requests_total", "counter", "Requests answered");
    for (size_t i = 0; i <= pawl__route_count; i++) {
        const char *method = i < pawl__route_count ? pawl__routes[i].method : "";
        const char *path = i < pawl__route_count ? pawl__routes[i].path : "";
        for (int status = 0; status < PAWL__STATUS_CLASSES; status++) {
            int64_t answers = metrics->routes[i].answers[status];
            if (!answers) continue;
            pawl__buf_printf(out,
                             "pawl_http_requests_total{method=\"%s\",route=\"%s\",status=\"%dxx\"} "
                             "%lld\n",
                             method, path, status, (long long)answers);
        }
    }
    add_head(out, "pawl_http_request_duration_seconds", "histogram",
             "From the first byte of a request to its answer");
    for (size_t i = 0; i <= pawl__route_count; i++) {
        pawl__buf_clear(labels);
        pawl__buf_printf(labels, "method=\"%s\",route=\"%s\"",
                         i < pawl__route_count ? pawl__routes[i].method : "",
                         i < pawl__route_count ? pawl__routes[i].path : "");
        out->failed = out->failed || labels->failed;
        if (!out->failed)
            add_measure(out, "pawl_http_request_duration_seconds", labels->at,
                        &metrics->routes[i].took, &pawl__buckets_http);
    }
}

static void add_gauges(struct pawl__buf *out, const struct pawl__gauges *gauges)
{
    add_plain(out, "pawl_http_connections", "gauge", "Connections open", gauges->connections);
    add_plain(out, "pawl_http_requests_working", "gauge", "Requests that wait for the store",
              gauges->requests_working);
    add_plain(out, "pawl_http_streams", "gauge", "Listeners to events", gauges->streams);
    add_plain(out, "pawl_http_streams_cut_total", "counter",
              "Listeners let go because they could not keep up", gauges->streams_cut);
    add_plain(out, "pawl_events_kept", "gauge", "Events kept for later readers",
              gauges->events_kept);
    add_plain(out, "pawl_events_lost_total", "counter", "Events that could not be told",
              gauges->events_lost);
    add_plain(out, "pawl_fetches_waiting", "gauge", "Fetches that wait for jobs",
              gauges->fetches_waiting);
    add_plain(out, "ojs_workers_active", "gauge", "Workers that send heartbeats",
              gauges->workers_active);
    add_plain(out, "ojs_workers_busy", "gauge", "Workers that hold jobs", gauges->workers_busy);
}

static void add_counters(struct pawl__buf *out, const struct pawl_counters *counters)
{
#define X(name, help)                                                                              \
    add_plain(out, "pawl_" #name "_total", "counter", "Of this process: " help, counters->name);
    PAWL_COUNTERS(X)
#undef X
    add_plain(out, "pawl_handlers_running", "gauge", "Handlers under way in this process",
              counters->running);
    add_plain(out, "pawl_wake_trouble", "gauge",
              "1: this process and others do not wake each other, and poll",
              counters->wake_trouble);
    add_plain(out, "pawl_store_reachable", "gauge", "1: the store answers; 0: it does not",
              counters->store_reachable);
    add_plain(out, "pawl_handlers_waiting", "gauge",
              "Jobs that this process has claimed and not started", counters->waiting);
    add_histogram(out, "pawl_handler_wait_seconds",
                  "From being due to being started by a handler of this process",
                  &counters->wait_us, 1e6);
    add_histogram(out, "pawl_handler_duration_seconds", "How long handlers of this process ran",
                  &counters->run_us, 1e6);
    add_histogram(out, "pawl_commit_duration_seconds", "How long commits took",
                  &counters->commit_us, 1e6);
    add_histogram(out, "pawl_commit_operations", "Operations in a commit", &counters->batch, 1);
}

void pawl__metrics_print(struct pawl__buf *out, const struct pawl__metrics *metrics,
                         const struct pawl__gauges *gauges, const struct pawl_stats *stats,
                         const struct pawl_counters *counters)
{
    struct pawl__buf labels = { 0 };
    add_jobs(out, &labels, metrics);
    add_times(out, &labels, metrics);
    if (stats) add_queues(out, stats);
    add_routes(out, &labels, metrics);
    add_gauges(out, gauges);
    add_counters(out, counters);
    pawl__buf_release(&labels);
}
