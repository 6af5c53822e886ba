/* The states of the lifecycle and their names in the vocabularies that pawl supports.
 *
 * The enum, the lookups in both directions and the tables of docs/lifecycle.md are generated from
 * one list; a test compares the schema's CHECK constraints with it. Numbers are stored: append,
 * never reuse. */
#ifndef PAWL_STATE_H
#define PAWL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Whether a job in a state has not ended, has ended well, or has ended badly. */
enum pawl_ending { PAWL_ENDING_LIVE, PAWL_ENDING_SUCCESS, PAWL_ENDING_FAILURE };

/* number, NAME, canonical, OJS, Ratchet, Marie, ending, meaning */
#define PAWL_STATES(X)                                                                             \
    X(1, SCHEDULED, "scheduled", "scheduled", "PENDING", "CREATED", LIVE, "not yet due")           \
    X(2, AVAILABLE, "available", "available", "PENDING", "CREATED", LIVE, "ready for a worker")    \
    X(3, PENDING, "pending", "pending", "PENDING", "CREATED", LIVE,                                \
      "held: dependencies, a signal, a gate, or routed but not yet assigned")                      \
    X(4, ACTIVE, "active", "active", "RUNNING", "ACTIVE", LIVE,                                    \
      "claimed by a worker, under a lease")                                                        \
    X(5, RETRYABLE, "retryable", "retryable", "PENDING", "RETRY", LIVE,                            \
      "failed, will run again when due")                                                           \
    X(6, PAUSED, "paused", "pending", "PAUSED", "CREATED", LIVE,                                   \
      "set aside by an operator; keeps its former state")                                          \
    X(7, COMPLETED, "completed", "completed", "SUCCEEDED", "COMPLETED", SUCCESS,                   \
      "handler succeeded")                                                                         \
    X(8, SKIPPED, "skipped", "completed", "SUCCEEDED", "SKIPPED", SUCCESS,                         \
      "branch not taken, or skipped on request")                                                   \
    X(9, CANCELLED, "cancelled", "cancelled", "CANCELED", "CANCELLED", FAILURE,                    \
      "stopped on request")                                                                        \
    X(10, DISCARDED, "discarded", "discarded", "FAILED", "FAILED", FAILURE,                        \
      "no attempts left, or not retryable")                                                        \
    X(11, EXPIRED, "expired", "discarded", "FAILED", "EXPIRED", FAILURE,                           \
      "its time to live ended before it ran")

#define X(number, name, ...) PAWL_STATE_##name = number,
enum pawl_state { PAWL_STATE_NONE = 0, PAWL_STATES(X) PAWL_STATE_END };
#undef X

/* A set of states is a mask of these bits. */
#define PAWL_STATE_BIT(state) (UINT32_C(1) << (state))

/* NUMBER, NAME, text */
#define PAWL_VOCABULARIES(X)                                                                       \
    X(0, PAWL, "pawl")                                                                             \
    X(1, OJS, "ojs")                                                                               \
    X(2, RATCHET, "ratchet")                                                                       \
    X(3, MARIE, "marie")

#define X(number, name, text) PAWL_VOCABULARY_##name = number,
enum pawl_vocabulary { PAWL_VOCABULARIES(X) PAWL_VOCABULARY_END };
#undef X

/* The name of `state` in a vocabulary; "none" for PAWL_STATE_NONE. Never NULL. Any thread. */
const char *pawl_state_name(enum pawl_state state, enum pawl_vocabulary vocabulary);
/* The mask of all states that a vocabulary calls `name`, ignoring case; 0 if it has no such name.
 * One name may stand for several states: Ratchet's PENDING is four of ours. */
uint32_t pawl_state_mask(const char *name, enum pawl_vocabulary vocabulary);
/* True if only an operator can still move the job. */
bool pawl_state_is_terminal(enum pawl_state state);
/* Completed, or deliberately not run. */
bool pawl_state_is_successful(enum pawl_state state);
/* True if a worker has claimed the job at least once. */
bool pawl_was_executed(int64_t attempt);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
