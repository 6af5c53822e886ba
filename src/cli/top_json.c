/* pawl top for programs: one look, as one object. */
#include "cli/top.h"

/* States that share a name in the vocabulary are one number. */
static void put_counts(const struct pawl__cli *cli, struct pawl__cli_json *json,
                       const struct pawl__cli_top_counts *counts)
{
    struct pawl__cli_json object;
    int64_t total = 0;
    pawl__cli_json_name(json, "states");
    pawl__cli_json_open(&object, json->buf, '{');
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        const char *name = pawl__cli_state_text(cli, state);
        bool named = false;
        int64_t sum = 0;
        for (enum pawl_state other = PAWL_STATE_NONE + 1; other < PAWL_STATE_END; other++) {
            if (strcmp(pawl__cli_state_text(cli, other), name) != 0) continue;
            named = named || other < state;
            sum += counts->count[other];
        }
        if (!named) pawl__cli_json_int(&object, name, sum);
        total += counts->count[state];
    }
    pawl__cli_json_close(&object, '}');
    pawl__cli_json_int(json, "total", total);
    pawl__cli_json_int(json, "archived", counts->archived);
}

static void put_queues(const struct pawl__cli_top *top, struct pawl__cli_json *array)
{
    for (size_t i = 0; i < top->view.queue_count; i++) {
        const struct pawl__cli_top_queue *queue = &top->view.queues[i];
        struct pawl__cli_json json;
        pawl__cli_json_name(array, NULL);
        pawl__cli_json_open(&json, array->buf, '{');
        pawl__cli_json_text(&json, "queue", queue->name);
        pawl__cli_json_bool(&json, "paused", queue->paused);
        put_counts(top->cli, &json, &queue->now);
        pawl__cli_json_close(&json, '}');
    }
}

static void put_job(const struct pawl__cli *cli, struct pawl__cli_json *json,
                    const struct pawl__cli_top_job *job)
{
    pawl__cli_json_brief(cli, json,
                         &(struct pawl_job){ .id = job->id,
                                             .type = job->type,
                                             .queue = job->queue,
                                             .state = job->state,
                                             .attempt = job->attempt });
    pawl__cli_json_int(json, "max_attempts", job->attempts_max);
    pawl__cli_json_some_int(json, "free_runs", job->free_runs);
}

static void put_running(const struct pawl__cli_top *top, struct pawl__cli_json *array)
{
    for (size_t i = 0; i < top->view.running.count; i++) {
        const struct pawl__cli_top_job *job = &top->view.running.at[i];
        struct pawl__cli_json json;
        pawl__cli_json_name(array, NULL);
        pawl__cli_json_open(&json, array->buf, '{');
        put_job(top->cli, &json, job);
        pawl__cli_json_some_text(&json, "worker", job->worker);
        pawl__cli_json_instant(&json, "started_at", job->at_ms);
        pawl__cli_json_close(&json, '}');
    }
}

static void put_failed(const struct pawl__cli_top *top, struct pawl__cli_json *array)
{
    for (size_t i = 0; i < top->view.failed.count; i++) {
        const struct pawl__cli_top_job *job = &top->view.failed.at[i];
        struct pawl__cli_json json;
        pawl__cli_json_name(array, NULL);
        pawl__cli_json_open(&json, array->buf, '{');
        put_job(top->cli, &json, job);
        pawl__cli_json_instant(&json, "failed_at", job->at_ms);
        pawl__cli_json_some_text(&json, "error", job->error);
        pawl__cli_json_close(&json, '}');
    }
}

static void put_nodes(const struct pawl__cli_top *top, struct pawl__cli_json *array)
{
    const struct pawl_nodes *nodes = &top->view.nodes;
    for (size_t i = 0; i < nodes->count; i++) {
        struct pawl__cli_json json;
        int64_t age_ms = nodes->now_ms - nodes->at[i].heartbeat_at_ms;
        pawl__cli_json_name(array, NULL);
        pawl__cli_json_open(&json, array->buf, '{');
        pawl__cli_json_text(&json, "name", nodes->at[i].name);
        pawl__cli_json_bool(&json, "alive", age_ms <= PAWL__CLI_TOP_ALIVE_MS);
        pawl__cli_json_int(&json, "heartbeat_age_ms", age_ms);
        pawl__cli_json_int(&json, "active", nodes->at[i].active);
        pawl__cli_json_close(&json, '}');
    }
}

void pawl__cli_top_json(struct pawl__cli_top *top)
{
    static const struct {
        const char *name;
        void (*put)(const struct pawl__cli_top *top, struct pawl__cli_json *array);
    } lists[] = { { "queues", put_queues },
                  { "running", put_running },
                  { "failed", put_failed },
                  { "nodes", put_nodes } };
    struct pawl__cli *cli = top->cli;
    struct pawl__cli_json json, array;
    pawl__cli_json_open(&json, &cli->out, '{');
    pawl__cli_json_text(&json, "store", cli->place);
    pawl__cli_json_int(&json, "store_bytes", top->view.store_bytes);
    pawl__cli_json_instant(&json, "at", cli->now_ms);
    pawl__cli_json_instant(&json, "next_due_at", top->view.next_due_at_ms);
    put_counts(cli, &json, &top->view.all.now);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        pawl__cli_json_name(&json, lists[i].name);
        pawl__cli_json_open(&array, &cli->out, '[');
        lists[i].put(top, &array);
        pawl__cli_json_close(&array, ']');
    }
    pawl__cli_json_close(&json, '}');
    pawl__buf_add_text(&cli->out, "\n");
}
