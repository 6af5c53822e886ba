/* Finding jobs: one statement for each source of jobs, run and merged by key.
 *
 * Live and archived jobs are in two tables of the same shape; what is asked of them is merged by
 * key, which for ids that begin with the time is the order of creation. The WHERE clauses are
 * sql/filter.c's. */
#include "store/sql/filter.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>

/* ---- the dialect ---- */

#define WAIT_STATES                                                                                \
    (PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_PENDING) |                   \
     PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) | PAWL_STATE_BIT(PAWL_STATE_PAUSED))
#define DONE_STATES                                                                                \
    (PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |                   \
     PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |                 \
     PAWL_STATE_BIT(PAWL_STATE_EXPIRED))

static void state_list_term(struct pawl__draft *draft, const char *before, uint32_t states,
                            const char *after)
{
    pawl__draft_term(draft, before);
    pawl__draft_states(draft, states);
    pawl__draft_text(draft, after);
}

/* States that share a place are looked for in that place alone: its table is small, or has an index
 * on the state. */
static void state_terms(struct pawl__draft *draft, uint32_t states)
{
    // the partial indexes hold all but the many that completed, and SQLite must be told so
    bool rare = !(states & PAWL_STATE_BIT(PAWL_STATE_COMPLETED));
    if (draft->archive) {
        state_list_term(draft, rare ? "j.state <> 7 AND j.state" : "j.state", states & DONE_STATES,
                        "");
    } else if ((states & ~WAIT_STATES) == 0) {
        state_list_term(draft, "j.key IN (SELECT key FROM pawl_wait WHERE state", states, ")");
    } else if (states == PAWL_STATE_BIT(PAWL_STATE_ACTIVE)) {
        pawl__draft_term(draft, "j.key IN (SELECT key FROM pawl_active)");
    } else if (states == PAWL_STATE_BIT(PAWL_STATE_AVAILABLE)) {
        pawl__draft_term(draft, "j.key IN (SELECT key FROM pawl_ready UNION ALL"
                                " SELECT key FROM pawl_fresh_job)");
    } else if ((states & ~DONE_STATES) == 0) {
        pawl__draft_term(draft, "w.key IS NULL");
        state_list_term(draft,
                        rare ? "j.key IN (SELECT key FROM pawl_done WHERE state <> 7 AND state"
                             : "j.key IN (SELECT key FROM pawl_done WHERE state",
                        states, ")");
    } else {
        state_list_term(draft,
                        "CASE WHEN w.key IS NOT NULL THEN w.state WHEN a.key IS NOT NULL THEN 4"
                        " WHEN d.key IS NOT NULL THEN d.state ELSE 2 END",
                        states, "");
    }
}

static void range_term(struct pawl__draft *draft, const char *text, int64_t low, int64_t high)
{
    pawl__draft_term(draft, text);
    pawl__draft_number(draft, low);
    pawl__draft_number(draft, high);
}

/* The first digit of a half is given, or none is: both ends of a range have the same sign, and
 * their order as numbers is that of the ids. */
static void id_terms(struct pawl__draft *draft, struct pawl_job_id low, struct pawl_job_id high)
{
    struct pawl__sq_halves from = pawl__sq_split(low), to = pawl__sq_split(high);
    bool displaced = draft->flag; // only jobs whose key is not the first half of their id
    range_term(draft,
               displaced ? "j.head BETWEEN ? AND ?" : "j.head IS NULL AND j.key BETWEEN ? AND ?",
               from.head, to.head);
    if (from.tail > to.tail) return; // 0 to -1: any
    range_term(draft, "j.tail BETWEEN ? AND ?", from.tail, to.tail);
}

static const struct pawl__dialect dialect = {
    .mark = '?',
    .type = "l.type",
    .type_begins = "instr(l.type, ?) = 1", // not GLOB: it has more wildcards than the one star
    .tagged = "j.key IN (SELECT key FROM pawl_tag WHERE tag",
    .meta = "EXISTS (SELECT 1 FROM json_each(j.meta) AS m WHERE m.key = ?"
            " AND (CASE m.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"
            " ELSE CAST(m.value AS TEXT) END) = ?)",
    .live = { .worker = "coalesce(w.worker, a.worker, d.worker)",
              .finished_at_ms = "d.finished_at_ms",
              .dead_letter = "d.dead_letter = 1" },
    .archive = { .worker = "j.worker",
                 .finished_at_ms = "j.finished_at_ms",
                 .dead_letter = "j.dead_letter = 1" },
    .states = state_terms,
    .ids = id_terms,
};

static const struct pawl__cursor cursor = { .digits = 16 }; // a position's number is a key

/* ---- statements ---- */

static enum pawl_err prepare(struct pawl__sq_conn *conn, const struct pawl__draft *draft,
                             sqlite3_stmt **out, struct pawl_diag *diag)
{
    *out = NULL;
    if (draft->sql.failed) return pawl__fail_nomem(diag);
    if (sqlite3_prepare_v2(conn->db, draft->sql.at, (int)draft->sql.len, out, NULL) != SQLITE_OK) {
        return pawl__sq_error(conn, diag, "prepare a query");
    }
    for (int i = 0; i < (int)draft->count; i++) {
        const struct pawl__value *value = &draft->values[i];
        if (value->kind == PAWL__VALUE_TEXT) {
            sqlite3_bind_text(*out, i + 1, value->text.at, (int)value->text.len, SQLITE_STATIC);
        } else {
            assert(value->kind == PAWL__VALUE_NUMBER);
            sqlite3_bind_int64(*out, i + 1, value->number);
        }
    }
    return PAWL_OK;
}

/* Where to look: the order is that of preference among equal keys. */
struct source {
    bool archive, displaced;
};

/* Jobs whose id begins with a prefix are found by key, and those that are displaced by head: each
 * has an index, and one statement would use neither. */
static size_t sources_of(const struct pawl_filter *filter, struct source out[4])
{
    size_t count = 0;
    for (int archive = 0; archive <= filter->archived; archive++) {
        for (int displaced = 0; displaced <= (filter->id_prefix != NULL); displaced++) {
            out[count++] = (struct source){ archive, displaced };
        }
    }
    return count;
}

/* One page of one source. */
struct ask {
    const struct pawl_filter *filter;
    struct source source;
    bool oldest_first;
    bool brief; /* without arguments and results */
    struct pawl__position after;
    int64_t limit;
};

static void begin_draft(struct pawl__draft *draft, struct source source)
{
    pawl__draft_init(draft, &dialect);
    draft->archive = source.archive;
    draft->flag = source.displaced;
}

static enum pawl_err open_ask(struct pawl__sq_conn *conn, const struct ask *ask, sqlite3_stmt **out,
                              struct pawl_diag *diag)
{
    struct pawl__draft draft;
    begin_draft(&draft, ask->source);
    pawl__draft_text(&draft, draft.archive ? SQL_TEXT_query_archive : SQL_TEXT_query_live);
    pawl__draft_given(&draft, ask->brief); // the first parameter of both
    pawl__draft_filter(&draft, ask->filter);
    if (ask->after.given) {
        pawl__draft_term(&draft, ask->oldest_first ? "j.key > ?" : "j.key < ?");
        pawl__draft_number(&draft, ask->after.number);
    }
    pawl__draft_add(&draft,
                    ask->oldest_first ? " ORDER BY j.key LIMIT ?" : " ORDER BY j.key DESC LIMIT ?");
    pawl__draft_number(&draft, ask->limit);
    enum pawl_err err = prepare(conn, &draft, out, diag);
    pawl__draft_release(&draft);
    return err;
}

static enum pawl_err step(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, bool *found,
                          struct pawl_diag *diag)
{
    *found = false;
    int code = sqlite3_step(stmt);
    *found = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE) return PAWL_OK;
    return pawl__sq_error(conn, diag, "read from the store");
}

/* The statement whose row comes next; `count`: none has one. */
static size_t next_of(sqlite3_stmt *const *stmts, const bool *found, size_t count,
                      bool oldest_first)
{
    size_t next = count;
    for (size_t i = 0; i < count; i++) {
        if (!found[i]) continue;
        if (next == count) {
            next = i;
            continue;
        }
        int64_t best = sqlite3_column_int64(stmts[next], COL_KEY);
        int64_t key = sqlite3_column_int64(stmts[i], COL_KEY);
        if (oldest_first ? key < best : key > best) next = i;
    }
    return next;
}

/* Visits up to `limit` matching rows of all sources in order of key, or until one is enough. */
typedef enum pawl_err visit_fn(void *ctx, sqlite3_stmt *row, bool *enough, struct pawl_diag *diag);

static enum pawl_err walk(struct pawl__sq_conn *conn, struct ask ask, visit_fn *visit, void *ctx,
                          struct pawl_diag *diag)
{
    struct source sources[4];
    sqlite3_stmt *stmts[4] = { NULL };
    bool found[4] = { false };
    size_t count = sources_of(ask.filter, sources);
    enum pawl_err err = PAWL_OK;
    bool enough = false;
    for (size_t i = 0; !err && i < count; i++) {
        ask.source = sources[i];
        err = open_ask(conn, &ask, &stmts[i], diag);
        if (!err) err = step(conn, stmts[i], &found[i], diag);
    }
    for (int64_t n = 0; !err && !enough && n < ask.limit; n++) {
        size_t next = next_of(stmts, found, count, ask.oldest_first);
        if (next == count) break;
        err = visit(ctx, stmts[next], &enough, diag);
        if (!err && !enough) err = step(conn, stmts[next], &found[next], diag);
    }
    for (size_t i = 0; i < count; i++) {
        sqlite3_finalize(stmts[i]);
    }
    return err;
}

struct page_ctx {
    struct pawl__arena *arena;
    struct pawl_jobs *out;
    int64_t limit;
    int64_t bytes_max; /* 0: no bound */
    int64_t least;     /* that many come whatever their length */
    int64_t bytes;     /* of those in `out` */
    struct pawl__position last;
    bool brief;
    bool more;
};

static bool is_full(const struct page_ctx *page, int64_t bytes)
{
    int64_t count = (int64_t)page->out->count;
    return count == page->limit ||
           (page->bytes_max && count >= page->least && page->bytes + bytes > page->bytes_max);
}

static enum pawl_err visit_job(void *ctx, sqlite3_stmt *row, bool *enough, struct pawl_diag *diag)
{
    struct page_ctx *page = ctx;
    int64_t bytes = (int64_t)sqlite3_column_bytes(row, COL_args) +
                    sqlite3_column_bytes(row, COL_meta) + sqlite3_column_bytes(row, COL_result);
    *enough = page->more = is_full(page, bytes);
    if (*enough) return PAWL_OK;
    page->bytes += bytes;
    struct pawl_job *job = &page->out->at[page->out->count];
    if (pawl__sq_read_job(row, page->arena, job)) return pawl__fail_nomem(diag);
    job->brief = page->brief;
    page->out->count++;
    page->last =
        (struct pawl__position){ .given = true, .number = sqlite3_column_int64(row, COL_KEY) };
    return PAWL_OK;
}

static enum pawl_err count_in(struct pawl__sq_conn *conn, const struct pawl_filter *filter,
                              struct source source, int64_t *out, struct pawl_diag *diag)
{
    struct pawl__draft draft;
    begin_draft(&draft, source);
    pawl__draft_text(&draft, source.archive ? SQL_TEXT_count_archive : SQL_TEXT_count_live);
    pawl__draft_filter(&draft, filter);
    sqlite3_stmt *stmt;
    enum pawl_err err = prepare(conn, &draft, &stmt, diag);
    bool found;
    if (!err) err = step(conn, stmt, &found, diag);
    if (!err) *out += sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    pawl__draft_release(&draft);
    return err;
}

static enum pawl_err count_all(struct pawl__sq_conn *conn, const struct pawl_filter *filter,
                               int64_t *out, struct pawl_diag *diag)
{
    struct source sources[4];
    size_t count = sources_of(filter, sources);
    enum pawl_err err = PAWL_OK;
    *out = 0;
    for (size_t i = 0; !err && i < count; i++) {
        err = count_in(conn, filter, sources[i], out, diag);
    }
    return err;
}

/* What does not fit any more is read from where that began, without what makes it long. */
static enum pawl_err read_page(struct pawl__sq_conn *conn, struct ask ask,
                               const struct pawl_page *asked, struct page_ctx *page,
                               struct pawl_diag *diag)
{
    bool some_whole = !asked->brief || asked->bytes_max;
    enum pawl_err err = some_whole ? walk(conn, ask, visit_job, page, diag) : PAWL_OK;
    int64_t left = asked->limit - (int64_t)page->out->count;
    if (err || !asked->brief || (some_whole && !page->more) || !left) return err;
    if (page->out->count) {
        ask.after = page->last;
    }
    ask.brief = page->brief = true;
    ask.limit = left + 1;
    page->bytes_max = 0;
    page->more = false;
    return walk(conn, ask, visit_job, page, diag);
}

enum pawl_err pawl__sq_query(struct pawl__backend *sq, const struct pawl_filter *filter,
                             const struct pawl_page *page, struct pawl__arena *arena,
                             struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct ask ask = { .filter = filter,
                       .oldest_first = page->oldest_first,
                       .limit = page->limit + 1 }; // one more tells whether there is more
    struct page_ctx ctx = { .arena = arena,
                            .out = out,
                            .limit = page->limit,
                            .bytes_max = page->bytes_max,
                            .least = page->brief ? 0 : 1 };
    enum pawl_err err = pawl__page_begin(&cursor, filter, page, &ask.after, out, diag);
    if (err) return err;
    out->at = pawl__arena_calloc(arena, (size_t)page->limit, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    struct pawl__sq_conn *conn;
    err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    err = read_page(conn, ask, page, &ctx, diag);
    if (!err && page->count) err = count_all(conn, filter, &out->total, diag);
    pawl__sq_read_end(sq, conn);
    if (!err && ctx.more) pawl__page_continues(&cursor, page, &ctx.last, out);
    return err;
}

enum pawl_err pawl__sq_query_count(struct pawl__backend *sq, const struct pawl_filter *filter,
                                   int64_t *out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (err) return err;
    struct pawl__sq_conn *conn;
    err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    err = count_all(conn, filter, out, diag);
    pawl__sq_read_end(sq, conn);
    return err;
}

struct ids_ctx {
    struct pawl_job_id *ids;
    size_t count;
};

static enum pawl_err visit_id(void *ctx, sqlite3_stmt *row, bool *enough, struct pawl_diag *diag)
{
    (void)enough;
    (void)diag;
    struct ids_ctx *list = ctx;
    list->ids[list->count++] = pawl__sq_row_id(row);
    return PAWL_OK;
}

enum pawl_err pawl__sq_match(struct pawl__sq_conn *conn, const struct pawl_filter *filter,
                             int64_t limit, struct pawl__arena *arena, struct pawl_job_id **out,
                             size_t *count, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (err) return err;
    struct ids_ctx list = { .ids = pawl__arena_alloc(arena, (size_t)limit * sizeof **out) };
    if (!list.ids) return pawl__fail_nomem(diag);
    err = walk(
        conn, (struct ask){ .filter = filter, .oldest_first = true, .brief = true, .limit = limit },
        visit_id, &list, diag);
    *out = list.ids;
    *count = list.count;
    return err;
}
