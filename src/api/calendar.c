/* Recurring expressions without a store: check, coming fires, words. */
#include "api/api.h"
#include "base/check.h"
#include "base/diag.h"
#include "schedule/schedule.h"

#include <pawl/calendar.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_MS (366 * INT64_C(86400000))

/* A recurrence ready for use. Zeroes: nothing to release. */
struct ready {
    struct pawl__timetable table;
    int64_t *instants;
};

static void release(struct ready *ready)
{
    pawl__zone_unref(ready->table.zone);
    free(ready->instants);
}

static enum pawl_err copy_instants(const struct pawl_recurrence *recurrence, struct ready *ready,
                                   struct pawl_diag *diag)
{
    size_t count = recurrence->instant_count;
    if (recurrence->expression) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "instants",
                                "instants are given instead of an expression, not besides one");
    }
    if (count > PAWL_INSTANTS_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "instants",
                                "at most %d instants can be given", PAWL_INSTANTS_MAX);
    }
    ready->instants = malloc(count * sizeof *ready->instants + 1);
    if (!ready->instants) return pawl__fail_nomem(diag);
    if (count > 0) memcpy(ready->instants, recurrence->instants, count * sizeof *ready->instants);
    ready->table.instants = ready->instants;
    ready->table.instant_count = pawl__instants_sort(ready->instants, count);
    return PAWL_OK;
}

static enum pawl_err find_zone(const char *name, struct ready *ready, struct pawl_diag *diag)
{
    struct pawl__zones *zones = pawl__zones_new(NULL);
    if (!zones) return pawl__fail_nomem(diag);
    enum pawl_err err =
        pawl__zones_get(zones, name && *name ? name : "UTC", &ready->table.zone, diag);
    pawl__zones_free(zones);
    return err;
}

/* `reason` is set if the expression or the zone is refused. Release `out` in any case. */
static enum pawl_err prepare(const struct pawl_recurrence *recurrence, int64_t now_ms,
                             struct ready *out, enum pawl_cron_reason *reason,
                             struct pawl_diag *diag)
{
    int64_t anchor = recurrence->anchor_at_ms;
    if (!anchor) anchor = recurrence->start_at_ms ? recurrence->start_at_ms : now_ms;
    *out = (struct ready){ .table = { .gap = recurrence->gap,
                                      .anchor_at_ms = anchor,
                                      .start_at_ms = recurrence->start_at_ms,
                                      .end_at_ms = recurrence->end_at_ms } };
    enum pawl_err err;
    if (recurrence->instants) {
        err = copy_instants(recurrence, out, diag);
    } else {
        err = pawl__cron_parse(recurrence->expression ? recurrence->expression : "",
                               recurrence->dialect, &out->table.cron, reason, diag);
    }
    if (err) return err;
    err = find_zone(recurrence->zone, out, diag);
    if (err == PAWL_ERR_ARG) *reason = PAWL_CRON_REASON_BAD_ZONE;
    return err;
}

enum pawl_err pawl_recurrence_check(const struct pawl_recurrence *recurrence, int64_t now_ms,
                                    enum pawl_cron_reason *reason, struct pawl_diag *diag)
{
    assert(recurrence);
    struct ready ready;
    enum pawl_cron_reason why = PAWL_CRON_REASON_NONE;
    enum pawl_err err = prepare(recurrence, now_ms, &ready, &why, diag);
    if (!err && pawl__timetable_next(&ready.table, now_ms) == PAWL__NEVER) {
        why = PAWL_CRON_REASON_PAST;
        err = recurrence->instants
                  ? pawl__fail_field(diag, PAWL_ERR_ARG, "instants", "all instants are in the past")
                  : pawl__fail_field(diag, PAWL_ERR_ARG, "expression",
                                     "expression \"%s\": all its firings are in the past",
                                     pawl__quote(recurrence->expression).text);
    }
    if (err && reason) *reason = why;
    release(&ready);
    return err;
}

/* What comes at or before `next_ms`, the next fire: a gap that swallows times, or that fire. */
static struct pawl_coming coming_of(const struct pawl__timetable *table, int64_t from_ms,
                                    int64_t next_ms)
{
    struct pawl__lost lost;
    if (pawl__timetable_lost(table, from_ms, next_ms, &lost)) {
        return (struct pawl_coming){
            .at_ms = lost.gap_at_ms,
            .offset_s = pawl__zone_offset(table->zone, lost.gap_at_ms),
            .note = PAWL_FIRE_LOST,
            .lost_count = lost.count,
            .lost_offset_s = pawl__zone_offset(table->zone, lost.gap_at_ms - 1),
        };
    }
    return (struct pawl_coming){ .at_ms = next_ms,
                                 .offset_s = pawl__zone_offset(table->zone, next_ms),
                                 .note = pawl__timetable_note(table, next_ms) };
}

enum pawl_err pawl_coming(const struct pawl_recurrence *recurrence, int64_t from_ms,
                          struct pawl_coming *out, size_t max, size_t *count,
                          struct pawl_diag *diag)
{
    assert(recurrence && out && count);
    struct ready ready;
    enum pawl_cron_reason reason;
    enum pawl_err err = prepare(recurrence, from_ms, &ready, &reason, diag);
    size_t done = 0;
    int64_t lost_until = from_ms; // gaps up to here have been reported
    while (!err && done < max) {
        int64_t next = pawl__timetable_next(&ready.table, from_ms);
        if (next == PAWL__NEVER) break;
        out[done] = coming_of(&ready.table, lost_until, next);
        lost_until = out[done].at_ms;
        if (out[done].note != PAWL_FIRE_LOST) from_ms = next;
        done++;
    }
    release(&ready);
    if (!err) *count = done;
    return err;
}

enum pawl_err pawl_recurrence_words(const struct pawl_recurrence *recurrence, int64_t now_ms,
                                    char out[PAWL_RECURRENCE_WORDS_BYTES], struct pawl_diag *diag)
{
    assert(recurrence && out);
    struct ready ready;
    struct pawl__buf words = { 0 };
    enum pawl_cron_reason reason;
    enum pawl_err err = prepare(recurrence, now_ms, &ready, &reason, diag);
    if (!err) {
        pawl__timetable_words(&ready.table, &words);
        pawl__timetable_clock_words(&ready.table, now_ms, now_ms + YEAR_MS, &words);
        if (words.failed) err = pawl__fail_nomem(diag);
    }
    if (!err) {
        bool fits = words.len < PAWL_RECURRENCE_WORDS_BYTES;
        size_t len = fits ? words.len : PAWL_RECURRENCE_WORDS_BYTES - 4;
        memcpy(out, words.at, len);
        memcpy(out + len, fits ? "" : "...", fits ? 1 : 4);
    }
    pawl__buf_release(&words);
    release(&ready);
    return err;
}
