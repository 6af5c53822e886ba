/* Finding jobs by a filter: what is PostgreSQL's own in sql/query.c and sql/filter.c. Jobs are in
 * order of creation. */
#include "store/postgres/postgres.h"
#include "store/sql/query.h"

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

/* ---- pages ---- */

/* Rows of a roll, beyond which it is no shortcut any more. */
#define ROWS_FEW "200"

static enum pawl_err look_for_crowd(struct pawl__reader *reader, const struct pawl_filter *filter,
                                    bool *crowded)
{
    const struct shortcut *shortcut = shortcut_to(filter->states);
    struct pawl__pg_conn *conn = reader->conn;
    if (!shortcut || !shortcut->roll) return PAWL_OK;
    struct pawl__draft draft;
    pawl__draft_init(&draft, &dialect);
    pawl__draft_text(&draft, "SELECT EXISTS (SELECT 1 FROM ");
    add_roll(&draft, shortcut, filter->states);
    pawl__draft_text(&draft, " OFFSET " ROWS_FEW ")");
    enum pawl_err err = PAWL_OK;
    if (draft.sql.failed) {
        err = pawl__fail_nomem(reader->diag);
    } else {
        PGresult *row;
        pawl__pg_call_text(conn, draft.sql.at);
        err = pawl__pg_ask(conn, &row, reader->diag);
        if (!err) *crowded = pawl__pg_bool(row, 0, 0);
    }
    pawl__draft_release(&draft);
    return err;
}

/* Inside a transaction that writes the roll is taken as it is: another round trip costs more. */
static enum pawl_err find_sources(struct pawl__reader *reader, const struct pawl_filter *filter,
                                  struct pawl__source out[PAWL__SOURCES_MAX], size_t *count)
{
    bool crowded = false;
    enum pawl_err err = reader->inside ? PAWL_OK : look_for_crowd(reader, filter, &crowded);
    *count = 0;
    for (int archive = 0; archive <= filter->archived; archive++) {
        out[(*count)++] = (struct pawl__source){ archive, crowded };
    }
    return err;
}

static const char *order_of(const struct pawl__ask *ask)
{
    return ask->oldest_first ? "created_at_ms, id" : "created_at_ms DESC, id DESC";
}

/* Around a page: its lengths are added up in its order, and what does not fit is not sent. */
static void open_bound(struct pawl__draft *draft, const struct pawl__ask *ask)
{
    _Static_assert(PG_QUERY_WITHIN_bytes_max == 1 && PG_QUERY_WITHIN_least == 2, "given first");
    pawl__draft_given(draft, ask->bytes_max);
    pawl__draft_given(draft, ask->least);
    pawl__draft_text(draft, "WITH page AS (");
}

static void close_bound(struct pawl__draft *draft, const struct pawl__ask *ask)
{
    pawl__buf_printf(&draft->sql, "), sized AS (%sWINDOW so_far AS (ORDER BY %s)) %sORDER BY %s",
                     PG_TEXT_page_sized, order_of(ask), PG_TEXT_query_within, order_of(ask));
}

/* The planner thinks that every range of ids is one job in a hundred, and would read jobs in order
 * of creation until it has met enough. Adding 0 leaves it the primary key alone. */
static void draft_page(struct pawl__draft *draft, const struct pawl__ask *ask)
{
    static const char *const jobs[] = { PG_TEXT_query_live, PG_TEXT_query_archive };
    static const char *const ids[] = { PG_TEXT_match_live, PG_TEXT_match_archive };
    static const char *const orders[2][2] = {
        { "j.created_at_ms DESC, j.id DESC", "j.created_at_ms, j.id" },
        { "j.created_at_ms + 0 DESC, j.id DESC", "j.created_at_ms + 0, j.id" },
    };
    const char *order = orders[ask->filter->id_prefix != NULL][ask->oldest_first];
    if (ask->bounded) open_bound(draft, ask);
    pawl__draft_page(draft, &pawl__pg_pages, ask, (ask->ids ? ids : jobs)[draft->archive], order);
    if (ask->bounded) close_bound(draft, ask);
}

const struct pawl__pages pawl__pg_pages = {
    .dialect = &dialect,
    .cursor = { .digits = 12, .has_id = true }, // a position's number is the time of creation
    .count = { PG_TEXT_count_live, PG_TEXT_count_archive },
    .after = { "(j.created_at_ms, j.id) < (?, ?)", "(j.created_at_ms, j.id) > (?, ?)" },
    .sources = find_sources,
    .draft = draft_page,
};
