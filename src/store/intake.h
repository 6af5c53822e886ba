/* Converts the specs of callers to the jobs that the store inserts, and to JSON and back. For the
 * api, which checks specs before they are posted, and for the core, which checks those that came by
 * SQL functions and makes jobs by itself (core/follow.c).
 *
 * Pure; any thread. */
#ifndef PAWL_STORE_INTAKE_H
#define PAWL_STORE_INTAKE_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/pawl.h>

struct pawl__new_job;

/* ---- checks of a job's values: errors are reported as in base/check.h ---- */

/* ^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*(@\d+\.\d+)?$ */
PAWL_MUST_CHECK enum pawl_err pawl__check_type(const char *type, struct pawl_diag *diag);
/* ^[a-z0-9][a-z0-9._-]*$ */
PAWL_MUST_CHECK enum pawl_err pawl__check_queue(const char *queue, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__check_priority(int32_t priority, struct pawl_diag *diag);

/* A tag as it is stored: trimmed, ASCII letters in lower case. A blank one is empty (len 0), which
 * is not an error. `field` is used as it is. */
struct pawl__tag {
    size_t len;
    char text[PAWL_TAG_BYTES_MAX + 1];
};
PAWL_MUST_CHECK enum pawl_err pawl__tag_clean(const char *tag, const char *field,
                                              struct pawl__tag *out, struct pawl_diag *diag);

/* ---- specs ---- */

/* The state of a conversion. All zeros is an empty one. */
struct pawl__intake {
    struct pawl__arena kept;    /* memory of the new jobs, until the operation is done */
    struct pawl__arena scratch; /* reset for every spec */
    struct pawl__buf buf;       /* cleared for every use */
};

void pawl__intake_release(struct pawl__intake *intake);

/* Checks `given` and completes it: `spec` is a copy with defaults filled in, `job` has everything
 * except its id (which is left alone) and refers to `spec`. Both borrow the pointers of `given`.
 * ARG, LIMIT: diag->field is the member. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__intake_take(struct pawl__intake *intake,
                                                const struct pawl_job_spec *given,
                                                struct pawl_job_spec *spec,
                                                struct pawl__new_job *job, struct pawl_diag *diag);

/* A checked spec, and its parts that are stored as JSON; empty if not given. */
struct pawl__spec_texts {
    struct pawl_job_spec spec; /* with defaults filled in */
    struct pawl_span tags, retry, unique, on_success, on_failure;
};

/* Checks a spec as pawl_submit does. `out` refers to `arena` and to the memory of `given`. ARG,
 * LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__spec_check(const struct pawl_job_spec *given,
                                               struct pawl__arena *arena,
                                               struct pawl__spec_texts *out,
                                               struct pawl_diag *diag);

/* Sets fields of the spec from the members of a JSON object, which are named as the fields; fields
 * without a member are unchanged. `type` and `args` are unknown to it. Pointers refer to `arena` or
 * to `text`. ARG, LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__spec_parse(struct pawl_span text, struct pawl__arena *arena,
                                               struct pawl_job_spec *out, struct pawl_diag *diag);

/* ---- follow-ups ---- */

/* Ties of a job by its on_success and on_failure, and of one that is such a follow-up:
 * core/settle.h. */
enum { PAWL__SUCCESS_TIE = 1 << 5, PAWL__FAILURE_TIE = 1 << 7, PAWL__CHILD_TIE = 1 << 8 };

/* The first two, by what the job has. */
int32_t pawl__follow_ties(const struct pawl__new_job *job);
/* What a follow-up has in its meta. */
#define PAWL__PARENT_ID "parent_id"
#define PAWL__PARENT_STATE "parent_state"

/* Reads a follow-up as it is stored: as pawl__spec_parse, with `type` and `args`, into an empty
 * spec. */
PAWL_MUST_CHECK enum pawl_err pawl__follow_parse(struct pawl_span text, struct pawl__arena *arena,
                                                 struct pawl_job_spec *out, struct pawl_diag *diag);
/* The same into `arena`, if there is one: else `*out` is left alone. */
PAWL_MUST_CHECK enum pawl_err pawl__follow_read(struct pawl_span text, struct pawl__arena *arena,
                                                const struct pawl_job_spec **out,
                                                struct pawl_diag *diag);
/* Is such a text, or an empty one, what a submission would accept? ARG, LIMIT: diag->field is the
 * member, with `field` before it. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__follow_check(const char *field, struct pawl_span text,
                                                 struct pawl__arena *scratch,
                                                 struct pawl_diag *diag);
/* Appends it. `spec` and `job` are of one pawl__intake_take. */
void pawl__follow_print(const struct pawl_job_spec *spec, const struct pawl__new_job *job,
                        struct pawl__buf *out);

#endif
