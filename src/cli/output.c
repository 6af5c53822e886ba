/* Output for people: texts made safe for a terminal, widths, colours. */
#include "cli/cli.h"
#include "base/time_text.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include <wchar.h>

int pawl__cli_flush(struct pawl__cli *cli)
{
    if (cli->out.failed) pawl__cli_nomem();
    bool ok = !cli->out.len || fwrite(cli->out.at, 1, cli->out.len, stdout) == cli->out.len;
    ok = fflush(stdout) == 0 && ok;
    int saved = errno;
    pawl__buf_clear(&cli->out);
    if (ok) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("could not write the output: %s", strerror(saved));
    return PAWL__CLI_EXIT_REFUSED;
}

/* The length of the character at `at`, which is put into `out`; 0: not valid UTF-8. */
static size_t decode(const char *at, size_t len, uint32_t *out)
{
    int step = pawl__utf8_step(at, at + len);
    if (step < 0) return 0;
    *out = pawl__utf8_decode(at, step);
    return (size_t)step;
}

/* main has set a UTF-8 character type if the system has one; else each code point counts one. */
static size_t point_width(uint32_t point)
{
    int width = wcwidth((wchar_t)point);
    return width < 0 ? 1 : (size_t)width;
}

size_t pawl__cli_width(const char *at, size_t len)
{
    size_t width = 0;
    for (size_t i = 0; i < len;) {
        uint32_t point = 0;
        size_t bytes = decode(at + i, len - i, &point);
        width += bytes ? point_width(point) : 1;
        i += bytes ? bytes : 1;
    }
    return width;
}

size_t pawl__cli_fit(const char *at, size_t len, size_t columns)
{
    size_t width = 0, i = 0;
    while (i < len) {
        uint32_t point = 0;
        size_t bytes = decode(at + i, len - i, &point);
        width += bytes ? point_width(point) : 1;
        if (width > columns) break;
        i += bytes ? bytes : 1;
    }
    return i;
}

enum { LONG_BYTES = 4096 }; /* about two screens */

void pawl__cli_put_text(struct pawl__buf *buf, const char *before, const char *text)
{
    if (!text || !*text) return;
    pawl__buf_add_text(buf, before);
    pawl__plain_add(buf, text, strlen(text));
}

void pawl__cli_put_long(struct pawl__cli *cli, struct pawl_span text)
{
    bool cut = cli->out_tty && text.len > LONG_BYTES;
    size_t shown = cut ? pawl__utf8_cut(text.at, text.len, LONG_BYTES) : text.len;
    pawl__plain_add(&cli->out, text.at, shown);
    if (!cut) return;
    pawl__buf_printf(&cli->out, "... %s(", pawl__cli_dim(cli));
    pawl__cli_put_bytes(&cli->out, (int64_t)text.len);
    pawl__buf_printf(&cli->out, " in all; --json or a pipe shows the rest)%s",
                     pawl__cli_plain(cli));
}

void pawl__cli_put_when(struct pawl__buf *buf, int64_t at_ms, int64_t now_ms)
{
    char text[PAWL__DURATION_TEXT_BYTES];
    int64_t apart = at_ms > now_ms ? at_ms - now_ms : now_ms - at_ms;
    if (apart < 1000) {
        pawl__buf_add_text(buf, "now");
        return;
    }
    pawl__duration_text(apart - apart % 1000, text); // "3m ago" needs no ms
    pawl__buf_printf(buf, at_ms > now_ms ? "in %s" : "%s ago", text);
}

void pawl__cli_put_instant(struct pawl__buf *buf, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(at_ms, text);
    pawl__buf_add_text(buf, text);
}

void pawl__cli_put_moment(struct pawl__cli *cli, int64_t at_ms)
{
    pawl__cli_put_instant(&cli->out, at_ms);
    pawl__buf_add_text(&cli->out, " (");
    pawl__cli_put_when(&cli->out, at_ms, cli->now_ms);
    pawl__buf_add_text(&cli->out, ")");
}

void pawl__cli_put_title(struct pawl__cli *cli, const char *title)
{
    pawl__buf_printf(&cli->out, "\n%s%s%s\n", pawl__cli_bold(cli), title, pawl__cli_plain(cli));
}

void pawl__cli_put_label(struct pawl__cli *cli, const char *label)
{
    pawl__buf_printf(&cli->out, "  %-13s ", label);
}

static void put_line(struct pawl__cli *cli, const char *label, const char *text)
{
    pawl__cli_put_label(cli, label);
    pawl__cli_put_text(&cli->out, "", text);
    pawl__buf_add_text(&cli->out, "\n");
}

void pawl__cli_put_fact(struct pawl__cli *cli, const char *label, enum pawl__as kind,
                        const void *at)
{
    const struct pawl_span *span = at;
    char text[PAWL__DURATION_TEXT_BYTES + PAWL__INSTANT_TEXT_BYTES];
    int64_t number = 0;
    if (kind == PAWL__AS_NAME) {
        const char *name = *(const char *const *)at;
        if (name && *name) put_line(cli, label, name);
    } else if (kind == PAWL__AS_JSON) {
        if (!span->len) return;
        pawl__cli_put_label(cli, label);
        pawl__cli_put_long(cli, *span);
        pawl__buf_add_text(&cli->out, "\n");
    } else {
        number = kind == PAWL__AS_INT32 ? *(const int32_t *)at : *(const int64_t *)at;
        snprintf(text, sizeof text, "%" PRId64, number);
        if (kind == PAWL__AS_INSTANT) pawl__instant_text(number, text);
        if (kind == PAWL__AS_DURATION) pawl__duration_text(number, text);
        if (number) put_line(cli, label, text);
    }
}

void pawl__cli_put_bytes(struct pawl__buf *buf, int64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    pawl__buf_printf(buf, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void pawl__cli_put_count(struct pawl__buf *buf, int64_t count, const char *noun)
{
    pawl__buf_printf(buf, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

/* ---- colours ---- */

int64_t pawl__cli_tries(const struct pawl_job *job)
{
    return job->attempt > job->free_runs ? job->attempt - job->free_runs : 0;
}

const char *pawl__cli_state_text(const struct pawl__cli *cli, enum pawl_state state)
{
    return pawl_state_name(state, cli->vocabulary);
}

const char *pawl__cli_state_colour(const struct pawl__cli *cli, enum pawl_state state)
{
    static const char *const colours[PAWL_STATE_END] = {
        [PAWL_STATE_SCHEDULED] = "\033[34m", [PAWL_STATE_ACTIVE] = "\033[36m",
        [PAWL_STATE_RETRYABLE] = "\033[33m", [PAWL_STATE_PAUSED] = "\033[35m",
        [PAWL_STATE_PENDING] = "\033[35m",   [PAWL_STATE_COMPLETED] = "\033[32m",
        [PAWL_STATE_SKIPPED] = "\033[32m",   [PAWL_STATE_CANCELLED] = "\033[2m",
        [PAWL_STATE_DISCARDED] = "\033[31m", [PAWL_STATE_EXPIRED] = "\033[31m",
    };
    const char *colour = state < PAWL_STATE_END ? colours[state] : NULL;
    return cli->colour && colour ? colour : "";
}

const char *pawl__cli_bold(const struct pawl__cli *cli)
{
    return cli->colour ? "\033[1m" : "";
}

const char *pawl__cli_dim(const struct pawl__cli *cli)
{
    return cli->colour ? "\033[2m" : "";
}

const char *pawl__cli_plain(const struct pawl__cli *cli)
{
    return cli->colour ? "\033[0m" : "";
}
