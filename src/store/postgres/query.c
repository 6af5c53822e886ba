/* Finding jobs: one statement for a page, one for each table that is counted.
 *
 * Live and archived jobs are in two tables of the same shape; both are asked and merged by the time
 * of creation. The WHERE clauses are sql/filter.c's.
 *
 * Runs on: the caller's thread, with a connection from the pool, and once more with another when
 * that one has been cut; or the committer's, with its own. */
#include "store/postgres/postgres.h"
#include "store/sql/filter.h"

#include <assert.h>
#include <inttypes.h>

/* ---- the dialect ---- */

/* The few jobs of some states can be reached without reading all others: by an index, or by a roll.
 * Completed jobs are not few. */
struct shortcut {
    uint32_t states;
    const char *term; /* NULL: by the ... */
    const char *roll;
    bool by_state; /* of which a part is meant */
};

static const struct shortcut *shortcut_to(uint32_t mask)
{
#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)
    static const struct shortcut shortcuts[] = {
        { BIT(SCHEDULED) | BIT(RETRYABLE), .term = "j.waits" },
        { BIT(PENDING) | BIT(PAUSED), .term = "j.held" },
        { BIT(AVAILABLE), .roll = "pawl_ready" },
        { BIT(ACTIVE), .roll = "pawl_lease" },
        { BIT(SKIPPED) | BIT(CANCELLED) | BIT(DISCARDED) | BIT(EXPIRED),
          .roll = "pawl_ended WHERE state", .by_state = true },
    };
#undef BIT
    for (size_t i = 0; i < sizeof shortcuts / sizeof *shortcuts; i++) {
        if (mask && !(mask & ~shortcuts[i].states)) return &shortcuts[i];
    }
    return NULL;
}

static void add_roll(struct pawl__draft *draft, const struct shortcut *shortcut, uint32_t states)
{
    pawl__draft_text(draft, shortcut->roll);
    if (shortcut->by_state) pawl__draft_states(draft, states);
}

static void narrow(struct pawl__draft *draft, uint32_t states)
{
    const struct shortcut *shortcut = shortcut_to(states);
    bool crowded = draft->flag; // the states' roll is long: jobs of them are met everywhere
    if (draft->archive || !shortcut) return;
    if (shortcut->term) {
        pawl__draft_term(draft, shortcut->term);
    } else if (!crowded) {
        pawl__draft_term(draft, "j.id = ANY (ARRAY (SELECT unnest(ids) FROM ");
        add_roll(draft, shortcut, states);
        pawl__draft_text(draft, "))");
    }
}

static void state_terms(struct pawl__draft *draft, uint32_t states)
{
    narrow(draft, states);
    pawl__draft_term(draft, "j.state");
    pawl__draft_states(draft, states);
}

static void id_term(struct pawl__draft *draft, struct pawl_job_id low, struct pawl_job_id high)
{
    pawl__draft_term(draft, "j.id BETWEEN ? AND ?");
    pawl__draft_id(draft, low);
    pawl__draft_id(draft, high);
}

#define COLUMNS                                                                                    \
    {                                                                                              \
        .worker = "j.worker", .finished_at_ms = "j.finished_at_ms", .dead_letter = "j.dead_letter" \
    }

static const struct pawl__dialect dialect = {
    .mark = '$',
    .type = "n.type",
    .type_begins = "starts_with(n.type, ?)",
    .tagged = "j.id IN (SELECT t.id FROM pawl_tag AS t WHERE t.tag",
    // a document with \u0000 in it is valid, but PostgreSQL cannot make text of it
    .meta = "CASE WHEN j.meta IS NULL OR j.meta LIKE '%\\\\u0000%' THEN false"
            " ELSE (j.meta::json ->> ?) = ? END",
    .live = COLUMNS,
    .archive = COLUMNS,
    .states = state_terms,
    .ids = id_term,
};

/* A position's number is the time of creation. */
static const struct pawl__cursor cursor = { .digits = 12, .has_id = true };

/* ---- statements ---- */

/* One page of both tables. */
struct ask {
    const struct pawl_filter *filter;
    enum pawl__pg live, archive; /* the statements to put the filter behind */
    bool oldest_first;
    bool crowded;
    struct pawl__position after;
    int64_t limit;
    bool bounded; /* in bytes: */
    int64_t bytes_max, least;
};

/* The planner thinks that every range of ids is one job in a hundred, and would read jobs in order
 * of creation until it has met enough. Adding 0 leaves it the primary key alone. */
static void order(struct pawl__draft *draft, const struct ask *ask, const char *table)
{
    bool by_id = *table && ask->filter->id_prefix;
    pawl__buf_printf(&draft->sql, " ORDER BY %screated_at_ms%s%s, %sid%s", table,
                     by_id ? " + 0" : "", ask->oldest_first ? "" : " DESC", table,
                     ask->oldest_first ? "" : " DESC");
}

static void limit(struct pawl__draft *draft, const struct ask *ask)
{
    pawl__buf_printf(&draft->sql, " LIMIT %" PRId64, ask->limit);
}

static void draft_table(struct pawl__draft *draft, const struct ask *ask, bool archive)
{
    draft->archive = archive;
    draft->has_where = false;
    pawl__draft_text(draft, "(");
    pawl__draft_text(draft, pawl__pg_text_of(archive ? ask->archive : ask->live));
    pawl__draft_filter(draft, ask->filter);
    if (ask->after.given) {
        pawl__draft_term(draft, ask->oldest_first ? "(j.created_at_ms, j.id) > (?, ?)"
                                                  : "(j.created_at_ms, j.id) < (?, ?)");
        pawl__draft_number(draft, ask->after.number);
        pawl__draft_id(draft, ask->after.id);
    }
    order(draft, ask, "j.");
    limit(draft, ask);
    pawl__draft_text(draft, ")");
}

static void bind(struct pawl__pg_conn *conn, int at, const struct pawl__value *value)
{
    switch (value->kind) {
    case PAWL__VALUE_NUMBER:
        pawl__pg_bind(conn, at, value->number);
        break;
    case PAWL__VALUE_TEXT:
        pawl__pg_bind_whole(conn, at, value->text);
        break;
    case PAWL__VALUE_ID:
        pawl__pg_bind_id(conn, at, &value->id);
        break;
    }
}

/* Sends what was drafted, or says that there was no memory for it. Releases the draft. */
static enum pawl_err send_draft(struct pawl__pg_conn *conn, struct pawl__draft *draft, int slot,
                                struct pawl_diag *diag)
{
    enum pawl_err err = draft->sql.failed ? pawl__fail_nomem(diag) : PAWL_OK;
    if (!err) {
        pawl__pg_call_text(conn, draft->sql.at);
        for (size_t i = 0; i < draft->count; i++) {
            bind(conn, (int)i + 1, &draft->values[i]);
        }
        pawl__pg_send_keep(conn, slot);
    }
    pawl__draft_release(draft);
    return err;
}

enum { SLOT_PAGE, SLOT_COUNT_LIVE, SLOT_COUNT_ARCHIVE };

/* Around a page: its lengths are added up in its order, and what does not fit is not sent. */
static void open_bound(struct pawl__draft *draft, const struct ask *ask)
{
    assert(PG_QUERY_WITHIN_bytes_max == 1 && PG_QUERY_WITHIN_least == 2);
    pawl__draft_given(draft, ask->bytes_max);
    pawl__draft_given(draft, ask->least);
    pawl__draft_text(draft, "WITH page AS (");
}

static void close_bound(struct pawl__draft *draft, const struct ask *ask)
{
    pawl__draft_text(draft, "), sized AS (");
    pawl__draft_text(draft, pawl__pg_text_of(PG_PAGE_SIZED));
    pawl__draft_text(draft, "WINDOW so_far AS (");
    order(draft, ask, "");
    pawl__draft_text(draft, ")) ");
    pawl__draft_text(draft, pawl__pg_text_of(PG_QUERY_WITHIN));
    order(draft, ask, "");
}

static void begin_draft(struct pawl__draft *draft, const struct ask *ask)
{
    pawl__draft_init(draft, &dialect);
    draft->flag = ask->crowded;
}

static enum pawl_err send_page(struct pawl__pg_conn *conn, const struct ask *ask,
                               struct pawl_diag *diag)
{
    struct pawl__draft draft;
    begin_draft(&draft, ask);
    if (ask->bounded) open_bound(&draft, ask);
    size_t given = draft.count;
    draft_table(&draft, ask, false);
    if (ask->filter->archived) {
        draft.marks = draft.count = given; // its terms have the same values, in the same order
        pawl__draft_text(&draft, " UNION ALL ");
        draft_table(&draft, ask, true);
        order(&draft, ask, "");
        limit(&draft, ask);
    }
    if (ask->bounded) close_bound(&draft, ask);
    return send_draft(conn, &draft, SLOT_PAGE, diag);
}

static enum pawl_err send_count(struct pawl__pg_conn *conn, const struct ask *ask, bool archive,
                                struct pawl_diag *diag)
{
    struct pawl__draft draft;
    begin_draft(&draft, ask);
    draft.archive = archive;
    pawl__draft_text(&draft, pawl__pg_text_of(archive ? PG_COUNT_ARCHIVE : PG_COUNT_LIVE));
    pawl__draft_filter(&draft, ask->filter);
    return send_draft(conn, &draft, archive ? SLOT_COUNT_ARCHIVE : SLOT_COUNT_LIVE, diag);
}

static enum pawl_err send_counts(struct pawl__pg_conn *conn, const struct ask *ask,
                                 struct pawl_diag *diag)
{
    enum pawl_err err = send_count(conn, ask, false, diag);
    if (!err && ask->filter->archived) err = send_count(conn, ask, true, diag);
    return err;
}

/* Rows of a roll, beyond which it is no shortcut any more. */
#define ROWS_FEW "200"

static enum pawl_err look_for_crowd(struct pawl__pg_conn *conn, struct ask *ask,
                                    struct pawl_diag *diag)
{
    const struct shortcut *shortcut = shortcut_to(ask->filter->states);
    if (!shortcut || !shortcut->roll) return PAWL_OK;
    struct pawl__draft draft;
    begin_draft(&draft, ask);
    pawl__draft_text(&draft, "SELECT EXISTS (SELECT 1 FROM ");
    add_roll(&draft, shortcut, ask->filter->states);
    pawl__draft_text(&draft, " OFFSET " ROWS_FEW ")");
    enum pawl_err err = send_draft(conn, &draft, SLOT_PAGE, diag);
    if (!err) err = pawl__pg_sync(conn, diag);
    if (!err) ask->crowded = pawl__pg_bool(conn->kept[SLOT_PAGE], 0, 0);
    return err;
}

static int64_t read_counts(const struct pawl__pg_conn *conn, const struct pawl_filter *filter)
{
    int64_t count = pawl__pg_int(conn->kept[SLOT_COUNT_LIVE], 0, 0);
    if (filter->archived) count += pawl__pg_int(conn->kept[SLOT_COUNT_ARCHIVE], 0, 0);
    return count;
}

static bool is_bounded(const struct pawl_page *page)
{
    return page->bytes_max || page->brief;
}

static enum pawl_err read_page(const PGresult *rows, const struct pawl_page *page,
                               struct pawl__arena *arena, struct pawl_jobs *out,
                               struct pawl_diag *diag)
{
    bool more = PQntuples(rows) > page->limit;
    int count = more ? (int)page->limit : PQntuples(rows);
    out->at = pawl__arena_calloc(arena, (size_t)count + 1, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    for (int i = 0; i < count; i++) {
        bool whole = !is_bounded(page) || pawl__pg_bool(rows, i, COL_WHOLE);
        if (!whole && !page->brief) {
            more = true;
            break;
        }
        if (pawl__pg_read_job(rows, i, arena, &out->at[i])) return pawl__fail_nomem(diag);
        out->at[i].brief = !whole;
        out->count++;
    }
    if (more) {
        const struct pawl_job *last = &out->at[out->count - 1];
        pawl__page_continues(&cursor, page,
                             &(struct pawl__position){ true, last->created_at_ms, last->id }, out);
    }
    return PAWL_OK;
}

static enum pawl_err query_once(struct pawl__backend *pg, const struct pawl_filter *filter,
                                const struct pawl_page *page, struct pawl__arena *arena,
                                struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct ask ask = { .filter = filter,
                       .live = PG_QUERY_LIVE,
                       .archive = PG_QUERY_ARCHIVE,
                       .oldest_first = page->oldest_first,
                       .limit = page->limit + 1, // one more tells whether there is more
                       .bounded = is_bounded(page),
                       .bytes_max = page->bytes_max ? page->bytes_max : -1,
                       .least = page->brief ? 0 : 1 };
    enum pawl_err err = pawl__page_begin(&cursor, filter, page, &ask.after, out, diag);
    if (err) return err;
    struct pawl__pg_conn *conn;
    err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    err = look_for_crowd(conn, &ask, diag);
    if (!err) err = send_page(conn, &ask, diag);
    if (!err && page->count) err = send_counts(conn, &ask, diag);
    if (!err) err = pawl__pg_read_last(conn, diag);
    if (!err) err = read_page(conn->kept[SLOT_PAGE], page, arena, out, diag);
    if (!err && page->count) out->total = read_counts(conn, filter);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_query(struct pawl__backend *pg, const struct pawl_filter *filter,
                             const struct pawl_page *page, struct pawl__arena *arena,
                             struct pawl_jobs *out, struct pawl_diag *diag)
{
    enum pawl_err err = query_once(pg, filter, page, arena, out, diag);
    return err == PAWL_ERR_IO ? query_once(pg, filter, page, arena, out, diag) : err;
}

static enum pawl_err query_count_once(struct pawl__backend *pg, const struct pawl_filter *filter,
                                      int64_t *out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (err) return err;
    struct pawl__pg_conn *conn;
    err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    struct ask ask = { .filter = filter };
    err = look_for_crowd(conn, &ask, diag);
    if (!err) err = send_counts(conn, &ask, diag);
    if (!err) err = pawl__pg_read_last(conn, diag);
    if (!err) *out = read_counts(conn, filter);
    pawl__pg_read_end(pg, conn);
    return err;
}

enum pawl_err pawl__pg_query_count(struct pawl__backend *pg, const struct pawl_filter *filter,
                                   int64_t *out, struct pawl_diag *diag)
{
    enum pawl_err err = query_count_once(pg, filter, out, diag);
    return err == PAWL_ERR_IO ? query_count_once(pg, filter, out, diag) : err;
}

enum pawl_err pawl__pg_match(struct pawl__pg_conn *conn, const struct pawl_filter *filter,
                             int64_t limit, struct pawl__arena *arena, struct pawl_job_id **out,
                             size_t *count, struct pawl_diag *diag)
{
    struct ask ask = { .filter = filter,
                       .live = PG_MATCH_LIVE,
                       .archive = PG_MATCH_ARCHIVE,
                       .oldest_first = true,
                       .limit = limit };
    enum pawl_err err = pawl__filter_check(filter, diag);
    if (!err) err = send_page(conn, &ask, diag);
    if (!err) err = pawl__pg_sync(conn, diag);
    if (err) return err;
    const PGresult *rows = conn->kept[SLOT_PAGE];
    *count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(arena, (*count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < *count; i++) {
        (*out)[i] = pawl__pg_id(rows, (int)i, 0);
    }
    return PAWL_OK;
}
