/* Schedules from options and operands. */
#include "cli/cron.h"

#include "base/time_text.h"

#include <ctype.h>
#include <string.h>

/* ---- options ---- */

#define S struct pawl_schedule_spec
#define SET(option, member) PAWL__CLI_SET(option, S, member)
static const struct pawl__cli_setter setters[] = {
    SET(ZONE, recurrence.zone),
    SET(DIALECT, recurrence.dialect),
    SET(GAP, recurrence.gap),
    SET(BEGINS, recurrence.start_at_ms),
    SET(ENDS, recurrence.end_at_ms),
    SET(OVERLAP, overlap),
    SET(MISFIRE, misfire),
    SET(CATCH_UP, catch_up),
    SET(LATE_MAX, late_max_ms),
    SET(JITTER, jitter_ms),
    PAWL__CLI_SET(MAX_RUNS, S, max_runs, .elsewhere = true), // 64 bits
    SET(CATCH_UP_PAUSED, catch_up_paused),
    SET(DISABLED, disabled),
    SET(DESCRIPTION, description),
};
enum { SETTERS = sizeof setters / sizeof *setters };
#undef SET
#undef S

int pawl__cli_cron_unset(struct pawl__cli *cli, struct pawl_schedule_spec *out)
{
    size_t count;
    const char *const *names =
        pawl__cli_names(cli, pawl__cli_text(cli, PAWL__CLI_OPT_UNSET), &count);
    for (size_t i = 0; i < count; i++) {
        enum pawl__cli_option_id option =
            pawl__cli_option_find(cli->command->groups, names[i], strlen(names[i]));
        if (option == PAWL__CLI_OPT_END || (!pawl__cli_unset(setters, SETTERS, option, out) &&
                                            !pawl__cli_spec_unset(option, &out->job))) {
            return pawl__cli_usage("\"--unset\": no option \"--%s\" of a schedule", names[i]);
        }
        if (option == PAWL__CLI_OPT_MAX_RUNS) out->max_runs = 0;
    }
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_cron_refused(enum pawl_err err, const struct pawl_diag *diag)
{
    static const char job[] = "job.";
    const char *text = diag->text;
    size_t len = strlen(diag->field);
    bool of_job = strncmp(diag->field, job, sizeof job - 1) == 0;
    enum pawl__cli_option_id option = PAWL__CLI_OPT_END;
    if (err == PAWL_ERR_ARG || err == PAWL_ERR_LIMIT) {
        if (of_job) option = pawl__cli_spec_option(diag->field + sizeof job - 1);
        for (size_t i = 0; !of_job && i < SETTERS; i++) {
            if (strcmp(setters[i].field, diag->field) == 0) option = setters[i].option;
        }
    }
    if (option == PAWL__CLI_OPT_END || strncmp(text, diag->field, len) != 0) {
        return pawl__cli_fail(err, diag);
    }
    return pawl__cli_usage("\"--%s\"%s", pawl__cli_options[option].name, text + len);
}

int pawl__cli_cron_check(struct pawl__cli *cli, const struct pawl_schedule_spec *spec)
{
    struct pawl_diag diag = { 0 };
    const char *warning = NULL;
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    enum pawl_err err = pawl_schedule_check(spec, cli->now_ms, &reason, &warning, &diag);
    if (err && reason != PAWL_CRON_REASON_PAST) return pawl__cli_cron_refused(err, &diag);
    if (warning && !cli->quiet) pawl__cli_error("note: %s", warning);
    return PAWL__CLI_EXIT_OK;
}

/* ---- operands ---- */

/* "2030-01-31T08:00:00Z,2030-02-28T08:00:00Z" */
static bool is_instants(const char *text)
{
    return strspn(text, "0123456789") == 4 && text[4] == '-' && strlen(text) >= 10 &&
           text[7] == '-';
}

int pawl__cli_cron_when(struct pawl__cli *cli, const char *text, struct pawl_recurrence *out)
{
    size_t count;
    out->expression = text;
    out->instants = NULL;
    out->instant_count = 0;
    out->anchor_at_ms = 0;
    if (!is_instants(text)) return PAWL__CLI_EXIT_OK;
    const char *const *texts = pawl__cli_names(cli, text, &count);
    int64_t *instants = pawl__cli_need(pawl__arena_calloc(&cli->arena, count, sizeof *instants));
    for (size_t i = 0; i < count; i++) {
        union pawl__cli_value value;
        if (!pawl__cli_kind_read(PAWL__CLI_KIND_INSTANT, texts[i], cli->now_ms, &value)) {
            return pawl__cli_bad_value(cli, PAWL__CLI_KIND_INSTANT, texts[i], "an instant");
        }
        instants[i] = value.number;
    }
    out->expression = NULL;
    out->instants = instants;
    out->instant_count = count;
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_cron_spec(struct pawl__cli *cli, struct pawl_schedule_spec *out)
{
    const struct pawl__cli_values *operands = &cli->operands;
    int code = PAWL__CLI_EXIT_OK;
    out->name = operands->at[0];
    if (operands->count > 1) code = pawl__cli_cron_when(cli, operands->at[1], &out->recurrence);
    if (operands->count > 2) out->job.type = operands->at[2];
    if (!code && operands->count > 3) code = pawl__cli_args(cli, operands->at[3], &out->job.args);
    if (!code) code = pawl__cli_set(cli, setters, SETTERS, out);
    if (pawl__cli_has(cli, PAWL__CLI_OPT_MAX_RUNS)) {
        out->max_runs = pawl__cli_int(cli, PAWL__CLI_OPT_MAX_RUNS);
    }
    return code ? code : pawl__cli_spec_over(cli, &out->job);
}
