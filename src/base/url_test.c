#include "base/url.h"

#include "base/test_kit.h"

static const struct {
    const char *url, *shown;
    bool torn;
} cases[] = {
    { "postgres://h/db", "postgres://h/db", false },
    { "postgres://ann@h/db", "postgres://ann@h/db", false },
    { "postgres://ann:pw@h/db", "postgres://ann:***@h/db", false },
    { "postgres://ann:@h/db", "postgres://ann:***@h/db", false },
    { "postgres://ann:p%40w@h1:1,h2:2/db?a=b", "postgres://ann:***@h1:1,h2:2/db?a=b", false },
    { "postgres://ann:p?w@h/db", "postgres://ann:***@h/db", false },
    { "postgres://ann:p:w@[::1]:5432/db", "postgres://ann:***@[::1]:5432/db", false },
    { "redis://:pw@h:6379/0", "redis://:***@h:6379/0", false },
    // parameters
    { "postgres:///db?host=/s&password=pw", "postgres:///db?host=/s&password=***", false },
    { "postgres:///db?password=pw&user=ann", "postgres:///db?password=***&user=ann", false },
    { "postgres:///db?sslpassword=a&password=b", "postgres:///db?sslpassword=***&password=***",
      false },
    { "postgres://ann:pw@h/db?sslpassword=x@y", "postgres://ann:***@h/db?sslpassword=***", false },
    { "postgres:///db?passfile=/etc/pg", "postgres:///db?passfile=/etc/pg", false },
    // an @ that ends no password
    { "postgres://h:5432/a@b", "postgres://h:5432/a@b", false },
    { "postgres://h:1,i:2/db?user=a@b", "postgres://h:1,i:2/db?user=a@b", false },
    { "postgres://[::1]:1,h/db?user=a@b", "postgres://[::1]:1,h/db?user=a@b", false },
    // passwords that should have been written with % signs
    { "postgres://ann:p@w@h/db", "postgres://ann:***@h/db", true },
    { "postgres://ann:p/w@h/db", "postgres://ann:***@h/db", true },
    { "postgres://ann:p:1/w@h/db", "postgres://ann:***@h/db", true },
    { "postgres://ann:p/w?x@h/db", "postgres://ann:***@h/db", true },
    { "postgres://ann:p/@/w@h/db?a=b", "postgres://ann:***@h/db?a=b", true },
    // no URLs, but meant to be
    { "postgres:ann:pw@h", "postgres:***@h", false },
    { "host=h password=pw", "host=h password=***", false },
    { "", "", false },
    // a token is left out
    { "http://pawl_abc@h:8080/", "http://h:8080/", false },
    { "https://x:pawl_abc@h", "https://h", false },
    { "https://h:8080", "https://h:8080", false },
    // a path may have anything in it
    { "sqlite:/a:b@c/password=d.db", "sqlite:/a:b@c/password=d.db", false },
};

static void secrets_are_not_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__buf shown = { 0 };
        pawl__buf_add_text(&shown, "at ");
        pawl__url_mask(&shown, cases[i].url);
        assert_false(shown.failed);
        assert_string_equal(shown.at + 3, cases[i].shown);
        pawl__buf_release(&shown);
    }
}

static void torn_passwords_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (strncmp(cases[i].url, "postgres://", 11) != 0) continue;
        assert_int_equal(pawl__url_has_torn_password(cases[i].url), cases[i].torn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(torn_passwords_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
