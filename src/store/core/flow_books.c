/* See flow_inside.h: finding the rows that a node stands in, and noting what follows. */
#include "store/core/flow_inside.h"

struct pawl__record *pawl__flow_found(struct pawl__record *record)
{
    return record && record->of->read && record->there ? record : NULL;
}

struct pawl__record *pawl__flow_of(struct pawl__set *set, struct pawl_job_id flow)
{
    return pawl__flow_found(
        pawl__set_want_record(set, PAWL__RECORD_FLOW, &(struct pawl__flow){ .id = flow }));
}

struct pawl__record *pawl__flow_node_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_NODE, &(struct pawl__flow_node){ .flow = flow, .no = no }));
}

struct pawl__record *pawl__flow_group_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_GROUP, &(struct pawl__flow_group){ .flow = flow, .no = no }));
}

struct pawl__records *pawl__flow_edges_of(struct pawl__set *set, struct pawl_job_id flow,
                                          int32_t no)
{
    return pawl__set_want_records(set, PAWL__RECORD_FLOW_EDGE,
                                  &(struct pawl__flow_edge){ .flow = flow, .parent = no });
}

static struct pawl__record *signal_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_SIGNAL, &(struct pawl__flow_signal){ .flow = flow, .no = no }));
}

/* 0: it is not about a node, but about the flow itself, or there is none. */
static bool find_number(struct pawl__set *set, const struct pawl__unsettled *about,
                        struct pawl__flow_member *out)
{
    *out = (struct pawl__flow_member){ about->id, about->flow, about->node };
    if (about->node) return true;
    const struct pawl__record *member = pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = about->id });
    if (!member || !member->of->read) return false;
    out->flow = about->id;
    if (member->there) *out = member->row.flow_member;
    return member->there || pawl__flow_is_walk(about);
}

static void find_group(struct pawl__set *set, struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    books->group = node->group ? pawl__flow_group_of(set, node->flow, node->group) : books->all;
    books->above = node->group ? pawl__flow_node_of(set, node->flow, node->group) : NULL;
}

/* The flow's row comes first: it is the lock of the others, which are read behind it. */
void pawl__flow_find_books(struct pawl__set *set, const struct pawl__unsettled *about,
                           struct pawl__flow_books *out)
{
    struct pawl__flow_member at;
    *out = (struct pawl__flow_books){ .result = about->details };
    if (!find_number(set, about, &at)) return;
    out->flow = pawl__flow_of(set, at.flow);
    out->all = pawl__flow_group_of(set, at.flow, PAWL__FLOW_ALL);
    out->work = pawl__flow_group_of(set, at.flow, PAWL__FLOW_WORK);
    if (!at.no) return;
    out->node = pawl__flow_node_of(set, at.flow, at.no);
    bool opens = out->node && out->node->row.flow_node.kind == PAWL_FLOW_KIND_GROUP;
    if (opens) out->members = pawl__flow_group_of(set, at.flow, at.no);
    bool waits = out->node && out->node->row.flow_node.kind == PAWL_FLOW_KIND_SIGNAL;
    if (waits) out->signal = signal_of(set, at.flow, at.no);
    if (opens || waits) out->timer = pawl__flow_timer_of(set, out->node->row.flow_node.id);
    bool tells = pawl__flow_is_end(about) || pawl__flow_is_revival(about) ||
                 (pawl__flow_is_act(about) && !pawl__flow_is_walk(about));
    if (tells || opens) out->edges = pawl__flow_edges_of(set, at.flow, at.no);
    if (out->node) find_group(set, out);
    bool timed = out->flow && out->all &&
                 (out->flow->row.flow.deadline_at_ms || out->all->row.flow_group.hold_until_ms);
    if (timed) out->clock = pawl__flow_timer_of(set, at.flow);
}

bool pawl__flow_is_whole(const struct pawl__flow_books *books)
{
    if (!books->flow || !books->node || !books->all || !books->work || !books->group) return false;
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    if (node->kind == PAWL_FLOW_KIND_SIGNAL && !books->signal) return false;
    return books->above || !node->group;
}

void pawl__flow_note(struct pawl__set *set, const struct pawl__flow_node *node, enum pawl_state to)
{
    pawl__set_unsettle(set, &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                       .id = node->id,
                                                       .ties = PAWL__TIE_FLOW,
                                                       .to = to,
                                                       .details = node->result,
                                                       .flow = node->flow,
                                                       .node = node->no });
}

void pawl__flow_note_look(struct pawl__set *set, const struct pawl__flow_node *node)
{
    pawl__flow_note(set, node, PAWL_STATE_NONE);
}

void pawl__flow_note_act(struct pawl__set *set, const struct pawl__flow_node *node,
                         enum pawl__flow_act act)
{
    pawl__set_unsettle(set, &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                       .id = node->id,
                                                       .ties = PAWL__TIE_FLOW,
                                                       .run = act,
                                                       .flow = node->flow,
                                                       .node = node->no });
}

void pawl__flow_note_walk(struct pawl__set *set, struct pawl_job_id flow,
                          const struct pawl__flow_node *group, enum pawl__flow_act act)
{
    pawl__set_unsettle(set, &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                       .id = group ? group->id : flow,
                                                       .ties = PAWL__TIE_FLOW,
                                                       .run = act,
                                                       .flow = flow,
                                                       .node = group ? group->no : 0 });
}
