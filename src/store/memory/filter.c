/* Does a filter have a job? The same answer as from sql/filter.c's WHERE clause. */
#include "store/memory/memory.h"

#include "base/id.h"
#include "base/json.h"
#include "fields/fields.h"
#include "lifecycle/lifecycle.h"
#include "store/shown.h"

#include <assert.h>
#include <string.h>

enum { DEPTH_MAX = 1024 }; /* what is stored was checked when it came */

static bool has_state(uint32_t states, enum pawl_state state)
{
    return !states || states & PAWL_STATE_BIT(state);
}

static bool has_queue(const struct pawl_filter *filter, const struct pawl_job *job)
{
    for (size_t i = 0; i < filter->queue_count; i++) {
        if (strcmp(filter->queues[i], job->queue) == 0) return true;
    }
    return filter->queue_count == 0;
}

static bool has_type(const struct pawl_filter *filter, const struct pawl_job *job)
{
    for (size_t i = 0; i < filter->type_count; i++) {
        if (pawl__type_matches(filter->types[i], job->type)) return true;
    }
    return filter->type_count == 0;
}

static bool has_priority(const struct pawl_filter *filter, const struct pawl_job *job)
{
    return !filter->priority_given ||
           (filter->priority_min <= job->priority && job->priority <= filter->priority_max);
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

static bool has_meta(const struct pawl_filter *filter, struct pawl_span meta,
                     struct pawl__arena *scratch)
{
    if (!filter->meta_key) return true;
    const char *wanted = filter->meta_value ? filter->meta_value : "";
    bool has;
    enum pawl_err err = pawl__meta_has(meta, filter->meta_key,
                                       (struct pawl_span){ wanted, strlen(wanted) }, scratch, &has);
    return !err && has;
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
        const char *tag = pawl__json_string(&json, token, scratch, NULL);
        for (size_t k = 0; tag && k < filter->tag_count; k++) {
            if (strcmp(filter->tags[k], tag) == 0) return true;
        }
    }
    return false;
}

/* For each kind of the list: does the job pass? */
#define FACT(column) job->column
#define STAND(column) job->column
#define PASSES_STATES(member, none) has_state(filter->member, job->state)
#define PASSES_PREFIX(member, none) begins_with(filter, &job->id)
#define PASSES_NAMES(member, none) has_##member(filter, job)
#define PASSES_TAGS(member, none) has_tag(filter, job->tags, scratch)
#define PASSES_PAIR(member, none) has_meta(filter, job->meta, scratch)
#define PASSES_NUMBERS(member, none) has_##member(filter, job)
#define PASSES_KEY(member, value) equals(filter->member, value)
#define PASSES_WORKER(member, value) equals(filter->member, value)
#define PASSES_RANGE(member, value)                                                                \
    is_within(value, filter->member##_from_ms, filter->member##_until_ms)
#define PASSES_FLAG(member, value) (!filter->member || (value))
#define PASSES_ARCHIVE(member, none) (filter->member || !job->archived)

bool pawl__mem_passes(const struct pawl_filter *filter, const struct pawl_job *job,
                      struct pawl__arena *scratch)
{
#define X(member, kind, value) &&PASSES_##kind(member, value)
    bool passes = true PAWL__FILTER_FIELDS(X);
#undef X
    pawl__arena_reset(scratch);
    return passes;
}
