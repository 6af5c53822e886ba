/* Tests members: distinct names, and descriptions that are read back. */
#include "cluster/cluster.h"

#include "base/test_kit.h"

static void names_get_longer_as_they_are_taken(void **state)
{
    char name[64];
    pawl__member_name(name, sizeof name, "pod-0", 17, 0, 0x1abcd);
    assert_string_equal(name, "pod-0");
    pawl__member_name(name, sizeof name, "pod-0", 17, 1, 0x1abcd);
    assert_string_equal(name, "pod-0-17");
    pawl__member_name(name, sizeof name, "pod-0", 17, 2, 0x1abcd);
    assert_string_equal(name, "pod-0-17-abcd");
}

static void long_host_keeps_its_suffix(void **state)
{
    char name[16];
    pawl__member_name(name, sizeof name, "a-host-with-a-long-name", 17, 0, 0);
    assert_string_equal(name, "a-host-with-a-l");
    pawl__member_name(name, sizeof name, "a-host-with-a-long-name", 17, 1, 0);
    assert_string_equal(name, "a-host-with--17");
}

static void member_comes_back(void **state)
{
    const struct pawl__member member = { .host = "a \"b\"",
                                         .version = "1.2",
                                         .pid = 42,
                                         .workers = 7,
                                         .draining = true,
                                         .lease_ms = 30000 };
    struct pawl__member back;
    struct pawl__buf buf = { 0 };
    struct pawl__arena arena = { 0 };
    pawl__member_print(&buf, &member);
    pawl__member_read(buf.at, &arena, &back);
    assert_string_equal(back.host, member.host);
    assert_string_equal(back.version, member.version);
    assert_int_equal(back.pid, 42);
    assert_int_equal(back.workers, 7);
    assert_int_equal(back.lease_ms, 30000);
    assert_true(back.draining);
    assert_false(back.given_up);
    // what the stores search for, and what they replace it with
    assert_non_null(strstr(buf.at, "\"lease_ms\":30000"));
    pawl__member_read("{\"lapsed_lease_ms\":30000}", &arena, &back);
    assert_true(back.given_up);
    assert_int_equal(back.lease_ms, 30000);
    pawl__arena_release(&arena);
    pawl__buf_release(&buf);
}

static void whatever_else_it_says_is_no_member(void **state)
{
    static const char *const texts[] = { "",   "php 8", "[1]", "{", "{\"pid\":\"x\",\"host\":1}",
                                         "17", "null" };
    struct pawl__arena arena = { 0 };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct pawl__member back;
        pawl__member_read(texts[i], &arena, &back);
        assert_string_equal(back.host, "");
        assert_string_equal(back.version, "");
        assert_int_equal(back.pid + back.workers + back.lease_ms, 0);
        assert_false(back.draining || back.given_up);
    }
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_get_longer_as_they_are_taken),
        cmocka_unit_test(long_host_keeps_its_suffix),
        cmocka_unit_test(member_comes_back),
        cmocka_unit_test(whatever_else_it_says_is_no_member),
    };
    return cmocka_run_group_tests_name("member", tests, NULL, NULL);
}
