/* Opens the store that the settings name, or says what to do if that fails. */
#include "cli/cli.h"
#include "base/url.h"

#include <errno.h>
#include <libgen.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where ---- */

bool pawl__cli_is_remote(const struct pawl__cli *cli)
{
    return strncmp(cli->url, "http://", 7) == 0 || strncmp(cli->url, "https://", 8) == 0;
}

const char *pawl__cli_shown(struct pawl__cli *cli, const char *text)
{
    struct pawl__buf shown = { 0 };
    pawl__url_mask(&shown, text);
    if (shown.failed) pawl__cli_nomem();
    const char *kept = pawl__cli_need(pawl__arena_dup(&cli->arena, shown.at, shown.len));
    pawl__buf_release(&shown);
    return kept;
}

/* These commands work on the store itself, so a server is not enough. */
static bool needs_store(const struct pawl__cli_command *command)
{
    static pawl__cli_command_fn *const those[] = {
        pawl__cli_serve,  pawl__cli_migrate,   pawl__cli_backup,     pawl__cli_check,
        pawl__cli_upkeep, pawl__cli_token_add, pawl__cli_token_list, pawl__cli_token_revoke,
    };
    for (size_t i = 0; i < sizeof those / sizeof those[0]; i++) {
        if (command->run == those[i]) return true;
    }
    return false;
}

int pawl__cli_set_place(struct pawl__cli *cli)
{
    const struct pawl__cli_command *command = cli->command;
    const char *server = pawl__cli_text(cli, PAWL__CLI_OPT_SERVER);
    cli->url = server ? server : pawl__cli_text(cli, PAWL__CLI_OPT_STORE);
    cli->place = pawl__cli_shown(cli, cli->url);
    if (!pawl__cli_is_remote(cli) || !needs_store(command)) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("\"pawl %s%s%s\" needs the store itself, not a server", command->word,
                    command->second ? " " : "", command->second ? command->second : "");
    pawl__cli_hint("run it where \"%s\" keeps its jobs, with --store", cli->place);
    return PAWL__CLI_EXIT_USAGE;
}

/* ---- opening ---- */

struct pawl_config pawl__cli_config(const struct pawl__cli *cli)
{
    enum { FULL, RELAXED }; // as in the list of words
    bool relaxed = pawl__cli_int(cli, PAWL__CLI_OPT_DURABILITY) == RELAXED;
    int64_t busy_timeout_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_BUSY_TIMEOUT);
    return (struct pawl_config){
        .store = cli->url,
        .durability = relaxed ? PAWL_DURABILITY_RELAXED : PAWL_DURABILITY_FULL,
        .busy_timeout_ms = busy_timeout_ms ? busy_timeout_ms : 1, // 0 would mean the default
        .allow_network_fs = pawl__cli_flag(cli, PAWL__CLI_OPT_FORCE_NETWORK_FS),
        .token = pawl__cli_text(cli, PAWL__CLI_OPT_TOKEN),
        .ca_file = pawl__cli_text(cli, PAWL__CLI_OPT_CA_FILE),
        // like durability, a setting of whatever opens the store: a server has its own
        .wake = pawl__cli_is_remote(cli) ? NULL : pawl__cli_text(cli, PAWL__CLI_OPT_WAKE),
    };
}

const char *pawl__cli_store_path(const struct pawl__cli *cli)
{
    struct pawl_store_kind kind;
    bool is_file = pawl_store_kind_of(cli->url, &kind) && kind.path && *kind.path;
    return is_file ? kind.path : NULL;
}

/* `path` is NULL if the store would not be a file. */
static void hint_missing(const char *path)
{
    struct stat info;
    if (!path) {
        pawl__cli_hint(
            "\"pawl submit\" creates a store; choose another with --store or PAWL_STORE");
        return;
    }
    char *copy = pawl__cli_need(strdup(path));
    const char *directory = dirname(copy);
    if (stat(directory, &info) != 0 && errno == ENOENT) {
        pawl__cli_hint("there is no directory \"%s\"; make it with \"mkdir -p\", or choose another "
                       "store with --store or PAWL_STORE",
                       directory);
    } else {
        pawl__cli_hint(
            "\"pawl submit\" creates a store; choose another with --store or PAWL_STORE");
    }
    free(copy);
}

bool pawl__cli_hint_path(const char *path)
{
    bool said = true;
    struct stat info;
    char *copy = pawl__cli_need(strdup(path));
    const char *directory = dirname(copy);
    if (stat(directory, &info) != 0 && errno == ENOENT) {
        pawl__cli_hint("there is no directory \"%s\"; make it with \"mkdir -p\"", directory);
    } else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        pawl__cli_hint("name a file in it, such as \"%s/pawl.db\"", path);
    } else if (eaccess(path, R_OK) == 0 && eaccess(path, W_OK) != 0) {
        const char *why = errno == EROFS ? "is on a read-only file system"
                                         : "may not be written by this user";
        pawl__cli_hint("\"%s\" %s; list, show, stats, top, check and backup only read it", path,
                       why);
    } else if (eaccess(path, F_OK) == 0 && eaccess(path, R_OK) != 0) {
        pawl__cli_hint("\"%s\" may not be read by this user; see \"ls -l\"", path);
    } else if (eaccess(directory, R_OK | W_OK | X_OK) != 0) {
        pawl__cli_hint("this user may not write in \"%s\"; see \"ls -ld\"", directory);
    } else {
        said = false;
    }
    free(copy);
    return said;
}

/* The most common mistake is a URL without its scheme. Exit code. */
static int bad_url(const struct pawl__cli *cli, const struct pawl_diag *diag)
{
    const char *url = cli->url;
    struct pawl_store_kind kind = { 0 };
    (void)pawl_store_kind_of(url, &kind);
    pawl__cli_error("%s", diag->text);
    if (!strchr(url, ':')) {
        pawl__cli_hint("a store is a URL: \"sqlite:%s\"", cli->place);
    } else if (kind.path && !*kind.path) {
        pawl__cli_hint("write \"%spawl.db\"", url);
    } else if (kind.path) {
        pawl__cli_hint(
            "keep the store on a local disk, or use --force-network-fs at your own risk");
        return PAWL__CLI_EXIT_STORE;
    }
    return PAWL__CLI_EXIT_USAGE;
}

int pawl__cli_open_failed(const struct pawl__cli *cli, enum pawl_err err,
                          const struct pawl_diag *diag)
{
    const char *path = pawl__cli_store_path(cli);
    if (pawl__cli_is_remote(cli)) return pawl__cli_fail(err, diag);
    if (strcmp(diag->field, "wake") == 0) {
        pawl__cli_error("%s", diag->text);
        pawl__cli_hint("correct --wake or PAWL_WAKE, or leave it out: then processes wake each "
                       "other through the store");
        return PAWL__CLI_EXIT_USAGE;
    }
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__cli_error("%s", diag->text);
        hint_missing(path);
        return PAWL__CLI_EXIT_STORE;
    }
    if (err == PAWL_ERR_UNSUPPORTED || (err == PAWL_ERR_ARG && !path)) {
        return bad_url(cli, diag);
    }
    if (err == PAWL_ERR_CORRUPT && strstr(diag->text, "not a database")) {
        pawl__cli_error("%s", diag->text); // "pawl check" could say no more
        pawl__cli_hint("this is not a pawl store; choose another with --store or PAWL_STORE");
        return PAWL__CLI_EXIT_STORE;
    }
    bool place = err == PAWL_ERR_IO || err == PAWL_ERR_READONLY || err == PAWL_ERR_ARG;
    return place && path ? pawl__cli_fail_at(err, diag, path) : pawl__cli_fail(err, diag);
}

/* Only "pawl migrate" changes the schema of a store, since other programs may have it open. Other
 * commands may only create a store. */
static bool may_migrate(const struct pawl__cli *cli, const struct pawl_config *config)
{
    struct pawl_schema schema;
    if (cli->command->run == pawl__cli_migrate) return true;
    if (config->must_exist || pawl__cli_is_remote(cli)) return false;
    enum pawl_err err = pawl_schema_get(config, &schema, NULL);
    return err == PAWL_ERR_NOT_FOUND || (!err && schema.version == 0);
}

/* Another process may be creating the store just now: then its schema could not be read, or was not
 * there yet when the store was opened. */
static enum pawl_err open_store(struct pawl__cli *cli, struct pawl_config *config,
                                struct pawl_diag *diag)
{
    enum { TRIES = 3 };
    enum pawl_err err = PAWL_ERR_SCHEMA;
    for (int tries = 0; err == PAWL_ERR_SCHEMA && tries < TRIES; tries++) {
        config->no_migrate = !may_migrate(cli, config);
        err = pawl_open(config, &cli->pawl, diag);
    }
    return err;
}

int pawl__cli_open(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl_config config = pawl__cli_config(cli);
    config.must_exist = cli->command->store != PAWL__CLI_STORE_CREATE;
    struct pawl_store_kind kind;
    pawl__cli_hint_served(pawl_store_kind_of(cli->url, &kind) && kind.served);
    pawl__cli_hint_token(config.token || strchr(cli->url, '@'));
    config.must_renew = cli->command->run == pawl__cli_migrate;
    config.read_only = cli->command->store == PAWL__CLI_STORE_READ;
    enum pawl_err err = open_store(cli, &config, &diag);
    if (err == PAWL_ERR_READONLY && cli->command->run == pawl__cli_top) {
        config.read_only = true; // keys that change something are then refused
        err = pawl_open(&config, &cli->pawl, &diag);
    }
    return err ? pawl__cli_open_failed(cli, err, &diag) : PAWL__CLI_EXIT_OK;
}

bool pawl__cli_script_is_old(const struct pawl__cli *cli)
{
    struct pawl_schema schema;
    struct pawl_config config = pawl__cli_config(cli);
    return !pawl__cli_is_remote(cli) && !pawl_schema_get(&config, &schema, NULL) &&
           schema.script_old;
}
