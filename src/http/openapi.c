/* The OpenAPI document, made from the list of routes and from what openapi_words.h adds. */
#include "http/openapi.h"
#include "http/openapi_words.h"
#include "http/components.h"

#include <string.h>

static const char *const scopes[PAWL__SCOPE_END] = { [PAWL__SCOPE_READ] = "read",
                                                     [PAWL__SCOPE_SUBMIT] = "submit",
                                                     [PAWL__SCOPE_WORK] = "work",
                                                     [PAWL__SCOPE_ADMIN] = "admin" };

struct words {
    const char *route, *word;
};

static const struct words bodies[] = {
#define X(route, schema) { route, schema },
    PAWL__OPENAPI_BODIES(X)
#undef X
};
static const struct words answers[] = {
#define X(route, schema) { route, schema },
    PAWL__OPENAPI_ANSWERS(X)
#undef X
};
static const struct {
    const char *route, *name, *type, *text;
} queries[] = {
#define X(route, name, type, text) { route, name, type, text },
    PAWL__OPENAPI_QUERIES(X)
#undef X
};
static const struct {
    const char *name, *json;
} schemas[] = {
#define X(name, json) { name, json },
    PAWL__OPENAPI_SCHEMAS(X)
#undef X
};

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_add_text(out, name);
    pawl__buf_add_json(out, text, strlen(text));
}

static const char *word_of(const struct words *words, size_t count, const char *route)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].route, route) == 0) return words[i].word;
    }
    return NULL;
}

/* For other programs of pawl: the handlers of these refuse in a form of their own. */
static bool is_remote(const char *path)
{
    return strncmp(path, "/pawl/", 6) == 0;
}

/* ---- parameters ---- */

static void add_parts(struct pawl__buf *out, const char *path, const char **comma)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{')) {
        size_t len = strcspn(at + 1, "}");
        pawl__buf_printf(out,
                         "%s{\"name\":\"%.*s\",\"in\":\"path\",\"required\":true,"
                         "\"schema\":{\"type\":\"string\"}}",
                         *comma, (int)len, at + 1);
        *comma = ",";
    }
}

static void add_parameters(struct pawl__buf *out, const struct pawl__route *route)
{
    const char *comma = "";
    pawl__buf_add_text(out, ",\"parameters\":[");
    add_parts(out, route->path, &comma);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        if (strcmp(queries[i].route, route->name) != 0) continue;
        pawl__buf_printf(out, "%s{\"name\":\"%s\",\"in\":\"query\"", comma, queries[i].name);
        add_text(out, ",\"description\":", queries[i].text);
        pawl__buf_printf(out, ",\"schema\":{\"type\":\"%s\"}}", queries[i].type);
        comma = ",";
    }
    pawl__buf_add_text(out, "]");
}

/* ---- bodies and answers ---- */

static void add_content(struct pawl__buf *out, const char *type, const char *schema)
{
    pawl__buf_printf(out, "\"content\":{\"%s\":{\"schema\":", type);
    if (schema) {
        pawl__buf_printf(out, "{\"$ref\":\"#/components/schemas/%s\"}}}", schema);
    } else {
        pawl__buf_printf(out, "{\"type\":\"%s\"}}}", strstr(type, "json") ? "object" : "string");
    }
}

static void add_body(struct pawl__buf *out, const struct pawl__route *route)
{
    if (route->method[0] != 'P') return; // POST, PUT, PATCH
    const char *schema = word_of(bodies, sizeof bodies / sizeof bodies[0], route->name);
    pawl__buf_printf(out, ",\"requestBody\":{\"required\":%s,", schema ? "true" : "false");
    add_content(out, "application/openjobspec+json", schema);
    pawl__buf_add_text(out, "}");
}

static const char *type_of(const struct pawl__route *route)
{
    size_t len = strlen(route->summary);
    if (len > 5 && strcmp(route->summary + len - 5, "(SSE)") == 0) return "text/event-stream";
    if (strcmp(route->path, "/metrics") == 0) return "text/plain";
    return "application/openjobspec+json";
}

static void add_answers(struct pawl__buf *out, const struct pawl__route *route)
{
    pawl__buf_add_text(out, ",\"responses\":{\"2XX\":{\"description\":\"As asked\",");
    add_content(out, type_of(route),
                word_of(answers, sizeof answers / sizeof answers[0], route->name));
    pawl__buf_printf(out, "},\"default\":{\"$ref\":\"#/components/responses/%s\"}}",
                     is_remote(route->path) ? "RemoteError" : "Error");
}

/* ---- routes ---- */

/* The part of the path that says what it is about: "jobs", "admin", "system". */
static void add_tag(struct pawl__buf *out, const char *path)
{
    static const char *const prefixes[] = { "/ojs/v1/", "/api/" };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t len = strlen(prefixes[i]);
        if (strncmp(path, prefixes[i], len) != 0) continue;
        const char *about = path + len;
        pawl__buf_printf(out, "\"tags\":[\"%.*s\"]", (int)strcspn(about, "/"), about);
        return;
    }
    pawl__buf_printf(out, "\"tags\":[\"%s\"]", is_remote(path) ? "pawl" : "system");
}

/* A handler may serve several routes; an operation has a name of its own. */
static void add_operation_id(struct pawl__buf *out, const struct pawl__route *routes, size_t index)
{
    int nth = 1;
    for (size_t i = 0; i < index; i++) {
        nth += strcmp(routes[i].name, routes[index].name) == 0;
    }
    pawl__buf_printf(out, ",\"operationId\":\"%s", routes[index].name);
    if (nth > 1) pawl__buf_printf(out, "_%d", nth);
    pawl__buf_add_text(out, "\"");
}

static void add_operation(struct pawl__buf *out, const struct pawl__route *routes, size_t index)
{
    const struct pawl__route *route = &routes[index];
    char method[16] = "";
    for (size_t i = 0; i + 1 < sizeof method && route->method[i]; i++) {
        method[i] = (char)(route->method[i] | 0x20);
    }
    pawl__buf_printf(out, "\"%s\":{", method);
    add_tag(out, route->path);
    add_operation_id(out, routes, index);
    add_text(out, ",\"summary\":", route->summary);
    add_parameters(out, route);
    add_body(out, route);
    add_answers(out, route);
    if (route->scope == PAWL__SCOPE_NONE) {
        pawl__buf_add_text(out, ",\"security\":[]}");
    } else {
        pawl__buf_printf(out, ",\"security\":[{\"token\":[\"%s\"]}]}", scopes[route->scope]);
    }
}

/* The first route of each path stands for all of them. */
static bool is_first(const struct pawl__route *routes, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(routes[i].path, routes[index].path) == 0) return false;
    }
    return true;
}

static void add_paths(struct pawl__buf *out, const struct pawl__route *routes, size_t count)
{
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (!is_first(routes, i)) continue;
        pawl__buf_printf(out, "%s\"%s\":{", comma, routes[i].path);
        const char *inner = "";
        for (size_t j = i; j < count; j++) {
            if (strcmp(routes[j].path, routes[i].path) != 0) continue;
            pawl__buf_add_text(out, inner);
            add_operation(out, routes, j);
            inner = ",";
        }
        pawl__buf_add_text(out, "}");
        comma = ",";
    }
}

void pawl__openapi_print(struct pawl__buf *out, const struct pawl__route *routes, size_t count,
                         const char *url)
{
    pawl__buf_printf(out,
                     "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"pawl\",\"version\":\"%s\","
                     "\"summary\":\"A durable job scheduler: the Open Job Spec over HTTP\"},"
                     "\"servers\":[{\"url\":\"%s\"}],\"paths\":{",
                     PAWL_VERSION, url);
    add_paths(out, routes, count);
    pawl__buf_add_text(out, "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\","
                            "\"scheme\":\"bearer\",\"description\":\"made by `pawl token add`; "
                            "not needed as long as there are none\"}},\"responses\":{\"Error\":"
                            "{\"description\":\"Refused, or failed\",");
    add_content(out, "application/openjobspec+json", "Error");
    pawl__buf_add_text(out, "},\"RemoteError\":{\"description\":\"Refused by the server, or by the "
                            "library: then err is the name of its error\",");
    add_content(out, "application/openjobspec+json", "RemoteError");
    pawl__buf_add_text(out, "}},\"schemas\":{");
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        pawl__buf_printf(out, "%s\"%s\":%s", i ? "," : "", schemas[i].name, schemas[i].json);
    }
    pawl__buf_add_text(out, "}}}");
}

void pawl__on_openapi(struct pawl__request *request)
{
    request->content_type = "application/json";
    pawl__openapi_print(&request->reply, pawl__routes, pawl__route_count, request->server->url);
    pawl__reply(request, 200);
}
