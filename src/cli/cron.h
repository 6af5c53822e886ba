/* Shared by the files of `pawl cron`. */
#ifndef PAWL_CLI_CRON_H
#define PAWL_CLI_CRON_H

#include "cli/cli.h"

#include <pawl/cron.h>

/* ---- cron_spec.c: from the command line ---- */

/* The options over what `out` holds, and the operands from the second on: EXPRESSION, TYPE, ARGS.
 * Exit code. */
int pawl__cli_cron_spec(struct pawl__cli *cli, struct pawl_schedule_spec *out);
/* An expression, or instants with commas between them. Exit code. */
int pawl__cli_cron_when(struct pawl__cli *cli, const char *text, struct pawl_recurrence *out);
/* Options of --unset. Exit code. */
int pawl__cli_cron_unset(struct pawl__cli *cli, struct pawl_schedule_spec *out);
/* Refuses what the library would, but for what is over, which a schedule may have already. Passes
 * on its warning. Exit code. */
int pawl__cli_cron_check(struct pawl__cli *cli, const struct pawl_schedule_spec *spec);
/* The library's refusal of a spec, with the name of the option in place of the field's. Exit code.
 */
int pawl__cli_cron_refused(enum pawl_err err, const struct pawl_diag *diag);

/* ---- cron_json.c ---- */

extern const struct pawl__shape pawl__cli_schedule_spec_shape; /* struct pawl_schedule_spec */
extern const struct pawl__shape pawl__cli_schedule_shape;      /* struct pawl_schedule */
extern const struct pawl__shape pawl__cli_firing_shape;        /* struct pawl_firing */
/* As an expression, or as instants. Appends. */
void pawl__cli_cron_put_expression(struct pawl__buf *out, const struct pawl_recurrence *recurrence);
/* In words; "" if that is not possible, since its zone has vanished. */
const char *pawl__cli_cron_words(struct pawl__cli *cli, const struct pawl_recurrence *recurrence);
/* The same without what changes of the clocks do. */
const char *pawl__cli_cron_brief(struct pawl__cli *cli, const struct pawl_recurrence *recurrence);

/* ---- cron_next.c ---- */

/* A table of the next fires after `from_ms`, lost ones between them. Exit code. */
int pawl__cli_cron_put_coming(struct pawl__cli *cli, const struct pawl_recurrence *recurrence,
                              int64_t from_ms, size_t fires);

/* ---- cron_show.c ---- */

/* What a firing was, in words. Appends. */
void pawl__cli_cron_put_firing(struct pawl__buf *out, const struct pawl_firing *firing);

/* ---- cron.c ---- */

/* Reads the schedule; the caller releases `out` in any case. Exit code. */
int pawl__cli_cron_get(struct pawl__cli *cli, const char *name, struct pawl_schedules *out);

#endif
