/* A gate between a store and its server: while it is closed, what the store's writer sends stops
 * before it, one round trip at a time, and goes on when a test says so. Readers and others pass.
 * It has a thread for each connection. */
#ifndef PAWL_TESTS_GATE_H
#define PAWL_TESTS_GATE_H

#include <pthread.h>
#include <stdbool.h>

struct gate {
    char dir[64];    /* what a URL names as host */
    char server[64]; /* where the server's socket is */
    int listener;
    pthread_t thread;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* guarded by mutex: */
    bool closed;
    bool waiting; /* a round trip stands before the gate */
    bool granted; /* it may pass */
    bool closing;
    int open; /* connections under way */
};

/* `server_dir` holds the server's socket. */
void gate_open(struct gate *gate, const char *server_dir);
void gate_close(struct gate *gate);

/* From now on the writer stops (shut) or passes. */
void gate_set(struct gate *gate, bool shut);
bool gate_waiting(struct gate *gate);
/* Let through what waits. */
void gate_pass(struct gate *gate);
/* Until something stands before the gate, or `us` are over. */
bool gate_await(struct gate *gate, long us);

#endif
