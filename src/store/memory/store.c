/* How the working set is written.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <assert.h>
#include <string.h>

/* ---- jobs ---- */

#define SPEC(member) birth->job->spec->member
#define TEXTS(member) birth->job->member
#define SETTLED(member) birth->settled.member
#define X(member, column, kind, value, ...) .member = value,
static struct pawl__mem_job new_job(const struct pawl__row *row)
{
    const struct pawl__birth *birth = row->birth;
    return (struct pawl__mem_job)
    {
        .seat = *pawl__row_seat(row), .lane = row->lane, .keys = row->keys, PAWL__JOB_FACTS(X)
    };
}
#undef X
#undef SPEC
#undef TEXTS
#undef SETTLED

/* What rules may change; the result is never read, so an old one is kept. */
static void write_fields(struct pawl__mem_job *job, const struct pawl__row *row)
{
#define X(member, ...) job->member = row->member;
    PAWL__ROW_PLAN(X)
    PAWL__ROW_STAND(X)
#undef X
    if (!pawl__row_keeps_end(row)) job->result = row->result;
}

/* An id that was just made up is not looked for, and there all the same. */
static enum pawl_err refuse_taken(struct pawl__backend *mem)
{
    mem->taken = true;
    return pawl__fail(mem->set.diag, PAWL_ERR_BUSY, "an id that was made up is taken");
}

static enum pawl_err write_row(struct pawl__backend *mem, const struct pawl__row *row)
{
    const struct pawl__mem_row *was = pawl__mem_job_find(mem, row->id);
    if (row->birth && was) return refuse_taken(mem);
    assert(row->birth || was);
    struct pawl__mem_job job = row->birth ? new_job(row) : *pawl__mem_job_of(was);
    bool changed = row->wrote & (PAWL__WROTE_STAND | PAWL__WROTE_FACTS | PAWL__WROTE_LEASE);
    if (row->birth || changed) write_fields(&job, row);
    job.archived = (job.archived && !row->restored) || row->wrote & PAWL__WROTE_ARCHIVE;
    return pawl__mem_put(mem, PAWL__MEM_JOB, row->id, &job);
}

static enum pawl_err drop_all_of(struct pawl__backend *mem, enum pawl__mem_table table,
                                 struct pawl_job_id of)
{
    struct pawl__mem_row *row;
    enum pawl_err err = PAWL_OK;
    while (!err && (row = pawl__mem_first_of(mem, table, of))) {
        err = pawl__mem_drop(mem, table, row);
    }
    return err;
}

static enum pawl_err drop_found(struct pawl__backend *mem, enum pawl__mem_table table,
                                struct pawl_job_id of, const void *data)
{
    struct pawl__mem_row *row = pawl__mem_find(mem, table, of, data);
    return row ? pawl__mem_drop(mem, table, row) : PAWL_OK;
}

/* With all that is kept with it; its keys are the rule's. */
static enum pawl_err drop_job(struct pawl__backend *mem, struct pawl_job_id id)
{
#define X(name) PAWL__MEM_##name,
    static const int tables[] = { PAWL__KEPT(X) PAWL__MEM_JOB };
#undef X
    const struct pawl__deadline deadline = { .id = id }; // a record, found by its key
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < sizeof tables / sizeof *tables; i++) {
        enum pawl__mem_table table = (enum pawl__mem_table)tables[i];
        err = tables[i] == PAWL__MEM_DEADLINE ? drop_found(mem, table, pawl__mem_no_job, &deadline)
                                              : drop_all_of(mem, table, id);
    }
    return err;
}

/* ---- other tables: one struct of a list each ---- */

static struct pawl_job_id job_of(const void *data)
{
    return (*(const struct pawl__row *const *)data)->id;
}

/* Lapses stay: they are the crash credits. */
static enum pawl_err trim_failures(struct pawl__backend *mem, const void *data)
{
    const struct pawl__trim *trim = data;
    enum pawl_err err = PAWL_OK;
    struct pawl__mem_row *row = pawl__mem_first_of(mem, PAWL__MEM_FAILURE, trim->row->id);
    for (; !err && row; row = pawl__mem_next_of(mem, PAWL__MEM_FAILURE, row)) {
        const struct pawl__failure *failure = row->data;
        if (failure->run > trim->run) break;
        if (!failure->lapsed) err = pawl__mem_drop(mem, PAWL__MEM_FAILURE, row);
    }
    return err;
}

static enum pawl_err trim_lines(struct pawl__backend *mem, const void *data)
{
    const struct pawl__log_cut *cut = data;
    const struct pawl__mem_index *index = pawl__mem_index_of(mem, PAWL__MEM_LINE, PAWL__MEM_BY_KEY);
    const struct pawl__log_line after = { .line = cut->after };
    enum pawl_err err = PAWL_OK;
    struct pawl__mem_row *row =
        pawl__mem_after(index, &(struct pawl__mem_row){ .of = cut->row->id, .data = &after });
    for (; !err && row; row = pawl__mem_next_of(mem, PAWL__MEM_LINE, row)) {
        if (memcmp(&row->of, &cut->row->id, sizeof row->of) != 0) break;
        if (((const struct pawl__log_line *)row->data)->line > cut->line) break;
        err = pawl__mem_drop(mem, PAWL__MEM_LINE, row);
    }
    return err;
}

static enum pawl_err put_audit(struct pawl__backend *mem, const void *data)
{
    return pawl__mem_put(mem, PAWL__MEM_AUDIT, ((const struct pawl__audit *)data)->id, data);
}

static enum pawl_err put_queue(struct pawl__backend *mem, const void *data)
{
    const struct pawl__queue_row *row = data;
    struct pawl__mem_queue queue = *pawl__mem_queue_find(mem, row->name);
    queue.paused = row->paused;
    queue.forgotten = row->forgotten;
    return pawl__mem_put(mem, PAWL__MEM_QUEUE, pawl__mem_no_job, &queue);
}

static enum pawl_err put_keys(struct pawl__backend *mem, const void *data)
{
    const struct pawl__checked *checked = data;
    struct pawl__mem_job job = *pawl__mem_job_of(pawl__mem_job_find(mem, checked->row->id));
    job.keys = checked->keys;
    return pawl__mem_put(mem, PAWL__MEM_JOB, checked->row->id, &job);
}

static enum pawl_err drop_followed(struct pawl__backend *mem, const void *data)
{
    int64_t seq = ((const struct pawl__followed *)data)->seq;
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_UNSETTLED, PAWL__MEM_BY_KEY);
    struct pawl__mem_row *row = pawl__mem_from(index, &(struct pawl__mem_row){ .seq = seq });
    return row && row->seq == seq ? pawl__mem_drop(mem, PAWL__MEM_UNSETTLED, row) : PAWL_OK;
}

static enum pawl_err drop_moot(struct pawl__backend *mem, const void *data)
{
    const struct pawl__moot *moot = data;
    enum pawl_err err = PAWL_OK;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_UNSETTLED, PAWL__MEM_BY_KEY)
    {
        const struct pawl__unsettled *entry = row->data;
        bool its = memcmp(&entry->id, &moot->id, sizeof moot->id) == 0 && entry->ties == moot->ties;
        if (its) err = pawl__mem_drop(mem, PAWL__MEM_UNSETTLED, row);
        if (err) break;
    }
    return err;
}

static enum pawl_err cut_firings(struct pawl__backend *mem, const void *data)
{
    const struct pawl__firing_cut *cut = data;
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_FIRING, PAWL__MEM_BY_KEY);
    const struct pawl__firing first = { .schedule = cut->schedule };
    const struct pawl__mem_row probe = { .shape = &pawl__mem_shapes[PAWL__MEM_FIRING],
                                         .data = &first };
    struct pawl__mem_row *row = pawl__mem_from(index, &probe), *next;
    enum pawl_err err = PAWL_OK;
    for (; row && !err; row = next) {
        const struct pawl__firing *firing = row->data;
        next = pawl__mem_after(index, row);
        if (strcmp(firing->schedule, cut->schedule) != 0 || firing->number > cut->number) break;
        err = pawl__mem_drop(mem, PAWL__MEM_FIRING, row);
    }
    return err;
}

static enum pawl_err end_runs(struct pawl__backend *mem, const void *data)
{
    const struct pawl__gone *gone = data;
    enum pawl_err err = PAWL_OK;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_JOB, PAWL__MEM_JOB_LEASE)
    {
        struct pawl__mem_job job = *pawl__mem_job_of(row);
        bool its = job.state == PAWL_STATE_ACTIVE && strcmp(job.worker, gone->name) == 0;
        if (!its || job.lease_until_ms <= gone->at_ms) continue;
        job.lease_until_ms = gone->at_ms;
        err = pawl__mem_put(mem, PAWL__MEM_JOB, row->of, &job);
        if (err) break;
    }
    return err;
}

/* Where the rows of a list go, but for those of records: they are put into a table, dropped from
 * it, or what `apply` says. */
static const struct {
    enum { RECORD, PUT, NEW, DROP, APPLY } how;
    enum pawl__mem_table table;
    enum pawl_err (*apply)(struct pawl__backend *mem, const void *data);
} writes[PAWL__TABLES] = {
    [PAWL__TABLE_FAILURE] = { PUT, PAWL__MEM_FAILURE },
    [PAWL__TABLE_TRIM] = { APPLY, .apply = trim_failures },
    [PAWL__TABLE_AUDIT] = { APPLY, .apply = put_audit },
    [PAWL__TABLE_KEY_DROP] = { DROP, PAWL__MEM_KEY },
    [PAWL__TABLE_KEY_NEW] = { NEW, PAWL__MEM_KEY },
    [PAWL__TABLE_KEY_PUT] = { PUT, PAWL__MEM_KEY },
    [PAWL__TABLE_CHECKED] = { APPLY, .apply = put_keys },
    [PAWL__TABLE_PROGRESS] = { PUT, PAWL__MEM_PROGRESS },
    [PAWL__TABLE_CHECKPOINT_DROP] = { DROP, PAWL__MEM_CHECKPOINT },
    [PAWL__TABLE_CHECKPOINT_PUT] = { PUT, PAWL__MEM_CHECKPOINT },
    [PAWL__TABLE_LINE] = { PUT, PAWL__MEM_LINE },
    [PAWL__TABLE_LINE_TRIM] = { APPLY, .apply = trim_lines },
    [PAWL__TABLE_FOLLOWED] = { APPLY, .apply = drop_followed },
    [PAWL__TABLE_MOOT] = { APPLY, .apply = drop_moot },
    [PAWL__TABLE_UNSETTLED] = { PUT, PAWL__MEM_UNSETTLED },
    [PAWL__TABLE_RUNS_END] = { APPLY, .apply = end_runs },
    [PAWL__TABLE_QUEUE_PUT] = { APPLY, .apply = put_queue },
    [PAWL__TABLE_FIRING] = { NEW, PAWL__MEM_FIRING },
    [PAWL__TABLE_FIRING_CUT] = { APPLY, .apply = cut_firings },
};

static enum pawl_err put_new(struct pawl__backend *mem, enum pawl__mem_table table,
                             struct pawl_job_id of, const void *data)
{
    if (!pawl__mem_find(mem, table, of, data)) return pawl__mem_put(mem, table, of, data);
    mem->again = true;
    return pawl__fail(mem->set.diag, PAWL_ERR_BUSY, "a row that was to be new is there already");
}

/* Records are written as their kind says. What no rule reads is of no use here. */
static enum pawl_err write_record(struct pawl__backend *mem, enum pawl__table list,
                                  const void *data)
{
    const struct pawl__record_shape *shape = pawl__record_shape_of(list);
    if (!shape) return PAWL_OK;
    enum pawl__record_kind kind = (enum pawl__record_kind)(shape - pawl__record_shapes);
    enum pawl__mem_table table = pawl__mem_table_of(kind);
    if (list == shape->added) return put_new(mem, table, pawl__mem_no_job, data);
    return list == shape->dropped ? drop_found(mem, table, pawl__mem_no_job, data)
                                  : pawl__mem_put(mem, table, pawl__mem_no_job, data);
}

static enum pawl_err write_one(struct pawl__backend *mem, int list, const void *data)
{
    enum pawl__mem_table table = writes[list].table;
    struct pawl_job_id of = pawl__set_tables[list].of_job ? job_of(data) : pawl__mem_no_job;
    switch (writes[list].how) {
    case RECORD:
        return write_record(mem, (enum pawl__table)list, data);
    case APPLY:
        return writes[list].apply(mem, data);
    case NEW:
        return put_new(mem, table, of, data);
    case DROP:
        return drop_found(mem, table, of, data);
    default:
        return pawl__mem_put(mem, table, of, data);
    }
}

static enum pawl_err write_lists(struct pawl__backend *mem, const struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (int list = 0; list < PAWL__TABLES; list++) {
        const char *rows = set->lists[list].rows;
        for (size_t i = 0; !err && i < set->lists[list].count; i++) {
            err = write_one(mem, list, rows + i * pawl__set_tables[list].bytes);
        }
    }
    return err;
}

/* What is deleted goes last: with what was written beside it in the same batch. */
enum pawl_err pawl__mem_store(struct pawl__backend *mem, struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (row->birth || row->wrote) err = write_row(mem, row);
    }
    if (!err) err = write_lists(mem, set);
    for (size_t i = 0; !err && i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (row->gone) err = drop_job(mem, row->id);
    }
    return err;
}
