/* meta: the client's own, and the tenant that a header names. */
#include "http/ojs/envelope_in.h"

#include <string.h>

/* ^[a-zA-Z0-9][a-zA-Z0-9._:-]*$ */
static bool tenant_ok(const char *tenant)
{
    for (const char *at = tenant; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9');
        if (!plain && (at == tenant || !strchr("._:-", *at))) return false;
    }
    return *tenant && strlen(tenant) <= PAWL_KEY_BYTES_MAX;
}

/* Whether meta needs the tenant that the header names; it may say the same itself. */
static bool check_tenant(struct pawl__reader *reader, uint32_t meta, bool *needed)
{
    const char *tenant = reader->rules->tenant, *given;
    struct pawl__where where = { .field = PAWL__FIELD_META, .sub = "tenant_id" };
    if (!tenant) return true;
    if (!tenant_ok(tenant)) {
        return pawl__refuse(reader->fault, PAWL__FAULT_INVALID_REQUEST, "X-OJS-Tenant",
                            "the tenant must be letters, digits, \".\", \"_\", \":\" and \"-\", a "
                            "letter or digit first");
    }
    uint32_t token = meta ? pawl__json_member(reader->json, meta, "tenant_id") : 0;
    *needed = !token;
    if (!token) return true;
    if (!pawl__reader_text(reader, &where, token, &given)) return false;
    if (strcmp(given, tenant) == 0) return true;
    return pawl__reader_refuse(reader, &where, "is not the tenant that X-OJS-Tenant names");
}

/* The tenant goes before what the client wrote. */
static bool add_tenant(struct pawl__reader *reader, uint32_t meta)
{
    const char *tenant = reader->rules->tenant;
    struct pawl__buf buf = { 0 };
    struct pawl_span *out = &reader->out->spec.meta;
    pawl__buf_add_text(&buf, "{\"tenant_id\":");
    pawl__buf_add_json(&buf, tenant, strlen(tenant));
    if (meta && reader->json->tokens[meta].count > 0) {
        pawl__buf_add(&buf, ",", 1);
        pawl__buf_add(&buf, out->at + 1, out->len - 1); // up to its brace
    } else {
        pawl__buf_add(&buf, "}", 1);
    }
    char *copy = buf.failed ? NULL : pawl__arena_dup(reader->arena, buf.at, buf.len);
    *out = (struct pawl_span){ copy, buf.len };
    pawl__buf_release(&buf);
    return copy ? true : pawl__reader_nomem(reader);
}

/* A text that fits the column; NULL in `*out`: it stays in meta alone. */
static bool read_trace_text(struct pawl__reader *reader, uint32_t meta, const char *name,
                            const char **out)
{
    uint32_t token = pawl__json_member(reader->json, meta, name);
    const struct pawl__json_token *string = &reader->json->tokens[token];
    *out = NULL;
    if (!token || string->type != PAWL__JSON_STRING) return true;
    if (string->count == 0 || string->count > PAWL_KEY_BYTES_MAX) return true;
    const char *text = pawl__json_string(reader->json, token, reader->arena, NULL);
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
    *out = pawl__arena_dup(reader->arena, text + 3, 32);
    return *out ? true : pawl__reader_nomem(reader);
}

/* A hook for tests of clients: a job that asks to be refused. */
static bool asks_for_refusal(struct pawl__reader *reader, uint32_t meta)
{
    const struct pawl__json_token *tokens = reader->json->tokens;
    if (!reader->rules->test_mode || tokens[reader->at[PAWL__FIELD_ARGS]].count > 0) return false;
    uint32_t token = pawl__json_member(reader->json, meta, "ojs_validate");
    return token && tokens[token].type == PAWL__JSON_TRUE;
}

bool pawl__envelope_read_meta(struct pawl__reader *reader)
{
    uint32_t meta = reader->at[PAWL__FIELD_META];
    struct pawl_job_spec *spec = &reader->out->spec;
    bool tenant_needed = false;
    if (meta) {
        if (!pawl__reader_of_type(reader, PAWL__FIELD_META, PAWL__JSON_OBJECT, "an object"))
            return false;
        spec->meta = pawl__json_span(reader->json, meta);
        if (spec->meta.len > PAWL_META_BYTES_MAX) {
            struct pawl__where where = { PAWL__FIELD_META, NULL, PAWL__FAULT_TOO_LARGE };
            return pawl__reader_refuse(reader, &where, "is longer than %d bytes",
                                       PAWL_META_BYTES_MAX);
        }
        if (asks_for_refusal(reader, meta)) {
            struct pawl__where where = { PAWL__FIELD_ARGS, NULL, PAWL__FAULT_SCHEMA };
            return pawl__reader_refuse(reader, &where, "must not be empty");
        }
        if (!read_trace(reader, meta, &spec->trace_id)) return false;
    }
    if (!check_tenant(reader, meta, &tenant_needed)) return false;
    return !tenant_needed || add_tenant(reader, meta);
}
