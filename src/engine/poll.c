/* See poll.h. Pure: the time is an argument.
 *
 * Ratchet's numbers (mission): burst 500 ms, normal 2 to 30 s, deep idle 60 s after five minutes;
 * mean of the last ten polls above 80 % halves the wait, below 20 % doubles it; three full batches
 * in a row quarter it, one halves it; empty polls beyond the threshold double it each. Its load
 * factor is taken the way its documents say: high use slows polling, low use lets it be faster. */
#include "engine/poll.h"

#include <assert.h>

enum { FLOOR_STREAK_MS = 50, FLOOR_FULL_MS = 100, PASSED_OVER_MS = 2, DOUBLINGS_MAX = 20 };

void pawl__poll_defaults(struct pawl__poll_rules *rules)
{
    if (!rules->burst_ms) rules->burst_ms = 500;
    if (!rules->min_ms) rules->min_ms = 2000;
    if (!rules->max_ms) rules->max_ms = 30000;
    if (!rules->deep_ms) rules->deep_ms = rules->max_ms > 60000 ? rules->max_ms : 60000;
    if (!rules->deep_after_ms) rules->deep_after_ms = 300000;
    if (!rules->idle_threshold) rules->idle_threshold = 5;
    if (rules->max_ms < rules->min_ms) rules->max_ms = rules->min_ms;
    if (rules->burst_ms > rules->min_ms) rules->burst_ms = rules->min_ms;
}

void pawl__poll_note(struct pawl__poll *poll, const struct pawl__poll_rules *rules, int64_t now_ms,
                     int64_t asked, int64_t found, bool more)
{
    assert(asked > 0 && found >= 0 && found <= asked);
    if (found) poll->passed_streak = 0;
    if (!found && more) {
        poll->passed_over = true;
        return;
    }
    poll->window[poll->window_at] = (int32_t)(found * 100 / asked);
    poll->window_at = (poll->window_at + 1) % PAWL__POLL_WINDOW;
    if (poll->window_count < PAWL__POLL_WINDOW) poll->window_count++;
    poll->full_streak = found == asked ? poll->full_streak + 1 : 0;
    poll->empty_streak = found == 0 ? poll->empty_streak + 1 : 0;
    if (found || !poll->idle_since_ms) poll->idle_since_ms = now_ms;
    if (found && poll->mode == PAWL__POLL_DEEP) poll->mode = PAWL__POLL_NORMAL;
    if (poll->mode == PAWL__POLL_BURST && poll->empty_streak >= rules->idle_threshold) {
        poll->mode = PAWL__POLL_NORMAL;
    }
    bool deep = now_ms - poll->idle_since_ms >= rules->deep_after_ms;
    if (!found && deep && poll->mode == PAWL__POLL_NORMAL) poll->mode = PAWL__POLL_DEEP;
}

void pawl__poll_round_end(struct pawl__poll *poll)
{
    poll->passed_streak = poll->passed_over ? poll->passed_streak + 1 : 0;
    poll->passed_over = false;
}

void pawl__poll_wake(struct pawl__poll *poll, int64_t now_ms)
{
    poll->mode = PAWL__POLL_BURST;
    poll->empty_streak = 0;
    poll->idle_since_ms = now_ms;
}

static int32_t window_mean(const struct pawl__poll *poll)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < poll->window_count; i++) {
        sum += poll->window[i];
    }
    return poll->window_count ? sum / poll->window_count : 50;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t steady_delay(const struct pawl__poll *poll, const struct pawl__poll_rules *rules)
{
    if (poll->full_streak >= 3) return clamp(rules->min_ms / 4, FLOOR_STREAK_MS, rules->max_ms);
    if (poll->full_streak >= 1) return clamp(rules->min_ms / 2, FLOOR_FULL_MS, rules->max_ms);
    int32_t mean = window_mean(poll);
    int64_t delay = rules->min_ms;
    if (mean > 80) delay /= 2;
    if (mean < 20) delay *= 2;
    int32_t over = poll->empty_streak - rules->idle_threshold;
    for (int32_t i = 0; i <= over && i < DOUBLINGS_MAX && delay < rules->max_ms; i++) {
        delay *= 2;
    }
    return delay;
}

/* Transactions of others take milliseconds, but a suspended process may hold one for long. */
static int64_t passed_over_delay(const struct pawl__poll *poll,
                                 const struct pawl__poll_rules *rules)
{
    int64_t delay = PASSED_OVER_MS;
    for (int32_t i = 1; i < poll->passed_streak && delay < rules->burst_ms; i++) {
        delay *= 2;
    }
    return delay < rules->burst_ms ? delay : rules->burst_ms;
}

int64_t pawl__poll_delay(const struct pawl__poll *poll, const struct pawl__poll_rules *rules,
                         int32_t busy_percent)
{
    if (poll->passed_streak) return passed_over_delay(poll, rules);
    if (poll->mode == PAWL__POLL_DEEP) return rules->deep_ms;
    if (poll->mode == PAWL__POLL_BURST) return rules->burst_ms;
    int64_t delay = steady_delay(poll, rules);
    if (poll->full_streak) return delay; // there is more: the load determines how much is requested
    int64_t factor = 50 + 150 * (int64_t)clamp(busy_percent, 0, 100) / 100; // 0.5 to 2
    return clamp(delay * factor / 100, FLOOR_FULL_MS, rules->max_ms);
}
