/* Jobs in an application's own transactions on PostgreSQL; the manual is <pawl/pq.h>.
 *
 * The store's SQL functions (store/postgres/script) do the work; this file passes parameters and
 * converts errors. */
#include <pawl/pq.h>

#include "api/api.h"
#include "base/arena.h"
#include "base/diag.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

enum { PARAMS_MAX = 27 };

/* A call under construction; parameters in the order of its text. */
struct call {
    const char *text;
    const char *values[PARAMS_MAX];
    int count;
    struct pawl__arena arena;
    bool failed; /* no memory */
};

static void put_text(struct call *call, const char *text)
{
    assert(call->count < PARAMS_MAX);
    call->values[call->count++] = text;
}

/* An empty span becomes NULL. libpq requires NUL-terminated text. */
static void put_span(struct call *call, struct pawl_span span)
{
    char *copy = span.len ? pawl__arena_alloc(&call->arena, span.len + 1) : NULL;
    call->failed |= span.len && !copy;
    if (copy) {
        memcpy(copy, span.at, span.len);
        copy[span.len] = '\0';
    }
    put_text(call, copy);
}

static void put_int(struct call *call, int64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, value);
    put_span(call, (struct pawl_span){ text, (size_t)len });
}

static void put_some(struct call *call, int64_t value)
{
    if (value) {
        put_int(call, value);
    } else {
        put_text(call, NULL);
    }
}

static void put_id(struct call *call, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    put_span(call, (struct pawl_span){ text, strlen(text) });
}

/* pawl's own codes are "PW" and the number; of the others, only those that a caller can act on are
 * distinguished. */
static enum pawl_err code_of(const char *state)
{
    if (strncmp(state, "PW", 2) == 0) {
        long number = strtol(state + 2, NULL, 10);
        return number > 0 && number < PAWL_ERR_END ? (enum pawl_err)number : PAWL_ERR_UNSUPPORTED;
    }
    static const struct {
        const char *state;
        enum pawl_err err;
    } known[] = {
        { "42883", PAWL_ERR_NOT_FOUND }, // no such function
        { "40", PAWL_ERR_BUSY },         // deadlock, serialization
        { "55P03", PAWL_ERR_BUSY },      // lock timeout
        { "57014", PAWL_ERR_BUSY },      // statement timeout
        { "42501", PAWL_ERR_READONLY },  // not granted
        { "25006", PAWL_ERR_READONLY },  // a read-only transaction
        { "53100", PAWL_ERR_FULL },      // disk full
        { "25P02", PAWL_ERR_STATE },     // the transaction is aborted already
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(state, known[i].state, strlen(known[i].state)) == 0) return known[i].err;
    }
    return PAWL_ERR_IO;
}

static enum pawl_err tell_failure(const PGconn *pg, const PGresult *result, struct pawl_diag *diag)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *field = PQresultErrorField(result, PG_DIAG_COLUMN_NAME);
    enum pawl_err err = state ? code_of(state) : PAWL_ERR_IO;
    if (err == PAWL_ERR_NOT_FOUND && strcmp(state, "42883") == 0) {
        return pawl__fail_field(diag, err, "store",
                                "there is no store on the search path that has this function; "
                                "\"pawl migrate\" makes one");
    }
    return pawl__fail_field(diag, err, field ? field : "", "%s", text ? text : PQerrorMessage(pg));
}

/* Returns the one result row; the caller clears it. */
static enum pawl_err run(struct call *call, PGconn *pg, PGresult **out, struct pawl_diag *diag)
{
    if (call->failed) {
        pawl__arena_release(&call->arena);
        return pawl__fail_nomem(diag);
    }
    PGresult *result = PQexecParams(pg, call->text, call->count, NULL, call->values, NULL, NULL, 0);
    pawl__arena_release(&call->arena);
    enum pawl_err err = PAWL_OK;
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) {
        err = tell_failure(pg, result, diag);
    }
    if (err || !out) {
        PQclear(result);
    } else {
        *out = result;
    }
    return err;
}

static int64_t int_at(const PGresult *row, int column)
{
    return strtoll(PQgetvalue(row, 0, column), NULL, 10);
}

static void put_spec(struct call *call, const struct pawl__spec_texts *texts)
{
    const struct pawl_job_spec *spec = &texts->spec;
    put_text(call, spec->type);
    put_span(call, spec->args);
    put_text(call, spec->queue);
    put_int(call, spec->priority);
    put_some(call, spec->delay_ms);
    put_some(call, spec->due_at_ms);
    put_span(call, texts->retry);
    put_some(call, spec->timeout_ms);
    put_some(call, spec->expires_in_ms);
    put_some(call, spec->expires_at_ms);
    put_text(call, spec->idempotency_key);
    put_some(call, spec->idempotency_ms);
    put_text(call, spec->business_key);
    put_span(call, texts->unique);
    put_span(call, texts->tags);
    put_span(call, spec->meta);
    put_some(call, spec->lease_ms);
    put_some(call, spec->sla_soft_at_ms);
    put_some(call, spec->sla_hard_at_ms);
    put_some(call, spec->keep_ms);
    put_text(call, spec->principal);
    put_text(call, spec->trace_id);
    put_span(call, spec->extra);
    put_text(call, spec->pending ? "true" : "false");
    if (spec->id) {
        put_id(call, *spec->id);
    } else {
        put_text(call, NULL);
    }
    put_span(call, texts->on_success);
    put_span(call, texts->on_failure);
}

enum pawl_err pawl_submit_pq(struct pg_conn *pg, const struct pawl_job_spec *spec,
                             struct pawl_submitted *out, struct pawl_diag *diag)
{
    assert(pg && spec && out);
#define MS(n) "$" #n "::bigint * interval '1 millisecond', "
#define AT(n) "to_timestamp(0) + " MS(n)
    struct call call = {
        .text = "SELECT id, state, deduplicated FROM pawl__submit($1::text, $2::text, $3::text, "
                "$4::integer, " MS(5) AT(6) "NULL, $7::text, " MS(8) MS(9) AT(10) "$11::text, " MS(
                    12) "$13::text, $14::text, ARRAY(SELECT json_array_elements_text($15::json)), "
                        "$16::text, " MS(17) AT(18) AT(19)
                            MS(20) "$21::text, $22::text, $23::text, "
                                   "$24::boolean, $25::uuid, true, $26::text, $27::text)",
    };
#undef MS
#undef AT
    struct pawl__spec_texts texts;
    enum pawl_err err = pawl__spec_check(spec, &call.arena, &texts, diag);
    if (err) {
        pawl__arena_release(&call.arena);
        return err;
    }
    put_spec(&call, &texts);
    PGresult *row;
    err = run(&call, pg, &row, diag);
    if (err) return err;
    *out = (struct pawl_submitted){ .state = (enum pawl_state)int_at(row, 1),
                                    .deduplicated = PQgetvalue(row, 0, 2)[0] == 't' };
    err = pawl_job_id_parse(PQgetvalue(row, 0, 0), &out->id);
    PQclear(row);
    return err;
}

static void put_run(struct call *call, const struct pawl_run *run)
{
    put_id(call, run->id);
    put_int(call, run->run);
}

enum pawl_err pawl_complete_pq(struct pg_conn *pg, const struct pawl_run *ref,
                               struct pawl_span result, struct pawl_diag *diag)
{
    assert(pg && ref);
    struct pawl__op checked;
    enum pawl_err err = pawl__complete_op(ref, result, &checked, diag);
    if (err) return err;
    struct call call = { .text = "SELECT pawl_complete($1::uuid, $2::bigint, $3::text)" };
    put_run(&call, ref);
    put_span(&call, result);
    return run(&call, pg, NULL, diag);
}

enum pawl_err pawl_give_back_pq(struct pg_conn *pg, const struct pawl_run *ref, int64_t delay_ms,
                                struct pawl_diag *diag)
{
    assert(pg && ref);
    struct pawl__op checked;
    enum pawl_err err = pawl__give_back_op(ref, delay_ms, &checked, diag);
    if (err) return err;
    struct call call = { .text = "SELECT pawl_give_back($1::uuid, $2::bigint, "
                                 "$3::bigint * interval '1 millisecond')" };
    put_run(&call, ref);
    put_int(&call, delay_ms);
    return run(&call, pg, NULL, diag);
}

enum pawl_err pawl_fail_pq(struct pg_conn *pg, const struct pawl_run *ref,
                           const struct pawl_report *report, struct pawl_diag *diag)
{
    assert(pg && ref && report);
    if (report->lapse || report->requeue) {
        return pawl__fail_field(
            diag, PAWL_ERR_UNSUPPORTED, report->lapse ? "lapse" : "requeue", "%s",
            report->lapse
                ? "\"lapse\" is set by the server only; to return a job use pawl_give_back_pq"
                : "use pawl_give_back_pq");
    }
    struct pawl__op checked;
    enum pawl_err err = pawl__fail_op(ref, report, &checked, diag);
    if (err) return err;
    struct call call = {
        .text = "SELECT pawl_fail($1::uuid, $2::bigint, $3::text, $4::text, $5::text, $6::text, "
                "$7::text, $8::boolean, $9::bigint * interval '1 millisecond')",
    };
    put_run(&call, ref);
    put_text(&call, report->message);
    put_text(&call, report->type);
    put_text(&call, report->code);
    put_text(&call, report->error_class);
    put_span(&call, report->details);
    put_text(&call, report->not_retryable ? "false" : "true");
    put_some(&call, report->retry_after_ms);
    return run(&call, pg, NULL, diag);
}
