/* Nodes and locks, through a real store in memory. */
#include "api/test_kit.h"

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static void nodes_elsewhere_are_noted_and_dropped(void **state)
{
    struct pawl *pawl = desk(state);
    struct pawl_node node = { .name = "far", .info = "php 8", .started_at_ms = 5 };
    struct pawl_nodes nodes = { .at = NULL };
    KIT_OK(pawl_node_put(pawl, &node, NULL, &diag));
    KIT_OK(pawl_nodes_get(pawl, &nodes, &diag));
    assert_int_equal(nodes.count, 1);
    assert_string_equal(nodes.at[0].name, "far");
    assert_string_equal(nodes.at[0].info, "php 8");
    assert_int_equal(nodes.at[0].started_at_ms, 5);
    assert_int_equal(nodes.at[0].heartbeat_at_ms, KIT_NOW_MS);
    pawl_nodes_release(&nodes);
    KIT_OK(pawl_node_drop(pawl, "far", 0, &diag));
    KIT_FAILS(pawl_node_drop(pawl, "far", 0, &diag), PAWL_ERR_NOT_FOUND, "");
    KIT_OK(pawl_nodes_get(pawl, &nodes, &diag));
    assert_int_equal(nodes.count, 0);
    pawl_nodes_release(&nodes);
    node.info = NULL;
    KIT_OK(pawl_node_put(pawl, &node, NULL, &diag));
    node.name = "";
    KIT_FAILS(pawl_node_put(pawl, &node, NULL, &diag), PAWL_ERR_ARG, "name");
    node = (struct pawl_node){ .name = "far", .info = "a\nb" };
    KIT_FAILS(pawl_node_put(pawl, &node, NULL, &diag), PAWL_ERR_ARG, "info");
    node = (struct pawl_node){ .name = "far", .started_at_ms = -1 };
    KIT_FAILS(pawl_node_put(pawl, &node, NULL, &diag), PAWL_ERR_ARG, "started_at_ms");
    KIT_FAILS(pawl_node_drop(pawl, NULL, 0, &diag), PAWL_ERR_ARG, "name");
    KIT_FAILS(pawl_node_drop(pawl, "far", -1, &diag), PAWL_ERR_ARG, "started_at_ms");
}

static void lock_arguments_keep_their_rules(void **state)
{
    char *name = kit_repeat("n", 128), *name_outside = kit_repeat("n", 129);
    char *owner = kit_repeat("o", 255), *owner_outside = kit_repeat("o", 256);
    const struct {
        const char *name, *owner;
        int64_t ttl_ms;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { name, owner, 1, PAWL_OK, "" },
        { name_outside, owner, 1, PAWL_ERR_LIMIT, "name" },
        { "", owner, 1, PAWL_ERR_ARG, "name" },
        { NULL, owner, 1, PAWL_ERR_ARG, "name" },
        { "a\nb", owner, 1, PAWL_ERR_ARG, "name" },
        { name, owner_outside, 1, PAWL_ERR_LIMIT, "owner" },
        { name, "", 1, PAWL_ERR_ARG, "owner" },
        { name, NULL, 1, PAWL_ERR_ARG, "owner" },
        { name, owner, 0, PAWL_ERR_ARG, "ttl_ms" },
        { name, owner, -1, PAWL_ERR_ARG, "ttl_ms" },
        { name, owner, INT64_C(3155760000000), PAWL_OK, "" },
        { name, owner, INT64_C(3155760000001), PAWL_ERR_ARG, "ttl_ms" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_diag diag = { .err = PAWL_OK };
        enum pawl_err err =
            pawl_lock_try(desk(state), rows[i].name, rows[i].owner, rows[i].ttl_ms, NULL, &diag);
        if (err != rows[i].err) print_error("row %zu: %s\n", i, diag.text);
        assert_int_equal(err, rows[i].err);
        assert_string_equal(diag.field, rows[i].field);
        diag = (struct pawl_diag){ .err = PAWL_OK };
        err = pawl_lock_renew(desk(state), rows[i].name, rows[i].owner, rows[i].ttl_ms, &diag);
        assert_int_equal(err, rows[i].err);
        assert_string_equal(diag.field, rows[i].field);
    }
    KIT_FAILS(pawl_lock_release(desk(state), "", "o", &diag), PAWL_ERR_ARG, "name");
    KIT_FAILS(pawl_lock_release(desk(state), "n", "", &diag), PAWL_ERR_ARG, "owner");
    free(name);
    free(name_outside);
    free(owner);
    free(owner_outside);
}

static void lock_has_one_owner_and_a_growing_fence(void **state)
{
    struct kit *kit = *state;
    int64_t first = 0, second = 0, refused = -7;
    KIT_OK(pawl_lock_try(kit->pawl, "leader", "a", 1000, &first, &diag));
    assert_int_equal(pawl_lock_try(kit->pawl, "leader", "b", 1000, &refused, NULL), PAWL_ERR_HELD);
    assert_int_equal(refused, -7);
    assert_int_equal(pawl_lock_renew(kit->pawl, "leader", "b", 1000, NULL), PAWL_ERR_STALE);
    assert_int_equal(pawl_lock_release(kit->pawl, "leader", "b", NULL), PAWL_ERR_STALE);
    KIT_OK(pawl_lock_renew(kit->pawl, "leader", "a", 5000, &diag));
    kit->now_ms += 4999;
    assert_int_equal(pawl_lock_try(kit->pawl, "leader", "b", 1000, NULL, NULL), PAWL_ERR_HELD);
    kit->now_ms += 2;
    KIT_OK(pawl_lock_try(kit->pawl, "leader", "b", 1000, &second, &diag));
    assert_true(second > first);
    KIT_OK(pawl_lock_release(kit->pawl, "leader", "b", &diag));
    KIT_OK(pawl_lock_try(kit->pawl, "leader", "a", 1000, &first, &diag));
    assert_true(first > second);
}

static void locks_are_listed_by_name(void **state)
{
    struct pawl_locks locks = { .at = NULL };
    KIT_OK(pawl_locks_get(desk(state), &locks, &diag));
    assert_int_equal(locks.count, 0);
    pawl_locks_release(&locks);
    KIT_OK(pawl_lock_try(desk(state), "b", "x", 10, NULL, &diag));
    KIT_OK(pawl_lock_try(desk(state), "a", "y", 20, NULL, &diag));
    KIT_OK(pawl_locks_get(desk(state), &locks, &diag));
    assert_int_equal(locks.count, 2);
    assert_string_equal(locks.at[0].name, "a");
    assert_string_equal(locks.at[0].owner, "y");
    assert_int_equal(locks.at[0].expires_at_ms, KIT_NOW_MS + 20);
    assert_int_equal(locks.now_ms, KIT_NOW_MS);
    pawl_locks_release(&locks);
    pawl_locks_release(&locks);
    pawl_locks_release(NULL);
    assert_null(locks.at);
}

static void nodes_are_listed_newest_heartbeat_first(void **state)
{
    struct kit *kit = *state;
    static const char *const names[] = { "old", "new" };
    for (size_t i = 0; i < COUNT(names); i++) {
        struct pawl__op op = { .kind = PAWL__OP_NODE_PUT,
                               .node = { names[i], "info", kit->now_ms } };
        KIT_OK(pawl__desk_do(kit->pawl, &op, &diag));
        kit->now_ms += 10;
    }
    struct pawl_nodes nodes = { .at = NULL };
    KIT_OK(pawl_nodes_get(kit->pawl, &nodes, &diag));
    assert_int_equal(nodes.count, 2);
    assert_string_equal(nodes.at[0].name, "new");
    assert_string_equal(nodes.at[1].name, "old");
    assert_int_equal(nodes.now_ms, kit->now_ms);
    pawl_nodes_release(&nodes);
    pawl_nodes_release(&nodes);
    pawl_nodes_release(NULL);
    assert_null(nodes.at);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(nodes_elsewhere_are_noted_and_dropped),
        WITH_STORE(lock_arguments_keep_their_rules),
        WITH_STORE(lock_has_one_owner_and_a_growing_fence),
        WITH_STORE(locks_are_listed_by_name),
        WITH_STORE(nodes_are_listed_newest_heartbeat_first),
    };
    return cmocka_run_group_tests_name("api/cluster", tests, NULL, NULL);
}
