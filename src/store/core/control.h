/* What a control may do to a job. None of these takes NONE, but for pawl__control_states and
 * _revives.
 *
 * Threads: any; nothing is shared. All pointers are borrowed until the call returns. */
#ifndef PAWL_STORE_CORE_CONTROL_H
#define PAWL_STORE_CORE_CONTROL_H

#include "lifecycle/lifecycle.h"

#include <pawl/pawl.h>

/* May it bring a job that ended back to life, and its keys with it? */
bool pawl__control_revives(enum pawl_control control);

enum pawl_event pawl__control_event(enum pawl_control control);
const char *pawl__control_verb(enum pawl_control control);
/* What the job is told to have ended for; NULL: nothing. */
const char *pawl__control_reason(enum pawl_control control, const struct pawl_by *by);
bool pawl__control_allowed(enum pawl_control control, enum pawl_state from,
                           enum pawl_state paused_from);
/* The states from which the operation is possible, as bits; NONE is to delete. */
uint32_t pawl__control_states(enum pawl_control control);

#endif
