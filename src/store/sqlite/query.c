/* Finding jobs: a filter becomes WHERE terms from a fixed list, values are always bound.
 *
 * Live and archived jobs are in two tables of the same shape; what is asked of them is merged by
 * key, which for ids that begin with the time is the order of creation. */
#include "base/buf.h"
#include "base/id.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 512 };

/* A statement being written, with what is to be bound to it. */
struct draft {
    struct pawl__buf sql;
    bool archive;
    bool displaced; /* with id_prefix: only jobs whose key is not the first half of their id */
    bool has_where;
    struct {
        bool is_text;
        int64_t number;
        const char *text;
    } values[VALUES_MAX];
    int count;
};

static void term(struct draft *draft, const char *text)
{
    pawl__buf_add_text(&draft->sql, draft->has_where ? " AND " : " WHERE ");
    pawl__buf_add_text(&draft->sql, text);
    draft->has_where = true;
}

static void bind_number(struct draft *draft, int64_t number)
{
    assert(draft->count < VALUES_MAX);
    draft->values[draft->count].is_text = false;
    draft->values[draft->count++].number = number;
}

static void bind_string(struct draft *draft, const char *text)
{
    assert(draft->count < VALUES_MAX);
    draft->values[draft->count].is_text = true;
    draft->values[draft->count++].text = text;
}

static void number_term(struct draft *draft, const char *text, int64_t number)
{
    if (!number) return;
    term(draft, text);
    bind_number(draft, number);
}

static void string_term(struct draft *draft, const char *text, const char *value)
{
    if (!value || !*value) return;
    term(draft, text);
    bind_string(draft, value);
}

static void list_term(struct draft *draft, const char *before, const char *const *list,
                      size_t count, const char *after)
{
    if (!count) return;
    term(draft, before);
    for (size_t i = 0; i < count; i++) {
        pawl__buf_add_text(&draft->sql, i ? ", ?" : "?");
        bind_string(draft, list[i]);
    }
    pawl__buf_add_text(&draft->sql, after);
}

#define WAIT_STATES                                                                                \
    (PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_PENDING) |                   \
     PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) | PAWL_STATE_BIT(PAWL_STATE_PAUSED))
#define DONE_STATES                                                                                \
    (PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |                   \
     PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |                 \
     PAWL_STATE_BIT(PAWL_STATE_EXPIRED))

static void state_list(struct draft *draft, uint32_t mask)
{
    pawl__buf_add_text(&draft->sql, " IN (");
    bool first = true;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (!(mask & PAWL_STATE_BIT(state))) continue;
        pawl__buf_printf(&draft->sql, first ? "%d" : ", %d", state);
        first = false;
    }
    pawl__buf_add_text(&draft->sql, ")");
}

/* States that share a place are looked for in that place alone: its table is small, or has an index
 * on the state. */
static void state_term(struct draft *draft, uint32_t mask)
{
    if (!mask) return;
    // the partial indexes hold all but the many that completed, and SQLite must be told so
    bool rare = !(mask & PAWL_STATE_BIT(PAWL_STATE_COMPLETED));
    if (draft->archive) {
        term(draft, rare ? "j.state <> 7 AND j.state" : "j.state");
        state_list(draft, mask & DONE_STATES);
        return;
    }
    if ((mask & ~WAIT_STATES) == 0) {
        term(draft, "j.key IN (SELECT key FROM pawl_wait WHERE state");
        state_list(draft, mask);
        pawl__buf_add_text(&draft->sql, ")");
    } else if (mask == PAWL_STATE_BIT(PAWL_STATE_ACTIVE)) {
        term(draft, "j.key IN (SELECT key FROM pawl_active)");
    } else if (mask == PAWL_STATE_BIT(PAWL_STATE_AVAILABLE)) {
        term(draft, "j.key IN (SELECT key FROM pawl_ready UNION ALL"
                    " SELECT key FROM pawl_fresh_job)");
    } else if ((mask & ~DONE_STATES) == 0) {
        term(draft, "w.key IS NULL AND j.key IN (SELECT key FROM pawl_done WHERE ");
        pawl__buf_add_text(&draft->sql, rare ? "state <> 7 AND state" : "state");
        state_list(draft, mask);
        pawl__buf_add_text(&draft->sql, ")");
    } else {
        term(draft, "CASE WHEN w.key IS NOT NULL THEN w.state WHEN a.key IS NOT NULL THEN 4"
                    " WHEN d.key IS NOT NULL THEN d.state ELSE 2 END");
        state_list(draft, mask);
    }
}

/* Not GLOB: to it more than the star at the end would mean something. */
static void type_term(struct draft *draft, const struct pawl_filter *filter)
{
    bool wild = false;
    for (size_t i = 0; i < filter->type_count; i++) {
        wild |= pawl__type_is_wild(filter->types[i]);
    }
    if (!wild) {
        list_term(draft, "l.type IN (", filter->types, filter->type_count, ")");
        return;
    }
    term(draft, "(0");
    for (size_t i = 0; i < filter->type_count; i++) {
        bool several = pawl__type_is_wild(filter->types[i]);
        pawl__buf_add_text(&draft->sql,
                           several ? " OR instr(l.type, rtrim(?, '*')) = 1" : " OR l.type = ?");
        bind_string(draft, filter->types[i]);
    }
    pawl__buf_add_text(&draft->sql, ")");
}

static void range_term(struct draft *draft, const char *text, int64_t low, int64_t high)
{
    term(draft, text);
    bind_number(draft, low);
    bind_number(draft, high);
}

/* The first digit of a half is given, or none is: both ends of a range have the same sign, and
 * their order as numbers is that of the ids. */
static void prefix_term(struct draft *draft, const struct pawl_filter *filter)
{
    struct pawl_job_id low, high;
    if (!filter->id_prefix) return;
    bool ok = pawl__id_range(filter->id_prefix, &low, &high);
    assert(ok);
    struct pawl__sq_halves from = pawl__sq_split(low), to = pawl__sq_split(high);
    range_term(draft,
               draft->displaced ? "j.head BETWEEN ? AND ?"
                                : "j.head IS NULL AND j.key BETWEEN ? AND ?",
               from.head, to.head);
    if (from.tail > to.tail) return; // 0 to -1: any
    range_term(draft, "j.tail BETWEEN ? AND ?", from.tail, to.tail);
}

static void filter_terms(struct draft *draft, const struct pawl_filter *filter)
{
    bool archive = draft->archive;
    prefix_term(draft, filter);
    state_term(draft, filter->states);
    list_term(draft, "q.name IN (", filter->queues, filter->queue_count, ")");
    type_term(draft, filter);
    list_term(draft, "j.key IN (SELECT key FROM pawl_tag WHERE tag IN (", filter->tags,
              filter->tag_count, "))");
    string_term(draft, "j.business_key = ?", filter->business_key);
    string_term(draft, "j.idempotency_key = ?", filter->idempotency_key);
    string_term(draft, "j.principal = ?", filter->principal);
    string_term(draft, "j.trace_id = ?", filter->trace_id);
    string_term(draft, archive ? "j.worker = ?" : "coalesce(w.worker, a.worker, d.worker) = ?",
                filter->worker);
    if (filter->meta_key) {
        term(draft, "EXISTS (SELECT 1 FROM json_each(j.meta) AS m WHERE m.key = ?"
                    " AND (CASE m.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"
                    " ELSE CAST(m.value AS TEXT) END) = ?)");
        bind_string(draft, filter->meta_key);
        bind_string(draft, filter->meta_value ? filter->meta_value : "");
    }
    if (filter->priority_given) {
        term(draft, "j.priority BETWEEN ? AND ?");
        bind_number(draft, filter->priority_min);
        bind_number(draft, filter->priority_max);
    }
    number_term(draft, "j.created_at_ms >= ?", filter->created_from_ms);
    number_term(draft, "j.created_at_ms < ?", filter->created_until_ms);
    number_term(draft, "j.due_at_ms >= ?", filter->due_from_ms);
    number_term(draft, "j.due_at_ms < ?", filter->due_until_ms);
    const char *from = archive ? "j.finished_at_ms >= ?" : "d.finished_at_ms >= ?";
    const char *until = archive ? "j.finished_at_ms < ?" : "d.finished_at_ms < ?";
    number_term(draft, from, filter->finished_from_ms);
    number_term(draft, until, filter->finished_until_ms);
    if (filter->dead_letter) term(draft, archive ? "j.dead_letter = 1" : "d.dead_letter = 1");
}

static enum pawl_err prepare(struct pawl__sq_conn *conn, struct draft *draft, sqlite3_stmt **out,
                             struct pawl_diag *diag)
{
    *out = NULL;
    if (draft->sql.failed) return pawl__fail_nomem(diag);
    if (sqlite3_prepare_v2(conn->db, draft->sql.at, (int)draft->sql.len, out, NULL) != SQLITE_OK) {
        return pawl__sq_error(conn, diag, "prepare a query");
    }
    for (int i = 0; i < draft->count; i++) {
        if (draft->values[i].is_text) {
            sqlite3_bind_text(*out, i + 1, draft->values[i].text, -1, SQLITE_STATIC);
        } else {
            sqlite3_bind_int64(*out, i + 1, draft->values[i].number);
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
    bool has_after;
    int64_t after; /* the key that the page before ended with */
    int64_t limit;
};

static const char *text_of(enum pawl__sql sql)
{
    switch (sql) {
    case SQL_QUERY_LIVE:
        return SQL_TEXT_query_live;
    case SQL_QUERY_ARCHIVE:
        return SQL_TEXT_query_archive;
    case SQL_COUNT_LIVE:
        return SQL_TEXT_count_live;
    default:
        assert(sql == SQL_COUNT_ARCHIVE);
        return SQL_TEXT_count_archive;
    }
}

static enum pawl_err open_ask(struct pawl__sq_conn *conn, const struct ask *ask, sqlite3_stmt **out,
                              struct pawl_diag *diag)
{
    struct draft *draft = calloc(1, sizeof *draft);
    if (!draft) return pawl__fail_nomem(diag);
    draft->archive = ask->source.archive;
    draft->displaced = ask->source.displaced;
    pawl__buf_add_text(&draft->sql, text_of(draft->archive ? SQL_QUERY_ARCHIVE : SQL_QUERY_LIVE));
    bind_number(draft, ask->brief); // the first parameter of both
    filter_terms(draft, ask->filter);
    if (ask->has_after) {
        term(draft, ask->oldest_first ? "j.key > ?" : "j.key < ?");
        bind_number(draft, ask->after);
    }
    pawl__buf_add_text(&draft->sql, ask->oldest_first ? " ORDER BY j.key LIMIT ?"
                                                      : " ORDER BY j.key DESC LIMIT ?");
    bind_number(draft, ask->limit);
    enum pawl_err err = prepare(conn, draft, out, diag);
    pawl__buf_release(&draft->sql);
    free(draft);
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
    int64_t last_key;
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
    int64_t bytes = (int64_t)sqlite3_column_bytes(row, COL_ARGS) +
                    sqlite3_column_bytes(row, COL_META) + sqlite3_column_bytes(row, COL_RESULT);
    *enough = page->more = is_full(page, bytes);
    if (*enough) return PAWL_OK;
    page->bytes += bytes;
    struct pawl_job *job = &page->out->at[page->out->count];
    enum pawl_err err = pawl__sq_read_facts(row, page->arena, job);
    if (!err) err = pawl__sq_read_stand(row, page->arena, job);
    if (!err) err = pawl__sq_read_names(row, page->arena, job);
    if (err) return pawl__fail_nomem(diag);
    job->brief = page->brief;
    page->out->count++;
    page->last_key = sqlite3_column_int64(row, COL_KEY);
    return PAWL_OK;
}

/* A cursor is the direction and the last key: "o-00184a2c..." or "n+0018...". */
static enum pawl_err read_cursor(const struct pawl_page *page, struct ask *ask,
                                 struct pawl_diag *diag)
{
    if (!page->cursor || !*page->cursor) return PAWL_OK;
    char way;
    uint64_t key;
    int used = 0;
    bool ok = strlen(page->cursor) == 17 &&
              sscanf(page->cursor, "%c%16" SCNx64 "%n", &way, &key, &used) == 2 && used == 17 &&
              way == (page->oldest_first ? 'o' : 'n');
    if (!ok) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "cursor",
                                "\"%.20s\" is not a cursor of this query", page->cursor);
    }
    ask->has_after = true;
    ask->after = (int64_t)key;
    return PAWL_OK;
}

static enum pawl_err count_in(struct pawl__sq_conn *conn, const struct pawl_filter *filter,
                              struct source source, int64_t *out, struct pawl_diag *diag)
{
    struct draft *draft = calloc(1, sizeof *draft);
    if (!draft) return pawl__fail_nomem(diag);
    draft->archive = source.archive;
    draft->displaced = source.displaced;
    pawl__buf_add_text(&draft->sql, text_of(source.archive ? SQL_COUNT_ARCHIVE : SQL_COUNT_LIVE));
    filter_terms(draft, filter);
    sqlite3_stmt *stmt;
    enum pawl_err err = prepare(conn, draft, &stmt, diag);
    bool found;
    if (!err) err = step(conn, stmt, &found, diag);
    if (!err) *out += sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    pawl__buf_release(&draft->sql);
    free(draft);
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

static enum pawl_err check_size(const struct pawl_filter *filter, struct pawl_diag *diag)
{
    if (filter->queue_count + filter->type_count + filter->tag_count <= VALUES_MAX - 32) {
        return PAWL_OK;
    }
    return pawl__fail(diag, PAWL_ERR_LIMIT, "a filter may name %d queues, types and tags in all",
                      VALUES_MAX - 32);
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
        ask.has_after = true;
        ask.after = page->last_key;
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
    enum pawl_err err = check_size(filter, diag);
    if (!err) err = read_cursor(page, &ask, diag);
    if (err) return err;
    out->count = 0;
    out->total = -1;
    out->next[0] = '\0';
    out->at = pawl__arena_calloc(arena, (size_t)page->limit, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    struct pawl__sq_conn *conn;
    err = pawl__sq_read_begin(sq, &conn, diag);
    if (err) return err;
    err = read_page(conn, ask, page, &ctx, diag);
    if (!err && page->count) err = count_all(conn, filter, &out->total, diag);
    pawl__sq_read_end(sq, conn);
    if (!err && ctx.more) {
        snprintf(out->next, sizeof out->next, "%c%016" PRIx64, page->oldest_first ? 'o' : 'n',
                 (uint64_t)ctx.last_key);
    }
    return err;
}

enum pawl_err pawl__sq_query_count(struct pawl__backend *sq, const struct pawl_filter *filter,
                                   int64_t *out, struct pawl_diag *diag)
{
    enum pawl_err err = check_size(filter, diag);
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
    enum pawl_err err = check_size(filter, diag);
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
