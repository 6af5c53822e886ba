/* What it is, whether it is alive, whether it serves, whether the store is well. */
#include "base/clock.h"
#include "base/shape.h"
#include "http/routes.h"

#include <string.h>

/* For people who point a browser here. */
void pawl__on_index(struct pawl__request *request)
{
    const struct pawl__shape_writer writer = { .out = &request->reply };
    PAWL__PRINT(
        &writer, PAWL__HERE_TEXT("name", "pawl"), PAWL__HERE_TEXT("version", PAWL_VERSION),
        PAWL__HERE_TEXT("routes", "/openapi.json"), PAWL__HERE_TEXT("manifest", "/ojs/manifest"),
        PAWL__HERE_TEXT("jobs", "/ojs/v1/jobs"), PAWL__HERE_TEXT("health", "/ojs/v1/health"),
        PAWL__HERE_TEXT("metrics", "/metrics"));
    request->content_type = "application/json";
    pawl__reply(request, 200);
}

static void reply_status(struct pawl__request *request, int status, const char *text)
{
    const struct pawl__shape_writer writer = { .out = &request->reply };
    PAWL__PRINT(&writer, PAWL__HERE_TEXT("status", text));
    pawl__reply(request, status);
}

void pawl__on_health(struct pawl__request *request)
{
    // alive, whatever its store does: a restart would not mend that
    reply_status(request, 200, "ok");
}

void pawl__on_ready(struct pawl__request *request)
{
    struct pawl_node_status node;
    pawl_node_status_get(request->server->pawl, &node);
    bool serves = atomic_load(&request->server->ready);
    bool ready = serves && !node.store_lost;
    reply_status(request, ready ? 200 : 503,
                 !serves           ? "stopping"
                 : node.store_lost ? "store_unreachable"
                                   : "ready");
}

void pawl__on_ojs_health(struct pawl__request *request)
{
    struct pawl__server *server = request->server;
    struct pawl_settings settings = { 0 };
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    enum pawl_err err = pawl_settings_get(server->pawl, "health.", &settings, NULL);
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - began_us;
    pawl_settings_release(&settings);
    const struct pawl__shape_writer writer = { .out = &request->reply };
    PAWL__PRINT(&writer, PAWL__HERE_TEXT("status", err ? "degraded" : "ok"),
                PAWL__HERE_TEXT("version", "1.0"),
                PAWL__HERE_INT("uptime_seconds", (request->now_ms - server->started_at_ms) / 1000),
                PAWL__HERE_OBJECT("backend", PAWL__HERE_TEXT("type", server->config.store_type),
                                  PAWL__HERE_TEXT("status", err ? "unhealthy" : "ok"),
                                  PAWL__HERE_INT("latency_ms", (took_us + 500) / 1000)));
    pawl__reply(request, err ? 503 : 200);
}
