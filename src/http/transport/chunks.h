/* Chunked bodies: whether Transfer-Encoding announces one, and how it is framed, checked beside the
 * parser. What the parser takes differs with its version: lone line feeds, blanks behind a size,
 * several codings. This takes one form, and a body counts as complete only where both see its end.
 * Pure: no socket, no memory. */
#ifndef PAWL_HTTP_TRANSPORT_CHUNKS_H
#define PAWL_HTTP_TRANSPORT_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pawl__chunks_at {
    PAWL__CHUNKS_SIZE,
    PAWL__CHUNKS_EXTENSION,
    PAWL__CHUNKS_SIZE_LF,
    PAWL__CHUNKS_DATA,
    PAWL__CHUNKS_DATA_CR,
    PAWL__CHUNKS_DATA_LF,
    PAWL__CHUNKS_LAST_CR, /* behind the chunk of size 0 */
    PAWL__CHUNKS_LAST_LF,
    PAWL__CHUNKS_END
};

/* One body; zeroes begin the next. */
struct pawl__chunks {
    enum pawl__chunks_at at;
    int digits;
    uint64_t left; /* of the chunk; while its size is read, the size so far */
};

/* Takes bytes of the body as they come. NULL: they are in order. Otherwise what is wrong. */
const char *pawl__chunks_take(struct pawl__chunks *chunks, const char *at, size_t len);

enum pawl__coding {
    PAWL__CODING_CHUNKED,
    PAWL__CODING_OTHER, /* well formed, but none that is decoded here */
    PAWL__CODING_MALFORMED
};

/* What the value of Transfer-Encoding asks for. */
enum pawl__coding pawl__coding_of(const char *value);

#endif
