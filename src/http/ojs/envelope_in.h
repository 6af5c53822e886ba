/* What the files of the reader of envelopes share; other files include envelope.h. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_IN_H
#define PAWL_HTTP_OJS_ENVELOPE_IN_H

#include "base/check.h"
#include "http/ojs/envelope.h"
#include "http/ojs/envelope_fields.h"

#define PAWL__OJS_MS_MAX PAWL__DURATION_MAX_MS
#define PAWL__OJS_RETRY_INITIAL_MS INT64_C(1000) /* of retry policies that do not say */

/* What the members are read into; PAWL__FIELDS names its fields. */
struct pawl__draft {
    struct pawl__envelope job;
    const char *specversion, *id, *schema;
    struct pawl_span metadata, version;
    int64_t scheduled_ms, delay_until_ms, delay_ms, expires_ms, ttl_ms;
    int64_t seconds_ms, total_ms, grace_ms, timeout_ms; /* limits of a run */
    int64_t lease_seconds_ms, lease_ms, heartbeat_ms, keep_ms;
};

/* One envelope that is being read. */
struct pawl__reader {
    struct pawl__shape_reader shape; /* first */
    struct pawl__draft draft;
    const struct pawl__envelope_rules *rules;
    struct pawl__fault *fault;
    struct pawl_diag diag;        /* what the shapes say */
    enum pawl__fault_kind kind;   /* how that is refused */
    uint32_t at[PAWL__FIELD_END]; /* the value of each known member; 0: not given, or null */
    uint64_t in_options;          /* those that are from "options" */
    bool attempts_given, keys_given;
    struct pawl__buf extra; /* the members to keep as they were written, without the last brace */
};

/* The following return false after a refusal. */

/* The message is the path of the field, or of its member `sub` unless that is NULL, and the rule.
 */
bool pawl__reader_refuse(struct pawl__reader *reader, enum pawl__fault_kind kind,
                         enum pawl__envelope_field field, const char *sub, const char *format, ...)
    PAWL_PRINTF(5, 6);
bool pawl__reader_nomem(struct pawl__reader *reader);
/* The members that this shape's reader refused. */
bool pawl__reader_fail(struct pawl__reader *reader, enum pawl_err err);

/* Of two names for one thing, the given one; if both are, `first` unless only `second` is in
 * "options". NONE: neither is given. */
enum pawl__envelope_field pawl__reader_choose(const struct pawl__reader *reader,
                                              enum pawl__envelope_field first,
                                              enum pawl__envelope_field second);

/* Puts a member into the job's extra members. */
void pawl__reader_keep(struct pawl__reader *reader, enum pawl__envelope_field field);
void pawl__reader_keep_as(struct pawl__reader *reader, enum pawl__envelope_field field,
                          struct pawl_span value);
/* Unless the number, printed, is the same text. */
void pawl__reader_keep_unless_plain(struct pawl__reader *reader, enum pawl__envelope_field field,
                                    int64_t value);

/* ---- what several members mean together ---- */

bool pawl__envelope_finish_meta(struct pawl__reader *reader);
bool pawl__envelope_finish_due(struct pawl__reader *reader);
bool pawl__envelope_finish_expiry(struct pawl__reader *reader);
bool pawl__envelope_finish_timeout(struct pawl__reader *reader);
bool pawl__envelope_finish_lease(struct pawl__reader *reader);
bool pawl__envelope_finish_policies(struct pawl__reader *reader);

/* ---- functions of members ---- */

/* An instant, or a duration from now, which is kept as an instant; a number of seconds; a duration
 * in any spelling. */
pawl__member_read_fn pawl__read_instant, pawl__read_seconds, pawl__read_delay;
/* Before a number of attempts is read, or a policy. */
pawl__member_read_fn pawl__note_attempts, pawl__note_policy;

#endif
