/* Marie's POST /api/v1/invoke: submits a job, under the caller's id (job_id) if there is one, or
 * reads its state.
 *
 * Marie's name is the queue; the endpoint in metadata.on, or else the name, is the type. The
 * metadata is the job's one argument and its meta: ref_type and ref_id in it are the identity that
 * Marie's policies for duplicates compare. */
#include "http/marie/marie.h"
#include "base/check.h"
#include "base/time_text.h"
#include "http/ojs/ojs.h"

#include <ctype.h>
#include <string.h>

enum {
    EXPIRE_S_MAX = 10 * 365 * 86400,
    RETRY_S_MAX = 86400,
    LIMIT_MAX = 1000,
    DOUBLINGS_MAX = 15,   /* of a wait; see docs/lifecycle.md */
    BACKOFF_MIN_MS = 1000 /* the first wait, if waits grow and no delay is given */
};

/* POLICY, text, whether an earlier job counts in any state, what then */
#define POLICIES(X)                                                                                \
    X("allow_all", false, DEFAULT)                                                                 \
    X("allow_duplicate", false, DEFAULT)                                                           \
    X("reject_duplicate", true, REJECT)                                                            \
    X("default", true, REJECT)                                                                     \
    X("replace", true, REPLACE)

#define X(number, ...) | PAWL_STATE_BIT(number)
static const uint32_t all_states = 0 PAWL_STATES(X);
#undef X

struct invoke {
    struct pawl__json json;
    uint32_t action, metadata;
    struct pawl_job_spec spec;
    struct pawl_job_id id; /* spec.id points here when one was given */
};

/* ---- reading ---- */

/* job_id of the action. False: answered. */
static bool read_id(struct pawl__request *request, struct invoke *invoke, bool optional)
{
    const char *text;
    if (!pawl__body_text(request, &invoke->json, invoke->action, "job_id", &text)) return false;
    if (!text && optional) return true;
    if (!text || pawl_job_id_parse(text, &invoke->id) != PAWL_OK) {
        return pawl__reply_invalid(request, "job_id", "job_id must be a job's id");
    }
    invoke->spec.id = &invoke->id;
    return true;
}

/* parameters.invoke_action, or parameters itself. 0: answered. */
static uint32_t find_action(struct pawl__request *request, const struct pawl__json *json)
{
    uint32_t parameters = pawl__json_member(json, 0, "parameters");
    bool object = parameters && json->tokens[parameters].type == PAWL__JSON_OBJECT;
    uint32_t action = object ? pawl__json_member(json, parameters, "invoke_action") : 0;
    if (action && json->tokens[action].type == PAWL__JSON_OBJECT) return action;
    if (object && !action) return parameters;
    pawl__reply_invalid(request, "parameters",
                        "parameters must be an object with command, action, name and metadata");
    return 0;
}

/* "extract_executor://document/extract" becomes "extract_executor.document.extract". */
static const char *type_of(struct pawl__request *request, const char *endpoint)
{
    char *type = pawl__arena_dup(&request->arena, endpoint, strlen(endpoint));
    char *to = type;
    for (const char *at = endpoint; type && *at; at++) {
        if (*at == ':' || *at == '/') {
            if (to > type && to[-1] != '.') *to++ = '.';
        } else {
            *to++ = (char)tolower((unsigned char)*at);
        }
    }
    while (type && to > type && to[-1] == '.') {
        to--;
    }
    if (type) *to = '\0';
    return type;
}

/* Without an offset it is UTC. */
static bool read_time(struct pawl__request *request, const struct invoke *invoke, const char *name,
                      int64_t *out)
{
    const char *text;
    char utc[64];
    if (!pawl__body_text(request, &invoke->json, invoke->metadata, name, &text)) return false;
    if (!text || pawl__instant_parse(text, out) == PAWL_OK) return true;
    int len = snprintf(utc, sizeof utc, "%sZ", text);
    if (len < (int)sizeof utc && pawl__instant_parse(utc, out) == PAWL_OK) return true;
    return pawl__reply_invalid(request, name,
                               "metadata.%s must be a timestamp, like 2026-11-16T05:00:00Z", name);
}

static bool read_policy(struct pawl__request *request, struct invoke *invoke)
{
    static const char *const identity[] = { "ref_type", "ref_id" };
    const struct pawl__json *json = &invoke->json;
    const char *policy;
    if (!pawl__body_text(request, json, invoke->metadata, "policy", &policy)) return false;
    if (!policy || !policy[0]) policy = "reject_duplicate";
    if (strcasecmp(policy, "reject_all") == 0) {
        return pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "policy",
                                  "the policy refuses all jobs");
    }
    bool known = false, counts = false;
    enum pawl_conflict conflict = PAWL_CONFLICT_DEFAULT;
#define X(text, does_count, what)                                                                  \
    if (strcasecmp(policy, text) == 0) {                                                           \
        known = true;                                                                              \
        counts = does_count;                                                                       \
        conflict = PAWL_CONFLICT_##what;                                                           \
    }
    POLICIES(X)
#undef X
    if (!known) {
        return pawl__reply_invalid(request, "policy", "\"%.40s\" is not a policy for duplicates",
                                   policy);
    }
    bool named = pawl__json_member(json, invoke->metadata, "ref_type") &&
                 pawl__json_member(json, invoke->metadata, "ref_id");
    if (!counts || !named) return true;
    invoke->spec.unique = (struct pawl_unique){ .keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_META,
                                                .meta_keys = identity,
                                                .meta_key_count = 2,
                                                .on_conflict = conflict };
    if (conflict == PAWL_CONFLICT_REJECT) { // one that has ended counts, too
        invoke->spec.unique.states = all_states;
    }
    return true;
}

/* Marie's waits are exact: `delay_s` each time, or delay_s, 2 delay_s, 4 delay_s ... with backoff.
 * The cap is above the longest of them. */
static void set_waits(struct pawl_retry *retry, int64_t delay_s, bool backoff)
{
    int64_t delay_ms = delay_s * 1000;
    if (backoff && !delay_ms) delay_ms = BACKOFF_MIN_MS;
    retry->jitter = PAWL_JITTER_OFF;
    if (backoff) {
        retry->backoff = PAWL_BACKOFF_EXPONENTIAL;
        retry->exponent_max = DOUBLINGS_MAX;
        retry->cap_ms = delay_ms << DOUBLINGS_MAX;
    } else {
        retry->backoff = delay_ms ? PAWL_BACKOFF_CONSTANT : PAWL_BACKOFF_IMMEDIATE;
    }
    retry->initial_ms = delay_ms;
}

static bool read_backoff(struct pawl__request *request, const struct invoke *invoke, bool *out)
{
    static const char name[] = "retry_backoff";
    uint32_t token = pawl__json_member(&invoke->json, invoke->metadata, name);
    enum pawl__json_type type = token ? invoke->json.tokens[token].type : PAWL__JSON_NULL;
    *out = type == PAWL__JSON_TRUE;
    return type == PAWL__JSON_NULL || type == PAWL__JSON_TRUE || type == PAWL__JSON_FALSE ||
           pawl__reply_invalid(request, name, "metadata.%s must be true or false", name);
}

/* A job is kept from its end, which is not before its submission: keep_ms may be longer than
 * needed, but never too short. */
static bool read_keep(struct pawl__request *request, struct invoke *invoke)
{
    static const char name[] = "keep_until";
    int64_t until_ms = 0;
    if (!read_time(request, invoke, name, &until_ms)) return false;
    if (until_ms > request->now_ms) invoke->spec.keep_ms = until_ms - request->now_ms;
    return pawl__check_time(name, PAWL__TIME_DURATION, invoke->spec.keep_ms, NULL) == PAWL_OK ||
           pawl__reply_invalid(request, name, "metadata.%s must be within 100 years", name);
}

static bool read_numbers(struct pawl__request *request, struct invoke *invoke)
{
    const struct pawl__json *json = &invoke->json;
    int64_t priority = 0, limit = 2, delay_s = 2, expire_s = 0;
    bool backoff;
    if (!pawl__body_int(request, json, invoke->metadata, "priority", PAWL_PRIORITY_MIN,
                        PAWL_PRIORITY_MAX, &priority) ||
        !pawl__body_int(request, json, invoke->metadata, "retry_limit", 0, LIMIT_MAX, &limit) ||
        !pawl__body_int(request, json, invoke->metadata, "retry_delay", 0, RETRY_S_MAX, &delay_s) ||
        !pawl__body_int(request, json, invoke->metadata, "expire_in_seconds", 0, EXPIRE_S_MAX,
                        &expire_s) ||
        !read_backoff(request, invoke, &backoff)) {
        return false;
    }
    invoke->spec.priority = (int32_t)priority;
    invoke->spec.retry.attempts_max = (int32_t)limit + 1;
    set_waits(&invoke->spec.retry, delay_s, backoff);
    invoke->spec.expires_in_ms = expire_s * 1000;
    return true;
}

static bool read_spec(struct pawl__request *request, struct invoke *invoke)
{
    const struct pawl__json *json = &invoke->json;
    struct pawl_job_spec *spec = &invoke->spec;
    const char *name, *endpoint;
    invoke->metadata = pawl__json_member(json, invoke->action, "metadata");
    if (!pawl__body_text(request, json, invoke->action, "name", &name)) return false;
    if (!name || !invoke->metadata || json->tokens[invoke->metadata].type != PAWL__JSON_OBJECT) {
        return pawl__reply_invalid(request, name ? "metadata" : "name",
                                   "a job needs a name and an object of metadata");
    }
    if (!pawl__body_text(request, json, invoke->metadata, "on", &endpoint)) return false;
    struct pawl_span metadata = pawl__json_span(json, invoke->metadata);
    char *args = pawl__arena_alloc(&request->arena, metadata.len + 2);
    spec->queue = type_of(request, name); // the same letters will do
    spec->type = type_of(request, endpoint && endpoint[0] ? endpoint : name);
    if (!args || !spec->queue || !spec->type) return pawl__reply_nomem(request);
    args[0] = '[';
    memcpy(args + 1, metadata.at, metadata.len);
    args[metadata.len + 1] = ']';
    spec->args = (struct pawl_span){ args, metadata.len + 2 };
    spec->meta = metadata;
    return read_id(request, invoke, true) && read_numbers(request, invoke) &&
           read_policy(request, invoke) && read_keep(request, invoke) &&
           read_time(request, invoke, "start_after", &spec->due_at_ms) &&
           read_time(request, invoke, "soft_sla", &spec->sla_soft_at_ms) &&
           read_time(request, invoke, "hard_sla", &spec->sla_hard_at_ms);
}

/* ---- answering ---- */

static void reply_invoked(struct pawl__request *request, const struct invoke *invoke,
                          const char *said, struct pawl_job_id id, enum pawl_state state)
{
    struct pawl__buf *out = &request->reply;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    uint32_t header = pawl__json_member(&invoke->json, 0, "header");
    struct pawl_span as_sent = header ? pawl__json_span(&invoke->json, header)
                                      : (struct pawl_span){ "{}", 2 };
    pawl_job_id_text(id, text);
    pawl__buf_add_text(out, "{\"header\":");
    pawl__buf_add(out, as_sent.at, as_sent.len);
    pawl__buf_printf(out,
                     ",\"parameters\":{\"status\":\"ok\",\"msg\":\"%s\",\"job_id\":\"%s\","
                     "\"state\":\"%s\"},\"data\":null}",
                     said, text, pawl_state_name(state, PAWL_VOCABULARY_MARIE));
    pawl__reply(request, 200);
}

static void submit(struct pawl__request *request, struct invoke *invoke)
{
    struct pawl_submitted submitted;
    struct pawl_diag diag;
    if (!read_spec(request, invoke)) return;
    enum pawl_err err = pawl_submit(pawl__request_pawl(request), &invoke->spec, &submitted, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        reply_invoked(request, invoke, "job submitted", submitted.id, submitted.state);
    }
}

static void reply_state(struct pawl__request *request, struct invoke *invoke)
{
    struct pawl_jobs jobs = { 0 };
    if (!read_id(request, invoke, false)) return;
    if (pawl__job_read(request, invoke->id, &jobs)) {
        reply_invoked(request, invoke, "job found", invoke->id, jobs.at[0].state);
    }
    pawl_jobs_release(&jobs);
}

void pawl__on_marie_invoke(struct pawl__request *request)
{
    struct invoke *invoke = pawl__request_state(request, sizeof *invoke);
    const char *command, *action;
    if (!invoke) return;
    request->content_type = "application/json";
    if (!pawl__request_json(request, false, &invoke->json)) return;
    invoke->action = find_action(request, &invoke->json);
    if (!invoke->action ||
        !pawl__body_text(request, &invoke->json, invoke->action, "command", &command) ||
        !pawl__body_text(request, &invoke->json, invoke->action, "action", &action)) {
        return;
    }
    bool job = command && strcmp(command, "job") == 0;
    if (job && action && strcmp(action, "submit") == 0) {
        submit(request, invoke);
    } else if (job && action && strcmp(action, "status") == 0) {
        reply_state(request, invoke);
    } else {
        pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, "action",
                           "only command \"job\" with action \"submit\" or \"status\" is "
                           "understood");
    }
}
