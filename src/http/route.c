/* From a path to its handler. */
#include "http/auth.h"
#include "http/conn.h"
#include "http/rooms.h"

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

static bool same_method(const struct pawl__route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
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

static void refuse_method(struct pawl__request *request)
{
    struct pawl__fault fault = { 0 };
    struct pawl__buf allow = { 0 };
    struct pawl_span parts[PAWL__PATH_PARTS_MAX];
    size_t count;
    for (size_t i = 0; i < pawl__route_count; i++) {
        const struct pawl__route *route = &pawl__routes[i];
        if (!pawl__route_matches(route->path, request->path, parts, &count)) continue;
        pawl__buf_printf(&allow, "%s%s", allow.len ? ", " : "", route->method);
        if (strcmp(route->method, "GET") == 0) pawl__buf_add_text(&allow, ", HEAD");
    }
    char *list = allow.failed ? NULL : pawl__arena_dup(&request->arena, allow.at, allow.len);
    pawl__buf_release(&allow);
    pawl__reply_header(request, "Allow", list ? list : "GET");
    pawl__refuse(&fault, PAWL__FAULT_METHOD, "", "%s is not possible here, but %s", request->method,
                 list ? list : "GET");
    refuse(request, &fault);
}

static void refuse_path(struct pawl__request *request)
{
    struct pawl__fault fault = { .kind = PAWL__FAULT_NOT_FOUND };
    struct pawl__buf details = { 0 };
    char path[128];
    snprintf(path, sizeof path, "%s", request->path);
    snprintf(fault.message, sizeof fault.message, "there is no path \"%s\"", path);
    pawl__buf_add_text(&details, "\"resource_type\":\"path\",\"resource_id\":");
    pawl__buf_add_json(&details, path, strlen(path));
    char *kept = details.failed ? NULL : pawl__arena_dup(&request->arena, details.at, details.len);
    if (kept) fault.details = (struct pawl_span){ kept, details.len };
    pawl__buf_release(&details);
    refuse(request, &fault);
}

/* Sets request->route, or ->refusal. */
static void find(struct pawl__request *request)
{
    struct pawl_span parts[PAWL__PATH_PARTS_MAX];
    struct pawl__fault fault = { 0 };
    size_t count;
    bool known = false;
    for (size_t i = 0; i < pawl__route_count; i++) {
        const struct pawl__route *route = &pawl__routes[i];
        if (!pawl__route_matches(route->path, request->path, parts, &count)) continue;
        known = true;
        if (!same_method(route, request->method)) continue;
        request->route = route;
        if (copy_parts(request, parts, count)) return;
        pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, "",
                     "the path holds an escape that is not one");
        refuse(request, &fault);
        return;
    }
    if (known) {
        refuse_method(request);
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
        pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "Content-Type",
                           "Content-Type must be application/openjobspec+json or "
                           "application/json, not \"%.64s\" (curl: --json)",
                           type);
    } else {
        return true;
    }
    return false;
}

/* ---- the pool ---- */

struct errand {
    uv_work_t work;
    struct pawl__request *request;
    pawl__handler_fn *fn;
};

static void run_errand(uv_work_t *work)
{
    struct errand *errand = work->data;
    errand->fn(errand->request);
    assert(errand->request->status || errand->request->parking);
}

void pawl__request_park(struct pawl__request *request)
{
    assert(request->on_pool && request->parked);
    request->parking = true;
}

void pawl__request_to_loop(struct pawl__request *request, pawl__handler_fn *fn)
{
    assert(request->on_pool);
    request->parked = fn;
    request->parking = request->returning = true;
}

static void errand_done(uv_work_t *work, int status)
{
    (void)status;
    struct pawl__request *request = ((struct errand *)work->data)->request;
    request->server->working--;
    request->on_pool = false;
    if (request->status) {
        pawl__conn_send(request);
    } else if (!request->conn && !request->returning) { // meanwhile: nobody waits
        pawl__reply_refuse(request, PAWL__FAULT_REQUEST_TIMEOUT, "", "%s", PAWL__HUNG_UP_TEXT);
    } else {
        request->parking = request->returning = false;
        request->parked(request);
    }
}

void pawl__request_to_pool(struct pawl__request *request, pawl__handler_fn *fn)
{
    struct errand *errand = pawl__arena_calloc(&request->arena, 1, sizeof *errand);
    if (!errand) {
        pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "", "out of memory");
        return;
    }
    errand->request = request;
    errand->fn = fn;
    errand->work.data = errand;
    request->on_pool = true;
    request->server->working++;
    if (uv_queue_work(&request->server->loop, &errand->work, run_errand, errand_done)) {
        request->server->working--;
        request->on_pool = false;
        pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "", "the server is too busy");
    }
}

void pawl__dispatch(struct pawl__request *request)
{
    const struct pawl__route *route = request->route;
    if (pawl__cors_answered(request)) return;
    if (request->refusal) {
        pawl__reply_fault(request, request->refusal);
    } else if (!check_headers(request)) {
        return; // answered
    } else if (route->place == PAWL__PLACE_WORK) {
        pawl__request_to_pool(request, route->handler);
    } else {
        route->handler(request);
    }
}
