/* Tests plans: numbers for names, and flows that cannot be. */
#include "flow/flow.h"

#include "base/test_kit.h"

#define AFTER(...)                                                                                 \
    .after = (const struct pawl_flow_edge[]){ __VA_ARGS__ },                                       \
    .after_count = sizeof((const struct pawl_flow_edge[]){ __VA_ARGS__ }) /                        \
                   sizeof(struct pawl_flow_edge)
#define NODES(...)                                                                                 \
    {                                                                                              \
        .nodes = (const struct pawl_flow_node[]){ __VA_ARGS__ },                                   \
        .node_count = sizeof((const struct pawl_flow_node[]){ __VA_ARGS__ }) /                     \
                      sizeof(struct pawl_flow_node)                                                \
    }
#define GROUP(its_name)                                                                            \
    {                                                                                              \
        .name = (its_name), .kind = PAWL_FLOW_KIND_GROUP                                           \
    }

static void names_become_numbers(void **state)
{
    const struct pawl_flow_spec spec =
        NODES({ .name = "last", AFTER({ .parent = "batch", .on = PAWL_FLOW_ON_ALWAYS }) },
              { .name = "batch", .kind = PAWL_FLOW_KIND_GROUP, AFTER({ .parent = "first" }) },
              { .name = "one", .group = "batch" },
              { .name = "two", .group = "batch", AFTER({ .parent = "one" }, { .parent = "one" }) },
              { .name = "first" });
    struct pawl__arena arena = { 0 };
    struct pawl__flow_plan plan;
    struct pawl_diag diag;
    assert_int_equal(PAWL_OK, pawl__flow_plan_make(&spec, NULL, &arena, &plan, &diag));
    assert_int_equal(5, plan.place_count);
    assert_int_equal(5, plan.link_count); // one edge was named twice; two lead to members
    static const int32_t links[][2] = { { 2, 1 }, { 2, 3 }, { 2, 4 }, { 3, 4 }, { 5, 2 } };
    for (size_t i = 0; i < COUNT(links); i++) {
        assert_int_equal(links[i][0], plan.links[i].parent);
        assert_int_equal(links[i][1], plan.links[i].child);
    }
    assert_non_null(plan.links[0].from);
    assert_null(plan.links[1].from);
    assert_int_equal(2, plan.places[1].members);
    assert_int_equal(2, plan.places[2].group);
    assert_false(plan.places[2].open);
    assert_true(plan.places[4].open);
    assert_int_equal(1, plan.places[3].parents);
    pawl__arena_release(&arena);
}

static void what_is_no_flow_is_refused(void **state)
{
    const struct {
        struct pawl_flow_spec spec;
        const char *field, *text;
    } rows[] = {
        { { .node_count = 0 }, "nodes", "a flow has at least one node" },
        { NODES({ .name = "" }), "name", "node [0] has no name" },
        { NODES({ .name = "a" }, { .name = "a" }), "name", "two nodes are named \"a\"" },
        { NODES({ .name = "a", AFTER({ .parent = "x" }) }), "parent",
          "node \"a\": there is no node \"x\"" },
        { NODES({ .name = "a", AFTER({ .parent = NULL }) }), "parent",
          "node \"a\": there is no node \"\"" },
        { NODES({ .name = "a", AFTER({ .parent = "a" }) }), "parent",
          "node \"a\": it cannot come after itself" },
        { NODES({ .name = "a", AFTER({ .parent = "b" }) },
                { .name = "b", AFTER({ .parent = "a" }) }),
          "parent", "node \"a\": its parents form a cycle" },
        { NODES({ .name = "a", .group = "g" }), "group", "node \"a\": there is no group \"g\"" },
        { NODES({ .name = "a", .group = "b" }, { .name = "b" }), "group",
          "node \"a\": there is no group \"b\"" },
        { NODES({ .name = "a", .group = "g" }, GROUP("g"),
                { .name = "b", AFTER({ .parent = "a" }) }),
          "parent", "node \"b\": node \"a\" is in another group" },
        { NODES({ .name = "g", .kind = PAWL_FLOW_KIND_GROUP, .group = "g" }), "group",
          "node \"g\": groups are in a circle, or more than 3 deep" },
        { NODES({ .name = "a", .join = PAWL_FLOW_JOIN_N, .n = 2, AFTER({ .parent = "b" }) },
                { .name = "b" }),
          "n", "node \"a\": n must be between 1 and 1, the number of its edges" },
        { NODES({ .name = "a", .n = 1 }), "n", "node \"a\": n is for the join rule \"n\"" },
        { NODES({ .name = "a", AFTER({ .parent = "b", .arm = 1 }) }, { .name = "b" }), "arm",
          "node \"a\": node \"b\" makes no choice" },
        { NODES({ .name = "a",
                  AFTER({ .parent = "b" }, { .parent = "b", .on = PAWL_FLOW_ON_ALWAYS }) },
                { .name = "b" }),
          "parent", "node \"a\": two edges from \"b\" differ" },
        { NODES({ .name = "g", .kind = PAWL_FLOW_KIND_GROUP, .job.type = "work" }), "job",
          "node \"g\": is not a job" },
        { NODES({ .name = "a", .job.pending = true }), "pending",
          "node \"a\": its flow decides when it is held" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl__arena arena = { 0 };
        struct pawl__flow_plan plan;
        struct pawl_diag diag = { 0 };
        assert_int_equal(PAWL_ERR_ARG,
                         pawl__flow_plan_make(&rows[i].spec, NULL, &arena, &plan, &diag));
        assert_string_equal(rows[i].field, diag.field);
        assert_string_equal(rows[i].text, diag.text);
        pawl__arena_release(&arena);
    }
}

static void groups_may_be_nested_three_deep(void **state)
{
    struct pawl_flow_node nodes[] = { { .name = "a", .group = "3" },
                                      GROUP("1"),
                                      { .name = "2", .kind = PAWL_FLOW_KIND_GROUP, .group = "1" },
                                      { .name = "3", .kind = PAWL_FLOW_KIND_GROUP, .group = "2" },
                                      { .name = "4", .kind = PAWL_FLOW_KIND_GROUP, .group = "3" } };
    struct pawl_flow_spec spec = { .nodes = nodes, .node_count = 4 };
    struct pawl__arena arena = { 0 };
    struct pawl__flow_plan plan;
    assert_int_equal(PAWL_OK, pawl__flow_plan_make(&spec, NULL, &arena, &plan, NULL));
    nodes[0].group = "4";
    spec.node_count = 5;
    assert_int_equal(PAWL_ERR_ARG, pawl__flow_plan_make(&spec, NULL, &arena, &plan, NULL));
    pawl__arena_release(&arena);
}

static void too_many_are_refused(void **state)
{
    struct pawl_flow_spec spec = { .nodes = NULL, .node_count = PAWL_FLOW_NODES_MAX + 1 };
    struct pawl__arena arena = { 0 };
    struct pawl__flow_plan plan;
    spec.nodes = calloc(spec.node_count, sizeof *spec.nodes);
    assert_non_null(spec.nodes);
    assert_int_equal(PAWL_ERR_LIMIT, pawl__flow_plan_make(&spec, NULL, &arena, &plan, NULL));
    free((void *)spec.nodes);
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_numbers),
        cmocka_unit_test(what_is_no_flow_is_refused),
        cmocka_unit_test(groups_may_be_nested_three_deep),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
