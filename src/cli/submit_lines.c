/* Jobs from standard input, a JSON object on each line.
 *
 * Lines are collected into batches, and each batch is submitted all or nothing. A batch ends at
 * LINES_MAX lines, at BATCH_BYTES_MAX bytes, or when the input pauses, so that the jobs of a slow
 * writer do not wait. */
#include "cli/cli.h"
#include "base/diag.h"
#include "fields/fields.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINES_MAX = 1000,
    READ_BYTES = 64 * 1024,
    LINE_BYTES_MAX = PAWL_PAYLOAD_BYTES_MAX + 2 * PAWL_META_BYTES_MAX,
    BATCH_BYTES_MAX = 8 * 1024 * 1024,
    PAUSE_MS = 200,
    UNKNOWN_MAX = 16 /* names that are reported, each once */
};

struct input {
    struct pawl__buf buf; /* from `at`: bytes that have been read, but not processed */
    size_t at;
    int64_t line;  /* number of the line processed last */
    int64_t bytes; /* processed */
    bool ended;
};

struct batch {
    struct pawl__cli *cli;
    struct pawl__arena arena; /* the lines and their specs */
    struct pawl_job_spec specs[LINES_MAX];
    struct pawl_submitted answers[LINES_MAX];
    int64_t lines[LINES_MAX];
    size_t count;
    size_t bytes;
    bool in_doubt;
    int64_t line_read;          /* number of the line that is being read */
    char *unknown[UNKNOWN_MAX]; /* names of members that were reported */
    size_t unknown_count;
    int64_t line_in; /* all lines up to this one have been added */
    int64_t added;
    int64_t present; /* existed already */
};

/* ---- reading ---- */

enum got { GOT_LINE, GOT_PAUSE, GOT_END, GOT_TROUBLE };

static enum got trouble(const struct input *input, const char *text)
{
    pawl__cli_error("line %" PRId64 ": %s", input->line + 1, text);
    return GOT_TROUBLE;
}

/* Reads more. PAUSE: `waiting` was given, and nothing arrived for a while. */
static enum got fill(struct input *input, bool waiting)
{
    struct pollfd poll_fd = { .fd = STDIN_FILENO, .events = POLLIN };
    if (waiting && poll(&poll_fd, 1, PAUSE_MS) == 0) return GOT_PAUSE;
    if (pawl__cli_interrupted()) return GOT_END;
    if (input->at) { // make room at the end
        assert(input->buf.at);
        memmove(input->buf.at, input->buf.at + input->at, input->buf.len - input->at);
        input->buf.len -= input->at;
        input->at = 0;
    }
    char bytes[READ_BYTES];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0) return errno == EINTR ? GOT_PAUSE : trouble(input, strerror(errno));
    pawl__buf_add(&input->buf, bytes, (size_t)got);
    if (input->buf.failed) pawl__cli_nomem();
    input->ended = got == 0;
    return GOT_LINE;
}

/* The next line, without its line break; valid until the next call. */
static enum got next_line(struct input *input, bool waiting, struct pawl_span *out)
{
    size_t seen = 0; // bytes without a line break
    for (;;) {
        const char *from = input->buf.at ? input->buf.at + input->at : "";
        size_t left = input->buf.len - input->at;
        const char *end = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        if (end || (input->ended && left)) {
            size_t len = end ? (size_t)(end - from) : left;
            *out = (struct pawl_span){ from, len };
            input->at += len + (end != NULL);
            input->bytes += (int64_t)len + 1;
            input->line++;
            return GOT_LINE;
        }
        if (input->ended) return GOT_END;
        if (left > LINE_BYTES_MAX) return trouble(input, "longer than a job can be");
        seen = left;
        enum got got = fill(input, waiting);
        if (got != GOT_LINE) return got;
    }
}

static bool is_blank(struct pawl_span line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (!strchr(" \t\r", line.at[i]) || !line.at[i]) return false;
    }
    return true;
}

/* ---- messages ---- */

/* After an error: which lines were added. */
static void hint_where(const struct batch *batch)
{
    if (batch->in_doubt) { // the commit failed, but may have taken effect
        pawl__cli_hint("lines %" PRId64 " to %" PRId64
                       " may have been added: check with \"pawl list\" before you continue",
                       batch->lines[0], batch->lines[batch->count - 1]);
    } else if (batch->line_in == 0) {
        pawl__cli_hint("nothing was added");
    } else if (batch->line_in == 1) {
        pawl__cli_hint("only line 1 was added; continue with \"tail -n +2\"");
    } else {
        pawl__cli_hint("only lines 1 to %" PRId64 " were added; continue with \"tail -n +%" PRId64
                       "\"",
                       batch->line_in, batch->line_in + 1);
    }
}

static void put_summary(const struct batch *batch)
{
    struct pawl__cli *cli = batch->cli;
    if (cli->json) return;
    pawl__buf_add_text(&cli->out, "added ");
    pawl__cli_put_count(&cli->out, batch->added, "job");
    if (batch->present) {
        pawl__buf_printf(&cli->out, "; %" PRId64 " more already existed", batch->present);
    }
    pawl__buf_add_text(&cli->out, "\n");
}

/* ---- batches ---- */

/* The number of the line that an error is about; 0: none. */
static int64_t line_of(const struct batch *batch, const struct pawl_diag *diag)
{
    char *end;
    if (diag->field[0] != '[') return 0;
    uintmax_t index = strtoumax(diag->field + 1, &end, 10);
    return *end == ']' && index < batch->count ? batch->lines[index] : 0;
}

/* Fields of a spec, and the names of their members. */
#define X(member, kind, name, ...) { #member, name },
static const struct {
    const char *field, *member;
} names[] = { { "retry.attempts_max", "max_attempts" }, PAWL__SPEC_FIELDS(X) };
#undef X

/* Prints an error of the library, with the names of members for those of fields. */
static void put_line_error(int64_t line, const char *text)
{
    struct pawl__buf out = { 0 };
    while (*text) {
        size_t step = 1, i = 0;
        const size_t count = sizeof names / sizeof *names;
        while (i < count && strncmp(text, names[i].field, strlen(names[i].field)) != 0) {
            i++;
        }
        if (i < count) step = strlen(names[i].field);
        pawl__buf_add(&out, i < count ? names[i].member : text,
                      i < count ? strlen(names[i].member) : 1);
        text += step;
    }
    pawl__buf_add(&out, "", 1);
    if (out.failed) pawl__cli_nomem();
    pawl__cli_error("line %" PRId64 ": %s", line, out.at);
    pawl__buf_release(&out);
}

/* Replaces the number of another job of the batch by that of its line. */
static void put_batch_error(const struct batch *batch, int64_t line, const char *text)
{
    size_t other;
    int used = 0;
    if (sscanf(text, "job [%zu] of the same batch%n", &other, &used) == 1 && used &&
        other < batch->count) {
        pawl__cli_error("line %" PRId64 ": line %" PRId64 "%s", line, batch->lines[other],
                        text + used);
    } else {
        put_line_error(line, text);
    }
}

static int flush_failed(const struct batch *batch, enum pawl_err err, const struct pawl_diag *diag)
{
    int64_t line = line_of(batch, diag);
    if (line) {
        const char *text = strstr(diag->text, "]: "); // omits the place in the batch
        put_batch_error(batch, line, diag->text[0] == '[' && text ? text + 3 : diag->text);
        return PAWL__CLI_EXIT_REFUSED;
    }
    return pawl__cli_fail(err, diag);
}

static int flush(struct batch *batch)
{
    struct pawl_diag diag = { 0 };
    if (!batch->count) return PAWL__CLI_EXIT_OK;
    enum pawl_err err =
        pawl_submit_many(batch->cli->pawl, batch->specs, batch->count, batch->answers, &diag);
    batch->in_doubt = err == PAWL_ERR_IO;
    if (err) return flush_failed(batch, err, &diag);
    for (size_t i = 0; i < batch->count; i++) {
        *(batch->answers[i].deduplicated ? &batch->present : &batch->added) += 1;
        if (batch->cli->json) {
            pawl__cli_submit_json(batch->cli, &batch->specs[i], &batch->answers[i]);
        }
    }
    batch->line_in = batch->lines[batch->count - 1];
    batch->count = batch->bytes = 0;
    pawl__arena_reset(&batch->arena);
    return batch->cli->json ? pawl__cli_flush(batch->cli) : PAWL__CLI_EXIT_OK;
}

/* Reports each unknown member once, or refuses it with --strict. */
static enum pawl_err unknown_member(void *ctx, const char *name, const char *meant,
                                    struct pawl_diag *diag)
{
    struct batch *batch = ctx;
    char hint[96] = "";
    if (meant) snprintf(hint, sizeof hint, "; did you mean \"%s\"?", meant);
    if (pawl__cli_flag(batch->cli, PAWL__CLI_OPT_STRICT)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, name, "\"%s\" is not a known member%s", name,
                                hint);
    }
    for (size_t i = 0; i < batch->unknown_count; i++) {
        if (strcmp(batch->unknown[i], name) == 0) return PAWL_OK;
    }
    if (batch->cli->quiet || batch->unknown_count == UNKNOWN_MAX) return PAWL_OK;
    batch->unknown[batch->unknown_count++] =
        pawl__cli_need(pawl__arena_dup(&batch->cli->arena, name, strlen(name)));
    pawl__cli_error("line %" PRId64 ": unknown member \"%s\" has no effect%s", batch->line_read,
                    name, hint);
    return PAWL_OK;
}

static int take(struct batch *batch, const struct pawl_job_spec *defaults, struct pawl_span line,
                int64_t number)
{
    struct pawl_diag diag = { 0 };
    struct pawl_job_spec *spec = &batch->specs[batch->count];
    struct pawl_span kept = { pawl__cli_need(pawl__arena_dup(&batch->arena, line.at, line.len)),
                              line.len };
    *spec = *defaults;
    batch->line_read = number;
    enum pawl_err err = pawl__cli_spec_json(
        batch->cli, &(struct pawl__cli_line){ kept, &batch->arena, unknown_member, batch }, spec,
        &diag);
    if (err) {
        pawl__cli_error("line %" PRId64 ": %s", number, diag.text);
        return PAWL__CLI_EXIT_REFUSED;
    }
    batch->lines[batch->count++] = number;
    batch->bytes += line.len;
    if (batch->count == LINES_MAX || batch->bytes >= BATCH_BYTES_MAX) return flush(batch);
    return PAWL__CLI_EXIT_OK;
}

/* ---- the command ---- */

/* The rest of a file; 0: unknown. */
static int64_t bytes_ahead(void)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && info.st_size > at ? info.st_size - at : 0;
}

static int read_all(struct batch *batch, struct input *input, const struct pawl_job_spec *defaults)
{
    struct pawl__cli_bar bar;
    pawl__cli_bar_begin(batch->cli, &bar, "bytes", bytes_ahead());
    int code = PAWL__CLI_EXIT_OK;
    while (!code && !pawl__cli_interrupted()) {
        struct pawl_span line;
        enum got got = next_line(input, batch->count > 0, &line);
        if (got == GOT_LINE && !is_blank(line)) code = take(batch, defaults, line, input->line);
        if (got == GOT_PAUSE || (got == GOT_END && !pawl__cli_interrupted())) code = flush(batch);
        if (got == GOT_TROUBLE) code = PAWL__CLI_EXIT_REFUSED;
        if (got == GOT_END) break;
        char note[64];
        snprintf(note, sizeof note, "%" PRId64 " added", batch->added);
        pawl__cli_bar_draw(&bar, input->bytes, note);
    }
    pawl__cli_bar_end(&bar);
    return code;
}

int pawl__cli_submit_lines(struct pawl__cli *cli, const struct pawl_job_spec *defaults)
{
    struct batch *batch = pawl__cli_need(calloc(1, sizeof *batch));
    struct input input = { 0 };
    batch->cli = cli;
    pawl__cli_calm(true);
    int code = read_all(batch, &input, defaults);
    if (!code && pawl__cli_interrupted()) {
        pawl__cli_error("interrupted");
        code = PAWL__CLI_EXIT_INTERRUPTED;
    }
    bool empty = !code && input.line == 0 && cli->operands.count == 0;
    if (empty) { // probably TYPE was forgotten in a script
        pawl__cli_error("\"pawl submit\" needs TYPE, and standard input is empty");
        pawl__cli_hint("give a type; with - there may be no lines");
        code = PAWL__CLI_EXIT_USAGE;
    } else {
        if (code) hint_where(batch);
        put_summary(batch);
    }
    pawl__buf_release(&input.buf);
    pawl__arena_release(&batch->arena);
    free(batch);
    return code;
}
