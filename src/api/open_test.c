/* Tests opening: valid configurations and defaults. */
#include "api/test_kit.h"
#include "base/clock.h"

static int64_t no_time(void *ctx)
{
    (void)ctx;
    return 0;
}

static void silence_means_the_defaults(void **state)
{
    (void)state;
    struct pawl_config out;
    KIT_OK(pawl__config_complete(NULL, &out, &diag));
    assert_string_equal(out.store, "sqlite:pawl.db");
    assert_int_equal(out.durability, PAWL_DURABILITY_FULL);
    assert_int_equal(out.busy_timeout_ms, 30000);
    assert_ptr_equal(out.clock, &pawl__clock_system);
    assert_true(out.seed != 0);
    assert_false(out.must_exist);
}

static void what_is_given_stays(void **state)
{
    (void)state;
    struct pawl_clock clock = { no_time, no_time, NULL };
    struct pawl_config given = { .store = "sqlite:x",
                                 .durability = PAWL_DURABILITY_RELAXED,
                                 .busy_timeout_ms = 5,
                                 .must_exist = true,
                                 .no_migrate = true,
                                 .allow_network_fs = true,
                                 .clock = &clock,
                                 .seed = 3 };
    struct pawl_config out;
    KIT_OK(pawl__config_complete(&given, &out, &diag));
    assert_memory_equal(&given, &out, sizeof given);
}

static void bad_configuration_names_its_member(void **state)
{
    (void)state;
    struct pawl_clock no_wall = { NULL, no_time, NULL }, no_mono = { no_time, NULL, NULL };
    const struct {
        struct pawl_config config;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .store = "" }, PAWL_ERR_ARG, "store" },
        { { .store = "nosuch:x" }, PAWL_ERR_UNSUPPORTED, "store" },
        { { .durability = (enum pawl_durability)2 }, PAWL_ERR_ARG, "durability" },
        { { .busy_timeout_ms = -1 }, PAWL_ERR_ARG, "busy_timeout_ms" },
        { { .busy_timeout_ms = INT64_C(2147483648) }, PAWL_ERR_ARG, "busy_timeout_ms" },
        { { .clock = &no_wall }, PAWL_ERR_ARG, "clock" },
        { { .clock = &no_mono }, PAWL_ERR_ARG, "clock" },
        { { .store = "sqlite::memory:", .wake = "" }, PAWL_ERR_ARG, "wake" },
        { { .store = "sqlite::memory:", .wake = "mqtt://h" }, PAWL_ERR_ARG, "wake" },
        { { .store = "sqlite::memory:", .wake = "postgres://h" }, PAWL_ERR_UNSUPPORTED, "wake" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl *pawl = NULL;
        KIT_FAILS(pawl_open(&rows[i].config, &pawl, &diag), rows[i].err, rows[i].field);
        assert_null(pawl);
    }
    struct pawl_config out, most = { .busy_timeout_ms = INT32_MAX };
    KIT_OK(pawl__config_complete(&most, &out, &diag));
}

static struct pawl_job_id first_id(uint64_t seed)
{
    struct pawl_clock clock = { no_time, no_time, NULL };
    struct pawl_config config = { .store = "sqlite::memory:", .clock = &clock, .seed = seed };
    struct pawl *pawl = NULL;
    struct pawl_submitted out;
    KIT_OK(pawl_open(&config, &pawl, &diag));
    KIT_OK(pawl_submit(pawl, &(struct pawl_job_spec){ .type = "t" }, &out, &diag));
    pawl_close(pawl);
    return out.id;
}

static void seed_decides_the_ids(void **state)
{
    (void)state;
    struct pawl_job_id one = first_id(1), again = first_id(1), other = first_id(2);
    assert_memory_equal(&one, &again, sizeof one);
    assert_memory_not_equal(&one, &other, sizeof one);
    struct pawl_job_id any = first_id(0), any_other = first_id(0);
    assert_memory_not_equal(&any, &any_other, sizeof any);
}

static void missing_store_is_not_made_when_it_must_exist(void **state)
{
    (void)state;
    struct pawl_config config = { .store = "sqlite:/nowhere/at/all/pawl.db", .must_exist = true };
    struct pawl *pawl = NULL;
    assert_int_equal(pawl_open(&config, &pawl, NULL), PAWL_ERR_NOT_FOUND);
    assert_null(pawl);
}

static enum pawl_outcome succeed(struct pawl_task *task, void *ctx)
{
    (void)task, (void)ctx;
    return PAWL_OUTCOME_DONE;
}

struct refusal {
    pthread_t thread;
    enum pawl_err err;
};

static void note_refusal(struct pawl_answer *answer)
{
    struct refusal *refusal = answer->ctx;
    *refusal = (struct refusal){ pthread_self(), answer->err };
    pawl_answer_free(answer);
}

/* As documented in post.h: not on the caller's thread, which may hold a lock that `fn` needs. */
static void assert_post_is_refused_later(struct pawl *reader)
{
    struct refusal refusal = { .err = PAWL_OK };
    struct pawl_job_spec spec = { .type = "t" };
    KIT_OK(pawl_post_submit(reader, &spec, 1, note_refusal, &refusal, &diag));
    pawl_close(reader); // waits for the answer
    assert_int_equal(refusal.err, PAWL_ERR_READONLY);
    assert_false(pthread_equal(refusal.thread, pthread_self()));
}

/* One handle writes to a store's file, the other only reads. */
static void reads_while_another_handle_writes(void **state)
{
    (void)state;
    char path[] = "/tmp/pawl-open-XXXXXX", url[64];
    assert_non_null(mkdtemp(path));
    snprintf(url, sizeof url, "sqlite:%s/pawl.db", path);
    struct pawl_config config = { .store = url }, looking = { .store = url, .read_only = true };
    struct pawl *writer = NULL, *reader = NULL;
    struct pawl_submitted job;
    struct pawl_jobs found = { 0 };
    struct pawl_diag trouble = { 0 };
    assert_int_equal(pawl_open(&looking, &reader, &trouble), PAWL_ERR_NOT_FOUND);
    KIT_OK(pawl_open(&config, &writer, &diag));
    KIT_OK(pawl_open(&looking, &reader, &diag));
    KIT_OK(pawl_submit(writer, &(struct pawl_job_spec){ .type = "t" }, &job, &diag));
    KIT_OK(pawl_get(reader, job.id, &found, &diag));
    pawl_jobs_release(&found);
    assert_int_equal(pawl_submit(reader, &(struct pawl_job_spec){ .type = "t" }, &job, &trouble),
                     PAWL_ERR_READONLY);
    assert_string_equal(trouble.text, "the store is open to read only");
    KIT_OK(pawl_handle(reader, "t", succeed, NULL, &diag));
    assert_int_equal(pawl_start(reader, NULL, &trouble), PAWL_ERR_READONLY);
    assert_post_is_refused_later(reader);
    pawl_close(writer);
    snprintf(url, sizeof url, "rm -r %s", path);
    assert_int_equal(system(url), 0);
}

static void memory_cannot_be_looked_at(void **state)
{
    (void)state;
    struct pawl_config config = { .store = "sqlite::memory:", .read_only = true };
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl_open(&config, &pawl, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.field, "read_only");
}

static void nothing_is_closed_in_peace(void **state)
{
    (void)state;
    pawl_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_means_the_defaults),
        cmocka_unit_test(what_is_given_stays),
        cmocka_unit_test(bad_configuration_names_its_member),
        cmocka_unit_test(seed_decides_the_ids),
        cmocka_unit_test(missing_store_is_not_made_when_it_must_exist),
        cmocka_unit_test(reads_while_another_handle_writes),
        cmocka_unit_test(memory_cannot_be_looked_at),
        cmocka_unit_test(nothing_is_closed_in_peace),
    };
    return cmocka_run_group_tests_name("api/open", tests, NULL, NULL);
}
