/* pawl top: what is read from the store (top_view.c, top_rate.c), how it is printed (top_draw.c,
 * top_panes.c, top_json.c), the terminal (top_screen.c), and the keys (top.c).
 *
 * One thread. A view is a snapshot of the store. Keys act on the view that was drawn last, so a
 * user never acts on a row that was not shown. */
#ifndef PAWL_CLI_TOP_H
#define PAWL_CLI_TOP_H

#include "cli/cli.h"

/* ---- rates (top_rate.c) ---- */

/* Per second. */
struct pawl__cli_top_rates {
    bool known; /* false: there is no earlier view yet */
    double submitted;
    double completed;
    double failed;
};

enum { PAWL__CLI_TOP_RATE_MIN_US = 90 * 1000 };

/* The rates between two counts that were taken `us` apart; unknown if that is less than
 * PAWL__CLI_TOP_RATE_MIN_US. Pure. They are lower bounds, since counters say how many jobs are in a
 * state and not how many have passed through it: a job that was retried and failed again between
 * the two is not counted, and jobs that were deleted or purged hide as many new ones. */
struct pawl__cli_top_rates pawl__cli_top_rates(const struct pawl_queue_stats *before,
                                               const struct pawl_queue_stats *after, int64_t us);

/* ---- the view (top_view.c) ---- */

struct pawl__cli_top_queue {
    struct pawl_queue_stats stats; /* first, as the shape and columns of queues need it */
    struct pawl__cli_top_rates rates;
};

struct pawl__cli_top_job {
    struct pawl_job job; /* first, as the columns of jobs need it */
    int64_t at_ms;       /* when it started or failed */
    const char *error;   /* "": unknown */
};

/* Jobs with their memory. */
struct pawl__cli_top_jobs {
    struct pawl__arena arena;
    struct pawl__cli_top_job *at;
    size_t count;
};

struct pawl__cli_top_view {
    struct pawl_stats stats, base;      /* now; what rates are counted from */
    int64_t taken_us, base_us;          /* when they were read; 0: not yet */
    struct pawl__arena arena;           /* of the queues */
    struct pawl__cli_top_queue *queues; /* that are shown; their names are those of `stats` */
    size_t queue_count;
    struct pawl__cli_top_queue all; /* their sum; no name */
    struct pawl_nodes nodes;
    struct pawl__cli_top_jobs running; /* the latest started first */
    struct pawl__cli_top_jobs failed;  /* discarded, to be retried, or paused after either; the
                                          latest failure first */
    int64_t failed_next_us;            /* not to be read before */
};

/* What to read. */
struct pawl__cli_top_ask {
    const struct pawl__cli_values *queues; /* none: all */
    int64_t limit;                         /* of jobs in each list */
    bool now;                              /* all of it, since a key was pressed */
};

/* Reads the store. After an error the view is unchanged, or a part of it is newer. */
PAWL_MUST_CHECK enum pawl_err pawl__cli_top_read(struct pawl__cli *cli,
                                                 const struct pawl__cli_top_ask *ask,
                                                 struct pawl__cli_top_view *view,
                                                 struct pawl_diag *diag);
void pawl__cli_top_view_release(struct pawl__cli_top_view *view);
/* A node is alive while its heartbeat is no older than this, the default lease. */
enum { PAWL__CLI_TOP_ALIVE_MS = 30000 };

/* ---- printing (top_draw.c, top_panes.c, top_json.c) ---- */

enum pawl__cli_top_pane {
    PAWL__CLI_TOP_QUEUES,
    PAWL__CLI_TOP_RUNNING,
    PAWL__CLI_TOP_FAILED,
    PAWL__CLI_TOP_PANES
};

/* The selected row of a pane. It stays selected when rows before it appear or disappear. */
struct pawl__cli_top_cursor {
    size_t index;
    size_t first; /* the row at the top of the pane */
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
    bool asking; /* for a confirmation to cancel this job: */
    struct pawl_job_id asked_id;
    char asked_type[PAWL_TYPE_BYTES_MAX + 1];
    bool lost;     /* reading failed, and the message says why */
    bool troubled; /* the message is an error */
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
    size_t columns;         /* of the terminal; 0: none, so lines are not limited */
};

/* The part of a pane that is shown. */
struct pawl__cli_top_place {
    enum pawl__cli_top_pane id;
    size_t first; /* row */
    size_t shown; /* rows */
    size_t count; /* all rows */
};

/* The titles and rows of a pane. */
void pawl__cli_top_put_pane(struct pawl__cli_top_canvas *canvas,
                            const struct pawl__cli_top_place *pane);
/* "-" if it is unknown. */
void pawl__cli_top_put_rate(struct pawl__buf *buf, bool known, double rate);
/* On a smaller terminal only a message is drawn. */
enum { PAWL__CLI_TOP_ROWS_MIN = 15, PAWL__CLI_TOP_COLUMNS_MIN = 60 };

/* Draws the whole screen into `frame`, which replaces the last one. Scrolls the panes so that their
 * cursors are visible. */
void pawl__cli_top_draw(struct pawl__cli_top *top, struct pawl__buf *frame);
/* Prints everything, uncut, into cli->out. */
void pawl__cli_top_print(struct pawl__cli_top *top);
/* Prints JSON into cli->out. */
void pawl__cli_top_json(struct pawl__cli_top *top);

/* ---- the terminal (top_screen.c) ---- */

/* The result of pawl__cli_screen_key: a character, or one of these. */
enum pawl__cli_key {
    PAWL__CLI_KEY_ESCAPE = 27,
    PAWL__CLI_KEY_NONE = 256, /* timed out */
    PAWL__CLI_KEY_REDRAW,     /* the window was resized, or the program continues after a stop */
    PAWL__CLI_KEY_END,        /* a signal to exit, or the terminal is gone */
    PAWL__CLI_KEY_OTHER,      /* unknown */
    PAWL__CLI_KEY_UP,
    PAWL__CLI_KEY_DOWN,
    PAWL__CLI_KEY_PAGE_UP,
    PAWL__CLI_KEY_PAGE_DOWN,
    PAWL__CLI_KEY_HOME,
    PAWL__CLI_KEY_LAST,
    PAWL__CLI_KEY_BACK_TAB
};

/* Takes over the terminal: the alternate screen, keys without echo, and handlers for the signals
 * that end or stop the program. The terminal is restored by pawl__cli_screen_close, at exit, when
 * the program is stopped, and by a second signal to exit. False: the terminal cannot do this. */
bool pawl__cli_screen_open(void);
void pawl__cli_screen_close(void);
void pawl__cli_screen_size(int *rows, int *columns);
/* Writes a frame, in one write if possible. False: the terminal is gone. */
bool pawl__cli_screen_show(const struct pawl__buf *frame);
/* Waits for the next key. */
int pawl__cli_screen_key(int64_t timeout_ms);

#endif
