/* See shown.h. */
#include "store/shown.h"

#include "base/json.h"
#include "store/core/settle.h"

#include <string.h>

bool pawl__progress_shows(const struct pawl_job *job, int64_t run)
{
    return job->state != PAWL_STATE_ACTIVE || job->run == run;
}

const char *pawl__job_hold(const struct pawl_job *job)
{
    enum pawl_state state = job->state == PAWL_STATE_PAUSED ? job->paused_from : job->state;
    if (state != PAWL_STATE_PENDING) return "";
    if (job->lease_until_ms) return "route";
    if (job->ties & PAWL__TIE_UNCHECKED) return "unchecked";
    return job->ties & PAWL__TIE_FLOW ? "parents" : "submitter";
}

bool pawl__queue_is_listed(const struct pawl_queue_stats *queue, bool forgotten)
{
    for (int state = 1; forgotten && state < PAWL_STATE_END; state++) {
        if (queue->count[state]) return true;
    }
    return !forgotten;
}

enum pawl_err pawl__meta_has(struct pawl_span meta, const char *name, struct pawl_span value,
                             struct pawl__arena *scratch, bool *out)
{
    struct pawl__json json;
    *out = false;
    if (!meta.len) return PAWL_OK;
    enum pawl_err err = pawl__json_parse(meta, PAWL_JSON_DEPTH_MAX, scratch, &json, NULL);
    if (err) return err == PAWL_ERR_NOMEM ? err : PAWL_OK;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return PAWL_OK;
    uint32_t token = pawl__json_member(&json, 0, name);
    if (!token || json.tokens[token].type == PAWL__JSON_NULL) return PAWL_OK;
    struct pawl_span span = pawl__json_span(&json, token);
    if (json.tokens[token].type == PAWL__JSON_STRING) {
        span.at = pawl__json_string(&json, token, scratch, &span.len);
        if (!span.at) return PAWL_ERR_NOMEM;
    }
    *out = span.len == value.len && memcmp(span.at, value.at, value.len) == 0;
    return PAWL_OK;
}
