/* pawl flow list and pawl flow show. */
#include "cli/flow.h"

#include "cli/flow_draw.h"
#include "wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* ---- list ---- */

static void flow_state_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_flow *flow = row;
    const char *text = pawl__flow_state_words.at[flow->state];
    pawl__cli_table_cell(table, text, strlen(text), pawl__cli_flow_colour(table->cli, flow));
}

static void done_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_flow *flow = row;
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, flow->jobs.total - flow->jobs.open,
             flow->jobs.total);
    pawl__cli_table_text(table, text);
}

#define S struct pawl_flow
static const struct pawl__cli_column flow_columns[] = {
    PAWL__CLI_FIELD("ID", ID, S, id),
    PAWL__CLI_CELL("STATE", flow_state_cell),
    PAWL__CLI_FIELD("NAME", NAME, S, name, .least = 10),
    PAWL__CLI_FIELD("LAYOUT", NAME, S, layout, .droppable = 2),
    PAWL__CLI_CELL("JOBS", done_cell, .right = true),
    PAWL__CLI_FIELD("CREATED", INSTANT, S, created_at_ms, .droppable = 1),
    PAWL__CLI_FIELD("ENDED", INSTANT, S, finished_at_ms, .droppable = 3),
    PAWL__CLI_FIELD("REASON", NAME, S, reason, .least = 10, .droppable = 4),
};
#undef S

int pawl__cli_flow_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view =
        PAWL__CLI_VIEW(pawl__cli_flow_shape, flow_columns, "no flows");
    struct pawl_diag diag = { 0 };
    struct pawl_flows flows = { 0 };
    const struct pawl_flow_filter filter = {
        .state = pawl__cli_has(cli, PAWL__CLI_OPT_FLOW_STATE)
                     ? (enum pawl_flow_state)(pawl__cli_int(cli, PAWL__CLI_OPT_FLOW_STATE) + 1)
                     : PAWL_FLOW_NONE,
        .name = pawl__cli_text(cli, PAWL__CLI_OPT_FLOW_NAME),
    };
    const struct pawl_page page = { .limit = pawl__cli_int(cli, PAWL__CLI_OPT_FLOW_LIMIT) };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_flow_list(cli->pawl, &filter, &page, &flows, &diag);
    if (!err) pawl__cli_put_list(cli, &view, flows.at, flows.count);
    pawl_flows_release(&flows);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* ---- show: the picture in lines ---- */

/* A line, the first member of which is what its cells are made from. */
struct line {
    const struct pawl__rail_row *row;
    const struct pawl__drawing *drawing;
};

static const struct pawl_flow_view *view_of(const struct line *line)
{
    return line->row->node && !line->row->node->more ? line->row->node->view : NULL;
}

static void name_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    const struct pawl__drawn *node = line->row->node;
    struct pawl__buf text = { 0 };
    pawl__buf_add_text(&text, line->row->rails);
    if (node && node->more) {
        pawl__buf_printf(&text, " %" PRIu32 " more", node->more);
    } else if (node) {
        pawl__cli_put_text(&text, " ", node->view->name);
    }
    pawl__cli_table_buf(table, &text);
}

static void what_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_flow_view *view = view_of(row);
    bool is_job = view && view->kind == PAWL_FLOW_KIND_JOB;
    pawl__cli_table_text(table, !view    ? ""
                                : is_job ? view->type
                                         : pawl__flow_kind_words.at[view->kind]);
}

/* "3 completed, 5 available" */
static void put_states(struct pawl__cli *cli, struct pawl__buf *out, const int64_t *states)
{
    for (int s = 1; s < PAWL_STATE_END; s++) {
        if (!states[s]) continue;
        pawl__buf_printf(out, "%s%" PRId64 " %s", out->len ? ", " : "", states[s],
                         pawl__cli_state_text(cli, (enum pawl_state)s));
    }
}

static void state_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    const struct pawl_flow_view *view = view_of(line);
    struct pawl__buf text = { 0 };
    if (line->row->node && !view) put_states(table->cli, &text, line->row->node->states);
    if (view) pawl__buf_add_text(&text, pawl__cli_state_text(table->cli, view->state));
    if (text.failed) pawl__cli_nomem();
    pawl__cli_table_cell(table, text.at ? text.at : "", text.len,
                         view ? pawl__cli_state_colour(table->cli, view->state) : "");
    pawl__buf_release(&text);
}

static void when_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_flow_view *view = view_of(row);
    struct pawl__buf text = { 0 };
    if (view && view->finished_at_ms) {
        pawl__buf_add_text(&text, "ended ");
        pawl__cli_put_when(&text, view->finished_at_ms, table->cli->now_ms);
    } else if (view && view->started_at_ms) {
        pawl__buf_add_text(&text, "since ");
        pawl__cli_put_when(&text, view->started_at_ms, table->cli->now_ms);
    }
    pawl__cli_table_buf(table, &text);
}

/* The condition of the edge that leads here; with several edges there is no place for them. */
static void put_condition(struct pawl__buf *out, const struct line *line)
{
    const struct pawl__drawn *node = line->row->node;
    if (node->in_count != 1) return;
    const struct pawl_flow_arc *arc = line->drawing->links[line->drawing->ins[node->in]].arc;
    pawl__cli_put_text(out, out->len ? "; " : "", arc->label);
    pawl__cli_put_text(out, out->len ? "; when " : "when ", arc->when);
    pawl__cli_put_text(out, ": ", arc->reason);
    if (arc->otherwise) pawl__buf_add_text(out, out->len ? "; otherwise" : "otherwise");
    if (arc->on != PAWL_FLOW_ON_SUCCESS) {
        pawl__buf_printf(out, "%son %s", out->len ? "; " : "", pawl__flow_on_words.at[arc->on]);
    }
}

/* What a node waits for, and how long. */
static void put_signal(struct pawl__cli *cli, struct pawl__buf *out,
                       const struct pawl_flow_view *view)
{
    if (view->kind != PAWL_FLOW_KIND_SIGNAL || pawl_state_is_terminal(view->state)) return;
    bool waits = view->state == PAWL_STATE_ACTIVE;
    if (waits) pawl__buf_add_text(out, out->len ? "; waits for a signal" : "waits for a signal");
    pawl__cli_put_text(out, out->len ? ", key " : "key ", view->signal_key);
    if (!view->until_ms) return;
    pawl__buf_add_text(out, ", timeout ");
    pawl__cli_put_when(out, view->until_ms, cli->now_ms);
}

static void note_cell(struct pawl__cli_table *table, const void *row)
{
    const struct line *line = row;
    const struct pawl_flow_view *view = view_of(line);
    struct pawl__buf text = { 0 };
    if (view) {
        pawl__cli_put_text(&text, "", view->reason);
        if (view->kind == PAWL_FLOW_KIND_GROUP) {
            pawl__buf_printf(&text, "%s%" PRId64 " of %" PRId64 " ended", text.len ? "; " : "",
                             view->members.total - view->members.open, view->members.total);
        }
        put_condition(&text, line);
        if (view->state == PAWL_STATE_PENDING && view->pending > 1) {
            pawl__buf_printf(&text, "%swaits for %" PRId32 " more", text.len ? "; " : "",
                             view->pending);
        }
        put_signal(table->cli, &text, view);
    }
    pawl__cli_table_buf(table, &text);
}

static const struct pawl__cli_column line_columns[] = {
    PAWL__CLI_CELL("NODE", name_cell, .least = 16),
    PAWL__CLI_CELL("TYPE", what_cell, .least = 8, .droppable = 1),
    PAWL__CLI_CELL("STATE", state_cell),
    PAWL__CLI_CELL("WHEN", when_cell, .droppable = 2),
    PAWL__CLI_CELL("NOTE", note_cell, .least = 12, .droppable = 3),
};

/* Box drawing needs a terminal, or a reader, that understands UTF-8. */
static bool is_ascii(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
    }
    return true;
}

static void put_lines(struct pawl__cli *cli, const struct pawl_flow_nodes *nodes)
{
    struct pawl__drawing drawing;
    struct pawl__rail_rows rows;
    struct pawl__cli_table table;
    if (!pawl__drawing_make(nodes, &cli->arena, &drawing) ||
        !pawl__rails_draw(&drawing, is_ascii(), &cli->arena, &rows)) {
        pawl__cli_nomem();
    }
    pawl__cli_table_init(&table, cli, line_columns, sizeof line_columns / sizeof *line_columns);
    for (size_t i = 0; i < rows.count; i++) {
        const struct line line = { .row = &rows.at[i], .drawing = &drawing };
        pawl__cli_table_row(&table, &line);
    }
    pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
}

/* ---- show: text ---- */

static void put_moment(struct pawl__cli *cli, const char *label, int64_t at_ms)
{
    if (!at_ms) return;
    pawl__cli_put_label(cli, label);
    pawl__cli_put_moment(cli, at_ms);
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_counts(struct pawl__cli *cli, const struct pawl_flow_counts *jobs)
{
    const struct {
        int64_t count;
        const char *what;
    } parts[] = { { jobs->skipped, "skipped" },
                  { jobs->failed, "failed" },
                  { jobs->cancelled, "cancelled" } };
    pawl__cli_put_label(cli, "jobs");
    pawl__buf_printf(&cli->out, "%" PRId64 " of %" PRId64 " completed", jobs->completed,
                     jobs->total);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].count) continue;
        pawl__buf_printf(&cli->out, ", %" PRId64 " %s", parts[i].count, parts[i].what);
    }
    pawl__buf_printf(&cli->out, " (%d %% ended)\n", pawl_flow_percent(jobs));
}

static void put_text(struct pawl__cli *cli, const struct pawl_flow *flow,
                     const struct pawl_flow_nodes *nodes)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(flow->id, id);
    pawl__buf_printf(&cli->out, "Flow %s\n", id);
    pawl__cli_put_fact(cli, "name", PAWL__AS_NAME, &flow->name);
    pawl__cli_put_fact(cli, "layout", PAWL__AS_NAME, &flow->layout);
    pawl__cli_put_label(cli, "state");
    pawl__cli_put_flow_state(cli, flow);
    if (flow->paused) pawl__buf_add_text(&cli->out, ", paused");
    pawl__cli_put_text(&cli->out, ": ", flow->reason);
    pawl__buf_add_text(&cli->out, "\n");
    put_counts(cli, &flow->jobs);
    put_moment(cli, "created", flow->created_at_ms);
    put_moment(cli, "ended", flow->finished_at_ms);
    put_moment(cli, "deadline", flow->deadline_at_ms);
    pawl__cli_put_fact(cli, "reopened", PAWL__AS_INT32, &flow->reopened);
    pawl__cli_put_fact(cli, "meta", PAWL__AS_JSON, &flow->meta);
    pawl__buf_add_text(&cli->out, "\n");
    put_lines(cli, nodes);
}

/* ---- show: JSON ---- */

#define S struct pawl_flow_view
static const struct pawl__member view_members[] = {
    PAWL__MEMBER("number", INT32, S, number),
    PAWL__MEMBER("name", NAME, S, name, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("kind", WORD, S, kind, .words = &pawl__flow_kind_words),
    PAWL__MEMBER("id", ID, S, id),
    PAWL__CLI_STATE("state", S, state, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("type", NAME, S, type),
    PAWL__MEMBER("queue", NAME, S, queue),
    PAWL__MEMBER("group", INT32, S, group),
    PAWL__MEMBER("join", WORD, S, join, .words = &pawl__flow_join_words),
    PAWL__MEMBER("n", INT32, S, n),
    PAWL__MEMBER("on_parent_failure", WORD, S, on_parent_failure,
                 .words = &pawl__flow_parent_words),
    PAWL__MEMBER("select", WORD, S, select, .words = &pawl__flow_select_words),
    PAWL__MEMBER("may_fail", BOOL, S, may_fail),
    PAWL__MEMBER("callback", BOOL, S, callback),
    PAWL__MEMBER("pending", INT32, S, pending),
    PAWL__MEMBER("good", INT32, S, good),
    PAWL__MEMBER("dead", INT32, S, dead),
    PAWL__MEMBER("broken", INT32, S, broken),
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),
    PAWL__MEMBER("finished_at", INSTANT, S, finished_at_ms),
    PAWL__MEMBER("reason", NAME, S, reason),
    PAWL__MEMBER("result", JSON, S, result),
    PAWL__MEMBER("signal_key", NAME, S, signal_key),
    PAWL__MEMBER("until", INSTANT, S, until_ms),
};
static const struct pawl__shape view_shape = PAWL__SHAPE(S, view_members);
#undef S

static const char *const verdict_texts[] = { [1] = "good", [2] = "dead", [3] = "broken" };
static const struct pawl__words verdict_words = { .at = verdict_texts, .count = 4 };

static void print_verdict(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct pawl_flow_arc *arc = base;
    bool is_known = arc->verdict > 0 && (uint32_t)arc->verdict < verdict_words.count;
    if (is_known) pawl__buf_printf(writer->out, "\"%s\"", verdict_words.at[arc->verdict]);
}

#define S struct pawl_flow_arc
static const struct pawl__member arc_members[] = {
    PAWL__MEMBER("parent", INT32, S, parent),
    PAWL__MEMBER("child", INT32, S, child),
    PAWL__MEMBER("on", WORD, S, on, .words = &pawl__flow_on_words),
    PAWL__MEMBER("when", NAME, S, when),
    PAWL__MEMBER("arm", INT32, S, arm),
    PAWL__MEMBER("otherwise", BOOL, S, otherwise),
    PAWL__MEMBER("label", NAME, S, label),
    PAWL__MEMBER("verdict", OWN, S, verdict, .print = print_verdict),
    PAWL__MEMBER("reason", NAME, S, reason),
};
static const struct pawl__shape arc_shape = PAWL__SHAPE(S, arc_members);
#undef S

static void put_json(struct pawl__cli *cli, const struct pawl_flow *flow,
                     const struct pawl_flow_nodes *nodes)
{
    PAWL__CLI_PUT(cli, PAWL__PART(&pawl__cli_flow_shape, flow),
                  PAWL__HERE_MANY("nodes", &view_shape, nodes->at, nodes->count),
                  PAWL__HERE_MANY("edges", &arc_shape, nodes->edges, nodes->edge_count));
}

/* ---- show: SVG ---- */

/* Writes the picture to a file; "-" is standard output. Exit code. */
static int put_svg(struct pawl__cli *cli, const struct pawl_flow *flow,
                   const struct pawl_flow_nodes *nodes)
{
    const char *path = pawl__cli_text(cli, PAWL__CLI_OPT_SVG);
    struct pawl__drawing drawing;
    struct pawl__buf text = { 0 };
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(flow->id, id);
    if (!pawl__drawing_make(nodes, &cli->arena, &drawing)) pawl__cli_nomem();
    pawl__svg_draw(&drawing, flow->name[0] ? flow->name : id, &cli->arena, &text);
    if (text.failed) pawl__cli_nomem();
    if (strcmp(path, "-") == 0) {
        pawl__buf_add(&cli->out, text.at, text.len);
        pawl__buf_release(&text);
        return PAWL__CLI_EXIT_OK;
    }
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(text.at, 1, text.len, file) == text.len;
    if (file && fclose(file) != 0) ok = false;
    int error = errno;
    pawl__buf_release(&text);
    if (ok) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("could not write \"%s\": %s", path, strerror(error));
    return PAWL__CLI_EXIT_REFUSED;
}

/* ---- show ---- */

static int show(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    struct pawl_diag diag = { 0 };
    struct pawl_flows flows = { 0 };
    struct pawl_flow_nodes nodes = { 0 };
    int code = PAWL__CLI_EXIT_OK;
    enum pawl_err err = pawl_flow_get(cli->pawl, id, &flows, &diag);
    if (!err) err = pawl_flow_nodes_get(cli->pawl, id, &nodes, &diag);
    if (err) {
        code = pawl__cli_fail(err, &diag);
    } else if (pawl__cli_has(cli, PAWL__CLI_OPT_SVG)) {
        code = put_svg(cli, &flows.at[0], &nodes);
    } else {
        (cli->json ? put_json : put_text)(cli, &flows.at[0], &nodes);
    }
    pawl_flows_release(&flows);
    pawl_flow_nodes_release(&nodes);
    return code;
}

int pawl__cli_flow_show(struct pawl__cli *cli)
{
    return pawl__cli_each_flow(cli, show, NULL);
}
