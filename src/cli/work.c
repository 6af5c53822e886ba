/* pawl work: a node whose handlers are commands.
 *
 * The main thread starts the node, observes it and stops it. Commands run on the library's worker
 * threads (exec.c), which call echo and put_ended. */
#include "cli/exec.h"
#include "base/clock.h"
#include "base/notify.h"
#include "base/sync.h"
#include "base/time_text.h"
#include "cli/work_metrics.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_MS = 1000,
    TICK_SHOWN_MS = 200,
    TICK_ONCE_MS = 20,
    STOP_SLACK_MS = 2000 /* for the rest of a run after its command was killed */
};

struct work {
    struct pawl__cli *cli;
    struct pawl__cli_exec exec;
    struct pawl__cli_exec_command *commands;
    const char **types; /* one for each command */
    size_t type_count;
    struct pawl_node_queue *queues;
    size_t queue_count;
    struct pawl_node_config config;
    struct pawl_drain drain;
    struct pawl__cli_metrics metrics;
    struct pawl_node_status status; /* as last read */
    enum pawl__log_format log_format;
    enum pawl__log_level log_level;
    bool shown;       /* a status line is drawn on the terminal */
    atomic_bool deaf; /* standard output cannot be written any more */
    atomic_int_least64_t given_back;
    int64_t failed;                /* runs; set when the node has stopped */
    struct pawl_counters counters; /* as last read */
    int64_t counted_us;
    double rate; /* runs a second */

    struct pawl__mutex mutex; /* of the streams */
    /* guarded by mutex: */
    bool drawn; /* the status line is on the terminal */
};

/* ---- the log ---- */

/* Erases the status line first. */
static void write_error(struct work *work, const struct pawl__buf *line)
{
    if (line->failed) return;
    pawl__lock(&work->mutex);
    if (work->drawn) fputs("\r\033[K", stderr);
    work->drawn = false;
    fwrite(line->at, 1, line->len, stderr);
    fflush(stderr);
    pawl__unlock(&work->mutex);
}

static bool is_logged(const struct work *work, enum pawl__log_level level)
{
    return !work->cli->quiet && level >= work->log_level;
}

/* Begins an entry of the node's log; end_entry writes it. */
static struct pawl__log_entry begin_entry(const struct work *work, struct pawl__buf *line,
                                          enum pawl__log_level level, struct pawl_span message)
{
    struct pawl__log_entry entry = { line, work->log_format };
    int64_t now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    pawl__log_entry_begin(&entry, level, now_ms, message.at, message.len);
    return entry;
}

static void end_entry(struct work *work, struct pawl__log_entry *entry)
{
    pawl__log_entry_end(entry);
    write_error(work, entry->out);
    pawl__buf_release(entry->out);
}

static void PAWL_PRINTF(3, 4)
    say(struct work *work, enum pawl__log_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    struct pawl__buf line = { 0 };
    if (!is_logged(work, level)) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct pawl__log_entry entry =
        begin_entry(work, &line, level, (struct pawl_span){ text, strlen(text) });
    end_entry(work, &entry);
}

/* A line that a command wrote. */
static void echo(void *ctx, const char *id, const char *at, size_t len)
{
    struct work *work = ctx;
    struct pawl__buf line = { 0 };
    if (!is_logged(work, PAWL__LOG_INFO)) return;
    struct pawl__log_entry entry =
        begin_entry(work, &line, PAWL__LOG_INFO, (struct pawl_span){ at, len });
    pawl__log_entry_text(&entry, "job_id", id);
    pawl__log_entry_text(&entry, "stream", "stderr");
    end_entry(work, &entry);
}

#define S struct pawl_job
static const struct pawl__member ran_members[] = {
    PAWL__MEMBER("id", ID, S, id),
    PAWL__MEMBER("type", NAME, S, type, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("queue", NAME, S, queue, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("attempt", INT64, S, attempt, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("max_attempts", INT32, S, attempts_max, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("run", INT64, S, run, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("free_runs", INT64, S, free_runs),
};
static const struct pawl__shape ran_shape = PAWL__SHAPE(S, ran_members);
#undef S

static void put_ended_json(struct work *work, const struct pawl__cli_ended *ended)
{
    struct pawl__buf line = { 0 };
    struct pawl__shape_writer writer = pawl__cli_writer(work->cli, &line);
    bool exited = WIFEXITED(ended->status);
    struct pawl__member how =
        PAWL__HERE_INT(exited ? "exit_status" : "signal",
                       exited ? WEXITSTATUS(ended->status) : WTERMSIG(ended->status));
    if (!ended->started) how.kind = PAWL__AS_NOTHING;
    PAWL__PRINT(&writer, PAWL__PART(&ran_shape, ended->job),
                PAWL__HERE_TEXT("outcome", pawl__cli_end_text(ended->end)), how,
                PAWL__SOME_TEXT("error", ended->message),
                PAWL__HERE_INT("duration_ms", ended->took_us / 1000));
    pawl__buf_add_text(&line, "\n");
    pawl__lock(&work->mutex);
    bool ok = !line.failed && fwrite(line.at, 1, line.len, stdout) == line.len;
    if (fflush(stdout) != 0 || !ok) atomic_store(&work->deaf, true);
    pawl__unlock(&work->mutex);
    pawl__buf_release(&line);
}

/* Logged only with --verbose. */
static bool is_expected(enum pawl__cli_end end)
{
    return end == PAWL__CLI_END_DONE || end == PAWL__CLI_END_CANCELLED ||
           end == PAWL__CLI_END_GIVEN_BACK;
}

static void log_ended(struct work *work, const struct pawl__cli_ended *ended)
{
    static const struct pawl_span message = { "run", 3 };
    bool expected = ended->started && is_expected(ended->end);
    enum pawl__log_level level = !ended->started ? PAWL__LOG_ERROR
                                 : expected      ? PAWL__LOG_INFO
                                                 : PAWL__LOG_WARNING;
    struct pawl__buf line = { 0 };
    if (!is_logged(work, level) || (expected && !work->exec.line)) return;
    struct pawl__log_entry entry = begin_entry(work, &line, level, message);
    pawl__log_entry_text(&entry, "job_id", ended->id);
    pawl__log_entry_text(&entry, "type", ended->job->type);
    pawl__log_entry_text(&entry, "queue", ended->job->queue);
    pawl__log_entry_text(&entry, "outcome", pawl__cli_end_text(ended->end));
    pawl__log_entry_int(&entry, "attempt", pawl__cli_tries(ended->job));
    pawl__log_entry_int(&entry, "max_attempts", ended->job->attempts_max);
    pawl__log_entry_ms(&entry, "duration_ms", ended->took_us);
    pawl__log_entry_text(&entry, "error", ended->message);
    end_entry(work, &entry);
}

static void put_ended(void *ctx, const struct pawl__cli_ended *ended)
{
    struct work *work = ctx;
    if (ended->end == PAWL__CLI_END_GIVEN_BACK) atomic_fetch_add(&work->given_back, 1);
    if (work->cli->json) put_ended_json(work, ended);
    log_ended(work, ended);
}

/* ---- status ---- */

static void draw(struct work *work, const struct pawl_counters *now)
{
    char text[128];
    int len = snprintf(text, sizeof text,
                       "%" PRId64 " running, %" PRId64 " done, %" PRId64 " failed, %.1f a second",
                       now->running, now->completed, now->failed, work->rate);
    size_t columns = work->cli->columns ? (size_t)work->cli->columns : 80;
    if (len < 0) return;
    pawl__lock(&work->mutex);
    fprintf(stderr, "\r\033[K%.*s", (int)pawl__cli_fit(text, (size_t)len, columns - 1), text);
    fflush(stderr);
    work->drawn = true;
    pawl__unlock(&work->mutex);
}

static void wipe(struct work *work)
{
    struct pawl__buf nothing = { .at = "" };
    write_error(work, &nothing);
}

static int64_t ended_of(const struct pawl_counters *counters)
{
    return counters->completed + counters->failed + counters->snoozed;
}

/* Counts over at least a second, so that the rate is readable. */
static void note_rate(struct work *work, const struct pawl_counters *now)
{
    int64_t now_us = pawl__clock_mono_us(&pawl__clock_system);
    int64_t passed_us = now_us - work->counted_us;
    if (passed_us < 1000000) return;
    work->rate = (double)(ended_of(now) - ended_of(&work->counters)) * 1e6 / (double)passed_us;
    work->counted_us = now_us;
    if (now->lapsed > work->counters.lapsed) {
        say(work, PAWL__LOG_WARNING,
            "leases expired: %" PRId64 "; their jobs were taken from workers without a heartbeat",
            now->lapsed - work->counters.lapsed);
    }
    if (now->stale > work->counters.stale) {
        say(work, PAWL__LOG_WARNING,
            "outcomes ignored: %" PRId64 "; they were reported after their lease",
            now->stale - work->counters.stale);
    }
    if (now->commits_failed > work->counters.commits_failed) {
        say(work, PAWL__LOG_ERROR, "transactions of the store failed: %" PRId64,
            now->commits_failed - work->counters.commits_failed);
    }
    if (now->wake_trouble && !work->counters.wake_trouble) {
        struct pawl_diag diag = { 0 };
        (void)!pawl_wake_check(work->cli->pawl, &diag);
        say(work, PAWL__LOG_WARNING,
            "wake-ups by other processes do not arrive, so the store is polled: %s", diag.text);
    } else if (!now->wake_trouble && work->counters.wake_trouble) {
        say(work, PAWL__LOG_INFO, "wake-ups by other processes arrive again");
    }
    work->counters = *now;
}

/* Logs changes of the node and its store. */
static void check_node(struct work *work)
{
    struct pawl_node_status now, before = work->status;
    pawl_node_status_get(work->cli->pawl, &now);
    work->status = now;
    if (now.store_lost && !before.store_lost)
        say(work, PAWL__LOG_ERROR, "the store is lost: %s", now.reason);
    if (before.store_lost && !now.store_lost) say(work, PAWL__LOG_INFO, "the store is back");
    if (strcmp(now.name, before.name) != 0)
        say(work, PAWL__LOG_INFO, "the node's name is now \"%s\"", now.name);
    if (now.fenced && !before.fenced)
        say(work, PAWL__LOG_ERROR, "the node is replaced: %s", now.reason);
}

static void observe(struct work *work)
{
    struct pawl_counters now;
    check_node(work);
    pawl_counters_get(work->cli->pawl, &now);
    note_rate(work, &now);
    if (work->shown) draw(work, &now);
}

/* ---- signals ---- */

static volatile sig_atomic_t signals;
static struct work *volatile signalled; /* the node to stop, or NULL */
static pthread_t main_thread;

/* The first signal stops the node. At the second, commands are killed and their jobs given back.
 * The third exits without waiting for the store. */
static void on_signal(int number)
{
    static const char text[] = "\npawl: exited at once; jobs that were running will run again\n";
    struct work *work = signalled;
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    signals = signals + 1;
    if (signals == 2 && work) {
        atomic_store(&work->exec.children.hurry, true);
        pawl_stop_hurry(work->cli->pawl);
    }
    if (signals < 3) return;
    if (work) {
        atomic_store(&work->exec.dying, true);
        pawl__cli_guardian_kill(&work->exec.children.guardian);
    }
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(PAWL__CLI_EXIT_INTERRUPTED);
}

/* Blocks the signals in all threads; the main thread receives them while it waits with the mask
 * `*listening`. */
static void take_signals(struct work *work, sigset_t *listening)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    main_thread = pthread_self();
    signalled = work;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&action.sa_mask, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, listening);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        // Ignored by nohup, or in a shell's background job: keep that.
        if (before.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
}

/* ---- idle? ---- */

static bool any(struct work *work, struct pawl_filter filter)
{
    struct pawl_jobs jobs = { 0 };
    const struct pawl_page one = { .limit = 1, .brief = true };
    filter.types = work->types;
    filter.type_count = work->type_count;
    enum pawl_err err = pawl_query(work->cli->pawl, &filter, &one, &jobs, NULL);
    bool found = err || jobs.count > 0; // after an error there may be some
    pawl_jobs_release(&jobs);
    return found;
}

/* Those of our queues that are not paused. */
struct queues {
    const char **names; /* room for all */
    size_t count;
    int64_t available;
    bool due; /* some job of the store */
};

static bool read_queues(struct work *work, struct queues *out)
{
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl_stats_get(work->cli->pawl, &stats, NULL);
    out->count = 0;
    out->available = 0;
    for (size_t i = 0; !err && i < work->queue_count; i++) {
        for (size_t j = 0; j < stats.queue_count; j++) {
            const struct pawl_queue_stats *queue = &stats.queues[j];
            if (strcmp(queue->queue, work->queues[i].name) != 0 || queue->paused) continue;
            out->names[out->count++] = work->queues[i].name;
            out->available += queue->count[PAWL_STATE_AVAILABLE];
        }
    }
    int64_t now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    out->due = stats.next_due_at_ms && stats.next_due_at_ms <= now_ms;
    pawl_stats_release(&stats);
    return !err;
}

/* Whether no job that this node could run is due, available or running here. The queries are in the
 * order in which jobs move, so that none is missed between two of them. */
static bool is_idle(struct work *work, struct queues *queues)
{
    struct pawl_counters before, after;
    pawl_counters_get(work->cli->pawl, &before);
    if (before.running || before.waiting || !read_queues(work, queues)) return false;
    struct pawl_filter filter = { .queues = queues->names, .queue_count = queues->count };
    if (queues->count && queues->due) {
        filter.states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE);
        filter.due_until_ms = pawl__clock_wall_ms(&pawl__clock_system) + 1;
        if (any(work, filter)) return false;
        filter.due_until_ms = 0;
    }
    filter.states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE);
    if (queues->available && any(work, filter)) return false;
    filter = (struct pawl_filter){ .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
                                   .worker = work->status.name };
    if (any(work, filter)) return false;
    pawl_counters_get(work->cli->pawl, &after);
    return after.claimed == before.claimed;
}

/* ---- options ---- */

static int read_commands(struct work *work)
{
    struct pawl__cli *cli = work->cli;
    const struct pawl__cli_values *values = &cli->values[PAWL__CLI_OPT_EXEC];
    if (!values->count) {
        pawl__cli_error("at least one --exec is required");
        pawl__cli_hint("name a command for each type: --exec mail.send=./send-mail.sh");
        return PAWL__CLI_EXIT_USAGE;
    }
    work->commands =
        pawl__cli_need(pawl__arena_calloc(&cli->arena, values->count, sizeof *work->commands));
    work->types =
        pawl__cli_need(pawl__arena_calloc(&cli->arena, values->count, sizeof(*work->types)));
    for (size_t i = 0; i < values->count; i++) {
        size_t len = strcspn(values->at[i], "=");
        const char *type = pawl__cli_need(pawl__arena_dup(&cli->arena, values->at[i], len));
        for (size_t j = 0; j < i; j++) {
            if (strcmp(work->types[j], type) != 0) continue;
            return pawl__cli_usage("\"--exec\": type \"%s\" has two commands", type);
        }
        work->types[i] = type;
        work->commands[i] =
            (struct pawl__cli_exec_command){ .exec = &work->exec, .text = values->at[i] + len + 1 };
    }
    work->type_count = values->count;
    return PAWL__CLI_EXIT_OK;
}

static int read_queue_options(struct work *work)
{
    static const char *usual = "default";
    struct pawl__cli *cli = work->cli;
    const struct pawl__cli_values *values = &cli->values[PAWL__CLI_OPT_W_QUEUE];
    work->queue_count = values->count ? values->count : 1;
    const char **at = values->count ? values->at : &usual;
    work->queues =
        pawl__cli_need(pawl__arena_calloc(&cli->arena, work->queue_count, sizeof *work->queues));
    for (size_t i = 0; i < work->queue_count; i++) {
        size_t len = strcspn(at[i], "=");
        int64_t most = 0;
        bool ok = !at[i][len] || pawl__cli_read_int(at[i] + len + 1, 1, INT32_MAX, &most);
        assert(ok); // the parser has checked it
        const char *name = pawl__cli_need(pawl__arena_dup(&cli->arena, at[i], len));
        for (size_t j = 0; j < i; j++) {
            if (strcmp(work->queues[j].name, name) != 0) continue;
            return pawl__cli_usage("\"--queue\": queue \"%s\" is named twice", name);
        }
        work->queues[i] = (struct pawl_node_queue){ .name = name, .concurrency = (int32_t)most };
    }
    return PAWL__CLI_EXIT_OK;
}

/* Checked before the store is opened, which may create it. */
static int check_name(const struct pawl__cli *cli)
{
    const char *name = pawl__cli_text(cli, PAWL__CLI_OPT_NAME);
    if (!name || strlen(name) <= PAWL_WORKER_BYTES_MAX) return PAWL__CLI_EXIT_OK;
    return pawl__cli_usage("\"--name\" may have %d bytes", PAWL_WORKER_BYTES_MAX);
}

/* A server counts the moves of its nodes itself. */
static int check_metrics(const struct pawl__cli *cli)
{
    if (!pawl__cli_has(cli, PAWL__CLI_OPT_METRICS) || !pawl__cli_is_remote(cli)) {
        return PAWL__CLI_EXIT_OK;
    }
    return pawl__cli_usage("\"--metrics\" needs a store; the server's /metrics include this node");
}

/* Zero would mean the default. */
static int64_t none_if_zero(int64_t ms)
{
    return ms ? ms : -1;
}

static int read_options(struct work *work)
{
    struct pawl__cli *cli = work->cli;
    int code = read_commands(work);
    if (!code) code = read_queue_options(work);
    if (!code) code = check_name(cli);
    if (!code) code = check_metrics(cli);
    if (code) return code;
    int64_t grace_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_GRACE);
    work->config = (struct pawl_node_config){
        .name = pawl__cli_text(cli, PAWL__CLI_OPT_NAME),
        .queues = work->queues,
        .queue_count = work->queue_count,
        .workers = (int32_t)pawl__cli_int(cli, PAWL__CLI_OPT_WORKERS),
        .lease_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_W_LEASE),
        .claim_bytes_max = pawl__cli_int(cli, PAWL__CLI_OPT_CLAIM_BYTES_MAX),
        .retention = pawl__cli_retention(cli),
    };
    work->drain = (struct pawl_drain){
        .finish_ms = none_if_zero(pawl__cli_duration(cli, PAWL__CLI_OPT_DRAIN)),
        .cancel_ms = grace_ms + STOP_SLACK_MS, // or commands being killed would count as lost
    };
    work->exec.cli = cli;
    work->exec.grace_ms = grace_ms;
    work->exec.line = pawl__cli_flag(cli, PAWL__CLI_OPT_VERBOSE) ? echo : NULL;
    work->exec.ended = put_ended;
    work->exec.ctx = work;
    work->log_format = pawl__cli_log_format(cli);
    work->log_level = pawl__cli_log_level(cli);
    work->shown = cli->err_tty && !cli->quiet && !(cli->json && cli->out_tty);
    return PAWL__CLI_EXIT_OK;
}

/* ---- from start to stop ---- */

static int start(struct work *work)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < work->type_count; i++) {
        err = pawl_handle(work->cli->pawl, work->types[i], pawl__cli_exec_run, &work->commands[i],
                          &diag);
    }
    if (!err) err = pawl_start(work->cli->pawl, &work->config, &diag);
    if (!err) return PAWL__CLI_EXIT_OK;
    int code = pawl__cli_fail(err, &diag);
    if (err == PAWL_ERR_HELD) pawl__cli_hint("stop that node, or choose another --name");
    return code;
}

static void say_hello(struct work *work)
{
    struct pawl__buf text = { 0 };
    pawl__buf_printf(&text, "node \"%s\" is up: ", work->status.name);
    for (size_t i = 0; i < work->queue_count; i++) {
        const struct pawl_node_queue *queue = &work->queues[i];
        pawl__buf_printf(&text, "%s%s",
                         i                       ? ", "
                         : work->queue_count > 1 ? "queues "
                                                 : "queue ",
                         queue->name);
        if (queue->concurrency) pawl__buf_printf(&text, "=%" PRId32, queue->concurrency);
    }
    for (size_t i = 0; i < work->type_count; i++) {
        pawl__buf_printf(&text, "%s%s", i ? ", " : "; runs ", work->types[i]);
    }
    if (!text.failed) say(work, PAWL__LOG_INFO, "%s", text.at);
    pawl__buf_release(&text);
    if (is_logged(work, PAWL__LOG_WARNING) && pawl__cli_script_is_old(work->cli)) {
        say(work, PAWL__LOG_WARNING,
            "the store's functions for SQL are out of date; run \"pawl migrate\"");
    }
}

/* Until a signal arrives, output fails, another node has the name or, with --once, it is idle. */
static void stay(struct work *work, const sigset_t *listening)
{
    struct pawl__cli *cli = work->cli;
    bool once = pawl__cli_flag(cli, PAWL__CLI_OPT_ONCE);
    struct queues queues = { .names = pawl__cli_need(pawl__arena_calloc(
                                 &cli->arena, work->queue_count, sizeof(*queues.names))) };
    int64_t tick_ms = once ? TICK_ONCE_MS : work->shown ? TICK_SHOWN_MS : TICK_MS;
    struct timespec tick = { .tv_sec = tick_ms / 1000, .tv_nsec = tick_ms % 1000 * 1000000 };
    while (!signals && !atomic_load(&work->deaf) && !work->status.fenced) {
        if (once && is_idle(work, &queues)) break;
        (void)ppoll(NULL, 0, &tick, listening);
        observe(work);
    }
}

static void stop(struct work *work)
{
    char finish[PAWL__DURATION_TEXT_BYTES];
    struct pawl_counters counters;
    atomic_store(&work->exec.stopping, true);
    pawl__notify("STOPPING=1");
    pawl_counters_get(work->cli->pawl, &counters);
    pawl__duration_text(work->drain.finish_ms > 0 ? work->drain.finish_ms : 0, finish);
    if (counters.running) {
        say(work, PAWL__LOG_INFO, "stopping: %" PRId64 " running, which may finish within %s",
            counters.running, finish);
    }
    pawl_stop(work->cli->pawl, &work->drain,
              NULL); // an error: some runs were late, but all have ended
    pawl_counters_get(work->cli->pawl, &counters);
    work->failed = counters.failed;
    wipe(work);
    say(work, PAWL__LOG_INFO,
        "node \"%s\" is down: %" PRId64 " done, %" PRId64 " failed, %" PRId64 " given back",
        work->status.name, counters.completed, counters.failed, atomic_load(&work->given_back));
}

static int run(struct work *work)
{
    sigset_t listening;
    int error = pawl__cli_exec_init(&work->exec);
    if (error) {
        pawl__cli_error("could not prepare to run commands: %s", strerror(error));
        return PAWL__CLI_EXIT_REFUSED;
    }
    int code = pawl__cli_open(work->cli);
    if (code) return code;
    take_signals(work, &listening);
    code = pawl__cli_metrics_open(work->cli, &work->metrics);
    if (!code) code = start(work);
    if (code) return code;
    work->counted_us = pawl__clock_mono_us(&pawl__clock_system);
    pawl_node_status_get(work->cli->pawl, &work->status);
    say_hello(work);
    const char *url = pawl__cli_metrics_url(&work->metrics);
    if (url) say(work, PAWL__LOG_INFO, "metrics are at %s/metrics", url);
    pawl__notify("READY=1");
    stay(work, &listening);
    pthread_sigmask(SIG_SETMASK, &listening, NULL); // further signals: see on_signal
    stop(work);
    if (work->status.fenced) return PAWL__CLI_EXIT_REFUSED;
    if (atomic_load(&work->deaf)) {
        pawl__cli_error("could not write the output");
        return PAWL__CLI_EXIT_REFUSED;
    }
    if (!work->failed || !pawl__cli_flag(work->cli, PAWL__CLI_OPT_ONCE)) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("%" PRId64 " run%s failed", work->failed, work->failed == 1 ? "" : "s");
    return PAWL__CLI_EXIT_REFUSED;
}

int pawl__cli_work(struct pawl__cli *cli)
{
    struct work *work = pawl__cli_need(calloc(1, sizeof *work));
    work->cli = cli;
    pawl__mutex_init(&work->mutex);
    int code = read_options(work);
    if (!code) code = run(work);
    signalled = NULL;
    pawl__cli_metrics_close(&work->metrics);
    pawl_close(cli->pawl); // until then, handlers point to `work`
    cli->pawl = NULL;
    pawl__cli_exec_release(&work->exec);
    pawl__mutex_release(&work->mutex);
    free(work);
    return code;
}
