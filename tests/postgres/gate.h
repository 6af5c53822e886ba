/* A gate between a store and its server. While it is closed, the messages of the store's writer are
 * stopped, one round trip at a time, until the test lets them pass or drops them. Readers and other
 * connections pass. It has a thread for each connection. */
#ifndef PAWL_TESTS_GATE_H
#define PAWL_TESTS_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* What becomes of a round trip that stands before the gate. */
enum gate_fate {
    GATE_PASS,
    GATE_LOSE_REQUEST, /* the server never hears it: the connection is cut */
    GATE_LOSE_ANSWER,  /* the server has done it and said so; nobody hears that */
    GATE_LOSE_SIGHT    /* the connection is cut while the server may still be at it */
};

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
    bool granted; /* it may go on */
    bool roused;
    enum gate_fate fate; /* of what waits, once it is granted */
    int trips;           /* that came by */
    bool closing;
    int open; /* connections under way */
};

/* `server_dir` holds the server's socket. */
void gate_open(struct gate *gate, const char *server_dir);
void gate_close(struct gate *gate);
/* A store's URL, led through the gate; `more` is added to its options. */
void gate_url(const struct gate *gate, const char *url, const char *more, char *out, size_t size);

/* From now on the writer stops (shut) or passes. */
void gate_set(struct gate *gate, bool shut);
bool gate_waiting(struct gate *gate);
/* How many round trips of the writer came by so far. */
int gate_trips(struct gate *gate);
/* Let through what waits. */
void gate_pass(struct gate *gate);
/* What waits meets its fate, and from now on the writer passes. */
void gate_end(struct gate *gate, enum gate_fate fate);
/* Until something stands before the gate, somebody rouses who waits here, or `us` are over. */
bool gate_await(struct gate *gate, long us);
void gate_rouse(struct gate *gate);

#endif
