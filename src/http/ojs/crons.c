/* Recurring jobs: the routes of /ojs/v1/cron, and of /ojs/v1/crons, as the dashboard of the Open
 * Job Spec has them. On the pool. */
#include "http/ojs/cron.h"

#include "http/ojs/ojs.h"

#include <string.h>

/* ---- one ---- */

static bool refuse(struct pawl__request *request, const char *name, enum pawl_err err,
                   const struct pawl_diag *diag)
{
    if (err == PAWL_ERR_NOT_FOUND) return pawl__reply_not_found(request, "cron", name);
    return pawl__reply_err(request, err, diag);
}

/* False: answered, and there is nothing to release. */
static bool read_one(struct pawl__request *request, const char *name, struct pawl_schedules *out)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_schedule_get(pawl__request_pawl(request), name, out, &diag);
    if (!err) return true;
    pawl_schedules_release(out);
    return refuse(request, name, err, &diag);
}

/* Some clients read "cron", some "cron_job", some the members beside these. */
#define S struct pawl_schedule
static const struct pawl__member reply_members[] = {
    PAWL__WHOLE("cron", ONE, .shape = &pawl__ojs_cron_shape, .flags = PAWL__ALWAYS),
    PAWL__WHOLE("cron_job", ONE, .shape = &pawl__ojs_cron_shape, .flags = PAWL__ALWAYS),
    PAWL__WHOLE("", PART, .shape = &pawl__ojs_cron_flat_shape),
};
const struct pawl__shape pawl__ojs_cron_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* Up to the closing brace. */
static void print_one(struct pawl__buf *out, const struct pawl_schedule *schedule)
{
    bool any = false;
    pawl__buf_add_text(out, "{");
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out },
                              &pawl__ojs_cron_reply_shape, schedule, &any);
}

static void reply_one(struct pawl__request *request, const char *name, int status,
                      const struct pawl__warnings *warnings)
{
    struct pawl_schedules schedules = { 0 };
    if (!read_one(request, name, &schedules)) return;
    print_one(&request->reply, &schedules.at[0]);
    if (warnings) pawl__warnings_print(&request->reply, warnings);
    pawl__buf_add_text(&request->reply, "}");
    pawl_schedules_release(&schedules);
    pawl__reply(request, status);
}

void pawl__on_cron_get(struct pawl__request *request)
{
    reply_one(request, request->parts[0], 200, NULL);
}

/* ---- putting ---- */

/* False: answered. What is over a schedule may have already. */
static bool check(struct pawl__request *request, const struct pawl__cron_body *body,
                  enum pawl_cron_reason *reason)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_schedule_check(&body->spec, request->now_ms, reason, NULL, &diag);
    if (!err || *reason == PAWL_CRON_REASON_PAST) return true;
    return pawl__cron_refuse(request, err, *reason, &diag);
}

/* False: answered. */
static bool put(struct pawl__request *request, struct pawl__cron_body *body,
                struct pawl_schedule_put_options *options, struct pawl_schedule_put *out)
{
    struct pawl_diag diag = { 0 };
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    struct pawl_by by = pawl__request_by(request);
    options->actor = by.actor;
    if (!check(request, body, &reason)) return false;
    enum pawl_err err =
        pawl_schedule_put(pawl__request_pawl(request), &body->spec, options, out, &diag);
    if (err == PAWL_ERR_NOT_FOUND) return refuse(request, body->spec.name, err, &diag);
    return err ? pawl__cron_refuse(request, err, reason, &diag) : true;
}

static void put_whole(struct pawl__request *request, const char *name)
{
    struct pawl__cron_body body;
    struct pawl_schedule_put_options options = { .group = NULL };
    struct pawl_schedule_put done = { .version = 0 };
    if (!pawl__cron_read(request, name, NULL, &body) || !put(request, &body, &options, &done)) {
        return;
    }
    reply_one(request, body.spec.name, done.put == PAWL_PUT_CREATED ? 201 : 200, &body.warnings);
}

void pawl__on_cron_create(struct pawl__request *request)
{
    put_whole(request, NULL);
}

void pawl__on_cron_put(struct pawl__request *request)
{
    put_whole(request, request->parts[0]);
}

/* ---- pausing ---- */

/* False: answered. */
static bool set_enabled(struct pawl__request *request, const char *name, bool enabled)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__request_by(request);
    struct pawl *pawl = pawl__request_pawl(request);
    enum pawl_err err = enabled ? pawl_schedule_resume(pawl, name, &by, NULL, &diag)
                                : pawl_schedule_pause(pawl, name, &by, NULL, &diag);
    return err ? refuse(request, name, err, &diag) : true;
}

static void reply_enabled(struct pawl__request *request, bool enabled)
{
    const char *name = request->parts[0];
    if (set_enabled(request, name, enabled)) reply_one(request, name, 200, NULL);
}

void pawl__on_cron_pause(struct pawl__request *request)
{
    reply_enabled(request, false);
}

void pawl__on_cron_resume(struct pawl__request *request)
{
    reply_enabled(request, true);
}

/* Only what the body says changes; "enabled" alone pauses or resumes. */
void pawl__on_cron_patch(struct pawl__request *request)
{
    struct pawl_schedules schedules = { 0 };
    struct pawl__cron_body body;
    struct pawl_schedule_put done;
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    const char *name = request->parts[0];
    if (!read_one(request, name, &schedules)) return;
    const struct pawl_schedule *old = &schedules.at[0];
    struct pawl_schedule_put_options options = { .change_only = true,
                                                 .version = old->version,
                                                 .group = *old->group ? old->group : NULL };
    bool ok = pawl__cron_read(request, name, old, &body);
    if (ok && body.changes) ok = check(request, &body, &reason); // before anything has changed
    if (ok && body.enabled_given) ok = set_enabled(request, name, !body.spec.disabled);
    if (ok && body.changes) {
        if (body.enabled_given) options.version = 0; // it has just changed
        ok = put(request, &body, &options, &done);
    }
    pawl_schedules_release(&schedules);
    if (ok) reply_one(request, name, 200, &body.warnings);
}

/* ---- deleting ---- */

/* The reply has what there was. */
void pawl__on_cron_delete(struct pawl__request *request)
{
    struct pawl_schedules schedules = { 0 };
    struct pawl_diag diag = { 0 };
    const char *name = request->parts[0];
    if (!read_one(request, name, &schedules)) return;
    enum pawl_err err = pawl_schedule_remove(pawl__request_pawl(request), name, 0, &diag);
    if (err) {
        refuse(request, name, err, &diag);
    } else {
        print_one(&request->reply, &schedules.at[0]);
        pawl__buf_add_text(&request->reply, ",\"deleted\":true}");
        pawl__reply(request, 200);
    }
    pawl_schedules_release(&schedules);
}

/* ---- running now ---- */

struct trigger {
    bool force;
};
static const struct pawl__member trigger_members[] = {
    PAWL__MEMBER("force", BOOL, struct trigger, force),
};
const struct pawl__shape pawl__ojs_cron_trigger_request_shape =
    PAWL__SHAPE(struct trigger, trigger_members);

struct ran {
    const char *name;
    struct pawl_schedule_ran ran;
};
#define S struct ran
static const struct pawl__member ran_members[] = {
    PAWL__MEMBER("name", TEXT, S, name),
    PAWL__MEMBER("job_id", ID, S, ran.job),
    PAWL__MEMBER("triggered_at", INSTANT, S, ran.at_ms),
    PAWL__MEMBER("queued", BOOL, S, ran.queued, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_cron_trigger_reply_shape = PAWL__SHAPE(S, ran_members);
#undef S

void pawl__on_cron_trigger(struct pawl__request *request)
{
    static const struct pawl__body optional = { .optional = true };
    struct trigger trigger = { .force = false };
    struct pawl_diag diag = { 0 };
    struct ran ran = { .name = request->parts[0] };
    struct pawl_by by = pawl__request_by(request);
    if (!pawl__request_read(request, &pawl__ojs_cron_trigger_request_shape, &optional, &trigger)) {
        return;
    }
    enum pawl_err err = pawl_schedule_run(pawl__request_pawl(request), ran.name, trigger.force, &by,
                                          &ran.ran, &diag);
    if (err) {
        refuse(request, ran.name, err, &diag);
    } else if (ran.ran.skip) {
        struct pawl__fault fault = { 0 };
        pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "",
                     "an earlier job of \"%s\" has not ended; \"force\" runs it all the same",
                     ran.name);
        pawl__reply_fault_with(request, &fault,
                               (const struct pawl__member[]){
                                   PAWL__HERE_TEXT("reason", pawl_skip_text(ran.ran.skip)) },
                               1);
    } else {
        pawl__reply_shape(request, 201, &pawl__ojs_cron_trigger_reply_shape, &ran);
    }
}

/* ---- history ---- */

/* An entry, and of what it made the job by now. */
struct entry {
    struct pawl_firing firing;
    const char *kind;
    enum pawl_state state; /* NONE: there is no job, or it has gone */
    int64_t started_at_ms, finished_at_ms;
};

#define S struct entry
static const struct pawl__member entry_members[] = {
    PAWL__MEMBER("number", INT64, S, firing.number),
    PAWL__MEMBER("kind", TEXT, S, kind),
    PAWL__MEMBER("at", INSTANT, S, firing.at_ms),
    PAWL__MEMBER("job_id", ID, S, firing.job),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__ojs_state_words),
    PAWL__MEMBER("scheduled_at", INSTANT, S, firing.first_at_ms),
    PAWL__MEMBER("due_at", INSTANT, S, firing.due_at_ms),
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),
    PAWL__MEMBER("completed_at", INSTANT, S, finished_at_ms),
    PAWL__MEMBER("reason", NAME, S, firing.reason),
    PAWL__MEMBER("last_at", INSTANT, S, firing.last_at_ms),
    PAWL__MEMBER("count", INT64, S, firing.count),
    PAWL__MEMBER("queued", BOOL, S, firing.queued),
    PAWL__MEMBER("cancelled", INT64, S, firing.cancelled),
    PAWL__MEMBER("detail", NAME, S, firing.detail),
    PAWL__MEMBER("actor", NAME, S, firing.actor),
};
static const struct pawl__shape entry_shape = PAWL__SHAPE(S, entry_members);
#undef S

struct history {
    const char *name;
    const struct entry *executions, *entries; /* those that made a job; all */
    size_t execution_count, count;
    const char *cursor; /* of the page before this one in time; NULL: there is none */
};
#define S struct history
static const struct pawl__member history_members[] = {
    PAWL__MEMBER("name", TEXT, S, name),
    PAWL__MEMBER("executions", MANY, S, executions, PAWL__COUNTED(S, execution_count),
                 .shape = &entry_shape, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("history", MANY, S, entries, PAWL__COUNTED(S, count), .shape = &entry_shape,
                 .flags = PAWL__ALWAYS),
    PAWL__MEMBER("next_cursor", TEXT, S, cursor),
};
const struct pawl__shape pawl__ojs_cron_history_reply_shape = PAWL__SHAPE(S, history_members);
#undef S

static bool has_job(const struct pawl_firing *firing)
{
    return firing->kind == PAWL_FIRING_FIRED || firing->kind == PAWL_FIRING_RAN;
}

static struct entry entry_of(struct pawl__request *request, const struct pawl_firing *firing)
{
    struct entry entry = { .firing = *firing, .kind = pawl_firing_kind_text(firing->kind) };
    struct pawl_jobs jobs = { 0 };
    if (!has_job(firing)) return entry;
    if (!pawl_get(pawl__request_pawl(request), firing->job, &jobs, NULL)) {
        entry.state = jobs.at[0].state;
        entry.started_at_ms = jobs.at[0].started_at_ms;
        entry.finished_at_ms = jobs.at[0].finished_at_ms;
    }
    pawl_jobs_release(&jobs);
    return entry;
}

static void reply_history(struct pawl__request *request, const struct pawl_firings *firings)
{
    struct history history = { .name = request->parts[0], .count = firings->count };
    struct entry *all = pawl__arena_calloc(&request->arena, firings->count + 1, sizeof *all);
    struct entry *made = pawl__arena_calloc(&request->arena, firings->count + 1, sizeof *made);
    char cursor[24];
    if (!all || !made) {
        pawl__reply_nomem(request);
        return;
    }
    for (size_t i = 0; i < firings->count; i++) {
        all[i] = entry_of(request, &firings->at[i]);
        if (has_job(&all[i].firing)) made[history.execution_count++] = all[i];
    }
    history.entries = all;
    history.executions = made;
    if (firings->more) {
        snprintf(cursor, sizeof cursor, "%lld", (long long)firings->at[firings->count - 1].number);
        history.cursor = cursor;
    }
    pawl__reply_shape(request, 200, &pawl__ojs_cron_history_reply_shape, &history);
}

void pawl__on_cron_history(struct pawl__request *request)
{
    struct pawl_firings firings = { 0 };
    struct pawl_diag diag = { 0 };
    int64_t limit = 50, before = 0;
    const char *name = request->parts[0];
    if (!pawl__request_int(request, "limit", 1, PAWL_FIRINGS_KEPT, &limit) ||
        !pawl__request_int(request, "cursor", 1, INT64_MAX, &before)) {
        return;
    }
    enum pawl_err err =
        pawl_schedule_history(pawl__request_pawl(request), name, before, limit, &firings, &diag);
    if (err) {
        refuse(request, name, err, &diag);
    } else {
        reply_history(request, &firings);
    }
    pawl_firings_release(&firings);
}

/* ---- the list ---- */

/* How many schedules fit the filter: they are few, so they are counted by reading them. */
struct listing {
    struct pawl_schedule_filter filter;
    int64_t offset, limit;
    int64_t total;
    struct pawl__buf items;
};

static enum pawl_err list(struct pawl__request *request, struct listing *listing,
                          struct pawl_diag *diag)
{
    const struct pawl__shape_writer writer = { .out = &listing->items };
    enum pawl_err err = PAWL_OK;
    listing->filter.limit = PAWL_PAGE_MAX;
    for (bool more = true; !err && more;) {
        struct pawl_schedules page = { 0 };
        err = pawl_schedules_get(pawl__request_pawl(request), &listing->filter, &page, diag);
        for (size_t i = 0; !err && i < page.count; i++, listing->total++) {
            if (listing->total < listing->offset ||
                listing->total >= listing->offset + listing->limit) {
                continue;
            }
            if (listing->items.len) pawl__buf_add(&listing->items, ",", 1);
            pawl__shape_print(&writer, &pawl__ojs_cron_shape, &page.at[i]);
        }
        more = page.more && page.count;
        if (!err && more) {
            const char *last = page.at[page.count - 1].spec.name;
            listing->filter.after = pawl__arena_dup(&request->arena, last, strlen(last));
            if (!listing->filter.after) err = PAWL_ERR_NOMEM;
        }
        pawl_schedules_release(&page);
    }
    if (!err && listing->items.failed) err = PAWL_ERR_NOMEM;
    return err;
}

static bool read_filter(struct pawl__request *request, struct pawl_schedule_filter *out)
{
    const uint32_t on = 1U << PAWL_SCHEDULE_ACTIVE | 1U << PAWL_SCHEDULE_HELD;
    const uint32_t off = 1U << PAWL_SCHEDULE_PAUSED | 1U << PAWL_SCHEDULE_EXHAUSTED;
    bool enabled = false;
    *out = (struct pawl_schedule_filter){ .limit = PAWL_PAGE_MAX };
    if (!pawl__request_query(request, "enabled")) return true;
    if (!pawl__request_bool(request, "enabled", &enabled)) return false;
    out->states = enabled ? on : off;
    return true;
}

/* By page and per_page if one of them is given, else by limit and offset. False: answered. */
static bool read_range(struct pawl__request *request, struct listing *listing,
                       struct pawl__numbered_page *pages, bool *numbered)
{
    struct pawl__paging paging = { 0 };
    *numbered = pawl__request_query(request, "page") || pawl__request_query(request, "per_page");
    if (*numbered) {
        if (!pawl__numbered_page_read(request, pages)) return false;
        listing->limit = pages->per_page;
        listing->offset = (pages->page - 1) * pages->per_page;
        return true;
    }
    if (!pawl__paging_read(request, request->server->config.limits.page_size_max, &paging)) {
        return false;
    }
    listing->limit = paging.limit;
    listing->offset = paging.offset;
    *pages = (struct pawl__numbered_page){ .page = paging.offset / paging.limit + 1,
                                           .per_page = paging.limit };
    return true;
}

static void reply_list(struct pawl__request *request, const char *const *names, size_t count)
{
    struct listing listing = { .total = 0 };
    struct pawl__numbered_page pages;
    struct pawl_diag diag = { 0 };
    bool numbered;
    struct pawl__buf *out = &request->reply;
    if (!read_filter(request, &listing.filter) ||
        !read_range(request, &listing, &pages, &numbered)) {
        return;
    }
    enum pawl_err err = list(request, &listing, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
        pawl__buf_release(&listing.items);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        pawl__buf_printf(out, "%s\"%s\":[", i ? "," : "{", names[i]);
        pawl__buf_add(out, listing.items.at, listing.items.len);
        pawl__buf_add_text(out, "]");
    }
    pawl__buf_printf(out,
                     ",\"count\":%lld,\"pagination\":{\"total\":%lld,\"page\":%lld,"
                     "\"per_page\":%lld,\"limit\":%lld,\"offset\":%lld,\"has_more\":%s}}",
                     (long long)listing.total, (long long)listing.total, (long long)pages.page,
                     (long long)pages.per_page, (long long)listing.limit, (long long)listing.offset,
                     listing.offset + listing.limit < listing.total ? "true" : "false");
    pawl__buf_release(&listing.items);
    pawl__reply(request, 200);
}

void pawl__on_crons(struct pawl__request *request)
{
    static const char *const names[] = { "crons", "cron_jobs" };
    reply_list(request, names, 2);
}

void pawl__on_cron_items(struct pawl__request *request)
{
    static const char *const names[] = { "items" };
    reply_list(request, names, 1);
}
