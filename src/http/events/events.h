/* What happened, for those who ask (GET /ojs/v1/events) and those who listen (streams.h).
 *
 * Moves of jobs that this process commits come from the library's listener, other news from
 * pawl__events_note. Both go through an inbox to the loop, where each becomes one record of a ring.
 * A record stands for a change of state and for the events of the Open Job Spec that follow from
 * it; what these need beyond the record is read from the store when somebody asks. */
#ifndef PAWL_HTTP_EVENTS_EVENTS_H
#define PAWL_HTTP_EVENTS_EVENTS_H

#include "base/names.h"
#include "http/events/streams.h"
#include "http/transport/transport.h"

/* NAME, type on the wire */
#define PAWL__EVENT_KINDS(X)                                                                       \
    X(STATE_CHANGED, "job.state_changed")                                                          \
    X(ENQUEUED, "job.enqueued")                                                                    \
    X(SCHEDULED, "job.scheduled")                                                                  \
    X(STARTED, "job.started")                                                                      \
    X(COMPLETED, "job.completed")                                                                  \
    X(FAILED, "job.failed")                                                                        \
    X(RETRYING, "job.retrying")                                                                    \
    X(DISCARDED, "job.discarded")                                                                  \
    X(CANCELLED, "job.cancelled")                                                                  \
    X(EXPIRED, "job.expired")                                                                      \
    X(DEADLINE_MISSED, "job.deadline_missed")                                                      \
    X(HEARTBEAT, "job.heartbeat")                                                                  \
    X(PROGRESS, "job.progress")                                                                    \
    X(QUEUE_PAUSED, "queue.paused")                                                                \
    X(QUEUE_RESUMED, "queue.resumed")                                                              \
    X(WORKER_STARTED, "worker.started")                                                            \
    X(WORKER_STOPPED, "worker.stopped")                                                            \
    X(WORKER_QUIET, "worker.quiet")                                                                \
    X(WORKER_HEARTBEAT, "worker.heartbeat")                                                        \
    X(CRON_TRIGGERED, "cron.triggered")                                                            \
    X(CRON_SKIPPED, "cron.skipped")                                                                \
    X(WORKFLOW_CREATED, "workflow.created")                                                        \
    X(WORKFLOW_STARTED, "workflow.started")                                                        \
    X(WORKFLOW_STEP_COMPLETED, "workflow.step_completed")                                          \
    X(WORKFLOW_STEP_FAILED, "workflow.step_failed")                                                \
    X(WORKFLOW_JOB_COMPLETED, "workflow.job_completed")                                            \
    X(WORKFLOW_JOB_FAILED, "workflow.job_failed")                                                  \
    X(WORKFLOW_CALLBACK_FIRED, "workflow.callback_fired")                                          \
    X(WORKFLOW_COMPLETED, "workflow.completed")                                                    \
    X(WORKFLOW_FAILED, "workflow.failed")                                                          \
    X(WORKFLOW_CANCELLED, "workflow.cancelled")

#define X(name, text) PAWL__EVENT_##name,
enum pawl__event_kind { PAWL__EVENT_NONE = 0, PAWL__EVENT_KINDS(X) PAWL__EVENT_END };
#undef X

const char *pawl__event_type(enum pawl__event_kind kind);

/* Something that is no move of a job. Everything is copied. */
struct pawl__note {
    enum pawl__event_kind kind;
    const struct pawl_job_id *job; /* whose it is; NULL: no job's */
    const char *subject;           /* without a job: the queue, the worker, the schedule */
    const char *queue;             /* NULL: none, or not known */
    const char *job_type;          /* NULL: likewise */
    double progress;               /* of PROGRESS: 0..1; negative: not given */
    struct pawl_span data;         /* further members: "\"worker_id\":\"a\",\"attempt\":1" */
};

/* Any thread; also when there is no room for it (then it counts as lost). */
void pawl__events_note(struct pawl__server *server, const struct pawl__note *note);
/* Any thread: a workflow was submitted. */
void pawl__workflow_created(struct pawl__server *server, const struct pawl_flow *flow);
/* Any thread: forget all that happened. For tests that begin anew. */
void pawl__events_forget(struct pawl__server *server);

/* ---- for components.c ---- */

PAWL_MUST_CHECK enum pawl_err pawl__events_new(struct pawl__server *server, struct pawl_diag *diag);
/* Before the loop ends; NULL is fine. */
void pawl__events_free(struct pawl__events *events);

/* ---- for the files that show events; on the loop ---- */

enum { PAWL__EVENTS_OF_RECORD_MAX = 3 };

/* Ids of events are UUIDs in the order in which things happened. The last two bits count within a
 * record: 0 is the change of state itself, then come what follows from it. */
struct pawl__record {
    struct pawl_job_id id; /* of the event */
    struct pawl_job_id job;
    int64_t at_ms;
    int64_t run;
    int64_t since_ms; /* since when the job was in `from`; 0: not known */
    enum pawl_state from, to;
    enum pawl__event_kind kind; /* STATE_CHANGED, or the note's */
    bool has_job;
    double progress;
    struct pawl__name *queue, *type; /* may be NULL */
    char *subject;                   /* of notes; NULL: the job */
    char *data;                      /* NULL: none */
};

/* What follows from a change of state, in order; a note is itself alone. Returns how many. */
size_t pawl__record_kinds(const struct pawl__record *record,
                          enum pawl__event_kind out[PAWL__EVENTS_OF_RECORD_MAX]);

/* Number `index` of the kept records, 0 the oldest. */
const struct pawl__record *pawl__events_at(const struct pawl__events *events, size_t index);
size_t pawl__events_count(const struct pawl__events *events);
/* The first record that is not older than the event `id`. */
size_t pawl__events_find(const struct pawl__events *events, const struct pawl_job_id *id);
/* The newest event's id; before the first one, an id that is older than all. */
struct pawl_job_id pawl__events_newest(const struct pawl__events *events);
/* Is everything after the event `id` still kept? */
bool pawl__events_reach(const struct pawl__events *events, const struct pawl_job_id *id);
/* Names that records hold. */
const struct pawl__names *pawl__events_names(const struct pawl__events *events);
/* Another process moved a job that somebody watches. */
void pawl__events_foreign(struct pawl__events *events, const struct pawl_moved *moved);
/* Moves and notes that were lost so far. */
int64_t pawl__events_lost(const struct pawl__events *events);

/* "evt_" and a UUID: event number `nth` of a record. False: not an id of ours. */
#define PAWL__EVENT_ID_BYTES 41
void pawl__event_id_text(const struct pawl_job_id *id, size_t nth, char out[PAWL__EVENT_ID_BYTES]);
bool pawl__event_id_parse(const char *text, struct pawl_job_id *out);

/* ---- which events somebody wants ---- */

/* Which kinds, as bits. 0 bits never come from a list that names known ones. */
typedef uint32_t pawl__kinds;
#define PAWL__KIND_BIT(kind) (UINT32_C(1) << (kind))
/* A list of types, commas between: exact, "job.*", "*". Unknown ones match nothing. */
pawl__kinds pawl__kinds_parse(const char *list);

/* ---- routes: see routes.h ---- */

#define PAWL__ROUTES_EVENTS(X)                                                                     \
    X("GET", "/ojs/v1/events", events, READ, LOOP, "What happened, oldest first")                  \
    X("GET", "/ojs/v1/events/stream", event_stream, READ, LOOP, "Events as they happen (SSE)")     \
    X("GET", "/ojs/v1/events/jobs/{id}", job_events, READ, LOOP, "A job's events (SSE)")           \
    X("GET", "/ojs/v1/events/queues/{name}", queue_events, READ, LOOP, "A queue's events (SSE)")   \
    X("GET", "/ojs/v1/jobs/{id}/events", job_events, READ, LOOP, "A job's events (SSE)")           \
    X("GET", "/ojs/v1/queues/{name}/events", queue_events, READ, LOOP, "A queue's events (SSE)")   \
    X("GET", "/ojs/v1/jobs/{id}/progress/stream", progress_stream, READ, LOOP,                     \
      "A job's progress as it comes (SSE)")

PAWL__ROUTES_EVENTS(PAWL__DECLARE_HANDLER)

#endif
