/* Names are kept once, and go with their last holder. */
#include "base/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void holds_equal_names_once(void **state)
{
    (void)state;
    struct pawl__names *names = calloc(1, sizeof *names);
    struct pawl__name *a = pawl__names_hold(names, "mail");
    struct pawl__name *b = pawl__names_hold(names, "mail");
    struct pawl__name *c = pawl__names_hold(names, "mai");
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(names->count, 2);
    assert_string_equal(a->text, "mail");
    pawl__names_release(names);
    free(names);
}

static void forgets_name_with_its_last_holder(void **state)
{
    (void)state;
    struct pawl__names *names = calloc(1, sizeof *names);
    struct pawl__name *name = pawl__names_hold(names, "mail");
    pawl__names_hold(names, "mail");
    pawl__names_drop(names, name);
    assert_ptr_equal(pawl__names_find(names, "mail"), name);
    pawl__names_drop(names, name);
    assert_null(pawl__names_find(names, "mail"));
    assert_int_equal(names->count, 0);
    pawl__names_drop(names, NULL);
    free(names);
}

/* More names than buckets, so that chains are walked and mended in the middle. */
static void tells_many_names_apart(void **state)
{
    (void)state;
    enum { COUNT = 3 * PAWL__NAME_BUCKETS };
    struct pawl__names *names = calloc(1, sizeof *names);
    static struct pawl__name *held[COUNT];
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "queue-%d", i);
        held[i] = pawl__names_hold(names, text);
    }
    for (int i = 0; i < COUNT; i += 2) {
        pawl__names_drop(names, held[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "queue-%d", i);
        assert_ptr_equal(pawl__names_find(names, text), i % 2 ? held[i] : NULL);
    }
    assert_int_equal(names->count, COUNT / 2);
    pawl__names_release(names);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_equal_names_once),
        cmocka_unit_test(forgets_name_with_its_last_holder),
        cmocka_unit_test(tells_many_names_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
