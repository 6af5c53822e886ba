/* Structs as JSON and back, by tables: one reader and one writer for every surface.
 *
 * A shape lists the members of a JSON object: name, kind, place in a struct. The reader fills in
 * the struct, the writer prints it, from the same table:
 *
 *     #define S struct point
 *     static const struct pawl__member point_members[] = {
 *         PAWL__MEMBER("name", TEXT, S, name, .flags = PAWL__REQUIRED, .max = 20),
 *         PAWL__MEMBER("x", INT64, S, x, .flags = PAWL__ALWAYS),
 *         PAWL__MEMBER("tags", TEXTS, S, tags, PAWL__COUNTED(S, tag_count)),
 *     };
 *     static const struct pawl__shape point_shape = PAWL__SHAPE(S, point_members);
 *
 * A table does not compile if the C type of a field does not fit the kind of its member.
 *
 * Names. Several members may set the same field. Members that are other spellings are marked ALIAS
 * and are not printed. If two members have the same name, the first is used, by the reader and by
 * the writer: a few special members can stand before a list that a macro expands to, which contains
 * them again. Members named "" are neither read nor printed. The lookup of a name is a hash lookup.
 *
 * Absent members. The reader leaves the field unchanged; pawl__shape_clear sets the defaults. The
 * writer omits values that are zero or empty, unless the member is marked ALWAYS.
 *
 * Memory. Tables are static. The reader borrows the text, and allocates strings, lists and ids from
 * the caller's arena; nothing is allocated for other members.
 *
 * Any thread; a reader or a writer belongs to one thread at a time. */
#ifndef PAWL_BASE_SHAPE_H
#define PAWL_BASE_SHAPE_H

#include "base/buf.h"
#include "base/json.h"

#include <pawl/job.h>

#include <stdatomic.h>
#include <stddef.h>

/* ---- tables ---- */

/* The kinds, each with the C type of the field. */
enum pawl__as {
    PAWL__AS_TEXT = 1, /* const char *; NULL is absent. `min` and `max` count bytes */
    PAWL__AS_NAME,     /* const char *; "" is absent, and what pawl__shape_clear sets */
    PAWL__AS_CHARS,    /* char[extent] */
    PAWL__AS_INT64,    /* int64_t; from `min` to `max` unless both are 0 */
    PAWL__AS_INT32,    /* int32_t; likewise */
    PAWL__AS_MASK,     /* uint32_t, as a number */
    PAWL__AS_SET,      /* uint32_t, as an array of `words`; bit n stands for word n */
    PAWL__AS_BOOL,     /* bool */
    PAWL__AS_SWITCH,   /* an enum: 1 is true, 2 is false, 0 is absent */
    PAWL__AS_REAL, /* double; at least `min` unless it is 0; printed with `extent` digits, or if 0
                    * with the fewest that round-trip
                    */
    PAWL__AS_WORD, /* an enum, as one of `words` */
    PAWL__AS_INSTANT,  /* int64_t, ms since the epoch, as RFC 3339; see `now_ms` of the reader */
    PAWL__AS_DURATION, /* int64_t, ms; reads "5s" and "PT5S", prints "PT5S" */
    PAWL__AS_SECONDS,  /* int64_t, ms; reads a number of seconds too, prints as DURATION */
    PAWL__AS_PERIOD,   /* int64_t, ms; reads ISO 8601 alone, with years and months: "P1M" */
    PAWL__AS_JSON,     /* struct pawl_span: any value as it stands */
    PAWL__AS_ARRAY,    /* the same, an array; printed as [] when it is empty and ALWAYS */
    PAWL__AS_OBJECT,   /* the same, an object; likewise */
    PAWL__AS_ID,       /* struct pawl_job_id; zeroes are absent */
    PAWL__AS_ID_AT,    /* const struct pawl_job_id *; NULL is absent */
    PAWL__AS_ONE,      /* an object of `shape`; absent when all its members are */
    PAWL__AS_PART,     /* a struct of `shape` whose members stand here; printed, not read */
    PAWL__AS_ROW,      /* int64_t[extent]; never absent */
    /* A pointer; the size_t at count_offset is the length. `min` and `max` count elements: */
    PAWL__AS_TEXTS,  /* const char * */
    PAWL__AS_IDS,    /* struct pawl_job_id */
    PAWL__AS_INT32S, /* int32_t */
    PAWL__AS_MANY,   /* objects of `shape` */
    PAWL__AS_OWN,    /* any type; read and printed by the member's functions */
    PAWL__AS_NOTHING /* a known name that is ignored; not printed */
};

enum {
    PAWL__ALIAS = 1,     /* read, not printed */
    PAWL__ALWAYS = 2,    /* printed even if it is zero or empty */
    PAWL__REQUIRED = 4,  /* the object is refused without it */
    PAWL__NOT_ZERO = 8,  /* a number or duration of 0 is refused, in TEXTS an empty string */
    PAWL__NEGATIVE = 16, /* absent if it is negative, not if it is 0 */
    PAWL__NULLABLE = 32, /* printed as null if it is absent; when it is read, null is a value */
};

struct pawl__shape;
struct pawl__member;
struct pawl__shape_reader;
struct pawl__shape_writer;

/* Called before the value at `token` is read; if the kind is OWN, instead. `base` is the struct. */
typedef enum pawl_err pawl__member_read_fn(struct pawl__shape_reader *reader,
                                           const struct pawl__member *member, uint32_t token,
                                           void *base);
/* Prints the value. If it prints nothing, the member is omitted. */
typedef void pawl__member_print_fn(const struct pawl__shape_writer *writer,
                                   const struct pawl__member *member, const void *base);

/* The words of an enum, by number; NULL for an unused number. */
struct pawl__words {
    const char *const *at;
    uint32_t count;
    bool any_case;     /* read in capital letters too */
    const char *other; /* one more spelling that is read; NULL: none */
    uint32_t other_is;
};

/* What a TEXT or NAME must look like. */
struct pawl__pattern {
    const char *regex; /* for documentation */
    bool (*matches)(const char *text);
    const char *rule; /* "must be ..." */
};

struct pawl__member {
    const char *name;
    const void *at; /* of a value that is in no struct (PAWL__HERE); else NULL */
    const struct pawl__shape *shape;
    const struct pawl__words *words;
    const struct pawl__pattern *pattern;
    pawl__member_read_fn *read;
    pawl__member_print_fn *print;
    int64_t min, max;
    uint32_t offset;
    uint32_t count_offset;
    uint32_t extent;
    uint8_t len;  /* of the name */
    uint8_t kind; /* enum pawl__as */
    uint8_t flags;
    uint8_t wire; /* for documentation: the kind that the JSON of an OWN has; 0: any value */
};

enum { PAWL__SHAPE_SLOTS = 256, PAWL__SHAPE_MEMBERS_MAX = 128 };

/* A hash table of the names, built at the first lookup by any thread. */
struct pawl__shape_index {
    _Atomic bool built;
    _Atomic uint8_t slots[PAWL__SHAPE_SLOTS]; /* place + 1 */
};

struct pawl__shape {
    const struct pawl__member *members;
    size_t count;
    size_t bytes;                    /* of the struct */
    struct pawl__shape_index *index; /* NULL: linear search */
    /* If not NULL, the first member is a WORD that decides which other members are allowed: for
     * each number their offsets, ended by 0, or NULL if there are none. */
    const uint16_t *const *choices;
};

#define PAWL__IS_OF(type, member, wanted)                                                          \
    __builtin_types_compatible_p(typeof(((type *)0)->member), wanted)
#define PAWL__IS_AS_LONG(type, member, bytes) (sizeof(((type *)0)->member) == (bytes))
#define PAWL__FITS_TEXT(type, member) PAWL__IS_OF(type, member, const char *)
#define PAWL__FITS_NAME PAWL__FITS_TEXT
#define PAWL__FITS_CHARS(type, member) 1
#define PAWL__FITS_INT64(type, member) PAWL__IS_OF(type, member, int64_t)
#define PAWL__FITS_INSTANT PAWL__FITS_INT64
#define PAWL__FITS_DURATION PAWL__FITS_INT64
#define PAWL__FITS_SECONDS PAWL__FITS_INT64
#define PAWL__FITS_PERIOD PAWL__FITS_INT64
#define PAWL__FITS_INT32(type, member) PAWL__IS_OF(type, member, int32_t)
#define PAWL__FITS_MASK(type, member) PAWL__IS_OF(type, member, uint32_t)
#define PAWL__FITS_SET PAWL__FITS_MASK
#define PAWL__FITS_BOOL(type, member) PAWL__IS_OF(type, member, bool)
#define PAWL__FITS_REAL(type, member) PAWL__IS_OF(type, member, double)
#define PAWL__FITS_SWITCH(type, member) PAWL__IS_AS_LONG(type, member, sizeof(uint32_t))
#define PAWL__FITS_WORD PAWL__FITS_SWITCH
#define PAWL__FITS_JSON(type, member) PAWL__IS_OF(type, member, struct pawl_span)
#define PAWL__FITS_ARRAY PAWL__FITS_JSON
#define PAWL__FITS_OBJECT PAWL__FITS_JSON
#define PAWL__FITS_ID(type, member) PAWL__IS_OF(type, member, struct pawl_job_id)
#define PAWL__FITS_ID_AT(type, member) PAWL__IS_OF(type, member, const struct pawl_job_id *)
#define PAWL__FITS_ONE(type, member) 1
#define PAWL__FITS_PART PAWL__FITS_ONE
#define PAWL__FITS_ROW(type, member) PAWL__IS_OF(type, member[0], int64_t)
#define PAWL__FITS_TEXTS(type, member) PAWL__IS_AS_LONG(type, member, sizeof(void *))
#define PAWL__FITS_IDS PAWL__FITS_TEXTS
#define PAWL__FITS_INT32S PAWL__FITS_TEXTS
#define PAWL__FITS_MANY PAWL__FITS_TEXTS
#define PAWL__FITS_OWN PAWL__FITS_ONE
#define PAWL__FITS_NOTHING PAWL__FITS_ONE

/* The offset of a member; an array of negative size if its type does not fit the kind. */
#define PAWL__OFFSET(kind, type, member)                                                           \
    (offsetof(type, member) + 0 * sizeof(char[PAWL__FITS_##kind(type, member) ? 1 : -1]))

/* A member of a table. The rest are initialisers, such as .flags = PAWL__ALIAS. */
#define PAWL__MEMBER(text, kind_name, type, member, ...)                                           \
    {                                                                                              \
        .name = (text), .len = sizeof(text) - 1, .kind = PAWL__AS_##kind_name,                     \
        .offset = PAWL__OFFSET(kind_name, type, member), __VA_ARGS__                               \
    }
#define PAWL__COUNTED(type, counter) .count_offset = offsetof(type, counter)
/* Of an OWN or ONE: it is absent, even if it is ALWAYS, when this field of the struct is zero. */
#define PAWL__IF(type, member)                                                                     \
    .count_offset = offsetof(type, member), .extent = sizeof(((type *)0)->member)
/* A member that takes the whole struct: an OWN, ONE or PART that uses several fields. */
#define PAWL__WHOLE(text, kind_name, ...)                                                          \
    {                                                                                              \
        .name = (text), .len = sizeof(text) - 1, .kind = PAWL__AS_##kind_name, __VA_ARGS__         \
    }
/* clang-format off */
#define PAWL__SHAPE(type, array, ...)                                                              \
    {                                                                                              \
        .members = (array), .count = sizeof(array) / sizeof *(array), .bytes = sizeof(type),       \
        .index = &(struct pawl__shape_index){ 0 }, __VA_ARGS__                                     \
    }

/* A member whose value is part of no struct, for pawl__members_print. HERE is always printed, SOME
 * unless the value is zero or empty. Valid until the enclosing block ends. */
#define PAWL__HERE(text, kind_name, type, ...)                                                     \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_##kind_name, .at = &(type[1]){ __VA_ARGS__ },             \
        .flags = PAWL__ALWAYS                                                                      \
    }
#define PAWL__SOME(text, kind_name, type, ...)                                                     \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_##kind_name, .at = &(type[1]){ __VA_ARGS__ }              \
    }
/* clang-format on */
struct pawl__texts {
    const char *const *at;
    size_t count;
};

struct pawl__structs {
    const void *at;
    size_t count;
};

#define PAWL__HERE_TEXT(text, value) PAWL__HERE(text, NAME, const char *, value)
#define PAWL__HERE_INT(text, value) PAWL__HERE(text, INT64, int64_t, value)
#define PAWL__HERE_BOOL(text, value) PAWL__HERE(text, BOOL, bool, value)
#define PAWL__HERE_ID(text, value) PAWL__HERE(text, ID, struct pawl_job_id, value)
#define PAWL__HERE_TEXTS(text, list, list_count)                                                   \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_TEXTS, .flags = PAWL__ALWAYS,                             \
        .at = &(struct pawl__texts){ (list), (list_count) },                                       \
        .count_offset = offsetof(struct pawl__texts, count)                                        \
    }
#define PAWL__SOME_TEXT(text, value) PAWL__SOME(text, NAME, const char *, value)
#define PAWL__SOME_INT(text, value) PAWL__SOME(text, INT64, int64_t, value)
#define PAWL__SOME_INSTANT(text, value) PAWL__SOME(text, INSTANT, int64_t, value)
/* An object of such members, and an array of structs. */
#define PAWL__HERE_OBJECT(text, ...)                                                               \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_ONE, .flags = PAWL__ALWAYS, .at = "",                     \
        .shape = &(struct pawl__shape)                                                             \
        {                                                                                          \
            .members = (const struct pawl__member[]){ __VA_ARGS__ },                               \
            .count = sizeof((const struct pawl__member[]){ __VA_ARGS__ }) /                        \
                     sizeof(struct pawl__member)                                                   \
        }                                                                                          \
    }
#define PAWL__HERE_MANY(text, shape_pointer, list, list_count)                                     \
    {                                                                                              \
        .name = (text), .kind = PAWL__AS_MANY, .flags = PAWL__ALWAYS, .shape = (shape_pointer),    \
        .at = &(struct pawl__structs){ (list), (list_count) },                                     \
        .count_offset = offsetof(struct pawl__structs, count)                                      \
    }
/* The members of the struct at `pointer`. */
#define PAWL__PART(shape_pointer, pointer)                                                         \
    {                                                                                              \
        .name = "", .kind = PAWL__AS_PART, .at = (pointer), .shape = (shape_pointer)               \
    }

/* ---- the reader ---- */

enum pawl__unknown {
    PAWL__UNKNOWN_SKIP = 0,
    PAWL__UNKNOWN_REFUSE,
    PAWL__UNKNOWN_KEEP /* keeps those of the outermost object, refuses those of nested ones */
};

/* Called for each unknown member that is to be refused or kept. An error refuses it. */
typedef enum pawl_err pawl__unknown_fn(struct pawl__shape_reader *reader,
                                       const struct pawl__shape *shape, const char *name);

struct pawl__shape_frame {
    const struct pawl__shape_frame *up;
    const struct pawl__member *member;
};

/* `arena` is required; options that are zero have the meaning in brackets. */
struct pawl__shape_reader {
    struct pawl__json json; /* the parsed text */
    struct pawl__arena *arena;
    struct pawl_diag *diag; /* may be NULL */
    const char *root;       /* the error if the outermost value is not an object */
    enum pawl__unknown unknown;
    pawl__unknown_fn *on_unknown; /* [an error with a suggestion, or none for KEEP] */
    void *ctx;                    /* for functions */
    bool null_is_absent;          /* null counts as an absent member [a value of a wrong kind] */
    bool null_is_unknown;         /* then also under an unknown name [such a member is ignored] */
    bool bits_are_bools;          /* a BOOL may be 0 or 1 */
    bool plain_names;             /* errors name members without quotes */
    bool paths;                   /* errors name members as "retry.jitter" [as "jitter"] */
    const char *prefix;           /* what paths begin with [nothing] */
    int64_t now_ms;               /* base of instants such as "+PT5S" [these are refused] */
    size_t list_bytes_max;        /* limit for all lists together [none] */
    /* The reader's own: */
    size_t list_bytes;
    const struct pawl__shape_frame *inside;
    struct pawl__buf kept; /* unknown members so far, without the closing brace */
};

/* Sets what absent members mean: zero, and "" for a NAME and in spans, which are never NULL. */
void pawl__shape_clear(const struct pawl__shape *shape, void *out);
/* Reads the object at `token` of reader->json into the struct at `out`. ARG: a member is of a wrong
 * kind, unknown or missing; the diagnosis names it. LIMIT: the lists are too long. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__shape_read(struct pawl__shape_reader *reader,
                                               const struct pawl__shape *shape, uint32_t token,
                                               void *out);
/* Parses `text` into reader->json first. ARG: not JSON, too. LIMIT: nested too deep, too. */
PAWL_MUST_CHECK enum pawl_err pawl__shape_read_text(struct pawl__shape_reader *reader,
                                                    struct pawl_span text, uint32_t depth_max,
                                                    const struct pawl__shape *shape, void *out);
/* Sets `out` to an object with the members that were kept, in the arena, unless there are none.
 * Must be called after PAWL__UNKNOWN_KEEP, also after an error, then with NULL: it releases them.
 */
PAWL_MUST_CHECK enum pawl_err pawl__shape_kept(struct pawl__shape_reader *reader,
                                               struct pawl_span *out);

/* For functions of members and of unknown members: */

/* Fails with ARG. The message is the member's name and the formatted rule. */
enum pawl_err pawl__shape_refuse(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* Reads the value at `token` by the kind of `member`, without calling its function. */
PAWL_MUST_CHECK enum pawl_err pawl__shape_value(struct pawl__shape_reader *reader,
                                                const struct pawl__member *member, uint32_t token,
                                                void *base);
/* The known name that is most similar to `name`; NULL if none is. */
const char *pawl__shape_nearest(const struct pawl__shape *shape, const char *name);
/* The member of that name, or NULL. */
const struct pawl__member *pawl__shape_find(const struct pawl__shape *shape, const char *name,
                                            size_t len);

/* ---- the writer ---- */

struct pawl__shape_writer {
    struct pawl__buf *out; /* out->failed: out of memory */
    const void *ctx;       /* for functions */
    bool compact;          /* omits the white space in payloads */
};

/* Appends the struct at `at` as an object. */
void pawl__shape_print(const struct pawl__shape_writer *writer, const struct pawl__shape *shape,
                       const void *at);
/* Appends its members alone. `any`: others stand before them. */
void pawl__shape_print_members(const struct pawl__shape_writer *writer,
                               const struct pawl__shape *shape, const void *at, bool *any);
/* Appends `count` structs as an array. */
void pawl__shape_print_list(const struct pawl__shape_writer *writer,
                            const struct pawl__shape *shape, const void *list, size_t count);
/* Appends an object of members that are part of no table. */
void pawl__members_print(const struct pawl__shape_writer *writer,
                         const struct pawl__member *members, size_t count);
#define PAWL__PRINT(writer, ...)                                                                   \
    pawl__members_print((writer), (const struct pawl__member[]){ __VA_ARGS__ },                    \
                        sizeof((const struct pawl__member[]){ __VA_ARGS__ }) /                     \
                            sizeof(struct pawl__member))
/* "PT1.5S" */
void pawl__buf_add_iso_duration(struct pawl__buf *out, int64_t ms);

#endif
