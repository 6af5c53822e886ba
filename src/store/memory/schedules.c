/* Schedules: how those that are due are found, and how they are read.
 *
 * Runs on: the committer's thread, inside a transaction; reads on the caller's. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <string.h>

/* ---- those that are due ---- */

/* The next one behind an instant and a name: a walk, for there is no index. */
static const struct pawl__schedule *next_look(const struct pawl__backend *mem,
                                              const struct pawl__schedule *after)
{
    const struct pawl__schedule *best = NULL;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(SCHEDULE), PAWL__MEM_BY_KEY)
    {
        const struct pawl__schedule *at = row->data;
        bool behind = !after || at->look_at_ms > after->look_at_ms ||
                      (at->look_at_ms == after->look_at_ms && strcmp(at->name, after->name) > 0);
        if (!at->look_at_ms || !behind) continue;
        if (!best || at->look_at_ms < best->look_at_ms) best = at;
    }
    return best;
}

enum pawl_err pawl__mem_scan_schedules(struct pawl__backend *mem, int64_t limit)
{
    const struct pawl__schedule *at = next_look(mem, NULL);
    for (; at && at->look_at_ms <= mem->set.now_ms && limit > 0; limit--) {
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_SCHEDULE, at);
        at = next_look(mem, at);
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_schedule(struct pawl__backend *mem, int64_t *at_ms)
{
    const struct pawl__schedule *first = next_look(mem, NULL);
    *at_ms = first ? first->look_at_ms : 0;
    return PAWL_OK;
}

/* ---- reads ---- */

static bool fits(const struct pawl__schedule *row, const struct pawl__schedule_ask *ask)
{
    if (ask->what != PAWL__SCHEDULE_ASK_LIST) return strcmp(row->name, ask->name) == 0;
    const char *group = row->group ? row->group : "";
    bool named = strncmp(row->name, ask->prefix, strlen(ask->prefix)) == 0;
    bool grouped = !*ask->group || strcmp(group, ask->group) == 0;
    bool stated = !ask->states || ask->states & UINT32_C(1) << row->state;
    return strcmp(row->name, ask->name) > 0 && named && grouped && stated;
}

static bool copy_plan(const struct pawl__backend *mem, const char *name, struct pawl__arena *arena,
                      struct pawl__schedule_plan *out)
{
    const struct pawl__schedule_plan key = { .name = name };
    const struct pawl__mem_row *row =
        pawl__mem_find(mem, PAWL__MEM_RECORD(SCHEDULE_PLAN), pawl__mem_no_job, &key);
    return row && pawl__mem_copy(PAWL__MEM_RECORD(SCHEDULE_PLAN), row->data, arena, out);
}

static bool list_schedules(const struct pawl__backend *mem, const struct pawl__schedule_ask *ask,
                           struct pawl__arena *arena, struct pawl__schedule_rows *out)
{
    size_t limit = ask->what == PAWL__SCHEDULE_ASK_LIST ? (size_t)ask->limit : 1;
    out->schedules = pawl__arena_calloc(arena, limit, sizeof *out->schedules);
    out->plans = pawl__arena_calloc(arena, limit, sizeof *out->plans);
    if (!out->schedules || !out->plans) return false;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(SCHEDULE), PAWL__MEM_BY_KEY)
    {
        const struct pawl__schedule *schedule = row->data;
        size_t at = out->schedules_count;
        if (at == limit) break;
        if (!fits(schedule, ask)) continue;
        bool copied =
            pawl__mem_copy(PAWL__MEM_RECORD(SCHEDULE), schedule, arena, &out->schedules[at]) &&
            copy_plan(mem, schedule->name, arena, &out->plans[at]);
        if (!copied) return false;
        out->schedules_count = out->plans_count = at + 1;
    }
    return true;
}

static bool list_firings(const struct pawl__backend *mem, const struct pawl__schedule_ask *ask,
                         struct pawl__arena *arena, struct pawl__schedule_rows *out)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_FIRING, PAWL__MEM_BY_KEY);
    const struct pawl__firing key = { .schedule = ask->name, .number = ask->before };
    const struct pawl__mem_row probe = { .shape = &pawl__mem_shapes[PAWL__MEM_FIRING],
                                         .data = &key };
    out->firings = pawl__arena_calloc(arena, (size_t)ask->limit, sizeof *out->firings);
    if (!out->firings) return false;
    const struct pawl__mem_row *row = pawl__mem_before(index, &probe);
    for (; row && (int64_t)out->firings_count < ask->limit; row = pawl__mem_before(index, row)) {
        const struct pawl__firing *firing = row->data;
        if (strcmp(firing->schedule, ask->name) != 0) break;
        if (!pawl__mem_copy(PAWL__MEM_FIRING, firing, arena, &out->firings[out->firings_count++])) {
            return false;
        }
    }
    return true;
}

enum pawl_err pawl__mem_schedules(struct pawl__backend *mem, const struct pawl__schedule_ask *ask,
                                  struct pawl__arena *arena, struct pawl__schedule_rows *out,
                                  struct pawl_diag *diag)
{
    *out = (struct pawl__schedule_rows){ .schedules = NULL };
    pawl__lock(&mem->mutex);
    bool ok = list_schedules(mem, ask, arena, out);
    if (ok && ask->what == PAWL__SCHEDULE_ASK_HISTORY) ok = list_firings(mem, ask, arena, out);
    pawl__unlock(&mem->mutex);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}
