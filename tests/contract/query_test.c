/* Reads: jobs by id, by filter, page by page, and counts that agree with them. */
#include "support/ops.h"

static void assert_found(struct rig *rig, const struct pawl_filter *filter,
                         const struct pawl_job_id *ids, size_t count)
{
    struct claimed found = query_all(rig, filter, true);
    assert_int_equal(count, found.count);
    for (size_t i = 0; i < count; i++)
        assert_id(ids[i], found.at[i].id);
    assert_i64((int64_t)count, count_jobs(rig, filter));
}

#define ASSERT_FOUND(rig, filter, ...)                                                             \
    assert_found(rig, filter, (struct pawl_job_id[]){ __VA_ARGS__ },                               \
                 COUNT(((struct pawl_job_id[]){ __VA_ARGS__ })))

static void get_keeps_the_order_asked_for(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 5, NULL);
    const struct pawl_job_id asked[] = { ids[3], rig_id(rig), ids[0], ids[4], rig_id(rig) };
    struct pawl_job *jobs = NULL;
    size_t count = 0;
    assert_ok(rig, pawl__store_get(rig->store, asked, COUNT(asked), &rig->arena, &jobs, &count,
                                   &rig->diag));
    assert_int_equal(3, count);
    assert_id(ids[3], jobs[0].id);
    assert_id(ids[0], jobs[1].id);
    assert_id(ids[4], jobs[2].id);
}

static void get_crosses_every_chunk(struct rig *rig)
{
    static const size_t sizes[] = { 0, 1, 499, 500, 501, 999, 1000, 1001 };
    struct pawl_job_id *ids = submit_n(rig, 1001, NULL);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct pawl_job *jobs = NULL;
        size_t count = SIZE_MAX;
        assert_ok(rig, pawl__store_get(rig->store, ids, sizes[i], &rig->arena, &jobs, &count,
                                       &rig->diag));
        assert_int_equal(sizes[i], count);
        if (count > 0) assert_id(ids[count - 1], jobs[count - 1].id);
    }
}

static void get_finds_archived_jobs_too(struct rig *rig)
{
    struct pawl_job_id ended = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    rig_advance(rig, 1);
    archive_all(rig);
    struct pawl_job_id live = submit_one(rig, NULL);
    const struct pawl_job_id asked[] = { ended, live };
    struct pawl_job *jobs = NULL;
    size_t count = 0;
    assert_ok(rig, pawl__store_get(rig->store, asked, 2, &rig->arena, &jobs, &count, &rig->diag));
    assert_int_equal(2, count);
    assert_true(jobs[0].archived);
    assert_false(jobs[1].archived);
}

static void each_state_is_found_by_its_filter(struct rig *rig)
{
    struct pawl_job_id ids[PAWL_STATE_END];
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        ids[state] = job_in(rig, state, NULL);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_filter filter = { .states = PAWL_STATE_BIT(state) };
        ASSERT_FOUND(rig, &filter, ids[state]);
    }
    struct pawl_filter three = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) |
                                           PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) |
                                           PAWL_STATE_BIT(PAWL_STATE_EXPIRED) };
    assert_i64(3, count_jobs(rig, &three));
    assert_i64(11, count_jobs(rig, &(struct pawl_filter){ .states = ALL_STATES }));
    assert_i64(11, count_jobs(rig, &(struct pawl_filter){ 0 }));
}

/* Six jobs that differ in everything a filter can ask for, a second apart. */
static void make_six(struct rig *rig, struct pawl_job_id ids[6])
{
    static const char *const red[] = { "red" }, *const both[] = { "red", "blue" },
                             *const green[] = { "green" };
    int64_t now = rig_now(rig);
    const struct pawl_job_spec specs[6] = {
        { .type = "a", .queue = "q1", .priority = -5, .tags = red, .tag_count = 1 },
        { .type = "b", .queue = "q1", .priority = 0, .tags = both, .tag_count = 2 },
        { .type = "a", .queue = "q2", .priority = 5, .principal = "ada", .trace_id = "t1" },
        { .type = "c",
          .queue = "q2",
          .business_key = "order-1",
          .meta = span_of("{\"tenant\":\"acme\",\"n\":7,\"on\":true,\"deep\":{\"n\":7}}") },
        { .type = "a",
          .queue = "q3",
          .idempotency_key = "once",
          .tags = green,
          .tag_count = 1,
          .meta = span_of("{\"tenant\":\"other\",\"n\":\"7\",\"on\":false}") },
        { .type = "b", .queue = "q3", .due_at_ms = now + 3600000, .principal = "bob" },
    };
    for (size_t i = 0; i < 6; i++) {
        ids[i] = submit_one(rig, &specs[i]);
        rig_advance(rig, 1000);
    }
}

static void the_beginning_of_a_type_filters(struct rig *rig)
{
    static const char *const names[] = { "mail", "mail.send", "mail_x.y", "mail.in.read" };
    static const char *const mail[] = { "mail.*" }, *const two[] = { "mail_x.*", "mail" };
    static const char *const every[] = { "*" }, *const none[] = { "mai*" };
    static const char *const patterns[] = { "m?il.*", "[m]ail.*", "*.*" };
    struct pawl_job_id id[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++) {
        id[i] = submit_one(rig, &(struct pawl_job_spec){ .type = names[i] });
    }
    ASSERT_FOUND(rig, &((struct pawl_filter){ .types = mail, .type_count = 1 }), id[1], id[3]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .types = two, .type_count = 2 }), id[0], id[2]);
    assert_i64(4, count_jobs(rig, &(struct pawl_filter){ .types = every, .type_count = 1 }));
    if (rig->kind->served) return; // the server refuses the rest
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .types = none, .type_count = 1 }));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .types = patterns, .type_count = 3 }));
}

static struct pawl_job_id id_named(const char *text)
{
    struct pawl_job_id id;
    assert_int_equal(PAWL_OK, pawl_job_id_parse(text, &id));
    return id;
}

/* Ids of now, and ids that were chosen and lie anywhere; live and archived. */
static void the_beginning_of_an_id_filters(struct rig *rig)
{
    static const char *const chosen[] = {
        "f0000000-1111-4222-8333-000000000001", "f0000000-1111-4222-8333-000000000002",
        "f0000000-1111-4222-0333-000000000003", "f0000000-1112-4222-8333-000000000004",
        "00000000-0000-4000-8000-000000000005",
    };
    struct pawl_job_id id[COUNT(chosen)], own[2];
    for (size_t i = 0; i < COUNT(chosen); i++) {
        id[i] = id_named(chosen[i]);
        job_in(rig, i == 1 ? PAWL_STATE_COMPLETED : PAWL_STATE_AVAILABLE,
               &(struct pawl_job_spec){ .id = &id[i], .queue = i == 1 ? "other" : "default" });
        rig_advance(rig, 1000);
    }
    own[0] = job_in(rig, PAWL_STATE_COMPLETED, &(struct pawl_job_spec){ .queue = "q" });
    rig_advance(rig, 100000); // the first eight digits are 65 seconds
    own[1] = submit_one(rig, &(struct pawl_job_spec){ .queue = "q" });
    for (int archived = 0; archived < 2; archived++) {
#define FOUND(prefix, ...)                                                                         \
    ASSERT_FOUND(rig, &((struct pawl_filter){ .id_prefix = (prefix), .archived = archived }),      \
                 __VA_ARGS__)
        FOUND("f0000000", id[0], id[1], id[2], id[3]);
        FOUND("F0000000-1111", id[0], id[1], id[2]);
        FOUND("f0000000111142220", id[2]);
        FOUND("f0000000-1111-4222-8", id[0], id[1]);
        FOUND("f0000000-1111-4222-8333-000000000002", id[1]);
        FOUND("00000000", id[4]);
        char text[PAWL_JOB_ID_TEXT_BYTES], most[PAWL_JOB_ID_TEXT_BYTES];
        for (size_t i = 0; i < 2; i++) {
            pawl_job_id_text(own[i], text);
            snprintf(most, sizeof most, "%.8s", text);
            FOUND(most, own[i]);
            snprintf(most, sizeof most, "%.30s", text);
            FOUND(most, own[i]);
        }
        assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .id_prefix = "f0000001",
                                                             .archived = archived }));
#undef FOUND
        if (archived) break;
        archive_all(rig);
    }
    struct pawl_filter both = { .id_prefix = "f0000000",
                                .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    assert_i64(0, count_jobs(rig, &both));
}

static void names_filter(struct rig *rig)
{
    struct pawl_job_id id[6];
    make_six(rig, id);
    static const char *const q13[] = { "q1", "q3", "none" }, *const q2[] = { "q2" };
    static const char *const a[] = { "a" }, *const bc[] = { "c", "b" }, *const no[] = { "A" };
    ASSERT_FOUND(rig, &((struct pawl_filter){ .queues = q13, .queue_count = 3 }), id[0], id[1],
                 id[4], id[5]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .queues = q2, .queue_count = 1 }), id[2], id[3]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .types = a, .type_count = 1 }), id[0], id[2], id[4]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .types = bc, .type_count = 2 }), id[1], id[3], id[5]);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .types = no, .type_count = 1 }));
    ASSERT_FOUND(rig, &((struct pawl_filter){ .principal = "ada" }), id[2]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .trace_id = "t1" }), id[2]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .business_key = "order-1" }), id[3]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .idempotency_key = "once" }), id[4]);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .business_key = "once" }));
    struct pawl_filter several = { .queues = q13, .queue_count = 2, .types = a, .type_count = 1 };
    ASSERT_FOUND(rig, &several, id[0], id[4]);
}

static void tags_filter_any_of(struct rig *rig)
{
    struct pawl_job_id id[6];
    make_six(rig, id);
    static const char *const red[] = { "red" }, *const two[] = { "blue", "green" },
                             *const all[] = { "red", "blue" }, *const none[] = { "re" };
    ASSERT_FOUND(rig, &((struct pawl_filter){ .tags = red, .tag_count = 1 }), id[0], id[1]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .tags = two, .tag_count = 2 }), id[1], id[4]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .tags = all, .tag_count = 2 }), id[0], id[1]);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .tags = none, .tag_count = 1 }));
    for (size_t i = 0; i < 2; i++)
        assert_ok(rig, control(rig, id[i], PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    archive_all(rig);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .tags = red, .tag_count = 1 }));
    struct pawl_filter old = { .tags = red, .tag_count = 1, .archived = true };
    ASSERT_FOUND(rig, &old, id[0], id[1]);
}

static void meta_filters_by_value(struct rig *rig)
{
    struct pawl_job_id id[6];
    make_six(rig, id);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .meta_key = "tenant", .meta_value = "acme" }), id[3]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .meta_key = "n", .meta_value = "7" }), id[3], id[4]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .meta_key = "on", .meta_value = "true" }), id[3]);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .meta_key = "on", .meta_value = "false" }), id[4]);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .meta_key = "x", .meta_value = "7" }));
    assert_i64(0,
               count_jobs(rig, &(struct pawl_filter){ .meta_key = "deep.n", .meta_value = "7" }));
}

/* A number is compared as it was written, on every store. */
static void meta_numbers_filter_as_written(struct rig *rig)
{
    static const struct {
        const char *name, *value;
        bool found;
    } cases[] = {
        { "whole", "100", true },
        { "whole", "1e2", false },
        { "power", "1e2", true },
        { "power", "100", false },
        { "power", "100.0", false },
        { "point", "1.0", true },
        { "point", "1", false },
        { "small", "-0", true },
        { "small", "0", false },
        { "long", "123456789012345678901234567890", true },
        { "long", "1.23456789012346e+29", false },
        { "fine", "0.1000000000000000055511151231257827", true },
        { "fine", "0.1", false },
        { "say \"so\"", "7", true }, // a name that no path could hold
        { "$.whole", "8", true },
        { "nothing", "null", false },
        { "text", "caf\xc3\xa9", true },
        { "text", "caf\\u00e9", false },
    };
    struct pawl_job_id id = submit_one(
        rig, &(struct pawl_job_spec){
                 .meta = span_of("{\"whole\":100,\"power\":1e2,\"point\":1.0,\"small\":-0,"
                                 "\"long\":123456789012345678901234567890,"
                                 "\"fine\":0.1000000000000000055511151231257827,"
                                 "\"say \\\"so\\\"\":7,\"$.whole\":8,\"nothing\":null,"
                                 "\"text\":\"caf\\u00e9\"}") });
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_filter filter = { .meta_key = cases[i].name, .meta_value = cases[i].value };
        int64_t count = count_jobs(rig, &filter);
        if (count != cases[i].found)
            fail_msg("%s=%s: %lld jobs", cases[i].name, cases[i].value, (long long)count);
        if (cases[i].found) ASSERT_FOUND(rig, &filter, id);
    }
}

static void numbers_and_times_filter(struct rig *rig)
{
    struct pawl_job_id id[6];
    int64_t start = rig_now(rig);
    make_six(rig, id);
    struct pawl_filter f = { .priority_given = true, .priority_min = 1, .priority_max = 100 };
    ASSERT_FOUND(rig, &f, id[2]);
    f = (struct pawl_filter){ .priority_given = true, .priority_min = -5, .priority_max = -5 };
    ASSERT_FOUND(rig, &f, id[0]);
    f = (struct pawl_filter){ .priority_given = true, .priority_min = 0, .priority_max = 0 };
    ASSERT_FOUND(rig, &f, id[1], id[3], id[4], id[5]);
    f = (struct pawl_filter){ .created_from_ms = start + 1000, .created_until_ms = start + 3000 };
    ASSERT_FOUND(rig, &f, id[1], id[2]);
    f = (struct pawl_filter){ .created_from_ms = start + 5000 };
    ASSERT_FOUND(rig, &f, id[5]);
    f = (struct pawl_filter){ .created_until_ms = start + 1 };
    ASSERT_FOUND(rig, &f, id[0]);
    f = (struct pawl_filter){ .due_from_ms = start + 3600000 };
    ASSERT_FOUND(rig, &f, id[5]);
    f = (struct pawl_filter){ .due_from_ms = start + 4000, .due_until_ms = start + 3600000 };
    ASSERT_FOUND(rig, &f, id[4]);
    int64_t now = rig_now(rig);
    assert_ok(rig, control(rig, id[3], PAWL_CONTROL_CANCEL));
    f = (struct pawl_filter){ .finished_from_ms = now, .finished_until_ms = now + 1 };
    ASSERT_FOUND(rig, &f, id[3]);
    f = (struct pawl_filter){ .finished_until_ms = now };
    assert_i64(0, count_jobs(rig, &f)); // what has not finished finished never
}

static void workers_jobs_are_found(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    struct pawl_job_id done = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    submit_one(rig, NULL);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .worker = WORKER }), id, done);
    struct pawl_filter now = { .worker = WORKER, .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    ASSERT_FOUND(rig, &now, id);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .worker = "nobody" }));
}

static void dead_letters_are_found(struct rig *rig)
{
    job_in(rig, PAWL_STATE_DISCARDED, NULL);
    struct pawl_job_spec spec = { .retry = { .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER } };
    struct pawl_job_id dead = job_in(rig, PAWL_STATE_DISCARDED, &spec);
    ASSERT_FOUND(rig, &((struct pawl_filter){ .dead_letter = true }), dead);
    rig_advance(rig, 1);
    archive_all(rig);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .dead_letter = true }));
    ASSERT_FOUND(rig, &((struct pawl_filter){ .dead_letter = true, .archived = true }), dead);
}

static void filters_reach_into_the_archive_when_asked(struct rig *rig)
{
    struct pawl_job_id id[6];
    make_six(rig, id);
    for (size_t i = 0; i < 6; i++)
        assert_ok(rig, control(rig, id[i], PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    assert_i64(6, archive_all(rig));
    struct pawl_job_id live = submit_one(rig, &(struct pawl_job_spec){ .type = "a" });
    static const char *const a[] = { "a" };
    struct pawl_filter f = { .types = a, .type_count = 1 };
    ASSERT_FOUND(rig, &f, live);
    f.archived = true;
    ASSERT_FOUND(rig, &f, id[0], id[2], id[4], live);
    f = (struct pawl_filter){ .business_key = "order-1", .archived = true };
    ASSERT_FOUND(rig, &f, id[3]);
    f = (struct pawl_filter){ .idempotency_key = "once", .archived = true };
    ASSERT_FOUND(rig, &f, id[4]);
    f = (struct pawl_filter){ .principal = "bob", .archived = true };
    ASSERT_FOUND(rig, &f, id[5]);
    f = (struct pawl_filter){ .meta_key = "n", .meta_value = "7", .archived = true };
    ASSERT_FOUND(rig, &f, id[3], id[4]);
    f = (struct pawl_filter){ .states = PAWL_STATE_BIT(PAWL_STATE_CANCELLED), .archived = true };
    assert_i64(6, count_jobs(rig, &f));
}

/* ---- pages ---- */

/* Walk all pages of `limit`; every job comes once, in order, and the counts agree. */
static void walk(struct rig *rig, const struct pawl_job_id *ids, size_t count, int64_t limit,
                 bool oldest_first)
{
    struct pawl_filter all = { .archived = true };
    struct pawl_page page = { .limit = limit, .oldest_first = oldest_first, .count = true };
    char cursor[PAWL_CURSOR_BYTES] = "";
    size_t seen = 0;
    do {
        struct pawl_jobs jobs = { 0 };
        page.cursor = cursor[0] == '\0' ? NULL : cursor;
        assert_ok(rig, pawl__store_query(rig->store, &all, &page, &rig->arena, &jobs, &rig->diag));
        assert_i64((int64_t)count, jobs.total);
        assert_true((int64_t)jobs.count <= limit);
        for (size_t i = 0; i < jobs.count; i++, seen++) {
            assert_true(seen < count);
            assert_id(ids[oldest_first ? seen : count - 1 - seen], jobs.at[i].id);
        }
        memcpy(cursor, jobs.next, sizeof cursor);
        assert_true(cursor[0] == '\0' || (int64_t)jobs.count == limit);
    } while (cursor[0] != '\0');
    assert_int_equal(count, seen);
}

static void pages_are_disjoint_and_complete(struct rig *rig)
{
    enum { MANY = 1003 };
    struct pawl_job_id *ids = submit_n(rig, MANY, NULL);
    static const int64_t limits[] = { 7, 500, 501, 999, 1000 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        walk(rig, ids, MANY, limits[i], true);
        walk(rig, ids, MANY, limits[i], false);
    }
}

static void last_full_page_ends_the_walk(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 10, NULL);
    walk(rig, ids, 10, 5, true);
    walk(rig, ids, 10, 10, false);
    walk(rig, ids, 10, 1, false);
}

static void pages_span_live_and_archived_jobs(struct rig *rig)
{
    struct pawl_job_id ids[20];
    for (size_t i = 0; i < 20; i++) {
        ids[i] = submit_one(rig, NULL);
        rig_advance(rig, 1);
    }
    for (size_t i = 0; i < 20; i += 3)
        assert_ok(rig, control(rig, ids[i], PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    assert_i64(7, archive_all(rig));
    walk(rig, ids, 20, 3, true);
    walk(rig, ids, 20, 4, false);
    walk(rig, ids, 20, 1000, false);
}

enum { LONG_JOBS = 20, BYTES_MAX = 1000 };

/* ["xxx..."]: the n-th is n * 70 bytes long, the 11th longer than any page. */
static struct pawl_span long_args(struct rig *rig, size_t n)
{
    size_t len = n == 11 ? BYTES_MAX + 500 : 10 + n * 70;
    char *text = pawl__arena_calloc(&rig->arena, len + 1, 1);
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, "[\"", 2);
    memcpy(text + len - 2, "\"]", 2);
    return (struct pawl_span){ text, len };
}

/* Some of them archived; in the order of creation. */
static void submit_long(struct rig *rig, struct pawl_job_id ids[LONG_JOBS])
{
    for (size_t i = 0; i < LONG_JOBS; i++) {
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .args = long_args(rig, i) });
        rig_advance(rig, 1);
    }
    for (size_t i = 0; i < LONG_JOBS; i += 3)
        assert_ok(rig, control(rig, ids[i], PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    assert_i64(7, archive_all(rig));
}

static int64_t bytes_of(const struct pawl_job *job)
{
    return (int64_t)(job->args.len + job->meta.len + job->result.len);
}

static void assert_long(struct rig *rig, const struct pawl_job *job, size_t n)
{
    struct pawl_span args = long_args(rig, n);
    assert_false(job->brief);
    assert_int_equal(args.len, job->args.len);
    assert_memory_equal(args.at, job->args.at, args.len);
}

/* Each page holds as much as fits and no more, unless it is one job; nothing is left out. */
static void walk_within(struct rig *rig, const struct pawl_job_id *ids, int64_t limit,
                        bool oldest_first)
{
    struct pawl_filter all = { .archived = true };
    struct pawl_page page = {
        .limit = limit, .oldest_first = oldest_first, .count = true, .bytes_max = BYTES_MAX
    };
    char cursor[PAWL_CURSOR_BYTES] = "";
    size_t seen = 0;
    int64_t before = 0, pages = 0;
    do {
        struct pawl_jobs jobs = { 0 };
        page.cursor = cursor[0] == '\0' ? NULL : cursor;
        assert_ok(rig, pawl__store_query(rig->store, &all, &page, &rig->arena, &jobs, &rig->diag));
        assert_i64(LONG_JOBS, jobs.total);
        assert_true(jobs.count >= 1 && (int64_t)jobs.count <= limit);
        assert_true(!before || before + bytes_of(&jobs.at[0]) > BYTES_MAX);
        int64_t bytes = 0;
        for (size_t i = 0; i < jobs.count; i++, seen++) {
            assert_true(seen < LONG_JOBS);
            size_t n = oldest_first ? seen : LONG_JOBS - 1 - seen;
            assert_id(ids[n], jobs.at[i].id);
            assert_long(rig, &jobs.at[i], n);
            bytes += bytes_of(&jobs.at[i]);
        }
        assert_true(bytes <= BYTES_MAX || jobs.count == 1);
        before = (int64_t)jobs.count == limit ? 0 : bytes;
        memcpy(cursor, jobs.next, sizeof cursor);
        pages++;
    } while (cursor[0] != '\0');
    assert_int_equal(LONG_JOBS, seen);
    assert_true(pages > LONG_JOBS / limit);
}

static void pages_end_where_their_bytes_do(struct rig *rig)
{
    struct pawl_job_id ids[LONG_JOBS];
    submit_long(rig, ids);
    walk_within(rig, ids, 5, true);
    walk_within(rig, ids, 5, false);
    walk_within(rig, ids, 1000, true);
    walk_within(rig, ids, 1000, false);
}

/* Pages of `limit` hold that many; the first few jobs are whole, the rest are told as brief. */
static void walk_brief(struct rig *rig, const struct pawl_job_id *ids, int64_t limit,
                       int64_t bytes_max, bool oldest_first)
{
    struct pawl_filter all = { .archived = true };
    struct pawl_page page = {
        .limit = limit, .oldest_first = oldest_first, .bytes_max = bytes_max, .brief = true
    };
    char cursor[PAWL_CURSOR_BYTES] = "";
    size_t seen = 0;
    do {
        struct pawl_jobs jobs = { 0 };
        page.cursor = cursor[0] == '\0' ? NULL : cursor;
        assert_ok(rig, pawl__store_query(rig->store, &all, &page, &rig->arena, &jobs, &rig->diag));
        int64_t bytes = 0;
        for (size_t i = 0; i < jobs.count; i++, seen++) {
            assert_true(seen < LONG_JOBS);
            size_t n = oldest_first ? seen : LONG_JOBS - 1 - seen;
            assert_id(ids[n], jobs.at[i].id);
            assert_string_equal("default", jobs.at[i].queue);
            bytes += (int64_t)long_args(rig, n).len;
            if (bytes <= bytes_max) {
                assert_long(rig, &jobs.at[i], n);
            } else {
                assert_true(jobs.at[i].brief);
                assert_int_equal(0, jobs.at[i].args.len);
            }
        }
        memcpy(cursor, jobs.next, sizeof cursor);
        assert_true(cursor[0] == '\0' || (int64_t)jobs.count == limit);
    } while (cursor[0] != '\0');
    assert_int_equal(LONG_JOBS, seen);
}

static void brief_pages_hold_every_job(struct rig *rig)
{
    struct pawl_job_id ids[LONG_JOBS];
    submit_long(rig, ids);
    static const int64_t limits[] = { 1, 6, 20, 100 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        for (int oldest_first = 0; oldest_first < 2; oldest_first++) {
            walk_brief(rig, ids, limits[i], BYTES_MAX, oldest_first);
            walk_brief(rig, ids, limits[i], 0, oldest_first);
        }
    }
}

/* What a run left is as long as what it was given. */
static void results_count_and_are_left_out(struct rig *rig)
{
    for (int i = 0; i < 2; i++) {
        submit_one(rig, NULL);
        struct pawl_job job = claim_one(rig, "default");
        assert_ok(rig, complete(rig, ref_of(&job), long_args(rig, 10).at));
    }
    struct pawl_page page = { .limit = 10, .bytes_max = BYTES_MAX };
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl__store_query(rig->store, &(struct pawl_filter){ 0 }, &page, &rig->arena,
                                     &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    assert_int_equal(long_args(rig, 10).len, jobs.at[0].result.len);
    page = (struct pawl_page){ .limit = 10, .brief = true };
    assert_ok(rig, pawl__store_query(rig->store, &(struct pawl_filter){ 0 }, &page, &rig->arena,
                                     &jobs, &rig->diag));
    assert_int_equal(2, jobs.count);
    assert_true(jobs.at[1].brief);
    assert_int_equal(0, jobs.at[1].result.len);
}

static void story_of_a_job_at_hand_reads_no_job(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .args = long_args(rig, 5) });
    struct pawl_job job = claim_one(rig, "default");
    fail_plain(rig, ref_of(&job));
    struct pawl_page page = { .limit = 1, .brief = true };
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl__store_query(rig->store, &(struct pawl_filter){ 0 }, &page, &rig->arena,
                                     &jobs, &rig->diag));
    struct pawl_story story = { 0 };
    assert_ok(rig, pawl__store_story(rig->store, id, &jobs.at[0], &rig->arena, &story, &rig->diag));
    assert_true(story.job.brief);
    assert_id(id, story.job.id);
    assert_int_equal(1, story.failure_count);
    struct pawl_job gone = { .id = rig_id(rig) };
    assert_ok(rig, pawl__store_story(rig->store, gone.id, &gone, &rig->arena, &story, &rig->diag));
    assert_int_equal(0, story.failure_count);
}

static void pages_are_stable_while_jobs_come_and_go(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 10, NULL);
    struct pawl_filter all = { 0 };
    struct pawl_page page = { .limit = 4 };
    struct pawl_jobs first = { 0 }, second = { 0 };
    assert_ok(rig, pawl__store_query(rig->store, &all, &page, &rig->arena, &first, &rig->diag));
    assert_i64(-1, first.total); // not asked for
    rig_advance(rig, 1);
    submit_n(rig, 3, NULL);
    assert_ok(rig, control(rig, ids[9], PAWL_CONTROL_CANCEL));
    assert_ok(rig, delete_job(rig, ids[9]));
    assert_ok(rig, control(rig, ids[6], PAWL_CONTROL_CANCEL)); // the cursor's own job
    assert_ok(rig, delete_job(rig, ids[6]));
    page.cursor = first.next;
    assert_ok(rig, pawl__store_query(rig->store, &all, &page, &rig->arena, &second, &rig->diag));
    assert_int_equal(4, second.count);
    for (size_t i = 0; i < 4; i++)
        assert_id(ids[5 - i], second.at[i].id);
}

/* The order is that of creation, whatever the ids say. */
static void order_is_by_time_of_creation(struct rig *rig)
{
    struct pawl_job_id ids[8];
    for (size_t i = 0; i < 8; i++) {
        struct pawl_job_id id = rig_id(rig);
        if (i % 2 == 0) memset(id.b, (int)(0xf0 - i), 8); // far in the future, or no time at all
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .id = &id });
        rig_advance(rig, 1);
    }
    walk(rig, ids, 8, 3, true);
    walk(rig, ids, 8, 3, false);
}

static void strange_cursors_are_refused(struct rig *rig)
{
    submit_n(rig, 3, NULL);
    static const char *const bad[] = {
        "x",        "0",        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "' OR 1=1", "\xff\xfe", "1:2:3:4"
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = { .limit = 2, .cursor = bad[i] };
        assert_err(rig, PAWL_ERR_ARG,
                   pawl__store_query(rig->store, &(struct pawl_filter){ 0 }, &page, &rig->arena,
                                     &jobs, &rig->diag));
    }
}

static void filter_values_are_never_sql(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .type = "a'b\"c%_", .business_key = "x' OR '1'='1" });
    submit_one(rig, NULL);
    static const char *const type[] = { "a'b\"c%_" }, *const like[] = { "a%" };
    assert_i64(1, count_jobs(rig, &(struct pawl_filter){ .types = type, .type_count = 1 }));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .types = like, .type_count = 1 }));
    assert_i64(1, count_jobs(rig, &(struct pawl_filter){ .business_key = "x' OR '1'='1" }));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .principal = "' OR '1'='1" }));
    assert_i64(
        0, count_jobs(rig, &(struct pawl_filter){ .meta_key = "a\" OR \"1", .meta_value = "'" }));
}

static void unknown_job_has_no_story(struct rig *rig)
{
    struct pawl_story story = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl__store_story(rig->store, rig_id(rig), NULL, &rig->arena, &story, &rig->diag));
}

static void empty_store_answers_every_question(struct rig *rig)
{
    assert_int_equal(0, query_all(rig, &(struct pawl_filter){ .archived = true }, false).count);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ 0 }));
    struct pawl_stats stats = stats_of(rig);
    for (int state = 0; state < PAWL_STATE_END; state++)
        assert_i64(0, stats.count[state]);
    assert_i64(0, stats.next_due_at_ms);
    assert_true(stats.schema_version > 0);
    assert_i64(0, promote(rig).moved + lapse(rig).moved + expire(rig).moved);
    assert_i64(0, promote(rig).next_at_ms + lapse(rig).next_at_ms + expire(rig).next_at_ms);
    assert_i64(0, archive_all(rig) + purge_all(rig));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(get_keeps_the_order_asked_for),
        CONTRACT(get_crosses_every_chunk),
        CONTRACT(get_finds_archived_jobs_too),
        CONTRACT(each_state_is_found_by_its_filter),
        CONTRACT(names_filter),
        CONTRACT(the_beginning_of_a_type_filters),
        CONTRACT(the_beginning_of_an_id_filters),
        CONTRACT(tags_filter_any_of),
        CONTRACT(meta_filters_by_value),
        CONTRACT(meta_numbers_filter_as_written),
        CONTRACT(numbers_and_times_filter),
        CONTRACT(workers_jobs_are_found),
        CONTRACT(dead_letters_are_found),
        CONTRACT(filters_reach_into_the_archive_when_asked),
        CONTRACT(pages_are_disjoint_and_complete),
        CONTRACT(last_full_page_ends_the_walk),
        CONTRACT(pages_span_live_and_archived_jobs),
        CONTRACT(pages_end_where_their_bytes_do),
        CONTRACT(brief_pages_hold_every_job),
        CONTRACT(results_count_and_are_left_out),
        CONTRACT(story_of_a_job_at_hand_reads_no_job),
        CONTRACT(pages_are_stable_while_jobs_come_and_go),
        CONTRACT(order_is_by_time_of_creation),
        CONTRACT(strange_cursors_are_refused),
        CONTRACT(filter_values_are_never_sql),
        CONTRACT(unknown_job_has_no_story),
        CONTRACT(empty_store_answers_every_question),
    };
    return contract_run("query", tests, COUNT(tests));
}
