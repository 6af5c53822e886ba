/* meta: what the client put there, and the tenant that a header names. */
#include "http/ojs/envelope_in.h"

#include <string.h>

/* ^[a-zA-Z0-9][a-zA-Z0-9._:-]*$ */
static bool is_tenant(const char *tenant)
{
    for (const char *at = tenant; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9');
        if (!plain && (at == tenant || !strchr("._:-", *at))) return false;
    }
    return *tenant && strlen(tenant) <= PAWL_KEY_BYTES_MAX;
}

static bool refuse_tenant(struct pawl__reader *reader, const char *rule)
{
    return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, PAWL__FIELD_META, "tenant_id",
                               "%s", rule);
}

/* Sets `needed` if meta lacks the tenant that the header names. It may name the same tenant. */
static bool check_tenant(struct pawl__reader *reader, uint32_t meta, bool *needed)
{
    const struct pawl__json *json = &reader->shape.json;
    const char *tenant = reader->rules->tenant;
    size_t len;
    if (!tenant) return true;
    if (!is_tenant(tenant)) {
        return pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, "X-OJS-Tenant",
                            "the tenant must be letters, digits, \".\", \"_\", \":\" and \"-\", a "
                            "letter or digit first");
    }
    uint32_t token = meta ? pawl__json_member(json, meta, "tenant_id") : 0;
    *needed = !token;
    if (!token) return true;
    if (json->tokens[token].type != PAWL__JSON_STRING) {
        return refuse_tenant(reader, "must be a string");
    }
    const char *given = pawl__json_string(json, token, reader->shape.arena, &len);
    if (!given) return pawl__reader_nomem(reader);
    if (strlen(given) == len && strcmp(given, tenant) == 0) return true;
    return refuse_tenant(reader, "is not the tenant that X-OJS-Tenant names");
}

/* Before the members that the client wrote. */
static bool add_tenant(struct pawl__reader *reader, uint32_t meta)
{
    struct pawl__buf buf = { 0 };
    const struct pawl__shape_writer writer = { .out = &buf };
    struct pawl_span *out = &reader->draft.job.spec.meta;
    PAWL__PRINT(&writer, PAWL__HERE_TEXT("tenant_id", reader->rules->tenant));
    if (!buf.failed && meta && reader->shape.json.tokens[meta].count > 0) {
        buf.at[buf.len - 1] = ',';
        pawl__buf_add(&buf, out->at + 1, out->len - 1);
    }
    char *copy = buf.failed ? NULL : pawl__arena_dup(reader->shape.arena, buf.at, buf.len);
    *out = (struct pawl_span){ copy, buf.len };
    pawl__buf_release(&buf);
    return copy ? true : pawl__reader_nomem(reader);
}

/* Reads a text that fits the column; NULL in `*out` if it does not, or there is none. */
static bool read_trace_text(struct pawl__reader *reader, uint32_t meta, const char *name,
                            const char **out)
{
    const struct pawl__json *json = &reader->shape.json;
    uint32_t token = pawl__json_member(json, meta, name);
    const struct pawl__json_token *string = &json->tokens[token];
    *out = NULL;
    if (!token || string->type != PAWL__JSON_STRING) return true;
    if (string->count == 0 || string->count > PAWL_KEY_BYTES_MAX) return true;
    const char *text = pawl__json_string(json, token, reader->shape.arena, NULL);
    if (!text) return pawl__reader_nomem(reader);
    for (size_t i = 0; i < string->count; i++) {
        if (text[i] < 0x21 || text[i] > 0x7e) return true;
    }
    *out = text;
    return true;
}

/* meta.trace_id, or the second part of a W3C traceparent ("00-<32 digits>-..."). */
static bool read_trace(struct pawl__reader *reader, uint32_t meta, const char **out)
{
    const char *text;
    if (!read_trace_text(reader, meta, "trace_id", out)) return false;
    if (*out) return true;
    if (!read_trace_text(reader, meta, "traceparent", &text)) return false;
    if (!text || strlen(text) < 36 || text[2] != '-' || text[35] != '-') return true;
    *out = pawl__arena_dup(reader->shape.arena, text + 3, 32);
    return *out ? true : pawl__reader_nomem(reader);
}

/* In test mode a job can ask to be refused, for tests of clients. */
static bool asks_for_refusal(const struct pawl__reader *reader, uint32_t meta)
{
    const struct pawl__json *json = &reader->shape.json;
    if (!reader->rules->test_mode || json->tokens[reader->at[PAWL__FIELD_ARGS]].count > 0) {
        return false;
    }
    uint32_t token = pawl__json_member(json, meta, "ojs_validate");
    return token && json->tokens[token].type == PAWL__JSON_TRUE;
}

bool pawl__envelope_finish_meta(struct pawl__reader *reader)
{
    uint32_t meta = reader->at[PAWL__FIELD_META];
    struct pawl_job_spec *spec = &reader->draft.job.spec;
    bool tenant_needed = false;
    if (meta) {
        if (spec->meta.len > PAWL_META_BYTES_MAX) {
            return pawl__reader_refuse(reader, PAWL__FAULT_TOO_LARGE, PAWL__FIELD_META, NULL,
                                       "is longer than %d bytes", PAWL_META_BYTES_MAX);
        }
        if (asks_for_refusal(reader, meta)) {
            return pawl__reader_refuse(reader, PAWL__FAULT_SCHEMA, PAWL__FIELD_ARGS, NULL,
                                       "must not be empty");
        }
        if (!read_trace(reader, meta, &spec->trace_id)) return false;
    }
    if (!check_tenant(reader, meta, &tenant_needed)) return false;
    return !tenant_needed || add_tenant(reader, meta);
}
