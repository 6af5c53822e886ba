-- New jobs written and holders of keys read, many in one statement.

-- name: new_jobs_plain
INSERT INTO pawl_job (id, lane, rank, state, waits, held, perishes, arrival, {{job.head}},
    {{unborn}})
SELECT id, lane, rank, state, state = 1, state = 3, false, arrival,
    {{job.head | created_at_ms = :now_ms}}, 0, 0, 0, false
FROM unnest(:ids, :lanes, :ranks, :states, :arrivals, {{job.head bound | no created_at_ms}})
    AS g (id, lane, rank, state, arrival, {{job.head | no created_at_ms}})

-- name: new_jobs_alike
-- Most jobs of a batch differ in little: each list less makes a row cheaper.
INSERT INTO pawl_job (id, lane, priority, attempts_max, created_at_ms, due_at_ms, rank, state,
    waits, held, perishes, args, {{unborn}})
SELECT id, :lane, :priority, :attempts_max, :now_ms, :due_at_ms, :rank, :state,
    :waits, :held, false, args, 0, 0, 0, false
FROM unnest(:ids, :args) AS g (id, args)

-- name: new_jobs
INSERT INTO pawl_job (id, lane, rank, state, waits, held, perishes, arrival, keys, {{job.facts}},
    {{unborn}})
SELECT id, lane, rank, state, state = 1, state = 3, expires_at_ms IS NOT NULL, arrival, keys,
    {{job.facts | created_at_ms = :now_ms}}, 0, 0, 0, false
FROM unnest(:ids, :lanes, :ranks, :states, :arrivals, {{job.facts bound | no created_at_ms}}, :keys)
    AS g (id, lane, rank, state, arrival, {{job.facts | no created_at_ms}}, keys)

-- name: set_holders
-- Whoever asks holds the keys' locks.
SELECT digest, id, until_ms
FROM pawl_key
WHERE digest = ANY (:digests)
