/* GET /ojs/manifest: what this server is and can do. A claim needs the route that it is about; a
 * route alone does not make it true, so look at both when one is added. */
#include "http/ojs/ojs.h"
#include "http/routes.h"

#include <string.h>

static bool has_route(const char *path)
{
    for (size_t i = 0; i < pawl__route_count; i++) {
        if (strcmp(pawl__routes[i].path, path) == 0) return true;
    }
    return false;
}

/* name, a path that is served if it is supported; NULL: it needs none of its own, "": it is not */
static const struct {
    const char *name;
    const char *path;
} capabilities[] = {
    { "batch_enqueue", "/ojs/v1/jobs/batch" },
    { "cron_jobs", "/ojs/v1/cron" },
    { "dead_letter", "/ojs/v1/dead-letter" },
    { "delayed_jobs", NULL },
    { "job_ttl", NULL },
    { "priority_queues", NULL },
    { "rate_limiting", "/ojs/v1/workers/fetch" },
    { "schema_validation", "" }, // schemas are kept, not enforced
    { "unique_jobs", NULL },
    { "workflows", "/ojs/v1/workflows" },
    { "pause_resume", "/ojs/v1/queues/{name}/pause" },
};

/* name, path likewise, tier */
static const struct {
    const char *name;
    const char *path;
    bool experimental;
} extensions[] = {
    { "admin-api", "/ojs/v1/admin/stats", false },
    { "bulk-operations", "/ojs/v1/jobs/bulk", false },
    { "dead-letter", "/ojs/v1/dead-letter", false },
    { "events", "/ojs/v1/events", false },
    { "observability", "/metrics", false },
    { "progress", "/ojs/v1/jobs/{id}/progress", false },
    { "queue-config", "/ojs/v1/queues/{name}/config", false },
    { "results", "/ojs/v1/jobs/{id}/result", false },
    { "durable-execution", "/ojs/v1/jobs/{id}/checkpoint", true },
    { "realtime", "/ojs/v1/events/stream", true },
};

/* Of the levels up to which nothing is missing. */
static int level(void)
{
    if (!has_route("/ojs/v1/cron")) return 1;
    return has_route("/ojs/v1/workflows") ? 4 : 2;
}

static void add_capabilities(struct pawl__buf *out)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        bool has = !capabilities[i].path || has_route(capabilities[i].path);
        pawl__buf_printf(out, "%s\"%s\":%s", i ? "," : "", capabilities[i].name,
                         has ? "true" : "false");
    }
}

static void add_names(struct pawl__buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        if (!has_route(extensions[i].path)) continue;
        pawl__buf_printf(out, "%s\"%s\"", comma, extensions[i].name);
        comma = ",";
    }
}

static void add_details(struct pawl__buf *out, bool experimental)
{
    const char *comma = "";
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        if (extensions[i].experimental != experimental || !has_route(extensions[i].path)) continue;
        pawl__buf_printf(out,
                         "%s{\"name\":\"%s\",\"uri\":\"urn:ojs:ext:%s\",\"version\":\"1.0.0\"}",
                         comma, extensions[i].name, extensions[i].name);
        comma = ",";
    }
}

static void add_limits(struct pawl__buf *out, const struct pawl__http_limits *limits)
{
    pawl__buf_printf(out,
                     "\"payload_limits\":{\"max_envelope_bytes\":%lld,\"max_meta_bytes\":%d,"
                     "\"max_batch_size\":%d,\"max_depth\":%d}",
                     (long long)limits->body_bytes_max, PAWL_META_BYTES_MAX, PAWL_BATCH_MAX,
                     PAWL_JSON_DEPTH_MAX);
}

/* What a job gets that does not bring it. max_interval is never less than initial_interval. */
static void add_defaults(struct pawl__buf *out)
{
    pawl__buf_printf(out,
                     "\"defaults\":{\"timeout_ms\":%lld,\"retry\":{\"max_attempts\":3,"
                     "\"initial_interval\":\"PT1S\",\"backoff_coefficient\":2.0,"
                     "\"max_interval\":\"PT5M\",\"jitter\":true,\"on_exhaustion\":\"discard\"}},",
                     (long long)PAWL__OJS_TIMEOUT_MS);
}

void pawl__on_manifest(struct pawl__request *request)
{
    struct pawl__server *server = request->server;
    struct pawl__buf *out = &request->reply;
    pawl__buf_printf(out,
                     "{\"specversion\":\"1.0\",\"ojs_version\":\"1.0\","
                     "\"implementation\":{\"name\":\"pawl\",\"version\":\"%s\",\"language\":\"c\"},"
                     "\"conformance_level\":%d,\"conformance_tier\":\"runtime\","
                     "\"protocols\":[\"http\"],\"backend\":\"%s\",\"capabilities\":{",
                     PAWL_VERSION, level(), server->config.store_type);
    add_capabilities(out);
    // names alone where the binding has them: the SDKs of Go and Rust read nothing else there
    pawl__buf_add_text(out, "},\"unique_job_strength\":\"strong\",\"extensions\":[");
    add_names(out);
    pawl__buf_add_text(out, "],\"extension_details\":{\"official\":[");
    add_details(out, false);
    pawl__buf_add_text(out, "],\"experimental\":[");
    add_details(out, true);
    pawl__buf_add_text(out, "]},");
    add_defaults(out);
    add_limits(out, &server->config.limits);
    pawl__buf_printf(out,
                     ",\"endpoints\":{\"base_url\":\"%s/ojs/v1\",\"manifest\":\"/ojs/manifest\","
                     "\"health\":\"/ojs/v1/health\",\"openapi\":\"/openapi.json\"}}",
                     server->url);
    pawl__reply(request, 200);
}
