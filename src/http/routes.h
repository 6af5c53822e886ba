/* Every route, once: the router, the scopes and the OpenAPI document are made from this list. */
#ifndef PAWL_HTTP_ROUTES_H
#define PAWL_HTTP_ROUTES_H

#include "http/admin/admin.h"
#include "http/events/events.h"
#include "http/marie/marie.h"
#include "http/ojs/ojs.h"
#include "http/remote/remote.h"
#include "http/transport/transport.h"

/* Those of the server itself. The others are in the doors of the rooms that serve them. */
#define PAWL__ROUTES_SYSTEM(X)                                                                     \
    X("GET", "/", index, NONE, LOOP, "What this is, and where to look")                            \
    X("GET", "/health", health, NONE, LOOP, "Is the server alive?")                                \
    X("GET", "/healthz", health, NONE, LOOP, "Is the server alive?")                               \
    X("GET", "/ready", ready, NONE, LOOP, "Does the server take requests?")                        \
    X("GET", "/readyz", ready, NONE, LOOP, "Does the server take requests?")                       \
    X("GET", "/ojs/v1/health", ojs_health, NONE, WORK, "Health of server and store")               \
    X("GET", "/ojs/manifest", manifest, NONE, LOOP, "What this server is and can do")              \
    X("GET", "/openapi.json", openapi, NONE, WORK, "This document")                                \
    X("GET", "/metrics", metrics, READ, LOOP, "Counts and measures for Prometheus")                \
    X("GET", "/ojs/v1/metrics", metrics, READ, LOOP, "Counts and measures for Prometheus")

/* method, path, handler (pawl__on_...), scope, place, summary. The router looks from the top, so
 * the busiest come first. A {part} matches one segment. The first path that matches is the one that
 * was asked for, so a path that another one's {part} matches stands before that one. One handler
 * may serve several routes. */
#define PAWL__ROUTES(X)                                                                            \
    PAWL__ROUTES_WORKERS(X)                                                                        \
    PAWL__ROUTES_JOBS(X)                                                                           \
    PAWL__ROUTES_QUEUES(X)                                                                         \
    PAWL__ROUTES_EVENTS(X)                                                                         \
    PAWL__ROUTES_ADMIN(X)                                                                          \
    PAWL__ROUTES_MARIE(X)                                                                          \
    PAWL__ROUTES_REMOTE(X)                                                                         \
    PAWL__ROUTES_SCHEMAS(X)                                                                        \
    PAWL__ROUTES_WORKFLOWS(X)                                                                      \
    PAWL__ROUTES_CRON(X)                                                                           \
    PAWL__ROUTES_SYSTEM(X)

PAWL__ROUTES_SYSTEM(PAWL__DECLARE_HANDLER)

extern const struct pawl__route pawl__routes[];
extern const size_t pawl__route_count;

/* Notes where the parts stand in the path, still encoded: a part's %2F is no slash. */
bool pawl__route_matches(const char *pattern, const char *path,
                         struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count);
/* The first route whose path matches, by whatever method; NULL: there is none. */
const struct pawl__route *
pawl__route_find(const char *path, struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count);
/* "GET, HEAD, POST": the methods of all routes with this route's path. */
void pawl__route_methods(const struct pawl__route *route, struct pawl__buf *out);

/* From the head alone: find the route, check who asks. Leaves request->route, or ->refusal. */
void pawl__admit(struct pawl__request *request);
/* The body is here: call the handler, or tell the refusal. */
void pawl__dispatch(struct pawl__request *request);

/* Does the route do more than look? Then HEAD does not ask for it, nor may another origin's page.
 */
bool pawl__route_changes(const struct pawl__route *route);

/* ---- origin.c ---- */

/* What may be asked, and by which pages; Allow is among the headers already. */
void pawl__reply_options(struct pawl__request *request);
/* False: a page from elsewhere may make a browser do this, and must not; `*fault` is filled in.
 * `open`: there are no tokens. */
bool pawl__origin_ok(const struct pawl__request *request, bool open, struct pawl__fault *fault);
/* "*", or scheme, host and perhaps port. */
bool pawl__origin_is_one(const char *text);

#endif
