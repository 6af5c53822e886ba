/* Is the store as it must be? What is kept twice is compared. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const struct pawl__backend *mem;
    pawl_finding_fn *report;
    void *ctx;
    int64_t found;
};

static void find(struct check *check, const char *text)
{
    check->found++;
    if (check->report) check->report(check->ctx, text);
}

/* How many rows an index has; they must be in order. */
static size_t count_rows(struct check *check, enum pawl__mem_table table, size_t at)
{
    const struct pawl__mem_index *index = pawl__mem_index_of(check->mem, table, at);
    const struct pawl__mem_row *last = NULL;
    size_t count = 0;
    PAWL__MEM_EACH(row, check->mem, table, at)
    {
        if (last && index->compare(last, row) >= 0) find(check, "an index is out of order");
        last = row;
        count++;
    }
    return count;
}

static size_t count_held(const struct check *check, enum pawl__mem_table table,
                         pawl__mem_holds_fn *holds)
{
    size_t count = 0;
    PAWL__MEM_EACH(row, check->mem, table, PAWL__MEM_BY_KEY)
    {
        count += !holds || holds(row);
    }
    return count;
}

static void check_indexes(struct check *check)
{
    for (int table = 0; table < PAWL__MEM_TABLES; table++) {
        const struct pawl__mem_shape *shape = &pawl__mem_shapes[table];
        for (size_t i = 0; i < shape->order_count; i++) {
            size_t there = count_rows(check, (enum pawl__mem_table)table, i);
            size_t wanted = count_held(check, (enum pawl__mem_table)table, shape->orders[i].holds);
            if (there != wanted) find(check, "an index has not the rows that it should have");
        }
    }
}

static void check_counts(struct check *check, struct pawl__mem_counts *seen)
{
    const struct pawl__backend *mem = check->mem;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_JOB, PAWL__MEM_JOB_BY_ID)
    {
        const struct pawl__mem_job *job = row->data;
        seen[job->lane].n[job->archived ? PAWL_STATE_NONE : job->state]++;
    }
    for (uint32_t lane = 0; lane < mem->set.catalog.lane_count; lane++) {
        for (int state = 0; state < PAWL_STATE_END; state++) {
            if (seen[lane].n[state] == mem->counts[lane].n[state]) continue;
            char text[128];
            snprintf(text, sizeof text,
                     "lane %" PRIu32 " has %" PRId64 " jobs in state %d, its counter says %" PRId64,
                     lane, seen[lane].n[state], state, mem->counts[lane].n[state]);
            find(check, text);
        }
    }
}

/* What is kept with a job goes with it. */
static void check_orphans(struct check *check)
{
    static const enum pawl__mem_table tables[] = { PAWL__MEM_FAILURE, PAWL__MEM_PROGRESS,
                                                   PAWL__MEM_CHECKPOINT, PAWL__MEM_LINE };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        PAWL__MEM_EACH(row, check->mem, tables[i], PAWL__MEM_BY_KEY)
        {
            if (!pawl__mem_job_find(check->mem, row->of)) find(check, "a row belongs to no job");
        }
    }
}

static void find_doubt(void *ctx, const struct pawl__flow_doubt *doubt)
{
    char text[PAWL__FLOW_DOUBT_BYTES];
    pawl__flow_doubt_text(doubt, text);
    find(ctx, text);
}

enum pawl_err pawl__mem_check(struct pawl__backend *mem, pawl_finding_fn *report, void *ctx,
                              struct pawl_diag *diag)
{
    struct check check = { .mem = mem, .report = report, .ctx = ctx };
    pawl__lock(&mem->mutex);
    struct pawl__mem_counts *seen = calloc(mem->count_cap + 1, sizeof *seen);
    if (seen) {
        check_indexes(&check);
        check_counts(&check, seen);
        check_orphans(&check);
    }
    bool ok = seen && pawl__mem_check_flows(mem, find_doubt, &check);
    pawl__unlock(&mem->mutex);
    free(seen);
    if (!ok) return pawl__fail_nomem(diag);
    if (!check.found) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_CORRUPT, "the store is damaged: %" PRId64 " findings",
                      check.found);
}
