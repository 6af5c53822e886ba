/* What makes two jobs the same: checks of the unique policy, fingerprints, and the keys that the
 * store compares. A digest is the first 16 bytes of SHA-256 over a byte for the kind of key and
 * then, for idempotency and business keys, the key's text; for a unique policy, one canonical JSON
 * object of the dimensions that count:
 *
 *     {"args":[1,{"to":"a"}],"meta":{"tenant":"t"},"queue":"default","type":"mail.send"}
 *
 * With args_keys, "args" is an object instead: each name with the list of values it has in the
 * object elements of args. Digests are stored, so this form must not change. */
#ifndef PAWL_API_UNIQUE_H
#define PAWL_API_UNIQUE_H

#include "base/json.h"
#include "store/store.h"

/* A spec's payloads as tokens. meta.count is 0 when there is no meta. */
struct pawl__payloads {
    struct pawl__json args; /* an array */
    struct pawl__json meta; /* an object */
};

/* ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__unique_check(const struct pawl_unique *unique,
                                                 struct pawl_diag *diag);
/* The policy that pawl__unique_print prints, or that somebody wrote in its form. What it points to
 * lives in `arena`. ARG, LIMIT: not such an object; what it says is not checked. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__unique_parse(struct pawl_span json, struct pawl__arena *arena,
                                                 struct pawl_unique *out, struct pawl_diag *diag);
/* The policy as JSON into an empty buffer: its dimensions and conflict rule, the rest only where it
 * was given. Nothing for no policy. */
void pawl__unique_print(const struct pawl_unique *unique, struct pawl__buf *out);

/* The keys of a checked spec, into job->keys and job->key_count. `scratch` and `buf` are used on
 * the way. ARG: args_keys names a member that no object in args has. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__keys_make(const struct pawl_job_spec *spec,
                                              const struct pawl__payloads *payloads,
                                              struct pawl__arena *scratch, struct pawl__buf *buf,
                                              struct pawl__new_job *job, struct pawl_diag *diag);

#endif
