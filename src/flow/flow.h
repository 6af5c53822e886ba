/* Flows: graphs of jobs. Pure: no I/O, no clock, no random numbers, no store. */
#ifndef PAWL_FLOW_H
#define PAWL_FLOW_H

#include "flow/expr.h"
#include "flow/judge.h"
#include "flow/plan.h"

#endif
