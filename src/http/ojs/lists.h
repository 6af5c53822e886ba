/* Pages of jobs, and filters from queries and bodies. On the pool. */
#ifndef PAWL_HTTP_OJS_LISTS_H
#define PAWL_HTTP_OJS_LISTS_H

#include "http/transport/transport.h"

/* An instant in quotes, or null for 0. */
void pawl__print_instant(struct pawl__buf *out, int64_t at_ms);

/* limit, cursor and offset of the query, as OJS has them. */
struct pawl__paging {
    int64_t limit, offset;
    const char *cursor;
    bool oldest_first;
};

/* False: answered. */
bool pawl__paging_read(struct pawl__request *request, int64_t limit_max, struct pawl__paging *out);
struct pawl__paging pawl__numbered_paging(const struct pawl__numbered_page *pages);
/* Reads the page of jobs that match, and how many match in total; release `out`. A page by cursor
 * ends where its jobs exceed reply_bytes_max. On a numbered page, whose successor the client
 * computes, the jobs beyond are brief. False: answered, and there is nothing to release. */
bool pawl__paging_query(struct pawl__request *request, const struct pawl_filter *filter,
                        const struct pawl__paging *paging, struct pawl_jobs *out);

/* What a reply says about its page. */
struct pawl__page_told {
    int64_t total, limit, offset;
    bool has_more;
    const char *next; /* the cursor of the next page; "": there is none */
};
extern const struct pawl__shape pawl__ojs_page_shape;
struct pawl__page_told pawl__paging_told(const struct pawl__paging *paging, int64_t total,
                                         const char *next);
/* "pagination":{...} */
void pawl__paging_print(struct pawl__buf *out, const struct pawl__paging *paging, int64_t total,
                        const char *next);
/* Prints a job with its failures and checkpoint. `room` is what is left of the budget for
 * checkpoints, which is apart from that for jobs. */
void pawl__job_print_listed(struct pawl__request *request, const struct pawl_job *job,
                            int64_t *room);
/* All of them, with commas between them. */
void pawl__jobs_print_stories(struct pawl__request *request, const struct pawl_jobs *jobs);

/* An instant as a bound of a filter, where 0 would mean that there is none. */
int64_t pawl__bound(int64_t at_ms);
/* Parses such a bound; if `text` is NULL, `out` is left as it is. False: answered. */
bool pawl__bound_read(struct pawl__request *request, const char *name, const char *text,
                      int64_t *out);

/* ---- from bodies ---- */

struct pawl__ids {
    struct pawl_job_id *at; /* in the arena */
    size_t count;
};
/* A member of type struct pawl__ids: an array of at most `limit` ids of jobs. */
#define PAWL__IDS(text, S, member, limit, ...)                                                     \
    PAWL__MEMBER(text, OWN, S, member, .read = pawl__ids_read, .wire = PAWL__AS_IDS,               \
                 .max = (limit), __VA_ARGS__)
pawl__member_read_fn pawl__ids_read;

/* "state" or "states", a name or an array of names, of struct S with a struct pawl__states. If both
 * are given, "state" counts. */
struct pawl__states {
    uint32_t state, states;
};
#define PAWL__STATES(S, member)                                                                    \
    PAWL__MEMBER("state", OWN, S, member.state, .read = pawl__states_read, .wire = PAWL__AS_TEXTS, \
                 .words = &pawl__ojs_state_words),                                                 \
        PAWL__MEMBER("states", OWN, S, member.states, .read = pawl__states_read,                   \
                     .wire = PAWL__AS_TEXTS, .words = &pawl__ojs_state_words)
pawl__member_read_fn pawl__states_read;
uint32_t pawl__states_given(const struct pawl__states *states);

/* The "filter" of a bulk operation: type, queue, state, enqueued_before, enqueued_after, priority,
 * meta; the first three are a value or an array. Unknown members and empty arrays are refused: a
 * filter that says less than its author meant would match more jobs. False: answered. */
bool pawl__filter_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, struct pawl_filter *out);
extern const struct pawl__shape pawl__ojs_filter_shape;

/* Does it match every job? */
bool pawl__filter_is_open(const struct pawl_filter *filter);

/* ---- moving ---- */

/* Moves (control NONE: deletes) at most `max` jobs that match, oldest first, in steps. `max` also
 * ends a loop in which jobs return as fast as they are moved. `moved` counts those moved before an
 * error, too. */
PAWL_MUST_CHECK enum pawl_err pawl__bulk_move(struct pawl__request *request,
                                              const struct pawl_filter *filter,
                                              enum pawl_control control, int64_t max,
                                              int64_t *moved, struct pawl_diag *diag);

/* Moves (control NONE: deletes) one job if it is in one of `states` (UINT32_MAX: any), which the
 * store checks in the same transaction. STATE: it is not. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl__move_one(struct pawl__request *request, struct pawl_job_id id,
                                             enum pawl_control control, uint32_t states,
                                             struct pawl_diag *diag);

struct pawl__moved {
    int64_t matched, moved;
};
/* Counts the jobs that match, then moves them. False: answered. */
bool pawl__move_all(struct pawl__request *request, enum pawl_control control,
                    struct pawl_filter *filter, struct pawl__moved *out);
/* What a reply says about it. */
struct pawl__moved_told {
    const char *action;
    int64_t matched, succeeded, failed;
    struct pawl_span errors; /* always empty */
};
extern const struct pawl__shape pawl__ojs_moved_shape;
struct pawl__moved_told pawl__moved_told(const char *action, const struct pawl__moved *moved);
/* Its members alone. */
void pawl__moved_print(struct pawl__buf *out, const char *action, const struct pawl__moved *moved);

/* ---- job_lists.c: whole replies ---- */

/* {"jobs":[...],"total":N,"pagination":{...}}: a page by limit, cursor and offset. */
void pawl__jobs_reply(struct pawl__request *request, const struct pawl_filter *filter,
                      int64_t limit_max);
/* {"items":[...],"pagination":{...}}: a page by page and per_page. */
void pawl__jobs_reply_items(struct pawl__request *request, const struct pawl_filter *filter);

#endif
