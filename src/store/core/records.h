/* Rows of the working set that are no jobs: nodes, locks, and what servers keep.
 *
 * A record is wanted by its key, the first fields of its struct, and read as jobs are. A rule
 * changes it and says so; what changed is written with the rest of the set. A kind may have many
 * records of one key, as edges of a graph have one parent: all of them are read.
 *
 * Kinds are read behind the jobs, those of one load in the order of PAWL__RECORDS. Several loads of
 * a transaction have no order among them, so a kind that settling reads must not wait for records
 * that another transaction has: they are `held`. (The rows of flows are waited for all the same: a
 * batch reads those of all its ends in one load, and a deadlock that is left is done again.) A kind
 * is added here, to PAWL__SET_TABLES and to the .sql files of each store (the statement NAME_load);
 * no store has code for it. Records stay where they are until the set is cleared. */
#ifndef PAWL_STORE_CORE_RECORDS_H
#define PAWL_STORE_CORE_RECORDS_H

#include "store/core/fields.h"
#include "store/core/index.h"

struct pawl__set;

/* A node; NODE_PUT in store.h says what becomes of it. */
struct pawl__node {
    const char *name, *info;
    int64_t started_at_ms; /* grows with each start; a heartbeat with a smaller one is refused */
    int64_t heartbeat_at_ms;
    int64_t alive_until_ms; /* unless another heartbeat comes */
    int64_t lease_ms;       /* as it says itself; 0: it does not say, and is never given up */
};

/* A lock that was released keeps its row, so that its fence goes on growing. */
struct pawl__lock {
    const char *name, *owner;
    int64_t fence, locked_at_ms;
    int64_t expires_at_ms;
};

struct pawl__setting {
    const char *name, *value;
};

/* The idempotency key of a request, not of a job. */
struct pawl__request_key {
    const char *key;
    const char *fingerprint; /* of the request that brought it first */
    int64_t until_ms;
};

/* The next deadline of a job that is to be looked at; the job says which one it is. */
struct pawl__deadline {
    struct pawl_job_id id;
    int64_t at_ms;
};

/* A node that is gone: the leases of its runs that end later than `at_ms` end then. */
struct pawl__gone {
    const char *name;
    int64_t at_ms;
};

/* clang-format off */

/* NAME, member, struct; by how many of its first fields a record is wanted, and by how many it is
 * told apart from all others; the lists of PAWL__SET_TABLES that write it: a new one, a changed
 * one, one that is gone (TABLES: that cannot be). A TURN is a lock for which no transaction
 * waits. */
#ifndef PAWL__RECORDS_MORE /* tests bring records of their own: tests/settle/tables.h */
#define PAWL__RECORDS_MORE(X)
#endif
#define PAWL__RECORDS(X)                                                                           \
    X(NODE, node, pawl__node, 1, 1, TABLE_NODE_NEW, TABLE_NODE_PUT, TABLE_NODE_DROP)               \
    X(LOCK, lock, pawl__lock, 1, 1, TABLE_LOCK_NEW, TABLE_LOCK_PUT, TABLES)                        \
    X(TURN, turn, pawl__lock, 1, 1, TABLE_LOCK_NEW, TABLE_LOCK_PUT, TABLES)                        \
    X(SETTING, setting, pawl__setting, 1, 1, TABLE_SETTING_NEW, TABLE_SETTING_PUT,                 \
      TABLE_SETTING_DROP)                                                                          \
    X(TOKEN, token, pawl_token, 1, 1, TABLE_TOKEN_NEW, TABLE_TOKEN_PUT, TABLES)                    \
    X(SCHEMA, schema, pawl_args_schema, 3, 3, TABLE_SCHEMA_NEW, TABLE_SCHEMA_PUT,                  \
      TABLE_SCHEMA_DROP)                                                                           \
    X(CONFIG, config, pawl_queue_config, 1, 1, TABLE_CONFIG_NEW, TABLE_CONFIG_PUT,                 \
      TABLE_CONFIG_DROP)                                                                           \
    X(REQUEST, request, pawl__request_key, 1, 1, TABLE_REQUEST_NEW, TABLE_REQUEST_PUT, TABLES)     \
    X(DEADLINE, deadline, pawl__deadline, 1, 1, TABLE_DEADLINE_NEW, TABLE_DEADLINE_PUT,            \
      TABLE_DEADLINE_DROP)                                                                         \
    X(FLOW_MEMBER, flow_member, pawl__flow_member, 1, 1, TABLE_FLOW_MEMBER_NEW,                    \
      TABLE_FLOW_MEMBER_PUT, TABLE_FLOW_MEMBER_DROP)                                               \
    X(FLOW, flow, pawl__flow, 1, 1, TABLE_FLOW_NEW, TABLE_FLOW_PUT, TABLE_FLOW_DROP)               \
    X(FLOW_GROUP, flow_group, pawl__flow_group, 2, 2, TABLE_FLOW_GROUP_NEW, TABLE_FLOW_GROUP_PUT,  \
      TABLE_FLOW_GROUP_DROP)                                                                       \
    X(FLOW_EDGE, flow_edge, pawl__flow_edge, 2, 3, TABLE_FLOW_EDGE_NEW, TABLE_FLOW_EDGE_PUT,       \
      TABLE_FLOW_EDGE_DROP)                                                                        \
    X(FLOW_NODE, flow_node, pawl__flow_node, 2, 2, TABLE_FLOW_NODE_NEW, TABLE_FLOW_NODE_PUT,       \
      TABLE_FLOW_NODE_DROP)                                                                        \
    X(FLOW_SIGNAL, flow_signal, pawl__flow_signal, 2, 2, TABLE_FLOW_SIGNAL_NEW,                    \
      TABLE_FLOW_SIGNAL_PUT, TABLE_FLOW_SIGNAL_DROP)                                               \
    X(FLOW_TIMER, flow_timer, pawl__flow_timer, 1, 1, TABLE_FLOW_TIMER_NEW,                        \
      TABLE_FLOW_TIMER_PUT, TABLE_FLOW_TIMER_DROP)                                                 \
    X(SCHEDULE_MEMBER, schedule_member, pawl__schedule_member, 1, 1, TABLE_SCHEDULE_MEMBER_NEW,    \
      TABLE_SCHEDULE_MEMBER_PUT, TABLE_SCHEDULE_MEMBER_DROP)                                       \
    X(SCHEDULE, schedule, pawl__schedule, 1, 1, TABLE_SCHEDULE_NEW, TABLE_SCHEDULE_PUT,            \
      TABLE_SCHEDULE_DROP)                                                                         \
    X(SCHEDULE_PLAN, schedule_plan, pawl__schedule_plan, 1, 1, TABLE_SCHEDULE_PLAN_NEW,            \
      TABLE_SCHEDULE_PLAN_PUT, TABLE_SCHEDULE_PLAN_DROP)                                           \
    PAWL__RECORDS_MORE(X)

/* clang-format on */

#define X(name, ...) PAWL__RECORD_##name,
enum pawl__record_kind { PAWL__RECORDS(X) PAWL__RECORD_KINDS };
#undef X

#define X(name, member, type, ...) struct type member;
union pawl__record_row {
    PAWL__RECORDS(X)
};
#undef X

struct pawl__record_shape {
    size_t keys, ids;
    enum pawl__table added, changed, dropped;
    const struct pawl__set_table *of; /* its struct */
};
extern const struct pawl__record_shape pawl__record_shapes[PAWL__RECORD_KINDS];
/* The first kind that a list writes; NULL: it is none of records. */
const struct pawl__record_shape *pawl__record_shape_of(enum pawl__table list);

struct pawl__record {
    struct pawl__records *of;
    struct pawl__record *next;  /* of the same key, in order of the fields that tell them apart */
    bool stored;                /* it was there when it was read */
    bool there;                 /* it is there now */
    bool changed;               /* to be written, or deleted if it is not there any more */
    union pawl__record_row row; /* texts in the set's arena, or borrowed from an operation */
};

/* All records of one kind and key. */
struct pawl__records {
    enum pawl__record_kind kind;
    bool read;
    bool held; /* by another transaction that is not waited for; nothing is known of them */
    struct pawl__record *first, *last;
    union pawl__record_row key; /* only the first fields are set */
};

struct pawl__record_set {
    struct pawl__records **at; /* in the order in which they were wanted */
    size_t count, cap;
    struct pawl__index by_key;
    struct pawl__list wanted[PAWL__RECORD_KINDS]; /* structs whose key is set; not read yet */
    size_t unread;                                /* of all kinds */
};

/* Those of a key, which is borrowed; they are read before the rule is called again. NULL: no
 * memory, and the set has failed. */
struct pawl__records *pawl__set_want_records(struct pawl__set *set, enum pawl__record_kind kind,
                                             const void *key);
/* The same for a kind that has one record of a key, which is not `there` if there is none. */
struct pawl__record *pawl__set_want_record(struct pawl__set *set, enum pawl__record_kind kind,
                                           const void *key);
/* One more record of a key: a copy of `row`, which will be written. */
struct pawl__record *pawl__records_add(struct pawl__set *set, struct pawl__records *records,
                                       const void *row);
/* For load and scans: there is this one. NULL: no memory, and the set has failed. */
struct pawl__record *pawl__set_record_loaded(struct pawl__set *set, enum pawl__record_kind kind,
                                             const void *row);
/* For load: another transaction has those of this key. */
void pawl__set_record_held(struct pawl__set *set, enum pawl__record_kind kind, const void *key);
/* One that is new, of a key of which the store has none; the first of its key says so. NULL: no
 * memory, and the set has failed. */
struct pawl__record *pawl__set_record_new(struct pawl__set *set, enum pawl__record_kind kind,
                                          const void *row);
/* Changed records go onto the lists of their tables. */
void pawl__records_list(struct pawl__set *set);
/* What was wanted is read; that which was not found is not there. */
void pawl__records_were_read(struct pawl__set *set);
void pawl__records_clear(struct pawl__record_set *records);
void pawl__records_release(struct pawl__record_set *records);

#endif
