/* Finding jobs: a filter becomes WHERE terms from a fixed list, values are always bound.
 *
 * Live and archived jobs are in two tables of the same shape; both are asked and merged by the time
 * of creation.
 *
 * Runs on: the caller's thread, with a connection from the pool, and once more with another when
 * that one has been cut; or the committer's, with its own. */
#include "base/id.h"
#include "store/postgres/postgres.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A statement being written, with what is bound to it so far. */
struct draft {
    struct pawl__pg_conn *conn;
    struct pawl__buf sql;
    bool archive;
    bool crowded; /* the states' roll is long: jobs of them are met everywhere */
    bool has_where;
    struct pawl_job_id low, high;  /* of id_prefix; bound, so kept until it is sent */
    struct pawl__pg_list lists[6]; /* queues, types and tags, of two tables */
    size_t list_count;
};

static void term(struct draft *draft, const char *text)
{
    pawl__buf_add_text(&draft->sql, draft->has_where ? " AND " : " WHERE ");
    pawl__buf_add_text(&draft->sql, text);
    draft->has_where = true;
}

/* The next parameter's number, which is written too. */
static int place_holder(struct draft *draft)
{
    int at = draft->conn->count + 1;
    pawl__buf_printf(&draft->sql, "$%d", at);
    return at;
}

static void number_term(struct draft *draft, const char *text, int64_t number)
{
    if (!number) return;
    term(draft, text);
    pawl__pg_bind(draft->conn, place_holder(draft), number);
}

static void string_term(struct draft *draft, const char *text, const char *value)
{
    if (!value || !*value) return;
    term(draft, text);
    pawl__pg_bind_string(draft->conn, place_holder(draft), value);
}

static void list_term(struct draft *draft, const char *before, const char *const *list,
                      size_t count, const char *after)
{
    if (!count) return;
    assert(draft->list_count < sizeof draft->lists / sizeof *draft->lists);
    struct pawl__pg_list *values = &draft->lists[draft->list_count++];
    pawl__pg_list_begin(values, PAWL__PG_TEXTS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add_text(values, list[i]);
    }
    term(draft, before);
    pawl__pg_bind_list(draft->conn, place_holder(draft), values);
    pawl__buf_add_text(&draft->sql, after);
}

static void state_list(struct draft *draft, uint32_t mask)
{
    pawl__buf_add_text(&draft->sql, " IN (0");
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (mask & PAWL_STATE_BIT(state)) pawl__buf_printf(&draft->sql, ", %d", state);
    }
    pawl__buf_add_text(&draft->sql, ")");
}

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

static void add_roll(struct draft *draft, const struct shortcut *shortcut, uint32_t mask)
{
    pawl__buf_add_text(&draft->sql, shortcut->roll);
    if (shortcut->by_state) state_list(draft, mask);
}

static void narrow(struct draft *draft, uint32_t mask)
{
    const struct shortcut *shortcut = shortcut_to(mask);
    if (draft->archive || !shortcut) return;
    if (shortcut->term) {
        term(draft, shortcut->term);
    } else if (!draft->crowded) {
        term(draft, "j.id = ANY (ARRAY (SELECT unnest(ids) FROM ");
        add_roll(draft, shortcut, mask);
        pawl__buf_add_text(&draft->sql, "))");
    }
}

static void state_term(struct draft *draft, uint32_t mask)
{
    if (!mask) return;
    narrow(draft, mask);
    term(draft, "j.state");
    state_list(draft, mask);
}

/* A document with \u0000 in it is valid, but PostgreSQL cannot make text of it. */
static void meta_term(struct draft *draft, const struct pawl_filter *filter)
{
    if (!filter->meta_key) return;
    term(draft, "CASE WHEN j.meta IS NULL OR j.meta LIKE '%\\\\u0000%' THEN false"
                " ELSE (j.meta::json ->> ");
    pawl__pg_bind_string(draft->conn, place_holder(draft), filter->meta_key);
    pawl__buf_add_text(&draft->sql, ") = ");
    pawl__pg_bind_string(draft->conn, place_holder(draft),
                         filter->meta_value ? filter->meta_value : "");
    pawl__buf_add_text(&draft->sql, " END");
}

static void priority_term(struct draft *draft, const struct pawl_filter *filter)
{
    if (!filter->priority_given) return;
    term(draft, "j.priority BETWEEN ");
    pawl__pg_bind(draft->conn, place_holder(draft), filter->priority_min);
    pawl__buf_add_text(&draft->sql, " AND ");
    pawl__pg_bind(draft->conn, place_holder(draft), filter->priority_max);
}

static void type_term(struct draft *draft, const struct pawl_filter *filter)
{
    bool wild = false;
    for (size_t i = 0; i < filter->type_count; i++) {
        wild |= pawl__type_is_wild(filter->types[i]);
    }
    if (wild) {
        list_term(draft, "EXISTS (SELECT 1 FROM unnest(", filter->types, filter->type_count,
                  ") AS t (name) WHERE n.type = t.name OR t.name = '*'"
                  " OR (right(t.name, 2) = '.*' AND starts_with(n.type, left(t.name, -1))))");
    } else {
        list_term(draft, "n.type = ANY (", filter->types, filter->type_count, ")");
    }
}

static void prefix_term(struct draft *draft, const struct pawl_filter *filter)
{
    if (!filter->id_prefix) return;
    bool ok = pawl__id_range(filter->id_prefix, &draft->low, &draft->high);
    assert(ok);
    term(draft, "j.id BETWEEN ");
    pawl__pg_bind_id(draft->conn, place_holder(draft), &draft->low);
    pawl__buf_add_text(&draft->sql, " AND ");
    pawl__pg_bind_id(draft->conn, place_holder(draft), &draft->high);
}

static void filter_terms(struct draft *draft, const struct pawl_filter *filter)
{
    prefix_term(draft, filter);
    state_term(draft, filter->states);
    list_term(draft, "q.name = ANY (", filter->queues, filter->queue_count, ")");
    type_term(draft, filter);
    list_term(draft, "j.id IN (SELECT t.id FROM pawl_tag AS t WHERE t.tag = ANY (", filter->tags,
              filter->tag_count, "))");
    string_term(draft, "j.business_key = ", filter->business_key);
    string_term(draft, "j.idempotency_key = ", filter->idempotency_key);
    string_term(draft, "j.principal = ", filter->principal);
    string_term(draft, "j.trace_id = ", filter->trace_id);
    string_term(draft, "j.worker = ", filter->worker);
    meta_term(draft, filter);
    priority_term(draft, filter);
    number_term(draft, "j.created_at_ms >= ", filter->created_from_ms);
    number_term(draft, "j.created_at_ms < ", filter->created_until_ms);
    number_term(draft, "j.due_at_ms >= ", filter->due_from_ms);
    number_term(draft, "j.due_at_ms < ", filter->due_until_ms);
    number_term(draft, "j.finished_at_ms >= ", filter->finished_from_ms);
    number_term(draft, "j.finished_at_ms < ", filter->finished_until_ms);
    if (filter->dead_letter) term(draft, "j.dead_letter");
}

/* One page of both tables. */
struct ask {
    const struct pawl_filter *filter;
    enum pawl__pg live, archive; /* the statements to put the filter behind */
    bool oldest_first;
    bool crowded;
    bool has_after; /* behind the job that the page before ended with: */
    int64_t after_ms;
    struct pawl_job_id after_id;
    int64_t limit;
    bool bounded; /* in bytes: */
    int64_t bytes_max, least;
};

/* The planner thinks that every range of ids is one job in a hundred, and would read jobs in order
 * of creation until it has met enough. Adding 0 leaves it the primary key alone. */
static void order(struct draft *draft, const struct ask *ask, const char *table)
{
    bool by_id = *table && ask->filter->id_prefix;
    pawl__buf_printf(&draft->sql, " ORDER BY %screated_at_ms%s%s, %sid%s", table,
                     by_id ? " + 0" : "", ask->oldest_first ? "" : " DESC", table,
                     ask->oldest_first ? "" : " DESC");
}

static void limit(struct draft *draft, const struct ask *ask)
{
    pawl__buf_printf(&draft->sql, " LIMIT %" PRId64, ask->limit);
}

static void draft_table(struct draft *draft, const struct ask *ask, bool archive)
{
    draft->archive = archive;
    draft->has_where = false;
    pawl__buf_add_text(&draft->sql, "(");
    pawl__buf_add_text(&draft->sql, pawl__pg_text_of(archive ? ask->archive : ask->live));
    filter_terms(draft, ask->filter);
    if (ask->has_after) {
        term(draft,
             ask->oldest_first ? "(j.created_at_ms, j.id) > (" : "(j.created_at_ms, j.id) < (");
        pawl__pg_bind(draft->conn, place_holder(draft), ask->after_ms);
        pawl__buf_add_text(&draft->sql, ", ");
        pawl__pg_bind_id(draft->conn, place_holder(draft), &ask->after_id);
        pawl__buf_add_text(&draft->sql, ")");
    }
    order(draft, ask, "j.");
    limit(draft, ask);
    pawl__buf_add_text(&draft->sql, ")");
}

static void draft_release(struct draft *draft)
{
    for (size_t i = 0; i < draft->list_count; i++) {
        pawl__pg_list_release(&draft->lists[i]);
    }
    pawl__buf_release(&draft->sql);
}

/* Sends what was drafted, or says that there was no memory for it. */
static enum pawl_err send_draft(struct draft *draft, int slot, struct pawl_diag *diag)
{
    if (draft->sql.failed) return pawl__fail_nomem(diag);
    draft->conn->text = draft->sql.at;
    pawl__pg_send_keep(draft->conn, slot);
    return PAWL_OK;
}

enum { SLOT_PAGE, SLOT_COUNT_LIVE, SLOT_COUNT_ARCHIVE };

/* Around a page: its lengths are added up in its order, and what does not fit is not sent. */
static void open_bound(struct draft *draft, const struct ask *ask)
{
    pawl__pg_bind(draft->conn, PG_QUERY_WITHIN_bytes_max, ask->bytes_max);
    pawl__pg_bind(draft->conn, PG_QUERY_WITHIN_least, ask->least);
    pawl__buf_add_text(&draft->sql, "WITH page AS (");
}

static void close_bound(struct draft *draft, const struct ask *ask)
{
    pawl__buf_add_text(&draft->sql, "), sized AS (");
    pawl__buf_add_text(&draft->sql, pawl__pg_text_of(PG_PAGE_SIZED));
    pawl__buf_add_text(&draft->sql, "WINDOW so_far AS (");
    order(draft, ask, "");
    pawl__buf_add_text(&draft->sql, ")) ");
    pawl__buf_add_text(&draft->sql, pawl__pg_text_of(PG_QUERY_WITHIN));
    order(draft, ask, "");
}

static enum pawl_err send_page(struct pawl__pg_conn *conn, const struct ask *ask,
                               struct pawl_diag *diag)
{
    struct draft draft = { .conn = conn, .crowded = ask->crowded };
    pawl__pg_call_text(conn, "");
    if (ask->bounded) open_bound(&draft, ask);
    draft_table(&draft, ask, false);
    if (ask->filter->archived) {
        pawl__buf_add_text(&draft.sql, " UNION ALL ");
        draft_table(&draft, ask, true);
        order(&draft, ask, "");
        limit(&draft, ask);
    }
    if (ask->bounded) close_bound(&draft, ask);
    enum pawl_err err = send_draft(&draft, SLOT_PAGE, diag);
    draft_release(&draft);
    return err;
}

static enum pawl_err send_count(struct pawl__pg_conn *conn, const struct ask *ask, bool archive,
                                struct pawl_diag *diag)
{
    struct draft draft = { .conn = conn, .archive = archive, .crowded = ask->crowded };
    pawl__pg_call_text(conn, "");
    pawl__buf_add_text(&draft.sql, pawl__pg_text_of(archive ? PG_COUNT_ARCHIVE : PG_COUNT_LIVE));
    filter_terms(&draft, ask->filter);
    enum pawl_err err = send_draft(&draft, archive ? SLOT_COUNT_ARCHIVE : SLOT_COUNT_LIVE, diag);
    draft_release(&draft);
    return err;
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
    struct draft draft = { .conn = conn };
    pawl__pg_call_text(conn, "");
    pawl__buf_add_text(&draft.sql, "SELECT EXISTS (SELECT 1 FROM ");
    add_roll(&draft, shortcut, ask->filter->states);
    pawl__buf_add_text(&draft.sql, " OFFSET " ROWS_FEW ")");
    enum pawl_err err = send_draft(&draft, SLOT_PAGE, diag);
    draft_release(&draft);
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

enum { NAMES_MAX = 480 };

static enum pawl_err check_size(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    if (filter->queue_count + filter->type_count + filter->tag_count <= NAMES_MAX) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_LIMIT, "a filter may name %d queues, types and tags in all",
                      NAMES_MAX);
}

/* ---- cursors: the direction, the last job's time of creation and its id, in hexadecimal ---- */

enum { CURSOR_TIME_DIGITS = 12, CURSOR_LEN = 1 + CURSOR_TIME_DIGITS + 32 };
_Static_assert(CURSOR_LEN < PAWL_CURSOR_BYTES, "a cursor has room");

static bool read_hex(const char *text, size_t digits, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        static const char known[] = "0123456789abcdef";
        const char *at = text[i] ? strchr(known, text[i]) : NULL;
        if (!at) return false;
        *out = *out << 4 | (uint64_t)(at - known);
    }
    return true;
}

static bool parse_cursor(const char *text, bool oldest_first, struct ask *ask)
{
    uint64_t value;
    if (strlen(text) != CURSOR_LEN || text[0] != (oldest_first ? 'o' : 'n')) return false;
    if (!read_hex(text + 1, CURSOR_TIME_DIGITS, &value)) return false;
    ask->after_ms = (int64_t)value;
    for (size_t i = 0; i < sizeof ask->after_id.b; i++) {
        if (!read_hex(text + 1 + CURSOR_TIME_DIGITS + 2 * i, 2, &value)) return false;
        ask->after_id.b[i] = (uint8_t)value;
    }
    return true;
}

static enum pawl_err read_cursor(const struct pawl_page *page, struct ask *ask,
                                 struct pawl_diag *diag)
{
    if (!page->cursor || !*page->cursor) return PAWL_OK;
    ask->has_after = parse_cursor(page->cursor, page->oldest_first, ask);
    if (ask->has_after) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "cursor", "\"%.20s\" is not a cursor of this query",
                            page->cursor);
}

static void write_cursor(char out[PAWL_CURSOR_BYTES], bool oldest_first,
                         const struct pawl_job *last)
{
    int len = snprintf(out, PAWL_CURSOR_BYTES, "%c%0*" PRIx64, oldest_first ? 'o' : 'n',
                       CURSOR_TIME_DIGITS, (uint64_t)last->created_at_ms);
    for (size_t i = 0; i < sizeof last->id.b; i++) {
        len += snprintf(out + len, PAWL_CURSOR_BYTES - (size_t)len, "%02x", last->id.b[i]);
    }
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
    if (more) write_cursor(out->next, page->oldest_first, &out->at[out->count - 1]);
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
    enum pawl_err err = check_size(filter, diag);
    if (!err) err = read_cursor(page, &ask, diag);
    if (err) return err;
    out->at = NULL;
    out->count = 0;
    out->total = -1;
    out->next[0] = '\0';
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
    enum pawl_err err = check_size(filter, diag);
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
    enum pawl_err err = check_size(filter, diag);
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
