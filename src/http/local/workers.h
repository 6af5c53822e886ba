/* The workers that this server has heard of: by their fetches and heartbeats. On the loop.
 *
 * A worker that has sent heartbeats and then none for 30 s is dead: what it held is taken back. One
 * that never sent any is left alone; its leases end by themselves. */
#ifndef PAWL_HTTP_LOCAL_WORKERS_H
#define PAWL_HTTP_LOCAL_WORKERS_H

#include "http/transport/transport.h"
#include "base/hashtable.h"

/* NAME, text, hands out jobs to it */
#define PAWL__WORKER_STATES(X)                                                                     \
    X(RUNNING, "running", true)                                                                    \
    X(QUIET, "quiet", false)                                                                       \
    X(TERMINATE, "terminate", false)                                                               \
    X(DRAIN, "drain", false)

#define X(name, ...) PAWL__WORKER_##name,
enum pawl__worker_state { PAWL__WORKER_STATES(X) PAWL__WORKER_STATE_END };
#undef X

const char *pawl__worker_state_name(enum pawl__worker_state state);
/* END: there is none of that name. */
enum pawl__worker_state pawl__worker_state_of(const char *name);

struct pawl__workers;

struct pawl__worker {
    struct pawl__hash_link link;        /* first */
    struct pawl__worker *older, *newer; /* by when they were heard of last */
    enum pawl__worker_state state;      /* what it says of itself */
    enum pawl__worker_state directive;  /* what an operator wants it to be */
    int64_t first_at_ms, heard_at_ms;   /* wall clock */
    int64_t heard_ms;                   /* the loop's clock */
    int64_t active;                     /* jobs that its last heartbeat listed or counted */
    bool beats;                         /* it sends heartbeats */
    bool dead;                          /* it stopped to */
    char *
        info; /* members of a JSON object, what it said about itself, each with a comma before it */
    char id[];
};

struct pawl__workers *pawl__workers_new(void); /* NULL: no memory */
void pawl__workers_free(struct pawl__workers *workers);
void pawl__workers_clear(struct pawl__workers *workers);
/* Find dead workers and take their jobs back. */
void pawl__workers_tick(struct pawl__server *server);

/* ---- for fetches and heartbeats ---- */

/* 1 to PAWL_WORKER_BYTES_MAX bytes. False: answered. */
bool pawl__worker_id_ok(struct pawl__request *request, const char *id);

/* It has just been heard of. NULL: no memory. */
struct pawl__worker *pawl__workers_heard(struct pawl__server *server, const char *id,
                                         int64_t now_ms);
/* May it be given jobs? */
bool pawl__worker_takes(const struct pawl__worker *worker);
/* What it says about itself: JSON members, taken. */
void pawl__worker_set_info(struct pawl__worker *worker, char *taken_info);

/* ---- for operators ---- */

/* NULL: it is not known. */
struct pawl__worker *pawl__workers_find(const struct pawl__workers *workers, const char *id);
/* What its next heartbeat is answered with. A worker not heard of yet is remembered. False: no
 * memory. */
bool pawl__workers_direct(struct pawl__server *server, const char *id,
                          enum pawl__worker_state directive);
/* The same for every worker that is known. */
void pawl__workers_direct_all(struct pawl__workers *workers, enum pawl__worker_state directive);
/* False: it is not known. */
bool pawl__workers_forget(struct pawl__workers *workers, const char *id);
/* From the one heard of last: begin with NULL; NULL: no more. */
const struct pawl__worker *pawl__workers_next(const struct pawl__workers *workers,
                                              const struct pawl__worker *after);
size_t pawl__workers_count(const struct pawl__workers *workers);

/* ---- test mode ---- */

/* A heartbeat that lists job `id` is answered with `directive`: "quiet" or "terminate". */
void pawl__workers_directive(struct pawl__server *server, struct pawl_job_id id,
                             const char *directive);
/* END: none. */
enum pawl__worker_state pawl__workers_directive_of(const struct pawl__workers *workers,
                                                   struct pawl_job_id id);

#endif
