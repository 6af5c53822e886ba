/* What the core asks for, over statements that every SQL backend has. */
#include "store/sql/scan.h"

#include "base/diag.h"
#include "store/core/settle.h"
#include "store/core/course.h"

#include <stdlib.h>
#include <string.h>

static struct pawl__sql_base *base_of(struct pawl__backend *backend)
{
    return (struct pawl__sql_base *)backend;
}

static struct pawl__value number(int64_t value)
{
    return (struct pawl__value){ PAWL__VALUE_NUMBER, .number = value };
}

static struct pawl__value text(const char *value)
{
    return (struct pawl__value){ PAWL__VALUE_TEXT, .text = { value, strlen(value) } };
}

/* A reader inside the session's transaction. Texts go into the set's arena. */
static struct pawl__reader open_reader(struct pawl__backend *backend)
{
    const struct pawl__sql_base *base = base_of(backend);
    return (struct pawl__reader){ .backend = backend,
                                  .reads = base->reads,
                                  .arena = &base->set->arena,
                                  .diag = base->set->diag,
                                  .inside = true };
}

/* One statement in slot 0, run. */
static enum pawl_err ask(struct pawl__reader *reader, enum pawl__read what,
                         const struct pawl__value *values)
{
    enum pawl_err err = reader->reads->begin(reader);
    if (!err) err = reader->reads->ask(reader, 0, what, values);
    return err ? err : reader->reads->run(reader);
}

static bool next(struct pawl__reader *reader, enum pawl_err *err)
{
    bool found = false;
    if (!*err) *err = reader->reads->next(reader, 0, &found);
    return !*err && found;
}

/* ---- notices ---- */

void pawl__sql_note(struct pawl__backend *backend, bool all_moves)
{
    base_of(backend)->set->notices.all_moves = all_moves;
}

bool pawl__sql_get_notice(struct pawl__backend *backend, struct pawl__notice *out)
{
    const struct pawl__set *set = base_of(backend)->set;
    return pawl__notices_get(&set->notices, set->now_ms, out);
}

/* ---- the catalogue ---- */

struct queue {
    int64_t id;
    const char *name;
    bool paused;
};

struct lane {
    int64_t id, queue_id;
    const char *type;
};

#define F(member, kind) PAWL__FIELD(ROW, member, member, kind)
#define ROW struct queue
static const struct pawl__field queue_fields[] = { F(id, I64), F(name, TEXT), F(paused, BOOL) };
#undef ROW
#define ROW struct lane
static const struct pawl__field lane_fields[] = { F(id, I64), F(queue_id, I64), F(type, TEXT) };
#undef ROW
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A lane may be asked about while answers in other slots are read. */
enum { SLOT_LANES = PAWL__READ_SLOTS - 2, SLOT_QUEUES = PAWL__READ_SLOTS - 1 };

static enum pawl_err learn_queues(struct pawl__reader *reader, struct pawl__catalog *catalog)
{
    bool found;
    enum pawl_err err;
    while (!(err = reader->reads->next(reader, SLOT_QUEUES, &found)) && found) {
        struct queue row;
        err = reader->reads->row(reader, SLOT_QUEUES, 0, queue_fields, COUNT(queue_fields), &row);
        if (err) return pawl__fail_nomem(reader->diag);
        err = pawl__catalog_learn_queue(catalog, row.id, row.name, row.paused, reader->diag);
        if (err) return err;
    }
    return err;
}

static enum pawl_err learn_lanes(struct pawl__reader *reader, struct pawl__catalog *catalog)
{
    bool found;
    enum pawl_err err;
    while (!(err = reader->reads->next(reader, SLOT_LANES, &found)) && found) {
        struct lane row;
        err = reader->reads->row(reader, SLOT_LANES, 0, lane_fields, COUNT(lane_fields), &row);
        if (err) return pawl__fail_nomem(reader->diag);
        err = pawl__catalog_learn_lane(catalog, row.id, row.queue_id, row.type, reader->diag);
        if (err) return err;
    }
    return err;
}

/* Lanes are read before queues, so that every lane's queue is among them. */
enum pawl_err pawl__sql_catalog_read(struct pawl__backend *backend, int64_t since)
{
    struct pawl__reader reader = open_reader(backend);
    struct pawl__catalog *catalog = &base_of(backend)->set->catalog;
    const struct pawl__value after = number(since);
    enum pawl_err err = reader.reads->begin(&reader);
    if (!err) err = reader.reads->ask(&reader, SLOT_LANES, PAWL__READ_LANE_SINCE, &after);
    if (!err) err = reader.reads->ask(&reader, SLOT_QUEUES, PAWL__READ_QUEUE_ALL, NULL);
    if (!err) err = reader.reads->run(&reader);
    if (!err) err = learn_queues(&reader, catalog);
    if (!err) err = learn_lanes(&reader, catalog);
    reader.reads->end(&reader);
    return err;
}

/* Where several write at once, it may have been made since the transaction began. */
enum pawl_err pawl__sql_lane_by_id(struct pawl__backend *backend, int64_t id,
                                   struct pawl__lane **out)
{
    const struct pawl__sql_base *base = base_of(backend);
    *out = pawl__catalog_lane_by_id(&base->set->catalog, id);
    if (*out) return PAWL_OK;
    enum pawl_err err = pawl__sql_catalog_read(backend, 0);
    if (err) return err;
    *out = pawl__catalog_lane_by_id(&base->set->catalog, id);
    return *out ? PAWL_OK : pawl__catalog_refuse_lane(id, base->set->diag);
}

enum pawl_err pawl__sql_boost_read(struct pawl__backend *backend, struct pawl_diag *diag)
{
    static const struct pawl__field value = { "value", PAWL__KIND_TEXT, 0 };
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value name = text("rank.boost_ms");
    const char *boost = NULL;
    reader.diag = diag;
    enum pawl_err err = ask(&reader, PAWL__READ_SETTING_GET, &name);
    if (next(&reader, &err) && reader.reads->row(&reader, 0, 0, &value, 1, &boost)) {
        err = pawl__fail_nomem(diag);
    }
    reader.reads->end(&reader);
    base_of(backend)->set->boost_ms = boost ? strtoll(boost, NULL, 10) : PAWL__RANK_BOOST_MS;
    return err;
}

/* ---- the core's table ---- */

enum pawl_err pawl__sql_number(struct pawl__backend *backend, enum pawl__read what, int64_t *out)
{
    struct pawl__reader reader = open_reader(backend);
    enum pawl_err err = ask(&reader, what, NULL);
    *out = 0;
    if (!err) err = pawl__read_number(&reader, 0, out);
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__sql_forget_keys(struct pawl__backend *backend, int64_t limit)
{
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value values[] = { number(base_of(backend)->set->now_ms), number(limit) };
    enum pawl_err err = reader.reads->begin(&reader);
    if (!err) err = reader.reads->write(&reader, PAWL__READ_KEY_FORGET, values);
    return err ? err : reader.reads->write(&reader, PAWL__READ_REQUEST_FORGET, values);
}

enum pawl_err pawl__sql_unsettled(struct pawl__backend *backend, int32_t ties, int64_t after,
                                  int64_t limit)
{
    const struct pawl__set_table *of = &pawl__set_tables[PAWL__TABLE_UNSETTLED];
    static const struct pawl__field seq = { "seq", PAWL__KIND_I64,
                                            offsetof(struct pawl__unsettled, seq) };
    struct pawl__set *set = base_of(backend)->set;
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value values[] = { number(ties), number(after), number(limit) };
    enum pawl_err err = ask(&reader, PAWL__READ_UNSETTLED_LIST, values);
    while (next(&reader, &err)) {
        struct pawl__unsettled entry = { .seq = 0 };
        bool failed = reader.reads->row(&reader, 0, 0, &seq, 1, &entry) ||
                      reader.reads->row(&reader, 0, 1, of->fields, of->count, &entry);
        set->failed |= failed;
        pawl__settle_again(set, &entry);
    }
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__sql_next_unsettled(struct pawl__backend *backend, int32_t ties, int64_t *at_ms)
{
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value value = number(ties);
    enum pawl_err err = ask(&reader, PAWL__READ_UNSETTLED_NEXT, &value);
    if (!err) err = pawl__read_number(&reader, 0, at_ms);
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__sql_census(struct pawl__backend *backend, const char *name,
                               struct pawl_census *out, int64_t *silent)
{
    struct row {
        int64_t alive, silent, ready, silent_at_ms;
    } row = { 0 };
#define ROW struct row
    static const struct pawl__field fields[] = { F(alive, I64), F(silent, I64), F(ready, I64),
                                                 F(silent_at_ms, I64) };
#undef ROW
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value values[] = { number(base_of(backend)->set->now_ms), text(name) };
    enum pawl_err err = ask(&reader, PAWL__READ_NODE_CENSUS, values);
    if (next(&reader, &err)) (void)reader.reads->row(&reader, 0, 0, fields, COUNT(fields), &row);
    reader.reads->end(&reader);
    if (err) return err;
    out->alive = row.alive;
    out->ready = row.ready;
    out->silent_at_ms = row.silent_at_ms;
    *silent = row.silent;
    return PAWL_OK;
}

/* Records that a statement with these values finds. */
static enum pawl_err scan_records(struct pawl__backend *backend, enum pawl__read what,
                                  const struct pawl__value *values, enum pawl__record_kind kind)
{
    const struct pawl__set_table *of = pawl__record_shapes[kind].of;
    struct pawl__set *set = base_of(backend)->set;
    struct pawl__reader reader = open_reader(backend);
    enum pawl_err err = ask(&reader, what, values);
    while (next(&reader, &err)) {
        union pawl__record_row row;
        if (reader.reads->row(&reader, 0, 0, of->fields, of->count, &row)) {
            set->failed = true;
        } else {
            (void)pawl__set_record_loaded(set, kind, &row);
        }
    }
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__sql_scan_nodes(struct pawl__backend *backend, enum pawl__nodes which,
                                   int64_t at_ms, int64_t limit)
{
    const struct pawl__value values[] = { number(at_ms), number(limit) };
    enum pawl__read what = which == PAWL__NODES_SILENT ? PAWL__READ_NODE_SILENT
                                                       : PAWL__READ_NODE_OLD;
    return scan_records(backend, what, values, PAWL__RECORD_NODE);
}

enum pawl_err pawl__sql_scan_locks(struct pawl__backend *backend, const char *owner, int64_t limit)
{
    const struct pawl__value values[] = { text(owner), number(limit) };
    return scan_records(backend, PAWL__READ_LOCK_OWNED, values, PAWL__RECORD_LOCK);
}

/* ---- deadlines ---- */

enum pawl_err pawl__sql_scan_deadlines(struct pawl__backend *backend, int64_t before_ms,
                                       int64_t limit)
{
    const struct pawl__value values[] = { number(before_ms), number(limit) };
    return scan_records(backend, PAWL__READ_DEADLINE_DUE, values, PAWL__RECORD_DEADLINE);
}

enum pawl_err pawl__sql_next_deadline(struct pawl__backend *backend, int64_t *at_ms)
{
    return pawl__sql_number(backend, PAWL__READ_DEADLINE_NEXT, at_ms);
}

/* ---- flows ---- */

enum pawl_err pawl__sql_scan_flows(struct pawl__backend *backend, int64_t limit)
{
    const struct pawl__value values[] = { number(base_of(backend)->set->now_ms), number(limit) };
    return scan_records(backend, PAWL__READ_FLOW_STALE, values, PAWL__RECORD_FLOW);
}

enum pawl_err pawl__sql_scan_ended_flows(struct pawl__backend *backend,
                                         const struct pawl__ended *what)
{
    const struct pawl__value ended[] = { number(what->after_ms), number(what->before_ms),
                                         number(what->limit) };
    const struct pawl__value old[] = { number(what->after_ms), number(what->before_ms),
                                       number(what->kept_until_ms), number(what->limit) };
    return what->archived ? scan_records(backend, PAWL__READ_FLOW_OLD, old, PAWL__RECORD_FLOW)
                          : scan_records(backend, PAWL__READ_FLOW_ENDED, ended, PAWL__RECORD_FLOW);
}

enum pawl_err pawl__sql_next_flow(struct pawl__backend *backend, int64_t *at_ms)
{
    return pawl__sql_number(backend, PAWL__READ_FLOW_STALE_NEXT, at_ms);
}

enum pawl_err pawl__sql_flow_doubts(struct pawl__backend *backend, int64_t until_ms, int64_t limit,
                                    pawl__flow_doubt_fn *found, void *ctx)
{
    struct pawl__reader reader = open_reader(backend);
    const struct pawl__value values[] = { number(until_ms), number(limit) };
    enum pawl_err err = ask(&reader, PAWL__READ_FLOW_DOUBTS, values);
    if (!err) err = pawl__read_doubts(&reader, 0, found, ctx);
    reader.reads->end(&reader);
    return err;
}

enum pawl_err pawl__sql_scan_timers(struct pawl__backend *backend, int64_t limit)
{
    const struct pawl__value values[] = { number(base_of(backend)->set->now_ms), number(limit) };
    return scan_records(backend, PAWL__READ_FLOW_DUE, values, PAWL__RECORD_FLOW_TIMER);
}

enum pawl_err pawl__sql_next_timer(struct pawl__backend *backend, int64_t *at_ms)
{
    return pawl__sql_number(backend, PAWL__READ_FLOW_NEXT_DUE, at_ms);
}

enum pawl_err pawl__sql_scan_waits(struct pawl__backend *backend, const char *key, int64_t limit)
{
    const struct pawl__value values[] = { text(key), number(limit) };
    return scan_records(backend, PAWL__READ_FLOW_WAITS, values, PAWL__RECORD_FLOW_SIGNAL);
}

/* ---- schedules ---- */

enum pawl_err pawl__sql_scan_schedules(struct pawl__backend *backend, int64_t limit)
{
    const struct pawl__value values[] = { number(base_of(backend)->set->now_ms), number(limit) };
    return scan_records(backend, PAWL__READ_SCHEDULE_DUE, values, PAWL__RECORD_SCHEDULE);
}

enum pawl_err pawl__sql_next_schedule(struct pawl__backend *backend, int64_t *at_ms)
{
    return pawl__sql_number(backend, PAWL__READ_SCHEDULE_NEXT, at_ms);
}

enum pawl_err pawl__sql_match(struct pawl__backend *backend, const struct pawl_filter *filter,
                              int64_t limit, struct pawl__arena *arena, struct pawl_job_id **ids,
                              size_t *count)
{
    return pawl__read_match(backend, filter, limit, arena, ids, count, base_of(backend)->set->diag);
}
