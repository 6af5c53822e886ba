/* Operations on the wire: the text that each becomes, and what is taken from its answer. The texts
 * are the protocol: one that changes here is not understood by servers of the same version. */
#include "base/test_kit.h"
#include "store/remote/remote.h"

#define ID "01010101-0101-0101-0101-010101010101"
#define REF .ref = { .id = { { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } }, .run = 2 }
#define JOB .id = { { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } }
#define BY .by = { .actor = "ann", .reason = "why" }
#define SPAN(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

static const char *const names[] = { "a", "b" };
static const struct pawl_run runs[] = { { JOB, .run = 2 }, { JOB, .run = 3 } };
static const struct pawl_filter filter = { .queues = names, .queue_count = 1, .archived = true };
static const struct pawl_job_spec spec = { .type = "t", .business_key = "k", .args = SPAN("[1]") };
static const struct pawl__new_job job = { JOB, .spec = &spec, .key_count = 1 };
static const struct pawl_flow_node flow_nodes[] = {
    { .name = "g", .kind = PAWL_FLOW_KIND_GROUP },
    { .name = "a", .group = "g", .job = { .type = "t", .business_key = "k", .args = SPAN("[1]") } },
};
static const struct pawl_flow_spec flow_spec = { .name = "f",
                                                 .nodes = flow_nodes,
                                                 .node_count = 2 };
static const struct pawl__flow_node flow_rows[] = { { .kind = PAWL_FLOW_KIND_GROUP },
                                                    { .kind = PAWL_FLOW_KIND_JOB } };
static const struct pawl__new_flow flow = {
    .spec = &flow_spec, .row = { JOB }, .nodes = flow_rows, .node_count = 2
};

static const struct pawl_job_spec template = { .type = "t" };
static const struct pawl__new_job template_job = { .spec = &template };
static const struct pawl__new_schedule new_schedule = {
    .plan = { .name = "n",
              .instants = SPAN("\0\0\0\0\0\0\1\2\0\0\0\0\0\0\1\3"),
              .zone = "UTC",
              .anchor_at_ms = 7,
              .overlap = PAWL_OVERLAP_QUEUE,
              .traits = PAWL__PLAN_ANCHOR_GIVEN | PAWL__PLAN_DISABLED },
    .job = &template_job,
    .options = { .dry_run = true, .group = "g", .actor = "ann" },
};

/* clang-format off */
static const struct {
    struct pawl__op op;
    const char *text;
} said[] = {
    { { .kind = PAWL__OP_SUBMIT, .submit = { .jobs = &job, .count = 1 } },
      "{\"op\":\"submit\",\"jobs\":[{\"id\":\"" ID "\",\"type\":\"t\",\"args\":[1],"
      "\"business_key\":\"k\"}]}" },
    { { .kind = PAWL__OP_SUBMIT, .submit = { .jobs = &job, .count = 1, .flow = &flow } },
      "{\"op\":\"flow_submit\",\"flow\":{\"id\":\"" ID "\",\"name\":\"f\","
      "\"nodes\":[{\"name\":\"g\",\"kind\":\"group\"},"
      "{\"name\":\"a\",\"job\":{\"id\":\"" ID "\",\"type\":\"t\",\"args\":[1],"
      "\"business_key\":\"k\"},\"group\":\"g\"}]}}" },
    { { .kind = PAWL__OP_CLAIM,
        .claim = { .queues = names, .queue_count = 2, .types = names, .type_count = 1, .limit = 3,
                   .bytes_max = 4, .worker = "w", .lease_ms = 5, .timed = true } },
      "{\"op\":\"claim\",\"claim\":{\"queues\":[\"a\",\"b\"],\"types\":[\"a\"],\"limit\":3,"
      "\"bytes_max\":4,\"worker\":\"w\",\"lease_ms\":5,\"timed\":true}}" },
    { { .kind = PAWL__OP_CLAIM,
        .claim = { .queues = names, .queue_count = 1, .limit = 3, .args_max = 7 } },
      "{\"op\":\"claim\",\"claim\":{\"queues\":[\"a\"],\"limit\":3,\"bytes_max\":21}}" },
    { { .kind = PAWL__OP_ROUTE,
        .claim = { .queues = names, .queue_count = 1, .limit = 3, .worker = "w", .lease_ms = 5 } },
      "{\"op\":\"route\",\"claim\":{\"queues\":[\"a\"],\"limit\":3,\"worker\":\"w\","
      "\"lease_ms\":5}}" },
    { { .kind = PAWL__OP_ASSIGN,
        .assign = { JOB, .worker = "w", .token = 6, .to = "v", .lease_ms = 5, .timed = true } },
      "{\"op\":\"assign\",\"id\":\"" ID "\",\"lease_ms\":5,\"timed\":true,\"name\":\"w\","
      "\"token\":6,\"owner\":\"v\"}" },
    { { .kind = PAWL__OP_UNROUTE, .assign = { JOB, .worker = "w", .token = 6 } },
      "{\"op\":\"unroute\",\"id\":\"" ID "\",\"name\":\"w\",\"token\":6}" },
    { { .kind = PAWL__OP_COMPLETE, .complete = { REF, .result = SPAN("{}") } },
      "{\"op\":\"complete\",\"id\":\"" ID "\",\"run\":2,\"data\":{}}" },
    { { .kind = PAWL__OP_FAIL,
        .fail = { REF, .report = { .type = "t", .message = "m", .requeue = true } } },
      "{\"op\":\"fail\",\"id\":\"" ID "\",\"run\":2,"
      "\"report\":{\"type\":\"t\",\"message\":\"m\",\"requeue\":true}}" },
    { { .kind = PAWL__OP_SNOOZE, .snooze = { REF, .delay_ms = 3 } },
      "{\"op\":\"snooze\",\"id\":\"" ID "\",\"run\":2,\"delay_ms\":3}" },
    { { .kind = PAWL__OP_EXTEND,
        .extend = { .refs = runs, .count = 2, .lease_ms = 5, .timed = true } },
      "{\"op\":\"extend\",\"runs\":[{\"id\":\"" ID "\",\"run\":2},{\"id\":\"" ID "\",\"run\":3}],"
      "\"lease_ms\":5,\"timed\":true}" },
    { { .kind = PAWL__OP_CONTROL, .control = { JOB, .control = PAWL_CONTROL_CANCEL, BY } },
      "{\"op\":\"control\",\"id\":\"" ID "\",\"control\":\"cancel\","
      "\"by\":{\"actor\":\"ann\",\"reason\":\"why\"}}" },
    { { .kind = PAWL__OP_CONTROL, .control = { JOB, .control = PAWL_CONTROL_CANCEL, .run = 4 } },
      "{\"op\":\"end\",\"id\":\"" ID "\",\"run\":4,\"control\":\"cancel\"}" },
    { { .kind = PAWL__OP_BULK,
        .bulk = { .filter = &filter, .control = PAWL_CONTROL_CANCEL, .limit = 5, BY } },
      "{\"op\":\"bulk\",\"control\":\"cancel\",\"filter\":{\"queues\":[\"a\"],\"archived\":true},"
      "\"limit\":5,\"by\":{\"actor\":\"ann\",\"reason\":\"why\"}}" },
    { { .kind = PAWL__OP_PRIORITY, .priority = { JOB, .priority = -3, BY } },
      "{\"op\":\"priority\",\"id\":\"" ID "\",\"by\":{\"actor\":\"ann\",\"reason\":\"why\"},"
      "\"priority\":-3}" },
    { { .kind = PAWL__OP_DELETE, .remove = { JOB, BY } },
      "{\"op\":\"delete\",\"id\":\"" ID "\",\"by\":{\"actor\":\"ann\",\"reason\":\"why\"}}" },
    { { .kind = PAWL__OP_PROGRESS,
        .progress = { REF, .value = 0.5, .message = { "half of it", 4 }, .data = SPAN("[]") } },
      "{\"op\":\"progress\",\"id\":\"" ID "\",\"run\":2,\"data\":[],\"value\":0.5,"
      "\"text\":\"half\"}" },
    { { .kind = PAWL__OP_CHECKPOINT, .checkpoint = { REF, .state = SPAN("[1]") } },
      "{\"op\":\"checkpoint\",\"id\":\"" ID "\",\"run\":2,\"data\":[1]}" },
    { { .kind = PAWL__OP_LOG, .log = { REF, .level = 3, .text = { "line\n", 4 } } },
      "{\"op\":\"log\",\"id\":\"" ID "\",\"run\":2,\"text\":\"line\",\"level\":3}" },
    { { .kind = PAWL__OP_NODE_JOIN, .node = { .name = "n", .info = "{}", .started_at_ms = 9 } },
      "{\"op\":\"node_join\",\"text\":\"{}\",\"name\":\"n\"}" },
    { { .kind = PAWL__OP_NODE_PUT, .node = { .name = "n", .info = "{}", .started_at_ms = 9 } },
      "{\"op\":\"node_put\",\"text\":\"{}\",\"name\":\"n\",\"started_at_ms\":9}" },
    { { .kind = PAWL__OP_NODE_DROP, .node = { .name = "n", .info = "{}", .started_at_ms = 9 } },
      "{\"op\":\"node_drop\",\"name\":\"n\",\"started_at_ms\":9}" },
    { { .kind = PAWL__OP_LOCK_TRY, .lock = { .name = "l", .owner = "o", .ttl_ms = 6 } },
      "{\"op\":\"lock_try\",\"name\":\"l\",\"owner\":\"o\",\"ttl_ms\":6}" },
    { { .kind = PAWL__OP_LOCK_RENEW, .lock = { .name = "l", .owner = "o", .ttl_ms = 6 } },
      "{\"op\":\"lock_renew\",\"name\":\"l\",\"owner\":\"o\",\"ttl_ms\":6}" },
    { { .kind = PAWL__OP_LOCK_RELEASE, .lock = { .name = "l", .owner = "o" } },
      "{\"op\":\"lock_release\",\"name\":\"l\",\"owner\":\"o\"}" },
    { { .kind = PAWL__OP_SETTING_PUT, .setting = { .name = "s", .value = "v" } },
      "{\"op\":\"setting_put\",\"text\":\"v\",\"name\":\"s\"}" },
    { { .kind = PAWL__OP_SETTING_PUT, .setting = { .name = "s" } },
      "{\"op\":\"setting_put\",\"name\":\"s\"}" },
    { { .kind = PAWL__OP_SCHEMA_ADD,
        .schema = &(struct pawl_args_schema){ .uri = "u", .type = "", .of_type = "t",
                                              .of_version = "1", .created_at_ms = 5,
                                              .schema = SPAN("[ ]") } },
      "{\"op\":\"schema_add\",\"schema\":{\"uri\":\"u\",\"of_type\":\"t\",\"of_version\":\"1\","
      "\"created_at_ms\":5,\"schema\":[ ]}}" },
    { { .kind = PAWL__OP_SCHEMA_DROP,
        .schema = &(struct pawl_args_schema){ .type = "t", .version = "1" } },
      "{\"op\":\"schema_drop\",\"schema\":{\"type\":\"t\",\"version\":\"1\"}}" },
    { { .kind = PAWL__OP_CONFIG_PUT,
        .config = &(struct pawl_queue_config){ .queue = "q", .rate_limit = SPAN("{}") } },
      "{\"op\":\"config_put\",\"config\":{\"queue\":\"q\",\"rate_limit\":{}}}" },
    { { .kind = PAWL__OP_CONFIG_DROP, .config = &(struct pawl_queue_config){ .queue = "q" } },
      "{\"op\":\"config_drop\",\"config\":{\"queue\":\"q\"}}" },
    { { .kind = PAWL__OP_REQUEST_NOTE, .request = { "k", "f", 6 } },
      "{\"op\":\"request_note\",\"text\":\"f\",\"name\":\"k\",\"ttl_ms\":6}" },
    { { .kind = PAWL__OP_FLOW_CONTROL,
        .flow_control = { JOB, .verb = PAWL_FLOW_CONTROL_RETRY, .nodes = &job.id, .node_count = 1,
                          .all_below = true, BY } },
      "{\"op\":\"flow_control\",\"id\":\"" ID "\","
      "\"by\":{\"actor\":\"ann\",\"reason\":\"why\"},"
      "\"verb\":\"retry\",\"nodes\":[\"" ID "\"],\"all_below\":true}" },
    { { .kind = PAWL__OP_QUEUE_PAUSE,
        .queue = { .queue = "q", .paused = true, .forgotten = true, BY } },
      "{\"op\":\"queue_pause\",\"by\":{\"actor\":\"ann\",\"reason\":\"why\"},\"name\":\"q\","
      "\"paused\":true,\"forgotten\":true}" },
    { { .kind = PAWL__OP_FLOW_SEAL, .flow_seal = { JOB, .no = 3, .group = "g" } },
      "{\"op\":\"flow_seal\",\"id\":\"" ID "\",\"name\":\"g\"}" },
    { { .kind = PAWL__OP_FLOW_SIGNAL,
        .flow_signal = { .key = "k", .kind = PAWL_FLOW_SIGNAL_REJECT, .payload = SPAN("[1]") } },
      "{\"op\":\"flow_signal\",\"data\":[1],\"name\":\"k\",\"signal\":\"reject\"}" },
    { { .kind = PAWL__OP_SCHEDULE_PUT, .schedule_put.given = &new_schedule },
      "{\"op\":\"schedule_put\",\"by\":{\"actor\":\"ann\"},\"schedules\":[{\"name\":\"n\","
      "\"recurrence\":{\"instants\":[{\"at_ms\":258},{\"at_ms\":259}],\"zone\":\"UTC\","
      "\"anchor_at_ms\":7},\"job\":{\"type\":\"t\"},\"overlap\":\"queue\",\"disabled\":true}],"
      "\"options\":{\"dry_run\":true,\"group\":\"g\"}}" },
    { { .kind = PAWL__OP_SCHEDULE_CONTROL,
        .schedule_control = { .name = "n", .control = PAWL__SCHEDULE_PAUSE, BY } },
      "{\"op\":\"schedule_pause\",\"by\":{\"actor\":\"ann\",\"reason\":\"why\"},"
      "\"name\":\"n\"}" },
    { { .kind = PAWL__OP_SCHEDULE_CONTROL,
        .schedule_control = { .name = "n", .control = PAWL__SCHEDULE_RESUME } },
      "{\"op\":\"schedule_resume\",\"name\":\"n\"}" },
    { { .kind = PAWL__OP_SCHEDULE_CONTROL,
        .schedule_control = { .name = "n", .control = PAWL__SCHEDULE_RUN, .force = true } },
      "{\"op\":\"schedule_run\",\"name\":\"n\",\"force\":true}" },
    { { .kind = PAWL__OP_SCHEDULE_DROP,
        .schedule_drop = { "n", .version = 3, .group = "g", .declared_before_ms = 4 } },
      "{\"op\":\"schedule_drop\",\"name\":\"n\",\"version\":3,\"group\":\"g\","
      "\"declared_before_ms\":4}" },
};
/* clang-format on */

static void each_is_said_with_its_own_members(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(said); i++) {
        struct pawl__arena scratch = { .chunks = NULL };
        struct pawl__buf text = { 0 };
        struct pawl__wire_op op, back;
        struct pawl_diag diag = { 0 };
        assert_int_equal(pawl__rm_op_say(&said[i].op, &scratch, &op, &diag), PAWL_OK);
        pawl__wire_print(&text, &pawl__wire_op_shape, &op);
        assert_string_equal(text.at, said[i].text);
        struct pawl_span all = { text.at, text.len };
        enum pawl_err err =
            pawl__wire_read(all, &pawl__wire_op_shape, true, &scratch, &back, &diag);
        if (err) fail_msg("%s in %s", diag.text, text.at);
        assert_int_equal(back.op, op.op);
        pawl__buf_release(&text);
        pawl__arena_release(&scratch);
    }
}

static bool is_said(enum pawl__op_kind kind)
{
    for (size_t i = 0; i < COUNT(said); i++) {
        if (said[i].op.kind == kind) return true;
    }
    return false;
}

static void the_rest_is_the_servers_or_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < PAWL__OP_END; kind++) {
        struct pawl__arena scratch = { .chunks = NULL };
        struct pawl__op op = { .kind = (enum pawl__op_kind)kind };
        struct pawl__wire_op out;
        struct pawl_diag diag = { 0 };
        if (is_said(op.kind)) {
            assert_false(pawl__rm_op_is_idle(&op));
            continue;
        }
        assert_int_equal(pawl__rm_op_say(&op, &scratch, &out, &diag), PAWL_ERR_UNSUPPORTED);
        bool refused = kind == PAWL__OP_TOKEN_PUT || kind == PAWL__OP_SCHEDULE_PUT ||
                       kind == PAWL__OP_SCHEDULE_CONTROL || kind == PAWL__OP_SCHEDULE_DROP;
        assert_true(pawl__rm_op_is_idle(&op) != refused);
        pawl__arena_release(&scratch);
    }
}

static void what_readies_jobs_is_known_by_its_kind(void **state)
{
    (void)state;
    static const enum pawl__op_kind ready[] = {
        PAWL__OP_SUBMIT,           PAWL__OP_UNROUTE,       PAWL__OP_FAIL,
        PAWL__OP_SNOOZE,           PAWL__OP_CONTROL,       PAWL__OP_BULK,
        PAWL__OP_QUEUE_PAUSE,      PAWL__OP_FLOW_SIGNAL,   PAWL__OP_FLOW_CONTROL,
        PAWL__OP_SCHEDULE_CONTROL, PAWL__OP_SCHEDULE_DROP, PAWL__OP_FLOW_SEAL,
    };
    size_t count = 0;
    for (int kind = 0; kind < PAWL__OP_END; kind++) {
        struct pawl__op op = { .kind = (enum pawl__op_kind)kind };
        count += pawl__rm_op_readies(&op);
        op.err = PAWL_ERR_STATE;
        assert_false(pawl__rm_op_readies(&op));
    }
    assert_int_equal(count, COUNT(ready));
    for (size_t i = 0; i < COUNT(ready); i++) {
        assert_true(pawl__rm_op_readies(&(struct pawl__op){ .kind = ready[i] }));
    }
}

/* Keys of which the spec says nothing cannot be made by the server. */
static void keys_that_do_not_follow_are_refused(void **state)
{
    (void)state;
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl__new_job odd = { JOB, .spec = &spec, .key_count = 2 };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT, .submit = { .jobs = &odd, .count = 1 } };
    struct pawl__wire_op out;
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl__rm_op_say(&op, &scratch, &out, &diag), PAWL_ERR_UNSUPPORTED);
    pawl__arena_release(&scratch);
}

/* An answer that has everything: each operation takes what is its own. */
static const char everything[] =
    "{\"now_ms\":1,\"submitted\":[{\"id\":\"" ID "\",\"state\":\"available\"}],"
    "\"jobs\":[{\"id\":\"" ID "\",\"type\":\"t\"},{\"id\":\"" ID "\"}],\"more\":true,"
    "\"failed\":{\"to\":\"retryable\",\"attempt\":2,\"due_at_ms\":3,\"delay_ms\":-1},"
    "\"results\":[0,0],\"from\":\"active\",\"to\":\"cancelled\",\"moved\":4,\"before\":5,"
    "\"sequence\":6,\"fence\":7,\"started_at_ms\":8,\"census\":{\"alive\":9}}";

static void read_answer(struct pawl__op *op, const char *text)
{
    struct pawl__wire_answer answer;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__wire_read((struct pawl_span){ text, strlen(text) },
                                        &pawl__wire_answer_shape, false, &op->arena, &answer,
                                        &diag);
    if (err) fail_msg("%s in %s", diag.text, text);
    pawl__rm_op_answer(op, &answer);
}

static void runs_hear_what_became_of_them(void **state)
{
    (void)state;
    struct pawl__op op = { .kind = PAWL__OP_FAIL, .err = PAWL_ERR_IO };
    read_answer(&op, everything);
    assert_int_equal(op.err, PAWL_OK);
    assert_int_equal(op.now_ms, 1);
    assert_int_equal(op.fail.to, PAWL_STATE_RETRYABLE);
    assert_int_equal(op.fail.attempt, 2);
    assert_int_equal(op.fail.due_at_ms, 3);
    assert_int_equal(op.fail.delay_ms, -1);
    pawl__arena_release(&op.arena);
    enum pawl_err results[] = { PAWL_ERR_IO, PAWL_ERR_IO };
    op = (struct pawl__op){ .kind = PAWL__OP_EXTEND,
                            .extend = { .refs = runs, .count = 2, .results = results } };
    read_answer(&op, "{\"results\":[0,9]}");
    assert_int_equal(results[0], PAWL_OK);
    assert_int_equal(results[1], 9);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_CHECKPOINT };
    read_answer(&op, everything);
    assert_int_equal(op.checkpoint.sequence, 6);
    pawl__arena_release(&op.arena);
}

static void submits_and_claims_hear_of_jobs(void **state)
{
    (void)state;
    struct pawl_submitted out[1] = { { .state = PAWL_STATE_NONE } };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = &job, .count = 1, .out = out } };
    read_answer(&op, everything);
    assert_int_equal(out[0].state, PAWL_STATE_AVAILABLE);
    assert_memory_equal(&out[0].id, &job.id, sizeof job.id);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_CLAIM };
    read_answer(&op, everything);
    assert_int_equal(op.claim.job_count, 2);
    assert_string_equal(op.claim.jobs[0].type, "t");
    assert_true(op.claim.more);
    pawl__arena_release(&op.arena);
}

static void routers_hear_of_the_job_that_was_assigned(void **state)
{
    (void)state;
    struct pawl_diag diag = { 0 };
    struct pawl__op op = { .kind = PAWL__OP_ASSIGN, .diag = &diag };
    read_answer(&op, "{\"jobs\":[{\"id\":\"" ID "\",\"type\":\"t\"}]}");
    assert_int_equal(op.err, PAWL_OK);
    assert_string_equal(op.assign.job->type, "t");
    pawl__arena_release(&op.arena);
    static const char *const odd[] = { "{}", everything };
    for (size_t i = 0; i < COUNT(odd); i++) {
        op = (struct pawl__op){ .kind = PAWL__OP_ASSIGN, .diag = &diag };
        read_answer(&op, odd[i]);
        assert_int_equal(op.err, PAWL_ERR_UNSUPPORTED);
        pawl__arena_release(&op.arena);
    }
}

static void schedules_hear_what_became_of_them(void **state)
{
    (void)state;
    struct pawl__op op = { .kind = PAWL__OP_SCHEDULE_PUT, .schedule_put.given = &new_schedule };
    read_answer(&op, "{\"put\":{\"put\":\"changed\",\"version\":2,\"state\":\"paused\"}}");
    assert_int_equal(op.schedule_put.out.put, PAWL_PUT_CHANGED);
    assert_int_equal(op.schedule_put.out.state, PAWL_SCHEDULE_PAUSED);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_SCHEDULE_CONTROL,
                            .schedule_control.control = PAWL__SCHEDULE_RUN };
    read_answer(&op, "{\"changed\":true,\"ran\":{\"skip\":\"overlap_skip\",\"at_ms\":5}}");
    assert_int_equal(op.schedule_control.ran.skip, PAWL_SKIP_OVERLAP);
    assert_false(op.schedule_control.changed); // that is the answer to another control
    pawl__arena_release(&op.arena);
    op.schedule_control.control = PAWL__SCHEDULE_PAUSE;
    read_answer(&op, "{\"changed\":true}");
    assert_true(op.schedule_control.changed);
    pawl__arena_release(&op.arena);
}

static void operators_hear_of_moves(void **state)
{
    (void)state;
    struct pawl__op op = { .kind = PAWL__OP_CONTROL };
    read_answer(&op, everything);
    assert_int_equal(op.control.from, PAWL_STATE_ACTIVE);
    assert_int_equal(op.control.to, PAWL_STATE_CANCELLED);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_BULK };
    read_answer(&op, everything);
    assert_int_equal(op.bulk.moved, 4);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_PRIORITY };
    read_answer(&op, everything);
    assert_int_equal(op.priority.before, 5);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_LOCK_TRY };
    read_answer(&op, everything);
    assert_int_equal(op.lock.fence, 7);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_LOCK_RENEW };
    read_answer(&op, everything);
    assert_int_equal(op.lock.fence, 0);
    pawl__arena_release(&op.arena);
}

static void nodes_hear_when_they_began(void **state)
{
    (void)state;
    struct pawl__op op = { .kind = PAWL__OP_NODE_JOIN };
    read_answer(&op, everything);
    assert_int_equal(op.node.started_at_ms, 8);
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_NODE_PUT, .node = { .started_at_ms = 2 } };
    read_answer(&op, everything);
    assert_int_equal(op.node.census.alive, 9);
    assert_int_equal(op.node.started_at_ms, 2);
    pawl__arena_release(&op.arena);
}

static void refusals_name_what_is_to_blame(void **state)
{
    (void)state;
    struct pawl_diag diag = { 0 };
    struct pawl__op op = { .kind = PAWL__OP_CONTROL, .diag = &diag };
    read_answer(&op, "{\"err\":\"STATE\",\"text\":\"no\",\"from\":\"active\"}");
    assert_int_equal(op.err, PAWL_ERR_STATE);
    assert_string_equal(diag.text, "no");
    assert_int_equal(op.control.from, PAWL_STATE_ACTIVE);
    pawl__arena_release(&op.arena);
    const struct pawl__new_job two[] = { job, job };
    op = (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                            .diag = &diag,
                            .submit = { .jobs = two, .count = 2 } };
    read_answer(&op, "{\"err\":\"DUPLICATE\",\"field\":\"[1].type\",\"text\":\"[1]: taken\","
                     "\"failed_index\":2,\"holder\":{\"id\":\"" ID "\"}}");
    assert_int_equal(op.err, PAWL_ERR_DUPLICATE);
    assert_int_equal(op.submit.failed_index, 1);
    assert_memory_equal(&op.submit.holder.id, &job.id, sizeof job.id);
    assert_string_equal(diag.field, "type");
    assert_string_equal(diag.text, "taken");
    pawl__arena_release(&op.arena);
    op = (struct pawl__op){ .kind = PAWL__OP_LOCK_TRY, .diag = &diag, .lock = { .fence = 3 } };
    read_answer(&op, "{\"err\":\"HELD\"}");
    assert_int_equal(op.err, PAWL_ERR_HELD);
    assert_int_equal(op.lock.fence, 3); // results are set only on success
    assert_string_equal(diag.text, pawl_err_text(PAWL_ERR_HELD));
    pawl__arena_release(&op.arena);
}

static void answers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct pawl_diag diag = { 0 };
    struct pawl_submitted out[2];
    const struct pawl__new_job two[] = { job, job };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &diag,
                           .submit = { .jobs = two, .count = 2, .out = out } };
    read_answer(&op, everything);
    assert_int_equal(op.err, PAWL_ERR_UNSUPPORTED);
    pawl__arena_release(&op.arena);
    enum pawl_err results[1];
    op = (struct pawl__op){ .kind = PAWL__OP_EXTEND,
                            .diag = &diag,
                            .extend = { .refs = runs, .count = 1, .results = results } };
    read_answer(&op, everything);
    assert_int_equal(op.err, PAWL_ERR_UNSUPPORTED);
    pawl__arena_release(&op.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_said_with_its_own_members),
        cmocka_unit_test(the_rest_is_the_servers_or_refused),
        cmocka_unit_test(what_readies_jobs_is_known_by_its_kind),
        cmocka_unit_test(keys_that_do_not_follow_are_refused),
        cmocka_unit_test(runs_hear_what_became_of_them),
        cmocka_unit_test(submits_and_claims_hear_of_jobs),
        cmocka_unit_test(routers_hear_of_the_job_that_was_assigned),
        cmocka_unit_test(schedules_hear_what_became_of_them),
        cmocka_unit_test(operators_hear_of_moves),
        cmocka_unit_test(nodes_hear_when_they_began),
        cmocka_unit_test(refusals_name_what_is_to_blame),
        cmocka_unit_test(answers_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("remote_op", tests, NULL, NULL);
}
