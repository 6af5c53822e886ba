/* The catalogue: queues and lanes by name and by number, kept in memory, and how the transaction
 * under way changes the counters of jobs per lane and state.
 *
 * A lane is a (queue, type) pair. Queues and lanes are never deleted from a store, so what is here
 * stays true; other processes may add more, which the backend reads.
 *
 * Threads: it belongs to a backend's session, and to the thread that has that. Zeroes are an empty
 * catalogue; `seed` should be drawn, for names come from outside. */
#ifndef PAWL_STORE_CORE_CATALOG_H
#define PAWL_STORE_CORE_CATALOG_H

#include "base/diag.h"
#include "store/store.h"

struct pawl__queue {
    int64_t id;
    char *name;
    bool paused;
    uint32_t first_lane; /* index + 1; 0: none */
};

/* Stays where it is until the catalogue forgets it. */
struct pawl__lane {
    int64_t id;
    uint32_t at;        /* its index */
    uint32_t queue;     /* index */
    uint32_t next_lane; /* of the same queue: index + 1 */
    char *type;
    int64_t delta[PAWL_STATE_END]; /* how the transaction changes the counters */
    bool touched;                  /* it has a delta */
    union {                        /* the backend's own; zeroes at first */
        struct {
            uint32_t first, last, next;
            bool listed;
        } head;
        uint32_t density;
    } own;
};

struct pawl__numbering { /* index + 1 by number */
    uint32_t *at;
    size_t cap;
};

struct pawl__catalog {
    struct pawl__queue *queues;
    uint32_t queue_count, queue_cap;
    struct pawl__lane **lanes; /* in the order we learnt of them */
    uint32_t lane_count, lane_cap;
    /* open addressing, four times as many as the caps: index + 1 by name */
    uint32_t *queue_slots, *lane_slots;
    struct pawl__numbering queues_by_id, lanes_by_id;
    uint32_t *touched; /* lanes with a delta; as many as lane_cap */
    uint32_t touched_count;
    int64_t moves; /* that were counted */
    uint64_t seed;
};

void pawl__catalog_release(struct pawl__catalog *catalog);
/* Forget everything; the memory is kept. */
void pawl__catalog_clear(struct pawl__catalog *catalog);
/* Back to the first so many, which a transaction began with. */
void pawl__catalog_truncate(struct pawl__catalog *catalog, uint32_t lane_count,
                            uint32_t queue_count);

/* NULL: there is none. A queue stays where it is until another is learnt of. */
struct pawl__queue *pawl__catalog_queue(const struct pawl__catalog *catalog, const char *name);
struct pawl__lane *pawl__catalog_lane(const struct pawl__catalog *catalog, const char *queue,
                                      const char *type);
struct pawl__lane *pawl__catalog_lane_by_id(const struct pawl__catalog *catalog, int64_t id);
static inline const char *pawl__catalog_queue_name(const struct pawl__catalog *catalog,
                                                   const struct pawl__lane *lane)
{
    return catalog->queues[lane->queue].name;
}

/* A queue or a lane of the store; of one that is known only `paused` is news. NOMEM; CORRUPT: a
 * number that cannot be, or a lane without a queue. */
PAWL_MUST_CHECK enum pawl_err pawl__catalog_learn_queue(struct pawl__catalog *catalog, int64_t id,
                                                        const char *name, bool paused,
                                                        struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__catalog_learn_lane(struct pawl__catalog *catalog, int64_t id,
                                                       int64_t queue_id, const char *type,
                                                       struct pawl_diag *diag);
/* CORRUPT: a row of the store names a lane that does not exist. */
enum pawl_err pawl__catalog_refuse_lane(int64_t id, struct pawl_diag *diag);

/* In place of a state: the job was not there before, or is not any more. NONE is the archive. */
#define PAWL__OUTSIDE ((enum pawl_state)PAWL_STATE_END)
/* A job of `lane` left `from` for `to`. */
void pawl__catalog_count(struct pawl__catalog *catalog, struct pawl__lane *lane,
                         enum pawl_state from, enum pawl_state to);
/* The transaction is over: the deltas and `moves` are zero again. */
void pawl__catalog_forget_counts(struct pawl__catalog *catalog);

#endif
