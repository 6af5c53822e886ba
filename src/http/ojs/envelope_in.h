/* What the readers of an envelope and of its policies share; others include envelope.h. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_IN_H
#define PAWL_HTTP_OJS_ENVELOPE_IN_H

#include "base/nearest.h"
#include "http/ojs/envelope.h"
#include "http/ojs/envelope_fields.h"

#define PAWL__OJS_MS_MAX INT64_C(3155760000000)  /* a hundred years: no duration is longer */
#define PAWL__OJS_RETRY_INITIAL_MS INT64_C(1000) /* of retry policies that name none */

/* One envelope being read. */
struct pawl__reader {
    const struct pawl__json *json;
    const struct pawl__envelope_rules *rules;
    struct pawl__arena *arena;
    struct pawl__envelope *out;
    struct pawl__fault *fault;
    uint32_t at[PAWL__FIELD_END]; /* the value of each known member; 0: not given, or null */
    uint64_t in_options;          /* which of them come from there */
    struct pawl__buf extra;       /* what is kept as it stands, without the last brace */
};

/* ---- any member of a member ---- */

/* Which member, for what is said of it: "options.retry.max_attempts". */
struct pawl__where {
    enum pawl__field field;
    const char *sub;            /* NULL: the field itself */
    enum pawl__fault_kind kind; /* [INVALID_REQUEST] */
};

/* All return false once they have refused; `token` is the value to read. */
bool pawl__reader_refuse(struct pawl__reader *reader, const struct pawl__where *where,
                         const char *format, ...) PAWL_PRINTF(3, 4);
bool pawl__reader_nomem(struct pawl__reader *reader);
/* A string without NULs, in the arena. */
bool pawl__reader_text(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                       const char **out);
/* An array of such strings, none of them empty. */
bool pawl__reader_texts(struct pawl__reader *reader, const struct pawl__where *where,
                        uint32_t token, const char *const **out, size_t *count);
bool pawl__reader_int(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                      int64_t min, int64_t max, int64_t *out);
bool pawl__reader_type(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                       enum pawl__json_type type, const char *type_text);

/* A member's name, unescaped; at is NULL: no memory. */
struct pawl_span pawl__reader_name(struct pawl__reader *reader, uint32_t name);

/* A member without effect: `parent` is the path of the object that has it ("", "options.",
 * "retry."), `offer` names what it could have meant; NULL: it is known, but not here. Warns, or
 * refuses where the rules are strict. Extensions pass. */
typedef void pawl__offer_fn(struct pawl__nearest *nearest);
bool pawl__reader_unknown(struct pawl__reader *reader, const char *parent, struct pawl_span name,
                          pawl__offer_fn *offer);

/* ---- a field: the value that was given for it ---- */

bool pawl__reader_refuse_field(struct pawl__reader *reader, enum pawl__field field,
                               const char *format, ...) PAWL_PRINTF(3, 4);
bool pawl__reader_of_type(struct pawl__reader *reader, enum pawl__field field,
                          enum pawl__json_type type, const char *type_text);
bool pawl__reader_string(struct pawl__reader *reader, enum pawl__field field, const char **out);
bool pawl__reader_whole(struct pawl__reader *reader, enum pawl__field field, int64_t min,
                        int64_t max, int64_t *out);
/* Seconds, as ms. */
bool pawl__reader_seconds(struct pawl__reader *reader, enum pawl__field field, int64_t min,
                          int64_t *out_ms);
/* Of two spellings of one thing that one which counts; NONE: neither is there. */
enum pawl__field pawl__reader_choose(const struct pawl__reader *reader, enum pawl__field first,
                                     enum pawl__field second);

/* ---- what comes back as it was written ---- */

void pawl__reader_keep(struct pawl__reader *reader, enum pawl__field field);
void pawl__reader_keep_as(struct pawl__reader *reader, enum pawl__field field,
                          struct pawl_span value);
/* Unless printing the number gives the same bytes. */
void pawl__reader_keep_unless_plain(struct pawl__reader *reader, enum pawl__field field,
                                    int64_t value);
/* `name` in its quotes. */
void pawl__reader_keep_span(struct pawl__reader *reader, struct pawl_span name,
                            struct pawl_span value);

/* ---- the parts of an envelope; into reader->out ---- */

bool pawl__envelope_read_meta(struct pawl__reader *reader);
bool pawl__envelope_read_times(struct pawl__reader *reader);
/* Policies, if they were given. */
bool pawl__policy_retry(struct pawl__reader *reader);
bool pawl__policy_unique(struct pawl__reader *reader);

#endif
