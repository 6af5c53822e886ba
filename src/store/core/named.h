/* Rows of the working set that have a name: nodes, locks, settings, tokens.
 *
 * A rule wants a row by its name, has it read like a job's, changes it and says so; what changed is
 * written with the rest of the set. A row stays where it is until the set is cleared. */
#ifndef PAWL_STORE_CORE_NAMED_H
#define PAWL_STORE_CORE_NAMED_H

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

/* A node that is gone: the leases of its runs that end later than `at_ms` end then. */
struct pawl__gone {
    const char *name;
    int64_t at_ms;
};

enum pawl__named_kind {
    PAWL__NAMED_NODE,
    PAWL__NAMED_LOCK,
    PAWL__NAMED_SETTING,
    PAWL__NAMED_TOKEN,
    PAWL__NAMED_KINDS
};

/* Any of them; all begin with their name; a token's is its id. */
union pawl__named_row {
    const char *name;
    struct pawl__node node;
    struct pawl__lock lock;
    struct pawl__setting setting;
    struct pawl_token token;
};

struct pawl__named {
    enum pawl__named_kind kind;
    bool read;    /* or never asked for */
    bool turn;    /* a lock that its transaction does not wait for */
    bool held;    /* that is so: another transaction has it, and nothing is known of it */
    bool stored;  /* there was one when it was read */
    bool there;   /* there is one now */
    bool changed; /* to be written, or deleted if it is not there any more */
    union pawl__named_row row; /* texts in the set's arena, or borrowed from an operation */
};

struct pawl__named_rows {
    struct pawl__named **at;
    size_t count, cap;
    size_t unread; /* how many are wanted and were not read */
    struct pawl__index by_name;
};

/* The fields of a kind. */
const struct pawl__set_table *pawl__named_table(enum pawl__named_kind kind);

/* The row of a name, which is borrowed; it is read before the rule is called again. */
struct pawl__named *pawl__set_want_named(struct pawl__set *set, enum pawl__named_kind kind,
                                         const char *name);
/* The same for a lock by which nodes take turns. If another transaction has locked its row it is
 * `held`: that is another's turn, even if the node is suspended. */
struct pawl__named *pawl__set_want_turn(struct pawl__set *set, const char *name);
/* The same without reading it: it will be overwritten or deleted, whatever there is. */
struct pawl__named *pawl__set_name(struct pawl__set *set, enum pawl__named_kind kind,
                                   const char *name);
/* For load and scans: there is this row. The copy in the set; NULL: no memory, and the set has
 * failed. */
struct pawl__named *pawl__set_named_loaded(struct pawl__set *set, enum pawl__named_kind kind,
                                           const union pawl__named_row *row);
/* For load: another transaction has the lock of this name, which is a turn. */
void pawl__set_named_held(struct pawl__set *set, const char *name);
/* Changed rows go onto the lists of their tables. */
void pawl__named_list(struct pawl__set *set);
/* What was wanted is read; that which was not found is not there. */
void pawl__named_were_read(struct pawl__set *set);
void pawl__named_clear(struct pawl__named_rows *names);
void pawl__named_release(struct pawl__named_rows *names);

#endif
