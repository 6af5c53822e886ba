/* What operators do to jobs: each deed leaves an audit entry. */
#include "store/core/set.h"

#include "store/backend.h"
#include "store/decide.h"

#include <assert.h>
#include <string.h>

/* May the control bring a job that ended back to life, and its keys with it? */
static bool revives(enum pawl_control control)
{
    return control == PAWL_CONTROL_RETRY || control == PAWL_CONTROL_PAUSE;
}

/* A job that has ended has let its keys go; one that is paused holds them. It need not ask, though:
 * it can only go back or be cancelled. */
static bool takes_keys(const struct pawl__row *row, enum pawl_control control)
{
    return revives(control) && row->has_end;
}

static uint8_t need_of(enum pawl_control control)
{
    return PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND |
           (revives(control) || control == PAWL_CONTROL_NONE ? PAWL__NEED_KEYS : 0);
}

/* ---- keys of a job that comes back to life ---- */

static const uint8_t *record_at(const struct pawl__row *row, size_t at)
{
    return (const uint8_t *)row->keys.at + at;
}

static struct pawl__holder holder_of(struct pawl__set *set, const struct pawl__key_holder *of)
{
    const struct pawl__row *row = pawl__set_find(set, of->id);
    bool known = row && row->found != PAWL__FOUND_ABSENT;
    return (struct pawl__holder){ .id = of->id,
                                  .until_ms = of->until_ms,
                                  .known = known,
                                  .state = known ? row->state : PAWL_STATE_NONE,
                                  .created_at_ms = known ? row->created_at_ms : 0 };
}

static struct pawl__key business_key(const uint8_t digest[16])
{
    struct pawl__key key = { .kind = PAWL__KEY_BUSINESS,
                             .states = PAWL__LIVE_STATES,
                             .on_conflict = PAWL_CONFLICT_REJECT };
    memcpy(key.digest, digest, sizeof key.digest);
    return key;
}

/* DUPLICATE: a job that is live has it. */
static enum pawl_err ask_key(struct pawl__set *set, const uint8_t digest[16],
                             struct pawl_diag *diag)
{
    struct pawl__key key = business_key(digest);
    const struct pawl__set_key *entry = pawl__set_want_key(set, digest);
    struct pawl__op ask = { .diag = diag };
    for (size_t i = 0; entry && i < entry->count; i++) {
        if (entry->holders[i].removed) continue;
        struct pawl__holder holder = holder_of(set, &entry->holders[i]);
        if (pawl__key_conflicts(&key, &holder, set->now_ms)) {
            return pawl__key_refuse(&ask, &key, &holder);
        }
    }
    return PAWL_OK;
}

/* Of holders that ended only the newest are remembered. */
static void trim_holders(struct pawl__set *set, struct pawl__set_key *entry)
{
    struct pawl__key key = business_key(entry->digest);
    size_t ended = 0;
    for (size_t i = 0; i < entry->count; i++) {
        if (entry->holders[i].removed) continue;
        struct pawl__holder holder = holder_of(set, &entry->holders[i]);
        entry->holders[i].removed = pawl__key_forgets(&key, &holder, &ended);
    }
}

static void take_key(struct pawl__set *set, const uint8_t digest[16], struct pawl_job_id id)
{
    struct pawl__set_key *entry = pawl__set_want_key(set, digest);
    for (size_t i = 0; entry && i < entry->count; i++) {
        struct pawl__key_holder *holder = &entry->holders[i];
        if (memcmp(&holder->id, &id, sizeof id) != 0) continue;
        holder->added |= holder->removed;
        holder->removed = false;
        return;
    }
    if (entry) pawl__key_hold(set, entry, &(struct pawl__key_holder){ .id = id, .added = true });
}

/* Business and unique keys; an idempotency key was never let go. */
#define EACH_KEY(row, record)                                                                      \
    for (size_t at_ = 0; at_ + PAWL__KEY_RECORD_BYTES <= (row)->keys.len;                          \
         at_ += PAWL__KEY_RECORD_BYTES)                                                            \
        for (const uint8_t *record = record_at(row, at_);                                          \
             record && *record != PAWL__KEY_IDEMPOTENCY; record = NULL)

/* The holders of its keys, and the jobs of those that are asked about. */
static void want_keys(struct pawl__set *set, const struct pawl__row *row, bool ask)
{
    EACH_KEY(row, record)
    {
        const struct pawl__set_key *key = pawl__set_want_key(set, record + 1);
        bool asked = key && key->read && ask && *record == PAWL__KEY_BUSINESS;
        for (size_t i = 0; asked && i < key->count; i++) {
            pawl__set_want(set, key->holders[i].id, PAWL__NEED_RUN | PAWL__NEED_FACTS);
        }
    }
}

/* DUPLICATE: the business key is taken. */
static enum pawl_err ask_keys(struct pawl__set *set, const struct pawl__row *row,
                              struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    EACH_KEY(row, record)
    {
        if (!err && *record == PAWL__KEY_BUSINESS) err = ask_key(set, record + 1, diag);
    }
    return err;
}

static void take_keys(struct pawl__set *set, const struct pawl__row *row, bool trim)
{
    EACH_KEY(row, record)
    {
        struct pawl__set_key *entry = pawl__set_want_key(set, record + 1);
        if (entry && trim && *record == PAWL__KEY_BUSINESS) trim_holders(set, entry);
        take_key(set, record + 1, row->id);
    }
}

/* ---- one job ---- */

static void audit(struct pawl__set *set, const struct pawl__row *row, const char *action,
                  const struct pawl_by *by, enum pawl_state from)
{
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = row->id,
                                         .action = action,
                                         .actor = by->actor,
                                         .reason = by->reason,
                                         .from = from,
                                         .to = row->state });
}

static bool allows(const struct pawl__row *row, enum pawl_control control)
{
    return pawl__control_allowed(control, row->state, row->paused_from);
}

/* A new series of attempts, with the old errors kept and no time to live: it is over. */
static void begin_anew(struct pawl__row *row)
{
    row->base_run = row->run;
    row->free_runs = 0;
    if (!row->expires_at_ms) return;
    row->expires_at_ms = 0;
    row->wrote |= PAWL__WROTE_FACTS;
}

static enum pawl_err carry_out(struct pawl__set *set, struct pawl__row *row,
                               enum pawl_control control, const struct pawl_by *by)
{
    enum pawl_event event = pawl__control_event(control);
    struct pawl__target target = { .reason = pawl__control_reason(control, by) };
    bool retry = control == PAWL_CONTROL_RETRY;
    if (row->found == PAWL__FOUND_ARCHIVED) pawl__row_restore(set, row);
    if (takes_keys(row, control)) take_keys(set, row, retry);
    if (retry) begin_anew(row);
    if (retry || (control == PAWL_CONTROL_PROMOTE && row->due_at_ms > set->now_ms)) {
        target.due_at_ms = set->now_ms;
    }
    return pawl__row_move(set, row, &event, 1, &target);
}

/* What the control needs beyond the row itself. */
static void prepare(struct pawl__set *set, const struct pawl__row *row, enum pawl_control control)
{
    if (!takes_keys(row, control) || !allows(row, control)) return;
    want_keys(set, row, control == PAWL_CONTROL_RETRY);
}

/* STATE, DUPLICATE. A job that is paused already may be paused. */
static enum pawl_err control_row(struct pawl__set *set, struct pawl__row *row,
                                 enum pawl_control control, const struct pawl_by *by,
                                 struct pawl_diag *diag)
{
    enum pawl_state from = row->state;
    if (control == PAWL_CONTROL_PAUSE && from == PAWL_STATE_PAUSED) return PAWL_OK;
    const char *verb = pawl__control_verb(control);
    if (!allows(row, control)) return pawl__fail_state(diag, row->id, from, verb);
    prepare(set, row, control);
    if (pawl__set_lacks(set)) return PAWL_OK; // until it is read
    enum pawl_err err = control == PAWL_CONTROL_RETRY ? ask_keys(set, row, diag) : PAWL_OK;
    if (err) return err;
    err = carry_out(set, row, control, by);
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE && set->move_count) {
        set->moves[set->move_count - 1].control = true;
    }
    audit(set, row, verb, by, from);
    return PAWL_OK;
}

void pawl__want_control(struct pawl__set *set, const struct pawl__op *op)
{
    assert(op->control.control > PAWL_CONTROL_NONE && op->control.control < PAWL_CONTROL_END);
    pawl__set_want(set, op->control.id, need_of(op->control.control));
    set->open_ended |= revives(op->control.control); // it asks about holders of its keys
}

enum pawl_err pawl__rule_control(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl_run ref = { op->control.id, op->control.run };
    struct pawl__row *row;
    op->control.from = op->control.to = PAWL_STATE_NONE;
    enum pawl_err err = ref.run > 0 ? pawl__row_owned(set, &ref, &row, op->diag)
                                    : pawl__row_known(set, ref.id, &row, op->diag);
    if (err) return err;
    op->control.from = row->state;
    err = control_row(set, row, op->control.control, &op->control.by, op->diag);
    op->control.to = row->state;
    return err;
}

/* ---- priority ---- */

void pawl__want_priority(struct pawl__set *set, const struct pawl__op *op)
{
    pawl__set_want(set, op->priority.id, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
}

enum pawl_err pawl__rule_priority(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->priority.id, &row, op->diag);
    if (err) return err;
    if (pawl_state_is_terminal(row->state) || row->state == PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, row->id, row->state, "change the priority of");
    }
    op->priority.before = row->priority;
    row->priority = op->priority.priority;
    row->rank = pawl__row_rank(set, row);
    row->wrote |= PAWL__WROTE_FACTS | PAWL__WROTE_STAND; // its place has the rank too
    audit(set, row, "priority", &op->priority.by, row->state);
    return PAWL_OK;
}

/* ---- deleting ---- */

/* The entry outlives the job and its other entries, so it names the job in words. */
static void audit_deletion(struct pawl__set *set, struct pawl_job_id id, const struct pawl_by *by)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .subject = pawl__set_text(set, text, strlen(text)),
                                         .action = "delete",
                                         .actor = by->actor,
                                         .reason = by->reason });
}

void pawl__want_delete(struct pawl__set *set, const struct pawl__op *op)
{
    pawl__set_want(set, op->remove.id, need_of(PAWL_CONTROL_NONE));
}

enum pawl_err pawl__rule_delete(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->remove.id, &row, op->diag);
    if (err) return err;
    if (!pawl_state_is_terminal(row->state)) {
        return pawl__fail_state(op->diag, row->id, row->state, "delete");
    }
    pawl__row_delete(set, row);
    audit_deletion(set, row->id, &op->remove.by);
    return PAWL_OK;
}

/* ---- many jobs ---- */

static bool bulk_allows(const struct pawl__row *row, const struct pawl__op *op)
{
    uint32_t states = op->bulk.filter->states;
    if (row->found == PAWL__FOUND_ABSENT) return false;
    if (states && !(states & PAWL_STATE_BIT(row->state))) return false;
    bool deletes = op->bulk.control == PAWL_CONTROL_NONE;
    return deletes ? pawl_state_is_terminal(row->state) : allows(row, op->bulk.control);
}

/* A job that moved meanwhile, or was paused already, does not count. DUPLICATE fails all of it. */
static enum pawl_err bulk_one(struct pawl__set *set, struct pawl__op *op, struct pawl__row *row)
{
    enum pawl_err err = PAWL_OK;
    if (!bulk_allows(row, op)) return PAWL_OK;
    if (op->bulk.control == PAWL_CONTROL_NONE) {
        pawl__row_delete(set, row);
        audit_deletion(set, row->id, &op->bulk.by);
    } else {
        err = control_row(set, row, op->bulk.control, &op->bulk.by, op->diag);
    }
    op->bulk.moved += !err;
    return err;
}

enum pawl_err pawl__rule_bulk(struct pawl__set *set, struct pawl__op *op)
{
    op->bulk.moved = 0;
    for (size_t i = 0; i < set->scanned_count; i++) {
        const struct pawl__row *row = set->scanned[i];
        if (bulk_allows(row, op)) prepare(set, row, op->bulk.control);
    }
    if (pawl__set_lacks(set)) return PAWL_OK;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->scanned_count; i++) {
        err = bulk_one(set, op, set->scanned[i]);
    }
    if (err) op->bulk.moved = 0;
    return err;
}

enum pawl_err pawl__scan_bulk(struct pawl__set *set, struct pawl__op *op)
{
    assert(op->bulk.limit >= 1 && op->bulk.limit <= PAWL_BULK_MAX);
    struct pawl_filter filter = *op->bulk.filter;
    // the limit counts only jobs that can move
    filter.states = (filter.states ? filter.states : ~UINT32_C(0)) &
                    pawl__control_states(op->bulk.control);
    if (!filter.states) return PAWL_OK;
    struct pawl_job_id *ids;
    size_t count;
    enum pawl_err err =
        set->table->match(set->backend, &filter, op->bulk.limit, &op->arena, &ids, &count);
    for (size_t i = 0; !err && i < count; i++) {
        pawl__set_scanned(set, ids[i], need_of(op->bulk.control));
    }
    return err;
}
