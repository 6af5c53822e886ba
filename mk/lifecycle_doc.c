/* Generates docs/lifecycle.md from the tables and functions of src/lifecycle, so that the page
 * cannot contradict the code.
 *
 *     lifecycle_doc                 prints the page
 *     lifecycle_doc write FILE      replaces FILE
 *     lifecycle_doc check FILE      prints one TAP line: is FILE up to date? */
#include "base/buf.h"
#include "base/time_text.h"
#include "lifecycle/decimal.h"
#include "lifecycle/lifecycle.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

enum { LABEL_BYTES = 128 };

#define X(name, text, who) who,
static const char *const causes[] = { PAWL_EVENTS(X) };
#undef X

#define X(number, name, text, ...) [number] = text,
static const char *const backoffs[] = { PAWL_BACKOFFS(X) };
#undef X

static const char *const jitters[] = { [PAWL_JITTER_ON] = "on", [PAWL_JITTER_OFF] = "off" };

static const char *const exhaustions[] = {
    [PAWL_EXHAUSTION_DISCARD] = "discard", [PAWL_EXHAUSTION_DEAD_LETTER] = "dead_letter"
};

static const char *name_of(enum pawl_state state)
{
    return pawl_state_name(state, PAWL_VOCABULARY_PAWL);
}

static enum pawl_state next_of(int from, int event)
{
    return pawl__lifecycle_next(from, event, PAWL_STATE_NONE);
}

static bool is_operators(int event)
{
    return strcmp(causes[event], "operator") == 0;
}

/* ---- states ---- */

static void add_opening(struct pawl__buf *out)
{
    pawl__buf_add_text(
        out,
        "# Job lifecycle\n\n"
        "<!-- Printed by mk/lifecycle_doc.c: change that, or the tables it reads, then run\n"
        "     `ninja -C build docs-lifecycle`. A test compares this page with the code. -->\n\n"
        "A job is always in exactly one state. Events move it, and only as the table below "
        "allows:\n"
        "any other move is refused, and the error names the state that the job is in. All\n"
        "interfaces of pawl use these states and events. Three other systems have their own names\n"
        "for the same states; pawl accepts and shows those too.\n\n");
}

static void add_states(struct pawl__buf *out)
{
    static const char *const endings[] = {
        [PAWL_ENDING_LIVE] = "", [PAWL_ENDING_SUCCESS] = "well", [PAWL_ENDING_FAILURE] = "badly"
    };
    pawl__buf_add_text(out, "## States\n\n"
                            "| no | pawl | OJS | Ratchet | Marie | ended | meaning |\n"
                            "|---:|------|-----|---------|-------|-------|---------|\n");
#define X(number, name, canonical, ojs, ratchet, marie, ending, meaning)                           \
    pawl__buf_printf(out, "| %d | %s | %s | %s | %s | %s | %s |\n", number, canonical, ojs,        \
                     ratchet, marie, endings[PAWL_ENDING_##ending], meaning);
    PAWL_STATES(X)
#undef X
    pawl__buf_add_text(
        out,
        "\nThe store contains the numbers; they never change. A name in another vocabulary may\n"
        "cover several states: a query for Ratchet's `PENDING` finds all of them. Names are not\n"
        "case-sensitive.\n\n"
        "- A job has *ended* when only an operator can still move it. It ended *well* if it did\n"
        "  its work or was deliberately skipped.\n"
        "- Whether a job *was executed* is counted, not derived from its state: it was executed if\n"
        "  a worker has claimed it at least once. A cancelled job may have run or not.\n\n");
}

/* ---- moves ---- */

/* All events that lead from one state to another, as "a, b"; empty if there is none. */
static void label_of(int from, int to, bool operators, char out[LABEL_BYTES])
{
    out[0] = '\0';
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        if (next_of(from, event) != (enum pawl_state)to || is_operators(event) != operators) {
            continue;
        }
        size_t len = strlen(out);
        snprintf(out + len, LABEL_BYTES - len, "%s%s", len ? ", " : "", pawl__event_name(event));
    }
}

static void add_edges(struct pawl__buf *out, bool operators)
{
    for (int from = 1; from < PAWL_STATE_END; from++) {
        for (int to = 1; to < PAWL_STATE_END; to++) {
            char label[LABEL_BYTES];
            label_of(from, to, operators, label);
            if (label[0] == '\0') continue;
            pawl__buf_printf(out, "    %s --> %s : %s\n", name_of(from), name_of(to), label);
        }
    }
}

static void add_resumes(struct pawl__buf *out)
{
    for (int to = 1; to < PAWL_STATE_END; to++) {
        if (!pawl__lifecycle_next(PAWL_STATE_PAUSED, PAWL_EVENT_RESUME, to)) continue;
        pawl__buf_printf(out, "    %s --> %s : %s\n", name_of(PAWL_STATE_PAUSED), name_of(to),
                         pawl__event_name(PAWL_EVENT_RESUME));
    }
}

static void add_diagrams(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "## Moves\n\n"
                            "Moves in normal operation. A new job starts as `scheduled` if it is\n"
                            "due later, as `pending` if it is held, else as `available`.\n\n"
                            "```mermaid\nstateDiagram-v2\n"
                            "    [*] --> scheduled\n"
                            "    [*] --> available\n"
                            "    [*] --> pending\n");
    add_edges(out, false);
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (pawl_state_is_terminal(state)) {
            pawl__buf_printf(out, "    %s --> [*]\n", name_of(state));
        }
    }
    pawl__buf_add_text(out, "```\n\n"
                            "Moves by operators. Resuming restores the state before the pause;\n"
                            "reviving runs a job again that ended badly.\n\n"
                            "```mermaid\nstateDiagram-v2\n");
    add_edges(out, true);
    add_resumes(out);
    pawl__buf_add_text(out, "```\n\n");
}

static void add_moves_from(struct pawl__buf *out, int from)
{
    bool any = false;
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        enum pawl_state to = next_of(from, event);
        bool resume = from == PAWL_STATE_PAUSED && event == PAWL_EVENT_RESUME;
        if (!to && !resume) continue;
        pawl__buf_printf(out, "| %s | %s | %s |\n", any ? "" : name_of(from),
                         pawl__event_name(event), resume ? "*the state before the pause*" : name_of(to));
        any = true;
    }
    if (!any) pawl__buf_printf(out, "| %s | | *none* |\n", name_of(from));
}

static void add_moves(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "All moves:\n\n"
                            "| from | event | to |\n"
                            "|------|-------|----|\n");
    for (int from = 1; from < PAWL_STATE_END; from++) {
        add_moves_from(out, from);
    }
    pawl__buf_add_text(out, "\n");
}

/* ---- events ---- */

static void add_event(struct pawl__buf *out, int event)
{
    const char *to = "*the state before the pause*", *comma = "";
    pawl__buf_printf(out, "| %s | %s | ", pawl__event_name(event), causes[event]);
    for (int from = 1; from < PAWL_STATE_END; from++) {
        bool resume = from == PAWL_STATE_PAUSED && event == PAWL_EVENT_RESUME;
        if (!next_of(from, event) && !resume) continue;
        if (!resume) to = name_of(next_of(from, event));
        pawl__buf_printf(out, "%s%s", comma, name_of(from));
        comma = ", ";
    }
    pawl__buf_printf(out, " | %s |\n", to);
}

static void add_events(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "## Events\n\n"
                            "| event | caused by | from | to |\n"
                            "|-------|-----------|------|----|\n");
    for (int event = 0; event < PAWL_EVENT_END; event++) {
        add_event(out, event);
    }
    pawl__buf_add_text(
        out,
        "\nConditions select the event, and the table gives the next state. The end of a lease is\n"
        "`lapse` while the job may run again and `exhaust` otherwise; without that, a job that\n"
        "kills its workers would run for ever. Some changes are two events in one step: a job\n"
        "that is given back is snoozed and due at once, which costs no attempt.\n\n");
}

/* ---- retry: the policy ---- */

static void add_default(struct pawl__buf *out, const char *field, const char *value,
                        const char *meaning)
{
    pawl__buf_printf(out, "| `%s` | %s | %s |\n", field, value, meaning);
}

static void add_default_int(struct pawl__buf *out, const char *field, int64_t value,
                            const char *meaning)
{
    pawl__buf_printf(out, "| `%s` | %" PRId64 " | %s |\n", field, value, meaning);
}

static void add_default_double(struct pawl__buf *out, const char *field, double value,
                               const char *meaning)
{
    pawl__buf_printf(out, "| `%s` | ", field);
    pawl__decimal_print(value, out);
    pawl__buf_printf(out, " | %s |\n", meaning);
}

static void add_policy(struct pawl__buf *out)
{
    struct pawl_retry retry = { 0 };
    pawl__retry_resolve(&retry);
    assert(retry.exponent_max == 0); // the page calls it "no limit"
    pawl__buf_add_text(out, "## Retry policy\n\n"
                            "When a run fails, the job's retry policy decides whether and when it\n"
                            "runs again. A field that is not given takes its default.\n\n"
                            "| field | default | meaning |\n"
                            "|-------|--------:|---------|\n");
    add_default_int(out, "attempts_max", retry.attempts_max, "total runs, including the first");
    add_default(out, "backoff", backoffs[retry.backoff], "how the wait grows");
    add_default_int(out, "initial_ms", retry.initial_ms, "*I*, the first wait");
    add_default_double(out, "coefficient", retry.coefficient, "*C*, at least 1");
    add_default_int(out, "cap_ms", retry.cap_ms,
                    "the longest wait; if not given, at least `initial_ms`");
    add_default(out, "exponent_max", "no limit", "where the power of *C* stops growing");
    add_default(out, "jitter", jitters[retry.jitter],
                "randomize the wait, so that jobs that failed "
                "together are not retried together");
    add_default_double(out, "jitter_low", retry.jitter_low, "the lowest factor");
    add_default_double(out, "jitter_high", retry.jitter_high, "the upper bound of the factor, exclusive");
    add_default(out, "non_retryable", "none",
                "error types that are not retried; `auth.*` is a prefix");
    add_default(out, "on_exhaustion", exhaustions[retry.on_exhaustion],
                "or `dead_letter`: listed among the dead letters");
}

static void add_formulas(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "\nThe wait after the *n*-th failed attempt is\n\n"
                            "| backoff | wait |\n"
                            "|---------|------|\n");
#define X(number, name, text, formula) pawl__buf_printf(out, "| %s | `%s` |\n", text, formula);
    PAWL_BACKOFFS(X)
#undef X
    pawl__buf_add_text(out,
                       "\nThe wait is then limited to `cap_ms`, with jitter multiplied by a random "
                       "number, uniform in\n"
                       "[`jitter_low`, `jitter_high`), and limited to `cap_ms` again. Without "
                       "jitter and with an\n"
                       "integer coefficient, a wait is exact to the millisecond.\n\n");
}

/* ---- retry: a worked table ---- */

static const struct {
    const char *title;
    struct pawl_retry retry;
} samples[] = {
    { "default, no jitter", { .jitter = PAWL_JITTER_OFF } },
    { "linear", { .backoff = PAWL_BACKOFF_LINEAR, .jitter = PAWL_JITTER_OFF } },
    { "polynomial", { .backoff = PAWL_BACKOFF_POLYNOMIAL, .jitter = PAWL_JITTER_OFF } },
    { "C = 1.5", { .coefficient = 1.5, .jitter = PAWL_JITTER_OFF } },
};

enum { SAMPLES = sizeof samples / sizeof *samples, COLUMNS = SAMPLES + 2 };

enum { RATCHET_RETRIES = 30, RATCHET_BASE_MS = 1000, MARIE_LIMIT = 30, MARIE_DELAY_MS = 5000 };

static void add_jitter_range(struct pawl__buf *out, int64_t n)
{
    struct pawl_retry retry = { .jitter = PAWL_JITTER_OFF };
    pawl__retry_resolve(&retry);
    int64_t wait_ms = pawl__retry_delay(&retry, n, NULL);
    int64_t least = (int64_t)((double)wait_ms * retry.jitter_low);
    int64_t most = (int64_t)((double)wait_ms * retry.jitter_high);
    if (most > retry.cap_ms) most = retry.cap_ms;
    pawl__buf_printf(out, " %" PRId64 " to %" PRId64 " |", least, most);
}

static void add_delays(struct pawl__buf *out, int64_t n, const struct pawl_retry *columns)
{
    pawl__buf_printf(out, "| %" PRId64 " |", n);
    for (int i = 0; i < COLUMNS; i++) {
        pawl__buf_printf(out, " %" PRId64 " |", pawl__retry_delay(&columns[i], n, NULL));
        if (i == 0) add_jitter_range(out, n);
    }
    pawl__buf_add_text(out, "\n");
}

static void add_delay_table(struct pawl__buf *out)
{
    static const int64_t rows[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 30 };
    struct pawl_retry columns[COLUMNS];
    pawl__buf_add_text(out, "| n |");
    for (int i = 0; i < SAMPLES; i++) {
        columns[i] = samples[i].retry;
        pawl__retry_resolve(&columns[i]);
        pawl__buf_printf(out, " %s |%s", samples[i].title, i == 0 ? " with jitter |" : "");
    }
    columns[SAMPLES] =
        pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, RATCHET_RETRIES, RATCHET_BASE_MS);
    columns[SAMPLES + 1] = pawl__retry_marie(MARIE_LIMIT, MARIE_DELAY_MS, true, false);
    pawl__buf_printf(out, " Ratchet from %d | Marie from %d |\n|--:|", RATCHET_BASE_MS,
                     MARIE_DELAY_MS);
    for (int i = 0; i <= COLUMNS; i++) {
        pawl__buf_add_text(out, "--:|");
    }
    pawl__buf_add_text(out, "\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add_delays(out, rows[i], columns);
    }
}

static void add_systems(struct pawl__buf *out)
{
    struct pawl_retry ratchet =
        pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, RATCHET_RETRIES, RATCHET_BASE_MS);
    struct pawl_retry marie = pawl__retry_marie(MARIE_LIMIT, MARIE_DELAY_MS, true, true);
    pawl__buf_add_text(out, "\nMilliseconds, as computed by the code. ");
    pawl__buf_printf(out,
                     "The default policy is that of OJS. Ratchet's\n"
                     "doubles at most %" PRId32 " times, stops at %" PRId64 " hours and has no "
                     "jitter. Marie's doubles at most\n"
                     "%" PRId32 " times; its jitter, if enabled, is a factor from ",
                     ratchet.exponent_max, ratchet.cap_ms / 3600000, marie.exponent_max);
    pawl__decimal_print(marie.jitter_low, out);
    pawl__buf_add_text(out, " up to ");
    pawl__decimal_print(marie.jitter_high, out);
    pawl__buf_add_text(out, ".\nAll three are the same policy with different parameters. The store "
                            "keeps a policy as JSON, without\nthe fields that have their default. "
                            "Ratchet's policy above is\n\n```json\n");
    pawl__retry_print(&ratchet, out);
    pawl__buf_add_text(out, "\n```\n\n");
}

/* ---- retry: the decision ---- */

static const char *const verdicts[] = { [PAWL__VERDICT_REQUEUE] = "available at once",
                                        [PAWL__VERDICT_RETRY] = "retryable",
                                        [PAWL__VERDICT_DISCARD] = "discarded",
                                        [PAWL__VERDICT_DEAD_LETTER] = "discarded, dead letter" };

static void add_decision(struct pawl__buf *out)
{
    static const char *const list[] = { "auth.*" };
    static const struct {
        const char *what;
        int64_t attempt;
        struct pawl_report report;
    } rows[] = {
        { "asks to be requeued", 3, { .requeue = true } },
        { "code `DISCARD`", 1, { .code = "DISCARD" } },
        { "code `FAIL`", 1, { .code = "FAIL" } },
        { "code `DEAD_LETTER`", 1, { .code = "DEAD_LETTER" } },
        { "type `auth.expired`", 1, { .type = "auth.expired" } },
        { "error class `auth.denied`", 1, { .error_class = "auth.denied" } },
        { "says it is not retryable", 1, { .not_retryable = true } },
        { "type `timeout`, last attempt", 3, { .type = "timeout" } },
        { "type `timeout`", 2, { .type = "timeout" } },
        { "code `RETRY`", 2, { .code = "RETRY" } },
        { "asks for 7 s", 2, { .retry_after_ms = 7000 } },
    };
    struct pawl_retry retry = { .jitter = PAWL_JITTER_OFF,
                                .non_retryable = list,
                                .non_retryable_count = 1,
                                .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    pawl__retry_resolve(&retry);
    pawl__buf_printf(
        out,
        "The first matching line decides whether the job is retried. The example has\n"
        "`attempts_max` %" PRId32 ", `non_retryable` `auth.*`, no jitter, and "
        "`on_exhaustion` `%s`.\n\n"
        "| the worker reports | attempt | the job is then | after ms | reason |\n"
        "|--------------------|--------:|-----------------|---------:|--------|\n",
        retry.attempts_max, exhaustions[retry.on_exhaustion]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pawl__verdict verdict =
            pawl__retry_decide(&retry, &rows[i].report, rows[i].attempt, NULL);
        pawl__buf_printf(out, "| %s | %" PRId64 " | %s | ", rows[i].what, rows[i].attempt,
                         verdicts[verdict.kind]);
        if (verdict.kind == PAWL__VERDICT_RETRY) pawl__buf_add_int(out, verdict.delay_ms);
        pawl__buf_printf(out, " | %s |\n", verdict.reason);
    }
    pawl__buf_add_text(out, "\n");
}

/* ---- rank ---- */

#define MINUTE INT64_C(60000)
#define HOUR INT64_C(3600000)
#define NOON INT64_C(1772452800000) /* 2026-03-02T12:00Z */

struct waiting {
    const char *what;
    struct pawl__rank_of of;
};

static int by_rank(const void *a, const void *b)
{
    int64_t left = pawl__rank(&((const struct waiting *)a)->of);
    int64_t right = pawl__rank(&((const struct waiting *)b)->of);
    return (left > right) - (left < right);
}

/* A cell with "03-02 12:00", or empty for zero. */
static void add_instant(struct pawl__buf *out, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    if (at_ms) {
        pawl__instant_text(at_ms, text);
        pawl__buf_printf(out, " %.5s %.5s", text + 5, text + 11);
    }
    pawl__buf_add_text(out, " |");
}

static void add_waiting(struct pawl__buf *out)
{
    struct waiting jobs[] = {
        { "report", { .due_at_ms = NOON - HOUR } },
        { "mail", { .due_at_ms = NOON - MINUTE, .priority = 4 } },
        { "clean up", { .due_at_ms = NOON - 3 * HOUR, .priority = -10 } },
        { "invoice", { .due_at_ms = NOON, .sla_soft_at_ms = NOON + 6 * HOUR } },
        { "tax form", { .due_at_ms = NOON, .sla_hard_at_ms = NOON + 6 * HOUR } },
        { "audit", { .due_at_ms = NOON, .sla_hard_at_ms = NOON + 96 * HOUR } },
    };
    qsort(jobs, sizeof jobs / sizeof *jobs, sizeof *jobs, by_rank);
    pawl__buf_add_text(out, "| place | job | due | priority | soft deadline | hard deadline | rank |\n"
                            "|------:|-----|-----|---------:|---------------|---------------|------|\n");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        pawl__buf_printf(out, "| %zu | %s |", i + 1, jobs[i].what);
        add_instant(out, jobs[i].of.due_at_ms);
        pawl__buf_printf(out, " %" PRId32 " |", jobs[i].of.priority);
        add_instant(out, jobs[i].of.sla_soft_at_ms);
        add_instant(out, jobs[i].of.sla_hard_at_ms);
        add_instant(out, pawl__rank(&jobs[i].of));
        pawl__buf_add_text(out, "\n");
    }
}

static void add_rank(struct pawl__buf *out)
{
    pawl__buf_printf(
        out,
        "## Order\n\n"
        "A claim takes the available job with the lowest rank in a queue first:\n\n"
        "    rank = minimum of   due - priority * %" PRId64 " min\n"
        "                        soft deadline - %" PRId64 " h\n"
        "                        hard deadline - %" PRId64 " h\n\n",
        PAWL__RANK_BOOST_MS / MINUTE, PAWL__RANK_SLA_LEAD_MS / HOUR,
        2 * PAWL__RANK_SLA_LEAD_MS / HOUR);
    pawl__buf_printf(
        out,
        "A rank is an instant. It is computed once, when a job becomes available, and stored in "
        "an\n"
        "index, so a claim costs the same however many jobs wait. One step of priority is worth\n"
        "%" PRId64 " minutes of waiting, which prevents starvation: a job of priority 0 that has "
        "waited for\n"
        "%" PRId64 " minutes ranks equal to a new one of priority 4. The order is the same as that "
        "of\n"
        "\"priority plus age\", which would have to be recomputed for every waiting job at every\n"
        "claim. A distant deadline has no effect; a near one moves the job forward, and never\n"
        "back. Jobs of equal rank run in the order in which they were submitted, within a batch "
        "in\n"
        "the order of the batch, regardless of their ids. A job that returns with the same rank "
        "as\n"
        "before also returns to its former place.\n\n"
        "An example, at 12:00 on 2 March:\n\n",
        PAWL__RANK_BOOST_MS / MINUTE, 4 * PAWL__RANK_BOOST_MS / MINUTE);
    add_waiting(out);
}

/* ---- the program ---- */

static void print_page(struct pawl__buf *out)
{
    add_opening(out);
    add_states(out);
    add_diagrams(out);
    add_moves(out);
    add_events(out);
    add_policy(out);
    add_formulas(out);
    add_delay_table(out);
    add_systems(out);
    add_decision(out);
    add_rank(out);
}

static int complain(const char *path)
{
    fprintf(stderr, "lifecycle_doc: \"%s\": %s\n", path, strerror(errno));
    return 1;
}

static int write_page(const struct pawl__buf *page, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) return complain(path);
    size_t written = fwrite(page->at, 1, page->len, file);
    if (fclose(file) != 0 || written != page->len) return complain(path);
    return 0;
}

/* The first line in which they differ. */
static int line_of_difference(const char *a, const char *b)
{
    int line = 1;
    for (; *a && *a == *b; a++, b++) {
        line += *a == '\n';
    }
    return line;
}

static int check_page(const struct pawl__buf *page, const char *path)
{
    struct pawl__buf found = { 0 };
    char piece[4096];
    size_t len;
    FILE *file = fopen(path, "r");
    if (!file) return complain(path);
    while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
        pawl__buf_add(&found, piece, len);
    }
    fclose(file);
    bool same = !found.failed && found.at && found.len == page->len &&
                memcmp(found.at, page->at, page->len) == 0;
    printf("1..1\n%sok 1 - the page is what the code says\n", same ? "" : "not ");
    if (!same) {
        printf("# \"%s\" differs from line %d on: run `ninja docs-lifecycle`\n", path,
               line_of_difference(page->at, found.at ? found.at : ""));
    }
    pawl__buf_release(&found);
    return same ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct pawl__buf page = { 0 };
    int status = 2;
    print_page(&page);
    if (page.failed) {
        fputs("lifecycle_doc: out of memory\n", stderr);
    } else if (argc == 1) {
        status = fputs(page.at, stdout) < 0;
    } else if (argc == 3 && strcmp(argv[1], "write") == 0) {
        status = write_page(&page, argv[2]);
    } else if (argc == 3 && strcmp(argv[1], "check") == 0) {
        status = check_page(&page, argv[2]);
    } else {
        fputs("usage: lifecycle_doc [write FILE | check FILE]\n", stderr);
    }
    pawl__buf_release(&page);
    return status;
}
