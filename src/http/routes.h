/* Every route, once: the router, the scopes and the OpenAPI document are made from this list. */
#ifndef PAWL_HTTP_ROUTES_H
#define PAWL_HTTP_ROUTES_H

#include "http/http.h"
#include "http/request.h"
#include "http/routes_admin.h"
#include "http/routes_events.h"
#include "http/routes_jobs.h"
#include "http/routes_marie.h"
#include "http/routes_queues.h"
#include "http/routes_remote.h"
#include "http/routes_schemas.h"
#include "http/routes_system.h"
#include "http/routes_workers.h"

/* Where a handler runs: on the loop, never blocking, or on a thread of the pool. */
enum pawl__place { PAWL__PLACE_LOOP, PAWL__PLACE_WORK };

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
    PAWL__ROUTES_SYSTEM(X)

struct pawl__route {
    const char *method;
    const char *path;
    const char *name;
    pawl__handler_fn *handler;
    enum pawl__scope scope;
    enum pawl__place place;
    const char *summary;
};

#define X(method, path, name, ...) void pawl__on_##name(struct pawl__request *request);
PAWL__ROUTES(X)
#undef X

extern const struct pawl__route pawl__routes[];
extern const size_t pawl__route_count;

/* Notes where the parts stand in the path, still encoded: a part's %2F is no slash. */
bool pawl__route_matches(const char *pattern, const char *path,
                         struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count);
/* The first route whose path matches, by whatever method; NULL: there is none. */
const struct pawl__route *
pawl__route_find(const char *path, struct pawl_span parts[PAWL__PATH_PARTS_MAX], size_t *count);
/* Does it do more than look? Then HEAD does not ask for it, nor may another origin's page. */
bool pawl__route_changes(const struct pawl__route *route);
/* "GET, HEAD, POST": the methods of all routes with this route's path. */
void pawl__route_methods(const struct pawl__route *route, struct pawl__buf *out);

#endif
