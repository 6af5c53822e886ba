/* Threads that submit through the public API, as programs that embed pawl would: each waits for its
 * answer, or posts and keeps a window of calls under way. */
#include "bench.h"

#include <pawl/post.h>

#include <assert.h>
#include <stdatomic.h>

enum { HANDS_MAX = 64, WINDOW = 64, AHEAD_PAUSE_US = 1000 };

struct hands {
    const struct pawl__hands_options *options;
    int64_t until_us;
    _Atomic int64_t submitted; /* or about to be submitted */
};

/* One call with everything that it borrows. */
struct call {
    struct hand *hand;
    struct pawl_job_spec *specs;
    struct pawl_submitted *out;
    char (*args)[PAWL__BENCH_PAYLOAD_BYTES];
    struct pawl_answer *answer;
    struct call *next;
};

struct hand {
    struct hands *hands;
    pthread_t thread;
    uint64_t payload;
    int64_t count;
    struct call calls[WINDOW];
    struct call *idle;
    int under_way; /* posted, and not yet collected */
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    /* guarded by mutex: */
    struct call *answered;
    int answered_count;
    int wake_at; /* number of answers that the hand sleeps for; 0: it is awake */
};

void pawl__bench_pawl_check(enum pawl_err err, const struct pawl_diag *diag)
{
    if (err) pawl__bench_die("a call failed: %s", diag->text);
}

struct pawl *pawl__bench_pawl_open(const struct pawl__bench *bench, const char *name)
{
    const struct pawl__url url = pawl__bench_url(bench, name);
    const struct pawl_config config = { .store = url.text };
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_open(&config, &pawl, &diag), &diag);
    return pawl;
}

void pawl__bench_sleep_us(int64_t us)
{
    const struct timespec wait = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
    nanosleep(&wait, NULL);
}

/* ---- calls ---- */

static void call_init(struct hand *hand, struct call *call)
{
    const size_t most = (size_t)hand->hands->options->per_call;
    call->hand = hand;
    call->specs = pawl__bench_calloc(most, sizeof *call->specs);
    call->out = pawl__bench_calloc(most, sizeof *call->out);
    call->args = pawl__bench_calloc(most, sizeof *call->args);
    call->next = hand->idle;
    hand->idle = call;
}

static void call_release(struct call *call)
{
    free(call->specs);
    free(call->out);
    free(call->args);
}

static void call_fill(struct hand *hand, struct call *call, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        pawl__payload(++hand->payload, call->args[i]);
        call->specs[i] = (struct pawl_job_spec){ .type = "mail.send",
                                                 .delay_ms = hand->hands->options->delay_ms,
                                                 .args = { call->args[i], sizeof *call->args } };
    }
}

/* ---- waiting for each answer ---- */

static void call_and_wait(struct hand *hand, int64_t count)
{
    struct pawl *pawl = hand->hands->options->pawl;
    struct call *call = hand->idle;
    struct pawl_diag diag = { 0 };
    call_fill(hand, call, count);
    const enum pawl_err err =
        count == 1 ? pawl_submit(pawl, call->specs, call->out, &diag)
                   : pawl_submit_many(pawl, call->specs, (size_t)count, call->out, &diag);
    pawl__bench_pawl_check(err, &diag);
}

/* ---- posting ---- */

/* On the committer's thread, so nothing is freed here, and a hand is woken once for many answers.
 */
static void answered(struct pawl_answer *taken_answer)
{
    struct call *call = taken_answer->ctx;
    struct hand *hand = call->hand;
    call->answer = taken_answer;
    pawl__lock(&hand->mutex);
    call->next = hand->answered;
    hand->answered = call;
    hand->answered_count++;
    if (hand->wake_at > 0 && hand->answered_count >= hand->wake_at) {
        hand->wake_at = 0;
        pawl__cond_signal(&hand->cond);
    }
    pawl__unlock(&hand->mutex);
}

/* Waits until at least `least` calls were answered, and collects all answers. */
static void take_answers(struct hand *hand, int least)
{
    pawl__lock(&hand->mutex);
    hand->wake_at = least;
    while (hand->answered_count < least) {
        pawl__cond_wait(&hand->cond, &hand->mutex);
    }
    struct call *call = hand->answered;
    hand->under_way -= hand->answered_count;
    hand->answered = NULL;
    hand->answered_count = hand->wake_at = 0;
    pawl__unlock(&hand->mutex);
    while (call) {
        struct call *next = call->next;
        pawl__bench_pawl_check(call->answer->err, &call->answer->diag);
        pawl_answer_free(call->answer);
        call->next = hand->idle;
        hand->idle = call;
        call = next;
    }
}

static void post(struct hand *hand, int64_t count)
{
    if (!hand->idle) take_answers(hand, WINDOW / 2);
    struct call *call = hand->idle;
    struct pawl_diag diag = { 0 };
    hand->idle = call->next;
    call_fill(hand, call, count);
    hand->under_way++;
    pawl__bench_pawl_check(pawl_post_submit(hand->hands->options->pawl, call->specs, (size_t)count,
                                            answered, call, &diag),
                           &diag);
}

/* ---- a hand ---- */

/* How many the next call may submit; 0: enough. Each hand makes one call at least: a short slice
 * may be over before its thread runs. */
static int64_t take_turn(struct hands *hands, int64_t mine)
{
    const struct pawl__hands_options *options = hands->options;
    if (options->for_us > 0 && mine > 0 && pawl__bench_now_us() >= hands->until_us) return 0;
    if (options->jobs_max == 0) return options->per_call;
    const int64_t before = atomic_fetch_add(&hands->submitted, options->per_call);
    const int64_t left = options->jobs_max - before;
    return left <= 0 ? 0 : left < options->per_call ? left : options->per_call;
}

/* Waits while it is too far ahead of the workers; the end of the slice ends the wait too. */
static void keep_pace(const struct hands *hands, int64_t mine)
{
    const struct pawl__hands_options *options = hands->options;
    const int64_t share = options->ahead_max / options->threads;
    while (options->handled && mine - atomic_load(options->handled) / options->threads > share &&
           pawl__bench_now_us() < hands->until_us) {
        pawl__bench_sleep_us(AHEAD_PAUSE_US);
    }
}

static void *submit(void *arg)
{
    struct hand *hand = arg;
    for (int64_t count; (count = take_turn(hand->hands, hand->count)) > 0;) {
        if (hand->hands->options->post) {
            post(hand, count);
        } else {
            call_and_wait(hand, count);
        }
        hand->count += count;
        keep_pace(hand->hands, hand->count);
    }
    if (hand->under_way > 0) take_answers(hand, hand->under_way);
    return NULL;
}

static void hand_start(struct hand *hand, struct hands *hands, int number)
{
    hand->hands = hands;
    hand->payload = (uint64_t)number << 40;
    pawl__mutex_init(&hand->mutex);
    pawl__cond_init(&hand->cond);
    for (int i = 0; i < WINDOW; i++) {
        call_init(hand, &hand->calls[i]);
    }
    if (pthread_create(&hand->thread, NULL, submit, hand)) {
        pawl__bench_die("could not start a thread");
    }
}

static int64_t hand_join(struct hand *hand)
{
    pthread_join(hand->thread, NULL);
    pawl__lock(&hand->mutex); // the last callback may still hold it
    pawl__unlock(&hand->mutex);
    for (int i = 0; i < WINDOW; i++) {
        call_release(&hand->calls[i]);
    }
    pawl__cond_release(&hand->cond);
    pawl__mutex_release(&hand->mutex);
    return hand->count;
}

int64_t pawl__hands_run(const struct pawl__hands_options *options)
{
    assert(options->threads > 0 && options->threads <= HANDS_MAX && options->per_call > 0);
    struct hands hands = { .options = options };
    struct hand *list = pawl__bench_calloc((size_t)options->threads, sizeof *list);
    int64_t count = 0;
    hands.until_us = options->for_us > 0 ? pawl__bench_now_us() + options->for_us : INT64_MAX;
    for (int i = 0; i < options->threads; i++) {
        hand_start(&list[i], &hands, i);
    }
    for (int i = 0; i < options->threads; i++) {
        count += hand_join(&list[i]);
    }
    free(list);
    return count;
}
