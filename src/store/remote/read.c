/* Questions. Any thread. */
#include "store/remote/remote.h"

#include "base/diag.h"

#include <string.h>

/* The reply as a struct. The text is copied, because payloads stay part of it. */
static enum pawl_err understand(struct pawl__backend *backend, const struct pawl__buf *reply,
                                const struct pawl__shape *shape, struct pawl__arena *arena,
                                void *out, struct pawl_diag *diag)
{
    struct pawl_diag why = { 0 };
    const char *text = pawl__arena_dup(arena, reply->at ? reply->at : "", reply->len);
    if (!text) return pawl__fail_nomem(diag);
    enum pawl_err err =
        pawl__wire_read((struct pawl_span){ text, reply->len }, shape, false, arena, out, &why);
    return err ? pawl__rm_not_understood(backend, &why, diag) : PAWL_OK;
}

enum pawl_err pawl__rm_ask(struct pawl__backend *backend, enum pawl__wire_path path,
                           const struct pawl__wire_ask *ask, const struct pawl__shape *shape,
                           struct pawl__arena *arena, void *out, struct pawl_diag *diag)
{
    struct pawl__buf body = { 0 };
    pawl__wire_print(&body, &pawl__wire_ask_shape, ask);
    struct pawl__rm_call call = { .path = path, .body = { body.at, body.len } };
    enum pawl_err err = body.failed ? pawl__fail_nomem(diag) : pawl__rm_call(backend, &call, diag);
    if (!err) err = understand(backend, &call.reply, shape, arena, out, diag);
    pawl__buf_release(&call.reply);
    pawl__buf_release(&body);
    return err;
}

enum pawl_err pawl__rm_get(struct pawl__backend *backend, const struct pawl_job_id *ids,
                           size_t count, struct pawl__arena *arena, struct pawl_job **out,
                           size_t *out_count, struct pawl_diag *diag)
{
    struct pawl_jobs found = { 0 };
    struct pawl__wire_ask ask = { .ids = ids, .id_count = count };
    enum pawl_err err = PAWL_OK;
    if (count) {
        err = pawl__rm_ask(backend, PAWL__WIRE_PATH_GET, &ask, &pawl__wire_jobs_shape, arena,
                           &found, diag);
    }
    if (err) return err;
    *out = found.at;
    *out_count = found.count;
    return PAWL_OK;
}

enum pawl_err pawl__rm_query(struct pawl__backend *backend, const struct pawl_filter *filter,
                             const struct pawl_page *page, struct pawl__arena *arena,
                             struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .filter = *filter, .page = *page };
    struct pawl_jobs found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_QUERY, &ask, &pawl__wire_jobs_shape,
                                     arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_count(struct pawl__backend *backend, const struct pawl_filter *filter,
                             int64_t *out, struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .filter = *filter };
    struct pawl__wire_count found;
    struct pawl__arena arena = { .chunks = NULL };
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_COUNT, &ask, &pawl__wire_count_shape,
                                     &arena, &found, diag);
    if (!err) *out = found.count;
    pawl__arena_release(&arena);
    return err;
}

/* The server reads the job in any case. */
enum pawl_err pawl__rm_story(struct pawl__backend *backend, struct pawl_job_id id,
                             const struct pawl_job *known, struct pawl__arena *arena,
                             struct pawl_story *out, struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .ids = &id, .id_count = 1 };
    struct pawl_story found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_STORY, &ask, &pawl__wire_story_shape,
                                     arena, &found, diag);
    if (known && err == PAWL_ERR_NOT_FOUND) {
        found = (struct pawl_story){ .progress = -1,
                                     .progress_message = "",
                                     .progress_data = { "", 0 },
                                     .checkpoint = { "", 0 } };
        err = PAWL_OK;
    }
    if (err) return err;
    if (known) found.job = *known;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_stats(struct pawl__backend *backend, struct pawl__arena *arena,
                             struct pawl_stats *out, struct pawl_diag *diag)
{
    struct pawl_stats found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_STATS, &(struct pawl__wire_ask){ 0 },
                                     &pawl__wire_stats_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_nodes(struct pawl__backend *backend, struct pawl__arena *arena,
                             struct pawl_nodes *out, struct pawl_diag *diag)
{
    struct pawl_nodes found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_NODES, &(struct pawl__wire_ask){ 0 },
                                     &pawl__wire_nodes_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_locks(struct pawl__backend *backend, struct pawl__arena *arena,
                             struct pawl_locks *out, struct pawl_diag *diag)
{
    struct pawl_locks found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_LOCKS, &(struct pawl__wire_ask){ 0 },
                                     &pawl__wire_locks_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_settings(struct pawl__backend *backend, const char *prefix,
                                struct pawl__arena *arena, struct pawl_settings *out,
                                struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .prefix = prefix };
    struct pawl_settings found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_SETTINGS, &ask,
                                     &pawl__wire_settings_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl__rm_setting(struct pawl__backend *backend, const char *name,
                               struct pawl__arena *arena, const char **out, struct pawl_diag *diag)
{
    struct pawl_settings found = { 0 };
    enum pawl_err err = pawl__rm_settings(backend, name, arena, &found, diag);
    if (err) return err;
    for (size_t i = 0; i < found.count; i++) {
        if (strcmp(found.at[i].name, name) == 0) {
            *out = found.at[i].value;
            return PAWL_OK;
        }
    }
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no setting \"%s\"", name);
}

enum pawl_err pawl__rm_schemas(struct pawl__backend *backend,
                               const struct pawl_args_schema_filter *filter,
                               struct pawl__arena *arena, struct pawl_args_schemas *out,
                               struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .name = filter->name, .by_type = filter->by_type };
    struct pawl_args_schemas found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_SCHEMAS, &ask,
                                     &pawl__wire_schemas_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

/* LIST begins behind an id that a page's cursor has; the greatest is that of the first page. */
static void ask_for_flows(const struct pawl__flow_ask *ask, char cursor[PAWL_JOB_ID_TEXT_BYTES],
                          struct pawl__wire_ask *out)
{
    static const struct pawl_job_id last = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                               0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    *out = (struct pawl__wire_ask){ .id_count = 0 };
    if (ask->what != PAWL__FLOW_ASK_LIST) {
        out->ids = &ask->id;
        out->id_count = 1;
        if (ask->what == PAWL__FLOW_ASK_EARLIER) out->name = "earlier";
        if (ask->what == PAWL__FLOW_ASK_OWN) out->name = "own";
        return;
    }
    out->flows = (struct pawl_flow_filter){ .state = ask->state, .name = ask->name };
    out->page = (struct pawl_page){ .limit = ask->limit, .bytes_max = ask->bytes_max };
    if (memcmp(&ask->id, &last, sizeof last) == 0) return;
    pawl_job_id_text(ask->id, cursor);
    out->page.cursor = cursor;
}

enum pawl_err pawl__rm_flows(struct pawl__backend *backend, const struct pawl__flow_ask *ask,
                             struct pawl__arena *arena, struct pawl__flow_rows *out,
                             struct pawl_diag *diag)
{
#define SEEN(word, wire, member)                                                                   \
    [PAWL__FLOW_ASK_##word] = { PAWL__WIRE_PATH_##wire, &pawl__wire_##member##_shape }
    static const struct {
        enum pawl__wire_path path;
        const struct pawl__shape *shape;
    } questions[PAWL__FLOW_ASK_END] = { SEEN(ONE, FLOWS, flows),
                                        SEEN(LIST, FLOWS, flows),
                                        SEEN(NODES, FLOW_NODES, flow_nodes),
                                        SEEN(PARENTS, FLOW_INPUTS, flow_inputs),
                                        SEEN(OWN, FLOW_INPUTS, flow_inputs),
                                        SEEN(EARLIER, FLOW_INPUTS, flow_inputs) };
#undef SEEN
    char cursor[PAWL_JOB_ID_TEXT_BYTES];
    struct pawl__wire_ask wire;
    struct pawl__flow_seen *seen = pawl__arena_calloc(arena, 1, sizeof *seen);
    if (!seen) return pawl__fail_nomem(diag);
    void *const places[PAWL__FLOW_ASK_END] = { &seen->flows,  &seen->flows,  &seen->nodes,
                                               &seen->inputs, &seen->inputs, &seen->inputs };
    ask_for_flows(ask, cursor, &wire);
    enum pawl_err err = pawl__rm_ask(backend, questions[ask->what].path, &wire,
                                     questions[ask->what].shape, arena, places[ask->what], diag);
    if (!err) *out = (struct pawl__flow_rows){ .seen = seen };
    return err;
}

/* The server says whether there are more: it is asked for one less than the store would be. */
enum pawl_err pawl__rm_schedules(struct pawl__backend *backend,
                                 const struct pawl__schedule_ask *ask, struct pawl__arena *arena,
                                 struct pawl__schedule_rows *out, struct pawl_diag *diag)
{
    struct pawl__wire_ask wire = { .name = ask->name };
    struct pawl__schedule_seen *seen = pawl__arena_calloc(arena, 1, sizeof *seen);
    enum pawl__wire_path path = PAWL__WIRE_PATH_SCHEDULES;
    const struct pawl__shape *shape = &pawl__wire_schedules_shape;
    if (!seen) return pawl__fail_nomem(diag);
    void *place = &seen->schedules;
    if (ask->what == PAWL__SCHEDULE_ASK_LIST) {
        wire.name = NULL;
        wire.schedules = (struct pawl_schedule_filter){ .states = ask->states,
                                                        .name_prefix = ask->prefix,
                                                        .group = ask->group,
                                                        .after = ask->name,
                                                        .limit = ask->limit - 1 };
    } else if (ask->what == PAWL__SCHEDULE_ASK_HISTORY) {
        wire.before = ask->before;
        wire.limit = ask->limit - 1;
        path = PAWL__WIRE_PATH_FIRINGS;
        shape = &pawl__wire_firings_shape;
        place = &seen->firings;
    }
    enum pawl_err err = pawl__rm_ask(backend, path, &wire, shape, arena, place, diag);
    if (!err) *out = (struct pawl__schedule_rows){ .seen = seen };
    return err;
}

enum pawl_err pawl__rm_configs(struct pawl__backend *backend, const char *queue,
                               struct pawl__arena *arena, struct pawl_queue_configs *out,
                               struct pawl_diag *diag)
{
    struct pawl__wire_ask ask = { .name = queue };
    struct pawl_queue_configs found;
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_CONFIGS, &ask,
                                     &pawl__wire_configs_shape, arena, &found, diag);
    if (err) return err;
    found.owned = out->owned;
    *out = found;
    return PAWL_OK;
}

/* A server's tokens are seen only where its store is. */
enum pawl_err pawl__rm_tokens(struct pawl__backend *backend, struct pawl__arena *arena,
                              struct pawl_tokens *out, struct pawl_diag *diag)
{
    (void)backend, (void)arena, (void)diag;
    *out = (struct pawl_tokens){ .owned = out->owned };
    return PAWL_OK;
}
