/* The structs that travel, as tables. Jobs, specs, retry policies and filters are those of
 * src/fields; a field that is added to another public struct must be added here, or it does not
 * travel. */
#include "wire/inside.h"

#include "fields/fields.h"

#define WORDS(name, array)                                                                         \
    static const struct pawl__wire_words name = { array, sizeof array / sizeof *array }

#define X(number, name, ...) [number] = #name,
static const char *const err_texts[PAWL_ERR_END] = { PAWL_ERRORS(X) };
#undef X
#define X(number, name, text, ...) [number] = text,
static const char *const state_texts[PAWL_STATE_END] = { PAWL_STATES(X) };
static const char *const node_state_texts[PAWL_NODE_END] = { PAWL_NODE_STATES(X) };
static const char *const backoff_texts[PAWL_BACKOFF_END] = { PAWL_BACKOFFS(X) };
static const char *const conflict_texts[PAWL_CONFLICT_END] = { PAWL_CONFLICTS(X) };
static const char *const control_texts[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X
#define X(name, text, ...) [PAWL__WIRE_OP_##name] = #text,
static const char *const op_texts[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
static const char *const exhaustion_texts[] = {
    [PAWL_EXHAUSTION_DISCARD] = "discard", [PAWL_EXHAUSTION_DEAD_LETTER] = "dead_letter"
};
static const char *const jitter_texts[] = { [PAWL_JITTER_ON] = "on", [PAWL_JITTER_OFF] = "off" };

WORDS(err_words, err_texts);
WORDS(state_words, state_texts);
WORDS(node_state_words, node_state_texts);
WORDS(backoff_words, backoff_texts);
WORDS(conflict_words, conflict_texts);
WORDS(control_words, control_texts);
WORDS(op_words, op_texts);
WORDS(exhaustion_words, exhaustion_texts);
WORDS(jitter_words, jitter_texts);

_Static_assert(sizeof(enum pawl_state) == sizeof(uint32_t), "enums are read as uint32_t");

/* ---- how a field is written below: S is the struct ---- */

#define AT(member, ...)                                                                            \
    {                                                                                              \
        .name = #member, .offset = offsetof(S, member), __VA_ARGS__                                \
    }
#define TEXT(member) AT(member, .kind = PAWL__WIRE_TEXT)
#define NAME(member) AT(member, .kind = PAWL__WIRE_NAME)
#define CHARS(member) AT(member, .kind = PAWL__WIRE_CHARS, .extent = sizeof(((S *)0)->member))
#define INT64(member) AT(member, .kind = PAWL__WIRE_INT64)
#define INT32(member) AT(member, .kind = PAWL__WIRE_INT32)
#define MASK(member) AT(member, .kind = PAWL__WIRE_MASK)
#define BOOL(member) AT(member, .kind = PAWL__WIRE_BOOL)
#define DOUBLE(member) AT(member, .kind = PAWL__WIRE_DOUBLE)
#define WORD(member, list) AT(member, .kind = PAWL__WIRE_WORD, .words = &list##_words)
#define JSON(member) AT(member, .kind = PAWL__WIRE_JSON)
#define ID(member) AT(member, .kind = PAWL__WIRE_ID)
#define ID_AT(member) AT(member, .kind = PAWL__WIRE_ID_AT)
#define ONE(member, of) AT(member, .kind = PAWL__WIRE_ONE, .shape = &of)
#define ROW(member)                                                                                \
    AT(member, .kind = PAWL__WIRE_ROW,                                                             \
       .extent = sizeof(((S *)0)->member) / sizeof(((S *)0)->member[0]))
#define LIST(member, counter, ...) AT(member, .count_offset = offsetof(S, counter), __VA_ARGS__)
#define TEXTS(member, counter) LIST(member, counter, .kind = PAWL__WIRE_TEXTS)
#define IDS(member, counter) LIST(member, counter, .kind = PAWL__WIRE_IDS)
#define INT32S(member, counter) LIST(member, counter, .kind = PAWL__WIRE_INT32S)
#define MANY(member, counter, of) LIST(member, counter, .kind = PAWL__WIRE_MANY, .shape = &of)
#define RENAMED(text, member, counter, of)                                                         \
    {                                                                                              \
        .name = text, .offset = offsetof(S, member), .count_offset = offsetof(S, counter),         \
        .kind = PAWL__WIRE_MANY, .shape = &of                                                      \
    }
#define SHAPE(array)                                                                               \
    {                                                                                              \
        .fields = array, .count = sizeof array / sizeof *array, .bytes = sizeof(S)                 \
    }

/* clang-format off */

/* ---- what callers describe ---- */

/* Of the kinds in src/fields. */
#define SPEC_ID_AT(member) ID_AT(member)
#define SPEC_TYPE(member) TEXT(member)
#define SPEC_QUEUE(member) TEXT(member)
#define SPEC_KEY(member) TEXT(member)
#define SPEC_NOTE(member) TEXT(member)
#define SPEC_ARGS(member) JSON(member)
#define SPEC_META(member) JSON(member)
#define SPEC_TAGS(member) TEXTS(member, tag_count)
#define SPEC_TEXTS(member) TEXTS(member, member##_count)
#define SPEC_I32(member) INT32(member)
#define SPEC_I64(member) INT64(member)
#define SPEC_MS(member) INT64(member)
#define SPEC_LEASE(member) INT64(member)
#define SPEC_AT(member) INT64(member)
#define SPEC_REAL(member) DOUBLE(member)
#define SPEC_BOOL(member) BOOL(member)
#define SPEC_BACKOFF(member) WORD(member, backoff)
#define SPEC_JITTER(member) WORD(member, jitter)
#define SPEC_EXHAUSTION(member) WORD(member, exhaustion)
#define SPEC_RETRY(member) ONE(member, retry_shape)
#define SPEC_UNIQUE(member) ONE(member, unique_shape)

#define X(member, kind, ...) SPEC_##kind(member),

#define S struct pawl_retry
static const struct pawl__wire_field retry_fields[] = { PAWL__RETRY_FIELDS(X) };
static const struct pawl__wire_shape retry_shape = SHAPE(retry_fields);
#undef S

#define S struct pawl_unique
static const struct pawl__wire_field unique_fields[] = {
    MASK(keys), TEXTS(args_keys, args_key_count), TEXTS(meta_keys, meta_key_count),
    INT64(period_ms), MASK(states), WORD(on_conflict, conflict),
};
static const struct pawl__wire_shape unique_shape = SHAPE(unique_fields);
#undef S

#define S struct pawl_job_spec
static const struct pawl__wire_field spec_fields[] = { PAWL__SPEC_FIELDS(X) };
static const struct pawl__wire_shape spec_shape = SHAPE(spec_fields);
#undef S
#undef X

#define FILTER_STATES(member) MASK(member)
#define FILTER_PREFIX(member) TEXT(member)
#define FILTER_NAMES(member) TEXTS(member##s, member##_count)
#define FILTER_TAGS(member) TEXTS(member##s, member##_count)
#define FILTER_KEY(member) TEXT(member)
#define FILTER_WORKER(member) TEXT(member)
#define FILTER_PAIR(member) TEXT(member##_key), TEXT(member##_value)
#define FILTER_NUMBERS(member) BOOL(member##_given), INT32(member##_min), INT32(member##_max)
#define FILTER_RANGE(member) INT64(member##_from_ms), INT64(member##_until_ms)
#define FILTER_FLAG(member) BOOL(member)
#define FILTER_ARCHIVE(member) BOOL(member)

#define S struct pawl_filter
#define X(member, kind, ...) FILTER_##kind(member),
static const struct pawl__wire_field filter_fields[] = { PAWL__FILTER_FIELDS(X) };
#undef X
static const struct pawl__wire_shape filter_shape = SHAPE(filter_fields);
#undef S

#define S struct pawl_page
static const struct pawl__wire_field page_fields[] = {
    INT64(limit), BOOL(oldest_first), TEXT(cursor), BOOL(count), INT64(bytes_max), BOOL(brief),
};
static const struct pawl__wire_shape page_shape = SHAPE(page_fields);
#undef S

#define S struct pawl_by
static const struct pawl__wire_field by_fields[] = { TEXT(actor), TEXT(reason) };
static const struct pawl__wire_shape by_shape = SHAPE(by_fields);
#undef S

#define S struct pawl_claim
static const struct pawl__wire_field claim_fields[] = {
    TEXTS(queues, queue_count), TEXTS(types, type_count), INT64(limit), INT64(bytes_max),
    TEXT(worker), INT64(lease_ms), BOOL(timed),
};
static const struct pawl__wire_shape claim_shape = SHAPE(claim_fields);
#undef S

#define S struct pawl_run
static const struct pawl__wire_field run_fields[] = { ID(id), INT64(run) };
static const struct pawl__wire_shape run_shape = SHAPE(run_fields);
#undef S

#define S struct pawl_report
static const struct pawl__wire_field report_fields[] = {
    TEXT(type), TEXT(code), TEXT(error_class), TEXT(message), JSON(details), BOOL(not_retryable),
    BOOL(requeue), BOOL(lapse), INT64(retry_after_ms),
};
static const struct pawl__wire_shape report_shape = SHAPE(report_fields);
#undef S

/* ---- what the store tells ---- */

#define S struct pawl_submitted
static const struct pawl__wire_field submitted_fields[] = {
    ID(id), WORD(state, state), BOOL(deduplicated), BOOL(replaced),
};
static const struct pawl__wire_shape submitted_shape = SHAPE(submitted_fields);
#undef S

#define S struct pawl_failed
static const struct pawl__wire_field failed_fields[] = {
    WORD(to, state), INT64(attempt), INT64(due_at_ms), INT64(delay_ms),
};
static const struct pawl__wire_shape failed_shape = SHAPE(failed_fields);
#undef S

#define JOB_ID(member) ID(member)
#define JOB_TEXT(member) NAME(member)
#define JOB_JSON(member) JSON(member)
#define JOB_ARGS(member) JSON(member)
#define JOB_I32(member) INT32(member)
#define JOB_I64(member) INT64(member)
#define JOB_BITS(member) INT32(member)
#define JOB_TIME(member) INT64(member)
#define JOB_AT(member) INT64(member)
#define JOB_MS(member) INT64(member)
#define JOB_BOOL(member) BOOL(member)
#define JOB_STATE(member) WORD(member, state)
#define JOB_SOME_STATE(member) WORD(member, state)

#define S struct pawl_job
#define X(member, column, kind, ...) JOB_##kind(member),
static const struct pawl__wire_field job_fields[] = { PAWL__JOB_FIELDS(X) };
#undef X
static const struct pawl__wire_shape job_shape = SHAPE(job_fields);
#undef S

#define S struct pawl_jobs
static const struct pawl__wire_field jobs_fields[] = {
    RENAMED("jobs", at, count, job_shape), INT64(total), CHARS(next),
};
const struct pawl__wire_shape pawl__wire_jobs_shape = SHAPE(jobs_fields);
#undef S

#define S struct pawl_failure
static const struct pawl__wire_field failure_fields[] = {
    INT64(run), INT64(attempt), INT64(started_at_ms), INT64(failed_at_ms), INT64(retry_delay_ms),
    BOOL(lapsed), NAME(worker), NAME(type), NAME(code), NAME(message), JSON(details),
};
static const struct pawl__wire_shape failure_shape = SHAPE(failure_fields);
#undef S

#define S struct pawl_log_line
static const struct pawl__wire_field line_fields[] = {
    INT64(number), INT64(at_ms), INT64(run), INT32(level), NAME(text),
};
static const struct pawl__wire_shape line_shape = SHAPE(line_fields);
#undef S

#define S struct pawl_deed
static const struct pawl__wire_field deed_fields[] = {
    INT64(at_ms), NAME(action), NAME(actor), NAME(reason), WORD(from, state), WORD(to, state),
};
static const struct pawl__wire_shape deed_shape = SHAPE(deed_fields);
#undef S

#define S struct pawl_story
static const struct pawl__wire_field story_fields[] = {
    ONE(job, job_shape), MANY(failures, failure_count, failure_shape),
    MANY(log, log_count, line_shape), MANY(deeds, deed_count, deed_shape), DOUBLE(progress),
    NAME(progress_message), JSON(progress_data), INT64(progress_at_ms), INT64(checkpoint_sequence),
    INT64(checkpoint_at_ms), JSON(checkpoint),
};
const struct pawl__wire_shape pawl__wire_story_shape = SHAPE(story_fields);
#undef S

#define S struct pawl_queue_stats
static const struct pawl__wire_field queue_fields[] = {
    NAME(queue), BOOL(paused), INT64(created_at_ms), ROW(count), INT64(archived),
};
static const struct pawl__wire_shape queue_shape = SHAPE(queue_fields);
#undef S

#define S struct pawl_stats
static const struct pawl__wire_field stats_fields[] = {
    MANY(queues, queue_count, queue_shape), ROW(count), INT64(archived), INT64(next_due_at_ms),
    INT64(store_bytes), INT32(schema_version),
};
const struct pawl__wire_shape pawl__wire_stats_shape = SHAPE(stats_fields);
#undef S

#define S struct pawl_node
static const struct pawl__wire_field node_fields[] = {
    NAME(name), NAME(info), INT64(started_at_ms), INT64(heartbeat_at_ms), INT64(active),
    WORD(state, node_state), INT64(lease_ms), INT32(workers), INT64(pid), NAME(host),
    NAME(version),
};
static const struct pawl__wire_shape node_shape = SHAPE(node_fields);
#undef S

#define S struct pawl_census
static const struct pawl__wire_field census_fields[] = {
    INT64(alive), INT64(given_up), INT64(ready), INT64(silent_at_ms),
};
static const struct pawl__wire_shape census_shape = SHAPE(census_fields);
#undef S

#define S struct pawl_nodes
static const struct pawl__wire_field nodes_fields[] = {
    RENAMED("nodes", at, count, node_shape), INT64(now_ms),
};
const struct pawl__wire_shape pawl__wire_nodes_shape = SHAPE(nodes_fields);
#undef S

#define S struct pawl_lock
static const struct pawl__wire_field lock_fields[] = {
    NAME(name), NAME(owner), INT64(fence), INT64(locked_at_ms), INT64(expires_at_ms),
};
static const struct pawl__wire_shape lock_shape = SHAPE(lock_fields);
#undef S

#define S struct pawl_locks
static const struct pawl__wire_field locks_fields[] = {
    RENAMED("locks", at, count, lock_shape), INT64(now_ms),
};
const struct pawl__wire_shape pawl__wire_locks_shape = SHAPE(locks_fields);
#undef S

#define S struct pawl_setting
static const struct pawl__wire_field setting_fields[] = { NAME(name), NAME(value) };
static const struct pawl__wire_shape setting_shape = SHAPE(setting_fields);
#undef S

#define S struct pawl_settings
static const struct pawl__wire_field settings_fields[] = {
    RENAMED("settings", at, count, setting_shape),
};
const struct pawl__wire_shape pawl__wire_settings_shape = SHAPE(settings_fields);
#undef S

/* ---- requests and replies ---- */

#define S struct pawl__wire_op
static const struct pawl__wire_field op_fields[] = {
    WORD(op, op), MANY(jobs, job_count, spec_shape), ONE(claim, claim_shape), ID(id), INT64(run),
    JSON(data), ONE(report, report_shape), INT64(delay_ms), MANY(runs, run_count, run_shape),
    INT64(lease_ms), BOOL(timed), WORD(control, control), ONE(filter, filter_shape), INT64(limit),
    ONE(by, by_shape), INT32(priority), DOUBLE(value), TEXT(text), INT32(level), TEXT(name),
    TEXT(owner), INT64(ttl_ms), INT64(started_at_ms), BOOL(paused), BOOL(forgotten),
};

/* What the form of each names. */
#define ASK(how, member, ...) offsetof(S, member),
#define ANSWER(...)
#define X(name, ...)                                                                               \
    static const uint16_t name##_members[] = { PAWL__WIRE_FORM_##name(ASK, ANSWER) 0 };
PAWL__WIRE_OPS(X)
#undef X
#undef ASK
#undef ANSWER
#define X(name, ...) [PAWL__WIRE_OP_##name] = name##_members,
static const uint16_t *const op_members[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
const struct pawl__wire_shape pawl__wire_op_shape = {
    .fields = op_fields, .count = sizeof op_fields / sizeof *op_fields, .bytes = sizeof(S),
    .members = op_members
};
#undef S

#define S struct pawl__wire_ops
static const struct pawl__wire_field ops_fields[] = { MANY(ops, count, pawl__wire_op_shape) };
const struct pawl__wire_shape pawl__wire_ops_shape = SHAPE(ops_fields);
#undef S

#define S struct pawl__wire_answer
static const struct pawl__wire_field answer_fields[] = {
    WORD(err, err), TEXT(field), TEXT(text), INT64(now_ms),
    MANY(submitted, submitted_count, submitted_shape), INT64(failed_index),
    ONE(holder, submitted_shape), MANY(jobs, job_count, job_shape), BOOL(more),
    ONE(failed, failed_shape),
    INT32S(results, result_count), WORD(from, state), WORD(to, state), INT64(moved), INT32(before),
    INT64(sequence), INT64(fence), INT64(started_at_ms),
    ONE(census, census_shape),
};
const struct pawl__wire_shape pawl__wire_answer_shape = SHAPE(answer_fields);
#undef S

#define S struct pawl__wire_answers
static const struct pawl__wire_field answers_fields[] = {
    MANY(answers, count, pawl__wire_answer_shape),
};
const struct pawl__wire_shape pawl__wire_answers_shape = SHAPE(answers_fields);
#undef S

#define S struct pawl__wire_ask
static const struct pawl__wire_field ask_fields[] = {
    IDS(ids, id_count), ONE(filter, filter_shape), ONE(page, page_shape), TEXT(prefix),
};
const struct pawl__wire_shape pawl__wire_ask_shape = SHAPE(ask_fields);
#undef S

#define S struct pawl__wire_refusal
static const struct pawl__wire_field refusal_fields[] = { WORD(err, err), TEXT(field), TEXT(text) };
const struct pawl__wire_shape pawl__wire_refusal_shape = SHAPE(refusal_fields);
#undef S

#define S struct pawl__wire_hello
static const struct pawl__wire_field hello_fields[] = {
    TEXT(pawl), INT64(protocol), INT64(body_max), INT64(now_ms),
};
const struct pawl__wire_shape pawl__wire_hello_shape = SHAPE(hello_fields);
#undef S

#define S struct pawl__wire_count
static const struct pawl__wire_field count_fields[] = { INT64(count) };
const struct pawl__wire_shape pawl__wire_count_shape = SHAPE(count_fields);
#undef S

#define S struct pawl__wire_wait
static const struct pawl__wire_field wait_fields[] = {
    INT64(ready), INT64(control), INT64(wait_ms),
};
const struct pawl__wire_shape pawl__wire_wait_shape = SHAPE(wait_fields);
#undef S

/* clang-format on */

/* ---- paths ---- */

const char *pawl__wire_path_text(enum pawl__wire_path path)
{
#define X(name, text, ...) [PAWL__WIRE_PATH_##name] = text,
    static const char *const texts[PAWL__WIRE_PATH_END] = { PAWL__WIRE_PATHS(X) };
#undef X
    return texts[path];
}

enum pawl__wire_path pawl__wire_op_path(enum pawl__wire_op_kind kind)
{
#define X(name, text, path, ...) [PAWL__WIRE_OP_##name] = PAWL__WIRE_PATH_##path,
    static const uint8_t paths[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
    return (enum pawl__wire_path)paths[kind];
}
