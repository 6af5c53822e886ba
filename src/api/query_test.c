/* Tests queries, through a real store in memory. */
#include "api/test_kit.h"

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static struct pawl_job_id submit(struct pawl *pawl, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out;
    KIT_OK(pawl_submit(pawl, spec, &out, &diag));
    return out.id;
}

static void submit_some(void **state, size_t count)
{
    struct kit *kit = *state;
    for (size_t i = 0; i < count; i++) {
        kit->now_ms++;
        submit(kit->pawl, &(struct pawl_job_spec){ .type = "t" });
    }
}

static void unknown_job_is_not_found_by_name(void **state)
{
    static const struct pawl_job_id id = { { 0xab } };
    struct pawl_jobs jobs = { .at = NULL };
    struct pawl_story story = { .owned = NULL };
    struct pawl_diag found;
    assert_int_equal(pawl_get(desk(state), id, &jobs, &found), PAWL_ERR_NOT_FOUND);
    assert_non_null(strstr(found.text, "ab000000-0000-0000-0000-000000000000"));
    assert_int_equal(jobs.count, 0);
    assert_null(jobs.owned);
    assert_int_equal(pawl_story_get(desk(state), id, &story, &found), PAWL_ERR_NOT_FOUND);
    assert_null(story.owned);
    pawl_jobs_release(&jobs);
    pawl_story_release(&story);
}

static void results_may_be_released_twice(void **state)
{
    struct pawl_job_id id = submit(desk(state), &(struct pawl_job_spec){ .type = "t" });
    struct pawl_jobs jobs = { .at = NULL };
    struct pawl_story story = { .owned = NULL };
    struct pawl_stats stats = { .owned = NULL };
    KIT_OK(pawl_get(desk(state), id, &jobs, &diag));
    assert_int_equal(jobs.total, -1);
    assert_string_equal(jobs.next, "");
    KIT_OK(pawl_story_get(desk(state), id, &story, &diag));
    KIT_OK(pawl_stats_get(desk(state), &stats, &diag));
    for (int i = 0; i < 2; i++) {
        pawl_jobs_release(&jobs);
        pawl_story_release(&story);
        pawl_stats_release(&stats);
        assert_null(jobs.at);
        assert_null(story.owned);
        assert_null(stats.queues);
    }
    pawl_jobs_release(NULL);
    pawl_story_release(NULL);
    pawl_stats_release(NULL);
}

/* The natural loop: the cursor is the `next` of the result that the call replaces. */
static void pages_follow_each_other_through_one_variable(void **state)
{
    submit_some(state, 7);
    struct pawl_jobs jobs = { .at = NULL };
    struct pawl_page page = { .limit = 3, .count = true, .cursor = jobs.next };
    int64_t seen = 0, newest = INT64_MAX, pages = 0;
    do {
        struct pawl_jobs previous = jobs;
        KIT_OK(pawl_query(desk(state), NULL, &page, &jobs, &diag));
        pawl_jobs_release(&previous);
        assert_int_equal(jobs.total, 7);
        for (size_t i = 0; i < jobs.count; i++, seen++) {
            assert_true(jobs.at[i].created_at_ms < newest);
            newest = jobs.at[i].created_at_ms;
        }
        assert_true(++pages <= 3);
    } while (jobs.next[0]);
    assert_int_equal(seen, 7);
    assert_int_equal(pages, 3);
    pawl_jobs_release(&jobs);
}

static void page_is_50_newest_first_by_default(void **state)
{
    submit_some(state, 60);
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_query(desk(state), NULL, NULL, &jobs, &diag));
    assert_int_equal(jobs.count, 50);
    assert_int_equal(jobs.total, -1);
    assert_int_equal(jobs.at[0].created_at_ms, KIT_NOW_MS + 60);
    assert_true(jobs.next[0] != '\0');
    pawl_jobs_release(&jobs);
    struct pawl_page page = { .oldest_first = true, .limit = 1 };
    KIT_OK(pawl_query(desk(state), NULL, &page, &jobs, &diag));
    assert_int_equal(jobs.at[0].created_at_ms, KIT_NOW_MS + 1);
    pawl_jobs_release(&jobs);
}

static void bad_filter_and_page_are_refused(void **state)
{
    struct pawl_jobs jobs = { .at = NULL };
    int64_t count = 99;
    struct pawl_filter filter = { .business_key = "" };
    struct pawl_page page = { .limit = 1001 };
    KIT_FAILS(pawl_query(desk(state), &filter, NULL, &jobs, &diag), PAWL_ERR_ARG,
              "filter.business_key");
    KIT_FAILS(pawl_query(desk(state), NULL, &page, &jobs, &diag), PAWL_ERR_ARG, "page.limit");
    KIT_FAILS(pawl_count(desk(state), &filter, &count, &diag), PAWL_ERR_ARG, "filter.business_key");
    assert_int_equal(count, 99);
    page = (struct pawl_page){ .cursor = "not a cursor" };
    assert_int_equal(pawl_query(desk(state), NULL, &page, &jobs, NULL), PAWL_ERR_ARG);
    assert_null(jobs.owned);
}

static void filters_find_what_they_name(void **state)
{
    const char *const tags[] = { " Billing " };
    const char *const other_tags[] = { "mail" };
    submit(desk(state), &(struct pawl_job_spec){ .type = "a", .tags = tags, .tag_count = 1 });
    submit(desk(state), &(struct pawl_job_spec){ .type = "b",
                                                 .tags = other_tags,
                                                 .tag_count = 1,
                                                 .queue = "q",
                                                 .priority = 5,
                                                 .business_key = "order" });
    submit(desk(state), &(struct pawl_job_spec){ .type = "c",
                                                 .delay_ms = 1000,
                                                 .meta = kit_span("{\"tenant\":\"x\"}") });
    const char *const queues[] = { "q", "none" };
    const char *const types[] = { "a", "c" };
    const char *const wanted[] = { "BILLING" };
    const struct {
        struct pawl_filter filter;
        int64_t count;
    } rows[] = {
        { { .states = 0 }, 3 },
        { { .states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) }, 1 },
        { { .queues = queues, .queue_count = 2 }, 1 },
        { { .types = types, .type_count = 2 }, 2 },
        { { .tags = wanted, .tag_count = 1 }, 1 },
        { { .business_key = "order" }, 1 },
        { { .business_key = "orde" }, 0 },
        { { .priority_given = true, .priority_min = 1, .priority_max = 9 }, 1 },
        { { .meta_key = "tenant", .meta_value = "x" }, 1 },
        { { .meta_key = "tenant", .meta_value = "y" }, 0 },
        { { .due_from_ms = KIT_NOW_MS + 1000 }, 1 },
        { { .created_until_ms = KIT_NOW_MS }, 0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t count = -1;
        KIT_OK(pawl_count(desk(state), &rows[i].filter, &count, &diag));
        if (count != rows[i].count) print_error("row %zu\n", i);
        assert_int_equal(count, rows[i].count);
        struct pawl_jobs jobs = { .at = NULL };
        KIT_OK(pawl_query(desk(state), &rows[i].filter, NULL, &jobs, &diag));
        assert_int_equal(jobs.count, rows[i].count);
        pawl_jobs_release(&jobs);
    }
}

static void story_tells_who_did_what(void **state)
{
    struct pawl_job_id id = submit(desk(state), &(struct pawl_job_spec){ .type = "t" });
    struct pawl_by by = { .actor = "ann", .reason = "not today" };
    struct pawl_story story = { .owned = NULL };
    KIT_OK(pawl_control(desk(state), id, PAWL_CONTROL_CANCEL, &by, NULL, &diag));
    KIT_OK(pawl_story_get(desk(state), id, &story, &diag));
    assert_int_equal(story.job.state, PAWL_STATE_CANCELLED);
    assert_int_equal(story.audit_count, 1);
    assert_string_equal(story.audit[0].action, "cancel");
    assert_string_equal(story.audit[0].actor, "ann");
    assert_string_equal(story.audit[0].reason, "not today");
    assert_int_equal(story.audit[0].from, PAWL_STATE_AVAILABLE);
    assert_int_equal(story.audit[0].to, PAWL_STATE_CANCELLED);
    assert_int_equal(story.failure_count, 0);
    assert_true(story.progress == -1);
    pawl_story_release(&story);
}

static void stats_count_by_queue_and_state(void **state)
{
    submit(desk(state), &(struct pawl_job_spec){ .type = "t", .queue = "b" });
    submit(desk(state), &(struct pawl_job_spec){ .type = "t", .queue = "a" });
    submit(desk(state), &(struct pawl_job_spec){ .type = "t", .queue = "a", .delay_ms = 500 });
    KIT_OK(pawl_queue_pause(desk(state), "b", true, NULL, &diag));
    struct pawl_stats stats = { .owned = NULL };
    KIT_OK(pawl_stats_get(desk(state), &stats, &diag));
    assert_int_equal(stats.queue_count, 2);
    assert_string_equal(stats.queues[0].queue, "a");
    assert_int_equal(stats.queues[0].count[PAWL_STATE_AVAILABLE], 1);
    assert_int_equal(stats.queues[0].count[PAWL_STATE_SCHEDULED], 1);
    assert_false(stats.queues[0].paused);
    assert_true(stats.queues[1].paused);
    assert_int_equal(stats.count[PAWL_STATE_AVAILABLE], 2);
    assert_int_equal(stats.next_due_at_ms, KIT_NOW_MS + 500);
    pawl_stats_release(&stats);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(unknown_job_is_not_found_by_name),
        WITH_STORE(results_may_be_released_twice),
        WITH_STORE(pages_follow_each_other_through_one_variable),
        WITH_STORE(page_is_50_newest_first_by_default),
        WITH_STORE(bad_filter_and_page_are_refused),
        WITH_STORE(filters_find_what_they_name),
        WITH_STORE(story_tells_who_did_what),
        WITH_STORE(stats_count_by_queue_and_state),
    };
    return cmocka_run_group_tests_name("api/query", tests, NULL, NULL);
}
