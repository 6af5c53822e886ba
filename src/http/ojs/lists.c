/* Pages of jobs, and filters out of bodies. */
#include "http/ojs/lists.h"
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

/* The cursor behind the first `offset` jobs; "" when there are not that many. */
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

void pawl__paging_print(struct pawl__buf *out, const struct pawl__paging *paging, int64_t total,
                        const char *next)
{
    pawl__buf_printf(out,
                     "\"pagination\":{\"total\":%lld,\"limit\":%lld,\"offset\":%lld,"
                     "\"has_more\":%s",
                     (long long)total, (long long)paging->limit, (long long)paging->offset,
                     *next ? "true" : "false");
    if (*next) {
        pawl__buf_add_text(out, ",\"next_cursor\":");
        pawl__buf_add_json(out, next, strlen(next));
    }
    pawl__buf_add_text(out, "}");
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
        pawl__job_print_story(&request->reply, &story, PAWL_STATE_NONE);
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

/* ---- out of bodies ---- */

const char *pawl__token_text(struct pawl__request *request, const struct pawl__json *json,
                             uint32_t token)
{
    size_t len;
    if (json->tokens[token].type != PAWL__JSON_STRING) return NULL;
    const char *text = pawl__json_string(json, token, &request->arena, &len);
    return text && strlen(text) == len ? text : NULL;
}

bool pawl__ids_read(struct pawl__request *request, const struct pawl__json *json, const char *name,
                    size_t max, struct pawl__ids *out)
{
    uint32_t array = pawl__json_member(json, 0, name);
    *out = (struct pawl__ids){ 0 };
    if (!array || json->tokens[array].type != PAWL__JSON_ARRAY || json->tokens[array].count > max) {
        return pawl__reply_invalid(request, name, "%s must be an array of at most %zu job ids",
                                   name, max);
    }
    out->count = json->tokens[array].count;
    out->at = pawl__arena_calloc(&request->arena, out->count + 1, sizeof *out->at);
    if (!out->at) return pawl__reply_nomem(request);
    uint32_t token = pawl__json_first(array);
    for (size_t i = 0; i < out->count; i++, token = json->tokens[token].next) {
        const char *text = pawl__token_text(request, json, token);
        if (text && pawl__id_read(text, &out->at[i])) continue;
        return pawl__reply_invalid(request, name, "%s[%zu] is not a job's id", name, i);
    }
    return true;
}

/* ---- filters ---- */

/* A string, or an array of strings, as a list in the arena. False: answered. */
static bool read_names(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, const char *name, const char *const **out, size_t *count)
{
    uint32_t token = pawl__json_member(json, object, name);
    if (!token || json->tokens[token].type == PAWL__JSON_NULL) return true;
    bool array = json->tokens[token].type == PAWL__JSON_ARRAY;
    size_t n = array ? json->tokens[token].count : 1;
    if (array) token = pawl__json_first(token);
    const char **list =
        n && n <= FILTER_NAMES_MAX ? pawl__arena_calloc(&request->arena, n, sizeof *list) : NULL;
    for (size_t i = 0; list && i < n; i++, token = json->tokens[token].next) {
        list[i] = pawl__token_text(request, json, token);
        if (!list[i]) list = NULL;
    }
    if (!list) {
        return pawl__reply_invalid(request, name,
                                   "%s must be a string or an array of 1 to %d strings", name,
                                   FILTER_NAMES_MAX);
    }
    *out = list;
    *count = n;
    return true;
}

bool pawl__filter_states(struct pawl__request *request, const struct pawl__json *json,
                         uint32_t object, uint32_t *out)
{
    const char *const *names = NULL;
    size_t count = 0;
    if (!read_names(request, json, object, "state", &names, &count)) return false;
    if (!count && !read_names(request, json, object, "states", &names, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = pawl_state_mask(names[i], PAWL_VOCABULARY_OJS);
        if (!mask) {
            return pawl__reply_invalid(request, "state", "\"%.32s\" is not a state", names[i]);
        }
        *out |= mask;
    }
    return true;
}

static bool read_instant(struct pawl__request *request, const struct pawl__json *json,
                         uint32_t object, const char *name, int64_t *out)
{
    const char *text;
    return pawl__body_text(request, json, object, name, &text) &&
           pawl__bound_read(request, name, text, out);
}

/* One member of meta, and what it must be. */
static bool read_meta(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                      struct pawl_filter *out)
{
    uint32_t meta = pawl__json_member(json, object, "meta");
    if (!meta || json->tokens[meta].type == PAWL__JSON_NULL) return true;
    if (json->tokens[meta].type == PAWL__JSON_OBJECT && json->tokens[meta].count == 1) {
        uint32_t name = pawl__json_first(meta);
        struct pawl_span value = pawl__json_span(json, name + 1);
        bool text = json->tokens[name + 1].type == PAWL__JSON_STRING;
        bool plain = json->tokens[name + 1].type < PAWL__JSON_ARRAY &&
                     json->tokens[name + 1].type != PAWL__JSON_NULL;
        out->meta_key = pawl__token_text(request, json, name);
        out->meta_value = text    ? pawl__token_text(request, json, name + 1)
                          : plain ? pawl__arena_dup(&request->arena, value.at, value.len)
                                  : NULL;
        if (out->meta_key && out->meta_value) return true;
    }
    return pawl__reply_invalid(
        request, "meta", "meta must be an object with one member: a string, a number or a boolean");
}

static bool is_known(const char *text, const char *const *known)
{
    while (*known && strcmp(text, *known) != 0)
        known++;
    return *known != NULL;
}

bool pawl__body_knows(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                      const char *const *known)
{
    uint32_t name = pawl__json_first(object);
    for (uint32_t i = 0; i < json->tokens[object].count; i++, name = json->tokens[name + 1].next) {
        const char *text = pawl__token_text(request, json, name);
        if (text && is_known(text, known)) continue;
        struct pawl__buf list = { 0 };
        for (const char *const *one = known; *one; one++) {
            pawl__buf_printf(&list, "%s%s", one == known ? "" : one[1] ? ", " : " or ", *one);
        }
        pawl__reply_invalid(request, text ? text : "body", "unknown member \"%.40s\": use %s",
                            text ? text : "", list.failed ? "another" : list.at);
        pawl__buf_release(&list);
        return false;
    }
    return true;
}

bool pawl__filter_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, struct pawl_filter *out)
{
    static const char *const known[] = { "type",     "queue",          "state",
                                         "states",   "enqueued_after", "enqueued_before",
                                         "priority", "meta",           NULL };
    int64_t priority = INT64_MAX;
    if (!pawl__body_knows(request, json, object, known) ||
        !read_names(request, json, object, "type", &out->types, &out->type_count) ||
        !read_names(request, json, object, "queue", &out->queues, &out->queue_count) ||
        !pawl__filter_states(request, json, object, &out->states) ||
        !read_instant(request, json, object, "enqueued_after", &out->created_from_ms) ||
        !read_instant(request, json, object, "enqueued_before", &out->created_until_ms) ||
        !pawl__body_int(request, json, object, "priority", PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX,
                        &priority) ||
        !read_meta(request, json, object, out)) {
        return false;
    }
    if (priority != INT64_MAX) {
        out->priority_given = true;
        out->priority_min = out->priority_max = (int32_t)priority;
    }
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

void pawl__moved_print(struct pawl__buf *out, const char *action, const struct pawl__moved *moved)
{
    int64_t left = moved->matched - moved->moved;
    pawl__buf_printf(out,
                     "\"action\":\"%s\",\"matched\":%lld,\"succeeded\":%lld,\"failed\":%lld,"
                     "\"errors\":[]",
                     action, (long long)moved->matched, (long long)moved->moved,
                     (long long)(left > 0 ? left : 0));
}
