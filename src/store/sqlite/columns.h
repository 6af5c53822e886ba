/* What a field is to SQLite, inline: where the kind is known when it is compiled, as in new.c,
 * which shows a table of new jobs column by column, no switch is left. */
#ifndef PAWL_STORE_SQLITE_COLUMNS_H
#define PAWL_STORE_SQLITE_COLUMNS_H

#include "store/sqlite/sqlite.h"

#include <string.h>

struct pawl__sq_value {
    enum { PAWL__SQ_NULL, PAWL__SQ_NUMBER, PAWL__SQ_REAL, PAWL__SQ_TEXT, PAWL__SQ_BYTES } is;
    int64_t number;
    double real;
    const void *at; /* borrowed */
    int len;
};

static inline struct pawl__sq_value pawl__sq_number(int64_t number)
{
    return (struct pawl__sq_value){ .is = PAWL__SQ_NUMBER, .number = number };
}

static inline struct pawl__sq_value pawl__sq_some(int64_t number)
{
    return (struct pawl__sq_value){ .is = number ? PAWL__SQ_NUMBER : PAWL__SQ_NULL,
                                    .number = number };
}

static inline struct pawl__sq_value pawl__sq_span(struct pawl_span span)
{
    return (struct pawl__sq_value){ .is = span.len ? PAWL__SQ_TEXT : PAWL__SQ_NULL,
                                    .at = span.at,
                                    .len = (int)span.len };
}

static inline struct pawl__sq_value pawl__sq_value_of(enum pawl__kind kind, const void *at)
{
    switch (kind) {
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
        return pawl__sq_number(*(const int64_t *)at);
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        return pawl__sq_some(*(const int64_t *)at);
    case PAWL__KIND_I32:
        return pawl__sq_number(*(const int32_t *)at);
    case PAWL__KIND_BITS:
        return pawl__sq_some(*(const int32_t *)at);
    case PAWL__KIND_REAL: {
        double real = *(const double *)at;
        return (struct pawl__sq_value){ .is = real < 0 ? PAWL__SQ_NULL : PAWL__SQ_REAL,
                                        .real = real };
    }
    case PAWL__KIND_BOOL:
        return pawl__sq_number(*(const bool *)at);
    case PAWL__KIND_STATE:
        return pawl__sq_number(*(const enum pawl_state *)at);
    case PAWL__KIND_SOME_STATE:
        return pawl__sq_some(*(const enum pawl_state *)at);
    case PAWL__KIND_ARGS: {
        const struct pawl_span *args = at;
        return pawl__sq_span(args->len ? *args : (struct pawl_span){ "[]", 2 });
    }
    case PAWL__KIND_JSON:
        return pawl__sq_span(*(const struct pawl_span *)at);
    case PAWL__KIND_TEXT: {
        const char *text = *(const char *const *)at;
        return pawl__sq_span((struct pawl_span){ text, text ? strlen(text) : 0 });
    }
    case PAWL__KIND_BYTES: {
        const struct pawl_span *bytes = at;
        return (struct pawl__sq_value){ .is = bytes->len ? PAWL__SQ_BYTES : PAWL__SQ_NULL,
                                        .at = bytes->at,
                                        .len = (int)bytes->len };
    }
    case PAWL__KIND_ID:
        return (struct pawl__sq_value){ .is = PAWL__SQ_BYTES,
                                        .at = at,
                                        .len = sizeof(struct pawl_job_id) };
    case PAWL__KIND_END:
        break;
    }
    return pawl__sq_some(0);
}

/* The value at `at` as a column of a table in memory. */
static inline void pawl__sq_result(sqlite3_context *to, enum pawl__kind kind, const void *at)
{
    const struct pawl__sq_value value = pawl__sq_value_of(kind, at);
    switch (value.is) {
    case PAWL__SQ_NULL:
        sqlite3_result_null(to);
        break;
    case PAWL__SQ_NUMBER:
        sqlite3_result_int64(to, value.number);
        break;
    case PAWL__SQ_REAL:
        sqlite3_result_double(to, value.real);
        break;
    case PAWL__SQ_TEXT:
        sqlite3_result_text(to, value.at, value.len, SQLITE_STATIC);
        break;
    case PAWL__SQ_BYTES:
        sqlite3_result_blob(to, value.at, value.len, SQLITE_STATIC);
        break;
    }
}

#endif
