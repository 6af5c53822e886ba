/* The server's own protocol: what a store that is a server elsewhere (src/store/remote) and the
 * server (src/http/remote) say to each other, as values and as JSON. Both ends use this, so that
 * no member is spelt twice.
 *
 * A request is a POST of one JSON object to one of PAWL__WIRE_PATHS, its reply another. Members are
 * named as the fields of the public structs. What is zero is left out, so an absent member is zero;
 * strings that are "" are left out where the struct's rule is that they are never NULL. Enums
 * travel by name, sets of states as their masks. Payloads that are JSON travel as they stand, but
 * for white space around them.
 *
 * Whoever serves must refuse members that it does not know (`strict`): they are wishes. Whoever
 * asked skips them in replies: they are more than he wanted to know.
 *
 * Pure; any thread. */
#ifndef PAWL_WIRE_H
#define PAWL_WIRE_H

#include "base/shape.h"
#include "wire/flow.h"
#include "wire/ops.h"
#include "wire/schedule.h"

#include <pawl/pawl.h>

enum {
    PAWL__WIRE_PROTOCOL = 1, /* goes up when an old client would misunderstand a new server */
    PAWL__WIRE_DEPTH_MAX = PAWL_JSON_DEPTH_MAX + 8,
    PAWL__WIRE_OPS_MAX = 4096, /* in one request */
    PAWL__WIRE_GET_MAX = 10000 /* ids in one request: as many as a batch may hold */
};

/* NAME, path, what it does; the server's list of routes says which scope it needs. The first three
 * take operations. */
#define PAWL__WIRE_PATHS(X)                                                                        \
    X(SUBMIT, "/pawl/v1/submit", "Submit jobs")                                                    \
    X(WORK, "/pawl/v1/work", "Claim jobs and report on runs")                                      \
    X(ADMIN, "/pawl/v1/admin", "Move and forget jobs, pause queues, take locks")                   \
    X(WAIT, "/pawl/v1/wait", "Wait until there may be more to do")                                 \
    X(HELLO, "/pawl/v1/hello", "Which protocol is spoken here")                                    \
    X(GET, "/pawl/v1/get", "Jobs by their ids")                                                    \
    X(QUERY, "/pawl/v1/query", "Jobs that match")                                                  \
    X(COUNT, "/pawl/v1/count", "Count jobs that match")                                            \
    X(STORY, "/pawl/v1/story", "Everything about one job")                                         \
    X(STATS, "/pawl/v1/stats", "Counts of queues and states")                                      \
    X(NODES, "/pawl/v1/nodes", "The nodes")                                                        \
    X(LOCKS, "/pawl/v1/locks", "The locks")                                                        \
    X(SETTINGS, "/pawl/v1/settings", "Settings that programs keep")                                \
    X(SCHEMAS, "/pawl/v1/schemas", "Schemas of arguments")                                         \
    X(CONFIGS, "/pawl/v1/configs", "The configuration of queues")                                  \
    X(FLOWS, "/pawl/v1/flows", "One flow, or those that match")                                    \
    X(FLOW_NODES, "/pawl/v1/flow-nodes", "The nodes and edges of a flow")                          \
    X(FLOW_INPUTS, "/pawl/v1/flow-inputs", "What the parents of a job left")                       \
    X(SCHEDULES, "/pawl/v1/schedules", "Recurring jobs")                                           \
    X(FIRINGS, "/pawl/v1/firings", "The history of a recurring job")

#define X(name, ...) PAWL__WIRE_PATH_##name,
enum pawl__wire_path { PAWL__WIRE_PATHS(X) PAWL__WIRE_PATH_END };
#undef X

const char *pawl__wire_path_text(enum pawl__wire_path path);

#define X(name, ...) PAWL__WIRE_OP_##name,
enum pawl__wire_op_kind { PAWL__WIRE_OP_NONE = 0, PAWL__WIRE_OPS(X) PAWL__WIRE_OP_LAST };
#undef X

enum pawl__wire_path pawl__wire_op_path(enum pawl__wire_op_kind kind);

/* One operation. Each kind has the members that its form names (PAWL__WIRE_FORM_...). */
struct pawl__wire_op {
    enum pawl__wire_op_kind op;
    const struct pawl_job_spec *jobs; /* SUBMIT: all or none */
    size_t job_count;
    struct pawl_claim claim;
    struct pawl_job_id id; /* of the job; with `run` of the run */
    int64_t run;
    struct pawl_span data; /* JSON: a result, a checkpoint, progress */
    struct pawl_report report;
    int64_t delay_ms;
    const struct pawl_run *runs; /* EXTEND */
    size_t run_count;
    int64_t lease_ms;
    bool timed;
    enum pawl_control control; /* BULK: NONE deletes */
    struct pawl_filter filter;
    int64_t limit;
    struct pawl_by by;
    int32_t priority;
    double value;     /* PROGRESS */
    const char *text; /* PROGRESS, LOG; of a setting, where NULL forgets it; of a node's info; the
                         fingerprint of a request */
    int32_t level;
    const char *name; /* of a node, lock, setting or queue; the key of a request, of a signal; the
                         group of a flow; the worker that a job was routed to */
    int64_t token;    /* ASSIGN, UNROUTE */
    const char *owner;
    int64_t ttl_ms;
    int64_t started_at_ms;
    bool paused;
    bool forgotten;
    enum pawl_flow_signal_kind signal;
    struct pawl_args_schema schema;
    struct pawl_queue_config config;
    struct pawl_flow_spec flow;      /* its jobs and itself have ids */
    enum pawl_flow_control verb;     /* of the flow `id` */
    const struct pawl_job_id *nodes; /* of a flow */
    size_t node_count;
    bool drain;
    bool all_below;
    const struct pawl_schedule_spec *schedules; /* SCHEDULE_PUT: one */
    size_t schedule_count;
    struct pawl_schedule_put_options options; /* of a put; who does it is `by` */
    bool force;
    int64_t version;
    const char *group; /* SCHEDULE_DROP: only if it was declared by it before: */
    int64_t declared_before_ms;
};

struct pawl__wire_ops {
    struct pawl__wire_op *ops;
    size_t count;
};

/* What became of one. */
struct pawl__wire_answer {
    enum pawl_err err;
    const char *field; /* of the diagnosis; NULL: "" */
    const char *text;
    int64_t now_ms;
    const struct pawl_submitted *submitted;
    size_t submitted_count;
    int64_t failed_index; /* counted from 1; 0: none is to blame */
    struct pawl_submitted holder;
    const struct pawl_job *jobs; /* claimed, routed, assigned */
    size_t job_count;
    bool more; /* see struct pawl_jobs */
    struct pawl_failed failed;
    const int32_t *results; /* enum pawl_err of each run */
    size_t result_count;
    enum pawl_state from, to;
    int64_t moved;
    int32_t before;
    int64_t sequence;
    int64_t fence;
    int64_t started_at_ms;     /* NODE_JOIN */
    struct pawl_census census; /* NODE_PUT */
    struct pawl_schedule_put put;
    bool changed;
    struct pawl_schedule_ran ran;
};

struct pawl__wire_answers {
    struct pawl__wire_answer *answers;
    size_t count;
};

/* One question. Each path uses the fields that it needs. */
struct pawl__wire_ask {
    const struct pawl_job_id *ids;
    size_t id_count;
    struct pawl_filter filter;
    struct pawl_page page;
    const char *prefix; /* of settings */
    /* Of schemas, see their filter, or of a queue; NULL: all. Of a schedule. Of what a job of a
     * flow gets: "earlier", "own"; NULL: what its parents left. */
    const char *name;
    bool by_type;
    struct pawl_flow_filter flows;         /* with the page; ids: that flow alone */
    struct pawl_schedule_filter schedules; /* without a name */
    int64_t before, limit;                 /* of FIRINGS */
};

/* A refusal of the whole request. */
struct pawl__wire_refusal {
    enum pawl_err err;
    const char *field;
    const char *text;
};

struct pawl__wire_hello {
    const char *pawl; /* version of the server */
    int64_t protocol; /* PAWL__WIRE_PROTOCOL */
    int64_t body_max; /* bytes of a request */
    int64_t now_ms;   /* the store's time */
};

struct pawl__wire_count {
    int64_t count;
};

/* What has happened so far, as numbers that change; both ways. The reply comes when one of them is
 * another than in the request, or the time is over. */
struct pawl__wire_wait {
    int64_t ready;   /* there may be more to claim */
    int64_t control; /* somebody may have interfered with a job that runs */
    int64_t wait_ms; /* of the request */
};

extern const struct pawl__shape pawl__wire_ops_shape;         /* struct pawl__wire_ops */
extern const struct pawl__shape pawl__wire_op_shape;          /* struct pawl__wire_op */
extern const struct pawl__shape pawl__wire_answers_shape;     /* struct pawl__wire_answers */
extern const struct pawl__shape pawl__wire_answer_shape;      /* struct pawl__wire_answer */
extern const struct pawl__shape pawl__wire_ask_shape;         /* struct pawl__wire_ask */
extern const struct pawl__shape pawl__wire_refusal_shape;     /* struct pawl__wire_refusal */
extern const struct pawl__shape pawl__wire_hello_shape;       /* struct pawl__wire_hello */
extern const struct pawl__shape pawl__wire_count_shape;       /* struct pawl__wire_count */
extern const struct pawl__shape pawl__wire_wait_shape;        /* struct pawl__wire_wait */
extern const struct pawl__shape pawl__wire_jobs_shape;        /* struct pawl_jobs */
extern const struct pawl__shape pawl__wire_story_shape;       /* struct pawl_story */
extern const struct pawl__shape pawl__wire_stats_shape;       /* struct pawl_stats */
extern const struct pawl__shape pawl__wire_nodes_shape;       /* struct pawl_nodes */
extern const struct pawl__shape pawl__wire_locks_shape;       /* struct pawl_locks */
extern const struct pawl__shape pawl__wire_settings_shape;    /* struct pawl_settings */
extern const struct pawl__shape pawl__wire_schemas_shape;     /* struct pawl_args_schemas */
extern const struct pawl__shape pawl__wire_configs_shape;     /* struct pawl_queue_configs */
extern const struct pawl__shape pawl__wire_flows_shape;       /* struct pawl_flows */
extern const struct pawl__shape pawl__wire_flow_nodes_shape;  /* struct pawl_flow_nodes */
extern const struct pawl__shape pawl__wire_flow_inputs_shape; /* struct pawl_flow_inputs */
extern const struct pawl__shape pawl__wire_schedules_shape;   /* struct pawl_schedules */
extern const struct pawl__shape pawl__wire_firings_shape;     /* struct pawl_firings */

/* Appends the struct at `at` as a JSON object. out->failed: no memory. */
void pawl__wire_print(struct pawl__buf *out, const struct pawl__shape *shape, const void *at);
/* The way back: parses `text` and fills in all of the struct at `out`. What it points to lives in
 * `arena`, or is part of `text`. ARG: not JSON, a member that is not of its kind or, when
 * `strict`, that is not known; LIMIT: too deep or, when `strict`, too many; NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__wire_read(struct pawl_span text,
                                              const struct pawl__shape *shape, bool strict,
                                              struct pawl__arena *arena, void *out,
                                              struct pawl_diag *diag);

#endif
