/* Counting connections by where they come from. */
#include "http/transport/peers.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage out = { 0 };
    struct sockaddr_in *four = (struct sockaddr_in *)&out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&out;
    out.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    void *to = out.ss_family == AF_INET6 ? (void *)&six->sin6_addr : (void *)&four->sin_addr;
    assert_int_equal(inet_pton(out.ss_family, text, to), 1);
    return out;
}

static struct pawl__peer *enter(struct pawl__peers *peers, const char *text)
{
    struct sockaddr_storage at = address(text);
    struct pawl__peer *peer = pawl__peers_enter(peers, (const struct sockaddr *)&at);
    assert_non_null(peer);
    return peer;
}

static void counts_each_address_by_itself(void **state)
{
    (void)state;
    struct pawl__peers peers = { .salt = 7 };
    struct pawl__peer *a = enter(&peers, "10.0.0.1"), *b = enter(&peers, "10.0.0.2");
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(enter(&peers, "10.0.0.1"), a);
    assert_int_equal(a->count, 2);
    assert_int_equal(b->count, 1);
    pawl__peers_leave(&peers, a);
    assert_int_equal(a->count, 1);
    pawl__peers_leave(&peers, a);
    pawl__peers_leave(&peers, b);
    pawl__peers_leave(&peers, NULL);
    for (size_t i = 0; i < PAWL__PEER_BUCKETS; i++) {
        assert_null(peers.buckets[i]); // whoever has left is forgotten
    }
}

static void a_host_with_many_addresses_is_one(void **state)
{
    (void)state;
    struct pawl__peers peers = { 0 };
    struct pawl__peer *a = enter(&peers, "2001:db8:1:2::1");
    struct pawl__peer *c = enter(&peers, "2001:db8:1:3::1");
    assert_ptr_equal(enter(&peers, "2001:db8:1:2:ffff::9"), a);
    assert_ptr_not_equal(a, c);
    struct pawl__peer *four = enter(&peers, "192.0.2.1");
    assert_ptr_equal(enter(&peers, "::ffff:192.0.2.1"), four);
    struct pawl__peer *nobody = enter(&peers, "0.0.0.0"), *self = enter(&peers, "::1");
    assert_ptr_not_equal(nobody, self);
    struct pawl__peer *const all[] = { a, a, c, four, four, nobody, self };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pawl__peers_leave(&peers, all[i]);
    }
}

static void many_in_one_bucket_are_told_apart(void **state)
{
    (void)state;
    enum { MANY = 4000 };
    struct pawl__peers peers = { .salt = 1 };
    static struct pawl__peer *all[MANY];
    for (int i = 0; i < MANY; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.1.%d.%d", i / 250, i % 250);
        all[i] = enter(&peers, text);
        assert_int_equal(all[i]->count, 1);
    }
    for (int i = 0; i < MANY; i++) {
        pawl__peers_leave(&peers, all[(i * 7) % MANY]); // 7 and 4000 have no common factor
    }
    for (size_t i = 0; i < PAWL__PEER_BUCKETS; i++) {
        assert_null(peers.buckets[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_each_address_by_itself),
        cmocka_unit_test(a_host_with_many_addresses_is_one),
        cmocka_unit_test(many_in_one_bucket_are_told_apart),
    };
    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
