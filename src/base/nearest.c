/* Words are short: a table of all prefixes fits on the stack. Candidates that the length alone
 * rules out are not compared, so a hostile word costs no more than a misspelt one. */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) between two words. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a_len; i++) {
        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            size_t best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = least(best, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = least(best, rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    return rows[a_len][b_len];
}

void pawl__nearest_offer(struct pawl__nearest *nearest, const char *candidate)
{
    size_t len = strlen(nearest->word), other = strlen(candidate);
    size_t allowed = len <= 3 ? 1 : len <= 6 ? 2 : 3;
    size_t apart = len > other ? len - other : other - len;
    size_t d = SIZE_MAX;
    if (apart <= allowed && len <= WORD_MAX && other <= WORD_MAX) {
        d = distance(nearest->word, len, candidate, other);
    }
    // A prefix counts as a misspelling.
    if (len >= 3 && strncmp(nearest->word, candidate, len) == 0) d = least(d, 1);
    if (d > allowed || (nearest->best && d >= nearest->distance)) return;
    nearest->best = candidate;
    nearest->distance = d;
}
