#include "cli/flow_draw.h"

#include "base/test_kit.h"
#include "cli/flow_place.h"
#include "cli/test_paths.h"

#include <stdio.h>

enum { NODES_MAX = 12000, EDGES_MAX = 24000 };

/* A flow in the making; names are texts of the test. */
struct flow {
    struct pawl_flow_nodes nodes;
    struct pawl_flow_view views[NODES_MAX];
    struct pawl_flow_arc arcs[EDGES_MAX];
    struct pawl__arena arena;
    struct pawl__drawing drawing;
};

static struct flow flow; /* too large for a stack */

static void begin(void)
{
    memset(&flow, 0, sizeof flow);
    flow.nodes.at = flow.views;
    flow.nodes.edges = flow.arcs;
}

static int32_t add(const char *name, enum pawl_state state)
{
    int32_t number = (int32_t)flow.nodes.count + 1;
    assert_true(flow.nodes.count < NODES_MAX);
    flow.views[flow.nodes.count++] = (struct pawl_flow_view){
        .number = number,
        .name = name,
        .kind = PAWL_FLOW_KIND_JOB,
        .state = state,
        .type = "t",
        .queue = "default",
        .reason = "",
        .signal_key = "",
    };
    return number;
}

static void link_nodes(int32_t parent, int32_t child)
{
    assert_true(flow.nodes.edge_count < EDGES_MAX);
    flow.arcs[flow.nodes.edge_count++] = (struct pawl_flow_arc){
        .parent = parent,
        .child = child,
        .on = PAWL_FLOW_ON_SUCCESS,
        .when = "",
        .label = "",
    };
}

static struct pawl_flow_view *view(int32_t number)
{
    return &flow.views[number - 1];
}

/* The lines, each with the name behind the sign. */
static char *draw(bool ascii)
{
    struct pawl__rail_rows rows;
    struct pawl__buf text = { 0 };
    assert_true(pawl__drawing_make(&flow.nodes, &flow.arena, &flow.drawing));
    assert_true(pawl__rails_draw(&flow.drawing, ascii, &flow.arena, &rows));
    for (size_t i = 0; i < rows.count; i++) {
        pawl__buf_add_text(&text, rows.at[i].rails);
        const struct pawl__drawn *node = rows.at[i].node;
        if (node && node->more) {
            pawl__buf_printf(&text, " %u more", node->more);
        } else if (node) {
            pawl__buf_printf(&text, " %s", node->view->name);
        }
        pawl__buf_add_text(&text, "\n");
    }
    pawl__arena_release(&flow.arena);
    assert_false(text.failed);
    return text.at;
}

static void assert_drawn(const char *expected)
{
    char *text = draw(false);
    assert_string_equal(text, expected);
    free(text);
}

static void chain_is_a_column(void **state)
{
    begin();
    int32_t a = add("a", PAWL_STATE_COMPLETED), b = add("b", PAWL_STATE_ACTIVE);
    int32_t c = add("c", PAWL_STATE_PENDING);
    link_nodes(a, b);
    link_nodes(b, c);
    assert_drawn("✓ a\n"
                 "▶ b\n"
                 "· c\n");
}

static void branches_join(void **state)
{
    begin();
    int32_t a = add("a", PAWL_STATE_COMPLETED), b = add("b", PAWL_STATE_SKIPPED);
    int32_t c = add("c", PAWL_STATE_DISCARDED), d = add("d", PAWL_STATE_CANCELLED);
    int32_t e = add("e", PAWL_STATE_AVAILABLE);
    link_nodes(a, b);
    link_nodes(a, c);
    link_nodes(a, e);
    link_nodes(b, d);
    link_nodes(c, d);
    assert_drawn("✓ a\n"
                 "├─– b\n"
                 "├─┼─✗ c\n"
                 "│ ├─╯\n"
                 "│ ✗ d\n"
                 "╰─○ e\n");
}

static void members_stand_below_their_group(void **state)
{
    begin();
    int32_t a = add("extract", PAWL_STATE_COMPLETED), g = add("jobs", PAWL_STATE_ACTIVE);
    int32_t x = add("one", PAWL_STATE_COMPLETED), y = add("two", PAWL_STATE_ACTIVE);
    int32_t z = add("three", PAWL_STATE_PENDING), audit = add("audit", PAWL_STATE_ACTIVE);
    int32_t done = add("done", PAWL_STATE_PENDING), end = add("end", PAWL_STATE_PENDING);
    view(g)->kind = PAWL_FLOW_KIND_GROUP;
    view(x)->group = view(y)->group = view(z)->group = g;
    link_nodes(a, g);
    link_nodes(a, audit);
    link_nodes(y, z);
    link_nodes(g, done);
    link_nodes(done, end);
    link_nodes(audit, end);
    assert_drawn("✓ extract\n"
                 "├─▶ jobs\n"
                 "│ ┆ ✓ one\n"
                 "│ ┆ ▶ two\n"
                 "│ ┆ · three\n"
                 "│ · done\n"
                 "╰─┼─▶ audit\n"
                 "  ├─╯\n"
                 "  · end\n");
}

static void many_take_few_lines(void **state)
{
    begin();
    int32_t a = add("a", PAWL_STATE_COMPLETED), z = NODES_MAX - 1;
    for (int i = 0; i < NODES_MAX - 3; i++) {
        int32_t b = add("b", i == 777 ? PAWL_STATE_DISCARDED : PAWL_STATE_PENDING);
        link_nodes(a, b);
        link_nodes(b, z);
    }
    view(5000)->state = PAWL_STATE_ACTIVE;
    add("z", PAWL_STATE_PENDING);
    assert_drawn("✓ a\n"
                 "├─· b\n"
                 "├─┼─· b\n"
                 "│ ├─╯\n"
                 "├─┼─· b\n"
                 "│ ├─╯\n"
                 "├─┼─✗ b\n"
                 "│ ├─╯\n"
                 "├─┼─▶ b\n"
                 "│ ├─╯\n"
                 "╰─┼─… 11992 more\n"
                 "  ├─╯\n"
                 "  · z\n");
}

/* ---- SVG ---- */

static char *draw_svg(void)
{
    struct pawl__buf text = { 0 };
    assert_true(pawl__drawing_make(&flow.nodes, &flow.arena, &flow.drawing));
    pawl__svg_draw(&flow.drawing, "nightly <import>", &flow.arena, &text);
    pawl__arena_release(&flow.arena);
    assert_false(text.failed);
    return text.at;
}

static struct pawl_flow_arc *last_arc(void)
{
    return &flow.arcs[flow.nodes.edge_count - 1];
}

/* A flow with something of everything. */
static void make_everything(void)
{
    begin();
    int32_t fetch = add("fetch", PAWL_STATE_COMPLETED), check = add("check", PAWL_STATE_COMPLETED);
    int32_t load = add("load", PAWL_STATE_ACTIVE), reject = add("reject", PAWL_STATE_SKIPPED);
    int32_t g = add("pages", PAWL_STATE_ACTIVE);
    int32_t x = add("split", PAWL_STATE_COMPLETED), y = add("read", PAWL_STATE_ACTIVE);
    int32_t z = add("merge", PAWL_STATE_PENDING);
    for (int i = 0; i < 40; i++) {
        int32_t page = add("page", i < 12 ? PAWL_STATE_COMPLETED : PAWL_STATE_AVAILABLE);
        view(page)->group = g;
        view(page)->type = "page.scan";
        link_nodes(x, page);
        link_nodes(page, z);
    }
    int32_t approve = add("approve", PAWL_STATE_PENDING), end = add("publish", PAWL_STATE_PENDING);
    int32_t alarm = add("alarm", PAWL_STATE_PENDING), audit = add("audit", PAWL_STATE_DISCARDED);
    view(g)->kind = PAWL_FLOW_KIND_GROUP;
    view(g)->members = (struct pawl_flow_counts){ .total = 43, .open = 29, .completed = 14 };
    view(check)->kind = PAWL_FLOW_KIND_BRANCH;
    view(approve)->kind = PAWL_FLOW_KIND_SIGNAL;
    view(x)->group = view(y)->group = view(z)->group = g;
    view(audit)->reason = "no answer & no \"luck\"";
    link_nodes(x, y);
    link_nodes(y, z);
    link_nodes(fetch, check);
    last_arc()->verdict = 1;
    link_nodes(check, load);
    *last_arc() = (struct pawl_flow_arc){ .parent = check,
                                          .child = load,
                                          .arm = 1,
                                          .verdict = 1,
                                          .when = "/result/rows > 0",
                                          .label = "" };
    link_nodes(check, reject);
    last_arc()->otherwise = true;
    last_arc()->verdict = 2;
    link_nodes(fetch, g);
    last_arc()->verdict = 1;
    link_nodes(load, approve);
    link_nodes(g, approve);
    link_nodes(approve, end);
    link_nodes(fetch, audit);
    last_arc()->verdict = 1;
    link_nodes(audit, end);
    last_arc()->verdict = 3;
    link_nodes(load, alarm);
    last_arc()->on = PAWL_FLOW_ON_FAILURE;
    link_nodes(g, alarm);
    last_arc()->on = PAWL_FLOW_ON_FAILURE;
}

static char *read_golden(void)
{
    struct pawl__buf text = { 0 };
    char bytes[4096];
    FILE *file = fopen(PAWL_TEST_FLOW_GOLDEN, "r");
    if (!file) fail_msg("cannot open \"%s\"", PAWL_TEST_FLOW_GOLDEN);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        pawl__buf_add(&text, bytes, got);
    }
    fclose(file);
    assert_false(text.failed);
    return text.at;
}

/* After a change that is meant: look at the new picture, then copy it over the golden file. */
static void picture_is_the_golden_one(void **state)
{
    make_everything();
    char *text = draw_svg(), *golden = read_golden();
    if (strcmp(text, golden) != 0) {
        FILE *file = fopen("flow_draw.svg", "w");
        if (file) {
            fputs(text, file);
            fclose(file);
        }
        fail_msg("flow_draw.svg, just written, is not %s", PAWL_TEST_FLOW_GOLDEN);
    }
    free(text);
    free(golden);
}

static void texts_cannot_break_out(void **state)
{
    begin();
    int32_t a = add("</text><script>alert(1)</script>", PAWL_STATE_ACTIVE);
    view(a)->type = "a&b\n\x1b[31m";
    char *text = draw_svg();
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "nightly &lt;import&gt;</text>"));
    assert_non_null(strstr(text, "&lt;/text&gt;&lt;script&gt;"));
    assert_non_null(strstr(text, "a&amp;b\\n\\x1b[31m"));
    free(text);
}

static void empty_flow_is_a_picture(void **state)
{
    begin();
    char *text = draw_svg(), *lines = draw(false);
    assert_non_null(strstr(text, "</svg>"));
    assert_null(lines);
    free(text);
    free(lines);
}

static void alike_edges_are_labelled_once(void **state)
{
    make_everything();
    char *text = draw_svg(), *first = strstr(text, ">on failure<");
    assert_non_null(first);
    assert_null(strstr(first + 1, ">on failure<"));
    free(text);
}

/* ---- places ---- */

static double no_label(const struct pawl__link *link)
{
    return 0;
}

/* Random nodes, some in groups, and edges from lower to higher numbers within a group. */
static void make_random(struct pawl__rng *rng)
{
    begin();
    int count = 1 + (int)pawl__rng_below(rng, 40);
    for (int i = 1; i <= count; i++) {
        int32_t node = add("n", (enum pawl_state)(1 + pawl__rng_below(rng, PAWL_STATE_END - 1)));
        int32_t group = (int32_t)pawl__rng_below(rng, (uint64_t)i);
        if (pawl__rng_below(rng, 5) == 0) view(node)->kind = PAWL_FLOW_KIND_GROUP;
        if (group && view(group)->kind == PAWL_FLOW_KIND_GROUP) view(node)->group = group;
        for (int32_t parent = 1; parent < node; parent++) {
            if (view(parent)->group == view(node)->group && pawl__rng_below(rng, 4) == 0) {
                link_nodes(parent, node);
            }
        }
    }
}

static bool is_inside(const struct pawl__place *inner, const struct pawl__place *outer)
{
    return inner->x >= outer->x && inner->y >= outer->y &&
           inner->x + inner->w <= outer->x + outer->w && inner->y + inner->h <= outer->y + outer->h;
}

static bool overlap(const struct pawl__place *a, const struct pawl__place *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

static void check_places(uint64_t seed, const struct pawl__placement *placement)
{
    const struct pawl__drawing *drawing = &flow.drawing;
    const struct pawl__place whole = {
        .x = -1, .y = -1, .w = placement->w + 2, .h = placement->h + 2
    };
    for (uint32_t i = 0; i < drawing->count; i++) {
        uint32_t group = drawing->at[i].group;
        prove(is_inside(&placement->at[i],
                        group == PAWL__DRAWN_NONE ? &whole : &placement->at[group]));
        for (uint32_t k = 0; k < i; k++) {
            bool beside = drawing->at[k].group == group;
            prove(!beside || !overlap(&placement->at[i], &placement->at[k]));
        }
    }
    for (uint32_t i = 0; i < drawing->link_count; i++) {
        const struct pawl__place *from = &placement->at[drawing->links[i].from];
        const struct pawl__place *to = &placement->at[drawing->links[i].to];
        prove(from->x + from->w < to->x);
    }
}

/* Bends are no node's business: an edge over a layer does not cross a node that it leaves out. */
static void check_bends(uint64_t seed, const struct pawl__placement *placement)
{
    const struct pawl__drawing *drawing = &flow.drawing;
    for (uint32_t i = 0; i < drawing->link_count; i++) {
        for (uint32_t k = 0; k < placement->routes[i].count; k++) {
            const struct pawl__bend *bend = &placement->bends[placement->routes[i].first + k];
            const struct pawl__place way = { .x = bend->x, .y = bend->y, .w = bend->w, .h = 1 };
            for (uint32_t n = 0; n < drawing->count; n++) {
                bool beside = drawing->at[n].group == drawing->at[drawing->links[i].from].group;
                prove(!beside || !overlap(&placement->at[n], &way));
            }
        }
    }
}

static void nodes_have_places_of_their_own(void **state)
{
    for_seeds(seed, 300)
    {
        struct pawl__rng rng;
        struct pawl__placement placement = { 0 };
        pawl__rng_seed(&rng, seed);
        make_random(&rng);
        assert_true(pawl__drawing_make(&flow.nodes, &flow.arena, &flow.drawing));
        placement.at =
            pawl__arena_calloc(&flow.arena, flow.drawing.count + 1, sizeof *placement.at);
        assert_non_null(placement.at);
        for (uint32_t i = 0; i < flow.drawing.count; i++) {
            placement.at[i].w = 20 + (double)pawl__rng_below(&rng, 100);
            placement.at[i].h = 40;
        }
        assert_true(pawl__placement_make(&flow.drawing, no_label, &flow.arena, &placement));
        check_places(seed, &placement);
        check_bends(seed, &placement);
        pawl__arena_release(&flow.arena);
    }
}

/* Every node has one line, and stands below its parents and its group. */
static void each_node_has_a_line(void **state)
{
    static size_t line_of[NODES_MAX];
    for_seeds(seed, 300)
    {
        struct pawl__rng rng;
        struct pawl__rail_rows rows;
        size_t lines = 0;
        pawl__rng_seed(&rng, seed);
        make_random(&rng);
        assert_true(pawl__drawing_make(&flow.nodes, &flow.arena, &flow.drawing));
        assert_true(pawl__rails_draw(&flow.drawing, false, &flow.arena, &rows));
        for (size_t i = 0; i < rows.count; i++) {
            if (!rows.at[i].node) continue;
            line_of[rows.at[i].node - flow.drawing.at] = i;
            lines++;
        }
        prove(lines == flow.drawing.count);
        for (uint32_t i = 0; i < flow.drawing.count; i++) {
            uint32_t group = flow.drawing.at[i].group;
            prove(group == PAWL__DRAWN_NONE || line_of[group] < line_of[i]);
        }
        for (uint32_t i = 0; i < flow.drawing.link_count; i++) {
            prove(line_of[flow.drawing.links[i].from] < line_of[flow.drawing.links[i].to]);
        }
        pawl__arena_release(&flow.arena);
    }
}

/* A chain as long as a flow may be, and a fan wider than there are rails. */
static void large_flows_are_drawn(void **state)
{
    begin();
    for (int i = 1; i <= 10000; i++) {
        int32_t node = add("n", PAWL_STATE_PENDING);
        if (i > 1) link_nodes(node - 1, node);
    }
    free(draw(false));
    free(draw_svg());
    begin();
    int32_t root = add("root", PAWL_STATE_PENDING);
    for (int i = 0; i < 3 * PAWL__DRAWN_RAILS_MAX; i++) {
        int32_t left = add("l", PAWL_STATE_PENDING), right = add("r", PAWL_STATE_PENDING);
        int32_t join = add("j", PAWL_STATE_PENDING);
        link_nodes(root, left);
        link_nodes(root, right);
        link_nodes(left, join);
        link_nodes(right, join);
        link_nodes(root, join);
    }
    free(draw(false));
    free(draw_svg());
}

static void every_state_has_a_sign(void **state)
{
    begin();
    for (int s = 1; s < PAWL_STATE_END; s++) {
        int32_t node =
            add(pawl_state_name((enum pawl_state)s, PAWL_VOCABULARY_PAWL), (enum pawl_state)s);
        if (s > 1) link_nodes(node - 1, node);
    }
    assert_drawn("◷ scheduled\n"
                 "○ available\n"
                 "· pending\n"
                 "▶ active\n"
                 "↻ retryable\n"
                 "‖ paused\n"
                 "✓ completed\n"
                 "– skipped\n"
                 "✗ cancelled\n"
                 "✗ discarded\n"
                 "✗ expired\n");
}

static void plain_characters_do_too(void **state)
{
    begin();
    int32_t a = add("a", PAWL_STATE_COMPLETED), b = add("b", PAWL_STATE_ACTIVE);
    int32_t c = add("c", PAWL_STATE_PENDING), d = add("d", PAWL_STATE_PENDING);
    link_nodes(a, b);
    link_nodes(a, c);
    link_nodes(b, d);
    link_nodes(c, d);
    char *text = draw(true);
    assert_string_equal(text, "* a\n"
                              "+-> b\n"
                              "+-+-. c\n"
                              "  +-+\n"
                              "  . d\n");
    free(text);
}

static void a_full_graph_crosses(void **state)
{
    begin();
    int32_t up[3], down[3];
    for (int i = 0; i < 3; i++) {
        up[i] = add((const char *[]){ "a", "b", "c" }[i], PAWL_STATE_COMPLETED);
    }
    for (int i = 0; i < 3; i++) {
        down[i] = add((const char *[]){ "x", "y", "z" }[i], PAWL_STATE_PENDING);
        for (int k = 0; k < 3; k++) {
            link_nodes(up[k], down[i]);
        }
    }
    assert_drawn("✓ a\n"
                 "├─┬─╮\n"
                 "│ │ │ ✓ b\n"
                 "├─┼─┼─╯\n"
                 "│ │ │ ✓ c\n"
                 "├─┼─┼─╯\n"
                 "· │ │ x\n"
                 "  · │ y\n"
                 "    · z\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_is_a_column),
        cmocka_unit_test(branches_join),
        cmocka_unit_test(members_stand_below_their_group),
        cmocka_unit_test(many_take_few_lines),
        cmocka_unit_test(every_state_has_a_sign),
        cmocka_unit_test(picture_is_the_golden_one),
        cmocka_unit_test(texts_cannot_break_out),
        cmocka_unit_test(empty_flow_is_a_picture),
        cmocka_unit_test(alike_edges_are_labelled_once),
        cmocka_unit_test(nodes_have_places_of_their_own),
        cmocka_unit_test(each_node_has_a_line),
        cmocka_unit_test(large_flows_are_drawn),
        cmocka_unit_test(plain_characters_do_too),
        cmocka_unit_test(a_full_graph_crosses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
