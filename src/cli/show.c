/* pawl show: a job's full history. */
#include "cli/cli.h"
#include "base/json.h"
#include "base/time_text.h"
#include "fields/fields.h"

#include <inttypes.h>

static const char *level_text(int32_t level)
{
    static const char *const levels[] = { "debug", "info", "warning", "error" };
    return level >= 0 && level < 4 ? levels[level] : "log";
}

/* ---- the timeline ---- */

struct moment {
    int64_t at_ms;
    size_t order; /* of arrival: moments of one instant stay in it */
    const char *text;
};

struct timeline {
    struct pawl__cli *cli;
    const struct pawl_story *story;
    struct moment *at;
    size_t count;
};

static void add(struct timeline *line, int64_t at_ms, struct pawl__buf *text)
{
    if (text->failed) pawl__cli_nomem();
    if (at_ms) {
        line->at[line->count] = (struct moment){ at_ms, line->count,
                                                 pawl__cli_need(pawl__arena_dup(
                                                     &line->cli->arena, text->at, text->len)) };
        line->count++;
    }
    pawl__buf_clear(text);
}

/* If runs were given back, runs are numbered: the store does not keep which attempt each was. */
static void put_number(const struct timeline *line, struct pawl__buf *text, int64_t attempt,
                       int64_t run)
{
    bool some_free = line->story->job.free_runs > 0;
    pawl__buf_printf(text, "%s %" PRId64, some_free ? "run" : "attempt", some_free ? run : attempt);
}

static void add_start(struct timeline *line, struct pawl__buf *text, const char *worker,
                      int64_t at_ms)
{
    pawl__buf_add_text(text, " started");
    pawl__cli_put_text(text, " by ", worker);
    add(line, at_ms, text);
}

static void add_failure(struct timeline *line, struct pawl__buf *text,
                        const struct pawl_failure *failure)
{
    char wait[PAWL__DURATION_TEXT_BYTES];
    put_number(line, text, failure->attempt, failure->run);
    add_start(line, text, failure->worker, failure->started_at_ms);
    put_number(line, text, failure->attempt, failure->run);
    pawl__buf_add_text(text, failure->lapsed ? " was lost: its lease ran out" : " failed");
    pawl__cli_put_text(text, ": ", failure->type);
    if (strcmp(failure->code, failure->type) != 0)
        pawl__cli_put_text(text, ", code ", failure->code);
    pawl__cli_put_text(text, ": ", failure->message);
    if (failure->retry_delay_ms >= 0) {
        pawl__duration_text(failure->retry_delay_ms, wait);
        pawl__buf_printf(text, "; next try after %s", wait);
    } else {
        pawl__buf_add_text(text, "; no further try");
    }
    add(line, failure->failed_at_ms, text);
}

/* What an operator did. */
static void add_audit(struct timeline *line, struct pawl__buf *text,
                      const struct pawl_audit_entry *entry)
{
    pawl__cli_put_text(text, "", entry->action);
    pawl__cli_put_text(text, " by ", entry->actor);
    if (entry->from != entry->to && entry->to != PAWL_STATE_NONE) {
        pawl__buf_printf(text, ": %s to %s", pawl__cli_state_text(line->cli, entry->from),
                         pawl__cli_state_text(line->cli, entry->to));
    }
    pawl__cli_put_text(text, ", because: ", entry->reason);
    add(line, entry->at_ms, text);
}

/* The newest run, unless it is among the failures. */
static void add_run(struct timeline *line, struct pawl__buf *text)
{
    const struct pawl_job *job = &line->story->job;
    for (size_t i = 0; i < line->story->failure_count; i++) {
        if (line->story->failures[i].run == job->run) return;
    }
    if (!job->run) return;
    put_number(line, text, job->attempt, job->run);
    add_start(line, text, job->worker, job->started_at_ms);
}

static int earlier(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at_ms != y->at_ms) return x->at_ms < y->at_ms ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void gather(struct timeline *line)
{
    const struct pawl_story *story = line->story;
    const struct pawl_job *job = &story->job;
    struct pawl__buf text = { 0 };
    size_t most = 5 + 2 * story->failure_count + story->audit_count;
    line->at = pawl__cli_need(pawl__arena_calloc(&line->cli->arena, most, sizeof *line->at));
    pawl__buf_add_text(&text, "created");
    pawl__cli_put_text(&text, " for ", job->principal);
    add(line, job->created_at_ms, &text);
    for (size_t i = 0; i < story->failure_count; i++) {
        add_failure(line, &text, &story->failures[i]);
    }
    for (size_t i = 0; i < story->audit_count; i++) {
        add_audit(line, &text, &story->audit[i]);
    }
    add_run(line, &text);
    pawl__buf_add_text(&text, pawl__cli_state_text(line->cli, job->state));
    pawl__cli_put_text(&text, ": ", job->reason);
    add(line, job->finished_at_ms, &text);
    bool waits = !job->finished_at_ms && job->due_at_ms > job->created_at_ms;
    pawl__buf_add_text(&text, job->due_at_ms > line->cli->now_ms ? "will be due" : "due");
    add(line, waits ? job->due_at_ms : 0, &text);
    bool expires = !job->finished_at_ms && job->state != PAWL_STATE_ACTIVE;
    pawl__buf_add_text(&text, "expires unless it has started");
    add(line, expires ? job->expires_at_ms : 0, &text);
    pawl__buf_release(&text);
    qsort(line->at, line->count, sizeof *line->at, earlier);
}

static void put_timeline(struct pawl__cli *cli, const struct pawl_story *story)
{
    struct timeline line = { .cli = cli, .story = story };
    gather(&line);
    pawl__cli_put_title(cli, "Timeline");
    for (size_t i = 0; i < line.count; i++) {
        pawl__buf_add_text(&cli->out, "  ");
        pawl__cli_put_instant(&cli->out, line.at[i].at_ms);
        pawl__buf_printf(&cli->out, "  %s %s(", line.at[i].text, pawl__cli_dim(cli));
        pawl__cli_put_when(&cli->out, line.at[i].at_ms, cli->now_ms);
        pawl__buf_printf(&cli->out, ")%s\n", pawl__cli_plain(cli));
    }
}

/* ---- the header ---- */

static void put_state(struct pawl__cli *cli, const struct pawl_job *job)
{
    pawl__cli_put_label(cli, "state");
    pawl__buf_printf(&cli->out, "%s%s%s", pawl__cli_state_colour(cli, job->state),
                     pawl__cli_state_text(cli, job->state), pawl__cli_plain(cli));
    if (job->paused_from != PAWL_STATE_NONE) {
        pawl__buf_printf(&cli->out, ", was %s", pawl__cli_state_text(cli, job->paused_from));
    }
    if (job->dead_letter) pawl__buf_add_text(&cli->out, ", a dead letter");
    if (job->archived) pawl__buf_add_text(&cli->out, ", archived");
    pawl__buf_add_text(&cli->out, "\n");
    pawl__cli_put_label(cli, "attempt");
    pawl__buf_printf(&cli->out, "%" PRId64 " of %" PRId32 "\n", pawl__cli_tries(job),
                     job->attempts_max);
    if (job->free_runs) {
        pawl__cli_put_label(cli, "run");
        pawl__buf_printf(&cli->out, "%" PRId64 "; %" PRId64 " of them cost no attempt\n", job->run,
                         job->free_runs);
    }
    pawl__cli_put_label(cli, "priority");
    pawl__buf_printf(&cli->out, "%" PRId32 "\n", job->priority);
}

/* Unknown members of the submitted object. The policies as they were written are left out, since
 * the header shows what was read from them. */
static void put_extra(struct pawl__cli *cli, struct pawl_span extra)
{
    struct pawl__json json;
    struct pawl__buf rest = { 0 };
    if (!extra.len || pawl__json_parse(extra, PAWL_JSON_DEPTH_MAX, &cli->arena, &json, NULL))
        return;
    uint32_t name = pawl__json_first(0);
    for (uint32_t i = 0; i < json.tokens[0].count; i++, name = json.tokens[name + 1].next) {
        struct pawl_span text = pawl__json_span(&json, name);
        struct pawl_span value = pawl__json_span(&json, name + 1);
        if (strncmp(text.at, "\"retry\"", text.len) == 0) continue;
        if (strncmp(text.at, "\"unique\"", text.len) == 0) continue;
        if (strncmp(text.at, "\"on_success\"", text.len) == 0) continue;
        if (strncmp(text.at, "\"on_failure\"", text.len) == 0) continue;
        pawl__buf_add_text(&rest, rest.len ? "," : "{");
        pawl__buf_add(&rest, text.at, text.len);
        pawl__buf_add_text(&rest, ":");
        pawl__buf_add(&rest, value.at, value.len);
    }
    if (rest.len) pawl__buf_add_text(&rest, "}");
    if (rest.failed) pawl__cli_nomem();
    pawl__cli_put_fact(cli, "extra", PAWL__AS_JSON, &(struct pawl_span){ rest.at, rest.len });
    pawl__buf_release(&rest);
}

/* The label of a field; by default its name in JSON. "": another function shows it, or none. */
static const char *label_of(size_t field)
{
    static const char *const labels[PAWL__JOB_END] = {
        [PAWL__JOB_expires_at_ms] = "",
        [PAWL__JOB_timeout_ms] = "timeout",
        [PAWL__JOB_lease_ms] = "lease",
        [PAWL__JOB_sla_soft_at_ms] = "wanted by",
        [PAWL__JOB_sla_hard_at_ms] = "needed by",
        [PAWL__JOB_keep_ms] = "kept for",
        [PAWL__JOB_extra] = "",
        [PAWL__JOB_idempotency_key] = "key",
        [PAWL__JOB_business_key] = "business key",
        [PAWL__JOB_trace_id] = "trace",
        [PAWL__JOB_on_success] = "on success",
        [PAWL__JOB_on_failure] = "on failure",
    };
    return labels[field] ? labels[field] : pawl__job_names[field];
}

#define FACT(label, kind, member) pawl__cli_put_fact(cli, label, PAWL__AS_##kind, &job->member)
#define FACT_TEXT(label, member) FACT(label, NAME, member)
#define FACT_JSON(label, member) FACT(label, JSON, member)
#define FACT_MS(label, member) FACT(label, DURATION, member)
#define FACT_AT(label, member) FACT(label, INSTANT, member)
#define FACT_BITS(label, member) FACT(label, INT32, member)

static void put_header(struct pawl__cli *cli, const struct pawl_job *job)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    pawl__buf_printf(&cli->out, "%sJob %s%s\n", pawl__cli_bold(cli), id, pawl__cli_plain(cli));
    FACT_TEXT("type", type);
    FACT_TEXT("queue", queue);
    put_state(cli, job);
    FACT_TEXT("hold", hold);
    FACT_TEXT("reason", reason);
    FACT_TEXT("worker", worker);
    FACT_AT("lease until", lease_until_ms);
#define X(member, column, kind, ...)                                                               \
    if (*label_of(PAWL__JOB_##member)) FACT_##kind(label_of(PAWL__JOB_##member), member);
    PAWL__JOB_EXTRAS(X)
#undef X
    put_extra(cli, job->extra);
}

/* ---- the rest ---- */

static void put_payload(struct pawl__cli *cli, const char *title, struct pawl_span span)
{
    if (!span.len) return;
    if (title) pawl__cli_put_title(cli, title);
    pawl__buf_add_text(&cli->out, "  ");
    pawl__cli_put_long(cli, span);
    pawl__buf_add_text(&cli->out, "\n");
}

static void put_progress(struct pawl__cli *cli, const struct pawl_story *story)
{
    if (story->progress < 0) return;
    pawl__cli_put_title(cli, "Progress");
    pawl__buf_printf(&cli->out, "  %.0f%%", story->progress * 100);
    pawl__cli_put_text(&cli->out, ": ", story->progress_message);
    if (story->progress_at_ms) {
        pawl__buf_add_text(&cli->out, " (");
        pawl__cli_put_when(&cli->out, story->progress_at_ms, cli->now_ms);
        pawl__buf_add_text(&cli->out, ")");
    }
    pawl__buf_add_text(&cli->out, "\n");
    put_payload(cli, NULL, story->progress_data);
}

static void put_checkpoint(struct pawl__cli *cli, const struct pawl_story *story)
{
    if (!story->checkpoint_sequence) return;
    pawl__cli_put_title(cli, "Checkpoint");
    pawl__buf_printf(&cli->out, "  number %" PRId64 ", ", story->checkpoint_sequence);
    pawl__cli_put_instant(&cli->out, story->checkpoint_at_ms);
    pawl__buf_add_text(&cli->out, "\n");
    put_payload(cli, NULL, story->checkpoint);
}

static void put_log(struct pawl__cli *cli, const struct pawl_story *story)
{
    int64_t next = 1;
    if (story->log_count) pawl__cli_put_title(cli, "Log");
    for (size_t i = 0; i < story->log_count; i++) {
        const struct pawl_log_line *line = &story->log[i];
        if (line->number > next) {
            pawl__buf_printf(&cli->out, "  (%" PRId64 " lines left out)\n", line->number - next);
        }
        next = line->number + 1;
        pawl__buf_add_text(&cli->out, "  ");
        pawl__cli_put_instant(&cli->out, line->at_ms);
        pawl__buf_printf(&cli->out, "  %-7s  ", level_text(line->level));
        pawl__cli_put_text(&cli->out, "", line->text);
        pawl__buf_add_text(&cli->out, "\n");
    }
}

static void put_story(struct pawl__cli *cli, const struct pawl_story *story)
{
    put_header(cli, &story->job);
    put_timeline(cli, story);
    put_payload(cli, "Arguments", story->job.args);
    put_payload(cli, "Result", story->job.result);
    put_progress(cli, story);
    put_checkpoint(cli, story);
    put_log(cli, story);
}

/* ---- JSON ---- */

static void print_level(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                        const void *base)
{
    const struct pawl_log_line *line = base;
    const char *text = level_text(line->level);
    pawl__buf_add_json(writer->out, text, strlen(text));
}

#define ALWAYS .flags = PAWL__ALWAYS

#define S struct pawl_failure
static const struct pawl__member failure_members[] = {
    PAWL__MEMBER("run", INT64, S, run, ALWAYS),
    PAWL__MEMBER("attempt", INT64, S, attempt, ALWAYS),
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),
    PAWL__MEMBER("failed_at", INSTANT, S, failed_at_ms),
    PAWL__MEMBER("retry_delay_ms", INT64, S, retry_delay_ms, .flags = PAWL__NEGATIVE),
    PAWL__MEMBER("lapsed", BOOL, S, lapsed, ALWAYS),
    PAWL__MEMBER("worker", NAME, S, worker),
    PAWL__WHOLE("", PART, .shape = &pawl__cli_error_shape),
};
static const struct pawl__shape failure_shape = PAWL__SHAPE(S, failure_members);
#undef S

#define S struct pawl_audit_entry
static const struct pawl__member audit_members[] = {
    PAWL__MEMBER("at", INSTANT, S, at_ms), PAWL__MEMBER("action", NAME, S, action, ALWAYS),
    PAWL__MEMBER("actor", NAME, S, actor), PAWL__MEMBER("reason", NAME, S, reason),
    PAWL__CLI_STATE("from", S, from),      PAWL__CLI_STATE("to", S, to),
};
static const struct pawl__shape audit_shape = PAWL__SHAPE(S, audit_members);
#undef S

#define S struct pawl_log_line
static const struct pawl__member line_members[] = {
    PAWL__MEMBER("line", INT64, S, number, ALWAYS),
    PAWL__MEMBER("at", INSTANT, S, at_ms),
    PAWL__MEMBER("run", INT64, S, run, ALWAYS),
    PAWL__MEMBER("level", OWN, S, level, .print = print_level),
    PAWL__MEMBER("text", NAME, S, text, ALWAYS),
};
static const struct pawl__shape line_shape = PAWL__SHAPE(S, line_members);
#undef S

#define S struct pawl_story
static const struct pawl__member progress_members[] = {
    PAWL__MEMBER("value", REAL, S, progress, .flags = PAWL__NEGATIVE, .extent = 6),
    PAWL__MEMBER("message", NAME, S, progress_message),
    PAWL__MEMBER("data", JSON, S, progress_data),
    PAWL__MEMBER("at", INSTANT, S, progress_at_ms),
};
static const struct pawl__shape progress_shape = PAWL__SHAPE(S, progress_members);
static const struct pawl__member checkpoint_members[] = {
    PAWL__MEMBER("sequence", INT64, S, checkpoint_sequence),
    PAWL__MEMBER("at", INSTANT, S, checkpoint_at_ms),
    PAWL__MEMBER("state", JSON, S, checkpoint),
};
static const struct pawl__shape checkpoint_shape = PAWL__SHAPE(S, checkpoint_members);

#define LIST(text, member, counter, of)                                                            \
    PAWL__MEMBER(text, MANY, S, member, PAWL__COUNTED(S, counter), .shape = &of, ALWAYS)
static const struct pawl__member story_members[] = {
    PAWL__MEMBER("", PART, S, job, .shape = &pawl__cli_job_shape),
    LIST("failures", failures, failure_count, failure_shape),
    LIST("deeds", audit, audit_count, audit_shape),
    LIST("log", log, log_count, line_shape),
    PAWL__WHOLE("progress", ONE, .shape = &progress_shape),
    PAWL__WHOLE("checkpoint", ONE, .shape = &checkpoint_shape),
};
static const struct pawl__shape story_shape = PAWL__SHAPE(S, story_members);
#undef S

static int show(struct pawl__cli *cli, struct pawl_job_id id, void *ctx)
{
    bool *some = ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_story story = { 0 };
    enum pawl_err err = pawl_story_get(cli->pawl, id, &story, &diag);
    if (!err && cli->json) {
        pawl__cli_put_json(cli, &story_shape, &story);
    } else if (!err) {
        if (*some) pawl__buf_add_text(&cli->out, "\n\n");
        put_story(cli, &story);
        *some = true;
    }
    pawl_story_release(&story);
    return err ? pawl__cli_fail(err, &diag) : PAWL__CLI_EXIT_OK;
}

int pawl__cli_show(struct pawl__cli *cli)
{
    bool some = false;
    return pawl__cli_each_id(cli, cli->operands.count, show, &some);
}
