/* Whether and when a failed job runs again. One policy struct expresses the policies of all three
 * systems; they differ only in parameters.
 *
 * Invariants:
 * 1. no wait is negative or over its cap, for any numbers in the policy, including NaN;
 * 2. a wait without jitter whose coefficient is an integer is exact;
 * 3. random numbers are drawn only for jitter.
 *
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include "base/diag.h"
#include "base/utf8.h"
#include "fields/fields.h"

#include <assert.h>
#include <math.h>

/* The meaning of a zero field, as documented in pawl/job.h. */
static const struct pawl_retry defaults = {
    .attempts_max = 3,
    .backoff = PAWL_BACKOFF_EXPONENTIAL,
    .initial_ms = 1000,
    .coefficient = 2,
    .cap_ms = 300000,
    .jitter = PAWL_JITTER_ON,
    .jitter_low = 0.5,
    .jitter_high = 1.5,
    .on_exhaustion = PAWL_EXHAUSTION_DISCARD,
};

enum {
    RATCHET_EXPONENT_MAX = 20,
    RATCHET_CAP_MS = 24 * 60 * 60 * 1000,
    MARIE_EXPONENT_MAX = 15,
    MARIE_BACKOFF_MIN_MS = 1000
};

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* ---- presets ---- */

struct pawl_retry pawl__retry_ojs(void)
{
    return defaults;
}

/* Both older systems count retries after the first run; pawl counts runs. */
static int32_t runs(int32_t retries)
{
    return (int32_t)clamp((int64_t)retries + 1, 1, INT32_MAX);
}

struct pawl_retry pawl__retry_ratchet(enum pawl__ratchet_backoff backoff, int32_t retries,
                                      int64_t base_ms)
{
    struct pawl_retry retry = defaults;
    retry.attempts_max = runs(retries);
    retry.jitter = PAWL_JITTER_OFF;
    retry.on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER; // Ratchet's FAILED rows are its dead letters
    retry.cap_ms = RATCHET_CAP_MS;
    if (backoff == PAWL__RATCHET_NONE || base_ms <= 0) {
        retry.backoff = PAWL_BACKOFF_IMMEDIATE;
    } else if (backoff == PAWL__RATCHET_FIXED) { // the cap applies to growing waits only
        retry.backoff = PAWL_BACKOFF_CONSTANT;
        retry.initial_ms = clamp(base_ms, 1, PAWL__RETRY_MS_MAX);
        retry.cap_ms = clamp(retry.initial_ms, RATCHET_CAP_MS, PAWL__RETRY_MS_MAX);
    } else {
        retry.initial_ms = clamp(base_ms, 1, RATCHET_CAP_MS);
        retry.exponent_max = RATCHET_EXPONENT_MAX;
    }
    return retry;
}

struct pawl_retry pawl__retry_marie(int32_t limit, int64_t delay_ms, bool backoff, bool jitter)
{
    struct pawl_retry retry = defaults;
    retry.attempts_max = runs(limit);
    retry.cap_ms = PAWL__RETRY_MS_MAX;
    retry.jitter = jitter ? PAWL_JITTER_ON : PAWL_JITTER_OFF;
    retry.jitter_low = 1;
    retry.jitter_high = 2;
    if (backoff) {
        retry.exponent_max = MARIE_EXPONENT_MAX;
        retry.initial_ms = delay_ms > 0 ? clamp(delay_ms, 1, PAWL__RETRY_MS_MAX)
                                        : MARIE_BACKOFF_MIN_MS;
    } else if (delay_ms > 0) {
        retry.backoff = PAWL_BACKOFF_CONSTANT;
        retry.initial_ms = clamp(delay_ms, 1, PAWL__RETRY_MS_MAX);
    } else {
        retry.backoff = PAWL_BACKOFF_IMMEDIATE;
    }
    return retry;
}

/* ---- resolve and check ---- */

#define RESOLVE(member)                                                                            \
    if (retry->member == 0) retry->member = defaults.member;
#define RESOLVE_I32(member) RESOLVE(member)
#define RESOLVE_I64(member) RESOLVE(member)
#define RESOLVE_REAL(member) RESOLVE(member)
#define RESOLVE_BACKOFF(member) RESOLVE(member)
#define RESOLVE_JITTER(member) RESOLVE(member)
#define RESOLVE_EXHAUSTION(member) RESOLVE(member)
#define RESOLVE_TEXTS(member) // an empty list stays empty

void pawl__retry_resolve(struct pawl_retry *retry)
{
    // a long first wait without a cap is not a contradiction
    if (!retry->cap_ms) retry->cap_ms = clamp(retry->initial_ms, defaults.cap_ms, INT64_MAX);
#define X(member, kind, ...) RESOLVE_##kind(member)
    PAWL__RETRY_FIELDS(X)
#undef X
}

static bool is_utf8(const char *at, size_t len)
{
    const char *end = at + len;
    for (int step; at < end; at += step) {
        step = pawl__utf8_step(at, end);
        if (step < 0) return false;
    }
    return true;
}

static enum pawl_err check_list(const struct pawl_retry *retry, struct pawl_diag *diag)
{
    static const char field[] = "retry.non_retryable";
    if (retry->non_retryable_count > PAWL__NON_RETRYABLE_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, field, "\"%s\" has %zu entries, at most %d",
                                field, retry->non_retryable_count, PAWL__NON_RETRYABLE_MAX);
    }
    for (size_t i = 0; i < retry->non_retryable_count; i++) {
        const char *entry = retry->non_retryable ? retry->non_retryable[i] : NULL;
        size_t len = entry ? strnlen(entry, PAWL__NON_RETRYABLE_BYTES_MAX + 1) : 0;
        if (len == 0) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, field, "entry %zu of \"%s\" is empty", i,
                                    field);
        }
        if (len > PAWL__NON_RETRYABLE_BYTES_MAX) {
            return pawl__fail_field(diag, PAWL_ERR_LIMIT, field,
                                    "entry %zu of \"%s\" is over %d bytes", i, field,
                                    PAWL__NON_RETRYABLE_BYTES_MAX);
        }
        if (!is_utf8(entry, len)) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, field, "entry %zu of \"%s\" is not UTF-8",
                                    i, field);
        }
    }
    return PAWL_OK;
}

enum pawl_err pawl__retry_check(const struct pawl_retry *retry, struct pawl_diag *diag)
{
    const struct {
        bool ok;
        const char *field, *rule;
    } rules[] = {
        { retry->attempts_max >= 1, "retry.attempts_max", "must be at least 1" },
        { retry->backoff > PAWL_BACKOFF_DEFAULT && retry->backoff < PAWL_BACKOFF_END,
          "retry.backoff", "is not a kind of backoff" },
        { retry->initial_ms >= 1, "retry.initial_ms", "must be at least 1" },
        { retry->initial_ms <= PAWL__RETRY_MS_MAX, "retry.initial_ms", "is over 100 years" },
        { isfinite(retry->coefficient) && retry->coefficient >= 1, "retry.coefficient",
          "must be a number of at least 1" },
        { retry->cap_ms >= retry->initial_ms, "retry.cap_ms", "is less than initial_ms" },
        { retry->cap_ms <= PAWL__RETRY_MS_MAX, "retry.cap_ms", "is over 100 years" },
        { retry->exponent_max >= 0, "retry.exponent_max", "is negative" },
        { retry->jitter == PAWL_JITTER_ON || retry->jitter == PAWL_JITTER_OFF, "retry.jitter",
          "is neither on nor off" },
        { isfinite(retry->jitter_low) && retry->jitter_low >= 0, "retry.jitter_low",
          "must be a number of at least 0" },
        { isfinite(retry->jitter_high) && retry->jitter_high >= retry->jitter_low,
          "retry.jitter_high", "must be a number of at least jitter_low" },
        { retry->on_exhaustion == PAWL_EXHAUSTION_DISCARD ||
              retry->on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER,
          "retry.on_exhaustion", "is neither discard nor dead_letter" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].ok) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, rules[i].field, "\"%s\" %s", rules[i].field,
                                    rules[i].rule);
        }
    }
    return check_list(retry, diag);
}

/* ---- delay ---- */

/* first * factor^power, limited to the cap. If first and factor are >= 1 no step can overflow,
 * since the multiplied value is below the cap. At most sixty-three steps, since a factor of 1 takes
 * none. */
static int64_t power_exact(int64_t first, int64_t factor, int64_t power, int64_t cap_ms)
{
    unsigned __int128 wait = (unsigned __int128)first, cap = (unsigned __int128)cap_ms;
    if (factor == 1) power = 0;
    for (; power > 0 && wait < cap; power--) {
        wait *= (uint64_t)factor;
    }
    return wait < cap ? (int64_t)wait : cap_ms;
}

/* The same for numbers with a fraction; infinity is limited to the cap. */
static int64_t power_rounded(int64_t first, double factor, double power, int64_t cap_ms)
{
    double wait = round((double)first * pow(factor, power));
    return wait < (double)cap_ms ? (int64_t)clamp((int64_t)wait, 0, cap_ms) : cap_ms;
}

static bool is_whole(double value)
{
    return value < 0x1p63 && value == floor(value);
}

static int64_t exponential(const struct pawl_retry *retry, double coefficient, int64_t n)
{
    int64_t power = n - 1;
    if (retry->exponent_max > 0 && power > retry->exponent_max) power = retry->exponent_max;
    if (is_whole(coefficient)) {
        return power_exact(retry->initial_ms, (int64_t)coefficient, power, retry->cap_ms);
    }
    return power_rounded(retry->initial_ms, coefficient, (double)power, retry->cap_ms);
}

static int64_t polynomial(const struct pawl_retry *retry, double coefficient, int64_t n)
{
    if (is_whole(coefficient)) {
        return power_exact(retry->initial_ms, n, (int64_t)coefficient, retry->cap_ms);
    }
    return power_rounded(retry->initial_ms, (double)n, coefficient, retry->cap_ms);
}

/* Requires initial_ms and cap_ms of at least 1, and n >= 1. */
static int64_t plain_delay(const struct pawl_retry *retry, int64_t n)
{
    double coefficient = retry->coefficient >= 1 ? retry->coefficient : 1; // NaN is not
    switch (retry->backoff) {
    case PAWL_BACKOFF_EXPONENTIAL:
        return exponential(retry, coefficient, n);
    case PAWL_BACKOFF_LINEAR:
        return power_exact(retry->initial_ms, n, 1, retry->cap_ms);
    case PAWL_BACKOFF_POLYNOMIAL:
        return polynomial(retry, coefficient, n);
    case PAWL_BACKOFF_CONSTANT:
        return clamp(retry->initial_ms, 0, retry->cap_ms);
    case PAWL_BACKOFF_IMMEDIATE:
        return 0;
    case PAWL_BACKOFF_DEFAULT:
    case PAWL_BACKOFF_END:
        break;
    }
    assert(!"a resolved policy has a backoff");
    return retry->cap_ms;
}

static int64_t jittered(const struct pawl_retry *retry, int64_t wait_ms, struct pawl__rng *rng)
{
    double low = retry->jitter_low, high = retry->jitter_high;
    double factor = low + (high - low) * pawl__rng_unit(rng);
    if (!(factor < high)) factor = low; // rounding may reach the exclusive bound
    double wait = floor((double)wait_ms * factor);
    if (!(wait > 0)) return 0; // NaN is not
    return wait < (double)retry->cap_ms ? (int64_t)wait : retry->cap_ms;
}

int64_t pawl__retry_delay(const struct pawl_retry *retry, int64_t n, struct pawl__rng *rng)
{
    if (retry->initial_ms < 1 || retry->cap_ms < 1) return 0;
    int64_t wait_ms = plain_delay(retry, n < 1 ? 1 : n);
    if (wait_ms == 0 || retry->jitter != PAWL_JITTER_ON) return wait_ms;
    return jittered(retry, wait_ms, rng);
}

/* ---- decide ---- */

static bool has_star(const char *entry, size_t len)
{
    return len >= 2 && entry[len - 2] == '.' && entry[len - 1] == '*';
}

static bool matches(const char *entry, const char *type)
{
    size_t len = strlen(entry);
    return has_star(entry, len) ? strncmp(entry, type, len - 1) == 0 : strcmp(entry, type) == 0;
}

bool pawl__type_is_wild(const char *entry)
{
    return has_star(entry, strlen(entry)) || strcmp(entry, "*") == 0;
}

bool pawl__type_matches(const char *entry, const char *type)
{
    return matches(entry, type) || strcmp(entry, "*") == 0;
}

bool pawl__retry_is_final(const struct pawl_retry *retry, const char *type)
{
    if (!type) return false;
    for (size_t i = 0; i < retry->non_retryable_count; i++) {
        if (matches(retry->non_retryable[i], type)) return true;
    }
    return false;
}

static struct pawl__verdict ended(enum pawl__verdict_kind kind, const char *reason)
{
    return (struct pawl__verdict){ .kind = kind, .delay_ms = -1, .reason = reason };
}

static struct pawl__verdict exhausted(const struct pawl_retry *retry, const char *reason)
{
    bool dead_letter = retry->on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER;
    return ended(dead_letter ? PAWL__VERDICT_DEAD_LETTER : PAWL__VERDICT_DISCARD, reason);
}

/* Commands of a handler, which take precedence over the policy. RETRY is one too, but it is what
 * happens by default. */
static bool ordered(const char *code, struct pawl__verdict *out)
{
    static const struct {
        const char *code;
        enum pawl__verdict_kind kind;
        const char *reason;
    } orders[] = {
        { "DISCARD", PAWL__VERDICT_DISCARD, "discarded by its handler" },
        { "FAIL", PAWL__VERDICT_DISCARD, "failed for good by its handler" },
        { "DEAD_LETTER", PAWL__VERDICT_DEAD_LETTER, "sent to the dead letters by its handler" },
    };
    for (size_t i = 0; code && i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(code, orders[i].code) == 0) {
            *out = ended(orders[i].kind, orders[i].reason);
            return true;
        }
    }
    return false;
}

static int64_t delay_of(const struct pawl_retry *retry, const struct pawl_report *report,
                        int64_t charged, struct pawl__rng *rng)
{
    int64_t delay_ms = report->retry_after_ms > 0 ? report->retry_after_ms
                                                  : pawl__retry_delay(retry, charged, rng);
    return clamp(delay_ms, 0, PAWL__RETRY_MS_MAX);
}

struct pawl__verdict pawl__retry_decide(const struct pawl_retry *retry,
                                        const struct pawl_report *report, int64_t charged,
                                        struct pawl__rng *rng)
{
    struct pawl__verdict order;
    if (report->requeue) {
        return (struct pawl__verdict){ .kind = PAWL__VERDICT_REQUEUE, .reason = "requeued" };
    }
    if (ordered(report->code, &order)) return order;
    if (pawl__retry_is_final(retry, report->type) ||
        pawl__retry_is_final(retry, report->error_class) ||
        pawl__retry_is_final(retry, report->code)) {
        return exhausted(retry, "error is listed as not retryable");
    }
    if (report->not_retryable) return exhausted(retry, "not retryable");
    if (charged >= retry->attempts_max) return exhausted(retry, "attempts spent");
    return (struct pawl__verdict){ .kind = PAWL__VERDICT_RETRY,
                                   .delay_ms = delay_of(retry, report, charged, rng),
                                   .reason = "will be tried again" };
}
