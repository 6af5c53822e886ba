/* Administration: counts, lists with numbered pages, operations on many jobs that must be
 * confirmed, workers, and in test mode the reset. */
#include "http/admin/admin.h"
#include "http/local/local.h"
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

/* ---- counts ---- */

struct overview {
    size_t workers;
    struct pawl__recent recent;
};

static void reply_stats(struct pawl__request *request)
{
    const struct overview *overview = request->state;
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_stats_get(pawl__request_pawl(request), &stats, &diag);
    if (err) {
        pawl_stats_release(&stats);
        pawl__reply_err(request, err, &diag);
        return;
    }
    struct pawl_queue_stats all = { .queue = "" };
    memcpy(all.count, stats.count, sizeof all.count);
    struct pawl__buf *out = &request->reply;
    pawl__buf_printf(out, "{\"queues\":%zu,\"workers\":%zu,\"jobs\":{", stats.queue_count,
                     overview->workers);
    pawl__queue_print_counts(out, &all);
    pawl__buf_printf(out,
                     "},\"throughput\":{\"processed_per_minute\":%lld,\"failed_per_minute\":%lld},"
                     "\"store_bytes\":%lld,\"archived\":%lld,\"uptime_seconds\":%lld}",
                     (long long)overview->recent.completed_last_minute,
                     (long long)overview->recent.failed_last_minute, (long long)stats.store_bytes,
                     (long long)stats.archived,
                     (long long)((request->now_ms - request->server->started_at_ms) / 1000));
    pawl_stats_release(&stats);
    pawl__reply(request, 200);
}

void pawl__on_admin_stats(struct pawl__request *request)
{
    struct overview *overview = pawl__request_state(request, sizeof *overview);
    if (!overview) return;
    overview->workers = pawl__workers_count(request->server->workers);
    overview->recent = pawl__throughput_of(request->server->throughput, NULL, request->now_ms);
    pawl__request_to_pool(request, reply_stats);
}

static void print_queue(struct pawl__buf *out, const struct pawl_queue_stats *queue,
                        const struct pawl__recent *recent)
{
    pawl__buf_printf(out, "{\"name\":\"%s\",\"state\":\"%s\",\"counts\":{", queue->queue,
                     queue->paused ? "paused" : "active");
    pawl__queue_print_counts(out, queue);
    pawl__buf_printf(out,
                     "},\"depth\":%lld,\"throughput\":{\"processed_per_minute\":%lld,"
                     "\"failed_per_minute\":%lld},\"latency_ms\":%lld,\"paused\":%s,"
                     "\"created_at\":",
                     (long long)pawl__queue_depth(queue), (long long)recent->completed_last_minute,
                     (long long)recent->failed_last_minute, (long long)recent->wait_ms,
                     queue->paused ? "true" : "false");
    pawl__print_instant(out, queue->created_at_ms);
    pawl__buf_add_text(out, "}");
}

/* One page of queues: the loop says how fast they go, the store all the rest. */
struct queue_page {
    struct pawl__numbered_page pages;
    struct pawl__recent_list recents;
};

static void reply_queues(struct pawl__request *request)
{
    const struct queue_page *page = request->state;
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag;
    struct pawl__buf *out = &request->reply;
    int64_t first = (page->pages.page - 1) * page->pages.per_page;
    enum pawl_err err = pawl_stats_get(pawl__request_pawl(request), &stats, &diag);
    int64_t total = (int64_t)stats.queue_count;
    pawl__buf_add_text(out, "{\"items\":[");
    for (int64_t i = first; !err && i < total && i < first + page->pages.per_page; i++) {
        struct pawl__recent recent = pawl__recent_find(&page->recents, stats.queues[i].queue);
        if (i > first) pawl__buf_add(out, ",", 1);
        print_queue(out, &stats.queues[i], &recent);
    }
    pawl_stats_release(&stats);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_add_text(out, "],");
    pawl__numbered_page_print(out, &page->pages, total);
    pawl__buf_add_text(out, "}");
    pawl__reply(request, 200);
}

void pawl__on_admin_queues(struct pawl__request *request)
{
    struct queue_page *page = pawl__arena_calloc(&request->arena, 1, sizeof *page);
    if (page && !pawl__numbered_page_read(request, &page->pages)) return;
    if (!page || !pawl__throughput_list(request->server->throughput, request->now_ms,
                                        &request->arena, &page->recents)) {
        pawl__reply_nomem(request);
        return;
    }
    request->state = page;
    pawl__request_to_pool(request, reply_queues);
}

/* ---- jobs ---- */

/* Bare: not wrapped in {"job":...}. */
void pawl__on_admin_job(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_story story = { 0 };
    if (!pawl__request_job_id(request, 0, &id)) return;
    if (pawl__story_read(request, id, &story)) {
        struct pawl__envelope_more more = pawl__more_of(request, &story);
        more.admin = true;
        pawl__envelope_print(&request->reply, &story.job, &more);
        pawl__reply(request, 200);
    }
    pawl_story_release(&story);
}

void pawl__on_admin_job_delete(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    if (!pawl__request_job_id(request, 0, &id)) return;
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = pawl_delete(pawl__request_pawl(request), id, &by, &diag);
    if (err) {
        pawl__job_reply_err(request, id, err, &diag);
    } else {
        pawl__reply_deleted(request);
    }
}

/* ---- many jobs, confirmed ---- */

/* The body's filter, if it says "confirm": true. False: answered. */
static bool read_confirmed(struct pawl__request *request, struct pawl_filter *out)
{
    struct pawl__json json;
    if (!pawl__request_json(request, false, &json)) return false;
    uint32_t confirm = pawl__json_member(&json, 0, "confirm");
    uint32_t filter = pawl__json_member(&json, 0, "filter");
    if (!confirm || json.tokens[confirm].type != PAWL__JSON_TRUE) {
        return pawl__reply_invalid(request, "confirm",
                                   "this changes many jobs: confirm must be true");
    }
    if (!filter || json.tokens[filter].type != PAWL__JSON_OBJECT) {
        return pawl__reply_invalid(request, "filter",
                                   "filter must be an object that says which jobs");
    }
    return pawl__filter_read(request, &json, filter, out);
}

static void reply_moved(struct pawl__request *request, const char *action,
                        const struct pawl__moved *moved)
{
    pawl__buf_add_text(&request->reply, "{");
    pawl__moved_print(&request->reply, action, moved);
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

static void move_confirmed(struct pawl__request *request, const char *action,
                           enum pawl_control control, struct pawl_filter *filter)
{
    struct pawl__moved moved;
    if (pawl__move_all(request, control, filter, &moved)) reply_moved(request, action, &moved);
}

/* Handlers that only forward: rows of a table. */
#define X(name, action, control)                                                                   \
    void pawl__on_##name(struct pawl__request *request)                                            \
    {                                                                                              \
        struct pawl_filter filter = { 0 };                                                         \
        if (!read_confirmed(request, &filter)) return;                                             \
        move_confirmed(request, action, PAWL_CONTROL_##control, &filter);                          \
    }
X(admin_bulk_retry, "retry", RETRY)
X(admin_bulk_promote, "promote", PROMOTE)
X(admin_bulk_cancel, "cancel", CANCEL)
X(admin_bulk_delete, "delete", NONE)
#undef X

/* ---- dead letters ---- */

void pawl__on_admin_dead_letters_retry(struct pawl__request *request)
{
    struct pawl_filter filter = { 0 };
    if (!read_confirmed(request, &filter)) return;
    filter.states = filter.states ? filter.states & pawl__dead_letters.states
                                  : pawl__dead_letters.states;
    filter.dead_letter = true;
    if (!filter.states) { // none of those is a dead letter; no state at all would mean any
        reply_moved(request, "retry", &(struct pawl__moved){ 0 });
        return;
    }
    move_confirmed(request, "retry", PAWL_CONTROL_RETRY, &filter);
}
