/* pawl top: views of the store that are updated, and keys to control queues and jobs. Without a
 * terminal, or with --json, one view is printed. */
#include "cli/top.h"
#include "base/clock.h"

#include <stdarg.h>
#include <unistd.h>

enum { INTERVAL_MIN_MS = 100, LIMIT_MIN = 20, LIMIT_MAX = 200 };

/* ---- the cursors ---- */

static bool is_selected(const struct pawl__cli_top *top, enum pawl__cli_top_pane pane, size_t i)
{
    const struct pawl__cli_top_cursor *cursor = &top->cursors[pane];
    if (pane == PAWL__CLI_TOP_QUEUES) {
        return strcmp(top->view.queues[i].stats.queue, cursor->queue) == 0;
    }
    struct pawl_job_id id = pawl__cli_top_pane_jobs(top, pane)->at[i].job.id;
    return memcmp(&id, &cursor->id, sizeof id) == 0;
}

static void select_row(struct pawl__cli_top *top, enum pawl__cli_top_pane pane, size_t i)
{
    struct pawl__cli_top_cursor *cursor = &top->cursors[pane];
    cursor->index = i;
    if (i >= pawl__cli_top_pane_count(top, pane)) return;
    if (pane == PAWL__CLI_TOP_QUEUES) {
        snprintf(cursor->queue, sizeof cursor->queue, "%s", top->view.queues[i].stats.queue);
    } else {
        cursor->id = pawl__cli_top_pane_jobs(top, pane)->at[i].job.id;
    }
}

/* After an update: moves the cursor to its row, or keeps its place if the row is gone. In a pane
 * that is not active, a cursor at the top stays there, so that new rows are visible. */
static void follow(struct pawl__cli_top *top, enum pawl__cli_top_pane pane)
{
    size_t count = pawl__cli_top_pane_count(top, pane), at = top->cursors[pane].index;
    bool stay = at == 0 && pane != top->pane;
    for (size_t i = 0; !stay && i < count; i++) {
        if (is_selected(top, pane, i)) {
            select_row(top, pane, i);
            return;
        }
    }
    select_row(top, pane, at < count ? at : count ? count - 1 : 0);
}

static void move(struct pawl__cli_top *top, int64_t by)
{
    int64_t last = (int64_t)pawl__cli_top_pane_count(top, top->pane) - 1;
    int64_t to = (int64_t)top->cursors[top->pane].index + by;
    if (to > last) to = last;
    select_row(top, top->pane, to < 0 ? 0 : (size_t)to);
}

/* ---- reading and drawing ---- */

static void set_message(struct pawl__cli_top *top, bool troubled, const char *format, ...)
    PAWL_PRINTF(3, 4);

static void set_message(struct pawl__cli_top *top, bool troubled, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(top->message, sizeof top->message, format, args);
    va_end(args);
    top->troubled = troubled;
}

static enum pawl_err read_view(struct pawl__cli_top *top, bool now, struct pawl_diag *diag)
{
    int64_t limit = top->rows > LIMIT_MIN ? top->rows : LIMIT_MIN;
    struct pawl__cli_top_ask ask = {
        .queues = &top->cli->values[PAWL__CLI_OPT_TOP_QUEUE],
        .limit = limit < LIMIT_MAX ? limit : LIMIT_MAX,
        .now = now,
    };
    enum pawl_err err = pawl__cli_top_read(top->cli, &ask, &top->view, diag);
    for (enum pawl__cli_top_pane pane = 0; pane < PAWL__CLI_TOP_PANES; pane++) {
        follow(top, pane);
    }
    return err;
}

/* If the store cannot be read, the old view stays, with a message. */
static void refresh(struct pawl__cli_top *top, bool now)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = read_view(top, now, &diag);
    if (!err && top->lost) top->message[0] = '\0';
    if (err) set_message(top, true, "%s", diag.text[0] ? diag.text : pawl_err_text(err));
    top->lost = err != PAWL_OK;
}

static bool show(struct pawl__cli_top *top)
{
    struct pawl__buf frame = { 0 };
    pawl__cli_screen_size(&top->rows, &top->columns);
    pawl__cli_top_draw(top, &frame);
    bool ok = pawl__cli_screen_show(&frame);
    pawl__buf_release(&frame);
    return ok;
}

/* ---- keys ---- */

/* Promotes a job that waits for its time, retries others. */
static enum pawl_control again(enum pawl_state state)
{
    bool waits = state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_RETRYABLE;
    return waits ? PAWL_CONTROL_PROMOTE : PAWL_CONTROL_RETRY;
}

static void control(struct pawl__cli_top *top, struct pawl_job_id id, enum pawl_control what)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(top->cli);
    enum pawl_state to = PAWL_STATE_NONE;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    set_message(top, false, "%s job %s ...", pawl_control_name(what), text);
    show(top); // the store may be locked by another process
    enum pawl_err err = pawl_control(top->cli->pawl, id, what, &by, &to, &diag);
    refresh(top, true);
    if (err) {
        set_message(top, true, "%s", diag.text[0] ? diag.text : pawl_err_text(err));
    } else {
        set_message(top, false, "job %s is %s now", text, pawl__cli_state_text(top->cli, to));
    }
}

static void pause_queue(struct pawl__cli_top *top)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = pawl__cli_by(top->cli);
    size_t i = top->cursors[PAWL__CLI_TOP_QUEUES].index;
    bool paused = !top->view.queues[i].stats.paused;
    char name[PAWL_QUEUE_BYTES_MAX + 1];
    snprintf(name, sizeof name, "%s", top->view.queues[i].stats.queue);
    set_message(top, false, "%s queue \"%s\" ...", paused ? "pause" : "resume", name);
    show(top);
    enum pawl_err err = pawl_queue_pause(top->cli->pawl, name, paused, &by, &diag);
    refresh(top, true);
    if (err) {
        set_message(top, true, "%s", diag.text[0] ? diag.text : pawl_err_text(err));
    } else {
        set_message(top, false, "queue \"%s\" is %s now", name, paused ? "paused" : "resumed");
    }
}

/* The selected job; NULL, with a message, if there is none. */
static const struct pawl_job *selected_job(struct pawl__cli_top *top)
{
    if (top->pane == PAWL__CLI_TOP_QUEUES) {
        set_message(top, false, "select a job first: tab goes to the jobs");
        return NULL;
    }
    const struct pawl__cli_top_jobs *jobs = pawl__cli_top_pane_jobs(top, top->pane);
    size_t i = top->cursors[top->pane].index;
    if (i < jobs->count) return &jobs->at[i].job;
    set_message(top, false, "this list has no jobs");
    return NULL;
}

static void press_pause(struct pawl__cli_top *top)
{
    if (top->pane == PAWL__CLI_TOP_QUEUES) {
        if (top->view.queue_count) pause_queue(top);
        return;
    }
    const struct pawl_job *job = selected_job(top);
    if (!job) return;
    bool paused = job->state == PAWL_STATE_PAUSED;
    control(top, job->id, paused ? PAWL_CONTROL_RESUME : PAWL_CONTROL_PAUSE);
}

static void press_cancel(struct pawl__cli_top *top)
{
    const struct pawl_job *job = selected_job(top);
    if (!job) return;
    top->asking = true;
    top->asked_id = job->id;
    snprintf(top->asked_type, sizeof top->asked_type, "%s", job->type);
}

static void press_retry(struct pawl__cli_top *top)
{
    const struct pawl_job *job = selected_job(top);
    if (job) control(top, job->id, again(job->state));
}

static void answer(struct pawl__cli_top *top, int key)
{
    top->asking = false;
    if (key == 'y' || key == 'Y') {
        control(top, top->asked_id, PAWL_CONTROL_CANCEL);
    } else {
        set_message(top, false, "nothing was done");
    }
}

static void next_pane(struct pawl__cli_top *top, int by)
{
    top->pane = (enum pawl__cli_top_pane)(((int)top->pane + by + PAWL__CLI_TOP_PANES) %
                                          PAWL__CLI_TOP_PANES);
}

static void press_letter(struct pawl__cli_top *top, int key)
{
    switch (key) {
    case 'p':
        press_pause(top);
        break;
    case 'c':
        press_cancel(top);
        break;
    case 'r':
        press_retry(top);
        break;
    case ' ':
        refresh(top, true);
        break;
    case '?':
    case 'h':
        top->helping = true;
        break;
    default:
        break;
    }
}

static void press(struct pawl__cli_top *top, int key)
{
    int64_t page = top->rows / 4;
    switch (key) {
    case PAWL__CLI_KEY_UP:
    case 'k':
        move(top, -1);
        break;
    case PAWL__CLI_KEY_DOWN:
    case 'j':
        move(top, 1);
        break;
    case PAWL__CLI_KEY_PAGE_UP:
    case PAWL__CLI_KEY_PAGE_DOWN:
        move(top, key == PAWL__CLI_KEY_PAGE_UP ? -page : page);
        break;
    case PAWL__CLI_KEY_HOME:
    case PAWL__CLI_KEY_LAST:
        move(top, key == PAWL__CLI_KEY_HOME ? -LIMIT_MAX : LIMIT_MAX);
        break;
    case '\t':
    case PAWL__CLI_KEY_BACK_TAB:
        next_pane(top, key == '\t' ? 1 : -1);
        break;
    default:
        press_letter(top, key);
        break;
    }
}

/* ---- the loop ---- */

/* False: quit. */
static bool handle(struct pawl__cli_top *top, int key)
{
    if (key == PAWL__CLI_KEY_REDRAW) return true;
    bool small = top->rows < PAWL__CLI_TOP_ROWS_MIN || top->columns < PAWL__CLI_TOP_COLUMNS_MIN;
    if (small || (!top->asking && (key == 'q' || key == 'Q'))) return key != 'q' && key != 'Q';
    if (!top->lost) top->message[0] = '\0';
    if (top->asking) {
        answer(top, key);
    } else if (top->helping) {
        top->helping = false;
    } else {
        press(top, key);
    }
    return true;
}

static int64_t mono_ms(void)
{
    return pawl__clock_mono_us(&pawl__clock_system) / 1000;
}

static int live(struct pawl__cli_top *top, int64_t every_ms)
{
    if (!pawl__cli_screen_open()) {
        pawl__cli_screen_close();
        pawl__cli_error("this terminal is not supported");
        return PAWL__CLI_EXIT_REFUSED;
    }
    int64_t next_ms = mono_ms() + every_ms;
    int key = PAWL__CLI_KEY_NONE;
    bool on = show(top);
    while (on) {
        key = pawl__cli_screen_key(next_ms - mono_ms());
        if (key == PAWL__CLI_KEY_END) break;
        if (key == PAWL__CLI_KEY_NONE) {
            refresh(top, false);
            next_ms = mono_ms() + every_ms;
        } else if (!handle(top, key)) {
            break;
        }
        on = show(top);
    }
    pawl__cli_screen_close();
    return on && key != PAWL__CLI_KEY_END ? PAWL__CLI_EXIT_OK : PAWL__CLI_EXIT_INTERRUPTED;
}

static bool can_draw(const struct pawl__cli *cli)
{
    const char *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    return !cli->json && cli->out_tty && isatty(STDIN_FILENO) && !dumb;
}

int pawl__cli_top(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl__cli_top top = { .cli = cli };
    int64_t every_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_INTERVAL);
    if (every_ms < INTERVAL_MIN_MS) {
        return pawl__cli_usage("\"--interval\" must be at least %d ms", INTERVAL_MIN_MS);
    }
    int code = pawl__cli_open(cli);
    if (code) return code;
    if (can_draw(cli)) pawl__cli_screen_size(&top.rows, &top.columns);
    enum pawl_err err = read_view(&top, true, &diag);
    if (err) {
        code = pawl__cli_fail(err, &diag);
    } else if (can_draw(cli)) {
        code = live(&top, every_ms);
    } else if (cli->json) {
        pawl__cli_top_json(&top);
    } else {
        pawl__cli_top_print(&top);
    }
    pawl__cli_top_view_release(&top.view);
    return code;
}
