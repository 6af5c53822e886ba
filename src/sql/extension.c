/* pawl_sqlite.so: SQL functions for programs in any language that open the store's file in SQLite.
 *
 *     SELECT pawl_submit('mail.send', '["ann@example.org"]', '{"queue":"mail"}');
 *     SELECT pawl_complete(id, run, result)
 *     SELECT pawl_fail(id, run, message, report)
 *     SELECT pawl_give_back(id, run, delay_ms)
 *
 * The changes belong to the calling transaction; see <pawl/sqlite.h>. SQLite itself is the host's,
 * called through the table that it passes, since the host may have its own copy linked in.
 *
 * Runs on: the caller's thread. */
#define sqlite3_api pawl__sqlite3_api
#include <sqlite3ext.h>

#include <pawl/sqlite.h>

#include "api/api.h"
#include "base/arena.h"
#include "base/diag.h"

#include <stdio.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

static void tell_failure(sqlite3_context *to, const struct pawl_diag *diag)
{
    char text[sizeof diag->text + 32];
    snprintf(text, sizeof text, "%s: %s", pawl_err_name(diag->err), diag->text);
    sqlite3_result_error(to, text, -1);
    if (diag->err == PAWL_ERR_BUSY) sqlite3_result_error_code(to, SQLITE_BUSY);
    if (diag->err == PAWL_ERR_NOMEM) sqlite3_result_error_nomem(to);
}

/* Empty for NULL. A UTF-16 text is converted in place. */
static struct pawl_span span_of(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return (struct pawl_span){ text, text ? (size_t)sqlite3_value_bytes(value) : 0 };
}

static enum pawl_err text_of(sqlite3_value *value, const char *field, const char **out,
                             struct pawl_diag *diag)
{
    struct pawl_span span = span_of(value);
    *out = span.at;
    if (!span.at || strlen(span.at) == span.len) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s contains a NUL", field);
}

static enum pawl_err read_spec(int count, sqlite3_value **values, struct pawl__arena *arena,
                               struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    enum pawl_err err = text_of(values[0], "type", &spec->type, diag);
    if (!err && count > 1) spec->args = span_of(values[1]);
    struct pawl_span options = count > 2 ? span_of(values[2]) : (struct pawl_span){ NULL, 0 };
    if (!err && options.len) err = pawl__spec_parse(options, arena, spec, diag);
    return err;
}

static void submit(sqlite3_context *to, int count, sqlite3_value **values)
{
    struct pawl__arena arena = { 0 };
    struct pawl_job_spec spec = { .type = NULL };
    struct pawl_submitted out;
    struct pawl_diag diag;
    enum pawl_err err = read_spec(count, values, &arena, &spec, &diag);
    if (!err) err = pawl_submit_sqlite(sqlite3_context_db_handle(to), &spec, &out, &diag);
    pawl__arena_release(&arena);
    if (err) {
        tell_failure(to, &diag);
        return;
    }
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(out.id, text);
    sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static enum pawl_err read_run(sqlite3_value **values, struct pawl_run *run, struct pawl_diag *diag)
{
    run->run = sqlite3_value_int64(values[1]);
    if (!pawl_job_id_parse(span_of(values[0]).at, &run->id)) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "id", "id must be a UUID");
}

static void answer(sqlite3_context *to, enum pawl_err err, const struct pawl_diag *diag)
{
    if (err) tell_failure(to, diag);
}

static void complete(sqlite3_context *to, int count, sqlite3_value **values)
{
    struct pawl_run run;
    struct pawl_diag diag;
    struct pawl_span result = count > 2 ? span_of(values[2]) : (struct pawl_span){ NULL, 0 };
    enum pawl_err err = read_run(values, &run, &diag);
    if (!err) err = pawl_complete_sqlite(sqlite3_context_db_handle(to), &run, result, &diag);
    answer(to, err, &diag);
}

/* pawl_fail(id, run, message, type, code) */
static void fail(sqlite3_context *to, int count, sqlite3_value **values)
{
    static const char *const names[] = { "message", "type", "code" };
    struct pawl_run run;
    struct pawl_failed failed;
    struct pawl_diag diag;
    const char *texts[] = { NULL, NULL, NULL };
    enum pawl_err err = read_run(values, &run, &diag);
    for (int i = 0; !err && i < 3 && i + 2 < count; i++) {
        err = text_of(values[i + 2], names[i], &texts[i], &diag);
    }
    struct pawl_report report = { .message = texts[0], .type = texts[1], .code = texts[2] };
    if (!err) err = pawl_fail_sqlite(sqlite3_context_db_handle(to), &run, &report, &failed, &diag);
    if (err) {
        tell_failure(to, &diag);
        return;
    }
    sqlite3_result_text(to, pawl_state_name(failed.to, PAWL_VOCABULARY_PAWL), -1, SQLITE_STATIC);
}

static void give_back(sqlite3_context *to, int count, sqlite3_value **values)
{
    struct pawl_run run;
    struct pawl_diag diag;
    int64_t delay_ms = count > 2 ? sqlite3_value_int64(values[2]) : 0;
    enum pawl_err err = read_run(values, &run, &diag);
    if (!err) err = pawl_give_back_sqlite(sqlite3_context_db_handle(to), &run, delay_ms, &diag);
    answer(to, err, &diag);
}

/* name, function, minimum and maximum number of arguments */
#define FUNCTIONS(X)                                                                               \
    X("pawl_submit", submit, 1, 3)                                                                 \
    X("pawl_complete", complete, 2, 3)                                                             \
    X("pawl_fail", fail, 2, 5)                                                                     \
    X("pawl_give_back", give_back, 2, 3)

/* Called by SQLite when the file is loaded as "pawl_sqlite". The functions cannot be used in
 * triggers and views of a foreign file (DIRECTONLY). */
__attribute__((visibility("default"))) int sqlite3_pawlsqlite_init(sqlite3 *db, char **why,
                                                                   const sqlite3_api_routines *api);

int sqlite3_pawlsqlite_init(sqlite3 *db, char **why, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api)
    int code = SQLITE_OK;
    (void)why;
#define X(name, function, least, most)                                                             \
    for (int count = least; count <= most && code == SQLITE_OK; count++) {                         \
        code = sqlite3_create_function_v2(db, name, count, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,  \
                                          function, NULL, NULL, NULL);                             \
    }
    FUNCTIONS(X)
#undef X
    return code;
}
