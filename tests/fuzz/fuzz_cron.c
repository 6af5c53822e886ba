/* What holds for any text as an expression, in any dialect:
 *
 * 1. one that is refused has a reason, and the diagnosis the field;
 * 2. one that reads fires some time from 1970 on, and its instants grow;
 * 3. next(t) = next(next(t) - 1), previous is its inverse, and two neighbours count as two;
 * 4. it reads in words.
 *
 * And any bytes as a zone's file are refused, or such a zone does no harm either. */
#include "schedule/schedule.h"
#include "fuzz.h"

#include <string.h>

static void check_instants(const struct pawl__timetable *table)
{
    int64_t at = pawl__timetable_next(table, -3 * INT64_C(86400000));
    for (int i = 0; i < 4 && at != PAWL__NEVER; i++) {
        must(pawl__timetable_next(table, at - 1) == at);
        must(pawl__timetable_previous(table, at + 1) == at);
        int64_t next = pawl__timetable_next(table, at);
        must(next > at);
        if (next == PAWL__NEVER) break;
        must(pawl__timetable_previous(table, next) == at);
        must(pawl__timetable_passed(table, at, next).count == 2);
        at = next;
    }
}

static void check_words(const struct pawl__timetable *table)
{
    struct pawl__buf out = { 0 };
    pawl__timetable_words(table, &out);
    must(out.failed || out.len > 0);
    pawl__timetable_clock_words(table, 0, INT64_C(100000000000), &out);
    pawl__buf_release(&out);
}

static void check_expression(const char *text, enum pawl_dialect dialect)
{
    struct pawl__timetable table = { .zone = pawl__zone_utc() };
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    struct pawl_diag diag = { 0 };
    if (pawl__cron_parse(text, dialect, &table.cron, &reason, &diag)) {
        must(reason > PAWL_CRON_REASON_NONE && reason < PAWL_CRON_REASON_BAD_ZONE);
        must(strcmp(diag.field, "expression") == 0 && diag.text[0]);
        return;
    }
    must(pawl__timetable_next(&table, -1) != PAWL__NEVER);
    check_instants(&table);
    check_words(&table);
}

static void check_zone(const uint8_t *data, size_t size)
{
    static const char *const expressions[] = { "30 2 * * *", "15 * 31 3,10 *", "0 0 * 3 SUNL" };
    const struct pawl__zone *zone = NULL;
    if (pawl__zone_parse("Fuzz/Zone", data, size, &zone, NULL)) return;
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        struct pawl__timetable table = { .zone = zone, .gap = i % 2 + 1 };
        must(!pawl__cron_parse(expressions[i], PAWL_DIALECT_CRON, &table.cron, NULL, NULL));
        check_instants(&table);
        check_words(&table);
    }
    pawl__zone_unref(zone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    for (int dialect = PAWL_DIALECT_AUTO; dialect < PAWL_DIALECT_END; dialect++) {
        check_expression(text, dialect);
    }
    check_zone(data, size);
    free(text);
    return 0;
}
