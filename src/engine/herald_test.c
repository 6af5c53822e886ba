/* Tests the herald: moves arrive in order, nothing else is delayed, and lost moves are counted. */
#include "engine/inside.h"

#include <stdio.h>

#include "base/test_kit.h"

/* The reported moves, and a gate that can block the listener. */
struct ear {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    bool shut;        /* blocks the listener */
    bool inside;      /* it is inside now */
    int64_t told;     /* moves received */
    int64_t lost;     /* as reported */
    int64_t last_run; /* of the latest move */
    bool in_order;
    bool names_right;
    bool overlapped; /* two calls at once */
};

static void listen(void *ctx, const struct pawl_moved *moved)
{
    struct ear *ear = ctx;
    char type[32];
    snprintf(type, sizeof type, "type-%lld", (long long)moved->run);
    pawl__lock(&ear->mutex);
    ear->overlapped |= ear->inside;
    ear->inside = true;
    pawl__cond_broadcast(&ear->change);
    while (ear->shut) {
        pawl__cond_wait(&ear->change, &ear->mutex);
    }
    ear->told++;
    ear->lost += moved->lost;
    ear->in_order &= moved->run == ear->last_run + 1 + moved->lost;
    ear->names_right &= strcmp(moved->type, type) == 0 && strcmp(moved->queue, "mail") == 0;
    ear->last_run = moved->run;
    ear->inside = false;
    pawl__cond_broadcast(&ear->change);
    pawl__unlock(&ear->mutex);
}

static void ear_init(struct ear *ear, bool shut)
{
    *ear = (struct ear){ .shut = shut, .in_order = true, .names_right = true };
    pawl__mutex_init(&ear->mutex);
    pawl__cond_init(&ear->change);
}

static void ear_release(struct ear *ear)
{
    pawl__cond_release(&ear->change);
    pawl__mutex_release(&ear->mutex);
}

static void ear_open(struct ear *ear)
{
    pawl__lock(&ear->mutex);
    ear->shut = false;
    pawl__cond_broadcast(&ear->change);
    pawl__unlock(&ear->mutex);
}

static void wait_until_inside(struct ear *ear)
{
    pawl__lock(&ear->mutex);
    while (!ear->inside) {
        pawl__cond_wait(&ear->change, &ear->mutex);
    }
    pawl__unlock(&ear->mutex);
}

static void wait_until_told(struct ear *ear, int64_t count)
{
    pawl__lock(&ear->mutex);
    while (ear->told < count) {
        pawl__cond_wait(&ear->change, &ear->mutex);
    }
    pawl__unlock(&ear->mutex);
}

static struct pawl__herald *herald_of(struct ear *ear)
{
    struct pawl__herald *herald = NULL;
    assert_int_equal(pawl__herald_new(listen, ear, &herald, NULL), PAWL_OK);
    return herald;
}

/* Sends moves number `from` to `until` - 1 of one job in one notice; names are valid during the
 * call only. */
static void tell(struct pawl__herald *herald, int64_t from, int64_t until)
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
    pawl__herald_tell(herald, &(struct pawl__notice){
                                  .moves = moves, .move_count = count, .at_ms = 1000 + from });
    memset(types, 'x', count * sizeof *types);
    memset(queue, 'x', 4);
    free(queue);
    free(types);
    free(moves);
}

static struct pawl_moved heard_one;

static void keep_it(void *ctx, const struct pawl_moved *moved)
{
    heard_one = *moved;
    snprintf(ctx, 64, "%s %s", moved->queue, moved->type);
}

static void tells_all_that_a_move_is(void **state)
{
    char names[64] = "";
    struct pawl__herald *herald = NULL;
    assert_int_equal(pawl__herald_new(keep_it, names, &herald, NULL), PAWL_OK);
    struct pawl__move move = { .id = { { 1, 2, 3 } },
                               .run = 7,
                               .from = PAWL_STATE_ACTIVE,
                               .to = PAWL_STATE_RETRYABLE,
                               .queue = "mail",
                               .type = "mail.send" };
    pawl__herald_tell(herald,
                      &(struct pawl__notice){ .moves = &move, .move_count = 1, .at_ms = 12345 });
    pawl__herald_free(herald);
    assert_memory_equal(&heard_one.id, &move.id, sizeof move.id);
    assert_int_equal(heard_one.run, 7);
    assert_int_equal(heard_one.from, PAWL_STATE_ACTIVE);
    assert_int_equal(heard_one.to, PAWL_STATE_RETRYABLE);
    assert_int_equal(heard_one.at_ms, 12345);
    assert_int_equal(heard_one.lost, 0);
    assert_string_equal(names, "mail mail.send");
}

static void tells_in_order_and_one_at_a_time(void **state)
{
    struct ear ear;
    ear_init(&ear, false);
    struct pawl__herald *herald = herald_of(&ear);
    for (int64_t run = 1; run < 10000; run += 9) {
        tell(herald, run, run + 9);
    }
    pawl__herald_free(herald);
    assert_int_equal(ear.told, 9999);
    assert_true(ear.in_order);
    assert_true(ear.names_right);
    assert_false(ear.overlapped);
    ear_release(&ear);
}

/* One move is being reported, so that exactly PAWL__HERALD_MAX fit into the ring. */
static void slow_listener_loses_nothing_within_the_bound(void **state)
{
    struct ear ear;
    ear_init(&ear, true);
    struct pawl__herald *herald = herald_of(&ear);
    tell(herald, 1, 2);
    wait_until_inside(&ear);
    tell(herald, 2, 2 + PAWL__HERALD_MAX); // returns although the listener is blocked
    ear_open(&ear);
    pawl__herald_free(herald);
    assert_int_equal(ear.told, 1 + PAWL__HERALD_MAX);
    assert_int_equal(ear.lost, 0);
    assert_true(ear.in_order);
    ear_release(&ear);
}

static void beyond_the_bound_losses_are_counted(void **state)
{
    struct ear ear;
    ear_init(&ear, true);
    struct pawl__herald *herald = herald_of(&ear);
    int64_t kept = 1 + PAWL__HERALD_MAX, lost = 123;
    tell(herald, 1, 2);
    wait_until_inside(&ear);
    tell(herald, 2, 1 + kept + lost);
    ear_open(&ear);
    wait_until_told(&ear, kept);
    assert_int_equal(ear.lost, 0); // the oldest moves were kept, without a gap
    tell(herald, 1 + kept + lost, 2 + kept + lost);
    pawl__herald_free(herald);
    assert_int_equal(ear.told, kept + 1);
    assert_int_equal(ear.lost, lost);
    assert_true(ear.in_order); // the gap is where `lost` says
    ear_release(&ear);
}

static void losses_of_the_store_are_passed_on(void **state)
{
    struct ear ear;
    ear_init(&ear, false);
    struct pawl__herald *herald = herald_of(&ear);
    tell(herald, 1, 3);
    pawl__herald_tell(herald, &(struct pawl__notice){ .lost = 5 });
    tell(herald, 8, 9);
    tell(herald, 9, 10);
    pawl__herald_free(herald);
    assert_int_equal(ear.told, 4);
    assert_int_equal(ear.lost, 5); // once
    assert_true(ear.in_order);
    ear_release(&ear);
}

static void *free_it(void *arg)
{
    pawl__herald_free(arg);
    return NULL;
}

static void free_waits_until_all_is_told(void **state)
{
    struct ear ear;
    ear_init(&ear, true);
    struct pawl__herald *herald = herald_of(&ear);
    tell(herald, 1, 101);
    wait_until_inside(&ear);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_it, herald), 0);
    ear_open(&ear);
    pthread_join(thread, NULL);
    assert_int_equal(ear.told, 100);
    ear_release(&ear);
}

static void nothing_is_told_for_a_notice_without_moves(void **state)
{
    struct ear ear;
    ear_init(&ear, false);
    struct pawl__herald *herald = herald_of(&ear);
    pawl__herald_tell(herald, &(struct pawl__notice){ .ready = true });
    pawl__herald_free(herald);
    assert_int_equal(ear.told, 0);
    pawl__herald_free(NULL);
    ear_release(&ear);
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
