/* Filters and pages; the manual is filter.h.
 *
 * Names in a filter need not match the patterns of a spec: a name that cannot exist finds nothing.
 */
#include "api/filter.h"

#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"
#include "base/id.h"
#include "fields/fields.h"

#include <string.h>

#define PAGE_LIMIT_DEFAULT 50

static enum pawl_err check_states(uint32_t states, struct pawl_diag *diag)
{
    if (!(states & ~pawl__states_known)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.states",
                            "filter.states 0x%x has unknown states", states);
}

/* NULL does not restrict; "" is refused, since it looks like a restriction but is none. */
static enum pawl_err check_text(const char *field, size_t bytes_max, const char *text,
                                struct pawl_diag *diag)
{
    if (!text) return PAWL_OK;
    return pawl__check_text(&(struct pawl__text_rule){ field, bytes_max }, text, diag);
}

static enum pawl_err check_meta(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    const char *key = filter->meta_key, *value = filter->meta_value;
    enum pawl_err err = check_text("filter.meta_key", PAWL_KEY_BYTES_MAX, key, diag);
    if (!err) err = check_text("filter.meta_value", PAWL__META_VALUE_BYTES_MAX, value, diag);
    if (err || !key == !value) return err;
    return pawl__fail_field(diag, PAWL_ERR_ARG, key ? "filter.meta_value" : "filter.meta_key",
                            "filter.meta_key and filter.meta_value must be given together");
}

static enum pawl_err check_priority(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    if (!filter->priority_given || filter->priority_min <= filter->priority_max) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.priority_max",
                            "filter.priority_max %d is below filter.priority_min %d",
                            filter->priority_max, filter->priority_min);
}

/* `from` and `until` are the names of the members. */
static enum pawl_err check_range(const char *from, int64_t from_ms, const char *until,
                                 int64_t until_ms, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_time(from, PAWL__TIME_INSTANT, from_ms, diag);
    if (!err) err = pawl__check_time(until, PAWL__TIME_INSTANT, until_ms, diag);
    if (err || !until_ms || from_ms <= until_ms) return err;
    return pawl__fail_field(diag, PAWL_ERR_ARG, until, "%s must not be before %s", until, from);
}

static enum pawl_err check_prefix(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    struct pawl_job_id low, high;
    if (!filter->id_prefix || pawl__id_range(filter->id_prefix, &low, &high)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "filter.id_prefix",
                            "filter.id_prefix \"%s\" must be 8 to 32 hexadecimal digits",
                            pawl__quote(filter->id_prefix).text);
}

static enum pawl_err check_queues(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    static const struct pawl__list_rule rule = { { "filter.queues", PAWL_QUEUE_BYTES_MAX },
                                                 PAWL__LIST_MAX };
    return pawl__check_list(&rule, filter->queues, filter->queue_count, diag);
}

static enum pawl_err check_types(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    static const struct pawl__list_rule rule = { { "filter.types", PAWL_TYPE_BYTES_MAX },
                                                 PAWL__LIST_MAX };
    enum pawl_err err = pawl__check_list(&rule, filter->types, filter->type_count, diag);
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

/* Tags are stored in normalized form, so those of the filter are normalized in the same way. */
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

/* For each kind of the list: the check of a member. */
#define CHECK_STATES(member) check_states(out->member, diag)
#define CHECK_PREFIX(member) check_prefix(out, diag)
#define CHECK_NAMES(member) check_##member##s(out, diag)
#define CHECK_TAGS(member) clean_tags(out, arena, diag)
#define CHECK_KEY(member) check_text("filter." #member, PAWL_KEY_BYTES_MAX, out->member, diag)
#define CHECK_WORKER(member) check_text("filter." #member, PAWL_WORKER_BYTES_MAX, out->member, diag)
#define CHECK_PAIR(member) check_##member(out, diag)
#define CHECK_NUMBERS(member) check_##member(out, diag)
#define CHECK_RANGE(member)                                                                        \
    check_range("filter." #member "_from_ms", out->member##_from_ms,                               \
                "filter." #member "_until_ms", out->member##_until_ms, diag)
#define CHECK_FLAG(member) PAWL_OK
#define CHECK_ARCHIVE(member) PAWL_OK

enum pawl_err pawl__filter_complete(const struct pawl_filter *given, struct pawl__arena *arena,
                                    struct pawl_filter *out, struct pawl_diag *diag)
{
    *out = given ? *given : (struct pawl_filter){ .states = 0 };
    enum pawl_err err = PAWL_OK;
#define X(member, kind, ...)                                                                       \
    if (!err) err = CHECK_##kind(member);
    PAWL__FILTER_FIELDS(X)
#undef X
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
                                "page.cursor \"%s\" is not valid", pawl__quote(out->cursor).text);
    }
    return PAWL_OK;
}
