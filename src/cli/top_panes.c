/* The panes of pawl top as tables: queues, running jobs, failed jobs. */
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

/* Padded, so that the width of a column changes rarely. */
static void int_cell(struct pawl__cli_table *table, int64_t value, const char *colour)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%5" PRId64, value);
    pawl__cli_table_cell(table, text, (size_t)len, value ? colour : NULL);
}

static void ago_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl__cli_top_job *job = row;
    int64_t now_ms = table->cli->now_ms;
    char text[PAWL__DURATION_TEXT_BYTES], wide[PAWL__DURATION_TEXT_BYTES + 8];
    int64_t ms = now_ms > job->at_ms ? now_ms - job->at_ms : 0;
    pawl__duration_text(ms - ms % 1000, text);
    int len = snprintf(wide, sizeof wide, "%7s", text);
    pawl__cli_table_cell(table, wide, (size_t)len, NULL);
}

/* ---- queues ---- */

static void paused_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_queue_stats *queue = row;
    const char *colour = pawl__cli_state_colour(table->cli, PAWL_STATE_PAUSED);
    pawl__cli_table_cell(table, "paused", queue->paused ? 6 : 0, queue->paused ? colour : NULL);
}

static void rate_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl__cli_top_queue *queue = row;
    struct pawl__buf rate = { 0 };
    pawl__cli_top_put_rate(&rate, queue->rates.known, queue->rates.completed);
    pawl__cli_table_buf(table, &rate);
}

#define COUNT_CELL(name, state)                                                                    \
    static void name(struct pawl__cli_table *table, const void *row)                               \
    {                                                                                              \
        const struct pawl_queue_stats *queue = row;                                                \
        int_cell(table, queue->count[state], pawl__cli_state_colour(table->cli, state));           \
    }
COUNT_CELL(available_cell, PAWL_STATE_AVAILABLE)
COUNT_CELL(active_cell, PAWL_STATE_ACTIVE)
COUNT_CELL(scheduled_cell, PAWL_STATE_SCHEDULED)
COUNT_CELL(retryable_cell, PAWL_STATE_RETRYABLE)
COUNT_CELL(dead_cell, PAWL_STATE_DISCARDED)

static const struct pawl__cli_column queue_columns[] = {
    PAWL__CLI_FIELD("QUEUE", NAME, struct pawl_queue_stats, queue, .least = 10),
    PAWL__CLI_CELL("PAUSED", paused_cell),
    PAWL__CLI_CELL("AVAIL", available_cell, .right = true),
    PAWL__CLI_CELL("ACTIVE", active_cell, .right = true),
    PAWL__CLI_CELL("SCHED", scheduled_cell, .right = true, .droppable = 3),
    PAWL__CLI_CELL("RETRY", retryable_cell, .right = true, .droppable = 2),
    PAWL__CLI_CELL("DEAD", dead_cell, .right = true, .droppable = 1),
    PAWL__CLI_CELL("DONE/S", rate_cell, .right = true), // on a terminal only
};

/* ---- jobs ---- */

/* Only the end of an id, unless there is room: the beginning, a time, is the same for new jobs. */
static void id_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_job *job = row;
    int columns = table->cli->columns;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, text);
    bool whole = !columns || columns + MARK + 1 >= ID_WHOLE_FROM;
    pawl__cli_table_text(table, whole ? text : text + strlen(text) - ID_TAIL);
}

#define S struct pawl__cli_top_job
static const struct pawl__cli_column running_columns[] = {
    PAWL__CLI_CELL("RUNNING", id_cell),
    PAWL__CLI_FIELD("TYPE", NAME, S, job.type, .least = 8),
    PAWL__CLI_FIELD("QUEUE", NAME, S, job.queue, .least = 6, .droppable = 2),
    PAWL__CLI_FIELD("WORKER", NAME, S, job.worker, .least = 6, .droppable = 1),
    PAWL__CLI_CELL("TRY", pawl__cli_try_cell, .right = true, .droppable = 3),
    PAWL__CLI_CELL("FOR", ago_cell, .right = true),
};
static const struct pawl__cli_column failed_columns[] = {
    PAWL__CLI_CELL("FAILED", id_cell),
    PAWL__CLI_FIELD("TYPE", NAME, S, job.type, .least = 8),
    PAWL__CLI_FIELD("QUEUE", NAME, S, job.queue, .least = 6, .droppable = 3),
    PAWL__CLI_CELL("STATE", pawl__cli_state_cell),
    PAWL__CLI_CELL("TRY", pawl__cli_try_cell, .right = true, .droppable = 2),
    PAWL__CLI_CELL("AGO", ago_cell, .right = true, .droppable = 1),
    PAWL__CLI_FIELD("ERROR", NAME, S, error, .least = 14),
};
#undef S

#define COLUMNS(array)                                                                             \
    {                                                                                              \
        array, sizeof array / sizeof *array                                                        \
    }
static const struct {
    const struct pawl__cli_column *columns;
    size_t count;
} panes[PAWL__CLI_TOP_PANES] = {
    [PAWL__CLI_TOP_QUEUES] = COLUMNS(queue_columns),
    [PAWL__CLI_TOP_RUNNING] = COLUMNS(running_columns),
    [PAWL__CLI_TOP_FAILED] = COLUMNS(failed_columns),
};

/* ---- drawing ---- */

/* The lines of a table, with a mark before the selected one. */
static void put_marked(struct pawl__cli_top_canvas *canvas, const char *text, size_t selected)
{
    struct pawl__buf *out = &canvas->lines;
    bool colour = canvas->cli->colour && selected; // titles have a colour of their own
    for (size_t i = 0; *text; i++) {
        size_t len = strcspn(text, "\n");
        bool here = i == selected;
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

/* If not all rows are shown, adds the place of the cursor to the title. */
static void set_title(struct pawl__cli_table *table, const struct pawl__cli_top *top,
                      const struct pawl__cli_top_place *pane)
{
    struct pawl__cli_column *column = &table->columns[0];
    char text[80];
    if (pane->shown == pane->count) return;
    int len = snprintf(text, sizeof text, "%s %zu/%zu", column->title,
                       top->cursors[pane->id].index + 1, pane->count);
    column->title = pawl__cli_need(pawl__arena_dup(&table->arena, text, (size_t)len));
    column->natural = (size_t)len; // the arena keeps the text until the table is printed
}

/* The selected row has no colours of its own. */
static void fill(struct pawl__cli_top_canvas *canvas, struct pawl__cli_table *table,
                 const struct pawl__cli_top_place *pane)
{
    const struct pawl__cli_top *top = canvas->top;
    bool colour = canvas->cli->colour;
    set_title(table, top, pane);
    for (size_t i = pane->first; i < pane->first + pane->shown; i++) {
        bool selected = pane->id == top->pane && i == top->cursors[pane->id].index;
        canvas->cli->colour = colour && !(canvas->columns && selected);
        if (pane->id == PAWL__CLI_TOP_QUEUES) {
            pawl__cli_table_row(table, &top->view.queues[i]);
        } else {
            pawl__cli_table_row(table, &pawl__cli_top_pane_jobs(top, pane->id)->at[i]);
        }
    }
    canvas->cli->colour = colour;
}

void pawl__cli_top_put_pane(struct pawl__cli_top_canvas *canvas,
                            const struct pawl__cli_top_place *pane)
{
    struct pawl__cli *cli = canvas->cli;
    const struct pawl__cli_top *top = canvas->top;
    struct pawl__cli_table table;
    struct pawl__buf kept = cli->out; // where tables are printed
    cli->out = (struct pawl__buf){ 0 };
    cli->columns = canvas->columns ? (int)canvas->columns - MARK : 0;
    bool unrated = pane->id == PAWL__CLI_TOP_QUEUES && !canvas->columns;
    pawl__cli_table_init(&table, cli, panes[pane->id].columns, panes[pane->id].count - unrated);
    fill(canvas, &table, pane);
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    check(&cli->out);
    size_t selected = SIZE_MAX;
    if (pane->id == top->pane)
        selected = pane->count ? top->cursors[pane->id].index - pane->first + 1 : 0;
    if (canvas->columns) put_marked(canvas, cli->out.at, selected);
    if (!canvas->columns) pawl__buf_add(&canvas->lines, cli->out.at, cli->out.len);
    pawl__buf_release(&cli->out);
    cli->out = kept;
}
