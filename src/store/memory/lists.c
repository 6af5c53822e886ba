/* Reads that are not of jobs: statistics, nodes, locks, what programs keep.
 *
 * Runs on: the caller's thread. */
#include "store/memory/memory.h"

#include "base/clock.h"
#include "base/diag.h"
#include "store/shown.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows as an array ---- */

static const struct pawl__mem_row *
first_row(const struct pawl__backend *mem, enum pawl__mem_table table, const struct pawl_job_id *of)
{
    return of ? pawl__mem_first_of(mem, table, *of)
              : pawl__mem_from(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), NULL);
}

static const struct pawl__mem_row *next_row(const struct pawl__backend *mem,
                                            enum pawl__mem_table table,
                                            const struct pawl_job_id *of,
                                            const struct pawl__mem_row *row)
{
    return of ? pawl__mem_next_of(mem, table, row)
              : pawl__mem_after(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), row);
}

bool pawl__mem_list(const struct pawl__backend *mem, const struct pawl__mem_listing *listing,
                    const struct pawl_job_id *of, const char *text, struct pawl__arena *arena,
                    struct pawl__mem_list *out)
{
    enum pawl__mem_table table = listing->table;
    const struct pawl__mem_row *first = first_row(mem, table, of), *row = first;
    size_t max = 0;
    for (; row; row = next_row(mem, table, of, row)) {
        max++;
    }
    void *copy = pawl__arena_alloc(arena, pawl__mem_shapes[table].of->bytes);
    char *to = pawl__arena_calloc(arena, max + 1, listing->bytes);
    *out = (struct pawl__mem_list){ .at = to };
    for (row = first; copy && to && row; row = next_row(mem, table, of, row)) {
        if (listing->wants && !listing->wants(row->data, text)) continue;
        if (!pawl__mem_copy(table, row->data, arena, copy)) return false;
        listing->convert(mem, copy, to + out->count++ * listing->bytes);
    }
    return copy && to;
}

static enum pawl_err read_all(struct pawl__backend *mem, const struct pawl__mem_listing *listing,
                              const char *text, struct pawl__arena *arena,
                              struct pawl__mem_list *out, struct pawl_diag *diag)
{
    pawl__lock(&mem->mutex);
    bool ok = pawl__mem_list(mem, listing, NULL, text, arena, out);
    pawl__unlock(&mem->mutex);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}

/* ---- nodes ---- */

static int64_t count_runs(const struct pawl__backend *mem, const char *worker)
{
    int64_t count = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_JOB, PAWL__MEM_JOB_LEASE)
    {
        const struct pawl__mem_job *job = row->data;
        count += job->state == PAWL_STATE_ACTIVE && strcmp(job->worker, worker) == 0;
    }
    return count;
}

static void convert_node(const struct pawl__backend *mem, const void *data, void *out)
{
    const struct pawl__node *from = data;
    *(struct pawl_node *)out = (struct pawl_node){ .name = from->name,
                                                   .info = from->info,
                                                   .started_at_ms = from->started_at_ms,
                                                   .heartbeat_at_ms = from->heartbeat_at_ms,
                                                   .active = count_runs(mem, from->name) };
}

/* The one that was heard of last comes first. */
static int compare_nodes(const void *a, const void *b)
{
    const struct pawl_node *left = a, *right = b;
    if (left->heartbeat_at_ms != right->heartbeat_at_ms) {
        return left->heartbeat_at_ms > right->heartbeat_at_ms ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

enum pawl_err pawl__mem_nodes(struct pawl__backend *mem, struct pawl__arena *arena,
                              struct pawl_nodes *out, struct pawl_diag *diag)
{
    static const struct pawl__mem_listing nodes = { PAWL__MEM_RECORD(NODE),
                                                    sizeof(struct pawl_node), NULL, convert_node };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &nodes, NULL, arena, &list, diag);
    if (err) return err;
    qsort(list.at, list.count, sizeof(struct pawl_node), compare_nodes);
    *out = (struct pawl_nodes){ list.at, list.count, pawl__clock_wall_ms(mem->clock), out->owned };
    return PAWL_OK;
}

/* ---- locks ---- */

static bool is_locked(const void *data, const char *text)
{
    (void)text;
    return *((const struct pawl__lock *)data)->owner != '\0';
}

static void convert_lock(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    const struct pawl__lock *from = data;
    *(struct pawl_lock *)out = (struct pawl_lock){ .name = from->name,
                                                   .owner = from->owner,
                                                   .fence = from->fence,
                                                   .locked_at_ms = from->locked_at_ms,
                                                   .expires_at_ms = from->expires_at_ms };
}

enum pawl_err pawl__mem_locks(struct pawl__backend *mem, struct pawl__arena *arena,
                              struct pawl_locks *out, struct pawl_diag *diag)
{
    static const struct pawl__mem_listing locks = { PAWL__MEM_RECORD(LOCK),
                                                    sizeof(struct pawl_lock), is_locked,
                                                    convert_lock };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &locks, NULL, arena, &list, diag);
    if (err) return err;
    *out = (struct pawl_locks){ list.at, list.count, pawl__clock_wall_ms(mem->clock), out->owned };
    return PAWL_OK;
}

/* ---- settings ---- */

static bool begins(const void *data, const char *prefix)
{
    const char *name = ((const struct pawl__setting *)data)->name;
    return !prefix || strncmp(name, prefix, strlen(prefix)) == 0;
}

static void convert_setting(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    const struct pawl__setting *from = data;
    *(struct pawl_setting *)out = (struct pawl_setting){ .name = from->name, .value = from->value };
}

enum pawl_err pawl__mem_settings(struct pawl__backend *mem, const char *prefix,
                                 struct pawl__arena *arena, struct pawl_settings *out,
                                 struct pawl_diag *diag)
{
    static const struct pawl__mem_listing settings = { PAWL__MEM_RECORD(SETTING),
                                                       sizeof(struct pawl_setting), begins,
                                                       convert_setting };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &settings, prefix, arena, &list, diag);
    if (err) return err;
    *out = (struct pawl_settings){ list.at, list.count, out->owned };
    return PAWL_OK;
}

enum pawl_err pawl__mem_setting(struct pawl__backend *mem, const char *name,
                                struct pawl__arena *arena, const char **out, struct pawl_diag *diag)
{
    struct pawl__setting setting = { .name = name };
    bool copied = false;
    pawl__lock(&mem->mutex);
    const struct pawl__mem_row *row =
        pawl__mem_find(mem, PAWL__MEM_RECORD(SETTING), pawl__mem_no_job, &setting);
    if (row) copied = pawl__mem_copy(PAWL__MEM_RECORD(SETTING), row->data, arena, &setting);
    pawl__unlock(&mem->mutex);
    if (!row) return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no setting \"%s\"", name);
    if (!copied) return pawl__fail_nomem(diag);
    *out = setting.value;
    return PAWL_OK;
}

/* ---- tokens ---- */

static void convert_token(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    *(struct pawl_token *)out = *(const struct pawl_token *)data;
}

enum pawl_err pawl__mem_tokens(struct pawl__backend *mem, struct pawl__arena *arena,
                               struct pawl_tokens *out, struct pawl_diag *diag)
{
    static const struct pawl__mem_listing tokens = { PAWL__MEM_RECORD(TOKEN),
                                                     sizeof(struct pawl_token), NULL,
                                                     convert_token };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &tokens, NULL, arena, &list, diag);
    if (err) return err;
    *out = (struct pawl_tokens){ list.at, list.count, out->owned };
    return PAWL_OK;
}

/* ---- schemas of arguments ---- */

static bool is_named(const char *name, const char *wanted)
{
    return !wanted || strcmp(name, wanted) == 0;
}

static bool is_by_uri(const void *data, const char *uri)
{
    const struct pawl_args_schema *schema = data;
    return *schema->uri && is_named(schema->uri, uri);
}

static bool is_by_type(const void *data, const char *type)
{
    const struct pawl_args_schema *schema = data;
    return !*schema->uri && is_named(schema->type, type);
}

static void convert_schema(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    *(struct pawl_args_schema *)out = *(const struct pawl_args_schema *)data;
}

enum pawl_err pawl__mem_schemas(struct pawl__backend *mem,
                                const struct pawl_args_schema_filter *filter,
                                struct pawl__arena *arena, struct pawl_args_schemas *out,
                                struct pawl_diag *diag)
{
    const struct pawl__mem_listing schemas = { PAWL__MEM_RECORD(SCHEMA),
                                               sizeof(struct pawl_args_schema),
                                               filter->by_type ? is_by_type : is_by_uri,
                                               convert_schema };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &schemas, filter->name, arena, &list, diag);
    if (err) return err;
    *out = (struct pawl_args_schemas){ list.at, list.count, out->owned };
    return PAWL_OK;
}

/* ---- configuration of queues ---- */

static bool is_of_queue(const void *data, const char *queue)
{
    return is_named(((const struct pawl_queue_config *)data)->queue, queue);
}

static void convert_config(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    *(struct pawl_queue_config *)out = *(const struct pawl_queue_config *)data;
}

enum pawl_err pawl__mem_configs(struct pawl__backend *mem, const char *queue,
                                struct pawl__arena *arena, struct pawl_queue_configs *out,
                                struct pawl_diag *diag)
{
    static const struct pawl__mem_listing configs = { PAWL__MEM_RECORD(CONFIG),
                                                      sizeof(struct pawl_queue_config), is_of_queue,
                                                      convert_config };
    struct pawl__mem_list list;
    enum pawl_err err = read_all(mem, &configs, queue, arena, &list, diag);
    if (err) return err;
    *out = (struct pawl_queue_configs){ list.at, list.count, out->owned };
    return PAWL_OK;
}

/* ---- statistics ---- */

static void convert_queue(const struct pawl__backend *mem, const void *data, void *out)
{
    const struct pawl__mem_queue *from = data;
    struct pawl_queue_stats *to = out;
    *to = (struct pawl_queue_stats){ .queue = from->name,
                                     .paused = from->paused,
                                     .created_at_ms = from->created_at_ms };
    const struct pawl__queue *queue = pawl__catalog_queue(&mem->set.catalog, from->name);
    for (uint32_t at = queue->first_lane; at; at = mem->set.catalog.lanes[at - 1]->next_lane) {
        const struct pawl__mem_counts *counts = &mem->counts[at - 1];
        to->archived += counts->n[PAWL_STATE_NONE];
        for (int state = 1; state < PAWL_STATE_END; state++) {
            to->count[state] += counts->n[state];
        }
    }
}

static void sum_queues(const struct pawl__backend *mem, struct pawl_stats *stats)
{
    size_t listed = 0;
    for (size_t i = 0; i < stats->queue_count; i++) {
        const struct pawl_queue_stats queue = stats->queues[i];
        stats->archived += queue.archived;
        for (int state = 1; state < PAWL_STATE_END; state++) {
            stats->count[state] += queue.count[state];
        }
        bool forgotten = pawl__mem_queue_find(mem, queue.queue)->forgotten;
        if (pawl__queue_is_listed(&queue, forgotten)) stats->queues[listed++] = queue;
    }
    stats->queue_count = listed;
}

enum pawl_err pawl__mem_stats(struct pawl__backend *mem, struct pawl__arena *arena,
                              struct pawl_stats *out, struct pawl_diag *diag)
{
    static const struct pawl__mem_listing queues = { PAWL__MEM_QUEUE,
                                                     sizeof(struct pawl_queue_stats), NULL,
                                                     convert_queue };
    struct pawl__mem_list list;
    *out = (struct pawl_stats){ .owned = out->owned };
    pawl__lock(&mem->mutex);
    bool ok = pawl__mem_list(mem, &queues, NULL, NULL, arena, &list);
    if (ok) {
        out->queues = list.at;
        out->queue_count = list.count;
        sum_queues(mem, out);
        out->store_bytes = mem->bytes;
        out->schema_version = PAWL__MEM_SCHEMA;
        (void)pawl__mem_next_due(mem, PAWL__DUE_RUN, &out->next_due_at_ms);
    }
    pawl__unlock(&mem->mutex);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}
