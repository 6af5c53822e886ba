/* Finding jobs by a filter: what is SQLite's own in sql/query.c and sql/filter.c. Jobs are in order
 * of key, which for ids that begin with the time is the order of creation. */
#include "store/sql/query.h"
#include "store/sqlite/sqlite.h"

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
                                " SELECT key FROM pawl_head_job)");
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

static struct pawl_span span_of(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return (struct pawl_span){ text ? text : "", text ? (size_t)sqlite3_value_bytes(value) : 0 };
}

static void meta_has(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    (void)count;
    struct pawl__arena scratch = { 0 };
    bool has = false;
    enum pawl_err err =
        pawl__meta_has(span_of(args[0]), span_of(args[1]).at, span_of(args[2]), &scratch, &has);
    if (err) sqlite3_result_error_nomem(ctx);
    if (!err) sqlite3_result_int(ctx, has);
    pawl__arena_release(&scratch);
}

/* The halves of an id that is stored whole: see pawl_job. */
static void id_half(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    (void)count;
    struct pawl_job_id id;
    if (sqlite3_value_bytes(args[0]) != (int)sizeof id) return; // NULL
    memcpy(&id, sqlite3_value_blob(args[0]), sizeof id);
    struct pawl__sq_halves halves = pawl__sq_split(id);
    sqlite3_result_int64(ctx, sqlite3_user_data(ctx) ? halves.tail : halves.head);
}

int pawl__sq_query_attach(sqlite3 *db)
{
    static char is_tail;
    const int plain = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int code =
        sqlite3_create_function_v2(db, "pawl_meta_has", 3, plain, NULL, meta_has, NULL, NULL, NULL);
    if (code) return code;
    code =
        sqlite3_create_function_v2(db, "pawl_id_head", 1, plain, NULL, id_half, NULL, NULL, NULL);
    if (code) return code;
    return sqlite3_create_function_v2(db, "pawl_id_tail", 1, plain, &is_tail, id_half, NULL, NULL,
                                      NULL);
}

static const struct pawl__dialect dialect = {
    .mark = '?',
    .type = "l.type",
    .type_begins = "instr(l.type, ?) = 1", // not GLOB: it has more wildcards than the one star
    .tagged = "j.key IN (SELECT key FROM pawl_tag WHERE tag",
    .meta = "pawl_meta_has(j.meta, ?, ?)", // SQLite's own functions write numbers anew
    .live = { .worker = "coalesce(w.worker, a.worker, d.worker)",
              .finished_at_ms = "d.finished_at_ms",
              .dead_letter = "d.dead_letter = 1" },
    .archive = { .worker = "j.worker",
                 .finished_at_ms = "j.finished_at_ms",
                 .dead_letter = "j.dead_letter = 1" },
    .states = state_terms,
    .ids = id_terms,
};

/* ---- pages ---- */

/* Jobs whose id begins with a prefix are found by key, and those that are displaced by head: each
 * has an index, and one statement would use neither. */
static enum pawl_err find_sources(struct pawl__reader *reader, const struct pawl_filter *filter,
                                  struct pawl__source out[PAWL__SOURCES_MAX], size_t *count)
{
    (void)reader;
    *count = 0;
    for (int archive = 0; archive <= filter->archived; archive++) {
        for (int displaced = 0; displaced <= (filter->id_prefix != NULL); displaced++) {
            out[(*count)++] = (struct pawl__source){ archive, displaced };
        }
    }
    return PAWL_OK;
}

static void draft_page(struct pawl__draft *draft, const struct pawl__ask *ask)
{
    static const char *const jobs[] = { SQL_TEXT_query_live, SQL_TEXT_query_archive };
    static const char *const ids[] = { SQL_TEXT_match_live, SQL_TEXT_match_archive };
    _Static_assert(SQL_QUERY_LIVE_brief == 1 && SQL_QUERY_ARCHIVE_brief == 1, "given first");
    if (!ask->ids) pawl__draft_given(draft, ask->brief);
    pawl__draft_page(draft, &pawl__sq_pages, ask, (ask->ids ? ids : jobs)[draft->archive],
                     ask->oldest_first ? "j.key" : "j.key DESC");
}

const struct pawl__pages pawl__sq_pages = {
    .dialect = &dialect,
    .cursor = { .digits = 16 }, // a position's number is a key
    .lazy = true,
    .count = { SQL_TEXT_count_live, SQL_TEXT_count_archive },
    .after = { "j.key < ?", "j.key > ?" },
    .sources = find_sources,
    .draft = draft_page,
};
