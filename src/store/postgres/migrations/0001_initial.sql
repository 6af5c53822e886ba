-- name: migration_1
-- The first schema. A job is one row of pawl_job from its submission until it is archived: its
-- facts, and where it stands. A claim and a completion change no column that an index depends on
-- (but for jobs that can expire), so while there is room the new version of the row stays on its
-- page and touches no index; pages are left half empty for that.
--
-- What must be found by rank or time is found by rolls, whose rows hold many ids each, written by
-- the commit that brings the jobs there:
--
--     pawl_ready     available, by lane and rank: what a claim reads
--     pawl_lease     active or routed, by the end of the lease
--     pawl_ended     completed ... expired, by that time
--
-- A roll says where to look, and the job says what is so. Every job is on the roll of its state, at
-- exactly its own rank or time. What was true before may be left on it: an id whose job has moved
-- on means nothing. So whoever takes an id off a roll moves the job or puts it back, unless the job
-- itself says that it is not what the roll takes it for.
--
-- Whoever moves a job holds the lock of its row. States are the numbers of PAWL_STATES. run counts
-- claims for ever and fences the owner's writes; base_run is where this series of attempts began
-- (attempt = run - base_run); free_runs of them charged nothing.

-- One row. Grows with every new queue or lane and every pause, in the order of the commits: who has
-- seen the number has seen all that was before it.
CREATE TABLE pawl_catalog (
    id      smallint PRIMARY KEY CHECK (id = 1),
    version bigint NOT NULL
);
INSERT INTO pawl_catalog (id, version) VALUES (1, 1);

-- named: somebody spoke of the queue itself, so it is listed although it never had a job.
-- forgotten: deleted, so it is listed only while it has a job. The row stays: others hold its id.
CREATE TABLE pawl_queue (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text COLLATE "C" NOT NULL UNIQUE,
    paused        boolean NOT NULL DEFAULT false,
    named         boolean NOT NULL DEFAULT false,
    forgotten     boolean NOT NULL DEFAULT false,
    created_at_ms bigint NOT NULL
);

-- A queue's jobs of one type: what a claim can be narrowed to at no cost.
CREATE TABLE pawl_lane (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id integer NOT NULL REFERENCES pawl_queue (id),
    type     text COLLATE "C" NOT NULL,
    UNIQUE (queue_id, type)
);

-- ties: what else depends on the job's moves. NULL: nothing, and only then the quick ways take it.
-- rank: smaller is sooner, see pawl__rank. A job paused out of discarded keeps how it ended.
-- Indexes depend on waits, held and perishes instead of the state, which every move changes. What a
-- claim or a completion changes stands together: the log holds all between the first and the last.
CREATE TABLE pawl_job (
    id              uuid PRIMARY KEY,
    created_at_ms   bigint NOT NULL,
    due_at_ms       bigint NOT NULL,
    rank            bigint NOT NULL,
    lane            integer NOT NULL,
    attempts_max    integer NOT NULL,
    base_run        integer NOT NULL,
    free_runs       integer NOT NULL,
    priority        smallint NOT NULL,
    waits           boolean NOT NULL, -- scheduled or retryable
    held            boolean NOT NULL, -- pending or paused
    perishes        boolean NOT NULL, -- can expire where it stands
    dead_letter     boolean NOT NULL,
    paused_from     smallint,
    state           smallint NOT NULL,
    run             integer NOT NULL,
    started_at_ms   bigint,
    lease_until_ms  bigint,
    finished_at_ms  bigint,
    worker          text COLLATE "C",
    reason          text,
    end_reason      text, -- why it had ended, of a job that was paused after that
    result          text,
    args            text NOT NULL,
    expires_at_ms   bigint,
    timeout_ms      bigint,
    lease_ms        bigint,
    sla_soft_at_ms  bigint,
    sla_hard_at_ms  bigint,
    keep_ms         bigint,
    meta            text,
    extra           text,
    tags            text,
    retry           text,
    uniqueness      text,
    keys            bytea,
    idempotency_key text COLLATE "C",
    business_key    text COLLATE "C",
    principal       text COLLATE "C",
    trace_id        text COLLATE "C",
    on_success      text,
    on_failure      text,
    ties            integer,
    arrival         uuid, -- made when the job came, unless its id was
    CONSTRAINT pawl_job_numbers CHECK (attempts_max >= 1 AND base_run <= run
        AND state BETWEEN 1 AND 11 AND waits = (state IN (1, 5)) AND held = (state IN (3, 6))
        AND perishes = (expires_at_ms IS NOT NULL AND state IN (1, 2, 3, 5))),
    CONSTRAINT pawl_job_stand CHECK (CASE state
        WHEN 4 THEN run > base_run AND started_at_ms IS NOT NULL AND lease_until_ms IS NOT NULL
            AND worker IS NOT NULL AND finished_at_ms IS NULL AND paused_from IS NULL
        WHEN 6 THEN paused_from IS NOT NULL AND lease_until_ms IS NULL
            AND (paused_from = 10) = (finished_at_ms IS NOT NULL)
        ELSE paused_from IS NULL AND (state >= 7) = (finished_at_ms IS NOT NULL)
            AND (lease_until_ms IS NULL OR state = 3) END)
) WITH (fillfactor = 45);
-- By time alone, which makes a new job cheaper by a tenth than with the id behind it; and with that
-- the planner would look for ids by it, in a table that it takes for empty.
CREATE INDEX pawl_job_created ON pawl_job (created_at_ms);
CREATE INDEX pawl_job_held ON pawl_job (created_at_ms) WHERE held;
CREATE INDEX pawl_job_due ON pawl_job (due_at_ms, id) WHERE waits;
CREATE INDEX pawl_job_expiry ON pawl_job (expires_at_ms, id) WHERE perishes;
CREATE INDEX pawl_job_idempotency ON pawl_job (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX pawl_job_business ON pawl_job (business_key) WHERE business_key IS NOT NULL;

-- Rows of the rolls are few and short-lived, so vacuuming is cheap and must come often
-- (janitor.c); it does not give the file's end back, for that would need a lock that stops
-- everybody. seat: the first id of the row; a job whose id was not made when it came has a row of
-- its own, whose seat is its arrival. The order of the index, and of ids within a row, is that of
-- rank and arrival: nothing is sorted.
CREATE TABLE pawl_ready (
    lane integer NOT NULL,
    rank bigint NOT NULL,
    seat uuid NOT NULL,
    ids  uuid[] NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = 100000,
    vacuum_truncate = false);
CREATE INDEX pawl_ready_next ON pawl_ready (lane, rank, seat);

CREATE TABLE pawl_lease (
    until_ms bigint NOT NULL,
    worker   text COLLATE "C",
    ids      uuid[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE INDEX pawl_lease_next ON pawl_lease (until_ms);

CREATE TABLE pawl_ended (
    state          smallint NOT NULL,
    finished_at_ms bigint NOT NULL,
    ids            uuid[] NOT NULL
);
CREATE INDEX pawl_ended_next ON pawl_ended (state, finished_at_ms);

-- What pawl_job knows of a job that has ended, out of the way.
CREATE TABLE pawl_archive (
    id              uuid PRIMARY KEY,
    created_at_ms   bigint NOT NULL,
    due_at_ms       bigint NOT NULL,
    lane            integer NOT NULL,
    attempts_max    integer NOT NULL,
    priority        smallint NOT NULL,
    args            text NOT NULL,
    expires_at_ms   bigint,
    timeout_ms      bigint,
    lease_ms        bigint,
    sla_soft_at_ms  bigint,
    sla_hard_at_ms  bigint,
    keep_ms         bigint,
    meta            text,
    extra           text,
    tags            text,
    retry           text,
    uniqueness      text,
    keys            bytea,
    idempotency_key text COLLATE "C",
    business_key    text COLLATE "C",
    principal       text COLLATE "C",
    trace_id        text COLLATE "C",
    on_success      text,
    on_failure      text,
    ties            integer,
    finished_at_ms  bigint NOT NULL,
    run             bigint NOT NULL,
    base_run        bigint NOT NULL,
    free_runs       bigint NOT NULL,
    state           smallint NOT NULL CHECK (state BETWEEN 7 AND 11),
    dead_letter     boolean NOT NULL,
    started_at_ms   bigint,
    worker          text COLLATE "C",
    reason          text,
    result          text,
    arrival         uuid -- keeps the place of a job that is brought back
);
CREATE INDEX pawl_archive_created ON pawl_archive (created_at_ms);
CREATE INDEX pawl_archive_ended ON pawl_archive (state, finished_at_ms);
CREATE INDEX pawl_archive_idempotency ON pawl_archive (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX pawl_archive_business ON pawl_archive (business_key) WHERE business_key IS NOT NULL;

-- Who holds or held a key: idempotency, business and unique keys alike. The newcomer's policy says
-- whether a holder still counts. An idempotency key outlives its job. Who asks about a digest, or
-- writes one, holds the advisory lock that is named by its first half.
CREATE TABLE pawl_key (
    digest   bytea NOT NULL CHECK (length(digest) = 16),
    id       uuid NOT NULL,
    until_ms bigint,
    PRIMARY KEY (digest, id)
);
CREATE INDEX pawl_key_until ON pawl_key (until_ms) WHERE until_ms IS NOT NULL;

CREATE TABLE pawl_tag (
    tag text COLLATE "C" NOT NULL,
    id  uuid NOT NULL,
    PRIMARY KEY (tag, id)
);

CREATE TABLE pawl_failure (
    id             uuid NOT NULL,
    run            bigint NOT NULL,
    attempt        bigint NOT NULL,
    lapsed         boolean NOT NULL,
    started_at_ms  bigint NOT NULL,
    failed_at_ms   bigint NOT NULL,
    retry_delay_ms bigint,
    worker         text COLLATE "C" NOT NULL,
    type           text COLLATE "C",
    code           text COLLATE "C",
    message        text,
    details        text,
    PRIMARY KEY (id, run)
);

CREATE TABLE pawl_progress (
    id      uuid PRIMARY KEY,
    run     bigint NOT NULL,
    at_ms   bigint NOT NULL,
    value   double precision CHECK (value BETWEEN 0 AND 1),
    message text,
    data    text
) WITH (fillfactor = 70);

CREATE TABLE pawl_checkpoint (
    id       uuid PRIMARY KEY,
    sequence bigint NOT NULL,
    at_ms    bigint NOT NULL,
    state    text NOT NULL
) WITH (fillfactor = 70);

-- Lines are numbered for each job; two sessions that log at the same instant may give the same
-- number, and seq decides.
CREATE TABLE pawl_log (
    id    uuid NOT NULL,
    line  bigint NOT NULL,
    seq   bigint GENERATED ALWAYS AS IDENTITY,
    run   bigint NOT NULL,
    at_ms bigint NOT NULL,
    level smallint NOT NULL,
    text  text NOT NULL,
    PRIMARY KEY (id, line, seq)
);

-- What operators did. job_id is NULL for actions that concern no single job.
CREATE TABLE pawl_audit (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms      bigint NOT NULL,
    job_id     uuid,
    subject    text,
    action     text NOT NULL,
    actor      text,
    reason     text,
    from_state smallint,
    to_state   smallint
);
CREATE INDEX pawl_audit_job ON pawl_audit (job_id) WHERE job_id IS NOT NULL;

-- How many jobs of a lane are in a state; state 0: archived. Commits that move jobs append to
-- pawl_count_delta, so that they never wait for each other; now and then somebody folds what is
-- there into pawl_count. The truth is the sum of both.
CREATE TABLE pawl_count (
    lane  integer NOT NULL,
    state smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (lane, state)
) WITH (fillfactor = 50);
CREATE TABLE pawl_count_delta (
    lane  integer NOT NULL,
    state smallint NOT NULL,
    delta bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- The newest transaction of each process that writes, by number, so that one whose COMMIT was never
-- answered can be looked up. void: that number was looked for and not found, and must not come
-- later. The server's own number for it (xid) would not do: after a crash it is given to another.
CREATE TABLE pawl_turn (
    tag  bigint PRIMARY KEY,
    turn bigint NOT NULL,
    void boolean NOT NULL,
    at   timestamptz NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE pawl_node (
    name            text COLLATE "C" PRIMARY KEY,
    info            text,
    started_at_ms   bigint NOT NULL,
    heartbeat_at_ms bigint NOT NULL,
    alive_until_ms  bigint NOT NULL DEFAULT 0, -- unless another heartbeat comes
    lease_ms        bigint -- as it says itself; NULL: it does not, and is never given up
) WITH (fillfactor = 50);

-- A released lock keeps its row with an empty owner, so that its fence goes on growing.
CREATE TABLE pawl_lock (
    name          text COLLATE "C" PRIMARY KEY,
    owner         text COLLATE "C" NOT NULL,
    fence         bigint NOT NULL,
    locked_at_ms  bigint NOT NULL,
    expires_at_ms bigint NOT NULL
) WITH (fillfactor = 50);
-- Nodes take turns by these and do not wait for each other, as one that inserts a name would.
INSERT INTO pawl_lock (name, owner, fence, locked_at_ms, expires_at_ms)
VALUES ('upkeep.archive', '', 0, 0, 0), ('upkeep.purge', '', 0, 0, 0);

CREATE TABLE pawl_setting (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- Who may use a server. A token that was revoked stays, so that a server does not become open again
-- with the last one.
CREATE TABLE pawl_token (
    id            text COLLATE "C" PRIMARY KEY,
    name          text,
    scopes        text, -- with a blank between two of them
    hash          bytea NOT NULL CHECK (octet_length(hash) = 32), -- of the secret
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint,
    used_at_ms    bigint
);

-- What the arguments of jobs look like, for readers. A schema has a URI, or a job type and a
-- version; if it has a URI, type and version are '', and of_type and of_version say what it is
-- about.
CREATE TABLE pawl_args_schema (
    uri           text COLLATE "C" NOT NULL,
    type          text COLLATE "C" NOT NULL,
    version       text COLLATE "C" NOT NULL,
    of_type       text,
    of_version    text,
    created_at_ms bigint NOT NULL,
    schema        text NOT NULL,
    PRIMARY KEY (uri, type, version),
    CHECK ((uri = '') = (type <> '' AND version <> ''))
);

-- What a server is to observe in a queue. It may be set before the queue is used.
CREATE TABLE pawl_queue_config (
    queue      text COLLATE "C" PRIMARY KEY,
    rate_limit text -- JSON; NULL: none
);

-- Idempotency keys of requests that submit several jobs. The sweep that expires jobs deletes those
-- whose time is over.
CREATE TABLE pawl_request_key (
    key         text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL, -- of the request that brought the key first
    until_ms    bigint NOT NULL
);
CREATE INDEX pawl_request_key_until ON pawl_request_key (until_ms);

-- The next deadline of each job that has one: src/store/core/deadline.h.
CREATE TABLE pawl_deadline (
    job_id uuid PRIMARY KEY,
    at_ms  bigint NOT NULL
);
CREATE INDEX pawl_deadline_at ON pawl_deadline (at_ms);

-- Moves of jobs with ties whose consequences are left for later, and what was reported of runs from
-- SQL: src/store/core/settle.h.
CREATE TABLE pawl_unsettled (
    seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms         bigint NOT NULL,
    job_id        uuid NOT NULL,
    ties          integer NOT NULL,
    bytes         bigint, -- of a job that is read whole; -1: unknown
    run           bigint NOT NULL,
    from_state    smallint,
    to_state      smallint,
    delay_ms      bigint,
    not_retryable smallint,
    type          text,
    code          text,
    error_class   text,
    message       text,
    details       text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- Which script made the functions and views for SQL (postgres/script): of what version of pawl, the
-- checksum of its text, and the functions to be dropped before the next one. One row.
CREATE TABLE pawl_script (
    id            smallint PRIMARY KEY CHECK (id = 1),
    version       text NOT NULL,
    checksum      text NOT NULL,
    applied_at_ms bigint NOT NULL,
    made          text[] NOT NULL
);

-- Flows: what a graph of jobs consists of, and what has become of it. src/store/core/flows.h has
-- the meaning of numbers; 0 is NULL where that is allowed. Who changes anything of a flow has
-- locked its row of pawl_flow. Groups and nodes are updated often and in no indexed column.
CREATE TABLE pawl_flow (
    id             uuid PRIMARY KEY,
    name           text,
    layout         text, -- how it was written
    meta           text, -- JSON
    created_at_ms  bigint NOT NULL,
    deadline_at_ms bigint,
    finished_at_ms bigint, -- all members have ended
    state          smallint NOT NULL CHECK (state BETWEEN 1 AND 4),
    reopened       integer,
    stops          integer,
    paused         integer,
    resets         integer, -- nodes that are yet to begin anew
    nodes          integer NOT NULL, -- how many
    reason         text,
    recount_at_ms  bigint, -- while it has not ended: when its counters are compared with its jobs
    keep_ms        bigint, -- the longest of its jobs
    shelved        integer NOT NULL -- nodes that were archived, and then those that were deleted
);
CREATE INDEX pawl_flow_ended ON pawl_flow (finished_at_ms, id)
    WHERE finished_at_ms IS NOT NULL AND shelved < nodes;
CREATE INDEX pawl_flow_old ON pawl_flow (finished_at_ms, id)
    WHERE finished_at_ms IS NOT NULL AND shelved >= nodes;
CREATE INDEX pawl_flow_recount ON pawl_flow (recount_at_ms, id) WHERE recount_at_ms IS NOT NULL;

-- The members of a group, counted as they end. 0 is the flow itself; -1 counts jobs but callbacks
-- at any depth.
CREATE TABLE pawl_flow_group (
    flow       uuid NOT NULL,
    no         integer NOT NULL,
    open_ended integer, -- more members may come
    hold_until_ms bigint, -- if none comes until then, it is sealed, and has failed
    abort_failures integer, -- its members are cancelled at so many failures,
    abort_ppm  integer, -- or at such a share of them
    spoilt     integer, -- it has failed, because of 1: that, 2: its hold
    halted     integer, -- an operator cancelled it
    total      bigint NOT NULL,
    completed  bigint NOT NULL,
    skipped    bigint NOT NULL,
    failed     bigint NOT NULL,
    cancelled  bigint NOT NULL,
    grave      bigint NOT NULL, -- of those that failed or were cancelled, how many may not
    PRIMARY KEY (flow, no),
    CHECK (total >= completed + skipped + failed + cancelled)
) WITH (fillfactor = 50);

CREATE TABLE pawl_flow_node (
    flow           uuid NOT NULL,
    no             integer NOT NULL, -- 1, 2, ...
    id             uuid NOT NULL,    -- of the job, or of the control node
    name           text NOT NULL,
    kind           smallint NOT NULL,
    scope          integer, -- the number of its group
    join_rule      integer,
    n              integer,
    parent_rule    integer,
    choice         integer,
    traits         integer,
    delay_ms       bigint,
    lives_ms       bigint,
    state          smallint NOT NULL, -- pending, active (released), or as what it was counted
    pending        integer CHECK (pending >= 0), -- its edges, by verdict
    good           integer,
    dead           integer,
    broken         integer,
    blame          integer,
    given_up       integer,
    finished_at_ms bigint,
    reason         text,
    result         text,
    PRIMARY KEY (flow, no)
) WITH (fillfactor = 60);

-- Which node an id is.
CREATE TABLE pawl_flow_member (
    id   uuid PRIMARY KEY,
    flow uuid NOT NULL,
    no   integer NOT NULL
);

CREATE TABLE pawl_flow_edge (
    flow      uuid NOT NULL,
    parent    integer NOT NULL,
    child     integer NOT NULL,
    on_end    smallint NOT NULL,
    arm       integer,
    otherwise integer,
    verdict   integer, -- NULL: it was not judged
    cond      text,
    label     text,
    reason    text, -- why the condition could not be evaluated
    PRIMARY KEY (flow, parent, child)
) WITH (fillfactor = 60);
-- For readers, who look for the parents of a node. An expression, so that nothing which names its
-- columns can be planned with it.
CREATE INDEX pawl_flow_edge_child ON pawl_flow_edge ((uuid_hash(flow)), (child + 0));

-- Nodes that wait for a signal, from their submission on.
CREATE TABLE pawl_flow_signal (
    flow       uuid NOT NULL,
    no         integer NOT NULL,
    signal_key text,
    timeout_ms bigint,
    on_timeout smallint NOT NULL,
    on_reject  smallint NOT NULL,
    payload    text,
    waits      integer, -- it was released, and has not ended
    until_ms   bigint, -- when its timeout is over
    said       integer, -- what came: 1 approve, 2 reject
    answer     text,
    PRIMARY KEY (flow, no)
) WITH (fillfactor = 60);
CREATE INDEX pawl_flow_signal_waits ON pawl_flow_signal (signal_key, flow, no)
    WHERE waits IS NOT NULL;

-- Nodes and flows of which something is due at a time.
CREATE TABLE pawl_flow_timer (
    id    uuid PRIMARY KEY,
    at_ms bigint NOT NULL
);
CREATE INDEX pawl_flow_timer_at ON pawl_flow_timer (at_ms);

-- Schedules: where each stands, which every firing writes, and its definition, with the job that it
-- makes. src/store/schedules.h has the meaning of numbers; 0 is NULL where that is allowed.
-- The row of pawl_schedule is the lock of all that belongs to the schedule.
CREATE TABLE pawl_schedule (
    name           text COLLATE "C" PRIMARY KEY,
    state          smallint NOT NULL CHECK (state BETWEEN 1 AND 4),
    stopped        integer, -- paused: by an operator (1), or by its definition (2)
    reason         text,
    look_at_ms     bigint, -- when it is to be looked at
    next_at_ms     bigint, -- the next instant
    settled_at_ms  bigint NOT NULL, -- all instants up to here have been decided
    last_at_ms     bigint, -- the last instant that made a job
    last_local_s   bigint NOT NULL,
    last_job       uuid NOT NULL,
    runs           bigint NOT NULL,
    skips          bigint NOT NULL,
    entries        bigint NOT NULL, -- of its history, so far
    children       bytea, -- ids of jobs that had not ended when they were last looked at
    queued         bytea, -- ids of jobs that are held until those have ended
    owner          text, -- the program that declares it
    declared_at_ms bigint,
    version        bigint NOT NULL,
    created_at_ms  bigint NOT NULL,
    updated_at_ms  bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX pawl_schedule_look ON pawl_schedule (look_at_ms) WHERE look_at_ms IS NOT NULL;

CREATE TABLE pawl_schedule_plan (
    name          text COLLATE "C" PRIMARY KEY,
    expression    text, -- NULL: instants
    zone          text,
    dialect       smallint NOT NULL,
    gap           smallint NOT NULL,
    instants      bytea, -- sorted, 8 bytes each
    anchor_at_ms  bigint,
    start_at_ms   bigint,
    end_at_ms     bigint,
    overlap       smallint NOT NULL,
    misfire       smallint NOT NULL,
    catch_up      integer NOT NULL,
    late_max_ms   bigint,
    jitter_ms     bigint,
    max_runs      bigint,
    traits        integer,
    description   text,
    meta          text, -- JSON
    type          text NOT NULL,
    queue         text NOT NULL,
    args          text NOT NULL,
    job_meta      text,
    extra         text,
    tags          text,
    priority      integer NOT NULL,
    attempts_max  integer NOT NULL,
    expires_in_ms bigint,
    timeout_ms    bigint,
    lease_ms      bigint,
    keep_ms       bigint,
    retry         text,
    uniqueness    text,
    business_key  text,
    principal     text,
    trace_id      text,
    on_success    text,
    on_failure    text
);

-- Jobs whose end is followed up: others of the schedule are held until then.
CREATE TABLE pawl_schedule_member (
    id       uuid PRIMARY KEY,
    schedule text NOT NULL
);

-- What became of the instants of a schedule; the oldest entries are deleted.
CREATE TABLE pawl_firing (
    schedule    text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    at_ms       bigint NOT NULL,
    kind        smallint NOT NULL,
    skip        smallint,
    first_at_ms bigint,
    last_at_ms  bigint,
    count       bigint,
    due_at_ms   bigint,
    job         uuid NOT NULL,
    queued      smallint,
    cancelled   bigint,
    reason      text,
    detail      text,
    actor       text,
    PRIMARY KEY (schedule, number)
);
