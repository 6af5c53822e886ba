/* pawl stats and pawl queue: the counts of each queue and state, and stopping a queue. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <strings.h>

/* ---- counts by the vocabulary's names ---- */

/* Several of our states may share a name there. */
struct names {
    const char *name[PAWL_STATE_END];
    size_t of[PAWL_STATE_END]; /* state -> place */
    size_t count;
};

static void names_init(struct names *names, const struct pawl__cli *cli)
{
    *names = (struct names){ .count = 0 };
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        const char *name = pawl__cli_state_text(cli, state);
        size_t i = 0;
        while (i < names->count && strcmp(names->name[i], name) != 0) {
            i++;
        }
        if (i == names->count) names->name[names->count++] = name;
        names->of[state] = i;
    }
}

static int64_t sum(const struct names *names, const int64_t *count, size_t place)
{
    int64_t total = 0;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (names->of[state] == place) total += count[state];
    }
    return total;
}

static int64_t total_of(const int64_t *count)
{
    int64_t total = 0;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        total += count[state];
    }
    return total;
}

/* ---- JSON ---- */

static void put_counts(struct pawl__cli_json *json, const struct names *names, const int64_t *count,
                       int64_t archived)
{
    struct pawl__cli_json object;
    pawl__cli_json_name(json, "states");
    pawl__cli_json_open(&object, json->buf, '{');
    for (size_t i = 0; i < names->count; i++) {
        pawl__cli_json_int(&object, names->name[i], sum(names, count, i));
    }
    pawl__cli_json_close(&object, '}');
    pawl__cli_json_int(json, "total", total_of(count));
    pawl__cli_json_int(json, "archived", archived);
}

static void put_queues(struct pawl__cli_json *json, const struct names *names,
                       const struct pawl_stats *stats)
{
    struct pawl__cli_json object;
    for (size_t i = 0; i < stats->queue_count; i++) {
        const struct pawl_queue_stats *queue = &stats->queues[i];
        pawl__cli_json_name(json, NULL);
        pawl__cli_json_open(&object, json->buf, '{');
        pawl__cli_json_text(&object, "queue", queue->queue);
        pawl__cli_json_bool(&object, "paused", queue->paused);
        put_counts(&object, names, queue->count, queue->archived);
        pawl__cli_json_close(&object, '}');
    }
}

static void put_json(struct pawl__cli *cli, const struct pawl_stats *stats)
{
    struct names names;
    struct pawl__cli_json json, array;
    names_init(&names, cli);
    pawl__cli_json_open(&json, &cli->out, '{');
    pawl__cli_json_name(&json, "queues");
    pawl__cli_json_open(&array, &cli->out, '[');
    put_queues(&array, &names, stats);
    pawl__cli_json_close(&array, ']');
    put_counts(&json, &names, stats->count, stats->archived);
    pawl__cli_json_instant(&json, "next_due_at", stats->next_due_at_ms);
    pawl__cli_json_int(&json, "store_bytes", stats->store_bytes);
    pawl__cli_json_int(&json, "schema_version", stats->schema_version);
    pawl__cli_json_close(&json, '}');
    pawl__buf_add_text(&cli->out, "\n");
}

/* ---- the table ---- */

struct wide {
    struct names names;
    bool shown[PAWL_STATE_END]; /* columns in which there is anything */
    bool archived;
};

static void put_row(struct pawl__cli_table *table, const struct wide *wide, const char *title,
                    const int64_t *count, int64_t archived)
{
    pawl__cli_table_text(table, title);
    for (size_t i = 0; i < wide->names.count; i++) {
        if (wide->shown[i]) pawl__cli_table_int(table, sum(&wide->names, count, i));
    }
    pawl__cli_table_int(table, total_of(count));
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
    names_init(&wide.names, cli);
    for (size_t i = 0; i < wide.names.count; i++) {
        wide.shown[i] = sum(&wide.names, stats->count, i) != 0;
    }
    pawl__cli_table_init(&table, cli);
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
        pawl__cli_put_instant(&cli->out, stats->next_due_at_ms);
        pawl__buf_add_text(&cli->out, " (");
        pawl__cli_put_when(&cli->out, stats->next_due_at_ms, cli->now_ms);
        pawl__buf_add_text(&cli->out, ")");
    } else {
        pawl__buf_add_text(&cli->out, "none");
    }
    const char *store = cli->place;
    pawl__buf_add_text(&cli->out, "\nstore:    ");
    pawl__plain_add(&cli->out, store, strlen(store));
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
        put_json(cli, &stats);
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

static void put_queue_table(struct pawl__cli *cli, const struct pawl_stats *stats)
{
    struct pawl__cli_table table;
    pawl__cli_table_init(&table, cli);
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "QUEUE", .least = 8 });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "PAUSED" });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "WAITING", .right = true });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "ACTIVE", .right = true });
    pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = "ENDED", .right = true });
    for (size_t i = 0; i < stats->queue_count; i++) {
        const struct pawl_queue_stats *queue = &stats->queues[i];
        int64_t waiting = 0, ended = queue->archived;
        for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
            *(pawl_state_is_terminal(state) ? &ended : &waiting) += queue->count[state];
        }
        waiting -= queue->count[PAWL_STATE_ACTIVE];
        pawl__cli_table_text(&table, queue->queue);
        pawl__cli_table_text(&table, queue->paused ? "yes" : "");
        pawl__cli_table_int(&table, waiting);
        pawl__cli_table_int(&table, queue->count[PAWL_STATE_ACTIVE]);
        pawl__cli_table_int(&table, ended);
    }
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
}

int pawl__cli_queue_list(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_stats stats = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, &diag);
    if (!err && cli->json) {
        struct names names;
        struct pawl__cli_json array;
        names_init(&names, cli);
        pawl__cli_json_open(&array, &cli->out, '[');
        put_queues(&array, &names, &stats);
        pawl__cli_json_close(&array, ']');
        pawl__buf_add_text(&cli->out, "\n");
    } else if (!err) {
        put_queue_table(cli, &stats);
    }
    pawl_stats_release(&stats);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* A misspelt name would make a queue that nobody uses. Exit code. */
static int check_queue(struct pawl__cli *cli, const struct pawl_stats *stats, const char *queue)
{
    struct pawl__nearest nearest = { .word = queue };
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (strcmp(stats->queues[i].queue, queue) == 0) return PAWL__CLI_EXIT_OK;
        pawl__nearest_offer(&nearest, stats->queues[i].queue);
    }
    pawl__cli_error("there is no queue \"%s\"", queue);
    if (nearest.best) {
        pawl__cli_hint("did you mean \"%s\"?", nearest.best);
    } else if (cli->command->run == pawl__cli_queue_pause) {
        pawl__cli_hint("--create makes it; \"pawl queue\" lists the queues");
    } else {
        pawl__cli_hint("\"pawl queue\" lists the queues");
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

/* What is done to a queue, and how that is said: "queue "mail" paused", {"paused": true}. */
struct queue_deed {
    enum pawl_err (*carry_out)(struct pawl *pawl, const char *queue, const struct pawl_by *by,
                               struct pawl_diag *diag);
    const char *past;
    const char *member;
    bool value;
};

static void put_deed(struct pawl__cli *cli, const char *queue, const struct queue_deed *deed)
{
    struct pawl__cli_json json;
    if (cli->json) {
        pawl__cli_json_open(&json, &cli->out, '{');
        pawl__cli_json_text(&json, "queue", queue);
        pawl__cli_json_bool(&json, deed->member, deed->value);
        pawl__cli_json_close(&json, '}');
        pawl__buf_add_text(&cli->out, "\n");
    } else if (!cli->quiet) {
        pawl__buf_printf(&cli->out, "queue \"%s\" %s\n", queue, deed->past);
    }
}

static int do_to_queues(struct pawl__cli *cli, const struct queue_deed *deed)
{
    struct pawl_by by = pawl__cli_by(cli);
    int worst = pawl__cli_open(cli);
    if (!worst) worst = check_queues(cli);
    if (worst) return worst;
    for (size_t i = 0; i < cli->operands.count; i++) {
        struct pawl_diag diag = { 0 };
        const char *queue = cli->operands.at[i];
        enum pawl_err err = deed->carry_out(cli->pawl, queue, &by, &diag);
        if (!err) put_deed(cli, queue, deed);
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
    return do_to_queues(cli, &(struct queue_deed){ pause_queue, "paused", "paused", true });
}

int pawl__cli_queue_resume(struct pawl__cli *cli)
{
    return do_to_queues(cli, &(struct queue_deed){ resume_queue, "resumed", "paused", false });
}

int pawl__cli_queue_delete(struct pawl__cli *cli)
{
    return do_to_queues(cli, &(struct queue_deed){ pawl_queue_delete, "deleted", "deleted", true });
}
