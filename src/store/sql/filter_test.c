/* A filter as text and values, in a dialect that no database speaks. */
#include "store/sql/filter.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void states(struct pawl__draft *draft, uint32_t mask)
{
    pawl__draft_term(draft, draft->archive ? "old" : "new");
    pawl__draft_states(draft, mask);
}

static void ids(struct pawl__draft *draft, struct pawl_job_id low, struct pawl_job_id high)
{
    pawl__draft_term(draft, "id(?, ?)");
    pawl__draft_id(draft, low);
    pawl__draft_id(draft, high);
}

static const struct pawl__dialect dialect = {
    .mark = '#',
    .type = "type",
    .type_begins = "begins(?)",
    .tagged = "(tag",
    .meta = "meta(?, ?)",
    .live = { .worker = "w", .finished_at_ms = "f", .dead_letter = "d" },
    .archive = { .worker = "aw", .finished_at_ms = "af", .dead_letter = "ad" },
    .states = states,
    .ids = ids,
};

static void expect(struct pawl__draft *draft, const char *text)
{
    assert_false(draft->sql.failed);
    assert_string_equal(draft->sql.at, text);
    assert_int_equal(draft->marks, draft->count);
}

static void expect_number(const struct pawl__draft *draft, size_t at, int64_t number)
{
    assert_int_equal(draft->values[at].kind, PAWL__VALUE_NUMBER);
    assert_int_equal(draft->values[at].number, number);
}

static void expect_text(const struct pawl__draft *draft, size_t at, const char *text)
{
    assert_int_equal(draft->values[at].kind, PAWL__VALUE_TEXT);
    assert_int_equal(draft->values[at].text.len, strlen(text));
    assert_memory_equal(draft->values[at].text.at, text, strlen(text));
}

static void nothing_asked_is_no_term(void **ctx)
{
    (void)ctx;
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_text(&draft, "SELECT");
    pawl__draft_filter(&draft, &(struct pawl_filter){ .business_key = "" });
    expect(&draft, "SELECT");
    pawl__draft_release(&draft);
}

static void every_member_is_a_term(void **ctx)
{
    (void)ctx;
    const char *names[] = { "a", "b" };
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(1) | PAWL_STATE_BIT(7),
                                  .queues = names,
                                  .queue_count = 2,
                                  .types = names,
                                  .type_count = 1,
                                  .tags = names,
                                  .tag_count = 2,
                                  .business_key = "bk",
                                  .idempotency_key = "ik",
                                  .principal = "p",
                                  .trace_id = "t",
                                  .worker = "w",
                                  .meta_key = "m",
                                  .priority_given = true,
                                  .priority_min = -5,
                                  .priority_max = 5,
                                  .created_from_ms = 1,
                                  .created_until_ms = 2,
                                  .due_from_ms = 3,
                                  .due_until_ms = 4,
                                  .finished_from_ms = 5,
                                  .finished_until_ms = 6,
                                  .dead_letter = true };
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_filter(&draft, &filter);
    expect(&draft, " WHERE new IN (1, 7) AND q.name IN (#1, #2) AND type IN (#3)"
                   " AND (tag IN (#4, #5)) AND j.business_key = #6 AND j.idempotency_key = #7"
                   " AND j.principal = #8 AND w = #9 AND j.trace_id = #10 AND meta(#11, #12)"
                   " AND j.priority BETWEEN #13 AND #14 AND j.created_at_ms >= #15"
                   " AND j.created_at_ms < #16 AND j.due_at_ms >= #17 AND j.due_at_ms < #18"
                   " AND f >= #19 AND f < #20 AND d");
    expect_text(&draft, 1, "b");
    expect_text(&draft, 8, "w");
    expect_text(&draft, 11, ""); // a value that is not given is the empty one
    expect_number(&draft, 12, -5);
    expect_number(&draft, 19, 6);
    pawl__draft_release(&draft);
}

static void archive_has_columns_of_its_own(void **ctx)
{
    (void)ctx;
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    draft.archive = true;
    pawl__draft_filter(&draft, &(struct pawl_filter){ .states = PAWL_STATE_BIT(7),
                                                      .worker = "w",
                                                      .finished_from_ms = 5,
                                                      .dead_letter = true });
    expect(&draft, " WHERE old IN (7) AND aw = #1 AND af >= #2 AND ad");
    pawl__draft_release(&draft);
}

static void star_at_the_end_of_a_type_is_a_prefix(void **ctx)
{
    (void)ctx;
    const char *types[] = { "mail.send", "a*b.*", "*" };
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_filter(&draft, &(struct pawl_filter){ .types = types, .type_count = 3 });
    expect(&draft, " WHERE (type = #1 OR begins(#2) OR begins(#3))");
    expect_text(&draft, 0, "mail.send");
    expect_text(&draft, 1, "a*b.");
    expect_text(&draft, 2, "");
    pawl__draft_release(&draft);
}

static void prefix_of_an_id_is_a_range(void **ctx)
{
    (void)ctx;
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_filter(&draft, &(struct pawl_filter){ .id_prefix = "0197f3c2-7" });
    expect(&draft, " WHERE id(#1, #2)");
    assert_int_equal(draft.values[0].kind, PAWL__VALUE_ID);
    assert_int_equal(draft.values[0].id.b[4], 0x70);
    assert_int_equal(draft.values[1].id.b[4], 0x7f);
    pawl__draft_release(&draft);
}

static void parameters_of_a_text_come_first(void **ctx)
{
    (void)ctx;
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_text(&draft, "SELECT #1");
    pawl__draft_given(&draft, 9);
    pawl__draft_filter(&draft, &(struct pawl_filter){ .due_from_ms = 3 });
    expect(&draft, "SELECT #1 WHERE j.due_at_ms >= #2");
    expect_number(&draft, 0, 9);
    expect_number(&draft, 1, 3);
    pawl__draft_release(&draft);
}

static void longest_filter_has_room(void **ctx)
{
    (void)ctx;
    const char **names = calloc(PAWL__FILTER_NAMES_MAX, sizeof *names);
    assert_non_null(names);
    for (size_t i = 0; i < PAWL__FILTER_NAMES_MAX; i++) {
        names[i] = "n";
    }
    struct pawl_filter filter = { .id_prefix = "0197f3c2",
                                  .queues = names,
                                  .queue_count = PAWL__FILTER_NAMES_MAX,
                                  .business_key = "b",
                                  .idempotency_key = "i",
                                  .principal = "p",
                                  .trace_id = "t",
                                  .worker = "w",
                                  .meta_key = "m",
                                  .priority_given = true,
                                  .created_from_ms = 1,
                                  .created_until_ms = 1,
                                  .due_from_ms = 1,
                                  .due_until_ms = 1,
                                  .finished_from_ms = 1,
                                  .finished_until_ms = 1 };
    struct pawl_diag diag;
    assert_int_equal(PAWL_OK, pawl__filter_check(&filter, &diag));
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_filter(&draft, &filter);
    assert_true(draft.count + 8 <= PAWL__DRAFT_VALUES_MAX); // the statement's own
    pawl__draft_release(&draft);
    filter.tags = names;
    filter.tag_count = 1;
    assert_int_equal(PAWL_ERR_LIMIT, pawl__filter_check(&filter, &diag));
    assert_string_equal(diag.text, "a filter may name 480 queues, types and tags in all");
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_is_no_term),
        cmocka_unit_test(every_member_is_a_term),
        cmocka_unit_test(archive_has_columns_of_its_own),
        cmocka_unit_test(star_at_the_end_of_a_type_is_a_prefix),
        cmocka_unit_test(prefix_of_an_id_is_a_range),
        cmocka_unit_test(parameters_of_a_text_come_first),
        cmocka_unit_test(longest_filter_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
