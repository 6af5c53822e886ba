/* The keys that the store compares; see store.h. */
#include "store/store.h"

#include "base/diag.h"
#include "base/sha256.h"

#include <assert.h>
#include <string.h>

static struct pawl__key make(enum pawl__key_kind kind, const char *at, size_t len)
{
    struct pawl__key key = { .kind = kind };
    struct pawl__sha256 sha;
    uint8_t digest[32];
    uint8_t prefix = (uint8_t)kind;
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, &prefix, 1);
    pawl__sha256_add(&sha, at, len);
    pawl__sha256_end(&sha, digest);
    memcpy(key.digest, digest, sizeof key.digest);
    return key;
}

enum pawl_err pawl__key_unique(const struct pawl_job_spec *spec,
                               const struct pawl__payloads *payloads, struct pawl__arena *scratch,
                               struct pawl__buf *buf, struct pawl__key *out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__fingerprint(spec, payloads, scratch, buf, diag);
    if (err) return err;
    *out = make(PAWL__KEY_UNIQUE, buf->at, buf->len);
    out->states = pawl__unique_states(&spec->unique);
    out->period_ms = spec->unique.period_ms;
    out->on_conflict = pawl__unique_conflict(&spec->unique);
    return PAWL_OK;
}

static struct pawl__key *add(struct pawl__new_job *job, enum pawl__key_kind kind, const char *text)
{
    assert(job->key_count < PAWL__KEYS_MAX);
    struct pawl__key *key = &job->keys[job->key_count++];
    *key = make(kind, text, strlen(text));
    return key;
}

enum pawl_err pawl__keys_make(const struct pawl_job_spec *spec,
                              const struct pawl__payloads *payloads, struct pawl__arena *scratch,
                              struct pawl__buf *buf, struct pawl__new_job *job,
                              struct pawl_diag *diag)
{
    job->key_count = 0;
    if (spec->idempotency_key) {
        struct pawl__key *key = add(job, PAWL__KEY_IDEMPOTENCY, spec->idempotency_key);
        key->states = pawl__states_known;
        key->period_ms = spec->idempotency_ms;
        key->on_conflict = PAWL_CONFLICT_IGNORE;
    }
    if (spec->business_key) {
        struct pawl__key *key = add(job, PAWL__KEY_BUSINESS, spec->business_key);
        key->states = pawl__states_live;
        key->on_conflict = PAWL_CONFLICT_REJECT;
    }
    if (!spec->unique.keys) return PAWL_OK;
    return pawl__key_unique(spec, payloads, scratch, buf, &job->keys[job->key_count++], diag);
}
