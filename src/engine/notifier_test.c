/* Tests the notifier: moves arrive in order, nothing else is delayed, and lost moves are counted.
 */
#include "engine/inside.h"

#include <stdio.h>

#include "base/test_kit.h"

/* The reported moves, and a gate that can block the listener. */
struct listener {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    bool shut;        /* blocks the listener */
    bool inside;      /* it is inside now */
    int64_t received; /* moves received */
    int64_t lost;     /* as reported */
    int64_t last_run; /* of the latest move */
    bool in_order;
    bool names_right;
    bool overlapped; /* two calls at once */
};

static void listen(void *ctx, const struct pawl_moved *moved)
{
    struct listener *listener = ctx;
    char type[32];
    snprintf(type, sizeof type, "type-%lld", (long long)moved->run);
    pawl__lock(&listener->mutex);
    listener->overlapped |= listener->inside;
    listener->inside = true;
    pawl__cond_broadcast(&listener->change);
    while (listener->shut) {
        pawl__cond_wait(&listener->change, &listener->mutex);
    }
    listener->received++;
    listener->lost += moved->lost;
    listener->in_order &= moved->run == listener->last_run + 1 + moved->lost;
    listener->names_right &= strcmp(moved->type, type) == 0 && strcmp(moved->queue, "mail") == 0;
    listener->last_run = moved->run;
    listener->inside = false;
    pawl__cond_broadcast(&listener->change);
    pawl__unlock(&listener->mutex);
}

static void listener_init(struct listener *listener, bool shut)
{
    *listener = (struct listener){ .shut = shut, .in_order = true, .names_right = true };
    pawl__mutex_init(&listener->mutex);
    pawl__cond_init(&listener->change);
}

static void listener_release(struct listener *listener)
{
    pawl__cond_release(&listener->change);
    pawl__mutex_release(&listener->mutex);
}

static void listener_open(struct listener *listener)
{
    pawl__lock(&listener->mutex);
    listener->shut = false;
    pawl__cond_broadcast(&listener->change);
    pawl__unlock(&listener->mutex);
}

static void wait_until_inside(struct listener *listener)
{
    pawl__lock(&listener->mutex);
    while (!listener->inside) {
        pawl__cond_wait(&listener->change, &listener->mutex);
    }
    pawl__unlock(&listener->mutex);
}

static void wait_until_received(struct listener *listener, int64_t count)
{
    pawl__lock(&listener->mutex);
    while (listener->received < count) {
        pawl__cond_wait(&listener->change, &listener->mutex);
    }
    pawl__unlock(&listener->mutex);
}

static struct pawl__notifier *notifier_of(struct listener *listener)
{
    struct pawl__notifier *notifier = NULL;
    assert_int_equal(pawl__notifier_new(listen, listener, &notifier, NULL), PAWL_OK);
    return notifier;
}

/* Sends moves number `from` to `until` - 1 of one job in one notice; names are valid during the
 * call only. */
static void post(struct pawl__notifier *notifier, int64_t from, int64_t until)
{
    size_t count = (size_t)(until - from);
    struct pawl__move *moves = calloc(count, sizeof *moves);
    char(*types)[32] = calloc(count, sizeof *types);
    char *queue = strdup("mail");
    assert_true(moves && types && queue);
    for (size_t i = 0; i < count; i++) {
        int64_t run = from + (int64_t)i;
        snprintf(types[i], sizeof types[i], "type-%lld", (long long)run);
        moves[i] = (struct pawl__move){ .run = run,
                                        .from = PAWL_STATE_AVAILABLE,
                                        .to = PAWL_STATE_ACTIVE,
                                        .queue = queue,
                                        .type = types[i] };
    }
    pawl__notifier_post(notifier, &(struct pawl__notice){
                                      .moves = moves, .move_count = count, .at_ms = 1000 + from });
    memset(types, 'x', count * sizeof *types);
    memset(queue, 'x', 4);
    free(queue);
    free(types);
    free(moves);
}

static struct pawl_moved received_one;

static void keep_it(void *ctx, const struct pawl_moved *moved)
{
    received_one = *moved;
    snprintf(ctx, 64, "%s %s", moved->queue, moved->type);
}

static void tells_all_that_a_move_is(void **state)
{
    char names[64] = "";
    struct pawl__notifier *notifier = NULL;
    assert_int_equal(pawl__notifier_new(keep_it, names, &notifier, NULL), PAWL_OK);
    struct pawl__move move = { .id = { { 1, 2, 3 } },
                               .run = 7,
                               .from = PAWL_STATE_ACTIVE,
                               .to = PAWL_STATE_RETRYABLE,
                               .queue = "mail",
                               .type = "mail.send" };
    pawl__notifier_post(notifier,
                        &(struct pawl__notice){ .moves = &move, .move_count = 1, .at_ms = 12345 });
    pawl__notifier_free(notifier);
    assert_memory_equal(&received_one.id, &move.id, sizeof move.id);
    assert_int_equal(received_one.run, 7);
    assert_int_equal(received_one.from, PAWL_STATE_ACTIVE);
    assert_int_equal(received_one.to, PAWL_STATE_RETRYABLE);
    assert_int_equal(received_one.at_ms, 12345);
    assert_int_equal(received_one.lost, 0);
    assert_string_equal(names, "mail mail.send");
}

static void tells_in_order_and_one_at_a_time(void **state)
{
    struct listener listener;
    listener_init(&listener, false);
    struct pawl__notifier *notifier = notifier_of(&listener);
    for (int64_t run = 1; run < 10000; run += 9) {
        post(notifier, run, run + 9);
    }
    pawl__notifier_free(notifier);
    assert_int_equal(listener.received, 9999);
    assert_true(listener.in_order);
    assert_true(listener.names_right);
    assert_false(listener.overlapped);
    listener_release(&listener);
}

/* One move is being reported, so that exactly PAWL__NOTIFIER_MAX fit into the ring. */
static void slow_listener_loses_nothing_within_the_bound(void **state)
{
    struct listener listener;
    listener_init(&listener, true);
    struct pawl__notifier *notifier = notifier_of(&listener);
    post(notifier, 1, 2);
    wait_until_inside(&listener);
    post(notifier, 2, 2 + PAWL__NOTIFIER_MAX); // returns although the listener is blocked
    listener_open(&listener);
    pawl__notifier_free(notifier);
    assert_int_equal(listener.received, 1 + PAWL__NOTIFIER_MAX);
    assert_int_equal(listener.lost, 0);
    assert_true(listener.in_order);
    listener_release(&listener);
}

static void beyond_the_bound_losses_are_counted(void **state)
{
    struct listener listener;
    listener_init(&listener, true);
    struct pawl__notifier *notifier = notifier_of(&listener);
    int64_t kept = 1 + PAWL__NOTIFIER_MAX, lost = 123;
    post(notifier, 1, 2);
    wait_until_inside(&listener);
    post(notifier, 2, 1 + kept + lost);
    listener_open(&listener);
    wait_until_received(&listener, kept);
    assert_int_equal(listener.lost, 0); // the oldest moves were kept, without a gap
    post(notifier, 1 + kept + lost, 2 + kept + lost);
    pawl__notifier_free(notifier);
    assert_int_equal(listener.received, kept + 1);
    assert_int_equal(listener.lost, lost);
    assert_true(listener.in_order); // the gap is where `lost` says
    listener_release(&listener);
}

static void losses_of_the_store_are_passed_on(void **state)
{
    struct listener listener;
    listener_init(&listener, false);
    struct pawl__notifier *notifier = notifier_of(&listener);
    post(notifier, 1, 3);
    pawl__notifier_post(notifier, &(struct pawl__notice){ .lost = 5 });
    post(notifier, 8, 9);
    post(notifier, 9, 10);
    pawl__notifier_free(notifier);
    assert_int_equal(listener.received, 4);
    assert_int_equal(listener.lost, 5); // once
    assert_true(listener.in_order);
    listener_release(&listener);
}

static void *free_it(void *arg)
{
    pawl__notifier_free(arg);
    return NULL;
}

static void free_waits_until_all_is_told(void **state)
{
    struct listener listener;
    listener_init(&listener, true);
    struct pawl__notifier *notifier = notifier_of(&listener);
    post(notifier, 1, 101);
    wait_until_inside(&listener);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_it, notifier), 0);
    listener_open(&listener);
    pthread_join(thread, NULL);
    assert_int_equal(listener.received, 100);
    listener_release(&listener);
}

static void nothing_is_told_for_a_notice_without_moves(void **state)
{
    struct listener listener;
    listener_init(&listener, false);
    struct pawl__notifier *notifier = notifier_of(&listener);
    pawl__notifier_post(notifier, &(struct pawl__notice){ .ready = true });
    pawl__notifier_free(notifier);
    assert_int_equal(listener.received, 0);
    pawl__notifier_free(NULL);
    listener_release(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_all_that_a_move_is),
        cmocka_unit_test(tells_in_order_and_one_at_a_time),
        cmocka_unit_test(slow_listener_loses_nothing_within_the_bound),
        cmocka_unit_test(beyond_the_bound_losses_are_counted),
        cmocka_unit_test(losses_of_the_store_are_passed_on),
        cmocka_unit_test(free_waits_until_all_is_told),
        cmocka_unit_test(nothing_is_told_for_a_notice_without_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
