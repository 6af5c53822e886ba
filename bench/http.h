/* Load over HTTP: one thread, persistent connections, one request in progress on each. The client
 * does as little as possible, so that the server is measured: one epoll turn for many replies, one
 * read and one write for each, no copies. It understands only replies with a Content-Length, which
 * is all that our servers send. Any status other than 2xx ends the program. */
#ifndef PAWL_BENCH_HTTP_H
#define PAWL_BENCH_HTTP_H

#include "bench.h"

struct pawl__load;

struct pawl__load *pawl__load_open(int port, int connections);
void pawl__load_close(struct pawl__load *load);

struct pawl__load_options {
    int64_t for_us;
    /* The next request of a connection, borrowed until it has been answered; empty: none. */
    struct pawl_span (*next)(void *ctx, int connection);
    void (*answered)(void *ctx, int connection, struct pawl_span body); /* NULL: ignored */
    void *ctx;
};

struct pawl__load_result {
    int64_t answers;
    int64_t us;
    double p50_us, p99_us;
};

/* Ends when all requests have been answered. */
struct pawl__load_result pawl__load_run(struct pawl__load *load,
                                        const struct pawl__load_options *options);

/* One connection, blocking. */
int pawl__http_connect(int port);
void pawl__http_send(int fd, struct pawl_span request);
/* The body of a reply; valid until the next. */
struct pawl_span pawl__http_receive(int fd);

#endif
