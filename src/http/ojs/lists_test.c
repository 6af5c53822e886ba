/* Tests of pages, ids and filters: what is read, what is refused, and that a refusal moves nothing.
 * The request is as bare as the readers need it; it counts as one on the pool, so that answers stay
 * in it. */
#include "http/ojs/lists.h"
#include "http/ojs/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct pawl__server server;
    struct pawl__request request;
    struct pawl__json json;
};

static struct world world;

static void renew(void)
{
    struct pawl__request *request = &world.request;
    pawl__arena_release(&request->arena);
    pawl__buf_release(&request->reply);
    world.server.config.limits.json_depth_max = PAWL_JSON_DEPTH_MAX;
    *request = (struct pawl__request){ .server = &world.server, .query = "", .on_pool = true };
}

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    renew();
    struct pawl_config config = { .store = "sqlite::memory:", .seed = 1 };
    return pawl_open(&config, &world.server.pawl, NULL);
}

static int end(void **state)
{
    (void)state;
    renew();
    pawl_close(world.server.pawl);
    return 0;
}

/* ---- helpers ---- */

static struct pawl__request *ask(const char *query)
{
    renew();
    world.request.query = query;
    return &world.request;
}

static struct pawl__request *send_body(const char *body)
{
    renew();
    world.request.body = (struct pawl_span){ body, strlen(body) };
    assert_true(pawl__request_json(&world.request, false, &world.json));
    return &world.request;
}

static void assert_refused(int status, const char *field)
{
    char member[96];
    snprintf(member, sizeof member, "\"field\":\"%s\"", field);
    assert_int_equal(world.request.status, status);
    if (!strstr(world.request.reply.at, member)) fail_msg("%s", world.request.reply.at);
}

static struct pawl_job_id submit(const char *queue, const char *type, const char *meta)
{
    struct pawl_submitted out;
    struct pawl_job_spec spec = { .queue = queue,
                                  .type = type,
                                  .meta = { meta, meta ? strlen(meta) : 0 } };
    assert_int_equal(pawl_submit(world.server.pawl, &spec, &out, NULL), PAWL_OK);
    return out.id;
}

/* ---- instants ---- */

static void prints_instants_and_null_for_none(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    pawl__print_instant(&out, INT64_C(1800000000123));
    pawl__buf_add_text(&out, " ");
    pawl__print_instant(&out, 0);
    assert_string_equal(out.at, "\"2027-01-15T08:00:00.123Z\" null");
    pawl__buf_release(&out);
}

/* ---- pages ---- */

static void reads_pages_with_their_defaults(void **state)
{
    (void)state;
    struct pawl__paging paging;
    assert_true(pawl__paging_read(ask(""), 200, &paging));
    assert_int_equal(paging.limit, 50);
    assert_int_equal(paging.offset, 0);
    assert_null(paging.cursor);
    assert_true(pawl__paging_read(ask(""), 20, &paging));
    assert_int_equal(paging.limit, 20);
    assert_true(pawl__paging_read(ask("limit=200&cursor=a%2Db&offset=100000"), 200, &paging));
    assert_int_equal(paging.limit, 200);
    assert_int_equal(paging.offset, PAWL__OFFSET_MAX);
    assert_string_equal(paging.cursor, "a-b");
    assert_true(pawl__paging_read(ask("cursor="), 200, &paging));
    assert_null(paging.cursor);
}

static void refuses_pages_beyond_their_bounds(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "limit=0", "limit" },    { "limit=201", "limit" },
        { "limit=+", "limit" },    { "limit=1x", "limit" },
        { "limit=-1", "limit" },   { "limit=99999999999999999999", "limit" },
        { "offset=-1", "offset" }, { "offset=100001", "offset" }
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pawl__paging paging;
        assert_false(pawl__paging_read(ask(bad[i][0]), 200, &paging));
        assert_refused(400, bad[i][1]);
    }
}

/* How many, and the first one's type. */
static void assert_page(const struct pawl__paging *paging, size_t count, const char *first)
{
    static const char *const queue = "q";
    struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
    struct pawl_jobs jobs = { 0 };
    assert_true(pawl__paging_query(ask(""), &filter, paging, &jobs));
    assert_int_equal(jobs.count, count);
    assert_int_equal(jobs.total, 5);
    if (count) assert_string_equal(jobs.at[0].type, first);
    pawl_jobs_release(&jobs);
}

static void turns_pages_by_offset_in_either_order(void **state)
{
    (void)state;
    static const char *const types[] = { "t.a", "t.b", "t.c", "t.d", "t.e" };
    for (size_t i = 0; i < 5; i++) {
        submit("q", types[i], NULL);
    }
    submit("other", "t.x", NULL);
    assert_page(&(struct pawl__paging){ .limit = 2 }, 2, "t.e");
    assert_page(&(struct pawl__paging){ .limit = 2, .offset = 2 }, 2, "t.c");
    assert_page(&(struct pawl__paging){ .limit = 2, .offset = 4 }, 1, "t.a");
    assert_page(&(struct pawl__paging){ .limit = 2, .offset = 5 }, 0, NULL); // just behind the end
    assert_page(&(struct pawl__paging){ .limit = 2, .offset = 5000 }, 0, NULL);
    assert_page(&(struct pawl__paging){ .limit = 2, .oldest_first = true }, 2, "t.a");
    assert_page(&(struct pawl__paging){ .limit = 9, .offset = 3, .oldest_first = true }, 2, "t.d");
}

/* Skipping more than the library gives at a time. */
static void skips_many_jobs(void **state)
{
    (void)state;
    enum { COUNT = PAWL_PAGE_MAX + 10 };
    static struct pawl_job_spec specs[COUNT];
    static struct pawl_submitted out[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "t.many", .queue = "q" };
    }
    assert_int_equal(pawl_submit_many(world.server.pawl, specs, COUNT, out, NULL), PAWL_OK);
    struct pawl_jobs jobs = { 0 };
    struct pawl__paging paging = { .limit = 100, .offset = COUNT - 3, .oldest_first = true };
    assert_true(pawl__paging_query(ask(""), &(struct pawl_filter){ 0 }, &paging, &jobs));
    assert_int_equal(jobs.count, 3);
    assert_int_equal(jobs.total, COUNT);
    assert_memory_equal(&jobs.at[2].id, &out[COUNT - 1].id, sizeof out[0].id);
    pawl_jobs_release(&jobs);
}

static void refuses_a_cursor_that_is_none(void **state)
{
    (void)state;
    struct pawl_jobs jobs = { 0 };
    struct pawl__paging paging = { .limit = 5, .cursor = "nonsense" };
    assert_false(pawl__paging_query(ask(""), &(struct pawl_filter){ 0 }, &paging, &jobs));
    assert_int_equal(world.request.status, 400);
    assert_null(jobs.owned);
}

static void says_where_the_next_page_begins(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl_jobs jobs = { .total = 7, .next = "abc" };
    struct pawl__paging paging = { .limit = 3, .offset = 2 };
    pawl__paging_print(&out, &paging, jobs.total, jobs.next);
    assert_string_equal(out.at, "\"pagination\":{\"total\":7,\"limit\":3,\"offset\":2,"
                                "\"has_more\":true,\"next_cursor\":\"abc\"}");
    pawl__buf_clear(&out);
    jobs.next[0] = '\0';
    pawl__paging_print(&out, &paging, jobs.total, jobs.next);
    assert_string_equal(out.at, "\"pagination\":{\"total\":7,\"limit\":3,\"offset\":2,"
                                "\"has_more\":false}");
    pawl__buf_release(&out);
}

static void prints_jobs_with_commas_between(void **state)
{
    (void)state;
    submit("q", "t.a", NULL);
    submit("q", "t.b", NULL);
    struct pawl_jobs jobs = { 0 };
    struct pawl__buf out = { 0 };
    assert_int_equal(pawl_query(world.server.pawl, NULL, NULL, &jobs, NULL), PAWL_OK);
    struct pawl__request *request = ask("");
    pawl__envelope_print(&out, &jobs.at[0], NULL);
    pawl__buf_add_text(&out, ",");
    pawl__envelope_print(&out, &jobs.at[1], NULL);
    pawl__jobs_print_stories(request, &jobs);
    assert_string_equal(out.at, request->reply.at); // nothing failed: there is no more to tell
    pawl_jobs_release(&jobs);
    pawl__buf_release(&out);
}

/* ---- ids ---- */

#define ID "01900000-0000-7000-8000-0000000000ab"

struct body {
    struct pawl__ids ids;
};
static const struct pawl__member body_members[] = { PAWL__IDS("ids", struct body, ids, 2,
                                                              .flags = PAWL__REQUIRED) };
static const struct pawl__shape body_shape = PAWL__SHAPE(struct body, body_members);

static bool read_ids(const char *text, struct pawl__ids *ids)
{
    struct body body;
    bool ok = pawl__object_read(send_body(text), &world.json, 0, &body_shape, NULL, &body);
    *ids = body.ids;
    return ok;
}

static void reads_ids_in_their_order(void **state)
{
    (void)state;
    struct pawl__ids ids;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    assert_true(read_ids("{\"ids\":[\"01900000-0000-7000-8000-000000000001\",\"" ID "\"]}", &ids));
    assert_int_equal(ids.count, 2);
    pawl_job_id_text(ids.at[1], text);
    assert_string_equal(text, ID);
    assert_true(read_ids("{\"ids\":[]}", &ids));
    assert_int_equal(ids.count, 0);
}

static void refuses_ids_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}",
        "{\"ids\":null}",
        "{\"ids\":\"" ID "\"}",
        "{\"ids\":{}}",
        "{\"ids\":[\"" ID "\",\"" ID "\",\"" ID "\"]}", // too many
        "{\"ids\":[7]}",
        "{\"ids\":[\"\"]}",
        "{\"ids\":[\"" ID "0\"]}",
        "{\"ids\":[\"" ID "\\u0000\"]}",
        "{\"ids\":[\"01900000-0000-7000-8000-0000000000AB\"]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pawl__ids ids;
        assert_false(read_ids(bad[i], &ids));
        assert_refused(400, "ids");
    }
}

/* ---- filters ---- */

static void reads_every_member_of_a_filter(void **state)
{
    (void)state;
    struct pawl_filter filter = { 0 };
    struct pawl__request *request =
        send_body("{\"type\":\"t.a\",\"queue\":[\"a\",\"b\"],\"state\":[\"discarded\",\"Active\"],"
                  "\"enqueued_after\":\"2027-01-15T08:00:00Z\",\"enqueued_before\":\"2027-01-15T09:"
                  "00:00.5Z\","
                  "\"priority\":-7,\"meta\":{\"a.b\":1.5}}");
    assert_true(pawl__filter_read(request, &world.json, 0, &filter));
    assert_int_equal(filter.type_count, 1);
    assert_string_equal(filter.types[0], "t.a");
    assert_int_equal(filter.queue_count, 2);
    assert_string_equal(filter.queues[1], "b");
    assert_int_equal(filter.states, PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
                                        PAWL_STATE_BIT(PAWL_STATE_EXPIRED) |
                                        PAWL_STATE_BIT(PAWL_STATE_ACTIVE));
    assert_int_equal(filter.created_from_ms, INT64_C(1800000000000));
    assert_int_equal(filter.created_until_ms, INT64_C(1800003600500));
    assert_true(filter.priority_given);
    assert_int_equal(filter.priority_min, -7);
    assert_int_equal(filter.priority_max, -7);
    assert_string_equal(filter.meta_key, "a.b");
    assert_string_equal(filter.meta_value, "1.5");
}

/* Each member alone says which jobs; null and nothing do not. */
static void knows_a_filter_that_names_no_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool open;
    } cases[] = {
        { "{}", true },
        { "{\"type\":null,\"queue\":null,\"state\":null,\"states\":null,\"priority\":null,"
          "\"meta\":null,\"enqueued_after\":null,\"enqueued_before\":null}",
          true },
        { "{\"type\":\"a\"}", false },
        { "{\"queue\":\"a\"}", false },
        { "{\"state\":\"active\"}", false },
        { "{\"states\":[\"active\"]}", false },
        { "{\"priority\":0}", false },
        { "{\"meta\":{\"a\":true}}", false },
        { "{\"enqueued_after\":\"2027-01-15T08:00:00Z\"}", false },
        { "{\"enqueued_before\":\"2027-01-15T08:00:00Z\"}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl_filter filter = { 0 };
        assert_true(pawl__filter_read(send_body(cases[i].body), &world.json, 0, &filter));
        if (pawl__filter_is_open(&filter) != cases[i].open) fail_msg("%s", cases[i].body);
    }
}

static void refuses_filters_that_say_less_than_was_meant(void **state)
{
    (void)state;
    static const struct {
        const char *body, *field;
    } cases[] = {
        { "{\"queu\":\"a\"}", "queu" },
        { "{\"queue\":\"a\",\"Type\":\"b\"}", "Type" },
        { "{\"que\\u0000ue\":\"a\"}", "body" },
        { "{\"queue\":[]}", "queue" },
        { "{\"queue\":[null]}", "queue" },
        { "{\"queue\":\"a\\u0000\"}", "queue" },
        { "{\"type\":{}}", "type" },
        { "{\"state\":\"gone\"}", "state" },
        { "{\"states\":[]}", "states" },
        { "{\"state\":\"active\\u0000\"}", "state" },
        { "{\"priority\":101}", "priority" },
        { "{\"priority\":\"1\"}", "priority" },
        { "{\"enqueued_after\":\"2027-01-15T08:00:00\"}", "enqueued_after" },
        { "{\"enqueued_before\":1}", "enqueued_before" },
        { "{\"meta\":{\"a\":1,\"b\":2}}", "meta" },
        { "{\"meta\":{\"a\":{}}}", "meta" },
        { "{\"meta\":{\"a\":null}}", "meta" },
        { "{\"meta\":{\"a\":\"x\\u0000\"}}", "meta" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl_filter filter = { 0 };
        assert_false(pawl__filter_read(send_body(cases[i].body), &world.json, 0, &filter));
        assert_refused(400, cases[i].field);
    }
}

/* ---- moving ---- */

static int64_t move(enum pawl_control control, int64_t max)
{
    static const char *const queue = "q";
    struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
    int64_t moved = -1;
    assert_int_equal(pawl__bulk_move(ask(""), &filter, control, max, &moved, NULL), PAWL_OK);
    return moved;
}

static void moves_in_steps_and_no_more_than_wanted(void **state)
{
    (void)state;
    enum { COUNT = 2 * PAWL_BULK_MAX + 5 };
    static struct pawl_job_spec specs[COUNT];
    static struct pawl_submitted out[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "t.many", .queue = "q" };
    }
    assert_int_equal(pawl_submit_many(world.server.pawl, specs, COUNT, out, NULL), PAWL_OK);
    submit("other", "t.x", NULL);
    assert_int_equal(move(PAWL_CONTROL_CANCEL, 0), 0);
    assert_int_equal(move(PAWL_CONTROL_CANCEL, 3), 3);
    assert_int_equal(move(PAWL_CONTROL_CANCEL, PAWL_BULK_MAX + 1), PAWL_BULK_MAX + 1);
    assert_int_equal(move(PAWL_CONTROL_CANCEL, INT64_MAX), PAWL_BULK_MAX + 1);
    assert_int_equal(move(PAWL_CONTROL_CANCEL, INT64_MAX), 0);
    assert_int_equal(move(PAWL_CONTROL_NONE, INT64_MAX), COUNT);
    int64_t left;
    assert_int_equal(pawl_count(world.server.pawl, NULL, &left, NULL), PAWL_OK);
    assert_int_equal(left, 1);
}

static void knows_the_state_of_a_job_and_of_none(void **state)
{
    (void)state;
    struct pawl_job_id id = submit("q", "t.a", NULL);
    assert_int_equal(pawl__job_state(ask(""), id), PAWL_STATE_AVAILABLE);
    id.b[15] ^= 1;
    assert_int_equal(pawl__job_state(ask(""), id), PAWL_STATE_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prints_instants_and_null_for_none),
        TEST(reads_pages_with_their_defaults),
        TEST(refuses_pages_beyond_their_bounds),
        TEST(turns_pages_by_offset_in_either_order),
        TEST(skips_many_jobs),
        TEST(refuses_a_cursor_that_is_none),
        TEST(says_where_the_next_page_begins),
        TEST(prints_jobs_with_commas_between),
        TEST(reads_ids_in_their_order),
        TEST(refuses_ids_that_are_none),
        TEST(reads_every_member_of_a_filter),
        TEST(knows_a_filter_that_names_no_jobs),
        TEST(refuses_filters_that_say_less_than_was_meant),
        TEST(moves_in_steps_and_no_more_than_wanted),
        TEST(knows_the_state_of_a_job_and_of_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
