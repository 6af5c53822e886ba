/* The ledger: the intents of a killed process and the answers that it got, kept by the process that
 * kills it, and the check whether a store agrees with them.
 *
 * A child writes one record before it posts an operation and one after its answer, so when it is
 * killed the ledger contains everything that was acknowledged and everything that may or may not
 * have happened. The check does not depend on the order in which records of different children
 * arrive; runs, and the fact that ended jobs do not change, give all the order it needs. */
#ifndef PAWL_TESTS_LEDGER_H
#define PAWL_TESTS_LEDGER_H

#include "crash/kit.h"

/* NAME, text, the states a job may be in after it, as long as nobody claims it again */
#define DEEDS(X)                                                                                   \
    X(SUBMIT, "submit", 0)                                                                         \
    X(CLAIM, "claim", 0)                                                                           \
    X(COMPLETE, "complete", BIT(COMPLETED))                                                        \
    X(FAIL, "fail", BIT(RETRYABLE) | BIT(AVAILABLE))                                               \
    X(GIVE_UP, "fail for good", BIT(DISCARDED))                                                    \
    X(SNOOZE, "snooze", BIT(SCHEDULED) | BIT(AVAILABLE))                                           \
    X(GIVE_BACK, "give back", BIT(AVAILABLE))                                                      \
    X(DISCARD, "discard", BIT(DISCARDED))                                                          \
    X(CANCEL, "cancel", BIT(CANCELLED))                                                            \
    X(CHECKPOINT, "checkpoint", 0)                                                                 \
    X(SWEEP, "sweep", 0)

#define X(name, ...) DEED_##name,
enum deed { DEEDS(X) DEED_END };
#undef X

enum phase { PHASE_INTENT = 1, PHASE_ANSWER = 2 };

/* Written whole: smaller than PIPE_BUF. */
struct record {
    uint8_t deed;
    uint8_t phase;
    uint8_t err;    /* answers */
    uint8_t to;     /* answers: the state the job came to */
    uint32_t count; /* SUBMIT: how many jobs */
    uint64_t batch; /* SUBMIT: which ones, see batch_job */
    struct pawl_job_id id;
    int64_t run;
    int64_t sequence; /* CHECKPOINT */
    char text[80];    /* answers with an error: what the store said */
};

enum { BATCH_MAX = 40, BATCH_ARGS_BYTES = 8192, RUNS_MAX = 64 };

/* A batch's number says who made it and so, which jobs are in it. */
struct batch_of {
    uint32_t round;  /* below 65536 */
    uint32_t child;  /* below 16 */
    uint32_t thread; /* below 16 */
    uint32_t number; /* below 2^24 */
};
uint64_t batch_number(struct batch_of of);
struct pawl_job_id batch_job(uint64_t batch, uint32_t index);
/* The arguments of a batch's job: different for each, some of them long. Returns their length. */
size_t batch_args(uint64_t batch, uint32_t index, uint32_t count, char out[BATCH_ARGS_BYTES]);
/* Every fourth batch's first job has an idempotency key, made from the batch's number. */
bool batch_has_key(uint64_t batch);

/* A job as the ledger knows it. */
struct entry {
    struct pawl_job_id id;
    uint64_t batch;
    uint32_t index;
    uint32_t count;
    bool acknowledged;
    bool refused;
    /* as the store had it when the round began; NONE: it was not there */
    enum pawl_state base_state;
    int64_t base_run;
    bool archived;
    /* of this round; a mask has a bit per run */
    bool touched;
    uint64_t claimed, ended, intended;
    int64_t ended_run; /* the newest */
    enum pawl_state ended_to;
    int64_t intended_run;
    enum deed intended_deed;
    int cancels_open; /* cancels without an answer */
    bool cancel_meant;
    bool cancelled;
    int64_t checkpoint_run;
    int64_t checkpoint_sequence;
};

struct ledger {
    struct kit_complaints complaints;
    struct entry **slots; /* open addressing; grows */
    size_t slot_count;
    size_t entry_count;
    struct entry **touched; /* in this round */
    size_t touched_count, touched_room;
    int64_t answers[DEED_END]; /* with success, over all rounds */
    int64_t records;
};

void ledger_init(struct ledger *ledger);
void ledger_release(struct ledger *ledger);
void ledger_note(struct ledger *ledger, const struct record *record);
struct entry *ledger_find(struct ledger *ledger, struct pawl_job_id id);

/* Compare what was touched in this round with the store; what disagrees is a complaint. */
void ledger_judge(struct ledger *ledger, struct pawl__store *store);
/* Compare every job of the store, the archive included, and the statistics. After ledger_judge. */
void ledger_judge_all(struct ledger *ledger, struct pawl__store *store);

const char *deed_name(enum deed deed);

#endif
