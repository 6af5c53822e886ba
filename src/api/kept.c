/* What servers keep with the store: schemas of arguments, the configuration of queues, the keys of
 * requests. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "base/diag.h"

#include <assert.h>

enum { NAME_BYTES_MAX = 255, SCHEMA_BYTES_MAX = 1024 * 1024, RATE_LIMIT_BYTES_MAX = 64 * 1024 };

/* ---- schemas of arguments ---- */

enum pawl_err pawl_args_schemas_get(struct pawl *pawl, const struct pawl_args_schema_filter *filter,
                                    struct pawl_args_schemas *out, struct pawl_diag *diag)
{
    assert(pawl && filter && out);
    struct pawl_args_schemas found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_schemas(pawl->store, filter, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_args_schemas_release(struct pawl_args_schemas *schemas)
{
    if (!schemas) return;
    pawl__owned_free(schemas->owned);
    *schemas = (struct pawl_args_schemas){ .at = NULL };
}

static bool has_text(const char *text)
{
    return text && *text;
}

/* By what it is found: the one or the other. */
static enum pawl_err check_name(const struct pawl_args_schema *schema, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_uri = { "uri", NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_type = { "type", NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_version = { "version", NAME_BYTES_MAX };
    bool by_type = has_text(schema->type) || has_text(schema->version);
    if (has_text(schema->uri) && by_type) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "uri",
                                "a schema has a URI, or a type and a version, not both");
    }
    if (!by_type) return pawl__check_text(&rule_uri, schema->uri, diag);
    enum pawl_err err = pawl__check_text(&rule_type, schema->type, diag);
    return err ? err : pawl__check_text(&rule_version, schema->version, diag);
}

static enum pawl_err check_schema(const struct pawl_args_schema *schema, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_type = { "of_type", NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_version = { "of_version", NAME_BYTES_MAX };
    enum pawl_err err = check_name(schema, diag);
    if (!err) err = pawl__check_optional(&rule_type, schema->of_type, diag);
    if (!err) err = pawl__check_optional(&rule_version, schema->of_version, diag);
    if (!err) {
        err = pawl__check_time("created_at_ms", PAWL__TIME_INSTANT, schema->created_at_ms, diag);
    }
    if (err) return err;
    if (schema->schema.len) {
        return pawl__check_json("schema", schema->schema, SCHEMA_BYTES_MAX, diag);
    }
    return pawl__fail_field(diag, PAWL_ERR_ARG, "schema", "schema is missing");
}

enum pawl_err pawl_args_schema_add(struct pawl *pawl, const struct pawl_args_schema *schema,
                                   struct pawl_diag *diag)
{
    assert(pawl && schema);
    enum pawl_err err = check_schema(schema, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_SCHEMA_ADD, .schema = schema };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_args_schema_drop(struct pawl *pawl, const struct pawl_args_schema *schema,
                                    struct pawl_diag *diag)
{
    assert(pawl && schema);
    enum pawl_err err = check_name(schema, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_SCHEMA_DROP, .schema = schema };
    return pawl__desk_do(pawl, &op, diag);
}

/* ---- configuration of queues ---- */

enum pawl_err pawl_queue_configs_get(struct pawl *pawl, const char *queue,
                                     struct pawl_queue_configs *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_queue_configs found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_configs(pawl->store, queue, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_queue_configs_release(struct pawl_queue_configs *configs)
{
    if (!configs) return;
    pawl__owned_free(configs->owned);
    *configs = (struct pawl_queue_configs){ .at = NULL };
}

enum pawl_err pawl_queue_config_put(struct pawl *pawl, const struct pawl_queue_config *config,
                                    struct pawl_diag *diag)
{
    assert(pawl && config);
    enum pawl_err err = pawl__check_queue(config->queue, diag);
    if (!err) err = pawl__check_json("rate_limit", config->rate_limit, RATE_LIMIT_BYTES_MAX, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_CONFIG_PUT, .config = config };
    return pawl__desk_do(pawl, &op, diag);
}

enum pawl_err pawl_queue_config_drop(struct pawl *pawl, const char *queue, struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_queue(queue, diag);
    if (err) return err;
    const struct pawl_queue_config config = { .queue = queue };
    struct pawl__op op = { .kind = PAWL__OP_CONFIG_DROP, .config = &config };
    return pawl__desk_do(pawl, &op, diag);
}

/* ---- requests ---- */

enum pawl_err pawl_request_note(struct pawl *pawl, const char *key, const char *fingerprint,
                                int64_t kept_ms, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_key = { "idempotency_key", NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_fingerprint = { "fingerprint", NAME_BYTES_MAX };
    assert(pawl);
    enum pawl_err err = pawl__check_text(&rule_key, key, diag);
    if (!err) err = pawl__check_text(&rule_fingerprint, fingerprint, diag);
    if (!err) err = pawl__check_time("kept_ms", PAWL__TIME_DURATION, kept_ms, diag);
    if (!err && !kept_ms) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "kept_ms", "kept_ms is missing");
    }
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_REQUEST_NOTE,
                           .request = { key, fingerprint, kept_ms } };
    return pawl__desk_do(pawl, &op, diag);
}
