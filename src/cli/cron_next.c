/* pawl cron next: when an expression or a schedule fires, in local time and UTC, with what clocks
 * do to it. */
#include "cli/cron.h"

#include "base/time_text.h"

#include <stdlib.h>
#include <string.h>

enum { FIRES_MAX = 1000, LOCAL_BYTES = 48 };

/* A line of the listing. */
struct line {
    struct pawl_coming coming;
    char local[LOCAL_BYTES]; /* "2026-03-29T03:00:00+02:00" */
};

/* ---- reading ---- */

#define S struct pawl_recurrence
static const struct pawl__cli_setter setters[] = {
    PAWL__CLI_SET(ZONE, S, zone),      PAWL__CLI_SET(DIALECT, S, dialect),
    PAWL__CLI_SET(GAP, S, gap),        PAWL__CLI_SET(BEGINS, S, start_at_ms),
    PAWL__CLI_SET(ENDS, S, end_at_ms),
};
#undef S

static void write_local(struct line *line)
{
    int32_t offset = line->coming.offset_s, size = offset < 0 ? -offset : offset;
    pawl__instant_text(line->coming.at_ms + (int64_t)offset * 1000, line->local);
    size_t len = strcspn(line->local, line->coming.at_ms % 1000 ? "Z" : ".");
    len += (size_t)snprintf(line->local + len, LOCAL_BYTES - len, "%c%02d:%02d",
                            offset < 0 ? '-' : '+', size / 3600, size / 60 % 60);
    if (size % 60) snprintf(line->local + len, LOCAL_BYTES - len, ":%02d", size % 60);
}

/* Reads on until there are `fires` fires; lost times between them are lines too. */
static enum pawl_err collect(struct pawl__cli *cli, const struct pawl_recurrence *recurrence,
                             int64_t from_ms, size_t fires, struct line **out, size_t *count,
                             struct pawl_diag *diag)
{
    size_t cap = 2 * fires, got, done = 0;
    struct pawl_coming *coming =
        pawl__cli_need(pawl__arena_calloc(&cli->arena, cap, sizeof *coming));
    enum pawl_err err = pawl_coming(recurrence, from_ms, coming, cap, &got, diag);
    if (err) return err;
    struct line *lines = pawl__cli_need(pawl__arena_calloc(&cli->arena, cap, sizeof *lines));
    for (; done < got && fires > 0; done++) {
        lines[done].coming = coming[done];
        write_local(&lines[done]);
        fires -= coming[done].note != PAWL_FIRE_LOST;
    }
    *out = lines;
    *count = done;
    return PAWL_OK;
}

/* ---- printing ---- */

static const char *note_text(const struct pawl_coming *coming, char *out, size_t bytes)
{
    int32_t jump = coming->offset_s - coming->lost_offset_s, count = coming->lost_count;
    char by[PAWL__DURATION_TEXT_BYTES];
    switch (coming->note) {
    case PAWL_FIRE_SHIFTED:
        return "for a time that clocks jump over";
    case PAWL_FIRE_FIRST:
        return "this time comes twice; fires once";
    case PAWL_FIRE_TWICE_FIRST:
        return "this time comes twice; first";
    case PAWL_FIRE_TWICE_SECOND:
        return "this time comes twice; second";
    case PAWL_FIRE_LOST:
        pawl__duration_text((int64_t)jump * 1000, by);
        snprintf(out, bytes, "no fire: clocks jump %s, over %d time%s", by, count,
                 count == 1 ? "" : "s");
        return out;
    default:
        return "";
    }
}

static void note_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    char text[96];
    pawl__cli_table_text(table, note_text(&line->coming, text, sizeof text));
}

static void in_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    struct pawl__buf text = { 0 };
    pawl__cli_put_when(&text, line->coming.at_ms, table->cli->now_ms);
    pawl__cli_table_buf(table, &text);
}

static void utc_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    struct pawl__buf text = { 0 };
    pawl__cli_put_instant(&text, line->coming.at_ms);
    pawl__cli_table_buf(table, &text);
}

static void print_note(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                       const void *base)
{
    const struct line *line = base;
    const char *code = pawl_fire_note_code(line->coming.note);
    pawl__buf_add_json(writer->out, code, strlen(code));
}

#define S struct line
static const struct pawl__cli_column columns[] = {
    PAWL__CLI_FIELD("LOCAL", CHARS, S, local),
    PAWL__CLI_CELL("UTC", utc_cell),
    PAWL__CLI_CELL("IN", in_cell),
    PAWL__CLI_CELL("NOTE", note_cell),
};
static const struct pawl__member line_members[] = {
    PAWL__MEMBER("at", INSTANT, S, coming.at_ms, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("local", CHARS, S, local),
    PAWL__WHOLE("note", OWN, .print = print_note),
    PAWL__MEMBER("lost", INT32, S, coming.lost_count),
};
static const struct pawl__shape line_shape = PAWL__SHAPE(S, line_members);
#undef S

/* What clocks do stands in lines of its own. */
static void put_words(struct pawl__cli *cli, const char *words)
{
    for (const char *end; (end = strstr(words, "; ")); words = end + 2) {
        pawl__buf_add(&cli->out, words, (size_t)(end - words));
        pawl__buf_add_text(&cli->out, "\n  ");
    }
    pawl__buf_printf(&cli->out, "%s\n", words);
}

static const struct pawl__cli_view view =
    PAWL__CLI_VIEW(line_shape, columns, "it does not fire any more");

int pawl__cli_cron_put_coming(struct pawl__cli *cli, const struct pawl_recurrence *recurrence,
                              int64_t from_ms, size_t fires)
{
    struct pawl_diag diag = { 0 };
    struct line *lines;
    size_t count;
    enum pawl_err err = collect(cli, recurrence, from_ms, fires, &lines, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    pawl__cli_put_list(cli, &view, lines, count);
    return PAWL__CLI_EXIT_OK;
}

/* ---- the command ---- */

/* `name` is the schedule's; NULL: there is none. */
static void print(struct pawl__cli *cli, const char *name, const struct pawl_recurrence *recurrence,
                  const char *words, const struct line *lines, size_t count)
{
    struct pawl__buf expression = { 0 };
    if (!cli->json) {
        if (!cli->quiet) put_words(cli, words);
        pawl__cli_put_list(cli, &view, lines, count);
        return;
    }
    pawl__cli_cron_put_expression(&expression, recurrence);
    if (expression.failed) pawl__cli_nomem();
    PAWL__CLI_PUT(cli, PAWL__SOME_TEXT("name", name), PAWL__HERE_TEXT("expression", expression.at),
                  PAWL__HERE_TEXT("zone", recurrence->zone), PAWL__HERE_TEXT("words", words),
                  PAWL__HERE_MANY("next", &line_shape, lines, count));
    pawl__buf_release(&expression);
}

static int show(struct pawl__cli *cli, const char *name, struct pawl_recurrence *recurrence)
{
    struct pawl_diag diag = { 0 };
    char words[PAWL_RECURRENCE_WORDS_BYTES];
    struct line *lines;
    size_t count;
    int64_t from_ms = pawl__cli_has(cli, PAWL__CLI_OPT_FROM)
                          ? pawl__cli_int(cli, PAWL__CLI_OPT_FROM)
                          : cli->now_ms;
    int64_t fires = pawl__cli_int(cli, PAWL__CLI_OPT_FIRES);
    int code = pawl__cli_set(cli, setters, sizeof setters / sizeof *setters, recurrence);
    if (code) return code;
    enum pawl_err err = pawl_recurrence_words(recurrence, from_ms, words, &diag);
    if (!err) err = collect(cli, recurrence, from_ms, (size_t)fires, &lines, &count, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    print(cli, name, recurrence, words, lines, count);
    return PAWL__CLI_EXIT_OK;
}

/* A single word is the name of a schedule, unless it is an alias or an instant. */
static bool is_name(const char *text, const struct pawl_recurrence *recurrence)
{
    return recurrence->expression && text[0] != '@' && !text[strcspn(text, " \t")];
}

int pawl__cli_cron_next(struct pawl__cli *cli)
{
    struct pawl_recurrence recurrence = { .zone = "UTC" };
    struct pawl_schedules schedules = { 0 };
    const char *text = cli->operands.at[0];
    if (pawl__cli_int(cli, PAWL__CLI_OPT_FIRES) > FIRES_MAX) {
        return pawl__cli_usage("\"--count\" is at most %d", FIRES_MAX);
    }
    int code = pawl__cli_cron_when(cli, text, &recurrence);
    if (code) return code;
    if (!is_name(text, &recurrence)) return show(cli, NULL, &recurrence);
    code = pawl__cli_open(cli);
    if (!code) code = pawl__cli_cron_get(cli, text, &schedules);
    if (!code) {
        recurrence = pawl_schedule_recurrence(&schedules.at[0]);
        code = show(cli, text, &recurrence);
    }
    pawl_schedules_release(&schedules);
    return code;
}
