/* Shared by the commands: the struct of the run, values of options, errors, output, the terminal.
 *
 * One thread. This is a program, not a library, so it exits when it runs out of memory
 * (pawl__cli_need). Texts in a store are not trusted: pawl__plain_add replaces their control
 * characters before they reach a terminal. */
#ifndef PAWL_CLI_H
#define PAWL_CLI_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/log_entry.h"
#include "base/plain.h"
#include "base/shape.h"
#include "cli/commands.h"
#include "cli/options.h"

#include <pawl/pawl.h>

#include <signal.h>

struct pawl__nearest;

/* number, NAME, meaning */
#define PAWL__CLI_EXITS(X)                                                                         \
    X(0, OK, "done")                                                                               \
    X(1, REFUSED, "refused or failed: not found, wrong state, duplicate, a bad line of input")     \
    X(2, USAGE, "the command line or a setting is wrong; nothing was done")                        \
    X(3, STORE, "trouble with the store: missing, locked, full, unreadable, damaged, too new")     \
    X(124, TIMEOUT, "\"pawl wait\": --timeout passed before all jobs had ended")                   \
    X(130, INTERRUPTED, "interrupted")

#define X(number, name, text) PAWL__CLI_EXIT_##name = number,
enum pawl__cli_exit { PAWL__CLI_EXITS(X) };
#undef X

/* The values given for one option, in order; the last one counts unless it repeats. */
struct pawl__cli_values {
    const char **at;
    size_t count;
    size_t cap;
};

struct pawl__cli {
    struct pawl__arena arena; /* lives as long as the run */
    const struct pawl__cli_command *command;
    struct pawl__cli_values values[PAWL__CLI_OPT_END];
    struct pawl__cli_values operands;
    const char *url;   /* of the store or server; set with the settings */
    const char *place; /* the same without secrets, to be printed */
    struct pawl *pawl; /* the open store; NULL for commands that need none */
    int64_t now_ms;    /* when the run began; the store's time, if known */
    enum pawl_vocabulary vocabulary;
    bool json;
    bool quiet;
    bool colour;
    bool out_tty;
    bool err_tty;
    int columns;          /* of the terminal; 0: not a terminal, so nothing is cut */
    struct pawl__buf out; /* standard output, until pawl__cli_flush */
};

/* ---- the command line (args.c, settings.c) ---- */

/* Reads argv into `cli`. Returns an exit code; if it is not 0, the error has been printed. */
int pawl__cli_parse(struct pawl__cli *cli, int argc, char **argv);
/* Prints the error about an unknown command, with a suggestion; returns the exit code. `second` may
 * be NULL. */
int pawl__cli_unknown_command(const char *word, const char *second);
/* Reads words as options and operands of `command`, whose options beside settings are accepted.
 * Exit code. */
int pawl__cli_parse_words(struct pawl__cli *cli, const struct pawl__cli_command *command,
                          const char *const *words, size_t count);
/* Adds settings from the environment and the configuration file, unless they are given. */
int pawl__cli_settings(struct pawl__cli *cli, char **environ_given);
/* `text`, which may be a URL, without secrets; in the arena. */
const char *pawl__cli_shown(struct pawl__cli *cli, const char *text);
/* Sets `url` and `place` to the store or server; an error if the command needs a store and there is
 * a server. Exit code. */
int pawl__cli_set_place(struct pawl__cli *cli);
/* Whether `url` is a server's. */
bool pawl__cli_is_remote(const struct pawl__cli *cli);
/* `WHAT cannot be "value"`, with a hint. Exit code. */
int pawl__cli_bad_value(struct pawl__cli *cli, enum pawl__cli_kind kind, const char *value,
                        const char *what);
void pawl__cli_values_add(struct pawl__cli *cli, struct pawl__cli_values *values, const char *text);

bool pawl__cli_has(const struct pawl__cli *cli, enum pawl__cli_option_id id);
bool pawl__cli_flag(const struct pawl__cli *cli, enum pawl__cli_option_id id);
/* The value, the default, or NULL. */
const char *pawl__cli_text(const struct pawl__cli *cli, enum pawl__cli_option_id id);
/* The value, converted as its kind says; zero if it is not given and has no default. _int is for
 * all kinds that are numbers, _duration for those in ms. */
union pawl__cli_value pawl__cli_value(const struct pawl__cli *cli, enum pawl__cli_option_id id);
int64_t pawl__cli_int(const struct pawl__cli *cli, enum pawl__cli_option_id id);
int64_t pawl__cli_duration(const struct pawl__cli *cli, enum pawl__cli_option_id id);
/* --archive-after and --purge-after. */
struct pawl_retention pawl__cli_retention(const struct pawl__cli *cli);
/* --log-level and --log-format. */
enum pawl__log_level pawl__cli_log_level(const struct pawl__cli *cli);
enum pawl__log_format pawl__cli_log_format(const struct pawl__cli *cli);
/* The parts of "a,b,c", in the arena. */
const char *const *pawl__cli_names(struct pawl__cli *cli, const char *text, size_t *count);
/* The states of all values of an option as a mask. Exit code. */
int pawl__cli_states(struct pawl__cli *cli, enum pawl__cli_option_id id, uint32_t *out);
/* The field of a struct that an option sets. Its type follows from the option's kind. */
struct pawl__cli_setter {
    enum pawl__cli_option_id option;
    const char *field; /* its name in errors of the library */
    uint32_t offset;
    uint32_t count_offset; /* of a list; 0: not a list */
    bool elsewhere;        /* pawl__cli_set skips it */
};

#define PAWL__CLI_SET(option_id, type, member, ...)                                                \
    {                                                                                              \
        .option = PAWL__CLI_OPT_##option_id, .field = #member, .offset = offsetof(type, member),   \
        __VA_ARGS__                                                                                \
    }

/* Sets the fields of the given options. Exit code. */
int pawl__cli_set(struct pawl__cli *cli, const struct pawl__cli_setter *setters, size_t count,
                  void *out);
/* Sets the fields of one option to zero, whether it is given or not. False: it sets none. */
bool pawl__cli_unset(const struct pawl__cli_setter *setters, size_t count,
                     enum pawl__cli_option_id option, void *out);
struct pawl_by pawl__cli_by(const struct pawl__cli *cli);
const char *pawl__cli_actor(const struct pawl__cli *cli);

/* ---- the store (store.c) ---- */

/* The settings for pawl_open. */
struct pawl_config pawl__cli_config(const struct pawl__cli *cli);
/* Opens it as the command's row says. A command calls this after all its checks, so that a misspelt
 * option does not create a store. Exit code; the error has been printed. */
int pawl__cli_open(struct pawl__cli *cli);
/* Whether the store's functions and views for SQL differ from this program's. */
bool pawl__cli_script_is_old(const struct pawl__cli *cli);
/* Prints the error of an attempt to open; returns the exit code. */
int pawl__cli_open_failed(const struct pawl__cli *cli, enum pawl_err err,
                          const struct pawl_diag *diag);
/* A hint why a file cannot be created or used. False: no reason was found. */
bool pawl__cli_hint_path(const char *path);
/* The path of a SQLite store, or NULL. */
const char *pawl__cli_store_path(const struct pawl__cli *cli);

/* ---- errors (error.c) ---- */

/* `pawl: TEXT` on standard error. */
void pawl__cli_error(const char *format, ...) PAWL_PRINTF(1, 2);
/* `hint: TEXT` on standard error. */
void pawl__cli_hint(const char *format, ...) PAWL_PRINTF(1, 2);
/* Whether hints are about a server, not about a file. */
void pawl__cli_hint_served(bool is_served);
/* Whether a token was given to the server: then no hint suggests that. */
void pawl__cli_hint_token(bool is_given);
/* Errors begin with "WHERE: " from now on; NULL: no more. */
void pawl__cli_error_where(const char *where);
/* Prints an error and returns PAWL__CLI_EXIT_USAGE. */
int pawl__cli_usage(const char *format, ...) PAWL_PRINTF(1, 2);
/* The hint `did you mean "BEFOREword"?`. False: no known word is near, so nothing was printed. */
bool pawl__cli_did_you_mean(const struct pawl__nearest *nearest, const char *before);
/* Prints the library's error, with a hint if there is one, and returns the exit code. */
int pawl__cli_fail(enum pawl_err err, const struct pawl_diag *diag);
/* Likewise for trouble with a file, whose state may give a better hint. */
int pawl__cli_fail_at(enum pawl_err err, const struct pawl_diag *diag, const char *path);
/* Likewise for a server that could not be opened: an address that is in use is no trouble of the
 * store. */
int pawl__cli_fail_listen(enum pawl_err err, const struct pawl_diag *diag);
int pawl__cli_exit_of(enum pawl_err err);
/* Returns `at`; if it is NULL, the program is out of memory and exits. */
void *pawl__cli_need(void *at);
_Noreturn void pawl__cli_nomem(void);

/* ---- files (file.c) ---- */

/* All of a file, in the arena; "-" is standard input. Exit code. */
int pawl__cli_read_file(struct pawl__cli *cli, const char *path, struct pawl_span *out);

/* ---- output (output.c) ---- */

/* Writes `cli->out` to standard output and empties it. Exit code. */
int pawl__cli_flush(struct pawl__cli *cli);
/* Columns that the text, an output of pawl__plain_add, takes on a terminal. */
size_t pawl__cli_width(const char *at, size_t len);
/* How many bytes of it fit into `columns`. */
size_t pawl__cli_fit(const char *at, size_t len, size_t columns);
/* `before` and the text, with control characters replaced; nothing if it is NULL or empty. */
void pawl__cli_put_text(struct pawl__buf *buf, const char *before, const char *text);
/* Likewise; on a terminal, a long text is cut, with a note on how to see the rest. */
void pawl__cli_put_long(struct pawl__cli *cli, struct pawl_span text);
/* A heading after an empty line. */
void pawl__cli_put_title(struct pawl__cli *cli, const char *title);
/* The label of a line "  label         value"; and the whole line, omitted if the value is zero or
 * empty. The kind is NAME, INT32, INT64, JSON, INSTANT or DURATION. */
void pawl__cli_put_label(struct pawl__cli *cli, const char *label);
void pawl__cli_put_fact(struct pawl__cli *cli, const char *label, enum pawl__as kind,
                        const void *at);
/* "3m 5s ago", "in 2h", "now". */
void pawl__cli_put_when(struct pawl__buf *buf, int64_t at_ms, int64_t now_ms);
void pawl__cli_put_instant(struct pawl__buf *buf, int64_t at_ms);
/* "2030-01-31T08:00:00Z (in 2h)" */
void pawl__cli_put_moment(struct pawl__cli *cli, int64_t at_ms);
/* "1.2 MiB" */
void pawl__cli_put_bytes(struct pawl__buf *buf, int64_t bytes);
/* "1 job", "2 jobs"; `noun` takes an s. */
void pawl__cli_put_count(struct pawl__buf *buf, int64_t count, const char *noun);
/* The attempts that count against attempts_max: a run that was given back costs none. */
int64_t pawl__cli_tries(const struct pawl_job *job);
const char *pawl__cli_state_text(const struct pawl__cli *cli, enum pawl_state state);
/* An escape sequence that begins the state's colour; "" without colours. */
const char *pawl__cli_state_colour(const struct pawl__cli *cli, enum pawl_state state);
/* Escape sequences, or "" without colours; `pawl__cli_plain` ends bold, dim and a colour. */
const char *pawl__cli_bold(const struct pawl__cli *cli);
const char *pawl__cli_dim(const struct pawl__cli *cli);
const char *pawl__cli_plain(const struct pawl__cli *cli);

/* ---- JSON out (json_out.c) ---- */

/* A writer for compact payloads, with states in the vocabulary of the run. */
struct pawl__shape_writer pawl__cli_writer(const struct pawl__cli *cli, struct pawl__buf *out);
/* Appends an object and a newline to cli->out. */
void pawl__cli_put_json(struct pawl__cli *cli, const struct pawl__shape *shape, const void *at);
void pawl__cli_put_members(struct pawl__cli *cli, const struct pawl__member *members, size_t count);
#define PAWL__CLI_PUT(cli, ...)                                                                    \
    pawl__cli_put_members((cli), (const struct pawl__member[]){ __VA_ARGS__ },                     \
                          sizeof((const struct pawl__member[]){ __VA_ARGS__ }) /                   \
                              sizeof(struct pawl__member))

extern const struct pawl__shape pawl__cli_job_shape;   /* struct pawl_job */
extern const struct pawl__shape pawl__cli_brief_shape; /* the same; id, type, queue, state,
                                                          attempt */
extern const struct pawl__shape pawl__cli_error_shape; /* struct pawl_failure: the error alone */
extern const struct pawl__shape pawl__cli_queue_shape; /* struct pawl_queue_stats */

/* A state, for tables of members. */
pawl__member_print_fn pawl__cli_print_state;
#define PAWL__CLI_STATE(text, type, member, ...)                                                   \
    PAWL__MEMBER(text, OWN, type, member, .print = pawl__cli_print_state, __VA_ARGS__)
#define PAWL__CLI_STATE_HERE(text, value)                                                          \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_OWN, .at = &(enum pawl_state){ value },                   \
        .print = pawl__cli_print_state                                                             \
    }
/* The members "states" and "total", from an array with a count for each state. */
pawl__member_print_fn pawl__cli_print_counts;
pawl__member_print_fn pawl__cli_print_total;
#define PAWL__CLI_COUNTS(type, counts)                                                             \
    PAWL__MEMBER("states", OWN, type, counts, .print = pawl__cli_print_counts),                    \
        PAWL__MEMBER("total", OWN, type, counts, .print = pawl__cli_print_total)

/* The names of states in the vocabulary, where several states may have the same name. */
struct pawl__cli_state_names {
    const char *name[PAWL_STATE_END];
    size_t of[PAWL_STATE_END]; /* state -> index in `name` */
    size_t count;
};

void pawl__cli_state_names(struct pawl__cli_state_names *names, const struct pawl__cli *cli);
/* The sum of the counts of all states with a name; of all states if it is PAWL_STATE_END, then
 * `names` may be NULL. */
int64_t pawl__cli_state_sum(const struct pawl__cli_state_names *names, const int64_t *count,
                            size_t name);

/* ---- tables (table.c) ---- */

enum { PAWL__CLI_COLUMNS_MAX = 16 };

struct pawl__cli_table;

/* On a narrow terminal a column is cut to no less than `least` characters (0: never cut), and
 * `droppable` columns are left out, highest number first (0: never).
 *
 * It shows the field at `offset` of a row: a TEXT, NAME, CHARS, INT32, INT64, ID, JSON, BOOL ("yes"
 * or nothing) or INSTANT (as "5s ago", or nothing). If `cell` is set, it adds the cell instead. */
struct pawl__cli_column {
    const char *title;
    bool right;
    size_t least;
    int droppable;
    enum pawl__as kind;
    size_t offset;
    void (*cell)(struct pawl__cli_table *table, const void *row);
    /* The table's own: */
    size_t natural; /* the widest cell so far */
    size_t width;
    bool empty; /* all cells are */
    bool hidden;
};

/* A column that shows a field, and one with a function. */
#define PAWL__CLI_FIELD(text, kind_name, type, member, ...)                                        \
    {                                                                                              \
        .title = (text), .kind = PAWL__AS_##kind_name,                                             \
        .offset = PAWL__OFFSET(kind_name, type, member), __VA_ARGS__                               \
    }
#define PAWL__CLI_CELL(text, function, ...)                                                        \
    {                                                                                              \
        .title = (text), .cell = (function), __VA_ARGS__                                           \
    }

struct pawl__cli_cell {
    const char *text;
    size_t len;
    const char *colour;
};

struct pawl__cli_table {
    struct pawl__cli *cli;
    struct pawl__cli_column columns[PAWL__CLI_COLUMNS_MAX];
    size_t column_count;
    struct pawl__arena arena; /* the cells, until they are printed */
    struct pawl__cli_cell *cells;
    size_t cell_count;
    size_t cell_cap;
    bool headed; /* the titles have been printed */
};

void pawl__cli_table_init(struct pawl__cli_table *table, struct pawl__cli *cli,
                          const struct pawl__cli_column *columns, size_t count);
void pawl__cli_table_column(struct pawl__cli_table *table, struct pawl__cli_column column);
/* Adds a row, with the columns' fields and functions. */
void pawl__cli_table_row(struct pawl__cli_table *table, const void *row);
/* Add one cell. A row must have one for each column. The text is copied and made safe. */
void pawl__cli_table_cell(struct pawl__cli_table *table, const char *text, size_t len,
                          const char *colour);
void pawl__cli_table_text(struct pawl__cli_table *table, const char *text);
void pawl__cli_table_int(struct pawl__cli_table *table, int64_t value);
/* The text in `buf`, which is released. */
void pawl__cli_table_buf(struct pawl__cli_table *table, struct pawl__buf *buf);
/* "5s ago", or nothing if it is 0. */
void pawl__cli_table_when(struct pawl__cli_table *table, int64_t at_ms);
/* For rows that are or begin with a struct pawl_job: its state in colour; its attempts as "1/3". */
void pawl__cli_state_cell(struct pawl__cli_table *table, const void *row);
void pawl__cli_try_cell(struct pawl__cli_table *table, const void *row);
/* Into cli->out; more rows may follow, without the titles. */
void pawl__cli_table_print(struct pawl__cli_table *table);
void pawl__cli_table_release(struct pawl__cli_table *table);

/* How a list is printed, as JSON and as a table. */
struct pawl__cli_view {
    const struct pawl__shape *shape;
    const struct pawl__cli_column *columns;
    size_t column_count;
    const char *none; /* printed to stderr if there are no rows; NULL: prints the titles */
};

#define PAWL__CLI_VIEW(of, titles, when_none)                                                      \
    {                                                                                              \
        .shape = &(of), .columns = (titles), .column_count = sizeof(titles) / sizeof *(titles),    \
        .none = (when_none)                                                                        \
    }

/* Appends an array of objects, with --json, or a table. */
void pawl__cli_put_list(struct pawl__cli *cli, const struct pawl__cli_view *view, const void *rows,
                        size_t count);

/* ---- the terminal (term.c) ---- */

/* Sets now_ms. */
void pawl__cli_now(struct pawl__cli *cli);
/* Determines whether the streams are terminals, colours and the width, by the settings. */
void pawl__cli_term_init(struct pawl__cli *cli);

/* Ctrl-C. In a pawl__cli_calm section it sets what pawl__cli_interrupted returns, and a second one
 * ends the program; elsewhere the first one does. */
void pawl__cli_signals(void);
void pawl__cli_calm(bool begin);
bool pawl__cli_interrupted(void);

/* A progress bar on standard error, if that is a terminal. */
struct pawl__cli_bar {
    bool on;
    const char *noun;
    int64_t total; /* 0: unknown */
    int64_t began_us;
    int64_t drawn_us;
    int columns;
};

void pawl__cli_bar_begin(struct pawl__cli *cli, struct pawl__cli_bar *bar, const char *noun,
                         int64_t total);
/* `note` is printed after the bar; may be NULL. */
void pawl__cli_bar_draw(struct pawl__cli_bar *bar, int64_t done, const char *note);
/* Erases it. */
void pawl__cli_bar_end(struct pawl__cli_bar *bar);
/* Asks on the terminal; `*yes` is the answer. Exit code: USAGE if there is no terminal. */
int pawl__cli_confirm(struct pawl__cli *cli, const char *question, bool *yes);

/* ---- jobs (ids.c, filter.c, spec.c, spec_json.c, submit_lines.c, control.c, list.c) ---- */

/* The first `count` operands as ids, in the arena. Opens the store, in which it looks up prefixes
 * of ids, if all of them look like ids. Exit code. */
int pawl__cli_ids(struct pawl__cli *cli, size_t count, struct pawl_job_id **out);
/* Calls `one` for each of them and writes the output after each. Returns the worst exit code. Stops
 * at trouble with the store; if the command changes jobs, also between two of them at Ctrl-C. */
typedef int pawl__cli_id_fn(struct pawl__cli *cli, struct pawl_job_id id, void *ctx);
int pawl__cli_each_id(struct pawl__cli *cli, size_t count, pawl__cli_id_fn *one, void *ctx);

/* The filter options as a filter. Exit code. */
int pawl__cli_filter(struct pawl__cli *cli, struct pawl_filter *out);
/* Whether any option of the FILTER group is given. */
bool pawl__cli_filter_given(const struct pawl__cli *cli);

/* The options of submit as a spec, without type and arguments. Exit code. */
int pawl__cli_spec(struct pawl__cli *cli, struct pawl_job_spec *out);
/* The same over what `out` holds: fields whose options are not given stay as they are. */
int pawl__cli_spec_over(struct pawl__cli *cli, struct pawl_job_spec *out);
/* Sets the fields of an option to zero. False: the option sets none. */
bool pawl__cli_spec_unset(enum pawl__cli_option_id option, struct pawl_job_spec *out);
/* Arguments of a job, a JSON array. Exit code. */
int pawl__cli_args(struct pawl__cli *cli, const char *text, struct pawl_span *out);
/* The option that sets a field of a spec; PAWL__CLI_OPT_END if none does. */
enum pawl__cli_option_id pawl__cli_spec_option(const char *field);
/* Reads a JSON object into `spec`, which holds the defaults. All memory is from `arena`. Calls
 * `unknown` for each unknown member, which is then stored with the job and has no effect; `meant`
 * is the known member that it resembles, or NULL. An error from it ends the reading. ARG. */
typedef enum pawl_err pawl__cli_unknown_fn(void *ctx, const char *name, const char *meant,
                                           struct pawl_diag *diag);
struct pawl__cli_line {
    struct pawl_span text;
    struct pawl__arena *arena;
    pawl__cli_unknown_fn *unknown;
    void *ctx;
};
PAWL_MUST_CHECK enum pawl_err pawl__cli_spec_json(struct pawl__cli *cli,
                                                  const struct pawl__cli_line *line,
                                                  struct pawl_job_spec *spec,
                                                  struct pawl_diag *diag);
/* Reads standard input. */
int pawl__cli_submit_lines(struct pawl__cli *cli, const struct pawl_job_spec *defaults);
/* One result of submit as a JSON object and a newline. */
void pawl__cli_submit_json(struct pawl__cli *cli, const struct pawl_job_spec *spec,
                           const struct pawl_submitted *submitted);

/* Applies a row of PAWL_CONTROLS, or delete (NONE), to jobs, by ids or by filter, among those in
 * `states` (0: in any state that allows it). */
int pawl__cli_apply(struct pawl__cli *cli, enum pawl_control control, uint32_t states);
/* "pawl list" with --state, or else of jobs in `states` (0: all). */
int pawl__cli_listing(struct pawl__cli *cli, uint32_t states);

/* ---- help (help.c) ---- */

/* The help for one command, for all rows of a word, or, for NULL, for pawl. */
void pawl__cli_explain(struct pawl__cli *cli, const struct pawl__cli_command *command);
/* `text` in lines of at most `width` columns that begin in column `indent`, with empty lines
 * between paragraphs; the output is at column `at`. */
void pawl__cli_put_wrapped(struct pawl__buf *out, const char *text, size_t at, size_t indent,
                           size_t width);
/* The usage line of a command. */
void pawl__cli_put_usage(struct pawl__buf *buf, const struct pawl__cli_command *command);
/* Whether this is the first row of its word. */
bool pawl__cli_command_is_first(const struct pawl__cli_command *command);

#endif
