-- A job's facts, and where it stands.

-- fragment: facts
    j.id, j.lane, j.priority, j.attempts_max, j.created_at_ms, j.due_at_ms, j.args,
    j.expires_at_ms, j.timeout_ms, j.lease_ms, j.sla_soft_at_ms, j.sla_hard_at_ms, j.keep_ms,
    j.meta, j.extra, j.tags, j.retry, j.uniqueness, j.keys, j.idempotency_key, j.business_key,
    j.principal, j.trace_id

-- fragment: fact_columns
    id, lane, priority, attempts_max, created_at_ms, due_at_ms, args,
    expires_at_ms, timeout_ms, lease_ms, sla_soft_at_ms, sla_hard_at_ms, keep_ms,
    meta, extra, tags, retry, uniqueness, keys, idempotency_key, business_key,
    principal, trace_id

-- A job stands where pawl_live says, else where pawl_done says.
-- fragment: stand
    coalesce(l.state, d.state) AS state,
    l.paused_from,
    coalesce(l.run, d.run) AS run,
    coalesce(l.base_run, d.base_run) AS base_run,
    coalesce(l.free_runs, d.free_runs) AS free_runs,
    coalesce(l.started_at_ms, d.started_at_ms) AS started_at_ms,
    l.lease_until_ms,
    d.finished_at_ms, d.dead_letter,
    coalesce(l.worker, d.worker) AS worker,
    coalesce(l.reason, d.reason) AS reason,
    d.result

-- fragment: places
    LEFT JOIN pawl_live AS l ON l.id = j.id
    LEFT JOIN pawl_done AS d ON d.id = j.id

-- fragment: names
    q.name AS queue, n.type

-- fragment: lanes
    JOIN pawl_lane AS n ON n.id = j.lane
    JOIN pawl_queue AS q ON q.id = n.queue_id

-- fragment: archived_stand
    j.state, NULL::smallint AS paused_from, j.run, j.base_run, j.free_runs, j.started_at_ms,
    NULL::bigint AS lease_until_ms, j.finished_at_ms, j.dead_letter, j.worker, j.reason, j.result

-- What query.c puts its filters behind.
-- name: query_live
SELECT {{facts}}, {{stand}}, false AS archived, {{names}}
FROM pawl_job AS j
{{places}}
{{lanes}}

-- name: query_archive
SELECT {{facts}}, {{archived_stand}}, true AS archived, {{names}}
FROM pawl_archive AS j
{{lanes}}

-- name: match_live
SELECT j.id, j.created_at_ms
FROM pawl_job AS j
{{places}}
{{lanes}}

-- name: match_archive
SELECT j.id, j.created_at_ms
FROM pawl_archive AS j
{{lanes}}

-- name: count_live
SELECT count(*)
FROM pawl_job AS j
{{places}}
{{lanes}}

-- name: count_archive
SELECT count(*)
FROM pawl_archive AS j
{{lanes}}

-- name: get_many
-- In the order asked for: an id that is asked for twice is given twice.
SELECT {{facts}}, {{stand}}, false AS archived, {{names}}, g.at
FROM unnest(:ids) WITH ORDINALITY AS g (id, at)
JOIN pawl_job AS j ON j.id = g.id
{{places}}
{{lanes}}
UNION ALL
SELECT {{facts}}, {{archived_stand}}, true AS archived, {{names}}, g.at
FROM unnest(:ids) WITH ORDINALITY AS g (id, at)
JOIN pawl_archive AS j ON j.id = g.id
{{lanes}}
ORDER BY at

-- name: job_insert
INSERT INTO pawl_job ({{fact_columns}})
VALUES (:id, :lane, :priority, :attempts_max, :created_at_ms, :due_at_ms, :args,
    :expires_at_ms, :timeout_ms, :lease_ms, :sla_soft_at_ms, :sla_hard_at_ms, :keep_ms,
    :meta, :extra, :tags, :retry, :uniqueness, :keys, :idempotency_key, :business_key,
    :principal, :trace_id)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: archive_has
-- A statement of its own, after the insert that may have waited for whoever archived the job.
SELECT id
FROM pawl_archive
WHERE id = ANY (:ids)

-- name: job_facts
SELECT {{facts}}
FROM pawl_job AS j
WHERE j.id = :id

-- fragment: place_columns
    j.id, j.lane, j.priority, j.attempts_max, j.created_at_ms, j.due_at_ms, j.expires_at_ms,
    j.timeout_ms, j.sla_soft_at_ms, j.sla_hard_at_ms, j.tags, j.retry, j.keys,
    coalesce(l.state, d.state), l.paused_from, coalesce(l.run, d.run),
    coalesce(l.base_run, d.base_run), coalesce(l.free_runs, d.free_runs),
    coalesce(l.started_at_ms, d.started_at_ms), l.lease_until_ms, coalesce(l.worker, d.worker),
    l.rank, l.id IS NOT NULL, d.id IS NOT NULL

-- name: place_live
-- Locks the job. d is read without a lock: nobody touches it but who holds this one.
SELECT {{place_columns}}
FROM pawl_live AS l
JOIN pawl_job AS j ON j.id = l.id
LEFT JOIN pawl_done AS d ON d.id = l.id
WHERE l.id = :id
FOR UPDATE OF l

-- name: place_done
SELECT {{place_columns}}
FROM pawl_done AS d
JOIN pawl_job AS j ON j.id = d.id
LEFT JOIN pawl_live AS l ON l.id = d.id
WHERE d.id = :id
FOR UPDATE OF d

-- name: place_archived
SELECT lane, state, created_at_ms, tags, keys
FROM pawl_archive
WHERE id = :id
FOR UPDATE

-- name: job_known
-- Kept from being deleted until the commit.
SELECT 1
FROM pawl_job
WHERE id = :id
FOR KEY SHARE

-- name: archive_known
SELECT 1
FROM pawl_archive
WHERE id = :id
FOR KEY SHARE

-- name: job_redue
UPDATE pawl_job
SET due_at_ms = :due_at_ms
WHERE id = :id

-- name: job_reprioritise
UPDATE pawl_job
SET priority = :priority
WHERE id = :id

-- name: job_never_expires
UPDATE pawl_job
SET expires_at_ms = NULL
WHERE id = :id

-- name: job_delete
DELETE FROM pawl_job
WHERE id = ANY (:ids)

-- name: archive_insert
INSERT INTO pawl_archive ({{fact_columns}}, state, run, base_run, free_runs, started_at_ms,
    finished_at_ms, dead_letter, worker, reason, result)
SELECT {{facts}}, d.state, d.run, d.base_run, d.free_runs, d.started_at_ms,
    d.finished_at_ms, d.dead_letter, d.worker, d.reason, d.result
FROM unnest(:ids) AS g (id)
CROSS JOIN LATERAL (SELECT {{fact_columns}} FROM pawl_job WHERE id = g.id OFFSET 0) AS j
CROSS JOIN LATERAL (
    SELECT state, run, base_run, free_runs, started_at_ms, finished_at_ms, dead_letter, worker,
        reason, result
    FROM pawl_done
    WHERE id = g.id
    OFFSET 0
) AS d

-- name: archive_restore_job
INSERT INTO pawl_job ({{fact_columns}})
SELECT {{facts}}
FROM pawl_archive AS j
WHERE j.id = :id

-- name: archive_restore_done
INSERT INTO pawl_done (id, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, reason, result)
SELECT id, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, reason, result
FROM pawl_archive
WHERE id = :id

-- name: archive_delete
DELETE FROM pawl_archive
WHERE id = ANY (:ids)

-- name: key_lock_all
-- For a batch with more keys than the server has room for locks.
SELECT pg_advisory_xact_lock(:number)

-- name: key_lock
-- Behind whoever has locked all. In one order for everybody, so that no two wait for each other.
SELECT pg_advisory_xact_lock_shared(:number)
UNION ALL
SELECT pg_advisory_xact_lock(g.n)
FROM unnest(:numbers) AS g (n)

-- name: key_records
-- The keys of jobs, which never change; read without a lock, before the locks.
SELECT keys
FROM pawl_job
WHERE id = ANY (:ids) AND keys IS NOT NULL
UNION ALL
SELECT keys
FROM pawl_archive
WHERE id = ANY (:ids) AND keys IS NOT NULL

-- name: key_holders
SELECT id, until_ms
FROM pawl_key
WHERE digest = :digest
ORDER BY id DESC

-- name: key_held
SELECT DISTINCT digest
FROM pawl_key
WHERE digest = ANY (:digests)

-- name: key_insert
INSERT INTO pawl_key (digest, id, until_ms)
VALUES (:digest, :id, :until_ms)
ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms

-- name: key_delete
DELETE FROM pawl_key
WHERE digest = :digest AND id = :id

-- name: tag_insert
INSERT INTO pawl_tag (tag, id)
SELECT t.tag, g.id
FROM unnest(:ids, :tags) AS g (id, tags)
CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t (tag)
ON CONFLICT DO NOTHING

-- name: tag_delete
DELETE FROM pawl_tag
WHERE id = :id AND tag IN (SELECT json_array_elements_text(:tags::json))

-- name: deed_insert
INSERT INTO pawl_deed (at_ms, job_id, subject, action, actor, reason, from_state, to_state)
VALUES (:at_ms, :job_id, :subject, :action, :actor, :reason, :from_state, :to_state)

-- name: deed_delete
DELETE FROM pawl_deed
WHERE job_id = ANY (:ids)
