/* Pages of a query: what may be asked, and where a page goes on. */
#include "store/page.h"

#include "base/diag.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum pawl_err pawl__filter_check(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    size_t names = filter->queue_count + filter->type_count + filter->tag_count;
    if (names <= PAWL__FILTER_NAMES_MAX) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_LIMIT, "a filter may name %d queues, types and tags in all",
                      PAWL__FILTER_NAMES_MAX);
}

/* ---- cursors: the direction, then the last job's position in hexadecimal ---- */

enum { ID_DIGITS = 2 * sizeof(struct pawl_job_id) };

static size_t cursor_len(const struct pawl__cursor *cursor)
{
    return 1 + (size_t)cursor->digits + (cursor->has_id ? ID_DIGITS : 0);
}

static char direction(const struct pawl_page *page)
{
    return page->oldest_first ? 'o' : 'n';
}

static bool read_hex(const char *text, size_t digits, uint64_t *out)
{
    static const char known[] = "0123456789abcdef";
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *at = text[i] ? strchr(known, text[i]) : NULL;
        if (!at) return false;
        *out = *out << 4 | (uint64_t)(at - known);
    }
    return true;
}

static bool read_id(const char *text, struct pawl_job_id *out)
{
    for (size_t i = 0; i < sizeof out->b; i++) {
        uint64_t byte;
        if (!read_hex(text + 2 * i, 2, &byte)) return false;
        out->b[i] = (uint8_t)byte;
    }
    return true;
}

static bool read_cursor(const struct pawl__cursor *cursor, const struct pawl_page *page,
                        struct pawl__position *out)
{
    const char *text = page->cursor;
    size_t digits = (size_t)cursor->digits;
    uint64_t number;
    if (strlen(text) != cursor_len(cursor) || text[0] != direction(page)) return false;
    if (!read_hex(text + 1, digits, &number)) return false;
    if (cursor->has_id && !read_id(text + 1 + digits, &out->id)) return false;
    out->number = (int64_t)number;
    out->given = true;
    return true;
}

enum pawl_err pawl__page_begin(const struct pawl__cursor *cursor, const struct pawl_filter *filter,
                               const struct pawl_page *page, struct pawl__position *after,
                               struct pawl_jobs *out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (err) return err;
    *after = (struct pawl__position){ 0 };
    if (page->cursor && *page->cursor && !read_cursor(cursor, page, after)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "cursor",
                                "\"%.20s\" is not a cursor of this query", page->cursor);
    }
    out->at = NULL;
    out->count = 0;
    out->total = -1;
    out->next[0] = '\0';
    return PAWL_OK;
}

void pawl__page_continues(const struct pawl__cursor *cursor, const struct pawl_page *page,
                          const struct pawl__position *last, struct pawl_jobs *out)
{
    assert(cursor_len(cursor) < sizeof out->next);
    int len = snprintf(out->next, sizeof out->next, "%c%0*" PRIx64, direction(page), cursor->digits,
                       (uint64_t)last->number);
    for (size_t i = 0; cursor->has_id && i < sizeof last->id.b; i++) {
        len += snprintf(out->next + len, sizeof out->next - (size_t)len, "%02x", last->id.b[i]);
    }
}
