/* Flows as SVG. Text is never measured: widths are estimated from the number of characters, with
 * room to spare, so the picture is the same everywhere. */
#include "cli/flow_draw.h"

#include "base/plain.h"
#include "cli/flow_place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MARGIN = 20,
    TITLE_HEIGHT = 36,
    NODE_HEIGHT = 46,
    NODE_WIDTH_MIN = 96,
    NAME_CHARS_MAX = 32,
    LABEL_CHARS_MAX = 34,
    TITLE_CHARS_MAX = 100,
    LABELS_MAX = 8, /* on the edges to one node */
    LINE_HEIGHT = 13,
    TIP = 7,   /* length of an arrow's tip */
    STACK = 8, /* what stands for several nodes is drawn as a stack */
};
#define TITLE_CHAR 9.0
#define NAME_CHAR 7.9  /* pixels of a character of 13px bold */
#define SMALL_CHAR 6.4 /* of 11px */

/* state, colour on light, colour on dark */
#define COLOURS(X)                                                                                 \
    X(SCHEDULED, "#57606a", "#8b949e")                                                             \
    X(AVAILABLE, "#57606a", "#8b949e")                                                             \
    X(PENDING, "#afb8c1", "#6e7681")                                                               \
    X(ACTIVE, "#0969da", "#58a6ff")                                                                \
    X(RETRYABLE, "#bc4c00", "#f0883e")                                                             \
    X(PAUSED, "#8250df", "#bc8cff")                                                                \
    X(COMPLETED, "#1a7f37", "#3fb950")                                                             \
    X(SKIPPED, "#afb8c1", "#6e7681")                                                               \
    X(CANCELLED, "#cf222e", "#f85149")                                                             \
    X(DISCARDED, "#cf222e", "#f85149")                                                             \
    X(EXPIRED, "#cf222e", "#f85149")

/* ---- text ---- */

/* Adds `text`, safe for XML, cut to `chars` characters. */
static void add_text(struct pawl__buf *out, const char *text, size_t chars)
{
    struct pawl__buf plain = { 0 };
    size_t done = 0;
    pawl__plain_add(&plain, text, strlen(text));
    for (const char *at = plain.at; at && *at; at++) {
        bool begins = ((unsigned char)*at & 0xc0) != 0x80;
        if (begins && done++ == chars) {
            pawl__buf_add_text(out, "…");
            break;
        }
        switch (*at) {
        case '&':
            pawl__buf_add_text(out, "&amp;");
            break;
        case '<':
            pawl__buf_add_text(out, "&lt;");
            break;
        case '>':
            pawl__buf_add_text(out, "&gt;");
            break;
        default:
            pawl__buf_add(out, at, 1);
        }
    }
    if (plain.failed) out->failed = true;
    pawl__buf_release(&plain);
}

/* How many characters of it are shown. */
static size_t count_chars(const char *text, size_t max)
{
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count > max ? max + 1 : count;
}

static const char *state_name(enum pawl_state state)
{
    return pawl_state_name(state, PAWL_VOCABULARY_PAWL);
}

/* ---- what is written on a node ---- */

struct caption {
    char name[64]; /* "" : the node's own */
    char below[160];
};

/* "120 completed, 3 active" */
static void print_states(char *out, size_t bytes, const int64_t *states)
{
    size_t len = 0;
    out[0] = '\0';
    for (int s = 1; s < PAWL_STATE_END && len < bytes; s++) {
        if (!states[s]) continue;
        len += (size_t)snprintf(out + len, bytes - len, "%s%" PRId64 " %s", len ? ", " : "",
                                states[s], state_name((enum pawl_state)s));
    }
}

static struct caption caption_of(const struct pawl__drawn *drawn)
{
    static const char *const kinds[PAWL_FLOW_KIND_END] = {
#define X(number, name, text) [number] = text,
        PAWL_FLOW_KINDS(X)
#undef X
    };
    const struct pawl_flow_view *view = drawn->view;
    struct caption caption = { .name = "" };
    bool is_job = view->kind == PAWL_FLOW_KIND_JOB;
    if (drawn->more) {
        snprintf(caption.name, sizeof caption.name, "%" PRIu32 " more", drawn->more);
        print_states(caption.below, sizeof caption.below, drawn->states);
    } else if (view->kind == PAWL_FLOW_KIND_GROUP) {
        int64_t done = view->members.total - view->members.open;
        snprintf(caption.below, sizeof caption.below, "%s · %" PRId64 " of %" PRId64,
                 state_name(view->state), done, view->members.total);
    } else {
        snprintf(caption.below, sizeof caption.below, "%.100s · %s",
                 is_job ? view->type : kinds[view->kind], state_name(view->state));
    }
    return caption;
}

static const char *name_on(const struct pawl__drawn *drawn, const struct caption *caption)
{
    return caption->name[0] ? caption->name : drawn->view->name;
}

/* What is written on an edge: its label, or what it asks for. */
static const char *label_of(const struct pawl__link *link)
{
    const struct pawl_flow_arc *arc = link->arc;
    if (arc->label[0]) return arc->label;
    if (arc->when[0]) return arc->when;
    if (arc->otherwise) return "otherwise";
    return arc->on == PAWL_FLOW_ON_FAILURE  ? "on failure"
           : arc->on == PAWL_FLOW_ON_ALWAYS ? "always"
                                            : "";
}

static double label_width(const struct pawl__link *link)
{
    const char *label = label_of(link);
    return label[0] ? (double)count_chars(label, LABEL_CHARS_MAX) * SMALL_CHAR : 0;
}

/* ---- the style ---- */

static void print_style(struct pawl__buf *out)
{
#define LIGHT(name, light, dark) ".s" #name " .dot{fill:" light "}"
#define DARK(name, light, dark) ".s" #name " .dot{fill:" dark "}"
    pawl__buf_add_text(
        out, "<style>"
             "text{font:11px ui-sans-serif,system-ui,-apple-system,'Segoe UI',sans-serif;"
             "fill:#57606a}"
             ".name{font-weight:600;font-size:13px;fill:#1f2328}"
             ".title{font-weight:600;font-size:15px;fill:#1f2328}"
             ".box{fill:#fff;stroke:#d0d7de}"
             ".group{fill:#f6f8fa;stroke:#d0d7de;stroke-dasharray:5 4}"
             ".edge{fill:none;stroke:#8c959f;stroke-width:1.5}"
             ".dead{stroke:#d0d7de;stroke-dasharray:4 4}"
             ".broken{stroke:#cf222e;stroke-dasharray:4 4}"
             ".good{stroke:#1a7f37}"
             ".tip{fill:#8c959f}.tip-good{fill:#1a7f37}.tip-dead{fill:#d0d7de}"
             ".tip-broken{fill:#cf222e}"
             ".back{fill:#fff}" COLOURS(
                 LIGHT) ".sSKIPPED .box,.sPENDING .box{stroke-dasharray:3 3}"
                        ".sSKIPPED .name{fill:#6e7781}"
                        "@media(prefers-color-scheme:dark){"
                        "text{fill:#8b949e}.name,.title{fill:#e6edf3}"
                        ".box{fill:#161b22;stroke:#3d444d}.group{fill:#10151c;stroke:#3d444d}"
                        ".edge{stroke:#6e7681}.dead{stroke:#484f58}.broken{stroke:#f85149}"
                        ".good{stroke:#3fb950}.back{fill:#0d1117}"
                        ".tip{fill:#6e7681}.tip-good{fill:#3fb950}.tip-dead{fill:#484f58}"
                        ".tip-broken{fill:#f85149}"
                        ".sSKIPPED .name{fill:#8b949e}" COLOURS(DARK) "}</style>");
#undef LIGHT
#undef DARK
}

static const char *state_class(enum pawl_state state)
{
#define X(name, ...) [PAWL_STATE_##name] = #name,
    static const char *const classes[PAWL_STATE_END] = {
        [PAWL_STATE_NONE] = "PENDING",
        COLOURS(X)
    };
#undef X
    return classes[state];
}

/* ---- nodes ---- */

/* The size of a node; of a group with members, its least size. */
static struct pawl__place size_of(const struct pawl__drawn *drawn)
{
    struct caption caption = caption_of(drawn);
    double name = (double)count_chars(name_on(drawn, &caption), NAME_CHARS_MAX) * NAME_CHAR;
    double below = (double)count_chars(caption.below, LABEL_CHARS_MAX) * SMALL_CHAR;
    bool in_a_line = drawn->view->kind == PAWL_FLOW_KIND_GROUP; // the caption of a group
    double w = in_a_line ? name + below + 20 : name > below ? name : below;
    w += 2 * 13 + 14; // the edges of the box, and the dot
    return (struct pawl__place){ .w = w < NODE_WIDTH_MIN ? NODE_WIDTH_MIN : ceil(w),
                                 .h = NODE_HEIGHT };
}

/* Of control nodes the ends are round. */
static int corner_of(const struct pawl__drawn *drawn)
{
    enum pawl_flow_kind kind = drawn->view->kind;
    return kind == PAWL_FLOW_KIND_JOB ? 6 : kind == PAWL_FLOW_KIND_GROUP ? 10 : NODE_HEIGHT / 2;
}

static void print_hint(struct pawl__buf *out, const struct pawl__drawn *drawn)
{
    if (drawn->more) return;
    pawl__buf_add_text(out, "<title>");
    add_text(out, drawn->view->name, SIZE_MAX);
    if (drawn->view->reason[0]) {
        pawl__buf_add_text(out, ": ");
        add_text(out, drawn->view->reason, SIZE_MAX);
    }
    pawl__buf_add_text(out, "</title>");
}

static void print_words(struct pawl__buf *out, const char *css, double x, double y,
                        const char *text, size_t chars)
{
    pawl__buf_printf(out, "<text%s x=\"%.0f\" y=\"%.0f\">", css, x, y);
    add_text(out, text, chars);
    pawl__buf_add_text(out, "</text>");
}

static void print_node(struct pawl__buf *out, const struct pawl__drawn *drawn,
                       const struct pawl__place *at, bool has_members)
{
    struct caption caption = caption_of(drawn);
    const char *name = name_on(drawn, &caption);
    double text_x = at->x + 13 + 14, name_y = at->y + (has_members ? 20 : 19);
    pawl__buf_printf(out, "<g class=\"s%s\">",
                     state_class(drawn->more ? PAWL_STATE_NONE : drawn->view->state));
    print_hint(out, drawn);
    for (int shift = drawn->more ? STACK : 0; shift >= 0; shift -= STACK / 2) {
        pawl__buf_printf(out,
                         "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                         "rx=\"%d\"/>",
                         has_members ? "group" : "box", at->x + shift, at->y + shift, at->w, at->h,
                         corner_of(drawn));
    }
    pawl__buf_printf(out, "<circle class=\"dot\" cx=\"%.0f\" cy=\"%.0f\" r=\"4\"/>", at->x + 15,
                     name_y - 4);
    print_words(out, " class=\"name\"", text_x, name_y, name, NAME_CHARS_MAX);
    if (has_members) {
        double behind = (double)count_chars(name, NAME_CHARS_MAX) * NAME_CHAR + 12;
        print_words(out, "", text_x + behind, name_y, caption.below, LABEL_CHARS_MAX);
    } else {
        print_words(out, "", text_x, at->y + 36, caption.below, LABEL_CHARS_MAX);
    }
    pawl__buf_add_text(out, "</g>\n");
}

/* ---- edges ---- */

static const char *edge_class(const struct pawl__link *link)
{
    static const char *const classes[] = { "", "good", "dead", "broken" };
    int32_t verdict = link->arc->verdict;
    return verdict > 0 && verdict < 4 ? classes[verdict] : "";
}

/* A curve from (x, y) that leaves and arrives horizontally. */
static void print_curve(struct pawl__buf *out, double x, double y, double to_x, double to_y)
{
    double middle = (x + to_x) / 2;
    if (fabs(y - to_y) < 1) {
        pawl__buf_printf(out, "L%.0f %.0f", to_x, to_y);
    } else {
        pawl__buf_printf(out, "C%.0f %.0f %.0f %.0f %.0f %.0f", middle, y, middle, to_y, to_x,
                         to_y);
    }
}

/* Labels stand before the ends of edges, on a straight stretch: what leaves one node is labelled in
 * different places then. */
static void print_edge(struct pawl__buf *out, const struct pawl__link *link,
                       const struct pawl__route *route, const struct pawl__placement *placement)
{
    const struct pawl__place *a = &placement->at[link->from], *b = &placement->at[link->to];
    double x = a->x + a->w, y = a->y + a->h / 2;
    double end_x = b->x - TIP, end_y = b->y + b->h / 2, turn_x = end_x - label_width(link);
    const char *css = edge_class(link);
    pawl__buf_printf(out, "<path class=\"edge%s%s\" d=\"M%.0f %.0f", css[0] ? " " : "", css, x, y);
    if (a->layer_end > x) pawl__buf_printf(out, "H%.0f", x = a->layer_end);
    for (uint32_t i = route->first; i < route->first + route->count; i++) {
        const struct pawl__bend *bend = &placement->bends[i];
        print_curve(out, x, y, bend->x, bend->y);
        x = bend->x + bend->w;
        y = bend->y;
        pawl__buf_printf(out, "H%.0f", x);
    }
    print_curve(out, x, y, turn_x, end_y);
    if (turn_x < end_x) pawl__buf_printf(out, "H%.0f", end_x);
    pawl__buf_printf(out, "\"/><path class=\"tip%s%s\" d=\"M%.0f %.0fl-%d -4v8z\"/>\n",
                     css[0] ? " tip-" : "", css, b->x - 1, end_y, TIP + 1);
}

/* Has an earlier edge to the same node the same label? */
static bool is_repeated(const struct pawl__drawing *drawing, const struct pawl__drawn *to,
                        uint32_t nth)
{
    const char *label = label_of(&drawing->links[drawing->ins[to->in + nth]]);
    for (uint32_t i = 0; i < nth; i++) {
        if (strcmp(label_of(&drawing->links[drawing->ins[to->in + i]]), label) == 0) return true;
    }
    return false;
}

static void print_labels(struct pawl__buf *out, const struct pawl__drawing *drawing,
                         const struct pawl__drawn *to, const struct pawl__place *place)
{
    double y = place->y + place->h / 2 - 5;
    for (uint32_t i = 0; i < to->in_count && i < LABELS_MAX; i++) {
        const struct pawl__link *link = &drawing->links[drawing->ins[to->in + i]];
        const char *label = label_of(link);
        if (!label[0] || is_repeated(drawing, to, i)) continue;
        print_words(out, "", place->x - TIP - label_width(link) + 2, y, label, LABEL_CHARS_MAX);
        y -= LINE_HEIGHT;
    }
}

/* ---- the document ---- */

static bool has_members(const struct pawl__drawing *drawing, uint32_t group)
{
    for (uint32_t i = 0; i < drawing->count; i++) {
        if (drawing->at[i].group == group) return true;
    }
    return false;
}

/* Groups first, the outer ones before the inner ones: what comes later covers what came before. A
 * group has a smaller number than its members, or is drawn a second time for them. */
static void print_nodes(struct pawl__buf *out, const struct pawl__drawing *drawing,
                        const struct pawl__placement *placement, bool groups)
{
    for (uint32_t i = 0; i < drawing->count; i++) {
        bool is_group = drawing->at[i].view->kind == PAWL_FLOW_KIND_GROUP &&
                        has_members(drawing, i);
        if (is_group == groups) print_node(out, &drawing->at[i], &placement->at[i], is_group);
    }
}

static void print_picture(struct pawl__buf *out, const struct pawl__drawing *drawing,
                          const struct pawl__placement *placement)
{
    print_nodes(out, drawing, placement, true);
    for (uint32_t i = 0; i < drawing->link_count; i++) {
        print_edge(out, &drawing->links[i], &placement->routes[i], placement);
    }
    print_nodes(out, drawing, placement, false);
    for (uint32_t i = 0; i < drawing->count; i++) {
        print_labels(out, drawing, &drawing->at[i], &placement->at[i]);
    }
}

void pawl__svg_draw(const struct pawl__drawing *drawing, const char *title,
                    struct pawl__arena *arena, struct pawl__buf *out)
{
    struct pawl__placement placement = { 0 };
    placement.at = pawl__arena_calloc(arena, (size_t)drawing->count + 1, sizeof *placement.at);
    for (uint32_t i = 0; placement.at && i < drawing->count; i++) {
        placement.at[i] = size_of(&drawing->at[i]);
    }
    if (!placement.at || !pawl__placement_make(drawing, label_width, arena, &placement)) {
        out->failed = true;
        return;
    }
    double title_width = (double)count_chars(title, TITLE_CHARS_MAX) * TITLE_CHAR;
    double w = placement.w > title_width ? placement.w : title_width;
    w += 2 * MARGIN + STACK;
    double h = placement.h + 2 * MARGIN + TITLE_HEIGHT + STACK;
    pawl__buf_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                     "viewBox=\"0 0 %.0f %.0f\">\n",
                     w, h, w, h);
    print_style(out);
    pawl__buf_printf(out, "\n<rect class=\"back\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", w,
                     h);
    print_words(out, " class=\"title\"", MARGIN, MARGIN + 13, title, TITLE_CHARS_MAX);
    pawl__buf_printf(out, "<g transform=\"translate(%d %d)\">\n", MARGIN, MARGIN + TITLE_HEIGHT);
    print_picture(out, drawing, &placement);
    pawl__buf_add_text(out, "</g>\n</svg>\n");
}
