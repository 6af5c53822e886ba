/* What a claim reads: of long arguments only those that it gives out. */
#include "store/sqlite/test_kit.h"

enum { JOBS = 8, LONG = 1 << 20 };

/* Pages of the file that hold such arguments, and a few for tables and the rest of a job. */
enum { PAGES_OF_LONG = LONG / PAWL__SQ_PAGE_BYTES, PAGES_ASIDE = 40 };

static char *long_args(void)
{
    char *text = malloc(LONG);
    assert_non_null(text);
    memset(text, 'x', LONG);
    text[0] = text[LONG - 1] = '"';
    return text;
}

/* A store of jobs with long arguments, of which nothing is cached. */
static void open_long(struct kit *kit, struct pawl_job_spec spec)
{
    char *text = long_args();
    spec.args = (struct pawl_span){ text, LONG };
    kit_open_file(kit);
    for (int i = 0; i < JOBS; i++) {
        kit_submit(kit, spec);
    }
    free(text);
    kit_reopen(kit);
}

/* What this process has read from files so far. SQLite's own count leaves out pages that it reads
 * past its cache, as newer versions do with long values. */
static int64_t bytes_read(void)
{
    long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %lld", &bytes), 1);
    fclose(io);
    return bytes;
}

/* How many pages are read to claim all of them, within these bounds; `given` of them are. */
static int64_t pages_read(struct kit *kit, struct pawl__op op, size_t given, size_t args_len)
{
    static const char *const queues[] = { "default" };
    op.kind = PAWL__OP_CLAIM;
    op.claim.queues = queues;
    op.claim.queue_count = 1;
    op.claim.limit = JOBS;
    op.claim.worker = "worker";
    op.claim.lease_ms = KIT_LEASE_MS;
    int64_t before = bytes_read();
    kit_ok(kit, kit_do(kit, &op));
    int64_t read = (bytes_read() - before) / PAWL__SQ_PAGE_BYTES;
    assert_int_equal(op.claim.job_count, given);
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(op.claim.jobs[i].args.len, args_len);
    }
    pawl__arena_release(&op.arena);
    return read;
}

static void arguments_that_are_left_out_are_not_read(void **state)
{
    struct kit kit;
    open_long(&kit, (struct pawl_job_spec){ .priority = 1 });
    struct pawl__op op = { .claim.args_max = 1000 };
    assert_in_range(pages_read(&kit, op, JOBS, 0), 1, PAGES_ASIDE);
    kit_check(&kit);
    kit_close(&kit);
}

static void arguments_beyond_the_bound_are_not_read(void **state)
{
    struct kit kit;
    open_long(&kit, (struct pawl_job_spec){ .priority = 1 });
    struct pawl__op op = { .claim.bytes_max = LONG + 10 };
    assert_in_range(pages_read(&kit, op, 1, LONG), PAGES_OF_LONG, PAGES_OF_LONG + PAGES_ASIDE);
    kit_check(&kit);
    kit_close(&kit);
}

/* Fields behind the arguments are found by way of their pages: of those that are given, and of the
 * first that is not. Where SQLite does not keep such pages, it reads them for the arguments and
 * again for the fields. */
static void fields_are_read_of_one_job_too_many_at_most(void **state)
{
    struct kit kit;
    open_long(&kit, (struct pawl_job_spec){ .timeout_ms = 5000 });
    struct pawl__op op = { .claim.bytes_max = LONG + 10 };
    assert_in_range(pages_read(&kit, op, 1, LONG), PAGES_OF_LONG, 4 * PAGES_OF_LONG + PAGES_ASIDE);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_are_left_out_are_not_read),
        cmocka_unit_test(arguments_beyond_the_bound_are_not_read),
        cmocka_unit_test(fields_are_read_of_one_job_too_many_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
