/* Random conditions over random JSON, against a naive evaluator: one that works on the tree that
 * the condition was printed from, by recursion, on values of its own. */
#include "flow/expr_test_kit.h"

#include <stdio.h>

enum { PARTS_MAX = 200, VALUES_MAX = 60 };

/* ---- values ---- */

enum type { NIL, FALSE, TRUE, NUMBER, STRING, ARRAY, OBJECT };

struct val {
    enum type type;
    int number; /* of a NUMBER; of a STRING: which one; of containers: how many elements */
    struct val *inside[3]; /* members are named "a", "b", "c" in this order */
};

static const char *const strings[] = { "", "x", "xy", "12", "a" };

struct pool {
    struct val values[VALUES_MAX];
    int used;
};

static struct val *draw_value(struct pawl__rng *rng, struct pool *pool, int depth)
{
    struct val *val = &pool->values[pool->used++];
    *val = (struct val){ .type = (enum type)pawl__rng_below(rng, depth > 0 ? 7 : 5) };
    if (val->type == NUMBER) val->number = 1 + (int)pawl__rng_below(rng, 3);
    if (val->type == STRING) val->number = (int)pawl__rng_below(rng, COUNT(strings));
    if (val->type < ARRAY) return val;
    val->number = (int)pawl__rng_below(rng, 4);
    for (int i = 0; i < val->number; i++) {
        val->inside[i] = draw_value(rng, pool, depth - 1);
    }
    return val;
}

static void print_value(struct pawl__rng *rng, const struct val *val, struct pawl__buf *out)
{
    static const char *const words[] = { "null", "false", "true" };
    static const char *const endings[] = { "", ".0", "e0", "0e-1" };
    if (val->type < NUMBER) {
        pawl__buf_add_text(out, words[val->type]);
    } else if (val->type == NUMBER) {
        pawl__buf_add_int(out, val->number);
        pawl__buf_add_text(out, endings[pawl__rng_below(rng, COUNT(endings))]);
    } else if (val->type == STRING) {
        pawl__buf_add_json(out, strings[val->number], strlen(strings[val->number]));
    } else {
        pawl__buf_add_text(out, val->type == ARRAY ? "[" : "{");
        for (int i = 0; i < val->number; i++) {
            if (i > 0) pawl__buf_add_text(out, ",");
            if (val->type == OBJECT) pawl__buf_printf(out, "\"%c\":", 'a' + i);
            print_value(rng, val->inside[i], out);
        }
        pawl__buf_add_text(out, val->type == ARRAY ? "]" : "}");
    }
}

static bool same(const struct val *a, const struct val *b)
{
    if (a->type != b->type || a->number != b->number) return false;
    for (int i = 0; a->type >= ARRAY && i < a->number; i++) {
        if (!same(a->inside[i], b->inside[i])) return false;
    }
    return true;
}

/* ---- conditions ---- */

enum kind { LITERAL, PATH, NOT, AND, OR, EQ, NE, LT, LE, GT, GE, IN, EXISTS, EMPTY, LENGTH, KINDS };

struct part {
    enum kind kind;
    const struct val *val; /* of a LITERAL, or what a PATH leads to; NULL: nowhere */
    char path[24];
    struct part *left, *right;
};

struct tree {
    struct part parts[PARTS_MAX];
    int used;
};

static struct part *draw_term(struct pawl__rng *rng, struct tree *tree, struct pool *pool,
                              const struct val *result)
{
    struct part *part = &tree->parts[tree->used++];
    *part = (struct part){ .kind = PATH, .val = result, .path = "/result" };
    if (pawl__rng_below(rng, 3) == 0) {
        part->kind = LITERAL;
        part->val = draw_value(rng, pool, 1);
        return part;
    }
    for (int steps = (int)pawl__rng_below(rng, 4); steps > 0; steps--) {
        int which = (int)pawl__rng_below(rng, 3);
        bool index = pawl__rng_below(rng, 2) == 0;
        size_t len = strlen(part->path);
        snprintf(part->path + len, sizeof part->path - len, "/%c", (index ? '0' : 'a') + which);
        enum type type = index ? ARRAY : OBJECT;
        bool there = part->val && part->val->type == type && which < part->val->number;
        part->val = there ? part->val->inside[which] : NULL;
    }
    return part;
}

static struct part *draw_part(struct pawl__rng *rng, struct tree *tree, struct pool *pool,
                              const struct val *result, int depth)
{
    if (depth == 0 || pool->used > VALUES_MAX - 20) return draw_term(rng, tree, pool, result);
    enum kind kind = (enum kind)(pawl__rng_below(rng, KINDS - NOT) + NOT);
    struct part *part = &tree->parts[tree->used++];
    *part = (struct part){ .kind = kind };
    bool logic = kind == NOT || kind == AND || kind == OR;
    int below = logic ? depth - 1 : (int)pawl__rng_below(rng, 2);
    if (below >= depth) below = depth - 1;
    part->left = draw_part(rng, tree, pool, result, below);
    if (kind != NOT && kind < EXISTS) part->right = draw_part(rng, tree, pool, result, below);
    return part;
}

/* Everything in parentheses: precedence has tests of its own. */
static void print_part(struct pawl__rng *rng, const struct part *part, struct pawl__buf *out)
{
    static const char *const names[] = {
        [NOT] = "not ",      [AND] = " and ",   [OR] = " or ",      [EQ] = "==",  [NE] = "!=",
        [LT] = " < ",        [LE] = "<=",       [GT] = ">",         [GE] = " >=", [IN] = " in ",
        [EXISTS] = "exists", [EMPTY] = "empty", [LENGTH] = "length"
    };
    if (part->kind == LITERAL) {
        print_value(rng, part->val, out);
    } else if (part->kind == PATH) {
        pawl__buf_add_text(out, part->path);
    } else {
        if (part->kind == NOT || part->kind >= EXISTS) pawl__buf_add_text(out, names[part->kind]);
        pawl__buf_add_text(out, "(");
        print_part(rng, part->left, out);
        if (part->right) {
            pawl__buf_add_text(out, ")");
            pawl__buf_add_text(out, names[part->kind]);
            pawl__buf_add_text(out, "(");
            print_part(rng, part->right, out);
        }
        pawl__buf_add_text(out, ")");
    }
}

/* ---- the naive evaluator ---- */

/* The value of a part; `*wrong` is set if it has none. */
static struct val naive(const struct part *part, bool *wrong);

static struct val truth(bool is_true)
{
    return (struct val){ .type = is_true ? TRUE : FALSE };
}

static bool naive_bool(const struct part *part, bool *wrong)
{
    struct val val = naive(part, wrong);
    if (val.type != TRUE && val.type != FALSE) *wrong = true;
    return val.type == TRUE && !*wrong;
}

static int naive_order(const struct val *a, const struct val *b, bool *wrong)
{
    if (a->type == NUMBER && b->type == NUMBER) return a->number - b->number;
    if (a->type == STRING && b->type == STRING)
        return strcmp(strings[a->number], strings[b->number]);
    *wrong = true;
    return 0;
}

static bool naive_in(const struct val *a, const struct val *b, bool *wrong)
{
    bool found = false;
    if (b->type == ARRAY) {
        for (int i = 0; i < b->number; i++) {
            found = found || same(a, b->inside[i]);
        }
    } else if (a->type == STRING && b->type == OBJECT) {
        const char *name = strings[a->number];
        found = strlen(name) == 1 && name[0] >= 'a' && name[0] < 'a' + b->number;
    } else if (a->type == STRING && b->type == STRING) {
        found = strstr(strings[b->number], strings[a->number]) != NULL;
    } else {
        *wrong = true;
    }
    return found;
}

static struct val naive_of_one(enum kind kind, const struct val *val, bool *wrong)
{
    int size = val->type == STRING ? (int)strlen(strings[val->number]) : val->number;
    if (kind == EXISTS) return truth(val->type != NIL);
    if (kind == EMPTY) return truth(val->type == NIL || (val->type >= STRING && size == 0));
    if (val->type < STRING) *wrong = true;
    return (struct val){ .type = NUMBER, .number = size };
}

static struct val naive(const struct part *part, bool *wrong)
{
    if (part->kind == LITERAL || part->kind == PATH) {
        return part->val ? *part->val : (struct val){ .type = NIL };
    }
    if (part->kind == NOT) return truth(!naive_bool(part->left, wrong));
    if (part->kind == AND || part->kind == OR) {
        bool left = naive_bool(part->left, wrong);
        if (*wrong || left == (part->kind == OR)) return truth(left);
        return truth(naive_bool(part->right, wrong));
    }
    struct val a = naive(part->left, wrong), b = { 0 };
    if (!part->right) return naive_of_one(part->kind, &a, wrong);
    if (!*wrong) b = naive(part->right, wrong);
    if (*wrong) return b;
    if (part->kind == EQ || part->kind == NE) return truth(same(&a, &b) == (part->kind == EQ));
    if (part->kind == IN) return truth(naive_in(&a, &b, wrong));
    int order = naive_order(&a, &b, wrong);
    return truth(part->kind == LT   ? order < 0
                 : part->kind == LE ? order <= 0
                 : part->kind == GT ? order > 0
                                    : order >= 0);
}

/* ---- the comparison ---- */

enum said { SAID_FALSE, SAID_TRUE, SAID_REASON, SAID_REFUSED };

static enum said ours(const char *condition, const char *result)
{
    const char *said = judge(condition, result);
    if (strncmp(said, "not a condition", 15) == 0) return SAID_REFUSED;
    if (strcmp(said, "true") == 0) return SAID_TRUE;
    return strcmp(said, "false") == 0 ? SAID_FALSE : SAID_REASON;
}

static void agrees_with_a_naive_evaluator(void **state)
{
    int seen[4] = { 0 };
    for_seeds(seed, 100000)
    {
        struct pawl__rng rng;
        struct pool pool = { .used = 0 };
        struct tree tree = { .used = 0 };
        struct pawl__buf text = { 0 }, json = { 0 };
        bool wrong = false;
        pawl__rng_seed(&rng, seed);
        const struct val *result = draw_value(&rng, &pool, 2);
        const struct part *root = draw_part(&rng, &tree, &pool, result, 3);
        print_part(&rng, root, &text);
        print_value(&rng, result, &json);
        bool holds = naive_bool(root, &wrong);
        enum said said = ours(text.at, json.at);
        seen[said]++;
        // what the compiler refuses can never be evaluated, or could be only without that part
        if (said != SAID_REFUSED) {
            enum said expected = wrong ? SAID_REASON : holds ? SAID_TRUE : SAID_FALSE;
            if (said != expected) {
                fail_msg("%s over %s: %d, not %d (repeat with PAWL_TEST_SEED=%llu)", text.at,
                         json.at, said, expected, (unsigned long long)seed);
            }
        }
        pawl__buf_release(&text);
        pawl__buf_release(&json);
    }
    for (int i = 0; i < 4 && !getenv("PAWL_TEST_SEED"); i++) {
        assert_true(seen[i] > 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_naive_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
