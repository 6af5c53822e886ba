/* See refuse.h. */
#include "store/core/refuse.h"

#include "base/diag.h"

enum pawl_err pawl__fail_unknown(struct pawl_diag *diag, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no job \"%s\"", text);
}

enum pawl_err pawl__fail_state(struct pawl_diag *diag, struct pawl_job_id id, enum pawl_state state,
                               const char *verb)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_STATE, "cannot %s job \"%s\": it is %s", verb, text,
                      pawl_state_name(state, PAWL_VOCABULARY_PAWL));
}

enum pawl_err pawl__fail_stale(struct pawl_diag *diag, const struct pawl_run *ref,
                               enum pawl_state state, int64_t runs)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ref->id, text);
    return pawl__fail(
        diag, PAWL_ERR_STALE, "run %lld of job \"%s\" is over: the job is %s and has had %lld runs",
        (long long)ref->run, text, pawl_state_name(state, PAWL_VOCABULARY_PAWL), (long long)runs);
}
