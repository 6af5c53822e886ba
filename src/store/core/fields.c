/* What is made of the lists. */
#include "store/core/fields.h"

#include "store/core/set.h"

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
#define OF struct pawl__queue_row
static const struct pawl__field pawl__queue_row_fields[] = { PAWL__QUEUE_FIELDS(X) };
#undef OF
#define OF struct pawl__gone
static const struct pawl__field pawl__gone_fields[] = { PAWL__GONE_FIELDS(X) };
#undef OF
#undef X

#define X(name, type, list, its_job)                                                               \
    [PAWL__TABLE_##name] = { .fields = type##_fields,                                              \
                             .count = sizeof type##_fields / sizeof *type##_fields,                \
                             .bytes = sizeof(struct type),                                         \
                             .of_job = its_job },
const struct pawl__set_table pawl__set_tables[PAWL__TABLES] = { PAWL__SET_TABLES(X) };
#undef X
