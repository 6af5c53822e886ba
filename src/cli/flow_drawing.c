/* The graph as it is shown: nodes that have the same place in the graph are gathered. */
#include "cli/flow_draw.h"

#include <stdlib.h>
#include <string.h>

/* A node while it is sorted by its place in the graph. */
struct placed {
    uint64_t place;
    uint32_t urgency; /* smaller: shown first */
    uint32_t index;
};

struct maker {
    const struct pawl_flow_nodes *nodes;
    struct pawl__arena *arena;
    struct placed *placed;
    uint32_t *drawn_as;   /* of each node: the node that is shown for it, mostly itself */
    uint32_t *stands_for; /* of a node that is shown for others: how many; then of each node that is
                             shown: its place in the drawing */
    struct pawl__drawing *out;
};

/* ---- places ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int by_number(const void *key, const void *element)
{
    int32_t number = *(const int32_t *)key;
    const struct pawl_flow_view *view = element;
    return number < view->number ? -1 : number > view->number;
}

/* The index of node `number`; NONE: there is none. */
static uint32_t find(const struct pawl_flow_nodes *nodes, int32_t number)
{
    const struct pawl_flow_view *view =
        nodes->count ? bsearch(&number, nodes->at, nodes->count, sizeof *nodes->at, by_number)
                     : NULL;
    return view ? (uint32_t)(view - nodes->at) : PAWL__DRAWN_NONE;
}

/* What failed first, then what runs, then the others. */
static uint32_t urgency(const struct pawl_flow_view *view)
{
    if (pawl_state_is_terminal(view->state) && !pawl_state_is_successful(view->state)) return 0;
    return view->state == PAWL_STATE_ACTIVE ? 1 : view->state == PAWL_STATE_RETRYABLE ? 2 : 3;
}

/* The place of a node is its group, its parents and its children, as a sum of hashes. Only plain
 * jobs share one. */
static void place_nodes(struct maker *maker)
{
    const struct pawl_flow_nodes *nodes = maker->nodes;
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct pawl_flow_view *view = &nodes->at[i];
        uint64_t own = view->kind == PAWL_FLOW_KIND_JOB ? 0 : (uint64_t)view->number + 1;
        maker->placed[i] = (struct placed){
            .place = mix((uint64_t)view->group * 2 + 1) + mix(own << 32 | view->callback),
            .urgency = urgency(view),
            .index = i,
        };
    }
    for (size_t i = 0; i < nodes->edge_count; i++) {
        const struct pawl_flow_arc *arc = &nodes->edges[i];
        uint32_t from = find(nodes, arc->parent), to = find(nodes, arc->child);
        if (from == PAWL__DRAWN_NONE || to == PAWL__DRAWN_NONE) continue;
        uint64_t kind = (uint64_t)arc->on << 40 | (uint64_t)arc->arm << 44;
        maker->placed[from].place += mix((uint64_t)arc->child << 8 | kind | 3);
        maker->placed[to].place += mix((uint64_t)arc->parent << 8 | kind | 5);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->urgency != y->urgency) return x->urgency < y->urgency ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Of each place with too many nodes, all but a few stand behind one. */
static void gather(struct maker *maker)
{
    size_t count = maker->nodes->count, end;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && maker->placed[end].place == maker->placed[i].place;) {
            end++;
        }
        if (end - i <= PAWL__DRAWN_ALIKE_MAX) continue;
        uint32_t last = maker->placed[end - 1].index; // so that it is drawn behind most of them
        maker->stands_for[last] = (uint32_t)(end - i - PAWL__DRAWN_OF_MANY);
        for (size_t k = i + PAWL__DRAWN_OF_MANY; k < end; k++) {
            maker->drawn_as[maker->placed[k].index] = last;
        }
    }
}

/* ---- nodes ---- */

static bool add_nodes(struct maker *maker)
{
    const struct pawl_flow_nodes *nodes = maker->nodes;
    struct pawl__drawing *out = maker->out;
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (maker->drawn_as[i] != i) continue;
        struct pawl__drawn *drawn = &out->at[out->count];
        *drawn = (struct pawl__drawn){ .view = &nodes->at[i], .group = PAWL__DRAWN_NONE };
        drawn->more = maker->stands_for[i];
        if (drawn->more) {
            drawn->states = pawl__arena_calloc(maker->arena, PAWL_STATE_END, sizeof *drawn->states);
            if (!drawn->states) return false;
        }
        maker->stands_for[i] = out->count++; // from now on its place in the drawing
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        struct pawl__drawn *drawn = &out->at[maker->stands_for[maker->drawn_as[i]]];
        uint32_t group = nodes->at[i].group ? find(nodes, nodes->at[i].group) : PAWL__DRAWN_NONE;
        if (drawn->more) ((int64_t *)drawn->states)[nodes->at[i].state]++;
        if (group != PAWL__DRAWN_NONE) drawn->group = maker->stands_for[group];
    }
    return true;
}

/* ---- links ---- */

static int by_from(const void *a, const void *b)
{
    const struct pawl__link *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void add_links(struct maker *maker)
{
    const struct pawl_flow_nodes *nodes = maker->nodes;
    struct pawl__drawing *out = maker->out;
    for (size_t i = 0; i < nodes->edge_count; i++) {
        uint32_t from = find(nodes, nodes->edges[i].parent);
        uint32_t to = find(nodes, nodes->edges[i].child);
        if (from == PAWL__DRAWN_NONE || to == PAWL__DRAWN_NONE) continue;
        out->links[out->link_count++] = (struct pawl__link){
            .from = maker->stands_for[maker->drawn_as[from]],
            .to = maker->stands_for[maker->drawn_as[to]],
            .arc = &nodes->edges[i],
        };
    }
    if (out->link_count) qsort(out->links, out->link_count, sizeof *out->links, by_from);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->link_count; i++) {
        if (kept && by_from(&out->links[kept - 1], &out->links[i]) == 0) continue;
        out->links[kept++] = out->links[i];
    }
    out->link_count = kept;
}

/* Which links lead from and to each node. */
static void index_links(struct pawl__drawing *out)
{
    for (uint32_t i = 0; i < out->link_count; i++) {
        struct pawl__drawn *from = &out->at[out->links[i].from];
        if (from->out_count++ == 0) from->out = i;
        out->at[out->links[i].to].in_count++;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        out->at[i].in = next;
        next += out->at[i].in_count;
        out->at[i].in_count = 0;
    }
    for (uint32_t i = 0; i < out->link_count; i++) {
        struct pawl__drawn *to = &out->at[out->links[i].to];
        out->ins[to->in + to->in_count++] = i;
    }
}

bool pawl__drawing_make(const struct pawl_flow_nodes *nodes, struct pawl__arena *arena,
                        struct pawl__drawing *out)
{
    struct maker maker = { .nodes = nodes, .arena = arena, .out = out };
    size_t count = nodes->count + 1, links = nodes->edge_count + 1;
    *out = (struct pawl__drawing){ 0 };
    maker.placed = pawl__arena_calloc(arena, count, sizeof *maker.placed);
    maker.drawn_as = pawl__arena_calloc(arena, count, sizeof *maker.drawn_as);
    maker.stands_for = pawl__arena_calloc(arena, count, sizeof *maker.stands_for);
    out->at = pawl__arena_calloc(arena, count, sizeof *out->at);
    out->links = pawl__arena_calloc(arena, links, sizeof *out->links);
    out->ins = pawl__arena_calloc(arena, links, sizeof *out->ins);
    if (!maker.placed || !maker.drawn_as || !maker.stands_for || !out->at || !out->links ||
        !out->ins) {
        return false;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        maker.drawn_as[i] = i;
    }
    place_nodes(&maker);
    if (nodes->count) qsort(maker.placed, nodes->count, sizeof *maker.placed, by_place);
    gather(&maker);
    if (!add_nodes(&maker)) return false;
    add_links(&maker);
    index_links(out);
    return true;
}
