/* pawl flow submit and pawl flow wait. */
#include "cli/flow.h"

#include "base/clock.h"
#include "base/diag.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <time.h>

enum { PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 1000 };

/* ---- submit ---- */

/* A flow is a file that somebody wrote: a member that has no effect is a mistake in it. */
static enum pawl_err refuse_unknown(void *ctx, const char *name, const char *meant,
                                    struct pawl_diag *diag)
{
    if (meant) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, name,
                                "\"%.64s\" is not a known member; did you mean \"%s\"?", name,
                                meant);
    }
    return pawl__fail_field(diag, PAWL_ERR_ARG, name, "\"%.64s\" is not a known member", name);
}

static enum pawl_err read_job(void *ctx, const char *path, struct pawl_span text,
                              struct pawl_job_spec *out, struct pawl_diag *diag)
{
    (void)path;
    struct pawl__cli *cli = ctx;
    const struct pawl__cli_line line = { .text = text,
                                         .arena = &cli->arena,
                                         .unknown = refuse_unknown };
    return pawl__cli_spec_json(cli, &line, out, diag);
}

static void put_submitted(struct pawl__cli *cli, const struct pawl_flow_spec *spec,
                          struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_ID("id", id),
                      PAWL__HERE_TEXT("name", spec->name ? spec->name : ""),
                      PAWL__HERE_INT("nodes", (int64_t)spec->node_count));
        return;
    }
    pawl__buf_printf(&cli->out, "%s\n", text);
    if (cli->quiet || pawl__cli_flush(cli)) return;
    fprintf(stderr, "%s%s%s of %zu node%s is submitted\n", spec->name ? "\"" : "flow",
            spec->name ? spec->name : "", spec->name ? "\"" : "", spec->node_count,
            spec->node_count == 1 ? "" : "s");
}

int pawl__cli_flow_file(struct pawl__cli *cli, const char *path, struct pawl_flow_spec *out)
{
    struct pawl_span text = { 0 };
    struct pawl_diag diag = { 0 };
    const struct pawl__flow_rules rules = {
        .job = read_job, .ctx = cli, .arena = &cli->arena, .now_ms = cli->now_ms
    };
    int code = pawl__cli_read_file(cli, path, &text);
    if (code) return code;
    enum pawl_err err = pawl__flow_read(text, &rules, out, &diag);
    if (err == PAWL_ERR_NOMEM) pawl__cli_nomem();
    return err ? pawl__cli_usage("%s: %s", path, diag.text) : PAWL__CLI_EXIT_OK;
}

int pawl__cli_flow_submit(struct pawl__cli *cli)
{
    struct pawl_flow_spec spec;
    struct pawl_diag diag = { 0 };
    struct pawl_job_id id;
    int code = pawl__cli_flow_file(cli, cli->operands.at[0], &spec);
    if (!code) code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_flow_submit(cli->pawl, &spec, &id, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_submitted(cli, &spec, id);
    return PAWL__CLI_EXIT_OK;
}

/* ---- wait ---- */

struct wait {
    struct pawl__cli *cli;
    struct pawl_job_id *ids; /* of flows that have not ended */
    size_t count;
    int64_t total, open; /* jobs of these */
    int worst;
};

static int64_t mono_ms(void)
{
    return pawl__clock_mono_us(&pawl__clock_system) / 1000;
}

static void put_ended(struct wait *wait, const struct pawl_flow *flow)
{
    struct pawl__cli *cli = wait->cli;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (flow->state != PAWL_FLOW_COMPLETED) wait->worst = PAWL__CLI_EXIT_REFUSED;
    if (cli->json) {
        pawl__cli_put_json(cli, &pawl__cli_flow_shape, flow);
        return;
    }
    pawl_job_id_text(flow->id, id);
    pawl__buf_printf(&cli->out, "%s ", id);
    pawl__cli_put_flow_state(cli, flow);
    pawl__buf_printf(&cli->out, ": %" PRId64 " of %" PRId64 " jobs completed", flow->jobs.completed,
                     flow->jobs.total);
    if (flow->jobs.failed) pawl__buf_printf(&cli->out, ", %" PRId64 " failed", flow->jobs.failed);
    pawl__cli_put_text(&cli->out, ": ", flow->reason);
    pawl__buf_add_text(&cli->out, "\n");
}

/* Looks at one flow. Exit code. */
static int look(struct wait *wait, struct pawl_job_id id, bool *ended)
{
    struct pawl_diag diag = { 0 };
    struct pawl_flows flows = { 0 };
    enum pawl_err err = pawl_flow_get(wait->cli->pawl, id, &flows, &diag);
    *ended = err || pawl__cli_flow_ended(&flows.at[0]);
    if (!err && *ended) put_ended(wait, &flows.at[0]);
    if (!err && !*ended) {
        wait->total += flows.at[0].jobs.total;
        wait->open += flows.at[0].jobs.open;
    }
    pawl_flows_release(&flows);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

/* Keeps the ids of flows that have not ended. Exit code: trouble that ends the waiting. */
static int poll_once(struct wait *wait)
{
    size_t kept = 0;
    wait->total = wait->open = 0;
    for (size_t i = 0; i < wait->count; i++) {
        bool ended = false;
        int code = look(wait, wait->ids[i], &ended);
        int flushed = pawl__cli_flush(wait->cli);
        if (code > PAWL__CLI_EXIT_REFUSED) return code;
        if (flushed) return flushed;
        if (code) wait->worst = code;
        if (!ended) wait->ids[kept++] = wait->ids[i];
    }
    wait->count = kept;
    return PAWL__CLI_EXIT_OK;
}

/* Until all have ended, or the time is over. */
static int wait_for(struct wait *wait, struct pawl__cli_bar *bar, bool timed, int64_t until_ms)
{
    for (int64_t pause_ms = PAUSE_MIN_MS;;) {
        int code = poll_once(wait);
        if (code || !wait->count) return code ? code : wait->worst;
        bar->total = wait->total;
        pawl__cli_bar_draw(bar, wait->total - wait->open, NULL);
        int64_t left_ms = until_ms - mono_ms();
        if (timed && left_ms <= 0) return PAWL__CLI_EXIT_TIMEOUT;
        if (timed && left_ms < pause_ms) pause_ms = left_ms;
        const struct timespec pause = { pause_ms / 1000, pause_ms % 1000 * 1000000 };
        nanosleep(&pause, NULL);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

int pawl__cli_flow_wait(struct pawl__cli *cli)
{
    struct wait wait = { .cli = cli, .count = cli->operands.count };
    struct pawl__cli_bar bar;
    int code = pawl__cli_flow_ids(cli, wait.count, &wait.ids);
    if (code) return code;
    bool timed = pawl__cli_has(cli, PAWL__CLI_OPT_WAIT_TIMEOUT);
    int64_t until_ms = mono_ms() + pawl__cli_duration(cli, PAWL__CLI_OPT_WAIT_TIMEOUT);
    pawl__cli_bar_begin(cli, &bar, "job", 0);
    code = wait_for(&wait, &bar, timed, until_ms);
    pawl__cli_bar_end(&bar);
    if (code == PAWL__CLI_EXIT_TIMEOUT && !cli->quiet) {
        pawl__cli_error("%zu of %zu flows had not ended in time", wait.count, cli->operands.count);
    }
    return code;
}
