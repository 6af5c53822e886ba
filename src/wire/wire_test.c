/* Values on the wire: what is printed comes back, and what is not understood is refused. */
#include "base/test_kit.h"
#include "wire/wire.h"

static struct pawl_span span(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

/* Prints, reads, prints again: the texts must be the same. `out` is what was read. */
static void there_and_back(const struct pawl__shape *shape, const void *in,
                           struct pawl__arena *arena, void *out)
{
    struct pawl__buf first = { 0 }, second = { 0 };
    struct pawl_diag diag = { 0 };
    pawl__wire_print(&first, shape, in);
    assert_false(first.failed);
    char *text = pawl__arena_dup(arena, first.at, first.len);
    enum pawl_err err =
        pawl__wire_read((struct pawl_span){ text, first.len }, shape, true, arena, out, &diag);
    if (err) fail_msg("%s in %s", diag.text, first.at);
    pawl__wire_print(&second, shape, out);
    assert_string_equal(first.at, second.at);
    pawl__buf_release(&first);
    pawl__buf_release(&second);
}

static struct pawl_job_id id_of(uint8_t byte)
{
    struct pawl_job_id id;
    memset(&id, byte, sizeof id);
    return id;
}

static const char *const words[] = { "red", "a \"quoted\" \xc3\xa9\n", "" };

static struct pawl_job_spec full_spec(const struct pawl_job_id *id)
{
    return (struct pawl_job_spec){
        .id = id,
        .type = "mail.send",
        .queue = "mail",
        .args = span("[1.50, {\"a\" : \"\\u00e9\"}]"),
        .meta = span("{\"m\":1e3}"),
        .extra = span("{\"x\":null}"),
        .tags = words,
        .tag_count = 3,
        .priority = -7,
        .delay_ms = 1,
        .due_at_ms = 2,
        .expires_in_ms = 3,
        .expires_at_ms = 4,
        .timeout_ms = 5,
        .lease_ms = 6,
        .sla_soft_at_ms = 7,
        .sla_hard_at_ms = 8,
        .keep_ms = INT64_MAX,
        .retry = { .attempts_max = 9,
                   .backoff = PAWL_BACKOFF_POLYNOMIAL,
                   .initial_ms = 10,
                   .coefficient = 1.1,
                   .cap_ms = 11,
                   .exponent_max = 12,
                   .jitter = PAWL_JITTER_OFF,
                   .jitter_low = 0.1,
                   .jitter_high = 1e-300,
                   .non_retryable = words,
                   .non_retryable_count = 2,
                   .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER },
        .idempotency_key = "k",
        .idempotency_ms = 13,
        .business_key = "",
        .unique = { .keys = 15,
                    .args_keys = words,
                    .args_key_count = 1,
                    .meta_keys = words,
                    .meta_key_count = 2,
                    .period_ms = 14,
                    .states = UINT32_MAX,
                    .on_conflict = PAWL_CONFLICT_IGNORE },
        .principal = "p",
        .trace_id = "t",
        .pending = true,
    };
}

static void specs_come_back_whole(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_job_id id = id_of(0xab);
    struct pawl_job_spec in = full_spec(&id);
    struct pawl__wire_op op = { .op = PAWL__WIRE_OP_SUBMIT, .jobs = &in, .job_count = 1 }, read;
    there_and_back(&pawl__wire_op_shape, &op, &arena, &read);
    const struct pawl_job_spec *out = read.jobs;
    assert_int_equal(read.op, PAWL__WIRE_OP_SUBMIT);
    assert_memory_equal(out->id, &id, sizeof id);
    assert_int_equal(out->args.len, in.args.len);
    assert_memory_equal(out->args.at, in.args.at, in.args.len);
    assert_string_equal(out->tags[1], words[1]);
    assert_string_equal(out->tags[2], "");
    assert_non_null(out->business_key); // "" is not NULL: the rules must see the difference
    assert_int_equal(out->priority, -7);
    assert_true(out->keep_ms == INT64_MAX);
    assert_true(out->retry.coefficient == 1.1 && out->retry.jitter_high == 1e-300);
    assert_int_equal(out->retry.on_exhaustion, PAWL_EXHAUSTION_DEAD_LETTER);
    assert_int_equal(out->unique.states, UINT32_MAX);
    assert_true(out->pending);
    pawl__arena_release(&arena);
}

static void absent_members_are_zero_and_never_null_where_promised(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_job job = { .id = id_of(1) };
    struct pawl_story story = { .job = job, .progress = -1 }, out;
    there_and_back(&pawl__wire_story_shape, &story, &arena, &out);
    assert_string_equal(out.job.type, "");
    assert_string_equal(out.job.worker, "");
    assert_non_null(out.job.result.at);
    assert_int_equal(out.job.result.len, 0);
    assert_true(out.progress == -1);
    assert_int_equal(out.failure_count, 0);
    struct pawl__wire_op op;
    assert_int_equal(pawl__wire_read(span("{}"), &pawl__wire_op_shape, true, &arena, &op, NULL),
                     PAWL_OK);
    assert_null(op.name);
    assert_int_equal(op.op, PAWL__WIRE_OP_NONE);
    pawl__arena_release(&arena);
}

static void stories_stats_and_answers_come_back(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_failure failure = { .run = 2,
                                    .retry_delay_ms = -1,
                                    .lapsed = true,
                                    .worker = "w",
                                    .type = "t",
                                    .code = "c",
                                    .message = "m\x01",
                                    .details = span("[]") };
    struct pawl_log_line line = { .number = 4, .at_ms = 3, .level = 2, .text = "line" };
    struct pawl_audit_entry entry = { .action = "cancel",
                                      .actor = "a",
                                      .reason = "r",
                                      .from = PAWL_STATE_ACTIVE,
                                      .to = PAWL_STATE_CANCELLED };
    struct pawl_story story = { .failures = &failure,
                                .failure_count = 1,
                                .log = &line,
                                .log_count = 1,
                                .audit = &entry,
                                .audit_count = 1,
                                .progress = 0.25,
                                .progress_message = "half",
                                .checkpoint = span("{\"at\":1}") };
    struct pawl_story told;
    there_and_back(&pawl__wire_story_shape, &story, &arena, &told);
    assert_int_equal(told.audit[0].to, PAWL_STATE_CANCELLED);
    assert_true(told.failures[0].lapsed);
    struct pawl_queue_stats queue = { .queue = "q", .paused = true, .count = { 0, 1, 2 } };
    struct pawl_stats stats = { .queues = &queue, .queue_count = 1, .count = { [11] = 5 } }, read;
    there_and_back(&pawl__wire_stats_shape, &stats, &arena, &read);
    assert_int_equal(read.queues[0].count[2], 2);
    assert_int_equal(read.count[11], 5);
    const int32_t results[] = { 0, PAWL_ERR_STALE };
    struct pawl__wire_answer answer = { .err = PAWL_ERR_DUPLICATE,
                                        .text = "taken",
                                        .results = results,
                                        .result_count = 2,
                                        .holder = { .id = id_of(7) } };
    struct pawl__wire_answer got;
    there_and_back(&pawl__wire_answer_shape, &answer, &arena, &got);
    assert_int_equal(got.err, PAWL_ERR_DUPLICATE);
    assert_int_equal(got.results[1], PAWL_ERR_STALE);
    pawl__arena_release(&arena);
}

static void flows_come_back_whole(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    const struct pawl_job_id id = id_of(3);
    const struct pawl_flow_edge edge = { .parent = "a",
                                         .on = PAWL_FLOW_ON_ALWAYS,
                                         .when = "$.n > 1",
                                         .arm = 2,
                                         .otherwise = true,
                                         .label = "l" };
    const struct pawl_flow_node nodes[] = {
        { .name = "a", .job = full_spec(&id), .may_fail = true, .callback = true },
        { .name = "b",
          .kind = PAWL_FLOW_KIND_SIGNAL,
          .group = "g",
          .after = &edge,
          .after_count = 1,
          .join = PAWL_FLOW_JOIN_N,
          .n = 1,
          .on_parent_failure = PAWL_FLOW_PARENT_FAIL,
          .select = PAWL_FLOW_SELECT_ALL,
          .unsealed = true,
          .abort_failures = 4,
          .abort_share = 0.5,
          .signal_key = "k",
          .timeout_ms = 6,
          .on_timeout = PAWL_FLOW_UNSIGNALLED_SKIP,
          .on_reject = PAWL_FLOW_UNSIGNALLED_COMPLETE,
          .payload = span("{\"p\":null}") },
    };
    struct pawl__wire_op op = { .op = PAWL__WIRE_OP_FLOW_SUBMIT }, back;
    op.flow = (struct pawl_flow_spec){ .id = &id,
                                       .name = "n",
                                       .layout = "dag",
                                       .meta = span("{}"),
                                       .nodes = nodes,
                                       .node_count = 2,
                                       .unsealed = true,
                                       .deadline_at_ms = 7,
                                       .idempotency_key = "i" };
    there_and_back(&pawl__wire_op_shape, &op, &arena, &back);
    const struct pawl_flow_node *node = &back.flow.nodes[1];
    assert_int_equal(back.flow.node_count, 2);
    assert_string_equal(node->after[0].when, "$.n > 1");
    assert_int_equal(node->after[0].arm, 2);
    assert_true(node->abort_share == 0.5);
    assert_int_equal(node->on_reject, PAWL_FLOW_UNSIGNALLED_COMPLETE);
    assert_string_equal(back.flow.nodes[0].job.type, "mail.send");
    struct pawl_flow_input inputs[] = { { .name = "a", .result = span("null") },
                                        { .name = "b", .result = span("[1]") } };
    struct pawl_flow_inputs given = { .node = "c", .at = inputs, .count = 2 }, got;
    there_and_back(&pawl__wire_flow_inputs_shape, &given, &arena, &got);
    assert_int_equal(got.at[0].result.len, 4);
    assert_string_equal(got.node, "c");
    pawl__arena_release(&arena);
}

static void wishes_that_are_not_known_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
    } bad[] = {
        { "{\"op\":\"submit\",\"jobs\":[{\"type\":\"t\",\"colour\":1}]}", "colour" },
        { "{\"op\":\"fly\"}", "op" },
        { "{\"op\":1}", "op" },
        { "{\"op\":\"complete\",\"id\":\"x\"}", "id" },
        { "{\"run\":1.5,\"op\":\"complete\"}", "run" },
        { "{\"op\":\"priority\",\"priority\":3000000000}", "priority" },
        { "{\"op\":\"extend\",\"timed\":1}", "timed" },
        { "{\"op\":\"progress\",\"value\":\"1\"}", "value" },
        { "{\"op\":\"submit\",\"jobs\":{}}", "jobs" },
        { "{\"op\":\"log\",\"run\":1,\"text\":\"a\\u0000b\"}", "text" },
        { "{\"op\":\"extend\",\"runs\":[1]}", "runs" },
        { "{\"op\":\"complete\",\"delay_ms\":1}", "delay_ms" }, // of another operation
        { "{\"delay_ms\":1,\"op\":\"complete\"}", "delay_ms" },
        { "{\"name\":\"a\"}", "name" },
        { "[]", "" },
        { "{", "" },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct pawl__arena arena = { .chunks = NULL };
        struct pawl__wire_op op;
        struct pawl_diag diag = { 0 };
        enum pawl_err err =
            pawl__wire_read(span(bad[i].text), &pawl__wire_op_shape, true, &arena, &op, &diag);
        if (err != PAWL_ERR_ARG) fail_msg("%s was taken", bad[i].text);
        assert_string_equal(diag.field, bad[i].field);
        pawl__arena_release(&arena);
    }
}

/* A list of `count` submits, all but the first with two empty jobs. */
static enum pawl_err read_many(size_t count, struct pawl_diag *diag)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__buf text = { 0 };
    struct pawl__wire_ops ops;
    pawl__buf_add_text(&text, "{\"ops\":[{}");
    for (size_t i = 1; i < count; i++) {
        pawl__buf_add_text(&text, ",{\"op\":\"submit\",\"jobs\":[{},{}]}");
    }
    pawl__buf_add_text(&text, "]}");
    assert_false(text.failed);
    struct pawl_span all = { text.at, text.len };
    enum pawl_err err = pawl__wire_read(all, &pawl__wire_ops_shape, true, &arena, &ops, diag);
    pawl__buf_release(&text);
    pawl__arena_release(&arena);
    return err;
}

static void small_requests_take_no_large_memory(void **state)
{
    (void)state;
    struct pawl_diag diag = { 0 };
    assert_int_equal(read_many(PAWL__WIRE_OPS_MAX, &diag), PAWL_OK);
    assert_int_equal(read_many(60000, &diag), PAWL_ERR_LIMIT);
    assert_string_equal(diag.field, "jobs");
    assert_int_equal(read_many(200000, &diag), PAWL_ERR_LIMIT);
    assert_string_equal(diag.field, "ops");
}

static void more_than_was_asked_for_is_skipped(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__wire_hello hello;
    const char *text = "{\"pawl\":\"9\",\"news\":[{\"a\":[1,{}]}],\"protocol\":2}";
    assert_int_equal(
        pawl__wire_read(span(text), &pawl__wire_hello_shape, false, &arena, &hello, NULL), PAWL_OK);
    assert_string_equal(hello.pawl, "9");
    assert_int_equal(hello.protocol, 2);
    pawl__arena_release(&arena);
}

static void each_operation_has_a_path(void **state)
{
    (void)state;
    for (int kind = 1; kind < PAWL__WIRE_OP_LAST; kind++) {
        enum pawl__wire_path path = pawl__wire_op_path((enum pawl__wire_op_kind)kind);
        assert_true(path <= PAWL__WIRE_PATH_ADMIN);
    }
    for (int path = 0; path < PAWL__WIRE_PATH_END; path++) {
        const char *text = pawl__wire_path_text((enum pawl__wire_path)path);
        assert_memory_equal(text, "/pawl/v1/", 9);
    }
}

static void schedules_come_back_whole(void **state)
{
    (void)state;
    static const int64_t instants[] = { 5, INT64_MAX };
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_schedule in = {
        .spec = { .name = "nightly",
                  .recurrence = { .expression = "0 9 * * *",
                                  .instants = instants,
                                  .instant_count = 2,
                                  .zone = "Europe/Berlin",
                                  .dialect = PAWL_DIALECT_QUARTZ,
                                  .gap = PAWL_GAP_SHIFT,
                                  .anchor_at_ms = 1,
                                  .start_at_ms = 2,
                                  .end_at_ms = 3 },
                  .job = full_spec(NULL),
                  .overlap = PAWL_OVERLAP_CANCEL_PREVIOUS,
                  .misfire = PAWL_MISFIRE_CATCH_UP,
                  .catch_up = 4,
                  .late_max_ms = 5,
                  .jitter_ms = 6,
                  .max_runs = 7,
                  .catch_up_paused = true,
                  .disabled = true,
                  .description = "what for",
                  .meta = span("{}") },
        .group = "app",
        .declared_at_ms = 8,
        .state = PAWL_SCHEDULE_HELD,
        .reason = "zone_missing",
        .anchor_at_ms = 9,
        .next_at_ms = 10,
        .settled_at_ms = 11,
        .last_at_ms = 12,
        .last_job = id_of(3),
        .runs = 13,
        .skips = 14,
        .queued = 15,
        .version = 16,
        .created_at_ms = 17,
        .updated_at_ms = 18,
    };
    struct pawl_schedules all = { .at = &in, .count = 1, .more = true }, out;
    there_and_back(&pawl__wire_schedules_shape, &all, &arena, &out);
    assert_true(out.more && out.count == 1);
    const struct pawl_schedule *got = &out.at[0];
    assert_true(got->spec.recurrence.instants[1] == INT64_MAX);
    assert_int_equal(got->spec.misfire, PAWL_MISFIRE_CATCH_UP);
    assert_string_equal(got->spec.job.tags[0], words[0]);
    assert_true(got->spec.catch_up_paused && got->spec.disabled && got->queued == 15);
    assert_int_equal(got->state, PAWL_SCHEDULE_HELD);
    in = (struct pawl_schedule){ .spec.name = "n" };
    there_and_back(&pawl__wire_schedules_shape, &all, &arena, &out);
    assert_string_equal(out.at[0].spec.description, "");
    assert_null(out.at[0].spec.recurrence.expression);
    assert_string_equal(out.at[0].reason, "");
    pawl__arena_release(&arena);
}

static void histories_come_back_whole(void **state)
{
    (void)state;
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_firing in = { .number = 1,
                              .at_ms = 2,
                              .kind = PAWL_FIRING_SKIPPED,
                              .skip = PAWL_SKIP_DST,
                              .first_at_ms = 3,
                              .last_at_ms = 4,
                              .count = 5,
                              .due_at_ms = 6,
                              .job = id_of(7),
                              .queued = true,
                              .cancelled = 8,
                              .reason = "dst_skip",
                              .detail = "d",
                              .actor = "ann" };
    struct pawl_firings all = { .at = &in, .count = 1 }, out;
    there_and_back(&pawl__wire_firings_shape, &all, &arena, &out);
    assert_int_equal(out.at[0].skip, PAWL_SKIP_DST);
    assert_string_equal(out.at[0].actor, "ann");
    struct pawl__wire_answer answer = { .put = { PAWL_PUT_CHANGED, 2, 3, PAWL_SCHEDULE_PAUSED },
                                        .changed = true,
                                        .ran = { id_of(9), PAWL_SKIP_OVERLAP, true, 4 } };
    struct pawl__wire_answer heard;
    there_and_back(&pawl__wire_answer_shape, &answer, &arena, &heard);
    assert_int_equal(heard.put.put, PAWL_PUT_CHANGED);
    assert_true(heard.changed && heard.ran.queued && heard.ran.at_ms == 4);
    pawl__arena_release(&arena);
}

static bool is_field(size_t offset)
{
    for (size_t i = 0; i < pawl__wire_op_shape.count; i++) {
        const struct pawl__member *field = &pawl__wire_op_shape.members[i];
        if (field->offset == offset || field->count_offset == offset) return true;
    }
    return false;
}

/* A member of struct pawl__wire_op that has no field would be left out in silence. */
static void each_member_of_a_form_travels(void **state)
{
    (void)state;
    for (int kind = 1; kind < PAWL__WIRE_OP_LAST; kind++) {
        const uint16_t *member = pawl__wire_op_shape.choices[kind];
        assert_true(*member); // an operation is about something
        for (; *member; member++) {
            assert_true(is_field(*member));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_come_back_whole),
        cmocka_unit_test(absent_members_are_zero_and_never_null_where_promised),
        cmocka_unit_test(stories_stats_and_answers_come_back),
        cmocka_unit_test(flows_come_back_whole),
        cmocka_unit_test(schedules_come_back_whole),
        cmocka_unit_test(histories_come_back_whole),
        cmocka_unit_test(wishes_that_are_not_known_are_refused_by_name),
        cmocka_unit_test(small_requests_take_no_large_memory),
        cmocka_unit_test(more_than_was_asked_for_is_skipped),
        cmocka_unit_test(each_operation_has_a_path),
        cmocka_unit_test(each_member_of_a_form_travels),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
