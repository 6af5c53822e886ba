/* See holders.h. */
#include "store/core/holders.h"

#include "base/diag.h"

#include <string.h>

bool pawl__key_conflicts(const struct pawl__key *key, const struct pawl__holder *holder,
                         int64_t now_ms)
{
    if (key->kind == PAWL__KEY_IDEMPOTENCY) return !holder->until_ms || holder->until_ms > now_ms;
    if (!holder->known || !(key->states & PAWL_STATE_BIT(holder->state))) return false;
    return !key->period_ms || holder->created_at_ms + key->period_ms > now_ms;
}

bool pawl__key_forgets(const struct pawl__key *key, const struct pawl__holder *holder,
                       size_t *ended)
{
    if (holder->known && !pawl_state_is_terminal(holder->state)) return false;
    if (key->kind == PAWL__KEY_IDEMPOTENCY) return true;
    return ++*ended > PAWL__KEY_HOLDERS_KEPT || !holder->known;
}

int64_t pawl__key_until(const struct pawl__key *key, int64_t now_ms)
{
    bool timed = key->kind == PAWL__KEY_IDEMPOTENCY && key->period_ms;
    return timed ? now_ms + key->period_ms : 0;
}

/* The index of a job that this batch has submitted; `failed_index`, that of the job in hand, when
 * it is none of them. Ids behind that say nothing: the store may have jobs with them. */
static size_t index_in_batch(const struct pawl__op *op, struct pawl_job_id id)
{
    size_t i = 0;
    while (i < op->submit.failed_index && memcmp(&op->submit.jobs[i].id, &id, sizeof id) != 0) {
        i++;
    }
    return i;
}

enum pawl_err pawl__key_refuse(struct pawl__op *op, const struct pawl__key *key,
                               const struct pawl__holder *holder)
{
    static const char *const fields[] = { [PAWL__KEY_IDEMPOTENCY] = "idempotency_key",
                                          [PAWL__KEY_BUSINESS] = "business_key",
                                          [PAWL__KEY_UNIQUE] = "unique" };
    const char *field = fields[key->kind];
    const char *what = key->kind == PAWL__KEY_UNIQUE ? "unique key" : field;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    size_t index = index_in_batch(op, holder->id);
    if (index <
        op->submit.failed_index) { // it is rolled back with this one: its id would mean nothing
        op->submit.holder = (struct pawl_submitted){ .state = PAWL_STATE_NONE };
        return pawl__fail_field(op->diag, PAWL_ERR_DUPLICATE, field,
                                "job [%zu] of the same batch has the same %s", index, what);
    }
    pawl_job_id_text(holder->id, text);
    op->submit.holder = (struct pawl_submitted){ .id = holder->id, .state = holder->state };
    return pawl__fail_field(op->diag, PAWL_ERR_DUPLICATE, field,
                            "job \"%s\", which is %s, holds the same %s", text,
                            pawl_state_name(holder->state, PAWL_VOCABULARY_PAWL), what);
}
