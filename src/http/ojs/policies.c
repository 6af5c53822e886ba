/* Retry and unique policies, read in all spellings that clients use, and printed.
 *
 * A member that is absent has its default, which is 0 in the spec. Unknown members are returned
 * with the policy, as it was sent, and cause a warning. */
#include "http/ojs/envelope_in.h"
#include "http/ojs/policies.h"

#include "fields/fields.h"

#include <string.h>

#define FN(name)                                                                                   \
    enum pawl_err name(struct pawl__shape_reader *shape, const struct pawl__member *member,        \
                       uint32_t token, void *base)

#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define ALIAS(text, kind, member, ...)                                                             \
    PAWL__MEMBER(text, kind, S, member, .flags = PAWL__ALIAS | PAWL__NOT_ZERO, __VA_ARGS__)
#define SOME(text, kind, member, ...)                                                              \
    PAWL__MEMBER(text, kind, S, member, .flags = PAWL__NOT_ZERO, __VA_ARGS__)
#define MS .min = 1, .max = PAWL__OJS_MS_MAX
#define LIST(counter) PAWL__COUNTED(S, counter)

/* ---- retry ---- */

FN(pawl__note_policy)
{
    ((struct pawl__reader *)shape)->kind = PAWL__FAULT_INVALID_POLICY;
    return PAWL_OK;
}

FN(pawl__note_attempts)
{
    ((struct pawl__reader *)shape)->attempts_given = true;
    return pawl__note_policy(shape, member, token, base);
}

static const struct pawl__words backoff_words = { .at = pawl__backoff_texts,
                                                  .count = PAWL_BACKOFF_END,
                                                  .other = "none",
                                                  .other_is = PAWL_BACKOFF_CONSTANT };
#define ATTEMPTS .read = pawl__note_attempts, .max = INT32_MAX
#define BACKOFF .words = &backoff_words
#define EXHAUSTION .words = &pawl__exhaustion_words

#define S struct pawl_retry
static const struct pawl__member retry_members[] = {
    AS("max_attempts", INT32, attempts_max, ATTEMPTS),
    AS("backoff_strategy", WORD, backoff, BACKOFF),
    SOME("initial_interval", PERIOD, initial_ms),
    AS("backoff_coefficient", REAL, coefficient, .min = 1),
    SOME("max_interval", PERIOD, cap_ms),
    AS("jitter", SWITCH, jitter),
    SOME("non_retryable_errors", TEXTS, non_retryable, LIST(non_retryable_count)),
    AS("on_exhaustion", WORD, on_exhaustion, EXHAUSTION),
    ALIAS("strategy", WORD, backoff, BACKOFF),
    ALIAS("backoff", WORD, backoff, BACKOFF),
    ALIAS("initial_interval_ms", INT64, initial_ms, MS),
    ALIAS("initial_delay_ms", INT64, initial_ms, MS),
    ALIAS("max_interval_ms", INT64, cap_ms, MS),
    PAWL__MEMBER("maxAttempts", INT32, S, attempts_max, ATTEMPTS, .flags = PAWL__ALIAS),
    ALIAS("initialInterval", PERIOD, initial_ms),
    ALIAS("backoffCoefficient", REAL, coefficient, .min = 1),
    ALIAS("maxInterval", PERIOD, cap_ms),
    ALIAS("nonRetryableErrors", TEXTS, non_retryable, LIST(non_retryable_count)),
    ALIAS("onExhaustion", WORD, on_exhaustion, EXHAUSTION),
    ALIAS("backoffStrategy", WORD, backoff, BACKOFF),
};
const struct pawl__shape pawl__ojs_retry_shape = PAWL__SHAPE(S, retry_members);

/* As the store has it: the names in the list of fields. */
#define STORED_I32(member) AS(#member, INT32, member)
#define STORED_I64(member) AS(#member, INT64, member)
#define STORED_REAL(member) AS(#member, REAL, member)
#define STORED_BACKOFF(member) AS(#member, WORD, member, .words = &pawl__backoff_words)
#define STORED_JITTER(member) AS(#member, SWITCH, member)
#define STORED_TEXTS(member) AS(#member, TEXTS, member, LIST(member##_count))
#define STORED_EXHAUSTION(member) AS(#member, WORD, member, EXHAUSTION)
#define X(member, kind, ...) STORED_##kind(member),
static const struct pawl__member stored_retry_members[] = { PAWL__RETRY_FIELDS(X) };
#undef X
static const struct pawl__shape stored_retry_shape = PAWL__SHAPE(S, stored_retry_members);
#undef S

/* ---- unique ---- */

/* Whatever it names, the type counts. */
static FN(note_keys)
{
    ((struct pawl__reader *)shape)->keys_given = true;
    return PAWL_OK;
}

/* As the SDKs send it: dimensions, or else names of arguments. */
static FN(read_key)
{
    struct pawl_unique *unique = base;
    struct pawl__texts names;
    const struct pawl__member list = { .name = member->name,
                                       .kind = PAWL__AS_TEXTS,
                                       PAWL__COUNTED(struct pawl__texts, count),
                                       .flags = PAWL__NOT_ZERO };
    enum pawl_err err = pawl__shape_value(shape, &list, token, &names);
    uint32_t keys = PAWL_UNIQUE_TYPE;
    for (size_t i = 0; !err && i < names.count; i++) {
        uint32_t bit = 0;
        while (bit < PAWL__UNIQUE_TEXTS && strcmp(pawl__unique_texts[bit], names.at[i]) != 0) {
            bit++;
        }
        if (bit == PAWL__UNIQUE_TEXTS) {
            unique->keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS;
            unique->args_keys = names.at;
            unique->args_key_count = names.count;
            return PAWL_OK;
        }
        keys |= UINT32_C(1) << bit;
    }
    if (!err) unique->keys = keys;
    return err;
}

/* OJS writes them in lower case, and pawl_state_mask reads either. */
static uint32_t states_of(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (*at < 'a' || *at > 'z') return 0;
    }
    return pawl_state_mask(name, PAWL_VOCABULARY_OJS);
}

static FN(read_states)
{
    struct pawl_unique *unique = base;
    struct pawl__texts names;
    const struct pawl__member list = { .name = member->name,
                                       .kind = PAWL__AS_TEXTS,
                                       PAWL__COUNTED(struct pawl__texts, count) };
    enum pawl_err err = pawl__shape_value(shape, &list, token, &names);
    if (err) return err;
    unique->states = 0;
    for (size_t i = 0; i < names.count; i++) {
        uint32_t mask = states_of(names.at[i]);
        if (!mask) {
            return pawl__shape_refuse(shape, member, "must be states of OJS, not \"%s\"",
                                      pawl__quote(names.at[i]).text);
        }
        unique->states |= mask;
    }
    return names.count ? PAWL_OK : pawl__shape_refuse(shape, member, "must name a state");
}

/* Several states of the library may have one name in OJS. */
static void print_states(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct pawl_unique *unique = base;
    uint32_t done = 0;
    if (!unique->states) return;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (!(unique->states & PAWL_STATE_BIT(state)) || done & PAWL_STATE_BIT(state)) continue;
        const char *name = pawl_state_name((enum pawl_state)state, PAWL_VOCABULARY_OJS);
        pawl__buf_add(writer->out, done ? "," : "[", 1);
        pawl__buf_add_json(writer->out, name, strlen(name));
        done |= pawl_state_mask(name, PAWL_VOCABULARY_OJS);
    }
    pawl__buf_add(writer->out, "]", 1);
}

#define STORED_KEYS .words = &pawl__unique_words
#define S struct pawl_unique
static const struct pawl__member unique_members[] = {
    AS("keys", SET, keys, STORED_KEYS, .read = note_keys),
    SOME("args_keys", TEXTS, args_keys, LIST(args_key_count)),
    SOME("meta_keys", TEXTS, meta_keys, LIST(meta_key_count)),
    SOME("period", PERIOD, period_ms),
    AS("states", OWN, states, .read = read_states, .print = print_states, .wire = PAWL__AS_TEXTS),
    AS("on_conflict", WORD, on_conflict, .words = &pawl__conflict_words),
    ALIAS("key", OWN, keys, .read = read_key, .wire = PAWL__AS_TEXTS),
    ALIAS("argsKeys", TEXTS, args_keys, LIST(args_key_count)),
    ALIAS("metaKeys", TEXTS, meta_keys, LIST(meta_key_count)),
    ALIAS("period_ms", INT64, period_ms, MS),
    ALIAS("onConflict", WORD, on_conflict, .words = &pawl__conflict_words),
};
const struct pawl__shape pawl__ojs_unique_shape = PAWL__SHAPE(S, unique_members);

static const struct pawl__member stored_unique_members[] = {
    AS("keys", SET, keys, STORED_KEYS),
    AS("args_keys", TEXTS, args_keys, LIST(args_key_count)),
    AS("meta_keys", TEXTS, meta_keys, LIST(meta_key_count)),
    AS("period_ms", INT64, period_ms),
    AS("states", SET, states, .words = &pawl__state_words),
    AS("on_conflict", WORD, on_conflict, .words = &pawl__conflict_words),
};
static const struct pawl__shape stored_unique_shape = PAWL__SHAPE(S, stored_unique_members);
#undef S

/* ---- what a policy means as a whole ---- */

/* Names of members count only if their dimension is among the keys. Without keys, they add it. */
static bool complete_unique(struct pawl__reader *reader, struct pawl_unique *unique)
{
    if (reader->keys_given) unique->keys |= PAWL_UNIQUE_TYPE;
    if (!unique->keys) {
        unique->keys = PAWL_UNIQUE_TYPE;
        if (unique->args_key_count) unique->keys |= PAWL_UNIQUE_ARGS;
        if (unique->meta_key_count) unique->keys |= PAWL_UNIQUE_META;
    }
    if (!(unique->keys & PAWL_UNIQUE_ARGS)) unique->args_key_count = 0;
    if (!(unique->keys & PAWL_UNIQUE_META)) unique->meta_key_count = 0;
    if (!(unique->keys & PAWL_UNIQUE_META) || unique->meta_key_count) return true;
    return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, PAWL__FIELD_UNIQUE, "meta_keys",
                               "must name a member when keys has meta");
}

bool pawl__envelope_finish_policies(struct pawl__reader *reader)
{
    struct pawl_retry *retry = &reader->draft.job.spec.retry;
    // 0 and 1 both mean a single run; 0 would be the default.
    if (reader->attempts_given && !retry->attempts_max) retry->attempts_max = 1;
    int64_t initial_ms = retry->initial_ms ? retry->initial_ms : PAWL__OJS_RETRY_INITIAL_MS;
    if (retry->cap_ms && retry->cap_ms < initial_ms) {
        return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_POLICY, PAWL__FIELD_RETRY,
                                   "max_interval", "must not be less than initial_interval");
    }
    return !reader->at[PAWL__FIELD_UNIQUE] ||
           complete_unique(reader, &reader->draft.job.spec.unique);
}

/* ---- policies of jobs that did not come from a client of OJS ---- */

bool pawl__stored_retry(struct pawl_span text, struct pawl__arena *arena, struct pawl_retry *out)
{
    struct pawl__shape_reader reader = { .arena = arena };
    *out = (struct pawl_retry){ 0 };
    return pawl__shape_read_text(&reader, text, PAWL_JSON_DEPTH_MAX, &stored_retry_shape, out) !=
           PAWL_ERR_NOMEM;
}

bool pawl__stored_unique(struct pawl_span text, struct pawl__arena *arena, struct pawl_unique *out)
{
    struct pawl__shape_reader reader = { .arena = arena };
    *out = (struct pawl_unique){ 0 };
    return pawl__shape_read_text(&reader, text, PAWL_JSON_DEPTH_MAX, &stored_unique_shape, out) !=
           PAWL_ERR_NOMEM;
}
