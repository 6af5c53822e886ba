/* Completion scripts for shells, generated from the lists. */
#include "cli/cli.h"

/* ---- names that the store knows ---- */

/* The argument of "pawl __known" for values of a kind; NULL: they are not looked up. */
static const char *known_of_kind(enum pawl__cli_kind kind)
{
    switch (kind) {
    case PAWL__CLI_KIND_QUEUE:
    case PAWL__CLI_KIND_QUEUE_LIMIT:
        return "queues";
    case PAWL__CLI_KIND_TYPE:
        return "types";
    default:
        return NULL;
    }
}

/* Likewise for a command's operands, by their word in its usage. `*many`: all of them, else only
 * the first. */
static const char *known_of_operands(const struct pawl__cli_command *command, bool *many)
{
    static const struct {
        const char *word, *known;
    } known[] = { { "ID", "ids" },
                  { "QUEUE", "queues" },
                  { "TYPE", "types" },
                  { "SCHEDULE", "schedules" },
                  { "EXPRESSION|SCHEDULE", "schedules" } };
    const char *at = command->operands + (command->operands[0] == '[');
    size_t len = strcspn(at, ".[] ");
    *many = at[len] == '.';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].word) == len && strncmp(known[i].word, at, len) == 0) {
            return known[i].known;
        }
    }
    return NULL;
}

/* ---- bash (and zsh, through its emulation of bash's) ---- */

static void put_choices(struct pawl__buf *out, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++) {
        pawl__buf_printf(out, "%s%s", i ? " " : "", choices[i]);
    }
}

/* Several commands may have an option of this name; it has a value in all of them, or in none. */
static bool is_first_of_name(size_t i)
{
    const char *name = pawl__cli_options[i].name;
    return pawl__cli_option_find(UINT64_MAX, name, strlen(name)) == i;
}

/* "--store|-s|--actor": options with a value. */
static void put_names(struct pawl__buf *out, bool (*wanted)(const struct pawl__cli_option *option))
{
    bool some = false;
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if (!option->arg || !is_first_of_name(i) || !wanted(option)) continue;
        pawl__buf_printf(out, "%s--%s", some ? "|" : "", option->name);
        if (option->letter) pawl__buf_printf(out, "|-%c", option->letter);
        some = true;
    }
}

/* Settings are passed to "pawl __known". */
static bool is_setting(const struct pawl__cli_option *option)
{
    return option->group == PAWL__CLI_SETTING;
}

static bool is_no_setting(const struct pawl__cli_option *option)
{
    return !is_setting(option);
}

static bool is_open(const struct pawl__cli_option *option)
{
    return !pawl__cli_kind_choices(option->kind) && !known_of_kind(option->kind) &&
           option->kind != PAWL__CLI_KIND_FILE;
}

static void put_value(struct pawl__buf *out, const struct pawl__cli_option *option)
{
    const char *const *choices = pawl__cli_kind_choices(option->kind);
    const char *known = known_of_kind(option->kind);
    pawl__buf_printf(out, "    --%s", option->name);
    if (option->letter) pawl__buf_printf(out, "|-%c", option->letter);
    pawl__buf_add_text(out, ")\n        COMPREPLY=($(compgen ");
    if (known) {
        pawl__buf_printf(out, "-W \"$(_pawl_known %s)\" -- \"$cur\"))\n", known);
    } else if (!choices) {
        pawl__buf_add_text(out, "-f -- \"$cur\"))\n");
    } else if (pawl__cli_kind_is_list(option->kind)) {
        // Completes the word after the last comma.
        pawl__buf_add_text(out, "-P \"${cur%\"${cur##*,}\"}\" -W '");
        put_choices(out, choices);
        pawl__buf_add_text(out, "' -- \"${cur##*,}\"))\n");
    } else {
        pawl__buf_add_text(out, "-W '");
        put_choices(out, choices);
        pawl__buf_add_text(out, "' -- \"$cur\"))\n");
    }
    pawl__buf_add_text(out, "        return ;;\n");
}

/* Values after an option. */
static void put_values(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "    case $prev in\n");
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if (option->arg && is_first_of_name(i) && !is_open(option)) put_value(out, option);
    }
    pawl__buf_add_text(out, "    ");
    put_names(out, is_open);
    pawl__buf_add_text(out, ")\n        COMPREPLY=()\n        return ;;\n    esac\n");
}

static void put_option_words(struct pawl__buf *out, uint64_t groups)
{
    bool some = false;
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (!(pawl__cli_options[i].group & groups)) continue;
        pawl__buf_printf(out, "%s--%s", some ? " " : "", pawl__cli_options[i].name);
        some = true;
    }
}

static void put_options(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "    if [[ $cur == -* ]]; then\n        case \"$word $second\" in\n");
    // The default row of a word comes last, since its pattern matches the others too.
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < pawl__cli_command_count; i++) {
            const struct pawl__cli_command *command = &pawl__cli_commands[i];
            bool alone = pawl__cli_command_is_first(command);
            if (command->hidden || alone != (pass == 1)) continue;
            pawl__buf_printf(out, "        \"%s %s\"*) words='", command->word,
                             alone ? "" : command->second);
            put_option_words(out, command->groups);
            pawl__buf_add_text(out, "' ;;\n");
        }
    }
    pawl__buf_add_text(out, "        *) words='");
    put_option_words(out, PAWL__CLI_SETTING | PAWL__CLI_ALWAYS);
    pawl__buf_add_text(out, "' ;;\n        esac\n");
}

static void put_words(struct pawl__buf *out, const char *word)
{
    bool some = false;
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (command->hidden) continue;
        if (word ? strcmp(command->word, word) != 0 : !pawl__cli_command_is_first(command)) {
            continue;
        }
        const char *text = word ? command->second : command->word;
        pawl__buf_printf(out, "%s%s", some ? " " : "", text);
        some = true;
    }
}

/* Operands that are looked up in the store. */
static void put_known_operands(struct pawl__buf *out)
{
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        bool many;
        const char *known = known_of_operands(command, &many);
        if (!known || command->hidden) continue;
        pawl__buf_printf(out, "        \"%s %s\"%s) words=$(_pawl_known %s) ;;\n", command->word,
                         command->second ? command->second : "", many ? "*" : "", known);
    }
}

/* Operands that are files. */
static void put_file_operands(struct pawl__buf *out)
{
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (strcmp(command->operands, "FILE") != 0) continue;
        pawl__buf_printf(out,
                         "        '%s %s') COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                         "            return ;;\n",
                         command->word, command->second ? command->second : "");
    }
}

static void put_operands(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "    elif [[ -z $word ]]; then\n        words='");
    put_words(out, NULL);
    pawl__buf_add_text(out, "'\n    else\n        case \"$word $second\" in\n");
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (!command->second || !pawl__cli_command_is_first(command)) continue;
        pawl__buf_printf(out, "        '%s ') words='", command->word);
        put_words(out, command->word);
        pawl__buf_add_text(out, "' ;;\n");
    }
    put_known_operands(out);
    pawl__buf_add_text(out, "        'help ') words='");
    put_words(out, NULL);
    pawl__buf_add_text(out, "' ;;\n");
    put_file_operands(out);
    pawl__buf_add_text(out, "        esac\n    fi\n");
}

static void put_bash(struct pawl__buf *out)
{
    pawl__buf_add_text(
        out, "# Completion for pawl. Generated by \"pawl __complete bash\"; do not edit.\n"
             "# shellcheck disable=SC2207 # the words contain no blanks\n"
             "_pawl_known() {\n"
             "    \"${args[0]}\" \"${settings[@]}\" __known \"$1\" 2>/dev/null\n"
             "}\n"
             "_pawl() {\n"
             "    local args=() settings=() glued='' word='' second='' words='' i\n"
             "    # bash splits \"sqlite:pawl.db\" at the colon\n"
             "    for i in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
             "        if [[ -n $i && -z ${i//[:=]/} && ${#args[@]} -gt 0 ]]; then\n"
             "            args[${#args[@]}-1]+=$i glued=1\n"
             "        elif [[ -n $glued ]]; then\n"
             "            args[${#args[@]}-1]+=$i glued=''\n"
             "        else\n"
             "            args+=(\"$i\")\n"
             "        fi\n"
             "    done\n"
             "    local last=$((${#args[@]} - 1))\n"
             "    local cur=${args[last]} prev=${args[last-1]}\n"
             "    for ((i = 1; i < last; i++)); do\n"
             "        case ${args[i]} in\n        ");
    put_names(out, is_setting);
    pawl__buf_add_text(out, ") settings+=(\"${args[i]}\" \"${args[++i]}\") ;;\n        ");
    put_names(out, is_no_setting);
    pawl__buf_add_text(out,
                       ") ((i++)) ;;\n"
                       "        --store=*|--server=*|--config=*) settings+=(\"${args[i]}\") ;;\n"
                       "        -*) ;;\n"
                       "        *)\n"
                       "            if [[ -z $word ]]; then\n"
                       "                word=${args[i]}\n"
                       "            elif [[ -z $second ]]; then\n"
                       "                second=${args[i]}\n"
                       "            fi ;;\n"
                       "        esac\n"
                       "    done\n");
    put_values(out);
    put_options(out);
    put_operands(out);
    pawl__buf_add_text(out, "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                            "complete -F _pawl pawl\n");
}

/* ---- fish ---- */

/* In single quotes, with those in the text escaped. */
static void put_quoted(struct pawl__buf *out, const char *text)
{
    pawl__buf_add_text(out, "'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') pawl__buf_add_text(out, "\\");
        pawl__buf_add(out, text, 1);
    }
    pawl__buf_add_text(out, "'");
}

static void fish_option(struct pawl__buf *out, const char *words,
                        const struct pawl__cli_option *option)
{
    const char *const *choices = pawl__cli_kind_choices(option->kind);
    pawl__buf_add_text(out, "complete -c pawl");
    if (words) pawl__buf_printf(out, " -n '__fish_seen_subcommand_from %s'", words);
    pawl__buf_printf(out, " -l %s", option->name);
    if (option->letter) pawl__buf_printf(out, " -s %c", option->letter);
    if (option->arg) pawl__buf_add_text(out, option->kind == PAWL__CLI_KIND_FILE ? " -r" : " -x");
    if (choices) {
        pawl__buf_add_text(out, " -a '");
        put_choices(out, choices);
        pawl__buf_add_text(out, "'");
    }
    const char *known = known_of_kind(option->kind);
    if (known) pawl__buf_printf(out, " -a '(__pawl_known %s)'", known);
    pawl__buf_add_text(out, " -d ");
    put_quoted(out, option->help);
    pawl__buf_add_text(out, "\n");
}

static void fish_command(struct pawl__buf *out, const struct pawl__cli_command *command)
{
    if (pawl__cli_command_is_first(command)) {
        pawl__buf_printf(out, "complete -c pawl -n __fish_use_subcommand -a %s -d ", command->word);
        put_quoted(out, command->summary);
        pawl__buf_add_text(out, "\n");
    }
    if (command->second) {
        pawl__buf_printf(out, "complete -c pawl -n '__fish_seen_subcommand_from %s' -a %s -d ",
                         command->word, command->second);
        put_quoted(out, command->summary);
        pawl__buf_add_text(out, "\n");
    }
    bool many;
    const char *known = known_of_operands(command, &many);
    if (!known) return;
    pawl__buf_printf(out, "complete -c pawl -n '__fish_seen_subcommand_from %s", command->word);
    if (command->second) {
        pawl__buf_printf(out, "; and __fish_seen_subcommand_from %s", command->second);
    }
    pawl__buf_printf(out, "' -a '(__pawl_known %s)'\n", known);
}

/* A function that looks names up in the store of the command line. */
static void fish_known(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "function __pawl_known\n"
                            "    set -l words (commandline -opc)\n"
                            "    set -l settings\n"
                            "    set -l value\n"
                            "    for word in $words[2..-1]\n"
                            "        if test -n \"$value\"\n"
                            "            set -a settings $value $word\n"
                            "            set value\n"
                            "        else if contains -- $word");
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if (!option->arg || !is_setting(option)) continue;
        pawl__buf_printf(out, " --%s", option->name);
        if (option->letter) pawl__buf_printf(out, " -%c", option->letter);
    }
    pawl__buf_add_text(out,
                       "\n"
                       "            set value $word\n"
                       "        else if string match -qr -- '^--(store|server|config)=' $word\n"
                       "            set -a settings $word\n"
                       "        end\n"
                       "    end\n"
                       "    command $words[1] $settings __known $argv[1] 2>/dev/null\n"
                       "end\n");
}

/* The words of all commands that take options of a group. */
static void fish_group(struct pawl__buf *out, size_t number)
{
    struct pawl__buf words = { 0 };
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (command->hidden || !(command->groups & UINT64_C(1) << number)) continue;
        pawl__buf_printf(&words, "%s%s", words.len ? " " : "", command->word);
    }
    if (words.failed) pawl__cli_nomem();
    bool everywhere = (PAWL__CLI_SETTING | PAWL__CLI_ALWAYS) & UINT64_C(1) << number;
    for (size_t i = 0; i < PAWL__CLI_OPT_END; i++) {
        if (pawl__cli_options[i].group != UINT64_C(1) << number) continue;
        fish_option(out, everywhere ? NULL : words.at, &pawl__cli_options[i]);
    }
    pawl__buf_release(&words);
}

static void put_fish(struct pawl__buf *out)
{
    pawl__buf_add_text(out, "# Completion for pawl. Generated by \"pawl __complete fish\"; do not "
                            "edit.\ncomplete -c pawl -f\n");
    fish_known(out);
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        if (!pawl__cli_commands[i].hidden) fish_command(out, &pawl__cli_commands[i]);
    }
    for (size_t i = 0; i < PAWL__CLI_GROUP_END; i++) {
        fish_group(out, i);
    }
}

int pawl__cli_complete(struct pawl__cli *cli)
{
    const char *shell = cli->operands.at[0];
    if (strcmp(shell, "bash") == 0) {
        put_bash(&cli->out);
    } else if (strcmp(shell, "zsh") == 0) {
        pawl__buf_add_text(&cli->out, "autoload -U +X compinit && compinit\n"
                                      "autoload -U +X bashcompinit && bashcompinit\n");
        put_bash(&cli->out);
    } else if (strcmp(shell, "fish") == 0) {
        put_fish(&cli->out);
    } else {
        return pawl__cli_usage("there is no completion for \"%s\"; there is for bash, fish and zsh",
                               shell);
    }
    return PAWL__CLI_EXIT_OK;
}
