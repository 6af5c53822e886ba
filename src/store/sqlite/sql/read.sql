-- What people and programs look at.

-- name: story_failures
SELECT run, attempt, lapsed, started_at_ms, failed_at_ms, coalesce(retry_delay_ms, -1), worker,
    type, code, message, details
FROM pawl_failure
WHERE key = :job
ORDER BY run

-- name: story_log
SELECT seq, at_ms, run, level, text
FROM pawl_log
WHERE key = :job
ORDER BY seq

-- name: story_audit
SELECT at_ms, action, actor, reason, from_state, to_state
FROM pawl_audit
WHERE job_id = :job_id
ORDER BY seq

-- name: story_progress
SELECT run, at_ms, value, message, data
FROM pawl_progress
WHERE key = :job

-- name: story_checkpoint
SELECT sequence, at_ms, state
FROM pawl_checkpoint
WHERE key = :job

-- name: stats_counts
SELECT q.name, q.paused, c.state, sum(c.n), q.created_at_ms, q.forgotten
FROM pawl_queue AS q
LEFT JOIN pawl_lane AS l ON l.queue_id = q.id
LEFT JOIN pawl_count AS c ON c.lane = l.id
GROUP BY q.name, c.state
ORDER BY q.name, c.state

-- name: stats_bytes
SELECT page_count * page_size
FROM pragma_page_count, pragma_page_size

-- name: nodes_all
SELECT n.name, n.info, n.started_at_ms, n.heartbeat_at_ms,
    (SELECT count(*) FROM pawl_active AS a WHERE a.worker = n.name)
FROM pawl_node AS n
ORDER BY n.heartbeat_at_ms DESC, n.name

-- name: locks_all
SELECT name, owner, fence, locked_at_ms, expires_at_ms
FROM pawl_lock
WHERE owner <> ''
ORDER BY name

-- Each of these finds what must not be: a row is a finding, in words.
-- name: check_places
SELECT 'job ' || j.key || ' has ' || ((w.key IS NOT NULL AND coalesce(w.paused_from, 0) <> 10)
        + (a.key IS NOT NULL) + (d.key IS NOT NULL) + (r.key IS NOT NULL))
        || ' state rows instead of 1'
FROM pawl_job AS j
{{places}}
WHERE (w.key IS NOT NULL AND coalesce(w.paused_from, 0) <> 10) + (a.key IS NOT NULL)
    + (d.key IS NOT NULL) + (r.key IS NOT NULL) <> 1
    AND j.key NOT IN (SELECT key FROM pawl_head_job)

-- name: check_orphans
SELECT 'ready row of unknown job ' || key FROM pawl_ready
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = pawl_ready.key
    AND j.lane = pawl_ready.lane AND j.rank = pawl_ready.rank)
UNION ALL
SELECT 'active row of unknown job ' || key FROM pawl_active
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = pawl_active.key
    AND pawl_active.tail IS CASE WHEN j.head IS NULL AND j.ties IS NULL THEN j.tail END
    AND j.lane = pawl_active.lane)
UNION ALL
SELECT 'waiting row of unknown job ' || key FROM pawl_wait
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = pawl_wait.key
    AND j.lane = pawl_wait.lane AND j.rank = pawl_wait.rank)
UNION ALL
SELECT 'finished row of unknown job ' || key FROM pawl_done
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = pawl_done.key
    AND j.lane = pawl_done.lane)
UNION ALL
SELECT 'job ' || key || ' is both live and archived' FROM pawl_archive
WHERE EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = pawl_archive.key)
UNION ALL
SELECT 'job ' || key || ' has no lane' FROM pawl_job
WHERE NOT EXISTS (SELECT 1 FROM pawl_lane AS l WHERE l.id = pawl_job.lane)
UNION ALL
SELECT 'archived job ' || key || ' has no lane' FROM pawl_archive
WHERE NOT EXISTS (SELECT 1 FROM pawl_lane AS l WHERE l.id = pawl_archive.lane)
UNION ALL
SELECT 'unknown job ' || key || ' has ' || what
FROM (SELECT key, 'failures' AS what FROM pawl_failure UNION SELECT key, 'log lines' FROM pawl_log
    UNION SELECT key, 'tags' FROM pawl_tag UNION SELECT key, 'progress' FROM pawl_progress
    UNION SELECT key, 'a checkpoint' FROM pawl_checkpoint) AS kept
WHERE NOT EXISTS (SELECT 1 FROM pawl_job AS j WHERE j.key = kept.key)
    AND NOT EXISTS (SELECT 1 FROM pawl_archive AS j WHERE j.key = kept.key)
UNION ALL
SELECT 'lane ' || id || ' has no queue' FROM pawl_lane
WHERE NOT EXISTS (SELECT 1 FROM pawl_queue AS q WHERE q.id = pawl_lane.queue_id)

-- name: check_facts
SELECT 'job ' || j.key || ' has invalid fields'
FROM pawl_job AS j
{{places}}
WHERE NOT json_valid(j.args)
    OR j.meta IS NOT NULL AND NOT json_valid(j.meta)
    OR j.extra IS NOT NULL AND NOT json_valid(j.extra)
    OR j.tags IS NOT NULL AND NOT json_valid(j.tags)
    OR j.retry IS NOT NULL AND NOT json_valid(j.retry)
    OR j.uniqueness IS NOT NULL AND NOT json_valid(j.uniqueness)
    OR coalesce(length(j.keys) % 17, 0) <> 0
    OR coalesce(w.run, a.run, d.run, r.run, 0) < coalesce(w.base_run, a.base_run, d.base_run,
        r.base_run, 0)
    OR coalesce(w.base_run, a.base_run, d.base_run, r.base_run, 0) < 0

-- name: check_counts
WITH counted (lane, state, n) AS (
    SELECT lane, 2, count(*) FROM pawl_ready GROUP BY lane
    UNION ALL
    SELECT lane, 2, count(*) FROM pawl_head_job GROUP BY lane
    UNION ALL
    SELECT lane, 4, count(*) FROM pawl_active GROUP BY lane
    UNION ALL
    SELECT lane, state, count(*) FROM pawl_wait GROUP BY lane, state
    UNION ALL
    SELECT lane, state, count(*) FROM pawl_done AS d
    WHERE NOT EXISTS (SELECT 1 FROM pawl_wait AS w WHERE w.key = d.key)
    GROUP BY lane, state
    UNION ALL
    SELECT lane, 0, count(*) FROM pawl_archive GROUP BY lane
)
SELECT 'lane ' || lane || ' has ' || sum(there) || ' jobs in state ' || state
    || ', its counter says ' || sum(said)
FROM (
    SELECT lane, state, n AS there, 0 AS said FROM counted
    UNION ALL
    SELECT lane, state, 0, n FROM pawl_count
)
GROUP BY lane, state
HAVING sum(there) <> sum(said)

-- name: check_sqlite
PRAGMA integrity_check(100)

-- name: check_quick
PRAGMA quick_check(1)

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
CROSS JOIN pawl_flow_edge AS e ON e.flow = m.flow AND e.child = m.no
CROSS JOIN pawl_flow_node AS n ON n.flow = e.flow AND n.no = e.parent
WHERE m.id = :id AND e.on_end < 100
ORDER BY e.parent
