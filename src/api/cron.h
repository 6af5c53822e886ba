/* Shared by the files about schedules. */
#ifndef PAWL_API_CRON_H
#define PAWL_API_CRON_H

#include "api/api.h"

/* 1..bytes of text. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__check_schedule_name(const char *name, struct pawl_diag *diag);

#endif
