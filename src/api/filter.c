/* Filters and pages; the manual is filter.h. A filter's names are not held to the patterns of a
 * spec: asking for what cannot exist finds nothing, which is the truth. */
#include "api/filter.h"

#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"
#include "base/id.h"

#include <stddef.h>
#include <string.h>

#define PAGE_LIMIT_DEFAULT 50

#define FILTER_TIMES(X)                                                                            \
    X(created_from_ms)                                                                             \
    X(created_until_ms)                                                                            \
    X(due_from_ms)                                                                                 \
    X(due_until_ms)                                                                                \
    X(finished_from_ms)                                                                            \
    X(finished_until_ms)

static enum pawl_err check_range(const char *field, int64_t from_ms, int64_t until_ms,
                                 struct pawl_diag *diag)
{
    if (!until_ms || from_ms <= until_ms) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s must not be before its beginning",
                            field);
}

static enum pawl_err check_times(const struct pawl_filter *filter, struct pawl_diag *diag)
{
#define X(member) { "filter." #member, PAWL__TIME_INSTANT, offsetof(struct pawl_filter, member) },
    static const struct pawl__time_rule rules[] = { FILTER_TIMES(X) };
#undef X
    enum pawl_err err = pawl__check_times(rules, sizeof rules / sizeof rules[0], filter, diag);
    if (!err) {
        err = check_range("filter.created_until_ms", filter->created_from_ms,
                          filter->created_until_ms, diag);
    }
    if (!err) {
        err = check_range("filter.due_until_ms", filter->due_from_ms, filter->due_until_ms, diag);
    }
    if (!err) {
        err = check_range("filter.finished_until_ms", filter->finished_from_ms,
                          filter->finished_until_ms, diag);
    }
    return err;
}

#define FILTER_TEXTS(X)                                                                            \
    X(business_key, PAWL_KEY_BYTES_MAX)                                                            \
    X(idempotency_key, PAWL_KEY_BYTES_MAX)                                                         \
    X(principal, PAWL_KEY_BYTES_MAX)                                                               \
    X(worker, PAWL_WORKER_BYTES_MAX)                                                               \
    X(trace_id, PAWL_KEY_BYTES_MAX)                                                                \
    X(meta_key, PAWL_KEY_BYTES_MAX)                                                                \
    X(meta_value, PAWL__META_VALUE_BYTES_MAX)

/* NULL does not restrict; "" is refused, for it would look like a restriction and be none. */
static enum pawl_err check_texts(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    const struct {
        struct pawl__text_rule rule;
        const char *text;
    } texts[] = {
#define X(member, bytes_max) { { "filter." #member, bytes_max }, filter->member },
        FILTER_TEXTS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!texts[i].text) continue;
        enum pawl_err err = pawl__check_text(&texts[i].rule, texts[i].text, diag);
        if (err) return err;
    }
    if (!filter->meta_key != !filter->meta_value) {
        const char *field = filter->meta_key ? "filter.meta_value" : "filter.meta_key";
        return pawl__fail_field(diag, PAWL_ERR_ARG, field,
                                "filter.meta_key and filter.meta_value need each other");
    }
    return PAWL_OK;
}

static enum pawl_err check_prefix(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    struct pawl_job_id low, high;
    if (!filter->id_prefix || pawl__id_range(filter->id_prefix, &low, &high)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.id_prefix",
                            "filter.id_prefix \"%s\" must be 8 to 32 hexadecimal digits",
                            pawl__quote(filter->id_prefix).text);
}

static enum pawl_err check_lists(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    static const struct pawl__list_rule queues = { { "filter.queues", PAWL_QUEUE_BYTES_MAX },
                                                   PAWL__LIST_MAX };
    static const struct pawl__list_rule types = { { "filter.types", PAWL_TYPE_BYTES_MAX },
                                                  PAWL__LIST_MAX };
    enum pawl_err err = pawl__check_list(&queues, filter->queues, filter->queue_count, diag);
    if (!err) err = pawl__check_list(&types, filter->types, filter->type_count, diag);
    for (size_t i = 0; !err && i < filter->type_count; i++) {
        err = pawl__check_star("filter.types", filter->types[i], diag);
    }
    return err;
}

static enum pawl_err check_tag(const char *given, struct pawl__tag *tag, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__tag_clean(given, "filter.tags", tag, diag);
    if (err || tag->len) return err;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.tags", "filter.tags must not be blank");
}

/* Tags are found by what was kept of them, so the filter's are cleaned in the same way. */
static enum pawl_err clean_tags(struct pawl_filter *filter, struct pawl__arena *arena,
                                struct pawl_diag *diag)
{
    size_t count = filter->tag_count;
    if (!count) return PAWL_OK;
    if (count > PAWL__LIST_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "filter.tags",
                                "filter.tags has %zu members, more than %d", count, PAWL__LIST_MAX);
    }
    if (!filter->tags) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.tags", "filter.tags is missing");
    }
    const char **cleaned = pawl__arena_calloc(arena, count, sizeof *cleaned);
    if (!cleaned) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        struct pawl__tag tag;
        enum pawl_err err = check_tag(filter->tags[i], &tag, diag);
        if (err) {
            pawl__diag_index(diag, i);
            return err;
        }
        cleaned[i] = pawl__arena_dup(arena, tag.text, tag.len);
        if (!cleaned[i]) return pawl__fail_nomem(diag);
    }
    filter->tags = cleaned;
    return PAWL_OK;
}

enum pawl_err pawl__filter_complete(const struct pawl_filter *given, struct pawl__arena *arena,
                                    struct pawl_filter *out, struct pawl_diag *diag)
{
    *out = given ? *given : (struct pawl_filter){ .states = 0 };
    if (out->states & ~pawl__states_known) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.states",
                                "filter.states 0x%x has unknown states", out->states);
    }
    if (out->priority_given && out->priority_min > out->priority_max) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.priority_max",
                                "filter.priority_max %d is below filter.priority_min %d",
                                out->priority_max, out->priority_min);
    }
    enum pawl_err err = check_times(out, diag);
    if (!err) err = check_texts(out, diag);
    if (!err) err = check_prefix(out, diag);
    if (!err) err = check_lists(out, diag);
    if (!err) err = clean_tags(out, arena, diag);
    return err;
}

enum pawl_err pawl__page_complete(const struct pawl_page *given, struct pawl_page *out,
                                  struct pawl_diag *diag)
{
    *out = given ? *given : (struct pawl_page){ .limit = 0 };
    if (!out->limit) out->limit = PAGE_LIMIT_DEFAULT;
    if (out->cursor && !out->cursor[0]) out->cursor = NULL;
    if (out->limit < 1 || out->limit > PAWL_PAGE_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "page.limit",
                                "page.limit must lie between 1 and %d", PAWL_PAGE_MAX);
    }
    if (out->bytes_max < 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "page.bytes_max",
                                "page.bytes_max must not be negative");
    }
    if (out->cursor && strnlen(out->cursor, PAWL_CURSOR_BYTES) == PAWL_CURSOR_BYTES) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "page.cursor",
                                "page.cursor \"%s\" is not one of ours",
                                pawl__quote(out->cursor).text);
    }
    return PAWL_OK;
}
