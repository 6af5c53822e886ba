#include "postgres/gate.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct link {
    struct gate *gate;
    int store, server;
    bool begun;  /* the first message has no type */
    bool writes; /* it has said what only writers say */
    char *at;    /* what came from the store and was not passed on */
    size_t len, cap;
};

static struct sockaddr_un address_of(const char *dir)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", dir);
    return address;
}

static bool send_all(int to, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = send(to, bytes + at, len - at, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static size_t number_at(const char *bytes)
{
    const uint8_t *b = (const uint8_t *)bytes;
    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* How much of what is there ends with a Sync, or is a message by itself that nobody waits with;
 * 0: the round trip is not whole yet. */
static size_t whole(struct link *link)
{
    size_t at = 0;
    while (at + 5 <= link->len) {
        size_t size = link->begun ? 1 + number_at(link->at + at + 1) : number_at(link->at + at);
        if (at + size > link->len) return 0;
        char type = link->begun ? link->at[at] : 'Q';
        link->begun = true;
        at += size;
        if (type == 'S' || type == 'Q' || type == 'X' || type == 'p') return at;
    }
    return 0;
}

static enum gate_fate stand_before(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->waiting = gate->closed;
    gate->trips++;
    pthread_cond_broadcast(&gate->changed);
    while (gate->closed && !gate->granted)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    enum gate_fate fate = gate->granted ? gate->fate : GATE_PASS;
    gate->waiting = gate->granted = false;
    pthread_mutex_unlock(&gate->mutex);
    return fate;
}

static bool answer(struct link *link)
{
    char bytes[65536];
    ssize_t len = read(link->server, bytes, sizeof bytes);
    return len > 0 && send_all(link->store, bytes, (size_t)len);
}

/* Until the server is ready for the next one: that is the last thing it says. */
static void drop_answer(struct link *link)
{
    static const char ready[] = { 'Z', 0, 0, 0, 5 };
    char bytes[65536], last[sizeof ready + 1] = { 0 };
    for (ssize_t len; (len = read(link->server, bytes, sizeof bytes)) > 0;) {
        size_t keep = (size_t)len < sizeof last ? (size_t)len : sizeof last;
        memmove(last, last + keep, sizeof last - keep);
        memcpy(last + sizeof last - keep, bytes + len - keep, keep);
        if (memcmp(last, ready, sizeof ready) == 0) break;
    }
}

/* False: the connection ends here. */
static bool hand_over(struct link *link, size_t size, enum gate_fate fate)
{
    if (fate == GATE_LOSE_REQUEST) return false;
    if (!send_all(link->server, link->at, size)) {
        while (answer(link)) // the last words of a server that has gone
            continue;
        return false;
    }
    if (fate == GATE_LOSE_ANSWER) drop_answer(link);
    return fate == GATE_PASS;
}

static bool pass_on(struct link *link)
{
    if (link->len == link->cap) {
        link->cap = link->cap > 0 ? link->cap * 2 : 65536;
        link->at = realloc(link->at, link->cap);
        if (link->at == NULL) abort();
    }
    ssize_t len = read(link->store, link->at + link->len, link->cap - link->len);
    if (len <= 0) return false;
    link->len += (size_t)len;
    for (size_t size; (size = whole(link)) > 0;) {
        if (memmem(link->at, size, "enable_seqscan", 14) != NULL) link->writes = true;
        enum gate_fate fate = link->writes ? stand_before(link->gate) : GATE_PASS;
        if (!hand_over(link, size, fate)) return false;
        link->len -= size;
        memmove(link->at, link->at + size, link->len);
    }
    return true;
}

static void *run_link(void *arg)
{
    struct link *link = arg;
    struct gate *gate = link->gate;
    struct sockaddr_un address = address_of(gate->server);
    bool open = connect(link->server, (struct sockaddr *)&address, sizeof address) == 0;
    while (open) {
        struct pollfd fds[] = { { .fd = link->store, .events = POLLIN },
                                { .fd = link->server, .events = POLLIN } };
        poll(fds, 2, 100);
        pthread_mutex_lock(&gate->mutex);
        open = !gate->closing;
        pthread_mutex_unlock(&gate->mutex);
        if (open && fds[1].revents) open = answer(link);
        if (open && fds[0].revents) open = pass_on(link);
    }
    close(link->store);
    close(link->server);
    free(link->at);
    free(link);
    pthread_mutex_lock(&gate->mutex);
    gate->open--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
    return NULL;
}

static void *run_gate(void *arg)
{
    struct gate *gate = arg;
    for (int store; (store = accept(gate->listener, NULL, NULL)) >= 0;) {
        struct link *link = calloc(1, sizeof *link);
        if (link == NULL) abort();
        *link = (struct link){ .gate = gate,
                               .store = store,
                               .server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
        pthread_mutex_lock(&gate->mutex);
        gate->open++;
        pthread_mutex_unlock(&gate->mutex);
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_link, link) != 0) abort();
        pthread_detach(thread);
    }
    return NULL;
}

void gate_open(struct gate *gate, const char *server_dir)
{
    *gate = (struct gate){ .closed = false };
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->changed, NULL);
    snprintf(gate->server, sizeof gate->server, "%s", server_dir);
    snprintf(gate->dir, sizeof gate->dir, "/tmp/pawl-gate-XXXXXX");
    if (mkdtemp(gate->dir) == NULL) abort();
    struct sockaddr_un address = address_of(gate->dir);
    gate->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(gate->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(gate->listener, 16) != 0 || pthread_create(&gate->thread, NULL, run_gate, gate) != 0)
        abort();
}

void gate_close(struct gate *gate)
{
    struct sockaddr_un address = address_of(gate->dir);
    shutdown(gate->listener, SHUT_RDWR);
    pthread_join(gate->thread, NULL);
    close(gate->listener);
    pthread_mutex_lock(&gate->mutex);
    gate->closing = true;
    while (gate->open > 0)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
    unlink(address.sun_path);
    rmdir(gate->dir);
}

void gate_url(const struct gate *gate, const char *url, const char *more, char *out, size_t size)
{
    const char *host = strstr(url, "host=");
    if (host == NULL) abort();
    const char *rest = host + strcspn(host, "&");
    snprintf(out, size, "%.*shost=%s%s%s", (int)(host - url), url, gate->dir, rest, more);
}

void gate_set(struct gate *gate, bool shut)
{
    pthread_mutex_lock(&gate->mutex);
    gate->closed = shut;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

bool gate_waiting(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    bool waiting = gate->waiting && !gate->granted;
    pthread_mutex_unlock(&gate->mutex);
    return waiting;
}

int gate_trips(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    int trips = gate->trips;
    pthread_mutex_unlock(&gate->mutex);
    return trips;
}

static void grant(struct gate *gate, enum gate_fate fate, bool closed)
{
    pthread_mutex_lock(&gate->mutex);
    gate->granted = true;
    gate->fate = fate;
    gate->closed = closed;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_pass(struct gate *gate)
{
    grant(gate, GATE_PASS, true);
}

void gate_end(struct gate *gate, enum gate_fate fate)
{
    grant(gate, fate, false);
}

bool gate_await(struct gate *gate, long us)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += us * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&gate->mutex);
    int late = 0;
    while (!(gate->waiting && !gate->granted) && !gate->roused && late == 0)
        late = pthread_cond_timedwait(&gate->changed, &gate->mutex, &until);
    gate->roused = false;
    bool waiting = gate->waiting && !gate->granted;
    pthread_mutex_unlock(&gate->mutex);
    return waiting;
}

void gate_rouse(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->roused = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}
