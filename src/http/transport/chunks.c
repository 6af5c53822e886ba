/* The rules of chunks.h, byte by byte; data is skipped. */
#include "http/transport/chunks.h"

#include <string.h>
#include <strings.h>

/* ---- Transfer-Encoding ---- */

static const char token_chars[] = "!#$%&'*+-.^_`|~0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* One coding of the list, up to a comma or the end: a name, perhaps parameters. */
static enum pawl__coding coding_of_one(const char *at, size_t len)
{
    size_t name = strspn(at, token_chars);
    bool chunked = name == 7 && strncasecmp(at, "chunked", 7) == 0;
    while (len && (at[len - 1] == ' ' || at[len - 1] == '\t')) {
        len--;
    }
    if (chunked && len == name) return PAWL__CODING_CHUNKED;
    const char *rest = at + name + strspn(at + name, " \t");
    bool ok = name && !chunked && (len == name || *rest == ';');
    return ok ? PAWL__CODING_OTHER : PAWL__CODING_MALFORMED;
}

enum pawl__coding pawl__coding_of(const char *value)
{
    enum pawl__coding result = PAWL__CODING_MALFORMED;
    for (bool first = true;; first = false) {
        value += strspn(value, " \t");
        size_t len = strcspn(value, ",");
        enum pawl__coding one = coding_of_one(value, len);
        // nothing may stand behind "chunked", which ends the body
        if (one == PAWL__CODING_MALFORMED || (!first && result == PAWL__CODING_CHUNKED)) {
            return PAWL__CODING_MALFORMED;
        }
        result = one;
        if (!value[len]) return first ? result : PAWL__CODING_OTHER;
        value += len + 1;
    }
}

/* ---- framing ---- */

enum { DIGITS_MAX = 15 }; /* beyond any limit on bodies, and no number overflows */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *take_size(struct pawl__chunks *chunks, char c)
{
    int digit = hex(c);
    if (digit >= 0) {
        if (++chunks->digits > DIGITS_MAX) return "a chunk's size is too large";
        chunks->left = chunks->left << 4 | (unsigned)digit;
        return NULL;
    }
    if (!chunks->digits || (c != '\r' && c != ';')) return "a chunk's size is not a number";
    chunks->at = c == ';' ? PAWL__CHUNKS_EXTENSION : PAWL__CHUNKS_SIZE_LF;
    return NULL;
}

static const char *take_extension(struct pawl__chunks *chunks, char c)
{
    if (c == '\r') {
        chunks->at = PAWL__CHUNKS_SIZE_LF;
    } else if (((unsigned char)c < ' ' && c != '\t') || c == 0x7f) {
        return "a chunk's extension holds a control character";
    }
    return NULL;
}

static const char *expect(struct pawl__chunks *chunks, bool is, enum pawl__chunks_at next)
{
    if (!is) {
        return chunks->at == PAWL__CHUNKS_LAST_CR ? "headers behind the body are not read here"
                                                  : "a chunk does not end with CR LF";
    }
    chunks->at = next;
    return NULL;
}

static const char *take_byte(struct pawl__chunks *chunks, char c)
{
    switch (chunks->at) {
    case PAWL__CHUNKS_SIZE:
        return take_size(chunks, c);
    case PAWL__CHUNKS_EXTENSION:
        return take_extension(chunks, c);
    case PAWL__CHUNKS_SIZE_LF:
        chunks->digits = 0;
        return expect(chunks, c == '\n', chunks->left ? PAWL__CHUNKS_DATA : PAWL__CHUNKS_LAST_CR);
    case PAWL__CHUNKS_DATA_CR:
        return expect(chunks, c == '\r', PAWL__CHUNKS_DATA_LF);
    case PAWL__CHUNKS_DATA_LF:
        return expect(chunks, c == '\n', PAWL__CHUNKS_SIZE);
    case PAWL__CHUNKS_LAST_CR:
        return expect(chunks, c == '\r', PAWL__CHUNKS_LAST_LF);
    case PAWL__CHUNKS_LAST_LF:
        return expect(chunks, c == '\n', PAWL__CHUNKS_END);
    default:
        return "the body goes on behind its last chunk";
    }
}

const char *pawl__chunks_take(struct pawl__chunks *chunks, const char *at, size_t len)
{
    const char *wrong = NULL;
    while (len && !wrong) {
        size_t step = 1;
        if (chunks->at == PAWL__CHUNKS_DATA) {
            step = len < chunks->left ? len : (size_t)chunks->left;
            chunks->left -= step;
            if (!chunks->left) chunks->at = PAWL__CHUNKS_DATA_CR;
        } else {
            wrong = take_byte(chunks, *at);
        }
        at += step;
        len -= step;
    }
    return wrong;
}
