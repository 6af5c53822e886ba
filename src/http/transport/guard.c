/* The rules of guard.h, byte by byte. */
#include "http/transport/guard.h"

enum { BLANK_LINES_MAX = 2, METHOD_BYTES_MAX = 32 };

static enum pawl__fault_kind refuse(enum pawl__fault_kind kind, const char *why, const char **text)
{
    *text = why;
    return kind;
}

static enum pawl__fault_kind malformed(const char *why, const char **text)
{
    return refuse(PAWL__FAULT_INVALID_REQUEST, why, text);
}

/* A line has ended. */
static enum pawl__fault_kind end_line(struct pawl__guard *guard, const char **text)
{
    bool empty = guard->line_bytes == 0;
    guard->line_bytes = 0;
    if (!guard->lines && empty) {
        // a robust server skips what an old client sends behind its body
        return ++guard->blank_lines > BLANK_LINES_MAX ? malformed("the request is not HTTP", text)
                                                      : PAWL__FAULT_NONE;
    }
    if (!guard->lines && guard->spaces < 2) {
        return malformed("only HTTP/1.1 and HTTP/1.0 are spoken here", text);
    }
    guard->lines++;
    guard->ended = empty;
    return PAWL__FAULT_NONE;
}

/* A byte of the request line: METHOD TARGET HTTP/1.1, with one blank between them. */
static enum pawl__fault_kind take_request_line(struct pawl__guard *guard, char c, const char **text)
{
    static const char protocol[] = "HTTP/";
    if ((unsigned char)c <= ' ') {
        if (c != ' ' || ++guard->spaces > 2 || !guard->word_bytes) {
            return malformed("the request line must be three words with one blank between", text);
        }
        guard->word_bytes = 0;
        return PAWL__FAULT_NONE;
    }
    size_t at = guard->word_bytes++;
    if (guard->spaces == 1 && at >= PAWL__TARGET_BYTES_MAX) {
        return refuse(PAWL__FAULT_URI_TOO_LONG, "the request's target is too long", text);
    }
    if (guard->spaces == 0 && at >= METHOD_BYTES_MAX) {
        return refuse(PAWL__FAULT_METHOD, "the request's method is not known", text);
    }
    if (guard->spaces == 2 && at < sizeof protocol - 1 && c != protocol[at]) {
        return malformed("only HTTP/1.1 and HTTP/1.0 are spoken here", text);
    }
    return PAWL__FAULT_NONE;
}

/* A byte that is not just a letter in a line: it ends one, or may be out of place. */
static enum pawl__fault_kind take_odd(struct pawl__guard *guard, char c, const char **text)
{
    if (guard->last == '\r' && c != '\n') {
        return malformed("a carriage return stands alone", text);
    }
    if (c == '\n' && guard->last != '\r') {
        return malformed("a line ends without a carriage return", text);
    }
    if (c == '\0') return malformed("the request's head holds a NUL", text);
    if (c == '\n') return end_line(guard, text);
    if (c == '\r') return PAWL__FAULT_NONE;
    if (!guard->line_bytes && (c == ' ' || c == '\t')) {
        return guard->lines ? malformed("a header is folded into a second line", text)
                            : malformed("the request begins with a blank", text);
    }
    if (!guard->line_bytes && guard->lines && c == ':') {
        return malformed("a header has no name", text);
    }
    guard->line_bytes++;
    return guard->lines ? PAWL__FAULT_NONE : take_request_line(guard, c, text);
}

enum pawl__fault_kind pawl__guard_take(struct pawl__guard *guard, const char *at, size_t len,
                                       size_t bytes_max, const char **text)
{
    for (size_t i = 0; i < len && !guard->ended; i++) {
        char c = at[i];
        if (++guard->bytes > bytes_max) {
            return refuse(PAWL__FAULT_HEADERS, "the request's head is too long", text);
        }
        if ((unsigned char)c > ' ' && guard->lines && guard->line_bytes && guard->last != '\r') {
            guard->line_bytes++; // by far the most
        } else {
            enum pawl__fault_kind kind = take_odd(guard, c, text);
            if (kind) return kind;
        }
        guard->last = c;
    }
    return PAWL__FAULT_NONE;
}
