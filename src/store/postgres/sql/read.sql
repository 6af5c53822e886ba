-- What people and programs look at.

-- name: story_failures
SELECT run, attempt, lapsed, started_at_ms, failed_at_ms, coalesce(retry_delay_ms, -1), worker,
    type, code, message, details
FROM pawl_failure
WHERE id = :job
ORDER BY run

-- name: story_log
SELECT line, at_ms, run, level, text
FROM pawl_log
WHERE id = :job
ORDER BY line, seq

-- name: story_audit
SELECT at_ms, action, actor, reason, from_state, to_state
FROM pawl_audit
WHERE job_id = :job_id
ORDER BY seq

-- name: story_progress
SELECT run, at_ms, value, message, data
FROM pawl_progress
WHERE id = :job

-- name: story_checkpoint
SELECT sequence, at_ms, state
FROM pawl_checkpoint
WHERE id = :job

-- fragment: counts
    (SELECT lane, state, n FROM pawl_count
    UNION ALL
    SELECT lane, state, delta FROM pawl_count_delta)

-- name: stats_counts
SELECT q.name, q.paused, c.state, sum(c.n)::bigint, q.created_at_ms, q.forgotten
FROM pawl_queue AS q
LEFT JOIN pawl_lane AS n ON n.queue_id = q.id
LEFT JOIN {{counts}} AS c ON c.lane = n.id
WHERE q.named OR c.lane IS NOT NULL
GROUP BY q.id, c.state
ORDER BY q.name, c.state

-- name: stats_bytes
SELECT sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relname LIKE 'pawl\_%'
    AND c.relnamespace = (SELECT m.relnamespace FROM pg_class AS m
        WHERE m.oid = to_regclass('pawl_migration'))

-- name: nodes_all
SELECT n.name, n.info, n.started_at_ms, n.heartbeat_at_ms,
    (SELECT count(DISTINCT j.id)
    FROM pawl_lease AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    JOIN pawl_job AS j ON j.id = g.id
    WHERE l.worker = n.name AND j.worker = n.name AND j.state = 4)
FROM pawl_node AS n
ORDER BY n.heartbeat_at_ms DESC, n.name

-- name: locks_all
SELECT name, owner, fence, locked_at_ms, expires_at_ms
FROM pawl_lock
WHERE owner <> ''
ORDER BY name

-- name: conduct_check
-- All is compared with all: by hashes, even if the planner takes the tables for empty.
SELECT set_config('enable_nestloop', 'off', true)

-- Each of these finds what must not be: a row is a finding, in words.
-- name: check_places
-- At exactly its own rank or time: a claim and a sweep that find it anywhere sooner strike it off,
-- for its time has not come.
SELECT 'job ' || j.id || ' is missing from the roll of available jobs'
FROM pawl_job AS j
WHERE j.state = 2 AND NOT EXISTS (SELECT 1 FROM pawl_ready AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    WHERE g.id = j.id AND l.lane = j.lane AND l.rank = j.rank)
UNION ALL
SELECT 'job ' || j.id || ' is missing from the roll of leases'
FROM pawl_job AS j
WHERE j.lease_until_ms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pawl_lease AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    WHERE g.id = j.id AND l.until_ms = j.lease_until_ms)
UNION ALL
SELECT 'job ' || j.id || ' is missing from the roll of ended jobs'
FROM pawl_job AS j
WHERE j.state >= 7 AND NOT EXISTS (SELECT 1 FROM pawl_ended AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    WHERE g.id = j.id AND l.state = j.state AND l.finished_at_ms = j.finished_at_ms)

-- name: check_orphans
SELECT 'job ' || id || ' is both live and archived' FROM pawl_archive AS a
WHERE EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.id = a.id)
UNION ALL
SELECT 'job ' || id || ' has no lane' FROM pawl_job AS j
WHERE NOT EXISTS (SELECT 1 FROM pawl_lane AS n WHERE n.id = j.lane)
UNION ALL
SELECT 'archived job ' || id || ' has no lane' FROM pawl_archive AS j
WHERE NOT EXISTS (SELECT 1 FROM pawl_lane AS n WHERE n.id = j.lane)
UNION ALL
SELECT 'unknown job ' || id || ' has ' || what
FROM (SELECT id, 'failures' AS what FROM pawl_failure UNION SELECT id, 'log lines' FROM pawl_log
    UNION SELECT id, 'tags' FROM pawl_tag UNION SELECT id, 'progress' FROM pawl_progress
    UNION SELECT id, 'a checkpoint' FROM pawl_checkpoint) AS kept
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.id = kept.id)
    AND NOT EXISTS (SELECT 1 FROM pawl_archive AS j WHERE j.id = kept.id)

-- name: check_facts
SELECT 'job ' || j.id || ' has invalid fields'
FROM pawl_job AS j
WHERE coalesce(length(j.keys) % 17, 0) <> 0 OR j.base_run < 0 OR j.free_runs < 0

-- name: check_counts
SELECT 'lane ' || lane || ' has ' || sum(there) || ' jobs in state ' || state
    || ', its counter says ' || sum(said)
FROM (
    SELECT lane, state, 1 AS there, 0 AS said FROM pawl_job
    UNION ALL
    SELECT lane, 0, 1, 0 FROM pawl_archive
    UNION ALL
    SELECT lane, state, 0, n FROM {{counts}} AS c
) AS both_ways
GROUP BY lane, state
HAVING sum(there) <> sum(said)

-- Flows; the last one of a page tells where the next one begins.

-- name: flow_one
SELECT {{flow.fields}}
FROM pawl_flow
WHERE id = :id

-- name: flow_one_counts
SELECT {{flow.group_fields}}
FROM pawl_flow_group
WHERE flow = :id AND no <= 0

-- fragment: flow_page
FROM pawl_flow AS f
WHERE f.id < :id AND (:state = 0 OR f.state = :state)
    AND (:name = '' OR f.name = :name)
ORDER BY f.id DESC
LIMIT :limit

-- name: flow_list
SELECT {{flow.fields of f}}
{{flow_page}}

-- name: flow_list_counts
SELECT {{flow.group_fields of g}}
FROM pawl_flow_group AS g
WHERE g.no <= 0 AND g.flow IN (
    SELECT f.id
{{flow_page}}
)

-- name: flow_nodes
SELECT {{flow.node_fields}}
FROM pawl_flow_node
WHERE flow = :id
ORDER BY no

-- name: flow_edges
SELECT {{flow.edge_fields}}
FROM pawl_flow_edge
WHERE flow = :id
ORDER BY child, parent

-- name: flow_groups
SELECT {{flow.group_fields}}
FROM pawl_flow_group
WHERE flow = :id
ORDER BY no

-- name: flow_own
SELECT {{flow.node_fields of n}}
FROM pawl_flow_member AS m
JOIN pawl_flow_node AS n ON n.flow = m.flow AND n.no = m.no
WHERE m.id = :id

-- name: flow_parents
-- An edge from a group to its member is none.
SELECT {{flow.node_fields of n}}
FROM pawl_flow_member AS m
JOIN pawl_flow_edge AS e ON uuid_hash(e.flow) = uuid_hash(m.flow) AND e.child + 0 = m.no
    AND e.flow = m.flow
JOIN pawl_flow_node AS n ON n.flow = e.flow AND n.no = e.parent
WHERE m.id = :id AND e.on_end < 100
ORDER BY e.parent
