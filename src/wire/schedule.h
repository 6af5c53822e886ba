/* The words of the enums of <pawl/cron.h> and <pawl/calendar.h>, for tables of members. */
#ifndef PAWL_WIRE_SCHEDULE_H
#define PAWL_WIRE_SCHEDULE_H

#include "base/shape.h"

#include <pawl/cron.h>

extern const struct pawl__words pawl__dialect_words, pawl__gap_words, pawl__overlap_words,
    pawl__misfire_words, pawl__schedule_state_words, pawl__firing_kind_words, pawl__skip_words,
    pawl__put_words;

#endif
