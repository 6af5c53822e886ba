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

-- name: lane_since
SELECT id, queue_id, type
FROM pawl_lane
WHERE id > :id
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

-- Those that said a lease and were not heard of since it ended.
-- fragment: node_silent
    lease_ms IS NOT NULL AND alive_until_ms <= :now_ms

-- name: node_census
-- How many of the others are alive, how many have fallen silent, about how many jobs wait (as of
-- the last fold), and when the next one falls silent.
SELECT count(*) FILTER (WHERE alive_until_ms > :now_ms),
    count(*) FILTER (WHERE {{node_silent}}),
    (SELECT coalesce(sum(c.n), 0)::bigint FROM pawl_count AS c WHERE c.state = 2),
    min(alive_until_ms) FILTER (WHERE lease_ms IS NOT NULL AND alive_until_ms > :now_ms)
FROM pawl_node
WHERE name <> :name

-- name: node_silent
-- One that another gives up just now, or that speaks just now, is passed over.
SELECT {{node.fields}}
FROM pawl_node
WHERE {{node_silent}}
ORDER BY name
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: node_old
SELECT {{node.fields}}
FROM pawl_node
WHERE heartbeat_at_ms < :before_ms
ORDER BY name
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: lock_owned
-- One that another transaction has is passed over: its node may be suspended.
SELECT {{lock.fields}}
FROM pawl_lock
WHERE owner = :owner
ORDER BY name
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: token_all
SELECT {{token.fields}}
FROM pawl_token
ORDER BY id

-- name: schema_by_uri
SELECT {{schema.fields}}
FROM pawl_args_schema
WHERE uri > '' AND (:name = '' OR uri = :name)
ORDER BY uri

-- name: schema_by_type
SELECT {{schema.fields}}
FROM pawl_args_schema
WHERE uri = '' AND (:name = '' OR type = :name)
ORDER BY type, version

-- name: config_list
SELECT {{config.fields}}
FROM pawl_queue_config
WHERE queue >= :name AND (:name = '' OR queue = :name)
ORDER BY queue

-- name: setting_get
SELECT value
FROM pawl_setting
WHERE name = :name

-- name: setting_list
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
-- Functions that this transaction made, and older ones that could not be dropped.
INSERT INTO pawl_script (id, version, checksum, applied_at_ms, made)
VALUES (1, :version, :checksum, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    ARRAY(SELECT 'FUNCTION ' || p.oid::regprocedure::text
        FROM pg_proc AS p
        WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
            AND (p.xmin = pg_current_xact_id()::xid OR 'FUNCTION ' || p.oid::regprocedure::text
                IN (SELECT unnest(s.made) FROM pawl_script AS s))))
ON CONFLICT (id) DO UPDATE
SET version = excluded.version, checksum = excluded.checksum,
    applied_at_ms = excluded.applied_at_ms, made = excluded.made

-- name: migration_lock
SELECT pg_advisory_xact_lock(:number)
