/* What is made of the lists. */
#include "store/core/fields.h"

#include "store/core/set.h"

#include <string.h>

#define SPEC(member) .origin = PAWL__ORIGIN_SPEC, .offset = offsetof(struct pawl_job_spec, member)
#define TEXTS(member) .origin = PAWL__ORIGIN_TEXTS, .offset = offsetof(struct pawl__new_job, member)
#define SETTLED(member)                                                                            \
    .origin = PAWL__ORIGIN_SETTLED, .offset = offsetof(struct pawl__settled, member)
#define X(member, column, kind_name, from, ...) { .kind = PAWL__KIND_##kind_name, from },
const struct pawl__new_field pawl__new_facts[PAWL__JOB_FACTS_COUNT] = { PAWL__JOB_FACTS(X) };
#undef X
#undef SPEC
#undef TEXTS
#undef SETTLED

/* Asked for every job that is submitted, so it is not a loop over pawl__new_facts. */
#define HAS_TEXT(value) ((value) && *(value))
#define HAS_JSON(value) ((value).len)
#define HAS_AT(value) (value)
#define HAS_BITS(value) (value)
#define HAS_MS(value) (value)
#define SPEC(member) job->spec->member
#define TEXTS(member) job->member
#define SETTLED(member) settled->member
bool pawl__new_has_extras(const struct pawl__new_job *job, const struct pawl__settled *settled)
{
#define X(member, column, kind, value, ...) || HAS_##kind(value)
    return job->key_count PAWL__JOB_EXTRAS(X);
#undef X
}

/* ---- the working set ---- */

/* An entry of a table of fields; its size is negative if the member has not the type of its kind.
 */
#define X(member, column_name, kind_name)                                                          \
    { .column = #column_name,                                                                      \
      .kind = PAWL__KIND_##kind_name,                                                              \
      .offset = offsetof(OF, member) +                                                             \
                sizeof(char[PAWL__IS_KIND(OF, member, kind_name) ? 1 : -1]) - 1 },

#define OF struct pawl__row
const struct pawl__field pawl__row_fields[] = { PAWL__ROW_FIXED(X) PAWL__ROW_WRITTEN(X) };
#undef OF
#define OF struct pawl__failure
static const struct pawl__field pawl__failure_fields[] = { PAWL__FAILURE_FIELDS(X) };
#undef OF
#define OF struct pawl__trim
static const struct pawl__field pawl__trim_fields[] = { PAWL__TRIM_FIELDS(X) };
#undef OF
#define OF struct pawl__audit
static const struct pawl__field pawl__audit_fields[] = { PAWL__AUDIT_FIELDS(X) };
#undef OF
#define OF struct pawl__key_row
static const struct pawl__field pawl__key_row_fields[] = { PAWL__KEY_FIELDS(X) };
#undef OF
#define OF struct pawl__checked
static const struct pawl__field pawl__checked_fields[] = { PAWL__CHECKED_FIELDS(X) };
#undef OF
#define OF struct pawl__progress
static const struct pawl__field pawl__progress_fields[] = { PAWL__PROGRESS_FIELDS(X) };
#undef OF
#define OF struct pawl__checkpoint
static const struct pawl__field pawl__checkpoint_fields[] = { PAWL__CHECKPOINT_FIELDS(X) };
#undef OF
#define OF struct pawl__log_line
static const struct pawl__field pawl__log_line_fields[] = { PAWL__LINE_FIELDS(X) };
#undef OF
#define OF struct pawl__log_cut
static const struct pawl__field pawl__log_cut_fields[] = { PAWL__CUT_FIELDS(X) };
#undef OF
#define OF struct pawl__followed
static const struct pawl__field pawl__followed_fields[] = { PAWL__FOLLOWED_FIELDS(X) };
#undef OF
#define OF struct pawl__moot
static const struct pawl__field pawl__moot_fields[] = { PAWL__MOOT_FIELDS(X) };
#undef OF
#define OF struct pawl__unsettled
static const struct pawl__field pawl__unsettled_fields[] = { PAWL__UNSETTLED_FIELDS(X) };
#undef OF
#define OF struct pawl__node
static const struct pawl__field pawl__node_fields[] = { PAWL__NODE_FIELDS(X) };
#undef OF
#define OF struct pawl__lock
static const struct pawl__field pawl__lock_fields[] = { PAWL__LOCK_FIELDS(X) };
#undef OF
#define OF struct pawl__setting
static const struct pawl__field pawl__setting_fields[] = { PAWL__SETTING_FIELDS(X) };
#undef OF
#define OF struct pawl_token
static const struct pawl__field pawl_token_fields[] = { PAWL__TOKEN_FIELDS(X) };
#undef OF
#define OF struct pawl_args_schema
static const struct pawl__field pawl_args_schema_fields[] = { PAWL__SCHEMA_FIELDS(X) };
#undef OF
#define OF struct pawl_queue_config
static const struct pawl__field pawl_queue_config_fields[] = { PAWL__CONFIG_FIELDS(X) };
#undef OF
#define OF struct pawl__request_key
static const struct pawl__field pawl__request_key_fields[] = { PAWL__REQUEST_FIELDS(X) };
#undef OF
#define OF struct pawl__queue_row
static const struct pawl__field pawl__queue_row_fields[] = { PAWL__QUEUE_FIELDS(X) };
#undef OF
#define OF struct pawl__deadline
static const struct pawl__field pawl__deadline_fields[] = { PAWL__DEADLINE_FIELDS(X) };
#undef OF
#define OF struct pawl__gone
static const struct pawl__field pawl__gone_fields[] = { PAWL__GONE_FIELDS(X) };
#undef OF
#define OF struct pawl__flow
static const struct pawl__field pawl__flow_fields[] = { PAWL__FLOW_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_group
static const struct pawl__field pawl__flow_group_fields[] = { PAWL__FLOW_GROUP_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_node
static const struct pawl__field pawl__flow_node_fields[] = { PAWL__FLOW_NODE_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_member
static const struct pawl__field pawl__flow_member_fields[] = { PAWL__FLOW_MEMBER_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_edge
static const struct pawl__field pawl__flow_edge_fields[] = { PAWL__FLOW_EDGE_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_signal
static const struct pawl__field pawl__flow_signal_fields[] = { PAWL__FLOW_SIGNAL_FIELDS(X) };
#undef OF
#define OF struct pawl__flow_timer
static const struct pawl__field pawl__flow_timer_fields[] = { PAWL__FLOW_TIMER_FIELDS(X) };
#undef OF
#define OF struct pawl__schedule
static const struct pawl__field pawl__schedule_fields[] = { PAWL__SCHEDULE_FIELDS(X) };
#undef OF
#define OF struct pawl__schedule_plan
static const struct pawl__field pawl__schedule_plan_fields[] = { PAWL__SCHEDULE_PLAN_FIELDS(X) };
#undef OF
#define OF struct pawl__schedule_member
static const struct pawl__field pawl__schedule_member_fields[] = { PAWL__SCHEDULE_MEMBER_FIELDS(
    X) };
#undef OF
#define OF struct pawl__firing
static const struct pawl__field pawl__firing_fields[] = { PAWL__FIRING_FIELDS(X) };
#undef OF
#define OF struct pawl__firing_cut
static const struct pawl__field pawl__firing_cut_fields[] = { PAWL__FIRING_CUT_FIELDS(X) };
#undef OF
#undef X
PAWL__SET_FIELDS_MORE

#define X(name, type, list, its_job)                                                               \
    [PAWL__TABLE_##name] = { .fields = type##_fields,                                              \
                             .count = sizeof type##_fields / sizeof *type##_fields,                \
                             .bytes = sizeof(struct type),                                         \
                             .of_job = its_job },
const struct pawl__set_table pawl__set_tables[PAWL__TABLES] = { PAWL__SET_TABLES(X) };
#undef X

/* ---- members of any of these structs ---- */

#define X(name, c_type, ...) [PAWL__KIND_##name] = sizeof(c_type),
static const size_t kind_bytes[PAWL__KIND_END] = { PAWL__KINDS(X) };
#undef X

struct pawl_span pawl__field_bytes(const struct pawl__field *field, const void *row)
{
    const void *at = (const char *)row + field->offset;
    switch (field->kind) {
    case PAWL__KIND_TEXT: {
        const char *text = *(const char *const *)at;
        return (struct pawl_span){ text, text ? strlen(text) : 0 };
    }
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
    case PAWL__KIND_BYTES:
        return *(const struct pawl_span *)at;
    default:
        return (struct pawl_span){ at, kind_bytes[field->kind] };
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_bytes(struct pawl_span a, struct pawl_span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.at, b.at, len) : 0;
    return order ? order : compare_numbers((int64_t)a.len, (int64_t)b.len);
}

static int compare_field(const struct pawl__field *field, const void *a, const void *b)
{
    const void *left = (const char *)a + field->offset, *right = (const char *)b + field->offset;
    switch (field->kind) {
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        return compare_numbers(*(const int64_t *)left, *(const int64_t *)right);
    case PAWL__KIND_I32:
    case PAWL__KIND_BITS:
        return compare_numbers(*(const int32_t *)left, *(const int32_t *)right);
    default:
        return compare_bytes(pawl__field_bytes(field, a), pawl__field_bytes(field, b));
    }
}

int pawl__fields_compare(const struct pawl__field *fields, size_t count, const void *a,
                         const void *b)
{
    int order = 0;
    for (size_t i = 0; !order && i < count; i++) {
        order = compare_field(&fields[i], a, b);
    }
    return order;
}
