#include "postgres/proxy.h"

#include <ctype.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct link {
    struct proxy *proxy;
    int store, server;
    char commit[16]; /* the name under which the store has prepared COMMIT; "" not yet */
};

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

/* A statement's name stands before its text: p, digits, NUL. */
static void learn_name(struct link *link, const char *bytes, size_t len)
{
    const char *text = memmem(bytes, len, "\0COMMIT", 7);
    if (text == NULL) return;
    const char *name = text;
    while (name > bytes && isdigit((unsigned char)name[-1]))
        name--;
    if (name == bytes || name[-1] != 'p') return;
    snprintf(link->commit, sizeof link->commit, "%.*s", (int)(text - name + 1), name - 1);
}

static bool says_commit(struct link *link, const char *bytes, size_t len)
{
    learn_name(link, bytes, len);
    if (link->commit[0] == '\0') return false;
    char bound[20] = { 0 }; // an unnamed portal, then the statement
    memcpy(bound + 1, link->commit, strlen(link->commit));
    return memmem(bytes, len, bound, strlen(link->commit) + 2) != NULL;
}

static bool is_cut(struct link *link, bool from_store, const char *bytes, size_t len)
{
    bool writes = link->commit[0] != '\0'; // others commit too: those who tell of it
    bool commit = from_store ? says_commit(link, bytes, len)
                             : writes && memmem(bytes, len, "COMMIT", 7) != NULL; // with its NUL
    int mode = link->proxy->mode;
    bool cut = (mode == PROXY_CUT_AT_ONCE && from_store) ||
               (mode == PROXY_CUT_BEFORE_COMMIT && from_store && commit) ||
               (mode == PROXY_CUT_AFTER_COMMIT && !from_store && commit);
    if (cut) {
        link->proxy->mode = link->proxy->then;
        link->proxy->cuts++;
    }
    return cut || mode == PROXY_SHUT;
}

static bool pass(struct link *link, bool from_store)
{
    char bytes[65536];
    ssize_t len = read(from_store ? link->store : link->server, bytes, sizeof bytes);
    if (len <= 0 || is_cut(link, from_store, bytes, (size_t)len)) return false;
    int to = from_store ? link->server : link->store;
    for (ssize_t at = 0, n; at < len; at += n) {
        n = send(to, bytes + at, (size_t)(len - at), MSG_NOSIGNAL);
        if (n <= 0) return false;
    }
    return true;
}

static void *run_link(void *arg)
{
    struct link *link = arg;
    struct sockaddr_un address = address_of(link->proxy->server);
    bool open = link->proxy->mode != PROXY_SHUT &&
                connect(link->server, (struct sockaddr *)&address, sizeof address) == 0;
    while (open) {
        struct pollfd fds[] = { { .fd = link->store, .events = POLLIN },
                                { .fd = link->server, .events = POLLIN } };
        poll(fds, 2, 100);
        if (link->proxy->mode == PROXY_SHUT || link->proxy->closing) break;
        if (fds[0].revents) open = pass(link, true);
        if (open && fds[1].revents) open = pass(link, false);
    }
    close(link->store);
    close(link->server);
    link->proxy->open--;
    free(link);
    return NULL;
}

static void *run_door(void *arg)
{
    struct proxy *proxy = arg;
    for (;;) {
        int store = accept(proxy->listener, NULL, NULL);
        if (store < 0) break;
        struct link *link = calloc(1, sizeof *link);
        if (link == NULL) abort();
        *link = (struct link){ .proxy = proxy,
                               .store = store,
                               .server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
        proxy->open++;
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_link, link) != 0) abort();
        pthread_detach(thread);
    }
    return NULL;
}

static void socket_path(char *out, size_t size, const char *dir)
{
    snprintf(out, size, "%s/.s.PGSQL.5432", dir);
}

void proxy_open(struct proxy *proxy, const char *server_dir)
{
    memset(proxy, 0, sizeof *proxy);
    snprintf(proxy->dir, sizeof proxy->dir, "/tmp/pawl-door-XXXXXX");
    if (mkdtemp(proxy->dir) == NULL) abort();
    socket_path(proxy->server, sizeof proxy->server, server_dir);
    char path[96];
    socket_path(path, sizeof path, proxy->dir);
    struct sockaddr_un address = address_of(path);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 16) != 0 ||
        pthread_create(&proxy->thread, NULL, run_door, proxy) != 0)
        abort();
}

void proxy_close(struct proxy *proxy)
{
    char path[96];
    proxy->closing = 1;
    shutdown(proxy->listener, SHUT_RDWR);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    while (proxy->open > 0)
        usleep(1000);
    socket_path(path, sizeof path, proxy->dir);
    unlink(path);
    rmdir(proxy->dir);
}
