#include "support/rig.h"

#include "base/buf.h"
#include "support/ops.h"

struct rig_kept {
    struct pawl__arena arena;
    struct rig_kept *next;
};

static void rig_start(struct rig *rig)
{
    struct pawl_config config = {
        .store = rig->url, .clock = &rig->clock->clock, .busy_timeout_ms = 30000, .seed = 1
    };
    enum pawl_err err = pawl__store_open(&config, &rig->store, &rig->diag);
    assert_ok(rig, err);
}

void rig_open(struct rig *rig, const struct store_kind *kind)
{
    *rig = (struct rig){ .kind = kind };
    rig->clock = &rig->own_clock;
    hand_clock_init(rig->clock, HAND_CLOCK_START_MS);
    kind->make(rig->url, sizeof rig->url);
    rig_start(rig);
}

static void keep_it(const char *url)
{
    (void)url;
}

void rig_open_url(struct rig *rig, const char *url)
{
    static const struct store_kind named = { .name = "named", .dispose = keep_it };
    *rig = (struct rig){ .kind = &named };
    rig->clock = &rig->own_clock;
    hand_clock_init(rig->clock, HAND_CLOCK_START_MS);
    snprintf(rig->url, sizeof rig->url, "%s", url);
    rig_start(rig);
}

void rig_open_peer(struct rig *rig, struct rig *of)
{
    *rig = (struct rig){ .kind = of->kind, .clock = of->clock, .id_space = of->id_space + 1 };
    memcpy(rig->url, of->url, sizeof rig->url);
    rig_start(rig);
}

void rig_tidy(struct rig *rig)
{
    while (rig->kept != NULL) {
        struct rig_kept *kept = rig->kept;
        rig->kept = kept->next;
        pawl__arena_release(&kept->arena);
        free(kept);
    }
    pawl__arena_release(&rig->arena);
}

void rig_close(struct rig *rig)
{
    if (rig->store != NULL) pawl__store_close(rig->store);
    rig->store = NULL;
    rig_tidy(rig);
    if (rig->clock == &rig->own_clock) rig->kind->dispose(rig->url);
}

void rig_reopen(struct rig *rig)
{
    pawl__store_close(rig->store);
    rig->store = NULL;
    rig_start(rig);
}

void rig_keep(struct rig *rig, struct pawl__arena *taken_arena)
{
    struct rig_kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL) abort();
    kept->arena = *taken_arena;
    kept->next = rig->kept;
    rig->kept = kept;
    *taken_arena = (struct pawl__arena){ 0 };
}

int64_t rig_now(struct rig *rig)
{
    return hand_clock_now(rig->clock);
}

void rig_advance(struct rig *rig, int64_t by_ms)
{
    hand_clock_advance(rig->clock, by_ms);
}

struct pawl_job_id rig_id(struct rig *rig)
{
    // Ids of one rig ascend: the clock may stand still or step back, the counter does not.
    if (rig->id_ms < rig_now(rig)) rig->id_ms = rig_now(rig);
    uint32_t n = rig->id_count++;
    if (n % 4096 == 0 && n > 0) rig->id_ms++;
    struct pawl_job_id id;
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)(rig->id_ms >> (40 - 8 * i));
    id.b[6] = (uint8_t)(0x70 | ((n >> 8) & 0x0f));
    id.b[7] = (uint8_t)n;
    id.b[8] = (uint8_t)(0x80 | (rig->id_space & 0x3f));
    for (int i = 9; i < 16; i++)
        id.b[i] = (uint8_t)(n * 2654435761u >> (i % 4 * 8));
    return id;
}

const char *rig_queue(struct rig *rig)
{
    return rig_text(rig, "queue-%u-%u", rig->id_space, rig->queue_count++);
}

const char *rig_text(struct rig *rig, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(len >= 0 && (size_t)len < sizeof text);
    char *copy = pawl__arena_dup(&rig->arena, text, (size_t)len);
    assert_non_null(copy);
    return copy;
}

struct pawl_span rig_multibyte(struct rig *rig, size_t bytes, bool json)
{
    static const char *const letters[] = { "é", "日", "𝄞", "ß", "ж", "𐍈", "€" };
    struct pawl__buf buf = { 0 };
    if (json) pawl__buf_add_text(&buf, "[\"");
    size_t tail = json ? 2 : 0;
    for (size_t i = 0; buf.len + tail + 4 <= bytes; i++)
        pawl__buf_add_text(&buf, letters[i % COUNT(letters)]);
    while (buf.len + tail < bytes)
        pawl__buf_add_text(&buf, "x");
    if (json) pawl__buf_add_text(&buf, "\"]");
    assert_false(buf.failed);
    char *copy = pawl__arena_dup(&rig->arena, buf.at, buf.len);
    assert_non_null(copy);
    struct pawl_span span = { .at = copy, .len = buf.len };
    pawl__buf_release(&buf);
    return span;
}

/* ---- what must always hold ---- */

static void print_finding(void *ctx, const char *finding)
{
    (void)ctx;
    print_error("store check: %s\n", finding);
}

static void count_one(struct pawl_stats *seen, const struct pawl_job *job)
{
    size_t i = 0;
    while (i < seen->queue_count && strcmp(seen->queues[i].queue, job->queue) != 0)
        i++;
    assert_true(i < seen->queue_count); // a queue that holds jobs is listed
    if (job->archived) {
        seen->archived++;
        seen->queues[i].archived++;
        return;
    }
    seen->count[job->state]++;
    seen->queues[i].count[job->state]++;
    bool waits = job->state == PAWL_STATE_SCHEDULED || job->state == PAWL_STATE_RETRYABLE;
    if (waits && (seen->next_due_at_ms == 0 || job->due_at_ms < seen->next_due_at_ms))
        seen->next_due_at_ms = job->due_at_ms;
}

/* Count again what the store counts in passing. */
static struct pawl_stats count_by_scan(struct rig *rig, const struct pawl_stats *told)
{
    struct pawl_stats seen = { .queue_count = told->queue_count };
    seen.queues = pawl__arena_calloc(&rig->arena, told->queue_count + 1, sizeof *seen.queues);
    assert_non_null(seen.queues);
    for (size_t i = 0; i < told->queue_count; i++)
        seen.queues[i].queue = told->queues[i].queue;
    struct claimed all = query_all(rig, &(struct pawl_filter){ .archived = true }, true);
    for (size_t i = 0; i < all.count; i++)
        count_one(&seen, &all.at[i]);
    return seen;
}

static void compare_counts(const struct pawl_stats *told, const struct pawl_stats *seen)
{
    for (int state = 1; state < PAWL_STATE_END; state++) {
        assert_i64(seen->count[state], told->count[state]);
        for (size_t i = 0; i < told->queue_count; i++)
            assert_i64(seen->queues[i].count[state], told->queues[i].count[state]);
    }
    for (size_t i = 0; i < told->queue_count; i++) {
        assert_i64(seen->queues[i].archived, told->queues[i].archived);
        if (i > 0) assert_true(strcmp(told->queues[i - 1].queue, told->queues[i].queue) < 0);
    }
    assert_i64(seen->archived, told->archived);
    assert_i64(seen->next_due_at_ms, told->next_due_at_ms);
}

void rig_check(struct rig *rig)
{
    assert_ok(rig, pawl__store_check(rig->store, print_finding, NULL, &rig->diag));
    struct pawl_stats told = stats_of(rig);
    struct pawl_stats seen = count_by_scan(rig, &told);
    compare_counts(&told, &seen);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        assert_i64(seen.count[state], count_state(rig, state));
}

int64_t scaled(int64_t full)
{
    const char *text = getenv("PAWL_TEST_SCALE");
    int64_t percent = text != NULL ? strtoll(text, NULL, 10) : 100;
    int64_t n = full * percent / 100;
    return n < 1 ? 1 : n;
}

/* ---- running ---- */

struct placed_test {
    const struct contract_test *test;
    const struct store_kind *kind;
    struct rig rig;
};

static int set_up(void **state)
{
    struct placed_test *placed = *state;
    rig_open(&placed->rig, placed->kind);
    return 0;
}

static void run_body(void **state)
{
    struct placed_test *placed = *state;
    placed->test->body(&placed->rig);
    rig_check(&placed->rig);
}

static int tear_down(void **state)
{
    struct placed_test *placed = *state;
    rig_close(&placed->rig);
    return 0;
}

bool store_kind_wanted(const struct store_kind *kind)
{
    const char *wanted = getenv("PAWL_TEST_STORES");
    if (wanted == NULL || wanted[0] == '\0') return true;
    size_t len = strlen(kind->name);
    for (const char *at = wanted; (at = strstr(at, kind->name)) != NULL; at += len) {
        bool begins = at == wanted || at[-1] == ',';
        if (begins && (at[len] == '\0' || at[len] == ',')) return true;
    }
    return false;
}

const struct store_kind *store_kind_shared(void)
{
    size_t at = 0;
    while (at < store_kind_count &&
           !(store_kinds[at].shared && store_kind_wanted(&store_kinds[at])))
        at++;
    if (at == store_kind_count) {
        fprintf(stderr, "PAWL_TEST_STORES names no store that can be shared\n");
        abort();
    }
    return &store_kinds[at];
}

int contract_run(const char *suite, const struct contract_test *tests, size_t count)
{
    size_t n = 0, max = count * store_kind_count;
    struct CMUnitTest *units = calloc(max, sizeof *units);
    struct placed_test *placed = calloc(max, sizeof *placed);
    char(*names)[160] = calloc(max, sizeof *names);
    if (units == NULL || placed == NULL || names == NULL) abort();
    for (size_t k = 0; k < store_kind_count; k++) {
        for (size_t i = 0; store_kind_wanted(&store_kinds[k]) && i < count; i++) {
            if (tests[i].shared && !store_kinds[k].shared) continue;
            if (tests[i].copied && store_kinds[k].no_backup) continue;
            snprintf(names[n], sizeof names[n], "%s: %s", store_kinds[k].name, tests[i].name);
            placed[n] = (struct placed_test){ .test = &tests[i], .kind = &store_kinds[k] };
            units[n] = (struct CMUnitTest){ names[n], run_body, set_up, tear_down, &placed[n] };
            n++;
        }
    }
    int failed = _cmocka_run_group_tests(suite, units, n, NULL, NULL);
    free(names);
    free(placed);
    free(units);
    return failed;
}
