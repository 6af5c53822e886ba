/* Reading a Redis' URL. Nothing here repeats what may hold a password. */
#include "store/redis/redis.h"

#include "base/buf.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static enum pawl_err refuse(const char *why, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_ARG, "wake",
                            "%s; write \"redis://HOST:PORT\", with \":PASSWORD@\" before HOST and "
                            "\"?channel=NAME\" at the end where needed",
                            why);
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* With %XX resolved. ARG: a broken one, or one that is NUL. */
static enum pawl_err decode(const char *at, size_t len, char **out, struct pawl_diag *diag)
{
    char *text = malloc(len + 1);
    size_t used = 0;
    if (!text) return pawl__fail_nomem(diag);
    *out = text;
    for (size_t i = 0; i < len; i++) {
        text[used] = at[i];
        if (at[i] == '%') {
            int high = i + 2 < len ? hex_of(at[i + 1]) : -1;
            int low = i + 2 < len ? hex_of(at[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                return refuse("wake has a % that two digits should follow", diag);
            }
            text[used] = (char)(high * 16 + low);
            i += 2;
        }
        used++;
    }
    text[used] = '\0';
    return PAWL_OK;
}

/* A whole number from 0 to `max`; -1: not one. */
static int number_of(const char *at, size_t len, int max)
{
    int value = 0;
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9') return -1;
        value = value * 10 + (at[i] - '0');
        if (value > max) return -1;
    }
    return len ? value : -1;
}

static enum pawl_err read_login(const char *at, size_t len, struct pawl__redis_place *out,
                                struct pawl_diag *diag)
{
    const char *colon = memchr(at, ':', len);
    if (!colon || colon + 1 == at + len) {
        return refuse("wake has an @ but no password before it", diag);
    }
    enum pawl_err err = PAWL_OK;
    if (colon > at) err = decode(at, (size_t)(colon - at), &out->user, diag);
    if (err) return err;
    return decode(colon + 1, (size_t)(at + len - colon - 1), &out->password, diag);
}

/* [::1]:6379, host:6379, host, or nothing. */
static enum pawl_err read_host(const char *at, size_t len, struct pawl__redis_place *out,
                               struct pawl_diag *diag)
{
    const char *end = at + len, *host = at, *host_end, *colon;
    if (len && *at == '[') {
        host_end = memchr(at, ']', len);
        if (!host_end) return refuse("wake has a [ without a ]", diag);
        host++;
        colon = host_end + 1;
    } else {
        colon = memchr(at, ':', len);
        host_end = colon = colon ? colon : end;
    }
    out->port = PAWL__REDIS_PORT;
    if (colon < end) {
        out->port = *colon == ':' ? number_of(colon + 1, (size_t)(end - colon - 1), 65535) : -1;
    }
    if (out->port < 1) return refuse("wake has a port that is not one from 1 to 65535", diag);
    if (host == host_end) {
        out->host = strdup("localhost");
        return out->host ? PAWL_OK : pawl__fail_nomem(diag);
    }
    return decode(host, (size_t)(host_end - host), &out->host, diag);
}

static enum pawl_err read_query(const char *query, struct pawl__redis_place *out,
                                struct pawl_diag *diag)
{
    static const char name[] = "channel=";
    if (!*query) return PAWL_OK;
    if (strncmp(query, name, sizeof name - 1) != 0 || strchr(query, '&') ||
        !query[sizeof name - 1]) {
        return refuse("wake has more after the ? than a channel", diag);
    }
    query += sizeof name - 1;
    return decode(query, strlen(query), &out->channel, diag);
}

static enum pawl_err name_channel(const char *store, int database, struct pawl__redis_place *out,
                                  struct pawl_diag *diag)
{
    struct pawl__buf name = { 0 };
    pawl__buf_printf(&name, "pawl:%s", store);
    if (database > 0) pawl__buf_printf(&name, ":%d", database);
    if (name.failed) {
        pawl__buf_release(&name);
        return pawl__fail_nomem(diag);
    }
    out->channel = name.at;
    return PAWL_OK;
}

static enum pawl_err show_place(struct pawl__redis_place *out, struct pawl_diag *diag)
{
    struct pawl__buf shown = { 0 };
    if (out->socket) {
        pawl__buf_add_text(&shown, out->socket);
    } else {
        bool six = strchr(out->host, ':') != NULL;
        pawl__buf_printf(&shown, "%s%s%s:%d", six ? "[" : "", out->host, six ? "]" : "", out->port);
    }
    if (shown.failed) {
        pawl__buf_release(&shown);
        return pawl__fail_nomem(diag);
    }
    out->shown = shown.at;
    return PAWL_OK;
}

/* What stands between the scheme and the ?. */
static enum pawl_err read_place(const char *at, size_t len, bool is_socket, int *database,
                                struct pawl__redis_place *out, struct pawl_diag *diag)
{
    const char *end = at + len;
    const char *slash = memchr(at, '/', len);
    const char *host_end = slash ? slash : end, *host = at;
    for (const char *c = at; c < host_end; c++) {
        if (*c == '@') host = c + 1; // the last one: a password may hold others
    }
    enum pawl_err err = PAWL_OK;
    if (host > at) err = read_login(at, (size_t)(host - 1 - at), out, diag);
    if (err) return err;
    if (is_socket) {
        if (!slash || host != slash) return refuse("wake has no path of a socket", diag);
        return decode(slash, (size_t)(end - slash), &out->socket, diag);
    }
    if (slash && slash + 1 < end) {
        *database = number_of(slash + 1, (size_t)(end - slash - 1), 65535);
        if (*database < 0) return refuse("wake has a database that is no number", diag);
    }
    return read_host(host, (size_t)(host_end - host), out, diag);
}

enum pawl_err pawl__redis_place_read(const char *url, const char *store,
                                     struct pawl__redis_place *out, struct pawl_diag *diag)
{
    static const char secure[] = "rediss://", plain[] = "redis://", local[] = "redis+unix://";
    memset(out, 0, sizeof *out);
    if (strncmp(url, secure, sizeof secure - 1) == 0) {
        return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "wake",
                                "cannot use \"rediss://\": the hiredis that pawl is built with has "
                                "no TLS; use \"redis://\" within a network you trust, or through a "
                                "tunnel such as stunnel");
    }
    bool is_socket = strncmp(url, local, sizeof local - 1) == 0;
    if (!is_socket && strncmp(url, plain, sizeof plain - 1) != 0) {
        return refuse("wake is no URL of a Redis", diag);
    }
    const char *at = url + (is_socket ? sizeof local : sizeof plain) - 1;
    size_t len = strcspn(at, "?#");
    if (at[len] == '#') return refuse("wake has a #; in a password it is written %23", diag);
    int database = 0;
    enum pawl_err err = read_place(at, len, is_socket, &database, out, diag);
    if (!err && at[len]) err = read_query(at + len + 1, out, diag);
    if (!err && !out->channel) err = name_channel(store, database, out, diag);
    return err ? err : show_place(out, diag);
}

void pawl__redis_place_release(struct pawl__redis_place *place)
{
    free(place->host);
    free(place->socket);
    free(place->user);
    free(place->password);
    free(place->channel);
    free(place->shown);
    memset(place, 0, sizeof *place);
}
