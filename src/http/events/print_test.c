/* Events as Server-Sent Events, byte for byte. */
#include "http/events/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JOB "01020000-0000-0000-0000-000000000000"
#define EVENT "evt_09000000-0000-0000-0000-00000000000"

static struct pawl__name *name(const char *text)
{
    size_t len = strlen(text);
    struct pawl__name *made = calloc(1, sizeof *made + len + 1);
    assert_non_null(made);
    memcpy(made->text, text, len);
    return made;
}

static struct pawl__record record_of(enum pawl__event_kind kind)
{
    return (struct pawl__record){ .id = { { 9 } },
                                  .job = { { 1, 2 } },
                                  .at_ms = INT64_C(1774951205123),
                                  .kind = kind,
                                  .has_job = true,
                                  .progress = -1,
                                  .queue = name("mail"),
                                  .type = name("a.b") };
}

static void record_free(struct pawl__record *record)
{
    free(record->queue);
    free(record->type);
}

static void expect(struct pawl__buf *out, const char *text)
{
    assert_false(out->failed);
    assert_string_equal(out->at ? out->at : "", text);
    pawl__buf_release(out);
}

static void prints_change_of_state(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__record record = record_of(PAWL__EVENT_STATE_CHANGED);
    record.from = PAWL_STATE_ACTIVE;
    record.to = PAWL_STATE_EXPIRED; // which the Open Job Spec calls discarded
    pawl__stream_print(&out, &record, PAWL__EVENT_STATE_CHANGED, 0);
    expect(&out, "id: " EVENT "0\nevent: job.state_changed\n"
                 "data: {\"job_id\":\"" JOB "\",\"queue\":\"mail\",\"type\":\"a.b\","
                 "\"from\":\"active\",\"to\":\"discarded\","
                 "\"timestamp\":\"2026-03-31T10:00:05.123Z\"}\n\n");
    record.from = PAWL_STATE_NONE;
    pawl__stream_print(&out, &record, PAWL__EVENT_STATE_CHANGED, 0);
    assert_non_null(strstr(out.at, "\"from\":null"));
    pawl__buf_release(&out);
    record_free(&record);
}

static void prints_progress_in_percent_and_as_fraction(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__record record = record_of(PAWL__EVENT_PROGRESS);
    record.progress = 0.475;
    record.data = "\"message\":\"half\"";
    pawl__stream_print(&out, &record, PAWL__EVENT_PROGRESS, 1);
    expect(&out, "id: " EVENT "1\nevent: job.progress\n"
                 "data: {\"job_id\":\"" JOB "\",\"queue\":\"mail\",\"job_type\":\"a.b\","
                 "\"progress\":48,\"message\":\"half\","
                 "\"timestamp\":\"2026-03-31T10:00:05.123Z\"}\n\n");
    pawl__stream_print_progress(&out, &record);
    expect(&out, "id: " EVENT "1\nevent: progress\n"
                 "data: {\"job_id\":\"" JOB "\",\"progress\":0.475,\"message\":\"half\","
                 "\"updated_at\":\"2026-03-31T10:00:05.123Z\"}\n\n");
    record_free(&record);
}

static void ends_progress_with_how_it_ended(void **state)
{
    (void)state;
    static const struct {
        enum pawl_state to;
        const char *event, *progress;
    } rows[] = {
        { PAWL_STATE_COMPLETED, "event: completed\n", "\"progress\":1," },
        { PAWL_STATE_DISCARDED, "event: failed\n", "\"progress\":0.25," },
        { PAWL_STATE_CANCELLED, "event: cancelled\n", "\"progress\":0.25," },
    };
    struct pawl__record record = record_of(PAWL__EVENT_STATE_CHANGED);
    struct pawl__buf out = { 0 };
    record.progress = 0.25;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        record.to = rows[i].to;
        pawl__stream_print_progress(&out, &record);
        assert_non_null(strstr(out.at, rows[i].event));
        assert_non_null(strstr(out.at, rows[i].progress));
        pawl__buf_clear(&out);
    }
    record.to = PAWL_STATE_ACTIVE; // not the end: nothing to say
    pawl__stream_print_progress(&out, &record);
    assert_int_equal(out.len, 0);
    pawl__buf_release(&out);
    record_free(&record);
}

static void prints_only_what_the_listener_wants(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__record record = record_of(PAWL__EVENT_STATE_CHANGED);
    struct pawl__listener listener = { .kinds = PAWL__KINDS_USUAL };
    record.from = PAWL_STATE_ACTIVE;
    record.to = PAWL_STATE_RETRYABLE;
    pawl__stream_print_for(&out, &record, &listener);
    assert_non_null(strstr(out.at, "event: job.state_changed\n"));
    assert_null(strstr(out.at, "event: job.failed\n"));
    pawl__buf_clear(&out);
    listener.kinds = pawl__kinds_parse("job.retrying");
    pawl__stream_print_for(&out, &record, &listener);
    assert_null(strstr(out.at, "event: job.state_changed\n"));
    assert_null(strstr(out.at, "event: job.failed\n"));
    assert_non_null(strstr(out.at, "id: " EVENT "2\nevent: job.retrying\n"));
    pawl__buf_clear(&out);
    listener.kinds = pawl__kinds_parse("queue.*");
    pawl__stream_print_for(&out, &record, &listener);
    assert_int_equal(out.len, 0);
    pawl__buf_release(&out);
    record_free(&record);
}

static void prints_notes_of_no_job(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__record record = {
        .id = { { 9 } }, .kind = PAWL__EVENT_WORKER_QUIET, .progress = -1, .subject = "w\"1"
    };
    pawl__stream_print(&out, &record, PAWL__EVENT_WORKER_QUIET, 1);
    expect(&out, "id: " EVENT "1\nevent: worker.quiet\n"
                 "data: {\"subject\":\"w\\\"1\",\"timestamp\":\"1970-01-01T00:00:00.000Z\"}\n\n");
}

/* The reader is told where to go on from; the words fit what is kept free for them. */
static void last_words_are_short(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl_job_id newest = { { 9 } };
    pawl__stream_print_gap(&out, newest, "the reader was too slow");
    assert_true(out.len + 16 < PAWL__STREAM_RESERVE_BYTES);
    expect(&out, "id: " EVENT "3\nevent: system.gap\n"
                 "data: {\"reason\":\"the reader was too slow\"}\n\n");
    pawl__stream_print_shutdown(&out, newest);
    assert_true(out.len + 16 < PAWL__STREAM_RESERVE_BYTES);
    expect(&out, "id: " EVENT "3\nevent: server.shutdown\n"
                 "data: {\"reason\":\"shutdown\",\"grace_period_ms\":5000}\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_change_of_state),
        cmocka_unit_test(prints_progress_in_percent_and_as_fraction),
        cmocka_unit_test(ends_progress_with_how_it_ended),
        cmocka_unit_test(prints_only_what_the_listener_wants),
        cmocka_unit_test(prints_notes_of_no_job),
        cmocka_unit_test(last_words_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
