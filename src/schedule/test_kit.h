/* Timetables in one line, for this room's tests. */
#ifndef PAWL_SCHEDULE_TEST_KIT_H
#define PAWL_SCHEDULE_TEST_KIT_H

#include "schedule/schedule.h"

#include "base/test_kit.h"
#include "base/time_text.h"

#include <stdio.h>

/* Z("2026-01-01T00:00:00Z") */
static inline int64_t Z(const char *text)
{
    int64_t at_ms;
    if (pawl__instant_parse(text, &at_ms)) fail_msg("\"%s\" is not an instant", text);
    return at_ms;
}

static inline const struct pawl__zone *zone_named(const char *name)
{
    struct pawl__zones *zones = pawl__zones_new(NULL);
    const struct pawl__zone *zone = NULL;
    struct pawl_diag diag;
    assert_non_null(zones);
    if (pawl__zones_get(zones, name, &zone, &diag)) fail_msg("%s", diag.text);
    pawl__zones_free(zones);
    return zone;
}

/* To be released by `leave`. */
static inline struct pawl__timetable table_of(const char *expression, const char *zone)
{
    struct pawl__timetable table = { .zone = zone_named(zone) };
    struct pawl_diag diag;
    if (pawl__cron_parse(expression, PAWL_DIALECT_AUTO, &table.cron, NULL, &diag)) {
        fail_msg("%s", diag.text);
    }
    return table;
}

static inline void leave(struct pawl__timetable *table)
{
    pawl__zone_unref(table->zone);
}

static inline void assert_at(int64_t at_ms, const char *want)
{
    char got[PAWL__INSTANT_TEXT_BYTES] = "never";
    if (at_ms != PAWL__NEVER) pawl__instant_text(at_ms, got);
    int64_t want_ms = strcmp(want, "never") == 0 ? PAWL__NEVER : Z(want);
    if (at_ms != want_ms) fail_msg("%s, not %s", got, want);
}

#endif
