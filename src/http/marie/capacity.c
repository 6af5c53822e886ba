/* Marie's GET /api/capacity: who can run how many jobs at a time, and how many he runs. Rows are
 * the nodes that run handlers, and the workers that this server knows, by their last heartbeat. */
#include "http/local/local.h"
#include "http/marie/marie.h"

#include <stdlib.h>
#include <string.h>

enum { CONCURRENCY_MAX = 1000000 };

struct totals {
    int64_t capacity, used;
    size_t rows;
};

static void add_row(struct pawl__request *request, struct totals *totals, const char *name,
                    int64_t capacity, int64_t used, const char *notes)
{
    struct pawl__buf *out = &request->reply;
    if (used > capacity) capacity = used;
    if (totals->rows++) pawl__buf_add(out, ",", 1);
    pawl__buf_add_text(out, "{\"name\":");
    pawl__buf_add_json(out, name, strlen(name));
    pawl__buf_printf(out,
                     ",\"capacity\":%lld,\"target\":%lld,\"used\":%lld,\"available\":%lld,"
                     "\"holders\":%lld,\"notes\":\"%s\"}",
                     (long long)capacity, (long long)capacity, (long long)used,
                     (long long)(capacity - used), (long long)used, notes);
    totals->capacity += capacity;
    totals->used += used;
}

/* "concurrency" of what a worker told of itself. */
static int64_t concurrency(struct pawl__request *request, const struct pawl__worker *worker)
{
    struct pawl__buf text = { 0 };
    struct pawl__json json;
    int64_t value = 1;
    if (!worker->info || !worker->info[0]) return value;
    pawl__buf_printf(&text, "{%s}", worker->info + 1); // each has a comma before it
    if (!text.failed &&
        pawl__json_parse((struct pawl_span){ text.at, text.len }, PAWL_JSON_DEPTH_MAX,
                         &request->arena, &json, NULL) == PAWL_OK) {
        uint32_t token = pawl__json_member(&json, 0, "concurrency");
        if (token) (void)!pawl__json_int(&json, token, &value);
    }
    pawl__buf_release(&text);
    if (value > CONCURRENCY_MAX) value = CONCURRENCY_MAX; // anybody may say anything
    return value > 0 ? value : 1;
}

/* On the pool. */
static void add_nodes(struct pawl__request *request)
{
    struct totals *totals = request->state;
    struct pawl_nodes nodes = { 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_nodes_get(pawl__request_pawl(request), &nodes, &diag);
    if (err) {
        pawl_nodes_release(&nodes);
        pawl__reply_err(request, err, &diag);
        return;
    }
    for (size_t i = 0; i < nodes.count; i++) {
        const struct pawl_node *node = &nodes.at[i];
        if (node->state == PAWL_NODE_LIVE && node->workers > 0) {
            add_row(request, totals, node->name, node->workers, node->active, "node");
        }
    }
    pawl_nodes_release(&nodes);
    pawl__buf_printf(&request->reply,
                     "],\"totals\":{\"capacity\":%lld,\"used\":%lld,\"available\":%lld}}",
                     (long long)totals->capacity, (long long)totals->used,
                     (long long)(totals->capacity - totals->used));
    pawl__reply(request, 200);
}

void pawl__on_marie_capacity(struct pawl__request *request)
{
    struct totals *totals = pawl__request_state(request, sizeof *totals);
    if (!totals) return;
    request->content_type = "application/json";
    pawl__buf_add_text(&request->reply, "{\"slots\":[");
    const struct pawl__worker *worker = NULL;
    while ((worker = pawl__workers_next(request->server->workers, worker))) {
        if (worker->dead || !pawl__worker_takes(worker)) continue;
        add_row(request, totals, worker->id, concurrency(request, worker), worker->active,
                "worker");
    }
    pawl__request_to_pool(request, add_nodes);
}
