/* Pages of jobs, and filters out of queries and bodies. On the pool. */
#ifndef PAWL_HTTP_OJS_LISTS_H
#define PAWL_HTTP_OJS_LISTS_H

#include "http/transport/transport.h"

/* "2026-11-16T05:12:17.000Z", quoted; null for 0. */
void pawl__print_instant(struct pawl__buf *out, int64_t at_ms);

/* limit, cursor and offset of the query, the way OJS turns pages. */
struct pawl__paging {
    int64_t limit, offset;
    const char *cursor;
    bool oldest_first;
};

/* False: answered. */
bool pawl__paging_read(struct pawl__request *request, int64_t limit_max, struct pawl__paging *out);
struct pawl__paging pawl__numbered_paging(const struct pawl__numbered_page *pages);
/* The page of jobs that match and how many there are in all; release `out`. False: answered, and
 * there is nothing to release. A page by cursor ends where its jobs exceed reply_bytes_max; of a
 * numbered one, whose successor the client reckons, those beyond are brief. */
bool pawl__paging_query(struct pawl__request *request, const struct pawl_filter *filter,
                        const struct pawl__paging *paging, struct pawl_jobs *out);
/* "pagination":{...}; `next` is the cursor of the page behind, "" after the last. */
void pawl__paging_print(struct pawl__buf *out, const struct pawl__paging *paging, int64_t total,
                        const char *next);
/* A job with its failures and checkpoint. Checkpoints have a budget of their own; `room` is what
 * is left of it. */
void pawl__job_print_listed(struct pawl__request *request, const struct pawl_job *job,
                            int64_t *room);
/* All of them, with commas between. */
void pawl__jobs_print_stories(struct pawl__request *request, const struct pawl_jobs *jobs);

/* An instant as a bound in a filter, where 0 would mean that there is none. */
int64_t pawl__bound(int64_t at_ms);
/* The same out of `text`; NULL leaves `out` as it is. False: answered. */
bool pawl__bound_read(struct pawl__request *request, const char *name, const char *text,
                      int64_t *out);

/* ---- out of bodies ---- */

/* A string without a NUL in it, in the arena; NULL: it is none, or there is no memory. */
const char *pawl__token_text(struct pawl__request *request, const struct pawl__json *json,
                             uint32_t token);

/* Does the object have no members but `known`, a list that ends with NULL? For what changes many
 * jobs: a restriction that is not understood would widen it. False: answered. */
bool pawl__body_knows(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                      const char *const *known);

struct pawl__ids {
    struct pawl_job_id *at; /* in the arena */
    size_t count;
};
/* The body's array `name` of at most `max` job ids, all of them checked. False: answered. */
bool pawl__ids_read(struct pawl__request *request, const struct pawl__json *json, const char *name,
                    size_t max, struct pawl__ids *out);

/* "state" or "states" of an object as a mask. False: answered. */
bool pawl__filter_states(struct pawl__request *request, const struct pawl__json *json,
                         uint32_t object, uint32_t *out);
/* "filter" of a bulk operation: type, queue, state, enqueued_before, enqueued_after, priority,
 * meta; the first three a value or an array. What it does not know it refuses, and empty arrays
 * too: a filter that says less than its author meant would hit more jobs. False: answered. */
bool pawl__filter_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, struct pawl_filter *out);

/* Does it name no jobs in particular? */
bool pawl__filter_is_open(const struct pawl_filter *filter);

/* Move (control NONE: delete) up to `max` that match, oldest first, in steps; `max` also ends what
 * would go on for ever where jobs come back as fast as they are moved. `moved` also counts what was
 * moved before an error. */
PAWL_MUST_CHECK enum pawl_err pawl__bulk_move(struct pawl__request *request,
                                              const struct pawl_filter *filter,
                                              enum pawl_control control, int64_t max,
                                              int64_t *moved, struct pawl_diag *diag);

/* Move (control NONE: delete) one job, if it is in one of `states` (UINT32_MAX: any) then: the
 * store decides it in the same transaction. STATE if it is not, NOT_FOUND if it is gone. */
PAWL_MUST_CHECK enum pawl_err pawl__move_one(struct pawl__request *request, struct pawl_job_id id,
                                             enum pawl_control control, uint32_t states,
                                             struct pawl_diag *diag);

/* How many jobs matched, and how many of them were moved. */
struct pawl__moved {
    int64_t matched, moved;
};
/* Count, then move all that match. False: answered. */
bool pawl__move_all(struct pawl__request *request, enum pawl_control control,
                    struct pawl_filter *filter, struct pawl__moved *out);
/* "action":...,"matched":...,"succeeded":...,"failed":...,"errors":[] */
void pawl__moved_print(struct pawl__buf *out, const char *action, const struct pawl__moved *moved);

/* ---- job_lists.c: whole replies ---- */

/* {"jobs":[...],"total":N,"pagination":{...}}: the page by limit, cursor and offset of the query.
 */
void pawl__jobs_reply(struct pawl__request *request, const struct pawl_filter *filter,
                      int64_t limit_max);
/* {"items":[...],"pagination":{...}}: by page and per_page. */
void pawl__jobs_reply_items(struct pawl__request *request, const struct pawl_filter *filter);

#endif
