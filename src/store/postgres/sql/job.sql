-- A job's facts, and where it stands.

-- What the store keeps with the facts for its own use.
-- fragment: own_columns
    id, lane, keys

-- fragment: own
    j.id, j.lane, j.keys

-- fragment: facts
    {{own}}, {{job.facts of j}}

-- The length is known without reading what it is of.
-- fragment: claimed_facts
    {{own}},
    {{job.facts of j | args = CASE WHEN octet_length(j.args) <= :args_max THEN j.args END}}

-- fragment: fact_columns
    {{own_columns}}, {{job.facts}}

-- What every new job has alike.
-- fragment: unborn
    run, base_run, free_runs, dead_letter

-- fragment: stand
    {{job.stand of j}}

-- fragment: archived_stand
    {{job.stand of j | paused_from = NULL::smallint | lease_until_ms = NULL::bigint}}

-- fragment: end
    {{job.stand of j | no paused_from | no lease_until_ms}}

-- fragment: end_columns
    {{job.stand | no paused_from | no lease_until_ms}}

-- fragment: names
    q.name AS queue, n.type

-- fragment: lanes
    JOIN pawl_lane AS n ON n.id = j.lane
    JOIN pawl_queue AS q ON q.id = n.queue_id

-- What query.c puts its filters behind.
-- name: query_live
SELECT {{facts}}, {{stand}}, false AS archived, {{names}}
FROM pawl_job AS j
{{lanes}}

-- name: query_archive
SELECT {{facts}}, {{archived_stand}}, true AS archived, {{names}}
FROM pawl_archive AS j
{{lanes}}

-- A page and how many bytes it has come to with each job, in the order of the page. Lengths are
-- known without reading what they are of.
-- name: page_sized
SELECT p.*, row_number() OVER so_far AS nth,
    sum(coalesce(octet_length(p.args), 0) + coalesce(octet_length(p.meta), 0)
        + coalesce(octet_length(p.result), 0)) OVER so_far AS bytes
FROM page AS p

-- The same without what is long in the jobs that do not fit; the first few are whole in any case.
-- name: query_within
SELECT {{own}}, {{job.facts of j | args = CASE WHEN j.whole THEN j.args END}},
    {{job.stand of j | result = CASE WHEN j.whole THEN j.result END}},
    j.archived, j.queue, j.type, j.whole
FROM (SELECT s.*, s.bytes <= :bytes_max OR s.nth <= :least AS whole FROM sized AS s) AS j

-- name: match_live
SELECT j.id, j.created_at_ms
FROM pawl_job AS j
{{lanes}}

-- name: match_archive
SELECT j.id, j.created_at_ms
FROM pawl_archive AS j
{{lanes}}

-- name: count_live
SELECT count(*)
FROM pawl_job AS j
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
{{lanes}}
UNION ALL
SELECT {{facts}}, {{archived_stand}}, true AS archived, {{names}}, g.at
FROM unnest(:ids) WITH ORDINALITY AS g (id, at)
JOIN pawl_archive AS j ON j.id = g.id
{{lanes}}
ORDER BY at

-- name: archive_has
-- A statement of its own, after the insert that may have waited for whoever archived the job.
SELECT id
FROM pawl_archive
WHERE id = ANY (:ids)

-- name: job_delete
DELETE FROM pawl_job
WHERE id = ANY (:ids)

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

-- name: key_try
-- Whether each of them is ours now; nobody is waited for.
SELECT a.free AND pg_try_advisory_xact_lock(g.n)
FROM (SELECT pg_try_advisory_xact_lock_shared(:number) AS free OFFSET 0) AS a
CROSS JOIN unnest(:numbers) AS g (n)

-- name: key_records
-- The keys of jobs, which do not change once a job was checked; read without a lock, before the
-- locks.
SELECT keys
FROM pawl_job
WHERE id = ANY (:ids) AND keys IS NOT NULL
UNION ALL
SELECT keys
FROM pawl_archive
WHERE id = ANY (:ids) AND keys IS NOT NULL

-- name: tag_insert
INSERT INTO pawl_tag (tag, id)
SELECT t.tag, g.id
FROM unnest(:ids, :tags) AS g (id, tags)
CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t (tag)
ON CONFLICT DO NOTHING
