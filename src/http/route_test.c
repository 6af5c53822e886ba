/* Paths and the routes that they match. */
#include "http/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pawl_span parts[PAWL__PATH_PARTS_MAX];
static size_t count;

static bool matches(const char *pattern, const char *path)
{
    return pawl__route_matches(pattern, path, parts, &count);
}

/* The route's own path, each {part} replaced by the n-th value. */
static void fill(const char *pattern, char *out)
{
    for (int n = 1; *pattern; pattern++) {
        if (*pattern == '{') {
            out += snprintf(out, 16, "value-%d", n++);
            pattern += strcspn(pattern, "}");
        } else {
            *out++ = *pattern;
        }
    }
    *out = '\0';
}

static void every_route_matches_its_own_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < pawl__route_count; i++) {
        char path[256], value[32];
        fill(pawl__routes[i].path, path);
        assert_true(matches(pawl__routes[i].path, path));
        for (size_t k = 0; k < count; k++) {
            snprintf(value, sizeof value, "value-%zu", k + 1);
            assert_int_equal(parts[k].len, strlen(value));
            assert_memory_equal(parts[k].at, value, parts[k].len);
        }
    }
}

static void no_route_matches_more_or_less_than_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < pawl__route_count; i++) {
        char path[256];
        const char *pattern = pawl__routes[i].path;
        fill(pattern, path);
        size_t len = strlen(path);
        memcpy(path + len, "/", 2);
        if (len > 1) assert_false(matches(pattern, path));
        memcpy(path + len, "/x", 3);
        if (len > 1) assert_false(matches(pattern, path));
        *strrchr(path, '/') = '\0';
        *strrchr(path, '/') = '\0';
        assert_false(matches(pattern, path));
    }
}

/* The document of the API knows no order: a path that is in it must not be hidden by another. */
static void every_path_is_found_before_those_that_match_it_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < pawl__route_count; i++) {
        char path[256];
        fill(pawl__routes[i].path, path);
        const struct pawl__route *found = pawl__route_find(path, parts, &count);
        assert_non_null(found);
        assert_string_equal(found->path, pawl__routes[i].path);
    }
    assert_null(pawl__route_find("/nowhere", parts, &count));
}

static void methods_are_those_of_the_path(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/health", "GET, HEAD" },
        { "/ojs/v1/jobs/batch", "POST" },
        { "/ojs/v1/jobs/x", "GET, HEAD, DELETE, PATCH" },
        { "/api/jobs/x/stop", "GET, POST" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl__buf methods = { 0 };
        pawl__route_methods(pawl__route_find(cases[i][0], parts, &count), &methods);
        assert_int_equal(methods.len, strlen(cases[i][1]));
        assert_memory_equal(methods.at, cases[i][1], methods.len);
        pawl__buf_release(&methods);
    }
}

static void a_part_is_one_segment_and_not_empty(void **state)
{
    (void)state;
    assert_true(matches("/jobs/{id}/ack", "/jobs/{/ack"));
    assert_int_equal(parts[0].len, 1);
    assert_false(matches("/jobs/{id}/ack", "/jobs//ack"));
    assert_false(matches("/jobs/{id}/ack", "/jobs/a/b/ack"));
    assert_false(matches("/jobs/{id}", "/jobs/"));
    assert_false(matches("/jobs/{id}", "/jobs/a/"));
    assert_false(matches("/jobs/batch", "/jobs/{id}"));
    assert_false(matches("/jobs/{id}", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_matches_its_own_path),
        cmocka_unit_test(no_route_matches_more_or_less_than_its_path),
        cmocka_unit_test(every_path_is_found_before_those_that_match_it_too),
        cmocka_unit_test(methods_are_those_of_the_path),
        cmocka_unit_test(a_part_is_one_segment_and_not_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
