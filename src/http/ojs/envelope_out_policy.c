/* Policies of jobs that no OJS client submitted, in OJS spelling. */
#include "http/ojs/envelope_out.h"

#include <string.h>

enum how { AS_IT_STANDS, AS_DURATION, AS_STATES };

/* How a member of the library's JSON is called in OJS. Others have no name there. */
struct translation {
    const char *ours, *theirs;
    enum how how;
};

static const struct translation retry_members[] = {
    { "attempts_max", "max_attempts", AS_IT_STANDS },
    { "backoff", "backoff_strategy", AS_IT_STANDS },
    { "initial_ms", "initial_interval", AS_DURATION },
    { "coefficient", "backoff_coefficient", AS_IT_STANDS },
    { "cap_ms", "max_interval", AS_DURATION },
    { "jitter", "jitter", AS_IT_STANDS },
    { "non_retryable", "non_retryable_errors", AS_IT_STANDS },
    { "on_exhaustion", "on_exhaustion", AS_IT_STANDS },
};

static const struct translation unique_members[] = {
    { "keys", "keys", AS_IT_STANDS },           { "args_keys", "args_keys", AS_IT_STANDS },
    { "meta_keys", "meta_keys", AS_IT_STANDS }, { "period_ms", "period", AS_DURATION },
    { "states", "states", AS_STATES },          { "on_conflict", "on_conflict", AS_IT_STANDS },
};

void pawl__out_duration(struct pawl__buf *out, int64_t ms)
{
    pawl__out(out, "\"PT");
    pawl__buf_add_int(out, ms / 1000);
    if (ms % 1000) {
        char fraction[] = { '.', (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10),
                            (char)('0' + ms % 10) };
        size_t len = sizeof fraction;
        while (fraction[len - 1] == '0') {
            len--;
        }
        pawl__buf_add(out, fraction, len);
    }
    pawl__out(out, "S\"");
}

/* Two of our states may be one of theirs. */
static void add_states(struct pawl__buf *out, const struct pawl__json *json, uint32_t array,
                       struct pawl__arena *arena)
{
    uint32_t done = 0, child = pawl__json_first(array);
    pawl__out(out, "[");
    for (uint32_t i = 0; i < json->tokens[array].count; i++, child = json->tokens[child].next) {
        if (json->tokens[child].type != PAWL__JSON_STRING) continue;
        const char *ours = pawl__out_string(out, json, child, arena);
        uint32_t mask = ours ? pawl_state_mask(ours, PAWL_VOCABULARY_PAWL) : 0;
        if (!mask) continue;
        const char *theirs =
            pawl_state_name((enum pawl_state)__builtin_ctz(mask), PAWL_VOCABULARY_OJS);
        mask = pawl_state_mask(theirs, PAWL_VOCABULARY_OJS);
        if (done & mask) continue;
        if (done) pawl__out(out, ",");
        done |= mask;
        pawl__buf_add_json(out, theirs, strlen(theirs));
    }
    pawl__out(out, "]");
}

static void add_value(struct pawl__buf *out, const struct pawl__json *json, uint32_t token,
                      enum how how, struct pawl__arena *arena)
{
    struct pawl_span span = pawl__json_span(json, token);
    int64_t ms;
    if (how == AS_DURATION && pawl__json_int(json, token, &ms) && ms >= 0) {
        pawl__out_duration(out, ms);
    } else if (how == AS_STATES && json->tokens[token].type == PAWL__JSON_ARRAY) {
        add_states(out, json, token, arena);
    } else {
        pawl__buf_add(out, span.at, span.len);
    }
}

static void translate(struct pawl__buf *out, struct pawl_span policy,
                      const struct translation *members, size_t count)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    bool some = false;
    pawl__out(out, "{");
    if (pawl__out_object(out, policy, &arena, &json)) {
        for (size_t i = 0; i < count; i++) {
            uint32_t token = pawl__json_member(&json, 0, members[i].ours);
            if (!token) continue;
            pawl__buf_add_text(out, some ? ",\"" : "\"");
            pawl__buf_add_text(out, members[i].theirs);
            pawl__out(out, "\":");
            add_value(out, &json, token, members[i].how, &arena);
            some = true;
        }
    }
    pawl__out(out, "}");
    pawl__arena_release(&arena);
}

void pawl__out_retry(struct pawl__buf *out, struct pawl_span retry)
{
    translate(out, retry, retry_members, sizeof retry_members / sizeof *retry_members);
}

void pawl__out_unique(struct pawl__buf *out, struct pawl_span unique)
{
    translate(out, unique, unique_members, sizeof unique_members / sizeof *unique_members);
}
