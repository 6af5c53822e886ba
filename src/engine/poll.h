/* The safety poll: how long to wait before looking again although nobody called. All that is left
 * when notices are lost. Ratchet's adaptive strategy as a pure function of its inputs. */
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
    int32_t window[PAWL__POLL_WINDOW]; /* per cent of the batch that each of the last polls found */
    int32_t window_count, window_at;
    int32_t full_streak;   /* polls in a row that found all they asked for */
    int32_t empty_streak;  /* polls in a row that found nothing */
    int32_t passed_streak; /* rounds in a row that only met jobs which others hold */
    bool passed_over;      /* the round under way met some */
    int64_t idle_since_ms; /* when the last job was found, or the poll began; 0: not begun */
};

/* A poll asked for `asked` > 0 jobs and found `found`; `more`: and fewer than there may be. A poll
 * that finds nothing although there may be more does not count as an empty one. */
void pawl__poll_note(struct pawl__poll *poll, const struct pawl__poll_rules *rules, int64_t now_ms,
                     int64_t asked, int64_t found, bool more);
/* Every group of queues has been asked: `pawl__poll_delay` says when to ask again. */
void pawl__poll_round_end(struct pawl__poll *poll);
/* Somebody called: out of deep idle, into a burst. */
void pawl__poll_wake(struct pawl__poll *poll, int64_t now_ms);
/* How long to wait. `busy_percent` is how much of the workers is in use: a busy node looks less
 * often, an idle one sooner. */
int64_t pawl__poll_delay(const struct pawl__poll *poll, const struct pawl__poll_rules *rules,
                         int32_t busy_percent);

#endif
