/* See exec.h. Runs on: the workers' threads. */
#include "cli/exec.h"
#include "cli/tail.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_RETRY = 75,                         /* EX_TEMPFAIL */
    EXIT_DISCARD = 65,                       /* EX_DATAERR */
    RESULT_BYTES_MAX = 1024 * 1024,          /* as JSON; the limit of the library */
    OUTPUT_BYTES_MAX = RESULT_BYTES_MAX + 2, /* that are kept, with a line break at the end */
    ENV_BYTES_MAX = 128 * 1024,              /* Linux's limit for a variable */
    LINES_AT_ONCE_MAX = 1000,                /* logged immediately; later ones every TAIL_US */
    TAIL_US = 1000000,
    LAST_BYTES = 256,     /* of a line of standard error, for the error message */
    PROGRESS_US = 250000, /* between two reports to the store */
    MESSAGE_BYTES = LAST_BYTES + 64,
    TROUBLE_MS = 1000 /* before a job is retried whose command could not be started */
};

/* What is set for each run; make_env has the values in the same order. */
static const char *const variables[] = { "PAWL_JOB_ID",  "PAWL_JOB_TYPE", "PAWL_QUEUE",
                                         "PAWL_ATTEMPT", "PAWL_RUN",      "PAWL_ARGS",
                                         "PAWL_INPUTS" };
enum { VARIABLE_COUNT = sizeof variables / sizeof variables[0] };

struct run {
    struct pawl__cli_exec *exec;
    struct pawl_task *task;
    const struct pawl_job *job;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    struct pawl__buf input;
    struct pawl__buf inputs; /* what its parents left, as JSON; empty: it has none */
    int64_t inputs_omitted;
    struct pawl__buf vars; /* separated by NULs */
    struct pawl__buf text; /* scratch: a line as UTF-8, a result */
    char **env;
    size_t lines;
    struct pawl__cli_tail tail; /* lines that are not in the job's log yet */
    int64_t flushed_us;
    double progress; /* 0..1, to be reported to the store; -1: nothing new */
    char progress_text[LAST_BYTES];
    int64_t progress_us;   /* of the last report */
    char last[LAST_BYTES]; /* line of standard error that is not blank */
    char message[MESSAGE_BYTES];
    struct pawl__cli_child child;
    bool started;
    bool unwanted; /* it was stopped, but not because the node stops */
    bool cut;      /* the result is a part of the output */
    enum pawl__cli_end end;
};

const char *pawl__cli_end_text(enum pawl__cli_end end)
{
#define X(name, text) [PAWL__CLI_END_##name] = text,
    static const char *const texts[] = { PAWL__CLI_ENDS(X) };
#undef X
    return texts[end];
}

/* ---- shared by all runs ---- */

/* Variables of a run; we may have some if the node is itself a command of a job. */
static bool is_set_by_us(const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        if (strlen(variables[i]) == len && memcmp(variables[i], entry, len) == 0) return true;
    }
    return false;
}

int pawl__cli_exec_init(struct pawl__cli_exec *exec)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    exec->env = calloc(count + 1, sizeof(*exec->env));
    if (!exec->env) return ENOMEM;
    exec->env_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_set_by_us(environ[i])) exec->env[exec->env_count++] = environ[i];
    }
    atomic_init(&exec->stopping, false);
    atomic_init(&exec->dying, false);
    return pawl__cli_children_init(&exec->children);
}

void pawl__cli_exec_release(struct pawl__cli_exec *exec)
{
    if (exec->env) pawl__cli_children_release(&exec->children);
    free(exec->env);
    exec->env = NULL;
}

/* ---- input and environment ---- */

#define S struct pawl_flow_input
static const struct pawl__member input_members[] = {
    PAWL__MEMBER("name", NAME, S, name, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("id", ID, S, id),
    PAWL__CLI_STATE("state", S, state, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("reason", NAME, S, reason),
    PAWL__MEMBER("result", JSON, S, result, .flags = PAWL__ALWAYS),
};
static const struct pawl__shape input_shape = PAWL__SHAPE(S, input_members);
#undef S

/* False: they cannot be read now. */
static bool read_inputs(struct run *run)
{
    const struct pawl_flow_inputs *inputs;
    struct pawl_diag diag = { 0 };
    if (!pawl_flow_has_inputs(run->job)) return true;
    if (pawl_task_inputs(run->task, &inputs, &diag)) {
        snprintf(run->message, sizeof run->message, "could not read what the parents left: %.200s",
                 diag.text);
        return false;
    }
    struct pawl__shape_writer writer = pawl__cli_writer(run->exec->cli, &run->inputs);
    for (size_t i = 0; i < inputs->count; i++) {
        pawl__buf_add_text(&run->inputs, i ? "," : "[");
        pawl__shape_print(&writer, &input_shape, &inputs->at[i]);
    }
    if (inputs->count) pawl__buf_add_text(&run->inputs, "]");
    run->inputs_omitted = inputs->omitted_bytes;
    return true;
}

static bool make_input(struct run *run)
{
    struct pawl__shape_writer writer = pawl__cli_writer(run->exec->cli, &run->input);
    struct pawl_span inputs = { run->inputs.at, run->inputs.len };
    PAWL__PRINT(&writer, PAWL__PART(&pawl__cli_job_shape, run->job),
                PAWL__SOME("inputs", JSON, struct pawl_span, inputs),
                PAWL__SOME_INT("inputs_omitted_bytes", run->inputs_omitted));
    pawl__buf_add_text(&run->input, "\n");
    run->child.input = (struct pawl_span){ run->input.at, run->input.len };
    return !run->input.failed && !run->inputs.failed;
}

static struct pawl_span span_of(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

static bool make_env(struct run *run)
{
    const struct pawl__cli_exec *exec = run->exec;
    char attempt[24], number[24];
    snprintf(attempt, sizeof attempt, "%" PRId64, pawl__cli_tries(run->job));
    snprintf(number, sizeof number, "%" PRId64, run->job->run);
    struct pawl_span args = run->job->args.len ? run->job->args : span_of("[]");
    struct pawl_span values[VARIABLE_COUNT] = {
        span_of(run->id),
        span_of(run->job->type),
        span_of(run->job->queue),
        span_of(attempt),
        span_of(number),
        args,
        { run->inputs.at, run->inputs.len },
    };
    size_t at[VARIABLE_COUNT], count = 0;
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        // A longer value is only on standard input.
        if (!values[i].at || strlen(variables[i]) + values[i].len + 2 > ENV_BYTES_MAX) continue;
        at[count++] = run->vars.len;
        pawl__buf_printf(&run->vars, "%s=", variables[i]);
        pawl__buf_add(&run->vars, values[i].at, values[i].len);
        pawl__buf_add(&run->vars, "", 1);
    }
    run->env = calloc(exec->env_count + count + 1, sizeof(*run->env));
    if (!run->env || run->vars.failed) return false;
    if (exec->env_count) memcpy(run->env, exec->env, exec->env_count * sizeof(*run->env));
    for (size_t i = 0; i < count; i++) {
        run->env[exec->env_count + i] = run->vars.at + at[i];
    }
    run->child.envp = run->env;
    return true;
}

/* ---- log and progress ---- */

static void log_line(void *ctx, const char *text)
{
    struct run *run = ctx;
    pawl_task_log(run->task, 1, "%s", text);
}

/* Lines after the first LINES_AT_ONCE_MAX are logged once a second, and no more than the tail
 * holds, so that a command that writes without pause does not slow down the store. */
static void flush_tail(struct run *run)
{
    if (run->tail.dropped) {
        pawl_task_log(run->task, 2, "%" PRId64 " lines omitted: too many at once",
                      run->tail.dropped);
    }
    pawl__cli_tail_flush(&run->tail, log_line, run);
}

/* A failure does not matter: the next report replaces this one. */
static void report_progress(struct run *run)
{
    if (run->progress < 0) return;
    const char *text = run->progress_text[0] ? run->progress_text : NULL;
    if (pawl_task_progress(run->task, run->progress, text) != PAWL_OK) {
        // if the store is in trouble, the outcome will show it
    }
    run->progress = -1;
}

static void report_progress_sometimes(struct run *run)
{
    if (run->progress < 0) return;
    int64_t now_us = pawl__clock_mono_us(&pawl__clock_system);
    if (now_us - run->progress_us < PROGRESS_US) return;
    run->progress_us = now_us;
    report_progress(run);
}

static bool must_stop(void *ctx)
{
    struct run *run = ctx;
    report_progress_sometimes(run);
    int64_t now_us = run->tail.count ? pawl__clock_mono_us(&pawl__clock_system) : 0;
    if (now_us && now_us - run->flushed_us >= TAIL_US) {
        flush_tail(run);
        run->flushed_us = now_us;
    }
    if (!pawl_task_cancelled(run->task)) return false;
    if (!atomic_load(&run->exec->stopping)) run->unwanted = true;
    return true;
}

/* Replaces NULs and bytes that are not UTF-8. */
static void clean(struct pawl__buf *out, const char *at, size_t len)
{
    static const char unknown[] = "\xEF\xBF\xBD"; // U+FFFD
    const char *end = at + len;
    pawl__buf_clear(out);
    while (at < end) {
        int step = pawl__utf8_step(at, end);
        if (step > 0 && *at) {
            pawl__buf_add(out, at, (size_t)step);
        } else {
            pawl__buf_add(out, unknown, sizeof unknown - 1);
        }
        at += step > 0 ? step : -step;
    }
}

static void copy_cut(char out[LAST_BYTES], const char *text, size_t len)
{
    len = pawl__utf8_cut(text, len, LAST_BYTES - 1);
    memcpy(out, text, len);
    out[len] = '\0';
}

static void remember(struct run *run, const char *text, size_t len)
{
    if (text[strspn(text, " \t")] != '\0') copy_cut(run->last, text, len);
}

/* "pawl:progress PERCENT [MESSAGE]" is a report, not a line of the log. False: not a report. */
static bool take_progress(struct run *run, const char *text)
{
    static const char word[] = "pawl:progress ";
    if (strncmp(text, word, sizeof word - 1) != 0) return false;
    const char *at = text + sizeof word - 1;
    size_t digits = strspn(at, "0123456789.");
    char *end;
    double percent = strtod(at, &end);
    if (!digits || end != at + digits || (*end && *end != ' ') || percent > 100) return false;
    while (*end == ' ') {
        end++;
    }
    run->progress = percent / 100;
    copy_cut(run->progress_text, end, strlen(end));
    return true;
}

static void take_line(void *ctx, const char *at, size_t len)
{
    struct run *run = ctx;
    clean(&run->text, at, len);
    if (run->text.failed) return;
    const char *text = run->text.len ? run->text.at : "";
    if (run->exec->line) run->exec->line(run->exec->ctx, run->id, text, run->text.len);
    if (take_progress(run, text)) return;
    remember(run, text, run->text.len);
    if (run->lines < LINES_AT_ONCE_MAX) {
        pawl_task_log(run->task, 1, "%s", text);
    } else {
        pawl__cli_tail_add(&run->tail, text);
    }
    run->lines++;
}

/* ---- the result ---- */

static struct pawl_span trim(struct pawl_span text)
{
    static const char blank[] = " \t\r\n";
    while (text.len && memchr(blank, text.at[0], sizeof blank - 1)) {
        text.at++;
        text.len--;
    }
    while (text.len && memchr(blank, text.at[text.len - 1], sizeof blank - 1)) {
        text.len--;
    }
    return text;
}

/* How many bytes of `json`, a string that is too long, leave room for a closing quote, without
 * splitting an escape or a character. */
static size_t fitting(const struct pawl__buf *json)
{
    size_t at = 1;
    for (;;) {
        const char *c = json->at + at;
        size_t step = *c == '\\' ? (c[1] == 'u' ? 6 : 2) : 1;
        while (*c != '\\' && ((unsigned char)c[step] & 0xC0) == 0x80) {
            step++;
        }
        if (at + step >= RESULT_BYTES_MAX) return at;
        at += step;
    }
}

/* The output as a JSON string, without the line break at its end. If it is too long it is cut, and
 * the job's log says so: too much output does not make a run fail. */
static enum pawl_err make_text_result(struct run *run, struct pawl_span text, struct pawl_span *out)
{
    while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == '\r')) {
        text.len--;
    }
    pawl__buf_clear(&run->text);
    pawl__buf_add_json(&run->text, text.at, text.len);
    if (run->text.failed) return PAWL_ERR_NOMEM;
    if (run->text.len > RESULT_BYTES_MAX) {
        run->text.len = fitting(&run->text);
        pawl__buf_add(&run->text, "\"", 1);
        run->cut = true;
    }
    *out = (struct pawl_span){ run->text.at, run->text.len };
    return PAWL_OK;
}

/* The output if it is one JSON value, else the output as a string. */
static enum pawl_err make_result(struct run *run, struct pawl_span *out)
{
    struct pawl_span whole = { run->child.output.at, run->child.output.len };
    struct pawl_span text = trim(whole);
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    *out = text;
    if (!text.len) return PAWL_OK;
    run->cut = run->child.output_lost > 0;
    if (run->cut || text.len > RESULT_BYTES_MAX) return make_text_result(run, whole, out);
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, &arena, &json, NULL);
    pawl__arena_release(&arena);
    return !err || err == PAWL_ERR_NOMEM ? err : make_text_result(run, whole, out);
}

/* ---- outcomes ---- */

/* Gives the job back, without counting an attempt. */
static enum pawl_outcome give_back(struct run *run, int64_t delay_ms)
{
    run->end = PAWL__CLI_END_GIVEN_BACK;
    pawl_task_delay(run->task, delay_ms);
    return PAWL_OUTCOME_SNOOZE;
}

static enum pawl_outcome no_memory(struct run *run)
{
    snprintf(run->message, sizeof run->message, "out of memory");
    return give_back(run, TROUBLE_MS);
}

static enum pawl_outcome fail(struct run *run, enum pawl__cli_end end, const char *type)
{
    run->end = end;
    pawl_task_error(run->task, type, (struct pawl_span){ NULL, 0 }, "%s", run->message);
    return end == PAWL__CLI_END_DISCARDED ? PAWL_OUTCOME_DISCARD : PAWL_OUTCOME_RETRY;
}

static enum pawl_outcome succeed(struct run *run)
{
    struct pawl_span result;
    enum pawl_err err = make_result(run, &result);
    if (!err && result.len) err = pawl_task_result(run->task, result);
    if (err) return no_memory(run); // the result is valid, so it can only be that
    if (run->cut) {
        pawl_task_log(run->task, 2,
                      "the result was cut: the command printed %zu bytes, and a result may have %d "
                      "bytes of JSON",
                      run->child.output.len + run->child.output_lost, RESULT_BYTES_MAX);
    }
    run->end = PAWL__CLI_END_DONE;
    return PAWL_OUTCOME_DONE;
}

static enum pawl_outcome fail_exit(struct run *run, int status)
{
    char type[24];
    snprintf(type, sizeof type, "exit.%d", status);
    snprintf(run->message, sizeof run->message, "the command exited with status %d%s%s", status,
             run->last[0] ? ": " : "", run->last);
    if (status == EXIT_DISCARD) return fail(run, PAWL__CLI_END_DISCARDED, type);
    // Not "exit.75", so that it can be retried although "exit.*" is not.
    return fail(run, PAWL__CLI_END_FAILED, status == EXIT_RETRY ? "tempfail" : type);
}

static enum pawl_outcome fail_signal(struct run *run, int number)
{
    char type[24], name[16];
    const char *known = sigabbrev_np(number);
    snprintf(name, sizeof name, "%d", number); // real-time signals have no name
    if (known) snprintf(name, sizeof name, "%s", known);
    snprintf(type, sizeof type, "signal.%s", name);
    snprintf(run->message, sizeof run->message, "the command was ended by signal %s%s%s", name,
             run->last[0] ? ": " : "", run->last);
    return fail(run, PAWL__CLI_END_FAILED, type);
}

/* The command was stopped, so its exit status does not count. If the node stops, the job runs
 * again; in the other cases its outcome is decided already. */
static enum pawl_outcome stopped(struct run *run)
{
    int64_t deadline_ms = pawl_task_deadline_ms(run->task);
    bool late = deadline_ms && pawl__clock_wall_ms(&pawl__clock_system) >= deadline_ms;
    enum pawl_outcome outcome = give_back(run, 0);
    if (late) run->end = PAWL__CLI_END_TIMEOUT;
    if (!late && run->unwanted) run->end = PAWL__CLI_END_CANCELLED;
    snprintf(run->message, sizeof run->message, "%s",
             late            ? "the time limit was exceeded"
             : run->unwanted ? "the job was cancelled or its lease was lost"
                             : "the node stops");
    return outcome;
}

static enum pawl_outcome not_started(struct run *run, int error)
{
    snprintf(run->message, sizeof run->message, "could not start the command: %s",
             strerrordesc_np(error));
    switch (error) {
    case EAGAIN: // this machine is overloaded
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return give_back(run, TROUBLE_MS);
    default:
        return fail(run, PAWL__CLI_END_FAILED, "spawn");
    }
}

static enum pawl_outcome outcome_of(struct run *run)
{
    const struct pawl__cli_child *child = &run->child;
    if (child->stopped || atomic_load(&run->exec->dying)) return stopped(run);
    if (child->output.failed) return no_memory(run);
    if (WIFSIGNALED(child->status)) return fail_signal(run, WTERMSIG(child->status));
    int status = WEXITSTATUS(child->status);
    return status ? fail_exit(run, status) : succeed(run);
}

/* ---- a run ---- */

static enum pawl_outcome execute(struct run *run, const char *command)
{
    const char *const argv[] = { "/bin/sh", "-c", command, NULL };
    if (!read_inputs(run)) return give_back(run, TROUBLE_MS);
    if (!make_input(run) || !make_env(run)) return no_memory(run);
    run->child.argv = (char *const *)argv;
    int error = pawl__cli_child_run(&run->exec->children, &run->child);
    if (error) return not_started(run, error);
    run->started = true;
    flush_tail(run);
    report_progress(run);
    return outcome_of(run);
}

static void release(struct run *run)
{
    pawl__buf_release(&run->input);
    pawl__buf_release(&run->inputs);
    pawl__buf_release(&run->vars);
    pawl__buf_release(&run->text);
    pawl__buf_release(&run->child.output);
    pawl__cli_tail_release(&run->tail);
    free(run->env);
}

enum pawl_outcome pawl__cli_exec_run(struct pawl_task *task, void *ctx)
{
    const struct pawl__cli_exec_command *command = ctx;
    struct pawl__cli_exec *exec = command->exec;
    struct run run = { .exec = exec, .task = task, .job = pawl_task_job(task), .progress = -1 };
    run.child = (struct pawl__cli_child){ .output_max = OUTPUT_BYTES_MAX,
                                          .grace_ms = exec->grace_ms,
                                          .stop = must_stop,
                                          .line = take_line,
                                          .ctx = &run };
    pawl_job_id_text(run.job->id, run.id);
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    enum pawl_outcome outcome = execute(&run, command->text);
    struct pawl__cli_ended ended = { .job = run.job,
                                     .id = run.id,
                                     .end = run.end,
                                     .started = run.started,
                                     .status = run.child.status,
                                     .message = run.message,
                                     .took_us = pawl__clock_mono_us(&pawl__clock_system) -
                                                began_us };
    exec->ended(exec->ctx, &ended);
    release(&run);
    return outcome;
}
