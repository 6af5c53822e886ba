/* Where a Redis' URL leads, and what is refused; a refusal repeats nothing of it. */
#include "store/redis/redis.h"

#include "base/test_kit.h"

static const char *or_none(const char *text)
{
    return text ? text : "-";
}

static void urls_lead_where_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host;
        int port;
        const char *socket, *user, *password, *channel, *shown;
    } cases[] = {
        { "redis://host:7000", "host", 7000, "-", "-", "-", "pawl:s", "host:7000" },
        { "redis://host", "host", 6379, "-", "-", "-", "pawl:s", "host:6379" },
        { "redis://", "localhost", 6379, "-", "-", "-", "pawl:s", "localhost:6379" },
        { "redis://host/", "host", 6379, "-", "-", "-", "pawl:s", "host:6379" },
        { "redis://host/0", "host", 6379, "-", "-", "-", "pawl:s", "host:6379" },
        { "redis://host/3", "host", 6379, "-", "-", "-", "pawl:s:3", "host:6379" },
        { "redis://[::1]:7000", "::1", 7000, "-", "-", "-", "pawl:s", "[::1]:7000" },
        { "redis://[::1]", "::1", 6379, "-", "-", "-", "pawl:s", "[::1]:6379" },
        { "redis://:pa@ss@h:1", "h", 1, "-", "-", "pa@ss", "pawl:s", "h:1" },
        { "redis://ann:b%2Fc%3A@h", "h", 6379, "-", "ann", "b/c:", "pawl:s", "h:6379" },
        { "redis://h?channel=mine%20", "h", 6379, "-", "-", "-", "mine ", "h:6379" },
        { "redis://h/2?channel=mine", "h", 6379, "-", "-", "-", "mine", "h:6379" },
        { "redis+unix:///run/redis.sock", "-", 0, "/run/redis.sock", "-", "-", "pawl:s",
          "/run/redis.sock" },
        { "redis+unix://:pw@/run/r%20s?channel=c", "-", 0, "/run/r s", "-", "pw", "c", "/run/r s" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__redis_place place;
        struct pawl_diag diag = { 0 };
        if (pawl__redis_place_read(cases[i].url, "s", &place, &diag)) {
            fail_msg("%s: %s", cases[i].url, diag.text);
        }
        assert_string_equal(cases[i].host, or_none(place.host));
        assert_int_equal(cases[i].port, place.port);
        assert_string_equal(cases[i].socket, or_none(place.socket));
        assert_string_equal(cases[i].user, or_none(place.user));
        assert_string_equal(cases[i].password, or_none(place.password));
        assert_string_equal(cases[i].channel, place.channel);
        assert_string_equal(cases[i].shown, place.shown);
        pawl__redis_place_release(&place);
    }
}

static void broken_urls_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url, *why;
    } cases[] = {
        { "redis:host", "no URL" },
        { "redis://:secret@h:0", "port" },
        { "redis://:secret@h:65536", "port" },
        { "redis://:secret@h:7x", "port" },
        { "redis://:secret@[::1", "[ without" },
        { "redis://:secret@[::1]7", "port" },
        { "redis://secret@h", "no password" },
        { "redis://secret:@h", "no password" },
        { "redis://:secret%@h", "%" },
        { "redis://:secret%4@h", "%" },
        { "redis://:secret%00@h", "%" },
        { "redis://:secret%zz@h", "%" },
        { "redis://:secret#@h", "#" },
        { "redis://:secret@h/jobs", "database" },
        { "redis://:secret@h?db=1", "channel" },
        { "redis://:secret@h?channel=", "channel" },
        { "redis://:secret@h?channel=a&db=1", "channel" },
        { "redis+unix://:secret@host/run/r", "socket" },
        { "redis+unix://", "socket" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__redis_place place;
        struct pawl_diag diag = { 0 };
        assert_int_equal(PAWL_ERR_ARG, pawl__redis_place_read(cases[i].url, "s", &place, &diag));
        if (!strstr(diag.text, cases[i].why)) fail_msg("%s: %s", cases[i].url, diag.text);
        assert_null(strstr(diag.text, "secret"));
        assert_string_equal("wake", diag.field);
        pawl__redis_place_release(&place);
    }
}

static void tls_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct pawl__redis_place place;
    struct pawl_diag diag = { 0 };
    assert_int_equal(PAWL_ERR_UNSUPPORTED,
                     pawl__redis_place_read("rediss://:secret@h", "s", &place, &diag));
    assert_non_null(strstr(diag.text, "hiredis"));
    assert_non_null(strstr(diag.text, "TLS"));
    assert_null(strstr(diag.text, "secret"));
    pawl__redis_place_release(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_lead_where_they_say),
        cmocka_unit_test(broken_urls_are_refused),
        cmocka_unit_test(tls_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
