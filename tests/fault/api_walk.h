/* Like the scenario, but through <pawl/pawl.h>: every call at least once, continuing after every
 * failure, with a record of the results. */
#ifndef PAWL_TESTS_API_WALK_H
#define PAWL_TESTS_API_WALK_H

#include "crash/kit.h"

#include <pawl/pawl.h>

enum { API_WALK_JOBS = 6 };

struct api_walk {
    struct kit_complaints *complaints;
    char name[96];
    char url[KIT_PATH_BYTES];
    char path[KIT_PATH_BYTES];
    struct kit_clock clock;
    struct pawl *pawl;
    bool promised[API_WALK_JOBS];
    uint32_t states[API_WALK_JOBS]; /* where it may be */
    int64_t failures;
};

void api_walk_init(struct api_walk *walk, struct kit_complaints *complaints, const char *path);
/* Opens, walks, closes. */
void api_walk_run(struct api_walk *walk);
/* With memory back: opens, judges, closes. */
void api_walk_judge(struct api_walk *walk);

#endif
