/* Retry and unique policies, in all the spellings that clients use.
 *
 * What a policy does not say takes its default, which a zero stands for in the spec. Members that
 * nobody knows come back with the policy as it was sent, and are worth a warning. */
#include "base/time_text.h"
#include "http/ojs/envelope_in.h"

#include <stdio.h>
#include <string.h>

/* More than nothing. */
static bool read_duration(struct pawl__reader *reader, const struct pawl__where *where,
                          uint32_t token, int64_t *out_ms)
{
    const char *text;
    if (!pawl__reader_text(reader, where, token, &text)) return false;
    if (pawl__iso_duration_parse(text, out_ms) == PAWL_OK && *out_ms > 0) return true;
    return pawl__reader_refuse(reader, where,
                               "must be an ISO 8601 duration of more than nothing (PT1.5S)");
}

/* ---- members by their names ---- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct spelling {
    const char *name;
    int member;
};

/* The members of one policy, and what reads them. */
struct policy {
    enum pawl__field field;
    enum pawl__fault_kind kind; /* of its refusals */
    const struct spelling *list;
    size_t count;
    pawl__offer_fn *offer;
    bool (*read)(struct pawl__reader *reader, const struct spelling *spelling, uint32_t token);
};

static bool unknown(struct pawl__reader *reader, const struct policy *policy, struct pawl_span name)
{
    char parent[32];
    bool in_options = reader->in_options & PAWL__FIELD_BIT(policy->field);
    snprintf(parent, sizeof parent, "%s%s.", in_options ? "options." : "",
             pawl__field_name(policy->field));
    return pawl__reader_unknown(reader, parent, name, policy->offer);
}

/* `*out` is NULL: not one of them, and the client has been warned. */
static bool find(struct pawl__reader *reader, const struct policy *policy, uint32_t name,
                 const struct spelling **out)
{
    struct pawl_span text = pawl__reader_name(reader, name);
    if (!text.at) return pawl__reader_nomem(reader);
    *out = NULL;
    for (size_t i = 0; i < policy->count && !*out; i++) {
        const struct spelling *known = &policy->list[i];
        if (strlen(known->name) == text.len && memcmp(known->name, text.at, text.len) == 0)
            *out = known;
    }
    return *out || unknown(reader, policy, text);
}

/* Every member that is known, and not null; nothing without the policy. */
static bool read_policy(struct pawl__reader *reader, const struct policy *policy)
{
    const struct pawl__json_token *tokens = reader->json->tokens;
    uint32_t object = reader->at[policy->field];
    struct pawl__where where = { .field = policy->field, .kind = policy->kind };
    if (!object) return true;
    if (!pawl__reader_type(reader, &where, object, PAWL__JSON_OBJECT, "an object")) return false;
    uint32_t name = pawl__json_first(object);
    for (uint32_t left = tokens[object].count; left > 0; left--, name = tokens[name + 1].next) {
        const struct spelling *spelling = NULL;
        if (!find(reader, policy, name, &spelling)) return false;
        if (!spelling || tokens[name + 1].type == PAWL__JSON_NULL) continue;
        if (!policy->read(reader, spelling, name + 1)) return false;
    }
    return true;
}

struct word {
    const char *text;
    unsigned value;
};

/* One of a few words. `choices` tells them in the refusal. */
static bool read_word(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                      const struct word *words, size_t count, const char *choices, unsigned *out)
{
    const char *text;
    if (!pawl__reader_text(reader, where, token, &text)) return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i].text) != 0) continue;
        *out = words[i].value;
        return true;
    }
    return pawl__reader_refuse(reader, where, "must be %s", choices);
}

/* ---- retry ---- */

enum retry_member {
    RETRY_ATTEMPTS,
    RETRY_INITIAL,
    RETRY_INITIAL_MS,
    RETRY_COEFFICIENT,
    RETRY_CAP,
    RETRY_CAP_MS,
    RETRY_JITTER,
    RETRY_ERRORS,
    RETRY_EXHAUSTION,
    RETRY_BACKOFF
};

static const struct spelling retry_spellings[] = {
    { "max_attempts", RETRY_ATTEMPTS },
    { "initial_interval", RETRY_INITIAL },
    { "backoff_coefficient", RETRY_COEFFICIENT },
    { "max_interval", RETRY_CAP },
    { "jitter", RETRY_JITTER },
    { "non_retryable_errors", RETRY_ERRORS },
    { "on_exhaustion", RETRY_EXHAUSTION },
    { "backoff_strategy", RETRY_BACKOFF },
    { "strategy", RETRY_BACKOFF },
    { "backoff", RETRY_BACKOFF },
    { "initial_interval_ms", RETRY_INITIAL_MS },
    { "initial_delay_ms", RETRY_INITIAL_MS },
    { "max_interval_ms", RETRY_CAP_MS },
    { "maxAttempts", RETRY_ATTEMPTS },
    { "initialInterval", RETRY_INITIAL },
    { "backoffCoefficient", RETRY_COEFFICIENT },
    { "maxInterval", RETRY_CAP },
    { "nonRetryableErrors", RETRY_ERRORS },
    { "onExhaustion", RETRY_EXHAUSTION },
    { "backoffStrategy", RETRY_BACKOFF },
};

static void offer_retry(struct pawl__nearest *nearest)
{
    for (size_t i = 0; i < COUNT(retry_spellings); i++) {
        pawl__nearest_offer(nearest, retry_spellings[i].name);
    }
}

static bool read_jitter(struct pawl__reader *reader, const struct pawl__where *where,
                        uint32_t token, enum pawl_jitter *out)
{
    enum pawl__json_type type = reader->json->tokens[token].type;
    if (type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return pawl__reader_refuse(reader, where, "must be true or false");
    }
    *out = type == PAWL__JSON_TRUE ? PAWL_JITTER_ON : PAWL_JITTER_OFF;
    return true;
}

static bool read_backoff(struct pawl__reader *reader, const struct pawl__where *where,
                         uint32_t token, enum pawl_backoff *out)
{
    static const struct word words[] = { { "exponential", PAWL_BACKOFF_EXPONENTIAL },
                                         { "linear", PAWL_BACKOFF_LINEAR },
                                         { "polynomial", PAWL_BACKOFF_POLYNOMIAL },
                                         { "constant", PAWL_BACKOFF_CONSTANT },
                                         { "none", PAWL_BACKOFF_CONSTANT } };
    unsigned value = 0;
    if (!read_word(reader, where, token, words, COUNT(words),
                   "exponential, linear, polynomial, constant or none", &value)) {
        return false;
    }
    *out = (enum pawl_backoff)value;
    return true;
}

static bool read_exhaustion(struct pawl__reader *reader, const struct pawl__where *where,
                            uint32_t token, enum pawl_exhaustion *out)
{
    static const struct word words[] = { { "discard", PAWL_EXHAUSTION_DISCARD },
                                         { "dead_letter", PAWL_EXHAUSTION_DEAD_LETTER } };
    unsigned value = 0;
    if (!read_word(reader, where, token, words, COUNT(words), "discard or dead_letter", &value)) {
        return false;
    }
    *out = (enum pawl_exhaustion)value;
    return true;
}

static bool read_attempts(struct pawl__reader *reader, const struct pawl__where *where,
                          uint32_t token, int32_t *out)
{
    int64_t value = 0;
    if (!pawl__reader_int(reader, where, token, 0, INT32_MAX, &value)) return false;
    *out = value > 0 ? (int32_t)value : 1; // 0 and 1 both mean never again
    return true;
}

static bool read_coefficient(struct pawl__reader *reader, const struct pawl__where *where,
                             uint32_t token, double *out)
{
    double value = 0;
    if (!pawl__json_double(reader->json, token, &value) || value < 1) {
        return pawl__reader_refuse(reader, where, "must be a number of at least 1");
    }
    *out = value;
    return true;
}

static bool read_retry_member(struct pawl__reader *reader, const struct spelling *spelling,
                              uint32_t token)
{
    struct pawl_retry *retry = &reader->out->spec.retry;
    struct pawl__where where = { PAWL__FIELD_RETRY, spelling->name, PAWL__FAULT_INVALID_POLICY };
    switch ((enum retry_member)spelling->member) {
    case RETRY_ATTEMPTS:
        return read_attempts(reader, &where, token, &retry->attempts_max);
    case RETRY_INITIAL:
        return read_duration(reader, &where, token, &retry->initial_ms);
    case RETRY_INITIAL_MS:
        return pawl__reader_int(reader, &where, token, 1, PAWL__OJS_MS_MAX, &retry->initial_ms);
    case RETRY_COEFFICIENT:
        return read_coefficient(reader, &where, token, &retry->coefficient);
    case RETRY_CAP:
        return read_duration(reader, &where, token, &retry->cap_ms);
    case RETRY_CAP_MS:
        return pawl__reader_int(reader, &where, token, 1, PAWL__OJS_MS_MAX, &retry->cap_ms);
    case RETRY_JITTER:
        return read_jitter(reader, &where, token, &retry->jitter);
    case RETRY_ERRORS:
        return pawl__reader_texts(reader, &where, token, &retry->non_retryable,
                                  &retry->non_retryable_count);
    case RETRY_EXHAUSTION:
        return read_exhaustion(reader, &where, token, &retry->on_exhaustion);
    case RETRY_BACKOFF:
        return read_backoff(reader, &where, token, &retry->backoff);
    }
    return true;
}

/* options.max_attempts, as the command line of OJS has it; what a policy says wins. */
static bool read_option_attempts(struct pawl__reader *reader, int32_t *out)
{
    struct pawl__where where = { PAWL__FIELD_MAX_ATTEMPTS, NULL, PAWL__FAULT_INVALID_POLICY };
    uint32_t token = reader->at[PAWL__FIELD_MAX_ATTEMPTS];
    if (!(reader->in_options & PAWL__FIELD_BIT(PAWL__FIELD_MAX_ATTEMPTS))) return true;
    return read_attempts(reader, &where, token, out);
}

bool pawl__policy_retry(struct pawl__reader *reader)
{
    static const struct policy policy = { PAWL__FIELD_RETRY, PAWL__FAULT_INVALID_POLICY,
                                          retry_spellings,   COUNT(retry_spellings),
                                          offer_retry,       read_retry_member };
    struct pawl__where where = { PAWL__FIELD_RETRY, "max_interval", PAWL__FAULT_INVALID_POLICY };
    struct pawl_retry *retry = &reader->out->spec.retry;
    if (!read_option_attempts(reader, &retry->attempts_max)) return false;
    if (!read_policy(reader, &policy)) return false;
    int64_t initial_ms = retry->initial_ms ? retry->initial_ms : PAWL__OJS_RETRY_INITIAL_MS;
    if (retry->cap_ms == 0 || retry->cap_ms >= initial_ms) return true;
    return pawl__reader_refuse(reader, &where, "must not be less than initial_interval");
}

/* ---- unique ---- */

enum unique_member {
    UNIQUE_KEYS,
    UNIQUE_KEY,
    UNIQUE_ARGS_KEYS,
    UNIQUE_META_KEYS,
    UNIQUE_PERIOD,
    UNIQUE_PERIOD_MS,
    UNIQUE_STATES,
    UNIQUE_CONFLICT
};

static const struct spelling unique_spellings[] = {
    { "keys", UNIQUE_KEYS },           { "key", UNIQUE_KEY },
    { "args_keys", UNIQUE_ARGS_KEYS }, { "meta_keys", UNIQUE_META_KEYS },
    { "period", UNIQUE_PERIOD },       { "period_ms", UNIQUE_PERIOD_MS },
    { "states", UNIQUE_STATES },       { "on_conflict", UNIQUE_CONFLICT },
    { "argsKeys", UNIQUE_ARGS_KEYS },  { "metaKeys", UNIQUE_META_KEYS },
    { "onConflict", UNIQUE_CONFLICT },
};

static void offer_unique(struct pawl__nearest *nearest)
{
    for (size_t i = 0; i < COUNT(unique_spellings); i++) {
        pawl__nearest_offer(nearest, unique_spellings[i].name);
    }
}

static const struct word dimensions[] = { { "type", PAWL_UNIQUE_TYPE },
                                          { "queue", PAWL_UNIQUE_QUEUE },
                                          { "args", PAWL_UNIQUE_ARGS },
                                          { "meta", PAWL_UNIQUE_META } };

/* 0: not a dimension. */
static uint32_t dimension_of(const char *text)
{
    for (size_t i = 0; i < COUNT(dimensions); i++) {
        if (strcmp(text, dimensions[i].text) == 0) return dimensions[i].value;
    }
    return 0;
}

static bool read_keys(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                      struct pawl_unique *unique)
{
    const char *const *names;
    size_t count;
    if (!pawl__reader_texts(reader, where, token, &names, &count)) return false;
    unique->keys = PAWL_UNIQUE_TYPE;
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = dimension_of(names[i]);
        if (!bit) {
            return pawl__reader_refuse(reader, where, "must hold type, queue, args and meta alone");
        }
        unique->keys |= bit;
    }
    return true;
}

/* As the SDKs have it: dimensions, or else names of arguments. */
static bool read_key(struct pawl__reader *reader, const struct pawl__where *where, uint32_t token,
                     struct pawl_unique *unique)
{
    const char *const *names;
    size_t count;
    uint32_t keys = PAWL_UNIQUE_TYPE;
    if (!pawl__reader_texts(reader, where, token, &names, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = dimension_of(names[i]);
        if (!bit) {
            unique->keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS;
            unique->args_keys = names;
            unique->args_key_count = count;
            return true;
        }
        keys |= bit;
    }
    unique->keys = keys;
    return true;
}

/* OJS writes them in lower case; pawl_state_mask does not mind. */
static uint32_t states_of(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (*at < 'a' || *at > 'z') return 0;
    }
    return pawl_state_mask(name, PAWL_VOCABULARY_OJS);
}

static bool read_states(struct pawl__reader *reader, const struct pawl__where *where,
                        uint32_t token, uint32_t *out)
{
    const char *const *names;
    size_t count;
    uint32_t states = 0;
    if (!pawl__reader_texts(reader, where, token, &names, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = states_of(names[i]);
        if (!mask)
            return pawl__reader_refuse(reader, where, "holds a state that OJS does not have");
        states |= mask;
    }
    if (!states) return pawl__reader_refuse(reader, where, "must name a state");
    *out = states;
    return true;
}

static bool read_conflict(struct pawl__reader *reader, const struct pawl__where *where,
                          uint32_t token, enum pawl_conflict *out)
{
#define X(number, name, text) { text, number },
    static const struct word words[] = { PAWL_CONFLICTS(X) };
#undef X
    unsigned value = 0;
    if (!read_word(reader, where, token, words, COUNT(words),
                   "reject, replace, replace_except_schedule or ignore", &value)) {
        return false;
    }
    *out = (enum pawl_conflict)value;
    return true;
}

static bool read_unique_member(struct pawl__reader *reader, const struct spelling *spelling,
                               uint32_t token)
{
    struct pawl_unique *unique = &reader->out->spec.unique;
    struct pawl__where where = { .field = PAWL__FIELD_UNIQUE, .sub = spelling->name };
    switch ((enum unique_member)spelling->member) {
    case UNIQUE_KEYS:
        return read_keys(reader, &where, token, unique);
    case UNIQUE_KEY:
        return read_key(reader, &where, token, unique);
    case UNIQUE_ARGS_KEYS:
        return pawl__reader_texts(reader, &where, token, &unique->args_keys,
                                  &unique->args_key_count);
    case UNIQUE_META_KEYS:
        return pawl__reader_texts(reader, &where, token, &unique->meta_keys,
                                  &unique->meta_key_count);
    case UNIQUE_PERIOD:
        return read_duration(reader, &where, token, &unique->period_ms);
    case UNIQUE_PERIOD_MS:
        return pawl__reader_int(reader, &where, token, 1, PAWL__OJS_MS_MAX, &unique->period_ms);
    case UNIQUE_STATES:
        return read_states(reader, &where, token, &unique->states);
    case UNIQUE_CONFLICT:
        return read_conflict(reader, &where, token, &unique->on_conflict);
    }
    return true;
}

/* Names of members matter only where their dimension does; where no dimension is named, naming
 * members chooses it. */
static bool complete_unique(struct pawl__reader *reader, struct pawl_unique *unique)
{
    if (!unique->keys) {
        unique->keys = PAWL_UNIQUE_TYPE;
        if (unique->args_key_count) unique->keys |= PAWL_UNIQUE_ARGS;
        if (unique->meta_key_count) unique->keys |= PAWL_UNIQUE_META;
    }
    if (!(unique->keys & PAWL_UNIQUE_ARGS)) unique->args_key_count = 0;
    if (!(unique->keys & PAWL_UNIQUE_META)) unique->meta_key_count = 0;
    if (!(unique->keys & PAWL_UNIQUE_META) || unique->meta_key_count) return true;
    struct pawl__where where = { .field = PAWL__FIELD_UNIQUE, .sub = "meta_keys" };
    return pawl__reader_refuse(reader, &where, "must name a member when keys has meta");
}

bool pawl__policy_unique(struct pawl__reader *reader)
{
    static const struct policy policy = { PAWL__FIELD_UNIQUE, PAWL__FAULT_INVALID_REQUEST,
                                          unique_spellings,   COUNT(unique_spellings),
                                          offer_unique,       read_unique_member };
    if (!reader->at[PAWL__FIELD_UNIQUE]) return true;
    return read_policy(reader, &policy) && complete_unique(reader, &reader->out->spec.unique);
}
