/* A row and the job that callers see: columns and fields. */
#include "store/postgres/postgres.h"

enum pawl_err pawl__pg_read_facts(const PGresult *result, int row, int first,
                                  struct pawl__arena *arena, struct pawl_job *job)
{
    *job = pawl__job_empty;
    job->id = pawl__pg_id(result, row, first + COL_ID);
    return pawl__pg_read(result, row, first + COL_FACTS, &pawl__job_fields[PAWL__JOB_FACTS_FIRST],
                         PAWL__JOB_FACTS_COUNT, arena, job);
}

enum pawl_err pawl__pg_read_job(const PGresult *result, int row, struct pawl__arena *arena,
                                struct pawl_job *job)
{
    enum pawl_err err = pawl__pg_read_facts(result, row, 0, arena, job);
    if (!err) {
        err = pawl__pg_read(result, row, COL_STAND, &pawl__job_fields[PAWL__JOB_STAND_FIRST],
                            PAWL__JOB_STAND_COUNT, arena, job);
    }
    if (err) return err;
    job->attempt = job->run - job->attempt; // the column is base_run
    job->archived = pawl__pg_bool(result, row, COL_ARCHIVED);
    bool ok = (job->queue = pawl__pg_text(result, row, COL_QUEUE, arena)) &&
              (job->type = pawl__pg_text(result, row, COL_TYPE, arena));
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}
