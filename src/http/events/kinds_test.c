/* Which events follow from which moves, lists of types, ids. */
#include "http/events/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "job.failed job.retrying" */
static const char *events_of(enum pawl_state from, enum pawl_state to)
{
    static char text[128];
    enum pawl__event_kind kinds[PAWL__EVENTS_OF_RECORD_MAX];
    struct pawl__record record = { .kind = PAWL__EVENT_STATE_CHANGED, .from = from, .to = to };
    size_t count = pawl__record_kinds(&record, kinds);
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "",
                                pawl__event_type(kinds[i]));
    }
    return text;
}

static void tells_what_each_move_means(void **state)
{
    (void)state;
    static const struct {
        enum pawl_state from, to;
        const char *events;
    } rows[] = {
        { PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, "job.enqueued" },
        { PAWL_STATE_NONE, PAWL_STATE_PENDING, "job.enqueued" },
        { PAWL_STATE_NONE, PAWL_STATE_SCHEDULED, "job.enqueued job.scheduled" },
        { PAWL_STATE_SCHEDULED, PAWL_STATE_AVAILABLE, "" },
        { PAWL_STATE_RETRYABLE, PAWL_STATE_AVAILABLE, "" },
        { PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, "job.started" },
        { PAWL_STATE_PENDING, PAWL_STATE_ACTIVE, "job.started" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, "job.completed" },
        { PAWL_STATE_PENDING, PAWL_STATE_SKIPPED, "job.completed" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_RETRYABLE, "job.failed job.retrying" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_AVAILABLE, "job.failed job.retrying" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_DISCARDED, "job.failed job.discarded" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_EXPIRED, "job.failed job.expired job.discarded" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_SCHEDULED, "job.scheduled" },
        { PAWL_STATE_ACTIVE, PAWL_STATE_CANCELLED, "job.cancelled" },
        { PAWL_STATE_AVAILABLE, PAWL_STATE_CANCELLED, "job.cancelled" },
        { PAWL_STATE_AVAILABLE, PAWL_STATE_EXPIRED, "job.expired job.discarded" },
        { PAWL_STATE_RETRYABLE, PAWL_STATE_DISCARDED, "job.discarded" },
        { PAWL_STATE_DISCARDED, PAWL_STATE_AVAILABLE, "job.enqueued" },
        { PAWL_STATE_AVAILABLE, PAWL_STATE_PAUSED, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(events_of(rows[i].from, rows[i].to), rows[i].events);
    }
}

static void note_stands_for_itself(void **state)
{
    (void)state;
    enum pawl__event_kind kinds[PAWL__EVENTS_OF_RECORD_MAX];
    struct pawl__record record = { .kind = PAWL__EVENT_QUEUE_PAUSED };
    assert_int_equal(pawl__record_kinds(&record, kinds), 1);
    assert_int_equal(kinds[0], PAWL__EVENT_QUEUE_PAUSED);
}

static void reads_lists_of_types(void **state)
{
    (void)state;
    pawl__kinds failed = PAWL__KIND_BIT(PAWL__EVENT_FAILED);
    pawl__kinds queues = PAWL__KIND_BIT(PAWL__EVENT_QUEUE_PAUSED) |
                         PAWL__KIND_BIT(PAWL__EVENT_QUEUE_RESUMED);
    assert_int_equal(pawl__kinds_parse("job.failed"), failed);
    assert_int_equal(pawl__kinds_parse("queue.*"), queues);
    assert_int_equal(pawl__kinds_parse("queue.*,job.failed"), queues | failed);
    assert_int_equal(pawl__kinds_parse("job.fail"), 0);
    assert_int_equal(pawl__kinds_parse("job.failed2"), 0);
    assert_int_equal(pawl__kinds_parse(""), 0);
    assert_int_equal(pawl__kinds_parse(","), 0);
    assert_true(pawl__kinds_parse("job.*") & failed);
    assert_false(pawl__kinds_parse("job.*") & queues);
    assert_true(pawl__kinds_parse("*") & queues);
}

static void ids_of_one_record_follow_each_other(void **state)
{
    (void)state;
    struct pawl_job_id id = { { 1, 2, 3 } }, back;
    char first[PAWL__EVENT_ID_BYTES], last[PAWL__EVENT_ID_BYTES];
    id.b[15] = 0xf7;
    pawl__event_id_text(&id, 0, first);
    pawl__event_id_text(&id, 3, last);
    assert_string_equal(first, "evt_01020300-0000-0000-0000-0000000000f4");
    assert_true(strcmp(first, last) < 0);
    assert_true(pawl__event_id_parse(last, &back));
    assert_memory_equal(back.b, id.b, sizeof id.b);
    assert_false(pawl__event_id_parse("01020300-0000-0000-0000-0000000000f4", &back));
    assert_false(pawl__event_id_parse("evt_17", &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_each_move_means),
        cmocka_unit_test(note_stands_for_itself),
        cmocka_unit_test(reads_lists_of_types),
        cmocka_unit_test(ids_of_one_record_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
