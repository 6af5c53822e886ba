/* The committer in front of a backend that can apply in several sessions at once and does what a
 * script says: who takes what waits, what stays in order, what is told when.
 *
 * The backend's functions and the answers run on the sessions' threads, where nothing may be
 * asserted: they take notes, and the test's thread reads them. */
#include "store/committer.h"

#include "base/clock.h"
#include "base/diag.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/test_kit.h"

enum { SESSIONS = 3, ACTS_MAX = 4096, LOTS = PAWL__WORTH_A_SESSION };

/* One session. Guarded by the stage's mutex, but for the first three. */
struct pawl__backend {
    struct stage *stage;
    int number;
    struct pawl__move move; /* its `run` tells which call of apply it was */
    pawl__order_fn *order;
    void *order_ctx;
    bool held_early, held_late; /* apply stops before it takes its place, or behind it */
    bool early, late;           /* it has come there */
    enum pawl_err says;
    int calls;
};

struct stage {
    struct pawl__backend sessions[SESSIONS];
    _Atomic int64_t mono_us;
    struct pawl_clock clock;
    struct pawl__committer committer;

    struct pawl__mutex mutex;
    struct pawl__cond moved;
    /* guarded by mutex: */
    int joined, closed, reopened;
    int64_t joins;
    bool cannot_join;
    int applied, answered;
    int received[ACTS_MAX]; /* numbers of the sessions that told, in order */
    int received_count;
};

struct act {
    struct pawl__op op;
    struct stage *stage;
    int session;             /* that applied it, from 1; 0: none */
    int call;                /* of that session's apply */
    int applied_as, answers; /* guarded by the stage's mutex, like the two before */
};

static void stop_here(struct stage *stage, const bool *held, bool *here)
    PAWL__REQUIRES(stage->mutex)
{
    *here = true;
    pawl__cond_broadcast(&stage->moved);
    while (*held) {
        pawl__cond_wait(&stage->moved, &stage->mutex);
    }
    *here = false;
}

static enum pawl_err script_apply(struct pawl__backend *session, struct pawl__op **ops,
                                  size_t count, struct pawl_diag *diag)
{
    struct stage *stage = session->stage;
    pawl__lock(&stage->mutex);
    session->calls++;
    stop_here(stage, &session->held_early, &session->early);
    for (size_t i = 0; i < count; i++) {
        struct act *act = ops[i]->user;
        act->session = session->number + 1;
        act->call = session->calls;
        act->applied_as = stage->applied++;
    }
    pawl__unlock(&stage->mutex);
    session->order(session->order_ctx);
    pawl__lock(&stage->mutex);
    stop_here(stage, &session->held_late, &session->late);
    enum pawl_err err = session->says;
    session->says = PAWL_OK;
    pawl__unlock(&stage->mutex);
    return err ? pawl__fail(diag, err, "session %d failed", session->number) : PAWL_OK;
}

static enum pawl_err script_reopen(struct pawl__backend *session, struct pawl_diag *diag)
{
    pawl__lock(&session->stage->mutex);
    session->stage->reopened++;
    pawl__unlock(&session->stage->mutex);
    return PAWL_OK;
}

static enum pawl_err script_join(struct pawl__backend *first, struct pawl__backend **out,
                                 struct pawl_diag *diag)
{
    struct stage *stage = first->stage;
    pawl__lock(&stage->mutex);
    stage->joins++;
    bool cannot = stage->cannot_join;
    if (!cannot) *out = &stage->sessions[++stage->joined];
    pawl__cond_broadcast(&stage->moved);
    pawl__unlock(&stage->mutex);
    return cannot ? pawl__fail(diag, PAWL_ERR_IO, "no more") : PAWL_OK;
}

static void script_close(struct pawl__backend *session)
{
    pawl__lock(&session->stage->mutex);
    session->stage->closed++;
    pawl__unlock(&session->stage->mutex);
}

static void script_order(struct pawl__backend *session, pawl__order_fn *fn, void *ctx)
{
    session->order = fn;
    session->order_ctx = ctx;
}

static void script_note(struct pawl__backend *session, bool all_moves)
{
}

static bool script_get_notice(struct pawl__backend *session, struct pawl__notice *out)
{
    session->move.run = session->number;
    *out = (struct pawl__notice){ .at_ms = 1, .moves = &session->move, .move_count = 1 };
    return true;
}

static const struct pawl__backend_table script_table = {
    .scheme = "script:",
    .close = script_close,
    .apply = script_apply,
    .reopen = script_reopen,
    .session_max = SESSIONS,
    .join = script_join,
    .order = script_order,
    .note = script_note,
    .get_notice = script_get_notice,
};

static void hear(void *ctx, const struct pawl__notice *notice)
{
    struct stage *stage = ctx;
    pawl__lock(&stage->mutex);
    if (stage->received_count < ACTS_MAX) {
        stage->received[stage->received_count++] = (int)notice->moves->run;
    }
    pawl__cond_broadcast(&stage->moved);
    pawl__unlock(&stage->mutex);
}

static int64_t read_mono(void *ctx)
{
    return atomic_load(&((struct stage *)ctx)->mono_us);
}

static struct stage *stage_new(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->mono_us = 5000000;
    stage->clock = (struct pawl_clock){ .wall_ms = read_mono, .mono_us = read_mono, .ctx = stage };
    pawl__mutex_init(&stage->mutex);
    pawl__cond_init(&stage->moved);
    for (int i = 0; i < SESSIONS; i++) {
        stage->sessions[i].stage = stage;
        stage->sessions[i].number = i;
    }
    assert_int_equal(pawl__committer_open(&stage->committer, &script_table, stage->sessions, NULL,
                                          &stage->clock, NULL),
                     PAWL_OK);
    pawl__committer_watch(&stage->committer, hear, stage, true);
    return stage;
}

static void stage_close(struct stage *stage)
{
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->closed, stage->joined);
    pawl__cond_release(&stage->moved);
    pawl__mutex_release(&stage->mutex);
    free(stage);
}

static void note_answer(struct pawl__op *op)
{
    struct act *act = op->user;
    struct stage *stage = act->stage;
    pawl__lock(&stage->mutex);
    act->answers++;
    stage->answered++;
    pawl__cond_broadcast(&stage->moved);
    pawl__unlock(&stage->mutex);
}

/* Operations that weigh `weight` each. */
static struct act *acts_new(struct stage *stage, size_t count, size_t weight)
{
    struct act *acts = calloc(count, sizeof *acts);
    assert_non_null(acts);
    for (size_t i = 0; i < count; i++) {
        acts[i].stage = stage;
        acts[i].op = (struct pawl__op){
            .kind = PAWL__OP_SUBMIT, .done = note_answer, .user = &acts[i], .submit.count = weight
        };
    }
    return acts;
}

static void post(struct act *act)
{
    pawl__committer_post(&act->stage->committer, &act->op);
}

static void set(struct stage *stage, bool *flag, bool value)
{
    pawl__lock(&stage->mutex);
    *flag = value;
    pawl__cond_broadcast(&stage->moved);
    pawl__unlock(&stage->mutex);
}

static void wait_for(struct stage *stage, const bool *flag)
{
    pawl__lock(&stage->mutex);
    while (!*flag) {
        pawl__cond_wait(&stage->moved, &stage->mutex);
    }
    pawl__unlock(&stage->mutex);
}

static void wait_for_count(struct stage *stage, const int *count, int wanted)
{
    pawl__lock(&stage->mutex);
    while (*count < wanted) {
        pawl__cond_wait(&stage->moved, &stage->mutex);
    }
    pawl__unlock(&stage->mutex);
}

/* The first session is inside apply with one operation, and stays there. */
static struct act *occupy_first(struct stage *stage, bool late)
{
    struct pawl__backend *first = &stage->sessions[0];
    struct act *act = acts_new(stage, 1, 1);
    set(stage, late ? &first->held_late : &first->held_early, true);
    post(act);
    wait_for(stage, late ? &first->late : &first->early);
    return act;
}

static void release_first(struct stage *stage)
{
    set(stage, &stage->sessions[0].held_early, false);
    set(stage, &stage->sessions[0].held_late, false);
}

/* ---- who takes what waits ---- */

static void much_takes_a_further_session(void **state)
{
    struct stage *stage = stage_new();
    struct act *busy = occupy_first(stage, false), *acts = acts_new(stage, 2, LOTS);
    set(stage, &stage->sessions[1].held_early, true);
    post(&acts[0]);
    wait_for(stage, &stage->sessions[1].early); // both are inside apply
    post(&acts[1]);
    wait_for_count(stage, &stage->answered, 1); // by the third
    set(stage, &stage->sessions[1].held_early, false);
    wait_for_count(stage, &stage->answered, 2);
    release_first(stage);
    wait_for_count(stage, &stage->answered, 3);
    assert_int_equal(busy->session, 1);
    assert_int_equal(acts[0].session, 2);
    assert_int_equal(acts[1].session, 3);
    stage_close(stage);
    free(busy);
    free(acts);
}

/* However little waits, a session that is stuck does not hold it up for ever. */
static void stuck_session_holds_nobody_up(void **state)
{
    struct stage *stage = stage_new();
    struct act *busy = occupy_first(stage, false), *acts = acts_new(stage, 3, 1);
    for (int i = 0; i < 3; i++) {
        post(&acts[i]);
        wait_for_count(stage, &stage->answered, i + 1);
        assert_int_not_equal(acts[i].session, 1);
    }
    release_first(stage);
    stage_close(stage);
    assert_int_equal(busy->answers, 1);
    free(busy);
    free(acts);
}

static bool first_sleeps(struct stage *stage)
{
    pawl__lock(&stage->committer.mutex);
    bool sleeps = stage->committer.sessions[0].state == PAWL__SESSION_SLEEPS;
    pawl__unlock(&stage->committer.mutex);
    return sleeps;
}

/* With nothing else to do, the first session is the only one. */
static void one_after_the_other_needs_one_session(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 50, LOTS);
    for (int i = 0; i < 50; i++) {
        post(&acts[i]);
        wait_for_count(stage, &stage->received_count, i + 1);
        assert_int_equal(acts[i].session, 1);
        while (!first_sleeps(stage)) {
            sched_yield(); // it has told of it, yet is not back for more
        }
    }
    assert_int_equal(stage->joined, 0);
    stage_close(stage);
    free(acts);
}

static void who_cannot_join_leaves_it_to_the_others(void **state)
{
    struct stage *stage = stage_new();
    set(stage, &stage->cannot_join, true);
    struct act *busy = occupy_first(stage, false), *acts = acts_new(stage, 3, LOTS);
    for (int i = 0; i < 3; i++) {
        post(&acts[i]);
    }
    pawl__lock(&stage->mutex);
    while (!stage->joins) {
        pawl__cond_wait(&stage->moved, &stage->mutex);
    }
    pawl__unlock(&stage->mutex);
    release_first(stage);
    wait_for_count(stage, &stage->answered, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(acts[i].session, 1);
    }
    assert_true(stage->joins <= SESSIONS - 1); // not again before its time
    stage_close(stage);
    free(busy);
    free(acts);
}

/* ---- order ---- */

/* The first part of a list is under way: nobody takes the second before it has ended. */
static void list_stays_in_its_session(void **state)
{
    enum { PARTS = 5 };
    struct stage *stage = stage_new();
    struct act *list = acts_new(stage, PARTS, PAWL__COMMIT_WEIGHT_MAX);
    struct act *behind = acts_new(stage, 2, LOTS);
    for (int i = 0; i + 1 < PARTS; i++) {
        list[i].op.next = &list[i + 1].op;
    }
    set(stage, &stage->sessions[0].held_early, true);
    post(list);
    wait_for(stage, &stage->sessions[0].early);
    post(&behind[0]);
    post(&behind[1]);
    release_first(stage);
    wait_for_count(stage, &stage->answered, PARTS + 2);
    for (int i = 0; i < PARTS; i++) {
        assert_int_equal(list[i].session, 1);
        assert_int_equal(list[i].call, i + 1);
        // once the last part is under way, another session may be ahead of it with what is behind
        assert_true(i + 1 == PARTS || list[i].applied_as == i);
    }
    stage_close(stage);
    free(list);
    free(behind);
}

static void log_lines_keep_their_order(void **state)
{
    enum { LINES = 2000 };
    struct stage *stage = stage_new();
    struct act *lines = acts_new(stage, LINES, 1), *others = acts_new(stage, LINES, LOTS / 2);
    for (int i = 0; i < LINES; i++) {
        lines[i].op.kind = PAWL__OP_LOG;
        post(&lines[i]);
        post(&others[i]);
    }
    wait_for_count(stage, &stage->answered, 2 * LINES);
    stage_close(stage);
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(lines[i].session, 1);
        assert_int_equal(lines[i].answers, 1);
        assert_true(i == 0 || lines[i].applied_as > lines[i - 1].applied_as);
        assert_int_equal(others[i].answers, 1);
    }
    free(lines);
    free(others);
}

/* Both are committed; the answer to the one that was first comes last. */
static void moves_are_told_in_the_order_of_the_commits(void **state)
{
    struct stage *stage = stage_new();
    struct act *first = occupy_first(stage, true), *second = acts_new(stage, 1, LOTS);
    post(second);
    wait_for_count(stage, &stage->answered, 1);
    assert_int_equal(second->session, 2);
    release_first(stage);
    wait_for_count(stage, &stage->received_count, 2);
    assert_int_equal(stage->received[0], 0);
    assert_int_equal(stage->received[1], 1);
    stage_close(stage);
    free(first);
    free(second);
}

/* One that has not come to its COMMIT yet may move what the other has moved, not the reverse. */
static void who_is_not_committing_is_not_waited_for(void **state)
{
    struct stage *stage = stage_new();
    struct act *first = occupy_first(stage, false), *second = acts_new(stage, 1, LOTS);
    post(second);
    wait_for_count(stage, &stage->received_count, 1);
    assert_int_equal(stage->received[0], 1);
    release_first(stage);
    wait_for_count(stage, &stage->received_count, 2);
    stage_close(stage);
    free(first);
    free(second);
}

/* A commit that failed has nothing to tell, and nobody waits for it. */
static void failed_commit_is_not_waited_for(void **state)
{
    struct stage *stage = stage_new();
    struct act *first = occupy_first(stage, true), *second = acts_new(stage, 1, LOTS);
    pawl__lock(&stage->mutex);
    stage->sessions[0].says = PAWL_ERR_BUSY;
    pawl__unlock(&stage->mutex);
    post(second);
    wait_for_count(stage, &stage->answered, 1);
    release_first(stage);
    wait_for_count(stage, &stage->received_count, 1);
    assert_int_equal(stage->received[0], 1);
    stage_close(stage);
    assert_int_equal(first->op.err, PAWL_ERR_BUSY);
    free(first);
    free(second);
}

/* ---- doubt ---- */

static void doubt_of_one_session_stops_all(void **state)
{
    struct stage *stage = stage_new();
    struct act *busy = occupy_first(stage, false), *acts = acts_new(stage, 4, LOTS);
    pawl__lock(&stage->mutex);
    stage->sessions[1].says = PAWL_ERR_IO;
    pawl__unlock(&stage->mutex);
    post(&acts[0]);
    wait_for_count(stage, &stage->answered, 1);
    assert_int_equal(acts[0].op.err, PAWL_ERR_IO);
    post(&acts[1]); // for the first alone, which is to reopen the backend
    release_first(stage);
    wait_for_count(stage, &stage->answered, 3);
    assert_int_equal(busy->op.err, PAWL_OK); // it had begun before
    assert_int_equal(acts[1].op.err, PAWL_ERR_UNSAFE);
    assert_int_equal(acts[1].session, 0);
    atomic_fetch_add(&stage->mono_us, 2000000);
    post(&acts[2]);
    wait_for_count(stage, &stage->answered, 4);
    assert_int_equal(acts[2].op.err, PAWL_OK);
    assert_int_equal(stage->reopened, 1);
    stage_close(stage);
    free(busy);
    free(acts);
}

/* The rest of a list is the session's that took its first part; in doubt it must not keep it. */
static void doubt_of_a_session_leaves_its_list_to_the_first(void **state)
{
    enum { PARTS = 3 };
    struct stage *stage = stage_new();
    struct act *busy = occupy_first(stage, false);
    struct act *list = acts_new(stage, PARTS, PAWL__COMMIT_WEIGHT_MAX);
    for (int i = 0; i + 1 < PARTS; i++) {
        list[i].op.next = &list[i + 1].op;
    }
    pawl__lock(&stage->mutex);
    stage->sessions[1].says = PAWL_ERR_IO;
    pawl__unlock(&stage->mutex);
    post(list);
    wait_for_count(stage, &stage->answered, 1);
    release_first(stage);
    wait_for_count(stage, &stage->answered, PARTS + 1);
    assert_int_equal(busy->op.err, PAWL_OK);
    assert_int_equal(list[0].op.err, PAWL_ERR_IO);
    for (int i = 1; i < PARTS; i++) {
        assert_int_equal(list[i].op.err, PAWL_ERR_UNSAFE);
        assert_int_equal(list[i].session, 0);
    }
    stage_close(stage);
    free(busy);
    free(list);
}

/* ---- the end ---- */

static void closing_answers_what_all_sessions_have(void **state)
{
    struct stage *stage = stage_new();
    enum { ACTS = 400 };
    struct act *acts = acts_new(stage, ACTS, LOTS);
    for (int i = 0; i < ACTS; i++) {
        post(&acts[i]);
    }
    stage_close(stage);
    for (int i = 0; i < ACTS; i++) {
        assert_int_equal(acts[i].answers, 1);
        assert_int_equal(acts[i].op.err, PAWL_OK);
    }
    free(acts);
}

/* Post or be let in; either way it is done once. */
static void *perform_many(void *arg)
{
    struct stage *stage = arg;
    struct act *acts = acts_new(stage, 300, 1);
    for (int i = 0; i < 300; i++) {
        struct act *act = &acts[i];
        act->op.submit.count = i % 3 ? 1 : LOTS;
        if (pawl__committer_do(&stage->committer, &act->op)) continue;
        post(act);
        pawl__lock(&stage->mutex);
        while (!act->answers) {
            pawl__cond_wait(&stage->moved, &stage->mutex);
        }
        pawl__unlock(&stage->mutex);
    }
    free(acts);
    return NULL;
}

static void no_wake_up_is_lost(void **state)
{
    struct stage *stage = stage_new();
    pthread_t threads[6];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, perform_many, stage), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->applied, 300 * COUNT(threads));
    assert_int_equal(stage->committer.counters.ops, 300 * COUNT(threads));
    pawl__cond_release(&stage->moved);
    pawl__mutex_release(&stage->mutex);
    free(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_takes_a_further_session),
        cmocka_unit_test(stuck_session_holds_nobody_up),
        cmocka_unit_test(one_after_the_other_needs_one_session),
        cmocka_unit_test(who_cannot_join_leaves_it_to_the_others),
        cmocka_unit_test(list_stays_in_its_session),
        cmocka_unit_test(log_lines_keep_their_order),
        cmocka_unit_test(moves_are_told_in_the_order_of_the_commits),
        cmocka_unit_test(who_is_not_committing_is_not_waited_for),
        cmocka_unit_test(failed_commit_is_not_waited_for),
        cmocka_unit_test(doubt_of_one_session_stops_all),
        cmocka_unit_test(doubt_of_a_session_leaves_its_list_to_the_first),
        cmocka_unit_test(closing_answers_what_all_sessions_have),
        cmocka_unit_test(no_wake_up_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
