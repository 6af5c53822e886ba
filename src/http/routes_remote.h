/* Routes of the protocol between programs of pawl, see wire/wire.h; and routes.h. */
#ifndef PAWL_HTTP_ROUTES_REMOTE_H
#define PAWL_HTTP_ROUTES_REMOTE_H

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
    X("POST", "/pawl/v1/settings", remote_settings, ADMIN, WORK, "pawl: what programs keep")

#endif
