/* The one form of a chunked body, and that it does not matter how the bytes come. */
#include "http/transport/chunks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum outcome { WHOLE, UNFINISHED, WRONG };

static enum outcome take(const char *text, size_t len, size_t step)
{
    struct pawl__chunks chunks = { 0 };
    for (size_t at = 0; at < len; at += step) {
        size_t piece = len - at < step ? len - at : step;
        if (pawl__chunks_take(&chunks, text + at, piece)) return WRONG;
    }
    return chunks.at == PAWL__CHUNKS_END ? WHOLE : UNFINISHED;
}

static void expect(const char *text, enum outcome outcome)
{
    size_t len = strlen(text);
    for (size_t step = 1; step <= len; step++) {
        if (take(text, len, step) != outcome) fail_msg("\"%s\" in steps of %zu", text, step);
    }
}

static void takes_bodies_that_are_in_order(void **state)
{
    (void)state;
    expect("0\r\n\r\n", WHOLE);
    expect("2\r\nab\r\n0\r\n\r\n", WHOLE);
    expect("2\r\n\r\n\r\n0\r\n\r\n", WHOLE);
    expect("1\r\na\r\n00c\r\nhello, world\r\n000\r\n\r\n", WHOLE);
    expect("A;name=\"a value\"\r\n0123456789\r\n0;last\r\n\r\n", WHOLE);
    expect("2\r\nab\r\n", UNFINISHED);
    expect("2\r\nab\r\n0\r\n\r", UNFINISHED);
}

static void refuses_lines_that_end_oddly(void **state)
{
    (void)state;
    expect("0\r\n\n", WRONG);
    expect("0\n\r\n", WRONG);
    expect("0\r\r\n\r\n", WRONG);
    expect("0\r\n\r\r\n", WRONG);
    expect("2\nab\r\n0\r\n\r\n", WRONG);
    expect("2\r\nab\n0\r\n\r\n", WRONG);
    expect("2\r\nab\r0\r\n\r\n", WRONG);
    expect("2\r\nab0\r\n\r\n", WRONG);
    expect("2;a\nab\r\n0\r\n\r\n", WRONG);
}

static void refuses_sizes_that_are_none(void **state)
{
    (void)state;
    expect("\r\n\r\n", WRONG);
    expect(";a\r\n\r\n", WRONG);
    expect("+2\r\nab\r\n0\r\n\r\n", WRONG);
    expect("0x2\r\nab\r\n0\r\n\r\n", WRONG);
    expect(" 2\r\nab\r\n0\r\n\r\n", WRONG);
    expect("2 \r\nab\r\n0\r\n\r\n", WRONG);
    expect("2\t;a\r\nab\r\n0\r\n\r\n", WRONG);
    expect("1000000000000000\r\n", WRONG);
    expect("0000000000000002\r\nab\r\n0\r\n\r\n", WRONG);
}

static void nothing_stands_behind_the_last_chunk(void **state)
{
    (void)state;
    expect("0\r\nX-A: b\r\n\r\n", WRONG);
    expect("0\r\n\r\nG", WRONG);
}

static void one_chunked_is_the_only_coding(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum pawl__coding coding;
    } cases[] = {
        { "chunked", PAWL__CODING_CHUNKED },
        { "ChunKed", PAWL__CODING_CHUNKED },
        { " chunked\t ", PAWL__CODING_CHUNKED },
        { "gzip", PAWL__CODING_OTHER },
        { "identity", PAWL__CODING_OTHER },
        { "xchunked", PAWL__CODING_OTHER },
        { "chunkedx", PAWL__CODING_OTHER },
        { "gzip, chunked", PAWL__CODING_OTHER },
        { "gzip;q=\"a b\" ,chunked", PAWL__CODING_OTHER },
        { "", PAWL__CODING_MALFORMED },
        { " ", PAWL__CODING_MALFORMED },
        { ",", PAWL__CODING_MALFORMED },
        { "chunked,", PAWL__CODING_MALFORMED },
        { ",chunked", PAWL__CODING_MALFORMED },
        { "chunked, chunked", PAWL__CODING_MALFORMED },
        { "chunked, gzip", PAWL__CODING_MALFORMED },
        { "chunked;a=b", PAWL__CODING_MALFORMED },
        { "chunked gzip", PAWL__CODING_MALFORMED },
        { "gzip chunked", PAWL__CODING_MALFORMED },
        { "\x0b"
          "chunked",
          PAWL__CODING_MALFORMED },
        { "\"chunked\"", PAWL__CODING_MALFORMED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (pawl__coding_of(cases[i].value) != cases[i].coding) fail_msg("%s", cases[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_bodies_that_are_in_order),
        cmocka_unit_test(refuses_lines_that_end_oddly),
        cmocka_unit_test(refuses_sizes_that_are_none),
        cmocka_unit_test(nothing_stands_behind_the_last_chunk),
        cmocka_unit_test(one_chunked_is_the_only_coding),
    };
    return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
