/* Routes of queues and dead letters; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_QUEUES_H
#define PAWL_HTTP_ROUTES_QUEUES_H

#define PAWL__ROUTES_QUEUES(X)                                                                     \
    X("GET", "/ojs/v1/queues", queues, READ, WORK, "List the queues")                              \
    X("POST", "/ojs/v1/queues", queue_create, ADMIN, WORK, "Create a queue")                       \
    X("GET", "/ojs/v1/queues/{name}", queue_get, READ, LOOP, "A queue, its counts and settings")   \
    X("GET", "/ojs/v1/queues/{name}/stats", queue_stats, READ, LOOP, "A queue's counts")           \
    X("GET", "/ojs/v1/queues/{name}/config", queue_config, READ, WORK, "A queue's settings")       \
    X("PUT", "/ojs/v1/queues/{name}/config", queue_config_put, ADMIN, LOOP,                        \
      "Set a queue's settings")                                                                    \
    X("POST", "/ojs/v1/queues/{name}/pause", queue_pause, ADMIN, WORK,                             \
      "Hand out no more of a queue's jobs")                                                        \
    X("POST", "/ojs/v1/queues/{name}/resume", queue_resume, ADMIN, WORK,                           \
      "Hand out a queue's jobs again")                                                             \
    X("POST", "/ojs/v1/queues/{name}/purge", queue_purge, ADMIN, WORK,                             \
      "Delete a queue's jobs that have ended")                                                     \
    X("GET", "/ojs/v1/dead-letter", dead_letters, READ, WORK, "List the dead letters")             \
    X("GET", "/ojs/v1/dead-letter/stats", dead_letter_stats, READ, WORK, "Count the dead letters") \
    X("POST", "/ojs/v1/dead-letter/purge", dead_letters_purge, ADMIN, WORK,                        \
      "Forget the dead letters")                                                                   \
    X("POST", "/ojs/v1/dead-letter/{id}/retry", dead_letter_retry, ADMIN, WORK,                    \
      "Run a dead letter again")                                                                   \
    X("DELETE", "/ojs/v1/dead-letter/{id}", dead_letter_delete, ADMIN, WORK, "Forget a dead letter")

#endif
