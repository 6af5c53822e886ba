/* Tables of the tests' own, which only a rule of the tests' own knows (joins.c): a job may have to
 * wait for several others. Included before everything else. */
#ifndef TESTS_SETTLE_TABLES_H
#define TESTS_SETTLE_TABLES_H

#include <pawl/job.h>

/* `child` waits for `parent`, which ended as `verdict` says; 0: it has not. */
struct pawl__edge {
    struct pawl_job_id parent, child;
    int64_t verdict;
};

/* For how many others a job waits. */
struct pawl__join {
    struct pawl_job_id child;
    int64_t pending;
};

/* clang-format off */
#define PAWL__EDGE_FIELDS(X)                                                                       \
    X(parent,         parent,         ID)                                                          \
    X(child,          child,          ID)                                                          \
    X(verdict,        verdict,        I64)
#define PAWL__JOIN_FIELDS(X)                                                                       \
    X(child,          child,          ID)                                                          \
    X(pending,        pending,        I64)

#define PAWL__SET_TABLES_MORE(X)                                                                   \
    X(JOIN_NEW,  pawl__join, PAWL__JOIN_FIELDS, false)                                             \
    X(JOIN_PUT,  pawl__join, PAWL__JOIN_FIELDS, false)                                             \
    X(JOIN_DROP, pawl__join, PAWL__JOIN_FIELDS, false)                                             \
    X(EDGE_NEW,  pawl__edge, PAWL__EDGE_FIELDS, false)                                             \
    X(EDGE_PUT,  pawl__edge, PAWL__EDGE_FIELDS, false)

#define PAWL__RECORDS_MORE(X)                                                                      \
    X(JOIN, join, pawl__join, 1, 1, TABLE_JOIN_NEW, TABLE_JOIN_PUT, TABLE_JOIN_DROP)               \
    X(EDGE, edge, pawl__edge, 1, 2, TABLE_EDGE_NEW, TABLE_EDGE_PUT, TABLES)
/* clang-format on */

#define PAWL__SET_FIELDS_MORE                                                                      \
    static const struct pawl__field pawl__edge_fields[] = {                                        \
        PAWL__FIELD(struct pawl__edge, parent, parent, ID),                                        \
        PAWL__FIELD(struct pawl__edge, child, child, ID),                                          \
        PAWL__FIELD(struct pawl__edge, verdict, verdict, I64)                                      \
    };                                                                                             \
    static const struct pawl__field pawl__join_fields[] = {                                        \
        PAWL__FIELD(struct pawl__join, child, child, ID),                                          \
        PAWL__FIELD(struct pawl__join, pending, pending, I64)                                      \
    };

#endif
