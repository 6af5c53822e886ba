/* What it is, whether it is alive, whether it serves, whether the store is well. */
#include "base/clock.h"
#include "http/routes.h"

#include <string.h>

/* For people who point a browser here. */
void pawl__on_index(struct pawl__request *request)
{
    pawl__buf_add_text(&request->reply,
                       "{\"name\":\"pawl\",\"version\":\"" PAWL_VERSION "\","
                       "\"routes\":\"/openapi.json\",\"manifest\":\"/ojs/manifest\","
                       "\"jobs\":\"/ojs/v1/jobs\",\"health\":\"/ojs/v1/health\","
                       "\"metrics\":\"/metrics\"}");
    request->content_type = "application/json";
    pawl__reply(request, 200);
}

void pawl__on_health(struct pawl__request *request)
{
    // alive, whatever its store does: a restart would not mend that
    pawl__buf_add_text(&request->reply, "{\"status\":\"ok\"}");
    pawl__reply(request, 200);
}

void pawl__on_ready(struct pawl__request *request)
{
    struct pawl_node_status node;
    pawl_node_status_get(request->server->pawl, &node);
    bool serves = atomic_load(&request->server->ready);
    bool ready = serves && !node.store_lost;
    pawl__buf_add_text(&request->reply, !serves           ? "{\"status\":\"stopping\"}"
                                        : node.store_lost ? "{\"status\":\"store_unreachable\"}"
                                                          : "{\"status\":\"ready\"}");
    pawl__reply(request, ready ? 200 : 503);
}

void pawl__on_ojs_health(struct pawl__request *request)
{
    struct pawl__server *server = request->server;
    struct pawl_settings settings = { 0 };
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    enum pawl_err err = pawl_settings_get(server->pawl, "health.", &settings, NULL);
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - began_us;
    pawl_settings_release(&settings);
    pawl__buf_printf(
        &request->reply,
        "{\"status\":\"%s\",\"version\":\"1.0\",\"uptime_seconds\":%lld,"
        "\"backend\":{\"type\":\"%s\",\"status\":\"%s\",\"latency_ms\":%lld}}",
        err ? "degraded" : "ok", (long long)((request->now_ms - server->started_at_ms) / 1000),
        server->config.store_type, err ? "unhealthy" : "ok", (long long)(took_us + 500) / 1000);
    pawl__reply(request, err ? 503 : 200);
}
