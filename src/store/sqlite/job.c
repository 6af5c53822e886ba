/* The ids of jobs and the keys that they are stored by. */
#include "store/sqlite/sqlite.h"

#include <string.h>

static int64_t read_half(const uint8_t *at)
{
    uint64_t half = 0;
    for (int i = 0; i < 8; i++) {
        half = half << 8 | at[i];
    }
    return (int64_t)half;
}

static void write_half(uint8_t *at, int64_t half)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (uint8_t)((uint64_t)half >> (56 - 8 * i));
    }
}

struct pawl__sq_halves pawl__sq_split(struct pawl_job_id id)
{
    return (struct pawl__sq_halves){ .head = read_half(id.b), .tail = read_half(id.b + 8) };
}

struct pawl_job_id pawl__sq_join(int64_t head, int64_t tail)
{
    struct pawl_job_id id = { 0 };
    write_half(id.b, head);
    write_half(id.b + 8, tail);
    return id;
}

/* A version 7 id of about now. Others would be out of order, or out of reach of the archive's walk.
 */
bool pawl__sq_key_is_natural(const struct pawl__backend *sq, struct pawl_job_id id)
{
    bool is_v7 = id.b[6] >> 4 == 7 && !(id.b[0] >> 7);
    if (!is_v7) return false;
    int64_t off_ms = pawl__sq_key_time(read_half(id.b)) - sq->set.now_ms;
    return off_ms > -PAWL__SQ_KEY_SLACK_MS && off_ms < PAWL__SQ_KEY_SLACK_MS;
}

struct pawl_job_id pawl__sq_arrival(const struct pawl__new_job *job)
{
    static const struct pawl_job_id none;
    return memcmp(&job->arrival, &none, sizeof none) == 0 ? job->id : job->arrival;
}

bool pawl__sq_key_fits(const struct pawl__backend *sq, const struct pawl__new_job *job)
{
    struct pawl_job_id arrival = pawl__sq_arrival(job);
    return memcmp(&arrival, &job->id, sizeof arrival) == 0 && pawl__sq_key_is_natural(sq, job->id);
}

struct pawl_job_id pawl__sq_row_id(sqlite3_stmt *stmt)
{
    bool displaced = sqlite3_column_type(stmt, COL_HEAD) != SQLITE_NULL;
    return pawl__sq_join(sqlite3_column_int64(stmt, displaced ? COL_HEAD : COL_KEY),
                         sqlite3_column_int64(stmt, COL_TAIL));
}

/* Where a job may be, and the statements that find its key there by both halves of its id. */
static const struct look {
    enum pawl__sql sql;
    int head, tail;
    bool archived;
} looks[] = {
#define LOOK(name, archived)                                                                       \
    {                                                                                              \
        SQL_##name, SQL_##name##_head, SQL_##name##_tail, archived                                 \
    }
    LOOK(JOB_KEY, false),
    LOOK(JOB_KEY_DISPLACED, false),
    LOOK(ARCHIVE_KEY, true),
    LOOK(ARCHIVE_KEY_DISPLACED, true),
#undef LOOK
};

enum pawl_err pawl__sq_find(struct pawl__sq_conn *conn, struct pawl_job_id id, int64_t *key,
                            bool *archived, struct pawl_diag *diag)
{
    struct pawl__sq_halves halves = pawl__sq_split(id);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        sqlite3_stmt *stmt = pawl__sq_use(conn, looks[i].sql);
        pawl__sq_bind(stmt, looks[i].head, halves.head);
        pawl__sq_bind(stmt, looks[i].tail, halves.tail);
        bool found;
        enum pawl_err err = pawl__sq_row(conn, stmt, &found, diag);
        if (err) return err;
        if (!found) continue;
        *key = sqlite3_column_int64(stmt, 0);
        *archived = looks[i].archived;
        sqlite3_reset(stmt);
        return PAWL_OK;
    }
    return PAWL_ERR_NOT_FOUND;
}
