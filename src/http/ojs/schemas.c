/* Schemas, kept for clients to look up: by URI, and by job type and version. They are not enforced;
 * the manifest says so. Settings "schema.uri.URI" and "schema.type.TYPE VERSION" hold the reply as
 * it is given. On the pool. */
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 200, VERSION_BYTES_MAX = 32, PAGE_MAX = 100 };

#define BY_URI "schema.uri."
#define BY_TYPE "schema.type."

/* ---- which one ---- */

/* A schema's name, and how it is shown: by URI it is told twice (see print_twice). */
struct schema {
    const char *key, *version; /* of the type; NULL: by URI */
    char setting[256];
};

/* False: answered. */
static bool name_schema(struct pawl__request *request, const char *key, const char *version,
                        struct schema *out)
{
    bool fits = strlen(key) <= NAME_BYTES_MAX && key[0] && !strchr(key, ' ') &&
                (!version || (strlen(version) <= VERSION_BYTES_MAX && !strchr(version, ' ')));
    *out = (struct schema){ .key = key, .version = version };
    snprintf(out->setting, sizeof out->setting, "%s%s%s%s", version ? BY_TYPE : BY_URI, key,
             version ? " " : "", version ? version : "");
    return fits || pawl__reply_invalid(request, version ? "type" : "uri",
                                       "a schema's name has 1 to %d bytes and its version at most "
                                       "%d, without blanks",
                                       NAME_BYTES_MAX, VERSION_BYTES_MAX);
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

/* {"schema":{uri, type, version, created_at, schema}, uri, type, version, created_at}: some clients
 * read the one, some the other. `kept` ends with its schema. */
static void print_twice(struct pawl__buf *out, const char *kept)
{
    const char *schema = strstr(kept, ",\"schema\":"); // strings hold no bare quotes
    pawl__buf_printf(out, "{\"schema\":%s,", kept);
    pawl__buf_add(out, kept + 1, (size_t)(schema - kept - 1));
    pawl__buf_add(out, "}", 1);
}

static void print(struct pawl__buf *out, const struct schema *schema, const char *kept)
{
    if (schema->version) {
        pawl__buf_add_text(out, kept);
    } else {
        print_twice(out, kept);
    }
}

/* ---- keeping, showing, forgetting ---- */

/* Keep what request->reply holds, up to the schema itself, unless something is there. */
static void keep(struct pawl__request *request, const struct schema *schema, struct pawl_span text)
{
    struct pawl_diag diag = { 0 };
    const char *there;
    struct pawl__buf kept = request->reply;
    request->reply = (struct pawl__buf){ 0 };
    pawl__buf_add_text(&kept, ",\"created_at\":");
    pawl__print_instant(&kept, request->now_ms);
    pawl__buf_add_text(&kept, ",\"schema\":");
    pawl__buf_add(&kept, text.at, text.len);
    pawl__buf_add_text(&kept, "}");
    bool ok = pawl__setting_read(request, schema->setting, &there);
    if (ok && there) {
        ok = pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "schema",
                                "there is such a schema already; delete it first, or use a new "
                                "version");
    }
    if (ok) {
        enum pawl_err err = kept.failed ? PAWL_ERR_NOMEM
                                        : pawl_setting_put(pawl__request_pawl(request),
                                                           schema->setting, kept.at, &diag);
        ok = !pawl__reply_if_err(request, err, &diag);
    }
    if (ok) {
        print(&request->reply, schema, kept.at);
        pawl__reply(request, 201);
    }
    pawl__buf_release(&kept);
}

/* False: answered. */
static bool find(struct pawl__request *request, const struct schema *schema, const char **out)
{
    return pawl__setting_read(request, schema->setting, out) &&
           (*out || pawl__reply_not_found(request, "schema", schema->key));
}

static void forget(struct pawl__request *request, const struct schema *schema)
{
    struct pawl_diag diag;
    const char *there;
    if (!find(request, schema, &there)) return;
    enum pawl_err err = pawl_setting_put(pawl__request_pawl(request), schema->setting, NULL, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_printf(&request->reply,
                     "{\"deleted\":true,\"%s\":", schema->version ? "type" : "uri");
    pawl__buf_add_json(&request->reply, schema->key, strlen(schema->key));
    if (schema->version) {
        pawl__buf_add_text(&request->reply, ",\"version\":");
        add_version(&request->reply, schema->version);
    }
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

static void show(struct pawl__request *request, const struct schema *schema)
{
    const char *there;
    if (!find(request, schema, &there)) return;
    print(&request->reply, schema, there);
    pawl__reply(request, 200);
}

/* Handlers of the path's schema: rows of a table. */
#define X(name, does, version)                                                                     \
    void pawl__on_##name(struct pawl__request *request)                                            \
    {                                                                                              \
        struct schema schema;                                                                      \
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
                       const struct pawl_settings *settings, const struct pawl__paging *paging)
{
    int64_t total = (int64_t)settings->count, end = paging->offset + paging->limit;
    pawl__buf_printf(out, "\"%s\":[", member);
    for (int64_t i = paging->offset; i < total && i < end; i++) {
        if (i > paging->offset) pawl__buf_add(out, ",", 1);
        pawl__buf_add_text(out, settings->at[i].value);
    }
    pawl__buf_add_text(out, "],");
}

/* `also`: the same list under another name; NULL: not. */
static void list(struct pawl__request *request, const char *prefix, const char *member,
                 const char *also)
{
    struct pawl_settings settings = { 0 };
    struct pawl_diag diag;
    struct pawl__paging paging;
    struct pawl__buf *out = &request->reply;
    if (!read_page(request, &paging)) return;
    enum pawl_err err = pawl_settings_get(pawl__request_pawl(request), prefix, &settings, &diag);
    int64_t total = (int64_t)settings.count, end = paging.offset + paging.limit;
    pawl__buf_add_text(out, "{");
    print_page(out, member, &settings, &paging);
    if (also) print_page(out, also, &settings, &paging);
    pawl__buf_printf(out,
                     "\"pagination\":{\"total\":%lld,\"limit\":%lld,\"offset\":%lld,"
                     "\"page\":%lld,\"per_page\":%lld,\"has_more\":%s}}",
                     (long long)total, (long long)paging.limit, (long long)paging.offset,
                     (long long)paging.offset / paging.limit + 1, (long long)paging.limit,
                     end < total ? "true" : "false");
    pawl_settings_release(&settings);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        pawl__reply(request, 200);
    }
}

void pawl__on_schemas(struct pawl__request *request)
{
    list(request, BY_URI, "schemas", NULL);
}

void pawl__on_type_schemas(struct pawl__request *request)
{
    list(request, BY_TYPE, "items", "schemas");
}

/* ---- adding ---- */

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    if (!text) return;
    pawl__buf_printf(out, "%s\"%s\":", out->len ? "," : "{", name);
    pawl__buf_add_json(out, text, strlen(text));
}

void pawl__on_schema_add(struct pawl__request *request)
{
    struct pawl__json json;
    struct schema schema;
    const char *uri, *type, *version;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "uri", &uri) ||
        !pawl__body_text(request, &json, 0, "type", &type) ||
        !pawl__body_text(request, &json, 0, "version", &version)) {
        return;
    }
    uint32_t body = schema_of(request, &json);
    if (!body || !name_schema(request, uri ? uri : "", NULL, &schema)) return;
    add_text(&request->reply, "uri", uri);
    add_text(&request->reply, "type", type);
    add_text(&request->reply, "version", version);
    keep(request, &schema, pawl__json_span(&json, body));
}

void pawl__on_type_schema_put(struct pawl__request *request)
{
    struct pawl__json json;
    struct schema schema;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t body = schema_of(request, &json);
    if (!body || !name_schema(request, request->parts[0], request->parts[1], &schema)) return;
    add_text(&request->reply, "type", schema.key);
    pawl__buf_add_text(&request->reply, ",\"version\":");
    add_version(&request->reply, schema.version);
    keep(request, &schema, pawl__json_span(&json, body));
}

/* ---- versions of a type ---- */

/* Its settings, whose names end in " VERSION". False: answered, and there is nothing to release. */
static bool read_versions(struct pawl__request *request, struct pawl_settings *out)
{
    struct pawl_diag diag;
    struct schema any;
    if (!name_schema(request, request->parts[0], "", &any)) return false;
    enum pawl_err err = pawl_settings_get(pawl__request_pawl(request), any.setting, out, &diag);
    return !pawl__reply_if_err(request, err, &diag);
}

static const char *version_of(const struct pawl_setting *setting)
{
    return strrchr(setting->name, ' ') + 1;
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
    struct pawl_settings settings = { 0 };
    const struct pawl_setting *newest = NULL;
    if (!read_versions(request, &settings)) return;
    for (size_t i = 0; i < settings.count; i++) {
        const struct pawl_setting *at = &settings.at[i];
        if (!newest || compare_versions(version_of(newest), version_of(at)) < 0) newest = at;
    }
    if (newest) {
        pawl__buf_add_text(&request->reply, newest->value);
        pawl__reply(request, 200);
    } else {
        pawl__reply_not_found(request, "schema", request->parts[0]);
    }
    pawl_settings_release(&settings);
}

void pawl__on_type_schema_versions(struct pawl__request *request)
{
    struct pawl_settings settings = { 0 };
    struct pawl__buf *out = &request->reply;
    if (!read_versions(request, &settings)) return;
    pawl__buf_add_text(out, "{\"type\":");
    pawl__buf_add_json(out, request->parts[0], strlen(request->parts[0]));
    pawl__buf_add_text(out, ",\"versions\":[");
    for (size_t i = 0; i < settings.count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        add_version(out, version_of(&settings.at[i]));
    }
    pawl__buf_add_text(out, "],\"items\":[");
    for (size_t i = 0; i < settings.count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        pawl__buf_add_text(out, settings.at[i].value);
    }
    pawl__buf_add_text(out, "]}");
    pawl_settings_release(&settings);
    pawl__reply(request, 200);
}
