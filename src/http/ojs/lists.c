#include "http/ojs/lists.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/time_text.h"
#include "http/ojs/jobs.h"

#include <string.h>

enum { FILTER_NAMES_MAX = 100 };

void pawl__print_instant(struct pawl__buf *out, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    if (!at_ms) {
        pawl__buf_add_text(out, "null");
        return;
    }
    pawl__instant_text(at_ms, text);
    pawl__buf_add_json(out, text, strlen(text));
}

/* ---- pages ---- */

bool pawl__paging_read(struct pawl__request *request, int64_t limit_max, struct pawl__paging *out)
{
    *out = (struct pawl__paging){ .limit = limit_max < 50 ? limit_max : 50 };
    out->cursor = pawl__request_query(request, "cursor");
    return pawl__request_int(request, "limit", 1, limit_max, &out->limit) &&
           pawl__request_int(request, "offset", 0, PAWL__OFFSET_MAX, &out->offset);
}

struct pawl__paging pawl__numbered_paging(const struct pawl__numbered_page *pages)
{
    return (struct pawl__paging){ .limit = pages->per_page,
                                  .offset = (pages->page - 1) * pages->per_page,
                                  .oldest_first = pages->oldest_first };
}

/* Finds the cursor after the first `offset` jobs; "" if there are fewer. */
static enum pawl_err skip(struct pawl *pawl, const struct pawl_filter *filter,
                          const struct pawl__paging *paging, char cursor[PAWL_CURSOR_BYTES],
                          struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    int64_t left = paging->offset;
    cursor[0] = '\0';
    while (!err && left > 0) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = { .limit = left < PAWL_PAGE_MAX ? left : PAWL_PAGE_MAX,
                                  .oldest_first = paging->oldest_first,
                                  .cursor = cursor,
                                  .brief = true };
        err = pawl_query(pawl, filter, &page, &jobs, diag);
        left -= page.limit;
        memcpy(cursor, jobs.next, PAWL_CURSOR_BYTES);
        pawl_jobs_release(&jobs);
        if (!cursor[0]) break;
    }
    return err;
}

bool pawl__paging_query(struct pawl__request *request, const struct pawl_filter *filter,
                        const struct pawl__paging *paging, struct pawl_jobs *out)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_diag diag;
    char cursor[PAWL_CURSOR_BYTES] = "";
    enum pawl_err err = PAWL_OK;
    bool past_end = false;
    if (!paging->cursor && paging->offset) {
        err = skip(pawl, filter, paging, cursor, &diag);
        past_end = !err && !cursor[0];
    }
    if (!err && past_end) err = pawl_count(pawl, filter, &out->total, &diag);
    if (!err && !past_end) {
        struct pawl_page page = { .limit = paging->limit,
                                  .oldest_first = paging->oldest_first,
                                  .cursor = paging->cursor ? paging->cursor : cursor,
                                  .count = true,
                                  .bytes_max = request->server->config.limits.reply_bytes_max,
                                  .brief = !paging->cursor };
        err = pawl_query(pawl, filter, &page, out, &diag);
    }
    if (err) {
        pawl_jobs_release(out);
        pawl__reply_err(request, err, &diag);
    }
    return !err;
}

#define S struct pawl__page_told
static const struct pawl__member page_members[] = {
    PAWL__MEMBER("total", INT64, S, total, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("limit", INT64, S, limit, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("offset", INT64, S, offset, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("has_more", BOOL, S, has_more, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("next_cursor", NAME, S, next),
};
const struct pawl__shape pawl__ojs_page_shape = PAWL__SHAPE(S, page_members);
#undef S

struct pawl__page_told pawl__paging_told(const struct pawl__paging *paging, int64_t total,
                                         const char *next)
{
    return (struct pawl__page_told){ .total = total,
                                     .limit = paging->limit,
                                     .offset = paging->offset,
                                     .has_more = *next != '\0',
                                     .next = next };
}

void pawl__paging_print(struct pawl__buf *out, const struct pawl__paging *paging, int64_t total,
                        const char *next)
{
    const struct pawl__page_told told = pawl__paging_told(paging, total, next);
    static const struct pawl__member member =
        PAWL__WHOLE("pagination", ONE, .shape = &pawl__ojs_page_shape);
    const struct pawl__shape shape = { .members = &member, .count = 1 };
    bool any = false;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &shape, &told, &any);
}

void pawl__job_print_listed(struct pawl__request *request, const struct pawl_job *job,
                            int64_t *room)
{
    struct pawl_story story = { 0 };
    if (pawl_story_of(pawl__request_pawl(request), job, &story, NULL)) {
        pawl__envelope_print(&request->reply, job, NULL);
    } else {
        if ((int64_t)story.checkpoint.len > *room) story.checkpoint = (struct pawl_span){ "", 0 };
        *room -= (int64_t)story.checkpoint.len;
        struct pawl__envelope_more more = pawl__more_of(request, &story);
        pawl__envelope_print(&request->reply, &story.job, &more);
    }
    pawl_story_release(&story);
}

void pawl__jobs_print_stories(struct pawl__request *request, const struct pawl_jobs *jobs)
{
    int64_t room = request->server->config.limits.reply_bytes_max;
    for (size_t i = 0; i < jobs->count; i++) {
        if (i) pawl__buf_add(&request->reply, ",", 1);
        pawl__job_print_listed(request, &jobs->at[i], &room);
    }
}

int64_t pawl__bound(int64_t at_ms)
{
    return at_ms ? at_ms : 1;
}

bool pawl__bound_read(struct pawl__request *request, const char *name, const char *text,
                      int64_t *out)
{
    int64_t at_ms;
    if (!text) return true;
    if (pawl__instant_parse(text, &at_ms) == PAWL_OK) {
        *out = pawl__bound(at_ms);
        return true;
    }
    return pawl__reply_invalid(
        request, name, "%s must be a timestamp with an offset, like 2026-11-16T05:00:00Z", name);
}

/* ---- ids and states from bodies ---- */

#define FN(name)                                                                                   \
    enum pawl_err name(struct pawl__shape_reader *reader, const struct pawl__member *member,       \
                       uint32_t token, void *base)

FN(pawl__ids_read)
{
    const struct pawl__json_token *tokens = reader->json.tokens;
    struct pawl__ids *ids = (struct pawl__ids *)((char *)base + member->offset);
    size_t count = tokens[token].count, len;
    if (tokens[token].type != PAWL__JSON_ARRAY || count > (size_t)member->max) {
        return pawl__shape_refuse(reader, member, "must be an array of at most %lld job ids",
                                  (long long)member->max);
    }
    *ids =
        (struct pawl__ids){ pawl__arena_calloc(reader->arena, count + 1, sizeof *ids->at), count };
    if (!ids->at) return PAWL_ERR_NOMEM;
    uint32_t child = pawl__json_first(token);
    for (size_t i = 0; i < count; i++, child = tokens[child].next) {
        bool is_text = tokens[child].type == PAWL__JSON_STRING;
        const char *text = is_text ? pawl__json_string(&reader->json, child, reader->arena, &len)
                                   : NULL;
        if (text && strlen(text) == len && pawl__id_read(text, &ids->at[i])) continue;
        return pawl__fail_field(reader->diag, PAWL_ERR_ARG, member->name,
                                "\"%s[%zu]\" must be a job's id", member->name, i);
    }
    return PAWL_OK;
}

/* A string, or an array of strings, as a list. */
static FN(read_names)
{
    struct pawl__member list = { .name = member->name,
                                 .kind = PAWL__AS_TEXTS,
                                 .offset = member->offset,
                                 .count_offset = member->count_offset,
                                 .min = 1,
                                 .max = FILTER_NAMES_MAX };
    const size_t one = 1;
    if (reader->json.tokens[token].type == PAWL__JSON_ARRAY) {
        return pawl__shape_value(reader, &list, token, base);
    }
    const char **names = pawl__arena_alloc(reader->arena, sizeof *names);
    if (!names) return PAWL_ERR_NOMEM;
    const struct pawl__member text = { .name = member->name, .kind = PAWL__AS_TEXT };
    memcpy((char *)base + member->offset, &names, sizeof names);
    memcpy((char *)base + member->count_offset, &one, sizeof one);
    return pawl__shape_value(reader, &text, token, names);
}

FN(pawl__states_read)
{
    struct pawl__texts names;
    const struct pawl__member list = { .name = member->name,
                                       PAWL__COUNTED(struct pawl__texts, count) };
    uint32_t *states = (uint32_t *)((char *)base + member->offset);
    enum pawl_err err = read_names(reader, &list, token, &names);
    for (size_t i = 0; !err && i < names.count; i++) {
        uint32_t mask = pawl_state_mask(names.at[i], PAWL_VOCABULARY_OJS);
        if (!mask) {
            return pawl__fail_field(reader->diag, PAWL_ERR_ARG, "state", "\"%s\" is not a state",
                                    pawl__quote(names.at[i]).text);
        }
        *states |= mask;
    }
    return err;
}

uint32_t pawl__states_given(const struct pawl__states *states)
{
    return states->state ? states->state : states->states;
}

/* ---- filters ---- */

struct wanted {
    struct pawl_filter filter;
    struct pawl__states states;
};

static FN(read_bound)
{
    int64_t *at_ms = (int64_t *)((char *)base + member->offset);
    const struct pawl__member instant = { .name = member->name,
                                          .kind = PAWL__AS_INSTANT,
                                          .offset = member->offset };
    enum pawl_err err = pawl__shape_value(reader, &instant, token, base);
    if (!err) *at_ms = pawl__bound(*at_ms);
    return err;
}

static FN(read_priority)
{
    struct pawl_filter *filter = &((struct wanted *)base)->filter;
    struct pawl__member number = *member;
    number.kind = PAWL__AS_INT32;
    enum pawl_err err = pawl__shape_value(reader, &number, token, base);
    filter->priority_given = !err;
    filter->priority_max = filter->priority_min;
    return err;
}

/* An object with one member, the value that the job's must have. */
static FN(read_meta)
{
    struct pawl_filter *filter = &((struct wanted *)base)->filter;
    const struct pawl__json *json = &reader->json;
    uint32_t name = pawl__json_first(token), value = name + 1;
    if (json->tokens[token].type == PAWL__JSON_OBJECT && json->tokens[token].count == 1) {
        struct pawl_span span = pawl__json_span(json, value);
        bool text = json->tokens[value].type == PAWL__JSON_STRING;
        bool plain = json->tokens[value].type < PAWL__JSON_ARRAY &&
                     json->tokens[value].type != PAWL__JSON_NULL;
        size_t key_len = 0, len = span.len;
        filter->meta_key = pawl__json_string(json, name, reader->arena, &key_len);
        filter->meta_value = text    ? pawl__json_string(json, value, reader->arena, &len)
                             : plain ? pawl__arena_dup(reader->arena, span.at, span.len)
                                     : NULL;
        if (filter->meta_key && strlen(filter->meta_key) == key_len && filter->meta_value &&
            strlen(filter->meta_value) == len) {
            return PAWL_OK;
        }
    }
    return pawl__shape_refuse(reader, member,
                              "must be an object with one member: a string, a number or a boolean");
}

#define S struct wanted
#define NAMES(text, member)                                                                        \
    PAWL__MEMBER(text, OWN, S, filter.member##s, PAWL__COUNTED(S, filter.member##_count),          \
                 .read = read_names, .wire = PAWL__AS_TEXTS)
#define BOUND(text, member)                                                                        \
    PAWL__MEMBER(text, OWN, S, filter.member, .read = read_bound, .wire = PAWL__AS_INSTANT)
static const struct pawl__member filter_members[] = {
    NAMES("type", type),
    NAMES("queue", queue),
    PAWL__STATES(S, states),
    BOUND("enqueued_after", created_from_ms),
    BOUND("enqueued_before", created_until_ms),
    PAWL__MEMBER("priority", OWN, S, filter.priority_min, .read = read_priority,
                 .wire = PAWL__AS_INT32, .min = PAWL_PRIORITY_MIN, .max = PAWL_PRIORITY_MAX),
    PAWL__WHOLE("meta", OWN, .read = read_meta, .wire = PAWL__AS_OBJECT),
};
const struct pawl__shape pawl__ojs_filter_shape = PAWL__SHAPE(S, filter_members);
#undef S

bool pawl__filter_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, struct pawl_filter *out)
{
    static const struct pawl__body strict = { .unknown = PAWL__FAULT_INVALID_REQUEST };
    struct wanted wanted = { .filter = *out };
    if (!pawl__object_read(request, json, object, &pawl__ojs_filter_shape, &strict, &wanted)) {
        return false;
    }
    wanted.filter.states = pawl__states_given(&wanted.states);
    *out = wanted.filter;
    return true;
}

bool pawl__filter_is_open(const struct pawl_filter *filter)
{
    return !filter->states && !filter->type_count && !filter->queue_count && !filter->meta_key &&
           !filter->priority_given && !filter->created_from_ms && !filter->created_until_ms;
}

enum pawl_err pawl__bulk_move(struct pawl__request *request, const struct pawl_filter *filter,
                              enum pawl_control control, int64_t max, int64_t *moved,
                              struct pawl_diag *diag)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_by by = pawl__request_by(request);
    *moved = 0;
    while (*moved < max) {
        int64_t step = max - *moved < PAWL_BULK_MAX ? max - *moved : PAWL_BULK_MAX;
        int64_t some = 0;
        enum pawl_err err = control
                                ? pawl_control_many(pawl, filter, control, step, &by, &some, diag)
                                : pawl_delete_many(pawl, filter, step, &by, &some, diag);
        if (err) return err;
        *moved += some;
        if (some < step) break;
    }
    return PAWL_OK;
}

enum pawl_err pawl__move_one(struct pawl__request *request, struct pawl_job_id id,
                             enum pawl_control control, uint32_t states, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    int64_t moved = 0;
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_by by = pawl__request_by(request);
    if (states == UINT32_MAX) {
        return control ? pawl_control(pawl, id, control, &by, NULL, diag)
                       : pawl_delete(pawl, id, &by, diag);
    }
    pawl_job_id_text(id, text);
    const struct pawl_filter only = { .id_prefix = text, .states = states, .archived = !control };
    enum pawl_err err = pawl__bulk_move(request, &only, control, 1, &moved, diag);
    if (err || moved) return err;
    struct pawl_jobs jobs = { 0 };
    err = pawl_get(pawl, id, &jobs, diag); // only to say why
    pawl_jobs_release(&jobs);
    return err ? err : pawl__fail(diag, PAWL_ERR_STATE, "the job's state does not allow this");
}

bool pawl__move_all(struct pawl__request *request, enum pawl_control control,
                    struct pawl_filter *filter, struct pawl__moved *out)
{
    struct pawl_diag diag;
    *out = (struct pawl__moved){ 0 };
    enum pawl_err err = pawl_count(pawl__request_pawl(request), filter, &out->matched, &diag);
    if (!err) err = pawl__bulk_move(request, filter, control, out->matched, &out->moved, &diag);
    if (err) pawl__reply_err(request, err, &diag);
    return !err;
}

#define S struct pawl__moved_told
static const struct pawl__member moved_members[] = {
    PAWL__MEMBER("action", NAME, S, action, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("matched", INT64, S, matched, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("succeeded", INT64, S, succeeded, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("failed", INT64, S, failed, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("errors", ARRAY, S, errors, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_moved_shape = PAWL__SHAPE(S, moved_members);
#undef S

struct pawl__moved_told pawl__moved_told(const char *action, const struct pawl__moved *moved)
{
    int64_t left = moved->matched - moved->moved;
    return (struct pawl__moved_told){ .action = action,
                                      .matched = moved->matched,
                                      .succeeded = moved->moved,
                                      .failed = left > 0 ? left : 0 };
}

void pawl__moved_print(struct pawl__buf *out, const char *action, const struct pawl__moved *moved)
{
    const struct pawl__moved_told told = pawl__moved_told(action, moved);
    bool any = false;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &pawl__ojs_moved_shape,
                              &told, &any);
}
