-- PostgreSQL schema (created by the DDL)
CREATE TABLE IF NOT EXISTS scheduler_lock (
lock_name VARCHAR(128) NOT NULL,
owner_node VARCHAR(64) NOT NULL,
locked_at TIMESTAMPTZ(6) NOT NULL,
expires_at TIMESTAMPTZ(6) NOT NULL,
CONSTRAINT pk_scheduler_lock PRIMARY KEY (lock_name)
);

-- Registered automatically when cluster mode is enabled
SELECT * FROM scheduler_node;

-- Find stale nodes (no heartbeat in 60 seconds)
SELECT node_id, heartbeat_ts
FROM scheduler_node
WHERE heartbeat_ts < NOW() - INTERVAL '60 seconds';

SELECT node_id, heartbeat_ts, started_at
FROM scheduler_node
WHERE heartbeat_ts > NOW() - INTERVAL '30 seconds'
ORDER BY started_at;

SELECT picked_by AS node, COUNT(*) AS running_jobs
FROM scheduler_job
WHERE status = 'RUNNING'
GROUP BY picked_by;

SELECT lock_name, owner_node, locked_at, expires_at
FROM scheduler_lock
WHERE expires_at > NOW()
ORDER BY locked_at;
