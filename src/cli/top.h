/* pawl top, inside: what is looked at (top_view.c, top_rate.c), how it is shown (top_draw.c,
 * top_panes.c, top_json.c), the terminal (top_screen.c), and the keys (top.c).
 *
 * One thread. A view is what the store said a moment ago; keys are about the view that was drawn
 * last, so that nobody acts on a row they have not seen. */
#ifndef PAWL_CLI_TOP_H
#define PAWL_CLI_TOP_H

#include "cli/cli.h"

/* ---- rates (top_rate.c) ---- */

/* The exact counters of a queue, or of all that are shown. */
struct pawl__cli_top_counts {
    int64_t count[PAWL_STATE_END];
    int64_t archived;
};

/* Per second. */
struct pawl__cli_top_rates {
    bool known; /* false: there is nothing to compare with yet */
    double submitted;
    double completed;
    double failed;
};

enum { PAWL__CLI_TOP_RATE_MIN_US = 90 * 1000 };

/* What happened between two counts that were taken `us` apart; not known when that is less than
 * PAWL__CLI_TOP_RATE_MIN_US. Pure. Counters tell where jobs stand and not where they have been, so
 * this is a lower bound: a job that was tried again and failed again in between is not seen, and
 * what is deleted or purged hides as many. */
struct pawl__cli_top_rates pawl__cli_top_rates(const struct pawl__cli_top_counts *before,
                                               const struct pawl__cli_top_counts *after,
                                               int64_t us);

/* ---- the view (top_view.c) ---- */

struct pawl__cli_top_queue {
    const char *name;
    bool paused;
    struct pawl__cli_top_counts now;
    struct pawl__cli_top_counts base; /* what the rates are counted from */
    struct pawl__cli_top_rates rates;
};

struct pawl__cli_top_job {
    struct pawl_job job; /* first, as tables of jobs have it */
    int64_t at_ms;       /* when it started; or failed */
    const char *error;   /* "" when nothing is known */
};

/* Rows with the memory that they stand in. */
struct pawl__cli_top_jobs {
    struct pawl__arena arena;
    struct pawl__cli_top_job *at;
    size_t count;
};

struct pawl__cli_top_view {
    struct pawl__arena arena; /* of the queues */
    struct pawl__cli_top_queue *queues;
    size_t queue_count;
    struct pawl__cli_top_queue all; /* that are shown; no name */
    int64_t taken_us;
    int64_t base_us; /* when the bases of the rates were taken; 0: never */
    int64_t next_due_at_ms;
    int64_t store_bytes;
    struct pawl_nodes nodes;
    struct pawl__cli_top_jobs running; /* the latest started first */
    struct pawl__cli_top_jobs failed;  /* discarded, to be retried, or paused after either; the
                                          latest failure first */
    int64_t failed_next_us;            /* not to be asked for before */
};

/* How rows are asked for. */
struct pawl__cli_top_ask {
    const struct pawl__cli_values *queues; /* none: all */
    int64_t limit;                         /* of jobs in each list */
    bool now;                              /* whatever it costs: somebody has pressed a key */
};

/* Looks at the store. On failure the view stays as it was, or a part of it is newer. */
PAWL_MUST_CHECK enum pawl_err pawl__cli_top_look(struct pawl__cli *cli,
                                                 const struct pawl__cli_top_ask *ask,
                                                 struct pawl__cli_top_view *view,
                                                 struct pawl_diag *diag);
void pawl__cli_top_view_release(struct pawl__cli_top_view *view);
/* A node is alive while its heartbeat is no older than this: one lease, three beats, unless the
 * node was told otherwise. */
enum { PAWL__CLI_TOP_ALIVE_MS = 30000 };

/* ---- what is shown (top_draw.c, top_panes.c, top_json.c) ---- */

enum pawl__cli_top_pane {
    PAWL__CLI_TOP_QUEUES,
    PAWL__CLI_TOP_RUNNING,
    PAWL__CLI_TOP_FAILED,
    PAWL__CLI_TOP_PANES
};

/* Where somebody is in a pane. It is the row that is remembered, rows come and go around it. */
struct pawl__cli_top_cursor {
    size_t index;
    size_t first; /* row that is shown at the top */
    struct pawl_job_id id;
    char queue[PAWL_QUEUE_BYTES_MAX + 1];
};

struct pawl__cli_top {
    struct pawl__cli *cli;
    struct pawl__cli_top_view view;
    int rows, columns; /* of the terminal */
    enum pawl__cli_top_pane pane;
    struct pawl__cli_top_cursor cursors[PAWL__CLI_TOP_PANES];
    bool helping;
    bool asking; /* whether to cancel the job below */
    struct pawl_job_id asked_id;
    char asked_type[PAWL_TYPE_BYTES_MAX + 1];
    bool lost;     /* the last look failed, and the message says why */
    bool troubled; /* the message is about something that went wrong */
    char message[sizeof((struct pawl_diag){ 0 }.text) + 64]; /* "": none */
};

size_t pawl__cli_top_pane_count(const struct pawl__cli_top *top, enum pawl__cli_top_pane pane);
/* The rows of a pane of jobs. */
const struct pawl__cli_top_jobs *pawl__cli_top_pane_jobs(const struct pawl__cli_top *top,
                                                         enum pawl__cli_top_pane pane);

/* One drawing. */
struct pawl__cli_top_canvas {
    struct pawl__cli_top *top;
    struct pawl__cli *cli;
    struct pawl__buf lines; /* each ends in a line feed */
    size_t columns;         /* of the terminal; 0: for paper, as wide as it takes */
};

/* The part of a pane that is shown. */
struct pawl__cli_top_place {
    enum pawl__cli_top_pane id;
    size_t first; /* row */
    size_t shown; /* rows */
    size_t count; /* rows that there are */
};

/* A line of titles and the rows. */
void pawl__cli_top_put_pane(struct pawl__cli_top_canvas *canvas,
                            const struct pawl__cli_top_place *pane);
/* "-" until there is something to compare with; three digits are enough. */
void pawl__cli_top_put_rate(struct pawl__buf *buf, bool known, double rate);
/* On less nothing but an excuse is drawn. */
enum { PAWL__CLI_TOP_ROWS_MIN = 15, PAWL__CLI_TOP_COLUMNS_MIN = 60 };

/* The whole screen, as bytes for the terminal, one frame that covers the one before. Scrolls the
 * panes so that their cursors are seen. */
void pawl__cli_top_draw(struct pawl__cli_top *top, struct pawl__buf *frame);
/* The same for paper, into cli->out: everything, uncut. */
void pawl__cli_top_print(struct pawl__cli_top *top);
/* For programs, into cli->out. */
void pawl__cli_top_json(struct pawl__cli_top *top);

/* ---- the terminal (top_screen.c) ---- */

/* What pawl__cli_screen_key gives: a character, or one of these. */
enum pawl__cli_key {
    PAWL__CLI_KEY_ESCAPE = 27,
    PAWL__CLI_KEY_NONE = 256, /* the time is over */
    PAWL__CLI_KEY_REDRAW,     /* the window has another size, or the program goes on after a stop */
    PAWL__CLI_KEY_END,        /* told to end by a signal, or the terminal is gone */
    PAWL__CLI_KEY_OTHER,      /* one that means nothing to us */
    PAWL__CLI_KEY_UP,
    PAWL__CLI_KEY_DOWN,
    PAWL__CLI_KEY_PAGE_UP,
    PAWL__CLI_KEY_PAGE_DOWN,
    PAWL__CLI_KEY_HOME,
    PAWL__CLI_KEY_LAST,
    PAWL__CLI_KEY_BACK_TAB
};

/* Takes the terminal over: another screen, keys at once and unseen, and the signals that would
 * leave it in disorder. It is given back by pawl__cli_screen_close, at exit, when the program is
 * stopped, and by a second signal to end. False: it is not a terminal that can do this. */
bool pawl__cli_screen_open(void);
void pawl__cli_screen_close(void);
void pawl__cli_screen_size(int *rows, int *columns);
/* All of it in one write, if the terminal takes it. False: the terminal is gone. */
bool pawl__cli_screen_show(const struct pawl__buf *frame);
/* The next key, or PAWL__CLI_KEY_NONE after so long. */
int pawl__cli_screen_key(int64_t timeout_ms);

#endif
