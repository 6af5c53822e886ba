/* Finds secrets in a URL, or in text that was meant to be one. */
#include "base/url.h"

#include <string.h>

static const char parameter[] = "password="; // also matches "sslpassword="

/* Where a user, a password or a token would begin. */
static const char *user_of(const char *url)
{
    const char *slashes = strstr(url, "://");
    return slashes ? slashes + 3 : url;
}

static const char *last_at(const char *from, size_t len)
{
    const char *last = NULL;
    for (size_t i = 0; i < len; i++) {
        if (from[i] == '@') last = from + i;
    }
    return last;
}

/* "HOST:PORT", "[::1]:5432", also several separated by commas, and without a port. */
static bool are_hosts(const char *at, const char *end)
{
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *next = comma ? comma : end;
        const char *bracket = *at == '[' ? memchr(at, ']', (size_t)(next - at)) : NULL;
        if (bracket) at = bracket;
        const char *colon = memchr(at, ':', (size_t)(next - at));
        if (colon && colon + 1 + strspn(colon + 1, "0123456789") < next) return false;
        at = next + 1;
    }
    return true;
}

/* The @ before the host; NULL: there is none. "HOST:PORT/a@b" has none, "ann:a/b@HOST" has one. */
static const char *host_mark(const char *user)
{
    size_t first = strcspn(user, "/@");
    if (user[first] == '@') {
        const char *rest = user + first + 1;
        const char *later = last_at(rest, strcspn(rest, "?"));
        return later ? later : user + first;
    }
    if (are_hosts(user, user + first)) return NULL;
    const char *before_query = last_at(user, strcspn(user, "?"));
    return before_query ? before_query : last_at(user, strlen(user));
}

/* Its end is `mark`. NULL: no password. */
static const char *password_of(const char *user, const char *mark)
{
    const char *colon = mark ? memchr(user, ':', (size_t)(mark - user)) : NULL;
    return colon ? colon + 1 : NULL;
}

static void add_masking_parameters(struct pawl__buf *out, const char *text)
{
    const char *found;
    while ((found = strstr(text, parameter))) {
        const char *value = found + strlen(parameter);
        pawl__buf_add(out, text, (size_t)(value - text));
        pawl__buf_add_text(out, "***");
        text = value + strcspn(value, "&");
    }
    pawl__buf_add_text(out, text);
}

void pawl__url_mask(struct pawl__buf *out, const char *url)
{
    const char *user = user_of(url);
    const char *mark = host_mark(user);
    const char *password = password_of(user, mark);
    bool path = strncmp(url, "sqlite:", 7) == 0;
    if (mark && !path && strncmp(url, "http", 4) == 0) {
        pawl__buf_add(out, url, (size_t)(user - url));
        url = mark + 1;
    } else if (password && !path) {
        pawl__buf_add(out, url, (size_t)(password - url));
        pawl__buf_add_text(out, "***");
        url = mark;
    }
    if (path) {
        pawl__buf_add_text(out, url);
    } else {
        add_masking_parameters(out, url);
    }
}

bool pawl__url_has_torn_password(const char *url)
{
    const char *user = user_of(url);
    const char *mark = host_mark(user);
    const char *password = password_of(user, mark);
    return password && password + strcspn(password, "@/") < mark;
}
