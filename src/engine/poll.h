/* The safety poll: how long to wait before looking for jobs without a notice, in case notices are
 * lost. Ratchet's adaptive strategy as a pure function of its inputs. */
#ifndef PAWL_ENGINE_POLL_H
#define PAWL_ENGINE_POLL_H

#include <stdbool.h>
#include <stdint.h>

enum { PAWL__POLL_WINDOW = 10 };

/* The documented numbers are the defaults. */
struct pawl__poll_rules {
    int64_t burst_ms;       /* after a wake-up [500] */
    int64_t min_ms;         /* in steady state, at least [2000] */
    int64_t max_ms;         /* and at most [30000] */
    int64_t deep_ms;        /* in deep idle [60000] */
    int64_t deep_after_ms;  /* without a job for this long [300000] */
    int32_t idle_threshold; /* empty polls before the wait grows, and before a burst ends [5] */
};

void pawl__poll_defaults(struct pawl__poll_rules *rules); /* fills in what is zero */

enum pawl__poll_mode { PAWL__POLL_NORMAL, PAWL__POLL_BURST, PAWL__POLL_DEEP };

struct pawl__poll {
    enum pawl__poll_mode mode;
    int32_t window[PAWL__POLL_WINDOW]; /* fill level, in per cent, of each of the last polls */
    int32_t window_count, window_at;
    int32_t full_streak;   /* consecutive polls that found as many as requested */
    int32_t empty_streak;  /* consecutive polls that found nothing */
    int32_t passed_streak; /* consecutive rounds that found only jobs locked by others */
    bool passed_over;      /* the current round found some of those */
    int64_t idle_since_ms; /* when the last job was found, or polling started; 0: not started */
};

/* Records a poll that requested `asked` > 0 jobs and found `found`; `more`: fewer than may be
 * available. A poll that finds nothing although more may be available does not count as empty. */
void pawl__poll_note(struct pawl__poll *poll, const struct pawl__poll_rules *rules, int64_t now_ms,
                     int64_t asked, int64_t found, bool more);
/* Ends a round, in which every group of queues was polled: `pawl__poll_delay` gives the time until
 * the next. */
void pawl__poll_round_end(struct pawl__poll *poll);
/* A notice arrived: leaves deep idle and starts a burst. */
void pawl__poll_wake(struct pawl__poll *poll, int64_t now_ms);
/* How long to wait. `busy_percent` is the share of workers in use: a busy node polls less often, an
 * idle one sooner. */
int64_t pawl__poll_delay(const struct pawl__poll *poll, const struct pawl__poll_rules *rules,
                         int32_t busy_percent);

#endif
