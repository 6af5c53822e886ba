/* Layered placement, after Sugiyama: longest paths make the layers, edges over several layers get
 * bends, barycentres the order within a layer, and isotonic regression the heights: of all heights
 * that keep order and distance it finds those nearest to the middle of the neighbours. The members
 * of a group are placed first, in coordinates of their own; then the group is one node. */
#include "cli/flow_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_SWEEPS = 8, HEIGHT_SWEEPS = 12, BEND_HEIGHT = 6 };

/* A node of the group that is being placed, or a bend. */
struct item {
    uint32_t node; /* NONE: a bend */
    uint32_t bend; /* its place among all bends */
    uint32_t layer;
    uint32_t before, before_count; /* neighbours in the layer before: places in `near` */
    uint32_t behind, behind_count;
    double h, y; /* y: of its middle */
    double key;
};

struct point {
    double x, y;
};

struct placer {
    const struct pawl__drawing *drawing;
    double (*label_width)(const struct pawl__link *link);
    struct pawl__arena *arena;
    struct pawl__placement *out;
    uint32_t *first_member, *next_member, *layer, *missing, *item_of;
    /* Of the group that is being placed: */
    struct item *items; /* by layer, in order */
    uint32_t item_count;
    uint32_t *starts; /* of each layer, and the end */
    uint32_t layer_count;
    uint32_t (*segments)[2];
    uint32_t segment_count;
    uint32_t *near;
};

/* ---- layers ---- */

/* Kahn's algorithm; a node's layer is the length of the longest path to it. */
static bool find_layers(struct placer *p, uint32_t first, uint32_t count)
{
    uint32_t *queue = pawl__arena_calloc(p->arena, count + 1, sizeof *queue), head = 0, tail = 0;
    if (!queue) return false;
    p->layer_count = 1;
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        p->missing[node] = p->drawing->at[node].in_count;
        p->layer[node] = 0;
        if (!p->missing[node]) queue[tail++] = node;
    }
    while (head < tail) {
        const struct pawl__drawn *drawn = &p->drawing->at[queue[head]];
        uint32_t next = p->layer[queue[head++]] + 1;
        for (uint32_t i = drawn->out; i < drawn->out + drawn->out_count; i++) {
            uint32_t child = p->drawing->links[i].to;
            if (p->layer[child] < next) p->layer[child] = next;
            if (next + 1 > p->layer_count) p->layer_count = next + 1;
            if (--p->missing[child] == 0) queue[tail++] = child;
        }
    }
    return true;
}

/* ---- items ---- */

static void add_item(struct placer *p, struct item item)
{
    p->items[p->item_count++] = item;
}

/* Bends in the layers that the link crosses. */
static void add_bends(struct placer *p, uint32_t link)
{
    const struct pawl__link *at = &p->drawing->links[link];
    uint32_t from = p->layer[at->from] + 1, to = p->layer[at->to];
    struct pawl__route *route = &p->out->routes[link];
    if (to - from > PAWL__PLACE_BENDS_MAX - p->out->bend_count) return;
    *route = (struct pawl__route){ p->out->bend_count, to - from };
    for (uint32_t layer = from; layer < to; layer++) {
        add_item(p, (struct item){ .node = PAWL__DRAWN_NONE,
                                   .bend = p->out->bend_count++,
                                   .layer = layer,
                                   .h = BEND_HEIGHT });
    }
}

static int by_layer(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool make_items(struct placer *p, uint32_t first, uint32_t count)
{
    size_t room = count;
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        const struct pawl__drawn *drawn = &p->drawing->at[node];
        for (uint32_t i = drawn->out; i < drawn->out + drawn->out_count; i++) {
            room += p->layer[p->drawing->links[i].to] - p->layer[node] - 1;
        }
    }
    if (room > (size_t)count + PAWL__PLACE_BENDS_MAX) room = (size_t)count + PAWL__PLACE_BENDS_MAX;
    p->items = pawl__arena_calloc(p->arena, room, sizeof *p->items);
    p->starts = pawl__arena_calloc(p->arena, p->layer_count + 1, sizeof *p->starts);
    if (!p->items || !p->starts) return false;
    p->item_count = 0;
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        const struct pawl__drawn *drawn = &p->drawing->at[node];
        add_item(p,
                 (struct item){ .node = node, .layer = p->layer[node], .h = p->out->at[node].h });
        for (uint32_t i = drawn->out; i < drawn->out + drawn->out_count; i++) {
            add_bends(p, i);
        }
    }
    return true;
}

/* Sorts the items by layer and key. */
static void sort_items(struct placer *p)
{
    qsort(p->items, p->item_count, sizeof *p->items, by_layer);
    uint32_t layer = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct item *item = &p->items[i];
        while (layer <= item->layer) {
            p->starts[layer++] = i;
        }
        if (item->node != PAWL__DRAWN_NONE) p->item_of[item->node] = i;
        if (item->node == PAWL__DRAWN_NONE) {
            p->out->bends[item->bend].x = i; // its item, until it gets its place
        }
    }
    p->starts[p->layer_count] = p->item_count;
}

/* ---- neighbours ---- */

/* Pairs of items in adjacent layers that an edge joins. */
static void find_segments(struct placer *p, uint32_t first)
{
    p->segment_count = 0;
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        const struct pawl__drawn *drawn = &p->drawing->at[node];
        for (uint32_t i = drawn->out; i < drawn->out + drawn->out_count; i++) {
            const struct pawl__route *route = &p->out->routes[i];
            uint32_t at = p->item_of[node], to = p->item_of[p->drawing->links[i].to];
            for (uint32_t k = 0; k < route->count; k++) {
                uint32_t bend = (uint32_t)p->out->bends[route->first + k].x;
                p->segments[p->segment_count][0] = at;
                p->segments[p->segment_count++][1] = at = bend;
            }
            if (p->items[to].layer != p->items[at].layer + 1) continue; // too many bends
            p->segments[p->segment_count][0] = at;
            p->segments[p->segment_count++][1] = to;
        }
    }
}

static void find_neighbours(struct placer *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        p->items[i].before_count = p->items[i].behind_count = 0;
    }
    for (uint32_t i = 0; i < p->segment_count; i++) {
        p->items[p->segments[i][0]].behind_count++;
        p->items[p->segments[i][1]].before_count++;
    }
    for (uint32_t i = 0; i < p->item_count; i++) {
        struct item *item = &p->items[i];
        item->before = next;
        item->behind = next + item->before_count;
        next = item->behind + item->behind_count;
        item->before_count = item->behind_count = 0;
    }
    for (uint32_t i = 0; i < p->segment_count; i++) {
        struct item *a = &p->items[p->segments[i][0]], *b = &p->items[p->segments[i][1]];
        p->near[a->behind + a->behind_count++] = p->segments[i][1];
        p->near[b->before + b->before_count++] = p->segments[i][0];
    }
}

/* The mean of `y` over the neighbours on one side; its own without any. */
static double mean_of_neighbours(const struct placer *p, const struct item *item, bool before)
{
    uint32_t first = before ? item->before : item->behind;
    uint32_t count = before ? item->before_count : item->behind_count;
    double sum = 0;
    for (uint32_t i = first; i < first + count; i++) {
        sum += p->items[p->near[i]].y;
    }
    return count ? sum / count : item->y;
}

/* ---- order ---- */

/* For the order, y is the place within the layer. */
static void number_items(struct placer *p)
{
    for (uint32_t layer = 0; layer < p->layer_count; layer++) {
        for (uint32_t i = p->starts[layer]; i < p->starts[layer + 1]; i++) {
            p->items[i].y = p->items[i].key = i - p->starts[layer];
        }
    }
}

static uint64_t count_crossings(const struct placer *p)
{
    uint64_t crossings = 0;
    for (uint32_t i = 0; i < p->segment_count && i < 1000; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const uint32_t *a = p->segments[i], *b = p->segments[k];
            if (p->items[a[0]].layer != p->items[b[0]].layer) continue;
            crossings += (a[0] < b[0] && a[1] > b[1]) || (a[0] > b[0] && a[1] < b[1]);
        }
    }
    return crossings;
}

static void order_layers(struct placer *p, uint32_t first, struct item *best)
{
    uint64_t fewest = UINT64_MAX;
    for (int sweep = 0; sweep <= ORDER_SWEEPS; sweep++) {
        sort_items(p);
        find_segments(p, first);
        find_neighbours(p);
        number_items(p);
        uint64_t crossings = count_crossings(p);
        if (crossings < fewest) {
            fewest = crossings;
            memcpy(best, p->items, p->item_count * sizeof *best);
        }
        bool before = sweep % 2 == 0;
        for (uint32_t i = 0; i < p->item_count; i++) {
            // the old place decides between equal means
            p->items[i].key = mean_of_neighbours(p, &p->items[i], before) + p->items[i].y * 1e-6;
        }
    }
    memcpy(p->items, best, p->item_count * sizeof *best);
    sort_items(p);
    find_segments(p, first);
    find_neighbours(p);
}

/* ---- heights ---- */

/* The distance between the middles of two items that follow each other. */
static double distance(const struct item *above, const struct item *below)
{
    return (above->h + below->h) / 2 + PAWL__PLACE_ROW_GAP;
}

/* Pools adjacent violators: `key` of each item is where it would like to be. Blocks of items that
 * would overlap move to their common mean. */
static void settle_layer(struct placer *p, uint32_t layer, struct item *blocks)
{
    uint32_t first = p->starts[layer], end = p->starts[layer + 1], count = 0;
    double offset = 0;
    for (uint32_t i = first; i < end; i++) {
        if (i > first) offset += distance(&p->items[i - 1], &p->items[i]);
        // of a block: y is the sum of the wishes, h their number, node the first item
        struct item block = { .y = p->items[i].key - offset, .h = 1, .node = i };
        while (count > 0 && blocks[count - 1].y / blocks[count - 1].h >= block.y / block.h) {
            count--;
            block.y += blocks[count].y;
            block.h += blocks[count].h;
            block.node = blocks[count].node;
        }
        blocks[count++] = block;
    }
    offset = 0;
    uint32_t block = 0;
    for (uint32_t i = first; i < end; i++) {
        if (i > first) offset += distance(&p->items[i - 1], &p->items[i]);
        if (block + 1 < count && blocks[block + 1].node == i) block++;
        p->items[i].y = blocks[block].y / blocks[block].h + offset;
    }
}

static void settle_heights(struct placer *p, struct item *blocks)
{
    for (uint32_t i = 0; i < p->item_count; i++) {
        p->items[i].key = 0;
    }
    for (uint32_t layer = 0; layer < p->layer_count; layer++) {
        settle_layer(p, layer, blocks);
    }
    for (int sweep = 0; sweep < HEIGHT_SWEEPS; sweep++) {
        bool before = sweep % 2 == 0;
        for (uint32_t k = 0; k < p->layer_count; k++) {
            uint32_t layer = before ? k : p->layer_count - 1 - k;
            for (uint32_t i = p->starts[layer]; i < p->starts[layer + 1]; i++) {
                p->items[i].key = mean_of_neighbours(p, &p->items[i], before);
            }
            settle_layer(p, layer, blocks);
        }
    }
}

/* ---- coordinates ---- */

/* The room that labels take to the right of each layer; they stand before the edges' ends. NULL:
 * out of memory. */
static double *find_gaps(const struct placer *p, uint32_t first)
{
    double *gaps = pawl__arena_calloc(p->arena, p->layer_count, sizeof *gaps);
    if (!gaps) return NULL;
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        const struct pawl__drawn *drawn = &p->drawing->at[node];
        for (uint32_t i = drawn->in; i < drawn->in + drawn->in_count; i++) {
            double width = p->label_width(&p->drawing->links[p->drawing->ins[i]]);
            double *gap = &gaps[p->layer[node] - 1];
            if (width > *gap) *gap = width;
        }
    }
    return gaps;
}

/* Relative to the corner of the group's content; its size is the result. */
static struct point set_places(struct placer *p, const double *gaps)
{
    double x = 0, top = 0, bottom = 0, width = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct item *item = &p->items[i];
        if (i == 0 || item->y - item->h / 2 < top) top = item->y - item->h / 2;
        if (i == 0 || item->y + item->h / 2 > bottom) bottom = item->y + item->h / 2;
    }
    for (uint32_t layer = 0; layer < p->layer_count; layer++) {
        width = 0;
        for (uint32_t i = p->starts[layer]; i < p->starts[layer + 1]; i++) {
            const struct item *item = &p->items[i];
            bool is_node = item->node != PAWL__DRAWN_NONE;
            if (is_node && p->out->at[item->node].w > width) width = p->out->at[item->node].w;
        }
        for (uint32_t i = p->starts[layer]; i < p->starts[layer + 1]; i++) {
            const struct item *item = &p->items[i];
            if (item->node == PAWL__DRAWN_NONE) {
                p->out->bends[item->bend] = (struct pawl__bend){ x, item->y - top, width };
                continue;
            }
            p->out->at[item->node].x = x;
            p->out->at[item->node].layer_end = x + width;
            p->out->at[item->node].y = item->y - item->h / 2 - top;
        }
        x += width;
        if (layer + 1 < p->layer_count) x += PAWL__PLACE_LAYER_GAP + gaps[layer];
    }
    return (struct point){ x, bottom - top };
}

/* ---- groups ---- */

static bool place_group(struct placer *p, uint32_t group, struct point *size);

/* The sizes of those members that are groups. */
static bool place_inner_groups(struct placer *p, uint32_t first)
{
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        struct point size;
        if (p->first_member[node] == PAWL__DRAWN_NONE) continue;
        if (!place_group(p, node, &size)) return false;
        struct pawl__place *place = &p->out->at[node];
        double w = size.x + 2 * PAWL__PLACE_GROUP_PAD;
        if (w > place->w) place->w = w;
        place->h = size.y + PAWL__PLACE_GROUP_HEAD + PAWL__PLACE_GROUP_PAD;
    }
    return true;
}

/* Places the members of a group; `group` = count is the flow itself. Groups are nested as deep as
 * PAWL_FLOW_DEPTH_MAX. */
static bool place_group(struct placer *p, uint32_t group, struct point *size)
{
    uint32_t first = p->first_member[group], count = 0;
    size_t segments = p->drawing->link_count + PAWL__PLACE_BENDS_MAX;
    *size = (struct point){ 0, 0 };
    for (uint32_t node = first; node != PAWL__DRAWN_NONE; node = p->next_member[node]) {
        count++;
    }
    if (!count) return true;
    if (!place_inner_groups(p, first)) return false;
    if (!find_layers(p, first, count) || !make_items(p, first, count)) return false;
    struct item *scratch = pawl__arena_calloc(p->arena, p->item_count, sizeof *scratch);
    if (!p->segments) p->segments = pawl__arena_calloc(p->arena, segments, sizeof *p->segments);
    if (!p->near) p->near = pawl__arena_calloc(p->arena, 2 * segments, sizeof *p->near);
    const double *gaps = find_gaps(p, first);
    if (!scratch || !p->segments || !p->near || !gaps) return false;
    for (uint32_t i = 0; i < p->item_count; i++) {
        p->items[i].key = i;
    }
    order_layers(p, first, scratch);
    settle_heights(p, scratch);
    *size = set_places(p, gaps);
    return true;
}

static void list_members(struct placer *p)
{
    uint32_t count = p->drawing->count;
    for (uint32_t i = 0; i <= count; i++) {
        p->first_member[i] = PAWL__DRAWN_NONE;
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t group = p->drawing->at[i].group;
        if (group == PAWL__DRAWN_NONE) group = count;
        p->next_member[i] = p->first_member[group];
        p->first_member[group] = i;
    }
}

/* Where the content of the group around `node` begins. */
static struct point origin(const struct placer *p, const struct pawl__place *relative,
                           uint32_t node)
{
    struct point at = { 0, 0 };
    uint32_t group = p->drawing->at[node].group;
    for (; group != PAWL__DRAWN_NONE; group = p->drawing->at[group].group) {
        at.x += relative[group].x + PAWL__PLACE_GROUP_PAD;
        at.y += relative[group].y + PAWL__PLACE_GROUP_HEAD;
    }
    return at;
}

static bool make_absolute(struct placer *p)
{
    uint32_t count = p->drawing->count;
    struct pawl__place *relative = pawl__arena_calloc(p->arena, count + 1, sizeof *relative);
    if (!relative) return false;
    memcpy(relative, p->out->at, count * sizeof *relative);
    for (uint32_t i = 0; i < count; i++) {
        struct point at = origin(p, relative, i);
        p->out->at[i].x += at.x;
        p->out->at[i].layer_end += at.x;
        p->out->at[i].y += at.y;
    }
    for (uint32_t i = 0; i < p->drawing->link_count; i++) {
        struct point at = origin(p, relative, p->drawing->links[i].from);
        for (uint32_t k = 0; k < p->out->routes[i].count; k++) {
            p->out->bends[p->out->routes[i].first + k].x += at.x;
            p->out->bends[p->out->routes[i].first + k].y += at.y;
        }
    }
    return true;
}

bool pawl__placement_make(const struct pawl__drawing *drawing,
                          double (*label_width)(const struct pawl__link *link),
                          struct pawl__arena *arena, struct pawl__placement *placement)
{
    size_t count = (size_t)drawing->count + 1;
    struct placer p = {
        .drawing = drawing, .label_width = label_width, .arena = arena, .out = placement
    };
    uint32_t *numbers = pawl__arena_calloc(arena, 5 * count, sizeof *numbers);
    struct point size;
    placement->routes =
        pawl__arena_calloc(arena, (size_t)drawing->link_count + 1, sizeof *placement->routes);
    placement->bends = pawl__arena_calloc(arena, PAWL__PLACE_BENDS_MAX, sizeof *placement->bends);
    placement->bend_count = 0;
    if (!numbers || !placement->routes || !placement->bends) return false;
    p.first_member = numbers;
    p.next_member = numbers + count;
    p.layer = numbers + 2 * count;
    p.missing = numbers + 3 * count;
    p.item_of = numbers + 4 * count;
    list_members(&p);
    if (!place_group(&p, drawing->count, &size) || !make_absolute(&p)) return false;
    placement->w = size.x;
    placement->h = size.y;
    return true;
}
