/* Where the nodes of a drawing stand: layers from left to right, a node to the right of its
 * parents. Shared by flow_place.c and flow_svg.c. */
#ifndef PAWL_CLI_FLOW_PLACE_H
#define PAWL_CLI_FLOW_PLACE_H

#include "cli/flow_draw.h"

enum {
    PAWL__PLACE_ROW_GAP = 18,      /* between nodes of a layer */
    PAWL__PLACE_LAYER_GAP = 56,    /* between layers; more where edges have long labels */
    PAWL__PLACE_GROUP_PAD = 16,    /* around the members of a group */
    PAWL__PLACE_GROUP_HEAD = 30,   /* above them */
    PAWL__PLACE_BENDS_MAX = 20000, /* of all edges; beyond that they run straight */
};

/* Where an edge crosses a layer: horizontally, from x to x + w. */
struct pawl__bend {
    double x, y, w;
};

/* A node: the caller sets its size, unless it is a group with members, which gets at least it. */
struct pawl__place {
    double x, y, w, h;
    double layer_end; /* where the widest node of its layer ends: up to there edges run straight */
};

/* The way of an edge between its ends: bends[first..], from left to right. */
struct pawl__route {
    uint32_t first, count;
};

struct pawl__placement {
    struct pawl__place *at;     /* of each node */
    struct pawl__route *routes; /* of each link */
    struct pawl__bend *bends;
    uint32_t bend_count;
    double w, h;
};

/* `label_width` of a link: how much room its label takes. False: out of memory. */
bool pawl__placement_make(const struct pawl__drawing *drawing,
                          double (*label_width)(const struct pawl__link *link),
                          struct pawl__arena *arena, struct pawl__placement *placement);

#endif
