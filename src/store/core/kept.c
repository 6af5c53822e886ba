/* What programs keep with the store besides jobs: settings, a server's tokens, schemas of
 * arguments, the configuration of queues, the keys of requests. */
#include "store/core/set.h"

#include "base/diag.h"

#include <assert.h>
#include <string.h>

/* ---- settings ---- */

static struct pawl__record *want_setting(struct pawl__set *set, const struct pawl__op *op)
{
    return pawl__set_want_record(set, PAWL__RECORD_SETTING,
                                 &(struct pawl__setting){ .name = op->setting.name });
}

void pawl__want_setting(struct pawl__set *set, const struct pawl__op *op)
{
    (void)want_setting(set, op);
}

enum pawl_err pawl__rule_setting(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = want_setting(set, op);
    assert(record && record->of->read); // or the load had failed
    record->row.setting.value = op->setting.value;
    record->there = op->setting.value != NULL;
    record->changed = true;
    return PAWL_OK;
}

/* ---- tokens ---- */

void pawl__want_token(struct pawl__set *set, const struct pawl__op *op)
{
    (void)pawl__set_want_record(set, PAWL__RECORD_TOKEN, op->token);
}

/* Of one that is there the first revocation and the last use count: a server that notes a use never
 * takes back a revocation. */
enum pawl_err pawl__rule_token(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = pawl__set_want_record(set, PAWL__RECORD_TOKEN, op->token);
    struct pawl_token *token = &record->row.token;
    assert(record && record->of->read); // or the load had failed
    if (!record->there && !op->token->hash.len) {
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "id", "there is no token \"%s\"",
                                op->token->id);
    }
    if (!record->there) {
        *token = *op->token;
    } else {
        if (!token->revoked_at_ms) token->revoked_at_ms = op->token->revoked_at_ms;
        if (op->token->used_at_ms > token->used_at_ms) token->used_at_ms = op->token->used_at_ms;
    }
    record->there = record->changed = true;
    return PAWL_OK;
}

/* ---- schemas of arguments ---- */

void pawl__want_schema(struct pawl__set *set, const struct pawl__op *op)
{
    (void)pawl__set_want_record(set, PAWL__RECORD_SCHEMA, op->schema);
}

static struct pawl__record *find_schema(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__record *record = pawl__set_want_record(set, PAWL__RECORD_SCHEMA, op->schema);
    assert(record && record->of->read); // or the load had failed
    return record;
}

static bool has_uri(const struct pawl_args_schema *schema)
{
    return schema->uri && *schema->uri;
}

enum pawl_err pawl__rule_schema_add(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl_args_schema *schema = op->schema;
    struct pawl__record *record = find_schema(set, op);
    if (record->there && has_uri(schema)) {
        return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "uri",
                                "there is a schema \"%s\" already", schema->uri);
    }
    if (record->there) {
        return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "version",
                                "there is a schema of type \"%s\", version \"%s\", already",
                                schema->type, schema->version);
    }
    record->row.schema = *schema;
    record->there = record->changed = true;
    return PAWL_OK;
}

enum pawl_err pawl__rule_schema_drop(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl_args_schema *schema = op->schema;
    struct pawl__record *record = find_schema(set, op);
    if (!record->there && has_uri(schema)) {
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "uri", "there is no schema \"%s\"",
                                schema->uri);
    }
    if (!record->there) {
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "version",
                                "there is no schema of type \"%s\", version \"%s\"", schema->type,
                                schema->version);
    }
    record->there = false;
    record->changed = true;
    return PAWL_OK;
}

/* ---- configuration of queues ---- */

void pawl__want_config(struct pawl__set *set, const struct pawl__op *op)
{
    (void)pawl__set_want_record(set, PAWL__RECORD_CONFIG, op->config);
}

static struct pawl__record *find_config(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__record *record = pawl__set_want_record(set, PAWL__RECORD_CONFIG, op->config);
    assert(record && record->of->read); // or the load had failed
    return record;
}

enum pawl_err pawl__rule_config_put(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_config(set, op);
    record->row.config = *op->config;
    record->there = record->changed = true;
    return PAWL_OK;
}

enum pawl_err pawl__rule_config_drop(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = find_config(set, op);
    if (!record->there) {
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "queue",
                                "queue \"%s\" has no configuration", op->config->queue);
    }
    record->there = false;
    record->changed = true;
    return PAWL_OK;
}

/* ---- keys of requests ---- */

static struct pawl__record *want_request(struct pawl__set *set, const struct pawl__op *op)
{
    return pawl__set_want_record(set, PAWL__RECORD_REQUEST,
                                 &(struct pawl__request_key){ .key = op->request.key });
}

void pawl__want_request(struct pawl__set *set, const struct pawl__op *op)
{
    (void)want_request(set, op);
}

/* A sweep deletes keys some time after their end, so one that is there may be over. */
enum pawl_err pawl__rule_request(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__record *record = want_request(set, op);
    struct pawl__request_key *row = &record->row.request;
    assert(record && record->of->read); // or the load had failed
    bool used = record->there && row->until_ms > set->now_ms;
    if (used && strcmp(row->fingerprint, op->request.fingerprint) != 0) {
        return pawl__fail_field(op->diag, PAWL_ERR_DUPLICATE, "idempotency_key",
                                "this idempotency key was used with another request");
    }
    if (used) return PAWL_OK;
    row->fingerprint = op->request.fingerprint;
    row->until_ms = set->now_ms + op->request.kept_ms;
    record->there = record->changed = true;
    return PAWL_OK;
}
