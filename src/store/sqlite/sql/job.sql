-- A job's facts, and where it stands.

-- What the store keeps with the facts for its own use.
-- fragment: own_columns
    key, tail, head, lane, rank, extras, keys

-- fragment: own
    j.key, j.tail, j.head, j.lane, j.rank, j.extras, j.keys

-- fragment: facts
    {{own}}, {{job.facts of j}}

-- What is long is not even read when it is not wanted.
-- fragment: listed_facts
    {{own}}, {{job.facts of j | args = CASE WHEN NOT :brief THEN j.args END}}

-- A job stands where pawl_wait says, else active, else where pawl_done says, else it is available.
-- fragment: live
    | state = CASE WHEN w.key IS NOT NULL THEN w.state
                   WHEN a.key IS NOT NULL THEN 4
                   WHEN d.key IS NOT NULL THEN d.state
                   ELSE 2 END
    | paused_from = w.paused_from
    | run = coalesce(w.run, a.run, d.run, r.run, 0)
    | base_run = coalesce(w.base_run, a.base_run, d.base_run, r.base_run, 0)
    | free_runs = coalesce(w.free_runs, a.free_runs, d.free_runs, r.free_runs, 0)
    | started_at_ms = coalesce(w.started_at_ms, a.started_at_ms, d.started_at_ms)
    | lease_until_ms = coalesce(w.lease_until_ms, a.lease_until_ms)
    | worker = coalesce(w.worker, a.worker, d.worker)
    | reason = coalesce(w.reason, d.reason)

-- fragment: stand
    {{job.stand of d {{live}}}}

-- fragment: listed_stand
    {{job.stand of d {{live}} | result = CASE WHEN NOT :brief THEN d.result END}}

-- fragment: archived
    | paused_from = NULL | lease_until_ms = NULL

-- fragment: end_columns
    {{job.stand | no paused_from | no lease_until_ms}}

-- fragment: places
    LEFT JOIN pawl_wait AS w ON w.key = j.key
    LEFT JOIN pawl_active AS a ON a.key = j.key
    LEFT JOIN pawl_done AS d ON d.key = j.key
    LEFT JOIN pawl_ready AS r ON r.lane = j.lane AND r.rank = j.rank AND r.key = j.key

-- fragment: names
    q.name AS queue, l.type

-- fragment: lanes
    JOIN pawl_lane AS l ON l.id = j.lane
    JOIN pawl_queue AS q ON q.id = l.queue_id

-- What query.c puts its filters behind.
-- name: query_live
SELECT {{listed_facts}}, {{listed_stand}}, 0 AS archived, {{names}}
FROM pawl_job AS j
{{places}}
{{lanes}}

-- name: query_archive
SELECT {{listed_facts}},
    {{job.stand of j {{archived}} | result = CASE WHEN NOT :brief THEN j.result END}},
    1 AS archived, {{names}}
FROM pawl_archive AS j
{{lanes}}

-- name: get_live
SELECT {{facts}}, {{stand}}, 0 AS archived, {{names}}
FROM pawl_job AS j
{{places}}
{{lanes}}
WHERE j.key = :key

-- name: get_archived
SELECT {{facts}}, {{job.stand of j {{archived}}}}, 1 AS archived, {{names}}
FROM pawl_archive AS j
{{lanes}}
WHERE j.key = :key

-- name: match_live
SELECT j.key, j.tail, j.head
FROM pawl_job AS j
{{places}}
{{lanes}}

-- name: match_archive
SELECT j.key, j.tail, j.head
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

-- name: job_facts
SELECT {{facts}}
FROM pawl_job AS j
WHERE j.key = :key

-- name: job_facts_brief
SELECT {{own}}, {{job.facts of j | args = NULL}}
FROM pawl_job AS j
WHERE j.key = :key

-- name: job_args
SELECT args
FROM pawl_job
WHERE key = :key

-- name: job_key
SELECT key
FROM pawl_job
WHERE key = :head AND tail = :tail AND head IS NULL

-- name: job_key_displaced
SELECT key
FROM pawl_job
WHERE head = :head AND tail = :tail

-- name: archive_key
SELECT key
FROM pawl_archive
WHERE key = :head AND tail = :tail AND head IS NULL

-- name: archive_key_displaced
SELECT key
FROM pawl_archive
WHERE head = :head AND tail = :tail

-- name: archive_high
SELECT max(key)
FROM pawl_archive

-- name: archive_has
SELECT 1
FROM pawl_archive
WHERE key = :key
