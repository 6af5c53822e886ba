/* The process that is killed: its threads submit, claim and finish as fast as they can, and record
 * their intents and the answers. */
#ifndef PAWL_TESTS_CHILD_H
#define PAWL_TESTS_CHILD_H

#include "crash/ledger.h"

/* How long a claim holds; the parent moves time further than that between rounds. */
#define CHILD_LEASE_MS INT64_C(60000)

struct child_config {
    const char *url;
    int fd; /* records go there */
    int64_t wall_ms;
    uint64_t seed;
    uint32_t round;
    uint32_t child;
    uint32_t jobs_max; /* submitted in all; then they only work */
};

/* Returns when it could not begin, or when nobody reads what it writes. */
int child_run(const struct child_config *config);

#endif
