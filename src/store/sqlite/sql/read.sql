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

-- name: flow_signals
SELECT {{flow.signal_fields}}
FROM pawl_flow_signal
WHERE flow = :id

-- name: flow_own
SELECT {{flow.node_fields of n}}
FROM pawl_flow_member AS m
JOIN pawl_flow_node AS n ON n.flow = m.flow AND n.no = m.no
WHERE m.id = :id

-- name: flow_parents
-- With the group that it is a member of, if members have an edge from that.
SELECT {{flow.node_fields of n}}
FROM pawl_flow_member AS m
CROSS JOIN pawl_flow_edge AS e ON e.flow = m.flow AND e.child = m.no
CROSS JOIN pawl_flow_node AS n ON n.flow = e.flow AND n.no = e.parent
WHERE m.id = :id
ORDER BY e.parent

-- Flows whose counters are compared with what they count: all that is kept twice and differs is a
-- row, for src/store/core/doubts.h. `f` are the flows; nothing is said of nodes about which there
-- is an unsettled entry.

-- name: flow_ended
SELECT {{flow.fields of f | meta = NULL}}
FROM pawl_flow AS f
WHERE f.finished_at_ms IS NOT NULL AND f.shelved < f.nodes
    AND f.finished_at_ms > :after_ms AND f.finished_at_ms < :before_ms
ORDER BY f.finished_at_ms, f.id
LIMIT :limit

-- name: flow_old
SELECT {{flow.fields of f | meta = NULL}}
FROM pawl_flow AS f
WHERE f.finished_at_ms IS NOT NULL AND f.shelved >= f.nodes
    AND f.finished_at_ms > :after_ms AND f.finished_at_ms < :before_ms
    AND (f.keep_ms IS NULL OR f.finished_at_ms + f.keep_ms <= :kept_until_ms)
ORDER BY f.finished_at_ms, f.id
LIMIT :limit

-- name: flow_stale
SELECT {{flow.fields of f | meta = NULL}}
FROM pawl_flow AS f
WHERE f.recount_at_ms <= :now_ms
ORDER BY f.recount_at_ms, f.id
LIMIT :limit

-- name: flow_stale_next
SELECT recount_at_ms
FROM pawl_flow
WHERE recount_at_ms IS NOT NULL
ORDER BY recount_at_ms, id
LIMIT 1

-- fragment: flow_counts
    count(*), sum(n.state = 7), sum(n.state = 8), sum(n.state IN (10, 11)), sum(n.state = 9),
    sum(n.state >= 9 AND coalesce(n.traits, 0) & 1 = 0)

-- What an edge must have been judged as, unless it has a condition or is an arm.
-- fragment: flow_verdict
CASE WHEN n.state = 8 THEN 2
    WHEN e.on_end = 1 THEN CASE n.state WHEN 7 THEN 1 ELSE 3 END
    WHEN e.on_end = 2 AND n.state = 7 THEN 2
    ELSE 1 END

-- Ways that count as good.
-- fragment: flow_live
coalesce(j.good, 0) + CASE n.parent_rule WHEN 3 THEN coalesce(j.broken, 0) ELSE 0 END

-- fragment: flow_doubted
counted (flow, no, total, completed, skipped, failed, cancelled, grave) AS MATERIALIZED (
    SELECT n.flow, coalesce(n.scope, 0), {{flow_counts}}
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    GROUP BY n.flow, coalesce(n.scope, 0)
    UNION ALL
    SELECT n.flow, -1, {{flow_counts}}
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    WHERE n.kind = 1 AND coalesce(n.traits, 0) & 2 = 0
    GROUP BY n.flow
), judged (flow, no, pending, good, dead, broken) AS MATERIALIZED (
    SELECT e.flow, e.child, sum(e.verdict IS NULL), sum(e.verdict IS 1), sum(e.verdict IS 2),
        sum(e.verdict IS 3)
    FROM f
    CROSS JOIN pawl_flow_edge AS e ON e.flow = f.id
    WHERE e.on_end < 100
    GROUP BY e.flow, e.child
), placed (flow, no, id, state, key) AS MATERIALIZED (
    SELECT n.flow, n.no, n.id, n.state, coalesce((SELECT j.key FROM pawl_job AS j
            WHERE j.key = pawl_id_head(n.id) AND j.tail = pawl_id_tail(n.id) AND j.head IS NULL),
        (SELECT j.key FROM pawl_job AS j
            WHERE j.head = pawl_id_head(n.id) AND j.tail = pawl_id_tail(n.id)))
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    WHERE n.kind = 1
), stands (flow, no, id, state, live, gone, ended, result, held) AS MATERIALIZED (
    SELECT p.flow, p.no, p.id, p.state, p.key IS NOT NULL AND d.key IS NULL,
        p.key IS NULL AND o.key IS NULL, coalesce(d.state, o.state), coalesce(d.result, o.result),
        w.key IS NOT NULL AND w.lease_until_ms IS NULL AND coalesce(w.paused_from, w.state) = 3
    FROM placed AS p
    LEFT JOIN pawl_done AS d ON d.key = p.key
    LEFT JOIN pawl_wait AS w ON w.key = p.key
    LEFT JOIN pawl_archive AS o ON p.key IS NULL AND o.key = coalesce(
        (SELECT j.key FROM pawl_archive AS j
            WHERE j.key = pawl_id_head(p.id) AND j.tail = pawl_id_tail(p.id) AND j.head IS NULL),
        (SELECT j.key FROM pawl_archive AS j
            WHERE j.head = pawl_id_head(p.id) AND j.tail = pawl_id_tail(p.id)))
), noted (id) AS MATERIALIZED (
    SELECT job_id
    FROM pawl_unsettled
    WHERE ties & 8 <> 0
), doubt ({{flow.doubt_fields}}) AS (
    SELECT g.flow, 1, g.no, 0, coalesce(c.total, 0), coalesce(c.completed, 0),
        coalesce(c.skipped, 0), coalesce(c.failed, 0), coalesce(c.cancelled, 0),
        coalesce(c.grave, 0), NULL
    FROM f
    CROSS JOIN pawl_flow_group AS g ON g.flow = f.id
    LEFT JOIN counted AS c ON c.flow = g.flow AND c.no = g.no
    WHERE (g.total, g.completed, g.skipped, g.failed, g.cancelled, g.grave)
        IS NOT (coalesce(c.total, 0), coalesce(c.completed, 0), coalesce(c.skipped, 0),
            coalesce(c.failed, 0), coalesce(c.cancelled, 0), coalesce(c.grave, 0))
    UNION ALL
    SELECT n.flow, 2, n.no, 0, coalesce(j.pending, 0), coalesce(j.good, 0), coalesce(j.dead, 0),
        coalesce(j.broken, 0), 0, 0, NULL
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    LEFT JOIN judged AS j ON j.flow = n.flow AND j.no = n.no
    WHERE (coalesce(n.pending, 0), coalesce(n.good, 0), coalesce(n.dead, 0), coalesce(n.broken, 0))
        IS NOT (coalesce(j.pending, 0), coalesce(j.good, 0), coalesce(j.dead, 0),
            coalesce(j.broken, 0))
    UNION ALL
    SELECT flow, 3, no, coalesce(ended, 0), 0, 0, 0, 0, 0, 0, result
    FROM stands
    WHERE state >= 7 AND (live OR ended <> state)
    UNION ALL
    SELECT n.flow, 3, n.no, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    JOIN counted AS c ON c.flow = n.flow AND c.no = n.no
    WHERE n.state >= 7 AND n.given_up IS NULL
        AND c.total - c.completed - c.skipped - c.failed - c.cancelled <> 0
    UNION ALL
    SELECT n.flow, 4, n.no, n.state, 0, 0, 0, 0, 0, 0, coalesce(s.result, n.result)
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    LEFT JOIN stands AS s ON s.flow = n.flow AND s.no = n.no
    WHERE n.state >= 7 AND EXISTS (SELECT 1 FROM pawl_flow_edge AS e
        WHERE e.flow = n.flow AND e.parent = n.no AND e.on_end < 100
            AND (e.verdict IS NULL OR e.cond IS NULL AND e.arm IS NULL AND e.otherwise IS NULL
                AND e.verdict <> {{flow_verdict}}))
    UNION ALL
    SELECT flow, 5, no, ended, 0, 0, 0, 0, 0, 0, result
    FROM stands
    WHERE state < 7 AND ended IS NOT NULL AND id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT flow, 6, no, 9, 0, 0, 0, 0, 0, 0, NULL
    FROM stands
    WHERE state < 7 AND gone AND id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT s.flow, 7, s.no, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM stands AS s
    WHERE s.state = 4 AND s.held AND s.id NOT IN (SELECT id FROM noted)
        AND EXISTS (SELECT 1 FROM pawl_flow_edge AS e WHERE e.flow = s.flow AND e.child = s.no)
    UNION ALL
    SELECT n.flow, 8, n.no, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    LEFT JOIN pawl_flow_node AS a ON a.flow = n.flow AND a.no = n.scope
    LEFT JOIN judged AS j ON j.flow = n.flow AND j.no = n.no
    WHERE n.state = 3 AND coalesce(a.state, 4) <> 3 AND n.id NOT IN (SELECT id FROM noted)
        AND (f.state = 4 OR a.state >= 7 OR coalesce(j.pending, 0) = 0
            OR {{flow_live}} >= CASE n.join_rule WHEN 3 THEN 1 WHEN 4 THEN n.n END)
    UNION ALL
    SELECT n.flow, 9, n.no, 7, 0, 0, 0, 0, 0, 0, n.result
    FROM f
    CROSS JOIN pawl_flow_node AS n ON n.flow = f.id
    WHERE n.kind IN (3, 4) AND n.state = 4 AND n.id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT g.flow, CASE g.no WHEN 0 THEN 11 ELSE 10 END, g.no, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM f
    CROSS JOIN pawl_flow_group AS g ON g.flow = f.id
    LEFT JOIN counted AS c ON c.flow = g.flow AND c.no = g.no
    LEFT JOIN pawl_flow_node AS n ON n.flow = g.flow AND n.no = g.no
    WHERE g.no >= 0 AND g.open_ended IS NULL AND f.finished_at_ms IS NULL
        AND coalesce(n.state, 4) = 4 AND n.id IS NOT (SELECT id FROM noted WHERE id = n.id)
        AND coalesce(c.total - c.completed - c.skipped - c.failed - c.cancelled, 0) = 0
    UNION ALL
    SELECT f.id, 12, 0, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM f
    CROSS JOIN counted AS c ON c.flow = f.id AND c.no = 0
    WHERE f.finished_at_ms IS NOT NULL
        AND c.total - c.completed - c.skipped - c.failed - c.cancelled <> 0
)

-- name: flow_doubts
WITH f (id, state, finished_at_ms) AS MATERIALIZED (
    SELECT id, state, finished_at_ms
    FROM pawl_flow
    WHERE recount_at_ms <= :until_ms
), {{flow_doubted}}
SELECT {{flow.doubt_fields}}
FROM doubt
ORDER BY what, flow, no
LIMIT :limit

-- name: check_flows
WITH f (id, state, finished_at_ms) AS MATERIALIZED (
    SELECT id, state, finished_at_ms
    FROM pawl_flow
    WHERE shelved <= nodes
), {{flow_doubted}}
SELECT {{flow.doubt_fields}}
FROM doubt
UNION ALL
SELECT m.flow, 13, m.no, 0, 0, 0, 0, 0, 0, 0, NULL
FROM pawl_flow_member AS m
LEFT JOIN pawl_flow AS f ON f.id = m.flow
LEFT JOIN pawl_flow_node AS n ON n.flow = m.flow AND n.no = m.no AND n.id = m.id
WHERE f.id IS NULL OR n.id IS NULL
ORDER BY flow, what, no
LIMIT :limit
