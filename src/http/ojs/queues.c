/* Queues: list, counts, pause, settings.
 *
 * A queue appears when it is first used, so a name that nobody has used yet is an empty queue, not
 * an unknown one. */
#include "http/events/events.h"
#include "http/ojs/ojs.h"
#include "http/local/local.h"
#include "http/ojs/rate_limit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The path's queue. NULL: answered. */
static const char *queue_of(struct pawl__request *request)
{
    const char *name = request->parts[0];
    if (pawl__ojs_queue_ok(name)) return name;
    pawl__reply_invalid(
        request, "queue",
        "a queue's name is 1 to %d of a-z, 0-9, \".\" and \"-\", and does not begin "
        "with \".\" or \"-\"",
        PAWL_QUEUE_BYTES_MAX);
    return NULL;
}

/* ---- counts ---- */

/* NAME, the OJS states it counts */
#define COUNTS(X)                                                                                  \
    X(available)                                                                                   \
    X(active)                                                                                      \
    X(scheduled)                                                                                   \
    X(retryable)                                                                                   \
    X(pending)                                                                                     \
    X(completed)                                                                                   \
    X(discarded)                                                                                   \
    X(cancelled)

static int64_t count_of(const struct pawl_queue_stats *stats, const char *name)
{
    uint32_t mask = pawl_state_mask(name, PAWL_VOCABULARY_OJS);
    int64_t sum = 0;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (mask & PAWL_STATE_BIT(state)) sum += stats->count[state];
    }
    return sum;
}

int64_t pawl__queue_depth(const struct pawl_queue_stats *stats)
{
    int64_t depth = 0;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (!pawl_state_is_terminal((enum pawl_state)state)) depth += stats->count[state];
    }
    return depth;
}

void pawl__queue_print_counts(struct pawl__buf *out, const struct pawl_queue_stats *stats)
{
#define X(name) pawl__buf_printf(out, "\"" #name "\":%lld,", (long long)count_of(stats, #name));
    COUNTS(X)
#undef X
    pawl__buf_add_text(out, stats->paused ? "\"paused\":true" : "\"paused\":false");
}

static void print_recent(struct pawl__buf *out, const struct pawl__recent *recent)
{
    pawl__buf_printf(out,
                     ",\"completed_last_hour\":%lld,\"failed_last_hour\":%lld,"
                     "\"avg_duration_ms\":%lld,\"avg_wait_ms\":%lld,"
                     "\"throughput_per_second\":%.3f",
                     (long long)recent->completed_last_hour, (long long)recent->failed_last_hour,
                     (long long)recent->run_ms, (long long)recent->wait_ms,
                     (double)(recent->completed_last_minute + recent->failed_last_minute) / 60);
}

/* In /stats "queue" is a string by the text of the spec, and to the SDKs and the CLI; the
 * conformance cases want an object. All send the same Accept, but only clients say which version
 * they speak, or send Content-Type with a GET. */
static bool reads_name(const struct pawl__request *request)
{
    return pawl__request_header(request, "ojs-version") ||
           pawl__request_header(request, "content-type");
}

/* Four readers want the same figures in four places. `config` NULL: without, for /stats. */
static void print_stats(struct pawl__request *request, const struct pawl_queue_stats *stats,
                        const char *config)
{
    struct pawl__buf *out = &request->reply;
    if (!config && reads_name(request)) {
        pawl__buf_printf(out, "{\"queue\":\"%s\",", stats->queue);
    } else {
        pawl__buf_printf(out, "{\"queue\":{\"name\":\"%s\",", stats->queue);
        pawl__queue_print_counts(out, stats);
        pawl__buf_add_text(out, "},");
    }
    pawl__buf_printf(out, "\"name\":\"%s\",\"depth\":%lld,", stats->queue,
                     (long long)pawl__queue_depth(stats));
    pawl__queue_print_counts(out, stats);
    pawl__buf_printf(out, ",\"status\":\"%s\",\"stats\":{\"queue\":\"%s\",\"depth\":%lld,",
                     stats->paused ? "paused" : "active", stats->queue,
                     (long long)pawl__queue_depth(stats));
    pawl__queue_print_counts(out, stats);
    print_recent(out, request->state);
    pawl__buf_add_text(out, "},\"computed_at\":");
    pawl__print_instant(out, request->now_ms);
    if (config) {
        pawl__buf_printf(out, ",\"config\":%s,\"counts\":{", config);
        pawl__queue_print_counts(out, stats);
        pawl__buf_add_text(out, "}");
    }
    pawl__buf_add_text(out, "}");
}

/* The queue's row, or zeros. */
static struct pawl_queue_stats find_queue(const struct pawl_stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (strcmp(stats->queues[i].queue, name) == 0) return stats->queues[i];
    }
    return (struct pawl_queue_stats){ .queue = name };
}

/* {"rate_limit":...}, or "{}". */
static void print_config(struct pawl__buf *out, struct pawl_span rate_limit)
{
    pawl__buf_add_text(out, rate_limit.len ? "{\"rate_limit\":" : "{");
    pawl__buf_add(out, rate_limit.at, rate_limit.len);
    pawl__buf_add_text(out, "}");
}

/* As JSON, in the arena. NULL: answered. */
static const char *config_text(struct pawl__request *request, struct pawl_span rate_limit)
{
    struct pawl__buf text = { 0 };
    print_config(&text, rate_limit);
    const char *copy = text.failed ? NULL : pawl__arena_dup(&request->arena, text.at, text.len);
    pawl__buf_release(&text);
    if (!copy) pawl__reply_nomem(request);
    return copy;
}

/* The queue's configuration, in the arena. NULL: answered. */
static const char *read_config(struct pawl__request *request, const char *queue)
{
    struct pawl_queue_configs configs = { 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_queue_configs_get(pawl__request_pawl(request), queue, &configs, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return NULL;
    struct pawl_span none = { NULL, 0 };
    const char *text = config_text(request, configs.count ? configs.at[0].rate_limit : none);
    pawl_queue_configs_release(&configs);
    return text;
}

static void reply_stats(struct pawl__request *request, bool with_config)
{
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag;
    const char *name = queue_of(request);
    const char *config = name && with_config ? read_config(request, name) : NULL;
    if (!name || (with_config && !config)) return;
    enum pawl_err err = pawl_stats_get(pawl__request_pawl(request), &stats, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        struct pawl_queue_stats found = find_queue(&stats, name);
        print_stats(request, &found, config);
        pawl__reply(request, 200);
    }
    pawl_stats_release(&stats);
}

static void reply_counts(struct pawl__request *request)
{
    reply_stats(request, false);
}

static void reply_queue(struct pawl__request *request)
{
    reply_stats(request, true);
}

/* What the loop knows first, then what the store knows. */
static void look_at_queue(struct pawl__request *request, pawl__handler_fn *then)
{
    struct pawl__recent *recent = pawl__request_state(request, sizeof *recent);
    if (!recent) return;
    *recent = pawl__throughput_of(request->server->throughput, request->parts[0], request->now_ms);
    pawl__request_to_pool(request, then);
}

void pawl__on_queue_stats(struct pawl__request *request)
{
    look_at_queue(request, reply_counts);
}

void pawl__on_queue_get(struct pawl__request *request)
{
    look_at_queue(request, reply_queue);
}

/* ---- list ---- */

/* A cursor is this and the name of the page's last queue. */
#define CURSOR "after:"

/* The first queue of the page: behind `after`, or at the offset. */
static size_t first_of(const struct pawl_stats *stats, const char *after, int64_t offset)
{
    size_t i = 0;
    if (!after) return (uint64_t)offset < stats->queue_count ? (size_t)offset : stats->queue_count;
    while (i < stats->queue_count && strcmp(stats->queues[i].queue, after) <= 0) {
        i++;
    }
    return i;
}

static void print_queues(struct pawl__buf *out, const struct pawl_stats *stats, size_t first,
                         size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct pawl_queue_stats *queue = &stats->queues[i];
        pawl__buf_printf(out, "%s{\"name\":\"%s\",\"status\":\"%s\",\"created_at\":",
                         i > first ? "," : "", queue->queue, queue->paused ? "paused" : "active");
        pawl__print_instant(out, queue->created_at_ms);
        pawl__buf_printf(out, ",\"depth\":%lld,", (long long)pawl__queue_depth(queue));
        pawl__queue_print_counts(out, queue);
        pawl__buf_add_text(out, "}");
    }
}

void pawl__on_queues(struct pawl__request *request)
{
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag;
    struct pawl__paging paging;
    struct pawl__buf *out = &request->reply;
    if (!pawl__paging_read(request, request->server->config.limits.page_size_max, &paging)) return;
    const char *after = paging.cursor;
    if (after && strncmp(after, CURSOR, strlen(CURSOR)) != 0) {
        pawl__reply_invalid(request, "cursor", "cursor must be the next_cursor of the page before");
        return;
    }
    if (after) after += strlen(CURSOR);
    enum pawl_err err = pawl_stats_get(pawl__request_pawl(request), &stats, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        size_t first = first_of(&stats, after, paging.offset), left = stats.queue_count;
        left -= first;
        size_t end = first + (left > (size_t)paging.limit ? (size_t)paging.limit : left);
        pawl__buf_add_text(out, "{\"queues\":[");
        print_queues(out, &stats, first, end);
        pawl__buf_printf(out,
                         "],\"pagination\":{\"total\":%zu,\"limit\":%lld,\"offset\":%lld,"
                         "\"has_more\":%s",
                         stats.queue_count, (long long)paging.limit, (long long)paging.offset,
                         end < stats.queue_count ? "true" : "false");
        if (end < stats.queue_count) {
            pawl__buf_printf(out, ",\"next_cursor\":\"" CURSOR "%s\"", stats.queues[end - 1].queue);
        }
        pawl__buf_add_text(out, "}}");
        pawl__reply(request, 200);
    }
    pawl_stats_release(&stats);
}

/* ---- pause ---- */

static void pause_queue(struct pawl__request *request, bool paused)
{
    struct pawl_diag diag;
    const char *name = queue_of(request);
    if (!name) return;
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = pawl_queue_pause(pawl__request_pawl(request), name, paused, &by, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    struct pawl__note note = { .kind = paused ? PAWL__EVENT_QUEUE_PAUSED
                                              : PAWL__EVENT_QUEUE_RESUMED,
                               .subject = name,
                               .queue = name };
    pawl__events_note(request->server, &note);
    struct pawl__buf *out = &request->reply;
    const char *flag = paused ? "true" : "false";
    pawl__buf_printf(out,
                     "{\"queue\":{\"name\":\"%s\",\"paused\":%s},\"name\":\"%s\",\"paused\":%s,"
                     "\"status\":\"%s\",\"%s\":",
                     name, flag, name, flag, paused ? "paused" : "active",
                     paused ? "paused_at" : "resumed_at");
    pawl__print_instant(out, request->now_ms);
    pawl__buf_add_text(out, "}");
    pawl__reply(request, 200);
}

void pawl__on_queue_pause(struct pawl__request *request)
{
    pause_queue(request, true);
}

void pawl__on_queue_resume(struct pawl__request *request)
{
    pause_queue(request, false);
}

/* ---- settings ---- */

void pawl__on_queue_config(struct pawl__request *request)
{
    const char *name = strcmp(request->parts[0], "_default") == 0 ? "_default" : queue_of(request);
    const char *config = name ? read_config(request, name) : NULL;
    if (!config) return;
    pawl__buf_printf(&request->reply, "{\"queue\":\"%s\",\"config\":%s}", name, config);
    pawl__reply(request, 200);
}

/* On the pool: `request->state` is the limit, a span. */
static void keep_config(struct pawl__request *request)
{
    const struct pawl_span *rate_limit = request->state;
    struct pawl_diag diag;
    const struct pawl_queue_config config = { request->parts[0], *rate_limit };
    enum pawl_err err = pawl_queue_config_put(pawl__request_pawl(request), &config, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_printf(&request->reply, "{\"queue\":\"%s\",\"config\":", config.queue);
    print_config(&request->reply, *rate_limit);
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

/* Have the rate limit in force, then keep the settings. `rate_limit` may be empty: none. */
static void put_config(struct pawl__request *request, struct pawl_span rate_limit)
{
    const char *queue = request->parts[0];
    struct pawl__rate rate = { 0 };
    if (rate_limit.len && !pawl__rate_parse(rate_limit, queue, &rate)) {
        pawl__reply_invalid(request, "rate_limit",
                            "rate_limit must say how many jobs in which period, like "
                            "{\"limit\":10,\"period\":\"PT1S\"}");
        return;
    }
    struct pawl_span *kept = pawl__arena_calloc(&request->arena, 1, sizeof *kept);
    if (kept) *kept = rate_limit;
    request->state = kept;
    if (!request->state) {
        pawl__reply_nomem(request);
        return;
    }
    pawl__rates_set(request->server->rates, queue, &rate, pawl__server_now(request->server));
    pawl__request_to_pool(request, keep_config);
}

/* What is asked for and cannot be kept is refused: a limit that nobody enforces is worse than
 * none. */
void pawl__on_queue_config_put(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl_span rate_limit = { NULL, 0 };
    if (!queue_of(request) || !pawl__request_json(request, false, &json)) return;
    uint32_t name = pawl__json_first(0);
    for (uint32_t i = 0; i < json.tokens[0].count; i++, name = json.tokens[name + 1].next) {
        const char *text = pawl__json_string(&json, name, &request->arena, NULL);
        if (text && strcmp(text, "rate_limit") == 0) {
            if (json.tokens[name + 1].type != PAWL__JSON_NULL) {
                rate_limit = pawl__json_span(&json, name + 1);
            }
            continue;
        }
        pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, text ? text : "",
                           "of a queue's settings only rate_limit is supported so far, not "
                           "\"%.40s\"",
                           text ? text : "");
        return;
    }
    put_config(request, rate_limit);
}

void pawl__on_queue_rate_put(struct pawl__request *request)
{
    struct pawl__json json;
    if (!queue_of(request) || !pawl__request_json(request, false, &json)) return;
    put_config(request, pawl__json_span(&json, 0));
}

/* Limits that were set before the server started. */
enum pawl_err pawl__queues_load(struct pawl__server *server, struct pawl_diag *diag)
{
    struct pawl_queue_configs configs = { 0 };
    enum pawl_err err = pawl_queue_configs_get(server->pawl, NULL, &configs, diag);
    for (size_t i = 0; !err && i < configs.count; i++) {
        const struct pawl_queue_config *config = &configs.at[i];
        if (config->rate_limit.len) pawl__rates_noted(server, config->queue, config->rate_limit);
    }
    pawl_queue_configs_release(&configs);
    return err;
}

/* ---- creating ---- */

/* Like a queue that is used for the first time. One that is there stays as it is, paused or not. */
static enum pawl_err create(struct pawl__request *request, const char *name, bool *paused,
                            bool *created, struct pawl_diag *diag)
{
    struct pawl_stats stats = { 0 };
    struct pawl *pawl = pawl__request_pawl(request);
    enum pawl_err err = pawl_stats_get(pawl, &stats, diag);
    assert(name);
    *created = true;
    for (size_t i = 0; !err && i < stats.queue_count; i++) {
        if (strcmp(stats.queues[i].queue, name) != 0) continue;
        *created = false;
        *paused = stats.queues[i].paused;
    }
    pawl_stats_release(&stats);
    if (err || !*created) return err;
    struct pawl_by by = pawl__request_by(request);
    *paused = false;
    return pawl_queue_pause(pawl, name, false, &by, diag);
}

/* {name}; 201, or 200 when it is there already. */
void pawl__on_queue_create(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl_diag diag;
    const char *name;
    bool paused, created;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "name", &name)) {
        return;
    }
    if (json.tokens[0].count > 1) { // as little as by PUT may a setting be lost in silence
        pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, "name",
                           "a queue is created by its name alone; PUT .../config sets the rest");
        return;
    }
    request->parts[0] = name ? name : "";
    if (!queue_of(request)) return;
    enum pawl_err err = create(request, name, &paused, &created, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    const char *flag = paused ? "true" : "false";
    pawl__buf_printf(&request->reply,
                     "{\"queue\":{\"name\":\"%s\",\"paused\":%s},\"name\":\"%s\","
                     "\"paused\":%s,\"status\":\"%s\"}",
                     name, flag, name, flag, paused ? "paused" : "active");
    pawl__reply(request, created ? 201 : 200);
}
