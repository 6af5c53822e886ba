/* Deletion of jobs that have ended: those of a queue, and dead letters. On the pool. */
#include "base/time_text.h"
#include "http/ojs/ojs.h"

struct purge {
    struct pawl__states states;
    int64_t until_ms; /* 0: of any age */
    const char *older_than;
    bool confirm;
};

/* Parses "P7D", "7d" or an instant. */
static bool parse_age(const struct pawl__request *request, const char *text, int64_t *until_ms)
{
    int64_t age_ms;
    if (pawl__iso_duration_parse(text, &age_ms) == PAWL_OK ||
        pawl__duration_parse(text, &age_ms) == PAWL_OK) {
        *until_ms = request->now_ms - age_ms;
    } else if (pawl__instant_parse(text, until_ms) != PAWL_OK) {
        return false;
    }
    *until_ms = pawl__bound(*until_ms);
    return true;
}

static enum pawl_err read_age(struct pawl__shape_reader *reader, const struct pawl__member *member,
                              uint32_t token, void *base)
{
    struct purge *purge = base;
    const struct pawl__member text = { .name = member->name,
                                       .kind = PAWL__AS_TEXT,
                                       .offset = offsetof(struct purge, older_than) };
    enum pawl_err err = pawl__shape_value(reader, &text, token, base);
    if (err || parse_age(reader->ctx, purge->older_than, &purge->until_ms)) return err;
    return pawl__shape_refuse(reader, member, "must be a duration such as \"P7D\" or an instant");
}

#define S struct purge
#define OLDER_THAN PAWL__WHOLE("older_than", OWN, .read = read_age, .wire = PAWL__AS_TEXT)
static const struct pawl__member queue_members[] = {
    PAWL__STATES(S, states),
    OLDER_THAN,
    PAWL__MEMBER("confirm", BOOL, S, confirm),
};
const struct pawl__shape pawl__ojs_queue_purge_request_shape = PAWL__SHAPE(S, queue_members);

static const struct pawl__member letters_members[] = { OLDER_THAN };
const struct pawl__shape pawl__ojs_dead_letters_purge_request_shape =
    PAWL__SHAPE(S, letters_members);
#undef S

/* An unknown member is refused: ignored, it would delete more jobs than its author meant. */
static const struct pawl__body strict = { .unknown = PAWL__FAULT_INVALID_REQUEST };
static const struct pawl__body strict_optional = { .optional = true,
                                                   .unknown = PAWL__FAULT_INVALID_REQUEST };

struct reply {
    struct pawl__moved_told moved;
    int64_t count;
};

/* The console reads "purged_count", the CLI of OJS "deleted". */
#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__WHOLE("", PART, .shape = &pawl__ojs_moved_shape),
    PAWL__MEMBER("purged_count", INT64, S, count, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("deleted", INT64, S, count, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_purge_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

static void purge_jobs(struct pawl__request *request, struct pawl_filter *filter,
                       const struct purge *purge)
{
    struct pawl__moved moved;
    filter->finished_until_ms = purge->until_ms;
    if (!pawl__move_all(request, PAWL_CONTROL_NONE, filter, &moved)) return;
    const struct reply reply = { pawl__moved_told("delete", &moved), moved.moved };
    pawl__reply_shape(request, 200, &pawl__ojs_purge_reply_shape, &reply);
}

static void purge_queue(struct pawl__request *request, bool confirmed)
{
    struct pawl_filter filter = { .queues = &request->parts[0], .queue_count = 1 };
    struct purge purge = { .confirm = false };
    if (!pawl__request_read(request, &pawl__ojs_queue_purge_request_shape, &strict, &purge)) return;
    if (!confirmed && !purge.confirm) {
        pawl__reply_invalid(request, "confirm", "this deletes many jobs: \"confirm\" must be true");
        return;
    }
    filter.states = pawl__states_given(&purge.states);
    purge_jobs(request, &filter, &purge);
}

void pawl__on_queue_purge(struct pawl__request *request)
{
    purge_queue(request, true);
}

void pawl__on_admin_queue_purge(struct pawl__request *request)
{
    purge_queue(request, false);
}

/* older_than in the query or in the body. */
void pawl__on_dead_letters_purge(struct pawl__request *request)
{
    struct pawl_filter filter = pawl__dead_letters;
    struct purge purge = { .confirm = false };
    const char *in_query;
    if (!pawl__request_only(request, "older_than", &in_query) ||
        !pawl__request_read(request, &pawl__ojs_dead_letters_purge_request_shape, &strict_optional,
                            &purge)) {
        return;
    }
    if (in_query && !parse_age(request, in_query, &purge.until_ms)) {
        pawl__reply_invalid(request, "older_than",
                            "\"older_than\" must be a duration such as \"P7D\" or an instant");
        return;
    }
    purge_jobs(request, &filter, &purge);
}
