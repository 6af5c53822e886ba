-- name: migration_1
-- The first schema. What is written once stays apart from what moves: a job's facts are one row of
-- pawl_job, and where the job stands is one narrow row elsewhere:
--
--     scheduled, pending, retryable, paused   pawl_wait
--     available                               pawl_ready
--     active                                  pawl_active
--     completed ... expired                   pawl_done, later pawl_archive
--
-- A job paused out of discarded has a row in pawl_wait and keeps the one in pawl_done.
-- States are the numbers of PAWL_STATES. run counts claims for ever and fences the owner's writes;
-- base_run is where this series of attempts began (attempt = run - base_run); free_runs of them
-- charged nothing.

-- forgotten: deleted, so it is listed only while it has a job. The row stays: others hold its id.
CREATE TABLE pawl_queue (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    forgotten     INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1)),
    created_at_ms INTEGER NOT NULL
) STRICT;

-- A queue's jobs of one type: what a claim can be narrowed to at no cost.
CREATE TABLE pawl_lane (
    id       INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL REFERENCES pawl_queue (id),
    type     TEXT NOT NULL,
    UNIQUE (queue_id, type)
) STRICT;

-- key is the first half of the UUID and tail the second: ids begin with the time, so rows append
-- and need no index of their own. An id that was not made when the job came, or whose first half is
-- taken, gets the first half of one that was, and keeps its own in head: the job is displaced. So
-- keys are in order of arrival, and jobs of one rank run in it; see pawl__sq_key_time. extras: 1 if
-- any column behind args is set, or head or keys, and 2 more if args are longer than
-- PAWL__SQ_ARGS_SHORT. Columns are in the order in which statements list them, the store's own
-- before those of src/fields: in another, SQLite copies every value of an INSERT ... SELECT once
-- more.
CREATE TABLE pawl_job (
    key             INTEGER PRIMARY KEY,
    tail            INTEGER NOT NULL,
    head            INTEGER,
    lane            INTEGER NOT NULL,
    rank            INTEGER NOT NULL,
    extras          INTEGER NOT NULL CHECK (extras BETWEEN 0 AND 3),
    keys            BLOB,
    priority        INTEGER NOT NULL,
    attempts_max    INTEGER NOT NULL CHECK (attempts_max >= 1),
    created_at_ms   INTEGER NOT NULL,
    due_at_ms       INTEGER NOT NULL,
    args            TEXT NOT NULL,
    expires_at_ms   INTEGER,
    timeout_ms      INTEGER,
    lease_ms        INTEGER,
    sla_soft_at_ms  INTEGER,
    sla_hard_at_ms  INTEGER,
    keep_ms         INTEGER,
    meta            TEXT,
    extra           TEXT,
    tags            TEXT,
    retry           TEXT,
    uniqueness      TEXT,
    idempotency_key TEXT,
    business_key    TEXT,
    principal       TEXT,
    trace_id        TEXT,
    on_success      TEXT,
    on_failure      TEXT,
    ties            INTEGER
) STRICT;
CREATE INDEX pawl_job_displaced ON pawl_job (head, tail) WHERE head IS NOT NULL;
CREATE INDEX pawl_job_idempotency ON pawl_job (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX pawl_job_business ON pawl_job (business_key) WHERE business_key IS NOT NULL;

-- The claim index itself. A job's row is found from its facts: (lane, rank, key).
CREATE TABLE pawl_ready (
    lane      INTEGER NOT NULL,
    rank      INTEGER NOT NULL,
    key       INTEGER NOT NULL,
    run       INTEGER NOT NULL,
    base_run  INTEGER NOT NULL,
    free_runs INTEGER NOT NULL,
    PRIMARY KEY (lane, rank, key)
) STRICT, WITHOUT ROWID;

-- Jobs that were submitted a moment ago are often claimed a moment later, and then never had a row
-- in pawl_ready. One row at most: a job whose key lies between low and high and which stands
-- nowhere else is available. See head.c.
CREATE TABLE pawl_head (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    low  INTEGER NOT NULL,
    high INTEGER NOT NULL CHECK (high >= low)
) STRICT;

-- tail: of the id, so that a plain run is found by key and tail, and completed without a look at
-- its facts. NULL for one that is displaced, which key and tail do not name, and for one with ties.
CREATE TABLE pawl_active (
    key            INTEGER PRIMARY KEY,
    tail           INTEGER,
    lane           INTEGER NOT NULL,
    run            INTEGER NOT NULL CHECK (run >= 1),
    base_run       INTEGER NOT NULL CHECK (base_run < run),
    free_runs      INTEGER NOT NULL,
    started_at_ms  INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    worker         TEXT NOT NULL
) STRICT;

CREATE TABLE pawl_wait (
    key            INTEGER PRIMARY KEY,
    lane           INTEGER NOT NULL,
    state          INTEGER NOT NULL CHECK (state IN (1, 3, 5, 6)),
    paused_from    INTEGER CHECK ((state = 6) = (paused_from IS NOT NULL)),
    rank           INTEGER NOT NULL,
    run            INTEGER NOT NULL,
    base_run       INTEGER NOT NULL,
    free_runs      INTEGER NOT NULL,
    due_at_ms      INTEGER NOT NULL,
    started_at_ms  INTEGER,
    lease_until_ms INTEGER CHECK (lease_until_ms IS NULL OR state = 3),
    worker         TEXT,
    reason         TEXT
) STRICT;
CREATE INDEX pawl_wait_due ON pawl_wait (due_at_ms, key) WHERE state IN (1, 5);
CREATE INDEX pawl_wait_lease ON pawl_wait (lease_until_ms, key) WHERE lease_until_ms IS NOT NULL;

CREATE TABLE pawl_done (
    key            INTEGER PRIMARY KEY,
    lane           INTEGER NOT NULL,
    state          INTEGER NOT NULL CHECK (state BETWEEN 7 AND 11),
    run            INTEGER NOT NULL,
    base_run       INTEGER NOT NULL,
    free_runs      INTEGER NOT NULL,
    started_at_ms  INTEGER,
    finished_at_ms INTEGER NOT NULL,
    dead_letter    INTEGER NOT NULL CHECK (dead_letter IN (0, 1)),
    worker         TEXT,
    reason         TEXT,
    result         TEXT
) STRICT;
-- Completed jobs, the many, are archived in order of key and need no index; see done_completed.
CREATE INDEX pawl_done_ended ON pawl_done (state, finished_at_ms) WHERE state <> 7;

CREATE VIEW pawl_head_job AS
SELECT j.key, j.lane, j.rank
FROM pawl_head AS f
CROSS JOIN pawl_job AS j ON j.key BETWEEN f.low AND f.high
WHERE NOT EXISTS (SELECT 1 FROM pawl_ready AS r
        WHERE r.lane = j.lane AND r.rank = j.rank AND r.key = j.key)
    AND NOT EXISTS (SELECT 1 FROM pawl_active AS a WHERE a.key = j.key)
    AND NOT EXISTS (SELECT 1 FROM pawl_done AS d WHERE d.key = j.key)
    AND NOT EXISTS (SELECT 1 FROM pawl_wait AS w WHERE w.key = j.key);

-- pawl_job and pawl_done in one row, out of the way.
CREATE TABLE pawl_archive (
    key             INTEGER PRIMARY KEY,
    tail            INTEGER NOT NULL,
    head            INTEGER,
    lane            INTEGER NOT NULL,
    rank            INTEGER NOT NULL,
    extras          INTEGER NOT NULL CHECK (extras BETWEEN 0 AND 3),
    keys            BLOB,
    priority        INTEGER NOT NULL,
    attempts_max    INTEGER NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    due_at_ms       INTEGER NOT NULL,
    args            TEXT NOT NULL,
    expires_at_ms   INTEGER,
    timeout_ms      INTEGER,
    lease_ms        INTEGER,
    sla_soft_at_ms  INTEGER,
    sla_hard_at_ms  INTEGER,
    keep_ms         INTEGER,
    meta            TEXT,
    extra           TEXT,
    tags            TEXT,
    retry           TEXT,
    uniqueness      TEXT,
    idempotency_key TEXT,
    business_key    TEXT,
    principal       TEXT,
    trace_id        TEXT,
    on_success      TEXT,
    on_failure      TEXT,
    ties            INTEGER,
    state           INTEGER NOT NULL CHECK (state BETWEEN 7 AND 11),
    run             INTEGER NOT NULL,
    base_run        INTEGER NOT NULL,
    free_runs       INTEGER NOT NULL,
    started_at_ms   INTEGER,
    finished_at_ms  INTEGER NOT NULL,
    dead_letter     INTEGER NOT NULL,
    worker          TEXT,
    reason          TEXT,
    result          TEXT
) STRICT;
CREATE INDEX pawl_archive_displaced ON pawl_archive (head, tail) WHERE head IS NOT NULL;
CREATE INDEX pawl_archive_ended ON pawl_archive (state, finished_at_ms) WHERE state <> 7;
CREATE INDEX pawl_archive_idempotency ON pawl_archive (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX pawl_archive_business ON pawl_archive (business_key) WHERE business_key IS NOT NULL;

-- When a job expires; the row outlives its job's stay in a waiting state and is looked at when due.
CREATE TABLE pawl_expiry (
    at_ms INTEGER NOT NULL,
    key   INTEGER NOT NULL,
    PRIMARY KEY (at_ms, key)
) STRICT, WITHOUT ROWID;

-- Who holds or held a key: idempotency, business and unique keys alike. The newcomer's policy says
-- whether a holder still counts. The id, not the key: an idempotency key outlives its job.
CREATE TABLE pawl_key (
    digest   BLOB NOT NULL CHECK (length(digest) = 16),
    id       BLOB NOT NULL CHECK (length(id) = 16),
    until_ms INTEGER,
    PRIMARY KEY (digest, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_key_until ON pawl_key (until_ms) WHERE until_ms IS NOT NULL;

CREATE TABLE pawl_tag (
    tag TEXT NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (tag, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_failure (
    key            INTEGER NOT NULL,
    run            INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    lapsed         INTEGER NOT NULL CHECK (lapsed IN (0, 1)),
    started_at_ms  INTEGER NOT NULL,
    failed_at_ms   INTEGER NOT NULL,
    retry_delay_ms INTEGER,
    worker         TEXT NOT NULL,
    type           TEXT,
    code           TEXT,
    message        TEXT,
    details        TEXT,
    PRIMARY KEY (key, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_progress (
    key     INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    value   REAL CHECK (value BETWEEN 0 AND 1),
    message TEXT,
    data    TEXT
) STRICT;

CREATE TABLE pawl_checkpoint (
    key      INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    state    TEXT NOT NULL
) STRICT;

CREATE TABLE pawl_log (
    key   INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    level INTEGER NOT NULL,
    text  TEXT NOT NULL,
    PRIMARY KEY (key, seq)
) STRICT, WITHOUT ROWID;

-- What operators did. job_id is NULL for actions that concern no single job.
CREATE TABLE pawl_audit (
    seq        INTEGER PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    job_id     BLOB CHECK (length(job_id) = 16),
    subject    TEXT,
    action     TEXT NOT NULL,
    actor      TEXT,
    reason     TEXT,
    from_state INTEGER,
    to_state   INTEGER
) STRICT;
CREATE INDEX pawl_audit_job ON pawl_audit (job_id) WHERE job_id IS NOT NULL;

-- How many jobs of a lane are in a state, kept by the commits that move them; state 0: archived.
CREATE TABLE pawl_count (
    lane  INTEGER NOT NULL,
    state INTEGER NOT NULL,
    n     INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (lane, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_node (
    name            TEXT PRIMARY KEY,
    info            TEXT,
    started_at_ms   INTEGER NOT NULL,
    heartbeat_at_ms INTEGER NOT NULL,
    alive_until_ms  INTEGER NOT NULL DEFAULT 0, -- unless another heartbeat comes
    lease_ms        INTEGER -- as it says itself; NULL: it does not, and is never given up
) STRICT, WITHOUT ROWID;

-- A released lock keeps its row with an empty owner, so that its fence goes on growing.
CREATE TABLE pawl_lock (
    name          TEXT PRIMARY KEY,
    owner         TEXT NOT NULL,
    fence         INTEGER NOT NULL,
    locked_at_ms  INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may use a server. A token that was revoked stays, so that a server does not become open again
-- with the last one.
CREATE TABLE pawl_token (
    id            TEXT PRIMARY KEY,
    name          TEXT,
    scopes        TEXT, -- with a blank between two of them
    hash          BLOB NOT NULL CHECK (length(hash) = 32), -- of the secret
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    used_at_ms    INTEGER
) STRICT, WITHOUT ROWID;

-- What the arguments of jobs look like, for readers. A schema has a URI, or a job type and a
-- version; if it has a URI, type and version are '', and of_type and of_version say what it is
-- about.
CREATE TABLE pawl_args_schema (
    uri           TEXT NOT NULL,
    type          TEXT NOT NULL,
    version       TEXT NOT NULL,
    of_type       TEXT,
    of_version    TEXT,
    created_at_ms INTEGER NOT NULL,
    schema        TEXT NOT NULL,
    PRIMARY KEY (uri, type, version),
    CHECK ((uri = '') = (type <> '' AND version <> ''))
) STRICT, WITHOUT ROWID;

-- What a server is to observe in a queue. It may be set before the queue is used.
CREATE TABLE pawl_queue_config (
    queue      TEXT PRIMARY KEY,
    rate_limit TEXT -- JSON; NULL: none
) STRICT, WITHOUT ROWID;

-- Idempotency keys of requests that submit several jobs. The sweep that expires jobs deletes those
-- whose time is over.
CREATE TABLE pawl_request_key (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL, -- of the request that brought the key first
    until_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_request_key_until ON pawl_request_key (until_ms);

-- The next deadline of each job that has one: src/store/core/deadline.h.
CREATE TABLE pawl_deadline (
    job_id BLOB PRIMARY KEY CHECK (length(job_id) = 16),
    at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_deadline_at ON pawl_deadline (at_ms);

-- Moves of jobs with ties whose consequences are left for later: src/store/core/settle.h.
CREATE TABLE pawl_unsettled (
    seq           INTEGER PRIMARY KEY,
    at_ms         INTEGER NOT NULL,
    job_id        BLOB NOT NULL CHECK (length(job_id) = 16),
    ties          INTEGER NOT NULL,
    bytes         INTEGER, -- of a job that is read whole; -1: unknown
    run           INTEGER NOT NULL,
    from_state    INTEGER,
    to_state      INTEGER,
    delay_ms      INTEGER, -- from here on: what was reported of a run
    not_retryable INTEGER,
    type          TEXT,
    code          TEXT,
    error_class   TEXT,
    message       TEXT,
    details       TEXT
) STRICT;

-- Flows: what a graph of jobs consists of, and what has become of it. src/store/core/flows.h has
-- the meaning of numbers; 0 is NULL where that is allowed.
CREATE TABLE pawl_flow (
    id             BLOB PRIMARY KEY CHECK (length(id) = 16),
    name           TEXT,
    layout         TEXT, -- how it was written
    meta           TEXT, -- JSON
    created_at_ms  INTEGER NOT NULL,
    deadline_at_ms INTEGER,
    finished_at_ms INTEGER, -- all members have ended
    state          INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
    reopened       INTEGER,
    stops          INTEGER,
    paused         INTEGER,
    resets         INTEGER, -- nodes that are yet to begin anew
    nodes          INTEGER NOT NULL, -- how many
    reason         TEXT,
    recount_at_ms  INTEGER, -- while it has not ended: when its counters are compared with its jobs
    keep_ms        INTEGER, -- the longest of its jobs
    shelved        INTEGER NOT NULL -- nodes that were archived, and then those that were deleted
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_flow_ended ON pawl_flow (finished_at_ms, id)
    WHERE finished_at_ms IS NOT NULL AND shelved < nodes;
CREATE INDEX pawl_flow_old ON pawl_flow (finished_at_ms, id)
    WHERE finished_at_ms IS NOT NULL AND shelved >= nodes;
CREATE INDEX pawl_flow_recount ON pawl_flow (recount_at_ms, id) WHERE recount_at_ms IS NOT NULL;

-- The members of a group, counted as they end. 0 is the flow itself; -1 counts jobs but callbacks
-- at any depth.
CREATE TABLE pawl_flow_group (
    flow       BLOB NOT NULL,
    no         INTEGER NOT NULL,
    open_ended INTEGER, -- more members may come
    hold_until_ms INTEGER, -- if none comes until then, it is sealed, and has failed
    abort_failures INTEGER, -- its members are cancelled at so many failures,
    abort_ppm  INTEGER, -- or at such a share of them
    spoilt     INTEGER, -- it has failed, because of 1: that, 2: its hold
    halted     INTEGER, -- an operator cancelled it
    total      INTEGER NOT NULL,
    completed  INTEGER NOT NULL,
    skipped    INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    cancelled  INTEGER NOT NULL,
    grave      INTEGER NOT NULL, -- of those that failed or were cancelled, how many may not
    PRIMARY KEY (flow, no),
    CHECK (total >= completed + skipped + failed + cancelled)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_flow_node (
    flow           BLOB NOT NULL,
    no             INTEGER NOT NULL, -- 1, 2, ...
    id             BLOB NOT NULL,    -- of the job, or of the control node
    name           TEXT NOT NULL,
    kind           INTEGER NOT NULL,
    scope          INTEGER, -- the number of its group
    join_rule      INTEGER,
    n              INTEGER,
    parent_rule    INTEGER,
    choice         INTEGER,
    traits         INTEGER,
    delay_ms       INTEGER,
    lives_ms       INTEGER,
    state          INTEGER NOT NULL, -- pending, active (released), or as what it was counted
    pending        INTEGER CHECK (pending >= 0), -- its edges, by verdict
    good           INTEGER,
    dead           INTEGER,
    broken         INTEGER,
    blame          INTEGER,
    given_up       INTEGER,
    finished_at_ms INTEGER,
    reason         TEXT,
    result         TEXT,
    PRIMARY KEY (flow, no)
) STRICT, WITHOUT ROWID;

-- Which node an id is.
CREATE TABLE pawl_flow_member (
    id   BLOB PRIMARY KEY,
    flow BLOB NOT NULL,
    no   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_flow_edge (
    flow      BLOB NOT NULL,
    parent    INTEGER NOT NULL,
    child     INTEGER NOT NULL,
    on_end    INTEGER NOT NULL,
    arm       INTEGER,
    otherwise INTEGER,
    verdict   INTEGER, -- NULL: it was not judged
    cond      TEXT,
    label     TEXT,
    reason    TEXT, -- why the condition could not be evaluated
    PRIMARY KEY (flow, parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_flow_edge_child ON pawl_flow_edge (flow, child);

-- Nodes that wait for a signal, from their submission on.
CREATE TABLE pawl_flow_signal (
    flow       BLOB NOT NULL,
    no         INTEGER NOT NULL,
    signal_key TEXT,
    timeout_ms INTEGER,
    on_timeout INTEGER NOT NULL,
    on_reject  INTEGER NOT NULL,
    payload    TEXT,
    waits      INTEGER, -- it was released, and has not ended
    until_ms   INTEGER, -- when its timeout is over
    said       INTEGER, -- what came: 1 approve, 2 reject
    answer     TEXT,
    PRIMARY KEY (flow, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_flow_signal_waits ON pawl_flow_signal (signal_key, flow, no)
    WHERE waits IS NOT NULL;

-- Nodes and flows of which something is due at a time.
CREATE TABLE pawl_flow_timer (
    id    BLOB PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_flow_timer_at ON pawl_flow_timer (at_ms);

-- Schedules: where each stands, which every firing writes, and its definition, with the job that it
-- makes. src/store/schedules.h has the meaning of numbers; 0 is NULL where that is allowed.
CREATE TABLE pawl_schedule (
    name           TEXT PRIMARY KEY,
    state          INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
    stopped        INTEGER, -- paused: by an operator (1), or by its definition (2)
    reason         TEXT,
    look_at_ms     INTEGER, -- when it is to be looked at
    next_at_ms     INTEGER, -- the next instant
    settled_at_ms  INTEGER NOT NULL, -- all instants up to here have been decided
    last_at_ms     INTEGER, -- the last instant that made a job
    last_local_s   INTEGER NOT NULL,
    last_job       BLOB NOT NULL,
    runs           INTEGER NOT NULL,
    skips          INTEGER NOT NULL,
    entries        INTEGER NOT NULL, -- of its history, so far
    children       BLOB, -- ids of jobs that had not ended when they were last looked at
    queued         BLOB, -- ids of jobs that are held until those have ended
    owner          TEXT, -- the program that declares it
    declared_at_ms INTEGER,
    version        INTEGER NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_schedule_look ON pawl_schedule (look_at_ms) WHERE look_at_ms IS NOT NULL;

CREATE TABLE pawl_schedule_plan (
    name          TEXT PRIMARY KEY,
    expression    TEXT, -- NULL: instants
    zone          TEXT,
    dialect       INTEGER NOT NULL,
    gap           INTEGER NOT NULL,
    instants      BLOB, -- sorted, 8 bytes each
    anchor_at_ms  INTEGER,
    start_at_ms   INTEGER,
    end_at_ms     INTEGER,
    overlap       INTEGER NOT NULL,
    misfire       INTEGER NOT NULL,
    catch_up      INTEGER NOT NULL,
    late_max_ms   INTEGER,
    jitter_ms     INTEGER,
    max_runs      INTEGER,
    traits        INTEGER,
    description   TEXT,
    meta          TEXT, -- JSON
    type          TEXT NOT NULL,
    queue         TEXT NOT NULL,
    args          TEXT NOT NULL,
    job_meta      TEXT,
    extra         TEXT,
    tags          TEXT,
    priority      INTEGER NOT NULL,
    attempts_max  INTEGER NOT NULL,
    expires_in_ms INTEGER,
    timeout_ms    INTEGER,
    lease_ms      INTEGER,
    keep_ms       INTEGER,
    retry         TEXT,
    uniqueness    TEXT,
    business_key  TEXT,
    principal     TEXT,
    trace_id      TEXT,
    on_success    TEXT,
    on_failure    TEXT
) STRICT, WITHOUT ROWID;

-- Jobs whose end is followed up: others of the schedule are held until then.
CREATE TABLE pawl_schedule_member (
    id       BLOB PRIMARY KEY,
    schedule TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What became of the instants of a schedule; the oldest entries are deleted.
CREATE TABLE pawl_firing (
    schedule    TEXT NOT NULL,
    number      INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    skip        INTEGER,
    first_at_ms INTEGER,
    last_at_ms  INTEGER,
    count       INTEGER,
    due_at_ms   INTEGER,
    job         BLOB NOT NULL,
    queued      INTEGER,
    cancelled   INTEGER,
    reason      TEXT,
    detail      TEXT,
    actor       TEXT,
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;
