-- Columns of the views at the end, of a row of pawl_job or pawl_archive.
-- fragment: ratchet_columns
    j.id AS job_id, n.type AS job_type, q.name AS queue, j.priority::integer AS priority,
    pawl__time(j.due_at_ms) AS scheduled_time, pawl__time(j.created_at_ms) AS created_at,
    j.args AS payload, j.meta AS params, j.business_key, j.idempotency_key,
    j.principal AS caller_principal, j.trace_id AS trace_context,
    j.timeout_ms / 1000.0 AS timeout_sec, j.attempts_max - 1 AS max_retries,
    j.run - j.base_run - j.free_runs AS attempts, j.run AS claim_seq,
    j.worker AS picked_by, pawl__time(j.started_at_ms) AS picked_at,
    (SELECT f.message FROM pawl_failure AS f WHERE f.id = j.id ORDER BY f.run DESC LIMIT 1)
        AS last_error,
    pawl__time(j.finished_at_ms) AS terminated_at,
    CASE WHEN j.state >= 7 THEN j.reason END AS terminal_error, j.result AS job_result,
    j.dead_letter

-- fragment: ratchet_boost
    CASE WHEN j.state < 7
        THEN greatest(0, extract(epoch FROM statement_timestamp())::numeric * 1000 - j.due_at_ms)
            / coalesce((SELECT nullif(s.value::bigint, 0) FROM pawl_setting AS s
                WHERE s.name = 'rank.boost_ms'), 900000)
        ELSE 0 END AS age_boost

-- fragment: ratchet_names
    LEFT JOIN pawl_lane AS n ON n.id = j.lane
    LEFT JOIN pawl_queue AS q ON q.id = n.queue_id

-- One that was paused after its end, and has gone back there, can be on the roll twice.
-- fragment: ratchet_ended
    FROM pawl_ended AS e
    JOIN pawl_job AS j ON j.id = ANY (e.ids) AND j.state = e.state
        AND j.finished_at_ms = e.finished_at_ms
    {{ratchet_names}}
    WHERE NOT EXISTS (SELECT 1 FROM pawl_ended AS o WHERE o.state = e.state
        AND o.finished_at_ms = e.finished_at_ms AND o.ctid < e.ctid AND j.id = ANY (o.ids))

-- name: script_view
CREATE OR REPLACE VIEW scheduler_node AS
SELECT n.name AS node_id, pawl__time(n.heartbeat_at_ms) AS heartbeat_ts,
    pawl__time(n.started_at_ms) AS started_at, n.info AS node_info
FROM pawl_node AS n;

CREATE OR REPLACE VIEW scheduler_lock AS
SELECT k.name AS lock_name, k.owner AS owner_node, pawl__time(k.locked_at_ms) AS locked_at,
    pawl__time(k.expires_at_ms) AS expires_at
FROM pawl_lock AS k
WHERE k.owner <> '';

-- One arm for each word, and more where it has several places, so that who asks for a word reads no
-- other's jobs: a roll says where to look, and the job what is so. Those that succeeded are most of
-- the table, and no roll makes that shorter. Joined from the left: what nobody asks for is not
-- looked up.
CREATE OR REPLACE VIEW scheduler_job AS
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text AS status,
    NULL::text AS paused_from_status
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.waits
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state = 2 AND j.id IN (SELECT unnest(r.ids) FROM pawl_ready AS r)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.held AND j.state = 3
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'RUNNING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state = 4 AND j.id IN (SELECT unnest(l.ids) FROM pawl_lease AS l)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PAUSED'::text,
    CASE WHEN j.paused_from = 10 THEN 'FAILED' ELSE 'PENDING' END
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.held AND j.state = 6
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'SUCCEEDED'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state IN (7, 8)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'CANCELED'::text, NULL::text
{{ratchet_ended}} AND e.state = 9
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'FAILED'::text, NULL::text
{{ratchet_ended}} AND e.state IN (10, 11);

CREATE OR REPLACE VIEW scheduler_job_archive AS
SELECT {{ratchet_columns}},
    CASE WHEN j.state IN (7, 8) THEN 'SUCCEEDED' WHEN j.state = 9 THEN 'CANCELED' ELSE 'FAILED' END
        AS status
FROM pawl_archive AS j
{{ratchet_names}};
