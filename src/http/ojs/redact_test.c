/* Tests of taking secrets out of texts. */
#include "http/ojs/redact.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_redacted(const char *text, const char *wanted)
{
    struct pawl__buf out = { 0 };
    pawl__redact(&out, (struct pawl_span){ text, strlen(text) });
    assert_false(out.failed);
    if (strcmp(out.at ? out.at : "", wanted) != 0) {
        fail_msg("%s became %s, not %s", text, out.at, wanted);
    }
    pawl__buf_release(&out);
}

static void masks_secrets(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        { "postgres://bob:s3cret@db/x failed", "postgres://***@db/x failed" },
        { "amqp://bob:p@ss@mq:5672", "amqp://***@mq:5672" },
        { "(https://token@git.example/x)", "(https://***@git.example/x)" },
        { "password=hunter2", "password=***" },
        { "DB_PASSWORD = hunter2;next", "DB_PASSWORD = ***;next" },
        { "Password: hunter2, user: bob", "Password: ***, user: bob" },
        { "jdbc:pg://h/d?user=u&password=p&ssl=1", "jdbc:pg://h/d?user=u&password=***&ssl=1" },
        { "?token=abc&x=1", "?token=***&x=1" },
        { "client_secret='a b c' rest", "client_secret='***' rest" },
        { "Authorization: Bearer abcdefgh.ijk more", "Authorization: Bearer *** more" },
        { "{\"api_key\": \"a\\\"b\", \"n\": 1}", "{\"api_key\": \"***\", \"n\": 1}" },
        { "{\"token\":\"abc\"}", "{\"token\":\"***\"}" },
        { "a password=x and secret=y", "a password=*** and secret=***" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_redacted(cases[i].text, cases[i].wanted);
    }
}

static void leaves_everything_else_alone(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "connection refused",
        "unexpected token: }",
        "the password is wrong",
        "password",
        "password=",
        "password:",
        "http://example.org/a@b",
        "mail to bob@example.org",
        "compassword=x is no word of ours",
        "basic checks failed",
        "bearer",
        "://",
        "a:b://",
        "{\"stack\":\"at f (a.js:1:2)\\nat g\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_redacted(cases[i], cases[i]);
    }
}

static void keeps_json_json(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{\"password\":\"a\\\\\",\"x\":\"b\"}",
        "{\"password\":\"\",\"x\":1}",
        "{\"url\":\"x://a:b@c\",\"secret\":\"\\u0041\"}",
        "{\"m\":\"password=\\\"q\\\" end\"}",
        "{\"m\":\"token=x\"}",
        "{\"m\":\"say \\\"password\\\": \\\"x\\\"\"}",
        "{\"secret\":{\"a\":1},\"password\":null,\"pwd\":12}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl__buf out = { 0 };
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        pawl__redact(&out, (struct pawl_span){ cases[i], strlen(cases[i]) });
        enum pawl_err err =
            pawl__json_parse((struct pawl_span){ out.at, out.len }, 32, &arena, &json, NULL);
        if (err) fail_msg("%s became %s", cases[i], out.at);
        pawl__arena_release(&arena);
        pawl__buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_secrets),
        cmocka_unit_test(leaves_everything_else_alone),
        cmocka_unit_test(keeps_json_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
