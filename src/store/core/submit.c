/* Submitting: the keys of a new job are asked first, then it is a row of the set like any other, so
 * that those behind it in the batch find it there. */
#include "store/core/keys.h"

#include "base/diag.h"
#include "store/core/course.h"
#include "store/core/deadline.h"
#include "store/core/flow.h"

#include <assert.h>
#include <string.h>

/* Was the flow's id chosen, so that there may be one of that id? */
static bool may_exist(const struct pawl__new_flow *flow)
{
    return flow && flow->spec && flow->spec->id;
}

void pawl__want_submit(struct pawl__set *set, const struct pawl__op *op)
{
    assert(op->submit.count <= PAWL_BATCH_MAX && (op->submit.count || op->submit.flow));
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        for (size_t k = 0; k < job->key_count; k++) {
            pawl__set_want_key(set, job->keys[k].digest);
        }
        set->open_ended |= job->key_count > 0;
        if (!job->fresh_id || set->careful) pawl__set_want(set, job->id, PAWL__NEED_NONE);
    }
    const struct pawl__new_flow *flow = op->submit.flow;
    if (flow && flow->adds) pawl__flow_want_more(set, flow);
    if (may_exist(flow)) (void)pawl__set_want_record(set, PAWL__RECORD_FLOW, &flow->row);
}

void pawl__names_submit(const struct pawl__op *op, struct pawl__names *out)
{
    out->jobs = op->submit.jobs;
    out->job_count = op->submit.count;
}

bool pawl__submit_is_plain(const struct pawl__set *set, const struct pawl__op *op, bool any_id)
{
    if (set->careful || op->submit.flow) return false;
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        bool known = !job->fresh_id && !any_id;
        if (known || job->key_count || pawl__set_find(set, job->id)) return false;
        if (pawl__first_deadline(job->spec)) return false;
    }
    return true;
}

static enum pawl_err refuse_id(struct pawl__op *op, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "id", "there is a job \"%s\" already", text);
}

/* EXISTS. */
static enum pawl_err check_flow(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__new_flow *flow = op->submit.flow;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    if (!may_exist(flow)) return PAWL_OK;
    const struct pawl__record *record = pawl__set_want_record(set, PAWL__RECORD_FLOW, &flow->row);
    assert(record && record->of->read); // or the load had failed
    if (!record->there) return PAWL_OK;
    op->submit.failed_index = op->submit.count; // no job is to blame
    pawl_job_id_text(flow->row.id, text);
    return pawl__fail_field(op->diag, PAWL_ERR_EXISTS, "id", "there is a flow \"%s\" already",
                            text);
}

/* The row as it would be read after the store. */
static void fill(struct pawl__set *set, struct pawl__row *row, const struct pawl__birth *birth)
{
    const struct pawl__new_job *job = birth->job;
    const struct pawl_job_spec *spec = job->spec;
    *row = (struct pawl__row){ .id = job->id,
                               .found = PAWL__FOUND_LIVE,
                               .need = row->need,
                               .has = PAWL__NEED_ALL,
                               .run_data = row->run_data,
                               .may_go = row->may_go,
                               .state = birth->settled.state,
                               .lane = row->lane,
                               .ties = job->ties,
                               .priority = spec->priority,
                               .attempts_max = spec->retry.attempts_max,
                               .created_at_ms = birth->settled.created_at_ms,
                               .due_at_ms = birth->settled.due_at_ms,
                               .rank = birth->settled.rank,
                               .expires_at_ms = birth->settled.expires_at_ms,
                               .timeout_ms = spec->timeout_ms,
                               .sla_soft_at_ms = spec->sla_soft_at_ms,
                               .sla_hard_at_ms = spec->sla_hard_at_ms,
                               .retry = job->retry,
                               .on_success = job->on_success,
                               .on_failure = job->on_failure,
                               .keys = pawl__keys_pack(set, job),
                               .arrival = job->arrival,
                               .birth = birth };
}

/* EXISTS, ARG. */
static enum pawl_err bear(struct pawl__set *set, struct pawl__op *op,
                          const struct pawl__new_job *job, int64_t due_at_ms,
                          struct pawl_submitted *out)
{
    struct pawl__row *row = pawl__set_new(set, job->id);
    struct pawl__birth *birth = pawl__arena_alloc(&set->arena, sizeof *birth);
    if (!row || !birth) {
        set->failed = true;
        return PAWL_ERR_NOMEM;
    }
    assert(row->found != PAWL__FOUND_UNREAD);
    if (row->found != PAWL__FOUND_ABSENT) return refuse_id(op, job->id);
    uint32_t lane;
    enum pawl_err err =
        set->table->lane(set->backend, job->spec->queue, job->spec->type, &lane, op->diag);
    if (err) return err;
    pawl__row_save(set, row);
    *birth = (struct pawl__birth){
        .job = job,
        .settled = pawl__settle(job->spec,
                                &(struct pawl__settling){ set->now_ms, set->boost_ms, due_at_ms }),
    };
    row->lane = lane;
    fill(set, row, birth);
    bool waits = row->state == PAWL_STATE_SCHEDULED;
    pawl__set_note_move(set, &(struct pawl__set_move){ .row = row,
                                                       .due_at_ms = waits ? row->due_at_ms : 0,
                                                       .from = PAWL__OUTSIDE,
                                                       .to = row->state });
    pawl__keys_take(set, job);
    int64_t deadline_at_ms = pawl__first_deadline(job->spec);
    if (deadline_at_ms) {
        pawl__set_put(set, PAWL__TABLE_DEADLINE_NEW,
                      &(struct pawl__deadline){ job->id, deadline_at_ms });
    }
    *out = (struct pawl_submitted){ .id = row->id, .state = row->state };
    return PAWL_OK;
}

enum pawl_err pawl__submit_one(struct pawl__set *set, struct pawl__op *op,
                               const struct pawl__new_job *job, struct pawl_submitted *out)
{
    struct pawl__answer answer = { .stands_in = false };
    enum pawl_err err = pawl__keys_ask(set, op, job, &answer);
    if (err) return err;
    if (answer.stands_in) {
        *out =
            (struct pawl_submitted){ .id = answer.id, .state = answer.state, .deduplicated = true };
        return PAWL_OK;
    }
    err = bear(set, op, job, answer.due_at_ms, out);
    if (!err) out->replaced = answer.replaced;
    return err;
}

/* All or nothing. A lane that was made for a job which is refused stays. */
enum pawl_err pawl__rule_submit(struct pawl__set *set, struct pawl__op *op)
{
    size_t count = op->submit.count;
    struct pawl_submitted one, *out = &one;
    if (count > 1) out = pawl__arena_alloc(&op->arena, count * sizeof *out);
    if (!out) return pawl__fail_nomem(set->diag);
    bool adds = op->submit.flow && op->submit.flow->adds;
    enum pawl_err err = adds ? pawl__flow_may_grow(set, op) : check_flow(set, op);
    if (err || pawl__set_lacks(set)) return err;
    pawl__set_mark(set);
    for (size_t i = 0; !err && i < count; i++) {
        op->submit.failed_index = i;
        err = pawl__submit_one(set, op, &op->submit.jobs[i], &out[i]);
    }
    if (err) {
        pawl__set_undo(set);
        return err;
    }
    pawl__set_keep(set);
    if (adds) pawl__flow_grow(set, op->submit.flow);
    if (op->submit.flow && !adds) pawl__flow_add(set, op->submit.flow);
    if (count) memcpy(op->submit.out, out, count * sizeof *out);
    return PAWL_OK;
}
