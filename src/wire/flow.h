/* A flow as people write it: JSON to struct pawl_flow_spec. Two forms are read:
 *
 *     {"name": "nightly", "nodes": [{"name": "load", "type": "etl.load", "after": ["extract"]},
 * ...]}
 *     {"type": "chain", "steps": [{"type": "etl.extract", "args": []}, ...]}
 *
 * The first says everything that the struct can; docs/flows.md describes its members. The second is
 * a layout of the Open Job Spec: a chain, a group or a batch, nested up to PAWL__FLOW_NESTING_MAX
 * levels, or steps with "depends_on". It is compiled to nodes and edges:
 *
 * - a step of a chain is below the step before it;
 * - a nested layout is a group whose members are its steps;
 * - the jobs of a batch are a group "jobs", its callbacks are below that;
 * - a step is named by its "id", else by its place: "0", "1", in a nested layout "1.0".
 *
 * What is read is in order as JSON; whether the nodes make a graph (unknown names, cycles, ...) is
 * checked at submission.
 *
 * Pure; any thread. */
#ifndef PAWL_WIRE_FLOW_H
#define PAWL_WIRE_FLOW_H

#include "base/arena.h"
#include "base/shape.h"

#include <pawl/flow.h>

enum { PAWL__FLOW_NESTING_MAX = 3 };

/* The words of the enums of <pawl/flow.h>. */
extern const struct pawl__words pawl__flow_kind_words, pawl__flow_on_words, pawl__flow_join_words,
    pawl__flow_parent_words, pawl__flow_select_words, pawl__flow_state_words,
    pawl__flow_control_words, pawl__flow_signal_words, pawl__flow_unsignalled_words;

/* Reads the job of a node from `text`, an object with those members that are not the node's, into
 * `out`, which is zero. `text` lives as long as the arena. `path` is where it stands: "steps[1]".
 * Called in the order of the nodes. */
typedef enum pawl_err pawl__flow_job_fn(void *ctx, const char *path, struct pawl_span text,
                                        struct pawl_job_spec *out, struct pawl_diag *diag);

struct pawl__flow_rules {
    pawl__flow_job_fn *job;
    void *ctx;
    struct pawl__arena *arena; /* for all that is returned */
    int64_t now_ms;            /* base of instants such as "+1h" */
    bool lenient;              /* unknown members of the flow itself are ignored [refused] */
};

/* Borrows `text` for as long as `out` is used. ARG: diag->field is the path of the member, such as
 * "steps[1].depends_on". LIMIT: nested too deep, too many nodes. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_read(struct pawl_span text,
                                              const struct pawl__flow_rules *rules,
                                              struct pawl_flow_spec *out, struct pawl_diag *diag);
/* The same of a text that has been parsed. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_read_json(const struct pawl__json *json,
                                                   const struct pawl__flow_rules *rules,
                                                   struct pawl_flow_spec *out,
                                                   struct pawl_diag *diag);

#endif
