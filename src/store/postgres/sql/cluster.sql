-- Transactions, queues and lanes, counters, nodes, locks, settings, the schema's own record.

-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- name: begin_read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: conduct_write
-- How a connection that writes is to behave, for the transaction alone when it may be lent to
-- others after it. Its statements all go through an index and join few rows: whatever the planner
-- believes of tables that grow from nothing to millions in a minute, it must not leave that way.
SELECT set_config('jit', 'off', :local),
    set_config('enable_seqscan', 'off', :local),
    set_config('enable_hashjoin', 'off', :local),
    set_config('enable_mergejoin', 'off', :local),
    set_config('enable_bitmapscan', 'off', :local),
    set_config('plan_cache_mode', 'force_generic_plan', :local),
    set_config('statement_timeout', :timeout_ms, :local),
    set_config('lock_timeout', :timeout_ms, :local),
    set_config('idle_in_transaction_session_timeout', :idle_ms, :local),
    set_config('synchronous_commit', CASE WHEN :relaxed THEN 'off'
        WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
        ELSE current_setting('synchronous_commit') END, :local)

-- name: conduct_read
SELECT set_config('jit', 'off', :local),
    set_config('statement_timeout', :timeout_ms, :local),
    set_config('lock_timeout', :wait_ms, :local),
    set_config('idle_in_transaction_session_timeout', :idle_ms, :local)

-- name: conduct_migrate
-- The migration itself takes what it takes; waiting for others has an end.
SELECT set_config('lock_timeout', :wait_ms, true)

-- name: conduct_tell
SELECT set_config('synchronous_commit', 'off', true)

-- name: who_serves
-- A pooler in between shows: the process that answers is not the one that was connected to.
SELECT pg_backend_pid(), current_setting('server_encoding'), current_schema(),
    current_setting('server_version_num')::integer, pg_is_in_recovery()

-- name: turn_begin
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT version FROM pawl_catalog WHERE id = 1)

-- name: turn_mark
-- The last statement before COMMIT; a transaction that has written nothing leaves no mark. Should
-- it arrive after it has been looked for, the division by zero keeps it from being committed.
INSERT INTO pawl_turn AS t (tag, turn, void, at)
SELECT :tag, :turn, false, now()
WHERE pg_current_xact_id_if_assigned() IS NOT NULL
ON CONFLICT (tag) DO UPDATE
SET turn = excluded.turn / CASE WHEN t.turn < excluded.turn THEN 1 ELSE 0 END, void = false,
    at = now()

-- name: turn_settle
-- Was it committed? Waits for one that is under way, and keeps one that is not there from coming.
INSERT INTO pawl_turn AS t (tag, turn, void, at)
VALUES (:tag, :turn, true, now())
ON CONFLICT (tag) DO UPDATE
SET turn = excluded.turn, void = t.void OR t.turn < excluded.turn, at = now()
RETURNING void

-- name: turn_forget
DELETE FROM pawl_turn
WHERE tag = :tag OR at < now() - interval '7 days'

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- name: notify
SELECT pg_notify(:channel, :payload)

-- name: identify
-- What this store is called on a Redis that several stores may share.
SELECT concat_ws(' ', 'postgres', current_database(), current_schema(),
    (SELECT applied_at_ms FROM pawl_migration WHERE version = 1))

-- name: catalog_grow
UPDATE pawl_catalog
SET version = version + 1
WHERE id = 1
RETURNING version

-- name: queue_all
SELECT id, name, paused
FROM pawl_queue
ORDER BY id

-- name: queue_insert
INSERT INTO pawl_queue (name, created_at_ms)
SELECT g.name, coalesce(:now_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
FROM (SELECT DISTINCT name FROM unnest(:names) AS n (name)) AS g
WHERE NOT EXISTS (SELECT 1 FROM pawl_queue AS q WHERE q.name = g.name)

-- name: queue_pause
UPDATE pawl_queue
SET paused = :paused, forgotten = :forgotten, named = true
WHERE id = :id

-- name: lane_all
SELECT id, queue_id, type
FROM pawl_lane
ORDER BY id

-- name: lane_insert
INSERT INTO pawl_lane (queue_id, type)
SELECT DISTINCT q.id, g.type
FROM unnest(:names, :types) AS g (name, type)
JOIN pawl_queue AS q ON q.name = g.name
WHERE g.type IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM pawl_lane AS n WHERE n.queue_id = q.id AND n.type = g.type)

-- name: count_add
INSERT INTO pawl_count_delta (lane, state, delta)
SELECT lane, state, delta
FROM unnest(:lanes, :states, :deltas) AS g (lane, state, delta)

-- name: count_fold
-- One at a time: who cannot have the lock leaves it to the one that has it.
WITH chosen AS (
    SELECT pg_try_advisory_xact_lock(:number) AS ours
), taken AS (
    DELETE FROM pawl_count_delta
    WHERE (SELECT ours FROM chosen)
        AND ctid = ANY (ARRAY (SELECT ctid FROM pawl_count_delta LIMIT :limit))
    RETURNING lane, state, delta
)
INSERT INTO pawl_count (lane, state, n)
SELECT lane, state, sum(delta)
FROM taken
GROUP BY lane, state
ON CONFLICT (lane, state) DO UPDATE SET n = pawl_count.n + excluded.n

-- How long a node may be silent before the others take its work, as it says itself; NULL: it does
-- not say, and is never taken for dead. One whose work was taken says "lapsed_lease_ms" instead.
-- fragment: node_lease
    substring(n.info FROM '"lease_ms":([0-9]{1,15})')::bigint

-- fragment: node_alive
    n.heartbeat_at_ms + coalesce({{node_lease}}, 30000) > :now_ms
    AND strpos(coalesce(n.info, ''), '"lapsed_lease_ms"') = 0

-- name: node_put
-- The name's newest start wins; an older one's late heartbeat changes nothing. How many others are
-- alive, how many have fallen silent, about how many jobs wait (as of the last fold), and when the
-- next of the others falls silent.
WITH put AS (
    INSERT INTO pawl_node AS n (name, info, started_at_ms, heartbeat_at_ms)
    VALUES (:name, :info, :started_at_ms, :now_ms)
    ON CONFLICT (name) DO UPDATE
    SET info = excluded.info, started_at_ms = excluded.started_at_ms,
        heartbeat_at_ms = excluded.heartbeat_at_ms
    WHERE excluded.started_at_ms >= n.started_at_ms
    RETURNING 1
)
SELECT (SELECT count(*) FROM put),
    count(*) FILTER (WHERE {{node_alive}}),
    count(*) FILTER (WHERE n.heartbeat_at_ms + {{node_lease}} <= :now_ms),
    (SELECT coalesce(sum(c.n), 0)::bigint FROM pawl_count AS c WHERE c.state = 2),
    min(n.heartbeat_at_ms + {{node_lease}})
        FILTER (WHERE n.heartbeat_at_ms + {{node_lease}} > :now_ms)
FROM pawl_node AS n
WHERE n.name <> :name

-- name: node_get
-- The third column: is it alive?
SELECT n.started_at_ms, n.heartbeat_at_ms, {{node_alive}}, n.info
FROM pawl_node AS n
WHERE n.name = :name
FOR UPDATE

-- name: node_join
-- Two that begin at once both find nobody; the second waits here, and then finds the first.
INSERT INTO pawl_node AS n (name, info, started_at_ms, heartbeat_at_ms)
VALUES (:name, :info, :started_at_ms, :now_ms)
ON CONFLICT (name) DO UPDATE
SET info = excluded.info, started_at_ms = excluded.started_at_ms,
    heartbeat_at_ms = excluded.heartbeat_at_ms
WHERE n.started_at_ms = :before_ms
RETURNING 1

-- name: node_silent
-- One that another gives up just now, or that speaks just now, is passed over.
SELECT n.name
FROM pawl_node AS n
WHERE n.heartbeat_at_ms + {{node_lease}} <= :now_ms
ORDER BY n.name
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: node_lapse
-- The next number is nobody's: a heartbeat that comes after all is refused, so that its sender
-- learns that it was given up.
UPDATE pawl_node
SET started_at_ms = started_at_ms + 1,
    info = replace(info, '"lease_ms"', '"lapsed_lease_ms"')
WHERE name = ANY (:names)

-- name: node_runs_end
-- The next sweep charges them and makes them available. What somebody moves just now needs no end.
UPDATE pawl_job
SET lease_until_ms = :now_ms
WHERE ctid = ANY (ARRAY (
    SELECT r.place
    FROM pawl_lease AS l
    CROSS JOIN LATERAL unnest(l.ids) AS g (id)
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = g.id AND j.state = 4 AND j.lease_until_ms > :now_ms
            AND j.worker = ANY (:names)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS r
    WHERE l.worker = ANY (:names)))
RETURNING id, worker

-- name: node_locks_end
UPDATE pawl_lock
SET owner = '', expires_at_ms = 0
WHERE owner = ANY (:names)

-- name: node_forget
DELETE FROM pawl_node
WHERE heartbeat_at_ms < :before_ms

-- name: node_drop
-- Started at 0: whichever there is.
DELETE FROM pawl_node
WHERE name = :name AND :started_at_ms IN (0, started_at_ms)
RETURNING 1

-- name: lock_try
INSERT INTO pawl_lock AS k (name, owner, fence, locked_at_ms, expires_at_ms)
VALUES (:name, :owner, 1, :now_ms, :expires_at_ms)
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, fence = k.fence + 1, locked_at_ms = excluded.locked_at_ms,
    expires_at_ms = excluded.expires_at_ms
WHERE k.owner = excluded.owner OR k.expires_at_ms <= excluded.locked_at_ms
RETURNING fence

-- name: lock_get
SELECT owner, fence, expires_at_ms
FROM pawl_lock
WHERE name = :name

-- name: lock_renew
UPDATE pawl_lock
SET expires_at_ms = :expires_at_ms
WHERE name = :name AND owner = :owner AND expires_at_ms > :now_ms
RETURNING 1

-- name: lock_release
UPDATE pawl_lock
SET owner = '', expires_at_ms = 0
WHERE name = :name AND owner = :owner
RETURNING 1

-- name: setting_put
INSERT INTO pawl_setting (name, value)
VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: setting_delete
DELETE FROM pawl_setting
WHERE name = :name

-- name: setting_get
SELECT value
FROM pawl_setting
WHERE name = :name

-- name: setting_all
SELECT name, value
FROM pawl_setting
WHERE starts_with(name, :prefix)
ORDER BY name

-- name: migration_table
CREATE TABLE IF NOT EXISTS pawl_migration (
    version       integer PRIMARY KEY,
    checksum      text NOT NULL,
    applied_at_ms bigint NOT NULL
);
ALTER TABLE pawl_migration ADD COLUMN IF NOT EXISTS compatible boolean NOT NULL DEFAULT false

-- name: migration_table_exists
SELECT to_regclass('pawl_migration') IS NOT NULL

-- name: migration_all
-- The first stores have no column of that name.
SELECT m.version, m.checksum, coalesce((to_jsonb(m) ->> 'compatible')::boolean, false)
FROM pawl_migration AS m
ORDER BY m.version

-- name: migration_insert
INSERT INTO pawl_migration (version, checksum, compatible, applied_at_ms)
VALUES (:version, :checksum, :compatible, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)

-- name: script_may
-- Only the owner can re-create what it made.
SELECT pg_has_role(c.relowner, 'USAGE') AND has_schema_privilege(c.relnamespace, 'CREATE')
FROM pg_class AS c
WHERE c.oid = to_regclass('pawl_script')

-- name: script_get
SELECT version, checksum
FROM pawl_script

-- name: script_put
-- Functions and types are those that this transaction made, in the order in which they can be
-- dropped.
INSERT INTO pawl_script (id, version, checksum, applied_at_ms, made)
VALUES (1, :version, :checksum, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    ARRAY(SELECT 'FUNCTION ' || p.oid::regprocedure::text
        FROM pg_proc AS p
        WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
            AND p.xmin = pg_current_xact_id()::xid)
    || ARRAY(SELECT 'TYPE ' || t.oid::regtype::text
        FROM pg_type AS t
        JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c'
        WHERE t.typnamespace = quote_ident(current_schema())::regnamespace
            AND t.xmin = pg_current_xact_id()::xid))
ON CONFLICT (id) DO UPDATE
SET version = excluded.version, checksum = excluded.checksum,
    applied_at_ms = excluded.applied_at_ms, made = excluded.made

-- name: migration_lock
SELECT pg_advisory_xact_lock(:number)
