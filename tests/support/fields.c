/* Specs and jobs made from the list of fields, so that all stores are tested with new fields. */
#include "support/ops.h"

#include "fields/fields.h"
#include "store/core/course.h"

/* How far a time lies ahead, another one for each field. */
static int64_t ahead_ms(size_t field)
{
    return 1000000 + (int64_t)field;
}

struct pawl_job_spec spec_full(struct rig *rig)
{
    struct pawl_job_spec spec = { .type = "full" };
    for (size_t i = 0; i < PAWL__SPEC_END; i++) {
        void *at = (char *)&spec + pawl__spec_fields[i].offset;
        switch (pawl__spec_fields[i].kind) {
        case PAWL__SPEC_KIND_KEY:
        case PAWL__SPEC_KIND_NOTE:
            *(const char **)at = pawl__spec_fields[i].name;
            break;
        case PAWL__SPEC_KIND_I32:
            *(int32_t *)at = (int32_t)i;
            break;
        case PAWL__SPEC_KIND_MS:
        case PAWL__SPEC_KIND_LEASE:
            *(int64_t *)at = ahead_ms(i);
            break;
        case PAWL__SPEC_KIND_AT:
            *(int64_t *)at = rig_now(rig) + ahead_ms(i);
            break;
        case PAWL__SPEC_KIND_META:
            *(struct pawl_span *)at = span_of("{\"a\":1}");
            break;
        default: // with code of its own, and tests
            break;
        }
    }
    spec.delay_ms = spec.due_at_ms = spec.expires_in_ms = spec.expires_at_ms = 0;
    spec.args = span_of("[1]");
    spec.queue = "full";
    spec.retry.attempts_max = 7;
    spec.retry.jitter = PAWL_JITTER_OFF;
    return spec;
}

#define SAME_ID assert_id
#define SAME_TEXT(wanted, text) assert_text((wanted) ? (wanted) : "", text)
#define SAME_JSON assert_span
#define SAME_ARGS assert_span
#define SAME_I32 assert_i64
#define SAME_BITS assert_i64
#define SAME_TIME assert_i64
#define SAME_AT assert_i64
#define SAME_MS assert_i64

void assert_submitted(const struct pawl__new_job *wanted, int64_t at_ms, const struct pawl_job *job)
{
    const struct pawl__settled settled =
        pawl__settle(wanted->spec, &(struct pawl__settling){ .now_ms = at_ms });
#define SPEC(origin) wanted->spec->origin
#define TEXTS(origin) wanted->origin
#define SETTLED(origin) settled.origin
#define X(member, column, kind, origin, ...) SAME_##kind(origin, job->member);
    PAWL__JOB_NAMES(X)
    PAWL__JOB_FACTS(X)
#undef X
}
