/* A schedule that is put, as the wire has it: from rows of records to what a caller says. */
#include "store/remote/remote.h"

#include "base/diag.h"

enum { INSTANT_BYTES = 8 };

static enum pawl_err say_instants(struct pawl_span packed, struct pawl__arena *scratch,
                                  struct pawl_recurrence *out, struct pawl_diag *diag)
{
    size_t count = packed.len / INSTANT_BYTES;
    int64_t *instants = pawl__arena_calloc(scratch, count + 1, sizeof *instants);
    if (!instants) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (size_t b = 0; b < INSTANT_BYTES; b++) {
            value = value << 8 | (uint8_t)packed.at[i * INSTANT_BYTES + b];
        }
        instants[i] = (int64_t)value;
    }
    out->instants = count ? instants : NULL;
    out->instant_count = count;
    return PAWL_OK;
}

enum pawl_err pawl__rm_schedule_say(const struct pawl__new_schedule *given,
                                    struct pawl__arena *scratch, struct pawl_schedule_spec *out,
                                    struct pawl_diag *diag)
{
    const struct pawl__schedule_plan *plan = &given->plan;
    *out = (struct pawl_schedule_spec){
        .name = plan->name,
        .recurrence = { .expression = plan->expression,
                        .zone = plan->zone,
                        .dialect = (enum pawl_dialect)plan->dialect,
                        .gap = (enum pawl_gap)plan->gap,
                        .start_at_ms = plan->start_at_ms,
                        .end_at_ms = plan->end_at_ms },
        .job = *given->job->spec,
        .overlap = (enum pawl_overlap)plan->overlap,
        .misfire = (enum pawl_misfire)plan->misfire,
        .catch_up = plan->catch_up,
        .late_max_ms = plan->late_max_ms,
        .jitter_ms = plan->jitter_ms,
        .max_runs = plan->max_runs,
        .catch_up_paused = plan->traits & PAWL__PLAN_CATCH_UP_PAUSED,
        .disabled = plan->traits & PAWL__PLAN_DISABLED,
        .description = plan->description,
        .meta = plan->meta,
    };
    if (plan->traits & PAWL__PLAN_ANCHOR_GIVEN) out->recurrence.anchor_at_ms = plan->anchor_at_ms;
    return say_instants(plan->instants, scratch, &out->recurrence, diag);
}
