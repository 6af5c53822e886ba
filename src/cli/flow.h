/* Shared by the files of `pawl flow`. */
#ifndef PAWL_CLI_FLOW_H
#define PAWL_CLI_FLOW_H

#include "cli/cli.h"

#include <pawl/flow.h>

/* The first `count` operands as ids of flows: in full, or a beginning that only one of the newest
 * flows has. Opens the store. Exit code. */
int pawl__cli_flow_ids(struct pawl__cli *cli, size_t count, struct pawl_job_id **out);
/* Calls `one` for each operand; as pawl__cli_each_id. */
int pawl__cli_each_flow(struct pawl__cli *cli, pawl__cli_id_fn *one, void *ctx);

/* Reads a flow from a file, or from standard input for "-". Exit code. */
int pawl__cli_flow_file(struct pawl__cli *cli, const char *path, struct pawl_flow_spec *out);
/* The id of the node of a flow that has this name. Exit code. */
int pawl__cli_flow_node(struct pawl__cli *cli, struct pawl_job_id flow, const char *name,
                        struct pawl_job_id *out);

extern const struct pawl__shape pawl__cli_flow_shape; /* struct pawl_flow */

bool pawl__cli_flow_ended(const struct pawl_flow *flow);
const char *pawl__cli_flow_colour(const struct pawl__cli *cli, const struct pawl_flow *flow);
/* "completed", and the state's colour around it. */
void pawl__cli_put_flow_state(struct pawl__cli *cli, const struct pawl_flow *flow);

#endif
