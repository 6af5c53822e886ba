/* What is a host, and which hosts are this machine. */
#include "http/transport/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void tells_hosts_from_other_texts(void **state)
{
    (void)state;
    static const char *const good[] = { "localhost",   "localhost:8080", "localhost:",
                                        "a",           "A_b-c.example.", "127.0.0.1:65535",
                                        "[::1]",       "[::1]:80",       "[2001:db8::7]",
                                        "node-1:00080" };
    static const char *const bad[] = {
        "",        ":80",    "localhost:abc", "localhost:65536", "localhost:123456",
        "a:80:80", "::1",    "[::1",          "[evil.example",   "[evil.example]",
        "[]",      "[::1]x", "[::1]:x",       "[::1]]",          "[127.0.0.1]",
        "a b",     "a,b",    "a/b",           "user@a",          "a?b",
        "a#b",     "a%41",   "a\"b",          "h\xc3\xa9",       "[fe80::1%25eth0]",
        "a:-1",    "a:+1",   "a: 1"
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!pawl__host_is_one(good[i])) fail_msg("%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (pawl__host_is_one(bad[i])) fail_msg("%s", bad[i]);
    }
    char name[300];
    memset(name, 'a', sizeof name);
    name[255] = '\0';
    assert_true(pawl__host_is_one(name));
    memset(name, 'a', 256);
    name[256] = '\0';
    assert_false(pawl__host_is_one(name));
}

static void knows_the_names_of_this_machine(void **state)
{
    (void)state;
    static const char *const own[] = { "localhost",   "LocalHost:80", "a.localhost",  "127.0.0.1",
                                       "127.1.2.3:1", "[::1]",        "[0:0::1]:8080" };
    static const char *const other[] = { "evil.example",
                                         "127.0.0.1.evil.example",
                                         "localhost.evil.example",
                                         "evillocalhost",
                                         "0.0.0.0",
                                         "10.0.0.1:8080",
                                         "128.0.0.1",
                                         "127.1",
                                         "[::]",
                                         "[::2]" };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (!pawl__host_is_local(own[i])) fail_msg("%s", own[i]);
    }
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        if (pawl__host_is_local(other[i])) fail_msg("%s", other[i]);
    }
}

static void compares_names_without_ports(void **state)
{
    (void)state;
    assert_true(pawl__host_is("Jobs.example:8080", "jobs.EXAMPLE"));
    assert_true(pawl__host_is("[::7]:80", "[::7]"));
    assert_true(pawl__host_is("jobs:1", "jobs:2"));
    assert_false(pawl__host_is("jobs.example.evil", "jobs.example"));
    assert_false(pawl__host_is("jobs", "jobs.example"));
    assert_false(pawl__host_is("[::7]", "[::8]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_hosts_from_other_texts),
        cmocka_unit_test(knows_the_names_of_this_machine),
        cmocka_unit_test(compares_names_without_ports),
    };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
