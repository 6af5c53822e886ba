/* What is made of the list for new jobs. */
#include "store/core/fields.h"

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
