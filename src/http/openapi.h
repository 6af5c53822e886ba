/* The OpenAPI document, made from the list of routes. Pure. */
#ifndef PAWL_HTTP_OPENAPI_H
#define PAWL_HTTP_OPENAPI_H

#include "base/buf.h"
#include "http/routes.h"

/* OpenAPI 3.1. `url` is where the server can be reached. out->failed when there is no memory. */
void pawl__openapi_print(struct pawl__buf *out, const struct pawl__route *routes, size_t count,
                         const char *url);

#endif
