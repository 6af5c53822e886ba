/* Lists of jobs: GET /ojs/v1/jobs and /ojs/v1/admin/jobs. On the pool.
 *
 * The store lists jobs in the order of their creation. Another order is made here, of not too many
 * jobs: their ids are read and sorted, and those of the page read once more. */
#include "http/jobs.h"
#include "http/lists.h"

#include <stdlib.h>
#include <string.h>

enum { SORTED_MAX = 10000, READ_AT_ONCE = 100 };

enum sort { SORT_CREATED, SORT_SCHEDULED, SORT_PRIORITY };

/* What is asked for. */
struct wanted {
    struct pawl_filter filter;
    const char *queue, *type; /* filter points here */
    enum sort sort;
    bool ascending;
};

/* ---- the query ---- */

static bool read_time(struct pawl__request *request, const char *name, int64_t *out)
{
    return pawl__bound_read(request, name, pawl__request_query(request, name), out);
}

static bool read_state(struct pawl__request *request, uint32_t *out)
{
    const char *text = pawl__request_query(request, "state");
    if (!text) return true;
    *out = pawl_state_mask(text, PAWL_VOCABULARY_OJS);
    if (*out) return true;
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "state", "\"%.32s\" is not a state",
                       text);
    return false;
}

static bool read_sort(struct pawl__request *request, enum sort *out)
{
    static const struct {
        const char *name;
        enum sort sort;
    } names[] = { { "created_at", SORT_CREATED },
                  { "enqueued_at", SORT_CREATED },
                  { "scheduled_at", SORT_SCHEDULED },
                  { "priority", SORT_PRIORITY } };
    const char *text = pawl__request_query(request, "sort");
    if (!text) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) != 0) continue;
        *out = names[i].sort;
        return true;
    }
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "sort",
                       "sort must be \"created_at\", \"scheduled_at\" or \"priority\"");
    return false;
}

static bool read_order(struct pawl__request *request, bool *ascending)
{
    const char *order = pawl__request_query(request, "order");
    *ascending = order && strcmp(order, "asc") == 0;
    if (!order || *ascending || strcmp(order, "desc") == 0) return true;
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "order",
                       "order must be \"asc\" or \"desc\"");
    return false;
}

static bool read_wanted(struct pawl__request *request, struct wanted *out)
{
    *out = (struct wanted){ .queue = pawl__request_query(request, "queue"),
                            .type = pawl__request_query(request, "type") };
    out->filter.queues = &out->queue;
    out->filter.queue_count = out->queue != NULL;
    out->filter.types = &out->type;
    out->filter.type_count = out->type != NULL;
    out->filter.worker = pawl__request_query(request, "worker");
    return read_state(request, &out->filter.states) &&
           read_time(request, "since", &out->filter.created_from_ms) &&
           read_time(request, "until", &out->filter.created_until_ms) &&
           read_sort(request, &out->sort) && read_order(request, &out->ascending);
}

/* ---- another order ---- */

struct place {
    int64_t key;
    int64_t nth; /* in the store's order */
    struct pawl_job_id id;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->nth < y->nth ? -1 : x->nth > y->nth;
}

/* Descending is ascending with every key turned round. */
static int64_t key_of(const struct pawl_job *job, const struct wanted *wanted)
{
    int64_t key = wanted->sort == SORT_PRIORITY ? job->priority : job->due_at_ms;
    return wanted->ascending ? key : -key;
}

/* Into an array of the arena. False: answered. */
static bool read_places(struct pawl__request *request, const struct wanted *wanted,
                        struct place **out, int64_t *count)
{
    struct pawl_diag diag;
    char cursor[PAWL_CURSOR_BYTES] = "";
    enum pawl_err err = pawl_count(pawl__request_pawl(request), &wanted->filter, count, &diag);
    if (!err && *count > SORTED_MAX) {
        pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "sort",
                           "%lld jobs match, and %d can be sorted: ask for a queue, state or type, "
                           "or sort by created_at",
                           (long long)*count, SORTED_MAX);
        return false;
    }
    int64_t room = err ? 0 : *count;
    *out = pawl__arena_calloc(&request->arena, (size_t)room + 1, sizeof **out);
    if (!err && !*out) err = PAWL_ERR_NOMEM;
    for (*count = 0; !err && *count < room;) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = { .limit = READ_AT_ONCE,
                                  .oldest_first = wanted->ascending,
                                  .cursor = cursor,
                                  .brief = true };
        err = pawl_query(pawl__request_pawl(request), &wanted->filter, &page, &jobs, &diag);
        for (size_t i = 0; !err && i < jobs.count && *count < room; i++) {
            (*out)[*count] = (struct place){ key_of(&jobs.at[i], wanted), *count, jobs.at[i].id };
            ++*count;
        }
        memcpy(cursor, jobs.next, sizeof cursor);
        pawl_jobs_release(&jobs);
        if (!cursor[0]) break;
    }
    if (err) pawl__reply_err(request, err, *out ? &diag : NULL);
    return !err;
}

/* Within what is left of the reply's budget, or brief. False: it is gone meanwhile. */
static bool read_job(struct pawl__request *request, struct pawl_job_id id, int64_t *left,
                     struct pawl_jobs *out)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    const struct pawl_filter filter = { .id_prefix = text, .archived = true };
    const struct pawl_page page = { .limit = 1, .bytes_max = *left, .brief = true };
    if (pawl_query(pawl__request_pawl(request), &filter, &page, out, NULL)) return false;
    if (!out->count) return false;
    const struct pawl_job *job = &out->at[0];
    if (!job->brief) *left -= (int64_t)(job->args.len + job->meta.len + job->result.len);
    return true;
}

/* The page's jobs, with commas between, and how many there are in all. False: answered. */
static bool print_sorted(struct pawl__request *request, const struct wanted *wanted,
                         const struct pawl__paging *paging, int64_t *total)
{
    struct place *places;
    const char *comma = "";
    int64_t left = request->server->config.limits.reply_bytes_max, room = left;
    if (!read_places(request, wanted, &places, total)) return false;
    qsort(places, (size_t)*total, sizeof *places, by_key);
    for (int64_t i = paging->offset; i < *total && i < paging->offset + paging->limit; i++) {
        struct pawl_jobs jobs = { 0 };
        if (read_job(request, places[i].id, &left, &jobs)) {
            pawl__buf_add_text(&request->reply, comma);
            pawl__job_print_listed(request, &jobs.at[0], &room);
            comma = ",";
        }
        pawl_jobs_release(&jobs);
    }
    return true;
}

/* ---- lists ---- */

void pawl__on_admin_jobs(struct pawl__request *request)
{
    struct wanted wanted;
    struct pawl__pages pages;
    struct pawl_jobs jobs = { 0 };
    if (!pawl__pages_read(request, &pages) || !read_wanted(request, &wanted)) return;
    pages.oldest_first = wanted.ascending;
    struct pawl__paging paging = pawl__pages_paging(&pages);
    pawl__buf_add_text(&request->reply, "{\"items\":[");
    if (wanted.sort != SORT_CREATED) {
        if (!print_sorted(request, &wanted, &paging, &jobs.total)) return;
    } else {
        if (!pawl__paging_query(request, &wanted.filter, &paging, &jobs)) return;
        pawl__jobs_print_stories(request, &jobs);
    }
    pawl__buf_add_text(&request->reply, "],");
    pawl__pages_print(&request->reply, &pages, jobs.total);
    pawl__buf_add_text(&request->reply, "}");
    pawl_jobs_release(&jobs);
    pawl__reply(request, 200);
}

/* Not in the spec, but asked for by its command line. */
void pawl__on_jobs(struct pawl__request *request)
{
    struct wanted wanted;
    struct pawl__paging paging;
    struct pawl_jobs jobs = { 0 };
    if (!pawl__paging_read(request, request->server->config.limits.page_size_max, &paging) ||
        !read_wanted(request, &wanted)) {
        return;
    }
    paging.oldest_first = wanted.ascending;
    pawl__buf_add_text(&request->reply, "{\"jobs\":[");
    if (wanted.sort != SORT_CREATED) {
        if (!print_sorted(request, &wanted, &paging, &jobs.total)) return;
    } else {
        if (!pawl__paging_query(request, &wanted.filter, &paging, &jobs)) return;
        pawl__jobs_print_stories(request, &jobs);
    }
    pawl__buf_printf(&request->reply, "],\"total\":%lld,", (long long)jobs.total);
    pawl__paging_print(&request->reply, &paging, &jobs);
    pawl__buf_add_text(&request->reply, "}");
    pawl_jobs_release(&jobs);
    pawl__reply(request, 200);
}
