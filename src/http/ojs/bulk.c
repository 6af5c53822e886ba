/* Many jobs at once: cancel, retry, promote, delete, by their ids or by a filter. On the pool. */
#include "http/ojs/ojs.h"

#include <string.h>

enum { IDS_MAX = 10000 };

/* What a bulk operation does: control NONE deletes. */
struct operation {
    enum pawl_control control;
    const char *done;  /* what the reply calls it */
    uint32_t possible; /* states it is for; the lifecycle may allow fewer */
    uint32_t usual;    /* those of a filter that names none */
};

static void move_ids(struct pawl__request *request, const struct pawl__json *json,
                     const struct operation *operation)
{
    struct pawl__buf items = { 0 };
    struct pawl__ids ids;
    size_t moved = 0;
    if (!pawl__ids_read(request, json, "job_ids", IDS_MAX, &ids)) return;
    for (size_t i = 0; i < ids.count; i++) {
        struct pawl_diag diag = { 0 };
        char text[PAWL_JOB_ID_TEXT_BYTES];
        enum pawl_err err =
            pawl__move_one(request, ids.at[i], operation->control, operation->possible, &diag);
        moved += !err;
        pawl_job_id_text(ids.at[i], text);
        pawl__buf_printf(&items, "%s{\"job_id\":\"%s\",\"status\":\"%s\"", i ? "," : "", text,
                         err ? "skipped" : operation->done);
        if (err) {
            struct pawl__fault fault;
            pawl__refuse_err(&fault, err, &diag);
            pawl__buf_add_text(&items, ",\"reason\":");
            pawl__buf_add_json(&items, fault.message, strlen(fault.message));
        }
        pawl__buf_add_text(&items, "}");
    }
    pawl__buf_printf(&request->reply,
                     "{\"total_matched\":%zu,\"%s\":%zu,\"skipped\":%zu,\"items\":[", ids.count,
                     operation->done, moved, ids.count - moved);
    pawl__buf_add(&request->reply, items.at, items.len);
    pawl__buf_add_text(&request->reply, "]}");
    if (items.failed) request->reply.failed = true;
    pawl__buf_release(&items);
    pawl__reply(request, 200);
}

static void move_matching(struct pawl__request *request, const struct pawl__json *json,
                          uint32_t object, const struct operation *operation)
{
    struct pawl_filter filter = { 0 };
    struct pawl_diag diag;
    int64_t matched = 0, moved = 0;
    if (!pawl__filter_read(request, json, object, &filter)) return;
    if (pawl__filter_is_open(&filter)) {
        pawl__reply_invalid(request, "filter", "filter must say which jobs");
        return;
    }
    struct pawl *pawl = pawl__request_pawl(request);
    enum pawl_err err = pawl_count(pawl, &filter, &matched, &diag);
    filter.states = filter.states ? filter.states & operation->possible : operation->usual;
    if (!err && filter.states)
        err = pawl__bulk_move(request, &filter, operation->control, matched, &moved, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_printf(&request->reply,
                     "{\"total_matched\":%lld,\"%s\":%lld,\"skipped\":%lld,\"items\":[]}",
                     (long long)matched, operation->done, (long long)moved,
                     (long long)(matched > moved ? matched - moved : 0));
    pawl__reply(request, 200);
}

static void move_many(struct pawl__request *request, const struct operation *operation)
{
    struct pawl__json json;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t ids = pawl__json_member(&json, 0, "job_ids");
    uint32_t filter = pawl__json_member(&json, 0, "filter");
    if (!ids == !filter) {
        pawl__reply_invalid(request, "job_ids", "give either job_ids or filter");
    } else if (filter && json.tokens[filter].type != PAWL__JSON_OBJECT) {
        pawl__reply_invalid(request, "filter", "filter must be an object that says which jobs");
    } else if (ids) {
        move_ids(request, &json, operation);
    } else {
        move_matching(request, &json, filter, operation);
    }
}

#define WAITING                                                                                    \
    (PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) |                 \
     PAWL_STATE_BIT(PAWL_STATE_PENDING) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) |                   \
     PAWL_STATE_BIT(PAWL_STATE_PAUSED))
#define DELAYED (PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE))
#define DISCARDED /* in the words of OJS */                                                        \
    (PAWL_STATE_BIT(PAWL_STATE_DISCARDED) | PAWL_STATE_BIT(PAWL_STATE_EXPIRED))
#define ENDED                                                                                      \
    (PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |                   \
     PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |                 \
     PAWL_STATE_BIT(PAWL_STATE_EXPIRED))

/* A job named by its id or its state is retried if the lifecycle allows it. A filter that names no
 * state means failed jobs: those that were cancelled should stay so. */
#define X(name, done, control, possible, usual)                                                    \
    void pawl__on_bulk_##name(struct pawl__request *request)                                       \
    {                                                                                              \
        static const struct operation operation = { PAWL_CONTROL_##control, done, possible,        \
                                                    usual };                                       \
        move_many(request, &operation);                                                            \
    }
X(cancel, "cancelled", CANCEL, WAITING, WAITING)
X(retry, "retried", RETRY, UINT32_MAX, DISCARDED)
X(promote, "promoted", PROMOTE, DELAYED, DELAYED)
X(delete, "deleted", NONE, ENDED, ENDED)
#undef X
