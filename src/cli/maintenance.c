/* Maintenance of the store: pawl migrate, backup, check and upkeep. */
#include "cli/cli.h"

#include <inttypes.h>
#include <sys/stat.h>

/* ---- migrate ---- */

static void put_json(struct pawl__cli *cli, const struct pawl_schema *before,
                     const struct pawl_schema *after)
{
    PAWL__CLI_PUT(cli, PAWL__HERE_INT("before", before->version),
                  PAWL__HERE_INT("after", after->version),
                  PAWL__SOME_INT("newest", after->newest), // unknown without a store
                  PAWL__SOME("script_old", BOOL, bool, after->script_old));
}

static void put_versions(struct pawl__cli *cli, const struct pawl_schema *before,
                         const struct pawl_schema *after)
{
    if (cli->json) {
        put_json(cli, before, after);
        return;
    }
    char was[32];
    snprintf(was, sizeof was, before->version ? "version %" PRId32 : "none", before->version);
    if (after->version != before->version) {
        pawl__buf_printf(&cli->out, "schema: %s before, version %" PRId32 " now\n", was,
                         after->version);
    } else if (!after->version) {
        pawl__buf_add_text(&cli->out, "schema: none yet; \"pawl migrate\" creates it\n");
    } else if (after->script_old) {
        pawl__buf_printf(&cli->out, "schema: %s, but the functions for SQL are out of date\n", was);
    } else if (before->script_old) {
        pawl__buf_printf(&cli->out, "schema: %s, the functions for SQL were renewed\n", was);
    } else if (after->version == after->newest) {
        pawl__buf_printf(&cli->out, "schema: %s, up to date\n", was);
    } else {
        pawl__buf_printf(&cli->out, "schema: %s, this program knows version %" PRId32 "\n", was,
                         after->newest);
    }
}

/* If there is no store yet, only `newest` is not 0. */
static int read_schema(struct pawl__cli *cli, struct pawl_schema *schema)
{
    struct pawl_diag diag = { 0 };
    struct pawl_config config = pawl__cli_config(cli);
    enum pawl_err err = pawl_schema_get(&config, schema, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        schema->version = 0;
        return PAWL__CLI_EXIT_OK;
    }
    return err ? pawl__cli_open_failed(cli, err, &diag) : PAWL__CLI_EXIT_OK;
}

int pawl__cli_migrate(struct pawl__cli *cli)
{
    struct pawl_schema before = { 0 }, after = { 0 };
    int code = read_schema(cli, &before);
    if (code) return code;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_CHECK)) {
        put_versions(cli, &before, &before);
        if (before.version > before.newest) return PAWL__CLI_EXIT_STORE;
        bool current = before.version == before.newest && before.version && !before.script_old;
        return current ? PAWL__CLI_EXIT_OK : PAWL__CLI_EXIT_REFUSED;
    }
    code = pawl__cli_open(cli);
    if (!code) code = read_schema(cli, &after);
    if (!code) put_versions(cli, &before, &after);
    return code;
}

/* ---- backup ---- */

struct copying {
    struct pawl__cli_bar bar;
    bool begun;
    struct pawl__cli *cli;
};

static int on_progress(void *ctx, int64_t done, int64_t total)
{
    struct copying *copying = ctx;
    if (!copying->begun) pawl__cli_bar_begin(copying->cli, &copying->bar, "pages", total);
    copying->begun = true;
    copying->bar.total = total;
    pawl__cli_bar_draw(&copying->bar, done, NULL);
    return pawl__cli_interrupted();
}

/* The file may be the store itself, so a hint to remove it needs care. */
static int backup_failed(const struct pawl__cli *cli, enum pawl_err err, const char *path,
                         const struct pawl_diag *diag)
{
    struct stat there, store;
    const char *store_path = pawl__cli_store_path(cli);
    if (err == PAWL_ERR_IO) return pawl__cli_fail_at(err, diag, path);
    if (err != PAWL_ERR_EXISTS) return pawl__cli_fail(err, diag);
    bool known = stat(path, &there) == 0;
    if (known && store_path && stat(store_path, &store) == 0 && store.st_dev == there.st_dev &&
        store.st_ino == there.st_ino) {
        pawl__cli_error("\"%s\" is the store itself", path);
        pawl__cli_hint("choose another name for the backup");
    } else if (known && S_ISDIR(there.st_mode)) {
        pawl__cli_error("\"%s\" is a directory", path);
        pawl__cli_hint("name a file in it, such as \"%s/backup.db\"", path);
    } else {
        pawl__cli_error("%s", diag->text);
        pawl__cli_hint("choose another name, or remove the file first");
    }
    return PAWL__CLI_EXIT_REFUSED;
}

int pawl__cli_backup(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct copying copying = { .cli = cli };
    const char *path = cli->operands.at[0];
    int code = pawl__cli_open(cli);
    if (code) return code;
    pawl__cli_calm(true);
    enum pawl_err err = pawl_backup(cli->pawl, path, on_progress, &copying, &diag);
    pawl__cli_bar_end(&copying.bar);
    if (err && pawl__cli_interrupted()) {
        pawl__cli_error("interrupted; no backup was made");
        return PAWL__CLI_EXIT_INTERRUPTED;
    }
    if (err) return backup_failed(cli, err, path, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("file", path));
    } else if (!cli->quiet) {
        pawl__cli_put_text(&cli->out, "backed up to ", path);
        pawl__buf_add_text(&cli->out, "\n");
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- check ---- */

struct findings {
    struct pawl__cli *cli;
    struct pawl__cli_values list; /* for --json */
};

static void on_finding(void *ctx, const char *finding)
{
    struct findings *findings = ctx;
    struct pawl__cli *cli = findings->cli;
    if (cli->json) {
        pawl__cli_values_add(
            cli, &findings->list,
            pawl__cli_need(pawl__arena_dup(&cli->arena, finding, strlen(finding))));
    } else {
        pawl__cli_put_text(&cli->out, "", finding);
        pawl__buf_add_text(&cli->out, "\n");
    }
}

int pawl__cli_check(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct findings findings = { .cli = cli };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl_check(cli->pawl, on_finding, &findings, &diag);
    if (err && err != PAWL_ERR_CORRUPT) {
        pawl__buf_clear(&cli->out);
        return pawl__cli_fail(err, &diag);
    }
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXTS("findings", findings.list.at, findings.list.count),
                      PAWL__HERE_BOOL("ok", !err));
    } else if (!err && !cli->quiet) {
        pawl__buf_add_text(&cli->out, "no damage found\n");
    }
    code = pawl__cli_flush(cli);
    if (!err || code) return code;
    pawl__cli_error("%s", diag.text);
    pawl__cli_hint("keep a copy of the file as it is; one made by \"pawl backup\" can take its "
                   "place");
    return PAWL__CLI_EXIT_REFUSED;
}

/* ---- upkeep ---- */

#define KINDS(X)                                                                                   \
    X(promoted)                                                                                    \
    X(lapsed)                                                                                      \
    X(expired)                                                                                     \
    X(missed)                                                                                      \
    X(archived)                                                                                    \
    X(purged)

#define X(name) PAWL__MEMBER(#name, INT64, struct pawl_upkeep, name, .flags = PAWL__ALWAYS),
static const struct pawl__member upkeep_members[] = { KINDS(X) };
#undef X
static const struct pawl__shape upkeep_shape = PAWL__SHAPE(struct pawl_upkeep, upkeep_members);

static void put_upkeep(struct pawl__cli *cli, const struct pawl_upkeep *total)
{
    if (cli->json) {
        pawl__cli_put_json(cli, &upkeep_shape, total);
    } else if (!cli->quiet) {
#define X(name) pawl__buf_printf(&cli->out, "%-8s %" PRId64 "\n", #name, total->name);
        KINDS(X)
#undef X
    }
}

int pawl__cli_upkeep(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_upkeep total = { 0 }, turn = { 0 };
    struct pawl_retention retention = pawl__cli_retention(cli);
    struct pawl__cli_bar bar;
    int64_t moved = 1, all = 0;
    enum pawl_err err = PAWL_OK;
    int code = pawl__cli_open(cli);
    if (code) return code;
    pawl__cli_calm(true);
    pawl__cli_bar_begin(cli, &bar, "jobs processed", 0);
    while (!err && (moved || turn.more) && !pawl__cli_interrupted()) {
        moved = 0;
        err = pawl_upkeep_turn(cli->pawl, &retention, &turn, &diag);
        if (err) break;
#define X(name) total.name += turn.name, moved += turn.name;
        KINDS(X)
#undef X
        all += moved;
        pawl__cli_bar_draw(&bar, all, NULL);
    }
    pawl__cli_bar_end(&bar);
    put_upkeep(cli, &total);
    code = pawl__cli_flush(cli);
    if (err) return pawl__cli_fail(err, &diag);
    if (!moved || code) return code;
    pawl__cli_error("interrupted; the changes counted above were made");
    return PAWL__CLI_EXIT_INTERRUPTED;
}
