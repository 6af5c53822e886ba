/* What the core asks for that is a statement or two, the same in every SQL store; see
 * struct pawl__core_table. A backend's functions for the rest use some of it too.
 *
 * Threads: the session's, inside its transaction. */
#ifndef PAWL_STORE_SQL_SCAN_H
#define PAWL_STORE_SQL_SCAN_H

#include "store/core/set.h"
#include "store/sql/read.h"

pawl__note_fn pawl__sql_note;
pawl__get_notice_fn pawl__sql_get_notice;

/* ---- the catalogue ---- */

/* Learn of queues, and of lanes with a higher number than `since`. What is here stays where it is.
 */
enum pawl_err pawl__sql_catalog_read(struct pawl__backend *backend, int64_t since);
/* CORRUPT: a row names a lane that does not exist. */
enum pawl_err pawl__sql_lane_by_id(struct pawl__backend *backend, int64_t id,
                                   struct pawl__lane **out);
/* When a store is opened: the boost that it was made with, into the set. */
enum pawl_err pawl__sql_boost_read(struct pawl__backend *backend, struct pawl_diag *diag);

/* ---- the core's table ---- */

pawl__forget_keys_fn pawl__sql_forget_keys;
pawl__unsettled_fn pawl__sql_unsettled;
pawl__next_unsettled_fn pawl__sql_next_unsettled;
pawl__scan_flows_fn pawl__sql_scan_flows;
pawl__scan_ended_flows_fn pawl__sql_scan_ended_flows;
pawl__flow_doubts_fn pawl__sql_flow_doubts;
pawl__next_flow_fn pawl__sql_next_flow;
pawl__scan_schedules_fn pawl__sql_scan_schedules;
pawl__next_schedule_fn pawl__sql_next_schedule;
pawl__census_fn pawl__sql_census;
pawl__scan_nodes_fn pawl__sql_scan_nodes;
pawl__scan_locks_fn pawl__sql_scan_locks;
pawl__scan_timers_fn pawl__sql_scan_timers;
pawl__next_timer_fn pawl__sql_next_timer;
pawl__scan_waits_fn pawl__sql_scan_waits;
pawl__scan_deadlines_fn pawl__sql_scan_deadlines;
pawl__next_deadline_fn pawl__sql_next_deadline;
pawl__match_fn pawl__sql_match;

/* The number that a statement without parameters gives; NULL is 0. */
enum pawl_err pawl__sql_number(struct pawl__backend *backend, enum pawl__read what, int64_t *out);
#endif
