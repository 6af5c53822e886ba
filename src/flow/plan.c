/* See plan.h. */
#include "flow/plan.h"

#include "base/diag.h"
#include "flow/expr.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

struct name {
    const char *text;
    int32_t no;
};

struct draft {
    const struct pawl_flow_spec *spec;
    struct pawl__flow_known known;
    struct pawl__arena *arena;
    struct pawl__flow_plan *plan;
    struct pawl_diag *diag;
    struct name *names; /* in order */
};

#define REFUSE(draft, node, field, text, ...)                                                      \
    pawl__fail_field((draft)->diag, PAWL_ERR_ARG, field, "node \"%s\": " text, (node)->name,       \
                     ##__VA_ARGS__)

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* 0: there is none. */
static int32_t number_of(const struct draft *draft, const char *text)
{
    const struct name key = { .text = text };
    const struct name *name =
        bsearch(&key, draft->names, draft->spec->node_count, sizeof *draft->names, compare_names);
    return name ? name->no : 0;
}

static enum pawl_err check_name(const struct draft *draft, size_t at)
{
    const char *name = draft->spec->nodes[at].name;
    size_t len = name ? strlen(name) : 0;
    if (!len) {
        return pawl__fail_field(draft->diag, PAWL_ERR_ARG, "name", "node [%zu] has no name", at);
    }
    if (len <= PAWL_FLOW_NAME_BYTES_MAX) return PAWL_OK;
    return pawl__fail_field(draft->diag, PAWL_ERR_LIMIT, "name",
                            "the name of node [%zu] is longer than %d bytes", at,
                            PAWL_FLOW_NAME_BYTES_MAX);
}

static enum pawl_err name_nodes(struct draft *draft)
{
    size_t count = draft->spec->node_count;
    draft->names = pawl__arena_alloc(draft->arena, count * sizeof *draft->names);
    if (!draft->names) return pawl__fail_nomem(draft->diag);
    for (size_t i = 0; i < count; i++) {
        enum pawl_err err = check_name(draft, i);
        if (err) return err;
        draft->names[i] = (struct name){ draft->spec->nodes[i].name, (int32_t)i + 1 };
    }
    qsort(draft->names, count, sizeof *draft->names, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (compare_names(&draft->names[i - 1], &draft->names[i]) != 0) continue;
        return pawl__fail_field(draft->diag, PAWL_ERR_ARG, "name", "two nodes are named \"%s\"",
                                draft->names[i].text);
    }
    return PAWL_OK;
}

/* ---- nodes ---- */

static bool is_kind(const struct draft *draft, int32_t no, enum pawl_flow_kind kind)
{
    return draft->spec->nodes[no - 1].kind == kind;
}

static bool is_job(const struct pawl_flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB || node->kind == PAWL_FLOW_KIND_DEFAULT;
}

/* Members that other kinds of nodes do not have. */
static enum pawl_err check_own(const struct draft *draft, const struct pawl_flow_node *node)
{
    bool signal = node->signal_key || node->timeout_ms || node->on_timeout || node->on_reject ||
                  node->payload.len;
    bool group = node->unsealed || node->abort_failures || node->abort_share != 0;
    if (signal && node->kind != PAWL_FLOW_KIND_SIGNAL) {
        return REFUSE(draft, node, "kind", "only signals have a key, a timeout and a payload");
    }
    if (group && node->kind != PAWL_FLOW_KIND_GROUP) {
        return REFUSE(draft, node, "kind", "only groups grow, or are aborted");
    }
    if (node->on_timeout >= PAWL_FLOW_UNSIGNALLED_END ||
        node->on_reject >= PAWL_FLOW_UNSIGNALLED_END) {
        return REFUSE(draft, node, "on_timeout", "has no such end");
    }
    if (node->abort_failures < 0 || node->abort_failures > INT32_MAX) {
        return REFUSE(draft, node, "abort_failures", "must be between 1 and %d", INT32_MAX);
    }
    if (!(node->abort_share >= 0 && node->abort_share <= 1)) {
        return REFUSE(draft, node, "abort_share", "must be between 0 and 1");
    }
    if (node->on_timeout && !node->timeout_ms) {
        return REFUSE(draft, node, "on_timeout", "has no timeout");
    }
    return PAWL_OK;
}

static enum pawl_err check_node(const struct draft *draft, const struct pawl_flow_node *node)
{
    int32_t in = (int32_t)node->after_count;
    if (node->kind >= PAWL_FLOW_KIND_END) return REFUSE(draft, node, "kind", "has no such kind");
    if (!is_job(node) && node->job.type) return REFUSE(draft, node, "job", "is not a job");
    if (node->job.pending) {
        return REFUSE(draft, node, "pending", "its flow decides when it is held");
    }
    if (node->join == PAWL_FLOW_JOIN_N && (node->n < 1 || node->n > in)) {
        return REFUSE(draft, node, "n", "n must be between 1 and %d, the number of its edges",
                      (int)in);
    }
    if (node->join != PAWL_FLOW_JOIN_N && node->n) {
        return REFUSE(draft, node, "n", "n is for the join rule \"n\"");
    }
    if (node->join >= PAWL_FLOW_JOIN_END || node->on_parent_failure >= PAWL_FLOW_PARENT_END ||
        node->select >= PAWL_FLOW_SELECT_END) {
        return REFUSE(draft, node, "join", "has no such rule");
    }
    return check_own(draft, node);
}

/* Groups around a node; PAWL_FLOW_DEPTH_MAX + 1: too many, or in a circle. */
static int depth_of(const struct draft *draft, int32_t no)
{
    int depth = 0;
    for (int32_t at = no; at && depth <= PAWL_FLOW_DEPTH_MAX + 1; depth++) {
        at = draft->plan->places[at - 1].group;
    }
    return depth - 1;
}

static enum pawl_err place_node(const struct draft *draft, size_t at)
{
    const struct pawl_flow_node *node = &draft->spec->nodes[at];
    enum pawl_err err = at < draft->known.count ? PAWL_OK : check_node(draft, node);
    if (err || !node->group) return err;
    int32_t group = number_of(draft, node->group);
    if (!group || !is_kind(draft, group, PAWL_FLOW_KIND_GROUP)) {
        return REFUSE(draft, node, "group", "there is no group \"%s\"", node->group);
    }
    draft->plan->places[at].group = group;
    draft->plan->places[group - 1].members++;
    return PAWL_OK;
}

static enum pawl_err check_depth(const struct draft *draft)
{
    for (size_t i = 0; i < draft->spec->node_count; i++) {
        if (depth_of(draft, (int32_t)i + 1) <= PAWL_FLOW_DEPTH_MAX) continue;
        return REFUSE(draft, &draft->spec->nodes[i], "group",
                      "groups are in a circle, or more than %d deep", PAWL_FLOW_DEPTH_MAX);
    }
    return PAWL_OK;
}

/* ---- edges ---- */

static enum pawl_err check_when(const struct draft *draft, const struct pawl_flow_node *node,
                                const char *when)
{
    struct pawl__expr expr;
    struct pawl_diag why;
    enum pawl_err err = pawl__expr_compile((struct pawl_span){ when, strlen(when) }, &expr, &why);
    if (!err) return PAWL_OK;
    return pawl__fail_field(draft->diag, err, "when", "node \"%s\": %s", node->name, why.text);
}

static enum pawl_err check_edge(const struct draft *draft, const struct pawl_flow_node *node,
                                const struct pawl_flow_edge *edge, int32_t parent, int32_t child)
{
    const char *name = edge->parent ? edge->parent : "";
    if (!parent) return REFUSE(draft, node, "parent", "there is no node \"%s\"", name);
    if (parent == child) return REFUSE(draft, node, "parent", "it cannot come after itself");
    const struct pawl__flow_place_of *places = draft->plan->places;
    if (places[parent - 1].group != places[child - 1].group) {
        return REFUSE(draft, node, "parent", "node \"%s\" is in another group", name);
    }
    if (edge->on >= PAWL_FLOW_ON_END) return REFUSE(draft, node, "on", "has no such edge");
    bool arm = edge->arm || edge->otherwise;
    enum pawl_flow_select select = draft->spec->nodes[parent - 1].select;
    bool chooses = select == PAWL_FLOW_SELECT_FIRST || select == PAWL_FLOW_SELECT_ALL ||
                   (is_kind(draft, parent, PAWL_FLOW_KIND_BRANCH) && !select);
    if (edge->when) {
        enum pawl_err err = check_when(draft, node, edge->when);
        if (err) return err;
    }
    if (edge->arm < 0) return REFUSE(draft, node, "arm", "arms are numbered from 1");
    if (arm && !chooses) return REFUSE(draft, node, "arm", "node \"%s\" makes no choice", name);
    return PAWL_OK;
}

static enum pawl_err list_links(struct draft *draft)
{
    struct pawl__flow_plan *plan = draft->plan;
    for (size_t i = 0; i < draft->spec->node_count; i++) {
        const struct pawl_flow_node *node = &draft->spec->nodes[i];
        int32_t child = (int32_t)i + 1;
        for (size_t k = 0; k < node->after_count; k++) {
            const struct pawl_flow_edge *edge = &node->after[k];
            int32_t parent = edge->parent ? number_of(draft, edge->parent) : 0;
            size_t known = draft->known.count;
            bool is_known = parent && (size_t)parent <= known && (size_t)child <= known;
            enum pawl_err err = is_known ? PAWL_OK : check_edge(draft, node, edge, parent, child);
            if (err) return err;
            plan->links[plan->link_count++] = (struct pawl__flow_link){ parent, child, edge };
        }
        int32_t group = plan->places[i].group;
        if (group) {
            plan->links[plan->link_count++] = (struct pawl__flow_link){ group, child, NULL };
        }
    }
    return PAWL_OK;
}

static int compare_links(const void *a, const void *b)
{
    const struct pawl__flow_link *left = a, *right = b;
    if (left->parent != right->parent) return left->parent < right->parent ? -1 : 1;
    return left->child < right->child ? -1 : left->child > right->child;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_edge(const struct pawl_flow_edge *a, const struct pawl_flow_edge *b)
{
    return a->on == b->on && a->arm == b->arm && a->otherwise == b->otherwise &&
           same_text(a->when, b->when);
}

/* An edge that is named twice is one. */
static enum pawl_err merge_links(struct draft *draft)
{
    struct pawl__flow_plan *plan = draft->plan;
    size_t kept = 0;
    if (plan->link_count) qsort(plan->links, plan->link_count, sizeof *plan->links, compare_links);
    for (size_t i = 0; i < plan->link_count; i++) {
        struct pawl__flow_link link = plan->links[i], *last = kept ? &plan->links[kept - 1] : NULL;
        bool again = last && last->from && link.from && !compare_links(last, &link);
        if (again && !same_edge(last->from, link.from)) {
            return REFUSE(draft, &draft->spec->nodes[link.child - 1], "parent",
                          "two edges from \"%s\" differ", link.from->parent);
        }
        if (again) continue;
        plan->links[kept++] = link;
        if (link.from) plan->places[link.child - 1].parents++;
    }
    plan->link_count = kept;
    return PAWL_OK;
}

/* ---- order ---- */

/* Where the links of each parent begin; one more for the end. */
static size_t *index_links(const struct draft *draft)
{
    const struct pawl__flow_plan *plan = draft->plan;
    size_t count = draft->spec->node_count, at = 0;
    size_t *first = pawl__arena_alloc(draft->arena, (count + 2) * sizeof *first);
    for (size_t no = 1; first && no <= count + 1; no++) {
        while (at < plan->link_count && (size_t)plan->links[at].parent < no) {
            at++;
        }
        first[no] = at;
    }
    return first;
}

/* Takes away nodes that wait for nobody, and their edges: what is left is a circle. */
static enum pawl_err check_circles(const struct draft *draft)
{
    const struct pawl__flow_plan *plan = draft->plan;
    size_t count = draft->spec->node_count, done = 0, ready = 0;
    size_t *first = index_links(draft);
    int32_t *left = pawl__arena_alloc(draft->arena, (count + 1) * sizeof *left);
    int32_t *queue = pawl__arena_alloc(draft->arena, count * sizeof *queue);
    if (!first || !left || !queue) return pawl__fail_nomem(draft->diag);
    for (size_t i = 0; i < count; i++) {
        left[i + 1] = plan->places[i].parents;
        if (!left[i + 1]) queue[ready++] = (int32_t)i + 1;
    }
    for (; done < ready; done++) {
        for (size_t at = first[queue[done]]; at < first[queue[done] + 1]; at++) {
            int32_t child = plan->links[at].child;
            if (plan->links[at].from && !--left[child]) queue[ready++] = child;
        }
    }
    for (size_t i = 0; ready < count && i < count; i++) {
        if (left[i + 1] <= 0) continue;
        return REFUSE(draft, &draft->spec->nodes[i], "parent", "its parents form a cycle");
    }
    return PAWL_OK;
}

/* Groups come to their members from outside in, and are three deep at most. */
static void find_open(const struct draft *draft)
{
    struct pawl__flow_place_of *places = draft->plan->places;
    for (size_t i = 0; i < draft->spec->node_count; i++) {
        places[i].open = true;
        for (int32_t group = places[i].group; group; group = places[group - 1].group) {
            bool known = (size_t)group <= draft->known.count;
            bool begun = known ? draft->known.begun[group - 1] : !places[group - 1].parents;
            places[i].open &= begun;
            if (known) break; // one that was released stands in one that was
        }
    }
}

/* ---- the whole ---- */

static enum pawl_err check_size(const struct pawl_flow_spec *spec, size_t known, size_t edges,
                                struct pawl_diag *diag)
{
    size_t fresh = spec->node_count - known;
    if (!fresh && !spec->unsealed) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "nodes", "a flow has at least one node");
    }
    if (fresh > PAWL_FLOW_NODES_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "nodes",
                                "%zu nodes exceed the limit of %d nodes at once", fresh,
                                PAWL_FLOW_NODES_MAX);
    }
    if (spec->node_count > PAWL_FLOW_TOTAL_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "nodes",
                                "%zu nodes exceed the limit of %d nodes of a flow",
                                spec->node_count, PAWL_FLOW_TOTAL_MAX);
    }
    if (edges <= PAWL_FLOW_EDGES_MAX) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_LIMIT, "after", "%zu edges exceed the limit of %d",
                            edges, PAWL_FLOW_EDGES_MAX);
}

static size_t count_edges(const struct pawl_flow_spec *spec)
{
    size_t edges = 0;
    for (size_t i = 0; i < spec->node_count; i++) {
        edges += spec->nodes[i].after_count;
    }
    return edges;
}

enum pawl_err pawl__flow_plan_make(const struct pawl_flow_spec *spec,
                                   const struct pawl__flow_known *known, struct pawl__arena *arena,
                                   struct pawl__flow_plan *out, struct pawl_diag *diag)
{
    struct draft draft = { .spec = spec, .arena = arena, .plan = out, .diag = diag };
    if (known) draft.known = *known;
    size_t count = spec->node_count, edges = count_edges(spec);
    enum pawl_err err = check_size(spec, draft.known.count, edges, diag);
    if (err) return err;
    *out = (struct pawl__flow_plan){ .place_count = count };
    out->places = pawl__arena_calloc(arena, count, sizeof *out->places);
    out->links = pawl__arena_alloc(arena, (edges + count) * sizeof *out->links);
    if (!out->places || !out->links) return pawl__fail_nomem(diag);
    err = name_nodes(&draft);
    for (size_t i = 0; !err && i < count; i++) {
        err = place_node(&draft, i);
    }
    if (!err) err = check_depth(&draft);
    if (!err) err = list_links(&draft);
    if (!err) err = merge_links(&draft);
    if (!err) err = check_circles(&draft);
    if (!err) find_open(&draft);
    return err;
}
