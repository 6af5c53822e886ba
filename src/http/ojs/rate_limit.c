/* What a rate_limit says, in all the forms that clients use. */
#include "base/time_text.h"
#include "http/ojs/rate_limit.h"
#include "http/ojs/envelope.h"

#include <string.h>

#define PERIOD_MS_MAX 3.2e12 /* a hundred years, as durations have it */

static const struct {
    const char *name;
    int64_t ms;
} periods[] = { { "second", 1000 }, { "minute", 60000 }, { "hour", 3600000 }, { "day", 86400000 } };

static bool read_period(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                        int64_t *out_ms)
{
    *out_ms = 1000;
    if (!token || json->tokens[token].type == PAWL__JSON_NULL) return true;
    if (json->tokens[token].type != PAWL__JSON_STRING) return false;
    const char *text = pawl__json_string(json, token, arena, NULL);
    if (!text) return false;
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        if (strcmp(text, periods[i].name) != 0) continue;
        *out_ms = periods[i].ms;
        return true;
    }
    return pawl__iso_duration_parse(text, out_ms) == PAWL_OK && *out_ms > 0;
}

/* A rate below one is one in a longer time. */
static bool set_limit(const struct pawl__json *json, uint32_t token, struct pawl__rate *out)
{
    double limit;
    if (!token || !pawl__json_double(json, token, &limit) || limit <= 0 || limit > 1e9) {
        return false;
    }
    out->limit = limit < 1 ? 1 : (int64_t)limit;
    double period_ms = limit < 1 ? (double)out->period_ms / limit : (double)out->period_ms;
    if (period_ms > PERIOD_MS_MAX) return false;
    out->period_ms = (int64_t)period_ms;
    return true;
}

static bool is_for(const struct pawl__json *json, const char *queue, struct pawl__arena *arena)
{
    uint32_t key = pawl__json_member(json, 0, "key");
    if (!key || json->tokens[key].type == PAWL__JSON_NULL) return true;
    if (json->tokens[key].type != PAWL__JSON_STRING) return false;
    const char *text = pawl__json_string(json, key, arena, NULL);
    return text && strcmp(text, queue) == 0;
}

static bool read_rate(const struct pawl__json *json, struct pawl__arena *arena,
                      struct pawl__rate *out)
{
    uint32_t per_second = pawl__json_member(json, 0, "max_per_second");
    uint32_t rate = pawl__json_member(json, 0, "rate");
    uint32_t limit = pawl__json_member(json, 0, "limit");
    uint32_t period = pawl__json_member(json, 0, "period");
    if (per_second) {
        out->period_ms = 1000;
        return set_limit(json, per_second, out);
    }
    if (rate && json->tokens[rate].type == PAWL__JSON_OBJECT) {
        limit = pawl__json_member(json, rate, "limit");
        period = pawl__json_member(json, rate, "period");
    } else if (rate) {
        limit = rate;
    }
    return read_period(json, period, arena, &out->period_ms) && set_limit(json, limit, out);
}

bool pawl__rate_parse(struct pawl_span rate_limit, const char *queue, struct pawl__rate *out)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__rate rate = { 0 };
    bool ok = rate_limit.len > 0;
    ok = ok &&
         pawl__json_parse_by(rate_limit, &PAWL__BODY_JSON_RULES, &arena, &json, NULL) == PAWL_OK;
    ok = ok && json.tokens[0].type == PAWL__JSON_OBJECT && is_for(&json, queue, &arena) &&
         read_rate(&json, &arena, &rate);
    pawl__arena_release(&arena);
    if (ok) *out = rate;
    return ok;
}

void pawl__rates_noted(struct pawl__server *server, const char *queue, struct pawl_span rate_limit)
{
    struct pawl__rate rate;
    if (!rate_limit.len || !pawl__rate_parse(rate_limit, queue, &rate)) return;
    pawl__rates_set(server->rates, queue, &rate, pawl__server_now(server));
}
