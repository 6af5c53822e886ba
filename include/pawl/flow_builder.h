/* Builds a flow node by node, where the graph is made by loops and conditions of a program.
 *
 *     struct pawl_flow_builder *b = pawl_flow_builder_new("nightly");
 *     int32_t extract = pawl_flow_builder_job(b, &(struct pawl_job_spec){ .type = "etl.extract" });
 *     int32_t load = pawl_flow_builder_then(b, extract, &(struct pawl_job_spec){ .type = "etl.load"
 * }); int32_t pages = pawl_flow_builder_batch(b, page_jobs, page_count); pawl_flow_builder_after(b,
 * pages, extract); pawl_flow_builder_callback(b, pages, PAWL_FLOW_ON_FAILURE, &alarm); err =
 * pawl_flow_builder_submit(pawl, b, &id, &diag); pawl_flow_builder_free(b);
 *
 * A node is a number, from 1 in the order in which nodes are added; 0 is none. After an error all
 * calls do nothing and return 0, and submitting reports that first error: so only its result needs
 * to be checked. A builder that is NULL, for want of memory, is such an error too.
 *
 * Structs are copied; the texts, spans and arrays that they point to are borrowed until the builder
 * is freed. A builder belongs to one thread at a time. Nothing here touches a store, except
 * pawl_flow_builder_submit. */
#ifndef PAWL_FLOW_BUILDER_H
#define PAWL_FLOW_BUILDER_H

#include <pawl/flow.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl_flow_builder;

/* `name` as in struct pawl_flow_spec; it may be NULL. NULL: no memory. */
struct pawl_flow_builder *pawl_flow_builder_new(const char *name);
void pawl_flow_builder_free(struct pawl_flow_builder *builder);

/* ---- nodes ---- */

/* Any kind of node. Without a name it gets one from its type or kind and its number. `group` is set
 * by the builder (see pawl_flow_builder_enter); `after` may name nodes that have a name. */
int32_t pawl_flow_builder_node(struct pawl_flow_builder *builder,
                               const struct pawl_flow_node *node);
int32_t pawl_flow_builder_job(struct pawl_flow_builder *builder, const struct pawl_job_spec *job);
/* A job that runs when `parent` has succeeded: a chain is made by several of these. */
int32_t pawl_flow_builder_then(struct pawl_flow_builder *builder, int32_t parent,
                               const struct pawl_job_spec *job);
/* A group, into which further nodes can be put: see pawl_flow_builder_enter. */
int32_t pawl_flow_builder_group(struct pawl_flow_builder *builder);
/* A group of these jobs, which run side by side. */
int32_t pawl_flow_builder_batch(struct pawl_flow_builder *builder, const struct pawl_job_spec *jobs,
                                size_t count);
/* A job that runs if `parent`, often a batch, ended as `on` says, and is skipped otherwise. It is
 * not counted as work. */
int32_t pawl_flow_builder_callback(struct pawl_flow_builder *builder, int32_t parent,
                                   enum pawl_flow_on on, const struct pawl_job_spec *job);
/* A choice among the arms that follow, made when `parent` has succeeded. */
int32_t pawl_flow_builder_branch(struct pawl_flow_builder *builder, int32_t parent,
                                 enum pawl_flow_select select);
/* The next arm of a branch: the job runs if `when` holds for the result of the branch's parent.
 * NULL: it runs if no other arm is taken. */
int32_t pawl_flow_builder_arm(struct pawl_flow_builder *builder, int32_t branch, const char *when,
                              const struct pawl_job_spec *job);

/* Nodes that are added from now on are members of this group; 0: of the flow itself. */
void pawl_flow_builder_enter(struct pawl_flow_builder *builder, int32_t group);

/* ---- edges ---- */

/* `child` runs when `parent` has succeeded, besides what else it comes after. */
void pawl_flow_builder_after(struct pawl_flow_builder *builder, int32_t child, int32_t parent);
/* Any edge; its member `parent` is ignored. */
void pawl_flow_builder_edge(struct pawl_flow_builder *builder, int32_t child, int32_t parent,
                            const struct pawl_flow_edge *edge);

/* ---- the flow ---- */

/* The name of a node, until the builder is freed; NULL: there is no such node. */
const char *pawl_flow_builder_name(const struct pawl_flow_builder *builder, int32_t node);
/* What was built so far, for callers that set further members before pawl_flow_submit. Valid until
 * the next call for this builder. The first error of the calls before: ARG, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_builder_spec(struct pawl_flow_builder *builder,
                                                     struct pawl_flow_spec *out,
                                                     struct pawl_diag *diag);
/* The same, and pawl_flow_submit. The builder can be submitted again, as another flow. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_builder_submit(struct pawl *pawl,
                                                       struct pawl_flow_builder *builder,
                                                       struct pawl_job_id *out,
                                                       struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
