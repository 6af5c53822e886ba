/* pawl cron apply: makes the schedules of the store as a file says.
 *
 * 1. The whole file is read and checked before the store is opened.
 * 2. Every line is put as a dry run, which says what it would do; then the changes are shown, and
 *    made. A schedule that someone edits in between is not overwritten: its put names the version
 *    that was shown.
 * 3. With --prune, schedules of the file's group that are not in the file are removed; without a
 *    group, those that belong to none. */
#include "cli/cron.h"

#include "cli/cron_file.h"
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SHOWN_MAX = 60 };

enum action { ADD, CHANGE, REMOVE, KEEP, ACTIONS };

static const struct {
    const char *verb, *past, *colour;
    char sign;
} actions[ACTIONS] = { [ADD] = { "add", "added", "\033[32m", '+' },
                       [CHANGE] = { "change", "changed", "\033[33m", '~' },
                       [REMOVE] = { "remove", "removed", "\033[31m", '-' },
                       [KEEP] = { "keep", "unchanged", "", ' ' } };

/* A line of the file, or a schedule that it does not have. */
struct change {
    int64_t line; /* 0: not in the file */
    const char *name;
    struct pawl_schedule_spec spec;
    enum action action;
    const char *detail; /* what differs, or the recurrence in words; NULL: nothing to say */
    int64_t version;    /* of what is there; 0: nothing */
};

struct plan {
    struct pawl__cli *cli;
    const char *path, *group;
    struct change *at;
    size_t count;
    size_t counts[ACTIONS];
};

/* ---- the file ---- */

/* A command line of its own, whose options are those of "pawl cron add". Exit code. */
static int read_entry(struct plan *plan, const struct pawl__cron_entry *entry, struct change *out)
{
    struct pawl__cli *cli = plan->cli;
    struct pawl__cli *line = pawl__cli_need(pawl__arena_calloc(&cli->arena, 1, sizeof *line));
    line->now_ms = cli->now_ms;
    line->vocabulary = cli->vocabulary;
    out->line = (int64_t)entry->line;
    out->name = entry->name;
    int code = pawl__cli_parse_words(line, pawl__cli_command_find("cron", "add"), entry->words,
                                     entry->count);
    if (!code) code = pawl__cli_cron_spec(line, &out->spec);
    return code ? code : pawl__cli_cron_check(cli, &out->spec);
}

static void set_where(const struct plan *plan, int64_t line)
{
    char where[256];
    snprintf(where, sizeof where, "%.200s:%" PRId64, plan->path, line);
    pawl__cli_error_where(pawl__cli_need(pawl__arena_dup(&plan->cli->arena, where, strlen(where))));
}

/* All lines with a mistake are named, not only the first. Exit code. */
static int read_entries(struct plan *plan, const struct pawl__cron_entries *entries)
{
    int worst = PAWL__CLI_EXIT_OK;
    for (size_t i = 0; i < entries->count; i++) {
        set_where(plan, (int64_t)entries->at[i].line);
        int code = read_entry(plan, &entries->at[i], &plan->at[i]);
        if (code > worst) worst = code;
    }
    pawl__cli_error_where(NULL);
    plan->count = entries->count;
    return worst;
}

static int read_file(struct plan *plan)
{
    struct pawl__cli *cli = plan->cli;
    struct pawl_span text;
    struct pawl__cron_entries entries;
    struct pawl_diag diag = { 0 };
    size_t line;
    int code = pawl__cli_read_file(cli, plan->path, &text);
    if (code) return code;
    enum pawl_err err = pawl__cron_file_read(text, &cli->arena, &entries, &line, &diag);
    if (err == PAWL_ERR_NOMEM) pawl__cli_nomem();
    if (err) return pawl__cli_usage("%s:%zu: %s", plan->path, line, diag.text);
    plan->at = pawl__cli_need(pawl__arena_calloc(&cli->arena, entries.count + 1, sizeof *plan->at));
    return read_entries(plan, &entries);
}

/* ---- what is there ---- */

struct there {
    struct pawl_schedules *pages; /* all schedules, by name */
    size_t count;
};

static void release(struct there *there)
{
    for (size_t i = 0; i < there->count; i++) {
        pawl_schedules_release(&there->pages[i]);
    }
    free(there->pages);
}

static int read_there(struct pawl__cli *cli, struct there *there)
{
    struct pawl_schedule_filter filter = { .limit = PAWL_PAGE_MAX };
    struct pawl_diag diag = { 0 };
    for (bool more = true; more;) {
        size_t bytes = (there->count + 1) * sizeof *there->pages;
        there->pages = pawl__cli_need(realloc(there->pages, bytes));
        struct pawl_schedules *page = &there->pages[there->count++];
        memset(page, 0, sizeof *page);
        enum pawl_err err = pawl_schedules_get(cli->pawl, &filter, page, &diag);
        if (err) return pawl__cli_fail(err, &diag);
        more = page->more && page->count;
        if (more) filter.after = page->at[page->count - 1].spec.name;
    }
    return PAWL__CLI_EXIT_OK;
}

static int by_name(const void *key, const void *schedule)
{
    return strcmp(key, ((const struct pawl_schedule *)schedule)->spec.name);
}

static const struct pawl_schedule *find(const struct there *there, const char *name)
{
    const struct pawl_schedule *found = NULL;
    for (size_t i = 0; i < there->count && !found; i++) {
        const struct pawl_schedules *page = &there->pages[i];
        if (page->count) found = bsearch(name, page->at, page->count, sizeof *page->at, by_name);
    }
    return found;
}

/* ---- what differs ---- */

/* As a stored schedule has it: what is not given is the default. */
static struct pawl_schedule_spec resolved(const struct pawl_schedule_spec *spec)
{
    struct pawl_schedule_spec out = *spec;
    if (!out.recurrence.zone) out.recurrence.zone = "UTC";
    if (!out.recurrence.dialect) out.recurrence.dialect = PAWL_DIALECT_AUTO;
    if (!out.recurrence.gap) out.recurrence.gap = PAWL_GAP_SKIP;
    if (!out.overlap) out.overlap = PAWL_OVERLAP_SKIP;
    if (!out.misfire) out.misfire = PAWL_MISFIRE_ONCE;
    if (out.misfire != PAWL_MISFIRE_CATCH_UP) out.catch_up = 0;
    if (out.misfire == PAWL_MISFIRE_CATCH_UP && !out.catch_up) {
        out.catch_up = PAWL_CATCH_UP_DEFAULT;
    }
    if (!out.job.queue) out.job.queue = "default";
    return out;
}

/* The spec as JSON. */
static struct pawl__json json_of(struct pawl__cli *cli, const struct pawl_schedule_spec *spec)
{
    const struct pawl_schedule_spec whole = resolved(spec);
    struct pawl__buf text = { 0 };
    struct pawl__json json;
    struct pawl__shape_writer writer = pawl__cli_writer(cli, &text);
    pawl__shape_print(&writer, &pawl__cli_schedule_spec_shape, &whole);
    if (text.failed) pawl__cli_nomem();
    struct pawl_span kept = { pawl__cli_need(pawl__arena_dup(&cli->arena, text.at, text.len)),
                              text.len };
    pawl__buf_release(&text);
    enum pawl_err err = pawl__json_parse(kept, PAWL_JSON_DEPTH_MAX + 2, &cli->arena, &json, NULL);
    assert(err == PAWL_OK || err == PAWL_ERR_NOMEM);
    if (err) pawl__cli_nomem();
    return json;
}

static void put_value(struct pawl__buf *out, const struct pawl__json *json, uint32_t value)
{
    struct pawl_span span = pawl__json_span(json, value);
    if (!value) {
        pawl__buf_add_text(out, "none");
    } else if (span.len > VALUE_SHOWN_MAX) {
        pawl__buf_add_text(out, "...");
    } else {
        pawl__plain_add(out, span.at, span.len);
    }
}

static bool is(struct pawl_span name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.at, text, name.len) == 0;
}

static bool same(struct pawl_span a, struct pawl_span b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

struct side {
    struct pawl__json json;
    uint32_t object;
};

static void put_difference(struct pawl__buf *out, const char *path, struct pawl_span name,
                           const struct side *old, uint32_t was, const struct side *new,
                           uint32_t now)
{
    pawl__buf_printf(out, "%s%s%.*s: ", out->len ? ", " : "", path, (int)name.len, name.at);
    put_value(out, &old->json, was);
    pawl__buf_add_text(out, " to ");
    put_value(out, &new->json, now);
}

static void put_differing(struct pawl__buf *out, const char *path, const struct side *old,
                          const struct side *new);

/* An object within. */
static void put_inside(struct pawl__buf *out, struct pawl_span name, const struct side *old,
                       uint32_t was, const struct side *new, uint32_t now)
{
    const struct side a = { old->json, was }, b = { new->json, now };
    put_differing(out, is(name, "job") ? "job." : "job.retry.", &a, &b);
}

/* What both have and differs, or the file does not have. */
static void put_common(struct pawl__buf *out, const char *path, const struct side *old,
                       const struct side *new)
{
    uint32_t at = pawl__json_first(old->object);
    for (uint32_t i = 0; i < old->json.tokens[old->object].count;
         i++, at = old->json.tokens[at + 1].next) {
        struct pawl_span name = pawl__json_span(&old->json, at);
        name = (struct pawl_span){ name.at + 1, name.len - 2 };
        uint32_t now = pawl__json_member_span(&new->json, new->object, name);
        bool policy = is(name, "retry");
        if (now && same(pawl__json_span(&old->json, at + 1), pawl__json_span(&new->json, now))) {
            continue;
        }
        if (now && (is(name, "job") || policy)) {
            put_inside(out, name, old, at + 1, new, now);
        } else {
            put_difference(out, path, name, old, at + 1, new, now);
        }
    }
}

/* What the file alone has. */
static void put_new(struct pawl__buf *out, const char *path, const struct side *old,
                    const struct side *new)
{
    uint32_t at = pawl__json_first(new->object);
    for (uint32_t i = 0; i < new->json.tokens[new->object].count;
         i++, at = new->json.tokens[at + 1].next) {
        struct pawl_span name = pawl__json_span(&new->json, at);
        name = (struct pawl_span){ name.at + 1, name.len - 2 };
        if (pawl__json_member_span(&old->json, old->object, name)) continue;
        put_difference(out, path, name, old, 0, new, at + 1);
    }
}

/* "jitter_ms: 1000 to none, job.queue: ..." */
static void put_differing(struct pawl__buf *out, const char *path, const struct side *old,
                          const struct side *new)
{
    put_common(out, path, old, new);
    put_new(out, path, old, new);
}

static const char *differing(struct pawl__cli *cli, const struct plan *plan,
                             const struct pawl_schedule *old, const struct pawl_schedule_spec *new)
{
    struct pawl__buf out = { 0 };
    const struct side a = { json_of(cli, &old->spec), 0 }, b = { json_of(cli, new), 0 };
    const char *group = plan->group ? plan->group : "";
    put_differing(&out, "", &a, &b);
    if (plan->group && strcmp(old->group, group) != 0) {
        pawl__cli_put_text(&out, out.len ? ", " : "", "group: ");
        pawl__cli_put_text(&out, "", old->group[0] ? old->group : "none");
        pawl__cli_put_text(&out, " to ", group[0] ? group : "none");
    }
    if (!out.len && !out.failed) pawl__buf_add_text(&out, "its definition");
    if (out.failed) pawl__cli_nomem();
    const char *kept = pawl__cli_need(pawl__arena_dup(&cli->arena, out.at, out.len));
    pawl__buf_release(&out);
    return kept;
}

/* ---- the plan ---- */

static struct pawl_schedule_put_options options_of(const struct plan *plan,
                                                   const struct change *change)
{
    return (struct pawl_schedule_put_options){ .create_only = change->version == 0,
                                               .change_only = change->version > 0,
                                               .version = change->version,
                                               .group = plan->group,
                                               .actor = pawl__cli_actor(plan->cli) };
}

/* What a line of the file would do. Exit code. */
static int plan_line(struct plan *plan, struct change *change, const struct pawl_schedule *old)
{
    struct pawl_diag diag = { 0 };
    struct pawl_schedule_put put;
    change->version = old ? old->version : 0;
    struct pawl_schedule_put_options options = options_of(plan, change);
    options.dry_run = true;
    enum pawl_err err = pawl_schedule_put(plan->cli->pawl, &change->spec, &options, &put, &diag);
    if (err) return pawl__cli_cron_refused(err, &diag);
    change->action = put.put == PAWL_PUT_CREATED   ? ADD
                     : put.put == PAWL_PUT_CHANGED ? CHANGE
                                                   : KEEP;
    if (change->action == ADD) {
        change->detail = pawl__cli_cron_brief(plan->cli, &change->spec.recurrence);
    } else if (change->action == CHANGE && old) {
        change->detail = differing(plan->cli, plan, old, &change->spec);
    }
    return PAWL__CLI_EXIT_OK;
}

static int plan_lines(struct plan *plan, const struct there *there)
{
    int worst = PAWL__CLI_EXIT_OK;
    for (size_t i = 0; i < plan->count; i++) {
        set_where(plan, plan->at[i].line);
        int code = plan_line(plan, &plan->at[i], find(there, plan->at[i].name));
        if (code > worst) worst = code;
    }
    pawl__cli_error_where(NULL);
    return worst;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of what is there, what the file does not have. */
static void plan_removals(struct plan *plan, const struct there *there)
{
    struct pawl__cli *cli = plan->cli;
    const char *group = plan->group ? plan->group : "";
    size_t total = plan->count, lines = plan->count;
    const char **names = pawl__cli_need(pawl__arena_calloc(&cli->arena, total + 1, sizeof *names));
    for (size_t i = 0; i < total; i++) {
        names[i] = plan->at[i].name;
    }
    qsort(names, total, sizeof *names, by_text);
    for (size_t i = 0; i < there->count; i++) {
        total += there->pages[i].count;
    }
    struct change *all = pawl__cli_need(pawl__arena_calloc(&cli->arena, total + 1, sizeof *all));
    if (plan->count) memcpy(all, plan->at, plan->count * sizeof *all);
    plan->at = all;
    for (size_t i = 0; i < there->count; i++) {
        for (size_t j = 0; j < there->pages[i].count; j++) {
            const struct pawl_schedule *old = &there->pages[i].at[j];
            const char *name = old->spec.name;
            if (strcmp(old->group, group) != 0) continue;
            if (bsearch(&name, names, lines, sizeof *names, by_text)) continue;
            const struct pawl_recurrence recurrence = pawl_schedule_recurrence(old);
            plan->at[plan->count++] = (struct change){
                .name = name,
                .action = REMOVE,
                .version = old->version,
                .detail = pawl__cli_cron_brief(cli, &recurrence),
            };
        }
    }
}

/* ---- showing it ---- */

static void print_action(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct change *change = base;
    pawl__buf_printf(writer->out, "\"%s\"", actions[change->action].verb);
}

#define S struct change
static const struct pawl__member change_members[] = {
    PAWL__MEMBER("name", NAME, S, name, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("action", OWN, S, action, .print = print_action),
    PAWL__MEMBER("line", INT64, S, line),
    PAWL__MEMBER("detail", TEXT, S, detail),
};
static const struct pawl__shape change_shape = PAWL__SHAPE(S, change_members);
#undef S

static void put_lines(struct plan *plan)
{
    struct pawl__cli *cli = plan->cli;
    for (size_t i = 0; i < plan->count; i++) {
        const struct change *change = &plan->at[i];
        if (change->action == KEEP) continue;
        const char *colour = cli->colour ? actions[change->action].colour : "";
        pawl__buf_printf(&cli->out, "%s%c ", colour, actions[change->action].sign);
        pawl__cli_put_text(&cli->out, "", change->name);
        pawl__buf_add_text(&cli->out, pawl__cli_plain(cli));
        pawl__cli_put_text(&cli->out, ": ", change->detail);
        pawl__buf_add_text(&cli->out, "\n");
    }
}

/* "2 to add, 1 to change" */
static void put_summary(struct pawl__buf *out, const struct plan *plan, bool done)
{
    bool any = false;
    for (int action = 0; action < ACTIONS; action++) {
        size_t count = plan->counts[action];
        if (!count) continue;
        const char *word = done || action == KEEP ? actions[action].past : actions[action].verb;
        pawl__buf_printf(out, "%s%zu %s%s", any ? ", " : "", count,
                         done || action == KEEP ? "" : "to ", word);
        any = true;
    }
    if (!any) pawl__buf_add_text(out, "no schedules");
}

static size_t changes_of(const struct plan *plan)
{
    return plan->counts[ADD] + plan->counts[CHANGE] + plan->counts[REMOVE];
}

static void put_result(struct plan *plan, bool done)
{
    struct pawl__cli *cli = plan->cli;
    if (cli->json) {
        struct change *shown =
            pawl__cli_need(pawl__arena_calloc(&cli->arena, plan->count + 1, sizeof *shown));
        size_t count = 0;
        for (size_t i = 0; i < plan->count; i++) {
            if (plan->at[i].action != KEEP) shown[count++] = plan->at[i];
        }
        PAWL__CLI_PUT(cli, PAWL__HERE_BOOL("applied", done),
                      PAWL__HERE_INT("unchanged", (int64_t)plan->counts[KEEP]),
                      PAWL__HERE_MANY("changes", &change_shape, shown, count));
    } else if (!cli->quiet) {
        put_summary(&cli->out, plan, done);
        pawl__buf_add_text(&cli->out, "\n");
    }
}

/* ---- doing it ---- */

static enum pawl_err do_change(struct plan *plan, struct change *change, struct pawl_diag *diag)
{
    const struct pawl_schedule_put_options options = options_of(plan, change);
    if (change->action == KEEP) return PAWL_OK;
    if (change->action == REMOVE) {
        return pawl_schedule_remove(plan->cli->pawl, change->name, change->version, diag);
    }
    return pawl_schedule_put(plan->cli->pawl, &change->spec, &options, NULL, diag);
}

/* Goes on after a refusal: the lines do not depend on each other. */
static int do_all(struct plan *plan)
{
    int worst = PAWL__CLI_EXIT_OK;
    for (size_t i = 0; i < plan->count && worst < PAWL__CLI_EXIT_STORE; i++) {
        struct change *change = &plan->at[i];
        struct pawl_diag diag = { 0 };
        if (change->line) set_where(plan, change->line);
        enum pawl_err err = do_change(plan, change, &diag);
        int code = err ? pawl__cli_cron_refused(err, &diag) : PAWL__CLI_EXIT_OK;
        pawl__cli_error_where(NULL);
        if (err) plan->counts[change->action]--;
        if (code > worst) worst = code;
    }
    return worst;
}

static int ask(struct plan *plan, bool *yes)
{
    struct pawl__buf question = { 0 };
    put_summary(&question, plan, false);
    pawl__buf_add_text(&question, "; apply?");
    if (question.failed) pawl__cli_nomem();
    int code = pawl__cli_flush(plan->cli);
    if (!code) code = pawl__cli_confirm(plan->cli, question.at, yes);
    pawl__buf_release(&question);
    if (!code && !*yes) pawl__cli_error("nothing was changed");
    return code;
}

static int apply(struct plan *plan)
{
    struct pawl__cli *cli = plan->cli;
    bool yes = false, none = changes_of(plan) == 0;
    if (!cli->json && !cli->quiet) put_lines(plan);
    if (none || pawl__cli_flag(cli, PAWL__CLI_OPT_DRY_RUN)) {
        put_result(plan, none);
        return PAWL__CLI_EXIT_OK;
    }
    int code = ask(plan, &yes);
    if (code || !yes) return code ? code : PAWL__CLI_EXIT_REFUSED;
    code = do_all(plan);
    put_result(plan, true);
    return code;
}

int pawl__cli_cron_apply(struct pawl__cli *cli)
{
    struct plan plan = { .cli = cli,
                         .path = cli->operands.at[0],
                         .group = pawl__cli_text(cli, PAWL__CLI_OPT_A_GROUP) };
    struct there there = { 0 };
    int code = read_file(&plan);
    if (!code) code = pawl__cli_open(cli);
    if (!code) code = read_there(cli, &there);
    if (!code) code = plan_lines(&plan, &there);
    if (!code && pawl__cli_flag(cli, PAWL__CLI_OPT_PRUNE)) plan_removals(&plan, &there);
    for (size_t i = 0; i < plan.count; i++) {
        plan.counts[plan.at[i].action]++;
    }
    if (!code) code = apply(&plan);
    release(&there);
    return code;
}
