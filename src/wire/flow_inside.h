/* Shared by the readers of flows; other files include flow.h. */
#ifndef PAWL_WIRE_FLOW_INSIDE_H
#define PAWL_WIRE_FLOW_INSIDE_H

#include "wire/flow.h"

/* The whole text of a flow is one document; an option is given on several levels. */
enum { PAWL__FLOW_PATH_BYTES = 48, PAWL__FLOW_JSON_DEPTH_MAX = PAWL_JSON_DEPTH_MAX + 12 };

/* A spec in the making. */
struct pawl__flow_builder {
    const struct pawl__flow_rules *rules;
    struct pawl_diag *diag;
    struct pawl__json json;
    struct pawl_flow_node *nodes;
    size_t count;
    size_t cap;
};

/* Where an object of the text stands: "steps[1].jobs[0]", "" for the whole. */
struct pawl__flow_path {
    char text[PAWL__FLOW_PATH_BYTES];
};
struct pawl__flow_path pawl__flow_member(const char *outer, const char *member);
struct pawl__flow_path pawl__flow_path(const char *outer, const char *member, size_t index);

/* A reader of the object at `path`. */
struct pawl__shape_reader pawl__flow_reader(const struct pawl__flow_builder *builder,
                                            const struct pawl__flow_path *path);
/* Fails with the path of `member`. */
enum pawl_err pawl__flow_refuse(const struct pawl__flow_builder *builder,
                                const struct pawl__flow_path *path, const char *member,
                                const char *rule);
/* A copy of `node` becomes the next one. LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_builder_add(struct pawl__flow_builder *builder,
                                                     const struct pawl_flow_node *node);
/* Reads the job of a node; errors get the path before their field. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_job(const struct pawl__flow_builder *builder,
                                             const struct pawl__flow_path *path,
                                             struct pawl_span text, struct pawl_job_spec *out);

/* What stands in the object of a flow, or of a nested layout; members that are lists as tokens. */
struct pawl__flow_object {
    struct pawl_flow_spec spec;
    const char *type;
    uint32_t nodes, steps, jobs, callbacks, options; /* 0: not there */
};

/* Token 0 is the flow, any other one a nested layout. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_object(const struct pawl__flow_builder *builder,
                                                const struct pawl__flow_path *path, uint32_t token,
                                                struct pawl__flow_object *out);
/* The nodes of a layout whose members have been read; sets spec.layout. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_layout(struct pawl__flow_builder *builder,
                                                struct pawl__flow_object *object);

#endif
