/* BREAK: the completion of the job damages a row of a flow, as its result says: a JSON string
 * "FLOW node NO FIELD VALUE", the same with "group" or with "edge PARENT CHILD", or "FLOW flow
 * FIELD VALUE"; "JOB tie VALUE" sets a job's ties; "SEQ forget" deletes unsettled entries up to a
 * number. */
#include "store/core/settle.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 40, NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

struct order {
    char id[WORD_BYTES], what[WORD_BYTES], field[WORD_BYTES];
    struct pawl_job_id of;
    int no, child;
    long long value;
};

static bool read_order(struct pawl_span result, struct order *out)
{
    char text[256];
    *out = (struct order){ .no = 0 };
    snprintf(text, sizeof text, "%.*s", (int)result.len, result.at);
    if (sscanf(text, "\"%39s %39[a-z]", out->id, out->what) != 2) return false;
    char *rest = strstr(text, out->what) + strlen(out->what);
    if (strcmp(out->what, "forget") == 0) return sscanf(out->id, "%lld", &out->value) == 1;
    if (pawl_job_id_parse(out->id, &out->of)) return false;
    if (strcmp(out->what, "tie") == 0) return sscanf(rest, "%lld", &out->value) == 1;
    if (strcmp(out->what, "flow") == 0)
        return sscanf(rest, "%39s %lld", out->field, &out->value) == 2;
    if (strcmp(out->what, "edge") != 0)
        return sscanf(rest, "%d %39s %lld", &out->no, out->field, &out->value) == 3;
    return sscanf(rest, "%d %d %39s %lld", &out->no, &out->child, out->field, &out->value) == 4;
}

static struct pawl__record *find(struct pawl__set *set, const struct order *order)
{
    if (strcmp(order->what, "flow") == 0) {
        return pawl__set_want_record(set, PAWL__RECORD_FLOW,
                                     &(struct pawl__flow){ .id = order->of });
    }
    if (strcmp(order->what, "node") == 0) {
        return pawl__set_want_record(set, PAWL__RECORD_FLOW_NODE,
                                     &(struct pawl__flow_node){ order->of, order->no });
    }
    if (strcmp(order->what, "group") == 0) {
        return pawl__set_want_record(set, PAWL__RECORD_FLOW_GROUP,
                                     &(struct pawl__flow_group){ order->of, order->no });
    }
    struct pawl__records *edges = pawl__set_want_records(
        set, PAWL__RECORD_FLOW_EDGE, &(struct pawl__flow_edge){ order->of, order->no });
    struct pawl__record *edge = edges ? edges->first : NULL;
    while (edge && edge->row.flow_edge.child != order->child) {
        edge = edge->next;
    }
    return edge;
}

static void put(struct pawl__record *record, const struct order *order)
{
    const struct pawl__set_table *of = pawl__record_shapes[record->of->kind].of;
    for (size_t i = 0; i < of->count; i++) {
        if (strcmp(of->fields[i].column, order->field) != 0) continue;
        enum pawl__kind kind = of->fields[i].kind;
        bool narrow = kind == PAWL__KIND_I32 || kind == PAWL__KIND_BITS;
        const int32_t small = (int32_t)order->value;
        const int64_t large = order->value;
        memcpy((char *)&record->row + of->fields[i].offset,
               narrow ? (const void *)&small : (const void *)&large,
               narrow ? sizeof small : sizeof large);
        record->changed = true;
        return;
    }
    assert(!"there is such a field");
}

static bool follow(struct pawl__set *set, const struct pawl__unsettled *move)
{
    struct order order;
    if (move->to != PAWL_STATE_COMPLETED) return true;
    bool understood = read_order(move->details, &order);
    assert(understood);
    (void)understood;
    if (strcmp(order.what, "forget") == 0) {
        for (int64_t seq = 1; seq <= order.value; seq++) {
            pawl__set_put(set, PAWL__TABLE_FOLLOWED, &(struct pawl__followed){ seq });
        }
        return true;
    }
    if (strcmp(order.what, "tie") == 0) {
        struct pawl__row *row = pawl__set_want(set, order.of, NEED);
        if (!pawl__set_lacks(set)) pawl__row_tie(set, row, (int32_t)order.value);
        return true;
    }
    struct pawl__record *record = find(set, &order);
    if (pawl__set_lacks(set)) return true;
    assert(record && record->there);
    put(record, &order);
    return true;
}

const struct pawl__tie pawl__tie_BREAK = { .follow = follow };
