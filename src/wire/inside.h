/* Inside the room: how a struct is described. */
#ifndef PAWL_WIRE_INSIDE_H
#define PAWL_WIRE_INSIDE_H

#include "wire/wire.h"

enum pawl__wire_kind {
    PAWL__WIRE_TEXT,   /* const char *; NULL is left out */
    PAWL__WIRE_NAME,   /* const char *; "" is left out, and comes back as "" */
    PAWL__WIRE_CHARS,  /* char[extent]; "" is left out */
    PAWL__WIRE_INT64,  /* int64_t */
    PAWL__WIRE_INT32,  /* int32_t */
    PAWL__WIRE_MASK,   /* uint32_t */
    PAWL__WIRE_BOOL,   /* bool */
    PAWL__WIRE_DOUBLE, /* double */
    PAWL__WIRE_WORD,   /* an enum, by one of `words`; 0 is left out */
    PAWL__WIRE_JSON,   /* struct pawl_span; empty is left out */
    PAWL__WIRE_ID,     /* struct pawl_job_id; zeroes are left out */
    PAWL__WIRE_ID_AT,  /* const struct pawl_job_id *; NULL is left out */
    PAWL__WIRE_ONE,    /* a struct of `shape`; left out when all of it is */
    PAWL__WIRE_ROW,    /* T[extent] of int64_t; always there */
    /* a pointer to `count` (a size_t at count_offset) of something; none is left out: */
    PAWL__WIRE_TEXTS,  /* const char * */
    PAWL__WIRE_IDS,    /* struct pawl_job_id */
    PAWL__WIRE_INT32S, /* int32_t */
    PAWL__WIRE_MANY    /* structs of `shape` */
};

struct pawl__wire_words {
    const char *const *at; /* by number; NULL: there is no such number */
    uint32_t count;
};

struct pawl__wire_field {
    const char *name;
    enum pawl__wire_kind kind;
    size_t offset;
    size_t count_offset;
    size_t extent;
    const struct pawl__wire_shape *shape;
    const struct pawl__wire_words *words;
};

struct pawl__wire_shape {
    const struct pawl__wire_field *fields;
    size_t count;
    size_t bytes;
    /* Which fields it may have depends on the first one, a WORD. By number: the offsets of the
     * others, until 0; NULL: none. NULL here: all, in any case. */
    const uint16_t *const *members;
};

#endif
