/* Every (state, event) pair against moves.golden, and what must hold of any such table. The golden
 * file is changed on purpose or not at all: `test_... print` prints what the code says. */
#include "lifecycle/lifecycle.h"
#include "lifecycle/test_paths.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { EVENTS = 18, STATES = 11, LINE_BYTES = 128 };

static const char *name_of(enum pawl_state state)
{
    return state ? pawl_state_name(state, PAWL_VOCABULARY_PAWL) : "-";
}

static void add_line(struct pawl__buf *out, enum pawl_state from, enum pawl_event event,
                     enum pawl_state remembered)
{
    char left[LINE_BYTES];
    snprintf(left, sizeof left, "%s%s%s", name_of(from), remembered ? " from " : "",
             remembered ? name_of(remembered) : "");
    pawl__buf_printf(out, "%-22s %-12s %s\n", left, pawl__event_name(event),
                     name_of(pawl__lifecycle_next(from, event, remembered)));
}

static void print_table(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "# state, event, the state that follows; -: refused\n");
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            if (from != PAWL_STATE_PAUSED || event != PAWL_EVENT_RESUME) {
                add_line(out, from, event, PAWL_STATE_NONE);
                continue;
            }
            for (int remembered = 1; remembered < PAWL_STATE_END; remembered++) {
                add_line(out, from, event, remembered);
            }
        }
    }
}

/* The next line of `*text` without its newline; false at the end. */
static bool take_line(const char **text, char line[LINE_BYTES])
{
    if (**text == '\0') return false;
    size_t len = strcspn(*text, "\n");
    snprintf(line, LINE_BYTES, "%.*s", (int)len, *text);
    *text += len + ((*text)[len] == '\n');
    return true;
}

/* Prints differing lines as a diff and returns their number. */
static int print_diff(const char *golden, const char *actual)
{
    int differences = 0;
    for (;;) {
        char want[LINE_BYTES] = "", got[LINE_BYTES] = "";
        bool more_golden = take_line(&golden, want), more_actual = take_line(&actual, got);
        if (!more_golden && !more_actual) return differences;
        if (more_golden == more_actual && strcmp(want, got) == 0) continue;
        if (more_golden) print_error("-%s\n", want);
        if (more_actual) print_error("+%s\n", got);
        differences++;
    }
}

static void read_file(const char *path, struct pawl__buf *out)
{
    char piece[4096];
    size_t len;
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("cannot open \"%s\"", path);
    while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
        pawl__buf_add(out, piece, len);
    }
    fclose(file);
    assert_false(out->failed);
    assert_true(out->len > 0);
}

static void every_pair_is_as_the_golden_file_says(void **ctx)
{
    (void)ctx;
    struct pawl__buf golden = { 0 }, actual = { 0 };
    read_file(PAWL_TEST_MOVES_GOLDEN, &golden);
    print_table(&actual);
    assert_false(actual.failed);
    int differences = print_diff(golden.at, actual.at);
    pawl__buf_release(&golden);
    pawl__buf_release(&actual);
    assert_int_equal(differences, 0);
}

static void the_golden_file_leaves_no_pair_out(void **ctx)
{
    (void)ctx;
    struct pawl__buf golden = { 0 };
    int lines = 0;
    read_file(PAWL_TEST_MOVES_GOLDEN, &golden);
    for (size_t i = 0; i < golden.len; i++) {
        lines += golden.at[i] == '\n';
    }
    pawl__buf_release(&golden);
    assert_int_equal(PAWL_STATE_END - 1, STATES);
    assert_int_equal(PAWL_EVENT_END, EVENTS);
    assert_int_equal(lines, 1 + STATES * EVENTS - 1 + STATES); // a title; resume once per memory
}

/* A diff that misses changes would let the golden test always pass. */
static void the_diff_sees_every_kind_of_change(void **ctx)
{
    (void)ctx;
    assert_int_equal(print_diff("a\nb\n", "a\nb\n"), 0);
    assert_int_equal(print_diff("a\nb\n", "a\nc\n"), 1);
    assert_int_equal(print_diff("a\nb\n", "a\n"), 1);
    assert_int_equal(print_diff("a\n", "a\nb\nc\n"), 2);
    assert_int_equal(print_diff("a\n\n", "a\n"), 1);
}

/* RESET is an operator's retry of a flow, which alone begins again what was done. */
static void only_an_operator_leaves_what_ended(void **ctx)
{
    (void)ctx;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            enum pawl_state to = pawl__lifecycle_next(from, event, PAWL_STATE_NONE);
            if (!pawl_state_is_terminal(from) || !to) continue;
            if (event == PAWL_EVENT_RESET) continue;
            assert_false(pawl_state_is_successful(from));
            assert_true(event == PAWL_EVENT_REVIVE || event == PAWL_EVENT_PAUSE);
        }
    }
}

static void no_move_stays_where_it_is(void **ctx)
{
    (void)ctx;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            assert_int_not_equal(pawl__lifecycle_next(from, event, PAWL_STATE_NONE), from);
        }
    }
}

/* An event leads to the same state from any state, which makes a history easier to read. */
static void an_event_always_leads_to_the_same_state(void **ctx)
{
    (void)ctx;
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        enum pawl_state first = PAWL_STATE_NONE;
        for (int from = 1; from < PAWL_STATE_END; from++) {
            enum pawl_state to = pawl__lifecycle_next(from, event, PAWL_STATE_NONE);
            if (!first) first = to;
            if (to) assert_int_equal(to, first);
        }
    }
}

static void every_live_job_can_be_cancelled(void **ctx)
{
    (void)ctx;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        enum pawl_state to = pawl__lifecycle_next(from, PAWL_EVENT_CANCEL, PAWL_STATE_NONE);
        assert_int_equal(to, pawl_state_is_terminal(from) ? PAWL_STATE_NONE : PAWL_STATE_CANCELLED);
    }
}

static void only_claim_and_assign_make_a_job_active(void **ctx)
{
    (void)ctx;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            if (pawl__lifecycle_next(from, event, PAWL_STATE_NONE) != PAWL_STATE_ACTIVE) continue;
            assert_true(event == PAWL_EVENT_CLAIM || event == PAWL_EVENT_ASSIGN);
        }
    }
}

static void resume_undoes_pause(void **ctx)
{
    (void)ctx;
    int pausable = 0;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        enum pawl_state to = pawl__lifecycle_next(from, PAWL_EVENT_PAUSE, PAWL_STATE_NONE);
        enum pawl_state back = pawl__lifecycle_next(PAWL_STATE_PAUSED, PAWL_EVENT_RESUME, from);
        assert_true(to == PAWL_STATE_NONE || to == PAWL_STATE_PAUSED);
        assert_int_equal(back, to ? (enum pawl_state)from : PAWL_STATE_NONE);
        pausable += to != PAWL_STATE_NONE;
    }
    assert_int_equal(pausable, 5);
}

static void a_damaged_memory_is_refused(void **ctx)
{
    (void)ctx;
    static const int damaged[] = { PAWL_STATE_NONE, PAWL_STATE_PAUSED, PAWL_STATE_END, 200, -1 };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        assert_int_equal(
            pawl__lifecycle_next(PAWL_STATE_PAUSED, PAWL_EVENT_RESUME, (enum pawl_state)damaged[i]),
            PAWL_STATE_NONE);
    }
}

static void memory_matters_for_resume_alone(void **ctx)
{
    (void)ctx;
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int event = 0; event < PAWL_EVENT_END; event++) {
            if (from == PAWL_STATE_PAUSED && event == PAWL_EVENT_RESUME) continue;
            enum pawl_state to = pawl__lifecycle_next(from, event, PAWL_STATE_NONE);
            for (int remembered = 1; remembered < PAWL_STATE_END; remembered++) {
                assert_int_equal(pawl__lifecycle_next(from, event, remembered), to);
            }
        }
    }
}

/* True if a job can get from `from` to an end without an operator. */
static bool ends_by_itself(enum pawl_state from)
{
    uint32_t reached = PAWL_STATE_BIT(from), before = 0;
    while (reached != before) {
        before = reached;
        for (int state = 1; state < PAWL_STATE_END; state++) {
            if (!(reached & PAWL_STATE_BIT(state))) continue;
            if (pawl_state_is_terminal(state)) return true;
            for (int event = 0; event < PAWL_EVENT_END; event++) {
                if (event == PAWL_EVENT_CANCEL || event == PAWL_EVENT_PAUSE) continue;
                if (event == PAWL_EVENT_RESET) continue;
                enum pawl_state to = pawl__lifecycle_next(state, event, PAWL_STATE_NONE);
                if (to) reached |= PAWL_STATE_BIT(to);
            }
        }
    }
    return false;
}

static void no_live_state_is_a_dead_end(void **ctx)
{
    (void)ctx;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        assert_int_equal(ends_by_itself(state), state != PAWL_STATE_PAUSED);
    }
}

static void event_names_are_distinct(void **ctx)
{
    (void)ctx;
    for (int a = 0; a < PAWL_EVENT_END; a++) {
        assert_true(strlen(pawl__event_name(a)) > 0);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(pawl__event_name(a), pawl__event_name(b));
        }
    }
}

static int print_and_leave(void)
{
    struct pawl__buf out = { 0 };
    print_table(&out);
    if (!out.failed) fputs(out.at, stdout);
    pawl__buf_release(&out);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_as_the_golden_file_says),
        cmocka_unit_test(the_golden_file_leaves_no_pair_out),
        cmocka_unit_test(the_diff_sees_every_kind_of_change),
        cmocka_unit_test(only_an_operator_leaves_what_ended),
        cmocka_unit_test(no_move_stays_where_it_is),
        cmocka_unit_test(an_event_always_leads_to_the_same_state),
        cmocka_unit_test(every_live_job_can_be_cancelled),
        cmocka_unit_test(only_claim_and_assign_make_a_job_active),
        cmocka_unit_test(resume_undoes_pause),
        cmocka_unit_test(a_damaged_memory_is_refused),
        cmocka_unit_test(memory_matters_for_resume_alone),
        cmocka_unit_test(no_live_state_is_a_dead_end),
        cmocka_unit_test(event_names_are_distinct),
    };
    if (argc > 1 && strcmp(argv[1], "print") == 0) return print_and_leave();
    return cmocka_run_group_tests_name("lifecycle/move", tests, NULL, NULL);
}
