/* Does a filter have a job? The same answer as from sql/filter.c's WHERE clause. */
#include "store/memory/memory.h"

#include "base/id.h"
#include "base/json.h"
#include "lifecycle/lifecycle.h"

#include <assert.h>
#include <string.h>

enum { DEPTH_MAX = 1024 }; /* what is stored was checked when it came */

static bool is_among(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0) return true;
    }
    return count == 0;
}

static bool has_type(const struct pawl_filter *filter, const char *type)
{
    for (size_t i = 0; i < filter->type_count; i++) {
        if (pawl__type_matches(filter->types[i], type)) return true;
    }
    return filter->type_count == 0;
}

static bool begins_with(const struct pawl_filter *filter, const struct pawl_job_id *id)
{
    struct pawl_job_id low, high;
    if (!filter->id_prefix) return true;
    bool ok = pawl__id_range(filter->id_prefix, &low, &high);
    assert(ok);
    return memcmp(&low, id, sizeof low) <= 0 && memcmp(id, &high, sizeof high) <= 0;
}

/* "" and NULL ask for nothing. */
static bool equals(const char *wanted, const char *text)
{
    return !wanted || !*wanted || strcmp(wanted, text) == 0;
}

/* 0 is no bound; an instant that is not there is in no range. */
static bool is_within(int64_t at_ms, int64_t from_ms, int64_t until_ms)
{
    if (!from_ms && !until_ms) return true;
    return at_ms && (!from_ms || at_ms >= from_ms) && (!until_ms || at_ms < until_ms);
}

static bool equals_value(const struct pawl__json *json, uint32_t token, const char *wanted,
                         struct pawl__arena *scratch)
{
    struct pawl_span span = pawl__json_span(json, token);
    if (json->tokens[token].type == PAWL__JSON_NULL) return false;
    if (json->tokens[token].type == PAWL__JSON_STRING) {
        span.at = pawl__json_string(json, token, scratch, &span.len);
        if (!span.at) return false;
    }
    return span.len == strlen(wanted) && memcmp(span.at, wanted, span.len) == 0;
}

static bool has_meta(const struct pawl_filter *filter, struct pawl_span meta,
                     struct pawl__arena *scratch)
{
    struct pawl__json json;
    if (!filter->meta_key) return true;
    if (!meta.len || pawl__json_parse(meta, DEPTH_MAX, scratch, &json, NULL)) return false;
    uint32_t value = pawl__json_member(&json, 0, filter->meta_key);
    const char *wanted = filter->meta_value ? filter->meta_value : "";
    return value && equals_value(&json, value, wanted, scratch);
}

/* Any of them. */
static bool has_tag(const struct pawl_filter *filter, struct pawl_span tags,
                    struct pawl__arena *scratch)
{
    struct pawl__json json;
    if (!filter->tag_count) return true;
    if (!tags.len || pawl__json_parse(tags, DEPTH_MAX, scratch, &json, NULL)) return false;
    uint32_t token = pawl__json_first(0);
    for (uint32_t i = 0; i < json.tokens[0].count; i++, token = json.tokens[token].next) {
        for (size_t k = 0; k < filter->tag_count; k++) {
            if (equals_value(&json, token, filter->tags[k], scratch)) return true;
        }
    }
    return false;
}

static bool has_times(const struct pawl_filter *filter, const struct pawl_job *job)
{
    return is_within(job->created_at_ms, filter->created_from_ms, filter->created_until_ms) &&
           is_within(job->due_at_ms, filter->due_from_ms, filter->due_until_ms) &&
           is_within(job->finished_at_ms, filter->finished_from_ms, filter->finished_until_ms);
}

static bool has_texts(const struct pawl_filter *filter, const struct pawl_job *job)
{
    return is_among(job->queue, filter->queues, filter->queue_count) &&
           has_type(filter, job->type) && equals(filter->business_key, job->business_key) &&
           equals(filter->idempotency_key, job->idempotency_key) &&
           equals(filter->principal, job->principal) && equals(filter->trace_id, job->trace_id) &&
           equals(filter->worker, job->worker);
}

bool pawl__mem_passes(const struct pawl_filter *filter, const struct pawl_job *job,
                      struct pawl__arena *scratch)
{
    if (job->archived && !filter->archived) return false;
    if (filter->states && !(filter->states & PAWL_STATE_BIT(job->state))) return false;
    if (filter->priority_given &&
        (job->priority < filter->priority_min || job->priority > filter->priority_max)) {
        return false;
    }
    if (filter->dead_letter && !job->dead_letter) return false;
    if (!begins_with(filter, &job->id) || !has_times(filter, job) || !has_texts(filter, job)) {
        return false;
    }
    bool passes = has_tag(filter, job->tags, scratch) && has_meta(filter, job->meta, scratch);
    pawl__arena_reset(scratch);
    return passes;
}
