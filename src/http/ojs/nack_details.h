/* What a nack says of a failure in JSON: its details and its backtrace. Pure. */
#ifndef PAWL_HTTP_OJS_NACK_DETAILS_H
#define PAWL_HTTP_OJS_NACK_DETAILS_H

#include "base/arena.h"
#include "base/json.h"

#include <pawl/job.h>

/* A store keeps one JSON text with a failure. A backtrace is the first member of it, written in
 * this way, so that the printer finds it; the members of the details follow. Details that are no
 * object are its member "value" then. */
#define PAWL__BACKTRACE_MEMBER "{\"backtrace\":["

enum {
    PAWL__BACKTRACE_FRAMES_MAX = 50,
    PAWL__BACKTRACE_BYTES_MAX = 10000, /* of all frames; what is beyond is cut */
    PAWL__DETAILS_BYTES_MAX = 262144   /* longer ones become {"truncated":true} */
};

/* `details` and `backtrace` of the object `error`, without secrets, in the arena; empty: neither is
 * there. A backtrace is an array of strings, or a string of lines; of anything else nothing is
 * kept, for a report must not be refused because of it. */
struct pawl_span pawl__nack_details(const struct pawl__json *json, uint32_t error,
                                    struct pawl__arena *arena);

/* How many of the `len` bytes make whole characters of `bytes_max` bytes at most. */
size_t pawl__nack_cut(const char *text, size_t len, size_t bytes_max);

#endif
