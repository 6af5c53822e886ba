/* What the files about workflows share. OJS calls a flow a workflow, its nodes steps. */
#ifndef PAWL_HTTP_OJS_WORKFLOWS_H
#define PAWL_HTTP_OJS_WORKFLOWS_H

#include "http/ojs/jobs.h"

/* A flow as it is shown. Zero-initialise; release. */
struct pawl__workflow {
    struct pawl_flows flows; /* one */
    struct pawl_flow_nodes nodes;
};

/* Reads the flow and, if asked for, its nodes. On the pool. False: answered, with 404 if there is
 * none. */
bool pawl__workflow_read(struct pawl__request *request, struct pawl_job_id id, bool nodes,
                         struct pawl__workflow *out);
void pawl__workflow_release(struct pawl__workflow *shown);
/* {"workflow":{...}, and its members again but the steps, up to the closing brace: some clients
 * read the one, some the other. On the pool. */
void pawl__workflow_print_twice(struct pawl__request *request, const struct pawl__workflow *shown);

/* The workflow in the path. False: answered with 404. */
bool pawl__workflow_id(struct pawl__request *request, struct pawl_job_id *out);
bool pawl__workflow_refuse_unknown(struct pawl__request *request, struct pawl_job_id id);

#endif
