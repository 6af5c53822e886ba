/* Reads but for queries, over a backend's statements. */
#include "store/sql/read.h"

#include "base/diag.h"
#include "store/core/fields.h"
#include "store/core/refuse.h"
#include "store/shown.h"

#include <string.h>

/* ---- one read ---- */

static enum pawl_err read_once(struct pawl__reader reader, pawl__read_fn *fn, void *out)
{
    enum pawl_err err = reader.reads->begin(&reader);
    if (err) return err;
    err = fn(&reader, out);
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__read_with(struct pawl__reader reader, pawl__read_fn *fn, void *out)
{
    reader.reads = ((const struct pawl__sql_base *)reader.backend)->reads;
    enum pawl_err err = read_once(reader, fn, out);
    bool again = reader.reads->again && !reader.inside;
    return err == PAWL_ERR_IO && again ? read_once(reader, fn, out) : err;
}

static enum pawl_err ask(struct pawl__reader *reader, int slot, enum pawl__read what)
{
    return reader->reads->ask(reader, slot, what, NULL);
}

/* ---- rows ---- */

/* The columns of a statement's rows, in order, and the struct that they become. */
struct shape {
    const struct pawl__field *fields;
    size_t count, bytes;
};

#define SHAPE(row, ...)                                                                            \
    {                                                                                              \
        .fields = (const struct pawl__field[]){ __VA_ARGS__ },                                     \
        .count = sizeof(struct pawl__field[]){ __VA_ARGS__ } / sizeof(struct pawl__field),         \
        .bytes = sizeof(row)                                                                       \
    }
/* A member of ROW, and how it is stored. */
#define F(member, kind) PAWL__FIELD(ROW, member, member, kind)

static enum pawl_err read_row(struct pawl__reader *reader, int slot, const struct shape *shape,
                              void *out)
{
    enum pawl_err err = reader->reads->row(reader, slot, 0, shape->fields, shape->count, out);
    return err ? pawl__fail_nomem(reader->diag) : PAWL_OK;
}

/* The next row of a slot, if there is one. */
static enum pawl_err next_row(struct pawl__reader *reader, int slot, const struct shape *shape,
                              void *out, bool *found)
{
    enum pawl_err err = reader->reads->next(reader, slot, found);
    return err || !*found ? err : read_row(reader, slot, shape, out);
}

/* Room for one more in an array that lives in an arena and doubles. */
static void *grow(struct pawl__arena *arena, void *array, size_t count, size_t bytes)
{
    if (count & (count - 1)) return array; // full only at powers of two
    void *grown = pawl__arena_calloc(arena, count ? count * 2 : 1, bytes);
    if (grown && array) memcpy(grown, array, count * bytes);
    return grown;
}

enum pawl_err pawl__read_number(struct pawl__reader *reader, int slot, int64_t *out)
{
    static const struct pawl__field number = { "number", PAWL__KIND_I64, 0 };
    static const struct shape shape = { &number, 1, sizeof *out };
    bool found;
    return next_row(reader, slot, &shape, out, &found);
}

struct list {
    void *at;
    size_t count;
};

/* All rows of a slot. */
static enum pawl_err read_list(struct pawl__reader *reader, int slot, const struct shape *shape,
                               struct list *out)
{
    *out = (struct list){ 0 };
    for (;;) {
        bool found;
        enum pawl_err err = reader->reads->next(reader, slot, &found);
        if (err || !found) return err;
        out->at = grow(reader->arena, out->at, out->count, shape->bytes);
        if (!out->at) return pawl__fail_nomem(reader->diag);
        err = read_row(reader, slot, shape, (char *)out->at + out->count * shape->bytes);
        if (err) return err;
        out->count++;
    }
}

enum pawl_err pawl__read_records(struct pawl__reader *reader, int slot, enum pawl__table table,
                                 void **at, size_t *count)
{
    const struct pawl__set_table *of = &pawl__set_tables[table];
    const struct shape shape = { of->fields, of->count, of->bytes };
    struct list list;
    enum pawl_err err = read_list(reader, slot, &shape, &list);
    *at = list.at;
    *count = list.count;
    return err;
}

/* ---- jobs ---- */

static enum pawl_err read_jobs(struct pawl__reader *reader, void *out)
{
    struct list *jobs = out;
    jobs->count = 0;
    reader->reads->ask_jobs(reader);
    enum pawl_err err = reader->reads->run(reader);
    while (!err && jobs->count < reader->id_count) {
        bool found;
        err = reader->reads->next_job(reader, (struct pawl_job *)jobs->at + jobs->count, &found);
        if (err || !found) break;
        jobs->count++;
    }
    return err;
}

enum pawl_err pawl__read_get(struct pawl__backend *backend, const struct pawl_job_id *ids,
                             size_t count, struct pawl__arena *arena, struct pawl_job **out,
                             size_t *out_count, struct pawl_diag *diag)
{
    struct list jobs = { .at = pawl__arena_calloc(arena, count ? count : 1, sizeof **out) };
    *out = jobs.at;
    *out_count = 0;
    if (!jobs.at) return pawl__fail_nomem(diag);
    struct pawl__reader reader = {
        .backend = backend, .arena = arena, .diag = diag, .ids = ids, .id_count = count
    };
    enum pawl_err err = pawl__read_with(reader, read_jobs, &jobs);
    *out_count = jobs.count;
    return err;
}

/* ---- a job's story: what these statements take is the job's id ---- */

#define ROW struct pawl_failure
static const struct shape failure_shape =
    SHAPE(ROW, F(run, I64), F(attempt, I64), F(lapsed, BOOL), F(started_at_ms, AT),
          F(failed_at_ms, TIME), F(retry_delay_ms, I64), F(worker, TEXT), F(type, TEXT),
          F(code, TEXT), F(message, TEXT), F(details, JSON));
#undef ROW
#define ROW struct pawl_log_line
static const struct shape log_shape =
    SHAPE(ROW, F(number, I64), F(at_ms, TIME), F(run, I64), F(level, I32), F(text, TEXT));
#undef ROW
#define ROW struct pawl_audit_entry
static const struct shape audit_shape = SHAPE(ROW, F(at_ms, TIME), F(action, TEXT), F(actor, TEXT),
                                              F(reason, TEXT), F(from, SOME_STATE),
                                              F(to, SOME_STATE));
#undef ROW

struct progress {
    int64_t run, at_ms;
    double value; /* -1: none */
    const char *message;
    struct pawl_span data;
};

#define ROW struct progress
static const struct shape progress_shape =
    SHAPE(ROW, F(run, I64), F(at_ms, TIME), F(value, REAL), F(message, TEXT), F(data, JSON));
#undef ROW
#define ROW struct pawl_story
static const struct shape checkpoint_shape =
    SHAPE(ROW, F(checkpoint_sequence, I64), F(checkpoint_at_ms, TIME), F(checkpoint, JSON));
#undef ROW

enum { FAILURES, LOG, AUDIT, PROGRESS, CHECKPOINT, PARTS };
_Static_assert((int)PARTS <= (int)PAWL__READ_JOBS, "the last slot is the job's");

struct story_read {
    struct pawl__value job;       /* what the statements take */
    struct pawl__value id;        /* but for the audit, which outlives the job */
    const struct pawl_job *known; /* NULL: it is to be read */
    struct pawl_story *story;
};

static enum pawl_err ask_story(struct pawl__reader *reader, const struct story_read *read)
{
    static const enum pawl__read parts[PARTS] = { [FAILURES] = PAWL__READ_STORY_FAILURES,
                                                  [LOG] = PAWL__READ_STORY_LOG,
                                                  [AUDIT] = PAWL__READ_STORY_AUDIT,
                                                  [PROGRESS] = PAWL__READ_STORY_PROGRESS,
                                                  [CHECKPOINT] = PAWL__READ_STORY_CHECKPOINT };
    enum pawl_err err = PAWL_OK;
    if (!read->known) reader->reads->ask_jobs(reader);
    for (int i = 0; !err && i < PARTS; i++) {
        err = reader->reads->ask(reader, i, parts[i], i == AUDIT ? &read->id : &read->job);
    }
    return err ? err : reader->reads->run(reader);
}

static enum pawl_err read_progress(struct pawl__reader *reader, struct pawl_story *story)
{
    struct progress newest;
    bool found;
    enum pawl_err err = next_row(reader, PROGRESS, &progress_shape, &newest, &found);
    if (err || !found || !pawl__progress_shows(&story->job, newest.run)) return err;
    story->progress = newest.value;
    story->progress_at_ms = newest.at_ms;
    story->progress_message = newest.message;
    story->progress_data = newest.data;
    return PAWL_OK;
}

static enum pawl_err read_parts(struct pawl__reader *reader, struct pawl_story *story)
{
    struct list failures, log, audit;
    bool found;
    enum pawl_err err = read_list(reader, FAILURES, &failure_shape, &failures);
    if (!err) err = read_list(reader, LOG, &log_shape, &log);
    if (!err) err = read_list(reader, AUDIT, &audit_shape, &audit);
    if (!err) err = read_progress(reader, story);
    if (!err) err = next_row(reader, CHECKPOINT, &checkpoint_shape, story, &found);
    if (err) return err;
    story->failures = failures.at;
    story->failure_count = failures.count;
    story->log = log.at;
    story->log_count = log.count;
    story->audit = audit.at;
    story->audit_count = audit.count;
    return PAWL_OK;
}

static enum pawl_err read_story(struct pawl__reader *reader, void *out)
{
    const struct story_read *read = out;
    struct pawl_story *story = read->story;
    *story = (struct pawl_story){ .progress = -1,
                                  .progress_message = "",
                                  .progress_data = { "", 0 },
                                  .checkpoint = { "", 0 },
                                  .owned = story->owned };
    bool found = true;
    enum pawl_err err = ask_story(reader, read);
    if (read->known) {
        story->job = *read->known;
    } else if (!err) {
        err = reader->reads->next_job(reader, &story->job, &found);
    }
    if (err) return err;
    return found ? read_parts(reader, story) : pawl__fail_unknown(reader->diag, read->id.id);
}

enum pawl_err pawl__read_story(struct pawl__backend *backend, struct pawl_job_id id,
                               const struct pawl_job *known, struct pawl__arena *arena,
                               struct pawl_story *out, struct pawl_diag *diag)
{
    struct story_read read = { .job = { PAWL__VALUE_JOB, .id = id },
                               .id = { PAWL__VALUE_ID, .id = id },
                               .known = known,
                               .story = out };
    struct pawl__reader reader = {
        .backend = backend, .arena = arena, .diag = diag, .ids = &read.id.id, .id_count = 1
    };
    return pawl__read_with(reader, read_story, &read);
}

/* ---- statistics ---- */

/* Jobs of a queue in one state, in order of queue. A queue without jobs has one row, with NULL for
 * the state and the number. */
struct count {
    const char *queue;
    bool paused;
    enum pawl_state state; /* NONE: archived */
    int64_t n;
    int64_t created_at_ms;
    bool forgotten; /* an operator deleted it */
};

#define ROW struct count
static const struct shape count_shape = SHAPE(ROW, F(queue, TEXT), F(paused, BOOL),
                                              F(state, SOME_STATE), F(n, I64),
                                              F(created_at_ms, TIME), F(forgotten, BOOL));
#undef ROW

static bool add_queue(struct pawl_stats *stats, const struct count *row, struct pawl__arena *arena)
{
    struct pawl_queue_stats *list = grow(arena, stats->queues, stats->queue_count, sizeof *list);
    if (!list) return false;
    stats->queues = list;
    list[stats->queue_count++] = (struct pawl_queue_stats){ .queue = row->queue,
                                                            .paused = row->paused,
                                                            .created_at_ms = row->created_at_ms };
    return true;
}

static void add_count(struct pawl_stats *stats, const struct count *row)
{
    struct pawl_queue_stats *last = &stats->queues[stats->queue_count - 1];
    if (row->state == PAWL_STATE_NONE) {
        last->archived += row->n;
        stats->archived += row->n;
    } else if (row->state < PAWL_STATE_END) {
        last->count[row->state] += row->n;
        stats->count[row->state] += row->n;
    }
}

/* The rows of a queue follow each other; at its last one it is known whether it is listed. */
static enum pawl_err read_counts(struct pawl__reader *reader, int slot, struct pawl_stats *stats)
{
    struct count row = { .queue = NULL };
    for (;;) {
        struct count before = row;
        bool found;
        enum pawl_err err = next_row(reader, slot, &count_shape, &row, &found);
        if (err) return err;
        bool same = found && before.queue && strcmp(before.queue, row.queue) == 0;
        if (!same && before.queue &&
            !pawl__queue_is_listed(&stats->queues[stats->queue_count - 1], before.forgotten)) {
            stats->queue_count--;
        }
        if (!found) return PAWL_OK;
        if (!same && !add_queue(stats, &row, reader->arena)) return pawl__fail_nomem(reader->diag);
        add_count(stats, &row);
    }
}

static enum pawl_err count_rows(struct pawl__reader *reader, int slot, int32_t *out)
{
    bool found;
    enum pawl_err err;
    while (!(err = reader->reads->next(reader, slot, &found)) && found) {
        ++*out;
    }
    return err;
}

static enum pawl_err read_stats(struct pawl__reader *reader, void *out)
{
    enum { COUNTS, DUE, BYTES, MIGRATIONS };
    struct pawl_stats *stats = out;
    *stats = (struct pawl_stats){ .owned = stats->owned };
    enum pawl_err err = ask(reader, COUNTS, PAWL__READ_STATS_COUNTS);
    if (!err) err = ask(reader, DUE, PAWL__READ_JOB_NEXT_DUE);
    if (!err) err = ask(reader, BYTES, PAWL__READ_STATS_BYTES);
    if (!err) err = ask(reader, MIGRATIONS, PAWL__READ_MIGRATION_ALL);
    if (!err) err = reader->reads->run(reader);
    if (!err) err = read_counts(reader, COUNTS, stats);
    if (!err) err = pawl__read_number(reader, DUE, &stats->next_due_at_ms);
    if (!err) err = pawl__read_number(reader, BYTES, &stats->store_bytes);
    return err ? err : count_rows(reader, MIGRATIONS, &stats->schema_version);
}

enum pawl_err pawl__read_stats(struct pawl__backend *backend, struct pawl__arena *arena,
                               struct pawl_stats *out, struct pawl_diag *diag)
{
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag };
    return pawl__read_with(reader, read_stats, out);
}

/* ---- nodes, locks, what programs keep: one statement each ---- */

#define ROW struct pawl_node
static const struct shape node_shape = SHAPE(ROW, F(name, TEXT), F(info, TEXT),
                                             F(started_at_ms, TIME), F(heartbeat_at_ms, TIME),
                                             F(active, I64));
#undef ROW
#define ROW struct pawl_lock
static const struct shape lock_shape = SHAPE(ROW, F(name, TEXT), F(owner, TEXT), F(fence, I64),
                                             F(locked_at_ms, TIME), F(expires_at_ms, TIME));
#undef ROW
#define ROW struct pawl_setting
static const struct shape setting_shape = SHAPE(ROW, F(name, TEXT), F(value, TEXT));
static const struct shape value_shape = SHAPE(ROW, F(value, TEXT));
#undef ROW

#define ROW struct pawl_token
static const struct shape token_shape =
    SHAPE(ROW, F(id, TEXT), F(name, TEXT), F(scopes, TEXT), F(hash, BYTES), F(created_at_ms, TIME),
          F(expires_at_ms, AT), F(revoked_at_ms, AT), F(used_at_ms, AT));
#undef ROW

/* Records, as their list says. */
#define RECORD(name)                                                                               \
    {                                                                                              \
        .fields = pawl__set_tables[PAWL__TABLE_##name##_PUT].fields,                               \
        .count = pawl__set_tables[PAWL__TABLE_##name##_PUT].count,                                 \
        .bytes = pawl__set_tables[PAWL__TABLE_##name##_PUT].bytes                                  \
    }

struct rows {
    enum pawl__read what;
    const struct shape *shape;
    const char *text; /* what the statement takes, if it does */
    struct list list; /* what came of it */
    int64_t now_ms;
};

static enum pawl_err read_rows(struct pawl__reader *reader, void *out)
{
    struct rows *rows = out;
    struct pawl__value text = { PAWL__VALUE_TEXT };
    if (rows->text) text.text = (struct pawl_span){ rows->text, strlen(rows->text) };
    enum pawl_err err = reader->reads->ask(reader, 0, rows->what, &text);
    if (!err) err = reader->reads->run(reader);
    rows->now_ms = reader->now_ms;
    return err ? err : read_list(reader, 0, rows->shape, &rows->list);
}

enum pawl_err pawl__read_nodes(struct pawl__backend *backend, struct pawl__arena *arena,
                               struct pawl_nodes *out, struct pawl_diag *diag)
{
    struct rows rows = { .what = PAWL__READ_NODES_ALL, .shape = &node_shape };
    struct pawl__reader reader = {
        .backend = backend, .arena = arena, .diag = diag, .lone = true, .timed = true
    };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_nodes){ rows.list.at, rows.list.count, rows.now_ms, out->owned };
    return err;
}

enum pawl_err pawl__read_locks(struct pawl__backend *backend, struct pawl__arena *arena,
                               struct pawl_locks *out, struct pawl_diag *diag)
{
    struct rows rows = { .what = PAWL__READ_LOCKS_ALL, .shape = &lock_shape };
    struct pawl__reader reader = {
        .backend = backend, .arena = arena, .diag = diag, .lone = true, .timed = true
    };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_locks){ rows.list.at, rows.list.count, rows.now_ms, out->owned };
    return err;
}

enum pawl_err pawl__read_settings(struct pawl__backend *backend, const char *prefix,
                                  struct pawl__arena *arena, struct pawl_settings *out,
                                  struct pawl_diag *diag)
{
    struct rows rows = { PAWL__READ_SETTING_LIST, .shape = &setting_shape, .text = prefix };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag, .lone = true };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_settings){ rows.list.at, rows.list.count, out->owned };
    return err;
}

enum pawl_err pawl__read_tokens(struct pawl__backend *backend, struct pawl__arena *arena,
                                struct pawl_tokens *out, struct pawl_diag *diag)
{
    struct rows rows = { .what = PAWL__READ_TOKEN_ALL, .shape = &token_shape };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag, .lone = true };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_tokens){ rows.list.at, rows.list.count, out->owned };
    return err;
}

enum pawl_err pawl__read_schemas(struct pawl__backend *backend,
                                 const struct pawl_args_schema_filter *filter,
                                 struct pawl__arena *arena, struct pawl_args_schemas *out,
                                 struct pawl_diag *diag)
{
    const struct shape shape = RECORD(SCHEMA);
    struct rows rows = { filter->by_type ? PAWL__READ_SCHEMA_BY_TYPE : PAWL__READ_SCHEMA_BY_URI,
                         .shape = &shape, .text = filter->name ? filter->name : "" };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag, .lone = true };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_args_schemas){ rows.list.at, rows.list.count, out->owned };
    return err;
}

enum pawl_err pawl__read_configs(struct pawl__backend *backend, const char *queue,
                                 struct pawl__arena *arena, struct pawl_queue_configs *out,
                                 struct pawl_diag *diag)
{
    const struct shape shape = RECORD(CONFIG);
    struct rows rows = { PAWL__READ_CONFIG_LIST, .shape = &shape, .text = queue ? queue : "" };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag, .lone = true };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    *out = (struct pawl_queue_configs){ rows.list.at, rows.list.count, out->owned };
    return err;
}

enum pawl_err pawl__read_setting(struct pawl__backend *backend, const char *name,
                                 struct pawl__arena *arena, const char **out,
                                 struct pawl_diag *diag)
{
    struct rows rows = { PAWL__READ_SETTING_GET, .shape = &value_shape, .text = name };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag, .lone = true };
    enum pawl_err err = pawl__read_with(reader, read_rows, &rows);
    if (err) return err;
    if (!rows.list.count) {
        return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no setting \"%s\"", name);
    }
    *out = ((const struct pawl_setting *)rows.list.at)->value;
    return PAWL_OK;
}
