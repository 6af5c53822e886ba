/* Finding jobs: pages of them, how many there are, their ids. */
#include "store/sql/query.h"

#include "base/diag.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

_Static_assert(2 * (int)PAWL__SOURCES_MAX <= (int)PAWL__READ_SLOTS, "a page and a count of each");

/* ---- statements ---- */

void pawl__draft_page(struct pawl__draft *draft, const struct pawl__pages *pages,
                      const struct pawl__ask *ask, const char *text, const char *order)
{
    pawl__draft_text(draft, text);
    pawl__draft_filter(draft, ask->filter);
    if (ask->after.given) {
        pawl__draft_term(draft, pages->after[ask->oldest_first]);
        pawl__draft_number(draft, ask->after.number);
        if (pages->cursor.has_id) pawl__draft_id(draft, ask->after.id);
    }
    pawl__buf_printf(&draft->sql, " ORDER BY %s LIMIT %" PRId64, order, ask->limit);
}

static void begin_draft(struct pawl__draft *draft, const struct pawl__pages *pages,
                        struct pawl__source source)
{
    pawl__draft_init(draft, pages->dialect);
    draft->archive = source.archive;
    draft->flag = source.flag;
}

static enum pawl_err ask_draft(struct pawl__reader *reader, int slot, struct pawl__draft *draft)
{
    enum pawl_err err = draft->sql.failed ? pawl__fail_nomem(reader->diag)
                                          : reader->reads->ask_draft(reader, slot, draft);
    pawl__draft_release(draft);
    return err;
}

static enum pawl_err ask_page(struct pawl__reader *reader, int slot, struct pawl__source source,
                              const struct pawl__ask *ask)
{
    struct pawl__draft draft;
    begin_draft(&draft, reader->reads->pages, source);
    reader->reads->pages->draft(&draft, ask);
    return ask_draft(reader, slot, &draft);
}

static enum pawl_err ask_count(struct pawl__reader *reader, int slot, struct pawl__source source,
                               const struct pawl_filter *filter)
{
    struct pawl__draft draft;
    begin_draft(&draft, reader->reads->pages, source);
    pawl__draft_text(&draft, reader->reads->pages->count[source.archive]);
    pawl__draft_filter(&draft, filter);
    return ask_draft(reader, slot, &draft);
}

/* ---- the rows of all sources, in order ---- */

struct walk {
    struct pawl__reader *reader;
    struct pawl__ask ask;
    struct pawl__source sources[PAWL__SOURCES_MAX];
    size_t count;
    bool there[PAWL__SOURCES_MAX];                  /* it has one more row, */
    struct pawl__position heads[PAWL__SOURCES_MAX]; /* which is here */
};

static enum pawl_err find_sources(struct walk *walk)
{
    return walk->reader->reads->pages->sources(walk->reader, walk->ask.filter, walk->sources,
                                               &walk->count);
}

static enum pawl_err ask_counts(struct walk *walk)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < walk->count; i++) {
        err =
            ask_count(walk->reader, PAWL__SOURCES_MAX + (int)i, walk->sources[i], walk->ask.filter);
    }
    return err;
}

static enum pawl_err add_counts(struct walk *walk, int64_t *out)
{
    enum pawl_err err = PAWL_OK;
    *out = 0;
    for (size_t i = 0; !err && i < walk->count; i++) {
        int64_t count = 0;
        err = pawl__read_number(walk->reader, PAWL__SOURCES_MAX + (int)i, &count);
        *out += count;
    }
    return err;
}

static enum pawl_err ask_pages(struct walk *walk)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < walk->count; i++) {
        err = ask_page(walk->reader, (int)i, walk->sources[i], &walk->ask);
    }
    return err;
}

static enum pawl_err step(struct walk *walk, size_t at)
{
    const struct pawl__reads *reads = walk->reader->reads;
    enum pawl_err err = reads->next(walk->reader, (int)at, &walk->there[at]);
    if (err || !walk->there[at]) return err;
    walk->heads[at] = reads->position(walk->reader, (int)at, walk->ask.ids);
    return PAWL_OK;
}

/* After all was asked: to the first row of each. */
static enum pawl_err start(struct walk *walk)
{
    enum pawl_err err = walk->reader->reads->run(walk->reader);
    for (size_t i = 0; !err && i < walk->count; i++) {
        err = step(walk, i);
    }
    return err;
}

static bool precedes(const struct pawl__position *a, const struct pawl__position *b,
                     bool oldest_first)
{
    int way = a->number < b->number ? -1 : a->number > b->number;
    if (!way) way = memcmp(&a->id, &b->id, sizeof a->id);
    return oldest_first ? way < 0 : way > 0;
}

/* The source whose row comes next; `count`: none has one. */
static size_t next_of(const struct walk *walk)
{
    size_t next = walk->count;
    for (size_t i = 0; i < walk->count; i++) {
        if (!walk->there[i]) continue;
        bool first = next == walk->count ||
                     precedes(&walk->heads[i], &walk->heads[next], walk->ask.oldest_first);
        if (first) next = i;
    }
    return next;
}

/* ---- pages ---- */

struct page {
    const struct pawl_filter *filter;
    const struct pawl_page *asked;
    struct pawl_jobs *out;
    int64_t bytes; /* of the whole jobs in `out` */
    struct pawl__position last;
    bool more;
};

static bool fits(const struct page *page, const struct pawl__ask *ask, const struct pawl_job *job)
{
    int64_t bytes = (int64_t)(job->args.len + job->meta.len + job->result.len);
    return !ask->bounded || (int64_t)page->out->count < ask->least ||
           page->bytes + bytes <= ask->bytes_max;
}

static void add_job(struct page *page, struct pawl_job *job, bool whole)
{
    if (whole) {
        page->bytes += (int64_t)(job->args.len + job->meta.len + job->result.len);
    } else {
        job->args = job->result = (struct pawl_span){ "", 0 };
    }
    job->brief = !whole;
    page->out->count++;
}

/* The rows of a walk, until the page is full. `again`: the rest is to be asked for without what is
 * long. */
static enum pawl_err take_jobs(struct walk *walk, struct page *page, bool *again)
{
    const struct pawl__reads *reads = walk->reader->reads;
    enum pawl_err err = PAWL_OK;
    *again = false;
    for (size_t at; !err && (at = next_of(walk)) < walk->count; err = step(walk, at)) {
        page->more = (int64_t)page->out->count == page->asked->limit;
        if (page->more) break;
        struct pawl_job *job = &page->out->at[page->out->count];
        if (reads->job(walk->reader, (int)at, job)) return pawl__fail_nomem(walk->reader->diag);
        bool whole = !walk->ask.brief && !job->brief && fits(page, &walk->ask, job);
        page->more = !whole && !page->asked->brief;
        *again = !whole && !walk->ask.brief && reads->pages->lazy;
        walk->ask.brief |= !whole; // and none of those behind it
        if (page->more || *again) break;
        add_job(page, job, whole);
        page->last = walk->heads[at];
    }
    return err;
}

static enum pawl_err read_page(struct walk *walk, struct page *page)
{
    bool again;
    enum pawl_err err = take_jobs(walk, page, &again);
    if (err || page->more || !again) return err;
    if (page->out->count) walk->ask.after = page->last;
    walk->ask.limit = page->asked->limit - (int64_t)page->out->count + 1;
    err = ask_pages(walk);
    if (!err) err = start(walk);
    return err ? err : take_jobs(walk, page, &again);
}

static struct pawl__ask ask_for(const struct page *page)
{
    const struct pawl_page *asked = page->asked;
    return (struct pawl__ask){ .filter = page->filter,
                               .oldest_first = asked->oldest_first,
                               .brief = asked->brief && !asked->bytes_max,
                               .limit = asked->limit + 1, // one more tells whether there is more
                               .bounded = asked->brief || asked->bytes_max,
                               .bytes_max = asked->bytes_max ? asked->bytes_max : -1,
                               .least = asked->brief ? 0 : 1 };
}

static enum pawl_err read_query(struct pawl__reader *reader, void *out)
{
    struct page page = *(const struct page *)out;
    const struct pawl__cursor *cursor = &reader->reads->pages->cursor;
    struct walk walk = { .reader = reader, .ask = ask_for(&page) };
    enum pawl_err err =
        pawl__page_begin(cursor, page.filter, page.asked, &walk.ask.after, page.out, reader->diag);
    if (err) return err;
    page.out->at =
        pawl__arena_calloc(reader->arena, (size_t)page.asked->limit, sizeof *page.out->at);
    if (!page.out->at) return pawl__fail_nomem(reader->diag);
    err = find_sources(&walk);
    if (!err) err = ask_pages(&walk);
    if (!err && page.asked->count) err = ask_counts(&walk);
    if (!err) err = start(&walk);
    if (!err) err = read_page(&walk, &page);
    if (!err && page.asked->count) err = add_counts(&walk, &page.out->total);
    if (!err && page.more) pawl__page_continues(cursor, page.asked, &page.last, page.out);
    return err;
}

enum pawl_err pawl__read_query(struct pawl__backend *backend, const struct pawl_filter *filter,
                               const struct pawl_page *page, struct pawl__arena *arena,
                               struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag };
    struct page asked = { .filter = filter, .asked = page, .out = out };
    return pawl__read_with(reader, read_query, &asked);
}

/* ---- how many ---- */

struct tally {
    const struct pawl_filter *filter;
    int64_t count;
};

static enum pawl_err read_count(struct pawl__reader *reader, void *out)
{
    struct tally *tally = out;
    struct walk walk = { .reader = reader, .ask.filter = tally->filter };
    enum pawl_err err = pawl__filter_check(tally->filter, reader->diag);
    if (!err) err = find_sources(&walk);
    if (!err) err = ask_counts(&walk);
    if (!err) err = reader->reads->run(reader);
    return err ? err : add_counts(&walk, &tally->count);
}

enum pawl_err pawl__read_count(struct pawl__backend *backend, const struct pawl_filter *filter,
                               int64_t *out, struct pawl_diag *diag)
{
    struct pawl__reader reader = { .backend = backend, .diag = diag };
    struct tally tally = { .filter = filter };
    enum pawl_err err = pawl__read_with(reader, read_count, &tally);
    if (!err) *out = tally.count;
    return err;
}

/* ---- ids ---- */

struct matches {
    const struct pawl_filter *filter;
    int64_t limit;
    struct pawl_job_id *ids;
    size_t count;
};

static enum pawl_err read_match(struct pawl__reader *reader, void *out)
{
    struct matches *matches = out;
    struct walk walk = {
        .reader = reader,
        .ask = { matches->filter, .ids = true, .oldest_first = true, .limit = matches->limit },
    };
    enum pawl_err err = pawl__filter_check(matches->filter, reader->diag);
    if (!err) err = find_sources(&walk);
    if (!err) err = ask_pages(&walk);
    if (!err) err = start(&walk);
    for (size_t at; !err && (at = next_of(&walk)) < walk.count; err = step(&walk, at)) {
        if ((int64_t)matches->count == matches->limit) break;
        matches->ids[matches->count++] = walk.heads[at].id;
    }
    return err;
}

enum pawl_err pawl__read_match(struct pawl__backend *backend, const struct pawl_filter *filter,
                               int64_t limit, struct pawl__arena *arena, struct pawl_job_id **out,
                               size_t *count, struct pawl_diag *diag)
{
    struct pawl__reader reader = { .backend = backend, .diag = diag, .inside = true };
    struct matches matches = { .filter = filter,
                               .limit = limit,
                               .ids = pawl__arena_alloc(arena, (size_t)limit * sizeof **out) };
    if (!matches.ids) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__read_with(reader, read_match, &matches);
    *out = matches.ids;
    *count = matches.count;
    return err;
}
