/* Tables for people. On a terminal a table is made to fit: first the widest column that may be cut
 * gives way, down to its least width; when that is not enough, columns that can be spared are left
 * out, the least important ones. */
#include "cli/cli.h"

#include <assert.h>
#include <inttypes.h>

enum { GAP = 2, CELL_BYTES_MAX = 240 };

void pawl__cli_table_init(struct pawl__cli_table *table, struct pawl__cli *cli)
{
    *table = (struct pawl__cli_table){ .cli = cli };
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
    // A cell is a glimpse; megabytes of arguments are for "pawl show".
    bool cut = len > CELL_BYTES_MAX;
    if (cut) {
        len = CELL_BYTES_MAX;
        while (len && (text[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    pawl__plain_add(&buf, text, len);
    if (cut) pawl__buf_add_text(&buf, "...");
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

/* The column that can best give a character away; NULL: none can. */
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

/* Everything at its natural width, then as narrow as need be. */
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

/* Room is given to columns one by one: those that must stay, then the rest by their importance,
 * those with nothing in them last. */
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
