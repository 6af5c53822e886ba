/* Tests filters and pages: what is refused, with which field, and what the store gets. */
#include "api/filter.h"
#include "api/check.h"
#include "api/test_kit.h"

#define INSTANT_MAX INT64_C(253402300799999)

struct row {
    struct pawl_filter filter;
    enum pawl_err err;
    const char *field;
};

#define FINE PAWL_OK, ""
#define ARG(field) PAWL_ERR_ARG, field
#define LIMIT(field) PAWL_ERR_LIMIT, field

static enum pawl_err complete(const struct pawl_filter *given, struct pawl_diag *diag)
{
    struct pawl__arena arena;
    struct pawl_filter out;
    pawl__arena_init(&arena);
    enum pawl_err err = pawl__filter_complete(given, &arena, &out, diag);
    pawl__arena_release(&arena);
    return err;
}

static void try_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pawl_diag diag = { .err = PAWL_OK };
        enum pawl_err err = complete(&rows[i].filter, &diag);
        bool right = err == rows[i].err && diag.err == err &&
                     strcmp(diag.field, rows[i].field) == 0;
        if (!right) {
            print_error("row %zu: got %s at \"%s\" (%s)\n", i, pawl_err_name(err), diag.field,
                        diag.text);
        }
        assert_true(right);
    }
}

static void states_and_priorities_keep_their_bounds(void **state)
{
    (void)state;
    const struct row rows[] = {
        { { .states = 0 }, FINE },
        { { .states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_EXPIRED) },
          FINE },
        { { .states = PAWL_STATE_BIT(PAWL_STATE_NONE) }, ARG("filter.states") },
        { { .states = PAWL_STATE_BIT(PAWL_STATE_END) }, ARG("filter.states") },
        { { .priority_given = true, .priority_min = 1, .priority_max = 1 }, FINE },
        { { .priority_given = true, .priority_min = INT32_MIN, .priority_max = INT32_MAX }, FINE },
        { { .priority_given = true, .priority_min = 2, .priority_max = 1 },
          ARG("filter.priority_max") },
        { { .priority_min = 2, .priority_max = 1 }, FINE }, // not requested
    };
    try_rows(rows, COUNT(rows));
}

static void times_keep_their_bounds(void **state)
{
    (void)state;
    const struct row rows[] = {
#define RANGE(name)                                                                                \
    { { .name##_from_ms = INSTANT_MAX }, FINE },                                                   \
        { { .name##_from_ms = INSTANT_MAX + 1 }, ARG("filter." #name "_from_ms") },                \
        { { .name##_from_ms = -1 }, ARG("filter." #name "_from_ms") },                             \
        { { .name##_until_ms = INSTANT_MAX }, FINE },                                              \
        { { .name##_until_ms = INSTANT_MAX + 1 }, ARG("filter." #name "_until_ms") },              \
        { { .name##_until_ms = -1 }, ARG("filter." #name "_until_ms") },                           \
        { { .name##_from_ms = 5, .name##_until_ms = 5 }, FINE },                                   \
        { { .name##_from_ms = 6, .name##_until_ms = 5 }, ARG("filter." #name "_until_ms") },
        RANGE(created) RANGE(due) RANGE(finished)
    };
    try_rows(rows, COUNT(rows));
}

static void texts_are_printable_and_bounded(void **state)
{
    (void)state;
    char *inside = kit_repeat("k", 255);
    char *outside = kit_repeat("k", 256);
    char *value = kit_repeat("v", 1024);
    char *value_outside = kit_repeat("v", 1025);
    const struct row rows[] = {
#define TEXT(member)                                                                               \
    { { .member = "k" }, FINE }, { { .member = inside }, FINE },                                   \
        { { .member = outside }, LIMIT("filter." #member) },                                       \
        { { .member = "" }, ARG("filter." #member) },                                              \
        { { .member = "a\nb" }, ARG("filter." #member) },
        TEXT(business_key) // clang-format off
        TEXT(idempotency_key)
        TEXT(principal)
        TEXT(worker)
        TEXT(trace_id) // clang-format on
        { { .id_prefix = "0197f3c2-7a" }, FINE },
        { { .id_prefix = "0197f3c" }, ARG("filter.id_prefix") },
        { { .id_prefix = "" }, ARG("filter.id_prefix") },
        { { .id_prefix = "0197f3cx" }, ARG("filter.id_prefix") },
        { { .id_prefix = outside }, ARG("filter.id_prefix") },
        { { .meta_key = "k", .meta_value = "v" }, FINE },
        { { .meta_key = inside, .meta_value = value }, FINE },
        { { .meta_key = outside, .meta_value = "v" }, LIMIT("filter.meta_key") },
        { { .meta_key = "k", .meta_value = value_outside }, LIMIT("filter.meta_value") },
        { { .meta_key = "k" }, ARG("filter.meta_value") },
        { { .meta_value = "v" }, ARG("filter.meta_key") },
    };
    try_rows(rows, COUNT(rows));
    free(inside);
    free(outside);
    free(value);
    free(value_outside);
}

static void lists_are_bounded_and_without_holes(void **state)
{
    (void)state;
    const char *many[101];
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = "q";
    }
    const char *const hole[] = { "a", NULL };
    const char *const blank[] = { " " };
    const char *const names[] = { "No.Such-Queue" };
    const struct row rows[] = {
#define LIST(list, number)                                                                         \
    { { .list = many, .number = 100 }, FINE },                                                     \
        { { .list = many, .number = 101 }, LIMIT("filter." #list) },                               \
        { { .list = hole, .number = 2 }, ARG("filter." #list "[1]") },                             \
        { { .list = NULL, .number = 1 }, ARG("filter." #list) },
        LIST(queues, queue_count) // clang-format off
        LIST(types, type_count)
        LIST(tags, tag_count) // clang-format on
        { { .queues = names, .queue_count = 1, .types = names, .type_count = 1 }, FINE },
        { { .tags = blank, .tag_count = 1 }, ARG("filter.tags[0]") },
    };
    try_rows(rows, COUNT(rows));
}

static void star_of_a_type_stands_alone_or_after_a_dot(void **state)
{
    (void)state;
    const char *const all[] = { "*" }, *const dotted[] = { "a", "mail.*" };
    const char *const bare[] = { "a", "mail*" }, *const first[] = { "*.send" };
    const char *const dot[] = { ".*" };
    const struct row rows[] = {
        { { .types = all, .type_count = 1 }, FINE },
        { { .types = dotted, .type_count = 2 }, FINE },
        { { .types = bare, .type_count = 2 }, ARG("filter.types") },
        { { .types = first, .type_count = 1 }, ARG("filter.types") },
        { { .types = dot, .type_count = 1 }, ARG("filter.types") },
    };
    try_rows(rows, COUNT(rows));
}

static void tags_are_cleaned_as_those_of_a_spec(void **state)
{
    (void)state;
    struct pawl__arena arena;
    struct pawl_filter out;
    pawl__arena_init(&arena);
    const char *const tags[] = { " Billing ", "EU" };
    struct pawl_filter given = { .tags = tags, .tag_count = 2 };
    KIT_OK(pawl__filter_complete(&given, &arena, &out, &diag));
    assert_int_equal(out.tag_count, 2);
    assert_string_equal(out.tags[0], "billing");
    assert_string_equal(out.tags[1], "eu");
    assert_ptr_equal(given.tags, tags);
    pawl__arena_release(&arena);
}

static void no_filter_finds_all(void **state)
{
    (void)state;
    struct pawl_filter out = { .states = 4 }, zero = { .states = 0 };
    KIT_OK(pawl__filter_complete(NULL, NULL, &out, &diag));
    assert_memory_equal(&out, &zero, sizeof zero);
}

static void page_has_1_to_1000_jobs(void **state)
{
    (void)state;
    struct pawl_page out;
    KIT_OK(pawl__page_complete(NULL, &out, &diag));
    assert_int_equal(out.limit, 50);
    assert_null(out.cursor);
    KIT_OK(pawl__page_complete(&(struct pawl_page){ .limit = 1 }, &out, &diag));
    assert_int_equal(out.limit, 1);
    KIT_OK(pawl__page_complete(&(struct pawl_page){ .limit = 1000 }, &out, &diag));
    KIT_FAILS(pawl__page_complete(&(struct pawl_page){ .limit = 1001 }, &out, &diag), PAWL_ERR_ARG,
              "page.limit");
    KIT_FAILS(pawl__page_complete(&(struct pawl_page){ .limit = -1 }, &out, &diag), PAWL_ERR_ARG,
              "page.limit");
}

static void cursor_fits_or_is_none(void **state)
{
    (void)state;
    struct pawl_page out;
    char *inside = kit_repeat("c", PAWL_CURSOR_BYTES - 1);
    char *outside = kit_repeat("c", PAWL_CURSOR_BYTES);
    KIT_OK(pawl__page_complete(&(struct pawl_page){ .cursor = "" }, &out, &diag));
    assert_null(out.cursor);
    KIT_OK(pawl__page_complete(&(struct pawl_page){ .cursor = inside }, &out, &diag));
    assert_string_equal(out.cursor, inside);
    KIT_FAILS(pawl__page_complete(&(struct pawl_page){ .cursor = outside }, &out, &diag),
              PAWL_ERR_ARG, "page.cursor");
    free(inside);
    free(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_and_priorities_keep_their_bounds),
        cmocka_unit_test(times_keep_their_bounds),
        cmocka_unit_test(texts_are_printable_and_bounded),
        cmocka_unit_test(lists_are_bounded_and_without_holes),
        cmocka_unit_test(star_of_a_type_stands_alone_or_after_a_dot),
        cmocka_unit_test(tags_are_cleaned_as_those_of_a_spec),
        cmocka_unit_test(no_filter_finds_all),
        cmocka_unit_test(page_has_1_to_1000_jobs),
        cmocka_unit_test(cursor_fits_or_is_none),
    };
    return cmocka_run_group_tests_name("api/filter", tests, NULL, NULL);
}
