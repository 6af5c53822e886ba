/* pawl list and pawl dead list: jobs that match a filter, page by page. */
#include "cli/cli.h"

#include <inttypes.h>

enum form { FORM_TABLE, FORM_ARRAY, FORM_PAGE, FORM_LINES };

struct listing {
    struct pawl__cli *cli;
    struct pawl_filter filter;
    enum form form;
    bool dead;
    struct pawl__cli_table table;
    int64_t shown;
};

/* ---- one job ---- */

/* When the job ended, started or is due. */
static void when_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_job *job = row;
    int64_t now_ms = table->cli->now_ms;
    struct pawl__buf buf = { 0 };
    if (job->finished_at_ms) {
        pawl__buf_add_text(&buf, "ended ");
        pawl__cli_put_when(&buf, job->finished_at_ms, now_ms);
    } else if (job->state == PAWL_STATE_ACTIVE) {
        pawl__buf_add_text(&buf, "since ");
        pawl__cli_put_when(&buf, job->started_at_ms, now_ms);
    } else if (job->state == PAWL_STATE_SCHEDULED || job->state == PAWL_STATE_RETRYABLE) {
        pawl__buf_add_text(&buf, "due ");
        pawl__cli_put_when(&buf, job->due_at_ms, now_ms);
    }
    pawl__cli_table_buf(table, &buf);
}

#define FIELD(text, kind, member, ...)                                                             \
    PAWL__CLI_FIELD(text, kind, struct pawl_job, member, __VA_ARGS__)
#define COLUMNS                                                                                    \
    FIELD("ID", ID, id), PAWL__CLI_CELL("STATE", pawl__cli_state_cell),                            \
        FIELD("QUEUE", NAME, queue, .least = 7, .droppable = 1),                                   \
        FIELD("TYPE", NAME, type, .least = 9),                                                     \
        FIELD("PRI", INT32, priority, .right = true, .droppable = 4),                              \
        PAWL__CLI_CELL("TRY", pawl__cli_try_cell, .right = true, .droppable = 3),                  \
        FIELD("CREATED", INSTANT, created_at_ms, .droppable = 6),                                  \
        PAWL__CLI_CELL("WHEN", when_cell, .droppable = 2)

static const struct pawl__cli_column columns[] = {
    COLUMNS,
    FIELD("ARGS", JSON, args, .least = 10, .droppable = 7),
};
/* The reason of the end instead of the arguments. */
static const struct pawl__cli_column dead_columns[] = {
    COLUMNS,
    FIELD("LETTER", BOOL, dead_letter, .droppable = 5),
    FIELD("REASON", NAME, reason, .least = 12, .droppable = 7),
};

static bool has_array(const struct listing *listing)
{
    return listing->form == FORM_ARRAY || listing->form == FORM_PAGE;
}

static void add_json(struct listing *listing, const struct pawl_job *job, bool first)
{
    struct pawl__buf *out = &listing->cli->out;
    struct pawl__shape_writer writer = pawl__cli_writer(listing->cli, out);
    if (has_array(listing)) pawl__buf_add_text(out, first ? "\n" : ",\n");
    pawl__shape_print(&writer, &pawl__cli_job_shape, job);
    if (listing->form == FORM_LINES) pawl__buf_add_text(out, "\n");
}

/* ---- the listing ---- */

static void add_name(struct pawl__buf *out, const char *before, const char *name)
{
    pawl__buf_add_text(out, before);
    pawl__buf_add_json(out, name, strlen(name));
    pawl__buf_add_text(out, ":");
}

static void begin(struct listing *listing)
{
    struct pawl__buf *out = &listing->cli->out;
    if (listing->form == FORM_PAGE) add_name(out, "{", "jobs");
    if (has_array(listing)) pawl__buf_add_text(out, "[");
    pawl__cli_table_init(&listing->table, listing->cli, listing->dead ? dead_columns : columns,
                         listing->dead ? sizeof dead_columns / sizeof *dead_columns
                                       : sizeof columns / sizeof *columns);
}

static int put_page(struct listing *listing, const struct pawl_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (listing->form == FORM_TABLE) {
            pawl__cli_table_row(&listing->table, &jobs->at[i]);
        } else {
            add_json(listing, &jobs->at[i], !listing->shown && !i);
        }
    }
    listing->shown += (int64_t)jobs->count;
    if (listing->form == FORM_TABLE && jobs->count) pawl__cli_table_print(&listing->table);
    return pawl__cli_flush(listing->cli);
}

/* All pages up to `limit` jobs. `next` becomes the cursor of the next page, or "". */
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
    if (has_array(listing)) pawl__buf_add_text(&cli->out, listing->shown ? "\n]" : "]");
    if (listing->form == FORM_PAGE && *next) {
        add_name(&cli->out, ",", "next");
        pawl__buf_add_json(&cli->out, next, strlen(next));
    }
    if (has_array(listing)) {
        pawl__buf_add_text(&cli->out, listing->form == FORM_PAGE ? "}\n" : "\n");
    }
    int code = pawl__cli_flush(cli);
    if (code || cli->quiet || listing->form == FORM_PAGE) return code;
    if (next[0]) {
        fprintf(stderr, "there are more: continue with --cursor %s, or use --all\n", next);
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
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_INT("count", count));
    } else {
        pawl__buf_printf(&cli->out, "%" PRId64 "\n", count);
    }
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
            return pawl__cli_usage("\"--jsonl\" and \"--paged\" cannot both be given");
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
