/* Fields and what PostgreSQL has in their place: columns of an answer, values of a list. */
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

/* ---- reading ---- */

struct row {
    const PGresult *result;
    int at;
};

static bool get_null(const void *row, int column)
{
    const struct row *of = row;
    return PQgetisnull(of->result, of->at, column);
}

static int64_t get_number(const void *row, int column)
{
    const struct row *of = row;
    return pawl__pg_int(of->result, of->at, column);
}

static double get_real(const void *row, int column)
{
    const struct row *of = row;
    return pawl__pg_double(of->result, of->at, column);
}

static struct pawl_job_id get_id(const void *row, int column)
{
    const struct row *of = row;
    return pawl__pg_id(of->result, of->at, column);
}

static bool get_span(const void *row, int column, struct pawl__arena *arena, struct pawl_span *out)
{
    const struct row *of = row;
    return pawl__pg_span(of->result, of->at, column, arena, out);
}

static const struct pawl__columns columns = { get_null, get_number, get_real, get_id, get_span };

enum pawl_err pawl__pg_read(const PGresult *result, int row, int first,
                            const struct pawl__field *fields, size_t count,
                            struct pawl__arena *arena, void *out)
{
    return pawl__columns_read(&columns, &(struct row){ result, row }, first, fields, count, arena,
                              out);
}

enum pawl_err pawl__pg_read_facts(const PGresult *result, int row, int first,
                                  struct pawl__arena *arena, struct pawl_job *job)
{
    enum pawl_err err =
        pawl__columns_facts(&columns, &(struct row){ result, row }, first + COL_FACTS, arena, job);
    job->id = pawl__pg_id(result, row, first + COL_ID);
    return err;
}

enum pawl_err pawl__pg_read_job(const PGresult *result, int row, struct pawl__arena *arena,
                                struct pawl_job *job)
{
    enum pawl_err err =
        pawl__columns_job(&columns, &(struct row){ result, row }, COL_FACTS, arena, job);
    job->id = pawl__pg_id(result, row, COL_ID);
    return err;
}

/* ---- writing ---- */

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
    const struct pawl__stored value = pawl__stored_of(kind, at);
    switch (value.is) {
    case PAWL__STORED_NULL:
        pawl__pg_list_add_null(list);
        break;
    case PAWL__STORED_NUMBER:
        pawl__pg_list_add(list, value.number);
        break;
    case PAWL__STORED_REAL:
        pawl__pg_list_add_real(list, value.real);
        break;
    case PAWL__STORED_TEXT:
        pawl__pg_list_add_span(list, value.span);
        break;
    case PAWL__STORED_BYTES:
        pawl__pg_list_add_bytes(list, value.span.at, value.span.len);
        break;
    }
}

void pawl__pg_lists(struct pawl__pg_conn *conn, int first, const struct pawl__field *fields,
                    size_t count, struct pawl__pg_list **out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = pawl__pg_list(conn, first + (int)i, pawl__pg_list_kind(fields[i].kind));
    }
}

void pawl__pg_lists_offer(struct pawl__pg_list **lists, const struct pawl__field *fields,
                          size_t count, const void *row)
{
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_offer(lists[i], fields[i].kind, (const char *)row + fields[i].offset);
    }
}
