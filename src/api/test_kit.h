/* For the tests of this room: a clock that is moved by hand, a store in memory, and checks that
 * name the failed row of a table. Not part of the library. */
#ifndef PAWL_API_TEST_KIT_H
#define PAWL_API_TEST_KIT_H

#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define KIT_NOW_MS INT64_C(1774951205123) /* 2026-03-31T10:00:05.123Z */
#define KIT_SEED 7

struct kit {
    _Atomic int64_t now_ms; /* moved by the test, read by any thread */
    struct pawl_clock clock;
    struct pawl *pawl;
};

static inline int64_t kit_wall_ms(void *ctx)
{
    return ((struct kit *)ctx)->now_ms;
}

static inline int64_t kit_mono_us(void *ctx)
{
    return ((struct kit *)ctx)->now_ms * 1000;
}

static inline int kit_open(void **state)
{
    struct kit *kit = calloc(1, sizeof *kit);
    if (!kit) return -1;
    struct pawl_diag diag;
    kit->now_ms = KIT_NOW_MS;
    kit->clock = (struct pawl_clock){ kit_wall_ms, kit_mono_us, kit };
    struct pawl_config config = {
        .store = "sqlite::memory:", .clock = &kit->clock, .seed = KIT_SEED
    };
    if (pawl_open(&config, &kit->pawl, &diag)) {
        print_error("could not open: %s\n", diag.text);
        free(kit);
        return -1;
    }
    *state = kit;
    return 0;
}

static inline int kit_close(void **state)
{
    struct kit *kit = *state;
    pawl_close(kit->pawl);
    free(kit);
    return 0;
}

/* For calls that must succeed: shows the error otherwise. */
#define KIT_OK(call)                                                                               \
    do {                                                                                           \
        struct pawl_diag diag = { .text = "" };                                                    \
        enum pawl_err kit_err = (call);                                                            \
        if (kit_err) print_error("%s: %s: %s\n", #call, diag.field, diag.text);                    \
        assert_int_equal(kit_err, PAWL_OK);                                                        \
    } while (0)

/* For calls that must fail, with `&diag` as their last argument. */
#define KIT_FAILS(call, expected, expected_field)                                                  \
    do {                                                                                           \
        struct pawl_diag diag = { .text = "" };                                                    \
        enum pawl_err kit_err = (call);                                                            \
        if (kit_err != (expected)) print_error("%s: %s\n", #call, diag.text);                      \
        assert_int_equal(kit_err, expected);                                                       \
        assert_int_equal(diag.err, expected);                                                      \
        assert_string_equal(diag.field, expected_field);                                           \
        assert_true(diag.text[0] != '\0');                                                         \
    } while (0)

/* `count` times `unit`, on the heap: for values just inside and just outside a limit. */
static inline char *kit_repeat(const char *unit, size_t count)
{
    size_t len = strlen(unit);
    char *text = malloc(count * len + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * len, unit, len);
    }
    text[count * len] = '\0';
    return text;
}

static inline struct pawl_span kit_span(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

#endif
