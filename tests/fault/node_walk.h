/* A node while memory runs out: it may do less, but neither crashes nor loses jobs. First its turns
 * are run by the test, so that a run can be repeated; then once with its threads. */
#ifndef PAWL_TESTS_NODE_WALK_H
#define PAWL_TESTS_NODE_WALK_H

#include "crash/kit.h"

#include <pawl/pawl.h>

enum { NODE_WALK_JOBS = 12 };

struct node_walk {
    struct kit_complaints *complaints;
    char name[96];
    char url[KIT_PATH_BYTES];
    struct kit_clock clock;
    struct pawl *pawl;
    struct pawl_job_id ids[NODE_WALK_JOBS]; /* of those that were promised */
    size_t promised;
    atomic_int_least64_t failures;
    atomic_int_least64_t heard;
};

void node_walk_init(struct node_walk *walk, struct kit_complaints *complaints, const char *path);
/* Opens, works for a while, closes. */
void node_walk_run(struct node_walk *walk);
/* With memory back: a node finishes what is left, and all that was promised has ended. */
void node_walk_judge(struct node_walk *walk);

#endif
