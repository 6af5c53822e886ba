/* Data of a run besides its result: progress, checkpoints, log lines. */
#include "support/ops.h"

#include <inttypes.h>

static struct pawl_job running(struct rig *rig)
{
    const char *queue = rig_queue(rig);
    submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
    return claim_one(rig, queue);
}

/* ---- progress ---- */

static void progress_is_told_in_the_story(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_true(story_of(rig, run.id).progress < 0);
    rig_advance(rig, 10);
    assert_ok(rig, progress(rig, ref_of(&run), 0.25, "a quarter", "{\"rows\": 25}"));
    struct pawl_story story = story_of(rig, run.id);
    assert_true(story.progress == 0.25);
    assert_text("a quarter", story.progress_message);
    assert_span(span_of("{\"rows\": 25}"), story.progress_data);
    assert_i64(rig_now(rig), story.progress_at_ms);
}

static void progress_never_goes_back(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, progress(rig, ref_of(&run), 0.5, NULL, NULL));
    assert_ok(rig, progress(rig, ref_of(&run), 0.4, NULL, NULL));
    assert_true(story_of(rig, run.id).progress == 0.5);
    assert_ok(rig, progress(rig, ref_of(&run), 0.5, "same", NULL));
    assert_text("same", story_of(rig, run.id).progress_message);
    assert_ok(rig, progress(rig, ref_of(&run), 1.0, NULL, NULL));
    assert_true(story_of(rig, run.id).progress == 1.0);
}

static void progress_keeps_what_is_not_given(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, progress(rig, ref_of(&run), 0.5, "half", "[1]"));
    assert_ok(rig, progress(rig, ref_of(&run), -1, "still half", NULL));
    struct pawl_story story = story_of(rig, run.id);
    assert_true(story.progress == 0.5);
    assert_text("still half", story.progress_message);
    assert_span(span_of("[1]"), story.progress_data);
    assert_ok(rig, progress(rig, ref_of(&run), 0.6, NULL, "[2]"));
    story = story_of(rig, run.id);
    assert_true(story.progress == 0.6);
    assert_span(span_of("[2]"), story.progress_data);
}

static void zero_is_progress(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, progress(rig, ref_of(&run), 0.0, NULL, NULL));
    assert_true(story_of(rig, run.id).progress == 0.0);
}

static void only_running_jobs_make_progress(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        const char *before = job_text(rig, id);
        struct pawl_run anyone = { .id = id };
        bool active = state == PAWL_STATE_ACTIVE;
        assert_err(rig, active ? PAWL_OK : PAWL_ERR_STATE, progress(rig, anyone, 0.5, "x", NULL));
        if (!active) assert_text(before, job_text(rig, id));
    }
}

static void progress_survives_its_run(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, progress(rig, ref_of(&run), 0.75, "nearly", NULL));
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    assert_true(story_of(rig, run.id).progress == 0.75);
    rig_advance(rig, 1);
    archive_all(rig);
    assert_text("nearly", story_of(rig, run.id).progress_message);
}

/* A new run starts from the beginning: its first steps are not "smaller than before". */
static void new_run_may_begin_at_nothing(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, progress(rig, ref_of(&run), 0.9, NULL, NULL));
    assert_ok(rig, snooze(rig, ref_of(&run), 0));
    struct pawl_job next = claim_one(rig, run.queue);
    assert_ok(rig, progress(rig, ref_of(&next), 0.1, NULL, NULL));
    assert_true(story_of(rig, run.id).progress == 0.1);
}

/* ---- checkpoints ---- */

static void checkpoint_is_numbered_and_replaced(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_i64(0, story_of(rig, run.id).checkpoint_sequence);
    for (int64_t i = 1; i <= 3; i++) {
        int64_t sequence = 0;
        const char *text = rig_text(rig, "{\"row\": %d}", (int)i * 100);
        rig_advance(rig, 7);
        assert_ok(rig, checkpoint(rig, ref_of(&run), span_of(text), &sequence));
        assert_i64(i, sequence);
        struct pawl_story story = story_of(rig, run.id);
        assert_i64(i, story.checkpoint_sequence);
        assert_i64(rig_now(rig), story.checkpoint_at_ms);
        assert_span(span_of(text), story.checkpoint);
    }
}

static void deleted_checkpoint_starts_again(struct rig *rig)
{
    struct pawl_job run = running(rig);
    int64_t sequence = 0;
    assert_ok(rig, checkpoint(rig, ref_of(&run), span_of("1"), NULL));
    assert_ok(rig, checkpoint(rig, ref_of(&run), span_of("2"), NULL));
    assert_ok(rig, checkpoint(rig, ref_of(&run), (struct pawl_span){ 0 }, NULL));
    struct pawl_story story = story_of(rig, run.id);
    assert_i64(0, story.checkpoint_sequence);
    assert_i64(0, (int64_t)story.checkpoint.len);
    assert_ok(rig, checkpoint(rig, ref_of(&run), (struct pawl_span){ 0 }, NULL));
    assert_ok(rig, checkpoint(rig, ref_of(&run), span_of("3"), &sequence));
    assert_i64(1, sequence);
}

static void next_run_finds_the_checkpoint(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, checkpoint(rig, ref_of(&run), span_of("{\"at\":5}"), NULL));
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    struct pawl_job next = claim_one(rig, run.queue);
    assert_span(span_of("{\"at\":5}"), story_of(rig, run.id).checkpoint);
    int64_t sequence = 0;
    assert_ok(rig, checkpoint(rig, ref_of(&next), span_of("{\"at\":6}"), &sequence));
    assert_i64(2, sequence);
    assert_err(rig, PAWL_ERR_STALE, checkpoint(rig, ref_of(&run), span_of("{}"), NULL));
    assert_span(span_of("{\"at\":6}"), story_of(rig, run.id).checkpoint);
}

static void checkpoints_are_for_jobs_that_have_not_ended(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        const char *before = job_text(rig, id);
        struct pawl_run anyone = { .id = id };
        bool ended = TERMINAL_STATES & PAWL_STATE_BIT(state);
        assert_err(rig, ended ? PAWL_ERR_STATE : PAWL_OK,
                   checkpoint(rig, anyone, span_of("1"), NULL));
        if (ended) assert_text(before, job_text(rig, id));
    }
}

static void large_checkpoint_comes_back_whole(struct rig *rig)
{
    struct pawl_job run = running(rig);
    static const size_t sizes[] = { 256 * 1024, PAWL__CHECKPOINT_BYTES_MAX };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct pawl_span big = rig_multibyte(rig, sizes[i], true);
        assert_ok(rig, checkpoint(rig, ref_of(&run), big, NULL));
        assert_span(big, story_of(rig, run.id).checkpoint);
    }
}

/* ---- log ---- */

static void lines_are_kept_in_order(struct rig *rig)
{
    struct pawl_job run = running(rig);
    static const char *const lines[] = { "first", "", "third \"quoted\"\nwith a line break",
                                         "日本" };
    for (size_t i = 0; i < COUNT(lines); i++) {
        rig_advance(rig, 5);
        assert_ok(rig, log_line(rig, ref_of(&run), (int32_t)i, span_of(lines[i])));
    }
    struct pawl_story story = story_of(rig, run.id);
    assert_int_equal(COUNT(lines), story.log_count);
    for (size_t i = 0; i < COUNT(lines); i++) {
        assert_text(lines[i], story.log[i].text);
        assert_int_equal(i, story.log[i].level);
        assert_i64(1, story.log[i].run);
        assert_i64(HAND_CLOCK_START_MS + 5 * ((int64_t)i + 1), story.log[i].at_ms);
    }
}

static void late_owner_may_still_log(struct rig *rig)
{
    struct pawl_job run = running(rig);
    assert_ok(rig, control(rig, run.id, PAWL_CONTROL_CANCEL));
    assert_ok(rig, log_line(rig, ref_of(&run), 2, span_of("cleaning up")));
    assert_text("cleaning up", story_of(rig, run.id).log[0].text);
}

/* Lines from..to, numbered as they are kept. */
static void assert_lines(struct rig *rig, const struct pawl_log_line *lines, int64_t from,
                         int64_t to)
{
    for (int64_t number = from; number <= to; number++, lines++) {
        assert_i64(number, lines->number);
        assert_text(rig_text(rig, "line %" PRId64, number), lines->text);
    }
}

static void middle_lines_are_left_out(struct rig *rig)
{
    enum { FIRST = PAWL__LOG_FIRST_KEPT, LAST = PAWL__LOG_LAST_KEPT, KEPT = FIRST + LAST };
    struct pawl_job run = running(rig);
    for (int64_t number = 1; number <= KEPT + 3; number++) {
        struct pawl_span line = span_of(rig_text(rig, "line %" PRId64, number));
        assert_ok(rig, log_line(rig, ref_of(&run), 1, line));
        if (number < KEPT) continue;
        struct pawl_story story = story_of(rig, run.id);
        assert_int_equal(KEPT, story.log_count);
        assert_lines(rig, story.log, 1, FIRST);
        assert_lines(rig, story.log + FIRST, number - LAST + 1, number);
    }
}

static void longest_line_comes_back_whole(struct rig *rig)
{
    struct pawl_job run = running(rig);
    struct pawl_span line = rig_multibyte(rig, PAWL__LOG_LINE_BYTES_MAX, false);
    assert_ok(rig, log_line(rig, ref_of(&run), 1, line));
    assert_text(line.at, story_of(rig, run.id).log[0].text);
}

static void logs_of_two_jobs_do_not_mix(struct rig *rig)
{
    struct pawl_job a = running(rig), b = running(rig);
    assert_ok(rig, log_line(rig, ref_of(&a), 1, span_of("a1")));
    assert_ok(rig, log_line(rig, ref_of(&b), 1, span_of("b1")));
    assert_ok(rig, log_line(rig, ref_of(&a), 1, span_of("a2")));
    assert_int_equal(2, story_of(rig, a.id).log_count);
    assert_int_equal(1, story_of(rig, b.id).log_count);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(progress_is_told_in_the_story),
        CONTRACT(progress_never_goes_back),
        CONTRACT(progress_keeps_what_is_not_given),
        CONTRACT(zero_is_progress),
        CONTRACT(only_running_jobs_make_progress),
        CONTRACT(progress_survives_its_run),
        CONTRACT(new_run_may_begin_at_nothing),
        CONTRACT(checkpoint_is_numbered_and_replaced),
        CONTRACT(deleted_checkpoint_starts_again),
        CONTRACT(next_run_finds_the_checkpoint),
        CONTRACT(checkpoints_are_for_jobs_that_have_not_ended),
        CONTRACT(large_checkpoint_comes_back_whole),
        CONTRACT(lines_are_kept_in_order),
        CONTRACT(late_owner_may_still_log),
        CONTRACT(middle_lines_are_left_out),
        CONTRACT(longest_line_comes_back_whole),
        CONTRACT(logs_of_two_jobs_do_not_mix),
    };
    return contract_run("run_data", tests, COUNT(tests));
}
