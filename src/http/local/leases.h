/* Leases that this server gave out: which run of a job belongs to which worker. On the loop.
 *
 * It is a cache of what the store knows. An entry may be missing (a restart, another server, too
 * many of them) or be old (the job was taken away): then the store has the last word. */
#ifndef PAWL_HTTP_LOCAL_LEASES_H
#define PAWL_HTTP_LOCAL_LEASES_H

#include "http/transport/transport.h"
#include "base/hashtable.h"

struct pawl__leases;

struct pawl__lease {
    struct pawl__hash_link link;       /* first */
    struct pawl__lease *older, *newer; /* in order of claiming */
    struct pawl_job_id id;
    int64_t run;
    int64_t attempt;
    int64_t lease_ms;       /* what an extension gives */
    int64_t lease_until_ms; /* as far as we know */
    bool named;             /* `worker` is what the client calls itself, not made up here */
    struct pawl_job *job;   /* as it was claimed, see pawl__lease_take_job; NULL: not kept */
    const char *queue;
    const char *worker;
};

/* What clients without a name are called, and a uuid. */
#define PAWL__ANONYMOUS "anon_"
bool pawl__worker_is_named(const char *worker);

struct pawl__leases *pawl__leases_new(void); /* NULL: no memory */
void pawl__leases_free(struct pawl__leases *leases);
void pawl__leases_clear(struct pawl__leases *leases);

/* NULL: not known here. Valid until the next call that changes leases. */
struct pawl__lease *pawl__leases_find(const struct pawl__leases *leases, struct pawl_job_id id);
/* `job` has just been claimed, or found to be active; it is copied. Without memory it is not kept,
 * which only makes later requests slower. `lease_ms` is what was asked for. */
void pawl__leases_put(struct pawl__leases *leases, const struct pawl_job *job, int64_t lease_ms);
/* Forget `run` of job `id`, or nothing. */
void pawl__leases_drop(struct pawl__leases *leases, struct pawl_job_id id, int64_t run);
/* A job moved: a job that leaves active has no lease. */
void pawl__leases_moved(struct pawl__server *server, const struct pawl_moved *moved);
/* The job as it was claimed, to be freed with free(); NULL: it was not kept. */
struct pawl_job *pawl__lease_take_job(struct pawl__leases *leases, struct pawl__lease *lease);
/* From the oldest to the newest: begin with NULL; NULL: no more. */
struct pawl__lease *pawl__leases_next(const struct pawl__leases *leases,
                                      const struct pawl__lease *after);

/* ---- jobs with a checkpoint ---- */

/* A checkpoint was saved: the next fetch of the job should deliver it. */
void pawl__leases_mark(struct pawl__leases *leases, struct pawl_job_id id);
/* May the job have failures or a checkpoint that a fetch shows? */
bool pawl__leases_has_past(const struct pawl__leases *leases, const struct pawl_job *job);

#endif
