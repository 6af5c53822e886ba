/* What follows from a move: after the operations of a batch are decided, and before anything is
 * written, the moves of jobs with ties are followed up in the same working set, hence in the same
 * transaction.
 *
 * A tie is a bit of a job's `ties` and has a rule here. The rule is told of each move of such a job
 * and changes other rows of the set, which are moves as well, and may be those of tied jobs: they
 * are followed up in the next round. In each round the wanted rows are read together, without
 * waiting for those that others hold. That is true of records as long as their kind does not wait:
 * see PAWL__RECORDS.
 *
 * What is too much for one transaction, or held by others, is left in pawl_unsettled, written by
 * the same transaction: either the move and the entry are there, or neither. The sweep
 * PAWL__OP_SETTLE takes entries up again, on any node.
 *
 * 1. A rule has the job as it is now, which may have moved on since, and what the move was. The job
 *    may be gone, and its id that of another.
 * 2. A rule that cannot follow yet changes nothing. It is called again, later, for the same move.
 *
 * An application that ends a run in a transaction of its own database session (postgres/script)
 * cannot ask the rules here. It leaves an entry with what it reports, and a tie of
 * PAWL__TIES_REPORTED on the job: that run is over, for its owner and for everybody else, and what
 * becomes of the job is decided when the entry is followed up (finish.c). The tie goes with the
 * run. A job that was submitted there with a retry policy or a unique policy has a tie and an entry
 * too, and is held until its entry is followed up (unchecked.c). If it ends before that, or by
 * that, the tie stays: the job is checked when it comes back.
 *
 * 3. These ties, PAWL__TIES_OWN, are about the job itself and not about its moves. A job has one
 *    entry for each, but for UNCHECKED only as long as it has not ended. What changes that writes
 *    or deletes the entry too. So no entry meets another job of the same id, and to delete a job,
 *    which has ended, no entry need be looked for.
 *
 * Threads: the set's. */
#ifndef PAWL_STORE_CORE_SETTLE_H
#define PAWL_STORE_CORE_SETTLE_H

#include "store/core/set.h"

/* bit, NAME, what depends on the job's moves. Numbers are stored: append, never reuse. Bits from 24
 * on are for tests; SQL functions (postgres/script) know the numbers of PAWL__TIES_OWN. */
#ifndef PAWL__TIES_MORE /* tests bring ties of their own: tests/settle/ties.h */
#define PAWL__TIES_MORE(X)
#endif
#define PAWL__TIES(X)                                                                              \
    X(0, FAILED, "nothing: its run was reported as failed")                                        \
    X(1, PUT_OFF, "nothing: its run was given back, for later")                                    \
    X(2, UNCHECKED, "nothing: its policies are yet to be checked")                                 \
    X(3, FLOW, "nodes of its flow, which wait for it")                                             \
    X(4, SCHEDULE, "later jobs of its schedule, which wait for it")                                \
    X(5, ON_SUCCESS, "the job that follows when it is completed")                                  \
    X(7, ON_FAILURE, "the job that follows when it has failed")                                    \
    X(8, CHILD, "nothing: it follows a job whose result it can read")                              \
    PAWL__TIES_MORE(X)

/* How many moves are followed up in one transaction. */
#ifndef PAWL__SETTLE_MAX
#define PAWL__SETTLE_MAX PAWL__COMMIT_WEIGHT_MAX
#endif

/* How much of jobs that have to be read whole, but at least one job. */
#define PAWL__SETTLE_BYTES_MAX (INT64_C(16) << 20)

struct pawl__tie {
    /* Is there anything to follow up about such a move? NULL: about all of them. */
    bool (*concerns)(enum pawl_state from, enum pawl_state to);
    /* Only about ends: not about a job that is resumed to the end out of which it was paused. */
    bool ends;
    /* Note the rows and keys that following needs; NULL: none but the job itself. An entry's job
     * was read before. Called again when they were read, as long as it notes more: so what many
     * moves of a round need is read together. */
    void (*want)(struct pawl__set *set, const struct pawl__unsettled *move);
    /* They were read, but others may hold some (HELD). True: the move was followed up, or something
     * more is wanted: then nothing was changed, and it is called again when that was read. False:
     * not yet. */
    bool (*follow)(struct pawl__set *set, const struct pawl__unsettled *move);
};

#define X(bit, name, ...) PAWL__TIE_##name = 1 << (bit),
enum {
    PAWL__TIE_NONE = 0,
    PAWL__TIES(X) PAWL__TIES_REPORTED = PAWL__TIE_FAILED | PAWL__TIE_PUT_OFF,
    PAWL__TIES_OWN = PAWL__TIES_REPORTED | PAWL__TIE_UNCHECKED
};
#undef X
#define X(bit, name, ...) extern const struct pawl__tie pawl__tie_##name;
PAWL__TIES(X)
#undef X

/* All ties that have a rule here. */
int32_t pawl__settle_known(void);
/* Does nothing depend on this move of a job with such ties, so that a fast path may make it? */
bool pawl__settle_lets(int32_t all, enum pawl_state from, enum pawl_state to);
/* Those of PAWL__TIES_OWN for which a job has an entry, as its row is. */
int32_t pawl__settle_entries(const struct pawl__row *row);
/* The entry for such a tie is being followed up, and the tie goes. */
void pawl__settle_own(struct pawl__set *set, struct pawl__row *row, int32_t tie);
/* Before the store: entries of rows that have them no longer, or again. */
void pawl__settle_list(struct pawl__set *set);
/* A job with ties has moved. */
void pawl__settle_note(struct pawl__set *set, const struct pawl__row *row, enum pawl_state from);
/* Follow up all that was noted. An error fails the batch. */
PAWL_MUST_CHECK enum pawl_err pawl__settle_run(struct pawl__set *set);
/* For the backend's scan: an entry of pawl_unsettled, which is to be followed up now. */
void pawl__settle_again(struct pawl__set *set, const struct pawl__unsettled *entry);

#endif
