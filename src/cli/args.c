/* The command line.
 *
 * getopt_long would not do: which options exist depends on the command, an unknown one gets a
 * suggestion, "-5" may be a priority, and abbreviations are not accepted, since one could become
 * ambiguous with a later option. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <assert.h>
#include <ctype.h>

void pawl__cli_values_add(struct pawl__cli *cli, struct pawl__cli_values *values, const char *text)
{
    if (values->count == values->cap) {
        size_t cap = values->cap ? values->cap * 2 : 4;
        const char **at =
            pawl__cli_need(pawl__arena_calloc(&cli->arena, cap, sizeof(const char *)));
        if (values->count) memcpy(at, values->at, values->count * sizeof(const char *));
        values->at = at;
        values->cap = cap;
    }
    values->at[values->count++] = text;
}

/* ---- did you mean ---- */

static int unknown_word(const char *word, const char *group)
{
    struct pawl__nearest nearest = { .word = word };
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (command->hidden || (group && strcmp(group, command->word) != 0)) continue;
        const char *candidate = group ? command->second : command->word;
        if (candidate) pawl__nearest_offer(&nearest, candidate);
    }
    const char *space = group ? " " : "";
    if (!group) group = "";
    char before[64];
    snprintf(before, sizeof before, "pawl %s%s", group, space);
    pawl__cli_error("there is no command \"%s%s%s\"", group, space, word);
    if (!pawl__cli_did_you_mean(&nearest, before)) {
        pawl__cli_hint("\"pawl help%s%s\" lists the commands", space, group);
    }
    return PAWL__CLI_EXIT_USAGE;
}

int pawl__cli_unknown_command(const char *word, const char *second)
{
    bool known = pawl__cli_command_find(word, NULL) != NULL;
    assert(second || !known);
    return known ? unknown_word(second, word) : unknown_word(word, NULL);
}

static void put_command(const struct pawl__cli_command *command, char *out, size_t cap)
{
    snprintf(out, cap, "pawl%s%s%s%s", command ? " " : "", command ? command->word : "",
             command && command->second ? " " : "",
             command && command->second ? command->second : "");
}

/* `words` is the command as it is typed. */
static void hint_options(const struct pawl__cli_command *command, const char *words)
{
    if (command && command->run == pawl__cli_lock_run) {
        pawl__cli_hint("put \"--\" before a command that has options; \"%s --help\" lists those of "
                       "pawl",
                       words);
    } else {
        pawl__cli_hint("\"%s --help\" lists the options", words);
    }
}

static int unknown_option(const struct pawl__cli_command *command, uint64_t groups,
                          const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    char words[64];
    put_command(command, words, sizeof(words));
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group & groups) {
            pawl__nearest_offer(&nearest, pawl__cli_options[i].name);
        }
    }
    pawl__cli_error("\"%s\" has no option \"--%s\"", words, name);
    if (!pawl__cli_did_you_mean(&nearest, "--")) hint_options(command, words);
    return PAWL__CLI_EXIT_USAGE;
}

/* ---- options ---- */

struct reader {
    struct pawl__cli *cli;
    int argc;
    const char *const *argv;
    int at;
    uint64_t groups; /* of options that are accepted */
};

int pawl__cli_bad_value(struct pawl__cli *cli, enum pawl__cli_kind kind, const char *value,
                        const char *what)
{
    pawl__cli_error("%s cannot be \"%s\"", what, pawl__cli_shown(cli, value));
    const char *const *choices = pawl__cli_kind_choices(kind);
    struct pawl__nearest nearest = { .word = value };
    for (size_t i = 0; choices && choices[i]; i++) {
        pawl__nearest_offer(&nearest, choices[i]);
    }
    if (!pawl__cli_did_you_mean(&nearest, "")) {
        pawl__cli_hint("it takes %s", pawl__cli_kind_form(kind));
    }
    return PAWL__CLI_EXIT_USAGE;
}

static int take(struct reader *reader, enum pawl__cli_option_id id, const char *value)
{
    const struct pawl__cli_option *option = &pawl__cli_options[id];
    if (!option->arg && !value) value = "true";
    if (!value && reader->at < reader->argc) value = reader->argv[reader->at++];
    if (!value) {
        pawl__cli_error("\"--%s\" needs a value", option->name);
        pawl__cli_hint("write \"--%s %s\": %s", option->name, option->arg,
                       pawl__cli_kind_form(option->kind));
        return PAWL__CLI_EXIT_USAGE;
    }
    if (!pawl__cli_kind_check(option->kind, value)) {
        char what[64];
        snprintf(what, sizeof what, "\"--%s\"", option->name);
        return pawl__cli_bad_value(reader->cli, option->kind, value, what);
    }
    struct pawl__cli_values *values = &reader->cli->values[id];
    if (!option->repeats) values->count = 0;
    pawl__cli_values_add(reader->cli, values, value);
    return PAWL__CLI_EXIT_OK;
}

static int take_long(struct reader *reader, const char *text)
{
    size_t len = strcspn(text, "=");
    enum pawl__cli_option_id id = pawl__cli_option_find(reader->groups, text, len);
    if (id == PAWL__CLI_OPT_END) {
        char *name = pawl__cli_need(pawl__arena_dup(&reader->cli->arena, text, len));
        return unknown_option(reader->cli->command, reader->groups, name);
    }
    return take(reader, id, text[len] ? text + len + 1 : NULL);
}

/* "-qn5": letters without values; the last may have one. */
static int take_short(struct reader *reader, const char *text)
{
    while (*text) {
        enum pawl__cli_option_id id = pawl__cli_option_letter(reader->groups, *text);
        if (id == PAWL__CLI_OPT_END) {
            char words[64];
            put_command(reader->cli->command, words, sizeof(words));
            pawl__cli_error("\"%s\" has no option \"-%c\"", words, *text);
            hint_options(reader->cli->command, words);
            return PAWL__CLI_EXIT_USAGE;
        }
        text++;
        const char *value = pawl__cli_options[id].arg && *text ? text : NULL;
        int code = take(reader, id, value);
        if (code || value) return code;
    }
    return PAWL__CLI_EXIT_OK;
}

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] && !isdigit((unsigned char)text[1]);
}

/* Options and operands up to the end or, before the command, up to its name. */
static int take_all(struct reader *reader, bool until_word)
{
    bool options = true;
    while (reader->at < reader->argc) {
        const char *text = reader->argv[reader->at];
        bool dashes = strcmp(text, "--") == 0;
        if (until_word && (dashes || !is_option(text))) return PAWL__CLI_EXIT_OK;
        reader->at++;
        int code = PAWL__CLI_EXIT_OK;
        if (options && dashes) {
            options = false;
        } else if (options && is_option(text)) {
            code = text[1] == '-' ? take_long(reader, text + 2) : take_short(reader, text + 1);
        } else {
            pawl__cli_values_add(reader->cli, &reader->cli->operands, text);
        }
        if (code) return code;
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- the command ---- */

static int find_command(struct reader *reader)
{
    const char *word = reader->argv[reader->at++];
    const struct pawl__cli_command *command = pawl__cli_command_find(word, NULL);
    if (!command) return pawl__cli_unknown_command(word, NULL);
    if (command->second && reader->at < reader->argc && !is_option(reader->argv[reader->at])) {
        const char *second = reader->argv[reader->at++];
        command = pawl__cli_command_find(word, second);
        if (!command) return pawl__cli_unknown_command(word, second);
    }
    reader->cli->command = command;
    return PAWL__CLI_EXIT_OK;
}

static int check_operands(struct pawl__cli *cli)
{
    const struct pawl__cli_command *command = cli->command;
    size_t count = cli->operands.count;
    if (count >= command->operands_min && count <= command->operands_max) return PAWL__CLI_EXIT_OK;
    char words[64];
    put_command(command, words, sizeof(words));
    if (count > command->operands_max) {
        pawl__cli_error("\"%s\": unexpected argument \"%s\"", words,
                        pawl__cli_shown(cli, cli->operands.at[command->operands_max]));
    } else {
        pawl__cli_error("\"%s\" needs %s", words, command->operands);
    }
    pawl__cli_hint("\"%s --help\" explains it", words);
    return PAWL__CLI_EXIT_USAGE;
}

int pawl__cli_parse_words(struct pawl__cli *cli, const struct pawl__cli_command *command,
                          const char *const *words, size_t count)
{
    struct reader reader = { cli, (int)count, words, 0,
                             command->groups & ~(uint64_t)(PAWL__CLI_SETTING | PAWL__CLI_ALWAYS) };
    cli->command = command;
    int code = take_all(&reader, false);
    return code ? code : check_operands(cli);
}

int pawl__cli_parse(struct pawl__cli *cli, int argc, char **argv)
{
    struct reader reader = { cli, argc, (const char *const *)argv, 1,
                             PAWL__CLI_SETTING | PAWL__CLI_ALWAYS };
    int code = take_all(&reader, true);
    if (code) return code;
    if (reader.at >= argc) return PAWL__CLI_EXIT_OK; // no command: perhaps --help or --version
    code = find_command(&reader);
    if (code) return code;
    reader.groups = cli->command->groups;
    code = take_all(&reader, false);
    if (code) return code;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_HELP)) return PAWL__CLI_EXIT_OK;
    return check_operands(cli);
}
