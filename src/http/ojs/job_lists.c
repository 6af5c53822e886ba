/* Lists of jobs: GET /ojs/v1/jobs and /ojs/v1/admin/jobs. On the pool.
 *
 * The store lists jobs in the order of their creation. Another order is made here, of not too many
 * jobs: their ids are read and sorted, and those of the page read once more. */
#include "http/ojs/ojs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SORTED_MAX = 10000, READ_AT_ONCE = 100 };
enum { CURSOR_BYTES = 2 + 16 + 16 + PAWL_JOB_ID_TEXT_BYTES };
_Static_assert(CURSOR_BYTES >= PAWL_CURSOR_BYTES, "one of the store's has room");

/* As letters: they are a part of cursors. */
enum sort { SORT_CREATED = 'c', SORT_SCHEDULED = 's', SORT_PRIORITY = 'p' };

/* What is asked for. */
struct wanted {
    struct pawl_filter filter;
    const char *queue, *type; /* filter points here */
    enum sort sort;
    bool ascending;
};

/* What a page says about those behind it. */
struct turned {
    int64_t total;
    char next[CURSOR_BYTES];
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
    return pawl__reply_invalid(request, "state", "\"%.32s\" is not a state", text);
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
    *out = SORT_CREATED;
    if (!text) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) != 0) continue;
        *out = names[i].sort;
        return true;
    }
    return pawl__reply_invalid(request, "sort",
                               "sort must be \"created_at\", \"scheduled_at\" or \"priority\"");
}

static bool read_order(struct pawl__request *request, bool *ascending)
{
    const char *order = pawl__request_query(request, "order");
    *ascending = order && strcmp(order, "asc") == 0;
    if (!order || *ascending || strcmp(order, "desc") == 0) return true;
    return pawl__reply_invalid(request, "order", "order must be \"asc\" or \"desc\"");
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

/* Where a job stands: no two jobs are at the same place. */
struct place {
    int64_t key, created_at_ms;
    struct pawl_job_id id;
};

typedef int compare_fn(const void *a, const void *b);

static int ascending(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->created_at_ms != y->created_at_ms) return x->created_at_ms < y->created_at_ms ? -1 : 1;
    return memcmp(&x->id, &y->id, sizeof x->id);
}

static int descending(const void *a, const void *b)
{
    return ascending(b, a);
}

static struct place place_of(const struct pawl_job *job, enum sort sort)
{
    return (struct place){ .key = sort == SORT_PRIORITY ? job->priority : job->due_at_ms,
                           .created_at_ms = job->created_at_ms,
                           .id = job->id };
}

/* A cursor is the order and the place that the page ended with: "pd" and so on. */
static void print_cursor(const struct wanted *wanted, const struct place *at,
                         char out[CURSOR_BYTES])
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(at->id, id);
    snprintf(out, CURSOR_BYTES, "%c%c%016llx%016llx%s", wanted->sort, wanted->ascending ? 'a' : 'd',
             (unsigned long long)at->key, (unsigned long long)at->created_at_ms, id);
}

/* False: answered. */
static bool read_cursor(struct pawl__request *request, const struct wanted *wanted,
                        const char *cursor, struct place *out)
{
    char again[CURSOR_BYTES], id[PAWL_JOB_ID_TEXT_BYTES];
    unsigned long long key, created;
    if (sscanf(cursor, "%*2c%16llx%16llx%36s", &key, &created, id) == 3 &&
        pawl_job_id_parse(id, &out->id) == PAWL_OK) {
        out->key = (int64_t)key;
        out->created_at_ms = (int64_t)created;
        print_cursor(wanted, out, again);
        if (strcmp(cursor, again) == 0) return true;
    }
    return pawl__reply_invalid(
        request, "cursor",
        "\"%.20s\" is not a cursor of this list: sort and order must stay the same", cursor);
}

/* Into an array of the arena. False: answered. */
static bool read_places(struct pawl__request *request, const struct wanted *wanted,
                        struct place **out, int64_t *count)
{
    struct pawl_diag diag;
    char cursor[PAWL_CURSOR_BYTES] = "";
    enum pawl_err err = pawl_count(pawl__request_pawl(request), &wanted->filter, count, &diag);
    if (!err && *count > SORTED_MAX) {
        return pawl__reply_invalid(
            request, "sort",
            "%lld jobs match, and %d can be sorted: ask for a queue, state or type, "
            "or sort by created_at",
            (long long)*count, SORTED_MAX);
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
            (*out)[(*count)++] = place_of(&jobs.at[i], wanted->sort);
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

/* The first place of the page. False: answered. */
static bool find_first(struct pawl__request *request, const struct wanted *wanted,
                       const struct pawl__paging *paging, compare_fn *compare,
                       const struct place *places, int64_t total, int64_t *out)
{
    struct place after;
    *out = paging->offset;
    if (!paging->cursor) return true;
    if (!read_cursor(request, wanted, paging->cursor, &after)) return false;
    for (*out = 0; *out < total && compare(&places[*out], &after) <= 0;)
        ++*out;
    return true;
}

/* The page's jobs, with commas between. A page by cursor ends before the first that does not fit,
 * and holds one at least. Returns the place behind the last. */
static int64_t print_places(struct pawl__request *request, const struct place *places,
                            int64_t first, int64_t end, bool whole)
{
    const char *comma = "";
    int64_t left = request->server->config.limits.reply_bytes_max, room = left, i;
    for (i = first; i < end; i++) {
        struct pawl_jobs jobs = { 0 };
        bool found = read_job(request, places[i].id, &left, &jobs);
        bool full = found && whole && jobs.at[0].brief && *comma;
        if (found && !full) {
            pawl__buf_add_text(&request->reply, comma);
            pawl__job_print_listed(request, &jobs.at[0], &room);
            comma = ",";
        }
        pawl_jobs_release(&jobs);
        if (full) break;
    }
    return i;
}

/* False: answered. */
static bool print_sorted(struct pawl__request *request, const struct wanted *wanted,
                         const struct pawl__paging *paging, struct turned *out)
{
    struct place *places = NULL;
    int64_t first;
    compare_fn *compare = wanted->ascending ? ascending : descending;
    if (!read_places(request, wanted, &places, &out->total)) return false;
    assert(places); // also of no jobs
    qsort(places, (size_t)out->total, sizeof *places, compare);
    if (!find_first(request, wanted, paging, compare, places, out->total, &first)) return false;
    int64_t end = first + paging->limit < out->total ? first + paging->limit : out->total;
    end = print_places(request, places, first, end, paging->cursor != NULL);
    out->next[0] = '\0';
    if (end > first && end < out->total) print_cursor(wanted, &places[end - 1], out->next);
    return true;
}

/* ---- lists ---- */

/* The page's jobs, with commas between. False: answered. */
static bool print_wanted(struct pawl__request *request, const struct wanted *wanted,
                         const struct pawl__paging *paging, struct turned *out)
{
    struct pawl_jobs jobs = { 0 };
    if (wanted->sort != SORT_CREATED) return print_sorted(request, wanted, paging, out);
    if (!pawl__paging_query(request, &wanted->filter, paging, &jobs)) return false;
    pawl__jobs_print_stories(request, &jobs);
    out->total = jobs.total;
    memcpy(out->next, jobs.next, sizeof jobs.next);
    pawl_jobs_release(&jobs);
    return true;
}

static void reply_items(struct pawl__request *request, const struct wanted *wanted)
{
    struct pawl__numbered_page pages;
    struct turned turned;
    if (!pawl__numbered_page_read(request, &pages)) return;
    pages.oldest_first = wanted->ascending;
    struct pawl__paging paging = pawl__numbered_paging(&pages);
    pawl__buf_add_text(&request->reply, "{\"items\":[");
    if (!print_wanted(request, wanted, &paging, &turned)) return;
    pawl__buf_add_text(&request->reply, "],");
    pawl__numbered_page_print(&request->reply, &pages, turned.total);
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

static void reply_jobs(struct pawl__request *request, const struct wanted *wanted,
                       int64_t limit_max)
{
    struct pawl__paging paging;
    struct turned turned;
    if (!pawl__paging_read(request, limit_max, &paging)) return;
    paging.oldest_first = wanted->ascending;
    pawl__buf_add_text(&request->reply, "{\"jobs\":[");
    if (!print_wanted(request, wanted, &paging, &turned)) return;
    pawl__buf_printf(&request->reply, "],\"total\":%lld,", (long long)turned.total);
    pawl__paging_print(&request->reply, &paging, turned.total, turned.next);
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

void pawl__jobs_reply(struct pawl__request *request, const struct pawl_filter *filter,
                      int64_t limit_max)
{
    const struct wanted wanted = { .filter = *filter, .sort = SORT_CREATED };
    reply_jobs(request, &wanted, limit_max);
}

void pawl__jobs_reply_items(struct pawl__request *request, const struct pawl_filter *filter)
{
    const struct wanted wanted = { .filter = *filter, .sort = SORT_CREATED };
    reply_items(request, &wanted);
}

void pawl__on_admin_jobs(struct pawl__request *request)
{
    struct wanted wanted;
    if (read_wanted(request, &wanted)) reply_items(request, &wanted);
}

/* Not in the spec, but asked for by its command line. */
void pawl__on_jobs(struct pawl__request *request)
{
    struct wanted wanted;
    if (!read_wanted(request, &wanted)) return;
    reply_jobs(request, &wanted, request->server->config.limits.page_size_max);
}
