/* Inside the streams: shared by streams.c (who listens, sending), stream_open.c (coming),
 * stream_print.c and stream_sweep.c (jobs that other processes move). */
#ifndef PAWL_HTTP_EVENTS_INSIDE_H
#define PAWL_HTTP_EVENTS_INSIDE_H

#include "http/events/events.h"

enum {
    PAWL__CHANNEL_BUCKETS = 8192,
    PAWL__STREAM_BATCH_BYTES = 32768, /* of one channel: then they go at once */
    PAWL__STREAM_RESERVE_BYTES = 512, /* kept free for the last words */
    PAWL__STREAM_HEARTBEAT_MS = 14500,
    PAWL__SWEEP_MS = 100,       /* at the most often */
    PAWL__SWEEP_CALM_MS = 2000, /* when nobody says that something changed */
    PAWL__SWEEP_JOBS_MAX = 500  /* at once */
};

#define PAWL__KINDS_WORKFLOW                                                                       \
    ((PAWL__KIND_BIT(PAWL__EVENT_WORKFLOW_CANCELLED) << 1) -                                       \
     PAWL__KIND_BIT(PAWL__EVENT_WORKFLOW_CREATED))

/* What those get who ask for nothing in particular. */
#define PAWL__KINDS_USUAL                                                                          \
    (PAWL__KIND_BIT(PAWL__EVENT_STATE_CHANGED) | PAWL__KIND_BIT(PAWL__EVENT_PROGRESS) |            \
     PAWL__KIND_BIT(PAWL__EVENT_DEADLINE_MISSED) | PAWL__KIND_BIT(PAWL__EVENT_QUEUE_PAUSED) |      \
     PAWL__KIND_BIT(PAWL__EVENT_QUEUE_RESUMED) | PAWL__KIND_BIT(PAWL__EVENT_WORKER_STARTED) |      \
     PAWL__KIND_BIT(PAWL__EVENT_WORKER_STOPPED) | PAWL__KIND_BIT(PAWL__EVENT_WORKER_QUIET) |       \
     PAWL__KIND_BIT(PAWL__EVENT_CRON_TRIGGERED) | PAWL__KIND_BIT(PAWL__EVENT_CRON_SKIPPED) |       \
     PAWL__KINDS_WORKFLOW)

enum pawl__channel_kind { PAWL__CHANNEL_ALL, PAWL__CHANNEL_QUEUE, PAWL__CHANNEL_JOB };

/* Which channel. */
struct pawl__channel_key {
    enum pawl__channel_kind kind;
    struct pawl_job_id job;
    const char *queue;
};

struct pawl__listener {
    struct pawl__request *request; /* whose arena this is in */
    struct pawl__channel *channel;
    struct pawl__listener *prev, *next;         /* of the channel */
    struct pawl__listener *prev_all, *next_all; /* of all */
    pawl__kinds kinds;
    bool progress;        /* of the progress alone, in its own words */
    bool cut;             /* lags: waits for its last words to be taken */
    int64_t sent_ms;      /* loop time of the last thing it was sent */
    struct pawl__buf own; /* what it alone gets with the next flush */
};

struct pawl__channel {
    struct pawl__channel *next; /* of the bucket */
    struct pawl__channel *prev_job, *next_job;
    struct pawl__channel *next_dirty;
    uint32_t hash;
    struct pawl__channel_key key; /* the queue's name is its own */
    struct pawl__listener *listeners;
    size_t count, special; /* special: do not get the batch, but what is their own */
    struct pawl__buf batch;
    bool dirty, flushing, over; /* over: its job has ended, and so do the streams */
    /* what is known of its job: */
    enum pawl_state state;
    int64_t run, progress_at_ms;
    enum pawl_state suspect; /* what a look at the store found instead */
    int64_t suspect_run;
};

struct pawl__sweep;

struct pawl__streams {
    struct pawl__server *server;
    uv_timer_t flush_timer, sweep_timer;
    int closing; /* handles that the loop still has */
    struct pawl__channel *buckets[PAWL__CHANNEL_BUCKETS];
    struct pawl__channel *jobs;  /* channels of jobs */
    size_t job_count, to_sweep;  /* to_sweep: of the round under way */
    struct pawl__channel *dirty; /* channels with something to send */
    struct pawl__listener *listeners;
    size_t count;
    size_t audience;              /* listeners of dirty channels */
    int64_t flushed_ms, swept_ms; /* loop time */
    int64_t cut;
    struct pawl__sweep *sweep; /* under way */
    struct pawl_job_id swept;  /* the last job that was looked after */
};

/* ---- events.c ---- */

/* JSON has line breaks only between its parts, streams only between their lines: blanks instead, in
 * place. NULL is fine. */
char *pawl__on_one_line(char *json);

/* ---- streams.c ---- */

bool pawl__listener_is_special(const struct pawl__listener *listener);
/* Onto the channel, which is made if need be. False: no memory. */
bool pawl__listener_join(struct pawl__streams *streams, struct pawl__listener *listener,
                         const struct pawl__channel_key *key);
/* Off its channel. The request is still there. */
void pawl__listener_leave(struct pawl__listener *listener);
/* Leaves, and the stream ends. */
void pawl__listener_end(struct pawl__listener *listener);
void pawl__listener_send(struct pawl__listener *listener, const char *at, size_t len);
/* NULL: nobody listens. */
struct pawl__channel *pawl__channel_find(struct pawl__streams *streams,
                                         const struct pawl__channel_key *key);
/* Is the record's event of this channel? */
bool pawl__channel_wants(const struct pawl__channel_key *key, const struct pawl__record *record);

/* ---- stream_print.c ---- */

/* One event: "id: ...\nevent: ...\ndata: ...\n\n". */
void pawl__stream_print(struct pawl__buf *out, const struct pawl__record *record,
                        enum pawl__event_kind kind, size_t nth);
/* In the words of the progress streams; nothing when the record is not for them. */
void pawl__stream_print_progress(struct pawl__buf *out, const struct pawl__record *record);
/* Every event of the record that the listener wants, in its words. */
void pawl__stream_print_for(struct pawl__buf *out, const struct pawl__record *record,
                            const struct pawl__listener *listener);
/* The server's own words; `newest` is where the client may go on from. */
void pawl__stream_print_gap(struct pawl__buf *out, struct pawl_job_id newest, const char *reason);
void pawl__stream_print_shutdown(struct pawl__buf *out, struct pawl_job_id newest);

/* ---- stream_sweep.c ---- */

/* Look after the watched jobs, soon. */
void pawl__sweep_soon(struct pawl__streams *streams);
void pawl__sweep_on_timer(uv_timer_t *timer);

#endif
