/* A job's fields as stores write them, and the rows of the working set. The list of a job's fields
 * is in src/fields; what reads and writes a field in a database is in a backend's columns.c.
 *
 * Pure; any thread. */
#ifndef PAWL_STORE_CORE_FIELDS_H
#define PAWL_STORE_CORE_FIELDS_H

#include "fields/fields.h"
#include "store/store.h"

/* What the store decides about a new job: see pawl__settle. */
struct pawl__settled {
    int64_t created_at_ms;
    int64_t due_at_ms;
    int64_t expires_at_ms; /* 0: never */
    int64_t rank;
    enum pawl_state state;
};

/* Where a new job's value is. */
enum pawl__origin {
    PAWL__ORIGIN_SPEC,   /* struct pawl_job_spec */
    PAWL__ORIGIN_TEXTS,  /* struct pawl__new_job */
    PAWL__ORIGIN_SETTLED /* struct pawl__settled */
};

struct pawl__new_field {
    enum pawl__kind kind;
    enum pawl__origin origin;
    size_t offset;
};

/* PAWL__JOB_FACTS, in that order. */
extern const struct pawl__new_field pawl__new_facts[PAWL__JOB_FACTS_COUNT];

static inline const void *pawl__new_value(const struct pawl__new_field *field,
                                          const struct pawl__new_job *job,
                                          const struct pawl__settled *settled)
{
    const void *base = field->origin == PAWL__ORIGIN_SPEC    ? (const void *)job->spec
                       : field->origin == PAWL__ORIGIN_TEXTS ? (const void *)job
                                                             : (const void *)settled;
    return (const char *)base + field->offset;
}

/* Has a new job any of PAWL__JOB_EXTRAS, or keys? */
bool pawl__new_has_extras(const struct pawl__new_job *job, const struct pawl__settled *settled);

/* ---- the working set (set.h) ----
 *
 * member, column, KIND
 *
 * Backends read and write rows by these lists: through descriptors (pawl__row_fields,
 * pawl__set_tables) in C, as {{row.plan}} and so on in their .sql files. */
/* clang-format off */

/* struct pawl__row: what never changes, */
#define PAWL__ROW_FIXED(X)                                                                         \
    X(created_at_ms,  created_at_ms,  TIME)                                                        \
    X(attempts_max,   attempts_max,   I32)                                                         \
    X(timeout_ms,     timeout_ms,     MS)                                                          \
    X(sla_soft_at_ms, sla_soft_at_ms, AT)                                                          \
    X(sla_hard_at_ms, sla_hard_at_ms, AT)                                                          \
    X(retry,          retry,          JSON)                                                        \
    X(on_success,     on_success,     JSON)                                                        \
    X(on_failure,     on_failure,     JSON)                                                        \
    X(keys,           keys,           BYTES)
/* when it is to run, and what depends on it, */
#define PAWL__ROW_PLAN(X)                                                                          \
    X(priority,       priority,       I32)                                                         \
    X(due_at_ms,      due_at_ms,      TIME)                                                        \
    X(rank,           rank,           I64)                                                         \
    X(expires_at_ms,  expires_at_ms,  AT)                                                          \
    X(ties,           ties,           BITS)
/* where it stands, */
#define PAWL__ROW_STAND(X)                                                                         \
    X(state,          state,          STATE)                                                       \
    X(paused_from,    paused_from,    SOME_STATE)                                                  \
    X(run,            run,            I64)                                                         \
    X(base_run,       base_run,       I64)                                                         \
    X(free_runs,      free_runs,      I64)                                                         \
    X(started_at_ms,  started_at_ms,  AT)                                                          \
    X(lease_until_ms, lease_until_ms, AT)                                                          \
    X(finished_at_ms, finished_at_ms, AT)                                                          \
    X(dead_letter,    dead_letter,    BOOL)                                                        \
    X(worker,         worker,         TEXT)                                                        \
    X(reason,         reason,         TEXT)                                                        \
    X(end_reason,     end_reason,     TEXT)
/* and what is never read. */
#define PAWL__ROW_END(X)                                                                           \
    X(end_new,        end_new,        BOOL)                                                        \
    X(result,         result,         JSON)

#define PAWL__ROW_READ(X) PAWL__ROW_FIXED(X) PAWL__ROW_PLAN(X) PAWL__ROW_STAND(X)
#define PAWL__ROW_WRITTEN(X) PAWL__ROW_PLAN(X) PAWL__ROW_STAND(X) PAWL__ROW_END(X)

/* struct pawl__failure */
#define PAWL__FAILURE_FIELDS(X)                                                                    \
    X(run,            run,            I64)                                                         \
    X(attempt,        attempt,        I64)                                                         \
    X(lapsed,         lapsed,         BOOL)                                                        \
    X(started_at_ms,  started_at_ms,  TIME)                                                        \
    X(failed_at_ms,   failed_at_ms,   TIME)                                                        \
    X(delay_ms,       retry_delay_ms, I64)                                                         \
    X(worker,         worker,         TEXT)                                                        \
    X(type,           type,           TEXT)                                                        \
    X(code,           code,           TEXT)                                                        \
    X(message,        message,        TEXT)                                                        \
    X(details,        details,        JSON)
/* struct pawl__trim */
#define PAWL__TRIM_FIELDS(X)                                                                       \
    X(run,            run,            I64)
/* struct pawl__audit */
#define PAWL__AUDIT_FIELDS(X)                                                                      \
    X(at_ms,          at_ms,          TIME)                                                        \
    X(id,             job_id,         ID)          /* all zeroes: NULL */                          \
    X(subject,        subject,        TEXT)                                                        \
    X(action,         action,         TEXT)                                                        \
    X(actor,          actor,          TEXT)                                                        \
    X(reason,         reason,         TEXT)                                                        \
    X(from,           from_state,     SOME_STATE)                                                  \
    X(to,             to_state,       SOME_STATE)
/* struct pawl__progress */
#define PAWL__PROGRESS_FIELDS(X)                                                                   \
    X(run,            run,            I64)                                                         \
    X(at_ms,          at_ms,          TIME)                                                        \
    X(value,          value,          REAL)                                                        \
    X(message,        message,        JSON)        /* text */                                      \
    X(data,           data,           JSON)
/* struct pawl__checkpoint */
#define PAWL__CHECKPOINT_FIELDS(X)                                                                 \
    X(sequence,       sequence,       I64)                                                         \
    X(at_ms,          at_ms,          TIME)                                                        \
    X(state,          state,          JSON)
/* struct pawl__log_line */
#define PAWL__LINE_FIELDS(X)                                                                       \
    X(line,           line,           I64)                                                         \
    X(run,            run,            I64)                                                         \
    X(at_ms,          at_ms,          TIME)                                                        \
    X(level,          level,          I32)                                                         \
    X(text,           text,           JSON)        /* text */
/* struct pawl__log_cut */
#define PAWL__CUT_FIELDS(X)                                                                        \
    X(after,          after,          I64)                                                         \
    X(line,           line,           I64)
/* struct pawl__key_row */
#define PAWL__KEY_FIELDS(X)                                                                        \
    X(digest,         digest,         BYTES)                                                       \
    X(id,             id,             ID)                                                          \
    X(until_ms,       until_ms,       AT)

/* struct pawl__checked */
#define PAWL__CHECKED_FIELDS(X)                                                                    \
    X(keys,           keys,           BYTES)
/* struct pawl__followed */
#define PAWL__FOLLOWED_FIELDS(X)                                                                   \
    X(seq,            seq,            I64)
/* struct pawl__moot */
#define PAWL__MOOT_FIELDS(X)                                                                       \
    X(id,             job_id,         ID)                                                          \
    X(ties,           ties,           BITS)
/* struct pawl__unsettled */
#define PAWL__UNSETTLED_FIELDS(X)                                                                  \
    X(at_ms,          at_ms,          TIME)                                                        \
    X(id,             job_id,         ID)                                                          \
    X(ties,           ties,           BITS)                                                        \
    X(bytes,          bytes,          MS)          /* not a time; 0 is NULL */                     \
    X(run,            run,            I64)                                                         \
    X(from,           from_state,     SOME_STATE)                                                  \
    X(to,             to_state,       SOME_STATE)                                                  \
    X(delay_ms,       delay_ms,       MS)                                                          \
    X(not_retryable,  not_retryable,  BITS)                                                        \
    X(type,           type,           TEXT)                                                        \
    X(code,           code,           TEXT)                                                        \
    X(error_class,    error_class,    TEXT)                                                        \
    X(message,        message,        TEXT)                                                        \
    X(details,        details,        JSON)

/* struct pawl__node */
#define PAWL__NODE_FIELDS(X)                                                                       \
    X(name,           name,           TEXT)                                                        \
    X(info,           info,           TEXT)                                                        \
    X(started_at_ms,  started_at_ms,  TIME)                                                        \
    X(heartbeat_at_ms, heartbeat_at_ms, TIME)                                                      \
    X(alive_until_ms, alive_until_ms, TIME)                                                        \
    X(lease_ms,       lease_ms,       MS)
/* struct pawl__lock */
#define PAWL__LOCK_FIELDS(X)                                                                       \
    X(name,           name,           TEXT)                                                        \
    X(owner,          owner,          TEXT)        /* NULL: "" */                                  \
    X(fence,          fence,          I64)                                                         \
    X(locked_at_ms,   locked_at_ms,   TIME)                                                        \
    X(expires_at_ms,  expires_at_ms,  TIME)
/* struct pawl__setting */
#define PAWL__SETTING_FIELDS(X)                                                                    \
    X(name,           name,           TEXT)                                                        \
    X(value,          value,          TEXT)        /* NULL: "" */
/* struct pawl_token */
#define PAWL__TOKEN_FIELDS(X)                                                                      \
    X(id,             id,             TEXT)                                                        \
    X(name,           name,           TEXT)                                                        \
    X(scopes,         scopes,         TEXT)                                                        \
    X(hash,           hash,           BYTES)                                                       \
    X(created_at_ms,  created_at_ms,  TIME)                                                        \
    X(expires_at_ms,  expires_at_ms,  AT)                                                          \
    X(revoked_at_ms,  revoked_at_ms,  AT)                                                          \
    X(used_at_ms,     used_at_ms,     AT)
/* struct pawl_args_schema */
#define PAWL__SCHEMA_FIELDS(X)                                                                     \
    X(uri,            uri,            TEXT)        /* of these three NULL is "" */                 \
    X(type,           type,           TEXT)                                                        \
    X(version,        version,        TEXT)                                                        \
    X(of_type,        of_type,        TEXT)                                                        \
    X(of_version,     of_version,     TEXT)                                                        \
    X(created_at_ms,  created_at_ms,  TIME)                                                        \
    X(schema,         schema,         JSON)
/* struct pawl_queue_config */
#define PAWL__CONFIG_FIELDS(X)                                                                     \
    X(queue,          queue,          TEXT)                                                        \
    X(rate_limit,     rate_limit,     JSON)
/* struct pawl__request_key */
#define PAWL__REQUEST_FIELDS(X)                                                                    \
    X(key,            key,            TEXT)                                                        \
    X(fingerprint,    fingerprint,    TEXT)                                                        \
    X(until_ms,       until_ms,       TIME)
/* struct pawl__queue_row */
#define PAWL__QUEUE_FIELDS(X)                                                                      \
    X(name,           name,           TEXT)                                                        \
    X(paused,         paused,         BOOL)                                                        \
    X(forgotten,      forgotten,      BOOL)
/* struct pawl__deadline */
#define PAWL__DEADLINE_FIELDS(X)                                                                   \
    X(id,             job_id,         ID)                                                          \
    X(at_ms,          at_ms,          TIME)
/* struct pawl__gone */
#define PAWL__GONE_FIELDS(X)                                                                       \
    X(name,           name,           TEXT)                                                        \
    X(at_ms,          at_ms,          TIME)
/* struct pawl__flow */
#define PAWL__FLOW_FIELDS(X)                                                                       \
    X(id,             id,             ID)                                                          \
    X(name,           name,           TEXT)                                                        \
    X(layout,         layout,         TEXT)                                                        \
    X(meta,           meta,           JSON)                                                        \
    X(created_at_ms,  created_at_ms,  TIME)                                                        \
    X(deadline_at_ms, deadline_at_ms, AT)                                                          \
    X(finished_at_ms, finished_at_ms, AT)                                                          \
    X(state,          state,          I32)                                                         \
    X(reopened,       reopened,       BITS)                                                        \
    X(stops,          stops,          BITS)                                                        \
    X(paused,         paused,         BITS)                                                        \
    X(resets,         resets,         BITS)                                                        \
    X(nodes,          nodes,          I32)                                                         \
    X(reason,         reason,         TEXT)                                                        \
    X(recount_at_ms,  recount_at_ms,  AT)                                                          \
    X(keep_ms,        keep_ms,        MS)                                                          \
    X(shelved,        shelved,        I32)
/* struct pawl__flow_group */
#define PAWL__FLOW_GROUP_FIELDS(X)                                                                 \
    X(flow,           flow,           ID)                                                          \
    X(no,             no,             I32)                                                         \
    X(open_ended,     open_ended,     BITS)                                                        \
    X(hold_until_ms,  hold_until_ms,  AT)                                                          \
    X(abort_failures, abort_failures, BITS)                                                        \
    X(abort_ppm,      abort_ppm,      BITS)                                                        \
    X(spoilt,         spoilt,         BITS)                                                        \
    X(halted,         halted,         BITS)                                                        \
    X(tally.total,    total,          I64)                                                         \
    X(tally.completed, completed,     I64)                                                         \
    X(tally.skipped,  skipped,        I64)                                                         \
    X(tally.failed,   failed,         I64)                                                         \
    X(tally.cancelled, cancelled,     I64)                                                         \
    X(tally.grave,    grave,          I64)
/* struct pawl__flow_node */
#define PAWL__FLOW_NODE_FIELDS(X)                                                                  \
    X(flow,           flow,           ID)                                                          \
    X(no,             no,             I32)                                                         \
    X(id,             id,             ID)                                                          \
    X(name,           name,           TEXT)                                                        \
    X(kind,           kind,           I32)                                                         \
    X(group,          scope,          BITS)        /* not bits, nor those below; 0 is NULL */      \
    X(join,           join_rule,      BITS)                                                        \
    X(n,              n,              BITS)                                                        \
    X(parent,         parent_rule,    BITS)                                                        \
    X(select,         choice,         BITS)                                                        \
    X(traits,         traits,         BITS)                                                        \
    X(delay_ms,       delay_ms,       MS)                                                          \
    X(lives_ms,       lives_ms,       MS)                                                          \
    X(state,          state,          I32)                                                         \
    X(pending,        pending,        BITS)                                                        \
    X(good,           good,           BITS)                                                        \
    X(dead,           dead,           BITS)                                                        \
    X(broken,         broken,         BITS)                                                        \
    X(blame,          blame,          BITS)                                                        \
    X(given_up,       given_up,       BITS)                                                        \
    X(finished_at_ms, finished_at_ms, AT)                                                          \
    X(reason,         reason,         TEXT)                                                        \
    X(result,         result,         JSON)
/* struct pawl__flow_member */
#define PAWL__FLOW_MEMBER_FIELDS(X)                                                                \
    X(id,             id,             ID)                                                          \
    X(flow,           flow,           ID)                                                          \
    X(no,             no,             I32)
/* struct pawl__flow_edge */
#define PAWL__FLOW_EDGE_FIELDS(X)                                                                  \
    X(flow,           flow,           ID)                                                          \
    X(parent,         parent,         I32)                                                         \
    X(child,          child,          I32)                                                         \
    X(on,             on_end,         I32)                                                         \
    X(arm,            arm,            BITS)                                                        \
    X(otherwise,      otherwise,      BITS)                                                        \
    X(verdict,        verdict,        BITS)                                                        \
    X(when,           cond,           TEXT)                                                        \
    X(label,          label,          TEXT)                                                        \
    X(reason,         reason,         TEXT)

/* struct pawl__flow_doubt */
#define PAWL__FLOW_DOUBT_FIELDS(X)                                                                 \
    X(flow,           flow,           ID)                                                          \
    X(what,           what,           I32)                                                         \
    X(no,             no,             I32)                                                         \
    X(state,          state,          I32)                                                         \
    X(n[0],           n1,             I64)                                                         \
    X(n[1],           n2,             I64)                                                         \
    X(n[2],           n3,             I64)                                                         \
    X(n[3],           n4,             I64)                                                         \
    X(n[4],           n5,             I64)                                                         \
    X(n[5],           n6,             I64)                                                         \
    X(result,         result,         JSON)
/* struct pawl__flow_signal */
#define PAWL__FLOW_SIGNAL_FIELDS(X)                                                                \
    X(flow,           flow,           ID)                                                          \
    X(no,             no,             I32)                                                         \
    X(key,            signal_key,     TEXT)                                                        \
    X(timeout_ms,     timeout_ms,     MS)                                                          \
    X(on_timeout,     on_timeout,     I32)                                                         \
    X(on_reject,      on_reject,      I32)                                                         \
    X(payload,        payload,        JSON)                                                        \
    X(waits,          waits,          BITS)                                                        \
    X(until_ms,       until_ms,       AT)                                                          \
    X(said,           said,           BITS)                                                        \
    X(answer,         answer,         JSON)
/* struct pawl__flow_timer */
#define PAWL__FLOW_TIMER_FIELDS(X)                                                                 \
    X(id,             id,             ID)                                                          \
    X(at_ms,          at_ms,          TIME)
/* struct pawl__schedule */
#define PAWL__SCHEDULE_FIELDS(X)                                                                   \
    X(name,           name,          TEXT)                                                         \
    X(state,          state,         I32)                                                          \
    X(stopped,        stopped,       BITS)                                                         \
    X(reason,         reason,        TEXT)                                                         \
    X(look_at_ms,     look_at_ms,    AT)                                                           \
    X(next_at_ms,     next_at_ms,    AT)                                                           \
    X(settled_at_ms,  settled_at_ms, TIME)                                                         \
    X(last_at_ms,     last_at_ms,    AT)                                                           \
    X(last_local_s,   last_local_s,  I64)                                                          \
    X(last_job,       last_job,      ID)                                                           \
    X(runs,           runs,          I64)                                                          \
    X(skips,          skips,         I64)                                                          \
    X(entries,        entries,       I64)                                                          \
    X(children,       children,      BYTES)                                                        \
    X(queued,         queued,        BYTES)                                                        \
    X(group,          owner,         TEXT)                                                         \
    X(declared_at_ms, declared_at_ms, AT)                                                          \
    X(version,        version,       I64)                                                          \
    X(created_at_ms,  created_at_ms, TIME)                                                         \
    X(updated_at_ms,  updated_at_ms, TIME)
/* struct pawl__schedule_plan */
#define PAWL__SCHEDULE_PLAN_FIELDS(X)                                                              \
    X(name,           name,          TEXT)                                                         \
    X(expression,     expression,    TEXT)                                                         \
    X(zone,           zone,          TEXT)                                                         \
    X(dialect,        dialect,       I32)                                                          \
    X(gap,            gap,           I32)                                                          \
    X(instants,       instants,      BYTES)                                                        \
    X(anchor_at_ms,   anchor_at_ms,  AT)                                                           \
    X(start_at_ms,    start_at_ms,   AT)                                                           \
    X(end_at_ms,      end_at_ms,     AT)                                                           \
    X(overlap,        overlap,       I32)                                                          \
    X(misfire,        misfire,       I32)                                                          \
    X(catch_up,       catch_up,      I32)                                                          \
    X(late_max_ms,    late_max_ms,   MS)                                                           \
    X(jitter_ms,      jitter_ms,     MS)                                                           \
    X(max_runs,       max_runs,      MS)          /* not a time; 0 is NULL */                      \
    X(traits,         traits,        BITS)                                                         \
    X(description,    description,   TEXT)                                                         \
    X(meta,           meta,          JSON)                                                         \
    X(type,           type,          TEXT)                                                         \
    X(queue,          queue,         TEXT)                                                         \
    X(args,           args,          ARGS)                                                         \
    X(job_meta,       job_meta,      JSON)                                                         \
    X(extra,          extra,         JSON)                                                         \
    X(tags,           tags,          JSON)                                                         \
    X(priority,       priority,      I32)                                                          \
    X(attempts_max,   attempts_max,  I32)                                                          \
    X(expires_in_ms,  expires_in_ms, MS)                                                           \
    X(timeout_ms,     timeout_ms,    MS)                                                           \
    X(lease_ms,       lease_ms,      MS)                                                           \
    X(keep_ms,        keep_ms,       MS)                                                           \
    X(retry,          retry,         JSON)                                                         \
    X(unique,         uniqueness,    JSON)                                                         \
    X(business_key,   business_key,  TEXT)                                                         \
    X(principal,      principal,     TEXT)                                                         \
    X(trace_id,       trace_id,      TEXT)                                                         \
    X(on_success,     on_success,    JSON)                                                         \
    X(on_failure,     on_failure,    JSON)
/* struct pawl__schedule_member */
#define PAWL__SCHEDULE_MEMBER_FIELDS(X)                                                            \
    X(id,             id,            ID)                                                           \
    X(schedule,       schedule,      TEXT)
/* struct pawl__firing */
#define PAWL__FIRING_FIELDS(X)                                                                     \
    X(schedule,       schedule,      TEXT)                                                         \
    X(number,         number,        I64)                                                          \
    X(at_ms,          at_ms,         TIME)                                                         \
    X(kind,           kind,          I32)                                                          \
    X(skip,           skip,          BITS)        /* not bits */                                   \
    X(first_at_ms,    first_at_ms,   AT)                                                           \
    X(last_at_ms,     last_at_ms,    AT)                                                           \
    X(count,          count,         MS)          /* not a time; 0 is NULL */                      \
    X(due_at_ms,      due_at_ms,     AT)                                                           \
    X(job,            job,           ID)                                                           \
    X(queued,         queued,        BITS)                                                         \
    X(cancelled,      cancelled,     MS)          /* not a time */                                 \
    X(reason,         reason,        TEXT)                                                         \
    X(detail,         detail,        TEXT)                                                         \
    X(actor,          actor,         TEXT)
/* struct pawl__firing_cut */
#define PAWL__FIRING_CUT_FIELDS(X)                                                                 \
    X(schedule,       schedule,      TEXT)                                                         \
    X(number,         number,        I64)

/* The tables beside that of jobs to which a set may add: NAME, struct, list, and whether its struct
 * begins with the row of the job that it belongs to. Rows are written in this order. */
#ifndef PAWL__SET_TABLES_MORE /* tests bring tables of their own: tests/settle/tables.h */
#define PAWL__SET_TABLES_MORE(X)
#define PAWL__SET_FIELDS_MORE
#endif
#define PAWL__SET_TABLES(X)                                                                        \
    X(FAILURE,  pawl__failure, PAWL__FAILURE_FIELDS, true)                                         \
    X(TRIM,     pawl__trim,    PAWL__TRIM_FIELDS,    true)  /* failures that are forgotten */      \
    X(AUDIT,    pawl__audit,   PAWL__AUDIT_FIELDS,   false)                                        \
    X(KEY_DROP, pawl__key_row, PAWL__KEY_FIELDS,     false)                                        \
    X(KEY_NEW,  pawl__key_row, PAWL__KEY_FIELDS,     false)                                        \
    X(KEY_PUT,  pawl__key_row, PAWL__KEY_FIELDS,     false)                                        \
    X(CHECKED,  pawl__checked, PAWL__CHECKED_FIELDS, true)                                         \
    X(PROGRESS, pawl__progress, PAWL__PROGRESS_FIELDS, true)                                       \
    X(CHECKPOINT_DROP, pawl__checkpoint, PAWL__CHECKPOINT_FIELDS, true)                            \
    X(CHECKPOINT_PUT, pawl__checkpoint, PAWL__CHECKPOINT_FIELDS, true)                             \
    X(LINE,     pawl__log_line, PAWL__LINE_FIELDS,   true)                                         \
    X(LINE_TRIM, pawl__log_cut, PAWL__CUT_FIELDS,    true)  /* lines that are forgotten */      \
    X(FOLLOWED, pawl__followed, PAWL__FOLLOWED_FIELDS, false) /* entries that are done */          \
    X(MOOT,     pawl__moot,    PAWL__MOOT_FIELDS,    false) /* entries that are of no use */       \
    X(UNSETTLED, pawl__unsettled, PAWL__UNSETTLED_FIELDS, false)                                   \
    X(NODE_NEW, pawl__node,    PAWL__NODE_FIELDS,    false)                                        \
    X(NODE_PUT, pawl__node,    PAWL__NODE_FIELDS,    false)                                        \
    X(NODE_DROP, pawl__node,   PAWL__NODE_FIELDS,    false)                                        \
    X(RUNS_END, pawl__gone,    PAWL__GONE_FIELDS,    false) /* leases of nodes that are gone */    \
    X(LOCK_NEW, pawl__lock,    PAWL__LOCK_FIELDS,    false)                                        \
    X(LOCK_PUT, pawl__lock,    PAWL__LOCK_FIELDS,    false)                                        \
    X(SETTING_NEW, pawl__setting, PAWL__SETTING_FIELDS, false)                                     \
    X(SETTING_PUT, pawl__setting, PAWL__SETTING_FIELDS, false)                                     \
    X(SETTING_DROP, pawl__setting, PAWL__SETTING_FIELDS, false)                                    \
    X(TOKEN_NEW, pawl_token,   PAWL__TOKEN_FIELDS,   false)                                        \
    X(TOKEN_PUT, pawl_token,   PAWL__TOKEN_FIELDS,   false)                                        \
    X(SCHEMA_NEW, pawl_args_schema, PAWL__SCHEMA_FIELDS, false)                                    \
    X(SCHEMA_PUT, pawl_args_schema, PAWL__SCHEMA_FIELDS, false)                                    \
    X(SCHEMA_DROP, pawl_args_schema, PAWL__SCHEMA_FIELDS, false)                                   \
    X(CONFIG_NEW, pawl_queue_config, PAWL__CONFIG_FIELDS, false)                                   \
    X(CONFIG_PUT, pawl_queue_config, PAWL__CONFIG_FIELDS, false)                                   \
    X(CONFIG_DROP, pawl_queue_config, PAWL__CONFIG_FIELDS, false)                                  \
    X(REQUEST_NEW, pawl__request_key, PAWL__REQUEST_FIELDS, false)                                 \
    X(REQUEST_PUT, pawl__request_key, PAWL__REQUEST_FIELDS, false)                                 \
    X(DEADLINE_NEW, pawl__deadline, PAWL__DEADLINE_FIELDS, false)                                  \
    X(DEADLINE_PUT, pawl__deadline, PAWL__DEADLINE_FIELDS, false)                                  \
    X(DEADLINE_DROP, pawl__deadline, PAWL__DEADLINE_FIELDS, false)                                 \
    X(QUEUE_PUT, pawl__queue_row, PAWL__QUEUE_FIELDS, false) /* of a queue that is there */        \
    X(FLOW_NEW, pawl__flow,    PAWL__FLOW_FIELDS,    false)                                        \
    X(FLOW_PUT, pawl__flow,    PAWL__FLOW_FIELDS,    false)                                        \
    X(FLOW_DROP, pawl__flow,    PAWL__FLOW_FIELDS,    false)                                       \
    X(FLOW_GROUP_NEW, pawl__flow_group, PAWL__FLOW_GROUP_FIELDS, false)                            \
    X(FLOW_GROUP_PUT, pawl__flow_group, PAWL__FLOW_GROUP_FIELDS, false)                            \
    X(FLOW_GROUP_DROP, pawl__flow_group, PAWL__FLOW_GROUP_FIELDS, false)                           \
    X(FLOW_NODE_NEW, pawl__flow_node, PAWL__FLOW_NODE_FIELDS, false)                               \
    X(FLOW_NODE_PUT, pawl__flow_node, PAWL__FLOW_NODE_FIELDS, false)                               \
    X(FLOW_NODE_DROP, pawl__flow_node, PAWL__FLOW_NODE_FIELDS, false)                              \
    X(FLOW_MEMBER_NEW, pawl__flow_member, PAWL__FLOW_MEMBER_FIELDS, false)                         \
    X(FLOW_MEMBER_PUT, pawl__flow_member, PAWL__FLOW_MEMBER_FIELDS, false)                         \
    X(FLOW_MEMBER_DROP, pawl__flow_member, PAWL__FLOW_MEMBER_FIELDS, false)                        \
    X(FLOW_EDGE_NEW, pawl__flow_edge, PAWL__FLOW_EDGE_FIELDS, false)                               \
    X(FLOW_EDGE_PUT, pawl__flow_edge, PAWL__FLOW_EDGE_FIELDS, false)                               \
    X(FLOW_EDGE_DROP, pawl__flow_edge, PAWL__FLOW_EDGE_FIELDS, false)                              \
    X(FLOW_SIGNAL_NEW, pawl__flow_signal, PAWL__FLOW_SIGNAL_FIELDS, false)                         \
    X(FLOW_SIGNAL_PUT, pawl__flow_signal, PAWL__FLOW_SIGNAL_FIELDS, false)                         \
    X(FLOW_SIGNAL_DROP, pawl__flow_signal, PAWL__FLOW_SIGNAL_FIELDS, false)                        \
    X(FLOW_TIMER_NEW, pawl__flow_timer, PAWL__FLOW_TIMER_FIELDS, false)                            \
    X(FLOW_TIMER_PUT, pawl__flow_timer, PAWL__FLOW_TIMER_FIELDS, false)                            \
    X(FLOW_TIMER_DROP, pawl__flow_timer, PAWL__FLOW_TIMER_FIELDS, false)                           \
    X(SCHEDULE_NEW, pawl__schedule, PAWL__SCHEDULE_FIELDS, false)                                  \
    X(SCHEDULE_PUT, pawl__schedule, PAWL__SCHEDULE_FIELDS, false)                                  \
    X(SCHEDULE_DROP, pawl__schedule, PAWL__SCHEDULE_FIELDS, false)                                 \
    X(SCHEDULE_PLAN_NEW, pawl__schedule_plan, PAWL__SCHEDULE_PLAN_FIELDS, false)                   \
    X(SCHEDULE_PLAN_PUT, pawl__schedule_plan, PAWL__SCHEDULE_PLAN_FIELDS, false)                   \
    X(SCHEDULE_PLAN_DROP, pawl__schedule_plan, PAWL__SCHEDULE_PLAN_FIELDS, false)                  \
    X(SCHEDULE_MEMBER_NEW, pawl__schedule_member, PAWL__SCHEDULE_MEMBER_FIELDS, false)             \
    X(SCHEDULE_MEMBER_PUT, pawl__schedule_member, PAWL__SCHEDULE_MEMBER_FIELDS, false)             \
    X(SCHEDULE_MEMBER_DROP, pawl__schedule_member, PAWL__SCHEDULE_MEMBER_FIELDS, false)            \
    X(FIRING, pawl__firing, PAWL__FIRING_FIELDS, false)                                            \
    X(FIRING_CUT, pawl__firing_cut, PAWL__FIRING_CUT_FIELDS, false) /* forgotten entries */        \
    PAWL__SET_TABLES_MORE(X)

/* What is kept with a job under its id, and is deleted with it; tags and keys are not: they are
 * found by what the job says. */
#define PAWL__KEPT(X) X(FAILURE) X(PROGRESS) X(CHECKPOINT) X(LINE) X(AUDIT) X(DEADLINE)

/* clang-format on */

#define X(name, ...) PAWL__TABLE_##name,
enum pawl__table { PAWL__SET_TABLES(X) PAWL__TABLES };
#undef X

#define X(...) +1
enum {
    PAWL__ROW_FIXED_COUNT = 0 PAWL__ROW_FIXED(X),
    PAWL__ROW_READ_COUNT = 0 PAWL__ROW_READ(X),
    PAWL__ROW_WRITTEN_COUNT = 0 PAWL__ROW_WRITTEN(X),
    PAWL__ROW_FIELDS = PAWL__ROW_FIXED_COUNT + PAWL__ROW_WRITTEN_COUNT
};
#undef X

/* FIXED, PLAN, STAND, END: the first PAWL__ROW_READ_COUNT are read, those behind the first
 * PAWL__ROW_FIXED_COUNT are written. */
extern const struct pawl__field pawl__row_fields[PAWL__ROW_FIELDS];

/* How a table's rows are written. */
struct pawl__set_table {
    const struct pawl__field *fields;
    size_t count;
    size_t bytes; /* of a struct */
    bool of_job;
};
extern const struct pawl__set_table pawl__set_tables[PAWL__TABLES];

/* Structs of a table. */
struct pawl__list {
    void *rows;
    size_t count, cap;
};

/* What a member of the struct at `row` says, as bytes: those of a text, or of the value. */
struct pawl_span pawl__field_bytes(const struct pawl__field *field, const void *row);
/* Two structs by the first `count` of their fields. Less than 0: `a` comes before `b`. */
int pawl__fields_compare(const struct pawl__field *fields, size_t count, const void *a,
                         const void *b);

#endif
