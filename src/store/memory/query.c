/* Finding jobs by a filter: a walk through all of them, in order of creation.
 *
 * Runs on: the caller's thread. */
#include "store/memory/memory.h"

#include "base/diag.h"
#include "store/page.h"

/* A position's number is the time of creation. */
static const struct pawl__cursor cursor = { .digits = 12, .has_id = true };

/* A page in the making. */
struct page {
    const struct pawl_page *asked;
    struct pawl__arena *arena;
    struct pawl_jobs *out;
    int64_t bytes;
    bool brief; /* from here on */
    bool more;
    struct pawl__position last;
};

/* Does a job of so many bytes come without what makes it long, or not at all? */
static void meet_bounds(struct page *page, int64_t bytes)
{
    const struct pawl_page *asked = page->asked;
    int64_t count = (int64_t)page->out->count;
    page->more = count == asked->limit;
    if (page->more || page->brief || !asked->bytes_max) return;
    bool fits = page->bytes + bytes <= asked->bytes_max || (!count && !asked->brief);
    if (!fits && asked->brief) page->brief = true;
    if (!fits && !asked->brief) page->more = true;
}

static enum pawl_err add_job(struct page *page, struct pawl_job job, struct pawl_diag *diag)
{
    int64_t bytes = (int64_t)(job.args.len + job.meta.len + job.result.len);
    meet_bounds(page, bytes);
    if (page->more) return PAWL_OK;
    page->bytes += bytes;
    job.brief = page->brief;
    if (job.brief) job.args = job.result = (struct pawl_span){ "", 0 };
    char *room = pawl__arena_alloc(page->arena, pawl__job_text_bytes(&job));
    if (!room) return pawl__fail_nomem(diag);
    page->out->at[page->out->count++] = pawl__job_copy(&job, room);
    page->last =
        (struct pawl__position){ .given = true, .number = job.created_at_ms, .id = job.id };
    return PAWL_OK;
}

static const struct pawl__mem_row *next_row(const struct pawl__mem_index *index,
                                            const struct pawl__mem_row *row, bool oldest_first)
{
    return oldest_first ? pawl__mem_after(index, row) : pawl__mem_before(index, row);
}

static enum pawl_err read_page(struct pawl__backend *mem, const struct pawl_filter *filter,
                               const struct pawl__position *after, struct page *page,
                               struct pawl_diag *diag)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_JOB, PAWL__MEM_JOB_BY_AGE);
    const struct pawl__mem_job at = { .created_at_ms = after->number };
    const struct pawl__mem_row probe = { .of = after->id, .data = &at };
    bool oldest_first = page->asked->oldest_first;
    struct pawl__arena scratch = { 0 };
    enum pawl_err err = PAWL_OK;
    const struct pawl__mem_row *row = next_row(index, after->given ? &probe : NULL, oldest_first);
    for (; !err && row && !page->more; row = next_row(index, row, oldest_first)) {
        struct pawl_job job = pawl__mem_view(mem, row);
        if (pawl__mem_passes(filter, &job, &scratch)) err = add_job(page, job, diag);
    }
    pawl__arena_release(&scratch);
    return err;
}

static int64_t count_all(const struct pawl__backend *mem, const struct pawl_filter *filter)
{
    struct pawl__arena scratch = { 0 };
    int64_t count = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_JOB, PAWL__MEM_JOB_BY_AGE)
    {
        struct pawl_job job = pawl__mem_view(mem, row);
        count += pawl__mem_passes(filter, &job, &scratch);
    }
    pawl__arena_release(&scratch);
    return count;
}

enum pawl_err pawl__mem_query(struct pawl__backend *mem, const struct pawl_filter *filter,
                              const struct pawl_page *asked, struct pawl__arena *arena,
                              struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct pawl__position after;
    struct page page = {
        .asked = asked, .arena = arena, .out = out, .brief = asked->brief && !asked->bytes_max
    };
    enum pawl_err err = pawl__page_begin(&cursor, filter, asked, &after, out, diag);
    if (err) return err;
    out->at = pawl__arena_calloc(arena, (size_t)asked->limit, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    pawl__lock(&mem->mutex);
    err = read_page(mem, filter, &after, &page, diag);
    if (!err && asked->count) out->total = count_all(mem, filter);
    pawl__unlock(&mem->mutex);
    if (!err && page.more) pawl__page_continues(&cursor, asked, &page.last, out);
    return err;
}

enum pawl_err pawl__mem_count(struct pawl__backend *mem, const struct pawl_filter *filter,
                              int64_t *out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (err) return err;
    pawl__lock(&mem->mutex);
    *out = count_all(mem, filter);
    pawl__unlock(&mem->mutex);
    return PAWL_OK;
}
