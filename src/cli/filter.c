/* The options of the FILTER group as a filter. */
#include "cli/cli.h"

#include <assert.h>

bool pawl__cli_filter_given(const struct pawl__cli *cli)
{
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group == PAWL__CLI_FILTER && cli->values[i].count) return true;
    }
    return false;
}

static void set_lists(const struct pawl__cli *cli, struct pawl_filter *out)
{
    const struct pawl__cli_values *queues = &cli->values[PAWL__CLI_OPT_F_QUEUE];
    const struct pawl__cli_values *types = &cli->values[PAWL__CLI_OPT_F_TYPE];
    const struct pawl__cli_values *tags = &cli->values[PAWL__CLI_OPT_F_TAG];
    out->queues = queues->at;
    out->queue_count = queues->count;
    out->types = types->at;
    out->type_count = types->count;
    out->tags = tags->at;
    out->tag_count = tags->count;
}

static void set_texts(struct pawl__cli *cli, struct pawl_filter *out)
{
    out->business_key = pawl__cli_text(cli, PAWL__CLI_OPT_F_BUSINESS_KEY);
    out->idempotency_key = pawl__cli_text(cli, PAWL__CLI_OPT_F_KEY);
    out->principal = pawl__cli_text(cli, PAWL__CLI_OPT_F_PRINCIPAL);
    out->worker = pawl__cli_text(cli, PAWL__CLI_OPT_F_WORKER);
    out->trace_id = pawl__cli_text(cli, PAWL__CLI_OPT_F_TRACE);
    const char *meta = pawl__cli_text(cli, PAWL__CLI_OPT_F_META);
    if (!meta) return;
    const char *equals = strchr(meta, '=');
    out->meta_key = pawl__cli_need(pawl__arena_dup(&cli->arena, meta, (size_t)(equals - meta)));
    out->meta_value = equals + 1;
}

static void set_times(const struct pawl__cli *cli, struct pawl_filter *out)
{
    out->created_from_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_CREATED_AFTER, -1);
    out->created_until_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_CREATED_BEFORE, -1);
    out->due_from_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_DUE_AFTER, -1);
    out->due_until_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_DUE_BEFORE, -1);
    out->finished_from_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_FINISHED_AFTER, -1);
    out->finished_until_ms = pawl__cli_when(cli, PAWL__CLI_OPT_F_FINISHED_BEFORE, -1);
}

int pawl__cli_filter(struct pawl__cli *cli, struct pawl_filter *out)
{
    *out = (struct pawl_filter){ 0 };
    int code = pawl__cli_states(cli, PAWL__CLI_OPT_F_STATE, &out->states);
    if (code) return code;
    set_lists(cli, out);
    set_texts(cli, out);
    set_times(cli, out);
    const char *priority = pawl__cli_text(cli, PAWL__CLI_OPT_F_PRIORITY);
    if (priority) {
        out->priority_given = true;
        bool ok = pawl__cli_read_range(priority, &out->priority_min, &out->priority_max);
        assert(ok);
    }
    out->dead_letter = pawl__cli_flag(cli, PAWL__CLI_OPT_F_DEAD);
    out->archived = pawl__cli_flag(cli, PAWL__CLI_OPT_F_ARCHIVED);
    return PAWL__CLI_EXIT_OK;
}
