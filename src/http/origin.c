/* Browsers: what pages may ask for, and what they must not be used for.
 *
 * A page from anywhere may make a browser on this machine send requests to 127.0.0.1. A server
 * without tokens trusts whoever reaches it, so these must not get through: a write that comes from
 * another origin, and anything for a name that somebody else's DNS has pointed here. Programs send
 * no Origin and are not concerned. */
#include "http/routes.h"
#include "http/server.h"

#include <string.h>
#include <strings.h>

bool pawl__origin_is_one(const char *text)
{
    static const char *const schemes[] = { "http://", "https://" };
    if (strcmp(text, "*") == 0) return true;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (strncmp(text, schemes[i], len) != 0) continue;
        const char *host = text + len;
        return *host && !host[strcspn(host, "/?#@, \t\r\n\"\\")];
    }
    return false;
}

bool pawl__cors_answered(struct pawl__request *request)
{
    if (strcmp(request->method, "OPTIONS") != 0 || !request->server->config.cors_origin) {
        return false;
    }
    request->reply_header_count = 0; // what a refusal left: a question is not refused
    pawl__reply_header(request, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE");
    pawl__reply_header(request, "Access-Control-Allow-Headers",
                       "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, OJS-Version, "
                       "X-Request-Id");
    pawl__reply_header(request, "Access-Control-Max-Age", "600");
    pawl__reply(request, 204);
    return true;
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

/* Marie's documents stop a job by GET, so the method alone does not tell. */
static bool is_write(const struct pawl__request *request)
{
    const struct pawl__route *route = request->route;
    return !is_read(request->method) ||
           (route && (route->scope == PAWL__SCOPE_SUBMIT || route->scope == PAWL__SCOPE_WORK));
}

/* A browser says so itself, also where it sends no Origin: pictures, links. */
static bool is_cross(const struct pawl__request *request)
{
    const char *site = pawl__request_header(request, "sec-fetch-site");
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* A name that is this machine whatever the DNS says: an address, or localhost. */
static bool is_own_name(const char *host)
{
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (host[0] == '[' || strspn(host, "0123456789.") == len) return true;
    static const char local[] = "localhost";
    size_t tail = sizeof local - 1;
    if (len < tail || strncasecmp(host + len - tail, local, tail) != 0) return false;
    return len == tail || host[len - tail - 1] == '.';
}

static bool is_from_browser(const struct pawl__request *request)
{
    const char *agent = pawl__request_header(request, "user-agent");
    return pawl__request_header(request, "origin") ||
           pawl__request_header(request, "sec-fetch-site") ||
           (agent && strncmp(agent, "Mozilla/", 8) == 0);
}

static bool is_allowed(const struct pawl__request *request, const char *origin)
{
    const char *allowed = request->server->config.cors_origin;
    return allowed && (strcmp(allowed, "*") == 0 || strcasecmp(allowed, origin) == 0);
}

/* Is it a page that we serve ourselves? */
static bool is_own_origin(const struct pawl__request *request, const char *origin)
{
    const char *host = pawl__request_header(request, "host");
    const char *scheme_end = strstr(origin, "://");
    return host && scheme_end && strcasecmp(scheme_end + 3, host) == 0;
}

const char *pawl__origin_refusal(const struct pawl__request *request, bool open)
{
    const char *origin = pawl__request_header(request, "origin");
    const char *host = pawl__request_header(request, "host");
    if (origin && is_allowed(request, origin)) return NULL;
    if (is_write(request) && (origin ? !is_own_origin(request, origin) : is_cross(request))) {
        return "a page from another origin may not do this; --cors-origin allows one";
    }
    if (open && host && is_from_browser(request) && !is_own_name(host)) {
        return "without tokens, browsers may only use an address or localhost as the name";
    }
    return NULL;
}
