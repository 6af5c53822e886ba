/* What a run says while it runs: that it is alive, how far it has come, a checkpoint, log lines. */
#include "store/core/set.h"

#include "store/core/course.h"
#include "store/core/refuse.h"

#include <assert.h>

/* ---- leases ---- */

void pawl__want_extend(struct pawl__set *set, const struct pawl__op *op)
{
    for (size_t i = 0; i < op->extend.count; i++) {
        pawl__set_want(set, op->extend.refs[i].id, PAWL__NEED_RUN | PAWL__NEED_FACTS);
    }
}

/* A lease that has run out cannot be revived: the job may be about to be taken back. */
static enum pawl_err extend_run(struct pawl__set *set, const struct pawl__op *op,
                                const struct pawl_run *ref)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_owned(set, ref, &row, NULL);
    if (err) return err;
    if (row->lease_until_ms <= set->now_ms) return PAWL_ERR_STALE;
    int64_t until_ms = set->now_ms + op->extend.lease_ms - row->started_at_ms;
    row->lease_until_ms = row->started_at_ms +
                          pawl__lease_of(&(struct pawl__lease_wish){ .timeout_ms = row->timeout_ms,
                                                                     .lease_ms = until_ms,
                                                                     .timed = op->extend.timed });
    row->wrote |= PAWL__WROTE_LEASE;
    return PAWL_OK;
}

enum pawl_err pawl__rule_extend(struct pawl__set *set, struct pawl__op *op)
{
    for (size_t i = 0; i < op->extend.count; i++) {
        op->extend.results[i] = extend_run(set, op, &op->extend.refs[i]);
    }
    return PAWL_OK;
}

/* ---- run data ---- */

/* A note does not wait for a transaction that moves the job: one that comes at the same time counts
 * as having come before. An application may take notes of a run that it has ended in a transaction
 * of its own, which is still open. */
static void want_run_data(struct pawl__set *set, struct pawl_job_id id, bool reports)
{
    struct pawl__row *row = pawl__set_want_shared(set, id, PAWL__NEED_RUN | PAWL__NEED_RUN_DATA);
    if (!row) return;
    if (!row->run_data) row->run_data = pawl__arena_calloc(&set->arena, 1, sizeof *row->run_data);
    if (!row->run_data) set->failed = true;
    if (row->run_data) row->run_data->reports |= reports;
}

/* A run above 0 must be the current one. */
static enum pawl_err find_for(struct pawl__set *set, const struct pawl_run *ref,
                              struct pawl__row **row, struct pawl_diag *diag)
{
    return ref->run > 0 ? pawl__row_owned(set, ref, row, diag)
                        : pawl__row_known(set, ref->id, row, diag);
}

void pawl__want_progress(struct pawl__set *set, const struct pawl__op *op)
{
    want_run_data(set, op->progress.ref.id, true);
}

enum pawl_err pawl__rule_progress(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = find_for(set, &op->progress.ref, &row, op->diag);
    if (err) return err;
    if (row->state != PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, row->id, row->state, "report progress of");
    }
    struct pawl__progress *progress = &row->run_data->progress;
    if (progress->run != row->run) { // an earlier run's does not count
        *progress = (struct pawl__progress){ .row = row, .run = row->run, .value = -1 };
    }
    double value = op->progress.value > 1 ? 1 : op->progress.value;
    if (value > progress->value) progress->value = value; // it never goes back
    if (op->progress.message.len) progress->message = op->progress.message;
    if (op->progress.data.len) progress->data = op->progress.data;
    progress->at_ms = set->now_ms;
    row->run_data->progressed = true;
    return PAWL_OK;
}

void pawl__want_checkpoint(struct pawl__set *set, const struct pawl__op *op)
{
    want_run_data(set, op->checkpoint.ref.id, false);
}

enum pawl_err pawl__rule_checkpoint(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = find_for(set, &op->checkpoint.ref, &row, op->diag);
    if (err) return err;
    bool save = op->checkpoint.state.len > 0;
    if (save && pawl_state_is_terminal(row->state)) {
        return pawl__fail_state(op->diag, row->id, row->state, "save a checkpoint of");
    }
    struct pawl__checkpoint *checkpoint = &row->run_data->checkpoint;
    checkpoint->sequence = save ? checkpoint->sequence + 1 : 0;
    checkpoint->at_ms = set->now_ms;
    checkpoint->state = op->checkpoint.state;
    row->run_data->saved = save;
    row->run_data->dropped = !save;
    op->checkpoint.sequence = checkpoint->sequence;
    return PAWL_OK;
}

/* A line that is too long is cut, not refused: half of what went wrong is better than nothing. */
static struct pawl_span cut(struct pawl_span text)
{
    if (text.len <= PAWL__LOG_LINE_BYTES_MAX) return text;
    text.len = PAWL__LOG_LINE_BYTES_MAX;
    while (text.len && ((uint8_t)text.at[text.len] & 0xC0) == 0x80) {
        text.len--; // not in the middle of a character
    }
    return text;
}

void pawl__want_log(struct pawl__set *set, const struct pawl__op *op)
{
    want_run_data(set, op->log.ref.id, false);
}

/* The first lines say how it began, the last how it ended. */
enum pawl_err pawl__rule_log(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->log.ref.id, &row, op->diag);
    if (err) return err;
    struct pawl__log_line line = { .row = row,
                                   .line = ++row->run_data->lines,
                                   .run = op->log.ref.run,
                                   .at_ms = set->now_ms,
                                   .level = op->log.level,
                                   .text = cut(op->log.text) };
    pawl__set_put(set, PAWL__TABLE_LINE, &line);
    struct pawl__log_cut forgotten = { .row = row,
                                       .after = PAWL__LOG_FIRST_KEPT,
                                       .line = line.line - PAWL__LOG_LAST_KEPT };
    if (forgotten.line > forgotten.after) pawl__set_put(set, PAWL__TABLE_LINE_TRIM, &forgotten);
    return PAWL_OK;
}

void pawl__run_data_list(struct pawl__set *set)
{
    for (size_t i = 0; i < set->row_count; i++) {
        struct pawl__row *row = pawl__set_at(set, i);
        if (!row->run_data) continue;
        struct pawl__run_data *data = row->run_data;
        data->checkpoint.row = row;
        if (data->progressed) pawl__set_put(set, PAWL__TABLE_PROGRESS, &data->progress);
        if (data->saved) pawl__set_put(set, PAWL__TABLE_CHECKPOINT_PUT, &data->checkpoint);
        if (data->dropped) pawl__set_put(set, PAWL__TABLE_CHECKPOINT_DROP, &data->checkpoint);
    }
}
