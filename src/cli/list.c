/* pawl list and pawl dead list: jobs that match, page by page. */
#include "cli/cli.h"

#include <inttypes.h>

enum form { FORM_TABLE, FORM_ARRAY, FORM_PAGE, FORM_LINES };

struct listing {
    struct pawl__cli *cli;
    struct pawl_filter filter;
    enum form form;
    bool dead; /* why a job ended matters more than its arguments */
    struct pawl__cli_table table;
    struct pawl__cli_json page; /* holds the array, and the cursor */
    struct pawl__cli_json array;
    int64_t shown;
};

/* ---- one job ---- */

/* When the next thing happens, or the last thing did. */
static void put_when(struct pawl__buf *buf, const struct pawl_job *job, int64_t now_ms)
{
    if (job->finished_at_ms) {
        pawl__buf_add_text(buf, "ended ");
        pawl__cli_put_when(buf, job->finished_at_ms, now_ms);
    } else if (job->state == PAWL_STATE_ACTIVE) {
        pawl__buf_add_text(buf, "since ");
        pawl__cli_put_when(buf, job->started_at_ms, now_ms);
    } else if (job->state == PAWL_STATE_SCHEDULED || job->state == PAWL_STATE_RETRYABLE) {
        pawl__buf_add_text(buf, "due ");
        pawl__cli_put_when(buf, job->due_at_ms, now_ms);
    }
}

static void buffer_cell(struct pawl__cli_table *table, struct pawl__buf *buf)
{
    if (buf->failed) pawl__cli_nomem();
    pawl__cli_table_cell(table, buf->len ? buf->at : "", buf->len, NULL);
    pawl__buf_clear(buf);
}

static void add_row(struct listing *listing, const struct pawl_job *job)
{
    struct pawl__cli *cli = listing->cli;
    struct pawl__cli_table *table = &listing->table;
    struct pawl__buf buf = { 0 };
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    const char *state = pawl__cli_state_text(cli, job->state);
    pawl__cli_table_text(table, id);
    pawl__cli_table_cell(table, state, strlen(state), pawl__cli_state_colour(cli, job->state));
    pawl__cli_table_text(table, job->queue);
    pawl__cli_table_text(table, job->type);
    pawl__cli_table_int(table, job->priority);
    pawl__buf_printf(&buf, "%" PRId64 "/%" PRId32, pawl__cli_tries(job), job->attempts_max);
    buffer_cell(table, &buf);
    pawl__cli_put_when(&buf, job->created_at_ms, cli->now_ms);
    buffer_cell(table, &buf);
    put_when(&buf, job, cli->now_ms);
    buffer_cell(table, &buf);
    if (listing->dead) {
        pawl__cli_table_text(table, job->dead_letter ? "yes" : "");
        pawl__cli_table_text(table, job->reason);
    } else {
        pawl__cli_table_cell(table, job->args.len ? job->args.at : "", job->args.len, NULL);
    }
    pawl__buf_release(&buf);
}

static bool has_array(const struct listing *listing)
{
    return listing->form == FORM_ARRAY || listing->form == FORM_PAGE;
}

static void add_json(struct listing *listing, const struct pawl_job *job)
{
    struct pawl__cli_json object;
    struct pawl__buf *out = &listing->cli->out;
    if (has_array(listing)) {
        pawl__cli_json_name(&listing->array, NULL);
        pawl__buf_add_text(out, "\n");
    }
    pawl__cli_json_open(&object, out, '{');
    pawl__cli_json_job(listing->cli, &object, job);
    pawl__cli_json_close(&object, '}');
    if (listing->form == FORM_LINES) pawl__buf_add_text(out, "\n");
}

/* ---- the listing ---- */

static void begin(struct listing *listing)
{
    struct pawl__cli_table *table = &listing->table;
    if (listing->form == FORM_PAGE) {
        pawl__cli_json_open(&listing->page, &listing->cli->out, '{');
        pawl__cli_json_name(&listing->page, "jobs");
    }
    if (has_array(listing)) {
        pawl__cli_json_open(&listing->array, &listing->cli->out, '[');
    }
    pawl__cli_table_init(table, listing->cli);
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "ID" });
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "STATE" });
    pawl__cli_table_column(
        table, (struct pawl__cli_column){ .title = "QUEUE", .least = 7, .droppable = 1 });
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "TYPE", .least = 9 });
    pawl__cli_table_column(
        table, (struct pawl__cli_column){ .title = "PRI", .right = true, .droppable = 4 });
    pawl__cli_table_column(
        table, (struct pawl__cli_column){ .title = "TRY", .right = true, .droppable = 3 });
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "CREATED", .droppable = 6 });
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "WHEN", .droppable = 2 });
    if (listing->dead) {
        pawl__cli_table_column(table,
                               (struct pawl__cli_column){ .title = "LETTER", .droppable = 5 });
        pawl__cli_table_column(
            table, (struct pawl__cli_column){ .title = "REASON", .least = 12, .droppable = 7 });
    } else {
        pawl__cli_table_column(
            table, (struct pawl__cli_column){ .title = "ARGS", .least = 10, .droppable = 7 });
    }
}

static int put_page(struct listing *listing, const struct pawl_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (listing->form == FORM_TABLE) {
            add_row(listing, &jobs->at[i]);
        } else {
            add_json(listing, &jobs->at[i]);
        }
    }
    listing->shown += (int64_t)jobs->count;
    if (listing->form == FORM_TABLE && jobs->count) pawl__cli_table_print(&listing->table);
    return pawl__cli_flush(listing->cli);
}

/* All pages, or as many as --limit asks for. `next` is the cursor of what was left out. */
static int put_pages(struct listing *listing, int64_t limit, char next[PAWL_CURSOR_BYTES])
{
    struct pawl__cli *cli = listing->cli;
    const char *cursor = pawl__cli_text(cli, PAWL__CLI_OPT_CURSOR);
    do {
        struct pawl_diag diag = { 0 };
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = {
            .limit = limit < PAWL_PAGE_MAX ? limit : PAWL_PAGE_MAX,
            .oldest_first = pawl__cli_flag(cli, PAWL__CLI_OPT_OLDEST_FIRST),
            .cursor = cursor,
        };
        enum pawl_err err = pawl_query(cli->pawl, &listing->filter, &page, &jobs, &diag);
        int code = err ? pawl__cli_fail(err, &diag) : put_page(listing, &jobs);
        memcpy(next, jobs.next, PAWL_CURSOR_BYTES);
        limit -= (int64_t)jobs.count;
        pawl_jobs_release(&jobs);
        if (code) return code;
        cursor = next;
    } while (limit > 0 && next[0]);
    return PAWL__CLI_EXIT_OK;
}

static int finish(struct listing *listing, const char *next)
{
    struct pawl__cli *cli = listing->cli;
    if (has_array(listing)) {
        if (listing->array.some) pawl__buf_add_text(&cli->out, "\n");
        pawl__cli_json_close(&listing->array, ']');
    }
    if (listing->form == FORM_PAGE) {
        pawl__cli_json_some_text(&listing->page, "next", next);
        pawl__cli_json_close(&listing->page, '}');
    }
    if (has_array(listing)) pawl__buf_add_text(&cli->out, "\n");
    int code = pawl__cli_flush(cli);
    if (code || cli->quiet || listing->form == FORM_PAGE) return code;
    if (next[0]) {
        fprintf(stderr, "there are more; go on with --cursor %s, or see all with --all\n", next);
    } else if (!listing->shown && listing->form == FORM_TABLE) {
        fputs(listing->dead ? "no discarded jobs\n" : "no jobs\n", stderr);
    }
    return code;
}

static int put_total(struct pawl__cli *cli, const struct pawl_filter *filter)
{
    struct pawl_diag diag = { 0 };
    int64_t count;
    enum pawl_err err = pawl_count(cli->pawl, filter, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    pawl__buf_printf(&cli->out, cli->json ? "{\"count\":%" PRId64 "}\n" : "%" PRId64 "\n", count);
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_listing(struct pawl__cli *cli, uint32_t states)
{
    struct listing listing = { .cli = cli, .dead = states != 0 };
    char next[PAWL_CURSOR_BYTES] = "";
    int64_t limit = pawl__cli_int(cli, PAWL__CLI_OPT_LIMIT);
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_ALL)) limit = INT64_MAX;
    if (cli->json) {
        bool lines = pawl__cli_flag(cli, PAWL__CLI_OPT_JSONL);
        bool paged = pawl__cli_flag(cli, PAWL__CLI_OPT_PAGED);
        if (lines && paged)
            return pawl__cli_usage("\"--jsonl\" and \"--paged\" exclude each other");
        listing.form = lines ? FORM_LINES : paged ? FORM_PAGE : FORM_ARRAY;
    }
    int code = pawl__cli_filter(cli, &listing.filter);
    if (code) return code;
    if (!listing.filter.states) listing.filter.states = states;
    code = pawl__cli_open(cli);
    if (code) return code;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_COUNT)) return put_total(cli, &listing.filter);
    begin(&listing);
    code = put_pages(&listing, limit, next);
    if (!code) code = finish(&listing, next);
    pawl__cli_table_release(&listing.table);
    return code;
}

int pawl__cli_list(struct pawl__cli *cli)
{
    return pawl__cli_listing(cli, 0);
}

int pawl__cli_dead_list(struct pawl__cli *cli)
{
    return pawl__cli_listing(cli, PAWL_STATE_BIT(PAWL_STATE_DISCARDED));
}
