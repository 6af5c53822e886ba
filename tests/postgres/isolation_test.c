/* Two stores on one server change the same job, and their transactions are interleaved in every
 * possible way, one round trip at a time. For each order, the result must be that of a serial
 * execution; operations that skip locked rows (claims, sweeps) may also find nothing. No deadlock
 * is reported, and the store's check finds nothing.
 *
 * The interleavings are found by a search: wherever both could continue, the choice is recorded,
 * and the next round takes the last choice that was not yet taken the other way. A transaction that
 * waits for a lock cannot continue. If one or both make many round trips (claims, sweeps), there
 * would be thousands of interleavings, so the number of switches is limited.
 *
 * There are five ways to lock jobs. A finish is written without a read, guarded by its run;
 * operations that name their jobs load them, and wait for locks; claims, sweeps and the settling of
 * unsettled entries search for their jobs and skip locked ones. Each pair, also of one kind, is
 * tested in a scene where one of them moves the job; the last test checks that:
 *
 *             finish    load      claim      sweep     settle
 *   finish    runs
 *   load      runs      runs
 *   claim     begins    waits     waits
 *   sweep     runs      runs      is late    runs
 *   settle    reported  reported  unchecked  reported  reported
 *
 * "runs" is job_that_runs, and so on. Claims meet other sweeps in job_that_is_due and
 * job_that_perishes, and the end of a run that was lost in job_that_came_back.
 */
#include "support/ops.h"
#include "postgres/gate.h"

#include "base/buf.h"

#include <libpq-fe.h>
#include <stdatomic.h>
#include <time.h>

enum { CHOICES_MAX = 64, STEPS_MAX = 256, WAYS_MAX = 1000, PATIENCE_S = 60 };

/* How often two may change places, by how many of them walk. */
static const int switches_max[] = { STEPS_MAX, 4, 3 };

#define QUEUE "default"

/* ---- what the two do ---- */

struct side {
    struct gate gate;
    struct hand_clock clock;
    struct pawl__store *store;
    char name[16];
    const struct act *act;
    struct pawl_job_id id; /* of the job that it is about */
    struct pawl_run ref;   /* of its run in the scene; else it never was */
    struct pawl__op op;
    struct pawl_diag diag;
    _Atomic bool done;
    bool locked; /* it waited for a lock when last looked at */
    struct pawl__new_job new_job;
    struct pawl_submitted submitted;
    struct {
        struct pawl__new_flow flow;
        struct pawl__flow_node node;
        struct pawl__flow_edge edge;
        struct pawl__flow_group groups[2];
        struct pawl__flow_left left;
    } more;
    enum pawl_err extended;
};

struct play {
    struct rig rig; /* sets the scene and looks at the outcome; not gated */
    char url[RIG_URL_BYTES];
    PGconn *watch;
    struct side sides[2];
    struct pawl_job_id id;
    struct pawl_run ref;
    bool moved; /* what was last done in turn has changed the job */
};

enum adds { NOTHING, BESIDE, BELOW };

struct act {
    const char *name;
    enum pawl__op_kind kind;
    enum pawl_control control;
    enum pawl__schedule_control schedule;
    enum pawl_conflict on_conflict;
    bool unique;     /* a submit with the unique key of UNCHECKED */
    enum adds adds;  /* a submit of one more node to the flow of LAST_NODE */
    int64_t late_ms; /* the time has come for it only then */
    bool skips;      /* passes over what somebody holds */
    bool walks;      /* makes many round trips */
    bool in_turn;    /* by a lock */
    enum pawl_flow_control verb;
    bool drain;
};

static const char *const queues[] = { QUEUE };

static struct pawl_job_id numbered_id(uint8_t number)
{
    struct pawl_job_id id = { { 0x01, 0x97, 0x73, 0, 0, 0, 0x70, 0, 0x80 } };
    id.b[15] = number;
    return id;
}

/* The digest is the library's: a node makes the same from a job that came by SQL. */
static struct pawl__key unique_key(const struct pawl_job_spec *spec)
{
    struct pawl__payloads none = { .meta.count = 0 };
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl__buf buf = { 0 };
    struct pawl__key key;
    assert_int_equal(PAWL_OK, pawl__key_unique(spec, &none, &scratch, &buf, &key, NULL));
    pawl__arena_release(&scratch);
    pawl__buf_release(&buf);
    return key;
}

enum { TIE_FLOW = 8, TIE_SCHEDULE = 16 };

static struct pawl__flow_node flow_node(int32_t no, struct pawl_job_id id, const char *name,
                                        int32_t waits_for)
{
    return (struct pawl__flow_node){ .flow = numbered_id(9),
                                     .no = no,
                                     .id = id,
                                     .name = name,
                                     .kind = PAWL_FLOW_KIND_JOB,
                                     .join = PAWL_FLOW_JOIN_ALL,
                                     .parent = PAWL_FLOW_PARENT_CANCEL,
                                     .select = PAWL_FLOW_SELECT_EACH,
                                     .state = waits_for ? PAWL_STATE_PENDING : PAWL_STATE_ACTIVE,
                                     .pending = waits_for };
}

/* As it is made from what was read when node 1 had not ended. */
static void fill_more(struct play *play, struct side *side)
{
    const struct pawl_job_id flow = numbered_id(9);
    struct pawl_job_id id = numbered_id((uint8_t)(2 + (side - play->sides)));
    bool below = side->act->adds == BELOW;
    side->new_job = job_new(&play->rig, &(struct pawl_job_spec){ .id = &id, .pending = below });
    side->new_job.ties = TIE_FLOW;
    side->more.node = flow_node(2, id, "B", below);
    side->more.edge = (struct pawl__flow_edge){
        .flow = flow, .parent = 1, .child = 2, .on = PAWL_FLOW_ON_SUCCESS
    };
    const int32_t groups[] = { PAWL__FLOW_WORK, PAWL__FLOW_ALL };
    for (int i = 0; i < 2; i++) {
        side->more.groups[i] =
            (struct pawl__flow_group){ .flow = flow, .no = groups[i], .tally.total = 1 };
    }
    side->more.left = (struct pawl__flow_left){ .ended = false };
    side->more.flow = (struct pawl__new_flow){ .known = 1,
                                               .adds = true,
                                               .left = &side->more.left,
                                               .row = { .id = flow },
                                               .groups = side->more.groups,
                                               .group_count = 2,
                                               .nodes = &side->more.node,
                                               .node_count = 1,
                                               .edges = &side->more.edge,
                                               .edge_count = below };
    side->op.submit.jobs = &side->new_job;
    side->op.submit.count = 1;
    side->op.submit.flow = &side->more.flow;
    side->op.submit.out = &side->submitted;
}

static void fill_submit(struct play *play, struct side *side)
{
    if (side->act->adds) {
        fill_more(play, side);
        return;
    }
    struct pawl_job_id id = numbered_id((uint8_t)(2 + (side - play->sides)));
    side->new_job = job_new(&play->rig, &(struct pawl_job_spec){ .id = &id, .business_key = "k" });
    if (side->act->unique) {
        struct pawl_job_spec spec = { .type = "work", .unique.keys = PAWL_UNIQUE_TYPE };
        side->new_job.keys[0] = unique_key(&spec);
    }
    side->new_job.keys[0].on_conflict = side->act->on_conflict;
    side->op.submit.jobs = &side->new_job;
    side->op.submit.count = 1;
    side->op.submit.out = &side->submitted;
}

static void fill(struct play *play, struct side *side)
{
    struct pawl__op *op = &side->op;
    *op = (struct pawl__op){ .kind = side->act->kind, .diag = &side->diag };
    side->diag = (struct pawl_diag){ 0 };
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        fill_submit(play, side);
        break;
    case PAWL__OP_CLAIM:
        op->claim.queues = queues;
        op->claim.queue_count = 1;
        op->claim.limit = 5;
        op->claim.worker = side->name;
        op->claim.lease_ms = LEASE_MS;
        break;
    case PAWL__OP_COMPLETE:
        op->complete.ref = side->ref;
        op->complete.result = span_of(side == play->sides ? "\"a\"" : "\"b\"");
        break;
    case PAWL__OP_FAIL:
        op->fail.ref = side->ref;
        op->fail.report = (struct pawl_report){ .type = "oops", .message = side->name };
        break;
    case PAWL__OP_EXTEND:
        op->extend.refs = &side->ref;
        op->extend.count = 1;
        op->extend.lease_ms = 3 * LEASE_MS;
        op->extend.results = &side->extended;
        break;
    case PAWL__OP_PROGRESS:
        op->progress.ref = side->ref;
        op->progress.value = side == play->sides ? 0.25 : 0.5;
        if (side == play->sides) op->progress.message = span_of("a");
        if (side != play->sides) op->progress.data = span_of("\"b\"");
        break;
    case PAWL__OP_CHECKPOINT:
        op->checkpoint.ref = side->ref;
        op->checkpoint.state = span_of(side == play->sides ? "\"a\"" : "\"b\"");
        break;
    case PAWL__OP_LOG:
        op->log.ref = side->ref;
        op->log.text = span_of(side->name);
        break;
    case PAWL__OP_CONTROL:
        op->control.id = side->id;
        op->control.control = side->act->control;
        op->control.by = (struct pawl_by){ .actor = side->name };
        break;
    case PAWL__OP_PRIORITY:
        op->priority.id = side->id;
        op->priority.priority = 7;
        break;
    case PAWL__OP_DELETE:
        op->remove.id = side->id;
        break;
    case PAWL__OP_QUEUE_PAUSE:
        op->queue.queue = QUEUE;
        op->queue.paused = true;
        break;
    case PAWL__OP_SCHEDULE_CONTROL:
        op->schedule_control.name = "s";
        op->schedule_control.control = side->act->schedule;
        break;
    case PAWL__OP_SCHEDULE_DROP:
        op->schedule_drop.name = "s";
        break;
    case PAWL__OP_FLOW_CONTROL:
        op->flow_control.id = numbered_id(9);
        op->flow_control.verb = side->act->verb;
        op->flow_control.drain = side->act->drain;
        break;
    case PAWL__OP_ARCHIVE:
        op->retire.states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED);
        op->retire.age_ms = side->act->late_ms - LEASE_MS; // those that ended by then
        op->retire.limit = 5;
        op->retire.owner = side->act->in_turn ? side->name : NULL;
        op->retire.pause_ms = 1000;
        break;
    default:
        op->sweep.limit = 5;
        break;
    }
}

/* What an operation has answered. */
static void tell(const struct side *side, struct pawl__buf *out)
{
    const struct pawl__op *op = &side->op;
    pawl__buf_printf(out, "%s %s: %s", side->name, side->act->name, pawl_err_name(op->err));
    if (op->err == PAWL_OK) {
        switch (op->kind) {
        case PAWL__OP_SUBMIT:
            pawl__buf_printf(out, " %02x", side->submitted.id.b[15]);
            break;
        case PAWL__OP_CLAIM:
            for (size_t i = 0; i < op->claim.job_count; i++)
                pawl__buf_printf(out, " %02x run %d", op->claim.jobs[i].id.b[15],
                                 (int)op->claim.jobs[i].run);
            break;
        case PAWL__OP_EXTEND:
            pawl__buf_printf(out, " %s", pawl_err_name(side->extended));
            break;
        case PAWL__OP_FAIL:
            pawl__buf_printf(out, " to %d", (int)op->fail.to);
            break;
        case PAWL__OP_CHECKPOINT:
            pawl__buf_printf(out, " %d", (int)op->checkpoint.sequence);
            break;
        case PAWL__OP_CONTROL:
            pawl__buf_printf(out, " %d to %d", (int)op->control.from, (int)op->control.to);
            break;
        case PAWL__OP_LAPSE:
        case PAWL__OP_PROMOTE:
        case PAWL__OP_EXPIRE:
        case PAWL__OP_SETTLE:
        case PAWL__OP_FIRE:
            pawl__buf_printf(out, " %d", (int)op->sweep.moved);
            break;
        case PAWL__OP_ARCHIVE:
            pawl__buf_printf(out, " %d", (int)op->retire.moved);
            break;
        case PAWL__OP_SCHEDULE_CONTROL:
            pawl__buf_printf(out, " %d", op->schedule_control.changed);
            break;
        default:
            break;
        }
    }
    pawl__buf_add_text(out, "\n");
}

static void mark_done(struct pawl__op *op)
{
    struct side *side = op->user;
    side->done = true;
    gate_rouse(&side->gate);
}

/* ---- one way through ---- */

static PGresult *say(PGconn *pg, const char *text)
{
    PGresult *result = PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(pg));
    return result;
}

static bool waits_for_lock(struct play *play, const struct side *side)
{
    const char *name = side->name;
    PGresult *found = PQexecPrepared(play->watch, "waits", 1, &name, NULL, NULL, 0);
    assert_int_equal(PGRES_TUPLES_OK, PQresultStatus(found));
    bool waits = PQntuples(found) > 0;
    PQclear(found);
    return waits;
}

/* Where a side stands, once that is sure. */
enum stand { STAND_GATE, STAND_LOCK, STAND_DONE };

/* The server is asked about one that takes long or was seen to wait: each time costs it more than
 * most steps. */
static enum stand settle(struct play *play, struct side *side)
{
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (;;) {
        if (side->done) return STAND_DONE;
        if (gate_await(&side->gate, side->locked ? 0 : 3000)) return STAND_GATE;
        side->locked = !side->done && waits_for_lock(play, side);
        if (side->locked) return STAND_LOCK;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec > PATIENCE_S) fail_msg("%s is stuck", side->name);
    }
}

struct way {
    uint8_t switched[CHOICES_MAX]; /* wherever both could go on: did the other one? */
    size_t count;
    int switches_max;
    char trace[STEPS_MAX]; /* who went, for people */
};

/* Where one stands on it. */
struct walk {
    size_t choices, steps;
    int last, switches;
};

static int choose_freely(struct way *way, struct walk *walk)
{
    if (walk->steps > 0 && walk->switches == way->switches_max) return walk->last;
    assert_true(walk->choices < CHOICES_MAX);
    if (walk->choices == way->count) way->switched[way->count++] = 0;
    bool other = way->switched[walk->choices++];
    walk->switches += other;
    return other ? 1 - walk->last : walk->last;
}

/* The next one to go on; -1: both are done. When both wait for a lock, the server will see to it
 * that one of them does not any more. */
static int choose(struct play *play, struct way *way, struct walk *walk)
{
    enum stand stands[2];
    do {
        for (int i = 0; i < 2; i++)
            stands[i] = settle(play, &play->sides[i]);
    } while (stands[0] != STAND_GATE && stands[1] != STAND_GATE &&
             (stands[0] == STAND_LOCK || stands[1] == STAND_LOCK));
    if (stands[0] != STAND_GATE && stands[1] != STAND_GATE) return -1;
    int who = stands[0] != STAND_GATE ? 1 : 0;
    if (stands[0] == STAND_GATE && stands[1] == STAND_GATE) who = choose_freely(way, walk);
    assert_true(walk->steps < STEPS_MAX - 1);
    way->trace[walk->steps++] = "ab"[who];
    way->trace[walk->steps] = '\0';
    walk->last = who;
    return who;
}

static void start(struct play *play, struct side *side)
{
    fill(play, side);
    hand_clock_set(&side->clock, HAND_CLOCK_START_MS + side->act->late_ms);
    side->op.done = mark_done;
    side->op.user = side;
    side->done = false;
    pawl__store_post(side->store, &side->op);
}

static void await_done(struct play *play, struct side *side)
{
    while (settle(play, side) != STAND_DONE)
        if (gate_waiting(&side->gate)) gate_pass(&side->gate);
}

/* What an operation on a flow has left to the sweep, because another transaction had a node. */
static void settle_flow(struct play *play)
{
    for (int i = 0; i < 2; i++) {
        const struct act *act = play->sides[i].act;
        if (act == NULL || act->kind != PAWL__OP_FLOW_CONTROL) continue;
        for (bool more = true; more;) {
            struct pawl__op op = { .kind = PAWL__OP_SETTLE,
                                   .diag = &play->rig.diag,
                                   .sweep.limit = 100 };
            assert_ok(&play->rig, pawl__store_do(play->rig.store, &op));
            more = op.sweep.more;
            pawl__arena_release(&op.arena);
        }
    }
}

/* What both were told, and what is to be seen of the jobs. Freed by the caller. */
static char *outcome(struct play *play)
{
    struct pawl__buf buf = { 0 };
    settle_flow(play);
    for (int i = 0; i < 2; i++)
        if (play->sides[i].act != NULL) tell(&play->sides[i], &buf);
    for (uint8_t i = 1; i <= 3; i++)
        pawl__buf_add_text(&buf, job_text(&play->rig, numbered_id(i)));
    PGresult *rest = say(play->watch,
                         "SELECT coalesce(string_agg(encode(digest, 'hex') ||"
                         " CASE WHEN id::text LIKE '01977300%' THEN id::text ELSE '' END,"
                         " ' ' ORDER BY digest, id), '') FROM pawl_key");
    pawl__buf_printf(&buf, "keys %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch,
               "SELECT coalesce(string_agg(concat_ws(' ', no, total, completed, failed,"
               " cancelled), ', ' ORDER BY no), '') FROM pawl_flow_group");
    pawl__buf_printf(&buf, "groups %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch, "SELECT coalesce(string_agg(concat_ws(' ', no, state, pending, good,"
                            " broken), ', ' ORDER BY no), '') FROM pawl_flow_node");
    pawl__buf_printf(&buf, "nodes %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch, "SELECT coalesce(string_agg(concat_ws(' ', state, nodes), ', '), '')"
                            " FROM pawl_flow");
    pawl__buf_printf(&buf, "flows %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch,
               "SELECT coalesce(string_agg(concat_ws(' ', state, next_at_ms, runs, skips, entries,"
               " length(children), length(queued)), ', '), '') FROM pawl_schedule");
    pawl__buf_printf(&buf, "schedules %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch, "SELECT coalesce(string_agg(state || ' ' || coalesce(ties, 0), ', '"
                            " ORDER BY state), '') FROM pawl_job WHERE meta LIKE '%cron_name%'");
    pawl__buf_printf(&buf, "fired %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    rest = say(play->watch, "SELECT count(*) FROM pawl_unsettled");
    pawl__buf_printf(&buf, "unsettled %s\n", PQgetvalue(rest, 0, 0));
    PQclear(rest);
    pawl__buf_add(&buf, "", 1);
    assert_false(buf.failed);
    return buf.at;
}

static void print_finding(void *ctx, const char *finding)
{
    (void)ctx;
    print_error("store check: %s\n", finding);
}

static void end_scene(struct play *play)
{
    assert_ok(&play->rig, pawl__store_check(play->rig.store, print_finding, NULL, &play->rig.diag));
    for (int i = 0; i < 2; i++)
        pawl__arena_release(&play->sides[i].op.arena);
    for (int i = 0; i < 2; i++) {
        const struct act *act = play->sides[i].act;
        if (act != NULL && act->kind == PAWL__OP_QUEUE_PAUSE) queue_pause(&play->rig, QUEUE, false);
    }
    rig_tidy(&play->rig);
    PQclear(say(play->watch,
                "DELETE FROM pawl_job; DELETE FROM pawl_ready; DELETE FROM pawl_lease; DELETE FROM "
                "pawl_ended;"
                "DELETE FROM pawl_archive; DELETE FROM pawl_key; DELETE FROM pawl_failure;"
                "DELETE FROM pawl_unsettled; DELETE FROM pawl_progress; DELETE FROM "
                "pawl_checkpoint; DELETE FROM pawl_log;"
                "DELETE FROM pawl_flow; DELETE FROM pawl_flow_group; DELETE FROM pawl_flow_node;"
                "DELETE FROM pawl_flow_member; DELETE FROM pawl_flow_edge;"
                "DELETE FROM pawl_schedule; DELETE FROM pawl_schedule_plan;"
                "DELETE FROM pawl_schedule_member; DELETE FROM pawl_firing;"
                "DELETE FROM pawl_audit; DELETE FROM pawl_count_delta; DELETE FROM pawl_count;"
                "UPDATE pawl_lock SET owner = '', expires_at_ms = 0"));
}

/* ---- scenes ---- */

/* Beside the states of a job. */
enum {
    REPORTED = PAWL_STATE_END, /* it runs, and an application has reported that the run failed */
    CAME_BACK,                 /* it is available again: the lease of its run has lapsed */
    PERISHES,                  /* it is available, and expires before the late ones come */
    UNCHECKED,                 /* an application has submitted it with policies of its own */
    SIBLINGS,                  /* it and another one run, and a third one waits for both */
    LAST_NODE,                 /* it runs, and is all of its flow */
    INSTANT                    /* it runs, and later ones of its schedule wait for it */
};

static void report(struct play *play)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], text[256];
    pawl_job_id_text(play->id, id);
    snprintf(text, sizeof text,
             "SELECT pawl_fail('%s', 1, 'hopeless', retryable => false);"
             "UPDATE pawl_unsettled SET at_ms = %lld",
             id, (long long)HAND_CLOCK_START_MS);
    PQclear(say(play->watch, text));
}

/* As if it had been submitted when the scene begins: the server has a clock of its own. */
static void submit_unchecked(struct play *play)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], text[512];
    pawl_job_id_text(play->id, id);
    snprintf(text, sizeof text,
             "SELECT pawl_submit('work', queue => '" QUEUE "', id => '%1$s', business_key => 'k',"
             " retry => '{\"attempts_max\": 5}',"
             " uniqueness => '{\"keys\": [\"type\"], \"on_conflict\": \"replace\"}');"
             "UPDATE pawl_job SET created_at_ms = %2$lld, due_at_ms = %2$lld;"
             "UPDATE pawl_unsettled SET at_ms = %2$lld",
             id, (long long)(HAND_CLOCK_START_MS - 1000));
    PQclear(say(play->watch, text));
}

static void lapse_run(struct play *play)
{
    hand_clock_set(play->rig.clock, HAND_CLOCK_START_MS - 1000 + LEASE_MS);
    assert_i64(1, lapse(&play->rig).moved);
    assert_state(AVAILABLE, state_of(&play->rig, play->id));
}

/* A flow of three: 3 waits for 1 and 2, which run. The second side is about 2. Or of 1 alone. */
static void submit_flow(struct play *play, uint8_t count)
{
    static const char *const names[] = { "A", "B", "J" };
    const struct pawl_job_id flow = numbered_id(9);
    struct pawl__flow_node nodes[3];
    struct pawl__new_job jobs[3];
    struct pawl_submitted out[3];
    for (uint8_t i = 0; i < count; i++) {
        struct pawl_job_id id = numbered_id((uint8_t)(i + 1));
        bool waits = i == 2;
        jobs[i] = job_new(&play->rig, &(struct pawl_job_spec){
                                          .id = &id, .pending = waits, .retry.attempts_max = 1 });
        jobs[i].ties = TIE_FLOW;
        nodes[i] = flow_node(i + 1, id, names[i], waits ? 2 : 0);
    }
    const struct pawl__flow_group groups[] = {
        { .flow = flow, .no = PAWL__FLOW_WORK, .tally.total = count },
        { .flow = flow, .no = PAWL__FLOW_ALL, .tally.total = count },
    };
    const struct pawl__flow_edge edges[] = {
        { .flow = flow, .parent = 1, .child = 3, .on = PAWL_FLOW_ON_SUCCESS },
        { .flow = flow, .parent = 2, .child = 3, .on = PAWL_FLOW_ON_SUCCESS },
    };
    const struct pawl__new_flow new_flow = {
        .row = { .id = flow, .state = PAWL_FLOW_RUNNING, .nodes = count },
        .groups = groups,
        .group_count = 2,
        .nodes = nodes,
        .node_count = count,
        .edges = edges,
        .edge_count = count == 3 ? 2 : 0,
    };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &play->rig.diag,
                           .submit = {
                               .jobs = jobs, .count = count, .flow = &new_flow, .out = out } };
    assert_ok(&play->rig, pawl__store_do(play->rig.store, &op));
    pawl__arena_release(&op.arena);
    assert_int_equal(count == 3 ? 2 : 1, claim_n(&play->rig, QUEUE, 5).count);
    if (count < 3) return;
    play->sides[1].id = numbered_id(2);
    play->sides[1].ref = (struct pawl_run){ numbered_id(2), 1 };
}

/* The job that runs is one of a schedule that holds the next ones until it has ended. Three of its
 * instants are over when the late ones come. */
static void add_schedule(struct play *play)
{
    char id[PAWL_JOB_ID_TEXT_BYTES], text[1024];
    pawl_job_id_text(play->id, id);
    snprintf(text, sizeof text,
             "UPDATE pawl_job SET ties = %1$d;"
             "INSERT INTO pawl_schedule_member (id, schedule) VALUES ('%2$s', 's');"
             "INSERT INTO pawl_schedule (name, state, look_at_ms, next_at_ms, settled_at_ms,"
             " last_local_s, last_job, runs, skips, entries, children, version, created_at_ms,"
             " updated_at_ms) VALUES ('s', 1, %3$lld, %3$lld, %4$lld, 0, '%2$s', 1, 0, 1,"
             " uuid_send('%2$s'), 1, 0, 0);"
             "INSERT INTO pawl_schedule_plan (name, expression, zone, dialect, gap, anchor_at_ms,"
             " overlap, misfire, catch_up, type, queue, args, priority, attempts_max)"
             " VALUES ('s', '@every 20s', 'UTC', 1, 1, %3$lld, 3, 2, 0, 'work', '" QUEUE "', '[]',"
             " 0, 3)",
             TIE_SCHEDULE, id, (long long)HAND_CLOCK_START_MS + 20000,
             (long long)HAND_CLOCK_START_MS - 1000);
    PQclear(say(play->watch, text));
}

static void set_scene(struct play *play, int scene)
{
    struct rig *rig = &play->rig;
    struct pawl_job_id id = numbered_id(1);
    struct pawl_job_spec spec = { .id = &id, .business_key = "k" };
    hand_clock_set(rig->clock, HAND_CLOCK_START_MS - 1000);
    play->id = id;
    play->ref = (struct pawl_run){ id, 1 };
    for (int i = 0; i < 2; i++) {
        play->sides[i].id = id;
        play->sides[i].ref = play->ref;
    }
    if (scene == SIBLINGS || scene == LAST_NODE) {
        submit_flow(play, scene == SIBLINGS ? 3 : 1);
        return;
    }
    if (scene == UNCHECKED) submit_unchecked(play);
    if (scene == UNCHECKED) return;
    if (scene == PERISHES) spec.expires_in_ms = LEASE_MS;
    submit_one(rig, &spec);
    if (scene == PAWL_STATE_AVAILABLE || scene == PERISHES) return;
    struct pawl_job job = claim_one(rig, QUEUE);
    assert_i64(1, job.run);
    if (scene == REPORTED) report(play);
    if (scene == CAME_BACK) lapse_run(play);
    if (scene == INSTANT) add_schedule(play);
    if (scene == INSTANT) return;
    if (scene == PAWL_STATE_ACTIVE || scene == REPORTED || scene == CAME_BACK) return;
    struct pawl_report report = { .type = "fatal",
                                  .message = "hopeless",
                                  .not_retryable = scene == PAWL_STATE_DISCARDED };
    assert_ok(rig, fail_run(rig, play->ref, report, NULL));
}

/* One after the other, the others not at all. */
static char *in_turn(struct play *play, int scene, const struct act *acts[2], int first, bool both)
{
    set_scene(play, scene);
    const char *before = job_text(&play->rig, play->id);
    for (int i = 0; i < 2; i++)
        play->sides[i].act = acts[i];
    for (int i = 0; i < (both ? 2 : 1); i++) {
        struct side *side = &play->sides[i == 0 ? first : 1 - first];
        start(play, side);
        await_done(play, side);
    }
    if (!both) {
        struct side *idle = &play->sides[1 - first];
        fill(play, idle); // what is told of one that found nothing
    }
    play->moved = strcmp(before, job_text(&play->rig, play->id)) != 0;
    char *text = outcome(play);
    end_scene(play);
    return text;
}

static char *interleaved(struct play *play, int scene, struct way *way)
{
    set_scene(play, scene);
    for (int i = 0; i < 2; i++)
        gate_set(&play->sides[i].gate, true);
    for (int i = 0; i < 2; i++)
        start(play, &play->sides[i]);
    struct walk walk = { .last = 0 };
    for (int who; (who = choose(play, way, &walk)) >= 0;)
        gate_pass(&play->sides[who].gate);
    way->count = walk.choices; // it may have been shorter than the last time
    for (int i = 0; i < 2; i++)
        gate_set(&play->sides[i].gate, false);
    char *text = outcome(play);
    end_scene(play);
    return text;
}

static bool next_way(struct way *way)
{
    while (way->count > 0 && way->switched[way->count - 1] == 1)
        way->count--;
    if (way->count == 0) return false;
    way->switched[way->count - 1] = 1;
    return true;
}

/* ---- which have met ---- */

enum way_to_lock { FINISH, LOAD, CLAIM, SWEEP, SETTLE, WAYS_TO_LOCK };

static bool have_met[WAYS_TO_LOCK][WAYS_TO_LOCK];

static enum way_to_lock lock_of(const struct act *act)
{
    switch (act->kind) {
    case PAWL__OP_COMPLETE:
        return FINISH;
    case PAWL__OP_CLAIM:
        return CLAIM;
    case PAWL__OP_LAPSE:
    case PAWL__OP_PROMOTE:
    case PAWL__OP_EXPIRE:
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_FIRE:
        return SWEEP;
    case PAWL__OP_SETTLE:
        return SETTLE;
    default:
        return LOAD;
    }
}

/* Where neither changes the job there is nothing to see. */
static void note_meeting(const struct play *play, const struct act *acts[2])
{
    enum way_to_lock a = lock_of(acts[0]), b = lock_of(acts[1]);
    if (play->moved) have_met[a][b] = have_met[b][a] = true;
}

static int try_all(struct play *play, int scene, const struct act *acts[2])
{
    char *allowed[4] = { in_turn(play, scene, acts, 0, true), in_turn(play, scene, acts, 1, true) };
    note_meeting(play, acts);
    for (int i = 0; i < 2; i++)
        if (acts[1 - i]->skips) allowed[2 + i] = in_turn(play, scene, acts, i, false);
    struct way way = { .switches_max = switches_max[acts[0]->walks + acts[1]->walks] };
    int ways = 0;
    do {
        assert_true(ways++ < WAYS_MAX);
        char *seen = interleaved(play, scene, &way);
        bool found = false;
        for (int i = 0; i < 4; i++)
            found |= allowed[i] != NULL && strcmp(allowed[i], seen) == 0;
        if (!found) {
            print_error("seen:\n%s\n", seen); // fail_msg cuts what is long
            print_error("one after the other:\n%s\n", allowed[0]);
            print_error("the other way round:\n%s\n", allowed[1]);
            fail_msg("%s and %s, in this order: %s", acts[0]->name, acts[1]->name, way.trace);
        }
        free(seen);
    } while (next_way(&way));
    for (int i = 0; i < 4; i++)
        free(allowed[i]);
    return ways;
}

/* Pairs with one of the first `first`; the others have met elsewhere. */
static void pairs_with(size_t first, struct play *play, int scene, const struct act *acts, size_t n)
{
    int pairs = 0, ways = 0;
    for (size_t i = 0; i < first; i++)
        for (size_t j = i; j < n; j++) {
            const struct act *pair[] = { &acts[i], &acts[j] };
            ways += try_all(play, scene, pair);
            pairs++;
        }
    print_message("# %d pairs, %d ways\n", pairs, ways);
}

static void first_with_each(struct play *play, int scene, const struct act *acts, size_t n)
{
    int ways = 0;
    for (size_t i = 1; i < n; i++) {
        const struct act *pair[] = { &acts[0], &acts[i] };
        ways += try_all(play, scene, pair);
    }
    print_message("# %zu pairs, %d ways\n", n - 1, ways);
}

static void every_pair(struct play *play, int scene, const struct act *acts, size_t n)
{
    pairs_with(n, play, scene, acts, n);
}

#define LATE .late_ms = 2 * LEASE_MS
#define CONTROL(what) .kind = PAWL__OP_CONTROL, .control = PAWL_CONTROL_##what
#define FLOW_CONTROL(what) .kind = PAWL__OP_FLOW_CONTROL, .verb = PAWL_FLOW_CONTROL_##what
#define SUBMIT(policy) .kind = PAWL__OP_SUBMIT, .on_conflict = PAWL_CONFLICT_##policy

static void job_that_waits(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true },
        { .name = "cancel", CONTROL(CANCEL) },
        { .name = "pause", CONTROL(PAUSE) },
        { .name = "pause queue", .kind = PAWL__OP_QUEUE_PAUSE },
        { .name = "change priority", .kind = PAWL__OP_PRIORITY },
        { .name = "submit in its place", SUBMIT(REPLACE), .walks = true },
    };
    every_pair(*state, PAWL_STATE_AVAILABLE, acts, COUNT(acts));
}

static void job_that_runs(void **state)
{
    static const struct act acts[] = {
        { .name = "complete", .kind = PAWL__OP_COMPLETE },
        { .name = "fail", .kind = PAWL__OP_FAIL },
        { .name = "extend", .kind = PAWL__OP_EXTEND },
        { .name = "cancel", CONTROL(CANCEL) },
        { .name = "lapse", .kind = PAWL__OP_LAPSE, .skips = true, .walks = true, LATE },
        { .name = "submit with its key", SUBMIT(REJECT), .walks = true },
        { .name = "submit in its place", SUBMIT(REPLACE), .walks = true },
    };
    every_pair(*state, PAWL_STATE_ACTIVE, acts, COUNT(acts));
}

/* The flow's row is the lock of its counters: the last one to end sees what the other has counted,
 * and what waits for both is released, or given up, once. */
static void siblings_that_end_at_once(void **state)
{
    static const struct act acts[] = {
        { .name = "complete", .kind = PAWL__OP_COMPLETE, .walks = true },
        { .name = "fail", .kind = PAWL__OP_FAIL, .walks = true },
        { .name = "cancel", CONTROL(CANCEL), .walks = true },
        { .name = "cancel flow", FLOW_CONTROL(CANCEL), .walks = true },
        { .name = "drain flow", FLOW_CONTROL(CANCEL), .drain = true, .walks = true },
        { .name = "pause flow", FLOW_CONTROL(PAUSE), .walks = true },
    };
    every_pair(*state, SIBLINGS, acts, COUNT(acts));
}

/* A flow that is about to end takes one more node, or has ended. */
static void last_node_and_one_more(void **state)
{
    static const struct act acts[] = {
        { .name = "add beside", .kind = PAWL__OP_SUBMIT, .adds = BESIDE, .walks = true },
        { .name = "add below", .kind = PAWL__OP_SUBMIT, .adds = BELOW, .walks = true },
        { .name = "complete", .kind = PAWL__OP_COMPLETE, .walks = true },
        { .name = "fail", .kind = PAWL__OP_FAIL, .walks = true },
        { .name = "cancel", CONTROL(CANCEL), .walks = true },
        { .name = "cancel flow", FLOW_CONTROL(CANCEL), .walks = true },
    };
    pairs_with(2, *state, LAST_NODE, acts, COUNT(acts));
}

/* An instant makes one job, which is released by the end of the one before it, whoever is first. */
static void instants_that_come(void **state)
{
    static const struct act acts[] = {
        { .name = "fire", .kind = PAWL__OP_FIRE, .skips = true, .walks = true, LATE },
        { .name = "complete", .kind = PAWL__OP_COMPLETE, .walks = true },
        { .name = "cancel", CONTROL(CANCEL), .walks = true },
        { .name = "pause schedule",
          .kind = PAWL__OP_SCHEDULE_CONTROL,
          .schedule = PAWL__SCHEDULE_PAUSE,
          .walks = true,
          LATE },
        { .name = "run now",
          .kind = PAWL__OP_SCHEDULE_CONTROL,
          .schedule = PAWL__SCHEDULE_RUN,
          .walks = true },
        { .name = "drop schedule", .kind = PAWL__OP_SCHEDULE_DROP, .walks = true },
    };
    every_pair(*state, INSTANT, acts, COUNT(acts));
}

/* Who takes notes does not wait for who moves the job. */
static void notes_of_a_run(void **state)
{
    static const struct act acts[] = {
        { .name = "report progress", .kind = PAWL__OP_PROGRESS, .walks = true },
        { .name = "save a checkpoint", .kind = PAWL__OP_CHECKPOINT, .walks = true },
        { .name = "log", .kind = PAWL__OP_LOG, .walks = true },
        { .name = "complete", .kind = PAWL__OP_COMPLETE },
        { .name = "fail", .kind = PAWL__OP_FAIL },
        { .name = "lapse", .kind = PAWL__OP_LAPSE, .skips = true, .walks = true, LATE },
    };
    pairs_with(3, *state, PAWL_STATE_ACTIVE, acts, COUNT(acts));
}

/* What follows is left to whoever settles it; nobody else ends the run, or takes it for lost. */
static void job_whose_run_was_reported(void **state)
{
    static const struct act acts[] = {
        { .name = "settle", .kind = PAWL__OP_SETTLE, .skips = true, .walks = true },
        { .name = "complete", .kind = PAWL__OP_COMPLETE },
        { .name = "cancel", CONTROL(CANCEL) },
        { .name = "lapse", .kind = PAWL__OP_LAPSE, .skips = true, .walks = true, LATE },
    };
    every_pair(*state, REPORTED, acts, COUNT(acts));
}

/* The run that is reported is the one that the claim begins. */
static void job_whose_run_begins(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true },
        { .name = "complete", .kind = PAWL__OP_COMPLETE },
        { .name = "fail", .kind = PAWL__OP_FAIL },
    };
    first_with_each(*state, PAWL_STATE_AVAILABLE, acts, COUNT(acts));
}

/* The run that is reported is over, whatever the claim begins. */
static void job_that_came_back(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true, LATE },
        { .name = "complete", .kind = PAWL__OP_COMPLETE, LATE },
        { .name = "fail", .kind = PAWL__OP_FAIL, LATE },
    };
    first_with_each(*state, CAME_BACK, acts, COUNT(acts));
}

static void job_that_is_late(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true, LATE },
        { .name = "lapse", .kind = PAWL__OP_LAPSE, .skips = true, .walks = true, LATE },
    };
    first_with_each(*state, PAWL_STATE_ACTIVE, acts, COUNT(acts));
}

static void job_that_is_due(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true, LATE },
        { .name = "promote", .kind = PAWL__OP_PROMOTE, .skips = true, .walks = true, LATE },
    };
    first_with_each(*state, PAWL_STATE_RETRYABLE, acts, COUNT(acts));
}

static void job_that_perishes(void **state)
{
    static const struct act acts[] = {
        { .name = "expire", .kind = PAWL__OP_EXPIRE, .skips = true, .walks = true, LATE },
        { .name = "claim in time", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true },
        { .name = "claim too late", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true, LATE },
    };
    first_with_each(*state, PERISHES, acts, COUNT(acts));
}

static void job_that_is_unchecked(void **state)
{
    static const struct act acts[] = {
        { .name = "claim", .kind = PAWL__OP_CLAIM, .skips = true, .walks = true },
        { .name = "settle", .kind = PAWL__OP_SETTLE, .skips = true, .walks = true },
    };
    first_with_each(*state, UNCHECKED, acts, COUNT(acts));
}

/* The locks of keys come before those of rows, but for who settles: that passes over a key which
 * another transaction has. Whoever is first, one of the two jobs holds the key. */
static void job_whose_key_was_not_asked_for(void **state)
{
    static const struct act acts[] = {
        { .name = "settle", .kind = PAWL__OP_SETTLE, .skips = true, .walks = true },
        { .name = "submit the same", SUBMIT(REJECT), .unique = true, .walks = true },
        { .name = "submit in its place", SUBMIT(REPLACE), .unique = true, .walks = true },
        { .name = "cancel", CONTROL(CANCEL) },
    };
    pairs_with(1, *state, UNCHECKED, acts, COUNT(acts));
}

static void job_that_ended_badly(void **state)
{
    static const struct act acts[] = {
        { .name = "log", .kind = PAWL__OP_LOG },
        { .name = "retry", CONTROL(RETRY), .walks = true },
        { .name = "delete", .kind = PAWL__OP_DELETE, .walks = true },
        { .name = "archive", .kind = PAWL__OP_ARCHIVE, .skips = true, .walks = true, LATE },
        { .name = "submit with its key", SUBMIT(REJECT), .walks = true },
    };
    every_pair(*state, PAWL_STATE_DISCARDED, acts, COUNT(acts));
}

static void nodes_that_take_turns(void **state)
{
    static const struct act archive = { .name = "archive in turn",
                                        .kind = PAWL__OP_ARCHIVE,
                                        .in_turn = true,
                                        .skips = true,
                                        .walks = true,
                                        LATE };
    const struct act acts[] = { archive, archive };
    first_with_each(*state, PAWL_STATE_DISCARDED, acts, COUNT(acts));
}

static void each_way_to_lock_has_met_each_other(void **state)
{
    (void)state;
    static const char *const names[] = { "finish", "load", "claim", "sweep", "settle" };
    for (int a = 0; a < WAYS_TO_LOCK; a++)
        for (int b = 0; b <= a; b++)
            if (!have_met[a][b]) fail_msg("%s and %s have not met", names[a], names[b]);
}

/* ---- the stage ---- */

static void open_side(struct play *play, struct side *side, const char *server_dir)
{
    char url[RIG_URL_BYTES], more[80];
    gate_open(&side->gate, server_dir);
    snprintf(side->name, sizeof side->name, "side-%c", side == play->sides ? 'a' : 'b');
    snprintf(more, sizeof more, "%%20-cdeadlock_timeout%%3D20&application_name=%s", side->name);
    gate_url(&side->gate, play->url, more, url, sizeof url);
    hand_clock_init(&side->clock, HAND_CLOCK_START_MS);
    struct pawl_config config = {
        .store = url, .clock = &side->clock.clock, .busy_timeout_ms = 120000, .seed = 1
    };
    assert_ok(&play->rig, pawl__store_open(&config, &side->store, &play->rig.diag));
}

static int set_up(void **state)
{
    static struct play play;
    const char *host = strstr(getenv("PAWL_TEST_POSTGRES"), "host=");
    char dir[64];
    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(host + 5, "&"), host + 5);
    play = (struct play){ .watch = NULL };
    postgres_make(play.url, sizeof play.url);
    rig_open_url(&play.rig, play.url);
    play.watch = PQconnectdb(play.url);
    assert_int_equal(CONNECTION_OK, PQstatus(play.watch));
    PQclear(say(play.watch, "PREPARE waits AS"
                            " SELECT 1 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)"
                            " WHERE NOT l.granted AND a.application_name = $1"));
    for (int i = 0; i < 2; i++)
        open_side(&play, &play.sides[i], dir);
    set_scene(&play, PAWL_STATE_AVAILABLE); // the lane is made
    end_scene(&play);
    *state = &play;
    return 0;
}

static int tear_down(void **state)
{
    struct play *play = *state;
    for (int i = 0; i < 2; i++) {
        gate_set(&play->sides[i].gate, false);
        pawl__store_close(play->sides[i].store);
        gate_close(&play->sides[i].gate);
    }
    PQfinish(play->watch);
    rig_close(&play->rig);
    postgres_dispose(play->url);
    return 0;
}

int main(void)
{
    if (getenv("PAWL_TEST_POSTGRES") == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(job_that_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(siblings_that_end_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_node_and_one_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(instants_that_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes_of_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_whose_run_was_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_whose_run_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_came_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_is_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_is_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_perishes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_is_unchecked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_whose_key_was_not_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_ended_badly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_that_take_turns, set_up, tear_down),
        cmocka_unit_test(each_way_to_lock_has_met_each_other),
    };
    return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}
