/* Pictures of flows: the nodes and edges of a flow as lines for a terminal, and as SVG.
 *
 * Both are made from a drawing: the graph as it is shown. Of many nodes that have the same place in
 * the graph (the members of a large group, say) a few are shown, those that failed or run before
 * others, and one entry stands for the rest; so a picture of 10,000 nodes is as large as it needs
 * to be, and no larger.
 *
 * Pure: the same flow gives the same picture. NULL and false mean that memory ran out; everything
 * is in the caller's arena. */
#ifndef PAWL_CLI_FLOW_DRAW_H
#define PAWL_CLI_FLOW_DRAW_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/flow.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAWL__DRAWN_ALIKE_MAX = 8,  /* nodes with the same place that are all shown */
    PAWL__DRAWN_OF_MANY = 5,    /* how many are shown if there are more */
    PAWL__DRAWN_RAILS_MAX = 48, /* vertical lines beside each other */
};

#define PAWL__DRAWN_NONE UINT32_MAX

/* A node of the picture. */
struct pawl__drawn {
    const struct pawl_flow_view *view; /* of `more` nodes: one of them */
    uint32_t group;                    /* its place in the drawing; NONE: the flow itself */
    uint32_t more;                     /* > 0: it stands for so many nodes */
    const int64_t *states;             /* then: how many of them are in each state */
    uint32_t out, out_count;           /* links[out..] lead from it */
    uint32_t in, in_count;             /* links[ins[in..]] lead to it */
};

struct pawl__link {
    uint32_t from, to;
    const struct pawl_flow_arc *arc;
};

struct pawl__drawing {
    struct pawl__drawn *at; /* by the numbers of their nodes */
    uint32_t count;
    struct pawl__link *links; /* by `from`, then by `to` */
    uint32_t *ins;            /* places in `links`, by `to`, then by `from` */
    uint32_t link_count;
};

bool pawl__drawing_make(const struct pawl_flow_nodes *nodes, struct pawl__arena *arena,
                        struct pawl__drawing *out);

/* ---- lines (flow_rails.c) ---- */

/* A line: `rails` is what stands before the node's name, with its sign. */
struct pawl__rail_row {
    const struct pawl__drawn *node; /* NULL: lines alone */
    const char *rails;
};

struct pawl__rail_rows {
    struct pawl__rail_row *at;
    size_t count;
};

/* Parents stand above their children, a group above its members. `ascii`: without box drawing. */
bool pawl__rails_draw(const struct pawl__drawing *drawing, bool ascii, struct pawl__arena *arena,
                      struct pawl__rail_rows *out);
/* The sign of a state, one column wide. */
const char *pawl__rails_sign(enum pawl_state state, bool ascii);

/* ---- SVG (flow_svg.c) ---- */

/* Appends a document of its own: layers from left to right, light on light backgrounds and dark on
 * dark ones, no scripts, nothing from elsewhere. out->failed: out of memory. */
void pawl__svg_draw(const struct pawl__drawing *drawing, const char *title,
                    struct pawl__arena *arena, struct pawl__buf *out);

#endif
