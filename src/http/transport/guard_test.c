/* The rules for heads, each by itself, and that it does not matter how the bytes come. */
#include "http/transport/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 16384 };

/* All at once, or `step` bytes at a time; the kind of the first complaint. */
static enum pawl__fault_kind take(const char *text, size_t len, size_t step, bool *ended)
{
    struct pawl__guard guard = { 0 };
    const char *why = NULL;
    enum pawl__fault_kind kind = PAWL__FAULT_NONE;
    for (size_t at = 0; !kind && at < len; at += step) {
        size_t piece = len - at < step ? len - at : step;
        kind = pawl__guard_take(&guard, text + at, piece, BYTES_MAX, &why);
    }
    assert_int_equal(kind == PAWL__FAULT_NONE, why == NULL);
    *ended = guard.ended;
    return kind;
}

static void expect(const char *text, size_t len, enum pawl__fault_kind kind)
{
    for (size_t step = 1; step <= len + 1; step = step < 8 ? step + 1 : step * 2) {
        bool ended;
        assert_int_equal(take(text, len, step, &ended), kind);
        assert_int_equal(ended, kind == PAWL__FAULT_NONE);
    }
}

#define EXPECT(text, kind) expect(text, sizeof(text) - 1, PAWL__FAULT_##kind)

static void lets_good_heads_through(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\n\r\n", NONE);
    EXPECT("GET / HTTP/1.1\r\nHost: a\r\nX:\tb c\r\n\r\n", NONE);
    EXPECT("\r\n\r\nGET / HTTP/1.0\r\n\r\n", NONE);
    EXPECT("POST /a HTTP/1.1\r\nA: b\r\n\r\n\r \n\0 a body may be anything", NONE);
}

static void refuses_lines_that_end_oddly(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\n\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\nA: b\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\nA: b\r\r\n\r\n", INVALID_REQUEST);
    EXPECT("\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", INVALID_REQUEST);
}

static void refuses_folded_and_nameless_headers(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\n A: b\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\n: b\r\n\r\n", INVALID_REQUEST);
}

static void refuses_nuls(void **state)
{
    (void)state;
    EXPECT("GET /\0 HTTP/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1\r\nA: b\0\r\n\r\n", INVALID_REQUEST);
    EXPECT("\0", INVALID_REQUEST);
}

static void wants_three_words(void **state)
{
    (void)state;
    EXPECT("GET /\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET  / HTTP/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / HTTP/1.1 \r\n\r\n", INVALID_REQUEST);
    EXPECT("GET /a b HTTP/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET\t/\tHTTP/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT(" GET / HTTP/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / http/1.1\r\n\r\n", INVALID_REQUEST);
    EXPECT("GET / RTSP/1.0\r\n\r\n", INVALID_REQUEST);
}

/* `count` bytes of `fill` between two texts. */
static void expect_long(const char *before, char fill, size_t count, const char *behind,
                        enum pawl__fault_kind kind)
{
    static char text[2 * BYTES_MAX];
    size_t len = strlen(before);
    memcpy(text, before, len);
    memset(text + len, fill, count);
    memcpy(text + len + count, behind, strlen(behind));
    expect(text, len + count + strlen(behind), kind);
}

static void bounds_what_is_long(void **state)
{
    (void)state;
    static const char end[] = " HTTP/1.1\r\n\r\n";
    expect_long("GET ", 'a', PAWL__TARGET_BYTES_MAX, end, PAWL__FAULT_NONE);
    expect_long("GET ", 'a', PAWL__TARGET_BYTES_MAX + 1, end, PAWL__FAULT_URI_TOO_LONG);
    expect_long("", 'A', 33, " / HTTP/1.1\r\n\r\n", PAWL__FAULT_METHOD);
    static const char start[] = "GET / HTTP/1.1\r\nA: ";
    size_t most = BYTES_MAX - strlen(start) - 4;
    expect_long(start, 'a', most, "\r\n\r\n", PAWL__FAULT_NONE);
    expect_long(start, 'a', most + 1, "\r\n\r\n", PAWL__FAULT_HEADERS);
    expect_long(start, ' ', most + 1, "\r\n\r\n", PAWL__FAULT_HEADERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_good_heads_through),
        cmocka_unit_test(refuses_lines_that_end_oddly),
        cmocka_unit_test(refuses_folded_and_nameless_headers),
        cmocka_unit_test(refuses_nuls),
        cmocka_unit_test(wants_three_words),
        cmocka_unit_test(bounds_what_is_long),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
