-- The working set: what one commit batch is about is read and written by a few statements; see
-- set_load.c and set_store.c. How rows are named, and why, is said in move.sql.

-- The jobs are locked in one order for all, against all but those who only keep them from being
-- deleted. A row that another transaction held is read as that one left it. Of a job that was
-- paused after it had ended both reasons are kept; otherwise `reason` is the one there is.
-- fragment: set_live_rows
SELECT j.id, j.lane, j.arrival, j.ctid, {{row.read of j
    | reason = CASE WHEN j.state < 7 THEN j.reason END
    | end_reason = CASE WHEN j.state < 7 THEN j.end_reason ELSE j.reason END}}
FROM pawl_job AS j
WHERE j.id = ANY (:ids)
ORDER BY j.id

-- fragment: set_archived_rows
SELECT j.id, j.lane, j.arrival, NULL::tid, {{row.read of j | rank = 0::bigint
    | paused_from = NULL::smallint | lease_until_ms = NULL::bigint | reason = NULL::text
    | end_reason = j.reason}}
FROM pawl_archive AS j
WHERE j.id = ANY (:ids)
ORDER BY j.id
FOR UPDATE

-- name: set_live
{{set_live_rows}}
FOR NO KEY UPDATE

-- name: set_live_free
-- Without those that others hold.
{{set_live_rows}}
FOR NO KEY UPDATE SKIP LOCKED

-- name: set_live_shared
-- Keeps them from being deleted, and waits only for who does that.
{{set_live_rows}}
FOR KEY SHARE

-- name: set_archived
{{set_archived_rows}}

-- name: set_archived_free
{{set_archived_rows}} SKIP LOCKED

-- name: set_known
-- Both tables as of one instant: a job that moves from one to the other is in one of them.
SELECT id
FROM pawl_job
WHERE id = ANY (:ids)
UNION ALL
SELECT id
FROM pawl_archive
WHERE id = ANY (:ids)

-- name: set_job
-- Arguments that are not wanted are not read.
SELECT {{claimed_facts}}
FROM pawl_job AS j
WHERE j.id = ANY (:ids)

-- name: set_crashes
SELECT id, run
FROM pawl_failure
WHERE id = ANY (:ids) AND lapsed

-- name: set_restore
WITH gone AS (
    DELETE FROM pawl_archive AS j
    WHERE j.id = ANY (:ids)
    RETURNING {{facts}}, {{end}}, j.arrival
)
INSERT INTO pawl_job ({{fact_columns}}, {{end_columns}}, arrival, rank, waits, held, perishes)
SELECT {{fact_columns}}, {{end_columns}}, arrival, 0, false, false, false
FROM gone

-- name: set_archive
WITH gone AS (
    DELETE FROM pawl_job AS j
    WHERE j.id = ANY (:ids)
    RETURNING {{facts}}, {{end}}, j.arrival
)
INSERT INTO pawl_archive ({{fact_columns}}, {{end_columns}}, arrival)
SELECT {{fact_columns}}, {{end_columns}}, arrival
FROM gone

-- fragment: set_columns
    {{row.written set g | no end_new
    | dead_letter = g.dead_letter <> 0
    | reason = CASE WHEN g.finished_at_ms IS NULL THEN g.reason
                    WHEN g.state < 7 THEN coalesce(g.reason, g.end_reason)
                    ELSE g.end_reason END
    | end_reason = CASE WHEN g.finished_at_ms IS NOT NULL AND g.state < 7 THEN g.end_reason END
    | result = CASE WHEN g.end_new <> 0 THEN g.result
                    WHEN g.finished_at_ms IS NOT NULL THEN j.result END}},
    waits = g.state IN (1, 5), held = g.state IN (3, 6),
    perishes = g.expires_at_ms IS NOT NULL AND g.state IN (1, 2, 3, 5)

-- name: set_write
-- The rows are locked, so they are where they were when they were read.
UPDATE pawl_job AS j
SET {{set_columns}}
FROM unnest(:places, {{row.written bound}}) AS g (place, {{row.written}})
WHERE j.ctid = g.place

-- name: set_write_restored
-- The same for jobs that have just come back from the archive.
WITH g AS MATERIALIZED (
    SELECT r.place, l.*
    FROM unnest(:ids, {{row.written bound}}) AS l (id, {{row.written}})
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = l.id
        OFFSET 0
    ) AS r
)
UPDATE pawl_job AS j
SET {{set_columns}}
FROM g
WHERE j.ctid = g.place

-- name: set_failure
INSERT INTO pawl_failure (id, {{failure.fields}})
SELECT g.id, {{failure.fields of g | lapsed = g.lapsed <> 0
    | retry_delay_ms = nullif(g.retry_delay_ms, -1) | worker = coalesce(g.worker, '')}}
FROM unnest(:id, {{failure.fields bound}}) AS g (id, {{failure.fields}})

-- name: set_trim
-- Lapses stay: they are the crash credits.
DELETE FROM pawl_failure
WHERE ctid = ANY (ARRAY (
    SELECT f.place
    FROM unnest(:id, {{trim.fields bound}}) AS g (id, {{trim.fields}})
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place
        FROM pawl_failure AS l
        WHERE l.id = g.id AND l.run <= g.run AND NOT l.lapsed
        OFFSET 0
    ) AS f
))

-- name: set_audit
INSERT INTO pawl_audit ({{audit.fields}})
SELECT {{audit.fields of g
    | job_id = nullif(g.job_id, '00000000-0000-0000-0000-000000000000'::uuid)}}
FROM unnest({{audit.fields bound}}) AS g ({{audit.fields}})

-- name: set_key_drop
DELETE FROM pawl_key
WHERE ctid = ANY (ARRAY (
    SELECT k.place
    FROM unnest({{key.fields bound}}) AS g ({{key.fields}})
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place
        FROM pawl_key AS l
        WHERE l.digest = g.digest AND l.id = g.id
        OFFSET 0
    ) AS k
))

-- name: set_key_new
-- Whoever writes a key has its lock and has read its holders: this one is not among them.
INSERT INTO pawl_key ({{key.fields}})
SELECT {{key.fields of g}}
FROM unnest({{key.fields bound}}) AS g ({{key.fields}})

-- name: set_key_put
INSERT INTO pawl_key ({{key.fields}})
SELECT {{key.fields of g}}
FROM unnest({{key.fields bound}}) AS g ({{key.fields}})
ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms

-- name: set_progress_read
-- Locked: the job is not, and others may report as well.
SELECT p.id, {{progress.fields of p}}
FROM pawl_progress AS p
WHERE p.id = ANY (:ids)
ORDER BY p.id
FOR UPDATE

-- name: set_run_data_read
SELECT g.id, (SELECT c.sequence FROM pawl_checkpoint AS c WHERE c.id = g.id),
    (SELECT max(l.line) FROM pawl_log AS l WHERE l.id = g.id)
FROM unnest(:ids) AS g (id)

-- name: set_progress
-- What was read is locked. A report that has come first meanwhile is one of the same run, and both
-- count; or of a later one, and it stays.
INSERT INTO pawl_progress AS p (id, {{progress.fields}})
SELECT g.id, {{progress.fields of g}}
FROM unnest(:id, {{progress.fields bound}}) AS g (id, {{progress.fields}})
ORDER BY g.id
ON CONFLICT (id) DO UPDATE
SET {{progress.fields set excluded
    | value = CASE WHEN p.run = excluded.run THEN greatest(p.value, excluded.value)
                   ELSE excluded.value END
    | message = CASE WHEN p.run = excluded.run THEN coalesce(excluded.message, p.message)
                     ELSE excluded.message END
    | data = CASE WHEN p.run = excluded.run THEN coalesce(excluded.data, p.data)
                  ELSE excluded.data END}}
WHERE p.run <= excluded.run

-- name: set_checkpoint_drop
DELETE FROM pawl_checkpoint
WHERE id = ANY (ARRAY (
    SELECT g.id
    FROM unnest(:id, {{checkpoint.fields bound}}) AS g (id, {{checkpoint.fields}})
))

-- name: set_checkpoint_put
-- Not if another one was saved since the sequence was read.
INSERT INTO pawl_checkpoint AS c (id, {{checkpoint.fields}})
SELECT g.id, {{checkpoint.fields of g}}
FROM unnest(:id, {{checkpoint.fields bound}}) AS g (id, {{checkpoint.fields}})
ORDER BY g.id
ON CONFLICT (id) DO UPDATE
SET {{checkpoint.fields set excluded}}
WHERE c.sequence = excluded.sequence - 1

-- name: set_line
-- An empty line is a line.
INSERT INTO pawl_log (id, {{line.fields}})
SELECT g.id, {{line.fields of g | text = coalesce(g.text, '')}}
FROM unnest(:id, {{line.fields bound}}) AS g (id, {{line.fields}})

-- name: set_line_trim
DELETE FROM pawl_log
WHERE ctid = ANY (ARRAY (
    SELECT f.place
    FROM unnest(:id, {{cut.fields bound}}) AS g (id, {{cut.fields}})
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place
        FROM pawl_log AS l
        WHERE l.id = g.id AND l.line > g.after AND l.line <= g.line
        OFFSET 0
    ) AS f
))

-- name: set_drop_tags
-- Of jobs that are deleted, live or archived.
DELETE FROM pawl_tag
WHERE ctid = ANY (ARRAY (
    SELECT l.place
    FROM (
        SELECT id, tags
        FROM pawl_job
        WHERE id = ANY (:ids)
        UNION ALL
        SELECT id, tags
        FROM pawl_archive
        WHERE id = ANY (:ids)
    ) AS g
    CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t (tag)
    CROSS JOIN LATERAL (
        SELECT p.ctid AS place
        FROM pawl_tag AS p
        WHERE p.tag = t.tag AND p.id = g.id
        OFFSET 0
    ) AS l
))

-- name: set_drop_failure
DELETE FROM pawl_failure
WHERE id = ANY (:ids)

-- name: set_drop_progress
DELETE FROM pawl_progress
WHERE id = ANY (:ids)

-- name: set_drop_checkpoint
DELETE FROM pawl_checkpoint
WHERE id = ANY (:ids)

-- name: set_drop_line
DELETE FROM pawl_log
WHERE id = ANY (:ids)

-- name: set_drop_audit
DELETE FROM pawl_audit
WHERE job_id = ANY (:ids)

-- name: set_drop_deadline
DELETE FROM pawl_deadline
WHERE job_id = ANY (:ids)

-- name: set_checked
WITH g AS MATERIALIZED (
    SELECT r.place, {{checked.fields of l}}
    FROM unnest(:id, {{checked.fields bound}}) AS l (id, {{checked.fields}})
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = l.id
        OFFSET 0
    ) AS r
)
UPDATE pawl_job AS j
SET {{checked.fields set g}}
FROM g
WHERE j.ctid = g.place

-- name: set_followed
DELETE FROM pawl_unsettled
WHERE seq = ANY (:seq)

-- name: set_moot
-- A scan: entries are few, and it is rare.
DELETE FROM pawl_unsettled
WHERE CASE WHEN true THEN (job_id, ties) IN (
    SELECT g.job_id, g.ties::integer
    FROM unnest({{moot.fields bound}}) AS g ({{moot.fields}})
) END

-- name: set_unsettled
INSERT INTO pawl_unsettled ({{unsettled.fields}})
SELECT {{unsettled.fields of g}}
FROM unnest({{unsettled.fields bound}}) AS g ({{unsettled.fields}})

-- name: unsettled_list
-- Lengths are known without reading what they are of.
SELECT u.seq, {{unsettled.fields of u | bytes = CASE WHEN u.bytes < 0 THEN (
        SELECT octet_length(j.args) + coalesce(octet_length(j.meta), 0)
            + coalesce(octet_length(j.extra), 0)
        FROM pawl_job AS j
        WHERE j.id = u.job_id AND j.uniqueness IS NOT NULL
    ) ELSE u.bytes END}}
FROM pawl_unsettled AS u
WHERE u.seq > :after AND u.ties & :ties <> 0
ORDER BY u.seq
LIMIT :limit
FOR UPDATE OF u SKIP LOCKED

-- name: unsettled_next
SELECT at_ms
FROM pawl_unsettled
WHERE ties & :ties <> 0
ORDER BY seq
LIMIT 1

-- Nodes, locks, what programs keep. A row that is put was locked when it was read. One that is new,
-- but is there all the same, fails the batch, which is then done again.

-- name: node_load
SELECT {{node.fields}}
FROM pawl_node
WHERE name = ANY (:name)
ORDER BY name
FOR UPDATE

-- name: lock_load
SELECT {{lock.fields}}
FROM pawl_lock
WHERE name = ANY (:name)
ORDER BY name
FOR UPDATE

-- name: turn_load
-- What another transaction has locked is there with its key alone, behind the other columns.
SELECT {{lock.fields of t}}, l.name
FROM pawl_lock AS l
LEFT JOIN LATERAL (
    SELECT {{lock.fields}}
    FROM pawl_lock
    WHERE name = l.name
    FOR UPDATE SKIP LOCKED
) AS t ON true
WHERE l.name = ANY (:name)

-- name: setting_load
SELECT {{setting.fields}}
FROM pawl_setting
WHERE name = ANY (:name)
ORDER BY name
FOR UPDATE

-- name: token_load
SELECT {{token.fields}}
FROM pawl_token
WHERE id = ANY (:id)
ORDER BY id
FOR UPDATE

-- name: schema_load
-- A key is three texts, of which some are empty: NULL in a list. They are locked in one order.
SELECT {{schema.fields of t}}
FROM (
    SELECT coalesce(u.uri, '') AS uri, coalesce(u.type, '') AS type,
        coalesce(u.version, '') AS version
    FROM unnest(:uri, :type, :version) AS u (uri, type, version)
    ORDER BY 1, 2, 3
) AS g
CROSS JOIN LATERAL (
    SELECT {{schema.fields}}
    FROM pawl_args_schema
    WHERE uri = g.uri AND type = g.type AND version = g.version
    FOR UPDATE
) AS t

-- name: config_load
SELECT {{config.fields}}
FROM pawl_queue_config
WHERE queue = ANY (:queue)
ORDER BY queue
FOR UPDATE

-- name: request_load
SELECT {{request.fields}}
FROM pawl_request_key
WHERE key = ANY (:key)
ORDER BY key
FOR UPDATE

-- name: set_node_new
INSERT INTO pawl_node ({{node.fields}})
SELECT {{node.fields of g}}
FROM unnest({{node.fields bound}}) AS g ({{node.fields}})

-- name: set_node_put
INSERT INTO pawl_node ({{node.fields}})
SELECT {{node.fields of g}}
FROM unnest({{node.fields bound}}) AS g ({{node.fields}})
ON CONFLICT (name) DO UPDATE SET {{node.fields set excluded | no name}}

-- name: set_node_drop
DELETE FROM pawl_node
WHERE name = ANY (ARRAY (
    SELECT g.name
    FROM unnest({{node.fields bound}}) AS g ({{node.fields}})
))

-- name: set_runs_end
-- Of workers that are gone. A job that another transaction moves just now needs no end. It is the
-- same instant for all.
WITH held AS MATERIALIZED (
    SELECT r.place
    FROM pawl_lease AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = g.id AND j.state = 4 AND j.worker = ANY (:name)
            AND j.lease_until_ms > (:at_ms)[1]
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS r
    WHERE l.worker = ANY (:name)
), ended AS (
    UPDATE pawl_job
    SET lease_until_ms = (:at_ms)[1]
    WHERE ctid = ANY (ARRAY (SELECT place FROM held))
    RETURNING id, worker, lease_until_ms
)
INSERT INTO pawl_lease (until_ms, worker, ids)
SELECT lease_until_ms, worker, array_agg(id)
FROM (SELECT id, worker, lease_until_ms, row_number() OVER (PARTITION BY worker) / 64 AS part
    FROM ended) AS g
GROUP BY lease_until_ms, worker, part

-- name: set_lock_new
INSERT INTO pawl_lock ({{lock.fields}})
SELECT {{lock.fields of g | owner = coalesce(g.owner, '')}}
FROM unnest({{lock.fields bound}}) AS g ({{lock.fields}})

-- name: set_lock_put
INSERT INTO pawl_lock ({{lock.fields}})
SELECT {{lock.fields of g | owner = coalesce(g.owner, '')}}
FROM unnest({{lock.fields bound}}) AS g ({{lock.fields}})
ON CONFLICT (name) DO UPDATE SET {{lock.fields set excluded | no name}}

-- name: set_token_new
INSERT INTO pawl_token ({{token.fields}})
SELECT {{token.fields of g}}
FROM unnest({{token.fields bound}}) AS g ({{token.fields}})

-- name: set_token_put
INSERT INTO pawl_token ({{token.fields}})
SELECT {{token.fields of g}}
FROM unnest({{token.fields bound}}) AS g ({{token.fields}})
ON CONFLICT (id) DO UPDATE SET {{token.fields set excluded | no id}}

-- name: set_setting_new
INSERT INTO pawl_setting ({{setting.fields}})
SELECT {{setting.fields of g | value = coalesce(g.value, '')}}
FROM unnest({{setting.fields bound}}) AS g ({{setting.fields}})

-- name: set_setting_put
INSERT INTO pawl_setting ({{setting.fields}})
SELECT {{setting.fields of g | value = coalesce(g.value, '')}}
FROM unnest({{setting.fields bound}}) AS g ({{setting.fields}})
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: set_setting_drop
DELETE FROM pawl_setting
WHERE name = ANY (ARRAY (
    SELECT g.name
    FROM unnest({{setting.fields bound}}) AS g ({{setting.fields}})
))

-- fragment: schema_named
    {{schema.fields of g | uri = coalesce(g.uri, '') | type = coalesce(g.type, '')
        | version = coalesce(g.version, '')}}

-- name: set_schema_new
INSERT INTO pawl_args_schema ({{schema.fields}})
SELECT
{{schema_named}}
FROM unnest({{schema.fields bound}}) AS g ({{schema.fields}})

-- name: set_schema_put
INSERT INTO pawl_args_schema ({{schema.fields}})
SELECT
{{schema_named}}
FROM unnest({{schema.fields bound}}) AS g ({{schema.fields}})
ON CONFLICT (uri, type, version)
DO UPDATE SET {{schema.fields set excluded | no uri | no type | no version}}

-- name: set_schema_drop
DELETE FROM pawl_args_schema
WHERE ctid = ANY (ARRAY (
    SELECT k.place
    FROM unnest({{schema.fields bound}}) AS g ({{schema.fields}})
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place
        FROM pawl_args_schema AS l
        WHERE l.uri = coalesce(g.uri, '') AND l.type = coalesce(g.type, '')
            AND l.version = coalesce(g.version, '')
        OFFSET 0
    ) AS k
))

-- name: set_config_new
INSERT INTO pawl_queue_config ({{config.fields}})
SELECT {{config.fields of g}}
FROM unnest({{config.fields bound}}) AS g ({{config.fields}})

-- name: set_config_put
INSERT INTO pawl_queue_config ({{config.fields}})
SELECT {{config.fields of g}}
FROM unnest({{config.fields bound}}) AS g ({{config.fields}})
ON CONFLICT (queue) DO UPDATE SET {{config.fields set excluded | no queue}}

-- name: set_config_drop
DELETE FROM pawl_queue_config
WHERE queue = ANY (ARRAY (
    SELECT g.queue
    FROM unnest({{config.fields bound}}) AS g ({{config.fields}})
))

-- name: set_request_new
INSERT INTO pawl_request_key ({{request.fields}})
SELECT {{request.fields of g}}
FROM unnest({{request.fields bound}}) AS g ({{request.fields}})

-- name: set_request_put
INSERT INTO pawl_request_key ({{request.fields}})
SELECT {{request.fields of g}}
FROM unnest({{request.fields bound}}) AS g ({{request.fields}})
ON CONFLICT (key) DO UPDATE SET {{request.fields set excluded | no key}}

-- name: set_queue_put
-- The catalogue's row is locked before the queues, as by those who make queues.
WITH grown AS (
    UPDATE pawl_catalog
    SET version = version + 1
    WHERE id = 1
    RETURNING version
)
UPDATE pawl_queue AS q
SET {{queue.fields set g | no name | paused = g.paused <> 0 | forgotten = g.forgotten <> 0}},
    named = true
FROM grown
CROSS JOIN unnest({{queue.fields bound}}) AS g ({{queue.fields}})
WHERE q.name = g.name

-- Flows.

-- name: flow_load
-- The row of a flow is the lock of all its records, and is waited for: all flows that a batch is
-- about are read by one statement, in order.
SELECT {{flow.fields | meta = NULL::text}}
FROM pawl_flow
WHERE id = ANY (:id)
ORDER BY id
FOR NO KEY UPDATE

-- name: flow_group_load
SELECT {{flow.group_fields of t}}
FROM unnest(:flow, :no) AS g (flow, no)
CROSS JOIN LATERAL (
    SELECT {{flow.group_fields}}
    FROM pawl_flow_group
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS t

-- name: flow_node_load
SELECT {{flow.node_fields of t}}
FROM unnest(:flow, :no) AS g (flow, no)
CROSS JOIN LATERAL (
    SELECT {{flow.node_fields}}
    FROM pawl_flow_node
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS t

-- name: deadline_load
SELECT {{deadline.fields}}
FROM pawl_deadline
WHERE job_id = ANY (:job_id)
ORDER BY job_id
FOR UPDATE

-- name: set_deadline_new
INSERT INTO pawl_deadline ({{deadline.fields}})
SELECT {{deadline.fields of g}}
FROM unnest({{deadline.fields bound}}) AS g ({{deadline.fields}})

-- name: set_deadline_put
INSERT INTO pawl_deadline ({{deadline.fields}})
SELECT {{deadline.fields of g}}
FROM unnest({{deadline.fields bound}}) AS g ({{deadline.fields}})
ON CONFLICT (job_id) DO UPDATE SET {{deadline.fields set excluded | no job_id}}

-- name: set_deadline_drop
DELETE FROM pawl_deadline
WHERE job_id = ANY (:job_id)

-- name: flow_member_load
SELECT {{flow.member_fields}}
FROM pawl_flow_member
WHERE id = ANY (:id)

-- name: flow_edge_load
SELECT {{flow.edge_fields of t}}
FROM unnest(:flow, :parent) AS g (flow, parent)
CROSS JOIN LATERAL (
    SELECT {{flow.edge_fields}}
    FROM pawl_flow_edge
    WHERE flow = g.flow AND parent = g.parent
    ORDER BY child
) AS t

-- name: set_flow_new
INSERT INTO pawl_flow ({{flow.fields}})
SELECT {{flow.fields of g}}
FROM unnest({{flow.fields bound}}) AS g ({{flow.fields}})

-- name: set_flow_put
UPDATE pawl_flow AS f
SET finished_at_ms = g.finished_at_ms, state = g.state, reopened = g.reopened, stops = g.stops,
    paused = g.paused, resets = g.resets,
    nodes = g.nodes, reason = g.reason, recount_at_ms = g.recount_at_ms,
    keep_ms = g.keep_ms, shelved = g.shelved
FROM unnest({{flow.fields bound}}) AS g ({{flow.fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_group_new
INSERT INTO pawl_flow_group ({{flow.group_fields}})
SELECT {{flow.group_fields of g}}
FROM unnest({{flow.group_fields bound}}) AS g ({{flow.group_fields}})

-- name: set_flow_group_put
UPDATE pawl_flow_group AS f
SET {{flow.group_fields set g | no flow | no no}}
FROM unnest({{flow.group_fields bound}}) AS g ({{flow.group_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_group
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_node_new
INSERT INTO pawl_flow_node ({{flow.node_fields}})
SELECT {{flow.node_fields of g}}
FROM unnest({{flow.node_fields bound}}) AS g ({{flow.node_fields}})

-- name: set_flow_node_put
UPDATE pawl_flow_node AS f
SET state = g.state, pending = g.pending, good = g.good, dead = g.dead, broken = g.broken,
    blame = g.blame, given_up = g.given_up, finished_at_ms = g.finished_at_ms, reason = g.reason,
    result = g.result
FROM unnest({{flow.node_fields bound}}) AS g ({{flow.node_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_node
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_member_new
INSERT INTO pawl_flow_member ({{flow.member_fields}})
SELECT {{flow.member_fields of g}}
FROM unnest({{flow.member_fields bound}}) AS g ({{flow.member_fields}})

-- name: set_flow_member_put
INSERT INTO pawl_flow_member ({{flow.member_fields}})
SELECT {{flow.member_fields of g}}
FROM unnest({{flow.member_fields bound}}) AS g ({{flow.member_fields}})
ON CONFLICT (id) DO UPDATE SET {{flow.member_fields set excluded | no id}}

-- name: set_flow_edge_new
INSERT INTO pawl_flow_edge ({{flow.edge_fields}})
SELECT {{flow.edge_fields of g}}
FROM unnest({{flow.edge_fields bound}}) AS g ({{flow.edge_fields}})

-- name: set_flow_edge_put
UPDATE pawl_flow_edge AS f
SET verdict = g.verdict, reason = g.reason
FROM unnest({{flow.edge_fields bound}}) AS g ({{flow.edge_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_edge
    WHERE flow = g.flow AND parent = g.parent AND child = g.child
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: flow_signal_load
SELECT {{flow.signal_fields of t}}
FROM unnest(:flow, :no) AS g (flow, no)
CROSS JOIN LATERAL (
    SELECT {{flow.signal_fields}}
    FROM pawl_flow_signal
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS t

-- name: set_flow_signal_new
INSERT INTO pawl_flow_signal ({{flow.signal_fields}})
SELECT {{flow.signal_fields of g}}
FROM unnest({{flow.signal_fields bound}}) AS g ({{flow.signal_fields}})

-- name: set_flow_signal_put
UPDATE pawl_flow_signal AS f
SET waits = g.waits, until_ms = g.until_ms, said = g.said, answer = g.answer
FROM unnest({{flow.signal_fields bound}}) AS g ({{flow.signal_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_signal
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: flow_waits
-- Not locked: the rows of their flows are, before anything is made of these.
SELECT {{flow.signal_fields}}
FROM pawl_flow_signal
WHERE signal_key = :name AND waits IS NOT NULL
ORDER BY flow, no
LIMIT :limit

-- name: flow_timer_load
SELECT {{flow.timer_fields of t}}
FROM unnest(:id) AS g (id)
CROSS JOIN LATERAL (
    SELECT {{flow.timer_fields}}
    FROM pawl_flow_timer
    WHERE id = g.id
    OFFSET 0
) AS t

-- name: set_flow_timer_new
INSERT INTO pawl_flow_timer ({{flow.timer_fields}})
SELECT {{flow.timer_fields of g}}
FROM unnest({{flow.timer_fields bound}}) AS g ({{flow.timer_fields}})

-- name: set_flow_timer_put
UPDATE pawl_flow_timer AS f
SET at_ms = g.at_ms
FROM unnest({{flow.timer_fields bound}}) AS g ({{flow.timer_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_timer
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_timer_drop
DELETE FROM pawl_flow_timer AS f
USING unnest({{flow.timer_fields bound}}) AS g ({{flow.timer_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_timer
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: flow_due
-- Not locked, like flow_waits: two sweeps that find one timer meet at its flow.
SELECT {{flow.timer_fields}}
FROM pawl_flow_timer
WHERE at_ms <= :now_ms
ORDER BY at_ms
LIMIT :limit

-- name: flow_next_due
SELECT at_ms
FROM pawl_flow_timer
ORDER BY at_ms
LIMIT 1

-- name: set_flow_drop
DELETE FROM pawl_flow AS f
USING unnest({{flow.fields bound}}) AS g ({{flow.fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_group_drop
DELETE FROM pawl_flow_group AS f
USING unnest({{flow.group_fields bound}}) AS g ({{flow.group_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_group
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_node_drop
DELETE FROM pawl_flow_node AS f
USING unnest({{flow.node_fields bound}}) AS g ({{flow.node_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_node
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_member_drop
DELETE FROM pawl_flow_member AS f
USING unnest({{flow.member_fields bound}}) AS g ({{flow.member_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_member
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_edge_drop
DELETE FROM pawl_flow_edge AS f
USING unnest({{flow.edge_fields bound}}) AS g ({{flow.edge_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_edge
    WHERE flow = g.flow AND parent = g.parent AND child = g.child
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- name: set_flow_signal_drop
DELETE FROM pawl_flow_signal AS f
USING unnest({{flow.signal_fields bound}}) AS g ({{flow.signal_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_flow_signal
    WHERE flow = g.flow AND no = g.no
    OFFSET 0
) AS k
WHERE f.ctid = k.place
