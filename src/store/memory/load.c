/* How the working set is read. What is read points into rows: they stay until the transaction ends.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <string.h>

static int64_t count_crashes(const struct pawl__backend *mem, const struct pawl__row *of)
{
    int64_t count = 0;
    const struct pawl__mem_row *row = pawl__mem_first_of(mem, PAWL__MEM_FAILURE, of->id);
    for (; row; row = pawl__mem_next_of(mem, PAWL__MEM_FAILURE, row)) {
        const struct pawl__failure *failure = row->data;
        count += failure->lapsed && failure->run > of->base_run;
    }
    return count;
}

static int64_t last_line(const struct pawl__backend *mem, struct pawl_job_id of)
{
    const struct pawl__log_line behind = { .line = INT64_MAX };
    const struct pawl__mem_row *row =
        pawl__mem_before(pawl__mem_index_of(mem, PAWL__MEM_LINE, PAWL__MEM_BY_KEY),
                         &(struct pawl__mem_row){ .of = of, .data = &behind });
    bool found = row && memcmp(&row->of, &of, sizeof of) == 0;
    return found ? ((const struct pawl__log_line *)row->data)->line : 0;
}

static void read_run_data(const struct pawl__backend *mem, struct pawl__row *row)
{
    const struct pawl__mem_row *progress = pawl__mem_first_of(mem, PAWL__MEM_PROGRESS, row->id);
    const struct pawl__mem_row *checkpoint = pawl__mem_first_of(mem, PAWL__MEM_CHECKPOINT, row->id);
    if (progress) {
        row->run_data->progress = *(const struct pawl__progress *)progress->data;
        row->run_data->progress.row = row;
    }
    if (checkpoint) {
        row->run_data->checkpoint.sequence =
            ((const struct pawl__checkpoint *)checkpoint->data)->sequence;
    }
    row->run_data->lines = last_line(mem, row->id);
}

/* What a worker is told outlives the transaction. */
static void read_job(struct pawl__backend *mem, struct pawl__row *row,
                     const struct pawl__mem_row *from)
{
    struct pawl_job job = pawl__mem_view(mem, from);
    bool long_args = mem->set.args_max && (int64_t)job.args.len > mem->set.args_max;
    if (long_args) job.args = (struct pawl_span){ "", 0 };
    struct pawl_job *out = pawl__row_job(&mem->set, row);
    char *room = pawl__arena_alloc(row->job_arena, pawl__job_text_bytes(&job));
    if (!out || !room) {
        mem->set.failed = true;
        return;
    }
    *out = pawl__job_copy(&job, room);
}

static void read_row(struct pawl__backend *mem, struct pawl__row *row,
                     const struct pawl__mem_row *from)
{
    const struct pawl__mem_job *job = from->data;
#define X(member, ...) row->member = job->member;
    PAWL__ROW_READ(X)
#undef X
    row->lane = job->lane;
    row->arrival = job->seat;
    pawl__row_loaded(&mem->set, row, job->archived ? PAWL__FOUND_ARCHIVED : PAWL__FOUND_LIVE);
    uint8_t lacks = row->need & ~row->has; // what it has, rules may have changed
    if (lacks & PAWL__NEED_CRASHES) row->crashes = count_crashes(mem, row);
    if (lacks & PAWL__NEED_RUN_DATA) read_run_data(mem, row);
    if (lacks & PAWL__NEED_JOB && !job->archived) read_job(mem, row, from);
}

/* One transaction writes at a time, so nothing is held. */
enum pawl_err pawl__mem_load(struct pawl__backend *mem, struct pawl__set *set, bool wait)
{
    (void)wait;
    for (size_t i = 0; i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        const struct pawl__mem_row *from = pawl__mem_job_find(mem, row->id);
        if (from) read_row(mem, row, from);
        if (!from) row->found = PAWL__FOUND_ABSENT;
    }
    return PAWL_OK;
}

static void read_holders(struct pawl__backend *mem, struct pawl__set_key *key)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_KEY, PAWL__MEM_KEY_BY_DIGEST);
    const struct pawl__key_row probe = { .digest = { (const char *)key->digest,
                                                     sizeof key->digest } };
    const struct pawl__mem_row *row =
        pawl__mem_from(index, &(struct pawl__mem_row){ .data = &probe });
    for (; row; row = pawl__mem_after(index, row)) {
        const struct pawl__key_row *holder = row->data;
        if (memcmp(holder->digest.at, key->digest, sizeof key->digest) != 0) return;
        pawl__key_hold(&mem->set, key,
                       &(struct pawl__key_holder){
                           .id = holder->id, .until_ms = holder->until_ms, .stored = true });
    }
}

enum pawl_err pawl__mem_load_keys(struct pawl__backend *mem, struct pawl__set *set, bool wait)
{
    (void)wait;
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        read_holders(mem, &set->keys[i]);
    }
    return PAWL_OK;
}

/* In order of what tells them apart, of which the key comes first. */
static void load_key(struct pawl__backend *mem, enum pawl__record_kind kind, const void *key)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, pawl__mem_table_of(kind), PAWL__MEM_BY_KEY);
    const struct pawl__mem_shape by_key = { .of = shape->of, .ids = shape->keys };
    const struct pawl__mem_row probe = { .shape = &by_key, .data = key };
    const struct pawl__mem_row *row = pawl__mem_from(index, &probe);
    for (; row && index->compare(row, &probe) == 0; row = pawl__mem_after(index, row)) {
        (void)pawl__set_record_loaded(&mem->set, kind, row->data);
    }
}

enum pawl_err pawl__mem_load_records(struct pawl__backend *mem, struct pawl__set *set)
{
    for (int kind = 0; kind < PAWL__RECORD_KINDS; kind++) {
        const struct pawl__list *wanted = &set->records.wanted[kind];
        const char *keys = wanted->rows;
        for (size_t i = 0; i < wanted->count; i++) {
            load_key(mem, (enum pawl__record_kind)kind,
                     keys + i * pawl__record_shapes[kind].of->bytes);
        }
    }
    return PAWL_OK;
}
