/* Reads of jobs by id. Each read has the mutex for its time and copies what it gives.
 *
 * Runs on: the caller's thread. */
#include "store/memory/memory.h"

#include "base/diag.h"
#include "store/core/refuse.h"
#include "store/shown.h"

/* ---- one job ---- */

struct pawl_job pawl__mem_view(const struct pawl__backend *mem, const struct pawl__mem_row *row)
{
    const struct pawl__mem_job *from = row->data;
    const struct pawl__lane *lane = mem->set.catalog.lanes[from->lane];
    struct pawl_job job = pawl__job_empty;
    job.id = row->of;
    job.queue = pawl__catalog_queue_name(&mem->set.catalog, lane);
    job.type = lane->type;
#define X(member, ...) job.member = from->member;
    PAWL__JOB_FACTS(X)
#undef X
#define X(member, column, ...) job.member = from->column;
    PAWL__JOB_STAND(X)
#undef X
    job.attempt = job.run - job.attempt; // the column is base_run
    if (!*job.reason) job.reason = from->end_reason;
    job.archived = from->archived;
    return job;
}

static bool copy_job(const struct pawl_job *job, struct pawl__arena *arena, struct pawl_job *out)
{
    char *room = pawl__arena_alloc(arena, pawl__job_text_bytes(job));
    if (room) *out = pawl__job_copy(job, room);
    return room != NULL;
}

static enum pawl_err get(struct pawl__backend *mem, const struct pawl_job_id *ids, size_t count,
                         struct pawl__arena *arena, struct pawl_job *out, size_t *out_count,
                         struct pawl_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        const struct pawl__mem_row *row = pawl__mem_job_find(mem, ids[i]);
        if (!row) continue;
        struct pawl_job job = pawl__mem_view(mem, row);
        if (!copy_job(&job, arena, &out[*out_count])) return pawl__fail_nomem(diag);
        ++*out_count;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_get(struct pawl__backend *mem, const struct pawl_job_id *ids, size_t count,
                            struct pawl__arena *arena, struct pawl_job **out, size_t *out_count,
                            struct pawl_diag *diag)
{
    *out_count = 0;
    *out = pawl__arena_calloc(arena, count ? count : 1, sizeof **out);
    if (!*out) return pawl__fail_nomem(diag);
    pawl__lock(&mem->mutex);
    enum pawl_err err = get(mem, ids, count, arena, *out, out_count, diag);
    pawl__unlock(&mem->mutex);
    return err;
}

/* ---- a job's story ---- */

static void convert_failure(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    const struct pawl__failure *from = data;
    *(struct pawl_failure *)out = (struct pawl_failure){ .run = from->run,
                                                         .attempt = from->attempt,
                                                         .started_at_ms = from->started_at_ms,
                                                         .failed_at_ms = from->failed_at_ms,
                                                         .retry_delay_ms = from->delay_ms,
                                                         .lapsed = from->lapsed,
                                                         .worker = from->worker,
                                                         .type = from->type,
                                                         .code = from->code,
                                                         .message = from->message,
                                                         .details = from->details };
}

static void convert_line(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    const struct pawl__log_line *from = data;
    *(struct pawl_log_line *)out = (struct pawl_log_line){ .number = from->line,
                                                           .at_ms = from->at_ms,
                                                           .run = from->run,
                                                           .level = from->level,
                                                           .text = from->text.at };
}

static void convert_audit(const struct pawl__backend *mem, const void *data, void *out)
{
    (void)mem;
    const struct pawl__audit *from = data;
    *(struct pawl_audit_entry *)out = (struct pawl_audit_entry){ .at_ms = from->at_ms,
                                                                 .action = from->action,
                                                                 .actor = from->actor,
                                                                 .reason = from->reason,
                                                                 .from = from->from,
                                                                 .to = from->to };
}

static bool read_parts(const struct pawl__backend *mem, struct pawl_job_id id,
                       struct pawl__arena *arena, struct pawl_story *story)
{
    static const struct pawl__mem_listing listings[] = {
        { PAWL__MEM_FAILURE, sizeof(struct pawl_failure), NULL, convert_failure },
        { PAWL__MEM_LINE, sizeof(struct pawl_log_line), NULL, convert_line },
        { PAWL__MEM_AUDIT, sizeof(struct pawl_audit_entry), NULL, convert_audit },
    };
    struct pawl__mem_list lists[3];
    for (size_t i = 0; i < 3; i++) {
        if (!pawl__mem_list(mem, &listings[i], &id, NULL, arena, &lists[i])) return false;
    }
    story->failures = lists[0].at;
    story->failure_count = lists[0].count;
    story->log = lists[1].at;
    story->log_count = lists[1].count;
    story->audit = lists[2].at;
    story->audit_count = lists[2].count;
    return true;
}

static bool read_progress(const struct pawl__backend *mem, struct pawl_job_id id,
                          struct pawl__arena *arena, struct pawl_story *story)
{
    const struct pawl__mem_row *row = pawl__mem_first_of(mem, PAWL__MEM_PROGRESS, id);
    struct pawl__progress newest;
    if (!row) return true;
    if (!pawl__mem_copy(PAWL__MEM_PROGRESS, row->data, arena, &newest)) return false;
    if (!pawl__progress_shows(&story->job, newest.run)) return true;
    story->progress = newest.value;
    story->progress_at_ms = newest.at_ms;
    story->progress_message = newest.message.at;
    story->progress_data = newest.data;
    return true;
}

static bool read_checkpoint(const struct pawl__backend *mem, struct pawl_job_id id,
                            struct pawl__arena *arena, struct pawl_story *story)
{
    const struct pawl__mem_row *row = pawl__mem_first_of(mem, PAWL__MEM_CHECKPOINT, id);
    struct pawl__checkpoint newest;
    if (!row) return true;
    if (!pawl__mem_copy(PAWL__MEM_CHECKPOINT, row->data, arena, &newest)) return false;
    story->checkpoint_sequence = newest.sequence;
    story->checkpoint_at_ms = newest.at_ms;
    story->checkpoint = newest.state;
    return true;
}

static enum pawl_err read_story(const struct pawl__backend *mem, struct pawl_job_id id,
                                const struct pawl_job *known, struct pawl__arena *arena,
                                struct pawl_story *out, struct pawl_diag *diag)
{
    const struct pawl__mem_row *row = pawl__mem_job_find(mem, id);
    if (!known && !row) return pawl__fail_unknown(diag, id);
    struct pawl_job job = known ? *known : pawl__mem_view(mem, row);
    bool ok = true;
    out->job = job;
    if (!known) ok = copy_job(&job, arena, &out->job);
    ok = ok && read_parts(mem, id, arena, out) && read_progress(mem, id, arena, out) &&
         read_checkpoint(mem, id, arena, out);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}

enum pawl_err pawl__mem_story(struct pawl__backend *mem, struct pawl_job_id id,
                              const struct pawl_job *known, struct pawl__arena *arena,
                              struct pawl_story *out, struct pawl_diag *diag)
{
    *out = (struct pawl_story){ .progress = -1,
                                .progress_message = "",
                                .progress_data = { "", 0 },
                                .checkpoint = { "", 0 },
                                .owned = out->owned };
    pawl__lock(&mem->mutex);
    enum pawl_err err = read_story(mem, id, known, arena, out, diag);
    pawl__unlock(&mem->mutex);
    return err;
}
