/* Browsers: what pages may ask for, and what they must not be used for.
 *
 * A page from anywhere may make a browser on this machine send requests to 127.0.0.1. A server
 * without tokens trusts every client that reaches it, so two kinds of requests must not get
 * through: a change that comes from another origin, and anything for a name that is not ours,
 * because somebody else's DNS may have pointed it here. The first is told by Origin, Sec-Fetch-Site
 * and Referer, which programs do not send; the second by Host, checked for every client. */
#include "http/routes.h"

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

void pawl__reply_options(struct pawl__request *request)
{
    if (request->server->config.cors_origin) { // a browser asks before it sends a page's request
        pawl__reply_header(request, "Access-Control-Allow-Methods", PAWL__METHODS);
        pawl__reply_header(request, "Access-Control-Allow-Headers",
                           "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, "
                           "OJS-Version, X-Request-Id");
        pawl__reply_header(request, "Access-Control-Max-Age", "600");
    }
    pawl__reply(request, 204);
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

static bool is_write(const struct pawl__request *request)
{
    return request->route ? pawl__route_changes(request->route) : !is_read(request->method);
}

static bool is_allowed(const struct pawl__request *request, const char *origin)
{
    const char *allowed = request->server->config.cors_origin;
    return allowed && (strcmp(allowed, "*") == 0 || strcasecmp(allowed, origin) == 0);
}

/* Is a page with this address, or of this origin, one that we serve ourselves? */
static bool is_own_page(const struct pawl__request *request, const char *url)
{
    const char *scheme_end = strstr(url, "://");
    if (!request->host || !scheme_end) return false;
    const char *host = scheme_end + 3;
    size_t len = strcspn(host, "/?#");
    return len == strlen(request->host) && strncasecmp(host, request->host, len) == 0;
}

/* Does another origin's page send it? A browser says so itself, where it sends no Origin (pictures,
 * links) by Sec-Fetch-Site or, if it is old, by Referer. */
static bool is_cross(const struct pawl__request *request)
{
    const char *origin = pawl__request_header(request, "origin");
    const char *site = pawl__request_header(request, "sec-fetch-site");
    const char *referer = pawl__request_header(request, "referer");
    if (origin) return !is_allowed(request, origin) && !is_own_page(request, origin);
    if (site) return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    return referer && !is_own_page(request, referer);
}

/* A name that we know to be ours: of this machine, where we listen, or given by an option. */
static bool is_own_host(const struct pawl__server *server, const char *host)
{
    const struct pawl__http_config *config = &server->config;
    if (pawl__host_is_local(host) || pawl__host_is(host, strstr(server->url, "://") + 3)) {
        return true;
    }
    for (size_t i = 0; i < config->host_count; i++) {
        if (pawl__host_is(host, config->hosts[i])) return true;
    }
    return false;
}

bool pawl__origin_ok(const struct pawl__request *request, bool open, struct pawl__fault *fault)
{
    if (open && request->host && !is_own_host(request->server, request->host)) {
        return pawl__refuse(fault, PAWL__FAULT_FOREIGN, "Host",
                            "the name \"%.100s\" is not served without tokens: use localhost, add "
                            "the name with --allow-host, or make a token with `pawl token add`",
                            request->host);
    }
    if (is_write(request) && is_cross(request)) {
        return pawl__refuse(fault, PAWL__FAULT_FOREIGN, "Origin",
                            "a page from another origin may not do this; --cors-origin allows one");
    }
    return true;
}
