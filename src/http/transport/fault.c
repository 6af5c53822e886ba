/* Refusals: the list of fault.h as data, and how one reads on the wire. */
#include "http/transport/fault.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

struct fault_row {
    int status;
    const char *code;
    bool retryable;
    const char *hint;
};

#define X(name, status, code, retryable, hint)                                                     \
    [PAWL__FAULT_##name] = { status, code, retryable, hint },
static const struct fault_row rows[PAWL__FAULT_END] = { PAWL__FAULTS(X) };
#undef X

static const struct fault_row *row_of(enum pawl__fault_kind kind)
{
    assert(kind > PAWL__FAULT_NONE && kind < PAWL__FAULT_END);
    return &rows[kind];
}

int pawl__fault_status(enum pawl__fault_kind kind)
{
    return row_of(kind)->status;
}

const char *pawl__fault_code(enum pawl__fault_kind kind)
{
    return row_of(kind)->code;
}

/* ---- filling one in ---- */

bool pawl__refuse(struct pawl__fault *fault, enum pawl__fault_kind kind, const char *field,
                  const char *format, ...)
{
    va_list args;
    *fault = (struct pawl__fault){ .kind = kind };
    snprintf(fault->field, sizeof fault->field, "%s", field ? field : "");
    va_start(args, format);
    vsnprintf(fault->message, sizeof fault->message, format, args);
    va_end(args);
    return false;
}

/* What an error of the library is to a client. The texts of those that are `inside` tell of the
 * machine, so that the client gets the general one. */
struct err_row {
    enum pawl__fault_kind kind;
    bool inside;
};

static const struct err_row err_rows[PAWL_ERR_END] = {
    [PAWL_ERR_ARG] = { PAWL__FAULT_INVALID_REQUEST, false },
    [PAWL_ERR_NOMEM] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_NOT_FOUND] = { PAWL__FAULT_NOT_FOUND, false },
    [PAWL_ERR_EXISTS] = { PAWL__FAULT_DUPLICATE, false },
    [PAWL_ERR_DUPLICATE] = { PAWL__FAULT_DUPLICATE, false },
    [PAWL_ERR_STATE] = { PAWL__FAULT_CONFLICT, false },
    [PAWL_ERR_STALE] = { PAWL__FAULT_CONFLICT, false },
    [PAWL_ERR_HELD] = { PAWL__FAULT_CONFLICT, false },
    [PAWL_ERR_BUSY] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_FULL] = { PAWL__FAULT_FULL, true },
    [PAWL_ERR_IO] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_CORRUPT] = { PAWL__FAULT_BACKEND, true },
    [PAWL_ERR_READONLY] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_SCHEMA] = { PAWL__FAULT_BACKEND, true },
    [PAWL_ERR_UNSAFE] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_CLOSED] = { PAWL__FAULT_UNAVAILABLE, true },
    [PAWL_ERR_LIMIT] = { PAWL__FAULT_TOO_LARGE, false },
    [PAWL_ERR_UNSUPPORTED] = { PAWL__FAULT_UNSUPPORTED, false },
};

/* A field begins with this name, "[3]." of a batch before it or not. */
static bool is_of(const char *field, const char *name)
{
    const char *end = field[0] == '[' ? strchr(field, ']') : NULL;
    if (end && end[1] == '.') field = end + 2;
    return strncmp(field, name, strlen(name)) == 0;
}

/* OJS wants 422 for bad retry policies, and 413 for payloads that are too large but not for lists
 * that are too long. */
static enum pawl__fault_kind kind_of(enum pawl_err err, const char *field)
{
    if (err != PAWL_ERR_ARG && err != PAWL_ERR_LIMIT) return err_rows[err].kind;
    if (is_of(field, "retry.")) return PAWL__FAULT_INVALID_POLICY;
    if (is_of(field, "tags") || is_of(field, "unique.")) return PAWL__FAULT_INVALID_REQUEST;
    return err_rows[err].kind;
}

bool pawl__refuse_err(struct pawl__fault *fault, enum pawl_err err, const struct pawl_diag *diag)
{
    assert(err > PAWL_OK && err < PAWL_ERR_END);
    const struct err_row *row = &err_rows[err];
    const char *text = pawl_err_text(err), *field = "";
    assert(row->kind);
    if (diag && !row->inside) {
        if (diag->text[0]) text = diag->text;
        field = diag->field;
    }
    return pawl__refuse(fault, kind_of(err, field), field, "%s", text);
}

size_t pawl__blamed_index(const struct pawl_diag *diag)
{
    return diag->field[0] == '[' ? (size_t)strtoull(diag->field + 1, NULL, 10) : SIZE_MAX;
}

/* ---- printing ---- */

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
}

/* The field stands among the details: programs should not have to read messages. */
static void add_details(struct pawl__buf *out, const struct pawl__fault *fault)
{
    if (!fault->field[0] && !fault->details.len) return;
    pawl__buf_add_text(out, ",\"details\":{");
    if (fault->field[0]) {
        pawl__buf_add_text(out, "\"field\":");
        pawl__buf_add_json(out, fault->field, strlen(fault->field));
        if (fault->details.len) pawl__buf_add(out, ",", 1);
    }
    pawl__buf_add(out, fault->details.at, fault->details.len);
    pawl__buf_add(out, "}", 1);
}

void pawl__fault_print(struct pawl__buf *out, const struct pawl__fault *fault,
                       const char *request_id)
{
    const struct fault_row *row = row_of(fault->kind);
    pawl__buf_add_text(out, "{\"error\":{\"code\":");
    pawl__buf_add_json(out, row->code, strlen(row->code));
    add_text(out, "message", fault->message[0] ? fault->message : row->code);
    pawl__buf_add_text(out, row->retryable ? ",\"retryable\":true" : ",\"retryable\":false");
    add_text(out, "request_id", request_id);
    if (fault->kind == PAWL__FAULT_INVALID_POLICY) add_text(out, "type", "validation_error");
    add_text(out, "hint", row->hint);
    pawl__buf_printf(out, ",\"docs_url\":\"https://openjobspec.org/docs/errors#%s\"", row->code);
    add_details(out, fault);
    pawl__buf_add_text(out, "}}");
}
