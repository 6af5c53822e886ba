/* GET /ojs/manifest: what this server is and can do. A claim needs the route that it is about; a
 * route alone does not make it true, so look at both when one is added. */
#include "base/shape.h"
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
static const struct extension {
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

/* Appends true or false for each capability. */
static void print_capabilities(const struct pawl__shape_writer *writer,
                               const struct pawl__member *member, const void *base)
{
    struct pawl__member members[sizeof capabilities / sizeof capabilities[0]];
    static const bool yes = true, no = false;
    const size_t count = sizeof members / sizeof members[0];
    for (size_t i = 0; i < count; i++) {
        bool has = !capabilities[i].path || has_route(capabilities[i].path);
        members[i] = (struct pawl__member){ .name = capabilities[i].name,
                                            .kind = PAWL__AS_BOOL,
                                            .flags = PAWL__ALWAYS,
                                            .at = has ? &yes : &no };
    }
    pawl__members_print(writer, members, count);
}

static void print_uri(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                      const void *base)
{
    const struct extension *extension = base;
    pawl__buf_printf(writer->out, "\"urn:ojs:ext:%s\"", extension->name);
}

static void print_version(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    pawl__buf_add_text(writer->out, "\"1.0.0\"");
}

static const struct pawl__member extension_members[] = {
    PAWL__MEMBER("name", TEXT, struct extension, name),
    PAWL__WHOLE("uri", OWN, .print = print_uri),
    PAWL__WHOLE("version", OWN, .print = print_version),
};
static const struct pawl__shape extension_shape = PAWL__SHAPE(struct extension, extension_members);

enum { EXTENSIONS = sizeof extensions / sizeof extensions[0] };

/* Copies the extensions of a tier that are served; returns how many they are. */
static size_t of_tier(bool experimental, struct extension out[EXTENSIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < EXTENSIONS; i++) {
        if (extensions[i].experimental != experimental || !has_route(extensions[i].path)) continue;
        out[count++] = extensions[i];
    }
    return count;
}

/* The names of all extensions that are served. The SDKs for Go and Rust read only these. */
static size_t all_names(const char *out[EXTENSIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < EXTENSIONS; i++) {
        if (has_route(extensions[i].path)) out[count++] = extensions[i].name;
    }
    return count;
}

void pawl__on_manifest(struct pawl__request *request)
{
    const struct pawl__server *server = request->server;
    const struct pawl__shape_writer writer = { .out = &request->reply };
    static const char *const protocols[] = { "http" };
    struct extension official[EXTENSIONS], experimental[EXTENSIONS];
    const char *names[EXTENSIONS];
    size_t official_count = of_tier(false, official);
    size_t experimental_count = of_tier(true, experimental);
    size_t name_count = all_names(names);
    char base_url[sizeof server->url + 16];
    snprintf(base_url, sizeof base_url, "%s/ojs/v1", server->url);
    PAWL__PRINT(
        &writer, PAWL__HERE_TEXT("specversion", "1.0"), PAWL__HERE_TEXT("ojs_version", "1.0"),
        PAWL__HERE_OBJECT("implementation", PAWL__HERE_TEXT("name", "pawl"),
                          PAWL__HERE_TEXT("version", PAWL_VERSION),
                          PAWL__HERE_TEXT("language", "c")),
        PAWL__HERE_INT("conformance_level", level()),
        PAWL__HERE_TEXT("conformance_tier", "runtime"), PAWL__HERE_TEXTS("protocols", protocols, 1),
        PAWL__HERE_TEXT("backend", server->config.store_type),
        PAWL__WHOLE("capabilities", OWN, .print = print_capabilities),
        PAWL__HERE_TEXT("unique_job_strength", "strong"),
        PAWL__HERE_TEXTS("extensions", names, name_count),
        PAWL__HERE_OBJECT(
            "extension_details",
            PAWL__HERE_MANY("official", &extension_shape, official, official_count),
            PAWL__HERE_MANY("experimental", &extension_shape, experimental, experimental_count)),
        // the defaults of jobs; max_interval is at least initial_interval
        PAWL__HERE_OBJECT("defaults", PAWL__HERE_INT("timeout_ms", PAWL__OJS_TIMEOUT_MS),
                          PAWL__HERE_OBJECT("retry", PAWL__HERE_INT("max_attempts", 3),
                                            PAWL__HERE("initial_interval", DURATION, int64_t, 1000),
                                            PAWL__HERE_INT("backoff_coefficient", 2),
                                            PAWL__HERE_TEXT("max_interval", "PT5M"),
                                            PAWL__HERE_BOOL("jitter", true),
                                            PAWL__HERE_TEXT("on_exhaustion", "discard"))),
        PAWL__HERE_OBJECT(
            "payload_limits",
            PAWL__HERE_INT("max_envelope_bytes", server->config.limits.body_bytes_max),
            PAWL__HERE_INT("max_meta_bytes", PAWL_META_BYTES_MAX),
            PAWL__HERE_INT("max_batch_size", PAWL_BATCH_MAX),
            PAWL__HERE_INT("max_depth", PAWL_JSON_DEPTH_MAX)),
        PAWL__HERE_OBJECT("endpoints", PAWL__HERE_TEXT("base_url", base_url),
                          PAWL__HERE_TEXT("manifest", "/ojs/manifest"),
                          PAWL__HERE_TEXT("health", "/ojs/v1/health"),
                          PAWL__HERE_TEXT("openapi", "/openapi.json")));
    pawl__reply(request, 200);
}
