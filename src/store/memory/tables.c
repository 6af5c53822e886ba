/* The tables: their fields, and in what order their rows are kept. */
#include "lifecycle/lifecycle.h"
#include "store/memory/memory.h"

#include <string.h>

/* ---- comparing ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ids(const struct pawl_job_id *a, const struct pawl_job_id *b)
{
    return memcmp(a, b, sizeof *a);
}

static int by_job(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    return compare_ids(&a->of, &b->of);
}

static int by_seq(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    return compare_numbers(a->seq, b->seq);
}

static int by_job_and_seq(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    int order = by_job(a, b);
    return order ? order : by_seq(a, b);
}

/* A row without data is before all others of its job. */
#define OR_BEFORE(a, b, compared)                                                                  \
    ((a)->data && (b)->data ? (compared) : compare_numbers((a)->data != NULL, (b)->data != NULL))

static int compare_runs(const struct pawl__failure *a, const struct pawl__failure *b)
{
    return compare_numbers(a->run, b->run);
}

static int by_run(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    int order = by_job(a, b);
    return order ? order : OR_BEFORE(a, b, compare_runs(a->data, b->data));
}

static int compare_lines(const struct pawl__log_line *a, const struct pawl__log_line *b)
{
    return compare_numbers(a->line, b->line);
}

static int by_line(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    int order = by_job(a, b);
    return order ? order : OR_BEFORE(a, b, compare_lines(a->data, b->data));
}

/* Records, by the fields that tell them apart, or those that a probe has. */
static int by_fields(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    size_t ids = a->shape->ids < b->shape->ids ? a->shape->ids : b->shape->ids;
    return pawl__fields_compare(a->shape->of->fields, ids, a->data, b->data);
}

static int by_name(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    return strcmp(*(const char *const *)a->data, *(const char *const *)b->data);
}

/* ---- keys ---- */

static int by_digest(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    const struct pawl__key_row *left = a->data, *right = b->data;
    int order = memcmp(left->digest.at, right->digest.at, left->digest.len);
    return order ? order : compare_ids(&left->id, &right->id);
}

static bool is_forgotten(const struct pawl__mem_row *row)
{
    return ((const struct pawl__key_row *)row->data)->until_ms != 0;
}

static int by_key_end(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    const struct pawl__key_row *left = a->data, *right = b->data;
    int order = compare_numbers(left->until_ms, right->until_ms);
    return order ? order : by_digest(a, b);
}

/* ---- jobs ---- */

/* In order of a number, then of the id. */
#define BY_NUMBER(name, member)                                                                    \
    static int name(const struct pawl__mem_row *a, const struct pawl__mem_row *b)                  \
    {                                                                                              \
        int order = compare_numbers(pawl__mem_job_of(a)->member, pawl__mem_job_of(b)->member);     \
        return order ? order : by_job(a, b);                                                       \
    }

BY_NUMBER(by_age, created_at_ms)
BY_NUMBER(by_due, due_at_ms)
BY_NUMBER(by_lease, lease_until_ms)
BY_NUMBER(by_expiry, expires_at_ms)

static int by_rank(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    const struct pawl__mem_job *left = a->data, *right = b->data;
    int order = compare_numbers(left->lane, right->lane);
    if (!order) order = compare_numbers(left->rank, right->rank);
    if (!order) order = compare_ids(&left->seat, &right->seat);
    return order ? order : by_job(a, b);
}

static int by_end(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    const struct pawl__mem_job *left = a->data, *right = b->data;
    int order = compare_numbers(left->archived, right->archived);
    if (!order) order = compare_numbers(left->state, right->state);
    if (!order) order = compare_numbers(left->finished_at_ms, right->finished_at_ms);
    return order ? order : by_job(a, b);
}

static bool is_ready(const struct pawl__mem_row *row)
{
    return pawl__mem_job_of(row)->state == PAWL_STATE_AVAILABLE;
}

static bool is_due(const struct pawl__mem_row *row)
{
    enum pawl_state state = pawl__mem_job_of(row)->state;
    return state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_RETRYABLE;
}

static bool is_leased(const struct pawl__mem_row *row)
{
    return pawl__mem_job_of(row)->lease_until_ms != 0;
}

static bool can_expire(const struct pawl__mem_row *row)
{
    const struct pawl__mem_job *job = row->data;
    return job->expires_at_ms &&
           pawl__lifecycle_next(job->state, PAWL_EVENT_EXPIRE, PAWL_STATE_NONE) != PAWL_STATE_NONE;
}

static bool has_ended(const struct pawl__mem_row *row)
{
    return pawl_state_is_terminal(pawl__mem_job_of(row)->state);
}

/* ---- shapes ---- */

#define F(type, member, kind) PAWL__FIELD(type, member, member, kind)
#define TABLE(type, list)                                                                          \
    {                                                                                              \
        .fields = (list), .count = sizeof(list) / sizeof *(list), .bytes = sizeof(type)            \
    }

#define X(member, column, kind, ...) PAWL__FIELD(struct pawl__mem_job, member, column, kind),
static const struct pawl__field job_fields[] = { F(struct pawl__mem_job, keys, BYTES),
                                                 F(struct pawl__mem_job, result, JSON),
                                                 PAWL__JOB_FACTS(X) PAWL__ROW_STAND(X) };
#undef X
static const struct pawl__set_table jobs = TABLE(struct pawl__mem_job, job_fields);
static const struct pawl__field queue_fields[] = { F(struct pawl__mem_queue, name, TEXT) };
static const struct pawl__set_table queues = TABLE(struct pawl__mem_queue, queue_fields);

/* Other tables keep what the set writes; of those that it writes in several ways, one is named. */
#define SET(name) .of = &pawl__set_tables[PAWL__TABLE_##name], .order_count = 1

const struct pawl__mem_shape pawl__mem_shapes[PAWL__MEM_TABLES] = {
    [PAWL__MEM_JOB] = { .of = &jobs,
                        .order_count = PAWL__MEM_JOB_ORDERS,
                        .orders = { [PAWL__MEM_JOB_BY_ID] = { by_job },
                                    [PAWL__MEM_JOB_BY_AGE] = { by_age },
                                    [PAWL__MEM_JOB_READY] = { by_rank, is_ready },
                                    [PAWL__MEM_JOB_DUE] = { by_due, is_due },
                                    [PAWL__MEM_JOB_LEASE] = { by_lease, is_leased },
                                    [PAWL__MEM_JOB_EXPIRY] = { by_expiry, can_expire },
                                    [PAWL__MEM_JOB_ENDED] = { by_end, has_ended } } },
    [PAWL__MEM_QUEUE] = { .of = &queues, .order_count = 1, .orders = { { by_name } } },
    [PAWL__MEM_KEY] = { .of = &pawl__set_tables[PAWL__TABLE_KEY_PUT],
                        .order_count = PAWL__MEM_KEY_ORDERS,
                        .orders = { [PAWL__MEM_KEY_BY_DIGEST] = { by_digest },
                                    [PAWL__MEM_KEY_BY_END] = { by_key_end, is_forgotten } } },
    [PAWL__MEM_FAILURE] = { SET(FAILURE), .orders = { { by_run } } },
    [PAWL__MEM_PROGRESS] = { SET(PROGRESS), .orders = { { by_job } } },
    [PAWL__MEM_CHECKPOINT] = { SET(CHECKPOINT_PUT), .orders = { { by_job } } },
    [PAWL__MEM_LINE] = { SET(LINE), .orders = { { by_line } } },
    [PAWL__MEM_AUDIT] = { SET(AUDIT), .orders = { { by_job_and_seq } } },
    [PAWL__MEM_UNSETTLED] = { SET(UNSETTLED), .orders = { { by_seq } } },
    [PAWL__MEM_FIRING] = { SET(FIRING), .ids = 2, .orders = { { by_fields } } },
#define X(name, member, type, keys, its_ids, added, changed, ...)                                  \
    [PAWL__MEM_RECORD(name)] = { .of = &pawl__set_tables[PAWL__##changed],                         \
                                 .ids = (its_ids),                                                 \
                                 .order_count = 1,                                                 \
                                 .orders = { { by_fields } } },
    PAWL__RECORDS(X)
#undef X
};

enum pawl__mem_table pawl__mem_table_of(enum pawl__record_kind kind)
{
    enum pawl__table written = pawl__record_shapes[kind].changed;
    int first = 0;
    while (pawl__record_shapes[first].changed != written) {
        first++;
    }
    return (enum pawl__mem_table)(PAWL__MEM_RECORDS + first);
}
