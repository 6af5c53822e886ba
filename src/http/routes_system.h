/* Routes of the server itself; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_SYSTEM_H
#define PAWL_HTTP_ROUTES_SYSTEM_H

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

#endif
