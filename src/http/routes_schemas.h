/* Routes of schemas; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_SCHEMAS_H
#define PAWL_HTTP_ROUTES_SCHEMAS_H

#define PAWL__ROUTES_SCHEMAS(X)                                                                    \
    X("GET", "/ojs/v1/schemas", schemas, READ, WORK, "List the schemas")                           \
    X("POST", "/ojs/v1/schemas", schema_add, ADMIN, WORK, "Keep a schema under its URI")           \
    X("GET", "/ojs/v1/schemas/{uri}", schema_get, READ, WORK, "A schema by its URI")               \
    X("DELETE", "/ojs/v1/schemas/{uri}", schema_delete, ADMIN, WORK, "Forget a schema")            \
    X("GET", "/ojs/v1/admin/schemas", type_schemas, ADMIN, WORK, "List the schemas of types")      \
    X("GET", "/ojs/v1/admin/schemas/{type}", type_schema_newest, ADMIN, WORK,                      \
      "The newest schema of a type")                                                               \
    X("GET", "/ojs/v1/admin/schemas/{type}/versions", type_schema_versions, ADMIN, WORK,           \
      "The versions of a type's schema")                                                           \
    X("PUT", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_put, ADMIN, WORK,               \
      "Keep a schema of a type")                                                                   \
    X("GET", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_get, ADMIN, WORK,               \
      "A schema of a type")                                                                        \
    X("DELETE", "/ojs/v1/admin/schemas/{type}/{version}", type_schema_delete, ADMIN, WORK,         \
      "Forget a schema of a type")

#endif
