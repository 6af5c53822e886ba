/* The structs that travel, as tables. Jobs, specs, retry policies and filters are those of
 * src/fields; a field that is added to another public struct must be added here, or it does not
 * travel. */
#include "wire/wire.h"
#include "wire/flow.h"

#include "base/diag.h"
#include "fields/fields.h"

#define X(name, text, ...) [PAWL__WIRE_OP_##name] = #text,
static const char *const op_texts[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
static const char *const jitter_texts[] = { [PAWL_JITTER_ON] = "on", [PAWL_JITTER_OFF] = "off" };
static const struct pawl__words op_words = { .at = op_texts, .count = PAWL__WIRE_OP_LAST };
static const struct pawl__words jitter_words = { .at = jitter_texts, .count = PAWL_JITTER_OFF + 1 };

/* ---- how a field is written below: S is the struct ---- */

#define AS(kind, member, ...) PAWL__MEMBER(#member, kind, S, member, __VA_ARGS__)
#define TEXT(member) AS(TEXT, member)
#define NAME(member) AS(NAME, member)
#define CHARS(member) AS(CHARS, member, .extent = sizeof(((S *)0)->member))
#define INT64(member) AS(INT64, member)
#define INT32(member) AS(INT32, member)
#define MASK(member) AS(MASK, member)
#define BOOL(member) AS(BOOL, member)
#define DOUBLE(member) AS(REAL, member)
#define WORD(member, list) AS(WORD, member, .words = &pawl__##list##_words)
#define WORD_HERE(member, list) AS(WORD, member, .words = &list##_words)
#define JSON(member) AS(JSON, member)
#define ID(member) AS(ID, member)
#define ID_AT(member) AS(ID_AT, member)
#define ONE(member, of) AS(ONE, member, .shape = &of)
#define ROW(member) AS(ROW, member, .extent = sizeof(((S *)0)->member) / sizeof(int64_t))
#define TEXTS(member, counter) AS(TEXTS, member, PAWL__COUNTED(S, counter))
#define IDS(member, counter) AS(IDS, member, PAWL__COUNTED(S, counter))
#define INT32S(member, counter) AS(INT32S, member, PAWL__COUNTED(S, counter))
#define MANY(member, counter, of) AS(MANY, member, PAWL__COUNTED(S, counter), .shape = &of)
#define RENAMED(text, member, counter, of)                                                         \
    PAWL__MEMBER(text, MANY, S, member, PAWL__COUNTED(S, counter), .shape = &of)
#define SHAPE(array, ...) PAWL__SHAPE(S, array, __VA_ARGS__)

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
#define SPEC_JITTER(member) WORD_HERE(member, jitter)
#define SPEC_EXHAUSTION(member) WORD(member, exhaustion)
#define SPEC_RETRY(member) ONE(member, retry_shape)
#define SPEC_UNIQUE(member) ONE(member, unique_shape)
#define SPEC_FOLLOW(member) AS(OWN, member, .read = read_follow, .print = print_follow)

#define X(member, kind, ...) SPEC_##kind(member),

#define S struct pawl_retry
static const struct pawl__member retry_members[] = { PAWL__RETRY_FIELDS(X) };
static const struct pawl__shape retry_shape = SHAPE(retry_members);
#undef S

#define S struct pawl_unique
static const struct pawl__member unique_members[] = {
    MASK(keys), TEXTS(args_keys, args_key_count), TEXTS(meta_keys, meta_key_count),
    INT64(period_ms), MASK(states), WORD(on_conflict, conflict),
};
static const struct pawl__shape unique_shape = SHAPE(unique_members);
#undef S

static const struct pawl__shape spec_shape;

static enum pawl_err read_follow(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base)
{
    struct pawl_job_spec *spec = pawl__arena_calloc(reader->arena, 1, sizeof *spec);
    if (!spec) return pawl__fail_nomem(reader->diag);
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object");
    }
    *(const struct pawl_job_spec **)(void *)((char *)base + member->offset) = spec;
    return pawl__shape_read(reader, &spec_shape, token, spec);
}

static void print_follow(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct pawl_job_spec *const *spec =
        (const void *)((const char *)base + member->offset);
    if (*spec) pawl__shape_print(writer, &spec_shape, *spec);
}

#define S struct pawl_job_spec
static const struct pawl__member spec_members[] = { PAWL__SPEC_FIELDS(X) };
static const struct pawl__shape spec_shape = SHAPE(spec_members);
#undef S
#undef X

#define S struct pawl_flow_edge
static const struct pawl__member flow_edge_members[] = {
    TEXT(parent), WORD(on, flow_on), TEXT(when), INT32(arm), BOOL(otherwise), TEXT(label),
};
static const struct pawl__shape flow_edge_shape = SHAPE(flow_edge_members);
#undef S

#define S struct pawl_flow_node
static const struct pawl__member flow_node_members[] = {
    TEXT(name), WORD(kind, flow_kind), ONE(job, spec_shape), TEXT(group),
    MANY(after, after_count, flow_edge_shape), WORD(join, flow_join), INT32(n),
    WORD(on_parent_failure, flow_parent), WORD(select, flow_select), BOOL(may_fail),
    BOOL(callback), BOOL(unsealed), INT64(abort_failures), DOUBLE(abort_share), TEXT(signal_key),
    INT64(timeout_ms), WORD(on_timeout, flow_unsignalled), WORD(on_reject, flow_unsignalled),
    JSON(payload),
};
static const struct pawl__shape flow_node_shape = SHAPE(flow_node_members);
#undef S

#define S struct pawl_flow_spec
static const struct pawl__member flow_spec_members[] = {
    ID_AT(id), TEXT(name), TEXT(layout), JSON(meta), MANY(nodes, node_count, flow_node_shape),
    BOOL(unsealed), INT64(deadline_at_ms), INT32(priority), INT64(sla_soft_at_ms),
    INT64(sla_hard_at_ms), TEXT(idempotency_key),
};
static const struct pawl__shape flow_spec_shape = SHAPE(flow_spec_members);
#undef S

#define S struct pawl_flow_filter
static const struct pawl__member flow_filter_members[] = { WORD(state, flow_state), TEXT(name) };
static const struct pawl__shape flow_filter_shape = SHAPE(flow_filter_members);
#undef S

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
static const struct pawl__member filter_members[] = { PAWL__FILTER_FIELDS(X) };
#undef X
static const struct pawl__shape filter_shape = SHAPE(filter_members);
#undef S

#define S struct pawl_page
static const struct pawl__member page_members[] = {
    INT64(limit), BOOL(oldest_first), TEXT(cursor), BOOL(count), INT64(bytes_max), BOOL(brief),
};
static const struct pawl__shape page_shape = SHAPE(page_members);
#undef S

#define S struct pawl_by
static const struct pawl__member by_members[] = { TEXT(actor), TEXT(reason) };
static const struct pawl__shape by_shape = SHAPE(by_members);
#undef S

#define S struct pawl_claim
static const struct pawl__member claim_members[] = {
    TEXTS(queues, queue_count), TEXTS(types, type_count), INT64(limit), INT64(bytes_max),
    TEXT(worker), INT64(lease_ms), BOOL(timed),
};
static const struct pawl__shape claim_shape = SHAPE(claim_members);
#undef S

#define S struct pawl_run
static const struct pawl__member run_members[] = { ID(id), INT64(run) };
static const struct pawl__shape run_shape = SHAPE(run_members);
#undef S

#define S struct pawl_report
static const struct pawl__member report_members[] = {
    TEXT(type), TEXT(code), TEXT(error_class), TEXT(message), JSON(details), BOOL(not_retryable),
    BOOL(requeue), BOOL(lapse), INT64(retry_after_ms),
};
static const struct pawl__shape report_shape = SHAPE(report_members);
#undef S

/* ---- what the store tells ---- */

#define S struct pawl_submitted
static const struct pawl__member submitted_members[] = {
    ID(id), WORD(state, state), BOOL(deduplicated), BOOL(replaced),
};
static const struct pawl__shape submitted_shape = SHAPE(submitted_members);
#undef S

#define S struct pawl_failed
static const struct pawl__member failed_members[] = {
    WORD(to, state), INT64(attempt), INT64(due_at_ms), INT64(delay_ms),
};
static const struct pawl__shape failed_shape = SHAPE(failed_members);
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
static const struct pawl__member job_members[] = { PAWL__JOB_FIELDS(X) };
#undef X
static const struct pawl__shape job_shape = SHAPE(job_members);
#undef S

#define S struct pawl_jobs
static const struct pawl__member jobs_members[] = {
    RENAMED("jobs", at, count, job_shape), INT64(total), CHARS(next),
};
const struct pawl__shape pawl__wire_jobs_shape = SHAPE(jobs_members);
#undef S

#define S struct pawl_failure
static const struct pawl__member failure_members[] = {
    INT64(run), INT64(attempt), INT64(started_at_ms), INT64(failed_at_ms), INT64(retry_delay_ms),
    BOOL(lapsed), NAME(worker), NAME(type), NAME(code), NAME(message), JSON(details),
};
static const struct pawl__shape failure_shape = SHAPE(failure_members);
#undef S

#define S struct pawl_log_line
static const struct pawl__member line_members[] = {
    INT64(number), INT64(at_ms), INT64(run), INT32(level), NAME(text),
};
static const struct pawl__shape line_shape = SHAPE(line_members);
#undef S

#define S struct pawl_audit_entry
static const struct pawl__member audit_members[] = {
    INT64(at_ms), NAME(action), NAME(actor), NAME(reason), WORD(from, state), WORD(to, state),
};
static const struct pawl__shape audit_shape = SHAPE(audit_members);
#undef S

#define S struct pawl_story
static const struct pawl__member story_members[] = {
    ONE(job, job_shape), MANY(failures, failure_count, failure_shape),
    MANY(log, log_count, line_shape), MANY(audit, audit_count, audit_shape), DOUBLE(progress),
    NAME(progress_message), JSON(progress_data), INT64(progress_at_ms), INT64(checkpoint_sequence),
    INT64(checkpoint_at_ms), JSON(checkpoint),
};
const struct pawl__shape pawl__wire_story_shape = SHAPE(story_members);
#undef S

#define S struct pawl_queue_stats
static const struct pawl__member queue_members[] = {
    NAME(queue), BOOL(paused), INT64(created_at_ms), ROW(count), INT64(archived),
};
static const struct pawl__shape queue_shape = SHAPE(queue_members);
#undef S

#define S struct pawl_stats
static const struct pawl__member stats_members[] = {
    MANY(queues, queue_count, queue_shape), ROW(count), INT64(archived), INT64(next_due_at_ms),
    INT64(store_bytes), INT32(schema_version),
};
const struct pawl__shape pawl__wire_stats_shape = SHAPE(stats_members);
#undef S

#define S struct pawl_node
static const struct pawl__member node_members[] = {
    NAME(name), NAME(info), INT64(started_at_ms), INT64(heartbeat_at_ms), INT64(active),
    WORD(state, node_state), INT64(lease_ms), INT32(workers), INT64(pid), NAME(host),
    NAME(version),
};
static const struct pawl__shape node_shape = SHAPE(node_members);
#undef S

#define S struct pawl_census
static const struct pawl__member census_members[] = {
    INT64(alive), INT64(given_up), INT64(ready), INT64(silent_at_ms),
};
static const struct pawl__shape census_shape = SHAPE(census_members);
#undef S

#define S struct pawl_nodes
static const struct pawl__member nodes_members[] = {
    RENAMED("nodes", at, count, node_shape), INT64(now_ms),
};
const struct pawl__shape pawl__wire_nodes_shape = SHAPE(nodes_members);
#undef S

#define S struct pawl_lock
static const struct pawl__member lock_members[] = {
    NAME(name), NAME(owner), INT64(fence), INT64(locked_at_ms), INT64(expires_at_ms),
};
static const struct pawl__shape lock_shape = SHAPE(lock_members);
#undef S

#define S struct pawl_locks
static const struct pawl__member locks_members[] = {
    RENAMED("locks", at, count, lock_shape), INT64(now_ms),
};
const struct pawl__shape pawl__wire_locks_shape = SHAPE(locks_members);
#undef S

#define S struct pawl_setting
static const struct pawl__member setting_members[] = { NAME(name), NAME(value) };
static const struct pawl__shape setting_shape = SHAPE(setting_members);
#undef S

#define S struct pawl_settings
static const struct pawl__member settings_members[] = {
    RENAMED("settings", at, count, setting_shape),
};
const struct pawl__shape pawl__wire_settings_shape = SHAPE(settings_members);
#undef S

#define S struct pawl_args_schema
static const struct pawl__member schema_members[] = {
    NAME(uri), NAME(type), NAME(version), NAME(of_type), NAME(of_version), INT64(created_at_ms),
    JSON(schema),
};
static const struct pawl__shape schema_shape = SHAPE(schema_members);
#undef S

#define S struct pawl_args_schemas
static const struct pawl__member schemas_members[] = {
    RENAMED("schemas", at, count, schema_shape),
};
const struct pawl__shape pawl__wire_schemas_shape = SHAPE(schemas_members);
#undef S

#define S struct pawl_queue_config
static const struct pawl__member config_members[] = { NAME(queue), JSON(rate_limit) };
static const struct pawl__shape config_shape = SHAPE(config_members);
#undef S

#define S struct pawl_queue_configs
static const struct pawl__member configs_members[] = {
    RENAMED("configs", at, count, config_shape),
};
const struct pawl__shape pawl__wire_configs_shape = SHAPE(configs_members);
#undef S

#define S struct pawl_flow_counts
static const struct pawl__member flow_counts_members[] = {
    INT64(total), INT64(open), INT64(completed), INT64(skipped), INT64(failed), INT64(cancelled),
};
static const struct pawl__shape flow_counts_shape = SHAPE(flow_counts_members);
#undef S

#define S struct pawl_flow
static const struct pawl__member flow_members[] = {
    ID(id), NAME(name), NAME(layout), JSON(meta), WORD(state, flow_state), BOOL(sealed),
    INT64(created_at_ms), INT64(finished_at_ms), INT64(deadline_at_ms), BOOL(paused),
    INT32(reopened), NAME(reason), ONE(members, flow_counts_shape), ONE(jobs, flow_counts_shape),
};
static const struct pawl__shape flow_shape = SHAPE(flow_members);
#undef S

#define S struct pawl_flows
static const struct pawl__member flows_members[] = {
    RENAMED("flows", at, count, flow_shape), CHARS(next),
};
const struct pawl__shape pawl__wire_flows_shape = SHAPE(flows_members);
#undef S

#define S struct pawl_flow_view
static const struct pawl__member flow_view_members[] = {
    INT32(number), ID(id), NAME(name), WORD(kind, flow_kind), INT32(group),
    WORD(join, flow_join), INT32(n), WORD(on_parent_failure, flow_parent),
    WORD(select, flow_select), BOOL(may_fail), BOOL(callback), WORD(state, state),
    INT32(pending), INT32(good), INT32(dead), INT32(broken), INT64(started_at_ms),
    INT64(finished_at_ms), NAME(type), NAME(queue), NAME(reason), JSON(result),
    ONE(members, flow_counts_shape), NAME(signal_key), INT64(until_ms),
};
static const struct pawl__shape flow_view_shape = SHAPE(flow_view_members);
#undef S

#define S struct pawl_flow_arc
static const struct pawl__member flow_arc_members[] = {
    INT32(parent), INT32(child), WORD(on, flow_on), INT32(arm), BOOL(otherwise), NAME(when),
    NAME(label), NAME(reason), INT32(verdict),
};
static const struct pawl__shape flow_arc_shape = SHAPE(flow_arc_members);
#undef S

#define S struct pawl_flow_nodes
static const struct pawl__member flow_nodes_members[] = {
    RENAMED("nodes", at, count, flow_view_shape), MANY(edges, edge_count, flow_arc_shape),
    INT64(omitted_bytes),
};
const struct pawl__shape pawl__wire_flow_nodes_shape = SHAPE(flow_nodes_members);
#undef S

#define S struct pawl_flow_input
static const struct pawl__member flow_input_members[] = {
    NAME(name), ID(id), WORD(state, state), JSON(result), NAME(reason),
};
static const struct pawl__shape flow_input_shape = SHAPE(flow_input_members);
#undef S

#define S struct pawl_flow_inputs
static const struct pawl__member flow_inputs_members[] = {
    ID(flow), NAME(node), BOOL(callback), RENAMED("inputs", at, count, flow_input_shape),
    INT64(omitted_bytes),
};
const struct pawl__shape pawl__wire_flow_inputs_shape = SHAPE(flow_inputs_members);
#undef S

/* ---- schedules ---- */

/* An instant of a list of these. */
struct instant {
    int64_t at_ms;
};
_Static_assert(sizeof(struct instant) == sizeof(int64_t), "a list of instants is one of numbers");
#define S struct instant
static const struct pawl__member instant_members[] = { INT64(at_ms) };
static const struct pawl__shape instant_shape = SHAPE(instant_members);
#undef S

#define S struct pawl_recurrence
static const struct pawl__member recurrence_members[] = {
    TEXT(expression), MANY(instants, instant_count, instant_shape), TEXT(zone),
    WORD(dialect, dialect), WORD(gap, gap), INT64(anchor_at_ms), INT64(start_at_ms),
    INT64(end_at_ms),
};
static const struct pawl__shape recurrence_shape = SHAPE(recurrence_members);
#undef S

#define S struct pawl_schedule_spec
static const struct pawl__member schedule_spec_members[] = {
    TEXT(name), ONE(recurrence, recurrence_shape), ONE(job, spec_shape), WORD(overlap, overlap),
    WORD(misfire, misfire), INT32(catch_up), INT64(late_max_ms), INT64(jitter_ms),
    INT64(max_runs), BOOL(catch_up_paused), BOOL(disabled), NAME(description), JSON(meta),
};
static const struct pawl__shape schedule_spec_shape = SHAPE(schedule_spec_members);
#undef S

#define S struct pawl_schedule_put_options
static const struct pawl__member put_options_members[] = {
    BOOL(create_only), BOOL(change_only), INT64(version), BOOL(dry_run), TEXT(group), TEXT(actor),
};
static const struct pawl__shape put_options_shape = SHAPE(put_options_members);
#undef S

#define S struct pawl_schedule_put
static const struct pawl__member put_members[] = {
    WORD(put, put), INT64(version), INT64(next_at_ms), WORD(state, schedule_state),
};
static const struct pawl__shape put_shape = SHAPE(put_members);
#undef S

#define S struct pawl_schedule_ran
static const struct pawl__member ran_members[] = {
    ID(job), WORD(skip, skip), BOOL(queued), INT64(at_ms),
};
static const struct pawl__shape ran_shape = SHAPE(ran_members);
#undef S

#define S struct pawl_schedule
static const struct pawl__member schedule_members[] = {
    ONE(spec, schedule_spec_shape), NAME(group), INT64(declared_at_ms),
    WORD(state, schedule_state), NAME(reason), INT64(anchor_at_ms), INT64(next_at_ms),
    INT64(settled_at_ms), INT64(last_at_ms), ID(last_job), INT64(runs), INT64(skips), INT64(queued),
    INT64(version), INT64(created_at_ms), INT64(updated_at_ms),
};
static const struct pawl__shape schedule_shape = SHAPE(schedule_members);
#undef S

#define S struct pawl_schedules
static const struct pawl__member schedules_members[] = {
    RENAMED("schedules", at, count, schedule_shape), BOOL(more),
};
const struct pawl__shape pawl__wire_schedules_shape = SHAPE(schedules_members);
#undef S

#define S struct pawl_schedule_filter
static const struct pawl__member schedule_filter_members[] = {
    MASK(states), TEXT(name_prefix), TEXT(group), TEXT(after), INT64(limit),
};
static const struct pawl__shape schedule_filter_shape = SHAPE(schedule_filter_members);
#undef S

#define S struct pawl_firing
static const struct pawl__member firing_members[] = {
    INT64(number), INT64(at_ms), WORD(kind, firing_kind), WORD(skip, skip), INT64(first_at_ms),
    INT64(last_at_ms), INT64(count), INT64(due_at_ms), ID(job), BOOL(queued), INT64(cancelled),
    NAME(reason), NAME(detail), NAME(actor),
};
static const struct pawl__shape firing_shape = SHAPE(firing_members);
#undef S

#define S struct pawl_firings
static const struct pawl__member firings_members[] = {
    RENAMED("firings", at, count, firing_shape), BOOL(more),
};
const struct pawl__shape pawl__wire_firings_shape = SHAPE(firings_members);
#undef S

/* ---- requests and replies ---- */

#define S struct pawl__wire_op
static const struct pawl__member op_members[] = {
    WORD_HERE(op, op), MANY(jobs, job_count, spec_shape), ONE(claim, claim_shape), ID(id),
    INT64(run), JSON(data), ONE(report, report_shape), INT64(delay_ms),
    MANY(runs, run_count, run_shape),
    INT64(lease_ms), BOOL(timed), WORD(control, control), ONE(filter, filter_shape), INT64(limit),
    ONE(by, by_shape), INT32(priority), DOUBLE(value), TEXT(text), INT32(level), TEXT(name),
    INT64(token), TEXT(owner), INT64(ttl_ms), INT64(started_at_ms), BOOL(paused), BOOL(forgotten),
    WORD(signal, flow_signal), ONE(schema, schema_shape), ONE(config, config_shape),
    ONE(flow, flow_spec_shape),
    WORD(verb, flow_control), IDS(nodes, node_count), BOOL(drain), BOOL(all_below),
    MANY(schedules, schedule_count, schedule_spec_shape), ONE(options, put_options_shape),
    BOOL(force), INT64(version), TEXT(group), INT64(declared_before_ms),
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
static const uint16_t *const op_choices[PAWL__WIRE_OP_LAST] = { PAWL__WIRE_OPS(X) };
#undef X
const struct pawl__shape pawl__wire_op_shape = SHAPE(op_members, .choices = op_choices);
#undef S

#define S struct pawl__wire_ops
static const struct pawl__member ops_members[] = { MANY(ops, count, pawl__wire_op_shape) };
const struct pawl__shape pawl__wire_ops_shape = SHAPE(ops_members);
#undef S

#define S struct pawl__wire_answer
static const struct pawl__member answer_members[] = {
    WORD(err, err), TEXT(field), TEXT(text), INT64(now_ms),
    MANY(submitted, submitted_count, submitted_shape), INT64(failed_index),
    ONE(holder, submitted_shape), MANY(jobs, job_count, job_shape), BOOL(more),
    ONE(failed, failed_shape),
    INT32S(results, result_count), WORD(from, state), WORD(to, state), INT64(moved), INT32(before),
    INT64(sequence), INT64(fence), INT64(started_at_ms),
    ONE(census, census_shape), ONE(put, put_shape), BOOL(changed), ONE(ran, ran_shape),
};
const struct pawl__shape pawl__wire_answer_shape = SHAPE(answer_members);
#undef S

#define S struct pawl__wire_answers
static const struct pawl__member answers_members[] = {
    MANY(answers, count, pawl__wire_answer_shape),
};
const struct pawl__shape pawl__wire_answers_shape = SHAPE(answers_members);
#undef S

#define S struct pawl__wire_ask
static const struct pawl__member ask_members[] = {
    IDS(ids, id_count), ONE(filter, filter_shape), ONE(page, page_shape), TEXT(prefix),
    TEXT(name), BOOL(by_type), ONE(flows, flow_filter_shape),
    ONE(schedules, schedule_filter_shape), INT64(before), INT64(limit),
};
const struct pawl__shape pawl__wire_ask_shape = SHAPE(ask_members);
#undef S

#define S struct pawl__wire_refusal
static const struct pawl__member refusal_members[] = { WORD(err, err), TEXT(field), TEXT(text) };
const struct pawl__shape pawl__wire_refusal_shape = SHAPE(refusal_members);
#undef S

#define S struct pawl__wire_hello
static const struct pawl__member hello_members[] = {
    TEXT(pawl), INT64(protocol), INT64(body_max), INT64(now_ms),
};
const struct pawl__shape pawl__wire_hello_shape = SHAPE(hello_members);
#undef S

#define S struct pawl__wire_count
static const struct pawl__member count_members[] = { INT64(count) };
const struct pawl__shape pawl__wire_count_shape = SHAPE(count_members);
#undef S

#define S struct pawl__wire_wait
static const struct pawl__member wait_members[] = {
    INT64(ready), INT64(control), INT64(wait_ms),
};
const struct pawl__shape pawl__wire_wait_shape = SHAPE(wait_members);
#undef S

/* clang-format on */

/* ---- text ---- */

/* Three bytes, "{},", may ask for a struct of five hundred: so what a request's lists take is
 * bounded, far above what honest ones need. */
#define ASKED_BYTES_MAX ((size_t)64 * 1024 * 1024)

void pawl__wire_print(struct pawl__buf *out, const struct pawl__shape *shape, const void *at)
{
    pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, shape, at);
}

enum pawl_err pawl__wire_read(struct pawl_span text, const struct pawl__shape *shape, bool strict,
                              struct pawl__arena *arena, void *out, struct pawl_diag *diag)
{
    struct pawl__shape_reader reader = {
        .arena = arena,
        .diag = diag,
        .unknown = strict ? PAWL__UNKNOWN_REFUSE : PAWL__UNKNOWN_SKIP,
        .list_bytes_max = strict ? ASKED_BYTES_MAX : 0,
    };
    pawl__shape_clear(shape, out);
    return pawl__shape_read_text(&reader, text, PAWL__WIRE_DEPTH_MAX, shape, out);
}

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
