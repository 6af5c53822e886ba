/* pawl work --metrics: the node's metrics for Prometheus.
 *
 * A separate thread runs a server that has only /metrics and /healthz. */
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

/* Starts the server if --metrics is given; from then on the node's moves are counted. To be called
 * with the store open, before the node starts, and with signals blocked. Exit code; the error has
 * been printed. */
int pawl__cli_metrics_open(struct pawl__cli *cli, struct pawl__cli_metrics *out);
/* "http://127.0.0.1:9100", or NULL. */
const char *pawl__cli_metrics_url(const struct pawl__cli_metrics *metrics);
/* To be called before the store is closed; may be called again. */
void pawl__cli_metrics_close(struct pawl__cli_metrics *metrics);

#endif
