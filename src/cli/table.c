/* Tables. On a terminal a table is made to fit: the widest column that may be cut is made narrower,
 * repeatedly, down to its least width; if that is not enough, droppable columns are left out, the
 * least important first. */
#include "cli/cli.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>

enum { GAP = 2, CELL_BYTES_MAX = 240 };

void pawl__cli_table_init(struct pawl__cli_table *table, struct pawl__cli *cli,
                          const struct pawl__cli_column *columns, size_t count)
{
    *table = (struct pawl__cli_table){ .cli = cli };
    for (size_t i = 0; i < count; i++) {
        pawl__cli_table_column(table, columns[i]);
    }
}

void pawl__cli_table_column(struct pawl__cli_table *table, struct pawl__cli_column column)
{
    assert(table->column_count < PAWL__CLI_COLUMNS_MAX);
    assert(table->cell_count == 0);
    column.natural = strlen(column.title);
    column.empty = true;
    table->columns[table->column_count++] = column;
}

static void grow(struct pawl__cli_table *table)
{
    size_t cap = table->cell_cap ? table->cell_cap * 2 : 256;
    table->cells = pawl__cli_need(reallocarray(table->cells, cap, sizeof(*table->cells)));
    table->cell_cap = cap;
}

void pawl__cli_table_cell(struct pawl__cli_table *table, const char *text, size_t len,
                          const char *colour)
{
    struct pawl__buf buf = { 0 };
    size_t shown = pawl__utf8_cut(text, len, CELL_BYTES_MAX); // "pawl show" prints all of it
    pawl__plain_add(&buf, text, shown);
    if (shown < len) pawl__buf_add_text(&buf, "...");
    if (buf.failed) pawl__cli_nomem();
    if (table->cell_count == table->cell_cap) grow(table);
    table->cells[table->cell_count++] = (struct pawl__cli_cell){
        .text = pawl__cli_need(pawl__arena_dup(&table->arena, buf.at ? buf.at : "", buf.len)),
        .len = buf.len,
        .colour = colour ? colour : "",
    };
    pawl__buf_release(&buf);
}

void pawl__cli_table_text(struct pawl__cli_table *table, const char *text)
{
    pawl__cli_table_cell(table, text, strlen(text), NULL);
}

void pawl__cli_table_int(struct pawl__cli_table *table, int64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);
    pawl__cli_table_cell(table, text, (size_t)len, NULL);
}

void pawl__cli_table_buf(struct pawl__cli_table *table, struct pawl__buf *buf)
{
    if (buf->failed) pawl__cli_nomem();
    pawl__cli_table_cell(table, buf->len ? buf->at : "", buf->len, NULL);
    pawl__buf_release(buf);
}

void pawl__cli_table_when(struct pawl__cli_table *table, int64_t at_ms)
{
    struct pawl__buf buf = { 0 };
    if (at_ms) pawl__cli_put_when(&buf, at_ms, table->cli->now_ms);
    pawl__cli_table_buf(table, &buf);
}

void pawl__cli_state_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_job *job = row;
    const char *state = pawl__cli_state_text(table->cli, job->state);
    pawl__cli_table_cell(table, state, strlen(state),
                         pawl__cli_state_colour(table->cli, job->state));
}

void pawl__cli_try_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl_job *job = row;
    struct pawl__buf buf = { 0 };
    pawl__buf_printf(&buf, "%" PRId64 "/%" PRId32, pawl__cli_tries(job), job->attempts_max);
    pawl__cli_table_buf(table, &buf);
}

static void put_field(struct pawl__cli_table *table, enum pawl__as kind, const void *at)
{
    const struct pawl_span *span = at;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    switch (kind) {
    case PAWL__AS_INT32:
        pawl__cli_table_int(table, *(const int32_t *)at);
        break;
    case PAWL__AS_INT64:
        pawl__cli_table_int(table, *(const int64_t *)at);
        break;
    case PAWL__AS_BOOL:
        pawl__cli_table_text(table, *(const bool *)at ? "yes" : "");
        break;
    case PAWL__AS_INSTANT:
        pawl__cli_table_when(table, *(const int64_t *)at);
        break;
    case PAWL__AS_ID:
        pawl_job_id_text(*(const struct pawl_job_id *)at, id);
        pawl__cli_table_text(table, id);
        break;
    case PAWL__AS_JSON:
        pawl__cli_table_cell(table, span->len ? span->at : "", span->len, NULL);
        break;
    default:
        assert(kind == PAWL__AS_NAME || kind == PAWL__AS_TEXT || kind == PAWL__AS_CHARS);
        pawl__cli_table_text(table, kind == PAWL__AS_CHARS ? at : *(const char *const *)at);
        break;
    }
}

void pawl__cli_table_row(struct pawl__cli_table *table, const void *row)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct pawl__cli_column *column = &table->columns[i];
        if (column->cell) {
            column->cell(table, row);
        } else {
            put_field(table, column->kind, (const char *)row + column->offset);
        }
    }
}

void pawl__cli_put_list(struct pawl__cli *cli, const struct pawl__cli_view *view, const void *rows,
                        size_t count)
{
    struct pawl__cli_table table;
    if (cli->json) {
        struct pawl__shape_writer writer = pawl__cli_writer(cli, &cli->out);
        pawl__shape_print_list(&writer, view->shape, rows, count);
        pawl__buf_add_text(&cli->out, "\n");
        return;
    }
    pawl__cli_table_init(&table, cli, view->columns, view->column_count);
    for (size_t i = 0; i < count; i++) {
        pawl__cli_table_row(&table, (const char *)rows + i * view->shape->bytes);
    }
    if (count || !view->none) pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    if (!count && view->none && !cli->quiet) fprintf(stderr, "%s\n", view->none);
}

static void measure(struct pawl__cli_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        struct pawl__cli_column *column = &table->columns[i % table->column_count];
        size_t width = pawl__cli_width(table->cells[i].text, table->cells[i].len);
        if (width > column->natural) column->natural = width;
        if (width) column->empty = false;
    }
}

static size_t total_width(const struct pawl__cli_table *table)
{
    size_t total = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].hidden) total += table->columns[i].width + GAP;
    }
    return total ? total - GAP : 0;
}

/* The widest column that can be made narrower, or NULL. */
static struct pawl__cli_column *widest(struct pawl__cli_table *table)
{
    struct pawl__cli_column *best = NULL;
    for (size_t i = 0; i < table->column_count; i++) {
        struct pawl__cli_column *column = &table->columns[i];
        if (column->hidden || !column->least || column->width <= column->least) continue;
        if (!best || column->width > best->width) best = column;
    }
    return best;
}

/* Starts from the natural widths. False: the columns cannot be made to fit. */
static bool squeeze(struct pawl__cli_table *table, size_t columns)
{
    for (size_t i = 0; i < table->column_count; i++) {
        table->columns[i].width = table->columns[i].natural;
    }
    while (columns && total_width(table) > columns) {
        struct pawl__cli_column *column = widest(table);
        if (!column) return false;
        column->width--;
    }
    return true;
}

/* Columns are added while they fit: those that are never dropped, then the others by importance,
 * empty ones last. */
static void fit(struct pawl__cli_table *table)
{
    size_t columns = (size_t)table->cli->columns;
    if (squeeze(table, columns)) return;
    for (size_t i = 0; i < table->column_count; i++) {
        table->columns[i].hidden = table->columns[i].droppable > 0;
    }
    for (int rank = 1; rank <= 2 * PAWL__CLI_COLUMNS_MAX; rank++) {
        for (size_t i = 0; i < table->column_count; i++) {
            struct pawl__cli_column *column = &table->columns[i];
            int own = column->droppable + (column->empty ? PAWL__CLI_COLUMNS_MAX : 0);
            if (!column->droppable || own != rank) continue;
            column->hidden = false;
            column->hidden = !squeeze(table, columns);
        }
    }
    squeeze(table, columns);
}

static void put_cell(struct pawl__cli_table *table, const struct pawl__cli_column *column,
                     struct pawl__cli_cell cell, bool last)
{
    struct pawl__buf *out = &table->cli->out;
    size_t width = pawl__cli_width(cell.text, cell.len);
    bool cut = width > column->width;
    if (cut) {
        cell.len = pawl__cli_fit(cell.text, cell.len, column->width - 1);
        width = pawl__cli_width(cell.text, cell.len) + 1;
    }
    int pad = (int)(column->width - width);
    if (column->right) pawl__buf_printf(out, "%*s", pad, "");
    if (*cell.colour) pawl__buf_add_text(out, cell.colour);
    pawl__buf_add(out, cell.text, cell.len);
    if (cut) pawl__buf_add_text(out, "~");
    if (*cell.colour) pawl__buf_add_text(out, pawl__cli_plain(table->cli));
    if (!column->right && !last) pawl__buf_printf(out, "%*s", pad, "");
    if (!last) pawl__buf_printf(out, "%*s", GAP, "");
}

static void put_row(struct pawl__cli_table *table, const struct pawl__cli_cell *cells)
{
    size_t last = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].hidden) last = i;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        const struct pawl__cli_column *column = &table->columns[i];
        struct pawl__cli_cell title = { column->title, strlen(column->title),
                                        pawl__cli_bold(table->cli) };
        if (!column->hidden) put_cell(table, column, cells ? cells[i] : title, i == last);
    }
    struct pawl__buf *out = &table->cli->out;
    while (out->len && out->at[out->len - 1] == ' ') {
        out->len--; // an empty last cell
    }
    pawl__buf_add_text(out, "\n");
}

void pawl__cli_table_print(struct pawl__cli_table *table)
{
    assert(table->column_count && table->cell_count % table->column_count == 0);
    measure(table);
    fit(table);
    if (!table->headed) put_row(table, NULL);
    table->headed = true;
    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        put_row(table, table->cells + i);
    }
    table->cell_count = 0;
    pawl__arena_reset(&table->arena);
}

void pawl__cli_table_release(struct pawl__cli_table *table)
{
    free(table->cells);
    pawl__arena_release(&table->arena);
    *table = (struct pawl__cli_table){ 0 };
}
