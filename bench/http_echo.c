/* pawl_echo: measures the cost of HTTP on libuv and llhttp (strict) alone. Answers every request
 * with its own body; the floor of the server's measurements. One thread, one loop. */
#include <llhttp.h>
#include <uv.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 65536, BODY_BYTES_MAX = 65536, BACKLOG = 4096 };

struct conn {
    uv_tcp_t tcp;
    llhttp_t parser;
    size_t len;
    char body[];
};

static char read_buffer[READ_BYTES]; /* the loop's thread alone */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_conn(struct conn *conn)
{
    if (!uv_is_closing((uv_handle_t *)&conn->tcp)) uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static int on_message_begin(llhttp_t *parser)
{
    struct conn *conn = parser->data;
    conn->len = 0;
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct conn *conn = parser->data;
    if (len > BODY_BYTES_MAX - conn->len) return -1;
    memcpy(conn->body + conn->len, at, len);
    conn->len += len;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct conn *conn = parser->data;
    char head[128];
    const int len =
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", conn->len);
    uv_buf_t bufs[] = { uv_buf_init(head, (unsigned)len),
                        uv_buf_init(conn->body, (unsigned)conn->len) };
    const int sent = uv_try_write((uv_stream_t *)&conn->tcp, bufs, 2);
    return sent == len + (int)conn->len ? 0 : -1; // so little always fits, unless the client does
                                                  // not read
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle, (void)suggested;
    *out = uv_buf_init(read_buffer, sizeof read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;
    if (len < 0 || llhttp_execute(&conn->parser, buf->base, (size_t)len) != HPE_OK) {
        close_conn(conn);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct conn *conn = status ? NULL : malloc(sizeof *conn + BODY_BYTES_MAX);
    if (!conn) exit(1);
    uv_tcp_init(listener->loop, &conn->tcp);
    conn->tcp.data = conn;
    llhttp_init(&conn->parser, HTTP_REQUEST, &settings);
    conn->parser.data = conn;
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) || uv_tcp_nodelay(&conn->tcp, 1) ||
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read)) {
        close_conn(conn);
    }
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

/* Prints the address as `pawl serve` does. */
static bool say_where(const uv_tcp_t *listener)
{
    struct sockaddr_in address;
    int len = sizeof address;
    if (uv_tcp_getsockname(listener, (struct sockaddr *)&address, &len)) return false;
    printf("serving http://127.0.0.1:%d\n", ntohs(address.sin_port));
    return fflush(stdout) == 0;
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    uv_signal_t terminate;
    struct sockaddr_in address;
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &listener);
    uv_signal_init(loop, &terminate);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0) ||
        uv_listen((uv_stream_t *)&listener, BACKLOG, on_connection) ||
        uv_signal_start(&terminate, on_signal, SIGTERM) || !say_where(&listener)) {
        fputs("pawl_echo: could not listen\n", stderr);
        return 1;
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
