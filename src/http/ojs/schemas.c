/* Schemas, kept for clients to look up: by URI, and by job type and version. They are not enforced;
 * the manifest says so. On the pool. */
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 200, VERSION_BYTES_MAX = 32, PAGE_MAX = 100 };

/* ---- which one ---- */

/* By type if there is a version, else by URI. False: answered. */
static bool name_schema(struct pawl__request *request, const char *key, const char *version,
                        struct pawl_args_schema *out)
{
    bool fits = strlen(key) <= NAME_BYTES_MAX && key[0] && !strchr(key, ' ') &&
                (!version || (strlen(version) <= VERSION_BYTES_MAX && !strchr(version, ' ')));
    *out = (struct pawl_args_schema){ .uri = version ? "" : key,
                                      .type = version ? key : "",
                                      .version = version ? version : "",
                                      .of_type = "",
                                      .of_version = "",
                                      .created_at_ms = request->now_ms };
    return fits || pawl__reply_invalid(request, version ? "type" : "uri",
                                       "a schema's name has 1 to %d bytes and its version at most "
                                       "%d, without blanks",
                                       NAME_BYTES_MAX, VERSION_BYTES_MAX);
}

static bool has_uri(const struct pawl_args_schema *schema)
{
    return *schema->uri;
}

static const char *key_of(const struct pawl_args_schema *schema)
{
    return has_uri(schema) ? schema->uri : schema->type;
}

/* Those that have a URI, or those that have a type; of this name, NULL: all. False: answered, and
 * there is nothing to release. */
static bool read_schemas(struct pawl__request *request, bool by_type, const char *name,
                         struct pawl_args_schemas *out)
{
    const struct pawl_args_schema_filter filter = { .by_type = by_type, .name = name };
    struct pawl_diag diag;
    enum pawl_err err = pawl_args_schemas_get(pawl__request_pawl(request), &filter, out, &diag);
    return !pawl__reply_if_err(request, err, &diag);
}

/* The body's schema: the member "schema" or "args_schema". 0: answered. */
static uint32_t schema_of(struct pawl__request *request, const struct pawl__json *json)
{
    uint32_t schema = pawl__json_member(json, 0, "schema");
    if (!schema) schema = pawl__json_member(json, 0, "args_schema");
    if (schema && json->tokens[schema].type == PAWL__JSON_OBJECT) return schema;
    pawl__reply_invalid(request, "schema", "schema must be an object");
    return 0;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
}

static void add_version(struct pawl__buf *out, const char *version)
{
    if (is_number(version)) {
        pawl__buf_add_int(out, strtoll(version, NULL, 10));
    } else {
        pawl__buf_add_json(out, version, strlen(version));
    }
}

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    if (!*text) return;
    pawl__buf_printf(out, "\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
    pawl__buf_add_text(out, ",");
}

static void print_name(struct pawl__buf *out, const struct pawl_args_schema *schema)
{
    add_text(out, "uri", schema->uri);
    add_text(out, "type", schema->type);
    add_text(out, "type", schema->of_type);
    add_text(out, "version", schema->of_version);
    if (!has_uri(schema)) {
        pawl__buf_add_text(out, "\"version\":");
        add_version(out, schema->version);
        pawl__buf_add_text(out, ",");
    }
    pawl__buf_add_text(out, "\"created_at\":");
    pawl__print_instant(out, schema->created_at_ms);
}

static void print(struct pawl__buf *out, const struct pawl_args_schema *schema)
{
    pawl__buf_add_text(out, "{");
    print_name(out, schema);
    pawl__buf_add_text(out, ",\"schema\":");
    pawl__buf_add(out, schema->schema.at, schema->schema.len);
    pawl__buf_add_text(out, "}");
}

/* One by itself. That of a URI is {"schema":{uri, type, version, created_at, schema}, uri, type,
 * version, created_at}: some clients read the one, some the other. */
static void print_one(struct pawl__buf *out, const struct pawl_args_schema *schema)
{
    if (!has_uri(schema)) {
        print(out, schema);
        return;
    }
    pawl__buf_add_text(out, "{\"schema\":");
    print(out, schema);
    pawl__buf_add_text(out, ",");
    print_name(out, schema);
    pawl__buf_add_text(out, "}");
}

/* ---- keeping, showing, forgetting ---- */

/* Unless there is one of that name. */
static void keep(struct pawl__request *request, const struct pawl_args_schema *schema)
{
    struct pawl_diag diag;
    enum pawl_err err = pawl_args_schema_add(pawl__request_pawl(request), schema, &diag);
    if (err == PAWL_ERR_EXISTS) {
        pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "schema",
                           "there is such a schema already; delete it first, or use a new version");
        return;
    }
    if (pawl__reply_if_err(request, err, &diag)) return;
    print_one(&request->reply, schema);
    pawl__reply(request, 201);
}

static void forget(struct pawl__request *request, const struct pawl_args_schema *schema)
{
    struct pawl_diag diag;
    struct pawl__buf *out = &request->reply;
    enum pawl_err err = pawl_args_schema_drop(pawl__request_pawl(request), schema, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__reply_not_found(request, "schema", key_of(schema));
        return;
    }
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_printf(out, "{\"deleted\":true,\"%s\":", has_uri(schema) ? "uri" : "type");
    pawl__buf_add_json(out, key_of(schema), strlen(key_of(schema)));
    if (!has_uri(schema)) {
        pawl__buf_add_text(out, ",\"version\":");
        add_version(out, schema->version);
    }
    pawl__buf_add_text(out, "}");
    pawl__reply(request, 200);
}

static void show(struct pawl__request *request, const struct pawl_args_schema *schema)
{
    struct pawl_args_schemas schemas = { 0 };
    const struct pawl_args_schema *found = NULL;
    if (!read_schemas(request, !has_uri(schema), key_of(schema), &schemas)) return;
    for (size_t i = 0; i < schemas.count; i++) {
        if (strcmp(schemas.at[i].version, schema->version) == 0) found = &schemas.at[i];
    }
    if (found) {
        print_one(&request->reply, found);
        pawl__reply(request, 200);
    } else {
        pawl__reply_not_found(request, "schema", key_of(schema));
    }
    pawl_args_schemas_release(&schemas);
}

/* Handlers of the path's schema: rows of a table. */
#define X(name, does, version)                                                                     \
    void pawl__on_##name(struct pawl__request *request)                                            \
    {                                                                                              \
        struct pawl_args_schema schema;                                                            \
        if (name_schema(request, request->parts[0], version, &schema)) does(request, &schema);     \
    }
X(schema_get, show, NULL)
X(schema_delete, forget, NULL)
X(type_schema_get, show, request->parts[1])
X(type_schema_delete, forget, request->parts[1])
#undef X

/* ---- lists ---- */

/* limit and offset, or page and per_page. False: answered. */
static bool read_page(struct pawl__request *request, struct pawl__paging *out)
{
    int64_t page = 1;
    if (!pawl__paging_read(request, PAGE_MAX, out)) return false;
    if (out->cursor) {
        return pawl__reply_invalid(request, "cursor",
                                   "this list has no cursors; use page or offset");
    }
    if (!pawl__request_int(request, "per_page", 1, PAGE_MAX, &out->limit) ||
        !pawl__request_int(request, "page", 1, PAWL__OFFSET_MAX, &page)) {
        return false;
    }
    if (page > 1) out->offset = (page - 1) * out->limit;
    return true;
}

static void print_page(struct pawl__buf *out, const char *member,
                       const struct pawl_args_schemas *schemas, const struct pawl__paging *paging)
{
    int64_t total = (int64_t)schemas->count, end = paging->offset + paging->limit;
    pawl__buf_printf(out, "\"%s\":[", member);
    for (int64_t i = paging->offset; i < total && i < end; i++) {
        if (i > paging->offset) pawl__buf_add(out, ",", 1);
        print(out, &schemas->at[i]);
    }
    pawl__buf_add_text(out, "],");
}

/* `also`: the same list under another name; NULL: not. */
static void list(struct pawl__request *request, bool by_type, const char *member, const char *also)
{
    struct pawl_args_schemas schemas = { 0 };
    struct pawl__paging paging;
    struct pawl__buf *out = &request->reply;
    if (!read_page(request, &paging) || !read_schemas(request, by_type, NULL, &schemas)) return;
    int64_t total = (int64_t)schemas.count, end = paging.offset + paging.limit;
    pawl__buf_add_text(out, "{");
    print_page(out, member, &schemas, &paging);
    if (also) print_page(out, also, &schemas, &paging);
    pawl__buf_printf(out,
                     "\"pagination\":{\"total\":%lld,\"limit\":%lld,\"offset\":%lld,"
                     "\"page\":%lld,\"per_page\":%lld,\"has_more\":%s}}",
                     (long long)total, (long long)paging.limit, (long long)paging.offset,
                     (long long)paging.offset / paging.limit + 1, (long long)paging.limit,
                     end < total ? "true" : "false");
    pawl_args_schemas_release(&schemas);
    pawl__reply(request, 200);
}

void pawl__on_schemas(struct pawl__request *request)
{
    list(request, false, "schemas", NULL);
}

void pawl__on_type_schemas(struct pawl__request *request)
{
    list(request, true, "items", "schemas");
}

/* ---- adding ---- */

void pawl__on_schema_add(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl_args_schema schema;
    const char *uri, *type, *version;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "uri", &uri) ||
        !pawl__body_text(request, &json, 0, "type", &type) ||
        !pawl__body_text(request, &json, 0, "version", &version)) {
        return;
    }
    uint32_t body = schema_of(request, &json);
    if (!body || !name_schema(request, uri ? uri : "", NULL, &schema)) return;
    if (type) schema.of_type = type;
    if (version) schema.of_version = version;
    schema.schema = pawl__json_span(&json, body);
    keep(request, &schema);
}

void pawl__on_type_schema_put(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl_args_schema schema;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t body = schema_of(request, &json);
    if (!body || !name_schema(request, request->parts[0], request->parts[1], &schema)) return;
    schema.schema = pawl__json_span(&json, body);
    keep(request, &schema);
}

/* ---- versions of a type ---- */

/* False: answered, and there is nothing to release. */
static bool read_versions(struct pawl__request *request, struct pawl_args_schemas *out)
{
    struct pawl_args_schema any;
    return name_schema(request, request->parts[0], "", &any) &&
           read_schemas(request, true, any.type, out);
}

/* Numbers by their value, also within "1.10" and "1.9". */
static int compare_versions(const char *a, const char *b)
{
    while (*a && *b) {
        char *end_a, *end_b;
        long long x = strtoll(a, &end_a, 10), y = strtoll(b, &end_b, 10);
        bool digits = end_a != a && end_b != b;
        if (digits && x != y) return x < y ? -1 : 1;
        if (!digits && *a != *b) return *a < *b ? -1 : 1;
        a = digits ? end_a : a + 1;
        b = digits ? end_b : b + 1;
    }
    return *a ? 1 : *b ? -1 : 0;
}

void pawl__on_type_schema_newest(struct pawl__request *request)
{
    struct pawl_args_schemas schemas = { 0 };
    const struct pawl_args_schema *newest = NULL;
    if (!read_versions(request, &schemas)) return;
    for (size_t i = 0; i < schemas.count; i++) {
        const struct pawl_args_schema *at = &schemas.at[i];
        if (!newest || compare_versions(newest->version, at->version) < 0) newest = at;
    }
    if (newest) {
        print(&request->reply, newest);
        pawl__reply(request, 200);
    } else {
        pawl__reply_not_found(request, "schema", request->parts[0]);
    }
    pawl_args_schemas_release(&schemas);
}

void pawl__on_type_schema_versions(struct pawl__request *request)
{
    struct pawl_args_schemas schemas = { 0 };
    struct pawl__buf *out = &request->reply;
    if (!read_versions(request, &schemas)) return;
    pawl__buf_add_text(out, "{\"type\":");
    pawl__buf_add_json(out, request->parts[0], strlen(request->parts[0]));
    pawl__buf_add_text(out, ",\"versions\":[");
    for (size_t i = 0; i < schemas.count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        add_version(out, schemas.at[i].version);
    }
    pawl__buf_add_text(out, "],\"items\":[");
    for (size_t i = 0; i < schemas.count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        print(out, &schemas.at[i]);
    }
    pawl__buf_add_text(out, "]}");
    pawl_args_schemas_release(&schemas);
    pawl__reply(request, 200);
}
