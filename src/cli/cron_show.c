/* pawl cron list, show and history. */
#include "cli/cron.h"

#include "base/time_text.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <string.h>

enum { FIRES_SHOWN = 5, FIRINGS_SHOWN = 10 };

/* ---- list ---- */

static void when_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_schedule *schedule = row;
    const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
    pawl__cli_table_text(table, pawl__cli_cron_brief(table->cli, &recurrence));
}

static void next_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_schedule *schedule = row;
    struct pawl__buf text = { 0 };
    if (schedule->state == PAWL_SCHEDULE_ACTIVE) {
        pawl__cli_put_when(&text, schedule->next_at_ms, table->cli->now_ms);
    } else {
        pawl__buf_add_text(&text, pawl_schedule_state_text(schedule->state));
    }
    pawl__cli_table_buf(table, &text);
}

#define S struct pawl_schedule
static const struct pawl__cli_column schedule_columns[] = {
    PAWL__CLI_FIELD("SCHEDULE", NAME, S, spec.name, .least = 12),
    PAWL__CLI_CELL("WHEN", when_cell, .least = 20),
    PAWL__CLI_CELL("NEXT", next_cell),
    PAWL__CLI_FIELD("TYPE", NAME, S, spec.job.type, .least = 10, .droppable = 2),
    PAWL__CLI_FIELD("LAST", INSTANT, S, last_at_ms, .droppable = 1),
    PAWL__CLI_FIELD("RUNS", INT64, S, runs, .right = true),
    PAWL__CLI_FIELD("SKIPS", INT64, S, skips, .right = true, .droppable = 3),
};
#undef S

int pawl__cli_cron_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(pawl__cli_schedule_shape, schedule_columns, "no schedules");
    struct pawl_diag diag = { 0 };
    struct pawl_schedules schedules = { 0 };
    const struct pawl_schedule_filter filter = {
        .states = (uint32_t)pawl__cli_int(cli, PAWL__CLI_OPT_C_STATE) << 1, // words begin at 1
        .name_prefix = pawl__cli_text(cli, PAWL__CLI_OPT_C_PREFIX),
        .group = pawl__cli_text(cli, PAWL__CLI_OPT_C_GROUP),
        .limit = pawl__cli_int(cli, PAWL__CLI_OPT_C_LIMIT),
    };
    if (filter.limit > PAWL_PAGE_MAX) {
        return pawl__cli_usage("\"--limit\" is at most %d", PAWL_PAGE_MAX);
    }
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_schedules_get(cli->pawl, &filter, &schedules, &diag);
    if (!err) pawl__cli_put_list(cli, &view, schedules.at, schedules.count);
    if (!err && schedules.more && !cli->quiet && !cli->json) {
        code = pawl__cli_flush(cli);
        fprintf(stderr, "there are more; --limit shows up to %d, --prefix selects\n",
                PAWL_PAGE_MAX);
    }
    pawl_schedules_release(&schedules);
    return err ? pawl__cli_fail(err, &diag) : code;
}

/* ---- the history ---- */

static void put_id(struct pawl__buf *out, const char *before, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    pawl__buf_printf(out, "%s%s", before, text);
}

static void put_job(struct pawl__buf *out, const struct pawl_firing *firing)
{
    char late[PAWL__DURATION_TEXT_BYTES];
    put_id(out, "job ", firing->job);
    if (firing->due_at_ms > firing->first_at_ms) {
        pawl__duration_text(firing->due_at_ms - firing->first_at_ms, late);
        pawl__buf_printf(out, ", due %s later", late);
    }
    if (firing->queued) pawl__buf_add_text(out, ", waits for earlier ones");
    if (firing->cancelled) {
        pawl__buf_printf(out, ", %" PRId64 " earlier cancelled", firing->cancelled);
    }
}

void pawl__cli_cron_put_firing(struct pawl__buf *out, const struct pawl_firing *firing)
{
    switch (firing->kind) {
    case PAWL_FIRING_FIRED:
    case PAWL_FIRING_RAN:
        put_job(out, firing);
        break;
    case PAWL_FIRING_SKIPPED:
        if (firing->count > 1) pawl__buf_printf(out, "%" PRId64 " instants: ", firing->count);
        pawl__cli_put_text(out, "", firing->reason);
        break;
    default:
        pawl__cli_put_text(out, "", firing->reason);
        break;
    }
    pawl__cli_put_text(out, ": ", firing->detail);
    pawl__cli_put_text(out, ", by ", firing->actor);
}

static void what_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_firing *firing = row;
    pawl__cli_table_text(table, pawl_firing_kind_text(firing->kind));
}

static void instant_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_firing *firing = row;
    struct pawl__buf text = { 0 };
    if (firing->first_at_ms) pawl__cli_put_instant(&text, firing->first_at_ms);
    pawl__cli_table_buf(table, &text);
}

static void note_cell(struct pawl__cli_table *table, const void *row)
{
    struct pawl__buf text = { 0 };
    pawl__cli_cron_put_firing(&text, row);
    pawl__cli_table_buf(table, &text);
}

#define S struct pawl_firing
static const struct pawl__cli_column firing_columns[] = {
    PAWL__CLI_FIELD("WHEN", INSTANT, S, at_ms),
    PAWL__CLI_CELL("WHAT", what_cell),
    PAWL__CLI_CELL("INSTANT", instant_cell, .droppable = 1),
    PAWL__CLI_CELL("NOTE", note_cell, .least = 20),
};
#undef S

int pawl__cli_cron_history(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(pawl__cli_firing_shape, firing_columns, "nothing has happened yet");
    struct pawl_diag diag = { 0 };
    struct pawl_firings firings = { 0 };
    int64_t limit = pawl__cli_int(cli, PAWL__CLI_OPT_H_LIMIT);
    if (limit > PAWL_FIRINGS_KEPT) {
        return pawl__cli_usage("\"--limit\" is at most %d", PAWL_FIRINGS_KEPT);
    }
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err =
        pawl_schedule_history(cli->pawl, cli->operands.at[0], 0, limit, &firings, &diag);
    if (!err) pawl__cli_put_list(cli, &view, firings.at, firings.count);
    pawl_firings_release(&firings);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* ---- show ---- */

static void put_moment(struct pawl__cli *cli, const char *label, int64_t at_ms)
{
    if (!at_ms) return;
    pawl__cli_put_label(cli, label);
    pawl__cli_put_moment(cli, at_ms);
    pawl__buf_add_text(&cli->out, "\n");
}

/* What clocks do stands in lines of its own. */
static void put_words(struct pawl__cli *cli, const char *words)
{
    pawl__cli_put_label(cli, "when");
    for (const char *end; (end = strstr(words, "; ")); words = end + 2) {
        pawl__buf_add(&cli->out, words, (size_t)(end - words));
        pawl__buf_add_text(&cli->out, "\n");
        pawl__cli_put_label(cli, "");
    }
    pawl__buf_printf(&cli->out, "%s\n", words);
}

static void put_recurrence(struct pawl__cli *cli, const struct pawl_recurrence *recurrence)
{
    const char *words = pawl__cli_cron_words(cli, recurrence);
    if (*words) put_words(cli, words);
    pawl__cli_put_label(cli, recurrence->expression ? "expression" : "instants");
    pawl__cli_cron_put_expression(&cli->out, recurrence);
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_fact(cli, "zone", PAWL__AS_NAME, &recurrence->zone);
    put_moment(cli, "start", recurrence->start_at_ms);
    put_moment(cli, "end", recurrence->end_at_ms);
    if (recurrence->gap == PAWL_GAP_SHIFT) {
        const char *gap = "shift: a time that clocks jump over fires at the end of the jump";
        pawl__cli_put_fact(cli, "gap", PAWL__AS_NAME, &gap);
    }
}

static void put_policies(struct pawl__cli *cli, const struct pawl_schedule_spec *spec)
{
    const char *overlap = pawl_overlap_text(spec->overlap);
    pawl__cli_put_fact(cli, "overlap", PAWL__AS_NAME, &overlap);
    pawl__cli_put_label(cli, "misfire");
    pawl__buf_add_text(&cli->out, pawl_misfire_text(spec->misfire));
    if (spec->misfire == PAWL_MISFIRE_CATCH_UP) {
        pawl__buf_printf(&cli->out, ", up to %" PRId32, spec->catch_up);
    }
    pawl__buf_add_text(&cli->out, spec->catch_up_paused ? ", also on resume\n" : "\n");
    pawl__cli_put_fact(cli, "late at most", PAWL__AS_DURATION, &spec->late_max_ms);
    pawl__cli_put_fact(cli, "jitter", PAWL__AS_DURATION, &spec->jitter_ms);
    pawl__cli_put_fact(cli, "runs at most", PAWL__AS_INT64, &spec->max_runs);
}

static void put_template(struct pawl__cli *cli, const struct pawl_job_spec *job)
{
    pawl__cli_put_label(cli, "job");
    pawl__cli_put_text(&cli->out, "", job->type);
    pawl__cli_put_text(&cli->out, " in queue ", job->queue ? job->queue : "default");
    if (job->priority) pawl__buf_printf(&cli->out, ", priority %" PRId32, job->priority);
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_fact(cli, "arguments", PAWL__AS_JSON, &job->args);
    pawl__cli_put_fact(cli, "meta", PAWL__AS_JSON, &job->meta);
}

static void put_counts(struct pawl__cli *cli, const struct pawl_schedule *schedule)
{
    pawl__cli_put_label(cli, "runs");
    pawl__buf_printf(&cli->out, "%" PRId64 ", %" PRId64 " skipped", schedule->runs,
                     schedule->skips);
    if (schedule->queued) pawl__buf_printf(&cli->out, ", %" PRId64 " held", schedule->queued);
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_facts(struct pawl__cli *cli, const struct pawl_schedule *schedule)
{
    pawl__cli_put_text(&cli->out, "Schedule ", schedule->spec.name);
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_fact(cli, "description", PAWL__AS_NAME, &schedule->spec.description);
    const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
    put_recurrence(cli, &recurrence);
    pawl__cli_put_label(cli, "state");
    pawl__buf_add_text(&cli->out, pawl_schedule_state_text(schedule->state));
    pawl__cli_put_text(&cli->out, ": ", schedule->reason);
    pawl__buf_add_text(&cli->out, "\n");
    put_template(cli, &schedule->spec.job);
    put_policies(cli, &schedule->spec);
    put_moment(cli, "next", schedule->next_at_ms);
    put_moment(cli, "last", schedule->last_at_ms);
    put_counts(cli, schedule);
    pawl__cli_put_fact(cli, "group", PAWL__AS_NAME, &schedule->group);
    put_moment(cli, "created", schedule->created_at_ms);
    if (schedule->version > 1) put_moment(cli, "changed", schedule->updated_at_ms);
}

/* The zone may have vanished: the facts say that the schedule is held. */
static int put_coming(struct pawl__cli *cli, const struct pawl_schedule *schedule)
{
    if (schedule->state != PAWL_SCHEDULE_ACTIVE) return PAWL__CLI_EXIT_OK;
    const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
    pawl__cli_put_title(cli, "Next");
    return pawl__cli_cron_put_coming(cli, &recurrence, schedule->next_at_ms - 1, FIRES_SHOWN);
}

static int put_text(struct pawl__cli *cli, const struct pawl_schedule *schedule,
                    const struct pawl_firings *firings)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(pawl__cli_firing_shape, firing_columns, NULL);
    put_facts(cli, schedule);
    int code = put_coming(cli, schedule);
    if (code || !firings->count) return code;
    pawl__cli_put_title(cli, "History");
    pawl__cli_put_list(cli, &view, firings->at, firings->count);
    return code;
}

static void put_json(struct pawl__cli *cli, const struct pawl_schedule *schedule,
                     const struct pawl_firings *firings)
{
    PAWL__CLI_PUT(cli, PAWL__PART(&pawl__cli_schedule_shape, schedule),
                  PAWL__HERE_MANY("history", &pawl__cli_firing_shape, firings->at, firings->count));
}

static int show(struct pawl__cli *cli, const char *name)
{
    struct pawl_diag diag = { 0 };
    struct pawl_schedules schedules = { 0 };
    struct pawl_firings firings = { 0 };
    int code = PAWL__CLI_EXIT_OK;
    enum pawl_err err = pawl_schedule_get(cli->pawl, name, &schedules, &diag);
    if (!err) err = pawl_schedule_history(cli->pawl, name, 0, FIRINGS_SHOWN, &firings, &diag);
    if (err) {
        code = pawl__cli_fail(err, &diag);
    } else if (cli->json) {
        put_json(cli, &schedules.at[0], &firings);
    } else {
        code = put_text(cli, &schedules.at[0], &firings);
    }
    pawl_schedules_release(&schedules);
    pawl_firings_release(&firings);
    return code;
}

int pawl__cli_cron_show(struct pawl__cli *cli)
{
    int worst = pawl__cli_open(cli);
    for (size_t i = 0; i < cli->operands.count && worst < PAWL__CLI_EXIT_USAGE; i++) {
        if (i && !cli->json) pawl__buf_add_text(&cli->out, "\n");
        int code = show(cli, cli->operands.at[i]);
        if (code > worst) worst = code;
        code = pawl__cli_flush(cli);
        if (code > worst) worst = code;
    }
    return worst;
}
