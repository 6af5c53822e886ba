/* What a request can be refused with: the Open Job Spec's error codes, in one list. */
#ifndef PAWL_HTTP_TRANSPORT_FAULT_H
#define PAWL_HTTP_TRANSPORT_FAULT_H

#include "base/buf.h"

#include <pawl/pawl.h>

/* NAME, status, code on the wire, retryable, what to do about it */
#define PAWL__FAULTS(X)                                                                            \
    X(INVALID_PAYLOAD, 400, "invalid_payload", false, "send one JSON object, in UTF-8")            \
    X(INVALID_REQUEST, 400, "invalid_request", false, "correct the field the message names")       \
    X(INVALID_POLICY, 422, "invalid_request", false, "correct the policy the message names")       \
    X(WORKFLOW, 400, "invalid_workflow", false, "correct the graph as the message says")           \
    X(SCHEMA, 422, "schema_validation", false, "correct the arguments the message names")          \
    X(UNAUTHENTICATED, 401, "unauthenticated", false,                                              \
      "send Authorization: Bearer TOKEN; `pawl token add` makes one")                              \
    X(DENIED, 403, "permission_denied", false, "use a token whose scopes cover this request")      \
    X(FOREIGN, 403, "permission_denied", false,                                                    \
      "use the option that the message names, or a token")                                         \
    X(NOT_FOUND, 404, "not_found", false, "check the id or the path; /openapi.json lists all")     \
    X(METHOD, 405, "method_not_allowed", false, "use a method that the Allow header names")        \
    X(REQUEST_TIMEOUT, 408, "request_timeout", true, "send the whole request in time")             \
    X(STILL_RUNNING, 408, "still_running", true, "ask again, or wait longer")                      \
    X(CONFLICT, 409, "conflict", false, "check the job's state before trying again")               \
    X(DUPLICATE, 409, "duplicate", false, "use the job that exists already")                       \
    X(PRUNED, 410, "RESULT_PRUNED", false, "fetch results sooner, or keep them longer")            \
    X(TOO_LARGE, 413, "envelope_too_large", false, "send less, or put it elsewhere and refer")     \
    X(BATCH_SIZE, 413, "BATCH_SIZE_EXCEEDED", false, "split the batch")                            \
    X(RESULT_TOO_LARGE, 413, "RESULT_TOO_LARGE", false, "put the result elsewhere and refer")      \
    X(URI_TOO_LONG, 414, "invalid_request", false, "send a shorter path or query")                 \
    X(ENCODING, 415, "unsupported", false, "send the body as it is, without an encoding")          \
    X(EXPECTATION, 417, "unsupported", false, "send the request without Expect")                   \
    X(UNSUPPORTED, 422, "unsupported", false, "see GET /ojs/manifest for what is supported")       \
    X(RATE_LIMITED, 429, "rate_limited", true, "wait as long as Retry-After says")                 \
    X(QUEUE_FULL, 429, "QUEUE_FULL", true, "wait until the queue has been worked off")             \
    X(HEADERS, 431, "invalid_request", false, "send fewer or shorter headers")                     \
    X(BACKEND, 500, "backend_error", true, "try again; if it stays, see the server's log")         \
    X(CODING, 501, "unsupported", false, "send Content-Length, or Transfer-Encoding: chunked")     \
    X(UNAVAILABLE, 503, "backend_unavailable", true, "try again as soon as Retry-After says")      \
    X(BACKEND_TIMEOUT, 504, "backend_timeout", true, "try again")                                  \
    X(FULL, 507, "backend_error", false, "make room on the server's disk")

#define X(name, ...) PAWL__FAULT_##name,
enum pawl__fault_kind { PAWL__FAULT_NONE = 0, PAWL__FAULTS(X) PAWL__FAULT_END };
#undef X

/* One refusal. `field` is the member that broke a rule, "" when none did; `message` names it and
 * the rule. `details` are members of a JSON object ("\"index\":3"), borrowed; may be empty. The
 * field is printed among them, as "field". */
struct pawl__fault {
    enum pawl__fault_kind kind;
    char field[64];
    char message[400];
    struct pawl_span details;
};

int pawl__fault_status(enum pawl__fault_kind kind);
const char *pawl__fault_code(enum pawl__fault_kind kind);

/* Fill in and return false, so that a refusal is one line. */
bool pawl__refuse(struct pawl__fault *fault, enum pawl__fault_kind kind, const char *field,
                  const char *format, ...) PAWL_PRINTF(4, 5);
/* What the library said, as a fault. Retry policies that it refuses are INVALID_POLICY. Texts that
 * tell of the machine (paths, system errors) are replaced by general ones: they belong into the
 * log. */
bool pawl__refuse_err(struct pawl__fault *fault, enum pawl_err err, const struct pawl_diag *diag);
/* Which job of a batch the library blames: of the field "[3].tags"; SIZE_MAX: none. */
size_t pawl__blamed_index(const struct pawl_diag *diag);
/* {"error":{...}} */
void pawl__fault_print(struct pawl__buf *out, const struct pawl__fault *fault,
                       const char *request_id);

#endif
