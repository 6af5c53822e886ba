/* Fields and columns: what a field is when it is stored, and a row's columns into the members of a
 * struct. Each kind of field is known here; how a database gives and takes a value is the
 * backend's.
 *
 * All of it is inline. Where the kind is known when it is compiled no switch is left, and no call
 * through a table that is constant. */
#ifndef PAWL_STORE_SQL_COLUMNS_H
#define PAWL_STORE_SQL_COLUMNS_H

#include "base/arena.h"
#include "store/core/fields.h"

#include <string.h>

/* ---- writing ---- */

struct pawl__stored {
    enum {
        PAWL__STORED_NULL,
        PAWL__STORED_NUMBER,
        PAWL__STORED_REAL,
        PAWL__STORED_TEXT,
        PAWL__STORED_BYTES
    } is;
    int64_t number;
    double real;
    struct pawl_span span; /* borrowed */
};

static inline struct pawl__stored pawl__stored_number(int64_t number)
{
    return (struct pawl__stored){ .is = PAWL__STORED_NUMBER, .number = number };
}

/* 0 is NULL. */
static inline struct pawl__stored pawl__stored_some(int64_t number)
{
    return (struct pawl__stored){ .is = number ? PAWL__STORED_NUMBER : PAWL__STORED_NULL,
                                  .number = number };
}

static inline struct pawl__stored pawl__stored_text(struct pawl_span span)
{
    return (struct pawl__stored){ .is = span.len ? PAWL__STORED_TEXT : PAWL__STORED_NULL,
                                  .span = span };
}

/* Of the member at `at`. */
static inline struct pawl__stored pawl__stored_of(enum pawl__kind kind, const void *at)
{
    switch (kind) {
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
        return pawl__stored_number(*(const int64_t *)at);
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        return pawl__stored_some(*(const int64_t *)at);
    case PAWL__KIND_I32:
        return pawl__stored_number(*(const int32_t *)at);
    case PAWL__KIND_BITS:
        return pawl__stored_some(*(const int32_t *)at);
    case PAWL__KIND_REAL: {
        double real = *(const double *)at;
        return (struct pawl__stored){ .is = real < 0 ? PAWL__STORED_NULL : PAWL__STORED_REAL,
                                      .real = real };
    }
    case PAWL__KIND_BOOL:
        return pawl__stored_number(*(const bool *)at);
    case PAWL__KIND_STATE:
        return pawl__stored_number(*(const enum pawl_state *)at);
    case PAWL__KIND_SOME_STATE:
        return pawl__stored_some(*(const enum pawl_state *)at);
    case PAWL__KIND_ARGS: {
        const struct pawl_span *args = at;
        return pawl__stored_text(args->len ? *args : (struct pawl_span){ "[]", 2 });
    }
    case PAWL__KIND_JSON:
        return pawl__stored_text(*(const struct pawl_span *)at);
    case PAWL__KIND_TEXT: {
        const char *text = *(const char *const *)at;
        return pawl__stored_text((struct pawl_span){ text, text ? strlen(text) : 0 });
    }
    case PAWL__KIND_BYTES: {
        const struct pawl_span *bytes = at;
        return (struct pawl__stored){ .is = bytes->len ? PAWL__STORED_BYTES : PAWL__STORED_NULL,
                                      .span = *bytes };
    }
    case PAWL__KIND_ID:
        return (struct pawl__stored){ .is = PAWL__STORED_BYTES,
                                      .span = { at, sizeof(struct pawl_job_id) } };
    case PAWL__KIND_END:
        break;
    }
    return pawl__stored_some(0);
}

/* ---- reading ---- */

/* How a backend gives the columns of a row, which is its own; NULL is 0 or "". */
struct pawl__columns {
    bool (*is_null)(const void *row, int column);
    int64_t (*number)(const void *row, int column);
    double (*real)(const void *row, int column);
    struct pawl_job_id (*id)(const void *row, int column);
    /* Copied into `arena`, with a NUL behind it. False: no memory. */
    bool (*span)(const void *row, int column, struct pawl__arena *arena, struct pawl_span *out);
};

static inline bool pawl__column_text(const struct pawl__columns *get, const void *row, int column,
                                     struct pawl__arena *arena, const char **out)
{
    struct pawl_span span;
    if (!get->span(row, column, arena, &span)) return false;
    *out = span.at;
    return true;
}

static inline bool pawl__column_read(const struct pawl__columns *get, const void *row, int column,
                                     enum pawl__kind kind, struct pawl__arena *arena, void *at)
{
    switch (kind) {
    case PAWL__KIND_TEXT:
        return pawl__column_text(get, row, column, arena, at);
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
    case PAWL__KIND_BYTES:
        return get->span(row, column, arena, at);
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        *(int64_t *)at = get->number(row, column);
        return true;
    case PAWL__KIND_I32:
    case PAWL__KIND_BITS:
        *(int32_t *)at = (int32_t)get->number(row, column);
        return true;
    case PAWL__KIND_REAL:
        *(double *)at = get->is_null(row, column) ? -1 : get->real(row, column);
        return true;
    case PAWL__KIND_BOOL:
        *(bool *)at = get->number(row, column) != 0;
        return true;
    case PAWL__KIND_STATE:
    case PAWL__KIND_SOME_STATE:
        *(enum pawl_state *)at = (enum pawl_state)get->number(row, column);
        return true;
    case PAWL__KIND_ID:
        *(struct pawl_job_id *)at = get->id(row, column);
        return true;
    case PAWL__KIND_END:
        break;
    }
    return true;
}

/* `count` columns from `first` on into the members of the struct at `out`. NOMEM. */
static inline enum pawl_err pawl__columns_read(const struct pawl__columns *get, const void *row,
                                               int first, const struct pawl__field *fields,
                                               size_t count, struct pawl__arena *arena, void *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = pawl__column_read(get, row, first + (int)i, fields[i].kind, arena,
                               (char *)out + fields[i].offset);
    }
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}

/* The columns {{facts}}, from `first` on, into `job`, whose other fields become empty. */
static inline enum pawl_err pawl__columns_facts(const struct pawl__columns *get, const void *row,
                                                int first, struct pawl__arena *arena,
                                                struct pawl_job *job)
{
    *job = pawl__job_empty;
    return pawl__columns_read(get, row, first, &pawl__job_fields[PAWL__JOB_FACTS_FIRST],
                              PAWL__JOB_FACTS_COUNT, arena, job);
}

/* {{facts}}, {{stand}}, archived, {{names}}. */
static inline enum pawl_err pawl__columns_job(const struct pawl__columns *get, const void *row,
                                              int first, struct pawl__arena *arena,
                                              struct pawl_job *job)
{
    enum { STAND = PAWL__JOB_FACTS_COUNT, ARCHIVED = STAND + PAWL__JOB_STAND_COUNT, QUEUE, TYPE };
    enum pawl_err err = pawl__columns_facts(get, row, first, arena, job);
    if (!err) {
        err = pawl__columns_read(get, row, first + STAND, &pawl__job_fields[PAWL__JOB_STAND_FIRST],
                                 PAWL__JOB_STAND_COUNT, arena, job);
    }
    if (err) return err;
    job->attempt = job->run - job->attempt; // the column is base_run
    job->archived = get->number(row, first + ARCHIVED) != 0;
    bool ok = pawl__column_text(get, row, first + QUEUE, arena, &job->queue) &&
              pawl__column_text(get, row, first + TYPE, arena, &job->type);
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}

#endif
