/* Redis' pub/sub as a line of the messenger's: one connection that speaks and, since a subscriber
 * may do nothing else, one that listens.
 *
 * Runs on: the messenger's thread, but for opening. */
#include "store/redis/redis.h"

#include "base/diag.h"
#include "store/messenger.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_S = 2,  /* to connect, and for an answer */
    READS_MAX = 16, /* of the socket at a time, so that a flood leaves time to speak */
    MESSAGE_PARTS = 3
};

struct redis {
    struct pawl__line line;
    struct pawl__redis_place place;
    redisContext *speaks, *listens; /* NULL: not connected */
};

static struct redis *of(struct pawl__line *line)
{
    return (struct redis *)line; // it begins with it
}

/* ---- failures ---- */

static enum pawl_err lost(const struct redis *redis, const redisContext *conn, const char *what,
                          struct pawl_diag *diag)
{
    const char *why = conn ? conn->errstr : "out of memory";
    if (conn && conn->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        why = "no answer in time";
    }
    return pawl__fail_field(diag, PAWL_ERR_IO, "wake", "could not %s Redis at \"%s\": %s", what,
                            redis->place.shown, why);
}

/* How answers begin that will be the same next time. */
#define SETTLED(X)                                                                                 \
    X("NOAUTH")                                                                                    \
    X("WRONGPASS")                                                                                 \
    X("NOPERM")                                                                                    \
    X("DENIED")                                                                                    \
    X("ERR invalid password")                                                                      \
    X("ERR AUTH")                                                                                  \
    X("ERR Client sent AUTH")                                                                      \
    X("ERR wrong number of arguments for 'auth'")

static enum pawl_err refused(const struct redis *redis, const redisReply *reply, const char *what,
                             struct pawl_diag *diag)
{
#define X(text) text,
    static const char *const settled[] = { SETTLED(X) };
#undef X
    enum pawl_err err = PAWL_ERR_IO;
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++) {
        if (strncmp(reply->str, settled[i], strlen(settled[i])) == 0) err = PAWL_ERR_ARG;
    }
    return pawl__fail_field(diag, err, "wake", "could not %s Redis at \"%s\": %s", what,
                            redis->place.shown, reply->str);
}

/* One command; the answer is only looked at for errors. */
static enum pawl_err ask(struct redis *redis, redisContext *conn, const char *const *words,
                         const char *what, struct pawl_diag *diag)
{
    const char *argv[MESSAGE_PARTS];
    int count = 0;
    while (count < MESSAGE_PARTS && words[count]) {
        argv[count] = words[count];
        count++;
    }
    redisReply *reply = redisCommandArgv(conn, count, argv, NULL);
    if (!reply) return lost(redis, conn, what, diag);
    enum pawl_err err = PAWL_OK;
    if (reply->type == REDIS_REPLY_ERROR) err = refused(redis, reply, what, diag);
    freeReplyObject(reply);
    return err;
}

/* ---- connecting ---- */

static redisContext *dial(const struct pawl__redis_place *place)
{
    struct timeval timeout = { .tv_sec = TIMEOUT_S };
    redisContext *conn = place->socket ? redisConnectUnixWithTimeout(place->socket, timeout)
                                       : redisConnectWithTimeout(place->host, place->port, timeout);
    if (!conn || conn->err) return conn;
    (void)fcntl(conn->fd, F_SETFD, FD_CLOEXEC);
    if (redisSetTimeout(conn, timeout) != REDIS_OK) return conn;
    if (!place->socket) (void)redisEnableKeepAlive(conn);
    return conn;
}

static enum pawl_err log_in(struct redis *redis, redisContext *conn, struct pawl_diag *diag)
{
    const struct pawl__redis_place *place = &redis->place;
    const char *const hello[] = { "PING", NULL };
    const char *const password[] = { "AUTH", place->password, NULL };
    const char *const user[] = { "AUTH", place->user, place->password };
    const char *const *words = place->user ? user : place->password ? password : hello;
    return ask(redis, conn, words, "log in to", diag);
}

static enum pawl_err connect_to(struct redis *redis, redisContext **out, struct pawl_diag *diag)
{
    if (*out) return PAWL_OK;
    redisContext *conn = dial(&redis->place);
    enum pawl_err err = PAWL_OK;
    if (!conn || conn->err) err = lost(redis, conn, "connect to", diag);
    if (!err) err = log_in(redis, conn, diag);
    if (!err) {
        *out = conn;
    } else if (conn) {
        redisFree(conn);
    }
    return err;
}

static enum pawl_err be_ready(struct pawl__line *line, bool listen, struct pawl_diag *diag)
{
    struct redis *redis = of(line);
    enum pawl_err err = connect_to(redis, &redis->speaks, diag);
    if (err || !listen || redis->listens) return err;
    const char *const words[] = { "SUBSCRIBE", redis->place.channel, NULL };
    redisContext *conn = NULL;
    err = connect_to(redis, &conn, diag);
    if (!err) err = ask(redis, conn, words, "listen on", diag);
    if (!err) {
        redis->listens = conn;
    } else if (conn) {
        redisFree(conn);
    }
    return err;
}

/* ---- saying and hearing ---- */

static enum pawl_err say(struct pawl__line *line, const char *text, struct pawl_diag *diag)
{
    struct redis *redis = of(line);
    const char *const words[] = { "PUBLISH", redis->place.channel, text };
    return ask(redis, redis->speaks, words, "speak on", diag);
}

static void take(const redisReply *reply, pawl__received_fn *fn, void *ctx)
{
    bool message = reply->type == REDIS_REPLY_ARRAY && reply->elements == MESSAGE_PARTS &&
                   reply->element[0]->type == REDIS_REPLY_STRING &&
                   strcmp(reply->element[0]->str, "message") == 0;
    if (message && reply->element[2]->type == REDIS_REPLY_STRING) fn(ctx, reply->element[2]->str);
}

/* Those that are read already. */
static bool take_all(redisContext *conn, pawl__received_fn *fn, void *ctx)
{
    for (;;) {
        void *reply = NULL;
        if (redisGetReplyFromReader(conn, &reply) != REDIS_OK) return false;
        if (!reply) return true;
        take(reply, fn, ctx);
        freeReplyObject(reply);
    }
}

static bool has_come(const redisContext *conn)
{
    struct pollfd fd = { .fd = conn->fd, .events = POLLIN };
    return poll(&fd, 1, 0) == 1;
}

static enum pawl_err read_all(struct pawl__line *line, pawl__received_fn *fn, void *ctx,
                              struct pawl_diag *diag)
{
    struct redis *redis = of(line);
    redisContext *conn = redis->listens;
    bool alive = take_all(conn, fn, ctx); // what came along with the answer to SUBSCRIBE
    for (int i = 0; alive && i < READS_MAX && has_come(conn); i++) {
        alive = redisBufferRead(conn) == REDIS_OK && take_all(conn, fn, ctx);
    }
    return alive ? PAWL_OK : lost(redis, conn, "listen on", diag);
}

static int socket_of(const struct pawl__line *line)
{
    const struct redis *redis = (const struct redis *)line;
    return redis->listens ? redis->listens->fd : -1;
}

static void hang_up(struct pawl__line *line)
{
    struct redis *redis = of(line);
    if (redis->speaks) redisFree(redis->speaks);
    if (redis->listens) redisFree(redis->listens);
    redis->speaks = redis->listens = NULL;
}

static void free_redis(struct pawl__line *line)
{
    pawl__redis_place_release(&of(line)->place);
    free(line);
}

static const struct pawl__line_table table = { .ready = be_ready,
                                               .say = say,
                                               .read = read_all,
                                               .fd = socket_of,
                                               .hang_up = hang_up,
                                               .free = free_redis };

/* ---- from outside ---- */

static enum pawl_err open_wake(const struct pawl__wake_open *how, struct pawl__wake **out,
                               struct pawl_diag *diag)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (!redis) return pawl__fail_nomem(diag);
    redis->line.table = &table;
    enum pawl_err err = pawl__redis_place_read(how->url, how->store, &redis->place, diag);
    if (err) {
        free_redis(&redis->line);
        return err;
    }
    struct pawl__wake *wake;
    err = pawl__messenger_open(&redis->line, &wake, diag);
    if (err) return err;
    err = pawl__messenger_reach(wake, diag);
    if (err) {
        wake->table->close(wake);
        return err;
    }
    *out = wake;
    return PAWL_OK;
}

const struct pawl__wake_module pawl_wake_module = { .version = PAWL_VERSION,
                                                    .table_bytes = sizeof(struct pawl__wake_table),
                                                    .open = open_wake };
