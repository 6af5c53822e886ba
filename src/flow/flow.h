/* Flows: graphs of jobs. Pure: no I/O, no clock, no random numbers, no store. */
#ifndef PAWL_FLOW_H
#define PAWL_FLOW_H

#include "flow/expr.h"

#endif
