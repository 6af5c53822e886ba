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

-- name: lane_since
SELECT id, queue_id, type
FROM pawl_lane
WHERE id > :id
ORDER BY id

-- name: lane_insert
INSERT INTO pawl_lane (queue_id, type)
VALUES (:queue_id, :type)

-- Those that said a lease and were not heard of since it ended.
-- fragment: node_silent
    lease_ms IS NOT NULL AND alive_until_ms <= :now_ms

-- name: node_census
-- How many of the others are alive, how many have fallen silent, how many jobs wait, and when the
-- next one falls silent.
SELECT count(*) FILTER (WHERE alive_until_ms > :now_ms),
    count(*) FILTER (WHERE {{node_silent}}),
    (SELECT coalesce(sum(n), 0) FROM pawl_count WHERE state = 2),
    min(alive_until_ms) FILTER (WHERE lease_ms IS NOT NULL AND alive_until_ms > :now_ms)
FROM pawl_node
WHERE name <> :name

-- name: node_silent
SELECT {{node.fields}}
FROM pawl_node
WHERE {{node_silent}}
ORDER BY name
LIMIT :limit

-- name: node_old
SELECT {{node.fields}}
FROM pawl_node
WHERE heartbeat_at_ms < :before_ms
ORDER BY name
LIMIT :limit

-- name: lock_owned
SELECT {{lock.fields}}
FROM pawl_lock
WHERE owner = :owner
ORDER BY name
LIMIT :limit

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
WHERE name >= :prefix AND substr(name, 1, length(:prefix)) = :prefix
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
