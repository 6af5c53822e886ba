/* Draws pawl top as lines. A frame has as many lines as the terminal, each cut to its width and
 * cleared to its end, and is written in one piece, which avoids flicker and leftovers. */
#include "cli/top.h"
#include "base/time_text.h"

#include <assert.h>
#include <inttypes.h>

static void check(const struct pawl__buf *buf)
{
    if (buf->failed) pawl__cli_nomem();
}

static size_t line_count(const struct pawl__cli_top_canvas *canvas)
{
    size_t count = 0;
    for (size_t i = 0; i < canvas->lines.len; i++) {
        count += canvas->lines.at[i] == '\n';
    }
    return count;
}

/* ---- header ---- */

static void put_title(struct pawl__cli_top_canvas *canvas)
{
    struct pawl__cli *cli = canvas->cli;
    struct pawl__buf *out = &canvas->lines;
    char now[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(cli->now_ms, now);
    pawl__buf_printf(out, "%spawl top%s  %.10s %.8sZ  ", pawl__cli_bold(cli), pawl__cli_plain(cli),
                     now, now + 11);
    pawl__cli_put_bytes(out, canvas->top->view.stats.store_bytes);
    pawl__buf_add_text(out, "  ");
    pawl__cli_put_text(out, "", cli->place);
    pawl__buf_add_text(out, "\n");
}

/* States by their importance; the first ones are shown even if their count is 0. */
static const enum pawl_state states[] = {
    PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE,  PAWL_STATE_SCHEDULED, PAWL_STATE_RETRYABLE,
    PAWL_STATE_DISCARDED, PAWL_STATE_PAUSED,  PAWL_STATE_PENDING,   PAWL_STATE_COMPLETED,
    PAWL_STATE_CANCELLED, PAWL_STATE_SKIPPED, PAWL_STATE_EXPIRED,
};
enum { STATES = sizeof states / sizeof states[0], STATES_ALWAYS = 5 };
static_assert(STATES == PAWL_STATE_END - 1, "a state that is not shown");

/* States with the same name in the vocabulary are added, and shown at the first of them. */
static bool total_of(const struct pawl__cli_top_canvas *canvas, size_t i, int64_t *total)
{
    const char *name = pawl__cli_state_text(canvas->cli, states[i]);
    *total = 0;
    for (size_t j = 0; j < STATES; j++) {
        if (strcmp(pawl__cli_state_text(canvas->cli, states[j]), name) != 0) continue;
        if (j < i) return false;
        *total += canvas->top->view.all.stats.count[states[j]];
    }
    return true;
}

/* Continues in a second line if the first is full, but not in a third. */
static void put_total(struct pawl__cli_top_canvas *canvas, size_t *at, bool *second,
                      const char *name, const char *colour, int64_t total)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s %" PRId64, name, total);
    if (canvas->columns && !*second && *at && *at + 2 + (size_t)len > canvas->columns) {
        pawl__buf_add_text(&canvas->lines, "\n");
        *at = 0;
        *second = true;
    }
    const char *plain = *colour ? pawl__cli_plain(canvas->cli) : "";
    pawl__buf_printf(&canvas->lines, "%s%s%s%s", *at ? "  " : "", colour, text, plain);
    *at += (size_t)len + (*at ? 2 : 0);
}

static void put_totals(struct pawl__cli_top_canvas *canvas)
{
    size_t at = 0;
    bool second = false;
    for (size_t i = 0; i < STATES; i++) {
        int64_t total;
        if (!total_of(canvas, i, &total) || (!total && i >= STATES_ALWAYS)) continue;
        put_total(canvas, &at, &second, pawl__cli_state_text(canvas->cli, states[i]),
                  total ? pawl__cli_state_colour(canvas->cli, states[i]) : "", total);
    }
    int64_t archived = canvas->top->view.all.stats.archived;
    if (archived) put_total(canvas, &at, &second, "archived", "", archived);
    pawl__buf_add_text(&canvas->lines, "\n");
}

static void put_rates(struct pawl__cli_top_canvas *canvas)
{
    const struct pawl__cli_top_view *view = &canvas->top->view;
    const struct pawl__cli_top_rates *rates = &view->all.rates;
    const struct {
        const char *name;
        double rate;
    } parts[] = { { "submitted ", rates->submitted },
                  { "/s  completed ", rates->completed },
                  { "/s  failed ", rates->failed } };
    if (canvas->columns) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            pawl__buf_add_text(&canvas->lines, parts[i].name);
            pawl__cli_top_put_rate(&canvas->lines, rates->known, parts[i].rate);
        }
        pawl__buf_add_text(&canvas->lines, "/s");
    }
    if (view->stats.next_due_at_ms) {
        pawl__buf_add_text(&canvas->lines, canvas->columns ? "  next due " : "next due ");
        pawl__cli_put_when(&canvas->lines, view->stats.next_due_at_ms, canvas->cli->now_ms);
    }
    if (canvas->columns || view->stats.next_due_at_ms) pawl__buf_add_text(&canvas->lines, "\n");
}

static bool is_alive(const struct pawl_nodes *nodes, size_t i)
{
    return nodes->now_ms - nodes->at[i].heartbeat_at_ms <= PAWL__CLI_TOP_ALIVE_MS;
}

static void put_nodes(struct pawl__cli_top_canvas *canvas)
{
    const struct pawl_nodes *nodes = &canvas->top->view.nodes;
    struct pawl__buf *out = &canvas->lines;
    int64_t alive = 0;
    while (alive < (int64_t)nodes->count && is_alive(nodes, (size_t)alive)) {
        alive++; // the newest heartbeat comes first
    }
    if (!alive) pawl__buf_add_text(out, "no nodes are alive");
    if (alive) pawl__cli_put_count(out, alive, "node");
    if (alive < (int64_t)nodes->count) {
        pawl__buf_printf(out, ", %" PRId64 " silent", (int64_t)nodes->count - alive);
    }
    for (size_t i = 0; i < (size_t)alive; i++) {
        pawl__buf_add_text(out, i ? ", " : ": ");
        pawl__cli_put_text(out, "", nodes->at[i].name);
        pawl__buf_printf(out, " (%" PRId64 " active, ", nodes->at[i].active);
        pawl__cli_put_when(out, nodes->at[i].heartbeat_at_ms, nodes->now_ms);
        pawl__buf_add_text(out, ")");
        if (canvas->columns && i > canvas->columns) break; // the rest would be cut
    }
    pawl__buf_add_text(out, "\n");
}

/* ---- the screen ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The size of the panes depends on the number of queues, not of jobs. */
static void put_panes(struct pawl__cli_top_canvas *canvas)
{
    struct pawl__cli_top *top = canvas->top;
    size_t rows = (size_t)top->rows - line_count(canvas) - 1 - PAWL__CLI_TOP_PANES;
    size_t queues = smaller(top->view.queue_count ? top->view.queue_count : 1, rows / 3);
    size_t running = (rows - queues + 1) / 2;
    const size_t room[] = { queues, running, rows - queues - running };
    for (enum pawl__cli_top_pane id = 0; id < PAWL__CLI_TOP_PANES; id++) {
        struct pawl__cli_top_cursor *cursor = &top->cursors[id];
        size_t count = pawl__cli_top_pane_count(top, id), before = line_count(canvas);
        size_t last = count > room[id] ? count - room[id] : 0;
        if (cursor->index < cursor->first) cursor->first = cursor->index;
        if (cursor->index >= cursor->first + room[id]) cursor->first = cursor->index - room[id] + 1;
        cursor->first = smaller(cursor->first, last);
        pawl__cli_top_put_pane(canvas, &(struct pawl__cli_top_place){
                                           id, cursor->first, smaller(count, room[id]), count });
        while (line_count(canvas) < before + 1 + room[id]) {
            pawl__buf_add_text(&canvas->lines, "\n");
        }
    }
}

static void put_help(struct pawl__cli_top_canvas *canvas)
{
    static const char text[] = "\n"
                               "  up, down, j, k       select a row\n"
                               "  tab, shift-tab       next list, previous list\n"
                               "  p                    pause or resume the queue or the job\n"
                               "  c                    cancel the job, after a confirmation\n"
                               "  r                    retry the failed job, or run it now\n"
                               "  space                update now\n"
                               "  ?                    this help\n"
                               "  q                    quit\n"
                               "\n"
                               "  Rates are differences between two updates.\n"
                               "  The full id of the selected job is at the bottom.\n";
    pawl__buf_add_text(&canvas->lines, text);
}

/* The selected row, and the keys. */
static void put_hints(struct pawl__cli_top_canvas *canvas, struct pawl__buf *out)
{
    static const char *const hints[] = { "p pause", "c cancel",
                                         "r retry or run now  c cancel  p pause" };
    const struct pawl__cli_top *top = canvas->top;
    const struct pawl__cli_top_cursor *cursor = &top->cursors[top->pane];
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (pawl__cli_top_pane_count(top, top->pane)) {
        pawl_job_id_text(cursor->id, id);
        bool queue = top->pane == PAWL__CLI_TOP_QUEUES;
        if (queue) pawl__buf_add_text(out, "queue ");
        pawl__cli_put_text(out, "", queue ? cursor->queue : id);
        pawl__buf_add_text(out, "  ");
    }
    pawl__buf_printf(out, "%s? help  q quit  %s  tab next%s", pawl__cli_dim(canvas->cli),
                     hints[top->pane], pawl__cli_plain(canvas->cli));
}

static void put_question(struct pawl__cli_top_canvas *canvas, struct pawl__buf *out)
{
    const struct pawl__cli_top *top = canvas->top;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(top->asked_id, id);
    pawl__buf_printf(out, "%scancel job %s", pawl__cli_bold(canvas->cli), id);
    // The type is shown if there is room for it and for the answers.
    if (strlen("cancel job ? y/n  ()") + strlen(id) + strlen(top->asked_type) <= canvas->columns) {
        pawl__buf_add_text(out, " (");
        pawl__cli_put_text(out, "", top->asked_type);
        pawl__buf_add_text(out, ")");
    }
    pawl__buf_printf(out, "? y/n%s", pawl__cli_plain(canvas->cli));
}

/* The line at the bottom: a question, a message, or the keys. */
static void put_bottom(struct pawl__cli_top_canvas *canvas)
{
    const struct pawl__cli_top *top = canvas->top;
    struct pawl__buf *out = &canvas->lines;
    if (top->asking) {
        put_question(canvas, out);
    } else if (*top->message) {
        const char *red = pawl__cli_state_colour(canvas->cli, PAWL_STATE_DISCARDED);
        if (top->troubled) pawl__buf_add_text(out, red);
        pawl__cli_put_text(out, "", top->message);
        pawl__buf_add_text(out, pawl__cli_plain(canvas->cli));
    } else if (top->helping) {
        pawl__buf_add_text(out, "press any key to return");
    } else {
        put_hints(canvas, out);
    }
    pawl__buf_add_text(out, "\n");
}

/* As much of a line as fits. Its only escape sequences are those of colours. */
static void put_cut(struct pawl__buf *frame, const char *at, size_t len, size_t columns)
{
    while (len) {
        size_t plain = 0;
        while (plain < len && at[plain] != '\033') {
            plain++;
        }
        size_t fits = pawl__cli_fit(at, plain, columns);
        pawl__buf_add(frame, at, fits);
        columns = fits < plain ? 0 : columns - pawl__cli_width(at, fits);
        at += plain;
        len -= plain;
        const char *end = len ? memchr(at, 'm', len) : NULL;
        size_t escape = end ? (size_t)(end - at) + 1 : len;
        pawl__buf_add(frame, at, escape);
        at += escape;
        len -= escape;
    }
}

/* The last column is not used: clearing the rest of a full line would erase its last character. */
static void put_frame(struct pawl__cli_top_canvas *canvas, struct pawl__buf *frame)
{
    check(&canvas->lines);
    const char *at = canvas->lines.at;
    pawl__buf_add_text(frame, "\033[H");
    for (int row = 0; row < canvas->top->rows; row++) {
        size_t len = *at ? strcspn(at, "\n") : 0;
        put_cut(frame, at, len, canvas->columns);
        at += len + (at[len] == '\n');
        pawl__buf_add_text(frame, row + 1 < canvas->top->rows ? "\033[K\r\n" : "\033[K");
    }
}

void pawl__cli_top_draw(struct pawl__cli_top *top, struct pawl__buf *frame)
{
    struct pawl__cli_top_canvas canvas = { .top = top,
                                           .cli = top->cli,
                                           .columns = (size_t)top->columns - 1 };
    if (top->columns < 2) canvas.columns = 1;
    if (top->rows < PAWL__CLI_TOP_ROWS_MIN || top->columns < PAWL__CLI_TOP_COLUMNS_MIN) {
        pawl__buf_printf(&canvas.lines, "too small: pawl top needs %d x %d\nq quit\n",
                         PAWL__CLI_TOP_COLUMNS_MIN, PAWL__CLI_TOP_ROWS_MIN);
        put_frame(&canvas, frame);
        pawl__buf_release(&canvas.lines);
        return;
    }
    put_title(&canvas);
    if (top->helping) {
        put_help(&canvas);
    } else {
        put_totals(&canvas);
        put_rates(&canvas);
        put_nodes(&canvas);
        put_panes(&canvas);
    }
    while (line_count(&canvas) + 1 < (size_t)top->rows) {
        pawl__buf_add_text(&canvas.lines, "\n");
    }
    put_bottom(&canvas);
    put_frame(&canvas, frame);
    pawl__buf_release(&canvas.lines);
}

void pawl__cli_top_print(struct pawl__cli_top *top)
{
    struct pawl__cli_top_canvas canvas = { .top = top, .cli = top->cli };
    put_title(&canvas);
    put_totals(&canvas);
    put_rates(&canvas);
    put_nodes(&canvas);
    for (enum pawl__cli_top_pane id = 0; id < PAWL__CLI_TOP_PANES; id++) {
        size_t count = pawl__cli_top_pane_count(top, id);
        if (!count) continue;
        pawl__buf_add_text(&canvas.lines, "\n");
        pawl__cli_top_put_pane(&canvas, &(struct pawl__cli_top_place){ id, 0, count, count });
    }
    check(&canvas.lines);
    pawl__buf_add(&top->cli->out, canvas.lines.at, canvas.lines.len);
    pawl__buf_release(&canvas.lines);
}
