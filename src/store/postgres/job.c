/* A row and the job that callers see: columns and fields. */
#include "store/postgres/postgres.h"

enum pawl_err pawl__pg_read_facts(const PGresult *result, int row, int first,
                                  struct pawl__arena *arena, struct pawl_job *job)
{
    job->id = pawl__pg_id(result, row, first + COL_ID);
    job->priority = (int32_t)pawl__pg_int(result, row, first + COL_PRIORITY);
    job->attempts_max = (int32_t)pawl__pg_int(result, row, first + COL_ATTEMPTS_MAX);
    job->created_at_ms = pawl__pg_int(result, row, first + COL_CREATED);
    job->due_at_ms = pawl__pg_int(result, row, first + COL_DUE);
    job->expires_at_ms = pawl__pg_int(result, row, first + COL_EXPIRES);
    job->timeout_ms = pawl__pg_int(result, row, first + COL_TIMEOUT);
    job->lease_ms = pawl__pg_int(result, row, first + COL_LEASE);
    job->sla_soft_at_ms = pawl__pg_int(result, row, first + COL_SLA_SOFT);
    job->sla_hard_at_ms = pawl__pg_int(result, row, first + COL_SLA_HARD);
    job->keep_ms = pawl__pg_int(result, row, first + COL_KEEP);
    job->worker = job->reason = "";
    job->result = (struct pawl_span){ "", 0 };
#define TEXT(column) pawl__pg_text(result, row, first + (column), arena)
#define SPAN(column, out) pawl__pg_span(result, row, first + (column), arena, out)
    bool ok = SPAN(COL_ARGS, &job->args) && SPAN(COL_META, &job->meta) &&
              SPAN(COL_EXTRA, &job->extra) && SPAN(COL_TAGS, &job->tags) &&
              SPAN(COL_RETRY, &job->retry) && SPAN(COL_UNIQUE, &job->unique) &&
              (job->idempotency_key = TEXT(COL_IDEMPOTENCY)) &&
              (job->business_key = TEXT(COL_BUSINESS)) && (job->principal = TEXT(COL_PRINCIPAL)) &&
              (job->trace_id = TEXT(COL_TRACE));
#undef SPAN
#undef TEXT
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}

enum pawl_err pawl__pg_read_job(const PGresult *result, int row, struct pawl__arena *arena,
                                struct pawl_job *job)
{
    enum pawl_err err = pawl__pg_read_facts(result, row, 0, arena, job);
    if (err) return err;
    job->state = (enum pawl_state)pawl__pg_int(result, row, COL_STATE);
    job->paused_from = (enum pawl_state)pawl__pg_int(result, row, COL_PAUSED_FROM);
    job->run = pawl__pg_int(result, row, COL_RUN);
    job->attempt = job->run - pawl__pg_int(result, row, COL_BASE_RUN);
    job->free_runs = pawl__pg_int(result, row, COL_FREE_RUNS);
    job->started_at_ms = pawl__pg_int(result, row, COL_STARTED);
    job->lease_until_ms = pawl__pg_int(result, row, COL_LEASE_UNTIL);
    job->finished_at_ms = pawl__pg_int(result, row, COL_FINISHED);
    job->dead_letter = pawl__pg_bool(result, row, COL_DEAD_LETTER);
    job->archived = pawl__pg_bool(result, row, COL_ARCHIVED);
    bool ok = (job->worker = pawl__pg_text(result, row, COL_WORKER, arena)) &&
              (job->reason = pawl__pg_text(result, row, COL_REASON, arena)) &&
              pawl__pg_span(result, row, COL_RESULT, arena, &job->result) &&
              (job->queue = pawl__pg_text(result, row, COL_QUEUE, arena)) &&
              (job->type = pawl__pg_text(result, row, COL_TYPE, arena));
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}
