/* Opening and closing a store on PostgreSQL, and what makes it one: the table of its functions. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pawl__pg_open pawl__pg_how(const struct pawl__backend *pg, bool write)
{
    return (struct pawl__pg_open){ .url = pg->url,
                                   .timeout_ms = pg->busy_timeout_ms,
                                   .write = write,
                                   .relaxed = pg->durability == PAWL_DURABILITY_RELAXED };
}

/* Stores in different schemas of one database do not wake each other. */
static enum pawl_err name_channel(struct pawl__backend *pg, struct pawl_diag *diag)
{
    pawl__pg_call(&pg->writer, PG_WHO_SERVES);
    PGresult *who;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &who, diag);
    if (err) return err;
    const char *schema = pawl__pg_raw(who, 0, 2).at;
    bool usual = strcmp(schema, "public") == 0;
    snprintf(pg->channel, sizeof pg->channel, "pawl%s%.50s", usual ? "" : "_",
             usual ? "" : schema); // names are cut at 63 bytes
    return PAWL_OK;
}

enum pawl_err pawl__pg_reconnect(struct pawl__backend *pg, struct pawl_diag *diag)
{
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    pawl__pg_conn_release(&pg->writer);
    pg->catalog_version = 0;
    return pawl__pg_connect(&how, &pg->writer, diag);
}

/* The schema is looked after on a connection of its own: several statements in one text are not for
 * pipeline mode. */
static enum pawl_err migrate(struct pawl__backend *pg, const struct pawl__pg_migrate *how,
                             struct pawl_diag *diag)
{
    struct pawl__pg_open plain = pawl__pg_how(pg, true);
    PGconn *conn;
    enum pawl_err err = pawl__pg_connect_plain(&plain, &conn, diag);
    if (err) return err;
    err = pawl__pg_migrate(conn, how, diag);
    PQfinish(conn);
    return err;
}

static enum pawl_err connect_writer(struct pawl__backend *pg, const struct pawl__pg_migrate *how,
                                    struct pawl_diag *diag)
{
    enum pawl_err err = migrate(pg, how, diag);
    if (!err) err = pawl__pg_reconnect(pg, diag);
    if (!err) err = pawl__sql_boost_read(pg, diag);
    return err || pg->read_only ? err : pawl__pg_turns_forget(pg, diag);
}

static void close_store(struct pawl__backend *pg)
{
    pawl__pg_janitor_close(pg);
    if (!pg->read_only) (void)pawl__pg_turns_forget(pg, NULL);
    pawl__pg_conn_release(&pg->writer);
    pawl__pg_readers_drop(pg);
    pawl__set_release(&pg->set);
    pawl__pg_rolls_release(pg);
    pawl__arena_release(&pg->arena);
    pawl__pool_release(&pg->sql.pool);
    free(pg->url);
    free(pg);
}

static struct pawl__backend *pg_new(const char *url, uint64_t seed)
{
    struct pawl__backend *pg = calloc(1, sizeof *pg);
    if (!pg) return NULL;
    pawl__pool_init(&pg->sql.pool, PAWL__READERS_MAX);
    pawl__pg_janitor_init(pg);
    pg->home = pg;
    pawl__set_init(&pg->set, &pawl__pg_core, pg, seed);
    pg->sql.reads = &pawl__pg_reads;
    pg->sql.set = &pg->set;
    pg->tag = pawl__rng_system_seed(); // not from the seed: it tells those who write apart
    pg->url = strdup(url);
    if (pg->url) return pg;
    close_store(pg);
    return NULL;
}

static enum pawl_err open_store(const struct pawl_config *config, struct pawl__backend **out,
                                struct pawl_diag *diag)
{
    struct pawl__backend *pg = pg_new(config->store, config->seed);
    if (!pg) return pawl__fail_nomem(diag);
    pg->durability = config->durability;
    pg->busy_timeout_ms = config->busy_timeout_ms;
    pg->read_only = config->read_only;
    pg->clock = config->clock;
    enum pawl_err err =
        connect_writer(pg,
                       &(struct pawl__pg_migrate){ .wait_ms = config->busy_timeout_ms,
                                                   .no_migrate = config->no_migrate,
                                                   .must_exist = config->must_exist,
                                                   .must_renew = config->must_renew },
                       diag);
    if (!err) err = name_channel(pg, diag);
    if (err) {
        close_store(pg);
        return err;
    }
    *out = pg;
    return PAWL_OK;
}

/* Its numbers are drawn from the system: with several sessions nothing can be repeated by a seed.
 */
static enum pawl_err join_store(struct pawl__backend *home, struct pawl__backend **out,
                                struct pawl_diag *diag)
{
    struct pawl__backend *pg = pg_new(home->url, pawl__rng_system_seed());
    if (!pg) return pawl__fail_nomem(diag);
    pg->home = home;
    pg->durability = home->durability;
    pg->busy_timeout_ms = home->busy_timeout_ms;
    pg->clock = home->clock;
    enum pawl_err err = pawl__pg_reconnect(pg, diag);
    if (!err) err = pawl__sql_boost_read(pg, diag);
    if (err) {
        close_store(pg);
        return err;
    }
    *out = pg;
    return PAWL_OK;
}

static void order_commits(struct pawl__backend *pg, pawl__order_fn *fn, void *ctx)
{
    pg->order = fn;
    pg->order_ctx = ctx;
}

/* The server has recovered by itself whatever it had to: what is left is to see that it is one that
 * takes our writes and has our schema. */
static enum pawl_err reopen_store(struct pawl__backend *pg, struct pawl_diag *diag)
{
    pawl__pg_readers_drop(pg);
    return connect_writer(pg,
                          &(struct pawl__pg_migrate){ .wait_ms = pg->busy_timeout_ms,
                                                      .no_migrate = true,
                                                      .must_exist = true },
                          diag);
}

static enum pawl_err read_schema(const struct pawl_config *config, struct pawl_schema *out,
                                 struct pawl_diag *diag)
{
    struct pawl__pg_open how = { .url = config->store, .timeout_ms = config->busy_timeout_ms };
    PGconn *conn;
    enum pawl_err err = pawl__pg_connect_plain(&how, &conn, diag);
    if (err) return err;
    err = pawl__pg_schema_read(conn, how.timeout_ms, out, diag);
    PQfinish(conn);
    return err;
}

static enum pawl_err refuse_backup(struct pawl__backend *pg, const char *path,
                                   pawl_progress_fn *progress, void *ctx, struct pawl_diag *diag)
{
    (void)pg;
    (void)path;
    (void)progress;
    (void)ctx;
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "a store on PostgreSQL is backed up with PostgreSQL's own tools: use "
                            "pg_dump or pg_basebackup");
}

static const struct pawl__backend_table table = {
    .scheme = "postgres://",
    .name = "postgres",
    .open = open_store,
    .close = close_store,
    .apply = pawl__pg_apply,
    .reopen = reopen_store,
    .session_max = PAWL__PG_SESSIONS_MAX,
    .join = join_store,
    .order = order_commits,
    .note = pawl__sql_note,
    .get_notice = pawl__sql_get_notice,
    .wake = pawl__pg_wake,
    .identify = pawl__pg_identify,
    .get = pawl__read_get,
    .query = pawl__read_query,
    .count = pawl__read_count,
    .story = pawl__read_story,
    .stats = pawl__read_stats,
    .nodes = pawl__read_nodes,
    .locks = pawl__read_locks,
    .setting = pawl__read_setting,
    .settings = pawl__read_settings,
    .tokens = pawl__read_tokens,
    .schemas = pawl__read_schemas,
    .configs = pawl__read_configs,
    .flows = pawl__read_flows,
    .schedules = pawl__read_schedules,
    .backup = refuse_backup,
    .check = pawl__read_check,
    .schema = read_schema,
};

const struct pawl__store_module pawl_store_module = PAWL__STORE_MODULE(&table);
