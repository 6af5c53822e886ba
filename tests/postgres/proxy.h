/* A proxy between a store and its server that can be closed at any moment. It listens on a Unix
 * socket in a directory of its own and forwards the data of both sides. */
#ifndef PAWL_TESTS_POSTGRES_PROXY_H
#define PAWL_TESTS_POSTGRES_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum proxy_mode {
    PROXY_PASS,
    PROXY_CUT_AT_ONCE,       /* when the store next says something */
    PROXY_CUT_BEFORE_COMMIT, /* the server never hears the COMMIT */
    PROXY_CUT_AFTER_COMMIT,  /* the store never hears the answer to it */
    PROXY_SHUT               /* cut everything, let nobody in */
};

struct proxy {
    char dir[64];    /* what a URL names as host */
    char server[96]; /* the server's socket */
    int listener;
    pthread_t thread;
    _Atomic int mode; /* a cut is made once, then it is */
    _Atomic int then; /* this: PASS, unless a test says otherwise */
    _Atomic int cuts;
    _Atomic int open; /* connections under way */
    _Atomic int closing;
};

/* `server_dir` holds the server's socket. */
void proxy_open(struct proxy *proxy, const char *server_dir);
void proxy_close(struct proxy *proxy);

#endif
