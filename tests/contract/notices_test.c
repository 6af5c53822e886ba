/* Notices of commits: available jobs, the next due time, and every move. */
#include "support/ops.h"

#include <errno.h>
#include <pthread.h>

enum { HEARD_MAX = 4096 };

struct heard_move {
    struct pawl_job_id id;
    int64_t run;
    enum pawl_state from, to;
    char queue[32], type[32];
};

/* All that was told since it was cleared. */
struct listener {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    int64_t notices, foreign, ready, control, lost;
    int64_t due_at_ms, at_ms;
    struct heard_move moves[HEARD_MAX];
    size_t move_count;
};

static struct listener listener;

static void receive(void *ctx, const struct pawl__notice *notice)
{
    struct listener *e = ctx;
    pthread_mutex_lock(&e->mutex);
    e->notices++;
    e->foreign += notice->foreign;
    e->ready += notice->ready;
    e->control += notice->control;
    e->lost += notice->lost;
    if (!notice->foreign) e->at_ms = notice->at_ms;
    if (notice->due_at_ms != 0) e->due_at_ms = notice->due_at_ms;
    for (size_t i = 0; i < notice->move_count && e->move_count < HEARD_MAX; i++) {
        const struct pawl__move *move = &notice->moves[i];
        struct heard_move *to = &e->moves[e->move_count++];
        *to = (struct heard_move){
            .id = move->id, .run = move->run, .from = move->from, .to = move->to
        };
        snprintf(to->queue, sizeof to->queue, "%s", move->queue);
        snprintf(to->type, sizeof to->type, "%s", move->type);
    }
    pthread_cond_broadcast(&e->more);
    pthread_mutex_unlock(&e->mutex);
}

static void forget(void)
{
    pthread_mutex_lock(&listener.mutex);
    listener.notices = listener.foreign = listener.ready = listener.control = listener.lost = 0;
    listener.due_at_ms = listener.at_ms = 0;
    listener.move_count = 0;
    pthread_mutex_unlock(&listener.mutex);
}

/* Notices come after the answers, on the committer's thread: once a further operation has been
 * answered, those of earlier commits are here. */
static void settle(struct rig *rig)
{
    assert_ok(rig, setting_put(rig, "settle", "1"));
    assert_ok(rig, setting_put(rig, "settle", "2"));
}

static void listen(struct rig *rig, bool all_moves)
{
    static bool ready;
    if (!ready) {
        pthread_mutex_init(&listener.mutex, NULL);
        pthread_cond_init(&listener.more, NULL);
        ready = true;
    }
    forget();
    assert_ok(rig, pawl__store_watch(rig->store, receive, &listener, all_moves, &rig->diag));
}

static void stop_listening(struct rig *rig)
{
    assert_ok(rig, pawl__store_watch(rig->store, NULL, NULL, false, &rig->diag));
}

#define ASSERT_MOVE(index, job_id, job_run, before, after)                                         \
    do {                                                                                           \
        assert_true((size_t)(index) < listener.move_count);                                        \
        assert_id(job_id, listener.moves[index].id);                                               \
        assert_i64(job_run, listener.moves[index].run);                                            \
        assert_state(before, listener.moves[index].from);                                          \
        assert_state(after, listener.moves[index].to);                                             \
    } while (0)

static void new_work_is_told(struct rig *rig)
{
    listen(rig, false);
    submit_one(rig, NULL);
    settle(rig);
    assert_i64(1, listener.ready);
    assert_i64(rig_now(rig), listener.at_ms);
    assert_i64(0, listener.foreign);
    stop_listening(rig);
}

static void work_to_come_is_told(struct rig *rig)
{
    listen(rig, false);
    submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 500 });
    settle(rig);
    assert_i64(0, listener.ready);
    assert_i64(rig_now(rig) + 500, listener.due_at_ms);
    forget();
    submit_n(rig, 3, &(struct pawl_job_spec){ .delay_ms = 700 });
    settle(rig);
    assert_i64(rig_now(rig) + 700, listener.due_at_ms);
    stop_listening(rig);
}

/* Whatever makes a job claimable is told, so that nobody has to poll for it. */
static void everything_that_frees_a_job_is_told(struct rig *rig)
{
    struct pawl_job_id held =
        submit_one(rig, &(struct pawl_job_spec){ .pending = true, .queue = "held" });
    struct pawl_job_id paused = job_in(rig, PAWL_STATE_PAUSED, NULL);
    struct pawl_job_id dead = job_in(rig, PAWL_STATE_DISCARDED, NULL);
    struct pawl_job_id active = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    struct pawl_job_id other = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    job_in(rig, PAWL_STATE_ACTIVE, NULL);
    submit_one(rig, &(struct pawl_job_spec){ .queue = "later", .delay_ms = 10 });
    listen(rig, false);
    for (int way = 0; way < 8; way++) {
        forget();
        struct pawl_run ref = { .id = active, .run = 1 }, ref2 = { .id = other, .run = 1 };
        if (way == 0) assert_ok(rig, control(rig, held, PAWL_CONTROL_ACTIVATE));
        if (way == 1) assert_ok(rig, control(rig, paused, PAWL_CONTROL_RESUME));
        if (way == 2) assert_ok(rig, control(rig, dead, PAWL_CONTROL_RETRY));
        if (way == 3) assert_ok(rig, snooze(rig, ref, 0));
        if (way == 4)
            assert_ok(rig, fail_run(rig, ref2, (struct pawl_report){ .requeue = true }, NULL));
        if (way == 5) rig_advance(rig, 10);
        if (way == 5) assert_i64(1, promote(rig).moved);
        if (way == 6) rig_advance(rig, LEASE_MS + 1);
        if (way == 6) assert_i64(1, lapse(rig).moved);
        if (way == 7) queue_pause(rig, "held", true);
        if (way == 7) queue_pause(rig, "held", false);
        settle(rig);
        if (listener.ready == 0) fail_msg("way %d was not told", way);
    }
    stop_listening(rig);
}

static void waits_that_begin_are_told(struct rig *rig)
{
    struct pawl_job_id a = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    struct pawl_job_id b = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    listen(rig, false);
    struct failed failed = fail_plain(rig, (struct pawl_run){ .id = a, .run = 1 });
    settle(rig);
    assert_i64(failed.due_at_ms, listener.due_at_ms);
    forget();
    assert_ok(rig, snooze(rig, (struct pawl_run){ .id = b, .run = 1 }, 77));
    settle(rig);
    assert_i64(rig_now(rig) + 77, listener.due_at_ms);
    stop_listening(rig);
}

static void interference_with_a_running_job_is_told(struct rig *rig)
{
    static const struct {
        enum pawl_control control;
        enum pawl_state to;
    } cases[] = { { PAWL_CONTROL_CANCEL, PAWL_STATE_CANCELLED },
                  { PAWL_CONTROL_DISCARD, PAWL_STATE_DISCARDED },
                  { PAWL_CONTROL_SKIP, PAWL_STATE_SKIPPED } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_job_id id = job_in(rig, PAWL_STATE_ACTIVE, NULL);
        listen(rig, false);
        assert_ok(rig, control(rig, id, cases[i].control));
        settle(rig);
        assert_i64(1, listener.control);
        assert_int_equal(1, listener.move_count);
        assert_id(id, listener.moves[0].id);
        assert_i64(1, listener.moves[0].run);
        assert_state(ACTIVE, listener.moves[0].from);
        assert_int_equal(cases[i].to, listener.moves[0].to);
        stop_listening(rig);
    }
    struct pawl_job_id waiting = submit_one(rig, NULL);
    listen(rig, false);
    assert_ok(rig, control(rig, waiting, PAWL_CONTROL_CANCEL));
    settle(rig);
    assert_i64(0, listener.control); // it did not run
    stop_listening(rig);
}

/* A job that a newcomer replaces, or a bulk cancels, is stopped like any other. */
static void every_way_to_stop_a_running_job_is_told(struct rig *rig)
{
    struct pawl_job_spec spec = { .type = "u",
                                  .queue = "q",
                                  .unique = { .keys = PAWL_UNIQUE_TYPE,
                                              .on_conflict = PAWL_CONFLICT_REPLACE } };
    struct pawl_job_id id = job_in(rig, PAWL_STATE_ACTIVE, &spec);
    listen(rig, false);
    submit_one(rig, &spec);
    settle(rig);
    assert_true(listener.control > 0);
    assert_int_equal(1, listener.move_count);
    ASSERT_MOVE(0, id, 1, ACTIVE, CANCELLED);
    stop_listening(rig);

    struct pawl_job_id other = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    listen(rig, false);
    struct pawl_filter active = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    assert_ok(rig, bulk(rig, &active, PAWL_CONTROL_CANCEL, 10, NULL));
    settle(rig);
    assert_true(listener.control > 0);
    ASSERT_MOVE(0, other, 1, ACTIVE, CANCELLED);
    stop_listening(rig);
}

static void every_move_is_told_to_who_asks(struct rig *rig)
{
    listen(rig, true);
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .type = "t", .delay_ms = 5 });
    rig_advance(rig, 5);
    promote(rig);
    struct pawl_job run = claim_one(rig, "q");
    fail_plain(rig, ref_of(&run));
    rig_advance(rig, 5000);
    promote(rig);
    route_n(rig, "q", 1);
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    run = claim_one(rig, "q");
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    settle(rig);
    assert_int_equal(9, listener.move_count);
    ASSERT_MOVE(0, id, 0, NONE, SCHEDULED);
    ASSERT_MOVE(1, id, 0, SCHEDULED, AVAILABLE);
    ASSERT_MOVE(2, id, 1, AVAILABLE, ACTIVE);
    ASSERT_MOVE(3, id, 1, ACTIVE, RETRYABLE);
    ASSERT_MOVE(4, id, 1, RETRYABLE, AVAILABLE);
    ASSERT_MOVE(5, id, 1, AVAILABLE, PENDING);
    ASSERT_MOVE(6, id, 1, PENDING, AVAILABLE);
    ASSERT_MOVE(7, id, 2, AVAILABLE, ACTIVE);
    ASSERT_MOVE(8, id, 2, ACTIVE, COMPLETED);
    for (size_t i = 0; i < listener.move_count; i++) {
        assert_text("q", listener.moves[i].queue);
        assert_text("t", listener.moves[i].type);
    }
    assert_i64(0, listener.lost);
    stop_listening(rig);
}

/* Each job's moves form a chain that ends where the job is. */
static void moves_chain_for_every_state(struct rig *rig)
{
    listen(rig, true);
    struct pawl_job_id ids[PAWL_STATE_END];
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        ids[state] = job_in(rig, state, NULL);
    settle(rig);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        enum pawl_state at = PAWL_STATE_NONE;
        for (size_t i = 0; i < listener.move_count; i++) {
            if (!same_id(ids[state], listener.moves[i].id)) continue;
            assert_int_equal(at, listener.moves[i].from);
            at = listener.moves[i].to;
        }
        assert_int_equal(state, at);
    }
    stop_listening(rig);
}

static void what_did_not_happen_is_not_told(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    struct pawl_job_spec clash = { .id = &taken };
    struct pawl__new_job jobs[] = { job_new(rig, NULL), job_new(rig, &clash) };
    struct pawl_submitted out[2];
    listen(rig, true);
    assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 2, out, NULL));
    assert_err(rig, PAWL_ERR_STATE, control(rig, taken, PAWL_CONTROL_RESUME));
    struct pawl_run stale = { .id = taken, .run = 1 };
    assert_err(rig, PAWL_ERR_STALE, complete(rig, stale, NULL));
    settle(rig);
    assert_int_equal(0, listener.move_count);
    assert_i64(0, listener.control);
    stop_listening(rig);
}

static void who_left_hears_nothing_more(struct rig *rig)
{
    listen(rig, true);
    submit_one(rig, NULL);
    stop_listening(rig);
    forget();
    submit_one(rig, NULL);
    settle(rig);
    assert_i64(0, listener.notices);
    listen(rig, true); // and may come back
    submit_one(rig, NULL);
    settle(rig);
    assert_int_equal(1, listener.move_count);
    stop_listening(rig);
}

/* A notice may be lost, so the other side commits until one arrives. */
static void commits_of_another_store_are_heard(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    listen(rig, false);
    bool received = false;
    for (int i = 0; i < 50 && !received; i++) {
        submit_one(&peer, NULL);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&listener.mutex);
        while (listener.foreign == 0 &&
               pthread_cond_timedwait(&listener.more, &listener.mutex, &until) == 0) {
        }
        received = listener.foreign > 0;
        pthread_mutex_unlock(&listener.mutex);
    }
    assert_true(received);
    stop_listening(rig);
    rig_close(&peer);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(new_work_is_told),
        CONTRACT(work_to_come_is_told),
        CONTRACT(everything_that_frees_a_job_is_told),
        CONTRACT(waits_that_begin_are_told),
        CONTRACT(interference_with_a_running_job_is_told),
        CONTRACT(every_way_to_stop_a_running_job_is_told),
        CONTRACT(every_move_is_told_to_who_asks),
        CONTRACT(moves_chain_for_every_state),
        CONTRACT(what_did_not_happen_is_not_told),
        CONTRACT(who_left_hears_nothing_more),
        CONTRACT_SHARED(commits_of_another_store_are_heard),
    };
    return contract_run("notices", tests, COUNT(tests));
}
