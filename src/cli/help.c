/* pawl help and --help, from the lists. */
#include "cli/cli.h"

#include <assert.h>
#include <inttypes.h>

enum {
    WIDTH_MIN = 60,
    WIDTH_MAX = 100,
    OPTION_COLUMN = 26,
    COMMAND_COLUMN = 16,
    SECOND_COLUMN = 12,
    ROWS_MAX = 16 /* second words of a word */
};

bool pawl__cli_command_is_first(const struct pawl__cli_command *command)
{
    return pawl__cli_command_find(command->word, NULL) == command;
}

void pawl__cli_put_usage(struct pawl__buf *buf, const struct pawl__cli_command *command)
{
    pawl__buf_printf(buf, "pawl %s", command->word);
    if (command->second && pawl__cli_command_is_first(command)) {
        pawl__buf_printf(buf, " [%s]", command->second); // the default
    } else if (command->second) {
        pawl__buf_printf(buf, " %s", command->second);
    }
    pawl__buf_add_text(buf, " [OPTION]...");
    if (*command->operands) pawl__buf_printf(buf, " %s", command->operands);
}

/* ---- paragraphs ---- */

static size_t width_of(const struct pawl__cli *cli)
{
    size_t columns = cli->columns ? (size_t)cli->columns : 80;
    return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : columns;
}

void pawl__cli_put_wrapped(struct pawl__buf *out, const char *text, size_t at, size_t indent,
                           size_t width)
{
    bool fresh = at <= indent;
    if (fresh) pawl__buf_printf(out, "%*s", (int)(indent - at), "");
    if (fresh) at = indent;
    while (*text) {
        size_t len = strcspn(text, " \n");
        if (!fresh && at + 1 + len > width) {
            pawl__buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
            fresh = true;
        }
        if (!fresh) pawl__buf_add_text(out, " ");
        pawl__buf_add(out, text, len);
        at += len + !fresh;
        fresh = false;
        text += len;
        bool paragraph = strncmp(text, "\n\n", 2) == 0;
        text += strspn(text, " \n");
        if (paragraph) {
            pawl__buf_printf(out, "\n\n%*s", (int)indent, "");
            at = indent;
            fresh = true;
        }
    }
    pawl__buf_add_text(out, "\n");
}

static void put_wrapped(struct pawl__cli *cli, const char *text, size_t at, size_t indent)
{
    pawl__cli_put_wrapped(&cli->out, text, at, indent, width_of(cli));
}

/* `left`, then the text in its column; on the next line if `left` is too long. */
static void put_pair(struct pawl__cli *cli, const char *left, size_t column, const char *text)
{
    pawl__buf_printf(&cli->out, "  %s", left);
    size_t at = 2 + strlen(left);
    if (at + 2 > column) {
        pawl__buf_add_text(&cli->out, "\n");
        at = 0;
    }
    put_wrapped(cli, text, at, column);
}

/* ---- options ---- */

static void put_option(struct pawl__cli *cli, const struct pawl__cli_option *option)
{
    struct pawl__buf left = { 0 }, text = { 0 };
    if (option->letter) pawl__buf_printf(&left, "-%c, ", option->letter);
    if (!option->letter) pawl__buf_add_text(&left, "    ");
    pawl__buf_printf(&left, "--%s", option->name);
    if (option->arg) pawl__buf_printf(&left, " %s", option->arg);
    pawl__buf_add_text(&text, option->help);
    if (option->fallback) pawl__buf_printf(&text, " [%s]", option->fallback);
    if (option->repeats) pawl__buf_add_text(&text, " (may be repeated)");
    if (left.failed || text.failed) pawl__cli_nomem();
    put_pair(cli, left.at, OPTION_COLUMN, text.at);
    pawl__buf_release(&left);
    pawl__buf_release(&text);
}

static void put_group(struct pawl__cli *cli, size_t number, const char *whose)
{
    char title[128];
    snprintf(title, sizeof title, "%s%s", pawl__cli_group_titles[number], whose);
    pawl__cli_put_title(cli, title);
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group == UINT64_C(1) << number)
            put_option(cli, &pawl__cli_options[i]);
    }
}

static void put_exits(struct pawl__cli *cli)
{
    pawl__cli_put_title(cli, "Exit codes");
#define X(number, name, text) put_pair(cli, #number, 8, text);
    PAWL__CLI_EXITS(X)
#undef X
}

/* ---- pages ---- */

static void explain_pawl(struct pawl__cli *cli)
{
    pawl__buf_add_text(&cli->out, "pawl is a durable job scheduler.\n\n"
                                  "Usage: pawl [SETTING]... COMMAND [OPTION]...\n");
    pawl__cli_put_title(cli, "Commands");
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        char words[32];
        if (command->hidden) continue;
        snprintf(words, sizeof words, "%s%s%s", command->word, command->second ? " " : "",
                 command->second ? command->second : "");
        put_pair(cli, words, COMMAND_COLUMN, command->summary);
    }
    put_group(cli, PAWL__CLI_GROUP_NUMBER_SETTING, "");
    pawl__buf_add_text(&cli->out, "\n");
    put_wrapped(cli,
                "A setting can also be given in the environment (PAWL_STORE for --store) or in the "
                "file that --config or PAWL_CONFIG names (\"store = sqlite:jobs.db\"). The "
                "command line overrides the environment, which overrides the file.",
                0, 2);
    put_group(cli, PAWL__CLI_GROUP_NUMBER_ALWAYS, "");
    put_exits(cli);
    pawl__buf_add_text(&cli->out, "\nSee \"pawl COMMAND --help\" for help on a command.\n");
}

static void put_examples(struct pawl__cli *cli, const struct pawl__cli_command *command,
                         bool *titled)
{
    const char *text = pawl__cli_command_examples(command);
    if (*text && !*titled) pawl__cli_put_title(cli, "Examples");
    *titled |= *text != '\0';
    while (*text) {
        size_t len = strcspn(text, "\n");
        pawl__buf_printf(&cli->out, "  %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

/* The rows of a page: all rows of a word, or the one with the second word. Groups of options that
 * several rows accept are printed once. */
struct rows {
    const struct pawl__cli_command *at[ROWS_MAX];
    size_t count;
};

static struct rows rows_of(const struct pawl__cli_command *command)
{
    struct rows rows = { .count = 0 };
    bool all = pawl__cli_command_is_first(command);
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *row = &pawl__cli_commands[i];
        if (row != command && !(all && strcmp(row->word, command->word) == 0)) continue;
        assert(rows.count < ROWS_MAX);
        rows.at[rows.count++] = row;
    }
    return rows;
}

static void put_usages(struct pawl__cli *cli, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        pawl__buf_add_text(&cli->out, i ? "       " : "Usage: ");
        pawl__cli_put_usage(&cli->out, rows->at[i]);
        pawl__buf_add_text(&cli->out, "\n");
    }
    pawl__buf_add_text(&cli->out, "\n");
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->count == 1) {
            put_wrapped(cli, rows->at[i]->summary, 0, 2);
        } else {
            put_pair(cli, rows->at[i]->second, SECOND_COLUMN, rows->at[i]->summary);
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        const char *details = pawl__cli_command_details(rows->at[i]);
        if (*details) pawl__buf_add_text(&cli->out, "\n");
        if (*details) put_wrapped(cli, details, 0, 2);
    }
}

/* If only some of the rows accept the group, its title names them. */
static void put_group_of(struct pawl__cli *cli, const struct rows *rows, size_t number)
{
    struct pawl__buf whose = { 0 };
    size_t takers = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (!(rows->at[i]->groups & UINT64_C(1) << number)) continue;
        if (rows->count > 1) {
            pawl__buf_printf(&whose, "%s%s", takers ? ", " : " (", rows->at[i]->second);
        }
        takers++;
    }
    pawl__buf_add_text(&whose, ")");
    if (whose.failed) pawl__cli_nomem();
    if (takers) put_group(cli, number, takers < rows->count ? whose.at : "");
    pawl__buf_release(&whose);
}

void pawl__cli_explain(struct pawl__cli *cli, const struct pawl__cli_command *command)
{
    if (!command) {
        explain_pawl(cli);
        return;
    }
    struct rows rows = rows_of(command);
    bool titled = false;
    put_usages(cli, &rows);
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        bool own = i != PAWL__CLI_GROUP_NUMBER_SETTING && i != PAWL__CLI_GROUP_NUMBER_ALWAYS;
        if (own) put_group_of(cli, &rows, i);
    }
    for (size_t i = 0; i < rows.count; i++) {
        put_examples(cli, rows.at[i], &titled);
    }
    pawl__buf_add_text(&cli->out, "\n\"pawl help\" lists the settings that all commands accept.\n");
}

int pawl__cli_help(struct pawl__cli *cli)
{
    const struct pawl__cli_values *words = &cli->operands;
    const struct pawl__cli_command *command = NULL;
    if (words->count) {
        const char *second = words->count > 1 ? words->at[1] : NULL;
        command = pawl__cli_command_find(words->at[0], second);
        if (!command) return pawl__cli_unknown_command(words->at[0], second);
    }
    pawl__cli_explain(cli, command);
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_version(struct pawl__cli *cli)
{
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("version", PAWL_VERSION));
    } else {
        pawl__buf_add_text(&cli->out, "pawl " PAWL_VERSION "\n");
    }
    return PAWL__CLI_EXIT_OK;
}
