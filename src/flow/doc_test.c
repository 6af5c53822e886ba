/* docs/flows.md says what the language of conditions is: its tables are compared with the code, and
 * its examples are evaluated. */
#include "flow/expr_test_kit.h"
#include "flow/test_paths.h"

#include <stdio.h>

enum { LINE_BYTES = 512, CELLS = 3 };

/* The cells of a table's row, without white space around them. */
struct row {
    char line[LINE_BYTES];
    char *cells[CELLS];
    int count;
};

static void split(struct row *row)
{
    row->count = 0;
    if (row->line[0] != '|') return;
    for (char *at = row->line + 1, *bar; (bar = strstr(at, " |")) && row->count < CELLS;) {
        at += strspn(at, " ");
        char *end = bar;
        while (end > at && end[-1] == ' ') {
            end--;
        }
        row->cells[row->count++] = at;
        at = bar + 2;
        *end = '\0';
    }
}

static void each_row(void (*found)(struct row *row, void *ctx), void *ctx)
{
    struct row row;
    FILE *file = fopen(PAWL_TEST_FLOWS_DOC, "r");
    if (!file) fail_msg("cannot open \"%s\"", PAWL_TEST_FLOWS_DOC);
    while (fgets(row.line, sizeof row.line, file)) {
        split(&row);
        if (row.count > 0) found(&row, ctx);
    }
    fclose(file);
}

/* Removes the quotes of code around `cell`; false: it has none. */
static bool unquote(char *cell)
{
    size_t len = strlen(cell);
    if (len < 2 || cell[0] != '`' || cell[len - 1] != '`') return false;
    memmove(cell, cell + 1, len - 2);
    cell[len - 2] = '\0';
    return true;
}

static void evaluate(struct row *row, void *ctx)
{
    static const char reason[] = "false: ";
    int *count = ctx;
    if (row->count < 3 || !unquote(row->cells[0]) || !unquote(row->cells[1])) return;
    char *said = row->cells[2];
    if (strncmp(said, reason, strlen(reason)) == 0) {
        said += strlen(reason);
        assert_true(unquote(said));
    }
    const char *is = judge(row->cells[0], row->cells[1]);
    if (strcmp(is, said) != 0) fail_msg("%s: \"%s\", not \"%s\"", row->cells[0], is, said);
    ++*count;
}

static void examples_hold(void **state)
{
    int count = 0;
    each_row(evaluate, &count);
    assert_true(count > 15);
}

static const struct {
    const char *name, *meaning;
} roots[] = {
#define X(name, text, meaning) { "`/" text "`", meaning },
    PAWL__EXPR_ROOTS(X)
#undef X
};

static void find_root(struct row *row, void *ctx)
{
    uint32_t *seen = ctx;
    for (size_t i = 0; row->count >= 2 && i < COUNT(roots); i++) {
        if (strcmp(row->cells[0], roots[i].name) != 0) continue;
        assert_string_equal(row->cells[1], roots[i].meaning);
        *seen |= UINT32_C(1) << i;
    }
}

static void every_value_is_described(void **state)
{
    uint32_t seen = 0;
    each_row(find_root, &seen);
    assert_int_equal(seen, (UINT32_C(1) << COUNT(roots)) - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_hold),
        cmocka_unit_test(every_value_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
