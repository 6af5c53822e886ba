/* Settings from the environment and from a file.
 *
 * The sources are read in this order: command line, environment, file. The first value wins. The
 * error about an invalid value names its source. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

enum { CONFIG_BYTES_MAX = 1024 * 1024 };

/* ---- the environment ---- */

/* Only names similar to a setting's are refused, as misspelt. Others are ignored: Kubernetes puts
 * PAWL_PORT and the like into every container next to a service called "pawl". */
static int check_env_name(const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    char envs[PAWL__CLI_OPT_END][PAWL__CLI_ENV_BYTES];
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (!(pawl__cli_options[i].group & PAWL__CLI_SETTINGS)) continue;
        pawl__cli_option_env(&pawl__cli_options[i], envs[i]);
        if (strcmp(envs[i], name) == 0) return PAWL__CLI_EXIT_OK;
        pawl__nearest_offer(&nearest, envs[i]);
    }
    if (!nearest.best || nearest.distance > 2) return PAWL__CLI_EXIT_OK;
    pawl__cli_error("\"%s\" in the environment is not a setting", name);
    (void)pawl__cli_did_you_mean(&nearest, "");
    return PAWL__CLI_EXIT_USAGE;
}

static int check_env(struct pawl__cli *cli, char **environ_given)
{
    for (size_t i = 0; environ_given[i]; i++) {
        const char *entry = environ_given[i];
        if (strncmp(entry, "PAWL_", 5) != 0) continue;
        char *name = pawl__cli_need(pawl__arena_dup(&cli->arena, entry, strcspn(entry, "=")));
        int code = check_env_name(name);
        if (code) return code;
    }
    return PAWL__CLI_EXIT_OK;
}

/* A store and a server exclude each other: if one source names either, later sources may not name
 * the other. */
static bool is_settled(const struct pawl__cli *cli)
{
    return cli->values[PAWL__CLI_OPT_STORE].count || cli->values[PAWL__CLI_OPT_SERVER].count;
}

static bool is_place(size_t id)
{
    return id == PAWL__CLI_OPT_STORE || id == PAWL__CLI_OPT_SERVER;
}

static int check_place(const struct pawl__cli *cli, const char *source)
{
    if (!cli->values[PAWL__CLI_OPT_STORE].count || !cli->values[PAWL__CLI_OPT_SERVER].count) {
        return PAWL__CLI_EXIT_OK;
    }
    pawl__cli_error("%s both a store and a server", source);
    pawl__cli_hint("leave one of them out");
    return PAWL__CLI_EXIT_USAGE;
}

static int read_env(struct pawl__cli *cli)
{
    bool settled = is_settled(cli);
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if (!(option->group & PAWL__CLI_SETTINGS) || cli->values[i].count) continue;
        if (settled && is_place(i)) continue;
        char name[PAWL__CLI_ENV_BYTES];
        pawl__cli_option_env(option, name);
        const char *value = getenv(name);
        if (!value || !*value) continue; // empty counts as not set
        if (!pawl__cli_kind_check(option->kind, value)) {
            char what[PAWL__CLI_ENV_BYTES + 24];
            snprintf(what, sizeof what, "%s in the environment", name);
            return pawl__cli_bad_value(cli, option->kind, value, what);
        }
        pawl__cli_values_add(cli, &cli->values[i], value);
    }
    const char *no_color = getenv("NO_COLOR"); // https://no-color.org: set and not empty
    if (no_color && *no_color && !cli->values[PAWL__CLI_OPT_NO_COLOR].count) {
        pawl__cli_values_add(cli, &cli->values[PAWL__CLI_OPT_NO_COLOR], "true");
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- the file ---- */

struct config_line {
    struct pawl__cli *cli;
    const char *path;
    size_t number;
    bool settled;                   /* an earlier source has named a store or server */
    size_t seen[PAWL__CLI_OPT_END]; /* the line that gave a setting; 0: none */
};

/* Without the white space around it, NUL-terminated in place. */
static char *trim(char *text, size_t len)
{
    while (len && isspace((unsigned char)text[len - 1])) {
        len--;
    }
    text[len] = '\0';
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

static int unknown_setting(const struct config_line *line, const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if ((pawl__cli_options[i].group & PAWL__CLI_SETTINGS) && i != PAWL__CLI_OPT_CONFIG) {
            pawl__nearest_offer(&nearest, pawl__cli_options[i].name);
        }
    }
    pawl__cli_error("%s:%zu: there is no setting \"%s\"", line->path, line->number, name);
    if (!pawl__cli_did_you_mean(&nearest, "")) {
        pawl__cli_hint("\"pawl help\" lists the settings");
    }
    return PAWL__CLI_EXIT_USAGE;
}

static int set_from_file(struct config_line *line, const char *name, const char *value)
{
    enum pawl__cli_option_id id = pawl__cli_option_find(PAWL__CLI_SETTINGS, name, strlen(name));
    if (id == PAWL__CLI_OPT_END || id == PAWL__CLI_OPT_CONFIG) return unknown_setting(line, name);
    if (line->seen[id]) {
        return pawl__cli_usage("%s:%zu: \"%s\" is already set in line %zu", line->path,
                               line->number, name, line->seen[id]);
    }
    line->seen[id] = line->number;
    enum pawl__cli_kind kind = pawl__cli_options[id].kind;
    if (!pawl__cli_kind_check(kind, value)) {
        char what[PATH_MAX + 64];
        snprintf(what, sizeof what, "%s:%zu: \"%s\"", line->path, line->number, name);
        return pawl__cli_bad_value(line->cli, kind, value, what);
    }
    struct pawl__cli_values *values = &line->cli->values[id];
    if (values->count || (line->settled && is_place(id))) return PAWL__CLI_EXIT_OK;
    pawl__cli_values_add(line->cli, values, value);
    return PAWL__CLI_EXIT_OK;
}

/* `name = value`; a # begins a comment where a line or white space does. */
static int read_line(struct config_line *line, char *text, size_t len)
{
    if (memchr(text, '\0', len)) {
        return pawl__cli_usage("%s:%zu: not text", line->path, line->number);
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '#' && (i == 0 || isspace((unsigned char)text[i - 1]))) len = i;
    }
    char *name = trim(text, len);
    if (!*name) return PAWL__CLI_EXIT_OK;
    char *equals = strchr(name, '=');
    if (!equals) {
        pawl__cli_error("%s:%zu: no \"=\" in \"%s\"", line->path, line->number,
                        pawl__cli_shown(line->cli, name));
        pawl__cli_hint("a line is \"name = value\"");
        return PAWL__CLI_EXIT_USAGE;
    }
    char *value = trim(equals + 1, strlen(equals + 1));
    return set_from_file(line, trim(name, (size_t)(equals - name)), value);
}

static char *read_whole(struct pawl__cli *cli, const char *path, size_t *len)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    if (!file) {
        pawl__cli_error("could not read the configuration \"%s\": %s", path, strerror(errno));
        return NULL;
    }
    text = pawl__cli_need(pawl__arena_alloc(&cli->arena, CONFIG_BYTES_MAX + 1));
    *len = fread(text, 1, CONFIG_BYTES_MAX + 1, file);
    if (ferror(file)) {
        pawl__cli_error("could not read the configuration \"%s\": %s", path, strerror(errno));
        text = NULL;
    } else if (*len > CONFIG_BYTES_MAX) {
        pawl__cli_error("the configuration \"%s\" is longer than %d bytes", path, CONFIG_BYTES_MAX);
        text = NULL;
    }
    fclose(file);
    return text;
}

static int read_config(struct pawl__cli *cli)
{
    const char *path = pawl__cli_text(cli, PAWL__CLI_OPT_CONFIG);
    if (!path) return PAWL__CLI_EXIT_OK;
    size_t len = 0;
    char *text = read_whole(cli, path, &len);
    if (!text) return PAWL__CLI_EXIT_USAGE;
    struct config_line line = { .cli = cli, .path = path, .settled = is_settled(cli) };
    for (size_t at = 0; at < len;) {
        char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline ? (size_t)(newline - text) : len;
        line.number++;
        int code = read_line(&line, text + at, end - at);
        if (code) return code;
        at = end + 1;
    }
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_settings(struct pawl__cli *cli, char **environ_given)
{
    int code = check_env(cli, environ_given);
    if (!code) code = check_place(cli, "the command line names");
    if (!code) code = read_env(cli);
    if (!code) code = check_place(cli, "the environment names");
    if (!code) code = read_config(cli);
    if (!code) code = check_place(cli, "the configuration names");
    return code ? code : pawl__cli_set_place(cli);
}
