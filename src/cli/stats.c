/* pawl stats: the counts of each queue and state. pawl queue: list, pause, resume and delete. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <strings.h>

/* ---- JSON ---- */

#define ALWAYS .flags = PAWL__ALWAYS

#define S struct pawl_queue_stats
static const struct pawl__member queue_members[] = {
    PAWL__MEMBER("queue", NAME, S, queue, ALWAYS),
    PAWL__MEMBER("paused", BOOL, S, paused, ALWAYS),
    PAWL__CLI_COUNTS(S, count),
    PAWL__MEMBER("archived", INT64, S, archived, ALWAYS),
};
const struct pawl__shape pawl__cli_queue_shape = PAWL__SHAPE(S, queue_members);
#undef S

#define S struct pawl_stats
static const struct pawl__member stats_members[] = {
    PAWL__MEMBER("queues", MANY, S, queues, PAWL__COUNTED(S, queue_count),
                 .shape = &pawl__cli_queue_shape, ALWAYS),
    PAWL__CLI_COUNTS(S, count),
    PAWL__MEMBER("archived", INT64, S, archived, ALWAYS),
    PAWL__MEMBER("next_due_at", INSTANT, S, next_due_at_ms),
    PAWL__MEMBER("store_bytes", INT64, S, store_bytes, ALWAYS),
    PAWL__MEMBER("schema_version", INT32, S, schema_version, ALWAYS),
};
static const struct pawl__shape stats_shape = PAWL__SHAPE(S, stats_members);
#undef S

/* ---- the table ---- */

struct wide {
    struct pawl__cli_state_names names;
    bool shown[PAWL_STATE_END]; /* columns that are not all zero */
    bool archived;
};

static void put_row(struct pawl__cli_table *table, const struct wide *wide, const char *title,
                    const int64_t *count, int64_t archived)
{
    pawl__cli_table_text(table, title);
    for (size_t i = 0; i < wide->names.count; i++) {
        if (wide->shown[i]) pawl__cli_table_int(table, pawl__cli_state_sum(&wide->names, count, i));
    }
    pawl__cli_table_int(table, pawl__cli_state_sum(NULL, count, PAWL_STATE_END));
    if (wide->archived) pawl__cli_table_int(table, archived);
}

static void put_columns(struct pawl__cli_table *table, const struct wide *wide)
{
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "QUEUE", .least = 7 });
    for (size_t i = 0; i < wide->names.count; i++) {
        if (!wide->shown[i]) continue;
        pawl__cli_table_column(
            table, (struct pawl__cli_column){ .title = wide->names.name[i], .right = true });
    }
    pawl__cli_table_column(table, (struct pawl__cli_column){ .title = "total", .right = true });
    if (wide->archived) {
        pawl__cli_table_column(table,
                               (struct pawl__cli_column){ .title = "archived", .right = true });
    }
}

static void put_table(struct pawl__cli *cli, const struct pawl_stats *stats)
{
    struct pawl__cli_table table;
    struct wide wide = { .archived = stats->archived != 0 };
    pawl__cli_state_names(&wide.names, cli);
    for (size_t i = 0; i < wide.names.count; i++) {
        wide.shown[i] = pawl__cli_state_sum(&wide.names, stats->count, i) != 0;
    }
    pawl__cli_table_init(&table, cli, NULL, 0);
    put_columns(&table, &wide);
    for (size_t i = 0; i < stats->queue_count; i++) {
        const struct pawl_queue_stats *queue = &stats->queues[i];
        char title[PAWL_QUEUE_BYTES_MAX + 16];
        snprintf(title, sizeof title, "%s%s", queue->queue, queue->paused ? " (paused)" : "");
        put_row(&table, &wide, title, queue->count, queue->archived);
    }
    if (stats->queue_count != 1) put_row(&table, &wide, "all", stats->count, stats->archived);
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
}

static void put_remarks(struct pawl__cli *cli, const struct pawl_stats *stats)
{
    pawl__buf_add_text(&cli->out, "\nnext due: ");
    if (stats->next_due_at_ms) {
        pawl__cli_put_moment(cli, stats->next_due_at_ms);
    } else {
        pawl__buf_add_text(&cli->out, "none");
    }
    pawl__cli_put_text(&cli->out, "\nstore:    ", cli->place);
    pawl__buf_add_text(&cli->out, ", ");
    pawl__cli_put_bytes(&cli->out, stats->store_bytes);
    pawl__buf_printf(&cli->out, ", schema %" PRId32 "\n", stats->schema_version);
}

static int put_stats(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, &diag);
    if (!err && cli->json) {
        pawl__cli_put_json(cli, &stats_shape, &stats);
    } else if (!err) {
        put_table(cli, &stats);
        put_remarks(cli, &stats);
    }
    pawl_stats_release(&stats);
    return err ? pawl__cli_fail(err, &diag) : pawl__cli_flush(cli);
}

int pawl__cli_stats(struct pawl__cli *cli)
{
    int64_t every_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_WATCH);
    int code = pawl__cli_open(cli);
    if (code) return code;
    if (!every_ms) return put_stats(cli);
    pawl__cli_calm(true);
    struct timespec pause = { .tv_sec = every_ms / 1000, .tv_nsec = every_ms % 1000 * 1000000 };
    while (!code && !pawl__cli_interrupted()) {
        pawl__cli_now(cli);
        if (cli->out_tty && !cli->json) pawl__buf_add_text(&cli->out, "\033[H\033[2J");
        code = put_stats(cli);
        if (!code && !pawl__cli_interrupted()) nanosleep(&pause, NULL); // Ctrl-C ends it early
    }
    return code ? code : PAWL__CLI_EXIT_INTERRUPTED;
}

/* ---- queues ---- */

static int64_t ended(const struct pawl_queue_stats *queue)
{
    int64_t sum = queue->archived;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (pawl_state_is_terminal(state)) sum += queue->count[state];
    }
    return sum;
}

static void ended_cell(struct pawl__cli_table *table, const void *row)
{
    pawl__cli_table_int(table, ended(row));
}

static void waiting_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_queue_stats *queue = row;
    int64_t all = pawl__cli_state_sum(NULL, queue->count, PAWL_STATE_END) + queue->archived;
    pawl__cli_table_int(table, all - ended(queue) - queue->count[PAWL_STATE_ACTIVE]);
}

#define S struct pawl_queue_stats
static const struct pawl__cli_column queue_columns[] = {
    PAWL__CLI_FIELD("QUEUE", NAME, S, queue, .least = 8),
    PAWL__CLI_FIELD("PAUSED", BOOL, S, paused),
    PAWL__CLI_CELL("WAITING", waiting_cell, .right = true),
    PAWL__CLI_FIELD("ACTIVE", INT64, S, count[PAWL_STATE_ACTIVE], .right = true),
    PAWL__CLI_CELL("ENDED", ended_cell, .right = true),
};
#undef S

int pawl__cli_queue_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(pawl__cli_queue_shape, queue_columns, NULL);
    struct pawl_diag diag = { 0 };
    struct pawl_stats stats = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, &diag);
    if (!err) pawl__cli_put_list(cli, &view, stats.queues, stats.queue_count);
    pawl_stats_release(&stats);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* Refuses unknown names: pausing a misspelt one would create a queue. Exit code. */
static int check_queue(struct pawl__cli *cli, const struct pawl_stats *stats, const char *queue)
{
    struct pawl__nearest nearest = { .word = queue };
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (strcmp(stats->queues[i].queue, queue) == 0) return PAWL__CLI_EXIT_OK;
        pawl__nearest_offer(&nearest, stats->queues[i].queue);
    }
    pawl__cli_error("there is no queue \"%s\"", queue);
    bool pause = cli->command->run == pawl__cli_queue_pause;
    if (!pawl__cli_did_you_mean(&nearest, "")) {
        pawl__cli_hint("%s\"pawl queue\" lists the queues", pause ? "--create makes it; " : "");
    }
    return PAWL__CLI_EXIT_REFUSED;
}

static int check_queues(struct pawl__cli *cli)
{
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag = { 0 };
    int worst = PAWL__CLI_EXIT_OK;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_CREATE)) return worst;
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, &diag);
    if (err) worst = pawl__cli_fail(err, &diag);
    for (size_t i = 0; !err && !worst && i < cli->operands.count; i++) {
        worst = check_queue(cli, &stats, cli->operands.at[i]);
    }
    pawl_stats_release(&stats);
    return worst;
}

/* An operation on a queue, and its result: "queue "mail" paused", {"paused": true}. */
struct queue_action {
    enum pawl_err (*carry_out)(struct pawl *pawl, const char *queue, const struct pawl_by *by,
                               struct pawl_diag *diag);
    const char *past;
    const char *member;
    bool value;
};

static void put_result(struct pawl__cli *cli, const char *queue, const struct queue_action *action)
{
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("queue", queue),
                      PAWL__HERE_BOOL(action->member, action->value));
    } else if (!cli->quiet) {
        pawl__buf_printf(&cli->out, "queue \"%s\" %s\n", queue, action->past);
    }
}

static int do_to_queues(struct pawl__cli *cli, const struct queue_action *action)
{
    struct pawl_by by = pawl__cli_by(cli);
    int worst = pawl__cli_open(cli);
    if (!worst) worst = check_queues(cli);
    if (worst) return worst;
    for (size_t i = 0; i < cli->operands.count; i++) {
        struct pawl_diag diag = { 0 };
        const char *queue = cli->operands.at[i];
        enum pawl_err err = action->carry_out(cli->pawl, queue, &by, &diag);
        if (!err) put_result(cli, queue, action);
        int code = err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
        if (code > worst) worst = code;
    }
    return worst;
}

static enum pawl_err pause_queue(struct pawl *pawl, const char *queue, const struct pawl_by *by,
                                 struct pawl_diag *diag)
{
    return pawl_queue_pause(pawl, queue, true, by, diag);
}

static enum pawl_err resume_queue(struct pawl *pawl, const char *queue, const struct pawl_by *by,
                                  struct pawl_diag *diag)
{
    return pawl_queue_pause(pawl, queue, false, by, diag);
}

int pawl__cli_queue_pause(struct pawl__cli *cli)
{
    return do_to_queues(cli, &(struct queue_action){ pause_queue, "paused", "paused", true });
}

int pawl__cli_queue_resume(struct pawl__cli *cli)
{
    return do_to_queues(cli, &(struct queue_action){ resume_queue, "resumed", "paused", false });
}

int pawl__cli_queue_delete(struct pawl__cli *cli)
{
    return do_to_queues(cli,
                        &(struct queue_action){ pawl_queue_delete, "deleted", "deleted", true });
}
