/* Deleting jobs that have ended: those of a queue, and dead letters. On the pool. */
#include "base/time_text.h"
#include "http/ojs/ojs.h"

/* "P7D", "7d" or an instant; `text` NULL: of any age. False: answered. */
static bool read_older_than(struct pawl__request *request, const char *text,
                            struct pawl_filter *filter)
{
    int64_t age_ms, until_ms;
    if (!text) return true;
    if (pawl__ojs_duration(text, &age_ms) == PAWL_OK ||
        pawl__duration_parse(text, &age_ms) == PAWL_OK) {
        until_ms = request->now_ms - age_ms;
    } else if (pawl__instant_parse(text, &until_ms) != PAWL_OK) {
        return pawl__reply_invalid(request, "older_than",
                                   "older_than must be a duration like P7D or a timestamp");
    }
    filter->finished_until_ms = pawl__bound(until_ms);
    return true;
}

/* The console reads "purged_count", the ojs CLI "deleted". */
static void purge(struct pawl__request *request, struct pawl_filter *filter)
{
    struct pawl__moved moved;
    struct pawl__buf *out = &request->reply;
    if (!pawl__move_all(request, PAWL_CONTROL_NONE, filter, &moved)) return;
    pawl__buf_add_text(out, "{");
    pawl__moved_print(out, "delete", &moved);
    pawl__buf_printf(out, ",\"purged_count\":%lld,\"deleted\":%lld}", (long long)moved.moved,
                     (long long)moved.moved);
    pawl__reply(request, 200);
}

static void purge_queue(struct pawl__request *request, const struct pawl__json *json)
{
    static const char *const known[] = { "state", "states", "older_than", "confirm", NULL };
    struct pawl_filter filter = { .queues = &request->parts[0], .queue_count = 1 };
    const char *older_than = NULL;
    if (pawl__body_knows(request, json, 0, known) &&
        pawl__filter_states(request, json, 0, &filter.states) &&
        pawl__body_text(request, json, 0, "older_than", &older_than) &&
        read_older_than(request, older_than, &filter)) {
        purge(request, &filter);
    }
}

/* {states, older_than} */
void pawl__on_queue_purge(struct pawl__request *request)
{
    struct pawl__json json;
    if (pawl__request_json(request, false, &json)) purge_queue(request, &json);
}

/* {states, older_than, confirm} */
void pawl__on_admin_queue_purge(struct pawl__request *request)
{
    struct pawl__json json;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t confirm = pawl__json_member(&json, 0, "confirm");
    if (!confirm || json.tokens[confirm].type != PAWL__JSON_TRUE) {
        pawl__reply_invalid(request, "confirm", "this deletes many jobs: confirm must be true");
        return;
    }
    purge_queue(request, &json);
}

/* older_than in the query or in the body. */
void pawl__on_dead_letters_purge(struct pawl__request *request)
{
    static const char *const known[] = { "older_than", NULL };
    struct pawl_filter filter = pawl__dead_letters;
    struct pawl__json json;
    const char *in_query, *in_body;
    if (pawl__request_only(request, "older_than", &in_query) &&
        pawl__request_json(request, true, &json) && pawl__body_knows(request, &json, 0, known) &&
        pawl__body_text(request, &json, 0, "older_than", &in_body) &&
        read_older_than(request, in_query ? in_query : in_body, &filter)) {
        purge(request, &filter);
    }
}
