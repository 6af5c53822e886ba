/* Opening, transactions, and the tables of what this store can do. */
#include "store/memory/memory.h"

#include "base/clock.h"
#include "base/diag.h"
#include "lifecycle/lifecycle.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues and lanes ---- */

const struct pawl__mem_queue *pawl__mem_queue_find(const struct pawl__backend *mem,
                                                   const char *name)
{
    const struct pawl__mem_queue wanted = { .name = name };
    const struct pawl__mem_row *row =
        pawl__mem_find(mem, PAWL__MEM_QUEUE, pawl__mem_no_job, &wanted);
    return row ? row->data : NULL;
}

static enum pawl_err make_queue(struct pawl__backend *mem, const char *name, struct pawl_diag *diag)
{
    (void)diag;
    if (pawl__catalog_queue(&mem->set.catalog, name)) return PAWL_OK;
    const struct pawl__mem_queue queue = { .name = name, .created_at_ms = mem->set.now_ms };
    enum pawl_err err = pawl__mem_put(mem, PAWL__MEM_QUEUE, pawl__mem_no_job, &queue);
    if (err) return err;
    return pawl__catalog_learn_queue(&mem->set.catalog, mem->set.catalog.queue_count + 1, name,
                                     false, mem->set.diag);
}

/* Counters for one more lane. */
static enum pawl_err room_for_lane(struct pawl__backend *mem)
{
    if (mem->set.catalog.lane_count < mem->count_cap) return PAWL_OK;
    size_t cap = mem->count_cap ? mem->count_cap * 2 : 16;
    struct pawl__mem_counts *counts = realloc(mem->counts, cap * sizeof *counts);
    if (!counts) return pawl__fail_nomem(mem->set.diag);
    memset(counts + mem->count_cap, 0, (cap - mem->count_cap) * sizeof *counts);
    mem->counts = counts;
    mem->count_cap = cap;
    return PAWL_OK;
}

enum pawl_err pawl__mem_lane(struct pawl__backend *mem, const char *queue, const char *type,
                             uint32_t *out, struct pawl_diag *diag)
{
    (void)diag;
    const struct pawl__lane *lane = pawl__catalog_lane(&mem->set.catalog, queue, type);
    if (!lane) {
        enum pawl_err err = make_queue(mem, queue, NULL);
        if (!err) err = room_for_lane(mem);
        if (!err) {
            err = pawl__catalog_learn_lane(&mem->set.catalog, mem->set.catalog.lane_count + 1,
                                           pawl__catalog_queue(&mem->set.catalog, queue)->id, type,
                                           mem->set.diag);
        }
        if (err) return err;
        lane = pawl__catalog_lane(&mem->set.catalog, queue, type);
    }
    *out = lane->at;
    return PAWL_OK;
}

/* ---- transactions ---- */

static enum pawl_err begin(struct pawl__backend *mem, struct pawl__op **ops, size_t count)
{
    (void)ops, (void)count;
    mem->set.now_ms = pawl__clock_wall_ms(mem->clock);
    mem->lane_count = mem->set.catalog.lane_count;
    mem->queue_count = mem->set.catalog.queue_count;
    mem->taken = mem->again = false;
    return PAWL_OK;
}

static enum pawl_err commit(struct pawl__backend *mem)
{
    struct pawl__catalog *catalog = &mem->set.catalog;
    for (uint32_t i = 0; i < catalog->touched_count; i++) {
        uint32_t lane = catalog->touched[i];
        for (int state = 0; state < PAWL_STATE_END; state++) {
            mem->counts[lane].n[state] += catalog->lanes[lane]->delta[state];
        }
    }
    pawl__mem_keep(mem);
    mem->lane_count = catalog->lane_count;
    mem->queue_count = catalog->queue_count;
    return PAWL_OK;
}

static void rollback(struct pawl__backend *mem)
{
    struct pawl__catalog *catalog = &mem->set.catalog;
    pawl__mem_undo(mem);
    pawl__catalog_truncate(catalog, mem->lane_count, mem->queue_count);
    for (uint32_t i = 0; i < catalog->queue_count; i++) {
        struct pawl__queue *queue = &catalog->queues[i];
        queue->paused = pawl__mem_queue_find(mem, queue->name)->paused;
    }
}

static enum pawl__retry retry(struct pawl__backend *mem)
{
    if (mem->taken) return PAWL__RETRY_CAREFULLY;
    return mem->again ? PAWL__RETRY_YES : PAWL__RETRY_NO;
}

static enum pawl_err apply(struct pawl__backend *mem, struct pawl__op **ops, size_t count,
                           struct pawl_diag *diag)
{
    pawl__lock(&mem->mutex);
    enum pawl_err err = pawl__core_apply(&mem->set, ops, count, diag);
    pawl__unlock(&mem->mutex);
    return err;
}

static void note(struct pawl__backend *mem, bool all_moves)
{
    mem->set.notices.all_moves = all_moves;
}

static bool get_notice(struct pawl__backend *mem, struct pawl__notice *out)
{
    return pawl__notices_get(&mem->set.notices, mem->set.now_ms, out);
}

const struct pawl__core_table pawl__mem_core = {
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .retry = retry,
    .queue = make_queue,
    .lane = pawl__mem_lane,
    .load_records = pawl__mem_load_records,
    .load_keys = pawl__mem_load_keys,
    .load = pawl__mem_load,
    .store = pawl__mem_store,
    .scan_due = pawl__mem_scan_due,
    .next_due = pawl__mem_next_due,
    .forget_keys = pawl__mem_forget_keys,
    .unsettled = pawl__mem_unsettled,
    .next_unsettled = pawl__mem_next_unsettled,
    .scan_flows = pawl__mem_scan_flows,
    .scan_ended_flows = pawl__mem_scan_ended_flows,
    .flow_doubts = pawl__mem_flow_doubts,
    .next_flow = pawl__mem_next_flow,
    .scan_schedules = pawl__mem_scan_schedules,
    .next_schedule = pawl__mem_next_schedule,
    .scan_ended = pawl__mem_scan_ended,
    .census = pawl__mem_census,
    .scan_nodes = pawl__mem_scan_nodes,
    .scan_locks = pawl__mem_scan_locks,
    .scan_timers = pawl__mem_scan_timers,
    .next_timer = pawl__mem_next_timer,
    .scan_waits = pawl__mem_scan_waits,
    .scan_deadlines = pawl__mem_scan_deadlines,
    .next_deadline = pawl__mem_next_deadline,
    .scan_ready = pawl__mem_scan_ready,
    .match = pawl__mem_match,
};

/* ---- opening ---- */

static void close_store(struct pawl__backend *mem)
{
    pawl__set_release(&mem->set);
    pawl__mem_rows_release(mem);
    pawl__mutex_release(&mem->mutex);
    free(mem->counts);
    free(mem);
}

static enum pawl_err open_store(const struct pawl_config *config, struct pawl__backend **out,
                                struct pawl_diag *diag)
{
    if (config->read_only || config->must_exist) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, config->read_only ? "read_only" : "must_exist",
                                "a store in memory is new and empty");
    }
    struct pawl__backend *mem = calloc(1, sizeof *mem);
    if (!mem) return pawl__fail_nomem(diag);
    mem->clock = config->clock;
    pawl__mutex_init(&mem->mutex);
    pawl__set_init(&mem->set, &pawl__mem_core, mem, config->seed);
    mem->set.boost_ms = PAWL__RANK_BOOST_MS;
    for (int table = 0; table < PAWL__MEM_TABLES; table++) {
        for (size_t i = 0; i < pawl__mem_shapes[table].order_count; i++) {
            mem->tables[table][i] =
                (struct pawl__mem_index){ .compare = pawl__mem_shapes[table].orders[i].compare,
                                          .at = i };
        }
    }
    *out = mem;
    return PAWL_OK;
}

/* No transaction leaves it in doubt. */
static enum pawl_err reopen(struct pawl__backend *mem, struct pawl_diag *diag)
{
    (void)mem, (void)diag;
    return PAWL_OK;
}

/* No other process has it open. */
static enum pawl_err wake(struct pawl__backend *mem, const char *url, struct pawl__wake **out,
                          struct pawl_diag *diag)
{
    (void)mem, (void)url, (void)diag;
    *out = NULL;
    return PAWL_OK;
}

static enum pawl_err identify(struct pawl__backend *mem, struct pawl__buf *out,
                              struct pawl_diag *diag)
{
    (void)mem, (void)out;
    return pawl__fail(diag, PAWL_ERR_UNSUPPORTED, "no other process has a store in memory open");
}

static enum pawl_err backup(struct pawl__backend *mem, const char *path, pawl_progress_fn *progress,
                            void *ctx, struct pawl_diag *diag)
{
    (void)mem, (void)path, (void)progress, (void)ctx;
    return pawl__fail(diag, PAWL_ERR_UNSUPPORTED,
                      "a store in memory ends with its process, and so would its copy");
}

static enum pawl_err schema(const struct pawl_config *config, struct pawl_schema *out,
                            struct pawl_diag *diag)
{
    (void)config, (void)diag;
    *out = (struct pawl_schema){ .version = PAWL__MEM_SCHEMA, .newest = PAWL__MEM_SCHEMA };
    return PAWL_OK;
}

const struct pawl__backend_table pawl__backend_memory = {
    .scheme = "memory:",
    .name = "memory",
    .open = open_store,
    .close = close_store,
    .apply = apply,
    .reopen = reopen,
    .note = note,
    .get_notice = get_notice,
    .wake = wake,
    .identify = identify,
    .get = pawl__mem_get,
    .query = pawl__mem_query,
    .count = pawl__mem_count,
    .story = pawl__mem_story,
    .stats = pawl__mem_stats,
    .nodes = pawl__mem_nodes,
    .locks = pawl__mem_locks,
    .setting = pawl__mem_setting,
    .settings = pawl__mem_settings,
    .tokens = pawl__mem_tokens,
    .schemas = pawl__mem_schemas,
    .configs = pawl__mem_configs,
    .flows = pawl__mem_flows,
    .schedules = pawl__mem_schedules,
    .backup = backup,
    .check = pawl__mem_check,
    .schema = schema,
};
