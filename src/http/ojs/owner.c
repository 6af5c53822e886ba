/* Who reports on a run, and whether it is his. */
#include "http/ojs/owner.h"

#include <stdio.h>
#include <string.h>

bool pawl__owner_read(struct pawl__request *request, const struct pawl__json *json,
                      struct pawl__owner *out)
{
    const char *text = NULL;
    *out = (struct pawl__owner){ 0 };
    if (request->part_count) {
        if (!pawl__request_job_id(request, 0, &out->id)) return false;
    } else {
        if (!pawl__body_text(request, json, 0, "job_id", &text)) return false;
        if (!text) {
            return pawl__reply_invalid(request, "job_id", "job_id is missing");
        }
        if (!pawl__id_read(text, &out->id)) return pawl__reply_not_found(request, "job", text);
    }
    return pawl__body_text(request, json, 0, "worker_id", &out->worker) &&
           pawl__body_int(request, json, 0, "attempt", 1, INT32_MAX, &out->attempt);
}

bool pawl__owner_is_known(const struct pawl__owner *owner)
{
    return owner->worker || owner->attempt;
}

static bool is_attempt(const struct pawl__owner *owner, int64_t attempt)
{
    return !owner->attempt || owner->attempt == attempt;
}

/* Nobody can be told apart from a client without a name. */
static bool is_worker(const struct pawl__owner *owner, const char *worker)
{
    return !owner->worker || !pawl__worker_is_named(worker) || strcmp(owner->worker, worker) == 0;
}

bool pawl__owner_matches(const struct pawl__owner *owner, const char *worker, int64_t attempt)
{
    return is_attempt(owner, attempt) && is_worker(owner, worker);
}

/* Details are members of an object. */
static bool refuse(struct pawl__request *request, const char *field, const char *message,
                   const char *details)
{
    struct pawl__fault fault = { .kind = PAWL__FAULT_CONFLICT,
                                 .details = { details, strlen(details) } };
    snprintf(fault.field, sizeof fault.field, "%s", field);
    snprintf(fault.message, sizeof fault.message, "%s", message);
    return pawl__reply_fault(request, &fault);
}

bool pawl__owner_check(struct pawl__request *request, const struct pawl__owner *owner,
                       const char *worker, int64_t attempt)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], message[200], details[200];
    pawl_job_id_text(owner->id, id);
    snprintf(details, sizeof details,
             "\"current_state\":\"active\",\"current_attempt\":%lld,\"job_id\":\"%s\"",
             (long long)attempt, id);
    if (!is_attempt(owner, attempt)) {
        snprintf(message, sizeof message, "job \"%s\" is at attempt %lld, not %lld", id,
                 (long long)attempt, (long long)owner->attempt);
        return refuse(request, "attempt", message, details);
    }
    if (!is_worker(owner, worker)) {
        snprintf(message, sizeof message, "job \"%s\" was fetched by another worker", id);
        return refuse(request, "worker_id", message, details);
    }
    return true;
}

bool pawl__owner_refuse_state(struct pawl__request *request, const struct pawl__owner *owner,
                              enum pawl_state state)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], message[200], details[200];
    const char *name = pawl_state_name(state, PAWL_VOCABULARY_OJS);
    pawl_job_id_text(owner->id, id);
    snprintf(message, sizeof message, "job \"%s\" is %s, not active", id, name);
    snprintf(details, sizeof details,
             "\"current_state\":\"%s\",\"expected_state\":\"active\",\"job_id\":\"%s\"", name, id);
    return refuse(request, "", message, details);
}
