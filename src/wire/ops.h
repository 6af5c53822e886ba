/* The operations of the protocol, as lists: where each is sent, what it brings, what its answer
 * holds. Both ends are made from them: the shapes of requests (shapes.c), what a store that is a
 * server elsewhere sends and reads (store/remote/op.c), and the server's table of calls
 * (http/remote/calls.c). They do not compile when an operation's form or its call is missing.
 * CONTRIBUTING.md says how to add an operation.
 *
 * Included by wire.h only. */
#ifndef PAWL_WIRE_OPS_H
#define PAWL_WIRE_OPS_H

/* clang-format off */

/* NAME, name in JSON, path it is sent to, how the server does it: "post": neighbours of one kind
 * share a commit, "call": one by one. */
#define PAWL__WIRE_OPS(X)                                                                          \
    X(SUBMIT,       submit,       SUBMIT, post)                                                    \
    X(FLOW_SUBMIT,  flow_submit,  SUBMIT, call)                                                    \
    X(CLAIM,        claim,        WORK,   post)                                                    \
    X(ROUTE,        route,        WORK,   post)                                                    \
    X(ASSIGN,       assign,       WORK,   post)                                                    \
    X(UNROUTE,      unroute,      WORK,   call)                                                    \
    X(COMPLETE,     complete,     WORK,   post)                                                    \
    X(FAIL,         fail,         WORK,   post)                                                    \
    X(SNOOZE,       snooze,       WORK,   call)                                                    \
    X(EXTEND,       extend,       WORK,   post)                                                    \
    X(END,          end,          WORK,   call) /* a control by the run's owner */                 \
    X(PROGRESS,     progress,     WORK,   call)                                                    \
    X(CHECKPOINT,   checkpoint,   WORK,   call)                                                    \
    X(LOG,          log,          WORK,   call)                                                    \
    X(NODE_JOIN,    node_join,    WORK,   call)                                                    \
    X(NODE_PUT,     node_put,     WORK,   call)                                                    \
    X(NODE_DROP,    node_drop,    WORK,   call)                                                    \
    X(CONTROL,      control,      ADMIN,  call)                                                    \
    X(BULK,         bulk,         ADMIN,  call)                                                    \
    X(PRIORITY,     priority,     ADMIN,  call)                                                    \
    X(FLOW_CONTROL, flow_control, ADMIN,  call)                                                    \
    X(DELETE,       delete,       ADMIN,  call)                                                    \
    X(LOCK_TRY,     lock_try,     ADMIN,  call)                                                    \
    X(LOCK_RENEW,   lock_renew,   ADMIN,  call)                                                    \
    X(LOCK_RELEASE, lock_release, ADMIN,  call)                                                    \
    X(SETTING_PUT,  setting_put,  ADMIN,  call)                                                    \
    X(SCHEMA_ADD,   schema_add,   ADMIN,  call)                                                    \
    X(SCHEMA_DROP,  schema_drop,  ADMIN,  call)                                                    \
    X(CONFIG_PUT,   config_put,   ADMIN,  call)                                                    \
    X(CONFIG_DROP,  config_drop,  ADMIN,  call)                                                    \
    X(REQUEST_NOTE, request_note, SUBMIT, call)                                                    \
    X(QUEUE_PAUSE,  queue_pause,  ADMIN,  call)                                                    \
    X(FLOW_SIGNAL,  flow_signal,  ADMIN,  call)                                                    \
    X(FLOW_SEAL,    flow_seal,    SUBMIT, call)                                                    \
    X(SCHEDULE_PUT,    schedule_put,    ADMIN, call)                                               \
    X(SCHEDULE_PAUSE,  schedule_pause,  ADMIN, call)                                               \
    X(SCHEDULE_RESUME, schedule_resume, ADMIN, call)                                               \
    X(SCHEDULE_RUN,    schedule_run,    ADMIN, call)                                               \
    X(SCHEDULE_DROP,   schedule_drop,   ADMIN, call)

/* ---- the form of each: what it brings, and what its answer holds ----
 *
 * ASK(HOW, member of struct pawl__wire_op, the same in the store's struct pawl__op). A member's
 * name is its name in JSON; any other is refused. How the store's value becomes the member:
 *
 *     SAME   as it is
 *     COUNT  as it is: the length of the list before it, no member in JSON
 *     SPAN   a span, which need not end in NUL, as a string
 *     AT     the struct that a pointer leads to
 *     HAND   by say_MEMBER of store/remote/op.c
 *
 * ANSWER(HOW, member of struct pawl__wire_answer, where it goes in the store's struct pawl__op):
 *
 *     SAME    as it is, when the operation succeeded
 *     ALWAYS  as it is, also when it was refused
 *     HAND    by read_MEMBER of store/remote/op.c, when it succeeded */
#define PAWL__WIRE_FORM_SUBMIT(ASK, ANSWER)                                                        \
    ASK(HAND, jobs, submit)                                                                        \
    ANSWER(HAND, submitted, submit) ANSWER(ALWAYS, holder, submit.holder)
#define PAWL__WIRE_FORM_FLOW_SUBMIT(ASK, ANSWER)                                                   \
    ASK(HAND, flow, submit)
#define PAWL__WIRE_FORM_CLAIM(ASK, ANSWER)                                                         \
    ASK(HAND, claim, claim)                                                                        \
    ANSWER(HAND, jobs, claim) ANSWER(SAME, more, claim.more)
#define PAWL__WIRE_FORM_ROUTE(ASK, ANSWER)                                                         \
    ASK(HAND, claim, claim)                                                                        \
    ANSWER(HAND, jobs, claim) ANSWER(SAME, more, claim.more)
#define PAWL__WIRE_FORM_ASSIGN(ASK, ANSWER)                                                        \
    ASK(SAME, id, assign.id) ASK(SAME, name, assign.worker) ASK(SAME, token, assign.token)         \
    ASK(SAME, owner, assign.to)                                                                    \
    ASK(SAME, lease_ms, assign.lease_ms) ASK(SAME, timed, assign.timed)                            \
    ANSWER(HAND, jobs, assign)
#define PAWL__WIRE_FORM_UNROUTE(ASK, ANSWER)                                                       \
    ASK(SAME, id, assign.id) ASK(SAME, name, assign.worker) ASK(SAME, token, assign.token)
#define PAWL__WIRE_FORM_COMPLETE(ASK, ANSWER)                                                      \
    ASK(SAME, id, complete.ref.id) ASK(SAME, run, complete.ref.run)                                \
    ASK(SAME, data, complete.result)
#define PAWL__WIRE_FORM_FAIL(ASK, ANSWER)                                                          \
    ASK(SAME, id, fail.ref.id) ASK(SAME, run, fail.ref.run) ASK(SAME, report, fail.report)         \
    ANSWER(SAME, failed.to, fail.to) ANSWER(SAME, failed.attempt, fail.attempt)                    \
    ANSWER(SAME, failed.due_at_ms, fail.due_at_ms) ANSWER(SAME, failed.delay_ms, fail.delay_ms)
#define PAWL__WIRE_FORM_SNOOZE(ASK, ANSWER)                                                        \
    ASK(SAME, id, snooze.ref.id) ASK(SAME, run, snooze.ref.run)                                    \
    ASK(SAME, delay_ms, snooze.delay_ms)
#define PAWL__WIRE_FORM_EXTEND(ASK, ANSWER)                                                        \
    ASK(SAME, runs, extend.refs) ASK(COUNT, run_count, extend.count)                               \
    ASK(SAME, lease_ms, extend.lease_ms) ASK(SAME, timed, extend.timed)                            \
    ANSWER(HAND, results, extend)
#define PAWL__WIRE_FORM_END(ASK, ANSWER)                                                           \
    ASK(SAME, id, control.id) ASK(SAME, run, control.run)                                          \
    ASK(SAME, control, control.control) ASK(SAME, by, control.by)                                  \
    ANSWER(ALWAYS, from, control.from) ANSWER(ALWAYS, to, control.to)
#define PAWL__WIRE_FORM_PROGRESS(ASK, ANSWER)                                                      \
    ASK(SAME, id, progress.ref.id) ASK(SAME, run, progress.ref.run)                                \
    ASK(SAME, data, progress.data) ASK(SAME, value, progress.value)                                \
    ASK(SPAN, text, progress.message)
#define PAWL__WIRE_FORM_CHECKPOINT(ASK, ANSWER)                                                    \
    ASK(SAME, id, checkpoint.ref.id) ASK(SAME, run, checkpoint.ref.run)                            \
    ASK(SAME, data, checkpoint.state)                                                              \
    ANSWER(SAME, sequence, checkpoint.sequence)
#define PAWL__WIRE_FORM_LOG(ASK, ANSWER)                                                           \
    ASK(SAME, id, log.ref.id) ASK(SAME, run, log.ref.run)                                          \
    ASK(SPAN, text, log.text) ASK(SAME, level, log.level)
#define PAWL__WIRE_FORM_NODE_JOIN(ASK, ANSWER)                                                     \
    ASK(SAME, text, node.info) ASK(SAME, name, node.name)                                          \
    ANSWER(SAME, started_at_ms, node.started_at_ms)
#define PAWL__WIRE_FORM_NODE_PUT(ASK, ANSWER)                                                      \
    ASK(SAME, text, node.info) ASK(SAME, name, node.name)                                          \
    ASK(SAME, started_at_ms, node.started_at_ms)                                                   \
    ANSWER(SAME, census, node.census)
#define PAWL__WIRE_FORM_NODE_DROP(ASK, ANSWER)                                                     \
    ASK(SAME, name, node.name) ASK(SAME, started_at_ms, node.started_at_ms)
#define PAWL__WIRE_FORM_CONTROL(ASK, ANSWER)                                                       \
    ASK(SAME, id, control.id) ASK(SAME, control, control.control) ASK(SAME, by, control.by)        \
    ANSWER(ALWAYS, from, control.from) ANSWER(ALWAYS, to, control.to)
#define PAWL__WIRE_FORM_BULK(ASK, ANSWER)                                                          \
    ASK(SAME, control, bulk.control) ASK(AT, filter, bulk.filter)                                  \
    ASK(SAME, limit, bulk.limit) ASK(SAME, by, bulk.by)                                            \
    ANSWER(SAME, moved, bulk.moved)
#define PAWL__WIRE_FORM_PRIORITY(ASK, ANSWER)                                                      \
    ASK(SAME, id, priority.id) ASK(SAME, by, priority.by)                                          \
    ASK(SAME, priority, priority.priority)                                                         \
    ANSWER(SAME, before, priority.before)
#define PAWL__WIRE_FORM_FLOW_CONTROL(ASK, ANSWER)                                                  \
    ASK(SAME, id, flow_control.id) ASK(SAME, by, flow_control.by)                                  \
    ASK(SAME, verb, flow_control.verb)                                                             \
    ASK(SAME, nodes, flow_control.nodes) ASK(COUNT, node_count, flow_control.node_count)           \
    ASK(SAME, drain, flow_control.drain) ASK(SAME, all_below, flow_control.all_below)              \
    ANSWER(SAME, moved, flow_control.moved)
#define PAWL__WIRE_FORM_DELETE(ASK, ANSWER)                                                        \
    ASK(SAME, id, remove.id) ASK(SAME, by, remove.by)
#define PAWL__WIRE_FORM_LOCK_TRY(ASK, ANSWER)                                                      \
    ASK(SAME, name, lock.name) ASK(SAME, owner, lock.owner) ASK(SAME, ttl_ms, lock.ttl_ms)         \
    ANSWER(SAME, fence, lock.fence)
#define PAWL__WIRE_FORM_LOCK_RENEW(ASK, ANSWER)                                                    \
    ASK(SAME, name, lock.name) ASK(SAME, owner, lock.owner) ASK(SAME, ttl_ms, lock.ttl_ms)
#define PAWL__WIRE_FORM_LOCK_RELEASE(ASK, ANSWER)                                                  \
    ASK(SAME, name, lock.name) ASK(SAME, owner, lock.owner)
#define PAWL__WIRE_FORM_SETTING_PUT(ASK, ANSWER)                                                   \
    ASK(SAME, text, setting.value) ASK(SAME, name, setting.name)
#define PAWL__WIRE_FORM_SCHEMA_ADD(ASK, ANSWER)                                                    \
    ASK(AT, schema, schema)
#define PAWL__WIRE_FORM_SCHEMA_DROP(ASK, ANSWER)                                                   \
    ASK(AT, schema, schema)
#define PAWL__WIRE_FORM_CONFIG_PUT(ASK, ANSWER)                                                    \
    ASK(AT, config, config)
#define PAWL__WIRE_FORM_CONFIG_DROP(ASK, ANSWER)                                                   \
    ASK(AT, config, config)
#define PAWL__WIRE_FORM_REQUEST_NOTE(ASK, ANSWER)                                                  \
    ASK(SAME, text, request.fingerprint) ASK(SAME, name, request.key)                              \
    ASK(SAME, ttl_ms, request.kept_ms)
#define PAWL__WIRE_FORM_QUEUE_PAUSE(ASK, ANSWER)                                                   \
    ASK(SAME, by, queue.by) ASK(SAME, name, queue.queue)                                           \
    ASK(SAME, paused, queue.paused) ASK(SAME, forgotten, queue.forgotten)
#define PAWL__WIRE_FORM_FLOW_SIGNAL(ASK, ANSWER)                                                   \
    ASK(SAME, id, flow_signal.id) ASK(SAME, name, flow_signal.key)                                 \
    ASK(SAME, signal, flow_signal.kind) ASK(SAME, data, flow_signal.payload)                       \
    ANSWER(SAME, moved, flow_signal.delivered)
#define PAWL__WIRE_FORM_FLOW_SEAL(ASK, ANSWER)                                                     \
    ASK(SAME, id, flow_seal.id) ASK(SAME, name, flow_seal.group)
#define PAWL__WIRE_FORM_SCHEDULE_PUT(ASK, ANSWER)                                                  \
    ASK(HAND, schedules, schedule_put) ASK(HAND, options, schedule_put)                            \
    ASK(HAND, by, schedule_put)                                                                    \
    ANSWER(SAME, put, schedule_put.out)
#define PAWL__WIRE_FORM_SCHEDULE_PAUSE(ASK, ANSWER)                                                \
    ASK(SAME, name, schedule_control.name) ASK(SAME, by, schedule_control.by)                      \
    ANSWER(SAME, changed, schedule_control.changed)
#define PAWL__WIRE_FORM_SCHEDULE_RESUME(ASK, ANSWER)                                               \
    ASK(SAME, name, schedule_control.name) ASK(SAME, by, schedule_control.by)                      \
    ANSWER(SAME, changed, schedule_control.changed)
#define PAWL__WIRE_FORM_SCHEDULE_RUN(ASK, ANSWER)                                                  \
    ASK(SAME, name, schedule_control.name) ASK(SAME, by, schedule_control.by)                      \
    ASK(SAME, force, schedule_control.force)                                                       \
    ANSWER(SAME, ran, schedule_control.ran)
#define PAWL__WIRE_FORM_SCHEDULE_DROP(ASK, ANSWER)                                                 \
    ASK(SAME, name, schedule_drop.name) ASK(SAME, version, schedule_drop.version)                  \
    ASK(SAME, group, schedule_drop.group)                                                          \
    ASK(SAME, declared_before_ms, schedule_drop.declared_before_ms)

/* clang-format on */

#endif
