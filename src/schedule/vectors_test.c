/* All cases of tests/schedule/vectors.json: what each expression fires at, and why others are
 * refused. They were worked out by hand and by a separate program, not by this library. */
#include "schedule/schedule.h"

#include "base/json.h"
#include "base/time_text.h"
#include "schedule/test_paths.h"

#include "base/test_kit.h"

#include <stdio.h>

struct file {
    struct pawl__arena arena;
    struct pawl__json json;
    struct pawl__zones *zones;
};

static int setup(void **state)
{
    struct file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    FILE *in = fopen(PAWL_TEST_VECTORS, "r");
    if (!in) fail_msg("cannot open \"%s\"", PAWL_TEST_VECTORS);
    struct pawl__buf text = { 0 };
    char chunk[4096];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, in)) > 0;) {
        pawl__buf_add(&text, chunk, got);
    }
    fclose(in);
    pawl__arena_init(&file->arena);
    char *copy = pawl__arena_dup(&file->arena, text.at, text.len);
    struct pawl_diag diag;
    if (pawl__json_parse((struct pawl_span){ copy, text.len }, 8, &file->arena, &file->json,
                         &diag)) {
        fail_msg("%s: %s", PAWL_TEST_VECTORS, diag.text);
    }
    pawl__buf_release(&text);
    file->zones = pawl__zones_new(NULL);
    *state = file;
    return 0;
}

static int teardown(void **state)
{
    struct file *file = *state;
    pawl__zones_free(file->zones);
    pawl__arena_release(&file->arena);
    free(file);
    return 0;
}

/* A member that is a string, or `absent`. */
static const char *text_of(struct file *file, uint32_t object, const char *name, const char *absent)
{
    uint32_t token = pawl__json_member(&file->json, object, name);
    return token ? pawl__json_string(&file->json, token, &file->arena, NULL) : absent;
}

static int64_t instant_of(const char *id, const char *text)
{
    int64_t at_ms;
    if (pawl__instant_parse(text, &at_ms)) fail_msg("%s: \"%s\" is not an instant", id, text);
    return at_ms;
}

static enum pawl_dialect dialect_of(const char *name)
{
    if (strcmp(name, "cron") == 0) return PAWL_DIALECT_CRON;
    return strcmp(name, "quartz") == 0 ? PAWL_DIALECT_QUARTZ : PAWL_DIALECT_AUTO;
}

static void check_case(struct file *file, uint32_t row)
{
    const char *id = text_of(file, row, "id", "?");
    const char *from = text_of(file, row, "from", "?");
    bool shift = strcmp(text_of(file, row, "gap", "skip"), "shift") == 0;
    struct pawl__timetable table = {
        .gap = shift ? PAWL_GAP_SHIFT : PAWL_GAP_SKIP,
        .anchor_at_ms = instant_of(id, text_of(file, row, "anchor", from)),
    };
    struct pawl_diag diag;
    if (pawl__zones_get(file->zones, text_of(file, row, "zone", "?"), &table.zone, &diag) ||
        pawl__cron_parse(text_of(file, row, "expression", "?"),
                         dialect_of(text_of(file, row, "dialect", "auto")), &table.cron, NULL,
                         &diag)) {
        fail_msg("%s: %s", id, diag.text);
    }
    int64_t at = instant_of(id, from);
    uint32_t list = pawl__json_member(&file->json, row, "next");
    uint32_t count = file->json.tokens[list].count, token = pawl__json_first(list);
    for (uint32_t i = 0; i < count; i++, token = file->json.tokens[token].next) {
        int64_t want = instant_of(id, pawl__json_string(&file->json, token, &file->arena, NULL));
        int64_t before = at;
        at = pawl__timetable_next(&table, at);
        if (at != want) {
            char got[PAWL__INSTANT_TEXT_BYTES] = "never";
            if (at != PAWL__NEVER) pawl__instant_text(at, got);
            fail_msg("%s: firing %u is %s", id, i, got);
        }
        int64_t earlier = pawl__timetable_previous(&table, at);
        if (pawl__timetable_previous(&table, at + 1) != at ||
            pawl__timetable_next(&table, at - 1) != at ||
            (earlier != PAWL__NEVER && earlier > before)) {
            fail_msg("%s: firing %u is not found again", id, i);
        }
    }
    if (count < 5 && pawl__timetable_next(&table, at) != PAWL__NEVER) {
        fail_msg("%s: it does not end", id);
    }
    pawl__zone_unref(table.zone);
}

static void every_case_fires_when_it_should(void **state)
{
    struct file *file = *state;
    uint32_t list = pawl__json_member(&file->json, 0, "cases");
    uint32_t count = file->json.tokens[list].count, row = pawl__json_first(list);
    assert_true(count > 400);
    for (uint32_t i = 0; i < count; i++, row = file->json.tokens[row].next) {
        check_case(file, row);
    }
}

/* The code of the reason, "" if nothing is wrong. */
static const char *reason_of(struct file *file, uint32_t row)
{
    struct pawl_recurrence recurrence = {
        .expression = text_of(file, row, "expression", ""),
        .zone = text_of(file, row, "zone", ""),
        .dialect = dialect_of(text_of(file, row, "dialect", "auto")),
    };
    const char *from = text_of(file, row, "from", "2026-01-01T00:00:00Z");
    enum pawl_cron_reason reason;
    struct pawl_diag diag = { 0 };
    struct pawl__timetable table = { .zone = NULL };
    if (pawl__cron_parse(recurrence.expression, recurrence.dialect, &table.cron, &reason, &diag)) {
        assert_string_equal(diag.field, "expression");
        return pawl_cron_reason_code(reason);
    }
    if (pawl__zones_get(file->zones, recurrence.zone, &table.zone, &diag)) {
        assert_string_equal(diag.field, "zone");
        return pawl_cron_reason_code(PAWL_CRON_REASON_BAD_ZONE);
    }
    int64_t next = pawl__timetable_next(&table, instant_of("refused", from));
    pawl__zone_unref(table.zone);
    return next == PAWL__NEVER ? pawl_cron_reason_code(PAWL_CRON_REASON_PAST) : "";
}

static void every_refusal_has_its_reason(void **state)
{
    struct file *file = *state;
    uint32_t list = pawl__json_member(&file->json, 0, "refused");
    uint32_t count = file->json.tokens[list].count, row = pawl__json_first(list);
    bool seen[PAWL_CRON_REASON_END] = { false };
    assert_true(count > 100);
    for (uint32_t i = 0; i < count; i++, row = file->json.tokens[row].next) {
        const char *want = text_of(file, row, "reason", "?"), *got = reason_of(file, row);
        if (strcmp(want, got) != 0) {
            fail_msg("%s: \"%s\": refused for \"%s\", not for \"%s\"", text_of(file, row, "id", ""),
                     text_of(file, row, "expression", ""), got, want);
        }
        for (int reason = 1; reason < PAWL_CRON_REASON_END; reason++) {
            if (strcmp(want, pawl_cron_reason_code(reason)) == 0) seen[reason] = true;
        }
    }
    for (int reason = 1; reason < PAWL_CRON_REASON_END; reason++) {
        if (!seen[reason]) fail_msg("no case of \"%s\"", pawl_cron_reason_code(reason));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_fires_when_it_should),
        cmocka_unit_test(every_refusal_has_its_reason),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
