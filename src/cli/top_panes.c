/* The lists of pawl top, as tables: queues, running jobs, failed jobs. */
#include "cli/top.h"
#include "base/time_text.h"

#include <inttypes.h>

enum { MARK = 2, ID_TAIL = 12, ID_WHOLE_FROM = 110 };

#define HIGHLIGHT "\033[7m"

static void check(const struct pawl__buf *buf)
{
    if (buf->failed) pawl__cli_nomem();
}

void pawl__cli_top_put_rate(struct pawl__buf *buf, bool known, double rate)
{
    if (!known) {
        pawl__buf_add_text(buf, "-");
    } else {
        pawl__buf_printf(buf, rate < 99.95 ? "%.1f" : "%.0f", rate);
    }
}

size_t pawl__cli_top_pane_count(const struct pawl__cli_top *top, enum pawl__cli_top_pane pane)
{
    if (pane == PAWL__CLI_TOP_QUEUES) return top->view.queue_count;
    return pawl__cli_top_pane_jobs(top, pane)->count;
}

const struct pawl__cli_top_jobs *pawl__cli_top_pane_jobs(const struct pawl__cli_top *top,
                                                         enum pawl__cli_top_pane pane)
{
    return pane == PAWL__CLI_TOP_RUNNING ? &top->view.running : &top->view.failed;
}

static void buffer_cell(struct pawl__cli_table *table, struct pawl__buf *buf, const char *colour)
{
    check(buf);
    pawl__cli_table_cell(table, buf->at ? buf->at : "", buf->len, colour);
    pawl__buf_release(buf);
}

/* A least width, so that columns do not jump about with every digit. */
static void int_cell(struct pawl__cli_table *table, int64_t value, const char *colour)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%5" PRId64, value);
    pawl__cli_table_cell(table, text, (size_t)len, value ? colour : NULL);
}

static void ago_cell(struct pawl__cli_table *table, int64_t at_ms, int64_t now_ms)
{
    char text[PAWL__DURATION_TEXT_BYTES], wide[PAWL__DURATION_TEXT_BYTES + 8];
    int64_t ms = now_ms > at_ms ? now_ms - at_ms : 0;
    pawl__duration_text(ms - ms % 1000, text);
    int len = snprintf(wide, sizeof wide, "%7s", text);
    pawl__cli_table_cell(table, wide, (size_t)len, NULL);
}

static void add_columns(struct pawl__cli_table *table, const struct pawl__cli_column *columns,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pawl__cli_table_column(table, columns[i]);
    }
}

static void queue_columns(struct pawl__cli_table *table, const char *title, bool rated)
{
    const struct pawl__cli_column columns[] = {
        { .title = title, .least = 10 },
        { .title = "PAUSED" },
        { .title = "AVAIL", .right = true },
        { .title = "ACTIVE", .right = true },
        { .title = "SCHED", .right = true, .droppable = 3 },
        { .title = "RETRY", .right = true, .droppable = 2 },
        { .title = "DEAD", .right = true, .droppable = 1 },
        { .title = "DONE/S", .right = true },
    };
    add_columns(table, columns, sizeof columns / sizeof columns[0] - !rated);
}

static void queue_row(struct pawl__cli_top_canvas *canvas, struct pawl__cli_table *table, size_t i,
                      bool bare)
{
    static const enum pawl_state shown[] = { PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE,
                                             PAWL_STATE_SCHEDULED, PAWL_STATE_RETRYABLE,
                                             PAWL_STATE_DISCARDED };
    const struct pawl__cli_top_queue *queue = &canvas->top->view.queues[i];
    bool mark = queue->paused && !bare;
    pawl__cli_table_text(table, queue->name);
    pawl__cli_table_cell(table, "paused", queue->paused ? 6 : 0,
                         mark ? pawl__cli_state_colour(canvas->cli, PAWL_STATE_PAUSED) : NULL);
    for (size_t j = 0; j < sizeof shown / sizeof shown[0]; j++) {
        int_cell(table, queue->now.count[shown[j]],
                 bare ? "" : pawl__cli_state_colour(canvas->cli, shown[j]));
    }
    if (!canvas->columns) return;
    struct pawl__buf rate = { 0 };
    pawl__cli_top_put_rate(&rate, queue->rates.known, queue->rates.completed);
    buffer_cell(table, &rate, NULL);
}

static void running_columns(struct pawl__cli_table *table, const char *title)
{
    const struct pawl__cli_column columns[] = {
        { .title = title },
        { .title = "TYPE", .least = 8 },
        { .title = "QUEUE", .least = 6, .droppable = 2 },
        { .title = "WORKER", .least = 6, .droppable = 1 },
        { .title = "TRY", .right = true, .droppable = 3 },
        { .title = "FOR", .right = true },
    };
    add_columns(table, columns, sizeof columns / sizeof columns[0]);
}

static void failed_columns(struct pawl__cli_table *table, const char *title)
{
    const struct pawl__cli_column columns[] = {
        { .title = title },
        { .title = "TYPE", .least = 8 },
        { .title = "QUEUE", .least = 6, .droppable = 3 },
        { .title = "STATE" },
        { .title = "TRY", .right = true, .droppable = 2 },
        { .title = "AGO", .right = true, .droppable = 1 },
        { .title = "ERROR", .least = 14 },
    };
    add_columns(table, columns, sizeof columns / sizeof columns[0]);
}

/* The beginning of an id is the time, alike for all that are new; its end tells them apart. */
static void id_cell(struct pawl__cli_top_canvas *canvas, struct pawl__cli_table *table,
                    struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    bool whole = !canvas->columns || canvas->columns + 1 >= ID_WHOLE_FROM;
    pawl__cli_table_text(table, whole ? text : text + strlen(text) - ID_TAIL);
}

static void job_row(struct pawl__cli_top_canvas *canvas, struct pawl__cli_table *table,
                    enum pawl__cli_top_pane pane, size_t i, bool bare)
{
    struct pawl__cli *cli = canvas->cli;
    const struct pawl__cli_top_job *job = &pawl__cli_top_pane_jobs(canvas->top, pane)->at[i];
    struct pawl__buf attempts = { 0 };
    id_cell(canvas, table, job->id);
    pawl__cli_table_text(table, job->type);
    pawl__cli_table_text(table, job->queue);
    if (pane == PAWL__CLI_TOP_RUNNING) {
        pawl__cli_table_text(table, job->worker);
    } else {
        const char *state = pawl__cli_state_text(cli, job->state);
        pawl__cli_table_cell(table, state, strlen(state),
                             bare ? "" : pawl__cli_state_colour(cli, job->state));
    }
    pawl__buf_printf(&attempts, "%" PRId64 "/%" PRId32, job->tries, job->attempts_max);
    buffer_cell(table, &attempts, NULL);
    ago_cell(table, job->at_ms, cli->now_ms);
    if (pane == PAWL__CLI_TOP_FAILED) pawl__cli_table_text(table, job->error);
}

/* The lines of a table, with a mark before the chosen one. */
static void put_marked(struct pawl__cli_top_canvas *canvas, const char *text, size_t chosen)
{
    struct pawl__buf *out = &canvas->lines;
    bool colour = canvas->cli->colour && chosen; // titles have a colour of their own
    for (size_t i = 0; *text; i++) {
        size_t len = strcspn(text, "\n");
        bool here = i == chosen;
        if (here && colour) pawl__buf_add_text(out, HIGHLIGHT);
        pawl__buf_add_text(out, here ? "> " : "  ");
        pawl__buf_add(out, text, len);
        if (here && colour) {
            size_t width = MARK + pawl__cli_width(text, len);
            int pad = width < canvas->columns ? (int)(canvas->columns - width) : 0;
            pawl__buf_printf(out, "%*s%s", pad, "", pawl__cli_plain(canvas->cli));
        }
        pawl__buf_add_text(out, "\n");
        text += len + (text[len] == '\n');
    }
}

/* The list's name, and where one is in it when it is longer than its place. */
static const char *title_of(const struct pawl__cli_top *top, const struct pawl__cli_top_place *pane,
                            struct pawl__arena *arena)
{
    static const char *const names[] = { "QUEUE", "RUNNING", "FAILED" };
    char text[80];
    if (pane->shown == pane->count) return names[pane->id];
    int len = snprintf(text, sizeof text, "%s %zu/%zu", names[pane->id],
                       top->cursors[pane->id].index + 1, pane->count);
    return pawl__cli_need(pawl__arena_dup(arena, text, (size_t)len));
}

static void fill(struct pawl__cli_top_canvas *canvas, struct pawl__cli_table *table,
                 const struct pawl__cli_top_place *pane)
{
    const struct pawl__cli_top *top = canvas->top;
    const char *title = title_of(top, pane, &table->arena); // there until the table is printed
    if (pane->id == PAWL__CLI_TOP_QUEUES) queue_columns(table, title, canvas->columns > 0);
    if (pane->id == PAWL__CLI_TOP_RUNNING) running_columns(table, title);
    if (pane->id == PAWL__CLI_TOP_FAILED) failed_columns(table, title);
    for (size_t i = pane->first; i < pane->first + pane->shown; i++) {
        bool bare = canvas->columns && pane->id == top->pane && i == top->cursors[pane->id].index;
        if (pane->id == PAWL__CLI_TOP_QUEUES) queue_row(canvas, table, i, bare);
        if (pane->id != PAWL__CLI_TOP_QUEUES) job_row(canvas, table, pane->id, i, bare);
    }
}

void pawl__cli_top_put_pane(struct pawl__cli_top_canvas *canvas,
                            const struct pawl__cli_top_place *pane)
{
    struct pawl__cli *cli = canvas->cli;
    const struct pawl__cli_top *top = canvas->top;
    struct pawl__cli_table table;
    struct pawl__buf kept = cli->out; // tables are printed there
    cli->out = (struct pawl__buf){ 0 };
    cli->columns = canvas->columns ? (int)canvas->columns - MARK : 0;
    pawl__cli_table_init(&table, cli);
    fill(canvas, &table, pane);
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    check(&cli->out);
    size_t chosen = SIZE_MAX;
    if (pane->id == top->pane)
        chosen = pane->count ? top->cursors[pane->id].index - pane->first + 1 : 0;
    if (canvas->columns) put_marked(canvas, cli->out.at, chosen);
    if (!canvas->columns) pawl__buf_add(&canvas->lines, cli->out.at, cli->out.len);
    pawl__buf_release(&cli->out);
    cli->out = kept;
}
