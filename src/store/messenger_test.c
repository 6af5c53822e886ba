/* The messenger on a line that does what a script says. What is said on it stands in a list; what
 * is received on it is put there by the test. The line's functions run on the messenger's thread,
 * where nothing may be asserted: they take notes. */
#include "store/messenger.h"

#include "base/clock.h"
#include "base/diag.h"
#include "base/sync.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/test_kit.h"

enum { SAID_MAX = 64, WAIT_US = 60000000 };

struct script {
    struct pawl__line line;
    int fd; /* readable when something was put there */

    struct pawl__mutex mutex;
    struct pawl__cond moved;
    /* guarded by mutex: */
    enum pawl_err ready_says, listen_says, say_says;
    bool held;   /* say stays inside until it is let go */
    bool inside; /* say is under way */
    bool dead;   /* to be noticed by the next read */
    bool connected, listens;
    int dialled, hung_up, freed;
    char said[SAID_MAX][PAWL__LINE_TEXT_BYTES];
    int said_count;
    char arrived[SAID_MAX][PAWL__LINE_TEXT_BYTES];
    int arrived_count;

    bool listener_held, listener_inside; /* the listener's */
    int received;
    struct pawl__notice received_last;
};

static struct script *of(struct pawl__line *line)
{
    return (struct script *)line;
}

static enum pawl_err script_ready(struct pawl__line *line, bool listen, struct pawl_diag *diag)
{
    struct script *script = of(line);
    pawl__lock(&script->mutex);
    script->dialled += !script->connected;
    enum pawl_err err = script->ready_says;
    script->connected = !err;
    if (!err && listen) {
        err = script->listen_says;
        script->listens = !err;
    }
    pawl__cond_broadcast(&script->moved);
    pawl__unlock(&script->mutex);
    return err ? pawl__fail(diag, err, "the script says so") : PAWL_OK;
}

static enum pawl_err script_say(struct pawl__line *line, const char *text, struct pawl_diag *diag)
{
    struct script *script = of(line);
    pawl__lock(&script->mutex);
    script->inside = true;
    pawl__cond_broadcast(&script->moved);
    while (script->held) {
        pawl__cond_wait(&script->moved, &script->mutex);
    }
    script->inside = false;
    enum pawl_err err = script->say_says;
    if (!err && script->said_count < SAID_MAX) {
        snprintf(script->said[script->said_count++], PAWL__LINE_TEXT_BYTES, "%s", text);
    }
    pawl__cond_broadcast(&script->moved);
    pawl__unlock(&script->mutex);
    return err ? pawl__fail(diag, err, "nothing can be said") : PAWL_OK;
}

static enum pawl_err script_read(struct pawl__line *line, pawl__received_fn *fn, void *ctx,
                                 struct pawl_diag *diag)
{
    struct script *script = of(line);
    uint64_t puts;
    (void)!read(script->fd, &puts, sizeof puts);
    pawl__lock(&script->mutex);
    for (int i = 0; i < script->arrived_count; i++) {
        fn(ctx, script->arrived[i]);
    }
    script->arrived_count = 0;
    bool dead = script->dead;
    script->dead = false;
    pawl__unlock(&script->mutex);
    return dead ? pawl__fail(diag, PAWL_ERR_IO, "the line is dead") : PAWL_OK;
}

static int script_fd(const struct pawl__line *line)
{
    return ((const struct script *)line)->fd;
}

static void script_hang_up(struct pawl__line *line)
{
    struct script *script = of(line);
    pawl__lock(&script->mutex);
    script->hung_up++;
    script->connected = script->listens = false;
    pawl__cond_broadcast(&script->moved);
    pawl__unlock(&script->mutex);
}

static void script_free(struct pawl__line *line)
{
    of(line)->freed++;
}

static const struct pawl__line_table script_table = { .ready = script_ready,
                                                      .say = script_say,
                                                      .read = script_read,
                                                      .fd = script_fd,
                                                      .hang_up = script_hang_up,
                                                      .free = script_free };

/* ---- the stage ---- */

static void script_open(struct script *script, struct pawl__wake **out)
{
    *script = (struct script){ .line.table = &script_table };
    script->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(script->fd >= 0);
    pawl__mutex_init(&script->mutex);
    pawl__cond_init(&script->moved);
    assert_int_equal(PAWL_OK, pawl__messenger_open(&script->line, out, NULL));
}

static void script_close(struct script *script, struct pawl__wake *wake)
{
    wake->table->close(wake);
    assert_int_equal(1, script->freed);
    assert_false(script->connected);
    close(script->fd);
    pawl__cond_release(&script->moved);
    pawl__mutex_release(&script->mutex);
}

/* Until a number has come that far. */
static void await(struct script *script, const int *number, int least)
{
    int64_t until_us = pawl__clock_mono_us(&pawl__clock_system) + WAIT_US;
    pawl__lock(&script->mutex);
    while (*number < least) {
        int64_t left_us = until_us - pawl__clock_mono_us(&pawl__clock_system);
        if (left_us <= 0) break;
        (void)pawl__cond_wait_us(&script->moved, &script->mutex, left_us);
    }
    bool reached = *number >= least;
    pawl__unlock(&script->mutex);
    assert_true(reached);
}

static void await_flag(struct script *script, const bool *flag)
{
    pawl__lock(&script->mutex);
    while (!*flag) {
        if (!pawl__cond_wait_us(&script->moved, &script->mutex, WAIT_US)) break;
    }
    bool set = *flag;
    pawl__unlock(&script->mutex);
    assert_true(set);
}

static void set(struct script *script, bool *flag, bool value)
{
    pawl__lock(&script->mutex);
    *flag = value;
    pawl__cond_broadcast(&script->moved);
    pawl__unlock(&script->mutex);
}

static void set_err(struct script *script, enum pawl_err *at, enum pawl_err err)
{
    pawl__lock(&script->mutex);
    *at = err;
    pawl__unlock(&script->mutex);
}

static void put(struct script *script, const char *text)
{
    uint64_t one = 1;
    pawl__lock(&script->mutex);
    snprintf(script->arrived[script->arrived_count++], PAWL__LINE_TEXT_BYTES, "%s", text);
    pawl__unlock(&script->mutex);
    assert_int_equal(sizeof one, write(script->fd, &one, sizeof one));
}

static void break_line(struct script *script)
{
    uint64_t one = 1;
    set(script, &script->dead, true);
    assert_int_equal(sizeof one, write(script->fd, &one, sizeof one));
}

static void listener(void *ctx, const struct pawl__notice *notice)
{
    struct script *script = ctx;
    pawl__lock(&script->mutex);
    script->listener_inside = true;
    pawl__cond_broadcast(&script->moved);
    while (script->listener_held) {
        pawl__cond_wait(&script->moved, &script->mutex);
    }
    script->listener_inside = false;
    script->received++;
    script->received_last = *notice;
    pawl__cond_broadcast(&script->moved);
    pawl__unlock(&script->mutex);
}

static void send_ready(struct pawl__wake *wake)
{
    wake->table->send(wake, &(struct pawl__notice){ .ready = true });
}

static void send_control(struct pawl__wake *wake)
{
    wake->table->send(wake, &(struct pawl__notice){ .control = true });
}

static void listen_to(struct script *script, struct pawl__wake *wake)
{
    assert_int_equal(PAWL_OK, wake->table->listen(wake, listener, script, NULL));
}

static struct pawl__wake_state state_of(struct pawl__wake *wake)
{
    struct pawl__wake_state state;
    wake->table->state(wake, &state);
    return state;
}

#define STRANGER "0123456789abcdef"

/* ---- telling ---- */

/* While the line is busy, however many tell, one notice waits; and nobody who tells waits. */
static void what_waits_is_merged(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    script.held = true;
    send_ready(wake);
    await_flag(&script, &script.inside);
    for (int i = 0; i < 1000; i++) {
        send_ready(wake);
        if (i == 500) send_control(wake);
    }
    set(&script, &script.held, false);
    await(&script, &script.said_count, 2);
    script_close(&script, wake);
    assert_int_equal(2, script.said_count);
    assert_int_equal(17, strlen(script.said[0]));
    assert_string_equal("r", script.said[0] + 16);
    assert_string_equal("rc", script.said[1] + 16);
    assert_memory_equal(script.said[0], script.said[1], 16);
}

/* The notice of a command that submits and exits is sent. */
static void closing_says_what_is_left(void **unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        struct script script;
        struct pawl__wake *wake;
        script_open(&script, &wake);
        send_ready(wake);
        script_close(&script, wake);
        assert_int_equal(1, script.said_count);
    }
}

/* ---- hearing ---- */

static void nobody_hears_himself(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    listen_to(&script, wake);
    send_ready(wake);
    await(&script, &script.said_count, 1);
    put(&script, script.said[0]); // as a channel gives it back
    put(&script, STRANGER "c");
    await(&script, &script.received, 1);
    script_close(&script, wake);
    assert_int_equal(1, script.received);
    assert_true(script.received_last.foreign && script.received_last.control);
    assert_false(script.received_last.ready);
}

/* Whoever is no pawl, as a trigger may be, means anything. */
static void strangers_mean_everything(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    listen_to(&script, wake);
    put(&script, "");
    await(&script, &script.received, 1);
    assert_true(script.received_last.ready && script.received_last.control);
    assert_int_equal(1, state_of(wake).received);
    script_close(&script, wake);
}

/* A listener that does not come back: telling goes on, and what came meanwhile is one notice. */
static void slow_listener_holds_up_nobody(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    listen_to(&script, wake);
    set(&script, &script.listener_held, true);
    put(&script, STRANGER "r");
    await_flag(&script, &script.listener_inside);
    for (int i = 1; i <= 5; i++) {
        put(&script, STRANGER "r");
        send_ready(wake);
        await(&script, &script.said_count, i);
    }
    while (state_of(wake).received < 6) { // each was read; a failure shows as the test's timeout
        send_ready(wake);
    }
    set(&script, &script.listener_held, false);
    await(&script, &script.received, 2);
    script_close(&script, wake);
    assert_int_equal(2, script.received);
}

static void ending_waits_for_the_call_under_way(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    listen_to(&script, wake);
    for (int i = 0; i < 50; i++) {
        put(&script, STRANGER "r");
        assert_int_equal(PAWL_OK, wake->table->listen(wake, NULL, NULL, NULL));
        pawl__lock(&script.mutex);
        bool inside = script.listener_inside;
        pawl__unlock(&script.mutex);
        assert_false(inside);
        listen_to(&script, wake);
    }
    script_close(&script, wake);
}

/* ---- trouble ---- */

/* What was to be said is said, and whoever listens is woken once: it may have missed something. */
static void broken_line_is_found_again(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    listen_to(&script, wake);
    set_err(&script, &script.ready_says, PAWL_ERR_IO);
    break_line(&script);
    await(&script, &script.dialled, 3);
    assert_int_equal(PAWL_ERR_IO, state_of(wake).trouble.err);
    send_ready(wake);
    assert_int_equal(0, script.received);
    set_err(&script, &script.ready_says, PAWL_OK);
    await(&script, &script.received, 1);
    await(&script, &script.said_count, 1);
    assert_true(script.received_last.ready && script.received_last.control);
    struct pawl__wake_state state = state_of(wake);
    assert_int_equal(1, state.reconnects);
    assert_int_equal(0, state.received);
    script_close(&script, wake);
    assert_int_equal(1, script.received);
    assert_int_equal(1, script.said_count);
}

/* The first time it is tried again at once, then ever more seldom: telling does not hurry it. */
static void dead_line_is_left_alone(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    script.ready_says = PAWL_ERR_IO;
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    while (pawl__clock_mono_us(&pawl__clock_system) - began_us < 400000) {
        send_ready(wake);
        usleep(1000);
    }
    // rests of at least 50, 100, 200 and 400 ms
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - began_us;
    pawl__lock(&script.mutex);
    int dialled = script.dialled;
    pawl__unlock(&script.mutex);
    assert_true(dialled >= 1);
    assert_true(dialled <= 2 + took_us / 50000);
    send_ready(wake);
    script_close(&script, wake); // which does not wait for it either
    assert_int_equal(0, script.said_count);
}

/* A line that takes nothing, though it can be had, is not dialled without end. */
static void failing_to_speak_rests_too(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    script.say_says = PAWL_ERR_ARG;
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    send_ready(wake);
    await(&script, &script.dialled, 3);
    assert_int_equal(0, state_of(wake).reconnects);
    assert_int_equal(PAWL_ERR_ARG, state_of(wake).trouble.err);
    set_err(&script, &script.say_says, PAWL_OK);
    await(&script, &script.said_count, 1);
    script_close(&script, wake);
    int64_t took_us = pawl__clock_mono_us(&pawl__clock_system) - began_us;
    assert_true(script.dialled <= 3 + took_us / 50000);
}

static void deaf_line_still_speaks(void **unused)
{
    (void)unused;
    struct script script;
    struct pawl__wake *wake;
    script_open(&script, &wake);
    script.listen_says = PAWL_ERR_UNSUPPORTED;
    listen_to(&script, wake);
    for (int i = 1; i <= 3; i++) {
        send_ready(wake);
        await(&script, &script.said_count, i);
    }
    assert_int_equal(PAWL_ERR_UNSUPPORTED, state_of(wake).trouble.err);
    assert_string_equal("the script says so", state_of(wake).trouble.text);
    script_close(&script, wake);
    assert_int_equal(1, script.dialled);
}

static void reaching_tells_what_will_not_mend(void **unused)
{
    (void)unused;
    static const struct {
        enum pawl_err says, err;
    } cases[] = {
        { PAWL_OK, PAWL_OK },
        { PAWL_ERR_IO, PAWL_OK },
        { PAWL_ERR_ARG, PAWL_ERR_ARG },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct script script;
        struct pawl__wake *wake;
        struct pawl_diag diag = { 0 };
        script_open(&script, &wake);
        script.ready_says = cases[i].says;
        assert_int_equal(cases[i].err, pawl__messenger_reach(wake, &diag));
        assert_int_equal(cases[i].err, diag.err);
        script_close(&script, wake);
        assert_true(script.dialled >= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_is_merged),
        cmocka_unit_test(closing_says_what_is_left),
        cmocka_unit_test(nobody_hears_himself),
        cmocka_unit_test(strangers_mean_everything),
        cmocka_unit_test(slow_listener_holds_up_nobody),
        cmocka_unit_test(ending_waits_for_the_call_under_way),
        cmocka_unit_test(broken_line_is_found_again),
        cmocka_unit_test(dead_line_is_left_alone),
        cmocka_unit_test(failing_to_speak_rests_too),
        cmocka_unit_test(deaf_line_still_speaks),
        cmocka_unit_test(reaching_tells_what_will_not_mend),
    };
    return cmocka_run_group_tests_name("messenger", tests, NULL, NULL);
}
