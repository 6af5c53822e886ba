/* The protocol between programs of pawl (wire/wire.h): the server's half. Its door: the list of its
 * routes, and the component that keeps programs waiting for more to do. On the loop. */
#ifndef PAWL_HTTP_REMOTE_REMOTE_H
#define PAWL_HTTP_REMOTE_REMOTE_H

#include "http/transport/transport.h"

struct pawl__remote;

struct pawl__remote *pawl__remote_new(void); /* NULL: no memory */
void pawl__remote_free(struct pawl__remote *remote);
/* Answer the requests whose time is over. */
void pawl__remote_tick(struct pawl__server *server);
/* Answer all. */
void pawl__remote_drain(struct pawl__server *server);
void pawl__remote_moved(struct pawl__server *server, const struct pawl_moved *moved);
void pawl__remote_ready(struct pawl__server *server, bool foreign);

/* See routes.h. */
#define PAWL__ROUTES_REMOTE(X)                                                                     \
    X("POST", "/pawl/v1/work", remote_work, WORK, WORK, "pawl: claim jobs, report on runs")        \
    X("POST", "/pawl/v1/submit", remote_submit, SUBMIT, WORK, "pawl: submit jobs")                 \
    X("POST", "/pawl/v1/admin", remote_admin, ADMIN, WORK, "pawl: control jobs, queues, locks")    \
    X("POST", "/pawl/v1/wait", remote_wait, WORK, LOOP, "pawl: wait for more to do")               \
    X("GET", "/pawl/v1/hello", remote_hello, NONE, LOOP, "pawl: which protocol is spoken here")    \
    X("POST", "/pawl/v1/get", remote_get, READ, WORK, "pawl: jobs by their ids")                   \
    X("POST", "/pawl/v1/query", remote_query, READ, WORK, "pawl: jobs that match")                 \
    X("POST", "/pawl/v1/count", remote_count, READ, WORK, "pawl: how many jobs match")             \
    X("POST", "/pawl/v1/story", remote_story, READ, WORK, "pawl: everything about a job")          \
    X("POST", "/pawl/v1/stats", remote_stats, READ, WORK, "pawl: counts of queues and states")     \
    X("POST", "/pawl/v1/nodes", remote_nodes, READ, WORK, "pawl: the nodes")                       \
    X("POST", "/pawl/v1/locks", remote_locks, READ, WORK, "pawl: the locks")                       \
    X("POST", "/pawl/v1/settings", remote_settings, ADMIN, WORK, "pawl: what programs keep")       \
    X("POST", "/pawl/v1/schemas", remote_schemas, READ, WORK, "pawl: schemas of arguments")        \
    X("POST", "/pawl/v1/configs", remote_configs, READ, WORK, "pawl: configuration of queues")     \
    X("POST", "/pawl/v1/flows", remote_flows, READ, WORK, "pawl: flows")                           \
    X("POST", "/pawl/v1/flow-nodes", remote_flow_nodes, READ, WORK, "pawl: nodes of a flow")       \
    X("POST", "/pawl/v1/flow-inputs", remote_flow_inputs, READ, WORK, "pawl: what parents left")   \
    X("POST", "/pawl/v1/schedules", remote_schedules, READ, WORK, "pawl: recurring jobs")          \
    X("POST", "/pawl/v1/firings", remote_firings, READ, WORK, "pawl: history of a recurring job")

PAWL__ROUTES_REMOTE(PAWL__DECLARE_HANDLER)

#endif
