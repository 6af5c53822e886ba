/* The working set on PostgreSQL: rows are read and locked by one statement, and written by one, for
 * a whole batch; arrays go there and back.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { SLOT_ROWS, SLOT_CRASHES, SLOT_HOLDERS };

enum { LOOKS_MAX = 2 };

/* ---- loading ---- */

/* Columns of set_live, and of set_archived up to the reason. */
enum {
    GOT_ID,
    GOT_LANE,
    GOT_PRIORITY,
    GOT_ATTEMPTS_MAX,
    GOT_CREATED,
    GOT_DUE,
    GOT_EXPIRES,
    GOT_TIMEOUT,
    GOT_SLA_SOFT,
    GOT_SLA_HARD,
    GOT_RETRY,
    GOT_KEYS,
    GOT_ARRIVAL,
    GOT_STATE,
    GOT_RUN,
    GOT_BASE_RUN,
    GOT_FREE_RUNS,
    GOT_STARTED,
    GOT_WORKER,
    GOT_FINISHED,
    GOT_DEAD_LETTER,
    GOT_REASON,
    GOT_ARCHIVED_END,
    GOT_RANK = GOT_ARCHIVED_END,
    GOT_PAUSED_FROM,
    GOT_LEASE_UNTIL,
    GOT_END_REASON,
    GOT_PLACE
};

/* Answers stay until the slot is used again, but a rule may ask for more: so texts are copied. */
static struct pawl_span span_of(struct pawl__set *set, const PGresult *rows, int i, int column)
{
    struct pawl_span raw = pawl__pg_raw(rows, i, column);
    return (struct pawl_span){ pawl__set_text(set, raw.at, raw.len), raw.len };
}

static const char *text_of(struct pawl__set *set, const PGresult *rows, int i, int column)
{
    return pawl__pg_is_null(rows, i, column) ? NULL : span_of(set, rows, i, column).at;
}

static void read_facts(struct pawl__set *set, const PGresult *rows, int i, struct pawl__row *row)
{
    row->priority = (int32_t)pawl__pg_int(rows, i, GOT_PRIORITY);
    row->attempts_max = (int32_t)pawl__pg_int(rows, i, GOT_ATTEMPTS_MAX);
    row->created_at_ms = pawl__pg_int(rows, i, GOT_CREATED);
    row->due_at_ms = pawl__pg_int(rows, i, GOT_DUE);
    row->expires_at_ms = pawl__pg_int(rows, i, GOT_EXPIRES);
    row->timeout_ms = pawl__pg_int(rows, i, GOT_TIMEOUT);
    row->sla_soft_at_ms = pawl__pg_int(rows, i, GOT_SLA_SOFT);
    row->sla_hard_at_ms = pawl__pg_int(rows, i, GOT_SLA_HARD);
    row->retry = span_of(set, rows, i, GOT_RETRY);
    row->keys = span_of(set, rows, i, GOT_KEYS);
    row->arrival = pawl__pg_id(rows, i, GOT_ARRIVAL);
}

static void read_stand(struct pawl__set *set, const PGresult *rows, int i, struct pawl__row *row)
{
    row->state = (enum pawl_state)pawl__pg_int(rows, i, GOT_STATE);
    row->run = pawl__pg_int(rows, i, GOT_RUN);
    row->base_run = pawl__pg_int(rows, i, GOT_BASE_RUN);
    row->free_runs = pawl__pg_int(rows, i, GOT_FREE_RUNS);
    row->started_at_ms = pawl__pg_int(rows, i, GOT_STARTED);
    row->worker = text_of(set, rows, i, GOT_WORKER);
    row->finished_at_ms = pawl__pg_int(rows, i, GOT_FINISHED);
    row->has_end = row->finished_at_ms != 0;
    row->dead_letter = pawl__pg_bool(rows, i, GOT_DEAD_LETTER);
}

/* Of a job that was paused after its end both reasons are kept; see stored_reason. */
static void read_live(struct pawl__set *set, const PGresult *rows, int i, struct pawl__row *row)
{
    const char *reason = text_of(set, rows, i, GOT_REASON);
    bool ended = pawl_state_is_terminal(row->state);
    row->paused_from = (enum pawl_state)pawl__pg_int(rows, i, GOT_PAUSED_FROM);
    row->lease_until_ms = pawl__pg_int(rows, i, GOT_LEASE_UNTIL);
    row->reason = ended ? NULL : reason;
    row->end_reason = ended ? reason : text_of(set, rows, i, GOT_END_REASON);
    row->rank = pawl__pg_int(rows, i, GOT_RANK);
    struct pawl__pg_tid place = pawl__pg_tid(rows, i, GOT_PLACE);
    memcpy(row->own.b, place.b, sizeof place.b);
}

static enum pawl_err read_row(struct pawl__backend *pg, const PGresult *rows, int i,
                              struct pawl__row *row)
{
    struct pawl__set *set = &pg->set;
    struct pawl__lane *lane;
    bool archived = PQnfields(rows) == GOT_ARCHIVED_END;
    enum pawl_err err = pawl__pg_lane_by_id(pg, pawl__pg_int(rows, i, GOT_LANE), &lane);
    if (err) return err;
    row->lane = lane->at;
    read_facts(set, rows, i, row);
    read_stand(set, rows, i, row);
    if (archived) row->end_reason = text_of(set, rows, i, GOT_REASON);
    if (!archived) read_live(set, rows, i, row);
    if (row->has_end) row->rank = pawl__row_rank(set, row); // the stored one may be of no use
    row->found = archived ? PAWL__FOUND_ARCHIVED : PAWL__FOUND_LIVE;
    row->has = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND | PAWL__NEED_KEYS;
    row->was.state = row->state;
    row->was.rank = row->rank;
    row->was.has_end = row->has_end;
    return PAWL_OK;
}

/* Both are in order of id. */
static enum pawl_err read_rows(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_ROWS];
    enum pawl_err err = PAWL_OK;
    size_t at = 0;
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        struct pawl_job_id id = pawl__pg_id(rows, i, GOT_ID);
        while (memcmp(&pg->set.unread[at]->id, &id, sizeof id) != 0) {
            at++;
            assert(at < pg->set.unread_count);
        }
        err = read_row(pg, rows, i, pg->set.unread[at]);
    }
    return err;
}

/* How many were not found so far; their ids are listed. */
static size_t list_unread(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) pawl__pg_list_add_id(ids, row->id);
    }
    return (size_t)ids->count;
}

static void send_rows(struct pawl__backend *pg, enum pawl__pg sql, struct pawl__pg_list *ids)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind_list(&pg->writer, 1, ids);
    pawl__pg_send_keep(&pg->writer, SLOT_ROWS);
}
_Static_assert(PG_SET_LIVE_ids == 1 && PG_SET_ARCHIVED_ids == 1, "parameters are numbered alike");

static bool send_crashes(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = &pg->set_lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->need & PAWL__NEED_CRASHES) pawl__pg_list_add_id(ids, row->id);
    }
    if (!ids->count) return false;
    pawl__pg_call(&pg->writer, PG_SET_CRASHES);
    pawl__pg_bind_list(&pg->writer, PG_SET_CRASHES_ids, ids);
    pawl__pg_send_keep(&pg->writer, SLOT_CRASHES);
    return true;
}

/* Those of this series of attempts. */
static void read_crashes(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_CRASHES];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        assert(row);
        row->crashes += pawl__pg_int(rows, i, 1) > row->base_run;
    }
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        pg->set.unread[i]->has |= PAWL__NEED_CRASHES;
    }
}

static bool send_holders(struct pawl__backend *pg)
{
    struct pawl__pg_list *digests = &pg->set_lists[2];
    const struct pawl__set *set = &pg->set;
    if (!set->unread_keys) return false;
    pawl__pg_list_begin(digests, PAWL__PG_BYTES);
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        pawl__pg_list_add_bytes(digests, set->keys[i].digest, sizeof set->keys[i].digest);
    }
    pawl__pg_call(&pg->writer, PG_SET_HOLDERS);
    pawl__pg_bind_list(&pg->writer, PG_SET_HOLDERS_digests, digests);
    pawl__pg_send_keep(&pg->writer, SLOT_HOLDERS);
    return true;
}

static void read_holders(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_HOLDERS];
    for (int i = 0; i < PQntuples(rows); i++) {
        const uint8_t *digest = (const uint8_t *)pawl__pg_raw(rows, i, 0).at;
        struct pawl__key_holder holder = { .id = pawl__pg_id(rows, i, 1),
                                           .until_ms = pawl__pg_int(rows, i, 2) };
        struct pawl__set_key *key = pawl__set_want_key(&pg->set, digest);
        if (key) pawl__key_hold(&pg->set, key, &holder);
    }
}

/* One round trip for what is live. A job moves to the archive, which is the order in which it is
 * looked for, so one that moves meanwhile is met all the same; for one that comes back, look again.
 */
static enum pawl_err load(struct pawl__backend *pg, struct pawl__set *set)
{
    struct pawl__pg_list *ids = &pg->set_lists[0];
    bool rows = list_unread(pg, ids) > 0;
    if (rows) send_rows(pg, PG_SET_LIVE, ids);
    bool crashes = send_crashes(pg), holders = send_holders(pg);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err && rows) err = read_rows(pg);
    for (int i = 1; !err && i <= LOOKS_MAX && list_unread(pg, ids); i++) {
        send_rows(pg, i < LOOKS_MAX ? PG_SET_ARCHIVED : PG_SET_LIVE, ids);
        err = pawl__pg_sync(&pg->writer, pg->diag);
        if (!err) err = read_rows(pg);
    }
    for (size_t i = 0; !err && i < set->unread_count; i++) {
        if (set->unread[i]->found == PAWL__FOUND_UNREAD) set->unread[i]->found = PAWL__FOUND_ABSENT;
    }
    if (!err && crashes) read_crashes(pg);
    if (!err && holders) read_holders(pg);
    return err;
}

/* ---- storing ---- */

/* How a member of the row is sent: a number, a state, a flag, a text, bytes, or something that is
 * made of it. */
enum sent { NUMBER, SOME, STATE, FLAG, TEXT, SPAN, REASON, END_REASON, KEEPS };

/* In the order of set_lists in set.sql: what kind of list, how, member. */
#define LISTS(X)                                                                                   \
    X(INTS, NUMBER, due_at_ms)                                                                     \
    X(INTS, NUMBER, rank)                                                                          \
    X(INTS, SOME, expires_at_ms)                                                                   \
    X(INTS, NUMBER, run)                                                                           \
    X(INTS, NUMBER, base_run)                                                                      \
    X(INTS, NUMBER, free_runs)                                                                     \
    X(INTS, STATE, state)                                                                          \
    X(INTS, STATE, paused_from)                                                                    \
    X(INTS, SOME, started_at_ms)                                                                   \
    X(INTS, SOME, lease_until_ms)                                                                  \
    X(INTS, SOME, finished_at_ms)                                                                  \
    X(INTS, FLAG, dead_letter)                                                                     \
    X(TEXTS, TEXT, worker)                                                                         \
    X(TEXTS, REASON, reason)                                                                       \
    X(TEXTS, END_REASON, end_reason)                                                               \
    X(INTS, KEEPS, has_end)                                                                        \
    X(TEXTS, SPAN, result)

#define X(kind, how, member) { PAWL__PG_##kind, how, offsetof(struct pawl__row, member) },
static const struct {
    enum pawl__pg_kind kind;
    enum sent how;
    size_t offset;
} lists[] = { LISTS(X) };
#undef X

enum { LIST_COUNT = sizeof lists / sizeof *lists };
_Static_assert(LIST_COUNT + 1 <= PAWL__PG_SET_LISTS &&
                   (int)PG_SET_WRITE_results == LIST_COUNT + 1 &&
                   (int)PG_SET_WRITE_RESTORED_results == LIST_COUNT + 1,
               "a list for each column");

static bool keeps_end(const struct pawl__row *row)
{
    return row->has_end && !row->end_new;
}

/* A job that was paused after its end shows why it ended, unless something else is said. */
static const char *stored_reason(const struct pawl__row *row)
{
    if (!row->has_end) return row->reason;
    if (pawl_state_is_terminal(row->state)) return row->end_reason;
    return row->reason && *row->reason ? row->reason : row->end_reason;
}

static const char *stored_end_reason(const struct pawl__row *row)
{
    return row->has_end && !pawl_state_is_terminal(row->state) ? row->end_reason : NULL;
}

static void add_member(struct pawl__pg_list *list, enum sent how, size_t offset,
                       const struct pawl__row *row)
{
    const void *member = (const char *)row + offset;
    switch (how) {
    case NUMBER:
        pawl__pg_list_add(list, *(const int64_t *)member);
        break;
    case SOME:
        pawl__pg_list_add_some(list, *(const int64_t *)member);
        break;
    case STATE:
        pawl__pg_list_add_some(list, *(const enum pawl_state *)member);
        break;
    case FLAG:
        pawl__pg_list_add(list, *(const bool *)member);
        break;
    case TEXT:
        pawl__pg_list_add_text(list, *(const char *const *)member);
        break;
    case SPAN:
        pawl__pg_list_add_span(list, *(const struct pawl_span *)member);
        break;
    case REASON:
        pawl__pg_list_add_text(list, stored_reason(row));
        break;
    case END_REASON:
        pawl__pg_list_add_text(list, stored_end_reason(row));
        break;
    case KEEPS:
        pawl__pg_list_add(list, keeps_end(row));
        break;
    }
}

static void list_row(struct pawl__backend *pg, const struct pawl__row *row)
{
    if (row->restored) {
        pawl__pg_list_add_id(&pg->set_lists[0], row->id);
    } else {
        pawl__pg_list_add_bytes(&pg->set_lists[0], row->own.b, sizeof(struct pawl__pg_tid));
    }
    for (size_t i = 0; i < LIST_COUNT; i++) {
        add_member(&pg->set_lists[i + 1], lists[i].how, lists[i].offset, row);
    }
}

static void write_rows(struct pawl__backend *pg, bool restored)
{
    pawl__pg_list_begin(&pg->set_lists[0], restored ? PAWL__PG_IDS : PAWL__PG_TIDS);
    for (size_t i = 0; i < LIST_COUNT; i++) {
        pawl__pg_list_begin(&pg->set_lists[i + 1], lists[i].kind);
    }
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (row->wrote && row->restored == restored) list_row(pg, row);
    }
    if (!pg->set_lists[0].count) return;
    pawl__pg_call(&pg->writer, restored ? PG_SET_WRITE_RESTORED : PG_SET_WRITE);
    for (int i = 0; i <= LIST_COUNT; i++) {
        pawl__pg_bind_list(&pg->writer, i + 1, &pg->set_lists[i]);
    }
    pawl__pg_send_exact(&pg->writer, pg->set_lists[0].count);
}

static void restore(struct pawl__backend *pg, const struct pawl__row *row)
{
    pawl__pg_call(&pg->writer, PG_ARCHIVE_RESTORE);
    pawl__pg_bind_id(&pg->writer, PG_ARCHIVE_RESTORE_id, &row->id);
    pawl__pg_send_exact(&pg->writer, 1);
    pawl__pg_call(&pg->writer, PG_ARCHIVE_DELETE);
    pawl__pg_bind_id_list(&pg->writer, PG_ARCHIVE_DELETE_ids, row->id);
    pawl__pg_send_exact(&pg->writer, 1);
}

/* Where it is to be found from now on. A row of a roll that it has left means nothing. */
static void enroll(struct pawl__backend *pg, const struct pawl__row *row)
{
    bool came = row->restored || row->state != row->was.state;
    if (row->state == PAWL_STATE_AVAILABLE && (came || row->rank != row->was.rank)) {
        pawl__pg_roll_ready(pg,
                            &(struct pawl__pg_waiting){ .lane = pg->catalog.lanes[row->lane]->id,
                                                        .rank = row->rank,
                                                        .id = row->id,
                                                        .arrival = row->arrival });
    }
    if (pawl_state_is_terminal(row->state) && (came || row->end_new)) {
        pawl__pg_roll_ended(pg, row->state, row->finished_at_ms, row->id);
    }
}

static void store_rows(struct pawl__backend *pg)
{
    bool restored = false;
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (!row->wrote) continue;
        if (row->restored) restore(pg, row);
        restored |= row->restored;
        enroll(pg, row);
    }
    write_rows(pg, false);
    if (restored) write_rows(pg, true);
}

static void begin_lists(struct pawl__backend *pg, const enum pawl__pg_kind *kinds, size_t count)
{
    assert(count <= PAWL__PG_SET_LISTS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_begin(&pg->set_lists[i], kinds[i]);
    }
}

/* Binds the lists behind now_ms, in the order of the statement. */
static void send_lists(struct pawl__backend *pg, enum pawl__pg sql, size_t count)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind(&pg->writer, 1, pg->now_ms);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_bind_list(&pg->writer, (int)i + 2, &pg->set_lists[i]);
    }
    pawl__pg_send_exact(&pg->writer, pg->set_lists[0].count);
}

static void list_failure(struct pawl__pg_list *to, const struct pawl__failure *failure)
{
    const struct pawl_report *report = failure->report;
    pawl__pg_list_add_id(to++, failure->row->id);
    pawl__pg_list_add(to++, failure->run);
    pawl__pg_list_add(to++, failure->attempt);
    pawl__pg_list_add(to++, failure->lapsed);
    pawl__pg_list_add(to++, failure->started_at_ms);
    const int64_t *delay_ms = failure->delay_ms < 0 ? NULL : &failure->delay_ms;
    pawl__pg_list_add_maybe(to++, delay_ms);
    pawl__pg_list_add_text(to++, failure->worker);
    pawl__pg_list_add_text(to++, pawl__report_type(report));
    pawl__pg_list_add_text(to++, report->code);
    pawl__pg_list_add_text(to++, report->message);
    pawl__pg_list_add_span(to++, report->details);
}

/* Of a job that fails again and again the oldest failures are forgotten. */
static void trim_failures(struct pawl__backend *pg, const struct pawl__failure *failure)
{
    if (failure->run <= PAWL__FAILURES_KEPT) return;
    pawl__pg_call(&pg->writer, PG_FAILURE_TRIM);
    pawl__pg_bind_id(&pg->writer, PG_FAILURE_TRIM_id, &failure->row->id);
    pawl__pg_bind(&pg->writer, PG_FAILURE_TRIM_run, failure->run - PAWL__FAILURES_KEPT);
    pawl__pg_send(&pg->writer);
}

static void store_failures(struct pawl__backend *pg)
{
    static const enum pawl__pg_kind kinds[] = {
        PAWL__PG_IDS,   PAWL__PG_INTS,  PAWL__PG_INTS,  PAWL__PG_INTS,
        PAWL__PG_INTS,  PAWL__PG_INTS,  PAWL__PG_TEXTS, PAWL__PG_TEXTS,
        PAWL__PG_TEXTS, PAWL__PG_TEXTS, PAWL__PG_TEXTS,
    };
    enum { COUNT = sizeof kinds / sizeof *kinds };
    _Static_assert(PG_SET_FAILURES_now_ms == 1 && (int)PG_SET_FAILURES_details == COUNT + 1,
                   "a list for each column");
    if (!pg->set.failure_count) return;
    begin_lists(pg, kinds, COUNT);
    for (size_t i = 0; i < pg->set.failure_count; i++) {
        list_failure(pg->set_lists, &pg->set.failures[i]);
    }
    send_lists(pg, PG_SET_FAILURES, COUNT);
    for (size_t i = 0; i < pg->set.failure_count; i++) {
        trim_failures(pg, &pg->set.failures[i]);
    }
}

static void store_audits(struct pawl__backend *pg)
{
    static const enum pawl__pg_kind kinds[] = { PAWL__PG_IDS,   PAWL__PG_TEXTS, PAWL__PG_TEXTS,
                                                PAWL__PG_TEXTS, PAWL__PG_INTS,  PAWL__PG_INTS };
    enum { COUNT = sizeof kinds / sizeof *kinds };
    _Static_assert(PG_SET_AUDITS_now_ms == 1 && (int)PG_SET_AUDITS_tos == COUNT + 1,
                   "a list for each column");
    if (!pg->set.audit_count) return;
    begin_lists(pg, kinds, COUNT);
    for (size_t i = 0; i < pg->set.audit_count; i++) {
        const struct pawl__audit *audit = &pg->set.audits[i];
        struct pawl__pg_list *to = pg->set_lists;
        pawl__pg_list_add_id(to++, audit->id);
        pawl__pg_list_add_text(to++, audit->action);
        pawl__pg_list_add_text(to++, audit->by->actor);
        pawl__pg_list_add_text(to++, audit->by->reason);
        pawl__pg_list_add_some(to++, audit->from);
        pawl__pg_list_add_some(to++, audit->to);
    }
    send_lists(pg, PG_SET_AUDITS, COUNT);
}

static void store_keys(struct pawl__backend *pg)
{
    for (size_t i = 0; i < pg->set.key_count; i++) {
        const struct pawl__set_key *key = &pg->set.keys[i];
        for (size_t k = 0; k < key->count; k++) {
            const struct pawl__key_holder *holder = &key->holders[k];
            if (holder->removed) {
                pawl__pg_key_delete(pg, key->digest, &holder->id);
            } else if (holder->added) {
                pawl__pg_key_insert(pg, key->digest, &holder->id, holder->until_ms);
            }
        }
    }
}

/* Counters, and what listeners are told. */
static void note_moves(struct pawl__backend *pg)
{
    for (size_t i = 0; i < pg->set.move_count; i++) {
        const struct pawl__set_move *move = &pg->set.moves[i];
        struct pawl__lane *lane = pg->catalog.lanes[move->row->lane];
        if (move->archived) {
            pawl__pg_count(pg, lane, PAWL_STATE_NONE, move->to);
            continue;
        }
        pawl__pg_moved(pg, lane, move->row->id, move->run, move->from, move->to);
        if (move->due_at_ms) pawl__pg_tale_due(pg, move->due_at_ms);
        if (!move->control) continue;
        pg->tale.control = true;
        if (!pg->tale.all_moves) {
            pawl__pg_tale_move(pg, lane, move->row->id, move->run, move->from, move->to);
        }
    }
}

static enum pawl_err store(struct pawl__backend *pg, struct pawl__set *set)
{
    (void)set;
    store_rows(pg);
    store_failures(pg);
    store_audits(pg);
    store_keys(pg);
    note_moves(pg);
    return PAWL_OK;
}

void pawl__pg_set_release(struct pawl__backend *pg)
{
    pawl__set_release(&pg->set);
    for (size_t i = 0; i < PAWL__PG_SET_LISTS; i++) {
        pawl__pg_list_release(&pg->set_lists[i]);
    }
}

/* Jobs of some states are found by rolls. */
static enum pawl_err match(struct pawl__backend *pg, const struct pawl_filter *filter,
                           int64_t limit, struct pawl__arena *arena, struct pawl_job_id **ids,
                           size_t *count)
{
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    if (err) return err;
    return pawl__pg_match(&pg->writer, filter, limit, arena, ids, count, pg->diag);
}

const struct pawl__core_table pawl__pg_core = {
    .load = load,
    .store = store,
    .lapsed = pawl__pg_lapsed,
    .next_lapse = pawl__pg_next_lapse,
    .match = match,
};
