#include "cli/work_metrics.h"
#include "base/sync.h"
#include "http/http.h"

enum { DRAIN_MS = 1000 };

static void *run(void *arg)
{
    pawl__http_run(arg);
    return NULL;
}

int pawl__cli_metrics_open(struct pawl__cli *cli, struct pawl__cli_metrics *out)
{
    struct pawl_diag diag = { 0 };
    const struct pawl__http_config config = {
        .pawl = cli->pawl,
        .listen = pawl__cli_text(cli, PAWL__CLI_OPT_METRICS),
        .limits = { .events_max = 1 }, // no route returns them
        .metrics_only = true,
        .log_level = cli->quiet ? PAWL__LOG_END : (int)pawl__cli_log_level(cli),
        .log_format = pawl__cli_log_format(cli),
        .drain_ms = DRAIN_MS,
    };
    if (!config.listen) return PAWL__CLI_EXIT_OK;
    enum pawl_err err = pawl__http_open(&config, &out->server, &diag);
    if (err) return pawl__cli_fail_listen(err, &diag);
    if (pawl__thread_start(&out->thread, run, out->server)) return PAWL__CLI_EXIT_OK;
    pawl__http_close(out->server);
    out->server = NULL;
    pawl__cli_error("could not start a thread for the metrics");
    return PAWL__CLI_EXIT_REFUSED;
}

const char *pawl__cli_metrics_url(const struct pawl__cli_metrics *metrics)
{
    return metrics->server ? pawl__http_url(metrics->server) : NULL;
}

void pawl__cli_metrics_close(struct pawl__cli_metrics *metrics)
{
    if (!metrics->server) return;
    pawl__http_stop(metrics->server);
    pthread_join(metrics->thread, NULL);
    pawl__http_close(metrics->server);
    metrics->server = NULL;
}
