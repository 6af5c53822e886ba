/* Schemas, kept for those who want to look them up: by URI, and by job type and version. They are
 * not enforced; the manifest says so. Settings "schema.uri.URI" and "schema.type.TYPE VERSION" hold
 * the reply as it is given. On the pool. */
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 200, VERSION_BYTES_MAX = 32, PAGE_MAX = 100 };

#define BY_URI "schema.uri."
#define BY_TYPE "schema.type."

/* ---- keeping ---- */

struct name {
    char text[256];
};

static struct name name_of(const char *prefix, const char *key, const char *version)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%s%s%s%s", prefix, key, version ? " " : "",
             version ? version : "");
    return name;
}

static bool is_long(struct pawl__request *request, const char *key, const char *version)
{
    bool fits = strlen(key) <= NAME_BYTES_MAX && key[0] && !strchr(key, ' ') &&
                (!version || (strlen(version) <= VERSION_BYTES_MAX && !strchr(version, ' ')));
    if (fits) return false;
    pawl__reply_invalid(request, version ? "type" : "uri",
                        "a schema's name has 1 to %d bytes and its version at most %d, without "
                        "blanks",
                        NAME_BYTES_MAX, VERSION_BYTES_MAX);
    return true;
}

/* The setting of exactly that name, in the arena; NULL and no error: there is none. */
static enum pawl_err find(struct pawl__request *request, const struct name *name, const char **out,
                          struct pawl_diag *diag)
{
    struct pawl_settings settings = { 0 };
    enum pawl_err err = pawl_settings_get(pawl__request_pawl(request), name->text, &settings, diag);
    *out = NULL;
    for (size_t i = 0; !err && i < settings.count; i++) {
        const struct pawl_setting *setting = &settings.at[i];
        if (strcmp(setting->name, name->text) != 0) continue;
        *out = pawl__arena_dup(&request->arena, setting->value, strlen(setting->value));
        if (!*out) err = PAWL_ERR_NOMEM;
    }
    pawl_settings_release(&settings);
    return err;
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

/* Keep what request->reply holds under `name`, unless something is there. */
static void keep(struct pawl__request *request, const struct name *name, bool twice)
{
    struct pawl_diag diag = { 0 };
    const char *there;
    enum pawl_err err = find(request, name, &there, &diag);
    if (!err && there) {
        pawl__buf_clear(&request->reply);
        pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "schema",
                           "there is such a schema already; delete it first, or use a new version");
        return;
    }
    if (!err && request->reply.failed) err = PAWL_ERR_NOMEM;
    if (!err) {
        err = pawl_setting_put(pawl__request_pawl(request), name->text, request->reply.at, &diag);
    }
    if (err) {
        pawl__buf_clear(&request->reply);
        pawl__reply_err(request, err, &diag);
        return;
    }
    if (twice) {
        struct pawl__buf bare = request->reply;
        request->reply = (struct pawl__buf){ 0 };
        print_twice(&request->reply, bare.at);
        pawl__buf_release(&bare);
    }
    pawl__reply(request, 201);
}

static void forget(struct pawl__request *request, const struct name *name, const char *key,
                   const char *version)
{
    struct pawl_diag diag = { 0 };
    const char *there;
    enum pawl_err err = find(request, name, &there, &diag);
    if (!err && !there) {
        pawl__reply_not_found(request, "schema", key);
        return;
    }
    if (!err) err = pawl_setting_put(pawl__request_pawl(request), name->text, NULL, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_add_text(&request->reply,
                       version ? "{\"deleted\":true,\"type\":" : "{\"deleted\":true,\"uri\":");
    pawl__buf_add_json(&request->reply, key, strlen(key));
    if (version) {
        pawl__buf_add_text(&request->reply, ",\"version\":");
        add_version(&request->reply, version);
    }
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

static void show(struct pawl__request *request, const struct name *name, const char *key,
                 bool twice)
{
    struct pawl_diag diag = { 0 };
    const char *there;
    enum pawl_err err = find(request, name, &there, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else if (!there) {
        pawl__reply_not_found(request, "schema", key);
    } else {
        if (twice) {
            print_twice(&request->reply, there);
        } else {
            pawl__buf_add_text(&request->reply, there);
        }
        pawl__reply(request, 200);
    }
}

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

/* ---- by URI ---- */

void pawl__on_schemas(struct pawl__request *request)
{
    list(request, BY_URI, "schemas", NULL);
}

void pawl__on_schema_add(struct pawl__request *request)
{
    struct pawl__json json;
    const char *uri, *type, *version;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "uri", &uri) ||
        !pawl__body_text(request, &json, 0, "type", &type) ||
        !pawl__body_text(request, &json, 0, "version", &version)) {
        return;
    }
    uint32_t schema = schema_of(request, &json);
    if (!schema || is_long(request, uri ? uri : "", NULL)) return;
    struct name name = name_of(BY_URI, uri, NULL);
    struct pawl_span text = pawl__json_span(&json, schema);
    struct pawl__buf *out = &request->reply;
    pawl__buf_add_text(out, "{\"uri\":");
    pawl__buf_add_json(out, uri, strlen(uri));
    if (type) {
        pawl__buf_add_text(out, ",\"type\":");
        pawl__buf_add_json(out, type, strlen(type));
    }
    if (version) {
        pawl__buf_add_text(out, ",\"version\":");
        pawl__buf_add_json(out, version, strlen(version));
    }
    pawl__buf_add_text(out, ",\"created_at\":");
    pawl__print_instant(out, request->now_ms);
    pawl__buf_add_text(out, ",\"schema\":");
    pawl__buf_add(out, text.at, text.len);
    pawl__buf_add_text(out, "}");
    keep(request, &name, true);
}

void pawl__on_schema_get(struct pawl__request *request)
{
    if (is_long(request, request->parts[0], NULL)) return;
    struct name name = name_of(BY_URI, request->parts[0], NULL);
    show(request, &name, request->parts[0], true);
}

void pawl__on_schema_delete(struct pawl__request *request)
{
    if (is_long(request, request->parts[0], NULL)) return;
    struct name name = name_of(BY_URI, request->parts[0], NULL);
    forget(request, &name, request->parts[0], NULL);
}

/* ---- by type and version ---- */

void pawl__on_type_schemas(struct pawl__request *request)
{
    list(request, BY_TYPE, "items", "schemas");
}

void pawl__on_type_schema_put(struct pawl__request *request)
{
    struct pawl__json json;
    const char *type = request->parts[0], *version = request->parts[1];
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t schema = schema_of(request, &json);
    if (!schema || is_long(request, type, version)) return;
    struct name name = name_of(BY_TYPE, type, version);
    struct pawl_span text = pawl__json_span(&json, schema);
    struct pawl__buf *out = &request->reply;
    pawl__buf_add_text(out, "{\"type\":");
    pawl__buf_add_json(out, type, strlen(type));
    pawl__buf_add_text(out, ",\"version\":");
    add_version(out, version);
    pawl__buf_add_text(out, ",\"created_at\":");
    pawl__print_instant(out, request->now_ms);
    pawl__buf_add_text(out, ",\"schema\":");
    pawl__buf_add(out, text.at, text.len);
    pawl__buf_add_text(out, "}");
    keep(request, &name, false);
}

void pawl__on_type_schema_get(struct pawl__request *request)
{
    if (is_long(request, request->parts[0], request->parts[1])) return;
    struct name name = name_of(BY_TYPE, request->parts[0], request->parts[1]);
    show(request, &name, request->parts[0], false);
}

void pawl__on_type_schema_delete(struct pawl__request *request)
{
    if (is_long(request, request->parts[0], request->parts[1])) return;
    struct name name = name_of(BY_TYPE, request->parts[0], request->parts[1]);
    forget(request, &name, request->parts[0], request->parts[1]);
}

/* The type's settings: names end in " VERSION". */
static enum pawl_err versions_of(struct pawl__request *request, struct pawl_settings *out,
                                 struct pawl_diag *diag)
{
    struct name name = name_of(BY_TYPE, request->parts[0], "");
    return pawl_settings_get(pawl__request_pawl(request), name.text, out, diag);
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
    struct pawl_diag diag;
    if (is_long(request, request->parts[0], "")) return;
    enum pawl_err err = versions_of(request, &settings, &diag);
    if (err) {
        pawl_settings_release(&settings);
        pawl__reply_err(request, err, &diag);
        return;
    }
    const struct pawl_setting *newest = NULL;
    for (size_t i = 0; i < settings.count; i++) {
        const char *version = strrchr(settings.at[i].name, ' ') + 1;
        if (!newest || compare_versions(strrchr(newest->name, ' ') + 1, version) < 0) {
            newest = &settings.at[i];
        }
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
    struct pawl_diag diag;
    if (is_long(request, request->parts[0], "")) return;
    enum pawl_err err = versions_of(request, &settings, &diag);
    if (err) {
        pawl_settings_release(&settings);
        pawl__reply_err(request, err, &diag);
        return;
    }
    struct pawl__buf *out = &request->reply;
    pawl__buf_add_text(out, "{\"type\":");
    pawl__buf_add_json(out, request->parts[0], strlen(request->parts[0]));
    pawl__buf_add_text(out, ",\"versions\":[");
    for (size_t i = 0; i < settings.count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        add_version(out, strrchr(settings.at[i].name, ' ') + 1);
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
