/* The options of the FILTER group as a filter. */
#include "cli/cli.h"

bool pawl__cli_filter_given(const struct pawl__cli *cli)
{
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group == PAWL__CLI_FILTER && cli->values[i].count) return true;
    }
    return false;
}

#define S struct pawl_filter
#define SET(option, member, ...) PAWL__CLI_SET(option, S, member, __VA_ARGS__)
#define LIST(option, member) SET(option, member##s, .count_offset = offsetof(S, member##_count))
static const struct pawl__cli_setter setters[] = {
    SET(F_STATE, states),
    LIST(F_QUEUE, queue),
    LIST(F_TYPE, type),
    LIST(F_TAG, tag),
    SET(F_BUSINESS_KEY, business_key),
    SET(F_KEY, idempotency_key),
    SET(F_PRINCIPAL, principal),
    SET(F_WORKER, worker),
    SET(F_TRACE, trace_id),
    SET(F_CREATED_AFTER, created_from_ms),
    SET(F_CREATED_BEFORE, created_until_ms),
    SET(F_DUE_AFTER, due_from_ms),
    SET(F_DUE_BEFORE, due_until_ms),
    SET(F_FINISHED_AFTER, finished_from_ms),
    SET(F_FINISHED_BEFORE, finished_until_ms),
    SET(F_DEAD, dead_letter),
    SET(F_ARCHIVED, archived),
};
#undef S

int pawl__cli_filter(struct pawl__cli *cli, struct pawl_filter *out)
{
    *out = (struct pawl_filter){ 0 };
    int code = pawl__cli_set(cli, setters, sizeof setters / sizeof *setters, out);
    if (code) return code;
    const char *meta = pawl__cli_text(cli, PAWL__CLI_OPT_F_META);
    if (meta) {
        size_t len = strcspn(meta, "=");
        out->meta_key = pawl__cli_need(pawl__arena_dup(&cli->arena, meta, len));
        out->meta_value = meta + len + 1;
    }
    if (pawl__cli_has(cli, PAWL__CLI_OPT_F_PRIORITY)) {
        union pawl__cli_value priority = pawl__cli_value(cli, PAWL__CLI_OPT_F_PRIORITY);
        out->priority_given = true;
        out->priority_min = priority.range[0];
        out->priority_max = priority.range[1];
    }
    return PAWL__CLI_EXIT_OK;
}
