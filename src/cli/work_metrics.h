/* pawl work --metrics: what the node counts, for Prometheus.
 *
 * A thread of its own runs a server that offers nothing but /metrics and /healthz. */
#ifndef PAWL_CLI_WORK_METRICS_H
#define PAWL_CLI_WORK_METRICS_H

#include "cli/cli.h"

#include <pthread.h>

struct pawl__server;

/* Zeroes: there is none. */
struct pawl__cli_metrics {
    struct pawl__server *server;
    pthread_t thread;
};

/* Listens, if --metrics asks for it. From here on all moves of the node are counted: the store is
 * open, the node has not started, and signals are blocked. Exit code; the complaint has been
 * printed. */
int pawl__cli_metrics_open(struct pawl__cli *cli, struct pawl__cli_metrics *out);
/* "http://127.0.0.1:9100"; NULL: there is none. */
const char *pawl__cli_metrics_url(const struct pawl__cli_metrics *metrics);
/* Before the store is closed. Again is fine. */
void pawl__cli_metrics_close(struct pawl__cli_metrics *metrics);

#endif
