/* One ordered index: a treap. Nothing is allocated, so nothing can fail. */
#include "store/memory/memory.h"

#include <assert.h>

static struct pawl__mem_row **left_of(const struct pawl__mem_index *index,
                                      struct pawl__mem_row *row)
{
    return &row->nodes[index->at].left;
}

static struct pawl__mem_row **right_of(const struct pawl__mem_index *index,
                                       struct pawl__mem_row *row)
{
    return &row->nodes[index->at].right;
}

/* What is before `by` in a tree, and what is behind it. */
static void split(const struct pawl__mem_index *index, struct pawl__mem_row *tree,
                  const struct pawl__mem_row *by, struct pawl__mem_row **before,
                  struct pawl__mem_row **behind)
{
    while (tree) {
        if (index->compare(tree, by) < 0) {
            *before = tree;
            before = right_of(index, tree);
            tree = *before;
        } else {
            *behind = tree;
            behind = left_of(index, tree);
            tree = *behind;
        }
    }
    *before = *behind = NULL;
}

/* Two trees, all of one before all of the other, become one. */
static void merge(const struct pawl__mem_index *index, struct pawl__mem_row **link,
                  struct pawl__mem_row *before, struct pawl__mem_row *behind)
{
    while (before && behind) {
        if (before->weight > behind->weight) {
            *link = before;
            link = right_of(index, before);
            before = *link;
        } else {
            *link = behind;
            link = left_of(index, behind);
            behind = *link;
        }
    }
    *link = before ? before : behind;
}

/* The way from a row towards another one. */
static struct pawl__mem_row **towards(const struct pawl__mem_index *index,
                                      struct pawl__mem_row *from, const struct pawl__mem_row *to)
{
    return index->compare(from, to) < 0 ? right_of(index, from) : left_of(index, from);
}

void pawl__mem_link(struct pawl__mem_index *index, struct pawl__mem_row *row)
{
    struct pawl__mem_row **link = &index->root;
    while (*link && (*link)->weight >= row->weight) {
        link = towards(index, *link, row);
    }
    split(index, *link, row, left_of(index, row), right_of(index, row));
    *link = row;
}

void pawl__mem_unlink(struct pawl__mem_index *index, struct pawl__mem_row *row)
{
    struct pawl__mem_row **link = &index->root;
    while (*link != row) {
        assert(*link); // or it is not in this index
        link = towards(index, *link, row);
    }
    merge(index, link, *left_of(index, row), *right_of(index, row));
}

/* The first row that compares to `row` with `least` or more. */
static struct pawl__mem_row *first_from(const struct pawl__mem_index *index,
                                        const struct pawl__mem_row *row, int least)
{
    struct pawl__mem_row *best = NULL, *at = index->root;
    while (at) {
        bool fits = !row || index->compare(at, row) >= least;
        if (fits) best = at;
        at = fits ? *left_of(index, at) : *right_of(index, at);
    }
    return best;
}

struct pawl__mem_row *pawl__mem_from(const struct pawl__mem_index *index,
                                     const struct pawl__mem_row *row)
{
    return first_from(index, row, 0);
}

struct pawl__mem_row *pawl__mem_after(const struct pawl__mem_index *index,
                                      const struct pawl__mem_row *row)
{
    return first_from(index, row, 1);
}

struct pawl__mem_row *pawl__mem_before(const struct pawl__mem_index *index,
                                       const struct pawl__mem_row *row)
{
    struct pawl__mem_row *best = NULL, *at = index->root;
    while (at) {
        bool fits = !row || index->compare(at, row) < 0;
        if (fits) best = at;
        at = fits ? *right_of(index, at) : *left_of(index, at);
    }
    return best;
}
