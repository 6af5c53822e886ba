/* Flows as lines. Each node has a line of its own; between the lines run rails, one for
 *
 * - a node some of whose children have no other parent: from it to the last of these ("source");
 * - a node with several parents: from the first of these that is drawn to it ("target").
 *
 * So 10,000 nodes between two others take two rails. Nodes are drawn in topological order, a
 * subtree before its siblings; members of a group below its line, to the right of it. If rails run
 * out, a node is drawn without the missing one. */
#include "cli/flow_draw.h"

#include <assert.h>
#include <string.h>

enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };
enum { RAILS = PAWL__DRAWN_RAILS_MAX, CELL_BYTES_MAX = 3 };

enum rail_kind { FREE, SOURCE, TARGET, FRAME };

struct rail {
    enum rail_kind kind;
    uint32_t node;
};

struct painter {
    const struct pawl__drawing *drawing;
    struct pawl__arena *arena;
    struct pawl__rail_rows *out;
    size_t cap;
    bool ascii;
    struct rail rails[RAILS];
    uint32_t *missing;  /* of each node: parents that are not drawn */
    uint32_t *children; /* of each node: children on its source rail that are not drawn */
    uint32_t *stack;    /* nodes that can be drawn */
    uint32_t depth;
    uint32_t *first_member, *next_member; /* of groups: their members, by place */
};

/* ---- one line ---- */

struct line {
    uint8_t cell[RAILS]; /* directions of the strokes */
    bool joined[RAILS];  /* a stroke between this cell and the next */
    bool dotted[RAILS];  /* members of a group stand beside it */
    const char *sign;    /* of the node at `place` */
    int place;
};

static struct line line_of(const struct painter *p)
{
    struct line line = { .place = -1 };
    for (int i = 0; i < RAILS; i++) {
        if (p->rails[i].kind != FREE) line.cell[i] = UP | DOWN;
        line.dotted[i] = p->rails[i].kind == FRAME;
    }
    return line;
}

/* A stroke from column `from` to column `to`. */
static void stroke(struct line *line, int from, int to)
{
    int left = from < to ? from : to, right = from < to ? to : from;
    for (int i = left; i <= right && left != right; i++) {
        if (i > left) line->cell[i] |= LEFT;
        if (i < right) line->cell[i] |= RIGHT;
        if (i < right) line->joined[i] = true;
    }
}

static const char *const boxes[16] = {
    [0] = " ",
    [UP | DOWN] = "│",
    [LEFT | RIGHT] = "─",
    [UP | RIGHT] = "╰",
    [UP | LEFT] = "╯",
    [DOWN | RIGHT] = "╭",
    [DOWN | LEFT] = "╮",
    [UP | DOWN | RIGHT] = "├",
    [UP | DOWN | LEFT] = "┤",
    [UP | LEFT | RIGHT] = "┴",
    [DOWN | LEFT | RIGHT] = "┬",
    [UP | DOWN | LEFT | RIGHT] = "┼",
    [UP] = "╵",
    [DOWN] = "╷",
    [LEFT] = "╴",
    [RIGHT] = "╶",
};

static const char *box(uint8_t cell, bool ascii)
{
    if (!ascii) return boxes[cell];
    return cell == 0 ? " " : cell == (UP | DOWN) ? "|" : cell == (LEFT | RIGHT) ? "-" : "+";
}

/* Appends the line; its last cell is the sign, or the last stroke. */
static bool add_line(struct painter *p, const struct line *line, const struct pawl__drawn *node)
{
    char text[RAILS * 2 * CELL_BYTES_MAX + 1], *at = text;
    int last = line->place;
    for (int i = 0; i < RAILS; i++) {
        if (line->cell[i] && i > last) last = i;
    }
    for (int i = 0; i <= last; i++) {
        bool dots = line->dotted[i] && line->cell[i] == (UP | DOWN);
        at = stpcpy(at, i == line->place ? line->sign
                        : dots           ? (p->ascii ? ":" : "┆")
                                         : box(line->cell[i], p->ascii));
        if (i < last) at = stpcpy(at, line->joined[i] ? box(LEFT | RIGHT, p->ascii) : " ");
    }
    if (p->out->count == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct pawl__rail_row *rows = pawl__arena_calloc(p->arena, cap, sizeof *rows);
        if (!rows) return false;
        if (p->out->count) memcpy(rows, p->out->at, p->out->count * sizeof *rows);
        p->out->at = rows;
        p->cap = cap;
    }
    const char *rails = pawl__arena_dup(p->arena, text, (size_t)(at - text));
    p->out->at[p->out->count++] = (struct pawl__rail_row){ .node = node, .rails = rails };
    return rails != NULL;
}

/* ---- rails ---- */

static int find_rail(const struct painter *p, enum rail_kind kind, uint32_t node)
{
    for (int i = 0; i < RAILS; i++) {
        if (p->rails[i].kind == kind && p->rails[i].node == node) return i;
    }
    return -1;
}

/* The first free column from `from` on; -1: none. */
static int free_rail(const struct painter *p, int from)
{
    for (int i = from; i < RAILS; i++) {
        if (p->rails[i].kind == FREE) return i;
    }
    return -1;
}

/* The column of a node, and the stroke that leads there. */
static int place_node(struct painter *p, uint32_t node, int base, struct line *line)
{
    const struct pawl__drawn *drawn = &p->drawing->at[node];
    int place = find_rail(p, TARGET, node);
    if (place >= 0) {
        p->rails[place].kind = FREE;
        return place;
    }
    uint32_t parent = drawn->in_count == 1 ? p->drawing->links[p->drawing->ins[drawn->in]].from : 0;
    int source = drawn->in_count == 1 ? find_rail(p, SOURCE, parent) : -1;
    if (source < 0) {
        place = free_rail(p, base);
        return place < 0 ? RAILS - 1 : place;
    }
    bool last = --p->children[parent] == 0, only = p->drawing->at[parent].out_count == 1;
    place = only ? source : free_rail(p, source + 1);
    if (place < 0) place = source; // no room: below, as if it were the only one
    if (last) p->rails[source].kind = FREE;
    if (place != source) {
        stroke(line, source, place);
        if (last) line->cell[source] &= (uint8_t)~DOWN;
    }
    return place;
}

/* ---- what leads from a node ---- */

static bool has_one_parent(const struct painter *p, uint32_t node)
{
    return p->drawing->at[node].in_count == 1;
}

/* The rails below a node at column `place`: its own, and one for each child with several parents.
 * `line` gets the strokes. True: the line is needed. */
static bool lead_on(struct painter *p, uint32_t node, int place, struct line *line)
{
    const struct pawl__drawn *drawn = &p->drawing->at[node];
    bool drawn_any = false, goes_down = p->children[node] > 0;
    if (goes_down) p->rails[place] = (struct rail){ SOURCE, node };
    for (uint32_t i = drawn->out; i < drawn->out + drawn->out_count; i++) {
        uint32_t child = p->drawing->links[i].to;
        if (has_one_parent(p, child)) continue;
        int rail = find_rail(p, TARGET, child);
        bool is_new = rail < 0;
        if (is_new && !goes_down) {
            rail = place;
            goes_down = true;
        } else if (is_new) {
            rail = free_rail(p, place + 1);
        }
        if (rail < 0) continue;
        p->rails[rail] = (struct rail){ TARGET, child };
        if (rail == place) continue;
        stroke(line, place, rail);
        line->cell[rail] |= is_new ? DOWN : UP | DOWN;
        drawn_any = true;
    }
    line->cell[place] |= UP;
    line->cell[place] = goes_down ? line->cell[place] | DOWN : line->cell[place] & (uint8_t)~DOWN;
    return drawn_any;
}

/* ---- order ---- */

static void push(struct painter *p, uint32_t node)
{
    p->stack[p->depth++] = node;
}

/* Its children whose parents have all been drawn are next, the first one on top. */
static void push_children(struct painter *p, uint32_t node)
{
    const struct pawl__drawn *drawn = &p->drawing->at[node];
    for (uint32_t i = drawn->out + drawn->out_count; i-- > drawn->out;) {
        uint32_t child = p->drawing->links[i].to;
        if (--p->missing[child] == 0) push(p, child);
    }
}

static bool draw_members(struct painter *p, uint32_t group, int base);

static bool draw_node(struct painter *p, uint32_t node, int base)
{
    const struct pawl__drawn *drawn = &p->drawing->at[node];
    struct line line = line_of(p);
    int place = place_node(p, node, base, &line);
    line.place = place;
    line.sign = pawl__rails_sign(drawn->more ? PAWL_STATE_NONE : drawn->view->state, p->ascii);
    if (!add_line(p, &line, drawn)) return false;
    if (p->first_member[node] != PAWL__DRAWN_NONE) {
        p->rails[place] = (struct rail){ FRAME, node };
        bool ok = draw_members(p, node, place + 1);
        p->rails[place].kind = FREE;
        if (!ok) return false;
    }
    line = line_of(p);
    bool needed = lead_on(p, node, place, &line);
    push_children(p, node);
    return !needed || add_line(p, &line, NULL);
}

/* Draws the members of a group, or with NONE the nodes of the flow, and what is below them. Groups
 * are nested as deep as PAWL_FLOW_DEPTH_MAX. */
static bool draw_members(struct painter *p, uint32_t group, int base)
{
    uint32_t count = p->drawing->count, bottom = p->depth;
    uint32_t first = group == PAWL__DRAWN_NONE ? p->first_member[count] : p->first_member[group];
    for (uint32_t root = first; root != PAWL__DRAWN_NONE; root = p->next_member[root]) {
        if (p->drawing->at[root].in_count) continue;
        push(p, root);
        while (p->depth > bottom) {
            if (!draw_node(p, p->stack[--p->depth], base)) return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

/* Lists of members, in order. That of the flow itself is the last one. */
static void list_members(struct painter *p)
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

static void count_links(struct painter *p)
{
    for (uint32_t i = 0; i < p->drawing->count; i++) {
        const struct pawl__drawn *drawn = &p->drawing->at[i];
        p->missing[i] = drawn->in_count;
        for (uint32_t k = drawn->out; k < drawn->out + drawn->out_count; k++) {
            p->children[i] += has_one_parent(p, p->drawing->links[k].to);
        }
    }
}

bool pawl__rails_draw(const struct pawl__drawing *drawing, bool ascii, struct pawl__arena *arena,
                      struct pawl__rail_rows *out)
{
    size_t count = (size_t)drawing->count + 1;
    uint32_t *numbers = pawl__arena_calloc(arena, 5 * count, sizeof *numbers);
    struct painter p = { .drawing = drawing, .arena = arena, .out = out, .ascii = ascii };
    *out = (struct pawl__rail_rows){ 0 };
    if (!numbers) return false;
    p.missing = numbers;
    p.children = numbers + count;
    p.stack = numbers + 2 * count;
    p.first_member = numbers + 3 * count;
    p.next_member = numbers + 4 * count;
    list_members(&p);
    count_links(&p);
    return draw_members(&p, PAWL__DRAWN_NONE, 0);
}

const char *pawl__rails_sign(enum pawl_state state, bool ascii)
{
    static const char *const signs[PAWL_STATE_END][2] = {
        [PAWL_STATE_NONE] = { "…", "&" },      [PAWL_STATE_SCHEDULED] = { "◷", "o" },
        [PAWL_STATE_AVAILABLE] = { "○", "o" }, [PAWL_STATE_PENDING] = { "·", "." },
        [PAWL_STATE_ACTIVE] = { "▶", ">" },    [PAWL_STATE_RETRYABLE] = { "↻", "r" },
        [PAWL_STATE_PAUSED] = { "‖", "=" },    [PAWL_STATE_COMPLETED] = { "✓", "*" },
        [PAWL_STATE_SKIPPED] = { "–", "~" },   [PAWL_STATE_CANCELLED] = { "✗", "x" },
        [PAWL_STATE_DISCARDED] = { "✗", "x" }, [PAWL_STATE_EXPIRED] = { "✗", "x" },
    };
    assert(state < PAWL_STATE_END && signs[state][0]);
    return signs[state][ascii];
}
