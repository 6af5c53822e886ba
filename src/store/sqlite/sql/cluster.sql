-- Transactions, queues and lanes, nodes, locks, settings, the schema's own record.

-- name: begin
BEGIN IMMEDIATE

-- name: begin_read
BEGIN

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: guest_begin
-- In somebody else's transaction, or one of its own when there is none.
SAVEPOINT pawl_guest

-- name: guest_lock
-- Touches nothing: the first statement of a transaction waits for the lock, a later one would fail.
DELETE FROM pawl_setting
WHERE name = ''

-- name: guest_end
RELEASE pawl_guest

-- name: guest_undo
ROLLBACK TO pawl_guest

-- name: data_version
PRAGMA data_version

-- name: queue_all
SELECT id, name, paused
FROM pawl_queue
ORDER BY id

-- name: queue_insert
INSERT INTO pawl_queue (name, created_at_ms)
VALUES (:name, :created_at_ms)

-- name: queue_pause
UPDATE pawl_queue
SET paused = :paused, forgotten = :forgotten
WHERE id = :id

-- name: lane_since
SELECT id, queue_id, type
FROM pawl_lane
WHERE id > :id
ORDER BY id

-- name: lane_insert
INSERT INTO pawl_lane (queue_id, type)
VALUES (:queue_id, :type)

-- How long a node may be silent before the others take its work, as it says itself; NULL: it does
-- not say, and is never taken for dead. One whose work was taken says "lapsed_lease_ms" instead.
-- fragment: node_lease
    CASE WHEN json_valid(info) THEN json_extract(info, '$.lease_ms') END

-- fragment: node_alive
    heartbeat_at_ms + coalesce({{node_lease}}, 30000) > :now_ms
    AND coalesce(instr(info, '"lapsed_lease_ms"'), 0) = 0

-- name: node_put
-- The name's newest start wins; an older one's late heartbeat changes nothing.
INSERT INTO pawl_node (name, info, started_at_ms, heartbeat_at_ms)
VALUES (:name, :info, :started_at_ms, :now_ms)
ON CONFLICT (name) DO UPDATE
SET info = excluded.info, started_at_ms = excluded.started_at_ms,
    heartbeat_at_ms = excluded.heartbeat_at_ms
WHERE excluded.started_at_ms >= started_at_ms

-- name: node_get
-- The third column: is it alive?
SELECT started_at_ms, heartbeat_at_ms, {{node_alive}}, info
FROM pawl_node
WHERE name = :name

-- name: node_census
-- How many are alive, how many have fallen silent, how many jobs wait, and when the next of the
-- others falls silent.
SELECT count(*) FILTER (WHERE {{node_alive}}),
    count(*) FILTER (WHERE heartbeat_at_ms + {{node_lease}} <= :now_ms),
    (SELECT coalesce(sum(n), 0) FROM pawl_count WHERE state = 2),
    min(heartbeat_at_ms + {{node_lease}})
        FILTER (WHERE heartbeat_at_ms + {{node_lease}} > :now_ms AND name <> :name)
FROM pawl_node

-- name: node_silent
SELECT name
FROM pawl_node
WHERE heartbeat_at_ms + {{node_lease}} <= :now_ms
ORDER BY name
LIMIT 1

-- name: node_lapse
-- The next number is nobody's: a heartbeat that comes after all is refused, so that its sender
-- learns that it was given up.
UPDATE pawl_node
SET started_at_ms = started_at_ms + 1,
    info = replace(info, '"lease_ms"', '"lapsed_lease_ms"')
WHERE name = :name

-- name: node_runs_end
-- The next sweep charges them and makes them available.
UPDATE pawl_active
SET lease_until_ms = :now_ms
WHERE worker = :name AND lease_until_ms > :now_ms

-- name: node_locks_end
UPDATE pawl_lock
SET owner = '', expires_at_ms = 0
WHERE owner = :name

-- name: node_forget
DELETE FROM pawl_node
WHERE heartbeat_at_ms < :before_ms

-- name: node_drop
-- Started at 0: whichever there is.
DELETE FROM pawl_node
WHERE name = :name AND :started_at_ms IN (0, started_at_ms)

-- name: lock_try
INSERT INTO pawl_lock (name, owner, fence, locked_at_ms, expires_at_ms)
VALUES (:name, :owner, 1, :now_ms, :expires_at_ms)
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, fence = fence + 1, locked_at_ms = excluded.locked_at_ms,
    expires_at_ms = excluded.expires_at_ms
WHERE owner = excluded.owner OR expires_at_ms <= excluded.locked_at_ms

-- name: lock_get
SELECT owner, fence, expires_at_ms
FROM pawl_lock
WHERE name = :name

-- name: lock_renew
UPDATE pawl_lock
SET expires_at_ms = :expires_at_ms
WHERE name = :name AND owner = :owner AND expires_at_ms > :now_ms

-- name: lock_release
UPDATE pawl_lock
SET owner = '', expires_at_ms = 0
WHERE name = :name AND owner = :owner

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

-- name: setting_list
SELECT name, value
FROM pawl_setting
WHERE name >= coalesce(:prefix, '') -- an empty one comes as NULL
    AND substr(name, 1, coalesce(length(:prefix), 0)) = coalesce(:prefix, '')
ORDER BY name

-- name: migration_table
CREATE TABLE IF NOT EXISTS pawl_migration (
    version       INTEGER PRIMARY KEY,
    checksum      TEXT NOT NULL,
    applied_at_ms INTEGER NOT NULL
) STRICT

-- name: migration_table_exists
SELECT count(*)
FROM sqlite_schema
WHERE type = 'table' AND name = 'pawl_migration'

-- name: migration_all
SELECT version, checksum
FROM pawl_migration
ORDER BY version

-- name: migration_insert
INSERT INTO pawl_migration (version, checksum, applied_at_ms)
VALUES (:version, :checksum, :applied_at_ms)
