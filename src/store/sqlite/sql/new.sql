-- New jobs written and holders of keys read, many in one statement: pawl_set_new and pawl_set_key
-- are virtual tables over arrays that new.c and the working set hold.

-- name: new_jobs_plain
INSERT INTO pawl_job ({{own_columns}}, {{job.head}})
SELECT key, tail, NULL, lane, rank, 0, NULL, {{job.head}}
FROM pawl_set_new

-- name: new_jobs
INSERT INTO pawl_job ({{own_columns}}, {{job.facts}})
SELECT {{own_columns}}, {{job.facts}}
FROM pawl_set_new

-- name: new_known
-- Is one of these ids that of a displaced job? Another one's is its key.
SELECT 1
FROM pawl_set_new AS n
WHERE EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.head = n.key AND j.tail = n.tail)
    OR EXISTS (SELECT 1 FROM pawl_archive AS j WHERE j.head = n.key AND j.tail = n.tail)
LIMIT 1

-- name: new_ready
INSERT INTO pawl_ready (lane, rank, key, run, base_run, free_runs)
SELECT lane, rank, key, 0, 0, 0
FROM pawl_set_new
WHERE state = 2

-- name: new_wait
INSERT INTO pawl_wait (key, lane, state, rank, run, base_run, free_runs, due_at_ms)
SELECT key, lane, state, rank, 0, 0, 0, due_at_ms
FROM pawl_set_new
WHERE state <> 2

-- name: new_expiry
INSERT OR IGNORE INTO pawl_expiry (at_ms, key)
SELECT expires_at_ms, key
FROM pawl_set_new
WHERE expires_at_ms IS NOT NULL

-- name: new_tags
INSERT OR IGNORE INTO pawl_tag (tag, key)
SELECT t.value, n.key
FROM pawl_set_new AS n
CROSS JOIN json_each(n.tags) AS t

-- name: set_holders
SELECT s.at, k.id, k.until_ms
FROM pawl_set_key AS s
CROSS JOIN pawl_key AS k ON k.digest = s.digest
