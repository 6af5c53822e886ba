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
JOIN pawl_flow_edge AS e ON uuid_hash(e.flow) = uuid_hash(m.flow) AND e.child + 0 = m.no
    AND e.flow = m.flow
JOIN pawl_flow_node AS n ON n.flow = e.flow AND n.no = e.parent
WHERE m.id = :id
ORDER BY e.parent

-- Flows whose counters are compared with what they count: all that is kept twice and differs is a
-- row, for src/store/core/doubts.h. `f` are the flows; nothing is said of nodes about which there
-- is an unsettled entry.

-- name: flow_ended
SELECT {{flow.fields of f | meta = NULL::text}}
FROM pawl_flow AS f
WHERE f.finished_at_ms IS NOT NULL AND f.shelved < f.nodes
    AND f.finished_at_ms > :after_ms AND f.finished_at_ms < :before_ms
ORDER BY f.finished_at_ms, f.id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: flow_old
SELECT {{flow.fields of f | meta = NULL::text}}
FROM pawl_flow AS f
WHERE f.finished_at_ms IS NOT NULL AND f.shelved >= f.nodes
    AND f.finished_at_ms > :after_ms AND f.finished_at_ms < :before_ms
    AND (f.keep_ms IS NULL OR f.finished_at_ms + f.keep_ms <= :kept_until_ms)
ORDER BY f.finished_at_ms, f.id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: flow_stale
SELECT {{flow.fields of f | meta = NULL::text}}
FROM pawl_flow AS f
WHERE f.recount_at_ms <= :now_ms
ORDER BY f.recount_at_ms, f.id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: flow_stale_next
SELECT recount_at_ms
FROM pawl_flow
WHERE recount_at_ms IS NOT NULL
ORDER BY recount_at_ms, id
LIMIT 1

-- fragment: flow_counts
    count(*), count(*) FILTER (WHERE n.state = 7), count(*) FILTER (WHERE n.state = 8),
    count(*) FILTER (WHERE n.state IN (10, 11)), count(*) FILTER (WHERE n.state = 9),
    count(*) FILTER (WHERE n.state >= 9 AND coalesce(n.traits, 0) & 1 = 0)

-- What an edge must have been judged as, unless it has a condition or is an arm.
-- fragment: flow_verdict
CASE WHEN n.state = 8 THEN 2
    WHEN e.on_end = 1 THEN CASE n.state WHEN 7 THEN 1 ELSE 3 END
    WHEN e.on_end = 2 AND n.state = 7 THEN 2
    ELSE 1 END

-- Ways that count as good.
-- fragment: flow_live
j.good + CASE j.parent_rule WHEN 3 THEN j.broken ELSE 0 END

-- What is said and what is counted is brought together by GROUP BY: writers have nested loops
-- alone, and these would compare all with all. said_ are the counters.
-- fragment: flow_doubted
counted (flow, no, there, open_ended, said_1, said_2, said_3, said_4, said_5, said_6, total,
        completed, skipped, failed, cancelled, grave, live, open) AS MATERIALIZED (
    SELECT flow, no, bool_or(there), max(open_ended), max(said_1), max(said_2), max(said_3),
        max(said_4), max(said_5), max(said_6), max(total), max(completed), max(skipped),
        max(failed), max(cancelled), max(grave), bool_or(live),
        max(total) - max(completed) - max(skipped) - max(failed) - max(cancelled)
    FROM (
        SELECT g.flow, g.no, true AS there, g.open_ended, g.total AS said_1,
            g.completed AS said_2, g.skipped AS said_3, g.failed AS said_4, g.cancelled AS said_5,
            g.grave AS said_6, 0 AS total, 0 AS completed, 0 AS skipped, 0 AS failed,
            0 AS cancelled, 0 AS grave, f.finished_at_ms IS NULL AS live
        FROM f
        JOIN pawl_flow_group AS g ON g.flow = f.id
        UNION ALL
        SELECT n.flow, coalesce(n.scope, 0), false, NULL, 0, 0, 0, 0, 0, 0, {{flow_counts}},
            bool_or(f.finished_at_ms IS NULL)
        FROM f
        JOIN pawl_flow_node AS n ON n.flow = f.id
        GROUP BY n.flow, coalesce(n.scope, 0)
        UNION ALL
        SELECT n.flow, -1, false, NULL, 0, 0, 0, 0, 0, 0, {{flow_counts}},
            bool_or(f.finished_at_ms IS NULL)
        FROM f
        JOIN pawl_flow_node AS n ON n.flow = f.id
        WHERE n.kind = 1 AND coalesce(n.traits, 0) & 2 = 0
        GROUP BY n.flow
    ) AS both_ways
    GROUP BY flow, no
), judged (flow, no, flow_state, state, join_rule, n, parent_rule, said_1, said_2, said_3, said_4,
        pending, good, dead, broken) AS MATERIALIZED (
    SELECT flow, no, max(flow_state), max(state), max(join_rule), max(n), max(parent_rule),
        max(said_1), max(said_2), max(said_3), max(said_4),
        count(*) FILTER (WHERE state IS NULL AND verdict IS NULL),
        count(*) FILTER (WHERE verdict = 1), count(*) FILTER (WHERE verdict = 2),
        count(*) FILTER (WHERE verdict = 3)
    FROM (
        SELECT n.flow, n.no, f.state AS flow_state, n.state, n.join_rule, n.n, n.parent_rule,
            coalesce(n.pending, 0) AS said_1, coalesce(n.good, 0) AS said_2,
            coalesce(n.dead, 0) AS said_3, coalesce(n.broken, 0) AS said_4, NULL AS verdict
        FROM f
        JOIN pawl_flow_node AS n ON n.flow = f.id
        UNION ALL
        SELECT e.flow, e.child, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, e.verdict
        FROM f
        JOIN pawl_flow_edge AS e ON e.flow = f.id
        WHERE e.on_end < 100
    ) AS both_ways
    GROUP BY flow, no
), stands (flow, no, id, state, live, gone, ended, result, held) AS MATERIALIZED (
    SELECT n.flow, n.no, n.id, n.state, j.id IS NOT NULL AND j.finished_at_ms IS NULL,
        j.id IS NULL AND o.id IS NULL,
        coalesce(CASE WHEN j.finished_at_ms IS NOT NULL THEN coalesce(j.paused_from, j.state) END,
            o.state), coalesce(j.result, o.result),
        j.id IS NOT NULL AND j.lease_until_ms IS NULL AND coalesce(j.paused_from, j.state) = 3
    FROM f
    CROSS JOIN LATERAL (
        SELECT m.flow, m.no, m.id, m.state
        FROM pawl_flow_node AS m
        WHERE m.flow = f.id AND m.kind = 1
        OFFSET 0
    ) AS n
    LEFT JOIN pawl_job AS j ON j.id = n.id
    LEFT JOIN pawl_archive AS o ON o.id = n.id
), noted (id) AS MATERIALIZED (
    SELECT job_id
    FROM pawl_unsettled
    WHERE ties & 8 <> 0
), doubt ({{flow.doubt_fields}}) AS (
    SELECT flow, 1, no, 0, total, completed, skipped, failed, cancelled, grave, NULL::text
    FROM counted
    WHERE there AND (said_1, said_2, said_3, said_4, said_5, said_6)
        <> (total, completed, skipped, failed, cancelled, grave)
    UNION ALL
    SELECT flow, 2, no, 0, pending, good, dead, broken, 0, 0, NULL::text
    FROM judged
    WHERE (said_1, said_2, said_3, said_4) <> (pending, good, dead, broken)
    UNION ALL
    SELECT flow, 3, no, coalesce(ended, 0), 0, 0, 0, 0, 0, 0, result
    FROM stands
    WHERE state >= 7 AND (live OR ended <> state)
    UNION ALL
    SELECT c.flow, 3, c.no, 0, 0, 0, 0, 0, 0, 0, NULL::text
    FROM counted AS c
    JOIN pawl_flow_node AS n ON n.flow = c.flow AND n.no = c.no
    WHERE c.open <> 0 AND n.state >= 7 AND n.given_up IS NULL
    UNION ALL
    SELECT n.flow, 4, n.no, n.state, 0, 0, 0, 0, 0, 0,
        CASE n.kind WHEN 1 THEN coalesce((SELECT j.result FROM pawl_job AS j WHERE j.id = n.id),
            (SELECT o.result FROM pawl_archive AS o WHERE o.id = n.id)) ELSE n.result END
    FROM f
    JOIN pawl_flow_node AS n ON n.flow = f.id
    WHERE n.state >= 7 AND EXISTS (SELECT 1 FROM pawl_flow_edge AS e
        WHERE e.flow = n.flow AND e.parent = n.no AND e.on_end < 100
            AND (e.verdict IS NULL OR e.cond IS NULL AND e.arm IS NULL AND e.otherwise IS NULL
                AND e.verdict <> {{flow_verdict}}))
    UNION ALL
    SELECT flow, 5, no, ended, 0, 0, 0, 0, 0, 0, result
    FROM stands
    WHERE state < 7 AND ended IS NOT NULL AND id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT flow, 6, no, 9, 0, 0, 0, 0, 0, 0, NULL::text
    FROM stands
    WHERE state < 7 AND gone AND id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT s.flow, 7, s.no, 0, 0, 0, 0, 0, 0, 0, NULL::text
    FROM stands AS s
    WHERE s.state = 4 AND s.held AND s.id NOT IN (SELECT id FROM noted)
        AND EXISTS (SELECT 1 FROM pawl_flow_edge AS e WHERE e.flow = s.flow AND e.child = s.no)
    UNION ALL
    SELECT j.flow, 8, j.no, 0, 0, 0, 0, 0, 0, 0, NULL::text
    FROM judged AS j
    JOIN pawl_flow_node AS n ON n.flow = j.flow AND n.no = j.no
    LEFT JOIN pawl_flow_node AS a ON a.flow = n.flow AND a.no = n.scope
    WHERE j.state = 3 AND coalesce(a.state, 4) <> 3 AND n.id NOT IN (SELECT id FROM noted)
        AND (j.flow_state = 4 OR a.state >= 7 OR j.pending = 0
            OR {{flow_live}} >= CASE j.join_rule WHEN 3 THEN 1 WHEN 4 THEN j.n END)
    UNION ALL
    SELECT n.flow, 9, n.no, 7, 0, 0, 0, 0, 0, 0, n.result
    FROM f
    JOIN pawl_flow_node AS n ON n.flow = f.id
    WHERE n.kind IN (3, 4) AND n.state = 4 AND n.id NOT IN (SELECT id FROM noted)
    UNION ALL
    SELECT c.flow, CASE c.no WHEN 0 THEN 11 ELSE 10 END, c.no, 0, 0, 0, 0, 0, 0, 0, NULL::text
    FROM counted AS c
    LEFT JOIN pawl_flow_node AS n ON n.flow = c.flow AND n.no = c.no
    WHERE c.there AND c.no >= 0 AND c.open_ended IS NULL AND c.live AND c.open = 0
        AND coalesce(n.state, 4) = 4 AND (n.id IS NULL OR n.id NOT IN (SELECT id FROM noted))
    UNION ALL
    SELECT flow, 12, 0, 0, 0, 0, 0, 0, 0, 0, NULL::text
    FROM counted
    WHERE no = 0 AND NOT live AND open <> 0
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
SELECT m.flow, 13, m.no, 0, 0, 0, 0, 0, 0, 0, NULL::text
FROM pawl_flow_member AS m
LEFT JOIN pawl_flow AS f ON f.id = m.flow
LEFT JOIN pawl_flow_node AS n ON n.flow = m.flow AND n.no = m.no AND n.id = m.id
WHERE f.id IS NULL OR n.id IS NULL
ORDER BY flow, what, no
LIMIT :limit
