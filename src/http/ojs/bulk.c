/* Bulk operations: cancel, retry, promote or delete many jobs, by their ids or by a filter. On the
 * pool. */
#include "http/ojs/ojs.h"

#include <string.h>

enum { IDS_MAX = 10000 };

/* What a bulk operation does; control NONE deletes. */
struct operation {
    enum pawl_control control;
    const char *done;                /* its word in replies */
    const struct pawl__shape *shape; /* of the reply */
    uint32_t possible;               /* the states that it is for; the lifecycle may allow fewer */
    uint32_t usual;                  /* those of a filter that names none */
};

/* ---- the request ---- */

struct many {
    struct pawl__ids ids;
    uint32_t filter; /* its token; 0: none */
    bool by_ids;
};

static enum pawl_err note_ids(struct pawl__shape_reader *reader, const struct pawl__member *member,
                              uint32_t token, void *base)
{
    ((struct many *)base)->by_ids = true;
    return pawl__ids_read(reader, member, token, base);
}

static enum pawl_err note_filter(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base)
{
    ((struct many *)base)->filter = token;
    if (reader->json.tokens[token].type == PAWL__JSON_OBJECT) return PAWL_OK;
    return pawl__shape_refuse(reader, member, "must be an object that says which jobs");
}

#define S struct many
static const struct pawl__member request_members[] = {
    PAWL__MEMBER("job_ids", OWN, S, ids, .read = note_ids, .wire = PAWL__AS_IDS, .max = IDS_MAX),
    PAWL__MEMBER("filter", OWN, S, filter, .read = note_filter, .wire = PAWL__AS_ONE,
                 .shape = &pawl__ojs_filter_shape),
};
const struct pawl__shape pawl__ojs_bulk_request_shape = PAWL__SHAPE(S, request_members);
#undef S

/* ---- the reply ---- */

struct item {
    struct pawl_job_id id;
    const char *status, *reason; /* NULL: done */
};

#define S struct item
static const struct pawl__member item_members[] = {
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("status", TEXT, S, status),
    PAWL__MEMBER("reason", TEXT, S, reason),
};
static const struct pawl__shape item_shape = PAWL__SHAPE(S, item_members);
#undef S

struct reply {
    int64_t matched, done, skipped;
    const struct item *items;
    size_t item_count;
};

/* The member for `done` has the operation's word as its name. */
#define S struct reply
#define REPLY(done_text)                                                                           \
    PAWL__MEMBER("total_matched", INT64, S, matched, .flags = PAWL__ALWAYS),                       \
        PAWL__MEMBER(done_text, INT64, S, done, .flags = PAWL__ALWAYS),                            \
        PAWL__MEMBER("skipped", INT64, S, skipped, .flags = PAWL__ALWAYS),                         \
        PAWL__MEMBER("items", MANY, S, items, PAWL__COUNTED(S, item_count), .shape = &item_shape,  \
                     .flags = PAWL__ALWAYS)

/* ---- moving ---- */

static void move_ids(struct pawl__request *request, const struct pawl__ids *ids,
                     const struct operation *operation)
{
    struct pawl__arena *arena = &request->arena;
    struct item *items = pawl__arena_calloc(arena, ids->count + 1, sizeof *items);
    struct reply reply = { .matched = (int64_t)ids->count, .items = items };
    for (size_t i = 0; items && i < ids->count; i++) {
        struct pawl_diag diag = { 0 };
        struct pawl__fault fault;
        enum pawl_err err =
            pawl__move_one(request, ids->at[i], operation->control, operation->possible, &diag);
        items[i] = (struct item){ ids->at[i], err ? "skipped" : operation->done, NULL };
        if (err) {
            pawl__refuse_err(&fault, err, &diag);
            items[i].reason = pawl__arena_dup(arena, fault.message, strlen(fault.message));
        }
        reply.done += !err;
    }
    reply.item_count = ids->count;
    reply.skipped = reply.matched - reply.done;
    if (items) {
        pawl__reply_shape(request, 200, operation->shape, &reply);
    } else {
        pawl__reply_nomem(request);
    }
}

static void move_matching(struct pawl__request *request, struct pawl_filter *filter,
                          const struct operation *operation)
{
    struct reply reply = { .matched = 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_count(pawl__request_pawl(request), filter, &reply.matched, &diag);
    filter->states = filter->states ? filter->states & operation->possible : operation->usual;
    if (!err && filter->states) {
        err =
            pawl__bulk_move(request, filter, operation->control, reply.matched, &reply.done, &diag);
    }
    if (pawl__reply_if_err(request, err, &diag)) return;
    reply.skipped = reply.matched > reply.done ? reply.matched - reply.done : 0;
    pawl__reply_shape(request, 200, operation->shape, &reply);
}

static void move_many(struct pawl__request *request, const struct operation *operation)
{
    struct pawl__json json;
    struct many many = { .by_ids = false };
    struct pawl_filter filter = { 0 };
    if (!pawl__request_json(request, false, &json) ||
        !pawl__object_read(request, &json, 0, &pawl__ojs_bulk_request_shape, NULL, &many)) {
        return;
    }
    if (many.by_ids == (many.filter != 0)) {
        pawl__reply_invalid(request, "job_ids", "either \"job_ids\" or \"filter\" must be given");
    } else if (many.by_ids) {
        move_ids(request, &many.ids, operation);
    } else if (pawl__filter_read(request, &json, many.filter, &filter)) {
        if (pawl__filter_is_open(&filter)) {
            pawl__reply_invalid(request, "filter", "\"filter\" must say which jobs");
        } else {
            move_matching(request, &filter, operation);
        }
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

/* A job named by its id or its state is retried if the lifecycle allows it. A filter without states
 * means failed jobs: cancelled ones should stay cancelled. */
#define X(name, done, control, possible, usual)                                                    \
    static const struct pawl__member name##_members[] = { REPLY(done) };                           \
    const struct pawl__shape pawl__ojs_bulk_##name##_reply_shape = PAWL__SHAPE(S, name##_members); \
    void pawl__on_bulk_##name(struct pawl__request *request)                                       \
    {                                                                                              \
        static const struct operation operation = { PAWL_CONTROL_##control, done,                  \
                                                    &pawl__ojs_bulk_##name##_reply_shape,          \
                                                    possible, usual };                             \
        move_many(request, &operation);                                                            \
    }
X(cancel, "cancelled", CANCEL, WAITING, WAITING)
X(retry, "retried", RETRY, UINT32_MAX, DISCARDED)
X(promote, "promoted", PROMOTE, DELAYED, DELAYED)
X(delete, "deleted", NONE, ENDED, ENDED)
#undef X
#undef S
