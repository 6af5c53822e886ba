/* Schedules: how they are read. */
#include "store/core/set.h"
#include "store/sql/read.h"

#include <string.h>

struct schedules_read {
    const struct pawl__schedule_ask *ask;
    struct pawl__schedule_rows *rows;
};

static struct pawl__value number(int64_t value)
{
    return (struct pawl__value){ PAWL__VALUE_NUMBER, .number = value };
}

static struct pawl__value text(const char *value)
{
    if (!value) value = "";
    return (struct pawl__value){ PAWL__VALUE_TEXT, .text = { value, strlen(value) } };
}

static enum pawl_err read_pair(struct pawl__reader *reader, struct pawl__schedule_rows *rows)
{
    void *at = NULL;
    enum pawl_err err = reader->reads->run(reader);
    if (!err) {
        err = pawl__read_records(reader, 0, PAWL__TABLE_SCHEDULE_PUT, &at, &rows->schedules_count);
    }
    rows->schedules = at;
    if (!err) {
        err = pawl__read_records(reader, 1, PAWL__TABLE_SCHEDULE_PLAN_PUT, &at, &rows->plans_count);
    }
    rows->plans = at;
    return err;
}

static enum pawl_err read_one(struct pawl__reader *reader, const struct schedules_read *read)
{
    const struct pawl__value name = text(read->ask->name);
    enum pawl_err err = reader->reads->ask(reader, 0, PAWL__READ_SCHEDULE_ONE, &name);
    if (!err) err = reader->reads->ask(reader, 1, PAWL__READ_SCHEDULE_PLAN_ONE, &name);
    return err ? err : read_pair(reader, read->rows);
}

static enum pawl_err read_page(struct pawl__reader *reader, const struct schedules_read *read)
{
    const struct pawl__schedule_ask *ask = read->ask;
    const struct pawl__value values[] = { text(ask->name), number(ask->states), text(ask->prefix),
                                          text(ask->group), number(ask->limit) };
    enum pawl_err err = reader->reads->ask(reader, 0, PAWL__READ_SCHEDULE_LIST, values);
    if (!err) err = reader->reads->ask(reader, 1, PAWL__READ_SCHEDULE_PLAN_LIST, values);
    return err ? err : read_pair(reader, read->rows);
}

/* And whether there is such a schedule. */
static enum pawl_err read_history(struct pawl__reader *reader, const struct schedules_read *read)
{
    const struct pawl__schedule_ask *ask = read->ask;
    const struct pawl__value values[] = { text(ask->name), number(ask->before),
                                          number(ask->limit) };
    void *at = NULL;
    enum pawl_err err = reader->reads->ask(reader, 0, PAWL__READ_SCHEDULE_ONE, values);
    if (!err) err = reader->reads->ask(reader, 1, PAWL__READ_FIRING_LIST, values);
    if (!err) err = reader->reads->run(reader);
    if (!err) {
        err = pawl__read_records(reader, 0, PAWL__TABLE_SCHEDULE_PUT, &at,
                                 &read->rows->schedules_count);
    }
    if (!err) {
        err = pawl__read_records(reader, 1, PAWL__TABLE_FIRING, &at, &read->rows->firings_count);
    }
    read->rows->firings = at;
    return err;
}

static enum pawl_err read_schedules(struct pawl__reader *reader, void *out)
{
    const struct schedules_read *read = out;
    *read->rows = (struct pawl__schedule_rows){ .schedules = NULL };
    switch (read->ask->what) {
    case PAWL__SCHEDULE_ASK_ONE:
        return read_one(reader, read);
    case PAWL__SCHEDULE_ASK_LIST:
        return read_page(reader, read);
    default:
        return read_history(reader, read);
    }
}

enum pawl_err pawl__read_schedules(struct pawl__backend *backend,
                                   const struct pawl__schedule_ask *ask, struct pawl__arena *arena,
                                   struct pawl__schedule_rows *out, struct pawl_diag *diag)
{
    struct schedules_read read = { ask, out };
    struct pawl__reader reader = { .backend = backend, .arena = arena, .diag = diag };
    return pawl__read_with(reader, read_schedules, &read);
}
