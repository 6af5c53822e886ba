/* Events of workflows. When a step moves, which workflow it is of and how that stands are read from
 * the store, on the pool, some steps at a time: so these events come a moment after those of the
 * jobs. As all events, they are of what this process does. The end of a workflow is told once. */
#ifndef PAWL_HTTP_EVENTS_WORKFLOWS_H
#define PAWL_HTTP_EVENTS_WORKFLOWS_H

#include "http/transport/transport.h"

struct pawl__workflows;

struct pawl__workflows *pawl__workflows_new(struct pawl__server *server); /* NULL: no memory */
void pawl__workflows_free(struct pawl__workflows *workflows);             /* NULL is fine */
/* On the loop: a job has moved. False: there are so many that this one is not told of. */
bool pawl__workflow_moved(struct pawl__workflows *workflows, const struct pawl_moved *moved);

#endif
