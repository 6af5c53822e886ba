/* From a path to its handler. */
#include "http/auth.h"
#include "http/components.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define X(method, path, name, scope, place, summary)                                               \
    { method, path, #name, pawl__on_##name, PAWL__SCOPE_##scope, PAWL__PLACE_##place, summary },
const struct pawl__route pawl__routes[] = { PAWL__ROUTES(X) };
#undef X
const size_t pawl__route_count = sizeof pawl__routes / sizeof pawl__routes[0];

/* Most routes differ from the path in a byte near the front, and are passed over there. */
bool pawl__route_matches(const char *pattern, const char *path,
                         struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count)
{
    *count = 0;
    for (; *pattern == *path || *pattern == '{'; pattern++, path++) {
        if (*pattern == '{') {
            size_t len = strcspn(path, "/");
            if (!len || *count == PAWL__PATH_PARTS_MAX) return false;
            parts[(*count)++] = (struct pawl_span){ path, len };
            path += len - 1; // both on the last byte
            pattern += strcspn(pattern, "}");
        } else if (!*pattern) {
            return true;
        }
    }
    return false;
}

const struct pawl__route *
pawl__route_find(const char *path, struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count)
{
    for (size_t i = 0; i < pawl__route_count; i++) {
        if (pawl__route_matches(pawl__routes[i].path, path, parts, count)) return &pawl__routes[i];
    }
    return NULL;
}

/* Marie's documents stop a job by GET, so the method alone does not tell. */
bool pawl__route_changes(const struct pawl__route *route)
{
    return strcmp(route->method, "GET") != 0 || route->scope == PAWL__SCOPE_SUBMIT ||
           route->scope == PAWL__SCOPE_WORK;
}

static bool same_method(const struct pawl__route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && !pawl__route_changes(route));
}

/* The next route with the path of `first`, from `at` on; NULL: no more. */
static const struct pawl__route *next_of(const struct pawl__route *first,
                                         const struct pawl__route *at)
{
    while (at < pawl__routes + pawl__route_count && strcmp(at->path, first->path) != 0) {
        at++;
    }
    return at < pawl__routes + pawl__route_count ? at : NULL;
}

void pawl__route_methods(const struct pawl__route *route, struct pawl__buf *out)
{
    const char *comma = "";
    for (const struct pawl__route *at = pawl__routes; (at = next_of(route, at)); at++) {
        const char *head = pawl__route_changes(at) ? "" : ", HEAD";
        pawl__buf_printf(out, "%s%s%s", comma, at->method, head);
        comma = ", ";
    }
}

/* Some SDKs put the prefix before paths that have it already, and people end paths in a slash. */
static void simplify_path(struct pawl__request *request)
{
    static const char twice[] = "/ojs/v1/ojs/v1/";
    const char *path = request->path;
    if (strncmp(path, twice, sizeof twice - 1) == 0) path += strlen("/ojs/v1");
    size_t len = strlen(path);
    if (len > 1 && path[len - 1] == '/' && path[len - 2] != '/') {
        const char *kept = pawl__arena_dup(&request->arena, path, len - 1);
        if (kept) path = kept;
    }
    request->path = path;
}

/* A part's %2F is a slash within it, which is why decoding comes after matching. */
static bool copy_parts(struct pawl__request *request, const struct pawl_span *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *copy = pawl__arena_dup(&request->arena, parts[i].at, parts[i].len);
        if (!copy || !pawl__percent_decode(copy, false)) return false;
        request->parts[i] = copy;
    }
    request->part_count = count;
    return true;
}

/* Handlers take a parameter that cannot be decoded for one that was not given, which would widen
 * what they list or delete. */
static bool is_query_sound(struct pawl__request *request)
{
    char *copy = pawl__arena_dup(&request->arena, request->query, strlen(request->query));
    return copy && pawl__percent_decode(copy, true);
}

/* ---- refusing ---- */

static const struct pawl__fault no_memory = { .kind = PAWL__FAULT_UNAVAILABLE,
                                              .message = "out of memory" };

/* Remembered until the body has come; `*fault` is copied. */
static void refuse(struct pawl__request *request, const struct pawl__fault *fault)
{
    struct pawl__fault *kept = pawl__arena_alloc(&request->arena, sizeof *kept);
    if (kept) *kept = *fault;
    request->refusal = kept ? kept : &no_memory;
}

/* What may be asked of this path, as a header; `first` NULL: of the server. */
static const char *allow(struct pawl__request *request, const struct pawl__route *first)
{
    struct pawl__buf list = { 0 };
    if (first) pawl__route_methods(first, &list);
    char *kept = list.failed || !first ? NULL : pawl__arena_dup(&request->arena, list.at, list.len);
    const char *methods = kept ? kept : PAWL__METHODS;
    pawl__buf_release(&list);
    pawl__reply_header(request, "Allow", methods);
    return methods;
}

static void refuse_method(struct pawl__request *request, const struct pawl__route *first)
{
    struct pawl__fault fault = { 0 };
    const char *methods = allow(request, first);
    pawl__refuse(&fault, PAWL__FAULT_METHOD, "", "%s not allowed; use %s", request->method,
                 methods);
    refuse(request, &fault);
}

static void refuse_path(struct pawl__request *request)
{
    struct pawl__fault fault = { .kind = PAWL__FAULT_NOT_FOUND };
    struct pawl__buf details = { 0 };
    char path[128];
    snprintf(path, sizeof path, "%s", request->path);
    snprintf(fault.message, sizeof fault.message, "there is no path \"%s\"%s", path,
             request->server->config.metrics_only ? "; this node serves /metrics and /healthz only"
                                                  : "");
    pawl__buf_add_text(&details, "\"resource_type\":\"path\",\"resource_id\":");
    pawl__buf_add_json(&details, path, strlen(path));
    char *kept = details.failed ? NULL : pawl__arena_dup(&request->arena, details.at, details.len);
    if (kept) fault.details = (struct pawl_span){ kept, details.len };
    pawl__buf_release(&details);
    refuse(request, &fault);
}

static bool is_options(const struct pawl__request *request)
{
    return strcmp(request->method, "OPTIONS") == 0;
}

static void take_route(struct pawl__request *request, const struct pawl__route *first,
                       const struct pawl_span *parts, size_t count)
{
    struct pawl__fault fault = { 0 };
    const struct pawl__route *route = first;
    while (route && !same_method(route, request->method)) {
        route = next_of(first, route + 1);
    }
    if (!route) {
        refuse_method(request, first);
        return;
    }
    request->route = route;
    bool path_ok = copy_parts(request, parts, count);
    if (path_ok && is_query_sound(request)) return;
    pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, "", "the %s holds an escape that is not one",
                 path_ok ? "query" : "path");
    refuse(request, &fault);
}

/* A node that shows its metrics offers nothing else. */
static bool is_offered(const struct pawl__server *server, const struct pawl__route *route)
{
    return !server->config.metrics_only || route->handler == pawl__on_metrics ||
           route->handler == pawl__on_health;
}

/* Sets request->route, or ->refusal; for OPTIONS neither, when there is an answer. */
static void find(struct pawl__request *request)
{
    struct pawl_span parts[PAWL__PATH_PARTS_MAX];
    size_t count;
    simplify_path(request);
    const struct pawl__route *first = pawl__route_find(request->path, parts, &count);
    if (first && !is_offered(request->server, first)) first = NULL;
    bool any = strcmp(request->path, "*") == 0 || request->server->config.cors_origin;
    if (is_options(request) && (first || any)) {
        allow(request, first);
    } else if (first) {
        take_route(request, first, parts, count);
    } else {
        refuse_path(request);
    }
}

void pawl__admit(struct pawl__request *request)
{
    struct pawl__server *server = request->server;
    struct pawl__fault fault = { 0 };
    find(request);
    bool ok = pawl__origin_ok(request, pawl__auth_is_open(server->auth), &fault);
    if (ok && request->route) {
        ok = pawl__auth_check(server->auth, request, request->route->scope, &fault);
    }
    if (!ok) refuse(request, &fault);
}

/* ---- what all requests have in common ---- */

static bool is_json_type(const char *type)
{
    static const char *const known[] = { "application/openjobspec+json", "application/json" };
    size_t len = strcspn(type, "; \t");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) == len && strncasecmp(known[i], type, len) == 0) return true;
    }
    return false;
}

/* "1", "1.1", "1.0.0-rc.1": all versions of major number 1 are served alike. An empty header says
 * nothing. */
static bool is_served(const char *version)
{
    static const char *const pre_release = "0123456789abcdefghijklmnopqrstuvwxyz"
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-+";
    const char *at = version;
    if (!*at) return true;
    if (*at++ != '1') return false;
    while (*at == '.' && at[1] >= '0' && at[1] <= '9') {
        at += 1 + strspn(at + 1, "0123456789");
    }
    if ((*at == '-' || *at == '+') && at[1]) at += 1 + strspn(at + 1, pre_release);
    return !*at;
}

static bool check_headers(struct pawl__request *request)
{
    const char *version = pawl__request_header(request, "ojs-version");
    const char *type = pawl__request_header(request, "content-type");
    const char *encoding = pawl__request_header(request, "content-encoding");
    if (version && !is_served(version)) {
        pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, "OJS-Version",
                           "OJS-Version \"%.32s\" is not served here, but 1.0 and other versions "
                           "1.x are",
                           version);
    } else if (request->body.len && encoding && strcasecmp(encoding, "identity") != 0) {
        pawl__reply_refuse(request, PAWL__FAULT_ENCODING, "Content-Encoding",
                           "Content-Encoding \"%.32s\" is not understood", encoding);
    } else if (request->body.len && type && !is_json_type(type)) {
        pawl__reply_invalid(request, "Content-Type",
                            "Content-Type must be application/openjobspec+json or "
                            "application/json, not \"%.64s\" (curl: --json)",
                            type);
    } else {
        return true;
    }
    return false;
}

/* What comes with a large body has a large reply, too, and may have changed something by then. */
static bool check_room(struct pawl__request *request)
{
    if (request->body.len <= PAWL__LARGE_BYTES) return true;
    if (pawl__replies_have_room(request->server, request->body.len)) return true;
    return pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "",
                              "too many large replies are under way");
}

void pawl__dispatch(struct pawl__request *request)
{
    const struct pawl__route *route = request->route;
    if (request->refusal) {
        pawl__reply_fault(request, request->refusal);
    } else if (is_options(request)) {
        pawl__reply_options(request);
    } else if (!check_headers(request) || !check_room(request)) {
        return; // answered
    } else if (route->place == PAWL__PLACE_WORK) {
        pawl__request_to_pool(request, route->handler);
    } else {
        route->handler(request);
    }
}
