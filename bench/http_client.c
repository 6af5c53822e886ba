/* The client: see http.h. */
#include "http.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_BYTES_MAX = 1024 * 1024, SAMPLES_MAX = 1 << 20, EVENTS = 256 };

struct connection {
    int fd;
    int64_t asked_us;
    struct pawl_span unsent;
    char *part; /* of a reply that arrived in pieces; room for the longest */
    size_t part_len;
};

struct pawl__load {
    int epoll;
    int count;
    int under_way;
    char *buffer; /* for a reply that arrives in one piece */
    int32_t *samples_us;
    int64_t answers;
    struct connection at[];
};

/* ---- replies ---- */

/* Size of the whole reply that begins at `at`; 0: incomplete. Sets its body. */
static size_t reply_size(const char *at, size_t len, struct pawl_span *body)
{
    static const char end[] = "\r\n\r\n", length[] = "\r\nContent-Length: ";
    const char *head_end = memmem(at, len, end, sizeof end - 1);
    if (!head_end) return 0;
    const size_t head = (size_t)(head_end - at) + sizeof end - 1;
    if (memcmp(at, "HTTP/1.1 2", 10)) pawl__bench_die("the server said: %.*s", (int)len, at);
    const char *number = memmem(at, head, length, sizeof length - 1);
    if (!number) pawl__bench_die("a reply without a length");
    *body = (struct pawl_span){ at + head, strtoul(number + sizeof length - 1, NULL, 10) };
    return len >= head + body->len ? head + body->len : 0;
}

static ssize_t read_some(int fd, char *at, size_t room)
{
    const ssize_t got = recv(fd, at, room, 0);
    if (got > 0) return got;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    pawl__bench_die("the server closed a connection: %s", got < 0 ? strerror(errno) : "its end");
}

/* ---- one connection ---- */

int pawl__http_connect(int port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr = { htonl(INADDR_LOOPBACK) } };
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        pawl__bench_die("could not connect: %m");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void pawl__http_send(int fd, struct pawl_span request)
{
    while (request.len > 0) {
        const ssize_t sent = send(fd, request.at, request.len, MSG_NOSIGNAL);
        if (sent < 0) pawl__bench_die("could not send: %m");
        request = (struct pawl_span){ request.at + sent, request.len - (size_t)sent };
    }
}

struct pawl_span pawl__http_receive(int fd)
{
    static char reply[REPLY_BYTES_MAX];
    struct pawl_span body;
    size_t len = 0;
    do {
        if (len == sizeof reply) pawl__bench_die("a reply is too long");
        len += (size_t)read_some(fd, reply + len, sizeof reply - len);
    } while (!reply_size(reply, len, &body));
    return body;
}

/* ---- many ---- */

struct pawl__load *pawl__load_open(int port, int connections)
{
    struct pawl__load *load =
        pawl__bench_calloc(1, sizeof *load + (size_t)connections * sizeof *load->at);
    load->count = connections;
    load->buffer = pawl__bench_calloc(1, REPLY_BYTES_MAX);
    load->samples_us = pawl__bench_calloc(SAMPLES_MAX, sizeof *load->samples_us);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < connections; i++) {
        struct connection *connection = &load->at[i];
        // edge-triggered: a reply is read to its end, and nothing arrives before the next request
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data = { .u32 = i } };
        connection->fd = pawl__http_connect(port);
        if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event)) {
            pawl__bench_die("could not watch a connection: %m");
        }
    }
    return load;
}

void pawl__load_close(struct pawl__load *load)
{
    for (int i = 0; i < load->count; i++) {
        close(load->at[i].fd);
        free(load->at[i].part);
    }
    close(load->epoll);
    free(load->buffer);
    free(load->samples_us);
    free(load);
}

static void send_some(struct connection *connection)
{
    const struct pawl_span left = connection->unsent;
    const ssize_t sent = send(connection->fd, left.at, left.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
        connection->unsent = (struct pawl_span){ left.at + sent, left.len - (size_t)sent };
    } else if (errno != EAGAIN && errno != EINTR) {
        pawl__bench_die("could not send: %m");
    }
}

static void ask(struct pawl__load *load, const struct pawl__load_options *options, int i,
                int64_t now_us)
{
    struct connection *connection = &load->at[i];
    connection->unsent = options->next(options->ctx, i);
    if (!connection->unsent.len) return;
    connection->asked_us = now_us;
    load->under_way++;
    send_some(connection);
}

/* Reads what is available; the whole reply, or empty while it is incomplete. Its body is borrowed
 * until the next call. */
static bool take(struct pawl__load *load, struct connection *connection, struct pawl_span *body)
{
    if (!connection->part_len) {
        const ssize_t got = recv(connection->fd, load->buffer, REPLY_BYTES_MAX, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) return false; // the event was for writing only
        if (got <= 0) pawl__bench_die("the server closed a connection");
        if (reply_size(load->buffer, (size_t)got, body)) return true;
        if (!connection->part) connection->part = pawl__bench_calloc(1, REPLY_BYTES_MAX);
        memcpy(connection->part, load->buffer, (size_t)got);
        connection->part_len = (size_t)got;
    }
    for (;;) {
        const ssize_t got = recv(connection->fd, connection->part + connection->part_len,
                                 REPLY_BYTES_MAX - connection->part_len, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) return false;
        if (got <= 0) pawl__bench_die("the server closed a connection");
        connection->part_len += (size_t)got;
        if (reply_size(connection->part, connection->part_len, body)) break;
    }
    connection->part_len = 0;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static struct pawl__load_result result_of(struct pawl__load *load, int64_t us)
{
    const int64_t count = load->answers < SAMPLES_MAX ? load->answers : SAMPLES_MAX;
    qsort(load->samples_us, (size_t)count, sizeof *load->samples_us, by_size);
    return (struct pawl__load_result){
        .answers = load->answers,
        .us = us,
        .p50_us = count ? load->samples_us[count / 2] : 0,
        .p99_us = count ? load->samples_us[count - 1 - count / 100] : 0,
    };
}

struct pawl__load_result pawl__load_run(struct pawl__load *load,
                                        const struct pawl__load_options *options)
{
    struct epoll_event events[EVENTS];
    const int64_t start_us = pawl__bench_now_us();
    int64_t now_us = start_us;
    load->answers = 0;
    for (int i = 0; i < load->count; i++) {
        ask(load, options, i, now_us);
    }
    while (load->under_way) {
        const int count = epoll_wait(load->epoll, events, EVENTS, -1);
        for (int k = 0; k < count; k++) {
            const int i = (int)events[k].data.u32;
            struct connection *connection = &load->at[i];
            struct pawl_span body;
            if (connection->unsent.len) send_some(connection);
            if (!(events[k].events & EPOLLIN) || !take(load, connection, &body)) continue;
            now_us = pawl__bench_now_us();
            load->samples_us[load->answers++ % SAMPLES_MAX] =
                (int32_t)(now_us - connection->asked_us);
            load->under_way--;
            if (options->answered) options->answered(options->ctx, i, body);
            if (now_us - start_us < options->for_us) ask(load, options, i, now_us);
        }
    }
    return result_of(load, now_us - start_us);
}
