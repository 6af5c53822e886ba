/* The man page and the reference page, made from the lists. */
#include "cli/cli.h"

#include <ctype.h>

/* ---- roff ---- */

/* Text as roff wants it: hyphens that can be copied, no accidental requests. */
static void put_roff(struct pawl__buf *out, const char *text, bool line_start)
{
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) pawl__buf_add_text(out, "\\&");
        line_start = false;
        if (strncmp(text, "\n\n", 2) == 0) {
            pawl__buf_add_text(out, "\n.PP\n");
            text++;
            line_start = true;
        } else if (*text == '\\') {
            pawl__buf_add_text(out, "\\e");
        } else if (*text == '-') {
            pawl__buf_add_text(out, "\\-");
        } else if (*text == '"') {
            pawl__buf_add_text(out, "\\(dq");
        } else if (*text == '\'') {
            pawl__buf_add_text(out, "\\(aq");
        } else {
            pawl__buf_add(out, text, 1);
            line_start = *text == '\n';
        }
    }
}

static void roff_option(struct pawl__buf *out, const struct pawl__cli_option *option)
{
    char env[PAWL__CLI_ENV_BYTES];
    pawl__buf_add_text(out, ".TP\n");
    if (option->letter) pawl__buf_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    pawl__buf_add_text(out, "\\fB\\-\\-");
    put_roff(out, option->name, false);
    pawl__buf_add_text(out, "\\fR");
    if (option->arg) {
        pawl__buf_add_text(out, " \\fI");
        put_roff(out, option->arg, false);
        pawl__buf_add_text(out, "\\fR");
    }
    pawl__buf_add_text(out, "\n");
    put_roff(out, option->help, true);
    pawl__buf_add_text(out, ".\n");
    if (option->kind != PAWL__CLI_KIND_FLAG && !pawl__cli_kind_choices(option->kind)) {
        pawl__buf_add_text(out, "Takes ");
        put_roff(out, pawl__cli_kind_form(option->kind), false);
        pawl__buf_add_text(out, ".\n");
    }
    if (option->fallback) {
        pawl__buf_add_text(out, "The default is \\fB");
        put_roff(out, option->fallback, false);
        pawl__buf_add_text(out, "\\fR.\n");
    }
    if (option->repeats) pawl__buf_add_text(out, "May be repeated.\n");
    if (option->group & PAWL__CLI_SETTINGS) {
        pawl__cli_option_env(option, env);
        pawl__buf_printf(out, "Environment: \\fB%s\\fR.\n", env);
    }
}

static void roff_group(struct pawl__buf *out, size_t number)
{
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group == 1U << number) roff_option(out, &pawl__cli_options[i]);
    }
}

static void roff_examples(struct pawl__buf *out, const char *examples)
{
    if (!*examples) return;
    pawl__buf_add_text(out, ".PP\n.nf\n.RS 4\n");
    put_roff(out, examples, true);
    pawl__buf_add_text(out, ".RE\n.fi\n");
}

/* "FILTER, BULK": where the options of a command are explained. */
static void roff_takes(struct pawl__buf *out, const struct pawl__cli_command *command)
{
    bool some = false;
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        bool own = i != PAWL__CLI_GROUP_NUMBER_SETTING && i != PAWL__CLI_GROUP_NUMBER_ALWAYS;
        if (!own || !(command->groups & 1U << i)) continue;
        pawl__buf_printf(out, "%s\\(dq%s\\(dq",
                         some ? ", " : ".PP\nOptions: ", pawl__cli_group_titles[i]);
        some = true;
    }
    if (some) pawl__buf_add_text(out, ".\n");
}

static void roff_command(struct pawl__buf *out, const struct pawl__cli_command *command)
{
    struct pawl__buf line = { 0 };
    pawl__cli_put_usage(&line, command);
    if (line.failed) pawl__cli_nomem();
    pawl__buf_add_text(out, ".SS ");
    put_roff(out, line.at, false);
    pawl__buf_add_text(out, "\n");
    pawl__buf_clear(&line);
    pawl__buf_printf(&line, "%c%s.\n", toupper((unsigned char)command->summary[0]),
                     command->summary + 1);
    if (line.failed) pawl__cli_nomem();
    put_roff(out, line.at, true);
    const char *details = pawl__cli_command_details(command);
    if (*details) {
        pawl__buf_add_text(out, ".PP\n");
        put_roff(out, details, true);
        pawl__buf_add_text(out, "\n");
    }
    roff_takes(out, command);
    roff_examples(out, pawl__cli_command_examples(command));
    pawl__buf_release(&line);
}

int pawl__cli_man(struct pawl__cli *cli)
{
    struct pawl__buf *out = &cli->out;
    pawl__buf_add_text(out, ".\\\" Made by \"pawl __man\"; do not edit.\n"
                            ".TH PAWL 1 \"\" \"pawl " PAWL_VERSION "\" \"User Commands\"\n"
                            ".SH NAME\npawl \\- durable job scheduler\n"
                            ".SH SYNOPSIS\n.B pawl\n[\\fISETTING\\fR]... \\fICOMMAND\\fR "
                            "[\\fIOPTION\\fR]...\n"
                            ".SH DESCRIPTION\nKeeps jobs in a store and looks after them there: "
                            "submits, lists, shows and controls them.\n"
                            "A change has reached the disk before a command says so.\n"
                            ".SH COMMANDS\n");
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        if (!pawl__cli_commands[i].hidden) roff_command(out, &pawl__cli_commands[i]);
    }
    pawl__buf_add_text(out, ".SH SETTINGS\nEvery command takes these, before or after its name.\n"
                            "The command line wins over the environment, and that over the file "
                            "that \\fB\\-\\-config\\fR names.\n");
    roff_group(out, PAWL__CLI_GROUP_NUMBER_SETTING);
    roff_group(out, PAWL__CLI_GROUP_NUMBER_ALWAYS);
    pawl__buf_add_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        if (i == PAWL__CLI_GROUP_NUMBER_SETTING || i == PAWL__CLI_GROUP_NUMBER_ALWAYS) continue;
        pawl__buf_printf(out, ".SS %s\n", pawl__cli_group_titles[i]);
        roff_group(out, i);
    }
    pawl__buf_add_text(out, ".SH EXIT STATUS\n");
#define X(number, name, text)                                                                      \
    pawl__buf_add_text(out, ".TP\n\\fB" #number "\\fR\n");                                         \
    put_roff(out, text, true);                                                                     \
    pawl__buf_add_text(out, ".\n");
    PAWL__CLI_EXITS(X)
#undef X
    return PAWL__CLI_EXIT_OK;
}

/* ---- Markdown ---- */

enum { DOC_WIDTH = 100 };

static void put_cell(struct pawl__buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '*' || *text == '<') pawl__buf_add_text(out, "\\");
        pawl__buf_add(out, text, 1);
    }
}

static void doc_option(struct pawl__buf *out, const struct pawl__cli_option *option)
{
    char env[PAWL__CLI_ENV_BYTES];
    pawl__buf_add_text(out, "| `");
    if (option->letter) pawl__buf_printf(out, "-%c`, `", option->letter);
    pawl__buf_printf(out, "--%s`", option->name);
    if (option->arg) {
        pawl__buf_add_text(out, " ");
        put_cell(out, option->arg);
    }
    if (option->repeats) pawl__buf_add_text(out, " ...");
    pawl__buf_add_text(out, " | ");
    put_cell(out, option->help);
    pawl__buf_add_text(out, " | ");
    if (option->arg) put_cell(out, pawl__cli_kind_form(option->kind));
    pawl__buf_add_text(out, " |");
    if (option->fallback) pawl__buf_printf(out, " `%s`", option->fallback);
    pawl__buf_add_text(out, " |");
    if (option->group & PAWL__CLI_SETTINGS) {
        pawl__cli_option_env(option, env);
        pawl__buf_printf(out, " `%s` |", env);
    }
    pawl__buf_add_text(out, "\n");
}

static void doc_group(struct pawl__buf *out, size_t number)
{
    bool setting = PAWL__CLI_SETTINGS & 1U << number;
    pawl__buf_printf(out, "\n| option | meaning | takes | default |%s\n|---|---|---|---|%s\n",
                     setting ? " environment |" : "", setting ? "---|" : "");
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group == 1U << number) doc_option(out, &pawl__cli_options[i]);
    }
}

static void doc_takes(struct pawl__buf *out, const struct pawl__cli_command *command)
{
    bool some = false;
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        bool own = i != PAWL__CLI_GROUP_NUMBER_SETTING && i != PAWL__CLI_GROUP_NUMBER_ALWAYS;
        if (!own || !(command->groups & 1U << i)) continue;
        pawl__buf_printf(out, "%s%s", some ? ", " : "\nOptions: ", pawl__cli_group_titles[i]);
        some = true;
    }
    if (some) pawl__buf_add_text(out, ".\n");
}

static void doc_command(struct pawl__buf *out, const struct pawl__cli_command *command)
{
    const char *details = pawl__cli_command_details(command);
    const char *examples = pawl__cli_command_examples(command);
    pawl__buf_printf(out, "\n### %s%s%s\n\n    ", command->word, command->second ? " " : "",
                     command->second ? command->second : "");
    pawl__cli_put_usage(out, command);
    pawl__buf_printf(out, "\n\n%c%s.\n", toupper((unsigned char)command->summary[0]),
                     command->summary + 1);
    if (*details) {
        pawl__buf_add_text(out, "\n");
        pawl__cli_put_wrapped(out, details, 0, 0, DOC_WIDTH);
    }
    doc_takes(out, command);
    if (*examples) pawl__buf_printf(out, "\n```sh\n%s```\n", examples);
}

int pawl__cli_doc(struct pawl__cli *cli)
{
    struct pawl__buf *out = &cli->out;
    pawl__buf_add_text(out, "# The `pawl` command\n\n"
                            "Made from the lists in `src/cli` by `pawl __doc`; do not edit.\n"
                            "`pawl help` says the same at a terminal, `man pawl` too.\n\n"
                            "    pawl [SETTING]... COMMAND [OPTION]...\n\n## Commands\n");
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        if (!pawl__cli_commands[i].hidden) doc_command(out, &pawl__cli_commands[i]);
    }
    pawl__buf_add_text(out,
                       "\n## Settings\n\nEvery command takes these, before or after its name.\n"
                       "The command line wins over the environment, and that over the file "
                       "that `--config` names.\n");
    doc_group(out, PAWL__CLI_GROUP_NUMBER_SETTING);
    doc_group(out, PAWL__CLI_GROUP_NUMBER_ALWAYS);
    pawl__buf_add_text(out, "\n## Options\n");
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        if (i == PAWL__CLI_GROUP_NUMBER_SETTING || i == PAWL__CLI_GROUP_NUMBER_ALWAYS) continue;
        pawl__buf_printf(out, "\n### %s\n", pawl__cli_group_titles[i]);
        doc_group(out, i);
    }
    pawl__buf_add_text(out,
                       "\n## Completion\n\n"
                       "Installed with the program for bash and fish; for zsh add this line to "
                       "`~/.zshrc`. It completes\ncommands, options and their values, and asks the "
                       "store or server of the command line for queues,\ntypes and the ids of the "
                       "100 newest jobs, for three seconds at most.\n\n```sh\n"
                       "source <(pawl __complete zsh)\n```\n");
    pawl__buf_add_text(out, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
#define X(number, name, text) pawl__buf_add_text(out, "| " #number " | " text " |\n");
    PAWL__CLI_EXITS(X)
#undef X
    return PAWL__CLI_EXIT_OK;
}
