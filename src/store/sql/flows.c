/* Flows: how they are read. */
#include "store/core/set.h"
#include "store/sql/read.h"

#include <string.h>

struct flows_read {
    const struct pawl__flow_ask *ask;
    struct pawl__flow_rows *rows;
};

/* What each question takes: statements, and where their rows go. */
enum { STATEMENTS_MAX = 4 };
struct part {
    enum pawl__read what;
    enum pawl__table table; /* the records that it gives */
    size_t at, count;       /* in struct pawl__flow_rows */
};
#define PART(name, record, member)                                                                 \
    {                                                                                              \
        PAWL__READ_##name, PAWL__TABLE_##record##_PUT, offsetof(struct pawl__flow_rows, member),   \
            offsetof(struct pawl__flow_rows, member##_count)                                       \
    }
static const struct {
    size_t count;
    struct part parts[STATEMENTS_MAX];
} questions[PAWL__FLOW_ASK_END] = {
    [PAWL__FLOW_ASK_ONE] = { 2,
                             { PART(FLOW_ONE, FLOW, flows),
                               PART(FLOW_ONE_COUNTS, FLOW_GROUP, groups) } },
    [PAWL__FLOW_ASK_LIST] = { 2,
                              { PART(FLOW_LIST, FLOW, flows),
                                PART(FLOW_LIST_COUNTS, FLOW_GROUP, groups) } },
    [PAWL__FLOW_ASK_NODES] = { 4,
                               { PART(FLOW_NODES, FLOW_NODE, nodes),
                                 PART(FLOW_EDGES, FLOW_EDGE, edges),
                                 PART(FLOW_GROUPS, FLOW_GROUP, groups),
                                 PART(FLOW_SIGNALS, FLOW_SIGNAL, signals) } },
    [PAWL__FLOW_ASK_PARENTS] = { 2,
                                 { PART(FLOW_OWN, FLOW_NODE, own),
                                   PART(FLOW_PARENTS, FLOW_NODE, nodes) } },
    [PAWL__FLOW_ASK_OWN] = { 1, { PART(FLOW_OWN, FLOW_NODE, own) } },
    [PAWL__FLOW_ASK_EARLIER] = { 1, { PART(FLOW_OWN, FLOW_NODE, own) } },
};

static enum pawl_err read_flows(struct pawl__reader *reader, void *out)
{
    const struct flows_read *read = out;
    const struct pawl__flow_ask *ask = read->ask;
    const char *name = ask->name ? ask->name : "";
    const struct pawl__value values[] = {
        { PAWL__VALUE_ID, .id = ask->id },
        { PAWL__VALUE_NUMBER, .number = ask->state },
        { PAWL__VALUE_TEXT, .text = { name, strlen(name) } },
        { PAWL__VALUE_NUMBER, .number = ask->limit },
    };
    enum pawl_err err = PAWL_OK;
    *read->rows = (struct pawl__flow_rows){ .flows = NULL };
    for (size_t i = 0; !err && i < questions[ask->what].count; i++) {
        err = reader->reads->ask(reader, (int)i, questions[ask->what].parts[i].what, values);
    }
    if (!err) err = reader->reads->run(reader);
    for (size_t i = 0; !err && i < questions[ask->what].count; i++) {
        const struct part *part = &questions[ask->what].parts[i];
        char *to = (char *)read->rows;
        err = pawl__read_records(reader, (int)i, part->table, (void **)(void *)(to + part->at),
                                 (size_t *)(void *)(to + part->count));
    }
    return err;
}

enum pawl_err pawl__read_flows(struct pawl__backend *backend, const struct pawl__flow_ask *ask,
                               struct pawl__arena *arena, struct pawl__flow_rows *out,
                               struct pawl_diag *diag)
{
    struct flows_read read = { ask, out };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag };
    return pawl__read_with(reader, read_flows, &read);
}
