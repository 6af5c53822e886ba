#include "http/ojs/envelope_test_kit.h"

#define AT_MS NOW_MS /* "2026-09-21T14:13:20.000Z" */
#define SPAN(text) ((struct pawl_span){ text, sizeof text - 1 })

/* A job as the library gives it: nothing is NULL. */
static struct pawl_job fresh_job(void)
{
    return (struct pawl_job){
        .id = { { 1, 0x89, 0x0a, 0x5d, 0xac, 0x96, 0x77, 0x4b, 0xbc, 0xce, 0xb3, 2, 9, 0x9a, 0x80,
                  0x57 } },
        .type = "mail.send",
        .queue = "default",
        .state = PAWL_STATE_AVAILABLE,
        .attempts_max = 3,
        .created_at_ms = AT_MS,
        .due_at_ms = AT_MS,
        .timeout_ms = PAWL__OJS_TIMEOUT_MS,
        .worker = "",
        .reason = "",
        .idempotency_key = "",
        .business_key = "",
        .principal = "",
        .trace_id = "",
        .args = SPAN("[1, 2.50]"),
    };
}

/* A job printed and read back; strictly, so that no name may occur twice. */
struct print {
    struct pawl__buf buf;
    struct pawl__arena arena;
    struct pawl__json json;
};

static void print_job(struct print *print, const struct pawl_job *job,
                      const struct pawl__envelope_more *more)
{
    struct pawl_diag diag;
    *print = (struct print){ 0 };
    pawl__envelope_print(&print->buf, job, more);
    assert_false(print->buf.failed);
    struct pawl_span span = { print->buf.at, print->buf.len };
    if (pawl__json_parse(span, PAWL_JSON_DEPTH_MAX + 1, &print->arena, &print->json, &diag)) {
        fail_msg("%s: %s", print->buf.at, diag.text);
    }
}

static void print_release(struct print *print)
{
    pawl__arena_release(&print->arena);
    pawl__buf_release(&print->buf);
}

/* `value`: the member's bytes; NULL: it must not be there. */
static void assert_member(const struct print *print, const char *name, const char *value)
{
    uint32_t token = pawl__json_member(&print->json, 0, name);
    if (!token != !value) fail_msg("%s: \"%s\"", print->buf.at, name);
    if (token) assert_span(pawl__json_span(&print->json, token), value);
}

static void assert_job_member(const struct pawl_job *job, const char *name, const char *value)
{
    struct print print;
    print_job(&print, job, NULL);
    assert_member(&print, name, value);
    print_release(&print);
}

/* ---- every job ---- */

static void a_fresh_job_is_printed(void **state)
{
    struct pawl_job job = fresh_job();
    struct print print;
    print_job(&print, &job, NULL);
    assert_string_equal(print.buf.at,
                        "{\"specversion\":\"1.0\",\"id\":\"01890a5d-ac96-774b-bcce-b302099a8057\","
                        "\"type\":\"mail.send\",\"queue\":\"default\",\"args\":[1, 2.50],"
                        "\"meta\":{},\"priority\":0,\"state\":\"available\",\"attempt\":0,"
                        "\"max_attempts\":3,\"created_at\":\"2026-09-21T14:13:20.000Z\","
                        "\"enqueued_at\":\"2026-09-21T14:13:20.000Z\"}");
    print_release(&print);
}

static void ends_are_told_by_the_times_that_belong_to_them(void **state)
{
    static const struct {
        enum pawl_state state;
        int64_t attempt;
        const char *name;
        bool completed, cancelled, discarded;
    } cases[] = {
        { PAWL_STATE_SCHEDULED, 0, "\"scheduled\"", false, false, false },
        { PAWL_STATE_AVAILABLE, 0, "\"available\"", false, false, false },
        { PAWL_STATE_PENDING, 0, "\"pending\"", false, false, false },
        { PAWL_STATE_ACTIVE, 1, "\"active\"", false, false, false },
        { PAWL_STATE_RETRYABLE, 1, "\"retryable\"", false, false, false },
        { PAWL_STATE_PAUSED, 0, "\"pending\"", false, false, false },
        { PAWL_STATE_COMPLETED, 1, "\"completed\"", true, false, false },
        { PAWL_STATE_SKIPPED, 0, "\"completed\"", true, false, false },
        { PAWL_STATE_CANCELLED, 1, "\"cancelled\"", false, true, false },
        { PAWL_STATE_DISCARDED, 3, "\"discarded\"", true, false, true },
        { PAWL_STATE_DISCARDED, 0, "\"discarded\"", false, false, true },
        { PAWL_STATE_EXPIRED, 0, "\"discarded\"", false, false, true },
        { PAWL_STATE_EXPIRED, 1, "\"discarded\"", true, false, true },
    };
    static const char ended[] = "\"2026-09-21T14:13:25.000Z\"";
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_job job = fresh_job();
        struct print print;
        job.state = cases[i].state;
        job.attempt = job.run = cases[i].attempt;
        if (pawl_state_is_terminal(job.state)) job.finished_at_ms = AT_MS + 5000;
        print_job(&print, &job, NULL);
        assert_member(&print, "state", cases[i].name);
        assert_member(&print, "completed_at", cases[i].completed ? ended : NULL);
        assert_member(&print, "cancelled_at", cases[i].cancelled ? ended : NULL);
        assert_member(&print, "discarded_at", cases[i].discarded ? ended : NULL);
        print_release(&print);
    }
}

static void enqueued_at_is_when_the_job_became_available(void **state)
{
    static const char now[] = "\"2026-09-21T14:13:20.000Z\"";
    static const char later[] = "\"2026-09-21T14:13:29.000Z\"";
    static const struct {
        enum pawl_state state, paused_from;
        int64_t run, due_ms, started_ms, finished_ms; /* after creation */
        const char *enqueued_at;
    } cases[] = {
        { PAWL_STATE_AVAILABLE, 0, 0, 0, 0, 0, now },
        { PAWL_STATE_SCHEDULED, 0, 0, 9000, 0, 0, NULL },
        { PAWL_STATE_PENDING, 0, 0, 0, 0, 0, NULL },
        { PAWL_STATE_PAUSED, PAWL_STATE_AVAILABLE, 0, 0, 0, 0, now },
        { PAWL_STATE_PAUSED, PAWL_STATE_SCHEDULED, 0, 9000, 0, 0, NULL },
        { PAWL_STATE_AVAILABLE, 0, 0, 9000, 0, 0, later },
        { PAWL_STATE_AVAILABLE, 0, 0, -9000, 0, 0, now },
        { PAWL_STATE_ACTIVE, 0, 1, 9000, 9500, 0, later },
        { PAWL_STATE_COMPLETED, 0, 1, 9000, 9500, 9900, later },
        { PAWL_STATE_CANCELLED, 0, 0, 9000, 0, 5000, NULL },
        { PAWL_STATE_EXPIRED, 0, 0, 9000, 0, 9500, later },
        { PAWL_STATE_RETRYABLE, 0, 1, 9000, 0, 0, now },
        { PAWL_STATE_AVAILABLE, 0, 1, 9000, 0, 0, later },
        { PAWL_STATE_ACTIVE, 0, 2, 9000, 9500, 0, later },
        { PAWL_STATE_CANCELLED, 0, 1, 3600000, 0, 5000, now }, // while it waited to run again
        { PAWL_STATE_DISCARDED, 0, 1, 0, 500, 5000, now },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_job job = fresh_job();
        job.state = cases[i].state;
        job.paused_from = cases[i].paused_from;
        job.run = job.attempt = cases[i].run;
        job.due_at_ms = AT_MS + cases[i].due_ms;
        if (cases[i].started_ms) job.started_at_ms = AT_MS + cases[i].started_ms;
        if (cases[i].finished_ms) job.finished_at_ms = AT_MS + cases[i].finished_ms;
        assert_job_member(&job, "enqueued_at", cases[i].enqueued_at);
    }
}

static void a_retry_does_not_move_the_schedule(void **state)
{
    struct pawl_job job = fresh_job();
    job.state = PAWL_STATE_CANCELLED; // while it waited an hour to run again
    job.run = job.attempt = 1;
    job.due_at_ms = AT_MS + 3600000;
    job.finished_at_ms = AT_MS + 5000;
    assert_job_member(&job, "scheduled_at", NULL);
    job.extra = SPAN("{\"delay_until\":\"2026-09-21T14:13:22Z\"}");
    assert_job_member(&job, "scheduled_at", "\"2026-09-21T14:13:22Z\"");
    assert_job_member(&job, "enqueued_at", "\"2026-09-21T14:13:22.000Z\"");
    job.state = PAWL_STATE_RETRYABLE;
    job.finished_at_ms = 0;
    assert_job_member(&job, "enqueued_at", "\"2026-09-21T14:13:22.000Z\"");
}

static void attempts_never_exceed_their_maximum(void **state)
{
    struct pawl_job job = fresh_job();
    job.state = PAWL_STATE_ACTIVE;
    job.run = job.attempt = 3;
    job.free_runs = 2;
    job.attempts_max = 1;
    job.started_at_ms = AT_MS;
    assert_job_member(&job, "attempt", "3");
    assert_job_member(&job, "max_attempts", "3");
}

static void an_expired_job_says_so(void **state)
{
    struct pawl_job job = fresh_job();
    job.state = PAWL_STATE_EXPIRED;
    job.finished_at_ms = AT_MS + 5000;
    assert_job_member(&job, "error",
                      "{\"code\":\"expired\",\"message\":\"the job expired before it could "
                      "complete\",\"type\":\"expired\",\"attempt\":0,\"occurred_at\":\""
                      "2026-09-21T14:13:25.000Z\"}");
}

static void results_belong_to_completed_jobs(void **state)
{
    struct pawl_job job = fresh_job();
    job.result = SPAN("{\"n\" : 1.0}");
    job.state = PAWL_STATE_COMPLETED;
    assert_job_member(&job, "result", "{\"n\" : 1.0}");
    job.state = PAWL_STATE_ACTIVE;
    assert_job_member(&job, "result", NULL);
}

/* ---- extra members ---- */

static void extra_members_are_printed_as_they_stand(void **state)
{
    struct pawl_job job = fresh_job();
    struct print print;
    job.extra = SPAN("{\"x_a\":{\"n\" : 1.50},\"retry\":{\"max_attempts\":9},\"timeout\":60,"
                     "\"expires_at\":\"2099-12-31T23:59:59Z\",\"version\":2.0,\"tags\":[\"A\"]}");
    job.retry = SPAN("{\"attempts_max\":9}");
    job.expires_at_ms = INT64_C(4102444799000);
    job.tags = SPAN("[\"a\"]");
    print_job(&print, &job, NULL);
    assert_member(&print, "x_a", "{\"n\" : 1.50}");
    assert_member(&print, "retry", "{\"max_attempts\":9}");
    assert_member(&print, "timeout", "60");
    assert_member(&print, "expires_at", "\"2099-12-31T23:59:59Z\"");
    assert_member(&print, "version", "2.0");
    assert_member(&print, "tags", "[\"A\"]");
    print_release(&print);
}

static void extra_members_never_repeat_or_replace_the_servers_own(void **state)
{
    struct pawl_job job = fresh_job();
    struct print print;
    job.extra = SPAN("{\"state\":\"completed\",\"st\\u0061te\":1,\"id\":1,\"specversion\":9,"
                     "\"result\":2,\"error\":{},\"errors\":[],\"options\":{},\"queue\":\"x\","
                     "\"checkpoint\":1,\"previous_state\":1,\"enqueued_at\":1,\"args\":3}");
    struct pawl__envelope_more more = { .previous_state = PAWL_STATE_SCHEDULED };
    print_job(&print, &job, &more);
    assert_member(&print, "state", "\"available\"");
    assert_member(&print, "queue", "\"default\"");
    assert_member(&print, "previous_state", "\"scheduled\"");
    assert_member(&print, "result", NULL);
    assert_member(&print, "error", NULL);
    assert_member(&print, "options", NULL);
    print_release(&print);
}

static void extra_members_that_cannot_be_read_are_left_out(void **state)
{
    struct pawl_job job = fresh_job();
    static const struct pawl_span extras[] = { { "{\"a\":", 5 }, { "[1]", 3 }, { "7", 1 } };
    for (size_t i = 0; i < COUNT(extras); i++) {
        job.extra = extras[i];
        assert_job_member(&job, "state", "\"available\"");
    }
}

static void delay_until_shows_as_scheduled_at_too(void **state)
{
    struct pawl_job job = fresh_job();
    static const char text[] = "\"2020-01-01T00:00:00Z\"";
    job.extra = SPAN("{\"delay_until\":\"2020-01-01T00:00:00Z\"}");
    assert_job_member(&job, "scheduled_at", text);
    assert_job_member(&job, "delay_until", text);
    job.extra = SPAN("{\"delay_until\":\"2020-01-01T00:00:00Z\",\"scheduled_at\":\"x\"}");
    assert_job_member(&job, "scheduled_at", "\"x\"");
}

static void a_schedule_taken_over_from_a_replaced_job_is_told(void **state)
{
    struct pawl_job job = fresh_job();
    job.state = PAWL_STATE_SCHEDULED;
    job.due_at_ms = AT_MS + 9000;
    job.extra = SPAN("{\"scheduled_at\":\"2026-09-21T16:13:29+02:00\"}");
    assert_job_member(&job, "scheduled_at", "\"2026-09-21T16:13:29+02:00\"");
    job.due_at_ms = AT_MS + 8000;
    assert_job_member(&job, "scheduled_at", "\"2026-09-21T14:13:28.000Z\"");
    job.extra = SPAN("{\"delay_until\":\"2026-09-21T16:13:29+02:00\"}");
    assert_job_member(&job, "scheduled_at", "\"2026-09-21T14:13:28.000Z\"");
}

/* ---- columns ---- */

static void what_extra_members_lack_is_made_from_columns(void **state)
{
    struct pawl_job job = fresh_job();
    struct print print;
    job.state = PAWL_STATE_SCHEDULED;
    job.due_at_ms = AT_MS + 9000;
    job.expires_at_ms = AT_MS + 90000;
    job.timeout_ms = 5000;
    job.lease_ms = 7000;
    job.priority = -3;
    job.meta = SPAN("{ \"a.b\" : 1 }");
    job.tags = SPAN("[\"a\",\"b\"]");
    job.retry = SPAN("{\"attempts_max\":5,\"backoff\":\"linear\",\"initial_ms\":1500,"
                     "\"coefficient\":1.5,\"cap_ms\":60000,\"exponent_max\":20,\"jitter\":false,"
                     "\"on_exhaustion\":\"dead_letter\",\"non_retryable\":[\"a.*\"]}");
    job.unique = SPAN("{\"keys\":[\"type\",\"meta\"],\"meta_keys\":[\"x\"],\"period_ms\":3600000,"
                      "\"states\":[\"available\",\"pending\",\"paused\",\"discarded\",\"expired\"],"
                      "\"on_conflict\":\"ignore\"}");
    print_job(&print, &job, NULL);
    assert_member(&print, "scheduled_at", "\"2026-09-21T14:13:29.000Z\"");
    assert_member(&print, "expires_at", "\"2026-09-21T14:14:50.000Z\"");
    assert_member(&print, "timeout_ms", "5000");
    assert_member(&print, "timeout", NULL);
    assert_member(&print, "visibility_timeout_ms", "7000");
    assert_member(&print, "priority", "-3");
    assert_member(&print, "meta", "{ \"a.b\" : 1 }");
    assert_member(&print, "tags", "[\"a\",\"b\"]");
    assert_member(&print, "retry",
                  "{\"max_attempts\":5,\"backoff_strategy\":\"linear\","
                  "\"initial_interval\":\"PT1.5S\",\"backoff_coefficient\":1.5,"
                  "\"max_interval\":\"PT60S\",\"jitter\":false,"
                  "\"non_retryable_errors\":[\"a.*\"],\"on_exhaustion\":\"dead_letter\"}");
    assert_member(&print, "unique",
                  "{\"keys\":[\"type\",\"meta\"],\"meta_keys\":[\"x\"],\"period\":\"PT3600S\","
                  "\"states\":[\"available\",\"pending\",\"discarded\"],"
                  "\"on_conflict\":\"ignore\"}");
    print_release(&print);
}

static void a_timeout_that_nobody_asked_for_is_not_shown(void **state)
{
    struct pawl_job job = fresh_job();
    assert_job_member(&job, "timeout_ms", NULL);
    job.extra = SPAN("{\"timeout_ms\":1800000}");
    assert_job_member(&job, "timeout_ms", "1800000");
    job.extra = SPAN("{\"grace_period\":5}");
    job.timeout_ms = PAWL__OJS_TIMEOUT_MS + 5000;
    assert_job_member(&job, "timeout_ms", NULL);
}

static void a_retry_does_not_pass_for_a_schedule(void **state)
{
    struct pawl_job job = fresh_job();
    job.state = PAWL_STATE_RETRYABLE;
    job.run = job.attempt = 1;
    job.due_at_ms = AT_MS + 9000;
    assert_job_member(&job, "scheduled_at", NULL);
    assert_job_member(&job, "next_retry_at", "\"2026-09-21T14:13:29.000Z\"");
    job.state = PAWL_STATE_AVAILABLE;
    assert_job_member(&job, "scheduled_at", NULL);
    assert_job_member(&job, "next_retry_at", NULL);
}

/* ---- failures ---- */

static struct pawl_failure failure_of(int64_t run, int64_t attempt, int64_t retry_delay_ms)
{
    return (struct pawl_failure){ .run = run,
                                  .attempt = attempt,
                                  .started_at_ms = AT_MS + run * 1000,
                                  .failed_at_ms = AT_MS + run * 1000 + 500,
                                  .retry_delay_ms = retry_delay_ms,
                                  .worker = "w",
                                  .type = "E",
                                  .code = "c",
                                  .message = "m" };
}

#define FAILURE_1                                                                                  \
    "{\"code\":\"c\",\"message\":\"m\",\"type\":\"E\",\"attempt\":1,"                              \
    "\"occurred_at\":\"2026-09-21T14:13:21.500Z\"}"
#define FAILURE_2                                                                                  \
    "{\"code\":\"c\",\"message\":\"m\",\"type\":\"E\",\"attempt\":2,"                              \
    "\"occurred_at\":\"2026-09-21T14:13:22.500Z\"}"

static void failures_are_told_oldest_first(void **state)
{
    struct pawl_failure failures[] = { failure_of(1, 1, 700), failure_of(2, 2, 800) };
    struct pawl__envelope_more more = { .failures = failures, .failure_count = 2 };
    static const struct {
        enum pawl_state state;
        bool error, delay;
    } cases[] = {
        { PAWL_STATE_RETRYABLE, true, true },  { PAWL_STATE_AVAILABLE, true, true },
        { PAWL_STATE_ACTIVE, true, true },     { PAWL_STATE_COMPLETED, false, false },
        { PAWL_STATE_DISCARDED, true, false }, { PAWL_STATE_CANCELLED, true, false },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_job job = fresh_job();
        struct print print;
        job.state = cases[i].state;
        job.run = job.attempt = 2;
        print_job(&print, &job, &more);
        assert_member(&print, "errors", "[" FAILURE_1 "," FAILURE_2 "]");
        assert_member(&print, "error", cases[i].error ? FAILURE_2 : NULL);
        assert_member(&print, "retry_delay_ms", cases[i].delay ? "800" : NULL);
        assert_member(&print, "started_at", "\"2026-09-21T14:13:22.000Z\"");
        print_release(&print);
    }
}

static void failures_before_a_revival_are_not_told(void **state)
{
    struct pawl_failure failures[] = { failure_of(1, 1, -1), failure_of(2, 1, 800) };
    struct pawl__envelope_more more = { .failures = failures, .failure_count = 1 };
    struct pawl_job job = fresh_job();
    struct print print;
    job.run = 1; // and no attempt since
    print_job(&print, &job, &more);
    assert_member(&print, "error", NULL);
    assert_member(&print, "errors", NULL);
    assert_member(&print, "started_at", NULL);
    assert_member(&print, "retry_delay_ms", NULL);
    print_release(&print);
    job.run = 2;
    job.attempt = 1;
    more.failure_count = 2;
    print_job(&print, &job, &more);
    uint32_t errors = pawl__json_member(&print.json, 0, "errors");
    assert_int_equal(print.json.tokens[errors].count, 1);
    assert_member(&print, "retry_delay_ms", "800");
    print_release(&print);
}

static void assert_failure(const struct pawl_failure *failure, const char *expected)
{
    struct pawl__buf buf = { 0 };
    pawl__failure_print(&buf, failure);
    assert_string_equal(buf.at, expected);
    pawl__buf_release(&buf);
}

static void failures_have_a_type_and_a_code_whatever_was_reported(void **state)
{
#define TAIL ",\"attempt\":1,\"occurred_at\":\"2026-09-21T14:13:21.500Z\""
    struct pawl_failure failure = failure_of(1, 1, 0);
    failure.type = "";
    assert_failure(&failure, "{\"code\":\"c\",\"message\":\"m\",\"type\":\"c\"" TAIL "}");
    failure.code = "";
    assert_failure(&failure, "{\"code\":\"handler_error\",\"message\":\"m\","
                             "\"type\":\"handler_error\"" TAIL "}");
    failure.type = "E";
    failure.message = "a\"b\xff";
    assert_failure(&failure, "{\"code\":\"E\",\"message\":\"a\\\"b\xef\xbf\xbd\","
                             "\"type\":\"E\"" TAIL "}");
    failure.type = failure.code = "lease_lapsed";
    failure.message = "";
    assert_failure(&failure, "{\"code\":\"visibility_timeout\",\"message\":\"\","
                             "\"type\":\"visibility_timeout\"" TAIL "}");
    failure.details = SPAN("{\"trace\" : []}");
    failure.type = failure.code = "x";
    assert_failure(&failure, "{\"code\":\"x\",\"message\":\"\",\"type\":\"x\"" TAIL
                             ",\"details\":{\"trace\" : []}}");
    failure.details = SPAN("{\"timeout_kind\":\"execution\",\"limit_seconds\":2,\"message\":1}");
    failure.type = failure.code = "timeout";
    assert_failure(&failure, "{\"code\":\"timeout\",\"message\":\"\",\"type\":\"timeout\"" TAIL
                             ",\"details\":{\"timeout_kind\":\"execution\",\"limit_seconds\":2,"
                             "\"message\":1},\"timeout_kind\":\"execution\",\"limit_seconds\":2}");
}

static void checkpoints_are_shown_when_there_is_one(void **state)
{
    struct pawl__envelope_more more = { .checkpoint_sequence = 3, .checkpoint = SPAN("{\"n\":1}") };
    struct pawl_job job = fresh_job();
    struct print print;
    print_job(&print, &job, &more);
    assert_member(&print, "checkpoint", "{\"state\":{\"n\":1},\"sequence\":3}");
    print_release(&print);
    more.checkpoint_sequence = 0;
    print_job(&print, &job, &more);
    assert_member(&print, "checkpoint", NULL);
    print_release(&print);
}

/* ---- there and back ---- */

/* Submit what was read, and print what the store gives back. */
static void print_stored(struct pawl *pawl, const struct pawl_job_spec *spec, struct print *print)
{
    struct pawl_submitted submitted;
    struct pawl_diag diag;
    struct pawl_jobs jobs = { 0 };
    struct print again;
    if (pawl_submit(pawl, spec, &submitted, &diag)) fail_msg("%s", diag.text);
    assert_int_equal(pawl_get(pawl, submitted.id, &jobs, &diag), PAWL_OK);
    print_job(print, &jobs.at[0], NULL);
    print_job(&again, &jobs.at[0], NULL);
    assert_string_equal(print->buf.at, again.buf.at);
    print_release(&again);
    pawl_jobs_release(&jobs);
}

static void assert_members_come_back(const struct pawl__json *sent, uint32_t object,
                                     struct print *print)
{
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = sent->tokens[object].count; left > 0; left--) {
        char *text = pawl__json_string(sent, name, &print->arena, NULL);
        assert_non_null(text);
        if (strcmp(text, "options") == 0) {
            assert_members_come_back(sent, name + 1, print);
        } else {
            struct pawl_span value = pawl__json_span(sent, name + 1);
            char *copy = pawl__arena_dup(&print->arena, value.at, value.len);
            assert_member(print, text, copy);
        }
        name = sent->tokens[name + 1].next;
    }
}

static void what_a_client_sends_comes_back_byte_for_byte(void **state)
{
    static const char *const texts[] = {
        "{\"type\":\"a\",\"args\":[]}",
        "{\"specversion\":\"1.0\",\"id\":\"01890a5d-ac96-774b-bcce-b302099a8058\","
        "\"type\":\"report.generate@2.0\",\"queue\":\"reports\",\"args\":[3.14,1e2,{ \"a\" : "
        "null}],\"meta\":{\"a.b\":{\"c\" : 1.0}},\"priority\":-10,\"tags\":[\"x\",\"y z\"],"
        "\"timeout_ms\":60000,\"schema\":\"urn:x\",\"version\":\"2.0\",\"x_custom\":[1, 2]}",
        "{\"type\":\"a\",\"args\":[],\"options\":{\"queue\":\"q\",\"priority\":10,"
        "\"timeout_ms\":300000,\"delay_until\":\"2020-01-01T00:00:00Z\","
        "\"expires_at\":\"2099-12-31T23:59:59+01:00\",\"visibility_timeout_ms\":2000,"
        "\"tags\":[\"Upper\",\" x \",\"Upper\"],\"metadata\":{\"k\":[]},"
        "\"rate_limit\":{\"key\":\"k\",\"rate\":1,\"period\":\"second\"},"
        "\"retry\":{\"max_attempts\":0,\"initial_interval\":\"PT1S\",\"backoff_coefficient\":2.0,"
        "\"jitter\":true,\"x\":1},\"unique\":{\"keys\":[\"type\"],\"period\":\"PT1H\"}}}",
        "{\"type\":\"b\",\"args\":[],\"timeout\":60,\"total_timeout\":3600,\"enqueue_ttl\":100,"
        "\"grace_period\":5,\"heartbeat_timeout\":30,\"result_ttl\":-1,\"visibility_timeout\":9,"
        "\"scheduled_at\":\"2098-01-01T00:00:00.5+05:30\",\"timeout_ms\":0,\"version\":3}",
    };
    struct pawl *pawl;
    struct pawl_diag diag;
    struct pawl_config config = { .store = "sqlite::memory:" };
    if (pawl_open(&config, &pawl, &diag)) fail_msg("%s", diag.text);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct intake intake;
        struct print print;
        print_stored(pawl, intake_spec(&intake, texts[i]), &print);
        assert_members_come_back(&intake.json, 0, &print);
        print_release(&print);
        intake_release(&intake);
    }
    pawl_close(pawl);
}

static void what_the_library_submits_reads_as_ojs(void **state)
{
    struct pawl *pawl;
    struct pawl_diag diag;
    struct pawl_config config = { .store = "sqlite::memory:" };
    struct print print;
    const char *const tags[] = { "a" }, *const errors[] = { "auth.*" };
    struct pawl_job_spec spec = {
        .type = "a",
        .queue = "with_underscore",
        .tags = tags,
        .tag_count = 1,
        .delay_ms = 3600000,
        .timeout_ms = 5000,
        .retry = { .attempts_max = 7, .non_retryable = errors, .non_retryable_count = 1 },
        .unique = { .keys = PAWL_UNIQUE_QUEUE, .period_ms = 1500 },
        .extra = SPAN("{\"state\":\"mine\",\"x\":1}"),
    };
    if (pawl_open(&config, &pawl, &diag)) fail_msg("%s", diag.text);
    print_stored(pawl, &spec, &print);
    assert_member(&print, "state", "\"scheduled\"");
    assert_member(&print, "queue", "\"with_underscore\"");
    assert_member(&print, "x", "1");
    assert_member(&print, "tags", "[\"a\"]");
    assert_member(&print, "timeout_ms", "5000");
    assert_member(&print, "max_attempts", "7");
    assert_member(&print, "retry", "{\"max_attempts\":7,\"non_retryable_errors\":[\"auth.*\"]}");
    assert_member(&print, "unique",
                  "{\"keys\":[\"type\",\"queue\"],\"period\":\"PT1.5S\","
                  "\"on_conflict\":\"reject\"}");
    assert_true(pawl__json_member(&print.json, 0, "scheduled_at"));
    assert_member(&print, "enqueued_at", NULL);
    print_release(&print);
    pawl_close(pawl);
}

/* Printed twice and read back strictly; the members of both must be the same bytes, but for `cut`.
 */
static void assert_twice(const struct pawl_job *job, const char *cut)
{
    struct pawl__buf once = { 0 }, twice = { 0 }, expected = { 0 };
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl_diag diag;
    pawl__envelope_print(&once, job, NULL);
    pawl__envelope_print_twice(&twice, job, NULL);
    pawl__buf_add_text(&twice, ",\"deduplicated\":true,\"warnings\":[]}");
    struct pawl_span text = { twice.at, twice.len };
    if (pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, &arena, &json, &diag)) {
        fail_msg("%s: %s", diag.text, twice.at);
    }
    const char *gap = cut ? strstr(once.at, cut) : once.at + once.len - 1;
    assert_non_null(gap);
    pawl__buf_printf(&expected, "{\"job\":%s,%.*s", once.at, (int)(gap - once.at - 1), once.at + 1);
    if (cut) pawl__buf_add(&expected, gap + strlen(cut), strlen(gap + strlen(cut)) - 1);
    pawl__buf_add_text(&expected, ",\"deduplicated\":true,\"warnings\":[]}");
    assert_string_equal(twice.at, expected.at);
    pawl__arena_release(&arena);
    pawl__buf_release(&once);
    pawl__buf_release(&twice);
    pawl__buf_release(&expected);
}

static void a_reply_about_one_job_has_it_wrapped_and_flat(void **state)
{
    struct pawl_job job = fresh_job();
    assert_twice(&job, NULL);
    job.extra = SPAN("{\"x\":{\"job\":1},\"jobs\":2}");
    assert_twice(&job, NULL);
}

static void a_members_own_name_is_told_only_within_the_job(void **state)
{
    struct pawl_job job = fresh_job();
    job.extra = SPAN("{\"x\":1,\"j\\u006fb\":{\"a\":1},\"y\":2}");
    assert_twice(&job, ",\"j\\u006fb\":{\"a\":1}");
    job.extra = SPAN("{\"deduplicated\":\"d\",\"job\":[],\"warnings\":3}");
    job.expires_at_ms = AT_MS; // a column behind them
    assert_twice(&job, ",\"deduplicated\":\"d\",\"job\":[],\"warnings\":3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_job_is_printed),
        cmocka_unit_test(ends_are_told_by_the_times_that_belong_to_them),
        cmocka_unit_test(enqueued_at_is_when_the_job_became_available),
        cmocka_unit_test(a_retry_does_not_move_the_schedule),
        cmocka_unit_test(attempts_never_exceed_their_maximum),
        cmocka_unit_test(an_expired_job_says_so),
        cmocka_unit_test(results_belong_to_completed_jobs),
        cmocka_unit_test(extra_members_are_printed_as_they_stand),
        cmocka_unit_test(extra_members_never_repeat_or_replace_the_servers_own),
        cmocka_unit_test(extra_members_that_cannot_be_read_are_left_out),
        cmocka_unit_test(delay_until_shows_as_scheduled_at_too),
        cmocka_unit_test(a_schedule_taken_over_from_a_replaced_job_is_told),
        cmocka_unit_test(what_extra_members_lack_is_made_from_columns),
        cmocka_unit_test(a_timeout_that_nobody_asked_for_is_not_shown),
        cmocka_unit_test(a_retry_does_not_pass_for_a_schedule),
        cmocka_unit_test(failures_are_told_oldest_first),
        cmocka_unit_test(failures_before_a_revival_are_not_told),
        cmocka_unit_test(failures_have_a_type_and_a_code_whatever_was_reported),
        cmocka_unit_test(checkpoints_are_shown_when_there_is_one),
        cmocka_unit_test(what_a_client_sends_comes_back_byte_for_byte),
        cmocka_unit_test(what_the_library_submits_reads_as_ojs),
        cmocka_unit_test(a_reply_about_one_job_has_it_wrapped_and_flat),
        cmocka_unit_test(a_members_own_name_is_told_only_within_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
