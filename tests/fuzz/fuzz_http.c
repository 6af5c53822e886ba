/* What holds for any bytes that a client sends to the server, whole or in two pieces:
 *
 * 1. if they hold anything but blank lines, there is an answer, and it is HTTP;
 * 2. the connection ends when the client has nothing more to say: nothing hangs;
 * 3. nothing is left behind: no connection, no request under way, no byte of a body.
 *
 * The server is the real one, on a store in memory, driven by this thread. */
#include "fuzz.h"
#include "http/transport/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 20000, ANSWER_BYTES = 12 };

static struct pawl__server *server;
static struct sockaddr_in address;

static void open_server(void)
{
    static struct pawl *pawl;
    struct pawl_config config = { .store = "sqlite::memory:" };
    int len = sizeof address;
    must(!pawl_open(&config, &pawl, NULL));
    struct pawl__http_config http = { .pawl = pawl, .listen = "127.0.0.1:0", .log_level = 3 };
    must(!pawl__http_open(&http, &server, NULL));
    must(!uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &len));
}

/* Each connection comes from another address: the ports of one would soon be used up. libFuzzer's
 * alarm may interrupt a call that blocks, so none does but poll(), which is called again. */
static int connect_client(void)
{
    static uint32_t count;
    struct sockaddr_in own = { .sin_family = AF_INET };
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(client >= 0);
    own.sin_addr.s_addr = htonl(0x7f010000 | (count++ & 0xffff));
    must(!bind(client, (struct sockaddr *)&own, sizeof own));
    if (connect(client, (struct sockaddr *)&address, sizeof address)) {
        struct pollfd waiting = { .fd = client, .events = POLLOUT };
        int error = 0;
        must(errno == EINPROGRESS);
        while (poll(&waiting, 1, -1) < 0) {
            must(errno == EINTR);
        }
        must(!getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){ sizeof error }));
        must(!error);
    }
    return client;
}

/* One turn of the loop, and what has come for the client. False: the server has closed. */
static bool turn(int client, char answer[ANSWER_BYTES], size_t *len)
{
    char piece[65536];
    uv_run(&server->loop, UV_RUN_NOWAIT);
    pawl__conns_tick(server);
    ssize_t got = recv(client, piece, sizeof piece, 0);
    if (got < 0 && errno == EAGAIN) {
        struct pollfd waiting = { .fd = client, .events = POLLIN };
        poll(&waiting, 1, server->working ? 1 : 0); // another thread has it
        return true;
    }
    for (ssize_t i = 0; i < got && *len < ANSWER_BYTES; i++) {
        answer[(*len)++] = piece[i];
    }
    return got > 0;
}

static bool send_all(int client, const uint8_t *data, size_t size, char *answer, size_t *len)
{
    while (size) {
        ssize_t sent = send(client, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return false;
        if (sent > 0) {
            data += sent;
            size -= (size_t)sent;
        }
        if (!turn(client, answer, len)) return false;
    }
    return true;
}

static bool is_blank(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\r' && data[i] != '\n') return false;
    }
    return true;
}

static void talk(const uint8_t *data, size_t size, size_t first)
{
    char answer[ANSWER_BYTES];
    size_t len = 0;
    int client = connect_client(), turns = 0;
    bool open = send_all(client, data, first, answer, &len) &&
                send_all(client, data + first, size - first, answer, &len);
    shutdown(client, SHUT_WR);
    while (open && turns++ < TURNS_MAX) {
        open = turn(client, answer, &len);
    }
    must(!open);
    close(client);
    for (turns = 0; (server->conns || server->working) && turns < TURNS_MAX; turns++) {
        uv_run(&server->loop, UV_RUN_NOWAIT);
        if (server->working) usleep(100);
    }
    must(!server->conns && !server->working && !server->body_bytes);
    if (is_blank(data, size)) return;
    must(len == ANSWER_BYTES && memcmp(answer, "HTTP/1.1 ", 9) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!server) open_server();
    talk(data, size, size);
    if (size) talk(data, size, data[size / 2] % size);
    return 0;
}
