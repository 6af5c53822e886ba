#include "http/ojs/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

static bool is_id(const char *text)
{
    struct pawl_job_id id;
    return pawl__id_read(text, &id);
}

const struct pawl__pattern pawl__ojs_id_pattern = {
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", is_id, "must be a job's id"
};

/* The id in the path wins, whatever the body says. A text that is no id names no job: 404. */
enum pawl_err pawl__owner_read_id(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, uint32_t token, void *base)
{
    const struct pawl__request *request = reader->ctx;
    const struct pawl__member text = { .name = member->name,
                                       .kind = PAWL__AS_TEXT,
                                       .offset = member->offset };
    return request->part_count ? PAWL_OK : pawl__shape_value(reader, &text, token, base);
}

bool pawl__owner_find(struct pawl__request *request, struct pawl__owner *owner)
{
    if (request->part_count) return pawl__request_job_id(request, 0, &owner->id);
    if (!owner->job_id) return pawl__reply_invalid(request, "job_id", "\"job_id\" is missing");
    return pawl__id_read(owner->job_id, &owner->id) ||
           pawl__reply_not_found(request, "job", owner->job_id);
}

/* ---- comparing ---- */

bool pawl__owner_is_known(const struct pawl__owner *owner)
{
    return owner->worker || owner->attempt;
}

static bool is_attempt(const struct pawl__owner *owner, int64_t attempt)
{
    return !owner->attempt || owner->attempt == attempt;
}

/* A client that fetched without a name cannot be told from others. */
static bool is_worker(const struct pawl__owner *owner, const char *worker)
{
    return !owner->worker || !pawl__worker_is_named(worker) || strcmp(owner->worker, worker) == 0;
}

bool pawl__owner_matches(const struct pawl__owner *owner, const char *worker, int64_t attempt)
{
    return is_attempt(owner, attempt) && is_worker(owner, worker);
}

/* ---- refusing ---- */

bool pawl__owner_check(struct pawl__request *request, const struct pawl__owner *owner,
                       const char *worker, int64_t attempt)
{
    struct pawl__fault fault;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (pawl__owner_matches(owner, worker, attempt)) return true;
    pawl_job_id_text(owner->id, id);
    if (!is_attempt(owner, attempt)) {
        pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "attempt",
                     "job \"%s\" is at attempt %" PRId64 ", not %" PRId64, id, attempt,
                     owner->attempt);
    } else {
        pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "worker_id",
                     "job \"%s\" was fetched by another worker", id);
    }
    return pawl__reply_fault_with(request, &fault,
                                  (const struct pawl__member[]){
                                      PAWL__HERE_TEXT("current_state", "active"),
                                      PAWL__HERE_INT("current_attempt", attempt),
                                      PAWL__HERE_ID("job_id", owner->id),
                                  },
                                  3);
}

bool pawl__owner_refuse_state(struct pawl__request *request, const struct pawl__owner *owner,
                              enum pawl_state state)
{
    struct pawl__fault fault;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    const char *name = pawl_state_name(state, PAWL_VOCABULARY_OJS);
    pawl_job_id_text(owner->id, id);
    pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "", "job \"%s\" is %s, not active", id, name);
    return pawl__reply_fault_with(request, &fault,
                                  (const struct pawl__member[]){
                                      PAWL__HERE_TEXT("current_state", name),
                                      PAWL__HERE_TEXT("expected_state", "active"),
                                      PAWL__HERE_ID("job_id", owner->id),
                                  },
                                  3);
}
