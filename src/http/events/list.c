/* GET /ojs/v1/events: what happened, one page of it.
 *
 * The loop picks the records; the pool reads what the events say beyond them from the store, and
 * prints. */
#include "base/time_text.h"
#include "http/events/events.h"

#include <string.h>

enum { LIMIT_USUAL = 100, LIMIT_MAX = 1000, NAMES_MAX = 64 };

/* One event of the page. */
struct picked {
    struct pawl__record record; /* names and texts are in the arena */
    const char *queue, *type;
    enum pawl__event_kind kind;
    size_t nth;
};

struct page {
    struct pawl__numbered_page pages; /* page 0: by cursor */
    int64_t total;
    struct picked *at;
    size_t count;
    bool has_more;
    char cursor[PAWL__EVENT_ID_BYTES];
};

/* ---- which ---- */

/* Names of queues or types; `given` but none that anybody holds: nothing fits. */
struct wanted_names {
    bool given;
    const struct pawl__name *at[NAMES_MAX];
    size_t count;
};

struct wanted {
    pawl__kinds kinds;
    struct wanted_names queues, types;
    struct pawl_job_id after;
    int64_t since_ms;
    int64_t limit;
};

static bool read_names(struct pawl__request *request, const char *name, struct wanted_names *out)
{
    const char *list = pawl__request_query(request, name);
    size_t count = 0;
    out->given = list;
    while (list && *list) {
        size_t len = strcspn(list, ",");
        char *text = pawl__arena_dup(&request->arena, list, len);
        if (++count > NAMES_MAX) {
            return pawl__reply_invalid(request, name, "%s holds more than %d names", name,
                                       NAMES_MAX);
        }
        const struct pawl__names *names = pawl__events_names(request->server->events);
        const struct pawl__name *known = text ? pawl__names_find(names, text) : NULL;
        if (known) out->at[out->count++] = known;
        list += len;
        list += *list == ',';
    }
    return true;
}

static bool read_wanted(struct pawl__request *request, struct wanted *out)
{
    const char *types = pawl__request_query(request, "types");
    const char *after = pawl__request_query(request, "after");
    const char *since = pawl__request_query(request, "since");
    if (!types) types = pawl__request_query(request, "type");
    out->kinds = types ? pawl__kinds_parse(types) : ~(pawl__kinds)0;
    out->limit = LIMIT_USUAL;
    if (!pawl__request_int(request, "limit", 1, LIMIT_MAX, &out->limit)) return false;
    if (after && !pawl__event_id_parse(after, &out->after)) {
        return pawl__reply_invalid(request, "after", "after must be an event's id or a cursor");
    }
    if (since && pawl__instant_parse(since, &out->since_ms)) {
        return pawl__reply_invalid(
            request, "since",
            "since must be a timestamp with an offset, like 2026-11-16T05:00:00Z");
    }
    return read_names(request, "queues", &out->queues) &&
           read_names(request, "job_types", &out->types);
}

static bool is_among(const struct wanted_names *names, const struct pawl__name *name)
{
    if (!names->given) return true;
    for (size_t i = 0; i < names->count; i++) {
        if (names->at[i] == name) return true;
    }
    return false;
}

/* ---- picking: on the loop ---- */

static const char *copy(struct pawl__request *request, const char *text)
{
    if (!text) return NULL;
    const char *own = pawl__arena_dup(&request->arena, text, strlen(text));
    return own ? own : "";
}

static void pick(struct pawl__request *request, const struct pawl__record *record,
                 enum pawl__event_kind kind, size_t nth)
{
    struct page *page = request->state;
    struct picked *picked = &page->at[page->count++];
    *picked = (struct picked){ .record = *record, .kind = kind, .nth = nth };
    picked->queue = record->queue ? copy(request, record->queue->text) : NULL;
    picked->type = record->type ? copy(request, record->type->text) : NULL;
    picked->record.subject = (char *)copy(request, record->subject);
    picked->record.data = (char *)copy(request, record->data);
}

static bool fits(const struct wanted *wanted, const struct pawl__record *record)
{
    return is_among(&wanted->queues, record->queue) && is_among(&wanted->types, record->type) &&
           record->at_ms >= wanted->since_ms;
}

static bool is_wanted(const struct wanted *wanted, const struct pawl__record *record,
                      enum pawl__event_kind kind, size_t nth)
{
    struct pawl_job_id id = record->id;
    id.b[15] |= (uint8_t)nth;
    return memcmp(id.b, wanted->after.b, sizeof id.b) > 0 && wanted->kinds & PAWL__KIND_BIT(kind);
}

/* False: the page is full, and this was one too many. */
static bool pick_events(struct pawl__request *request, const struct wanted *wanted,
                        const struct pawl__record *record)
{
    struct page *page = request->state;
    enum pawl__event_kind kinds[PAWL__EVENTS_OF_RECORD_MAX];
    size_t count = pawl__record_kinds(record, kinds);
    for (size_t i = 0; i < count; i++) {
        if (!is_wanted(wanted, record, kinds[i], i + 1)) continue;
        if (page->count == (size_t)wanted->limit) return false;
        pick(request, record, kinds[i], i + 1);
    }
    return true;
}

static void pick_page(struct pawl__request *request, const struct wanted *wanted)
{
    struct pawl__events *events = request->server->events;
    struct page *page = request->state;
    struct pawl_job_id newest = pawl__events_newest(events);
    size_t count = pawl__events_count(events);
    for (size_t i = pawl__events_find(events, &wanted->after); i < count; i++) {
        const struct pawl__record *record = pawl__events_at(events, i);
        if (!fits(wanted, record)) continue;
        page->has_more = !pick_events(request, wanted, record);
        if (page->has_more) break;
    }
    if (page->has_more) {
        const struct picked *last = &page->at[page->count - 1];
        pawl__event_id_text(&last->record.id, last->nth, page->cursor);
    } else {
        pawl__event_id_text(&newest, 3, page->cursor);
    }
}

/* How many there are; those from `from` to `to`, counted from the oldest, are picked. */
static int64_t pick_between(struct pawl__request *request, const struct wanted *wanted,
                            int64_t from, int64_t to)
{
    struct pawl__events *events = request->server->events;
    size_t count = pawl__events_count(events);
    int64_t place = 0;
    for (size_t i = pawl__events_find(events, &wanted->after); i < count; i++) {
        const struct pawl__record *record = pawl__events_at(events, i);
        enum pawl__event_kind kinds[PAWL__EVENTS_OF_RECORD_MAX];
        size_t kind_count = fits(wanted, record) ? pawl__record_kinds(record, kinds) : 0;
        for (size_t k = 0; k < kind_count; k++) {
            if (!is_wanted(wanted, record, kinds[k], k + 1)) continue;
            if (place >= from && place < to) pick(request, record, kinds[k], k + 1);
            place++;
        }
    }
    return place;
}

/* The newest are on page 1, and come first. */
static void pick_numbered(struct pawl__request *request, const struct wanted *wanted)
{
    struct page *page = request->state;
    page->total = pick_between(request, wanted, 0, 0);
    int64_t to = page->total - (page->pages.page - 1) * page->pages.per_page;
    if (to > 0) pick_between(request, wanted, to - page->pages.per_page, to);
    for (size_t i = 0, k = page->count; i + 1 < k; i++) {
        struct picked newer = page->at[--k];
        page->at[k] = page->at[i];
        page->at[i] = newer;
    }
}

/* ---- printing: on the pool ---- */

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_add_text(out, name);
    pawl__buf_add_json(out, text, strlen(text));
}

static void add_instant(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(at_ms, text);
    pawl__buf_printf(out, "%s\"%s\"", name, text);
}

static void add_int(struct pawl__buf *out, const char *name, int64_t value)
{
    pawl__buf_add_text(out, name);
    pawl__buf_add_int(out, value);
}

/* The failure of the event's run; NULL: it has none. */
static const struct pawl_failure *failure_of(const struct pawl_story *story, int64_t run)
{
    for (size_t i = story->failure_count; i-- > 0;) {
        if (story->failures[i].run == run) return &story->failures[i];
    }
    return NULL;
}

/* Runs count for ever, attempts since the job was last revived. */
static int64_t attempt_of(const struct pawl_story *story, int64_t run)
{
    const struct pawl_failure *failure = failure_of(story, run);
    if (failure) return failure->attempt;
    int64_t attempt = story->job.attempt - (story->job.run - run);
    return attempt > 0 ? attempt : run;
}

static void add_worker(struct pawl__buf *out, const struct pawl_story *story, int64_t run)
{
    const struct pawl_failure *failure = failure_of(story, run);
    const char *worker = failure ? failure->worker : "";
    if (story->job.run == run && *story->job.worker) worker = story->job.worker;
    if (*worker) add_text(out, ",\"worker_id\":", worker);
}

static void add_failure(struct pawl__buf *out, const char *name, const struct pawl_failure *failure)
{
    if (!failure) return;
    pawl__buf_add_text(out, name);
    add_text(out, "{\"code\":", failure->code);
    add_text(out, ",\"message\":", failure->message);
    if (*failure->type) add_text(out, ",\"type\":", failure->type);
    pawl__buf_printf(out, ",\"retryable\":%s}", failure->retry_delay_ms >= 0 ? "true" : "false");
}

static void add_duration(struct pawl__buf *out, const struct picked *picked,
                         const struct pawl_story *story)
{
    int64_t since_ms = picked->record.since_ms;
    if (!since_ms && story->job.run == picked->record.run) since_ms = story->job.started_at_ms;
    if (since_ms) add_int(out, ",\"duration_ms\":", picked->record.at_ms - since_ms);
}

static void add_cancel(struct pawl__buf *out, const struct pawl_story *story)
{
    for (size_t i = story->audit_count; i-- > 0;) {
        const struct pawl_audit_entry *entry = &story->audit[i];
        if (entry->to != PAWL_STATE_CANCELLED) continue;
        if (entry->actor && *entry->actor) add_text(out, ",\"cancelled_by\":", entry->actor);
        if (entry->reason && *entry->reason) add_text(out, ",\"reason\":", entry->reason);
        return;
    }
}

static void add_expiry(struct pawl__buf *out, const struct picked *picked,
                       const struct pawl_job *job)
{
    add_instant(out, ",\"created_at\":", job->created_at_ms);
    add_instant(out, ",\"expired_at\":", picked->record.at_ms);
    if (job->expires_at_ms) {
        add_int(out, ",\"ttl_ms\":", job->expires_at_ms - job->created_at_ms);
    }
}

static void add_retry(struct pawl__buf *out, const struct pawl_story *story,
                      const struct pawl_failure *failure)
{
    // as in the envelope: runs that charged nothing come on top
    add_int(out, ",\"max_attempts\":", story->job.attempts_max + story->job.free_runs);
    if (failure && failure->retry_delay_ms >= 0) {
        add_instant(out, ",\"next_retry_at\":", failure->failed_at_ms + failure->retry_delay_ms);
    }
}

/* Once it has run it may be due for other reasons. */
static void add_schedule(struct pawl__buf *out, const struct picked *picked,
                         const struct pawl_job *job)
{
    if (picked->record.to == PAWL_STATE_SCHEDULED && picked->record.run == job->run) {
        add_instant(out, ",\"scheduled_at\":", job->due_at_ms);
    }
}

/* What the store knows beyond the record. */
static void add_known(struct pawl__buf *out, const struct picked *picked,
                      const struct pawl_story *story)
{
    const struct pawl_job *job = &story->job;
    int64_t run = picked->record.run;
    const struct pawl_failure *failure = failure_of(story, run);
    switch (picked->kind) {
    case PAWL__EVENT_ENQUEUED:
        add_int(out, ",\"priority\":", job->priority);
        add_schedule(out, picked, job);
        break;
    case PAWL__EVENT_SCHEDULED:
        add_schedule(out, picked, job);
        break;
    case PAWL__EVENT_STARTED:
        add_worker(out, story, run);
        add_int(out, ",\"attempt\":", attempt_of(story, run));
        break;
    case PAWL__EVENT_COMPLETED:
        add_duration(out, picked, story);
        add_int(out, ",\"attempt\":", attempt_of(story, run));
        if (job->result.len) {
            pawl__buf_add_text(out, ",\"result\":");
            pawl__buf_add(out, job->result.at, job->result.len);
        }
        break;
    case PAWL__EVENT_FAILED:
        add_worker(out, story, run);
        add_int(out, ",\"attempt\":", attempt_of(story, run));
        add_duration(out, picked, story);
        add_failure(out, ",\"error\":", failure);
        break;
    case PAWL__EVENT_RETRYING:
        add_int(out, ",\"attempt\":", attempt_of(story, run));
        add_retry(out, story, failure);
        add_failure(out, ",\"error\":", failure);
        break;
    case PAWL__EVENT_DISCARDED:
        add_int(out, ",\"total_attempts\":", run ? attempt_of(story, run) : 0);
        if (!failure && story->failure_count) failure = &story->failures[story->failure_count - 1];
        add_failure(out, ",\"last_error\":", failure);
        break;
    case PAWL__EVENT_CANCELLED:
        add_cancel(out, story);
        break;
    case PAWL__EVENT_EXPIRED:
        add_expiry(out, picked, job);
        break;
    default:
        break;
    }
}

/* The trace of the job: its own, or the one that its meta carries. */
static void add_trace(struct pawl__buf *out, const struct pawl_job *job, struct pawl__arena *arena)
{
    struct pawl__json meta;
    if (*job->trace_id) {
        add_text(out, ",\"trace_id\":", job->trace_id);
        return;
    }
    if (!job->meta.len || pawl__json_parse(job->meta, PAWL_JSON_DEPTH_MAX, arena, &meta, NULL)) {
        return;
    }
    uint32_t id = pawl__json_member(&meta, 0, "trace_id");
    uint32_t parent = pawl__json_member(&meta, 0, "traceparent");
    if (id && meta.tokens[id].type == PAWL__JSON_STRING) {
        struct pawl_span text = pawl__json_span(&meta, id);
        pawl__buf_add_text(out, ",\"trace_id\":");
        pawl__buf_add(out, text.at, text.len);
    } else if (parent && meta.tokens[parent].type == PAWL__JSON_STRING) {
        struct pawl_span text = pawl__json_span(&meta, parent);
        // "00-TRACE-SPAN-FLAGS", quoted; 32 digits of trace
        if (text.len < 37 || text.at[3] != '-' || text.at[36] != '-') return;
        pawl__buf_add_text(out, ",\"trace_id\":");
        pawl__buf_add_json(out, text.at + 4, 32);
    }
}

static void add_data(struct pawl__buf *out, const struct picked *picked,
                     const struct pawl_story *story, struct pawl__arena *arena)
{
    const struct pawl__record *record = &picked->record;
    size_t empty = out->len + strlen(",\"data\":{");
    pawl__buf_add_text(out, ",\"data\":{");
    if (record->has_job) {
        char id[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(record->job, id);
        pawl__buf_printf(out, "\"job_id\":\"%s\"", id);
    }
    if (picked->type) {
        if (out->len > empty) pawl__buf_add(out, ",", 1);
        add_text(out, "\"job_type\":", picked->type);
    }
    if (picked->queue) {
        if (out->len > empty) pawl__buf_add(out, ",", 1);
        add_text(out, "\"queue\":", picked->queue);
    }
    if (record->progress >= 0) pawl__buf_printf(out, ",\"progress\":%.10g", record->progress);
    if (record->data) {
        if (out->len > empty) pawl__buf_add(out, ",", 1);
        pawl__buf_add_text(out, record->data);
    }
    if (story) add_known(out, picked, story);
    if (story) add_trace(out, &story->job, arena);
    pawl__buf_add(out, "}}", 2);
}

static void add_event(struct pawl__buf *out, const struct picked *picked,
                      const struct pawl_story *story, struct pawl__arena *arena)
{
    char id[PAWL__EVENT_ID_BYTES], subject[PAWL_JOB_ID_TEXT_BYTES];
    char time[PAWL__INSTANT_TEXT_BYTES];
    const char *type = pawl__event_type(picked->kind);
    pawl__event_id_text(&picked->record.id, picked->nth, id);
    pawl_job_id_text(picked->record.job, subject);
    pawl__instant_text(picked->record.at_ms, time);
    pawl__buf_printf(out,
                     "{\"specversion\":\"1.0\",\"id\":\"%s\",\"type\":\"%s\",\"event\":\"%s\","
                     "\"source\":\"ojs://pawl/api\",\"time\":\"%s\",\"timestamp\":\"%s\"",
                     id, type, type, time, time);
    add_text(out, ",\"subject\":", picked->record.subject ? picked->record.subject : subject);
    add_data(out, picked, story, arena);
}

/* A run that was given back has not failed; only the store can tell. */
static bool is_true(const struct picked *picked, const struct pawl_story *story)
{
    bool of_failure = picked->kind == PAWL__EVENT_FAILED || picked->kind == PAWL__EVENT_RETRYING;
    bool sure = picked->record.to == PAWL_STATE_RETRYABLE;
    return !of_failure || sure || (story && failure_of(story, picked->record.run));
}

static bool same_job(const struct picked *picked, const struct pawl_story *story)
{
    return memcmp(picked->record.job.b, story->job.id.b, sizeof story->job.id.b) == 0;
}

static void print_page(struct pawl__request *request)
{
    struct page *page = request->state;
    struct pawl__buf *out = &request->reply;
    struct pawl_story story = { 0 };
    bool known = false;
    const char *comma = "";
    pawl__buf_add_text(out, page->pages.page ? "{\"items\":[" : "{\"events\":[");
    for (size_t i = 0; i < page->count && !out->failed; i++) {
        const struct picked *picked = &page->at[i];
        if (picked->record.has_job && !(known && same_job(picked, &story))) {
            pawl_story_release(&story);
            known = !pawl_story_get(request->server->pawl, picked->record.job, &story, NULL);
        }
        const struct pawl_story *own = picked->record.has_job && known ? &story : NULL;
        if (!is_true(picked, own)) continue;
        pawl__buf_add_text(out, comma);
        comma = ",";
        add_event(out, picked, own, &request->arena);
    }
    pawl_story_release(&story);
    if (page->pages.page) {
        pawl__buf_add_text(out, "],");
        pawl__numbered_page_print(out, &page->pages, page->total);
        pawl__buf_add_text(out, "}");
    } else {
        pawl__buf_printf(out, "],\"cursor\":\"%s\",\"has_more\":%s}", page->cursor,
                         page->has_more ? "true" : "false");
    }
    pawl__reply(request, 200);
}

/* Pages by number, as dashboards turn them, or by cursor. False: answered. */
static bool read_pages(struct pawl__request *request, struct wanted *wanted,
                       struct pawl__numbered_page *out)
{
    bool numbered = pawl__request_query(request, "page") ||
                    pawl__request_query(request, "per_page");
    *out = (struct pawl__numbered_page){ 0 };
    if (!numbered) return true;
    if (!pawl__numbered_page_read(request, out)) return false;
    wanted->limit = out->per_page;
    return true;
}

void pawl__on_events(struct pawl__request *request)
{
    struct wanted wanted = { 0 };
    struct pawl__numbered_page pages;
    const char *accept = pawl__request_header(request, "accept");
    if (accept && strstr(accept, "text/event-stream")) {
        pawl__on_event_stream(request);
        return;
    }
    if (!read_wanted(request, &wanted) || !read_pages(request, &wanted, &pages)) return;
    struct page *page = pawl__arena_calloc(&request->arena, 1, sizeof *page);
    if (page)
        page->at = pawl__arena_calloc(&request->arena, (size_t)wanted.limit, sizeof *page->at);
    if (!page || !page->at) {
        pawl__reply_nomem(request);
        return;
    }
    page->pages = pages;
    request->state = page;
    if (pages.page) {
        pick_numbered(request, &wanted);
    } else {
        pick_page(request, &wanted);
    }
    pawl__request_to_pool(request, print_page);
}
