#include "wire/flow.h"

#include "base/diag.h"
#include "base/test_kit.h"

#include <stdio.h>

/* ---- a job: {"type", "args", "timeout", "options": {"queue", "priority"}} ---- */

#define S struct pawl_job_spec
static const struct pawl__member option_members[] = {
    PAWL__MEMBER("queue", TEXT, S, queue),
    PAWL__MEMBER("priority", INT32, S, priority),
};
static const struct pawl__shape option_shape = PAWL__SHAPE(S, option_members);

static enum pawl_err read_options(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, uint32_t token, void *base)
{
    return pawl__shape_read(reader, &option_shape, token, base);
}

static const struct pawl__member job_members[] = {
    PAWL__MEMBER("type", TEXT, S, type, .flags = PAWL__REQUIRED),
    PAWL__MEMBER("args", ARRAY, S, args),
    PAWL__MEMBER("queue", TEXT, S, queue),
    PAWL__MEMBER("timeout", DURATION, S, timeout_ms),
    PAWL__WHOLE("options", OWN, .read = read_options),
};
static const struct pawl__shape job_shape = PAWL__SHAPE(S, job_members);
#undef S

static enum pawl_err read_job(void *ctx, const char *path, struct pawl_span text,
                              struct pawl_job_spec *out, struct pawl_diag *diag)
{
    struct pawl__shape_reader reader = { .arena = ctx,
                                         .diag = diag,
                                         .unknown = PAWL__UNKNOWN_REFUSE };
    assert_int_equal(out->type == NULL, 1);
    return pawl__shape_read_text(&reader, text, PAWL_JSON_DEPTH_MAX, &job_shape, out);
}

/* ---- what was read, as text: a line for each node ---- */

static const char *word(const struct pawl__words *words, uint32_t number)
{
    assert_true(number < words->count);
    return words->at[number];
}

static void print_edge(struct pawl__buf *out, const struct pawl_flow_edge *edge)
{
    pawl__buf_printf(out, " <%s", edge->parent);
    if (edge->on) pawl__buf_printf(out, " %s", word(&pawl__flow_on_words, edge->on));
    if (edge->when) pawl__buf_printf(out, " when %s", edge->when);
    if (edge->arm) pawl__buf_printf(out, " arm %d", edge->arm);
    if (edge->otherwise) pawl__buf_add_text(out, " otherwise");
    if (edge->label) pawl__buf_printf(out, " '%s'", edge->label);
    pawl__buf_add_text(out, ">");
}

static void print_node(struct pawl__buf *out, const struct pawl_flow_node *node)
{
    pawl__buf_printf(out, "%s:", node->name);
    if (node->kind) pawl__buf_printf(out, " %s", word(&pawl__flow_kind_words, node->kind));
    if (node->job.type) pawl__buf_printf(out, " %s", node->job.type);
    if (node->job.queue) pawl__buf_printf(out, "@%s", node->job.queue);
    if (node->job.priority) pawl__buf_printf(out, " priority %d", node->job.priority);
    if (node->job.timeout_ms) pawl__buf_printf(out, " limit %d", (int)node->job.timeout_ms);
    if (node->group) pawl__buf_printf(out, " in %s", node->group);
    for (size_t i = 0; i < node->after_count; i++) {
        print_edge(out, &node->after[i]);
    }
    if (node->join) pawl__buf_printf(out, " join %s", word(&pawl__flow_join_words, node->join));
    if (node->n) pawl__buf_printf(out, " n %d", node->n);
    if (node->on_parent_failure) {
        pawl__buf_printf(out, " else %s", word(&pawl__flow_parent_words, node->on_parent_failure));
    }
    if (node->select) {
        pawl__buf_printf(out, " select %s", word(&pawl__flow_select_words, node->select));
    }
    pawl__buf_add_text(out, node->may_fail ? " may_fail" : "");
    pawl__buf_add_text(out, node->callback ? " callback" : "");
    pawl__buf_add_text(out, node->unsealed ? " unsealed" : "");
    if (node->abort_failures) pawl__buf_printf(out, " abort %d", (int)node->abort_failures);
    if (node->abort_share > 0) pawl__buf_printf(out, " share %.2f", node->abort_share);
    if (node->signal_key) pawl__buf_printf(out, " key %s", node->signal_key);
    if (node->timeout_ms) pawl__buf_printf(out, " timeout %d", (int)node->timeout_ms);
    if (node->on_timeout) {
        pawl__buf_printf(out, " late %s", word(&pawl__flow_unsignalled_words, node->on_timeout));
    }
    if (node->on_reject) {
        pawl__buf_printf(out, " reject %s", word(&pawl__flow_unsignalled_words, node->on_reject));
    }
    if (node->payload.len) {
        pawl__buf_printf(out, " payload %.*s", (int)node->payload.len, node->payload.at);
    }
    pawl__buf_add_text(out, "\n");
}

struct reading {
    struct pawl__arena arena;
    struct pawl_flow_spec spec;
    struct pawl_diag diag;
    struct pawl__buf nodes;
    enum pawl_err err;
    char *text;
};

static void read_flow(struct reading *reading, const char *text)
{
    *reading = (struct reading){ 0 };
    size_t len = strlen(text);
    reading->text = malloc(len); // its exact length, so that a sanitizer reports a byte too many
    assert_non_null(reading->text);
    memcpy(reading->text, text, len);
    struct pawl__flow_rules rules = {
        .job = read_job, .ctx = &reading->arena, .arena = &reading->arena, .now_ms = 1000
    };
    reading->err = pawl__flow_read((struct pawl_span){ reading->text, len }, &rules, &reading->spec,
                                   &reading->diag);
    for (size_t i = 0; !reading->err && i < reading->spec.node_count; i++) {
        print_node(&reading->nodes, &reading->spec.nodes[i]);
    }
}

static void release(struct reading *reading)
{
    pawl__buf_release(&reading->nodes);
    pawl__arena_release(&reading->arena);
    free(reading->text);
}

static void assert_nodes(const char *text, const char *layout, const char *nodes)
{
    struct reading reading;
    read_flow(&reading, text);
    if (reading.err) fail_msg("%s: %s", text, reading.diag.text);
    assert_string_equal(reading.nodes.at, nodes);
    assert_string_equal(reading.spec.layout ? reading.spec.layout : "", layout);
    release(&reading);
}

static void assert_refused(const char *text, enum pawl_err err, const char *field, const char *rule)
{
    struct reading reading;
    read_flow(&reading, text);
    if (!reading.err) fail_msg("%s: taken", text);
    assert_string_equal(reading.diag.text, rule);
    assert_string_equal(reading.diag.field, field);
    assert_int_equal(reading.err, err);
    release(&reading);
}

/* ---- nodes ---- */

static void nodes_have_members_of_their_own_and_those_of_a_job(void **state)
{
    assert_nodes("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"queue\":\"q\",\"timeout\":\"5s\"},"
                 "{\"name\":\"b\",\"after\":[\"a\"],\"type\":\"u\"},"
                 "{\"name\":\"c\",\"after\":\"b\",\"kind\":\"job\",\"type\":\"v\"}]}",
                 "", "a: t@q limit 5000\nb: u <a>\nc: job v <b>\n");
}

static void edges_say_when_they_are_taken(void **state)
{
    assert_nodes("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"select\":\"first\"},"
                 "{\"name\":\"b\",\"type\":\"t\",\"after\":[{\"parent\":\"a\",\"arm\":1,\"when\":"
                 "\"/result == 1\",\"label\":\"one\"},{\"parent\":\"z\",\"on\":\"failure\"}]},"
                 "{\"name\":\"c\",\"type\":\"t\",\"after\":[{\"parent\":\"a\",\"arm\":2,"
                 "\"otherwise\":true,\"on\":\"always\"}]}]}",
                 "",
                 "a: t select first\n"
                 "b: t <a when /result == 1 arm 1 'one'> <z failure>\n"
                 "c: t <a always arm 2 otherwise>\n");
}

static void control_nodes_have_no_job(void **state)
{
    assert_nodes("{\"nodes\":[{\"name\":\"g\",\"kind\":\"group\",\"unsealed\":true,"
                 "\"abort_failures\":3,\"abort_share\":0.25,\"may_fail\":true},"
                 "{\"name\":\"s\",\"kind\":\"signal\",\"after\":[\"g\"],\"timeout\":\"1h\","
                 "\"on_timeout\":\"complete\",\"on_reject\":\"skip\",\"payload\":{\"a\":1},"
                 "\"signal_key\":\"k\"},"
                 "{\"name\":\"b\",\"kind\":\"branch\",\"select\":\"all\",\"after\":[\"s\"]},"
                 "{\"name\":\"j\",\"kind\":\"join\",\"join\":\"n\",\"n\":2,\"after\":[\"b\",\"s\"],"
                 "\"on_parent_failure\":\"run\"},"
                 "{\"name\":\"m\",\"group\":\"g\",\"type\":\"t\",\"callback\":true}]}",
                 "",
                 "g: group may_fail unsealed abort 3 share 0.25\n"
                 "s: signal <g> key k timeout 3600000 late complete reject skip payload {\"a\":1}\n"
                 "b: branch <s> select all\n"
                 "j: join <b> <s> join n n 2 else run\n"
                 "m: t in g callback\n");
}

static void members_of_the_flow_are_read(void **state)
{
    struct reading reading;
    read_flow(&reading, "{\"id\":\"019a0000-0000-7000-8000-000000000001\",\"name\":\"n\","
                        "\"meta\":{\"a\":1},\"deadline\":\"+1s\",\"unsealed\":true,"
                        "\"idempotency_key\":\"k\",\"nodes\":[{\"name\":\"a\",\"type\":\"t\"}]}");
    assert_int_equal(reading.err, PAWL_OK);
    assert_non_null(reading.spec.id);
    assert_int_equal(reading.spec.id->b[15], 1);
    assert_string_equal(reading.spec.name, "n");
    assert_int_equal(reading.spec.meta.len, 7);
    assert_int_equal(reading.spec.deadline_at_ms, 2000);
    assert_true(reading.spec.unsealed);
    assert_string_equal(reading.spec.idempotency_key, "k");
    assert_null(reading.spec.layout);
    release(&reading);
}

/* ---- layouts ---- */

static void steps_of_a_chain_follow_each_other(void **state)
{
    assert_nodes("{\"type\":\"chain\",\"name\":\"c\",\"steps\":[{\"type\":\"t\"},"
                 "{\"type\":\"u\",\"id\":\"second\"},{\"type\":\"v\"}]}",
                 "chain", "0: t\nsecond: u <0 success>\n2: v <second success>\n");
    assert_nodes("{\"type\":\"chain\",\"jobs\":[{\"type\":\"t\"}]}", "chain", "0: t\n");
}

static void jobs_of_a_group_are_side_by_side(void **state)
{
    assert_nodes("{\"type\":\"group\",\"jobs\":[{\"type\":\"t\"},{\"type\":\"u\"}]}", "group",
                 "0: t\n1: u\n");
    assert_nodes("{\"type\":\"group\",\"steps\":[{\"type\":\"t\"}]}", "group", "0: t\n");
}

static void callbacks_of_a_batch_are_below_its_jobs(void **state)
{
    assert_nodes("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"},{\"type\":\"u\"}],\"callbacks\":"
                 "{\"on_failure\":{\"type\":\"f\"},\"on_success\":{\"type\":\"s\"},"
                 "\"on_complete\":{\"type\":\"c\"}}}",
                 "batch",
                 "jobs: group may_fail\n0: t in jobs\n1: u in jobs\n"
                 "on_complete: c <jobs always> join every else skip callback\n"
                 "on_success: s <jobs success> join every else skip callback\n"
                 "on_failure: f <jobs failure> join all else skip callback\n");
    assert_nodes("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{\"on_success\":"
                 "{\"type\":\"s\",\"id\":\"done\"}}}",
                 "batch",
                 "jobs: group\n0: t in jobs\n"
                 "done: s <jobs success> join every else skip callback\n");
}

static void steps_depend_on_each_other(void **state)
{
    assert_nodes("{\"name\":\"d\",\"steps\":[{\"id\":\"a\",\"type\":\"t\"},"
                 "{\"id\":\"b\",\"type\":\"t\",\"depends_on\":[\"a\"]},"
                 "{\"id\":\"c\",\"type\":\"t\",\"depends_on\":[\"a\",\"b\"]},"
                 "{\"id\":\"f\",\"type\":\"t\",\"depends_on\":[\"b\",\"c\"],"
                 "\"options\":{\"callback_type\":\"on_failure\",\"queue\":\"q\"}},"
                 "{\"id\":\"e\",\"type\":\"t\",\"depends_on\":[\"c\"],"
                 "\"callback_type\":\"on_complete\"}]}",
                 "dag",
                 "a: t\nb: t <a success>\nc: t <a success> <b success>\n"
                 "f: t@q <b failure> <c failure> join all else skip\n"
                 "e: t <c always> join every else skip\n");
}

static void options_of_the_flow_are_those_of_its_steps(void **state)
{
    assert_nodes("{\"type\":\"chain\",\"options\":{\"queue\":\"q\",\"priority\":1},\"steps\":["
                 "{\"type\":\"t\"},{\"type\":\"u\",\"options\":{\"priority\":2}},"
                 "{\"type\":\"group\",\"options\":{\"priority\":3},\"jobs\":[{\"type\":\"v\"},"
                 "{\"type\":\"w\",\"options\":{\"queue\":\"r\"}},{\"type\":\"x\",\"queue\":\"s\"}]}"
                 "]}",
                 "chain",
                 "0: t@q priority 1\n1: u@q priority 2 <0 success>\n2: group <1 success>\n"
                 "2.0: v@q priority 3 in 2\n2.1: w@r priority 3 in 2\n2.2: x@s priority 3 in 2\n");
}

static void layouts_nest_three_deep(void **state)
{
    assert_nodes("{\"type\":\"group\",\"jobs\":[{\"type\":\"chain\",\"id\":\"left\",\"steps\":["
                 "{\"type\":\"t\"},{\"type\":\"batch\",\"jobs\":[{\"type\":\"u\"}],\"callbacks\":"
                 "{\"on_complete\":{\"type\":\"c\"}}},{\"type\":\"w\"}]},"
                 "{\"steps\":[{\"id\":\"a\",\"type\":\"t\"},{\"id\":\"b\",\"type\":\"t\","
                 "\"depends_on\":[\"a\"]}]}]}",
                 "group",
                 "left: group\nleft.0: t in left\nleft.1: group in left <left.0 success>\n"
                 "left.1.jobs: group in left.1 may_fail\nleft.1.0: u in left.1.jobs\n"
                 "left.1.on_complete: c in left.1 <left.1.jobs always> join every else skip "
                 "callback\n"
                 "left.2: w in left <left.1 success>\n"
                 "1: group\n1.a: t in 1\n1.b: t in 1 <1.a success>\n");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"chain\",\"steps\":[{\"type\":"
                   "\"chain\",\"steps\":[{\"type\":\"t\"},{\"type\":\"chain\",\"steps\":[{\"type\":"
                   "\"t\"}]}]}]}]}",
                   PAWL_ERR_LIMIT, "steps[0].steps[0].steps[1]",
                   "\"steps[0].steps[0].steps[1]\" is nested deeper than 3 levels");
}

/* ---- refusals ---- */

static void what_is_no_flow_is_refused(void **state)
{
    assert_refused("[]", PAWL_ERR_ARG, "", "a flow must be a JSON object");
    assert_refused("{", PAWL_ERR_ARG, "", "not valid JSON: the text ends too early at byte 1");
    assert_refused("{}", PAWL_ERR_ARG, "nodes",
                   "\"nodes\" or \"steps\" is missing, or \"type\" and \"jobs\"");
    assert_refused("{\"jobs\":[{\"type\":\"t\"}]}", PAWL_ERR_ARG, "nodes",
                   "\"nodes\" or \"steps\" is missing, or \"type\" and \"jobs\"");
    assert_refused("{\"nodes\":[]}", PAWL_ERR_ARG, "nodes", "\"nodes\" must not be empty");
    assert_refused("{\"nodes\":{}}", PAWL_ERR_ARG, "nodes", "\"nodes\" must be an array");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\"}],\"steps\":[1]}", PAWL_ERR_ARG,
                   "nodes", "\"nodes\" cannot stand beside steps, jobs or callbacks");
    assert_refused("{\"nodes\":[1],\"type\":\"dag\"}", PAWL_ERR_ARG, "type",
                   "\"type\" is for steps and jobs, not for nodes");
    assert_refused("{\"nodes\":[1],\"options\":{}}", PAWL_ERR_ARG, "options",
                   "\"options\" is for steps and jobs, not for nodes");
    assert_refused("{\"node\":[]}", PAWL_ERR_ARG, "node",
                   "\"node\" is not a known member; did you mean \"nodes\"?");
    assert_refused("{\"id\":\"x\",\"nodes\":[1]}", PAWL_ERR_ARG, "id", "\"id\" must be a UUID");
}

static void wrong_nodes_are_named(void **state)
{
    assert_refused("{\"nodes\":[1]}", PAWL_ERR_ARG, "nodes[0]", "\"nodes[0]\" must be an object");
    assert_refused("{\"nodes\":[{\"type\":\"t\"}]}", PAWL_ERR_ARG, "nodes[0].name",
                   "\"nodes[0].name\" is missing");
    assert_refused("{\"nodes\":[{\"name\":\"a\"}]}", PAWL_ERR_ARG, "nodes[0].type",
                   "nodes[0]: \"type\" is missing");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"args\":5}]}", PAWL_ERR_ARG,
                   "nodes[0].args", "nodes[0]: \"args\" must be an array");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"kind\":\"brunch\"}]}", PAWL_ERR_ARG,
                   "nodes[0].kind",
                   "\"nodes[0].kind\" must be job, group, branch, join or signal, not \"brunch\"");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"kind\":\"join\",\"type\":\"t\"}]}", PAWL_ERR_ARG,
                   "nodes[0].type", "\"nodes[0].type\" is not for a node of this kind");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"kind\":\"join\",\"jion\":\"any\"}]}",
                   PAWL_ERR_ARG, "nodes[0].jion",
                   "\"nodes[0].jion\" is not for a node of this kind; did you mean \"join\"?");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"kind\":\"join\",\"unsealed\":true}]}",
                   PAWL_ERR_ARG, "nodes[0].unsealed",
                   "\"nodes[0].unsealed\" is not for a node of this kind");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"kind\":\"join\",\"join\":\"some\"}]}",
                   PAWL_ERR_ARG, "nodes[0].join",
                   "\"nodes[0].join\" must be all, every, any or n, not \"some\"");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"n\":0}]}", PAWL_ERR_ARG,
                   "nodes[0].n", "\"nodes[0].n\" must be a whole number from 1 to 2147483647");
}

static void wrong_edges_are_named(void **state)
{
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":5}]}", PAWL_ERR_ARG,
                   "nodes[0].after", "\"nodes[0].after\" must be a name or an array");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":[\"b\",5]}]}",
                   PAWL_ERR_ARG, "nodes[0].after[1]", "\"nodes[0].after[1]\" must be an object");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":[{}]}]}", PAWL_ERR_ARG,
                   "nodes[0].after[0].parent", "\"nodes[0].after[0].parent\" is missing");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":[{\"parent\":\"b\","
                   "\"on\":\"never\"}]}]}",
                   PAWL_ERR_ARG, "nodes[0].after[0].on",
                   "\"nodes[0].after[0].on\" must be success, failure or always, not \"never\"");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":[{\"parent\":\"b\","
                   "\"arm\":0}]}]}",
                   PAWL_ERR_ARG, "nodes[0].after[0].arm",
                   "\"nodes[0].after[0].arm\" must be a whole number from 1 to 2147483647");
    assert_refused("{\"nodes\":[{\"name\":\"a\",\"type\":\"t\",\"after\":[{\"parent\":\"b\","
                   "\"if\":\"x\"}]}]}",
                   PAWL_ERR_ARG, "nodes[0].after[0]", "\"nodes[0].after[0]\" has no member \"if\"");
}

static void wrong_layouts_are_named(void **state)
{
    assert_refused("{\"type\":\"circle\",\"steps\":[1]}", PAWL_ERR_ARG, "type",
                   "\"type\" must be chain, group, batch or dag");
    assert_refused("{\"type\":\"chain\",\"steps\":[]}", PAWL_ERR_ARG, "steps",
                   "\"steps\" must not be empty");
    assert_refused("{\"type\":\"chain\"}", PAWL_ERR_ARG, "steps", "\"steps\" is missing");
    assert_refused("{\"type\":\"group\",\"jobs\":[]}", PAWL_ERR_ARG, "jobs",
                   "\"jobs\" must not be empty");
    assert_refused("{\"type\":\"group\"}", PAWL_ERR_ARG, "jobs", "\"jobs\" is missing");
    assert_refused("{\"type\":\"group\",\"jobs\":[{\"type\":\"t\"}],\"steps\":[1]}", PAWL_ERR_ARG,
                   "jobs", "\"jobs\" cannot stand beside steps");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"args\":[]}]}", PAWL_ERR_ARG, "steps[0].type",
                   "steps[0]: \"type\" is missing");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"t\",\"id\":\"\"}]}", PAWL_ERR_ARG,
                   "steps[0].id", "\"steps[0].id\" must have 1 to 128 bytes");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"t\",\"options\":5}]}", PAWL_ERR_ARG,
                   "steps[0].options", "\"steps[0].options\" must be an object");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"t\",\"depends_on\":[\"x\"]}]}",
                   PAWL_ERR_ARG, "steps[0].depends_on",
                   "\"steps[0].depends_on\" is for steps of a dag");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"t\"}],\"callbacks\":{}}",
                   PAWL_ERR_ARG, "callbacks", "\"callbacks\" is for a batch");
    assert_refused("{\"type\":\"chain\",\"steps\":[{\"type\":\"group\",\"jobs\":[]}]}",
                   PAWL_ERR_ARG, "steps[0].jobs", "\"steps[0].jobs\" must not be empty");
    assert_refused("{\"steps\":[{\"id\":\"a\",\"type\":\"t\",\"callback_type\":\"on_success\"}]}",
                   PAWL_ERR_ARG, "steps[0].callback_type",
                   "\"steps[0].callback_type\" needs depends_on");
    assert_refused("{\"steps\":[{\"id\":\"a\",\"type\":\"t\",\"callback_type\":\"on_monday\"}]}",
                   PAWL_ERR_ARG, "steps[0].callback_type",
                   "\"steps[0].callback_type\" must be on_complete, on_success or on_failure");
}

static void wrong_callbacks_are_named(void **state)
{
    static const char rule[] =
        "\"callbacks\" must have on_complete, on_success or on_failure, nothing else";
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}]}", PAWL_ERR_ARG, "callbacks",
                   "\"callbacks\" is missing");
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{}}",
                   PAWL_ERR_ARG, "callbacks", rule);
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{\"on_success\":"
                   "{\"type\":\"t\"},\"on_monday\":{\"type\":\"t\"}}}",
                   PAWL_ERR_ARG, "callbacks", rule);
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{\"on_success\":"
                   "null}}",
                   PAWL_ERR_ARG, "callbacks", rule);
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{\"on_success\":"
                   "5}}",
                   PAWL_ERR_ARG, "callbacks.on_success",
                   "\"callbacks.on_success\" must be an object");
    assert_refused("{\"type\":\"batch\",\"jobs\":[{\"type\":\"t\"}],\"callbacks\":{\"on_success\":"
                   "{}}}",
                   PAWL_ERR_ARG, "callbacks.on_success.type",
                   "callbacks.on_success: \"type\" is missing");
}

static void nodes_are_counted(void **state)
{
    struct pawl__buf text = { 0 };
    pawl__buf_add_text(&text, "{\"type\":\"group\",\"jobs\":[{\"type\":\"t\"}");
    for (int i = 1; i < PAWL_FLOW_NODES_MAX; i++) {
        pawl__buf_add_text(&text, ",{\"type\":\"t\"}");
    }
    size_t len = text.len;
    pawl__buf_add_text(&text, "]}");
    struct reading reading;
    read_flow(&reading, text.at);
    assert_int_equal(reading.err, PAWL_OK);
    assert_int_equal(reading.spec.node_count, PAWL_FLOW_NODES_MAX);
    assert_string_equal(reading.spec.nodes[9999].name, "9999");
    release(&reading);
    text.len = len;
    pawl__buf_add_text(&text, ",{\"type\":\"t\"}]}");
    assert_refused(text.at, PAWL_ERR_LIMIT, "", "a flow has at most 10000 nodes");
    pawl__buf_release(&text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_members_of_their_own_and_those_of_a_job),
        cmocka_unit_test(edges_say_when_they_are_taken),
        cmocka_unit_test(control_nodes_have_no_job),
        cmocka_unit_test(members_of_the_flow_are_read),
        cmocka_unit_test(steps_of_a_chain_follow_each_other),
        cmocka_unit_test(jobs_of_a_group_are_side_by_side),
        cmocka_unit_test(callbacks_of_a_batch_are_below_its_jobs),
        cmocka_unit_test(steps_depend_on_each_other),
        cmocka_unit_test(options_of_the_flow_are_those_of_its_steps),
        cmocka_unit_test(layouts_nest_three_deep),
        cmocka_unit_test(what_is_no_flow_is_refused),
        cmocka_unit_test(wrong_nodes_are_named),
        cmocka_unit_test(wrong_edges_are_named),
        cmocka_unit_test(wrong_layouts_are_named),
        cmocka_unit_test(wrong_callbacks_are_named),
        cmocka_unit_test(nodes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
