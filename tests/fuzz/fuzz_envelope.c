/* What holds for any bytes that a client sends as a job, or as a batch of them:
 *
 * 1. what is refused has a status of 400 and up, and a message; a refusal prints as JSON;
 * 2. what is accepted keeps its rules: the numbers lie within their limits, the policies are ones
 *    that the library takes, payloads and extra members are strict JSON of their type;
 * 3. a job made of it prints as strict JSON, so that no member occurs twice, and the same job the
 *    same way; what the printer kept can be read again.
 *
 * The first byte chooses the rules, so that headers and test mode have their share. */
#include "http/ojs/envelope.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

enum { NOW_S = 1790000000 };

/* ---- refused ---- */

static void check_fault(const struct pawl__fault *fault, struct pawl__arena *arena)
{
    struct pawl__buf buf = { 0 };
    struct pawl__json json;
    int status = pawl__fault_status(fault->kind);
    must(status >= 400 && status < 500 && fault->message[0] != '\0');
    pawl__fault_print(&buf, fault, "req_1");
    must(!buf.failed);
    must(!pawl__json_parse((struct pawl_span){ buf.at, buf.len }, 8, arena, &json, NULL));
    pawl__buf_release(&buf);
}

/* ---- accepted ---- */

static void check_payload(struct pawl_span span, enum pawl__json_type type,
                          struct pawl__arena *arena)
{
    struct pawl__json json;
    must(!pawl__json_parse(span, PAWL_JSON_DEPTH_MAX, arena, &json, NULL));
    must(json.tokens[0].type == type);
}

static void check_duration(int64_t ms)
{
    must(ms >= 0 && ms <= INT64_C(3155760000000));
}

static void check_policies(const struct pawl_job_spec *spec)
{
    const struct pawl_retry *retry = &spec->retry;
    const struct pawl_unique *unique = &spec->unique;
    must(retry->attempts_max >= 0 && (retry->coefficient == 0 || retry->coefficient >= 1));
    check_duration(retry->initial_ms);
    check_duration(retry->cap_ms);
    must(retry->cap_ms == 0 || retry->cap_ms >= (retry->initial_ms ? retry->initial_ms : 1000));
    must((unsigned)retry->backoff < PAWL_BACKOFF_END);
    check_duration(unique->period_ms);
    must(unique->args_key_count == 0 || (unique->keys & PAWL_UNIQUE_ARGS));
    must(!(unique->keys & PAWL_UNIQUE_META) == !unique->meta_key_count);
    must((unsigned)unique->on_conflict < PAWL_CONFLICT_END);
}

static void check_spec(const struct pawl_job_spec *spec, struct pawl__arena *arena)
{
    must(strlen(spec->type) > 0 && strlen(spec->type) <= PAWL_TYPE_BYTES_MAX);
    must(pawl__ojs_queue_ok(spec->queue));
    must(spec->priority >= PAWL_PRIORITY_MIN && spec->priority <= PAWL_PRIORITY_MAX);
    must(spec->due_at_ms == 0 || spec->due_at_ms > NOW_S * INT64_C(1000));
    must(spec->expires_at_ms >= 0 && spec->expires_at_ms <= INT64_C(253402300799999));
    check_duration(spec->timeout_ms);
    check_duration(spec->lease_ms);
    check_duration(spec->keep_ms);
    check_policies(spec);
    check_payload(spec->args, PAWL__JSON_ARRAY, arena);
    if (spec->meta.len) check_payload(spec->meta, PAWL__JSON_OBJECT, arena);
    if (spec->extra.len) check_payload(spec->extra, PAWL__JSON_OBJECT, arena);
}

/* ---- printed ---- */

static void check_print(const struct pawl_job_spec *spec, struct pawl__arena *arena)
{
    struct pawl__buf once = { 0 }, twice = { 0 };
    struct pawl__json json;
    struct pawl__envelope again;
    struct pawl__fault fault;
    struct pawl__envelope_rules rules = { .now_ms = NOW_S * INT64_C(1000) };
    int32_t attempts_max = spec->retry.attempts_max;
    char policy[40];
    int len = snprintf(policy, sizeof policy, "{\"attempts_max\":%d}", (int)attempts_max);
    struct pawl_job job = {
        .id = { { 0, 0, 0, 0, 0, 0, 0x70, 0, 0x80 } },
        .type = spec->type,
        .queue = spec->queue,
        .state = spec->due_at_ms ? PAWL_STATE_SCHEDULED : PAWL_STATE_AVAILABLE,
        .priority = spec->priority,
        .attempts_max = attempts_max ? attempts_max : 3,
        .retry = { policy, attempts_max ? (size_t)len : 0 },
        .created_at_ms = rules.now_ms,
        .due_at_ms = spec->due_at_ms ? spec->due_at_ms : rules.now_ms,
        .expires_at_ms = spec->expires_at_ms,
        .timeout_ms = spec->timeout_ms,
        .lease_ms = spec->lease_ms,
        .args = spec->args,
        .meta = spec->meta,
        .extra = spec->extra,
    };
    pawl__envelope_print(&once, &job, NULL);
    pawl__envelope_print(&twice, &job, &(struct pawl__envelope_more){ 0 });
    must(!once.failed && once.len == twice.len && memcmp(once.at, twice.at, once.len) == 0);
    struct pawl_span text = { once.at, once.len };
    must(!pawl__json_parse(text, PAWL_JSON_DEPTH_MAX + 1, arena, &json, NULL));
    must(pawl__envelope_read(&json, 0, &rules, arena, &again, &fault));
    must(again.spec.priority == spec->priority && again.spec.args.len == spec->args.len);
    must(again.spec.retry.attempts_max == spec->retry.attempts_max);
    must(again.spec.unique.keys == spec->unique.keys);
    pawl__buf_release(&once);
    pawl__buf_release(&twice);
}

static void check_job(const struct pawl__json *json, uint32_t token, uint8_t rules_byte,
                      struct pawl__arena *arena)
{
    struct pawl__envelope envelope;
    struct pawl__fault fault;
    struct pawl__envelope_rules rules = {
        .now_ms = NOW_S * INT64_C(1000),
        .timeout_ms = rules_byte & 1 ? PAWL__OJS_TIMEOUT_MS : 0,
        .test_mode = rules_byte & 2,
        .tenant = rules_byte & 4 ? "acme" : NULL,
    };
    if (pawl__envelope_read(json, token, &rules, arena, &envelope, &fault)) {
        check_spec(&envelope.spec, arena);
        check_print(&envelope.spec, arena);
    } else {
        check_fault(&fault, arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    if (size == 0) return 0;
    struct pawl_span text = { (const char *)data + 1, size - 1 };
    if (!pawl__json_parse_by(text, &PAWL__BODY_JSON_RULES, &arena, &json, NULL)) {
        bool batch = json.tokens[0].type == PAWL__JSON_ARRAY;
        uint32_t count = batch ? json.tokens[0].count : 1, token = batch ? 1 : 0;
        for (uint32_t i = 0; i < count; i++, token = json.tokens[token].next) {
            check_job(&json, token, data[0], &arena);
        }
    }
    pawl__arena_release(&arena);
    return 0;
}
