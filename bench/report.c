/* Rows of results: gathered while the measurements run, shown as a table and as JSON at the end. */
#include "bench.h"

#include "base/buf.h"

#include <assert.h>

static struct pawl__row rows[PAWL__BENCH_ROWS_MAX];
static int row_count;

static bool is_met(const struct pawl__row *row)
{
    if (row->kind == PAWL__GOAL_AT_LEAST) return row->ratio >= row->goal;
    if (row->kind == PAWL__GOAL_VALUE_BELOW) return row->value < row->goal;
    return row->kind == PAWL__GOAL_NONE || row->ratio <= row->goal;
}

static void print_number(char *out, size_t bytes, double value)
{
    const char *format = value >= 1000  ? "%.0f"
                         : value >= 10  ? "%.1f"
                         : value >= 0.1 ? "%.2f"
                                        : "%.4f";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(out, bytes, format, value);
#pragma GCC diagnostic pop
}

static void print_goal(char *out, size_t bytes, const struct pawl__row *row)
{
    if (row->kind == PAWL__GOAL_VALUE_BELOW) {
        snprintf(out, bytes, "< %g %s", row->goal, row->unit);
    } else {
        const char *sign = row->kind == PAWL__GOAL_AT_LEAST ? ">=" : "<=";
        snprintf(out, bytes, "%s %.2f", sign, row->goal);
    }
}

static void print_row(FILE *out, const struct pawl__row *row)
{
    char value[32], floor[32] = "-", ratio[32] = "-", spread[48] = "", goal[32] = "-";
    const char *met = "-";
    print_number(value, sizeof value, row->value);
    if (row->floor > 0) {
        print_number(floor, sizeof floor, row->floor);
        snprintf(ratio, sizeof ratio, "%.3f", row->ratio);
    }
    if (row->ratio_high > 0) {
        snprintf(spread, sizeof spread, "%.2f..%.2f", row->ratio_low, row->ratio_high);
    }
    if (row->kind != PAWL__GOAL_NONE) {
        print_goal(goal, sizeof goal, row);
        met = row->met ? "yes" : "NO";
    }
    fprintf(out, "%-42s %10s %-7s %10s %7s %11s %8s %4s  %s\n", row->name, value, row->unit, floor,
            ratio, spread, goal, met, row->note);
}

void pawl__report_add(const struct pawl__row *row)
{
    assert(row_count < PAWL__BENCH_ROWS_MAX);
    struct pawl__row *kept = &rows[row_count++];
    *kept = *row;
    kept->met = is_met(row);
    print_row(stderr, kept);
}

static void add_plain(const char *load, const char *what, const char *unit, double value)
{
    struct pawl__row row = { .unit = unit, .value = value };
    snprintf(row.name, sizeof row.name, "%s, %s", load, what);
    pawl__report_add(&row);
}

void pawl__report_commits(struct pawl__store *store, const char *load)
{
    struct pawl__store_counters counters;
    pawl__store_counters_get(store, &counters);
    const double commits = counters.commits > 0 ? (double)counters.commits : 1;
    add_plain(load, "operations per commit", "ops", (double)counters.ops / commits);
    add_plain(load, "rows per commit", "rows", (double)counters.rows / commits);
    add_plain(load, "time of a commit", "ms", (double)counters.commit_us / commits / 1e3);
    add_plain(load, "slowest commit", "ms", (double)counters.commit_us_max / 1e3);
}

void pawl__report_print(FILE *out)
{
    fprintf(out, "%-42s %10s %-7s %10s %7s %11s %8s %4s  %s\n", "name", "value", "unit", "floor",
            "ratio", "spread", "goal", "met", "note");
    for (int i = 0; i < row_count; i++) {
        print_row(out, &rows[i]);
    }
}

static void add_text(struct pawl__buf *buf, const char *name, const char *text)
{
    pawl__buf_printf(buf, ", \"%s\": ", name);
    pawl__buf_add_json(buf, text, strlen(text));
}

static void add_number(struct pawl__buf *buf, const char *name, double value, bool given)
{
    if (given) {
        pawl__buf_printf(buf, ", \"%s\": %.6g", name, value);
    } else {
        pawl__buf_printf(buf, ", \"%s\": null", name);
    }
}

static void add_row(struct pawl__buf *buf, const struct pawl__row *row)
{
    static const char *const kinds[] = { "none", "at_least", "at_most", "value_below" };
    const bool goal = row->kind != PAWL__GOAL_NONE;
    pawl__buf_add_text(buf, "{\"name\": ");
    pawl__buf_add_json(buf, row->name, strlen(row->name));
    pawl__buf_printf(buf, ", \"value\": %.10g", row->value);
    add_text(buf, "unit", row->unit);
    add_number(buf, "floor", row->floor, row->floor > 0);
    add_number(buf, "ratio", row->ratio, row->floor > 0);
    add_number(buf, "ratio_low", row->ratio_low, row->ratio_high > 0);
    add_number(buf, "ratio_high", row->ratio_high, row->ratio_high > 0);
    add_number(buf, "goal", row->goal, goal);
    add_text(buf, "goal_kind", kinds[row->kind]);
    pawl__buf_printf(buf, ", \"met\": %s", !goal ? "null" : row->met ? "true" : "false");
    add_text(buf, "note", row->note);
    pawl__buf_add_text(buf, "}");
}

void pawl__report_json(const char *path)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add_text(&buf, "[");
    for (int i = 0; i < row_count; i++) {
        pawl__buf_add_text(&buf, i > 0 ? ",\n " : "\n ");
        add_row(&buf, &rows[i]);
    }
    pawl__buf_add_text(&buf, "\n]\n");
    if (buf.failed) pawl__bench_die("out of memory");
    FILE *file = fopen(path, "w");
    if (!file) pawl__bench_die("could not write \"%s\": %m", path);
    const bool written = fwrite(buf.at, 1, buf.len, file) == buf.len;
    if (fclose(file) || !written) pawl__bench_die("could not write \"%s\": %m", path);
    pawl__buf_release(&buf);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pawl__median(double *values, int count)
{
    assert(count > 0);
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

struct pawl__row pawl__pairs_run(const struct pawl__bench *bench, const struct pawl__pairs *pairs)
{
    double floors[PAWL__BENCH_PAIRS_MAX], values[PAWL__BENCH_PAIRS_MAX];
    double ratios[PAWL__BENCH_PAIRS_MAX];
    const int count = pairs->count > 0 && !bench->quick ? pairs->count : bench->pairs;
    assert(count > 0 && count <= PAWL__BENCH_PAIRS_MAX);
    for (int i = 0; i < count; i++) {
        if (i % 2) values[i] = pairs->value(pairs->value_ctx);
        floors[i] = pairs->floor(pairs->floor_ctx);
        if (i % 2 == 0) values[i] = pairs->value(pairs->value_ctx);
        ratios[i] = values[i] / floors[i];
        pawl__bench_say("%s %d/%d: %.4g, floor %.4g, ratio %.3f", pairs->name, i + 1, count,
                        values[i], floors[i], ratios[i]);
    }
    struct pawl__row row = { .unit = pairs->unit, .kind = pairs->kind, .goal = pairs->goal };
    snprintf(row.name, sizeof row.name, "%s", pairs->name);
    row.value = pawl__median(values, count);
    row.floor = pawl__median(floors, count);
    row.ratio = pawl__median(ratios, count); // sorted from here on
    row.ratio_low = ratios[0];
    row.ratio_high = ratios[count - 1];
    return row;
}
