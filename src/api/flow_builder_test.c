/* Building flows, and submitting them to a real store in memory. */
#include "api/test_kit.h"

#include <pawl/flow_builder.h>

static const struct pawl_job_spec a = { .type = "a" }, b = { .type = "b" }, c = { .type = "c" };

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static struct pawl_flow_builder *begin(void)
{
    struct pawl_flow_builder *builder = pawl_flow_builder_new("built");
    assert_non_null(builder);
    return builder;
}

static void assert_edge(const struct pawl_flow_node *child, size_t at, const char *parent)
{
    assert_true(at < child->after_count);
    assert_string_equal(child->after[at].parent, parent);
}

static void chain_is_edges_from_step_to_step(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_flow_spec spec;
    int32_t step = pawl_flow_builder_job(builder, &a);
    step = pawl_flow_builder_then(builder, step, &b);
    step = pawl_flow_builder_then(builder, step, &c);
    assert_int_equal(step, 3);
    assert_string_equal(pawl_flow_builder_name(builder, 2), "b-2");
    assert_null(pawl_flow_builder_name(builder, 4));
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag));
    assert_string_equal(spec.name, "built");
    assert_int_equal(spec.node_count, 3);
    assert_int_equal(spec.nodes[0].after_count, 0);
    assert_edge(&spec.nodes[1], 0, "a-1");
    assert_edge(&spec.nodes[2], 0, "b-2");
    pawl_flow_builder_free(builder);
}

static void own_edges_come_before_those_added_later(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_flow_spec spec;
    const struct pawl_flow_edge own = { .parent = "first", .on = PAWL_FLOW_ON_ALWAYS };
    (void)pawl_flow_builder_node(builder, &(struct pawl_flow_node){ .name = "first", .job = a });
    int32_t second = pawl_flow_builder_job(builder, &b);
    int32_t third = pawl_flow_builder_node(
        builder, &(struct pawl_flow_node){ .job = c, .after = &own, .after_count = 1 });
    pawl_flow_builder_after(builder, third, second);
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag));
    assert_int_equal(spec.nodes[2].after_count, 2);
    assert_edge(&spec.nodes[2], 0, "first");
    assert_int_equal(spec.nodes[2].after[0].on, PAWL_FLOW_ON_ALWAYS);
    assert_edge(&spec.nodes[2], 1, "b-2");
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag)); // again: the same
    assert_int_equal(spec.nodes[2].after_count, 2);
    pawl_flow_builder_free(builder);
}

static void batch_is_a_group_with_callbacks(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_flow_spec spec;
    struct pawl_job_spec jobs[40];
    for (size_t i = 0; i < COUNT(jobs); i++) {
        jobs[i] = a;
    }
    int32_t group = pawl_flow_builder_batch(builder, jobs, COUNT(jobs));
    int32_t call = pawl_flow_builder_callback(builder, group, PAWL_FLOW_ON_FAILURE, &b);
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag));
    assert_int_equal(spec.node_count, COUNT(jobs) + 2);
    assert_int_equal(spec.nodes[group - 1].kind, PAWL_FLOW_KIND_GROUP);
    assert_string_equal(spec.nodes[1].group, spec.nodes[group - 1].name);
    assert_string_equal(spec.nodes[COUNT(jobs)].group, spec.nodes[group - 1].name);
    const struct pawl_flow_node *callback = &spec.nodes[call - 1];
    assert_null(callback->group);
    assert_true(callback->callback);
    assert_int_equal(callback->after[0].on, PAWL_FLOW_ON_FAILURE);
    assert_int_equal(callback->on_parent_failure, PAWL_FLOW_PARENT_SKIP);
    pawl_flow_builder_free(builder);
}

static void arms_are_numbered_and_the_last_may_be_the_default(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_flow_spec spec;
    int32_t first = pawl_flow_builder_job(builder, &a);
    int32_t branch = pawl_flow_builder_branch(builder, first, PAWL_FLOW_SELECT_FIRST);
    (void)pawl_flow_builder_arm(builder, branch, "/result > 5", &b);
    (void)pawl_flow_builder_arm(builder, branch, NULL, &c);
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag));
    assert_int_equal(spec.nodes[2].after[0].arm, 1);
    assert_string_equal(spec.nodes[2].after[0].when, "/result > 5");
    assert_int_equal(spec.nodes[3].after[0].arm, 2);
    assert_true(spec.nodes[3].after[0].otherwise);
    pawl_flow_builder_free(builder);
}

static void first_error_stays_and_is_reported_by_submit(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_job_id id;
    int32_t first = pawl_flow_builder_job(builder, &a);
    pawl_flow_builder_after(builder, first, 7);
    assert_int_equal(pawl_flow_builder_then(builder, first, &b), 0);
    pawl_flow_builder_enter(builder, first);
    struct pawl_diag diag = { .text = "" };
    assert_int_equal(pawl_flow_builder_submit(desk(state), builder, &id, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, "there is no node 7: there are 1");
    assert_int_equal(pawl_flow_builder_submit(desk(state), NULL, &id, &diag), PAWL_ERR_NOMEM);
    pawl_flow_builder_free(builder);
    pawl_flow_builder_free(NULL);
}

static void only_branches_have_arms_and_only_groups_members(void **state)
{
    struct pawl_flow_spec spec;
    struct pawl_diag diag = { .text = "" };
    struct pawl_flow_builder *builder = begin();
    int32_t first = pawl_flow_builder_job(builder, &a);
    assert_int_equal(pawl_flow_builder_arm(builder, first, NULL, &b), 0);
    assert_int_equal(pawl_flow_builder_spec(builder, &spec, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, "node \"a-1\" is not a branch");
    pawl_flow_builder_free(builder);
    builder = begin();
    first = pawl_flow_builder_job(builder, &a);
    pawl_flow_builder_enter(builder, first);
    assert_int_equal(pawl_flow_builder_spec(builder, &spec, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, "node \"a-1\" is not a group");
    pawl_flow_builder_free(builder);
}

static void one_node_too_many_is_refused(void **state)
{
    struct pawl_flow_spec spec;
    struct pawl_flow_builder *builder = begin();
    for (int i = 0; i < PAWL_FLOW_NODES_MAX; i++) {
        assert_int_equal(pawl_flow_builder_job(builder, &a), i + 1);
    }
    KIT_OK(pawl_flow_builder_spec(builder, &spec, &diag));
    assert_int_equal(pawl_flow_builder_job(builder, &a), 0);
    assert_int_equal(pawl_flow_builder_spec(builder, &spec, NULL), PAWL_ERR_LIMIT);
    pawl_flow_builder_free(builder);
}

static void built_flow_is_submitted_twice_as_two_flows(void **state)
{
    struct pawl_flow_builder *builder = begin();
    struct pawl_job_id one, two;
    int32_t group = pawl_flow_builder_group(builder);
    pawl_flow_builder_enter(builder, group);
    int32_t inner = pawl_flow_builder_job(builder, &a);
    (void)pawl_flow_builder_then(builder, inner, &b);
    pawl_flow_builder_enter(builder, 0);
    (void)pawl_flow_builder_then(builder, group, &c);
    KIT_OK(pawl_flow_builder_submit(desk(state), builder, &one, &diag));
    KIT_OK(pawl_flow_builder_submit(desk(state), builder, &two, &diag));
    assert_memory_not_equal(&one, &two, sizeof one);
    pawl_flow_builder_free(builder);
    struct pawl_flow_nodes nodes = { .at = NULL };
    KIT_OK(pawl_flow_nodes_get(desk(state), two, &nodes, &diag));
    assert_int_equal(nodes.count, 4);
    assert_int_equal(nodes.at[1].group, 1);
    assert_int_equal(nodes.at[1].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(nodes.at[2].state, PAWL_STATE_PENDING);
    assert_int_equal(nodes.at[3].pending, 1);
    pawl_flow_nodes_release(&nodes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chain_is_edges_from_step_to_step),
        TEST(own_edges_come_before_those_added_later),
        TEST(batch_is_a_group_with_callbacks),
        TEST(arms_are_numbered_and_the_last_may_be_the_default),
        TEST(first_error_stays_and_is_reported_by_submit),
        TEST(only_branches_have_arms_and_only_groups_members),
        TEST(one_node_too_many_is_refused),
        TEST(built_flow_is_submitted_twice_as_two_flows),
    };
    return cmocka_run_group_tests_name("api/flow_builder", tests, NULL, NULL);
}
