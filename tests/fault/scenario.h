/* A fixed sequence of operations on a store that continues after every failure, records the
 * results, and checks the store at the end.
 *
 * open; submit alone, with a key, and five at once; claim; complete, fail, snooze, cancel; put a
 * setting; archive; read; back up; close; open again; submit; make due jobs available.
 *
 * It requires:
 * 1. What succeeded is there afterwards.
 * 2. What failed has an error that says why, and took effect wholly or not at all.
 * 3. After a failure that leaves the file in doubt the next write is refused as unsafe, and the
 *    first that succeeds does so after the store was reopened.
 * 4. At the end the store opens, its check finds nothing, and it works. */
#ifndef PAWL_TESTS_SCENARIO_H
#define PAWL_TESTS_SCENARIO_H

#include "crash/kit.h"

enum { SCENARIO_JOBS = 9, SCENARIO_ERRORS_MAX = 64 };

struct scenario_job {
    bool asked;      /* a submit was sent */
    bool promised;   /* ... and answered with success */
    uint32_t states; /* where it may be, given what was answered and what failed */
    int64_t run;     /* of a claim that was answered */
    bool ours;       /* that claim was not ended yet */
};

struct scenario {
    struct kit_complaints *complaints;
    char name[96]; /* of this run, for complaints */
    char path[KIT_PATH_BYTES];
    char url[KIT_PATH_BYTES];
    struct kit_clock clock;
    struct kit_retry retry;
    struct pawl__store *store;
    uint32_t errors_allowed; /* a bit per enum pawl_err */
    struct scenario_job jobs[SCENARIO_JOBS];
    bool setting_asked, setting_promised;
    char copy_path[KIT_PATH_BYTES + 8];
    bool copied;                     /* a backup was made ... */
    bool copied_jobs[SCENARIO_JOBS]; /* ... that these must be in */
    int64_t failures;                /* operations that did not succeed */
    bool in_doubt;
    int64_t reopened_before;
};

/* Opening is tried so often; a lasting fault defeats all of them. */
enum { SCENARIO_OPENINGS = 3 };

/* `complaints` is borrowed. The file is removed first. Allocates; nothing later does. */
void scenario_init(struct scenario *scenario, struct kit_complaints *complaints, const char *path);
void scenario_release(struct scenario *scenario);
/* The walk. Leaves the store open, or NULL when it cannot be opened. */
void scenario_run(struct scenario *scenario);
/* Closes it. */
void scenario_close(struct scenario *scenario);
/* With all faults gone: opens, judges, works a little, closes. */
void scenario_judge(struct scenario *scenario);

#endif
