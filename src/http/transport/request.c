/* Reading a request: headers, query, body, ids. */
#include "http/transport/request.h"
#include "base/check.h"
#include "base/diag.h"
#include "http/transport/transport.h"

#include <stdlib.h>
#include <string.h>

const char *pawl__request_header(const struct pawl__request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        const struct pawl__header *header = &request->headers[i];
        if (header->name[0] == name[0] && strcmp(header->name, name) == 0) return header->value;
    }
    return NULL;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool pawl__percent_decode(char *text, bool plus)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at == '%') {
            int high = hex(at[1]);
            int low = high < 0 ? -1 : hex(at[2]);
            if (low < 0 || !(high | low)) return false; // NUL would end the text early
            *to++ = (char)(high << 4 | low);
            at += 2;
        } else {
            *to++ = plus && *at == '+' ? ' ' : *at;
        }
    }
    *to = '\0';
    return true;
}

const char *pawl__request_query(struct pawl__request *request, const char *name)
{
    size_t len = strlen(name);
    const char *at = request->query;
    while (*at) {
        const char *end = strchrnul(at, '&');
        if (strncmp(at, name, len) == 0 && (at[len] == '=' || at + len == end)) {
            const char *value = at[len] == '=' ? at + len + 1 : end;
            char *copy = pawl__arena_dup(&request->arena, value, (size_t)(end - value));
            return copy && *copy && pawl__percent_decode(copy, true) ? copy : NULL;
        }
        at = *end ? end + 1 : end;
    }
    return NULL;
}

bool pawl__request_only(struct pawl__request *request, const char *name, const char **out)
{
    bool given = false;
    for (const char *at = request->query, *end; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, '&');
        if (at == end) continue;
        const char *other = pawl__arena_dup(&request->arena, at, strcspn(at, "=&"));
        given = other && strcmp(other, name) == 0;
        if (given) continue;
        return pawl__reply_invalid(request, other ? other : "",
                                   "unknown parameter \"%.40s\": use %s", other ? other : "", name);
    }
    *out = pawl__request_query(request, name);
    if (*out || !given) return true;
    return pawl__reply_invalid(request, name, "%s must not be empty", name);
}

bool pawl__request_int(struct pawl__request *request, const char *name, int64_t min, int64_t max,
                       int64_t *out)
{
    const char *text = pawl__request_query(request, name);
    if (!text) return true;
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end != text && !*end && value >= min && value <= max) {
        *out = value;
        return true;
    }
    return pawl__reply_invalid(request, name, "%s must be a whole number between %lld and %lld",
                               name, (long long)min, (long long)max);
}

bool pawl__request_bool(struct pawl__request *request, const char *name, bool *out)
{
    const char *text = pawl__request_query(request, name);
    if (!text) return true;
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0) {
        *out = yes;
        return true;
    }
    return pawl__reply_invalid(request, name, "%s must be true or false", name);
}

bool pawl__numbered_page_read(struct pawl__request *request, struct pawl__numbered_page *out)
{
    *out = (struct pawl__numbered_page){ .page = 1, .per_page = 20 };
    return pawl__request_int(request, "per_page", 1, 100, &out->per_page) &&
           pawl__request_int(request, "page", 1, PAWL__OFFSET_MAX / out->per_page, &out->page);
}

void pawl__numbered_page_print(struct pawl__buf *out, const struct pawl__numbered_page *pages,
                               int64_t total)
{
    pawl__buf_printf(out, "\"pagination\":{\"total\":%lld,\"page\":%lld,\"per_page\":%lld}",
                     (long long)total, (long long)pages->page, (long long)pages->per_page);
}

/* PHP writes an object without members as "[]". Where a body may be left out, that is one. */
static void read_empty_array(struct pawl__json *json)
{
    struct pawl__json_token *body = &json->tokens[0];
    if (body->type == PAWL__JSON_ARRAY && body->count == 0) body->type = PAWL__JSON_OBJECT;
}

bool pawl__request_json(struct pawl__request *request, bool optional, struct pawl__json *out)
{
    struct pawl_span text = request->body;
    if (!text.len && optional) text = (struct pawl_span){ "{}", 2 };
    if (!text.len) {
        return pawl__reply_refuse(request, PAWL__FAULT_INVALID_PAYLOAD, "",
                                  "the request has no body; send a JSON object");
    }
    struct pawl_diag diag;
    struct pawl__json_rules rules = PAWL__BODY_JSON_RULES;
    rules.depth_max = (uint32_t)request->server->config.limits.json_depth_max;
    enum pawl_err err = pawl__json_parse_by(text, &rules, &request->arena, out, &diag);
    if (!err && optional) read_empty_array(out);
    if (err == PAWL_ERR_NOMEM) {
        pawl__reply_err(request, err, &diag);
    } else if (err) {
        pawl__reply_refuse(request, PAWL__FAULT_INVALID_PAYLOAD, "", "the body is not JSON: %s",
                           diag.text);
    } else if (out->tokens[0].type != PAWL__JSON_OBJECT) {
        pawl__reply_refuse(request, PAWL__FAULT_INVALID_PAYLOAD, "",
                           "the body must be a JSON object");
    } else {
        return true;
    }
    return false;
}

struct body_reader {
    struct pawl__shape_reader reader; /* first */
    enum pawl__fault_kind unknown;
    bool found_unknown;
};

static enum pawl_err refuse_unknown(struct pawl__shape_reader *reader,
                                    const struct pawl__shape *shape, const char *name)
{
    struct body_reader *body = (struct body_reader *)reader;
    const char *meant = pawl__shape_nearest(shape, name);
    body->found_unknown = true;
    return pawl__fail_field(
        reader->diag, PAWL_ERR_ARG, name, "\"%s\" is not %s%s%s%s", pawl__quote(name).text,
        body->unknown == PAWL__FAULT_UNSUPPORTED ? "supported here" : "a known member",
        meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

bool pawl__object_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, const struct pawl__shape *shape,
                       const struct pawl__body *how, void *out)
{
    struct pawl_diag diag = { 0 };
    struct body_reader body = { .unknown = how ? how->unknown : PAWL__FAULT_NONE };
    body.reader = (struct pawl__shape_reader){
        .json = *json,
        .arena = &request->arena,
        .diag = &diag,
        .unknown = body.unknown ? PAWL__UNKNOWN_REFUSE : PAWL__UNKNOWN_SKIP,
        .on_unknown = refuse_unknown,
        .ctx = request,
        .null_is_absent = true,
        .null_is_unknown = true,
        .paths = true,
    };
    enum pawl_err err = pawl__shape_read(&body.reader, shape, object, out);
    if (!err) return true;
    if (err != PAWL_ERR_ARG) return pawl__reply_err(request, err, &diag);
    return pawl__reply_refuse(request,
                              body.found_unknown ? body.unknown : PAWL__FAULT_INVALID_REQUEST,
                              diag.field[0] ? diag.field : "body", "%s", diag.text);
}

bool pawl__request_read(struct pawl__request *request, const struct pawl__shape *shape,
                        const struct pawl__body *how, void *out)
{
    struct pawl__json json;
    return pawl__request_json(request, how && how->optional, &json) &&
           pawl__object_read(request, &json, 0, shape, how, out);
}

bool pawl__body_text(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                     const char *name, const char **out)
{
    uint32_t token = pawl__json_member(json, object, name);
    *out = NULL;
    if (!token || json->tokens[token].type == PAWL__JSON_NULL) return true;
    if (json->tokens[token].type == PAWL__JSON_STRING) {
        size_t len;
        *out = pawl__json_string(json, token, &request->arena, &len);
        if (*out && strlen(*out) == len) return true;
    }
    return pawl__reply_invalid(request, name, "%s must be a string", name);
}

bool pawl__body_int(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                    const char *name, int64_t min, int64_t max, int64_t *out)
{
    uint32_t token = pawl__json_member(json, object, name);
    if (!token || json->tokens[token].type == PAWL__JSON_NULL) return true;
    int64_t value;
    if (pawl__json_int(json, token, &value) && value >= min && value <= max) {
        *out = value;
        return true;
    }
    return pawl__reply_invalid(request, name, "%s must be a whole number between %lld and %lld",
                               name, (long long)min, (long long)max);
}

bool pawl__id_read(const char *text, struct pawl_job_id *out)
{
    char again[PAWL_JOB_ID_TEXT_BYTES];
    if (pawl_job_id_parse(text, out) != PAWL_OK) return false;
    pawl_job_id_text(*out, again);
    return strcmp(text, again) == 0;
}

bool pawl__request_job_id(struct pawl__request *request, size_t index, struct pawl_job_id *out)
{
    const char *text = request->parts[index];
    return pawl__id_read(text, out) || pawl__reply_not_found(request, "job", text);
}

void *pawl__request_state(struct pawl__request *request, size_t bytes)
{
    request->state = pawl__arena_calloc(&request->arena, 1, bytes);
    if (!request->state) pawl__reply_nomem(request);
    return request->state;
}

struct pawl *pawl__request_pawl(const struct pawl__request *request)
{
    return request->server->pawl;
}

struct pawl_by pawl__request_by(const struct pawl__request *request)
{
    return (struct pawl_by){ .actor = request->token_name ? request->token_name : "http" };
}

void pawl__request_posting(struct pawl__request *request,
                           void (*then)(struct pawl__request *request, struct pawl_answer *answer))
{
    request->then = then;
    request->server->working++;
}

void pawl__request_not_posted(struct pawl__request *request)
{
    request->server->working--;
}
