/* The front of every store: finds the backend for a URL, runs its committer, passes reads on. */
#include "base/clock.h"
#include "base/diag.h"
#include "base/sha256.h"
#include "base/sync.h"
#include "base/url.h"
#include "store/backend.h"
#include "store/committer.h"
#include "store/shown.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pawl__store {
    const struct pawl__backend_table *table;
    struct pawl__backend *backend;
    struct pawl__wake *wake; /* NULL: processes do not wake each other */
    struct pawl__committer committer;
    struct pawl__mutex watching; /* one change of the watcher at a time */
};

static enum pawl_err refuse_scheme(const char *url, struct pawl_diag *diag)
{
    struct pawl__buf shown = { 0 };
    pawl__url_mask(&shown, url);
    enum pawl_err err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                                         "store \"%s\" has no scheme that this program knows; use "
                                         "\"sqlite:PATH\" or \"postgres://...\"",
                                         shown.failed ? "" : shown.at);
    pawl__buf_release(&shown);
    return err;
}

/* The backend for a config, and the config for the backend. */
static enum pawl_err find_backend(struct pawl_config *config,
                                  const struct pawl__backend_table **out, struct pawl_diag *diag)
{
    assert(config->store && config->clock);
    for (size_t i = 0; pawl__backends[i]; i++) {
        const char *scheme = pawl__backends[i]->scheme;
        if (strncmp(config->store, scheme, strlen(scheme)) == 0) {
            *out = pawl__backends[i];
            return PAWL_OK;
        }
    }
    enum pawl_err err = pawl__store_module_find(config->store, out, diag);
    if (err) return err;
    if (*out) {
        if (config->clock == &pawl__clock_system) config->clock = NULL; // it has a better one
        return PAWL_OK;
    }
    return refuse_scheme(config->store, diag);
}

/* ---- other processes ---- */

/* Sixteen digits that differ from store to store. */
static enum pawl_err name_store(struct pawl__store *store, char out[17], struct pawl_diag *diag)
{
    struct pawl__buf identity = { 0 };
    struct pawl__sha256 sha;
    uint8_t digest[32];
    enum pawl_err err = store->table->identify(store->backend, &identity, diag);
    if (!err) {
        pawl__sha256_init(&sha);
        pawl__sha256_add(&sha, identity.at, identity.len);
        pawl__sha256_end(&sha, digest);
        for (size_t i = 0; i < 8; i++) {
            snprintf(out + 2 * i, 3, "%02x", digest[i]);
        }
    }
    pawl__buf_release(&identity);
    return err;
}

static enum pawl_err open_module(const struct pawl__wake_module *module, const char *url,
                                 struct pawl__store *store, struct pawl_diag *diag)
{
    char name[17];
    if (!store->table->identify) {
        return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "wake",
                                "a server wakes its clients itself; let \"wake\" be set where it "
                                "runs");
    }
    enum pawl_err err = name_store(store, name, diag);
    if (err) return err;
    return module->open(&(struct pawl__wake_open){ .url = url, .store = name }, &store->wake, diag);
}

/* Through a database server, which only stores on one of the same kind can use. */
static enum pawl_err open_served(const struct pawl__scheme *scheme, const char *url,
                                 struct pawl__store *store, struct pawl_diag *diag)
{
    if (strcmp(scheme->name, store->table->name) == 0) {
        return store->table->wake(store->backend, url, &store->wake, diag);
    }
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "wake",
                            "only a store on %s can wake others through %s", scheme->served_by,
                            scheme->served_by);
}

/* As config->wake says. Its URL may hold a password, and is not repeated. */
static enum pawl_err open_wake(const struct pawl_config *config, struct pawl__store *store,
                               struct pawl_diag *diag)
{
    const char *url = config->wake;
    const struct pawl__wake_module *module = NULL;
    if (config->read_only) return PAWL_OK;
    if (!url) return store->table->wake(store->backend, NULL, &store->wake, diag);
    if (strcmp(url, "none") == 0) return PAWL_OK;
    const struct pawl__scheme *scheme = pawl__scheme_of(url);
    if (scheme && scheme->served_by) return open_served(scheme, url, store, diag);
    enum pawl_err err = pawl__wake_module_find(url, &module, diag);
    if (err) return err;
    if (module) return open_module(module, url, store, diag);
    return pawl__fail_field(diag, PAWL_ERR_ARG, "wake",
                            "wake has no scheme that this program knows; use "
                            "\"redis://HOST:PORT\", \"postgres://...\" or \"none\"");
}

/* ---- a store that is read only ---- */

/* Operations go to the committer as they always do, so that answers come from its thread. */
static enum pawl_err refuse_all(struct pawl__backend *backend, struct pawl__op **ops, size_t count,
                                struct pawl_diag *diag)
{
    (void)backend, (void)diag;
    for (size_t i = 0; i < count; i++) {
        ops[i]->err = pawl__fail(ops[i]->diag, PAWL_ERR_READONLY, "the store is open to read only");
    }
    return PAWL_OK;
}

static void note_nothing(struct pawl__backend *backend, bool all_moves)
{
    (void)backend, (void)all_moves;
}

static bool get_no_notice(struct pawl__backend *backend, struct pawl__notice *out)
{
    (void)backend, (void)out;
    return false;
}

static const struct pawl__backend_table refuses = { .apply = refuse_all,
                                                    .note = note_nothing,
                                                    .get_notice = get_no_notice };

/* ---- opening ---- */

static void close_wake(struct pawl__store *store)
{
    if (store->wake) store->wake->table->close(store->wake);
}

enum pawl_err pawl__store_open(const struct pawl_config *config, struct pawl__store **out,
                               struct pawl_diag *diag)
{
    const struct pawl__backend_table *table;
    struct pawl_config its = *config;
    enum pawl_err err = find_backend(&its, &table, diag);
    if (err) return err;
    struct pawl__store *store = calloc(1, sizeof *store);
    if (!store) return pawl__fail_nomem(diag);
    store->table = table;
    err = table->open(&its, &store->backend, diag);
    if (err) goto fail;
    err = open_wake(&its, store, diag);
    if (err) goto fail;
    err = pawl__committer_open(&store->committer, config->read_only ? &refuses : table,
                               store->backend, store->wake, config->clock, diag);
    if (err) goto fail;
    pawl__mutex_init(&store->watching);
    *out = store;
    return PAWL_OK;
fail:
    close_wake(store);
    if (store->backend) table->close(store->backend);
    free(store);
    return err;
}

void pawl__store_close(struct pawl__store *store)
{
    if (!store) return;
    pawl__committer_close(&store->committer);
    close_wake(store);
    store->table->close(store->backend);
    pawl__mutex_release(&store->watching);
    free(store);
}

void pawl__store_post(struct pawl__store *store, struct pawl__op *op)
{
    op->next = NULL;
    pawl__store_post_list(store, op);
}

void pawl__store_post_list(struct pawl__store *store, struct pawl__op *first)
{
    pawl__committer_post(&store->committer, first);
}

struct waiter {
    struct pawl__mutex mutex;
    struct pawl__cond answered;
    /* guarded by mutex: */
    bool done;
};

static void wake_waiter(struct pawl__op *op)
{
    struct waiter *waiter = op->user;
    pawl__lock(&waiter->mutex);
    waiter->done = true;
    pawl__cond_signal(&waiter->answered); // under the lock: the waiter's frame may go right after
    pawl__unlock(&waiter->mutex);
}

enum pawl_err pawl__store_do(struct pawl__store *store, struct pawl__op *op)
{
    op->next = NULL;
    if (pawl__committer_do(&store->committer, op)) return op->err;
    struct waiter waiter = { .done = false };
    pawl__mutex_init(&waiter.mutex);
    pawl__cond_init(&waiter.answered);
    op->done = wake_waiter;
    // cppcheck-suppress autoVariables ; we wait below until the op is done with it
    op->user = &waiter;
    pawl__store_post(store, op);
    pawl__lock(&waiter.mutex);
    while (!waiter.done) {
        pawl__cond_wait(&waiter.answered, &waiter.mutex);
    }
    pawl__unlock(&waiter.mutex);
    pawl__cond_release(&waiter.answered);
    pawl__mutex_release(&waiter.mutex);
    return op->err;
}

enum pawl_err pawl__store_watch(struct pawl__store *store, pawl__notice_fn *fn, void *ctx,
                                bool all_moves, struct pawl_diag *diag)
{
    pawl__lock(&store->watching);
    struct pawl__wake *wake = store->wake;
    enum pawl_err err = wake ? wake->table->listen(wake, fn, ctx, diag) : PAWL_OK;
    if (!err) pawl__committer_watch(&store->committer, fn, ctx, all_moves);
    pawl__unlock(&store->watching);
    return err;
}

void pawl__store_wake_state(struct pawl__store *store, struct pawl__wake_state *out)
{
    *out = (struct pawl__wake_state){ .sent = 0 };
    if (store->wake) store->wake->table->state(store->wake, out);
}

void pawl__store_counters_get(struct pawl__store *store, struct pawl__store_counters *out)
{
    pawl__lock(&store->committer.mutex);
    *out = store->committer.counters;
    pawl__unlock(&store->committer.mutex);
}

/* A server elsewhere has said it. */
static void say_holds(struct pawl_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool said = jobs[i].hold && *jobs[i].hold;
        if (!said) jobs[i].hold = pawl__job_hold(&jobs[i]);
    }
}

enum pawl_err pawl__store_get(struct pawl__store *store, const struct pawl_job_id *ids,
                              size_t count, struct pawl__arena *arena, struct pawl_job **out,
                              size_t *out_count, struct pawl_diag *diag)
{
    enum pawl_err err = store->table->get(store->backend, ids, count, arena, out, out_count, diag);
    if (!err) say_holds(*out, *out_count);
    return err;
}

enum pawl_err pawl__store_query(struct pawl__store *store, const struct pawl_filter *filter,
                                const struct pawl_page *page, struct pawl__arena *arena,
                                struct pawl_jobs *out, struct pawl_diag *diag)
{
    assert(page->limit >= 1 && page->limit <= PAWL_PAGE_MAX);
    enum pawl_err err = store->table->query(store->backend, filter, page, arena, out, diag);
    if (!err) say_holds(out->at, out->count);
    return err;
}

enum pawl_err pawl__store_count(struct pawl__store *store, const struct pawl_filter *filter,
                                int64_t *out, struct pawl_diag *diag)
{
    return store->table->count(store->backend, filter, out, diag);
}

enum pawl_err pawl__store_story(struct pawl__store *store, struct pawl_job_id id,
                                const struct pawl_job *known, struct pawl__arena *arena,
                                struct pawl_story *out, struct pawl_diag *diag)
{
    enum pawl_err err = store->table->story(store->backend, id, known, arena, out, diag);
    if (!err) say_holds(&out->job, 1);
    return err;
}

enum pawl_err pawl__store_stats(struct pawl__store *store, struct pawl__arena *arena,
                                struct pawl_stats *out, struct pawl_diag *diag)
{
    return store->table->stats(store->backend, arena, out, diag);
}

enum pawl_err pawl__store_nodes(struct pawl__store *store, struct pawl__arena *arena,
                                struct pawl_nodes *out, struct pawl_diag *diag)
{
    return store->table->nodes(store->backend, arena, out, diag);
}

enum pawl_err pawl__store_locks(struct pawl__store *store, struct pawl__arena *arena,
                                struct pawl_locks *out, struct pawl_diag *diag)
{
    return store->table->locks(store->backend, arena, out, diag);
}

enum pawl_err pawl__store_setting(struct pawl__store *store, const char *name,
                                  struct pawl__arena *arena, const char **out,
                                  struct pawl_diag *diag)
{
    return store->table->setting(store->backend, name, arena, out, diag);
}

enum pawl_err pawl__store_settings(struct pawl__store *store, const char *prefix,
                                   struct pawl__arena *arena, struct pawl_settings *out,
                                   struct pawl_diag *diag)
{
    return store->table->settings(store->backend, prefix, arena, out, diag);
}

enum pawl_err pawl__store_tokens(struct pawl__store *store, struct pawl__arena *arena,
                                 struct pawl_tokens *out, struct pawl_diag *diag)
{
    return store->table->tokens(store->backend, arena, out, diag);
}

enum pawl_err pawl__store_schemas(struct pawl__store *store,
                                  const struct pawl_args_schema_filter *filter,
                                  struct pawl__arena *arena, struct pawl_args_schemas *out,
                                  struct pawl_diag *diag)
{
    return store->table->schemas(store->backend, filter, arena, out, diag);
}

enum pawl_err pawl__store_flows(struct pawl__store *store, const struct pawl__flow_ask *ask,
                                struct pawl__arena *arena, struct pawl__flow_rows *out,
                                struct pawl_diag *diag)
{
    return store->table->flows(store->backend, ask, arena, out, diag);
}

enum pawl_err pawl__store_schedules(struct pawl__store *store, const struct pawl__schedule_ask *ask,
                                    struct pawl__arena *arena, struct pawl__schedule_rows *out,
                                    struct pawl_diag *diag)
{
    return store->table->schedules(store->backend, ask, arena, out, diag);
}

enum pawl_err pawl__store_configs(struct pawl__store *store, const char *queue,
                                  struct pawl__arena *arena, struct pawl_queue_configs *out,
                                  struct pawl_diag *diag)
{
    return store->table->configs(store->backend, queue, arena, out, diag);
}

enum pawl_err pawl__store_backup(struct pawl__store *store, const char *path,
                                 pawl_progress_fn *progress, void *ctx, struct pawl_diag *diag)
{
    return store->table->backup(store->backend, path, progress, ctx, diag);
}

enum pawl_err pawl__store_check(struct pawl__store *store, pawl_finding_fn *report, void *ctx,
                                struct pawl_diag *diag)
{
    return store->table->check(store->backend, report, ctx, diag);
}

enum pawl_err pawl__store_schema(const struct pawl_config *config, struct pawl_schema *out,
                                 struct pawl_diag *diag)
{
    const struct pawl__backend_table *table;
    struct pawl_config its = *config;
    enum pawl_err err = find_backend(&its, &table, diag);
    return err ? err : table->schema(&its, out, diag);
}
