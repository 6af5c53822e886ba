/* Calls of statements and their answers, many under way at a time.
 *
 * Numbers, ids and lists travel in binary. Text is mended before it is sent: a byte that is not
 * UTF-8 would be refused by the server and take the whole transaction, everybody's, down.
 *
 * Runs on: whichever thread has the connection. */
#include "store/postgres/postgres.h"

#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Types of PostgreSQL, by their numbers, which never change. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
    OID_TID = 27,
    OID_FLOAT8 = 701,
    OID_BYTEA_ARRAY = 1001,
    OID_TEXT_ARRAY = 1009,
    OID_TID_ARRAY = 1010,
    OID_FLOAT8_ARRAY = 1022,
    OID_INT8_ARRAY = 1016,
    OID_UUID = 2950,
    OID_UUID_ARRAY = 2951
};

enum { LIST_HEADER_BYTES = 20 };

#define X(upper, lower) PG_TEXT_##lower,
static const char *const texts[PG_END] = { PG_STATEMENTS(X) };
#undef X

const char *pawl__pg_text_of(enum pawl__pg sql)
{
    assert(sql < PG_END);
    return texts[sql];
}

/* ---- numbers in the network's order ---- */

static void put_int(void *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)to)[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

static uint64_t get_int(const void *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | ((const uint8_t *)from)[i];
    }
    return value;
}

/* ---- text ---- */

static bool is_clean(struct pawl_span span)
{
    const char *end = span.at + span.len;
    for (const char *p = span.at; p < end;) {
        if ((signed char)*p > 0) {
            p++;
            continue;
        }
        int step = *p ? pawl__utf8_step(p, end) : -1;
        if (step < 0) return false;
        p += step;
    }
    return true;
}

/* With U+FFFD for what is not UTF-8, and for NUL, which PostgreSQL's text cannot hold. */
static void add_mended(struct pawl__buf *out, struct pawl_span span)
{
    const char *end = span.at + span.len;
    for (const char *p = span.at; p < end;) {
        int step = *p ? pawl__utf8_step(p, end) : -1;
        if (step > 0) {
            pawl__buf_add(out, p, (size_t)step);
        } else {
            pawl__buf_add_text(out, "\xEF\xBF\xBD");
        }
        p += step > 0 ? step : -step;
    }
}

static void note_failure(struct pawl__pg_conn *conn, enum pawl_err err,
                         const struct pawl_diag *diag)
{
    if (conn->err) return;
    conn->err = err;
    conn->diag = *diag;
}

static void note_nomem(struct pawl__pg_conn *conn)
{
    struct pawl_diag diag;
    note_failure(conn, pawl__fail_nomem(&diag), &diag);
}

static struct pawl_span mended(struct pawl__pg_conn *conn, struct pawl_span span)
{
    if (is_clean(span)) return span;
    struct pawl__buf buf = { 0 };
    add_mended(&buf, span);
    char *copy = buf.failed ? NULL : pawl__arena_dup(&conn->scratch, buf.at, buf.len);
    struct pawl_span out = { copy ? copy : "", copy ? buf.len : 0 };
    pawl__buf_release(&buf);
    if (!copy) note_nomem(conn);
    return out;
}

/* ---- binding ---- */

void pawl__pg_call(struct pawl__pg_conn *conn, enum pawl__pg sql)
{
    assert(sql < PG_END);
    conn->sql = sql;
    conn->text = NULL;
    conn->count = conn->list_count = 0;
}

void pawl__pg_call_text(struct pawl__pg_conn *conn, const char *text)
{
    conn->sql = PG_END;
    conn->text = text;
    conn->count = conn->list_count = 0;
}

static void bind_value(struct pawl__pg_conn *conn, int at, Oid type, const void *value, size_t len)
{
    assert(at >= 1 && at <= PAWL__PG_PARAMS_MAX && len <= INT32_MAX);
    conn->types[at - 1] = type;
    conn->values[at - 1] = value;
    conn->lengths[at - 1] = (int)len;
    if (at > conn->count) conn->count = at;
}

void pawl__pg_bind(struct pawl__pg_conn *conn, int at, int64_t value)
{
    put_int(conn->numbers[at - 1], (uint64_t)value, 8);
    bind_value(conn, at, OID_INT8, conn->numbers[at - 1], 8);
}

void pawl__pg_bind_some(struct pawl__pg_conn *conn, int at, int64_t value)
{
    pawl__pg_bind(conn, at, value);
    if (!value) conn->values[at - 1] = NULL;
}

void pawl__pg_bind_bool(struct pawl__pg_conn *conn, int at, bool value)
{
    conn->numbers[at - 1][0] = value;
    bind_value(conn, at, OID_BOOL, conn->numbers[at - 1], 1);
}

void pawl__pg_bind_id(struct pawl__pg_conn *conn, int at, const struct pawl_job_id *id)
{
    bind_value(conn, at, OID_UUID, id ? id->b : NULL, sizeof id->b);
}

void pawl__pg_bind_whole(struct pawl__pg_conn *conn, int at, struct pawl_span span)
{
    span = mended(conn, span);
    bind_value(conn, at, OID_TEXT, span.at, span.len);
}

void pawl__pg_bind_string(struct pawl__pg_conn *conn, int at, const char *text)
{
    pawl__pg_bind_whole(conn, at, (struct pawl_span){ text, strlen(text) });
}

/* ---- lists ---- */

struct pawl__pg_list *pawl__pg_list(struct pawl__pg_conn *conn, int at, enum pawl__pg_kind kind)
{
    static const Oid kinds[] = {
        [PAWL__PG_INTS] = OID_INT8,   [PAWL__PG_TEXTS] = OID_TEXT, [PAWL__PG_IDS] = OID_UUID,
        [PAWL__PG_BYTES] = OID_BYTEA, [PAWL__PG_TIDS] = OID_TID,   [PAWL__PG_REALS] = OID_FLOAT8
    };
    static const char header[LIST_HEADER_BYTES] = { 0 };
    assert(at >= 1 && conn->list_count < PAWL__PG_LISTS_MAX);
    struct pawl__pg_list *list = &conn->lists[conn->list_count++];
    pawl__buf_clear(&list->bytes);
    pawl__buf_add(&list->bytes, header, sizeof header);
    list->type = kinds[kind];
    list->at = at;
    list->count = 0;
    list->nulls = 0;
    return list;
}

static void add_length(struct pawl__pg_list *list, int64_t len)
{
    uint8_t bytes[4];
    put_int(bytes, (uint64_t)len, 4);
    pawl__buf_add(&list->bytes, bytes, sizeof bytes);
    list->count++;
}

void pawl__pg_list_add_bytes(struct pawl__pg_list *list, const void *bytes, size_t len)
{
    add_length(list, len ? (int64_t)len : -1);
    list->nulls += len == 0;
    pawl__buf_add(&list->bytes, bytes, len);
}

void pawl__pg_list_add(struct pawl__pg_list *list, int64_t value)
{
    uint8_t bytes[8];
    put_int(bytes, (uint64_t)value, 8);
    pawl__pg_list_add_bytes(list, bytes, sizeof bytes);
}

void pawl__pg_list_add_null(struct pawl__pg_list *list)
{
    pawl__pg_list_add_bytes(list, NULL, 0);
}

void pawl__pg_list_add_real(struct pawl__pg_list *list, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pawl__pg_list_add(list, bits);
}

void pawl__pg_list_add_id(struct pawl__pg_list *list, struct pawl_job_id id)
{
    pawl__pg_list_add_bytes(list, id.b, sizeof id.b);
}

void pawl__pg_list_add_span(struct pawl__pg_list *list, struct pawl_span span)
{
    if (!span.len || is_clean(span)) {
        pawl__pg_list_add_bytes(list, span.at, span.len);
        return;
    }
    size_t at = list->bytes.len;
    add_length(list, 0);
    add_mended(&list->bytes, span);
    if (!list->bytes.failed) put_int(list->bytes.at + at, list->bytes.len - at - 4, 4);
}

void pawl__pg_list_add_text(struct pawl__pg_list *list, const char *text)
{
    pawl__pg_list_add_span(list, (struct pawl_span){ text, text ? strlen(text) : 0 });
}

static Oid list_type(Oid type)
{
    switch (type) {
    case OID_INT8:
        return OID_INT8_ARRAY;
    case OID_TEXT:
        return OID_TEXT_ARRAY;
    case OID_UUID:
        return OID_UUID_ARRAY;
    case OID_TID:
        return OID_TID_ARRAY;
    case OID_FLOAT8:
        return OID_FLOAT8_ARRAY;
    default:
        assert(type == OID_BYTEA);
        return OID_BYTEA_ARRAY;
    }
}

/* One dimension, does it hold NULLs, the type, how many, the first one's number. */
static void write_header(uint8_t *to, Oid type, int32_t count, bool nulls)
{
    const uint32_t header[] = { 1, nulls, type, (uint32_t)count, 1 };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) {
        put_int(to + 4 * i, header[i], 4);
    }
}

/* Of NULLs alone it is NULL as a whole: beside another list, unnest takes both for the same, and
 * this costs nothing. */
static void bind_list(struct pawl__pg_conn *conn, int at, struct pawl__pg_list *list)
{
    if (list->bytes.failed) {
        note_nomem(conn);
        return;
    }
    bool empty = list->count && list->nulls == list->count;
    write_header((uint8_t *)list->bytes.at, list->type, list->count, list->nulls > 0);
    bind_value(conn, at, list_type(list->type), empty ? NULL : list->bytes.at, list->bytes.len);
    list->at = 0;
}

void pawl__pg_list_again(struct pawl__pg_conn *conn, int at, struct pawl__pg_list *list)
{
    int place = (int)(list - conn->lists);
    assert(place >= conn->list_count);
    conn->list_count = place + 1;
    bind_list(conn, at, list);
}

/* Those of the call under construction are complete. */
static void bind_lists(struct pawl__pg_conn *conn)
{
    for (int i = 0; i < conn->list_count; i++) {
        if (conn->lists[i].at) bind_list(conn, conn->lists[i].at, &conn->lists[i]);
    }
}

/* ---- sending ---- */

static void note_lost(struct pawl__pg_conn *conn, const char *what)
{
    struct pawl_diag diag;
    conn->lost = conn->again = true;
    note_failure(conn, pawl__pg_fail_result(NULL, conn->pg, what, &diag), &diag);
}

static void note_sent(struct pawl__pg_conn *conn, bool sent, struct pawl__pg_pending pending)
{
    if (!sent) {
        note_lost(conn, "send to the server");
        return;
    }
    assert(conn->pending_count < PAWL__PG_PENDING_MAX);
    conn->pending[conn->pending_count++] = pending;
}

static void read_answers(struct pawl__pg_conn *conn);

static void transmit(struct pawl__pg_conn *conn, int slot, int32_t expect)
{
    static const int binary[PAWL__PG_PARAMS_MAX] = { [0 ... PAWL__PG_PARAMS_MAX - 1] = 1 };
    bind_lists(conn);
    if (!conn->err && conn->pending_count + 2 > PAWL__PG_PENDING_MAX) read_answers(conn);
    if (conn->err) return;
    const char *text = conn->text ? conn->text : texts[conn->sql];
    bool named = !conn->text && !conn->pooled;
    char name[16];
    snprintf(name, sizeof name, "p%d", (int)conn->sql);
    struct pawl__pg_pending pending = { conn->sql, (int8_t)slot, false, expect };
    if (named && !conn->prepared[conn->sql]) {
        conn->prepared[conn->sql] = 1;
        int sent = PQsendPrepare(conn->pg, name, text, conn->count, conn->types);
        note_sent(conn, sent, (struct pawl__pg_pending){ conn->sql, -1, true, -1 });
        if (conn->err) return;
    }
    int sent = named ? PQsendQueryPrepared(conn->pg, name, conn->count, conn->values, conn->lengths,
                                           binary, 1)
                     : PQsendQueryParams(conn->pg, text, conn->count, conn->types, conn->values,
                                         conn->lengths, binary, 1);
    note_sent(conn, sent, pending);
}

void pawl__pg_send(struct pawl__pg_conn *conn)
{
    transmit(conn, -1, -1);
}

void pawl__pg_send_exact(struct pawl__pg_conn *conn, int32_t rows)
{
    transmit(conn, -1, rows);
}

void pawl__pg_send_race(struct pawl__pg_conn *conn, int32_t rows)
{
    transmit(conn, -1, rows);
    if (!conn->err) conn->pending[conn->pending_count - 1].races = true;
}

void pawl__pg_drop(struct pawl__pg_conn *conn, int slot)
{
    assert(slot >= 0 && slot < PAWL__PG_SLOTS);
    PQclear(conn->kept[slot]);
    conn->kept[slot] = NULL;
}

void pawl__pg_send_keep(struct pawl__pg_conn *conn, int slot)
{
    pawl__pg_drop(conn, slot);
    transmit(conn, slot, -1);
}

void pawl__pg_say(struct pawl__pg_conn *conn, enum pawl__pg sql)
{
    pawl__pg_call(conn, sql);
    pawl__pg_send(conn);
}

/* ---- answers ---- */

static int64_t monotonic_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

bool pawl__pg_await(PGconn *pg, int64_t timeout_ms)
{
    int64_t until_ms = monotonic_ms() + timeout_ms;
    while (PQisBusy(pg)) {
        int64_t left_ms = until_ms - monotonic_ms();
        if (left_ms <= 0) return false;
        if (left_ms > 60000) left_ms = 60000;
        struct pollfd fd = { .fd = PQsocket(pg), .events = POLLIN };
        if (fd.fd < 0) return false;
        int ready = poll(&fd, 1, (int)left_ms);
        if (ready < 0 && errno != EINTR) return false;
        if (ready > 0 && !PQconsumeInput(pg)) return false;
    }
    return true;
}

static bool await_input(struct pawl__pg_conn *conn)
{
    return pawl__pg_await(conn->pg, conn->timeout_ms);
}

static void check_rows(struct pawl__pg_conn *conn, const PGresult *result,
                       const struct pawl__pg_pending *pending)
{
    if (pending->expect < 0) return;
    int32_t touched = (int32_t)strtol(PQcmdTuples((PGresult *)result), NULL, 10);
    if (touched == pending->expect) return;
    struct pawl_diag diag;
    conn->again |= pending->races && !conn->err;
    enum pawl_err err =
        pending->races
            ? pawl__fail(&diag, PAWL_ERR_BUSY, "could not write: another process was faster")
            : pawl__fail(&diag, PAWL_ERR_CORRUPT,
                         "the store is damaged: a change touched %d rows, not %d", (int)touched,
                         (int)pending->expect);
    note_failure(conn, err, &diag);
}

static void note_answer(struct pawl__pg_conn *conn, PGresult *result,
                        const struct pawl__pg_pending *pending)
{
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (pending->prepares) conn->prepared[pending->sql] = good ? 2 : 0;
    if (good) {
        check_rows(conn, result, pending);
        if (pending->slot >= 0) {
            PQclear(conn->kept[pending->slot]);
            conn->kept[pending->slot] = result;
            return;
        }
    } else if (status != PGRES_PIPELINE_ABORTED && !conn->err) {
        struct pawl_diag diag;
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        (void)pawl__pg_error_code(state, &conn->again);
        conn->clash = state && strcmp(state, "23505") == 0;
        note_failure(conn, pawl__pg_fail_result(result, conn->pg, "use the store", &diag), &diag);
    }
    PQclear(result);
}

/* NULL: the connection is lost. */
static PGresult *next_result(struct pawl__pg_conn *conn)
{
    PGresult *result = await_input(conn) ? PQgetResult(conn->pg) : NULL;
    if (result && PQstatus(conn->pg) == CONNECTION_OK) return result;
    PQclear(result);
    note_lost(conn, "hear from the server");
    return NULL;
}

static void read_answers(struct pawl__pg_conn *conn)
{
    if (!conn->lost && !PQpipelineSync(conn->pg)) note_lost(conn, "send to the server");
    for (size_t i = 0; !conn->lost && i < conn->pending_count; i++) {
        PGresult *result = next_result(conn);
        if (!result) break;
        note_answer(conn, result, &conn->pending[i]);
        if (await_input(conn)) PQclear(PQgetResult(conn->pg)); // the NULL behind each
    }
    conn->pending_count = 0;
    if (!conn->lost) PQclear(next_result(conn)); // the sync's own
}

enum pawl_err pawl__pg_sync(struct pawl__pg_conn *conn, struct pawl_diag *diag)
{
    if (!conn->pg) return pawl__fail(diag, PAWL_ERR_IO, "there is no connection to the server");
    read_answers(conn);
    pawl__arena_reset(&conn->scratch); // not before: what is bound for the next call is in there
    enum pawl_err err = conn->err;
    if (err && diag) *diag = conn->diag;
    conn->err = PAWL_OK;
    return err;
}

enum pawl_err pawl__pg_ask(struct pawl__pg_conn *conn, PGresult **out, struct pawl_diag *diag)
{
    pawl__pg_send_keep(conn, 0);
    enum pawl_err err = pawl__pg_sync(conn, diag);
    *out = conn->kept[0];
    assert(err || *out);
    return err;
}

int64_t pawl__pg_int(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column)) return 0;
    const char *at = PQgetvalue(result, row, column);
    switch (PQgetlength(result, row, column)) {
    case 8:
        return (int64_t)get_int(at, 8);
    case 4:
        return (int32_t)get_int(at, 4);
    case 2:
        return (int16_t)get_int(at, 2);
    default:
        return *at;
    }
}

bool pawl__pg_bool(const PGresult *result, int row, int column)
{
    return pawl__pg_int(result, row, column) != 0;
}

double pawl__pg_double(const PGresult *result, int row, int column)
{
    uint64_t bits = (uint64_t)pawl__pg_int(result, row, column);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct pawl_job_id pawl__pg_id(const PGresult *result, int row, int column)
{
    struct pawl_job_id id = { { 0 } };
    if (PQgetlength(result, row, column) == sizeof id.b) {
        memcpy(id.b, PQgetvalue(result, row, column), sizeof id.b);
    }
    return id;
}

struct pawl__pg_tid pawl__pg_tid(const PGresult *result, int row, int column)
{
    struct pawl__pg_tid tid = { { 0 } };
    assert(PQgetlength(result, row, column) == sizeof tid.b);
    memcpy(tid.b, PQgetvalue(result, row, column), sizeof tid.b);
    return tid;
}

enum { ARRAY_DIMENSIONS = 0, ARRAY_LENGTH = 12, ARRAY_HEADER_BYTES = 20, ID_BYTES = 4 + 16 };

size_t pawl__pg_ids_count(const PGresult *result, int row, int column)
{
    const uint8_t *at = (const uint8_t *)PQgetvalue(result, row, column);
    if (PQgetlength(result, row, column) < ARRAY_HEADER_BYTES) return 0; // empty
    assert(get_int(at + ARRAY_DIMENSIONS, 4) == 1);
    return (size_t)get_int(at + ARRAY_LENGTH, 4);
}

size_t pawl__pg_ids(const PGresult *result, int row, int column, struct pawl_job_id *out)
{
    const char *at = PQgetvalue(result, row, column);
    size_t count = pawl__pg_ids_count(result, row, column);
    assert(!count ||
           PQgetlength(result, row, column) == (int)(ARRAY_HEADER_BYTES + count * ID_BYTES));
    for (size_t i = 0; i < count; i++) {
        memcpy(out[i].b, at + ARRAY_HEADER_BYTES + i * ID_BYTES + 4, sizeof out[i].b);
    }
    return count;
}

struct pawl_span pawl__pg_raw(const PGresult *result, int row, int column)
{
    return (struct pawl_span){ PQgetvalue(result, row, column),
                               (size_t)PQgetlength(result, row, column) };
}

bool pawl__pg_span(const PGresult *result, int row, int column, struct pawl__arena *arena,
                   struct pawl_span *out)
{
    struct pawl_span raw = pawl__pg_raw(result, row, column);
    *out = (struct pawl_span){ "", 0 };
    if (!raw.len) return true;
    *out = (struct pawl_span){ pawl__arena_dup(arena, raw.at, raw.len), raw.len };
    return out->at != NULL;
}

const char *pawl__pg_text(const PGresult *result, int row, int column, struct pawl__arena *arena)
{
    struct pawl_span span;
    return pawl__pg_span(result, row, column, arena, &span) ? span.at : NULL;
}
