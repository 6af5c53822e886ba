/* What nodes share besides jobs: the list of nodes, locks, settings. */
#include "support/ops.h"

/* ---- nodes ---- */

static struct pawl_nodes nodes_of(struct rig *rig)
{
    struct pawl_nodes nodes = { 0 };
    assert_ok(rig, pawl__store_nodes(rig->store, &rig->arena, &nodes, &rig->diag));
    return nodes;
}

static void node_is_put_and_listed(struct rig *rig)
{
    int64_t started = rig_now(rig) - 5;
    assert_int_equal(0, nodes_of(rig).count);
    assert_ok(rig, node_put(rig, "n1", "{\"host\":\"a\"}", started));
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(1, nodes.count);
    assert_text("n1", nodes.at[0].name);
    assert_text("{\"host\":\"a\"}", nodes.at[0].info);
    assert_i64(started, nodes.at[0].started_at_ms);
    assert_i64(rig_now(rig), nodes.at[0].heartbeat_at_ms);
    assert_i64(rig_now(rig), nodes.now_ms);
    assert_i64(0, nodes.at[0].active);
}

static void putting_again_is_a_heartbeat(struct rig *rig)
{
    assert_ok(rig, node_put(rig, "n1", "one", 1000));
    rig_advance(rig, 500);
    assert_ok(rig, node_put(rig, "n1", "two", 1000));
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(1, nodes.count);
    assert_text("two", nodes.at[0].info);
    assert_i64(rig_now(rig), nodes.at[0].heartbeat_at_ms);
    assert_i64(1000, nodes.at[0].started_at_ms);
}

static void newer_start_replaces_an_older_one(struct rig *rig)
{
    assert_ok(rig, node_put(rig, "n1", "old", 1000));
    assert_ok(rig, node_put(rig, "n1", "new", 2000));
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(1, nodes.count);
    assert_text("new", nodes.at[0].info);
    assert_i64(2000, nodes.at[0].started_at_ms);
}

static void nodes_are_listed_newest_heartbeat_first(struct rig *rig)
{
    assert_ok(rig, node_put(rig, "a", "", 1));
    rig_advance(rig, 10);
    assert_ok(rig, node_put(rig, "b", "", 1));
    rig_advance(rig, 10);
    assert_ok(rig, node_put(rig, "c", "", 1));
    assert_ok(rig, node_put(rig, "a", "", 1));
    rig_advance(rig, 10);
    assert_ok(rig, node_put(rig, "b", "", 1));
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(3, nodes.count);
    assert_text("b", nodes.at[0].name);
    assert_true(nodes.at[1].heartbeat_at_ms == nodes.at[2].heartbeat_at_ms);
}

static void node_counts_the_jobs_it_holds(struct rig *rig)
{
    assert_ok(rig, node_put(rig, WORKER, "", 1));
    assert_ok(rig, node_put(rig, "idle", "", 1));
    submit_n(rig, 3, NULL);
    struct claimed jobs = claim_n(rig, "default", 3);
    assert_ok(rig, complete(rig, ref_of(&jobs.at[0]), NULL));
    struct pawl_nodes nodes = nodes_of(rig);
    for (size_t i = 0; i < nodes.count; i++)
        assert_i64(strcmp(nodes.at[i].name, WORKER) == 0 ? 2 : 0, nodes.at[i].active);
}

static void dropped_node_is_gone_and_the_others_stay(struct rig *rig)
{
    assert_ok(rig, node_put(rig, "a", "", 1));
    assert_ok(rig, node_put(rig, "b", "", 1));
    assert_ok(rig, node_drop(rig, "a", 0));
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(1, nodes.count);
    assert_text("b", nodes.at[0].name);
}

static struct pawl_locks locks_of(struct rig *rig)
{
    struct pawl_locks locks = { 0 };
    assert_ok(rig, pawl__store_locks(rig->store, &rig->arena, &locks, &rig->diag));
    return locks;
}

/* ---- nodes that begin, fall silent and come back ---- */

#define LEASE_MS INT64_C(30000)
#define MEMBER "{\"host\":\"h\",\"pid\":7,\"lease_ms\":30000}"

static const char *info_of(struct rig *rig, const char *name)
{
    struct pawl_nodes nodes = nodes_of(rig);
    for (size_t i = 0; i < nodes.count; i++)
        if (strcmp(nodes.at[i].name, name) == 0) return nodes.at[i].info;
    return NULL;
}

static void node_joins_by_the_stores_clock(struct rig *rig)
{
    int64_t started = 0;
    assert_ok(rig, node_join(rig, "n", MEMBER, &started));
    assert_i64(rig_now(rig), started);
    struct pawl_nodes nodes = nodes_of(rig);
    assert_int_equal(1, nodes.count);
    assert_i64(started, nodes.at[0].started_at_ms);
    assert_i64(rig_now(rig), nodes.at[0].heartbeat_at_ms);
    assert_text(MEMBER, nodes.at[0].info);
}

static void name_of_a_live_node_is_refused_with_the_reason(struct rig *rig)
{
    int64_t started = 0, second = 0;
    assert_ok(rig, node_join(rig, "n", MEMBER, &started));
    rig_advance(rig, LEASE_MS - 1);
    assert_err(rig, PAWL_ERR_HELD, node_join(rig, "n", MEMBER, &second));
    assert_text("name", rig->diag.field);
    assert_within("\"n\" is alive", rig->diag.text);
    assert_within("29999 ms ago", rig->diag.text);
    assert_within("\"host\":\"h\",\"pid\":7", rig->diag.text);
    assert_i64(0, second);
    assert_ok(rig, node_join(rig, "m", MEMBER, &second)); // another name is free
    assert_ok(rig, node_put(rig, "n", MEMBER, started));  // and nothing happened to this one
    rig_advance(rig, LEASE_MS - 1);
    assert_err(rig, PAWL_ERR_HELD, node_join(rig, "n", MEMBER, &second));
}

static void name_of_a_silent_node_is_taken_over(struct rig *rig)
{
    int64_t first = 0, second = 0;
    assert_ok(rig, node_join(rig, "n", MEMBER, &first));
    rig_advance(rig, LEASE_MS);
    assert_ok(rig, node_join(rig, "n", MEMBER, &second));
    assert_true(second > first);
    assert_err(rig, PAWL_ERR_STALE, node_put(rig, "n", "late", first));
    assert_text(MEMBER, info_of(rig, "n"));
    assert_err(rig, PAWL_ERR_NOT_FOUND, node_drop(rig, "n", first));
    assert_ok(rig, node_put(rig, "n", MEMBER, second));
    assert_ok(rig, node_drop(rig, "n", second));
}

/* However its clock was set: the number of a start grows all the same. */
static void starts_of_a_name_are_numbered_upwards(struct rig *rig)
{
    int64_t started = 0;
    int64_t ahead = rig_now(rig) + 1000000;
    assert_ok(rig, node_put(rig, "n", MEMBER, ahead));
    rig_advance(rig, LEASE_MS);
    assert_ok(rig, node_join(rig, "n", MEMBER, &started));
    assert_i64(ahead + 1, started);
}

static void takeover_ends_runs_and_locks(struct rig *rig)
{
    int64_t started = 0;
    assert_ok(rig, node_join(rig, WORKER, MEMBER, &started));
    assert_ok(rig, lock_try(rig, "l", WORKER, 3600000, NULL));
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    assert_int_equal(1, claim_n(rig, "default", 1).count);
    rig_advance(rig, LEASE_MS);
    assert_i64(0, lapse(rig).moved);
    assert_ok(rig, node_join(rig, WORKER, MEMBER, &started));
    assert_i64(1, lapse(rig).moved);
    assert_state(AVAILABLE, state_of(rig, id));
    assert_int_equal(0, locks_of(rig).count);
}

static void heartbeat_counts_who_is_alive(struct rig *rig)
{
    int64_t a = 0, b = 0;
    struct pawl_census census;
    assert_ok(rig, node_join(rig, "a", MEMBER, &a));
    assert_ok(rig, node_join(rig, "b", MEMBER, &b));
    assert_ok(rig, node_put(rig, "foreign", "php 8", 1));
    assert_ok(rig, node_beat(rig, "a", MEMBER, a, &census));
    assert_i64(3, census.alive);
    assert_i64(0, census.given_up);
    rig_advance(rig, LEASE_MS);
    assert_ok(rig, node_beat(rig, "a", MEMBER, a, &census));
    assert_i64(1, census.alive);
    assert_i64(1, census.given_up); // who said no lease is left alone
    rig_advance(rig, 1);
    assert_ok(rig, node_beat(rig, "a", MEMBER, a, &census));
    assert_i64(1, census.alive);
    assert_i64(0, census.given_up);
    assert_text("php 8", info_of(rig, "foreign"));
}

/* As any other node's heartbeat finds it, in the same transaction. */
static void silent_nodes_work_is_taken_back(struct rig *rig)
{
    int64_t gone = 0, other = 0;
    struct pawl_census census;
    assert_ok(rig, node_join(rig, WORKER, MEMBER, &gone));
    assert_ok(rig, node_join(rig, "other", MEMBER, &other));
    assert_ok(rig, lock_try(rig, "theirs", WORKER, 3600000, NULL));
    assert_ok(rig, lock_try(rig, "ours", "other", 3600000, NULL));
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    struct claimed jobs = claim_n(rig, "default", 1);
    struct pawl_run ref = ref_of(&jobs.at[0]);
    rig_advance(rig, LEASE_MS - 1);
    assert_ok(rig, node_beat(rig, "other", MEMBER, other, &census));
    assert_i64(0, census.given_up);
    assert_i64(0, lapse(rig).moved);
    rig_advance(rig, 1);
    assert_ok(rig, node_beat(rig, "other", MEMBER, other, &census));
    assert_i64(1, census.given_up);
    assert_i64(1, lapse(rig).moved);
    assert_state(AVAILABLE, state_of(rig, id));
    assert_i64(1, job_get(rig, id).attempt); // it is charged
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref, NULL));
    struct pawl_locks locks = locks_of(rig);
    assert_int_equal(1, locks.count);
    assert_text("ours", locks.at[0].name);
}

static void node_that_was_given_up_hears_of_it(struct rig *rig)
{
    int64_t gone = 0, other = 0, again = 0;
    struct pawl_census census;
    assert_ok(rig, node_join(rig, "gone", MEMBER, &gone));
    assert_ok(rig, node_join(rig, "other", MEMBER, &other));
    rig_advance(rig, LEASE_MS);
    assert_ok(rig, node_beat(rig, "other", MEMBER, other, &census));
    assert_within("\"lapsed_lease_ms\":30000", info_of(rig, "gone")); // still listed
    assert_err(rig, PAWL_ERR_STALE, node_put(rig, "gone", MEMBER, gone));
    assert_ok(rig, node_join(rig, "gone", MEMBER, &again)); // at once, nobody has the name
    assert_true(again > gone);
    assert_ok(rig, node_put(rig, "gone", MEMBER, again));
    assert_text(MEMBER, info_of(rig, "gone"));
}

static void node_that_ends_frees_its_locks(struct rig *rig)
{
    int64_t started = 0;
    assert_ok(rig, node_join(rig, "n", MEMBER, &started));
    assert_ok(rig, lock_try(rig, "l", "n", 3600000, NULL));
    assert_ok(rig, lock_try(rig, "m", "somebody", 3600000, NULL));
    assert_ok(rig, node_drop(rig, "n", started));
    assert_int_equal(1, locks_of(rig).count);
}

static void nodes_of_long_ago_are_forgotten(struct rig *rig)
{
    int64_t started = 0;
    assert_ok(rig, node_join(rig, "old", MEMBER, &started));
    rig_advance(rig, INT64_C(86400000));
    assert_ok(rig, node_join(rig, "a", MEMBER, &started));
    assert_non_null(info_of(rig, "old"));
    rig_advance(rig, 1);
    assert_ok(rig, node_join(rig, "b", MEMBER, &started));
    assert_null(info_of(rig, "old"));
    assert_non_null(info_of(rig, "a"));
}

/* ---- who retires jobs ---- */

static int64_t archive_as(struct rig *rig, const char *owner)
{
    struct pawl__op op = { .kind = PAWL__OP_ARCHIVE,
                           .retire = { .states = ~UINT32_C(0),
                                       .age_ms = -1,
                                       .limit = 1,
                                       .owner = owner,
                                       .pause_ms = 1000 } };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    pawl__arena_release(&op.arena);
    return op.retire.moved;
}

static void one_node_at_a_time_archives(struct rig *rig)
{
    submit_n(rig, 5, NULL);
    struct claimed jobs = claim_n(rig, "default", 5);
    for (size_t i = 0; i < jobs.count; i++)
        assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    assert_i64(1, archive_as(rig, "a"));
    assert_i64(0, archive_as(rig, "b")); // another just did it
    assert_i64(1, archive_as(rig, "a")); // and may go on
    rig_advance(rig, 999);
    assert_i64(0, archive_as(rig, "b"));
    assert_i64(1, archive_as(rig, NULL)); // whom an operator asks to
    rig_advance(rig, 1);
    assert_i64(1, archive_as(rig, "b")); // nothing depends on the first
    assert_i64(0, archive_as(rig, "a"));
}

/* ---- locks ---- */

static void lock_is_taken_listed_and_released(struct rig *rig)
{
    int64_t fence = 0;
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &fence));
    assert_true(fence > 0);
    struct pawl_locks locks = locks_of(rig);
    assert_int_equal(1, locks.count);
    assert_text("leader", locks.at[0].name);
    assert_text("a", locks.at[0].owner);
    assert_i64(fence, locks.at[0].fence);
    assert_i64(rig_now(rig), locks.at[0].locked_at_ms);
    assert_i64(rig_now(rig) + 1000, locks.at[0].expires_at_ms);
    assert_i64(rig_now(rig), locks.now_ms);
    assert_ok(rig, lock_release(rig, "leader", "a"));
    assert_int_equal(0, locks_of(rig).count);
}

static void held_lock_is_refused_by_name(struct rig *rig)
{
    assert_ok(rig, lock_try(rig, "leader", "node-a", 1000, NULL));
    rig_advance(rig, 999);
    assert_err(rig, PAWL_ERR_HELD, lock_try(rig, "leader", "node-b", 1000, NULL));
    assert_within("node-a", rig->diag.text);
    assert_text("node-a", locks_of(rig).at[0].owner);
    assert_ok(rig, lock_try(rig, "other", "node-b", 1000, NULL));
}

static void expired_lock_is_free_and_still_listed(struct rig *rig)
{
    int64_t first = 0, second = 0;
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &first));
    rig_advance(rig, 1000);
    assert_int_equal(1, locks_of(rig).count);
    assert_ok(rig, lock_try(rig, "leader", "b", 1000, &second));
    assert_true(second > first);
    assert_text("b", locks_of(rig).at[0].owner);
}

static void own_lock_may_be_taken_again(struct rig *rig)
{
    int64_t first = 0, second = 0;
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &first));
    rig_advance(rig, 500);
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &second));
    assert_true(second >= first);
    assert_i64(second, locks_of(rig).at[0].fence);
    assert_i64(rig_now(rig) + 1000, locks_of(rig).at[0].expires_at_ms);
}

static void fence_grows_for_ever(struct rig *rig)
{
    int64_t last = 0;
    for (int i = 0; i < 10; i++) {
        int64_t fence = 0;
        assert_ok(rig, lock_try(rig, "leader", i % 2 == 0 ? "a" : "b", 1000, &fence));
        assert_true(fence > last);
        last = fence;
        if (i % 3 == 0) {
            rig_advance(rig, 1000);
        } else {
            assert_ok(rig, lock_release(rig, "leader", i % 2 == 0 ? "a" : "b"));
        }
    }
}

static void renewal_is_for_the_owner_in_time(struct rig *rig)
{
    int64_t fence = 0;
    assert_err(rig, PAWL_ERR_STALE, lock_renew(rig, "absent", "a", 1000));
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &fence));
    rig_advance(rig, 999);
    assert_err(rig, PAWL_ERR_STALE, lock_renew(rig, "leader", "b", 1000));
    assert_ok(rig, lock_renew(rig, "leader", "a", 1000));
    struct pawl_lock lock = locks_of(rig).at[0];
    assert_i64(rig_now(rig) + 1000, lock.expires_at_ms);
    assert_i64(fence, lock.fence);
    rig_advance(rig, 1000);
    assert_err(rig, PAWL_ERR_STALE, lock_renew(rig, "leader", "a", 1000));
    assert_ok(rig, lock_try(rig, "leader", "b", 1000, NULL));
    assert_err(rig, PAWL_ERR_STALE, lock_renew(rig, "leader", "a", 1000));
}

static void strangers_cannot_release(struct rig *rig)
{
    assert_err(rig, PAWL_ERR_STALE, lock_release(rig, "absent", "a"));
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, NULL));
    assert_err(rig, PAWL_ERR_STALE, lock_release(rig, "leader", "b"));
    assert_text("a", locks_of(rig).at[0].owner);
    assert_err(rig, PAWL_ERR_HELD, lock_try(rig, "leader", "b", 1000, NULL));
    assert_ok(rig, lock_release(rig, "leader", "a"));
    assert_err(rig, PAWL_ERR_STALE, lock_release(rig, "leader", "a"));
}

static void locks_are_listed_by_name(struct rig *rig)
{
    static const char *const names[] = { "m", "z", "a", "é", "Z" };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_ok(rig, lock_try(rig, names[i], "a", 1000, NULL));
    struct pawl_locks locks = locks_of(rig);
    assert_int_equal(COUNT(names), locks.count);
    for (size_t i = 1; i < locks.count; i++)
        assert_true(strcmp(locks.at[i - 1].name, locks.at[i].name) < 0);
}

static void lock_outlives_a_restart(struct rig *rig)
{
    int64_t first = 0, second = 0;
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, &first));
    rig_reopen(rig);
    assert_err(rig, PAWL_ERR_HELD, lock_try(rig, "leader", "b", 1000, NULL));
    assert_ok(rig, lock_release(rig, "leader", "a"));
    rig_reopen(rig);
    assert_ok(rig, lock_try(rig, "leader", "b", 1000, &second));
    assert_true(second > first);
}

/* ---- settings ---- */

static const char *setting_of(struct rig *rig, const char *name)
{
    const char *value = NULL;
    enum pawl_err err = pawl__store_setting(rig->store, name, &rig->arena, &value, &rig->diag);
    if (err == PAWL_ERR_NOT_FOUND) return NULL;
    assert_ok(rig, err);
    return value;
}

static void setting_is_put_read_replaced_and_deleted(struct rig *rig)
{
    assert_null(setting_of(rig, "colour"));
    assert_ok(rig, setting_put(rig, "colour", "red"));
    assert_text("red", setting_of(rig, "colour"));
    assert_ok(rig, setting_put(rig, "colour", ""));
    assert_text("", setting_of(rig, "colour"));
    assert_ok(rig, setting_put(rig, "colour", NULL));
    assert_null(setting_of(rig, "colour"));
    assert_ok(rig, setting_put(rig, "colour", NULL));
    assert_null(setting_of(rig, "colou"));
}

static void large_setting_comes_back_whole(struct rig *rig)
{
    struct pawl_span big = rig_multibyte(rig, 256 * 1024, false);
    assert_ok(rig, setting_put(rig, "big", big.at));
    assert_text(big.at, setting_of(rig, "big"));
}

static void settings_outlive_a_restart(struct rig *rig)
{
    assert_ok(rig, setting_put(rig, "a", "1"));
    rig_reopen(rig);
    assert_text("1", setting_of(rig, "a"));
}

/* As "name=value ...". */
static const char *settings_with(struct rig *rig, const char *prefix)
{
    struct pawl_settings found = { .at = NULL };
    const char *text = "";
    assert_ok(rig, pawl__store_settings(rig->store, prefix, &rig->arena, &found, &rig->diag));
    for (size_t i = 0; i < found.count; i++)
        text = rig_text(rig, "%s%s%s=%s", text, i ? " " : "", found.at[i].name, found.at[i].value);
    return text;
}

static void settings_are_listed_by_prefix_in_order(struct rig *rig)
{
    assert_text("", settings_with(rig, ""));
    assert_text("", settings_with(rig, "web."));
    static const char *const names[] = { "web.b",   "wea",   "web",  "web.a", "wec.a",
                                         "web.a.b", "Web.c", "web/", "web-" };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_ok(rig, setting_put(rig, names[i], i == 3 ? "" : "1"));
    assert_text("web.a= web.a.b=1 web.b=1", settings_with(rig, "web."));
    assert_text("web=1 web-=1 web.a= web.a.b=1 web.b=1 web/=1", settings_with(rig, "web"));
    assert_text("web.a= web.a.b=1", settings_with(rig, "web.a"));
    assert_text("", settings_with(rig, "web.ab"));
    assert_text("", settings_with(rig, "x"));
    assert_text("Web.c=1", settings_with(rig, "W"));
    assert_text("Web.c=1 wea=1 web=1 web-=1 web.a= web.a.b=1 web.b=1 web/=1 wec.a=1",
                settings_with(rig, ""));
    assert_ok(rig, setting_put(rig, "web.a", NULL));
    assert_ok(rig, setting_put(rig, "web.b", "2"));
    assert_text("web.a.b=1 web.b=2", settings_with(rig, "web."));
}

/* What a pattern would take for a wildcard is a letter like any other. */
static void prefix_is_no_pattern(struct rig *rig)
{
    static const char *const names[] = { "a%b",   "a_b",  "axb", "a*b", "a?b",
                                         "a[x]b", "a\\b", "A%b", "a'b" };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_ok(rig, setting_put(rig, names[i], "1"));
    assert_text("a%b=1", settings_with(rig, "a%"));
    assert_text("a_b=1", settings_with(rig, "a_"));
    assert_text("a*b=1", settings_with(rig, "a*"));
    assert_text("a?b=1", settings_with(rig, "a?"));
    assert_text("a[x]b=1", settings_with(rig, "a[x"));
    assert_text("a\\b=1", settings_with(rig, "a\\"));
    assert_text("a'b=1", settings_with(rig, "a'"));
    assert_text("", settings_with(rig, "%"));
    assert_text("", settings_with(rig, "_"));
}

/* By their bytes, whatever language the store speaks; and a prefix ends between letters. */
static void names_in_other_scripts_are_ordered_by_bytes(struct rig *rig)
{
    static const char *const names[] = { "\xc3\xa9.z", "\xc3\xa9",         "\xc3\xaa",
                                         "z",          "\xf0\x9f\x90\x98", "\xef\xbf\xbd" };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_ok(rig, setting_put(rig, names[i], "1"));
    assert_text("\xc3\xa9=1 \xc3\xa9.z=1", settings_with(rig, "\xc3\xa9"));
    assert_text("z=1 \xc3\xa9=1 \xc3\xa9.z=1 \xc3\xaa=1 \xef\xbf\xbd=1 \xf0\x9f\x90\x98=1",
                settings_with(rig, ""));
}

static void paused_queue_outlives_a_restart(struct rig *rig)
{
    submit_one(rig, NULL);
    queue_pause(rig, "default", true);
    rig_reopen(rig);
    assert_int_equal(0, claim_n(rig, "default", 1).count);
    queue_pause(rig, "default", false);
    rig_reopen(rig);
    assert_int_equal(1, claim_n(rig, "default", 1).count);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(node_is_put_and_listed),
        CONTRACT(putting_again_is_a_heartbeat),
        CONTRACT(newer_start_replaces_an_older_one),
        CONTRACT(nodes_are_listed_newest_heartbeat_first),
        CONTRACT(node_counts_the_jobs_it_holds),
        CONTRACT(dropped_node_is_gone_and_the_others_stay),
        CONTRACT(node_joins_by_the_stores_clock),
        CONTRACT(name_of_a_live_node_is_refused_with_the_reason),
        CONTRACT(name_of_a_silent_node_is_taken_over),
        CONTRACT(starts_of_a_name_are_numbered_upwards),
        CONTRACT(takeover_ends_runs_and_locks),
        CONTRACT(heartbeat_counts_who_is_alive),
        CONTRACT(silent_nodes_work_is_taken_back),
        CONTRACT(node_that_was_given_up_hears_of_it),
        CONTRACT(node_that_ends_frees_its_locks),
        CONTRACT(nodes_of_long_ago_are_forgotten),
        CONTRACT(one_node_at_a_time_archives),
        CONTRACT(lock_is_taken_listed_and_released),
        CONTRACT(held_lock_is_refused_by_name),
        CONTRACT(expired_lock_is_free_and_still_listed),
        CONTRACT(own_lock_may_be_taken_again),
        CONTRACT(fence_grows_for_ever),
        CONTRACT(renewal_is_for_the_owner_in_time),
        CONTRACT(strangers_cannot_release),
        CONTRACT(locks_are_listed_by_name),
        CONTRACT_SHARED(lock_outlives_a_restart),
        CONTRACT(setting_is_put_read_replaced_and_deleted),
        CONTRACT(large_setting_comes_back_whole),
        CONTRACT_SHARED(settings_outlive_a_restart),
        CONTRACT(settings_are_listed_by_prefix_in_order),
        CONTRACT(prefix_is_no_pattern),
        CONTRACT(names_in_other_scripts_are_ordered_by_bytes),
        CONTRACT_SHARED(paused_queue_outlives_a_restart),
    };
    return contract_run("cluster", tests, COUNT(tests));
}
