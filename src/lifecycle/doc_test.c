/* Parses docs/lifecycle.md and compares its tables and diagrams with the code. Another test checks
 * that the page is what mk/lifecycle_doc.c prints; this one would detect if that program omitted
 * something. */
#include "lifecycle/lifecycle.h"
#include "lifecycle/test_paths.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LINE_BYTES = 512, WORD_BYTES = 32 };

/* How often each move was seen: from, event, to. */
struct seen {
    int count[PAWL_STATE_END][PAWL_EVENT_END][PAWL_STATE_END];
};

static FILE *open_page(void)
{
    FILE *file = fopen(PAWL_TEST_LIFECYCLE_DOC, "r");
    if (!file) fail_msg("cannot open \"%s\"", PAWL_TEST_LIFECYCLE_DOC);
    return file;
}

static enum pawl_state state_of(const char *name)
{
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (strcmp(name, pawl_state_name(state, PAWL_VOCABULARY_PAWL)) == 0) return state;
    }
    return PAWL_STATE_NONE;
}

static enum pawl_event event_of(const char *name)
{
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        if (strcmp(name, pawl__event_name(event)) == 0) return event;
    }
    return PAWL_EVENT_END;
}

/* Calls `found` for each line of the page. */
static void each_line(void (*found)(const char *line, void *ctx), void *ctx)
{
    char line[LINE_BYTES];
    FILE *file = open_page();
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        found(line, ctx);
    }
    fclose(file);
}

/* "    a --> b : x, y" */
static void note_edge(const char *line, void *ctx)
{
    struct seen *seen = ctx;
    char from[WORD_BYTES], to[WORD_BYTES];
    int at = 0;
    if (sscanf(line, " %31[a-z] --> %31[a-z] : %n", from, to, &at) != 2 || at == 0) return;
    assert_int_not_equal(state_of(from), PAWL_STATE_NONE);
    assert_int_not_equal(state_of(to), PAWL_STATE_NONE);
    for (const char *word = line + at; *word; word += strspn(word, ", ")) {
        char name[WORD_BYTES];
        size_t len = strcspn(word, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, word);
        assert_int_not_equal(event_of(name), PAWL_EVENT_END);
        seen->count[state_of(from)][event_of(name)][state_of(to)]++;
        word += len;
    }
}

/* The moves of the code, including resumes. */
static bool is_move(int from, int event, int to)
{
    if (from == PAWL_STATE_PAUSED && event == PAWL_EVENT_RESUME) {
        return pawl__lifecycle_next(from, event, to) == (enum pawl_state)to;
    }
    return pawl__lifecycle_next(from, event, PAWL_STATE_NONE) == (enum pawl_state)to;
}

static void the_diagrams_draw_every_move_once_and_no_other(void **ctx)
{
    (void)ctx;
    static struct seen seen;
    each_line(note_edge, &seen);
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            for (int to = 1; to < PAWL_STATE_END; to++) {
                if (seen.count[from][event][to] == is_move(from, event, to)) continue;
                fail_msg("%s %s %s is drawn %d times", pawl_state_name(from, PAWL_VOCABULARY_PAWL),
                         pawl__event_name(event), pawl_state_name(to, PAWL_VOCABULARY_PAWL),
                         seen.count[from][event][to]);
            }
        }
    }
}

/* Rows "| from | event | to |"; an empty first cell means the state above. */
struct rows {
    struct seen seen;
    enum pawl_state from;
};

static void note_row(const char *line, void *ctx)
{
    struct rows *rows = ctx;
    char from[WORD_BYTES] = "", event[WORD_BYTES], to[WORD_BYTES];
    int end = 0;
    bool named = sscanf(line, "| %31[a-z] | %31[a-z_] | %31[a-z] |%n", from, event, to, &end) == 3;
    if (!named && sscanf(line, "| | %31[a-z_] | %31[a-z] |%n", event, to, &end) != 2) return;
    if (end == 0 || line[end] != '\0' || event_of(event) == PAWL_EVENT_END) return;
    if (named) rows->from = state_of(from);
    assert_int_not_equal(rows->from, PAWL_STATE_NONE);
    assert_int_not_equal(state_of(to), PAWL_STATE_NONE);
    rows->seen.count[rows->from][event_of(event)][state_of(to)]++;
}

static void the_table_lists_every_move_once_and_no_other(void **ctx)
{
    (void)ctx;
    static struct rows rows;
    each_line(note_row, &rows);
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            for (int to = 1; to < PAWL_STATE_END; to++) {
                bool move = pawl__lifecycle_next(from, event, PAWL_STATE_NONE) == (unsigned)to;
                if (rows.seen.count[from][event][to] == move) continue;
                fail_msg("%s %s %s is listed %d times", pawl_state_name(from, PAWL_VOCABULARY_PAWL),
                         pawl__event_name(event), pawl_state_name(to, PAWL_VOCABULARY_PAWL),
                         rows.seen.count[from][event][to]);
            }
        }
    }
}

static void note_state(const char *line, void *ctx)
{
    int *seen = ctx;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        char row[LINE_BYTES];
        snprintf(row, sizeof row, "| %d | %s | %s | %s | %s |", state,
                 pawl_state_name(state, PAWL_VOCABULARY_PAWL),
                 pawl_state_name(state, PAWL_VOCABULARY_OJS),
                 pawl_state_name(state, PAWL_VOCABULARY_RATCHET),
                 pawl_state_name(state, PAWL_VOCABULARY_MARIE));
        seen[state] += strncmp(line, row, strlen(row)) == 0;
    }
}

static void the_states_have_their_names_in_every_vocabulary(void **ctx)
{
    (void)ctx;
    int seen[PAWL_STATE_END] = { 0 };
    each_line(note_state, seen);
    for (int state = 1; state < PAWL_STATE_END; state++) {
        assert_int_equal(seen[state], 1);
    }
}

static void note_event(const char *line, void *ctx)
{
    static const char *const causes[] = {
#define X(name, text, who) "| " text " | " who " | ",
        PAWL_EVENTS(X)
#undef X
    };
    int *seen = ctx;
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        seen[event] += strncmp(line, causes[event], strlen(causes[event])) == 0;
    }
}

static void the_events_name_who_causes_them(void **ctx)
{
    (void)ctx;
    int seen[PAWL_EVENT_END] = { 0 };
    each_line(note_event, seen);
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        assert_int_equal(seen[event], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_diagrams_draw_every_move_once_and_no_other),
        cmocka_unit_test(the_table_lists_every_move_once_and_no_other),
        cmocka_unit_test(the_states_have_their_names_in_every_vocabulary),
        cmocka_unit_test(the_events_name_who_causes_them),
    };
    return cmocka_run_group_tests_name("lifecycle/doc", tests, NULL, NULL);
}
