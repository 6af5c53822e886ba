/* Inside the metrics: shared by metrics.c (counting) and metrics_print.c. Counts are copied for
 * printing, which is done on the pool. */
#ifndef PAWL_HTTP_METRICS_INSIDE_H
#define PAWL_HTTP_METRICS_INSIDE_H

#include "base/buf.h"
#include "http/metrics.h"

/* member, name, help: of jobs, by queue and type */
#define PAWL__JOB_COUNTS(X)                                                                        \
    X(enqueued, "ojs_job_enqueued_total", "Jobs submitted")                                        \
    X(started, "ojs_job_started_total", "Runs that began")                                         \
    X(completed, "ojs_job_completed_total", "Jobs that ended well")                                \
    X(failed, "ojs_job_failed_total", "Runs that failed")                                          \
    X(retried, "ojs_job_retried_total", "Jobs that will run again after a failure")                \
    X(cancelled, "ojs_job_cancelled_total", "Jobs cancelled")                                      \
    X(discarded, "ojs_job_discarded_total", "Jobs given up")                                       \
    X(expired, "ojs_job_expired_total", "Jobs whose time was over before they ran")

/* NAME, state on the wire: how a run ended */
#define PAWL__RUN_ENDS(X)                                                                          \
    X(COMPLETED, "completed")                                                                      \
    X(RETRYABLE, "retryable")                                                                      \
    X(DISCARDED, "discarded")                                                                      \
    X(CANCELLED, "cancelled")

#define X(name, text) PAWL__RUN_END_##name,
enum pawl__run_end { PAWL__RUN_ENDS(X) PAWL__RUN_END_END };
#undef X

/* Upper bounds in seconds; the last bucket has none. */
struct pawl__buckets {
    size_t count;
    double bounds[PAWL__METRIC_BUCKETS_MAX];
};

struct pawl__measure {
    int64_t count;
    double sum;
    int64_t below[PAWL__METRIC_BUCKETS_MAX]; /* of each bucket alone */
};

struct pawl__series {
    char *queue, *type;
    uint32_t hash;
#define X(name, ...) int64_t name;
    PAWL__JOB_COUNTS(X)
#undef X
    struct pawl__measure wait;
    struct pawl__measure run[PAWL__RUN_END_END];
};

enum { PAWL__STATUS_CLASSES = 6 }; /* 0: not answered, 1xx .. 5xx */

struct pawl__route_count {
    int64_t answers[PAWL__STATUS_CLASSES];
    struct pawl__measure took;
};

/* What only the loop knows at the moment of asking. */
struct pawl__gauges {
    int64_t connections, streams, streams_cut, events_kept, events_lost, requests_working;
    int64_t fetches_waiting, workers_active, workers_busy;
};

struct pawl__metrics {
    struct pawl__server *server;
    struct pawl__series *series; /* the last one is for all others */
    size_t series_count;
    uint16_t *index;                  /* by hash: number of the series + 1 */
    struct pawl__route_count *routes; /* the last one: no route */
};

extern const struct pawl__buckets pawl__buckets_run, pawl__buckets_wait, pawl__buckets_http;

void pawl__measure_add(struct pawl__measure *measure, const struct pawl__buckets *buckets,
                       double value);
/* Everything, for one who asks. On the pool; `metrics` is a copy. `stats` may be NULL: queues
 * are left out, because the store cannot be asked or another process shows them. */
void pawl__metrics_print(struct pawl__buf *out, const struct pawl__metrics *metrics,
                         const struct pawl__gauges *gauges, const struct pawl_stats *stats,
                         const struct pawl_counters *counters);

#endif
