/* Fields and what PostgreSQL has in their place: columns of an answer, parameters of a call, values
 * of a list. Each kind of field is known here and nowhere else. */
#include "store/postgres/postgres.h"

#include <string.h>

/* ---- reading ---- */

static bool read_field(const PGresult *result, int row, int column, enum pawl__kind kind,
                       struct pawl__arena *arena, void *at)
{
    switch (kind) {
    case PAWL__KIND_TEXT:
        return (*(const char **)at = pawl__pg_text(result, row, column, arena)) != NULL;
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
    case PAWL__KIND_BYTES:
        return pawl__pg_span(result, row, column, arena, at);
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        *(int64_t *)at = pawl__pg_int(result, row, column);
        return true;
    case PAWL__KIND_I32:
    case PAWL__KIND_BITS:
        *(int32_t *)at = (int32_t)pawl__pg_int(result, row, column);
        return true;
    case PAWL__KIND_REAL:
        *(double *)at = PQgetisnull(result, row, column) ? -1
                                                         : pawl__pg_double(result, row, column);
        return true;
    case PAWL__KIND_BOOL:
        *(bool *)at = pawl__pg_bool(result, row, column);
        return true;
    case PAWL__KIND_STATE:
    case PAWL__KIND_SOME_STATE:
        *(enum pawl_state *)at = (enum pawl_state)pawl__pg_int(result, row, column);
        return true;
    case PAWL__KIND_ID:
        *(struct pawl_job_id *)at = pawl__pg_id(result, row, column);
        return true;
    case PAWL__KIND_END:
        break;
    }
    return true;
}

enum pawl_err pawl__pg_read(const PGresult *result, int row, int column,
                            const struct pawl__field *fields, size_t count,
                            struct pawl__arena *arena, void *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = read_field(result, row, column + (int)i, fields[i].kind, arena,
                        (char *)out + fields[i].offset);
    }
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}

/* ---- writing ---- */

static struct pawl_span args_or_none(const void *at)
{
    const struct pawl_span *args = at;
    return args->len ? *args : (struct pawl_span){ "[]", 2 };
}

enum pawl__pg_kind pawl__pg_list_kind(enum pawl__kind kind)
{
    switch (kind) {
    case PAWL__KIND_TEXT:
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
        return PAWL__PG_TEXTS;
    case PAWL__KIND_ID:
        return PAWL__PG_IDS;
    case PAWL__KIND_BYTES:
        return PAWL__PG_BYTES;
    case PAWL__KIND_REAL:
        return PAWL__PG_REALS;
    default:
        return PAWL__PG_INTS;
    }
}

void pawl__pg_list_offer(struct pawl__pg_list *list, enum pawl__kind kind, const void *at)
{
    switch (kind) {
    case PAWL__KIND_TEXT:
        pawl__pg_list_add_text(list, *(const char *const *)at);
        break;
    case PAWL__KIND_JSON:
        pawl__pg_list_add_span(list, *(const struct pawl_span *)at);
        break;
    case PAWL__KIND_ARGS:
        pawl__pg_list_add_span(list, args_or_none(at));
        break;
    case PAWL__KIND_BYTES: {
        const struct pawl_span *bytes = at;
        if (bytes->len) pawl__pg_list_add_bytes(list, bytes->at, bytes->len);
        if (!bytes->len) pawl__pg_list_add_maybe(list, NULL);
        break;
    }
    case PAWL__KIND_BOOL: // 0 or 1
        pawl__pg_list_add(list, *(const bool *)at);
        break;
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
        pawl__pg_list_add(list, *(const int64_t *)at);
        break;
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        pawl__pg_list_add_some(list, *(const int64_t *)at);
        break;
    case PAWL__KIND_I32:
        pawl__pg_list_add(list, *(const int32_t *)at);
        break;
    case PAWL__KIND_BITS:
        pawl__pg_list_add_some(list, *(const int32_t *)at);
        break;
    case PAWL__KIND_STATE:
        pawl__pg_list_add(list, *(const enum pawl_state *)at);
        break;
    case PAWL__KIND_SOME_STATE:
        pawl__pg_list_add_some(list, *(const enum pawl_state *)at);
        break;
    case PAWL__KIND_ID:
        pawl__pg_list_add_id(list, *(const struct pawl_job_id *)at);
        break;
    case PAWL__KIND_REAL:
        pawl__pg_list_add_real(list, *(const double *)at);
        break;
    case PAWL__KIND_END:
        break;
    }
}
