/* The moves. Conditions select the event, and the table gives the next state; no other code in pawl
 * decides the state of a job.
 *
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include <assert.h>

/* A duplicate row does not compile: -Woverride-init. */
#define X(from, event, to) [PAWL_STATE_##from][PAWL_EVENT_##event] = PAWL_STATE_##to,
static const uint8_t next_state[PAWL_STATE_END][PAWL_EVENT_END] = { PAWL_MOVES(X) };
#undef X

#define X(name, text, ...) [PAWL_EVENT_##name] = text,
static const char *const event_names[PAWL_EVENT_END] = { PAWL_EVENTS(X) };
#undef X

const char *pawl__event_name(enum pawl_event event)
{
    assert((unsigned)event < PAWL_EVENT_END);
    return event_names[event];
}

/* RESUME cannot restore a state that cannot be paused: a corrupt remembered state is refused. */
static bool can_pause(enum pawl_state state)
{
    return state > PAWL_STATE_NONE && state < PAWL_STATE_END &&
           next_state[state][PAWL_EVENT_PAUSE] == PAWL_STATE_PAUSED;
}

enum pawl_state pawl__lifecycle_next(enum pawl_state from, enum pawl_event event,
                                     enum pawl_state remembered)
{
    assert(from > PAWL_STATE_NONE && from < PAWL_STATE_END);
    assert((unsigned)event < PAWL_EVENT_END);
    if (from == PAWL_STATE_PAUSED && event == PAWL_EVENT_RESUME) {
        return can_pause(remembered) ? remembered : PAWL_STATE_NONE;
    }
    return next_state[from][event]; // NONE: refused, the caller reports PAWL_ERR_STATE
}
