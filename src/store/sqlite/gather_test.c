/* Many at once and one by one come to the same: two stores with one clock and one seed are given
 * the same random operations, one of them in long lists and the other singly, and must agree on
 * every answer and every row. */
#include "store/sqlite/test_kit.h"

enum { SEEDS = 10, ROUNDS = 24, OPS_MAX = 120, JOBS_MAX = 6, KNOWN_MAX = 8192, RUNS_MAX = 4096 };

static const char *const queues[] = { "blue", "green", "red" };
static const char *const types[] = { "mail", "resize", "sum" };

/* One operation in two copies: for the store that takes lists, and for the one that does not. */
struct pair {
    struct pawl__op fast, slow;
    struct pawl_diag fast_diag, slow_diag;
    struct pawl_submitted fast_out[JOBS_MAX], slow_out[JOBS_MAX];
    enum pawl_err fast_results[JOBS_MAX], slow_results[JOBS_MAX];
};

struct world {
    uint64_t seed;
    int round;
    struct pawl__rng rng;
    struct kit fast, slow;
    struct pawl__arena arena; /* what this round's operations are made of */
    struct pair *pairs;
    size_t count;
    struct pawl_job_id known[KNOWN_MAX]; /* ids that were submitted, or tried to be */
    size_t known_count;
    struct pawl_run runs[RUNS_MAX]; /* that were claimed, newest last */
    size_t run_count;
    bool peaceful; /* this round: only fresh ids, so that nothing comes in the gatherer's way */
    bool guessing; /* this round */
    bool guessed;  /* a run that nobody was given yet */
};

#define judge(world, condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s in round %d (repeat with PAWL_TEST_SEED=%llu)", #condition,               \
                     (world)->round, (unsigned long long)(world)->seed);                           \
        }                                                                                          \
    } while (0)

/* ---- dice ---- */

static uint64_t below(struct world *world, uint64_t bound)
{
    return pawl__rng_below(&world->rng, bound);
}

static bool chance(struct world *world, uint64_t percent)
{
    return below(world, 100) < percent;
}

static void *alloc(struct world *world, size_t count, size_t bytes)
{
    void *at = pawl__arena_calloc(&world->arena, count, bytes);
    assert_non_null(at);
    return at;
}

static const char *text(struct world *world, const char *prefix, uint64_t choices)
{
    char *at = alloc(world, 1, 32);
    snprintf(at, 32, "%s%llu", prefix, (unsigned long long)below(world, choices));
    return at;
}

static struct pawl_span json(struct world *world, const char *format)
{
    char *at = alloc(world, 1, 64);
    int len = snprintf(at, 64, format, (unsigned long long)below(world, 1000));
    return (struct pawl_span){ at, (size_t)len };
}

/* ---- making operations ---- */

/* Mostly a fresh id that begins with now; else one that meets others, or must be displaced. */
static struct pawl_job_id any_id(struct world *world, bool *fresh)
{
    *fresh = world->peaceful;
    if (world->peaceful) return kit_id(&world->fast);
    int64_t now = pawl__sq_key_at(world->fast.now_ms);
    switch (below(world, 16)) {
    case 0: // taken
        if (world->known_count) return world->known[below(world, world->known_count)];
        break;
    case 1: // crowded: the same first half as others, often
    case 2:
        return pawl__sq_join(now | 0x7000 | (int64_t)below(world, 8),
                             INT64_MIN | (int64_t)below(world, 3));
    case 3: // no time in it
        return pawl__sq_join((int64_t)pawl__rng_next(&world->rng),
                             (int64_t)pawl__rng_next(&world->rng));
    case 4: // of long ago
        return pawl__sq_join((pawl__sq_key_at(world->fast.now_ms - 86400000) | 0x7000) +
                                 (int64_t)below(world, 64),
                             INT64_MIN | (int64_t)below(world, 2));
    default:
        break;
    }
    *fresh = true;
    return kit_id(&world->fast);
}

static void remember(struct world *world, struct pawl_job_id id)
{
    if (world->known_count < KNOWN_MAX) world->known[world->known_count++] = id;
}

static void add_extras(struct world *world, struct pawl_job_spec *spec)
{
    if (chance(world, 20)) spec->meta = json(world, "{\"n\": %llu}");
    if (chance(world, 10)) spec->extra = json(world, "{\"x\": %llu}");
    if (chance(world, 15)) spec->expires_in_ms = 1 + (int64_t)below(world, 20000);
    if (chance(world, 10)) spec->timeout_ms = 1000;
    if (chance(world, 10)) spec->lease_ms = 1 + (int64_t)below(world, 5000);
    if (chance(world, 10)) spec->keep_ms = 50000;
    if (chance(world, 10)) spec->sla_soft_at_ms = world->fast.now_ms + (int64_t)below(world, 1000);
    if (chance(world, 10)) spec->sla_hard_at_ms = world->fast.now_ms + 2000;
    if (chance(world, 10)) spec->principal = "somebody";
    if (chance(world, 10)) spec->trace_id = text(world, "trace ", 5);
}

static void add_key(struct world *world, struct pawl__new_job *job, struct pawl_job_spec *spec)
{
    static const enum pawl_conflict conflicts[] = { PAWL_CONFLICT_REJECT, PAWL_CONFLICT_REPLACE,
                                                    PAWL_CONFLICT_IGNORE };
    spec->business_key = text(world, "key ", 10);
    job->key_count = 1;
    job->keys[0] = (struct pawl__key){ .kind = PAWL__KEY_BUSINESS,
                                       .states = pawl__states_live,
                                       .on_conflict = conflicts[below(world, COUNT(conflicts))] };
    memcpy(job->keys[0].digest, spec->business_key, strlen(spec->business_key));
}

static void make_job(struct world *world, struct pawl__new_job *job)
{
    struct pawl_job_spec *spec = alloc(world, 1, sizeof *spec);
    *job = (struct pawl__new_job){ .spec = spec };
    job->id = any_id(world, &job->fresh_id);
    remember(world, job->id);
    spec->queue = queues[below(world, COUNT(queues))];
    spec->type = types[below(world, COUNT(types))];
    spec->priority = (int32_t)below(world, 5) - 2;
    if (chance(world, 80)) spec->args = json(world, "[%llu]");
    if (chance(world, 15)) spec->delay_ms = 1 + (int64_t)below(world, 5000);
    spec->pending = chance(world, 4);
    if (chance(world, 25)) add_extras(world, spec);
    if (chance(world, 6)) add_key(world, job, spec);
    if (chance(world, 4)) job->tags = (struct pawl_span){ "[\"a\", \"b\"]", 10 };
    pawl__retry_resolve(&spec->retry);
}

static void make_submit(struct world *world, struct pair *pair, size_t count)
{
    struct pawl__new_job *jobs = alloc(world, count, sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        make_job(world, &jobs[i]);
    }
    pair->fast.kind = PAWL__OP_SUBMIT;
    pair->fast.submit.jobs = jobs;
    pair->fast.submit.count = count;
}

static void make_claim(struct world *world, struct pair *pair, enum pawl__op_kind kind)
{
    pair->fast.kind = kind;
    size_t from = below(world, COUNT(queues));
    pair->fast.claim.queues = &queues[from];
    pair->fast.claim.queue_count = 1 + below(world, COUNT(queues) - from);
    pair->fast.claim.types = &types[below(world, COUNT(types))];
    pair->fast.claim.type_count = chance(world, 20);
    pair->fast.claim.limit = (int64_t)below(world, 12);
    pair->fast.claim.worker = text(world, "worker ", 3);
    pair->fast.claim.lease_ms = 1 + (int64_t)below(world, 8000);
}

/* Mostly a run that was claimed lately; else one that is over, a guess, or nobody's. After a guess
 * nothing is claimed in this round: whoever reports a run has been given it before. */
static struct pawl_run any_run(struct world *world)
{
    struct pawl_run ref = { .run = 1 };
    if (world->run_count && chance(world, world->guessing ? 60 : 95)) {
        size_t back = below(world, world->run_count < 60 ? world->run_count : 60);
        ref = world->runs[world->run_count - 1 - back];
        if (chance(world, 5)) ref.run -= 1;
    } else if (world->guessing && world->known_count && chance(world, 80)) {
        size_t back = below(world, world->known_count < 100 ? world->known_count : 100);
        ref.id = world->known[world->known_count - 1 - back];
        ref.run += chance(world, 10);
        world->guessed = true;
    } else {
        ref.id = kit_id(&world->fast); // never submitted
    }
    return ref;
}

static void make_complete(struct world *world, struct pair *pair)
{
    pair->fast.kind = PAWL__OP_COMPLETE;
    pair->fast.complete.ref = any_run(world);
    size_t done = (size_t)(pair - world->pairs);
    if (done && world->pairs[done - 1].fast.kind == PAWL__OP_COMPLETE && chance(world, 10)) {
        pair->fast.complete.ref = world->pairs[done - 1].fast.complete.ref; // twice in one list
    }
    if (chance(world, 40)) pair->fast.complete.result = json(world, "{\"sum\": %llu}");
}

static void make_extend(struct world *world, struct pair *pair)
{
    size_t count = 1 + below(world, JOBS_MAX);
    struct pawl_run *refs = alloc(world, count, sizeof *refs);
    for (size_t i = 0; i < count; i++) {
        refs[i] = any_run(world);
    }
    pair->fast.kind = PAWL__OP_EXTEND;
    pair->fast.extend.refs = refs;
    pair->fast.extend.count = count;
    pair->fast.extend.lease_ms = 5000;
}

static void make_control(struct world *world, struct pair *pair)
{
    pair->fast.kind = PAWL__OP_CONTROL;
    pair->fast.control.id = any_run(world).id;
    pair->fast.control.control =
        (enum pawl_control)(PAWL_CONTROL_NONE + 1 + below(world, PAWL_CONTROL_END - 1));
}

static void make_sweep(struct world *world, struct pair *pair)
{
    static const enum pawl__op_kind kinds[] = { PAWL__OP_PROMOTE, PAWL__OP_LAPSE, PAWL__OP_EXPIRE,
                                                PAWL__OP_ARCHIVE, PAWL__OP_PURGE };
    pair->fast.kind = kinds[below(world, COUNT(kinds))];
    if (pair->fast.kind == PAWL__OP_ARCHIVE || pair->fast.kind == PAWL__OP_PURGE) {
        pair->fast.retire.states = UINT32_MAX;
        pair->fast.retire.age_ms = (int64_t)below(world, 20000);
        pair->fast.retire.limit = (int64_t)below(world, 30);
    } else {
        pair->fast.sweep.limit = (int64_t)below(world, 30);
    }
}

/* What is not gathered and must find what was. */
static void make_other(struct world *world, struct pair *pair)
{
    struct pawl__op *op = &pair->fast;
    switch (below(world, 9)) {
    case 0:
        op->kind = PAWL__OP_FAIL;
        op->fail.ref = any_run(world);
        op->fail.report = (struct pawl_report){ .type = "oops", .requeue = chance(world, 20) };
        break;
    case 1:
        op->kind = PAWL__OP_SNOOZE;
        op->snooze.ref = any_run(world);
        op->snooze.delay_ms = (int64_t)below(world, 2) * 500;
        break;
    case 2:
        make_extend(world, pair);
        break;
    case 3:
        make_control(world, pair);
        break;
    case 4:
        op->kind = PAWL__OP_PROGRESS;
        op->progress.ref = any_run(world);
        op->progress.value = 0.5;
        break;
    case 5:
        op->kind = PAWL__OP_CHECKPOINT;
        op->checkpoint.ref = any_run(world);
        op->checkpoint.state = json(world, "{\"at\": %llu}");
        break;
    case 6:
        op->kind = PAWL__OP_PRIORITY;
        op->priority.id = any_run(world).id;
        op->priority.priority = (int32_t)below(world, 5);
        break;
    case 7:
        op->kind = PAWL__OP_DELETE;
        op->remove.id = any_run(world).id;
        break;
    default:
        make_sweep(world, pair);
        break;
    }
}

static void make_op(struct world *world, struct pair *pair)
{
    memset(pair, 0, sizeof *pair);
    uint64_t dice = below(world, 100);
    if (dice < 42) {
        make_submit(world, pair, 1);
    } else if (dice < 48) {
        make_submit(world, pair, 2 + below(world, JOBS_MAX - 1));
    } else if (dice < 59 && !world->guessed) {
        make_claim(world, pair, PAWL__OP_CLAIM);
    } else if (dice == 59) {
        make_claim(world, pair, PAWL__OP_ROUTE);
    } else if (dice < (world->peaceful ? 99 : 92)) {
        make_complete(world, pair);
    } else {
        make_other(world, pair);
    }
    pair->slow = pair->fast;
    pair->fast.diag = &pair->fast_diag;
    pair->slow.diag = &pair->slow_diag;
    if (pair->fast.kind == PAWL__OP_SUBMIT) {
        pair->fast.submit.out = pair->fast_out;
        pair->slow.submit.out = pair->slow_out;
    } else if (pair->fast.kind == PAWL__OP_EXTEND) {
        pair->fast.extend.results = pair->fast_results;
        pair->slow.extend.results = pair->slow_results;
    }
}

/* ---- applying them ---- */

static void apply_listed(struct world *world)
{
    struct pawl__op **ops = alloc(world, world->count, sizeof *ops);
    for (size_t i = 0; i < world->count; i++) {
        ops[i] = &world->pairs[i].fast;
    }
    kit_ok(&world->fast, kit_apply(&world->fast, ops, world->count));
}

/* Several jobs of one submit are gathered even when it comes alone; this way the core decides. */
static void submit_the_long_way(struct kit *kit, struct pawl__op *op)
{
    struct pawl__backend *sq = kit->sq;
    sq->set.diag = &kit->diag;
    kit_ok(kit, pawl__sq_do(sq, SQL_BEGIN));
    op->now_ms = sq->set.now_ms = kit->now_ms;
    kit_ok(kit, pawl__sq_catalog_refresh(sq));
    kit_ok(kit, pawl__core_add(&sq->set, op));
    kit_ok(kit, pawl__core_run(&sq->set));
    kit_ok(kit, pawl__sq_counts_flush(sq));
    kit_ok(kit, pawl__sq_do(sq, SQL_COMMIT));
    pawl__catalog_forget_counts(&sq->set.catalog);
    sq->set.diag = NULL;
}

static void apply_singly(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        struct pawl__op *op = &world->pairs[i].slow;
        if (op->kind == PAWL__OP_SUBMIT && op->submit.count > 1) {
            submit_the_long_way(&world->slow, op);
        } else {
            kit_ok(&world->slow, kit_apply(&world->slow, &op, 1));
        }
    }
}

/* ---- comparing ---- */

static bool same_id(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

static bool same_span(struct pawl_span a, struct pawl_span b)
{
    return a.len == b.len && (!a.len || memcmp(a.at, b.at, a.len) == 0);
}

static bool same_job(const struct pawl_job *a, const struct pawl_job *b)
{
    return same_id(a->id, b->id) && a->state == b->state && a->run == b->run &&
           a->attempt == b->attempt && a->free_runs == b->free_runs && a->priority == b->priority &&
           a->attempts_max == b->attempts_max && a->created_at_ms == b->created_at_ms &&
           a->due_at_ms == b->due_at_ms && a->expires_at_ms == b->expires_at_ms &&
           a->started_at_ms == b->started_at_ms && a->lease_until_ms == b->lease_until_ms &&
           a->timeout_ms == b->timeout_ms && a->lease_ms == b->lease_ms &&
           a->keep_ms == b->keep_ms && strcmp(a->queue, b->queue) == 0 &&
           strcmp(a->type, b->type) == 0 && strcmp(a->worker, b->worker) == 0 &&
           strcmp(a->business_key, b->business_key) == 0 &&
           strcmp(a->principal, b->principal) == 0 && strcmp(a->trace_id, b->trace_id) == 0 &&
           same_span(a->args, b->args) && same_span(a->meta, b->meta) &&
           same_span(a->extra, b->extra) && same_span(a->tags, b->tags);
}

static void compare_claims(struct world *world, const struct pair *pair)
{
    judge(world, pair->fast.claim.job_count == pair->slow.claim.job_count);
    for (size_t i = 0; i < pair->fast.claim.job_count; i++) {
        const struct pawl_job *job = &pair->fast.claim.jobs[i];
        judge(world, same_job(job, &pair->slow.claim.jobs[i]));
        if (pair->fast.kind == PAWL__OP_ROUTE || world->run_count == RUNS_MAX) continue;
        world->runs[world->run_count++] = (struct pawl_run){ job->id, job->run };
    }
}

static void compare_submits(struct world *world, const struct pair *pair)
{
    if (pair->fast.err) {
        judge(world, pair->fast.submit.failed_index == pair->slow.submit.failed_index);
        return;
    }
    for (size_t i = 0; i < pair->fast.submit.count; i++) {
        const struct pawl_submitted *a = &pair->fast_out[i], *b = &pair->slow_out[i];
        judge(world, same_id(a->id, b->id) && a->state == b->state &&
                         a->deduplicated == b->deduplicated && a->replaced == b->replaced);
    }
}

/* A completion that is refused may be told what others behind it in the list have made of the job.
 */
static bool same_verdict(const struct pawl__op *a, const struct pawl__op *b)
{
    if (a->err == b->err) return true;
    return a->kind == PAWL__OP_COMPLETE && a->err && b->err;
}

static void compare_answers(struct world *world, const struct pair *pair)
{
    const struct pawl__op *a = &pair->fast, *b = &pair->slow;
    if (!same_verdict(a, b)) {
        print_error("operation %zu of kind %d: %s (%s) and %s (%s)\n",
                    (size_t)(pair - world->pairs), (int)a->kind, pawl_err_name(a->err),
                    pair->fast_diag.text, pawl_err_name(b->err), pair->slow_diag.text);
    }
    judge(world, same_verdict(a, b));
    judge(world, a->now_ms == b->now_ms);
    bool told_alike = a->kind == PAWL__OP_COMPLETE ||
                      strcmp(pair->fast_diag.text, pair->slow_diag.text) == 0;
    if (!told_alike) print_error("%s\n%s\n", pair->fast_diag.text, pair->slow_diag.text);
    judge(world, told_alike);
    judge(world, strcmp(pair->fast_diag.field, pair->slow_diag.field) == 0);
    switch (a->kind) {
    case PAWL__OP_SUBMIT:
        compare_submits(world, pair);
        break;
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
        compare_claims(world, pair);
        break;
    case PAWL__OP_EXTEND:
        judge(world,
              memcmp(pair->fast_results, pair->slow_results, sizeof pair->fast_results) == 0);
        break;
    case PAWL__OP_FAIL:
        judge(world, a->fail.to == b->fail.to && a->fail.due_at_ms == b->fail.due_at_ms &&
                         a->fail.attempt == b->fail.attempt &&
                         a->fail.delay_ms == b->fail.delay_ms);
        break;
    case PAWL__OP_CONTROL:
        judge(world, a->control.from == b->control.from && a->control.to == b->control.to);
        break;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
        judge(world,
              a->sweep.moved == b->sweep.moved && a->sweep.next_at_ms == b->sweep.next_at_ms);
        break;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        judge(world, a->retire.moved == b->retire.moved);
        break;
    default:
        break;
    }
}

static bool same_value(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    int bytes = sqlite3_column_bytes(a, column); // makes text of what is not
    return sqlite3_column_type(a, column) == sqlite3_column_type(b, column) &&
           bytes == sqlite3_column_bytes(b, column) &&
           (!bytes || memcmp(sqlite3_column_blob(a, column), sqlite3_column_blob(b, column),
                             (size_t)bytes) == 0);
}

/* Row by row in order of the primary key. */
static void compare_table(struct world *world, const char *table, const char *where)
{
    char sql[192];
    snprintf(sql, sizeof sql, "SELECT * FROM %s%s", table, where);
    sqlite3_stmt *a = sql_prepare(world->fast.sq->writer.db, sql);
    sqlite3_stmt *b = sql_prepare(world->slow.sq->writer.db, sql);
    int code;
    int64_t row = 0;
    do {
        code = sqlite3_step(a);
        row++;
        if (sqlite3_step(b) != code) {
            fail_msg("%s: one has %lld rows, the other more, in round %d"
                     " (repeat with PAWL_TEST_SEED=%llu)",
                     table, (long long)row - 1, world->round, (unsigned long long)world->seed);
        }
        for (int i = 0; code == SQLITE_ROW && i < sqlite3_column_count(a); i++) {
            if (same_value(a, b, i)) continue;
            fail_msg("%s: row %lld, %s: %s and %s in round %d (repeat with PAWL_TEST_SEED=%llu)",
                     table, (long long)row, sqlite3_column_name(a, i), sqlite3_column_text(a, i),
                     sqlite3_column_text(b, i), world->round, (unsigned long long)world->seed);
        }
    } while (code == SQLITE_ROW);
    assert_int_equal(code, SQLITE_DONE);
    sqlite3_finalize(a);
    sqlite3_finalize(b);
}

static void compare_tables(struct world *world)
{
    struct pawl__buf tables = sql_lines(world->fast.sq->writer.db,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'", 0);
    for (char *name = strtok(tables.at, "\n"); name; name = strtok(NULL, "\n")) {
        const char *more = "";
        if (strcmp(name, "pawl_head") == 0) continue; // only who gathers keeps jobs in memory
        if (strcmp(name, "pawl_ready") == 0) {
            more = " UNION ALL SELECT lane, rank, key, 0, 0, 0 FROM pawl_head_job ORDER BY 1, 2, 3";
        }
        // that a count was once more than 0 is seen only by who does things one by one
        if (strcmp(name, "pawl_count") == 0) more = " WHERE n <> 0";
        compare_table(world, name, more);
    }
    pawl__buf_release(&tables);
}

/* ---- the test ---- */

static void move_clock(struct world *world)
{
    static const int64_t steps_ms[] = { 0, 0, 1, 50, 1000, 4000, 20000 };
    int64_t step_ms = steps_ms[below(world, COUNT(steps_ms))];
    if (chance(world, 3)) step_ms = -500; // it may step back
    world->fast.now_ms += step_ms;
    world->slow.now_ms = world->fast.now_ms;
}

static void play_round(struct world *world)
{
    move_clock(world);
    world->count = 1 + below(world, OPS_MAX);
    world->peaceful = chance(world, 40);
    world->guessing = chance(world, 30);
    world->guessed = false;
    for (size_t i = 0; i < world->count; i++) {
        make_op(world, &world->pairs[i]);
    }
    apply_listed(world);
    apply_singly(world);
    for (size_t i = 0; i < world->count; i++) {
        compare_answers(world, &world->pairs[i]);
        pawl__arena_release(&world->pairs[i].fast.arena);
        pawl__arena_release(&world->pairs[i].slow.arena);
    }
    compare_tables(world);
    pawl__arena_reset(&world->arena);
}

static void run_through(struct kit *kit, struct pawl_job_id id, bool revive)
{
    struct pawl__op snooze = { .kind = PAWL__OP_SNOOZE, .snooze = { .ref = { id, 1 } } };
    struct pawl__op control = { .kind = PAWL__OP_CONTROL,
                                .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
    assert_int_equal(kit_claim(kit, "green", 1), 1);
    kit_ok(kit, kit_do(kit, &snooze)); // its first run charges nothing
    if (revive) {
        kit_ok(kit, kit_do(kit, &control));
        control.control.control = PAWL_CONTROL_RETRY; // a new series of attempts
        kit_ok(kit, kit_do(kit, &control));
    }
}

/* Jobs that have been through something, and wait again; claimed later, in the rounds. */
static void make_veterans(struct world *world)
{
    for (int i = 0; i < 20; i++) {
        struct pawl_job_id id = kit_id(&world->fast);
        struct pawl_job_spec spec = { .id = &id, .queue = "green", .priority = 50 + i };
        kit_submit(&world->fast, spec);
        kit_submit(&world->slow, spec);
        run_through(&world->fast, id, i % 2);
        run_through(&world->slow, id, i % 2);
    }
}

/* Lanes get their numbers when they are first seen; see to it that both see them in one order. */
static void make_lanes(struct world *world)
{
    for (size_t i = 0; i < COUNT(queues) * COUNT(types); i++) {
        struct pawl_job_id id = kit_id(&world->fast);
        struct pawl_job_spec spec = { .id = &id,
                                      .queue = queues[i / COUNT(types)],
                                      .type = types[i % COUNT(types)] };
        kit_submit(&world->fast, spec);
        kit_submit(&world->slow, spec);
    }
}

/* Else all this would compare the long way with itself. */
static void each_went_its_own_way(struct world *world)
{
    static const enum pawl__sql gathered[] = {
        SQL_NEW_JOBS_PLAIN,
        SQL_NEW_WAIT,
        SQL_GATHERED_DONE,
        SQL_GATHERED_LEFT,
    };
    for (size_t i = 0; i < COUNT(gathered); i++) {
        assert_non_null(world->fast.sq->writer.stmts[gathered[i]]); // prepared when first used
        assert_null(world->slow.sq->writer.stmts[gathered[i]]);
    }
}

static void lists_and_single_operations_come_to_the_same(void **state)
{
    for_seeds(seed, SEEDS)
    {
        struct world *world = calloc(1, sizeof *world);
        assert_non_null(world);
        world->seed = seed;
        world->pairs = calloc(OPS_MAX, sizeof *world->pairs);
        assert_non_null(world->pairs);
        pawl__rng_seed(&world->rng, seed);
        kit_open_memory(&world->fast);
        kit_open_memory(&world->slow);
        make_lanes(world);
        make_veterans(world);
        for (; world->round < ROUNDS; world->round++) {
            play_round(world);
        }
        each_went_its_own_way(world);
        kit_check(&world->fast);
        kit_check(&world->slow);
        kit_close(&world->fast);
        kit_close(&world->slow);
        pawl__arena_release(&world->arena);
        free(world->pairs);
        free(world);
    }
}

/* ---- what a failed transaction leaves ---- */

static int refuse_commit(void *ctx)
{
    (void)ctx;
    return 1;
}

/* Ten submits, on the heap: they are gone when the next transaction comes. */
static enum pawl_err submit_ten(struct kit *kit, const char *last_queue)
{
    enum { TEN = 10 };
    struct pawl__op *ops = calloc(TEN, sizeof *ops), *list[TEN];
    struct pawl__new_job *jobs = calloc(TEN, sizeof *jobs);
    struct pawl_submitted *out = calloc(TEN, sizeof *out);
    assert_true(ops && jobs && out);
    for (int i = 0; i < TEN; i++) {
        const char *queue = i == TEN - 1 ? last_queue : "ten";
        jobs[i] = kit_job(kit, (struct pawl_job_spec){ .queue = queue });
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                                    .submit = { .jobs = &jobs[i], .count = 1, .out = &out[i] } };
        list[i] = &ops[i];
    }
    enum pawl_err err = kit_apply(kit, list, TEN);
    for (int i = 0; i < TEN; i++) {
        pawl__arena_release(&ops[i].arena);
    }
    free(out);
    free(jobs);
    free(ops);
    return err;
}

static int forbid_queues(void *ctx, int action, const char *table, const char *b, const char *c,
                         const char *d)
{
    (void)ctx, (void)b, (void)c, (void)d;
    bool forbidden = action == SQLITE_INSERT && strcmp(table, "pawl_queue") == 0;
    return forbidden ? SQLITE_DENY : SQLITE_OK;
}

static void nothing_is_left_of_a_failed_transaction(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    sqlite3 *db = kit.sq->writer.db;
    sqlite3_commit_hook(db, refuse_commit, NULL); // all was written
    assert_int_not_equal(submit_ten(&kit, "ten"), PAWL_OK);
    assert_int_not_equal(submit_ten(&kit, "ten"), PAWL_OK);
    sqlite3_commit_hook(db, NULL, NULL);
    assert_int_equal(sql_int(db, "SELECT count(*) FROM pawl_job"), 0);
    assert_int_equal(sql_int(db, "SELECT count(*) FROM pawl_queue"), 0);
    kit_ok(&kit, submit_ten(&kit, "ten"));
    sqlite3_set_authorizer(db, forbid_queues, NULL); // nine were gathered, none was written
    assert_int_not_equal(submit_ten(&kit, "eleven"), PAWL_OK);
    sqlite3_set_authorizer(db, NULL, NULL);
    kit_ok(&kit, submit_ten(&kit, "ten"));
    assert_int_equal(sql_int(db, "SELECT count(*) FROM pawl_job"), 20);
    assert_int_equal(sql_int(db, "SELECT sum(n) FROM pawl_count"), 20);
    assert_int_equal(kit_claim(&kit, "ten", 100), 20);
    kit_check(&kit);
    kit_close(&kit);
}

/* ---- what was posted singly ---- */

/* A claim, then a submit, in one transaction; how many did the claim get? */
static size_t claim_before_submit(struct kit *kit, const char *queue, bool listed)
{
    struct pawl__new_job job = kit_job(kit, (struct pawl_job_spec){ .queue = queue });
    struct pawl_submitted out;
    struct pawl__op claim = { .kind = PAWL__OP_CLAIM,
                              .chained = listed,
                              .claim = { .queues = &queue,
                                         .queue_count = 1,
                                         .limit = 10,
                                         .worker = "worker",
                                         .lease_ms = KIT_LEASE_MS } };
    struct pawl__op submit = { .kind = PAWL__OP_SUBMIT,
                               .chained = listed,
                               .submit = { .jobs = &job, .count = 1, .out = &out } };
    struct pawl__op pause = { .kind = PAWL__OP_QUEUE_PAUSE,
                              .chained = listed,
                              .queue = { .queue = queue, .paused = true } };
    struct pawl__op *ops[] = { &claim, &submit, &pause };
    kit_ok(kit, pawl__backend_sqlite.apply(kit->sq, ops, COUNT(ops), &kit->diag));
    assert_int_equal(claim.err, PAWL_OK);
    assert_int_equal(submit.err, PAWL_OK);
    assert_int_equal(pause.err, PAWL_OK);
    pawl__arena_release(&claim.arena);
    return claim.claim.job_count;
}

static void single_claims_wait_for_what_is_gathered_alone(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    assert_int_equal(claim_before_submit(&kit, "listed", true), 0); // a list keeps its order
    assert_int_equal(claim_before_submit(&kit, "single", false), 1);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_single_operations_come_to_the_same),
        cmocka_unit_test(nothing_is_left_of_a_failed_transaction),
        cmocka_unit_test(single_claims_wait_for_what_is_gathered_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
