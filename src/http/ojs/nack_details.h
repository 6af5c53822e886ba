/* Details and backtrace of a failure that a nack reports. Pure. */
#ifndef PAWL_HTTP_OJS_NACK_DETAILS_H
#define PAWL_HTTP_OJS_NACK_DETAILS_H

#include "base/arena.h"
#include "base/json.h"

#include <pawl/job.h>

/* The store has one JSON text for both. A backtrace is its first member, written in exactly this
 * way, so that the printer recognises it. The members of the details follow, or the member "value"
 * if the details are not an object. */
#define PAWL__BACKTRACE_MEMBER "{\"backtrace\":["

enum {
    PAWL__BACKTRACE_FRAMES_MAX = 50,
    PAWL__BACKTRACE_BYTES_MAX = 10000, /* of all frames; the rest is cut off */
    PAWL__DETAILS_BYTES_MAX = 262144   /* longer ones become {"truncated":true} */
};

/* "details" and "backtrace" of the object `error`, without secrets, in the arena; empty if both are
 * absent. A backtrace is an array of strings or a string of lines. Anything else is ignored: a
 * report must not be refused for it. */
struct pawl_span pawl__nack_details(const struct pawl__json *json, uint32_t error,
                                    struct pawl__arena *arena);

/* The number of bytes, at most `bytes_max` of `len`, that are whole characters. */
size_t pawl__nack_cut(const char *text, size_t len, size_t bytes_max);

#endif
