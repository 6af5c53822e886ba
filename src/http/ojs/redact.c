/* Taking secrets out of texts. One pass; each place is tried for a URL's credentials, a name of a
 * secret and a scheme of authorization. */
#include "http/ojs/redact.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define MASK "***"

/* Where we are: text[at] .. text[end]. */
struct reader {
    const char *at, *end;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Does a value, or a URL, end here? */
static bool ends_value(char c)
{
    return (unsigned char)c <= ' ' || strchr("\"'`\\<>(){}[],;&|", c) != NULL;
}

static const char *skip(const char *at, const char *end, const char *these)
{
    while (at < end && *at && strchr(these, *at)) {
        at++;
    }
    return at;
}

/* ---- user:password@ behind :// ---- */

/* How much to mask, counted from behind the "://"; 0: no credentials. */
static size_t credentials(const struct reader *reader)
{
    const char *last = NULL;
    for (const char *at = reader->at; at < reader->end && !ends_value(*at) && *at != '/'; at++) {
        if (*at == '@') last = at; // passwords may hold one
    }
    return last ? (size_t)(last - reader->at) : 0;
}

/* ---- name = value ---- */

static const struct {
    const char *name;
    bool colon; /* "token: x" is how parsers complain, "password: x" is not */
} names[] = {
    { "password", true },     { "passwd", true },        { "pwd", false },
    { "passphrase", true },   { "secret", true },        { "api_key", true },
    { "api-key", true },      { "apikey", true },        { "access_key", true },
    { "private_key", true },  { "secret_key", true },    { "client_secret", true },
    { "access_token", true }, { "refresh_token", true }, { "auth_token", true },
    { "token", false },       { "credentials", false },
};

static size_t name_at(const struct reader *reader, bool *colon)
{
    size_t left = (size_t)(reader->end - reader->at), longest = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i].name);
        if (len > left || len <= longest) continue;
        if (strncasecmp(reader->at, names[i].name, len) != 0) continue;
        longest = len;
        *colon = names[i].colon;
    }
    return longest;
}

/* A value in quotes ends at the quote, another where a value ends. */
static const char *value_end(const char *value, const char *end, char quote)
{
    const char *at = value;
    for (; at < end; at++) {
        if (quote && *at == '\\' && at + 1 < end) {
            at++;
        } else if (quote ? *at == quote : ends_value(*at)) {
            break;
        }
    }
    return at;
}

/* A secret's value behind its name: `*value` is where it begins. Its length; 0: there is none. */
static size_t secret(const struct reader *reader, const char **value)
{
    bool colon = false;
    size_t len = name_at(reader, &colon);
    if (!len) return 0;
    const char *end = reader->end, *at = reader->at + len;
    const char *behind = skip(at, end, "\\\"'");
    bool quoted = behind > at; // "password": as in JSON
    at = skip(behind, end, " ");
    if (at == end || (*at != '=' && !(*at == ':' && (colon || quoted)))) return 0;
    at = skip(at + 1, end, " ");
    at = skip(at, end, "\\");
    char quote = at < end && (*at == '"' || *at == '\'') ? *at : '\0';
    if (quoted && !quote) return 0; // null, a number, an object: JSON must stay JSON
    *value = quote ? at + 1 : at;
    return (size_t)(value_end(*value, end, quote) - *value);
}

/* ---- Bearer ... ---- */

static size_t authorization(const struct reader *reader, const char **value)
{
    static const char *const schemes[] = { "bearer ", "basic " };
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if ((size_t)(reader->end - reader->at) <= len) continue;
        if (strncasecmp(reader->at, schemes[i], len) != 0) continue;
        *value = reader->at + len;
        size_t value_len = (size_t)(value_end(*value, reader->end, '\0') - *value);
        return value_len >= 8 ? value_len : 0; // "basic checks" is a phrase
    }
    return 0;
}

/* ---- all of it ---- */

static void mask(struct pawl__buf *out, struct reader *reader, const char *value, size_t len)
{
    pawl__buf_add(out, reader->at, (size_t)(value - reader->at));
    pawl__buf_add(out, MASK, sizeof MASK - 1);
    reader->at = value + len;
}

/* True: something was masked, and the reader is behind it. */
static bool try_here(struct pawl__buf *out, struct reader *reader, bool word)
{
    const char *value = NULL;
    size_t len = 0;
    if (*reader->at == ':' && reader->end - reader->at > 3 && memcmp(reader->at, "://", 3) == 0) {
        struct reader host = { reader->at + 3, reader->end };
        value = host.at;
        len = credentials(&host);
    } else if (word) {
        len = secret(reader, &value);
        if (!len) len = authorization(reader, &value);
    }
    if (len) mask(out, reader, value, len);
    return len > 0;
}

void pawl__redact(struct pawl__buf *out, struct pawl_span text)
{
    struct reader reader = { text.at, text.at + text.len };
    const char *plain = reader.at; // not yet copied
    bool word = true;              // a word may begin here
    while (reader.at < reader.end) {
        const char *here = reader.at;
        struct pawl__buf masked = { 0 };
        if ((is_letter(*here) && word) || *here == ':') {
            if (try_here(&masked, &reader, word)) {
                pawl__buf_add(out, plain, (size_t)(here - plain));
                pawl__buf_add(out, masked.at, masked.len);
                out->failed = out->failed || masked.failed;
                pawl__buf_release(&masked);
                plain = reader.at;
                word = true;
                continue;
            }
        }
        word = !is_letter(*here);
        reader.at++;
    }
    pawl__buf_add(out, plain, (size_t)(reader.end - plain));
}
