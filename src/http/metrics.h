/* What is counted and measured, for GET /metrics in Prometheus's text format. On the loop.
 *
 * Labels are bounded: queues and types beyond the first PAWL__METRIC_SERIES_MAX pairs are counted
 * together as "_other". */
#ifndef PAWL_HTTP_METRICS_H
#define PAWL_HTTP_METRICS_H

#include "http/transport/transport.h"

enum { PAWL__METRIC_SERIES_MAX = 500, PAWL__METRIC_BUCKETS_MAX = 16 };

PAWL_MUST_CHECK enum pawl_err pawl__metrics_new(struct pawl__server *server,
                                                struct pawl_diag *diag);
void pawl__metrics_free(struct pawl__metrics *metrics); /* NULL is fine */
/* A job moved; it was in `from` since `since_ms`, 0: not known. */
void pawl__metrics_moved(struct pawl__metrics *metrics, const struct pawl_moved *moved,
                         int64_t since_ms);
/* A request was answered, or its stream has ended. */
void pawl__metrics_answered(struct pawl__metrics *metrics, const struct pawl__request *request);

#endif
