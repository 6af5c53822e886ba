/* Prometheus's text format. */
#include "http/metrics_inside.h"
#include "http/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two routes are enough to print. */
const struct pawl__route pawl__routes[] = {
    { .method = "GET", .path = "/a/{id}" },
    { .method = "POST", .path = "/b" },
};
const size_t pawl__route_count = 2;

struct counted {
    struct pawl__metrics metrics;
    struct pawl__gauges gauges;
    struct pawl_stats stats;
    struct pawl_counters counters;
};

static struct counted *counted_new(void)
{
    struct counted *counted = calloc(1, sizeof *counted);
    assert_non_null(counted);
    counted->metrics.series = calloc(PAWL__METRIC_SERIES_MAX + 1, sizeof *counted->metrics.series);
    counted->metrics.routes = calloc(pawl__route_count + 1, sizeof *counted->metrics.routes);
    assert_true(counted->metrics.series && counted->metrics.routes);
    return counted;
}

static void counted_free(struct counted *counted)
{
    free(counted->metrics.series);
    free(counted->metrics.routes);
    free(counted);
}

static char *print(const struct counted *counted)
{
    struct pawl__buf out = { 0 };
    pawl__metrics_print(&out, &counted->metrics, &counted->gauges, &counted->stats,
                        &counted->counters);
    assert_false(out.failed);
    assert_non_null(out.at);
    return out.at;
}

static void has(const char *text, const char *line)
{
    assert_non_null(text);
    if (!strstr(text, line)) fail_msg("\"%s\" is not in\n%s", line, text);
}

static void bounds_belong_to_their_bucket(void **state)
{
    (void)state;
    static const struct pawl__buckets buckets = { 2, { 0.5, 1 } };
    struct pawl__measure measure = { 0 };
    pawl__measure_add(&measure, &buckets, 0.5);
    pawl__measure_add(&measure, &buckets, 0.75);
    pawl__measure_add(&measure, &buckets, 1.5);
    assert_int_equal(measure.below[0], 1);
    assert_int_equal(measure.below[1], 1);
    assert_int_equal(measure.below[2], 1);
    assert_int_equal(measure.count, 3);
    assert_true(measure.sum == 2.75);
}

static void prints_counts_by_queue_and_type(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    counted->metrics.series[0] =
        (struct pawl__series){ .queue = "a\"b\\c\nd", .type = "t", .completed = 3 };
    counted->metrics.series_count = 1;
    char *text = print(counted);
    has(text, "# TYPE ojs_job_completed_total counter\n");
    has(text, "ojs_job_completed_total{queue=\"a\\\"b\\\\c\\nd\",type=\"t\"} 3\n");
    assert_null(strstr(text, "ojs_job_failed_total{")); // nothing to count
    assert_null(strstr(text, "_other"));
    free(text);
    counted_free(counted);
}

static void buckets_add_up(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    struct pawl__series *series = &counted->metrics.series[0];
    *series = (struct pawl__series){ .queue = "q", .type = "t" };
    counted->metrics.series_count = 1;
    pawl__measure_add(&series->run[PAWL__RUN_END_COMPLETED], &pawl__buckets_run, 0.004);
    pawl__measure_add(&series->run[PAWL__RUN_END_COMPLETED], &pawl__buckets_run, 1000);
    pawl__measure_add(&series->wait, &pawl__buckets_wait, 3600);
    char *text = print(counted);
#define LABELS "queue=\"q\",type=\"t\",state=\"completed\""
    has(text, "ojs_job_duration_seconds_bucket{" LABELS ",le=\"0.005\"} 1\n");
    has(text, "ojs_job_duration_seconds_bucket{" LABELS ",le=\"300\"} 1\n");
    has(text, "ojs_job_duration_seconds_bucket{" LABELS ",le=\"+Inf\"} 2\n");
    has(text, "ojs_job_duration_seconds_sum{" LABELS "} 1000.004\n");
    has(text, "ojs_job_duration_seconds_count{" LABELS "} 2\n");
    has(text, "ojs_job_queue_time_seconds_bucket{queue=\"q\",type=\"t\",le=\"1800\"} 0\n");
    has(text, "ojs_job_queue_time_seconds_bucket{queue=\"q\",type=\"t\",le=\"3600\"} 1\n");
    free(text);
    counted_free(counted);
}

static void sums_up_the_others(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    for (size_t i = 0; i < PAWL__METRIC_SERIES_MAX; i++) {
        counted->metrics.series[i] = (struct pawl__series){ .queue = "q", .type = "t" };
    }
    counted->metrics.series_count = PAWL__METRIC_SERIES_MAX;
    counted->metrics.series[PAWL__METRIC_SERIES_MAX].enqueued = 7;
    char *text = print(counted);
    has(text, "ojs_job_enqueued_total{queue=\"_other\",type=\"_other\"} 7\n");
    free(text);
    counted_free(counted);
}

/* Expired is discarded and paused is pending to the Open Job Spec: each state is one line. */
static void counts_states_by_their_ojs_names(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    struct pawl_queue_stats queue = { .queue = "q", .paused = true };
    queue.count[PAWL_STATE_DISCARDED] = 2;
    queue.count[PAWL_STATE_EXPIRED] = 3;
    queue.count[PAWL_STATE_PAUSED] = 4;
    counted->stats.queues = &queue;
    counted->stats.queue_count = 1;
    char *text = print(counted);
    has(text, "ojs_queue_depth{queue=\"q\",state=\"discarded\"} 5\n");
    has(text, "ojs_queue_depth{queue=\"q\",state=\"pending\"} 4\n");
    has(text, "pawl_queues_paused 1\n");
    assert_null(strstr(text, "expired\"}"));
    const char *first = strstr(text, "state=\"discarded\"}");
    assert_null(strstr(first + 1, "state=\"discarded\"}"));
    free(text);
    counted_free(counted);
}

static void prints_requests_by_route(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    counted->metrics.routes[0].answers[2] = 5;
    counted->metrics.routes[2].answers[4] = 6; // no route
    char *text = print(counted);
    has(text, "pawl_http_requests_total{method=\"GET\",route=\"/a/{id}\",status=\"2xx\"} 5\n");
    has(text, "pawl_http_requests_total{method=\"\",route=\"\",status=\"4xx\"} 6\n");
    free(text);
    counted_free(counted);
}

static void prints_the_librarys_histograms(void **state)
{
    (void)state;
    struct counted *counted = counted_new();
    struct pawl_histogram *commits = &counted->counters.commit_us;
    commits->count = 3;
    commits->sum_us = 2500000;
    commits->below[1] = 1;  // below 2 us
    commits->below[20] = 2; // below 1.048576 s
    counted->counters.commits = 3;
    counted->counters.waiting = 4;
    counted->counters.run_us = counted->counters.wait_us = *commits;
    char *text = print(counted);
    has(text, "pawl_handlers_waiting 4\n");
    has(text, "pawl_handler_wait_seconds_sum 2.5\n");
    has(text, "pawl_handler_duration_seconds_bucket{le=\"1.048576\"} 3\n");
    has(text, "pawl_commits_total 3\n");
    has(text, "pawl_commit_duration_seconds_bucket{le=\"2e-06\"} 1\n");
    has(text, "pawl_commit_duration_seconds_bucket{le=\"1.048576\"} 3\n");
    has(text, "pawl_commit_duration_seconds_bucket{le=\"+Inf\"} 3\n");
    has(text, "pawl_commit_duration_seconds_sum 2.5\n");
    free(text);
    counted_free(counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_belong_to_their_bucket),
        cmocka_unit_test(prints_counts_by_queue_and_type),
        cmocka_unit_test(buckets_add_up),
        cmocka_unit_test(sums_up_the_others),
        cmocka_unit_test(counts_states_by_their_ojs_names),
        cmocka_unit_test(prints_requests_by_route),
        cmocka_unit_test(prints_the_librarys_histograms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
