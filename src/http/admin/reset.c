/* Test mode: forget everything, so that one test case does not see the last one's jobs. */
#include "http/admin/admin.h"
#include "http/local/local.h"
#include "http/events/events.h"
#include "http/ojs/ojs.h"

#include <string.h>

static enum pawl_err forget_jobs(struct pawl__request *request, struct pawl_diag *diag)
{
    struct pawl_filter all = { .archived = true };
    struct pawl_filter live = { 0 };
    int64_t moved;
    do { // a workflow's callbacks are available once its other jobs are cancelled
        enum pawl_err err =
            pawl__bulk_move(request, &live, PAWL_CONTROL_CANCEL, INT64_MAX, &moved, diag);
        if (err) return err;
    } while (moved);
    return pawl__bulk_move(request, &all, PAWL_CONTROL_NONE, INT64_MAX, &moved, diag);
}

/* Before the jobs, or they would make more. */
static enum pawl_err forget_schedules(struct pawl *pawl, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (bool more = true; !err && more;) {
        struct pawl_schedules schedules = { 0 };
        const struct pawl_schedule_filter some = { .limit = PAWL_PAGE_MAX };
        err = pawl_schedules_get(pawl, &some, &schedules, diag);
        for (size_t i = 0; !err && i < schedules.count; i++) {
            err = pawl_schedule_remove(pawl, schedules.at[i].spec.name, 0, diag);
            if (err == PAWL_ERR_NOT_FOUND) err = PAWL_OK;
        }
        more = schedules.more;
        pawl_schedules_release(&schedules);
    }
    return err;
}

static enum pawl_err resume_queues(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl_stats_get(pawl, &stats, diag);
    for (size_t i = 0; !err && i < stats.queue_count; i++) {
        if (!stats.queues[i].paused) continue;
        err = pawl_queue_pause(pawl, stats.queues[i].queue, false, NULL, diag);
    }
    pawl_stats_release(&stats);
    return err;
}

/* Tokens stay: who may reset should be able to go on. */
static enum pawl_err forget_settings(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_settings settings = { 0 };
    enum pawl_err err = pawl_settings_get(pawl, "", &settings, diag);
    for (size_t i = 0; !err && i < settings.count; i++) {
        err = pawl_setting_put(pawl, settings.at[i].name, NULL, diag);
    }
    pawl_settings_release(&settings);
    return err;
}

static enum pawl_err forget_configs(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl_queue_configs configs = { 0 };
    enum pawl_err err = pawl_queue_configs_get(pawl, NULL, &configs, diag);
    for (size_t i = 0; !err && i < configs.count; i++) {
        err = pawl_queue_config_drop(pawl, configs.at[i].queue, diag);
    }
    pawl_queue_configs_release(&configs);
    return err;
}

static enum pawl_err forget_schemas(struct pawl *pawl, bool by_type, struct pawl_diag *diag)
{
    const struct pawl_args_schema_filter filter = { .by_type = by_type };
    struct pawl_args_schemas schemas = { 0 };
    enum pawl_err err = pawl_args_schemas_get(pawl, &filter, &schemas, diag);
    for (size_t i = 0; !err && i < schemas.count; i++) {
        err = pawl_args_schema_drop(pawl, &schemas.at[i], diag);
    }
    pawl_args_schemas_release(&schemas);
    return err;
}

/* What the loop keeps, once the store is empty: leases and limits of what is gone. */
static void forget(struct pawl__request *request)
{
    struct pawl__server *server = request->server;
    pawl__leases_clear(server->leases);
    pawl__workers_clear(server->workers);
    pawl__rates_clear(server->rates);
    pawl__throughput_clear(server->throughput);
    pawl__events_forget(server);
}

static void finish(struct pawl__request *request)
{
    forget(request); // once more: what was cancelled has been told of meanwhile
    pawl__buf_add_text(&request->reply, "{\"reset\":true}");
    pawl__reply(request, 200);
}

static void reset_store(struct pawl__request *request)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_diag diag;
    enum pawl_err err = forget_schedules(pawl, &diag);
    if (!err) err = forget_jobs(request, &diag);
    if (!err) err = resume_queues(pawl, &diag);
    if (!err) err = forget_settings(pawl, &diag);
    if (!err) err = forget_configs(pawl, &diag);
    if (!err) err = forget_schemas(pawl, false, &diag);
    if (!err) err = forget_schemas(pawl, true, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        pawl__request_to_loop(request, finish);
    }
}

void pawl__on_admin_reset(struct pawl__request *request)
{
    if (!request->server->config.test_mode) {
        pawl__reply_refuse(request, PAWL__FAULT_DENIED, "",
                           "reset is possible in test mode alone: pawl serve --test-mode");
        return;
    }
    forget(request);
    pawl__request_to_pool(request, reset_store);
}
